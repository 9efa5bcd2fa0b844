"""Products whose A has many zeros: a row of C takes only the lines of B where A is not zero.

A block of B stays in the first-level cache while all rows are processed; their sums are kept in
scratch.  The nonzero elements of a row within a block are found as one bit mask.  Where B is not
finite, no element is skipped: zero times infinity is NaN.
"""

from __future__ import annotations

from agnesi.codegen.kernels.gemm.operands import load_strided
from agnesi.codegen.kernels.gemm.pack import copy_transposed
from agnesi.codegen.kernels.gemm.tile import TileUnit
from agnesi.codegen.kernels.tiling import Panel, pieces_of
from agnesi.codegen.llvm.builder import Builder, Value, const, i64, vector
from agnesi.codegen.llvm.instructions import multiply_add, prefetch
from agnesi.codegen.llvm.type_names import nbytes
from agnesi.core.target import LINE_BYTES

_ROWS_AHEAD = 4  # rows of A to prefetch


class SkipUnit(TileUnit):
    """Row by row in panels of a few vectors, block by block of k."""

    def prepare(self) -> None:
        """Pack rows of a transposed A along k."""
        self._lay_out(self.operands.a, self.row, self.plan.chunk_rows, 0, self.packed_a)

    def emit(self) -> None:
        """All panels of the unit."""
        for panel in self.plan.panels:
            with self._panels(panel) as index:
                self._clear(panel)
                self._blocks(panel, index)
                if self.plan.transposes_sums:
                    self._finish_transposed(panel, self._column(index))
                else:
                    self._finish(panel, self.row, self._column(index), self.rows, self.sums)

    def _clear(self, panel: Panel) -> None:
        zero = const(vector(self.type, self.plan.lanes), 0)
        count = self.b.mul(self.rows, i64(panel.width))
        with self.b.loop(i64(0), count, self.plan.lanes, nonempty=True) as at:
            self.b.store(zero, self.b.gep(self.type, self.sums, at.index), self._align)

    def _blocks(self, panel: Panel, index: Value) -> None:
        """Emit the whole blocks of k, then the remainder."""
        k, step = self.plan.spec.k, self.plan.k_block
        whole = k - k % step
        for start, stop, count in ((0, whole, step), (whole, k, k % step)):
            if start < stop:
                with self.b.loop(i64(start), i64(stop), step, nonempty=True) as block:
                    self._pack_b(panel, index, block.index, i64(count))
                    self._add_block(panel, block.index, count)

    def _add_block(self, panel: Panel, k: Value, count: int) -> None:
        """Add the products of k .. k+count to all rows."""
        b = self.b
        every, rows = self._unless_finite(panel, count), self.plan.chunk_rows
        whole = rows - rows % self.plan.abreast
        for start, stop, size in ((0, whole, self.plan.abreast), (whole, rows, 1)):
            if start < stop:
                with b.loop(i64(start), i64(stop), size, nonempty=True) as row:
                    self._add_rows(panel, row.index, k, count, size, every)

    def _add_rows(
        self, panel: Panel, row: Value, k: Value, count: int, size: int, every: Value
    ) -> None:
        """Sort the lines of the block by which of the rows need them; each kind is a loop."""
        b, width = self.b, nbytes(self.type)
        first = b.add(self.row, row)
        lines = [self._line(b.add(first, i64(r)), k) for r in range(size)]
        for r in range(size):
            later = self._line(b.add(first, i64(_ROWS_AHEAD + r)), k)
            for at in range(0, count * width, LINE_BYTES):
                prefetch(b, b.gep("i8", later, i64(at)), near=True)
        masks = [b.op("or", self._mask_of(line, count), every) for line in lines]
        cells = [
            [b.gep(self.type, self.sums, b.add(b.mul(b.add(row, i64(r)), i64(panel.width)),
                                               i64(p.offset))) for p in panel.pieces]
            for r in range(size)
        ]
        sums = [
            [b.load(vector(self.type, p.lanes), at, self._align)
             for p, at in zip(panel.pieces, line, strict=True)]
            for line in cells
        ]
        for kind in range((1 << size) - 1, 0, -1):
            mask = i64(-1)
            for r, own in enumerate(masks):
                mask = b.op("and", mask, own if kind >> r & 1 else b.op("xor", own, i64(-1)))
            some = [r for r in range(size) if kind >> r & 1]
            new = self._add_lines(panel, [lines[r] for r in some], mask, [sums[r] for r in some])
            for r, line in zip(some, new, strict=True):
                sums[r] = line
        for values, addresses in zip(sums, cells, strict=True):
            for value, address in zip(values, addresses, strict=True):
                b.store(value, address, self._align)

    def _line(self, i: Value, k: Value) -> Value:
        """Return the address of the block in a row of A."""
        b, plan = self.b, self.plan
        if plan.pack_a:
            own = b.mul(b.sub(i, self.row), i64(plan.k_pitch))
            return b.gep(self.type, self.packed_a, b.add(own, k))
        assert self.operands.a.address is not None, "zeros are skipped of operands in memory"
        return self.operands.a.address(b, self.batch, i, k)

    def _unless_finite(self, panel: Panel, count: int) -> Value:
        """Return a mask of ``count`` ones if the packed block of B has a non-finite element, which
        zeros of A must be multiplied with; else 0.
        """
        b, lanes = self.b, self.plan.lanes
        type_ = vector(self.type, lanes)
        zero = const(type_, 0)
        size = count * panel.width
        with b.loop(i64(0), i64(size), lanes, [zero], nonempty=True) as at:
            value = b.load(type_, b.gep(self.type, self.packed_b, at.index), self._align)
            at.carry(multiply_add(b, value, zero, at.carried[0]))
        found = b.fcmp("uno", at.results[0], zero)
        bits = b.cast("bitcast", found, f"i{lanes}")
        some = b.icmp("ne", bits, Value("0", f"i{lanes}"))
        return b.select(some, i64((1 << count) - 1 if count < 64 else -1), i64(0))

    def _mask_of(self, line: Value, count: int) -> Value:
        """A bit for each element that is not zero."""
        b, mask = self.b, i64(0)
        for piece in pieces_of(count, self.plan.lanes):
            at = b.gep(self.type, line, i64(piece.offset))
            value = load_strided(b, at, self.type, 1, piece.lanes, piece.mask)
            bits = b.fcmp("une", value, const(value.type, 0))
            if piece.lanes > 1:
                bits = b.cast("bitcast", bits, f"i{piece.lanes}")
            bits = b.cast("zext", bits, "i64")
            mask = b.op("or", mask, b.op("shl", bits, i64(piece.offset)))
        return mask

    def _add_lines(
        self, panel: Panel, lines: list[Value], mask: Value, sums: list[list[Value]]
    ) -> list[list[Value]]:
        """Add the lines of B that the mask selects, times the elements of some rows of A, to the
        rows' sums.
        """
        b, pieces = self.b, panel.pieces
        count = b.intrinsic("ctpop", mask)
        with b.loop(i64(0), count, 1, [mask, *(v for line in sums for v in line)]) as loop:
            rest, totals = loop.carried[0], iter(loop.carried[1:])
            k = b.intrinsic("cttz", rest, Value("true", "i1"))
            packed = b.gep(self.type, self.packed_b, b.mul(k, i64(panel.width)))
            addresses = [b.gep(self.type, packed, i64(p.offset)) for p in pieces]
            values = [
                load_strided(b, at, self.type, 1, p.lanes, None)
                for p, at in zip(pieces, addresses, strict=True)
            ]
            new = []
            for line in lines:
                x = b.load(self.type, b.gep(self.type, line, k), self._align)
                for p, y in zip(pieces, values, strict=True):
                    factor = b.splat(x, p.lanes) if p.lanes > 1 else x
                    new.append(multiply_add(b, factor, y, next(totals)))
            loop.carry(b.op("and", rest, b.sub(rest, i64(1))), *new)
        found = iter(loop.results[1:])
        return [[next(found) for _ in pieces] for _ in lines]

    def _finish_transposed(self, panel: Panel, j: Value) -> None:
        """Pass the columns of a panel to the epilogue one by one, with lanes along rows."""
        b, first = self.b, panel.pieces[0]
        whole = panel.columns - panel.columns % first.lanes
        if whole:
            with b.loop(i64(0), i64(whole), first.lanes, nonempty=True) as at:
                self._finish_columns(panel, j, at.index, first.lanes)
        if whole < panel.columns:
            self._finish_columns(panel, j, i64(whole), panel.columns - whole)

    def _finish_columns(self, panel: Panel, j: Value, at: Value, count: int) -> None:
        """Finish a vector of columns, or fewer, from one on."""
        b, plan = self.b, self.plan
        rows = plan.chunk_rows
        pitch = -(-rows // plan.lanes) * plan.lanes
        transposed = b.gep(self.type, self.sums, i64(rows * plan.width))

        def along(b: Builder, x: Value, shift: Value, y: Value, lanes: int,
                  mask: Value | None) -> Value:
            offset = b.add(b.mul(b.add(x, shift), i64(panel.width)), b.add(y, at))
            return load_strided(b, b.gep(self.type, self.sums, offset), self.type, 1, lanes, mask)

        pieces = pieces_of(rows, plan.lanes)
        copy_transposed(b, self.type, i64(count), count, pieces, along, transposed, pitch)
        with b.loop(i64(0), i64(count), nonempty=True) as y:
            line = b.gep(self.type, transposed, b.mul(y.index, i64(pitch)))
            self._finish_line(line, rows, b.add(j, b.add(y.index, at)))

    def _finish_line(self, line: Value, rows: int, j: Value) -> None:
        """Finish all rows of one column of results."""
        b, lanes = self.b, self.plan.lanes
        whole = rows - rows % lanes
        for start, stop in ((0, whole), (whole, rows)):
            if start == stop:
                continue
            (piece,) = pieces_of(min(lanes, stop - start), lanes)
            with b.loop(i64(start), i64(stop), lanes, nonempty=True) as x:
                at = b.gep(self.type, line, x.index)
                value = load_strided(b, at, self.type, 1, piece.lanes, None)
                i = b.add(self.row, x.index)
                self.operands.epilogue(b, value, self.batch, i, j, piece.lanes, piece.mask, "m")
