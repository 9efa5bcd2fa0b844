"""The normal distribution and functions related to the error function, with stable tails."""

from __future__ import annotations

import math
from typing import Any

from agnesi.core.ir.coefficients import ERFC_TAIL
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import safe_divide, safe_multiply, square
from agnesi.ops.base.elementwise import Function
from agnesi.ops.base.select import maximum, minimum, where
from agnesi.ops.elementwise.explog import exp
from agnesi.ops.elementwise.formula import horner, row, unary

__all__ = ["erfcinv", "erfcx", "log_ndtr", "ndtr", "ndtri"]

_ROOT_PI, _ROOT_TWO = math.sqrt(math.pi), math.sqrt(2)
#: Numerators and denominators of Wichura's algorithm AS 241 (Applied Statistics 37, 1988).
_CENTRE = (
    (3.3871328727963665, 133.14166789178438, 1971.5909503065513, 13731.69376550946,
      45921.95393154987, 67265.7709270087, 33430.57558358813, 2509.0809287301227),
    (1.0, 42.31333070160091, 687.1870074920579, 5394.196021424751, 21213.794301586597,
      39307.89580009271, 28729.085735721943, 5226.495278852854),
)  # fmt: skip
_MIDDLE = (
    (1.4234371107496835, 4.630337846156546, 5.769497221460691, 3.6478483247632045,
      1.2704582524523684, 0.2417807251774506, 0.022723844989269184, 0.0007745450142783414),
    (1.0, 2.053191626637759, 1.6763848301838038, 0.6897673349851, 0.14810397642748008,
      0.015198666563616457, 0.0005475938084995345, 1.0507500716444169e-09),
)  # fmt: skip
_FAR = (
    (6.657904643501103, 5.463784911164114, 1.7848265399172913, 0.29656057182850487,
      0.026532189526576124, 0.0012426609473880784, 2.7115555687434876e-05,
      2.0103343992922881e-07),
    (1.0, 0.599832206555888, 0.1369298809227358, 0.014875361290850615, 0.0007868691311456133,
      1.8463183175100548e-05, 1.421511758316446e-07, 2.0442631033899397e-15),
)  # fmt: skip
#: Coefficients of sqrt(pi) * x * erfcx(x) in powers of 1 / (2 x^2): the asymptotic series.
_BEYOND = (1.0, -1.0, 3.0, -15.0, 105.0, -945.0, 10395.0, -135135.0)


def _scaled_tail(m: Any, x: Any) -> Any:
    """``erfcx`` for x >= 1/2."""
    middle, far = m.minimum(x, 27.0), m.maximum(x, 27.0)
    found = horner((middle - 4.0) / (middle + 4.0), ERFC_TAIL) / (1.0 + 2.0 * middle)
    inverse = 1.0 / far
    beyond = inverse * horner(0.5 * inverse * inverse, _BEYOND) / _ROOT_PI
    return m.where(x > 27.0, beyond, found)


def _bell(m: Any, x: Any, sign: float) -> Any:
    """``exp(sign * x * x)``: the square in two parts, because exp amplifies its rounding error."""
    high = m.round(x * 64.0) / 64.0
    return m.exp(sign * high * high) * m.exp(sign * (x - high) * (x + high))


def _erfcx(m: Any, x: Any) -> Any:
    low = m.minimum(x, 0.5)
    grown = m.where(x < -26.7, math.inf, _bell(m, low, 1.0) * m.erfc(low))
    return m.where(x < 0.5, grown, _scaled_tail(m, m.maximum(x, 0.5)))


def _ndtr(m: Any, x: Any) -> Any:
    if m.single:  # double precision has digits enough for the tail
        return 0.5 * m.erfc(x * (-1 / _ROOT_TWO))
    low = m.minimum(m.maximum(x, -40.0), -1.0)
    tail = 0.5 * _bell(m, low, -0.5) * _scaled_tail(m, low * (-1 / _ROOT_TWO))
    return m.where(x < -1.0, tail, 0.5 * m.erfc(m.maximum(x, -1.0) * (-1 / _ROOT_TWO)))


def _log_ndtr(m: Any, x: Any) -> Any:
    low = m.minimum(x, -1.0)
    tail = m.log(0.5 * _scaled_tail(m, low * (-1 / _ROOT_TWO))) - 0.5 * low * low
    tail = m.where(m.equal(x, -math.inf), -math.inf, tail)
    return m.where(x < -1.0, tail, m.log1p(-0.5 * m.erfc(m.maximum(x, -1.0) / _ROOT_TWO)))


