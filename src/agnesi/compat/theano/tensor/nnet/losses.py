"""Cross entropies."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.api import functions as F
from agnesi.compat.theano.tensor.creation import arange, as_tensor_variable
from agnesi.compat.theano.tensor.nnet.activations import logsoftmax, softmax, softplus
from agnesi.compat.theano.variable import Variable, lifted

__all__ = ["binary_crossentropy", "categorical_crossentropy", "confusion_matrix",
           "crossentropy_categorical_1hot", "crossentropy_softmax_1hot",
           "crossentropy_softmax_1hot_with_bias", "crossentropy_softmax_argmax_1hot_with_bias",
           "crossentropy_softmax_max_and_argmax_1hot",
           "crossentropy_softmax_max_and_argmax_1hot_with_bias", "prepend_0_to_each_row",
           "prepend_1_to_each_row", "prepend_scalar_to_each_row", "sigmoid_binary_crossentropy"]


def binary_crossentropy(output: Any, target: Any) -> Variable:
    """-(t log(p) + (1 - t) log(1 - p)), elementwise."""
    p, t = as_tensor_variable(output), as_tensor_variable(target)
    log = lifted(F.log)
    return -(t * log(p) + (1.0 - t) * log(1.0 - p))


def sigmoid_binary_crossentropy(output: Any, target: Any) -> Variable:
    """:func:`binary_crossentropy` of the sigmoid of ``output``."""
    x, t = as_tensor_variable(output), as_tensor_variable(target)
    return softplus(-abs(x)) + x * ((x > 0).astype(x.dtype) - t.astype(x.dtype))


def categorical_crossentropy(coding_dist: Any, true_dist: Any) -> Variable:
    """For each row the cross entropy with a distribution, or with a class label."""
    p, t = as_tensor_variable(coding_dist), as_tensor_variable(true_dist)
    log = lifted(F.log)
    if t.ndim == p.ndim:
        return -(t * log(p)).sum(axis=-1)
    if t.ndim != p.ndim - 1:
        raise TypeError(f"rank mismatch between coding and true distributions: {p.type} and "
                        f"{t.type}; the true one has as many axes, or one less, of class numbers")
    return crossentropy_categorical_1hot(p, t)


def _classes(classes: Any) -> Variable:
    """Class numbers, which are integers."""
    found = as_tensor_variable(classes)
    if np.dtype(found.dtype).kind not in "iu":
        raise TypeError(f"class numbers are integers, and these are {found.type}: write cast(y, "
                        "'int64'); distributions have as many axes as the coding ones")
    return found


def crossentropy_categorical_1hot(coding_dist: Any, true_one_of_n: Any) -> Variable:
    """For each row the negative logarithm at a class label."""
    p = as_tensor_variable(coding_dist)
    classes = _classes(true_one_of_n)
    return -lifted(F.log)(p[arange(p.shape[0]), classes])


def crossentropy_softmax_max_and_argmax_1hot_with_bias(x: Any, b: Any, y_idx: Any,
                                                       **ignored: Any) -> Any:
    """The loss of each row, its largest probability, and where that is."""
    return crossentropy_softmax_max_and_argmax_1hot(as_tensor_variable(x) + b, y_idx)


def crossentropy_softmax_max_and_argmax_1hot(x: Any, y_idx: Any, **ignored: Any) -> Any:
    """The loss of each row, its largest probability, and where that is."""
    p = softmax(x)
    return [crossentropy_softmax_1hot(x, y_idx)[0], p.max(axis=-1), p.argmax(axis=-1)]


def crossentropy_softmax_argmax_1hot_with_bias(x: Any, b: Any, y_idx: Any) -> Any:
    """The loss of each row, the probabilities, and where the largest is."""
    x = as_tensor_variable(x) + b
    loss, p = crossentropy_softmax_1hot(x, y_idx)
    return [loss, p, p.argmax(axis=-1)]


def crossentropy_softmax_1hot(x: Any, y_idx: Any, **ignored: Any) -> Any:
    """The loss of each row, and the probabilities."""
    x = as_tensor_variable(x)
    classes = _classes(y_idx)
    return [-logsoftmax(x)[arange(x.shape[0]), classes], softmax(x)]


def crossentropy_softmax_1hot_with_bias(x: Any, b: Any, y_idx: Any, **ignored: Any) -> Any:
    """:func:`crossentropy_softmax_1hot` of rows to which a bias is added."""
    return crossentropy_softmax_1hot(as_tensor_variable(x) + b, y_idx)


def prepend_scalar_to_each_row(val: Any, mat: Any) -> Variable:
    """A matrix with one more column in front."""
    mat = as_tensor_variable(mat)
    column = lifted(F.broadcast_to)(as_tensor_variable(val).astype(mat.dtype), (mat.shape[0], 1))
    return lifted(F.concatenate)([column, mat], axis=1)


def prepend_1_to_each_row(mat: Any) -> Variable:
    """A matrix with a column of ones in front."""
    return prepend_scalar_to_each_row(1.0, mat)


def prepend_0_to_each_row(mat: Any) -> Variable:
    """A matrix with a column of zeros in front."""
    return prepend_scalar_to_each_row(0.0, mat)


def confusion_matrix(actual: Any, pred: Any) -> Any:
    """How often each pair of labels occurs, and the labels in order."""
    actual, pred = as_tensor_variable(actual), as_tensor_variable(pred)
    order = lifted(F.unique_values)(lifted(F.concatenate)([actual, pred]))
    eq = lifted(F.equal)
    first = eq(actual.dimshuffle(0, "x"), order.dimshuffle("x", 0)).astype("int64")
    second = eq(pred.dimshuffle(0, "x"), order.dimshuffle("x", 0)).astype("int64")
    return [first.T.dot(second), order]
