"""NumPy's smaller functions of single numbers, written with others."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from agnesi.core.op import typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support import dtypes
from agnesi.core.support.errors import DTypeError
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import abs as magnitude
from agnesi.ops.base.arith import floor_divide, imag, multiply, power, remainder, subtract
from agnesi.ops.base.compare import (
    equal,
    greater,
    isfinite,
    isinf,
    less,
    logical_and,
    logical_not,
    not_equal,
)
from agnesi.ops.base.convert import as_tensor, cast, floating, pair
from agnesi.ops.base.elementwise import Binary, Elementwise, binary, with_methods
from agnesi.ops.base.select import copysign, floor, nextafter, trunc, where
from agnesi.ops.elementwise import bitwise
from agnesi.ops.elementwise.explog import exp2, log2, logaddexp
from agnesi.ops.elementwise.trig import sin

__all__ = [
    "bitwise_count", "deg2rad", "degrees", "divmod", "fix", "float_power", "frexp", "gcd",
    "heaviside", "iscomplex", "iscomplexobj", "isneginf", "isposinf", "isreal", "isrealobj",
    "isscalar", "lcm", "ldexp", "logaddexp2", "modf", "rad2deg", "radians", "sinc", "spacing",
]


def _real(x: Any, name: str) -> Tensor:
    x = floating(x)
    if x.dtype.kind == "c":
        raise DTypeError(f"{name} takes real numbers, not {typed(x)}")
    return x


# -- angles -------------------------------------------------------------------------------------
@planned
@public
def deg2rad(x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """Degrees as radians.

    :param x: Real numbers; integers become the default float dtype.
    :returns: Of the shape of ``x``.
    :raises DTypeError: For complex numbers.
    :see: rad2deg, angle, sin

    >>> ag.deg2rad(180.0)
    tensor(3.1415927)
    """
    return multiply(_real(x, "deg2rad"), math.pi / 180)


@planned
@public
def rad2deg(x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """Radians as degrees.

    :like: deg2rad
    :see: deg2rad, angle

    >>> ag.rad2deg(ag.tensor([0.0, ag.pi]))
    tensor([  0., 180.])
    """
    return multiply(_real(x, "rad2deg"), 180 / math.pi)


radians, degrees = deg2rad, rad2deg


#: sin(t) / t in powers of t^2: also for |t| near 1, where the slope's terms cancel.
_SINC = tuple((-1) ** k / math.factorial(2 * k + 1) for k in range(10))


@planned
@public
def sinc(x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """``sin(pi x) / (pi x)``, and 1 at 0, where derivatives are right too.

    :param x: Numbers; integers become the default float dtype.
    :returns: Of the shape of ``x``.
    :see: sin, special.spherical_jn

    >>> ag.sinc(ag.tensor([0.0, 1.5])).round(4)
    tensor([ 1.    , -0.2122])
    """
    t = multiply(floating(x), math.pi)
    near = less(magnitude(t), 1)
    safe = where(near, as_tensor(1, t.dtype), t)
    square = where(near, t * t, 0)
    series = square * _SINC[-1] + _SINC[-2]
    for c in _SINC[-3::-1]:
        series = series * square + c
    return where(near, series, sin(safe) / safe)


# -- exponents ----------------------------------------------------------------------------------
@with_methods
@planned
@public
def logaddexp2(x1: TensorLike, x2: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """``log2(2**x1 + 2**x2)`` without overflow.

    :param x1, x2: Real numbers; they broadcast.
    :returns: Of the broadcast shape, floating.
    :raises DTypeError: For complex numbers.
    :raises ShapeError: If the shapes do not broadcast.
    :see: logaddexp, logsumexp, exp2, log2

    >>> ag.logaddexp2(ag.tensor([3.0]), 3.0)
    tensor([4.])
    """
    a, b = pair(x1, x2)
    log_2 = math.log(2)
    return logaddexp(_real(a, "logaddexp2") * log_2, _real(b, "logaddexp2") * log_2) / log_2


@planned
@public
def float_power(x1: TensorLike, x2: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """``x1`` to the power of ``x2`` in double precision, of integers too.

    :param x1, x2: Base and exponent; they broadcast.
    :returns: float64 or complex128, of the broadcast shape.
    :raises ShapeError: If the shapes do not broadcast.
    :see: power, sqrt

    >>> ag.float_power(ag.tensor([2, 4]), -1)
    tensor([0.5 , 0.25], dtype=float64)
    """
    a, b = as_tensor(x1), as_tensor(x2)
    wide = dtypes.complex128 if "c" in (a.dtype.kind, b.dtype.kind) else dtypes.float64
    return power(as_tensor(x1, wide), as_tensor(x2, wide))


def _scaled(x: Tensor, exponent: Tensor) -> Tensor:
    """``x`` times a power of two, in steps that do not overflow on the way."""
    step = floor_divide(exponent, 4)
    last = subtract(exponent, step * 3)
    part = exp2(cast(step, x.dtype))
    return x * part * part * part * exp2(cast(last, x.dtype))


@planned
@public
def ldexp(x1: TensorLike, x2: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """``x1 * 2**x2`` for integers ``x2``, beyond the range of ``2**x2`` too.

    :param x1: Real numbers.
    :param x2: Exponents; they broadcast.  Floats are PyTorch's, and ``2**x2`` may be infinite.
    :returns: Of the broadcast shape and the dtype of ``x1``.
    :raises DTypeError: For complex numbers.
    :raises ShapeError: If the shapes do not broadcast.
    :see: frexp, exp2

    >>> ag.ldexp(ag.tensor([0.5, 3.0]), ag.tensor([2, -1]))
    tensor([2. , 1.5])
    """
    x, exponent = _real(x1, "ldexp"), as_tensor(x2)
    if exponent.dtype.kind in "fV":
        x, exponent = pair(x, x2)
        return multiply(x, exp2(exponent))
    if exponent.dtype.kind == "c":
        raise DTypeError(f"the exponent must be of real numbers, not {typed(exponent)}")
    most = 4 * np.finfo(x.dtype).maxexp
    limited = cast(exponent, dtypes.int64).clip(-most, most)
    return where(logical_and(not_equal(x, 0), isfinite(x)), _scaled(x, limited), x)


class Parted(NamedTuple):
    """Numbers as mantissas and powers of two."""

    mantissa: Tensor
    exponent: Tensor


@planned
@public
def frexp(x: TensorLike, /) -> Parted:
    """Mantissas in [1/2, 1) and exponents (int32): ``x = mantissa * 2**exponent``.

    :param x: Real numbers; integers become the default float dtype.
    :returns mantissa, exponent: Of the shape of ``x``; zeros, infinities and NaN are their own
        mantissas, with exponent 0.
    :raises DTypeError: For complex numbers.
    :see: ldexp, modf, log2

    >>> ag.frexp(ag.tensor([8.0, 0.75]))
    Parted(mantissa=tensor([0.5 , 0.75]), exponent=tensor([4, 0], dtype=int32))
    """
    x = _real(x, "frexp")
    plain = logical_and(not_equal(x, 0), isfinite(x))
    size = where(plain, magnitude(x), as_tensor(1, x.dtype))
    exponent = cast(floor(log2(size)), dtypes.int64) + 1
    mantissa = _scaled(x, -exponent)
    high, low = logical_not(less(magnitude(mantissa), 1)), less(magnitude(mantissa), 0.5)
    exponent = where(high, exponent + 1, where(low, exponent - 1, exponent))
    mantissa = where(high, mantissa * 0.5, where(low, mantissa * 2, mantissa))
    return Parted(where(plain, mantissa, x), cast(where(plain, exponent, 0), dtypes.int32))


@planned
@public
def spacing(x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """Distance to the next number that is further from zero, negative where ``x`` is.

    :param x: Real numbers; integers become the default float dtype.
    :returns: Of the shape of ``x``; NaN for infinities and NaN.
    :raises DTypeError: For complex numbers.
    :see: nextafter, finfo

    >>> ag.spacing(ag.tensor(1.0))
    tensor(1.1920929e-07)
    """
    x = _real(x, "spacing")
    size = magnitude(x)
    apart = nextafter(size, as_tensor(np.inf, x.dtype)) - size
    return where(less(x, 0), -apart, apart)


# -- parts --------------------------------------------------------------------------------------
@planned
@public
def modf(x: TensorLike, /) -> tuple[Tensor, Tensor]:
    """Return the fractional and the integral parts, both with the sign of ``x``.

    :param x: Real numbers; integers become the default float dtype.
    :returns fraction, whole: Of the shape of ``x``; the fraction of infinities is 0.
    :raises DTypeError: For complex numbers.
    :see: trunc, frexp, divmod

    >>> ag.modf(ag.tensor([1.25, -2.5]))
    (tensor([ 0.25, -0.5 ]), tensor([ 1., -2.]))
    """
    x = _real(x, "modf")
    whole = trunc(x)
    rest = where(isinf(x), as_tensor(0, x.dtype), subtract(x, whole))
    return copysign(rest, x), whole


@planned
@public
def divmod(x1: TensorLike, x2: TensorLike, /) -> tuple[Tensor, Tensor]:
    """``(x1 // x2, x1 % x2)``.

    :param x1, x2: Real numbers; they broadcast.
    :returns quotient, remainder: Of the broadcast shape and the promoted dtype.
    :raises ShapeError: If the shapes do not broadcast.
    :see: floor_divide, remainder

    >>> ag.divmod(ag.tensor([7, -7]), 3)
    (tensor([ 2, -3]), tensor([1, 2]))
    """
    return floor_divide(x1, x2), remainder(x1, x2)


fix = trunc


@planned
@public
def heaviside(x1: TensorLike, x2: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """0 for negative numbers, 1 for positive ones, ``x2`` for zero.

    :like: ldexp
    :param x2: The value at 0; they broadcast.
    :returns: Of the broadcast shape; NaN stays.
    :see: sign, where, relu

    >>> ag.heaviside(ag.tensor([-2.0, 0.0, 3.0]), 0.5)
    tensor([0. , 0.5, 1. ])
    """
    a, b = pair(x1, x2)
    x, middle = _real(a, "heaviside"), _real(b, "heaviside")
    there = where(equal(x, 0), middle, x)  # NaN stays
    return where(greater(x, 0), as_tensor(1, x.dtype), where(less(x, 0), 0, there))


# -- integers -----------------------------------------------------------------------------------
GCD = Elementwise("gcd", np.gcd, (None, None), kinds="iu", loop="numpy.gcd")
gcd: Binary = binary(
    GCD, "The greatest number that divides both; 0 of two zeros.", "[12, 7], [18, 14]", "[6, 7]"
)


@with_methods
@planned
@public
def lcm(x1: TensorLike, x2: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """The least number that both divide; 0 where one of them is 0.

    :param x1, x2: Integers; they broadcast.
    :returns: Not negative, of the broadcast shape and the promoted dtype.
    :raises DTypeError: For other dtypes.
    :raises ShapeError: If the shapes do not broadcast.
    :see: gcd

    >>> ag.lcm(ag.tensor([4, 7]), 6)
    tensor([12, 42])
    """
    a, b = pair(x1, x2)
    common = gcd(a, b)
    return magnitude(floor_divide(a, where(equal(common, 0), as_tensor(1, a.dtype), common)) * b)


@planned
@public
def bitwise_count(x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """How many bits of each integer (of its absolute value) are set, as uint8.

    :param x: Integers.
    :returns: uint8, of the shape of ``x``.
    :raises DTypeError: For other dtypes.
    :see: bitwise_and, packbits

    >>> ag.bitwise_count(ag.tensor([7, -8]))
    tensor([3, 1], dtype=uint8)
    """
    x = as_tensor(x)
    if x.dtype.kind not in "iu":
        raise DTypeError(f"bitwise_count takes integers, not {typed(x)}")
    bits = cast(magnitude(x), np.dtype(f"u{x.dtype.itemsize}"))
    return cast(_population(cast(bits, dtypes.uint64)), dtypes.uint8)


def _population(x: Tensor) -> Tensor:
    """Sums of neighbouring bits, pairs, fours, bytes: Wilkes, Wheeler and Gill (1957)."""
    every = (1 << 64) - 1

    def right(v: Tensor, n: int) -> Tensor:
        return bitwise.bitwise_right_shift(v, as_tensor(n, dtypes.uint64))

    def of(v: Tensor, mask: int) -> Tensor:
        return bitwise.bitwise_and(v, as_tensor(mask, dtypes.uint64))

    x = x - of(right(x, 1), every // 3)
    x = of(x, every // 5) + of(right(x, 2), every // 5)
    x = of(x + right(x, 4), every // 17)
    return right(x * as_tensor(every // 255, dtypes.uint64), 56)


# -- questions ----------------------------------------------------------------------------------
@planned
@public
def isposinf(x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """Return whether each element is positive infinity.

    :param x: Real numbers.
    :returns: bool, of the shape of ``x``.
    :raises DTypeError: For complex numbers.
    :see: isneginf, isinf

    >>> ag.isposinf(ag.tensor([ag.inf, -ag.inf]))
    tensor([ True, False])
    """
    return equal(_real(x, "isposinf"), math.inf)


@planned
@public
def isneginf(x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """Return whether each element is negative infinity.

    :like: isposinf
    :see: isposinf, isinf

    >>> ag.isneginf(ag.tensor([ag.inf, -ag.inf]))
    tensor([False,  True])
    """
    return equal(_real(x, "isneginf"), -math.inf)


@planned
@public
def isreal(x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """Return whether the imaginary part of each element is zero.

    :param x: Of any shape and dtype.
    :returns: bool, of the shape of ``x``.
    :see: iscomplex, isrealobj, real

    >>> ag.isreal(ag.tensor([1 + 0j, 2j]))
    tensor([ True, False])
    """
    return equal(imag(x), 0)


@planned
@public
def iscomplex(x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """Return whether the imaginary part of each element is not zero.

    :param x: Of any shape and dtype.
    :returns: bool, of the shape of ``x``.
    :see: isreal, iscomplexobj, imag

    >>> ag.iscomplex(ag.tensor([1 + 0j, 2j]))
    tensor([False,  True])
    """
    return not_equal(imag(x), 0)


@public
def iscomplexobj(x: TensorLike, /) -> bool:
    """Return whether the dtype is complex.

    :param x: A tensor, array or number.
    :returns: By the dtype alone.
    :see: isrealobj, iscomplex, isdtype

    >>> ag.iscomplexobj(ag.tensor([1j]))
    True
    """
    return as_tensor(x).dtype.kind == "c"


@public
def isrealobj(x: TensorLike, /) -> bool:
    """Return whether the dtype is not complex.

    :param x: A tensor, array or number.
    :returns: By the dtype alone.
    :see: iscomplexobj, isreal

    >>> ag.isrealobj(ag.ones(2))
    True
    """
    return as_tensor(x).dtype.kind != "c"


@public
def isscalar(x: TensorLike, /) -> bool:
    """Return whether ``x`` is a number of Python or NumPy; tensors are not.

    :param x: Anything.
    :type x: object
    :returns: False for a tensor without axes, too.
    :see: ndim, iterable

    >>> ag.isscalar(2.5), ag.isscalar(ag.tensor(2.5))
    (True, False)
    """
    return bool(np.isscalar(x))
