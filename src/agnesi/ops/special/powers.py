"""Power transforms, angles in degrees, and small functions of scipy.special."""

from __future__ import annotations

import math
from typing import Any

from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import abs as magnitude
from agnesi.ops.base.arith import safe_multiply, square
from agnesi.ops.base.compare import logical_and
from agnesi.ops.base.convert import as_tensor, cast, pair
from agnesi.ops.base.elementwise import Function, flat
from agnesi.ops.base.select import floor, where
from agnesi.ops.elementwise.explog import exp, log, log1p
from agnesi.ops.elementwise.formula import (
    binary,
    horner,
    no_slope,
    row,
    scipy_rows,
    several,
    unary,
)
from agnesi.ops.elementwise.trig import cos, sin
from agnesi.ops.special.gammas import binom, factorial, gamma, poch
from agnesi.ops.special.incomplete import (
    beta_density,
    betainc_da,
    betainc_db,
    gamma_density,
    gammainc_da,
)

__all__ = [
    "betaincc", "betainccinv", "boxcox", "boxcox1p", "comb", "cosdg", "cosm1", "cotdg", "diric",
    "exp10", "factorial2", "factorialk", "gammainccinv", "gammasgn", "inv_boxcox",
    "inv_boxcox1p", "perm", "powm1", "radian", "sindg", "tandg", "wrightomega", "zetac",
]


_documented = scipy_rows(__name__)


# -- Box and Cox --------------------------------------------------------------------------------
#: Up to which number ``exp`` is finite, the greatest one, and what is small beside 1.
_MOST_EXPONENT, _GREATEST, _LINEAR_BELOW = 709.78, 1.79e308, 1e-19


def _boxed(m: Any, logarithm: Any, p: Any) -> Any:
    """``expm1(p * log(x)) / p``, the logarithm itself where that is small, and by logarithms where
    the exponential is too large though its quotient is not."""
    zero = m.equal(p, 0.0)
    t, safe = m.where(zero, 0.0, p * logarithm), m.where(zero, 1.0, p)
    far = m.exp(t - m.log(m.abs(safe))) * m.where(m.less(p, 0.0), -1.0, 1.0) - 1.0 / safe
    quotient = m.where(m.greater(t, _MOST_EXPONENT), far, m.expm1(t) / safe)
    return m.where(m.less(m.abs(t), _LINEAR_BELOW), logarithm, quotient)


def _unboxed(m: Any, y: Any, p: Any) -> Any:
    """``log1p(p * y) / p``, the logarithm of what :func:`_boxed` was given."""
    zero = m.equal(p, 0.0)
    t, safe = m.where(zero, 0.0, p * y), m.where(zero, 1.0, p)
    far = m.log(m.abs(y + 1.0 / safe)) + m.log(m.abs(safe))
    quotient = m.where(m.greater(t, _GREATEST), far, m.log1p(t)) / safe
    return m.where(m.less(m.abs(t), _LINEAR_BELOW), y, quotient)


#: ``((t - 1) e^t + 1) / t^2`` and ``(t / (1 + t) - log(1 + t)) / t^2`` around 0.
_GROWTH = [(k - 1) / math.factorial(k) for k in range(2, 22)]
_DECAY = [(-1.0) ** (k + 1) * (k - 1) / k for k in range(2, 34)]


def _grown(t: Tensor) -> Tensor:
    near = magnitude(t) < 1
    safe = where(near, 1.0, t)
    return where(near, horner(where(near, t, 0.0), _GROWTH),
                 ((safe - 1) * exp(safe) + 1) / square(safe))


def _decayed(t: Tensor) -> Tensor:
    near = magnitude(t) < 0.3
    safe = where(near, 1.0, t)
    return where(near, horner(where(near, t, 0.0), _DECAY),
                 (safe / (1 + safe) - log1p(safe)) / square(safe))


BOXCOX = row("boxcox", lambda m, x, p: _boxed(m, m.log(x), p), (
    lambda g, a, b: g * exp((b - 1) * log(a)),
    lambda g, a, b: g * square(log(a)) * _grown(b * log(a))),
    __name__, scipy="boxcox", wide_slopes=True)
BOXCOX1P = row("boxcox1p", lambda m, x, p: _boxed(m, m.log1p(x), p), (
    lambda g, a, b: g * exp((b - 1) * log1p(a)),
    lambda g, a, b: g * square(log1p(a)) * _grown(b * log1p(a))),
    __name__, scipy="boxcox1p", wide_slopes=True)
INV_BOXCOX = row("inv_boxcox", lambda m, x, p: m.exp(_unboxed(m, x, p)), (
    lambda g, a, b, y: g * y / (1 + a * b),
    lambda g, a, b, y: g * y * square(a) * _decayed(a * b)), __name__, wide_slopes=True)
