"""Integrals without a closed form (exponential, elliptic, Owen's T), and Lambert's W.

Complete elliptic integrals are generated code, by the arithmetic-geometric mean, and so is
Lambert's W; others are SciPy's.
"""

from __future__ import annotations

import math
from typing import Any

from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import public
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import abs as magnitude
from agnesi.ops.base.arith import safe_divide, square
from agnesi.ops.base.elementwise import Function
from agnesi.ops.base.select import where
from agnesi.ops.elementwise.explog import exp
from agnesi.ops.elementwise.formula import binary, called, horner, row, unary
from agnesi.ops.elementwise.numeric import sinc
from agnesi.ops.elementwise.trig import cos
from agnesi.ops.special.special import erf

__all__ = ["ellipe", "ellipk", "exp1", "expi", "lambertw", "owens_t", "sici"]


# -- elliptic integrals (Abramowitz and Stegun, 17.6) -------------------------------------------
def _means(m: Any, x: Any) -> tuple[Any, Any]:
    """Both complete elliptic integrals of parameter ``x``."""
    a, b, total, weight = x * 0.0 + 1.0, m.sqrt(1.0 - x), 0.5 * x, 1.0
    for _ in range(8):
        c = 0.5 * (a - b)
        a, b = 0.5 * (a + b), m.sqrt(a * b)
        total = total + weight * (c * c)
        weight *= 2.0
    first, second = 0.5 * math.pi / a, 0.5 * math.pi / a * (1.0 - total)
    far, root = x < -1e20, m.sqrt(m.abs(x))  # where eight means are too few
    first = m.where(far, (math.log(4.0) + m.log(m.where(far, root, 1.0))) / root, first)
    second = m.where(far, root, second)
    one, low = m.equal(x, 1.0), m.equal(x, -math.inf)
    first = m.where(one, math.inf, m.where(low, 0.0, first))
    return first, m.where(one, 1.0, m.where(low, math.inf, second))


def _mean_slopes(m: Any, x: Any) -> tuple[Any, Any]:
    """The derivatives of both: ``K - E`` is ``K x`` times a sum of squares (17.6.4), which cancels
    neither near 0 nor, for negative parameters, far from it."""
    a, b = x * 0.0 + 1.0, m.sqrt(1.0 - x)
    part, gap, weight = None, x * 0.0 + 0.5, 1.0
    for _ in range(8):
        a, b = 0.5 * (a + b), m.sqrt(a * b)
        part = 0.25 / a if part is None else x * (part * part) * (0.25 / a)  # c[n] / x
        gap = gap + x * (weight * (part * part))
        weight *= 2.0
    first, rest = 0.5 * math.pi / a, 1.0 - x
    high = m.maximum(x, 0.9)  # where 1 - gap cancels
    last = (first * (1.0 - high * gap) - rest * first) / (2.0 * high * rest)
    to_first = m.where(x > 0.9, last, first * (1.0 - gap) / (2.0 * rest))
    to_second = -0.5 * (first * gap)
    far, root = x < -1e20, m.sqrt(m.abs(x))
    safe = m.where(far, root, 1.0)
    to_first = m.where(far, (math.log(4.0) - 1.0 + m.log(safe)) / root * (0.5 / safe) / safe,
                       to_first)
    to_second = m.where(far, -0.5 / root, to_second)
    one, low = m.equal(x, 1.0), m.equal(x, -math.inf)
    to_first = m.where(one, math.inf, m.where(low, 0.0, to_first))
    return to_first, m.where(one, -math.inf, m.where(low, 0.0, to_second))


_SQUARES = [(math.comb(2 * n, n) / 4**n) ** 2 for n in range(22)]
#: Second derivatives of both at small parameters, as power series (17.3.11 and 17.3.12).
_BEND_K = [math.pi / 2 * n * (n - 1) * c for n, c in enumerate(_SQUARES)][2:]
_BEND_E = [-math.pi / 2 * n * (n - 1) * c / (2 * n - 1) for n, c in enumerate(_SQUARES)][2:]


