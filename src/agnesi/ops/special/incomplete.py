"""Incomplete gamma and beta functions, with derivatives to all of their parameters.

Series and continued fractions are written in jets, so that they give derivatives to the shapes too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.core.public import planned
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import safe_divide, safe_multiply, square
from agnesi.ops.base.elementwise import Elementwise, Function, call
from agnesi.ops.elementwise.explog import exp, log, log1p, xlogy
from agnesi.ops.elementwise.formula import (
    binary,
    code_of,
    horner,
    no_slope,
    or_scipy,
    several,
    slopes_in_double,
    spread_alike,
    value_of,
)
from agnesi.ops.special.gammas import betaln, correction
from agnesi.ops.special.special import digamma, lgamma, trigamma
from agnesi.ops.special.taylor import Jet, fraction, summed
from agnesi.ops.special.temme import LARGE_SHAPE, MAX_RATIO_DISTANCE, large_shape

__all__ = [
    "betainc", "betainc_da", "betainc_db", "betaincinv", "gammainc", "gammainc_da", "gammaincc",
    "gammaincinv",
]

#: No element takes more terms of a series or fraction.
_MAX_TERMS = 100_000
#: Coefficients of ``z**2 * (digamma(z) - log(z)) + z / 2`` in ``1 / z**2``.
_DIGAMMA = (-1 / 12, 1 / 120, -1 / 252, 1 / 240, -1 / 132, 691 / 32760, -1 / 12)


# -- the incomplete gamma function --------------------------------------------------------------
def _log_less(m: Any, u: Any) -> Any:
    """``log(1 + u) - u`` without cancellation."""
    near = m.abs(u) < 0.3
    r = m.where(near, u, 0.0) / (2.0 + m.where(near, u, 0.0))
    square = r * r
    series = 2.0 * r * square * horner(square, [1 / (2 * k + 3) for k in range(9)])
    return m.where(near, series - u * r, m.log1p(u) - u)


def _gamma_front(m: Any, a: Any, x: Any) -> Any:
    """``x^a e^-x / gamma(a + 1)``, by Stirling's formula where that serves."""
    far = m.maximum(a, 8.0)
    large = m.exp(far * _log_less(m, (x - far) / far) - correction(far))
    small = m.where(a < 8.0, a, 1.0)
    near = m.exp(small * m.log(x) - x - m.lgamma(small + 1.0))
    return m.where(a < 8.0, near, large / m.sqrt(far * (2 * math.pi)))


def _gamma_fronts(m: Any, a: Any, x: Any, order: int) -> Jet:
    """The jet of ``x^a e^-x / gamma(a + 1)`` in the shape."""
    slopes = [0.0, m.log(x) - m.digamma(a + 1.0), -0.5 * m.trigamma(a + 1.0)]
    return Jet(slopes[: order + 1]).exp(_gamma_front(m, a, x))


def _gamma_below(m: Any, a: Any, x: Any, wanted: Any, order: int) -> Any:
    """P by its series (Abramowitz and Stegun, 6.5.29)."""
    def ratio(n: Any, a: Any, x: Any, *_: Any) -> Jet:
        return Jet([a + n, 1.0, 0.0][: order + 1]).inverse().times(x)

    def read(total: Jet, a: Any, x: Any, *front: Any) -> Any:
        return (total * Jet(front)).terms[order]

    operands = [a, x, *_gamma_fronts(m, a, x, order).terms]
    return summed(m, _MAX_TERMS, wanted, operands, order, ratio, read)


def _gamma_above(m: Any, a: Any, x: Any, wanted: Any, order: int) -> Any:
    """The complement by its continued fraction (6.5.31)."""
    def parts(n: Any, a: Any, x: Any, *_: Any) -> tuple[Jet, Jet]:
        return (Jet([n * (a - n), n, 0.0][: order + 1]),
                Jet([x + 2.0 * n + 1.0 - a, -1.0, 0.0][: order + 1]))

    def read(found: Jet, a: Any, x: Any, *front: Any) -> Any:
        return (found.inverse() * Jet(front)).terms[order]

    front = _gamma_fronts(m, a, x, order) * Jet([a, 1.0, 0.0][: order + 1])
    first = Jet([x + 1.0 - a, -1.0, 0.0][: order + 1])
    return fraction(m, _MAX_TERMS, wanted, [a, x, *front.terms], order, parts, first, read)


