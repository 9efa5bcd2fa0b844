"""The gamma and beta functions and what is made of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from agnesi.core.integers import step_count
from agnesi.core.ir.calls import ufuncs
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import abs as magnitude
from agnesi.ops.base.arith import remainder, safe_multiply
from agnesi.ops.base.compare import less, logical_and
from agnesi.ops.base.convert import floating
from agnesi.ops.base.elementwise import Elementwise, Function, operand
from agnesi.ops.base.select import round as nearest
from agnesi.ops.base.select import where
from agnesi.ops.elementwise.formula import (
    NO_BOUNDS,
    binary,
    called,
    horner,
    no_slope,
    or_scipy,
    row,
    slopes_in_double,
    unary,
    value_of,
    within,
)
from agnesi.ops.elementwise.trig import cos
from agnesi.ops.special.special import POLYGAMMA, digamma, lgamma, trigamma

__all__ = [
    "beta", "betaln", "binom", "factorial", "gamma", "loggamma", "multigammaln", "poch", "rgamma",
    "zeta",
]

#: B[2k] / 2k: digamma(z) is log(z) - 1 / 2z minus the series of them in 1/z^2, without a constant.
_DIGAMMA = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12, -3617 / 8160)
_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)
#: z log(gamma(z) e^z z^(1/2 - z) / sqrt(2 pi)) in 1/z^2 (Abramowitz and Stegun, 6.1.41).
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
#: gamma(2.5 + u) on [-0.5, 0.5], by Chebyshev interpolation, error 2^-56.
_GAMMA = (
    1.329340388179137, 0.9347345216260858, 0.6545585779813367, 0.253871246841081,
    0.10967323400218487, 0.028360780598296692, 0.010392403424525895, 0.001607400398278153,
    0.0007544741634534283, 3.942933739732899e-06, 6.132951527532448e-05, -1.2810259356350584e-05,
    7.257335209971111e-06, -2.5237611386457594e-06, 1.0675361551610872e-06,
    -5.060382483924732e-07, 2.038631996005556e-07,
)  # fmt: skip


def correction(z: Any) -> Any:
    """Return the error of Stirling's formula for ``lgamma``, for z >= 8."""
    inverse = 1.0 / z
    return inverse * horner(inverse * inverse, _STIRLING)


def _positive_gamma(m: Any, x: Any) -> Any:
    """For x > 0: below 8 a polynomial and the recurrence, then Stirling's formula."""
    small = x < 8.0
    z = m.where(small, 8.0, x)
    root = m.power(z, 0.5 * z - 0.25)  # its square might overflow
    far = root * m.exp(-z) * root * (math.sqrt(2 * math.pi) * m.exp(correction(z)))
    far = m.where(x > 171.7, math.inf, far)
    low = m.minimum(x, 8.0)
    near = horner((low - m.floor(low)) - 0.5, _GAMMA)
    for k in range(1, 6):
        near = near * m.where(low < k + 2.0, 1.0, low - k)
    below = m.where(low < 2.0, low, 1.0) * m.where(low < 1.0, 1.0 + low, 1.0)
    return m.where(small, near / below, far)


def _reflected(m: Any, x: Any) -> Any:
    """``sin(pi x) gamma(1 - x) / pi``: the inverse of gamma below 1/2.

    Below -1, where ``1 - x`` may lose digits, ``gamma(1 - x)`` is ``-x gamma(-x)``.
    """
    far = x < -1.0
    r = m.round(x)
    sine = m.sin((x - r) * math.pi) * m.cos(r * math.pi)
    size = _positive_gamma(m, m.where(far, -x, 1.0 - m.minimum(x, 0.5)))
    return sine * m.where(far, -x, 1.0) * (size / math.pi)


def _gamma(m: Any, x: Any) -> Any:
    low = x < 0.5
    high = _positive_gamma(m, m.maximum(x, 0.5))
    reflected = 1.0 / _reflected(m, x)
    pole = m.logical_or(m.logical_and(m.equal(x, m.round(x)), x < 0.0), m.equal(x, -math.inf))
    reflected = m.where(m.equal(x, 0.0), 1.0 / x, m.where(pole, math.nan, reflected))
    return m.where(low, reflected, high)


