"""Integrals without a closed form (exponential, elliptic, Owen's T), and Lambert's W.

Elliptic integrals are generated code, by the arithmetic-geometric mean; others are SciPy's.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from agnesi.core.public import public
from agnesi.core.tensor import Tensor
from agnesi.ops.arith import abs as magnitude
from agnesi.ops.arith import safe_divide, square
from agnesi.ops.elementwise import Elementwise, Function
from agnesi.ops.explog import exp
from agnesi.ops.formula import binary, called, horner, only_scipy, row, unary
from agnesi.ops.numeric import sinc
from agnesi.ops.select import where
from agnesi.ops.special import erf
from agnesi.ops.trig import cos


# -- elliptic integrals (Abramowitz and Stegun, 17.6) -------------------------------------------
def _means(m: Any, x: Any) -> tuple[Any, Any]:
    """Both complete elliptic integrals of parameter ``x``."""
    a, b, total, weight = x * 0.0 + 1.0, m.sqrt(1.0 - x), 0.5 * x, 1.0
    for _ in range(8):
        c = 0.5 * (a - b)
        a, b = 0.5 * (a + b), m.sqrt(a * b)
        total = total + weight * (c * c)
        weight *= 2.0
    first, second = 0.5 * math.pi / a, 0.5 * math.pi / a * (1.0 - total)
    one, low = m.equal(x, 1.0), m.equal(x, -math.inf)
    first = m.where(one, math.inf, m.where(low, 0.0, first))
    return first, m.where(one, 1.0, m.where(low, math.inf, second))


def _ellipk(m: Any, x: Any) -> Any:
    return _means(m, x)[0]


def _ellipe(m: Any, x: Any) -> Any:
    return _means(m, x)[1]


_SQUARES = [(math.comb(2 * n, n) / 4**n) ** 2 for n in range(22)]
#: Derivatives of both at small parameters, as power series (17.3.11 and 17.3.12).
_SLOPE_K = [math.pi / 2 * n * c for n, c in enumerate(_SQUARES)][1:]
_SLOPE_E = [-math.pi / 2 * n * c / (2 * n - 1) for n, c in enumerate(_SQUARES)][1:]


def _slope(x: Tensor, series: list[float], rule: Any) -> Tensor:
    near = magnitude(x) < 0.15
    safe = where(near, 0.5, x)
    return where(near, horner(where(near, x, 0), series), rule(safe))


ELLIPK = row("ellipk", _ellipk, (
    lambda g, x: g * _slope(x, _SLOPE_K, lambda m: (
        ellipe(m) - (1 - m) * ellipk(m)) / (2 * m * (1 - m))),
), __name__, scipy="ellipk")
ELLIPE = row("ellipe", _ellipe, (
    lambda g, x: g * _slope(x, _SLOPE_E, lambda m: (ellipe(m) - ellipk(m)) / (2 * m)),
), __name__, scipy="ellipe")


# -- others -------------------------------------------------------------------------------------
def _branch(k: int) -> Any:
    def value(found: Any, x: np.ndarray) -> np.ndarray:
        w = found(x, k)
        return np.where(w.imag == 0, w.real, np.nan)

    return value


def _lambert_rule(g: Tensor, y: Tensor) -> Tensor:
    return g * (exp(-y) / (1 + y))


def _lambert(name: str, k: int) -> Elementwise:
    value = only_scipy("lambertw", _branch(k))
    return Elementwise(name, value, (_lambert_rule,), kinds="f", lowered=False, home=__name__)


EXPI = called("expi", (lambda g, x: safe_divide(g * exp(x), x),), __name__)
EXP1 = called("exp1", (lambda g, x: -safe_divide(g * exp(-x), x),), __name__)
SI = called("sici", (lambda g, x: g * sinc(x * (1 / math.pi)),), __name__, own="si", output=0)
CI = called("sici", (lambda g, x: safe_divide(g * cos(x), x),), __name__, own="ci", output=1)
LAMBERTW, LAMBERTW_LOW = _lambert("lambertw", 0), _lambert("lambertw_low", -1)
OWENS_T = called("owens_t", (
    lambda g, a, b: g * (exp(square(a) * -0.5) * erf(a * b * math.sqrt(0.5))
                         * (-0.5 / math.sqrt(2 * math.pi))),
    lambda g, a, b: g * (exp(-0.5 * square(a) * (1 + b * b)) / (2 * math.pi * (1 + b * b))),
), __name__)

ellipk: Function = unary(
    ELLIPK, "Complete elliptic integral of the first kind, of the parameter m.", "[1.0]", "[inf]"
)
ellipe: Function = unary(
    ELLIPE, "Complete elliptic integral of the second kind, of the parameter m.", "[1.0]", "[1.]"
)
expi = unary(EXPI, "Exponential integral Ei.", "[0.0]", "[-inf]")
exp1 = unary(EXP1, "Exponential integral E1.", "[0.0]", "[inf]")
owens_t = binary(OWENS_T, "Owen's T function.", "[0.0], [0.0]", "[0.]")
_si, _ci = unary(SI), unary(CI)
_lambertw, _lambertw_low = unary(LAMBERTW), unary(LAMBERTW_LOW)


@public
def sici(x: Any, /) -> tuple[Tensor, Tensor]:
    """Sine and cosine integrals.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.special.sici(ag.tensor([0.0]))
    (tensor([0.]), tensor([-inf]))
    """
    return _si(x), _ci(x)


@public
def lambertw(x: Any, k: int = 0, /, *, out: Tensor | None = None) -> Tensor:
    """Real solution of ``w * exp(w) = x``: branch 0, or -1 for x in [-1/e, 0).

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.special.lambertw(ag.tensor([0.0, ag.e]))
    tensor([0., 1.])
    """
    if k not in (0, -1):
        raise ValueError(f"branches 0 and -1 are real, not {k}")
    return _lambertw_low(x) if k else _lambertw(x)
