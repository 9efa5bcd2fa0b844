"""Metrics of classes: accuracy, the confusion matrix and its kin, areas under curves."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from agnesi.autodiff.recording import no_grad
from agnesi.core.op import typed
from agnesi.core.options import Count
from agnesi.core.parameter_types import TensorLike
from agnesi.core.support.errors import ShapeError, at, shown
from agnesi.core.tensor import Tensor, wrap
from agnesi.metrics.base import Metric, labels_within
from agnesi.ops.base.compare import equal, greater, greater_equal, less, not_equal
from agnesi.ops.base.convert import cast
from agnesi.ops.base.creation import asarray
from agnesi.ops.base.ensure import ensure
from agnesi.ops.base.movement import expand_dims, moveaxis
from agnesi.ops.base.reduce import sum as total
from agnesi.ops.base.select import floor, minimum, where
from agnesi.ops.indexing.diagonal import diagonal
from agnesi.ops.indexing.index import take_along_axis
from agnesi.ops.indexing.ranges import arange
from agnesi.ops.numerics.statistics import bincount
from agnesi.ops.reductions.positions import argmax

_COUNT, _WIDE = np.dtype("int64"), np.dtype("float64")


def labels(metric: Metric, predictions: Any, targets: Any, threshold: float = 0.5
           ) -> tuple[Any, Any]:
    """Labels that are predicted, and those that are right, as vectors."""
    p, t = asarray(predictions), asarray(targets)
    if p.ndim == t.ndim + 1 and (p.shape[0], *p.shape[2:]) == tuple(t.shape):
        if p.shape[1] == 1:
            raise ShapeError(at(f"{type(metric).__name__}: predictions are {typed(p)}, scores of "
                                "one class; scores of label 1 have the targets' shape: "
                                "predictions[:, 0]"))
        count = getattr(metric, "num_classes", p.shape[1])
        if p.shape[1] != count:
            raise ShapeError(at(f"{type(metric).__name__}: predictions are {typed(p)}, scores of "
                                f"{p.shape[1]} classes, and num_classes is {count}"))
        p = argmax(p, axis=1)
    elif p.shape != t.shape:
        raise ShapeError(at(f"{type(metric).__name__}: predictions are {typed(p)}, targets "
                            f"{typed(t)}; predictions are labels of the targets' shape, or scores "
                            "with one axis more, the second, for classes"))
    elif p.dtype.kind in "fV":
        p = greater(p, threshold)
    return cast(p, _COUNT).reshape((-1,)), _whole(metric, t).reshape((-1,))


def _whole(metric: Metric, t: Any) -> Any:
    """The targets as integers, after a check that those of a floating dtype are whole numbers."""
    if t.dtype.kind in "fV":
        t = ensure(t, equal(t, floor(t)).all(), (
            f"{type(metric).__name__}: targets are labels, whole numbers, not fractions "
            f"({typed(t)}); MeanSquaredError and MeanAbsoluteError measure numbers"))
    return cast(t, _COUNT)


class Accuracy(Metric):
    """The share of samples whose label is predicted, or is among the ``top_k`` highest scores.

    :param top_k: How many of the highest scores count.
    :param ignore_index: Targets that do not count.
    :param threshold: Above which scores of the targets' shape mean label 1.
    :raises ValueError: If ``top_k`` is less than 1.
    :see: metrics.ConfusionMatrix, metrics.F1Score

    >>> scores, labels = ag.tensor([[0.1, 0.7, 0.2], [0.5, 0.2, 0.3]]), ag.tensor([1, 2])
    >>> for k in (1, 2):
    ...     accuracy = ag.metrics.Accuracy(top_k=k)
    ...     accuracy.update(scores, labels)
    ...     print(float(accuracy.compute()))
    0.5
    1.0
    """

    def __init__(self, top_k: Count = 1, ignore_index: int | None = None,
                 threshold: float = 0.5) -> None:
        if top_k < 1:
            raise ValueError(at(f"Accuracy: top_k must be at least 1, not {top_k}"))
        self.top_k, self.ignore_index, self.threshold = top_k, ignore_index, threshold
        self.add_state("right", 0)
        self.add_state("count", 0)

    @no_grad()
    def update(self, predictions: TensorLike, targets: TensorLike) -> None:
        """Add a batch.

        :param predictions: Scores of shape (samples, classes, ...), labels of the targets' shape,
            or scores of it.
        :type predictions: array_like
        :param targets: Of shape (samples, ...).
        :type targets: array_like of int
        """
        if self.top_k == 1:
            p, t = labels(self, predictions, targets, self.threshold)
            right = equal(p, t)
        else:
            right, t = self._among(asarray(predictions), asarray(targets))
        if self.ignore_index is None:
            self.count.add_(t.size)
        else:
            counts = not_equal(t, self.ignore_index)
            right = right & counts
            self.count.add_(total(cast(counts, _COUNT)))
        self.right.add_(total(cast(right, _COUNT)))

    def _among(self, scores: Any, targets: Any) -> tuple[Any, Any]:
        """Return whether few scores are higher than those of the targets."""
        scores = moveaxis(scores, 1, -1) if scores.ndim > 1 else scores
        if scores.ndim != targets.ndim + 1 or scores.shape[:-1] != targets.shape:
            raise ShapeError(at(f"Accuracy with top_k={self.top_k} takes scores of shape (samples, "
                                f"classes, ...), not {typed(scores)}, for {typed(targets)}"))
        targets = _whole(self, targets)
        known = targets if self.ignore_index is None else where(
            equal(targets, self.ignore_index), 0, targets)
        known = labels_within(self, known, scores.shape[-1])
        own = take_along_axis(scores, expand_dims(known, -1), axis=-1)
        higher = total(cast(greater(scores, own), _COUNT), axis=-1)
        return less(higher, self.top_k).reshape((-1,)), targets.reshape((-1,))

    def compute(self) -> Tensor:
        return self.right / self.count


class ConfusionMatrix(Metric):
    """Counts of pairs of target and predicted label: rows are targets, columns predictions.

    :param num_classes: How many labels there are.
    :param threshold: Above which scores of the targets' shape mean label 1.
    :raises ValueError: If ``num_classes`` is less than 2.
    :see: metrics.Accuracy, metrics.F1Score

    >>> matrix = ag.metrics.ConfusionMatrix(2)
    >>> matrix.update(ag.tensor([0, 1, 1]), ag.tensor([0, 0, 1]))
    >>> matrix.compute()
    tensor([[1, 1],
            [0, 1]])
    """

    def __init__(self, num_classes: Count = 2, threshold: float = 0.5) -> None:
        if num_classes < 2:
            raise ValueError(at(f"{type(self).__name__}: num_classes must be at least 2, not "
                                f"{num_classes}"))
        self.num_classes, self.threshold = num_classes, threshold
        self.add_state("matrix", np.zeros((num_classes, num_classes), np.int64))

    @no_grad()
    def update(self, predictions: TensorLike, targets: TensorLike) -> None:
        """Add a batch.

        :param predictions: Scores of shape (samples, classes, ...), labels of the targets' shape,
            or scores of it.
        :type predictions: array_like
        :param targets: Of shape (samples, ...).
        :type targets: array_like of int
        """
        p, t = labels(self, predictions, targets, self.threshold)
        n = self.num_classes
        inside = less(p, n) & less(t, n) & greater_equal(p, 0) & greater_equal(t, 0)
        both = ensure(t * n + p, inside.all(), f"a label or a prediction is none of {n} "
                      f"classes: they run from 0 to {n - 1}")
        self.matrix.add_(bincount(both, length=n * n).reshape((n, n)))

    def compute(self) -> Tensor:
        return self.matrix.clone()


class _OfMatrix(ConfusionMatrix):
    """A metric of the confusion matrix, averaged over classes."""

    def __init__(self, num_classes: Count = 2,
                 average: Literal["binary", "macro", "micro", "weighted", "none"] | None = None,
                 threshold: float = 0.5) -> None:
        super().__init__(num_classes, threshold)
        average = average or ("binary" if num_classes == 2 else "macro")
        if average not in ("binary", "macro", "micro", "weighted", "none") or (
                average == "binary" and num_classes != 2):
            raise ValueError(at(f"{type(self).__name__}: average must be 'macro', 'micro', "
                                "'weighted', 'none', or 'binary' with two classes, not "
                                f"{shown(average)}"))
        self.average = average

    def compute(self) -> Tensor:
        m: Any = cast(self.matrix, _WIDE)
        hits, there, said = diagonal(m), total(m, axis=1), total(m, axis=0)
        if self.average == "micro":
            found: Any = self.share(total(hits), total(there), total(said))
            return found
        each: Any = self.share(hits, there, said)
        if self.average == "binary":
            return each[1]
        if self.average == "none":
            return each
        if self.average == "weighted":
            return total(each * there) / total(there)
        # Labels that neither occur nor are predicted count for nothing, as in scikit-learn.
        known = cast(greater(there + said, 0), _WIDE)
        return total(each * known) / total(known)

    @staticmethod
    def share(hits: Any, there: Any, said: Any) -> Any:
        """The metric of classes, from how often they were hit, there, and predicted."""
        raise NotImplementedError


def _ratio(part: Any, whole: Any) -> Any:
    """A quotient that is 0 where there is nothing."""
    return where(whole > 0, part / where(whole > 0, whole, 1.0), 0.0)


class Precision(_OfMatrix):
    """The share of a label's predictions that are right; 0 where there are none.

    :param num_classes: How many labels there are.
    :param average: Of label 1 only (with two labels, by default), the mean over labels that occur
        (with more, by default), of all samples together, the mean by how often labels occur, or of
        each label.
    :param threshold: Above which scores of the targets' shape mean label 1.
    :raises ValueError: If ``average`` is none of these, or ``num_classes`` is less than 2.
    :see: metrics.ConfusionMatrix, metrics.Accuracy

    >>> metric = ag.metrics.Precision()
    >>> metric.update(ag.tensor([0, 1, 1, 1]), ag.tensor([0, 0, 1, 1]))
    >>> round(float(metric.compute()), 4)
    0.6667
    """

    @staticmethod
    def share(hits: Any, there: Any, said: Any) -> Any:
        return _ratio(hits, said)


class Recall(_OfMatrix):
    """The share of a label's samples that are found; 0 where there are none.

    :like: Precision
    :see: metrics.ConfusionMatrix, metrics.Accuracy

    >>> metric = ag.metrics.Recall()
    >>> metric.update(ag.tensor([0, 1, 1, 1]), ag.tensor([0, 0, 1, 1]))
    >>> round(float(metric.compute()), 4)
    1.0
    """

    @staticmethod
    def share(hits: Any, there: Any, said: Any) -> Any:
        return _ratio(hits, there)


class F1Score(_OfMatrix):
    """The harmonic mean of precision and recall; 0 where a label never occurs.

    :like: Precision
    :see: metrics.ConfusionMatrix, metrics.Accuracy

    >>> metric = ag.metrics.F1Score()
    >>> metric.update(ag.tensor([0, 1, 1, 1]), ag.tensor([0, 0, 1, 1]))
    >>> round(float(metric.compute()), 4)
    0.8
    """

    @staticmethod
    def share(hits: Any, there: Any, said: Any) -> Any:
        return _ratio(2 * hits, there + said)


class AUROC(Metric):
    """The exact area under the ROC curve; all scores are kept until :meth:`compute`.

    :param capacity: How many samples there may be.
    :param num_classes: Scores have so many columns, each against all others, and the mean of their
        areas counts; without, they are of label 1.
    :raises ValueError: If ``capacity`` is less than 1.
    :see: metrics.Accuracy, metrics.F1Score

    >>> auroc = ag.metrics.AUROC()
    >>> auroc.update(ag.tensor([0.1, 0.4, 0.35, 0.8]), ag.tensor([0, 0, 1, 1]))
    >>> float(auroc.compute())
    0.75
    """

    def __init__(self, capacity: Count = 100_000, num_classes: Count | None = None) -> None:
        if capacity < 1:
            raise ValueError(at(f"AUROC: capacity must be at least 1, not {capacity}"))
        self.capacity, self.num_classes = capacity, num_classes
        columns = () if num_classes is None else (num_classes,)
        self.add_state("scores", np.zeros((capacity + 1, *columns)))  # one to spare
        self.add_state("targets", np.zeros(capacity + 1, np.int64))
        self.add_state("count", 0)

    @no_grad()
    def update(self, scores: TensorLike, targets: TensorLike) -> None:
        """Add a batch.

        :param scores: Of the targets' shape, or (samples, num_classes).
        :type scores: array_like
        :param targets: Of shape (samples,).
        :type targets: array_like of int
        :raises ShapeError: If shapes are others.
        """
        s, t = asarray(scores), asarray(targets)
        columns = () if self.num_classes is None else (self.num_classes,)
        if t.ndim != 1 or s.shape != (*t.shape, *columns):
            raise ShapeError(at(f"AUROC: targets are a vector and scores of shape (samples, "
                                f"{', '.join(map(str, columns))}), not {typed(t)} and {typed(s)}"))
        if self.num_classes is None:
            t = ensure(t, ((t == 0) | (t == 1)).all(), "AUROC: targets must be 0 or 1; give "
                       "num_classes for more classes")
        else:
            t = labels_within(self, t, self.num_classes)
        places = minimum(self.count + arange(t.shape[0]), self.capacity)
        self.scores[places] = cast(s, self.scores.dtype)
        self.targets[places] = cast(t, _COUNT)
        self.count.add_(t.shape[0])

    def compute(self) -> Tensor:
        """The area of all batches since the last reset, outside of compiled functions.

        :returns: NaN where only one label was there, or a score is NaN.
        :raises ValueError: If there were more samples than ``capacity``.
        """
        count = int(self.count)
        if count > self.capacity:
            raise ValueError(at(f"AUROC: there were {count} samples, more than "
                                f"capacity={self.capacity}"))
        scores, targets = self.scores.array[:count], self.targets.array[:count]
        if self.num_classes is None:
            return wrap(np.array(_area(scores, targets == 1)))
        areas = [_area(scores[:, k], targets == k) for k in range(self.num_classes)]
        return wrap(np.array(np.mean(areas)))


def _area(scores: np.ndarray, positive: np.ndarray) -> float:
    """The share of pairs of both kinds whose scores are in order; equal ones count a half."""
    pairs = np.count_nonzero(positive) * np.count_nonzero(~positive)
    if not pairs or np.isnan(scores).any():
        return float("nan")
    _, where_, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    mine = np.count_nonzero(positive)
    return float((ranks[where_[positive]].sum() - mine * (mine + 1) / 2) / pairs)
