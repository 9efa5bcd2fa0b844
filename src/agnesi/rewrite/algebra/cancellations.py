"""Differences in which digits are lost, and the forms in which they are not.

What NaN, infinities and signs of zero ask for stands beside (see ``tests/rewrite``): a zero is
added where the difference is never -0.
"""

from __future__ import annotations

import math

import numpy as np

from agnesi.core.ir.node import Node
from agnesi.ops.base.arith import abs as abs_
from agnesi.ops.base.arith import reciprocal, sqrt, square
from agnesi.ops.base.select import where
from agnesi.ops.elementwise.explog import exp, expm1, log, log1p, logaddexp, sigmoid, softplus
from agnesi.ops.elementwise.hyperbolic import acosh, asinh, atanh, cosh, sinh, tanh
from agnesi.ops.elementwise.trig import acos, asin, atan, atan2, cos, sin, tan
from agnesi.ops.special.normal import erfcx, ndtr
from agnesi.ops.special.special import erf, erfc
from agnesi.rewrite.pattern import scalar, variables
from agnesi.rewrite.rules import Book

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
_rule(cosh(x) - sinh(x), exp(-x), "cosh_minus_sinh")
_rule(cosh(x) + sinh(x), exp(x), "cosh_plus_sinh")
_rule(1 - tanh(x), 2 * sigmoid(-2 * x), "one_minus_tanh")
_rule(softplus(x) - x, softplus(-x), "softplus_minus")
_rule(logaddexp(a, b) - a, softplus(b - a), "logaddexp_minus", lambda a, b: True)
_rule((log1p(x) + 0) - log(x), where(x < 0, np.nan, log1p(reciprocal(x + 0))), "log_of_next")
_rule(log1p(x) - log(x), where(x < 0, np.nan, log1p(reciprocal(x + 0))), "log1p_minus_log")

# -- the normal distribution ------------------------------------------------------------------
_rule(1 - erf(x), erfc(x), "one_minus_erf")
_rule(erf(x) - 1, 0 - erfc(x), "erf_minus_one")
_rule(1 + erf(x), erfc(-x), "one_plus_erf", _double)
_rule(1 - erfc(x), erf(x) + 0, "one_minus_erfc")
_rule(1 - ndtr(x), ndtr(-x), "one_minus_ndtr")
_rule(exp(square(x)) * erfc(x), erfcx(x), "scaled_erfc")

# -- roots and powers -------------------------------------------------------------------------
_rule(sqrt(x + c) - sqrt(x), c / (sqrt(x + c) + sqrt(x)), "difference_of_roots", _number)
_rule(sqrt(1 + x) - 1, where(x < np.inf, x / (sqrt(1 + x) + 1) + 0, sqrt(x)),
      "root_minus_one")
_rule(1 - sqrt(1 - x), where(x > -np.inf, x / (sqrt(1 - x) + 1) + 0, x),
      "one_minus_root")
_rule(sqrt(square(x) + c) - x,
      where(x > 0, c / (sqrt(square(x) + c) + x), sqrt(square(x) + c) + abs_(x)), "root_beside",
      _number)
_rule(reciprocal(1 + x) - 1,
      where(abs_(x) < np.inf, 0 - x / (1 + x), reciprocal(x) - 1), "reciprocal_minus_one")
_rule(reciprocal(x + c) - reciprocal(x), (-c / x) / (x + c) + 0, "difference_of_reciprocals",
      _number)
_rule(square(a) - square(b), (a - b) * (a + b) + 0, "difference_of_squares",
      lambda a, b: a.dtype.kind == "f")

# -- inverse functions ------------------------------------------------------------------------
_rule(log(x + sqrt(square(x) + 1)), asinh(x) + 0, "asinh")
_rule(log(x + sqrt(square(x) - 1)), acosh(x), "acosh")
_rule(log((1 + x) / (1 - x)), 2 * atanh(x) + 0, "atanh")
_rule(acos(1 - x), 2 * asin(sqrt(x * 0.5)) + 0, "acos_near_one")

# -- angles -----------------------------------------------------------------------------------
_rule(1 - cos(x), 2 * square(sin(x * 0.5)), "one_minus_cos")
_rule(cos(x) - 1, 0 - 2 * square(sin(x * 0.5)), "cos_minus_one")
_rule(tan(x) - sin(x), 2 * tan(x) * square(sin(x * 0.5)) + 0, "tan_minus_sin")
_rule(atan(x + c) - atan(x), atan2(c, 1 + x * (x + c)), "difference_of_angles", _number)
