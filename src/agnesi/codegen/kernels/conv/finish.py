"""The epilogue of a convolution: operations on its sums before they are stored."""

from __future__ import annotations

from collections.abc import Callable

from agnesi.codegen.kernels.conv.dense import Dense
from agnesi.codegen.kernels.gemm.pack import zip_rounds
from agnesi.codegen.kernels.tiling import CutPiece, Piece, pieces_of
from agnesi.codegen.llvm.builder import Builder, Value, i64, vector
from agnesi.codegen.llvm.outlining import apart as shared
from agnesi.codegen.llvm.type_names import nbytes
from agnesi.codegen.loops.evaluate import Addresses, Scope
from agnesi.core.ir.extents import Extent

# (sum, (n, group, o, d, h, w), which of them the lanes run along, lanes, mask)
Finish = Callable[[Value, tuple[Value, ...], int, int, Value | None], None]
#: (row of sums in memory, their position, pieces of the row)
FinishRow = Callable[[Value, tuple[Value, ...], tuple[Piece, ...]], None]
#: (sums of a line of the image in memory, the first one's position, elements between them, columns)
FinishLine = Callable[[Value, tuple[Value, ...], Value, int], None]


def vectors(b: Builder, pointer: Addresses, dense: Dense) -> Finish:
    """The epilogue for one vector of sums."""
    root = Scope(b, pointer, {})
    if dense.key.free:  # else what waits for the sum is not known
        root.hoist([s.value for s in dense.body], dense.axes, root)

    def finish(total: Value, position: tuple[Value, ...], along: int, lanes: int,
               mask: Value | None) -> None:
        index = dict(zip(dense.axes, position, strict=True))
        scope = root.inside(index, along=dense.axes[along], lanes=lanes, mask=mask)
        scope.memo[dense.key] = total
        for s in dense.body:
            scope.store(s.buffer, s.offset, s.value)

    return finish


def _beside(b: Builder, position: tuple[Value, ...], along: int, offset: Value
            ) -> tuple[Value, ...]:
    """Return a position ``offset`` elements further along an axis."""
    return (*position[:along], b.add(position[along], offset), *position[along + 1:])


def rows(b: Builder, type_: str, finish: Finish, along: int) -> FinishRow:
    """The epilogue for rows of sums."""
    def finish_row(row: Value, position: tuple[Value, ...], pieces: tuple[Piece, ...]) -> None:
        for p in pieces:
            offset = i64(p.offset)
            value = b.load(vector(type_, p.lanes), b.gep(type_, row, offset), nbytes(type_))
            finish(value, _beside(b, position, along, offset), along, p.lanes, p.mask)

    return finish_row


def lines(b: Builder, type_: str, finish: Finish, dense: Dense, lanes: int,
          workspace: Value) -> FinishLine:
    """Return an epilogue for results that are contiguous along the pixels of a line, not along the
    channels (columns), in which the sums are.

    Sums are transposed in blocks of ``lanes`` by ``lanes``, through ``workspace``.  The
    last block also reads sums behind the line.
    """
    count = b.size(dense.spans[2].count)
    rest = dense.spans[2].count % lanes

    def finish_line(line: Value, position: tuple[Value, ...], pitch: Value, columns: int) -> None:
        with b.loop(i64(0), i64(columns), lanes) as column:
            there = _beside(b, position, 2, column.index)
            active = b.intrinsic("smin", b.sub(i64(columns), column.index), i64(lanes))

            def square(x: Value, piece: Piece) -> None:
                at = b.gep(type_, line, b.add(b.mul(x, pitch), column.index))
                _transpose(b, type_, lanes, at, workspace, pitch)
                with b.loop(i64(0), active, nonempty=True) as row:
                    at = b.gep(type_, workspace, b.mul(row.index, i64(lanes)))
                    value = b.load(vector(type_, piece.lanes), at, nbytes(type_))
                    finish(value, _beside(b, _beside(b, there, 2, row.index), 5, x), 5,
                           piece.lanes, piece.mask)

            whole = b.sub(count, b.size(rest))
            with b.loop(i64(0), whole, lanes) as across:
                square(across.index, Piece(0, lanes, lanes))
            if isinstance(rest, Extent):
                with b.when(b.icmp("ne", b.size(rest), i64(0))):
                    square(whole, CutPiece.of(b, Piece(0, lanes, lanes), b.size(rest)))
            elif rest:
                square(whole, pieces_of(rest, lanes)[0])

    return finish_line


def _transpose(b: Builder, type_: str, lanes: int, source: Value, target: Value, pitch: Value
               ) -> None:
    """Exchange the rows and columns of a square, by a function that kernels share."""
    def body(own: Builder, source: Value, target: Value, pitch: Value) -> None:
        found, align = [], nbytes(type_)
        for n in range(lanes):
            source = own.gep(type_, source, pitch) if n else source
            found.append(own.load(vector(type_, lanes), source, align))
        for n, row in enumerate(zip_rounds(own, found, lanes)):
            own.store(row, own.gep(type_, target, i64(n * lanes)), align)

    shared(b, "transpose", (type_, lanes), body, source, target, pitch)


def apart(b: Builder, dense: Dense, type_: str, lanes: int, along: int,
          pointer: Callable[[Builder], Addresses]) -> Value:
    """Return the epilogue as a function of the address table, a row of sums and its position.

    The call says how many vectors are in the row; some may be beyond the last column.
    """
    parameters = [("ptr", "addresses"), ("ptr", "row"), ("i64", "width"),
                  *(("i64", f"x{i}") for i in range(6))]
    own = Builder(b.module, b.module.fresh("finish"), parameters)
    _, row, width, *position = own.parameters
    finish, total = vectors(own, pointer(own), dense), dense.axes[along].extent
    row_of = rows(own, type_, finish, along)
    count = own.intrinsic("smin", width, own.sub(i64(total), position[along]))
    rest = total % lanes
    whole = own.sub(count, own.op("urem", count, i64(lanes))) if rest else count

    def piece(at: Value, some: Piece) -> None:
        row_of(own.gep(type_, row, at), _beside(own, tuple(position), along, at), (some,))

    with own.loop(i64(0), whole, lanes) as loop:
        piece(loop.index, Piece(0, lanes, lanes))
    if rest:
        with own.when(own.icmp("slt", whole, count)):
            piece(whole, pieces_of(rest, lanes)[0])
    b.streamed |= own.streamed
    own.streamed = False  # the caller's end says so once
    own.ret()
    return Value(f"@{b.module.shared(own)}", "ptr")


def called(b: Builder, function: Value, addresses: Value, width: Value) -> FinishRow:
    """Return an epilogue that calls the function made by :func:`apart` through its address."""
    def finish_row(row: Value, position: tuple[Value, ...], pieces: tuple[Piece, ...]) -> None:
        b.call_pointer("void", function, addresses, row, width, *position)

    return finish_row
