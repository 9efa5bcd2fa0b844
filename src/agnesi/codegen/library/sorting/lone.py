"""One row of middling length: all lanes of a block at once."""

from __future__ import annotations

from agnesi.codegen.library.sorting.blocks import transposed
from agnesi.codegen.library.sorting.rows import Rows, Signs, Spec
from agnesi.codegen.llvm.builder import Builder, Value, const, i64, lanes, vector
from agnesi.core.ir.calls.sorting import GROUP_VECTORS


def groups_for(b: Builder, n: Value, lanes_: int) -> Value:
    """Groups of a block that holds ``n`` elements: a power of two."""
    each = i64(GROUP_VECTORS * lanes_)
    wanted = b.op("udiv", b.sub(b.add(n, each), i64(1)), each)
    zeros = b.intrinsic("ctlz", b.sub(wanted, i64(1)), Value("false", "i1"))
    bits = b.sub(i64(64), zeros)
    return b.op("shl", i64(1), bits)


class Lone:
    """Writes ``sort_alone(ptr table, i64 start, ptr block)``: the row that begins at ``start``."""

    def __init__(self, b: Builder, spec: Spec, lanes_: int) -> None:
        self.b = b
        self.table, self.start, self.block = b.parameters
        self.rows = Rows(b, spec, self.table)
        self.lanes = lanes_
        self.type = vector(spec.type, lanes_)
        self.element = spec.type
        self.signs = Signs(self.rows)

    def write(self) -> None:
        b, rows = self.b, self.rows
        groups = groups_for(b, rows.n, self.lanes)
        lines = b.mul(groups, i64(GROUP_VECTORS))
        near = b.icmp("eq", rows.inner, i64(1))
        far = b.op("xor", near, Value("true", "i1"))
        self.signs.begin()
        with b.when(near):
            self._read(lines)
        with b.when(far):
            self._read_singly(lines)
        b.call("void", "sort_lanes", self.block, groups)
        with b.when(near):
            self._write(lines)
        with b.when(far):
            self._write_singly(lines)
        self.signs.mend(self.table, [self.start])
        b.ret()
        b.finish()

    def _there(self, first: Value) -> Value:
        """Return the lanes of a vector from ``first`` on that the row has."""
        numbers = lanes(vector("i64", self.lanes), range(self.lanes))
        left = self.b.sub(self.rows.n, first)
        return self.b.icmp("slt", numbers, self.b.splat(left, self.lanes))

    def _read(self, lines: Value) -> None:
        b, rows, n = self.b, self.rows, self.lanes
        with b.loop(i64(0), lines) as turn:
            first = b.mul(turn.index, i64(n))
            mask = self._there(first)
            raw = rows.load(b.add(self.start, first), n, mask)
            self.signs.note(raw)
            places = b.add(b.splat(first, n), lanes(vector("i64", n), range(n)))
            packed = b.select(mask, rows.packed(rows.key(raw), places), const(self.type, rows.most))
            b.store(packed, b.gep(self.type, self.block, turn.index))

    def _read_singly(self, lines: Value) -> None:
        b, rows = self.b, self.rows
        with b.loop(i64(0), rows.n) as turn:
            raw = rows.load(rows.at(self.start, turn.index))
            self.signs.note(raw)
            packed = rows.packed(rows.key(raw), turn.index)
            b.store(packed, b.gep(self.element, self.block, turn.index))
        with b.loop(rows.n, b.mul(lines, i64(self.lanes))) as pad:
            b.store(const(self.element, rows.most), b.gep(self.element, self.block, pad.index))

    def _write(self, lines: Value) -> None:
        """Squares of vectors, transposed: the row goes down one lane after the other."""
        b, rows, n = self.b, self.rows, self.lanes
        with b.loop(i64(0), lines, n) as turn:
            found = [b.load(self.type, b.gep(self.type, self.block, b.add(turn.index, i64(k))))
                     for k in range(n)]
            for lane, own in enumerate(transposed(b, found)):
                first = b.add(b.mul(lines, i64(lane)), turn.index)
                rows.store(rows.result(own), b.add(self.start, first), self._there(first))

    def _write_singly(self, lines: Value) -> None:
        b, rows = self.b, self.rows
        with b.loop(i64(0), rows.n) as turn:
            lane = b.op("udiv", turn.index, lines)
            line = b.sub(turn.index, b.mul(lane, lines))
            at = b.add(b.mul(line, i64(self.lanes)), lane)
            found = b.load(self.element, b.gep(self.element, self.block, at))
            rows.store(rows.result(found), rows.at(self.start, turn.index))