def _bend(x: Tensor, series: list[float], rule: Any) -> Tensor:
    near = magnitude(x) < 0.15
    safe = where(near, 0.5, x)
    return where(near, horner(where(near, x, 0), series), rule(safe))


def _bend_of_k(x: Tensor) -> Tensor:
    return _bend(x, _BEND_K,
                 lambda m: (0.25 * ellipk(m) - (1 - 2 * m) * slope_of_k(m)) / (m * (1 - m)))


def _bend_of_e(x: Tensor) -> Tensor:
    return _bend(x, _BEND_E, lambda m: (slope_of_e(m) + slope_of_k(m)) / (-2 * m))


ELLIPK = row("ellipk", lambda m, x: _means(m, x)[0], (lambda g, x: g * slope_of_k(x),), __name__,
             scipy="ellipk", wide_slopes=True)
ELLIPE = row("ellipe", lambda m, x: _means(m, x)[1], (lambda g, x: g * slope_of_e(x),), __name__,
             scipy="ellipe", wide_slopes=True)
SLOPE_OF_K = row("slope_of_ellipk", lambda m, x: _mean_slopes(m, x)[0],
                 (lambda g, x: g * _bend_of_k(x),), __name__, wide_slopes=True)
SLOPE_OF_E = row("slope_of_ellipe", lambda m, x: _mean_slopes(m, x)[1],
                 (lambda g, x: g * _bend_of_e(x),), __name__, wide_slopes=True)


# -- others -------------------------------------------------------------------------------------
def _polished(m: Any, x: Any, w: Any) -> Any:
    """Four steps of Halley's method on ``w - x * exp(-w) = 0`` (Corless et al., 1996)."""
    for _ in range(4):
        half = m.exp(-0.5 * w)
        rest = w - x * half * half
        w = w - rest / (w + 1.0 - (w + 2.0) * rest / (2.0 * w + 2.0))
    return w


def _branch_point(m: Any, x: Any, sign: float) -> Any:
    """The series around ``x = -1/e`` (their equation 4.22)."""
    # 1/e as the sum of two floats: x + 1/e cancels, so that the low part matters.
    p = sign * m.sqrt(m.maximum(2.0 * math.e * ((x + _INVERSE_E) + _INVERSE_E_REST), 0.0))
    return horner(p, _BRANCH), p


def _lambertw(m: Any, x: Any) -> Any:
    near, p = _branch_point(m, m.minimum(x, 0.0), 1.0)
    safe = m.maximum(m.minimum(x, 1.7e308), -0.3)
    first = m.log1p(safe)
    start = m.where(safe < 3.0, first * (1.0 - m.log1p(first) / (2.0 + first)),
                    m.log(m.maximum(safe, 2.0)) - m.log(m.log(m.maximum(safe, 2.0))))
    start = m.where(x < -0.25, near, start)
    found = _polished(m, x, m.where(m.equal(x, 0.0), 1.0, start))
    found = m.where(p < 0.003, m.where(x < -0.25, near, found), found)
    found = m.where(m.equal(x, 0.0), x, m.where(m.equal(x, math.inf), x, found))
    return m.where(x < -_INVERSE_E, math.nan, found)


def _lambertw_low(m: Any, x: Any) -> Any:
    near, p = _branch_point(m, m.minimum(x, 0.0), -1.0)
    safe = m.minimum(m.maximum(x, -0.36), -5e-324)
    first = m.log(-safe)
    second = m.log(-first)
    start = m.where(x < -0.25, near, first - second + second / first)
    found = _polished(m, x, start)
    found = m.where(p > -0.003, near, found)
    found = m.where(m.equal(x, 0.0), -math.inf, found)
    return m.where(m.logical_or(x < -_INVERSE_E, x > 0.0), math.nan, found)


_INVERSE_E, _INVERSE_E_REST = math.exp(-1), -1.2428753672788363e-17
#: Taylor coefficients of Lambert's W at its branch point -1/e, in powers of sqrt(2 (e x + 1)).
_BRANCH = (-1.0, 1.0, -1 / 3, 11 / 72, -43 / 540, 769 / 17280, -221 / 8505)


