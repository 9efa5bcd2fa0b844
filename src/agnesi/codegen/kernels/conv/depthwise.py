"""Depthwise convolutions of channels-last images: lanes along the channels, which are independent.

A tile of several lines and columns reads each vector of its window once for all taps and results
that use it.  Channels are the innermost loop, so that memory is read in runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

from agnesi.codegen.arithmetic.delinearize import divide
from agnesi.codegen.kernels.conv.depthwise_plan import DepthwisePlan, Window
from agnesi.codegen.kernels.conv.finish import Finish
from agnesi.codegen.kernels.conv.pack import pack_filters
from agnesi.codegen.kernels.conv.tiles import Tile
from agnesi.codegen.kernels.conv.wide import tails, tiles
from agnesi.codegen.kernels.conv.windows import Corner, Way, Windows
from agnesi.codegen.kernels.gemm.operands import load_strided
from agnesi.codegen.kernels.gemm.unit import share
from agnesi.codegen.kernels.tiling import OpenRows, Piece
from agnesi.codegen.llvm.builder import Builder, Value, const, i64, vector
from agnesi.codegen.llvm.instructions import multiply_add, prefetch
from agnesi.codegen.llvm.type_names import nbytes
from agnesi.core.ir.dims import Size


class _Channels:
    """The common part of both kinds of depthwise kernels: tiles, and loops over vectors of
    channels.
    """

    def __init__(self, b: Builder, plan: DepthwisePlan, source: Value, other: Value,
                 finish: Finish, scratch: Value) -> None:
        self.b, self.plan, self.finish = b, plan, finish
        self.dense, self.type = plan.real, plan.type
        self.align = nbytes(plan.type)
        self.other = other
        table, zeros, self.taps, self.sums = plan.split(b, scratch)
        self.windows = Windows(b, plan, source, table, zeros)
        self.low, self.high, self.rest = i64(0), i64(plan.vectors), Value("true", "i1")

    def _pieces(self) -> Iterator[tuple[Piece, Value]]:
        """Loop over whole vectors of channels, then over the remaining channels."""
        b, plan = self.b, self.plan
        if plan.vectors:
            start, stop = (b.mul(n, i64(plan.lanes)) for n in (self.low, self.high))
            with b.loop(start, stop, plan.lanes) as loop:
                yield plan.pieces[0], loop.index
        for piece in plan.pieces[plan.vectors:]:
            with b.when(self.rest):
                yield piece, i64(piece.offset)

    def _tiles(self, low: Value, high: Value) -> Iterator[tuple[Window, Corner]]:
        """Emit loops over the tiles of the rows [low, high) of tiles; yield the window and the
        corner of each.
        """
        b, plan = self.b, self.plan
        with b.loop(low, high) as loop:
            rest, down = divide(b, loop.index, plan.lines.count)
            image, depth = divide(b, rest, self.dense.spans[0].count)
            y, every = plan.lines.start(b, down), (i64(0), b.size(plan.columns.count))
            for tall, mine in self._tall(down):
                with b.when(mine):
                    for wide, starts in tiles(b, plan.columns, every):
                        with starts as x:
                            yield Window(self.dense, tall, wide), Corner(image, depth, y, x)
                    for wide, _, start in tails(b, plan.columns, every[1]):
                        with start as x:
                            yield (Window(self.dense, tall, wide),
                                   Corner(image, depth, y, x, partly=True))

    def _tall(self, tile: Value) -> Iterator[tuple[int, Value]]:
        """Yield the heights of tiles, each with a flag that says whether this tile has that height.
        """
        b, lines = self.b, self.plan.lines
        if isinstance(lines, OpenRows):
            yield lines.height, Value("true", "i1")
            return
        for tall in lines.sizes:
            mine = "sge" if tall == lines.small_size else "slt"
            yield tall, b.icmp(mine, tile, i64(lines.big))

    def _present(self, corner: Corner, i: Value, j: Value) -> Value | None:
        """Return whether a result of a tile exists, as a bool of the code; None where all do."""
        b, (_, h, w), found = self.b, self.dense.spans, None
        for at, first, span, some in (
            (i, corner.y, h, isinstance(self.plan.lines, OpenRows)), (j, corner.x, w, corner.partly)
        ):
            if some:
                there = b.icmp("slt", b.add(first, at), b.size(span.count))
                found = there if found is None else b.op("and", found, there)
        return found

    def _vector(self, pointer: Value, offset: Size, piece: Piece) -> Value:
        at = self.b.gep(self.type, pointer, self.b.size(offset))
        return load_strided(self.b, at, self.type, 1, piece.lanes, piece.mask)

    def _tap(self, tap: int) -> int:
        """Return the distance of a tap written out from the first one in packed taps."""
        wide = self.plan.taps[1]
        return (tap // wide * self.dense.spans[2].taps + tap % wide) * self.plan.pitch


class Depthwise(_Channels):
    """Emits the units of a plan for a result or the gradient to an image."""

    def emit(self, begin: Value, end: Value) -> None:
        """Units [begin, end)."""
        b, plan = self.b, self.plan
        with b.when(b.icmp("slt", begin, end)):
            self.windows.prepare()
            self._pack_filters()
        with b.loop(begin, end) as loop:
            low, high = share(b, self.dense.blocks(plan.lines.count), plan.units, loop.index)
            for window, corner in self._tiles(low, high):
                way = self.windows.way(window, corner)
                for piece, channel in self._pieces():
                    self._tile(window, corner, way, piece, channel)

    def _pack_filters(self) -> None:
        b, plan, view = self.b, self.plan, self.dense.filters
        pack_filters(b, self.type, b.gep(self.type, self.other, i64(view.offset)),
                     (view.group, 0, *view.strides[2:]),
                     (1, *(s.taps for s in self.dense.spans)), self.dense.groups, self.taps,
                     (plan.pitch, plan.pitch), plan.lanes)

    def _tile(self, window: Window, corner: Corner, way: Way, piece: Piece, channel: Value) -> None:
        b, plan = self.b, self.plan
        uses = plan.uses(window)

        def inner(_: Builder, row: Value, column: Value, sums: list[Value]) -> list[Value]:
            sums, taps = list(sums), {}
            for at, pairs in uses.items():
                value = self.windows.load(window, way, row, at, channel, piece)
                for tap, result in pairs:
                    if tap not in taps:
                        taps[tap] = self._vector(column, self._tap(tap), piece)
                    sums[result] = multiply_add(b, value, taps[tap], sums[result])
            return sums

        count = window.lines * window.columns
        tile = Tile(self.type, tuple(range(count)), (Piece(0, piece.lanes, piece.active),))
        sums = tile.run(b, way.at(b, self.type, channel), b.gep(self.type, self.taps, channel),
                        plan.nest(window, way.steps), tile.zeros(), inner=inner)
        if plan.spill:
            self._spilled(window, corner, piece, channel, sums)
            return
        for n, value in enumerate(sums):
            i, j = divmod(n, window.columns)
            self._finish(corner, i64(i), i64(j), piece, channel, value)

    def _finish(self, corner: Corner, i: Value, j: Value, piece: Piece, channel: Value,
                value: Value) -> None:
        b = self.b
        index = (corner.image, channel, i64(0), corner.depth, b.add(corner.y, i),
                 b.add(corner.x, j))
        present = self._present(corner, i, j)
        with b.when(present) if present is not None else nullcontext():
            self.finish(value, index, 1, piece.lanes, piece.mask)

    def _spilled(self, window: Window, corner: Corner, piece: Piece, channel: Value,
                 sums: list[Value]) -> None:
        """Store the sums of a tile to scratch memory and run the epilogue over them in a loop, so
        that its code is emitted once.
        """
        b, lanes = self.b, self.plan.lanes
        for n, value in enumerate(sums):
            b.store(value, b.gep(self.type, self.sums, i64(n * lanes)), self.align)
        with (
            b.loop(i64(0), i64(window.lines), nonempty=True) as i,
            b.loop(i64(0), i64(window.columns), nonempty=True) as j,
        ):
            index = b.add(b.mul(i.index, i64(window.columns)), j.index)
            at = b.gep(self.type, self.sums, b.mul(index, i64(lanes)))
            value = b.load(vector(self.type, piece.lanes), at, self.align)
            self._finish(corner, i.index, j.index, piece, channel, value)


class DepthwiseWeight(_Channels):
    """Emits the units of a plan for the gradient to filters: runs of vectors of channels.

    The sums of a vector's taps are in registers through a tile, and in scratch from one to the
    next.
    """

    def emit(self, begin: Value, end: Value) -> None:
        """Units [begin, end)."""
        b, plan = self.b, self.plan
        with b.when(b.icmp("slt", begin, end)):
            self.windows.prepare()
        with b.loop(begin, end) as loop:
            self._own(loop.index)
            self._clear()
            for window, corner in self._tiles(i64(0), b.size(self.dense.blocks(plan.lines.count))):
                way = self.windows.way(window, corner)
                for piece, channel in self._pieces():
                    self._tile(window, corner, way, piece, channel)
            self._finish_taps()

    def _own(self, unit: Value) -> None:
        """Set the range of channel vectors of a work unit; the remaining channels belong to the
        last unit.
        """
        b, plan = self.b, self.plan
        self.low, high = share(b, len(plan.pieces), plan.units, unit)
        self.high = b.intrinsic("smin", high, i64(plan.vectors))
        self.rest = b.icmp("eq", unit, i64(plan.units - 1))

    def _clear(self) -> None:
        b, plan = self.b, self.plan
        with b.loop(i64(0), i64(self.dense.depth), nonempty=True) as tap:
            for piece, channel in self._pieces():
                at = b.add(b.mul(tap.index, i64(plan.pitch)), channel)
                zero = const(vector(self.type, piece.lanes), 0)
                b.store(zero, b.gep(self.type, self.taps, at), self.align)

    def _tile(self, window: Window, corner: Corner, way: Way, piece: Piece, channel: Value) -> None:
        """Add a tile's products to the sums of all taps."""
        b, plan, space = self.b, self.plan, self.dense.filters.strides[2:]
        uses = plan.uses(window)
        start = b.gep(self.type, self._cotangent(corner), channel)
        if plan.ahead:
            for i in range(window.lines):
                for j in range(window.columns):
                    next_ = (i + window.lines) * space[1] + j * space[2]
                    prefetch(b, b.gep(self.type, start, b.size(next_)), near=False)
        cotangent = []
        for i in range(window.lines):
            for j in range(window.columns):
                at = b.gep(self.type, start, b.size(i * space[1] + j * space[2]))
                present = self._present(corner, i64(i), i64(j))
                if present is not None:
                    nothing = b.gep(self.type, self.windows.zeros, channel)
                    at = b.select(present, at, nothing)
                cotangent.append(self._vector(at, 0, piece))

        def inner(_: Builder, row: Value, column: Value, sums: list[Value]) -> list[Value]:
            cells = [
                b.gep(self.type, column, i64(self._tap(t)))
                for t in range(plan.taps[0] * plan.taps[1])
            ]
            found = [b.load(vector(self.type, piece.lanes), cell, self.align) for cell in cells]
            for at, pairs in uses.items():
                value = self.windows.load(window, way, row, at, channel, piece)
                for tap, result in pairs:
                    found[tap] = multiply_add(b, value, cotangent[result], found[tap])
            for value, cell in zip(found, cells, strict=True):
                b.store(value, cell, self.align)
            return sums

        tile = Tile(self.type, (), (Piece(0, piece.lanes, piece.active),))
        tile.run(b, way.at(b, self.type, channel), b.gep(self.type, self.taps, channel),
                 plan.nest(window, way.steps), [], inner=inner)

    def _cotangent(self, corner: Corner) -> Value:
        """Return the address of a tile's cotangent."""
        b, view = self.b, self.dense.filters
        at = b.add(b.mul(corner.image, b.size(view.strides[0])), b.size(view.offset))
        for index, stride in zip(corner[1:4], view.strides[2:], strict=True):
            at = b.add(at, b.mul(index, b.size(stride)))
        return b.gep(self.type, self.other, at)

    def _finish_taps(self) -> None:
        b, (_, h, w) = self.b, self.dense.spans
        with b.loop(i64(0), i64(self.dense.depth), nonempty=True) as tap:
            line, x = divide(b, tap.index, w.taps)
            z, y = divide(b, line, h.taps)
            for piece, channel in self._pieces():
                at = b.add(b.mul(tap.index, i64(self.plan.pitch)), channel)
                value = b.load(vector(self.type, piece.lanes), b.gep(self.type, self.taps, at),
                               self.align)
                self.finish(value, (channel, i64(0), i64(0), z, y, x), 0, piece.lanes, piece.mask)
