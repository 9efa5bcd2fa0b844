"""Loop collapsing: which axes of a nest can run as one, and the cost of all loops."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from agnesi.core.ir.costs import instructions_of
from agnesi.core.ir.dims import product
from agnesi.core.ir.kernels import Store, axes_in, reductions, walk
from agnesi.core.ir.loops import Affine, Axis, Expr, Substitution, fresh_axis


def cost(values: Sequence[Expr]) -> int:
    """Rough number of instructions for one element of everything below ``values``."""
    return sum(instructions_of(v.op) for v in walk(list(values)))


def total_work(stores: Sequence[Store], scattered: int = 0) -> int:
    """Rough number of scalar instructions of all loops; a load at a computed index counts
    ``scattered`` more."""
    prices: dict[frozenset[Axis], int] = {}  # of an iteration of the loops over these axes
    for v in walk([s.value for s in stores]):
        more = scattered if v.op == "load" and v.param[1].atoms else 0
        prices[v.free] = prices.get(v.free, 0) + (instructions_of(v.op) or 1) + more
    return sum([n * product([a.extent for a in free]) for free, n in prices.items()])


def _indices(stores: Sequence[Store]) -> list[Affine]:
    """Every affine index in the stores."""
    found = [s.offset for s in stores]
    values = [s.value for s in stores]
    for s in stores:
        values.extend(s.offset.atoms)
    for value in walk(values):
        if value.op == "load":
            found.append(value.param[1])
        elif value.op == "index":
            found.append(value.param)
    return found


def _containers(axes: tuple[Axis, ...], stores: Sequence[Store]) -> list[tuple[Axis, ...]]:
    bounds = [v.param[1] for v in reductions([s.value for s in stores])]
    return [axes, *dict.fromkeys(bounds)]


def collapse(axes: tuple[Axis, ...], stores: list[Store], ordered: frozenset[Axis] = frozenset()
             ) -> tuple[tuple[Axis, ...], list[Store], frozenset[Axis]]:
    """Run neighbouring axes as one wherever every index allows it; drop axes of size 1."""
    axes = tuple(a for a in axes if a.extent != 1)
    while True:
        pair = _mergeable(axes, stores, ordered)
        if pair is None:
            return axes, stores, ordered & frozenset(axes)
        outer, inner = pair
        taken = {*axes, *axes_in(stores)}
        merged = fresh_axis(outer.extent * inner.extent, taken, outer.slot)
        change = Substitution({outer: Affine(), inner: Affine(0, {merged: 1})})
        axes = tuple(merged if a is inner else a for a in axes if a is not outer)
        ordered |= {merged} if outer in ordered else set()
        stores = [Store(s.buffer, change.index(s.offset), change(s.value)) for s in stores]


def _mergeable(axes: tuple[Axis, ...], stores: list[Store],
               ordered: frozenset[Axis]) -> tuple[Axis, Axis] | None:
    containers = _containers(axes, stores)
    if all(len(group) < 2 for group in containers):
        return None
    indices = _indices(stores)
    for group in containers:
        for outer, inner in pairwise(group):
            together = all(
                (outer not in g and inner not in g)
                or (outer in g and inner in g and g.index(inner) == g.index(outer) + 1)
                for g in containers
            )
            if together and (outer in ordered) == (inner in ordered) and all(
                i.terms.get(outer, 0) == i.terms.get(inner, 0) * inner.extent for i in indices
            ):
                return outer, inner
    return None
