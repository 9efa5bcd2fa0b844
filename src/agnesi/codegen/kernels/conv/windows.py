"""Reads of depthwise tiles from the image: in place, or through a table of addresses.

Where windows may reach beyond the source, a table leads to their positions, and those outside to
zeros: borders cost neither copies nor code of their own.
"""

from __future__ import annotations

from typing import NamedTuple

from agnesi.codegen.kernels.conv.depthwise_plan import DepthwisePlan, Steps, Window
from agnesi.codegen.kernels.conv.pack import clear
from agnesi.codegen.kernels.conv.source import inside
from agnesi.codegen.kernels.gemm.operands import load_strided
from agnesi.codegen.kernels.tiling import Piece
from agnesi.codegen.llvm.builder import Builder, Value, i64, lanes, vector
from agnesi.codegen.llvm.instructions import prefetch
from agnesi.codegen.llvm.type_names import nbytes


class Corner(NamedTuple):
    """The first result of a tile."""

    image: Value
    depth: Value
    y: Value
    x: Value
    partly: bool = False  # whether the tile may reach beyond the end of a line


class Way(NamedTuple):
    """How to read a window: from its first position, or ``by_table`` from that one's entry."""

    first: Value
    steps: Steps  # in elements, also from one entry to the next
    by_table: bool

    def at(self, b: Builder, type_: str, channel: Value) -> Value:
        """Return the address to start from for a channel."""
        return self.first if self.by_table else b.gep(type_, self.first, channel)

    def address(self, b: Builder, type_: str, start: Value, pixel: tuple[int, int],
                channel: Value) -> Value:
        """Return the address of a pixel of a window, by its line and column."""
        offset = pixel[0] * self.steps.line + pixel[1] * self.steps.pixel
        at = b.gep(type_, start, i64(offset))
        return b.gep(type_, b.load("ptr", at), channel) if self.by_table else at


class Windows:
    """Reads the windows of one plan."""

    def __init__(self, b: Builder, plan: DepthwisePlan, source: Value, table: Value,
                 zeros: Value) -> None:
        self.b, self.plan, self.source = b, plan, source
        self.dense, self.type = plan.real, plan.type
        self.table, self.zeros = table, zeros

    def prepare(self) -> None:
        """Clear the zeros that positions outside of the source are read from."""
        clear(self.b, self.type, self.zeros, i64(self.plan.pitch), self.plan.lanes)

    def way(self, window: Window, corner: Corner) -> Way:
        """Return how to read a window: in place only where none reaches beyond the source."""
        b, spans = self.b, self.dense.spans
        indices = (corner.depth, corner.y, corner.x)
        first = [
            b.add(b.mul(index, i64(span.stride)), i64(span.origin))
            for index, span in zip(indices, spans, strict=True)
        ]
        here = self._address(corner.image, first)
        if not self.dense.open and all(span.inside for span in spans):
            return Way(b.gep(self.type, self.source, here), window.source, False)
        self._fill(window, here, first)
        entry = 8 // nbytes(self.type)
        return Way(self.table, Steps(*(step * entry for step in window.table)), True)

    def load(self, window: Window, way: Way, start: Value, pixel: tuple[int, int],
             channel: Value, piece: Piece) -> Value:
        """The vector of a (line, pixel); what the tile below reads first there is called for."""
        at = way.address(self.b, self.type, start, pixel, channel)
        h, w = self.dense.spans[1:]
        lines, pixels = window.lines * h.stride, window.columns * w.stride
        new = (pixel[0] - window.rows) * window.down + lines >= 0
        if self.plan.ahead and new and pixel[1] * window.right < pixels:
            below = lines * self.dense.source.strides[3]
            prefetch(self.b, self.b.gep(self.type, at, self.b.size(below)), near=False)
        return load_strided(self.b, at, self.type, 1, piece.lanes, piece.mask)

    def _address(self, image: Value, first: list[Value]) -> Value:
        """Return the offset of a position from the start of the source."""
        b, view = self.b, self.dense.source
        at = b.add(b.mul(image, b.size(view.strides[0])), b.size(view.offset))
        for position, stride in zip(first, view.strides[2:], strict=True):
            at = b.add(at, b.mul(position, b.size(stride)))
        return at

    def _fill(self, window: Window, here: Value, first: list[Value]) -> None:
        """Store the addresses of all positions of a window in its table, a line at a time."""
        b, (d, h, w), n = self.b, self.dense.spans, window.pitch
        wide, size, steps = vector("i64", n), nbytes(self.type), window.source
        beside = lanes(wide, [q * window.right for q in range(n)]) if n > 1 else i64(0)
        across = lanes(wide, [q * steps.pixel * size for q in range(n)]) if n > 1 else i64(0)
        reached = b.icmp("ult", b.op("add", b.splat(first[2], n), beside),
                         b.splat(b.size(w.size), n))
        zeros = b.splat(b.cast("ptrtoint", self.zeros, "i64"), n)
        start = b.add(b.cast("ptrtoint", self.source, "i64"), b.mul(here, i64(size)))
        base = b.op("add", b.splat(start, n), across)
        with (
            b.loop(i64(0), i64(d.taps), nonempty=True) as plane,
            b.loop(i64(0), i64(window.rows), nonempty=True) as line,
        ):
            z = b.add(first[0], b.mul(plane.index, i64(d.step)))
            y = b.add(first[1], b.mul(line.index, i64(window.down)))
            valid = b.splat(b.op("and", inside(b, d, z), inside(b, h, y)), n)
            moved = b.add(b.mul(plane.index, b.size(steps.plane * size)),
                          b.mul(line.index, b.size(steps.line * size)))
            there = b.op("add", base, b.splat(moved, n))
            entry = b.add(b.mul(plane.index, i64(window.table.plane)),
                          b.mul(line.index, i64(window.table.line)))
            b.store(b.select(b.op("and", valid, reached), there, zeros),
                    b.gep("i64", self.table, entry), 8)
