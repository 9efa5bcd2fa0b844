"""What indices mean: slices in one form, shapes of what they give, values that are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from agnesi.compat.theano.tensor.creation import as_tensor_variable, zeros
from agnesi.compat.theano.tensor.elementwise import (
    NotScalarConstantError,
    get_scalar_constant_value,
    maximum,
    minimum,
    switch,
)
from agnesi.compat.theano.variable import Constant, Variable

__all__ = ["as_index_literal", "basic_shape", "get_canonical_form_slice", "indexed_result_shape",
           "slice_at_axis"]


def as_index_literal(idx: Any) -> Any:
    """An index of constants as Python's integers and slices; NotScalarConstantError of others."""
    if idx is None or isinstance(idx, (int, np.integer)):
        return idx
    if isinstance(idx, slice):
        return slice(*(as_index_literal(x) for x in (idx.start, idx.stop, idx.step)))
    if not isinstance(idx, Variable):
        raise TypeError(f"{idx!r} is no index")
    if not isinstance(idx, Constant):
        raise NotScalarConstantError(f"{idx!r} is no constant")
    return int(get_scalar_constant_value(idx))


def _literal(x: Any) -> Any:
    """Python's integer where it is known."""
    try:
        return as_index_literal(x)
    except NotScalarConstantError:
        return x


def slice_at_axis(sl: slice, axis: int) -> tuple[Any, ...]:
    """The index that takes a slice of one axis."""
    if axis < 0:
        return (..., sl, *[slice(None)] * (-axis - 1))
    return (*[slice(None)] * axis, sl, ...)


def get_canonical_form_slice(theslice: Any, length: Any) -> tuple[Any, Any]:
    """An index from 0 on, or a slice with ``0 <= start <= stop`` and a step above 0, and the
    direction, 1 or -1, in which its elements follow each other."""
    n = _literal(length)
    if not isinstance(theslice, slice):
        scalar = isinstance(theslice, Variable) and theslice.ndim == 0
        if not (scalar or isinstance(theslice, (int, np.integer))):
            raise ValueError(f"Slice {theslice} is not a supported slice type: it is an integer, a "
                             "scalar or a slice of those")
        i = _literal(theslice)
        if isinstance(i, Variable):
            return switch(i < 0, i + n, i), 1
        return (i if i >= 0 else i + n), 1
    start, stop, step = (_literal(x) for x in (theslice.start, theslice.stop, theslice.step))
    step = 1 if step is None else step
    if isinstance(step, Variable):
        return _canonical(start, stop, step, n, lambda a, b: switch(step < 0, a, b))
    if not any(isinstance(x, Variable) for x in (start, stop, n)):
        taken = range(*slice(start, stop, step).indices(n))
        if step < 0:
            taken = taken[::-1]
        return slice(taken.start, max(taken.start, taken.stop), taken.step), 1 if step > 0 else -1
    return _canonical(start, stop, step, n, lambda a, b: a if step < 0 else b)


def _canonical(start: Any, stop: Any, step: Any, n: Any,
               pick: Callable[[Any, Any], Any]) -> tuple[slice, Any]:
    """A slice of variables; ``pick`` chooses what is for steps below 0, or above."""
    def end(x: Any, default: Any) -> Any:
        if x is None:
            return default
        x = switch(as_tensor_variable(x) < 0, x + n, x)
        return minimum(maximum(x, pick(-1, 0)), pick(n - 1, n))

    start, stop = end(start, pick(n - 1, 0)), end(stop, pick(-1, n))
    count = maximum((stop - start + step - pick(-1, 1)) // step, 0)
    some = count > 0
    first = pick(switch(some, start + (count - 1) * step, 0), start)
    last = pick(switch(some, start + 1, 0), maximum(start, stop))
    return slice(first, last, abs(step)), pick(-1, 1)


def indexed_result_shape(array_shape: Any, indices: Sequence[Any],
                         indices_are_shapes: bool = False) -> tuple[Any, ...]:
    """The sizes of ``x[indices]``, where ``x`` has these; of indices only the shapes count."""
    def index(x: Any) -> Any:
        if indices_are_shapes and isinstance(x, tuple):
            return zeros(x, dtype="int64")
        return x

    found = zeros(tuple(array_shape))[tuple(index(x) for x in indices)]
    return tuple(as_tensor_variable(n) for n in found.shape)


def basic_shape(shape: Any, indices: Sequence[Any]) -> tuple[Any, ...]:
    """The sizes of axes of which slices are taken; those that no slice is for are left out."""
    return indexed_result_shape(tuple(shape)[:sum(x is not None for x in indices)], indices)
