"""Changes in place: augmented assignment and the methods whose names end in an underscore."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.api.tensor.matrices import Late
from agnesi.core.calls.plans import count_call
from agnesi.core.dispatch import assign, touch
from agnesi.core.op import renamed_error, typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.programs import is_declaring
from agnesi.core.public import explain_errors, public
from agnesi.core.storage.views import element_view
from agnesi.core.support import dtypes
from agnesi.core.support.config import HOOKS, MODE
from agnesi.core.support.errors import DTypeError, ShapeError, at
from agnesi.core.support.numpy_warnings import silently
from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith
from agnesi.ops.base.convert import SCALARS, as_tensor, cast, constant
from agnesi.ops.base.convert import written as convertible
from agnesi.ops.base.elementwise import TABLE, ready
from agnesi.ops.base.expand import broadcast_to
from agnesi.ops.base.movement import as_deep

Method = Callable[..., Any]
_DOC = """Like ``{name}``, written into the tensor itself.

Parameters
----------
*others : object
    What :func:`agnesi.{name}` takes behind its first operand; operands broadcast to the shape
    of the tensor, never the other way round.
**keywords : object
    What it takes by name.

Returns
-------
Tensor
    The tensor itself, in its own dtype.

Raises
------
ShapeError
    If the result has another shape than the tensor.
DTypeError
    If the result does not fit the tensor's dtype.
GradientError
    If the tensor is a leaf that requires grad, outside of :class:`agnesi.no_grad`.
"""


def update(name: str, function: Method, shown: str) -> Method:
    """The method that writes ``function(self, ...)`` into self; ``shown`` names it in errors."""
    row = TABLE.get(function.__name__)
    known = None if row is None or row.result != "same" or row.writer is None else (
        row, row.writer, *ready(row)[2:4])
    operator = not shown.isidentifier()

    def method(self: Tensor, *others: Any, **keywords: Any) -> Tensor:
        if known is not None and not keywords:
            done: Any = HOOKS.written(known, self, *others)
            if done is not NotImplemented:
                return self
        if operator and (self._is_number or element_view(self) is not None or MODE.get().fixed
                         or (self.array is None and not self._placed
                             and (self.weak or is_declaring()))):
            result: Tensor = function(self, *others, **keywords)
            return result  # numbers and expressions never change: it is the name that does
        try:
            result = function(self, *others, **keywords)
            data, found = self.array, result.array
            if data is not None and found is not None and data.shape == found.shape and (
                    HOOKS.written(_COPY, self, result) is not NotImplemented):
                return self
            return assign(self, _fitted(self, result))
        except (ValueError, TypeError) as error:
            raise renamed_error(error, shown, (self, *others)) from None

    method.__name__ = method.__qualname__ = f"__i{name}__" if operator else shown
    method.__doc__ = _DOC.format(name=name)
    return method


class LateUpdate(Late):
    """The method that writes the result of a function into the tensor; loaded at first use."""

    def found(self) -> Method:
        return update(self.function, super().found(), self.name)


def written(row: tuple[Any, ...], x: Tensor, *others: Any) -> Any:
    """Write the result of a row's function of NumPy's into the memory of its first operand, or a
    copy of the second one where the row has no function; NotImplemented where that needs more.

    ``HOOKS.written`` is this, or native code for it (``runtime/native/inplace.ll``).
    """
    op, writer, *_ = row
    count_call()
    operands = None if x._is_number or element_view(x) is not None else _direct(x, others)
    if operands is None or (op is not None and operands[0].dtype.kind not in op.direct):
        return NotImplemented
    try:  # NumPy checks everything before it writes
        if writer is None:
            silently(np.copyto, *operands)
        else:
            silently(writer, *operands, out=operands[0])
    except (ValueError, TypeError, OverflowError):
        return NotImplemented
    touch(x)
    return x


HOOKS.written = written
#: A row that copies.
_COPY = None, None, ready(arith.ADD)[2] | 1, ready(arith.ADD)[3]


def _direct(x: Tensor, others: tuple[Any, ...]) -> list[Any] | None:
    """The arrays to compute on if the result can go straight into x's memory, else None."""
    data, mode = x.array, MODE.get()
    if data is None or mode.trace is not None or mode.watch is not None or mode.fixed or (
            mode.recording and x._requires_grad):
        return None
    arrays: list[Any] = [data]
    for other in others:
        if type(other) is Tensor:
            value = other.array
            if value is None or value.dtype != data.dtype or (
                    mode.recording and other._requires_grad):
                return None
            arrays.append(value)
        elif (number := constant(other, x)) is not None:
            arrays.append(number.array)
        elif type(other) in SCALARS and dtypes.promote_scalar(data.dtype, other) == data.dtype:
            arrays.append(np.asarray(other, data.dtype))
        else:
            return None
    return arrays