def _rgamma(m: Any, x: Any) -> Any:
    found = m.where(x < 0.5, _reflected(m, x), 1.0 / _positive_gamma(m, m.maximum(x, 0.5)))
    pole = m.logical_and(m.equal(x, m.round(x)), x < 0.0)
    found = m.where(m.logical_or(m.isinf(x), pole), 0.0, found)  # at both infinities, as SciPy
    return m.where(m.equal(x, 0.0), x, found)


def _rgamma_slope(g: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """``-y * digamma(x)``, and its limit at the poles of gamma."""
    pole, limit = _at_poles(x)
    usual = -y * digamma(where(pole, 1, x))
    return g * where(pole, limit, where(magnitude(x) < 1e-300, 1, usual))


def _at_poles(x: Any) -> tuple[Any, Any]:
    """Whether gamma has a pole there, and the slope of its reciprocal, which is 0, at poles."""
    pole = (x <= 0) & (x == nearest(x))
    return pole, cos(nearest(x) * math.pi) * gamma(1 - where(pole, x, 0))


def _close_digammas(m: Any, x: Any, h: Any) -> Any:
    """``digamma(x + h) - digamma(x)`` of positive arguments, without cancellation: ten steps of
    the recurrence, and the differences of the terms of the asymptotic series."""
    y, total = x + h, x * 0.0
    for k in range(10):
        total = total + h / ((x + k) * (y + k))
    x, y = x + 10.0, y + 10.0
    u, v = 1.0 / (x * x), 1.0 / (y * y)
    slope, value = x * 0.0, x * 0.0
    for c in reversed(_DIGAMMA):
        slope, value = slope * v + value, value * u + c
    bend = 0.5 / (x * y) + (x + y) * u * v * (slope * v + value)
    return total + m.log1p(h / x) + h * bend


def _digamma_gap(m: Any, x: Any, h: Any) -> Any:
    there = m.logical_and(x > 0.0, x + h > 0.0)
    apart = m.digamma(x + h) - m.digamma(x)
    return m.where(there, _close_digammas(m, m.where(there, x, 1.0), m.where(there, h, 0.0)), apart)


def _over(x: Any, rest: Callable[..., Any], among: tuple[Any, ...], usual: Any) -> Any:
    """The slope of ``rest(*among) / gamma(x)``: ``usual`` but where that is 0 times infinity."""
    pole, limit = _at_poles(x)
    return where(pole, rest(*[where(pole, v, 1) for v in among]) * limit, where(pole, 0, usual))


def _beta_slope(a: Any, b: Any, y: Any) -> Any:
    return _over(a + b, lambda a, b: gamma(a) * gamma(b), (a, b), -y * _gap(a, b))


def _binom_upper(g: Any, a: Any, b: Any, y: Any) -> Any:
    return g * _over(a - b + 1, lambda a, b: gamma(a + 1) * rgamma(b + 1), (a, b),
                     safe_multiply(y, _gap(a - b + 1, b)))


def _binom_lower(g: Any, a: Any, b: Any, y: Any) -> Any:
    usual = safe_multiply(y, _gap(b + 1, a - 2 * b))
    inner = _over(a - b + 1, lambda a, b: -gamma(a + 1) * rgamma(b + 1), (a, b), usual)
    return g * _over(b + 1, lambda a, b: gamma(a + 1) * rgamma(a - b + 1), (a, b), inner)


def _betaln(m: Any, x: Any, y: Any) -> Any:
    """Stirling's formula where it serves, so that large parameters do not cancel."""
    a, b = m.minimum(x, y), m.maximum(x, y)
    total = a + b
    z = m.where(b < 8.0, 8.0, b)
    part = m.log1p(a / z)
    middle = (correction(z) - correction(a + z)) - (z - 0.5) * part - a * m.log(a + z) + a
    one_large = m.lgamma(a) + middle
    p = m.where(a < 8.0, 8.0, a)
    both = (p - 0.5) * m.log(p / (p + z)) - z * m.log1p(p / z) - 0.5 * m.log(z)
    both = both + _HALF_LOG_TWO_PI + (correction(p) + correction(z) - correction(p + z))
    small = m.lgamma(a) + m.lgamma(b) - m.lgamma(total)
    found = m.where(a < 8.0, one_large, both)
    found = m.where(m.logical_or(b < 8.0, a <= 0.0), small, found)
    found = m.where(m.logical_and(m.equal(a, 0.0), b < math.inf), math.inf, found)
    return m.where(m.logical_and(m.equal(b, math.inf), a > 0.0), -math.inf, found)


def _sign(m: Any, x: Any) -> Any:
    """Of gamma."""
    return m.where(m.logical_and(x < 0.0, m.remainder(m.floor(x), 2.0) > 0.0), -1.0, 1.0)


def _beta(m: Any, a: Any, b: Any) -> Any:
    return m.exp(m.betaln(a, b)) * (_sign(m, a) * _sign(m, b) * _sign(m, a + b))


GAMMA = row("gamma", _gamma, (lambda g, x, y: g * (y * digamma(x)),), __name__, scipy="gamma",
            above=-150.0)
RGAMMA = row("rgamma", _rgamma, (_rgamma_slope,), __name__,
             scipy="rgamma", above=0.0, wide_slopes=True)
#: SciPy's loses half of the digits where one parameter is large.
BETALN = row(
    "betaln", _betaln,
    (lambda g, a, b: -g * _gap(a, b), lambda g, a, b: -g * _gap(b, a)), __name__, wide_slopes=True)
BETA = row(
    "beta", _beta,
    (lambda g, a, b, y: g * _beta_slope(a, b, y),
     lambda g, a, b, y: g * _beta_slope(b, a, y)), __name__, wide_slopes=True)
DIGAMMA_GAP = row(
    "digamma_gap", _digamma_gap,
    (lambda g, a, b: g * (trigamma(a + b) - trigamma(a)), lambda g, a, b: g * trigamma(a + b)),
    __name__,
)
_gap: Function = binary(DIGAMMA_GAP)
POCH = Elementwise(
    "poch", or_scipy("poch", value_of(lambda m, z, n: m.gamma(z + n) * m.rgamma(z)), double=True),
    slopes_in_double("poch", (lambda g, a, b, y: g * (y * _gap(a, b)),
                              lambda g, a, b, y: g * (y * digamma(a + b)))),
    kinds="f", loop="scipy.special._ufuncs.poch", home=__name__,
)
BINOM = Elementwise(
    "binom",
    or_scipy("binom", value_of(lambda m, n, k: m.rgamma(k + 1.0) * m.rgamma(n - k + 1.0)
                               * m.gamma(n + 1.0)), double=True),
    slopes_in_double("binom", (_binom_upper, _binom_lower)),
    kinds="f", loop="scipy.special._ufuncs.binom", home=__name__,
)
ZETA = called(
    "_zeta", (no_slope("zeta", "its exponent"), lambda g, a, b: -g * a * _hurwitz(a + 1, b)),
    __name__, own="hurwitz_zeta",
)

#: Its values below 1, too, by SciPy's continuation.
RIEMANN = called("_riemann_zeta", (no_slope("zeta", "its exponent"),), __name__, own="riemann_zeta")


def _by_zeta(n: Tensor, x: Tensor) -> Tensor | None:
    """Polygamma in compiled code (DLMF 25.11.12), where SciPy's function is there to be called."""
    if ufuncs.types(ZETA.loop, "float64", "float64") is None:
        return None
    order = n + 1
    odd = remainder(where(n < 0, math.nan, n), 2)
    sign = where(odd == 1, 1.0, where(odd == 0, -1.0, math.nan))
    found = sign * gamma(order) * _hurwitz(order, x)
    found = where(logical_and(x == 0, odd == 0), -1 / x, found)  # by the sign of zero
    return where(n == 0, digamma(x), found)


POLYGAMMA.decompose = _by_zeta
gamma = unary(GAMMA, "Gamma function: the integral of ``t**(x - 1) * exp(-t)`` from 0 on, "
    "continued below 0 (DLMF 5.2.1).", "[1.0, 5.0]", "[ 1., 24.]")
rgamma = unary(RGAMMA, "``1 / gamma(x)``, 0 at its poles.", "[0.0, 3.0]", "[0. , 0.5]")
betaln: Function = binary(BETALN, "Logarithm of ``abs(beta(x1, x2))``.", "[1.0], [1.0]", "[0.]")
beta: Function = binary(
    BETA, "``gamma(x1) * gamma(x2) / gamma(x1 + x2)``.", "[1.0], [2.0]", "[0.5]"
)
poch: Function = binary(
    POCH, "Rising factorial, ``gamma(x1 + x2) / gamma(x1)``.", "[2.0], [3.0]", "[24.]"
)
binom: Function = binary(BINOM, "``x1`` over ``x2``, of real numbers.", "[5.0], [2.0]", "[10.]")
#: Below it SciPy counts up to zero for seconds, in one call that no signal ends.
_LEAST_SHIFT = -1e9
_hurwitz: Function = binary(ZETA)
_riemann: Function = unary(RIEMANN)


@planned
@public
def zeta(x: TensorLike, q: TensorLike | None = None, /, *, out: Tensor | None = None) -> Tensor:
    """Hurwitz' zeta function, the sum of ``(q + k)**-x``; Riemann's by default.

    Riemann's is continued below 1 (DLMF 25.2); Hurwitz' is NaN there.

    :param x: Real numbers.
    :param q: Positive; 1 by default. Both broadcast.
    :returns: Of the broadcast shape, floating; infinite at 1, NaN where ``q < -1e9``.
    :raises DTypeError: For complex numbers.
    :raises ShapeError: If the shapes do not broadcast.
    :see: special.zetac, polygamma

    >>> ag.sqrt(ag.special.zeta(ag.tensor([2.0])) * 6)
    tensor([3.1415925])
    """
    if q is None:
        return _riemann(x)
    whole = isinstance(q, int) or operand("zeta", q).dtype.kind in "iu"  # poles below 1
    bounds = NO_BOUNDS if whole else {0: (_LEAST_SHIFT, math.inf)}
    return _hurwitz(x, *within("zeta", bounds, (q,)))


@planned
@public
def loggamma(x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """The principal logarithm of gamma: of real numbers, NaN below zero.

    :param x: Real numbers; integers become the default float dtype.
    :returns: Of the shape of ``x``.
    :raises DTypeError: For complex numbers.
    :see: lgamma, special.gamma, special.multigammaln

    >>> ag.special.loggamma(ag.tensor([1.0, -1.5]))
    tensor([ 0., nan])
    """
    x = floating(x)
    return where(less(x, 0), math.nan, lgamma(x))


@planned
@public
def multigammaln(a: TensorLike, d: int, /, *, out: Tensor | None = None) -> Tensor:
    """Logarithm of the multivariate gamma function of dimension ``d`` (DLMF 35.3.1).

    :param a: Above ``(d - 1) / 2``.
    :param d: The dimension; positive.
    :returns: Of the shape of ``a``.
    :raises ValueError: If ``d`` is not positive.
    :see: lgamma, special.loggamma

    >>> ag.special.multigammaln(ag.tensor([2.0]), 1)
    tensor([0.])
    """
    a = floating(a)
    d = step_count(d, "d", 1)
    total = lgamma(a) + d * (d - 1) / 4 * math.log(math.pi)
    for j in range(1, d):
        total = total + lgamma(a - j / 2)
    return total


@planned
@public
def factorial(n: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """``gamma(n + 1)``, and 0 for negative numbers.

    :param n: Of any shape, not only whole; integers become the default float dtype.
    :returns: Of the shape of ``n``; infinite beyond the dtype's range.
    :raises DTypeError: For complex numbers.
    :see: special.gamma, special.factorial2, special.comb

    >>> ag.special.factorial(ag.tensor([0, 3, -1]))
    tensor([1., 6., 0.])
    """
    n = floating(n)
    negative = less(n, 0)
    return where(negative, 0, gamma(where(negative, 0, n) + 1))
