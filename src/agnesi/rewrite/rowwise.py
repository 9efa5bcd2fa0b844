"""Operations on the rows of sequences as operations on all rows at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agnesi.core.dispatch import COPY, apply, graph_node
from agnesi.core.node import Node
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.convert import Cast
from agnesi.ops.elementwise import Elementwise
from agnesi.ops.expand import BroadcastTo, broadcast_to
from agnesi.ops.join import Concat
from agnesi.ops.matmul import MATMUL, MatMul, product_of
from agnesi.ops.movement import Permute, Reshape, permute_dims, reshape
from agnesi.ops.reduce import Reduce, reducer
from agnesi.ops.slices import FULL, Slice, Unslice

#: A value of a body: the node outside, and whether it has a leading axis for the rows.
Value = tuple[Node, bool]
_Rule = Callable[[Node, list[Tensor], list[bool], int], Tensor]


def over_rows(node: Node, operands: Sequence[Value], length: int) -> Node | None:
    """What an operation of a body gives for all rows at once, with a leading axis of ``length``.

    At least one operand has rows.  None where no rule says how.
    """
    rule = next((r for kind, r in _RULES if isinstance(node.op, kind)), None)
    if (rule is None and node.op is not COPY) or node.op.condition is not None:
        return None
    xs = [symbol(n) for n, _ in operands]
    rows = [r for _, r in operands]
    found = (rule or _pointwise)(node, xs, rows, length)
    if found.shape != (length, *node.shape):
        found = broadcast_to(found, (length, *node.shape))
    return graph_node(found)


def _aligned(x: Tensor, rank: int) -> Tensor:
    """Rows of fewer axes than ``rank`` get axes of size 1 in front."""
    own = x.shape[1:]
    return x if len(own) >= rank else reshape(x, (x.shape[0], *(1,) * (rank - len(own)), *own))


def _pointwise(node: Node, xs: list[Tensor], rows: list[bool], length: int) -> Tensor:
    rank = len(node.shape)
    return apply(node.op, *[_aligned(x, rank) if r else x for x, r in zip(xs, rows, strict=True)])


def _matmul(node: Node, xs: list[Tensor], rows: list[bool], length: int) -> Tensor:
    a, b = xs
    if not rows[1] and len(b.shape) == 2:
        return product_of(a, b)
    if not rows[0] and len(a.shape) == 2 and len(b.shape) == 3:  # all columns at once
        n = b.shape[2]
        columns = reshape(permute_dims(b, (0, 2, 1)), (length * n, b.shape[1]))
        product = apply(MATMUL, columns, permute_dims(a, (1, 0)))
        return permute_dims(reshape(product, (length, n, a.shape[0])), (0, 2, 1))
    rank = len(node.shape)
    a, b = (_aligned(x, rank) if r else x for x, r in zip(xs, rows, strict=True))
    return apply(MATMUL, a, b)


def _reduce(node: Node, xs: list[Tensor], rows: list[bool], length: int) -> Tensor:
    op = node.op
    return apply(reducer(op.kind, tuple(a + 1 for a in op.axes), op.keepdims), xs[0])


def _reshape(node: Node, xs: list[Tensor], rows: list[bool], length: int) -> Tensor:
    return reshape(xs[0], (length, *node.shape))


def _permute(node: Node, xs: list[Tensor], rows: list[bool], length: int) -> Tensor:
    return permute_dims(xs[0], (0, *(a + 1 for a in node.op.axes)))


def _broadcast(node: Node, xs: list[Tensor], rows: list[bool], length: int) -> Tensor:
    return broadcast_to(_aligned(xs[0], len(node.shape)), (length, *node.shape))


def _slice(node: Node, xs: list[Tensor], rows: list[bool], length: int) -> Tensor:
    return apply(Slice((FULL, *node.op.key)), xs[0])


def _unslice(node: Node, xs: list[Tensor], rows: list[bool], length: int) -> Tensor:
    return apply(Unslice((FULL, *node.op.key), (length, *node.op.shape)), xs[0])


def _concat(node: Node, xs: list[Tensor], rows: list[bool], length: int) -> Tensor:
    whole = [
        x if r else broadcast_to(x, (length, *x.shape)) for x, r in zip(xs, rows, strict=True)
    ]
    return apply(Concat(node.op.axis + 1), *whole)


_RULES: tuple[tuple[Any, _Rule], ...] = (
    (Elementwise, _pointwise), (Cast, _pointwise), (MatMul, _matmul), (Reduce, _reduce),
    (Reshape, _reshape), (Permute, _permute), (BroadcastTo, _broadcast), (Slice, _slice),
    (Unslice, _unslice), (Concat, _concat),
)


def summed_product(a: Value, b: Value, transposed: bool, length: int) -> Node:
    """The sum over all rows of ``a @ b`` (``a.T @ b`` if ``transposed``), as one product."""
    first, second = (
        symbol(n) if r else broadcast_to(symbol(n), (length, *n.shape)) for n, r in (a, b)
    )
    inner, right = second.shape[1:]
    if transposed:
        left = first.shape[2]
        wide = permute_dims(reshape(first, (length * inner, left)), (1, 0))
    else:
        left = first.shape[1]
        wide = reshape(permute_dims(first, (1, 0, 2)), (left, length * inner))
    return graph_node(apply(MATMUL, wide, reshape(second, (length * inner, right))))
