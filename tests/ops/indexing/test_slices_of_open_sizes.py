"""Slices of tensors of open sizes, with bounds computed of sizes and values: beside NumPy."""

from __future__ import annotations

import itertools
import random
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T

BOUNDS = [None, 0, 1, 2, -1, -2, -3, 5]


@pytest.mark.share(4)
@pytest.mark.parametrize("step", [None, 1, 2, 3, -1, -2, -3])
@pytest.mark.parametrize("start", BOUNDS)
def test_numbers_as_bounds_and_steps(start, step):
    y, made = T.dvector("y"), []
    for stop in BOUNDS:
        z = y[start:stop:step]
        made += [z.shape[0] * 1, z.sum(), ag.ones_like(z), z * 1]
    f = ag.function([y], made, on_unused_input="ignore")
    for n in (0, 1, 2, 4, 7):
        v, found = np.arange(1.0, n + 1), iter(f(np.arange(1.0, n + 1)))
        for stop in BOUNDS:
            expected = v[start:stop:step]
            size, total, ones, values = itertools.islice(found, 4)
            assert (size, total) == (len(expected), expected.sum())
            assert ones.tolist() == [1.0] * len(expected) and values.tolist() == expected.tolist()


class Slices:
    """Random expressions of slices: functions of an environment, symbolic or NumPy's."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def bound(self, depth: int = 0) -> Any:
        """A number, an input, a size, or arithmetic of these."""
        r = self.random
        kind = r.randrange(12 if depth < 2 else 6)
        if kind < 6:
            number = r.randint(-4, 5)
            return (lambda e: number, lambda e: e.i, lambda e: e.j, lambda e: e.x.shape[0],
                    lambda e: e.y.shape[0], lambda e: e.x.shape[1])[kind]
        a, b, n = self.bound(depth + 1), self.bound(depth + 1), r.randint(1, 3)
        return (lambda e: a(e) - n, lambda e: n - a(e), lambda e: a(e) // (n + 1), lambda e: -a(e),
                lambda e: a(e) + b(e), lambda e: a(e) * 2 - b(e))[kind - 6]

    def slice(self) -> Any:
        start, stop = (self.bound() if self.random.random() < 0.7 else lambda e: None
                       for _ in range(2))
        step = self.random.choice([None, None, None, 1, 2, 3, -1, -1, -2, -3])
        return lambda e: slice(start(e), stop(e), step)

    def sliced(self) -> Any:
        s, t = self.slice(), self.slice()
        return self.random.choice([
            lambda e: e.x[s(e)], lambda e: e.x[s(e)], lambda e: e.y[s(e)], lambda e: e.y[s(e)],
            lambda e: e.x[s(e), t(e)], lambda e: e.x[s(e)][t(e)], lambda e: e.x[:, s(e)]])

    def result(self) -> Any:
        f = self.sliced()
        return self.random.choice([
            lambda e: f(e).mean(), lambda e: f(e).std(), lambda e: e.np.ones_like(f(e)),
            lambda e: f(e).shape[0] + 0 * e.i, lambda e: f(e).sum(0), lambda e: f(e) * 2,
            lambda e: e.np.cumsum(f(e), 0), lambda e: e.np.concatenate([f(e), f(e)[::-1]]),
            lambda e: f(e).reshape((-1,)), lambda e: e.np.arange(f(e).shape[0]) * 1.0,
            lambda e: e.np.zeros((f(e).shape[0], 2)), lambda e: e.np.tanh(f(e)).T.sum(),
            lambda e: e.grad(f, e)])


def slope(f: Any, e: Any) -> Any:
    return T.grad((f(e) ** 2).sum(), e.x, disconnected="zero")


def counted_slope(f: Any, e: Any) -> np.ndarray:
    """The slope of the sum of squares: twice each element, if the slice has it."""
    places = np.arange(e.x.size).reshape(e.x.shape)
    of_y = SimpleNamespace(**{**vars(e), "y": np.full(e.y.shape, np.nan)})
    found = np.zeros(e.x.size)
    if not np.isnan(f(of_y)).any():
        chosen = f(SimpleNamespace(**{**vars(e), "x": places})).reshape(-1).astype(int)
        found[chosen] = 2 * e.x.reshape(-1)[chosen]
    return found.reshape(e.x.shape)


@pytest.mark.share(50)
@pytest.mark.parametrize("seed", range(400))
def test_random_bounds(seed):
    drawn = Slices(seed)
    results = [drawn.result() for _ in range(6)]
    x, y, i, j = T.dmatrix("x"), T.dvector("y"), T.lscalar("i"), T.lscalar("j")
    declared = SimpleNamespace(x=x, y=y, i=i, j=j, np=ag, grad=slope)
    with ag.config(default_float="float64"):
        made = [r(declared) for r in results]
    f = ag.function([x, y, i, j], made, on_unused_input="ignore")
    rng = np.random.default_rng(seed)
    for rows, columns, n in ((5, 4, 6), (3, 7, 2), (1, 1, 1), (0, 3, 2), (2, 1, 0), (6, 2, 5)):
        given = SimpleNamespace(x=rng.uniform(size=(rows, columns)), y=rng.uniform(size=n),
                                i=int(rng.integers(-4, 6)), j=int(rng.integers(-3, 5)), np=np,
                                grad=counted_slope)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = [r(given) for r in results]
        found = f(given.x, given.y, given.i, given.j)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9, strict=True)
