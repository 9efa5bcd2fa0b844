"""What Chainer's paper and manual state, row by row."""

from __future__ import annotations

import tracemalloc
import weakref
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from tests.share import EVERY


def test_c1_depth_may_depend_on_the_data():
    def net(x: Any) -> Any:
        h = x
        for _ in range(int(abs(x.numpy().sum())) + 1):
            h = ag.tanh(h * 1.3) + x
        return (h * h).sum() if x.numpy()[0] > 0 else h.sum()

    depths = set()
    for seed in range(6):
        x = np.random.default_rng(seed).normal(size=4) * 2
        ag.testing.check_grads(net, [x], order=1, modes=["rev"])
        t = ag.tensor(x, requires_grad=True)
        listing = str(ag.inspect.listing(net(t)))
        depths.add(listing.count("tanh"))
    assert len(depths) > 2


def test_c2_arithmetic_of_variables_and_numbers():
    x = ag.tensor(5.0, requires_grad=True)
    y = x**2 - 2 * x + 1
    y.backward()
    assert y.item() == 16 and x.grad.item() == 8
    a, b = ag.tensor(3.0, requires_grad=True), ag.tensor(2.0, requires_grad=True)
    total = sum([a * b, 1 / a, 2 - b, 2**b, -a, b**a])  # 0 + tensor, too
    ga, gb = ag.grad(total, [a, b])
    np.testing.assert_allclose(
        [ga.item(), gb.item()],
        [2 - 1 / 9 - 1 + 8 * np.log(2), 3 - 1 + 4 * np.log(2) + 12], rtol=1e-6,
    )
    c = a * 1
    c += b
    assert c.item() == 5


def test_c3_the_seed_of_a_matrix():
    x = ag.tensor([[1.0, 2, 3], [4, 5, 6]], requires_grad=True)
    y = x**2 - 2 * x + 1
    with pytest.raises(ag.GradientError):
        y.backward()
    y.grad = ag.ones((2, 3))
    y.backward()
    assert x.grad.tolist() == [[0, 2, 4], [6, 8, 10]]


def test_c4_gradients_between_are_kept_on_request_only():
    x = ag.tensor([5.0], requires_grad=True)
    for keep in (True, False):
        z = 2 * x
        if keep:
            z.retain_grad()
        (x**2 - z + 1).sum().backward()
        assert (z.grad.item() == -1) if keep else (z.grad is None)


def _peak_of_backward(keep: bool) -> int:
    x = ag.ones((256, 256), requires_grad=True)
    h, kept = x, []
    for _ in range(20):
        h = h * 1.01
        if keep:
            h.retain_grad()
            kept.append(h)
    y = h.sum()
    tracemalloc.start()
    y.backward()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_c4_kept_gradients_cost_memory():
    assert _peak_of_backward(True) > 3 * _peak_of_backward(False)


def test_c5_gradients_accumulate():
    x = ag.tensor([2.0], requires_grad=True)
    (x * 3 + ag.exp(x) * x).sum().backward()
    once = x.grad.item()
    np.testing.assert_allclose(once, 3 + 3 * np.exp(2), rtol=1e-6)
    layer = nn.Linear(2, 2)
    for calls in (1, 2):
        layer(ag.ones((1, 2))).sum().backward()
        assert layer.weight.grad.tolist() == [[calls] * 2] * 2
    layer.zero_grad()
    layer(ag.ones((1, 2))).sum().backward()
    assert layer.weight.grad.tolist() == [[1, 1]] * 2


def test_c6_attributes_of_roots_and_results():
    x = ag.tensor([[1.0, 2.0]], requires_grad=True)
    y = ag.exp(x)
    assert x.owner is None and y.owner.op.name == "exp" and y.owner.inputs[0] is x
    assert x.grad is None and y.grad is None and type(x.array) is np.ndarray and x.size == 2
    blocked = (ag.floor(x) * 1.0).sum() + y.sum()
    blocked.backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp([[1.0, 2.0]]), rtol=1e-6)


