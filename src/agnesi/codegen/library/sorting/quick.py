"""Quicksort of words by partitions of vectors, for rows of any length; also of some positions only.

Runs that fit into registers are sorted there.  Others are partitioned by the median of a sample
(the pivot), which is random after many runs, so that no input order is a worst case.  If no word
of a run is greater than its pivot, the run was partitioned by the same pivot before: the smaller
words are split off then, and the others are equal.
"""

from __future__ import annotations

from agnesi.codegen.library.polls import Polls, write_polls
from agnesi.codegen.library.sorting.partition import Partition, partition_lanes
from agnesi.codegen.library.sorting.small import write_small
from agnesi.codegen.llvm.builder import Builder, Loop, Module, Value, const, i64, vector
from agnesi.core.target import Target

#: Runs that wait: the lesser of two is sorted first, so there are no more than bits of a length.
_MAX_WAITING = 64
#: Runs whose samples are the same in each call, so that elements beside wanted positions are.
_MAX_REPEATABLE = 256
#: Samples have that power of two words, from so many words on.
_SAMPLES = ((5, 1 << 12), (7, 1 << 14))
#: An odd number near 2**64 divided by the golden ratio, whose multiples are spread evenly.
_GOLDEN = 0x9E3779B97F4A7C15 - (1 << 64)
#: Width of the vectors of targets that have none.
_MIN_VECTOR_BITS = 128
_YES = Value("true", "i1")
_POLLS = "ptr", "polls"


