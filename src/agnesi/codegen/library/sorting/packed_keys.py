"""Words of 64 bits: the upper bits of a key of 64 bits, with the position of its element below.

Keys are counted from the least one, shifted up by the bits that the range of all leaves free, and
cut off by the bits that positions need.  Mostly nothing is lost, or hardly two keys become alike.
"""

from __future__ import annotations

from agnesi.codegen.library.polls import Polls
from agnesi.codegen.library.sorting.rows import Rows, Spec
from agnesi.codegen.llvm.builder import Builder, Value, const, i64, suffix, vector, width

_YES = Value("true", "i1")
#: The greatest and the least key of 64 bits.
_GREATEST_KEY = (1 << 63) - 1
_LEAST_KEY = -1 << 63


class Squeezed:
    """The range and the set bits of the keys of rows, collected while they are read, ``lanes`` at a
    time.
    """

    def __init__(self, rows: Rows, lanes_: int) -> None:
        self.rows = rows
        self.b = rows.b
        self.type = vector("i64", lanes_)
        self.known = [self.b.alloca(self.type, 1) for _ in range(3)]

    def begin(self) -> None:
        for address, value in zip(self.known, (_GREATEST_KEY, _LEAST_KEY, 0), strict=True):
            self.b.store(const(self.type, value), address)

    def note(self, key: Value, mask: Value | None) -> None:
        """Update the minimum, the maximum and the set bits of the keys, where ``mask`` is set."""
        b = self.b
        order_mask = b.splat(self.rows.order_mask, width(key.type))
        bits = b.op("xor", key, order_mask)
        seen = (("smin", key, _GREATEST_KEY), ("smax", key, _LEAST_KEY), ("or", bits, 0))
        for address, (name, x, none) in zip(self.known, seen, strict=True):
            if mask is not None:
                x = b.select(mask, x, const(x.type, none))
            old = b.load(x.type, address)
            b.store(b.op("or", old, x) if name == "or" else b.intrinsic(name, old, x), address)

    def settle(self) -> tuple[Value, Value, Value]:
        """Return the least key, the number of low bits that shortened keys drop, and whether that
        loses nothing.
        """
        b = self.b
        least, most, bits = (
            b.call("i64", f"llvm.vector.reduce.{name}.{suffix(self.type)}", b.load(self.type, x))
            for name, x in zip(("smin", "smax", "or"), self.known, strict=True))
        free = b.intrinsic("ctlz", b.sub(most, least), Value("false", "i1"))
        needed = b.intrinsic("ctpop", self.rows.low)
        shift = b.intrinsic("smin", free, needed)
        dropped = b.op("and", b.op("shl", bits, shift), self.rows.low)
        return least, shift, b.icmp("eq", dropped, i64(0))


def squeezed(b: Builder, key: Value, least: Value, shift: Value) -> Value:
    """Keys as signed integers of the same order, of which only the upper bits are exact."""
    n = width(key.type)
    above = b.op("shl", b.sub(key, b.splat(least, n)), b.splat(shift, n))
    return b.op("xor", above, const(key.type, _LEAST_KEY))


def with_position(rows: Rows, key: Value, position: Value) -> Value:
    """Words of such integers with their positions."""
    b, n = rows.b, width(key.type)
    upper = b.op("and", key, b.splat(b.op("xor", rows.low, i64(-1)), n))
    return b.op("or", upper, position if width(position.type) == n else b.splat(position, n))


class Ties:
    """Writes ``sort_ties(ptr table, i64 start, ptr words, i64 least, ptr polls)``: words in order,
    of which those with equal upper bits are put in the order of all bits; only their positions are
    right then.
    """

    def __init__(self, b: Builder, spec: Spec, lanes_: int) -> None:
        self.b = b
        table, self.start, self.words, self.least, polls = b.parameters
        self.polls = Polls(b, polls)
        self.rows = Rows(b, spec, table)
        self.lanes = lanes_
        self.low = self.rows.low
        self.up = b.sub(i64(64), b.intrinsic("ctpop", self.low))
        self.done = b.alloca("i64", 1)

    def write(self) -> None:
        b = self.b
        pairs = b.sub(self.rows.n, i64(1))
        b.store(i64(0), self.done)
        few = b.icmp("slt", pairs, i64(self.lanes))
        with b.when(few):
            self._look(i64(0), pairs)
        last = b.sub(pairs, i64(self.lanes))
        pairs = b.select(few, i64(0), pairs)
        with self.polls.chunks(i64(0), pairs) as (part, stop), \
                b.loop(part.index, stop, self.lanes, nonempty=True) as loop:
            first = b.intrinsic("smin", loop.index, last)
            alike = b.cast("bitcast", self._alike(first, self.lanes), f"i{self.lanes}")
            with b.when(b.icmp("ne", alike, const(alike.type, 0)), rare=True):
                self._look(first, b.add(first, i64(self.lanes)))
        b.finish()

    def _alike(self, i: Value, count: int = 1) -> Value:
        """Return whether words have the upper bits of the next ones."""
        b, type_ = self.b, vector("i64", count)
        x, y = (b.load(type_, b.gep("i64", self.words, b.add(i, i64(k))), 8) for k in (0, 1))
        return b.icmp("ule", b.op("xor", x, y), b.splat(self.low, count))

    def _look(self, first: Value, last: Value) -> None:
        """Sort the runs of equal shortened keys that begin in a range."""
        b = self.b
        with b.loop(first, last) as loop:
            ahead = b.icmp("sge", loop.index, b.load("i64", self.done))
            with b.when(ahead), b.when(self._alike(loop.index)):
                end = self._end(loop.index)
                self._sort(loop.index, end)
                b.store(end, self.done)

    def _end(self, begin: Value) -> Value:
        b = self.b
        last = b.sub(self.rows.n, i64(1))
        with self.polls.chunks(begin, last, (last,)) as (part, stop):
            with b.loop(part.index, stop, 1, part.carried, nonempty=True) as loop:
                loop.until = b.op("xor", self._alike(loop.index), _YES)
                loop.carry(b.select(loop.until, loop.index, last))
            part.until = b.icmp("ne", loop.results[0], last)
            part.carry(*loop.results)
        return b.add(part.results[0], i64(1))

    def _sort(self, begin: Value, end: Value) -> None:
        b, rows = self.b, self.rows
        with self.polls.chunks(begin, end) as (part, stop), \
                b.loop(part.index, stop, nonempty=True) as loop:
            at = b.gep("i64", self.words, loop.index)
            position = b.op("and", b.load("i64", at), self.low)
            key = rows.key(rows.load(rows.at(self.start, position)))
            b.store(with_position(rows, squeezed(b, key, self.least, self.up), position), at)
        b.call("void", "sort_words", b.gep("i64", self.words, begin), b.sub(end, begin),
               self.polls.address)
