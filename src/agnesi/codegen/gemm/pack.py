"""Copy operands into scratch in the order in which the register tile reads them."""

from __future__ import annotations

from collections.abc import Callable

from agnesi.codegen.builder import Builder, Value, const, i64, vector, width
from agnesi.codegen.gemm.operands import Load, element_bytes, lanes_from
from agnesi.codegen.gemm.tiling import Piece

Read = Callable[[Value, int], Value]


def pack_rows(
    b: Builder,
    type_: str,
    load: Load,
    batch: Value,
    row: Value,
    rows: Value,
    k: Value,
    count: Value,
    target: Value,
    pitch: int,
    lanes: int,
) -> None:
    """Write A[row : row+rows, k : k+count] row after row, ``pitch`` elements apart."""
    with b.loop(i64(0), rows) as loop:
        i = b.add(row, loop.index)
        line = b.gep(type_, target, b.mul(loop.index, i64(pitch)))
        copy_line(
            b,
            type_,
            count,
            lanes,
            line,
            lambda at, n: load(b, batch, i, b.add(k, at), n, None, "k"),
        )


def pack_columns(
    b: Builder,
    type_: str,
    load: Load,
    batch: Value,
    row: Value,
    rows: Value,
    k: Value,
    count: Value,
    target: Value,
    pitch: int,
    lanes: int,
) -> None:
    """Write A[row : row+rows, k : k+count] one k after the other, ``pitch`` elements apart."""
    with b.loop(i64(0), count) as loop:
        kk = b.add(k, loop.index)
        line = b.gep(type_, target, b.mul(loop.index, i64(pitch)))
        copy_line(
            b,
            type_,
            rows,
            lanes,
            line,
            lambda at, n: load(b, batch, b.add(row, at), kk, n, None, "m"),
        )


def copy_line(b: Builder, type_: str, count: Value, lanes: int, target: Value, read: Read) -> None:
    """Copy ``count`` neighbours, in vectors and then one by one."""
    start = i64(0)
    if lanes > 1:
        start = b.sub(count, b.op("urem", count, i64(lanes)))
        with b.loop(i64(0), start, lanes) as loop:
            b.store(read(loop.index, lanes), b.gep(type_, target, loop.index), element_bytes(type_))
    with b.loop(start, count) as loop:
        b.store(read(loop.index, 1), b.gep(type_, target, loop.index), element_bytes(type_))


def pack_panel(
    b: Builder,
    type_: str,
    load: Load,
    batch: Value,
    k: Value,
    count: Value,
    column: Value,
    pieces: tuple[Piece, ...],
    target: Value,
    lanes: int,
) -> None:
    """Write B[k : k+count, column : ...] row after row; lanes not in use become zero."""
    pitch = pieces[-1].offset + pieces[-1].lanes
    with b.loop(i64(0), count) as loop:
        line = b.gep(type_, target, b.mul(loop.index, i64(pitch)))
        for piece in pieces:
            at = b.add(column, i64(piece.offset))
            value = load(b, batch, b.add(k, loop.index), at, piece.lanes, piece.mask, "n")
            b.store(value, b.gep(type_, line, i64(piece.offset)), element_bytes(type_))


def pack_panel_transposed(
    b: Builder,
    type_: str,
    load: Load,
    batch: Value,
    k: Value,
    count: Value,
    column: Value,
    pieces: tuple[Piece, ...],
    target: Value,
    lanes: int,
) -> None:
    """The same from an operand whose neighbours lie along k: square blocks turned in registers."""
    pitch = pieces[-1].offset + pieces[-1].lanes
    whole = b.sub(count, b.op("urem", count, i64(lanes)))
    with b.loop(i64(0), whole, lanes) as loop:
        for piece in pieces:
            _turn_block(b, type_, load, batch, k, loop.index, column, piece, target, pitch, lanes)
    with b.loop(whole, count) as loop:
        line = b.gep(type_, target, b.mul(loop.index, i64(pitch)))
        for piece in pieces:
            at = b.add(column, i64(piece.offset))
            value = load(b, batch, b.add(k, loop.index), at, piece.lanes, piece.mask, "n")
            b.store(value, b.gep(type_, line, i64(piece.offset)), element_bytes(type_))


def _turn_block(
    b: Builder,
    type_: str,
    load: Load,
    batch: Value,
    k: Value,
    at: Value,
    column: Value,
    piece: Piece,
    target: Value,
    pitch: int,
    lanes: int,
) -> None:
    columns = [
        load(b, batch, b.add(k, at), b.add(column, i64(piece.offset + n)), lanes, None, "k")
        for n in range(piece.active)
    ]
    columns += [const(vector(type_, lanes), 0)] * (piece.lanes - piece.active)
    line = b.gep(type_, target, b.add(b.mul(at, i64(pitch)), i64(piece.offset)))
    held = lanes // piece.lanes  # rows of the panel in each turned vector
    for n, value in enumerate(interleave(b, columns)):
        for part in range(held):
            row = lanes_from(b, value, part * piece.lanes, piece.lanes)
            b.store(row, b.gep(type_, line, i64((n * held + part) * pitch)), element_bytes(type_))


def interleave(b: Builder, vectors: list[Value]) -> list[Value]:
    """Lane 0 of every vector, then lane 1 of every vector ...: the transpose, as vectors again.

    The number of vectors is a power of two; each round zips the first half with the second.
    """
    size, half = width(vectors[0].type), len(vectors) // 2
    low = [n // 2 + (n % 2) * size for n in range(size)]
    high = [m + size // 2 for m in low]
    for _ in range(len(vectors).bit_length() - 1):
        pairs = [(vectors[n], vectors[n + half]) for n in range(half)]
        vectors = [b.shuffle(x, y, order) for x, y in pairs for order in (low, high)]
    return vectors
