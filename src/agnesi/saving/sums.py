"""Checksums of bytes, as fast as NumPy reads them: what storage and wires damage does not pass.

A piece is rows of 16384 words of 32 bits.  ``sum = sum * M + row`` makes one row of all, so that a
changed, moved or missing word changes its lane (M is odd, and not 1); CRC-32 makes a number of it.
Older files have the CRC-32 of the bytes themselves.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from agnesi.compiler.eager import compiles
from agnesi.compiler.jit import jit
from agnesi.core.support.config import config
from agnesi.core.tensor import wrap

#: Words of a row: they stay in a core's caches.
LANES = 1 << 14
_ROW = 4 * LANES
_FACTOR = 2654435761
#: Rows that compiled code adds at once: each word is read once, at the speed of memory.
_ROWS_A_STEP = 4
#: Steps that NumPy makes, a GiB, before compiling pays.
_WAITING_STEPS = (1 << 30) // (_ROWS_A_STEP * _ROW)
_STEPS = count()


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
        for k in range(0, rows, _ROWS_A_STEP):
            step = words[k : k + _ROWS_A_STEP]
            (_compiled() if _pays(step) else _by_numpy)(total, step)
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


def _pays(step: np.ndarray) -> bool:
    """Return whether compiled code is to add some rows; counts the steps before."""
    return (len(step) == _ROWS_A_STEP and next(_STEPS) >= _WAITING_STEPS and config.compile
            and step.dtype.isnative and compiles())


@functools.cache
def _compiled() -> Callable[[np.ndarray, np.ndarray], None]:
    """The same in one pass, by compiled code."""
    powers = [np.uint32(pow(_FACTOR, k, 1 << 32)) for k in range(_ROWS_A_STEP + 1)]

    def step(total: Any, rows: Any) -> None:
        found = total * powers[-1]
        for row, power in zip(rows, powers[-2::-1], strict=True):
            found = found + row * power
        total.copy_(found)

    compiled = jit(step)
    return lambda total, rows: compiled(wrap(total), wrap(rows))


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
