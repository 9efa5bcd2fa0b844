"""Work units that run along strips of rows: B of the whole unit is packed and stays in a cache.

Where a block has one row tile, its A is in the first-level cache while all panels of B are read,
and the next tile's A is prefetched during the products of this one.  Where it has more, the
block's A is packed and in the second-level cache, and a panel of B is in the first-level cache
while all tiles are computed.
"""

from __future__ import annotations

from agnesi.codegen.kernels.gemm.microkernel import At, Source
from agnesi.codegen.kernels.gemm.tile import TileUnit
from agnesi.codegen.kernels.tiling import Panel, pieces_of
from agnesi.codegen.llvm.builder import Builder, Value, i64
from agnesi.codegen.llvm.instructions import prefetch
from agnesi.codegen.llvm.type_names import nbytes
from agnesi.core.target import LINE_BYTES

_LINES_AHEAD = 4  # lines of B to prefetch where they are packed


class StripUnit(TileUnit):
    """Row tiles outside, column panels inside."""

    def widen(self, last: Value) -> None:
        """Take all row chunks up to ``last`` as one."""
        b, plan = self.b, self.plan
        rows = plan.panels[0].rows
        stop = self._share_of(rows, last)[1]
        self.tiles = [(self.tiles[0][0], stop)] * len(plan.panels)
        self.rows = b.sub(rows.start(b, stop), self.row)

    def _block(self, k: Value, count: Value) -> None:
        b, spec, rows = self.b, self.plan.spec, self.plan.panels[0].rows
        if spec.b_strides[0] == 1 != spec.b_strides[1]:
            for panel in self.plan.panels:
                with self._panels(panel) as index:
                    self._pack_b(panel, index, k, count)
        else:
            self._pack_lines(k, count)
        low, high = self.tiles[0]
        if rows.big:
            end = b.intrinsic("smin", high, i64(rows.big))
            self._strips(low, end, rows.small_size + 1, k, count)
            low = b.intrinsic("smax", low, i64(rows.big))
        self._strips(low, high, rows.small_size, k, count)

    def _pack_lines(self, k: Value, count: Value) -> None:
        """Pack all panels of B line by line, in the order of memory."""
        b, operand = self.b, self.operands.b
        with b.loop(i64(0), count) as kk:
            row = b.add(k, kk.index)
            later = b.add(row, i64(_LINES_AHEAD))
            for panel in self.plan.panels:
                with self._panels(panel) as index:
                    at = b.mul(kk.index, i64(panel.width))
                    line = b.gep(self.type, self._packed_panel(index), at)
                    for p in panel.pieces:
                        column = b.add(self._column(index), i64(p.offset))
                        if operand.address is not None:
                            there = operand.address(b, self.batch, later, column)
                            prefetch(b, there, near=False)
                        value = operand.load(b, self.batch, row, column, p.lanes, p.mask, "n")
                        address = b.gep(self.type, line, i64(p.offset))
                        b.store(value, address, nbytes(self.type))

    def _strips(self, low: Value, high: Value, size: int, k: Value, count: Value) -> None:
        """Compute row tiles [low, high) of equal size, block by block of tiles."""
        b, plan, rows = self.b, self.plan, self.plan.panels[0].rows
        with b.loop(low, high, plan.block_tiles) as block:
            first = block.index
            stop = b.intrinsic("smin", b.add(first, i64(plan.block_tiles)), high)
            if plan.block_tiles == 1:
                stop = b.add(first, i64(1))
            if plan.pack_a:
                self._pack_tiles(first, stop, size, k, count)
            for panel in plan.panels:
                with self._panels(panel) as index, b.loop(first, stop, nonempty=True) as tile:
                    i = rows.start(b, tile.index)
                    self.next = b.add(i, i64(size))
                    at = b.mul(b.sub(tile.index, first), i64(plan.tile_pitch))
                    self.packed_tile = b.gep(self.type, self.packed_a, at)
                    self._tile(panel, size, index, i, k, count)

    def _pack_tiles(self, first: Value, stop: Value, size: int, k: Value, count: Value) -> None:
        """The elements of each tile side by side, k by k, so that memory is read line by line; what
        a vector has too much is written over.
        """
        b, plan, load = self.b, self.plan, self.operands.a.load
        rows = plan.panels[0].rows
        with b.loop(i64(0), count) as kk, b.loop(first, stop, nonempty=True) as tile:
            at = b.mul(b.sub(tile.index, first), i64(plan.tile_pitch))
            address = b.gep(self.type, self.packed_a, b.add(at, b.mul(kk.index, i64(size))))
            start = rows.start(b, tile.index)
            for p in pieces_of(size, plan.lanes):
                row = b.add(start, i64(p.offset))
                value = load(b, self.batch, row, b.add(k, kk.index), p.lanes, p.mask, "m")
                b.store(value, b.gep(self.type, address, i64(p.offset)), nbytes(self.type))

    def _packed_panel(self, index: Value) -> Value:
        at = self.b.mul(self.b.sub(index, self.group_start), i64(self.plan.panel_pitch))
        return self.b.gep(self.type, self.packed_b, at)

    def _a(self, i: Value, k: Value, size: int) -> Source:
        if not self.plan.pack_a:
            return super()._a(i, k, size)
        return Source(self.packed_tile, 1, size)

    def _beside(self, panel: Panel, index: Value, i: Value, k: Value, count: Value) -> At | None:
        """Return the addresses of the next tile of a transposed A to prefetch, spread over the
        panels; None where packing or the hardware prefetches them.
        """
        b, plan, address = self.b, self.plan, self.operands.a.address
        assert address is not None, "strips are for operands in memory"
        if plan.block_tiles > 1:
            return None  # whole lines are packed, or read again from the second-level cache
        if not plan.pack_a and (plan.blocked or plan.spec.a_strides[0] != plan.spec.k):
            return None  # its rows are what processors see coming
        if not plan.pack_a:
            return self._run_ahead(address(b, self.batch, self.next, k), index, count)
        rows, line_rows = plan.panels[0].rows.largest, LINE_BYTES // plan.spec.itemsize
        ends = range(rows - 1, -1, -line_rows)  # in lines that no tile before has read
        shift = (plan.panel_count // plan.column_groups).bit_length() - 1
        before, last = b.mul(b.sub(index, self.group_start), count), b.sub(count, i64(1))

        def line(b: Builder, kk: Value) -> list[Value]:
            at = b.op("lshr", b.add(before, kk), i64(shift))
            at = b.add(k, b.intrinsic("smin", at, last))
            return [address(b, self.batch, b.add(self.next, i64(row)), at) for row in ends]

        return line

    def _run_ahead(self, start: Value, index: Value, count: Value) -> At:
        """Return the addresses of the next tile of whole rows to prefetch: one run of memory from
        ``start`` on.
        """
        b, plan = self.b, self.plan
        before = b.mul(b.sub(index, self.group_start), count)
        step = -(-plan.panels[0].rows.largest // plan.group_panels)
        return lambda b, kk: [b.gep(self.type, start, b.mul(b.add(before, kk), i64(step)))]
