"""Sums of exponentials with weights of any sign: what overflows or vanishes is taken out of them.

``log(sum(w * exp(x)))`` is ``m + log(sum(w * exp(x - m)))``, where ``m`` is near the greatest ``x``
whose weight is not zero.  It is a whole number: no derivative flows through it, and no digits are
lost where it is taken off.  Where nothing overflows or vanishes, it is 0.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from agnesi.core.dispatch import apply, graph_node
from agnesi.core.ir.node import Node
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.arith import abs as abs_
from agnesi.ops.base.arith import reciprocal
from agnesi.ops.base.convert import number
from agnesi.ops.base.reduce import reducer
from agnesi.ops.base.select import floor, maximum, where
from agnesi.ops.elementwise.explog import exp, log
from agnesi.rewrite.algebra.softmaxes import without_moves
from agnesi.rewrite.algebra.sums import terms
from agnesi.rewrite.pattern import scalar

#: Most factors of a term that are searched.
_MOST_FACTORS = 8
#: What gives the logarithm of a positive factor, or None.
LogOf = Callable[[Node], "Tensor | None"]


class Term(NamedTuple):
    """``weight * exp(log)``."""

    log: Tensor
    weight: Tensor | float = 1.0

    @property
    def exponent(self) -> Tensor:
        """Of what counts: -inf where the weight is zero, NaN where it is not finite."""
        return weighed(self.log, self.weight)

    def without(self, top: Tensor) -> Tensor:
        """Return the term divided by exp(top), where ``top`` is the greatest exponent of terms with
        nonzero weight.
        """
        if isinstance(self.weight, Tensor):
            return power_without(self.log, top) * self.weight
        return self._times(exp(self.log - top))

    def above(self, under: Sequence[Term], top: Tensor) -> Tensor:
        """Return the term divided by exp(top), where ``top`` is the greatest exponent of the terms
        ``under``; this one's may be greater.
        """
        w = self.weight
        alike = [t.weight for t in under if graph_node(t.log) is graph_node(self.log)]
        if isinstance(w, Tensor) and any(
                isinstance(v, Tensor) and graph_node(v) is graph_node(w) for v in alike):
            return self.without(top)
        if isinstance(w, Tensor) and all(isinstance(v, Tensor) for v in alike):
            return power_without(self.log, top, w == 0) * w
        return self._times(exp(self.log - top))

    def _times(self, power: Tensor) -> Tensor:
        w = self.weight
        if isinstance(w, Tensor) or abs(w) != 1:
            return power * w
        return power if w > 0 else -power


def weighed(exponent: Tensor, weight: Tensor | float) -> Tensor:
    """Return the exponent; -inf where its weight is zero, and NaN where the weight is not finite.
    """
    if not isinstance(weight, Tensor):
        return exponent
    return where(weight != 0, exponent + (weight - weight), -math.inf)


def power_without(exponent: Tensor, top: Tensor, is_nothing: Tensor | None = None) -> Tensor:
    """exp(exponent - top), which overflows only of infinity where the weight is zero.

    That is where ``is_nothing``; if it is not given, where the exponent is greater than ``top``.
    """
    less = exponent - top
    most = math.floor(_most(less))
    large = (less > most) & (less < math.inf)
    return exp(where(large if is_nothing is None else large & is_nothing, most, less))


def whole(top: Tensor) -> Tensor:
    """The scale of a sum of exponentials: an integer near the greatest exponent, or 0 if that is
    not finite or its exponential neither overflows nor underflows, so that common sums keep their
    bits."""
    size, most = abs_(top), math.floor(0.4 * _most(top))
    return floor(where((size > most) & (size < math.inf), top, 0))


def _most(x: Tensor) -> float:
    """The greatest number whose exponential is finite."""
    return math.log(float(np.finfo(x.dtype).max))


def is_without_top(exponent: Node) -> bool:
    """Return whether the maximum, rounded down, was subtracted from the exponent already."""
    if exponent.op_name == "where":
        return is_without_top(exponent.inputs[2])
    if exponent.op_name not in ("subtract", "add"):
        return False
    return any((m.op_name == "floor" or (
        m.op_name in ("add", "subtract") and is_without_top(m)))
        for m in map(without_moves, exponent.inputs))


def term_of(node: Node, log_of: LogOf, sign: int = 1) -> Term | None:
    """A product as a weight times what has a logarithm; None if no factor has one."""
    logs: list[Tensor] = []
    weights: list[Tensor] = []
    factor = float(sign)
    stack = [node]
    while stack:
        n = stack.pop()
        name = n.op_name
        value = scalar(n)
        if len(stack) + len(logs) + len(weights) > _MOST_FACTORS:
            return None
        if value is not None and math.isfinite(value) and value:
            factor *= float(value)
        elif name == "multiply":
            stack += n.inputs[::-1]
        elif name == "negative":
            factor = -factor
            stack.append(n.inputs[0])
        elif name == "divide" and scalar(n.inputs[1]) is None:
            stack.append(n.inputs[0])
            weights.append(reciprocal(symbol(n.inputs[1])))
        elif name == "exp" and is_without_top(n.inputs[0]):
            return None
        elif (found := log_of(n)) is not None:
            logs.append(found)
        else:
            weights.append(symbol(n))
    if not logs:
        return None
    weight = functools.reduce(operator.mul, weights) if weights else factor
    if weights and factor != 1:
        weight = weight * factor
    return Term(functools.reduce(operator.add, logs), weight)


def terms_of(node: Node, log_of: LogOf) -> list[Term] | None:
    """The terms of a sum, numbers among them; None if one is none, or no exponential is there."""
    found = []
    for sign, n in terms(node):
        value = scalar(n)
        term = Term(number(0, node.dtype), sign * float(value)) if value is not None else term_of(
            n, log_of, sign)
        if term is None:
            return None
        found.append(term)
    return found


def top_of(found: Sequence[Term]) -> Tensor:
    """An integer near the greatest exponent among terms with a nonzero weight."""
    counting = [t.exponent for t in found if isinstance(t.weight, Tensor) or t.weight]
    return whole(functools.reduce(maximum, counting))


def scaled_sum(found: Sequence[Term], top: Tensor) -> Tensor:
    """The sum of terms divided by the exponential of ``top``."""
    return functools.reduce(Tensor.__add__, [t.without(top) for t in found])


def log_of_terms(node: Node, log_of: LogOf) -> Tensor | None:
    """The logarithm of a sum of exponentials of which some have weights."""
    found = terms_of(node, log_of)
    if found is None or len(found) < 2:
        return None
    top = top_of(found)
    return log(scaled_sum(found, top)) + top


def log_of_sum(node: Node, log_of: LogOf) -> Tensor | None:
    """The logarithm of a weighted sum of exponentials along axes."""
    (source,) = node.inputs
    axes = node.op.axes
    term = None if 0 in [source.shape[a] for a in axes] else term_of(source, log_of)
    if term is None or not isinstance(term.weight, Tensor):
        return None
    exponent = term.exponent
    if exponent.shape != source.shape:
        return None
    top = whole(apply(reducer("maximum", axes, True), exponent))
    total = log(term.without(top).sum(axes, keepdims=True)) + top
    return total if node.op.keepdims else total.sum(axes)
