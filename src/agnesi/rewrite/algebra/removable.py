"""Sums whose leading terms cancel where a value they are functions of is 0, or large.

``cos(x) / x - sin(x) / x**2``, the derivative of ``sin(x) / x``, has terms of 1 / x that cancel.
Near 0 such a sum is computed from its power series, and the logarithm of what is 1 at 0 likewise.
Where x is large, ``log(x + 3) - log(x + 1)`` is a series in 1 / x, ``sqrt(x + 1) - sqrt(x)`` one in
1 / sqrt(x), and ``1 / tanh(x) - 1`` one in exp(-x).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Iterable, Sequence
from decimal import Decimal
from functools import reduce

import numpy as np

from agnesi.core.dispatch import apply, graph_node
from agnesi.core.ir.node import Node
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.arith import abs as abs_
from agnesi.ops.base.arith import reciprocal, sqrt, square
from agnesi.ops.base.select import where
from agnesi.ops.elementwise.explog import exp, log
from agnesi.rewrite.algebra.bases import Base, bases_of
from agnesi.rewrite.algebra.power_series import (
    FUNCTIONS,
    NoSeriesError,
    Series,
    constant,
    digits,
    expandable,
    mended,
    operands,
    series,
)
from agnesi.rewrite.algebra.quotients import Product, factors
from agnesi.rewrite.algebra.sums import terms
from agnesi.rewrite.pattern import agree, scalar
from agnesi.rewrite.rules import Book

BOOK = Book()
#: Terms of a series by which a cancellation is found, and by which it is mended.
_TERMS_TO_FIND, _TERMS_TO_MEND = 8, 96
#: Terms of a polynomial that is taken for it, at most.
_MOST_COEFFICIENTS = 32
#: Nodes of a sum that are looked at, and terms.
_MOST_NODES, _MOST_TERMS = 64, 8
#: Terms of a sum of which some are looked at alone, at least.
_LEAST_GROUPED = 3
#: By how much rounding errors of the terms may be amplified.
_AMPLIFICATION = 2.0
_RADII = (0.01, 0.02, 0.05, 0.08, 0.12, 0.18, 0.25, 0.35, 0.45, 0.6, 0.8, 1.0, 1.4, 2.0, 2.8)
_QUOTIENTS = ("divide", "safe_divide", "reciprocal", "multiply", "safe_multiply")
_STARTS = (*sorted(FUNCTIONS), *_QUOTIENTS, "add", "subtract", "negative", "where")
#: What a series is in where a value is large: a power of it, or an exponential.
_POWER, _EXPONENTIAL = 0, 1
#: Functions beside which a series in an exponential is tried; beside ``exp``, ``sigmoid`` and
#: ``softplus``, of which layers and losses are made, it takes several times as long as they do.
_GROWING = frozenset("expm1 sinh cosh tanh".split())
#: A number, and factors with whether they stand above the line.
Part = tuple[float, list[tuple[Node, bool]]]


@BOOK.rewriter("stabilize", ops=["add", "subtract"], operands=_STARTS)
def cancelled_terms(node: Node) -> Tensor | None:
    """A sum whose leading terms cancel at 0 is its power series near 0."""
    if not _is_real(node):
        return None
    signed = [(sign, n) for sign, n in terms(node) if scalar(n) != 0]
    if len(signed) > _MOST_TERMS or not any(map(_may_cancel, (n for _, n in signed))):
        return None
    found = _cancelled(node, signed)
    return _grouped(node, signed) if found is None else found


def _grouped(node: Node, signed: Sequence[tuple[int, Node]]) -> Tensor | None:
    """Return the sum with some of its terms, which depend on one value only, replaced by their
    series, as in exp(v) - 1 - v + u * u; None if they do not cancel.
    """
    if len(signed) < _LEAST_GROUPED or all(scalar(n) is None for _, n in signed):
        return None  # of others few cancel, and all would cost time to find out
    leaves = [_leaves(n) for _, n in signed]
    for leaf in dict.fromkeys(n for found in leaves if len(found) == 1 for n in found):
        own = [found <= {leaf} for found in leaves]
        if all(own) or sum(own) < 2:
            continue
        inside, rest = (reduce(operator.add, [
            symbol(n) if sign > 0 else -symbol(n)
            for (sign, n), is_own in zip(signed, own, strict=True) if is_own is wanted])
            for wanted in (True, False))
        part = graph_node(inside)
        if part.op_name not in ("add", "subtract") or not agree(part, node):
            continue
        found = _cancelled(part, [(s, n) for s, n in terms(part) if scalar(n) != 0], 2)
        if found is not None:
            return found + rest
    return None


def _leaves(node: Node) -> set[Node]:
    """Return the subexpressions from which a term is computed by operations that have power series.
    """
    found, seen, stack = set[Node](), set[Node](), [node]
    while stack and len(seen) < _MOST_NODES:
        n = stack.pop()
        if n in seen or scalar(n) is not None:
            continue
        seen.add(n)
        if expandable(n):
            stack += operands(n)
        else:
            found.add(n)
    return found


def _cancelled(node: Node, signed: Sequence[tuple[int, Node]], orders: int = 1) -> Tensor | None:
    """Return a sum in which the terms of the lowest ``orders`` cancel, replaced near 0 by its power
    series, and for large values too if one order cancels there; None if they do not cancel.
    """
    parts, shared = _split(signed)
    bases = _bases([n for part in parts for n, _ in part[1]], node)
    for base in bases:
        if expandable(base.node):
            parts, shared = _split(signed, base)
        if not parts:
            continue  # all terms are multiplied by zero
        own = [f for f in shared if f[0] is base.node]  # powers of it may overflow or vanish
        if own:
            shared = [f for f in shared if f[0] is not base.node]
            parts = [(c, [*part, *own]) for c, part in parts]
        few = _expanded(parts, base, _TERMS_TO_FIND)
        if few is None or not _cancels(few, orders):
            continue
        many = _expanded(parts, base, _TERMS_TO_MEND)
        near = None if many is None else _near(_total(many), many, base.node)
        if near is None:
            return None
        return _replaced(node, near, shared)
    if not bases or orders > 1:
        return None
    parts, shared = _split(signed)
    beyond = _far(parts, bases, _cancels)
    return beyond and _replaced(node, beyond, shared)


def _replaced(node: Node, series: tuple[Tensor, Tensor],
              shared: Sequence[tuple[Node, bool]]) -> Tensor:
    """The sum by its series where that is close, times the factors that all terms have."""
    close, found = series
    for n, above in shared:
        found = found * symbol(n) if above else found / symbol(n)
    first, second = map(symbol, node.inputs)
    # what is not taken is written again, so that it is not this very sum
    return where(close, found, apply(node.op, first, where(close, 0, second)))


@BOOK.rewriter("stabilize", ops=["log"], operands=(*_QUOTIENTS, "cos", "sqrt", "square"))
def log_near_one(node: Node) -> Tensor | None:
    """The logarithm of a value that is 1 at 0 is its power series near 0, and that of one that
    tends to 1 a series where another value is large."""
    found = series_near_one(node)
    return found and where(*found, log(where(found[0], 1, symbol(node.inputs[0]))))


def series_near_one(node: Node) -> tuple[Tensor, Tensor] | None:
    """Return where a logarithm is a power series, and that; None if it is none."""
    (x,) = node.inputs
    if not _is_real(node):
        return None
    both: list[Part] = [(1.0, [(x, True)]), (1.0, [(node, True)])]
    bases = _bases([x], node)
    for base in bases:
        few = _expanded(both, base, _TERMS_TO_FIND)
        if few is None or few[0].order or few[0].c[0] != 1:
            continue
        many = _expanded(both, base, _TERMS_TO_MEND)
        return _near(many[1], many[:1], base.node) if many else None
    return _far([(1.0, [(node, True)])], bases, _vanishes)


# -- where a value is large -------------------------------------------------------------------
def _far(parts: Sequence[Part], bases: Sequence[Base],
         suits: Callable[[Sequence[Series]], bool]) -> tuple[Tensor, Tensor] | None:
    """Return the condition under which a sum is computed by a series that converges as a value
    grows, and that series; None if there is none.
    """
    if any(map(_is_common, parts)):
        return None
    names = _names(n for part in parts for n, _ in part[1]) if bases else set()
    kinds = [(_POWER, 1), *[(_POWER, 2)] * ("sqrt" in names)]
    if names & _GROWING:
        kinds += [(_EXPONENTIAL, 1), (_EXPONENTIAL, 2)]
    for base in [b.node for b in bases if b.plain and _follow(parts, (b.node,))]:
        for kind, by in kinds:
            found = None
            for side in (1, -1):
                few = _at_end(parts, base, kind, by * side, _TERMS_TO_FIND)
                if few is None or not suits(few):
                    continue
                many = _at_end(parts, base, kind, by * side, _TERMS_TO_MEND)
                one = None if many is None else _beyond(many, base, kind, by * side)
                if one is not None:
                    found = one if found is None else (
                        found[0] | one[0], where(one[0], one[1], found[1]))
            if found is not None:
                return found
    return None


def _names(inside: Iterable[Node]) -> set[str]:
    """The names of the operations of expandable nodes."""
    found, seen, stack = set[str](), set[Node](), [*inside]
    while stack:
        n = stack.pop()
        if n not in seen and expandable(n):
            seen.add(n)
            found.add(n.op_name)
            stack += operands(n)
    return found


def _is_common(part: Part) -> bool:
    """Return whether a term is a tanh or a power of it, as in every layer and its derivative: a
    series takes several times as long (``complements.py`` has what is as quick)."""
    return bool(part[1]) and all(above and n.op_name == "tanh" for n, above in part[1])


def _at_end(parts: Sequence[Part], base: Node, kind: int, by: int,
            count: int) -> list[Series] | None:
    """Return the series of the terms in w, where the value is +-w**-by or -by * log(w), by
    ``kind``; None if a term has none.
    """
    sign = 1 if by > 0 else -1
    if kind == _POWER:
        x = Series(-abs(by), [Decimal(sign)] + [Decimal(0)] * (count - 1), positive=True)
    else:
        x = Series(count, [], Decimal(-by), True)
    return _series_of(parts, {base: x}, count)


def _vanishes(parts: Sequence[Series]) -> bool:
    """Return whether a series tends to 0 as its variable does."""
    return bool(parts[0].c) and not parts[0].logs and parts[0].order > 0


def _beyond(parts: Sequence[Series], base: Node, kind: int,
            by: int) -> tuple[Tensor, Tensor] | None:
    total = _total(parts)
    try:
        found = _reach(total, parts, float(np.finfo(base.dtype).eps), (1,))
    except (ArithmeticError, ValueError):  # numbers that floats do not hold
        return None
    if found is None or found[0] >= 1:
        return None
    size = symbol(base) if by > 0 else -symbol(base)
    least = found[0] ** -abs(by) if kind == _POWER else -abs(by) * math.log(found[0])
    close = (size > least) & (size < math.inf)
    size = where(close, size, least)
    if kind == _POWER:
        w = reciprocal(size if abs(by) == 1 else sqrt(size))
    else:
        w = exp(-size if abs(by) == 1 else size * (-1 / abs(by)))
    return close, _sum(found[1], total.order, w)


def _is_real(node: Node) -> bool:
    return node.dtype.kind == "f" and node.dtype.itemsize >= 4


def _may_cancel(node: Node) -> bool:
    """Return whether a function, a quotient or a reciprocal is among the outermost operations of a
    term.
    """
    stack, left = [node], 8
    while stack and left:
        left -= 1
        n = stack.pop()
        if n.op_name in FUNCTIONS or "divide" in n.op_name or n.op_name == "reciprocal":
            return True
        if expandable(n):
            stack += n.inputs
    return False


def _split(signed: Sequence[tuple[int, Node]], base: Base | None = None
           ) -> tuple[list[Part], list[tuple[Node, bool]]]:
    """Return the terms of a sum without their common factors, and those factors."""
    whole = () if base is None else (base.node,)
    products = [factors(n, _MOST_NODES, whole) for _, n in signed]
    for (sign, _), product in zip(signed, products, strict=True):
        product.number *= sign
    if base is not None and not base.plain:
        products = [q for p in products for q in _distributed(p, whole)]
        for product in products:
            base.substitute(product)
    shared = []
    for above in (True, False):
        sides = [p.above() if above else p.below() for p in products]
        for n in dict.fromkeys(sides[0] if sides else ()):
            shared += [(n, above)] * min(side.count(n) for side in sides)
    parts = []
    for product in products:
        for n, above in shared:
            product.remove(n, above)
        found = [(n, True) for n in product.above()] + [(n, False) for n in product.below()]
        parts.append((product.number, found))
    return parts, shared


def _distributed(product: Product, whole: Collection[Node]) -> list[Product]:
    """Expand a product into products whose sum it is, by the terms of its factors that are sums."""
    found: list[Product] = []
    stack = [product]
    while stack:
        p = stack.pop()
        total = next((n for n in p.above() if len(found) + len(stack) < _MOST_TERMS and (
            mended(n) or (n.op_name in ("add", "subtract")
                          and n not in whole))), None)
        if total is None:
            found.append(p)
            continue
        p.remove(total, True)
        name, first, second = mended(total) or (total.op.name, *total.inputs)
        for n, sign in ((first, 1), (second, -1 if name == "subtract" else 1)):
            part = factors(n, _MOST_NODES, whole)
            part.number *= sign
            if part.number:
                stack.append(p.times(part))
    return found


def _bases(inside: Iterable[Node], node: Node) -> list[Base]:
    """Return the subexpressions that tend to 0 and of which all of ``inside`` may be functions,
    each with the leaves that are expressed by it.
    """
    leaves, near, shifted, seen = [], [], [], set[Node]()
    stack = [*inside]
    while stack:
        n = stack.pop()
        if n in seen or scalar(n) is not None:
            continue
        if len(seen) > _MOST_NODES:
            return []
        seen.add(n)
        if not expandable(n):
            if n.op_name == "where" and scalar(n.inputs[2]) is not None:
                return []  # a sum that has been mended
            leaves.append(n)
            continue
        if n.op_name in FUNCTIONS:
            near.append(n.inputs[0])
        if n.op_name in ("add", "subtract"):
            for x, c in (n.inputs, n.inputs[::-1]):
                if scalar(c) is not None and not expandable(x) and (
                        n.op_name == "add" or x is n.inputs[0]):
                    value = float(scalar(c)) * (-1 if n.op_name == "add" else 1)
                    shifted.append(Base(n, x, value))
        stack += operands(n)
    if len(leaves) == 1:
        found = [Base(leaves[0], leaves[0]), *shifted,
                 *[Base(n, leaves[0], power=2) for n in _roots(near, leaves[0])]]
    else:
        found = [b for x in [x for x in dict.fromkeys(near) if x not in leaves][:3]
                 for b in bases_of(x, leaves)]
    return [b for b in found if agree(b.node, node) and b.node.dtype == node.dtype]


def _roots(near: Iterable[Node], leaf: Node) -> dict[Node, None]:
    """Return the square roots of a leaf among some nodes and their operands."""
    return dict.fromkeys(
        n for x in near if x.op is not None for n in (x, *x.inputs)
        if n.op_name == "sqrt" and n.inputs[0] is leaf)


def _follow(parts: Sequence[Part], values: Collection[Node]) -> bool:
    """Return whether the terms depend on nothing but ``values`` and numbers."""
    seen, stack = {*values}, [n for _, part in parts for n, _ in part]
    while stack:
        n = stack.pop()
        if n not in seen:
            seen.add(n)
            if expandable(n):
                stack += operands(n)
            elif scalar(n) is None:
                return False
    return True


def _expanded(parts: Sequence[Part], base: Base, count: int) -> list[Series] | None:
    """The series of terms near where a value is 0."""
    nodes = [n for _, part in parts for n, _ in part]
    multiples = base.multiples(nodes)
    if not math.isfinite(base.value) or not _follow(parts, (base.node, base.leaf, *multiples)):
        return None
    return _series_of(parts, base.known(multiples, count), count)


def _series_of(parts: Sequence[Part], known: dict[Node, Series], count: int) -> list[Series] | None:
    """Return the power series of the terms, given those of ``known`` values; None if one has none.
    """
    with digits():
        found = []
        try:
            for number, part in parts:
                term = constant(Decimal(number), count)
                for n, above in part:
                    factor = series(n, known, count)
                    term = term * factor if above else term / factor
                found.append(term)
        except (NoSeriesError, ArithmeticError):
            return None
    return found if all(t.c or t.logs for t in found) else None


def _total(parts: Sequence[Series]) -> Series:
    with digits():
        return reduce(Series.__add__, parts)


def _cancels(parts: Sequence[Series], orders: int = 1) -> bool:
    """Return whether the terms of the least ``orders`` cancel."""
    total = _total(parts)
    large = any(t.logs for t in parts)
    return bool(total.c) and not total.logs and (
        large or total.order >= min(t.order for t in parts) + orders)


def _near(total: Series, parts: Sequence[Series], base: Node) -> tuple[Tensor, Tensor] | None:
    """Return the condition under which the series replaces the sum, and its value; None if it would
    not gain digits.
    """
    try:
        found = _reach(total, parts, float(np.finfo(base.dtype).eps))
    except (ArithmeticError, ValueError):  # numbers that floats do not hold
        return None
    if found is None:
        return None
    x = symbol(base)
    close = (abs_(x) < found[0]) & (x != 0)
    return close, _sum(found[1], total.order, where(close, x, found[0]))


def _reach(total: Series, parts: Sequence[Series], eps: float,
           sides: Sequence[int] = (1, -1)) -> tuple[float, list[float]] | None:
    """Return up to which distance from 0 a series replaces the sum, and the coefficients of its
    polynomial.

    The known terms must suffice there, and the sum itself must lose digits.
    """
    found = None
    for r in _RADII:
        sizes = [abs(total.at(x * r)) for x in sides]
        error = eps / 16 * min(sizes)
        if not 0 < error < np.inf or (
                max(abs(float(c)) * r ** k for k, c in total.last(3)) > error):
            break
        c = _economised(total.c, r, error / r ** total.order)
        if sum(map(bool, c)) > _MOST_COEFFICIENTS:
            break
        found = r, c
        if all(abs(p.at(x * r)) < _AMPLIFICATION * size
               for p in parts for x, size in zip(sides, sizes, strict=True)):
            break
    return found


def _economised(c: Sequence[Decimal], radius: float, error: float) -> list[float]:
    """A polynomial of lower degree that is the same up to an error within a radius: multiples of
    Chebyshev polynomials are taken off (Lanczos, Applied Analysis, 1956).
    """
    with digits():
        r, left = Decimal(radius), Decimal(error)
        scaled = [x * r ** k for k, x in enumerate(c)]
        little = left / 2 ** 30
        while len(scaled) > 1 and abs(scaled[-1]) < little:  # of which there are at most 96
            scaled.pop()
        below, chebyshev = [1], [0, 1]
        all_of_them = [below, chebyshev]
        for _ in scaled[2:]:
            above = [0, *[2 * t for t in chebyshev]]
            for k, t in enumerate(below):
                above[k] -= t
            below, chebyshev = chebyshev, above
            all_of_them.append(above)
        while len(scaled) > 1:
            top = all_of_them[len(scaled) - 1]
            size = scaled[-1] / top[-1]
            left -= abs(size)
            if left < 0:
                break
            scaled = [x - size * t for x, t in zip(scaled[:-1], top, strict=False)]
        return [float(x / r ** k) for k, x in enumerate(scaled)]


def _sum(c: list[float], order: int, x: Tensor) -> Tensor:
    """``x**order`` times a polynomial, by Horner's rule; of even ones in x * x."""
    even = not any(c[1::2])
    step = square(x) if even else x
    *rest, last = c[::2] if even else c
    found = last + x * 0
    for k in reversed(rest):
        found = found * step + k
    scale = square(x) if abs(order) == 2 else x ** abs(order) if order else 1
    return found * scale if order >= 0 else found / scale
