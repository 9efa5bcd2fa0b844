"""Gradients to filters through the basis of :mod:`winograd`: its adjoint.

Squares of the cotangent are carried to the other basis by the transpose of what brings results
back; sums of products over all squares are the gradient to the transformed filters.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from agnesi.codegen.apart import apart
from agnesi.codegen.builder import Builder, Value, const, i64, vector
from agnesi.codegen.conv.basis import FILTERS, RESULT, Squares, carry, turned
from agnesi.codegen.conv.dense import Span
from agnesi.codegen.conv.source import pack_source, reached
from agnesi.codegen.conv.squares import ALPHA, TAPS
from agnesi.codegen.conv.tiles import Column, Tile, Turn, given_turns, number
from agnesi.codegen.conv.wide import Finish
from agnesi.codegen.conv.winograd import Block, Both
from agnesi.codegen.conv.winogradplan import TOGETHER, WinogradWeightPlan
from agnesi.codegen.gemm.driver import divide
from agnesi.codegen.gemm.operands import element_bytes
from agnesi.codegen.gemm.tiling import Panel
from agnesi.codegen.gemm.unit import share


class WinogradWeight(Both):
    """Emits the units of one plan; ``u`` holds the sums and ``m`` the cotangent."""

    def __init__(self, b: Builder, plan: WinogradWeightPlan, source: Value, cotangent: Value,
                 finish: Finish, scratch: Value) -> None:
        super().__init__(b, plan, source, cotangent, finish, scratch)
        self.whole = plan

    def emit(self, begin: Value, end: Value) -> None:
        """Units [begin, end)."""
        b, plan = self.b, self.whole
        zero = const(vector(self.type, plan.lanes), 0)
        size = ALPHA * ALPHA * plan.parts * self.dense.channels * plan.pitch
        with b.loop(begin, end) as loop:
            self.group, part = divide(b, loop.index, plan.panel_groups)
            self.first, self.last = share(b, plan.panel_count, plan.panel_groups, part)
            with b.loop(i64(0), i64(size), plan.lanes, nonempty=True) as at:
                b.store(zero, b.gep(self.type, self.u, at.index), element_bytes(self.type))
            with b.loop(i64(0), b.size(plan.blocks), nonempty=True) as block:
                self._block(block.index)
            for panel in plan.panels:
                start, stop = self._panels(panel)
                with b.loop(start, stop) as index:
                    self._results(panel, index.index)

    def _column(self, index: Value) -> Value:
        """Where a panel's columns begin in packed lines."""
        return self.b.mul(self.b.sub(index, self.first), i64(self.plan.width))

    def _block(self, index: Value) -> None:
        b, plan = self.b, self.whole
        block = self._open(index)
        with b.loop(block.n, block.n_end) as image:
            self._pack_source(block, image.index)
            with b.loop(block.z, block.z_end) as plane:
                box = block.box(image.index, self.group, plane.index)
                pack_source(b, plan.squared.cotangent, plan.cotangent_layout, self.type,
                            self.filters, self.packed, box, plan.lanes)
                self._transform_cotangent(block, block.result_first(image.index, plane.index))
        images = b.sub(block.n_end, block.n)
        some = b.op("and", b.icmp("sgt", images, i64(0)), b.icmp("sgt", block.lines, i64(0)))
        with b.when(some), b.loop(i64(0), i64(self.dense.spans[0].taps), nonempty=True) as deep:
            for panel in plan.panels:
                start, stop = self._panels(panel)
                with b.loop(start, stop) as loop:
                    self._multiply(panel, self._column(loop.index), block, deep.index)

    def _transform_cotangent(self, block: Block, first: Value) -> None:
        """The squares of packed lines: [square][tile][column], from tile ``first`` on."""
        b, plan = self.b, self.whole
        there = self._at(self.m, (first, plan.pitch))
        for panel in plan.panels:
            start, stop = self._panels(panel)
            with b.when(b.icmp("slt", start, stop)):
                source = self._at(self.packed, (start, plan.panel_columns))
                target = b.gep(self.type, there, self._column(start))
                self._carry_lines(turned(RESULT), plan.cotangent_layout, block.lines,
                                  plan.wide.bands, source, target,
                                  (plan.pitch, plan.tiles * plan.pitch), panel.pieces,
                                  b.sub(stop, start))

    def _multiply(self, panel: Panel, column: Value, block: Block, deep: Value) -> None:
        """For each element of a square, channels times tiles times columns, to the sums."""
        b, plan = self.b, self.whole
        first, nest = self._squares(block, deep)
        source, cotangent = first
        with b.loop(i64(0), i64(ALPHA * ALPHA), nonempty=True) as element:
            v = self._at(self.v, (element.index, plan.source_tiles * plan.channel_pitch),
                         (source, plan.channel_pitch))
            m = self._at(self.m, (element.index, plan.tiles * plan.pitch),
                         (cotangent, plan.pitch), (column, 1))
            part = self.dense.channels * plan.pitch
            u = self._at(self.u, (element.index, plan.parts * part),
                         (deep, plan.high.parts * plan.wide.parts * part), (column, 1))
            i, j = divide(b, element.index, ALPHA)
            with (
                b.loop(i64(0), number(self._turns(plan.high, i))) as y,
                b.loop(i64(0), number(self._turns(plan.wide, j))) as x,
            ):
                lines = b.mul(y.index, i64(plan.high.step * block.read_across))
                row = self._at(v, (lines, plan.channel_pitch),
                               (x.index, plan.wide.step * plan.channel_pitch))
                self._add(panel, nest, row, m,
                          self._at(u, (y.index, plan.wide.parts * part), (x.index, part)))

    def _squares(self, block: Block, deep: Value) -> tuple[tuple[Value, Value], list[Turn]]:
        """Loops over all squares that a tap of depth meets, and where they begin."""
        b, plan, d = self.b, self.whole, self.dense.spans[0]
        images = b.sub(block.n_end, block.n)
        if plan.joined:
            count = b.mul(b.mul(images, block.planes), block.sheet)
            return (i64(0), i64(0)), [Turn(count, plan.channel_pitch, plan.pitch)]
        z, z_end = reached(b, d, deep, block.z, block.z_end)
        at = b.add(b.mul(z, i64(d.stride)), b.mul(deep, i64(d.step)))
        first = (block.read_first(block.n, b.add(at, i64(d.origin))),
                 block.result_first(block.n, z))
        read, made = (b.mul(sheet, i64(pitch)) for sheet, pitch in (
            (block.read_sheet, plan.channel_pitch), (block.sheet, plan.pitch)))
        squares = plan.wide.squares
        nest = [
            Turn(images, b.mul(block.planes, read), b.mul(b.sub(block.z_end, block.z), made)),
            Turn(b.sub(z_end, z), b.mul(read, i64(d.stride)), made, maybe=True),
        ]
        if plan.wide.parts > 1:
            nest.append(Turn(block.lines, block.read_across * plan.channel_pitch,
                             squares * plan.pitch))
        count = block.sheet if plan.wide.parts == 1 else i64(squares)
        return first, [*nest, Turn(count, plan.channel_pitch, plan.pitch)]

    def _add(self, panel: Panel, nest: list[Turn], v: Value, m: Value, u: Value) -> None:
        """All channels, by a function that kernels share."""
        b, plan = self.b, self.whole
        columns = tuple(Column(*p) for p in panel.pieces)
        nest = [turn for turn in nest if turn.times != 1]
        values = [number(x) for turn in nest for x in turn[:3]]

        rows = plan.channels
        sizes = (rows.small_size + 1, rows.small_size) if rows.big else (rows.small_size,)

        def body(own: Builder, v: Value, m: Value, u: Value, pitch: Value, big: Value,
                 tiles: Value, *rest: Value) -> None:
            turns = given_turns(nest, rest)
            for size in sizes:
                with own.loop(i64(0), big if size > rows.small_size else tiles, 1, [v, u]) as loop:
                    v, u = loop.carried
                    self._channels(own, size, columns, turns, (v, m, u), pitch)
                    loop.carry(own.gep(self.type, v, i64(size)),
                               own.gep(self.type, u, own.mul(pitch, i64(size))))
                v, u = loop.results

        key = self.type, columns, sizes, tuple(turn.maybe for turn in nest)
        apart(b, "channels", key, body, v, m, u, i64(plan.pitch), i64(rows.big),
                i64(rows.tiles - rows.big), *values)

    def _channels(self, b: Builder, size: int, columns: tuple[Column, ...], nest: list[Turn],
                  places: tuple[Value, Value, Value], pitch: Value) -> None:
        """Some channels times squares times columns, from ``v`` and ``m`` to ``u``."""
        align, (v, m, u) = element_bytes(self.type), places
        tile, cells = Tile(self.type, tuple(range(size)), columns), []
        for n in range(size):
            u = b.gep(self.type, u, pitch) if n else u
            cells += [b.gep(self.type, u, i64(c.offset)) for c in columns]
        sums = [
            b.load(vector(self.type, c.lanes), cell, align)
            for cell, c in zip(cells, columns * size, strict=True)
        ]
        for value, cell in zip(tile.run(b, v, m, nest, sums), cells, strict=True):
            b.store(value, cell, align)

    def _results(self, panel: Panel, index: Value) -> None:
        """Filters from squares, and their epilogue."""
        b, plan, (d, h, w) = self.b, self.whole, self.dense.spans
        part = self.dense.channels * plan.pitch
        o = b.mul(index, i64(plan.panel_columns))
        with (
            b.loop(i64(0), i64(d.taps), nonempty=True) as z,
            b.loop(i64(0), i64(plan.high.parts), nonempty=True) as y,
            b.loop(i64(0), i64(plan.wide.parts), nonempty=True) as x,
            b.loop(i64(0), i64(self.dense.channels), TOGETHER, nonempty=True) as channels,
        ):
            number = b.add(b.mul(z.index, i64(plan.high.parts)), y.index)
            number = b.add(b.mul(number, i64(plan.wide.parts)), x.index)
            here = self._at(self.u, (number, part), (channels.index, plan.pitch),
                            (self._column(index), 1))
            gap, square = plan.parts * part, TAPS * TAPS * plan.width
            count = b.sub(i64(self.dense.channels), channels.index)
            count = b.intrinsic("smin", count, i64(TOGETHER))
            carry(b, self.type, turned(FILTERS), Squares(here, plan.pitch, ALPHA * gap, gap),
                  Squares(self.packed, square, TAPS * plan.width, plan.width), count, panel.pieces)
            with (
                b.loop(i64(0), count, nonempty=True) as channel,
                self._taps(h, y.index) as (i, down), self._taps(w, x.index) as (j, across),
            ):
                row = self._at(self.packed, (channel.index, square), (i, TAPS * plan.width),
                               (j, plan.width))
                at = b.add(channels.index, channel.index)
                for p in panel.pieces:
                    value = self._load(row, p.offset, p.lanes)
                    place = self.group, b.add(o, i64(p.offset)), at, z.index, down, across
                    self.finish(value, place, 1, p.lanes, p.mask)

    @contextmanager
    def _taps(self, span: Span, part: Value) -> Iterator[tuple[Value, Value]]:
        """A loop over the taps of a part: which of its three, and which of all."""
        b = self.b
        first = b.intrinsic("smin", part, i64(1))  # the first one belongs to the part before
        begin = b.mul(part, i64(TAPS - 1))
        stop = b.intrinsic("smin", i64(TAPS), b.sub(i64(span.taps), begin))
        with b.loop(first, stop) as tap:
            yield tap.index, b.add(begin, tap.index)
