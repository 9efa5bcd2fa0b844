"""Blocks of rows side by side: read from memory, put in order by a network, written back.

Rows beyond the last one are the last one again, which is then written twice.
"""

from __future__ import annotations

from collections.abc import Sequence

from agnesi.codegen.library.sorting.rows import Rows, Signs, Spec
from agnesi.codegen.llvm.builder import Builder, Value, const, i64, lanes, vector
from agnesi.core.ir.calls.sorting import GROUP_VECTORS


def transposed(b: Builder, rows: Sequence[Value]) -> list[Value]:
    """As many vectors as there are lanes, with rows and lanes exchanged."""
    rows, n = list(rows), len(rows)
    step = 1
    while step < n:
        near = [k if not k & step else n + k - step for k in range(n)]
        far = [k + step if not k & step else n + k for k in range(n)]
        for i in range(n):
            if not i & step:
                low, high = rows[i], rows[i + step]
                rows[i], rows[i + step] = b.shuffle(low, high, near), b.shuffle(low, high, far)
        step *= 2
    return rows


class Blocks:
    """Writes ``sort_side_by_side(ptr table, i64 first, i1 columns, ptr block)``.

    It sorts the rows from ``first`` on, as many as there are lanes, by way of ``block``; where they
    are ``columns``, their first elements are neighbours.
    """

    def __init__(self, b: Builder, spec: Spec, lanes_: int) -> None:
        self.b = b
        self.table, first, self.columns, self.block = b.parameters
        self.rows = Rows(b, spec, self.table)
        self.lanes = lanes_
        self.type = vector(spec.type, lanes_)
        self.signs = Signs(self.rows)
        self.starts = self._starts(first)

    def _starts(self, first: Value) -> Value:
        """Return the addresses of the rows of all lanes."""
        b, rows, n = self.b, self.rows, self.lanes
        numbers = b.add(b.splat(first, n), lanes(vector("i64", n), range(n)))
        numbers = b.intrinsic("smin", numbers, b.splat(b.sub(rows.count, i64(1)), n))
        inner = b.splat(rows.inner, n)
        whole = b.op("udiv", numbers, inner)
        rest = b.sub(numbers, b.mul(whole, inner))
        return b.add(b.mul(whole, b.splat(b.mul(rows.n, rows.inner), n)), rest)

    def write(self) -> None:
        b, rows = self.b, self.rows
        groups = b.op("udiv", b.add(rows.n, i64(GROUP_VECTORS - 1)), i64(GROUP_VECTORS))
        with b.loop(rows.n, b.mul(groups, i64(GROUP_VECTORS))) as pad:
            b.store(const(self.type, rows.most), self._line(pad.index))
        long = b.icmp("sge", rows.n, i64(self.lanes))
        tiles = b.op("and", b.icmp("eq", rows.inner, i64(1)), long)
        tiles = b.op("and", tiles, b.op("xor", self.columns, Value("true", "i1")))
        others = b.op("xor", b.op("or", self.columns, tiles), Value("true", "i1"))
        self.signs.begin()
        ways = ((self.columns, self._columns), (tiles, self._tiles), (others, self._singly))
        for wanted, way in ways:
            with b.when(wanted):
                way(True)
        b.call("void", "sort_block", self.block, groups)
        for wanted, way in ways:
            with b.when(wanted):
                way(False)
        self.signs.mend(self.table, [b.extract(self.starts, k) for k in range(self.lanes)])
        b.ret()
        b.finish()

    def _line(self, i: Value) -> Value:
        """Return the address in a block of the elements ``i`` of its rows."""
        return self.b.gep(self.type, self.block, i)

    def _read(self, raw: Value, i: Value) -> None:
        self.signs.note(raw)
        self.b.store(self.rows.packed(self.rows.key(raw), i), self._line(i))

    def _columns(self, reading: bool) -> None:
        """Lanes are neighbours in memory."""
        b, rows = self.b, self.rows
        start = b.extract(self.starts, 0)
        with b.loop(i64(0), rows.n) as turn:
            at = rows.at(start, turn.index)
            if reading:
                self._read(rows.load(at, self.lanes), turn.index)
            else:
                rows.store(rows.result(b.load(self.type, self._line(turn.index))), at)

    def _tiles(self, reading: bool) -> None:
        """Elements of a row are neighbours: squares are transposed, the last ones overlapping."""
        b, rows, n = self.b, self.rows, self.lanes
        places = [b.extract(self.starts, k) for k in range(n)]
        with b.loop(i64(0), rows.n, n) as turn:
            i = b.intrinsic("smin", turn.index, b.sub(rows.n, i64(n)))
            lines = [b.add(i, i64(k)) for k in range(n)]
            if reading:
                raw = [rows.load(b.add(p, i), n) for p in places]
                for r in raw:
                    self.signs.note(r)
                keys = transposed(b, [rows.key(r) for r in raw])
                for line, own in zip(lines, keys, strict=True):
                    b.store(rows.packed(own, line), self._line(line))
            else:
                found = transposed(b, [b.load(self.type, self._line(line)) for line in lines])
                for p, own in zip(places, found, strict=True):
                    rows.store(rows.result(own), b.add(p, i))

    def _singly(self, reading: bool) -> None:
        """Elements wherever they are."""
        b, rows, n = self.b, self.rows, self.lanes
        mask = const(vector("i1", n), True)
        base, type_ = (rows.source, rows.keys.memory) if reading else (
            rows.target, rows.spec.result_type)
        with b.loop(i64(0), rows.n) as turn:
            at = b.add(self.starts, b.splat(b.mul(turn.index, rows.inner), n))
            pointers = b.value(f"<{n} x ptr>", f"getelementptr {type_}, {base}, {at}")
            size = int(type_[1:]) // 8
            if reading:
                self._read(b.gather(vector(type_, n), pointers, mask, size), turn.index)
            else:
                found = rows.result(b.load(self.type, self._line(turn.index)))
                b.scatter(found, pointers, mask, size)
