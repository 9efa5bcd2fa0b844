"""Copies of compiled functions with other state, and their pickles."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any

from agnesi.compiler.compilation.artifact import Recipe
from agnesi.compiler.compilation.build import build
from agnesi.compiler.compilation.compiled import Known
from agnesi.compiler.compilation.graph_serialization import nodes_of, rows_of
from agnesi.core.graph import FunctionGraph, Interner
from agnesi.core.ir.node import Node
from agnesi.core.op import typed
from agnesi.core.substitution import copied
from agnesi.core.support.errors import DTypeError, ShapeError, at
from agnesi.core.tensor import Tensor

Swap = Mapping[int, Tensor]


def check_copy(swap: Any, updates: Any, share_memory: Any, name: Any) -> None:
    """Refuse what ``copy`` cannot take."""
    if not isinstance(swap or {}, Mapping):
        raise TypeError(at(f"copy: swap maps variables to others, not {typed(swap)}"))
    if not isinstance(updates, bool):
        raise TypeError(at("copy: updates says whether the copy changes state, True or False, "
                           f"not {typed(updates)}; make another ag.function for other ones"))
    if not isinstance(share_memory, bool):
        raise TypeError(at("copy: share_memory says whether intermediate values lie where those "
                           f"of others do, True or False, not {typed(share_memory)}"))
    if not isinstance(name, (str, type(None))):
        raise TypeError(at(f"copy: name must be text, not {typed(name)}"))


def check_pair(old: Any, new: Any) -> None:
    """Refuse a variable instead of another one of another kind."""
    if old.dtype != new.dtype:
        raise DTypeError(at(f"{typed(new)} cannot replace {typed(old)}: the dtype must agree"))
    if old.ndim != new.ndim:
        raise ShapeError(at(
            f"{typed(new)} cannot replace {typed(old)}: the number of axes must agree"))


def with_other_state(graph: FunctionGraph, swap: Swap) -> FunctionGraph:
    """Return the graph with other live tensors; ``swap`` maps the id of a present one to its
    replacement.
    """
    interner = Interner()
    done: dict[Node, Node] = {}
    for node in graph.nodes:
        if node.op is not None:
            inputs = tuple([done[n] for n in node.inputs])
            done[node] = interner.add(node if inputs == node.inputs else copied(node, inputs))
            continue
        t = node.handle() if node.handle is not None else None
        new = swap.get(id(t)) if t is not None else None
        done[node] = interner.add(node if new is None else _leaf(node, new))
    for node in graph.inputs:
        done.setdefault(node, node)
    return FunctionGraph.of([done[n] for n in graph.inputs], [done[n] for n in graph.outputs])


def _leaf(node: Node, t: Tensor) -> Node:
    return Node(None, (), node.shape, node.dtype, node.weak, node.requires_grad, node.where,
                handle=lambda: t, name=t._name)


def swapped(known: Known, swap: Swap, outputs: int, among: int) -> Known:
    """Return ``known`` for other live tensors, with only the first ``outputs`` of its first
    ``among`` outputs.
    """
    graph = known.optimised
    if graph is None:
        return Known(None, known.recipe, known.strides)
    recipe = known.recipe
    if outputs < among:
        left = (*graph.outputs[:outputs], *graph.outputs[among:])
        graph, recipe = FunctionGraph.of(graph.inputs, left), None
    return Known(with_other_state(graph, swap), recipe, known.strides)


def packed(known: Known, live: list[Tensor]) -> bytes:
    """Return ``known`` as bytes, with live tensors replaced by their positions in ``live``; empty
    where a Python function in it cannot be found by name.

    The graph is pickled separately, because another version of the library, which is recognized by
    its digest, might fail to unpickle it.
    """
    indices = {id(t): i for i, t in enumerate(live)}
    graph: Any = None
    if known.optimised is not None:
        rows, numbers = rows_of((*known.optimised.inputs, *known.optimised.outputs))
        ends = [[numbers[n] for n in nodes]
                for nodes in (known.optimised.inputs, known.optimised.outputs)]
        graph = [_row(row, indices) for row in rows], *ends
    recipe = None if known.recipe is None else known.recipe.packed()
    try:
        graph = pickle.dumps(graph)
        return pickle.dumps((build(), graph, recipe, known.strides))
    except (pickle.PicklingError, AttributeError, TypeError):
        return b""  # operations that cannot be found by name: found out again where it is loaded


def unpacked(data: bytes, live: list[Tensor]) -> Known | None:
    """Return what :func:`packed` wrote, or None where this version of the library cannot use it."""
    if not data:
        return None
    version, graph, recipe, strides = pickle.loads(data)
    if not version or version != build():
        return None
    optimised = _graph(pickle.loads(graph), live)
    ready = None if recipe is None else Recipe.unpacked(recipe)
    return Known(optimised, ready if ready is not None and ready.works() else None, strides)


def _graph(parts: Any, live: list[Tensor]) -> FunctionGraph | None:
    if parts is None:
        return None
    rows, inputs, outputs = parts
    nodes = nodes_of([_leaf_of(row, live) for row in rows])
    return FunctionGraph.of([nodes[i] for i in inputs], [nodes[i] for i in outputs])


def _row(row: Any, indices: dict[int, int]) -> Any:
    """A row of a graph; a leaf of a live tensor as its type and index."""
    if not isinstance(row, Node) or row.handle is None:
        return row
    index = indices.get(id(row.handle()))
    if index is None:
        return row
    return _Live(index, row.shape, row.dtype, row.requires_grad)


class _Live:
    def __init__(self, index: int, *kind: Any) -> None:
        self.index = index
        self.kind = kind


def _leaf_of(row: Any, live: list[Tensor]) -> Any:
    if not isinstance(row, _Live):
        return row
    shape, dtype, requires_grad = row.kind
    t = live[row.index]
    return Node(None, (), shape, dtype, requires_grad=requires_grad, handle=lambda: t, name=t._name)
