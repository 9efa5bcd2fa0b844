"""The user's control of the runtime: threads, memory and the compile cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.compiler.compilation.limits import byte_count
from agnesi.core.keywords import strict
from agnesi.core.public import higher
from agnesi.runtime import disk_cache, pool, threads


def pooled_empty() -> Callable[[tuple[int, ...], Any], np.ndarray]:
    """``empty(shape, dtype)`` from the pool; NumPy's own where the native runtime cannot run."""
    try:
        found: Callable[[tuple[int, ...], Any], np.ndarray] = pool.allocator()
    except (ImportError, RuntimeError, OSError):
        return np.empty
    return found


@strict
def set_num_threads(count: int) -> None:
    """Set the number of threads of compiled functions from now on.

    Results do not depend on it.

    :param count: At least 1; 1 keeps all work in the calling thread.
    :raises ValueError: If ``count`` is below 1.
    :see: get_num_threads, config

    >>> ag.set_num_threads(2)
    >>> ag.get_num_threads()
    2
    """
    threads.set_num_threads(count)


@strict
def get_num_threads() -> int:
    """Number of threads that compiled functions use.

    :returns: At least 1.
    :see: set_num_threads, config

    >>> ag.get_num_threads() >= 1
    True
    """
    return threads.get_num_threads()


@higher
def memory_stats(*, reset_peak: bool = False) -> dict[str, int]:
    """Return the sizes of the pool from which compiled functions and large results take memory.

    Temporaries of a call come from the pool and go back to it, so functions share them, and a
    second call allocates nothing.

    :param reset_peak: Let ``peak`` start again afterwards.
    :returns: ``live``: bytes in use; ``peak``: the most there were; ``kept``: bytes that wait for
        the next use; ``limit``: how many may wait; ``hits`` and ``misses``: requests served from
        what was kept, and by the system.
    :rtype: dict
    :see: keep_memory, limit_memory

    >>> sorted(ag.memory_stats())
    ['hits', 'kept', 'limit', 'live', 'misses', 'peak']
    """
    found = pool.stats()
    if reset_peak:
        pool.reset_peak()
    return found


@strict
def keep_memory(limit: int | str) -> None:
    """Set how many bytes of freed memory are kept for their next use (at first a quarter of all).

    With 0 all memory is given back as soon as it is free, and every call allocates its temporaries.

    :param limit: Bytes, or text such as "512MB".
    :type limit: int or str
    :raises ValueError: If the limit is negative or no size.
    :see: limit_memory, memory_stats

    >>> before = ag.memory_stats()["limit"]
    >>> ag.keep_memory("1MB")
    >>> ag.memory_stats()["limit"]
    1000000
    >>> ag.keep_memory(before)
    """
    size = 0 if limit == 0 else byte_count(limit, "limit")
    pool.set_limit(size or 0)
    if pool.stats()["kept"] > (size or 0):
        pool.trim()


@strict
def limit_memory(limit: int | str | None) -> None:
    """Limit the bytes that temporaries of compiled functions and large results take.

    A call that finds no memory waits until other calls, in other threads, have given theirs back.

    :param limit: Bytes, or text such as "512MB"; None lifts the limit.
    :type limit: int, str or None
    :raises MemoryError: By later calls: if memory is short and no other call is running.
    :see: keep_memory, memory_stats

    >>> ag.limit_memory("1GB")
    >>> ag.limit_memory(None)
    """
    pool.set_bound(byte_count(limit, "limit") or 0)
    if limit is not None:
        pool.trim()


@strict
def clear_cache() -> int:
    """Remove everything from the compile cache on disk; returns how many entries there were.

    :returns: Entries removed.
    :see: memory_stats, config, jit

    >>> with ag.config(cache=False):  # without it, all that was compiled is removed
    ...     ag.clear_cache()
    0
    """
    return disk_cache.clear()


def cache_report() -> str:
    """Return the contents of the compile cache on disk as text, and which files are not read, and
    why.

    ``python -m agnesi cache show`` prints it.

    :returns: The folder, how many entries there are of each kind, how large they are, and a line
        for each file that is damaged or that another user may have written; or why there is no
        cache.

    >>> import agnesi as ag
    >>> from agnesi.compiler.control import cache_report
    >>> with ag.config(cache=False):
    ...     print(cache_report())
    the cache is off (AGNESI_CACHE, ag.config.cache)
    """
    return disk_cache.report()
