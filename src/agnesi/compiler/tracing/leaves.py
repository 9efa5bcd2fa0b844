"""Leaves of arguments: their symbols in a trace, and how native code checks and reads them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np

from agnesi.compiler.tracing.arguments.numpy_numbers import NumPyNumber
from agnesi.compiler.tracing.arguments.texts import Text
from agnesi.compiler.tracing.numbers import MOST_GIVEN, standing_for
from agnesi.compiler.tracing.trace import stand_in
from agnesi.core.support import dtypes
from agnesi.core.support.errors import DTypeError, at, oversized
from agnesi.core.tensor import Tensor, as_kind
from agnesi.ops.base.convert import as_array


class Forwarded:
    """A value that the code which computed a size passes on: an argument whose shape is not
    checked.
    """

    __slots__ = ("array", "dtype")

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.dtype = array, array.dtype


class Constant:
    """A float argument that Python decides by: code is specialized for its value."""

    __slots__ = ("value",)

    def __init__(self, value: float) -> None:
        self.value = value


def symbol_of(value: Any, i: int, shape: Any, hidden: bool = False) -> Any:
    """Return the symbol for an argument of this shape, which the function is traced with."""
    if type(value) is Forwarded:  # another node stands for it when the trace is over
        return stand_in((), value.dtype)
    if type(value) is Constant:
        return value.value
    if isinstance(value, (Tensor, np.ndarray, np.generic)):
        name = value.name if isinstance(value, Tensor) else None
        if value.dtype.kind in "OSUMmV" and value.dtype.name != "bfloat16":
            _refuse(value, i)
        made = stand_in(shape, dtypes.as_dtype(value.dtype), requires_grad=requires_grad(value),
                        name=name or f"argument {i}")
        return as_kind(NumPyNumber, made) if isinstance(value, np.generic) else made
    if type(value) is float:
        return standing_for(stand_in((), dtypes.float64, weak=True, name=f"argument {i}").node,
                            given=True)
    if hidden and type(value) is str:
        return Text()
    if hidden and type(value) is int and is_small(value):
        return standing_for(stand_in((), dtypes.int64, weak=True, name=f"argument {i}").node)
    return value


def _refuse(value: Any, i: int) -> None:
    """Refuse an array of texts, objects or times among the arguments."""
    try:
        as_array(value)
    except DTypeError as error:
        raise DTypeError(at(f"jit: argument {i}: {error}")) from None


def argument_of(value: Any, shape: Any, hidden: bool = False) -> Any:
    """Return the description of an argument for native code."""
    from agnesi.runtime.entry import Arg

    if isinstance(value, np.generic):
        return Arg("scalar", value.dtype.name)
    if isinstance(value, (Tensor, np.ndarray, Forwarded)):
        return Arg("array", value.dtype.name, shape)
    if type(value) is float:
        return Arg("float")
    if type(value) is Constant:
        return Arg("identity", object=value.value)
    if hidden and type(value) is int and is_small(value):
        return Arg("int")
    if hidden and type(value) is str:
        return Arg("ignore")
    return Arg("identity", object=value)


def is_small(value: int) -> bool:
    """Return whether a Python integer fits the type that compiled code uses."""
    return abs(value) < MOST_GIVEN


def requires_grad(value: Any) -> bool:
    """Return whether a value is a tensor that requires a gradient."""
    return isinstance(value, Tensor) and value._requires_grad


def memory_of(value: Any) -> Any:
    """Return a tensor's array, or the array itself."""
    if type(value) is Forwarded:
        return value.array
    return value.array if isinstance(value, Tensor) else value


def plain(value: Any) -> Any:
    """Return an argument in the form native code takes: contiguous, aligned, native byte order."""
    if type(value) in (float, int):
        return value
    if isinstance(value, np.generic):  # of one type where a dtype has two, such as longlong
        kind = np.dtype(value.dtype.name).type
        return value if type(value) is kind else kind(value)
    array = np.asarray(memory_of(value))
    if array.flags.carray and array.dtype.isnative:
        return array
    return required(array, ("C", "A", "W"))


def required(array: np.ndarray, requirements: Iterable[Literal["C", "A", "W"]]) -> np.ndarray:
    """Return an array with these properties and native byte order, copied where it has them not.

    :raises MemoryError: If there is no memory for a copy.
    """
    try:
        return np.require(array, array.dtype.newbyteorder("="), requirements)
    except MemoryError as error:
        raise MemoryError(at(f"an argument is copied, as it does not lie in rows: "
                             f"{oversized(error)}")) from None
