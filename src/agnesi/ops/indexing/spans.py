"""Slices whose bounds are values: ``x[i * n:(i + 1) * n]`` with a tensor ``i``.

The number of elements is a size that a value tells (``core.valuedims``); the elements are read at
places that are counted from where the slice begins.
"""

from __future__ import annotations

from typing import Any

from agnesi.core.ir.dims import Dim
from agnesi.core.op import typed
from agnesi.core.support import dtypes
from agnesi.core.support.tracing import is_known
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.select import maximum, minimum, where
from agnesi.ops.indexing.index_parsing import complete, entries_of, is_mask
from agnesi.ops.indexing.ranges import counted


def is_bound(v: Any) -> bool:
    """Return whether a bound or step of a slice is told by a value."""
    return isinstance(v, Tensor) and not is_known(v)


def has_bounds(key: Any) -> bool:
    """Return whether a key has a slice with such a bound."""
    return any(
        type(e) is slice and any(map(is_bound, (e.start, e.stop, e.step)))
        for e in (key if isinstance(key, tuple) else (key,))
    )


def spans_of(x: Tensor, key: Any) -> tuple[list[tuple[int, Tensor]], Any]:
    """The axes that have such slices with the places that these take, and the key without them;
    None where it has nothing else."""
    entries, axis, found = complete(x, entries_of(key)), 0, []
    for i, e in enumerate(entries):
        if type(e) is slice and any(map(is_bound, (e.start, e.stop, e.step))):
            found.append((axis, _places(e, x.shape[axis])))
            entries[i] = slice(None)
        if e is not None and e is not Ellipsis:
            axis += e.ndim if is_mask(e) else 1
    rest = any(not (type(e) is slice and e == slice(None)) for e in entries)
    return found, tuple(entries) if rest else None


def _places(e: slice, n: Any) -> Tensor:
    """Where the elements of a slice of an axis of size ``n`` lie."""
    step = as_tensor(1) if e.step is None else _whole(e.step, "step")
    size = as_tensor(n)
    forwards: Any = step > 0 if is_bound(e.step) else bool(step.array > 0)
    low, high = _either(forwards, 0, -1), _either(forwards, size, size - 1)
    first = _either(forwards, low, high) if e.start is None else _bound(e.start, size, low, high)
    last = _either(forwards, high, low) if e.stop is None else _bound(e.stop, size, low, high)
    span = last - first + step - _either(forwards, 1, -1)
    places = counted(maximum(span if e.step is None else span // step, 0), n)
    return cast(places if e.step is None else places * step, dtypes.int64) + first


def _either(forwards: Any, a: Any, b: Any) -> Any:
    """Return ``a`` for steps forwards, ``b`` for those backwards."""
    if isinstance(forwards, bool):
        return a if forwards else b
    return where(forwards, a, b)


def _bound(v: Any, size: Tensor, low: Any, high: Any) -> Tensor:
    """A bound as a place between two others; negative ones count from the end."""
    v = _whole(v, "bound")
    placed = where(v < 0, v + size, v)
    return minimum(maximum(placed, low), high)


def _whole(v: Any, what: str) -> Tensor:
    """A bound or step as an int64 scalar."""
    t = as_tensor(v)
    if t.shape != () or t.dtype.kind not in "iu":
        raise TypeError(f"the {what} of a slice must be an integer scalar, not {typed(t)}")
    return t if isinstance(v, Dim) else cast(t, dtypes.int64)
