"""Sums of squares that overflow or vanish before what is computed of them.

Roots, logarithms and quotients of ``x * x + y * y`` are taken of values times a power of two, which
is 1 but for very large and very small values (Blue, A Portable Fortran Program to Find the
Euclidean Norm of a Vector, 1978). These forms come late: other rules look for the roots.
"""

from __future__ import annotations

import functools
import math
import operator
from collections import Counter
from typing import Any, NamedTuple

from agnesi.core.dispatch import apply, graph_node
from agnesi.core.ir.node import Node
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.arith import abs as abs_
from agnesi.ops.base.arith import multiply, reciprocal, safe_multiply, sqrt, square
from agnesi.ops.base.convert import number
from agnesi.ops.base.select import maximum, where
from agnesi.rewrite.algebra.quotients import Product, Side, factors, top, written
from agnesi.rewrite.algebra.scales import ENDS
from agnesi.rewrite.algebra.sums import terms
from agnesi.rewrite.intervals import far_from_zero, interval
from agnesi.rewrite.pattern import agree, scalar
from agnesi.rewrite.rules import Book

BOOK = Book()
#: Most terms of a sum, factors of a term and levels of nesting that are searched.
_MOST_TERMS, _MOST_FACTORS, _MAX_DEPTH = 4, 10, 6
#: Between which sizes the numbers beside squares may be.
_LEAST_FACTOR, _GREATEST_FACTOR = 2.0 ** -20, 8.0
_LN4 = 2 * math.log(2)
#: Factors of a product in which one is cancelled, at least: two are divided as quickly.
_FEWEST_FACTORS = 3


class _Squares(NamedTuple):
    """A sum of squares of nodes, each times a number, and of a number."""

    squares: tuple[tuple[float, Node], ...]
    rest: float
    #: Signed terms that are no squares.
    beside: tuple[tuple[int, Node], ...] = ()

    def nodes(self) -> set[Node]:
        """The values whose squares are summed."""
        return {n for _, n in self.squares}

    def times(self, by: Tensor) -> Tensor:
        """The sum for values times a number."""
        parts = [square(symbol(n) * by) for _, n in self.squares]
        parts = [p if c == 1 else p * c for p, (c, _) in zip(parts, self.squares, strict=True)]
        parts += [symbol(n) * (by * sign) * by for sign, n in self.beside]
        return functools.reduce(operator.add, [
            *parts, *([square(by) * self.rest] if self.rest else [])])

    @property
    def large(self) -> Tensor:
        """Where a square may overflow."""
        return self.size > 2.0 ** ENDS[self.squares[0][1].dtype.itemsize][0]

    @property
    def size(self) -> Tensor:
        """The greatest size of a value."""
        return functools.reduce(maximum, [abs_(symbol(n)) for _, n in self.squares])

    def choice(self, large: float, small: float, other: float) -> Tensor:
        """Return ``large`` where squares may overflow, ``small`` where they may underflow, and
        ``other`` elsewhere.
        """
        dtype = self.squares[0][1].dtype
        found: Any = number(other, dtype)
        if not self.rest and not self.beside:
            found = where(self.size < 2.0 ** ENDS[dtype.itemsize][2], number(small, dtype), found)
        return where(self.large, number(large, dtype), found)

    def scale(self, sign: int = 1) -> Tensor:
        """Return the number by which values are to be scaled, or one over it."""
        _, down, _, up = ENDS[self.squares[0][1].dtype.itemsize]
        return self.choice(2.0 ** (sign * down), 2.0 ** (sign * up), 1.0)

    def log(self) -> Tensor:
        """The logarithm of the sum over that of the scaled one."""
        _, down, _, up = ENDS[self.squares[0][1].dtype.itemsize]
        return self.choice(-down * _LN4, -up * _LN4, 0.0)


