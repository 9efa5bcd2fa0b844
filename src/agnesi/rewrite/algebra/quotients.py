"""Products and quotients as bags of factors: what cancels, cancels; what overflows, is paired off.

``a / (((a * b) / c) / d)`` is ``(c * d) / b``: factors above and below the line are collected
through products, quotients and signs, and the node is written again when something goes away.
Canonical form cancels equal factors and merges numbers (tag "cancel": it assumes that what cancels
is finite and not zero).  Stabilising also pairs factors that overflow or vanish together, as the
gradients of composed sigmoids and softmaxes have them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Container, Iterable
from typing import Any

import numpy as np

from agnesi.core.dispatch import graph_node
from agnesi.core.ir.node import Node
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.arith import divide, multiply, negative, safe_divide, safe_multiply
from agnesi.ops.base.convert import number
from agnesi.ops.base.select import where
from agnesi.ops.elementwise.explog import exp, sigmoid
from agnesi.ops.special.normal import erfcx
from agnesi.rewrite.algebra.exponentials import (
    divided,
    exponential_terms,
    greatest,
    has_exponent,
    logistic,
    near_one,
    opposite,
    ratio,
)
from agnesi.rewrite.algebra.logarithms import log_of
from agnesi.rewrite.algebra.softmaxes import normaliser_of, softmax_of, squeezed
from agnesi.rewrite.algebra.sums import terms
from agnesi.rewrite.intervals import interval, needs, never_zero, sources
from agnesi.rewrite.pattern import agree, kept_for_last, scalar
from agnesi.rewrite.rules import Book

BOOK = Book()
rewriter = BOOK.rewriter
#: Factors of a product that are collected, at most.
_MAX_FACTORS = 24
#: Factors that are collected where only those near the top matter.
_MAX_NEAR_FACTORS = 8
_BINARY = ("multiply", "divide", "safe_multiply", "safe_divide")
_SAFE = frozenset(_BINARY[2:])
_QUOTIENTS = frozenset(("divide", "safe_divide"))
_STRAIGHT = frozenset(("multiply", "divide", "negative", "reciprocal", "square"))
_PRODUCTS = frozenset((*_BINARY, *_STRAIGHT))
#: What may have more factors than itself.
_WITH_FACTORS = frozenset((*_PRODUCTS, "reshape"))
_VANISHING = ("sigmoid", "softmax", "exp")
_TAILS = ("sigmoid", "erfc", "ndtr", "cosh")
#: Heads of factors that may underflow to zero: these operations, or a sum behind movement
#: operations.
_ENDS = frozenset((*_VANISHING, "sum", "broadcast_to", "reshape"))
#: Heads of nodes that may be constants: a leaf or a broadcast one.
_NUMBERS = frozenset(("", "broadcast_to"))


class Side:
    """Factors above and below the line."""

    __slots__ = ("above", "below")

    def __init__(self, above: Iterable[Node] = (), below: Iterable[Node] = ()) -> None:
        self.above = [*above]
        self.below = [*below]

    def __bool__(self) -> bool:
        return bool(self.above or self.below)


class Product:
    """A number times factors; where ``first`` is zero, so is the product, even if ``then`` is
    infinite or NaN.
    """

    __slots__ = ("first", "number", "numbers", "then")

    def __init__(self, first: Side, then: Side, number: float = 1.0, numbers: int = 0) -> None:
        self.first = first
        self.then = then
        self.number = number
        self.numbers = numbers

    def copy(self) -> Product:
        """The same product, whose factors may be changed."""
        return Product(Side(self.first.above, self.first.below),
                       Side(self.then.above, self.then.below), self.number, self.numbers)

    def above(self) -> list[Node]:
        """All factors above the line."""
        return self.first.above + self.then.above

    def below(self) -> list[Node]:
        """All factors below the line."""
        return self.first.below + self.then.below

    def remove(self, node: Node, above: bool) -> None:
        """Take out one occurrence."""
        for side in (self.first, self.then):
            factors = side.above if above else side.below
            for i, n in enumerate(factors):
                if n is node:
                    del factors[i]
                    return

    def times(self, other: Product) -> Product:
        """The product of two."""
        return Product(
            Side(self.first.above + other.first.above, self.first.below + other.first.below),
            Side(self.then.above + other.then.above, self.then.below + other.then.below),
            self.number * other.number, self.numbers + other.numbers,
        )


def factors(node: Node, most: int = _MAX_FACTORS, whole: Container[Node] = ()) -> Product:
    """The factors of a node, in which some stay ``whole``; of large products only so far that the
    work stays bounded."""
    found = Product(Side(), Side())
    stack = [(node, False, False)]
    count = 0
    while stack:
        n, then, under = stack.pop()
        op = n.op
        name = "" if op is None else op.name
        count += 1
        value = scalar(n) if name in _NUMBERS else None
        if value is not None and not (under and value == 0):
            found.number = found.number / float(value) if under else found.number * float(value)
            found.numbers += 1
        elif name == "reshape" and count < most and (inner := _reshaped(n)) is not None:
            stack.append((inner, then, under))
        elif name == "add" and n.inputs[0] is n.inputs[1] and n not in whole and count <= most:
            found.number = found.number / 2 if under else found.number * 2
            stack.append((n.inputs[0], then, under))
        elif name not in (_STRAIGHT if under else _PRODUCTS) or count > most or n in whole:
            side = found.then if then else found.first
            (side.below if under else side.above).append(n)
        elif name == "multiply":
            a, b = n.inputs
            stack.append((b, then, under))
            stack.append((a, then, under))
        elif name == "negative":
            found.number = -found.number
            stack.append((n.inputs[0], then, under))
        elif name == "reciprocal":
            stack.append((n.inputs[0], then, not under))
        elif name == "square":
            stack += [(n.inputs[0], then, under)] * 2
        else:
            a, b = n.inputs
            stack.append((b, then or name in _SAFE, under ^ (name in _QUOTIENTS)))
            stack.append((a, then, under))
    return found


class Top:
    """Features of the factors near the top of a product: whether some are below the line, numbers,
    exponentials, or may come out as zero where they should not.
    """

    __slots__ = ("below", "exponential", "numbers", "vanishing")

    def __init__(self, near: Product) -> None:
        heads = {n.op_name for n in near.above() if n.op is not None}
        self.below = bool(near.first.below or near.then.below)
        self.numbers = near.numbers
        self.exponential = "exp" in heads
        self.vanishing = not _ENDS.isdisjoint(heads) and any(map(_vanishes, near.above()))


@kept_for_last
def top(node: Node) -> Top:
    """Return the features of the factors near the top of a product."""
    return Top(factors(node, _MAX_NEAR_FACTORS))


def _reshaped(node: Node) -> Node | None:
    """A quotient that gains or loses axes of size 1, as a quotient of operands that do."""
    (source,) = node.inputs
    if source.op_name not in _PRODUCTS or squeezed(source) != squeezed(node):
        return None
    if any(n.shape != source.shape and scalar(n) is None for n in source.inputs):
        return None
    inputs = tuple(
        n if n.shape != source.shape else Node(node.op, (n,), node.shape, n.dtype)
        for n in source.inputs
    )
    return Node(source.op, inputs, node.shape, node.dtype)


def written(product: Product, node: Node) -> Tensor | None:
    """Return the product as operations of the node's dtype; None if the dtype cannot hold its
    number.
    """
    with np.errstate(over="ignore", under="ignore"):
        n = float(np.asarray(product.number).astype(node.dtype))
    if not math.isfinite(n) or (n == 0 and product.numbers == 0):
        return None
    first: Any = _quotient(product.first)
    if product.then:
        then: Any = _quotient(product.then)
        if first is None:
            first = then
        elif product.then.above:
            first = safe_multiply(first, then)
        else:
            below: Any = _all(product.then.below)
            first = safe_divide(first, below)
    if first is None:
        return number(n, node.dtype)
    return first if n == 1 else negative(first) if n == -1 else multiply(first, n)


def _all(nodes: list[Node]) -> Tensor | None:
    result = None
    for n in nodes:
        t = symbol(n)
        result = t if result is None else multiply(result, t)
    return result


def _quotient(side: Side) -> Tensor | None:
    above, below = _all(side.above), _all(side.below)
    if below is None:
        return above
    return divide(1, below) if above is None else divide(above, below)


# -- what goes away ---------------------------------------------------------------------------
def cancel(product: Product, exact: bool = False) -> bool:
    """Cancel factors that numerator and denominator share; return whether there were any.

    ``exact`` cancels only what is never zero, and NaN only if a factor that stays is NaN.
    """
    changed = False
    below = set(product.below())
    for n in product.above() if below else ():
        if n in below and not (exact and not _may_cancel(product, n)):
            product.remove(n, True)
            product.remove(n, False)
            below = set(product.below())
            changed = True
    return changed


def _may_cancel(product: Product, node: Node) -> bool:
    """Return whether a factor that is above and below the line may be cancelled: it is never zero,
    and a remaining factor is NaN wherever it is.
    """
    if not never_zero(node):
        return False
    if node in product.then.above or node in product.then.below:
        return True  # of a derivative, which the value itself stands beside
    left = [*product.above(), *product.below()]
    left.remove(node)
    left.remove(node)
    return needs(node) <= set().union(*map(sources, left))


def pair_off(product: Product) -> bool:
    """Pair factors that overflow or vanish together; whether there were any."""
    changed = _pair_tails(product) | _pair_sums(product)
    for n in product.below():
        exponent = logistic(n)
        if exponent is not None:
            product.remove(n, False)
            product.first.above.append(graph_node(sigmoid(negative(symbol(exponent)))))
            changed = True
    for e in dict.fromkeys(product.above()):
        if e.op_name != "exp" or e not in product.above():
            continue
        if _gather(product, e):
            changed = True
            continue
        changed = _pair_exponential(product, e) or changed
    return _spread(product) or changed


def _spread(product: Product) -> bool:
    """Merge exp(-x) * sinh(x), or sinh(x) / exp(x), into (1 - exp(-2 * x)) / 2; return whether
    there were such factors.
    """
    exps = [*[(e, True) for e in product.above()], *[(e, False) for e in product.below()]]
    for (e, above), n in itertools.product(exps, product.above()):
        terms = exponential_terms(n) or [] if e.op_name == "exp" and agree(n, e) else []
        for _, t in terms:
            if t is not None and (opposite(t, e.inputs[0]) if above else t is e.inputs[0]):
                product.remove(e, above)
                product.remove(n, True)
                product.first.above.append(graph_node(divided(terms, t, e)))
                return True
    return False


def _pair_sums(product: Product) -> bool:
    """Quotients of two sums of exponentials."""
    changed = False
    for n in product.above():
        for d in product.below():
            found = ratio(n, d)
            if found is None and n.op_name in _TAILS and d.op_name in _TAILS and agree(n, d):
                over, under = log_of(n), log_of(d)
                found = None if over is None or under is None else exp(over - under)
            if found is None and _is_next(d, n):
                log = log_of(n, term=True)
                found = None if log is None else sigmoid(log)
            if found is not None:
                product.remove(n, True)
                product.remove(d, False)
                product.first.above.append(graph_node(found))
                changed = True
                break
    return changed


def _is_next(node: Node, other: Node) -> bool:
    """Return whether a node is 1 + ``other``, and ``other`` may overflow."""
    if node.op_name != "add" or other not in node.inputs or interval(other).high < math.inf:
        return False
    return scalar(node.inputs[node.inputs[0] is other]) == 1


def _gather(product: Product, e: Node) -> bool:
    """exp(x)**2 / (1 + exp(x)**2) is 1 / (1 + exp(-2 * x))."""
    if product.above().count(e) < 2:
        return False
    for n in product.below():
        terms = exponential_terms(n)
        twice = [t for _, t in terms or () if t is not None and _is_twice(t, e.inputs[0])]
        if terms is None or not twice or not agree(n, e):
            continue
        side = product.then if n in product.then.below or e in product.then.above else product.first
        for node, above in ((e, True), (e, True), (n, False)):
            product.remove(node, above)
        side.below.append(graph_node(divided(terms, twice[0], e)))
        return True
    return False


def _is_twice(node: Node, x: Node) -> bool:
    return node.op_name == "multiply" and x in node.inputs and 2 in map(scalar, node.inputs)


def _pair_exponential(product: Product, e: Node) -> bool:
    """exp(x) sigmoid(-x) is sigmoid(x), and exp(x) / sum(exp(x)) is softmax(x)."""
    (x,) = e.inputs
    for s in product.above():
        if s.op_name == "sigmoid" and opposite(s.inputs[0], x):
            product.remove(e, True)
            product.remove(s, True)
            product.first.above.append(graph_node(sigmoid(symbol(x))))
            return True
    for n in product.below():
        axes = normaliser_of(n, e)
        if axes is not None:
            product.remove(e, True)
            product.remove(n, False)
            product.first.above.append(graph_node(softmax_of(e, axes)))
            return True
    return _merge_exponentials(product, e)


def _merge_exponentials(product: Product, e: Node) -> bool:
    """exp(a) / exp(b) is exp(a - b), and exp(a) / (exp(a) + exp(b)) is 1 / (1 + exp(b - a))."""
    (x,) = e.inputs
    for n in product.below():
        side = product.then if n in product.then.below or e in product.then.above else product.first
        if n.op_name == "exp" and agree(n, e) and n is not e:
            first = [x] if n in product.then.below and e in product.first.above else []
            side.above += _power(symbol(x) - symbol(n.inputs[0]), first, _others(product, e, n))
        elif (terms := exponential_terms(n)) is not None and agree(n, e) and (
                any([t is x for _, t in terms]) or (
                    all([c > 0 for c, _ in terms]) and not near_one(terms))):
            if any([t is x for _, t in terms]) or not _others(product, e, n):
                side.below.append(graph_node(divided(terms, x, e)))
            else:  # what is divided by is near 1, so that other factors meet what overflows
                most = greatest(terms)
                side.below.append(graph_node(divided(terms, most, e)))
                side.above += _power(symbol(x) - symbol(most), (), True)
        else:
            continue
        product.remove(e, True)
        product.remove(n, False)
        return True
    for n in product.below():
        if n.op_name in ("erfc", "ndtr") and agree(n, e) and (log := log_of(n)) is not None:
            side = product.then if e in product.then.above else product.first
            side.above.append(graph_node(exp(symbol(x) - log)))
            product.remove(e, True)
            product.remove(n, False)
            return True
    for n in product.above():
        if n.op_name == "exp" and n is not e and agree(n, e) and not (
                has_exponent(product.below(), n)):
            then = {n, e} & set(product.then.above)
            side = product.then if then else product.first
            product.remove(e, True)
            product.remove(n, True)
            first = [k.inputs[0] for k in {n, e} - then] if then else []
            side.above += _power(symbol(x) + symbol(n.inputs[0]), first, _others(product))
            return True
    return False


def _pair_tails(product: Product) -> bool:
    """exp(x * x) * erfc(x) is erfcx(x), on whichever side of the line the two are; the same of
    ndtr."""
    sides = [*[(n, True) for n in product.above()], *[(n, False) for n in product.below()]]
    tails = [(n, above) for n, above in sides if n.op_name in ("erfc", "ndtr")]
    exps = [(n, above) for n, above in sides if tails and n.op_name == "exp"]
    for (tail, above), (e, over) in itertools.product(tails, exps):
        (x,) = tail.inputs
        scale, by = (1.0, 1.0) if tail.op_name == "erfc" else (0.5, -math.sqrt(0.5))
        c = scale_of_square(x, e.inputs[0]) * (1 if over is above else -1) / scale
        if not agree(tail, e) or abs(c - 1) > 4 * float(np.finfo(e.dtype).eps):
            continue
        product.remove(tail, above)
        product.remove(e, over)
        side = product.first.above if above else product.first.below
        side.append(graph_node(erfcx(symbol(x) if by == 1 else symbol(x) * by)))
        product.number *= scale if above else 1 / scale
        _pair_tails(product)
        return True
    return False


def scale_of_square(x: Node, exponent: Node) -> float:
    """Return ``c`` if the exponent is c * x * x, else 0."""
    found, of_x = factors(exponent, _MAX_NEAR_FACTORS), factors(x, _MAX_NEAR_FACTORS)
    whole = not (found.below() or of_x.below()) and of_x.number
    twice = sorted(map(id, found.above())) == sorted(map(id, of_x.above() * 2))
    return found.number / of_x.number ** 2 if whole and twice else 0.0


def _others(product: Product, *merged: Node) -> bool:
    """Return whether a product has factors besides ``merged``, none of them an exponential that
    those could be merged with.
    """
    rest = [n for n in (*product.above(), *product.below()) if n not in merged]
    return bool(rest) and not any(n.op_name == "exp" for n in rest)


def _power(exponent: Tensor, first: Iterable[Node], others: bool) -> list[Node]:
    """Return nodes whose product is ``exp(exponent)``, but 0 where a value of ``first`` is -inf:
    ``exp`` of that would have made the product 0, whatever the other exponents are.

    Beside other factors, which may vanish where it overflows, they are two that do not.
    """
    for x in first:
        exponent = where(symbol(x) == -math.inf, -math.inf, exponent)
    return [graph_node(exp(exponent * 0.5))] * 2 if others else [graph_node(exp(exponent))]


# -- rules ------------------------------------------------------------------------------------
def _cancelled(node: Node, exact: bool) -> Tensor | None:
    if node.dtype.kind != "f":
        return None
    first, second = node.inputs
    if first is not second and _WITH_FACTORS.isdisjoint((first.op_name, second.op_name)):
        return None
    near = top(node)
    if near.below:
        product = factors(node)
        if cancel(product, exact):
            return written(product, node)
        if not {*product.above()}.isdisjoint(product.below()):  # 1 / (y / 0) / 0 is not 0 / (y * 0)
            return None
    return written(factors(node, _MAX_NEAR_FACTORS), node) if near.numbers > 1 else None


@rewriter("canonicalize", ops=_BINARY, tags=("cancel",),
          exact=lambda node: _cancelled(node, True))
def cancel_factors(node: Node) -> Tensor | None:
    """Equal factors above and below the line cancel; numbers become one."""
    return _cancelled(node, False)


@rewriter("stabilize", ops=_BINARY, tags=("sigmoid", "softmax"))
def pair_factors(node: Node) -> Tensor | None:
    """Factors that overflow or vanish together become one that does not."""
    if node.dtype.kind != "f":
        return None
    near = top(node)
    if not near.below and not near.exponential:
        return None
    product = factors(node)
    if not pair_off(product):
        return None
    cancel(product)
    return written(product, node)


def _vanishes(node: Node) -> bool:
    """Return whether a factor may underflow to zero, or overflow, although the product is
    representable.
    """
    return node.op_name in _VANISHING or normaliser_of(node) is not None


@rewriter("stabilize", ops=_BINARY, tags=("sigmoid", "softmax"))
def distribute(node: Node) -> Tensor | None:
    """(a / p + b) * p is a + b * p where p may vanish: the quotient would be infinite."""
    if node.dtype.kind != "f" or not top(node).vanishing:
        return None
    product = factors(node)
    for total in product.above():
        if total.op_name not in ("add", "subtract"):
            continue
        parts = [(sign, factors(term)) for sign, term in terms(total)]
        if not any(_vanishes(n) for _, part in parts for n in part.below()):
            continue
        product.remove(total, True)
        outside, product.number = product.number, 1.0
        wholes = [part.times(product) for _, part in parts]
        gained = [
            any(_vanishes(n) for n in part.below()) and _simplified(whole)
            for (_, part), whole in zip(parts, wholes, strict=True)
        ]
        if any(gained):
            inner = _sum([s for s, _ in parts], wholes, node)
            return inner if inner is None or outside == 1 else inner * outside
        product.first.above.append(total)
        product.number = outside
    return None


def _simplified(product: Product) -> bool:
    """Return whether a product gets shorter."""
    before = len(product.below())
    pair_off(product)
    cancel(product)
    return len(product.below()) < before


def _sum(signs: list[int], products: list[Product], node: Node) -> Tensor | None:
    result = None
    for sign, product in zip(signs, products, strict=True):
        term = written(product, node)
        if term is None:
            return None
        if result is None:
            result = term if sign > 0 else negative(term)
        else:
            result = result + term if sign > 0 else result - term
    return result
