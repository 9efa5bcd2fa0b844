"""``(f(x) - f(y)) / (x - y)`` where x is near y: values and derivatives beside mpmath."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import agnesi as ag

FUNCTIONS = {
    "exp": mpmath.exp, "log": mpmath.log, "sin": mpmath.sin, "tanh": mpmath.tanh,
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)), "sqrt": mpmath.sqrt, "atan": mpmath.atan,
    "square": lambda x: x * x, "cosh": mpmath.cosh, "softplus": lambda x: mpmath.log1p(
        mpmath.exp(x)), "reciprocal": lambda x: 1 / x, "ndtr": mpmath.ncdf,
}
STEPS = (1e-15, -1e-12, 1e-8, -1e-5, 1e-3, 0.1, 2.0)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_near_each_other(name: str) -> None:
    f = getattr(ag, name, None) or getattr(ag.special, name)
    exact = FUNCTIONS[name]
    x = np.repeat([0.3, 1.0, 2.5], len(STEPS))
    y = x * (1 + np.tile(STEPS, 3))

    @ag.jit
    def both(x, y):
        value, pull = ag.vjp(lambda x, y: (f(x) - f(y)) / (x - y), x, y)
        return value, *pull(ag.ones_like(value))

    found = [t.numpy() for t in both(ag.tensor(x), ag.tensor(y))]
    with mpmath.workdps(60):
        for a, b, *got in zip(x, y, *found, strict=True):
            a, b = mpmath.mpf(a), mpmath.mpf(b)
            q = (exact(a) - exact(b)) / (a - b)
            wanted = q, (mpmath.diff(exact, a) - q) / (a - b), (q - mpmath.diff(exact, b)) / (a - b)
            for value, right in zip(got, wanted, strict=True):
                assert abs(value - right) < 2e-14 * max(abs(right), 1e-2), (float(a), float(b))


def test_equal_arguments_stay_undefined() -> None:
    x = ag.tensor(np.array([0.5, 2.0, np.inf]))
    found = ag.jit(lambda x, y: (ag.exp(x) - ag.exp(y)) / (x - y))(x, x)
    assert np.isnan(found.numpy()).all()


def test_slope_of_log_of_erfcx_at_zero_is_that_of_one_side() -> None:
    x = ag.tensor(np.array([0.0, 1e-9, -1e-9]))
    slope = ag.jit(lambda x: ag.grad(lambda x: ag.log(ag.special.erfcx(x)).sum())(x))(x)
    np.testing.assert_allclose(slope.numpy(), -2 / np.sqrt(np.pi), 1e-8)
