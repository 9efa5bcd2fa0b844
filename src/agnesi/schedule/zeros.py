"""How many elements of a value are zero because dropout put zeros there."""

from __future__ import annotations

from agnesi.core.graph import constant_value
from agnesi.core.node import Node

_WORDS = 1 << 32  # values of a random word
_MOVES = ("reshape", "permute_dims")


def zeros_of(node: Node) -> float:
    """The share of zeros to expect; none where nothing tells of any."""
    node = _moved(node)
    name = node.op.name if node.op is not None else ""
    if name == "multiply":  # by a mask
        return max(_masked(_moved(factor)) for factor in node.inputs)
    return _masked(node)


def _masked(node: Node) -> float:
    """The share of elements that a choice by random bits makes zero."""
    if node.op is None or node.op.name != "where":
        return 0.0
    condition, _, other = node.inputs
    zero, drawn = constant_value(other), _moved(condition)
    if zero is None or zero.any() or drawn.op is None or drawn.op.name != "greater_equal":
        return 0.0
    words, least = (_moved(n) for n in drawn.inputs)
    limit = constant_value(least)
    if words.op is None or words.op.name != "random_bits" or limit is None or limit.size != 1:
        return 0.0
    return float(limit.item()) / _WORDS


def _moved(node: Node) -> Node:
    """What a value is before its elements are only moved."""
    while node.op is not None and node.op.name in _MOVES:
        node = node.inputs[0]
    return node
