"""Dense convolutions with lanes along the rows of images, for few channels or channels first.

The source is packed channel by channel with its borders; filters are broadcast.  With a stride,
each packed line holds the positions of one remainder after the other, so that neighbours in a
vector are neighbours in memory.
"""

from __future__ import annotations

from agnesi.codegen.arithmetic.delinearize import divide
from agnesi.codegen.kernels.conv.finish import Finish
from agnesi.codegen.kernels.conv.pack import clear, copy_pixels, copy_run, copy_spread, pack_filters
from agnesi.codegen.kernels.conv.rows_plan import PackedPlan, RowsPlan
from agnesi.codegen.kernels.conv.source import Box, inside, taps_inside
from agnesi.codegen.kernels.conv.tiles import Tile, TileLoop, number
from agnesi.codegen.kernels.conv.wide import tiles
from agnesi.codegen.kernels.gemm.operands import lanes_from, load_strided
from agnesi.codegen.kernels.gemm.unit import share
from agnesi.codegen.kernels.tiling import Panel, Piece
from agnesi.codegen.llvm.builder import Builder, Value, i64, vector
from agnesi.codegen.llvm.instructions import multiply_add
from agnesi.codegen.llvm.type_names import nbytes


class PackedLines:
    """Lines of a source, packed for lanes along them."""

    def __init__(self, b: Builder, plan: PackedPlan, source: Value, target: Value) -> None:
        self.b, self.plan, self.source, self.target = b, plan, source, target

    def clear(self) -> None:
        """Clear the packed source; borders keep their zeros from block to block.

        So does the padding after lines, which unused lanes read: subnormal numbers there could slow
        some processors a hundred times.
        """
        plan, whole = self.plan, (0, self.plan.part)
        spans = plan.dense.spans
        filled = all(self._filled(rest) == whole for rest in range(spans[2].stride))
        if not (filled and all(s.inside for s in spans)):
            count = i64(plan.dense.channels * plan.channel)
            clear(self.b, plan.type, self.target, count, plan.lanes)

    def pack(self, box: Box) -> None:
        """All channels, planes and lines that a block reads."""
        b, plan = self.b, self.plan
        dense = plan.dense
        d, h, w = dense.spans
        n, c, *space = dense.source.strides
        base = b.add(b.mul(box.group, i64(dense.source.group)), b.mul(box.image, i64(n)))
        base = b.add(base, i64(dense.source.offset))
        top = b.add(b.mul(box.y, i64(h.stride)), i64(h.origin))
        steps = b.sub(b.sub(box.y_end, box.y), i64(1))
        lines = b.add(b.mul(steps, i64(h.stride)), i64(h.reach))
        first = b.add(b.mul(box.depth, i64(d.stride)), i64(d.origin))
        by_pixels = c == 1 and w.stride == 1 and dense.channels > 1
        with (
            b.loop(i64(0), i64(1 if by_pixels else dense.channels), nonempty=True) as channel,
            b.loop(i64(0), i64(d.taps), nonempty=True) as plane,
            b.loop(i64(0), lines, nonempty=True) as line,
        ):
            z = b.add(first, b.mul(plane.index, i64(d.step)))
            y = b.add(top, line.index)
            at = b.add(b.mul(channel.index, i64(plan.channel)), b.mul(plane.index, i64(plan.plane)))
            at = b.add(at, b.mul(line.index, i64(plan.line)))
            there = b.gep(plan.type, self.target, at)
            at = b.add(base, b.mul(channel.index, i64(c)))
            at = b.add(at, b.add(b.mul(z, i64(space[0])), b.mul(y, i64(space[1]))))
            here = b.gep(plan.type, self.source, at)
            valid = b.op("and", inside(b, d, z), inside(b, h, y))
            with b.when(valid):
                (self._pixels if by_pixels else self._line)(here, there)
            if plan.line_blocks > 1 or not d.inside:  # another block had something there
                with b.when(b.op("xor", valid, Value("true", "i1"))):
                    self._nothing(there, dense.channels if by_pixels else 1)

    def _line(self, source: Value, target: Value) -> None:
        """Pack one line, remainder by remainder."""
        b, plan = self.b, self.plan
        w, step = plan.dense.spans[2], plan.dense.source.strides[4]
        for rest in range(w.stride):
            start, stop = self._filled(rest)
            here = b.gep(plan.type, source, i64((w.origin + rest + start * w.stride) * step))
            there = b.gep(plan.type, target, i64(rest * plan.part + start))
            count = stop - start
            if step * w.stride == 1:
                copy_run(b, plan.type, here, there, i64(count), plan.lanes)
            else:
                copy_spread(b, plan.type, here, there, count, step * w.stride, plan.lanes)

    def _pixels(self, source: Value, target: Value) -> None:
        """Pack one line of all channels, which are adjacent."""
        b, plan = self.b, self.plan
        w, step = plan.dense.spans[2], plan.dense.source.strides[4]
        start, stop = self._filled(0)
        copy_pixels(b, plan.type, b.gep(plan.type, source, i64((w.origin + start) * step)),
                    b.gep(plan.type, target, i64(start)), i64(plan.dense.channels), stop - start,
                    (1, step), plan.channel, plan.lanes)

    def _filled(self, rest: int) -> tuple[int, int]:
        """Return the first and the last (exclusive) position with remainder ``rest`` inside of the
        source.
        """
        w = self.plan.dense.spans[2]
        start = max(0, -(-(-w.origin - rest) // w.stride))
        stop = max(start, (w.size - 1 - w.origin - rest) // w.stride + 1)
        return min(start, self.plan.part), min(stop, self.plan.part)

    def _nothing(self, target: Value, channels: int) -> None:
        """Clear a packed line that is outside of the source, where an older block may have left
        values.
        """
        b, plan = self.b, self.plan
        with b.loop(i64(0), i64(channels), nonempty=True) as channel:
            there = b.gep(plan.type, target, b.mul(channel.index, i64(plan.channel)))
            clear(b, plan.type, there, i64(plan.line), plan.lanes)

    def tap(self, x: int) -> int:
        """Return the address of tap ``x`` of a line's first pixel."""
        w = self.plan.dense.spans[2]
        beyond, rest = divmod(x * w.step, w.stride)
        return rest * self.plan.part + beyond


class RowLanes:
    """Emits the work units of a convolution with lanes along rows of pixels."""

    def __init__(self, b: Builder, plan: RowsPlan, source: Value, filters: Value, finish: Finish,
                 scratch: Value) -> None:
        self.b, self.plan, self.finish = b, plan, finish
        self.dense, self.type = plan.dense, plan.type
        self.filters = filters
        self.packed_b, self.packed_a, self.sums = plan.split(b, scratch)
        self.lines = PackedLines(b, plan, source, self.packed_a)

    def emit(self, begin: Value, end: Value) -> None:
        """Units [begin, end)."""
        b, plan = self.b, self.plan
        self.lines.clear()
        with b.loop(begin, end, carried=[i64(-1)]) as loop:
            self.group, chunk = divide(b, loop.index, plan.chunks)
            with b.when(b.icmp("ne", self.group, loop.carried[0])):
                self._pack_filters()
            low, high = share(b, plan.dense.blocks(plan.line_blocks), plan.chunks, chunk)
            with b.loop(low, high) as block:
                self._block(block.index)
            loop.carry(self.group)

    def _pack_filters(self) -> None:
        b, plan, view = self.b, self.plan, self.dense.filters
        at = b.add(b.mul(self.group, i64(view.group)), i64(view.offset))
        taps = (s.taps for s in self.dense.spans)
        pack_filters(b, self.type, b.gep(self.type, self.filters, at), view.strides,
                     (self.dense.channels, *taps), self.dense.outputs, self.packed_b,
                     (plan.pitch, plan.taps * plan.pitch), plan.lanes)

    def _block(self, index: Value) -> None:
        b, plan = self.b, self.plan
        rest, down = divide(b, index, plan.line_blocks)
        image, depth = divide(b, rest, self.dense.spans[0].count)
        bounds = share(b, plan.lines.tiles, plan.line_blocks, down)
        y, y_end = (plan.lines.start(b, t) for t in bounds)
        box = Box(image, self.group, depth, y, y_end, i64(0), i64(self.dense.spans[2].count))
        self.lines.pack(box)
        everything = (i64(0), i64(plan.outs.tiles))
        for tall, tops in tiles(b, plan.lines, bounds):
            with tops as top:
                for panel in plan.xs:
                    stop = i64(panel.first + panel.count)
                    with b.loop(i64(panel.first), stop, nonempty=True) as across:
                        for wide, outs in tiles(b, plan.outs, everything):
                            with outs as o:
                                self._tile(box, panel, across.index, (tall, wide), top, o)

    def _tile(self, box: Box, panel: Panel, across: Value, size: tuple[int, int], top: Value,
              o: Value) -> None:
        b, plan = self.b, self.plan
        _, h, _ = self.dense.spans
        tall, wide = size
        x = b.mul(across, i64(plan.xs[0].columns))
        down = h.stride * plan.line
        columns = tuple(
            Piece(i * down + p.offset, p.lanes, p.active) for i in range(tall)
            for p in panel.pieces
        )
        tile = Tile(self.type, tuple(range(wide)), columns)
        row, at = o, b.add(b.mul(b.sub(top, box.y), i64(down)), x)
        nest: list[TileLoop] = []
        if not plan.written_out:
            first, count = self._tap_lines(top, tall)
            nest = self._nest(count)
            row = b.add(o, b.mul(first, number(nest[-1].row_step)))
            at = b.add(at, b.mul(first, number(nest[-1].column_step)))
        inner = self._all_taps if plan.written_out else self._taps
        sums = tile.run(b, b.gep(self.type, self.packed_b, row),
                        b.gep(self.type, self.packed_a, at), nest, tile.zeros(),
                        lambda b, row, column, sums: inner(b, tile, row, column, sums))
        if plan.spill:
            self._spilled(box, panel, size, (o, top, x), sums)
            return
        for n in range(wide):
            line = sums[n * len(columns):(n + 1) * len(columns)]
            self._finish(box, panel, tall, (b.add(o, i64(n)), top, x), line)

    def _tap_lines(self, top: Value, tall: int) -> tuple[Value, int | Value]:
        """Return the first line of taps that is inside of the source for a tile, and how many are.
        """
        b, h = self.b, self.dense.spans[1]
        if h.inside:
            return i64(0), h.taps
        first, _ = taps_inside(b, h, b.add(top, i64(tall - 1)))
        _, last = taps_inside(b, h, top)
        last = b.intrinsic("smin", last, i64(h.taps))
        return first, b.intrinsic("smax", b.sub(last, first), i64(0))

    def _nest(self, count: int | Value) -> list[TileLoop]:
        """Loops over channels, planes and lines of taps."""
        plan, (d, h, w) = self.plan, self.dense.spans
        line = w.taps * plan.pitch
        return [TileLoop(self.dense.channels, d.taps * h.taps * line, plan.channel),
                TileLoop(d.taps, h.taps * line, plan.plane),
                TileLoop(count, line, plan.line * h.step, maybe=True)]

    def _taps(self, b: Builder, tile: Tile, row: Value, column: Value,
              sums: list[Value]) -> list[Value]:
        """Add the products of a line of taps to the sums: one loop for all taps with the same
        remainder after the stride.
        """
        pitch, w = self.plan.pitch, self.dense.spans[2]
        period = w.period
        for tap in range(min(period, w.taps)):
            count = -(-(w.taps - tap) // period)
            loop = TileLoop(count, period * pitch, period * w.step // w.stride)
            sums = tile.nested(b, b.gep(self.type, row, i64(tap * pitch)),
                               b.gep(self.type, column, i64(self.lines.tap(tap))), [loop], sums)
        return sums

    def _all_taps(self, b: Builder, tile: Tile, row: Value, column: Value,
                  sums: list[Value]) -> list[Value]:
        """Add the products of all taps of one filter to the sums of several lines: what a line and
        a tap read is read once for all of them."""
        plan, (_, h, w), sums = self.plan, self.dense.spans, list(sums)
        uses: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for y in range(h.taps):
            for x in range(w.taps):
                for n, piece in enumerate(tile.columns):
                    at = piece.offset + y * h.step * plan.line + self.lines.tap(x)
                    uses.setdefault((at, piece.lanes), []).append((n, y * w.taps + x))
        taps = [b.splat(b.load(self.type, b.gep(self.type, row, i64(t * plan.pitch)),
                               nbytes(self.type)), plan.lanes) for t in range(plan.taps)]
        for (at, lanes), pairs in sorted(uses.items()):
            value = load_strided(b, b.gep(self.type, column, i64(at)), self.type, 1, lanes, None)
            for n, t in pairs:
                sums[n] = multiply_add(b, value, lanes_from(b, taps[t], 0, lanes), sums[n])
        return sums

    def _finish(self, box: Box, panel: Panel, tall: int, corner: tuple[Value, ...],
                line: list[Value]) -> None:
        b, pieces = self.b, panel.pieces
        o, top, x = corner
        for n, value in enumerate(line):
            p = pieces[n % len(pieces)]
            index = (box.image, self.group, o, box.depth, b.add(top, i64(n // len(pieces))),
                     b.add(x, i64(p.offset)))
            self.finish(value, index, 5, p.lanes, p.mask)

    def _spilled(self, box: Box, panel: Panel, size: tuple[int, int], corner: tuple[Value, ...],
                 sums: list[Value]) -> None:
        """Store the sums of a tile to scratch memory and run the epilogue over them in a loop, so
        that its code is emitted for one output only.
        """
        b, align = self.b, nbytes(self.type)
        (tall, wide), (o, top, x) = size, corner
        each = tall * len(panel.pieces)
        for n, value in enumerate(sums):
            b.store(value, b.gep(self.type, self.sums, i64(n * self.plan.lanes)), align)
        with b.loop(i64(0), i64(wide), nonempty=True) as loop:
            at = b.gep(self.type, self.sums, b.mul(loop.index, i64(each * self.plan.lanes)))
            line = [
                b.load(vector(self.type, panel.pieces[n % len(panel.pieces)].lanes),
                       b.gep(self.type, at, i64(n * self.plan.lanes)), align)
                for n in range(each)
            ]
            self._finish(box, panel, tall, (b.add(o, loop.index), top, x), line)
