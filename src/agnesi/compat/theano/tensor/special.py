"""``pytensor.tensor.special``: softmax over all axes or one, and functions around gamma."""

from __future__ import annotations

from typing import Any

from agnesi.api import special, symbolic
from agnesi.compat.theano.tensor.creation import as_tensor_variable
from agnesi.compat.theano.variable import Variable, lifted
from agnesi.core.keywords import strictly


def softmax(c: Any, axis: int | None = None) -> Variable:
    """Shares of the exponentials along an axis, or of all elements."""
    return _normalized(symbolic.softmax, c, axis)


def log_softmax(c: Any, axis: int | None = None) -> Variable:
    """Logarithms of ``softmax``."""
    return _normalized(symbolic.log_softmax, c, axis)


def _normalized(function: Any, c: Any, axis: int | None) -> Variable:
    c = as_tensor_variable(c)
    if axis is not None:
        return lifted(function)(c, axis=axis)
    return lifted(function)(c.flatten(), axis=0).reshape(c.shape, ndim=c.ndim)


def poch(z: Any, m: Any) -> Variable:
    """The rising factorial ``gamma(z + m) / gamma(z)``."""
    z, gamma = as_tensor_variable(z), lifted(special.gamma)
    return gamma(z + m) / gamma(z)


def factorial(n: Any) -> Variable:
    """``gamma(n + 1)``."""
    return lifted(special.gamma)(as_tensor_variable(n) + 1)


def betaln(a: Any, b: Any) -> Variable:
    """The logarithm of the beta function."""
    a, b, lgamma = as_tensor_variable(a), as_tensor_variable(b), lifted(special.gammaln)
    return lgamma(a) + lgamma(b) - lgamma(a + b)


strictly(__name__)
