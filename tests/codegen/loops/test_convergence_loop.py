"""Loops that end when every lane has its value, one inside or behind the other."""

import itertools

import numpy as np
import pytest

import agnesi as ag

#: Functions whose elements converge in loops of two to five values.
LOOPS = {
    "gammainc": lambda x: ag.special.gammainc(1.5 + x, 2.0),
    "slope of gammainc": ag.grad(lambda x: ag.special.gammainc(1.5 + x, 2.0).sum()),
    "betainc": lambda x: ag.special.betainc(1.5 + x, 2.5, 0.3),
    "slope of betainc": ag.grad(lambda x: ag.special.betainc(1.5 + x, 2.5, 0.3).sum()),
    "zeta": lambda x: ag.special.zeta(2.5 + x, 1.5),
}


@pytest.mark.parametrize("first, second", [*itertools.product(LOOPS, LOOPS)])
def test_loops_read_what_loops_found(first, second):
    x = ag.tensor(np.linspace(0.1, 0.6, 3))

    def both(x):
        return LOOPS[second](abs(LOOPS[first](x)))

    np.testing.assert_allclose(ag.jit(both)(x).numpy(), both(x).numpy(), rtol=1e-9)
