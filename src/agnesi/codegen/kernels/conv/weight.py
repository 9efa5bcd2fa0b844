"""Gradients to filters with lanes along the result's channels: products over all pixels.

A work unit owns some rows (taps and channels of the image) of some column panels.  It goes through
blocks of pixels small enough for the second-level cache, packs image and cotangent there, and adds
each block's products to its sums, which stay in scratch until they are finished.
"""

from __future__ import annotations

from collections.abc import Iterator

from agnesi.codegen.arithmetic.delinearize import divide
from agnesi.codegen.kernels.conv.gradient import Gradient
from agnesi.codegen.kernels.conv.pack import copy_pixels
from agnesi.codegen.kernels.conv.source import (
    Box,
    address_in,
    block_images,
    inside,
    lead,
    pack_source,
    reached,
)
from agnesi.codegen.kernels.conv.tiles import Tile, TileLoop, known
from agnesi.codegen.kernels.conv.weight_plan import WeightPlan
from agnesi.codegen.kernels.gemm.unit import share
from agnesi.codegen.kernels.tiling import Panel, Rows
from agnesi.codegen.llvm.builder import Builder, Value, const, i64, vector
from agnesi.codegen.llvm.type_names import nbytes
from agnesi.core.ir.dims import Size
from agnesi.core.ir.extents import Extent
from agnesi.core.support.record import replace


