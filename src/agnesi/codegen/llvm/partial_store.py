"""The first lanes of a vector to memory, without a mask."""

from __future__ import annotations

from agnesi.codegen.llvm.builder import Builder, Value, i64, scalar, width


def store_first(b: Builder, value: Value, address: Value, count: int | Value, align: int) -> None:
    """Store the first ``count`` lanes, in pieces of powers of two, the largest first."""
    element, number = scalar(value.type), b.size(count)
    lanes = width(value.type)
    size = 1 << (lanes - 1).bit_length()
    if size != lanes:  # as those that hold whole periods
        value = b.shuffle(value, None, [*range(lanes), *[0] * (size - lanes)])
    rest, first, second = value, value, value
    while True:
        some = b.op("and", number, i64(size))
        present = b.icmp("ne", some, i64(0))
        if present.ref != "false":
            with b.when(present):
                b.store(first, address, align)
        if size == 1:
            return
        if first is not value:
            address, rest = b.gep(element, address, some), b.select(present, second, first)
        size //= 2
        first, second = (_part(b, rest, start, size) for start in (0, size))


def _part(b: Builder, value: Value, start: int, size: int) -> Value:
    if size == 1:
        return b.extract(value, start)
    return b.shuffle(value, None, range(start, start + size))
