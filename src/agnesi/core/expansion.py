"""Expand operations that are defined by simpler ones (``Op.decompose``) into these.

Expansion happens in the same pass over a graph as rewriting where no rule about a whole graph can
apply, and once for all operands of equal types where ``Op.by_types`` says so.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any

from agnesi.core.dispatch import graph_node
from agnesi.core.graph import FunctionGraph, Interner
from agnesi.core.ir.node import Node, toposort
from agnesi.core.op import Item, explain, title_of
from agnesi.core.substitution import copied
from agnesi.core.support.gc_pause import no_gc
from agnesi.core.support.record import replace
from agnesi.core.tensor import symbol


@no_gc()
def expanded(graph: FunctionGraph, interner: Interner | None = None) -> FunctionGraph:
    """The graph with every operation that has a ``decompose`` rule in simpler ones.

    An ``interner`` has the graph's nodes already; those that stay are its own.
    """
    if all(n.op is None or not (n.op.decompose or n.op.bodies) for n in graph.nodes):
        return graph
    if interner is None:
        interner = Interner()
        for node in (*graph.inputs, *graph.nodes):
            interner.add(node)
    expansion = _Expansion(interner)
    for node in graph.nodes:
        expansion.add(node)
    return FunctionGraph.of(graph.inputs, [expansion.done[n] for n in graph.outputs])


class _Expansion:
    """Nodes in simpler operations, which are put into simpler ones themselves."""

    def __init__(self, interner: Interner) -> None:
        self.interner = interner
        self.simpler = Simpler(interner.known)
        self.done: dict[Node, Node] = {}
        self.parts: dict[Node, tuple[Node, ...]] = {}

    def add(self, node: Node) -> None:
        """Expand a node, whose operands are expanded already."""
        done, parts, op = self.done, self.parts, node.op
        if op is None or (op.decompose is None and not op.bodies and type(op) is not Item):
            done[node] = self.interner.rebuilt(node, tuple([done[n] for n in node.inputs]))
            return
        made = self._simpler(node)
        forward: dict[Node, Node] = {} if made is None else {node: made}
        stack = [*forward]
        while stack:
            node = stack[-1]
            if node in done or node in parts:
                stack.pop()
            elif node in forward:
                if forward[node] in done:
                    done[node] = done[forward[node]]
                else:
                    stack.append(forward[node])
            elif waiting := [n for n in node.inputs if n not in done and n not in parts]:
                stack.extend(waiting)
            else:
                made = self._simpler(node)
                if made is not None:
                    forward[node] = made

    def _simpler(self, node: Node) -> Node | None:
        """Return the expansion of a node; None where it has none, or several results."""
        op = node.op
        if type(op) is Item and node.inputs[0] in self.parts:
            return self.parts[node.inputs[0]][op.index]
        inputs = tuple([self.done[n] for n in node.inputs])
        results = () if op is None else self.simpler(node, inputs)
        if not results:
            whole = node if op is None or not op.bodies else expanded_inside(node)
            one = self.interner.rebuilt(whole, inputs)
            self.done[node] = self.done[one] = one
            return None
        if op.outputs == 1:
            return results[0]
        self.parts[node] = results
        return None


class Simpler:
    """Decomposes operations into simpler ones; nodes in ``known`` keep their user's lines."""

    def __init__(self, known: AbstractSet[Node]) -> None:
        self.known = known
        #: By operation and types: stand-ins for operands, what it is with them, and its nodes.
        self._by_types: dict[Any, tuple[tuple[Node, ...], tuple[Node, ...], list[Node]]] = {}

    def __call__(self, node: Node, inputs: tuple[Node, ...]) -> tuple[Node, ...]:
        """The results of a node in simpler operations; none where there are no such."""
        op = node.op
        if op.decompose is None:
            return ()
        parts = self._again(node, inputs) if op.by_types else decomposed(node, inputs)
        for part in parts:
            inherit(part, node, self.known)
        return parts

    def _again(self, node: Node, inputs: tuple[Node, ...]) -> tuple[Node, ...]:
        """Return the expansion of an equal operation on operands of equal types, instantiated on
        these inputs.
        """
        key = node.op, tuple([(n.shape, n.dtype) for n in inputs])
        found = self._by_types.get(key)
        if found is None:
            stand_ins = tuple([Node(None, (), n.shape, n.dtype) for n in inputs])
            made = decomposed(node, stand_ins)
            found = self._by_types[key] = stand_ins, made, toposort(made)
        stand_ins, made, order = found
        done = dict(zip(stand_ins, inputs, strict=True))
        for part in order:
            if part not in done:
                operands = tuple([done[n] for n in part.inputs])
                done[part] = part if operands == part.inputs else copied(part, operands)
        return tuple([done[n] for n in made])


def decomposed(node: Node, inputs: tuple[Node, ...]) -> tuple[Node, ...]:
    """The results of a node by its operation's ``decompose`` rule; none where that gives none."""
    try:
        result = node.op.decompose(*map(symbol, inputs))
    except (ValueError, TypeError, IndexError) as error:
        raise explain(error, title_of(node.op), inputs, node.where) from None
    results = result if isinstance(result, tuple) else () if result is None else (result,)
    return tuple(map(graph_node, results))


def expanded_inside(node: Node) -> Node:
    """The node with the graphs that its operation holds expanded."""
    bodies = {n: getattr(node.op, n).mapped(expanded) for n in node.op.bodies}
    if all(getattr(node.op, n) is body for n, body in bodies.items()):
        return node
    new = copied(node, node.inputs)
    new.op = replace(node.op, **bodies)
    return new


def inherit(new: Node, old: Node, known: AbstractSet[Node]) -> None:
    """Give new nodes the user's line, and the result the name, of the node that they replace."""
    if new in known:
        return
    where, seen, stack = old.where, {new}, [new]
    while stack:
        node = stack.pop()
        node.where = where
        for n in node.inputs:
            if n not in seen and n not in known:
                seen.add(n)
                stack.append(n)
    if new.name is None and new.op is not None:
        new.name = old.name
