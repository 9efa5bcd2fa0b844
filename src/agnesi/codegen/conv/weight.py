"""Gradients to filters with lanes along the result's channels: products over all places.

A work unit owns some rows (taps and channels of the image) of some column panels.  It goes through
blocks of places small enough for the second cache, packs image and cotangent there, and adds each
block's products to its sums, which stay in scratch until they are finished.
"""

from __future__ import annotations

from collections.abc import Iterator

from agnesi.codegen.builder import Builder, Value, const, i64, vector
from agnesi.codegen.conv.pack import copy_places
from agnesi.codegen.conv.source import Box, pack_source
from agnesi.codegen.conv.tiles import Column, Tile, Turn
from agnesi.codegen.conv.weightplan import WeightPlan
from agnesi.codegen.conv.wide import Finish
from agnesi.codegen.gemm.driver import divide
from agnesi.codegen.gemm.operands import element_bytes
from agnesi.codegen.gemm.tiling import Panel, Rows
from agnesi.codegen.gemm.unit import share


class Weight:
    """Emits the units of one plan."""

    def __init__(self, b: Builder, plan: WeightPlan, source: Value, cotangent: Value,
                 finish: Finish, scratch: Value) -> None:
        self.b, self.plan, self.finish = b, plan, finish
        self.dense, self.type = plan.dense, plan.type
        self.source, self.cotangent = source, cotangent
        self.sums = scratch
        self.packed_a = b.gep("i8", scratch, i64(plan.c_bytes))
        self.packed_b = b.gep("i8", scratch, i64(plan.c_bytes + plan.a_bytes))

    def emit(self, begin: Value, end: Value) -> None:
        """Units [begin, end)."""
        b, plan = self.b, self.plan
        with b.loop(begin, end) as loop:
            both, part = divide(b, loop.index, plan.row_groups)
            self.group, panels = divide(b, both, plan.panel_groups)
            self.first, self.last = share(b, plan.panel_count, plan.panel_groups, panels)
            self.low, self.high = share(b, plan.tiles, plan.row_groups, part)
            self._clear()
            with b.loop(i64(0), i64(plan.blocks), nonempty=True) as block:
                self._block(block.index)
            self._finish()

    # -- places of things -----------------------------------------------------------------
    def _panels(self, panel: Panel) -> tuple[Value, Value]:
        """First and last of the unit's panels of a kind."""
        b, start, stop = self.b, self.first, self.last
        if len(self.plan.panels) > 1:
            if panel.first:
                start = b.intrinsic("smax", start, i64(panel.first))
            else:
                stop = b.intrinsic("smin", stop, i64(panel.count))
        return start, stop

    def _column(self, index: Value) -> Value:
        """Where a panel's columns begin in packed lines."""
        return self.b.mul(self.b.sub(index, self.first), i64(self.plan.width))

    def _tiles(self) -> Iterator[tuple[tuple[int, int], tuple[Value, ...]]]:
        """Sizes (tap lines, run) and corners (depth, tap beside, tap line, run) of the tiles."""
        b, plan = self.b, self.plan
        with b.loop(self.low, self.high) as loop:
            rest, run = divide(b, loop.index, plan.runs.tiles)
            rest, line = divide(b, rest, plan.lines.tiles)
            depth, beside = divide(b, rest, plan.beside)
            corner = (depth, beside, plan.lines.start(b, line), plan.runs.start(b, run))
            for tall, these in _kinds(b, plan.lines, line):
                for wide, those in _kinds(b, plan.runs, run):
                    condition = b.op("and", these, those)
                    with b.when(condition):
                        yield (tall, wide), corner

    def _row(self, corner: tuple[Value, ...]) -> Value:
        """Number of a row of sums: ((depth * lines + line) * taps + tap) * channels + channel."""
        b, (_, h, w) = self.b, self.dense.spans
        depth, beside, line, run = corner
        at = b.mul(b.add(b.mul(depth, i64(h.taps)), line), i64(w.taps))
        return b.add(b.mul(b.add(at, beside), i64(self.dense.channels)), run)

    # -- sums -----------------------------------------------------------------------------
    def _clear(self) -> None:
        b, plan = self.b, self.plan
        zero = const(vector(self.type, plan.lanes), 0)
        with b.loop(i64(0), i64(self.dense.depth * plan.pitch), plan.lanes, nonempty=True) as at:
            b.store(zero, b.gep(self.type, self.sums, at.index), element_bytes(self.type))

    def _block(self, index: Value) -> None:
        b, plan = self.b, self.plan
        rest, across = divide(b, index, plan.row_blocks)
        rest, down = divide(b, rest, plan.line_blocks)
        images, depth = divide(b, rest, self.dense.spans[0].count)
        n, n_end = share(b, self.dense.batch, plan.image_blocks, images)
        y, y_end = share(b, self.dense.spans[1].count, plan.line_blocks, down)
        x, x_end = share(b, self.dense.spans[2].count, plan.row_blocks, across)
        with b.loop(n, n_end) as image:
            box = Box(image.index, self.group, depth, y, y_end, x, x_end)
            at = b.sub(image.index, n)
            there = b.gep(self.type, self.packed_a, b.mul(at, i64(plan.image_pitch)))
            pack_source(b, self.dense, plan.layout, self.type, self.source, there, box, plan.lanes)
            self._pack_cotangent(box, b.mul(at, i64(plan.place_lines)))
        counts = (b.sub(n_end, n), b.sub(y_end, y), b.sub(x_end, x))
        for panel in plan.panels:
            start, stop = self._panels(panel)
            with b.loop(start, stop) as loop:
                for size, corner in self._tiles():
                    self._tile(panel, loop.index, size, corner, counts)

    def _pack_cotangent(self, box: Box, line: Value) -> None:
        """Lines [y, y_end) of the panels of the unit, to packed lines from ``line`` on."""
        b, plan, view = self.b, self.plan, self.dense.filters
        n, o, *space = view.strides
        at = b.add(b.mul(self.group, i64(view.group)), b.mul(box.image, i64(n)))
        for place, stride in zip((box.depth, box.y, box.x), space, strict=True):
            at = b.add(at, b.mul(place, i64(stride)))
        base = b.gep(self.type, self.cotangent, b.add(at, i64(view.offset)))
        target = b.gep(self.type, self.packed_b, b.mul(line, i64(plan.line_pitch)))
        for panel in reversed(plan.panels):  # what is written too much is written over
            start, stop = self._panels(panel)
            with (
                b.loop(i64(0), b.sub(box.y_end, box.y)) as y,
                b.loop(start, stop) as index,
            ):
                column = b.mul(index.index, i64(plan.panel_columns * o))
                here = b.add(b.mul(y.index, i64(space[1])), column)
                there = b.add(b.mul(y.index, i64(plan.line_pitch)), self._column(index.index))
                copy_places(b, self.type, b.gep(self.type, base, here),
                            b.gep(self.type, target, there), b.sub(box.x_end, box.x),
                            panel.columns, (space[2], o), plan.pitch, plan.lanes)

    def _tile(self, panel: Panel, index: Value, size: tuple[int, int],
              corner: tuple[Value, ...], counts: tuple[Value, ...]) -> None:
        b, plan, layout = self.b, self.plan, self.plan.layout
        _, h, w = self.dense.spans
        depth, beside, line, run = corner
        at = b.add(b.mul(depth, i64(layout.plane)), b.mul(line, i64(layout.line * h.step)))
        at = b.add(b.add(at, b.mul(beside, i64(layout.pixel * w.step))), run)
        offsets = tuple(
            i * layout.line * h.step + j for i in range(size[0]) for j in range(size[1])
        )
        tile = Tile(self.type, offsets, tuple(Column(*p) for p in panel.pieces))
        nest = [
            Turn(counts[0], plan.image_pitch, plan.place_lines * plan.line_pitch),
            Turn(counts[1], layout.line * h.stride, plan.line_pitch),
            Turn(counts[2], layout.pixel * w.stride, plan.pitch),
        ]
        if plan.image_blocks == self.dense.batch:
            del nest[0]
        cells = self._cells(panel, index, size, corner)
        align = element_bytes(self.type)
        sums = [
            b.load(vector(self.type, p.lanes), at_, align)
            for at_, p in zip(cells, panel.pieces * (size[0] * size[1]), strict=True)
        ]
        row = b.gep(self.type, self.packed_a, at)
        column = b.gep(self.type, self.packed_b, self._column(index))
        for value, at_ in zip(tile.run(b, row, column, nest, sums), cells, strict=True):
            b.store(value, at_, align)

    def _cells(self, panel: Panel, index: Value, size: tuple[int, int],
               corner: tuple[Value, ...]) -> list[Value]:
        """Addresses of a tile's sums."""
        b, plan, (_, _, w) = self.b, self.plan, self.dense.spans
        at = b.add(b.mul(self._row(corner), i64(plan.pitch)), self._column(index))
        base = b.gep(self.type, self.sums, at)
        lines = w.taps * self.dense.channels
        return [
            b.gep(self.type, base, i64((i * lines + j) * plan.pitch + p.offset))
            for i in range(size[0]) for j in range(size[1]) for p in panel.pieces
        ]

    # -- results --------------------------------------------------------------------------
    def _finish(self) -> None:
        b = self.b
        for size, corner in self._tiles():
            with (
                b.loop(i64(0), i64(size[0]), nonempty=True) as i,
                b.loop(i64(0), i64(size[1]), nonempty=True) as j,
            ):
                depth, beside, line, run = corner
                self._finish_row((depth, beside, b.add(line, i.index), b.add(run, j.index)))

    def _finish_row(self, corner: tuple[Value, ...]) -> None:
        b, plan, align = self.b, self.plan, element_bytes(self.type)
        depth, beside, line, run = corner
        over, channel = divide(b, run, self.dense.channels)
        place = (channel, depth, line, b.add(beside, over))
        row = b.mul(self._row(corner), i64(plan.pitch))
        for panel in plan.panels:
            start, stop = self._panels(panel)
            with b.loop(start, stop) as loop:
                at = b.gep(self.type, self.sums, b.add(row, self._column(loop.index)))
                o = b.mul(loop.index, i64(plan.panel_columns))
                for p in panel.pieces:
                    value = b.load(vector(self.type, p.lanes),
                                   b.gep(self.type, at, i64(p.offset)), align)
                    self.finish(value, (self.group, b.add(o, i64(p.offset)), *place), 1,
                                p.lanes, p.mask)


def _kinds(b: Builder, rows: Rows, tile: Value) -> Iterator[tuple[int, Value]]:
    """Sizes of tiles, and whether this tile has that size."""
    if rows.big:
        yield rows.small_size + 1, b.icmp("slt", tile, i64(rows.big))
        yield rows.small_size, b.icmp("sge", tile, i64(rows.big))
    else:
        yield rows.small_size, Value("true", "i1")
