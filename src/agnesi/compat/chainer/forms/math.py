"""Arithmetic and mathematical functions; the operators of variables."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import agnesi as ag
from agnesi.api import linalg
from agnesi.compat.chainer.formula import applied
from agnesi.compat.chainer.variable import OPERATORS, Variable, as_variable
from agnesi.core.support.errors import ShapeError, at

__all__ = [
    "arctan",
    "argmax",
    "argmin",
    "average",
    "batch_det",
    "batch_inv",
    "batch_l2_norm_squared",
    "batch_matmul",
    "bias",
    "clip",
    "cos",
    "cosh",
    "det",
    "exp",
    "expm1",
    "floor",
    "identity",
    "inv",
    "linear_interpolate",
    "log",
    "log1p",
    "log2",
    "log10",
    "logsumexp",
    "matmul",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "prod",
    "rsqrt",
    "scale",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "sum",
    "tan",
]


def _unary(name: str, compute: Callable[[Any], Any], summary: str) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        return applied(name, compute, x)

    function.__name__ = function.__qualname__ = name.lower()
    function.__doc__ = summary
    return function


exp = _unary("Exp", ag.exp, "The exponential function.")
log = _unary("Log", ag.log, "The natural logarithm.")
log1p = _unary("Log1p", ag.log1p, "log(1 + x).")
expm1 = _unary("Expm1", ag.expm1, "exp(x) - 1.")
log2 = _unary("Log2", ag.log2, "The logarithm to base 2.")
log10 = _unary("Log10", ag.log10, "The logarithm to base 10.")
sin = _unary("Sin", ag.sin, "The sine.")
cos = _unary("Cos", ag.cos, "The cosine.")
tan = _unary("Tan", ag.tan, "The tangent.")
sinh = _unary("Sinh", ag.sinh, "The hyperbolic sine.")
cosh = _unary("Cosh", ag.cosh, "The hyperbolic cosine.")
arctan = _unary("Arctan", ag.arctan, "The inverse tangent.")
sqrt = _unary("Sqrt", ag.sqrt, "The square root.")
rsqrt = _unary("Rsqrt", lambda x: 1 / ag.sqrt(x), "One over the square root.")
square = _unary("Square", ag.square, "x times x.")
sign = _unary("Sign", ag.sign, "-1, 0 or 1.")
floor = _unary("Floor", ag.floor, "The next whole number below.")
inv = _unary("Inv", linalg.inv, "The inverse of a matrix.")
batch_inv = _unary("BatchInv", linalg.inv, "Inverses of matrices.")
batch_det = _unary("BatchDet", linalg.det, "Determinants of matrices.")
det = _unary("Det", linalg.det, "The determinant of a matrix.")
batch_l2_norm_squared = _unary(
    "BatchL2NormSquared", lambda x: ag.sum(x.reshape(x.shape[0], -1) ** 2, 1),
    "The sum of squares of each sample.")


def identity(*inputs: Any) -> Any:
    """The inputs themselves."""
    return applied("Identity", lambda *xs: xs if len(xs) > 1 else xs[0] * 1, *inputs)


def clip(x: Any, x_min: float, x_max: float) -> Any:
    """x between two numbers."""
    if x_min > x_max:
        raise ValueError(at(f"clip: x_min must not be above x_max, but is {x_min} and {x_max}"))
    return applied("Clip", lambda x: ag.clip(x, x_min, x_max), x)


def _reduction(name: str, compute: Callable[..., Any], summary: str) -> Callable[..., Any]:
    def function(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return applied(name, lambda x: compute(x, axis, keepdims=keepdims), x)

    function.__name__ = function.__qualname__ = name.lower()
    function.__doc__ = summary
    return function


sum = _reduction("Sum", ag.sum, "The sum along axes, of all elements by default.")
mean = average = _reduction("Mean", ag.mean, "The mean along axes, of all elements by default.")
max = _reduction("Max", ag.max, "The largest along axes, of all elements by default.")
min = _reduction("Min", ag.min, "The smallest along axes, of all elements by default.")
prod = _reduction("Prod", ag.prod, "The product along axes, of all elements by default.")


def argmax(x: Any, axis: int | None = None) -> Any:
    """Where the largest elements are; no gradient flows through it."""
    x = as_variable(x)
    return Variable(np.asarray(x.data.argmax(axis), np.int32), volatile=x.volatile)


def argmin(x: Any, axis: int | None = None) -> Any:
    """Where the smallest elements are; no gradient flows through it."""
    x = as_variable(x)
    return Variable(np.asarray(x.data.argmin(axis), np.int32), volatile=x.volatile)


def logsumexp(x: Any, axis: Any = None) -> Any:
    """The logarithm of the sum of exponentials."""
    return applied("LogSumExp", lambda x: ag.logsumexp(x, axis), x)


def maximum(x1: Any, x2: Any) -> Any:
    """The larger ones of two."""
    return applied("Maximum", ag.maximum, x1, x2)


def minimum(x1: Any, x2: Any) -> Any:
    """The smaller ones of two."""
    return applied("Minimum", ag.minimum, x1, x2)


def matmul(a: Any, b: Any, transa: bool = False, transb: bool = False) -> Any:
    """The product of two matrices, each perhaps transposed; a vector is a matrix of one column."""
    def matrix(x: Any, turned: bool) -> Any:
        x = x[:, None] if x.ndim == 1 else x
        return x.T if turned else x

    return applied("MatMul", lambda a, b: matrix(a, transa) @ matrix(b, transb), a, b)


def batch_matmul(a: Any, b: Any, transa: bool = False, transb: bool = False) -> Any:
    """Products of matrices; vectors of a batch are matrices of one column."""
    def matrix(x: Any, turned: bool) -> Any:
        x = x[:, :, None] if x.ndim == 2 else x
        return ag.swapaxes(x, 1, 2) if turned else x

    sizes = [as_variable(x).data.shape for x in (a, b)]
    if all(sizes) and sizes[0][0] != sizes[1][0]:
        raise ShapeError(at("batch_matmul: a and b must have as many matrices or vectors on axis "
                            f"0, not shapes {sizes[0]} and {sizes[1]}"))
    return applied("BatchMatMul", lambda a, b: matrix(a, transa) @ matrix(b, transb), a, b)


def linear_interpolate(p: Any, x: Any, y: Any) -> Any:
    """``p * x + (1 - p) * y``."""
    return applied("LinearInterpolate", lambda p, x, y: p * x + (1 - p) * y, p, x, y)


def _along(x: Any, y: Any, axis: int) -> Any:
    return y.reshape((*(1,) * axis, *y.shape, *(1,) * (x.ndim - axis - y.ndim)))


def scale(x: Any, y: Any, axis: int = 1) -> Any:
    """x times y, whose first axis is ``axis`` of x."""
    return applied("Scale", lambda x, y: x * _along(x, y, axis), x, y)


def bias(x: Any, y: Any, axis: int = 1) -> Any:
    """x plus y, whose first axis is ``axis`` of x."""
    return applied("Bias", lambda x, y: x + _along(x, y, axis), x, y)


def _operator(sign: str, compute: Callable[..., Any], reflected: bool) -> Callable[..., Any]:
    def method(self: Any, other: Any) -> Any:
        if np.isscalar(other):
            return applied(f"_ {sign} constant", lambda x: compute(other, x) if reflected
                           else compute(x, other), self)
        return applied(f"_ {sign} _", compute, *((other, self) if reflected else (self, other)))

    return method


for _name, _sign in {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "pow": "**",
                     "matmul": "@"}.items():
    _compute = getattr(operator, _name)
    OPERATORS[f"__{_name}__"] = _operator(_sign, _compute, False)
    OPERATORS[f"__r{_name}__"] = _operator(_sign, _compute, True)
OPERATORS["__neg__"] = _unary("-_", operator.neg, "Minus x.")
OPERATORS["__abs__"] = _unary("|_|", ag.abs, "The absolute value.")