INV_BOXCOX1P = row("inv_boxcox1p", lambda m, x, p: m.expm1(_unboxed(m, x, p)), (
    lambda g, a, b, y: g * (y + 1) / (1 + a * b),
    lambda g, a, b, y: g * (y + 1) * square(a) * _decayed(a * b)), __name__, wide_slopes=True)
boxcox: Function = binary(
    BOXCOX, "Box and Cox's transform, ``(x1**x2 - 1) / x2``, or ``log(x1)`` for ``x2 = 0``.",
    "[1.0], [2.0]", "[0.]")
boxcox1p: Function = binary(
    BOXCOX1P, "Box and Cox's transform of ``1 + x1``.", "[1.0], [1.0]", "[1.]")
inv_boxcox: Function = binary(INV_BOXCOX, "Inverse of :func:`boxcox`.", "[0.0], [2.0]", "[1.]")
inv_boxcox1p: Function = binary(
    INV_BOXCOX1P, "Inverse of :func:`boxcox1p`.", "[1.0], [1.0]", "[1.]")

# -- powers and angles --------------------------------------------------------------------------
EXP10 = row("exp10", lambda m, x: m.power(10.0, x), (lambda g, y: g * y * math.log(10),), __name__,
            scipy="exp10")
COSM1 = row("cosm1", lambda m, x: 0.0 - 2.0 * m.sin(0.5 * x) * m.sin(0.5 * x),
            (lambda g, x: -g * sin(x),), __name__)  # SciPy's is exact for small x only
RADIAN = row("radian", lambda m, d, t, s: (d + t / 60.0 + s / 3600.0) * (math.pi / 180.0), (
    lambda g: g * (math.pi / 180), lambda g: g * (math.pi / 10800),
    lambda g: g * (math.pi / 648000)), __name__, scipy="radian")
exp10: Function = unary(EXP10, "``10**x``.", "[2.0]", "[100.]")
cosm1: Function = unary(COSM1, "``cos(x) - 1``, exact for small ``x``.", "[0.0]", "[0.]")
radian: Function = several(
    RADIAN, "Radians of ``x1`` degrees, ``x2`` minutes and ``x3`` seconds.",
    "[180.0], [0.0], [0.0]", "[3.1415927]")
_DEGREE = math.pi / 180
sindg: Function = _documented("sindg", "Sine of an angle in degrees.", "[90.0]", "[1.]",
                        lambda g, x: g * cosdg(x) * _DEGREE)
cosdg: Function = _documented("cosdg", "Cosine of an angle in degrees.", "[60.0]", "[0.5]",
                        lambda g, x: -g * sindg(x) * _DEGREE)
tandg: Function = _documented("tandg", "Tangent of an angle in degrees.", "[45.0]", "[1.]",
                        lambda g, y: g * (1 + square(y)) * _DEGREE)
_cotdg = _documented("cotdg", "", "", "", lambda g, y: -g * (1 + square(y)) * _DEGREE)


