"""Softmax, its logarithm, and the losses made of it; all stable for large and infinite inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.core import dtypes, shapes
from agnesi.core.dims import product
from agnesi.core.dispatch import apply, symbolic
from agnesi.core.errors import DTypeError, ShapeError
from agnesi.core.op import Op, called, typed
from agnesi.core.public import public
from agnesi.core.record import record
from agnesi.core.tensor import Tensor
from agnesi.ops import arith, compare, select
from agnesi.ops.convert import as_tensor, cast
from agnesi.ops.elementwise import silently
from agnesi.ops.explog import exp, log
from agnesi.ops.movement import expand_dims
from agnesi.ops.places import located, within
from agnesi.ops.ranges import Arange
from agnesi.ops.reduce import Axis, reducer
from agnesi.ops.reduce import mean as mean_of

# -- logsumexp ----------------------------------------------------------------------------------


def _total(x: Tensor, axes: tuple[int, ...], keepdims: bool = True) -> Tensor:
    return apply(reducer("add", axes, keepdims), x)


def _peak(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Greatest element along axes, made finite so that it can be subtracted; 0 of none."""
    if 0 in [x.shape[a] for a in axes]:
        return _total(x, axes)
    top = apply(reducer("maximum", axes, True), x)
    return select.where(compare.isfinite(top), top, 0)


def _numpy_peak(x: np.ndarray, axes: Any) -> np.ndarray:
    if not x.size:
        return np.asarray(np.add.reduce(x, axis=axes, keepdims=True))
    top = np.maximum.reduce(x, axis=axes, keepdims=True)
    finite = np.isfinite(top)
    return top if finite.all() else np.where(finite, top, 0)


def _wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float32) if x.dtype in dtypes.HALVES else x


def _below_peak(x: np.ndarray, axes: Any) -> np.ndarray:
    """A new array: ``x`` less its greatest element along axes."""
    x = _wide(x)
    return np.asarray(x - _numpy_peak(x, axes))


@record
class LogSumExp(Op):
    """Logarithm of the sum of exponentials along axes."""

    axes: tuple[int, ...]
    keepdims: bool = False
    name = "logsumexp"
    by_types = True
    keep_output = True

    def infer(self, x: Any) -> Any:
        return shapes.reduced(x.shape, self.axes, self.keepdims), x.dtype

    def perform(self, x: np.ndarray) -> np.ndarray:
        return silently(self._compute, x)

    def _compute(self, x: np.ndarray) -> np.ndarray:
        wide = _wide(x)
        top = _numpy_peak(wide, self.axes)
        add: Any = np.add.reduce
        total = add(np.exp(wide - top), axis=self.axes, keepdims=self.keepdims)
        y = np.log(total) + (top if self.keepdims else top.reshape(np.shape(total)))
        return np.asarray(y, x.dtype)

    def decompose(self, x: Tensor) -> Tensor:
        if x.dtype in dtypes.HALVES:
            return cast(self.decompose(cast(x, dtypes.float32)), x.dtype)
        top = _peak(x, self.axes)
        y = arith.add(log(_total(exp(arith.subtract(x, top)), self.axes)), top)
        return y if self.keepdims else _total(y, self.axes, False)

    def shares(self, y: Tensor, x: Tensor) -> Tensor:
        """The part of each element in the sum; 0 where all are -inf."""
        # Not exp(x - y): all of them would carry the rounding of y, which is large where y is.
        none = reducer("add", self.axes, self.keepdims).spread(compare.equal(y, -np.inf), x.shape)
        return select.where(none, 0, apply(Softmax(self.axes), x))

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        g = reducer("add", self.axes, self.keepdims).spread(g, x.shape)
        return (arith.multiply(g, self.shares(y, x)),)

    def jvp(self, ts: Any, y: Tensor, x: Tensor) -> Any:
        return _total(arith.multiply(ts[0], self.shares(y, x)), self.axes, self.keepdims)


@public
def logsumexp(x: Any, /, axis: Axis = None, *, keepdims: bool = False,
              out: Tensor | None = None) -> Tensor:
    """``log(sum(exp(x)))`` over axes (all by default), without overflow.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.logsumexp(ag.tensor([1000.0, 1000.0]))
    tensor(1000.6932)
    """
    x = _floats(x)
    return apply(LogSumExp(shapes.axes_of(axis, x.ndim), keepdims), x)


def _floats(x: Any) -> Tensor:
    x = as_tensor(x)
    if x.dtype.kind == "c":
        raise DTypeError(f"complex numbers have no order: {typed(x)}")
    return cast(x, dtypes.floating(x.dtype))


