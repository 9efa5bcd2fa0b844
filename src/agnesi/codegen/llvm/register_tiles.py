"""Rows of memory to the lanes of vectors and back: ``tile[c]`` holds element ``c`` of every row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from agnesi.codegen.llvm.builder import Builder, Value, i64, scalar, vector, width
from agnesi.codegen.llvm.type_names import nbytes

#: IR types of elements, and their bytes.
TYPES = {"float32": ("float", 4), "float64": ("double", 8)}
_LANE_BYTES = 16


def transposed(b: Builder, rows: Sequence[Value]) -> list[Value]:
    """Transpose a square matrix in registers: n vectors of n lanes.

    Squares are transposed within 16 bytes, which processors shuffle at least cost, then moved.
    """
    count = len(rows)
    own = min(_LANE_BYTES // nbytes(scalar(rows[0].type)), count)
    squares = [_within(b, rows[i : i + own], own) for i in range(0, count, own)]
    moved = [_among(b, column, own) for column in zip(*squares, strict=True)]
    return [column for columns in zip(*moved, strict=True) for column in columns]


def _within(b: Builder, rows: Sequence[Value], own: int) -> list[Value]:
    """Transpose each block of ``own`` rows by ``own`` lanes."""
    rows, half = list(rows), own // 2
    picks = [
        [first + k // 2 + (k % 2) * width(rows[0].type)
         for start in range(0, width(rows[0].type), own) for first in (start + part * half,)
         for k in range(own)]
        for part in (0, 1)
    ]
    for _ in range(half.bit_length()):
        rows = [b.shuffle(rows[i], rows[i + half], picks[part]) for i in range(half)
                for part in (0, 1)]
    return rows


def _among(b: Builder, rows: Sequence[Value], own: int) -> list[Value]:
    """Transpose blocks of ``own`` lanes among the rows."""
    rows, lanes = list(rows), [*range(0, 2 * width(rows[0].type), own)]
    picks = [[first + k for first in lanes[part::2] for k in range(own)] for part in (0, 1)]
    for _ in range(len(rows).bit_length() - 1):
        rows = [b.shuffle(rows[i], rows[i + 1], picks[part]) for part in (0, 1)
                for i in range(0, len(rows), 2)]
    return rows


class Tiles:
    """Access to tiles of one element type and number of lanes."""

    def __init__(self, b: Builder, dtype: str, lanes: int) -> None:
        self.b, self.lanes = b, lanes
        self.type, self.align = TYPES[dtype]
        self.vector = vector(self.type, lanes)

    def tile(self, size: int) -> Value:
        """Room for rows of so many elements."""
        return self.b.alloca(self.vector, max(size, 1))

    def rows(self, base: Value, size: int, first: Value, count: Value) -> list[Value]:
        """Addresses of consecutive rows; beyond the last row its address is repeated."""
        b = self.b
        last = b.sub(count, i64(1))
        indices = (b.intrinsic("smin", b.add(first, i64(i)), last) for i in range(self.lanes))
        return [b.gep(self.type, base, b.mul(at, i64(size))) for at in indices]

    def at(self, tile: Value, index: Value | int) -> Value:
        """Return the address of an element of all rows."""
        return self.b.gep(self.vector, tile, i64(index) if isinstance(index, int) else index)

    def load(self, tile: Value, index: Value | int) -> Value:
        return self.b.load(self.vector, self.at(tile, index))

    def store(self, value: Value, tile: Value, index: Value | int) -> None:
        self.b.store(value, self.at(tile, index))

    @contextmanager
    def _blocks(self, size: int) -> Iterator[Value]:
        """The first elements of blocks as long as a vector, of which the last two may overlap."""
        b, last = self.b, size - self.lanes
        with b.loop(i64(0), i64(-(-size // self.lanes)), nonempty=True) as loop:
            yield b.intrinsic("smin", b.mul(loop.index, i64(self.lanes)), i64(last))

    def read(self, rows: Sequence[Value], size: int, tile: Value) -> None:
        """Fill a tile with rows of ``size`` elements."""
        b = self.b
        if size < self.lanes:
            for c in range(size):
                value = Value("poison", self.vector)
                for i, row in enumerate(rows):
                    one = b.load(self.type, b.gep(self.type, row, i64(c)))
                    value = b.value(self.vector, f"insertelement {value}, {one}, i64 {i}")
                self.store(value, tile, c)
            return
        with self._blocks(size) as first:
            block = [b.load(self.vector, b.gep(self.type, row, first), self.align) for row in rows]
            for i, value in enumerate(transposed(b, block)):
                self.store(value, tile, b.add(first, i64(i)))

    def write(self, tile: Value, size: int, rows: Sequence[Value]) -> None:
        """Fill rows of ``size`` elements with what a tile holds."""
        b = self.b
        if size < self.lanes:
            for c in range(size):
                value = self.load(tile, c)
                for i, row in enumerate(rows):
                    b.store(b.extract(value, i), b.gep(self.type, row, i64(c)))
            return
        with self._blocks(size) as first:
            block = [self.load(tile, b.add(first, i64(i))) for i in range(self.lanes)]
            for row, value in zip(rows, transposed(b, block), strict=True):
                b.store(value, b.gep(self.type, row, first), self.align)
