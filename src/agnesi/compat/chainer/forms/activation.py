"""Activation functions; switches for cuDNN are taken and mean nothing."""

from __future__ import annotations

from typing import Any

import agnesi as ag
from agnesi.compat.chainer.formula import applied
from agnesi.compat.chainer.variable import as_variable
from agnesi.core.support.errors import ShapeError, at, typed
from agnesi.nn import functional as nn

__all__ = [
    "clipped_relu", "elu", "hard_sigmoid", "leaky_relu", "log_softmax", "lstm", "maxout", "prelu",
    "relu", "sigmoid", "slstm", "softmax", "softplus", "tanh",
]


def relu(x: Any, use_cudnn: bool = True) -> Any:
    """The larger of x and 0."""
    return applied("ReLU", ag.relu, x)


def clipped_relu(x: Any, z: float = 20.0) -> Any:
    """x between 0 and z."""
    return applied("ClippedReLU", lambda x: ag.clip(x, 0.0, z), x)


def leaky_relu(x: Any, slope: float = 0.2) -> Any:
    """The larger of x and ``slope * x``."""
    return applied("LeakyReLU", lambda x: nn.leaky_relu(x, slope), x)


def elu(x: Any, alpha: float = 1.0) -> Any:
    """x, or ``alpha * (exp(x) - 1)`` below zero."""
    return applied("ELU", lambda x: nn.elu(x, alpha), x)


def prelu(x: Any, W: Any) -> Any:
    """x, or x times a slope below zero; the slope's axes are those behind the batch."""
    def compute(x: Any, w: Any) -> Any:
        w = w.reshape((1, *w.shape, *(1,) * (x.ndim - w.ndim - 1)))
        return ag.where(x >= 0, x, w * x)

    return applied("PReLU", compute, x, W)


def hard_sigmoid(x: Any) -> Any:
    """``0.2 * x + 0.5`` between 0 and 1."""
    return applied("HardSigmoid", lambda x: ag.clip(0.2 * x + 0.5, 0.0, 1.0), x)


def sigmoid(x: Any, use_cudnn: bool = True) -> Any:
    """``1 / (1 + exp(-x))``."""
    return applied("Sigmoid", ag.sigmoid, x)


def tanh(x: Any, use_cudnn: bool = True) -> Any:
    """The hyperbolic tangent."""
    return applied("Tanh", ag.tanh, x)


def softplus(x: Any, beta: float = 1.0) -> Any:
    """``log(1 + exp(beta * x)) / beta``."""
    beta = float(beta)
    return applied("Softplus", lambda x: ag.logaddexp(beta * x, 0.0) / beta, x)


def softmax(x: Any, use_cudnn: bool = True) -> Any:
    """Exponentials that sum to 1 along the second axis."""
    return applied("Softmax", lambda x: ag.softmax(x, axis=1), x)


def log_softmax(x: Any, use_cudnn: bool = True) -> Any:
    """Logarithms of :func:`softmax`."""
    return applied("LogSoftmax", lambda x: ag.log_softmax(x, axis=1), x)


def maxout(x: Any, pool_size: int, axis: int = 1) -> Any:
    """The largest of groups of ``pool_size`` neighbours along an axis."""
    data = as_variable(x).data
    if -data.ndim <= axis < data.ndim and (pool_size < 1 or data.shape[axis] % pool_size):
        raise ShapeError(at(f"maxout: pool_size must divide the {data.shape[axis]} units on axis "
                            f"{axis} of {typed(data)}, which {pool_size} does not"))

    def compute(x: Any) -> Any:
        shape = (*x.shape[:axis], x.shape[axis] // pool_size, pool_size, *x.shape[axis + 1:])
        return ag.max(x.reshape(shape), axis + 1)

    return applied("Maxout", compute, x)


def _gates(x: Any) -> tuple[Any, ...]:
    """a, i, f and o of each unit, side by side along the second axis."""
    r = x.reshape((x.shape[0], x.shape[1] // 4, 4, *x.shape[2:]))
    return r[:, :, 0], r[:, :, 1], r[:, :, 2], r[:, :, 3]


def _check_gates(name: str, c: Any, x: Any) -> None:
    """Refuse inputs that are not four for each cell."""
    cells, gates = as_variable(c).data, as_variable(x).data
    if gates.shape != (*cells.shape[:1], 4 * (cells.shape[1:2] or (0,))[0], *cells.shape[2:]):
        raise ShapeError(at(f"{name}: x must have four times as many units as the cells, whose "
                            f"type is {typed(cells)}, and as many samples, not {typed(gates)}"))


def lstm(c_prev: Any, x: Any) -> Any:
    """A step of LSTM units: the new cells and their outputs.

    The second axis of ``x`` holds the four inputs a, i, f and o of the first unit, then those of
    the second one, and so on.
    """
    _check_gates("lstm", c_prev, x)

    def compute(c: Any, x: Any) -> Any:
        a, i, f, o = _gates(x)
        c = ag.tanh(a) * ag.sigmoid(i) + c * ag.sigmoid(f)
        return c, ag.tanh(c) * ag.sigmoid(o)

    return applied("LSTM", compute, c_prev, x)


def slstm(c_prev1: Any, c_prev2: Any, x1: Any, x2: Any) -> Any:
    """LSTM units of a tree: two cells become one."""
    for c, x in ((c_prev1, x1), (c_prev2, x2)):
        _check_gates("slstm", c, x)

    def compute(c1: Any, c2: Any, x1: Any, x2: Any) -> Any:
        (a1, i1, f1, o1), (a2, i2, f2, o2) = _gates(x1), _gates(x2)
        c = (ag.tanh(a1) * ag.sigmoid(i1) + ag.tanh(a2) * ag.sigmoid(i2)
             + ag.sigmoid(f1) * c1 + ag.sigmoid(f2) * c2)
        return c, ag.tanh(c) * ag.sigmoid(o1 + o2)

    return applied("SLSTM", compute, c_prev1, c_prev2, x1, x2)
