"""Cross-entropy and its kin: losses of labels and of probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.core import shapes
from agnesi.core.dispatch import apply
from agnesi.core.ir.dims import product
from agnesi.core.op import typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support import dtypes
from agnesi.core.support.config import config
from agnesi.core.support.errors import DTypeError, ShapeError, warn
from agnesi.core.support.tracing import is_known
from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith, compare, select
from agnesi.ops.base.convert import as_tensor, beside, cast
from agnesi.ops.base.expand import broadcast_to
from agnesi.ops.base.movement import moveaxis, sized
from agnesi.ops.base.parameter_checks import within_shape
from agnesi.ops.base.reduce import mean as mean_of
from agnesi.ops.neural.softmax import LabelLoss, Pick, floats, is_label, log_softmax, total

_MEAN_LOSS, _ROW_LOSSES, _PICK = LabelLoss(mean=True), LabelLoss(), Pick()
#: Labels that are looked through sooner as Python's numbers than as NumPy's.
_FEW_LABELS = 64


@planned
@public
def mse_loss(x: TensorLike, target: TensorLike, /, *, reduction: str = "mean",
             weight: TensorLike | None = None, out: Tensor | None = None) -> Tensor:
    """Squared differences: their mean, their sum, or each.

    Shapes broadcast, with a warning: (n, 1) and (n,) make n squared differences.

    :param x, target: Of one shape.
    :param reduction: What becomes of the squares.
    :type reduction: {"mean", "sum", "none"}
    :param weight: Factors of the squares, by whose sum the mean divides.
    :returns: One number, or with "none" the squares; the mean of none is NaN.
    :raises ValueError: If there is no such reduction.
    :raises ShapeError: If the shapes do not broadcast.
    :see: nn.MSELoss, nn.functional.cross_entropy, special.huber

    >>> ag.nn.functional.mse_loss(ag.zeros(2), ag.tensor([1.0, 3.0]))
    tensor(5.)
    """
    a, b = as_tensor(x), as_tensor(target)
    squares = arith.square(arith.subtract(x, target))
    if not shapes.fits(a.shape, b.shape):
        warn(f"mse_loss of {typed(a)} and {typed(b)} broadcasts them, so that other differences "
             "are squared than were probably meant; give both one shape")
    return reduced_loss(squares, reduction, None if weight is None else as_tensor(weight))


def reduced_loss(losses: Tensor, reduction: str, weights: Tensor | None = None) -> Tensor:
    """Losses as they are, their sum, or their (weighted) mean; weights of fewer axes count for each
    loss that they stand beside."""
    if weights is not None:
        losses = arith.multiply(losses, weights)
        if weights.shape != losses.shape:
            weights = broadcast_to(weights, losses.shape)
    return _reduced(losses, reduction, weights)


def _reduced(losses: Tensor, reduction: str, weights: Tensor | None) -> Tensor:
    """The reduction of losses that are multiplied by their weights already."""
    if reduction == "none":
        return losses
    everything = tuple(range(len(losses.shape)))
    if reduction == "sum":
        return total(losses, everything, False)
    if reduction != "mean":
        raise ValueError(f"reduction must be 'mean', 'sum' or 'none', not {reduction!r}")
    if weights is None:
        return mean_of(losses)
    counted = tuple(range(len(weights.shape)))
    dtype = losses.dtype if losses.dtype.kind not in "biu" else config.float_dtype
    # sums of many rows of float16 are infinite
    losses, weights = (cast(x, dtypes.computed(x.dtype)) for x in (losses, weights))
    found = arith.divide(total(losses, everything, False), total(weights, counted, False))
    return cast(found, dtype)


def need_weights(weight: Tensor, classes: Any) -> Tensor:
    """Weights, which are one for each class."""
    if not shapes.fits(weight.shape, (classes,)):
        raise ShapeError(f"weight must have {classes} elements, not be {typed(weight)}")
    return sized(weight, 0, classes)


def _row_weights(labels: Tensor, weight: Any, like: Tensor) -> Tensor | None:
    """The weight of each row's class."""
    if weight is None:
        return None
    weight = need_weights(as_tensor(weight, like.dtype), like.shape[-1])
    mine = is_label(labels, weight.shape[0])
    return total(select.where(mine, weight, 0), (len(labels.shape),), False)


