"""Sorting networks on blocks of vectors, of whose lanes each is a row.

A block is a number of groups of ``GROUP_VECTORS`` vectors.  Groups are put in order in registers
(the merge-exchange of Batcher 1968), then merged pairwise: first with the second half in reverse,
then by halves (his bitonic sorter, in the form whose exchanges all put the lesser element first, so
that what is behind the end of a block may be left out).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from agnesi.codegen.llvm.builder import Builder, Module, Value, i64
from agnesi.core.ir.calls.sorting import GROUP_VECTORS

#: Vectors that are loaded at a time where groups meet.
_VECTORS_AT_ONCE = 4


def exchanges(n: int) -> Iterator[tuple[int, int]]:
    """The exchanges of Batcher's merge-exchange sort of ``n`` elements, a power of two."""
    p = 1
    while p < n:
        k = p
        while k:
            for j in range(k % p, n - k, 2 * k):
                for i in range(min(k, n - j - k)):
                    if (i + j) // (2 * p) == (i + j + k) // (2 * p):
                        yield i + j, i + j + k
            k //= 2
        p *= 2


def exchange(b: Builder, rows: list[Value], i: int, j: int) -> None:
    """Compare and exchange two vectors of words in a list: the lesser word of each lane comes into
    ``rows[i]``, the greater one into ``rows[j]``.
    """
    low, high = rows[i], rows[j]
    rows[i], rows[j] = b.intrinsic("smin", low, high), b.intrinsic("smax", low, high)


def halved(b: Builder, rows: list[Value]) -> None:
    """Sort vectors that are bitonic from one to the next; their number is a power of two."""
    step = len(rows) // 2
    while step:
        for i in range(len(rows)):
            if not i & step:
                exchange(b, rows, i, i + step)
        step //= 2


