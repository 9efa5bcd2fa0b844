"""Graphs as text: one line for each value, in an order in which they can be computed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from agnesi.core.dispatch import graph_node
from agnesi.core.graph import FunctionGraph, constant_value, live_tensor
from agnesi.core.ir.node import Node, toposort
from agnesi.core.support.errors import at, location
from agnesi.core.tensor import Tensor


def nodes_of(what: Any) -> tuple[list[Node], list[Node]]:
    """Declared inputs and results of tensors, of a graph, or of a compiled function."""
    graph = what if isinstance(what, FunctionGraph) else getattr(what, "graph", None)
    if isinstance(graph, FunctionGraph):
        return list(graph.inputs), list(graph.outputs)
    tensors = [what] if isinstance(what, Tensor) else what
    if isinstance(tensors, Sequence) and all(isinstance(t, Tensor) for t in tensors):
        return [], [graph_node(t) for t in tensors]
    raise TypeError(
        at(
            "give a tensor, a list of tensors, a graph or a compiled function, "
            f"not {type(what).__name__}"
        )
    )


def described(node: Node) -> str:
    """Return the text of a node without its inputs: an operation, a constant, an input."""
    if node.op is not None:
        label: str = node.op.label()
        return label
    name = f" {node.name}" if node.name else ""
    if live_tensor(node) is not None:
        return f"tensor{name}"
    value = constant_value(node)
    if value is None:
        return f"input{name}"
    return f"constant{name} {value.item()}" if value.size == 1 else f"constant{name}"


def listing(what: object) -> str:
    """The graph behind tensors, or inside a compiled function, as text.

    :param what: Symbolic tensors, recorded results, or what was compiled (after optimisation).
    :type what: Tensor, sequence of Tensor, graph or compiled function
    :returns: A line for each value: number, operation, operands, type, the line that wrote it.
    :see: inspect.pprint, inspect.to_dot

    >>> import agnesi as ag
    >>> from agnesi import symbolic as T
    >>> x = T.fvector("x", shape=(3,))
    >>> print(ag.inspect.listing(T.exp(x) + x))
    %0 = input x: float32[3]
    %1 = exp(%0): float32[3]  # ...:1
    %2 = add(%1, %0): float32[3]  # ...:1
    return %2
    """
    inputs, outputs = nodes_of(what)
    numbers: dict[Node, str] = {}
    lines = []
    for node in toposort((*inputs, *outputs)):
        numbers[node] = number = f"%{len(numbers)}"
        operands = f"({', '.join(numbers[n] for n in node.inputs)})" if node.op is not None else ""
        sizes = ", ".join(map(str, node.shape))
        line = f"{number} = {described(node)}{operands}: {node.dtype}[{sizes}]"
        if node.op is not None and node.where is not None:
            line += f"  # {os.path.basename(location(node.where))}"
        lines.append(line)
        for held in node.op.bodies if node.op is not None else ():
            inner = listing(getattr(node.op, held).graph).splitlines()
            lines += [f"    {held}:", *(f"    {row}" for row in inner)]
    return "\n".join([*lines, "return " + ", ".join(numbers[n] for n in outputs)])


def pprint(what: object) -> None:
    """Print :func:`listing`.

    :param what: As for :func:`listing`.
    :type what: Tensor, sequence of Tensor, graph or compiled function
    :see: inspect.listing, inspect.to_dot

    >>> w = ag.ones(2, requires_grad=True)
    >>> ag.inspect.pprint(w * w)
    %0 = tensor: float32[2]
    %1 = multiply(%0, %0): float32[2]  # ...:1
    return %1
    """
    print(listing(what))
