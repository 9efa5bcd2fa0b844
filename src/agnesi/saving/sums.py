"""Checksums of bytes, as fast as NumPy reads them: what storage and wires damage does not pass.

A piece is rows of 16384 words of 32 bits.  ``sum = sum * M + row`` makes one row of all, so that a
changed, moved or missing word changes its lane (M is odd, and not 1); CRC-32 makes a number of it.
Older files have the CRC-32 of the bytes themselves.
"""

from __future__ import annotations

import ctypes
import functools
import zlib
from collections.abc import Callable

import numpy as np

from agnesi.compiler.eager import compiles, of_runtime
from agnesi.core.support.config import config

#: Words of a row: they stay in a core's caches.
LANES = 1 << 14
_ROW = 4 * LANES
_FACTOR = 2654435761
#: Rows that native code adds at once: each word is read once, at the speed of memory.
_ROWS_A_STEP = 4
_POWERS = (ctypes.c_uint32 * _ROWS_A_STEP)(
    *(pow(_FACTOR, k, 1 << 32) for k in range(1, _ROWS_A_STEP + 1)))
#: Bytes that NumPy adds before it pays to load native code.
_WAITING_BYTES = 1 << 30
_waited = 0


class Lanes:
    """The checksum of a piece, whose bytes come part by part; all but the last are whole rows."""

    def __init__(self) -> None:
        self._sum = np.zeros(LANES, "<u4")
        self._rest = 0
        self._count = 0

    def add(self, data: memoryview) -> None:
        """More bytes of the piece."""
        total = self._sum
        self._count += len(data)
        rows = len(data) // _ROW
        words = np.frombuffer(data[: rows * _ROW], "<u4").reshape(rows, LANES)
        steps = rows // _ROWS_A_STEP
        add = _native(words) if steps else None
        if add is None:
            steps = 0
        else:
            add(total.ctypes.data, words.ctypes.data, steps, ctypes.addressof(_POWERS))
        _by_numpy(total, words[steps * _ROWS_A_STEP:])
        self._rest = zlib.crc32(data[rows * _ROW:], self._rest)

    def value(self) -> int:
        """A number of 32 bits."""
        found = zlib.crc32(self._sum.tobytes(), self._rest)
        return zlib.crc32(self._count.to_bytes(8, "little"), found)


def _by_numpy(total: np.ndarray, rows: np.ndarray) -> None:
    """Add rows, one after the other."""
    for row in rows:
        np.multiply(total, np.uint32(_FACTOR), total)
        np.add(total, row, total)


def _native(words: np.ndarray) -> Callable[[int, int, int, int], None] | None:
    """Return the native function that adds rows, so many of four; None before it pays to load it.

    It counts the bytes until then.
    """
    global _waited
    if not (words.dtype.isnative and config.compile):
        return None
    address = of_runtime("add_rows", _waited > _WAITING_BYTES and compiles())
    if not address:
        _waited += words.nbytes
        return None
    return _function(address)


@functools.cache
def _function(address: int) -> Callable[[int, int, int, int], None]:
    """The function at an address; other threads run meanwhile."""
    return ctypes.CFUNCTYPE(
        None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)(address)


class Cyclic:
    """The CRC-32 of a piece, as files of agnesi 0.1 have it."""

    def __init__(self) -> None:
        self._found = 0

    def add(self, data: memoryview) -> None:
        """More bytes of the piece."""
        self._found = zlib.crc32(data, self._found)

    def value(self) -> int:
        """A number of 32 bits."""
        return self._found


def lanes(data: memoryview) -> int:
    """The checksum of bytes that are all there."""
    found = Lanes()
    found.add(data)
    return found.value()
