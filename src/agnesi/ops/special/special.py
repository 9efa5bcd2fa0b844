"""Error functions and the gamma family.

SciPy computes them where it is installed; the forms below need NumPy and Python only.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from agnesi.core.ir.coefficients import LGAMMA_AT_ONE, LGAMMA_AT_TWO
from agnesi.core.keywords import shown_as, strict
from agnesi.core.parameter_types import TensorLike
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import safe_divide, square
from agnesi.ops.base.elementwise import Elementwise, Function, binary, unary
from agnesi.ops.elementwise.explog import exp
from agnesi.ops.elementwise.formula import (
    each,
    from_scipy,
    horner,
    in_scipy,
    mended,
    no_slope,
    or_scipy,
    row,
    scipy_later,
    spread_alike,
)
from agnesi.ops.elementwise.formula import unary as special_unary
from agnesi.ops.special.erf_table import erf_from_table

__all__ = ["digamma", "erf", "erfc", "erfinv", "polygamma", "trigamma"]


def _lgamma(x: float) -> float:
    if x <= 0 and x % 1 == 0:
        return math.inf
    try:
        return math.lgamma(x)
    except OverflowError:
        return math.inf


def _erfinv(y: float) -> float:
    from statistics import NormalDist  # late: it imports decimal and random

    size = abs(y)
    if not size < 1:
        return math.copysign(math.inf, y) if size == 1 else math.nan
    x = -NormalDist().inv_cdf((1 - size) / 2) / math.sqrt(2)
    for _ in range(2):  # Newton's steps mend what 1 - size has rounded away
        wrong = math.erf(x) - size if size < 0.5 else (1 - size) - math.erfc(x)
        x -= wrong * math.sqrt(math.pi) / 2 * math.exp(x * x)
    return math.copysign(x, y)


#: Bernoulli numbers B[2k], for k = 1 to 8.
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def psi_of(x: np.ndarray) -> np.ndarray:
    """Reflection below 1/2, recurrence up to 10, the asymptotic series from there."""
    x = x.astype(np.float64)
    low = x < 0.5
    z = np.where(low, 1 - x, x)
    result = np.zeros_like(z)
    for _ in range(10):
        small = z < 10
        result -= np.where(small, 1 / np.where(small, z, 1), 0)
        z = np.where(small, z + 1, z)
    series = sum(b / (2 * k * z ** (2 * k)) for k, b in enumerate(_BERNOULLI, 1))
    result += np.log(z) - 0.5 / z - series
    fraction = x - np.rint(x)
    with np.errstate(divide="ignore"):
        result = np.where(low, result - math.pi / np.tan(math.pi * fraction), result)
    result[low & (fraction == 0)] = np.nan
    return np.where(x == 0, np.copysign(np.inf, -x), result)


def _factorial_before(n: float) -> float:
    if n >= 171:
        return math.inf
    return math.gamma(n) if n >= 1 else math.nan


def _polygamma(n: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Derivatives of digamma: n-th at x, by the Euler-Maclaurin formula."""
    dtype = x.dtype
    n, x = spread_alike(n.astype(np.float64), x.astype(np.float64))
    total = np.zeros(x.shape)
    z, s = x.copy(), n + 1
    lowest = float(np.min(z, initial=0, where=np.isfinite(z)))
    for step in range(16 + int(min(-lowest, 10_000))):
        if step < 16:
            total += z ** -s
            z = z + 1
        else:  # those that began below 0: others would take up the rounding of as many terms
            below = z < 16
            total += np.where(below, z ** -s, 0)
            z = z + below
    total += z ** (1 - s) / (s - 1) + 0.5 * z ** -s
    factor = s * z ** (-s - 1)
    for k, b in enumerate(_BERNOULLI, 1):
        total += b / math.factorial(2 * k) * factor
        factor = factor * (s + 2 * k - 1) * (s + 2 * k) / z ** 2
    gamma = np.frompyfunc(_factorial_before, 1, 1)
    sign = np.where(n % 2 == 1, 1.0, np.where(n % 2 == 0, -1.0, np.nan))
    result = sign * np.asarray(gamma(s), np.float64) * total
    return np.where(n == 0, psi_of(x), result).astype(dtype)


def _trigamma(m: Any, x: Any) -> Any:
    """Reflection below 1/2, ten steps of the recurrence, the asymptotic series from there."""
    low = x < 0.5
    z = m.where(low, 1.0 - x, x)
    total = 1.0 / (z * z)
    for k in range(1, 10):
        total = total + 1.0 / ((z + k) * (z + k))
    inverse = 1.0 / (z + 10.0)
    square = inverse * inverse
    total = total + inverse * (1.0 + 0.5 * inverse + square * horner(square, _BERNOULLI))
    sine = m.sin((x - m.round(x)) * math.pi)
    return m.where(low, math.pi ** 2 / (sine * sine) - total, total)


