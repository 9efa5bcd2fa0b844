"""Methods of NumPy's universal functions: reduce, accumulate, outer, at, reduceat.

Operations with a reduction of their own take it; associative ones are folded by halves, others from
the first element to the last in a loop.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.api.control import loops
from agnesi.core import shapes
from agnesi.core.public import into
from agnesi.core.tensor import Tensor
from agnesi.ops.base import reduce
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.ensure import ensure
from agnesi.ops.base.expand import broadcast_to
from agnesi.ops.base.movement import moveaxis, reshape
from agnesi.ops.base.select import where as choose
from agnesi.ops.indexing import scatter
from agnesi.ops.indexing.index import take
from agnesi.ops.indexing.join import concat
from agnesi.ops.reductions import extremes, log_sums, running

Binary = Callable[..., Tensor]

_SAME: dict[str, Callable[..., Tensor]] = {
    "add": reduce.sum, "multiply": reduce.prod, "maximum": reduce.max, "minimum": reduce.min,
    "logical_and": reduce.all, "logical_or": reduce.any,
}
_ASSOCIATIVE = frozenset(
    "fmax fmin logaddexp logaddexp2 hypot gcd lcm bitwise_and bitwise_or bitwise_xor "
    "logical_xor".split()
)
_RUNNING: dict[str, Callable[..., Tensor]] = {
    "add": running.cumsum, "multiply": running.cumprod,
    "maximum": functools.partial(extremes.running, extremes.CumMax),
    "minimum": functools.partial(extremes.running, extremes.CumMin),
}
#: What an operation leaves as it is, for elements that do not count.
_NEUTRAL = {
    "add": 0, "multiply": 1, "logical_and": True, "logical_or": False, "logical_xor": False,
    "bitwise_or": 0, "bitwise_xor": 0, "bitwise_and": -1, "hypot": 0, "gcd": 0, "lcm": 1,
    "logaddexp": -np.inf, "logaddexp2": -np.inf, "fmax": np.nan, "fmin": np.nan,
}

#: Functions without an identity: an empty reduction needs ``initial``.
_NO_IDENTITY = frozenset(["fmax", "fmin", "lcm"])


def fold(f: Binary, x: Any, axis: Any = 0, *, dtype: Any = None, out: Tensor | None = None,
         keepdims: bool = False, initial: Any = None, where: Any = None) -> Tensor:
    """``f.reduce(x)``: the operation between all elements along an axis."""
    name, x = f.__name__, as_tensor(x)
    x = x if dtype is None else x.astype(dtype)
    if name in _SAME:
        words = {"where": where, "initial": None if name.startswith("logical_") else initial}
        found = _SAME[name](x, axis, keepdims=keepdims,
                            **{k: v for k, v in words.items() if v is not None})
        if initial is not None and words["initial"] is None:
            found = f(initial, found)
        return found if out is None else into(out, found)
    x = _of_results(f, x)
    axes = shapes.axes_of(axis, x.ndim)
    if len(axes) > 1 and name not in _ASSOCIATIVE:
        raise ValueError(f"{name}.reduce has an order, so it runs along one axis, not {axis}")
    if where is not None:
        if name not in _NEUTRAL:
            raise ValueError(f"{name}.reduce has nothing to put where elements do not count")
        x = choose(where, x, as_tensor(_NEUTRAL[name], x.dtype))
    if initial is not None and name not in _ASSOCIATIVE:
        row = (*x.shape[:axes[0]], 1, *x.shape[axes[0] + 1:])
        x = concat([broadcast_to(as_tensor(initial, x.dtype), row), x], axes[0])
    for i in axes:
        x = _along(f, x if initial is not None else _with_elements(f, x, i), i)
    if initial is not None and name in _ASSOCIATIVE:
        x = f(as_tensor(initial, x.dtype), x)
    found = x if keepdims else reshape(x, shapes.reduced(x.shape, axes, False))
    return found if out is None else into(out, found)


def _of_results(f: Binary, x: Tensor) -> Tensor:
    """The operand in the dtype that results have, which are operands again."""
    name, few = f.__name__, np.empty(0, x.dtype)
    dtype = f(few, few).dtype
    if dtype.kind == "b" != x.dtype.kind and not name.startswith("logical_"):
        raise TypeError(f"{name} gives bools, which it cannot take beside {x.dtype}: "
                        "compare neighbours, as in x[1:] < x[:-1]")
    return x.astype(dtype)


def _with_elements(f: Binary, x: Tensor, axis: int) -> Tensor:
    """The operand; an error where there is nothing along an axis, and no number stands for it."""
    name, n = f.__name__, x.shape[axis]
    if name in _NEUTRAL and name not in _NO_IDENTITY:
        return x
    message = f"{name}.reduce of no elements; give it at least one, or initial"
    if isinstance(n, int) and n == 0:
        raise ValueError(message)
    return x if isinstance(n, int) else ensure(x, as_tensor(n) > 0, message)


def _along(f: Binary, x: Tensor, axis: int) -> Tensor:
    """The fold along one axis, which stays with one element."""
    front, name = (slice(None),) * axis, f.__name__
    n = x.shape[axis]
    if n == 0:
        size = (*x.shape[:axis], 1, *x.shape[axis + 1:])
        return choose(np.zeros(size, bool), as_tensor(0, x.dtype),
                      as_tensor(_NEUTRAL[name], x.dtype))
    if name in _ASSOCIATIVE and isinstance(n, int):
        return _halved(f, x, axis)
    first = x[(*front, slice(0, 1))]
    if name == "subtract":
        return first - reduce.sum(x[(*front, slice(1, None))], axis, keepdims=True)
    if name == "divide":
        return first / reduce.prod(x[(*front, slice(1, None))], axis, keepdims=True)
    rows = moveaxis(x, axis, 0)
    first = _first(rows, _NEUTRAL.get(name, 0))
    last, _ = loops.scan(lambda carry, row: (f(carry, row), None), first, rows[1:])
    return moveaxis(last[None], 0, axis)


def _first(rows: Tensor, blank: Any) -> Tensor:
    """The first row; a ``blank`` one where only the run knows whether there are rows, and none is.
    """
    if isinstance(rows.shape[0], int):
        return rows[0]
    row = broadcast_to(as_tensor(blank, rows.dtype), (1, *rows.shape[1:]))
    return concat([rows[:1], row])[0]


def _halved(f: Binary, x: Tensor, axis: int) -> Tensor:
    """First half with second half, until one element is left."""
    front, rest = (slice(None),) * axis, None
    while (n := x.shape[axis]) > 1:
        half = n // 2
        if n % 2:
            last = x[(*front, slice(n - 1, n))]
            rest = last if rest is None else f(last, rest)
        x = f(x[(*front, slice(0, half))], x[(*front, slice(half, 2 * half))])
    return x if rest is None else f(x, rest)


def accumulate(f: Binary, x: Any, axis: int = 0, *, dtype: Any = None, out: Tensor | None = None
               ) -> Tensor:
    """``f.accumulate(x)``: the folds of all first elements along an axis."""
    x = as_tensor(x)
    x = x if dtype is None else x.astype(dtype)
    if f.__name__ in _RUNNING:
        found = _RUNNING[f.__name__](x, axis)
    elif f.__name__ == "logaddexp" and x.dtype.kind != "c":
        found = log_sums.running(x, axis)
    else:
        x = _of_results(f, x)
        rows = moveaxis(x, axis, 0)

        def step(carry: Tensor, row: Tensor) -> tuple[Tensor, Tensor]:
            carry = f(carry, row)
            return carry, carry

        if x.shape[axis] == 0:
            found = x
        else:
            _, later = loops.scan(step, _first(rows, 0), rows[1:])
            found = moveaxis(concat([rows[:1], later]), 0, axis)
    return found if out is None else into(out, found)


def outer(f: Binary, a: Any, b: Any, *, out: Tensor | None = None) -> Tensor:
    """``f.outer(a, b)``: the operation between every element of ``a`` and every one of ``b``."""
    a, b = as_tensor(a), as_tensor(b)
    found = f(reshape(a, (*a.shape, *(1,) * b.ndim)), b)
    return found if out is None else into(out, found)


def at(f: Binary, x: Tensor, indices: Any, b: Any) -> None:
    """``f.at(x, indices, b)``: ``x[indices] = f(x[indices], b)``, repeated places one by one."""
    if f.__name__ in ("add", "subtract"):
        x[...] = scatter.index_put(x, indices, b if f.__name__ == "add" else -as_tensor(b),
                                   accumulate=True)
        return
    places = np.arange(int(np.prod(x.shape))).reshape(x.shape)[
        indices.numpy() if isinstance(indices, Tensor) else indices]
    flat = reshape(x, (-1,))
    values = as_tensor(b, x.dtype).broadcast_to(places.shape).reshape(-1)
    # Each round holds places that differ, in the order in which they come.
    left = np.arange(places.size)
    while left.size:
        _, first = np.unique(places.reshape(-1)[left], return_index=True)
        chosen = left[np.sort(first)]
        spots = places.reshape(-1)[chosen]
        flat = scatter.index_put(flat, spots, f(flat[spots], values[chosen]))
        left = np.setdiff1d(left, chosen)
    x[...] = reshape(flat, x.shape)


def reduceat(f: Binary, x: Any, indices: Any, axis: int = 0, *, out: Tensor | None = None
             ) -> Tensor:
    """``f.reduceat(x, indices)``: folds from each index to the next; of one element where the next
    is not further."""
    x, starts = as_tensor(x), [int(i) for i in np.asarray(indices)]
    n, front = x.shape[axis], (slice(None),) * (axis % x.ndim)
    parts = []
    for start, stop in zip(starts, [*starts[1:], None], strict=True):
        if isinstance(n, int) and not 0 <= start < n:
            raise IndexError(f"index {start} is out of range for {n} elements")
        piece = x[(*front, slice(start, None if stop is None else max(stop, start + 1)))]
        parts.append(fold(f, piece, axis, keepdims=True))
    found = concat(parts, axis) if parts else take(x, np.zeros(0, int), axis)
    return found if out is None else into(out, found)


METHODS = {"reduce": fold, "accumulate": accumulate, "outer": outer, "at": at, "reduceat": reduceat}
