"""Rank sort of short rows: an element's index is the number of elements that come before it."""

from __future__ import annotations

from agnesi.codegen.library.sorting.rows import Rows, Spec
from agnesi.codegen.llvm.builder import Builder, Value, const, i64, lanes, vector

#: Elements of the longest rows that are sorted this way.
MAX_ROW_ELEMENTS = 96


def write_ranks(b: Builder, spec: Spec, lanes_: int) -> None:
    """``sort_short(ptr table, i64 start)``: the row that begins at ``start``."""
    table, start = b.parameters
    rows = Rows(b, spec, table)
    type_, room = spec.keys.type, MAX_ROW_ELEMENTS + lanes_
    keys, ranks = b.alloca(type_, room), b.alloca(type_, room)
    with b.loop(i64(0), rows.n) as turn:
        raw = rows.load(rows.at(start, turn.index))
        b.store(rows.key(raw), b.gep(type_, keys, turn.index))
    with b.loop(i64(0), rows.n, lanes_) as turn:
        _rank(b, keys, ranks, turn.index, rows.n, vector(type_, lanes_), lanes_)
    with b.loop(i64(0), rows.n) as turn:
        rank = b.load(type_, b.gep(type_, ranks, turn.index))
        place = rank if type_ == "i64" else b.cast("zext", rank, "i64")
        result = turn.index if spec.places else rows.load(rows.at(start, turn.index))
        rows.store(result, rows.at(start, place))
    b.ret()
    b.finish()


def _rank(b: Builder, keys: Value, ranks: Value, first: Value, n: Value, type_: str,
          lanes_: int) -> None:
    """Count for a vector of elements; equal ones come in the order of their places."""
    element = type_.rsplit(" ", 1)[1].rstrip(">")
    own = b.load(type_, b.gep(element, keys, first), 4)
    middle = b.intrinsic("smin", b.add(first, i64(lanes_)), n)
    total = const(type_, 0)
    one = const(type_, 1)

    def other(j: Value) -> Value:
        return b.splat(b.load(element, b.gep(element, keys, j)), lanes_)

    with b.loop(i64(0), first, 1, [total]) as turn:
        before = b.icmp("sle", other(turn.index), own)
        turn.carry(b.add(turn.carried[0], b.select(before, one, total)))
    with b.loop(first, middle, 1, turn.results) as near:
        x, j = other(near.index), b.sub(near.index, first)
        later = b.icmp("ugt", lanes(vector("i64", lanes_), range(lanes_)), b.splat(j, lanes_))
        tied = b.op("and", b.icmp("eq", x, own), later)
        before = b.op("or", b.icmp("slt", x, own), tied)
        near.carry(b.add(near.carried[0], b.select(before, one, total)))
    with b.loop(middle, n, 1, near.results) as far:
        before = b.icmp("slt", other(far.index), own)
        far.carry(b.add(far.carried[0], b.select(before, one, total)))
    b.store(far.results[0], b.gep(element, ranks, first), 4)
