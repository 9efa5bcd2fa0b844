"""Error functions and the gamma family.

SciPy computes them where it is installed; the forms below need NumPy and Python only.
"""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.core.tensor import Tensor
from agnesi.ops.arith import safe_divide, square
from agnesi.ops.elementwise import Elementwise, Function, binary, unary
from agnesi.ops.explog import exp

Numeric = Callable[..., np.ndarray]


@functools.cache
def _scipy(name: str) -> Any:
    try:
        return getattr(importlib.import_module("scipy.special"), name)
    except ImportError:
        return None


def _or_scipy(name: str, fallback: Numeric) -> Numeric:
    """SciPy's function of this name, else the fallback; looked for at the first call."""

    @functools.wraps(fallback)
    def function(*xs: np.ndarray) -> np.ndarray:
        found = _scipy(name) or fallback
        return np.asarray(found(*xs)).astype(xs[-1].dtype, copy=False)

    return function


def _each(function: Callable[[float], float]) -> Numeric:
    """A function of Python floats, on arrays."""
    ufunc = np.frompyfunc(function, 1, 1)
    return lambda x: np.asarray(ufunc(x.astype(np.float64)), np.float64)


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


def _digamma(x: np.ndarray) -> np.ndarray:
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
    result = np.where(low, result - math.pi / np.tan(math.pi * fraction), result)
    result[low & (fraction == 0)] = np.nan
    return np.where(x == 0, np.copysign(np.inf, -x), result)


def _polygamma(n: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Derivatives of digamma: n-th at x, for n > 0, by the Euler-Maclaurin formula."""
    dtype = x.dtype
    n, x = np.broadcast_arrays(n.astype(np.float64), x.astype(np.float64))
    total = np.zeros(x.shape)
    z, s = x.copy(), n + 1
    lowest = float(np.min(z, initial=0, where=np.isfinite(z)))
    for _ in range(16 + int(min(-lowest, 10_000))):
        total += z ** -s
        z = z + 1
    total += z ** (1 - s) / (s - 1) + 0.5 * z ** -s
    factor = s * z ** (-s - 1)
    for k, b in enumerate(_BERNOULLI, 1):
        total += b / math.factorial(2 * k) * factor
        factor = factor * (s + 2 * k - 1) * (s + 2 * k) / z ** 2
    gamma = np.frompyfunc(lambda v: math.gamma(v) if v < 171 else math.inf, 1, 1)
    sign = np.where(n % 2 == 0, -1.0, 1.0)
    return np.asarray(sign * np.asarray(gamma(s), np.float64) * total, dtype)


_TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)


def _bell(x: Tensor) -> Tensor:
    """The derivative of erf."""
    return exp(-square(x)) * _TWO_OVER_ROOT_PI


ERF = Elementwise(
    "erf", _or_scipy("erf", _each(math.erf)), (lambda g, x: g * _bell(x),), kinds="f"
)
ERFC = Elementwise(
    "erfc", _or_scipy("erfc", _each(math.erfc)), (lambda g, x: -(g * _bell(x)),), kinds="f"
)
ERFINV = Elementwise(
    "erfinv", _or_scipy("erfinv", _each(_erfinv)), (lambda g, y: safe_divide(g, _bell(y)),),
    kinds="f",
)
def _log_gamma(x: np.ndarray) -> np.ndarray:
    # SciPy has -inf at -inf, unlike C and Python.
    return np.where(x == -np.inf, np.inf, _gammaln(x)).astype(x.dtype, copy=False)


_gammaln = _or_scipy("gammaln", _each(_lgamma))
LGAMMA = Elementwise(
    "lgamma", _log_gamma, (lambda g, x: g * digamma(x),), kinds="f"
)
DIGAMMA = Elementwise(
    "digamma", _or_scipy("psi", _digamma), (lambda g, x: g * polygamma(1, x),), kinds="f"
)
POLYGAMMA = Elementwise(
    "polygamma", _polygamma, (None, lambda g, a, b: g * polygamma(a + 1, b)), kinds="f",
    lowered=False,
)

erf = unary(ERF, "The error function.", "[0.0, float('inf')]", "[0., 1.]")
erfc = unary(ERFC, "``1 - erf(x)``, exact for large ``x`` too.", "[0.0, float('inf')]", "[1., 0.]")
erfinv = unary(
    ERFINV, "Inverse of the error function; NaN outside of [-1, 1].", "[0.0, 1.0]", "[ 0., inf]"
)
lgamma = unary(
    LGAMMA, "Logarithm of the absolute value of the gamma function.", "[1.0, 0.0]", "[ 0., inf]"
)
digamma: Function = unary(DIGAMMA, "Derivative of :func:`lgamma`.", "[float('inf')]", "[inf]")
polygamma: Function = binary(
    POLYGAMMA, "Derivative of order ``x1`` of :func:`digamma` at ``x2``.",
    "1, [float('inf')]", "[0.]",
)
