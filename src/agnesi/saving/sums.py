"""Checksums of bytes, as fast as NumPy reads them: what storage and wires damage does not pass.

A piece is rows of 16384 words of 32 bits.  ``sum = sum * M + row`` makes one row of all, so that a
changed, moved or missing word changes its lane (M is odd, and not 1); CRC-32 makes a number of it.
Older files have the CRC-32 of the bytes themselves.
"""

from __future__ import annotations

import zlib

import numpy as np

#: Words of a row: they stay in a core's caches.
LANES = 1 << 14
_ROW = 4 * LANES
_FACTOR = np.uint32(2654435761)


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
        for row in np.frombuffer(data[: rows * _ROW], "<u4").reshape(rows, LANES):
            np.multiply(total, _FACTOR, total)
            np.add(total, row, total)
        self._rest = zlib.crc32(data[rows * _ROW:], self._rest)

    def value(self) -> int:
        """A number of 32 bits."""
        found = zlib.crc32(self._sum.tobytes(), self._rest)
        return zlib.crc32(self._count.to_bytes(8, "little"), found)


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
