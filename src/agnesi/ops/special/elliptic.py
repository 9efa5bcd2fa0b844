"""Incomplete elliptic integrals, Carlson's symmetric ones and Jacobi's functions.

SciPy computes them; derivatives follow Carlson's forms, which have no cancellation (DLMF 19.18,
19.25 and 22.13), and are NaN where two arguments of a symmetric integral's derivative meet.
"""

from __future__ import annotations

import math
from typing import Any

from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import public
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import abs as magnitude
from agnesi.ops.base.arith import sqrt, square
from agnesi.ops.base.elementwise import Function, Rule
from agnesi.ops.base.select import where
from agnesi.ops.elementwise.formula import no_slope, scipy_rows, scipys
from agnesi.ops.elementwise.trig import cos, sin
from agnesi.ops.special.integrals import ellipe, ellipk, slope_of_k

__all__ = [
    "agm", "ellipeinc", "ellipj", "ellipkinc", "ellipkm1", "elliprc", "elliprd", "elliprf",
    "elliprg", "elliprj",
]


_documented = scipy_rows(__name__)


# -- Carlson's integrals ------------------------------------------------------------------------
elliprf: Function = _documented(
    "elliprf", "Carlson's integral of the first kind.", "[1.0], [1.0], [1.0]", "[1.]",
    lambda g, a, b, c: g * elliprd(b, c, a) * (-1 / 6),
    lambda g, a, b, c: g * elliprd(c, a, b) * (-1 / 6),
    lambda g, a, b, c: g * elliprd(a, b, c) * (-1 / 6))

#: ``elliprc(a, b) * sqrt(b)`` as a series in ``1 - a / b``, which is small where it is used.
_RC_SERIES = tuple(math.comb(2 * k, k) / (4.0**k * (2 * k + 1)) for k in range(14))
_RC_NEAR = 0.05


def _rc_slope(to_second: bool, g: Tensor, a: Tensor, b: Tensor, y: Tensor) -> Tensor:
    """The derivative of ``elliprc`` by one operand; near equal ones, at 0 / 0, a series."""
    near = magnitude(a - b) < _RC_NEAR * magnitude(b)
    off = where(near, 1.0, b - a)
    far = (sqrt(a) / b - y if to_second else y - 1 / sqrt(a)) / (2 * off)
    low, high = where(near, a, 1.0), where(near, b, 1.0)
    e = 1 - low / high
    value: Any = 0.0
    slope: Any = 0.0
    for c in reversed(_RC_SERIES):
        slope, value = slope * e + value, value * e + c
    close = low / high * slope - value / 2 if to_second else -slope
    return g * where(near, close / (high * sqrt(high)), far)


elliprc: Function = _documented(
    "elliprc", "Carlson's degenerate integral.", "[1.0], [1.0]", "[1.]",
    lambda g, a, b, y: _rc_slope(False, g, a, b, y), lambda g, a, b, y: _rc_slope(True, g, a, b, y))
elliprd: Function = _documented(
    "elliprd", "Carlson's integral of the second kind.", "[1.0], [1.0], [1.0]", "[1.]",
    lambda g, a, b, c, y: g * (elliprd(b, c, a) - y) / (2 * (a - c)),
    lambda g, a, b, c, y: g * (elliprd(c, a, b) - y) / (2 * (b - c)),
    lambda g, a, b, c, y: -g * (1.5 * y + a * (elliprd(b, c, a) - y) / (2 * (a - c))
                                + b * (elliprd(c, a, b) - y) / (2 * (b - c))) / c)
elliprg: Function = _documented(
    "elliprg", "Carlson's completely symmetric integral of the second kind.",
    "[1.0], [1.0], [1.0]", "[1.]",
    lambda g, a, b, c: g * (elliprf(a, b, c) - a * elliprd(b, c, a) / 3) / 4,
    lambda g, a, b, c: g * (elliprf(a, b, c) - b * elliprd(c, a, b) / 3) / 4,
    lambda g, a, b, c: g * (elliprf(a, b, c) - c * elliprd(a, b, c) / 3) / 4)
elliprj: Function = _documented(
    "elliprj", "Carlson's integral of the third kind.", "[1.0], [1.0], [1.0], [1.0]", "[1.]",
    *(no_slope("elliprj", "its arguments"),) * 4)


# -- Legendre's integrals -----------------------------------------------------------------------
def _root(phi: Tensor, m: Tensor) -> Tensor:
    return sqrt(1 - m * square(sin(phi)))


def _difference(phi: Tensor, m: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """``(F - E) / m``."""
    near = magnitude(phi) <= 0.5 * math.pi
    angle, safe = where(near, phi, 1.0), where(near, 1.0, m)
    s = sin(angle)
    carlson = s * square(s) * elliprd(square(cos(angle)), 1 - m * square(s), 1.0) / 3
    return where(near, carlson, (first - second) / safe)


def _of_first(g: Tensor, a: Tensor, b: Tensor, y: Tensor) -> Tensor:
    gap = _difference(a, b, y, ellipeinc(a, b))
    return g * ((y - gap) - sin(2 * a) / (2 * _root(a, b))) / (2 * (1 - b))


ellipkinc: Function = _documented(
    "ellipkinc", "Incomplete elliptic integral of the first kind: angle ``x1``, parameter ``x2``.",
    "[0.0], [0.5]", "[0.]", lambda g, a, b: g / _root(a, b), _of_first)
ellipeinc: Function = _documented(
    "ellipeinc", "Incomplete elliptic integral of the second kind: angle ``x1``, parameter ``x2``.",
    "[0.0], [0.5]", "[0.]", lambda g, a, b: g * _root(a, b),
    lambda g, a, b, y: g * -0.5 * _difference(a, b, ellipkinc(a, b), y))


def _of_rest(g: Tensor, x: Tensor, y: Tensor) -> Tensor:
    near = magnitude(1 - x) < 0.15
    safe = where(near, 0.5, x)
    found = (ellipe(1 - safe) - safe * ellipkm1(safe)) / (2 * (1 - safe) * safe)
    return -g * where(near, slope_of_k(where(near, 1 - x, 0.0)), found)


ellipkm1: Function = _documented(
    "ellipkm1", "``ellipk(1 - x)``, exact for small ``x``.", "[1.0]", "[1.5707964]", _of_rest)


# -- Jacobi's functions -------------------------------------------------------------------------
def _am_by_parameter(u: Tensor, m: Tensor) -> Tensor:
    """Derivative of the amplitude to the parameter."""
    sn, cn, dn, angle = ellipj(u, m)
    gap = _difference(angle, m, u, ellipeinc(angle, m))
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
    """Jacobi's elliptic functions sn, cn, dn of parameter ``m``, and the amplitude.

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
    """Derivative to ``a``, by the complete integral that the mean is (DLMF 19.8.5)."""
    total = a + b
    m = square((a - b) / total)
    return g * y / total * (1 - slope_of_k(m) / ellipk(m) * 4 * b * (a - b) / square(total))


agm: Function = _documented(
    "agm", "Arithmetic-geometric mean.", "[1.0], [1.0]", "[1.]", _of_mean,
    lambda g, a, b, y: _of_mean(g, b, a, y))
