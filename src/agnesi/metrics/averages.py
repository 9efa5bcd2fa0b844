"""Metrics that are averages over elements: of values, of errors, and what follows from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.autodiff.recording import no_grad
from agnesi.core.op import typed
from agnesi.core.options import Count
from agnesi.core.parameter_types import TensorLike
from agnesi.core.support.errors import DTypeError, ShapeError, at
from agnesi.core.tensor import Tensor
from agnesi.metrics.base import Metric, labels_within
from agnesi.ops.base.arith import abs as absolute
from agnesi.ops.base.arith import sqrt, square
from agnesi.ops.base.compare import not_equal
from agnesi.ops.base.convert import cast
from agnesi.ops.base.creation import asarray
from agnesi.ops.base.movement import expand_dims, moveaxis
from agnesi.ops.base.reduce import mean
from agnesi.ops.base.reduce import sum as total
from agnesi.ops.base.select import where
from agnesi.ops.elementwise.explog import exp
from agnesi.ops.indexing.index import take_along_axis
from agnesi.ops.neural.softmax import log_softmax

_WIDE = np.dtype("float64")


def wide(x: Any) -> Any:
    """In the float type that sums are kept in."""
    found = asarray(x)
    if found.dtype.kind == "c":
        raise DTypeError(at(f"numbers must be real, not {typed(found)}; measure abs(x), or real(x) "
                            "and imag(x)"))
    return cast(found, _WIDE)


def same(metric: Metric, predictions: Any, targets: Any) -> tuple[Any, Any]:
    """Two batches of numbers of one shape."""
    p, t = asarray(predictions), asarray(targets)
    if p.shape != t.shape:
        raise ShapeError(at(f"{type(metric).__name__}: predictions are {typed(p)}, targets "
                            f"{typed(t)}; they must have one shape"))
    return wide(p), wide(t)


class Mean(Metric):
    """The mean of values, as of the losses of batches.

    :see: metrics.MeanSquaredError

    >>> loss = ag.metrics.Mean()
    >>> loss.update(2.0, weight=3)
    >>> loss.update(6.0)
    >>> float(loss.compute())
    3.0
    """

    def __init__(self) -> None:
        self.add_state("sum", 0.0)
        self.add_state("weight", 0.0)

    @no_grad()
    def update(self, value: TensorLike, weight: TensorLike = 1) -> None:
        """Add values.

        :param value: Of any shape.
        :param weight: How much each counts; broadcast to their shape.
        :type weight: array_like
        """
        w = wide(value) * 0 + wide(weight)
        self.sum.add_(total(wide(value) * w))
        self.weight.add_(total(w))

    def compute(self) -> Tensor:
        return self.sum / self.weight


class MeanSquaredError(Metric):
    """The mean of squared differences.

    :param squared: False gives the root of the mean.
    :see: metrics.MeanAbsoluteError, metrics.R2Score

    >>> error = ag.metrics.MeanSquaredError()
    >>> error.update(ag.tensor([1.0, 2.0]), ag.tensor([1.0, 4.0]))
    >>> float(error.compute())
    2.0
    """

    def __init__(self, squared: bool = True) -> None:
        self.squared = squared
        self.add_state("sum", 0.0)
        self.add_state("count", 0)

    @no_grad()
    def update(self, predictions: TensorLike, targets: TensorLike) -> None:
        """Add a batch.

        :param predictions, targets: Of one shape.
        :type predictions, targets: array_like
        """
        p, t = same(self, predictions, targets)
        self.sum.add_(total(square(p - t)))
        self.count.add_(p.size)

    def compute(self) -> Tensor:
        found: Any = self.sum / self.count
        return found if self.squared else sqrt(found)


class MeanAbsoluteError(Metric):
    """The mean of absolute differences.

    :see: metrics.MeanSquaredError

    >>> error = ag.metrics.MeanAbsoluteError()
    >>> error.update(ag.tensor([1.0, 2.0]), ag.tensor([1.0, 4.0]))
    >>> float(error.compute())
    1.0
    """

    def __init__(self) -> None:
        self.add_state("sum", 0.0)
        self.add_state("count", 0)

    @no_grad()
    def update(self, predictions: TensorLike, targets: TensorLike) -> None:
        """Add a batch.

        :param predictions, targets: Of one shape.
        :type predictions, targets: array_like
        """
        p, t = same(self, predictions, targets)
        self.sum.add_(total(absolute(p - t)))
        self.count.add_(p.size)

    def compute(self) -> Tensor:
        return self.sum / self.count


class R2Score(Metric):
    """R squared: the share of the targets' variance that is explained, averaged over outputs.

    An output whose targets are all equal counts 1 where predictions are exact, else 0, as in
    scikit-learn.

    :param num_outputs: Columns of predictions and targets; vectors are one.
    :see: metrics.MeanSquaredError

    >>> score = ag.metrics.R2Score()
    >>> score.update(ag.tensor([1.0, 2.0, 4.0]), ag.tensor([1.0, 2.0, 3.0]))
    >>> float(score.compute())
    0.5
    """

    def __init__(self, num_outputs: Count = 1) -> None:
        self.num_outputs = num_outputs
        for name in ("errors", "sum", "squares", "shift"):
            self.add_state(name, np.zeros(num_outputs))
        self.add_state("count", 0)

    @no_grad()
    def update(self, predictions: TensorLike, targets: TensorLike) -> None:
        """Add a batch.

        :param predictions, targets: Of shape (samples, num_outputs), or vectors.
        :type predictions, targets: array_like
        :raises ShapeError: If they have another number of columns.
        """
        p, t = same(self, predictions, targets)
        if t.ndim and t.size != t.shape[0] * self.num_outputs:
            raise ShapeError(at(f"R2Score: predictions and targets are {typed(t)}, and "
                                f"num_outputs={self.num_outputs}; give the number of columns"))
        p, t = p.reshape((-1, self.num_outputs)), t.reshape((-1, self.num_outputs))
        # Sums of differences to the first batch's mean, so that large targets lose no digits.
        self.shift.copy_(where(self.count == 0, mean(t, axis=0), self.shift))
        moved = t - self.shift
        self.errors.add_(total(square(p - t), axis=0))
        self.sum.add_(total(moved, axis=0))
        self.squares.add_(total(square(moved), axis=0))
        self.count.add_(t.shape[0])

    def compute(self) -> Tensor:
        spread: Any = self.squares - square(self.sum) / self.count
        exact = where(self.errors == 0, 1.0, 0.0)
        flat = spread <= 1e-12 * self.squares
        found = where(flat, exact, 1.0 - self.errors / where(flat, 1.0, spread))
        return mean(where(self.count < 2, np.nan, found))


class Perplexity(Metric):
    """The exponential of the mean negative log-likelihood of the targets.

    :param ignore_index: Targets that do not count, as those of padding.
    :param axis: The axis of the classes' scores.
    :see: metrics.Mean, nn.CrossEntropyLoss

    >>> perplexity = ag.metrics.Perplexity()
    >>> perplexity.update(ag.zeros((2, 3, 10)), ag.zeros((2, 3), dtype="int64"))
    >>> round(float(perplexity.compute()), 4)
    10.0
    """

    def __init__(self, ignore_index: int | None = None, axis: int = -1) -> None:
        self.ignore_index, self.axis = ignore_index, axis
        self.add_state("sum", 0.0)
        self.add_state("count", 0)

    @no_grad()
    def update(self, logits: TensorLike, targets: TensorLike) -> None:
        """Add a batch.

        :param logits: Scores of all classes.
        :type logits: array_like
        :param targets: Of their shape without the axis of classes.
        :type targets: array_like of int
        :raises ShapeError: If shapes are others.
        :raises DTypeError: If targets are no integers.
        """
        scores, t = moveaxis(wide(logits), self.axis, -1), asarray(targets)
        if scores.shape[:-1] != t.shape:
            raise ShapeError(at(f"Perplexity: scores are {typed(logits)}, targets {typed(t)}; they "
                                f"must agree but for axis {self.axis}"))
        if t.dtype.kind not in "iu":
            raise DTypeError(at("Perplexity: targets must be integers, not "
                                f"{typed(t)}; convert them with .astype('int64')"))
        counts = wide(t) * 0 + 1 if self.ignore_index is None else wide(
            not_equal(t, self.ignore_index))
        known = labels_within(self, where(counts > 0, t, 0), scores.shape[-1])
        found: Any = take_along_axis(log_softmax(scores, axis=-1), expand_dims(known, -1), axis=-1)
        self.sum.sub_(total(found[..., 0] * counts))
        self.count.add_(cast(total(counts), self.count.dtype))

    def compute(self) -> Tensor:
        found: Any = self.sum / self.count
        return exp(found)
