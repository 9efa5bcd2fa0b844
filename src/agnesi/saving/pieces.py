"""Bytes of tensors, piece by piece: read, written and summed up by threads, nothing held twice."""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, BinaryIO

import numpy as np

from agnesi.saving.header import CHECKSUM_BYTES
from agnesi.saving.sums import Cyclic, Lanes, lanes

#: Threads that read and sum up, at most: more wait for the same memory.
MOST_THREADS = 4
#: Bytes that are read at once: they stay in a core's cache until they are summed up.
READ_BYTES = 1 << 18
#: Bytes that a thread copies of what needs no checksum.
SHARED_BYTES = 1 << 20


def flat(array: np.ndarray) -> memoryview:
    """The bytes of an array as files hold them; of a copy where it is in another order."""
    little = array.dtype.newbyteorder("<") if array.dtype.kind in "iufc" else array.dtype
    array = np.ascontiguousarray(array, little)
    return bytes_of(array)


def bytes_of(array: np.ndarray) -> memoryview:
    """The memory of an array that is in row-major order."""
    raw: Any = array.reshape(-1).view(np.uint8)
    return memoryview(raw)


def cut(data: memoryview, size: int) -> Iterator[tuple[int, memoryview]]:
    """Pieces of some bytes, and where they begin."""
    return ((at, data[at : at + size]) for at in range(0, len(data), size))


def write(file: BinaryIO, data: memoryview, pool: ThreadPoolExecutor) -> list[int]:
    """Write bytes, and give the checksums of their pieces."""
    sums = [pool.submit(lanes, piece) for _, piece in cut(data, CHECKSUM_BYTES)]
    file.write(data)
    return [s.result() for s in sums]


class Source:
    """A file that several threads read, each where it wants, from the system's own memory.

    The file must not be shortened meanwhile, as our own writers never do: they put a new one in its
    place.  What is cut off before a piece is read is an EOFError.
    """

    def __init__(self, file: Any, kind: type[Lanes] | type[Cyclic] = Lanes) -> None:
        self.file, self.kind = file, kind
        size = os.fstat(file.fileno()).st_size
        self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
        self._bytes = memoryview(self._map)

    def read(self, place: int, data: memoryview, known: bool) -> int:
        """Read from a place into memory; gives the checksum of what was read, if not known."""
        if known:
            self._fill(place, data)
            return 0
        found = self.kind()
        for begin, sip in cut(data, READ_BYTES):
            self._fill(place + begin, sip)
            found.add(sip)
        return found.value()

    def _fill(self, place: int, data: memoryview) -> None:
        """Copy what is at a place, by the system where it can: its memory has no page faults."""
        if not hasattr(os, "preadv"):  # Windows
            data[:] = self._part(place, len(data))
            return
        while data:
            count = os.preadv(self.file.fileno(), [data], place)
            if not count:
                raise EOFError
            place, data = place + count, data[count:]

    def checksum(self, place: int, nbytes: int) -> int:
        """The checksum of bytes that are not kept."""
        found = self.kind()
        found.add(self._part(place, nbytes))
        return found.value()

    def _part(self, place: int, nbytes: int) -> memoryview:
        if os.fstat(self.file.fileno()).st_size < place + nbytes:
            raise EOFError
        return self._bytes[place: place + nbytes]

    def close(self) -> None:
        """Let the memory go."""
        self._bytes.release()
        if isinstance(self._map, mmap.mmap):
            with contextlib.suppress(BufferError):  # an error on its way holds a part of it
                self._map.close()
