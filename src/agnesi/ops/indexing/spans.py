"""Slices whose bounds are values: ``x[i * n:(i + 1) * n]`` with a tensor ``i``.

The number of elements is a data-dependent size (``core.value_sizes``); the elements are read at
indices that are counted from where the slice begins.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.core.ir.dims import Dim
from agnesi.core.ir.extents import Extent
from agnesi.core.op import typed
from agnesi.core.support import dtypes
from agnesi.core.support.tracing import is_known
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.literals import of_python
from agnesi.ops.base.parameter_checks import demanded
from agnesi.ops.base.select import maximum, minimum, where
from agnesi.ops.indexing.index_parsing import complete, entries_of, is_mask
from agnesi.ops.indexing.ranges import counted


def is_bound(v: Any) -> bool:
    """Return whether a bound or step of a slice depends on data."""
    return isinstance(v, Tensor) and not is_known(v)


def _is_span(e: Any) -> bool:
    """Return whether an entry of a key is a slice with such a bound."""
    return type(e) is slice and any(map(is_bound, (e.start, e.stop, e.step)))


def _is_integer(e: Any) -> bool:
    """Return whether an entry stands for an integer of Python's that the run computes."""
    return (isinstance(e, Dim) and not isinstance(e, Extent)) or (
        isinstance(e, Tensor) and of_python(e) and not is_known(e) and e.dtype.kind == "i")


def has_bounds(key: Any) -> bool:
    """Return whether a key has a slice with such a bound, or such an integer where nothing but
    integers and slices index, so that it takes a view."""
    entries = key if isinstance(key, tuple) else (key,)
    return any(map(_is_span, entries)) or (any(map(_is_integer, entries)) and all(
        e is None or e is Ellipsis or type(e) in (int, slice) or isinstance(e, Extent)
        or _is_integer(e) for e in entries))


def spans_of(x: Tensor, key: Any) -> tuple[list[tuple[int, Tensor, int | None]], Any]:
    """The axes that have such slices or integers, one after the other, with the indices that these
    take and the step between them; and the key without them, None where it has nothing else."""
    given = key if isinstance(key, tuple) else (key,)
    integers = not any((isinstance(e, (Tensor, np.ndarray, list)) and not _is_integer(e))
                       or isinstance(e, bool) for e in given)
    entries = complete(x, [e if integers and _is_integer(e) else _entry for e, _entry in zip(
        given, entries_of(key), strict=True)])
    found: list[tuple[int, Tensor, int | None]] = []
    left: list[Any] = []
    axis = before = 0  # of what was taken so far, and of the operand
    for e in entries:
        if integers and _is_integer(e):
            found.append((axis, cast(as_tensor(e), dtypes.int64), 1))
            before += 1
            continue
        if _is_span(e):
            step = e.step if isinstance(e.step, int) else None if is_bound(e.step) else 1
            found.append((axis, _indices(e, x.shape[before]), step))
            e = slice(None)
        if e is not None and e is not Ellipsis:
            axis += e.ndim if is_mask(e) else 1
            before += e.ndim if is_mask(e) else 1
        left.append(e)
    rest = any(not (type(e) is slice and e == slice(None)) for e in left)
    return found, tuple(left) if rest else None


def _indices(e: slice, n: Any) -> Tensor:
    """Where the elements of a slice of an axis of size ``n`` are."""
    step = as_tensor(1) if e.step is None else _step(e.step)
    size = as_tensor(n)
    forwards: Any = step > 0 if is_bound(e.step) else bool(step.array > 0)
    low, high = _either(forwards, 0, -1), _either(forwards, size, size - 1)
    first = _either(forwards, low, high) if e.start is None else _bound(e.start, size, low, high)
    last = _either(forwards, high, low) if e.stop is None else _bound(e.stop, size, low, high)
    span = last - first + step - _either(forwards, 1, -1)
    indices = counted(maximum(span if e.step is None else span // step, 0), n)
    return cast(indices if e.step is None else indices * step, dtypes.int64) + first


def _step(v: Any) -> Tensor:
    """A step as an int64 scalar, which is not zero."""
    step, wrong = _whole(v, "step"), "the step of a slice must not be zero"
    if is_bound(v):
        return demanded("getitem", wrong, lambda step: step != 0, step=step)[0]
    if not step.array:
        raise ValueError(wrong)
    return step


def _either(forwards: Any, a: Any, b: Any) -> Any:
    """Return ``a`` for steps forwards, ``b`` for those backwards."""
    if isinstance(forwards, bool):
        return a if forwards else b
    return where(forwards, a, b)


def _bound(v: Any, size: Tensor, low: Any, high: Any) -> Tensor:
    """A bound as an index between two others; negative ones count from the end."""
    v = _whole(v, "bound")
    bounded = where(v < 0, v + size, v)
    return minimum(maximum(bounded, low), high)


def _whole(v: Any, what: str) -> Tensor:
    """A bound or step as an int64 scalar."""
    t = as_tensor(v)
    if t.shape != () or t.dtype.kind not in "iu":
        raise TypeError(f"the {what} of a slice must be an integer scalar, not {typed(t)}")
    return t if isinstance(v, Dim) else cast(t, dtypes.int64)
