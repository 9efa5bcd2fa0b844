"""Incomplete gamma and beta functions, with derivatives to all of their parameters.

Derivatives to the shapes come from the series and continued fractions themselves, evaluated at
``a + ih`` with a tiny ``h``: the imaginary part is the derivative to all digits (Squire and Trapp,
SIAM Review 40, 1998).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.core.public import public
from agnesi.core.tensor import Tensor
from agnesi.ops.arith import safe_divide, safe_multiply
from agnesi.ops.elementwise import Elementwise, Function, call
from agnesi.ops.explog import exp, log, log1p, xlogy
from agnesi.ops.formula import binary, horner, or_scipy
from agnesi.ops.gammas import BETALN, betaln, correction, no_slope
from agnesi.ops.special import LGAMMA, digamma, lgamma, psi_of

_STEP = 1e-100
_TERMS = 20_000


def _settled(change: np.ndarray, total: np.ndarray) -> bool:
    """Whether a last change says that values and derivatives will stay."""
    parts = ((change.real, total.real), (change.imag, total.imag))
    return not any((np.abs(last) > 4e-16 * np.abs(whole)).any() for last, whole in parts)


def _summed(ratio: Callable[[int], np.ndarray], first: np.ndarray) -> np.ndarray:
    """``first * (1 + ratio(1) * (1 + ratio(2) * ...))``, until nothing changes any more."""
    term, total = first, first
    for n in range(1, _TERMS):
        term = term * ratio(n)
        total = total + term
        if _settled(term, total):
            break
    return total


def _fraction(a: Callable[[int], Any], b: Callable[[int], Any]) -> np.ndarray:
    """``b(0) + a(1) / (b(1) + a(2) / (b(2) + ...))`` by Lentz' method (Press et al., 5.2)."""
    tiny = 1e-290
    f = b(0)
    c, d = f, np.zeros_like(f)
    for n in range(1, _TERMS):
        d = b(n) + a(n) * d
        d = 1 / np.where(d == 0, tiny, d)
        c = b(n) + a(n) / c
        c = np.where(c == 0, tiny, c)
        f = f * (c * d)
        if _settled(f * (c * d - 1), f):
            break
    return np.asarray(f)


