"""Choice between values: where, minimum and maximum, clip, relu; and rounding."""

from __future__ import annotations

import functools
from typing import Any, overload

import numpy as np

from agnesi.core import shapes
from agnesi.core.ir import loops
from agnesi.core.ir.loops import Expr
from agnesi.core.keywords import NEEDED, operands_of, out_of, shown_as, strict, with_out
from agnesi.core.op import EXPLAINED, explain, renamed_error, typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.programs import begins_program, in_program
from agnesi.core.public import apply_to, planned, public
from agnesi.core.storage import memory
from agnesi.core.storage.memory_order import has_rows
from agnesi.core.support import dtypes
from agnesi.core.support.config import HOOKS, MODE
from agnesi.core.support.errors import DTypeError, ShapeError
from agnesi.core.support.tracing import is_known
from agnesi.core.support.worker_threads import aside
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import positive, sign
from agnesi.ops.base.chosen import along_axes, positions_of
from agnesi.ops.base.compare import isfinite, isnan, not_equal
from agnesi.ops.base.convert import as_tensor, cast, common, constant
from agnesi.ops.base.elementwise import (
    Binary,
    Elementwise,
    Rule,
    binary,
    call,
    flat,
    operand,
    unary,
)

#: Elements from which bits are faster.
_MIN_BITWISE_ELEMENTS = 1 << 11
#: Whole numbers with the bits of an element, by its bytes.
_WHOLE = {n: np.dtype(f"i{n}") for n in (1, 2, 4, 8)}


