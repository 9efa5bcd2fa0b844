"""Losses of one or several of many classes."""

from __future__ import annotations

from typing import Literal

from agnesi.api import functions as F
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support.errors import at
from agnesi.core.tensor import Tensor
from agnesi.nn.losses.common import Loss, as_floats, labels, pair, reduced
from agnesi.ops.base.convert import beside
from agnesi.ops.base.gather.gather_scatter import checked_within
from agnesi.ops.neural.losses import need_weights, nll_loss


@planned
@public
def multi_margin_loss(input: TensorLike, target: TensorLike, p: int = 1, margin: float = 1.0,
                      weight: TensorLike | None = None, reduction: str = "mean") -> Tensor:
    """Hinge of classes: the mean of ``max(0, margin - x[y] + x[i])**p`` (Crammer and Singer, 2001).

    :param input: Scores: (n, classes), or (classes,).
    :param target: Labels: (n,), or one.
    :param p: 1 or 2.
    :param margin: By how much the right score is to be larger.
    :param weight: A factor for each class.
    :returns: One number, or with "none" the losses; the mean of none is NaN.
    :raises ValueError: If ``p`` is neither, or there is no such reduction.
    :raises ShapeError: If the shapes do not broadcast.
    :raises IndexError: If a label is none of a class.
    :see: nn.MultiLabelMarginLoss

    >>> import agnesi as ag
    >>> from agnesi.nn import functional as F
    >>> F.multi_margin_loss(ag.tensor([[0.0, 0.5]]), ag.tensor([0]))
    tensor(0.75)
    """
    x = as_floats(input)
    t = labels("multi_margin_loss", x, target, x.shape[:-1])
    if p not in (1, 2):
        raise ValueError(at(f"multi_margin_loss: p must be 1 or 2, not {p}"))
    t = checked_within(t, x.shape[-1], "a label", "multi_margin_loss")
    right = F.take_along_axis(x, t[..., None], -1)
    loss = F.relu(margin - right + x) ** p
    others = F.arange(x.shape[-1]) != t[..., None]
    if weight is not None:
        weight = need_weights(beside(weight, x), x.shape[-1])
        loss = loss * F.take(weight, t[..., None], axis=0)
    return reduced(F.sum(F.where(others, loss, 0.0), -1) / x.shape[-1], reduction)


@planned
@public
def multilabel_margin_loss(input: TensorLike, target: TensorLike,
                           reduction: str = "mean") -> Tensor:
    """Hinge loss between the score of each true label and of each other class.

    :like: multi_margin_loss
    :param target: Labels, as many as wanted, then -1: of the same shape.
    :raises ValueError: If there is no such reduction.
    :see: nn.MultiMarginLoss, nn.MultiLabelSoftMarginLoss

    >>> import agnesi as ag
    >>> from agnesi.nn import functional as F
    >>> F.multilabel_margin_loss(ag.tensor([[0.1, 0.2, 0.4, 0.8]]), ag.tensor([[3, 0, -1, 1]]))
    tensor(0.85)
    """
    x = as_floats(input)
    t = labels("multilabel_margin_loss", x, target, x.shape)
    classes = F.arange(x.shape[-1])
    known = F.cumprod(F.astype(t >= 0, "int64"), -1) > 0
    wanted = F.where(known, t, 0)
    is_label = F.any((wanted[..., :, None] == classes) & known[..., :, None], -2)
    right = F.take_along_axis(x, wanted, -1)
    loss = F.relu(1 - right[..., :, None] + x[..., None, :])
    pairs = F.logical_and(known[..., :, None], F.logical_not(is_label[..., None, :]))
    return reduced(F.sum(F.where(pairs, loss, 0.0), (-2, -1)) / x.shape[-1], reduction)


