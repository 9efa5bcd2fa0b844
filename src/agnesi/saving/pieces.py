"""Bytes of tensors, piece by piece: read, written and summed up by threads, nothing held twice."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any, BinaryIO

import numpy as np

from agnesi.core.support.host import cores
from agnesi.saving.header import PIECE
from agnesi.saving.sums import Cyclic, Lanes, lanes

#: Threads that read and sum up: more wait for the same memory.
THREADS = min(4, cores())
#: Bytes that are read at once: they stay in a core's cache until they are summed up.
SIP = 1 << 18


def flat(array: np.ndarray) -> memoryview:
    """The bytes of an array as files hold them; of a copy where it does not lie so."""
    little = array.dtype.newbyteorder("<") if array.dtype.kind in "iufc" else array.dtype
    array = np.ascontiguousarray(array, little)
    return bytes_of(array)


def bytes_of(array: np.ndarray) -> memoryview:
    """The memory of an array that lies in row-major order."""
    raw: Any = array.reshape(-1).view(np.uint8)
    return memoryview(raw)


def cut(data: memoryview, size: int) -> Iterator[tuple[int, memoryview]]:
    """Pieces of some bytes, and where they begin."""
    return ((at, data[at : at + size]) for at in range(0, len(data), size))


def write(file: BinaryIO, data: memoryview, pool: ThreadPoolExecutor) -> list[int]:
    """Write bytes, and give the checksums of their pieces."""
    sums = [pool.submit(lanes, piece) for _, piece in cut(data, PIECE)]
    left = data
    while left:
        left = left[file.write(left[: 1 << 26]):]
    return [s.result() for s in sums]


class Source:
    """A file that several threads read, each where it wants."""

    def __init__(self, file: Any, kind: type[Lanes] | type[Cyclic] = Lanes) -> None:
        self.file, self.kind, self.lock = file, kind, Lock()

    def read(self, place: int, data: memoryview, known: bool) -> int:
        """Read from a place into memory; gives the checksum of what was read, if not known."""
        if known:
            self._read(place, data)
            return 0
        found = self.kind()
        for begin, sip in cut(data, SIP):
            self._read(place + begin, sip)
            found.add(sip)
        return found.value()

    def checksum(self, place: int, nbytes: int) -> int:
        """The checksum of bytes that nobody keeps."""
        found, sip = self.kind(), memoryview(bytearray(min(SIP, nbytes)))
        for begin in range(0, nbytes, SIP):
            part = sip[: nbytes - begin]
            self._read(place + begin, part)
            found.add(part)
        return found.value()

    def _read(self, place: int, data: memoryview) -> None:
        done = 0
        while done < len(data):
            got = self._read_some(place + done, data[done:])
            if not got:
                raise EOFError
            done += got

    def _read_some(self, place: int, data: memoryview) -> int:
        if hasattr(os, "preadv"):
            return os.preadv(self.file.fileno(), [data], place)
        with self.lock:
            self.file.seek(place)
            got: int = self.file.readinto(data)
        return got
