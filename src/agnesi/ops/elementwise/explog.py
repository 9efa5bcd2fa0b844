"""Exponentials and logarithms."""

from __future__ import annotations

import math

import numpy as np

from agnesi.core.ir import loops
from agnesi.core.keywords import shown_as, strict
from agnesi.core.parameter_types import TensorLike
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import safe_divide, safe_multiply
from agnesi.ops.base.elementwise import Elementwise, Function, binary, unary

_LN2, _LN10 = math.log(2), math.log(10)


def _complex_expm1(x: np.ndarray) -> np.ndarray:
    """As NumPy; of numbers that are real or not finite, as the array API says."""
    result = np.asarray(np.expm1(x))
    real = x.imag == 0
    np.copyto(result, np.exp(x) - 1, where=~np.isfinite(x))
    np.copyto(result.real, np.expm1(x.real) + 0.0, where=real)  # 0 for -0, too
    np.copyto(result.imag, x.imag, where=real)
    return result


def _complex_log1p(x: np.ndarray) -> np.ndarray:
    """As NumPy, but for small numbers, of which it loses digits."""
    result = np.asarray(np.log1p(x))
    a, b = x.real, x.imag
    near = (abs(a) < 0.5) & (abs(b) < 0.5)
    np.copyto(result.real, 0.5 * np.log1p(a + a + (a * a + b * b)), where=near)
    return result


EXP = Elementwise("exp", np.exp, (lambda g, y: safe_multiply(g, y),), kinds="fc")
EXP2 = Elementwise("exp2", np.exp2, (lambda g, y: safe_multiply(g, y) * _LN2,), kinds="fc")
EXPM1 = Elementwise(
    "expm1", np.expm1, (lambda g, x: safe_multiply(g, exp(x)),), kinds="fc",
    of_complex=_complex_expm1,
)
LOG = Elementwise("log", np.log, (lambda g, x: safe_divide(g, x),), kinds="fc")
LOG2 = Elementwise("log2", np.log2, (lambda g, x: safe_divide(g, x) * (1 / _LN2),), kinds="fc")
LOG10 = Elementwise("log10", np.log10, (lambda g, x: safe_divide(g, x) * (1 / _LN10),), kinds="fc")
LOG1P = Elementwise(
    "log1p", np.log1p, (lambda g, x: safe_divide(g, x + 1),), kinds="fc",
    of_complex=_complex_log1p,
)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    """The smaller part, ``1 / (1 + exp(|x|))``, or 1 less it: no digit is lost at 0 or 1."""
    if x.dtype == np.float32:  # in double precision neither end is reached
        e = np.exp(np.negative(x, dtype=np.float64))
        e += 1
        return np.asarray(np.reciprocal(e).astype(np.float32))
    e = np.exp(-np.abs(x))
    e /= e + 1
    return np.asarray(np.abs(np.greater(x, 0) - e))


def _complex_logaddexp(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """By the one with the greater real part."""
    first = a.real >= b.real
    top, low = np.where(first, a, b), np.where(first, b, a)
    same = (top.real == low.real) & np.isinf(top.real)
    step = np.where(same & (top == low), 0, low - top)
    return np.asarray(top + np.log1p(np.exp(step)))


def share_of_sum(a: Tensor, b: Tensor) -> Tensor:
    """The part of ``a`` in ``logaddexp(a, b)``; half, where both are the same infinity."""
    less = (a - b).masked_fill((a == b) & a.isinf(), 0)
    if less.dtype.kind != "c":
        return sigmoid(less)
    limit = float(np.log(np.finfo(less.dtype).max)) - 4  # where exponentials overflow
    most, least = less.real > limit, less.real < -limit
    inside = sigmoid(less.masked_fill(most | least, 0))
    return inside.masked_fill(most, 1).masked_fill(least, 0)


SIGMOID = Elementwise(
    "sigmoid", _sigmoid, (lambda g, y: g * (y * (1 - y)),), kinds="fc",
    of_complex=lambda x: np.asarray(np.reciprocal(np.exp(np.negative(x)) + 1))
)
SOFTPLUS = Elementwise(
    "softplus", lambda x: np.logaddexp(x, np.zeros((), x.dtype)), (lambda g, x: g * sigmoid(x),),
    kinds="f",
)
LOGADDEXP = Elementwise(
    "logaddexp", np.logaddexp,
    (lambda g, a, b: g * share_of_sum(a, b), lambda g, a, b: g * share_of_sum(b, a)), kinds="fc",
    of_complex=_complex_logaddexp, numpy="unvectorized"
)

exp: Function = unary(
    EXP, "``e`` to the power of each element.", "[0.0, float('-inf')]", "[1., 0.]"
)
exp2 = unary(EXP2, "2 to the power of each element.", "[3.0, -1.0]", "[8. , 0.5]")
expm1 = unary(
    EXPM1, "``exp(x) - 1``, exact for small ``x`` too.", "[0.0, 1e-10]", "[0.e+00, 1.e-10]"
)
log = unary(LOG, "Natural logarithm; NaN for negative numbers.", "[1.0, 0.0]", "[ 0., -inf]")
log2 = unary(LOG2, "Logarithm to base 2.", "[8.0, 0.5]", "[ 3., -1.]")
log10 = unary(LOG10, "Logarithm to base 10.", "[1.0, 0.0]", "[ 0., -inf]")
log1p = unary(
    LOG1P, "``log(1 + x)``, exact for small ``x`` too.", "[0.0, 1e-10]", "[0.e+00, 1.e-10]"
)
sigmoid: Function = unary(SIGMOID, "``1 / (1 + exp(-x))``.", "[0.0, float('inf')]", "[0.5, 1. ]")
softplus = unary(
    SOFTPLUS, "``log(1 + exp(x))``, without overflow.", "[float('-inf'), 1000.0]", "[ 0., 1000.]"
)
logaddexp = binary(
    LOGADDEXP, "``log(exp(x1) + exp(x2))``, without overflow.",
    "[0.0, 1000.0], [float('-inf'), 0.0]", "[ 0., 1000.]",
)


XLOGY = Elementwise(
    "xlogy", lambda a, b: np.where((a == 0) & (b == b), np.zeros((), a.dtype), a * np.log(b)),
    (lambda g, b: g * log(b), lambda g, a, b: safe_divide(g * a, b)),
    kinds="f", expand=lambda a, b: loops.where(a.eq(0) & b.eq(b), 0, a * loops.call("log", b)),
)
_xlogy_row = binary(XLOGY)


@strict
@shown_as("x1", "x2")
def xlogy(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """``x1 * log(x2)``, and 0 where ``x1`` is 0.

    :param x1, x2: They broadcast; integers become floats.
    :returns: Of the broadcast shape; NaN where ``x2`` is NaN, also beside 0.
    :raises ShapeError: If the shapes do not broadcast.
    :see: special.xlog1py, special.entr, log

    >>> ag.xlogy(ag.tensor([0.0, 2.0]), ag.tensor([0.0, 1.0]))
    tensor([0., 0.])
    """
    return _xlogy_row(input, other, out=out)
