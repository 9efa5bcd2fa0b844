"""Differences of one function at two places, by what lies between them.

``sin(x + h) - sin(x - h)`` is ``2 * sin(h) * cos(x)`` and ``1 / x - 1 / (x + h)`` is
``h / (x + h) / x``: the step ``h`` is what is left of the two sums, in which it has all its digits.
"""

from __future__ import annotations

import functools
import math
import operator
from collections import Counter
from typing import Any

from agnesi.core.dispatch import apply, graph_node
from agnesi.core.ir.node import Node
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.arith import abs as abs_
from agnesi.ops.base.arith import reciprocal, square
from agnesi.ops.base.convert import number
from agnesi.ops.base.select import where
from agnesi.ops.elementwise.explog import expm1, log1p, sigmoid
from agnesi.ops.elementwise.trig import cos, sin
from agnesi.rewrite.algebra.quotients import Product, factors
from agnesi.rewrite.algebra.scales import ENDS
from agnesi.rewrite.algebra.sums import terms
from agnesi.rewrite.pattern import agree, scalar
from agnesi.rewrite.rules import Book

BOOK = Book()
#: Terms that a step has, factors of a quotient, and powers of a denominator, at most.
_MOST_TERMS, _MOST_FACTORS, _MOST_POWERS = 2, 8, 3


def step(a: Node, b: Node) -> Tensor | None:
    """``a - b``, if the two sums have terms in common: it is what is left of them."""
    if not agree(a, b) or a is b:
        return None
    first, second = Counter(terms(a)), Counter(terms(b))
    common = first & second
    if not any(scalar(n) is None for _, n in common):
        return None
    rest = [*(first - common).elements(),
            *((-sign, n) for sign, n in (second - common).elements())]
    if not 1 <= len(rest) <= _MOST_TERMS:
        return None
    numbers = [sign * float(c) for sign, n in rest if (c := scalar(n)) is not None]
    others = [(sign, n) for sign, n in rest if scalar(n) is None]
    if len(others) == 2 and others[0] == others[1]:
        return symbol(others[0][1]) * (2 * others[0][0])
    parts = [symbol(n) if sign > 0 else -symbol(n) for sign, n in others]
    if numbers:
        parts.append(symbol(graph_node(number(math.fsum(numbers), a.dtype))))
    return functools.reduce(operator.add, parts)


@BOOK.rewriter("stabilize", ops=["subtract"], operands=["sin", "cos", "tan", "sigmoid"])
def difference_over_a_step(node: Node) -> Tensor | None:
    """sin(x + h) - sin(x), which is 2 * sin(h / 2) * cos(x + h / 2), and its kin."""
    a, b = node.inputs
    if node.dtype.kind != "f" or a.op is None or a.op is not b.op or (
            a.op_name not in ("sin", "cos", "tan", "sigmoid")):
        return None
    by = step(a.inputs[0], b.inputs[0])
    if by is None:
        return None
    x, y = symbol(a.inputs[0]), symbol(b.inputs[0])
    if a.op_name == "sigmoid":
        less = by < 0
        size = sigmoid(where(less, y, x)) * sigmoid(where(less, -x, -y)) * expm1(-abs_(by))
        return where(less, size, 0 - size)
    if a.op_name == "tan":
        return sin(by) / (cos(x) * cos(y)) + 0
    half = by * 0.5
    between = y + half
    return 2 * sin(half) * (cos(between) if a.op_name == "sin" else -sin(between)) + 0


@BOOK.rewriter("stabilize", ops=["subtract"], operands=["log"])
def logs_over_a_step(node: Node) -> Tensor | None:
    """log(x + h) - log(x) is log1p(h / x)."""
    a, b = node.inputs
    if node.dtype.kind != "f" or a.op_name != "log" or b.op_name != "log" or (
            node.dtype.itemsize not in ENDS):
        return None
    of, over, sign = a.inputs[0], b.inputs[0], 1
    if len(terms(over)) > len(terms(of)):
        of, over, sign = over, of, -1
    by = step(of, over)
    if by is None:
        return None
    x = symbol(over) + 0
    power = ENDS[node.dtype.itemsize][0]
    large = abs_(by / x) > 2.0 ** (2 * power)

    def beyond(value: float, other: float) -> Tensor:
        return where(large, number(value, node.dtype), other)

    ratio = by * beyond(2.0 ** -power, 1.0) / (x * beyond(2.0 ** power, 1.0)) - beyond(1.0, 0.0)
    found = log1p(ratio) + beyond(2 * power * math.log(2), 0.0)
    found = where((x >= 0) & (x < math.inf), found, math.nan)
    return found + 0 if sign > 0 else 0 - found