def _ratio(t: Any, pair: Any) -> Any:
    return horner(t, pair[0]) / horner(t, pair[1])


def _ndtri(m: Any, p: Any, rest: Any) -> Any:
    """The quantile of p; ``rest`` is 1 - p."""
    q = p - 0.5
    tail = m.minimum(p, rest)
    r = m.sqrt(-m.log(tail))
    size = m.where(r <= 5.0, _ratio(r - 1.6, _MIDDLE), _ratio(m.minimum(r, 40.0) - 5.0, _FAR))
    size = m.where(m.equal(tail, 0.0), math.inf, size)
    found = m.copysign(size, q)
    centre = q * _ratio(0.180625 - q * q, _CENTRE)
    found = m.where(m.abs(q) <= 0.425, centre, found)
    return m.where(m.logical_or(p < 0.0, p > 1.0), math.nan, found)


def _density(x: Tensor) -> Tensor:
    return exp(square(x) * -0.5) * (1 / math.sqrt(2 * math.pi))


#: (1 - sqrt(pi) x erfcx(x)) (1 + 2x)^2 in t = (x - 4) / (x + 4) for x >= 1, relative error 3e-17.
_SLOPES = (
    2.3246299383996925, -0.30907317353249114, -0.277873709681844, 0.5927591602607264,
    -0.5774739968236947, 0.35336078818360744, -0.1017116546107589, -0.05590020858178601,
    0.09917889682668458, -0.07397630033702911, 0.034281543195950545, -0.008516973796402835,
    -0.0007159475209024901, 0.0014446730815530072, -0.00038617500854483383,
    -9.722493628266692e-05, 8.219118618974636e-05, -2.8244696319543362e-06,
    -1.2630823621527051e-05, 2.8683335043444283e-06, 1.4930728222818198e-06,
    -8.640301728568676e-07, 1.31612432029321e-07,
)  # fmt: skip


def _slope_of_erfcx(x: Tensor, y: Tensor) -> Tensor:
    """``2 * x * y - 2 / sqrt(pi)``, in which digits are lost where x is large."""
    above = maximum(x, 1.0)
    far = horner(1.0 - 8.0 / (above + 4.0), _SLOPES) / square(2.0 * above + 1.0)
    return where(x > 1.0, far * (-2 / _ROOT_PI), 2 * minimum(x, 1.0) * y - 2 / _ROOT_PI)


ERFCX = row("erfcx", _erfcx, (lambda g, x, y: safe_multiply(g, _slope_of_erfcx(x, y)),), __name__)
NDTR = row("ndtr", _ndtr, (lambda g, x: g * _density(x),), __name__, scipy="ndtr", above=-1.0)
LOG_NDTR = row("log_ndtr", _log_ndtr, (  # density over distribution function, without underflow
    lambda g, x: g * safe_divide(math.sqrt(2 / math.pi), erfcx(x * (-1 / _ROOT_TWO))),), __name__,
    scipy="log_ndtr")
NDTRI = row("ndtri", lambda m, p: _ndtri(m, p, 1.0 - p),
            (lambda g, y: safe_divide(g, _density(y)),), __name__, scipy="ndtri")
ERFCINV = row(
    "erfcinv",  # half of the least number is zero
    lambda m, y: m.where(y < 0.0, math.nan, _ndtri(m, 0.5 * y, 1.0 - 0.5 * y) * (-1 / _ROOT_TWO)),
    (lambda g, y: -safe_divide(g, exp(-square(y)) * (2 / _ROOT_PI)),),
    __name__, scipy="erfcinv",
)

erfcx: Function = unary(ERFCX, "``exp(x**2) * erfc(x)``, without underflow.", "[0.0]", "[1.]")
ndtr = unary(NDTR, "Distribution function of the standard normal, ``erfc(-x / sqrt(2)) / 2``.",
    "[0.0]", "[0.5]")
log_ndtr = unary(
    LOG_NDTR, "Logarithm of :func:`ndtr`, far in the tail too.", "[float('-inf')]", "[-inf]"
)
ndtri = unary(NDTRI, "Quantiles of the standard normal: inverse of :func:`ndtr`.", "[0.5]", "[0.]")
erfcinv = unary(ERFCINV, "Inverse of ``erfc``, on [0, 2].", "[0.0]", "[inf]")
