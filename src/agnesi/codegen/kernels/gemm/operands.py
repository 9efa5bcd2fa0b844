"""The three callbacks that connect a product with the rest of its kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agnesi.codegen.llvm.builder import Builder, Value, const, i64, vector, width
from agnesi.codegen.llvm.builder import lanes as lanes_of
from agnesi.codegen.llvm.type_names import nbytes
from agnesi.core.ir.dims import Size
from agnesi.core.support.record import record

#: Elements so few apart are read as whole vectors, if there are so many at least.
_MAX_STRIDE, _MIN_LANES = 4, 4
# (builder, batch, row, column, lanes, mask, along) -> vector.  (row, column) is the index of
# lane 0; the other lanes follow along axis "m", "n" or "k".  Lanes where ``mask`` is unset must
# read as zero without touching memory.  With lanes == 1 the value is a scalar.
Load = Callable[[Builder, Value, Value, Value, int, Value | None, str], Value]
# (builder, accumulator, batch, i, j, lanes, mask, along): finish the sum and store it; lanes
# run along "n", or along "m" where the plan computes the transpose (``plan.swapped``).
Epilogue = Callable[[Builder, Value, Value, Value, Value, int, Value | None, str], None]
# (builder, batch, i, j, rows, columns): call the cache lines near that the epilogue of the tile
# from (i, j) on reads or writes
Call = Callable[[Builder, Value, Value, Value, int, int], None]
# (builder, batch, row, column) -> address
Address = Callable[[Builder, Value, Value, Value], Value]


@record
class Operand:
    """A matrix to be read: by callback, and by address when it is plain memory."""

    load: Load
    address: Address | None = None


@record
class Operands:
    """The operands that :func:`emit_gemm` reads, and where the sums go.

    ``interrupted`` emits a poll that returns whether to stop; long products have some.
    """

    a: Operand
    b: Operand
    epilogue: Epilogue
    call: Call | None = None
    interrupted: Callable[[], Value] | None = None


def direct(pointer: Value, type_: str, strides: tuple[Any, ...], axes: str,
           batch_stride: Size | Callable[[Builder, Value], Value] = 0) -> Operand:
    """An operand in memory; ``axes`` names its two axes, ``"mk"`` for A and ``"kn"`` for B.

    ``batch_stride`` may be a function that finds the offset of a batch member.
    """

    def address(b: Builder, batch: Value, row: Value, column: Value) -> Value:
        at = b.add(b.mul(row, b.size(strides[0])), b.mul(column, b.size(strides[1])))
        if callable(batch_stride):
            at = b.add(at, batch_stride(b, batch))
        elif batch_stride:
            at = b.add(at, b.mul(batch, b.size(batch_stride)))
        return b.gep(type_, pointer, at)

    def load(b: Builder, batch: Value, row: Value, column: Value, lanes: int, mask: Value | None,
             along: str) -> Value:
        stride = strides[axes.index(along)]
        return load_strided(b, address(b, batch, row, column), type_, stride, lanes, mask)

    return Operand(load, address)


def transposed(operands: Operands) -> Operands:
    """The operands of ``C' = B' A'``: roles, indices and lane axes change over."""
    swap = {"m": "n", "n": "m", "k": "k"}

    def transposed(operand: Operand) -> Operand:
        inner = operand.address

        def load(b: Builder, batch: Value, row: Value, column: Value, lanes: int,
                 mask: Value | None, along: str) -> Value:
            return operand.load(b, batch, column, row, lanes, mask, swap[along])

        def address(b: Builder, batch: Value, row: Value, column: Value) -> Value:
            assert inner is not None
            return inner(b, batch, column, row)

        return Operand(load, address if inner is not None else None)

    def epilogue(b: Builder, sums: Value, batch: Value, i: Value, j: Value, lanes: int,
                 mask: Value | None, along: str) -> None:
        operands.epilogue(b, sums, batch, j, i, lanes, mask, swap[along])

    inner = operands.call

    def call(b: Builder, batch: Value, i: Value, j: Value, rows: int, columns: int) -> None:
        assert inner is not None
        inner(b, batch, j, i, columns, rows)

    ends = (epilogue, call if inner is not None else None, operands.interrupted)
    return Operands(transposed(operands.b), transposed(operands.a), *ends)


def load_strided(
    b: Builder, pointer: Value, type_: str, stride: Size, lanes: int, mask: Value | None
) -> Value:
    """Load ``lanes`` elements with a stride; masked lanes are zero."""
    align = nbytes(type_)
    if lanes == 1:
        return b.load(type_, pointer, align)
    whole = vector(type_, lanes)
    if stride == 1:
        if mask is None:
            return b.load(whole, pointer, align)
        return b.masked_load(whole, pointer, mask, align, const(whole, 0))
    if stride == 0 and mask is None:
        return b.splat(b.load(type_, pointer, align), lanes)
    if mask is None and isinstance(stride, int) and (
            1 < stride <= _MAX_STRIDE and lanes >= _MIN_LANES):
        return _close(b, pointer, type_, stride, lanes)
    return _gather(b, pointer, type_, stride, lanes, mask)


def _close(b: Builder, pointer: Value, type_: str, stride: int, lanes: int) -> Value:
    """Load elements that are a few elements apart, by as many vectors as these have: the last one
    ends where the last element is, so that nothing behind it is read."""
    last = (lanes - 1) * stride + 1 - lanes
    result: Value | None = None
    taken = 0
    for part in range(stride):
        start = min(part * lanes, last)
        read = b.load(vector(type_, lanes), b.gep(type_, pointer, i64(start)), nbytes(type_))
        inside = [n for n in range(taken, lanes) if n * stride < start + lanes]
        if result is None:
            picks = [n * stride if n in inside else 0 for n in range(lanes)]
            result = b.shuffle(read, None, picks)
        else:
            picks = [lanes + n * stride - start if n in inside else n for n in range(lanes)]
            result = b.shuffle(result, read, picks)
        taken += len(inside)
    assert result is not None
    return result


def _gather(
    b: Builder, pointer: Value, type_: str, stride: Size, lanes: int, mask: Value | None
) -> Value:
    """Load elements with a stride by one scalar load each, which is faster than a gather."""
    whole = vector(type_, lanes)
    if mask is not None:
        steps = _multiples(b, stride, lanes)
        addresses = b.value(
            vector("ptr", lanes), f"getelementptr inbounds {type_}, {pointer}, {steps}"
        )
        return b.gather(whole, addresses, mask, nbytes(type_))
    result = const(whole, 0)
    for lane in range(lanes):
        address = b.gep(type_, pointer, b.size(lane * stride))
        item = b.load(type_, address, nbytes(type_))
        result = b.value(whole, f"insertelement {result}, {item}, i64 {lane}")
    return result


def _multiples(b: Builder, stride: Size, lanes: int) -> Value:
    """0, 1, 2 .. times a stride."""
    type_ = vector("i64", lanes)
    if isinstance(stride, int):
        return lanes_of(type_, [n * stride for n in range(lanes)])
    return b.mul(lanes_of(type_, range(lanes)), b.splat(b.size(stride), lanes))


def lanes_from(b: Builder, value: Value, start: int, lanes: int) -> Value:
    """Neighbouring lanes of a vector, as a narrower vector or a scalar."""
    if lanes == width(value.type):
        return value
    if lanes == 1:
        return b.extract(value, start)
    return b.shuffle(value, None, range(start, start + lanes))
