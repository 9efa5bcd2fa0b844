"""Loop order: the vectorized axis, the axis of columns, and the order of the other loops."""

from __future__ import annotations

from agnesi.core.ir.collapse import collapse
from agnesi.core.ir.kernels import Nest, Store
from agnesi.core.ir.lanes import lane_axis
from agnesi.core.ir.loops import Axis
from agnesi.schedule.mapping.transposition import crossed
from agnesi.schedule.mapping.unroll import unrolled

Loops = tuple[tuple[Axis, ...], list[Store], frozenset[Axis], Axis | None, Axis | None]


def loops_of(nest: Nest) -> Loops:
    """Return the loops and stores of a nest, its sequential axes, the axis of the lanes, and an
    axis to be blocked, if any.
    """
    axes, stores, ordered = collapse(nest.axes, nest.body, nest.ordered)
    if ordered:
        return axes, stores, ordered, lane_axis(axes, stores, ordered), None
    axes, stores, along = unrolled(axes, stores)
    along, across = (along, None) if along else crossed(axes, stores) or (None, None)
    return axes, stores, ordered, along or lane_axis(axes, stores), across
