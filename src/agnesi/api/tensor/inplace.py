"""Changes in place: augmented assignment and the methods whose names end in an underscore."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.api.tensor.matrices import Late
from agnesi.core.accepted import TensorLike
from agnesi.core.dispatch import assign, touch
from agnesi.core.op import renamed_error, typed
from agnesi.core.programs import is_declaring
from agnesi.core.public import explain_errors, public
from agnesi.core.storage.views import element_place
from agnesi.core.support import dtypes
from agnesi.core.support.config import MODE
from agnesi.core.support.errors import DTypeError
from agnesi.core.support.silence import silently
from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith
from agnesi.ops.base.convert import SCALARS, as_tensor, cast, written
from agnesi.ops.base.elementwise import TABLE
from agnesi.ops.base.expand import broadcast_to

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
    writer = row.writer if row is not None and row.result == "same" else None
    kinds = row.direct if row is not None else ""
    operator = not shown.isidentifier()

    def method(self: Tensor, *others: Any, **keywords: Any) -> Tensor:
        element, data = self._is_number or element_place(self) is not None, self.array
        if operator and (element or MODE.get().fixed
                         or (data is None and not self._placed
                             and (self.weak or is_declaring()))):
            result: Tensor = function(self, *others, **keywords)
            return result  # numbers and expressions never change: it is the name that does
        if data is not None and writer is not None and data.dtype.kind in kinds and not (
                element or keywords):
            operands = _direct(self, others)
            if operands is not None and _run(writer, operands):
                touch(self)
                return self
        try:
            return assign(self, _fitted(self, function(self, *others, **keywords)))
        except (ValueError, TypeError) as error:
            raise renamed_error(error, shown, (self, *others)) from None

    method.__name__ = method.__qualname__ = f"__i{name}__" if operator else shown
    method.__doc__ = _DOC.format(name=name)
    return method


class LateUpdate(Late):
    """The method that writes the result of a function into the tensor; loaded at first use."""

    def found(self) -> Method:
        return update(self.function, super().found(), self.name)


def _direct(x: Tensor, others: tuple[Any, ...]) -> list[Any] | None:
    """The arrays to compute on if the result can go straight into x's memory, else None."""
    data, mode = x.array, MODE.get()
    if data is None or mode.trace is not None or mode.watch is not None or (
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
        elif type(other) in SCALARS and dtypes.promote_scalar(data.dtype, other) == data.dtype:
            arrays.append(other)
        else:
            return None
    return arrays


def _run(writer: Callable[..., Any], arrays: list[Any]) -> bool:
    """Return whether the computation went well; NumPy checks everything before it writes."""
    try:
        silently(writer, *arrays, out=arrays[0])
    except (ValueError, TypeError, OverflowError):
        return False
    return True


def _written(x: Tensor, value: Any) -> bool:
    """Return whether a value could be written into the tensor's memory at once."""
    operands = None if element_place(x) is not None else _direct(x, (value,))
    if operands is None:
        return False
    try:
        silently(np.copyto, *operands)
    except (ValueError, TypeError, OverflowError):
        return False
    touch(x)
    return True


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

    >>> ag.zeros(3).fill_(2)
    tensor([2., 2., 2.])
    """
    return self if _written(self, value) else copy_(self, as_tensor(value, self.dtype))


def zero_(self: Tensor) -> Tensor:
    """Set every element to zero.

    :returns: The tensor itself.
    """
    return self if _written(self, 0) else copy_(self, as_tensor(0, self.dtype))


@public
def copy_(self: Tensor, other: TensorLike) -> Tensor:
    """Take the values of another array, converted and broadcast to this tensor's type.

    :param other: It broadcasts to the tensor's shape.
    :type other: array_like
    :returns: The tensor itself.
    :raises ShapeError: If the shapes do not fit.
    """
    if type(other) is Tensor and _written(self, other):
        return self
    source = as_tensor(other)
    return assign(self, broadcast_to(written(source, self.dtype), self.shape))


def add_(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """``self += alpha * other``, in place.

    :param other: It broadcasts to the tensor's shape.
    :type other: array_like
    :param alpha: A factor of ``other``.
    :type alpha: number or Tensor
    :returns: The tensor itself, in its own dtype.
    :raises ShapeError: If the shapes do not fit.
    :raises DTypeError: If the result does not fit the tensor's dtype.
    """
    return _add(self, other if type(alpha) is int and alpha == 1 else alpha * other)


def sub_(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """``self -= alpha * other``, in place.

    :param other: It broadcasts to the tensor's shape.
    :type other: array_like
    :param alpha: A factor of ``other``.
    :type alpha: number or Tensor
    :returns: The tensor itself, in its own dtype.
    :raises ShapeError: If the shapes do not fit.
    :raises DTypeError: If the result does not fit the tensor's dtype.
    """
    return _subtract(self, other if type(alpha) is int and alpha == 1 else alpha * other)


_add = update("add", arith.add, "add_")
_subtract = update("subtract", arith.subtract, "sub_")
