"""Stencils over padded arrays and their adjoints: eager and compiled values."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag


def stencil(u, before=1, after=1):
    wide = ag.pad(u, ((1, 1), (before, after)))
    m = u.shape[1]
    around = (wide[:-2, before:before + m] + wide[2:, before:before + m]
              + wide[1:-1, :m] + wide[1:-1, before + after:])
    return u + 0.2 * (around - 4 * u)


@pytest.mark.share(6)
@pytest.mark.parametrize("shape", [(70, 90), (1, 5000), (4096, 1), (64, 64)])
@pytest.mark.parametrize("widths", [(1, 1), (2, 1)])
def test_values_and_gradients(shape, widths):
    u = np.random.default_rng(0).standard_normal(shape)

    def cost(u):
        return ag.sin(stencil(stencil(u, *widths), *widths)).sum()

    for function in (lambda u: stencil(u, *widths), ag.grad(cost)):
        expected = function(ag.tensor(u)).array
        np.testing.assert_allclose(ag.jit(function)(ag.tensor(u)).array, expected, 1e-12, 1e-12)



def around(u):
    wide = ag.pad(u, ((1, 1), (1, 1)))
    return wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]


USES = {
    "scaled": lambda u, v: ag.tanh(around(u)) * v,
    "itself": lambda u, v: (around(u), around(u) * 2),
    "twice": lambda u, v: (around(u) + v, around(u) - v),
    "both": lambda u, v: (around(u) * v, ag.exp(around(u) * v) + u),
    "transposed": lambda u, v: around(u).T * v + u,
    "flipped": lambda u, v: around(u)[::-1] + v,
    "flat": lambda u, v: ag.sin(around(u).reshape(-1)) + v.reshape(-1),
    "column": lambda u, v: around(u) * v[:, :1] + v[0],
    "sum": lambda u, v: (around(u) * v).sum(1) + (around(u) * v).sum(),
    "again": lambda u, v: around(around(u) * v) + around(u) * v,
    "of computed": lambda u, v: around(ag.exp(u) * v) + ag.exp(u) * v,
    "product": lambda u, v: around(u @ v) + (u @ v) * 2,
}


@pytest.mark.share(24)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", USES)
def test_what_is_computed_from_a_stencil(name, dtype):
    u, v = 0.1 * np.random.default_rng(1).standard_normal((2, 70, 70)).astype(dtype)

    def several(u, v):
        results = USES[name](u, v)
        return results if isinstance(results, tuple) else (results,)

    def cost(u, v):
        return sum((r * r).sum() for r in several(u, v))

    for function in (several, ag.grad(cost, argnums=(0, 1))):
        expected = function(ag.tensor(u), ag.tensor(v))
        for found, right in zip(ag.jit(function)(ag.tensor(u), ag.tensor(v)), expected,
                                strict=True):
            np.testing.assert_allclose(found.array, right.array, *2 * [1e-4 if dtype == "float32"
                                                                     else 1e-11])


def test_a_stencil_and_its_step_are_one_pass():
    f = ag.jit(stencil)
    f(ag.zeros((70, 90), "float64"))
    assert f.plan().arena_bytes == 0
