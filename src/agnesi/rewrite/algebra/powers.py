"""Powers less one, which cancel where the power is near 1.

``(1 + r)**n - 1`` and ``1 - (1 - p)**n`` do so where r or p is small, ``(x**c - 1) / c`` (Box and
Cox, An Analysis of Transformations, 1964) where c is.
"""

from __future__ import annotations

import math

from agnesi.core.dispatch import graph_node
from agnesi.core.ir.node import Node
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.arith import abs as abs_
from agnesi.ops.base.select import where
from agnesi.ops.elementwise.explog import exp, expm1, log, log1p
from agnesi.ops.neural.likelihoods import exprel
from agnesi.rewrite.algebra.fractions import over_one
from agnesi.rewrite.algebra.quotients import factors, top, written
from agnesi.rewrite.algebra.sums import akin, less
from agnesi.rewrite.pattern import agree, scalar
from agnesi.rewrite.rules import Book

BOOK = Book()
_STAGE = "stabilize"
#: The greatest whole exponent of a power that is written as a polynomial.
_LARGEST_POWER = 16
#: Constant exponents below this one make powers of any base come near 1.
_SMALL_EXPONENT = 0.5
#: How far from 1 a base may be that is taken as 1 and a difference.
_FARTHEST_FROM_ONE = 0.25


@BOOK.rewriter(_STAGE, ops=["subtract"], operands=["power", "square", "multiply"])
def power_less_one(node: Node) -> Tensor | None:
    """``b**n - 1`` is ``expm1(n * log(b))``, and ``(1 + r)**3 - 1`` is r times a polynomial."""
    first, second = node.inputs
    if node.dtype.kind != "f":
        return None
    for power, one, ahead in ((first, second, True), (second, first, False)):
        if scalar(one) == 1 and power.op is not None and power.shape == node.shape:
            found = _whole_power(power) if power.op_name != "power" else _power(power)
            return None if found is None else found + 0 if ahead else 0 - found
    return None


def _whole_power(power: Node) -> Tensor | None:
    """(1 + r)**n - 1 for a small number n: ``r * (1 + b + b**2 + ...)`` where b is 1 + r."""
    product = factors(power, 2 * _LARGEST_POWER)
    bases = product.above()
    n = len(bases)
    if product.number != 1 or product.below() or not 2 <= n <= _LARGEST_POWER or (
            len({*bases}) > 1):
        return None
    base = bases[0]
    r = beside_one(base)
    if r is None:
        return None
    b = symbol(base)
    total = b + 1
    for _ in range(n - 2):
        total = total * b + 1
    return r * total


def _power(power: Node) -> Tensor | None:
    base, exponent = power.inputs
    value, number = scalar(exponent), scalar(base)
    if number is not None:
        return expm1(symbol(exponent) * math.log(number)) if 0 < number < 1 or (
            1 < number < math.inf) else None
    if base.op_name == "where":
        return None
    r = beside_one(base)
    if value is not None and abs(value) >= _SMALL_EXPONENT and r is None:
        return None
    b, n = symbol(base), symbol(exponent)
    logarithm = log(where(b > 0, b, 1)) if r is None else log1p(where(b > 0, r, 0))
    near = (b > 0) & (abs_(n * logarithm) < 1)
    # What is not chosen stays finite, and so do its derivatives.
    growth = expm1(where(near, n, 0) * where(near, logarithm, 0))
    return where(near, growth, where(near, 1, b) ** n - 1)


@BOOK.rewriter(_STAGE, ops=["divide", "multiply", "safe_divide", "safe_multiply"],
               operands=["add", "where", "divide", "multiply"])
def growth_over_exponent(node: Node) -> Tensor | None:
    """``(b**n - 1) / n`` is ``log(b) * exprel(n * log(b))`` near 0, with derivatives by n."""
    if node.dtype.kind != "f" or not top(node).below:
        return None
    product = factors(node)
    for growth in product.above():
        parts = _growth(growth)
        if parts is None:
            continue
        near, n, logarithm = parts
        under = [d for d in product.below() if d in (n, _negated(n)) or _negated(d) is n]
        if not under:
            continue
        product.number *= 1.0 if under[0] is n else -1.0
        close = symbol(near) & (symbol(n) != 0)
        slope = symbol(logarithm) * exprel(where(close, symbol(n), 0) * symbol(logarithm))
        product.remove(growth, True)
        product.remove(under[0], False)
        product.first.above.append(graph_node(
            where(close, slope, symbol(growth) / where(close, 1, symbol(n)))))
        return written(product, node)
    return None


