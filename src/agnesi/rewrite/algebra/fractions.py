"""Sums of quotients over one denominator, where terms of the numerator cancel.

``1 / (1 + x) - x / (1 + x)**2``, the derivative of ``x / (1 + x)``, is ``1 / (1 + x)**2``, and
``1 / r - x * x / r**3`` for the root ``r`` of ``1 + x * x`` is ``1 / r**3``.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.core.dispatch import apply, graph_node
from agnesi.core.ir.node import Node
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.arith import abs as abs_
from agnesi.ops.base.arith import safe_divide, safe_multiply, square
from agnesi.ops.base.convert import number
from agnesi.ops.base.select import where
from agnesi.rewrite.algebra.quotients import Product, factors
from agnesi.rewrite.algebra.sums import terms
from agnesi.rewrite.intervals import never_zero
from agnesi.rewrite.pattern import agree, scalar
from agnesi.rewrite.rules import Book

BOOK = Book()
#: Terms, factors of one, factors of the denominator, terms of a polynomial and its nodes, at most.
_MOST_TERMS, _MOST_FACTORS, _MOST_BELOW, _MOST_MONOMIALS, _MOST_NODES = 4, 12, 5, 12, 32
#: Divisions that are made one after the other.
_MOST_DIVISIONS = 3
#: Powers of nodes, and a sum of products of such with numbers.
Monomial = frozenset[tuple[Node, int]]
Polynomial = dict[Monomial, float]
_ONE: Monomial = frozenset()


class _TooLargeError(Exception):
    """A polynomial of more terms than are looked at."""


@BOOK.rewriter("stabilize", ops=["add", "subtract"], exact=lambda node: _over_one(node, True),
               operands=["divide", "reciprocal", "safe_divide", "multiply", "safe_multiply",
                         "negative", "add", "subtract"])
def over_one_denominator(node: Node) -> Tensor | None:
    """A sum of quotients is one quotient where terms of its numerator cancel."""
    return _over_one(node, False)


def over_one(node: Node) -> Tensor | None:
    """Return a sum of quotients over one denominator if at least one term of the numerator cancels,
    else None.
    """
    return _over_one(node, False, any_term=True)


def _over_one(node: Node, exact: bool, any_term: bool = False) -> Tensor | None:
    if node.dtype.kind != "f":
        return None
    signed = [(sign, n) for sign, n in terms(node) if scalar(n) != 0]
    if not 2 <= len(signed) <= _MOST_TERMS:
        return None
    products = [factors(n, _MOST_FACTORS) for _, n in signed]
    if not any(p.first.below or p.then.below for p in products):
        return None
    # Beside infinity all terms vanish, and 0 times a value need not.
    if not all(math.isfinite(p.number) and p.number for p in products):
        return None
    for (sign, _), p in zip(signed, products, strict=True):
        p.number *= sign
    safe = all(p.then for p in products)
    shared = _shared(products)
    below = Counter[Node]()
    for p in products:
        below |= Counter(p.below())
    if not 1 <= below.total() <= _MOST_BELOW:
        return None
    try:
        left = _numerator(products, below, float(np.finfo(node.dtype).eps), any_term)
    except _TooLargeError:
        return None
    undefined = _undefined(products, left, below) if left and exact else []
    if left is None or undefined is None:
        return None
    found = _written(left, below, shared, safe, node)
    for n in undefined if found is not None else ():
        found = where(symbol(n) == 0, np.nan, found)
    return found


def _shared(products: Sequence[Product]) -> list[Node]:
    """Remove the factors that all products have in their numerators, and return them."""
    found = []
    for n in dict.fromkeys(products[0].first.above):
        for _ in range(min(p.first.above.count(n) for p in products)):
            found.append(n)
            for p in products:
                p.first.above.remove(n)
    return found


def _numerator(products: Sequence[Product], below: Counter[Node], eps: float,
               any_term: bool) -> Polynomial | None:
    """Return the numerator of the sum over the common denominator ``below``; None if no term
    cancels that exceeds the remaining ones. With ``any_term`` any cancelled term suffices.
    """
    total, sizes, known = Polynomial(), Polynomial(), dict[Node, Polynomial]()
    for p in products:
        part: Polynomial = {_ONE: p.number}
        for n in [*p.above(), *(below - Counter(p.below())).elements()]:
            part = _times(part, _polynomial(n, known))
        for monomial, c in _without_roots(part, known).items():
            total[monomial] = total.get(monomial, 0.0) + c
            sizes[monomial] = sizes.get(monomial, 0.0) + abs(c)
    left = {m: c for m, c in total.items() if abs(c) > 4 * eps * sizes[m]}
    gone = [m for m in total if m not in left]
    if not gone or not 1 <= len(left) <= 2:
        return None
    return left if any_term or any(_is_beyond(m, left) for m in gone) else None


def _is_beyond(monomial: Monomial, left: Polynomial) -> bool:
    """Return whether a monomial exceeds all of ``left`` as some node grows."""
    return any(power > max(dict(m).get(n, 0) for m in left) for n, power in monomial)


def _polynomial(node: Node, known: dict[Node, Polynomial]) -> Polynomial:
    found = known.get(node)
    if found is None:
        if len(known) > _MOST_NODES:
            raise _TooLargeError
        known[node] = {}  # counted before what it is a sum of
        found = known[node] = _made(node, known)
    return found


def _made(node: Node, known: dict[Node, Polynomial]) -> Polynomial:
    value = scalar(node)
    if value is not None and math.isfinite(value):
        return {_ONE: float(value)}
    name = node.op_name
    if name in ("add", "subtract"):
        a, b = (_polynomial(n, known) for n in node.inputs)
        found = dict(a)
        for m, c in b.items():
            found[m] = found.get(m, 0.0) + (c if name == "add" else -c)
        return found
    if name == "negative":
        return {m: -c for m, c in _polynomial(node.inputs[0], known).items()}
    if name in ("multiply", "safe_multiply", "square"):
        return _times(*(_polynomial(n, known) for n in (node.inputs * 2)[:2]))
    if name == "divide" and (by := scalar(node.inputs[1])) and math.isfinite(by):
        return {m: c / float(by) for m, c in _polynomial(node.inputs[0], known).items()}
    return {frozenset(((node, 1),)): 1.0}


def _times(a: Polynomial, b: Polynomial) -> Polynomial:
    found = Polynomial()
    for m, c in a.items():
        for n, d in b.items():
            key = m | n if not (m and n) else _joined(m, n)
            found[key] = found.get(key, 0.0) + c * d
    if len(found) > _MOST_MONOMIALS:
        raise _TooLargeError
    return found


def _joined(m: Monomial, n: Monomial) -> Monomial:
    powers = dict(m)
    for node, power in n:
        powers[node] = powers.get(node, 0) + power
    return frozenset(powers.items())


def _without_roots(given: Polynomial, known: dict[Node, Polynomial]) -> Polynomial:
    """A polynomial in which squares of roots are what they are the roots of."""
    found = Polynomial()
    for m, c in given.items():
        part: Polynomial = {_ONE: c}
        for n, power in m:
            if n.op_name == "sqrt" and power > 1:
                for _ in range(power // 2):
                    part = _times(part, _polynomial(n.inputs[0], known))
                power %= 2
            if power:
                part = _times(part, {frozenset(((n, power),)): 1.0})
        for key, d in part.items():
            found[key] = found.get(key, 0.0) + d
    return found


# -- beside roots -----------------------------------------------------------------------------
@BOOK.rewriter("stabilize", ops=["add", "subtract"],
               operands=["sqrt", "divide", "reciprocal", "safe_divide", "multiply",
                         "safe_multiply", "negative", "add", "subtract"])
def conjugate_of_root(node: Node) -> Tensor | None:
    """A sum P + r * Q beside a root r, over a denominator, is (P*P - r*r*Q*Q) / (P - r * Q) over it
    where terms of those squares cancel: x / sqrt(x*x + x) - 1 / 2 / sqrt(x*x + x) - 1 is such a
    sum.
    """
    signed = [(sign, n) for sign, n in terms(node) if scalar(n) != 0]
    if node.dtype.kind != "f" or not 2 <= len(signed) <= _MOST_TERMS:
        return None
    products = [factors(n, _MOST_FACTORS) for _, n in signed]
    roots = dict.fromkeys(n for p in products for n in (*p.above(), *p.below())
                          if n.op_name == "sqrt")
    if len(roots) != 1 or not all(math.isfinite(p.number) and p.number for p in products):
        return None
    (root,) = roots
    below = Counter[Node]()
    for (sign, _), p in zip(signed, products, strict=True):
        p.number *= sign
        below |= Counter(p.below())
    if below.total() > _MOST_BELOW or root.inputs[0].op is None or root.shape != node.shape:
        return None
    try:
        parts = _beside_root(products, below, root)
        left = parts and _left_of_squares(*parts, root, float(np.finfo(node.dtype).eps))
        signs = {n for part in parts or () for m in part for n, _ in m if n.op_name == "sign"}
    except _TooLargeError:
        return None
    if not parts or not left:
        return None
    plain, beside = (_sum_of(part, node) for part in parts)
    if plain is None or beside is None:
        return None
    size = abs_(plain) + symbol(root) * abs_(beside)
    near = ((plain < 0) == (beside > 0)) & (size < math.inf) & (size > 0)
    for n in (*below, *signs):
        near = near & (symbol(n) != 0)
    under = Counter({n: below[n] for m in left for n, _ in m if n in below})
    under.update(below - under)
    under[graph_node(where(near, where(plain < 0, -size, size), 1.0))] += 1
    found = _written(left, under, (), False, node)
    first, second = map(symbol, node.inputs)
    return None if found is None else where(
        near, found, apply(node.op, first, where(near, 0.0, second)))


def _beside_root(products: Sequence[Product], below: Counter[Node],
                 root: Node) -> tuple[Polynomial, Polynomial] | None:
    """``P`` and ``Q`` of the numerator P + root * Q of a sum over its common denominator."""
    known = dict[Node, Polynomial]()
    p, q = Polynomial(), Polynomial()
    for product in products:
        part: Polynomial = {_ONE: product.number}
        for n in [*product.above(), *(below - Counter(product.below())).elements()]:
            part = _times(part, _polynomial(n, known))
        for m, c in _without_roots(part, known).items():
            powers = dict(m)
            odd = powers.pop(root, 0)
            into, key = (q, frozenset(powers.items())) if odd else (p, m)
            into[key] = into.get(key, 0.0) + c
    p, q = ({m: c for m, c in part.items() if c} for part in (p, q))
    return (p, q) if p and q else None


def _left_of_squares(p: Polynomial, q: Polynomial, root: Node, eps: float) -> Polynomial | None:
    """Return P*P - r*r*Q*Q with squares of signs taken as 1, if at most two terms are left and
    larger ones have cancelled; None otherwise.
    """
    total, sizes = Polynomial(), Polynomial()
    inside = _polynomial(root.inputs[0], {})
    for part, sign in ((_times(p, p), 1), (_times(_times(q, q), inside), -1)):
        for m, c in part.items():
            m = frozenset(n for n in m if n[0].op_name != "sign" or n[1] % 2)
            total[m] = total.get(m, 0.0) + sign * c
            sizes[m] = sizes.get(m, 0.0) + abs(c)
    left = {m: c for m, c in total.items() if abs(c) > 4 * eps * sizes[m]}
    gone = [m for m in total if m not in left]
    return left if 1 <= len(left) <= 2 and any(_is_beyond(m, left) for m in gone) else None


def _sum_of(polynomial: Polynomial, node: Node) -> Tensor | None:
    """Return a polynomial as an expression; None if it has too many terms."""
    if len(polynomial) > _MOST_TERMS:
        return None
    found: Any = None
    for m, c in polynomial.items():
        term: Any = functools.reduce(operator.mul, [
            symbol(n) for n, power in m for _ in range(power)]) if m else None
        if term is None:
            term = symbol(graph_node(number(c, node.dtype)))
        elif c != 1:
            term = term * c
        found = term if found is None else found + term
    return found


@BOOK.rewriter("stabilize", ops=["add", "subtract"],
               operands=["multiply", "safe_multiply", "square", "add", "subtract"])
def one_monomial_is_left(node: Node) -> Tensor | None:
    """(x + y) * (x - y) - x * x is -y * y, x * x - 2 * x * y + y * y is (x - y)**2, and
    (x + x) * y - (y + y) * x is nothing."""
    signed = terms(node)
    if node.dtype.kind != "f" or node.dtype.itemsize < 4 or not _has_products(signed):
        return None
    total, sizes, known = Polynomial(), Polynomial(), dict[Node, Polynomial]()
    try:
        for sign, n in signed:
            for m, c in _polynomial(n, known).items():
                total[m] = total.get(m, 0.0) + sign * c
                sizes[m] = sizes.get(m, 0.0) + abs(c)
    except _TooLargeError:
        return None
    eps = float(np.finfo(node.dtype).eps)
    left = {m: c for m, c in total.items() if not abs(c) <= 4 * eps * sizes[m]}
    leaves = {n for m in total for n, _ in m}
    if not all(agree(n, node) for n in leaves) or not all(map(math.isfinite, left.values())):
        return None
    root = _root_of(left) if len(left) == len(signed) == 3 else None
    if root is not None:
        return square(root)
    if len(left) > 1 or (left and len(total) == 1) or _ONE in left:
        return None
    found, kept = symbol(graph_node(number(0.0, node.dtype))), set[Node]()
    for m, c in left.items():
        found = functools.reduce(operator.mul, [symbol(n) for n, power in m for _ in range(power)])
        found, kept = found if c == 1 else found * c, {n for n, _ in m}
    lost = [_is_finite(n) for n in leaves - kept]
    return where(functools.reduce(operator.and_, lost), found + 0, math.nan) if lost else found + 0


def _is_finite(node: Node) -> Tensor:
    """Return where a value is finite in exact arithmetic: that of ``cosh(800)`` is, although it
    overflows.
    """
    name = node.op_name
    if name in ("sinh", "cosh", "negative", "square"):
        return _is_finite(node.inputs[0])
    if name in ("exp", "exp2", "expm1"):
        return symbol(node.inputs[0]) < math.inf
    return abs_(symbol(node)) < math.inf


def _has_products(signed: Sequence[tuple[int, Node]]) -> bool:
    """Return whether sums stand in products of terms, terms occur twice, or they are squares and a
    product."""
    if len({n for _, n in signed}) < len(signed):
        return True
    products = [n for _, n in signed if n.op_name in ("multiply", "safe_multiply", "square")]
    if len(signed) == len(products) == 3:
        return True
    return len(signed) > 1 and any(
        m.op_name in ("add", "subtract") for n in products for m in n.inputs)


def _root_of(left: Polynomial) -> Tensor | None:
    """``a + b`` of a * a + 2 * a * b + b * b, whichever sign b has."""
    squares = [next(iter(m))[0] for m, c in left.items()
               if c == 1 and len(m) == 1 and next(iter(m))[1] == 2]
    if len(squares) != 2:
        return None
    twice = left.get(frozenset((n, 1) for n in squares), 0.0)
    a, b = map(symbol, squares)
    return a + b if twice == 2 else a - b if twice == -2 else None


# -- where denominators are zero --------------------------------------------------------------
def _undefined(products: Sequence[Product], left: Polynomial,
               below: Counter[Node]) -> list[Node] | None:
    """Return the denominators at whose zeros the sum is NaN but the quotient is not; None if the
    two differ in another way, or if that is unknown.
    """
    poles = [n for n in below if not never_zero(n)]
    known = dict[Node, Polynomial]()
    found: list[Node] = []
    try:
        polynomials = [_polynomial(n, known) for p in products for n in (*p.above(), *p.below())]
        atoms = {n for p in polynomials for m in p for n, _ in m}
        roots = {n: _polynomial(n.inputs[0], known) for n in atoms if n.op_name == "sqrt"}
    except _TooLargeError:
        return None
    leaves = {n for p in (*polynomials, *roots.values()) for m in p for n, _ in m} - roots.keys()
    # what all terms are multiplied by does not matter
    whole = [{n for f in p.above() for n in leaves if all(n in dict(m) for m in known[f])}
             for p in products]
    beside = set.intersection(*whole) - {n for f in below for m in known[f] for n, _ in m}
    leaves -= beside
    values = functools.partial(_values, products, left, below, known, roots)
    ends = [{**dict.fromkeys((*leaves, *beside), np.float64(1.0)), n: np.float64(end)}
            for n in leaves for end in (np.inf, -np.inf)]
    with np.errstate(all="ignore"):
        if any(np.isnan(after) and not np.isnan(before) for before, after in map(values, ends)):
            return None
        for n in poles:
            first = next(iter(known[n]))
            root = next(iter(first))[0] if len(known[n]) == len(first) == 1 else n
            zeros = _zeros(roots.get(root, known[n]), leaves)
            if zeros is None:
                return None
            for at in zeros:
                before, after = values({**at, **dict.fromkeys(beside, np.float64(1.0))})
                if np.isnan(before) and not np.isnan(after):
                    found.append(n)
                elif not np.isclose(before, after, equal_nan=True):
                    return None
    return [*dict.fromkeys(found)]


def _values(products: Sequence[Product], left: Polynomial, below: Counter[Node],
            known: dict[Node, Polynomial], roots: dict[Node, Polynomial],
            at: dict[Node, Any]) -> tuple[Any, Any]:
    """Return the values of the sum and of the quotient for given values of the leaves."""
    at = {**at, **{r: np.sqrt(_at(p, at)) for r, p in roots.items()}}
    value = {n: _at(p, at) for n, p in known.items()}
    before = sum(np.divide(np.prod([p.number, *(value[n] for n in p.above())]),
                           np.prod([1.0, *(value[n] for n in p.below())])) for p in products)
    after = _at(left, at)
    for d in below.elements():
        after = np.divide(after, value[d])
    return before, after


def _zeros(p: Polynomial, leaves: set[Node]) -> list[dict[Node, Any]] | None:
    """Return points where a polynomial is zero, or nearly, with zeros of both signs; None if it
    depends on several values, unless it is a sum of even powers of all leaves.
    """
    own = {n for m in p for n, _ in m}
    if own - leaves:
        return None
    if len(leaves) > 1:
        even = all(c > 0 and len(m) == 1 and all(k % 2 == 0 for _, k in m) for m, c in p.items())
        return [dict.fromkeys(leaves, np.float64(0.0))] if even and own == leaves else None
    c = {sum(k for _, k in m): c for m, c in p.items()}
    found = np.roots([c.get(k, 0.0) for k in range(max(c), -1, -1)])
    near = [float(z.real) for z in found if abs(z.imag) < 1e-6]
    every = {*near, *[round(x, 6) for x in near], *[-x for x in near if x == 0]}
    return [dict.fromkeys(leaves, np.float64(x)) for x in every]


def _at(p: Polynomial, at: dict[Node, Any]) -> Any:
    """Return the value of a polynomial; a single term keeps the sign of a zero."""
    parts = [c * np.prod([at[n] ** k for n, k in m]) for m, c in p.items()]
    return parts[0] if len(parts) == 1 else sum(parts)


# -- written out ------------------------------------------------------------------------------
def _written(left: Polynomial, below: Counter[Node], shared: Sequence[Node], safe: bool,
             node: Node) -> Tensor | None:
    """Return the quotient, with multiplications and divisions alternating to avoid overflow in
    between; None where that cannot be avoided.
    """
    common = functools.reduce(operator.and_, [Counter(dict(m)) for m in left])
    rest: Any = None
    for m, c in sorted(left.items(), key=lambda item: -item[1]):
        powers = Counter(dict(m)) - common
        if powers.total() > 1:
            return None  # which may overflow
        size = c if rest is None else abs(c)
        term = number(size, node.dtype)
        for n in powers:
            x = symbol(n)
            term = x if size == 1 else -x if size == -1 else x * size
        rest = term if rest is None else rest + term if c > 0 else rest - term
    above = [*map(symbol, common.elements())]
    if shared:
        above.insert(0, functools.reduce(operator.mul, map(symbol, shared)))
    if scalar(graph_node(rest)) != 1 or not above:
        above.append(rest)
    over, safe = above[0], safe and bool(shared)
    for by, x in itertools.zip_longest(_divisors(below), above[1:]):
        if by is not None:
            over = safe_divide(over, by) if safe else over / by
        if x is not None:
            over = safe_multiply(over, x) if safe else over * x
    return over + 0 if common or len(left) > 1 else over


def _divisors(below: Counter[Node]) -> list[Tensor]:
    """Return the divisors in order; many of them are paired as squares of denominators."""
    found = []
    for n, count in below.items():
        pairs = count // 2 if below.total() > _MOST_DIVISIONS else 0
        found += [square(symbol(n))] * pairs + [symbol(n)] * (count - 2 * pairs)
    return found
