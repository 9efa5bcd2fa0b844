"""Softmax and logsumexp, shifted by the maximum so that no exponential overflows."""

from __future__ import annotations

from agnesi.core.node import Node
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.compare import isfinite
from agnesi.ops.explog import exp, log
from agnesi.ops.movement import reshape
from agnesi.ops.reduce import max as max_over
from agnesi.ops.reduce import sum as sum_over
from agnesi.ops.select import where

Axes = tuple[int, ...]


def without_moves(node: Node) -> Node:
    """What lies behind broadcasts and reshapes that only add or drop axes of size 1."""
    while node.op is not None and (
        node.op.name == "broadcast_to"
        or (node.op.name == "reshape" and _squeezed(node) == _squeezed(node.inputs[0]))
    ):
        node = node.inputs[0]
    return node


def _squeezed(node: Node) -> list[object]:
    return [n for n in node.shape if n != 1]


def shifted_by_peak(x: Node) -> bool:
    """Whether ``x`` is something minus its own maximum."""
    if x.op is None or x.op.name != "subtract":
        return False
    peak = without_moves(x.inputs[1])
    if peak.op is not None and peak.op.name == "where":
        peak = without_moves(peak.inputs[1])
    return peak.op is not None and peak.op.name == "max" and peak.inputs[0] is x.inputs[0]


def normaliser_of(total: Node, e: Node | None) -> Axes | None:
    """The axes if ``total`` is the sum of the exponential ``e`` (of any, for None), unshifted."""
    inner = without_moves(total)
    if inner.op is None or inner.op.name != "sum":
        return None
    source = inner.inputs[0]
    if source.op is None or source.op.name != "exp" or (e is not None and source is not e):
        return None
    return None if shifted_by_peak(source.inputs[0]) else inner.op.axes


def _peak(x: Tensor, axes: Axes) -> Tensor:
    """The maximum, or 0 where that is infinite."""
    peak = max_over(x, axis=axes, keepdims=True)
    return where(isfinite(peak), peak, 0)


def softmax_of(x: Tensor, axes: Axes) -> Tensor:
    """exp(x) / sum(exp(x)) over axes."""
    e = exp(x - _peak(x, axes))
    return e / sum_over(e, axis=axes, keepdims=True)


def logsumexp_of(x: Tensor, axes: Axes, like: Node) -> Tensor:
    """log(sum(exp(x))) over axes, in the shape of ``like``."""
    peak = _peak(x, axes)
    total = log(sum_over(exp(x - peak), axis=axes, keepdims=True)) + peak
    return reshape(total, like.shape)


def log_softmax_of(x: Tensor, axes: Axes) -> Tensor:
    """log(softmax(x)) over axes."""
    shifted = x - _peak(x, axes)
    return shifted - log(sum_over(exp(shifted), axis=axes, keepdims=True))


def softmax_parts(node: Node) -> tuple[Tensor, Axes] | None:
    """``x`` and the axes if the node is a softmax, shifted or not."""
    if node.op is None or node.op.name != "divide":
        return None
    e, total = node.inputs
    inner = without_moves(total)
    if e.op is None or e.op.name != "exp" or inner.op is None or inner.op.name != "sum":
        return None
    if inner.inputs[0] is not e:
        return None
    x = e.inputs[0]
    return symbol(x.inputs[0] if shifted_by_peak(x) else x), inner.op.axes
