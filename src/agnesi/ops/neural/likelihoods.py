"""Building blocks of log-densities, with stable tails and right limits."""

from __future__ import annotations

import math
from typing import Any

from agnesi.core.parameter_types import Axis, TensorLike
from agnesi.core.public import planned, public
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import abs as magnitude
from agnesi.ops.base.arith import negative, safe_divide, sqrt, square
from agnesi.ops.base.compare import isinf
from agnesi.ops.base.convert import beside, floating, pair
from agnesi.ops.base.elementwise import Function
from agnesi.ops.base.reduce import max as greatest
from agnesi.ops.base.reduce import sum as total
from agnesi.ops.base.select import clip, maximum, minimum, where
from agnesi.ops.elementwise.explog import exp, log, log1p, softplus
from agnesi.ops.elementwise.formula import binary, horner, row, unary
from agnesi.ops.neural import softmax as softmaxes


# -- probabilities and entropies ----------------------------------------------------------------
def _logit(m: Any, x: Any) -> Any:
    low = m.minimum(x, 0.25)
    return m.where(x < 0.25, m.log(low / (1.0 - low)), m.log1p((2.0 * x - 1.0) / (1.0 - x)))


def _xlog1py(m: Any, x: Any, y: Any) -> Any:
    nothing = m.logical_and(m.equal(x, 0.0), m.equal(y, y))
    return m.where(nothing, 0.0, x * m.log1p(y))


def _entr(m: Any, x: Any) -> Any:
    found = m.where(m.equal(x, 0.0), 0.0, -x * m.log(x))
    return m.where(x < 0.0, -math.inf, found)


def _rel_entr(m: Any, x: Any, y: Any) -> Any:
    known = m.logical_and(m.equal(x, x), m.equal(y, y))
    found = m.where(m.logical_and(x > 0.0, y > 0.0), x * m.log(x / y), math.inf)
    found = m.where(m.logical_and(m.equal(x, 0.0), y >= 0.0), 0.0, found)
    return m.where(known, found, math.nan)


def _kl_div(m: Any, x: Any, y: Any) -> Any:
    found = m.rel_entr(x, y)
    return m.where(m.isinf(found), found, found - x + y)


LOGIT = row("logit", _logit, (lambda g, x: safe_divide(g, x * (1 - x)),), __name__, scipy="logit",
            double=False)
XLOG1PY = row(
    "xlog1py", _xlog1py, (lambda g, b: g * log1p(b), lambda g, a, b: safe_divide(g * a, b + 1)),
    __name__, scipy="xlog1py",
)
ENTR = row("entr", _entr, (lambda g, x: -g * (log(x) + 1),), __name__, scipy="entr")
REL_ENTR = row(
    "rel_entr", _rel_entr,
    (lambda g, a, b: g * (log(safe_divide(a, b)) + 1), lambda g, a, b: -safe_divide(g * a, b)),
    __name__, scipy="rel_entr",
)
KL_DIV = row(
    "kl_div", _kl_div,
    (lambda g, a, b: g * log(safe_divide(a, b)), lambda g, a, b: g - safe_divide(g * a, b)),
    __name__,
)


# -- losses -------------------------------------------------------------------------------------
def _huber(m: Any, delta: Any, r: Any) -> Any:
    size = m.abs(r)
    found = m.where(size <= delta, 0.5 * r * r, delta * (size - 0.5 * delta))
    return m.where(delta < 0.0, math.inf, found)


#: From where ``sqrt(1 + u * u)`` is ``u``; its square is finite in single precision, too.
_STRAIGHT = 1e18


def _pseudo_huber(m: Any, delta: Any, r: Any) -> Any:
    u = m.maximum(m.minimum(r / delta, _STRAIGHT), -_STRAIGHT)
    found = r * (u / (1.0 + m.sqrt(1.0 + u * u))) * delta
    found = m.where(m.logical_or(m.equal(delta, 0.0), m.equal(r, 0.0)), 0.0, found)
    return m.where(delta < 0.0, math.inf, found)


def _steepness(delta: Tensor, r: Tensor) -> tuple[Tensor, Tensor]:
    """Return ``u / (1 + s)`` and ``u / s`` for ``u = r / delta`` and ``s = sqrt(1 + u * u)``."""
    u = clip(r / delta, -_STRAIGHT, _STRAIGHT)
    s = sqrt(1 + square(u))
    return u / (1 + s), u / s


def _pseudo_huber_to_delta(g: Tensor, delta: Tensor, r: Tensor) -> Tensor:
    """``2 y / delta - r**2 / (delta * s)``, whose terms cancel where r is small."""
    half, whole = _steepness(delta, r)
    return g * (r * whole * square(half))


HUBER = row(
    "huber", _huber,
    (lambda g, a, b: g * maximum(magnitude(b) - a, 0), lambda g, a, b: g * clip(b, -a, a)),
    __name__, scipy="huber",
)
PSEUDO_HUBER = row(
    "pseudo_huber", _pseudo_huber,
    (lambda g, a, b: _pseudo_huber_to_delta(g, a, b),
     lambda g, a, b: g * (a * _steepness(a, b)[1])), __name__,
)


#: Where ``exprel`` is 1 in double precision.
_NEAR_ZERO = 1e-17


def _exprel(m: Any, x: Any) -> Any:
    near = m.abs(x) < _NEAR_ZERO  # quotients of subnormal numbers are no good
    return m.where(near, 1.0, m.where(m.isinf(x), m.maximum(x, 0.0), m.expm1(x) / x))


#: The derivative of exprel in a power series: 1 / (k! (k + 2)).
_EXPREL = tuple(1 / (math.factorial(k) * (k + 2)) for k in range(18))


