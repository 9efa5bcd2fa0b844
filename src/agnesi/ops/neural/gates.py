"""The elementwise part of LSTM cells."""

from __future__ import annotations

from typing import Any

from agnesi.core.op import typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import public
from agnesi.core.support.errors import ShapeError
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import add, multiply
from agnesi.ops.base.convert import pair
from agnesi.ops.base.parameter_checks import of_shape
from agnesi.ops.elementwise.explog import sigmoid
from agnesi.ops.elementwise.hyperbolic import tanh
from agnesi.ops.indexing.join import split


def lstm_gates(c: Any, a: Any, i: Any, f: Any, o: Any) -> tuple[Tensor, Tensor]:
    """The next ``h`` and ``c`` of an LSTM from the last ``c`` and what goes into its gates."""
    c = add(multiply(sigmoid(f), c), multiply(sigmoid(i), tanh(a)))
    return multiply(sigmoid(o), tanh(c)), c


@public
def lstm(c_prev: TensorLike, x: TensorLike) -> tuple[Tensor, Tensor]:
    """An LSTM's gates (Chainer's): ``x`` split on axis 1 into a, i, f, o, in this order.

    ``c = tanh(a) sigmoid(i) + c_prev sigmoid(f)`` and ``h = tanh(c) sigmoid(o)``.

    :param c_prev: The last state of the cells, of shape (batch, units, ...).
    :param x: What goes into the gates, of shape (batch, 4 units, ...): first all of a, then all of
        i, and so on.
    :returns c, h: Of the shape of ``c_prev``.
    :raises ShapeError: If ``x`` is not four times as wide as ``c_prev``.
    :see: nn.LSTMCell, nn.LSTM

    >>> c, h = ag.nn.functional.lstm(ag.zeros((1, 2)), ag.zeros((1, 8)))
    >>> c
    tensor([[0., 0.]])
    """
    c_prev, x = pair(c_prev, x)
    text = f"axis 1 of x must be four times as long as that of {typed(c_prev)}"
    if c_prev.ndim < 2 or x.ndim != c_prev.ndim:
        raise ShapeError(text)
    x = of_shape("lstm", x, (x.shape[0], 4 * c_prev.shape[1], *x.shape[2:]), text)
    h, c = lstm_gates(c_prev, *split(x, 4, 1))
    return c, h
