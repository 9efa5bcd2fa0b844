"""Convolutions of 3 x 3 taps with fewer multiplications (Winograd 1980; Lavin and Gray 2016).

A square of the result comes from a slightly larger square of the source.  Both and the filters are
carried to another basis, where the convolution of squares is a product of elements: for squares of
2 x 2 that takes 16 multiplications and not 36.  Summed over channels it is 16 matrix products.  The
constants are 0, 1 and 1/2, so that rounding stays as it is in plain sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from agnesi.codegen.builder import Builder, Value, const, i64, vector
from agnesi.codegen.conv.pack import pack_filters
from agnesi.codegen.conv.source import Box, block_images, pack_source
from agnesi.codegen.conv.tiles import Column, Tile, Turn
from agnesi.codegen.conv.wide import Finish
from agnesi.codegen.conv.winogradplan import ALPHA, SIDE, WinogradPlan
from agnesi.codegen.gemm.driver import divide
from agnesi.codegen.gemm.microkernel import multiply_add
from agnesi.codegen.gemm.operands import element_bytes
from agnesi.codegen.gemm.tiling import Panel, Piece, pieces_of
from agnesi.codegen.gemm.unit import share

Matrix = Sequence[Sequence[float]]
SOURCE: Matrix = ((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1))
FILTERS: Matrix = ((1, 0, 0), (0.5, 0.5, 0.5), (0.5, -0.5, 0.5), (0, 0, 1))
RESULT: Matrix = ((1, 1, 1, 0), (0, 1, -1, -1))


def transformed(b: Builder, matrix: Matrix, square: list[list[Value]]) -> list[list[Value]]:
    """``matrix @ square @ matrix.T`` for a square of vectors."""
    columns = [_times(b, matrix, column) for column in zip(*square, strict=True)]
    return [_times(b, matrix, row) for row in zip(*columns, strict=True)]


def _times(b: Builder, matrix: Matrix, values: Sequence[Value]) -> list[Value]:
    return [_combined(b, row, values) for row in matrix]


def _combined(b: Builder, factors: Sequence[float], values: Sequence[Value]) -> Value:
    """The sum of values with known factors, positive ones first."""
    terms = [(f, v) for f, v in zip(factors, values, strict=True) if f]
    terms.sort(key=lambda term: -term[0])
    factor, total = terms[0]
    if len({f for f, _ in terms}) > 1 or factor == 1:
        if factor != 1:
            total = b.fmul(total, const(total.type, factor))
        for factor, value in terms[1:]:
            if factor == 1:
                total = b.fadd(total, value)
            elif factor == -1:
                total = b.fsub(total, value)
            else:
                total = multiply_add(b, value, const(value.type, factor), total)
        return total
    for _, value in terms[1:]:
        total = b.fadd(total, value)
    return b.fmul(total, const(total.type, factor))


class Block:
    """Images [n, n_end) and lines of squares [y, y_end) of a block, ``across`` squares a line."""

    def __init__(self, b: Builder, n: Value, n_end: Value, y: Value, y_end: Value,
                 across: int) -> None:
        self.b, self.n, self.n_end, self.y, self.y_end = b, n, n_end, y, y_end
        self.across = across
        self.lines = b.sub(y_end, y)

    def first(self, image: Value) -> Value:
        """How many squares of the block lie before those of an image."""
        b = self.b
        return b.mul(b.mul(b.sub(image, self.n), self.lines), i64(self.across))

    def box(self, image: Value, group: Value) -> Box:
        """The places of an image that belong to the block."""
        b = self.b
        return Box(image, group, i64(0), b.mul(self.y, i64(SIDE)), b.mul(self.y_end, i64(SIDE)),
                   i64(0), i64(self.across * SIDE))


class Squares:
    """What the forward direction and the gradient to the filters share."""

    group: Value
    first: Value  # of the unit's panels
    last: Value  # behind them

    def __init__(self, b: Builder, plan: WinogradPlan, source: Value, filters: Value,
                 finish: Finish, scratch: Value) -> None:
        self.b, self.plan, self.finish = b, plan, finish
        self.dense, self.type = plan.dense, plan.type
        self.source, self.filters = source, filters
        at, areas = 0, []
        for size in plan.areas:
            areas.append(b.gep("i8", scratch, i64(at)))
            at += size
        self.u, self.v, self.m, self.packed = areas

    def _panels(self, panel: Panel) -> tuple[Value, Value]:
        """First and last of the unit's panels of a kind."""
        return self.plan.those(self.b, panel, self.first, self.last)

    def _open(self, index: Value) -> Block:
        """What a block of squares covers."""
        b, plan = self.b, self.plan
        images, down = divide(b, index, plan.line_blocks)
        n, n_end = block_images(b, self.dense, plan.image_blocks, images)
        y, y_end = share(b, plan.down, plan.line_blocks, down)
        return Block(b, n, n_end, y, y_end, plan.across)

    def _pack_source(self, block: Block, image: Value) -> None:
        """Pack one image of a block, and transform its squares."""
        pack_source(self.b, self.plan.padded, self.plan.layout, self.type, self.source,
                    self.packed, block.box(image, self.group), self.plan.lanes)
        self._transform_source(block.lines, block.first(image))

    def _at(self, base: Value, *terms: tuple[Value, int]) -> Value:
        """``base[sum of index * step]``."""
        b, total = self.b, i64(0)
        for index, step in terms:
            total = b.add(total, b.mul(index, i64(step)))
        return b.gep(self.type, base, total)

    def _load(self, base: Value, offset: int, lanes: int) -> Value:
        at = self.b.gep(self.type, base, i64(offset))
        return self.b.load(vector(self.type, lanes), at, element_bytes(self.type))

    def _store_square(self, square: list[list[Value]], base: Value, pitch: int) -> None:
        """Element ``n`` of a square, row by row, ``n * pitch`` from the base."""
        for n, value in enumerate(v for row in square for v in row):
            at = self.b.gep(self.type, base, i64(n * pitch))
            self.b.store(value, at, element_bytes(self.type))

    def _transform_source(self, lines: Value, first: Value) -> None:
        """The squares of packed lines: [square][tile][channel], from tile ``first`` on."""
        b, plan, layout = self.b, self.plan, self.plan.layout
        pitch = plan.tiles * plan.channel_pitch
        with (
            b.loop(i64(0), lines) as down,
            b.loop(i64(0), i64(plan.across), nonempty=True) as across,
        ):
            here = self._at(self.packed, (down.index, SIDE * layout.line),
                            (across.index, SIDE * layout.pixel))
            tile = b.add(b.mul(down.index, i64(plan.across)), across.index)
            there = self._at(self.v, (b.add(first, tile), plan.channel_pitch))
            for piece, offsets in self._pieces():
                with offsets as at:
                    source, target = (b.gep(self.type, base, at) for base in (here, there))
                    square = [
                        [self._load(source, i * layout.line + j * layout.pixel, piece.lanes)
                         for j in range(ALPHA)] for i in range(ALPHA)
                    ]
                    self._store_square(transformed(b, SOURCE, square), target, pitch)

    def _pieces(self) -> Iterator[tuple[Piece, AbstractContextManager[Value]]]:
        """Kinds of vectors of the channels, each with a loop over where they begin."""
        b = self.b

        @contextmanager
        def offsets(same: list[Piece]) -> Iterator[Value]:
            with b.loop(i64(same[0].offset), i64(same[-1].offset + 1), same[0].lanes,
                        nonempty=True) as loop:
                yield loop.index

        pieces = pieces_of(self.dense.channels, self.plan.lanes)
        for lanes in dict.fromkeys(p.lanes for p in pieces):
            same = [p for p in pieces if p.lanes == lanes]
            yield same[0], offsets(same)


