"""Products in Winograd's transformed space, in register tiles."""

from __future__ import annotations

from collections.abc import Sequence

from agnesi.codegen.kernels.conv.tiles import Tile, TileLoop, pitches
from agnesi.codegen.kernels.tiling import Piece
from agnesi.codegen.llvm.builder import Builder, Value, i64, vector
from agnesi.codegen.llvm.outlining import function
from agnesi.codegen.llvm.type_names import nbytes
from agnesi.core.support.record import replace


def product_of(b: Builder, type_: str, pieces: Sequence[Piece], height: int) -> Value:
    """A function that adds products to sums: rows by a panel of columns, in tiles of one height.

    It takes both operands, the sums, the number of rows, from one of them to the next in the first
    operand and in the sums, then how many products there are, and their steps.  What is too much
    for the number of rows is added up for nothing behind them.
    """
    columns = tuple(pieces)

    def body(own: Builder, row: Value, column: Value, sums: Value, count: Value, across: Value,
             down: Value, *level: Value) -> None:
        tile = Tile(type_, tuple(range(height)), columns, pitches=pitches(own, across))
        with own.loop(i64(0), count, height, [row, sums]) as loop:
            row, sums = loop.carried
            add_tile(own, tile, [TileLoop(level[0], level[1], level[2])], row, column, sums, down)
            loop.carry(own.gep(type_, row, own.mul(across, i64(height))),
                       own.gep(type_, sums, own.mul(down, i64(height))))

    types = [*["ptr"] * 3, *["i64"] * 6]
    name = function(b.module, "product", (type_, columns, height), body, types)
    return Value(f"@{name}", "ptr")


def add_tile(b: Builder, tile: Tile, nest: Sequence[TileLoop], row: Value, column: Value,
             sums: Value, step: Value) -> None:
    """Add the products of a tile to sums in memory, whose rows are ``step`` apart."""
    align, cells = nbytes(tile.type), []
    for n in range(len(tile.rows)):
        sums = b.gep(tile.type, sums, step) if n else sums
        cells += [b.gep(tile.type, sums, i64(c.offset)) for c in tile.columns]
    start = [
        b.load(vector(tile.type, c.lanes), cell, align)
        for cell, c in zip(cells, tile.columns * len(tile.rows), strict=True)
    ]
    for value, cell in zip(tile.run(b, row, column, nest, start), cells, strict=True):
        b.store(value, cell, align)


def tiles_of(b: Builder, tile: Tile, heights: Sequence[int], nest: list[TileLoop],
           addresses: tuple[Value, Value, Value], count: Value, step: Value, width: int) -> None:
    """``count`` rows of a product in tiles of these heights, from ``v`` and ``u`` to ``m``."""
    v, u, m = addresses
    start, columns = i64(0), tile.columns
    for size in heights:
        left = b.sub(count, start)
        stop = b.sub(count, b.op("urem", left, i64(size))) if size > 1 else count
        with b.loop(start, stop, size) as row:
            some = replace(tile, rows=tuple(range(size)))
            source = b.gep(tile.type, v, b.mul(row.index, step))
            sums = some.run(b, source, u, nest, some.zeros())
            target = b.gep(tile.type, m, b.mul(row.index, i64(width)))
            for n, value in enumerate(sums):
                offset = n // len(columns) * width + columns[n % len(columns)].offset
                b.store(value, b.gep(tile.type, target, i64(offset)), nbytes(tile.type))
        start = stop