def _label_losses(rows: Any, x: Tensor, labels: Tensor, weight: Any, reduction: str,
                  ignore_index: int | None, smoothing: float = 0.0) -> Tensor:
    """Losses ``rows(labels)`` with weights of classes, some shared out, some left out."""
    ignored = None
    if ignore_index is not None:
        ignored = compare.equal(labels, ignore_index)
        labels = select.where(ignored, 0, labels)
    losses, weights = rows(labels), _row_weights(labels, weight, x)
    losses = losses if weights is None else arith.multiply(losses, weights)
    if smoothing:
        shares = log_softmax(x)
        if weight is not None:
            shares = arith.multiply(shares, as_tensor(weight, x.dtype))
        losses = losses * (1 - smoothing) - mean_of(shares, len(x.shape) - 1) * smoothing
    if ignored is not None:
        losses = select.where(ignored, 0, losses)
        kept = cast(compare.logical_not(ignored), x.dtype)
        weights = kept if weights is None else arith.multiply(weights, kept)
    return _reduced(losses, reduction, weights)


def _classes_last(x: Tensor, axis: int | None) -> Tensor:
    """The axis of classes, 1 by default, as the last one."""
    if x.ndim == 0:
        raise ShapeError("scores need an axis of classes")
    axis = shapes.axis_of(min(1, x.ndim - 1) if axis is None else axis, x.ndim)
    return x if axis == x.ndim - 1 else moveaxis(x, axis, -1)


def _labels(labels: Any, x: Tensor) -> Tensor:
    labels = as_tensor(labels)
    if labels.dtype.kind not in "iu":
        raise DTypeError(f"labels must be integers, not {typed(labels)}: convert them with "
                         ".astype('int64')")
    _PICK.infer(x, labels)
    return labels


def _if_there(ignore_index: int | None, labels: Tensor) -> int | None:
    """A label that is left out, or None where it is known not to occur, as -100 in uint8."""
    bounds = np.iinfo(labels.dtype)
    if ignore_index is not None and not bounds.min <= ignore_index <= bounds.max:
        return None
    if ignore_index is None or not is_known(labels):
        return ignore_index
    given: Any = labels.array
    few = given.size <= _FEW_LABELS
    found = ignore_index in given.ravel().tolist() if few else (given == ignore_index).any()
    return ignore_index if found else None