class Winograd(Squares):
    """Emits the units of one plan."""

    def emit(self, begin: Value, end: Value) -> None:
        """Units [begin, end)."""
        b, plan = self.b, self.plan
        with b.loop(begin, end, carried=[i64(-1)]) as loop:
            both, chunk = divide(b, loop.index, plan.chunks)
            self.group, part = divide(b, both, plan.panel_groups)
            self.first, self.last = share(b, plan.panel_count, plan.panel_groups, part)
            with b.when(b.icmp("ne", both, loop.carried[0])):
                self._transform_filters()
            low, high = share(b, plan.blocks, plan.chunks, chunk)
            with b.loop(low, high) as block:
                self._block(block.index)
            loop.carry(both)

    # -- filters --------------------------------------------------------------------------
    def _transform_filters(self) -> None:
        """All filters of the unit: [panel][square][channel][column]."""
        b, plan, view, channels = self.b, self.plan, self.dense.filters, self.dense.channels
        for panel in plan.panels:
            start, stop = self._panels(panel)
            with b.loop(start, stop) as loop:
                at = b.add(b.mul(loop.index, i64(plan.panel_columns * view.strides[0])),
                           b.mul(self.group, i64(view.group)))
                source = b.gep(self.type, self.filters, b.add(at, i64(view.offset)))
                pack_filters(b, self.type, source, view.strides, (channels, 1, 3, 3),
                             panel.columns, self.v, (channels * panel.width, panel.width),
                             plan.lanes)
                own = self._at(self.u, (b.sub(loop.index, self.first), plan.panel_elements))
                with b.loop(i64(0), i64(channels), nonempty=True) as channel:
                    here = self._at(self.v, (channel.index, panel.width))
                    there = self._at(own, (channel.index, panel.width))
                    for piece in panel.pieces:
                        step = channels * panel.width
                        square = [
                            [self._load(here, (i * 3 + j) * step + piece.offset, piece.lanes)
                             for j in range(3)] for i in range(3)
                        ]
                        self._store_square(transformed(b, FILTERS, square),
                                           b.gep(self.type, there, i64(piece.offset)), step)

    # -- blocks ---------------------------------------------------------------------------
    def _block(self, index: Value) -> None:
        b, plan = self.b, self.plan
        block = self._open(index)
        with b.loop(block.n, block.n_end) as image:
            self._pack_source(block, image.index)
        count = block.first(block.n_end)
        for panel in plan.panels:
            start, stop = self._panels(panel)
            with b.loop(start, stop) as loop:
                self._multiply(panel, loop.index, count)
                with b.loop(block.n, block.n_end) as image:
                    self._results(panel, loop.index, image.index, block)

    def _multiply(self, panel: Panel, index: Value, count: Value) -> None:
        """For each element of a square, tiles times channels times columns."""
        b, plan, channels = self.b, self.plan, self.dense.channels
        own = self._at(self.u, (b.sub(index, self.first), plan.panel_elements))
        columns = tuple(Column(*p) for p in panel.pieces)
        nest = [Turn(channels, 1, panel.width)]
        with b.loop(i64(0), i64(ALPHA * ALPHA), nonempty=True) as element:
            u = self._at(own, (element.index, channels * panel.width))
            v = self._at(self.v, (element.index, plan.tiles * plan.channel_pitch))
            m = self._at(self.m, (element.index, plan.tiles * plan.width))
            start = i64(0)
            for size in plan.heights:
                left = b.sub(count, start)
                stop = b.sub(count, b.op("urem", left, i64(size))) if size > 1 else count
                with b.loop(start, stop, size) as row:
                    tile = Tile(self.type, tuple(n * plan.channel_pitch for n in range(size)),
                                columns)
                    sums = tile.run(b, self._at(v, (row.index, plan.channel_pitch)), u, nest,
                                    tile.zeros())
                    target = self._at(m, (row.index, plan.width))
                    for n, value in enumerate(sums):
                        piece = panel.pieces[n % len(columns)]
                        offset = n // len(columns) * plan.width + piece.offset
                        b.store(value, b.gep(self.type, target, i64(offset)),
                                element_bytes(self.type))
                start = stop

    # -- results --------------------------------------------------------------------------
    def _results(self, panel: Panel, index: Value, image: Value, block: Block) -> None:
        """Squares of results, and their epilogue where they are inside of the image."""
        b, plan, (_, h, w) = self.b, self.plan, self.dense.spans
        pitch = plan.tiles * plan.width
        o = b.mul(index, i64(plan.panel_columns))
        first = block.first(image)
        with (
            b.loop(i64(0), block.lines) as down,
            b.loop(i64(0), i64(plan.across), nonempty=True) as across,
        ):
            tile = b.add(first, b.add(b.mul(down.index, i64(plan.across)), across.index))
            here = self._at(self.m, (tile, plan.width))
            for piece in panel.pieces:
                square = [
                    [self._load(here, (i * ALPHA + j) * pitch + piece.offset, piece.lanes)
                     for j in range(ALPHA)] for i in range(ALPHA)
                ]
                target = b.gep(self.type, self.packed, i64(piece.offset))
                self._store_square(transformed(b, RESULT, square), target, plan.width)
            top = b.mul(b.add(block.y, down.index), i64(SIDE))
            left = b.mul(across.index, i64(SIDE))
            tall = b.intrinsic("smin", i64(SIDE), b.sub(i64(h.count), top))
            wide = b.intrinsic("smin", i64(SIDE), b.sub(i64(w.count), left))
            with b.loop(i64(0), tall) as i, b.loop(i64(0), wide) as j:
                row = self._at(self.packed, (i.index, SIDE * plan.width), (j.index, plan.width))
                for piece in panel.pieces:
                    value = self._load(row, piece.offset, piece.lanes)
                    place = (image, self.group, b.add(o, i64(piece.offset)), i64(0),
                             b.add(top, i.index), b.add(left, j.index))
                    self.finish(value, place, 2, piece.lanes, piece.mask)
