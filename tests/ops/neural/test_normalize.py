"""Normalization: against formulas written out, by its gradients, eager and compiled."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi.nn import functional
from agnesi.testing import check_op

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(3, 4, 3, 2))
W, B = RANDOM.normal(size=4), RANDOM.normal(size=4)


def standard(x, axes, eps=1e-5):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def spread(v):
    return v[:, None, None]


def test_formulas():
    np.testing.assert_allclose(
        functional.batch_norm(X, None, None, W, B).numpy(),
        standard(X, (0, 2, 3)) * spread(W) + spread(B), atol=1e-12,
    )
    np.testing.assert_allclose(
        functional.instance_norm(X, None, None, W, B).numpy(),
        standard(X, (2, 3)) * spread(W) + spread(B), atol=1e-12,
    )
    grouped = standard(X.reshape(3, 2, 2, 3, 2), (2, 3, 4)).reshape(X.shape)
    np.testing.assert_allclose(
        functional.group_norm(X, 2, W, B).numpy(), grouped * spread(W) + spread(B), atol=1e-12
    )
    np.testing.assert_allclose(
        functional.layer_norm(X, (3, 2)).numpy(), standard(X, (2, 3)), atol=1e-12
    )
    np.testing.assert_allclose(functional.layer_norm(X, 2).numpy(), standard(X, (3,)), atol=1e-12)


@pytest.mark.parametrize("size", [1, 2, 5, 11])
def test_local_response(size):
    expected = np.empty_like(X)
    for c in range(4):
        near = X[:, max(c - size // 2, 0): c + (size - 1) // 2 + 1]
        expected[:, c] = X[:, c] / (1 + 0.3 / size * (near**2).sum(1)) ** 0.75
    found = functional.local_response_norm(X, size, 0.3)
    np.testing.assert_allclose(found.numpy(), expected)
    check_op(lambda x: functional.local_response_norm(x, size, 0.3), [[X]])


def test_rules():
    check_op(lambda x, w, b: functional.batch_norm(x, None, None, w, b), [[X, W, B]])
    check_op(lambda x, w, b: functional.batch_norm(x, b, w * w, w, b), [[X, W, B]])
    check_op(lambda x, w, b: functional.instance_norm(x, None, None, w, b), [[X, W, B]], order=1)
    check_op(lambda x: functional.layer_norm(x, (3, 2)), [[X]])

    def grouped(x, w, b):
        return functional.group_norm(x, 2, w, b)

    ag.testing.check_grads(grouped, [X, W, B])
    np.testing.assert_allclose(
        ag.jit(grouped)(*map(ag.tensor, (X, W, B))).numpy(), grouped(X, W, B).numpy(), atol=1e-12
    )


def test_running_statistics_move_towards_the_batch_and_are_used_in_evaluation():
    for jitted in (False, True):
        norm = nn.BatchNorm2d(4, dtype="float64")
        call = ag.jit(norm) if jitted else norm
        for _ in range(2):
            call(ag.tensor(X))
        mean, var = X.mean((0, 2, 3)), X.var((0, 2, 3), ddof=1)
        np.testing.assert_allclose(norm.running_mean.numpy(), mean * 0.19)
        np.testing.assert_allclose(norm.running_var.numpy(), 0.81 + var * 0.19)
        norm.eval()
        scale = np.sqrt(norm.running_var.numpy() + 1e-5)
        expected = (X - spread(norm.running_mean.numpy())) / spread(scale)
        np.testing.assert_allclose(call(ag.tensor(X)).numpy(), expected)


@pytest.mark.parametrize("jitted", [False, True])
def test_running_statistics_without_momentum_are_means_over_batches(jitted):
    norm = nn.BatchNorm2d(4, momentum=None, dtype="float64")
    call = ag.jit(norm) if jitted else norm
    batches = [X, X * 2 + 1, X[:1] ** 2]
    for x in batches:
        call(ag.tensor(x))
    mean = np.mean([x.mean((0, 2, 3)) for x in batches], 0)
    var = np.mean([x.var((0, 2, 3), ddof=1) for x in batches], 0)
    np.testing.assert_allclose(norm.running_mean.numpy(), mean)
    np.testing.assert_allclose(norm.running_var.numpy(), var)
    assert norm.num_batches_tracked.item() == 3 and "num_batches_tracked" in norm.state_dict()


def test_without_running_statistics_evaluation_uses_the_batch():
    norm = nn.BatchNorm2d(4, track_running_stats=False, dtype="float64")
    assert norm.running_mean is None and [*norm.state_dict()] == ["weight", "bias"]
    before = norm(ag.tensor(X)).numpy()
    np.testing.assert_array_equal(norm.eval()(ag.tensor(X)).numpy(), before)
    np.testing.assert_allclose(before.mean((0, 2, 3)), 0, atol=1e-12)


@pytest.mark.parametrize("jitted", [False, True])
def test_batches_are_counted_in_training(jitted):
    norm = nn.BatchNorm2d(4)
    call = ag.jit(norm) if jitted else norm
    for x in (X, X + 1):
        call(ag.tensor(x, dtype="float32"))
    norm.eval()
    call(ag.tensor(X, dtype="float32"))
    assert norm.num_batches_tracked.item() == 2
    assert [*norm.state_dict()][-1] == "num_batches_tracked"


def test_counts_of_normalizations_may_be_missing_or_too_many():
    norm = nn.Sequential(nn.BatchNorm1d(4))
    state = norm.state_dict()
    norm.load_state_dict({**state, "0.num_batches_tracked": np.array(7)})
    assert norm[0].num_batches_tracked.item() == 7
    norm.load_state_dict({n: v for n, v in state.items() if "tracked" not in n})
    nn.LayerNorm(4).load_state_dict({**nn.LayerNorm(4).state_dict(), "num_batches_tracked": 7})
    with pytest.raises(KeyError, match="unknown"):
        norm.load_state_dict({**state, "0.count": np.array(7)})
    counted = nn.BatchNorm1d(4, momentum=None)
    counted.load_state_dict({**nn.BatchNorm1d(4).state_dict(), "num_batches_tracked": np.array(7)})
    assert counted.num_batches_tracked.item() == 7


def test_layers_without_scale_or_shift():
    for layer, names in (
        (nn.LayerNorm(2, elementwise_affine=False), []), (nn.LayerNorm(2, bias=False), ["weight"]),
        (nn.GroupNorm(2, 4, affine=False), []), (nn.BatchNorm2d(4, affine=False), []),
        (nn.InstanceNorm2d(4), []),
    ):
        assert [n for n, _ in layer.named_parameters()] == names
        found = layer(ag.tensor(X.astype("float32"))).numpy()
        assert abs(found.mean()) < 1e-5 and abs(found.var() - 1) < 1e-3


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_instance_norm_of_single_images(rank):
    layer = getattr(nn, f"InstanceNorm{rank}d")(4, affine=True, dtype="float64")
    layer.weight.array[...], layer.bias.array[...] = W, B
    x = np.random.default_rng(3).normal(size=(2, 4, 3, 5, 4)[: 2 + rank])
    axes = tuple(range(2, 2 + rank))
    off = x - x.mean(axes, keepdims=True)
    scale = np.sqrt(x.var(axes, keepdims=True) + 1e-5)
    shape = (4, *(1,) * rank)
    expected = off / scale * W.reshape(shape) + B.reshape(shape)
    for run in (layer, ag.jit(layer)):
        np.testing.assert_allclose(run(ag.tensor(x)).numpy(), expected)
        np.testing.assert_allclose(run(ag.tensor(x[1])).numpy(), expected[1])


def test_layers_and_errors():
    for layer in (nn.GroupNorm(2, 4), nn.InstanceNorm2d(4, affine=True), nn.LocalResponseNorm(),
                  nn.BatchNorm2d(4, affine=False)):
        assert layer(ag.tensor(X.astype("float32"))).shape == X.shape
        assert type(layer).__name__ in repr(layer)
    for call, words in (
        (lambda: functional.batch_norm(X, None, None, W[:3]), "one number per channel"),
        (lambda: functional.group_norm(X, 3), "3 groups"),
        (lambda: nn.GroupNorm(3, 4), "do not fall"),
        (lambda: functional.layer_norm(X, (3,)), "last axes"),
    ):
        with pytest.raises(ValueError, match=words):
            call()


def test_16_bits_are_normalized_in_32():
    x = (np.random.default_rng(1).normal(size=(6, 4, 3)) * 300).astype("float16")
    wide = x.astype("float64")
    assert np.square(wide).max() > np.finfo("float16").max
    for layer in (nn.BatchNorm1d(4), nn.GroupNorm(2, 4), nn.InstanceNorm1d(4), nn.LayerNorm(3)):
        expected = layer.to("float64")(wide).numpy()
        found = layer.half()(x)
        assert found.dtype == "float16"
        np.testing.assert_allclose(found.numpy(), expected, atol=4e-3)
    norm = nn.BatchNorm1d(4).half()
    norm(x)
    assert norm.running_var.dtype == "float16"
    variance = wide.var((0, 2), ddof=1)
    np.testing.assert_allclose(norm.running_var.numpy(), 0.9 + 0.1 * variance, rtol=2e-3)


@pytest.mark.parametrize("layer", [nn.GroupNorm(2, 4), nn.LayerNorm(2)], ids=repr)
def test_gradients_of_close_numbers_of_16_bits(layer):
    near = 1 + np.arange(8.0).reshape(2, 4, 1) / 256 * np.array([1.0, -1.0])
    slopes = np.random.default_rng(2).normal(size=near.shape).astype("float16")
    found = {}
    for dtype in ("float64", "float16"):
        x = ag.tensor(near.astype("float16").astype(dtype), requires_grad=True)
        (layer.to(dtype)(x) * slopes.astype(dtype)).sum().backward()
        found[dtype] = x.grad.numpy()
    scale = np.abs(found["float64"]).max()
    np.testing.assert_allclose(found["float16"], found["float64"], atol=2e-3 * scale)


def test_batch_normalization_takes_lists():
    norm = nn.BatchNorm1d(2)
    np.testing.assert_allclose(norm([[1.0, 5.0], [3.0, 1.0]]).tolist(), [[-1, 1], [1, -1]], 1e-5)
