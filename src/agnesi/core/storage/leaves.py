"""The node of a tensor that has a value: made at first use, and again after an assignment.

``x.requires_grad = ...`` and ``x.array = ...`` are not noted; a node has both as they were when
it was made.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from agnesi.core.ir.node import Node, toposort
from agnesi.core.op import Op
from agnesi.core.support.config import MODE
from agnesi.core.support.tracing import finished
from agnesi.core.support.worker_threads import elements
from agnesi.core.tensor import Tensor


class Copy(Op):
    """A copy of the tensor, in memory of its own."""

    name = "copy"
    traits = frozenset(("movement",))
    keep_inputs = ()
    work = elements(2)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Copy)

    def __hash__(self) -> int:
        return hash("copy")

    def infer(self, x: Any) -> Any:
        return x.shape, x.dtype

    def perform(self, x: np.ndarray) -> np.ndarray:
        return x.copy()

    def c_call(self, x: np.ndarray) -> Any:
        return np.ndarray.copy, ()

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        return (g,)

    def jvp(self, ts: Any, y: Tensor, x: Tensor) -> Any:
        return ts[0]

    def lower(self, at: Any, x: Any) -> Any:
        return x(*at)


COPY = Copy()
#: Elements up to which a leaf of the record keeps the value of a constant that no derivative reads,
#: for declared graphs that compute again what was recorded; larger ones live as long as others
#: hold them.
LEAF_ELEMENTS = 1024


class Later(Node):
    """The leaf of a tensor that had another leaf in earlier records."""

    __slots__ = ("before",)

    before: tuple[weakref.ref[Node], ...]


class Argument(Node):
    """The leaf node of an argument that a transformation such as ``grad`` passes to the user's
    function."""

    __slots__ = ()


def argument(x: Tensor) -> None:
    """Make a tensor with a value an argument of a transformation."""
    data: Any = x.array
    x.node = Argument(None, (), data.shape, data.dtype, requires_grad=True, value=data,
                      handle=weakref.ref(x), name=x._name)


def is_differentiated(x: Tensor) -> bool:
    """Return whether a value was computed from what a transformation handed to the user's function.
    """
    return x.node is not None and any(type(node) is Argument for node in toposort([x.node]))


def earlier(leaf: Node) -> list[Node]:
    """Leaves that stood for a leaf's tensor before an assignment, as far as records hold them."""
    if type(leaf) is not Later:
        return []
    return [node for ref in leaf.before if (node := ref()) is not None]


def node_of(x: Tensor) -> Node:
    """Return the node of a tensor outside of a trace."""
    node = x.node
    if node is not None and node.requires_grad is x._requires_grad:
        value = node.value
        if value is x.array:
            return node
        if value is None:
            if node.op is None:
                node.value = x.array  # the first record needed none
            return node
    return _renewed(x, node) if x.array is not None else node  # type: ignore[return-value]


def _renewed(x: Tensor, old: Node | None) -> Node:
    """Return a new node for a tensor's present value."""
    data: Any = x.array
    if old is not None and old.op is not None and x._requires_grad and old.requires_grad:
        node = Node(COPY, (old,), data.shape, data.dtype, requires_grad=True, where=old.where,
                    value=data)
    else:
        node = _leaf(x, old)
    x.node = node
    return node


def _leaf(x: Tensor, old: Node | None) -> Node:
    data: Any = x.array
    kind = Later if old is not None and old.op is None else Node
    node = kind(None, (), data.shape, data.dtype, requires_grad=x._requires_grad,
                value=data, handle=weakref.ref(x), name=x._name)
    if isinstance(node, Later) and old is not None:
        node.before = (weakref.ref(old), *(weakref.ref(n) for n in earlier(old)))
    return node


def left_over(x: Tensor) -> str:
    """Return the name of the function whose finished trace leaked this symbol; empty if there is
    none.
    """
    node, mode = x.node, MODE.get()
    if node is None or mode.trace is not None or mode.examples is not None or not finished():
        return ""
    return next((name for n in toposort([node]) if n.op is None and (name := finished(n))), "")
