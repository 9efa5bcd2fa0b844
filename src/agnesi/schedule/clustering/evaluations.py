"""How often values would be computed where they are used, and in how many places at a time."""

from __future__ import annotations

from agnesi.core.ir.extents import guess
from agnesi.core.ir.node import Node
from agnesi.schedule.clustering.node_facts import NodeFacts
from agnesi.schedule.evaluation_counts import MAX_CHEAP_EVALUATIONS, MAX_EXPENSIVE_EVALUATIONS

#: In how many places a reduction may be computed that has far fewer results than elements: each
#: takes loops of its own, in which what is expensive may be computed twice.
_MAX_REDUCTION_PLACES = 1
#: How many times fewer results.
_MIN_SIZE_RATIO = 8
#: Elements in all from which a value counts: below, computing it again costs about nothing.
_MIN_ELEMENTS = 1 << 12
#: Elements that a reduction reads in all, from which it does.
_MIN_REDUCED_ELEMENTS = 1 << 10


class Evaluations:
    """The counts of values, which users tell before makers are visited."""

    def __init__(self, facts: dict[int, NodeFacts]) -> None:
        self._facts = facts
        #: For each point: where values are used, and moved elsewhere.
        self._reads: dict[int, tuple[float, float]] = {}
        #: In places of a value: those where it is used or broadcast, and others.
        self._places: dict[int, tuple[float, float]] = {}

    def visit(self, node: Node, kept: bool) -> None:
        """Tell the operands of a node how often they are read, of which all users have been
        visited; ``kept`` says that it has memory.
        """
        reads, places = self._reads.pop(id(node), ()), self._places.pop(id(node), ())
        times = 1.0 if kept else max(sum(reads), 1.0)
        spots = 1.0 if kept else max(sum(places), 1.0)
        op, mine = node.op, self._facts[id(node)]
        for operand in node.inputs:
            if operand.op is None:
                continue
            aligned, moved = self._reads.get(id(operand), (0.0, 0.0))
            if mine.axes or (op.pointwise and operand.shape == node.shape):
                aligned = max(aligned, times)
            else:
                many = guess(mine.weight) / max(guess(self._facts[id(operand)].weight), 1)
                once = op.pointwise or op.parts is not None or "broadcast" in op.traits
                moved += times * (min(many, 1.0) if once else many)
            self._reads[id(operand)] = aligned, moved
            here, elsewhere = self._places.get(id(operand), (0.0, 0.0))
            if mine.axes or op.pointwise or op.flat or "broadcast" in op.traits:
                here = max(here, spots)
            else:
                elsewhere += spots
            self._places[id(operand)] = here, elsewhere

    def are_many(self, node: Node, kernels: int) -> bool:
        """Return whether so many kernels would compute a value too often."""
        times = sum(self._reads.get(id(node), (1.0,)))
        most = MAX_EXPENSIVE_EVALUATIONS if "heavy" in node.op.traits else MAX_CHEAP_EVALUATIONS
        size = self._facts[id(node)].weight
        if kernels * times > most and size * kernels * times >= _MIN_ELEMENTS:
            return True
        if not self._facts[id(node)].axes:
            return False
        places = sum(self._places.get(id(node), (1.0,)))
        many = self._facts[id(node.inputs[0])].weight
        return (places > _MAX_REDUCTION_PLACES and many >= _MIN_SIZE_RATIO * size
                and many * places >= _MIN_REDUCED_ELEMENTS)
