"""Work that shares a loop: sums at the same places, and values that are summed and stored."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.ir.kernels import Nest


def ordered(f):
    """The number of stores in each nest that runs in order."""
    return [len(k.body) for k in f.plan().layout.kernels if isinstance(k, Nest) and k.ordered]


def agrees(function, *arrays, tolerance=1e-12):
    """The compiled function, after its results were compared with those of an eager run."""
    f = ag.jit(function)
    expected = [np.asarray(r.array) for r in function(*map(ag.tensor, arrays))]
    for _ in range(2):
        found = f(*map(ag.tensor, arrays))
        for r, e in zip(found, expected, strict=True):
            np.testing.assert_allclose(r.array, e, tolerance, tolerance)
    return f


def places(rows, groups):
    return np.random.default_rng(rows).integers(-groups, groups, rows)


@pytest.mark.share(6)
@pytest.mark.parametrize("rows", [0, 1, 3, 40, 919])
@pytest.mark.parametrize("groups", [1, 5, 85])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "complex128"])
def test_sums_at_the_same_places(rows, groups, dtype):
    rng = np.random.default_rng(0)
    a, b = rng.integers(-8, 8, (2, rows)).astype(dtype)
    base = rng.integers(-8, 8, groups).astype(dtype)

    def both(a, b, base, at):
        first = ag.index_add(ag.zeros(groups, dtype=dtype), 0, at, a * 2)
        second = ag.index_add(base, 0, at, a - b)
        return first, second, second.sum()

    f = agrees(both, a, b, base, places(rows, groups), tolerance=1e-5)
    if rows > 8 * groups:
        assert len(ordered(f)) <= 2


def test_one_nest_for_the_gradients_of_two_gathers():
    at = places(919, 85)
    a, b, x = (np.random.default_rng(k).standard_normal(n) for k, n in ((1, 85), (2, 85), (3, 919)))

    def cost(a, b, x, at):
        return ((a[at] + b[at] * x) ** 2).sum()

    f = agrees(ag.grad(cost, argnums=(0, 1)), a, b, x, at)
    assert ordered(f) == [8]  # two sums at a time, by four copies


def test_sums_that_need_each_other_stay_apart():
    at, x = places(300, 7), np.random.default_rng(4).standard_normal(300)

    def chain(x, at):
        first = ag.index_add(ag.zeros(7, dtype="float64"), 0, at, x)
        second = ag.index_add(first, 0, at, first[at] * x)
        third = ag.index_add(ag.zeros(7, dtype="float64"), 0, at, x * second.sum())
        return first, second, third, ag.index_add(ag.zeros(7, dtype="float64"), 0, at, -x)

    agrees(chain, x, at)


def test_sums_at_two_kinds_of_places():
    at, other = places(500, 9), places(501, 9)[:500]
    x = np.random.default_rng(5).standard_normal(500)

    def several(x, at, other):
        zeros = ag.zeros(9, dtype="float64")
        return (ag.index_add(zeros, 0, at, x), ag.index_add(zeros, 0, other, 2 * x),
                ag.index_add(zeros, 0, at, x * x), ag.scatter(zeros, 0, at, x),
                ag.index_add(zeros, 0, other, x[::-1]), ag.index_add(x, 0, at, x))

    agrees(several, x, at, other)


@pytest.mark.share(2)
@pytest.mark.parametrize("n", [1, 7, 16, 100, 5000])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
def test_values_that_are_stored_and_summed(n, dtype):
    x, y = np.random.default_rng(n).integers(-3, 4, (2, n)).astype(dtype)

    def several(x, y):
        near = (x - y) * x
        middle = near - near.sum() // n
        return near, near.sum(), middle, (middle * middle).sum(), (y - middle.max()) * near

    agrees(several, x, y, tolerance=1e-5)


@pytest.mark.parametrize("shape", [(5, 33), (33, 5), (1, 200), (64, 64), (3, 4, 17)])
def test_rows_that_are_stored_and_summed(shape):
    x = np.random.default_rng(0).standard_normal(shape)

    def several(x):
        e = ag.exp(x - x.max(-1, keepdims=True))
        total = e.sum(-1, keepdims=True)
        return x * 2, e, e / total, (x * e).sum(-1), (x - total) * total

    agrees(several, x)


def test_a_state_changed_in_place_is_summed_before():
    x = np.random.default_rng(1).standard_normal(100)
    w = ag.tensor(x.copy())

    @ag.jit
    def step(g):
        norm = (w * g).sum()
        w[:] = w - 0.1 * g
        return norm, (w * w).sum(), (g * g).sum() * w

    expected = x.copy()
    for k in range(3):
        g = np.cos(np.arange(100.0) + k)
        norm = (expected * g).sum()
        expected -= 0.1 * g
        results = [norm, (expected * expected).sum(), (g * g).sum() * expected]
        for found, right in zip(step(ag.tensor(g)), results, strict=True):
            np.testing.assert_allclose(found.array, right, 1e-12)
        np.testing.assert_allclose(w.array, expected, 1e-12)
