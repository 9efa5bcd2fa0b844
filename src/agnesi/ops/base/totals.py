"""Sums of narrow integers at once: NumPy widens a few elements at a time, not the whole operand."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.core import shapes
from agnesi.core.support import dtypes
from agnesi.core.support.tracing import is_known
from agnesi.core.tensor import Tensor, wrap


def add_up(x: np.ndarray, axes: Any, dtype: Any = None, out: Any = None,
           keepdims: bool = False) -> Any:
    """Sums over axes that begin with -0.0, to which adding changes nothing: NumPy's begin with 0.

    So the sum of -0.0 and -0.0 is -0.0, and that of one element is the element, as compiled.
    """
    reduce: Any = np.add.reduce
    if not x.size or x.dtype.kind in "biu":
        return reduce(x, axes, dtype, out, keepdims)
    first = complex(-0.0, -0.0) if x.dtype.kind == "c" else -0.0
    return reduce(x, axes, dtype, out, keepdims, first)


def is_narrow(x: Any) -> bool:
    """Return whether something is an eager tensor of integers or booleans, whose sums are wider."""
    return (type(x) is Tensor and (data := x.array) is not None and data.dtype.kind in "biu"
            and is_known(x))


def total(kind: str, x: Any, axis: Any, keepdims: bool, dtype: np.dtype) -> Tensor:
    """Sum ("add") or product ("multiply") of a narrow tensor, computed in ``dtype``."""
    axes = shapes.axes_of(axis, x.ndim)
    reduce: Any = add_up if kind == "add" else np.multiply.reduce
    found = reduce(x.array, axes, dtype, None, bool(keepdims))
    return wrap(np.asarray(found))


def wide_of(x: Any, dtype: Any) -> np.dtype:
    """The dtype of sums of integers: 64 bits by default."""
    if dtype is not None:
        return dtypes.as_dtype(dtype)
    return dtypes.uint64 if x.array.dtype.kind == "u" else dtypes.int64


def nonzeros(x: Any, axis: Any, keepdims: bool) -> Tensor:
    """How many elements of an eager tensor are not 0."""
    axes = shapes.axes_of(axis, x.ndim)
    every = len(axes) == x.ndim and not keepdims  # then NumPy needs no memory
    found = np.count_nonzero(x.array, None if every else axes, keepdims=bool(keepdims))
    return wrap(np.asarray(found, np.int64))
