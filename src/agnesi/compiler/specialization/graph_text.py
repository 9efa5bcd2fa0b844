"""Graphs of different traces as keys, which are equal where the graphs compute the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agnesi.core.graph import FunctionGraph, constant_value
from agnesi.core.ir.dims import Dim
from agnesi.core.ir.node import Node
from agnesi.core.op import Op


class GraphText:
    """The keys of graphs; sizes that are not known yet count by where they come first.

    :param sizes: Whether numbers and sizes among the parameters of operations count.
    :param fresh: Whether tensors that a graph reads are known by their values, not by identity.
    """

    def __init__(self, sizes: bool, fresh: bool) -> None:
        self.sizes, self.fresh = sizes, fresh
        self._numbers: dict[Dim, int] = {}
        self._known: dict[int, Any] = {}

    def of(self, graph: FunctionGraph) -> Any:
        """The key of a graph."""
        indices = {n: i for i, n in enumerate(graph.inputs)}
        numbers = {n: i for i, n in enumerate(graph.nodes)}
        found = [(self._what(n, indices), tuple([numbers[i] for i in n.inputs]), n.dtype)
                 for n in graph.nodes]
        return tuple(found), tuple([numbers[n] for n in graph.outputs])

    def _what(self, node: Node, indices: Mapping[Node, int]) -> Any:
        if node.op is not None:
            return self._operation(node.op)
        if node in indices:
            return indices[node], *map(self._field, node.shape)
        value = constant_value(node)
        if value is not None:
            return value.tobytes()
        t: Any = node.handle()  # type: ignore[misc]
        return t.array.tobytes() if self.fresh else id(t)

    def _operation(self, op: Any) -> Any:
        if op.condition is not None:  # a check, whose message names sizes
            return op.name
        fields = [self._field(getattr(op, n)) for n in getattr(op, "_fields", ())]
        return op.name, op.label() if not fields else "", tuple(fields)

    def _field(self, value: Any) -> Any:
        if isinstance(value, Dim):
            return self._size(value) if self.sizes else "size"
        if isinstance(value, int) and not isinstance(value, bool):
            return value if self.sizes else "size"
        if isinstance(value, (tuple, list)):
            return tuple(map(self._field, value))
        if isinstance(value, Op):
            return self._operation(value)
        if hasattr(value, "inputs") and hasattr(value, "outputs"):  # a body
            return self.of(FunctionGraph(value.inputs, value.outputs))
        return str(value)

    def _size(self, size: Any) -> Any:
        if not isinstance(size, Dim):
            return size
        if not size.op:
            return "size", self._numbers.setdefault(size, len(self._numbers))
        if id(size) not in self._known:
            key = size.op, *map(self._size, size.args)
            self._known[id(size)] = key, size  # kept, as long as its id is known
        return self._known[id(size)][0]
