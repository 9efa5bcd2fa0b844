"""Losses of numbers."""

from __future__ import annotations

import math
from typing import Literal

from agnesi.api import functions as F
from agnesi.autodiff.recording import stop_gradient
from agnesi.core.options import NotNegative
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.tensor import Tensor
from agnesi.nn.losses.common import Loss, not_negative, pair, reduced
from agnesi.ops.base.convert import beside
from agnesi.ops.neural.activations import limited
from agnesi.ops.neural.losses import reduced_loss


@planned
@public
def l1_loss(input: TensorLike, target: TensorLike, reduction: str = "mean",
            weight: TensorLike | None = None) -> Tensor:
    """Mean absolute difference.

    :param input: What was predicted, of any shape.
    :param target: Of the same shape, or one that broadcasts.
    :param weight: Factors of the losses, by whose sum the mean divides.
    :returns: One number, or with "none" the losses; the mean of none is NaN.
    :raises ValueError: If there is no such reduction.
    :raises ShapeError: If the shapes do not broadcast.
    :see: nn.MSELoss, nn.SmoothL1Loss

    >>> import agnesi as ag
    >>> from agnesi.nn import functional as F
    >>> F.l1_loss(ag.zeros(2), ag.tensor([1.0, -3.0]))
    tensor(2.)
    """
    a, b = pair("l1_loss", input, target)
    if weight is not None:
        return reduced_loss(F.abs(a - b), reduction, beside(weight, a))
    return reduced(F.abs(a - b), reduction)


@planned
@public
def smooth_l1_loss(input: TensorLike, target: TensorLike, *, beta: NotNegative = 1.0,
                   reduction: str = "mean") -> Tensor:
    """Squared error where it is small, absolute error elsewhere (Girshick, 2015).

    :like: l1_loss
    :param beta: Below it ``0.5 d**2 / beta``, from it on ``d - beta / 2``, for a difference of size
        d.
    :raises ValueError: If ``beta`` is negative, or there is no such reduction.
    :see: nn.HuberLoss, nn.L1Loss

    >>> import agnesi as ag
    >>> from agnesi.nn import functional as F
    >>> F.smooth_l1_loss(ag.zeros(2), ag.tensor([0.5, 3.0]))
    tensor(1.3125)
    """
    not_negative("smooth_l1_loss", "beta", beta)
    a, b = pair("smooth_l1_loss", input, target)
    d = a - b
    if beta == 0:
        return reduced(F.abs(d), reduction)
    near = limited(d, -beta, beta)
    return reduced(0.5 / beta * near * near + (F.abs(d) - F.abs(near)), reduction)


@planned
@public
def huber_loss(input: TensorLike, target: TensorLike, reduction: str = "mean",
               delta: NotNegative = 1.0, weight: TensorLike | None = None) -> Tensor:
    """Squared error where it is small, absolute error elsewhere (Huber, 1964).

    :like: l1_loss
    :param delta: Below it ``0.5 d**2``, from it on ``delta (d - delta / 2)``, for a difference of
        size d.
    :param weight: Factors of the losses; the mean divides by how many there are.
    :raises ValueError: If ``delta`` is negative, or there is no such reduction.
    :see: nn.SmoothL1Loss, nn.MSELoss

    >>> import agnesi as ag
    >>> from agnesi.nn import functional as F
    >>> F.huber_loss(ag.zeros(2), ag.tensor([0.5, 3.0]))
    tensor(1.3125)
    """
    not_negative("huber_loss", "delta", delta)
    a, b = pair("huber_loss", input, target)
    d = a - b
    near = limited(d, -delta, delta)
    losses = near * (0.5 * near) + delta * (F.abs(d) - F.abs(near))
    return reduced(losses if weight is None else losses * weight, reduction)


@planned
@public
def poisson_nll_loss(input: TensorLike, target: TensorLike, log_input: bool = True,
                     full: bool = False, *, eps: NotNegative = 1e-8,
                     reduction: str = "mean") -> Tensor:
    """Negative log-likelihood of counts under a Poisson distribution.

    :like: l1_loss
    :param input: The logarithm of the mean, or the mean.
    :param target: Counts.
    :param log_input: Whether ``input`` is the logarithm of the mean.
    :param full: Whether Stirling's approximation of the logarithm of the factorial is added, for
        counts above 1.
    :param eps: Added to a mean whose logarithm is taken.
    :see: nn.GaussianNLLLoss

    >>> import agnesi as ag
    >>> from agnesi.nn import functional as F
    >>> F.poisson_nll_loss(ag.zeros(2), ag.tensor([1.0, 2.0]))
    tensor(1.)
    """
    x, t = pair("poisson_nll_loss", input, target)
    loss = F.exp(x) - t * x if log_input else x - t * F.log(x + eps)
    if full:
        many = F.maximum(t, 1.0)
        term = many * F.log(many) - many + 0.5 * F.log(2 * math.pi * many)
        loss = loss + F.where(t > 1, term, 0.0)
    return reduced(loss, reduction)


