"""Channels in another order, and older names of layers that make images larger."""

from __future__ import annotations

from collections.abc import Sequence

from agnesi.core.options import Count, Counts, Positive
from agnesi.core.tensor import Tensor
from agnesi.nn.base.module import Module
from agnesi.nn.functions.rearranged import channel_shuffle
from agnesi.nn.layers.resize import Upsample


class ChannelShuffle(Module):
    """Reorder channels so that those of different groups alternate (Zhang et al., 2018).

    :param groups: Into how many the channels are divided.
    :see: nn.functional.channel_shuffle

    >>> x = ag.reshape(ag.arange(4.0), (1, 4, 1, 1))
    >>> ag.nn.ChannelShuffle(2)(x)[0, :, 0, 0]
    tensor([0., 2., 1., 3.])
    """

    def __init__(self, groups: Count) -> None:
        self.groups = groups

    def forward(self, x: Tensor) -> Tensor:
        return channel_shuffle(x, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"


class UpsamplingNearest2d(Upsample):
    """Resize images by their nearest elements: ``Upsample(mode="nearest")``.

    :param size: The size wanted on each axis.
    :param scale_factor: How many times as large, instead of ``size``.
    :type scale_factor: float or tuple of float, optional
    :see: nn.Upsample

    >>> ag.nn.UpsamplingNearest2d(scale_factor=2)(ag.ones((1, 1, 2, 2))).shape
    (1, 1, 4, 4)
    """

    def __init__(self, size: Counts | None = None,
                 scale_factor: Positive | Sequence[Positive] | None = None) -> None:
        super().__init__(size, scale_factor)


class UpsamplingBilinear2d(Upsample):
    """Resize images by bilinear interpolation with aligned corners.

    :like: UpsamplingNearest2d
    :see: nn.Upsample

    >>> ag.nn.UpsamplingBilinear2d(scale_factor=2)(ag.ones((1, 1, 2, 2))).shape
    (1, 1, 4, 4)
    """

    def __init__(self, size: Counts | None = None,
                 scale_factor: Positive | Sequence[Positive] | None = None) -> None:
        super().__init__(size, scale_factor, "bilinear", True)
