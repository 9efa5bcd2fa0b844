"""Elementwise functions whose names or meaning are Theano's."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from agnesi.api import functions as F
from agnesi.api import special as _special
from agnesi.api import symbolic
from agnesi.compat.theano.base.casting import greater, greater_equal, less, less_equal
from agnesi.compat.theano.tensor.creation import as_tensor_variable, cast
from agnesi.compat.theano.variable import Variable, bare, lifted, wrapped
from agnesi.core.graph import FunctionGraph, constant_value, live_tensor
from agnesi.core.ir.node import Node, toposort
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.ensure import ensured_by
from agnesi.rewrite import rewrite

eq, neq = lifted(F.equal), lifted(F.not_equal)
lt, le, gt, ge = (lifted(f) for f in (less, less_equal, greater, greater_equal))


def _many(function: Any) -> Any:
    def call(first: Any, *more: Any) -> Variable:
        """The function of all operands, from left to right."""
        found = as_tensor_variable(first)
        for x in more:
            found = lifted(function)(found, x)
        return found

    return call


add, mul = _many(F.add), _many(F.multiply)


def _first_of_equals(function: Any, holds: Any) -> Any:
    @functools.wraps(function, updated=())
    def call(x: Any, y: Any) -> Any:
        """One of two; of equal ones the first, which alone has the gradient."""
        if not any(isinstance(v, Tensor) and v.dtype.kind in "fc" for v in (x, y)):
            return function(x, y)
        return F.where(F.logical_or(holds(x, y), F.not_equal(x, x)), x, y)

    return lifted(call)


maximum = _first_of_equals(F.maximum, greater_equal)
minimum = _first_of_equals(F.minimum, less_equal)


def switch(cond: Any, ift: Any, iff: Any) -> Variable:
    """Elements of ``ift`` where the condition is not 0, of ``iff`` elsewhere."""
    held = as_tensor_variable(cond)  # its dtype is not one of the result's
    chosen = held if held.dtype == "bool" else lifted(F.not_equal)(held, 0)
    return lifted(symbolic.switch)(chosen, ift, iff)


def where(cond: Any, ift: Any = None, iff: Any = None) -> Any:
    """:func:`switch`; of a condition alone, where it holds."""
    if ift is None:
        return lifted(F.nonzero)(cond)
    return switch(cond, ift, iff)


def round(x: Any, mode: str | None = None) -> Variable:
    """The next whole number; halves go to the even one, or away from zero."""
    if mode == "half_away_from_zero":
        return round_half_away_from_zero(x)
    return lifted(F.round)(x)


def round_half_to_even(x: Any) -> Variable:
    """The next whole number; halves go to the even one."""
    return lifted(F.round)(x)


def round_half_away_from_zero(x: Any) -> Variable:
    """The next whole number; halves go away from zero."""
    x = as_tensor_variable(x)._value
    return wrapped(F.sign(x) * F.floor(F.abs(x) + 0.5))


def iround(x: Any, mode: str | None = None) -> Variable:
    """:func:`round` as int64."""
    return cast(round(x, mode), "int64")


def tri_gamma(x: Any) -> Variable:
    """The second derivative of the logarithm of the gamma function."""
    return lifted(_special.polygamma)(1, x)


def chi2sf(x: Any, k: Any) -> Variable:
    """The probability that chi-squared of k degrees of freedom is above x."""
    return lifted(_special.gammaincc)(as_tensor_variable(k) / 2, as_tensor_variable(x) / 2)


def gammau(k: Any, x: Any) -> Variable:
    """The upper incomplete gamma function, not regularised."""
    return lifted(_special.gammaincc)(k, x) * lifted(_special.gamma)(k)


def gammal(k: Any, x: Any) -> Variable:
    """The lower incomplete gamma function, not regularised."""
    return lifted(_special.gammainc)(k, x) * lifted(_special.gamma)(k)


def log1mexp(x: Any) -> Variable:
    """log(1 - exp(x)) for x < 0."""
    x = as_tensor_variable(x)._value
    return wrapped(F.log(-F.expm1(x)))


def vectorize(func: Any, signature: str | None = None) -> Any:
    """A function of variables, for those with more axes in front, which broadcast."""
    return lifted(F.vectorize(lambda *xs: bare(func(*wrapped(xs))), signature=signature))


def isinf(x: Any) -> Variable:
    """Return whether elements are infinite."""
    return lifted(F.isinf)(x)


def clip(x: Any, min: Any, max: Any) -> Variable:
    """Elements no smaller than ``min`` and no larger than ``max``.

    Where ``min`` is above ``max``, what is below ``min`` becomes that, and all else ``max``.
    """
    if isinstance(min, Variable) or isinstance(max, Variable):
        x, min, max = (as_tensor_variable(v) for v in (x, min, max))
        found = lifted(F.clip)(x, min, max)
        return lifted(F.where)(lifted(F.less)(x, min), min.astype(found.dtype), found)
    return lifted(F.clip)(x, min, max)


def abs_(x: Any) -> Variable:
    """Sizes of the elements."""
    return lifted(F.abs)(x)


def divmod(a: Any, b: Any) -> tuple[Variable, Variable]:
    """Floored quotient and remainder."""
    return as_tensor_variable(a) // b, as_tensor_variable(a) % b


def ceil_intdiv(a: Any, b: Any) -> Variable:
    """The quotient of integers, rounded up."""
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    found = a // b
    return found + lifted(F.not_equal)(found * b, a).astype(found.dtype)


def complex_from_polar(abs: Any, angle: Any) -> Variable:
    """Complex numbers from their sizes and angles."""
    return lifted(F.polar)(abs, angle)


def default(x: Any, other: Any) -> Any:
    """x, or another variable where x is None."""
    return other if x is None else as_tensor_variable(x)


def tensor_copy(x: Any) -> Variable:
    """A new variable of the same value."""
    return wrapped(F.positive(as_tensor_variable(x)._value))


def transfer(x: Any, target: str | None = None) -> Variable:
    """The variable itself: all memory is the processor's; None stands for the default device."""
    return as_tensor_variable(x)


