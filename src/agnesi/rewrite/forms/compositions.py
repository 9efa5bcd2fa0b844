"""Functions of functions that undo each other in part, or that are another function together.

``expm1(softplus(x))`` is ``exp(x)``, and ``log1p(-erf(x))`` the logarithm of ``erfc(x)``.
"""

from __future__ import annotations

import math

from agnesi.core.dispatch import apply, graph_node
from agnesi.core.ir.node import Node
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.arith import abs as abs_
from agnesi.ops.base.arith import reciprocal, square
from agnesi.ops.base.select import minimum, where
from agnesi.ops.elementwise.explog import exp, expm1, log, log1p, logaddexp, sigmoid, softplus
from agnesi.ops.elementwise.hyperbolic import atanh, cosh, tanh
from agnesi.ops.special.normal import erfcx, log_ndtr, ndtr
from agnesi.ops.special.special import erf, erfc
from agnesi.ops.special.tails import log_erfc, log_one_minus_exp
from agnesi.rewrite.algebra.exponentials import opposite
from agnesi.rewrite.algebra.logarithms import is_product_of_probabilities, log_of
from agnesi.rewrite.algebra.quotients import Product, factors, scale_of_square
from agnesi.rewrite.algebra.sums import terms
from agnesi.rewrite.pattern import agree, scalar, variables
from agnesi.rewrite.rules import Book

BOOK = Book()
x = variables("x")
_STAGE = "stabilize"
#: Probabilities of which logarithms are as quick as they are.
_PROBABILITIES = ("sigmoid", "ndtr")


def _real(x: Node) -> bool:
    return x.dtype.kind == "f"


def _rule(pattern: object, replacement: object, name: str) -> None:
    BOOK.rule(pattern, replacement, name=name, stage=_STAGE, when=_real)  # type: ignore[arg-type]


# -- exponentials of logarithms ---------------------------------------------------------------
_rule(exp(softplus(x)), 1 + exp(x), "exp_of_softplus")
_rule(expm1(softplus(x)), exp(x), "expm1_of_softplus")
_rule(exp(-softplus(x)), sigmoid(-x), "exp_of_minus_softplus")
_rule(expm1(-softplus(x)), -sigmoid(x), "expm1_of_minus_softplus")
_rule(exp(log_ndtr(x)), ndtr(x), "exp_of_log_ndtr")
_rule(expm1(log_ndtr(x)), -ndtr(-x), "expm1_of_log_ndtr")
_rule(logaddexp(x, 0), softplus(x), "logaddexp_of_zero")
_rule(logaddexp(0, x), softplus(x), "logaddexp_of_zero_first")

_rule(1 - square(square(tanh(x))), square(reciprocal(cosh(x))) * (1 + square(tanh(x))),
      "one_minus_fourth_power_of_tanh")
_rule(1 - square(square(erf(x))), erfc(x) * erfc(-x) * (1 + square(erf(x))),
      "one_minus_fourth_power_of_erf")

# -- logarithms of complements ----------------------------------------------------------------
_rule(log_one_minus_exp(log_ndtr(x)), log_ndtr(-x), "log_of_complement_of_ndtr")
_rule(log_one_minus_exp(-softplus(x)), -softplus(-x), "log_of_complement_of_sigmoid")
_rule(log1p(-erf(x)), log_erfc(x), "log1p_of_minus_erf")
_rule(log1p(erf(x)), log_erfc(-x), "log1p_of_erf")
_rule(log1p(-ndtr(x)), log_ndtr(-x), "log1p_of_minus_ndtr")

#: Logarithms of tails, with the number c by which c * x * x takes their exponential away.
_TAILS = {"log_erfc": 1.0, "log_ndtr": 0.5}


@BOOK.rewriter(_STAGE, ops=["add", "subtract"], operands=sorted(_TAILS))
def log_of_scaled_tail(node: Node) -> Tensor | None:
    """``log(erfc(x)) + x * x``, and the same of ndtr: where both are large, the logarithm of what
    is left of the tail."""
    parts = terms(node)
    if not _real(node) or len(parts) != 2:
        return None
    for (sign, tail), (other, exponent) in (parts, parts[::-1]):
        c = _TAILS.get(tail.op_name)
        if c is None or not agree(tail, exponent) or (
                scale_of_square(tail.inputs[0], exponent) * other * sign != c):
            continue
        u = symbol(tail.inputs[0])
        if tail.op_name == "log_erfc":
            far = u > 1
            found = where(far, log(erfcx(where(far, u, 1))), square(u) + log_erfc(where(far, 1, u)))
        else:
            far = u < 0
            beyond = log(erfcx(where(far, u, 0) * -math.sqrt(0.5))) - math.log(2)
            found = where(far, beyond, square(u) * 0.5 + log_ndtr(where(far, 0, u)))
        return found if sign > 0 else -found
    return None


