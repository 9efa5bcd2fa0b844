"""The one graph: a node is a value in single-assignment form, recorded by a run or declared.

A node names the operation that makes it and its input nodes.  A node without an operation is a
leaf: a declared input (no value), a constant (a value), or a live tensor (a handle).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from agnesi.core.ir.dims import Shape
from agnesi.core.support.config import HOOKS
from agnesi.core.support.errors import Where, location

T = TypeVar("T")
#: Nodes that one question looks at.
_MAX_VISITED = 128

#: Return a serial number between those of all existing nodes and those of later ones.
next_serial = itertools.count(1).__next__


class Node:
    """One value of a graph.

    :ivar op: The operation that makes the value; None for a leaf.
    :ivar inputs: What the operation reads.
    :ivar shape, dtype: Type of the value; sizes may be :class:`Dim`.
    :ivar weak: Whether the value came from Python scalars only and does not decide over dtypes.
    :ivar requires_grad: Whether gradients flow through this node.
    :ivar value: The value, where a gradient rule needs it, or the value of a leaf.
    :ivar version: The counter of changes of the memory of ``value``.
    :ivar handle: Returns the tensor that a leaf (or a retained node) stands for, or None.
    :ivar name: The user's name for it.
    :ivar where: The user's line that wrote it (see ``core.support.errors.location``).
    :ivar outputs: Types of the results of an operation with several; ``Item`` nodes pick them.
    :ivar serial: Nodes are numbered as they are made; the numbers of eager operations are negative.
    """

    __slots__ = (
        "__weakref__", "dtype", "handle", "inputs", "name", "op", "outputs", "requires_grad",
        "serial", "shape", "value", "version", "weak", "where",
    )

    def __init__(self, op: Any, inputs: tuple[Node, ...], shape: Shape, dtype: np.dtype,
                 weak: bool = False, requires_grad: bool = False, where: Where = None,
                 value: np.ndarray | None = None, handle: Callable[[], Any] | None = None,
                 name: str | None = None) -> None:
        self.op = op
        self.inputs = inputs
        self.shape = shape
        self.dtype = dtype
        self.weak = weak
        self.requires_grad = requires_grad
        self.value = value
        self.version: Any = None
        self.handle = handle
        self.name = name
        self.where = where
        self.outputs: Any = None
        self.serial = next_serial()

    @property
    def op_name(self) -> str:
        """The name of the operation that makes the value; empty for a leaf."""
        return "" if self.op is None else self.op.name

    @property
    def traits(self) -> frozenset[str]:
        """The traits of the operation that makes the value; none of a leaf."""
        return frozenset() if self.op is None else self.op.traits

    def __repr__(self) -> str:
        kind = self.op.label() if self.op is not None else (self.name or "leaf")
        return f"<{kind}: {self.dtype}{list(self.shape)} at {location(self.where)}>"


def toposort(outputs: Iterable[Node], stop: Callable[[Node], bool] | None = None) -> list[Node]:
    """Nodes that ``outputs`` depend on, inputs first; iterative, so depth does not matter.

    ``stop(node)`` true keeps the node but does not look behind it.
    """
    order: list[Node] = []
    done: set[Node] = set()
    stack: list[Any] = list(outputs)  # None stands on a node whose inputs are in order
    stack.reverse()
    while stack:
        node = stack.pop()
        if node is None:
            order.append(stack.pop())
        elif node not in done:
            done.add(node)
            inputs = node.inputs
            if not inputs or (stop is not None and stop(node)):
                order.append(node)
                continue
            stack.append(node)
            stack.append(None)
            for n in reversed(inputs):
                if n not in done:
                    stack.append(n)
    return order


def creation(node: Node) -> int:
    """Return a sort key: the position of a node in order of creation; leaves come first."""
    return abs(node.serial) if node.op is not None else 0


def executed(outputs: Iterable[Node], stop: Callable[[Node], bool] | None = None) -> list[Node]:
    """Return nodes in topological order, in program order if any of them waits for other processes.

    Other processes may run another program: an order that only respects dependences could block
    them all.
    """
    order = toposort(outputs, stop)
    return toposort(sorted(order, key=creation), stop) if waiting(order) else order


def waiting(nodes: Iterable[Node]) -> bool:
    """Return whether any node, or a node in its bodies, waits for other processes."""
    return HOOKS.in_order and any([n.op is not None and (
        "waits" in n.op.traits or any([waiting(getattr(n.op, name).graph.nodes)
                                       for name in n.op.bodies])) for n in nodes])


def leaves(outputs: Sequence[Node]) -> Iterator[Node]:
    """Leaves that ``outputs`` depend on."""
    return (n for n in toposort(outputs) if n.op is None)


def answer(node: Node, rule: Callable[[Node, Callable[[Node], T]], T], otherwise: T) -> T:
    """Return the result of a recursive ``rule`` for a node; the rule gets a function that returns
    the results for other nodes.

    Each node is visited once, at most ``_MAX_VISITED`` in all; the result for the rest is
    ``otherwise``.
    """
    known: dict[Node, T] = {}

    def ask(node: Node) -> T:
        if node not in known:
            known[node] = otherwise
            if len(known) <= _MAX_VISITED:
                known[node] = rule(node, ask)
        return known[node]

    return ask(node)