def word_lanes(target: Target, bits: int) -> int:
    """Words of such a size in the vectors that a short run is sorted in."""
    return max(_MIN_VECTOR_BITS // bits, target.lanes(bits // 8))


def write_quick(module: Module, type_: str, most: int) -> None:
    """Write ``sort_words(ptr words, i64 n, ptr polls)`` for signed integers of a type, none above
    ``most``."""
    bits = int(type_[1:])
    lanes = word_lanes(module.target, bits)

    def function(name: str, result: str, *more: tuple[str, str]) -> Builder:
        return Builder(module, name, [("ptr", "words"), ("i64", "n"), *more, _POLLS], result)

    write_polls(module)
    few = write_small(module, type_, most, lanes)
    Partition(function("partition", "i64", (type_, "bound")), type_, most,
              partition_lanes(module.target, bits)).write()
    _write_bound(function("draw_bound", type_, ("i64", "seed")), type_)
    _write_rises(function("rises", "i1"), type_, lanes)
    _Quick(function("order_words", "void", ("i64", "first"), ("i64", "last")), type_, most,
           few).write()
    b = function("sort_words", "void")
    words, n, polls = b.parameters
    b.call("void", "order_words", words, n, i64(0), n, polls)
    b.finish()


def _write_rises(b: Builder, type_: str, lanes: int) -> None:
    """Write ``i1 rises(ptr words, i64 n, ptr polls)``: whether more than a vector of words are in
    order.
    """
    words, n, polls = b.parameters
    row = vector(type_, lanes)
    last = b.sub(n, i64(lanes + 1))
    size = int(type_[1:]) // 8
    with Polls(b, polls).chunks(i64(0), n, (_YES,)) as (part, end):
        with b.loop(part.index, end, lanes, [_YES], nonempty=True) as loop:
            at = b.intrinsic("smin", loop.index, last)
            x, y = (b.load(row, b.gep(type_, words, b.add(at, i64(k))), size) for k in (0, 1))
            falls = b.cast("bitcast", b.icmp("sgt", x, y), f"i{lanes}")
            loop.until = b.icmp("ne", falls, const(falls.type, 0))
            loop.carry(b.op("xor", loop.until, _YES))
        part.until = b.op("xor", loop.results[0], _YES)
        part.carry(loop.results[0])
    b.finish(part.results[0])


def _write_bound(b: Builder, type_: str) -> None:
    """Write ``draw_bound(ptr words, i64 n, i64 seed, ptr polls)``, which returns the pivot of a
    partition: the median of a sample of the words.
    """
    words, n, seed, polls = b.parameters
    sample = b.alloca(type_, 1 << _SAMPLES[-1][0])

    def at(i: Value) -> Value:
        return b.load(type_, b.gep(type_, words, i))

    def few() -> list[Value]:
        """Return the pseudomedian of nine words: the median of three medians."""
        step = b.op("lshr", b.sub(n, i64(1)), i64(3))
        xs = [at(b.mul(step, i64(k))) for k in range(9)]
        return [_middle(b, *[_middle(b, *xs[k::3]) for k in range(3)])]

    def many() -> list[Value]:
        """Return the median of a random sample, one word from each of equal parts."""
        power = i64(_SAMPLES[0][0])
        for bits, least in _SAMPLES[1:]:
            power = b.select(b.icmp("sge", n, i64(least)), i64(bits), power)
        count, step = b.op("shl", i64(1), power), b.op("lshr", n, power)
        with b.loop(i64(0), count, nonempty=True) as loop:
            mixed = b.mul(b.add(seed, loop.index), i64(_GOLDEN))
            offset = b.op("lshr", b.mul(b.op("lshr", mixed, i64(32)), step), i64(32))
            x = at(b.add(b.mul(loop.index, step), offset))
            b.store(x, b.gep(type_, sample, loop.index))
        b.call("void", "sort_words", sample, count, polls)
        return [b.load(type_, b.gep(type_, sample, b.op("lshr", count, i64(1))))]

    b.finish(*b.either(b.icmp("slt", n, i64(_SAMPLES[0][1])), few, many))


def _middle(b: Builder, x: Value, y: Value, z: Value) -> Value:
    low, high = b.intrinsic("smin", x, y), b.intrinsic("smax", x, y)
    return b.intrinsic("smax", low, b.intrinsic("smin", high, z))


class _Quick:
    """Writes ``order_words(ptr words, i64 n, i64 first, i64 last, ptr polls)``: partial sorting.

    Afterwards the words at ``first`` to ``last`` are those of the sorted order, with lesser ones
    before and greater ones after them.
    """

    def __init__(self, b: Builder, type_: str, most: int, few: int) -> None:
        self.b = b
        self.type = type_
        self.most = most
        self.few = few
        self.words, self.n, self.first, self.last, polls = b.parameters
        self.polls = Polls(b, polls)
        self.starts, self.sizes = (b.alloca("i64", _MAX_WAITING) for _ in range(2))
        self.greatest = b.alloca(type_, _MAX_WAITING)

    def write(self) -> None:
        b = self.b
        short = b.icmp("sle", self.n, i64(self.few))
        with b.when(short):
            b.call("void", "sort_few", self.words, self.n)
        with b.when(b.op("xor", short, _YES)):
            done = b.call("i1", "rises", self.words, self.n, self.polls.address)
            done = b.op("or", done, self.polls.interrupted())
            with b.when(b.op("xor", done, _YES)):
                b.module.declare("llvm.readcyclecounter", "i64", [])
                self.seed_cycles = b.call("i64", "llvm.readcyclecounter")
                self._push(i64(0), i64(0), self.n, const(self.type, self.most))
                with b.loop(i64(0), i64((1 << 63) - 1), 1, [i64(1)], nonempty=True) as loop:
                    self._run(loop)
        b.finish()

    def _push(self, top: Value, start: Value, n: Value, greatest: Value) -> Value:
        """Push a run of words on the stack if its positions are among those that are wanted; return
        the new number of runs on the stack.
        """
        b = self.b
        b.store(start, b.gep("i64", self.starts, top))
        b.store(n, b.gep("i64", self.sizes, top))
        b.store(greatest, b.gep(self.type, self.greatest, top))
        reached = b.op("and", b.icmp("sle", start, self.last),
                       b.icmp("sgt", b.add(start, n), self.first))
        waits = b.op("and", b.icmp("sgt", n, i64(1)), reached)
        return b.add(top, b.cast("zext", waits, "i64"))

    def _run(self, loop: Loop) -> None:
        """Sort a short run, or partition a long one."""
        b = self.b
        top = b.sub(loop.carried[0], i64(1))
        start, n = (b.load("i64", b.gep("i64", x, top)) for x in (self.starts, self.sizes))
        words = b.gep(self.type, self.words, start)

        def few() -> list[Value]:
            b.call("void", "sort_few", words, n)
            return [top]

        def cut() -> list[Value]:
            return [self._cut(top, start, n, loop.index)]

        (waiting,) = b.either(b.icmp("sle", n, i64(self.few)), few, cut)
        loop.until = b.op("or", b.icmp("eq", waiting, i64(0)), self.polls.interrupted())
        loop.carry(waiting)

    def _cut(self, top: Value, start: Value, n: Value, number: Value) -> Value:
        b, words = self.b, self.b.gep(self.type, self.words, start)
        greatest = b.load(self.type, b.gep(self.type, self.greatest, top))
        many = b.icmp("sge", number, i64(_MAX_REPEATABLE))
        seed = b.add(b.select(many, self.seed_cycles, i64(0)), b.op("shl", number, i64(8)))
        drawn = b.call(self.type, "draw_bound", words, n, seed, self.polls.address)
        alike = b.icmp("eq", drawn, greatest)
        bound = b.select(alike, b.intrinsic("ssub.sat", drawn, const(self.type, 1)), drawn)
        below = b.call("i64", "partition", words, n, bound, self.polls.address)
        above = b.sub(n, below)
        # Nothing is less than the least of all words.
        none = b.op("and", alike, b.icmp("eq", above, i64(0)))
        runs = [(start, b.select(none, i64(0), below), bound),
                (b.add(start, below), b.select(alike, i64(0), above), greatest)]
        swap = b.icmp("sgt", runs[0][1], runs[1][1])
        for k in (0, 1):  # the longer one first
            top = self._push(top, *[b.select(swap, x, y)
                                    for x, y in zip(runs[k], runs[1 - k], strict=True)])
        return top
