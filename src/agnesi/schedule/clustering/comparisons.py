"""Rounded reductions that both sides of a comparison are computed from.

Where a minimum or maximum is differentiated, elements are compared with it.  A sum that is computed
twice may be added up in two orders, so that no element equals the extreme of all, or is at least
it: such sums are kept.
"""

from __future__ import annotations

from collections.abc import Mapping

from agnesi.core.ir.node import Node
from agnesi.schedule.clustering.node_facts import NodeFacts

_EXACT = frozenset(("max", "min"))
#: Nodes of either side that are looked at.
_MAX_LOOKED_AT_NODES = 64


def shared_sums(node: Node, facts: Mapping[int, NodeFacts]) -> set[int]:
    """The ids of inexact reductions below both operands of a comparison."""
    left, right = sorted(node.inputs, key=lambda n: n.op is not None)  # numbers first
    below = _sums(left, facts)
    return below & _sums(right, facts) if below else below


def _sums(node: Node, facts: Mapping[int, NodeFacts]) -> set[int]:
    """Reductions that round, below a node, as far as nothing between them has memory anyway."""
    found, seen, stack = set(), {id(node)}, [node]
    while stack and len(seen) < _MAX_LOOKED_AT_NODES:
        maker = stack.pop()
        known = facts[id(maker)] if maker.op is not None else None
        if known is None or not known.lowers or known.product:
            continue
        if known.axes and maker.dtype.kind in "fcV" and maker.op.name not in _EXACT:
            found.add(id(maker))
            continue
        new = [operand for operand in maker.inputs if id(operand) not in seen]
        seen.update(map(id, new))
        stack += new
    return found
