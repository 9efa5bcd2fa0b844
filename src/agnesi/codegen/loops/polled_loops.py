"""Loops that carry totals: long ones look for signals on their way.

What reads no memory (``arange(2**45).sum()``) has no bound to its length, into however many parts
it is cut for threads.
"""

from __future__ import annotations

from collections.abc import Callable

from agnesi.codegen.llvm.builder import Builder, Value, i64
from agnesi.core.ir.dims import Size
from agnesi.core.ir.extents import Extent, guess, is_some

#: Points of a loop between two polls for signals, and the fewest polls worth emitting.
_LOOK_POINTS, MIN_LOOKS = 1 << 17, 8


class Watch:
    """How the loops of a kernel poll for signals: ``look`` writes a poll, and whether to leave.

    :ivar points: What a loop computes between two polls.
    :ivar used: Whether a loop polls, which leaves what it computes unfinished.
    """

    def __init__(self, look: Callable[[], Value] | None) -> None:
        self.look = look
        self.points = _LOOK_POINTS
        self.used = False


def totals_loop(b: Builder, watch: Watch | None, extent: int | Extent, stop: Value, step: int,
                carried: list[Value], inside: Size,
                iteration: Callable[[Value, list[Value]], list[Value]]) -> list[Value]:
    """Emit a loop that carries totals, and return them at its end.

    ``iteration(index, totals)`` emits a pass, ``step`` further each time, up to ``stop``; it
    computes ``inside`` points for each of the ``extent``.  A long loop is cut into parts, between
    which ``watch`` looks whether it is to end early.
    """
    def iterations(start: Value, stop: Value, carried: list[Value], nonempty: bool) -> list[Value]:
        with b.loop(start, stop, step, carried, nonempty=nonempty) as loop:
            loop.carry(*iteration(loop.index, loop.carried))
        return loop.results

    size = 0
    if watch is not None and watch.look is not None and carried and not isinstance(extent, Extent):
        size = max(step, watch.points // max(1, guess(inside)))
    if watch is None or watch.look is None or not 0 < size * MIN_LOOKS < extent:
        return iterations(i64(0), stop, carried, is_some(extent))
    watch.used = True
    with b.loop(i64(0), stop, size, carried, nonempty=True) as part:
        end = b.intrinsic("smin", b.add(part.index, i64(size)), stop)
        part.carry(*iterations(part.index, end, part.carried, True))
        part.until = watch.look()
    return part.results
