"""Short runs of words, sorted in registers.

The words fill up to ``GROUP_VECTORS`` vectors, in any order.  All lanes are sorted down the vectors
by a network, neighbouring lanes are merged to runs twice as long until one is left (Batcher 1968),
and the vectors, whose lanes then follow each other, are interleaved.
"""

from __future__ import annotations

from collections.abc import Sequence

from agnesi.codegen.library.sorting.network import exchange, exchanges, halved
from agnesi.codegen.llvm.builder import Builder, Module, Value, const, i64, lanes, vector, width
from agnesi.core.ir.calls.sorting import GROUP_VECTORS


def there(b: Builder, first: Value, n: Value, lanes_: int) -> Value:
    """Return the mask of lanes below ``n`` in the vector that begins with element ``first``."""
    numbers = lanes(vector("i64", lanes_), range(lanes_))
    return b.icmp("slt", numbers, b.splat(b.sub(n, first), lanes_))


def _below(b: Builder, low: Value, high: Value, bit: int) -> Value:
    """Blend two vectors: lanes whose index has ``bit`` set from ``high``, the others from
    ``low``."""
    n = width(low.type)
    return b.shuffle(low, high, [n + k if k & bit else k for k in range(n)])


def _across(b: Builder, row: Value, other: Value, bits: int, bit: int) -> Value:
    """Compare-exchange each lane with the lane of another vector whose number differs in ``bits``.
    """
    n = width(row.type)
    partners = b.shuffle(other, None, [k ^ bits for k in range(n)])
    return _below(b, b.intrinsic("smin", row, partners), b.intrinsic("smax", row, partners), bit)


def interleaved(b: Builder, rows: Sequence[Value]) -> list[Value]:
    """Vectors with the first lanes of all rows, then the second ones, and so on."""
    if len(rows) == 1:
        return [*rows]
    found = []
    for even, odd in zip(interleaved(b, rows[::2]), interleaved(b, rows[1::2]), strict=True):
        n = int(even.type[1:].split()[0])
        for first in (0, n // 2):
            mask = [k + n * side for k in range(first, first + n // 2) for side in (0, 1)]
            found.append(b.shuffle(even, odd, mask))
    return found


def _sorted(b: Builder, rows: list[Value], lanes_: int) -> list[Value]:
    """Return the words of a power of two of vectors in sorted order, from one vector to the next.
    """
    for i, j in exchanges(len(rows)):
        exchange(b, rows, i, j)
    bit = 1
    while bit < lanes_:
        rows = [_across(b, row, other, 2 * bit - 1, bit)
                for row, other in zip(rows, reversed(rows), strict=True)]
        step = bit // 2
        while step:
            rows = [_across(b, row, row, step, step) for row in rows]
            step //= 2
        halved(b, rows)
        bit *= 2
    return interleaved(b, rows)


def write_small(module: Module, type_: str, most: int, lanes_: int) -> int:
    """Write ``sort_few(ptr words, i64 n)``; return the greatest ``n`` that it sorts.

    No word is greater than ``most``.
    """
    sizes = [1 << k for k in range(GROUP_VECTORS.bit_length())]
    for count in sizes:
        _write_vectors(Builder(module, f"sort_{count}", [("ptr", "words"), ("i64", "n")]),
                       vector(type_, lanes_), count, most, lanes_)
    b = Builder(module, "sort_few", [("ptr", "words"), ("i64", "n")])
    words, n = b.parameters
    for below, count in zip([0, *sizes], sizes, strict=False):
        fits = b.op("and", b.icmp("sgt", n, i64(below * lanes_ or 1)),
                    b.icmp("sle", n, i64(count * lanes_)))
        with b.when(fits):
            b.call("void", f"sort_{count}", words, n)
    b.finish()
    return sizes[-1] * lanes_


def _write_vectors(b: Builder, type_: str, count: int, most: int, lanes_: int) -> None:
    """``sort_{count}(ptr words, i64 n)``: the words of at most so many vectors."""
    words, n = b.parameters
    element, size = type_.split()[-1].rstrip(">"), int(type_.split("i")[-1].rstrip(">")) // 8
    addresses = [b.gep(element, words, i64(k * lanes_)) for k in range(count)]
    masks = [there(b, i64(k * lanes_), n, lanes_) for k in range(count)]
    rows = [b.masked_load(type_, address, mask, size, const(type_, most))
            for address, mask in zip(addresses, masks, strict=True)]
    for address, mask, row in zip(addresses, masks, _sorted(b, rows, lanes_), strict=True):
        b.masked_store(row, address, mask, size)
    b.finish()
