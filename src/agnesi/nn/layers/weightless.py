"""Layers without weights of their own shape: regularisation, losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal

from agnesi.api import functions as F
from agnesi.core.dispatch import assign
from agnesi.core.options import Share
from agnesi.core.tensor import Tensor
from agnesi.nn import functional
from agnesi.nn.base.module import Module
from agnesi.ops.base.movement import flatten
from agnesi.ops.random.generators import Generator


class Flatten(Module):
    """Flatten the axes from ``start_dim`` to ``end_dim`` into one; by default all but the batch.

    :param start_dim, end_dim: The first and the last of the axes that become one.
    :see: nn.Unflatten, flatten

    >>> ag.nn.Flatten()(ag.zeros((2, 3, 4))).shape
    (2, 12)
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x: Tensor) -> Tensor:
        return flatten(x, self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        axes = (self.start_dim, self.end_dim)
        return "" if axes == (1, -1) else "{}, {}".format(*axes)


class Unflatten(Module):
    """Split one axis into several.

    :param dim: The axis.
    :param unflattened_size: Sizes of the axes in its place; one of them may be -1.
    :see: nn.Flatten, reshape

    >>> ag.nn.Unflatten(1, (3, -1))(ag.zeros((2, 12, 5))).shape
    (2, 3, 4, 5)
    """

    def __init__(self, dim: int, unflattened_size: tuple[int, ...]) -> None:
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, x: Tensor) -> Tensor:
        return F.unflatten(x, self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"{self.dim}, {self.unflattened_size}"


class _Dropout(Module):
    """What is set to 0 with a probability."""

    function: ClassVar[Callable[..., Tensor]] = staticmethod(functional.dropout)

    def __init__(self, p: Share = 0.5, inplace: bool = False, *,
                 generator: Generator | None = None) -> None:
        self.p, self.inplace = p, inplace
        self.generator = generator

    def forward(self, x: Tensor) -> Tensor:
        y = type(self).function(x, self.p, self.training, generator=self.generator)
        return assign(x, y) if self.inplace and y is not x else y

    def extra_repr(self) -> str:
        return f"{self.p}"


class Dropout(_Dropout):
    """Zero random elements in training, scale others by ``1 / (1 - p)`` (Srivastava et al., 2014).

    :param p: Share of the elements that become zero.
    :param generator: Source of randomness; the library's own by default (see
        :func:`agnesi.manual_seed`).
    :raises ValueError: If ``p`` is not in [0, 1].
    :raises TypeError: If ``p`` is no number.
    :see: nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.functional.dropout

    >>> drop = ag.nn.Dropout(0.5)
    >>> sorted(set(drop(ag.ones(99)).tolist()))
    [0.0, 2.0]
    >>> drop.eval()(ag.ones(2))
    tensor([1., 1.])
    """


class Dropout1d(_Dropout):
    """Set random whole channels of rows to zero in training (Tompson et al., 2015).

    :param p: Share of the elements that become zero.
    :param generator: Source of randomness; the library's own by default (see
        :func:`agnesi.manual_seed`).
    :raises ValueError: If ``p`` is not in [0, 1].
    :raises TypeError: If ``p`` is no number.
    :see: nn.Dropout, nn.functional.dropout1d

    >>> ag.nn.Dropout1d(0.5).eval()(ag.ones((1, 2, 3))).shape
    (1, 2, 3)
    """

    function = staticmethod(functional.dropout1d)


class Dropout2d(_Dropout):
    """Set random whole channels of images to zero in training.

    Neighbours in an image are correlated, so that dropping single ones would change little
    (Tompson et al. 2015).

    :like: Dropout1d
    :see: nn.Dropout, nn.functional.dropout2d

    >>> y = ag.nn.Dropout2d(0.5)(ag.ones((8, 4, 3, 3)))
    >>> bool((y == y[:, :, :1, :1]).all())
    True
    """

    function = staticmethod(functional.dropout2d)


class Dropout3d(_Dropout):
    """Set random whole channels of volumes to zero in training (Tompson et al., 2015).

    :like: Dropout1d
    :see: nn.Dropout, nn.functional.dropout3d

    >>> ag.nn.Dropout3d(0.5).eval()(ag.ones((1, 2, 3, 3, 3))).shape
    (1, 2, 3, 3, 3)
    """

    function = staticmethod(functional.dropout3d)


class CrossEntropyLoss(Module):
    """Cross-entropy between the softmax of scores and labels or probabilities.

    :param weight: A weight for each class; the mean is weighted then.
    :param reduction: What becomes of the losses of the rows.
    :param ignore_index: A label whose rows have no loss, no gradient, and do not count in the mean.
    :type ignore_index: int, optional
    :param label_smoothing: Share of each row's probability that is spread evenly over all classes.
    :param axis: The axis of classes: 1 by default, or that of a vector; -1 for classes last.
    :raises ValueError: If ``label_smoothing`` is not from 0 to 1.
    :see: cross_entropy, nn.MSELoss, nn.CTCLoss, nn.LogSoftmax

    >>> ag.nn.CrossEntropyLoss()(ag.zeros((1, 2)), ag.tensor([0]))
    tensor(0.6931472)
    """

    def __init__(self, weight: Tensor | None = None,
                 reduction: Literal["mean", "sum", "none"] = "mean", *,
                 ignore_index: int | None = -100, label_smoothing: Share = 0.0,
                 axis: int | None = None) -> None:
        self.weight, self.reduction, self.axis = weight, reduction, axis
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing

    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        return functional.cross_entropy(
            logits, target, weight=self.weight, reduction=self.reduction,
            ignore_index=self.ignore_index, label_smoothing=self.label_smoothing, axis=self.axis,
        )


class MSELoss(Module):
    """Mean squared difference.

    :param reduction: What becomes of the squares.
    :see: nn.functional.mse_loss, nn.CrossEntropyLoss, nn.PairwiseDistance

    >>> ag.nn.MSELoss()(ag.zeros(2), ag.tensor([1.0, 3.0]))
    tensor(5.)
    """

    def __init__(self, reduction: Literal["mean", "sum", "none"] = "mean") -> None:
        self.reduction = reduction

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return functional.mse_loss(x, target, reduction=self.reduction)
