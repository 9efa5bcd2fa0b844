"""Losses of vectors that are to be near each other, or far apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from agnesi.api import functions as F
from agnesi.api.linalg import vector_norm
from agnesi.core.op import typed
from agnesi.core.options import NotNegative, Order
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support.errors import ShapeError
from agnesi.core.tensor import Tensor
from agnesi.nn.losses.common import Loss, as_floats, pair, reduced
from agnesi.ops.base.convert import as_tensor, common
from agnesi.ops.base.parameter_checks import of_shape


def _euclidean(a: Any, b: Any) -> Tensor:
    return vector_norm(a - b + 1e-6, axis=-1)


@planned
@public
def margin_ranking_loss(input1: TensorLike, input2: TensorLike, target: TensorLike,
                        margin: float = 0.0, reduction: str = "mean") -> Tensor:
    """``max(0, -target * (input1 - input2) + margin)``.

    :param input1: Scores.
    :param input2: Scores to compare them with.
    :param target: 1 where the first is to be larger, -1 where the second is.
    :param margin: By how much.
    :returns: One number, or with "none" the losses; the mean of none is NaN.
    :raises ValueError: If there is no such reduction.
    :raises ShapeError: If the shapes do not broadcast.
    :see: nn.TripletMarginLoss

    >>> import agnesi as ag
    >>> from agnesi.nn import functional as F
    >>> F.margin_ranking_loss(ag.zeros(1), ag.ones(1), ag.ones(1))
    tensor(1.)
    """
    a, b = pair("margin_ranking_loss", input1, input2)
    difference, t = pair("margin_ranking_loss", a - b, target)
    return reduced(F.clip(margin - t * difference, 0.0), reduction)


@planned
@public
def cosine_embedding_loss(input1: TensorLike, input2: TensorLike, target: TensorLike,
                          margin: float = 0.0, reduction: str = "mean") -> Tensor:
    """``1 - cos`` where the target is 1, ``max(0, cos - margin)`` where it is -1.

    :like: margin_ranking_loss
    :param input1: Vectors: (n, size), or (size,).
    :param input2: Of the same shape.
    :param target: 1 or -1 for each pair.
    :param margin: Similarity that is small enough.
    :see: nn.HingeEmbeddingLoss

    >>> import agnesi as ag
    >>> from agnesi.nn import functional as F
    >>> F.cosine_embedding_loss(ag.eye(2), ag.eye(2)[::-1], ag.ones(2))
    tensor(1.)
    """
    a, b = pair("cosine_embedding_loss", input1, input2)
    t = as_tensor(target)
    broadcasting = F.broadcast_shapes(a.shape, b.shape)[:-1]
    t = of_shape("cosine_embedding_loss", t, broadcasting,
                 f"target must have one number for each pair of vectors, shape {broadcasting}, "
                 f"not {typed(t)}")
    square = 1e-12  # as PyTorch: vectors of zeros have a similarity of 0
    scale = F.sqrt((F.sum(a * a, -1) + square) * (F.sum(b * b, -1) + square))
    cosine = F.sum(a * b, -1) / scale
    return reduced(F.where(t == 1, 1 - cosine, 0.0)
                   + F.where(t == -1, F.clip(cosine - margin, 0.0), 0.0), reduction)


@planned
@public
def triplet_margin_loss(anchor: TensorLike, positive: TensorLike, negative: TensorLike,
                        margin: float = 1.0, p: Order = 2.0, eps: NotNegative = 1e-6,
                        swap: bool = False, reduction: str = "mean") -> Tensor:
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)`` (Balntas et al., 2016).

    :like: margin_ranking_loss
    :param anchor: Vectors: (..., size).
    :param positive: Vectors that are to be near.
    :param negative: Vectors that are to be far.
    :param margin: By how much farther.
    :param p: Of the norm that is the distance.
    :param eps: Added to each difference.
    :param swap: Whether the distance of positive and negative counts, where it is the smaller one.
    :see: nn.TripletMarginWithDistanceLoss

    >>> import agnesi as ag
    >>> from agnesi.nn import functional as F
    >>> F.triplet_margin_loss(ag.zeros((1, 2)), ag.zeros((1, 2)), ag.ones((1, 2)), margin=2.0)
    tensor(0.585789...)
    """
    def distance(a: Any, b: Any) -> Tensor:
        return vector_norm(a - b + eps, ord=p, axis=-1)

    return triplet_margin_with_distance_loss(
        anchor, positive, negative, distance_function=distance, margin=margin, swap=swap,
        reduction=reduction)