def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8,
             equal_nan: bool = False) -> Variable:
    """Return whether all elements are close."""
    return lifted(F.all)(isclose(a, b, rtol, atol, equal_nan))


def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8,
            equal_nan: bool = False) -> Variable:
    """Return whether elements are close."""
    return lifted(F.isclose)(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)


def power(x: Any, y: Any) -> Variable:
    """x to the power of y."""
    return as_tensor_variable(x) ** y


pow = power


def scalar_from_tensor(x: Any) -> Variable:
    """The variable itself."""
    return as_tensor_variable(x)


tensor_from_scalar = scalar_from_tensor


def get_scalar_constant_value(x: Any, **ignored: Any) -> np.ndarray:
    """The value of a scalar that is known, also by rewriting; ``NotScalarConstantError`` of
    others."""
    found = as_tensor(bare(x))
    value: Any = found.array
    if value is None and found.node is not None:
        value = constant_value(found.node)
        value = _rewritten(found.node) if value is None and not found.ndim else value
    if value is None or np.size(value) != 1:
        raise NotScalarConstantError(f"{x!r} is no scalar constant")
    return np.asarray(value).reshape(())


get_underlying_scalar_constant_value = get_scalar_constant_value


def _rewritten(node: Node) -> Any:
    """The value of a node that rewriting shows to be a constant; None of others."""
    leaves = [n for n in toposort([node]) if n.op is None]
    if any(live_tensor(n) is not None for n in leaves):
        return None
    inputs = [n for n in leaves if constant_value(n) is None]
    return constant_value(rewrite(FunctionGraph(inputs, [node])).outputs[0])


class NotScalarConstantError(Exception):
    """A value is requested that is not known before the run."""


class EmptyConstantError(NotScalarConstantError):
    """A value is requested of a constant without elements."""


class Assert:
    """An operation that gives its operand, and raises an AssertionError where a condition does not
    hold."""

    def __init__(self, msg: str = "Theano Assert failed!") -> None:
        self.msg = msg

    def __call__(self, value: Any, *conditions: Any) -> Variable:
        found = as_tensor_variable(value)._value
        for condition in conditions:
            holds = F.all(as_tensor_variable(condition)._value)
            found = ensured_by("Assert", found, holds, self.msg, "AssertionError")
        return wrapped(found)


assert_op = Assert()
