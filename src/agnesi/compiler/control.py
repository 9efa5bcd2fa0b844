"""Threads and the compile cache: what users set of the runtime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.runtime import diskcache, pool, threads


def pooled_empty() -> Callable[[tuple[int, ...], Any], np.ndarray]:
    """``empty(shape, dtype)`` from the pool; NumPy's own where the native runtime cannot run."""
    try:
        found: Callable[[tuple[int, ...], Any], np.ndarray] = pool.allocator()
    except (ImportError, RuntimeError, OSError):
        return np.empty
    return found


def set_num_threads(count: int) -> None:
    """Let compiled functions use this many threads from now on.

    Results do not depend on it.

    Parameters
    ----------
    count : int
        At least 1; 1 keeps all work in the calling thread.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.set_num_threads(2)
    >>> ag.get_num_threads()
    2
    """
    threads.set_num_threads(count)


def get_num_threads() -> int:
    """Number of threads that compiled functions use.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.get_num_threads() >= 1
    True
    """
    return threads.get_num_threads()


def clear_cache() -> int:
    """Remove everything from the compile cache on disk; returns how many entries there were.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.clear_cache() >= 0
    True
    """
    return diskcache.clear()
