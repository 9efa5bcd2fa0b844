"""Pooling whose windows are sizes that only the run knows: each window's elements are taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agnesi.api import functions as F
from agnesi.core.ir.dims import combine


def taken(x: Any, size: Sequence[Any], step: Sequence[Any], around: Sequence[Any], whole: bool,
          mode: str) -> Any:
    """The largest element, sum or mean of windows of the last axes; see ``pool.pool_2d``."""
    if mode == "max":
        return _reduced(x, size, step, around, whole, F.amax)
    total = _reduced(x, size, step, around, whole, F.sum)
    if mode == "sum":
        return total
    elements: Any = 1
    for n in size:
        elements = elements * n
    if mode == "average_inc_pad" and whole:
        return total / elements
    return total / _reduced(F.ones_like(x), size, step, around, whole, F.sum)


def _reduced(x: Any, size: Sequence[Any], step: Sequence[Any], around: Sequence[Any], whole: bool,
             reduce: Any) -> Any:
    """A reduction of windows, axis by axis."""
    nothing = float("-inf") if reduce is F.amax else 0
    for axis, (k, s, p) in enumerate(zip(size, step, around, strict=True), x.ndim - len(size)):
        n = x.shape[axis]
        places = F.arange(windows(n + 2 * p, k, s, whole)).reshape((-1, 1)) * s - p + F.arange(k)
        inside = (places >= 0) & (places < n)
        found = F.take(x, F.where(inside, places, 0), axis)  # (..., windows, k, ...)
        behind = (*inside.shape, *[1] * (x.ndim - axis - 1))
        x = reduce(F.where(inside.reshape(behind), found, nothing), axis + 1)
    return x


def windows(n: Any, k: Any, s: Any, whole: bool) -> Any:
    """How many windows of ``k`` at distances of ``s`` an axis of ``n`` has."""
    if whole:
        return (n - k) // s + 1
    starts, ends = (n - 1) // s + 1, combine("max", (n - 1 - k + s) // s, 0) + 1
    return 0 - combine("max", 0 - starts, 0 - ends)  # the fewer
