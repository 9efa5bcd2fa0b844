"""Logarithms go inwards: to where what they are taken of overflows or vanishes.

``log(softmax(z)[i])`` is ``log_softmax(z)[i]``, and ``log(a * exp(x) + exp(y))`` a sum of
exponentials with the greatest one taken out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from agnesi.core.dispatch import apply, graph_node
from agnesi.core.ir.node import Node
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.arith import abs as abs_
from agnesi.ops.base.arith import power, reciprocal, safe_multiply, square
from agnesi.ops.base.compare import isfinite
from agnesi.ops.base.convert import number
from agnesi.ops.base.select import maximum, minimum, where
from agnesi.ops.elementwise.explog import log, log1p, log10, logaddexp, softplus
from agnesi.ops.neural.softmax import LogSoftmax, LogSumExp
from agnesi.ops.special.bessel import i0e
from agnesi.ops.special.normal import erfcx, log_ndtr
from agnesi.ops.special.special import erf, erfc
from agnesi.ops.special.tails import log_cosh, log_erfc, log_one_minus_exp, log_softplus
from agnesi.rewrite.algebra.weighted import log_of_sum, log_of_terms
from agnesi.rewrite.intervals import at_least, interval, keeps_sign_of_zero
from agnesi.rewrite.pattern import agree, scalar
from agnesi.rewrite.rules import Book

BOOK = Book()
rewriter = BOOK.rewriter
#: Deepest nesting in which logarithms are searched.
_MAX_DEPTH = 8
#: Odd functions whose logarithms are known.
_ODD = frozenset(("sinh", "tanh", "erf"))
#: Those of which f(x) and f(-x) add up to a number.
_SYMMETRIC = frozenset(("sigmoid", "ndtr", "erfc"))
#: Up to where log((exp(x) - 1) / x) is x / 2 + x * x / 24.
_SERIES_BELOW = 1e-4
#: Functions with values between 0 and 1.
_PROBABILITIES = ("sigmoid", "ndtr", "softmax")
Made = Callable[[Node, int, bool], "Tensor | None"]
_LEAVES: dict[str, Callable[[Tensor], Tensor]] = {
    "exp": lambda x: x, "sigmoid": lambda x: -softplus(-x), "cosh": log_cosh,
    "i0": lambda x: log(where(abs_(x) < math.inf, i0e(x), 1)) + abs_(x),
    "erfc": log_erfc, "ndtr": log_ndtr, "exp2": lambda x: x * math.log(2), "softplus": log_softplus,
    "erfcx": lambda x: where(
        x > 0, log(erfcx(where(x > 0, x, 0))), square(x) + log(erfc(where(x > 0, 0, x)))),
}


def log_of(node: Node, depth: int = _MAX_DEPTH, term: bool = False) -> Tensor | None:
    """Return the logarithm of a positive value that may overflow or underflow; None for other
    values.

    If the value is a ``term`` of a sum, its factors must not be negative; those of a product may.
    """
    if node.op is None or node.dtype.kind != "f" or not depth:
        return None
    name = node.op_name
    if name == "erfcx" and at_least(node.inputs[0], 0.0):
        return None  # which neither overflows nor vanishes
    if name in _LEAVES:
        x = symbol(node.inputs[0])
        return _vanished(name, x) if term and name in _VANISHED else _LEAVES[name](x)
    if name == "softmax":
        return apply(LogSoftmax(node.op.axes), symbol(node.inputs[0]))
    made = _COMPOSED.get("move" if "movement" in node.op.traits else name)
    return None if made is None else made(node, depth - 1, term)


def _vanished(name: str, x: Tensor) -> Tensor:
    """Return the logarithm of a term that vanishes at an infinite ``x``, with slope 0 there,
    because its weight in the sum is 0.
    """
    far = x == _VANISHED[name]
    return where(far, -math.inf, _LEAVES[name](where(far, 0, x)))


def _pair(nodes: Sequence[Node], depth: int, term: bool,
          factors: bool = False) -> list[Tensor] | None:
    """Return the logarithms of some values; None if none of them may overflow or underflow.

    ``factors`` says that they are multiplied: then negative ones are not looked into, because two
    of them have a positive product.
    """
    found = [log_of(n, depth, term or factors) for n in nodes]
    if all(x is None for x in found):
        return None
    if any(x is None and not _has_log(n, term) for x, n in zip(found, nodes, strict=True)):
        return None
    return [_plain(n) if x is None else x for x, n in zip(found, nodes, strict=True)]


def _has_log(node: Node, term: bool) -> bool:
    value = scalar(node)
    if value is not None:
        return bool(0 <= value < math.inf)
    return not term or (at_least(node, 0.0) and not node.requires_grad)


def _plain(node: Node) -> Tensor:
    value = scalar(node)
    if value is None:
        return log(symbol(node))
    return number(math.log(value) if value > 0 else -math.inf, node.dtype)


def _moved(node: Node, depth: int, term: bool) -> Tensor | None:
    inner = log_of(node.inputs[0], depth, term)
    return None if inner is None else apply(node.op, inner, *map(symbol, node.inputs[1:]))


def _chosen(node: Node, depth: int, term: bool) -> Tensor | None:
    logs = _pair(node.inputs[1:], depth, term)
    return None if logs is None else where(symbol(node.inputs[0]), *logs)


def _summed(node: Node, depth: int, term: bool) -> Tensor | None:
    inner = None if _is_shifted(node) else log_of(node.inputs[0], depth, True)
    if inner is None:
        # Sums of many distribution functions seldom vanish, and their logarithms are expensive.
        return None if term else log_of_sum(
            node, lambda n: None if n.op_name in _SYMMETRIC else log_of(n, depth, True))
    return apply(LogSumExp(node.op.axes, node.op.keepdims), inner)


def _is_shifted(node: Node) -> bool:
    """Whether a sum is of exponentials whose exponents have their maximum taken off already."""
    (x,) = node.inputs
    if x.op_name != "exp" or (d := x.inputs[0]).op is None or d.op_name != "subtract":
        return False
    most = d.inputs[1]
    while most.op_name == "where" or "movement" in most.traits:
        most = most.inputs[most.op_name == "where"]
    return (most.op_name == "max" and most.inputs[0] is d.inputs[0]
            and most.op.axes == node.op.axes)


def _factor(depth: int) -> Callable[[Node], Tensor | None]:
    """Return the function that gives the logarithm of a positive factor."""
    return lambda n: log_of(n, depth, True)


def _added(node: Node, depth: int, term: bool) -> Tensor | None:
    for one, other in (node.inputs, node.inputs[::-1]):
        value = scalar(one)
        if value == 0:
            return log_of(other, depth, term)
        if value == 1 and other.op_name == "erf":
            return log_erfc(-symbol(other.inputs[0]))
        if value is not None and interval(other).high < math.inf:
            return None  # it neither overflows nor vanishes
        if value == 1:
            found = log_of(other, depth, True)
            return None if found is None else softplus(found)
    logs = None
    if all(scalar(n) is not None or log_of(n, depth, True) is not None for n in node.inputs):
        logs = _pair(node.inputs, depth, True)
    if logs is None:
        return None if term else log_of_terms(node, _factor(depth))
    return logaddexp(*logs)


def _product(node: Node, depth: int, term: bool) -> Tensor | None:
    for one, other in (node.inputs, node.inputs[::-1]):
        value = scalar(one)
        if value is None or other.op_name not in _ODD:
            continue
        if value < 0:
            other = graph_node(apply(other.op, -symbol(other.inputs[0])))
        found = log_of(other, depth, term)
        return None if found is None else found + number(math.log(abs(value)), node.dtype)
    logs = _pair(node.inputs, depth, term, factors=True)
    return None if logs is None else logs[0] + logs[1]


def _quotient(node: Node, depth: int, term: bool) -> Tensor | None:
    below = node.inputs[1]
    logs = _pair(node.inputs, depth, term, factors=True)
    if logs is None:
        return None
    if log_of(below, depth) is None and not (at_least(below, 0.0) and keeps_sign_of_zero(below)):
        return logs[0] + log(reciprocal(symbol(below)))  # which knows -0 and -inf
    return logs[0] - logs[1]


def _scaled(factor: float, even: bool = False) -> Made:
    """Return the rule ``log(x**factor) = factor * log(x)``; for ``even`` powers ``x`` must be known
    to be no less than 0."""
    def made(node: Node, depth: int, term: bool) -> Tensor | None:
        inner = log_of(node.inputs[0], depth, term or even)
        return None if inner is None else inner * factor if factor != 1 else inner
    return made


def _multiplied(node: Node, depth: int, term: bool) -> Tensor | None:
    inner = log_of(node.inputs[0], depth, True)
    if inner is None:
        return None
    total: Tensor = inner.sum(node.op.axes, keepdims=node.op.keepdims)
    return total


def _powered(node: Node, depth: int, term: bool) -> Tensor | None:
    base = node.inputs[0]
    inner = log_of(base, depth, True)
    n = symbol(node.inputs[1])
    value = scalar(base)
    if value is not None:
        return n * math.log(value) if 0 < value < math.inf else None
    if inner is None and at_least(base, 0.0) and scalar(node.inputs[1]) is None:
        inner = _plain(base)
    whole = scalar(node.inputs[1]) is None and node.shape == base.shape
    if inner is None and not term and whole and base.op_name != "where":
        x = symbol(base)  # of unknown sign
        below = log(power(where(x < 0, x, 1), n))
        return where(x < 0, below, _times(n, log(where(x < 0, 1, x))))
    return None if inner is None else _times(n, inner)


def _times(n: Tensor, inner: Tensor) -> Tensor:
    """A number times a logarithm: 1**n is 1 for infinite n and NaN too."""
    return safe_multiply(where(isfinite(n) | (inner != 0), n, 0), inner)


def _difference(node: Node, depth: int, term: bool) -> Tensor | None:
    """log(exp(a) - exp(b)), and log(1 - exp(b))."""
    a, b = node.inputs
    if scalar(b) == 0:
        return log_of(a, depth, term)
    if scalar(a) == 0:
        return log_of(graph_node(-symbol(b)), depth, term)
    if term:
        return None
    if scalar(a) == 1 and b.op_name == "square":
        return log1p(-symbol(b))
    a, b = in_small_tails(a, b) or (a, b)
    above, below = log_of(a, depth, True), log_of(b, depth, True)
    if above is None or below is None:
        return log_of_terms(node, _factor(depth))
    return above + log_one_minus_exp(where(above == below, 0, below - above))


def in_small_tails(a: Node, b: Node) -> tuple[Node, Node] | None:
    """Return two values of a distribution function with the same difference that are not near 1, by
    the symmetry f(a) - f(b) = f(-b) - f(-a).
    """
    if a.op is None or a.op is not b.op or a.op_name not in _SYMMETRIC or not agree(a, b):
        return None
    inside = a.inputs[0]
    if inside.op_name == "where":
        return None
    x, y = symbol(inside), symbol(b.inputs[0])
    near_one = x + y < 0 if a.op_name == "erfc" else x + y > 0
    first, second = where(near_one, -y, x), where(near_one, -x, y)
    return graph_node(apply(a.op, first)), graph_node(apply(a.op, second))


def _negated(node: Node, depth: int, term: bool) -> Tensor | None:
    """log(-x), where the sign goes inside."""
    (x,) = node.inputs
    name = x.op_name
    inside: Tensor | None = None
    if name == "expm1":
        return None if term else log_one_minus_exp(symbol(x.inputs[0]))
    if name == "subtract":
        a, b = map(symbol, x.inputs)
        inside = b if scalar(x.inputs[0]) == 0 else b - a
    elif name in _ODD:
        inside = apply(x.op, -symbol(x.inputs[0]))
    elif name in ("add", "multiply"):
        for one, other in (x.inputs, x.inputs[::-1]):
            value = scalar(one)
            if value is not None and (name == "multiply" or value == 0):
                inside = symbol(other) * -float(value) if value else -symbol(other)
    return None if inside is None else log_of(graph_node(inside), depth, term)


def _of_sinh(node: Node, depth: int, term: bool) -> Tensor | None:
    x = symbol(node.inputs[0])
    return None if term else x + (log_one_minus_exp(x * -2) - math.log(2))


def _of_tanh(node: Node, depth: int, term: bool) -> Tensor | None:
    x = symbol(node.inputs[0])
    return None if term else log_one_minus_exp(x * -2) - softplus(x * -2)


def _of_erf(node: Node, depth: int, term: bool) -> Tensor | None:
    x = symbol(node.inputs[0])
    return None if term else where(
        x > 0.5, log1p(-erfc(maximum(x, 0.5))), log(minimum(erf(x), 0.6)))


def _less_one(node: Node, depth: int, term: bool) -> Tensor | None:
    """log(exp(x) - 1); where x vanishes though its logarithm is known, near the latter."""
    if term:
        return None
    x, inner = symbol(node.inputs[0]), log_of(node.inputs[0], depth, True)
    if inner is None:
        return x + log_one_minus_exp(-x)
    near = x < _SERIES_BELOW
    close, far = where(near, x, 0), where(near, 1, x)
    return where(near, inner + close * (0.5 + close / 24), far + log_one_minus_exp(-far))


#: Leaves with slopes without bound, and where they are 0.
_VANISHED = {"erfc": math.inf, "ndtr": -math.inf}
_COMPOSED: dict[str, Made] = {
    "move": _moved, "astype": _moved, "where": _chosen, "sum": _summed, "add": _added,
    "multiply": _product, "divide": _quotient, "reciprocal": _scaled(-1.0),
    "square": _scaled(2.0, even=True), "abs": _scaled(1.0, even=True), "sqrt": _scaled(0.5),
    "prod": _multiplied, "power": _powered,
    "subtract": _difference, "negative": _negated, "expm1": _less_one,
    "sinh": _of_sinh, "tanh": _of_tanh, "erf": _of_erf,
}


@rewriter("stabilize", ops=["log1p"], tags=("softplus",))
def log_beside_large(node: Node) -> Tensor | None:
    """log(1 + x) of what may overflow."""
    (x,) = node.inputs
    if x.op is None:
        return None
    if x.op_name == "negative" and is_product_of_probabilities(x.inputs[0]):
        found = log_of(x.inputs[0], term=True)
        return None if found is None else log_one_minus_exp(found)
    if interval(x).high < math.inf:
        return None
    found = log_of(x, term=True)
    return None if found is None else softplus(found)


def is_product_of_probabilities(node: Node, among: tuple[str, ...] = _PROBABILITIES,
                                depth: int = _MAX_DEPTH) -> bool:
    """Return whether a value is a product of several numbers between 0 and 1."""
    name = node.op_name if depth else ""
    return name in ("multiply", "square", "sqrt", "prod") and all([
        n.op_name in among or is_product_of_probabilities(n, among, depth - 1)
        for n in node.inputs])


@rewriter("stabilize", ops=[log, "log2", log10], tags=("softmax", "softplus"))
def log_inside(node: Node) -> Tensor | None:
    """Replace the logarithm of a value that overflows or underflows by a form that does not."""
    (source,) = node.inputs
    if source.op is None:
        return None
    natural = node.op_name == "log"
    found = _half_erfc(source) if natural else _beside_one(source)
    if found is None:
        found = log_of(source)
    if found is None or natural:
        return found
    return found * (1 / math.log(2 if node.op_name == "log2" else 10))


def _half_erfc(node: Node) -> Tensor | None:
    """log(0.5 * erfc(x)), which is a distribution function."""
    if node.op_name == "multiply":
        for half, tail in (node.inputs, node.inputs[::-1]):
            if scalar(half) == 0.5 and tail.op_name == "erfc":
                return log_ndtr(symbol(tail.inputs[0]) * -math.sqrt(2))
    return None


def _beside_one(node: Node) -> Tensor | None:
    """The natural logarithm of 1 + x."""
    if node.op_name == "add" and node.dtype.kind == "f":
        for one, x in (node.inputs, node.inputs[::-1]):
            if scalar(one) == 1:
                return log1p(symbol(x)) + 0
    return None
