"""Unrolling of short innermost loops, so that lanes run along the next loop outwards.

Such as the colours of pixels, or the copies of an element that is repeated.
"""

from __future__ import annotations

from collections.abc import Sequence

from agnesi.core.ir.collapse import cost
from agnesi.core.ir.extents import guess
from agnesi.core.ir.kernels import Store, walk
from agnesi.core.ir.loops import Affine, Axis, Expr, Substitution
from agnesi.core.ir.mapping import LONGEST_STEP, MAX_JOINED_STORES
from agnesi.schedule.mapping.full_unroll import ShortSums

#: Instructions of what is unrolled, at most.
_MAX_UNROLLED_INSTRUCTIONS = 200
#: Iterations of the loop along the lanes, at least.
_MIN_LANE_ITERATIONS = 16
#: The longest stride between what lanes read, to be faster than short vectors for each iteration.
_MAX_LANE_STRIDE = 3
#: Instructions for each store from which lanes may read at all strides that shuffles are used for.
_MIN_INSTRUCTIONS = 8


def unrolled(axes: tuple[Axis, ...], stores: list[Store]
             ) -> tuple[tuple[Axis, ...], list[Store], Axis | None]:
    """The loops and stores without the innermost loop, and the one for the lanes, if any."""
    short = next((a for a in reversed(axes) if stores[0].offset.terms.get(a) == 1), None)
    if short is None or not isinstance(short.extent, int) or short.extent > MAX_JOINED_STORES:
        return axes, stores, None
    long = next((a for a in axes if stores[0].offset.terms.get(a) == short.extent), None)
    if long is None or guess(long.extent) < _MIN_LANE_ITERATIONS or not _is_joined(
            stores, short, long):
        return axes, stores, None
    sums = ShortSums(MAX_JOINED_STORES)
    whole = [sums(s.value) for s in stores]
    iterations = [Substitution({short: Affine(k)}) for k in range(short.extent)]
    found = [Store(s.buffer, iteration.index(s.offset), iteration(value))
             for s, value in zip(stores, whole, strict=True) for iteration in iterations]
    if not _gains([s.value for s in found], long):
        return axes, stores, None
    return tuple([a for a in axes if a is not short]), found, long


def _is_joined(stores: Sequence[Store], short: Axis, long: Axis) -> bool:
    """Return whether all stores are contiguous along both axes."""
    return all(
        s.offset.terms.get(short) == 1
        and s.offset.terms.get(long) == short.extent
        and not s.offset.atoms
        and not s.value.dtype.startswith("complex")
        for s in stores
    )


def _gains(unrolled: Sequence[Expr], long: Axis) -> bool:
    """Return whether values are few instructions, and what they read can be shuffled into lanes."""
    values = [*walk(list(unrolled))]
    instructions = cost(unrolled)
    longest = LONGEST_STEP if instructions >= _MIN_INSTRUCTIONS * len(unrolled) else (
        _MAX_LANE_STRIDE)
    return (
        instructions <= min(_MAX_UNROLLED_INSTRUCTIONS, guess(long.extent))
        and all(_reads(v.param[1], long, longest) for v in values if v.op == "load")
        and not any(v.op in ("reduce", "steps") for v in values)
    )


def _reads(at: Affine, long: Axis, longest: int) -> bool:
    """Return whether neighbouring lanes read addresses near each other."""
    step = at.terms.get(long, 0)
    return isinstance(step, int) and 0 <= step <= longest and not any(
        long in a.free for a in at.atoms)
