"""The interpreter: a graph run node by node with the operations' own NumPy evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from agnesi.core.graph import FunctionGraph, constant_value, live_tensor
from agnesi.core.ir.node import Node
from agnesi.core.op import EXPLAINED, Item, check_result, explain, title_of
from agnesi.core.support.errors import MissingInputError

#: Called with every node and its value as it is computed, inputs and constants included.
Watcher = Callable[[Node, Any], None]
_WATCHER: ContextVar[Watcher | None] = ContextVar("_WATCHER", default=None)


@contextmanager
def watched(watch: Watcher) -> Iterator[None]:
    """Within it, graphs that are interpreted pass their values to ``watch``."""
    token = _WATCHER.set(watch)
    try:
        yield
    finally:
        _WATCHER.reset(token)


def interpret(graph: FunctionGraph, values: Sequence[np.ndarray],
              watch: Watcher | None = None) -> list[np.ndarray]:
    """The graph's outputs for values of its inputs; live tensors are read as they are now.

    A value is dropped after its last use.  The results share memory with nothing.

    :param graph: The graph, with concrete sizes.
    :param values: A value for each input of the graph.
    :param watch: Called as ``watch(node, value)``; by default the one of ``watched``.
    :type watch: callable, optional
    """
    return _own(Runner(graph)(values, watch or _WATCHER.get()), graph.outputs)


class Runner:
    """A graph in the order in which it runs; calling it with values of the inputs runs it.

    The results may share memory with each other, with the values and with constants.
    """

    def __init__(self, graph: FunctionGraph) -> None:
        self.graph = graph
        self.order = graph.nodes
        self.uses = _uses(self.order, graph.outputs)

    def __call__(self, values: Sequence[np.ndarray],
                 watch: Watcher | None = None) -> list[np.ndarray]:
        inputs = self.graph.inputs
        if len(values) != len(inputs):
            raise MissingInputError(f"{len(inputs)} inputs are needed, not {len(values)}")
        known: dict[Node, Any] = dict(zip(inputs, map(np.asarray, values), strict=True))
        uses = self.uses.copy()
        for node in self.order:
            if node not in known:
                known[node] = _leaf(node) if node.op is None else computed(node, known)
            if watch is not None:
                watch(node, known[node])
            if node.op is None:
                continue
            for source in node.inputs:
                uses[source] -= 1
                if not uses[source]:
                    del known[source]
        return [known[n] for n in self.graph.outputs]


def _uses(order: Sequence[Node], outputs: Sequence[Node]) -> dict[Node, int]:
    uses = dict.fromkeys(order, 0)
    for node in order:
        for source in node.inputs:
            uses[source] += 1
    for node in outputs:
        uses[node] += 1
    return uses


def _leaf(node: Node) -> np.ndarray:
    t = live_tensor(node)
    value = constant_value(node) if t is None else t.array
    if value is None:
        raise MissingInputError(f"the input {node.name or 'without a name'} has no value")
    return value


def computed(node: Node, known: Mapping[Node, Any]) -> Any:
    """Return a node's value from the values of its inputs: a tuple where the operation has several
    results.
    """
    op = node.op
    values = [known[n] for n in node.inputs]
    if type(op) is Item:
        return values[0][op.index]
    try:
        result = op.perform(*values)
        if op.user_defined:
            result = _checked(node, result)
    except EXPLAINED as error:
        raise explain(error, title_of(op), node.inputs, node.where) from None
    if op.outputs > 1:
        return tuple(np.asarray(r) for r in result)
    return np.asarray(result)


def _checked(node: Node, found: Any) -> Any:
    """Return what a user's operation returned, checked against its declared types."""
    several = node.op.outputs > 1
    types = node.outputs if several else ((node.shape, node.dtype),)
    results = [np.asarray(v) for v in (found if several else (found,))]
    for value, (shape, dtype) in zip(results, types, strict=True):
        check_result(value, shape, dtype)
    made = [v.astype(dtype, copy=False) for v, (_, dtype) in zip(results, types, strict=True)]
    return tuple(made) if several else made[0]


def _own(results: list[Any], outputs: Sequence[Node]) -> list[np.ndarray]:
    """Results in memory of their own."""
    seen: set[int] = set()
    own = []
    for value, node in zip(results, outputs, strict=True):
        shared = node.op is None or value.base is not None or id(value) in seen
        value = value.copy() if shared or not value.flags.writeable else value
        seen.add(id(value))
        own.append(value)
    return own
