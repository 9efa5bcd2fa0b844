"""Gradients to few filters with lanes along pixels, for images and cotangents by planes.

The sum for one tap and one filter is a vector, whose lanes hold partial sums over the pixels of a
line and are added at the end.  So vectors are full even with few channels and few filters.
"""

from __future__ import annotations

from agnesi.codegen.arithmetic.delinearize import divide
from agnesi.codegen.kernels.conv.gradient import Gradient
from agnesi.codegen.kernels.conv.pack import clear, copy_pixels, copy_run
from agnesi.codegen.kernels.conv.rows import PackedLines
from agnesi.codegen.kernels.conv.source import Box, address_in, lead
from agnesi.codegen.kernels.conv.tiles import Tile, TileLoop
from agnesi.codegen.kernels.conv.weight_pixels_plan import WeightPixelsPlan
from agnesi.codegen.kernels.conv.wide import tiles
from agnesi.codegen.kernels.gemm.unit import share
from agnesi.codegen.kernels.tiling import Piece
from agnesi.codegen.llvm.builder import Value, i64, vector
from agnesi.codegen.llvm.type_names import nbytes
from agnesi.codegen.loops.horizontal_reduction import horizontal


class WeightPixels(Gradient):
    """Emits the work units of a gradient to few filters, with lanes along pixels."""

    plan: WeightPixelsPlan

    def emit(self, begin: Value, end: Value) -> None:
        """Units [begin, end)."""
        b, plan = self.b, self.plan
        self.lines = PackedLines(b, plan, self.source, self.packed_a)
        if plan.packed_a:
            self.lines.clear()
        with b.loop(begin, end) as loop:
            self.group, (first, last) = lead(b, self.dense, plan.blocks, loop.index)
            elements = self.dense.depth * self.dense.outputs * plan.lanes
            clear(b, self.type, self.sums, i64(elements), plan.lanes)
            with b.loop(first, last) as block:
                self._block(block.index)
            self._finish(loop.index)

    def _block(self, index: Value) -> None:
        b, plan = self.b, self.plan
        _, h, w = self.dense.spans
        rest, down = divide(b, index, plan.line_blocks)
        image, depth = divide(b, rest, self.dense.spans[0].count)
        y, y_end = share(b, h.count, plan.line_blocks, down)
        box = Box(image, self.group, depth, y, y_end, i64(0), i64(w.count))
        row = self._image(box)
        column = self._planes(box)
        everything = i64(0), i64(plan.outs.tiles)
        count = b.sub(y_end, y)
        for size, outs in tiles(b, plan.outs, everything):
            with outs as o, b.loop(i64(0), i64(plan.tap_lines), nonempty=True) as line:
                here = b.gep(self.type, row, self._tap_line(line.index))
                there = b.gep(self.type, column, b.mul(o, i64(plan.cotangent[0])))
                for taps in plan.tap_runs:
                    cells = self._cells(line.index, i64(taps[0]), o, (len(taps), size))
                    self._tile(here, there, taps, size, cells, count)

    def _image(self, box: Box) -> Value:
        """Return the address of the first tap of a block's first pixel."""
        if not self.plan.packed_a:
            return address_in(self.b, self.dense, self.type, self.source, box)
        self.lines.pack(box)
        return self.packed_a

    def _planes(self, box: Box) -> Value:
        """Return the addresses of a block of the cotangent, plane by plane."""
        b, plan, view = self.b, self.plan, self.dense.filters
        n, o, *space = view.strides
        at = b.add(b.mul(self.group, i64(view.group)), b.mul(box.image, i64(n)))
        at = b.add(at, b.add(b.mul(box.depth, i64(space[0])), b.mul(box.y, i64(space[1]))))
        source = b.gep(self.type, self.cotangent, b.add(at, i64(view.offset)))
        if not plan.packed_b:
            return source
        plane, line = plan.cotangent
        with b.loop(i64(0), b.sub(box.y_end, box.y), nonempty=True) as y:
            here = b.gep(self.type, source, b.mul(y.index, i64(space[1])))
            there = b.gep(self.type, self.packed_b, b.mul(y.index, i64(line)))
            if space[2] != 1:
                copy_pixels(b, self.type, here, there, i64(self.dense.outputs),
                            self.dense.spans[2].count, (o, space[2]), plane, plan.lanes)
            else:
                with b.loop(i64(0), i64(self.dense.outputs), nonempty=True) as out:
                    copy_run(b, self.type, b.gep(self.type, here, b.mul(out.index, i64(o))),
                             b.gep(self.type, there, b.mul(out.index, i64(plane))),
                             i64(self.dense.spans[2].count), plan.lanes)
        return self.packed_b

    def _tap_line(self, index: Value) -> Value:
        """Elements from the first line of taps to this one: (channel, plane, line)."""
        b, layout, (d, h, _) = self.b, self.plan.layout, self.dense.spans
        rest, line = divide(b, index, h.taps)
        channel, plane = divide(b, rest, d.taps)
        at = b.add(b.mul(channel, i64(layout.channel)), b.mul(plane, i64(layout.plane)))
        return b.add(at, b.mul(line, i64(layout.line * h.step)))

    def _cells(self, line: Value, tap: Value, o: Value, size: tuple[int, int]) -> list[Value]:
        """Addresses of a tile's sums."""
        b, outputs, lanes = self.b, self.dense.outputs, self.plan.lanes
        row = b.add(b.mul(line, i64(self.dense.spans[2].taps)), tap)
        at = b.mul(b.add(b.mul(row, i64(outputs)), o), i64(lanes))
        base = b.gep(self.type, self.sums, at)
        return [
            b.gep(self.type, base, i64((i * outputs + j) * lanes))
            for i in range(size[0]) for j in range(size[1])
        ]

    def _tile(self, row: Value, column: Value, taps: range, size: int, cells: list[Value],
              count: Value) -> None:
        """Add the products of ``count`` lines to the sums of a tile."""
        b, plan, align = self.b, self.plan, nbytes(self.type)
        _, h, w = self.dense.spans
        wide = vector(self.type, plan.lanes)
        whole, rest = divmod(w.count, plan.lanes)
        plane, line = plan.cotangent
        lines = TileLoop(count, plan.layout.line * h.stride, line)
        sums = [b.load(wide, at, align) for at in cells]
        rows = tuple(self.lines.tap(x) for x in taps)
        for iterations, active in ((whole, plan.lanes), (1, rest)):
            if not iterations or not active:
                continue
            columns = tuple(Piece(j * plane, plan.lanes, active) for j in range(size))
            tile = Tile(self.type, rows, columns, vectors=True, masked=True)
            nest = [lines, TileLoop(iterations, plan.lanes, plan.lanes)]
            sums = tile.run(b, row, column, nest, sums)
            row, column = (b.gep(self.type, p, i64(whole * plan.lanes)) for p in (row, column))
        for value, at in zip(sums, cells, strict=True):
            b.store(value, at, align)

    def _finish(self, first: Value) -> None:
        b, plan, (d, h, w) = self.b, self.plan, self.dense.spans
        wide, align = vector(self.type, plan.lanes), nbytes(self.type)
        with (
            b.loop(i64(0), i64(plan.tap_lines), nonempty=True) as line,
            b.loop(i64(0), i64(w.taps), nonempty=True) as tap,
            b.loop(i64(0), i64(self.dense.outputs), nonempty=True) as o,
        ):
            at, = self._cells(line.index, tap.index, o.index, (1, 1))
            total = horizontal(b, "add", self.dense.dtype, b.load(wide, at, align))
            rest, y = divide(b, line.index, h.taps)
            channel, depth = divide(b, rest, d.taps)
            position = (first, o.index, channel, depth, y, tap.index)
            self.finish(total, position, 1, 1, None)