def _fitted(target: Tensor, result: Tensor) -> Tensor:
    if not dtypes.fits(result.dtype, target.dtype):
        raise DTypeError(
            f"the result is {typed(result)}, which does not fit into {typed(target)} in place; "
            f"write x = x ... instead, or convert the tensor with .astype('{result.dtype}') first"
        )
    return cast(result, target.dtype)


@explain_errors
def fill_(self: Tensor, value: TensorLike) -> Tensor:
    """Set every element to a number.

    :param value: Converted to the tensor's dtype.
    :type value: number
    :returns: The tensor itself.
    :raises DTypeError: If the number does not fit into the dtype.
    :raises ShapeError: If it is no number.

    >>> ag.zeros(3).fill_(2)
    tensor([2., 2., 2.])
    """
    if getattr(value, "ndim", 0) or type(value) in (list, tuple):
        raise ShapeError(at(f"fill_({typed(self)}, {typed(value)}): fill_ takes a number; "
                            "copy_ takes tensors, and broadcasts them"))
    if HOOKS.written(_COPY, self, value) is not NotImplemented:
        return self
    return copy_(self, value if isinstance(value, Tensor) else as_tensor(value, self.dtype))


def zero_(self: Tensor) -> Tensor:
    """Set every element to zero.

    :returns: The tensor itself.
    """
    if HOOKS.written(_COPY, self, 0) is not NotImplemented:
        return self
    return copy_(self, as_tensor(0, self.dtype))


def taking(x: Tensor, values: Tensor) -> Tensor:
    """Copy the values of another tensor into ``x`` and return it."""
    return x if HOOKS.written(_COPY, x, values) is not NotImplemented else copy_(x, values)


@public
def copy_(self: Tensor, other: TensorLike) -> Tensor:
    """Take the values of another array, converted and broadcast to this tensor's type.

    :param other: It broadcasts to the tensor's shape; leading axes of size 1 may be more.
    :returns: The tensor itself.
    :raises ShapeError: If the shapes do not fit.
    """
    if type(other) is Tensor and HOOKS.written(_COPY, self, other) is not NotImplemented:
        return self
    source = as_tensor(other)
    value = as_deep(convertible(source, self.dtype), self.ndim)
    return assign(self, broadcast_to(value, self.shape))


def add_(self: Tensor, other: TensorLike, *, alpha: TensorLike = 1) -> Tensor:
    """``self += alpha * other``, in place.

    :like: copy_
    :param alpha: A factor of ``other``.
    :type alpha: number or Tensor
    :returns: The tensor itself, in its own dtype.
    :raises DTypeError: If the result does not fit the tensor's dtype.
    """
    scaled = other if type(alpha) is int and alpha == 1 else arith.multiply(alpha, other)
    return _add(self, scaled)


def sub_(self: Tensor, other: TensorLike, *, alpha: TensorLike = 1) -> Tensor:
    """``self -= alpha * other``, in place.

    :like: add_
    """
    scaled = other if type(alpha) is int and alpha == 1 else arith.multiply(alpha, other)
    return _subtract(self, scaled)


_add = update("add", arith.add, "add_")
_subtract = update("subtract", arith.subtract, "sub_")
