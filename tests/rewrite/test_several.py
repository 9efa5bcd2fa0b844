"""Expressions of several operands that people write naively, beside what they are exactly."""

import math

import numpy as np
import pytest

import agnesi as ag

LGAMMA, DIGAMMA = ag.special.gammaln, ag.special.digamma


def compiled(function, *operands):
    """The value of numbers in compiled code."""
    return float(ag.jit(function)(*[ag.tensor(float(x), dtype="float64") for x in operands]))


@pytest.mark.parametrize("function", [
    lambda w, x, y, z: w * ag.exp(x) / (ag.exp(y) + ag.exp(z)),
    lambda w, x, y, z: w * ag.exp(x) / ag.exp(y),
    lambda w, x, y, z: w * ag.exp(x) * ag.exp(-y),
    lambda w, x, y, z: w * ag.exp(x) / ag.exp(y) * ag.exp(z + 600),
])
@pytest.mark.parametrize("w, x, y", [
    (0.0, 500.0, -500.0), (1e-300, 500.0, -300.0), (1e300, -500.0, 300.0)])
def test_exponentials_beside_another_factor(function, w, x, y):
    """They are merged, but do not overflow or vanish where the product does not."""
    operands = [ag.tensor(v, dtype="float64") for v in (w, x, y, -600.0)]
    assert compiled(function, w, x, y, -600.0) == pytest.approx(float(function(*operands)), 1e-12)


@pytest.mark.parametrize("p, q", [(1e-20, 1e-20), (0.3, 0.4), (1e-9, 1e-8), (1.0, 1e300)])
def test_either_of_two(p, q):
    exact = 1.0 if p == 1 else p + q - p * q
    assert compiled(lambda p, q: 1 - (1 - p) * (1 - q), p, q) == pytest.approx(exact, 1e-14)
    logarithm = compiled(lambda p, q: ag.log(1 - (1 - p) * (1 - q)), p, q)
    assert logarithm == pytest.approx(math.log(exact), 1e-14)


@pytest.mark.parametrize("r, n", [(1e-10, 1e5), (10.0, 900.0), (-0.5, 3.0), (-3.0, 2.0)])
def test_log_of_power(r, n):
    exact = n * math.log1p(r) if r > -1 else n * math.log(abs(1 + r))
    assert compiled(lambda r, n: ag.log((1 + r) ** n), r, n) == pytest.approx(exact, 1e-14)


def test_log_of_power_that_is_negative_is_nan():
    assert math.isnan(compiled(lambda r, n: ag.log((1 + r) ** n), -3.0, 3.0))


@pytest.mark.parametrize("x", [1e15, 1e10, 30.5, 0.25, -0.5])
def test_neighbours(x):
    step = compiled(lambda x: LGAMMA(x + 1) - LGAMMA(x), x)
    assert step == pytest.approx(math.log(abs(x)), 1e-15)
    two = compiled(lambda x: LGAMMA(x) - LGAMMA(x + 2), x)
    assert two == pytest.approx(-math.log(abs(x)) - math.log(abs(x + 1)), 1e-15)
    assert compiled(lambda x: DIGAMMA(x + 1) - DIGAMMA(x), x) == pytest.approx(1 / x, 1e-15)


@pytest.mark.parametrize("x", [-1.0, -2.0, -math.inf])
def test_neighbours_at_poles_are_nan(x):
    assert math.isnan(compiled(lambda x: LGAMMA(x + 1) - LGAMMA(x), x))
    assert math.isnan(compiled(lambda x: DIGAMMA(x + 1) - DIGAMMA(x), x))


def test_log_of_beta():
    """Numbers by mpmath."""
    found = compiled(lambda a, b: LGAMMA(a) + LGAMMA(b) - LGAMMA(a + b), 1e10, 0.5)
    assert found == pytest.approx(-10.940560522033028, 1e-14)
    found = compiled(lambda n, k: LGAMMA(n + 1) - LGAMMA(k + 1) - LGAMMA(n - k + 1), 1e8, 3.0)
    assert found == pytest.approx(math.log(1e8 * (1e8 - 1) * (1e8 - 2) / 6), 1e-14)
    found = compiled(lambda k, r: LGAMMA(k + r) - LGAMMA(k + 1) - LGAMMA(r), 3.0, 1e10)
    assert found == pytest.approx(math.log(1e10 * (1e10 + 1) * (1e10 + 2) / 6), 1e-14)
    assert compiled(lambda n, k: LGAMMA(n + 1) - LGAMMA(k + 1) - LGAMMA(n - k + 1),
                    3.0, 5.0) == -math.inf


def test_bessel():
    i0, i1 = ag.special.i0, ag.special.i1
    assert compiled(lambda k: ag.log(i0(k)), 900.0) == pytest.approx(895.6800030512720, 1e-13)
    assert compiled(lambda k: ag.log(i0(k)), math.inf) == math.inf
    assert compiled(lambda k: i1(k) / i0(k), 900.0) == pytest.approx(0.9994442899516906, 1e-14)
    assert np.isnan(compiled(lambda k: i1(k) / i0(k), math.nan))


def test_sums_of_which_all_terms_are_multiplied_by_zero():
    """The derivative of what is the same for all, of which second derivatives are made."""
    def f(a, b):
        v = b - a
        t = ag.jvp(lambda r: ag.tanh(r * v.sum(0)), (v[0],), (v[0],))[1]
        picked = ag.where(ag.cumsum(t, axis=0) > t.sum(), t.sum() ** 2, ag.tanh(t.mean()))
        return (picked * (ag.arange(2) + 1)).sum()

    def slope(a, b):
        weights = ag.cos(ag.arange(4.0)).reshape(2, 2)
        return sum([(g * weights).sum() for g in ag.grad(f, (0, 1))(a, b)])

    x = ag.tensor([[0.1, 0.2], [0.3, 0.4]], dtype="float64")
    second = ag.grad(slope, (0, 1))
    for found, expected in zip(ag.jit(second)(x, x * x), second(x, x * x), strict=True):
        np.testing.assert_allclose(found, expected, 1e-9, 1e-12)
