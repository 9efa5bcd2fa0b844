"""Derivatives of the incomplete gamma and beta functions to their shapes, against mpmath."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

import agnesi as ag
from agnesi import special
from agnesi.ops.base.elementwise import call
from agnesi.ops.special import incomplete

GAMMA = [(0.1, 0.01), (1e-6, 0.5), (1e-6, 3.0), (0.5, 3.0), (3.0, 1.0), (20.0, 25.0),
         (200.0, 180.0), (250.0, 180.0), (250.0, 260.0), (1000.0, 1040.0), (300.0, 250.0),
         (300.0, 389.0), (300.0, 391.0), (5.0, 60.0), (0.01, 30.0), (2.0, 1e-8)]
LARGE = [(1e6, 1e6 + 2e3), (1e8, 1e8 - 3e4), (1e10, 1e10 + 1e5), (1e5, 1e5)]
BETA = [(0.1, 0.3, 0.01), (3, 4, 0.5), (20, 30, 0.41), (2, 1e-4, 0.5), (200, 300, 0.45),
        (1e3, 1e3, 0.51), (1e4, 5e3, 0.67), (2, 1e6, 1e-6), (5, 5, 1e-8), (50, 0.5, 0.9999),
        (0.5, 50, 1e-4), (9, 8.1, 0.3), (1e5, 1e5, 0.501)]


def both_ways(row, *columns):
    """What a row gives eagerly and compiled, which calls no Python."""
    xs = [np.array(c, np.float64) for c in columns]
    fn = ag.jit(lambda *t: call(row, t))
    compiled = fn(*map(ag.tensor, xs)).numpy()
    assert "python" not in str(fn.plan())
    return row.perform(*xs), compiled


def gamma_slope(a, x, order):
    """The derivative as an integral of that of the density, over what is not nothing."""
    log_gamma, psi, bend = mp.loggamma(a), mp.digamma(a), mp.psi(1, a)

    def density(u):
        slope = mp.log(u) - psi
        factor = slope if order == 1 else slope**2 - bend
        return mp.exp((a - 1) * mp.log(u) - u - log_gamma) * factor

    wide = mp.sqrt(a)
    return mp.quad(density, [x - k * wide for k in (30, 20, 14, 10, 7, 5, 3, 2, 1, 0)])


@pytest.mark.share(6)
@pytest.mark.parametrize("order, row", [(1, incomplete.GAMMAINC_DA), (2, incomplete.GAMMAINC_DAA)])
def test_gamma_to_its_shape(order, row):
    for found in both_ways(row, *zip(*GAMMA, strict=True)):
        for (a, x), y in zip(GAMMA, found, strict=True):
            with mp.workdps(70):
                a, x = mp.mpf(a), mp.mpf(x)
                expected = mp.diff(lambda s, x=x: mp.gammainc(s, 0, x, regularized=True), a, order,
                                   h=a * mp.mpf("1e-16"))
                assert abs(y / expected - 1) < 3e-14
    for found in both_ways(row, *zip(*LARGE, strict=True)):
        for (a, x), y in zip(LARGE, found, strict=True):
            with mp.workdps(50):
                expected = gamma_slope(mp.mpf(a), mp.mpf(x), order)
            scale = a ** (-order / 2) * 1e-13
            assert abs(y - expected) < max(1e-13 * abs(expected), scale * (order == 2) * 1e-3)


def beta_slope(p, q, x, dp, dq, order):
    """As above, along (dp, dq), from the side that is nearer; of the logarithm."""
    if x > p / (p + q):
        return -beta_slope(q, p, 1 - x, dq, dp, order)
    log_beta = mp.loggamma(p) + mp.loggamma(q) - mp.loggamma(p + q)
    at_p, at_q = (mp.digamma(p + q) - mp.digamma(s) for s in (p, q))
    bend = (dp + dq) ** 2 * mp.psi(1, p + q) - dp**2 * mp.psi(1, p) - dq**2 * mp.psi(1, q)

    def density(v):  # at u = x * exp(-v)
        log_u = mp.log(x) - v
        other = mp.log1p(-x * mp.exp(-v))
        slope = dp * (log_u + at_p) + dq * (other + at_q)
        factor = slope if order == 1 else slope**2 + bend
        return mp.exp(p * log_u + (q - 1) * other - log_beta) * factor

    wide = mp.sqrt(q / (p * (p + q)))
    ends = {k * w for k in (1, 3, 8, 20, 60, 120) for w in (wide, 1 / p)}
    return mp.quad(density, [0, *sorted(ends)])


@pytest.mark.share(10)
@pytest.mark.parametrize("row, along", [
    (incomplete.BETAINC_DA, (1, 0)), (incomplete.BETAINC_DB, (0, 1)),
    (incomplete.BETAINC_DAA, (1, 0)), (incomplete.BETAINC_DBB, (0, 1)),
    (incomplete.BETAINC_ALONG, (1, 1)),
], ids=str)
def test_beta_to_its_shapes(row, along):
    order = 1 if row.name in ("betainc_da", "betainc_db") else 2
    wanted = []
    for point in BETA:
        with mp.workdps(28):
            wanted.append(beta_slope(*map(mp.mpf, point), *along, order))
    for found in both_ways(row, *zip(*BETA, strict=True)):
        for y, expected in zip(found, wanted, strict=True):
            assert abs(y - expected) < max(3e-12 * abs(expected), 1e-16)


@pytest.mark.long
def test_large_shapes_of_beta_are_mirrored():
    """Where fractions take thousands of terms."""
    a, b, x = np.array([1e6, 3e6]), np.array([1e6, 2e6]), np.array([0.5001, 0.6003])
    for one, other in ((incomplete.BETAINC_DA, incomplete.BETAINC_DB),
                       (incomplete.BETAINC_DAA, incomplete.BETAINC_DBB)):
        for found, turned in zip(both_ways(one, a, b, x), both_ways(other, b, a, 1 - x),
                                 strict=True):
            assert np.isfinite(found).all()
            np.testing.assert_allclose(found, -turned, 1e-7)


def test_hessians_to_all_operands():
    points = ag.tensor(np.array([1.7, 2.5, 0.4]))
    for f in (lambda v: special.betainc(v[0], v[1], v[2]),
              lambda v: special.gammainc(v[0], v[1]),
              lambda v: special.gammaincinv(v[0], v[2]),
              lambda v: special.betaincinv(v[0], v[1], v[2])):
        eager = ag.hessian(f)(points).numpy()
        fn = ag.jit(ag.hessian(f))
        np.testing.assert_allclose(fn(points).numpy(), eager, 1e-11, 1e-13)
        np.testing.assert_allclose(eager, eager.T, 1e-9, 1e-12)
        assert "python" not in str(fn.plan())


def test_shapes_without_elements_and_special_values():
    for row in (incomplete.GAMMAINC_DA, incomplete.BETAINC_DA):
        empty = [np.zeros((0, 3))] * row.arity
        for found in both_ways(row, *empty):
            assert found.shape == (0, 3)
    inf, nan = np.inf, np.nan
    edges = [1.0, 1.0, -1.0, inf, nan, 1.0], [0.0, inf, 1.0, 1.0, 1.0, nan]
    for found in both_ways(incomplete.GAMMAINC_DA, *edges):
        np.testing.assert_array_equal(found, [0, 0, nan, nan, nan, nan])
    ends = [1.0, 1.0, -1.0, 1.0], [1.0, 1.0, 1.0, inf], [0.0, 1.0, 0.5, 0.5]
    for found in both_ways(incomplete.BETAINC_DB, *ends):
        np.testing.assert_array_equal(found, [0, 0, nan, nan])


def test_third_derivatives_say_that_they_are_not_known():
    with pytest.raises(ag.GradientError, match=r"^gammainc has no third derivative to its shape"):
        ag.grad(ag.grad(ag.grad(special.gammainc)))(2.0, 1.0)
    with pytest.raises(ag.GradientError, match=r"^betainc has no third derivative to its shapes"):
        ag.grad(ag.grad(ag.grad(special.betainc)))(2.0, 1.0, 0.5)
