"""The terms of a sum, and their signs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from agnesi.core.ir.node import Node
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.convert import number
from agnesi.rewrite.pattern import kept_for_last, scalar

#: Most terms of a sum that are collected.
_MOST_TERMS = 8
_SUMS = frozenset(("add", "subtract", "negative"))


def terms(node: Node) -> Sequence[tuple[int, Node]]:
    """Signed terms of a sum."""
    return [(1, node)] if node.op_name not in _SUMS else _terms(node)


@kept_for_last
def _terms(node: Node) -> list[tuple[int, Node]]:
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


def shifted(node: Node) -> tuple[Node, int, float]:
    """Return ``x``, ``s`` and ``c`` of a node s * x + c, where s is 1 or -1."""
    if node.op_name in ("add", "subtract"):
        first, second = node.inputs
        sign = -1 if node.op_name == "subtract" else 1
        for x, s, number, of_number in ((first, 1, second, sign), (second, sign, first, 1)):
            c = scalar(number)
            if c is not None and math.isfinite(c):
                return x, s, of_number * float(c)
    return node, 1, 0.0


def less(a: Node, b: Node) -> Tensor:
    """The difference of two nodes, which is a number if both are one value plus numbers."""
    (x, sign, c), (y, other, d) = shifted(a), shifted(b)
    return number(c - d, a.dtype) if x is y and sign == other else symbol(a) - symbol(b)


def akin(a: Node, b: Node) -> bool:
    """Return whether two values share a subexpression other than a number, among themselves and two
    levels of operands: their difference may be small whatever the inputs are.
    """
    first, second = _near(a), _near(b)
    return any(scalar(n) is None for n in first & second)


def _near(node: Node) -> set[Node]:
    """Return a node with the operands of its elementwise operations, two levels deep."""
    found, level = {node}, [node]
    for _ in range(2):
        level = [m for n in level if n.op is not None and n.op.pointwise for m in n.inputs]
        found.update(level)
    return found
