"""Graphs computed once more, for other tensors: each operation is applied as if it were written.

A graph with results whose sizes depend on values (``core.value_sizes``) cannot be the body of an
operation, for the graph around it has to know these sizes.  Applied again, operations read them
where they are now: numbers eagerly, sizes of the trace under ``jit``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from agnesi.autodiff.bodies import is_cut
from agnesi.core.dispatch import apply, apply_many
from agnesi.core.graph import constant_value, live_tensor
from agnesi.core.ir.dims import Dim, Size, combine
from agnesi.core.ir.node import Node, executed, toposort
from agnesi.core.op import Item, typed
from agnesi.core.substitution import open_sizes, size_with, unify
from agnesi.core.support.config import switched
from agnesi.core.support.errors import DTypeError, ShapeError, at
from agnesi.core.tensor import Tensor, symbol
from agnesi.core.value_sizes import ValueDim, depends_on_value, size_of
from agnesi.ops.base.convert import as_tensor


def has_sizes_of_values(outputs: Iterable[Node]) -> bool:
    """Return whether sizes in a graph, or in its derivatives, depend on values."""
    return any(
        "sizes" in node.traits
        or any(depends_on_value(n) for n in (
            *open_sizes(node), *(n for shape, _ in node.outputs or () for n in shape)))
        for node in toposort(outputs))


def replayed(outputs: Sequence[Node], replaced: Mapping[Node, Tensor]) -> list[Tensor]:
    """Return the outputs computed again from tensors in place of some nodes.

    :raises TypeError: If the dtype or shape of a tensor differs from its node's.
    """
    run = _Replay(replaced)
    return [run.tensor(n) for n in outputs]


class _Replay:
    """Computes a graph again on tensors; keeps the values by node."""

    def __init__(self, replaced: Mapping[Node, Tensor]) -> None:
        self._done: dict[Node, Any] = dict(replaced)
        self._sizes: dict[Dim, Size] = {}
        for node, t in replaced.items():
            if node.dtype != t.dtype:
                raise DTypeError(at(f"cannot replace {typed(node)} by {typed(t)}: dtypes differ"))
            if not unify(node.shape, t.shape, self._sizes):
                raise ShapeError(at(f"cannot replace {typed(node)} by {typed(t)}: shapes differ"))

    def tensor(self, node: Node) -> Any:
        """Return the present value of a node; a tuple for an operation of several results."""
        for n in executed([node], self._done.__contains__):
            if n not in self._done:
                self._done[n] = _leaf(n) if n.op is None else self._applied(n)
        return self._done[node]

    def _applied(self, node: Node) -> Any:
        op: Any = node.op
        if type(op) is Item:
            return self._done[node.inputs[0]][op.index]
        xs = [self._done[n] for n in node.inputs]
        op = op.resolve(self._size)
        with switched(recording=False) if is_cut(node) else nullcontext():
            return apply_many(op, *xs) if op.outputs > 1 else apply(op, *xs)

    def _size(self, size: Size) -> Size:
        if isinstance(size, ValueDim):
            if size not in self._sizes:
                most = None if size.most is None else self._size(size.most)
                self._sizes[size] = size_of(self.tensor(size.node), most=most)
            return self._sizes[size]
        if isinstance(size, Dim) and size.op and size not in self._sizes \
                and depends_on_value(size):
            return combine(size.op, *map(self._size, size.args))
        return size_with(size, self._sizes)


def _leaf(node: Node) -> Tensor:
    value = constant_value(node) if live_tensor(node) is None else None
    return symbol(node) if value is None else as_tensor(value, node.dtype)