@planned
@public
def multilabel_soft_margin_loss(input: TensorLike, target: TensorLike,
                                weight: TensorLike | None = None,
                                reduction: str = "mean") -> Tensor:
    """Binary cross-entropy of each class, averaged over the classes.

    :param input: Scores: (..., classes).
    :param target: 1 for each label, 0 for the others.
    :param weight: A factor for each class.
    :returns: One number, or with "none" the losses; the mean of none is NaN.
    :raises ValueError: If there is no such reduction.
    :raises ShapeError: If the shapes do not broadcast.
    :see: nn.BCEWithLogitsLoss, nn.MultiLabelMarginLoss

    >>> import agnesi as ag
    >>> from agnesi.nn import functional as F
    >>> F.multilabel_soft_margin_loss(ag.zeros((1, 2)), ag.tensor([[1.0, 0.0]]))
    tensor(0.6931472)
    """
    x, t = pair("multilabel_soft_margin_loss", input, target)
    loss = F.softplus(x) - x * t
    loss = loss if weight is None else loss * beside(weight, loss)
    return reduced(F.sum(loss, -1) / x.shape[-1], reduction)


class MultiMarginLoss(Loss):
    """Hinge of classes: the mean of ``max(0, margin - x[y] + x[i])**p`` (Crammer and Singer, 2001).

    :param p: 1 or 2.
    :type p: int
    :param margin: By how much the right score is to be larger.
    :param weight: A factor for each class.
    :see: nn.functional.multi_margin_loss, nn.MultiLabelMarginLoss

    >>> ag.nn.MultiMarginLoss()(ag.tensor([[0.0, 0.5]]), ag.tensor([0]))
    tensor(0.75)
    """

    def __init__(self, p: Literal[1, 2] = 1, margin: float = 1.0, weight: TensorLike | None = None,
                 reduction: Literal["mean", "sum", "none"] = "mean") -> None:
        self.p = p
        self.margin = margin
        self.weight = weight
        self.reduction = reduction

    def forward(self, input: TensorLike, target: TensorLike) -> Tensor:
        return multi_margin_loss(
            input, target, p=self.p, margin=self.margin, weight=self.weight,
            reduction=self.reduction)


class MultiLabelMarginLoss(Loss):
    """Hinge loss between the score of each true label and of each other class.

    :see: nn.functional.multilabel_margin_loss, nn.MultiMarginLoss, nn.MultiLabelSoftMarginLoss

    >>> ag.nn.MultiLabelMarginLoss()(ag.tensor([[0.1, 0.2, 0.4, 0.8]]), ag.tensor([[3, 0, -1, 1]]))
    tensor(0.85)
    """

    def __init__(self, reduction: Literal["mean", "sum", "none"] = "mean") -> None:
        self.reduction = reduction

    def forward(self, input: TensorLike, target: TensorLike) -> Tensor:
        return multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(Loss):
    """Binary cross-entropy of each class, averaged over the classes.

    :param weight: A factor for each class.
    :see: nn.functional.multilabel_soft_margin_loss, nn.BCEWithLogitsLoss, nn.MultiLabelMarginLoss

    >>> ag.nn.MultiLabelSoftMarginLoss()(ag.zeros((1, 2)), ag.tensor([[1.0, 0.0]]))
    tensor(0.6931472)
    """

    def __init__(self, weight: TensorLike | None = None,
                 reduction: Literal["mean", "sum", "none"] = "mean") -> None:
        self.weight = weight
        self.reduction = reduction

    def forward(self, input: TensorLike, target: TensorLike) -> Tensor:
        return multilabel_soft_margin_loss(
            input, target, weight=self.weight, reduction=self.reduction)


class NLLLoss(Loss):
    """Minus the log-probability of each row's label.

    :param weight: A weight for each class; the mean is weighted then.
    :param ignore_index: A label whose rows have no loss, no gradient, and do not count in the mean.
    :type ignore_index: int, optional
    :param reduction: What becomes of the losses of the rows.
    :see: nn.functional.nll_loss, nn.CrossEntropyLoss, nn.LogSoftmax

    >>> ag.nn.NLLLoss()(ag.log(ag.tensor([[0.5, 0.5]])), ag.tensor([0]))
    tensor(0.6931472)
    """

    def __init__(self, weight: TensorLike | None = None, *, ignore_index: int | None = -100,
                 reduction: Literal["mean", "sum", "none"] = "mean") -> None:
        self.weight, self.ignore_index, self.reduction = weight, ignore_index, reduction

    def forward(self, input: TensorLike, target: TensorLike) -> Tensor:
        return nll_loss(input, target, self.weight, reduction=self.reduction,
                        ignore_index=self.ignore_index)
