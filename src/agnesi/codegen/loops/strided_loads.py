"""Strided and repeating loads along lanes by shuffles instead of gathers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from agnesi.codegen.llvm.builder import Builder, Value, const, lanes, vector, width
from agnesi.core.ir.kernels import walk
from agnesi.core.ir.loops import Affine, Axis, Expr

#: Longest step between lanes, and longest period, that shuffles are used for.
LONGEST_STEP = 6
#: Bytes of the registers that are read and written.
REGISTER_BYTES = 64


class Period(NamedTuple):
    """A quotient by ``length`` or its remainder; at the first lane ``start`` divides evenly."""

    start: Affine
    length: int


def period_of(value: Expr, along: Axis | None, unit: int) -> Period | None:
    """Return how a quotient or remainder runs along the lanes; None where it has no period.

    ``unit`` divides the index of the first lane.
    """
    if value.op not in ("floor_divide", "remainder"):
        return None
    by, (start,) = value.args[1], value.args[:1]
    if by.op != "const" or start.op != "index" or not isinstance(by.param, int):
        return None
    at, length = start.param, by.param
    if not 1 < length <= LONGEST_STEP or at.atoms or at.terms.get(along, 0) != 1:
        return None
    rest = [c for a, c in at.terms.items() if a is not along]
    if any(not isinstance(c, int) or c % length for c in (at.const, unit, *rest)):
        return None
    return Period(at, length)


def lanes_with_periods(wide: int, native: int, values: Iterable[Expr], along: Axis) -> int:
    """A number of lanes that holds whole periods, near ``wide``."""
    lengths = {p.length for v in walk(list(values)) if (p := period_of(v, along, 0)) is not None}
    if not lengths or wide % math.lcm(*lengths) == 0:
        return wide
    whole = math.lcm(native, *lengths)
    return whole if whole <= LONGEST_STEP * native else wide


def load_steps(b: Builder, type_: str, address: Value, count: int, step: int, active: int,
               align: int) -> Value:
    """Every ``step``-th element in ``count`` lanes, of which the first ``active`` must be read.

    Steps back are read forwards, from the last element on, and turned round.
    """
    if step < 0:
        last = b.gep(type_, address, Value(str((active - 1) * step), "i64"))
        found = load_steps(b, type_, last, count, -step, active, align)
        return b.shuffle(found, None, [max(active - 1 - k, 0) for k in range(count)])
    chunk = min(count, REGISTER_BYTES // max(align, 4))
    parts = [
        _every(b, type_, b.gep(type_, address, Value(str(first * step), "i64")),
               min(chunk, count - first), step, min(max(active - first, 0), chunk), align)
        for first in range(0, count, chunk)
    ]
    return _joined(b, parts)[0]


def _every(b: Builder, type_: str, address: Value, count: int, step: int, active: int,
           align: int) -> Value:
    """The same for one register: whole registers are read, but none beyond the last element."""
    if not active:
        return const(vector(type_, count), 0)
    beyond = (active - 1) * step + 1
    result: Value | None = None
    for i in range(step):
        first = i * count
        if first >= beyond and result is not None:
            break
        start = max(min(first, beyond - count), 0)
        piece = _row(b, type_, b.gep(type_, address, Value(str(start), "i64")), count,
                     min(beyond - start, count), align)
        picks = [
            (k * step - start) + (count if result is not None else 0)
            if first <= k * step < first + count and k < active
            else (0 if result is None else k)
            for k in range(count)
        ]
        result = b.shuffle(piece if result is None else result, None if result is None else piece,
                           picks)
    assert result is not None
    return result


def _row(b: Builder, type_: str, address: Value, count: int, active: int, align: int) -> Value:
    """Elements side by side, of which the first ``active`` are read."""
    wide = vector(type_, count)
    if active >= count:
        return b.load(wide, address, align)
    mask = lanes(vector("i1", count), [k < active for k in range(count)])
    return b.masked_load(wide, address, mask, align, const(wide, 0))


def load_repeated(b: Builder, type_: str, address: Value, count: int, length: int, active: int,
                  align: int) -> Value:
    """Elements side by side, each in ``length`` lanes."""
    if count <= length:
        return b.splat(b.load(type_, address, align), count)
    row = _row(b, type_, address, -(-count // length), -(-active // length), align)
    return b.shuffle(row, None, [k // length for k in range(count)])


def _joined(b: Builder, parts: list[Value]) -> list[Value]:
    """Vectors behind one another as one; all of one width, but for the last."""
    while len(parts) > 1:
        pairs = []
        for i in range(0, len(parts), 2):
            if i + 1 == len(parts):
                pairs.append(parts[i])
                continue
            pairs.append(_pair(b, parts[i], parts[i + 1]))
        parts = pairs
    return parts


def _pair(b: Builder, first: Value, second: Value) -> Value:
    m, n = width(first.type), width(second.type)
    if n < m:
        second = b.shuffle(second, None, [min(k, n - 1) for k in range(m)])
    return b.shuffle(first, second, range(m + n) if n == m else [*range(m), *range(m, m + n)])


def pattern(b: Builder, value: Expr, period: Period, start: Value, count: int) -> Value:
    """The quotient or remainder in all lanes; ``start`` is what is divided at the first lane."""
    type_ = vector("i64", count)
    if value.op == "remainder":
        return lanes(type_, [k % period.length for k in range(count)])
    first = b.splat(b.op("sdiv", start, Value(str(period.length), "i64")), count)
    return b.add(first, lanes(type_, [k // period.length for k in range(count)]))
