"""Loops over a condition: what does not change from step to step is computed before them."""

from __future__ import annotations

from collections.abc import Sequence

from agnesi.core.dispatch import graph_node
from agnesi.core.graph import FunctionGraph
from agnesi.core.ir.node import Node
from agnesi.core.substitution import substituted
from agnesi.core.tensor import symbol
from agnesi.ops.control.body import Body
from agnesi.ops.control.loop import While, applied
from agnesi.rewrite.control.scan_sums import copied_out, only_expands

#: Nodes of a graph inside, and what stands for them outside.
Moved = dict[Node, Node]


def without_invariants(node: Node) -> Node | None:
    """Move loop-invariant values out of the body of a while loop."""
    op = node.op
    constants = node.inputs[op.carries:]
    moved = [_moved(body.graph, constants) for body in (op.test, op.body)]
    outside = [n for found in moved for n in found.values()]
    if not outside:
        return None
    first = len(moved[0])
    test = _taking(op.test.graph, list(moved[0]), outside, 0)
    body = _taking(op.body.graph, list(moved[1]), outside, first)
    found = applied(While(Body(test), Body(body), op.carries),
                    *map(symbol, (*node.inputs, *outside)))
    new = graph_node(found[0])
    return new if op.outputs == 1 else new.inputs[0]


def _moved(graph: FunctionGraph, constants: Sequence[Node]) -> Moved:
    """Return the nodes of a body that depend on constants only and have other users, each with its
    copy outside of the body.
    """
    outside = dict(zip(graph.inputs[-len(constants):] if constants else (), constants, strict=True))
    found: Moved = {}
    used = set(graph.outputs)
    for node in graph.nodes:
        if node.op is None:
            if node not in graph.inputs:
                outside[node] = node
        elif all(n in outside for n in node.inputs) and node.op.condition is None:
            outside[node] = copied_out(node, [outside[n] for n in node.inputs])
            if node.outputs is None and not only_expands(node):
                found[node] = outside[node]
        else:
            used.update(node.inputs)
    return {n: o for n, o in found.items() if n in used}


def _taking(graph: FunctionGraph, moved: Sequence[Node], outside: Sequence[Node],
            first: int) -> FunctionGraph:
    """Return the graph with an input more for each node of ``outside``; those from ``first`` on
    replace the nodes that were ``moved`` out of the loop."""
    new = [Node(None, (), n.shape, n.dtype) for n in outside]
    replace = dict(zip(moved, new[first:], strict=False))
    return FunctionGraph((*graph.inputs, *new), substituted(graph.outputs, replace))