@BOOK.rewriter("specialize", ops=["power"])
def power_beside_one(node: Node) -> Tensor | None:
    """(1 + x / n)**n is exp(n * log1p(x / n)) where n is large."""
    base, exponent = node.inputs
    if node.dtype.kind != "f" or scalar(base) is not None or not akin(base, exponent):
        return None
    r = beside_one(base)
    if r is None and base.op_name in ("divide", "reciprocal"):
        r = over_one(graph_node(symbol(base) - 1))
    if r is None:
        return None
    near = (abs_(r) < _FARTHEST_FROM_ONE) & (r != 0)
    n = symbol(exponent)
    close = exp(n * log1p(where(near, r, 0)))
    return where(near, close, where(near, 1, symbol(base)) ** n)


@BOOK.rewriter(_STAGE, ops=["subtract"], operands=["power"])
def difference_of_powers(node: Node) -> Tensor | None:
    """a**n - b**n where a is near b: b**n * expm1(n * log1p((a - b) / b))."""
    if node.dtype.kind != "f" or any(
            n.op_name != "power" for n in node.inputs):
        return None
    (a, n), (b, m) = (n.inputs for n in node.inputs)
    equal = n is m or (scalar(n) is not None and scalar(n) == scalar(m))
    if not equal or scalar(a) is not None or scalar(b) is not None or not (
            agree(a, b) and akin(a, b)):
        return None
    if any(x.op_name == "where" for x in (a, b)):
        return None
    below = symbol(b)
    apart = less(a, b) / below
    near = (abs_(apart) < _FARTHEST_FROM_ONE) & (below > 0)
    growth = expm1(symbol(n) * log1p(where(near, apart, 0)))
    close = where(near, below, 1) ** symbol(n) * growth
    first = where(near, 1, symbol(a)) ** symbol(n)
    return where(near, close, first - where(near, 1, below) ** symbol(n))


def _negated(node: Node) -> Node | None:
    """Return the node of which this one is the negative, if it is one."""
    return node.inputs[0] if node.op_name == "negative" else None


def _growth(node: Node) -> tuple[Node, Node, Node] | None:
    """Return the condition, exponent and logarithm of the base in a result of
    :func:`power_less_one`; None for other nodes.
    """
    if node.op_name == "add" and scalar(node.inputs[1]) == 0:
        node = node.inputs[0]
    if node.op_name != "where":
        return None
    near, close, _ = node.inputs
    if close.op_name != "expm1":
        return None
    product = close.inputs[0]
    if product.op_name != "multiply":
        return None
    n, logarithm = product.inputs
    for one in (n, logarithm):
        if one.op_name != "where" or one.inputs[0] is not near or (scalar(one.inputs[2]) != 0):
            return None
    return near, n.inputs[1], logarithm


def beside_one(node: Node) -> Tensor | None:
    """``r`` of 1 + r, and ``-r`` of 1 - r."""
    if node.op_name not in ("add", "subtract"):
        return None
    first, second = node.inputs
    if scalar(first) == 1:
        return symbol(second) if node.op_name == "add" else -symbol(second)
    return symbol(first) if scalar(second) == 1 and node.op_name == "add" else None


@BOOK.rewriter(_STAGE, ops=["log"], operands=["where"])
def log_of_guarded(node: Node) -> Tensor | None:
    """log(where(c, k, 1 + r)) is where(c, log(k), log1p(r)), as in derivatives of powers."""
    condition, *chosen = node.inputs[0].inputs
    for i in (0, 1):
        k, r = scalar(chosen[i]), beside_one(chosen[1 - i])
        if k is not None and 0 < k < math.inf and r is not None and node.dtype.kind == "f":
            values = [math.log(k), log1p(r)]
            return where(symbol(condition), *(values if i == 0 else values[::-1]))
    return None
