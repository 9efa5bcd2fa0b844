"""Sparsity estimates: the share of zeros that dropout or relu leave in a value."""

from __future__ import annotations

from agnesi.core.graph import constant_value
from agnesi.core.ir.node import Node

#: Values of a random word.
_RANDOM_WORDS = 1 << 32
#: Share of negative elements where nothing is known of their signs.
_UNKNOWN_SIGN_NEGATIVE_SHARE = 0.5


def zeros_of(node: Node) -> float:
    """Return the expected share of zeros among a value's elements; 0 if nothing is known."""
    node = _moved(node)
    name = node.op_name
    if name == "multiply":  # by a mask
        return max(_masked(_moved(factor)) for factor in node.inputs)
    return _UNKNOWN_SIGN_NEGATIVE_SHARE if name == "relu" else _masked(node)


def _masked(node: Node) -> float:
    """The expected share of a value's elements that a condition sets to zero."""
    if node.op_name != "where":
        return 0.0
    condition, _, other = node.inputs
    if not _is_zero(other):
        return 0.0
    condition = _moved(condition)
    name = condition.op_name
    if name == "greater" and _is_zero(condition.inputs[1]):
        return _UNKNOWN_SIGN_NEGATIVE_SHARE
    return _dropped(condition) if name == "greater_equal" else 0.0


def _dropped(condition: Node) -> float:
    """Return how many random words are below the least that is kept."""
    words, least = (_moved(n) for n in condition.inputs)
    limit = constant_value(least)
    if words.op_name != "random_bits" or limit is None or limit.size != 1:
        return 0.0
    return float(limit.item()) / _RANDOM_WORDS


def _is_zero(node: Node) -> bool:
    value = constant_value(node)
    return value is not None and not value.any()


def _moved(node: Node) -> Node:
    """Return the node behind operations that only move elements."""
    while "permutation" in node.traits:
        node = node.inputs[0]
    return node
