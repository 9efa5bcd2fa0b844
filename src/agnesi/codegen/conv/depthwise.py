"""Depthwise convolutions of channels-last images: lanes along the channels, which never meet."""

from __future__ import annotations

from collections.abc import Iterator

from agnesi.codegen.builder import Builder, Value, const, i64, vector
from agnesi.codegen.conv.dense import Dense
from agnesi.codegen.conv.pack import pack_filters
from agnesi.codegen.conv.plan import ROOM, whole_lines
from agnesi.codegen.conv.source import Box, Layout, pack_source, packed_layout, place_in
from agnesi.codegen.conv.tiles import Column, Tile, Turn
from agnesi.codegen.conv.wide import Finish, tiles
from agnesi.codegen.gemm.costs import Machine
from agnesi.codegen.gemm.driver import divide
from agnesi.codegen.gemm.operands import element_bytes
from agnesi.codegen.gemm.tiling import Piece, Rows, pieces_of
from agnesi.codegen.gemm.unit import share
from agnesi.core.record import record, replace

_UNITS = 16


@record
class DepthwisePlan:
    """A depthwise convolution, or with ``weight`` its gradient to the filters, and how it is cut.

    ``dense`` has one group whose channels are the groups of the original.  Unit ``u`` is (channel
    chunk, chunk of blocks), the last fastest; block (image, plane, line block).
    """

    dense: Dense
    type: str
    lanes: int
    itemsize: int
    weight: bool
    packed: bool
    rows: Rows
    chunk: int  # channels of a unit
    line_blocks: int
    chunks: int

    @property
    def units(self) -> int:
        return self.dense.groups // self.chunk * self.chunks

    @property
    def blocks(self) -> int:
        return self.dense.batch * self.dense.spans[0].count * self.line_blocks

    @property
    def taps(self) -> int:
        return self.dense.depth

    @property
    def one(self) -> Dense:
        """The source of a unit, as a convolution of one group has it."""
        view = self.dense.source
        strides = (view.strides[0], view.group, *view.strides[2:])
        return replace(self.dense, channels=self.chunk,
                       source=replace(view, strides=strides, group=view.group * self.chunk))

    @property
    def layout(self) -> Layout:
        if self.packed:
            lines = -(-self.dense.spans[1].count // self.line_blocks)
            return packed_layout(self.one, lines, self.dense.spans[2].count, self.itemsize)
        view, depth = self.dense.source, self.dense.spans[0]
        _, _, plane, line, pixel = view.strides
        return Layout(plane * depth.step, line, pixel, 1)

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """Vectors of the channels of a unit."""
        return pieces_of(self.chunk, self.lanes)

    @property
    def pitch(self) -> int:
        """Elements of a packed tap."""
        return self.pieces[-1].offset + self.pieces[-1].lanes

    @property
    def a_bytes(self) -> int:
        size = self.dense.spans[0].taps * self.layout.plane + self.lanes
        return whole_lines(size * self.itemsize) if self.packed else 0

    @property
    def scratch(self) -> int:
        return self.a_bytes + whole_lines((self.taps * self.pitch + self.lanes) * self.itemsize)


def plan_depthwise(dense: Dense, type_: str, machine: Machine,
                   weight: bool) -> DepthwisePlan | None:
    """The plan, if there is one filter for each channel and channels lie side by side."""
    single = dense.channels == dense.outputs == 1 and dense.groups > 1 and dense.depth > 0
    other = dense.filters.group if weight else 1
    if not single or dense.source.group != 1 or other != 1 or machine.lanes < 2:
        return None
    chunk = dense.groups
    while weight and chunk * machine.itemsize % 512 == 0:  # shared out in long runs
        chunk //= 2
    packed = not (all(s.inside for s in dense.spans) and chunk % machine.lanes == 0)
    rows = Rows.at_most(dense.spans[2].count, 14 if machine.registers == 32 else 8)
    found = DepthwisePlan(dense, type_, machine.lanes, machine.itemsize, weight, packed, rows,
                          chunk, 1, 1)
    lines = dense.spans[1].count
    while found.a_bytes > machine.l2 // 4 and found.line_blocks < lines:
        found = replace(found, line_blocks=found.line_blocks + 1)
    if found.scratch > 2 * ROOM:
        return None
    wanted = 1 if weight or dense.work < 1 << 17 else -(-_UNITS // found.units)
    return replace(found, chunks=min(wanted, found.blocks))


class Depthwise:
    """Emits the units of one plan; the filters' gradient gets the cotangent as ``filters``."""

    def __init__(self, b: Builder, plan: DepthwisePlan, source: Value, filters: Value,
                 finish: Finish, scratch: Value) -> None:
        self.b, self.plan, self.finish = b, plan, finish
        self.dense, self.type = plan.dense, plan.type
        self.source, self.filters = source, filters
        self.packed = scratch
        self.beside = b.gep("i8", scratch, i64(plan.a_bytes))  # filters, or sums of their gradient

    def emit(self, begin: Value, end: Value) -> None:
        """Units [begin, end)."""
        b, plan = self.b, self.plan
        with b.loop(begin, end) as loop:
            self.part, chunk = divide(b, loop.index, plan.chunks)
            self.channel = b.mul(self.part, i64(plan.chunk))
            if plan.weight:
                self._clear()
            else:
                self._pack_filters()
            low, high = share(b, plan.dense.blocks(plan.line_blocks), plan.chunks, chunk)
            with b.loop(low, high) as block:
                self._block(block.index)
            if plan.weight:
                self._finish_taps()

    def _block(self, index: Value) -> None:
        b, plan = self.b, self.plan
        rest, down = divide(b, index, plan.line_blocks)
        image, depth = divide(b, rest, self.dense.spans[0].count)
        _, h, w = self.dense.spans
        y, y_end = share(b, h.count, plan.line_blocks, down)
        box = Box(image, self.part, depth, y, y_end, i64(0), i64(w.count))
        base = self.packed
        if plan.packed:
            pack_source(b, plan.one, plan.layout, self.type, self.source, base, box, plan.lanes)
        else:
            base = place_in(b, plan.one, self.type, self.source, box)
        if plan.weight:
            self._add(box, base)
            return
        with b.loop(y, y_end) as line:
            for size, starts in tiles(b, plan.rows, (i64(0), i64(plan.rows.tiles))):
                with starts as x:
                    for piece, at in self._pieces():
                        self._tile(box, base, line.index, x, size, piece, at)

    def _pieces(self) -> Iterator[tuple[Piece, Value]]:
        """Vectors of channels: a loop over the whole ones, and what is left."""
        b, pieces = self.b, self.plan.pieces
        whole = [p for p in pieces if p.lanes == p.active == self.plan.lanes]
        if whole:
            with b.loop(i64(0), i64(len(whole) * self.plan.lanes), self.plan.lanes,
                        nonempty=True) as loop:
                yield whole[0], loop.index
        for piece in pieces[len(whole):]:
            yield piece, i64(piece.offset)

    # -- forward --------------------------------------------------------------------------
    def _pack_filters(self) -> None:
        b, plan, view = self.b, self.plan, self.dense.filters
        at = b.add(b.mul(self.channel, i64(view.group)), i64(view.offset))
        pack_filters(b, self.type, b.gep(self.type, self.filters, at),
                     (view.group, 0, *view.strides[2:]),
                     (1, *(s.taps for s in self.dense.spans)), plan.chunk, self.beside,
                     plan.pitch, plan.lanes)

    def _tile(self, box: Box, base: Value, y: Value, x: Value, size: int, piece: Piece,
              channel: Value) -> None:
        b, plan, layout = self.b, self.plan, self.plan.layout
        d, h, w = self.dense.spans
        right = w.stride * layout.pixel
        tile = Tile(self.type, tuple(n * right for n in range(size)),
                    (Column(0, piece.lanes, piece.active),), vectors=True, kept=w.taps)
        at = b.mul(b.sub(y, box.y), i64(h.stride * layout.line))
        at = b.add(b.add(at, b.mul(x, i64(right))), channel)
        nest = [Turn(d.taps, layout.plane, h.taps * w.taps * plan.pitch),
                Turn(h.taps, layout.line * h.step, w.taps * plan.pitch)]
        taps = [(n * layout.pixel * w.step, n * plan.pitch) for n in range(w.taps)]
        sums = tile.run(b, b.gep(self.type, base, at), b.gep(self.type, self.beside, channel),
                        nest, tile.zeros(), taps)
        group = b.add(self.channel, channel)
        for n, value in enumerate(sums):
            place = (box.image, group, i64(0), box.depth, y, b.add(x, i64(n)))
            self.finish(value, place, 1, piece.lanes, piece.mask)

    # -- gradient to the filters ----------------------------------------------------------
    def _clear(self) -> None:
        b, plan = self.b, self.plan
        zero = const(vector(self.type, plan.lanes), 0)
        with b.loop(i64(0), i64(plan.taps * plan.pitch), plan.lanes, nonempty=True) as at:
            b.store(zero, b.gep(self.type, self.beside, at.index), element_bytes(self.type))

    def _add(self, box: Box, base: Value) -> None:
        """Add a block's products to the sums of all taps."""
        b, plan, layout, view = self.b, self.plan, self.plan.layout, self.dense.filters
        d, h, w = self.dense.spans
        n, _, *space = view.strides
        at = b.add(b.mul(self.channel, i64(view.group)), b.mul(box.image, i64(n)))
        for place, stride in zip((box.depth, box.y), space, strict=False):
            at = b.add(at, b.mul(place, i64(stride)))
        cotangent = b.gep(self.type, self.filters, b.add(at, i64(view.offset)))
        nest = [Turn(b.sub(box.y_end, box.y), h.stride * layout.line, space[1]),
                Turn(w.count, w.stride * layout.pixel, space[2])]
        for piece, channel in self._pieces():
            with b.loop(i64(0), i64(d.taps * h.taps), nonempty=True) as line:
                z, y = divide(b, line.index, h.taps)
                at = b.add(b.mul(z, i64(layout.plane)), b.mul(y, i64(layout.line * h.step)))
                tile = Tile(self.type, tuple(i * layout.pixel * w.step for i in range(w.taps)),
                            (Column(0, piece.lanes, piece.active),), True, True)
                cells = [
                    b.gep(self.type, self._sum(line.index, channel), i64(i * plan.pitch))
                    for i in range(w.taps)
                ]
                align, wide = element_bytes(self.type), vector(self.type, piece.lanes)
                sums = tile.run(b, b.gep(self.type, base, b.add(at, channel)),
                                b.gep(self.type, cotangent, channel), nest,
                                [b.load(wide, cell, align) for cell in cells])
                for value, cell in zip(sums, cells, strict=True):
                    b.store(value, cell, align)

    def _sum(self, line: Value, channel: Value) -> Value:
        """Where the sums of a line of taps begin."""
        b, pitch = self.b, self.dense.spans[2].taps * self.plan.pitch
        return b.gep(self.type, self.beside, b.add(b.mul(line, i64(pitch)), channel))

    def _finish_taps(self) -> None:
        b, (_, h, w) = self.b, self.dense.spans
        with b.loop(i64(0), i64(self.plan.taps), nonempty=True) as tap:
            line, x = divide(b, tap.index, w.taps)
            z, y = divide(b, line, h.taps)
            for piece, channel in self._pieces():
                at = b.add(b.mul(tap.index, i64(self.plan.pitch)), channel)
                value = b.load(vector(self.type, piece.lanes), b.gep(self.type, self.beside, at),
                               element_bytes(self.type))
                place = (b.add(self.channel, channel), i64(0), i64(0), z, y, x)
                self.finish(value, place, 0, piece.lanes, piece.mask)