@planned
@public
def gaussian_nll_loss(input: TensorLike, target: TensorLike, var: TensorLike, full: bool = False,
                      eps: NotNegative = 1e-6, reduction: str = "mean") -> Tensor:
    """Negative log-likelihood of normals of given variances (Nix and Weigend, 1994).

    :like: l1_loss
    :param input: Means.
    :param var: Variances, of the shape of ``input``, or with 1 as, or without, the last size.
    :param full: Whether the constant ``0.5 log(2 pi)`` is added.
    :param eps: The smallest variance; no gradient flows through the bound.
    :see: nn.PoissonNLLLoss, nn.MSELoss

    >>> import agnesi as ag
    >>> from agnesi.nn import functional as F
    >>> F.gaussian_nll_loss(ag.zeros(2), ag.tensor([1.0, 3.0]), ag.ones(2))
    tensor(2.5)
    """
    x, t = pair("gaussian_nll_loss", input, target)
    v = beside(var, x)
    v = F.ensure(v, v >= 0, "var must not be negative")
    if v.ndim == x.ndim - 1:
        v = v[..., None]
    v = v + stop_gradient(F.maximum(v, eps) - v)
    loss = 0.5 * (F.log(v) + (x - t) ** 2 / v)
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


class L1Loss(Loss):
    """Mean absolute difference.

    :see: nn.functional.l1_loss, nn.MSELoss, nn.SmoothL1Loss

    >>> ag.nn.L1Loss()(ag.zeros(2), ag.tensor([1.0, -3.0]))
    tensor(2.)
    """

    def __init__(self, reduction: Literal["mean", "sum", "none"] = "mean") -> None:
        self.reduction = reduction

    def forward(self, input: TensorLike, target: TensorLike) -> Tensor:
        return l1_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(Loss):
    """Squared error where it is small, absolute error elsewhere (Girshick, 2015).

    :param beta: Below it ``0.5 d**2 / beta``, from it on ``d - beta / 2``, for a difference of size
        d.
    :see: nn.functional.smooth_l1_loss, nn.HuberLoss, nn.L1Loss

    >>> ag.nn.SmoothL1Loss()(ag.zeros(2), ag.tensor([0.5, 3.0]))
    tensor(1.3125)
    """

    def __init__(self, *, beta: NotNegative = 1.0,
                 reduction: Literal["mean", "sum", "none"] = "mean") -> None:
        self.beta = beta
        self.reduction = reduction

    def forward(self, input: TensorLike, target: TensorLike) -> Tensor:
        return smooth_l1_loss(input, target, beta=self.beta, reduction=self.reduction)


class HuberLoss(Loss):
    """Squared error where it is small, absolute error elsewhere (Huber, 1964).

    :param delta: Below it ``0.5 d**2``, from it on ``delta (d - delta / 2)``, for a difference of
        size d.
    :see: nn.functional.huber_loss, nn.SmoothL1Loss, nn.MSELoss

    >>> ag.nn.HuberLoss()(ag.zeros(2), ag.tensor([0.5, 3.0]))
    tensor(1.3125)
    """

    def __init__(self, reduction: Literal["mean", "sum", "none"] = "mean", delta: NotNegative = 1.0
                 ) -> None:
        self.delta = delta
        self.reduction = reduction

    def forward(self, input: TensorLike, target: TensorLike) -> Tensor:
        return huber_loss(input, target, delta=self.delta, reduction=self.reduction)


class PoissonNLLLoss(Loss):
    """Negative log-likelihood of counts under a Poisson distribution.

    :param log_input: Whether ``input`` is the logarithm of the mean.
    :param full: Whether Stirling's approximation of the logarithm of the factorial is added, for
        counts above 1.
    :param eps: Added to a mean whose logarithm is taken.
    :see: nn.functional.poisson_nll_loss, nn.GaussianNLLLoss

    >>> ag.nn.PoissonNLLLoss()(ag.zeros(2), ag.tensor([1.0, 2.0]))
    tensor(1.)
    """

    def __init__(self, log_input: bool = True, full: bool = False, *,
                 eps: NotNegative = 1e-8,
                 reduction: Literal["mean", "sum", "none"] = "mean") -> None:
        self.log_input = log_input
        self.full = full
        self.eps = eps
        self.reduction = reduction

    def forward(self, input: TensorLike, target: TensorLike) -> Tensor:
        return poisson_nll_loss(
            input, target, log_input=self.log_input, full=self.full, eps=self.eps,
            reduction=self.reduction)


class GaussianNLLLoss(Loss):
    """Negative log-likelihood of normals of given variances (Nix and Weigend, 1994).

    :param full: Whether the constant ``0.5 log(2 pi)`` is added.
    :param eps: The smallest variance; no gradient flows through the bound.
    :see: nn.functional.gaussian_nll_loss, nn.PoissonNLLLoss, nn.MSELoss

    >>> ag.nn.GaussianNLLLoss()(ag.zeros(2), ag.tensor([1.0, 3.0]), ag.ones(2))
    tensor(2.5)
    """

    def __init__(self, full: bool = False, eps: NotNegative = 1e-6,
                 reduction: Literal["mean", "sum", "none"] = "mean") -> None:
        self.full = full
        self.eps = eps
        self.reduction = reduction

    def forward(self, input: TensorLike, target: TensorLike, var: TensorLike) -> Tensor:
        return gaussian_nll_loss(
            input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)
