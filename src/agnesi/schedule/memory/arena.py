"""Static memory planning: offsets in one arena for buffers of different lifetimes."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

#: Bytes to which buffers are aligned: a line of the caches.
ALIGN_BYTES = 64
#: Blocks from which only the order of time is tried: trying all others would be quadratic.
_MAX_SEARCHED_BLOCKS = 3000
#: Blocks from which no other order is tried where little memory could be saved.
_MIN_SKIPPED_BLOCKS = 128
#: Such a saving is less than the peak divided by this.
_MIN_SAVED_DIVISOR = 25


class Block(NamedTuple):
    """Bytes that are needed from one kernel to another, both included."""

    size: int
    first: int
    last: int


def rounded(nbytes: int) -> int:
    """Bytes that a buffer takes in the arena."""
    return -(-max(nbytes, 1) // ALIGN_BYTES) * ALIGN_BYTES


def most_alive(blocks: Sequence[Block]) -> int:
    """Return the peak of live bytes, a lower bound of the arena's size."""
    changes: dict[int, int] = {}
    for size, first, last in blocks:
        changes[first] = changes.get(first, 0) + size
        changes[last + 1] = changes.get(last + 1, 0) - size
    alive = most = 0
    for _, change in sorted(changes.items()):
        alive += change
        most = max(most, alive)
    return most


def assign_offsets(blocks: Sequence[Block]) -> tuple[list[int], int]:
    """Return an offset for every block, and the size of the arena.

    Blocks are placed one by one into the tightest gap among the blocks that live at the same time
    (best fit); the best of several orders is taken.
    """
    goal = most_alive(blocks)
    if len(blocks) > _MIN_SKIPPED_BLOCKS:
        goal += goal // _MIN_SAVED_DIVISOR
    best, total = _in_time(blocks)
    if len(blocks) > _MAX_SEARCHED_BLOCKS:
        return best, total
    keys: tuple[Callable[[Block], tuple[int, ...]], ...] = (
        lambda b: (-b.size, b.first),
        lambda b: (-b.size * (b.last - b.first + 1), b.first),
        lambda b: (b.first - b.last, -b.size),
    )
    for key in keys:
        if total <= goal:
            break
        order = sorted(range(len(blocks)), key=lambda i: key(blocks[i]))
        offsets, size = _one_by_one(blocks, order)
        if size < total:
            best, total = offsets, size
    return best, total


def _one_by_one(blocks: Sequence[Block], order: Sequence[int]) -> tuple[list[int], int]:
    """Blocks in a given order, each in the tightest gap among those before it."""
    offsets = [0] * len(blocks)
    taken = np.zeros((len(blocks), 4), np.int64)  # offset, size, first, last
    total = 0
    for count, i in enumerate(order):
        size, first, last = blocks[i]
        before = taken[:count]
        busy = before[(before[:, 2] <= last) & (before[:, 3] >= first)]
        offset = _tightest(size, busy[np.argsort(busy[:, 0], kind="stable")].tolist())
        offsets[i] = offset
        taken[count] = offset, size, first, last
        total = max(total, offset + size)
    return offsets, total


def _tightest(size: int, busy: Sequence[Sequence[int]]) -> int:
    """The smallest gap that is large enough; behind everything if there is none."""
    end, best, slack = 0, -1, 0
    for offset, length, *_ in busy:
        gap = offset - end
        if gap >= size and (best < 0 or gap < slack):
            best, slack = end, gap
        end = max(end, offset + length)
    return end if best < 0 else best


def _in_time(blocks: Sequence[Block]) -> tuple[list[int], int]:
    """Blocks as they come to life, each in the tightest gap that is free then."""
    offsets = [0] * len(blocks)
    ends = sorted(range(len(blocks)), key=lambda i: blocks[i].last)
    free = _Free()
    dead = 0
    for i in sorted(range(len(blocks)), key=lambda i: (blocks[i].first, -blocks[i].size)):
        while blocks[ends[dead]].last < blocks[i].first:
            free.give(offsets[ends[dead]], blocks[ends[dead]].size)
            dead += 1
        offsets[i] = free.take(blocks[i].size)
    return offsets, free.end


class _Free:
    """Free ranges below ``end``, which grows if none is large enough."""

    def __init__(self) -> None:
        self.end = 0
        self.by_size: list[tuple[int, int]] = []  # size, offset
        self.starts: dict[int, int] = {}  # offset to size
        self.stops: dict[int, int] = {}  # end to offset

    def take(self, size: int) -> int:
        at = bisect.bisect_left(self.by_size, (size, 0))
        if at < len(self.by_size):
            length, offset = self.by_size[at]
            self._remove(offset, length)
        elif self.end in self.stops:  # the last range grows
            offset = self.stops[self.end]
            length = self.starts[offset]
            self._remove(offset, length)
            self.end, length = offset + size, size
        else:
            offset, length, self.end = self.end, size, self.end + size
        if length > size:
            self._add(offset + size, length - size)
        return offset

    def give(self, offset: int, size: int) -> None:
        before = self.stops.get(offset)
        if before is not None:
            length = self.starts[before]
            self._remove(before, length)
            offset, size = before, size + length
        after = self.starts.get(offset + size)
        if after is not None:
            self._remove(offset + size, after)
            size += after
        self._add(offset, size)

    def _add(self, offset: int, size: int) -> None:
        bisect.insort(self.by_size, (size, offset))
        self.starts[offset] = size
        self.stops[offset + size] = offset

    def _remove(self, offset: int, size: int) -> None:
        del self.by_size[bisect.bisect_left(self.by_size, (size, offset))]
        del self.starts[offset]
        del self.stops[offset + size]
