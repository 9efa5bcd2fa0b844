"""Sizes that the value of a function's input tells: the number of steps of a loop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from agnesi.core.dims import Dim
from agnesi.core.errors import MissingInputError, at
from agnesi.core.node import Node, toposort


class ValueDim(Dim):
    """The size that an integer input's value is; a function is specialised for each value.

    Attributes
    ----------
    node : Node
        The input, as declared.
    """

    __slots__ = ("node",)

    def __init__(self, node: Node) -> None:
        super().__init__(node.name or f"value{id(node)}")
        self.key = ("value", id(node))
        self.node = node


def _sizes(nodes: Iterable[Node]) -> Iterable[Any]:
    for node in toposort(nodes):
        yield from node.shape
        for shape, _ in node.outputs or ():
            yield from shape
        if node.op is not None:
            for name in node.op.bodies:
                yield from _sizes(getattr(node.op, name).outputs)


def value_dims(inputs: Sequence[Node], outputs: Sequence[Node]) -> list[tuple[ValueDim, int]]:
    """Sizes in a graph that are values of inputs, each with the input's place."""
    found: dict[ValueDim, int] = {}
    places = {node: i for i, node in enumerate(inputs)}
    waiting = list(_sizes(outputs))
    while waiting:
        size = waiting.pop()
        if isinstance(size, ValueDim):
            if size.node not in places:
                raise MissingInputError(
                    at(f"{size} decides the size of a result, so it must be an input")
                )
            found[size] = places[size.node]
        elif isinstance(size, Dim) and size.op:
            waiting += size.args
    return list(found.items())