def choose(condition: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """``np.where`` of a bool condition and values of one dtype; of large arrays by their bits,
    without a branch for each element.

    ``np.where`` branches: where the condition is as good as random, as behind a relu, a wrong guess
    of the processor costs more than all else, twenty times as much as the bits.
    """
    if a.size < _MIN_BITWISE_ELEMENTS and b.size < _MIN_BITWISE_ELEMENTS:
        return np.where(condition, a, b)
    whole = _WHOLE.get(a.dtype.itemsize)
    if whole is None or not all(map(has_rows, (condition, a, b))):
        return np.where(condition, a, b)
    result = memory.empty(shapes.broadcast(condition.shape, a.shape, b.shape), whole)
    left, right = a.view(whole), b.view(whole)
    if _nothing(right) or _nothing(left):
        mask = result if condition.shape == result.shape else None
        if _nothing(right):
            np.bitwise_and(np.negative(condition, out=mask, dtype=whole), left, out=result)
        else:
            np.bitwise_and(np.subtract(condition, 1, out=mask, dtype=whole), right, out=result)
    else:
        np.bitwise_xor(left, right, out=result)
        np.bitwise_and(result, np.negative(condition, dtype=whole), out=result)
        np.bitwise_xor(result, right, out=result)
    return result.view(a.dtype)


def _nothing(bits: np.ndarray) -> bool:
    """Return whether all bits of a scalar are zero, which is not so for -0.0."""
    return bits.ndim == 0 and not bits


# -- where --------------------------------------------------------------------------------------
WHERE = Elementwise(
    "where", choose, (None, lambda g, a: where(a, g, 0), lambda g, a: where(a, 0, g)),
    numpy="branching"
)


#: What it takes for an element.
_NONZERO_NANOSECONDS = 4


def indices_of(data: np.ndarray) -> tuple[np.ndarray, ...]:
    """NumPy keeps Python's lock but where a vector of bool is searched."""
    if not data.size:
        return data.nonzero()
    positions, = (data if data.dtype.kind == "b" else data != 0).reshape(-1).nonzero()
    return (positions,) if data.ndim == 1 else np.unravel_index(positions, data.shape)


def nonzero(x: Any) -> tuple[Tensor, ...]:
    """Indices of the elements that are not zero, a tensor for each axis."""
    x = as_tensor(x)
    if x.ndim == 0:
        raise ShapeError("a number has no axes, and so no indices; use ag.reshape(x, (1,))")
    if is_known(x):
        found = aside(_NONZERO_NANOSECONDS * x.array.size, indices_of, x.array)
        return tuple(as_tensor(i) for i in found)
    mask = x if x.dtype.kind == "b" else not_equal(x, 0)
    return along_axes(positions_of(mask), x.shape)


@overload
def where(condition: Any, input: Any, other: Any, *, out: Tensor | None = None) -> Tensor: ...


@overload
def where(condition: Any) -> tuple[Tensor, ...]: ...


@planned
@with_out
@shown_as("condition", "x1", "x2")
def where(condition: TensorLike = NEEDED, input: TensorLike | None = None,
          other: TensorLike | None = None, *more: Any, **keywords: Any) -> Any:
    """Elements of ``x1`` where the condition holds, else of ``x2``.

    The branch that is not chosen gets gradient zero, whatever its value.  With a condition alone,
    the indices where it holds, as :func:`nonzero` gives them.

    :param condition: What decides.
    :type condition: array_like of bool
    :param x1, x2: The branches; all three broadcast.
    :returns: Of the broadcast shape and the promoted dtype of the branches; or indices.
    :rtype: Tensor, or tuple of Tensor
    :raises DTypeError: If the condition is not bool.
    :raises ShapeError: If the shapes do not broadcast.
    :raises TypeError: If there is one branch only.
    :see: select, nonzero, masked_fill, choose, symbolic.switch

    >>> ag.where(ag.tensor([True, False]), 1.0, 2.0)
    tensor([1., 2.])
    """
    if more or condition is NEEDED:
        raise explain(TypeError("takes a condition and two operands; it is called as "
                                "where(condition, x1, x2)"), "where",
                      (condition, input, other, *more) if more else ())
    out = out_of("where", keywords) if keywords else None
    if input is None and other is None:
        try:
            return nonzero(condition)
        except (ValueError, TypeError) as error:
            raise explain(error, "where", (condition,)) from None
    if out is None and type(condition) is Tensor and MODE.get().trace is None:
        a = input if type(input) is Tensor else constant(input, other)
        b = other if type(other) is Tensor else constant(other, input)
        found = None if a is None or b is None else _where_now(condition, a, b)
        if found is not None:
            return found
    if begins_program((condition, input, other)):
        with in_program():
            return where(condition, input, other, out=out)
    try:
        condition = as_tensor(condition)
        if condition.dtype is dtypes.uint8:  # NumPy's and PyTorch's other masks
            condition = condition != 0
        if condition.dtype.kind != "b":
            raise DTypeError(
                f"the condition must be bool, not {typed(condition)}; compare it (x != 0)"
            )
        if input is None or other is None:
            raise TypeError("where takes a condition alone, or a condition and both branches: "
                            "where(condition, x1, x2)")
        return apply_to(out, WHERE, condition, *common(input, other))
    except (ValueError, TypeError) as error:
        raise explain(error, "where", (condition, input, other)) from None


def _where_now(condition: Tensor, a: Tensor, b: Tensor) -> Tensor | None:
    """Compute ``where`` at once on eager operands of one dtype without gradients; None for
    others."""
    chosen, left, right = condition.array, a.array, b.array
    if (
        chosen is None or left is None or right is None or left.dtype is not right.dtype
        or chosen.dtype is not dtypes.bool_
    ):
        return None
    try:
        data = aside(max(chosen.size, left.size, right.size), choose, chosen, left, right)
    except ValueError:
        return None
    found: Tensor = HOOKS.finished(data, WHERE, (condition, a, b))
    return found


# -- minimum and maximum ------------------------------------------------------------------------
def _shared(wins: Rule) -> tuple[Rule, Rule]:
    """Rules of a choice between two operands; equal ones get half of the cotangent each."""

    def to(chosen: Tensor, g: Tensor, a: Tensor, b: Tensor) -> Tensor:
        return where(chosen, g, where(a == b, g * 0.5, 0))

    return (lambda g, a, b: to(wins(a, b), g, a, b), lambda g, a, b: to(wins(b, a), g, a, b))


def _first(wins: Rule) -> tuple[Rule, Rule]:
    """Rules of a choice between two operands; of equal ones the first gets the cotangent."""
    return lambda g, a, b: where(wins(a, b), g, 0), lambda g, a, b: where(wins(a, b), 0, g)


MAXIMUM = Elementwise("maximum", np.maximum, _shared(lambda a, b: (a > b) | isnan(a)), kinds="biuf")
MINIMUM = Elementwise("minimum", np.minimum, _shared(lambda a, b: (a < b) | isnan(a)), kinds="biuf")
FMAX = Elementwise("fmax", np.fmax, _first(lambda a, b: (a >= b) | isnan(b)), kinds="biuf")
FMIN = Elementwise("fmin", np.fmin, _first(lambda a, b: (a <= b) | isnan(b)), kinds="biuf")

maximum = binary(
    MAXIMUM, "The greater of two elements; NaN if one of them is.", "[1, 5], [3, 2]", "[3, 5]"
)
minimum = binary(
    MINIMUM, "The smaller of two elements; NaN if one of them is.", "[1, 5], [3, 2]", "[1, 2]"
)
fmax = binary(
    FMAX, "The greater of two elements; a NaN gives way to the other.",
    "[1.0, float('nan')], 2.0", "[2., 2.]",
)
fmin = binary(
    FMIN, "The smaller of two elements; a NaN gives way to the other.",
    "[1.0, float('nan')], 2.0", "[1., 2.]",
)


# -- clip and relu ------------------------------------------------------------------------------
#: The universal function behind ``np.clip``, which inspects its operands at length first.
try:
    from numpy._core.umath import clip as _clip  # type: ignore[attr-defined]
except ImportError:
    _clip = np.clip

CLIP = Elementwise(
    "clip", _clip,
    (
        lambda g, a, b, c: where((a >= b) & (a <= c), g, 0),
        lambda g, a, b, c: where((a < b) & (b <= c), g, 0),
        lambda g, a, b, c: where((a > c) | (b > c), g, 0),
    ),
    # Of equal operands, zeros of both signs, the second is taken: the value that is clipped.
    expand=lambda a, b, c: loops.call("minimum", c, loops.call("maximum", b, a)),
    kinds="iuf", writer=_clip, numpy="branching"
)


def _larger_than_zero(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    # Of two zeros NumPy gives the first one in half precision, and the second one in others.
    zero = _ZEROS[x.dtype]
    return np.maximum(zero, x, out=out) if x.dtype.char == "e" else np.maximum(x, zero, out=out)


def _write_relu(x: np.ndarray, out: np.ndarray) -> np.ndarray:
    # NumPy's maximum of an array and a scalar is not vectorized, that with a row of zeros is.
    if x.size < _ROW_ELEMENTS or x.dtype.char not in "fd" or not (
            x.flags.c_contiguous and out.flags.c_contiguous):
        return _larger_than_zero(x, out)
    flat, into = x.reshape(-1), out.reshape(-1)
    whole = x.size - x.size % _ROW_ELEMENTS
    np.maximum(flat[:whole].reshape(-1, _ROW_ELEMENTS), np.zeros(_ROW_ELEMENTS, x.dtype),
               out=into[:whole].reshape(-1, _ROW_ELEMENTS))
    np.maximum(flat[whole:], _ZEROS[x.dtype], out=into[whole:])
    return out


class _Zeros(dict[np.dtype, np.ndarray]):
    """A zero of each dtype: NumPy takes longer for a number of Python's."""

    def __missing__(self, dtype: np.dtype) -> np.ndarray:
        found = self[dtype] = np.zeros((), dtype)
        return found


_ZEROS = _Zeros()
#: Elements of a row of zeros; up to so many, a scalar takes the same time.
_ROW_ELEMENTS = 1024

RELU = Elementwise(
    "relu", _larger_than_zero, (lambda g, y: where(y > 0, g, 0),),
    kinds="iuf", expand=lambda x: loops.call("maximum", x, 0),
    writer=_write_relu, numpy="branching"
)

relu = unary(RELU, "Each element, or 0 where it is negative.", "[-1.0, 2.0]", "[0., 2.]")


@strict
@shown_as("x")
@planned
def clip(input: TensorLike, min: TensorLike | None = None, max: TensorLike | None = None,
         out: Tensor | None = None) -> Tensor:
    """``x`` limited to [min, max]; the gradient at the limits is that of the inside.

    :param x: Of any shape; not complex.
    :param min, max: Limits, which broadcast with ``x``; None is none.
    :returns: Of the broadcast shape and the promoted dtype; ``max`` where the limits cross, NaN
        where an operand is.
    :raises ShapeError: If the shapes do not broadcast.
    :raises DTypeError: For complex numbers.
    :see: maximum, minimum, relu

    >>> ag.clip(ag.tensor([-1.0, 0.5, 3.0]), 0.0, 1.0)
    tensor([0. , 0.5, 1. ])
    """
    if begins_program((input, min, max)):
        with in_program():
            return clip(input, min, max, out=out)
    input = operand("clip", input)
    if input.dtype.kind in "iu":  # no element is beyond what its dtype holds
        limits = np.iinfo(input.dtype)
        min = None if type(min) is int and min < limits.min else min
        max = None if type(max) is int and max > limits.max else max
    if min is None and max is None:
        return positive(input, out=out)
    try:
        if input.dtype.kind in "biu" and (min is None or max is None):  # bounds may be wider types
            row, bound = (MAXIMUM, min) if max is None else (MINIMUM, max)
            return call(row, (input, bound), out)
        low, high = -np.inf if min is None else min, np.inf if max is None else max
        return call(CLIP, (input, low, high), out)
    except EXPLAINED as error:
        bounds = [bound for bound in (min, max) if bound is not None]
        raise renamed_error(error, "clip", (input, *bounds)) from None


# -- rounding -----------------------------------------------------------------------------------
FLOOR = Elementwise("floor", np.floor, (flat,), kinds="f")
CEIL = Elementwise("ceil", np.ceil, (flat,), kinds="f")
TRUNC = Elementwise("trunc", np.trunc, (flat,), kinds="f")
ROUND = Elementwise("round", np.rint, (flat,), kinds="fc")


def _rounding(row: Elementwise, *texts: str) -> Any:
    compute = unary(row, *texts)

    def function(input: Any = NEEDED, /, *more: Any, **keywords: Any) -> Tensor:
        out = None
        if more or keywords or input is NEEDED:
            (input,), out = operands_of(row.name, ("input",), (input, *more), keywords)
        x = operand(row.name, input)
        if x.dtype.kind not in "iu":
            return compute(x) if out is None else compute(x, out=out)
        try:
            return positive(x, out=out)
        except EXPLAINED as error:
            raise renamed_error(error, row.name, (input,)) from None

    return functools.update_wrapper(function, compute)


floor = _rounding(FLOOR, "The next whole number below.", "[1.5, -1.5]", "[ 1., -2.]")
ceil = _rounding(CEIL, "The next whole number above.", "[1.5, -1.5]", "[ 2., -1.]")
trunc = _rounding(TRUNC, "The whole part, towards zero.", "[1.5, -1.5]", "[ 1., -1.]")
_round = _rounding(ROUND)


@planned
@strict
@shown_as("x")
def round(input: TensorLike, decimals: int = 0, out: Tensor | None = None) -> Tensor:
    """Nearest integer, or number of ``decimals`` digits after the point; halves become even.

    :param x: Of any shape; integers are rounded where ``decimals`` is negative.
    :param decimals: Digits after the point; before it where negative.
    :returns: Of the shape and dtype of ``x``, of bool the default float dtype; its gradient is 0.
    :see: floor, ceil, trunc, fix

    >>> ag.round(ag.tensor([0.5, 1.5, 2.6]))
    tensor([0., 2., 3.])
    """
    if type(decimals) is int and decimals == 0:
        return _round(input, out=out)
    return _to_decimals(input, decimals, out=out)


def _to_decimals(x: Any, decimals: int, *, out: Tensor | None = None) -> Tensor:
    x, unit = as_tensor(x), 10 ** abs(decimals)
    if not dtypes.is_inexact(x.dtype):
        return _round(x) if decimals > 0 or x.dtype.kind == "b" else _to_multiples(x, unit)
    if unit > float(dtypes.limits(x.dtype).max):  # numbers have no such digits
        return positive(x) if decimals > 0 else where(isfinite(x), x * 0, x)
    if decimals < 0:
        return cast(_round(x / unit) * unit, x.dtype)
    shifted = x * unit
    return where(isfinite(shifted), cast(_round(shifted) / unit, x.dtype), x)


def _to_multiples(x: Tensor, unit: int) -> Tensor:
    """Integers to the nearest multiple of an even number, of two the even one."""
    if unit > np.iinfo(x.dtype).max:
        return x * 0
    count = x // unit
    rest = x - count * unit
    above = (rest > unit // 2) | ((rest == unit // 2) & (count % 2 == 1))
    return (count + cast(above, x.dtype)) * unit


_to_decimals.__name__ = "round"
_to_decimals = public(_to_decimals)


# -- signs --------------------------------------------------------------------------------------
COPYSIGN = Elementwise(
    "copysign", np.copysign, (lambda g, a, b: g * (sign(a) * copysign(1.0, b)), flat), kinds="f",
    numpy="branching"
)
copysign: Binary = binary(
    COPYSIGN, "The first with the sign of the second.", "[1.0, 2.0], [-0.0, 3.0]", "[-1., 2.]"
)

def _nextafter(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """As NumPy, with the sign of the second zero in half precision too."""
    result: Any = np.nextafter(a, b)
    return np.where(a == b, b, result) if result.dtype in dtypes.HALVES else result


def _next(a: Expr, b: Expr) -> Expr:
    """The neighbouring float of ``a`` towards ``b``: its bit pattern plus or minus one."""
    up = (a < b).eq(a > 0)
    here = loops.bits(a)
    one = loops.const(1, here.dtype)
    beside = loops.bits(here + loops.where(up, one, -1), a.dtype)
    least = loops.call("copysign", loops.bits(one, a.dtype), b)
    found = loops.where(a.eq(0), least, beside)
    found = loops.where(a.eq(b), b, found)
    is_nan = loops.call("isnan", a) | loops.call("isnan", b)
    return loops.where(is_nan, a + b, found)


# The step has the size of the last digit, so it moves with the first operand.
NEXTAFTER = Elementwise("nextafter", _nextafter, (lambda g: g, flat), kinds="f", expand=_next)
nextafter: Binary = binary(
    NEXTAFTER, "The next number that the dtype can hold, from the first towards the second.",
    "[1.0, 1.0], [2.0, 1.0]", "[1.0000001, 1.       ]",
)
