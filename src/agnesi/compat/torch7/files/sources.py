"""Numbers and texts of Torch7's files: as they are in memory, or written out."""

from __future__ import annotations

import re
from typing import Any, BinaryIO

import numpy as np

from agnesi.core.support.errors import FileFormatError

_TOKEN = re.compile(rb"[ \t\r\n]*([^ \t\r\n]{1,64})")
#: How C's printf writes elements; bytes are written as they are.
_FORMATS = {"float32": "%.9g", "float64": "%.17g"}


class Source:
    """What is left of a file's bytes."""

    def __init__(self, data: bytes, long: int) -> None:
        self.data, self.at, self.long = data, 0, np.dtype(f"<i{long}")

    def left(self) -> int:
        """How many bytes are left."""
        return len(self.data) - self.at

    def chars(self, count: int) -> bytes:
        """So many bytes as they are."""
        if not 0 <= count <= self.left():
            raise FileFormatError(f"is cut off or damaged: {count} bytes are wanted, "
                                  f"{self.left()} are left")
        self.at += count
        return self.data[self.at - count:self.at]

    def numbers(self, dtype: Any, count: int) -> np.ndarray:
        raise NotImplementedError

    def number(self, dtype: Any) -> Any:
        """One number."""
        return self.numbers(np.dtype(dtype), 1)[0].item()

    def int(self) -> int:
        """One number of 32 bits."""
        return self.number("<i4")

    def text(self) -> bytes:
        """A length and so many bytes."""
        return self.chars(self.int())


class Binary(Source):
    """Numbers as they are in memory, little-endian."""

    def numbers(self, dtype: Any, count: int) -> np.ndarray:
        if not 0 <= count <= self.left() // dtype.itemsize:
            raise FileFormatError(f"is cut off or damaged: {count} numbers of {dtype.itemsize} "
                                  f"bytes are wanted, {self.left()} bytes are left")
        return np.frombuffer(self.chars(count * dtype.itemsize), dtype.newbyteorder("<"))

    class sink:  # noqa: N801 - a factory beside its source
        """Where such numbers are written."""

        def __init__(self, file: BinaryIO, long: int) -> None:
            self.file, self.long = file, np.dtype(f"<i{long}")

        def numbers(self, array: Any, dtype: Any) -> None:
            """All elements."""
            kind = np.dtype(dtype).newbyteorder("<")
            self.file.write(np.ascontiguousarray(array, kind).tobytes())

        def chars(self, data: bytes) -> None:
            """Bytes as they are."""
            self.file.write(data)


class Text(Source):
    """Numbers written out, with a new line behind each array of them."""

    def numbers(self, dtype: Any, count: int) -> np.ndarray:
        if not 0 <= count <= self.left():
            raise FileFormatError(f"is cut off or damaged: {count} numbers are wanted, "
                                  f"{self.left()} bytes are left")
        if dtype.itemsize == 1:
            return np.frombuffer(self.chars(count), dtype)
        found = np.empty(count, dtype.newbyteorder("="))
        for i in range(count):
            found[i] = self._token(found.dtype)
        self._line(count)
        return found

    def _token(self, dtype: Any) -> Any:
        match = _TOKEN.match(self.data, self.at)
        try:
            if match is None:
                raise ValueError
            self.at = match.end()
            return np.array(float(match[1]) if dtype.kind == "f" else int(match[1]), dtype)
        except (ValueError, OverflowError):
            raise FileFormatError("is no text of Torch7's: a number is wanted where it has "
                                  f"{self.data[self.at:self.at + 16]!r}") from None

    def _line(self, count: int) -> None:
        """Skip the end of a line behind an array."""
        if count and self.data[self.at:self.at + 1] == b"\n":
            self.at += 1

    def chars(self, count: int) -> bytes:
        found = super().chars(count)
        self._line(count)
        return found

    class sink:  # noqa: N801 - a factory beside its source
        """Where such numbers are written."""

        def __init__(self, file: BinaryIO, long: int) -> None:
            self.file, self.long = file, np.dtype(f"<i{long}")

        def numbers(self, array: Any, dtype: Any) -> None:
            """All elements, a blank between two."""
            kind = np.dtype(dtype)
            flat = np.ascontiguousarray(array, kind).reshape(-1)
            if kind.itemsize == 1:
                self.chars(flat.tobytes())
            elif flat.size:
                form = _FORMATS.get(kind.name, "%d")
                self.file.write(" ".join([form % v for v in flat.tolist()]).encode() + b"\n")

        def chars(self, data: bytes) -> None:
            """Bytes as they are."""
            self.file.write(data + b"\n" if data else data)