@planned
@public
def cross_entropy(logits: TensorLike, target: TensorLike, /, weight: TensorLike | None = None, *,
                  reduction: str = "mean", ignore_index: int | None = -100,
                  label_smoothing: float = 0.0, axis: int | None = None, out: Tensor | None = None
                  ) -> Tensor:
    """Cross-entropy between the softmax of ``logits`` and a target.

    :param logits: Scores, of shape (batch, classes), (classes,) or (batch, classes, ...).
    :param target: Integer labels, of the shape without the classes, or probabilities of that of
        ``logits``.
    :param weight: A weight for each class; the mean is weighted then.
    :param reduction: What becomes of the losses of the rows.
    :type reduction: {"mean", "sum", "none"}
    :param ignore_index: A label whose rows have no loss, no gradient, and do not count in the mean;
        of probabilities it says nothing.
    :type ignore_index: int or None
    :param label_smoothing: Share of each row's probability that is spread evenly over all classes.
    :param axis: The axis of classes: 1 by default, as in PyTorch, or that of a vector; -1 for
        classes last.
    :returns: One number, or with "none" a loss for each row, of the shape without the classes. The
        mean over no rows is NaN.
    :raises ShapeError: If the target has another shape.
    :raises DTypeError: If labels are not integers.
    :raises IndexError: If a label is not below the number of classes; compiled code raises, too.
    :raises ValueError: If there is no such reduction, ``label_smoothing`` is not in [0, 1], or
        ``ignore_index`` is given with probabilities.
    :see: nll_loss, log_softmax, nn.CrossEntropyLoss, special.kl_div

    >>> ag.cross_entropy(ag.tensor([[0.0, 0.0], [0.0, 0.0]]), ag.tensor([0, 1]))
    tensor(0.6931472)
    """
    x = floats(beside(logits, target))
    target = beside(target, x)
    if target.ndim > max(x.ndim, 1):
        raise ShapeError(f"the logits come first, and then their target, not {typed(logits)} and "
                         f"{typed(target)}")
    if target.dtype.kind not in "iub" and target.ndim == x.ndim:
        target = _classes_last(target, axis)
    x = _classes_last(x, axis)
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"label_smoothing is a share between 0 and 1, not {label_smoothing}")
    if target.dtype.kind in "iub":
        labels = _labels(target, x)
        ignore_index = _if_there(ignore_index, labels)
        if reduction == "mean" and weight is None and ignore_index is None and not label_smoothing:
            return apply(_MEAN_LOSS, x, labels)
        return _label_losses(lambda labels: apply(_ROW_LOSSES, x, labels), x, labels, weight,
                             reduction, ignore_index, label_smoothing)
    if ignore_index is not None and ignore_index >= 0:
        raise ValueError("ignore_index goes with labels; the target holds probabilities")
    if len(target.shape) == len(x.shape) - 1:
        raise DTypeError(f"labels must be integers, not {typed(target)}: convert them with "
                         ".astype('int64'); probabilities have the shape of the logits")
    target = within_shape(
        "cross_entropy", target, x.shape,
        "probabilities have the shape of the logits, or one that broadcasts to it")
    target = cast(target, x.dtype)
    if label_smoothing:
        even = arith.divide(as_tensor(label_smoothing, x.dtype), product(x.shape[-1:]))
        target = arith.add(target * (1 - label_smoothing), even)
    if weight is not None:
        target = arith.multiply(target, as_tensor(weight, x.dtype))
    last = (len(x.shape) - 1,)
    rows = total(select.where(target == 0, 0, arith.multiply(target, log_softmax(x))), last, False)
    return reduced_loss(arith.negative(rows), reduction)


@planned
@public
def nll_loss(log_probabilities: TensorLike, labels: TensorLike, /, weight: TensorLike | None = None,
             *, reduction: str = "mean", ignore_index: int | None = -100, axis: int | None = None,
             out: Tensor | None = None) -> Tensor:
    """Minus the log-probability of each row's label: :func:`cross_entropy` after log_softmax.

    Parameters are those of :func:`cross_entropy`.

    :like: cross_entropy
    :param log_probabilities: Logarithms of probabilities, of shape (batch, classes), (classes,) or
        (batch, classes, ...).
    :param labels: Of the shape without the classes.
    :type labels: array_like of int
    :param ignore_index: A label whose rows have no loss, no gradient, and do not count in the mean.
    :type ignore_index: int, optional
    :returns: One number, or with "none" a loss for each row. The mean over no rows is NaN.
    :raises ShapeError: If the labels have another shape.
    :raises ValueError: If there is no such reduction.
    :see: cross_entropy, log_softmax

    >>> ag.nll_loss(ag.log_softmax(ag.tensor([[0.0, 0.0]])), ag.tensor([1]))
    tensor(0.6931472)
    """
    x = _classes_last(floats(log_probabilities), axis)
    labels = _labels(labels, x)
    return _label_losses(lambda labels: arith.negative(apply(Pick(), x, labels)), x, labels,
                         weight, reduction, _if_there(ignore_index, labels))