def _squares(node: Node, large: bool = True, beside: bool = False) -> _Squares | None:
    """The sum of squares and a number that a node is; only of what may be ``large``, if it is, and
    ``beside`` other terms."""
    if node.dtype.kind != "f" or node.dtype.itemsize not in ENDS:
        return None
    found, rest, others = [], 0.0, []
    for sign, n in terms(node):
        if (c := scalar(n)) is not None:
            rest += sign * float(c)
            continue
        c, base = _square(n)
        if beside and base is None and not _is_scaled(n):
            others.append((sign, n))
            continue
        if base is None or base.dtype != node.dtype or _is_scaled(base):
            return None
        found.append((sign * c, base))
    if not found or len(found) + len(others) > _MOST_TERMS or not math.isfinite(rest):
        return None
    grows = any(c > 0 and interval(n).high == math.inf for c, n in found)
    near = all(_LEAST_FACTOR <= abs(c) <= _GREATEST_FACTOR for c, _ in found)
    suits = (grows or not large) and near and abs(rest) < 2.0 ** 50
    return _Squares(tuple(found), rest, tuple(others)) if suits else None


def _square(node: Node) -> tuple[float, Node | None]:
    """A number and the value whose square is multiplied with it, if the node is such a product."""
    product = factors(node, _MOST_FACTORS)
    above = product.above()
    near = _LEAST_FACTOR <= abs(product.number) <= _GREATEST_FACTOR
    if len(above) in (2, 4) and len({*above}) == 1 and not product.below() and near:
        return product.number, above[0] if len(above) == 2 else graph_node(square(symbol(above[0])))
    c = 1.0
    while node.op_name in ("multiply", "divide"):
        first, second = node.inputs
        if node.op_name == "multiply" and scalar(first) is not None:
            first, second = second, first
        by = scalar(second)
        if by is None or not by:
            return c, None
        c = c * float(by) if node.op_name == "multiply" else c / float(by)
        node = first
    return c, node.inputs[0] if node.op_name == "square" else None


def _is_scaled(node: Node) -> bool:
    """Return whether a node is a product with a ``where`` of numbers."""
    return node.op_name == "multiply" and any(
        n.op_name == "where" and all(
            scalar(m) is not None or m.op_name == "where"
            for m in n.inputs[1:])
        for n in node.inputs)


@BOOK.rewriter("specialize", ops=["sqrt"], operands=["add", "subtract", "square"])
def root_of_squares(node: Node) -> Tensor | None:
    """The root of a sum of squares that may overflow before it."""
    found = _squares(node.inputs[0], beside=True)
    return None if found is None else sqrt(found.times(found.scale())) * found.scale(-1)


@BOOK.rewriter("specialize", ops=["multiply", "divide", "safe_multiply", "safe_divide"])
def cancel_beside_others(node: Node) -> Tensor | None:
    """x / (x * x) is 1 / x, but NaN where x is zero or infinite: x * x may overflow or vanish."""
    if node.dtype.kind != "f" or not top(node).below:
        return None
    product = factors(node)
    if len(product.above()) + len(product.below()) < _FEWEST_FACTORS:
        return None
    side = product.first
    both = [n for n in dict.fromkeys(side.above) if n in side.below]
    for n in both:
        for _ in range(min(side.above.count(n), side.below.count(n))):
            side.above.remove(n)
            del side.below[-1 - side.below[::-1].index(n)]  # the first ones stay in pairs
        size = abs_(symbol(n))
        side.above.append(graph_node(
            where((size > 0) & (size < math.inf), number(1.0, n.dtype), math.nan)))
    return written(product, node) if both else None


