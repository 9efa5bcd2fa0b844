"""Powers, roots and logarithms of several values near 1, beside mpmath: values and derivatives."""

import math
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest

import agnesi as ag

EXACT = SimpleNamespace(log=mpmath.log, sqrt=mpmath.sqrt)
#: Function of a namespace and values, and where it is hard.
CASES = {
    "box cox": (lambda m, x, c: (x**c - 1) / c, [(2.0, 1e-10), (3.0, 0.5), (1.5, -1e-7)]),
    "yeo johnson": (lambda m, x, c: ((x + 1) ** c - 1) / c, [(2.0, 1e-10), (0.3, 0.2), (3.0, 2.0)]),
    "pareto quantile": (lambda m, p, k: 2 / k * ((1 - p) ** (-k) - 1),
                        [(0.3, 1e-10), (0.9, 0.3), (1e-9, 0.1)]),
    "rocket": (lambda m, a, b: m.log(a / (a - b)), [(1.0, 1e-12), (3.0, 1.0), (1.0, 0.9)]),
    "doppler": (lambda m, v, c: m.sqrt((c + v) / (c - v)) - 1, [(1e-9, 1.0), (1.0, 3.0)]),
    "redshift": (lambda m, s, r: 1 / m.sqrt(1 - s / r) - 1, [(1e-9, 1.0), (1.0, 2.0)]),
}


def _derivatives(function, at):
    """The value, its derivatives, and the derivatives of those, from many digits."""
    with mpmath.workdps(400):
        x = [mpmath.mpf(v) for v in at]
        steps = [abs(v) * mpmath.mpf(10) ** -100 for v in x]

        def value(*by):
            return function(EXACT, *(v + k * h for v, k, h in zip(x, by, steps, strict=True)))

        middle = value(0, 0)
        first = [(value(1, 0) - value(-1, 0)) / (2 * steps[0]),
                 (value(0, 1) - value(0, -1)) / (2 * steps[1])]
        crossed = (value(1, 1) - value(1, -1) - value(-1, 1) + value(-1, -1)) / (
            4 * steps[0] * steps[1])
        own = [(value(1, 0) - 2 * middle + value(-1, 0)) / steps[0] ** 2,
               (value(0, 1) - 2 * middle + value(0, -1)) / steps[1] ** 2]
        return middle, first, [[own[0], crossed], [crossed, own[1]]]


def _agrees(found, exact, slopes, at, ulps=6):
    moved = sum(abs(v * s) for v, s in zip(at, slopes, strict=True))
    condition = max(1.0, float(moved / abs(exact)))
    unit = float(np.spacing(abs(float(exact))))
    return abs(found - float(exact)) <= ulps * condition * unit


@pytest.mark.parametrize("name", CASES)
def test_near_one(name):
    function, points = CASES[name]
    together = ag.jit(ag.value_and_grad(lambda x, y: function(ag, x, y), (0, 1)))
    for at in points:
        value, slopes = together(*map(np.float64, at))
        exact, first, second = _derivatives(function, at)
        assert _agrees(value.item(), exact, first, at), (at, value)
        for slope, wanted, row in zip(slopes, first, second, strict=True):
            assert _agrees(slope.item(), wanted, row, at), (at, slope, float(wanted))


def test_what_has_no_value_has_none():
    growth = ag.jit(lambda x, c: (x**c - 1) / c)
    slope = ag.jit(ag.grad(lambda x, c: (x**c - 1) / c))
    for x in (2.0, 0.5):
        assert math.isnan(growth(np.float64(x), np.float64(0.0)).item())
        assert math.isnan(slope(np.float64(x), np.float64(0.0)).item())
    ratio = ag.jit(lambda a, b: ag.log(a / (a - b)))
    assert math.isnan(ratio(np.float64(np.inf), np.float64(1.0)).item())
    assert math.isnan(ratio(np.float64(0.0), np.float64(0.0)).item())


def test_angles_near_right_angles():
    """Numbers that are multiples of the rounded pi stand for those of pi."""
    x = np.array([-1e8, -3.0, 0.5, 1e9, -1e300, np.inf, -np.inf, np.nan])
    with mpmath.workdps(400):
        left = [float(mpmath.pi / 2 + mpmath.atan(mpmath.mpf(float(v)))) for v in x[:5]]
    found = ag.jit(lambda x: 0.5 + ag.atan(x) / math.pi)(x).numpy()
    np.testing.assert_allclose(found[:5], np.array(left) / math.pi, 1e-15)
    np.testing.assert_array_equal(found[5:], [1, 0, np.nan])
    np.testing.assert_allclose(ag.jit(lambda x: 1 - 2 / math.pi * ag.atan(x))(-x).numpy(),
                               2 * found, 1e-15)
    slope = ag.jit(ag.grad(lambda x: (ag.atan(x) - math.pi / 2).sum()))(x).numpy()
    np.testing.assert_allclose(slope[:4], 1 / (1 + x[:4] ** 2), 1e-15)