def _gamma(order: int, upper: bool = False) -> Callable[..., Any]:
    """The formula of P, its complement (``upper``), or a derivative to the shape."""
    ends = (0.0, 1.0) if not (upper or order) else (float(upper), 0.0)

    def formula(m: Any, a: Any, x: Any) -> Any:
        finite = m.logical_and(m.isfinite(a), m.isfinite(x))
        inside = m.logical_and(m.logical_and(a > 0.0, x > 0.0), finite)
        shape, y = m.where(inside, a, 1.0), m.where(inside, x, 1.0)
        near = m.logical_and(shape > LARGE_SHAPE, m.abs(y - shape) < MAX_RATIO_DISTANCE * shape)
        far = m.logical_and(inside, m.logical_not(near))
        low = y < shape + 1.0
        below = _gamma_below(m, m.where(low, shape, 1.0), m.where(low, y, 1.0),
                             m.logical_and(far, low), order)
        above = _gamma_above(m, m.where(low, 0.5, shape), m.where(low, 10.0, y),
                             m.logical_and(far, m.logical_not(low)), order)
        sides = [jet.terms[order] for jet in large_shape(
            m, m.where(near, shape, LARGE_SHAPE), m.where(near, y, LARGE_SHAPE), _log_less, order)]
        whole = 0.0 if order else 1.0
        p = m.where(low, below, whole - above)
        q = m.where(low, whole - below, above)
        found = m.where(near, sides[upper], q if upper else p) * float(math.factorial(order))
        found = m.where(inside, found, math.nan)
        found = m.where(m.logical_and(m.equal(x, 0.0), a > 0.0), ends[0], found)
        endless = m.logical_and(m.equal(x, math.inf), m.logical_and(a > 0.0, m.isfinite(a)))
        return m.where(endless, ends[1], found)

    return formula


# -- the incomplete beta function ---------------------------------------------------------------
def _beta_front(m: Any, p: Any, q: Any, t: Any) -> Any:
    """``t^p (1 - t)^q / (p B(p, q))``, by Stirling's formula where both shapes are large."""
    large = m.minimum(p, q) > 8.0
    a, b = m.where(large, p, 8.0), m.where(large, q, 8.0)
    both = a + b
    off = t - a / both
    error = a * _log_less(m, off * both / a) + b * _log_less(m, -off * both / b)
    error = error + correction(both) - correction(a) - correction(b)
    far = m.exp(error) * m.sqrt(a * b / (both * (2 * math.pi)))
    near = m.exp(p * m.log(t) + q * m.log1p(-t) - m.betaln(p, q))
    return m.where(large, far, near) / p


def _digamma_gap(m: Any, z: Any, step: Any) -> Any:
    """``digamma(z + step) - digamma(z)`` without cancellation where ``z`` is large."""
    def less_log(z: Any) -> Any:
        inverse = 1.0 / z
        return inverse * (inverse * horner(inverse * inverse, _DIGAMMA) - 0.5)

    large = m.logical_and(z > 8.0, z + step > 8.0)
    y, d = m.where(large, z, 8.0), m.where(large, step, 1.0)
    far = m.log1p(d / y) + (less_log(y + d) - less_log(y))
    return m.where(large, far, m.digamma(z + step) - m.digamma(z))


