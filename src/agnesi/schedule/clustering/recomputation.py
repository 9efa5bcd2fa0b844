"""The cost of recomputing a value where it is read, which clustering weighs against its memory.

All answers follow from the graph alone: they are the same for every arrangement of clusters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from agnesi.core.ir.costs import instructions_of
from agnesi.core.ir.node import Node
from agnesi.schedule.clustering.node_facts import (
    NodeFacts,
    is_size_scalar,
    leading_axes,
    lowerable,
)
from agnesi.schedule.program import MAX_SEARCHED_NODES

#: Elements from which a full reduction over a value is worth a kernel of its own.
LARGE_ELEMENTS = 1 << 15
#: Elements from which a sweep counts: below, computing a value again costs about nothing.
MIN_ELEMENTS = 1 << 12
#: How many times smaller than a value an operand of it must be to be at hand.
MIN_SIZE_RATIO = 8
#: Operations of a value that is computed again rather than kept, at most.
_MAX_RECOMPUTED_OPS = 4
#: Operations between a product and the value that is stored instead of it, at most.
_MAX_EPILOGUE_OPS = 4
#: Instructions from which a large value with several uses is materialized.
_LARGE_VALUE_INSTRUCTIONS = 15
#: Uses up to which that holds.
_MAX_LARGE_VALUE_USES = 16
#: Instructions from which a small value with many uses is materialized.
_SMALL_VALUE_INSTRUCTIONS = 5
#: Uses from which that holds.
_MIN_SMALL_VALUE_USES = 256
#: Elements from which a small value is materialized for its uses.
_MIN_SMALL_VALUE_ELEMENTS = 8


class Recomputation:
    """Answers for the nodes of a graph, makers first, by the facts of each node's id."""

    def __init__(self, order: Sequence[Node], facts: Mapping[int, NodeFacts]) -> None:
        self._facts = facts
        #: How often the nodes read a node, by its id.
        self._uses = Counter([id(i) for node in order for i in node.inputs])
        #: What matrix products read.
        self._multiplied = {id(facts[id(i)].source) for n in order
                            if n.op and n.op.template == "matmul" for i in n.inputs}
        #: The ids of values that reductions read.
        self._reduced = {id(n.inputs[0]) for n in order if facts[id(n)].axes}

    def broadcast_is_expensive(self, base: Node, many: int, size: int) -> bool:
        """Return whether an operand of ``many`` elements is too expensive to be recomputed for each
        of the ``size`` elements that it is broadcast to.

        That is a large value read a few times, for components of a vector say, or a small one read
        very often, for all pixels of images say.
        """
        if (size >= max(LARGE_ELEMENTS, _MIN_SMALL_VALUE_USES * many)
                and many >= _MIN_SMALL_VALUE_ELEMENTS):
            return self._is_elementwise_of_memory(base)
        if many < MIN_ELEMENTS or size > _MAX_LARGE_VALUE_USES * many:
            return False
        total, stack, seen = 0, [base], {id(base)}
        while stack and total < _LARGE_VALUE_INSTRUCTIONS:
            maker = stack.pop()
            if maker.op is None or not lowerable(maker) or not maker.op.pointwise:
                continue
            total += instructions_of(maker.op.name)
            for operand in maker.inputs:
                if operand.shape == base.shape and id(operand) not in seen:
                    seen.add(id(operand))
                    stack.append(operand)
        return total >= _LARGE_VALUE_INSTRUCTIONS

    def _is_elementwise_of_memory(self, base: Node) -> bool:
        """Return whether a value is computed elementwise, in more than a few instructions, from
        nothing but materialized values.

        Sums over leading axes are: no loop over their results can compute them on the way.
        """
        total, stack, seen = 0, [base], {id(base)}
        while stack:
            maker = stack.pop()
            if maker.op is None or leading_axes(maker, self._facts):
                continue
            if not lowerable(maker) or not maker.op.pointwise:
                return False
            total += instructions_of(maker.op.name)
            for operand in [self._facts[id(i)].source for i in maker.inputs]:
                if id(operand) not in seen:
                    seen.add(id(operand))
                    stack.append(operand)
        return total >= _SMALL_VALUE_INSTRUCTIONS

    def ends_product(self, node: Node, steps: int = _MAX_EPILOGUE_OPS) -> bool:
        """Return whether a value can be the epilogue of a product: it is stored instead of the
        product, which would be materialized anyway."""
        if node.op is None or not node.op.pointwise or not steps or not (
            self._facts[id(node)].lowers
        ):
            return False
        return any(i.shape == node.shape and self._uses[id(i)] == 1 and (
            self._facts[id(i)].product or self.ends_product(i, steps - 1)) for i in node.inputs)

    def is_cheap(self, node: Node) -> bool:
        """Return whether a value is one cheap operation on leaves, or a scalar computed from sizes
        alone."""
        if is_size_scalar(node):
            return True
        if "cheap" not in node.op.traits:
            return False
        read = [i for k, i in enumerate(node.inputs) if k != node.op.condition]
        return all(self._facts[id(i)].source.op is None for i in read)

    def is_costly(self, node: Node) -> bool:
        """Return whether something expensive, or a reduction, is part of a value where no memory
        is on the way."""
        stack, seen = [node], {id(node)}
        while stack and len(seen) <= MAX_SEARCHED_NODES:
            maker = stack.pop()
            facts = self._facts[id(maker)]
            if maker.op is None or not facts.lowers or facts.product:
                continue
            if "heavy" in maker.op.traits or facts.axes:
                return True
            more = [i for i in maker.inputs if id(i) not in seen]
            seen.update(map(id, more))
            stack += more
        return False

    def is_light(self, node: Node) -> bool:
        """Return whether a value can be recomputed by a few operations from one that is
        materialized anyway.
        """
        facts = self._facts
        size, steps = facts[id(node)].weight, 0
        kept: set[int] = set()
        stack = [node] if size >= MIN_ELEMENTS else []
        while stack and steps <= _MAX_RECOMPUTED_OPS:
            steps += 1
            for operand in [facts[id(i)].source for i in stack.pop().inputs]:
                if facts[id(operand)].weight * MIN_SIZE_RATIO <= size:
                    continue
                if operand.op is None or self._is_kept(operand):
                    kept.add(id(operand))
                elif "cheap" in operand.op.traits and facts[id(operand)].lowers:
                    stack.append(operand)
                else:
                    return False
        return 0 < steps <= _MAX_RECOMPUTED_OPS and len(kept) <= 1

    def _is_kept(self, node: Node) -> bool:
        """Return whether a value is materialized however its users are arranged."""
        facts = self._facts[id(node)]
        if not facts.lowers or id(node) in self._multiplied:
            return True
        return self._uses[id(node)] > 1 and (
            facts.product or "heavy" in node.op.traits or id(node) in self._reduced
        )
