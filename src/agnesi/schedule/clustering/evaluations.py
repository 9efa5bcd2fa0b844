"""How often values would be computed where they are used, and at how many points."""

from __future__ import annotations

from typing import TypeVar

from agnesi.core.ir.extents import guess
from agnesi.core.ir.node import Node
from agnesi.schedule.clustering.node_facts import NodeFacts, leading_axes
from agnesi.schedule.evaluation_counts import MAX_CHEAP_EVALUATIONS, MAX_EXPENSIVE_EVALUATIONS

#: Evaluations of each result up to which a reduction with far fewer results than elements is fused
#: into its users: each needs its own loops, in which expensive operands may be computed twice.
_MAX_REDUCTION_EVALUATIONS = 1
#: The ratio of elements to results from which it has far fewer.
_MIN_SIZE_RATIO = 8
#: Elements of a value below which computing it again costs about nothing.
_MIN_ELEMENTS = 1 << 12
#: The same of the elements that a reduction reads.
_MIN_REDUCED_ELEMENTS = 1 << 10

#: The axes along which a reduction goes.
Axes = tuple[int, ...]
#: The axes of a reduction, and how many others along the same leading axes its results go into;
#: of one along several axes that keeps none of those behind, whether they go into any.
Around = tuple[Axes, int]
K = TypeVar("K")
V = TypeVar("V", int, float)
_NOWHERE: dict[Around, float] = {}
_ONCE: tuple[dict[Around, float], float] = {((), 0): 1.0}, 0.0


class Evaluations:
    """Evaluation counts of values, collected by visiting users before producers."""

    def __init__(self, facts: dict[int, NodeFacts]) -> None:
        self._facts = facts
        #: For each point: where values are used, by the reduction around, and moved elsewhere.
        self._reads: dict[int, tuple[dict[Around, float], float]] = {}
        #: By value and axes, the length of the longest chain of reductions along leading axes that
        #: it feeds.
        self._levels: dict[int, dict[Axes, int]] = {}
        #: How often each element of a value is evaluated: by elementwise users and broadcasts, and
        #: by users at other indices.
        self._evaluations: dict[int, tuple[float, float]] = {}

    def visit(self, node: Node, kept: bool) -> None:
        """Add a node's reads to the counts of its operands, after its users were visited.  A
        ``kept`` node is materialized."""
        reads, evaluations = self._reads.pop(id(node), _ONCE), self._evaluations.pop(id(node), ())
        times = 1.0 if kept else max(_total(reads), 1.0)
        around: dict[Around, float] = reads[0] if not (kept or reads[1]) else {((), 0): times}
        levels = self._levels_above(node)
        points = 1.0 if kept else max(sum(evaluations), 1.0)
        op, mine = node.op, self._facts[id(node)]
        for operand in node.inputs:
            if operand.op is None:
                continue
            aligned, moved = self._reads.get(id(operand), (_NOWHERE, 0.0))
            self._levels[id(operand)] = _larger(self._levels.get(id(operand), {}), levels)
            if mine.axes:
                waited_for = len(mine.axes) > 1 and bool(levels)
                level = levels[mine.axes] - 1 if mine.axes in levels else int(waited_for)
                aligned = _larger(aligned, {(mine.axes, level): times})
            elif op.pointwise and operand.shape == node.shape:
                aligned = _larger(aligned, around)
            else:
                many = guess(mine.weight) / max(guess(self._facts[id(operand)].weight), 1)
                once = op.pointwise or op.parts is not None or "broadcast" in op.traits
                moved += times * (min(many, 1.0) if once else many)
            self._reads[id(operand)] = aligned, moved
            here, elsewhere = self._evaluations.get(id(operand), (0.0, 0.0))
            if mine.axes or op.pointwise or op.flat or "broadcast" in op.traits:
                here = max(here, points)
            else:
                elsewhere += points
            self._evaluations[id(operand)] = here, elsewhere

    def _levels_above(self, node: Node) -> dict[Axes, int]:
        """Return how many nested reductions along leading axes the operands of a node are read by,
        by axes.
        """
        levels = self._levels.pop(id(node), {})
        if not leading_axes(node, self._facts):
            return levels
        axes = self._facts[id(node)].axes
        return {**levels, axes: levels.get(axes, 0) + 1}

    def are_many(self, node: Node, kernels: int) -> bool:
        """Return whether this many kernels would evaluate a value too often."""
        reads = self._reads.get(id(node), _ONCE)
        times = max(_total(reads), kernels * (max(reads[0].values(), default=0.0) + reads[1]))
        most = MAX_EXPENSIVE_EVALUATIONS if "heavy" in node.op.traits else MAX_CHEAP_EVALUATIONS
        size = self._facts[id(node)].weight
        if times > most and size * times >= _MIN_ELEMENTS:
            return True
        if not self._facts[id(node)].axes:
            return False
        evaluations = sum(self._evaluations.get(id(node), (1.0,)))
        many = self._facts[id(node.inputs[0])].weight
        return (evaluations > _MAX_REDUCTION_EVALUATIONS and many >= _MIN_SIZE_RATIO * size
                and many * evaluations >= _MIN_REDUCED_ELEMENTS)


def _larger(one: dict[K, V], other: dict[K, V]) -> dict[K, V]:
    """Return the larger count for each key of either table."""
    if not one or one is other:
        return other
    if not other:
        return one
    return {k: max(one.get(k, n), other.get(k, n)) for k, n in {**one, **other}.items()}


def _total(reads: tuple[dict[Around, float], float]) -> float:
    """Return how often a value is computed for each of its elements.

    The loops of a reduction run inside the loops that its readers need, and inside another
    reduction along a subset of its axes; reductions along other axes get loops of their own, apart
    from those that write elements. A reduction along leading axes, or all, that another reduction
    waits for becomes a kernel; one that two kernels read is computed in neither of them.
    """
    aligned, moved = reads
    if len(aligned) < 2:
        return sum(aligned.values()) + moved
    ways = {axes for axes, _ in aligned if axes}
    if len(ways) < 2:
        beside = aligned.get(((), 0), 0.0) + moved
        return max(max(aligned.values()) + moved, beside + 1 if beside >= 2 else 0.0)
    alone = {axes for axes in ways if not any(
        0 < len(a) < len(axes) and {*axes} >= {*a} for a in ways)}
    apart = [n for (axes, level), n in aligned.items() if axes and (level or axes in alone)]
    if len(alone) > 1:
        apart.append(aligned.get(((), 0), 0.0))
    return max(sum(apart), *aligned.values()) + moved
