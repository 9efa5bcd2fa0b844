"""Which axis of a nest the lanes run along: its loop is the innermost one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from agnesi.core.ir.costs import instructions_of
from agnesi.core.ir.extents import guess
from agnesi.core.ir.kernels import Store, walk
from agnesi.core.ir.loops import ITEM_BYTES, Affine, Axis, Expr
from agnesi.core.ir.mapping import LONGEST_STEP

#: Elements of a cache line, about.
_LINE = 8
#: Of the register that instructions are counted for, whatever the target has.
_REGISTER_BYTES = 32
#: For each lane of a load: at any addresses, and at a short stride, for which shuffles serve.
#: Measured on Zen 3: 0.45 ns and 0.2 ns, where a scalar operation takes 0.26 ns.
_GATHER_INSTRUCTIONS, _SHUFFLE_INSTRUCTIONS = 2, 1
#: To add the upper half of the lanes to the lower one.
_INSTRUCTIONS_PER_HALVING = 4


def lane_axis(axes: tuple[Axis, ...], stores: Sequence[Store],
              ordered: frozenset[Axis] = frozenset()) -> Axis | None:
    """The axis of the nest for the lanes, or None where reductions should have them instead."""
    # A store of fewer axes happens once, outside of the loops that it does not depend on.
    narrow = {a for s in stores if not s.offset.free.issuperset(axes) for a in s.offset.free}
    # So does a reduction over an axis of the nest, whose own loop must not be around it.
    below = [*walk([s.value for s in stores])]
    for value in below:
        if value.op == "reduce" and not set(value.param[1]).isdisjoint(axes):
            narrow |= value.free
    scores = {a: 0 for a in axes if a not in narrow and a not in ordered}
    if not scores:
        return None
    for s in stores:
        for a in scores:
            scores[a] += 2 * _beside(s.offset, (a,))
    for value in below:
        if value.op == "load":
            for a in scores:
                scores[a] += _beside(value.param[1], (a,))
    best = max(reversed(scores), key=lambda a: scores[a])
    apart = any(best in a.free for s in stores for a in s.offset.atoms)
    if ordered and not scores[best] and apart:
        return None  # scalar code is as fast here, and can be divided among threads
    sums = [v for v in below if v.op == "reduce" and best in v.free]
    if not sums:
        return best
    across = _across_sums(best, sums, below)
    return None if _along_sums(best, sums, below) < across else best


def _across_sums(best: Axis, sums: Sequence[Expr], below: Sequence[Expr]) -> float:
    """Return about how many instructions one element of an axis takes that has the lanes."""
    lanes = min([_lanes(r) for r in sums])
    total = _instructions(_results(sums, below, best)) / lanes
    for r in sums:
        terms = math.prod(guess(a.extent) for a in r.param[1])
        total += terms * sum(_of_one_lane(v, best, lanes) for v in _terms(r))
    return total


def _along_sums(best: Axis, sums: Sequence[Expr], below: Sequence[Expr]) -> float:
    """Return the same where reductions have the lanes, and what follows them is scalar."""
    total = float(_instructions(_results(sums, below, best)))
    for r in sums:
        lanes = _lanes(r)
        axis = reduced_along([r], r.param[1])
        others = math.prod(guess(a.extent) for a in r.param[1] if a is not axis)
        terms = others * math.ceil(guess(axis.extent) / lanes) * lanes
        total += terms * sum(_of_one_lane(v, axis, lanes) for v in _terms(r))
        if r.dtype != "bool":  # of which one instruction takes a bit of each lane
            total += _INSTRUCTIONS_PER_HALVING * math.log2(lanes)
    return total


def _lanes(r: Expr) -> int:
    """Return how many of the largest terms of a reduction fill the register."""
    return _REGISTER_BYTES // max(ITEM_BYTES[v.dtype] for v in _terms(r))


def _terms(r: Expr) -> list[Expr]:
    """Return the values that a reduction computes for each of its terms, and itself."""
    return [r, *(v for v in walk(list(r.args)) if not v.free.isdisjoint(r.param[1]))]


def _results(sums: Sequence[Expr], below: Sequence[Expr], best: Axis) -> list[Expr]:
    """Return the values that are computed once for each element along an axis."""
    bound = {a for r in sums for a in r.param[1]}
    return [v for v in below if best in v.free and bound.isdisjoint(v.free) and v not in sums]


def _instructions(values: Sequence[Expr]) -> int:
    return sum(instructions_of(v.op) for v in values)


def _of_one_lane(value: Expr, along: Axis, lanes: int) -> float:
    """Return about how many instructions a lane of a value takes."""
    if value.op != "load":
        return max(instructions_of(value.op), 1) / lanes
    at = value.param[1]
    stride = at.terms.get(along, 0)
    if at.atoms or not isinstance(stride, int) or abs(stride) > LONGEST_STEP:
        return _GATHER_INSTRUCTIONS
    return 1 / lanes if abs(stride) <= 1 else _SHUFFLE_INSTRUCTIONS


def _beside(index: Affine, axes: Sequence[Axis]) -> int:
    """Return how many elements an access reads, if it is contiguous along one of these axes; else
    0.
    """
    if all(index.terms.get(a, 0) != 1 for a in axes):
        return 0
    return math.prod(guess(a.extent) for a in index.free)


def _share(stride: Any) -> float:
    """Return the used fraction of a cache line for a stride between lanes."""
    return 1 / abs(stride) if isinstance(stride, int) and 0 < abs(stride) <= _LINE else 0.0


def reduced_along(group: Sequence[Expr], bound: tuple[Axis, ...]) -> Axis:
    """The axis of reductions for the lanes: the one along which loads are closest together."""
    scores = dict.fromkeys(bound, 0.0)
    for value in walk([r.args[0] for r in group]):
        if value.op == "load":
            for a in bound:
                scores[a] += _share(value.param[1].terms.get(a, 0))
    return max(reversed(bound), key=lambda a: (scores[a], guess(a.extent) > 1))
