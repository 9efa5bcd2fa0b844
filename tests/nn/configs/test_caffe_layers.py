"""Caffe's layers beside its formulas, its fillers, shared parameters, and texts as written."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn

RNG = np.random.default_rng(0)
X = RNG.standard_normal((2, 4, 5, 6)).astype(np.float32)
SOFT = np.exp(X) / np.exp(X).sum(1, keepdims=True)
T = RNG.integers(0, 4, (2, 1, 5, 6))
OWN = -np.log(np.take_along_axis(SOFT, T, 1))


def net(kind, given, *xs):
    """What a network of one layer gives."""
    names = [f"x{i}" for i in range(len(xs))]
    made = nn.from_config({"inputs": {n: list(x.shape) for n, x in zip(names, xs, strict=True)},
                           "layers": [{"type": kind, "name": "layer", "inputs": names,
                                       "outputs": ["y"], **given}]})
    return made, made(*xs)


def means(x, size):
    """Averages of windows of a size, borders included, as Caffe divides."""
    p = size // 2
    padded = np.pad(x, [(0, 0), (0, 0), (p, p), (p, p)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (size, size), (2, 3))
    return windows.mean((4, 5))


@pytest.mark.parametrize(("kind", "given", "expected"), [
    ("LRN", {"local_size": 3, "alpha": 0.5, "beta": 0.7, "norm_region": "WITHIN_CHANNEL"},
     lambda x: x * (1 + 0.5 * means(x * x, 3)) ** -0.7),
    ("Pooling", {"pool": "AVE", "global_pooling": True}, lambda x: x.mean((2, 3), keepdims=True)),
    ("Exp", {"base": 2, "scale": 0.5, "shift": 1}, lambda x: 2 ** (1 + 0.5 * x)),
    ("Log", {"base": 10, "scale": 0.1, "shift": 9}, lambda x: np.log10(9 + 0.1 * x)),
    ("Clip", {"min": -0.5, "max": 0.25}, lambda x: x.clip(-0.5, 0.25)),
    ("Swish", {"beta": 2}, lambda x: x / (1 + np.exp(-2 * x))),
    ("PReLU", {}, lambda x: np.where(x > 0, x, 0.25 * x)),
    ("Reduction", {"operation": "ASUM", "axis": 1, "coeff": 3},
     lambda x: 3 * abs(x).sum((1, 2, 3))),
    ("Reduction", {"operation": "SUMSQ", "axis": -1}, lambda x: (x * x).sum(3)),
    ("Reduction", {"operation": "MEAN"}, lambda x: x.mean()),
    ("MVN", {}, lambda x: (x - x.mean((2, 3), keepdims=True)) / x.std((2, 3), keepdims=True)),
    ("MVN", {"across_channels": True, "normalize_variance": False},
     lambda x: x - x.mean((1, 2, 3), keepdims=True)),
    ("Tile", {"axis": 2, "tiles": 2}, lambda x: np.concatenate([x, x], 2)),
    ("Flatten", {"axis": 2, "end_axis": 3}, lambda x: x.reshape(2, 4, 30)),
    ("Reshape", {"shape": {"dim": -1}, "axis": 1, "num_axes": 2}, lambda x: x.reshape(2, 20, 6)),
    ("Softmax", {"axis": 3}, lambda x: np.exp(x) / np.exp(x).sum(3, keepdims=True)),
    ("ArgMax", {"axis": 1}, lambda x: x.argmax(1)[:, None]),
    ("Scale", {"axis": 2, "num_axes": 2, "filler": {"value": 3}}, lambda x: 3 * x),
    ("Bias", {"filler": {"type": "constant", "value": 2}}, lambda x: x + 2),
    ("Dropout", {"p": 0.0}, lambda x: x),
])
def test_functions(kind, given, expected):
    np.testing.assert_allclose(net(kind, given, X)[1].detach(), expected(X), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("kind", "given", "xs", "expected"), [
    ("SoftmaxWithLoss", {}, (X, T), OWN.mean()),
    ("SoftmaxWithLoss", {"normalize": False}, (X, T), OWN.sum() / 2),
    ("SoftmaxWithLoss", {"ignore_label": 1}, (X, T), OWN[T != 1].mean()),
    ("SoftmaxWithLoss", {"ignore_label": 1, "normalization": "FULL"}, (X, T),
     OWN[T != 1].sum() / T.size),
    ("SoftmaxWithLoss", {"normalization": "NONE", "axis": -3}, (X, T), OWN.sum()),
    ("MultinomialLogisticLoss", {}, (SOFT[:, :, 0, 0], T[:, 0, 0, 0]), OWN[:, 0, 0, 0].mean()),
    ("HingeLoss", {"norm": "L2"}, (X[:, :, 0, 0], np.array([1, 3])),
     (np.maximum(1 + np.where(np.arange(4) == [[1], [3]], -1, 1) * X[:, :, 0, 0], 0) ** 2).sum()
     / 2),
    ("ContrastiveLoss", {"margin": 4}, (X[:, :, 0, 0], X[:, :, 1, 1], np.array([1, 0])),
     ((X[0, :, 0, 0] - X[0, :, 1, 1]) ** 2).sum() / 4
     + max(4 - np.linalg.norm(X[1, :, 0, 0] - X[1, :, 1, 1]), 0) ** 2 / 4),
    ("Accuracy", {"top_k": 2}, (X, T),
     ((np.take_along_axis(X, T, 1) <= X).sum(1) <= 2).mean()),
    ("Accuracy", {"ignore_label": 0}, (X, T), (X.argmax(1)[:, None] == T)[T != 0].mean()),
    ("Eltwise", {"coeff": [1, -2]}, (X, X * X), X - 2 * X * X),
    ("Scale", {"axis": 0}, (X, X[:, :, 0, 0]), X * X[:, :, :1, :1]),
    ("Crop", {"axis": 2, "offset": [1, 2]}, (X, X[:, :, :3, :2]), X[:, :, 1:4, 2:4]),
])
def test_layers_of_several_inputs(kind, given, xs, expected):
    np.testing.assert_allclose(net(kind, given, *xs)[1], expected, rtol=1e-4, atol=1e-5)


def test_layers_with_parameters():
    made, y = net("InnerProduct", {"num_output": 3, "axis": 2, "bias_filler": {"value": 2}}, X)
    want = X.reshape(2, 4, 30) @ made.layer.weight.numpy().T + 2
    np.testing.assert_allclose(y.detach(), want, rtol=1e-4, atol=1e-5)
    made, y = net("InnerProduct", {"num_output": 3, "transpose": True}, X)
    assert made.layer.weight.shape == (120, 3)
    np.testing.assert_allclose(y.detach(), X.reshape(2, -1) @ made.layer.weight.numpy()
                               + made.layer.bias.numpy(), rtol=1e-4, atol=1e-5)
    made, y = net("Embed", {"input_dim": 9, "num_output": 3, "bias_filler": {"value": 1}},
                  np.array([4, 2]))
    np.testing.assert_allclose(y.detach(), made.layer.weight.numpy()[[4, 2]] + 1)
    made, y = net("Convolution", {"num_output": 2, "kernel_size": [3, 1], "pad_h": 1, "pad_w": 0},
                  X)
    assert y.shape == (2, 2, 5, 6)
    assert net("BatchNorm", {}, X[:, :, 0, 0])[1].shape == (2, 4)


def test_fillers():
    def weight(kind, **given):
        made, _ = net("InnerProduct", {"num_output": 50, "weight_filler": {"type": kind, **given}},
                      np.zeros((1, 60), np.float32))
        return made.layer.weight.numpy()

    assert (weight("constant", value=2) == 2).all()
    for kind, given, low, high, spread in [
        ("uniform", {"min": 1, "max": 2}, 1, 2, 12**-0.5), ("gaussian", {"std": 0.1}, -1, 1, 0.1),
        ("xavier", {}, -(0.05**0.5), 0.05**0.5, 60**-0.5), ("msra", {}, -2, 2, 30**-0.5),
        ("msra", {"variance_norm": "FAN_OUT"}, -2, 2, 0.2),
    ]:
        w = weight(kind, **given)
        assert w.min() >= low and w.max() <= high and w.std() == pytest.approx(spread, rel=0.1)
    np.testing.assert_allclose(weight("positive_unitball").sum(1), 1, rtol=1e-5)
    assert (weight("gaussian", sparse=5) != 0).mean() == pytest.approx(0.1, abs=0.03)
    made, _ = net("Deconvolution", {"num_output": 1, "kernel_size": 4, "stride": 2, "pad": 1,
                                    "weight_filler": {"type": "bilinear"}}, X[:, :1])
    np.testing.assert_allclose(made.layer.weight[0, 0, 1].detach(),
                               [0.1875, 0.5625, 0.5625, 0.1875])
    with pytest.raises(ValueError, match=r"layer 'layer': there is no filler 'odd'"):
        weight("odd")


def test_parameters_of_one_name_are_one():
    text = """# Nets don't end: a comment's quotes and {brackets} are no words
    # and there may be several lines: of them
    input: "a" input_dim: 1 input_dim: 3
    layer { name: "ip1" type: "InnerProduct" bottom: "a" top: "h"
            param { name: "w" lr_mult: 1 } param { lr_mult: 2 }
            inner_product_param { num_output: 3 } }  # it's one
    layer { name: "ip2" type: "InnerProduct" bottom: "h" top: "y" param { name: "w" }
            inner_product_param { num_output: 3 } }
    layer { name: "acc" type: "Accuracy" bottom: "y" bottom: "t" exclude { phase: TRAIN } }
    # the end isn't near"""
    made = nn.from_config(text, shapes={"a": (1, 3)})
    assert made.ip1.weight is made.ip2.weight and made.ip1.bias is not made.ip2.bias
    assert len(list(made.parameters())) == 3 and made.inputs == ["a"]
    again = nn.from_config(nn.to_config(made), shapes={"a": (1, 3)})
    again.load_state_dict(made.state_dict())
    x = ag.ones((1, 3))
    assert np.array_equal(again(x), made(x))
    with pytest.raises(ValueError, match=r"'ip2': weight is shared as 'w', whose shape is \(3"):
        nn.from_config(text.replace('top: "y" param { name: "w" }\n            inner_product_param '
                                    "{ num_output: 3 }", 'top: "y" param { name: "w" }\n'
                                    "            inner_product_param { num_output: 2 }"),
                       shapes={"a": (1, 3)})


