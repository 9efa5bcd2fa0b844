"""Winograd's transforms of tiles and their inverses, as functions that kernels share.

Sizes and steps come with each call, so that one function serves convolutions of many sizes.
"""

from __future__ import annotations

from collections.abc import Sequence

from agnesi.codegen.llvm.builder import Builder, Value, const, i64, vector
from agnesi.codegen.llvm.instructions import multiply_add
from agnesi.codegen.llvm.outlining import apart
from agnesi.codegen.llvm.type_names import nbytes
from agnesi.core.support.record import record

Matrix = tuple[tuple[float, ...], ...]
#: Matrices of F(2x2, 3x3) (Lavin and Gray 2016): of the input, the filter and the result.
SOURCE: Matrix = ((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1))
FILTERS: Matrix = ((1, 0, 0), (0.5, 0.5, 0.5), (0.5, -0.5, 0.5), (0, 0, 1))
RESULT: Matrix = ((1, 1, 1, 0), (0, 1, -1, -1))
#: For each line of a square, and each column, a bool: whether it is zero; None where never.
Lacking = tuple[Sequence[Value | None], Sequence[Value | None]]


def transposed(matrix: Matrix) -> Matrix:
    """The transpose, which carries cotangents."""
    return tuple(zip(*matrix, strict=True))


@record
class Squares:
    """Addresses of squares: neighbours in a run are ``step`` elements apart.

    Elements of a square are ``column`` apart, its lines ``line``.
    """

    at: Value
    step: Value
    line: Value
    column: Value


def carry(b: Builder, type_: str, matrix: Matrix, source: Squares, target: Squares,
          count: Value, lanes: int, full: Value, rest: int = 0,
          lacking: Lacking = ((), ())) -> None:
    """``matrix @ square @ matrix.T`` of ``count`` squares.

    Each element is ``full`` numbers, in vectors of ``lanes``, and one vector of ``rest``.
    """
    lacks = [[x is not None for x in axis] for axis in lacking]

    def body(own: Builder, *given: Value) -> None:
        _Carry(own, type_, matrix, lanes, given).run(rest, lacks)

    apart(b, "carry", (type_, matrix, lanes, rest, str(lacks)), body, source.at, target.at, count,
            full, source.step, target.step, source.line, source.column, target.line, target.column,
            *[x for axis in lacking for x in axis if x is not None])


class _Carry:
    """Writes the function of :func:`carry`."""

    def __init__(self, b: Builder, type_: str, matrix: Matrix, lanes: int,
                 given: Sequence[Value]) -> None:
        self.b, self.type, self.matrix, self.lanes = b, type_, matrix, lanes
        self.source, self.target, self.count, self.full = given[:4]
        self.steps, self.read, self.written = given[4:6], given[6:8], given[8:10]
        self.flags = given[10:]

    def run(self, rest: int, lacks: Sequence[Sequence[bool]]) -> None:
        b, flags = self.b, iter(self.flags)
        lacking = [[next(flags) if some else None for some in axis] for axis in lacks]
        columns = self._multiples(self.read[1], len(self.matrix[0]))
        beside = self._multiples(self.written[1], len(self.matrix))

        def square(source: Value, target: Value, lanes: int) -> None:
            found = self._loaded(source, columns, lanes)
            self._stored(transformed(b, self.matrix, self._without(found, lacking)), target, beside)

        with b.loop(i64(0), self.count, 1, [self.source, self.target]) as loop:
            source, target = loop.carried
            with b.loop(i64(0), self.full, self.lanes) as at:
                square(b.gep(self.type, source, at.index), b.gep(self.type, target, at.index),
                       self.lanes)
            if rest:
                square(b.gep(self.type, source, self.full), b.gep(self.type, target, self.full),
                       rest)
            loop.carry(b.gep(self.type, source, self.steps[0]),
                       b.gep(self.type, target, self.steps[1]))

    def _multiples(self, step: Value, count: int) -> list[Value]:
        return [self.b.mul(step, i64(n)) for n in range(count)]

    def _loaded(self, at: Value, columns: Sequence[Value], lanes: int) -> list[list[Value]]:
        b, type_ = self.b, vector(self.type, lanes)
        square = []
        for line in range(len(columns)):
            at = b.gep(self.type, at, self.read[0]) if line else at
            square.append([b.load(type_, b.gep(self.type, at, c), nbytes(self.type))
                           for c in columns])
        return square

    def _stored(self, square: Sequence[Sequence[Value]], at: Value,
                columns: Sequence[Value]) -> None:
        b = self.b
        for n, line in enumerate(square):
            at = b.gep(self.type, at, self.written[0]) if n else at
            for value, c in zip(line, columns, strict=True):
                b.store(value, b.gep(self.type, at, c), nbytes(self.type))

    def _without(self, square: list[list[Value]],
                 lacking: Sequence[Sequence[Value | None]]) -> list[list[Value]]:
        """A square with zeros where lines or columns are lacking."""
        b = self.b
        for i, j, lacks in (
            *((i, None, x) for i, x in enumerate(lacking[0])),
            *((None, j, x) for j, x in enumerate(lacking[1])),
        ):
            if lacks is None:
                continue
            square = [
                [b.select(lacks, const(v.type, 0), v) if line == i or column == j else v
                 for column, v in enumerate(values)] for line, values in enumerate(square)
            ]
        return square


def transformed(b: Builder, matrix: Matrix, square: Sequence[Sequence[Value]]) -> list[list[Value]]:
    """``matrix @ square @ matrix.T`` for a square of vectors."""
    columns = [_times(b, matrix, column) for column in zip(*square, strict=True)]
    return [_times(b, matrix, row) for row in zip(*columns, strict=True)]


def _times(b: Builder, matrix: Matrix, values: Sequence[Value]) -> list[Value]:
    return [_combined(b, row, values) for row in matrix]


def _combined(b: Builder, factors: Sequence[float], values: Sequence[Value]) -> Value:
    """Emit the linear combination of values with constant factors, positive terms first."""
    terms = [(f, v) for f, v in zip(factors, values, strict=True) if f]
    terms.sort(key=lambda term: -term[0])
    factor, total = terms[0]
    if len({f for f, _ in terms}) > 1 or factor == 1:
        if factor != 1:
            total = b.fmul(total, const(total.type, factor))
        for factor, value in terms[1:]:
            if factor == 1:
                total = b.fadd(total, value)
            elif factor == -1:
                total = b.fsub(total, value)
            else:
                total = multiply_add(b, value, const(value.type, factor), total)
        return total
    for _, value in terms[1:]:
        total = b.fadd(total, value)
    return b.fmul(total, const(total.type, factor))