@BOOK.rewriter("specialize", ops=["divide", "safe_divide"])
def square_of_quotient(node: Node) -> Tensor | None:
    """1 / (u * u) / (x * x) is the square of 1 / u / x, which overflows and vanishes later."""
    if node.dtype.kind != "f" or not top(node).below:
        return None
    product = factors(node, _MOST_FACTORS)
    above, below = Counter(product.above()), Counter(product.below())
    counts = [*above.values(), *below.values()]
    if len(counts) < 2 or any(c % 2 for c in counts) or not below or product.number <= 0:
        return None
    first = {*product.first.above, *product.first.below}
    sides = [Side([n for n in above for _ in range(above[n] // 2) if (n in first) is wanted],
                  [n for n in below for _ in range(below[n] // 2) if (n in first) is wanted])
             for wanted in (True, False)]
    root = written(Product(sides[0], sides[1]), node)
    if root is None or not agree(graph_node(root), node):
        return None
    return square(root) if product.number == 1 else square(root) * product.number


class _Ratios:
    """Quotients, at most 1, of a value and the root of a sum that contains its square."""

    def __contains__(self, node: object) -> bool:
        divided = isinstance(node, Node) and node.op_name == "divide"
        return divided and _over_root(*node.inputs)  # type: ignore[attr-defined]


def _over_root(x: Node, root: Node) -> bool:
    """Return whether the square of a value is among the summands below a square root."""
    if root.op_name != "sqrt" or not agree(x, root):
        return False
    found = _squares(root.inputs[0])
    return found is not None and x in found.nodes()


@BOOK.rewriter("stabilize", ops=["multiply", "divide", "safe_multiply", "safe_divide"])
def factors_over_roots(node: Node) -> Tensor | None:
    """``x*x / (r*r*r)`` with ``r = sqrt(x*x + y*y)`` is ``(x/r) * (x/r) / r``: in another order
    what is between may overflow or vanish.
    """
    if node.dtype.kind != "f" or not top(node).below:
        return None
    ratios = _Ratios()
    product = factors(node, _MOST_FACTORS, ratios)
    above = [n for n in product.above() if n in ratios]
    if len(product.below()) + len(above) < 2 and len(product.above()) - len(above) < 2:
        return None
    changed = False
    for root in product.below():
        for x in product.above():
            if _over_root(x, root):
                side = product.then if root in product.then.below else product.first
                product.remove(x, True)
                product.remove(root, False)
                side.above.append(graph_node(symbol(x) / symbol(root)))
                changed = True
                break
    return written(product, node) if changed else None


@BOOK.rewriter("specialize", ops=["log", "log1p"],
               operands=["add", "subtract", "square", "multiply", "divide"])
def log_of_squares(node: Node) -> Tensor | None:
    """The logarithm of a sum of squares that may overflow before it."""
    (x,) = node.inputs
    found = _squares(x)
    beside = node.op_name == "log1p"
    rest = 0.0 if found is None else found.rest + beside
    if found is None or (beside and not rest):
        return None
    found = found._replace(rest=rest)
    if rest and len(found.squares) == 1 and found.squares[0][0] > 0:
        ((c, _),) = found.squares
        size = found.size if c == 1 else found.size * math.sqrt(c)
        inside: Any = where(found.large, size, symbol(x))
        return apply(node.op, inside) * found.choice(2.0, 1.0, 1.0)
    scaled = found.times(found.scale())
    if beside:
        scaled = where(found.large, scaled - 1, symbol(x))
    return apply(node.op, scaled) + found.log()


@BOOK.rewriter("specialize", ops=["divide", "safe_divide"], operands=["add"])
def over_squares(node: Node) -> Tensor | None:
    """A quotient with a sum of squares below the line that overflows with what is above it."""
    above, below = node.inputs
    found = _squares(below) if agree(below, node) else None
    if found is None:
        return None
    by = found.scale()
    scaled, power = _scaled(above, found, by, 2)
    if not power:
        return None
    result = apply(node.op, scaled, found.times(by))
    return result * by if power == 1 else result


@BOOK.rewriter("specialize", ops=["multiply", "safe_multiply"], operands=["divide", "safe_divide"])
def times_over_squares(node: Node) -> Tensor | None:
    """A factor times a quotient with a sum of squares below the line, as in derivatives."""
    for i, n in enumerate(node.inputs):
        if n.op_name not in ("divide", "safe_divide") or not agree(n, node):
            continue
        above, below = n.inputs
        found = _squares(below) if agree(below, node) else None
        if found is None:
            continue
        by = found.scale()
        scaled, power = _scaled(node.inputs[1 - i], found, by, 2)
        if power:
            quotient = apply(n.op, symbol(above), found.times(by))
            pair = [quotient * by if power == 1 else quotient, scaled]
            return apply(node.op, *(pair if i == 0 else pair[::-1]))
    return None


def _scaled(node: Node, below: _Squares, by: Tensor, most: int,
            depth: int = _MAX_DEPTH) -> tuple[Tensor, int]:
    """Return a value with up to ``most`` of its factors scaled by ``by``, and how many were."""
    x = symbol(node)
    if node in below.nodes():
        return x * by, 1
    if node.op is None or not depth:
        return x, 0
    name = node.op_name
    if name == "square" and most == 2:
        inner, power = _scaled(node.inputs[0], below, by, 1, depth - 1)
        return (square(inner), 2) if power else (x, 0)
    if name == "negative":
        inner, power = _scaled(node.inputs[0], below, by, most, depth - 1)
        return -inner, power
    if name in ("multiply", "safe_multiply"):
        parts, power = [], 0
        for n in node.inputs:
            part, more = _scaled(n, below, by, most - power, depth - 1) if power < most else (
                symbol(n), 0)
            parts.append(part)
            power += more
        return apply(node.op, *parts), power
    if name == "add" and scalar(node.inputs[1]) == 0:
        inner, power = _scaled(node.inputs[0], below, by, most, depth - 1)
        return inner + 0, power
    if name in ("add", "subtract"):
        whole = _squares(node, large=False) if most == 2 else None
        if whole is not None and whole.nodes() <= below.nodes():
            return whole.times(by), 2
        first, second = (_scaled(n, below, by, 1, depth - 1) for n in node.inputs)
        if first[1] and second[1]:
            return apply(node.op, first[0], second[0]), 1
    return x, 0


@BOOK.rewriter("specialize", operands=["square", "multiply"],
               ops=["divide", "safe_divide", "multiply", "safe_multiply"])
def power_over_power(node: Node) -> Tensor | None:
    """``x * x / y`` is ``x / y * x``, and ``x * x / (y * y * y)`` is x / y twice, over y, as powers
    overflow and vanish where the quotient does not.  Both are of the node's shape: a number for
    all elements goes out of their sum instead."""
    times = node.op_name in ("multiply", "safe_multiply")
    if node.dtype.kind != "f" or (times and not (
            any(n.op_name == "square" for n in node.inputs) and top(node).below)):
        return None
    product = factors(node)
    guards = [n for n in product.above() if _is_guard(n)]
    above = [n for n in product.above() if n not in guards]
    below = product.below()
    m, n = len(above), len(below)
    if product.then and (len(product.above()) > 1 or product.first.below):
        return None  # what is zero first stays first
    if not below or len({*above}) != 1 or len({*below}) > 1:
        return None
    if m < 2 and not (n == 2 and below[0].op_name == "hypot"):  # which is there for its range
        return None
    if not (math.isfinite(product.number) and all(agree(f, node) for f in (above[0], below[0]))):
        return None
    base = interval(below[0])
    if base.high < math.inf and far_from_zero(below[0]):
        return None
    product_of = safe_multiply if product.then else multiply
    by, each = symbol(below[0]), [symbol(a) for a in above]
    if n == 1:
        found = [each[0] / by, *each[1:]]
    else:
        inverse = reciprocal(by)
        found = [*[product_of(a, inverse) for a in each[:n]], *[inverse] * (n - m), *each[n:]]
    result = functools.reduce(product_of, [*found, *map(symbol, guards)])
    return result if product.number == 1 else result * product.number


def _is_guard(node: Node) -> bool:
    """Return whether a factor is 1, or NaN where a cancelled factor was zero or infinite."""
    return node.op_name == "where" and scalar(node.inputs[1]) == 1 and (
        scalar(node.inputs[2]) is not None)
