"""Copy operands into scratch in the order in which the kernels read them.

``Read`` callbacks take the builder, the two indices, a lane count and a mask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agnesi.codegen.kernels.gemm.operands import Operand, lanes_from, load_strided
from agnesi.codegen.kernels.tiling import CutPiece, Piece
from agnesi.codegen.llvm.builder import Builder, Value, const, i64, vector, width
from agnesi.codegen.llvm.builder import lanes as lanes_of
from agnesi.codegen.llvm.instructions import prefetch
from agnesi.codegen.llvm.type_names import nbytes
from agnesi.core.ir.dims import Size

Read = Callable[[Builder, Value, Value, int, Value | None], Value]
# (builder, x, shift, y, lanes, mask): neighbours along y of the element at (x + shift, y)
Along = Callable[[Builder, Value, Value, Value, int, Value | None], Value]
Address = Callable[[Builder, Value, Value], Value]
# How many lines, or short ones, to prefetch:
_LINES_AHEAD, _PIECES_AHEAD = 2, 16


def copy_lines(b: Builder, type_: str, lines: Value, count: Value, read: Read, target: Value,
               pitch: int, lanes: int, address: Address | None = None) -> None:
    """``target[y * pitch + x] = read(y, x)``, neighbours along x, in vectors, then one by one.

    With an ``address`` of (y, x) later lines are prefetched: those of a matrix are far apart.
    """
    align = nbytes(type_)
    whole = b.sub(count, b.op("urem", count, i64(lanes)))
    with b.loop(i64(0), lines) as y:
        line = b.gep(type_, target, b.mul(y.index, i64(pitch)))
        later = b.add(y.index, i64(_LINES_AHEAD))
        for start, stop, size in ((i64(0), whole, lanes), (whole, count, 1)):
            with b.loop(start, stop, size) as x:
                if address is not None and size == lanes:
                    prefetch(b, address(b, later, x.index), near=True)
                b.store(read(b, y.index, x.index, size, None), b.gep(type_, line, x.index), align)


def copy_pieces(b: Builder, type_: str, lines: Value, pieces: Sequence[Piece], read: Read,
                target: Value, pitch: int, address: Address | None = None) -> None:
    """Copy lines that are cut into pieces; unused lanes become zero."""
    with b.loop(i64(0), lines) as y:
        line = b.gep(type_, target, b.mul(y.index, i64(pitch)))
        for piece in pieces:
            if address is not None:
                later = b.add(y.index, i64(_PIECES_AHEAD))
                prefetch(b, address(b, later, i64(piece.offset)), near=True)
            value = read(b, y.index, i64(piece.offset), piece.lanes, piece.mask)
            b.store(value, b.gep(type_, line, i64(piece.offset)), nbytes(type_))


def copy_transposed(b: Builder, type_: str, count: Value, tail: int | None, pieces: Sequence[Piece],
                    along: Along, target: Value, pitch: int) -> None:
    """``target[y * pitch + x]`` for x in the pieces from memory whose neighbours are along y.

    Blocks of a few y by one piece are transposed inside of 128-bit lanes, which every machine does
    fast.  ``tail`` is what remains of ``count`` after whole blocks, where anything does; with None
    only the call knows, and the target has space for a whole block.
    """
    first = pieces[0].lanes
    full = [p for p in pieces if p.active == first]
    for some in (full, [p for p in pieces if p.active != first]):
        if some:
            start, stop = i64(some[0].offset), i64(some[-1].offset + some[0].lanes)
            with b.loop(start, stop, some[0].lanes, nonempty=True) as x:
                _transpose_strip(b, type_, count, tail, x.index, some[0], along, target, pitch)


def _transpose_strip(b: Builder, type_: str, count: Value, tail: int | None, x: Value, piece: Piece,
                     along: Along, target: Value, pitch: int) -> None:
    """Transpose all lines of one piece."""
    depth = 16 // nbytes(type_)
    strip = b.gep(type_, target, x)

    def block(y: Value, active: int, mask: Value | None) -> None:
        rows = _transposed_block(b, type_, x, y, piece, along, mask)
        for n, row in enumerate(rows[:active]):
            at = b.add(b.mul(y, i64(pitch)), i64(n * pitch))
            b.store(row, b.gep(type_, strip, at), nbytes(type_))

    rest = b.op("urem", count, i64(depth))
    whole = b.sub(count, rest)
    with b.loop(i64(0), whole, depth) as y:
        block(y.index, depth, None)
    if tail is None:
        with b.when(b.icmp("ne", rest, i64(0))):
            lanes = lanes_of(vector("i64", depth), range(depth))
            block(whole, depth, b.icmp("ult", lanes, b.splat(rest, depth)))
    elif tail % depth:
        with b.when(b.icmp("ne", rest, i64(0))):
            block(whole, tail % depth, Piece(0, depth, tail % depth).mask)


def _transposed_block(
    b: Builder, type_: str, x: Value, y: Value, piece: Piece, along: Along, mask: Value | None
) -> list[Value]:
    """Return the transposed rows of one piece, for as many y as a 128-bit vector holds; masked ones
    are zero.
    """
    depth = 16 // nbytes(type_)
    empty = const(vector(type_, depth), 0)
    shifts = [i64(n) for n in range(piece.active)]
    if isinstance(piece, CutPiece):  # what is not there is read where the last one is
        shifts = [b.intrinsic("smin", n, piece.last) for n in shifts]
    columns = [along(b, x, n, y, depth, mask) for n in shifts]
    columns += [empty] * (max(piece.lanes, depth) - piece.active)
    rows = [joined(b, columns[n::depth]) for n in range(depth)]
    return [lanes_from(b, row, 0, piece.lanes) for row in zip_rounds(b, rows, depth)]


def neighbours(operand: Operand, type_: str, batch: Value, origin: tuple[Value, Value],
               stride: Size, y_axis: int, along: str) -> Along:
    """Return how :func:`copy_transposed` reads an operand: y is its row (0) or column
    (1), x the other.

    In plain memory the address is computed once for a block, and the shift, ``stride`` elements
    for each x, is part of the load where both are numbers.
    """
    known: dict[tuple[str, str], tuple[list[Value], Value | None]] = {}

    def read(b: Builder, x: Value, shift: Value, y: Value, lanes: int, mask: Value | None) -> Value:
        if (x.ref, y.ref) not in known:
            steps = (y, x) if y_axis == 0 else (x, y)
            index = [b.add(o, s) for o, s in zip(origin, steps, strict=True)]
            at = operand.address(b, batch, *index) if operand.address else None
            known[x.ref, y.ref] = index, at
        index, at = known[x.ref, y.ref]
        if at is None:
            moved = [p if n == y_axis else b.add(p, shift) for n, p in enumerate(index)]
            return operand.load(b, batch, moved[0], moved[1], lanes, mask, along)
        away = b.mul(shift, b.size(stride))
        return load_strided(b, b.gep(type_, at, away), type_, 1, lanes, mask)

    return read


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
