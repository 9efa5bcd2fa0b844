"""The part of a graph that derivatives flow through, in copies."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from agnesi.core.graph import constant_value
from agnesi.core.ir.node import Node, toposort
from agnesi.core.substitution import copied


class Excerpt:
    """A graph of its own, in which leaves stand for what is not to be looked into.

    What gradients do not flow through though they reach it is a leaf, and so are nodes numbered
    below ``since`` and the ``ends``.

    :ivar outputs: The copies of the roots.
    """

    def __init__(self, roots: Sequence[Node], ends: Collection[Node], since: int) -> None:
        self._of: dict[Node, Node] = {}
        self.origin: dict[Node, Node] = {}
        #: Whether gradients reach a node.
        reached: dict[Node, bool] = {}
        for node in toposort(roots, lambda n: n in ends):
            inside = node not in ends and node.op is not None
            stopped = inside and not node.requires_grad and any(reached[n] for n in node.inputs)
            reached[node] = node.requires_grad or node in ends
            if inside and node.serial >= since and not stopped:
                inputs = tuple([self._of[n] for n in node.inputs])
                new = copied(node, inputs)
            elif node.op is None and not reached[node] and constant_value(node) is not None:
                new = node
            else:
                new = Node(None, (), node.shape, node.dtype, node.weak, node.requires_grad,
                           node.where, name=node.name)
                new.outputs = node.outputs
            self._of[node] = new
            self.origin.setdefault(new, node)
        self.outputs = [self._of[n] for n in roots]

    @property
    def nodes(self) -> list[Node]:
        """All copies, operands first."""
        return [*self._of.values()]

    def back(self, outputs: Sequence[Node]) -> list[Node]:
        """Map the nodes of a rewritten excerpt back to nodes over the original operands."""
        done: dict[Node, Node] = {}
        for node in toposort(outputs):
            old = self.origin.get(node)
            inputs = tuple([done[n] for n in node.inputs])
            if old is not None and (node.op is None or inputs == old.inputs):
                done[node] = old
                continue
            if node.op is None:
                done[node] = _kept(node)
                continue
            new = done[node] = copied(node, inputs)
            new.requires_grad = node.op.differentiable and any(n.requires_grad for n in inputs) \
                and (node.op.outputs > 1 or node.dtype.kind in "fcV")
        return [done[n] for n in outputs]


def _kept(leaf: Node) -> Node:
    """Return a leaf that rules made; a scalar constant with its value in read-only memory.

    Derivatives make a tensor of that value.  In memory that can be written it would be one that may
    change, and rules would no longer see the number.
    """
    value = constant_value(leaf) if leaf.shape == () else None
    if value is None or not value.flags.writeable:
        return leaf
    value = value.copy()
    value.flags.writeable = False
    return Node(None, (), (), leaf.dtype, leaf.weak, value=value, where=leaf.where)
