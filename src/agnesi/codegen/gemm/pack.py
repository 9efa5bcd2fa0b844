"""Copy operands into scratch in the order in which the kernels read them.

``Read`` callbacks take the builder, the two places, a lane count and a mask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agnesi.codegen.builder import Builder, Value, const, i64, vector, width
from agnesi.codegen.gemm.operands import element_bytes
from agnesi.codegen.gemm.tiling import Piece

Read = Callable[[Builder, Value, Value, int, Value | None], Value]


def copy_lines(
    b: Builder,
    type_: str,
    lines: Value,
    count: Value,
    read: Read,
    target: Value,
    pitch: int,
    lanes: int,
) -> None:
    """``target[y * pitch + x] = read(y, x)``, neighbours along x, in vectors, then one by one."""
    align = element_bytes(type_)
    whole = b.sub(count, b.op("urem", count, i64(lanes)))
    with b.loop(i64(0), lines) as y:
        line = b.gep(type_, target, b.mul(y.index, i64(pitch)))
        for start, stop, size in ((i64(0), whole, lanes), (whole, count, 1)):
            with b.loop(start, stop, size) as x:
                b.store(read(b, y.index, x.index, size, None), b.gep(type_, line, x.index), align)


def copy_pieces(
    b: Builder,
    type_: str,
    lines: Value,
    pieces: Sequence[Piece],
    read: Read,
    target: Value,
    pitch: int,
) -> None:
    """The same where each line is cut into pieces; lanes not in use become zero."""
    with b.loop(i64(0), lines) as y:
        line = b.gep(type_, target, b.mul(y.index, i64(pitch)))
        for piece in pieces:
            value = read(b, y.index, i64(piece.offset), piece.lanes, piece.mask)
            b.store(value, b.gep(type_, line, i64(piece.offset)), element_bytes(type_))


def copy_turned(
    b: Builder,
    type_: str,
    count: Value,
    pieces: Sequence[Piece],
    along: Read,
    across: Read,
    target: Value,
    pitch: int,
) -> None:
    """``target[y * pitch + x]`` for x in the pieces from memory whose neighbours lie along y.

    ``along(x, y, ...)`` reads neighbours along y and ``across(x, y, ...)`` along x.  Blocks of a
    few y by one piece are turned inside of 128-bit lanes, which every machine does fast.
    """
    first = pieces[0].lanes
    full = [p for p in pieces if p.active == first]
    for some in (full, [p for p in pieces if p.active != first]):
        if not some:
            continue
        piece = some[0]
        start, stop = i64(piece.offset), i64(some[-1].offset + piece.lanes)
        with b.loop(start, stop, piece.lanes, nonempty=True) as x:
            _turn_strip(b, type_, count, x.index, piece, along, across, target, pitch)


def _turn_strip(
    b: Builder,
    type_: str,
    count: Value,
    x: Value,
    piece: Piece,
    along: Read,
    across: Read,
    target: Value,
    pitch: int,
) -> None:
    align = element_bytes(type_)
    depth = 16 // align
    strip = b.gep(type_, target, x)
    whole = i64(0)
    if piece.lanes >= depth:
        whole = b.sub(count, b.op("urem", count, i64(depth)))
        with b.loop(i64(0), whole, depth) as y:
            rows = _turned_block(b, type_, x, y.index, piece, along, depth)
            for n, row in enumerate(rows):
                at = b.add(b.mul(y.index, i64(pitch)), i64(n * pitch))
                b.store(row, b.gep(type_, strip, at), align)
    with b.loop(whole, count) as y:
        value = across(b, x, y.index, piece.lanes, piece.mask)
        b.store(value, b.gep(type_, strip, b.mul(y.index, i64(pitch))), align)


def _turned_block(
    b: Builder, type_: str, x: Value, y: Value, piece: Piece, along: Read, depth: int
) -> list[Value]:
    """``depth`` rows of one piece, from reads of ``depth`` neighbours along the other axis."""
    empty = const(vector(type_, depth), 0)

    def read(column: int) -> Value:
        if column >= piece.active:
            return empty
        return along(b, b.add(x, i64(column)), y, depth, None)

    rows = [
        joined(b, [read(group + n) for group in range(0, piece.lanes, depth)]) for n in range(depth)
    ]
    return zip_rounds(b, rows, depth)


def joined(b: Builder, parts: list[Value]) -> Value:
    """Vectors side by side in one; their number is a power of two."""
    while len(parts) > 1:
        order = range(2 * width(parts[0].type))
        parts = [b.shuffle(parts[n], parts[n + 1], order) for n in range(0, len(parts), 2)]
    return parts[0]


def zip_orders(size: int, group: int, block: int = 1) -> tuple[list[int], list[int]]:
    """Shuffles that zip two vectors, blocks of lanes at a time, inside each group of lanes."""
    low, high = [], []
    for start in range(0, size, group):
        pairs = [
            [side * size + start + at + n for side in (0, 1) for n in range(block)]
            for at in range(0, group, block)
        ]
        half = len(pairs) // 2
        low += [lane for pair in pairs[:half] for lane in pair]
        high += [lane for pair in pairs[half:] for lane in pair]
    return low, high


def zip_rounds(b: Builder, rows: list[Value], group: int) -> list[Value]:
    """Transpose ``group`` vectors inside each group of ``group`` lanes."""
    low, high = zip_orders(width(rows[0].type), group)
    half = len(rows) // 2
    for _ in range(len(rows).bit_length() - 1):
        pairs = [(rows[n], rows[n + half]) for n in range(half)]
        rows = [b.shuffle(p, q, order) for p, q in pairs for order in (low, high)]
    return rows
