"""Softmax as people compose it."""

from __future__ import annotations

from agnesi.core.dispatch import apply
from agnesi.core.ir.node import Node
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.neural.softmax import Softmax

Axes = tuple[int, ...]


def without_moves(node: Node) -> Node:
    """Return the node behind broadcasts and reshapes that only add or drop axes of size 1."""
    while node.op is not None and (
        "broadcast" in node.op.traits
        or (node.op_name == "reshape" and squeezed(node) == squeezed(node.inputs[0]))
    ):
        node = node.inputs[0]
    return node


def squeezed(node: Node) -> list[object]:
    """The sizes that are not 1."""
    return [n for n in node.shape if n != 1]


def is_beside(node: Node, reduced: Node) -> bool:
    """Return whether a reduction, seen through broadcasts and reshapes, meets the elements that it
    is of as if it had kept its axes: of a square matrix, sums of rows may meet columns."""
    rank, axes = len(reduced.inputs[0].shape), reduced.op.axes
    meets = list(range(rank - len(node.shape), rank))  # the axes of the whole that its axes meet
    while node is not reduced:
        (inner,) = node.inputs
        if node.op_name == "reshape":
            at = [m for m, n in zip(meets, node.shape, strict=True) if n != 1]
            meets = [at.pop(0) if n != 1 else -1 for n in inner.shape]
        else:
            meets = meets[len(meets) - len(inner.shape):]
        node = inner
    own = [a for a in range(rank) if reduced.op.keepdims or a not in axes]
    return all(n == 1 or m == a for n, m, a in zip(reduced.shape, meets, own, strict=True))


def exponent_of(e: Node, axes: Axes) -> Tensor:
    """``x`` for exp(x), or for exp(x - max(x)): what people write so that it does not overflow.

    The maximum is the same along ``axes``.
    """
    (x,) = e.inputs
    if x.op_name == "subtract":
        peak = without_moves(x.inputs[1])
        if (peak.op_name == "max" and peak.inputs[0] is x.inputs[0]
                and set(axes) <= set(peak.op.axes) and is_beside(x.inputs[1], peak)):
            x = x.inputs[0]
    return symbol(x)


def normaliser_of(total: Node, e: Node | None = None) -> Axes | None:
    """The axes if ``total`` is the sum of the exponential ``e`` (of any, for None) beside it."""
    inner = without_moves(total)
    if inner.op_name != "sum" or inner.dtype.kind != "f":
        return None
    source = inner.inputs[0]
    if source.op_name != "exp" or (e is not None and source is not e):
        return None
    return inner.op.axes if e is None or is_beside(total, inner) else None


def softmax_of(e: Node, axes: Axes) -> Tensor:
    """exp(x) / sum(exp(x)) over axes, given exp(x)."""
    return apply(Softmax(axes), exponent_of(e, axes))
