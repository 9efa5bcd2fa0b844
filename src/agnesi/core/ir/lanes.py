"""Which axis of a nest the lanes run along: its loop is the innermost one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from agnesi.core.ir.extents import guess
from agnesi.core.ir.kernels import Store, walk
from agnesi.core.ir.loops import Affine, Axis, Expr

#: Elements of a cache line, about.
_LINE = 8


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
    reductions = [v for v in below if v.op == "reduce" and best in v.free]
    return None if _along(reductions) > _along(reductions, (best,)) else best


def _along(reductions: Sequence[Expr], axes: Sequence[Axis] = ()) -> float:
    """Return the number of elements that reductions load contiguously along ``axes``, or along the
    axes that each one reduces.
    """
    return sum(
        _near(value.param[1], axes or r.param[1])
        for r in reductions for value in walk(list(r.args)) if value.op == "load"
    )


def _beside(index: Affine, axes: Sequence[Axis]) -> int:
    """Return how many elements an access reads, if it is contiguous along one of these axes; else
    0.
    """
    if all(index.terms.get(a, 0) != 1 for a in axes):
        return 0
    return math.prod(guess(a.extent) for a in index.free)


def _near(index: Affine, axes: Sequence[Axis]) -> float:
    """Return the same, with accesses at small strides, or backwards, counted in part."""
    return max(map(_share, (index.terms.get(a, 0) for a in axes)), default=0.0) * math.prod(
        guess(a.extent) for a in index.free)


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