def _exprel_slope(x: Tensor, y: Tensor) -> Tensor:
    near, over = magnitude(x) < 1, 1 / maximum(x, 1)
    below = (exp(minimum(x, -1)) - y) / minimum(x, -1)
    above = y * (1 - over) + over  # exp(x) - y would be the difference of two infinities
    return where(near, horner(where(near, x, 0), _EXPREL), where(x > 0, above, below))


EXPREL = row(
    "exprel", _exprel, (lambda g, x, y: g * _exprel_slope(x, y),), __name__, scipy="exprel"
)

logit: Function = unary(LOGIT, "``log(x / (1 - x))``.", "[0.5, 1.0]", "[ 0., inf]")
xlog1py: Function = binary(
    XLOG1PY, "``x1 * log1p(x2)``, and 0 where ``x1`` is 0.", "[0.0], [-1.0]", "[0.]"
)
entr = unary(ENTR, "``-x * log(x)``, 0 at 0, and -inf below.", "[0.0, -1.0]", "[  0., -inf]")
rel_entr = binary(REL_ENTR, "``x1 * log(x1 / x2)``, 0 where ``x1`` is 0.", "[1.0], [1.0]", "[0.]")
kl_div = binary(KL_DIV, "``x1 * log(x1 / x2) - x1 + x2``.", "[0.0], [1.0]", "[1.]")
huber = binary(
    HUBER, "``x2**2 / 2`` up to ``abs(x2) = x1``, and linear beyond.", "[1.0], [3.0]", "[2.5]"
)
pseudo_huber = binary(
    PSEUDO_HUBER, "``x1**2 * (sqrt(1 + (x2 / x1)**2) - 1)``.", "[1.0], [0.0]", "[0.]"
)
exprel = unary(EXPREL, "``(exp(x) - 1) / x``, and 1 at 0.", "[0.0]", "[1.]")


@planned
@public
def log_expit(x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """Logarithm of :func:`expit`, without underflow.

    :param x: Real numbers; integers become the default float dtype.
    :returns: Of the shape of ``x``; not positive.
    :raises DTypeError: For complex numbers.
    :see: special.expit, softplus, special.logit

    >>> ag.special.log_expit(ag.tensor([-1000.0]))
    tensor([-1000.])
    """
    return negative(softplus(negative(x)))


# -- over axes ----------------------------------------------------------------------------------
def _all_axes(x: Tensor, axis: Any) -> Any:
    return tuple(range(x.ndim)) if axis is None else axis


@public
def softmax(x: TensorLike, /, axis: Axis = None, *, out: Tensor | None = None) -> Tensor:
    """``exp(x)`` over its sum, over all axes by default.

    :param x: Scores; integers become the default float dtype.
    :param axis: All by default; also written ``dim``.
    :returns: Of the shape of ``x``; positive numbers that sum to 1.
    :raises DTypeError: For complex numbers.
    :raises IndexError: If an axis is out of range.
    :see: special.log_softmax

    >>> ag.special.softmax(ag.tensor([[1.0, 1.0], [1.0, 1.0]]))[0]
    tensor([0.25, 0.25])
    """
    x = floating(x)
    return softmaxes.softmax(x, axis=_all_axes(x, axis))


@public
def log_softmax(x: TensorLike, /, axis: Axis = None, *, out: Tensor | None = None) -> Tensor:
    """Logarithm of :func:`softmax`.

    :like: softmax
    :returns: Of the shape of ``x``; not positive.
    :see: special.softmax, special.logsumexp

    >>> ag.special.log_softmax(ag.tensor([0.0, 1000.0]))
    tensor([-1000.,     0.])
    """
    x = floating(x)
    return softmaxes.log_softmax(x, axis=_all_axes(x, axis))


@public
def logsumexp(a: TensorLike, /, axis: Axis = None, b: TensorLike | None = None,
              keepdims: bool = False, return_sign: bool = False, *,
              out: Tensor | None = None) -> Any:
    """``log(sum(b * exp(a)))`` without overflow.

    :param a: Numbers; real ones where there are weights or signs; integers become the default
        float dtype.
    :param axis: All by default.
    :param b: Weights; a negative sum is NaN, unless its sign is requested.
    :param return_sign: Whether to give the logarithm of the sum's absolute value, and the sign.
    :returns: The shape of ``a`` without the axes; -inf for no elements.
    :rtype: Tensor, or a tuple of two
    :raises TypeError: If the third argument by position is no weights, but SciPy's next one.
    :raises DTypeError: For complex numbers.
    :raises ShapeError: If the weights do not broadcast.
    :see: special.softmax, logaddexp

    >>> ag.special.logsumexp(ag.tensor([1000.0, 1000.0]), b=ag.tensor([2.0, -1.0]))
    tensor(1000.)
    """
    if isinstance(b, bool):
        raise TypeError(f"the third argument of special.logsumexp is SciPy's b, the weights, and "
                        f"not {b}: write keepdims={b}")
    a = floating(a if b is None else beside(a, b))
    if b is None and not return_sign:
        return softmaxes.logsumexp(a, axis=_all_axes(a, axis), keepdims=keepdims)
    a, weights = pair(a, 1.0 if b is None else b)
    chosen = where(weights == 0, -math.inf, a) + 0 * weights
    top = greatest(chosen, axis=_all_axes(chosen, axis), keepdims=True)
    top = where(isinf(top), 0, top)  # what it adds to the gradient cancels
    found = total(weights * exp(chosen - top), axis=axis, keepdims=keepdims)
    top = top if keepdims else total(top, axis=axis)
    if return_sign:
        return log(magnitude(found)) + top, found.sign()
    return log(found) + top
