"""Random programs mean the same before and after rewriting."""

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T

UNARY = [
    ag.exp, ag.log, ag.sqrt, ag.square, ag.negative, ag.reciprocal, ag.sigmoid, ag.log1p, ag.tanh,
    ag.abs, lambda x: 1 / (1 + ag.exp(-x)), lambda x: x**3, lambda x: 1 - x, lambda x: x * 2,
    lambda x: x / 4, lambda x: x + 0, lambda x: ag.log(1 + ag.exp(x)),
]
BINARY = [
    ag.add, ag.subtract, ag.multiply, ag.divide, ag.maximum, ag.minimum,
    lambda a, b: ag.where(a > b, a, b), lambda a, b: a * b / a, lambda a, b: 2 * a + 3 * b,
]


def moved(x, rng):
    """The value through reductions and movements, back at the shape (3, 4)."""
    return [
        lambda: x.sum(0), lambda: x.sum(1, keepdims=True), lambda: x.mean(),
        lambda: ag.softmax(x, axis=1), lambda: ag.exp(x) / ag.exp(x).sum(1, keepdims=True),
        lambda: ag.log(ag.exp(x).sum(1, keepdims=True)), lambda: x.max(0),
        lambda: ag.permute_dims(x.reshape((4, 3)), (1, 0)),
        lambda: ag.broadcast_to(x[:1], (3, 4)), lambda: x[::-1],
        lambda: ag.permute_dims(ag.permute_dims(x, (1, 0)), (1, 0)),
        lambda: (x * 3).sum(0).sum(0), lambda: (x * x.sum(1, keepdims=True)).sum(1, keepdims=True),
    ][rng.integers(13)]()


def program(rng, variables, size):
    pool = list(variables)
    for _ in range(size):
        kind = rng.integers(4)
        a, b = (pool[rng.integers(len(pool))] for _ in range(2))
        if kind == 0:
            new = UNARY[rng.integers(len(UNARY))](a)
        elif kind < 3:
            new = BINARY[rng.integers(len(BINARY))](a, b)
        else:
            new = moved(a, rng)
        pool.append(new if new.shape == (3, 4) else ag.broadcast_to(new, (3, 4)))
    return pool[-1]


@pytest.mark.parametrize("seed", range(60))
def test_random_program(seed, var, values):
    rng = np.random.default_rng(seed)
    xs = [var(n, (3, 4), requires_grad=True) for n in "abc"]
    y = program(rng, xs, int(rng.integers(3, 14)))
    outputs = [y, *T.grad(y.sum(), xs, disconnected="zero")]
    given = {n: rng.uniform(0.3, 1.5, (3, 4)) for n in "abc"}
    for before, after in zip(*values(outputs, given), strict=True):
        known = np.isfinite(before)
        scale = max(1.0, float(np.abs(before[known]).max(initial=0)))
        np.testing.assert_allclose(after[known], before[known], rtol=1e-7, atol=1e-9 * scale)
