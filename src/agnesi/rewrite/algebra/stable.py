"""Numerical stability: forms that overflow, vanish or cancel become those that do not."""

from __future__ import annotations

import math

from agnesi.core.ir.node import Node
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import abs as abs_
from agnesi.ops.base.arith import power, reciprocal, safe_multiply, sqrt, square
from agnesi.ops.base.select import where
from agnesi.ops.elementwise.explog import exp, expm1, log, log1p, logaddexp, sigmoid, softplus
from agnesi.ops.elementwise.hyperbolic import tanh
from agnesi.rewrite.intervals import at_least, keeps_sign_of_zero, needs, sources
from agnesi.rewrite.pattern import scalar, variables
from agnesi.rewrite.rules import Book

BOOK = Book()
rule = BOOK.rule
a, b, x = variables("a b x")
c = variables("c")


def _real(x: Node) -> bool:
    return x.dtype.kind == "f"


def _multiple(x: Node, c: Node) -> bool:
    value = scalar(c)
    return _real(x) and value is not None and 0 < abs(float(value)) < math.inf


def _where_defined(x: Tensor, least: float, found: Tensor) -> Tensor:
    """A form of what is NaN where ``x`` is less than a number, or NaN."""
    return where(x >= least, found, math.nan)

# Zeros are added where the results would have another sign of zero; they go if that is proved not
# to be.
# -- logarithms and exponentials --------------------------------------------------------------
rule(log(1 + exp(x)), softplus(x), name="log_one_plus_exp", stage="stabilize", tags=("softplus",))
rule(log1p(exp(x)), softplus(x), name="log1p_of_exp", stage="stabilize", tags=("softplus",))
rule(log(exp(a) + exp(b)), logaddexp(a, b), name="log_of_two_exps", stage="stabilize",
     tags=("softplus",))
rule(log(1 + x), log1p(x) + 0, name="log1p", stage="stabilize")
rule(log(1 - x), log1p(-x) + 0, name="log1p_of_negative", stage="stabilize", when=_real)
rule(exp(x) - 1, expm1(x) + 0, name="expm1", stage="stabilize")
rule(1 - exp(x), 0 - expm1(x), name="one_minus_exp", stage="stabilize")
rule(exp(log1p(x)), 1 + x, name="exp_of_log1p", stage="stabilize", tags=("cancel",),
     proof=lambda x: at_least(x, -1.0))
rule(expm1(log1p(x)), x, name="expm1_of_log1p", stage="stabilize", tags=("cancel",),
     proof=lambda x: at_least(x, -1.0))
rule(log1p(expm1(x)), x, name="log1p_of_expm1", stage="stabilize", tags=("cancel",))
rule(expm1(log(x)), x - 1, name="expm1_of_log", stage="stabilize", tags=("cancel",),
     proof=lambda x: at_least(x, 0.0))
rule(exp(log(x)), _where_defined(x, 0.0, abs_(x)), name="exp_of_log_or_nan", stage="stabilize",
     when=_real)
rule(exp(c * log(x)), power(_where_defined(x, 0.0, abs_(x)), c), name="exp_of_multiple_of_log",
     stage="stabilize", when=_multiple)
rule(exp(log1p(x)), _where_defined(x, -1.0, 1 + x), name="exp_of_log1p_or_nan",
     stage="stabilize", when=_real)
rule(expm1(log1p(x)), _where_defined(x, -1.0, x), name="expm1_of_log1p_or_nan",
     stage="stabilize", when=_real)
rule(expm1(log(x)), _where_defined(x, 0.0, x - 1), name="expm1_of_log_or_nan",
     stage="stabilize", when=_real)
rule(x + (-1), x - 1, name="minus_one", stage="stabilize", when=_real)
rule(log(reciprocal(x)), 0 - log(x), name="log_of_reciprocal", stage="stabilize",
     proof=lambda x: at_least(x, 0.0) and keeps_sign_of_zero(x))
rule(log(sqrt(x)), 0.5 * log(x), name="log_of_sqrt", stage="stabilize", when=_real)
rule(log(square(x)), 2 * log(x), name="log_of_square_of_positive", stage="stabilize",
     when=lambda x: _real(x) and at_least(x, 0.0))
rule(log(square(x)), 2 * log(abs_(x)), name="log_of_square", stage="stabilize", when=_real)
rule(sqrt(square(x)), abs_(x), name="sqrt_of_square", stage="stabilize", when=_real)

# -- the logistic function --------------------------------------------------------------------
rule(reciprocal(1 + exp(x)), sigmoid(-x), name="sigmoid", stage="stabilize", tags=("sigmoid",))
rule(1 - sigmoid(x), sigmoid(-x), name="one_minus_sigmoid", stage="stabilize", tags=("sigmoid",))
rule(sigmoid(x) - 1, 0 - sigmoid(-x), name="sigmoid_minus_one", stage="stabilize",
     tags=("sigmoid",))
rule(log(sigmoid(x)), 0 - softplus(-x), name="log_of_sigmoid", stage="stabilize",
     tags=("sigmoid", "softplus"))
rule(log1p(-sigmoid(x)), -softplus(x), name="log1p_of_minus_sigmoid", stage="stabilize",
     tags=("sigmoid", "softplus"))
# A sigmoid is finite, so nothing is to be guarded.
rule(safe_multiply(a, sigmoid(x)), a * sigmoid(x), name="safe_times_sigmoid", stage="stabilize",
     tags=("sigmoid",), proof=lambda a, x: scalar(x) is None and needs(x) <= sources(a))
rule((exp(x) - exp(-x)) / (exp(x) + exp(-x)), tanh(x) + 0, name="tanh", stage="stabilize")
