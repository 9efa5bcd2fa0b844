"""Long calls of other libraries out of compiled code, beside the main thread.

LAPACK looks for no signals.  So such a call works on copies, in another thread, while the main
thread waits and is interrupted at once: the copies are not read then.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from agnesi.core.ir.foreign import SCRATCH, WRITTEN
from agnesi.core.support.worker_threads import MIN_ASIDE_NANOSECONDS, aside


def beside(table: int) -> None:
    """Make the call that a table describes: the function, how many arguments, and for each of
    these, which are all pointers, the address, the bytes and what it is."""
    function, count = (ctypes.c_int64 * 2).from_address(table)
    words = np.array((ctypes.c_int64 * (3 * count)).from_address(table + 16)).reshape(count, 3)
    arguments: list[list[int]] = words.tolist()
    try:
        copies = {address: np.empty(size, np.uint8) for address, size, _ in arguments}
    except MemoryError:
        _call(function, [address for address, _, _ in arguments], None)
        return
    for address, size, kind in arguments:
        if kind != SCRATCH:
            ctypes.memmove(_address(copies[address]), address, size)
    given = [_address(copies[address]) for address, _, _ in arguments]
    aside(MIN_ASIDE_NANOSECONDS, _call, function, given, copies)
    for address, size, kind in arguments:
        if kind == WRITTEN:
            ctypes.memmove(address, _address(copies[address]), size)


def _address(x: np.ndarray) -> int:
    return x.ctypes.data


def _call(function: int, addresses: list[int], kept: Any) -> None:
    """Call a function with pointers; ``kept`` is what they lead to."""
    ctypes.CFUNCTYPE(None)(function)(*map(ctypes.c_void_p, addresses))
