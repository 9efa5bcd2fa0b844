"""Dense convolutions with lanes along the channels of the result.

A work unit packs its filters, then goes through blocks of result lines: it packs the lines of the
source that a block reads, zero borders included, and runs the register tile over the block.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from agnesi.codegen.arithmetic.delinearize import divide
from agnesi.codegen.kernels.conv.dense import Dense
from agnesi.codegen.kernels.conv.finish import Finish
from agnesi.codegen.kernels.conv.finish import lines as lines_of
from agnesi.codegen.kernels.conv.pack import pack_filters
from agnesi.codegen.kernels.conv.source import Box, address_in, pack_source, taps_inside
from agnesi.codegen.kernels.conv.tiles import Tile, TileLoop
from agnesi.codegen.kernels.conv.wide_plan import WidePlan
from agnesi.codegen.kernels.gemm.unit import share
from agnesi.codegen.kernels.tiling import OpenRows, Panel, Rows
from agnesi.codegen.llvm.builder import Builder, Value, i64, vector
from agnesi.codegen.llvm.type_names import nbytes
from agnesi.core.support.record import replace

#: A loop over where tiles start.
Starts = AbstractContextManager[Value]


def tiles(b: Builder, rows: Rows, bounds: tuple[Value, Value]) -> Iterator[tuple[int, Starts]]:
    """Sizes of tiles, each with a loop over where those of the size start."""
    low, high = bounds

    @contextmanager
    def starts(start: Value, stop: Value) -> Iterator[Value]:
        with b.loop(start, stop) as loop:
            yield rows.start(b, loop.index)

    if isinstance(rows, OpenRows):
        yield rows.height, starts(low, b.intrinsic("smin", high, b.size(rows.whole)))
        return
    if rows.big:
        yield rows.small_size + 1, starts(low, b.intrinsic("smin", high, i64(rows.big)))
        low = b.intrinsic("smax", low, i64(rows.big))
    yield rows.small_size, starts(low, high)


def tails(b: Builder, rows: Rows, high: Value) -> Iterator[tuple[int, int, Starts]]:
    """Yield the size of the remaining tile of rows, a lower bound of its rows, and a loop over its
    position, if that is below ``high``.
    """
    if not isinstance(rows, OpenRows):
        return
    whole, rest = b.size(rows.whole), b.size(rows.rest)

    @contextmanager
    def start(lower: int, size: int) -> Iterator[Value]:
        within = b.icmp("ult", b.sub(rest, i64(lower + 1)), i64(size - lower))
        with b.when(b.op("and", within, b.icmp("sgt", high, whole))):
            yield rows.start(b, whole)

    for lower, size in zip((0, *rows.tails), rows.tails, strict=False):
        yield size, lower + 1, start(lower, size)


class Wide:
    """Emits the work units of a convolution with lanes along the channels."""

    def __init__(self, b: Builder, plan: WidePlan, source: Value, filters: Value, finish: Finish,
                 scratch: Value) -> None:
        self.b, self.plan, self.finish = b, plan, finish
        self.dense: Dense = plan.real
        self.type = plan.type
        self.source, self.filters = source, filters
        self.packed_b, self.packed_a, self.sums, *squares = plan.split(b, scratch)
        self.finish_line = lines_of(b, plan.type, finish, plan.real, plan.lanes, *squares
                                    ) if plan.transposes else None

    def emit(self, begin: Value, end: Value) -> None:
        """Units [begin, end)."""
        b, plan = self.b, self.plan
        with b.loop(begin, end, carried=[i64(-1)]) as loop:
            both, chunk = divide(b, loop.index, plan.chunks)
            self.group, part = divide(b, both, plan.panel_groups)
            self.first, self.last = share(b, plan.panel_count, plan.panel_groups, part)
            if self.dense.depth:
                with b.when(b.icmp("ne", both, loop.carried[0])):
                    self._pack_filters()
            blocks = self.dense.blocks(plan.down * plan.across)
            low, high = share(b, blocks, plan.chunks, chunk)
            with b.loop(low, high) as block:
                self._block(block.index)
            loop.carry(both)

    # -- filters --------------------------------------------------------------------------
    @contextmanager
    def _panels(self, panel: Panel) -> Iterator[Value]:
        start, stop = self.plan.those(self.b, panel, self.first, self.last)
        with self.b.loop(start, stop) as loop:
            yield loop.index

    def _filters(self, index: Value) -> Value:
        """Return the address of a packed panel."""
        b, plan = self.b, self.plan
        own = b.mul(b.sub(index, self.first), i64(self.dense.depth * plan.width))
        return b.gep(self.type, self.packed_b, own)

    def _pack_filters(self) -> None:
        b, plan, view = self.b, self.plan, self.dense.filters
        taps = tuple(s.taps for s in self.dense.spans)
        for panel in plan.panels:
            with self._panels(panel) as index:
                column = b.mul(index, i64(plan.panel_columns * view.strides[0]))
                at = b.add(column, b.mul(self.group, i64(view.group)))
                source = b.gep(self.type, self.filters, b.add(at, i64(view.offset)))
                channels, width = self.dense.channels, panel.width
                pack_filters(b, self.type, source, view.strides, (channels, *taps),
                             panel.columns, self._filters(index), (channels * width, width),
                             plan.lanes)

    # -- blocks ---------------------------------------------------------------------------
    def _block(self, index: Value) -> None:
        b, plan = self.b, self.plan
        rest, across = divide(b, index, plan.across)
        rest, down = divide(b, rest, plan.down)
        image, depth = divide(b, rest, self.dense.spans[0].count)
        lines = share(b, plan.lines.count, plan.down, down)
        rows = share(b, plan.rows.count, plan.across, across)
        y, y_end = (plan.lines.start(b, t) for t in lines)
        x, x_end = (plan.rows.start(b, t) for t in rows)
        box = Box(image, self.group, depth, y, y_end, x, x_end)
        if self.dense.depth == 0:
            base = self.packed_a
        elif plan.packed:
            base = self.packed_a
            pack_source(b, self.dense, plan.layout, self.type, self.source, base, box, plan.lanes)
        else:
            base = address_in(b, self.dense, self.type, self.source, box)
        for panel in plan.panels:
            with self._panels(panel) as panel_index:
                for nl, line in tiles(b, plan.lines, lines):
                    with line as top:
                        if plan.clipped:
                            for some in plan.pixels:
                                self._tile(panel, panel_index, box, base, (nl, len(some)),
                                           (top, i64(some[0])), some)
                            self._transposed(panel, panel_index, box, top)
                            continue
                        for nr, row in tiles(b, plan.rows, rows):
                            with row as left:
                                self._tile(panel, panel_index, box, base, (nl, nr), (top, left))
                        self._transposed(panel, panel_index, box, top)
                        for nr, sure, row in tails(b, plan.rows, rows[1]):
                            with row as left:
                                self._tile(panel, panel_index, box, base, (nl, nr), (top, left),
                                           sure=sure)

    def _tile(self, panel: Panel, index: Value, box: Box, base: Value, size: tuple[int, int],
              corner: tuple[Value, Value], pixels: range | None = None, sure: int = 0) -> None:
        """Emit a register tile; if ``pixels`` of the line are known, only those that a tap reaches.

        With ``sure`` it is the remaining tile, which has at least this many rows.
        """
        b, plan, layout = self.b, self.plan, self.plan.layout
        (lines, rows), (top, left) = size, corner
        _, high, wide = self.dense.spans
        down, right = high.stride * layout.line, wide.stride * layout.pixel
        offsets = tuple(i * down + j * right for i in range(lines) for j in range(rows))
        columns = panel.pieces
        tile = Tile(self.type, offsets, columns)
        sums = tile.zeros()
        if self.dense.depth:
            at = b.add(b.mul(b.sub(top, box.y), i64(down)), b.mul(b.sub(left, box.x), i64(right)))
            row, column, nest = self._lines(panel.width, b.gep(self.type, base, at),
                                            self._filters(index), box.depth, top, lines)
            if pixels is None:
                nest += self._taps(panel.width)
                sums = tile.run(b, row, column, nest, sums)
            else:
                def inner(b: Builder, row: Value, column: Value, sums: list[Value]) -> list[Value]:
                    return self._clipped(b, tile, panel.width, pixels, row, column, sums)

                sums = tile.run(b, row, column, nest, sums, inner=inner)
        o = b.mul(index, i64(plan.panel_columns))
        where = (box.image, self.group, o, box.depth, top, left)
        rest = self._rest if sure else None
        if plan.transposes:
            self._kept(panel, left, sums)
            return
        if plan.spill:
            self._spilled(panel, where, size, sums, rest)
            return
        for n in range(lines * rows):
            position = (*where[:4], b.add(top, i64(n // rows)), b.add(left, i64(n % rows)))
            with self._present(n % rows, sure):
                self._line(panel, position, sums[n * len(columns):(n + 1) * len(columns)])

    @property
    def _rest(self) -> Value:
        """Emit the rows that remain after whole tiles."""
        assert isinstance(self.plan.rows, OpenRows)
        return self.b.size(self.plan.rows.rest)

    @contextmanager
    def _present(self, row: int, sure: int) -> Iterator[None]:
        """Emit the body of the ``with`` statement so that it runs only for rows that exist.

        Rows below ``sure`` always do, and all rows if ``sure`` is 0; others are compared with the
        remaining rows at run time.
        """
        if not sure or row < sure:
            yield
            return
        with self.b.when(self.b.icmp("slt", i64(row), self._rest)):
            yield

    def _lines(self, width: int, row: Value, column: Value, depth: Value, top: Value,
               lines: int) -> tuple[Value, Value, list[TileLoop]]:
        """Pointers and loops over planes and lines of taps: those inside, where that is one range.
        """
        b, layout = self.b, self.plan.layout
        d, h, w = self.dense.spans
        across = w.taps * self.dense.channels * width
        nest = []
        for span, position, step, beside in (
            (d, depth, layout.plane, h.taps * across), (h, top, layout.line * h.step, across),
        ):
            if span.inside or (span is h and lines > 1):
                nest.append(TileLoop(span.taps, step, beside))
                continue
            first, last = taps_inside(b, span, position)
            row = b.gep(self.type, row, b.mul(first, i64(step)))
            column = b.gep(self.type, column, b.mul(first, i64(beside)))
            nest.append(TileLoop(b.sub(last, first), step, beside, maybe=True))
        return row, column, nest

    def _taps(self, width: int) -> list[TileLoop]:
        """Return the loops over the taps of a line and the channels."""
        layout, channels, w = self.plan.layout, self.dense.channels, self.dense.spans[2]
        if layout.channel == 1 and layout.pixel * w.step == channels:
            return [TileLoop(w.taps * channels, 1, width)]
        return [TileLoop(w.taps, layout.pixel * w.step, channels * width),
                TileLoop(channels, layout.channel, width)]

    def _clipped(self, b: Builder, tile: Tile, width: int, pixels: range, row: Value,
                 column: Value, sums: list[Value]) -> list[Value]:
        """Add the products of a line of taps, one tap after the other, each for those results of
        the tile for which it is inside of the source.
        """
        layout, channels, w = self.plan.layout, self.dense.channels, self.dense.spans[2]
        each, sums = len(tile.columns), list(sums)
        for tap in range(w.taps):
            found = [
                n for n in range(len(tile.rows))
                if 0 <= w.origin + pixels[n % len(pixels)] * w.stride + tap * w.step < w.size
            ]
            if not found:
                continue
            some = replace(tile, rows=tuple(tile.rows[n] for n in found))
            mine = [n * each + m for n in found for m in range(each)]
            at = b.gep(self.type, row, i64(tap * w.step * layout.pixel))
            beside = b.gep(self.type, column, i64(tap * channels * width))
            new = some.nested(b, at, beside, [TileLoop(channels, layout.channel, width)],
                              [sums[n] for n in mine])
            for n, value in zip(mine, new, strict=True):
                sums[n] = value
        return sums

    # -- results --------------------------------------------------------------------------
    def _line(self, panel: Panel, position: tuple[Value, ...], line: list[Value]) -> None:
        b = self.b
        for piece, value in zip(panel.pieces, line, strict=True):
            at = b.add(position[2], i64(piece.offset))
            self.finish(value, (*position[:2], at, *position[3:]), 2, piece.lanes, piece.mask)

    def _kept(self, panel: Panel, left: Value, sums: list[Value]) -> None:
        """Keep the sums of a tile until those of its line are all there."""
        b, pieces, width = self.b, panel.pieces, i64(panel.width)
        at = b.gep(self.type, self.sums, b.mul(left, width))
        for n, value in enumerate(sums):
            offset = n // len(pieces) * panel.width + pieces[n % len(pieces)].offset
            b.store(value, b.gep(self.type, at, i64(offset)), nbytes(self.type))

    def _transposed(self, panel: Panel, index: Value, box: Box, top: Value) -> None:
        """Store the sums of a line, if they were kept."""
        if self.finish_line is not None:
            b = self.b
            o = b.mul(index, i64(self.plan.panel_columns))
            where = (box.image, self.group, o, box.depth, top, i64(0))
            self.finish_line(self.sums, where, i64(panel.width), panel.columns)

    def _spilled(self, panel: Panel, where: tuple[Value, ...], size: tuple[int, int],
                 sums: list[Value], rest: Value | None = None) -> None:
        """The sums of a tile through scratch, so that the epilogue is written out once.

        There may be a ``rest`` of rows only.
        """
        b, align = self.b, nbytes(self.type)
        pieces = panel.pieces
        for n, value in enumerate(sums):
            offset = n // len(pieces) * panel.width + pieces[n % len(pieces)].offset
            b.store(value, b.gep(self.type, self.sums, i64(offset)), align)
        with (
            b.loop(i64(0), i64(size[0]), nonempty=True) as y,
            b.loop(i64(0), i64(size[1]) if rest is None else rest, nonempty=True) as x,
        ):
            row = b.add(b.mul(y.index, i64(size[1])), x.index)
            at = b.gep(self.type, self.sums, b.mul(row, i64(panel.width)))
            line = [
                b.load(vector(self.type, p.lanes), b.gep(self.type, at, i64(p.offset)), align)
                for p in pieces
            ]
            position = (*where[:4], b.add(where[4], y.index), b.add(where[5], x.index))
            self._line(panel, position, line)
