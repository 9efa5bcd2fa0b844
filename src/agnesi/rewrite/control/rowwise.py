"""Operations on the rows of sequences as operations on all rows at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agnesi.core.dispatch import apply, graph_node
from agnesi.core.ir.node import Node
from agnesi.core.storage.leaves import Copy
from agnesi.core.tensor import symbol
from agnesi.ops import batching as _batching  # noqa: F401 - it has the rules
from agnesi.ops.base.convert import Cast
from agnesi.ops.base.elementwise import Elementwise
from agnesi.ops.base.expand import BroadcastTo, broadcast_to
from agnesi.ops.base.movement import Permute, Reshape, permute_dims, reshape
from agnesi.ops.base.reduce import Reduce
from agnesi.ops.base.slices import Slice, Unslice
from agnesi.ops.contractions.matmul import MATMUL, MatMul
from agnesi.ops.indexing.join import Concat

#: A value of a body: the node outside, and whether it has a leading axis for the rows.
Value = tuple[Node, bool]
#: What may leave a loop with all its rows at once.
_LEAVING = (
    Elementwise, Cast, Copy, MatMul, Reduce, Reshape, Permute, BroadcastTo, Slice, Unslice, Concat,
)


def over_rows(node: Node, operands: Sequence[Value], length: Any) -> Node | None:
    """Return an operation of a loop's body for all rows at once, with a leading axis; None where
    there is none.

    At least one operand has rows.  None where it had better stay in the loop.
    """
    op = node.op
    if not isinstance(op, _LEAVING) or op.condition is not None:
        return None
    rule: Any = op.batch
    found = rule(node, [symbol(n) for n, _ in operands], [r for _, r in operands], length)
    return graph_node(broadcast_to(found, (length, *node.shape)))


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
