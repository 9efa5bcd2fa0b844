"""Rows of memory to the lanes of vectors and back: ``tile[c]`` holds element ``c`` of every row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from agnesi.codegen.builder import Builder, Value, i64, vector

#: IR types of elements, and their bytes.
TYPES = {"float32": ("float", 4), "float64": ("double", 8)}


def transposed(b: Builder, rows: Sequence[Value]) -> list[Value]:
    """As many vectors as each has lanes, as rows of a matrix, to its columns."""
    rows, d = list(rows), 1
    while d < len(rows):
        low = [k if not k & d else len(rows) + k - d for k in range(len(rows))]
        high = [k + d if not k & d else len(rows) + k for k in range(len(rows))]
        made = list(rows)
        for i in range(len(rows)):
            if not i & d:
                made[i] = b.shuffle(rows[i], rows[i + d], low)
                made[i + d] = b.shuffle(rows[i], rows[i + d], high)
        rows, d = made, 2 * d
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
        """Where rows begin that lie one behind the other; the last one stands for those behind."""
        b = self.b
        last = b.sub(count, i64(1))
        places = (b.intrinsic("smin", b.add(first, i64(i)), last) for i in range(self.lanes))
        return [b.gep(self.type, base, b.mul(at, i64(size))) for at in places]

    def at(self, tile: Value, place: Value | int) -> Value:
        """Where an element of all rows is."""
        return self.b.gep(self.vector, tile, i64(place) if isinstance(place, int) else place)

    def load(self, tile: Value, place: Value | int) -> Value:
        return self.b.load(self.vector, self.at(tile, place))

    def store(self, value: Value, tile: Value, place: Value | int) -> None:
        self.b.store(value, self.at(tile, place))

    @contextmanager
    def _blocks(self, size: int) -> Iterator[Value]:
        """The first elements of blocks as long as a vector, of which the last two may overlap."""
        b, last = self.b, size - self.lanes
        with b.loop(i64(0), i64(-(-size // self.lanes)), nonempty=True) as turn:
            yield b.intrinsic("smin", b.mul(turn.index, i64(self.lanes)), i64(last))

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
