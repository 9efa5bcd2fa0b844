"""``theano.tensor.xlogx``: products with logarithms that are 0 where the factor is."""

from __future__ import annotations

from typing import Any

from agnesi.api import functions as F
from agnesi.compat.theano.tensor.creation import as_tensor_variable
from agnesi.compat.theano.variable import Variable, floats, wrapped


def xlogx(x: Any) -> Variable:
    """x log(x), 0 at 0."""
    return xlogy0(x, x)


def xlogy0(x: Any, y: Any) -> Variable:
    """x log(y), 0 where x is 0."""
    with floats():
        return wrapped(F.xlogy(as_tensor_variable(x)._value, as_tensor_variable(y)._value))