def _lambert_rule(g: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """By the exponential near 0, where the quotient ``y / x`` loses its digits, or is none."""
    near = magnitude(y) < 1
    ratio = where(near, exp(-where(near, y, 0)), y / where(near, 1, x))
    return g * (ratio / (1 + y))


EXPI = called("expi", (lambda g, x: safe_divide(g * exp(x), x),), __name__)
EXP1 = called("exp1", (lambda g, x: -safe_divide(g * exp(-x), x),), __name__)
SI = called("sici", (lambda g, x: g * sinc(x * (1 / math.pi)),), __name__, own="si", output=0)
CI = called("sici", (lambda g, x: safe_divide(g * cos(x), x),), __name__, own="ci", output=1)
LAMBERTW = row("lambertw", _lambertw, (_lambert_rule,), __name__, wide_slopes=True)
LAMBERTW_LOW = row("lambertw_low", _lambertw_low, (_lambert_rule,), __name__, wide_slopes=True)
OWENS_T = called("owens_t", (
    lambda g, a, b: g * (exp(square(a) * -0.5) * erf(a * b * math.sqrt(0.5))
                         * (-0.5 / math.sqrt(2 * math.pi))),
    lambda g, a, b: g * (exp(-0.5 * square(a) * (1 + b * b)) / (2 * math.pi * (1 + b * b))),
), __name__)

ellipk: Function = unary(
    ELLIPK, "Complete elliptic integral of the first kind, of the parameter ``m = k**2`` (DLMF "
    "19.2.8).", "[1.0]", "[inf]"
)
ellipe: Function = unary(
    ELLIPE, "Complete elliptic integral of the second kind, of the parameter ``m = k**2`` (DLMF "
    "19.2.8).", "[1.0]", "[1.]"
)
slope_of_k: Function = unary(SLOPE_OF_K)
slope_of_e: Function = unary(SLOPE_OF_E)
expi = unary(EXPI, "Exponential integral Ei: the principal value of the integral of ``exp(t) / "
    "t`` up to x (DLMF 6.2.5).", "[0.0]", "[-inf]")
exp1 = unary(EXP1, "Exponential integral E1: the integral of ``exp(-t) / t`` from x on (DLMF "
    "6.2.1).", "[0.0]", "[inf]")
owens_t = binary(OWENS_T, "Owen's T: ``1 / (2 * pi)`` times the integral of ``exp(-x1**2 * (1 + "
    "t**2) / 2) / (1 + t**2)`` from 0 to ``x2`` (Owen, 1956).", "[0.0], [0.0]", "[0.]")
_si, _ci = unary(SI), unary(CI)
_principal, _low = unary(LAMBERTW), unary(LAMBERTW_LOW)


@public
def sici(x: TensorLike, /) -> tuple[Tensor, Tensor]:
    """Sine and cosine integrals Si and Ci (DLMF 6.2.9, 6.2.13).

    :param x: Real numbers; integers become the default float dtype.
    :returns Si, Ci: Of the shape of ``x``; Ci of negative numbers is that of their absolute values.
    :raises DTypeError: For complex numbers.
    :see: special.shichi, special.fresnel, special.expi

    >>> ag.special.sici(ag.tensor([0.0]))
    (tensor([0.]), tensor([-inf]))
    """
    return _si(x), _ci(x)


@public
def lambertw(x: TensorLike, k: int = 0, /, *, out: Tensor | None = None) -> Tensor:
    """Real solution of ``w * exp(w) = x``: branch 0, or -1 for x in [-1/e, 0) (DLMF 4.13).

    :param x: Real numbers; integers become the default float dtype.
    :param k: Which branch.
    :returns: Of the shape of ``x``; NaN below -1/e, and on branch -1 above 0.
    :raises ValueError: For another branch.
    :raises DTypeError: For complex numbers.
    :see: special.wrightomega, exp

    >>> ag.special.lambertw(ag.tensor([0.0, ag.e]))
    tensor([0., 1.])
    """
    if k not in (0, -1):
        raise ValueError(f"branches 0 and -1 are real, not {k}")
    return _low(x) if k else _principal(x)
