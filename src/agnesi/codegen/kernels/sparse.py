"""Products of compressed rows and dense matrices: loops over the entries of each row.

Columns of the dense operands run along lanes, a tile of them in registers at a time; entries of a
row that go into one sum are taken several at once, in an order that no number of threads changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agnesi.codegen.llvm.builder import Builder, Value, const, i64, is_float, lanes, vector, width
from agnesi.core.ir.dims import Size
from agnesi.core.ir.extents import Extent
from agnesi.core.ir.kernels import Buffer, Sparse
from agnesi.core.support.record import record
from agnesi.core.target import Target

_TYPES = {"float32": "float", "float64": "double", "int32": "i32", "int64": "i64"}
#: Vectors in a tile.
_TILE_VECTORS = 8
#: Sums that are in flight, to hide the latency of additions.
_SUMS_IN_FLIGHT = 4
#: Entries of a row, on average, from which several are read at once.
_LONG_ROW_ENTRIES = 32
#: How many are read at once then.
_ENTRIES_AT_ONCE = 16
#: Entries ahead of those in use that are prefetched.
_PREFETCH_ENTRIES = 256


@record
class SparsePlan:
    """How a kernel is cut: ``units`` of rows, or of tiles of columns."""

    kernel: Sparse
    units: Size
    surplus: Any
    lanes: int
    tile: int


def plan_sparse(kernel: Sparse, target: Target) -> SparsePlan:
    """The cut of a kernel; sums do not depend on it."""
    second = kernel.inputs[1]
    columns = second.shape[1]
    wide = 1 if columns == 1 else target.lanes(second.dtype.itemsize)
    vectors = 1 if isinstance(columns, Extent) else min(_TILE_VECTORS, -(-columns // wide) or 1)
    units: Size = kernel.inputs[3].shape[0] - 1
    if kernel.kind == "csc_product":
        units = (columns + (wide * vectors - 1)) // (wide * vectors)
    surplus = kernel.inputs[2].shape[0] * columns - target.costs.sparse_multiply_adds
    return SparsePlan(kernel, units, surplus, wide, vectors)


def emit_sparse(b: Builder, plan: SparsePlan, pointer: Callable[[Buffer], Value],
                begin: Value, end: Value) -> None:
    """Emit work units [begin, end)."""
    emitter = _Emitter(b, plan, pointer)
    if plan.kernel.kind == "csr_product":
        emitter.rows(begin, end)
    elif plan.kernel.kind == "csc_product":
        emitter.columns(begin, end)
    else:
        emitter.samples(begin, end)


#: The lanes of a tile's vectors that are there, None for all.
Masks = Sequence[Value | None]


class _Emitter:
    def __init__(self, b: Builder, plan: SparsePlan, pointer: Callable[[Buffer], Value]) -> None:
        kernel = plan.kernel
        self.b, self.plan = b, plan
        self.first, self.second, self.indices, self.indptr = map(pointer, kernel.inputs)
        self.result = pointer(kernel.results[0])
        self.size = kernel.inputs[1].shape[1]
        self.row_count: Size = kernel.inputs[3].shape[0] - 1
        self.index_type, self.start_type = (_TYPES[x.dtype.name] for x in kernel.inputs[2:])
        dtype = kernel.inputs[1].dtype
        self.type, self.align = _TYPES[dtype.name], dtype.itemsize
        self.vector = vector(self.type, plan.lanes)

    # -- elements -------------------------------------------------------------------------
    def _index(self, type_: str, table: Value, at: Value) -> Value:
        found = self.b.load(type_, self.b.gep(type_, table, at))
        return found if type_ == "i64" else self.b.cast("sext", found, "i64")

    def _entries(self, row: Value) -> tuple[Value, Value]:
        """The entries of a row: from the first to behind the last."""
        return (self._index(self.start_type, self.indptr, row),
                self._index(self.start_type, self.indptr, self.b.add(row, i64(1))))

    def _line(self, matrix: Value, row: Value, column: Value) -> Value:
        """Return the address of a column in a row of a dense matrix."""
        at = self.b.add(self.b.mul(row, self.b.size(self.size)), column)
        return self.b.gep(self.type, matrix, at)

    def _at(self, line: Value, v: int) -> Value:
        return self.b.gep(self.type, line, i64(v * self.plan.lanes)) if v else line

    def _load(self, line: Value, masks: Masks) -> list[Value]:
        return [
            self.b.load(self.vector, self._at(line, v), self.align) if mask is None
            else self.b.masked_load(self.vector, self._at(line, v), mask, self.align,
                                    const(self.vector, 0))
            for v, mask in enumerate(masks)
        ]

    def _store(self, values: Sequence[Value], line: Value, masks: Masks) -> None:
        for v, (value, mask) in enumerate(zip(values, masks, strict=True)):
            if mask is None:
                self.b.store(value, self._at(line, v), self.align)
            else:
                self.b.masked_store(value, self._at(line, v), mask, self.align)

    def _add(self, a: Value, c: Value) -> Value:
        return self.b.fadd(a, c) if is_float(self.type) else self.b.add(a, c)

    def _multiply_add(self, a: Value, c: Value, total: Value) -> Value:
        if is_float(self.type):
            return self.b.fma(a, c, total)
        return self.b.add(self.b.mul(a, c), total)

    # -- tiles ----------------------------------------------------------------------------
    def _tiles(self, body: Callable[[Value, Masks], None]) -> None:
        """Emit whole tiles of columns, then the narrower last one."""
        b, plan = self.b, self.plan
        step = plan.lanes * plan.tile
        whole = self.size // step
        with b.loop(i64(0), b.size(whole)) as tile:
            body(b.mul(tile.index, i64(step)), [None] * plan.tile)
        if isinstance(self.size, Extent):
            rest = b.size(self.size % step)
            with b.when(b.icmp("sgt", rest, i64(0))):
                body(b.size(whole * step), [self._lanes_below(rest, plan.lanes)])
        elif self.size % step:
            body(i64(whole * step), self._masks(self.size % step))

    def _masks(self, count: int) -> Masks:
        """Return the masks of ``count`` columns."""
        n = self.plan.lanes
        masks: list[Value | None] = [None] * (count // n)
        if count % n:
            masks.append(lanes(vector("i1", n), [k < count % n for k in range(n)]))
        return masks

    def _lanes_below(self, count: Value, n: int) -> Value:
        numbers = lanes(vector("i64", n), list(range(n)))
        return self.b.icmp("slt", numbers, self.b.splat(count, n))

    # -- kinds ----------------------------------------------------------------------------
    def rows(self, begin: Value, end: Value) -> None:
        """Each row of the result: the sum of lines of the dense matrix."""
        if self.size == 1:
            self._numbers(begin, end)
            return
        with self.b.loop(begin, end) as row:
            first, last = self._entries(row.index)

            def tile(column: Value, masks: Masks) -> None:
                sums = self._sums(first, last, column, masks)
                self._store(sums, self._line(self.result, row.index, column), masks)

            self._tiles(tile)

    def _numbers(self, begin: Value, end: Value) -> None:
        """Multiply rows of a sparse matrix by a vector, four entries at a time, alternating between
        two accumulators.

        The rest of a row is masked, so that no branch depends on its length.
        """
        b = self.b
        count = b.size(self.plan.kernel.inputs[2].shape[0])
        least = b.intrinsic("smax", b.mul(b.size(self.row_count), i64(_LONG_ROW_ENTRIES)), i64(1))
        for low, high, step in ((least, None, _ENTRIES_AT_ONCE), (i64(1), least, 4)):
            wanted = b.icmp("sge", count, low)
            if high is not None:
                wanted = b.op("and", wanted, b.icmp("slt", count, high))
            with b.when(wanted), b.loop(begin, end) as row:
                total = self._number_of(row.index, step)
                b.store(total, b.gep(self.type, self.result, row.index))
        with b.when(b.icmp("eq", count, i64(0))), b.loop(begin, end) as row:
            b.store(const(self.type, 0), b.gep(self.type, self.result, row.index))

    def _number_of(self, row: Value, most: int) -> Value:
        """The product of a row and the vector, by at ``most`` so many entries at once."""
        b = self.b
        first, last = self._entries(row)
        sums = [const(vector(self.type, 4), 0)] * 2
        start = first
        for step in dict.fromkeys((most, 4)):
            stop = b.add(first, b.op("and", b.sub(last, first), i64(-step)))
            with b.loop(start, stop, step, sums) as several:
                several.carry(*self._fours(several.index, step, several.carried))
            sums, start = several.results, stop
        left = self._lanes_below(b.sub(last, start), 4)
        sums = [sums[1], self._four(start, sums[0], left)]
        return self._across(self._add(*sums))

    def _fours(self, k: Value, count: int, sums: Sequence[Value]) -> Sequence[Value]:
        """Add ``count`` entries from ``k`` on, four at a time, alternating between two
        accumulators.
        """
        self._call_ahead(k)
        for t in range(0, count, 4):
            sums = [sums[1], self._four(self.b.add(k, i64(t)), sums[0])]
        return sums

    def _four(self, k: Value, total: Value, mask: Value | None = None) -> Value:
        """Add four entries, masked if needed, times their elements of the vector."""
        b = self.b
        numbers = Value("poison", total.type)
        for lane, index in enumerate(self._four_indices(k, mask)):
            number = b.load(self.type, b.gep(self.type, self.second, index))
            numbers = b.value(total.type, f"insertelement {numbers}, {number}, i64 {lane}")
        there, zero = b.gep(self.type, self.first, k), const(total.type, 0)
        if mask is None:
            factors = b.load(total.type, there, self.align)
        else:
            factors = b.masked_load(total.type, there, mask, self.align, zero)
            numbers = b.select(mask, numbers, zero)
        return self._multiply_add(factors, numbers, total)

    def _call_ahead(self, k: Value) -> None:
        """Prefetch memory ahead of an entry, which may be beyond a table's end."""
        b = self.b
        at = b.add(k, i64(_PREFETCH_ENTRIES))
        for type_, table in ((self.index_type, self.indices), (self.type, self.first)):
            ahead = b.value("ptr", f"getelementptr {type_}, {table}, {at}")
            flags = (Value(str(n), "i32") for n in (0, 3, 1))  # to read, into all caches, data
            b.call("void", "llvm.prefetch.p0", ahead, *flags)

    def _four_indices(self, k: Value, mask: Value | None) -> list[Value]:
        """The indices of four entries, 0 for missing ones.

        Short ones are taken as pairs, since none is negative.
        """
        b = self.b
        narrow = self.index_type == "i32"
        there, wide = b.gep(self.index_type, self.indices, k), vector(self.index_type, 4)
        if mask is None and not narrow:
            return [b.load("i64", b.gep("i64", there, i64(t))) for t in range(4)]
        if mask is None:
            pairs = [b.load("i64", b.gep("i64", there, i64(t)), 4) for t in (0, 1)]
        else:
            size = self.plan.kernel.inputs[2].dtype.itemsize
            found = b.masked_load(wide, there, mask, size, const(wide, 0))
            if not narrow:
                return [b.extract(found, t) for t in range(4)]
            halves = b.cast("bitcast", found, "<2 x i64>")
            pairs = [b.extract(halves, t) for t in (0, 1)]
        return [
            p for pair in pairs
            for p in (b.op("and", pair, i64(2**32 - 1)), b.op("lshr", pair, i64(32)))
        ]

    def _sums(self, first: Value, last: Value, column: Value, masks: Masks) -> list[Value]:
        """Return the sum over a row's entries, unrolled with several accumulators, and the
        remaining entries.
        """
        b, count = self.b, len(masks)
        zero = const(self.vector, 0)
        unroll = max(1, _SUMS_IN_FLIGHT // count)
        sums = [zero] * count
        if unroll > 1:
            whole = b.op("and", b.sub(last, first), i64(-unroll))
            middle = b.add(first, whole)
            with b.loop(first, middle, unroll, [zero] * (unroll * count)) as several:
                found: list[Value] = []
                for t in range(unroll):
                    k = b.add(several.index, i64(t))
                    own = several.carried[t * count: (t + 1) * count]
                    found += self._entry(k, column, masks, own)
                several.carry(*found)
            sums, first = self._united(several.results, count), middle
        with b.loop(first, last, 1, sums) as one:
            one.carry(*self._entry(one.index, column, masks, one.carried))
        return one.results

    def _united(self, sums: Sequence[Value], count: int) -> list[Value]:
        """Return the sum of all accumulators, added pairwise."""
        parts = [list(sums[t: t + count]) for t in range(0, len(sums), count)]
        while len(parts) > 1:
            parts = [
                [self._add(x, y) for x, y in zip(a, c, strict=True)]
                for a, c in zip(parts[::2], parts[1::2], strict=True)
            ]
        return parts[0]

    def _entry(self, k: Value, column: Value, masks: Masks, sums: Sequence[Value]) -> list[Value]:
        b = self.b
        index = self._index(self.index_type, self.indices, k)
        factor = b.splat(b.load(self.type, b.gep(self.type, self.first, k)), self.plan.lanes)
        values = self._load(self._line(self.second, index, column), masks)
        return [self._multiply_add(factor, x, s) for x, s in zip(values, sums, strict=True)]

    def columns(self, begin: Value, end: Value) -> None:
        """Emit tiles of columns of the result: lines of the dense matrix are added at the entries'
        rows.
        """
        b = self.b
        size, step = self.size, self.plan.lanes * self.plan.tile
        if isinstance(size, Extent):
            with b.loop(begin, end) as part:
                column = b.mul(part.index, i64(step))
                left = b.sub(b.size(size), column)
                self._column_tile(column, [self._lanes_below(left, self.plan.lanes)])
            return
        whole = size // step
        with b.loop(begin, b.intrinsic("smin", end, i64(whole))) as part:
            self._column_tile(b.mul(part.index, i64(step)), [None] * self.plan.tile)
        if size % step:
            with b.when(b.icmp("sgt", end, i64(whole))):
                self._column_tile(i64(whole * step), self._masks(size % step))

    def _column_tile(self, column: Value, masks: Masks) -> None:
        b = self.b
        lines = self.plan.kernel.results[0].shape[0]
        with b.loop(i64(0), b.size(lines)) as line:
            there = self._line(self.result, line.index, column)
            self._store([const(self.vector, 0)] * len(masks), there, masks)
        with b.loop(i64(0), b.size(self.row_count)) as row:
            first, last = self._entries(row.index)
            own = self._load(self._line(self.second, row.index, column), masks)
            with b.loop(first, last) as entry:
                k = entry.index
                index = self._index(self.index_type, self.indices, k)
                factor = b.load(self.type, b.gep(self.type, self.first, k))
                factor = b.splat(factor, self.plan.lanes)
                there = self._line(self.result, index, column)
                old = self._load(there, masks)
                new = [self._multiply_add(factor, x, y) for x, y in zip(own, old, strict=True)]
                self._store(new, there, masks)

    def samples(self, begin: Value, end: Value) -> None:
        """For each entry the product of a line of one matrix and a line of the other."""
        b = self.b
        with b.loop(begin, end) as row:
            first, last = self._entries(row.index)
            with b.loop(first, last) as entry:
                index = self._index(self.index_type, self.indices, entry.index)
                total = b.alloca(self.type, 1)
                b.store(const(self.type, 0), total)

                def tile(column: Value, masks: Masks) -> None:
                    left = self._load(self._line(self.first, row.index, column), masks)
                    right = self._load(self._line(self.second, index, column), masks)
                    found = const(self.vector, 0)
                    for x, y in zip(left, right, strict=True):
                        found = self._multiply_add(x, y, found)
                    known = b.load(self.type, total)
                    b.store(self._add(known, self._across(found)), total)

                self._tiles(tile)
                b.store(b.load(self.type, total), b.gep(self.type, self.result, entry.index))

    def _across(self, x: Value) -> Value:
        """Return the sum of all lanes."""
        n = width(x.type)
        while n > 2:
            n //= 2
            low = self.b.shuffle(x, None, range(n))
            x = self._add(low, self.b.shuffle(x, None, range(n, 2 * n)))
        if n == 1:
            return x
        return self._add(self.b.extract(x, 0), self.b.extract(x, 1))
