"""Convolutions with fewer multiplications (Winograd 1980; Lavin and Gray 2016).

A square of the result comes from a slightly larger square of the source.  Both and the filters are
carried to another basis, where the convolution of squares is a product of elements: for squares of
2 x 2 and 3 x 3 taps that takes 16 multiplications and not 36.  Summed over channels it is 16 matrix
products.  The constants are 0, 1 and 1/2, so that rounding stays as it is in plain sums.

More taps are sums of such convolutions, of squares further on, and those are taken in the other
basis too: taps of depth, and runs of three taps along lines and columns.  Runs overlap by a tap,
which the second lacks, so that it has the same squares; what becomes zero is left out: 49
multiplications for 5 x 5 taps and not 100.  Squares of dilated taps have pixels as far apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from agnesi.codegen.arithmetic.delinearize import divide
from agnesi.codegen.kernels.conv.finish import FinishLine, FinishRow
from agnesi.codegen.kernels.conv.pack import clear, pack_filters
from agnesi.codegen.kernels.conv.source import (
    Box,
    block_images,
    clamp,
    extent,
    pack_source,
    taps_inside,
)
from agnesi.codegen.kernels.conv.tiles import Tile, TileLoop, given_loops, number, pitches
from agnesi.codegen.kernels.conv.winograd.plan import Shape, WinogradWeightPlan
from agnesi.codegen.kernels.conv.winograd.products import tiles_of
from agnesi.codegen.kernels.conv.winograd.tiles import FILTER_TAPS, RESULT_TILE, SOURCE_TILE
from agnesi.codegen.kernels.conv.winograd.transform import (
    FILTERS,
    RESULT,
    SOURCE,
    Matrix,
    Squares,
    carry,
)
from agnesi.codegen.kernels.gemm.unit import share
from agnesi.codegen.kernels.tiling import Piece
from agnesi.codegen.llvm.builder import Builder, Value, i64
from agnesi.codegen.llvm.outlining import apart


class Block:
    """Images [n, n_end), planes of results [z, z_end) and bands of lines [y, y_end) of a block.

    Squares of results are as [image][plane][line][across], those of the source too, where there
    may be more planes, from ``first`` on, and more lines and squares in them.
    """

    def __init__(self, b: Builder, plan: Any, images: tuple[Value, Value],
                 planes: tuple[Value, Value], bands: tuple[Value, Value]) -> None:
        self.b, self.plan = b, plan
        self.n, self.n_end = images
        self.z, self.z_end = planes
        self.y, self.y_end = bands
        count, high, d = b.sub(self.y_end, self.y), plan.high, plan.dense.spans[0]
        self.lines = b.mul(count, high.step)
        self.read_lines = b.mul(b.add(count, b.sub(high.parts, i64(1))), high.step)
        self.sheet = b.mul(self.lines, plan.wide.squares)
        bands_read = b.sub(b.add(plan.wide.bands, plan.wide.parts), i64(1))
        self.read_across = b.mul(bands_read, plan.wide.step)
        self.read_sheet = b.mul(self.read_lines, self.read_across)
        first, planes_read = extent(b, d, self.z, self.z_end)
        self.first = clamp(b, first, d.size)
        self.planes = b.sub(clamp(b, b.add(first, planes_read), d.size), self.first)

    def run(self, single: Value) -> Value:
        """Squares that are one run: those of the block, or of a plane."""
        b = self.b
        every = b.mul(b.mul(b.sub(self.n_end, self.n), self.planes), self.sheet)
        return b.select(single, every, self.sheet)

    def read_first(self, image: Value, plane: Value) -> Value:
        """Squares of the source that are before those of a plane of an image."""
        b = self.b
        planes = b.add(b.mul(b.sub(image, self.n), self.planes), b.sub(plane, self.first))
        return b.mul(planes, self.read_sheet)

    def result_first(self, image: Value, plane: Value) -> Value:
        """Squares of the result that are before those of a plane of an image."""
        b = self.b
        planes = b.mul(b.sub(image, self.n), b.sub(self.z_end, self.z))
        return b.mul(b.add(planes, b.sub(plane, self.z)), self.sheet)

    def box(self, image: Value, group: Value, plane: Value) -> Box:
        """Return the box of pixels of a plane that the block computes."""
        b, across = self.b, self.b.mul(i64(RESULT_TILE), self.plan.wide.squares)
        lines = b.mul(i64(RESULT_TILE), self.plan.high.step)
        return Box(image, group, plane, b.mul(self.y, lines), b.mul(self.y_end, lines), i64(0),
                   across)


class Both:
    """The common part of the forward convolution and the gradient to the filters.

    ``plan`` has its numbers as values, ``shape`` what else the code depends on; ``known`` is the
    plan itself, or the same as ``plan`` where the code is shared, and ``product`` then the
    function of :func:`product_of`.
    """

    group: Value
    first: Value  # of the unit's panels
    last: Value  # behind them

    def __init__(self, b: Builder, plan: Any, known: Any, shape: Shape, source: Value,
                 filters: Value, finish: FinishRow, scratch: Value, product: Value | None = None,
                 finish_line: FinishLine | None = None) -> None:
        self.b, self.plan, self.shape, self.finish = b, plan, shape, finish
        self.product, self.finish_line = product, finish_line
        self.known: WinogradWeightPlan = known  # as far as it is used: or something like it
        self.dense, self.type, self.lanes = plan.dense, shape.type, shape.lanes
        self.source, self.filters = source, filters
        areas, at = [], i64(0)
        for i in range(4):
            areas.append(b.gep("i8", scratch, at))
            at = b.add(at, plan.areas[i])
        self.u, self.v, self.m, self.packed = areas

    def _panels(self) -> Iterator[tuple[int, Value, Value]]:
        """Yield each kind of panels with the first and the end of those of this work unit."""
        b, plan, kinds = self.b, self.plan, len(self.shape.pieces)
        for kind in range(max(1, kinds)):
            start, stop = self.first, self.last
            if kind:
                start = b.intrinsic("smax", start, plan.panels[kind].first)
            elif kinds > 1:
                stop = b.intrinsic("smin", stop, plan.panels[0].count)
            yield kind, start, stop

    def _open(self, index: Value) -> Block:
        """Return the images, planes and bands that block number ``index`` covers."""
        b, plan = self.b, self.plan
        rest, down = divide(b, index, plan.line_blocks)
        rest, deep = divide(b, rest, plan.plane_blocks)
        images = block_images(b, self.dense, plan.image_blocks, rest, self.shape.varying)
        planes = share(b, self.dense.spans[0].count, plan.plane_blocks, deep)
        return Block(b, plan, images, planes, share(b, plan.high.bands, plan.line_blocks, down))

    def _pack_source(self, block: Block, image: Value) -> None:
        """Pack the planes of an image of a block one by one, and transform their squares."""
        b = self.b
        with b.loop(i64(0), block.planes) as loop:
            plane = b.add(block.first, loop.index)
            pack_source(b, self.known.squared.plane, self.known.layout, self.type, self.source,
                        self.packed, block.box(image, self.group, plane), self.lanes,
                        self.shape.source)
            self._transform_source(block, block.read_first(image, plane))

    def _at(self, base: Value, *terms: tuple[Value, int | Value]) -> Value:
        """``base[sum of index * step]``."""
        b, total = self.b, i64(0)
        for index, step in terms:
            total = b.add(total, b.mul(index, b.size(step)))
        return b.gep(self.type, base, total)

    def _times(self, first: int | Value, *others: int | Value) -> Value:
        """Return the product of numbers, as a value of the code."""
        b, total = self.b, self.b.size(first)
        for n in others:
            total = b.mul(total, b.size(n))
        return total

    def _corner(self, grid: Any, square: Value) -> Value:
        """Return the first pixel of a square along an axis."""
        b = self.b
        band, phase = divide(b, square, grid.step)
        return b.add(b.mul(band, self._times(RESULT_TILE, grid.step)), phase)

    def _part_count(self, grid: Any, element: Value) -> Value:
        """Return how many parts are not zero in a line or column of a square."""
        b, (first, most, last) = self.b, (grid.part_counts[i] for i in (0, 1, SOURCE_TILE - 1))
        if first == most == last:
            return first
        rest = b.select(b.icmp("eq", element, i64(SOURCE_TILE - 1)), last, most)
        return b.select(b.icmp("eq", element, i64(0)), first, rest)

    def _transform_source(self, block: Block, first: Value) -> None:
        """Transform the packed lines of a block of the image into Winograd squares, from tile
        ``first`` on, stored as [square][tile][channel].
        """
        b, plan = self.b, self.plan
        bands = b.sub(b.add(plan.wide.bands, plan.wide.parts), i64(1))
        self._carry_lines(SOURCE, plan.layout, block.read_lines, bands, self.packed,
                          self._at(self.v, (first, plan.channel_pitch)),
                          (plan.channel_pitch, b.mul(plan.source_tiles, plan.channel_pitch)),
                          (self.lanes, plan.source_columns, 0))

    def _carry_lines(self, matrix: Matrix, layout: Any, lines: Value, bands: Value, source: Value,
                     target: Value, pitches: tuple[Value, Value],
                     vectors: tuple[int, Value, int]) -> None:
        """Transform ``lines`` of ``bands`` squares by ``matrix``; ``pitches``: elements of the
        target from a square to the next, and from an element of a square to the next."""
        b, (high, wide), (pitch, gap) = self.b, (self.plan.high, self.plan.wide), pitches
        with b.loop(i64(0), lines) as down, b.loop(i64(0), wide.step, nonempty=True) as phase:
            here = self._at(source, (self._corner(high, down.index), layout.line),
                            (phase.index, layout.pixel))
            there = self._at(target, (down.index, self._times(bands, wide.step, pitch)),
                             (phase.index, pitch))
            carry(b, self.type, matrix,
                  Squares(here, self._times(RESULT_TILE, wide.step, layout.pixel),
                          b.mul(high.step, layout.line), b.mul(wide.step, layout.pixel)),
                  Squares(there, b.mul(wide.step, pitch), self._times(len(matrix), gap), gap),
                  bands, *vectors)

    def _pieces(self, kind: int) -> tuple[Piece, ...]:
        return () if self.shape.shared else self.shape.pieces[kind]

    def _vectors(self, kind: int) -> tuple[int, Value, int]:
        """Return the lanes of a whole vector, how many elements whole vectors hold, and the lanes
        of what is left.
        """
        if self.shape.shared:
            return self.lanes, self.plan.width, 0
        pieces = self.shape.pieces[kind]
        lanes = pieces[0].lanes
        whole = [p for p in pieces if p.lanes == lanes]
        rest = pieces[-1].lanes if len(whole) < len(pieces) else 0
        return lanes, i64(len(whole) * lanes), rest

    def _add_products(self, nest: Sequence[TileLoop], row: Value, column: Value, *given: Value
                      ) -> None:
        """Add products of rows and a panel of columns to sums, iteration by iteration."""
        b, (level, *inner) = self.b, nest
        if not inner:
            assert self.product is not None
            b.call_pointer("void", self.product, row, column, *given, *map(number, level[:3]))
            return
        with b.loop(i64(0), number(level.times), 1, [row, column]) as loop:
            row, column = loop.carried
            self._add_products(inner, row, column, *given)
            loop.carry(b.gep(self.type, row, number(level.row_step)),
                       b.gep(self.type, column, number(level.column_step)))


class Winograd(Both):
    """Emits the work units of a Winograd convolution."""

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
        for kind, start, stop in self._panels():
            width = plan.panels[kind].width
            with b.loop(start, stop) as loop:
                at = b.add(b.mul(loop.index, b.mul(plan.panel_columns, view.strides[0])),
                           b.mul(self.group, view.group))
                source = b.gep(self.type, self.filters, b.add(at, view.offset))
                step = b.mul(self.dense.channels, width)
                self._pack_filters(kind, loop.index, source, step)
                own = self._at(self.u, (b.sub(loop.index, self.first), plan.panel_elements))
                with (
                    b.loop(i64(0), d.taps, nonempty=True) as z,
                    b.loop(i64(0), plan.high.parts, nonempty=True) as y,
                    b.loop(i64(0), plan.wide.parts, nonempty=True) as x,
                ):
                    part = b.add(b.mul(z.index, plan.high.parts), y.index)
                    part = b.add(b.mul(part, plan.wide.parts), x.index)
                    there = self._at(own, (part, plan.part_elements))
                    here = self._at(self.v, (z.index, self._times(h.taps, w.taps, step)),
                                    (y.index, self._times(2, w.taps, step)),
                                    (x.index, self._times(2, step)))
                    gap = b.mul(plan.parts, plan.part_elements)
                    lacking = [
                        [self._lacks(grid, at, tap) for tap in range(FILTER_TAPS)]
                        for grid, at in ((plan.high, y.index), (plan.wide, x.index))
                    ]
                    carry(b, self.type, FILTERS,
                          Squares(here, width, b.mul(w.taps, step), step),
                          Squares(there, width, self._times(SOURCE_TILE, gap), gap),
                          self.dense.channels, *self._vectors(kind),
                          lacking=(lacking[0], lacking[1]))

    def _pack_filters(self, kind: int, index: Value, source: Value, step: Value) -> None:
        """Copy the untransformed filters of a panel, tap by tap, to the memory that transformed
        parts of the image take later (``self.v``).
        """
        b, dense, panel = self.b, self.known.dense, self.known.panels[kind]
        columns: int | Value = panel.columns
        apart: int | Value = step
        if self.shape.shared:  # the last panel may have fewer
            columns = b.sub(self.dense.outputs, b.mul(index, self.plan.panel_columns))
            columns = b.intrinsic("smin", columns, b.size(panel.width))
        else:
            apart = dense.channels * panel.width
        pack_filters(b, self.type, source, [dense.filters.strides[i] for i in range(5)],
                     [dense.channels, *(s.taps for s in dense.spans)], columns, self.v,
                     (apart, panel.width), self.lanes)

    def _lacks(self, grid: Any, part: Value, tap: int) -> Value | None:
        """Return whether a part of the filter lacks one of its three taps, where that may be."""
        b = self.b
        if tap == 0 and grid.parts.ref != "1":
            return b.icmp("ne", part, i64(0))
        if tap == FILTER_TAPS - 1 and grid.short.ref != "-1":
            return b.icmp("eq", part, grid.short)
        return None

    # -- blocks ---------------------------------------------------------------------------
    def _block(self, index: Value) -> None:
        b, joined = self.b, self.shape.joined
        block = self._open(index)
        with b.loop(block.n, block.n_end) as image:
            self._pack_source(block, image.index)
        for kind, start, stop in self._panels():
            with b.loop(start, stop) as loop:
                if joined:
                    images = b.sub(block.n_end, block.n)
                    count = b.mul(b.mul(images, block.planes), block.sheet)
                    self._multiply(kind, loop.index, block, i64(0), i64(0), count)
                with (
                    b.loop(block.n, block.n_end) as image,
                    b.loop(block.z, block.z_end) as plane,
                ):
                    first = i64(0)
                    if joined:
                        first = block.result_first(image.index, plane.index)
                    elif self.shape.shared:
                        first = self._multiply_once(kind, loop.index, block, image.index,
                                                    plane.index)
                    else:
                        at = block.read_first(image.index, block.first)
                        self._multiply(kind, loop.index, block, plane.index, at, block.sheet)
                    self._results(kind, loop.index, (image.index, plane.index), first, block)

    def _multiply_once(self, kind: int, index: Value, block: Block, image: Value,
                       plane: Value) -> Value:
        """Where squares of a block are one run, all before the first plane, else those of each.

        Gives the first square of the plane among those that are there.
        """
        b = self.b
        single = b.icmp("ne", self.plan.single, i64(0))
        begins = b.op("and", b.icmp("eq", image, block.n), b.icmp("eq", plane, block.z))
        with b.when(b.select(single, begins, Value("true", "i1"))):
            at = block.read_first(image, block.first)
            self._multiply(kind, index, block, plane, at, block.run(single))
        return b.mul(self.plan.single, block.result_first(image, plane))

    def _multiply(self, kind: int, index: Value, block: Block, plane: Value, first: Value,
                  count: Value) -> None:
        """Multiply tiles by filters for each element of a square.

        ``first`` is the first square of the source, ``count`` the number of squares.
        """
        b, plan = self.b, self.plan
        own = self._at(self.u, (b.sub(index, self.first), plan.panel_elements))
        deep, z, first = self._depth(block, plane, first)
        with b.loop(i64(0), i64(SOURCE_TILE * SOURCE_TILE), nonempty=True) as element:
            u = self._at(own, (element.index, b.mul(plan.parts, plan.part_elements)),
                         (z, self._times(plan.high.parts, plan.wide.parts, plan.part_elements)))
            v = self._at(self.v, (element.index, b.mul(plan.source_tiles, plan.channel_pitch)),
                         (first, plan.channel_pitch))
            m = self._at(self.m, (element.index, b.mul(plan.tiles, plan.width)))
            nest = [deep, *self._parts(block, element.index),
                    TileLoop(self.dense.channels, 1, self.plan.panels[kind].width)]
            if self.shape.joined or plan.wide.parts.ref == "1":
                self._run(kind, nest, u, v, m, count)
                return
            lines, each = block.lines, plan.wide.squares
            if self.shape.shared:  # where squares of all lines are adjacent, they are one run
                alone = b.icmp("eq", plan.wide.parts, i64(1))
                lines, each = b.select(alone, i64(1), lines), b.select(alone, count, each)
            with b.loop(i64(0), lines) as line:
                v = self._at(v, (line.index, b.mul(block.read_across, plan.channel_pitch)))
                m = self._at(m, (line.index, b.mul(plan.wide.squares, plan.width)))
                self._run(kind, nest, u, v, m, each)

    def _run(self, kind: int, nest: list[TileLoop], u: Value, v: Value, m: Value,
             count: Value) -> None:
        """Compute ``count`` neighbouring tiles by a function that kernels share."""
        b, plan = self.b, self.plan
        if self.shape.shared:
            clear(b, self.type, m, b.mul(count, plan.width), self.lanes)
            self._add_products(nest, v, u, m, count, plan.channel_pitch, plan.width)
            return
        columns = self.shape.pieces[kind]
        nest = [level for level in nest[:-1] if number(level.times).ref != "1"] + nest[-1:]
        inner = nest[-1]
        values = [number(x) for level in nest[:-1] for x in level[:3]]
        heights, width, below = self.shape.heights, self.known.width, self.known.panels[kind].width

        def body(own: Builder, *given: Value) -> None:
            v, u, m, count, step, times, *rest = given
            iterations = given_loops(nest[:-1], rest)
            iterations.append(TileLoop(times, 1, below))
            tile = Tile(self.type, (), columns, pitches=pitches(own, step))
            tiles_of(own, tile, heights, iterations, (v, u, m), count, step, width)

        key = self.type, columns, heights, width, below, tuple(level.maybe for level in nest)
        apart(b, "squares", key, body, v, u, m, count, plan.channel_pitch,
              number(inner.times), *values)

    def _parts(self, block: Block, element: Value) -> list[TileLoop]:
        """Return the loops, down and across, over the parts of a large filter that contribute to
        one element of the transformed square: parts whose taps are all zero there are skipped.
        """
        b, plan = self.b, self.plan
        line = b.mul(block.read_across, plan.channel_pitch)
        y, x = divide(b, element, SOURCE_TILE)
        first, second = (
            any(grid.part_counts[i].ref == "0" for i in range(SOURCE_TILE))
            for grid in (plan.high, plan.wide)
        )
        return [
            TileLoop(self._part_count(plan.high, y), b.mul(plan.high.step, line),
                 b.mul(plan.wide.parts, plan.part_elements), maybe=first),
            TileLoop(self._part_count(plan.wide, x), b.mul(plan.wide.step, plan.channel_pitch),
                 plan.part_elements, maybe=second),
        ]

    def _depth(self, block: Block, plane: Value, first: Value) -> tuple[TileLoop, Value, Value]:
        """The taps of depth inside of the source: a loop, the first of them, and its squares."""
        b, plan, d = self.b, self.plan, self.dense.spans[0]
        row = b.mul(block.read_sheet, b.mul(d.step, plan.channel_pitch))
        column = self._times(plan.high.parts, plan.wide.parts, plan.part_elements)
        if self.shape.joined:
            return TileLoop(1, 0, 0), i64(0), first
        z, last = taps_inside(b, d, plane)
        at = b.add(b.mul(plane, d.stride), b.mul(z, d.step))
        at = b.sub(b.add(at, d.origin), block.first)
        level = TileLoop(b.sub(last, z), row, column, maybe=True)
        return level, z, b.add(first, b.mul(at, block.read_sheet))

    # -- results --------------------------------------------------------------------------
    def _results(self, kind: int, index: Value, where: tuple[Value, Value], first: Value,
                 block: Block) -> None:
        """Transform the squares of results of a plane of an image back, and run the epilogue on the
        pixels that exist.
        """
        b, plan = self.b, self.plan
        pitch, width = b.mul(plan.tiles, plan.width), plan.width
        column = b.mul(index, plan.panel_columns)
        y = b.mul(block.y, self._times(RESULT_TILE, plan.high.step))
        square, line = (
            self._times(RESULT_TILE * RESULT_TILE, width),
            self._times(RESULT_TILE, width),
        )
        if self.finish_line is not None:  # lines of squares become lines of the image
            square, line = line, b.mul(plan.wide.squares, line)
        with b.loop(i64(0), block.lines) as down:
            here = self._at(self.m, (first, width), (down.index, b.mul(plan.wide.squares, width)))
            carry(
                b,
                self.type,
                RESULT,
                Squares(here, width, self._times(SOURCE_TILE, pitch), pitch),
                Squares(self.packed, square, line, width),
                plan.wide.squares,
                *self._vectors(kind),
            )
            top = b.add(y, self._corner(plan.high, down.index))
            corner, steps = (where[0], self.group, column, where[1]), (square, line)
            if self.finish_line is not None:
                self._finish_lines(self.finish_line, kind, corner, top, line)
            else:
                self._finish_squares(kind, corner, top, steps)

    def _finish_lines(self, finish: FinishLine, kind: int, where: tuple[Value, ...], top: Value,
                      line: Value) -> None:
        """The epilogue of a line of squares, line by line of the image."""
        b, plan, (_, h, _) = self.b, self.plan, self.dense.spans
        with b.loop(i64(0), self._inside(h, top)) as i:
            finish(self._at(self.packed, (i.index, line)),
                   (*where, b.add(top, b.mul(i.index, h.step)), i64(0)), plan.width,
                   self.known.panels[kind].columns)

    def _finish_squares(self, kind: int, where: tuple[Value, ...], top: Value,
                     steps: tuple[Value, Value]) -> None:
        """The epilogue of a line of squares, one tile after the other, pixel by pixel."""
        b, plan, (_, h, w) = self.b, self.plan, self.dense.spans
        with b.loop(i64(0), plan.wide.squares, nonempty=True) as across:
            left = self._corner(plan.wide, across.index)
            here = self._at(self.packed, (across.index, steps[0]))
            with (
                b.loop(i64(0), self._inside(h, top)) as i,
                b.loop(i64(0), self._inside(w, left)) as j,
            ):
                row = self._at(here, (i.index, steps[1]), (j.index, plan.width))
                pixel = (b.add(top, b.mul(i.index, h.step)), b.add(left, b.mul(j.index, w.step)))
                self.finish(row, (*where, *pixel), self._pieces(kind))

    def _inside(self, span: Any, corner: Value) -> Value:
        """Return how many pixels of a square are inside of the image."""
        b = self.b
        beyond = b.sub(b.add(span.count, span.step), i64(1))
        rest = b.intrinsic("smax", b.sub(beyond, corner), i64(0))
        return b.intrinsic("smin", i64(RESULT_TILE), divide(b, rest, span.step)[0])
