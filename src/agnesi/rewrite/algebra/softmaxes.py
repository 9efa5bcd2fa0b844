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


def exponent_of(e: Node) -> Tensor:
    """``x`` for exp(x), or for exp(x - max(x)): what people write so that it does not overflow."""
    (x,) = e.inputs
    if x.op_name == "subtract":
        peak = without_moves(x.inputs[1])
        if peak.op_name == "max" and peak.inputs[0] is x.inputs[0]:
            x = x.inputs[0]
    return symbol(x)


def normaliser_of(total: Node, e: Node | None = None) -> Axes | None:
    """The axes if ``total`` is the sum of the exponential ``e`` (of any, for None)."""
    inner = without_moves(total)
    if inner.op_name != "sum" or inner.dtype.kind != "f":
        return None
    source = inner.inputs[0]
    if source.op_name != "exp" or (e is not None and source is not e):
        return None
    return inner.op.axes


def softmax_of(e: Node, axes: Axes) -> Tensor:
    """exp(x) / sum(exp(x)) over axes, given exp(x)."""
    return apply(Softmax(axes), exponent_of(e))
