"""Sums of exponentials, and their quotients, in which what overflows is divided out.

``exp(a) / (exp(a) + exp(b))`` is ``1 / (1 + exp(b - a))``, and ``sinh(x) / cosh(x)`` a tanh.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

import numpy as np

from agnesi.core.dispatch import apply, graph_node
from agnesi.core.ir.node import Node
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.arith import reciprocal
from agnesi.ops.base.convert import number
from agnesi.ops.base.select import maximum, minimum
from agnesi.ops.elementwise.explog import exp
from agnesi.ops.elementwise.hyperbolic import tanh
from agnesi.ops.identity import STOP
from agnesi.ops.special.bessel import i0e, i1e
from agnesi.rewrite.pattern import agree, scalar

#: Most terms of a sum that are searched.
_MOST_TERMS = 8
#: A number times the exponential of a node; of nothing, for the number itself.
Term = tuple[float, Node | None]


def exponential_terms(node: Node) -> list[Term] | None:
    """The terms of a sum of exponentials and numbers; None for what is another sum, or none."""
    found: list[Term] = []
    stack = [(1.0, node)]
    while stack:
        factor, n = stack.pop()
        value = scalar(n)
        name = n.op_name
        if len(found) + len(stack) >= _MOST_TERMS:
            return None
        if value is not None:
            found += [(factor * float(value), None)] if value else []
        elif name == "exp":
            found.append((factor, n.inputs[0]))
        elif name == "square" and n.inputs[0].op_name == "exp":
            found.append((factor, graph_node(symbol(n.inputs[0].inputs[0]) * 2)))
        elif name == "expm1":
            found += [(factor, n.inputs[0]), (-factor, None)]
        elif name in ("cosh", "sinh"):
            minus = graph_node(-symbol(n.inputs[0]))
            found += [(factor / 2, n.inputs[0]),
                      (factor / 2 if name == "cosh" else -factor / 2, minus)]
        elif name == "negative":
            stack.append((-factor, n.inputs[0]))
        elif name in ("add", "subtract"):
            second = -factor if name == "subtract" else factor
            stack += [(second, n.inputs[1]), (factor, n.inputs[0])]
        elif (parts := _scaled(n)) is not None:
            stack.append((factor * parts[0], parts[1]))
        else:
            return None
    powers = [t for _, t in found if t is not None]
    return found if len(found) > 1 and powers else None


def _scaled(product: Node) -> tuple[float, Node] | None:
    """The number and the other factor of a product with a number."""
    if product.op_name != "multiply":
        return None
    for one, other in (product.inputs, product.inputs[::-1]):
        value = scalar(one)
        if value is not None:
            return float(value), other
    return None


def _power(term: Term, less: Node, node: Node) -> Tensor:
    """A term divided by the exponential of ``less``."""
    factor, exponent = term
    if exponent is None:
        power = exp(number(0, node.dtype) - symbol(less))
    elif (scaled := _scaled(exponent)) is not None and scaled[1] is less:
        power = exp(symbol(less) * (scaled[0] - 1))  # at infinity the difference is NaN
    else:
        power = exp(symbol(exponent) - symbol(less))
    return power if factor == 1 else -power if factor == -1 else power * factor


def divided(terms: Sequence[Term], less: Node, node: Node) -> Tensor:
    """A sum of exponentials divided by one of them, or another one."""
    whole = sum(c for c, t in terms if t is less)
    rest = [(c, t) for c, t in terms if t is not less]
    if not whole or not rest:
        return functools.reduce(Tensor.__add__, [_power(t, less, node) for t in terms])
    total: Tensor = number(1, node.dtype)
    for factor, exponent in rest:
        part = _power((abs(factor / whole), exponent), less, node)
        total = total + part if factor / whole > 0 else total - part
    return total if whole == 1 else total * whole


def has_exponent(sums: Iterable[Node], e: Node) -> bool:
    """Return whether the exponent of ``e`` is among the exponents of some sums, as in expm1(x)
    beside exp(x): both overflow together.
    """
    return any(t is e.inputs[0] for n in sums for _, t in exponential_terms(n) or ())


def greatest(terms: Sequence[Term]) -> Node:
    """The greatest exponent of a sum of exponentials, of those that are finite.

    No gradient flows through it: it is taken off above and below the line.
    """
    nodes = dict.fromkeys(t for _, t in terms if t is not None)
    first = functools.reduce(maximum, map(symbol, nodes))
    if any(t is None for _, t in terms):
        first = maximum(first, 0)
    most = float(np.finfo(first.dtype).max)
    return graph_node(apply(STOP, minimum(maximum(first, -most), most)))


def ratio(above: Node, below: Node) -> Tensor | None:
    """A quotient of two sums of exponentials; None where there are none that overflow together."""
    names = [n.op_name for n in (above, below)]
    if names == ["i1", "i0"] and above.inputs == below.inputs:
        return i1e(symbol(above.inputs[0])) / i0e(symbol(above.inputs[0]))
    if names[0] not in ("add", "subtract", "sinh", "cosh", "expm1"):
        return None
    if names == ["sinh", "cosh"]:
        return tanh(symbol(above.inputs[0])) if above.inputs == below.inputs else None
    under = exponential_terms(below)
    over = exponential_terms(above)
    if under is None or over is None:
        return None
    if not all(c > 0 for c, _ in under):
        half = _as_tanh(under, over)
        return None if half is None else reciprocal(half)
    half = _as_tanh(over, under)
    if half is not None or names[0] in ("sinh", "cosh", "expm1"):
        return half
    exponents = [t for _, t in (*over, *under) if t is not None]
    if near_one((*over, *under)) or not all(agree(exponents[0], t) for t in exponents):
        return None
    greatest_one = functools.reduce(maximum, [symbol(t) for t in dict.fromkeys(exponents)])
    top = graph_node(apply(STOP, greatest_one))
    scaled = [functools.reduce(Tensor.__add__, [_power(t, top, above) for t in terms])
              for terms in (over, under)]
    return scaled[0] / scaled[1]


def near_one(terms: Iterable[Term]) -> bool:
    """Return whether some exponents have the maximum subtracted already, so that they are at most
    0.
    """
    return any(_is_bounded(t) for _, t in terms if t is not None)


def _is_bounded(exponent: Node) -> bool:
    if exponent.op_name != "subtract":
        return False
    top = exponent.inputs[1]
    if top.op is STOP:
        top = top.inputs[0]
    return top.op_name in ("maximum", "minimum")


def _as_tanh(over: Sequence[Term], under: Sequence[Term]) -> Tensor | None:
    """(exp(a) - exp(b)) / (exp(a) + exp(b)), times a number."""
    if len(over) != 2 or len(under) != 2 or over[0][0] != -over[1][0]:
        return None
    if under[0][0] != under[1][0]:
        return None
    (c, a), (_, b) = over
    if {_key(a), _key(b)} != {_key(t) for _, t in under}:
        return None
    if b is not None and b.op_name == "negative" and b.inputs[0] is a:
        half = symbol(a)
    else:
        left = 0.0 if a is None else symbol(a)
        half = (left if b is None else left - symbol(b)) * 0.5  # type: ignore[assignment]
    result = tanh(half)
    factor = c / under[0][0]
    return result if factor == 1 else result * factor


def _key(exponent: Node | None) -> object:
    """Return a key that is equal for two nodes of the same negated exponent."""
    if exponent is not None and exponent.op_name == "negative":
        return "negative", exponent.inputs[0]
    return exponent


def logistic(node: Node) -> Node | None:
    """``x`` if the node is ``1 + exp(x)``."""
    if node.op_name != "add":
        return None
    for one, e in (node.inputs, node.inputs[::-1]):
        if e.op_name == "exp":
            value = scalar(one)
            if value is not None and value == 1:
                return e.inputs[0]
    return None


def opposite(a: Node, b: Node) -> bool:
    """Return whether a node is plainly the negative of another."""
    if a.op is None and b.op is None:
        return False
    for p, q in ((a, b), (b, a)):
        if p.op_name == "negative" and p.inputs[0] is q:
            return True
    if a.op is not b.op or len(a.inputs) != 2:
        return False
    if a.op_name == "subtract":
        return a.inputs == b.inputs[::-1]
    if a.op_name in ("multiply", "divide"):
        for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
            x, y = scalar(a.inputs[i]), scalar(b.inputs[j])
            if x is not None and y is not None and x == -y:
                return a.inputs[1 - i] is b.inputs[1 - j] and (a.op_name == "multiply" or i == j)
    return False
