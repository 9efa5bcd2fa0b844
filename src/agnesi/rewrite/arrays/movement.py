"""Movement: reshapes, transposes and slices that do nothing go; of several in a row one stays."""

from __future__ import annotations

from agnesi.core.ir.dims import is_settled
from agnesi.core.ir.node import Node
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.ensure import Ensure
from agnesi.ops.base.expand import BroadcastTo, broadcast_to
from agnesi.ops.base.movement import Permute, Reshape, reshape
from agnesi.ops.base.slices import Slice
from agnesi.rewrite.rules import Book

BOOK = Book()
rewriter = BOOK.rewriter


def _is(node: Node, kind: type) -> bool:
    return type(node.op) is kind


@rewriter("canonicalize", ops=[Reshape])
def trivial_reshape(node: Node) -> Node | Tensor | None:
    """Reshapes to the shape at hand are dropped, and reshapes of reshapes merged."""
    (source,) = node.inputs
    if source.shape == node.shape:
        return source
    if _is(source, Reshape):
        return Node(node.op, source.inputs, node.shape, node.dtype)
    if _is(source, BroadcastTo) and source.inputs[0].shape == ():
        return broadcast_to(symbol(source.inputs[0]), node.shape)
    return None


@rewriter("canonicalize", ops=[BroadcastTo])
def broadcast_of_reshape(node: Node) -> Tensor | None:
    """A single element is broadcast as a scalar, whatever axes of size 1 it was given."""
    (source,) = node.inputs
    if _is(source, Reshape) and source.inputs[0].shape == ():
        return broadcast_to(symbol(source.inputs[0]), node.shape)
    return None


@rewriter("canonicalize", ops=[Permute])
def trivial_transpose(node: Node) -> Node | Tensor | None:
    """Transposes that move nothing are dropped or become reshapes; two in a row become one."""
    (source,) = node.inputs
    axes = node.op.axes
    if axes == tuple(range(len(axes))):
        return source
    if _is(source, Permute):
        merged = Permute(tuple(source.op.axes[a] for a in axes))
        return Node(merged, source.inputs, node.shape, node.dtype)
    moved = [a for a in axes if source.shape[a] != 1]
    if moved == sorted(moved) and is_settled(source.shape):
        return reshape(symbol(source), node.shape)
    return None


@rewriter("canonicalize", ops=[Slice])
def full_slice(node: Node) -> Node | None:
    """A slice of the whole is the whole."""
    source = node.inputs[0]
    if not _is(node, Slice) or node.shape != source.shape:
        return None
    for entry in node.op.key:
        if isinstance(entry, int) or entry[2] != 1:
            return None
    return source if is_settled(node.shape) else None


@rewriter("canonicalize", ops=[Slice], operands=[BroadcastTo])
def slice_of_one_number(node: Node) -> Tensor | None:
    """A slice of one number that was broadcast is that number, broadcast to less."""
    source = node.inputs[0]
    if not _is(node, Slice) or not _is(source, BroadcastTo) or source.inputs[0].shape != ():
        return None
    return broadcast_to(symbol(source.inputs[0]), node.shape)


@rewriter("canonicalize", ops=[Ensure], tags=("unsafe",))
def unwanted_check(node: Node) -> Node:
    """Checks are dropped where the user does without them."""
    return node.inputs[0]
