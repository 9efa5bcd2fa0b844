"""Gamma functions in logarithms and quotients, where they overflow.

``log(gamma(x))`` is ``lgamma(x)`` where gamma(x) is positive, and ``m**k / gamma(k + 1)``, as in
Poisson's probability, the exponential of a sum of logarithms where k is large.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from agnesi.core.dispatch import apply
from agnesi.core.ir.node import Node
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.arith import reciprocal
from agnesi.ops.base.select import floor, where
from agnesi.ops.elementwise.explog import exp, log
from agnesi.ops.special.special import lgamma
from agnesi.rewrite.algebra.quotients import factors
from agnesi.rewrite.intervals import at_least, interval
from agnesi.rewrite.rules import Book

BOOK = Book()
_STAGE = "stabilize"
#: What gamma is taken of before it overflows, by the bytes of a number.
_LARGEST = {8: 170.0, 4: 34.0, 2: 8.0}
#: Factors of a product that are looked at.
_MOST_FACTORS = 12
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
    """What may overflow over gammas that may: there it is the exponential of a logarithm."""
    if node.dtype.kind != "f" or not _has_gamma(node):
        return None
    product = factors(node, _MOST_FACTORS)
    above, below = product.above(), product.below()
    if not (any(map(_may_overflow, below)) and any(
            n.op is not None and n.op.name in ("gamma", "power") for n in above)):
        return None
    large: Any = None
    for n in (*above, *below):
        for part in _too_large(n, node):
            large = part if large is None else large | part
    for n in (*above, *below):
        if _has_logarithm(n) and n.op.name != "exp" and not at_least(n.inputs[0], 0.0):
            large = large & (symbol(n.inputs[0]) > 0)
    plain = [math.prod(_direct(side, large)) for side in (above, below)]
    grown = [sum(_logarithms(side, large)) for side in (above, below)]
    rest = [math.prod(symbol(n) for n in side if not _has_logarithm(n)) for side in (above, below)]
    scaled = product.number * rest[0] / rest[1]
    return where(large, exp(grown[0] - grown[1]) * scaled, plain[0] * product.number / plain[1])


def _has_gamma(node: Node, depth: int = _DEPTH) -> bool:
    """Return whether a gamma is near the top of a product: few products have one, and all factors
    take longer to find."""
    if node.op is None:
        return False
    return node.op.name == "gamma" or (depth > 0 and node.op.name in _PRODUCTS and any(
        _has_gamma(n, depth - 1) for n in node.inputs))


def _may_overflow(node: Node) -> bool:
    return node.op is not None and node.op.name == "gamma" and (
        interval(node.inputs[0]).high > _largest(node))


def _largest(node: Node) -> float:
    return _LARGEST[node.dtype.itemsize]


def _too_large(node: Node, whole: Node) -> list[Tensor]:
    return [symbol(node.inputs[0]) > _largest(whole)] if _may_overflow(node) else []


def _has_logarithm(node: Node) -> bool:
    return node.op is not None and node.op.name in ("gamma", "exp", "power")


def _direct(side: Sequence[Node], large: Tensor) -> list[Tensor]:
    """Factors as they are, 1 where they are too large: as long as they are finite, so are the
    derivatives of what is not chosen."""
    found = []
    for n in side:
        if _has_logarithm(n):
            kept = apply(n.op, *[where(large, 1, symbol(x)) for x in n.inputs])
            found.append(where(large, 1, kept))
        else:
            found.append(symbol(n))
    return found


def _logarithms(side: Sequence[Node], large: Tensor) -> list[Tensor]:
    """Logarithms of the factors that have one, 0 where they are not asked for."""
    found = []
    for n in side:
        if not _has_logarithm(n):
            continue
        x = where(large, symbol(n.inputs[0]), 1)
        if n.op.name == "power":
            found.append(where(large, symbol(n.inputs[1]), 1) * log(x))
        else:
            found.append(x if n.op.name == "exp" else lgamma(x))
    return found
