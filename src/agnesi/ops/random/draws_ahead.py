"""Blocks that are made ahead: programs draw a few numbers again and again, and NumPy makes many
blocks in about the time of one.

What is made depends on key and counter alone, so that it does not matter who makes it, or when.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

#: Blocks that are made for small draws, at first; where draws of a stream go on, twice as many each
#: time, up to the second number.
_BLOCKS, _MAX_MADE = 256, 4096
#: The most blocks that a draw takes of those.
MOST_BLOCKS = 1024
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
    width = 0 if rows is None else rows.shape[1]
    if not 0 <= first - start <= width - count:
        if len(_made) >= _MAX_STREAMS:
            _made.clear()
        many = _BLOCKS if 4 * count <= _BLOCKS else count
        if 0 <= first - start <= width:  # the draws go on
            many = max(many, min(_MAX_MADE, max(2 * width, 4 * count)))
        start, rows = _made[key] = first, np.ascontiguousarray(make(state, many))
    assert rows is not None
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
