"""The register tile of all convolutions: sums over a nest of loops with constant steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

from agnesi.codegen.kernels.gemm.operands import lanes_from, load_strided
from agnesi.codegen.kernels.tiling import Piece
from agnesi.codegen.llvm.builder import HOT, Builder, Value, const, i64, vector, width
from agnesi.codegen.llvm.instructions import multiply_add, prefetch
from agnesi.codegen.llvm.type_names import nbytes
from agnesi.core.ir.dims import Size
from agnesi.core.support.record import record

#: Rows that are addressed from one pointer where their offset is known at run time only.
_ROWS_PER_POINTER = 5
# (function, row pointer, column pointer, sums) -> sums
Inner = Callable[[Builder, Value, Value, list[Value]], list[Value]]


class TileLoop(NamedTuple):
    """A loop of the nest: how often, and how far both operands move from one iteration to the
    next."""

    times: int | Value
    row_step: int | Value
    column_step: int | Value
    maybe: bool = False  # there may be no iteration


def given_loops(nest: Sequence[TileLoop], values: Sequence[Value]) -> list[TileLoop]:
    """Loops like these, of numbers that a function is given: three for each."""
    each = iter(values)
    return [TileLoop(next(each), next(each), next(each), level.maybe) for level in nest]


def number(n: int | Value) -> Value:
    """A number as a value of the code: a constant, unless it is known at run time only."""
    return i64(n) if isinstance(n, int) else n


def known(b: Builder, n: Size) -> int | Value:
    """A number as it is, or the value of a size that is known only at run time."""
    return n if isinstance(n, int) else b.size(n)


def pitches(b: Builder, step: Value) -> tuple[Value, ...]:
    """Return 1 to ``_ROWS_PER_POINTER`` times ``step``, by which rows of a tile are addressed."""
    return tuple([b.mul(step, i64(n)) for n in range(1, _ROWS_PER_POINTER + 1)])


@record
class Tile:
    """The accumulators of a tile of ``len(rows) x len(columns)`` results, row by row.

    Each row is one element, broadcast, at its offset from the row operand's pointer; with
    ``vectors`` it is a vector too, and lanes are added up later.
    """

    type: str
    rows: tuple[int, ...]
    columns: tuple[Piece, ...]
    vectors: bool = False
    masked: bool = False  # whether columns are in memory that must not be read past their lanes
    ahead: tuple[int, int] = (0, 0)  # elements to what is prefetched of rows, columns; 0 for none
    pitches: tuple[Value, ...] = ()  # 1 to ``_ROWS_PER_POINTER`` times a row's offset

    def zeros(self) -> list[Value]:
        """The sums at their start."""
        return [const(vector(self.type, c.lanes), 0) for _ in self.rows for c in self.columns]

    def run(self, b: Builder, row: Value, column: Value, nest: Sequence[TileLoop],
            sums: list[Value], inner: Inner | None = None) -> list[Value]:
        """Add the products of the whole nest; ``inner`` replaces what an iteration does.

        Where kernels share code, it is a function, optimized at a higher level than the rest; the
        sums are passed through memory.
        """
        if not b.module.policy.shared_kernels or b.hot:
            return self.nested(b, row, column, nest, sums, inner)
        align = nbytes(self.type)
        given = [x for level in nest for x in level[:3] if isinstance(x, Value)]
        memory = b.alloca(self.type, sum(width(x.type) for x in sums))
        for x, at in self._cells(b, memory, sums):
            if x.ref[0] == "%":
                b.store(x, at, align)
        b.call("void", self._function(b, nest, sums, inner), row, column, memory, *given)
        return [b.load(x.type, at, align) for x, at in self._cells(b, memory, sums)]

    def _function(self, b: Builder, nest: Sequence[TileLoop], sums: Sequence[Value],
                  inner: Inner | None) -> str:
        """Return the name of a shared function that adds the products of a tile to its
        accumulators.

        Its parameters are the addresses of row, column and accumulators, and those loop counts and
        strides of ``nest`` that are run-time values; constants are compiled in.
        """
        given = [x for level in nest for x in level[:3] if isinstance(x, Value)]
        parameters = [(kind, f"x{i}") for i, kind in enumerate(["ptr"] * 3 + ["i64"] * len(given))]
        own = Builder(b.module, b.module.fresh("tile"), parameters, attributes=HOT)
        row, column, memory, *rest = own.parameters
        values, align = iter(rest), nbytes(self.type)
        iterations = []
        for level in nest:
            times, down, right = (next(values) if isinstance(x, Value) else x for x in level[:3])
            iterations.append(TileLoop(times, down, right, level.maybe))
        start = [x if x.ref[0] != "%" else own.load(x.type, at, align)
                 for x, at in self._cells(own, memory, sums)]
        found = self.nested(own, row, column, iterations, start, inner)
        for x, at in self._cells(own, memory, found):
            own.store(x, at, align)
        own.ret()
        return b.module.shared(own)

    def _cells(self, b: Builder, memory: Value, sums: Sequence[Value]) -> list[tuple[Value, Value]]:
        """Return the accumulators, each with its address."""
        starts = accumulate((width(x.type) for x in sums), initial=0)
        return [(x, b.gep(self.type, memory, i64(n))) for x, n in zip(sums, starts, strict=False)]

    def nested(self, b: Builder, row: Value, column: Value, nest: Sequence[TileLoop],
               sums: list[Value], inner: Inner | None = None) -> list[Value]:
        """The loops, in the function at hand."""
        if not nest:
            return inner(b, row, column, sums) if inner else self._step(b, row, column, sums)
        level, *rest = nest
        if isinstance(level.times, int) and level.times == 1:
            return self.nested(b, row, column, rest, sums, inner)
        start = [row, column, *sums]
        with b.loop(i64(0), number(level.times), 1, start, nonempty=not level.maybe) as loop:
            at, beside, *totals = loop.carried
            totals = self.nested(b, at, beside, rest, totals, inner)
            loop.carry(self._moved(b, at, level.row_step),
                       self._moved(b, beside, level.column_step), *totals)
        return loop.results[2:]

    def _moved(self, b: Builder, pointer: Value, step: int | Value) -> Value:
        return pointer if step == 0 else b.gep(self.type, pointer, number(step))

    def _addresses(self, b: Builder, row: Value) -> list[Value]:
        """Return the address of each row's element."""
        if not self.pitches:
            return [self._moved(b, row, offset) for offset in self.rows]
        found = []
        for n in range(len(self.rows)):
            if n and n % _ROWS_PER_POINTER == 0:
                row = self._moved(b, row, self.pitches[-1])
            found.append(
                self._moved(b, row, self.pitches[n % _ROWS_PER_POINTER - 1])
                if n % _ROWS_PER_POINTER
                else row
            )
        return found

    def _load(self, b: Builder, pointer: Value, c: Piece) -> Value:
        return load_strided(b, pointer, self.type, 1, c.lanes, c.mask if self.masked else None)

    def _call(self, b: Builder, row: Value, column: Value) -> None:
        """Prefetch the memory of later tiles into the second-level cache."""
        rows, columns = self.ahead
        if rows:
            prefetch(b, self._moved(b, row, rows), near=False)
        for c in self.columns if columns else ():
            prefetch(b, self._moved(b, column, c.offset + columns), near=False)

    def _step(self, b: Builder, row: Value, column: Value, sums: list[Value]) -> list[Value]:
        align = nbytes(self.type)
        line = [self._load(b, self._moved(b, column, c.offset), c) for c in self.columns]
        widest = max(c.lanes for c in self.columns)
        self._call(b, row, column)
        out = []
        for n, at in enumerate(self._addresses(b, row)):
            if self.vectors:
                x = self._load(b, at, max(self.columns, key=lambda c: c.active))
            else:
                x = b.splat(b.load(self.type, at, align), widest)
            for m, (value, total) in enumerate(
                zip(line, sums[n * len(line):(n + 1) * len(line)], strict=True)
            ):
                out.append(multiply_add(b, lanes_from(b, x, 0, self.columns[m].lanes), value,
                                        total))
        return out
