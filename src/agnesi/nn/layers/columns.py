"""Layers that write windows out as columns, and sum columns into images."""

from __future__ import annotations

from typing import Literal

from agnesi.core.options import Counts, Sizes
from agnesi.core.parameter_types import ShapeLike
from agnesi.core.tensor import Tensor
from agnesi.nn import functional
from agnesi.nn.base.module import Module


class _Windows(Module):
    """What windows and their sums have in common."""

    def __init__(self, kernel_size: Counts, dilation: Counts = 1,
                 padding: Sizes | Literal["valid", "same", "full"] = 0,
                 stride: Counts = 1) -> None:
        self.kernel_size, self.dilation = kernel_size, dilation
        self.padding, self.stride = padding, stride

    def extra_repr(self) -> str:
        return (f"{self.kernel_size}, dilation={self.dilation}, padding={self.padding}, "
                f"stride={self.stride}")


class Unfold(_Windows):
    """Extract the windows of images, as columns.

    :param kernel_size: Size of the windows.
    :param dilation: Steps between the elements of a window.
    :param padding: Border of zeros: a width for all axes or one for each, or (before, after) pairs;
        "same" keeps the size under a stride of 1.
    :type padding: int, tuple, "valid", "same" or "full"
    :param stride: Steps between windows, one for all axes or one for each.
    :see: nn.Fold, nn.functional.unfold, nn.Conv2d

    >>> ag.nn.Unfold((2, 3))(ag.ones((1, 4, 5, 6))).shape
    (1, 24, 16)
    """

    def forward(self, x: Tensor) -> Tensor:
        return functional.unfold(x, self.kernel_size, dilation=self.dilation,
                                 padding=self.padding, stride=self.stride)


class Fold(_Windows):
    """Sum windows, given as columns, into images: the adjoint of :class:`Unfold`.

    :like: Unfold
    :param output_size: The size of the images on each axis.
    :type output_size: tuple of int
    :see: nn.Unfold, nn.functional.fold

    >>> ag.nn.Fold((5, 6), (2, 3))(ag.ones((1, 24, 16))).shape
    (1, 4, 5, 6)
    """

    def __init__(self, output_size: ShapeLike, kernel_size: Counts, dilation: Counts = 1,
                 padding: Sizes | Literal["valid", "same", "full"] = 0, stride: Counts = 1) -> None:
        super().__init__(kernel_size, dilation, padding, stride)
        self.output_size = output_size

    def forward(self, x: Tensor) -> Tensor:
        return functional.fold(x, self.output_size, self.kernel_size, dilation=self.dilation,
                               padding=self.padding, stride=self.stride)

    def extra_repr(self) -> str:
        return f"{self.output_size}, {super().extra_repr()}"
