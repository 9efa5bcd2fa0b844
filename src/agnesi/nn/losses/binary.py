"""Losses of labels that hold or do not, and of probabilities."""

from __future__ import annotations

from typing import Literal

from agnesi.api import functions as F
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.tensor import Tensor
from agnesi.nn.losses.common import Loss, pair, reduced
from agnesi.ops.base.convert import beside


@planned
@public
def binary_cross_entropy(input: TensorLike, target: TensorLike, weight: TensorLike | None = None,
                         reduction: str = "mean") -> Tensor:
    """Cross entropy of probabilities of one class against its complement.

    :param input: Probabilities, from 0 to 1.
    :param target: Labels or probabilities, from 0 to 1.
    :param weight: A factor for each loss; broadcasts.
    :returns: One number, or with "none" the losses; the mean of none is NaN.
    :raises ValueError: If there is no such reduction, or an input is not from 0 to 1.
    :raises ShapeError: If the target's shape does not broadcast to the input's.
    :see: nn.BCEWithLogitsLoss

    >>> import agnesi as ag
    >>> from agnesi.nn import functional as F
    >>> F.binary_cross_entropy(ag.tensor([0.5, 0.5]), ag.tensor([1.0, 0.0]))
    tensor(0.6931472)
    """
    p, t = pair("binary_cross_entropy", input, target, strict=True)
    p = F.ensure(p, (p >= 0) & (p <= 1), "the input must be probabilities, from 0 to 1: apply "
                 "sigmoid first, or take binary_cross_entropy_with_logits")
    low = -100.0  # as PyTorch: losses and their gradients stay finite
    loss = -(t * F.maximum(F.log(p), low) + (1 - t) * F.maximum(F.log1p(-p), low))
    return reduced(loss if weight is None else loss * beside(weight, loss), reduction)


@planned
@public
def binary_cross_entropy_with_logits(input: TensorLike, target: TensorLike,
                                     weight: TensorLike | None = None, *,
                                     pos_weight: TensorLike | None = None,
                                     reduction: str = "mean") -> Tensor:
    """Cross entropy of the sigmoid of scores, without overflow.

    :like: binary_cross_entropy
    :param input: Scores.
    :param pos_weight: A factor for the losses of positive labels; broadcasts.
    :raises ValueError: If there is no such reduction.
    :see: nn.BCELoss

    >>> import agnesi as ag
    >>> from agnesi.nn import functional as F
    >>> F.binary_cross_entropy_with_logits(ag.zeros(2), ag.tensor([1.0, 0.0]))
    tensor(0.6931472)
    """
    x, t = pair("binary_cross_entropy_with_logits", input, target, strict=True)
    if pos_weight is None:
        loss = F.softplus(x) - x * t
    else:
        loss = t * beside(pos_weight, x) * F.softplus(-x) + (1 - t) * F.softplus(x)
    return reduced(loss if weight is None else loss * beside(weight, loss), reduction)


@planned
@public
def soft_margin_loss(input: TensorLike, target: TensorLike, reduction: str = "mean") -> Tensor:
    """``log(1 + exp(-target * input))``.

    :param input: What was predicted, of any shape.
    :param target: 1 or -1.
    :returns: One number, or with "none" the losses; the mean of none is NaN.
    :raises ValueError: If there is no such reduction.
    :raises ShapeError: If the shapes do not broadcast.
    :see: nn.BCEWithLogitsLoss

    >>> import agnesi as ag
    >>> from agnesi.nn import functional as F
    >>> F.soft_margin_loss(ag.zeros(2), ag.tensor([1.0, -1.0]))
    tensor(0.6931472)
    """
    x, t = pair("soft_margin_loss", input, target)
    return reduced(F.softplus(-t * x), reduction)


@planned
@public
def hinge_embedding_loss(input: TensorLike, target: TensorLike, margin: float = 1.0,
                         reduction: str = "mean") -> Tensor:
    """``input`` where the target is 1, ``max(0, margin - input)`` where it is -1.

    :like: soft_margin_loss
    :param input: Distances.
    :param margin: Distance that is enough.
    :see: nn.CosineEmbeddingLoss

    >>> import agnesi as ag
    >>> from agnesi.nn import functional as F
    >>> F.hinge_embedding_loss(ag.tensor([2.0, 0.5]), ag.tensor([1.0, -1.0]))
    tensor(1.25)
    """
    x, t = pair("hinge_embedding_loss", input, target)
    far = F.clip(margin - x, 0.0)
    return reduced(F.where(t != -1, x, 0.0) + F.where(t != 1, far, 0.0), reduction)


