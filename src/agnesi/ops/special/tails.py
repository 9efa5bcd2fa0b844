"""Logarithms of functions whose tails vanish or overflow, which rules put where people write them.

They have no public names: ``log(cosh(x))`` becomes one when it is compiled.
"""

from __future__ import annotations

import math
from typing import Any

from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import reciprocal, safe_divide
from agnesi.ops.base.elementwise import unary as plain
from agnesi.ops.elementwise.explog import expm1
from agnesi.ops.elementwise.formula import row
from agnesi.ops.elementwise.hyperbolic import tanh
from agnesi.ops.special.normal import erfcx

_LN2 = math.log(2)


def _log_cosh(m: Any, x: Any) -> Any:
    size = m.abs(x)
    near = size < 0.7
    t = m.tanh(size)
    rest = m.log1p(m.where(near, -t * t, m.exp(-2.0 * size)))
    return m.where(near, -0.5 * rest, rest + (size - _LN2))


def _log_one_minus_exp(m: Any, x: Any) -> Any:
    near = m.log(-m.expm1(m.maximum(x, -_LN2)))
    return m.where(x < -_LN2, m.log1p(-m.exp(x)), near)


def _log_erfc(m: Any, x: Any) -> Any:
    far = m.maximum(x, 1.0)
    tail = m.log(m.erfcx(far)) - far * far
    near = m.log1p(-m.erf(m.minimum(x, 1.0)))
    return m.where(x > 1.0, m.where(m.equal(x, math.inf), -math.inf, tail), near)


def _slope(x: Tensor) -> Tensor:
    """The derivative of the logarithm of erfc."""
    return reciprocal(erfcx(x)) * (-2 / math.sqrt(math.pi))


LOG_COSH = row("log_cosh", _log_cosh, (lambda g, x: g * tanh(x),), __name__, double=False)
LOG_ONE_MINUS_EXP = row(
    "log_one_minus_exp", _log_one_minus_exp, (lambda g, x: -safe_divide(g, expm1(-x)),), __name__
)
LOG_ERFC = row("log_erfc", _log_erfc, (lambda g, x: g * _slope(x),), __name__)

log_cosh = plain(LOG_COSH)
log_one_minus_exp = plain(LOG_ONE_MINUS_EXP)
log_erfc = plain(LOG_ERFC)
