"""Earliest start times of operations, given unlimited execution units (as in list scheduling)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def times(
    order: Sequence[T], operands: Callable[[T], Sequence[T]], step: Callable[[T], int]
) -> tuple[dict[T, int], dict[T, int]]:
    """Return for each node its earliest start, and the length of the longest chain that follows it.

    Makers come first in ``order``; ``step`` is the time from the operands to the result.
    """
    start: dict[T, int] = {}
    left = dict.fromkeys(order, 0)
    for item in order:
        start[item] = max((start[x] + step(x) for x in operands(item)), default=0)
    for item in reversed(order):
        for x in operands(item):
            left[x] = max(left[x], left[item] + step(item))
    return start, left
