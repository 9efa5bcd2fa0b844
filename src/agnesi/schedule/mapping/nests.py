"""The decisions about the loops of nests: their order, their lanes, and who takes which part."""

from __future__ import annotations

from collections.abc import Sequence

from agnesi.core.ir.collapse import cost, total_work
from agnesi.core.ir.extents import guess
from agnesi.core.ir.kernels import Branch, Loop, Nest
from agnesi.core.ir.loops import Axis, Expr
from agnesi.core.ir.mapping import BLOCK_ELEMENTS, NestPlan
from agnesi.core.support.policy import FAST_RUN, CompilePolicy
from agnesi.core.support.record import replace
from agnesi.core.target import Target
from agnesi.schedule.mapping.full_unroll import written_out
from agnesi.schedule.mapping.lanes import (
    is_written_once,
    lanes_for,
    lanes_with_periods,
    native_lanes,
)
from agnesi.schedule.mapping.loop_order import loops_of

#: Elements along the lanes in a unit of work.
_UNIT_ELEMENTS = 2048
#: The same where loops around the lanes are run for each.
_OUTER_UNIT_ELEMENTS = 64
#: The same where each element is a sum.
_SUM_UNIT_ELEMENTS = 128
#: Instructions of a kernel that is inlined into a loop, at most.
_MAX_INLINE_INSTRUCTIONS = 400
#: Instructions of all kernels of a loop that are inlined.
_MAX_LOOP_INSTRUCTIONS = 2000


class LoopMapping:
    """How nests run on a target, under a compile policy (``core.ir.mapping.Mapping``)."""

    def __init__(self, target: Target, policy: CompilePolicy = FAST_RUN) -> None:
        self._target = target if policy.vector_loops else target.without_vectors()
        self._policy = policy

    def nest(self, nest: Nest) -> NestPlan:
        """Choose the loops of a nest, the axis of the lanes, and the units of work."""
        axes, stores, ordered, along, across = loops_of(nest)
        threshold = self._target.costs.nest_operations
        outer = [a for a in axes if a is not along]
        work = total_work(stores)
        if ordered and guess(work) >= threshold:
            outer.sort(key=lambda a: a in ordered)
        sums = any(s.value.reduces for s in stores)
        block = _unit_elements(outer, along, sums)
        if outer and outer[0] not in ordered:
            units = outer[0].extent
        elif along is not None and (not outer or guess(work) >= threshold):
            units = (along.extent + (block - 1)) // block
        else:
            units = 1
        if across is not None:
            block = BLOCK_ELEMENTS
        if not self._policy.transposed_blocks:
            across = None
        loops = (*outer, along) if along is not None else tuple(outer)
        return NestPlan(loops, stores, along, units, work, ordered, block, across, threshold)

    def inlined(self, kernel: Loop | Branch) -> dict[int, NestPlan]:
        """Return the nests, by id, that are emitted inside the code of the loop instead of being
        called: those that one thread runs in few instructions. Nests of few points are unrolled.
        """
        found: dict[int, NestPlan] = {}
        left = _MAX_LOOP_INSTRUCTIONS
        for inner in (k for block in kernel.blocks() for k in block.kernels):
            if not isinstance(inner, Nest):
                continue
            straight = written_out(inner) if self._policy.vector_loops else inner
            instructions = cost([s.value for s in straight.body])
            if instructions > min(left, _MAX_INLINE_INSTRUCTIONS):
                continue
            whole = self.nest(inner)
            if not whole.parallel:
                left -= instructions
                found[id(inner)] = whole if straight is inner else replace(
                    self.nest(straight), work=whole.work)
        return found

    def lanes(self, values: Sequence[Expr], axis: Axis, carries: bool = False) -> int:
        """Lanes of a loop, several registers wide for cheap bodies."""
        return lanes_for(values, axis, carries, self._target, self._policy)

    def native_lanes(self, values: Sequence[Expr]) -> int:
        """Lanes that fill one register."""
        return native_lanes(values, self._target)

    def periodic_lanes(self, lanes: int, values: Sequence[Expr], axis: Axis) -> int:
        """Lanes in whole periods of the quotients and remainders in the values, so that shuffles
        can serve loads."""
        return lanes_with_periods(lanes, native_lanes(values, self._target), values, axis)

    def masks_all(self, values: Sequence[Expr], axis: Axis) -> bool:
        """Return whether one masked loop takes all iterations."""
        return is_written_once(values, axis, self._target, self._policy)


def _unit_elements(outer: Sequence[Axis], along: Axis | None, sums: bool) -> int:
    """Return how many elements along the axis of the lanes make a unit of work."""
    if outer:
        return _OUTER_UNIT_ELEMENTS
    if not sums:
        return _UNIT_ELEMENTS
    short = along is not None and guess(along.extent) <= 2 * _SUM_UNIT_ELEMENTS
    return _SUM_UNIT_ELEMENTS // 2 if short else _SUM_UNIT_ELEMENTS
