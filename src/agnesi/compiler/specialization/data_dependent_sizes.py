"""Data-dependent sizes: the requested steps of a loop, and the steps that were done.

A function gets each of them as the size of one more argument, an array without elements, so that
they are treated like all other sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from agnesi.compiler.shared import SharedDim
from agnesi.compiler.tracing.decisions import token_of
from agnesi.core.graph import FunctionGraph, Interner, alike, live_tensor
from agnesi.core.ir.dims import Dim
from agnesi.core.ir.node import Node, toposort
from agnesi.core.substitution import copied, open_sizes
from agnesi.core.support.config import switched
from agnesi.core.support.dtypes import bool_
from agnesi.core.support.errors import MissingInputError, ShapeError, at
from agnesi.core.value_sizes import ValueDim
from agnesi.ops.base.slices import Slice, Unslice
from agnesi.ops.control.loop import FirstRows, RowsBefore


def sizes_in(nodes: Iterable[Node]) -> Iterable[Any]:
    """Sizes in shapes and in parameters of operations, such as numbers made of sizes."""
    return _sizes_among(toposort(nodes))


def _sizes_among(order: Sequence[Node]) -> Iterable[Any]:
    """Sizes in shapes and parameters of nodes that are given with all that they depend on."""
    yield from open_sizes(*order)
    for node in order:
        for shape, _ in node.outputs or ():
            yield from shape
        for name in node.op.bodies if node.op is not None else ():
            yield from sizes_in(getattr(node.op, name).outputs)


def value_dims(inputs: Sequence[Node], outputs: Sequence[Node],
               replaced: Iterable[Node] = ()) -> list[ValueDim | SharedDim]:
    """Return the data-dependent sizes of a graph whose values are inputs, replaced nodes or
    computed values.

    Sizes of shared variables that the graph does not read are included: only their sizes are used.
    """
    order = toposort(outputs)
    leaves = [n for n in (*toposort(inputs), *order) if n.op is None]
    there = {size for n in leaves for size in n.shape}
    given = {*inputs, *replaced}
    found = []
    for size in _data_dependent_among(order):
        if isinstance(size, ValueDim):
            node = size.node
            if node.op is None and node not in given and live_tensor(node) is None:
                raise MissingInputError(
                    at(f"{size} decides the size of a result, so it must be an input")
                )
        if size not in there or isinstance(size, ValueDim):
            found.append(size)
    return found


def data_dependent_sizes(nodes: Iterable[Node]) -> list[ValueDim | SharedDim]:
    """The data-dependent sizes of a graph, and those of shared variables."""
    return _data_dependent_among(toposort(nodes))


def _data_dependent_among(order: Sequence[Node]) -> list[ValueDim | SharedDim]:
    found: dict[ValueDim | SharedDim, None] = {}
    waiting, seen = list(_sizes_among(order)), set[int]()
    while waiting:
        size = waiting.pop()
        if id(size) in seen:
            continue
        seen.add(id(size))
        if isinstance(size, (ValueDim, SharedDim)):
            found[size] = None
            if isinstance(size, ValueDim):  # its scalar may be computed from sizes, too
                waiting += _sizes_among(toposort([size.node]))
        elif isinstance(size, Dim) and size.op:
            waiting += size.args
    return list(found)


def first_alike(sizes: Sequence[ValueDim | SharedDim]) -> dict[Dim, Dim]:
    """Map each size to the first one whose scalar is computed by the same operations."""
    found: dict[Dim, Dim] = {}
    dependent = [d for d in sizes if isinstance(d, ValueDim)]
    for i, size in enumerate(dependent):
        for other in dependent[:i]:
            if alike(size.node, other.node):
                found[size] = found.get(other, other)
                break
    return found


def carrier(size: ValueDim | SharedDim) -> Node:
    """The input node by which a size is passed: an array without elements, of that size."""
    return Node(None, (), (size, 0), bool_, name=str(size))


def carried(size: ValueDim | SharedDim, value: Any) -> np.ndarray:
    """Return an array of shape (value, 0), by which a size is passed to compiled code."""
    if value < 0:
        raise ShapeError(at(f"{size} decides the size of a result, so it must not be {int(value)}"))
    return np.empty((int(value), 0), bool)


def deciding(graph: FunctionGraph, sizes: Sequence[int]) -> FunctionGraph:
    """Return a graph with static sizes instead of data-dependent ones.

    The last outputs of ``graph``, the scalars that determined the sizes, become checks that run
    before everything else, and the arguments that carried the sizes are dropped.
    """
    count = len(graph.outputs) - len(sizes)
    outputs, scalars = graph.outputs[:count], graph.outputs[count:]
    with switched(trace=None, reads=None, examples=None):
        tests = [(n, "whole", size) for n, size in zip(scalars, sizes, strict=True)]
        token = token_of(tests, sizes=True)
    interner = Interner()
    for node in graph.nodes:
        interner.add(node)
    inputs = graph.inputs[: len(graph.inputs) - len(sizes)]
    return FunctionGraph.of(inputs, [*outputs, token]).merged(interner)


def last_rows_uncut(outputs: Sequence[Node]) -> list[Node]:
    """The outputs of a graph, with the last row of a loop's results read from all rows.

    Rows behind the last step are like that of the last step, so it need not be known for it how
    many there are; the same holds for the row's gradient.
    """
    nodes = toposort(outputs)
    if not any([type(n.op) in (Slice, RowsBefore) for n in nodes]):
        return list(outputs)
    done: dict[Node, Node] = {}
    for node in nodes:
        inputs = tuple([done[n] for n in node.inputs])
        done[node] = _uncut(node, inputs) or (
            node if inputs == node.inputs else copied(node, inputs)
        )
    return [done[n] for n in outputs]


def _uncut(node: Node, inputs: tuple[Node, ...]) -> Node | None:
    op, source = node.op, inputs[0] if inputs else None
    if source is None or source.op is None:
        return None
    inner: Any = source.op
    if type(op) is Slice and type(inner) is FirstRows and op.key[0] == -1:
        return copied(node, source.inputs)
    if type(op) is RowsBefore and type(inner) is Unslice and inner.key[0] == -1:
        new = copied(node, source.inputs)
        new.op = Unslice(inner.key, op.shape)
        return new
    return None
