"""Strided and repeating loads along lanes by shuffles instead of gathers."""

from __future__ import annotations

from collections.abc import Callable

from agnesi.codegen.llvm.builder import Builder, Value, const, lanes, vector, width
from agnesi.core.ir.loops import Expr
from agnesi.core.ir.mapping import Period

#: Bytes of the registers that are read and written.
REGISTER_BYTES = 64


#: ``row(start, count, active)`` reads elements side by side, of which the first ``active`` are
#: wanted.
Row = Callable[[int, int, int], Value]


def load_steps(b: Builder, type_: str, row: Row, count: int, step: int, active: int,
               align: int) -> Value:
    """Every ``step``-th element in ``count`` lanes, of which the first ``active`` must be read.

    Steps back are read forwards, from the last element on, and reversed.
    """
    if step < 0:
        last = (active - 1) * step
        found = load_steps(b, type_, _further(row, last), count, -step, active, align)
        return b.shuffle(found, None, [max(active - 1 - k, 0) for k in range(count)])
    chunk = min(count, REGISTER_BYTES // max(align, 4))
    parts = [
        _every(b, type_, _further(row, first * step), min(chunk, count - first), step,
               min(max(active - first, 0), chunk))
        for first in range(0, count, chunk)
    ]
    return _joined(b, parts)[0]


def _further(row: Row, by: int) -> Row:
    return lambda start, count, active: row(start + by, count, active)


def _every(b: Builder, type_: str, row: Row, count: int, step: int, active: int) -> Value:
    """Every ``step``-th element for one register, from whole registers up to the last element."""
    if not active:
        return const(vector(type_, count), 0)
    beyond = (active - 1) * step + 1
    result: Value | None = None
    for i in range(step):
        first = i * count
        if first >= beyond and result is not None:
            break
        start = max(min(first, beyond - count), 0)
        piece = row(start, count, min(beyond - start, count))
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


def rows_at(b: Builder, type_: str, address: Value, align: int) -> Row:
    """Elements side by side, counted from an address."""

    def row(start: int, count: int, active: int) -> Value:
        wide, first = vector(type_, count), b.gep(type_, address, Value(str(start), "i64"))
        if active >= count:
            return b.load(wide, first, align)
        mask = lanes(vector("i1", count), [k < active for k in range(count)])
        return b.masked_load(wide, first, mask, align, const(wide, 0))

    return row


def load_repeated(b: Builder, row: Row, count: int, period: Period, active: int) -> Value:
    """Elements side by side, each in as many lanes as the period has, the first one in fewer."""
    length, phase = period.length, period.phase
    read, wanted = ((k - 1 + phase) // length + 1 for k in (count, active))
    if read == 1:
        return b.splat(row(0, 1, 1), count)
    whole = 1 << (read - 1).bit_length()
    return b.shuffle(row(0, whole, wanted), None, [(k + phase) // length for k in range(count)])


def _joined(b: Builder, parts: list[Value]) -> list[Value]:
    """Concatenate vectors of one width, of which the last may be narrower."""
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
    positions = [divmod(k + period.phase, period.length) for k in range(count)]
    if value.op == "remainder":
        return lanes(type_, [rest for _, rest in positions])
    first = b.splat(b.op("sdiv", start, Value(str(period.length), "i64")), count)
    return b.add(first, lanes(type_, [whole for whole, _ in positions]))