def _beta_fraction(m: Any, operands: list[Any], order: int) -> Any:
    """I_t(p, q) by its continued fraction (Abramowitz and Stegun, 26.5.8).

    ``operands`` are p, q, t, how p and q change along the parameter, and the jet of what is in
    front.
    """
    def parts(n: Any, p: Any, q: Any, t: Any, dp: Any, dq: Any, *_: Any) -> tuple[Jet, Jet]:
        def jet(value: Any, slope: Any) -> Jet:
            return Jet([value, slope, 0.0][: order + 1])

        k = m.floor(n * 0.5)
        even = m.equal(2.0 * k, n)
        pair = jet(q - k, dq).times(k), jet(p + k, dp) * jet(p + q + k, dp + dq)
        above = Jet([m.where(even, x, -y) for x, y in zip(*(j.terms for j in pair), strict=True)])
        twice = jet(p + 2.0 * k, dp)
        below = twice * twice.plus(m.where(even, -1.0, t * 0.0 + 1.0))
        return (above * below.inverse()).times(t), Jet([1.0, 0.0, 0.0][: order + 1])

    def read(found: Jet, p: Any, q: Any, t: Any, dp: Any, dq: Any, *front: Any) -> Any:
        return (found.inverse() * Jet(front)).terms[order]

    always = m.equal(operands[0], operands[0])
    first = Jet([1.0, 0.0, 0.0][: order + 1])
    return fraction(m, _MAX_TERMS, always, operands, order, parts, first, read)


def _beta(order: int, da: float = 0.0, db: float = 0.0) -> Callable[..., Any]:
    """The formula of I_x(a, b), or of a derivative along ``(da, db)``."""
    def formula(m: Any, a: Any, b: Any, x: Any) -> Any:
        positive = m.logical_and(a > 0.0, b > 0.0)
        finite = m.logical_and(m.isfinite(a), m.isfinite(b))
        inside = m.logical_and(m.logical_and(x > 0.0, x < 1.0), m.logical_and(positive, finite))
        a, b, y = m.where(inside, a, 1.0), m.where(inside, b, 1.0), m.where(inside, x, 0.5)
        reflected = y > (a + 1.0) / (a + b + 2.0)  # there I_x(a, b) = 1 - I_1-x(b, a) converges
        p, q, t = m.where(reflected, b, a), m.where(reflected, a, b), m.where(reflected, 1.0 - y, y)
        zero = y * 0.0
        dp, dq = m.where(reflected, zero + db, da), m.where(reflected, zero + da, db)
        both = p + q
        slope = (dp * (m.log(t) + _digamma_gap(m, p + 1.0, q - 1.0))
                 + dq * (m.log1p(-t) + _digamma_gap(m, q, p)))
        bend = ((dp + dq) * (dp + dq) * m.trigamma(both) - dp * dp * m.trigamma(p + 1.0)
                - dq * dq * m.trigamma(q))
        front = Jet([0.0, slope, 0.5 * bend][: order + 1]).exp(_beta_front(m, p, q, t))
        value = _beta_fraction(m, [p, q, t, dp, dq, *front.terms], order)
        found = m.where(reflected, (0.0 if order else 1.0) - value, value)
        found = m.where(inside, found * float(math.factorial(order)), math.nan)
        found = m.where(m.logical_and(positive, m.equal(x, 0.0)), 0.0, found)
        return m.where(m.logical_and(positive, m.equal(x, 1.0)), 0.0 if order else 1.0, found)

    return formula


#: The functions themselves where SciPy is missing.
_VALUES = {"gammainc": value_of(_gamma(0)), "gammaincc": value_of(_gamma(0, True)),
           "betainc": value_of(_beta(0))}


# -- inverses -----------------------------------------------------------------------------------
def _bisected(function: Callable[[np.ndarray], np.ndarray], goal: np.ndarray, high: Any
              ) -> np.ndarray:
    """Where an increasing function has the value ``goal``, between 0 and ``high``."""
    low, high = np.zeros(goal.shape), np.broadcast_to(high, goal.shape).astype(float)
    for _ in range(1100):
        # Halves of the exponents, far from zero of the numbers.
        middle = np.where(low > 0, np.sqrt(low) * np.sqrt(high), high * 1e-3)
        middle = np.where(high < 2 * low, low + (high - low) / 2, middle)
        under = function(middle) < goal
        low, high = np.where(under, middle, low), np.where(under, high, middle)
        if not (high - low > 4e-16 * high).any():
            break
    return (low + high) / 2


