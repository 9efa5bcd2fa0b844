"""Reductions of reductions: what is wanted inside of one and again outside is computed once."""

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.ir.kernels import Nest

RNG = np.random.default_rng(0)
ROWS, LONG = RNG.normal(size=(6, 1, 700)), RNG.normal(size=(6, 11, 700))


def centred(x, y):
    """The gradient of a softmax whose cotangents are themselves sums over a long axis."""
    p, g = y[:, :, 0], (x * y).sum(2)
    return p * g - p * (p * g).sum(1, keepdims=True)


def test_once():
    x, y = ag.asarray(ROWS), ag.asarray(LONG)
    f = ag.jit(centred)
    p, g = LONG[:, :, 0], (ROWS * LONG).sum(2)
    wanted = p * g - p * (p * g).sum(1, keepdims=True)
    np.testing.assert_allclose(f(x, y).numpy(), wanted, rtol=1e-12, atol=1e-12)
    nests = [k for k in f.plan().layout.kernels if isinstance(k, Nest)]
    assert [len(k.axes) for k in nests] == [2, 2]
    assert len({id(k.body[0].buffer) for k in nests}) == 2


@pytest.mark.parametrize("rows", [1, 3])
def test_short_sums_stay_inside(rows):
    x, y = ag.asarray(ROWS[:rows, :, :5]), ag.asarray(LONG[:rows, :, :5])
    f = ag.jit(centred)
    np.testing.assert_allclose(f(x, y).numpy(), centred(x, y).numpy(), rtol=1e-12, atol=1e-12)
    assert len(f.plan().layout.kernels) == 1


@pytest.mark.parametrize("shape", [(2, 2), (3, 2), (2, 3), (2, 2, 2)])
def test_sums_along_crossing_axes_keep_their_own_places(shape):
    """A sum along rows of what is a sum along columns, in one kernel where both are short."""
    x = np.random.default_rng(0).normal(size=shape)

    def crossing(x):
        p = ag.softmax(x, axis=0)
        return p * (p - p.sum(axis=1, keepdims=True)).sum(axis=0, keepdims=True)

    p = np.exp(x) / np.exp(x).sum(axis=0)
    expected = p * (p - p.sum(axis=1, keepdims=True)).sum(axis=0, keepdims=True)
    np.testing.assert_allclose(ag.jit(crossing)(ag.tensor(x)), expected, rtol=1e-12)
