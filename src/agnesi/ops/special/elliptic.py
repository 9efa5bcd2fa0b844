"""Incomplete elliptic integrals, Carlson's symmetric ones and Jacobi's functions.

SciPy computes them; derivatives follow Carlson's forms, which have no cancellation (DLMF 19.18,
19.25 and 22.13); second ones of Carlson's second integral are NaN where two arguments meet.
"""

from __future__ import annotations

import math

from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import public
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import abs as magnitude
from agnesi.ops.base.arith import safe_multiply, sqrt, square
from agnesi.ops.base.compare import logical_or
from agnesi.ops.base.elementwise import Function, Rule
from agnesi.ops.base.select import round as nearest
from agnesi.ops.base.select import where
from agnesi.ops.elementwise.explog import log
from agnesi.ops.elementwise.formula import no_slope, row, scipy_rows, scipys, several
from agnesi.ops.elementwise.trig import cos, sin
from agnesi.ops.special.carlson import slope_of_rd
from agnesi.ops.special.integrals import slope_of_e, slope_of_k

__all__ = [
    "agm", "ellipeinc", "ellipj", "ellipkinc", "ellipkm1", "elliprc", "elliprd", "elliprf",
    "elliprg", "elliprj",
]


_documented = scipy_rows(__name__)


# -- Carlson's integrals ------------------------------------------------------------------------
elliprf: Function = _documented(
    "elliprf", "Carlson's integral of the first kind R_F (DLMF 19.16.1).",
    "[1.0], [1.0], [1.0]", "[1.]",
    lambda g, a, b, c: g * elliprd(b, c, a) * (-1 / 6),
    lambda g, a, b, c: g * elliprd(c, a, b) * (-1 / 6),
    lambda g, a, b, c: g * elliprd(a, b, c) * (-1 / 6))


def _rc_slope(to_second: bool, g: Tensor, a: Tensor, b: Tensor, y: Tensor) -> Tensor:
    """The derivative of ``elliprc`` by one operand, of which the second may be negative."""
    below = b < 0  # where it is the principal value
    off, root = where(below, b - a, 1.0), sqrt(a)
    value = (root / b - y if to_second else y - 1 / root) / (2 * off)
    high = where(below, 1.0, b)
    carlson = elliprd(a, high, high) * (-1 / 3) if to_second else elliprd(high, high, a) * (-1 / 6)
    return g * where(below, value, carlson)


elliprc: Function = _documented(
    "elliprc", "Carlson's degenerate integral R_C (DLMF 19.2.17).", "[1.0], [1.0]", "[1.]",
    lambda g, a, b, y: _rc_slope(False, g, a, b, y), lambda g, a, b, y: _rc_slope(True, g, a, b, y))
def _rd_last(a: Tensor, b: Tensor, c: Tensor, y: Tensor) -> Tensor:
    """The derivative of ``y = elliprd(a, b, c)`` to ``c``, as it is homogeneous."""
    return -(1.5 * y + safe_multiply(a, _rd_slope(a, b, c))
             + safe_multiply(b, _rd_slope(b, a, c))) / c


elliprd: Function = _documented(
    "elliprd", "Carlson's integral of the second kind R_D (DLMF 19.16.5).",
    "[1.0], [1.0], [1.0]", "[1.]",
    lambda g, a, b, c: g * _rd_slope(a, b, c),
    lambda g, a, b, c: g * _rd_slope(b, a, c),
    lambda g, a, b, c, y: g * _rd_last(a, b, c, y))
#: Its derivatives are those of (elliprd(b, c, a) - elliprd(a, b, c)) / (2 (a - c)), which it is.
SLOPE_OF_RD = row("slope_of_elliprd", slope_of_rd, (
    lambda g, a, b, c, y: g * (_rd_last(b, c, a, elliprd(b, c, a)) - 3 * y) / (2 * (a - c)),
    lambda g, a, b, c: g * (_rd_slope(b, c, a) - _rd_slope(b, a, c)) / (2 * (a - c)),
    lambda g, a, b, c, y: g * (_rd_last(a, b, c, elliprd(a, b, c)) - 3 * y) / (2 * (c - a)),
), __name__, wide_slopes=True)
_rd_slope: Function = several(SLOPE_OF_RD)
elliprg: Function = _documented(
    "elliprg", "Carlson's completely symmetric integral of the second kind R_G (DLMF 19.16.3).",
    "[1.0], [1.0], [1.0]", "[1.]",
    lambda g, a, b, c: g * (elliprf(a, b, c) - a * elliprd(b, c, a) / 3) / 4,
    lambda g, a, b, c: g * (elliprf(a, b, c) - b * elliprd(c, a, b) / 3) / 4,
    lambda g, a, b, c: g * (elliprf(a, b, c) - c * elliprd(a, b, c) / 3) / 4)
elliprj: Function = _documented(
    "elliprj", "Carlson's integral of the third kind R_J (DLMF 19.16.2).",
    "[1.0], [1.0], [1.0], [1.0]", "[1.]",
    *(no_slope("elliprj", "its arguments"),) * 4)


# -- Legendre's integrals -----------------------------------------------------------------------
def _root(phi: Tensor, m: Tensor) -> Tensor:
    return sqrt(1 - m * square(sin(phi)))