def _erfc_tail(x: np.ndarray) -> np.ndarray:
    """The square in two parts: SciPy's, with its square rounded, loses digits and ends early."""
    x = np.minimum(x, 30.0)
    high = np.round(x * 64.0) / 64.0
    bell = np.exp(-high * high) * np.exp(-(x - high) * (x + high))
    return np.asarray(bell * from_scipy("erfcx")(x))


_erfc = or_scipy("erfc", each(math.erfc))
_erfc_of_doubles = mended(_erfc, _erfc_tail, lambda x: x > 0.5)


_TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)


def _bell(x: Tensor) -> Tensor:
    """The derivative of erf."""
    return exp(-square(x)) * _TWO_OVER_ROOT_PI


ERF = Elementwise(
    "erf", scipy_later("erf", erf_from_table, 12_000, 20, 100), (lambda g, x: g * _bell(x),),
    kinds="f"
)
ERFC = Elementwise(
    "erfc",
    lambda x: (_erfc_of_doubles if x.dtype == np.float64 and in_scipy("erfcx") else _erfc)(x),
    (lambda g, x: -(g * _bell(x)),), kinds="f"
)
ERFINV = Elementwise(
    "erfinv", or_scipy("erfinv", each(_erfinv)), (lambda g, y: safe_divide(g, _bell(y)),),
    kinds="f",
)
#: Of SciPy's lgamma: below which size it loses digits near its zeros 1 and 2.
_SMALL_SIZE = 0.03


def _log_gamma(x: np.ndarray) -> np.ndarray:
    y = np.asarray(_gammaln(x))
    if x.dtype != np.float64:  # computed in double precision and rounded once
        return np.where(x == -np.inf, np.inf, y).astype(x.dtype, copy=False)
    size = np.abs(y)
    usual = (size > _SMALL_SIZE) & (size < np.inf)
    if not usual.all():
        odd, y = ~usual, np.array(y)
        y[odd] = _mended_log_gamma(x[odd].astype(np.float64), y[odd])
    return y


def _mended_log_gamma(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """By polynomials near 1 and 2; SciPy's is -inf at -inf, and inf where 1 / x overflows."""
    one, two = np.minimum(x, 1.5) - 1.0, np.clip(x, 1.5, 2.5) - 2.0
    near = np.where(x < 1.5, one * horner(one, LGAMMA_AT_ONE), two * horner(two, LGAMMA_AT_TWO))
    tiny = (np.abs(x) < 1e-300) & (x != 0)
    far = np.where(tiny, -np.log(np.where(tiny, np.abs(x), 1.0)), np.abs(y))
    return np.where(np.isinf(y), far, np.where((x > 0.5) & (y != 0), near, y))


_gammaln = or_scipy("gammaln", each(_lgamma))
LGAMMA = Elementwise("lgamma", _log_gamma, (lambda g, x: g * digamma(x),), kinds="f")
DIGAMMA = Elementwise(
    "digamma", mended(or_scipy("psi", psi_of), psi_of, lambda x: x < 0),  # its poles
    (lambda g, x: g * trigamma(x),), kinds="f"
)
TRIGAMMA = row("trigamma", _trigamma,
               (lambda g, x: g * polygamma(2, x),), __name__)  # type: ignore[has-type]
POLYGAMMA = Elementwise(
    "polygamma", _polygamma,
    (no_slope("polygamma", "its order"), lambda g, a, b: g * polygamma(a + 1, b)),  # type: ignore
    kinds="f",
    lowered=False,
)

erf = unary(ERF, "Error function: ``2 / sqrt(pi)`` times the integral of ``exp(-t**2)`` from 0 to "
    "x (DLMF 7.2.1).", "[0.0, float('inf')]", "[0., 1.]")
erfc = unary(ERFC, "``1 - erf(x)``, exact for large ``x`` too.", "[0.0, float('inf')]", "[1., 0.]")
erfinv = unary(
    ERFINV, "Inverse of the error function; NaN outside of [-1, 1].", "[0.0, 1.0]", "[ 0., inf]"
)
lgamma = unary(
    LGAMMA, "Logarithm of the absolute value of the gamma function.", "[1.0, 0.0]", "[ 0., inf]"
)
digamma: Function = unary(DIGAMMA, "Derivative of :func:`lgamma`.", "[float('inf')]", "[inf]")
trigamma: Function = special_unary(
    TRIGAMMA, "Derivative of :func:`digamma`.", "[float('inf')]", "[0.]"
)
_polygamma_row = binary(POLYGAMMA)


@strict
@shown_as("x1", "x2")
def polygamma(n: TensorLike, input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Derivative of order ``x1`` of :func:`digamma` at ``x2``.

    :param x1: Orders; not negative.
    :type x1: array_like of int
    :param x2: Real numbers; they broadcast.
    :returns: Of the broadcast shape, floating; NaN at orders that are negative or not whole.
    :raises ShapeError: If the shapes do not broadcast.
    :see: digamma, special.trigamma, special.zeta

    >>> ag.polygamma(1, [float('inf')])
    tensor([0.])
    """
    if type(n) is int and n in (0, 1):
        return (digamma, trigamma)[n](input, out=out)
    return _polygamma_row(n, input, out=out)
