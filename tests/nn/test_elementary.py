"""Torch7's simple layers: their Jacobians, and functions that stand for those without weights."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(3, 4)) + 3.0
IDS = np.array([[0, 5, 2], [2, 4, 0]])
SHIFT, POINTS, SCALES = (RANDOM.normal(size=s) for s in ((4,), (5, 4), (5, 4)))

LAYERS = {
    "Linear": (nn.Linear(4, 5), {"weight": POINTS, "bias": np.ones(5)}, X @ POINTS.T + 1),
    "Add": (nn.Add(4), {"bias": SHIFT}, X + SHIFT),
    "Mul": (nn.Mul(), {"weight": np.array(1.5)}, X * 1.5),
    "CMul": (nn.CMul(4), {"weight": SHIFT}, X * SHIFT),
    "CMul of rows": (nn.CMul((3, 1)), {"weight": X[:, :1]}, X * X[:, :1]),
    "Euclidean": (
        nn.Euclidean(4, 5), {"weight": POINTS},
        np.linalg.norm(X[:, None] - POINTS, axis=-1)),
    "WeightedEuclidean": (
        nn.WeightedEuclidean(4, 5), {"weight": POINTS, "scale": SCALES},
        np.linalg.norm(SCALES * (X[:, None] - POINTS), axis=-1)),
}  # fmt: skip

#: Layers of Torch7 without weights, as what stands in a Sequential for them.
FUNCTIONS = {
    "Max": (lambda x: x.max(1), X.max(1)),
    "Min": (lambda x: x.min(1), X.min(1)),
    "Mean": (lambda x: x.mean(0), X.mean(0)),
    "Sum": (lambda x: x.sum(0), X.sum(0)),
    "Abs": (ag.abs, abs(X)),
    "Exp": (ag.exp, np.exp(X)),
    "Log": (ag.log, np.log(X)),
    "Power": (lambda x: x**2.5, X**2.5),
    "Square": (ag.square, X * X),
    "Sqrt": (ag.sqrt, np.sqrt(X)),
    "Identity": (nn.Identity(), X),
    "Copy": (lambda x: x.astype("float64", copy=True), X),
    "Narrow": (lambda x: x[:, 1:3], X[:, 1:3]),
    "Replicate": (lambda x: ag.broadcast_to(x, (2, 3, 4)), np.stack([X, X])),
    "Reshape": (lambda x: x.reshape(2, 6), X.reshape(2, 6)),
    "Select": (lambda x: x[:, 2], X[:, 2]),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_and_their_jacobians(name):
    layer, values, expected = LAYERS[name]
    given = {n: ag.tensor(v) for n, v in values.items()}
    assert [(n, p.shape) for n, p in layer.named_parameters()] == [
        (n, v.shape) for n, v in given.items()]  # fmt: skip

    def f(x, *parameters):
        return layer.with_parameters(dict(zip(values, parameters, strict=True)))(x)

    for g in (f, ag.jit(f)):
        np.testing.assert_allclose(g(ag.tensor(X), *given.values()).numpy(), expected, 1e-12)
    ag.testing.check_grads(f, [X, *values.values()])


@pytest.mark.share(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_layers(name):
    function, expected = FUNCTIONS[name]
    net = nn.Sequential(function, ag.sin)
    for f in (net, ag.jit(net)):
        np.testing.assert_allclose(f(ag.tensor(X)).numpy(), np.sin(expected), 1e-12)
    ag.testing.check_grads(net, [X])


def test_sequences_of_functions_are_printed():
    assert str(nn.Sequential(nn.Linear(4, 2), ag.tanh)).split("\n") == [
        "Sequential()         10", "  (0): Linear(4, 2)  10", "  (1): tanh"]  # fmt: skip
    with pytest.raises(TypeError, match="layer 1 is no module and no function: 3"):
        nn.Sequential(ag.tanh, 3)


def test_sparse_rows():
    layer = nn.SparseLinear(6, 2, dtype="float64")
    values = np.array([[1.0, 2.0, 3.0], [0.5, 0.0, -1.0]])
    dense = np.zeros((2, 6))
    np.put_along_axis(dense, IDS, values, 1)
    weight, bias = (p.numpy().copy() for p in layer.parameters())
    for f in (layer, ag.jit(layer)):
        found = f(ag.tensor(IDS), ag.tensor(values)).detach().numpy()
        np.testing.assert_allclose(found, dense @ weight + bias, 1e-13)

    def loss(v, w, b):
        return (layer.with_parameters({"weight": w, "bias": b})(ag.tensor(IDS), v) ** 2).sum()

    ag.testing.check_grads(loss, [values, weight, bias])
    with pytest.raises(ag.ShapeError, match=r"indices int64\[2, 3\] and values float64\[2,"):
        layer(ag.tensor(IDS), ag.ones((2, 2)))


def test_a_step_of_sparse_rows_touches_only_those():
    layer = nn.SparseLinear(30_000, 3, bias=False)
    before = layer.weight.numpy().copy()
    optimizer = ag.optim.SGD(layer.parameters(), lr=0.5)

    @ag.jit
    def train(ids, values):
        optimizer.zero_grad()
        layer(ids, values).sum().backward()
        optimizer.step()

    train(ag.tensor(IDS), ag.ones(IDS.shape))
    np.add.at(before, IDS, np.float32(-0.5))
    np.testing.assert_allclose(layer.weight.numpy(), before, 1e-5, 1e-7)
    assert train.plan().peak_bytes < 30_000
