"""Blocks of rows side by side: read from memory, put in order by a network, written back.

A block that is not full is filled with copies of the last row, which is then written repeatedly.
"""

from __future__ import annotations

from agnesi.codegen.library.sorting.packed_keys import Squeezed, squeezed, with_position
from agnesi.codegen.library.sorting.rows import Rows, Signs, Spec
from agnesi.codegen.library.sorting.small import there
from agnesi.codegen.llvm.builder import Builder, Value, const, i64, lanes, vector
from agnesi.codegen.llvm.register_tiles import transposed
from agnesi.core.ir.calls.sorting import GROUP_VECTORS

_YES = Value("true", "i1")


class Blocks:
    """Writes ``sort_side_by_side(ptr table, i64 first, i1 columns, ptr block, ptr polls)``.

    It sorts the rows from ``first`` on, as many as there are lanes, by way of ``block``; where they
    are ``columns``, their first elements are neighbours.
    """

    def __init__(self, b: Builder, spec: Spec, lanes_: int) -> None:
        self.b = b
        self.table, first, self.columns, self.block, self.polls = b.parameters
        self.rows = Rows(b, spec, self.table)
        self.lanes = lanes_
        self.type = vector(spec.type, lanes_)
        self.signs = Signs(self.rows)
        self.squeezed = None if spec.fits else Squeezed(self.rows, lanes_)
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
        near = b.op("and", b.icmp("eq", rows.inner, i64(1)), b.op("xor", self.columns, _YES))
        long = b.icmp("sge", rows.n, i64(self.lanes))
        tiles = b.op("and", near, long)
        narrow = b.op("and", near, b.op("xor", long, _YES))
        masked = b.module.target.has("avx512f")  # without it masks cost more than single elements
        blocked = near if masked else tiles
        others = b.op("xor", b.op("or", self.columns, blocked), _YES)
        self.signs.begin()
        if self.squeezed is not None:
            self.squeezed.begin()
        ways = [(self.columns, self._columns), (tiles, self._tiles), (others, self._singly)]
        if masked:
            ways.append((narrow, self._narrow))
        for wanted, way in ways:
            with b.when(wanted):
                way(True)
        exact = _YES if self.squeezed is None else self._squeeze(self.squeezed)
        with b.loop(rows.n, b.mul(groups, i64(GROUP_VECTORS))) as pad:
            b.store(const(self.type, rows.most), self._line(pad.index))
        b.call("void", "sort_block", self.block, groups)
        alike = self._alike(exact) if self.squeezed is not None else None
        for wanted, way in ways:
            with b.when(wanted):
                way(False)
        if alike is not None:
            self._again(alike)
        self.signs.mend(self.table, [b.extract(self.starts, k) for k in range(self.lanes)],
                        self.polls)
        b.finish()

    def _squeeze(self, known: Squeezed) -> Value:
        """Replace the keys in a block by words of a shortened key and the position; return whether
        no key lost bits.
        """
        b = self.b
        least, shift, exact = known.settle()
        with b.loop(i64(0), self.rows.n, nonempty=True) as loop:
            key = squeezed(b, b.load(self.type, self._line(loop.index)), least, shift)
            b.store(with_position(self.rows, key, loop.index), self._line(loop.index))
        return exact

    def _alike(self, exact: Value) -> Value:
        """Return a bit mask of rows in which shortened keys may be equal although the keys differ.
        """
        b, low = self.b, self.b.splat(self.rows.low, self.lanes)
        last = b.select(exact, i64(0), b.sub(self.rows.n, i64(1)))
        none = const(f"i{self.lanes}", 0)
        with b.loop(i64(0), last, 1, [none]) as loop:
            x, y = (b.load(self.type, self._line(b.add(loop.index, i64(k)))) for k in (0, 1))
            found = b.cast("bitcast", b.icmp("ule", b.op("xor", x, y), low), none.type)
            loop.carry(b.op("or", loop.carried[0], found))
        return loop.results[0]

    def _again(self, alike: Value) -> None:
        """Sort again by whole keys, one by one, the rows whose bit is set in ``alike``: their
        shortened keys had ties."""
        b = self.b
        with b.when(b.icmp("ne", alike, const(alike.type, 0)), rare=True):
            for k in range(self.lanes):
                bit = b.op("and", alike, const(alike.type, 1 << k))
                with b.when(b.icmp("ne", bit, const(alike.type, 0))):
                    b.call("void", "sort_row", self.table, b.extract(self.starts, k), self.block,
                           self.polls)

    def _line(self, i: Value) -> Value:
        """Return the address in a block of the elements ``i`` of its rows."""
        return self.b.gep(self.type, self.block, i)

    def _read(self, raw: Value, i: Value) -> None:
        self.signs.note(raw)
        self._keep(self.rows.key(raw), i)

    def _keep(self, key: Value, i: Value) -> None:
        """Store the keys of element ``i`` of all rows as the words to sort."""
        if self.squeezed is None:
            key = self.rows.packed(key, i)
        else:
            self.squeezed.note(key, None)
        self.b.store(key, self._line(i))

    def _columns(self, reading: bool) -> None:
        """Read or write rows whose elements with one index are neighbours in memory: vectors as
        they are.
        """
        b, rows = self.b, self.rows
        start = b.extract(self.starts, 0)
        with b.loop(i64(0), rows.n) as loop:
            at = rows.at(start, loop.index)
            if reading:
                self._read(rows.load(at, self.lanes), loop.index)
            else:
                rows.store(rows.result(b.load(self.type, self._line(loop.index))), at)

    def _tiles(self, reading: bool) -> None:
        """Read or write rows whose elements are contiguous: squares are transposed in registers;
        the last one overlaps the one before.
        """
        b, rows, n = self.b, self.rows, self.lanes
        with b.loop(i64(0), rows.n, n) as loop:
            self._square(b.intrinsic("smin", loop.index, b.sub(rows.n, i64(n))), None, reading)

    def _narrow(self, reading: bool) -> None:
        """Read or write rows with fewer elements than lanes."""
        self._square(i64(0), there(self.b, i64(0), self.rows.n, self.lanes), reading)

    def _square(self, first: Value, mask: Value | None, reading: bool) -> None:
        """Read or write a square: elements from ``first`` on, of each row as many as there are
        lanes, or those of a mask.
        """
        b, rows, n = self.b, self.rows, self.lanes
        offsets = [b.add(b.extract(self.starts, k), first) for k in range(n)]
        lines = [b.add(first, i64(k)) for k in range(n)]
        if reading:
            raw = [rows.load(p, n, mask) for p in offsets]
            for r in raw:
                self.signs.note(r)
            for line, own in zip(lines, transposed(b, [rows.key(r) for r in raw]), strict=True):
                there_ = _YES if mask is None else b.icmp("slt", line, rows.n)
                with b.when(there_):
                    self._keep(own, line)
        else:
            found = transposed(b, [b.load(self.type, self._line(line)) for line in lines])
            for p, own in zip(offsets, found, strict=True):
                rows.store(rows.result(own), p, mask)

    def _singly(self, reading: bool) -> None:
        """Read or write rows of any strides, element by element."""
        b, rows, n = self.b, self.rows, self.lanes
        mask = const(vector("i1", n), True)
        base, type_ = (rows.source, rows.keys.memory) if reading else (
            rows.target, rows.spec.result_type)
        with b.loop(i64(0), rows.n) as loop:
            at = b.add(self.starts, b.splat(b.mul(loop.index, rows.inner), n))
            pointers = b.value(f"<{n} x ptr>", f"getelementptr {type_}, {base}, {at}")
            size = int(type_[1:]) // 8
            if reading:
                self._read(b.gather(vector(type_, n), pointers, mask, size), loop.index)
            else:
                found = rows.result(b.load(self.type, self._line(loop.index)))
                b.scatter(found, pointers, mask, size)
