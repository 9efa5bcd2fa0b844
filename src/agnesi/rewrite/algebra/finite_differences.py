"""Finite differences ``f(x + h) - f(x)``, rewritten so that the step ``h`` keeps all its digits.

``sin(x + h) - sin(x - h)`` is ``2 * sin(h) * cos(x)`` and ``1 / x - 1 / (x + h)`` is
``h / (x + h) / x``: the step ``h`` is what is left of the two sums, in which it has all its digits.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from agnesi.core.dispatch import apply, graph_node
from agnesi.core.ir.node import Node
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.arith import abs as abs_
from agnesi.ops.base.arith import reciprocal, square
from agnesi.ops.base.convert import number
from agnesi.ops.base.select import maximum, where
from agnesi.ops.elementwise.explog import exp, expm1, log1p, sigmoid
from agnesi.ops.elementwise.hyperbolic import cosh
from agnesi.ops.elementwise.trig import atan2, cos, sin
from agnesi.ops.special.special import erfc
from agnesi.rewrite.algebra.logarithms import in_small_tails
from agnesi.rewrite.algebra.quotients import Product, factors, written
from agnesi.rewrite.algebra.scales import ENDS
from agnesi.rewrite.algebra.sums import akin, terms
from agnesi.rewrite.pattern import agree, kept_for_last, scalar
from agnesi.rewrite.rules import Book

BOOK = Book()
#: Terms that a step has, factors of a quotient, and powers of a denominator, at most.
_MOST_TERMS, _MOST_FACTORS, _MOST_POWERS = 2, 12, 3
#: Most terms of a sum in which equal ones are collected, and the relative rounding error of
#: constants that are taken as equal.
_MOST_IN_SUM, _ROUNDING = 4, 1e-15
#: Functions of which differences over a step are known, and a step over which digits are not lost.
_STEPPING = frozenset(("sin", "cos", "tan", "sigmoid", "tanh", "softplus"))
_FAR_APART = 60.0
#: Halves of steps over which areas are computed by quadrature, and products of such with what is
#: in the middle, at most; places and weights of that on one side of 0.
_WIDEST_HALF, _STEEPEST = 0.5, 0.5
_GAUSS = [(float(x), float(w)) for x, w in zip(*np.polynomial.legendre.leggauss(8), strict=True)
          if x > 0]


def step(a: Node, b: Node, multiples: bool = False, times: float = 1.0) -> Tensor | None:
    """Return ``a - b`` without the terms that two sums have in common; None if they have none.

    Of roots of such sums it is the difference of their radicands over the sum of the roots.
    ``multiples`` also allows two multiples of one value. The result is multiplied by ``times``
    early enough that it does not overflow.
    """
    if not agree(a, b) or a is b:
        return None
    if a.op_name == b.op_name == "sqrt":
        inside = step(a.inputs[0], b.inputs[0])
        return None if inside is None else inside / (symbol(a) + symbol(b))
    (x, c), (y, d) = _multiple(a), _multiple(b)
    if multiples and x is y:
        return _scaled(symbol(x), (c - d) * times)
    first, second = Counter(terms(a)), Counter(terms(b))
    common = first & second
    rest = [*(first - common).elements(), *((-sign, n) for sign, n in (second - common).elements())]
    if not 1 <= len(rest) <= _MOST_TERMS:
        return None
    if not any(scalar(n) is None for _, n in common):
        return _of_squares(rest, times) if common else None
    numbers = [sign * float(c) for sign, n in rest if (c := scalar(n)) is not None]
    others = [(sign, n) for sign, n in rest if scalar(n) is None]
    if len(others) == 2 and others[0] == others[1]:
        return _scaled(symbol(others[0][1]), 2 * others[0][0] * times)
    parts = [symbol(n) if sign > 0 else -symbol(n) for sign, n in others]
    if numbers:
        parts.append(symbol(graph_node(number(math.fsum(numbers), a.dtype))))
    return _scaled(functools.reduce(operator.add, parts), times)


def _of_squares(signed: list[tuple[int, Node]], times: float) -> Tensor | None:
    """Return ``a * a - b * b`` as ``(a - b) * (a + b)`` if ``a - b`` has common terms."""
    if len(signed) != 2 or signed[0][0] == signed[1][0] or (
            any(n.op_name != "square" for _, n in signed)):
        return None
    (sign, a), (_, b) = ((s, n.inputs[0]) for s, n in signed)
    inside = step(a, b)
    return None if inside is None else _scaled(inside * (symbol(a) + symbol(b)), sign * times)


def step_of_exponents(a: Node, b: Node) -> Tensor | None:
    """``a - b`` of sums with terms in common, and of multiples of squares of such, as the exponents
    of two normal densities are."""
    found = step(a, b, True)
    if found is not None:
        return found
    (x, c), (y, d) = _multiple(a), _multiple(b)
    if c == d != 1 and akin(x, y):
        return (symbol(x) - symbol(y)) * c
    first, second = (factors(n, _MOST_FACTORS) for n in (a, b))
    if first.below() or second.below() or first.number != second.number:
        return None
    of, over = _only(first.above()), _only(second.above())
    by = step(of[0], over[0], True) if of and over and of[1] == over[1] == 2 else None
    if by is None or of is None or over is None:
        return None
    return _scaled(by * (symbol(of[0]) + symbol(over[0])), first.number)


def _scaled(x: Tensor, c: float) -> Tensor:
    return x if c == 1 else x * c


def _multiple(node: Node) -> tuple[Node, float]:
    """``x`` and ``c`` of c * x."""
    for x, number_ in (node.inputs, node.inputs[::-1]) if node.op_name == "multiply" else ():
        c = scalar(number_)
        if c is not None and math.isfinite(c):
            return x, float(c)
    return node, 1.0


def _where(regular: Tensor, found: Tensor, node: Node) -> Tensor:
    """Return ``found`` where ``regular`` holds, else the sum itself.

    The sum is rebuilt with other operands, so that the rule does not fire on it again.
    """
    left, right = map(symbol, node.inputs)
    return where(regular, found, apply(node.op, left, where(regular, 0.0, right)))


def _of_logistic(a: Tensor, b: Tensor, by: Tensor) -> Tensor:
    """Return sigmoid(a) - sigmoid(b), given ``by``, which is a - b."""
    less = by < 0
    shrinking = expm1(where(less, by, -by))  # abs(by) would have no slope at 0
    size = sigmoid(where(less, b, a)) * sigmoid(where(less, -a, -b)) * shrinking
    return where(less, size, 0 - size)


@BOOK.rewriter("stabilize", ops=["subtract"], operands=["atan"])
def angles_over_a_step(node: Node) -> Tensor | None:
    """atan(x + h) - atan(x), which is the angle between (1, x + h) and (1, x)."""
    if node.dtype.kind != "f" or any(n.op_name != "atan" for n in node.inputs):
        return None
    a, b = (symbol(n.inputs[0]) for n in node.inputs)
    by = step(node.inputs[0].inputs[0], node.inputs[1].inputs[0], True)
    if by is None:
        return None
    regular = (abs_(a) < math.inf) & (abs_(b) < math.inf)
    a, b, by = (where(regular, x, 0.0) for x in (a, b, by))
    size = maximum(abs_(b), 1.0)
    found = atan2(by / size, reciprocal(size) + a * (b / size)) + 0
    return _where(regular, found, node)


def _of_softplus(a: Tensor, b: Tensor, by: Tensor, node: Node) -> Tensor:
    """log((1 + exp(a)) / (1 + exp(b))), which is 1 + sigmoid(b) * expm1(a - b) inside."""
    less = by < 0
    apart = where(less, -by, by)
    regular = (apart < _FAR_APART) & (maximum(a, b) < math.inf)
    size = log1p(sigmoid(where(less, a, b)) * expm1(where(regular, apart, 0.0)))
    return _where(regular, where(less, 0 - size, size + 0), node)


@BOOK.rewriter("stabilize", ops=["subtract"],
               operands=["sin", "cos", "tan", "sigmoid", "tanh", "softplus"])
def difference_over_a_step(node: Node) -> Tensor | None:
    """sin(x + h) - sin(x), which is 2 * sin(h / 2) * cos(x + h / 2), and its kin."""
    a, b = node.inputs
    if node.dtype.kind != "f" or a.op is None or a.op is not b.op or len(a.inputs) != 1:
        return None
    name = a.op_name
    by = step(a.inputs[0], b.inputs[0], True) if name in _STEPPING else None
    if by is None:
        return None
    x, y = symbol(a.inputs[0]), symbol(b.inputs[0])
    if name == "sigmoid":
        return _of_logistic(x, y, by)
    if name == "tanh":
        return 2 * _of_logistic(2 * x, 2 * y, 2 * by)
    if name == "softplus":
        return _of_softplus(x, y, by, node)
    if name == "tan":
        return sin(by) / (cos(x) * cos(y)) + 0
    half: Any = step(a.inputs[0], b.inputs[0], True, 0.5)
    between = y + half
    return 2 * sin(half) * (cos(between) if name == "sin" else -sin(between)) + 0


@BOOK.rewriter("stabilize", ops=["add", "subtract"],
               operands=["multiply", "divide", "negative", "safe_multiply", "safe_divide"])
def common_factor(node: Node) -> Tensor | None:
    """c * exp(x + h) - c * exp(x) is c times a difference over a step."""
    pair = _opposed(node)
    if pair is None or Counter(pair[0].below()) != Counter(pair[1].below()):
        return None
    p, q = pair
    of, over = Counter(p.above()), Counter(q.above())
    rest, less = [*(of - over).elements()], [*(over - of).elements()]
    if len(rest) != 1 or len(less) != 1 or not (p.below() or len(p.above()) > 1 or p.number != 1):
        return None
    (f,), (g,) = rest, less
    if f.op is None or f.op is not g.op or f.shape != node.shape or not agree(f, g):
        return None
    side = p.then if f in p.then.above else p.first
    p.remove(f, True)
    q.remove(g, True)
    if any(Counter(m) != Counter(n) for m, n in ((p.then.above, q.then.above),
                                                 (p.then.below, q.then.below))):
        return None
    known = step_of_exponents if f.op_name == "exp" else step if f.op_name in _STEPPING else None
    if known is None or known(f.inputs[0], g.inputs[0]) is None:
        return None
    side.above.append(graph_node(symbol(f) - symbol(g)))
    return written(p, node)


@BOOK.rewriter("stabilize", ops=["subtract"], operands=["erf", "erfc", "ndtr"])
def area_over_a_step(node: Node) -> Tensor | None:
    """erf(x + h) - erf(x), the area below a bell curve over a step, and that of erfc and ndtr: by
    the quadrature of Gauss and Legendre where it is small, else where both are small.
    """
    a, b = node.inputs
    if node.dtype.kind != "f" or a.op is None or a.op is not b.op or node.dtype.itemsize < 4:
        return None
    by = step(a.inputs[0], b.inputs[0], True)
    if by is None:
        return None
    x, y = symbol(a.inputs[0]), symbol(b.inputs[0])
    if a.op_name == "erf":
        beyond = x + y > 0
        far = erfc(where(beyond, y, -x)) - erfc(where(beyond, x, -y))
    else:
        first, second = in_small_tails(a, b) or (a, b)
        far = symbol(first) - symbol(second)
    scale = math.sqrt(0.5) if a.op_name == "ndtr" else 1.0
    middle, half = _scaled(y + by * 0.5, scale), by * (0.5 * scale)
    near = (abs_(half) < _WIDEST_HALF) & (abs_(middle * half) < _STEEPEST)
    middle, half = where(near, middle, 0.0), where(near, half, 0.0)
    mean = functools.reduce(operator.add, [
        exp(-square(half * at)) * cosh(middle * half * (2 * at)) * weight for at, weight in _GAUSS])
    number_ = {"erf": 4.0, "erfc": -4.0, "ndtr": 2.0}[a.op_name] / math.sqrt(math.pi)
    return where(near, exp(-square(middle)) * half * mean * number_, far) + 0


@BOOK.rewriter("stabilize", ops=["subtract"], operands=["sqrt"])
def roots_over_a_step(node: Node) -> Tensor | None:
    """sqrt(x + h) - sqrt(x) is h / (sqrt(x + h) + sqrt(x))."""
    a, b = node.inputs
    if node.dtype.kind != "f" or a.op_name != "sqrt" or b.op_name != "sqrt":
        return None
    by = step(a.inputs[0], b.inputs[0])
    if by is None or scalar(graph_node(by)) is not None:
        return None
    both = symbol(a) + symbol(b)
    return _where((abs_(by) < math.inf) & (both > 0) & (both < math.inf), by / both + 0, node)


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
    found = where((x > 0) & (x < math.inf), found, where((x == 0) & (by > 0), math.inf, math.nan))
    return found + 0 if sign > 0 else 0 - found


def _two(node: Node) -> tuple[Product, Product] | None:
    """Return the two products whose sum a node is, with equal ones merged; None if they are not
    two.
    """
    found = _products(node)
    return None if found is None else (found[0].copy(), found[1].copy())


@kept_for_last
def _products(node: Node) -> tuple[Product, Product] | None:
    signed = terms(node)
    if node.dtype.kind != "f" or not 2 <= len(signed) <= _MOST_IN_SUM:
        return None
    found = dict[Any, Product]()
    for sign, n in signed:
        product = factors(n, _MOST_FACTORS)
        product.number *= sign
        below = product.below()
        for m in [m for m in product.above() if m in below]:
            product.remove(m, True)
            product.remove(m, False)
        key: Any = len(found)
        if len(signed) > 2:
            key = _monomial(product.above()), _monomial(product.below())
        known = found.setdefault(key, product)
        if known is not product:
            known.number += product.number
    both = [*found.values()]
    if len(both) != 2 or not all(p.number and math.isfinite(p.number) for p in both):
        return None
    return both[0], both[1]


def _opposed(node: Node) -> tuple[Product, Product] | None:
    """Return the products ``p`` and ``q`` of a node that is p - q and whose numeric factors are
    equal; None for all others."""
    pair = _two(node)
    if pair is None or pair[0].number != -pair[1].number:
        return None
    pair[1].number = pair[0].number
    return pair


def _only(nodes: list[Node]) -> tuple[Node, int] | None:
    """Return the factor and its count if all factors are one node, else None."""
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
    return _where(regular, found + 0, node)


@BOOK.rewriter("stabilize", ops=["add", "subtract"],
               operands=["reciprocal", "divide", "safe_divide", "multiply", "safe_multiply"])
def rest_of_share(node: Node) -> Tensor | None:
    """1 - x / (x + k) is k / (x + k), and so are both times powers of x + k and factors; so is
    1 / (x + k) - (x - k) / (x + k)**2 = 2 * k / (x + k)**2.
    """
    pair = _two(node)
    if pair is None:
        return None
    found = _rest(*pair, node)
    return _rest(*pair[::-1], node) if found is None else found


def _rest(whole: Product, part: Product, node: Node) -> Tensor | None:
    """Return the sum of the product ``whole`` and of ``part``, which is a multiple c * a / d of it,
    as one product if terms of d + c * a cancel; None otherwise.
    """
    above, below = Counter(part.above()), Counter(part.below())
    if not (Counter(whole.above()) <= above and Counter(whole.below()) <= below):
        return None
    over = [*(above - Counter(whole.above())).elements()]
    under = [*(below - Counter(whole.below())).elements()]
    of, total = _polynomial(over), _polynomial(under)
    if of is None or total is None or under[0].shape != node.shape or (
            not all(agree(n, under[0]) for n in over)):
        return None
    left, gone = dict[_Monomial, float](), False
    for m in [*total, *(m for m in of if m not in total)]:
        first, second = total.get(m, 0.0), of.get(m, 0.0) * part.number / whole.number
        if abs(first + second) > _ROUNDING * abs(first):
            left[m] = first + second
        elif m:
            gone = True
    if not gone or not 1 <= len(left) <= _MOST_TERMS or left.keys() == {_ONE}:
        return None
    found = functools.reduce(operator.add, [_quotient(m, c, under) for m, c in left.items()])
    for n in whole.above():
        found = found * symbol(n)
    for n in whole.below():
        found = found / symbol(n)
    found = found if whole.number == 1 else found * whole.number
    divisor = symbol(under[0])
    regular = (abs_(divisor) < math.inf) & (divisor != 0)
    for n in {*over}:
        regular = regular & (abs_(symbol(n)) < math.inf)
    return _where(regular, found + 0, node)


#: Values with their powers.
_Monomial = frozenset[tuple[Node, int]]
_ONE: _Monomial = frozenset()


def _monomial(nodes: Iterable[Node]) -> _Monomial:
    return frozenset(Counter(nodes).items())


def _polynomial(nodes: list[Node]) -> dict[_Monomial, float] | None:
    """Return a product of few factors as a sum of monomials: the terms of its only factor, or of
    the radicand of a squared root; None where there are too many.
    """
    if not nodes or len(nodes) > _MOST_TERMS:
        return None
    first = nodes[0]
    if len(nodes) == 2 and nodes[1] is first and first.op_name == "sqrt":
        first = first.inputs[0]
    elif len(nodes) == 2:
        return {_monomial(nodes): 1.0}
    found = dict[_Monomial, float]()
    for sign, n in terms(first):
        product = factors(n, _MOST_FACTORS)
        if product.below():
            return None
        m = _monomial(product.above())
        found[m] = found.get(m, 0.0) + sign * product.number
    return found if all(map(math.isfinite, found.values())) else None


def _quotient(m: _Monomial, c: float, under: list[Node]) -> Tensor:
    """Return a monomial over a product, with multiplications and divisions alternating to avoid
    overflow in between.
    """
    above = [symbol(n) for n, power in m for _ in range(power)]
    first, divisors = (above[0] if above else None), [symbol(n) for n in under]
    if len(above) > len(divisors):  # a square over a sum of such
        first, above = functools.reduce(operator.mul, above), []
    found = c / divisors[0] if first is None else first / divisors[0]
    for x, by in itertools.zip_longest(above[1:], divisors[1:]):
        quotient = x if by is None else x / by if x is not None else None
        found = found / by if quotient is None else found * quotient
    return found if first is None or c == 1 else found * c
