"""Losses, and what else is computed of predictions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import agnesi as ag
from agnesi.compat.chainer.formula import alike, applied
from agnesi.compat.chainer.function import Function
from agnesi.compat.chainer.variable import as_variable
from agnesi.core.support.errors import ShapeError, at, typed
from agnesi.nn import functional as nn

__all__ = [
    "accuracy", "bernoulli_nll", "binary_accuracy", "connectionist_temporal_classification",
    "contrastive", "cross_covariance", "gaussian_kl_divergence", "gaussian_nll", "hinge",
    "huber_loss", "mean_absolute_error", "mean_squared_error", "negative_sampling",
    "sigmoid_cross_entropy", "softmax_cross_entropy", "triplet",
]


class _Accuracy(Function):
    """The share of right predictions, through which no gradient flows."""

    def __init__(self, of_one: bool = False, ignore_label: int | None = None) -> None:
        self.of_one, self.ignore_label = of_one, ignore_label

    def forward(self, inputs: Any) -> Any:
        y, t = inputs
        if t.dtype.kind not in "iub":
            raise TypeError(at(f"accuracy: labels must be integers, not {typed(t)}"))
        if t.size != (y.size if self.of_one else len(y)):
            raise ShapeError(at(f"accuracy: labels {typed(t)} do not fit scores {typed(y)}: one "
                                "label for each sample"))
        if self.of_one:
            right, counted = (y.reshape(t.shape) >= 0) == t, t != -1
        else:
            right = y.reshape(len(y), -1).argmax(1).reshape(t.shape) == t
            counted = np.ones_like(right) if self.ignore_label is None else t != self.ignore_label
        return np.asarray((right & counted).sum() / max(counted.sum(), 1), y.dtype),


def accuracy(y: Any, t: Any, ignore_label: int | None = None) -> Any:
    """The share of samples whose largest score is at the label."""
    return _Accuracy(ignore_label=ignore_label)(y, t)


def binary_accuracy(y: Any, t: Any) -> Any:
    """The share of scores whose sign is that of the label, 0 or 1; labels of -1 do not count."""
    return _Accuracy(of_one=True)(y, t)


def softmax_cross_entropy(x: Any, t: Any, use_cudnn: bool = True, normalize: bool = True,
                          ignore_label: int = -1, cache_score: bool = True) -> Any:
    """Minus the mean logarithm of the softmax at the labels; those of -1 do not count."""
    x, t = map(as_variable, (x, t))
    if t.data.dtype.kind not in "iu":
        raise TypeError(at("softmax_cross_entropy: labels are integers, one for each row of the "
                           f"scores {typed(x.data)}, not {typed(t.data)}: np.argmax(t, axis=1) "
                           "gives them of probabilities, t.astype('i') of whole numbers"))

    def compute(x: Any, t: Any) -> Any:
        loss = nn.cross_entropy(x, t, ignore_index=ignore_label, reduction="sum")
        count = ag.sum(t != ignore_label).astype(x.dtype) if normalize else x.shape[0]
        return loss / ag.maximum(count, 1)

    return applied("SoftmaxCrossEntropy", compute, x, t)


def sigmoid_cross_entropy(x: Any, t: Any, use_cudnn: bool = True, normalize: bool = True) -> Any:
    """Minus the mean logarithm of the chance of labels 0 and 1; those of -1 do not count."""
    x, t = map(as_variable, (x, t))
    if t.data.dtype.kind not in "iub" or t.data.shape != x.data.shape or (
            (t.data < -1) | (t.data > 1)).any():
        raise ValueError(at("sigmoid_cross_entropy: labels are integers 0, 1 or -1 in the shape of "
                            f"the scores {typed(x.data)}, not {typed(t.data)}"
                            + f" from {t.data.min()} to {t.data.max()}" * bool(t.data.size)))

    def compute(x: Any, t: Any) -> Any:
        counted = t != -1
        losses = ag.where(counted, ag.logaddexp(x, 0.0) - x * ag.where(counted, t, 0), 0.0)
        count = ag.maximum(ag.sum(counted), 1).astype(x.dtype) if normalize else x.shape[0]
        return ag.sum(losses) / count

    return applied("SigmoidCrossEntropy", compute, x, t)


def mean_squared_error(x0: Any, x1: Any) -> Any:
    """The mean of squared differences."""
    alike("mean_squared_error", x0=x0, x1=x1)
    return applied("MeanSquaredError", lambda a, b: ag.mean((a - b) ** 2), x0, x1)


def mean_absolute_error(x0: Any, x1: Any) -> Any:
    """The mean of absolute differences."""
    alike("mean_absolute_error", x0=x0, x1=x1)
    return applied("MeanAbsoluteError", lambda a, b: ag.mean(ag.abs(a - b)), x0, x1)


def huber_loss(x: Any, t: Any, delta: float) -> Any:
    """Squares of small differences and lengths of large ones, summed along the second axis."""
    if delta < 0:
        raise ValueError(at(f"huber_loss: delta must not be negative, but is {delta}"))
    alike("huber_loss", x=x, t=t)
    def compute(x: Any, t: Any) -> Any:
        off = ag.abs(x - t)
        return ag.sum(ag.where(off < delta, 0.5 * off * off, delta * (off - 0.5 * delta)), 1)

    return applied("HuberLoss", compute, x, t)


def hinge(x: Any, t: Any, norm: str = "L1") -> Any:
    """Margins that scores miss, by one class against all others."""
    if norm not in ("L1", "L2"):
        raise ValueError(at(f"hinge: norm must be 'L1' or 'L2', not {norm!r}"))
    def compute(x: Any, t: Any) -> Any:
        signs = 1.0 - 2.0 * nn.one_hot(t, x.shape[1]).astype(x.dtype)
        missed = ag.maximum(0.0, 1.0 + signs * x)
        return ag.sum(missed if norm == "L1" else missed**2) / x.shape[0]

    return applied("Hinge", compute, x, t)


def contrastive(x0: Any, x1: Any, y: Any, margin: float = 1) -> Any:
    """Distances of pairs that belong together, and what others are nearer than a margin."""
    if margin <= 0:
        raise ValueError(at(f"contrastive: margin must be positive, but is {margin}"))
    alike("contrastive", x0=x0, x1=x1)
    x0, y = map(as_variable, (x0, y))
    if y.data.shape != x0.data.shape[:1]:
        raise ShapeError(at(f"contrastive: y must have a label, 1 or 0, for each of the "
                            f"{len(x0.data)} pairs, not be {typed(y.data)}"))

    def compute(a: Any, b: Any, y: Any) -> Any:
        square = ag.sum((a - b) ** 2, 1)
        near = ag.maximum(margin - ag.sqrt(square), 0.0)
        return ag.sum(y * square + (1 - y) * near**2) / 2.0 / a.shape[0]

    return applied("Contrastive", compute, x0, x1, y)


def triplet(anchor: Any, positive: Any, negative: Any, margin: float = 0.2) -> Any:
    """By how much the wrong one is nearer than the right one and a margin."""
    alike("triplet", anchor=anchor, positive=positive, negative=negative)
    def compute(a: Any, p: Any, n: Any) -> Any:
        return ag.mean(ag.maximum(ag.sum((a - p) ** 2 - (a - n) ** 2, 1) + margin, 0.0))

    return applied("Triplet", compute, anchor, positive, negative)


def cross_covariance(y: Any, z: Any) -> Any:
    """Half the sum of squared covariances of two groups of variables."""
    def compute(y: Any, z: Any) -> Any:
        y, z = y - ag.mean(y, 0, keepdims=True), z - ag.mean(z, 0, keepdims=True)
        return 0.5 * ag.sum((y.T @ z / y.shape[0]) ** 2)

    return applied("CrossCovariance", compute, y, z)


def gaussian_kl_divergence(mean: Any, ln_var: Any) -> Any:
    """The divergence of normal distributions from the standard one, summed."""
    alike("gaussian_kl_divergence", mean=mean, ln_var=ln_var)
    return applied("GaussianKLDivergence", lambda m, v: 0.5 * ag.sum(
        m * m + ag.exp(v) - v - 1), mean, ln_var)


def bernoulli_nll(x: Any, y: Any) -> Any:
    """Minus the logarithm of the chance of 0s and 1s, whose scores are y, summed."""
    alike("bernoulli_nll", x=x, y=y)
    return applied("BernoulliNLL", lambda x, y: ag.sum(ag.logaddexp(y, 0.0) - x * y), x, y)


def gaussian_nll(x: Any, mean: Any, ln_var: Any) -> Any:
    """Minus the logarithm of normal densities, summed."""
    alike("gaussian_nll", x=x, mean=mean, ln_var=ln_var)
    return applied("GaussianNLL", lambda x, m, v: 0.5 * ag.sum(
        (x - m) ** 2 * ag.exp(-v) + v + math.log(2 * math.pi)), x, mean, ln_var)


def negative_sampling(x: Any, t: Any, W: Any, sampler: Any, sample_size: int) -> Any:
    """How well rows of W distinguish labels from ``sample_size`` samples, summed over the batch."""
    labels = np.asarray(getattr(t, "data", t))
    drawn = sampler((len(labels), sample_size + 1))
    drawn[:, 0] = labels
    signs = np.ones(sample_size + 1, np.float32)
    signs[0] = -1

    def compute(x: Any, w: Any) -> Any:
        scores = ag.einsum("ijk,ik->ij", w[drawn], x)
        return ag.sum(ag.logaddexp(scores * signs, 0.0))

    return applied("NegativeSamplingFunction", compute, x, W)


def connectionist_temporal_classification(x: Any, t: Any, blank_symbol: int,
                                          input_length: Any = None,
                                          label_length: Any = None) -> Any:
    """Minus the mean logarithm of the chance that steps of scores read as labels."""
    steps, size = len(x), len(as_variable(x[0]).data)
    data = np.asarray(getattr(t, "data", t))
    given = [np.asarray(getattr(n, "data", n)) if n is not None else np.full(size, most)
             for n, most in ((input_length, steps), (label_length, data.shape[1]))]

    def compute(*xs: Any) -> Any:
        scores = ag.log_softmax(ag.stack(xs), axis=2)
        return ag.mean(nn.ctc_loss(scores, data, given[0], given[1], blank=blank_symbol,
                                   reduction="none"))

    return applied("ConnectionistTemporalClassification", compute, *x)
