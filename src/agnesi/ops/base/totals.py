"""Reductions that NumPy computes at once: of few numbers, before any other layer looks at the
operands; and of narrow integers, of which it widens a few at a time, not all."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeGuard, TypeVar

import numpy as np

from agnesi.core import shapes
from agnesi.core.calls.watched import WATCHED
from agnesi.core.op import Op
from agnesi.core.support import dtypes
from agnesi.core.support.config import HOOKS, MODE, TRACES
from agnesi.core.support.numpy_warnings import silently
from agnesi.core.support.tracing import is_known
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.base.expand import add_up

F = TypeVar("F", bound=Callable[..., Any])

_empty = np.empty
_ndarray = np.ndarray
_BOOL = np.dtype(bool)
_KEEP = "keepdims", "keepdim"
#: Elements from which a reduction is computed as all operations are.
_MIN_MANY_ELEMENTS = 1 << 12


def is_narrow(x: Any) -> TypeGuard[Tensor]:
    """Return whether something is an eager tensor of integers or booleans, whose sums are wider."""
    return (type(x) is Tensor and (data := x.array) is not None and data.dtype.kind in "biu"
            and is_known(x))


def total(kind: str, x: Any, axis: Any, keepdims: bool, dtype: np.dtype) -> Tensor:
    """Sum ("add") or product ("multiply") of a narrow tensor, computed in ``dtype``."""
    axes = shapes.axes_of(axis, x.ndim)
    reduce: Any = add_up if kind == "add" else np.multiply.reduce
    found = silently(reduce, x.array, axes, dtype, None, bool(keepdims))
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


def of_few(kind: str, chars: str, make: Callable[[str, Any, int, bool], Op],
           after: Callable[[Tensor, int], Tensor] | None = None) -> Callable[[F], F]:
    """A public reduction whose calls on few elements are those of NumPy's ufunc ``kind``.

    ``chars`` are those of the dtypes for which it is, and ``make`` gives the operation to record:
    of the kind, an axis or None, the number of axes, and whether they stay.  ``after`` makes the
    result of that and of how many elements each was reduced from.
    """
    reduce: Any = getattr(np, kind).reduce
    truth = kind.startswith("logical")
    # Sums of floats begin with -0.0, to which adding changes nothing (``add_up``).
    first = (-0.0,) if kind == "add" else ()

    def decorated(function: F) -> F:
        watched = function.__name__ in WATCHED  # PyTorch's means something else
        positions, axis_words = (1, ("axis",)) if watched else (2, ("axis", "dim"))
        keep_words = _KEEP[:1] if watched else _KEEP

        @functools.wraps(function)
        def call(*args: Any, **keywords: Any) -> Any:
            given = len(args)
            if not (0 < given <= positions and type(x := args[0]) is Tensor
                    and (data := x.array) is not None and (dtype := data.dtype).char in chars
                    and 0 < data.size < _MIN_MANY_ELEMENTS
                    and (not TRACES.running or MODE.get().trace is None)):
                return function(*args, **keywords)
            axis, keepdims, n = args[1] if given == 2 else None, False, data.ndim
            for word, value in keywords.items():
                if word in keep_words and type(value) is bool:
                    keepdims = value
                elif word in axis_words and given == 1:
                    axis = value
                    given = 2
                else:
                    return function(*args, **keywords)
            if axis is not None:
                if type(axis) is not int or not -n <= axis < n:
                    return function(*args, **keywords)
                out = None
            else:
                out = None if keepdims else _empty((), _BOOL if truth else dtype)
            data = silently(reduce, data, axis, None, out, keepdims, *first)
            data = data if type(data) is _ndarray else np.asarray(data)
            if n > 2 and not data.flags.c_contiguous:
                data = data.copy()
            t = wrap(data) if not x._requires_grad else HOOKS.finished(
                data, make(kind, axis, n, keepdims), (x,))
            return t if after is None else after(t, x.array.size // data.size)

        return call  # type: ignore[return-value]

    return decorated