def _reduced(phi: Tensor) -> tuple[Tensor, Tensor]:
    """An angle as twice a number of quarter periods, and the rest in [-pi/2, pi/2]."""
    half_periods = nearest(phi / math.pi)
    rest = phi - half_periods * math.pi
    return 2 * half_periods, where(magnitude(phi) <= 0.5 * math.pi, phi, rest)


def _difference(phi: Tensor, m: Tensor) -> Tensor:
    """``(F - E) / m``."""
    quarters, angle = _reduced(phi)
    s = sin(angle)
    carlson = s * square(s) * elliprd(square(cos(angle)), 1 - m * square(s), 1.0) / 3
    whole = where(quarters == 0, 0.0, -2 * slope_of_e(m))
    return carlson + quarters * whole


def _of_first(g: Tensor, a: Tensor, b: Tensor) -> Tensor:
    quarters, angle = _reduced(a)
    s = sin(angle)
    carlson = s * square(s) * elliprd(square(cos(angle)), 1.0, 1 - b * square(s)) / 6
    return g * (carlson + quarters * where(quarters == 0, 0.0, slope_of_k(b)))


ellipkinc: Function = _documented(
    "ellipkinc", "Incomplete elliptic integral of the first kind: angle ``x1``, parameter ``x2 = "
    "k**2`` (DLMF 19.2.4).",
    "[0.0], [0.5]", "[0.]", lambda g, a, b: g / _root(a, b), _of_first)
ellipeinc: Function = _documented(
    "ellipeinc", "Incomplete elliptic integral of the second kind: angle ``x1``, parameter ``x2 = "
    "k**2`` (DLMF 19.2.5).",
    "[0.0], [0.5]", "[0.]", lambda g, a, b: g * _root(a, b),
    lambda g, a, b: g * -0.5 * _difference(a, b))


def _of_rest(g: Tensor, x: Tensor) -> Tensor:
    near = magnitude(1 - x) < 0.5  # beyond it 1 - x loses digits
    return -g * where(near, slope_of_k(where(near, 1 - x, 0.0)),
                      elliprd(0.0, 1.0, where(near, 2.0, x)) / 6)


ellipkm1: Function = _documented(
    "ellipkm1", "``ellipk(1 - x)``, exact for small ``x``.", "[1.0]", "[1.5707964]", _of_rest)


# -- Jacobi's functions -------------------------------------------------------------------------
def _am_by_parameter(u: Tensor, m: Tensor) -> Tensor:
    """Derivative of the amplitude to the parameter."""
    sn, cn, dn, angle = ellipj(u, m)
    gap = _difference(angle, m)
    return dn * (gap - u + sn * cn / dn) / (2 * (1 - m))


def _part(i: int, *rules: Rule) -> Function:
    return scipys("ellipj", rules, __name__, own=f"ellipj_{i}", output=i)


_sn: Function = _part(0, lambda g, a, b: g * _cn(a, b) * _dn(a, b),
            lambda g, a, b: g * _cn(a, b) * _am_by_parameter(a, b))
_cn: Function = _part(1, lambda g, a, b: -g * _sn(a, b) * _dn(a, b),
            lambda g, a, b: -g * _sn(a, b) * _am_by_parameter(a, b))
_dn: Function = _part(2, lambda g, a, b: -g * b * _sn(a, b) * _cn(a, b),
            lambda g, a, b, y: -g * (0.5 * square(_sn(a, b))
                                     + b * _sn(a, b) * _cn(a, b) * _am_by_parameter(a, b)) / y)
_am: Function = _part(3, lambda g, a, b: g * _dn(a, b), lambda g, a, b: g * _am_by_parameter(a, b))


@public
def ellipj(u: TensorLike, m: TensorLike, /) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Jacobi's elliptic functions sn, cn, dn of parameter m, and the amplitude (DLMF 22.2).

    :param u: The argument.
    :param m: The parameter, in [0, 1]; both broadcast.
    :returns sn, cn, dn, ph: Of the broadcast shape, floating.
    :raises DTypeError: For complex numbers.
    :raises ShapeError: If the shapes do not broadcast.
    :see: special.ellipk, special.ellipkinc

    >>> ag.special.ellipj(ag.tensor([0.0]), 0.5)[1]
    tensor([1.])
    """
    return _sn(u, m), _cn(u, m), _dn(u, m), _am(u, m)


# -- the arithmetic-geometric mean --------------------------------------------------------------
def _of_mean(g: Tensor, a: Tensor, b: Tensor, y: Tensor) -> Tensor:
    """Derivative to ``a``, by the integral that the mean is (DLMF 19.8.4, 19.18.1 and 19.27.7)."""
    ratio = magnitude(b / a)
    low, high = ratio < _SMALL_RATIO, ratio > 1 / _SMALL_RATIO
    near = elliprd(0.0, square(where(logical_or(low, high), 1.0, ratio)), 1.0) / 3
    far = where(low, log(4 / where(low, ratio, 1.0)) - 1, 1 / where(high, ratio, 1.0))
    part = where(logical_or(low, high), far, near)
    return g * safe_multiply(y / a, y / a * part) * (2 / math.pi)


#: Ratios whose squares are nothing beside 1.
_SMALL_RATIO = 1e-10
agm: Function = _documented(
    "agm", "Arithmetic-geometric mean of ``x1`` and ``x2`` (DLMF 19.8.1).",
    "[1.0], [1.0]", "[1.]", _of_mean,
    lambda g, a, b, y: _of_mean(g, b, a, y))
