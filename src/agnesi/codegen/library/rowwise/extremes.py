"""argmax and argmin of rows: first the block with the extreme, then its first such element.

NaN is the extreme where there is any.
"""

from __future__ import annotations

from collections.abc import Callable

from agnesi.codegen.library.polls import Polls, polled_task
from agnesi.codegen.llvm.builder import Builder, Value, const, i64, is_float, lanes, suffix, vector
from agnesi.codegen.llvm.task import TYPES, share
from agnesi.codegen.loops.evaluate import IDENTITY
from agnesi.core.ir.calls.sorting import VECTOR_BYTES
from agnesi.core.target import Target

#: Vectors that are compared at a time.
_VECTORS_AT_ONCE = 4
#: Elements of a row among which the extreme is looked for again: they are still near by then.
_BLOCK_ELEMENTS = 1024


def extremes_module(name: str, target: Target) -> str:
    """The module for ``name``: "maximum" or "minimum", and a dtype.

    Its function ``run`` does units of work, as kernels do; the table has the addresses of elements
    and of int64 results, elements of a row, the number of rows, and that of units.
    """
    kind, dtype = name.split()
    b = polled_task(target)
    _Extremes(b, kind, dtype).write()
    return str(b.module)


class _Extremes:
    def __init__(self, b: Builder, kind: str, dtype: str) -> None:
        self.b = b
        self.polls = Polls.begin(b, b.parameters[3])
        self.largest = kind == "maximum"
        self.type = TYPES[dtype]
        self.size = int(dtype[-2:]) // 8
        self.lanes = VECTOR_BYTES // self.size
        self.vector = vector(self.type, self.lanes)
        self.flags = vector("i1", self.lanes)
        self.floating = is_float(self.type)
        self.worst = const(self.vector, IDENTITY[kind](dtype))
        self.step = _VECTORS_AT_ONCE * self.lanes

    def write(self) -> None:
        b = self.b
        table = b.parameters[0]
        source, target = (b.load("ptr", b.gep("ptr", table, i64(k))) for k in (0, 1))
        n, count, units = (b.load("i64", b.gep("i64", table, i64(k))) for k in (2, 3, 4))

        def rows(polls: Polls, first: Value, last: Value) -> None:
            self.polls = polls
            with b.loop(first, last) as row:
                start = b.gep(self.type, source, b.mul(row.index, n))
                b.store(self._position(start, n), b.gep("i64", target, row.index))

        self.polls.rows(*share(b, count, units), n, 1, rows)
        b.finish()

    def _position(self, row: Value, n: Value) -> Value:
        b = self.b
        whole = b.op("and", n, i64(-self.step))
        best, at, has_nan = self._best(row, n, whole)
        address = b.alloca("i64", 1)
        with b.when(b.op("xor", has_nan, Value("true", "i1"))):
            b.store(self._first(row, n, at, self._end(at, whole), lambda x: self._equal(x, best)),
                    address)
        if self.floating:
            with b.when(has_nan, rare=True):
                found = self._first(row, n, i64(0), whole, lambda x: b.fcmp("uno", x, x))
                b.store(found, address)
        return b.load("i64", address)

    def _end(self, block: Value, whole: Value) -> Value:
        """Return the end of a block."""
        return self.b.intrinsic("smin", self.b.add(block, i64(_BLOCK_ELEMENTS)), whole)

    def _equal(self, x: Value, best: Value) -> Value:
        return self.b.fcmp("oeq", x, best) if self.floating else self.b.icmp("eq", x, best)

    def _first(self, row: Value, n: Value, start: Value, whole: Value,
               wanted: Callable[[Value], Value]) -> Value:
        """Return the index of the first element from ``start`` on that ``wanted`` accepts; there is
        one.
        """
        b = self.b
        with self.polls.chunks(start, whole, (i64(0), i64(0))) as (part, end):
            with b.loop(part.index, end, self.step, part.carried) as loop:
                found = self._bits(self._load(row, loop.index, None), wanted)
                loop.until = b.icmp("ne", found, i64(0))
                loop.carry(loop.index, found)
            part.carry(*loop.results)
            part.until = b.icmp("ne", loop.results[1], i64(0))
        at, found = part.results
        after, left, join = b.block, b.label("left"), b.label("join")
        b.cbr(b.icmp("eq", found, i64(0)), left, join)
        b.open_block(left)
        more = self._bits(self._load(row, whole, n), wanted)
        left = b.block
        b.br(join)
        b.open_block(join)
        at = b.phi("i64", [(at, after), (whole, left)])
        found = b.phi("i64", [(found, after), (more, left)])
        return b.add(at, b.intrinsic("cttz", found, Value("false", "i1")))

    def _load(self, row: Value, first: Value, n: Value | None) -> list[Value]:
        """Load vectors from element ``first`` on; behind the row's end ``n`` they hold the neutral
        element.
        """
        b, found = self.b, []
        for k in range(_VECTORS_AT_ONCE):
            at = b.add(first, i64(k * self.lanes))
            address = b.gep(self.type, row, at)
            if n is None:
                found.append(b.load(self.vector, address, self.size))
                continue
            numbers = lanes(vector("i64", self.lanes), range(self.lanes))
            mask = b.icmp("slt", numbers, b.splat(b.sub(n, at), self.lanes))
            found.append(b.masked_load(self.vector, address, mask, self.size, self.worst))
        return found

    def _better(self, x: Value, y: Value) -> Value:
        """Return the extreme of two vectors lane by lane; ``y`` where ``x`` is NaN."""
        if not self.floating:
            return self.b.intrinsic("smax" if self.largest else "smin", x, y)
        return self.b.select(self._exceeds(x, y), x, y)

    def _exceeds(self, x: Value, y: Value) -> Value:
        """Return the lanes in which the first of two is the better one."""
        compare, kind = (self.b.fcmp, "o") if self.floating else (self.b.icmp, "s")
        return compare(f"{kind}gt" if self.largest else f"{kind}lt", x, y)

    def _best(self, row: Value, n: Value, whole: Value) -> tuple[Value, Value, Value]:
        """Return the extreme of a row's numbers in all lanes, the start of the block that has it
        first, and whether there is any NaN.
        """
        b = self.b
        nothing = self.worst, i64(0), const(self.flags, False)
        with self.polls.chunks(i64(0), whole, nothing) as (part, stop):
            with b.loop(part.index, stop, _BLOCK_ELEMENTS, part.carried) as block:
                best, at, has_nan = block.carried
                end = self._end(block.index, whole)
                carried = [*[best] * _VECTORS_AT_ONCE, has_nan]
                with b.loop(block.index, end, self.step, carried, nonempty=True) as loop:
                    loop.carry(*self._folded(self._load(row, loop.index, None), loop.carried))
                *vectors, has_nan = loop.results
                block.carry(*self._improved(vectors, block.index, best, at), has_nan)
            part.carry(*block.results)
        best, at, has_nan = part.results
        *vectors, has_nan = self._folded(
            self._load(row, whole, n), [*[best] * _VECTORS_AT_ONCE, has_nan]
        )
        best, at = self._improved(vectors, whole, best, at)
        return best, at, b.call("i1", f"llvm.vector.reduce.or.{suffix(self.flags)}", has_nan)

    def _improved(self, vectors: list[Value], here: Value, best: Value,
                  at: Value) -> tuple[Value, Value]:
        """The extreme and its block, with the vectors of the block that begins here."""
        b = self.b
        while len(vectors) > 1:
            vectors = [self._better(x, y) for x, y in zip(vectors[::2], vectors[1::2], strict=True)]
        (x,), bit, before = vectors, 1, b.block
        flags = b.cast("bitcast", self._exceeds(x, best), f"i{self.lanes}")
        better, after = b.label("better"), b.label("after")
        b.cbr(b.icmp("ne", flags, const(flags.type, 0)), better, after)
        b.open_block(better)
        while bit < self.lanes:
            x = self._better(b.shuffle(x, None, [k ^ bit for k in range(self.lanes)]), x)
            bit *= 2
        better = b.block
        b.br(after)
        b.open_block(after)
        return (b.phi(x.type, [(best, before), (x, better)]),
                b.phi("i64", [(at, before), (here, better)]))

    def _folded(self, vectors: list[Value], carried: list[Value]) -> list[Value]:
        *best, has_nan = carried
        if self.floating:
            for x, y in zip(vectors[::2], vectors[1::2], strict=True):
                has_nan = self.b.op("or", has_nan, self.b.fcmp("uno", x, y))
        return [*[self._better(x, y) for x, y in zip(vectors, best, strict=True)], has_nan]

    def _bits(self, vectors: list[Value], wanted: Callable[[Value], Value]) -> Value:
        """A bit for each element that is wanted."""
        b, found = self.b, i64(0)
        for k, x in enumerate(vectors):
            bits = b.cast("zext", b.cast("bitcast", wanted(x), f"i{self.lanes}"), "i64")
            found = b.op("or", found, b.op("shl", bits, i64(k * self.lanes)))
        return found
