"""Closed graphs as parameters of operations: what a loop repeats, what a branch computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from agnesi.core.dispatch import graph_node
from agnesi.core.graph import FunctionGraph, constant_value
from agnesi.core.interpret import Runner
from agnesi.core.ir.node import Node
from agnesi.core.op import Item
from agnesi.core.shapes import fits
from agnesi.core.support.config import MODE
from agnesi.core.support.errors import typed
from agnesi.core.tensor import Tensor, symbol

#: Constants of more bytes are compared by identity.
_COMPARED_BYTES = 1 << 16


class Body:
    """A graph without live leaves that an operation holds; equal to those that compute the same.

    Whether gradients flow inside follows from its operations alone, so it can be put into another
    graph, and be differentiated there, at any time.

    :ivar graph: Inputs and outputs in a fixed order, which the operation explains.
    """

    __slots__ = ("_hash", "_key", "_runner", "graph")

    def __init__(self, graph: FunctionGraph) -> None:
        self.graph = graph
        self._key: Any = None
        self._hash: int | None = None
        self._runner: Runner | None = None

    def __reduce__(self) -> Any:
        return Body, (self.graph,)  # all else goes by the identity of its nodes

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The graph's free variables."""
        return self.graph.inputs

    @property
    def outputs(self) -> tuple[Node, ...]:
        """The nodes that the graph computes."""
        return self.graph.outputs

    # -- identity -------------------------------------------------------------------------
    @property
    def key(self) -> Any:
        """The graph as nested tuples without names and lines."""
        if self._key is None:
            self._key = _structure(self.graph)
        return self._key

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Body) and hash(self) == hash(other) and self.key == other.key
        )

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self.key)
        return self._hash

    def __repr__(self) -> str:
        return f"<{len(self.inputs)} to {len(self.outputs)}, {len(self.graph)} operations>"

    # -- use ------------------------------------------------------------------------------
    def mapped(self, change: Callable[[FunctionGraph], FunctionGraph]) -> Body:
        """The body with its graph changed; itself if that stays the same."""
        graph = change(self.graph)
        return self if graph is self.graph else Body(graph)

    def resolve(self, known: Any) -> Body:
        """The body with unknown sizes substituted by known ones."""
        return self.mapped(lambda graph: graph.resolve(known))

    def run(self, values: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Values of the outputs, by the interpreter; they may share memory with each other."""
        if self._runner is None:
            self._runner = Runner(self.graph)
        return self._runner(values)

    def __call__(self, *operands: Tensor) -> list[Tensor]:
        """The outputs for operands of the inputs' types: the body's operations, written out."""
        done = {n: graph_node(x) for n, x in zip(self.inputs, operands, strict=True)}
        for node in self.graph.nodes:
            if node not in done:
                done[node] = node if node.op is None else _again(
                    node, tuple([done[n] for n in node.inputs])
                )
        return [symbol(done[n]) for n in self.outputs]


def _again(node: Node, inputs: tuple[Node, ...]) -> Node:
    """The same operation on other inputs of the same types."""
    op = node.op
    flows = MODE.get().recording and op.differentiable and any(n.requires_grad for n in inputs)
    flows = flows and (node.dtype.kind in "fcV" or (op.outputs > 1 and type(op) is not Item))
    new = Node(op, inputs, node.shape, node.dtype, False, flows, node.where, name=node.name)
    new.outputs = node.outputs
    return new


def _structure(graph: FunctionGraph) -> Any:
    numbers: dict[Node, int] = {}
    lines: list[Any] = []
    for node in (*graph.inputs, *graph.nodes):
        if node in numbers:
            continue
        numbers[node] = len(numbers)
        what = _leaf(node) if node.op is None else _hashable(node.op)
        lines.append((what, tuple([numbers[n] for n in node.inputs]), node.shape, node.dtype))
    return len(graph.inputs), tuple(lines), tuple([numbers[n] for n in graph.outputs])


def _hashable(op: Any) -> Any:
    try:
        hash(op)
    except TypeError:
        return id(op)
    return op


def _leaf(node: Node) -> Any:
    value = constant_value(node)
    if value is None:
        return None
    return value.tobytes() if value.nbytes <= _COMPARED_BYTES else id(value)


def check_types(what: str, wanted: Sequence[Any], given: Sequence[Any]) -> str:
    """Why ``given`` do not have the types of ``wanted``; "" if they do."""
    if len(wanted) != len(given):
        return f"{len(wanted)} {what} are needed, not {len(given)}"
    for i, (a, b) in enumerate(zip(wanted, given, strict=True)):
        if a.dtype != b.dtype or not fits(tuple(a.shape), tuple(b.shape)):
            return f"{what} {i}: {typed(a)} is needed, not {typed(b)}"
    return ""
