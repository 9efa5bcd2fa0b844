"""Roots and logarithms of quotients near 1, of which the difference from 1 is known by itself.

``log(a / (a - b))`` is ``log1p(b / (a - b))`` near 1, ``sqrt(u) - 1`` is ``d / (sqrt(u) + 1)`` with
``d = u - 1``, and ``(1 + x) / (1 - x) - 1`` is ``2 * x / (1 - x)``.
"""

from __future__ import annotations

from agnesi.core.dispatch import graph_node
from agnesi.core.ir.node import Node
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.arith import abs as abs_
from agnesi.ops.base.arith import sqrt
from agnesi.ops.base.select import where
from agnesi.ops.elementwise.explog import log, log1p
from agnesi.rewrite.algebra.fractions import over_one
from agnesi.rewrite.algebra.powers import beside_one
from agnesi.rewrite.pattern import scalar
from agnesi.rewrite.rules import Book

BOOK = Book()
_STAGE = "stabilize"
#: How far from 1 a value may be that is taken as 1 and a difference.
_FARTHEST_FROM_ONE = 0.5


def _less_one(node: Node) -> Tensor | None:
    """What a value differs from 1 by, where terms cancel or 1 is written."""
    if node.dtype.kind != "f":
        return None
    found = beside_one(node)
    if found is None and node.op_name == "divide":
        found = over_one(graph_node(symbol(node) - 1))
    return found


@BOOK.rewriter(_STAGE, ops=["log"], operands=["divide"])
def log_of_quotient(node: Node) -> Tensor | None:
    """The logarithm of a quotient that is 1 and a smaller one: ``log1p`` near 1."""
    (u,) = node.inputs
    less = _less_one(u)
    if less is None:
        return None
    near = (abs_(less) < _FARTHEST_FROM_ONE) & (symbol(u) > 0)
    return where(near, log1p(where(near, less, 0)), log(where(near, 1, symbol(u))))


@BOOK.rewriter(_STAGE, ops=["subtract"], operands=["sqrt", "reciprocal"])
def root_less_one(node: Node) -> Tensor | None:
    """``sqrt(u) - 1`` and ``1 / sqrt(u) - 1`` from what u differs from 1 by."""
    for i in (0, 1):
        root, one = node.inputs[i], node.inputs[1 - i]
        if scalar(one) != 1 or root.op is None:
            continue
        inverse = root.op_name == "reciprocal"
        inner = root.inputs[0] if inverse else root
        if inner.op_name != "sqrt" or inner.shape != node.shape:
            continue
        (u,) = inner.inputs
        less = _less_one(u)
        if less is None:
            return None
        near = (abs_(less) < _FARTHEST_FROM_ONE) & (symbol(u) > 0)
        r = sqrt(where(near, symbol(u), 1))
        close = where(near, less, 0) / (r + 1)
        close = -close / r if inverse else close
        far = where(near, 1, symbol(root)) - 1
        found = where(near, close, far)
        return found if i == 0 else -found
    return None
