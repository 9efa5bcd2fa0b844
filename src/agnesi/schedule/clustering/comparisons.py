"""Rounded reductions that both sides of a comparison or difference are computed from.

Where a minimum or maximum is differentiated, elements are compared with it, and what is left of
sums without their maximum is 0 somewhere.  A sum of which some elements are computed once more for
one side, in a loop of their own, may be added up in another order there, so that no element equals
the extreme of all, or is at least it: such sums are kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agnesi.core.ir.node import Node
from agnesi.schedule.clustering.node_facts import NodeFacts

#: Nodes of either side that are looked at.
_MAX_LOOKED_AT_NODES = 64


def shared_sums(node: Node, facts: Mapping[int, NodeFacts]) -> set[int]:
    """Return the ids of inexact reductions that both operands of a comparison are computed from.

    Left out are those of which each side reads one element per element of its own.
    """
    left, right = sorted(node.inputs, key=lambda n: n.op is not None)  # numbers first
    below = _sums(left, facts)
    also = _sums(right, facts) if below else {}
    return {
        id(maker) for s, (makers, alone) in below.items() if s in also
        for maker in (*makers, *also[s][0]) if not (alone and also[s][1])}


def _sums(node: Node, facts: Mapping[int, NodeFacts]) -> dict[Any, tuple[list[Node], bool]]:
    """Return the rounding reductions that a node is computed from without another materialized
    value between, each with whether every value between has at least as many elements.

    By what is reduced, and how: some keep the axes that others drop.
    """
    found: dict[Any, tuple[list[Node], bool]] = {}
    least: dict[int, int] = {}
    stack = [(node, facts[id(node)].weight if node.op is not None else 0)]
    while stack and len(least) < _MAX_LOOKED_AT_NODES:
        maker, fewest = stack.pop()
        known = facts[id(maker)] if maker.op is not None else None
        if known is None or not known.lowers or known.product:
            continue
        if known.axes and maker.dtype.kind in "fcV" and "extreme" not in maker.op.traits:
            what = maker.op_name, known.axes, *map(id, maker.inputs)
            makers, alone = found.get(what, ([], True))
            found[what] = [*makers, maker], alone and fewest >= known.weight
            continue
        fewest = min(fewest, known.weight)
        if fewest < least.get(id(maker), fewest + 1):
            least[id(maker)] = fewest
            stack += [(operand, fewest) for operand in maker.inputs]
    return found
