"""Memory for large results of eager operations.

Fresh memory costs more than the computation that fills it: every page faults once.  So large
results come from a pool that keeps what was freed, where the library's native runtime can run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

#: Bytes from which a result is worth pooled memory.
MIN_POOLED_BYTES = 1 << 17

Empty = Callable[[tuple[int, ...], Any], np.ndarray]
_empty: Empty = np.empty


def use(empty: Empty) -> None:
    """Take memory from this function from now on."""
    global _empty
    _empty = empty


def copied(array: np.ndarray) -> np.ndarray:
    """A copy in row-major order; a large one begins with a line of the caches, as vectors like."""
    if array.nbytes < MIN_POOLED_BYTES:
        return np.array(array, copy=True, order="C")
    fresh = empty(array.shape, array.dtype)
    fresh[...] = array
    return fresh


def empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """A new array, not initialised."""
    return _empty(shape, dtype)
