"""Divided differences ``(f(x) - f(y)) / (x - y)``, whose digits are lost where x is near y.

They are the mean of the derivative of f between x and y: near each other it is computed by the
quadrature of Gauss and Legendre, whose own derivatives lose no digits either.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable

import numpy as np

from agnesi.core.dispatch import apply
from agnesi.core.ir.node import Node
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.arith import abs as abs_
from agnesi.ops.base.arith import negative, power, reciprocal, sqrt, square
from agnesi.ops.base.select import maximum, minimum, where
from agnesi.ops.elementwise.explog import exp, sigmoid
from agnesi.ops.elementwise.hyperbolic import cosh, sinh
from agnesi.ops.elementwise.trig import cos, sin
from agnesi.rewrite.algebra.exponentials import opposite
from agnesi.rewrite.pattern import agree, scalar
from agnesi.rewrite.rules import Book

BOOK = Book()
Form = Callable[[Tensor], Tensor]
#: Points of the quadrature between 0 and 1, and their weights.
_POINTS = [(float(x) / 2 + 0.5, float(w) / 2)
           for x, w in zip(*np.polynomial.legendre.leggauss(10), strict=True)]


def _wide(x: Tensor) -> Tensor:
    return x * 0 + 4


def _to_one(x: Tensor) -> Tensor:
    return abs_(abs_(x) - 1)


def _bell(x: Tensor) -> Tensor:
    return 2 / (1 + abs_(x))


#: By function: its derivative, and how far it is to the next pole at least, or to where it grows by
#: orders of magnitude.
_FORMS: dict[str, tuple[Form, Form]] = {
    "exp": (exp, _wide), "expm1": (exp, _wide), "sin": (cos, _wide), "sinh": (cosh, _wide),
    "cos": (lambda x: negative(sin(x)), _wide), "cosh": (sinh, _wide), "softplus": (sigmoid, _wide),
    "sigmoid": (lambda x: sigmoid(x) * sigmoid(-x), _wide), "square": (lambda x: x * 2, _wide),
    "tanh": (lambda x: 4 * sigmoid(2 * x) * sigmoid(-2 * x), lambda x: x * 0 + 2),
    "log": (reciprocal, abs_), "log1p": (lambda x: reciprocal(1 + x), lambda x: abs_(1 + x)),
    "log2": (lambda x: reciprocal(x * math.log(2)), abs_),
    "log10": (lambda x: reciprocal(x * math.log(10)), abs_),
    "sqrt": (lambda x: 0.5 / sqrt(x), abs_),
    "reciprocal": (lambda x: negative(reciprocal(square(x))), abs_),
    "tan": (lambda x: reciprocal(square(cos(x))), lambda x: abs_(cos(x))),
    "atan": (lambda x: reciprocal(1 + square(x)), lambda x: maximum(1, abs_(x))),
    "asinh": (lambda x: reciprocal(sqrt(1 + square(x))), lambda x: maximum(1, abs_(x))),
    "atanh": (lambda x: reciprocal((1 - x) * (1 + x)), _to_one),
    "asin": (lambda x: reciprocal(sqrt((1 - x) * (1 + x))), _to_one),
    "acos": (lambda x: negative(reciprocal(sqrt((1 - x) * (1 + x)))), _to_one),
    "erf": (lambda x: exp(negative(square(x))) * (2 / math.sqrt(math.pi)), _bell),
    "erfc": (lambda x: exp(negative(square(x))) * (-2 / math.sqrt(math.pi)), _bell),
    "ndtr": (lambda x: exp(square(x) * -0.5) * (1 / math.sqrt(2 * math.pi)), _bell),
}


def _form(f: Node, g: Node) -> tuple[Form, Form] | None:
    """The derivative and the distance of the function that two nodes are of."""
    if f.op is None or f.op is not g.op or not agree(f, g):
        return None
    if f.op_name == "power":
        n = scalar(f.inputs[1])
        if n is None or scalar(g.inputs[1]) != n or not math.isfinite(n):
            return None
        c = float(n)
        return lambda x: power(x, c - 1) * c, abs_
    return _FORMS.get(f.op_name)


def _ends(a: Node, b: Node) -> tuple[Node, Node]:
    """The arguments of two values, also of those that ``in_small_tails`` has made of them."""
    if a.op_name == b.op_name == "where" and a.inputs[0] is b.inputs[0] and (
            opposite(a.inputs[1], b.inputs[2]) and opposite(b.inputs[1], a.inputs[2])):
        return a.inputs[2], b.inputs[2]
    return a, b


@BOOK.rewriter("stabilize", ops=["divide", "safe_divide"], operands=["subtract"])
def divided_difference(node: Node) -> Tensor | None:
    """``(f(a) - f(b)) / (a - b)``, where a and b are near each other."""
    above, below = node.inputs
    if node.dtype.kind != "f" or node.dtype.itemsize < 4 or not all(
            n.op_name == "subtract" for n in node.inputs):
        return None
    f, g = above.inputs
    form = _form(f, g)
    if form is None:
        return None
    ends = _ends(f.inputs[0], g.inputs[0])
    if f.shape != node.shape or ends not in (below.inputs, below.inputs[::-1]):
        return None
    slope, distance = form
    a, b = map(symbol, ends)
    reach = minimum(distance(a), distance(b)) * 0.5
    near = (abs_(a - b) < reach) & (a != b) & (abs_(a) < math.inf)
    x, step = where(near, b, 0.5), where(near, a - b, 0.0)
    mean = functools.reduce(operator.add, [slope(x + step * t) * w for t, w in _POINTS])
    far = apply(above.op, symbol(f), where(near, 0, symbol(g)))
    far = apply(node.op, far, where(near, 1, symbol(below)))
    return where(near, mean if ends == below.inputs else negative(mean), far)