class Network:
    """The functions of a module that sort blocks of vectors of one type."""

    def __init__(self, module: Module, type_: str) -> None:
        self.module = module
        self.type = type_

    def write(self) -> None:
        """Write ``sort_block(ptr block, i64 groups)``, which sorts each lane."""
        self._in_registers("sort_group", self._sorted)
        self._in_registers("merge_group", halved)
        self._meet()
        self._flip()
        self._halve()
        self._sort_block()

    def _builder(self, name: str, *numbers: str) -> Builder:
        return Builder(self.module, name, [("ptr", "block"), *(("i64", n) for n in numbers)])

    # -- groups in registers --------------------------------------------------------------
    def _in_registers(self, name: str, work: Callable[[Builder, list[Value]], None]) -> None:
        """``name(ptr block, i64 begin, i64 end)``: something done to all groups of a range."""
        b = self._builder(name, "begin", "end")
        block, begin, end = b.parameters
        with b.loop(begin, end) as group:
            addresses = self._lines(b, self._group(b, block, group.index), i64(0), GROUP_VECTORS)
            rows = self._load(b, addresses)
            work(b, rows)
            self._store(b, addresses, rows)
        b.finish()

    def _sorted(self, b: Builder, rows: list[Value]) -> None:
        for i, j in exchanges(GROUP_VECTORS):
            exchange(b, rows, i, j)

    # -- memory ---------------------------------------------------------------------------
    def _group(self, b: Builder, block: Value, number: Value) -> Value:
        return b.gep(f"[{GROUP_VECTORS} x {self.type}]", block, number)

    def _lines(self, b: Builder, address: Value, first: Value, count: int, step: int = 1
               ) -> list[Value]:
        """Return the addresses of ``count`` vectors of a block, from vector ``first``, ``step``
        apart.
        """
        return [b.gep(self.type, address, b.add(first, i64(k * step))) for k in range(count)]

    def _load(self, b: Builder, addresses: Sequence[Value]) -> list[Value]:
        return [b.load(self.type, address) for address in addresses]

    def _store(self, b: Builder, addresses: Sequence[Value], rows: Sequence[Value]) -> None:
        for address, row in zip(addresses, rows, strict=True):
            b.store(row, address)

    # -- groups in memory -----------------------------------------------------------------
    def _exchanged(self, b: Builder, one: Sequence[Value], other: Sequence[Value]) -> None:
        rows, half = [*self._load(b, one), *self._load(b, other)], len(one)
        for i in range(half):
            exchange(b, rows, i, i + half)
        self._store(b, [*one, *other], rows)

    def _meet(self) -> None:
        """Write ``meet(ptr block, i64 low, i64 high)``: compare and exchange two groups of vectors,
        element by element, so that group ``low`` has the lesser ones.
        """
        b = self._builder("meet", "low", "high")
        block, low, high = b.parameters
        first, second = self._group(b, block, low), self._group(b, block, high)
        with b.loop(i64(0), i64(GROUP_VECTORS), _VECTORS_AT_ONCE, nonempty=True) as few:
            self._exchanged(b, self._lines(b, first, few.index, _VECTORS_AT_ONCE),
                            self._lines(b, second, few.index, _VECTORS_AT_ONCE))
        b.finish()

    def _flip(self) -> None:
        """``flip(ptr block, i64 low, i64 high, i64 count)``: groups from ``low`` upwards against
        those from ``high`` downwards, in reverse."""
        b = self._builder("flip", "low", "high", "count")
        block, low, high, count = b.parameters
        first, last = (b.mul(x, i64(GROUP_VECTORS)) for x in (low, b.add(high, i64(1))))
        with b.loop(i64(0), b.mul(count, i64(GROUP_VECTORS)), _VECTORS_AT_ONCE) as few:
            below = b.sub(b.sub(last, i64(1)), few.index)
            self._exchanged(b, self._lines(b, block, b.add(first, few.index), _VECTORS_AT_ONCE),
                            self._lines(b, block, below, _VECTORS_AT_ONCE, -1))
        b.finish()

    def _halve(self) -> None:
        """Write ``halve(ptr block, i64 begin, i64 end, i64 step)``: two steps of a bitonic merge,
        on groups ``step`` apart and half as far apart; the second only if ``step`` is 1.
        """
        b = self._builder("halve", "begin", "end", "step")
        block, begin, end, step = b.parameters
        half, stride = b.op("lshr", step, i64(1)), b.op("shl", step, i64(1))
        single = b.icmp("eq", half, i64(0))
        with b.when(single), b.loop(begin, b.sub(end, i64(1)), 2) as loop:
            b.call("void", "meet", block, loop.index, b.add(loop.index, i64(1)))
        iterations = b.op("udiv", b.sub(b.add(b.sub(end, begin), stride), i64(1)), stride)
        with b.loop(i64(0), b.select(single, i64(0), iterations)) as loop:
            first = b.add(begin, b.mul(loop.index, stride))
            fourth = b.add(first, b.add(half, step))
            whole = b.intrinsic("smin", b.sub(end, fourth), half)
            whole = b.intrinsic("smax", whole, i64(0))
            with b.loop(i64(0), whole) as t:
                self._fours(b, block, b.add(first, t.index), half)
            with b.loop(whole, half) as t:
                self._partly(b, block, b.add(first, t.index), half, end)
        b.finish()

    _STEPS = ((0, 2), (1, 3), (0, 1), (2, 3))

    def _fours(self, b: Builder, block: Value, first: Value, half: Value) -> None:
        """Emit two steps of a bitonic merge on four groups of vectors that are ``half`` groups
        apart.
        """
        groups = [self._group(b, block, b.add(first, b.mul(half, i64(k)))) for k in range(4)]
        with b.loop(i64(0), i64(GROUP_VECTORS), _VECTORS_AT_ONCE, nonempty=True) as few:
            addresses = [x for g in groups for x in self._lines(b, g, few.index, _VECTORS_AT_ONCE)]
            rows = self._load(b, addresses)
            for low, high in self._STEPS:
                for k in range(_VECTORS_AT_ONCE):
                    exchange(b, rows, _VECTORS_AT_ONCE * low + k, _VECTORS_AT_ONCE * high + k)
            self._store(b, addresses, rows)

    def _partly(self, b: Builder, block: Value, first: Value, half: Value, end: Value) -> None:
        """Emit two steps of a bitonic merge on four groups near the end of a block, of which some
        may not exist.
        """
        numbers = [b.add(first, b.mul(half, i64(k))) for k in range(4)]
        for low, high in self._STEPS:
            with b.when(b.icmp("slt", numbers[high], end)):
                b.call("void", "meet", block, numbers[low], numbers[high])

    def _sort_block(self) -> None:
        b = self._builder("sort_block", "groups")
        block, groups = b.parameters
        b.call("void", "sort_group", block, i64(0), groups)
        levels = b.sub(i64(64), b.intrinsic("ctlz", b.sub(groups, i64(1)), Value("false", "i1")))
        with b.loop(i64(0), levels) as level:
            size = b.op("shl", i64(1), level.index)
            double = b.op("shl", size, i64(1))
            runs = b.op("udiv", b.sub(b.add(groups, double), i64(1)), double)
            with b.loop(i64(0), runs) as run:
                self._merged(b, block, groups, size, b.mul(run.index, double))
        b.finish()

    def _merged(self, b: Builder, block: Value, groups: Value, size: Value, start: Value) -> None:
        """Merge the two sorted runs of ``size`` groups from ``start`` on; the second may be cut
        short by the end of the block.
        """
        last = b.sub(b.add(start, b.op("shl", size, i64(1))), i64(1))
        beyond = b.intrinsic("smax", b.sub(b.add(last, i64(1)), groups), i64(0))
        count = b.intrinsic("smax", b.sub(size, beyond), i64(0))
        b.call("void", "flip", block, b.add(start, beyond), b.sub(last, beyond), count)
        self._bitonic(b, block, start, b.sub(b.add(last, i64(1)), beyond), size)

    def _bitonic(self, b: Builder, block: Value, begin: Value, end: Value, size: Value) -> None:
        """Bitonic runs of ``size`` groups in order."""
        steps = b.intrinsic("cttz", size, Value("false", "i1"))
        with b.loop(i64(0), steps, 2) as loop:
            step = b.op("lshr", b.op("lshr", size, i64(1)), loop.index)
            b.call("void", "halve", block, begin, end, step)
        b.call("void", "merge_group", block, begin, end)