class Weight(Gradient):
    """Emits the work units of a gradient to filters, with lanes along channels."""

    plan: WeightPlan

    def emit(self, begin: Value, end: Value) -> None:
        """Units [begin, end)."""
        b, plan = self.b, self.plan
        with b.loop(begin, end, plan.merged) as loop:
            self.lead, panels, part = self._numbers(loop.index)
            self.group, blocks = lead(b, self.dense, plan.blocks, self.lead)
            self.first, self.last = share(b, plan.panel_count, plan.panel_groups, panels)
            self.low, self.high = share(b, plan.tiles, plan.row_groups, part)
            if plan.merged > 1:
                stop = b.intrinsic("smin", b.add(loop.index, i64(plan.merged)), end)
                _, panels, part = self._numbers(b.sub(stop, i64(1)))
                self.last = share(b, plan.panel_count, plan.panel_groups, panels)[1]
                self.high = share(b, plan.tiles, plan.row_groups, part)[1]
            self._clear()
            with b.loop(*blocks, nonempty=self.dense.parts == 1) as block:
                self._block(block.index)
            self._finish()

    def _numbers(self, unit: Value) -> tuple[Value, Value, Value]:
        """Group or part, panel group and row group of a unit."""
        both, part = divide(self.b, unit, self.plan.row_groups)
        return *divide(self.b, both, self.plan.panel_groups), part

    # -- addresses -----------------------------------------------------------------
    def _panels(self, panel: Panel) -> tuple[Value, Value]:
        """First and last of the unit's panels of a kind."""
        return self.plan.those(self.b, panel, self.first, self.last)

    def _column(self, index: Value) -> Value:
        """Return the first column of a panel in lines of sums."""
        return self.b.mul(self.b.sub(index, self.first), i64(self.plan.width))

    def _packed(self, index: Value) -> Value:
        """Return the address of a panel of the packed cotangent."""
        return self.b.mul(self.b.sub(index, self.first), i64(self.plan.panel_pitch))

    def _tiles(self) -> Iterator[tuple[tuple[int, int], tuple[Value, ...]]]:
        """Emit loops over the unit's tiles; yield the size (tap lines, run) and the corner of each:
        (depth, tap beside, tap line, run, position of the sums).
        """
        b, plan = self.b, self.plan
        with b.loop(self.low, self.high) as loop:
            rest, run = divide(b, loop.index, plan.runs.tiles)
            rest, line = divide(b, rest, plan.lines.tiles)
            depth, beside = divide(b, rest, plan.beside)
            sums = b.mul(b.sub(loop.index, self.low), i64(plan.tile_elements))
            corner = (depth, beside, plan.lines.start(b, line), plan.runs.start(b, run), sums)
            for tall, these in _kinds(b, plan.lines, line):
                for wide, those in _kinds(b, plan.runs, run):
                    condition = b.op("and", these, those)
                    with b.when(condition):
                        yield (tall, wide), corner

    # -- sums -----------------------------------------------------------------------------
    def _clear(self) -> None:
        b, plan = self.b, self.plan
        zero = const(vector(self.type, plan.lanes), 0)
        count = b.mul(b.sub(self.high, self.low), i64(plan.tile_elements))
        with b.loop(i64(0), count, plan.lanes) as at:
            b.store(zero, b.gep(self.type, self.sums, at.index), nbytes(self.type))

    def _block(self, index: Value) -> None:
        b, plan = self.b, self.plan
        rest, across = divide(b, index, plan.across)
        rest, down = divide(b, rest, plan.down)
        images, depth = divide(b, rest, self.dense.spans[0].count)
        n, n_end = block_images(b, self.dense, i64(plan.image_blocks), images,
                                isinstance(self.dense.images, Extent))
        y, y_end = share(b, self.dense.spans[1].count, plan.down, down)
        x, x_end = share(b, self.dense.spans[2].count, plan.across, across)
        if plan.packed_a or plan.packed_b:
            with b.loop(n, n_end) as image:
                box = Box(image.index, self.group, depth, y, y_end, x, x_end)
                self._pack(box, b.sub(image.index, n))
        box = Box(n, self.group, depth, y, y_end, x, x_end)
        for panel in plan.panels:
            start, stop = self._panels(panel)
            with b.loop(start, stop) as loop:
                for size, corner in self._tiles():
                    self._tile(panel, loop.index, size, corner, box, n_end)

    def _pack(self, box: Box, image: Value) -> None:
        """Pack one image of a block."""
        b, plan = self.b, self.plan
        if plan.packed_a:
            at = b.gep(self.type, self.packed_a, b.mul(image, i64(plan.image_pitch)))
            pack_source(b, self.dense, plan.layout, self.type, self.source, at, box, plan.lanes)
        if plan.packed_b:
            self._pack_cotangent(box, b.mul(image, i64(plan.pixel_lines)))

    def _pack_cotangent(self, box: Box, line: Value) -> None:
        """Lines [y, y_end) of the panels of the unit, to packed lines from ``line`` on."""
        b, plan = self.b, self.plan
        _, o, *space = self.dense.filters.strides
        base = self._cotangent(box)
        target = b.gep(self.type, self.packed_b, b.mul(line, i64(plan.line_pitch)))
        for panel in reversed(plan.panels):  # what is written too much is written over
            start, stop = self._panels(panel)
            with (
                b.loop(i64(0), b.sub(box.y_end, box.y)) as y,
                b.loop(start, stop) as index,
            ):
                column = b.mul(index.index, b.size(plan.panel_columns * o))
                here = b.add(b.mul(y.index, b.size(space[1])), column)
                there = b.add(b.mul(y.index, i64(plan.line_pitch)), self._packed(index.index))
                copy_pixels(b, self.type, b.gep(self.type, base, here),
                            b.gep(self.type, target, there), b.sub(box.x_end, box.x),
                            panel.columns, (space[2], o), plan.width, plan.lanes)

    def _cotangent(self, box: Box) -> Value:
        """Return the address of a block's first position in the cotangent itself."""
        b, view = self.b, self.dense.filters
        n, _, *space = view.strides
        at = b.add(b.mul(self.group, b.size(view.group)), b.mul(box.image, b.size(n)))
        for position, stride in zip((box.depth, box.y, box.x), space, strict=True):
            at = b.add(at, b.mul(position, b.size(stride)))
        return b.gep(self.type, self.cotangent, b.add(at, b.size(view.offset)))

    def _tile(self, panel: Panel, index: Value, size: tuple[int, int],
              corner: tuple[Value, ...], box: Box, n_end: Value) -> None:
        """Add a block's products to the sums of a tile."""
        b, plan = self.b, self.plan
        if plan.packed_a:
            counts = (b.sub(n_end, box.image), b.sub(box.y_end, box.y), b.sub(box.x_end, box.x))
            self._sum(panel, index, size, corner, box, counts)
            return
        # Read in place: only where the tap of this tile is inside of the image.
        depth, beside, line, *_ = corner
        d, h, w = self.dense.spans
        y, y_end = reached(b, h, line, box.y, box.y_end)
        x, x_end = reached(b, w, beside, box.x, box.x_end)
        some = b.op("and", b.icmp("slt", y, y_end), b.icmp("slt", x, x_end))
        at = b.add(b.mul(box.depth, i64(d.stride)), b.mul(depth, i64(d.step)))
        some = b.op("and", some, inside(b, d, b.add(at, i64(d.origin))))
        with b.when(some):
            counts = (b.sub(n_end, box.image), b.sub(y_end, y), b.sub(x_end, x))
            left_out = b.add(b.mul(b.sub(y, box.y), i64(plan.line_pitch)),
                             b.mul(b.sub(x, box.x), i64(plan.width)))
            box = replace(box, y=y, y_end=y_end, x=x, x_end=x_end)
            self._sum(panel, index, size, corner, box, counts, left_out)

    def _sum(self, panel: Panel, index: Value, size: tuple[int, int], corner: tuple[Value, ...],
             box: Box, counts: tuple[Value, ...], left_out: Value | None = None) -> None:
        """Add the products of a tile; ``left_out`` is the number of packed elements before the
        first position.
        """
        b, plan, layout = self.b, self.plan, self.plan.layout
        _, h, w = self.dense.spans
        depth, beside, line, run, _ = corner
        at = b.add(b.mul(depth, b.size(layout.plane)), b.mul(line, b.size(layout.line * h.step)))
        at = b.add(b.add(at, b.mul(beside, b.size(layout.pixel * w.step))), run)
        base = self.packed_a
        image: Size = plan.image_pitch
        cotangent: tuple[Size, ...] = (plan.pixel_lines * plan.line_pitch, plan.line_pitch,
                                      plan.width)
        if not plan.packed_a:
            base, image = address_in(b, self.dense, self.type, self.source, box), plan.image_step
        row = b.gep(self.type, base, at)
        if plan.packed_b:
            first = self._packed(index)
            first = first if left_out is None else b.add(first, left_out)
            column = b.gep(self.type, self.packed_b, first)
        else:
            start = self._cotangent(box)
            column = b.gep(self.type, start, b.mul(index, i64(plan.panel_columns)))
            n, _, _, *space = self.dense.filters.strides
            cotangent = (n, *space)
        nest = [
            TileLoop(counts[0] if plan.images > 1 else 1, known(b, image), known(b, cotangent[0])),
            TileLoop(counts[1], known(b, layout.line * h.stride), known(b, cotangent[1])),
            TileLoop(counts[2], known(b, layout.pixel * w.stride), known(b, cotangent[2])),
        ]
        offsets = tuple(
            i * layout.line * h.step + j for i in range(size[0]) for j in range(size[1])
        )
        columns = panel.pieces
        tile = Tile(self.type, offsets, columns, masked=not plan.packed_b, ahead=plan.ahead)
        cells = self._cells(panel, index, size, corner)
        align = nbytes(self.type)
        sums = [
            b.load(vector(self.type, p.lanes), at, align)
            for at, p in zip(cells, panel.pieces * (size[0] * size[1]), strict=True)
        ]
        for value, at in zip(tile.run(b, row, column, nest, sums), cells, strict=True):
            b.store(value, at, align)

    def _cells(self, panel: Panel, index: Value, size: tuple[int, int],
               corner: tuple[Value, ...]) -> list[Value]:
        """Addresses of a tile's sums."""
        b, plan = self.b, self.plan
        base = b.gep(self.type, self.sums, b.add(corner[-1], self._column(index)))
        return [
            b.gep(self.type, base, i64((i * plan.runs.largest + j) * plan.pitch + p.offset))
            for i in range(size[0]) for j in range(size[1]) for p in panel.pieces
        ]

    # -- results --------------------------------------------------------------------------
    def _finish(self) -> None:
        b, plan = self.b, self.plan
        for size, (depth, beside, line, run, sums) in self._tiles():
            with (
                b.loop(i64(0), i64(size[0]), nonempty=True) as i,
                b.loop(i64(0), i64(size[1]), nonempty=True) as j,
            ):
                row = b.add(b.mul(i.index, i64(plan.runs.largest)), j.index)
                over, channel = divide(b, b.add(run, j.index), self.dense.channels)
                position = (channel, depth, b.add(line, i.index), b.add(beside, over))
                self._finish_row(b.add(sums, b.mul(row, i64(plan.pitch))), position)

    def _finish_row(self, row: Value, position: tuple[Value, ...]) -> None:
        b, plan, align = self.b, self.plan, nbytes(self.type)
        for panel in plan.panels:
            start, stop = self._panels(panel)
            with b.loop(start, stop) as loop:
                at = b.gep(self.type, self.sums, b.add(row, self._column(loop.index)))
                o = b.mul(loop.index, i64(plan.panel_columns))
                for p in panel.pieces:
                    value = b.load(vector(self.type, p.lanes),
                                   b.gep(self.type, at, i64(p.offset)), align)
                    self.finish(value, (self.lead, b.add(o, i64(p.offset)), *position), 1,
                                p.lanes, p.mask)


def _kinds(b: Builder, rows: Rows, tile: Value) -> Iterator[tuple[int, Value]]:
    """Sizes of tiles, and whether this tile has that size."""
    if rows.big:
        yield rows.small_size + 1, b.icmp("slt", tile, i64(rows.big))
        yield rows.small_size, b.icmp("sge", tile, i64(rows.big))
    else:
        yield rows.small_size, Value("true", "i1")