@BOOK.rewriter(_STAGE, ops=["log"], operands=["multiply"])
def log_of_rest_of_square(node: Node) -> Tensor | None:
    """``log(1 - f(x)**2)`` where ``f(x)`` is small: the rest is a product of two near 1 there."""
    (product,) = node.inputs
    for first, second in (product.inputs, product.inputs[::-1]):
        whole = _rest_of_square(first, second) if _real(node) and agree(first, second) else None
        if whole is not None:
            f = symbol(whole)
            near = abs_(f) < 0.5
            return where(near, log1p(-square(where(near, f, 0))),
                         log(symbol(first)) + log(symbol(second)))
    return None


def _rest_of_square(first: Node, second: Node) -> Node | None:
    """``f(x)`` of f(-x) * (1 + f(x)), as 1 - f(x)**2 is written; of erf and erfc alike."""
    if first.op_name == "erfc" and second.op_name == "erfc":
        opposed = opposite(first.inputs[0], second.inputs[0])
        return graph_node(erf(symbol(first.inputs[0]))) if opposed else None
    if second.op_name != "add":
        return None
    for one, f in (second.inputs, second.inputs[::-1]):
        if scalar(one) != 1:
            continue
        if f.op_name in ("sigmoid", "ndtr") and f.op is first.op and (
                opposite(f.inputs[0], first.inputs[0])):
            return f
        if f.op_name == "erfc" and first.op_name == "erf" and f.inputs == first.inputs:
            return f
    return None


@BOOK.rewriter(_STAGE, ops=["subtract"], operands=["multiply", "square"])
def complement_of_product(node: Node) -> Tensor | None:
    """``1 - sigmoid(x) * sigmoid(y)``, and that of powers, from the sum of the logarithms."""
    one, product = node.inputs
    if not _real(node) or scalar(one) != 1 or product.shape != node.shape or (
            not is_product_of_probabilities(product, _PROBABILITIES)):
        return None
    found = log_of(product, term=True)
    return None if found is None else 0 - expm1(found)


@BOOK.rewriter(_STAGE, ops=["divide", "safe_divide"], operands=["add"])
def over_tail(node: Node) -> Tensor | None:
    """What is divided by ``1 + tanh(x)`` or ``1 + erf(x)``, which vanish long before they must."""
    above, below = node.inputs
    if not _real(node) or below.op_name != "add":
        return None
    for one, f in (below.inputs, below.inputs[::-1]):
        if scalar(one) == 1 and f.op_name in ("tanh", "erf"):
            u = symbol(f.inputs[0])
            tail = 2 * sigmoid(2 * u) if f.op_name == "tanh" else erfc(-u)
            return apply(node.op, symbol(above), tail)
    return None


@BOOK.rewriter(_STAGE, ops=["add", "subtract"], operands=["divide", "safe_divide", "negative"])
def slope_of_mean_softplus(node: Node) -> Tensor | None:
    """``sigmoid(x) / x - softplus(x) / x**2``, the derivative of ``softplus(x) / x``."""
    parts = terms(node)
    if not _real(node) or len(parts) != 2:
        return None
    products = [factors(n) for _, n in parts]
    for (sign, _), p in zip(parts, products, strict=True):
        p.number *= sign
    for p, q in (products, products[::-1]):
        s, t = _only(p, "sigmoid"), _only(q, "softplus")
        if s is None or t is None or s.inputs != t.inputs or p.number != -q.number:
            continue
        (x,) = s.inputs
        if p.below() == [x] and q.below() == [x, x] and x.shape == node.shape:
            u = symbol(x)
            size = abs_(u)
            slope = minimum(size, 1000) * sigmoid(-size)  # 0 from there on, of inf too
            rest = (softplus(-size) + slope) / u / u
            return rest * -p.number
    return None


def _only(product: Product, name: str) -> Node | None:
    """The only factor above the line, if it is of this operation."""
    above = product.above()
    return above[0] if len(above) == 1 and above[0].op_name == name else None


@BOOK.rewriter(_STAGE, ops=["subtract"], operands=["log_ndtr"])
def log_of_odds(node: Node) -> Tensor | None:
    """``log(ndtr(x)) - log(ndtr(-x))``, which is 0 at 0."""
    first, second = node.inputs
    if any(n.op_name != "log_ndtr" for n in node.inputs) or (
            not _real(node) or not opposite(first.inputs[0], second.inputs[0])):
        return None
    u = symbol(first.inputs[0])
    near = abs_(u) < 1
    close = 2 * atanh(erf(where(near, u, 0) * math.sqrt(0.5)))
    return where(near, close, apply(node.op, symbol(first), where(near, 0, symbol(second))))
