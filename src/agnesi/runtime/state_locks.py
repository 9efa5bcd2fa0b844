"""Locks of compiled state: threads that use memory which a call changes run one after the other.

A lock belongs to memory, whichever tensors are in it, or to an object whose attributes are changed.
Native code takes and gives locks (``native/state_locks.ll``); this module makes them, and takes
them for code in Python.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from agnesi.core.support.config import HOOKS
from agnesi.core.support.forks import at_fork
from agnesi.core.support.undo import Block
from agnesi.runtime import support


class StateLock(ctypes.Structure):
    """The lock of some memory or object: the number of calls that write it at present, and of those
    that read it.
    """

    _fields_ = (("writers", ctypes.c_int64), ("readers", ctypes.c_int64))


class _Use(ctypes.Structure):
    _fields_ = (("lock", ctypes.c_void_p), ("writes", ctypes.c_int64))


class _Held(ctypes.Structure):
    _fields_ = (("taken", ctypes.c_int64), ("count", ctypes.c_int64), ("locks", ctypes.c_void_p))


#: The locks in use, by the ids of what they belong to, which the users of the locks keep alive.
_LOCKS: WeakValueDictionary[int, StateLock] = WeakValueDictionary()


def memory_owner(array: np.ndarray) -> Any:
    """Return the object that an array's memory belongs to, the same for all arrays that view it."""
    found: Any = array
    while isinstance(found, np.ndarray) and found.base is not None:
        found = found.base
    return found


def lock_list(uses: Iterable[tuple[Any, bool]], keep: list[Any]) -> tuple[int, int]:
    """Return the number of locks that a call takes and the address of the list that native code
    reads.

    ``uses`` are pairs of what a lock belongs to and whether it is written.
    """
    writes: dict[int, tuple[Any, bool]] = {}
    for thing, written in uses:
        writes[id(thing)] = thing, written or writes.get(id(thing), (None, False))[1]
    locks = [_LOCKS.get(key) or _LOCKS.setdefault(key, StateLock()) for key in writes]
    records = (_Use * len(locks))(*[
        _Use(ctypes.addressof(t), written)
        for t, (_, written) in zip(locks, writes.values(), strict=True)
    ])
    keep += [locks, records, [thing for thing, _ in writes.values()]]
    return len(locks), ctypes.addressof(records)


class StateLocks(Block):
    """A ``with`` block that holds locks; the same object may be entered by one thread at a time.

    :param uses: What the locks belong to, and whether it is written.
    :type uses: iterable of (object, bool)
    """

    def __init__(self, uses: Iterable[tuple[Any, bool]]) -> None:
        self._held = _Held()
        self._keep: list[Any] = []
        self._held.count, self._held.locks = lock_list(uses, self._keep)

    def again(self) -> StateLocks:
        """Return another block for the same locks, for a thread of its own."""
        new = StateLocks.__new__(StateLocks)
        new._held = _Held(0, self._held.count, self._held.locks)
        new._keep = self._keep
        return new

    def begin(self) -> None:
        begin, _ = _functions()
        begin(ctypes.addressof(self._held))

    def end(self) -> None:
        held = getattr(self, "_held", None)
        if held is not None and held.taken:
            _, end = _functions()
            end(ctypes.addressof(held))


def _functions() -> tuple[Any, Any]:
    """Native code that is called with Python's lock."""
    if not _FOUND:
        code = support.native()
        _FOUND.append((
            ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(code.address("locks_begin")),
            ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(code.address("locks_end")),
        ))
    return _FOUND[0]


_FOUND: list[tuple[Any, Any]] = []


#: Locks of states that were changed last, by the ids of their owners, which they keep.
_BLOCKS: dict[int, tuple[Any, StateLocks]] = {}
_MAX_BLOCKS = 16


def _writing(array: np.ndarray) -> StateLocks:
    """Return a block that holds the write lock of an array's memory."""
    owner = memory_owner(array)
    found = _BLOCKS.get(id(owner))
    if found is None:
        if len(_BLOCKS) >= _MAX_BLOCKS:
            _BLOCKS.clear()
        found = _BLOCKS[id(owner)] = owner, StateLocks([(owner, True)])
    return found[1].again()


HOOKS.lock = _writing


def _begin_again() -> None:
    """Release all locks in a forked process, whose other threads are gone."""
    for lock in _LOCKS.values():
        lock.writers = lock.readers = 0


at_fork(in_child=_begin_again)
