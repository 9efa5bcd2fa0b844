"""Work units that run along strips of rows: B of the whole unit is packed and stays near.

A tile of A is in the first cache while all panels of B pass by.  A turned A is packed strip by
strip, as tiles read it.  The next strip comes from memory during the products of this one.
"""

from __future__ import annotations

from agnesi.codegen.builder import Value, i64
from agnesi.codegen.gemm.microkernel import At, Source
from agnesi.codegen.gemm.operands import element_bytes
from agnesi.codegen.gemm.tile import TileUnit
from agnesi.codegen.gemm.tiling import pieces_of


class StripUnit(TileUnit):
    """Row tiles outside, column panels inside."""

    def _block(self, k: Value, count: Value) -> None:
        b, rows = self.b, self.plan.panels[0].rows
        for panel in self.plan.panels:
            with self._panels(panel) as index:
                self._pack_b(panel, index, k, count)
        low, high = self.tiles[0]
        if rows.big:
            end = b.intrinsic("smin", high, i64(rows.big))
            self._strips(low, end, rows.small_size + 1, k, count)
            low = b.intrinsic("smax", low, i64(rows.big))
        self._strips(low, high, rows.small_size, k, count)

    def _strips(self, low: Value, high: Value, size: int, k: Value, count: Value) -> None:
        """Row tiles low .. high, all of this size."""
        b, plan, rows = self.b, self.plan, self.plan.panels[0].rows
        with b.loop(low, high, plan.strip) as strip:
            tiles = b.intrinsic("smin", b.sub(high, strip.index), i64(plan.strip))
            first = rows.start(b, strip.index)
            if plan.pack_a:
                self._pack_strip(first, tiles, size, k, count)
            with b.loop(i64(0), tiles) as tile:
                i = b.add(first, b.mul(tile.index, i64(size)))
                self.at, self.next = tile.index, b.add(i, i64(plan.strip * size))
                for panel in plan.panels:
                    with self._panels(panel) as index:
                        self._tile(panel, size, index, i, k, count)

    def _pack_strip(self, first: Value, tiles: Value, size: int, k: Value, count: Value) -> None:
        """Each tile's elements side by side, k by k; what a vector has too much is written over."""
        b = self.b
        with b.loop(i64(0), count) as kk, b.loop(i64(0), tiles) as tile:
            self._pack_line(first, tile.index, size, k, kk.index)

    def _pack_line(self, first: Value, tile: Value, size: int, k: Value, kk: Value) -> None:
        """One line of one tile."""
        b, plan, load = self.b, self.plan, self.operands.a.load
        i = b.add(first, b.mul(tile, i64(size)))
        at = b.add(b.mul(tile, i64(plan.tile_pitch)), b.mul(kk, i64(size)))
        place = b.gep(self.type, self.packed_a, at)
        for p in pieces_of(size, plan.lanes):
            row = b.add(i, i64(p.offset))
            value = load(b, self.batch, row, b.add(k, kk), p.lanes, p.mask, "m")
            b.store(value, b.gep(self.type, place, i64(p.offset)), element_bytes(self.type))

    def _packed_panel(self, index: Value) -> Value:
        at = self.b.mul(self.b.sub(index, self.group_start), i64(self.plan.panel_pitch))
        return self.b.gep(self.type, self.packed_b, at)

    def _a(self, i: Value, k: Value, size: int) -> Source:
        if not self.plan.pack_a:
            return super()._a(i, k, size)
        at = self.b.mul(self.at, i64(self.plan.tile_pitch))
        return Source(self.b.gep(self.type, self.packed_a, at), 1, size)

    def _beside(self, index: Value, k: Value) -> At:
        """Lines of the next strip: those of a turned A while the first panel passes by, else a row
        for every panel."""
        b, plan, address = self.b, self.plan, self.operands.a.address
        assert address is not None, "strips are for operands in memory"
        panel = b.sub(index, self.group_start)
        if not plan.pack_a:
            row = b.intrinsic("smin", panel, i64(plan.panels[0].rows.small_size - 1))
            row = b.add(self.next, row)
            return lambda b, kk: address(b, self.batch, row, b.add(k, kk))
        once, step = b.icmp("eq", panel, i64(0)), b.size(plan.spec.a_steps[1])
        line = b.select(once, address(b, self.batch, self.next, k), self.packed_b)
        step = b.select(once, step, i64(0))
        return lambda b, kk: b.gep(self.type, line, b.mul(kk, step))
