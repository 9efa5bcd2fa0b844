"""Sorts of eager arrays by native code."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np

from agnesi.core.ir.calls.sorting import VECTOR_BYTES, Sorting
from agnesi.core.support.config import HOOKS, config

_Function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
#: Elements that NumPy sorts in about the time that making the native code takes.
_COMPILE_ELEMENTS = 1_000_000

#: Elements that NumPy sorts in about the time of a call.
_CALL_ELEMENTS = 512
#: Most descriptions of sorts in the cache.
_MAX_KEPT = 1024
#: The argument table of a sort: three addresses, then :attr:`Sorting.numbers`.
_Table = ctypes.c_int64 * 11

#: Elements sorted so far in this process.
_sorted = 0


@functools.cache
def _function(name: str) -> Any:
    from agnesi.compiler.library.functions import address

    return _Function(address("sort", name))


@functools.cache
def _possible() -> bool:
    """Return whether there is a compiler, and the native runtime, which sorts call."""
    if not HOOKS.compiles():
        return False
    from agnesi.runtime import support

    return support.usable()


class _Described:
    """A sort with the parameters of its code."""

    def __init__(self, wanted: Sorting) -> None:
        self.function = _function(wanted.symbol.partition(":")[2])
        self.units = wanted.units
        self.workspace = int(wanted.workspace)  # of one thread
        self.numbers = [*map(int, wanted.numbers)]
        self.positions = wanted.positions

    def __call__(self, x: np.ndarray) -> np.ndarray:
        x = np.ascontiguousarray(x)
        result = np.empty(x.shape, np.int64 if self.positions else x.dtype)
        first = 0
        if self.workspace:
            workspace = np.empty(self.workspace + VECTOR_BYTES, np.uint8)
            first = -(-_address(workspace) // VECTOR_BYTES) * VECTOR_BYTES
        table = _Table(_address(x), _address(result), first, *self.numbers)
        self.function(table, 0, self.units, 0)
        return result


def _address(x: np.ndarray) -> int:
    found: int = x.__array_interface__["data"][0]
    return found


@functools.lru_cache(_MAX_KEPT)
def _described(shape: tuple[int, ...], dtype: np.dtype, axis: int, *how: Any) -> _Described | None:
    """The sort of such arrays; None where it is impossible."""
    wanted = Sorting(shape, dtype.name, axis, *how)
    return _Described(wanted) if wanted.possible and dtype.isnative else None


def sort(x: np.ndarray, axis: int, descending: bool, positions: bool, first: int = 0,
         last: int | None = None) -> np.ndarray | None:
    """An array's values in order, or their positions; None where Python should do it.

    Native code is made once that has been wanted often enough.  Values are wanted from ``first`` to
    ``last`` only, if these are given.
    """
    global _sorted
    if not config.compile or x.size < _CALL_ELEMENTS:
        return None
    _sorted += x.size
    if _sorted < _COMPILE_ELEMENTS or not _possible():
        return None
    described = _described(x.shape, x.dtype, axis, descending, positions, first, last)
    return None if described is None else described(x)