def _betaincinv(a: np.ndarray, b: np.ndarray, p: np.ndarray) -> np.ndarray:
    dtype = p.dtype
    a, b, p = spread_alike(*(v.astype(np.float64) for v in (a, b, p)))
    inside = (a > 0) & (b > 0) & (p > 0) & (p < 1)
    first, second = np.where(inside, a, 1.0), np.where(inside, b, 1.0)
    goal = np.where(inside, p, 0.5)
    found = _bisected(lambda x: _VALUES["betainc"](first, second, x), goal, 1.0)
    found = np.where(inside, found, np.nan)
    return np.where((a > 0) & (b > 0) & ((p == 0) | (p == 1)), p, found).astype(dtype)


def _gammaincinv(a: np.ndarray, p: np.ndarray) -> np.ndarray:
    dtype = p.dtype
    a, p = spread_alike(a.astype(np.float64), p.astype(np.float64))
    inside = (a > 0) & (p > 0) & (p < 1)
    shape = np.where(inside, a, 1.0)
    goal = np.where(inside, p, 0.5)
    value = _VALUES["gammainc"]
    found = _bisected(lambda x: value(shape, x), goal, 800 + shape + 40 * np.sqrt(shape))
    found = np.where(inside, found, np.nan)
    found = np.where((a > 0) & (p == 0), 0.0, found)
    return np.where((a > 0) & (p == 1), np.inf, found).astype(dtype)


# -- rows ---------------------------------------------------------------------------------------
def gamma_density(a: Tensor, x: Tensor) -> Tensor:
    """Derivative of :func:`gammainc` to ``x``."""
    return exp(xlogy(a - 1, x) - x - lgamma(a))


