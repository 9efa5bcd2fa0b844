"""Hyperbolic functions and their inverses."""

from __future__ import annotations

import numpy as np

from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import safe_divide, safe_multiply, sqrt
from agnesi.ops.base.elementwise import Elementwise, Function, unary
from agnesi.ops.elementwise.trig import hypot

SINH = Elementwise("sinh", np.sinh, (lambda g, x: safe_multiply(g, cosh(x)),), kinds="fc")
COSH = Elementwise("cosh", np.cosh, (lambda g, x: safe_multiply(g, sinh(x)),), kinds="fc")

def _complex_tanh(x: np.ndarray) -> np.ndarray:
    """As NumPy; at infinity the sign of zero is that of ``x``, as the array API says."""
    result = np.asarray(np.tanh(x))
    beyond = np.isinf(x.real) & np.isfinite(x.imag)
    np.copyto(result.imag, np.copysign(result.imag, x.imag), where=beyond)
    return result


def _root(x: Tensor) -> Tensor:
    """``sqrt(x**2 + 1)``; of real numbers also where the square overflows."""
    return sqrt(x * x + 1) if x.dtype.kind == "c" else hypot(x, 1)


TANH = Elementwise(
    "tanh", np.tanh, (lambda g, y: g * (1 - y * y),), kinds="fc", of_complex=_complex_tanh
)
ASINH = Elementwise("asinh", np.arcsinh, (lambda g, x: g / _root(x),), kinds="fc")
ACOSH = Elementwise(
    "acosh", np.arccosh, (lambda g, x: safe_divide(g, sqrt(x - 1) * sqrt(x + 1)),), kinds="fc"
)
ATANH = Elementwise("atanh", np.arctanh, (lambda g, x: safe_divide(g, 1 - x * x),), kinds="fc")

sinh: Function = unary(SINH, "Hyperbolic sine.", "[0.0, float('inf')]", "[ 0., inf]")
cosh: Function = unary(COSH, "Hyperbolic cosine.", "[0.0, float('inf')]", "[ 1., inf]")
tanh = unary(TANH, "Hyperbolic tangent.", "[0.0, float('inf')]", "[0., 1.]")
asinh = unary(ASINH, "Inverse hyperbolic sine.", "[0.0, float('inf')]", "[ 0., inf]")
acosh = unary(
    ACOSH, "Inverse hyperbolic cosine; NaN for numbers below 1.",
    "[1.0, float('inf')]", "[ 0., inf]",
)
atanh = unary(
    ATANH, "Inverse hyperbolic tangent; NaN outside of [-1, 1].", "[0.0, 1.0]", "[ 0., inf]"
)
