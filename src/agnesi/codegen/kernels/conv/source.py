"""The part of a source that a block of results reads, packed with its zero borders."""

from __future__ import annotations

from typing import Any

from agnesi.codegen.kernels.conv.dense import Dense
from agnesi.codegen.kernels.conv.pack import Copy, clear, copy_pixels, copying
from agnesi.codegen.kernels.gemm.unit import share
from agnesi.codegen.llvm.builder import Builder, Value, i64
from agnesi.core.ir.dims import Size
from agnesi.core.ir.extents import Extent
from agnesi.core.support.record import record


@record
class Layout:
    """Strides of a tile's source, in elements: between lines, pixels and channels.

    ``plane`` leads from one tap of depth to the next.
    """

    plane: Any
    line: Any
    pixel: Any
    channel: Any


@record
class Box:
    """A block of results of one image and group: one plane, lines [y, y_end), [x, x_end)."""

    image: Value
    group: Value
    depth: Value
    y: Value
    y_end: Value
    x: Value
    x_end: Value


def image_blocks(dense: Dense, blocks: int) -> Size:
    """Return how many blocks of images there are, for ``blocks`` of a typical batch."""
    if not isinstance(dense.images, Extent):
        return blocks
    each = -(-dense.batch // blocks)
    return (dense.images + (each - 1)) // each


def block_images(b: Builder, dense: Any, blocks: Value, block: Value,
                 varying: bool) -> tuple[Value, Value]:
    """The range [first, last) of images in a block; ``varying`` batches have run-time sizes.
    """
    if not varying:
        return share(b, dense.batch, blocks, block)
    each = b.op("udiv", b.sub(b.add(b.size(dense.batch), blocks), i64(1)), blocks)
    first = b.mul(block, each)
    return first, b.intrinsic("smin", b.add(first, each), b.size(dense.images))


def lead(b: Builder, dense: Dense, blocks: Size, index: Value) -> tuple[Value, tuple[Value, Value]]:
    """Group and blocks of a gradient to filters, for the first number of a unit."""
    if dense.parts > 1:
        return i64(0), share(b, blocks, dense.parts, index)
    return index, (i64(0), b.size(blocks))


def packed_layout(dense: Dense, lines: int, pixels: Size, itemsize: int) -> Layout:
    """Return the layout of a packed block of ``lines`` lines with ``pixels`` pixels each."""
    _, h, w = dense.spans
    pixel = dense.channels
    if w.taps == 1 and pixel * itemsize % 1024 == 0:  # else pixels share few sets of the cache
        pixel += 64 // itemsize
    line: Any = ((pixels - 1) * w.stride + w.reach) * pixel
    if isinstance(line, int) and line * itemsize % 1024 == 0:
        line += 64 // itemsize
    return Layout(((lines - 1) * h.stride + h.reach) * line, line, pixel, 1)


def extent(b: Builder, span: Any, start: Value, stop: Value) -> tuple[Value, Value]:
    """Return the first position that results [start, stop) read, and how many positions they read.
    """
    stride = b.size(span.stride)
    first = b.add(b.mul(start, stride), b.size(span.origin))
    steps = b.sub(b.sub(stop, start), i64(1))
    return first, b.add(b.mul(steps, stride), b.size(span.reach))


def inside(b: Builder, span: Any, at: Value) -> Value:
    """Return whether a position is inside of the source, as a bool of the code."""
    return b.icmp("ult", at, b.size(span.size))


def reached(b: Builder, span: Any, tap: Value, start: Value, stop: Value) -> tuple[Value, Value]:
    """Return the part of results [start, stop) for which a tap is inside of the source."""
    stride, size = b.size(span.stride), b.size(span.size)
    first = b.add(b.mul(tap, b.size(span.step)), b.size(span.origin))  # position of result 0
    last = b.sub(stride, i64(1))
    before = b.intrinsic("smax", b.sub(last, first), i64(0))
    until = b.intrinsic("smax", b.sub(b.add(size, last), first), i64(0))
    before, until = b.op("udiv", before, stride), b.op("udiv", until, stride)
    return b.intrinsic("smax", start, before), b.intrinsic("smin", stop, until)


def taps_inside(b: Builder, span: Any, pixel: Value) -> tuple[Value, Value]:
    """Return the taps of a result that are inside of the source: the first, and the end
    (exclusive).
    """
    step, size = b.size(span.step), b.size(span.size)
    at = b.add(b.mul(pixel, b.size(span.stride)), b.size(span.origin))  # of the first tap
    beyond = b.sub(step, i64(1))
    first = b.intrinsic("smax", b.sub(beyond, at), i64(0))
    last = b.intrinsic("smax", b.sub(b.add(size, beyond), at), i64(0))
    first, last = b.op("udiv", first, step), b.op("udiv", last, step)
    last = b.intrinsic("smin", last, b.size(span.taps))
    return first, b.intrinsic("smax", first, last)


def address_in(b: Builder, dense: Dense, type_: str, source: Value, box: Box) -> Value:
    """Return the address in the source of the first tap of a block's first pixel."""
    d, h, w = dense.spans
    at = b.mul(box.group, b.size(dense.source.group))
    at = b.add(at, b.mul(box.image, b.size(dense.source.strides[0])))
    for start, span, stride in zip(
        (box.depth, box.y, box.x), (d, h, w), dense.source.strides[2:], strict=True
    ):
        first = b.add(b.mul(start, i64(span.stride)), i64(span.origin))
        at = b.add(at, b.mul(first, b.size(stride)))
    return b.gep(type_, source, b.add(at, b.size(dense.source.offset)))


@record
class Way:
    """How a source is packed: how its pixels are copied, and whether there are borders."""

    copy: Copy
    borders: bool


def packing(dense: Dense, layout: Layout, lanes: int, shared: bool = False) -> Way:
    """The way for a source; where kernels share code, one that suits many."""
    copy = copying(dense.channels, (dense.source.strides[4], dense.source.strides[1]),
                   layout.pixel, lanes)
    if shared and copy.how == "whole":
        copy = Copy("each")
    return Way(copy, shared or not all(s.inside for s in dense.spans))


def pack_source(b: Builder, dense: Any, layout: Any, type_: str, source: Value, target: Value,
                box: Box, lanes: int, way: Way | None = None) -> None:
    """All planes and lines that the block reads: [plane][line][pixel][channel].

    Where the numbers of ``dense`` and ``layout`` are values, ``way`` selects their code.
    """
    d, h, w = dense.spans
    n, _, *space = map(b.size, dense.source.strides)
    way = way or packing(dense, layout, lanes)
    base = b.add(b.mul(box.group, b.size(dense.source.group)), b.mul(box.image, n))
    base = b.add(base, b.size(dense.source.offset))
    top, lines = extent(b, h, box.y, box.y_end)
    left, pixels = extent(b, w, box.x, box.x_end)
    low = clamp(b, b.sub(i64(0), left), pixels)
    high = clamp(b, b.sub(b.size(w.size), left), pixels)
    pixel = b.size(layout.pixel)
    first = b.add(b.mul(box.depth, b.size(d.stride)), b.size(d.origin))
    with (
        b.loop(i64(0), b.size(d.taps), nonempty=True) as plane, b.loop(i64(0), lines) as line,
    ):
        z = b.add(first, b.mul(plane.index, b.size(d.step)))
        y = b.add(top, line.index)
        at = b.add(b.mul(plane.index, b.size(layout.plane)), b.mul(line.index, b.size(layout.line)))
        there = b.gep(type_, target, at)
        valid = b.op("and", inside(b, d, z), inside(b, h, y))
        start = b.select(valid, low, i64(0))
        stop = b.select(valid, high, i64(0))
        if way.borders:
            clear(b, type_, there, b.mul(start, pixel), lanes)
        with b.when(b.icmp("slt", start, stop)):
            at = b.add(base, b.mul(z, space[0]))
            at = b.add(at, b.add(b.mul(y, space[1]), b.mul(b.add(left, start), space[2])))
            copy_pixels(b, type_, b.gep(type_, source, at),
                        b.gep(type_, there, b.mul(start, pixel)), b.sub(stop, start),
                        dense.channels, (dense.source.strides[4], dense.source.strides[1]),
                        layout.pixel, lanes, way.copy)
        if way.borders:
            clear(b, type_, b.gep(type_, there, b.mul(stop, pixel)),
                  b.mul(b.sub(pixels, stop), pixel), lanes)


def clamp(b: Builder, value: Value, high: Value) -> Value:
    """The nearest number in [0, high]."""
    return b.intrinsic("smin", b.intrinsic("smax", value, i64(0)), high)
