"""Quotients of sums of exponentials with weights: masked softmaxes, and means weighted by one.

In ``w * exp(x) / sum(w * exp(x))``, and in ``sum(v * exp(x)) / sum(exp(x))``, ``x - m`` stands for
``x``; see ``weighted.py``.
"""

from __future__ import annotations

import functools
import math

from agnesi.core.dispatch import apply
from agnesi.core.ir.node import Node
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.reduce import reducer
from agnesi.ops.base.select import where
from agnesi.rewrite.algebra.softmaxes import exponent_of, without_moves
from agnesi.rewrite.algebra.weighted import (
    is_without_top,
    power_without,
    scaled_sum,
    terms_of,
    top_of,
    weighed,
    whole,
)
from agnesi.rewrite.pattern import scalar
from agnesi.rewrite.rules import Book

BOOK = Book()
#: Most nodes below a quotient, and the deepest nesting, that are searched.
_MOST_NODES, _MAX_DEPTH = 12, 8
Axes = tuple[int, ...]


@BOOK.rewriter("stabilize", ops=["divide", "safe_divide"], tags=("softmax",))
def proportion(node: Node) -> Tensor | None:
    """Cancel the common factor of the exponentials in numerator and denominator."""
    below = node.inputs[1]
    if node.dtype.kind != "f" or below.op is None:
        return None
    if below.op_name in ("add", "subtract"):
        return _of_terms(node)
    total = without_moves(below)
    if total.op_name != "sum":
        return None
    e = _power_in(total.inputs[0], total.op.axes)
    if e is None or e.shape != total.inputs[0].shape:
        return None
    return _of_sums(node, total, e)


def _of_terms(node: Node) -> Tensor | None:
    above, below = node.inputs
    if not any(_has_power(n) for n in below.inputs) or not _has_power(above):
        return None
    over, under = terms_of(above, _exponent), terms_of(below, _exponent)
    if over is None or under is None:
        return None
    top = top_of(under)
    scaled = functools.reduce(Tensor.__add__, [t.above(under, top) for t in over])
    return apply(node.op, scaled, scaled_sum(under, top))


def _exponent(node: Node) -> Tensor | None:
    return symbol(node.inputs[0]) if node.op_name == "exp" else None


def _has_power(node: Node, depth: int = 4) -> bool:
    """Return whether an exponential is among the terms and factors of a node, a few operations
    deep.
    """
    if node.op is None or not depth:
        return False
    name = node.op_name
    if name == "exp":
        return True
    if name in ("add", "subtract", "multiply", "negative"):
        return any(_has_power(n, depth - 1) for n in node.inputs)
    return name == "divide" and _has_power(node.inputs[0], depth - 1)


def _of_sums(node: Node, total: Node, e: Node) -> Tensor | None:
    above, below = node.inputs
    axes = total.op.axes
    x = exponent_of(e, axes) if e.op_name == "exp" else symbol(e.inputs[0])
    exponent = _weighed(total.inputs[0], e, x)
    if exponent is None or exponent.shape != e.shape:
        return None
    power = power_without(x, whole(apply(reducer("maximum", axes, True), exponent)))
    under = _Scaled(e, power, axes, moved=True).of(below)
    over = None
    if above.shape == e.shape and _is_beside(below, total):
        over = _Scaled(e, power).of(above)
    if over is None and below is total and above.shape == below.shape:
        over = _Scaled(e, power, axes).of(above)
    return None if over is None or under is None else apply(node.op, over, under)


def _is_beside(below: Node, total: Node) -> bool:
    """Return whether the shape of ``below`` is that of the summed elements with the summed axes
    kept, so that it broadcasts against them.
    """
    axes, source = total.op.axes, total.inputs[0]
    kept = tuple([1 if a in axes else n for a, n in enumerate(source.shape)])
    if below.op_name == "broadcast_to" and below.shape == source.shape:
        below = below.inputs[0]
    return below.shape == kept or (below is total and axes == tuple(range(len(axes))))


