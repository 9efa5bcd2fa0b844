"""Gradients to filters of 3 x 3 taps through the basis of :mod:`winograd`: its adjoint.

Squares of the cotangent are carried to the other basis by the transpose of what brings results
back; sums of products over all squares are the gradient to the transformed filters.
"""

from __future__ import annotations

from agnesi.codegen.builder import Builder, Value, const, i64, vector
from agnesi.codegen.conv.source import pack_source
from agnesi.codegen.conv.tiles import Column, Tile, Turn
from agnesi.codegen.conv.wide import Finish, tiles
from agnesi.codegen.conv.winograd import FILTERS, RESULT, Squares, transformed
from agnesi.codegen.conv.winogradplan import ALPHA, SIDE, WinogradWeightPlan
from agnesi.codegen.gemm.driver import divide
from agnesi.codegen.gemm.operands import element_bytes
from agnesi.codegen.gemm.tiling import Panel
from agnesi.codegen.gemm.unit import share

_RESULT = tuple(zip(*RESULT, strict=True))
_FILTERS = tuple(zip(*FILTERS, strict=True))


class WinogradWeight(Squares):
    """Emits the units of one plan; ``u`` holds the sums and ``m`` the cotangent."""

    def __init__(self, b: Builder, plan: WinogradWeightPlan, source: Value, cotangent: Value,
                 finish: Finish, scratch: Value) -> None:
        super().__init__(b, plan, source, cotangent, finish, scratch)
        self.whole = plan

    def emit(self, begin: Value, end: Value) -> None:
        """Units [begin, end)."""
        b, plan = self.b, self.whole
        zero = const(vector(self.type, plan.lanes), 0)
        size = ALPHA * ALPHA * self.dense.channels * plan.pitch
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
            pack_source(b, plan.cotangent, plan.cotangent_layout, self.type, self.filters,
                        self.packed, block.box(image.index, self.group), plan.lanes)
            self._transform_cotangent(block.lines, block.first(image.index))
        count = block.first(block.n_end)
        with b.when(b.icmp("sgt", count, i64(0))):
            for panel in plan.panels:
                start, stop = self._panels(panel)
                with b.loop(start, stop) as loop:
                    self._multiply(panel, self._column(loop.index), count)

    def _transform_cotangent(self, lines: Value, first: Value) -> None:
        """The squares of packed lines: [square][tile][column], from tile ``first`` on."""
        b, plan, layout = self.b, self.whole, self.whole.cotangent_layout
        with (
            b.loop(i64(0), lines) as down,
            b.loop(i64(0), i64(plan.across), nonempty=True) as across,
        ):
            here = self._at(self.packed, (down.index, SIDE * layout.line),
                            (across.index, SIDE * layout.pixel))
            tile = b.add(b.mul(down.index, i64(plan.across)), across.index)
            there = self._at(self.m, (b.add(first, tile), plan.pitch))
            for panel in plan.panels:
                start, stop = self._panels(panel)
                with b.loop(start, stop) as loop:
                    source = self._at(here, (loop.index, plan.panel_columns))
                    target = b.gep(self.type, there, self._column(loop.index))
                    for p in panel.pieces:
                        square = [
                            [self._load(source, i * layout.line + j * layout.pixel + p.offset,
                                        p.lanes) for j in range(SIDE)] for i in range(SIDE)
                        ]
                        self._store_square(transformed(b, _RESULT, square),
                                           b.gep(self.type, target, i64(p.offset)),
                                           plan.tiles * plan.pitch)

    def _multiply(self, panel: Panel, column: Value, count: Value) -> None:
        """For each element of a square, channels times tiles times columns, to the sums."""
        b, plan, align = self.b, self.whole, element_bytes(self.type)
        columns = tuple(Column(*p) for p in panel.pieces)
        nest = [Turn(count, plan.channel_pitch, plan.pitch)]
        everything = (i64(0), i64(plan.channels.tiles))
        with b.loop(i64(0), i64(ALPHA * ALPHA), nonempty=True) as element:
            v = self._at(self.v, (element.index, plan.tiles * plan.channel_pitch))
            m = self._at(self.m, (element.index, plan.tiles * plan.pitch), (column, 1))
            u = self._at(self.u, (element.index, self.dense.channels * plan.pitch), (column, 1))
            for size, starts in tiles(b, plan.channels, everything):
                with starts as channel:
                    tile = Tile(self.type, tuple(range(size)), columns)
                    base = self._at(u, (channel, plan.pitch))
                    cells = [
                        b.gep(self.type, base, i64(n * plan.pitch + p.offset))
                        for n in range(size) for p in panel.pieces
                    ]
                    sums = [
                        b.load(vector(self.type, p.lanes), cell, align)
                        for cell, p in zip(cells, panel.pieces * size, strict=True)
                    ]
                    sums = tile.run(b, b.gep(self.type, v, channel), m, nest, sums)
                    for value, cell in zip(sums, cells, strict=True):
                        b.store(value, cell, align)

    def _results(self, panel: Panel, index: Value) -> None:
        """Filters from squares, and their epilogue."""
        b, plan = self.b, self.whole
        step = self.dense.channels * plan.pitch
        o = b.mul(index, i64(plan.panel_columns))
        with b.loop(i64(0), i64(self.dense.channels), nonempty=True) as channel:
            here = self._at(self.u, (channel.index, plan.pitch), (self._column(index), 1))
            for p in panel.pieces:
                square = [
                    [self._load(here, (i * ALPHA + j) * step + p.offset, p.lanes)
                     for j in range(ALPHA)] for i in range(ALPHA)
                ]
                self._store_square(transformed(b, _FILTERS, square),
                                   b.gep(self.type, self.packed, i64(p.offset)), plan.width)
            with b.loop(i64(0), i64(9), nonempty=True) as tap:
                y, x = divide(b, tap.index, 3)
                for p in panel.pieces:
                    value = self._load(self._at(self.packed, (tap.index, plan.width)), p.offset,
                                       p.lanes)
                    place = (self.group, b.add(o, i64(p.offset)), channel.index, i64(0), y, x)
                    self.finish(value, place, 1, p.lanes, p.mask)
