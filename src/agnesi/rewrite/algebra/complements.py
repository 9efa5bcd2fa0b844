"""Complements ``1 - x`` of values near 1, in the forms in which they are composed.

``1 - sigmoid(x)**2`` is ``sigmoid(-x) * (1 + sigmoid(x))``, and ``log(1 - tanh(x)**2)``, the
change of volume of a squashed normal, ``-2 * log(cosh(x))``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

from agnesi.core.dispatch import apply, graph_node
from agnesi.core.ir.node import Node
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.arith import add, reciprocal, sqrt, square, subtract
from agnesi.ops.base.select import maximum, where
from agnesi.ops.elementwise.explog import exp, expm1, log, log1p, sigmoid
from agnesi.ops.elementwise.hyperbolic import cosh, sinh, tanh
from agnesi.ops.neural.softmax import LogSumExp, Softmax
from agnesi.ops.special.normal import ndtr
from agnesi.ops.special.special import erf, erfc
from agnesi.ops.special.tails import log_cloglog, log_cosh, log_one_minus_exp
from agnesi.rewrite.algebra.logarithms import log_of
from agnesi.rewrite.algebra.quotients import factors, written
from agnesi.rewrite.algebra.sums import terms
from agnesi.rewrite.intervals import far_from_zero
from agnesi.rewrite.pattern import scalar, variables
from agnesi.rewrite.rules import Book

BOOK = Book()
x = variables("x")
_STAGE = "stabilize"
#: Functions that do not see the sign of a zero.
_BLIND = ("exp", "exp2", "cosh", "cos", "square", "abs", "sigmoid", "softplus", "erfc", "ndtr")
#: Those that vanish or overflow before their square roots do.
_STEEP = frozenset(("exp", "exp2", "cosh", "sigmoid", "erfc", "ndtr"))


def _real(x: Node) -> bool:
    return x.dtype.kind == "f"


def _double(x: Node) -> bool:
    """Return whether the dtype is float64, for which an exponential takes no longer than tanh."""
    return x.dtype.kind == "f" and x.dtype.itemsize == 8


def _rule(pattern: object, replacement: object, name: str, when: object = _real) -> None:
    BOOK.rule(pattern, replacement, name=name, stage=_STAGE, when=when)  # type: ignore[arg-type]


# -- logarithms -------------------------------------------------------------------------------
_rule(log1p(-exp(x)), log_one_minus_exp(x), "log1p_of_minus_exp")
_rule(log_one_minus_exp(-exp(x)), log_cloglog(x), "log_of_cloglog")
_rule(log1p(-square(tanh(x))), -2 * log_cosh(x), "log_of_squashed")
_rule(log(2 * sigmoid(x)), where(x > 0, log1p(maximum(tanh(x * 0.5), 0)),
                                 x * 0.5 - log_cosh(x * 0.5)) + 0, "log_of_two_sigmoids")
_rule(log1p(tanh(x)), where(x > 0, log1p(maximum(tanh(x), 0)), x - log_cosh(x)), "log1p_of_tanh")
_rule(log1p(-tanh(x)), where(x < 0, log1p(maximum(-tanh(x), 0)), -x - log_cosh(x)),
      "log1p_of_minus_tanh")

# -- differences and their roots --------------------------------------------------------------
_rule(1 + tanh(x), 2 * sigmoid(2 * x), "one_plus_tanh", _double)
_rule(tanh(x) - 1, 0 - 2 * sigmoid(-2 * x), "tanh_minus_one")
_rule(-tanh(x) - 1, 0 - 2 * sigmoid(2 * x), "minus_tanh_minus_one")
_rule(erfc(x) - 1, 0 - erf(x), "erfc_minus_one")
_rule(1 - square(cosh(x)), 0 - square(sinh(x)), "one_minus_square_cosh")
_rule(square(cosh(x)) - 1, square(sinh(x)), "square_cosh_minus_one")
_rule(1 - square(exp(x)), 0 - expm1(2 * x), "one_minus_square_exp")
_rule(square(exp(x)) - 1, expm1(2 * x) + 0, "square_exp_minus_one")
_rule(1 - square(sigmoid(x)), sigmoid(-x) * (1 + sigmoid(x)), "one_minus_square_sigmoid")
_rule(1 - square(ndtr(x)), ndtr(-x) * (1 + ndtr(x)), "one_minus_square_ndtr")
_rule(1 - square(erf(x)), erfc(x) * erfc(-x), "one_minus_square_erf")
_rule(1 - square(erfc(x)), erf(x) * (1 + erfc(x)) + 0, "one_minus_square_erfc")
_rule(sqrt(1 - square(tanh(x))), reciprocal(cosh(x)), "root_of_squashed")


#: 1 - f(x), and 1 + f(x).
_REST: dict[str, Callable[[Tensor], Tensor]] = {
    "sigmoid": lambda x: sigmoid(-x), "tanh": lambda x: 2 * sigmoid(-2 * x), "erf": erfc,
    "ndtr": lambda x: ndtr(-x), "erfc": lambda x: erf(x) + 0,
}
_MORE: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": lambda x: 2 * sigmoid(2 * x), "erf": lambda x: erfc(-x),
}
#: 1 - f(x) / 2; "add" is 1 + erf(x).
_HALF: dict[str, Callable[[Tensor], Tensor]] = {
    "erfc": lambda x: 0.5 * erfc(-x), "add": lambda x: 0.5 * erfc(x),
}
#: Most factors of a product that are compared.
_MOST_FACTORS = 12


@BOOK.rewriter(_STAGE, ops=["add", "subtract"], operands=["multiply", "divide", "negative"])
def complement_of_factor(node: Node) -> Tensor | None:
    """``x - x * tanh(x)``: what two terms have in common times the complement of what they have
    not."""
    parts = terms(node)
    if not _real(node) or len(parts) != 2 or any(scalar(n) is not None for _, n in parts):
        return None
    products = [factors(n, _MOST_FACTORS) for _, n in parts]
    for (sign, _), p in zip(parts, products, strict=True):
        p.number *= sign
    for whole, part in (products, products[::-1]):
        rest = Counter(part.above()) - Counter(whole.above())
        if rest.total() != 1 or len(part.above()) != len(whole.above()) + 1 or part.then or (
                Counter(part.below()) != Counter(whole.below()) or whole.then):
            continue
        (f,) = rest
        by = part.number / whole.number if whole.number else 0.0
        known = {-1.0: _REST, 1.0: _MORE, -0.5: _HALF}.get(by, {})
        made, operand = known.get(f.op_name), _operand(f)
        if made is None or operand is None or f.shape != node.shape:
            return None
        whole.first.above.append(graph_node(made(symbol(operand))))
        found = written(whole, node)
        return None if found is None else found + 0
    return None


def _operand(f: Node) -> Node | None:
    """``x`` of a function of x, and of 1 + erf(x)."""
    if f.op_name != "add":
        return f.inputs[0] if f.inputs else None
    for one, e in (f.inputs, f.inputs[::-1]):
        if e.op_name == "erf" and scalar(one) == 1:
            return e.inputs[0]
    return None


# -- softmax ----------------------------------------------------------------------------------
@BOOK.rewriter(_STAGE, ops=[subtract])
def complement_of_softmax(node: Node) -> Tensor | None:
    """``1 - softmax(z)``, of what is above 1/2 the sum of all others."""
    one, source = node.inputs
    if scalar(one) != 1 or node.shape != source.shape:
        return None
    return _of_softmax(source, lambda z, p, op: where(
        p > 0.5, where(p > 0.5, 0, p).sum(op.axes, keepdims=True), 1 - where(p > 0.5, 0, p)))


@BOOK.rewriter(_STAGE, ops=[log1p], operands=["negative"])
def log_complement_of_softmax(node: Node) -> Tensor | None:
    """``log(1 - softmax(z))``, of what is above 1/2 the log of the sum of all others."""
    return _of_softmax(node.inputs[0].inputs[0], lambda z, p, op: where(
        p > 0.5, _logsumexp(where(p > 0.5, -math.inf, z), op) - _logsumexp(z, op),
        log1p(-where(p > 0.5, 0, p))))


def _logsumexp(z: Tensor, op: Softmax) -> Tensor:
    return apply(LogSumExp(op.axes, True), z)


def _of_softmax(node: Node, made: Callable[[Tensor, Tensor, Softmax], Tensor]) -> Tensor | None:
    """A function of softmax(z), given z and softmax(z), behind the movements of a node."""
    op = node.op
    if op is None or node.dtype.kind != "f":
        return None
    if type(op) is Softmax:
        return made(symbol(node.inputs[0]), symbol(node), op)
    if "movement" not in op.traits:
        return None
    inner = _of_softmax(node.inputs[0], made)
    return None if inner is None else apply(op, inner, *map(symbol, node.inputs[1:]))


@BOOK.rewriter(_STAGE, ops=[sqrt], operands=[*sorted(_STEEP), "multiply"])
def root_of_steep(node: Node) -> Tensor | None:
    """The square root of what vanishes or overflows before its root does."""
    found = log_of(node.inputs[0])
    return None if found is None else exp(found * 0.5)


@BOOK.rewriter(_STAGE, ops=_BLIND, operands=["add"])
def unseen_sign_of_zero(node: Node) -> Tensor | None:
    """Drop a zero that was added to fix the sign of a zero where the operation that reads it does
    not distinguish the two.
    """
    bare = _bare(node.inputs[0])
    return None if bare is None else apply(node.op, bare)


@BOOK.rewriter(_STAGE, ops=[add, subtract], operands=["add"])
def zero_beside_number(node: Node) -> Tensor | None:
    """Drop a zero that was added to fix the sign of a zero if the other operand is never zero."""
    first, second = node.inputs
    for one, other in ((first, second), (second, first)):
        bare = _bare(one) if far_from_zero(other) else None
        if bare is not None:
            pair = [bare if n is one else symbol(n) for n in node.inputs]
            return apply(node.op, *pair)
    return None


def _bare(node: Node) -> Tensor | None:
    """Return ``x`` if the node is ``x + 0``, else None."""
    if node.op_name != "add":
        return None
    for zero, other in (node.inputs, node.inputs[::-1]):
        if scalar(zero) == 0 and (other.shape, other.dtype) == (node.shape, node.dtype):
            return symbol(other)
    return None
