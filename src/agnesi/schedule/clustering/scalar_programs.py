"""Long scalar programs, cut into segments that become one kernel each.

The cost of such a program is the latency of its dependence chains.  So its operations are sorted by
the earliest time at which they could be ready with unlimited execution units, and this order is cut
into kernels: independent operations, such as those of a function and of its derivative, come next
to each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from agnesi.core.ir.costs import latency
from agnesi.core.ir.node import Node
from agnesi.core.ir.start_times import times

_NONE: Mapping[int, Sequence[Node]] = MappingProxyType({})
#: Scalars in one kernel, at most.
_MAX_KERNEL_SCALARS = 64
#: Scalars from which a program is cut into such kernels.
_MIN_PROGRAM_SCALARS = 128


class Cut(NamedTuple):
    """An order of nodes, makers first, and the segment of each scalar in it by its id."""

    order: Sequence[Node]
    segment: dict[int, int]


def _is_scalar(node: Node) -> bool:
    op = node.op
    return (
        op is not None and node.shape == () and (op.pointwise or "conversion" in op.traits)
        and op.lower is not None and op.outputs == 1 and op.condition is None
        and not op.template and not op.rereads
        and node.dtype.kind in "fiub"
        and all(i.shape == () and i.outputs is None and i.dtype.kind != "c" for i in node.inputs)
    )


def cut(order: Sequence[Node], waiting: Mapping[int, Sequence[Node]] = _NONE) -> Cut:
    """Return the nodes of a graph with its scalars in segments, if it is mostly a scalar program.

    ``waiting`` has the nodes that others must come after besides their operands, by their ids.
    """
    scalars = {id(n) for n in order if _is_scalar(n)}
    operations = sum(n.op is not None for n in order)
    if len(scalars) < _MIN_PROGRAM_SCALARS or 2 * len(scalars) < operations:
        return Cut(order, {})
    stages = _stages(order, scalars, waiting)
    start, below = times(order, lambda n: n.inputs,
                         lambda n: latency(n.op.name) if n.op and id(n) in scalars else 0)
    # List scheduling: of the ready nodes, the one on the longest path to the end comes first.
    result = sorted(order, key=lambda n: (
        stages[id(n)],
        (1, start[n], -below[n]) if id(n) in scalars else (0, 0, 0),
    ))
    return Cut(result, _segments(result, scalars, stages))


def _stages(order: Sequence[Node], scalars: set[int],
            waiting: Mapping[int, Sequence[Node]]) -> dict[int, int]:
    """Return for each node the largest number of changes from scalars to other nodes on a path to
    it.
    """
    stages: dict[int, int] = {}
    for node in order:
        mine = id(node) in scalars
        stages[id(node)] = max(
            (stages[id(i)] + (id(i) in scalars and not mine)
             for i in (*node.inputs, *waiting.get(id(node), ()))), default=0
        )
    return stages


def _segments(order: Sequence[Node], scalars: set[int], stages: dict[int, int]) -> dict[int, int]:
    found: dict[int, int] = {}
    number, count, stage = 0, 0, 0
    for node in order:
        if id(node) not in scalars:
            continue
        if count == _MAX_KERNEL_SCALARS or stages[id(node)] != stage:
            number, count, stage = number + 1, 0, stages[id(node)]
        found[id(node)] = number
        count += 1
    return found
