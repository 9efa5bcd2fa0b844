"""Logarithms of functions whose tails vanish or overflow, which rules put where people write them.

They have no public names: ``log(cosh(x))`` becomes one when it is compiled.
"""

from __future__ import annotations

import math
from typing import Any

from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import reciprocal, safe_divide
from agnesi.ops.base.elementwise import unary as plain
from agnesi.ops.base.select import maximum, minimum
from agnesi.ops.elementwise.explog import exp, expm1, sigmoid, softplus
from agnesi.ops.elementwise.formula import row
from agnesi.ops.elementwise.hyperbolic import tanh
from agnesi.ops.special.normal import erfcx

_LN2 = math.log(2)
#: Below it softplus is exp, and 1 - exp(-exp) as well.
_TAIL = -37.0


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


def _slope_of_log_softplus(x: Tensor) -> Tensor:
    inside = maximum(x, _TAIL)
    return sigmoid(inside) / softplus(inside)


def _log_cloglog(m: Any, x: Any) -> Any:
    small = m.exp(m.minimum(m.maximum(x, _TAIL), 0.0))
    near = x + m.log(-m.expm1(-small) / small)
    return m.where(x < 0.0, near, m.log1p(-m.exp(-m.exp(m.maximum(x, 0.0)))))


def _slope_of_log_cloglog(x: Tensor) -> Tensor:
    rate = exp(minimum(maximum(x, _TAIL), 7.0))
    return rate / expm1(rate)


def _slope(x: Tensor) -> Tensor:
    """The derivative of the logarithm of erfc."""
    return reciprocal(erfcx(x)) * (-2 / math.sqrt(math.pi))


LOG_COSH = row("log_cosh", _log_cosh, (lambda g, x: g * tanh(x),), __name__, double=False)
LOG_ONE_MINUS_EXP = row(
    "log_one_minus_exp", _log_one_minus_exp, (lambda g, x: -safe_divide(g, expm1(-x)),), __name__
)
LOG_ERFC = row("log_erfc", _log_erfc, (lambda g, x: g * _slope(x),), __name__)

LOG_SOFTPLUS = row(
    "log_softplus",
    lambda m, x: m.where(x < _TAIL, x, m.log(m.softplus(m.maximum(x, _TAIL)))),
    (lambda g, x: g * _slope_of_log_softplus(x),), __name__
)
#: log(1 - exp(-exp(x))), the inverse of the complementary log-log link.
LOG_CLOGLOG = row(
    "log_cloglog", _log_cloglog, (lambda g, x: g * _slope_of_log_cloglog(x),), __name__
)

log_cosh = plain(LOG_COSH)
log_one_minus_exp = plain(LOG_ONE_MINUS_EXP)
log_erfc = plain(LOG_ERFC)
log_softplus = plain(LOG_SOFTPLUS)
log_cloglog = plain(LOG_CLOGLOG)