# -- softmax ------------------------------------------------------------------------------------
@record
class Shares(Op):
    """Base of softmax and its logarithm, whose derivatives read nothing but the result."""

    axes: tuple[int, ...]
    keep_inputs = ()
    keep_output = True

    def infer(self, x: Any) -> Any:
        return x.shape, x.dtype

    def perform(self, x: np.ndarray) -> np.ndarray:
        return silently(self.compute, x)

    def compute(self, x: np.ndarray) -> np.ndarray:
        """The result, with warnings where numbers overflow."""
        raise NotImplementedError


@record
class Softmax(Shares):
    """Exponentials divided by their sum."""

    name = "softmax"
    by_types = True

    def compute(self, x: np.ndarray) -> np.ndarray:
        e = _below_peak(x, self.axes)
        np.exp(e, out=e)
        e /= np.add.reduce(e, axis=self.axes, keepdims=True)
        return e.astype(x.dtype, copy=False)

    def decompose(self, x: Tensor) -> Tensor:
        if x.dtype in dtypes.HALVES:
            return cast(self.decompose(cast(x, dtypes.float32)), x.dtype)
        e = exp(arith.subtract(x, _peak(x, self.axes)))
        return arith.multiply(e, arith.reciprocal(_total(e, self.axes)))

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        return (self.jvp((g,), y, x),)

    def jvp(self, ts: Any, y: Tensor, x: Tensor) -> Any:
        part = arith.multiply(ts[0], y)
        return arith.subtract(part, arith.multiply(y, _total(part, self.axes)))


@record
class LogSoftmax(Shares):
    """Logarithm of the softmax."""

    name = "log_softmax"
    by_types = True

    def compute(self, x: np.ndarray) -> np.ndarray:
        off = _below_peak(x, self.axes)
        off -= np.log(np.add.reduce(np.exp(off), axis=self.axes, keepdims=True))
        return off.astype(x.dtype, copy=False)

    def decompose(self, x: Tensor) -> Tensor:
        if x.dtype in dtypes.HALVES:
            return cast(self.decompose(cast(x, dtypes.float32)), x.dtype)
        off = arith.subtract(x, _peak(x, self.axes))
        return arith.subtract(off, log(_total(exp(off), self.axes)))

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        return (arith.subtract(g, arith.multiply(exp(y), _total(g, self.axes))),)

    def jvp(self, ts: Any, y: Tensor, x: Tensor) -> Any:
        t = ts[0]
        return arith.subtract(t, _total(arith.multiply(t, exp(y)), self.axes))


@public
def softmax(x: Any, /, axis: Axis = -1, *, out: Tensor | None = None) -> Tensor:
    """Exponentials divided by their sum over ``axis``.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.softmax(ag.tensor([0.0, 0.0]))
    tensor([0.5, 0.5])
    """
    x = _floats(x)
    return apply(Softmax(shapes.axes_of(axis, x.ndim)), x)


@public
def log_softmax(x: Any, /, axis: Axis = -1, *, out: Tensor | None = None) -> Tensor:
    """Logarithm of :func:`softmax`, without its rounding.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.log_softmax(ag.tensor([0.0, 0.0]))
    tensor([-0.6931472, -0.6931472])
    """
    x = _floats(x)
    return apply(LogSoftmax(shapes.axes_of(axis, x.ndim)), x)


# -- losses -------------------------------------------------------------------------------------
@record
class Pick(Op):
    """For each row, the element of the last axis that its label names."""

    name = "pick"
    keep_inputs = (1,)

    def infer(self, x: Any, labels: Any) -> Any:
        rows = x.shape[:-1]
        if len(rows) != len(labels.shape) or any(
            m != n and type(m) is type(n) is int for m, n in zip(rows, labels.shape, strict=True)
        ):
            second = len(x.shape) > 2 and (x.shape[0], *x.shape[2:]) == labels.shape
            hint = "; classes are the last axis: ag.moveaxis(x, 1, -1)" if second else ""
            raise ShapeError(f"labels need one entry per row of {x.shape}: shape {rows}, not "
                             f"{labels.shape}{hint}")
        return rows, x.dtype

    def perform(self, x: np.ndarray, labels: np.ndarray) -> np.ndarray:
        rows = np.arange(labels.size).reshape(labels.shape)
        flat = x.reshape(labels.size, x.shape[-1])
        try:
            if labels.min(initial=0) >= 0:
                return flat[rows, labels]
        except IndexError:
            pass
        classes = x.shape[-1]
        wrong = labels[(labels < 0) | (labels >= classes)][0]
        raise IndexError(f"label {wrong} is out of range for {classes} classes: labels run from "
                         f"0 to {classes - 1}")

    def decompose(self, x: Tensor, labels: Tensor) -> Tensor:
        known = within(labels, x.shape[-1], called(self.name, (x, labels)), least=0,
                       what="a label")
        return apply(Chosen(), x, known)

    def vjp(self, g: Tensor, y: Tensor, x: Tensor, labels: Tensor) -> tuple[Any, ...]:
        return select.where(_is_label(labels, x.shape[-1]), expand_dims(g, -1), 0), None

    def jvp(self, ts: Any, y: Tensor, x: Tensor, labels: Tensor) -> Any:
        return None if ts[0] is None else apply(self, ts[0], labels)


