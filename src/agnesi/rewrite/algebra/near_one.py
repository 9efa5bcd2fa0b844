"""Roots and logarithms of quotients near 1, of which the difference from 1 is known by itself.

``log(a / (a - b))`` is ``log1p(b / (a - b))`` near 1, ``sqrt(u) - 1`` is ``d / (sqrt(u) + 1)`` with
``d = u - 1``, and ``(1 + x) / (1 - x) - 1`` is ``2 * x / (1 - x)``.
"""

from __future__ import annotations

import math

from agnesi.core.dispatch import apply, graph_node
from agnesi.core.ir.node import Node
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.arith import abs as abs_
from agnesi.ops.base.arith import sqrt
from agnesi.ops.base.convert import number
from agnesi.ops.base.select import where
from agnesi.ops.elementwise.explog import log, log1p
from agnesi.rewrite.algebra.fractions import over_one
from agnesi.rewrite.algebra.powers import beside_one
from agnesi.rewrite.algebra.quotients import factors, written
from agnesi.rewrite.algebra.sums import akin, terms
from agnesi.rewrite.pattern import agree, scalar
from agnesi.rewrite.rules import Book

BOOK = Book()
_STAGE = "stabilize"
#: How far from 1 a value may be that is taken as 1 and a difference.
_FARTHEST_FROM_ONE = 0.5
_MOST_FACTORS = 8
#: By bytes of a number, half of the binary exponent by which quotients beyond all numbers are
#: scaled.
_HALF_RANGE = {8: 511, 4: 63}


def _less_one(node: Node) -> Tensor | None:
    """Return ``node - 1`` where terms cancel or ``node`` is written as 1 plus something, else None.
    """
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


@BOOK.rewriter(_STAGE, ops=["add", "subtract"],
               operands=["log", "multiply", "divide", "negative"])
def logs_of_ratios(node: Node) -> Tensor | None:
    """Logarithms of quotients in sums, as divergences are: of quotients near 1 digits are lost by
    the division, which other terms cancel the first ones of.
    """
    if node.dtype.kind != "f" or node.dtype.itemsize < 4:
        return None
    first, second = node.inputs
    found = [_with_exact_log(first, second), _with_exact_log(second, first)]
    if all(x is None for x in found):
        return None
    return apply(node.op, *[symbol(n) if x is None else x
                            for x, n in zip(found, node.inputs, strict=True)])


def _with_exact_log(term: Node, other: Node) -> Tensor | None:
    """Return a product with a factor log(a / b), rewritten with log1p((a - b) / b); None where it
    has none, or where ``other`` does not depend on the quotient, so that nothing cancels."""
    if term.op_name not in ("log", "multiply", "divide", "negative"):
        return None
    product = factors(term, _MOST_FACTORS)
    for n in product.above():
        u = n.inputs[0] if n.op_name == "log" else None
        if u is None or u.op_name != "divide":
            continue
        if any(scalar(m) is not None or not agree(m, u) for m in u.inputs):
            continue
        beside = [m for _, t in terms(other) for m in (*factors(t, _MOST_FACTORS).above(), t)]
        if not any(akin(u, m) for m in beside):
            continue
        side = product.then if n in product.then.above else product.first
        side.above[side.above.index(n)] = graph_node(_log_of_ratio(*u.inputs))
        return written(product, term)
    return None


def _log_of_ratio(above: Node, below: Node) -> Tensor:
    """log(a / b) as log1p((a - b) / b), or as -log1p((b - a) / a) where b is greater.

    Where the smaller one is zero or the greater one infinite, so is the logarithm, or it is NaN.
    Where the quotient of others is beyond all numbers, it is scaled.
    """
    a, b = symbol(above), symbol(below)
    small = abs_(a) < abs_(b)
    least, most = where(small, a, b), where(small, b, a)
    apart = (most - least) / least
    power = _HALF_RANGE[above.dtype.itemsize]
    far = (abs_(apart) == math.inf) & (least != 0) & (abs_(most) < math.inf)

    def beyond(value: float, other: float) -> Tensor:
        return where(far, number(value, above.dtype), other)

    scaled = (most * beyond(2.0 ** -power, 1)) / (least * beyond(2.0 ** power, 1))
    apart = where(far, where(scaled > 0, scaled, math.nan) - 1, apart)
    found = log1p(where(small & (apart == -math.inf), math.inf, apart))
    found = found + beyond(2 * power * math.log(2), 0)
    return where(small, -found, found)


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