def test_c7_truncated_backpropagation():
    """Loss at every step; history is cut every 30 steps; the last cut is shorter."""
    steps, every = 100, 30
    inputs = np.random.default_rng(0).normal(size=(steps, 3)).astype("float64")
    start = np.random.default_rng(1).normal(size=(3, 3)) * 0.4

    def run(manual: bool) -> Any:
        w = ag.tensor(start, requires_grad=True)
        h, loss, found = ag.zeros(3, "float64"), 0.0, []
        for i, x in enumerate(inputs):
            h = ag.tanh(h @ w + x)
            loss = loss + (h * h).sum()
            if (i + 1) % every == 0 or i + 1 == steps:
                w.zero_grad()
                loss.backward()
                found.append(w.grad.numpy().copy())
                if manual:
                    h, loss = ag.tensor(h.numpy().copy()), 0.0
                else:
                    loss.unchain_backward()
        return found

    for a, b in zip(run(False), run(True), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


def test_c7_ten_thousand_steps_in_flat_memory():
    w = ag.tensor(np.eye(8) * 0.5, requires_grad=True)
    h, first = ag.zeros(8, "float64"), None
    tracemalloc.start()
    try:
        sizes = []
        for i in range(10_000 if EVERY else 4_000):
            h = ag.tanh(h @ w)
            if i == 0:
                first = weakref.ref(h)
            if (i + 1) % 30 == 0:
                h.unchain_backward()
            if i in (2_999, 9_989 if EVERY else 3_989):
                sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert first() is None and abs(sizes[1] - sizes[0]) < 20_000


def test_c8_a_fixed_extractor_under_a_trained_predictor():
    """What ``volatile`` is for: no history below, a history above."""
    extractor, predictor = nn.Linear(4, 3), nn.Linear(3, 1)
    x = ag.rand(2, 4)
    with ag.no_grad():
        features = ag.tanh(extractor(x))
    assert not features.requires_grad and features.owner is None
    features.requires_grad_()
    predictor(features).sum().backward()
    assert features.grad is not None and predictor.weight.grad is not None
    assert all(p.grad is None for p in extractor.parameters())


def test_c42_numerical_gradients():
    x = ag.tensor([[1.0, -2.0], [3.0, 0.5]], "float64")
    weights = np.array([[1.0, 2.0], [3.0, 4.0]])
    (found,) = ag.testing.numerical_grad(lambda: x * x, [x], [weights])
    ag.testing.assert_allclose(found, 2 * x.numpy() * weights)
    y = ag.tensor([2.0, -1.0], "float64")
    gx, gy = ag.testing.numerical_grad(lambda: (x @ y, y * y), (x, y), ([1.0, 1.0], None))
    ag.testing.assert_allclose(gx, [[2, -1], [2, -1]])
    ag.testing.assert_allclose(gy, x.numpy().sum(0))
    assert x.tolist() == [[1, -2], [3, 0.5]]
    array = np.array([0.5, -0.7, 2.0])
    (found,) = ag.testing.numerical_grad(lambda: np.maximum(array, 0), [array], [np.ones(3)])
    ag.testing.assert_allclose(found, [1, 0, 1])


def test_c42_the_edge_of_closeness():
    ag.testing.assert_allclose(ag.tensor(1.0, "float64"), 1 + 1.09e-4)
    with pytest.raises(AssertionError):
        ag.testing.assert_allclose(ag.tensor(1.0, "float64"), 1 + 1.2e-4)
    ag.testing.assert_allclose(0.0, 0.9e-5)
    with pytest.raises(AssertionError, match="Not equal"):
        ag.testing.assert_allclose(0.0, 1.1e-5, verbose=False)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_f33_softmax_along_any_axis_of_any_float_twice_differentiated(dtype, axis):
    x = np.linspace(-2, 2, 24).reshape(2, 3, 4)
    expected = np.exp(x) / np.exp(x).sum(axis, keepdims=True)
    found = ag.softmax(ag.tensor(x.astype(dtype)), axis=axis)
    assert found.dtype == dtype
    np.testing.assert_allclose(found.numpy(), expected, 1e-2 if dtype == "float16" else 1e-6)
    ag.testing.check_grads(lambda t: (ag.softmax(t, axis=axis) ** 2).sum(), [x], order=2)
