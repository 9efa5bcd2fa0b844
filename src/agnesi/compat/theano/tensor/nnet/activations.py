"""Activations."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.api import functions as F
from agnesi.compat.theano.tensor.creation import as_tensor_variable
from agnesi.compat.theano.variable import Variable, bare, floats, lifted, wrapped
from agnesi.ops.base.convert import as_tensor

__all__ = ["elu", "h_softmax", "hard_sigmoid", "log_softmax", "logsoftmax", "relu", "selu",
           "sigmoid", "softmax", "softmax_graph", "softmax_with_bias", "softplus", "softsign",
           "ultra_fast_sigmoid"]

sigmoid, softplus = lifted(F.sigmoid), lifted(F.softplus)


def _rows(c: Any) -> Any:
    """A matrix, of a vector its only row."""
    x = as_tensor_variable(c)
    return x.dimshuffle("x", 0) if x.ndim == 1 else x


def softmax(c: Any, axis: int | None = None) -> Variable:
    """Exponentials over their sum, in each row; a vector is a matrix of one row."""
    return lifted(F.softmax)(_rows(c) if axis is None else c, axis=-1 if axis is None else axis)


softmax_graph = softmax


def logsoftmax(c: Any, axis: int | None = None) -> Variable:
    """The logarithm of :func:`softmax`."""
    return lifted(F.log_softmax)(_rows(c) if axis is None else c, axis=-1 if axis is None else axis)


log_softmax = logsoftmax


def softmax_with_bias(x: Any, b: Any) -> Variable:
    """:func:`softmax` of rows to which a bias is added."""
    return softmax(as_tensor_variable(x) + b)


def relu(x: Any, alpha: Any = 0) -> Variable:
    """x where it is positive, ``alpha * x`` elsewhere."""
    if isinstance(x, np.ndarray):
        return 0.5 * (1 + alpha) * x + 0.5 * (1 - alpha) * abs(x)
    if isinstance(alpha, (int, float)) and alpha == 0:
        return lifted(F.relu)(x)
    x = as_tensor_variable(x)
    return 0.5 * (1 + alpha) * x + 0.5 * (1 - alpha) * abs(x)


def elu(x: Any, alpha: float = 1) -> Variable:
    """x where it is positive, ``alpha * (exp(x) - 1)`` elsewhere."""
    value, scale = as_tensor_variable(x)._value, bare(alpha)
    with floats():
        return wrapped(F.where(value > 0, value, scale * F.expm1(F.minimum(value, 0))))


def selu(x: Any) -> Variable:
    """:func:`elu` scaled as for self-normalising networks (Klambauer et al., 2017)."""
    return 1.0507009873554804934193349852946 * elu(x, 1.6732632423543772848170429916717)


def hard_sigmoid(x: Any) -> Variable:
    """0.2 x + 0.5, no smaller than 0 and no larger than 1."""
    x = as_tensor_variable(x)
    return (x * 0.2 + 0.5).clip(0.0, 1.0)


def ultra_fast_sigmoid(x: Any) -> Variable:
    """The sigmoid; the approximation that Theano has saves nothing here."""
    return sigmoid(x)


def softsign(x: Any) -> Variable:
    """x / (1 + |x|)."""
    x = as_tensor_variable(x)
    return x / (1.0 + abs(x))


def h_softmax(x: Any, batch_size: int, n_outputs: int, n_classes: int,
              n_outputs_per_class: int, W1: Any, b1: Any, W2: Any, b2: Any,
              target: Any = None) -> Variable:
    """A softmax in two levels: probabilities of the targets, or of all outputs."""
    x, w2, b2 = as_tensor_variable(x), as_tensor_variable(W2), as_tensor_variable(b2)
    classes = softmax(x.dot(W1) + b1)
    if target is None:
        scores = lifted(F.einsum)("bi,cij->bcj", x, w2) + b2.dimshuffle("x", 0, 1)
        all_ = classes.dimshuffle(0, 1, "x") * softmax(scores, axis=-1)
        return all_.reshape((batch_size, n_classes * n_outputs_per_class))[:, :n_outputs]
    target = as_tensor_variable(target).flatten()
    which, inside = target // n_outputs_per_class, target % n_outputs_per_class
    rows = wrapped(F.arange(as_tensor(bare(batch_size)))) if isinstance(batch_size, Variable) \
        else wrapped(F.arange(batch_size))
    scores = lifted(F.einsum)("bi,bij->bj", x, w2[which]) + b2[which]
    return classes[rows, which] * softmax(scores)[rows, inside]
