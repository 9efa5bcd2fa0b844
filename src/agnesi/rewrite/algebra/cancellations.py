"""Differences in which digits are lost, and the forms in which they are not.

What NaN, infinities and signs of zero require stands beside (see ``tests/rewrite``): a zero is
added where the difference is never -0.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from agnesi.core.dispatch import graph_node
from agnesi.core.ir.node import Node
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.arith import abs as abs_
from agnesi.ops.base.arith import reciprocal, sqrt, square
from agnesi.ops.base.compare import equal
from agnesi.ops.base.convert import number
from agnesi.ops.base.select import maximum, where
from agnesi.ops.elementwise.explog import exp, expm1, log, log1p, logaddexp, sigmoid, softplus
from agnesi.ops.elementwise.hyperbolic import acosh, asinh, atanh, cosh, sinh, tanh
from agnesi.ops.elementwise.trig import acos, asin, atan2, cos, sin, tan
from agnesi.ops.special.normal import erfcx, ndtr
from agnesi.ops.special.special import erf, erfc
from agnesi.ops.special.tails import log_cosh, log_one_minus_exp
from agnesi.rewrite.algebra.exponentials import opposite
from agnesi.rewrite.algebra.finite_differences import step_of_exponents
from agnesi.rewrite.algebra.logarithms import in_small_tails
from agnesi.rewrite.algebra.quotients import factors, top, written
from agnesi.rewrite.algebra.sums import akin, shifted, terms
from agnesi.rewrite.pattern import agree, scalar, variables
from agnesi.rewrite.rules import Book

#: Sums of exponentials in one another that are looked through.
_MAX_NESTED_SUMS = 6

#: f(x) - f(-x).
_AROUND_ZERO: dict[str, Callable[[Tensor], Tensor]] = {
    "sigmoid": lambda x: tanh(x * 0.5), "erfc": lambda x: -2 * erf(x),
    "ndtr": lambda x: erf(x * math.sqrt(0.5)),
}

BOOK = Book()
a, b, c, x = variables("a b c x")
_STAGE = "stabilize"


def _real(x: Node, **_: Node) -> bool:
    return x.dtype.kind == "f"


def _double(x: Node) -> bool:
    """Return whether erfc is as fast as erf."""
    return x.dtype.kind == "f" and x.dtype.itemsize == 8


def _number(c: Node, **_: Node) -> bool:
    """Return whether ``c`` is a positive number."""
    value = scalar(c)
    return value is not None and value.dtype.kind == "f" and bool(0 < value < math.inf)


def _rule(pattern: object, replacement: object, name: str, when: object = _real) -> None:
    BOOK.rule(pattern, replacement, name=name, stage=_STAGE, when=when)  # type: ignore[arg-type]


# -- exponentials -----------------------------------------------------------------------------
_rule(expm1(x) + 1, exp(x), "expm1_plus_one")
_rule(exp(x) - exp(-x), 2 * sinh(x) + 0, "two_sinh")
_rule((exp(x) - 2) + exp(-x), 4 * square(sinh(x * 0.5)), "two_cosh_less_two")
_rule((exp(x) + exp(-x)) - 2, 4 * square(sinh(x * 0.5)), "two_cosh_minus_two")
_rule(cosh(x) - 1, 2 * square(sinh(x * 0.5)), "cosh_minus_one")
_rule((exp(x) + exp(-x)) * 0.5, cosh(x), "cosh_by_halves")
_rule(softplus(x) - x * sigmoid(x),
      softplus(-abs_(x)) + abs_(x) * sigmoid(-abs_(x)), "entropy_of_sigmoid")
_rule(cosh(x) - sinh(x), exp(-x), "cosh_minus_sinh")
_rule(cosh(x) + sinh(x), exp(x), "cosh_plus_sinh")
_rule(1 - tanh(x), 2 * sigmoid(-2 * x), "one_minus_tanh")
_rule(softplus(x) - x, softplus(-x), "softplus_minus")
_rule(softplus(-x) + x, softplus(x), "softplus_of_minus_plus")
_rule(1 + square(sinh(x)), square(cosh(x)), "one_plus_square_sinh")
_rule(x - softplus(x), 0 - softplus(-x), "minus_softplus")
_rule(x - (x + log_one_minus_exp(-x)), where(x < np.inf, 0 - log_one_minus_exp(-x), np.nan),
      "minus_log_of_expm1")
_rule((x + log_one_minus_exp(-x)) - x, where(x < np.inf, log_one_minus_exp(-x) + 0, np.nan),
      "log_of_expm1_minus")
_rule(square(0 - expm1(x)) - 1, exp(x) * (exp(x) - 2) + 0, "square_of_complement_less_one")
_rule(sqrt(exp(a) + exp(b)),
      where(maximum(a, b) == np.inf, where(a > b, exp(a), exp(b)), exp(0.5 * logaddexp(a, b))),
      "root_of_two_exps", lambda a, b: a.dtype.kind == "f")
_rule(sqrt(1 + exp(x)), exp(0.5 * softplus(x)), "root_of_one_plus_exp")
_rule((log1p(x) + 0) - log(x), where(x < 0, np.nan, log1p(reciprocal(x + 0))), "log_of_next")
_rule(log1p(x) - log(x), where(x < 0, np.nan, log1p(reciprocal(x + 0))), "log1p_minus_log")

@BOOK.rewriter(_STAGE, ops=["subtract"], operands=["exp"])
def difference_of_exponentials(node: Node) -> Tensor | None:
    """exp(a) - exp(b), which is exp(b) * expm1(a - b) where b is the greater one."""
    if node.dtype.kind != "f" or any(n.op_name != "exp" for n in node.inputs):
        return None
    if not agree(*node.inputs):
        return None
    by = step_of_exponents(*(n.inputs[0] for n in node.inputs))
    if by is None and not _are_akin(*node.inputs):
        return None
    a, b = (symbol(n.inputs[0]) for n in node.inputs)
    apart = where(equal(a, b), 0, a - b)  # of two infinities too
    if by is not None:
        apart = where((abs_(a) < math.inf) & (abs_(b) < math.inf), by, apart)
    growth = expm1(-abs_(apart))
    return exp(maximum(a, b)) * where(apart < 0, growth, 0 - growth)

@BOOK.rewriter(_STAGE, ops=["logaddexp"], operands=["negative"])
def log_of_two_cosh(node: Node) -> Tensor | None:
    """log(exp(x) + exp(-x)), whose derivative is a tanh."""
    first, second = node.inputs
    found = node.dtype.kind == "f" and opposite(first, second)
    return log_cosh(symbol(first)) + math.log(2) if found else None

@BOOK.rewriter(_STAGE, ops=["subtract"], operands=["add"])
def log_of_cosh(node: Node) -> Tensor | None:
    """log(2 * cosh(x)) - log(2), whose numbers are added first: it is small where x is."""
    total, number = node.inputs
    if total.op_name != "add":
        return None
    for one, other in (total.inputs, total.inputs[::-1]):
        c, d = scalar(other), scalar(number)
        if c is not None and d is not None and one.op_name == "log_cosh":
            return symbol(one) + (float(c) - float(d))
    return None


@BOOK.rewriter(_STAGE, ops=["multiply", "divide", "safe_multiply", "safe_divide"])
def over_square_of_tanh(node: Node) -> Tensor | None:
    """(1 - tanh(x)**2) / tanh(x)**2, as in the derivative of 1 / tanh(x), is 1 / sinh(x)**2."""
    if node.dtype.kind != "f" or node.dtype.itemsize < 4 or not top(node).below:
        return None
    product = factors(node)
    for t in dict.fromkeys(n for n in product.below() if n.op_name == "tanh"):
        rest = [n for n in product.above() if _is_rest_of_square(n, t)]
        if rest and product.below().count(t) >= 2:
            side = product.then if t in product.then.below else product.first
            for n, above in ((rest[0], True), (t, False), (t, False)):
                product.remove(n, above)
            side.below += [graph_node(sinh(symbol(t.inputs[0])))] * 2
            return written(product, node)
    return None


def _is_rest_of_square(node: Node, t: Node) -> bool:
    """Return whether a node is 1 - t * t."""
    if node.op_name != "subtract" or scalar(node.inputs[0]) != 1:
        return False
    product = factors(node.inputs[1], 4)
    return product.above() == [t, t] and product.number == 1 and not product.below()


# -- the normal distribution ------------------------------------------------------------------
_rule(1 - erf(x), erfc(x), "one_minus_erf")
_rule(erf(x) - 1, 0 - erfc(x), "erf_minus_one")
_rule(1 + erf(x), erfc(-x), "one_plus_erf", _double)
_rule(1 - erfc(x), erf(x) + 0, "one_minus_erfc")
_rule(1 - 0.5 * erfc(x), 0.5 * erfc(-x), "one_minus_half_erfc")
_rule(1 - ndtr(x), ndtr(-x), "one_minus_ndtr")
_rule(exp(square(x)) * erfc(x), erfcx(x), "scaled_erfc")
_rule(exp(x) * erfc(sqrt(x)), erfcx(sqrt(x)), "scaled_erfc_of_root")

# -- roots and powers -------------------------------------------------------------------------
_rule(sqrt(1 + x) - 1, where(x < np.inf, x / (sqrt(1 + x) + 1) + 0, sqrt(x)), "root_minus_one")
_rule(1 - sqrt(1 - x), where(x > -np.inf, x / (sqrt(1 - x) + 1) + 0, x), "one_minus_root")
_rule(reciprocal(1 + x) - 1,
      where(abs_(x) < np.inf, 0 - x / (1 + x), reciprocal(x) - 1), "reciprocal_minus_one")
_rule(reciprocal(sqrt(x)) - reciprocal(sqrt(x + c)),
      c / sqrt(x) / (sqrt(x + c) * (sqrt(x + c) + sqrt(x))), "difference_of_reciprocal_roots",
      _number)
_rule(square(a) / square(b), square(a / b), "quotient_of_squares", lambda a, b: a.dtype.kind == "f")
_rule(square(a) - square(b), (a - b) * (a + b) + 0, "difference_of_squares",
      lambda a, b: a.dtype.kind == "f")


@BOOK.rewriter(_STAGE, ops=["add", "subtract"], operands=["sqrt"])
def root_beside(node: Node) -> Tensor | None:
    """sqrt(x * x + c) - x, which is c / (sqrt(x * x + c) + x), and its kin of other signs."""
    if node.dtype.kind != "f":
        return None
    sign = -1 if node.op_name == "subtract" else 1
    first, second = node.inputs
    for root, of_root, x, of_x in ((first, 1, second, sign), (second, sign, first, 1)):
        parts = _square_and_rest(root, x)
        if parts is None:
            continue
        rest, more = parts
        r, other = symbol(root), symbol(x) if of_x == of_root else -symbol(x)
        apart = other < 0
        squared = rest.op_name == "square"
        y = symbol(rest.inputs[0] if squared else rest)
        if scalar(rest) is None:
            apart = apart & (abs_(y) < math.inf)
        above = y / (r + abs_(symbol(x)))
        above = y * above if squared else above  # the square may overflow
        # what is not taken is written again, so that it is not this very difference
        result = where(apart, above if more else -above, r + where(apart, 0, other))
        return result if of_root > 0 else -result
    return None


def _square_and_rest(root: Node, x: Node) -> tuple[Node, bool] | None:
    """``c``, and whether it is added, if a node is the root of x * x + c or of x * x - c.

    The square may be that of -x, or of what x is the size of.
    """
    total = root.inputs[0].op and root.inputs[0] if root.op_name == "sqrt" else None
    roots = (x, x.inputs[0]) if x.op_name in ("negative", "abs") else (x,)
    if total is None or not agree(root, x):
        return None
    if (pair := _factored(total)) is not None and pair[0] in roots:
        return graph_node(square(symbol(pair[1]))), False
    if total.op_name not in ("add", "subtract"):
        return None
    first, second = total.inputs
    for one, rest in ((first, second), (second, first)):
        plus = total.op_name == "add"
        if one.op_name == "square" and (one is first or plus) and any(
                one.inputs[0] is r for r in roots):
            return rest, plus
    return None


def _factored(node: Node) -> tuple[Node, Node] | None:
    """``a`` and ``b`` of (a - b) * (a + b), as differences of squares are written."""
    if node.op_name == "add" and scalar(node.inputs[1]) == 0 and node.inputs[0].op is not None:
        node = node.inputs[0]
    if node.op_name != "multiply":
        return None
    less, more = node.inputs
    return less.inputs if (  # type: ignore[return-value]
        (less.op_name, more.op_name) == ("subtract", "add") and less.inputs == more.inputs
    ) else None


@BOOK.rewriter(_STAGE, ops=["log"], operands=["where"])
def inverse_hyperbolic(node: Node) -> Tensor | None:
    """log(x + sqrt(x * x + 1)), and the same of -1, as :func:`root_beside` leaves its operand."""
    total = node.inputs[0].inputs[2]
    if total.op_name != "add":
        return None
    for root, rest in (total.inputs, total.inputs[::-1]):
        if rest.op_name == "where" and scalar(rest.inputs[1]) == 0:
            x = rest.inputs[2]
            number, more = _square_and_rest(root, x) or (root, False)
            if scalar(number) == 1:
                return asinh(symbol(x)) + 0 if more else acosh(symbol(x))
    return None


@BOOK.rewriter(_STAGE, ops=["subtract"], operands=["sqrt"])
def difference_of_roots(node: Node) -> Tensor | None:
    """sqrt(x + c) - sqrt(x + d) is (c - d) over the sum of roots; sqrt(c + x) - sqrt(c - x) is
    2 * x over it.
    """
    if node.dtype.kind != "f" or any(n.op_name != "sqrt" for n in node.inputs):
        return None
    (x, sign, c), (y, other, d) = (shifted(n.inputs[0]) for n in node.inputs)
    if x is not y or (sign == other) == (c == d):
        return None
    above = symbol(x) * (sign - other) if c == d else c - d
    found = above / (symbol(node.inputs[0]) + symbol(node.inputs[1]))
    return found + 0 if c == d else found


@BOOK.rewriter(_STAGE, ops=["subtract"], operands=["sqrt"])
def root_less_root(node: Node) -> Tensor | None:
    """sqrt(x + c) - k for numbers of which k is the root of c, as in the loss of Charbonnier."""
    root, k = node.inputs[0], scalar(node.inputs[1])
    total = root.inputs[0] if root.op_name == "sqrt" else None
    if node.dtype.kind != "f" or k is None or total is None or total.op is None or (
            total.op_name != "add"):
        return None
    for one, x in (total.inputs, total.inputs[::-1]):
        c = scalar(one)
        if c is not None and 0 < c < math.inf and k > 0 and (
                abs(float(k) ** 2 / float(c) - 1) < 4 * np.finfo(node.dtype).eps):
            inside = symbol(x)
            return where(inside < math.inf, inside / (symbol(root) + float(k)) + 0, symbol(root))
    return None


@BOOK.rewriter(_STAGE, ops=["subtract"], operands=["sigmoid", "ndtr", "erfc"])
def difference_in_tail(node: Node) -> Tensor | None:
    """Values of a distribution function not far from each other are taken where they are small."""
    if not _are_akin(*node.inputs) and not all(n.op_name == "ndtr" for n in node.inputs):
        return None  # where it may cost more than it gains
    first, second = (n.inputs[0] for n in node.inputs)
    if opposite(first, second) and node.inputs[0].op_name in _AROUND_ZERO:
        return _AROUND_ZERO[node.inputs[0].op_name](symbol(first))
    pair = in_small_tails(*node.inputs)
    return None if pair is None else symbol(pair[0]) - symbol(pair[1])


@BOOK.rewriter(_STAGE, ops=["subtract"], operands=["multiply"])
def difference_of_halves(node: Node) -> Tensor | None:
    """Differences of erfc / 2, a distribution function, are taken where both are small."""
    halves = [n.inputs[i] for n in node.inputs if n.op_name == "multiply"
              for i in (0, 1) if scalar(n.inputs[1 - i]) == 0.5]
    if len(halves) < 2 or not _are_akin(*halves):
        return None
    pair = in_small_tails(*halves)
    return None if pair is None else symbol(pair[0]) * 0.5 - symbol(pair[1]) * 0.5


def _are_akin(a: Node, b: Node) -> bool:
    """Return whether two nodes apply the same function to operands that share a subexpression apart
    from numbers.
    """
    return a.op is not None and a.op is b.op and len(a.inputs) == 1 and akin(*a.inputs, *b.inputs)


@BOOK.rewriter(_STAGE, ops=["subtract"], operands=["logaddexp", "log_cosh"])
def beside_its_logsum(node: Node) -> Tensor | None:
    """x - logaddexp(logaddexp(x, a), b), where x is what is left of the sum, or most of it."""
    first, second = node.inputs
    for x, total, sign in ((first, second, -1), (second, first, 1)):
        found = _rest_of_logsum(total, x) if agree(x, node) and agree(total, node) else None
        if found is not None:
            less = 0 - found
            if total.op_name == "log_cosh":  # which is 0 at both zeros
                less = where(symbol(x) == 0, symbol(x), less)
            return found if sign > 0 else less
    return None


@BOOK.rewriter(_STAGE, ops=["subtract"], operands=["divide"])
def quotient_of_logsum_less_one(node: Node) -> Tensor | None:
    """``total / x - 1`` where ``total - x`` has such a form, of positive x."""
    first, second = node.inputs
    for quotient, one, sign in ((first, second, 1), (second, first, -1)):
        if quotient.op_name != "divide" or node.dtype.kind != "f" or _is_not_one(one):
            continue
        total, x = quotient.inputs
        found = _rest_of_logsum(total, x) if agree(x, node) and agree(total, node) else None
        if found is not None:
            low = symbol(x) < 0  # where nothing cancels
            below = where(low, symbol(total), 0) / where(low, symbol(x), -1) - 1
            left = where(low, below, found / where(low, 1, symbol(x)))
            return left if sign > 0 else 0 - left
    return None


def _is_not_one(one: Node) -> bool:
    value = scalar(one)
    return value is None or float(value) != 1


def _rest_of_logsum(total: Node, x: Node) -> Tensor | None:
    """``total - x`` where the total is the logarithm of a sum of exponentials, one of them of x."""
    if total.op_name == "softplus" and total.inputs[0] is x:
        return softplus(-symbol(x))
    if total.op_name == "log_cosh" and total.inputs[0] is x:
        near = abs_(symbol(x)) < 0.5
        twice = where(near, symbol(x), 0) * -2
        far = softplus(symbol(x) * -2) - math.log(2)
        return where(near, log1p(expm1(twice) * 0.5), far) + 0
    rest = _without(total, x)
    return None if rest is None else softplus(rest - symbol(x))


def _without(total: Node, x: Node, depth: int = _MAX_NESTED_SUMS) -> Tensor | None:
    """Remove the term ``x`` from a nested ``logaddexp``; None if it is not among the terms."""
    if total.op_name != "logaddexp" or not depth:
        return None
    for one, other in (total.inputs, total.inputs[::-1]):
        if one is x:
            return symbol(other)
        inside = _without(one, x, depth - 1)
        if inside is not None:
            return logaddexp(inside, symbol(other))
    return None


# -- probabilities ----------------------------------------------------------------------------
_rule(1 - (1 - a) * (1 - b),
      where((abs_(a) <= 1) & (abs_(b) <= 1), (a + b) - a * b, (a - 1) * (1 - b) + 1) + 0,
      "either_of_two", lambda a, b: a.dtype.kind == "f")
_rule(log1p(-((1 - a) * (1 - b))),
      where((abs_(a) <= 1) & (abs_(b) <= 1) & ((a + b) - a * b < 0.5),
            log((a + b) - a * b), log1p(where(equal(a, 1), -0.0, a - 1) * (1 - b))),
      "log_of_either", lambda a, b: a.dtype.kind == "f")

# -- inverse functions ------------------------------------------------------------------------
_rule(log((1 + x) / (1 - x)), 2 * atanh(x) + 0, "atanh")
_rule(acos(1 - x), 2 * asin(sqrt(x * 0.5)) + 0, "acos_near_one")
_rule(acosh(1 + x), 2 * asinh(sqrt(x * 0.5)) + 0, "acosh_near_one")
_rule(atanh(1 - x), 0.5 * log1p(2 * (1 - x) / (x + 0)), "atanh_near_one")

# -- angles -----------------------------------------------------------------------------------
_rule(1 - cos(x), 2 * square(sin(x * 0.5)), "one_minus_cos")
_rule(cos(x) - 1, 0 - 2 * square(sin(x * 0.5)), "cos_minus_one")
_rule(1 - square(cos(x)), square(sin(x)), "one_minus_square_cos")
_rule(1 - square(sin(x)), square(cos(x)), "one_minus_square_sin")
_rule(square(cos(x)) - 1, 0 - square(sin(x)), "square_cos_minus_one")
_rule(square(sin(x)) - 1, 0 - square(cos(x)), "square_sin_minus_one")
_rule(tan(x) - sin(x), 2 * tan(x) * square(sin(x * 0.5)) + 0, "tan_minus_sin")


@BOOK.rewriter(_STAGE, ops=["add", "subtract"], operands=["atan", "multiply", "divide", "negative"])
def angle_beside_right_angle(node: Node) -> Tensor | None:
    """``pi/2 + atan(x)`` is ``atan2(1, -x)``, and so are multiples of it."""
    if node.dtype.kind != "f":
        return None
    parts = terms(node)
    numbers = [sign * float(c) for sign, n in parts if (c := scalar(n)) is not None]
    rest = [(sign, n) for sign, n in parts if scalar(n) is None]
    if len(numbers) != 1 or len(rest) != 1 or len(parts) != 2:
        return None
    ((sign, n),) = rest
    product = factors(n)
    if product.below() or len(product.above()) != 1 or not product.number:
        return None
    (angle,) = product.above()
    k = sign * product.number
    if angle.op_name != "atan" or angle.shape != node.shape or (
            abs(abs(numbers[0] / k) - math.pi / 2) > 4 * float(np.finfo(node.dtype).eps)):
        return None
    towards = symbol(angle.inputs[0]) * (-1.0 if numbers[0] * k > 0 else 1.0)
    return atan2(number(1.0, node.dtype), towards) * math.copysign(abs(k), numbers[0])
