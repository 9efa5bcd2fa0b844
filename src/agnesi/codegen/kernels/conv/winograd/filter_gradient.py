"""Filter gradients in Winograd's transformed space: the adjoint of the forward convolution.

Squares of the cotangent are carried to the other basis by the transpose of what brings results
back; sums of products over all squares are the gradient to the transformed filters.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from agnesi.codegen.arithmetic.delinearize import divide
from agnesi.codegen.kernels.conv.source import pack_source, reached
from agnesi.codegen.kernels.conv.tiles import Tile, TileLoop, given_loops, number
from agnesi.codegen.kernels.conv.winograd.convolution import Block, Both
from agnesi.codegen.kernels.conv.winograd.plan import CHANNELS_PER_INVERSE
from agnesi.codegen.kernels.conv.winograd.products import add_tile
from agnesi.codegen.kernels.conv.winograd.tiles import FILTER_TAPS, SOURCE_TILE
from agnesi.codegen.kernels.conv.winograd.transform import (
    FILTERS,
    RESULT,
    Squares,
    carry,
    transposed,
)
from agnesi.codegen.kernels.gemm.unit import share
from agnesi.codegen.llvm.builder import Builder, Value, const, i64, vector
from agnesi.codegen.llvm.outlining import apart
from agnesi.codegen.llvm.type_names import nbytes


class WinogradWeight(Both):
    """Emits the work units of a Winograd filter gradient: ``u`` has sums, ``m`` the cotangent."""

    def emit(self, begin: Value, end: Value) -> None:
        """Units [begin, end)."""
        b, plan = self.b, self.plan
        zero = const(vector(self.type, self.lanes), 0)
        size = self._times(SOURCE_TILE * SOURCE_TILE, plan.parts, plan.sum_elements)
        with b.loop(begin, end) as loop:
            self.group, part = divide(b, loop.index, plan.panel_groups)
            self.first, self.last = share(b, plan.panel_count, plan.panel_groups, part)
            with b.loop(i64(0), size, self.lanes, nonempty=True) as at:
                b.store(zero, b.gep(self.type, self.u, at.index), nbytes(self.type))
            with b.loop(i64(0), plan.blocks, nonempty=True) as block:
                self._block(block.index)
            for kind, start, stop in self._panels():
                with b.loop(start, stop) as index:
                    self._results(kind, index.index)

    def _column(self, index: Value) -> Value:
        """Return the first column of a panel in packed lines."""
        return self.b.mul(self.b.sub(index, self.first), self.plan.width)

    def _block(self, index: Value) -> None:
        b, known = self.b, self.known
        block = self._open(index)
        with b.loop(block.n, block.n_end) as image:
            self._pack_source(block, image.index)
            with b.loop(block.z, block.z_end) as plane:
                box = block.box(image.index, self.group, plane.index)
                pack_source(b, known.squared.cotangent, known.cotangent_layout, self.type,
                            self.filters, self.packed, box, self.lanes, self.shape.cotangent)
                self._transform_cotangent(block, block.result_first(image.index, plane.index))
        images = b.sub(block.n_end, block.n)
        some = b.op("and", b.icmp("sgt", images, i64(0)), b.icmp("sgt", block.lines, i64(0)))
        taps = self.dense.spans[0].taps
        with b.when(some), b.loop(i64(0), taps, nonempty=True) as deep:
            for kind, start, stop in self._panels():
                with b.loop(start, stop) as loop:
                    self._multiply(kind, self._column(loop.index), block, deep.index)

    def _transform_cotangent(self, block: Block, first: Value) -> None:
        """The squares of packed lines: [square][tile][column], from tile ``first`` on."""
        b, plan = self.b, self.plan
        there = self._at(self.m, (first, plan.pitch))
        for kind, start, stop in self._panels():
            with b.when(b.icmp("slt", start, stop)):
                source = self._at(self.packed, (start, plan.panel_columns))
                target = b.gep(self.type, there, self._column(start))
                lanes, full, rest = self._vectors(kind)
                self._carry_lines(transposed(RESULT), plan.cotangent_layout, block.lines,
                                  plan.wide.bands, source, target,
                                  (plan.pitch, b.mul(plan.tiles, plan.pitch)),
                                  (lanes, b.mul(full, b.sub(stop, start)), rest))

    def _multiply(self, kind: int, column: Value, block: Block, deep: Value) -> None:
        """For each element of a square, channels times tiles times columns, to the sums."""
        b, plan = self.b, self.plan
        first, nest = self._squares(block, deep)
        source, cotangent = first
        part = plan.sum_elements
        with b.loop(i64(0), i64(SOURCE_TILE * SOURCE_TILE), nonempty=True) as element:
            v = self._at(self.v, (element.index, b.mul(plan.source_tiles, plan.channel_pitch)),
                         (source, plan.channel_pitch))
            m = self._at(self.m, (element.index, b.mul(plan.tiles, plan.pitch)),
                         (cotangent, plan.pitch), (column, 1))
            u = self._at(self.u, (element.index, b.mul(plan.parts, part)),
                         (deep, self._times(plan.high.parts, plan.wide.parts, part)), (column, 1))
            i, j = divide(b, element.index, SOURCE_TILE)
            with (
                b.loop(i64(0), self._part_count(plan.high, i)) as y,
                b.loop(i64(0), self._part_count(plan.wide, j)) as x,
            ):
                lines = b.mul(y.index, b.mul(plan.high.step, block.read_across))
                row = self._at(v, (lines, plan.channel_pitch),
                               (x.index, b.mul(plan.wide.step, plan.channel_pitch)))
                self._add(kind, nest, row, m,
                          self._at(u, (y.index, b.mul(plan.wide.parts, part)), (x.index, part)))

    def _squares(self, block: Block, deep: Value) -> tuple[tuple[Value, Value], list[TileLoop]]:
        """Loops over all squares that a tap of depth meets, and where they begin."""
        b, plan, d = self.b, self.plan, self.dense.spans[0]
        images = b.sub(block.n_end, block.n)
        if self.shape.joined:
            count = b.mul(b.mul(images, block.planes), block.sheet)
            return (i64(0), i64(0)), [TileLoop(count, plan.channel_pitch, plan.pitch)]
        z, z_end = reached(b, d, deep, block.z, block.z_end)
        at = b.add(b.mul(z, d.stride), b.mul(deep, d.step))
        first = (block.read_first(block.n, b.add(at, d.origin)), block.result_first(block.n, z))
        read, made = (b.mul(sheet, pitch) for sheet, pitch in (
            (block.read_sheet, plan.channel_pitch), (block.sheet, plan.pitch)))
        deep_count, lines, each = b.sub(z_end, z), block.lines, plan.wide.squares
        if self.shape.shared:  # where squares of all lines are adjacent, they are one run
            alone = b.icmp("eq", plan.wide.parts, i64(1))
            single = b.icmp("ne", plan.single, i64(0))
            images, deep_count, lines = (
                b.select(one, i64(1), n)
                for one, n in ((single, images), (single, deep_count), (alone, lines)))
            each = b.select(alone, block.run(single), each)
        nest = [
            TileLoop(images, b.mul(block.planes, read), b.mul(b.sub(block.z_end, block.z), made)),
            TileLoop(deep_count, b.mul(read, d.stride), made, maybe=True),
        ]
        if plan.wide.parts.ref != "1":
            nest.append(TileLoop(lines, b.mul(block.read_across, plan.channel_pitch),
                             b.mul(plan.wide.squares, plan.pitch)))
        else:
            each = block.sheet
        return first, [*nest, TileLoop(each, plan.channel_pitch, plan.pitch)]

    def _add(self, kind: int, nest: list[TileLoop], v: Value, m: Value, u: Value) -> None:
        """Add the products of all channels by a function that kernels share."""
        b, plan = self.b, self.plan
        if self.shape.shared:
            self._add_products(nest, v, m, u, self.dense.channels, i64(1), plan.pitch)
            return
        columns = self.shape.pieces[kind]
        nest = [level for level in nest if number(level.times).ref != "1"]
        values = [number(x) for level in nest for x in level[:3]]
        rows, sizes = self.known.channels, self.shape.heights

        def body(own: Builder, v: Value, m: Value, u: Value, pitch: Value, big: Value,
                 tiles: Value, *rest: Value) -> None:
            iterations = given_loops(nest, rest)
            for size in sizes:
                tile = Tile(self.type, tuple(range(size)), columns)
                with own.loop(i64(0), big if size > sizes[-1] else tiles, 1, [v, u]) as loop:
                    v, u = loop.carried
                    add_tile(own, tile, iterations, v, m, u, pitch)
                    loop.carry(own.gep(self.type, v, i64(size)),
                               own.gep(self.type, u, own.mul(pitch, i64(size))))
                v, u = loop.results

        key = self.type, columns, sizes, tuple(level.maybe for level in nest)
        apart(b, "channels", key, body, v, m, u, plan.pitch, i64(rows.big),
              i64(rows.tiles - rows.big), *values)

    def _results(self, kind: int, index: Value) -> None:
        """Transform the sums of squares back to filters, and run their epilogue."""
        b, plan, (d, h, w) = self.b, self.plan, self.dense.spans
        part, width, pieces = plan.sum_elements, plan.width, self._pieces(kind)
        o = b.mul(index, plan.panel_columns)
        gap, square = b.mul(plan.parts, part), self._times(FILTER_TAPS * FILTER_TAPS, width)
        with (
            b.loop(i64(0), d.taps, nonempty=True) as z,
            b.loop(i64(0), plan.high.parts, nonempty=True) as y,
            b.loop(i64(0), plan.wide.parts, nonempty=True) as x,
            b.loop(i64(0), self.dense.channels, CHANNELS_PER_INVERSE, nonempty=True) as channels,
        ):
            which = b.add(b.mul(z.index, plan.high.parts), y.index)
            which = b.add(b.mul(which, plan.wide.parts), x.index)
            here = self._at(self.u, (which, part), (channels.index, plan.pitch),
                            (self._column(index), 1))
            count = b.sub(self.dense.channels, channels.index)
            count = b.intrinsic("smin", count, i64(CHANNELS_PER_INVERSE))
            carry(b, self.type, transposed(FILTERS),
                  Squares(here, plan.pitch, self._times(SOURCE_TILE, gap), gap),
                  Squares(self.packed, square, self._times(FILTER_TAPS, width), width), count,
                  *self._vectors(kind))
            with (
                b.loop(i64(0), count, nonempty=True) as channel,
                self._taps(h, y.index) as (i, down), self._taps(w, x.index) as (j, across),
            ):
                row = self._at(
                    self.packed,
                    (channel.index, square),
                    (i, self._times(FILTER_TAPS, width)),
                    (j, width),
                )
                at = b.add(channels.index, channel.index)
                self.finish(row, (self.group, o, at, z.index, down, across), pieces)

    @contextmanager
    def _taps(self, span: Any, part: Value) -> Iterator[tuple[Value, Value]]:
        """A loop over the taps of a part: which of its three, and which of all."""
        b = self.b
        first = b.intrinsic("smin", part, i64(1))  # the first one belongs to the part before
        begin = b.mul(part, i64(FILTER_TAPS - 1))
        stop = b.intrinsic("smin", i64(FILTER_TAPS), b.sub(span.taps, begin))
        with b.loop(first, stop) as tap:
            yield tap.index, b.add(begin, tap.index)
