"""Long rows: sorts by digits of eight bits, the lowest first, so that equal ones stay in order."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from agnesi.codegen.library.sorting.rows import PLACE_BITS, Rows, Signs, Spec
from agnesi.codegen.llvm.builder import Builder, Value, const, i64

_DIGIT_BITS = 8
_DIGIT_VALUES = 1 << _DIGIT_BITS


def write_passes(b: Builder, type_: str, lowest: int) -> None:
    """``ptr sort_digits(ptr here, ptr there, i64 n)``: signed integers by their bits from
    ``lowest`` on; returns which of the two places has the result."""
    here, there, n = b.parameters
    bits = int(type_[1:])
    shifts = range(lowest, bits, _DIGIT_BITS)
    counts = b.alloca("i32", _DIGIT_VALUES * len(shifts))
    b.call(
        "void",
        "llvm.memset.p0.i64",
        counts,
        Value("0", "i8"),
        i64(4 * _DIGIT_VALUES * len(shifts)),
        const("i1", False),
    )
    sign = const(type_, -1 << (bits - 1))

    def digit(value: Value, shift: int) -> Value:
        shifted = b.op("lshr", b.op("xor", value, sign), const(type_, shift))
        kept = b.op("and", shifted, const(type_, _DIGIT_VALUES - 1))
        return kept if bits == 64 else b.cast("zext", kept, "i64")

    def counter(row: int, of: Value) -> Value:
        return b.gep("i32", counts, b.add(of, i64(row * _DIGIT_VALUES)))

    with b.loop(i64(0), n) as turn:
        value = b.load(type_, b.gep(type_, here, turn.index))
        for row, shift in enumerate(shifts):
            at = counter(row, digit(value, shift))
            b.store(b.add(b.load("i32", at), const("i32", 1)), at)
    places = b.alloca("ptr", 2)
    b.store(here, places)
    b.store(there, b.gep("ptr", places, i64(1)))
    for row, shift in enumerate(shifts):
        own = partial(digit, shift=shift)
        source, target = (b.load("ptr", b.gep("ptr", places, i64(k))) for k in (0, 1))
        first = own(b.load(type_, source))
        alike = b.cast("zext", b.load("i32", counter(row, first)), "i64")
        with b.when(b.icmp("ne", alike, n)):
            _one_pass(b, source, target, n, type_, own,
                      b.gep("i32", counts, i64(row * _DIGIT_VALUES)))
            b.store(target, places)
            b.store(source, b.gep("ptr", places, i64(1)))
    b.ret(b.load("ptr", places))
    b.finish()


def _one_pass(b: Builder, source: Value, target: Value, n: Value, type_: str,
              digit: Callable[[Value], Value], counts: Value) -> None:
    """By one digit, whose counts become the places where each begins."""
    with b.loop(i64(0), i64(_DIGIT_VALUES), 1, [const("i32", 0)], nonempty=True) as turn:
        at = b.gep("i32", counts, turn.index)
        count = b.load("i32", at)
        b.store(turn.carried[0], at)
        turn.carry(b.add(turn.carried[0], count))
    with b.loop(i64(0), n, nonempty=True) as move:
        value = b.load(type_, b.gep(type_, source, move.index))
        at = b.gep("i32", counts, digit(value))
        place = b.load("i32", at)
        b.store(b.add(place, const("i32", 1)), at)
        b.store(value, b.gep(type_, target, b.cast("zext", place, "i64")))


def write_long(b: Builder, spec: Spec) -> None:
    """``sort_long(ptr table, i64 start, ptr here, ptr there)``: the row that begins at ``start``,
    with room for its elements twice."""
    table, start, here, there = b.parameters
    rows, type_ = Rows(b, spec, table), spec.type
    signs = Signs(rows)
    signs.begin()
    if spec.fits:
        with b.loop(i64(0), rows.n) as turn:
            raw = rows.load(rows.at(start, turn.index))
            signs.note(raw)
            packed = rows.packed(rows.key(raw), turn.index)
            b.store(packed, b.gep(type_, here, turn.index))
        found = b.call("ptr", "sort_digits", here, there, rows.n)
    else:
        found = _by_halves(b, rows, start, here, there)
    with b.loop(i64(0), rows.n) as turn:
        value = b.load(type_, b.gep(type_, found, turn.index))
        rows.store(rows.result(value), rows.at(start, turn.index))
    signs.mend(table, [start])
    b.ret()
    b.finish()


def _by_halves(b: Builder, rows: Rows, start: Value, here: Value, there: Value) -> Value:
    """Places by the lower halves of keys, then by the upper ones."""
    half, lower = const("i64", PLACE_BITS), const("i64", (1 << PLACE_BITS) - 1)
    with b.loop(i64(0), rows.n) as turn:
        key = rows.key(rows.load(rows.at(start, turn.index)))
        # A lower half has no sign, but digits are those of signed numbers.
        turned = b.op("xor", b.op("shl", key, half), i64(-1 << 63))
        b.store(b.op("or", turned, turn.index), b.gep("i64", here, turn.index))
    found = b.call("ptr", "sort_digits", here, there, rows.n)
    other = b.select(b.icmp("eq", found, here), there, here)
    with b.loop(i64(0), rows.n) as turn:
        at = b.gep("i64", found, turn.index)
        place = b.op("and", b.load("i64", at), lower)
        key = rows.key(rows.load(rows.at(start, place)))
        upper = b.op("and", key, const("i64", -1 << PLACE_BITS))
        b.store(b.op("or", upper, place), at)
    return b.call("ptr", "sort_digits", found, other, rows.n)