def _opposed(node: Node) -> tuple[Product, Product] | None:
    """``p`` and ``q`` of a sum p - q of two products with one number."""
    signed = terms(node)
    if node.dtype.kind != "f" or len(signed) != 2:
        return None
    found = []
    for sign, n in signed:
        product = factors(n, _MOST_FACTORS)
        product.number *= sign
        below = product.below()
        for m in [m for m in product.above() if m in below]:
            product.remove(m, True)
            product.remove(m, False)
        found.append(product)
    p, q = found
    if p.number != -q.number or not math.isfinite(p.number) or not p.number:
        return None
    q.number = p.number
    return p, q


def _only(nodes: list[Node]) -> tuple[Node, int] | None:
    """The only value among factors, and its power."""
    return (nodes[0], len(nodes)) if nodes and len({*nodes}) == 1 else None


@BOOK.rewriter("stabilize", ops=["add", "subtract"], operands=["multiply", "square"])
def difference_of_cubes(node: Node) -> Tensor | None:
    """c * a**3 - c * b**3 is c * (a - b) * (a*a + a*b + b*b), and that of squares alike."""
    pair = _opposed(node)
    if pair is None or any(p.below() for p in pair):
        return None
    first, second = (_only(p.above()) for p in pair)
    if first is None or second is None or first[1] != second[1] or first[1] not in (2, 3):
        return None
    by = step(first[0], second[0])
    if by is None:
        return None
    a, b = symbol(first[0]), symbol(second[0])
    found = by * (a + b if first[1] == 2 else (square(a) + a * b) + square(b))
    return found + 0 if pair[0].number == 1 else found * pair[0].number + 0


@BOOK.rewriter("stabilize", ops=["add", "subtract"],
               operands=["reciprocal", "divide", "safe_divide", "multiply"])
def quotients_over_a_step(node: Node) -> Tensor | None:
    """1 / x - 1 / (x + h) is h / (x + h) / x, and so are differences of their powers."""
    pair = _opposed(node)
    if pair is None or Counter(pair[0].above()) != Counter(pair[1].above()):
        return None
    first, second = (_only(p.below()) for p in pair)
    if first is None or second is None or first[1] != second[1] or first[1] > _MOST_POWERS:
        return None
    (a, power), (b, _) = first, second
    by = step(b, a)
    if by is None:
        return None
    x, y = (symbol(a), symbol(b)) if len(terms(b)) >= len(terms(a)) else (symbol(b), symbol(a))
    regular = (abs_(by) < math.inf) & (x != 0)
    found = where(regular, by, 0.0) / y / x
    if power > 1:
        r, s = reciprocal(x), reciprocal(y)
        found = found * (r + s if power == 2 else (square(r) + r * s) + square(s))
    for n in pair[0].above():
        found = found * symbol(n)
    if pair[0].number != 1:
        found = found * pair[0].number
    # what is not taken is written anew, so that it is not this very difference
    left, right = map(symbol, node.inputs)
    return where(regular, found + 0, apply(node.op, left, where(regular, 0.0, right)))


@BOOK.rewriter("stabilize", ops=["add", "subtract"],
               operands=["reciprocal", "divide", "safe_divide", "multiply", "safe_multiply"])
def rest_of_share(node: Node) -> Tensor | None:
    """1 - x / (x + k) is k / (x + k), and so are both times powers of x + k and factors."""
    pair = _opposed(node)
    if pair is None:
        return None
    found = _rest(*pair, node)
    if found is None:
        found = _rest(*pair[::-1], node)
        return None if found is None else -found
    return found


def _rest(whole: Product, part: Product, node: Node) -> Tensor | None:
    """What a product is more than that times x / d, where d is x and something else."""
    above, below = Counter(part.above()), Counter(part.below())
    above.subtract(whole.above())
    below.subtract(whole.below())
    over = [n for n, count in above.items() if count]
    under = [n for n, count in below.items() if count]
    if len(over) != 1 or len(under) != 1 or above[over[0]] != 1 or below[under[0]] != 1:
        return None
    (x,), (d,) = over, under
    rest = terms(d)
    if (1, x) not in rest or len(rest) != 2 or not agree(x, d) or d.shape != node.shape:
        return None
    rest.remove((1, x))
    ((sign, n),) = rest
    if scalar(n) is not None:
        return None
    found: Any = symbol(n) if sign > 0 else -symbol(n)
    found = where(abs_(symbol(x)) < math.inf, found, math.nan) / symbol(d)
    for m in whole.above():
        found = found * symbol(m)
    for m in whole.below():
        found = found / symbol(m)
    return found if whole.number == 1 else found * whole.number
