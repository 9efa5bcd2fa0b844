"""Polls of our functions that may run long, so that signals end them (``codegen/interrupts.py``).

They count their work.  A function that is interrupted returns soon, with an undefined result, which
the calling program discards, because it polls as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from agnesi.codegen.interrupts import poll
from agnesi.codegen.llvm.builder import Builder, Loop, Module, Value, const, i64
from agnesi.codegen.llvm.task import task
from agnesi.core.target import Target

#: Elements between two polls: about a quarter of a millisecond.
_POLL_ELEMENTS = 1 << 18
_SINCE, _THREAD, _LEFT = range(3)


def write_polls(module: Module) -> None:
    """Write ``i1 worked(ptr polls, i64 n)``: counts work, polls for signals, and returns whether to
    stop.
    """
    b = Builder(module, "worked", [("ptr", "polls"), ("i64", "n")], "i1")
    address, n = b.parameters
    since, thread, left = (b.gep("i64", address, i64(k)) for k in (_SINCE, _THREAD, _LEFT))
    total = b.add(b.load("i64", since), n)
    b.store(total, since)
    with b.when(b.icmp("sge", total, i64(_POLL_ELEMENTS)), rare=True):
        b.store(i64(0), since)
        code = poll(b, b.load("i64", thread))
        b.store(b.cast("zext", b.icmp("ne", code, const("i32", 0)), "i64"), left)
    b.finish(b.icmp("ne", b.load("i64", left), i64(0)))


def polled_task(target: Target) -> Builder:
    """Return the builder of a function ``run`` over work units, in a module with ``worked``."""
    module = Module(target)
    write_polls(module)
    return task(module)


class Polls:
    """The work of a call since its last poll, and whether the call is to end; at an address."""

    def __init__(self, b: Builder, address: Value) -> None:
        self.b = b
        self.address = address

    @classmethod
    def begin(cls, b: Builder, thread: Value) -> Polls:
        """Allocate the counters of one call by one thread."""
        found = cls(b, b.alloca("i64", 3))
        for k, value in ((_SINCE, i64(0)), (_THREAD, thread), (_LEFT, i64(0))):
            b.store(value, b.gep("i64", found.address, i64(k)))
        return found

    def rows(self, first: Value, last: Value, n: Value, several: int,
             work: Callable[[Polls, Value, Value], None]) -> None:
        """Emit a loop over rows of ``n`` elements, in groups of ``several``.

        ``work(polls, start, stop)`` emits the work on a range of rows, which poll only if they are
        long.
        """
        b = self.b
        longest = b.intrinsic("smax", n, i64(1))
        size = b.mul(b.add(b.op("udiv", i64(_POLL_ELEMENTS), longest), i64(1)), i64(several))
        count = b.op("udiv", b.add(b.sub(last, first), b.sub(size, i64(1))), size)

        def groups(polls: Polls) -> list[Value]:
            with b.loop(i64(0), count) as group:
                start = b.add(first, b.mul(group.index, size))
                stop = b.intrinsic("smin", b.add(start, size), last)
                work(polls, start, stop)
                group.until = polls.finished(b.mul(b.sub(stop, start), n))
            return []

        b.either(b.icmp("sge", b.mul(n, i64(several)), i64(_POLL_ELEMENTS)),
                 lambda: groups(self), lambda: groups(_Short(b, self.address)))

    def interrupted(self) -> Value:
        """Return whether the function is to be left."""
        b = self.b
        return b.icmp("ne", b.load("i64", b.gep("i64", self.address, i64(_LEFT))), i64(0))

    def remaining(self, n: Value) -> Value:
        """Return ``n``, or 0 if the function is to stop."""
        return self.b.select(self.interrupted(), i64(0), n)

    def worked(self, n: Value) -> Value:
        """Count ``n`` elements of work; return whether the function is to be left for a signal."""
        return self.b.call("i1", "worked", self.address, n)

    def finished(self, n: Value) -> Value:
        """Return whether to stop; rows that are processed in chunks were counted there."""
        return self.interrupted()

    @contextmanager
    def chunks(self, first: Value, last: Value, carried: tuple[Value, ...] = (), each: int = 1
               ) -> Iterator[tuple[Loop, Value]]:
        """Emit a loop over chunks of a range, each followed by a poll; yield the loop and the end
        of the chunk.

        ``each`` is the number of elements per item of the range.
        """
        b, size = self.b, _POLL_ELEMENTS // each
        with b.loop(first, last, size, carried) as loop:
            end = b.intrinsic("smin", b.add(loop.index, i64(size)), last)
            yield loop, end
            interrupted = self.worked(b.mul(b.sub(end, loop.index), i64(each)))
            known = loop.until
            loop.until = interrupted if known is None else b.op("or", known, interrupted)


class _Short(Polls):
    """Polls between short rows, which are counted as a whole."""

    def finished(self, n: Value) -> Value:
        return self.worked(n)

    @contextmanager
    def chunks(self, first: Value, last: Value, carried: tuple[Value, ...] = (), each: int = 1
               ) -> Iterator[tuple[Loop, Value]]:
        loop = Loop(first, list(carried))
        yield loop, last
        loop.results = loop.next
