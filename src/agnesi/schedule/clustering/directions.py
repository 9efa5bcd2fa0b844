"""In which direction a reduction walks through memory: along the contiguous axis of what it reads,
or across it.

A loop nest that does both for the same outer loops reads one of the arrays column by column: sums
of the rows and of the columns of a large matrix are two kernels.  What one reduction reads in both
directions, such as ``x + x.T``, gets memory: a kernel without reductions reads it in tiles.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from agnesi.core.ir.node import Node
from agnesi.schedule.clustering.node_facts import NodeFacts, long_sizes

#: Bits of what reductions do: their innermost loop is over contiguous memory, or their outer one.
ALONG, ACROSS = 1, 2
#: Elements from which what is read in both directions gets memory (Zen 3: 0.6 of the time at 2**16
#: of float32, a sixth at 2**20; below, it is in the first caches).
_MIN_MIXED_ELEMENTS = 1 << 16
_NO_AXES: frozenset[int] = frozenset()


class Directions:
    """The directions of the reductions of a graph; ``order`` lists its nodes, makers first."""

    def __init__(self, order: Sequence[Node], facts: Mapping[int, NodeFacts]) -> None:
        self._order, self._facts = order, facts
        self._contiguous: dict[int, frozenset[int]] | None = None

    def of(self, reduction: Node) -> int:
        """Return the bits of the directions in which a reduction walks."""
        over = self._facts[id(reduction)].axes
        operand = reduction.inputs[0]
        found = _last(operand.shape) if self.is_mixed(reduction) else self._contiguous_axes(operand)
        return ALONG * any(a in over for a in found) | ACROSS * any(a not in over for a in found)

    def is_mixed(self, reduction: Node) -> bool:
        """Return whether many elements are read in several directions, so that they get memory."""
        operand = reduction.inputs[0]
        return (self._facts[id(operand)].weight >= _MIN_MIXED_ELEMENTS
                and len(self._contiguous_axes(operand)) > 1)

    def _contiguous_axes(self, node: Node) -> frozenset[int]:
        if self._contiguous is None:
            self._contiguous = {}
            for known in self._order:
                self._contiguous[id(known)] = self._axes(known, self._contiguous)
        return self._contiguous[id(node)]

    def _axes(self, node: Node, known: Mapping[int, frozenset[int]]) -> frozenset[int]:
        """The axes of a value along which what it is computed from is contiguous in memory."""
        op, facts = node.op, self._facts[id(node)]
        if op is None or not facts.lowers or facts.product or facts.axes:
            return _last(node.shape)
        if "transposition" in op.traits:
            inner = known[id(node.inputs[0])]
            return frozenset([a for a, b in enumerate(op.axes) if b in inner])
        if op.flat:
            return _reshaped(node, known[id(node.inputs[0])])
        if not op.pointwise and "broadcast" not in op.traits:
            return _last(node.shape)
        found = _NO_AXES
        for operand in node.inputs:
            if 2 * self._facts[id(operand)].weight > facts.weight:
                before = len(node.shape) - len(operand.shape)
                found |= {a + before for a in known[id(operand)]}
        return found


def conflict(directions: Iterable[int]) -> bool:
    """Return whether some reductions walk along memory only and others across it only."""
    found = {*directions}
    return ALONG in found and ACROSS in found


def _last(shape: Sequence[int]) -> frozenset[int]:
    """The last axis that is longer than 1."""
    return frozenset([a for a, n in enumerate(shape) if n != 1][-1:])


def _reshaped(node: Node, inner: Collection[int]) -> frozenset[int]:
    """The contiguous axes of a reshape, from those of its operand."""
    (operand,) = node.inputs
    if long_sizes(node.shape) == long_sizes(operand.shape):
        long = ([a for a, n in enumerate(x.shape) if n != 1] for x in (node, operand))
        return frozenset([a for a, b in zip(*long, strict=True) if b in inner])
    return _last(node.shape) if inner == _last(operand.shape) else _NO_AXES