def beta_density(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
    """Derivative of :func:`betainc` to ``x``."""
    return exp(safe_multiply(a - 1, log(x)) + safe_multiply(b - 1, log1p(-x)) - betaln(a, b))


def _row(name: str, value: Any, rules: tuple[Any, ...]) -> Elementwise:
    """A row that SciPy computes, where it is there."""
    rules = slopes_in_double(name, rules)
    return Elementwise(name, or_scipy(name, value, double=True), rules, kinds="f", lowered=False,
                       loop=f"scipy.special._ufuncs.{name}", home=__name__)


def _slope_row(name: str, formula: Any, rules: tuple[Any, ...]) -> Elementwise:
    """A derivative to shapes, in generated code."""
    value, rules = value_of(formula), slopes_in_double(name, rules)
    return Elementwise(name, lambda *xs: value(*xs).astype(xs[-1].dtype, copy=False), rules,
                       kinds="f", expand=code_of(formula), home=__name__)


def _gamma_slope(a: Tensor, x: Tensor) -> Tensor:
    """The logarithmic derivative of the density to its shape."""
    return log(x) - digamma(a)


GAMMAINC = _row(
    "gammainc", _VALUES["gammainc"],
    (lambda g, a, b: g * gammainc_da(a, b), lambda g, a, b: g * gamma_density(a, b)),
)
GAMMAINCC = _row(
    "gammaincc", _VALUES["gammaincc"],
    (lambda g, a, b: -g * gammainc_da(a, b), lambda g, a, b: -g * gamma_density(a, b)),
)
GAMMAINC_DA: Elementwise = _slope_row(
    "gammainc_da", _gamma(1),
    (lambda g, a, b: g * call(GAMMAINC_DAA, (a, b)),
     lambda g, a, b: safe_multiply(g * gamma_density(a, b), _gamma_slope(a, b))),
)
GAMMAINC_DAA: Elementwise = _slope_row(
    "gammainc_daa", _gamma(2),
    (no_slope("gammainc", "its shape", "third "),
     lambda g, a, b: safe_multiply(
         g * gamma_density(a, b), square(_gamma_slope(a, b)) - trigamma(a))),
)
GAMMAINCINV = _row(
    "gammaincinv", _gammaincinv,
    (lambda g, a, y: -safe_divide(g * gammainc_da(a, y), gamma_density(a, y)),
     lambda g, a, y: safe_divide(g, gamma_density(a, y))),
)


def _beta_slopes(a: Tensor, b: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """The logarithmic derivatives of the density to its shapes."""
    both = digamma(a + b)
    return log(x) - digamma(a) + both, log1p(-x) - digamma(b) + both


def _mixed(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
    """The derivative to both shapes, by that along the diagonal."""
    along = call(BETAINC_ALONG, (a, b, x))
    return 0.5 * (along - call(BETAINC_DAA, (a, b, x)) - call(BETAINC_DBB, (a, b, x)))


def _bend_row(name: str, da: float, db: float) -> Elementwise:
    """A second derivative to the shapes."""
    def rule(g: Tensor, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
        first, second = _beta_slopes(a, b, c)
        slope = da * first + db * second
        bend = (da + db) ** 2 * trigamma(a + b) - da * trigamma(a) - db * trigamma(b)
        return safe_multiply(g * beta_density(a, b, c), square(slope) + bend)

    no = no_slope("betainc", "its shapes", "third ")
    return _slope_row(name, _beta(2, da, db), (no, no, rule))


BETAINC = _row(
    "betainc", _VALUES["betainc"],
    (lambda g, a, b, c: g * betainc_da(a, b, c), lambda g, a, b, c: g * betainc_db(a, b, c),
     lambda g, a, b, c: g * beta_density(a, b, c)),
)
BETAINC_DA = _slope_row(
    "betainc_da", _beta(1, 1.0, 0.0),
    (lambda g, a, b, c: g * call(BETAINC_DAA, (a, b, c)),
     lambda g, a, b, c: g * _mixed(a, b, c),
     lambda g, a, b, c: safe_multiply(g * beta_density(a, b, c), _beta_slopes(a, b, c)[0])),
)
BETAINC_DB = _slope_row(
    "betainc_db", _beta(1, 0.0, 1.0),
    (lambda g, a, b, c: g * _mixed(a, b, c),
     lambda g, a, b, c: g * call(BETAINC_DBB, (a, b, c)),
     lambda g, a, b, c: safe_multiply(g * beta_density(a, b, c), _beta_slopes(a, b, c)[1])),
)
BETAINC_DAA: Elementwise = _bend_row("betainc_daa", 1.0, 0.0)
BETAINC_DBB: Elementwise = _bend_row("betainc_dbb", 0.0, 1.0)
BETAINC_ALONG: Elementwise = _bend_row("betainc_along", 1.0, 1.0)
BETAINCINV = _row(
    "betaincinv", _betaincinv,
    (lambda g, a, b, y: -safe_divide(g * betainc_da(a, b, y), beta_density(a, b, y)),
     lambda g, a, b, y: -safe_divide(g * betainc_db(a, b, y), beta_density(a, b, y)),
     lambda g, a, b, y: safe_divide(g, beta_density(a, b, y))),
)

gammainc: Function = binary(
    GAMMAINC, "Regularised incomplete gamma function P of shape ``x1`` at ``x2`` (DLMF 8.2.4).",
    "[1.0], [0.0]", "[0.]",
)
gammaincc: Function = binary(
    GAMMAINCC, "``1 - gammainc(x1, x2)``, exact in the tail.", "[1.0], [0.0]", "[1.]"
)
gammainc_da: Function = binary(
    GAMMAINC_DA, "Derivative of :func:`gammainc` to its shape.", "[1.0], [0.0]", "[0.]"
)
gammaincinv: Function = binary(
    GAMMAINCINV, "Where :func:`gammainc` of shape ``x1`` is ``x2``.", "[1.0], [0.0]", "[0.]"
)


betainc: Function = planned(several(
    BETAINC, "Regularised incomplete beta function of shapes ``x1``, ``x2`` at ``x3`` in [0, 1] "
    "(DLMF 8.17.2).",
    "1.0, 1.0, [0.25]", "[0.25]",
))
betainc_da: Function = several(
    BETAINC_DA, "Derivative of :func:`betainc` to its first shape.", "1.0, 1.0, [1.0]", "[0.]"
)
betainc_db: Function = several(
    BETAINC_DB, "Derivative of :func:`betainc` to its second shape.", "1.0, 1.0, [1.0]", "[0.]"
)
betaincinv: Function = several(
    BETAINCINV, "Where :func:`betainc` of shapes ``x1`` and ``x2`` is ``x3``.",
    "1.0, 1.0, [0.25]", "[0.25]",
)
