"""Blocks that are made ahead: programs draw a few numbers again and again, and NumPy makes many
blocks in about the time of one.

What is made depends on key and counter alone, so that it does not matter who makes it, or when.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

#: Blocks that are made at a time, and the most that a draw takes of them.
_BLOCKS, MOST_BLOCKS = 256, 64
#: Streams that are kept in mind.
_MAX_STREAMS = 32

#: By what is made and of which key, the first block, and a row of each number of the blocks.
_made: dict[Hashable, tuple[int, np.ndarray]] = {}


def blocks(what: Hashable, state: np.ndarray, count: int,
           make: Callable[[np.ndarray, int], np.ndarray]) -> np.ndarray:
    """Return the numbers of ``make(state, count)``, read-only, a column for each block."""
    key0, key1, low, high = state.tolist()
    first = low | high << 32
    key = what, key0, key1
    start, rows = _made.get(key, (-1, None))
    if rows is None or not 0 <= first - start <= _BLOCKS - count:
        if len(_made) >= _MAX_STREAMS:
            _made.clear()
        start, rows = _made[key] = first, np.ascontiguousarray(make(state, _BLOCKS))
    offset = first - start
    found: Any = rows[:, offset: offset + count]
    return found


def held(what: Hashable, state: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The state before what was made of a stream last, and the rows of that."""
    key0, key1, *_ = state.tolist()
    start, rows = _made.get((what, key0, key1), (0, None))
    if rows is None:
        return None
    return np.array([key0, key1, start & 0xFFFFFFFF, start >> 32], np.uint32), rows