@public
def cotdg(x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """Cotangent of an angle in degrees.

    :param x: Real numbers; integers become the default float dtype.
    :returns: Of the shape of ``x``; infinity at all poles.
    :raises DTypeError: For complex numbers.
    :see: special.tandg, special.sindg

    >>> ag.special.cotdg(ag.tensor([45.0]))
    tensor([1.])
    """
    t = tandg(x)
    near = logical_and(t != 0, magnitude(t) < 1)
    small = tandg(where(near, x, 45))
    return where(near, 1 / small, _cotdg(where(near, 45, x)))  # which has the digits of 90 - x


powm1: Function = _documented(
    "powm1", "``x1**x2 - 1``, exact where the power is near 1.", "[1.0], [2.0]", "[0.]",
    lambda g, a, b: g * safe_multiply(b, a ** (b - 1)),
    lambda g, a, y: g * (y + 1) * log(a))

# -- inverses and complements -------------------------------------------------------------------
betaincc: Function = _documented(
    "betaincc", "``1 - betainc(x1, x2, x3)``, exact in the tail.", "[1.0], [1.0], [0.25]", "[0.75]",
    lambda g, a, b, c: -g * betainc_da(a, b, c), lambda g, a, b, c: -g * betainc_db(a, b, c),
    lambda g, a, b, c: -g * beta_density(a, b, c))
betainccinv: Function = _documented(
    "betainccinv", "Where :func:`betaincc` is ``x3``.", "[1.0], [1.0], [0.25]", "[0.75]",
    lambda g, a, b, y: -g * betainc_da(a, b, y) / beta_density(a, b, y),
    lambda g, a, b, y: -g * betainc_db(a, b, y) / beta_density(a, b, y),
    lambda g, a, b, y: -g / beta_density(a, b, y))
gammainccinv: Function = _documented(
    "gammainccinv", "Where :func:`gammaincc` of shape ``x1`` is ``x2``.", "[1.0], [1.0]", "[0.]",
    lambda g, a, y: -g * gammainc_da(a, y) / gamma_density(a, y),
    lambda g, a, y: -g / gamma_density(a, y))
wrightomega: Function = _documented(
    "wrightomega", "Wright's omega function of real numbers: ``lambertw(exp(x))``.", "[1.0]",
    "[1.]",
    lambda g, y: g * y / (1 + y))
zetac: Function = _documented("zetac", "Riemann's zeta function minus 1.", "[0.0]", "[-1.5]",
                        no_slope("zetac", "its operand"))
gammasgn: Function = _documented("gammasgn", "Sign of the gamma function.", "[-0.5]", "[-1.]", flat)


# -- numbers of choices -------------------------------------------------------------------------
@planned
@public
def comb(N: TensorLike, k: TensorLike, *, exact: bool = False, repetition: bool = False,
         out: Tensor | None = None) -> Tensor:
    """Number of ways to choose ``k`` of ``N``, also with repetition; 0 where there are none.

    ``exact`` rounds to whole numbers.

    :param N, k: They broadcast; integers are taken as float64.
    :param exact: Whether to round to whole numbers.
    :param repetition: Whether the same may be chosen again.
    :returns: Of the broadcast shape, floating.
    :raises ShapeError: If the shapes do not broadcast.
    :see: special.perm, special.binom, special.factorial

    >>> ag.special.comb(ag.tensor([5.0]), 2)
    tensor([10.])
    """
    n, k = _pair(N, k)
    if repetition:
        n = n + k - 1
    found = where((k < 0) | (n < 0) | (k > n), 0.0, binom(n, k))
    return floor(found + 0.5) if exact else found


@planned
@public
def perm(N: TensorLike, k: TensorLike, *, exact: bool = False, out: Tensor | None = None) -> Tensor:
    """Number of ordered choices of ``k`` of ``N``; 0 where there are none.

    ``exact`` rounds to whole numbers.

    :like: comb
    :see: special.comb, special.poch, special.factorial

    >>> ag.special.perm(ag.tensor([5.0]), 2)
    tensor([20.])
    """
    n, k = _pair(N, k)
    none = (k < 0) | (n < 0) | (k > n)
    found = where(none, 0.0, poch(where(none, 1.0, n - k + 1), k))
    return floor(found + 0.5) if exact else found


def _pair(n: Any, k: Any) -> tuple[Tensor, Tensor]:
    a, b = pair(n, k)
    if a.dtype.kind in "biu":
        a, b = (cast(v, exp(v).dtype) for v in (a, b))
    return a, b


@public
def factorial2(n: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Double factorial ``n * (n - 2) * ...`` of whole numbers; 0 for negative ones.

    :param n: Of any shape; integers are taken as float64.
    :returns: Of the shape of ``n``, floating.
    :see: special.factorial, special.factorialk

    >>> ag.special.factorial2(ag.tensor([7.0]))
    tensor([105.])
    """
    return factorialk(n, 2)


@public
def factorialk(n: TensorLike, k: int, *, out: Tensor | None = None) -> Tensor:
    """Factorial of steps ``k``, ``n * (n - k) * ...``, of whole numbers; 0 for negative ones.

    :param n: Of any shape; integers are taken as float64.
    :param k: The step; positive.
    :returns: Of the shape of ``n``, floating.
    :raises ValueError: If ``k`` is not positive.
    :see: special.factorial, special.factorial2

    >>> ag.special.factorialk(ag.tensor([7.0]), 3)
    tensor([28.])
    """
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    if k == 1:
        return factorial(n)
    n, _ = _pair(n, 1.0)
    last = n - k * floor((n - 1) / k)  # the least factor, from 1 to k
    steps = (n - last) / k
    found = where(n <= 0, 1.0, last * k**steps * gamma(steps + last / k + 1) / gamma(last / k + 1))
    return where(n < 0, 0.0, floor(found + 0.5))


@public
def diric(x: TensorLike, n: int, *, out: Tensor | None = None) -> Tensor:
    """Periodic sinc function, ``sin(n * x / 2) / (n * sin(x / 2))``.

    :param x: Angles in radians.
    :param n: How many periods; positive.
    :returns: Of the shape of ``x``.
    :see: sinc

    >>> ag.special.diric(ag.tensor([0.0]), 4)
    tensor([1.])
    """
    x = as_tensor(x)
    half = x * 0.5
    cycles = floor(half / math.pi + 0.5)
    pole = magnitude(sin(half)) < 1e-9
    safe = where(pole, 1.0, half)
    return where(pole, cos(math.pi * (n - 1) * cycles), sin(n * safe) / (n * sin(safe)))
