"""Partitions of words by a bound, in place, a vector at a time.

A vector is compared and permuted, its lesser words first and the greater ones last, and stored
whole at both ends of the free space in the middle, whose other lanes are written later.  Vectors
are read at the end with less free space, in blocks, so that there is always space for a block at
both ends (Blacher, Giesen, Sanders, Wassenberg: Vectorized and performance-portable Quicksort,
2022).
"""

from __future__ import annotations

from agnesi.codegen.library.polls import Polls
from agnesi.codegen.library.sorting.small import there
from agnesi.codegen.llvm.builder import Builder, Value, const, i64, lanes, suffix, vector, width
from agnesi.core.target import Target

#: Vectors that are read at a time.
BLOCK_VECTORS = 4


def partition_lanes(target: Target, bits: int) -> int:
    """Words of a vector that the processor can permute by a mask; 1 where it cannot."""
    lanes_ = target.lanes(bits // 8)
    if lanes_ * bits == 512 and target.has("avx512f"):
        return lanes_
    return 256 // bits if lanes_ * bits >= 256 and target.has("avx2") else 1


def _permutations(lanes_: int, parts: int) -> list[int]:
    """For each mask the lanes that are set, then the others, as bytes of a word; lanes have
    ``parts`` parts, which are counted."""
    found = []
    for mask in range(1 << lanes_):
        first = [k for k in range(lanes_) if mask >> k & 1]
        order = [*first, *[k for k in range(lanes_) if k not in first]]
        numbers = [k * parts + p for k in order for p in range(parts)]
        found.append(int.from_bytes(bytes(numbers), "little", signed=True))
    return found


def split(b: Builder, x: Value, mask: Value) -> tuple[Value, Value]:
    """A vector with the lanes of ``mask`` first, then the others, in order; and how many."""
    n = width(x.type)
    if n == 1:
        return x, b.cast("zext", mask, "i64")
    bits = b.cast("bitcast", mask, f"i{n}")
    small = bits if n >= 8 else b.cast("zext", bits, "i8")
    count = b.cast("zext", b.intrinsic("ctpop", small), "i64")
    if n == 16:
        name = f"llvm.x86.avx512.mask.compress.{suffix(x.type)}"
        others = b.op("xor", mask, const(mask.type, True))
        last = b.call(x.type, name, x, const(x.type, 0), others)
        loop = b.sub(lanes(x.type, range(n)), b.splat(b.cast("trunc", count, "i32"), n))
        last = b.call(x.type, "llvm.x86.avx512.permvar.si.512", last, loop)
        return b.call(x.type, name, x, last, mask), count
    wide = f"<{n} x i64>" if x.type == "<8 x i64>" else "<8 x i32>"
    table = b.module.table("i64", _permutations(n, 8 // n))
    order = b.load("<8 x i8>", b.gep("i64", table, b.cast("zext", bits, "i64")), 8)
    order = b.cast("zext", order, wide)
    name = "llvm.x86.avx512.permvar.di.512" if n == 8 and wide == x.type and "64" in wide \
        else "llvm.x86.avx2.permd"
    found = b.call(wide, name, b.cast("bitcast", x, wide), order)
    return b.cast("bitcast", found, x.type), count


class Partition:
    """Writes ``i64 partition(ptr words, i64 n, word bound, ptr polls)``: words up to the bound come
    first.

    It returns how many they are.  ``n`` is at least the words of ``2 * BLOCK_VECTORS`` vectors.
    """

    def __init__(self, b: Builder, type_: str, most: int, lanes_: int) -> None:
        self.b = b
        self.words, self.n, self.bound, polls = b.parameters
        self.polls = Polls(b, polls)
        self.element = type_
        self.size = int(type_[1:]) // 8
        self.lanes = lanes_
        self.type = vector(type_, lanes_)
        self.most = most
        self.edges = b.alloca(self.type, 3 * BLOCK_VECTORS + 1)

    def write(self) -> None:
        b, n = self.b, self.n
        step = BLOCK_VECTORS * self.lanes
        whole = b.op("udiv", n, i64(self.lanes))
        blocks = b.op("udiv", b.sub(whole, i64(2 * BLOCK_VECTORS)), i64(BLOCK_VECTORS))
        edge = b.sub(whole, b.mul(blocks, i64(BLOCK_VECTORS)))
        free = b.sub(n, b.mul(blocks, i64(step)))
        rest = b.sub(n, b.mul(whole, i64(self.lanes)))
        self._keep_edges(edge, blocks, rest)
        carried = i64(step), i64(0)
        with self.polls.chunks(i64(0), blocks, carried, step) as (loop, end):
            with b.loop(loop.index, end, 1, loop.carried, nonempty=True) as inner:
                inner.carry(*self._block(inner.index, blocks, free, *inner.carried))
            loop.carry(*inner.results)
        below = loop.results[1]
        if self.lanes > 1:
            x = b.load(self.type, b.gep(self.type, self.edges, edge))
            below = self._put_partly(x, below, free, rest)
        with b.loop(i64(0), edge, 1, [below], nonempty=True) as last:
            x = b.load(self.type, b.gep(self.type, self.edges, last.index))
            left = b.mul(b.sub(edge, last.index), i64(self.lanes))
            last.carry(self._put(x, last.carried[0], left))
        (below,) = last.results
        b.finish(below)

    def _at(self, i: Value) -> Value:
        return self.b.gep(self.element, self.words, i)

    def _keep_edges(self, edge: Value, blocks: Value, rest: Value) -> None:
        """Save the first block of vectors and the last ones, so that their memory can be written.
        """
        b = self.b
        gap = b.mul(blocks, i64(BLOCK_VECTORS * self.lanes))
        for k in range(BLOCK_VECTORS):
            x = b.load(self.type, self._at(i64(k * self.lanes)), self.size)
            b.store(x, b.gep(self.type, self.edges, i64(k)))
        with b.loop(i64(BLOCK_VECTORS), edge, nonempty=True) as loop:
            at = b.add(gap, b.mul(loop.index, i64(self.lanes)))
            x = b.load(self.type, self._at(at), self.size)
            b.store(x, b.gep(self.type, self.edges, loop.index))
        if self.lanes > 1:
            at = self._at(b.add(gap, b.mul(edge, i64(self.lanes))))
            x = b.masked_load(self.type, at, there(b, i64(0), rest, self.lanes), self.size,
                              const(self.type, self.most))
            b.store(x, b.gep(self.type, self.edges, edge))

    def _block(self, number: Value, blocks: Value, free: Value, read: Value, write: Value
               ) -> list[Value]:
        """Partition one block; ``read`` and ``write`` are the positions of the next words to read
        and to write.
        """
        b, step = self.b, i64(BLOCK_VECTORS * self.lanes)
        left = b.mul(b.sub(blocks, number), step)
        free_left = b.sub(read, write)
        first = b.icmp("sle", b.add(free_left, free_left), free)
        at = b.select(first, read, b.sub(b.add(read, left), step))
        read = b.select(first, b.add(read, step), read)
        xs = [b.load(self.type, self._at(b.add(at, i64(k * self.lanes))), self.size)
              for k in range(BLOCK_VECTORS)]
        remaining = b.add(free, left)
        for k, x in enumerate(xs):
            write = self._put(x, write, b.sub(remaining, i64(k * self.lanes)))
        return [read, write]

    def _put(self, x: Value, write: Value, remaining: Value) -> Value:
        """Store a vector at both ends of what remains to be written."""
        b = self.b
        found, count = split(b, x, b.icmp("sle", x, b.splat(self.bound, self.lanes)))
        b.store(found, self._at(write), self.size)
        last = b.sub(b.add(write, remaining), i64(self.lanes))
        b.store(found, self._at(last), self.size)
        return b.add(write, count)

    def _put_partly(self, x: Value, write: Value, remaining: Value, rest: Value) -> Value:
        """Store the first ``rest`` lanes of a vector at both ends; the others exceed the bound."""
        b = self.b
        found, count = split(b, x, b.icmp("sle", x, b.splat(self.bound, self.lanes)))
        b.store(found, self._at(write), self.size)
        last = b.sub(b.add(write, remaining), rest)
        b.masked_store(found, self._at(last), there(b, i64(0), rest, self.lanes), self.size)
        return b.add(write, count)
