"""The pool of freed buffers: arrays whose memory does not page-fault twice."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import math
import threading
from typing import Any

import numpy as np

from agnesi.core.support import host
from agnesi.core.support.worker_threads import started
from agnesi.runtime import support

_KEPT, _LIMIT, _HITS, _MISSES, _LIVE, _PEAK, _BOUND = range(1, 8)
#: Bytes of a block that is worth a thread.
_MIN_THREADED_BYTES = 8 << 20
#: Bytes of the smallest page.
_PAGE_BYTES = 4096


class _Empty(ctypes.Structure):
    _fields_ = (("dtype", ctypes.c_void_p), ("slow", ctypes.c_void_p))


@functools.cache
def allocator() -> Any:
    """Return the native ``empty(shape, dtype)`` of the pool; callers keep the function."""
    context = _Empty(id(np.dtype), id(_empty))
    context.keep = _empty
    return support.builtin("empty", support.native().address("empty"), context)


def empty(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """A new array, not initialised, whose memory returns to the pool with it.

    >>> from agnesi.runtime import pool
    >>> pool.empty((2, 3), "float32").shape
    (2, 3)
    """
    array: np.ndarray = allocator()(shape, dtype)
    return array


def stats() -> dict[str, int]:
    """Bytes handed out (now, and at most), kept, and the limit of that; how requests were served.

    >>> from agnesi.runtime import pool
    >>> sorted(pool.stats())
    ['hits', 'kept', 'limit', 'live', 'misses', 'peak']
    """
    fields = {"kept": _KEPT, "limit": _LIMIT, "hits": _HITS, "misses": _MISSES, "live": _LIVE,
              "peak": _PEAK}
    return {name: support.variable("pool", at).value for name, at in fields.items()}


def prepare(size: int) -> threading.Thread | None:
    """A thread that lets the system find the pages of a block, which will be wanted soon.

    That takes a tenth of a millisecond per MiB.  None where nothing is gained: for small blocks,
    with one core, where memory is bounded, where it matters which processor writes first, and
    while the native module is not there yet.
    """
    if (
        size < _MIN_THREADED_BYTES
        or host.cores() < 2
        or not support.loaded()
        or not host.uniform_memory()
    ):
        return None
    bound, kept = (support.variable("pool", at).value for at in (_BOUND, _LIMIT))
    if bound or size > kept:
        return None
    thread = threading.Thread(target=_touch, args=(size,), name="agnesi-memory")
    return thread if started(thread) else None


def _touch(size: int) -> None:
    # If memory is short, the later allocation raises the error.
    with contextlib.suppress(MemoryError):
        empty((size,), "uint8")[::_PAGE_BYTES] = 0  # gives Python's lock away


def give_back(address: int) -> None:
    """Free a block of the pool that native code allocated and handed over."""
    free = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(support.native().address("pool_free"))
    free(address)


def trim() -> None:
    """Give all kept memory back to the system.

    >>> from agnesi.runtime import pool
    >>> pool.trim()
    >>> pool.stats()["kept"]
    0
    """
    support.call("pool_trim")


def reset_peak() -> None:
    """Set ``peak`` to the bytes handed out now."""
    support.variable("pool", _PEAK).value = support.variable("pool", _LIVE).value


def set_limit(size: int) -> None:
    """Keep at most ``size`` unused bytes (a quarter of the memory unless set)."""
    if size < 0:
        raise ValueError(f"set_limit: the limit must be at least 0 bytes, not {size}")
    support.variable("pool", _LIMIT).value = size


def set_bound(size: int) -> None:
    """Hand out at most ``size`` bytes at one time; 0 is any number."""
    support.variable("pool", _BOUND).value = size


def _empty(shape: Any, dtype: Any) -> np.ndarray:
    """Any other spelling of shape and dtype; what cannot be pooled is NumPy's."""
    given, dtype = dtype, np.dtype(dtype)
    sizes = (shape,) if not hasattr(shape, "__iter__") else shape
    plain = tuple(int(n) for n in sizes)
    fits = all(n >= 0 for n in plain) and math.prod(plain) * dtype.itemsize < 1 << 62
    refused = given is dtype and isinstance(shape, tuple) and all(type(n) is int for n in shape)
    if dtype.kind not in "biufc" or not fits or refused:
        return np.empty(plain, dtype)
    array: np.ndarray = allocator()(plain, dtype)
    return array
