"""Convolutions with fewer multiplications (Winograd 1980; Lavin and Gray 2016).

A square of the result comes from a slightly larger square of the source.  Both and the filters are
carried to another basis, where the convolution of squares is a product of elements: for squares of
2 x 2 and 3 x 3 taps that takes 16 multiplications and not 36.  Summed over channels it is 16 matrix
products.  The constants are 0, 1 and 1/2, so that rounding stays as it is in plain sums.

More taps are sums of such convolutions, of squares further on, and those are taken in the other
basis too: taps of depth, and runs of three taps along lines and columns.  Runs overlap by a tap,
which the second lacks, so that it lies on the same squares; what becomes zero is left out: 49
multiplications for 5 x 5 taps and not 100.  Squares of dilated taps have places as far apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from agnesi.codegen.apart import apart
from agnesi.codegen.builder import Builder, Value, i64, vector
from agnesi.codegen.conv.basis import FILTERS, RESULT, SOURCE, Matrix, Squares, carry
from agnesi.codegen.conv.dense import Span
from agnesi.codegen.conv.pack import pack_filters
from agnesi.codegen.conv.source import (
    Box,
    Layout,
    block_images,
    clamp,
    extent,
    pack_source,
    taps_inside,
)
from agnesi.codegen.conv.squares import ALPHA, SIDE, TAPS, Grid
from agnesi.codegen.conv.tiles import Column, Tile, Turn, given_turns, number, pitches
from agnesi.codegen.conv.wide import Finish
from agnesi.codegen.conv.winogradplan import WinogradPlan
from agnesi.codegen.gemm.driver import divide
from agnesi.codegen.gemm.operands import element_bytes
from agnesi.codegen.gemm.tiling import Panel, Piece
from agnesi.codegen.gemm.unit import share
from agnesi.core.record import replace


class Block:
    """Images [n, n_end), planes of results [z, z_end) and bands of lines [y, y_end) of a block.

    Squares of results lie as [image][plane][line][across], those of the source too, where there
    may be more planes, from ``first`` on, and more lines and squares in them.
    """

    def __init__(self, b: Builder, plan: WinogradPlan, images: tuple[Value, Value],
                 planes: tuple[Value, Value], bands: tuple[Value, Value]) -> None:
        self.b, self.plan = b, plan
        self.n, self.n_end = images
        self.z, self.z_end = planes
        self.y, self.y_end = bands
        count, high, d = b.sub(self.y_end, self.y), plan.high, plan.dense.spans[0]
        self.lines = b.mul(count, i64(high.step))
        self.read_lines = b.mul(b.add(count, i64(high.parts - 1)), i64(high.step))
        self.sheet = b.mul(self.lines, i64(plan.wide.squares))
        self.read_across = plan.wide.read(plan.wide.bands)
        self.read_sheet = b.mul(self.read_lines, i64(self.read_across))
        first, planes_read = extent(b, d, self.z, self.z_end)
        self.first = clamp(b, first, i64(d.size))
        self.planes = b.sub(clamp(b, b.add(first, planes_read), i64(d.size)), self.first)

    def read_first(self, image: Value, plane: Value) -> Value:
        """How many squares of the source lie before those of a plane of an image."""
        b = self.b
        planes = b.add(b.mul(b.sub(image, self.n), self.planes), b.sub(plane, self.first))
        return b.mul(planes, self.read_sheet)

    def result_first(self, image: Value, plane: Value) -> Value:
        """The same of the result."""
        b = self.b
        planes = b.mul(b.sub(image, self.n), b.sub(self.z_end, self.z))
        return b.mul(b.add(planes, b.sub(plane, self.z)), self.sheet)

    def box(self, image: Value, group: Value, plane: Value) -> Box:
        """The places of a plane that belong to the block."""
        b, across = self.b, self.plan.wide.squares * SIDE
        lines = i64(SIDE * self.plan.high.step)
        return Box(image, group, plane, b.mul(self.y, lines), b.mul(self.y_end, lines), i64(0),
                   i64(across))


class Both:
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
        rest, down = divide(b, index, plan.line_blocks)
        rest, deep = divide(b, rest, plan.plane_blocks)
        images = block_images(b, self.dense, plan.image_blocks, rest)
        planes = share(b, self.dense.spans[0].count, plan.plane_blocks, deep)
        return Block(b, plan, images, planes, share(b, plan.high.bands, plan.line_blocks, down))

    def _pack_source(self, block: Block, image: Value) -> None:
        """Pack the planes of an image of a block one by one, and transform their squares."""
        b, plan = self.b, self.plan
        with b.loop(i64(0), block.planes) as loop:
            plane = b.add(block.first, loop.index)
            pack_source(b, plan.squared.plane, plan.layout, self.type, self.source, self.packed,
                        block.box(image, self.group, plane), plan.lanes)
            self._transform_source(block, block.read_first(image, plane))

    def _at(self, base: Value, *terms: tuple[Value, int]) -> Value:
        """``base[sum of index * step]``."""
        b, total = self.b, i64(0)
        for index, step in terms:
            total = b.add(total, b.mul(index, i64(step)))
        return b.gep(self.type, base, total)

    def _load(self, base: Value, offset: int, lanes: int) -> Value:
        at = self.b.gep(self.type, base, i64(offset))
        return self.b.load(vector(self.type, lanes), at, element_bytes(self.type))

    def _corner(self, grid: Grid, square: Value) -> Value:
        """The first place of a square of an axis."""
        b = self.b
        band, phase = divide(b, square, grid.step)
        return b.add(b.mul(band, i64(SIDE * grid.step)), phase)

    def _turns(self, grid: Grid, element: Value) -> int | Value:
        """How many parts are not zero in a line or column of a square."""
        first, most, _, last = grid.turns
        if first == most == last:
            return first
        b = self.b
        rest = b.select(b.icmp("eq", element, i64(ALPHA - 1)), i64(last), i64(most))
        return b.select(b.icmp("eq", element, i64(0)), i64(first), rest)

    def _transform_source(self, block: Block, first: Value) -> None:
        """The squares of packed lines: [square][tile][channel], from tile ``first`` on."""
        plan, lanes = self.plan, self.plan.lanes
        pieces = [Piece(n, lanes, lanes) for n in range(0, self.dense.channels, lanes)]
        self._carry_lines(SOURCE, plan.layout, block.read_lines, plan.wide.bands + plan.wide.parts
                          - 1, self.packed, self._at(self.v, (first, plan.channel_pitch)),
                          (plan.channel_pitch, plan.source_tiles * plan.channel_pitch), pieces)

    def _carry_lines(self, matrix: Matrix, layout: Layout, lines: Value, bands: int, source: Value,
                     target: Value, pitches: tuple[int, int], pieces: Sequence[Piece],
                     panels: Value | None = None) -> None:
        """Lines of so many bands of squares; ``pitches`` of squares and of their elements."""
        b, (high, wide), (pitch, gap) = self.b, (self.plan.high, self.plan.wide), pitches
        count = len(matrix)
        with b.loop(i64(0), lines) as down, b.loop(i64(0), i64(wide.step), nonempty=True) as phase:
            here = self._at(source, (self._corner(high, down.index), layout.line),
                            (phase.index, layout.pixel))
            there = self._at(target, (down.index, bands * wide.step * pitch),
                             (phase.index, pitch))
            carry(b, self.type, matrix,
                  Squares(here, SIDE * wide.step * layout.pixel, high.step * layout.line,
                          wide.step * layout.pixel),
                  Squares(there, wide.step * pitch, count * gap, gap), i64(bands), pieces,
                  panels)


class Winograd(Both):
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
        """All filters of the unit: [panel][square][depth][part][part][channel][column]."""
        b, plan, view = self.b, self.plan, self.dense.filters
        d, h, w = self.dense.spans
        for panel in plan.panels:
            start, stop = self._panels(panel)
            with b.loop(start, stop) as loop:
                at = b.add(b.mul(loop.index, i64(plan.panel_columns * view.strides[0])),
                           b.mul(self.group, i64(view.group)))
                source = b.gep(self.type, self.filters, b.add(at, i64(view.offset)))
                step = self.dense.channels * panel.width
                pack_filters(b, self.type, source, view.strides,
                             (self.dense.channels, d.taps, h.taps, w.taps), panel.columns, self.v,
                             (step, panel.width), plan.lanes)
                own = self._at(self.u, (b.sub(loop.index, self.first), plan.panel_elements))
                with (
                    b.loop(i64(0), i64(d.taps), nonempty=True) as z,
                    b.loop(i64(0), i64(plan.high.parts), nonempty=True) as y,
                    b.loop(i64(0), i64(plan.wide.parts), nonempty=True) as x,
                ):
                    part = b.add(b.mul(z.index, i64(plan.high.parts)), y.index)
                    part = b.add(b.mul(part, i64(plan.wide.parts)), x.index)
                    there = self._at(own, (part, plan.part_elements))
                    here = self._at(self.v, (z.index, h.taps * w.taps * step),
                                    (y.index, 2 * w.taps * step), (x.index, 2 * step))
                    self._transform_part(panel, y.index, x.index, here, there)

    def _transform_part(self, panel: Panel, y: Value, x: Value, here: Value,
                        there: Value) -> None:
        """Three by three taps of a panel: those of other parts, and beyond the last, are zero."""
        plan, channels = self.plan, self.dense.channels
        step, across = channels * panel.width, self.dense.spans[2].taps
        first, second = ([self._lacks(grid, part, tap) for tap in range(TAPS)]
                         for grid, part in ((plan.high, y), (plan.wide, x)))
        gap = plan.parts * plan.part_elements
        carry(self.b, self.type, FILTERS, Squares(here, panel.width, across * step, step),
              Squares(there, panel.width, ALPHA * gap, gap), i64(channels), panel.pieces,
              lacking=(first, second))

    def _lacks(self, grid: Grid, part: Value, tap: int) -> Value | None:
        """Whether a part lacks one of its three taps, where that may be."""
        b, last = self.b, grid.parts - 1
        if tap == 0 and last:
            return b.icmp("ne", part, i64(0))
        if tap == TAPS - 1 and grid.span.taps % 2 == 0:
            return b.icmp("eq", part, i64(last))
        return None

    # -- blocks ---------------------------------------------------------------------------
    def _block(self, index: Value) -> None:
        b, plan = self.b, self.plan
        block = self._open(index)
        with b.loop(block.n, block.n_end) as image:
            self._pack_source(block, image.index)
        for panel in plan.panels:
            start, stop = self._panels(panel)
            with b.loop(start, stop) as loop:
                if plan.joined:
                    images = b.sub(block.n_end, block.n)
                    count = b.mul(b.mul(images, block.planes), block.sheet)
                    self._multiply(panel, loop.index, block, i64(0), i64(0), count)
                with (
                    b.loop(block.n, block.n_end) as image,
                    b.loop(block.z, block.z_end) as plane,
                ):
                    first = i64(0)
                    if plan.joined:
                        first = block.result_first(image.index, plane.index)
                    else:
                        at = block.read_first(image.index, block.first)
                        self._multiply(panel, loop.index, block, plane.index, at, block.sheet)
                    self._results(panel, loop.index, (image.index, plane.index), first, block)

    def _multiply(self, panel: Panel, index: Value, block: Block, plane: Value, first: Value,
                  count: Value) -> None:
        """For each element of a square, tiles times channels times columns.

        ``first`` is the square of the source where the image begins, ``count`` how many squares
        there are to do.
        """
        b, plan = self.b, self.plan
        own = self._at(self.u, (b.sub(index, self.first), plan.panel_elements))
        deep, z, first = self._depth(block, plane, first)
        with b.loop(i64(0), i64(ALPHA * ALPHA), nonempty=True) as element:
            u = self._at(own, (element.index, plan.parts * plan.part_elements),
                         (z, plan.high.parts * plan.wide.parts * plan.part_elements))
            v = self._at(self.v, (element.index, plan.source_tiles * plan.channel_pitch),
                         (first, plan.channel_pitch))
            m = self._at(self.m, (element.index, plan.tiles * plan.width))
            nest = [deep, *self._parts(block, element.index),
                    Turn(self.dense.channels, 1, panel.width)]
            if plan.wide.parts == 1:
                self._run(panel, nest, u, v, m, count)
                return
            with b.loop(i64(0), block.lines) as line:
                v = self._at(v, (line.index, block.read_across * plan.channel_pitch))
                m = self._at(m, (line.index, plan.wide.squares * plan.width))
                self._run(panel, nest, u, v, m, i64(plan.wide.squares))

    def _run(self, panel: Panel, nest: list[Turn], u: Value, v: Value, m: Value,
             count: Value) -> None:
        """Neighbouring tiles, by a function that kernels share."""
        b, plan = self.b, self.plan
        columns = tuple(Column(*p) for p in panel.pieces)
        nest = [turn for turn in nest[:-1] if turn.times != 1] + nest[-1:]
        inner = nest[-1]
        values = [number(x) for turn in nest[:-1] for x in turn[:3]]

        def body(own: Builder, *given: Value) -> None:
            v, u, m, count, step, times, *rest = given
            turns = given_turns(nest[:-1], rest)
            turns.append(Turn(times, inner.row_step, inner.column_step))
            tile = Tile(self.type, (), columns, pitches=pitches(own, step))
            _tiles(own, tile, plan.heights, turns, (v, u, m), count, step, plan.width)

        key = (self.type, columns, plan.heights, plan.width, inner[1:3],
               tuple(turn.maybe for turn in nest))
        apart(b, "squares", key, body, v, u, m, count, i64(plan.channel_pitch),
                number(inner.times), *values)

    def _parts(self, block: Block, element: Value) -> list[Turn]:
        """Loops over the runs of taps that are not zero in an element of a square."""
        b, plan = self.b, self.plan
        line = block.read_across * plan.channel_pitch
        y, x = divide(b, element, ALPHA)
        return [
            Turn(self._turns(plan.high, y), plan.high.step * line,
                 plan.wide.parts * plan.part_elements, maybe=0 in plan.high.turns),
            Turn(self._turns(plan.wide, x), plan.wide.step * plan.channel_pitch,
                 plan.part_elements, maybe=0 in plan.wide.turns),
        ]

    def _depth(self, block: Block, plane: Value, first: Value) -> tuple[Turn, Value, Value]:
        """The taps of depth inside of the source: a loop, the first of them, and its squares."""
        b, plan, d = self.b, self.plan, self.dense.spans[0]
        row = b.mul(block.read_sheet, i64(d.step * plan.channel_pitch))
        column = plan.high.parts * plan.wide.parts * plan.part_elements
        if plan.joined:
            return Turn(1, 0, 0), i64(0), first
        z, last = taps_inside(b, d, plane)
        at = b.add(b.mul(plane, i64(d.stride)), b.mul(z, i64(d.step)))
        at = b.sub(b.add(at, i64(d.origin)), block.first)
        turn = Turn(b.sub(last, z), row, column, maybe=True)
        return turn, z, b.add(first, b.mul(at, block.read_sheet))

    # -- results --------------------------------------------------------------------------
    def _results(self, panel: Panel, index: Value, where: tuple[Value, Value], first: Value,
                 block: Block) -> None:
        """Squares of results of a plane of an image, and their epilogue where they are inside."""
        b, plan, (_, h, w) = self.b, self.plan, self.dense.spans
        pitch = plan.tiles * plan.width
        column = b.mul(index, i64(plan.panel_columns))
        y = b.mul(block.y, i64(SIDE * plan.high.step))
        with b.loop(i64(0), block.lines) as down:
            here = self._at(self.m, (first, plan.width),
                            (down.index, plan.wide.squares * plan.width))
            carry(b, self.type, RESULT, Squares(here, plan.width, ALPHA * pitch, pitch),
                  Squares(self.packed, SIDE * SIDE * plan.width, SIDE * plan.width, plan.width),
                  i64(plan.wide.squares), panel.pieces)
            top = b.add(y, self._corner(plan.high, down.index))
            with b.loop(i64(0), i64(plan.wide.squares), nonempty=True) as across:
                left = self._corner(plan.wide, across.index)
                here = self._at(self.packed, (across.index, SIDE * SIDE * plan.width))
                with (
                    b.loop(i64(0), self._inside(h, top)) as i,
                    b.loop(i64(0), self._inside(w, left)) as j,
                ):
                    row = self._at(here, (i.index, SIDE * plan.width), (j.index, plan.width))
                    place = (b.add(top, b.mul(i.index, i64(h.step))),
                             b.add(left, b.mul(j.index, i64(w.step))))
                    for piece in panel.pieces:
                        value = self._load(row, piece.offset, piece.lanes)
                        o = b.add(column, i64(piece.offset))
                        self.finish(value, (where[0], self.group, o, where[1], *place), 2,
                                    piece.lanes, piece.mask)

    def _inside(self, span: Span, corner: Value) -> Value:
        """How many places of a square are inside of the image."""
        b = self.b
        rest = b.intrinsic("smax", b.sub(i64(span.count + span.step - 1), corner), i64(0))
        return b.intrinsic("smin", i64(SIDE), divide(b, rest, span.step)[0])


def _tiles(b: Builder, tile: Tile, heights: Sequence[int], nest: list[Turn],
           places: tuple[Value, Value, Value], count: Value, step: Value, width: int) -> None:
    """``count`` rows of a product in tiles of these heights, from ``v`` and ``u`` to ``m``."""
    v, u, m = places
    start, columns = i64(0), tile.columns
    for size in heights:
        left = b.sub(count, start)
        stop = b.sub(count, b.op("urem", left, i64(size))) if size > 1 else count
        with b.loop(start, stop, size) as row:
            some = replace(tile, rows=tuple(range(size)))
            source = b.gep(tile.type, v, b.mul(row.index, step))
            sums = some.run(b, source, u, nest, some.zeros())
            target = b.gep(tile.type, m, b.mul(row.index, i64(width)))
            for n, value in enumerate(sums):
                offset = n // len(columns) * width + columns[n % len(columns)].offset
                b.store(value, b.gep(tile.type, target, i64(offset)), element_bytes(tile.type))
        start = stop
