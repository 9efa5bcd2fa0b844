"""Blocks of memory at indices of rows: copied, each by whole lines of the cache.

Lines are written whole but for a block's ends, which overlap what is between them; where results
are larger than the caches, past these.
"""

from __future__ import annotations

from agnesi.codegen.library.polls import polled_task
from agnesi.codegen.library.rowwise.indexed import IndexedRows
from agnesi.codegen.llvm.builder import Value, i64
from agnesi.codegen.llvm.instructions import prefetch
from agnesi.codegen.llvm.task import share
from agnesi.core.target import LINE_BYTES, Target

#: Lines that are read at a time.
_LINES_AT_ONCE = 4
#: Bytes that count as an element where polls are due.
_ELEMENT_BYTES = 4
_VECTOR = f"<{LINE_BYTES // 4} x i32>"


def blocks_module(name: str, target: Target) -> str:
    """The module for ``name``: the dtype of indices, and "past" where results pass the caches.

    Its function ``run`` does what that of ``take_module`` does, with blocks for elements; behind
    the units, the table has the bytes of a block.
    """
    indices, *past = name.split()
    b = polled_task(target)
    _Blocks(b, "i8", indices, False).write_blocks(bool(past))
    return str(b.module)


class _Blocks(IndexedRows):
    def write_blocks(self, past: bool) -> None:
        b = self.b
        self.past = past
        self.bytes = b.load("i64", b.gep("i64", b.parameters[0], i64(9)))
        first, last = share(b, b.mul(self.count, self.m), self.units)
        with b.when(b.icmp("slt", first, last)):
            end = b.sub(last, i64(1))
            with b.loop(first, last, 1, [self._source(first)], nonempty=True) as loop:
                (source,) = loop.carried
                # The hardware prefetcher cannot predict gathered blocks: prefetch the next one
                # here.
                following = self._source(b.intrinsic("smin", b.add(loop.index, i64(1)), end))
                target = b.gep("i8", self.target, b.mul(loop.index, self.bytes))
                self._copy(source, target, following)
                loop.carry(following)
                loop.until = self.polls.worked(b.op("udiv", self.bytes, i64(_ELEMENT_BYTES)))
        b.finish()

    def _source(self, loop: Value) -> Value:
        """Return the address of the block that an iteration reads."""
        b = self.b
        row, i = b.op("udiv", loop, self.m), b.op("urem", loop, self.m)
        offset = b.add(b.mul(row, self.n), self._located(i))
        return b.gep("i8", self.source, b.mul(offset, self.bytes))

    def _copy(self, source: Value, target: Value, following: Value) -> None:
        """Copy a block, and prefetch the one that follows."""
        b = self.b

        def move(at: Value, whole: bool = False) -> None:
            line, address = b.load(_VECTOR, b.gep("i8", source, at), 1), b.gep("i8", target, at)
            if whole and self.past:
                b.stream(line, address)
            else:
                b.store(line, address, LINE_BYTES if whole else 1)
            prefetch(b, b.gep("i8", following, at), near=True)

        last = b.sub(self.bytes, i64(LINE_BYTES))
        move(i64(0))
        address = b.cast("ptrtoint", target, "i64")
        start = b.sub(i64(LINE_BYTES), b.op("and", address, i64(LINE_BYTES - 1)))
        whole = b.op("and", b.sub(last, start), i64(-_LINES_AT_ONCE * LINE_BYTES))
        middle = b.add(start, whole)
        with b.loop(start, middle, _LINES_AT_ONCE * LINE_BYTES) as loop:
            for k in range(_LINES_AT_ONCE):
                move(b.add(loop.index, i64(k * LINE_BYTES)), True)
        with b.loop(middle, last, LINE_BYTES) as loop:
            move(loop.index, True)
        move(last)
