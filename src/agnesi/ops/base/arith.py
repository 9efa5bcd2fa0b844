"""Arithmetic: the rows behind Python's operators, and their kin."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.core.ir import loops
from agnesi.core.keywords import NEEDED, operands_of, shown_as, strict, with_out
from agnesi.core.op import explain
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import explain_errors, into, planned, public
from agnesi.core.storage import memory
from agnesi.core.storage.views import share
from agnesi.core.support import dtypes
from agnesi.core.support.tracing import current_trace, is_tracing
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.elementwise import Binary, Elementwise, binary, call, flat, unary, with_methods
from agnesi.ops.base.expand import BroadcastTo, broadcast_to


# -- products in which a zero on the left wins --------------------------------------------------
def _zero_wins(function: Callable[..., Any]) -> Callable[..., np.ndarray]:
    def perform(g: np.ndarray, by: np.ndarray) -> np.ndarray:
        result = np.asarray(function(g, by))
        is_nan = result != result
        if is_nan.any():
            result[is_nan & np.equal(g, 0)] = 0
        return result

    return perform


def _guarded(name: str) -> Callable[..., loops.Expr]:
    def expand(g: loops.Expr, by: loops.Expr) -> loops.Expr:
        return loops.where(g.eq(0), 0, loops.call(name, g, by))

    return expand


#: Cotangent times derivative, where the derivative may be infinite: zero times anything is zero.
SAFE_MULTIPLY = Elementwise(
    "safe_multiply", _zero_wins(np.multiply),
    (lambda g, b: safe_multiply(g, b), lambda g, a: safe_multiply(g, a)),
    kinds="fc", expand=_guarded("multiply"),
)
#: The same, divided by something that may be zero.
SAFE_DIVIDE = Elementwise(
    "safe_divide", _zero_wins(np.divide),
    (lambda g, b: safe_divide(g, b), lambda g, b, y: -safe_divide(safe_multiply(g, y), b)),
    kinds="fc", expand=_guarded("divide"),
)
safe_multiply: Binary = binary(SAFE_MULTIPLY)
safe_divide: Binary = binary(SAFE_DIVIDE)


# -- rows ---------------------------------------------------------------------------------------
ADD = Elementwise("add", np.add, (lambda g: g, lambda g: g))
SUBTRACT = Elementwise("subtract", np.subtract, (lambda g: g, lambda g: -g), kinds="iufc")
MULTIPLY = Elementwise("multiply", np.multiply, (lambda g, b: g * b, lambda g, a: g * a))
DIVIDE = Elementwise(
    "divide", np.divide,
    (lambda g, b: safe_divide(g, b), lambda g, b, y: -safe_divide(safe_multiply(g, y), b)),
    kinds="fc",
)
FLOOR_DIVIDE = Elementwise("floor_divide", np.floor_divide, (flat, flat), kinds="iuf",
                           numpy="unvectorized")
REMAINDER = Elementwise(
    "remainder", np.remainder, (lambda g: g, lambda g, a, b: -g * floor_divide(a, b)), kinds="iuf",
    numpy="unvectorized"
)
FMOD = Elementwise(
    "fmod", np.fmod, (lambda g: g, lambda g, a, b, y: -g * ((a - y) / b)), kinds="iuf",
    numpy="unvectorized"
)
#: The error for integers raised to negative powers.
NO_NEGATIVE_POWERS = "whole numbers have no negative powers: convert one to a float"


#: Exponents for which powers of floats are products, as in compiled code.
_AS_PRODUCTS = frozenset((3, 4, -2))


def _powers(a: np.ndarray, b: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
    """Powers; those by small whole numbers are products, as in compiled code."""
    if b.ndim == 0 and a.dtype.char in "fd" and (n := float(b)) in _AS_PRODUCTS:
        over = out is not None and np.may_share_memory(a, out)  # in place
        squares = np.multiply(a, a, out=memory.empty(a.shape, a.dtype) if over else out)
        if n == -2:
            return np.reciprocal(squares, out=out)
        return np.multiply(squares, a if n == 3 else squares, out=out)
    return np.power(a, b) if out is None else np.power(a, b, out=out)


def _power_to_base(g: Any, a: Any, b: Any) -> Tensor:
    return safe_multiply(g * b, power(a, b - 1))


POWER = Elementwise(
    "power", _powers,
    (
        _power_to_base,
        lambda g, a, y: safe_multiply(g, safe_multiply(y, _log_of_base(a))),
    ),
    kinds="iufc", writer=_powers,
)
NEGATIVE = Elementwise("negative", np.negative, (lambda g: -g,), kinds="iufc")
POSITIVE = Elementwise("positive", np.positive, (lambda g: g,), kinds="iufc", expand=lambda x: x,
                       numpy="branching")
ABS = Elementwise(
    "abs", np.abs, (lambda g, x, y: _abs_rule(g, x, y),), result="real", kinds="biufc"
)
SIGN = Elementwise("sign", np.sign, (flat,), kinds="iuf", numpy="branching")
SQUARE = Elementwise("square", np.square, (lambda g, x: g * (x + x),), kinds="iufc")
SQRT = Elementwise("sqrt", np.sqrt, (lambda g, y: safe_divide(g, y + y),), kinds="fc",
                   numpy="branching")
RSQRT = Elementwise(
    "rsqrt", lambda x: 1 / np.sqrt(x), (lambda g, y: safe_multiply(g, y * y * y) * -0.5,),
    kinds="fc",
)
RECIPROCAL = Elementwise(
    "reciprocal", np.reciprocal, (lambda g, y: -safe_multiply(g, y * y),), kinds="fc",
    numpy="branching"
)
CBRT = Elementwise("cbrt", np.cbrt, (lambda g, y: safe_divide(g, y * y * 3),), kinds="f")


def _log_of_base(a: Tensor) -> Tensor:
    """log(a), with 0 for a = 0: the derivative of 0**b to b is taken as 0, also at b = 0."""
    logarithm: Tensor = a.masked_fill(a == 0, 1).log()
    return logarithm


def _abs_rule(g: Tensor, x: Tensor, y: Tensor) -> Tensor:
    if x.dtype.kind != "c":
        return g * sign(x)
    return safe_divide(g * x.conj(), as_tensor(y, x.dtype))


add = binary(ADD, "Sum of two tensors, element by element.", "[1, 2], [10, 20]", "[11, 22]")
subtract = binary(
    SUBTRACT, "Difference of two tensors, element by element.", "[1, 2], [10, 20]", "[ -9, -18]"
)
multiply = binary(
    MULTIPLY, "Product of two tensors, element by element.", "[1, 2], [10, 20]", "[10, 40]"
)
divide = binary(
    DIVIDE, "Quotient of two tensors, element by element; integers are divided as floats.",
    "[1, 6], [2, 4]", "[0.5, 1.5]",
)


floor_divide: Binary = binary(
    FLOOR_DIVIDE, "Quotient rounded down to a whole number; of infinities NaN, as Python's.",
    "[7, -7], 2", "[ 3, -4]"
)
remainder = binary(
    REMAINDER, "What division leaves, with the sign of the divisor, as Python's ``%``.",
    "[7, -7], 3", "[1, 2]",
)
fmod = binary(
    FMOD, "What division leaves, with the sign of the dividend, as C's ``fmod``.",
    "[7, -7], 3", "[ 1, -1]",
)
negative = unary(NEGATIVE, "Each element with the other sign.", "[1, -2]", "[-1, 2]")
positive = unary(POSITIVE, "Each element as it is.", "[1, -2]", "[ 1, -2]")
abs = unary(ABS, "Absolute value; of complex numbers the modulus.", "[1, -2]", "[1, 2]")
square = unary(SQUARE, "Each element times itself.", "[1, -2, 3]", "[1, 4, 9]")
sqrt = unary(SQRT, "Square root; NaN for negative numbers.", "[4.0, 9.0]", "[2., 3.]")
rsqrt = unary(RSQRT, "One over the square root.", "[4.0, 0.25]", "[0.5, 2. ]")
reciprocal = unary(RECIPROCAL, "One over each element.", "[2.0, 0.25]", "[0.5, 4. ]")
cbrt = unary(CBRT, "Cube root, also of negative numbers.", "[1.0, -1.0]", "[ 1., -1.]")
_power = binary(POWER)
_sign = unary(SIGN)


@with_out
@shown_as("x1", "x2")
def power(input: TensorLike = NEEDED, exponent: TensorLike = NEEDED, /, *more: Any, **keywords: Any
          ) -> Tensor:
    """``x1`` to the power of ``x2``, elementwise; constant exponents 2, 1/2 and -1 are cheap.

    Integers to a negative integer power are an error, as in NumPy.  The derivative to ``x2`` is
    taken as 0 where ``x1`` is 0.

    :param x1, x2: Base and exponent; they broadcast.
    :type x1, x2: array_like
    :returns: Of the broadcast shape and the promoted dtype; NaN for a negative real base with a
        fractional exponent.
    :raises ValueError: For integers to a negative integer power.
    :raises ShapeError: If the shapes do not broadcast.
    :see: float_power, square, sqrt, exp, linalg.matrix_power

    >>> ag.power(ag.tensor([1.0, 2.0, 3.0]), 2)
    tensor([1., 4., 9.])
    """
    out = None
    if more or keywords or exponent is NEEDED:
        (input, exponent), out = operands_of("power", ("input", "exponent"),
                                             (input, exponent, *more), keywords)
    if type(exponent) in (int, float) and type(input) is Tensor and not input.weak:
        kind = input.dtype.kind
        if exponent == 2 and kind in "fcV":
            return square(input) if out is None else square(input, out=out)
        if exponent == 2 and kind in "iu" and type(exponent) is int:
            return square(input, out=out)
        if exponent == 0.5 and kind in "fcV":
            return sqrt(input, out=out)
        if exponent == -1 and kind in "fcV":
            return reciprocal(input, out=out)
        if type(exponent) is int and exponent < 0 and kind in "iu":
            raise explain(ValueError(NO_NEGATIVE_POWERS), "power", (input, exponent))
    return _power(input, exponent) if out is None else _power(input, exponent, out=out)


with_methods(power)


pow = power


@strict
@shown_as("x")
def sign(input: TensorLike, out: Tensor | None = None) -> Tensor:
    """-1, 0 or 1 by the sign of each element; ``x / abs(x)`` for complex numbers.

    :returns: Of the shape and dtype of ``x``; NaN for NaN, 0 for -0.0. Its gradient is 0.
    :see: signbit, copysign, abs

    >>> ag.sign(ag.tensor([-2.0, 0.0, 5.0]))
    tensor([-1.,  0.,  1.])
    """
    if type(input) is not Tensor or input.dtype.kind != "c":
        if getattr(input, "dtype", None) != dtypes.bool_:
            return _sign(input) if out is None else _sign(input, out=out)
        result = cast(_sign(input), dtypes.bool_)
        return result if out is None else into(out, result)
    result = _direction(input)
    return result if out is None else into(out, result)


def _direction(x: Tensor) -> Tensor:
    """``x / abs(x)``, 0 for 0; of infinite numbers that of the part which is infinite, NaN if both
    are."""
    size = abs(x)
    odd = (size == math.inf) | (size == 0)
    a, b = (_sign(p).masked_fill(abs(p) != math.inf, 0) for p in (real(x), imag(x)))
    end = cast(a, x.dtype) + cast(b, x.dtype) * 1j
    end = end.masked_fill(a * b != 0, complex(math.nan, math.nan))
    x, size = x.masked_fill(odd, 1), size.masked_fill(odd, 1)
    x = (x * 2.0**60).where(size < 1, x)  # of the least numbers the reciprocal is infinite
    return end.where(odd, safe_divide(x, as_tensor(abs(x), x.dtype)))


# -- complex numbers ----------------------------------------------------------------------------
CONJ = Elementwise("conj", np.conj, (lambda g: conj(g),), kinds="c")
REAL = Elementwise("real", lambda x: x.real.copy(), (lambda g: g,), result="real", kinds="c")
IMAG = Elementwise("imag", lambda x: x.imag.copy(), (lambda g: g * -1j,), result="real", kinds="c")
ANGLE = Elementwise(
    "angle", np.angle, (lambda g, x: safe_divide(g * -1j, x),), result="real", kinds="c"
)


@planned
@explain_errors
def conj(x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """Complex conjugate; real tensors as they are.

    :param x: Of any shape and dtype.
    :returns: Of the shape and dtype of ``x``.
    :see: real, imag, angle, linalg.matrix_transpose

    >>> ag.conj(ag.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    x = as_tensor(x)
    if x.dtype.kind == "c":
        return call(CONJ, (x,), out)
    return x if out is None else into(out, x)


def conjugate(x: Tensor) -> Tensor:
    """The factor that belongs to a derivative: ``conj`` for rules."""
    return conj(x) if x.dtype.kind == "c" else x


@planned
@explain_errors
def real(x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """Real part, as a copy (:func:`view_as_real` looks into a tensor); real tensors as they are.

    :param x: Of any shape and dtype.
    :returns: Of the shape of ``x``: float32 of complex64, float64 of complex128, otherwise the
        dtype of ``x``.
    :see: imag, conj, view_as_real, isreal

    >>> ag.real(ag.tensor([1 + 2j]))
    tensor([1.])
    """
    x = as_tensor(x)
    if x.dtype.kind == "c":
        return call(REAL, (x,), out)
    return x if out is None else into(out, x)


@planned
@public
def imag(x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """Imaginary part, a copy of it; zeros for real tensors.

    :like: real
    :see: real, conj, view_as_real, iscomplex

    >>> ag.imag(ag.tensor([1 + 2j]))
    tensor([2.])
    """
    x = as_tensor(x)
    if x.dtype.kind == "c":
        return call(IMAG, (x,))
    zero = wrap(np.zeros((), x.dtype))
    zeros = broadcast_to(zero, x.shape)
    if x.shape and is_tracing() and not getattr(current_trace(), "plans", False):
        share(zeros, BroadcastTo(x.shape), zero)  # not to be written to, as eagerly
    return zeros


@planned
@public
def angle(x: TensorLike, /, deg: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Angle of complex numbers, in radians, or in degrees with ``deg``.

    :param x: Complex numbers; real ones are taken as complex.
    :param deg: Whether to give degrees.
    :returns: Real, in (-pi, pi] or (-180, 180]; pi for negative real numbers, NaN for NaN.
    :see: abs, real, imag, polar, atan2

    >>> ag.angle(ag.tensor([1j, -1.0]))
    tensor([1.5707964, 3.1415927])
    """
    x = as_tensor(x)
    if x.dtype.kind != "c":
        x = as_tensor(x, dtypes.complex_of(dtypes.floating(x.dtype)))
    radians = call(ANGLE, (x,))
    return radians * (180 / math.pi) if deg else radians
