"""Activations, initial values and small functions of PyTorch's names: values and gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi.nn import functional as F
from agnesi.nn import init
from agnesi.testing import check_grads

X = np.array([-700.0, -3.5, -1.2, -0.3, 0.2, 0.6, 1.7, 3.6, 700.0])


def soft(x: Any) -> Any:
    return np.logaddexp(0, x)


#: Name, module, options, formula.
ACTIVATIONS: dict[str, Any] = {
    "hardtanh": (nn.Hardtanh, (-0.5, 2.0), lambda x: np.clip(x, -0.5, 2)),
    "hardsigmoid": (nn.Hardsigmoid, (), lambda x: np.clip(x / 6 + 0.5, 0, 1)),
    "hardswish": (nn.Hardswish, (), lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
    "hardshrink": (nn.Hardshrink, (0.5,), lambda x: np.where(np.abs(x) > 0.5, x, 0)),
    "softshrink": (nn.Softshrink, (0.5,), lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0)),
    "threshold": (nn.Threshold, (0.5, -2.0), lambda x: np.where(x > 0.5, x, -2)),
    "celu": (nn.CELU, (0.7,), lambda x: np.where(x > 0, x, 0.7 * np.expm1(np.minimum(x, 0) / 0.7))),
    "selu": (nn.SELU, (), lambda x: 1.0507009873554805 * np.where(
        x > 0, x, 1.6732632423543772 * np.expm1(np.minimum(x, 0)))),
    "mish": (nn.Mish, (), lambda x: x * np.tanh(soft(x))),
    "softsign": (nn.Softsign, (), lambda x: x / (1 + np.abs(x))),
    "tanhshrink": (nn.Tanhshrink, (), lambda x: x - np.tanh(x)),
    "logsigmoid": (nn.LogSigmoid, (), lambda x: -soft(-x)),
    "softmin": (nn.Softmin, (0,), lambda x: np.exp(-x + x.min()) / np.exp(-x + x.min()).sum()),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name: str) -> None:
    module, options, formula = ACTIVATIONS[name]
    function = getattr(F, name)
    x = ag.tensor(X)

    def run(x: Any) -> Any:
        return function(x, *options)

    value, slope = ag.jit(lambda x: (run(x), ag.grad(lambda x: run(x).sum())(x)))(x)
    for found in (value, function(x, *options), module(*options)(x)):
        np.testing.assert_allclose(found, formula(X), rtol=1e-12, atol=1e-300)
    assert np.isfinite(slope).all()
    check_grads(lambda x: function(x, *options), (ag.tensor(X[1:-1]),), order=1)


def test_halves_and_channels() -> None:
    x = np.random.default_rng(0).normal(size=(2, 4, 3))
    t = ag.tensor(x)
    np.testing.assert_allclose(F.glu(t, 1), x[:, :2] / (1 + np.exp(-x[:, 2:])))
    with pytest.raises(ValueError, match="not even"):
        F.glu(t)
    e = np.exp(x)
    np.testing.assert_allclose(nn.Softmax2d()(t), e / e.sum(0))
    slopes = np.array([0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(F.prelu(t, ag.tensor(slopes)),
                               np.where(x > 0, x, x * slopes[:, None]))
    with pytest.raises(ValueError, match="4 channels"):
        F.prelu(t, ag.ones(3))


def test_vectors_and_labels() -> None:
    a, b = np.random.default_rng(1).normal(size=(2, 5, 3))
    x, y = ag.tensor(a), ag.tensor(b)
    cosine = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    np.testing.assert_allclose(F.cosine_similarity(x, y), cosine)
    np.testing.assert_allclose(F.pairwise_distance(x, y),
                               np.linalg.norm(a - b + 1e-6, axis=1))
    np.testing.assert_allclose(F.normalize(x, p=1.0), a / np.abs(a).sum(1, keepdims=True))
    first, second = np.triu_indices(5, 1)
    np.testing.assert_allclose(F.pdist(x), np.linalg.norm(a[first] - a[second], axis=1))
    w = np.random.default_rng(2).normal(size=(2, 3, 3))
    np.testing.assert_allclose(F.bilinear(x, y, ag.tensor(w)), np.einsum("ni,kij,nj->nk", a, w, b))
    assert F.one_hot(ag.tensor([1, 0]), 3).tolist() == [[0, 1, 0], [1, 0, 0]]
    assert ag.jit(lambda t: F.one_hot(t, 2))(ag.tensor([1])).tolist() == [[0, 1]]
    with pytest.raises(ValueError, match="labels go from 0 to 5"):
        F.one_hot(ag.tensor([0, 5]), 3)
    assert ag.jit(F.one_hot)(ag.tensor([1, 2])).tolist() == [[0, 1, 0], [0, 0, 1]]
    for dtype, last in (("int8", 127), ("uint8", 255)):
        assert ag.jit(F.one_hot)(ag.tensor([last], dtype=dtype)).shape == (1, last + 1)
    with pytest.raises(ValueError, match="must go from 0"):
        ag.jit(F.one_hot)(ag.tensor([-1]))


def test_draws_of_classes_are_differentiable() -> None:
    ag.manual_seed(0)
    scores = ag.tensor(np.log([0.2, 0.8])).broadcast_to((4000, 2))
    hard = F.gumbel_softmax(scores, hard=True)
    assert set(np.unique(hard.numpy())) == {0.0, 1.0}
    assert abs(float(hard[:, 1].mean()) - 0.8) < 0.03
    g = ag.grad(lambda s: F.gumbel_softmax(s, hard=True)[:, 0].sum())(ag.zeros((3, 2)))
    np.testing.assert_allclose(g.sum(1), 0, atol=1e-6)
    assert (g[:, 0] > 0).all()


def test_initial_values() -> None:
    ag.manual_seed(0)
    w = init.orthogonal_(ag.zeros((6, 2, 2)), gain=2.0).numpy().reshape(6, 4)
    np.testing.assert_allclose(w.T @ w, 4 * np.eye(4), atol=1e-5)
    assert float(init.xavier_normal_(ag.zeros((200, 100))).std()) == pytest.approx(
        math.sqrt(2 / 300), rel=0.05)
    out = init.kaiming_normal_(ag.zeros((200, 100)), mode="fan_out", nonlinearity="relu")
    assert float(out.std()) == pytest.approx(math.sqrt(2 / 200), rel=0.05)
    cut = init.trunc_normal_(ag.zeros(5000), 1.0, 2.0, 0.0, 2.0).numpy()
    assert 0 <= cut.min() < 0.1 < 1.9 < cut.max() <= 2
    filters = init.dirac_(ag.zeros((4, 2, 3)), groups=2)
    images = ag.tensor(np.random.default_rng(3).normal(size=(1, 4, 5)).astype("float32"))
    np.testing.assert_allclose(F.conv1d(images, filters, padding=1, groups=2), images)
    assert ((init.sparse_(ag.zeros((8, 5)), 0.5) == 0).sum(0) == 4).all()
    assert init.calculate_gain("leaky_relu", 1.0) == 1.0
    with pytest.raises(ValueError, match="'swish'"):
        init.calculate_gain("swish")
    with pytest.raises(ValueError, match="fan_in"):
        init.kaiming_uniform_(ag.zeros((2, 2)), mode="fan")


@pytest.mark.parametrize("norm", [1.0, 2.0, math.inf])
def test_gradients_are_clipped_eagerly_and_compiled(norm: float) -> None:
    found = []
    for way in (lambda f: f, ag.jit):
        w, b = (ag.tensor(v, requires_grad=True) for v in ([3.0, -4.0], [[12.0]]))
        optimizer = ag.optim.SGD([w, b], lr=1.0)

        def step(w: Any = w, b: Any = b, optimizer: Any = optimizer) -> Any:
            optimizer.zero_grad()
            ((w * w).sum() + (b * b).sum()).backward()
            total = nn.utils.clip_grad_norm_([w, b], 1.0, norm)
            optimizer.step()
            return total

        total = float(way(step)())
        found.append((total, w.numpy().copy(), b.numpy().copy()))
    g = np.array([6.0, -8.0, 24.0])
    size = np.linalg.norm(g, norm)
    for total, w, b in found:
        assert total == pytest.approx(size)
        np.testing.assert_allclose([*w, b[0, 0]], np.array([3.0, -4.0, 12.0]) - g / size, rtol=1e-5)


def test_parameters_as_one_vector() -> None:
    model = nn.Linear(3, 2)
    vector = nn.utils.parameters_to_vector(model.parameters())
    other = nn.Linear(3, 2)
    nn.utils.vector_to_parameters(vector.detach(), other.parameters())
    assert ag.allclose(other(ag.ones((1, 3))), model(ag.ones((1, 3))))
    with pytest.raises(ValueError, match="8 elements"):
        nn.utils.vector_to_parameters(ag.ones(7), other.parameters())
    w = ag.zeros(2, requires_grad=True)
    w.grad = ag.tensor([math.nan, 1.0])
    with pytest.raises(RuntimeError, match="nan"):
        nn.utils.clip_grad_norm_([w], 1.0, error_if_nonfinite=True)
