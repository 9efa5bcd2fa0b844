"""The powers of two that values are multiplied with where their squares overflow or vanish."""

from __future__ import annotations

from agnesi.core.ir.node import Node
from agnesi.rewrite.pattern import scalar

#: By bytes of a number, binary exponents: above and below which values are scaled, and by what.
ENDS = {8: (508, -513, -480, 600), 4: (60, -65, -50, 100)}


def is_scale(node: Node) -> bool:
    """Return whether a node is a choice between 1 and the powers of two by which values are scaled
    against overflow: results depend on it only by rounding, as it is divided out again.
    """
    found = 0
    while node.op_name == "where":
        _, chosen, node = node.inputs
        value = scalar(chosen)
        if value is None or node.dtype.itemsize not in ENDS:
            return False
        _, down, _, up = ENDS[node.dtype.itemsize]
        if float(value) not in (2.0 ** down, 2.0 ** -down, 2.0 ** up, 2.0 ** -up):
            return False
        found += 1
    return found > 0 and scalar(node) == 1
