"""Gamma functions in logarithms and quotients, where they overflow.

``log(gamma(x))`` is ``lgamma(x)`` where gamma(x) is positive, and ``m**k / gamma(k + 1)``, as in
Poisson's probability, the exponential of a sum of logarithms where k is large.  Sums of their
logarithms, in which digits are lost, are ``betaln``, and those of neighbours one logarithm.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any

from agnesi.core.dispatch import apply, graph_node
from agnesi.core.ir.node import Node
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.arith import reciprocal
from agnesi.ops.base.select import floor, where
from agnesi.ops.elementwise.explog import exp, log
from agnesi.ops.special.gammas import betaln
from agnesi.ops.special.special import lgamma
from agnesi.rewrite.algebra.quotients import factors
from agnesi.rewrite.algebra.sums import terms
from agnesi.rewrite.intervals import at_least, interval
from agnesi.rewrite.pattern import scalar
from agnesi.rewrite.rules import Book

BOOK = Book()
_STAGE = "stabilize"
#: What gamma is taken of before it overflows, by the bytes of a number.
_LARGEST = {8: 170.0, 4: 34.0, 2: 8.0}
#: Factors of a product that are looked at.
_MOST_FACTORS = 12
#: How far from each other gammas are neighbours.
_STEPS = (1, 2, 3)
#: Operations of products, and how many of them a gamma may be below.
_PRODUCTS, _DEPTH = frozenset(("multiply", "divide", "reciprocal", "square", "negative")), 5


@BOOK.rewriter(_STAGE, ops=["log"], operands=["gamma"])
def log_of_gamma(node: Node) -> Tensor | None:
    """log(gamma(x)), which is NaN where gamma(x) is negative."""
    source = node.inputs[0].inputs[0]
    if node.dtype.kind != "f":
        return None
    x = symbol(source)
    if at_least(source, 0.0):
        return lgamma(x)
    whole = floor(x)
    even = (floor(whole * 0.5) * 2 == whole) & (whole != x)
    # Of 0 it is infinite, of -0 NaN.
    return lgamma(x) + where((x > 0) | (reciprocal(x) == math.inf) | even, 0, math.nan)


@BOOK.rewriter(_STAGE, ops=["divide", "multiply"],
               operands=["gamma", "multiply", "reciprocal"])
def quotient_of_gammas(node: Node) -> Tensor | None:
    """A quotient whose factors above and below may overflow, gammas among them, is computed as
    the exponential of its logarithm where they would."""
    if node.dtype.kind != "f" or not _has_gamma(node):
        return None
    product = factors(node, _MOST_FACTORS)
    above, below = product.above(), product.below()
    if not (any(map(_may_overflow, below)) and any(n.op_name in ("gamma", "power") for n in above)):
        return None
    large: Any = None
    for n in (*above, *below):
        for part in _too_large(n, node):
            large = part if large is None else large | part
    for n in (*above, *below):
        if _has_logarithm(n) and n.op_name != "exp" and not at_least(n.inputs[0], 0.0):
            large = large & (symbol(n.inputs[0]) > 0)
    plain = [math.prod(_direct(side, large)) for side in (above, below)]
    grown = [sum(_logarithms(side, large)) for side in (above, below)]
    rest = [math.prod(symbol(n) for n in side if not _has_logarithm(n)) for side in (above, below)]
    scaled = product.number * rest[0] / rest[1]
    return where(large, exp(grown[0] - grown[1]) * scaled, plain[0] * product.number / plain[1])


# -- sums of logarithms -----------------------------------------------------------------------
@BOOK.rewriter(_STAGE, ops=["subtract"], operands=["lgamma", "digamma"])
def difference_of_neighbours(node: Node) -> Tensor | None:
    """lgamma(x + 2) - lgamma(x) is log(abs(x * (x + 1))), and that of digamma 1/x + 1/(x + 1)."""
    first, second = node.inputs
    if first.op is None or first.op is not second.op or node.dtype.kind != "f":
        return None
    (x, one), (y, other) = (linear(n.inputs[0]) for n in node.inputs)
    if x != y or not x or abs(one - other) not in _STEPS:
        return None
    upper, lower = (first, second) if one > other else (second, first)
    found = _between(lower.inputs[0], upper.inputs[0], int(abs(one - other)), first.op_name)
    return found if upper is first else -found


def _between(lower: Node, upper: Node, steps: int, name: str) -> Tensor:
    """Return f(upper) - f(lower) of lgamma or digamma (``name``), where upper is lower plus
    ``steps``; NaN at the poles.
    """
    low, high = symbol(lower), symbol(upper)
    arguments = [low + k for k in range(steps)]
    if name == "digamma":
        slope = functools.reduce(Tensor.__add__, map(reciprocal, arguments))
        pole = ((low < 0) & (floor(low) == low)) | (low == math.inf)
        return where(pole, math.nan, slope)
    sizes = [where(x < 0, -x, x) for x in arguments]  # with a slope at 0, unlike abs
    found = functools.reduce(Tensor.__add__, map(log, sizes))
    return found if at_least(upper, 1.0) else where(
        (high <= 0) & (floor(high) == high), math.nan, found)


@BOOK.rewriter(_STAGE, ops=["add", "subtract"], operands=["lgamma"])
def log_of_beta(node: Node) -> Tensor | None:
    """lgamma(a) + lgamma(b) - lgamma(a + b), from anywhere in a sum, and of its neighbours, as in
    the logarithm of a binomial coefficient."""
    if node.dtype.kind != "f":
        return None
    parts = [*terms(node)]
    for sign in (1, -1):
        sides = [[n for s, n in parts if s == side and n.op_name == "lgamma"
                  and n.shape == node.shape] for side in (sign, -sign)]
        for (a, b), c in itertools.product(itertools.combinations(sides[0], 2), sides[1]):
            found = _log_beta(a.inputs[0], b.inputs[0], c.inputs[0])
            if found is None:
                continue
            for s, n in ((sign, a), (sign, b), (-sign, c)):
                parts.remove((s, n))
            total = found if sign > 0 else -found
            for s, n in parts:
                total = total + symbol(n) if s > 0 else total - symbol(n)
            return total
    return None


def _log_beta(a: Node, b: Node, c: Node) -> Tensor | None:
    """lgamma(a) + lgamma(b) - lgamma(c), if c is a + b or one of its neighbours."""
    (of_a, one), (of_b, two), (of_c, three) = map(linear, (a, b, c))
    total = {n: of_a.get(n, 0) + of_b.get(n, 0) for n in {*of_a, *of_b}}
    steps = three - one - two
    if not of_a or not of_b or {n: k for n, k in total.items() if k} != of_c or (
            abs(steps) not in (0, *_STEPS)):
        return None
    found = betaln(symbol(a), symbol(b))
    if not steps:
        return found
    whole = graph_node(symbol(a) + symbol(b))
    lower, upper = (c, whole) if steps < 0 else (whole, c)
    return found - math.copysign(1, steps) * _between(lower, upper, int(abs(steps)), "lgamma")


def linear(node: Node) -> tuple[dict[Node, int], float]:
    """A sum as how often each term stands in it, and a number."""
    found: dict[Node, int] = {}
    constant = 0.0
    for sign, n in terms(node):
        value = scalar(n)
        if value is None:
            found[n] = found.get(n, 0) + sign
        else:
            constant += sign * float(value)
    return {n: k for n, k in found.items() if k}, constant


# -- quotients --------------------------------------------------------------------------------
def _has_gamma(node: Node, depth: int = _DEPTH) -> bool:
    """Return whether a gamma is near the top of a product: few products have one, and all factors
    take longer to find."""
    if node.op is None:
        return False
    return node.op_name == "gamma" or (depth > 0 and node.op_name in _PRODUCTS and any(
        _has_gamma(n, depth - 1) for n in node.inputs))


def _may_overflow(node: Node) -> bool:
    return node.op_name == "gamma" and (interval(node.inputs[0]).high > _largest(node))


def _largest(node: Node) -> float:
    return _LARGEST[node.dtype.itemsize]


def _too_large(node: Node, whole: Node) -> list[Tensor]:
    return [symbol(node.inputs[0]) > _largest(whole)] if _may_overflow(node) else []


def _has_logarithm(node: Node) -> bool:
    return node.op_name in ("gamma", "exp", "power")


def _direct(side: Sequence[Node], large: Tensor) -> list[Tensor]:
    """Return the factors, with 1 for operand and value where ``large`` holds.

    This branch of the ``where`` is not taken there, but its derivatives must stay finite.
    """
    found = []
    for n in side:
        if _has_logarithm(n):
            kept = apply(n.op, *[where(large, 1, symbol(x)) for x in n.inputs])
            found.append(where(large, 1, kept))
        else:
            found.append(symbol(n))
    return found


def _logarithms(side: Sequence[Node], large: Tensor) -> list[Tensor]:
    """Return the logarithms of the factors that have one; 0 where ``large`` does not hold."""
    found = []
    for n in side:
        if not _has_logarithm(n):
            continue
        x = where(large, symbol(n.inputs[0]), 1)
        if n.op_name == "power":
            found.append(where(large, symbol(n.inputs[1]), 1) * log(x))
        else:
            found.append(x if n.op_name == "exp" else lgamma(x))
    return found
