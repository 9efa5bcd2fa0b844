"""Layers and losses take PyTorch's arguments, formulas and defaults."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi.nn import functional as F

X = ag.tensor([[3.0, -1.0, 2.0, 9.0], [4.0, -6.0, 5.0, 0.5], [7.0, 8.0, -9.0, 1.0]])
A = X.numpy()


@pytest.mark.parametrize("layer", [
    nn.ReLU(True), nn.ReLU(inplace=True), nn.ReLU6(inplace=True), nn.SiLU(inplace=True),
    nn.LeakyReLU(0.1, True), nn.ELU(1.0, inplace=True), nn.Dropout(0.5, inplace=True),
], ids=str)
def test_layers_that_write_into_their_operand(layer: Any) -> None:
    x = X.clone()
    y = layer(x)
    assert y is x and (x != X).any()
    w = X.clone().requires_grad_()
    z = w * 1.0
    layer(z).sum().backward()
    assert w.grad is not None and w.grad.shape == (3, 4)
    assert "inplace=True" in repr(layer) or isinstance(layer, nn.Dropout)
    assert nn.ReLU()(x) is not x


def test_gradients_of_what_was_overwritten() -> None:
    slopes = []
    for inplace in (False, True):
        w = X.clone().requires_grad_()
        z = w * 2.0
        (F.relu(z, inplace) * F.elu(w * 1.0, inplace=inplace)).sum().backward()
        slopes.append(w.grad.numpy())
    np.testing.assert_array_equal(*slopes)


def test_softplus_has_a_sharpness() -> None:
    expected = np.logaddexp(0, 3 * A.astype("float64")) / 3
    for found in (nn.Softplus(3.0)(X), nn.Softplus(beta=3, threshold=20)(X), F.softplus(X, 3)):
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert repr(nn.Softplus()).startswith("Softplus()") and "2.0" in repr(nn.Softplus(2.0))


def test_borders_may_be_negative() -> None:
    images = ag.arange(18.0).reshape(1, 2, 3, 3)
    np.testing.assert_array_equal(nn.ZeroPad2d((-1, 1, 0, -2))(images),
                                  np.pad(images.numpy()[:, :, :1, 1:], [(0, 0)] * 3 + [(0, 1)]))
    np.testing.assert_array_equal(nn.ConstantPad1d((1, -1), 7)(images[0]),
                                  np.pad(images.numpy()[0, :, :, :-1], [(0, 0)] * 2 + [(1, 0)],
                                         constant_values=7))
    assert F.pad(X, (1, -2, 0, 1)).shape == ag.jit(lambda x: F.pad(x, (1, -2, 0, 1)))(X).shape
    np.testing.assert_array_equal(F.pad(X, (2, 1), mode="replicate"),
                                  np.pad(A, [(0, 0), (2, 1)], "edge"))
    with pytest.raises(ValueError, match="cut off more than the axis of 4"):
        F.pad(X, (-3, -2))
    with pytest.raises(ValueError, match="two widths for each axis from the last on"):
        F.pad(X, (1, 1, 1))
    with pytest.raises(ValueError, match="mode must be one of constant, reflect, replicate"):
        F.pad(X, (1, 1), mode="edge")


def test_classes_are_on_axis_one() -> None:
    x, labels = ag.tensor(np.random.default_rng(0).normal(size=(2, 5, 3))), ag.tensor(
        [[0, 4, 2], [1, 1, 3]])
    p = np.exp(x.numpy()) / np.exp(x.numpy()).sum(1, keepdims=True)
    rows = -np.log(np.take_along_axis(p, labels.numpy()[:, None], 1)[:, 0])
    last = ag.moveaxis(x, 1, -1)
    for function, operand in ((F.cross_entropy, ag.moveaxis), (F.nll_loss, None)):
        scores, scores_last = (x, last) if operand else (ag.log_softmax(x, 1),
                                                         ag.log_softmax(last, -1))
        np.testing.assert_allclose(function(scores, labels), rows.mean())
        np.testing.assert_allclose(function(scores_last, labels, axis=-1), rows.mean())
        np.testing.assert_allclose(function(scores, labels, reduction="none"), rows)
        with pytest.raises(ag.ShapeError, match="write axis=-1 for classes in the last axis"):
            function(scores_last, labels)
    np.testing.assert_allclose(nn.CrossEntropyLoss()(x, labels), rows.mean())
    np.testing.assert_allclose(nn.CrossEntropyLoss(axis=-1)(last, labels), rows.mean())
    shares = ag.tensor(p)
    np.testing.assert_allclose(F.cross_entropy(x, shares),
                               F.cross_entropy(last, ag.moveaxis(shares, 1, -1), axis=-1))
    np.testing.assert_allclose(F.cross_entropy(x[0, :, 0], labels[0, 0]), rows[0, 0])
    np.testing.assert_allclose(
        F.cross_entropy(input=x, target=labels, weight=ag.ones(5)), rows.mean())


def test_rows_with_the_label_that_is_ignored_are_left_out() -> None:
    few, labels = ag.tensor([0, 1]), ag.tensor([0, -100, 1])
    kept = X[[0, 2]]
    for loss in (F.cross_entropy, nn.CrossEntropyLoss(), ag.jit(F.cross_entropy)):
        np.testing.assert_allclose(loss(X, labels), F.cross_entropy(kept, few), rtol=1e-6)
    np.testing.assert_allclose(F.nll_loss(X, labels), F.nll_loss(kept, few), rtol=1e-6)
    for run in (ag.grad, lambda f: ag.jit(ag.grad(f))):
        found = run(lambda x: F.cross_entropy(x, labels))(X).numpy()
        assert not found[1].any()
        assert found[0].any()
    for ignored in (3, None):
        with pytest.raises(IndexError, match="label -100 is out of range"):
            F.cross_entropy(X, labels, ignore_index=ignored)


@pytest.mark.parametrize("compiled", [False, True])
def test_running_values_of_instance_norm(compiled: bool) -> None:
    """They move towards the mean over the images of what each of them has."""
    x = np.random.default_rng(0).normal(size=(3, 2, 5)) * 2 + 1
    layer = nn.InstanceNorm1d(2, 1e-5, 0.25, True, True, dtype="float64")
    run = ag.jit(layer) if compiled else layer
    y = run(ag.tensor(x)).detach().numpy()
    want = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(y, want)
    np.testing.assert_allclose(layer.running_mean, 0.25 * x.mean(-1).mean(0))
    np.testing.assert_allclose(layer.running_var, 0.75 + 0.25 * x.var(-1, ddof=1).mean(0))
    layer.eval()
    mean, variance = (v.numpy()[:, None] for v in (layer.running_mean, layer.running_var))
    np.testing.assert_allclose(run(ag.tensor(x)).detach(), (x - mean) / np.sqrt(variance + 1e-5))
    with pytest.raises(ValueError, match="no variance to divide by"):
        F.instance_norm(ag.ones((2, 3, 1)))


def test_squares_of_other_shapes_warn() -> None:
    with pytest.warns(UserWarning, match=r"mse_loss of float32\[4, 1\] and float32\[4\]") as seen:
        assert F.mse_loss(ag.zeros((4, 1)), ag.arange(4.0)).item() == 3.5
    assert seen[0].filename == __file__
    assert F.mse_loss(ag.zeros(4), ag.arange(4.0)).item() == 3.5


@pytest.mark.parametrize(("layer", "x"), [
    (nn.BatchNorm1d(3), ag.ones((1, 3))), (nn.BatchNorm2d(3), ag.ones((1, 3, 1, 1))),
    (nn.BatchNorm1d(3, track_running_stats=False), ag.ones((1, 3, 1))),
], ids=str)
def test_one_example_has_no_variance(layer: Any, x: ag.Tensor) -> None:
    name = type(layer).__name__
    with pytest.raises(ValueError, match=rf"{name} of .* while training: .*call eval\(\) first"):
        layer(x)
    with pytest.raises(ValueError, match=r"one value for each channel .*, or training=False"):
        F.batch_norm(x, training=True)
    layer.eval()(x)


def test_norms_take_pytorchs_order() -> None:
    layer = nn.BatchNorm1d(4)
    mean, var = ag.zeros(4), ag.ones(4)
    found = F.batch_norm(X, mean, var, layer.weight, layer.bias, True, 0.1, 1e-5)
    np.testing.assert_allclose(found.detach(), layer(X).detach())
    np.testing.assert_allclose(mean, layer.running_mean)
    np.testing.assert_allclose(var, layer.running_var)
    np.testing.assert_allclose(mean, 0.1 * A.mean(0), rtol=1e-6)
    images = ag.arange(24.0).reshape(2, 3, 4)
    weight = ag.tensor([1.0, 2.0, 3.0])
    np.testing.assert_allclose(F.instance_norm(images, None, None, weight, -weight),
                               nn.InstanceNorm1d(3)(images) * weight[:, None] - weight[:, None])
    np.testing.assert_allclose(
        F.instance_norm(images, weight, weight, use_input_stats=False),
        F.batch_norm(images, weight, weight))
    with pytest.raises(ValueError, match="there must be running_mean and running_var"):
        F.instance_norm(images, use_input_stats=False)


def test_local_response_divides_alpha_by_the_size() -> None:
    x = ag.arange(1.0, 6.0).reshape(1, 5)
    near = np.convolve(np.arange(1.0, 6.0) ** 2, np.ones(3), "same")
    expected = np.arange(1.0, 6.0) / (1 + 1e-2 / 3 * near) ** 0.75
    np.testing.assert_allclose(F.local_response_norm(x, 3, alpha=1e-2)[0], expected, rtol=1e-6)
    np.testing.assert_allclose(nn.LocalResponseNorm(3, 1e-2)(x)[0], expected, rtol=1e-6)


def test_the_axis_of_more_than_two_must_be_named() -> None:
    images = ag.ones((2, 3, 4))
    for call in (lambda: F.softmax(images), lambda: F.log_softmax(images),
                 lambda: nn.Softmax()(images), lambda: nn.LogSoftmax()(images)):
        with pytest.raises(TypeError, match=r"needs dim=.*for the last one write dim=-1"):
            call()
    np.testing.assert_allclose(F.softmax(X), ag.softmax(X, 1))
    np.testing.assert_allclose(nn.Softmax(dim=1)(images), np.full((2, 3, 4), 1 / 3), rtol=1e-6)
    assert F.softmax(X, dim=1, dtype="float64").dtype == "float64"


def test_functions_of_layers_take_pytorchs_words() -> None:
    images = ag.arange(25.0).reshape(1, 1, 5, 5)
    assert F.max_pool2d(input=images, kernel_size=2, ceil_mode=True).shape == (1, 1, 3, 3)
    assert F.adaptive_avg_pool2d(images, output_size=2).shape == (1, 1, 2, 2)
    assert F.conv2d(input=images, weight=ag.ones((1, 1, 2, 2))).shape == (1, 1, 4, 4)
    assert F.lp_pool2d(images, norm_type=2, kernel_size=2).shape == (1, 1, 2, 2)
    assert F.group_norm(ag.ones((1, 4, 2)), num_groups=2).shape == (1, 4, 2)
    assert F.pixel_shuffle(ag.ones((1, 4, 2, 2)), upscale_factor=2).shape == (1, 1, 4, 4)
    np.testing.assert_array_equal(F.embedding(input=ag.tensor([1]), weight=X), A[[1]])
    x = X.clone()
    assert F.dropout(x, 0.5, training=True, inplace=True) is x
    assert math.isclose(F.nll_loss(ag.log_softmax(X), target=ag.tensor([0, 1, 2])).item(),
                        F.cross_entropy(X, ag.tensor([0, 1, 2])).item(), rel_tol=1e-6)


def test_layers_take_a_device_and_dtype_behind_all_others() -> None:
    class Forward(nn.Linear):
        def __init__(self, inputs: int, outputs: int, bias: bool = True, device: Any = None,
                     dtype: Any = None) -> None:
            super().__init__(inputs, outputs, bias, device, dtype)

    for layer in (Forward(2, 3, dtype="float64"), nn.Linear(2, 3, True, "cpu", "float64")):
        assert layer.weight.dtype == np.float64 and layer.weight.shape == (3, 2)
    assert nn.Linear(2, 3, True, None).weight.dtype == np.float32
    with pytest.raises(ValueError, match="there is one device, 'cpu', and not 'cuda'"):
        nn.Linear(2, 3, True, "cuda")
    with pytest.raises(TypeError, match="Linear"):
        nn.Linear(2, 3, True, 5)


def test_vectors_of_other_sizes_broadcast_before_their_angle() -> None:
    a = ag.tensor([[1.0], [2.0], [-1.0]])
    b = ag.tensor([[3.0, 4.0], [0.0, 1.0], [1.0, 0.0]])
    np.testing.assert_allclose(F.cosine_similarity(a, b).numpy(),
                               [7 / 50**0.5, 0.5**0.5, -0.5**0.5], rtol=1e-6)


def test_losses_of_targets_that_are_none_count_both_parts_as_pytorch() -> None:
    x, t = ag.tensor([0.5, 2.0, 0.25, 3.0]), ag.tensor([1.0, -1.0, 0.0, 7.0])
    found = F.hinge_embedding_loss(x, t, reduction="none")
    np.testing.assert_array_equal(found.numpy(), [0.5, 0.0, 1.0, 3.0])


def test_arguments_that_pytorch_takes_elsewhere_have_no_place() -> None:
    x = ag.tensor([[0.1, 0.2]])
    for call in (lambda: F.kl_div(x, x, False), lambda: F.smooth_l1_loss(x, x, 0),
                 lambda: F.binary_cross_entropy_with_logits(x, x, x, x),
                 lambda: F.poisson_nll_loss(x, x, True, False, 0.5),
                 lambda: nn.SmoothL1Loss(0),
                 lambda: nn.NLLLoss(None, 1)):
        with pytest.raises(TypeError, match=r"positional argument|without a name"):
            call()
    with pytest.raises(TypeError, match="write keepdims=True"):
        ag.special.logsumexp(x, 1, True)
    with pytest.raises(TypeError, match=r"softmin of float32.* needs dim="):
        F.softmin(ag.ones((2, 3, 4)))


def test_a_tensor_beside_a_tensor_is_no_axis() -> None:
    x = ag.tensor([[1, 2], [3, 4]])
    np.testing.assert_array_equal(ag.max(x, ag.tensor([3])).numpy(), [[3, 3], [3, 4]])
    with pytest.raises(TypeError, match=r"axis must be an integer, not int64\[1\]"):
        ag.sum(x, ag.tensor([1]))


def test_chunks_of_nothing_are_as_many_as_asked_for() -> None:
    assert [part.shape for part in ag.chunk(ag.ones((0, 3)), 3)] == [(0, 3)] * 3


@pytest.mark.parametrize("name", ["logit", "cdist", "pdist", "dist", "pairwise_distance",
                                  "cumulative_trapezoid", "trapezoid", "isclose", "angle", "std"])
def test_unsigned_integers_do_not_wrap_on_the_way_to_floats(name: str) -> None:
    f = getattr(ag, name, None) or getattr(F, name)
    x = np.array([[200, 3, 77], [5, 100, 2]], np.uint8)
    pairs = "cdist dist pairwise_distance cumulative_trapezoid trapezoid isclose"
    operands = (x, x[::-1]) if name in pairs.split() else (x,)
    integers, floats = (f(*(ag.tensor(np.array(a, dtype)) for a in operands))
                        for dtype in ("uint8", "float64"))
    np.testing.assert_allclose(integers.numpy(), floats.numpy(), rtol=1e-5)


@pytest.mark.parametrize("p", [1.0, 2.0, np.inf])
def test_distances_that_are_wanted_often_are_compiled(p):
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=(n, 5)).astype("float32") for n in (40, 60))
    wanted = np.linalg.norm(a[:, None] - b, p, axis=-1)
    for _ in range(6):  # counted, traced, compiled
        np.testing.assert_allclose(ag.cdist(a, b, p).numpy(), wanted, rtol=1e-5)
    x = ag.tensor(a, requires_grad=True)
    ag.cdist(x, b, p).sum().backward()
    assert x.grad.shape == a.shape


def test_pools_of_powers_sum_signed_numbers_and_gaps_let_nan_through() -> None:
    assert F.lp_pool1d(X[None], 1, 2)[0].tolist() == [[2.0, 11.0], [-2.0, 5.5], [15.0, -8.0]]
    x = ag.tensor([math.nan, 2.0, 0.25, -math.inf])
    for f, expected in ((F.hardshrink, [2.0, 0.0]), (F.softshrink, [1.5, 0.0]),
                        (lambda x: F.threshold(x, 0.5, 9.0), [2.0, 9.0])):
        y = f(x)
        assert math.isnan(y[0].item())
        assert y[1:3].tolist() == expected


ROWS, PICTURES = ag.ones((2, 4)), ag.ones((2, 4, 6, 6))
CALLS = {
    "Linear": (nn.Linear(4, 3), {"input": ROWS}), "LayerNorm": (nn.LayerNorm(4), {"input": ROWS}),
    "Conv2d": (nn.Conv2d(4, 3, 3), {"input": PICTURES}), "GELU": (nn.GELU(), {"input": ROWS}),
    "BatchNorm2d": (nn.BatchNorm2d(4), {"input": PICTURES}),
    "Flatten": (nn.Flatten(), {"input": ROWS}),
    "Embedding": (nn.Embedding(4, 3), {"input": ag.tensor([1])}),
    "GRU": (nn.GRU(4, 3), {"input": ROWS, "hx": ag.zeros((1, 3))}),
    "GRUCell": (nn.GRUCell(4, 3), {"input": ROWS, "hx": ag.zeros((2, 3))}),
    "MSELoss": (nn.MSELoss(), {"input": ROWS, "target": ROWS * 2}),
    "CrossEntropyLoss": (nn.CrossEntropyLoss(), {"target": ag.tensor([1, 2]), "input": ROWS}),
    "PoissonNLLLoss": (nn.PoissonNLLLoss(), {"log_input": ROWS, "target": ROWS * 2}),
    "Bilinear": (nn.Bilinear(4, 4, 2), {"input1": ROWS, "input2": ROWS}),
}


@pytest.mark.parametrize("run", [lambda f: f, ag.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("name", CALLS)
def test_operands_of_layers_have_the_names_that_they_have_in_pytorch(name, run):
    layer, given = CALLS[name]
    layer.eval()
    by_place = [given[k] for k in sorted(given, key=lambda k: (k == "target", k == "hx", k))]
    for a, b in zip(ag.tree.leaves(run(lambda g: layer(**g))(given)),
                    ag.tree.leaves(layer(*by_place)), strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), 1e-5, 1e-6)


def test_a_forward_of_ones_own_has_the_names_that_it_has():
    class Own(nn.Module):
        def forward(self, x):
            return x

    with pytest.raises(TypeError, match="input"):
        Own()(input=ROWS)
    with pytest.raises(TypeError, match=r"Linear: .*(multiple|unexpected)"):
        nn.Linear(4, 3)(ROWS, input=ROWS)


def test_names_of_modules_and_states_as_pytorch_asks_for_them():
    shared = nn.Linear(2, 2)
    model = nn.Sequential(shared, nn.ReLU(), shared)
    assert [n for n, _ in model.named_modules(prefix="a")] == ["a", "a.0", "a.1"]
    assert [n for n, _ in model.named_modules(remove_duplicate=False)] == ["", "0", "1", "2"]
    memo = {shared}
    assert [n for n, _ in model.named_modules(memo)] == ["", "1"] and len(memo) == 3
    names = [n for n, _ in model.named_parameters("a", remove_duplicate=False)]
    assert names == ["a.0.weight", "a.0.bias", "a.2.weight", "a.2.bias"]
    norm = nn.BatchNorm1d(2)
    twice = nn.Sequential(norm, norm)
    assert len(list(twice.named_buffers(remove_duplicate=False))) == 6
    assert len(list(twice.named_buffers())) == 3
    into = {"own": 1}
    assert model.state_dict(destination=into, prefix="x.") is into
    assert list(into) == ["own", "x.0.weight", "x.0.bias", "x.2.weight", "x.2.bias"]
    assert model.state_dict(keep_vars=True)["0.weight"] is shared.weight


def test_long_rows_of_bags_are_shortened():
    table = ag.ones((3, 4), requires_grad=True)
    found = nn.functional.embedding_bag(ag.tensor([[0, 1]]), table, max_norm=1.0, mode="sum")
    np.testing.assert_allclose(found.detach().numpy(), [[1.0] * 4], rtol=1e-6)
    assert table[2].tolist() == [1] * 4 and table[0, 0] < 0.51


@pytest.mark.parametrize("name", ["jacobian", "hessian", "vjp", "jvp", "hvp", "vhp"])
def test_strict_derivatives_refuse_operands_that_nothing_depends_on(name):
    function, x = getattr(ag.autograd.functional, name), ag.ones(2)
    vectors = {"jvp": [(x, x)], "hvp": [(x, x)], "vhp": [(x, x)]}.get(name, [])
    function(lambda a, b: (a * a).sum(), (x, x), *vectors)
    with pytest.raises(RuntimeError, match="no result depends on operand 1"):
        function(lambda a, b: (a * a).sum(), (x, x), *vectors, strict=True)
    function(lambda a, b: (a * b * a).sum(), (x, x), *vectors, strict=True)


def test_a_list_of_arrays_is_no_dataset():
    with pytest.raises(TypeError, match=r"write TensorDataset\(\*arrays\)"):
        ag.data.TensorDataset([ag.ones(5), ag.ones(5)])
    assert len(ag.data.TensorDataset([[1, 2], [3, 4], [5, 6]])) == 3
