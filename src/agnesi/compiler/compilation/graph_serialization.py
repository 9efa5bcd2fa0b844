"""Pickling of graphs: nodes as rows of a list, so that depth needs no recursion; functions by name.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterable, Sequence
from types import FunctionType
from typing import Any

from agnesi.core.graph import FunctionGraph
from agnesi.core.ir.node import Node, toposort
from agnesi.core.support.errors import Where, at, plain_where
from agnesi.core.transformed import named

Row = Any  # a leaf, or the fields of a node with the numbers of its inputs


def rows_of(outputs: Iterable[Node]) -> tuple[list[Row], dict[Node, int]]:
    """All nodes that ``outputs`` depend on as rows, inputs first, and the number of each."""
    numbers: dict[Node, int] = {}
    rows: list[Row] = []
    for node in toposort(outputs):
        numbers[node] = len(rows)
        rows.append(node if node.op is None else (
            node.op, tuple([numbers[n] for n in node.inputs]), node.shape, node.dtype, node.weak,
            node.requires_grad, plain_where(node.where), node.name, node.outputs,
        ))
    return rows, numbers


def nodes_of(rows: Sequence[Row]) -> list[Node]:
    """Rebuild the nodes from the rows that :func:`rows_of` returned."""
    nodes: list[Node] = []
    for row in rows:
        if isinstance(row, Node):
            nodes.append(row)
            continue
        op, inputs, shape, dtype, weak, requires_grad, where, name, outputs = row
        node = Node(op, tuple([nodes[i] for i in inputs]), shape, dtype, weak, requires_grad, where,
                    name=name)
        node.outputs = outputs
        nodes.append(node)
    return nodes


def _leaf(shape: Any, dtype: Any, weak: bool, requires_grad: bool, where: Where, value: Any,
          tensor: Any, name: str | None) -> Node:
    handle = None if tensor is None else lambda: tensor
    return Node(None, (), shape, dtype, weak, requires_grad, where, value, handle, name)


def _last(rows: Sequence[Row]) -> Node:
    return nodes_of(rows)[-1]


def _graph(rows: Sequence[Row], inputs: Sequence[int], outputs: Sequence[int]) -> FunctionGraph:
    nodes = nodes_of(rows)
    return FunctionGraph.of([nodes[i] for i in inputs], [nodes[i] for i in outputs])


def reduced(thing: Any) -> Any:
    """Return what pickles keep of a node or a graph."""
    return _reduce_node(thing) if isinstance(thing, Node) else _reduce_graph(thing)


def _reduce_node(node: Node) -> Any:
    if node.op is not None:
        return _last, (rows_of([node])[0],)
    tensor = node.handle() if node.handle is not None else None
    return _leaf, (
        node.shape, node.dtype, node.weak, node.requires_grad, plain_where(node.where),
        node.value, tensor, node.name,
    )


def _reduce_graph(graph: FunctionGraph) -> Any:
    rows, numbers = rows_of((*graph.inputs, *graph.outputs))
    ends = [numbers[n] for n in graph.inputs], [numbers[n] for n in graph.outputs]
    return _graph, (rows, *ends)


def check_named(function: Any, what: str) -> None:
    """Raise PicklingError for a function that pickle cannot find by name, unless cloudpickle or
    dill is loaded.
    """
    if not isinstance(function, FunctionType) or named(function) is function:
        return
    if any(name.rpartition(".")[2] in ("cloudpickle", "dill") for name in list(sys.modules)):
        return
    raise pickle.PicklingError(at(
        f"{what} cannot be pickled: pickle keeps a function's module and name only, and "
        f"{function.__module__}.{function.__qualname__} is not found by them; define it with def "
        "at the top of a module, or use cloudpickle"
    ))