@record
class Chosen(Op):
    """``Pick``, compiled: the labels are known to be in range."""

    name = "chosen"
    keep_inputs = (1,)

    def infer(self, x: Any, labels: Any) -> Any:
        return x.shape[:-1], x.dtype

    def reduction(self, x: Any, labels: Any) -> tuple[int, ...]:
        return (len(x.shape) - 1,)

    def perform(self, x: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return Pick().perform(x, labels)

    def lower(self, at: Any, x: Any, labels: Any) -> Any:
        return x(*at, located(labels(*at), x.shape[-1]))


def _is_label(labels: Tensor, classes: Any) -> Tensor:
    """One True per row, at its label."""
    if isinstance(classes, int) and classes < 1 << 31 and labels.dtype.kind in "iu":
        labels = cast(labels, dtypes.int32)  # more of them at a time
    numbers = Arange(0, 1, classes, labels.dtype)
    # In a graph the numbers stay an operation, so that they need no memory.
    columns = symbolic(numbers, ()) if labels.data is None else apply(numbers)
    return compare.equal(expand_dims(labels, -1), columns)


@record
class SoftmaxLessLabel(Op):
    """Probabilities less one at the label: the derivative of the cross-entropy."""

    name = "softmax_less_label"
    keep_inputs = (0,)

    def infer(self, x: Any, labels: Any) -> Any:
        Pick().infer(x, labels)
        return x.shape, x.dtype

    def perform(self, x: np.ndarray, labels: np.ndarray) -> np.ndarray:
        p = np.ascontiguousarray(Softmax((x.ndim - 1,)).perform(x))
        flat = p.reshape(labels.size, x.shape[-1])
        flat[np.arange(labels.size), labels.reshape(-1)] -= 1
        return p

    def decompose(self, x: Tensor, labels: Tensor) -> Tensor:
        p = apply(Softmax((len(x.shape) - 1,)), x)
        return arith.subtract(p, cast(_is_label(labels, x.shape[-1]), x.dtype))

    def vjp(self, g: Tensor, y: Tensor, x: Tensor, labels: Tensor) -> tuple[Any, ...]:
        return self.jvp((g,), y, x, labels), None

    def jvp(self, ts: Any, y: Tensor, x: Tensor, labels: Tensor) -> Any:
        if ts[0] is None:
            return None
        softmax = Softmax((len(x.shape) - 1,))
        return softmax.jvp(ts, apply(softmax, x), x)


@record
class LabelLoss(Op):
    """Cross-entropy of softmax along the last axis with labels: row by row, or its mean."""

    mean: bool = False
    name = "cross_entropy"

    def infer(self, x: Any, labels: Any) -> Any:
        rows, dtype = Pick().infer(x, labels)
        return () if self.mean else rows, dtype

    def perform(self, x: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return silently(self._compute, x, labels)

    def _compute(self, x: np.ndarray, labels: np.ndarray) -> np.ndarray:
        off = _below_peak(x, -1)
        rows: Any = np.log(np.exp(off).sum(-1)) - Pick().perform(off, labels)
        return np.asarray(np.divide(rows.sum(), rows.size) if self.mean else rows, x.dtype)

    def decompose(self, x: Tensor, labels: Tensor) -> Tensor:
        rows = arith.negative(apply(Pick(), apply(LogSoftmax((len(x.shape) - 1,)), x), labels))
        return mean_of(rows) if self.mean else rows

    def vjp(self, g: Tensor, y: Tensor, x: Tensor, labels: Tensor) -> tuple[Any, ...]:
        g = arith.divide(g, product(labels.shape)) if self.mean else expand_dims(g, -1)
        return arith.multiply(g, apply(SoftmaxLessLabel(), x, labels)), None

    def jvp(self, ts: Any, y: Tensor, x: Tensor, labels: Tensor) -> Any:
        if ts[0] is None:
            return None
        part = arith.multiply(ts[0], apply(SoftmaxLessLabel(), x, labels))
        rows = _total(part, (len(x.shape) - 1,), False)
        return mean_of(rows) if self.mean else rows


def reduced_loss(losses: Tensor, reduction: str, weights: Tensor | None = None) -> Tensor:
    """Losses as they are, their sum, or their (weighted) mean."""
    if weights is not None:
        losses = arith.multiply(losses, weights)
    return _reduced(losses, reduction, weights)


def _reduced(losses: Tensor, reduction: str, weights: Tensor | None) -> Tensor:
    """The same for losses that have their weights."""
    if reduction == "none":
        return losses
    everything = tuple(range(len(losses.shape)))
    if reduction == "sum":
        return _total(losses, everything, False)
    if reduction != "mean":
        raise ValueError(f"reduction must be 'mean', 'sum' or 'none', not {reduction!r}")
    if weights is None:
        return mean_of(losses)
    return arith.divide(_total(losses, everything, False), _total(weights, everything, False))


def _row_weights(labels: Tensor, weight: Any, like: Tensor) -> Tensor | None:
    """The weight of each row's class."""
    if weight is None:
        return None
    weight = as_tensor(weight, like.dtype)
    if not shapes.fits(weight.shape, like.shape[-1:]):
        raise ShapeError(f"weight must have {like.shape[-1]} elements, not be {typed(weight)}")
    mine = _is_label(labels, weight.shape[0])
    return _total(select.where(mine, weight, 0), (len(labels.shape),), False)


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


def _labels(labels: Any, x: Tensor) -> Tensor:
    labels = as_tensor(labels)
    if labels.dtype.kind not in "iu":
        raise DTypeError(f"labels must be integers, not {typed(labels)}")
    Pick().infer(x, labels)
    return labels


@public
def cross_entropy(logits: Any, target: Any, /, *, weight: Any = None, reduction: str = "mean",
                  ignore_index: int | None = None, label_smoothing: float = 0.0,
                  out: Tensor | None = None) -> Tensor:
    """Cross-entropy between the softmax of ``logits`` and a target, over the last axis.

    Parameters
    ----------
    logits : array_like
        Scores, of shape (..., classes).
    target : array_like
        Integer labels of shape (...), or probabilities of the shape of ``logits``.
    weight : array_like, optional
        A weight for each class; the mean is weighted then.
    reduction : {"mean", "sum", "none"}
        What becomes of the losses of the rows.
    ignore_index : int, optional
        A label whose rows have no loss, no gradient, and do not count in the mean.
    label_smoothing : float
        Share of each row's probability that is spread evenly over all classes.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.cross_entropy(ag.tensor([[0.0, 0.0], [0.0, 0.0]]), ag.tensor([0, 1]))
    tensor(0.6931472)
    """
    x, target = _floats(logits), as_tensor(target)
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"label_smoothing is a share between 0 and 1, not {label_smoothing}")
    if target.dtype.kind in "iub":
        labels = _labels(target, x)
        if reduction == "mean" and weight is None and ignore_index is None and not label_smoothing:
            return apply(LabelLoss(mean=True), x, labels)
        return _label_losses(lambda labels: apply(LabelLoss(), x, labels), x, labels, weight,
                             reduction, ignore_index, label_smoothing)
    if ignore_index is not None:
        raise ValueError("ignore_index goes with labels; the target holds probabilities")
    if len(target.shape) == len(x.shape) - 1:
        raise DTypeError(f"labels must be integers, not {typed(target)}: convert them with "
                         ".astype('int64'); probabilities have the shape of the logits")
    shapes.broadcast(x.shape, target.shape)
    target = cast(target, x.dtype)
    if label_smoothing:
        even = arith.divide(as_tensor(label_smoothing, x.dtype), product(x.shape[-1:]))
        target = arith.add(target * (1 - label_smoothing), even)
    if weight is not None:
        target = arith.multiply(target, as_tensor(weight, x.dtype))
    last = (len(x.shape) - 1,)
    rows = _total(select.where(target == 0, 0, arith.multiply(target, log_softmax(x))), last, False)
    return reduced_loss(arith.negative(rows), reduction)


@public
def nll_loss(log_probabilities: Any, labels: Any, /, *, weight: Any = None, reduction: str = "mean",
             ignore_index: int | None = None, out: Tensor | None = None) -> Tensor:
    """Minus the log-probability of each row's label: :func:`cross_entropy` after log_softmax.

    Parameters are those of :func:`cross_entropy`.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.nll_loss(ag.log_softmax(ag.tensor([[0.0, 0.0]])), ag.tensor([1]))
    tensor(0.6931472)
    """
    x = _floats(log_probabilities)
    labels = _labels(labels, x)
    return _label_losses(lambda labels: arith.negative(apply(Pick(), x, labels)), x, labels,
                         weight, reduction, ignore_index)
