"""Products of bfloat16 matrices by the processor's own instruction, added up in float32.

``vdpbf16ps`` adds the products of two pairs to every lane.  Tiles of the second matrix are packed,
pairs of rows interleaved; pairs of the first one are adjacent in its rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from agnesi.codegen.llvm.builder import Builder, Module, Value, const, i64, lanes
from agnesi.codegen.llvm.task import task
from agnesi.core.target import Target

#: Lanes of a vector.
_TILE_LANES = 16
#: Vectors in a row of a tile of results.
_TILE_VECTORS = 3
#: Rows of a tile of results.
_TILE_ROWS = 8
#: Rows of the second matrix that are packed at a time.
_PACKED_ROWS = 512
_TILE_COLUMNS = _TILE_LANES * _TILE_VECTORS
_NUMBERS = lanes(f"<{_TILE_LANES} x i64>", range(_TILE_LANES))
_SUMS, _PAIRS, _HALVES = "<16 x float>", "<32 x bfloat>", "<16 x i16>"


class _Product:
    """``result[m, n] = a[m, k] @ c[k, n]``, all row-major; ``c[n, k]`` if ``transposed``."""

    def __init__(self, b: Builder, sizes: Sequence[Value], matrices: Sequence[Value],
                 transposed: bool) -> None:
        self.b, self.transposed = b, transposed
        self.m, self.n, self.k = sizes
        self.a, self.c, self.result, self.workspace = matrices

    def columns(self, j: Value) -> None:
        """Emit the product for the strip of columns that begins with column ``j``."""
        b = self.b
        left = b.intrinsic("smin", b.sub(self.n, j), i64(_TILE_COLUMNS))
        masks = [_mask(b, b.sub(left, i64(v * _TILE_LANES))) for v in range(_TILE_VECTORS)]
        with b.loop(i64(0), self.k, _PACKED_ROWS) as block:
            depth = b.intrinsic("smin", b.sub(self.k, block.index), i64(_PACKED_ROWS))
            self._pack(block.index, depth, j, masks)
            later = b.icmp("sgt", block.index, i64(0))
            whole = b.sub(self.m, b.op("urem", self.m, i64(_TILE_ROWS)))
            for start, stop, rows in ((i64(0), whole, _TILE_ROWS), (whole, self.m, 1)):
                with b.loop(start, stop, rows) as i:
                    self._tile(rows, (i.index, j), (block.index, depth), masks, later)

    def _pack(self, first: Value, depth: Value, j: Value, masks: Sequence[Value]) -> None:
        """Pack rows ``first`` to ``first + depth`` in pairs; an odd last one is paired with zeros.
        """
        b = self.b
        with b.loop(i64(0), depth, 2) as loop:
            even = b.add(first, loop.index)
            there = b.icmp("slt", b.add(loop.index, i64(1)), depth)
            for v, mask in enumerate(masks):
                column = b.add(j, i64(v * _TILE_LANES))
                read = self._neighbours if self.transposed else self._rows
                pairs = read(even, column, mask, there)
                at = b.add(b.mul(loop.index, i64(_TILE_COLUMNS)), i64(v * 2 * _TILE_LANES))
                b.store(pairs, b.gep("i16", self.workspace, at), 64)

    def _rows(self, even: Value, column: Value, mask: Value, there: Value) -> Value:
        """Load pairs of elements of two rows, for one instruction that multiplies both; ``there``
        says whether there is a second row, else it counts as zeros.
        """
        b = self.b
        both = b.op("and", mask, b.splat(there, _TILE_LANES))
        first = self._row(even, column, mask)
        second = self._row(b.add(even, i64(1)), column, both)
        return b.shuffle(
            first, second, [i // 2 + _TILE_LANES * (i % 2) for i in range(2 * _TILE_LANES)]
        )

    def _neighbours(self, even: Value, column: Value, mask: Value, there: Value) -> Value:
        """Load pairs of neighbours in each row of a transposed matrix; the last pair may have one
        element only.
        """
        b = self.b
        begin = b.add(b.mul(column, self.k), b.sub(even, b.select(there, i64(0), i64(1))))
        lines = b.op("mul", b.splat(self.k, _TILE_LANES), _NUMBERS)
        offsets = b.op("add", lines, b.splat(begin, _TILE_LANES))
        pointers = b.value(f"<{_TILE_LANES} x ptr>", f"getelementptr i16, {self.c}, {offsets}")
        pairs = b.gather(f"<{_TILE_LANES} x i32>", pointers, mask, 2)
        shift = b.select(there, Value("0", "i32"), Value("16", "i32"))
        return b.op("lshr", pairs, b.splat(shift, _TILE_LANES))

    def _row(self, row: Value, column: Value, mask: Value) -> Value:
        b = self.b
        at = b.gep("i16", self.c, b.add(b.mul(row, self.n), column))
        return b.masked_load(_HALVES, at, mask, 2, const(_HALVES, 0))

    def _tile(self, rows: int, corner: tuple[Value, Value], span: tuple[Value, Value],
              masks: Sequence[Value], later: Value) -> None:
        """Compute a tile of results, or add to it if ``later``."""
        b = self.b
        (i, j), (first, depth) = corner, span
        lines = [b.gep("i16", self.a, b.add(b.mul(b.add(i, i64(r)), self.k), first))
                 for r in range(rows)]
        targets = [b.gep("float", self.result, b.add(b.mul(b.add(i, i64(r)), self.n), j))
                   for r in range(rows)]
        before = []
        for target in targets:
            for v, mask in enumerate(masks):
                wanted = b.op("and", mask, b.splat(later, _TILE_LANES))
                at = b.gep("float", target, i64(v * _TILE_LANES))
                before.append(b.masked_load(_SUMS, at, wanted, 4, const(_SUMS, 0)))
        pairs = b.sub(depth, b.op("urem", depth, i64(2)))
        with b.loop(i64(0), pairs, 2, carried=before) as loop:
            loop.carry(*self._sums(loop.index, loop.carried, [
                b.load("i32", b.gep("i16", line, loop.index), 2) for line in lines]))
        odd = b.icmp("ne", pairs, depth)
        last, after, begin = b.label("odd"), b.label("after"), b.block
        b.cbr(odd, last, after)
        b.open_block(last)
        ends = self._sums(pairs, loop.results, [
            b.cast("zext", b.load("i16", b.gep("i16", line, pairs), 2), "i32") for line in lines])
        b.br(after)
        b.open_block(after)
        sums = [b.phi(_SUMS, [(x, begin), (y, last)])
                for x, y in zip(loop.results, ends, strict=True)]
        for r, target in enumerate(targets):
            for v, mask in enumerate(masks):
                at = b.gep("float", target, i64(v * _TILE_LANES))
                b.masked_store(sums[r * _TILE_VECTORS + v], at, mask, 4)

    def _sums(self, at: Value, sums: Sequence[Value], pairs: Sequence[Value]) -> list[Value]:
        """Return the accumulators of a tile after two steps along k: ``pairs`` has the two bfloat16
        elements of each row as an i32, ``at`` is the row of the packed columns.
        """
        b = self.b
        offset = b.mul(at, i64(_TILE_COLUMNS))
        packed = [
            b.load(_PAIRS, b.gep("i16", self.workspace,
                                 b.add(offset, i64(v * 2 * _TILE_LANES))), 64)
            for v in range(_TILE_VECTORS)
        ]
        found = []
        for r, pair in enumerate(pairs):
            both = b.cast("bitcast", b.splat(pair, _TILE_LANES), _PAIRS)
            for v, right in enumerate(packed):
                found.append(b.call(_SUMS, "llvm.x86.avx512bf16.dpbf16ps.512",
                                    sums[r * _TILE_VECTORS + v], both, right))
        return found


def _mask(b: Builder, count: Value) -> Value:
    """Return the mask of the first ``count`` lanes."""
    return b.icmp("slt", _NUMBERS, b.splat(count, _TILE_LANES))


def halves_module(transposed: bool, workspace: int, target: Target) -> str:
    """The text of ``shared(table, begin, end, thread)``: strips of columns of products.

    The table: two matrices, the result (float32), ``workspace`` bytes for each thread, then how
    many matrices there are, rows, columns, inner size, and units.  The second matrix may be stored
    transposed (``transposed``).
    """
    module = Module(target)
    b = task(module, "shared")
    table, begin, end, _ = b.parameters
    a, c, result, given = (b.load("ptr", b.gep("i64", table, i64(i))) for i in range(4))
    many, m, n, k, units = (b.load("i64", b.gep("i64", table, i64(i))) for i in range(4, 9))
    strips = b.op("udiv", b.add(n, i64(_TILE_COLUMNS - 1)), i64(_TILE_COLUMNS))
    total = b.mul(many, strips)
    with b.loop(begin, end) as unit:
        space = b.gep("i8", given, b.mul(unit.index, i64(workspace)))
        first = b.op("udiv", b.mul(unit.index, total), units)
        behind = b.op("udiv", b.mul(b.add(unit.index, i64(1)), total), units)
        with b.loop(first, behind) as strip:
            which = b.op("udiv", strip.index, strips)
            column = b.mul(b.op("urem", strip.index, strips), i64(_TILE_COLUMNS))
            matrices = [
                b.gep("i16", a, b.mul(which, b.mul(m, k))),
                b.gep("i16", c, b.mul(which, b.mul(k, n))),
                b.gep("float", result, b.mul(which, b.mul(m, n))), space,
            ]
            _Product(b, (m, n, k), matrices, transposed).columns(column)
    b.finish()
    return str(module)
