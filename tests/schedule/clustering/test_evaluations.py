"""Values that nests along different axes read, beside nests that write each element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import agnesi as ag


def left_out(s: Any, t: Any) -> Any:
    """Nadaraya and Watson's regression, each point by all others."""
    k = ag.exp(-(s[:, None] - s[None, :]) ** 2) * (1 - ag.eye(len(s), dtype=s.dtype))
    return ((k @ t) / k.sum(1)).sum()


def entropies(x: Any, t: Any) -> Any:
    """The greatest entropy of a row, and totals of columns."""
    p = ag.softmax(x * t, axis=1)
    return (-(p * ag.log(p + 1e-9)).sum(1).max() + p.sum(0)).sum()


def neighbours(x: Any, t: Any) -> Any:
    """Similarities of points as Hinton and Roweis have them, of both in each pair."""
    near = ag.softmax(-((x[:, None] - x) ** 2).sum(-1) - 1e9 * ag.eye(60), axis=1)
    return ((near + near.T) * ag.outer(t[:60], t[:60] + 1)).sum()


@pytest.mark.parametrize(
    ("f", "shape"), [(left_out, (192,)), (entropies, (192, 192)), (neighbours, (60, 50))])
def test_exponentials_of_both_ways_are_kept(f: Callable[..., Any], shape: Any) -> None:
    """Written for a product, then summed by rows and by columns: three times was one too many."""
    rng = np.random.default_rng(0)
    x, t = ag.tensor(rng.random(shape)), ag.tensor(rng.random(192))
    slope = ag.grad(f)
    with ag.config(verify=True):
        found = ag.jit(slope)(x, t)
    np.testing.assert_allclose(found.numpy(), slope(x, t).numpy(), 1e-8, 1e-10)


def transposed_attention(x: Any, y: Any) -> Any:
    """Weights that one product reads row by row and another one transposed, copied for it."""
    k = ag.softmax(x @ y.T, axis=1)
    return ((k @ y).sum(0) * ag.cos(ag.arange(32))).sum() + (k.max(0) * ag.sin(ag.arange(48))).sum()


def rows_in_columns(x: Any, y: Any) -> Any:
    """Sums of rows inside of sums of columns: as many of one as of the other."""
    s = ag.tanh(x).sum(1)
    return (ag.tanh(x) * s[:, None] * ag.softmax(s, axis=0)[:, None]).sum(0)


def turned(x: Any, y: Any) -> Any:
    """What is expensive, beside itself in another order."""
    e = ag.exp(ag.tanh(x @ y.T))
    return e + e.T, e * e[::-1], e


def normalised_twice(x: Any, y: Any) -> Any:
    """Rows, then columns; the slope of a slope stores what it sums along columns."""
    def cost(x: Any) -> Any:
        for axis in (1, 0):
            x = (x - x.mean(axis, keepdims=True)) / ag.sqrt(x.var(axis, keepdims=True) + 0.1)
        return (x.max(1) * ag.cos(y[0])).sum() + (ag.tanh(x).sum(0) * ag.sin(y[0])).sum()

    return ag.grad(lambda x: (ag.grad(cost)(x) * y).sum())(x)


SQUARE = {
    "normalised twice": (normalised_twice, (96, 96)),
    "transposed attention": (ag.vmap(ag.grad(transposed_attention, (0, 1))), (4, 48, 32)),
    "rows in columns": (rows_in_columns, (160, 160)), "turned": (turned, (96, 96)),
}


@pytest.mark.parametrize("name", SQUARE)
def test_as_many_rows_as_columns_are_not_the_same_points(name: str) -> None:
    """A kernel that reads a value at other points than its own would compute it at both."""
    f, shape = SQUARE[name]
    rng = np.random.default_rng(0)
    given = [ag.tensor(rng.normal(size=shape) / 4) for _ in range(2)]
    with ag.config(verify=True):
        found = ag.jit(f)(*given)
    expected = f(*given)
    for e, c in zip(*((r if isinstance(r, tuple) else (r,)) for r in (expected, found)),
                    strict=True):
        np.testing.assert_allclose(c.numpy(), e.numpy(), 1e-6, 1e-9)


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 3, 4)])
def test_labels_have_fewer_axes_than_what_is_reduced(shape: Any) -> None:
    x, size = ag.ones(shape, dtype="float64"), (shape[0], shape[2])

    def f(x: Any) -> Any:
        return ag.nn.functional.cross_entropy(x, ag.zeros(size, dtype=int), label_smoothing=0.1)

    for optimizer in (None, "None"):
        found = ag.jit(f, optimizer=optimizer)(x) if optimizer else ag.jit(f)(x)
        np.testing.assert_allclose(found.item(), f(x).item(), 1e-12, 1e-15)
