"""Sorts of arrays at hand by native code."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np

from agnesi.core.ir.calls.sorting import VECTOR_BYTES, Sorting
from agnesi.core.support.config import LENT, config

_Function = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64
)
#: Elements that NumPy sorts in about the time that making the native code takes.
_COMPILE_ELEMENTS = 1_000_000

_sorted = 0


@functools.cache
def _function(name: str) -> Any:
    from agnesi.compiler.library.functions import address

    return _Function(address("sort", name))


def sort(x: np.ndarray, axis: int, descending: bool, places: bool) -> np.ndarray | None:
    """An array's values in order, or their places; None where Python should do it.

    Native code is made once that has been wanted often enough.
    """
    global _sorted
    wanted = Sorting(x.shape, x.dtype.name, axis, descending, places)
    if not (config.compile and wanted.possible and x.dtype.isnative):
        return None
    _sorted += x.size
    if _sorted < _COMPILE_ELEMENTS or not x.size or not LENT.compiles():
        return None
    return sorted_by_code(x, wanted)


def sorted_by_code(x: np.ndarray, wanted: Sorting) -> np.ndarray:
    """The same, at once.

    Examples
    --------
    >>> import numpy as np
    >>> from agnesi.compiler.library.sorting import sorted_by_code
    >>> from agnesi.core.ir.calls.sorting import Sorting
    >>> sorted_by_code(np.array([3, 1, 2]), Sorting((3,), "int64", 0, False, False))
    array([1, 2, 3])
    """
    x = np.ascontiguousarray(x)
    result = np.empty(x.shape, np.int64 if wanted.places else x.dtype)
    units = wanted.units
    room = np.empty(int(wanted.room) * units + VECTOR_BYTES, np.uint8)
    aligned = -(-room.ctypes.data // VECTOR_BYTES) * VECTOR_BYTES
    table = np.array([x.ctypes.data, result.ctypes.data, aligned, *wanted.numbers], np.int64)
    _function(wanted.symbol.partition(":")[2])(table.ctypes.data, 0, units, 0)
    return result
