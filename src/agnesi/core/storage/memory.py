"""Memory for large results of eager operations.

Fresh memory costs more than the computation that fills it: every page faults once.  So large
results come from a pool that keeps what was freed, where the library's native runtime can run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from agnesi.core.support.worker_threads import MIN_ASIDE_NANOSECONDS, spread, stepped_time

#: Bytes from which a result is worth pooled memory.
MIN_POOLED_BYTES = 1 << 17
#: Elements from which a result is worth pooled memory, whatever their dtype.
MIN_POOLED_ELEMENTS = MIN_POOLED_BYTES // 4
#: How often as many elements small operands may spread over together in the thread that calls.
_MOST_SPREAD = 8  # written out in ``runtime/native/eager.ll``

Empty = Callable[[tuple[int, ...], Any], np.ndarray]
_empty: Empty = np.empty


def use(empty: Empty) -> None:
    """Set the function that allocates arrays."""
    global _empty
    _empty = empty


def are_few(xs: Sequence[np.ndarray], limit: int = MIN_POOLED_ELEMENTS) -> bool:
    """Return whether all operands have fewer elements than ``limit``, and an elementwise or outer
    result of them has few more."""
    sizes = [x.size for x in xs]
    most = _MOST_SPREAD * limit
    return max(sizes) < limit and (math.prod(sizes) <= most or spread(xs) <= most)


def are_quick(xs: Sequence[np.ndarray], limit: int, nanoseconds: int,
              stepped: Sequence[int]) -> bool:
    """Return whether :func:`are_few` holds, and a signal may wait for so many elements of so many
    nanoseconds, or of as many steps as operands at the positions ``stepped`` are large."""
    return are_few(xs, limit) and not (stepped and stepped_time(
        xs, spread(xs), nanoseconds, stepped) >= MIN_ASIDE_NANOSECONDS)


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
