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


@pytest.mark.parametrize("shape", [(70, 90), (1, 5000), (4096, 1), (64, 64)])
@pytest.mark.parametrize("widths", [(1, 1), (2, 1)])
def test_values_and_gradients(shape, widths):
    u = np.random.default_rng(0).standard_normal(shape)

    def cost(u):
        return ag.sin(stencil(stencil(u, *widths), *widths)).sum()

    for function in (lambda u: stencil(u, *widths), ag.grad(cost)):
        expected = function(ag.tensor(u)).data
        np.testing.assert_allclose(ag.jit(function)(ag.tensor(u)).data, expected, 1e-12, 1e-12)

