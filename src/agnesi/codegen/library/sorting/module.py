"""The module that sorts elements of a dtype, in rows of any length.

Its function ``run`` takes a range of units of work, as kernels do, and a table of what
``rows.FIELDS`` lists; a row has its elements ``inner`` apart, row ``r`` begins at
``r // inner * n * inner + r % inner``.  Several rows that are not too long are sorted side by side
(``blocks``); of the others short ones by counting (``ranks``), longer ones in all lanes of a block
(``lone``), the longest by digits (``radix``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from agnesi.codegen.library.sorting.blocks import Blocks
from agnesi.codegen.library.sorting.lone import Lone
from agnesi.codegen.library.sorting.network import Network
from agnesi.codegen.library.sorting.radix import write_long, write_passes
from agnesi.codegen.library.sorting.ranks import MAX_ROW_ELEMENTS, write_ranks
from agnesi.codegen.library.sorting.rows import PLACE_BITS, Rows, Spec, write_zeros
from agnesi.codegen.llvm.builder import Builder, Loop, Module, Value, i64, vector
from agnesi.codegen.llvm.task import share, task
from agnesi.core.ir.calls.sorting import GROUP_VECTORS, SIDE_BY_SIDE, VECTOR_BYTES
from agnesi.core.target import Target

#: Rows from which they are sorted side by side.
_MIN_PARALLEL_ROWS = 4
#: The most elements of a row that is sorted in a block of its own, by their bytes.
_ALONE = {4: 1 << 16, 8: 1 << 13}


def sort_module(name: str, target: Target) -> str:
    """The text of the module for ``name``, a dtype: for values, or with the word "places" for
    those."""
    dtype, *places = name.split()
    spec = Spec(dtype, bool(places))
    module = Module(target)
    lanes = VECTOR_BYTES // spec.bytes
    if spec.fits:
        Network(module, vector(spec.type, lanes)).write()
        Blocks(Builder(module, "sort_side_by_side", [
            ("ptr", "table"), ("i64", "first"), ("i1", "columns"), ("ptr", "block"),
        ]), spec, lanes).write()
        Lone(Builder(module, "sort_alone", [
            ("ptr", "table"), ("i64", "start"), ("ptr", "block"),
        ]), spec, lanes).write()
    row = [("ptr", "table"), ("i64", "start")]
    if spec.zeros:
        write_zeros(Builder(module, "mend_zeros", row), spec)
    write_ranks(
        Builder(module, "sort_short", row), spec, VECTOR_BYTES // (int(spec.keys.type[1:]) // 8)
    )
    write_passes(Builder(module, "sort_digits", [("ptr", "here"), ("ptr", "there"), ("i64", "n")],
                         "ptr"), spec.type, PLACE_BITS if spec.places else 0)
    write_long(Builder(module, "sort_long", [*row, ("ptr", "here"), ("ptr", "there")]), spec)
    _Driver(task(module), spec, lanes).write()
    return str(module)


class _Driver:
    """Writes ``run``: which way is taken, and which rows."""

    def __init__(self, b: Builder, spec: Spec, lanes: int) -> None:
        self.b = b
        self.spec = spec
        self.lanes = lanes
        self.table, self.begin, _, _ = b.parameters
        self.rows = Rows(b, spec, self.table)

    def write(self) -> None:
        b, rows = self.b, self.rows
        room = b.gep("i8", rows.room, b.mul(self.begin, rows.step))
        several = b.icmp("sge", rows.count, i64(_MIN_PARALLEL_ROWS))
        left = b.icmp("sgt", b.mul(rows.count, rows.n), i64(0))
        for bound, within, way in self._ways(several):
            chosen = b.op("and", b.op("and", b.icmp("sle", rows.n, bound), within), left)
            with b.when(chosen):
                way(room)
            left = b.op("and", left, b.op("xor", chosen, Value("true", "i1")))
        b.ret()
        b.finish()

    def _ways(self, several: Value) -> Iterator[tuple[Value, Value, Callable[[Value], None]]]:
        """Up to which size and where rows are sorted how: the first that fits is taken."""
        always = Value("true", "i1")
        if self.spec.fits:
            yield i64(SIDE_BY_SIDE), several, self._beside
        yield i64(MAX_ROW_ELEMENTS), always, self._each("sort_short")
        if self.spec.fits:
            yield i64(_ALONE[self.spec.bytes]), always, self._each("sort_alone", 1)
        yield i64((1 << 63) - 1), always, self._each("sort_long", 2)

    def _each(self, name: str, rooms: int = 0) -> Callable[[Value], None]:
        """One row after the other by a function that gets room for so many copies of it."""
        def way(room: Value) -> None:
            b, rows = self.b, self.rows
            step = b.add(rows.n, i64(GROUP_VECTORS))
            given = [b.gep(self.spec.type, room, b.mul(step, i64(k))) for k in range(rooms)]
            with self._share(rows.count) as row:
                b.call("void", name, self.table, rows.start(row.index), *given)
        return way

    def _share(self, count: Value) -> AbstractContextManager[Loop]:
        """A loop over the part of ``count`` turns that belongs to the units of this call."""
        return self.b.loop(*share(self.b, count, self.rows.units))

    def _beside(self, room: Value) -> None:
        b, rows, n = self.b, self.rows, i64(self.lanes)
        columns = b.icmp("sge", rows.inner, n)
        line = b.select(columns, rows.inner, rows.count)
        each = b.op("udiv", b.add(line, i64(self.lanes - 1)), n)
        lines = b.op("udiv", rows.count, line)
        with self._share(b.mul(lines, each)) as turn:
            whole = b.op("udiv", turn.index, each)
            at = b.mul(b.sub(turn.index, b.mul(whole, each)), n)
            last = b.select(columns, b.sub(rows.inner, n), at)
            first = b.add(b.mul(whole, line), b.intrinsic("smin", at, last))
            b.call("void", "sort_side_by_side", self.table, first, columns, room)
