"""The register tile: ``rows x pieces`` accumulators, one broadcast of A per row, one row of B."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agnesi.codegen.kernels.gemm.operands import lanes_from, load_strided
from agnesi.codegen.kernels.tiling import Piece
from agnesi.codegen.llvm.builder import Builder, Value, const, i64, is_float, vector
from agnesi.codegen.llvm.instructions import multiply_add, prefetch
from agnesi.core.support.record import record, replace

ReadRow = Callable[[Builder, Value], list[Value]]
At = Callable[[Builder, Value], list[Value]]


@record
class Source:
    """Where a kernel reads an operand: an address and the element strides from there."""

    pointer: Value
    row_stride: Any
    step: Any  # elements from one k to the next: a number, a size, or a value
    masked: bool = False  # whether the last piece must not be read whole
    ahead: int = 0  # for how many k in advance to call the line into the cache; 0 for none

    def along(self, b: Builder, iterations: int, beside: Any = 0) -> Value:
        """Return the elements that so many iterations pass, and ``beside`` more."""
        if isinstance(self.step, Value):
            return b.add(b.mul(self.step, i64(iterations)), b.size(beside))
        return b.size(iterations * self.step + beside)


def zeros(type_: str, rows: int, pieces: Sequence[Piece]) -> list[Value]:
    """The accumulators of a tile at its start."""
    return [const(vector(type_, p.lanes), 0) for _ in range(rows) for p in pieces]


def sum_products(b: Builder, type_: str, rows: int, pieces: Sequence[Piece], a: Source,
                 source: Source | ReadRow, start: Value, stop: Value, sums: list[Value],
                 chains: int = 1, beside: At | None = None, *,
                 nonempty: bool = False) -> list[Value]:
    """Add the products for k in [start, stop) to ``sums``; returns rows-major accumulators.

    ``chains > 1`` keeps that many independent sums, so that a small tile does not wait for the
    latency of its own additions; they are added in a fixed order.  Every iteration
    prefetches the lines at ``beside(k)`` into the second-level cache.  ``nonempty`` promises an
    iteration.
    """
    if chains == 1:
        return _run(b, type_, rows, pieces, a, source, start, stop, sums, 1, beside, nonempty)
    span = b.sub(stop, start)
    whole = b.sub(span, b.op("urem", span, i64(chains)))
    split = b.add(start, whole)
    wide = [*sums, *(zeros(type_, rows, pieces) * (chains - 1))]
    wide = _run(b, type_, rows, pieces, a, source, start, split, wide, chains)
    size = len(sums)
    sums = wide[:size]
    for chain in range(1, chains):
        add = b.fadd if is_float(type_) else b.add
        sums = [add(s, w) for s, w in zip(sums, wide[chain * size :], strict=False)]
    a = _moved(b, type_, a, whole)
    if isinstance(source, Source):
        source = _moved(b, type_, source, whole)
    return _run(b, type_, rows, pieces, a, source, split, stop, sums, 1)


def _moved(b: Builder, type_: str, source: Source, iterations: Value) -> Source:
    at = b.gep(type_, source.pointer, b.mul(iterations, b.size(source.step)))
    return replace(source, pointer=at, ahead=0)


def _run(b: Builder, type_: str, rows: int, pieces: Sequence[Piece], a: Source,
         source: Source | ReadRow, start: Value, stop: Value, sums: list[Value], chains: int,
         beside: At | None = None, nonempty: bool = False) -> list[Value]:
    """The loop over k; pointers are carried so that every load is base + constant."""
    pointers = [a.pointer] + ([source.pointer] if isinstance(source, Source) else [])
    with b.loop(start, stop, chains, [*pointers, *sums], nonempty=nonempty) as loop:
        pa, totals = loop.carried[0], loop.carried[len(pointers) :]
        new: list[Value] = []
        if beside is not None:
            for at in beside(b, loop.index):
                prefetch(b, at, near=False)
        for chain in range(chains):
            k = b.add(loop.index, i64(chain)) if chain else loop.index
            mine = totals[chain * len(totals) // chains : (chain + 1) * len(totals) // chains]
            if isinstance(source, Source):
                row = _read(b, type_, loop.carried[1], source, chain, pieces)
            else:
                row = source(b, k)
            new.extend(_iteration(b, type_, rows, pieces, a, pa, chain, row, mine))
        bumped = [b.gep(type_, pa, a.along(b, chains))]
        if isinstance(source, Source):
            bumped.append(b.gep(type_, loop.carried[1], source.along(b, chains)))
        loop.carry(*bumped, *new)
    return loop.results[len(pointers) :]


def _read(
    b: Builder, type_: str, pointer: Value, source: Source, iteration: int, pieces: Sequence[Piece]
) -> list[Value]:
    found = []
    for piece in pieces:
        at = b.gep(type_, pointer, source.along(b, iteration, piece.offset))
        if source.ahead:
            distance = source.along(b, iteration + source.ahead, piece.offset)
            prefetch(b, b.gep(type_, pointer, distance), near=True)
        mask = piece.mask if source.masked else None
        found.append(load_strided(b, at, type_, 1, piece.lanes, mask))
    return found


def _iteration(b: Builder, type_: str, rows: int, pieces: Sequence[Piece], a: Source,
               pointer: Value, iteration: int, row: list[Value], sums: list[Value]) -> list[Value]:
    """Emit one iteration of k: broadcast each row's element of A and multiply it into the
    accumulators.
    """
    widest = max(p.lanes for p in pieces)
    out = []
    for r in range(rows):
        at = b.gep(type_, pointer, a.along(b, iteration, r * a.row_stride))
        wide = b.splat(load_strided(b, at, type_, 0, 1, None), widest)
        for n, piece in enumerate(pieces):
            x = lanes_from(b, wide, 0, piece.lanes)
            out.append(multiply_add(b, x, row[n], sums[r * len(pieces) + n]))
    return out