@planned
@public
def kl_div(input: TensorLike, target: TensorLike, *, log_target: bool = False,
           reduction: str = "mean") -> Tensor:
    """Kullback-Leibler divergence, ``target * (log(target) - input)``.

    :param input: Logarithms of the predicted probabilities.
    :param target: Probabilities, or their logarithms.
    :param log_target: Whether ``target`` holds logarithms.
    :param reduction: What becomes of the losses; "batchmean" divides their sum by the first size.
    :type reduction: {"mean", "batchmean", "sum", "none"}
    :returns: One number, or with "none" the losses; a mean of none is NaN.
    :raises ValueError: If there is no such reduction.
    :raises ShapeError: If the shapes do not broadcast.
    :see: nn.CrossEntropyLoss

    >>> import agnesi as ag
    >>> from agnesi.nn import functional as F
    >>> F.kl_div(ag.log(ag.tensor([0.5, 0.5])), ag.tensor([1.0, 0.0]), reduction="sum")
    tensor(0.6931472)
    """
    x, t = pair("kl_div", input, target)
    loss = F.exp(t) * (t - x) if log_target else F.xlogy(t, t) - t * x
    if reduction == "batchmean":
        return F.mean(F.sum(loss, tuple(range(1, loss.ndim))))
    return reduced(loss, reduction)


class BCELoss(Loss):
    """Cross entropy of probabilities of one class against its complement.

    :param weight: A factor for each loss; broadcasts.
    :raises ValueError: By a call, if the input holds what is no probability.
    :raises ShapeError: By a call, if the target does not broadcast to the input.
    :see: nn.functional.binary_cross_entropy, nn.BCEWithLogitsLoss

    >>> ag.nn.BCELoss()(ag.tensor([0.5, 0.5]), ag.tensor([1.0, 0.0]))
    tensor(0.6931472)
    """

    def __init__(self, weight: TensorLike | None = None,
                 reduction: Literal["mean", "sum", "none"] = "mean") -> None:
        self.weight = weight
        self.reduction = reduction

    def forward(self, input: TensorLike, target: TensorLike) -> Tensor:
        return binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(Loss):
    """Cross entropy of the sigmoid of scores, without overflow.

    :param weight: A factor for each loss; broadcasts.
    :param pos_weight: A factor for the losses of positive labels; broadcasts.
    :see: nn.functional.binary_cross_entropy_with_logits, nn.BCELoss

    >>> ag.nn.BCEWithLogitsLoss()(ag.zeros(2), ag.tensor([1.0, 0.0]))
    tensor(0.6931472)
    """

    def __init__(self, weight: TensorLike | None = None, *,
                 pos_weight: TensorLike | None = None,
                 reduction: Literal["mean", "sum", "none"] = "mean") -> None:
        self.weight = weight
        self.pos_weight = pos_weight
        self.reduction = reduction

    def forward(self, input: TensorLike, target: TensorLike) -> Tensor:
        return binary_cross_entropy_with_logits(
            input, target, weight=self.weight, pos_weight=self.pos_weight, reduction=self.reduction)


class SoftMarginLoss(Loss):
    """``log(1 + exp(-target * input))``.

    :see: nn.functional.soft_margin_loss, nn.BCEWithLogitsLoss

    >>> ag.nn.SoftMarginLoss()(ag.zeros(2), ag.tensor([1.0, -1.0]))
    tensor(0.6931472)
    """

    def __init__(self, reduction: Literal["mean", "sum", "none"] = "mean") -> None:
        self.reduction = reduction

    def forward(self, input: TensorLike, target: TensorLike) -> Tensor:
        return soft_margin_loss(input, target, reduction=self.reduction)


class HingeEmbeddingLoss(Loss):
    """``input`` where the target is 1, ``max(0, margin - input)`` where it is -1.

    :param margin: Distance that is enough.
    :see: nn.functional.hinge_embedding_loss, nn.CosineEmbeddingLoss

    >>> ag.nn.HingeEmbeddingLoss()(ag.tensor([2.0, 0.5]), ag.tensor([1.0, -1.0]))
    tensor(1.25)
    """

    def __init__(self, margin: float = 1.0, reduction: Literal["mean", "sum", "none"] = "mean"
                 ) -> None:
        self.margin = margin
        self.reduction = reduction

    def forward(self, input: TensorLike, target: TensorLike) -> Tensor:
        return hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class KLDivLoss(Loss):
    """Kullback-Leibler divergence, ``target * (log(target) - input)``.

    :param log_target: Whether ``target`` holds logarithms.
    :param reduction: What becomes of the losses; "batchmean" divides their sum by the first size.
    :see: nn.functional.kl_div, nn.CrossEntropyLoss

    >>> ag.nn.KLDivLoss(reduction="sum")(ag.log(ag.tensor([0.5, 0.5])), ag.tensor([1.0, 0.0]))
    tensor(0.6931472)
    """

    #: Words for what becomes of the losses.

    def __init__(self, *, log_target: bool = False,
                 reduction: Literal["mean", "batchmean", "sum", "none"] = "mean") -> None:
        self.log_target = log_target
        self.reduction = reduction

    def forward(self, input: TensorLike, target: TensorLike) -> Tensor:
        return kl_div(input, target, log_target=self.log_target, reduction=self.reduction)
