"""Logarithms of products of factors whose signs are not known, beyond the range of numbers.

``log(x**3 / (exp(x) - 1))`` is taken of the quotient as it stands wherever that is a number, and
elsewhere it is the sum of the logarithms of the factors' sizes, if that is finite and their signs
agree.
"""

from __future__ import annotations

import functools
import math
import operator

import numpy as np

from agnesi.core.dispatch import apply
from agnesi.core.ir.node import Node
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.arith import abs as abs_
from agnesi.ops.base.arith import reciprocal, safe_multiply
from agnesi.ops.base.compare import isfinite, isnan, logical_not
from agnesi.ops.base.select import maximum, where
from agnesi.ops.elementwise.explog import log
from agnesi.ops.special.tails import log_one_minus_exp
from agnesi.rewrite.algebra.logarithms import log_of
from agnesi.rewrite.algebra.quotients import factors
from agnesi.rewrite.algebra.removable import series_near_one
from agnesi.rewrite.pattern import scalar
from agnesi.rewrite.rules import Book

BOOK = Book()
#: Most factors of a product whose signs are determined.
_MOST_FACTORS = 8
#: Operations on factors.
_PLAIN = frozenset(("multiply", "divide", "negative", "reciprocal", "square"))
#: Functions that leave the range of numbers though they are no exponentials alone.
_STEEP = frozenset(("exp", "expm1", "sinh", "cosh"))


@BOOK.rewriter("stabilize", ops=[log], operands=["multiply", "divide"])
def log_beyond_range(node: Node) -> Tensor | None:
    """The logarithm of a product whose factors overflow or vanish though it need not."""
    (source,) = node.inputs
    if node.dtype.kind != "f":
        return None
    product = factors(source, _MOST_FACTORS)
    above, below = product.above(), product.below()
    every = [*above, *below]
    known = product.number != 0 and math.isfinite(product.number)
    if not known or len(every) < 2 or not any(map(_is_steep, every)):
        return None
    logs = [*map(_log_of_size, above), *[-_log_of_size(n) for n in below]]
    total = functools.reduce(operator.add, logs)
    if abs(product.number) != 1:
        total = total + math.log(abs(product.number))
    negative = [*(symbol(n) < 0 for n in above), *(reciprocal(symbol(n)) < 0 for n in below)]
    odd = functools.reduce(operator.xor, negative)
    if product.number < 0:
        odd = logical_not(odd)
    inside = functools.reduce(operator.or_, [
        _is_normal(symbol(source)), odd, logical_not(isfinite(total)),
        *(isnan(symbol(n)) for n in every)])
    direct = _guarded(source, {*every}, inside)
    if direct is None:
        return None
    found = where(inside, log(direct), total)
    near = series_near_one(node)
    return found if near is None else where(*near, found)


def _is_normal(x: Tensor) -> Tensor:
    """Return where a number is neither subnormal nor infinite, so that it has all its digits."""
    size = abs_(x)
    return (size >= float(np.finfo(x.dtype).tiny)) & (size < math.inf)


def _guarded(node: Node, ends: set[Node], inside: Tensor, depth: int = 8) -> Tensor | None:
    """Return a product whose factors ``ends`` are replaced by 1 where ``inside`` does not hold, so
    that they have no derivatives there; None for other operations.
    """
    if scalar(node) is not None:
        return symbol(node)
    if node in ends:
        return where(inside, symbol(node), 1)
    if not depth or node.op_name not in _PLAIN:
        return None
    found = [_guarded(n, ends, inside, depth - 1) for n in node.inputs]
    known = [x for x in found if x is not None]
    return apply(node.op, *known) if len(known) == len(found) else None


def _without_zero(node: Node) -> Node:
    """Return ``x`` for ``x + 0``, where 0 was added to fix the sign of a zero, and for ``0 - x``,
    which has the same size; other nodes unchanged.
    """
    if node.op_name == "add" and scalar(node.inputs[1]) == 0:
        return node.inputs[0]
    if node.op_name == "subtract" and scalar(node.inputs[0]) == 0:
        return node.inputs[1]
    return node


def _is_steep(factor: Node) -> bool:
    node = _without_zero(factor)
    if node.op is None:
        return False
    return node.op_name in _STEEP or (node.op_name == "power" and scalar(node.inputs[1]) is None)


def _log_of_size(factor: Node) -> Tensor:
    """Return the logarithm of the absolute value of a factor, without overflow for the functions
    known here.
    """
    node = _without_zero(factor)
    name = node.op_name
    if name == "expm1":
        x = symbol(node.inputs[0])
        return maximum(x, 0) + log_one_minus_exp(-abs_(x))
    if name == "sinh":
        size = abs_(symbol(node.inputs[0]))
        return size + (log_one_minus_exp(size * -2) - math.log(2))
    if name == "power":
        x, n = map(symbol, node.inputs)
        inner = log(abs_(x))
        return safe_multiply(where(isfinite(n) | (inner != 0), n, 0), inner)
    found = log_of(node, term=True)
    return log(abs_(symbol(node))) if found is None else found