def _parts(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Value and derivative of what was computed with a tiny imaginary step."""
    return z.real, z.imag / _STEP


# -- the incomplete gamma function --------------------------------------------------------------
def _log_less(u: np.ndarray) -> np.ndarray:
    """``log(1 + u) - u`` without cancellation."""
    near = np.abs(u) < 0.3
    r = np.where(near, u, 0.0) / (2 + np.where(near, u, 0.0))
    square = r * r
    series = 2 * r * square * horner(square, [1 / (2 * k + 3) for k in range(9)])
    return np.where(near, series - u * r, np.log1p(u) - u)


def _gamma_front(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """``x^a e^-x / gamma(a + 1)``, by Stirling's formula where that serves."""
    far = np.maximum(a, 8.0)
    large = np.exp(far * _log_less((x - far) / far) - correction(far)) / np.sqrt(2 * np.pi * far)
    small = np.where(a < 8, a, 1.0)
    return np.where(a < 8, np.exp(small * np.log(x) - x - LGAMMA.function(small + 1)), large)


def _gamma_parts(a: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """P(a, x) and its derivative to ``a``, for positive finite operands.

    The series (Abramowitz and Stegun, 6.5.29) below ``a + 1``, the continued fraction of the
    complement (6.5.31) above.
    """
    low = x < a + 1
    front, slope = _gamma_front(a, x), np.log(x) - psi_of(a + 1)
    z = np.where(low, a, 1.0) + 1j * _STEP
    s, ds = _parts(_summed(lambda n: np.where(low, x, 0.0) / (z + n), np.ones_like(z)))
    z, y = np.where(low, 0.5, a) + 1j * _STEP, np.where(low, 10.0, x)
    # Q = x^a e^-x / gamma(a) / f.
    f, df = _parts(_fraction(lambda n: -n * (n - z), lambda n: y + 2 * n + 1 - z))
    q = front * a / f
    p = np.where(low, front * s, 1 - q)
    below = front * (slope * s + ds)
    above = -q * (slope + 1 / a - df / f)
    return p, np.where(low, below, above)


def _each_gamma(a: np.ndarray, x: np.ndarray, which: int, ends: tuple[float, float]) -> np.ndarray:
    """P (0), its complement (1) or derivative (2); ``ends`` for x = 0 and x = inf."""
    dtype = x.dtype
    a, x = np.broadcast_arrays(a.astype(np.float64), x.astype(np.float64))
    inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    p, slope = _gamma_parts(np.where(inside, a, 1.0), np.where(inside, x, 1.0))
    result = np.where(inside, (p, 1 - p, slope)[which], np.nan)
    result = np.where((x == 0) & (a > 0), ends[0], result)
    return np.where((x == np.inf) & (a > 0) & (a < np.inf), ends[1], result).astype(dtype)


def _gammainc(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    return _each_gamma(a, x, 0, (0.0, 1.0))


def _gammaincc(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    return _each_gamma(a, x, 1, (1.0, 0.0))


def _gammainc_da(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    return _each_gamma(a, x, 2, (0.0, 0.0))


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
    a, b, p = np.broadcast_arrays(*(v.astype(np.float64) for v in (a, b, p)))
    inside = (a > 0) & (b > 0) & (p > 0) & (p < 1)
    first, second = np.where(inside, a, 1.0), np.where(inside, b, 1.0)
    goal = np.where(inside, p, 0.5)
    found = _bisected(lambda x: _each_beta(0)(first, second, x), goal, 1.0)
    found = np.where(inside, found, np.nan)
    return np.where((a > 0) & (b > 0) & ((p == 0) | (p == 1)), p, found).astype(dtype)


def _gammaincinv(a: np.ndarray, p: np.ndarray) -> np.ndarray:
    dtype = p.dtype
    a, p = np.broadcast_arrays(a.astype(np.float64), p.astype(np.float64))
    inside = (a > 0) & (p > 0) & (p < 1)
    shape = np.where(inside, a, 1.0)
    goal = np.where(inside, p, 0.5)
    found = _bisected(lambda x: _gammainc(shape, x), goal, 800 + shape + 40 * np.sqrt(shape))
    found = np.where(inside, found, np.nan)
    found = np.where((a > 0) & (p == 0), 0.0, found)
    return np.where((a > 0) & (p == 1), np.inf, found).astype(dtype)


# -- the incomplete beta function ---------------------------------------------------------------
def _beta_fraction(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The continued fraction of ``I_x(a, b)`` (Abramowitz and Stegun, 26.5.8)."""
    def numerator(n: int) -> np.ndarray:
        m = n // 2
        if n % 2 == 0:
            return np.asarray(m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)))
        return np.asarray(-(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)))

    return 1 / _fraction(numerator, lambda n: np.ones(x.shape, complex))


def _beta_parts(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, ...]:
    """I_x(a, b) and its derivatives to ``a`` and ``b``, for x in (0, 1)."""
    turned = x > (a + 1) / (a + b + 2)  # there I_x(a, b) = 1 - I_1-x(b, a) converges
    p, q, t = np.where(turned, b, a), np.where(turned, a, b), np.where(turned, 1 - x, x)
    front = np.exp(a * np.log(x) + b * np.log1p(-x) - BETALN.function(a, b)) / p
    f, dp = _parts(_beta_fraction(p + 1j * _STEP, q, t))
    _, dq = _parts(_beta_fraction(p, q + 1j * _STEP, t))
    both, value = psi_of(p + q), front * f
    to_p = value * (np.log(t) + both - psi_of(p) - 1 / p) + front * dp
    to_q = value * (np.log1p(-t) + both - psi_of(q)) + front * dq
    return (
        np.where(turned, 1 - value, value), np.where(turned, -to_q, to_p),
        np.where(turned, -to_p, to_q),
    )


def _each_beta(which: int) -> Callable[..., np.ndarray]:
    def function(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
        dtype = x.dtype
        a, b, x = np.broadcast_arrays(*(v.astype(np.float64) for v in (a, b, x)))
        inside = (a > 0) & (b > 0) & (x > 0) & (x < 1) & np.isfinite(a) & np.isfinite(b)
        safe = (np.where(inside, v, w) for v, w in ((a, 1.0), (b, 1.0), (x, 0.5)))
        result = np.where(inside, _beta_parts(*safe)[which], np.nan)
        positive = (a > 0) & (b > 0)
        result = np.where(positive & (x == 0), 0.0, result)
        return np.where(positive & (x == 1), float(which == 0), result).astype(dtype)

    return function


# -- rows ---------------------------------------------------------------------------------------
def gamma_density(a: Tensor, x: Tensor) -> Tensor:
    """Derivative of :func:`gammainc` to ``x``."""
    return exp(xlogy(a - 1, x) - x - lgamma(a))


def beta_density(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
    """Derivative of :func:`betainc` to ``x``."""
    return exp(safe_multiply(a - 1, log(x)) + safe_multiply(b - 1, log1p(-x)) - betaln(a, b))


def _row(name: str, function: Any, rules: tuple[Any, ...]) -> Elementwise:
    loop = "" if name in _OWN else f"scipy.special._ufuncs.{name}"
    return Elementwise(name, function, rules, kinds="f", lowered=False, loop=loop, home=__name__)


_OWN = ("gammainc_da", "betainc_da", "betainc_db")


GAMMAINC = _row(
    "gammainc", or_scipy("gammainc", _gammainc),
    (lambda g, a, b: g * gammainc_da(a, b), lambda g, a, b: g * gamma_density(a, b)),
)
GAMMAINCC = _row(
    "gammaincc", or_scipy("gammaincc", _gammaincc),
    (lambda g, a, b: -g * gammainc_da(a, b), lambda g, a, b: -g * gamma_density(a, b)),
)
GAMMAINC_DA = _row(
    "gammainc_da", _gammainc_da,
    (no_slope("gammainc_da", "its shape"),
     lambda g, a, b: safe_multiply(g * gamma_density(a, b), log(b) - digamma(a))),
)
GAMMAINCINV = _row(
    "gammaincinv", or_scipy("gammaincinv", _gammaincinv),
    (lambda g, a, y: -safe_divide(g * gammainc_da(a, y), gamma_density(a, y)),
     lambda g, a, y: safe_divide(g, gamma_density(a, y))),
)
BETAINC = _row(
    "betainc", or_scipy("betainc", _each_beta(0)),
    (lambda g, a, b, c: g * betainc_da(a, b, c), lambda g, a, b, c: g * betainc_db(a, b, c),
     lambda g, a, b, c: g * beta_density(a, b, c)),
)
BETAINC_DA = _row(
    "betainc_da", _each_beta(1),
    (no_slope("betainc_da", "its shapes"), no_slope("betainc_da", "its shapes"),
     lambda g, a, b, c: safe_multiply(
         g * beta_density(a, b, c), log(c) - digamma(a) + digamma(a + b))),
)
BETAINC_DB = _row(
    "betainc_db", _each_beta(2),
    (no_slope("betainc_db", "its shapes"), no_slope("betainc_db", "its shapes"),
     lambda g, a, b, c: safe_multiply(
         g * beta_density(a, b, c), log1p(-c) - digamma(b) + digamma(a + b))),
)
BETAINCINV = _row(
    "betaincinv", or_scipy("betaincinv", _betaincinv),
    (lambda g, a, b, y: -safe_divide(g * betainc_da(a, b, y), beta_density(a, b, y)),
     lambda g, a, b, y: -safe_divide(g * betainc_db(a, b, y), beta_density(a, b, y)),
     lambda g, a, b, y: safe_divide(g, beta_density(a, b, y))),
)

gammainc: Function = binary(
    GAMMAINC, "Regularised incomplete gamma function P of shape ``x1`` at ``x2``.",
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


@public
def betainc(a: Any, b: Any, x: Any, /, *, out: Tensor | None = None) -> Tensor:
    """Regularised incomplete beta function at ``x`` in [0, 1], with all three derivatives.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.special.betainc(1.0, 1.0, ag.tensor([0.25]))
    tensor([0.25])
    """
    return call(BETAINC, (a, b, x))


@public
def betainc_da(a: Any, b: Any, x: Any, /, *, out: Tensor | None = None) -> Tensor:
    """Derivative of :func:`betainc` to its first shape.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.special.betainc_da(1.0, 1.0, ag.tensor([1.0]))
    tensor([0.])
    """
    return call(BETAINC_DA, (a, b, x))


@public
def betainc_db(a: Any, b: Any, x: Any, /, *, out: Tensor | None = None) -> Tensor:
    """Derivative of :func:`betainc` to its second shape.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.special.betainc_db(1.0, 1.0, ag.tensor([1.0]))
    tensor([0.])
    """
    return call(BETAINC_DB, (a, b, x))


@public
def betaincinv(a: Any, b: Any, p: Any, /, *, out: Tensor | None = None) -> Tensor:
    """Where :func:`betainc` is ``p``.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.special.betaincinv(1.0, 1.0, ag.tensor([0.25]))
    tensor([0.25])
    """
    return call(BETAINCINV, (a, b, p))