def _power_in(node: Node, axes: Axes) -> Node | None:
    """Return the only exponential, or softmax along ``axes``, among the factors and terms of a
    node; None if there is none or several.
    """
    found: set[Node] = set()
    stack, left = [node], _MOST_NODES
    while stack:
        n = stack.pop()
        left -= 1
        name = n.op_name
        if not left:
            return None
        if (name == "exp" and not is_without_top(n.inputs[0])) or (
                name == "softmax" and n.op.axes == axes):
            found.add(n)
        elif name in ("multiply", "negative"):
            stack += n.inputs
        elif name == "where":
            stack += n.inputs[1:]
    return found.pop() if len(found) == 1 else None


def _weighed(node: Node, e: Node, x: Tensor) -> Tensor | None:
    """Return the exponent ``x`` of the exponential ``e`` that ``node`` is a multiple of, with -inf
    where a factor is zero; None where ``node`` is no such multiple.
    """
    if node is e:
        return x
    name = node.op_name
    if name == "negative":
        return _weighed(node.inputs[0], e, x)
    if name == "where":
        condition, *cases = node.inputs
        found = [number_ if (number_ := _nothing(n)) is not None else _weighed(n, e, x)
                 for n in cases]
        if any(f is None for f in found):
            return None
        return where(symbol(condition), *found)
    if name == "multiply":
        for one, other in (node.inputs, node.inputs[::-1]):
            inner = _weighed(one, e, x)
            if inner is not None:
                return inner if scalar(other) else weighed(inner, symbol(other))
    return None


def _nothing(node: Node) -> float | None:
    return -math.inf if scalar(node) == 0 else None


class _Scaled:
    """Replaces an exponential by another value in its multiples, and in sums of multiples along
    ``axes`` if given.
    """

    def __init__(self, e: Node, power: Tensor, axes: Axes | None = None,
                 moved: bool = False) -> None:
        self.e, self.power, self.axes, self.moved = e, power, axes, moved

    def of(self, node: Node, depth: int = _MAX_DEPTH, inside: bool = False) -> Tensor | None:
        """Return the node with the exponential replaced; None if the node is not a multiple of it.
        """
        if node is self.e:
            return self.power if inside or self.axes is None else None
        if node.op is None or not depth:
            return None
        name = node.op_name
        if name == "sum":
            same = self.axes == node.op.axes and node.inputs[0].shape == self.e.shape
            inner = self.of(node.inputs[0], depth - 1, True) if same and not inside else None
            return None if inner is None else apply(node.op, inner)
        if name in ("multiply", "divide", "safe_divide"):
            return self._of_product(node, depth - 1, inside)
        parts = list(node.inputs)
        if name == "where":
            parts = parts[1:]
        elif name not in ("negative", "add", "subtract") and not (
                self.moved and "movement" in node.op.traits and not inside):
            return None
        found = [symbol(n) if scalar(n) == 0 else self.of(n, depth - 1, inside) for n in parts]
        known = [f for f in found if f is not None]
        if len(known) < len(found):
            return None
        return apply(node.op, *map(symbol, node.inputs[:len(node.inputs) - len(parts)]), *known)

    def _of_product(self, node: Node, depth: int, inside: bool) -> Tensor | None:
        first, second = node.inputs
        over, by = self.of(first, depth, inside), second
        if over is None and node.op_name == "multiply":
            over, by = self.of(second, depth, inside), first
        return None if over is None or self._is_in(by) else apply(node.op, over, symbol(by))

    def _is_in(self, node: Node) -> bool:
        """Return whether a node depends on the exponential, as far as a bounded search finds."""
        stack, left = [node], 4 * _MOST_NODES
        while stack:
            n = stack.pop()
            left -= 1
            if n is self.e or not left:
                return True
            stack += n.inputs
        return False