def test_losses_are_weighted_and_rates_have_factors():
    text = """input: "a" input_dim: 2 input_dim: 3
    layer { name: "ip" type: "InnerProduct" bottom: "a" top: "y"
            param { lr_mult: 1 decay_mult: 1 } param { lr_mult: 2 decay_mult: 0 }
            inner_product_param { num_output: 3 } }
    layer { name: "side" type: "InnerProduct" bottom: "y" top: "z" propagate_down: false
            param { lr_mult: 0 } param { lr_mult: 0 } inner_product_param { num_output: 3 } }
    layer { name: "far" type: "EuclideanLoss" bottom: "z" bottom: "t" top: "far" loss_weight: 0.5 }
    layer { name: "near" type: "EuclideanLoss" bottom: "y" bottom: "t" top: "near" }"""
    made = nn.from_config(text)
    a, t = ag.randn(2, 3), ag.randn(2, 3)
    ends = made(a, t=t)
    assert np.allclose(made.loss(a, t=t), 0.5 * ends["far"] + ends["near"])
    made.loss(a, t=t).backward()
    gradient = np.asarray(made.ip.weight.grad)
    made.ip.weight.grad = None
    made(a, t=t)["near"].backward()
    assert np.allclose(made.ip.weight.grad, gradient)  # nothing came down from the other one
    groups = made.param_groups(0.1, weight_decay=0.01)
    assert [(g["lr"], g["weight_decay"], len(g["params"])) for g in groups] == [
        (0.1, 0.01, 1), (0.2, 0.0, 1), (0.0, 0.01, 2)]
    before = [np.array(p) for p in made.parameters()]
    ag.optim.SGD(groups, lr=0.1).step()
    assert [np.array_equal(p, b) for p, b in zip(made.parameters(), before, strict=True)] == [
        False, False, True, True]
    again = nn.from_config(nn.to_config(made))
    assert again.loss_weights == made.loss_weights == {"far": 0.5, "near": 1.0}
    assert [g["lr"] for g in again.param_groups(1.0)] == [1.0, 2.0, 0.0]
    old = nn.from_config("""input: "a" input_dim: 2 input_dim: 3
    layers { name: "ip" type: INNER_PRODUCT bottom: "a" top: "y" blobs_lr: 1 blobs_lr: 2
             weight_decay: 1 weight_decay: 0 inner_product_param { num_output: 3 } }""")
    assert [(g["lr"], g["weight_decay"]) for g in old.param_groups(1.0, 1.0)] == [
        (1.0, 1.0), (2.0, 0.0)]
    with pytest.raises(ValueError, match="no layer is a loss, and none has a loss_weight"):
        old.loss(a)
    with pytest.raises(ValueError, match="far, near need inputs that were not given; there are a"):
        made.loss(a)


def test_what_is_not_there_is_refused():
    with pytest.raises(ValueError, match="layer 'ip' has no field 'inner_product_parm'"):
        nn.from_config("""input: "a" input_dim: 1
                       layer { name: "ip" inner_product_parm { num_output: 3 } }""")
    with pytest.raises(ValueError, match="loss_weight has 2 numbers for its 1 outputs"):
        nn.from_config("""input: "a" input_dim: 1
                       layer { name: "r" type: "ReLU" bottom: "a" top: "b" loss_weight: 1
                               loss_weight: 2 }""")
    with pytest.raises(ValueError, match=r"'layer': Convolution has no parameter 'axis' here"):
        net("Convolution", {"num_output": 2, "axis": 2}, X)
    with pytest.raises(ValueError, match="pool is MAX or AVE here, not STOCHASTIC"):
        net("Pooling", {"pool": "STOCHASTIC", "kernel_size": 2}, X)
    with pytest.raises(ValueError, match="normalization is one of VALID, FULL"):
        net("SoftmaxWithLoss", {"normalization": "ODD"}, X, T)