@public
def triplet_margin_with_distance_loss(anchor: TensorLike, positive: TensorLike,
                                      negative: TensorLike,
                                      distance_function: Callable[[Any, Any], Any] | None = None,
                                      margin: float = 1.0, swap: bool = False,
                                      reduction: str = "mean") -> Tensor:
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)`` for a distance of your own.

    :like: triplet_margin_loss
    :param distance_function: Gives the distances of pairs; the Euclidean one by default.
    :see: nn.TripletMarginLoss

    >>> import agnesi as ag
    >>> from agnesi.nn import functional as F
    >>> F.triplet_margin_with_distance_loss(ag.zeros((1, 2)), ag.zeros((1, 2)), ag.zeros((1, 2)))
    tensor(1.)
    """
    d = distance_function or _euclidean
    a, near, far = map(as_floats, common(anchor, positive, negative))
    if not a.ndim == near.ndim == far.ndim:
        raise ShapeError(f"anchor, positive and negative must have as many axes as each other, not "
                         f"{typed(a)}, {typed(near)} and {typed(far)}")
    apart = d(a, far)
    if swap:
        apart = F.minimum(apart, d(near, far))
    return reduced(F.clip(d(a, near) - apart + margin, 0.0), reduction)


class MarginRankingLoss(Loss):
    """``max(0, -target * (input1 - input2) + margin)``.

    :param margin: By how much.
    :see: nn.functional.margin_ranking_loss, nn.TripletMarginLoss

    >>> ag.nn.MarginRankingLoss()(ag.zeros(1), ag.ones(1), ag.ones(1))
    tensor(1.)
    """

    def __init__(self, margin: float = 0.0, reduction: Literal["mean", "sum", "none"] = "mean"
                 ) -> None:
        self.margin = margin
        self.reduction = reduction

    def forward(self, input1: TensorLike, input2: TensorLike, target: TensorLike) -> Tensor:
        return margin_ranking_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction)


class CosineEmbeddingLoss(Loss):
    """``1 - cos`` where the target is 1, ``max(0, cos - margin)`` where it is -1.

    :param margin: Similarity that is small enough.
    :see: nn.functional.cosine_embedding_loss, nn.HingeEmbeddingLoss

    >>> ag.nn.CosineEmbeddingLoss()(ag.eye(2), ag.eye(2)[::-1], ag.ones(2))
    tensor(1.)
    """

    def __init__(self, margin: float = 0.0, reduction: Literal["mean", "sum", "none"] = "mean"
                 ) -> None:
        self.margin = margin
        self.reduction = reduction

    def forward(self, input1: TensorLike, input2: TensorLike, target: TensorLike) -> Tensor:
        return cosine_embedding_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction)


class TripletMarginLoss(Loss):
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)`` (Balntas et al., 2016).

    :param margin: By how much farther.
    :param p: Of the norm that is the distance.
    :param eps: Added to each difference.
    :param swap: Whether the distance of positive and negative counts, where it is the smaller one.
    :see: nn.functional.triplet_margin_loss, nn.TripletMarginWithDistanceLoss

    >>> ag.nn.TripletMarginLoss(margin=2.0)(ag.zeros((1, 2)), ag.zeros((1, 2)), ag.ones((1, 2)))
    tensor(0.585789...)
    """

    def __init__(self, margin: float = 1.0, p: Order = 2.0, eps: NotNegative = 1e-6,
                 swap: bool = False, reduction: Literal["mean", "sum", "none"] = "mean") -> None:
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap
        self.reduction = reduction

    def forward(self, anchor: TensorLike, positive: TensorLike, negative: TensorLike) -> Tensor:
        return triplet_margin_loss(
            anchor, positive, negative, margin=self.margin, p=self.p, eps=self.eps, swap=self.swap,
            reduction=self.reduction)


class TripletMarginWithDistanceLoss(Loss):
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)`` for a distance of your own.

    :param distance_function: Gives the distances of pairs; the Euclidean one by default.
    :param margin: By how much farther.
    :param swap: Whether the distance of positive and negative counts, where it is the smaller one.
    :see: nn.functional.triplet_margin_with_distance_loss, nn.TripletMarginLoss

    >>> ag.nn.TripletMarginWithDistanceLoss()(ag.zeros((1, 2)), ag.zeros((1, 2)), ag.zeros((1, 2)))
    tensor(1.)
    """

    def __init__(self, distance_function: Callable[[Any, Any], Any] | None = None,
                 margin: float = 1.0, swap: bool = False,
                 reduction: Literal["mean", "sum", "none"] = "mean") -> None:
        self.distance_function = distance_function
        self.margin = margin
        self.swap = swap
        self.reduction = reduction

    def forward(self, anchor: TensorLike, positive: TensorLike, negative: TensorLike) -> Tensor:
        return triplet_margin_with_distance_loss(
            anchor, positive, negative, distance_function=self.distance_function,
            margin=self.margin, swap=self.swap, reduction=self.reduction)
