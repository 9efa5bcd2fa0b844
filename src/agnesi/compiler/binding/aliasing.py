"""Alias analysis of arguments and state: graphs know values, not memory that overlaps."""

from __future__ import annotations

import operator
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from agnesi.core.storage.changes import overlap
from agnesi.core.support.config import STATE
from agnesi.core.tensor import Tensor


def _bounds(array: np.ndarray) -> tuple[int, int]:
    """Return the begin and end of an array's memory."""
    if array.flags.c_contiguous:
        start = array.__array_interface__["data"][0]
        return start, start + array.nbytes
    return np.lib.array_utils.byte_bounds(array)


class Regions:
    """The memory of arrays that do not overlap, searched by address."""

    def __init__(self, arrays: Sequence[np.ndarray]) -> None:
        spans = sorted([(*_bounds(a), i) for i, a in enumerate(arrays) if a.size])
        self.starts = [s for s, _, _ in spans]
        self.arrays = [arrays[i] for _, _, i in spans]
        #: How far the arrays up to each one reach.
        self.reach: list[int] = []
        for _, end, _ in spans:
            self.reach.append(max(end, self.reach[-1] if self.reach else 0))
        #: Whether no array begins before the others before it end.
        self.apart = all(map(operator.ge, self.starts[1:], self.reach))

    def near(self, array: np.ndarray) -> list[np.ndarray]:
        """The arrays whose memory might overlap that of ``array``."""
        if not array.size or not self.starts:
            return []
        low, high = _bounds(array)
        found = []
        i = bisect_left(self.starts, high) - 1
        while i >= 0 and self.reach[i] > low:
            found.append(self.arrays[i])
            i -= 1
        return found

    def touch(self, array: np.ndarray) -> bool:
        """Return whether one of the arrays overlaps ``array``."""
        return any(overlap(a, array) for a in self.near(array))


class Footprint:
    """The memory that a function uses beside its arguments.

    :param written, read: Tensors that it changes, and others that it reads.
    :param mutated: Indices of the arguments that it changes.
    """

    def __init__(self, written: Sequence[Tensor], read: Sequence[Tensor],
                 mutated: Sequence[int]) -> None:
        self.tensors = [*written, *read]
        self.count = len(written)
        self.mutated = frozenset(mutated)
        self._look()

    def adopt(self, swap: Mapping[int, Tensor]) -> None:
        """Replace the tracked tensors by others; ``swap`` maps the id of a present tensor to its
        replacement.
        """
        self.tensors = [swap.get(id(t), t) for t in self.tensors]
        self._look()

    def show(self, arguments: Sequence[Any]) -> None:
        """Call the watch function of the current mode, if there is one, on each tensor that is
        about to be written, written arguments included.
        """
        for t in (*self.tensors[: self.count], *arguments):
            if isinstance(t, Tensor):
                STATE.watch(t)

    def tangled(self, arguments: Mapping[int, np.ndarray]) -> bool:
        """Return whether memory that is written overlaps any other memory that the call reads or
        writes.
        """
        if not self.count and not self.mutated:
            return False
        if any(t.array is not a for t, a in zip(self.tensors, self._arrays, strict=True)):
            self._look()
        return (
            self._within
            or any(self._written.touch(a) for a in arguments.values())
            or any(
                self._touches(i, a, arguments) for i, a in arguments.items() if i in self.mutated
            )
        )

    def _touches(self, k: int, array: np.ndarray, arguments: Mapping[int, np.ndarray]) -> bool:
        return self._read.touch(array) or any(
            overlap(array, other) for i, other in arguments.items() if i != k
        )

    def _look(self) -> None:
        self._arrays: list[np.ndarray] = [t.array for t in self.tensors]
        written, read = self._arrays[: self.count], self._arrays[self.count :]
        self._written, self._read = Regions(written), Regions(read)
        self._within = any(map(self._written.touch, read)) or (not self._written.apart and any(
            a is not b and overlap(a, b) for a in written for b in self._written.near(a)
        ))


def are_alike(before: Any, now: Any) -> bool:
    """Return whether two gradients have the same shape, dtype and strides, each in memory that no
    other tensor or array uses.
    """
    if not isinstance(before, Tensor) or not isinstance(now, Tensor):
        return False
    return all(
        t.array is not None and not isinstance(t.array.base, np.ndarray) and t._view is None
        and t.node is None and not t._requires_grad and t.array.flags.writeable
        for t in (before, now)
    ) and (before.shape, before.dtype, before.array.strides) == (
        now.shape, now.dtype, now.array.strides)


Pair = tuple[int, int, int, int]


def pairs(
    written: Sequence[int], arguments: Sequence[int], states: Sequence[np.ndarray]
) -> list[Pair]:
    """Pairs of buffers, by number and bytes, of which one is written and one is an argument.

    Buffers are the arguments, given by their bytes, and then the states.
    """
    sizes = [*arguments, *(s.nbytes for s in states)]
    changed = frozenset(written)
    return [
        (a, sizes[a], b, sizes[b])
        for a in written for b in range(len(arguments) if a >= len(arguments) else len(sizes))
        if sizes[a] and sizes[b] and (a < b or b not in changed) and a != b
    ]


def footprint(trace: Any, updates: Sequence[Any], mutated: Sequence[int]) -> Footprint:
    """The memory that what was traced writes and reads, besides arguments."""
    written = [t for t, _ in updates if isinstance(t, Tensor)]
    known = {id(t) for t in written}
    read = [x for x, _ in trace.leaves.values() if x._view is None and id(x) not in known]
    return Footprint(written, read, mutated)
