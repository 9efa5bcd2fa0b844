"""The terms of a sum, and their signs."""

from __future__ import annotations

from agnesi.core.ir.node import Node

_MOST_TERMS = 8
_SUMS = frozenset(("add", "subtract", "negative"))


def terms(node: Node) -> list[tuple[int, Node]]:
    """Signed terms of a sum."""
    found: list[tuple[int, Node]] = []
    stack = [(1, node)]
    while stack:
        sign, n = stack.pop()
        if len(found) + len(stack) > _MOST_TERMS or n.op_name not in _SUMS:
            found.append((sign, n))
        elif n.op_name == "negative":
            stack.append((-sign, n.inputs[0]))
        else:
            second = -sign if n.op_name == "subtract" else sign
            stack += [(second, n.inputs[1]), (sign, n.inputs[0])]
    return found
