"""Copies of operands in scratch, in the order in which tiles read them, with their borders."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

from agnesi.codegen.kernels.gemm.operands import lanes_from, load_strided
from agnesi.codegen.kernels.gemm.pack import joined, zip_rounds
from agnesi.codegen.kernels.tiling import Piece, pieces_of
from agnesi.codegen.llvm.builder import Builder, Value, const, i64, lanes, vector
from agnesi.codegen.llvm.outlining import apart
from agnesi.codegen.llvm.type_names import nbytes
from agnesi.core.ir.dims import Size

Number = int | Value


def _shared(b: Builder, prefix: str, key: Hashable, body: Callable[..., None],
            *given: Value) -> None:
    """Emit ``body`` in place, or as a function that kernels share where the policy says so."""
    if b.module.policy.shared_kernels and not b.hot:
        apart(b, prefix, key, body, *given, hot=False)
    else:
        body(b, *given)


def clear(b: Builder, type_: str, target: Value, count: Value, lanes_: int) -> None:
    """Store ``count`` zeros, and up to a vector of zeros beyond them."""
    def body(b: Builder, target: Value, count: Value) -> None:
        zero = const(vector(type_, lanes_), 0)
        with b.loop(i64(0), count, lanes_) as at:
            b.store(zero, b.gep(type_, target, at.index), nbytes(type_))

    _shared(b, "clear", (type_, lanes_), body, target, count)


def first_lanes(b: Builder, lanes_: int, count: Value) -> Value:
    """A mask of the first ``count`` lanes."""
    ramp = lanes(vector("i64", lanes_), list(range(lanes_)))
    return b.icmp("slt", ramp, b.splat(count, lanes_))


def copy_run(b: Builder, type_: str, source: Value, target: Value, count: Value,
             lanes_: int) -> None:
    """Copy ``count`` contiguous elements; up to a vector of zeros is written behind them."""
    def body(b: Builder, source: Value, target: Value, count: Value) -> None:
        _copy_run(b, type_, source, target, count, lanes_)

    _shared(b, "copy", (type_, lanes_), body, source, target, count)


def _copy_run(b: Builder, type_: str, source: Value, target: Value, count: Value,
              lanes_: int) -> None:
    align, wide = nbytes(type_), vector(type_, lanes_)
    whole = b.sub(count, b.op("urem", count, i64(lanes_)))
    with b.loop(i64(0), whole, lanes_) as at:
        value = b.load(wide, b.gep(type_, source, at.index), align)
        b.store(value, b.gep(type_, target, at.index), align)
    if lanes_ == 1:
        return
    rest = b.sub(count, whole)
    with b.when(b.icmp("ne", rest, i64(0))):
        mask = first_lanes(b, lanes_, rest)
        value = b.masked_load(wide, b.gep(type_, source, whole), mask, align, const(wide, 0))
        b.store(value, b.gep(type_, target, whole), align)


def _copy_runs(b: Builder, type_: str, source: Value, target: Value, count: Value, width: Number,
               steps: tuple[Number, Number], lanes_: int) -> None:
    """Copy ``count`` runs of ``width`` elements; ``steps`` are the distances in elements from one
    run to the next in the source and the target. Runs that are adjacent in both are copied as one.
    """
    def body(b: Builder, source: Value, target: Value, count: Value, width: Value, down: Value,
             beside: Value) -> None:
        one = b.op("and", b.icmp("eq", down, width), b.icmp("eq", beside, width))
        width = b.select(one, b.mul(count, width), width)
        count = b.select(one, b.intrinsic("smin", count, i64(1)), count)
        with b.loop(i64(0), count, 1, [source, target]) as loop:
            here, there = loop.carried
            _copy_run(b, type_, here, there, width, lanes_)
            loop.carry(b.gep(type_, here, down), b.gep(type_, there, beside))

    apart(b, "copies", (type_, lanes_), body, source, target, count, b.size(width),
          b.size(steps[0]), b.size(steps[1]), hot=False)


def copy_spread(b: Builder, type_: str, source: Value, target: Value, count: Value | int,
                step: Size, lanes_: int) -> None:
    """Copy ``count`` elements that are ``step`` apart to contiguous memory."""
    if isinstance(count, int):  # the last ones by vectors of half the lanes, a quarter, ...
        at = count - count % lanes_
        parts = [(i64(0), i64(at), lanes_)]
        for width in [1 << n for n in reversed(range(lanes_.bit_length() - 1)) if count >> n & 1]:
            parts.append((i64(at), i64(at + width), width))
            at += width
    else:
        whole = b.sub(count, b.op("urem", count, i64(lanes_)))
        parts = [(i64(0), whole, lanes_), (whole, count, 1)]
    for start, stop, width in parts:
        with b.loop(start, stop, width) as loop:
            address = b.gep(type_, source, b.mul(loop.index, b.size(step)))
            value = load_strided(b, address, type_, step, width, None)
            b.store(value, b.gep(type_, target, loop.index), nbytes(type_))


class Copy(NamedTuple):
    """How pixels are copied: as one run, each by itself, or transposed in ``pieces``."""

    how: str
    pieces: tuple[Piece, ...] = ()


def copying(width: int, steps: tuple[Size, Size], pitch: int, lanes_: int) -> Copy:
    """Return how to copy pixels of ``width`` elements."""
    pixel_step, step = steps
    if step == 1 and pixel_step == pitch == width:
        return Copy("whole")
    if pixel_step == 1 and step != 1 and width > 1 and lanes_ > 1 and pitch > 0:
        rest = pieces_of(width % lanes_, lanes_)
        return Copy("transposed", (*[Piece(0, lanes_, lanes_)] * (width >= lanes_), *rest))
    return Copy("each" if step == 1 else "spread")


def copy_pixels(b: Builder, type_: str, source: Value, target: Value, count: Value, width: Any,
                steps: tuple[Any, Any], pitch: Any, lanes_: int, copy: Copy | None = None) -> None:
    """``count`` pixels of ``width`` elements each; ``steps`` between pixels and elements.

    Behind each pixel up to a vector of anything is written, before the next one is.
    Numbers may be values where ``copy`` says how they are copied and kernels share code.
    """
    pixel_step, step = steps
    copy = copy or copying(width, steps, pitch, lanes_)
    shared = b.module.policy.shared_kernels and not b.hot
    if copy.how == "whole" and not shared:
        copy_run(b, type_, source, target, b.mul(count, b.size(width)), lanes_)
    elif copy.how == "transposed":
        # What the last piece writes too much, the others write over.
        whole = b.sub(b.size(width), b.op("urem", b.size(width), i64(lanes_)))
        for piece in reversed(copy.pieces):
            full = piece.active == lanes_
            with b.loop(i64(0) if full else whole, whole if full else b.add(whole, i64(1)),
                        piece.lanes, nonempty=True) as loop:
                here = b.gep(type_, source, b.mul(loop.index, b.size(step)))
                there = b.gep(type_, target, loop.index)
                _pack_transposed(b, type_, here, step, count, piece, there, pitch)
    elif shared and copy.how == "spread":
        _copy_plainly(b, type_, source, target, count, width, steps, pitch, lanes_)
    elif shared:
        _copy_runs(b, type_, source, target, count, width, (pixel_step, pitch), lanes_)
    else:
        with b.loop(i64(0), count) as at:
            here = b.gep(type_, source, b.mul(at.index, b.size(pixel_step)))
            there = b.gep(type_, target, b.mul(at.index, i64(pitch)))
            _copy_pixel(b, type_, here, there, width, step, lanes_)


def _copy_plainly(b: Builder, type_: str, source: Value, target: Value, count: Value,
                  width: Number, steps: tuple[Number, Number], pitch: Number, lanes_: int) -> None:
    """Copy ``count`` pixels element by element, which is little code; unused lanes become zero."""
    align, last = nbytes(type_), pitch
    if isinstance(width, int) and isinstance(pitch, int):
        piece = pieces_of(width, lanes_)[-1]
        last = min(piece.offset + piece.lanes, pitch) if pitch > width else width

    def body(b: Builder, source: Value, target: Value, count: Value, width: Value, down: Value,
             beside: Value, pitch: Value, last: Value) -> None:
        with b.loop(i64(0), width) as n, b.loop(i64(0), count) as pixel:
            here = b.add(b.mul(pixel.index, down), b.mul(n.index, beside))
            there = b.add(b.mul(pixel.index, pitch), n.index)
            item = b.load(type_, b.gep(type_, source, here), align)
            b.store(item, b.gep(type_, target, there), align)
        with b.loop(width, last) as n, b.loop(i64(0), count) as pixel:
            there = b.add(b.mul(pixel.index, pitch), n.index)
            b.store(const(type_, 0), b.gep(type_, target, there), align)

    _shared(b, "plain", type_, body, source, target, count, b.size(width), *map(b.size, steps),
            b.size(pitch), b.size(last))


def _copy_pixel(b: Builder, type_: str, source: Value, target: Value, width: int, step: Size,
                lanes_: int) -> None:
    if width > 4 * lanes_:
        if step == 1:
            copy_run(b, type_, source, target, i64(width), lanes_)
        else:
            copy_spread(b, type_, source, target, width, step, lanes_)
        return
    for piece in pieces_of(width, lanes_):
        here = b.gep(type_, source, b.size(piece.offset * step))
        _put_piece(b, type_, here, b.gep(type_, target, i64(piece.offset)), piece, step)


def _put_piece(b: Builder, type_: str, source: Value, target: Value, piece: Piece,
               step: Size) -> None:
    """Store one piece; lanes that are not active become zero."""
    if step == 1:
        value = load_strided(b, source, type_, 1, piece.lanes, piece.mask)
    else:
        value = const(vector(type_, piece.lanes), 0)
        for lane in range(piece.active):
            item = b.load(type_, b.gep(type_, source, b.size(lane * step)), nbytes(type_))
            if piece.lanes == 1:
                value = item
            else:
                value = b.value(value.type, f"insertelement {value}, {item}, i64 {lane}")
    b.store(value, target, nbytes(type_))


def _pack_transposed(b: Builder, type_: str, source: Value, step: Number, count: Value,
                     piece: Piece, target: Value, pitch: Number) -> None:
    """Pack one piece from memory that is contiguous along the pixels: blocks are transposed on the
    way.
    """
    def body(b: Builder, source: Value, target: Value, count: Value, step: Value,
             pitch: Value) -> None:
        _transpose(b, type_, (source, target), (step, pitch), count, piece)

    _shared(b, "transpose", (type_, piece[1:]), body, source, target, count, b.size(step),
            b.size(pitch))


def _transpose(b: Builder, type_: str, addresses: tuple[Value, Value], steps: tuple[Value, Value],
               count: Value, piece: Piece) -> None:
    """Blocks of a few pixels are transposed inside of 128-bit lanes, which every machine does
    fast."""
    depth, align = 16 // nbytes(type_), nbytes(type_)
    (source, target), (step, pitch) = addresses, steps

    def block(at: Value, mask: Value | None) -> list[tuple[Value, Value]]:
        here = b.gep(type_, source, at)
        wide = vector(type_, depth)
        columns = []
        for n in range(piece.active):
            address = b.gep(type_, here, b.mul(step, i64(n)))
            columns.append(
                b.load(wide, address, align) if mask is None
                else b.masked_load(wide, address, mask, align, const(wide, 0))
            )
        columns += [const(wide, 0)] * (max(piece.lanes, depth) - piece.active)
        rows = zip_rounds(b, [joined(b, columns[n::depth]) for n in range(depth)], depth)
        there = b.gep(type_, target, b.mul(at, pitch))
        return [
            (lanes_from(b, row, 0, piece.lanes), b.gep(type_, there, b.mul(pitch, i64(n))))
            for n, row in enumerate(rows)
        ]

    rest = b.op("urem", count, i64(depth))
    whole = b.sub(count, rest)
    with b.loop(i64(0), whole, depth) as loop:
        for row, address in block(loop.index, None):
            b.store(row, address, align)
    if b.module.policy.shared_kernels:
        with b.loop(whole, count) as loop:
            there = b.gep(type_, target, b.mul(loop.index, pitch))
            if piece.mask is not None:
                b.store(const(vector(type_, piece.lanes), 0), there, align)
            with b.loop(i64(0), i64(piece.active), nonempty=True) as lane:
                at = b.add(loop.index, b.mul(lane.index, step))
                item = b.load(type_, b.gep(type_, source, at), align)
                b.store(item, b.gep(type_, there, lane.index), align)
        return
    with b.when(b.icmp("ne", rest, i64(0))):
        last = block(whole, first_lanes(b, depth, rest))
        for n, (row, address) in enumerate(last[:-1]):
            with b.when(b.icmp("sgt", rest, i64(n))):
                b.store(row, address, align)


def pack_filters(b: Builder, type_: str, source: Value, strides: Sequence[Any],
                 counts: Sequence[Any], width: Any, target: Value, steps: tuple[Any, Any],
                 lanes_: int) -> None:
    """Rows of ``width`` elements, one for each tap and channel, from filters of any strides.

    ``strides`` are of (o, c, d, h, w), ``counts`` of (c, d, h, w), ``steps`` between rows of
    neighbouring taps and of channels.  What is behind a row, up to the next, may be anything.
    Where kernels share code, numbers may be values.
    """
    copy = _copy_plainly if b.module.policy.shared_kernels else copy_pixels
    o, c, *space = strides
    channels, *taps = counts
    tap_step, channel_step = steps
    if not b.module.policy.shared_kernels and o != 1 and c != 1 and _contiguous(space, taps):
        together = taps[0] * taps[1] * taps[2]
        sign = next((s for s, n in zip(space, taps, strict=True) if n > 1), 1)
        first = 0 if sign > 0 else together - 1
        source = b.gep(type_, source, i64(first * (1 if sign > 0 else -1)))
        with b.loop(i64(0), i64(channels), nonempty=True) as loop:
            here = b.gep(type_, source, b.mul(loop.index, i64(c)))
            row = b.add(b.mul(loop.index, i64(channel_step)), i64(first * tap_step))
            there = b.gep(type_, target, row)
            step = tap_step * (1 if sign > 0 else -1)
            copy(b, type_, here, there, i64(together), width, (1, o), step, lanes_)
        return
    with (
        b.loop(i64(0), b.size(taps[0]), nonempty=True) as d,
        b.loop(i64(0), b.size(taps[1]), nonempty=True) as y,
        b.loop(i64(0), b.size(taps[2]), nonempty=True) as x,
    ):
        at, row = i64(0), i64(0)
        for loop, stride, count in zip((d, y, x), space, taps, strict=True):
            at = b.add(at, b.mul(loop.index, b.size(stride)))
            row = b.add(b.mul(row, b.size(count)), loop.index)
        here = b.gep(type_, source, at)
        there = b.gep(type_, target, b.mul(row, b.size(tap_step)))
        copy(b, type_, here, there, b.size(channels), width, (c, o), channel_step, lanes_)


def _contiguous(strides: Sequence[int], counts: Sequence[int]) -> bool:
    """Return whether several axes are one axis in memory, in either direction."""
    step = 0
    for stride, count in zip(reversed(strides), reversed(counts), strict=True):
        if count == 1:
            continue
        if step == 0:
            if abs(stride) != 1:
                return False
            step = stride
        elif stride != step:
            return False
        step = stride * count
    return True
