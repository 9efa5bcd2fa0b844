"""Products whose A has many zeros: a row of C takes only the lines of B where A is not zero.

A block of B stays in the first cache while all rows pass by; their sums wait in scratch.  Which
elements of a row matter is one mask of bits, made of the block's part of the row.  Where B is not
finite, all elements matter: zero times infinity is no zero.
"""

from __future__ import annotations

from agnesi.codegen.builder import Builder, Value, const, i64, vector
from agnesi.codegen.gemm.microkernel import multiply_add, prefetch
from agnesi.codegen.gemm.operands import element_bytes, load_strided
from agnesi.codegen.gemm.pack import copy_turned
from agnesi.codegen.gemm.tile import TileUnit
from agnesi.codegen.gemm.tiling import Panel, Piece, pieces_of

_ROWS_AHEAD = 4  # rows of A to call near


class SkipUnit(TileUnit):
    """Row by row in panels of a few vectors, block by block of k."""

    def prepare(self) -> None:
        """Lay a turned A out along k, whole."""
        spec = self.plan.spec
        self._lay_out(self.operands.a, spec.m, spec.a_strides, 0, self.packed_a)

    def emit(self) -> None:
        """All panels of the unit."""
        for panel in self.plan.panels:
            with self._panels(panel) as index:
                self._clear(panel)
                self._blocks(panel, index)
                if self.plan.turns:
                    self._finish_turned(panel, self._column(index))
                else:
                    self._finish(panel, self.row, self._column(index), self.rows, self.sums)

    def _clear(self, panel: Panel) -> None:
        zero = const(vector(self.type, self.plan.lanes), 0)
        count = self.b.mul(self.rows, i64(panel.width))
        with self.b.loop(i64(0), count, self.plan.lanes, nonempty=True) as at:
            self.b.store(zero, self.b.gep(self.type, self.sums, at.index), self._align)

    def _blocks(self, panel: Panel, index: Value) -> None:
        """Whole blocks of k, and what is left."""
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
        every = self._unless_finite(panel, count)
        with b.loop(i64(0), self.rows, nonempty=True) as row:
            line = self._line(b.add(self.row, row.index), k)
            later = self._line(b.add(self.row, b.add(row.index, i64(_ROWS_AHEAD))), k)
            for at in range(0, count * element_bytes(self.type), 64):
                prefetch(b, b.gep("i8", later, i64(at)), near=True)
            place = b.gep(self.type, self.sums, b.mul(row.index, i64(panel.width)))
            mask = b.op("or", self._mask_of(line, count), every)
            self._add_row(panel, line, mask, place)

    def _line(self, i: Value, k: Value) -> Value:
        """Where a row of A has the block."""
        b, plan = self.b, self.plan
        if plan.pack_a:
            return b.gep(self.type, self.packed_a, b.add(b.mul(i, i64(plan.k_pitch)), k))
        assert self.operands.a.address is not None, "zeros are skipped of operands in memory"
        return self.operands.a.address(b, self.batch, i, k)

    def _unless_finite(self, panel: Panel, count: int) -> Value:
        """All bits of a mask if the packed block has an element that is not finite, or none."""
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
            if piece.lanes == 1:
                bits = b.fcmp("une", value, const(self.type, 0))
            else:
                bits = b.fcmp("une", value, const(value.type, 0))
                bits = b.cast("bitcast", bits, f"i{piece.lanes}")
            bits = b.cast("zext", bits, "i64")
            mask = b.op("or", mask, b.op("shl", bits, i64(piece.offset)))
        return mask

    def _add_row(self, panel: Panel, line: Value, mask: Value, place: Value) -> None:
        """The lines of B that the mask names, times elements of the row, to the row's sums."""
        b = self.b
        cells = [b.gep(self.type, place, i64(p.offset)) for p in panel.pieces]
        sums = [
            b.load(vector(self.type, p.lanes), at, self._align)
            for p, at in zip(panel.pieces, cells, strict=True)
        ]
        count = b.intrinsic("ctpop", mask)
        with b.loop(i64(0), count, 1, [mask, *sums]) as turn:
            rest, totals = turn.carried[0], turn.carried[1:]
            k = b.intrinsic("cttz", rest, Value("true", "i1"))
            x = b.load(self.type, b.gep(self.type, line, k), self._align)
            packed = b.gep(self.type, self.packed_b, b.mul(k, i64(panel.width)))
            new = []
            for p, total in zip(panel.pieces, totals, strict=True):
                at = b.gep(self.type, packed, i64(p.offset))
                y = load_strided(b, at, self.type, 1, p.lanes, None)
                factor = b.splat(x, p.lanes) if p.lanes > 1 else x
                new.append(multiply_add(b, factor, y, total))
            turn.carry(b.op("and", rest, b.sub(rest, i64(1))), *new)
        for value, at in zip(turn.results[1:], cells, strict=True):
            b.store(value, at, self._align)

    def _finish_turned(self, panel: Panel, j: Value) -> None:
        """Columns of the panel to the epilogue, one after the other, lanes along the rows."""
        b, plan = self.b, self.plan
        rows = plan.chunk_rows
        pitch = -(-rows // plan.lanes) * plan.lanes
        turned = b.gep(self.type, self.sums, i64(rows * plan.width))
        for p in panel.pieces:

            def along(b: Builder, x: Value, shift: int, y: Value, lanes: int,
                      mask: Value | None, p: Piece = p) -> Value:
                at = b.add(b.mul(b.add(x, i64(shift)), i64(panel.width)), b.add(y, i64(p.offset)))
                return load_strided(b, b.gep(self.type, self.sums, at), self.type, 1, lanes, mask)

            pieces = pieces_of(rows, plan.lanes)
            copy_turned(b, self.type, i64(p.active), p.active, pieces, along, turned, pitch)
            with b.loop(i64(0), i64(p.active), nonempty=True) as y:
                line = b.gep(self.type, turned, b.mul(y.index, i64(pitch)))
                self._finish_line(line, rows, b.add(j, b.add(y.index, i64(p.offset))))

    def _finish_line(self, line: Value, rows: int, j: Value) -> None:
        """All rows of one column."""
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
                self.operands.epilogue(
                    b, value, self.batch, i, j, piece.lanes, piece.mask, "m"
                )
