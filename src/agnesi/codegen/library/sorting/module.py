"""The module that sorts elements of a dtype, in rows of any length.

Its function ``run`` takes a range of units of work, as kernels do, and a table of what
``rows.FIELDS`` lists; a row has its elements ``inner`` apart, row ``r`` begins at
``r // inner * n * inner + r % inner``.  Several rows that are not too long are sorted side by side
(``blocks``), others one by one (``row``).
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from agnesi.codegen.library.polls import Polls
from agnesi.codegen.library.sorting.blocks import Blocks
from agnesi.codegen.library.sorting.network import Network
from agnesi.codegen.library.sorting.packed_keys import Ties
from agnesi.codegen.library.sorting.quick import word_lanes, write_quick
from agnesi.codegen.library.sorting.row import Row
from agnesi.codegen.library.sorting.rows import Rows, Spec, write_zeros
from agnesi.codegen.llvm.builder import Builder, Loop, Module, Value, i64, vector
from agnesi.codegen.llvm.task import share, task
from agnesi.core.ir.calls.sorting import MIN_PARALLEL_ROWS, SIDE_BY_SIDE, VECTOR_BYTES
from agnesi.core.target import Target


def sort_module(name: str, target: Target) -> str:
    """The text of the module for ``name``, a dtype: for values, or with the word "positions" for
    those."""
    dtype, *positions = name.split()
    spec = Spec(dtype, bool(positions))
    module = Module(target)
    lanes = VECTOR_BYTES // spec.bytes
    polls = ("ptr", "polls")
    Network(module, vector(spec.type, lanes)).write()
    Blocks(Builder(module, "sort_side_by_side", [
        ("ptr", "table"), ("i64", "first"), ("i1", "columns"), ("ptr", "block"), polls,
    ]), spec, lanes).write()
    row = [("ptr", "table"), ("i64", "start")]
    if spec.zeros:
        write_zeros(Builder(module, "mend_zeros", [*row, polls]), spec)
    write_quick(module, spec.type, spec.most)
    if not spec.fits:
        Ties(Builder(module, "sort_ties", [*row, ("ptr", "words"), ("i64", "least"), polls]),
             spec, word_lanes(target, 64)).write()
    Row(Builder(module, "sort_row", [*row, ("ptr", "workspace"), polls]), spec).write()
    _Driver(task(module), spec, lanes).write()
    return str(module)


class _Driver:
    """Writes ``run``: which way is taken, and which rows."""

    def __init__(self, b: Builder, spec: Spec, lanes: int) -> None:
        self.b = b
        self.spec = spec
        self.lanes = lanes
        self.table, self.begin, _, thread = b.parameters
        self.polls = Polls.begin(b, thread)
        self.rows = Rows(b, spec, self.table)

    def write(self) -> None:
        b, rows = self.b, self.rows
        workspace = b.gep("i8", rows.workspace, b.mul(self.begin, rows.step))
        several = b.icmp("sge", rows.count, i64(MIN_PARALLEL_ROWS))
        short = b.icmp("sle", rows.n, i64(SIDE_BY_SIDE))
        some = b.icmp("sgt", b.mul(rows.count, rows.n), i64(0))
        beside = b.op("and", some, b.op("and", several, short))
        with b.when(beside):
            self._beside(workspace)
        one_by_one = b.op("xor", some, beside)
        with b.when(one_by_one), self._share(rows.count) as row:
            b.call("void", "sort_row", self.table, rows.start(row.index), workspace,
                   self.polls.address)
            row.until = self.polls.interrupted()
        b.finish()

    def _share(self, count: Value) -> AbstractContextManager[Loop]:
        """A loop over the part of ``count`` iterations that belongs to the units of this call."""
        return self.b.loop(*share(self.b, count, self.rows.units))

    def _beside(self, workspace: Value) -> None:
        b, rows, n = self.b, self.rows, i64(self.lanes)
        columns = b.icmp("sge", rows.inner, n)
        line = b.select(columns, rows.inner, rows.count)
        each = b.op("udiv", b.add(line, i64(self.lanes - 1)), n)
        lines = b.op("udiv", rows.count, line)
        with self._share(b.mul(lines, each)) as loop:
            whole = b.op("udiv", loop.index, each)
            at = b.mul(b.sub(loop.index, b.mul(whole, each)), n)
            last = b.select(columns, b.sub(rows.inner, n), at)
            first = b.add(b.mul(whole, line), b.intrinsic("smin", at, last))
            b.call("void", "sort_side_by_side", self.table, first, columns, workspace,
                   self.polls.address)
            loop.until = self.polls.worked(b.mul(rows.n, n))
