"""Channels in another order, and older names of functions that make images larger."""

from __future__ import annotations

from collections.abc import Sequence

from agnesi.core.op import typed
from agnesi.core.options import Counts
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support.errors import ShapeError
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.movement import reshape, swapaxes
from agnesi.ops.convolution.interpolate import interpolate


@planned
@public
def channel_shuffle(input: TensorLike, groups: int) -> Tensor:
    """Reorder channels so that those of different groups alternate (Zhang et al., 2018).

    :param input: (batch, channels, ...).
    :param groups: Into how many the channels are divided.
    :returns: Of the shape of ``input``.
    :raises ShapeError: If the channels do not divide into so many groups.
    :see: nn.ChannelShuffle, nn.functional.pixel_shuffle

    >>> x = ag.reshape(ag.arange(4.0), (1, 4, 1, 1))
    >>> ag.nn.functional.channel_shuffle(x, 2)[0, :, 0, 0]
    tensor([0., 2., 1., 3.])
    """
    x = as_tensor(input)
    if x.ndim < 3 or groups < 1 or x.shape[1] % groups:
        raise ShapeError(f"the channels of {typed(x)}, which must be (batch, channels, ...), do "
                         f"not divide into {groups} groups")
    parted = reshape(x, (x.shape[0], groups, x.shape[1] // groups, *x.shape[2:]))
    return reshape(swapaxes(parted, 1, 2), x.shape)


@planned
@public
def upsample_nearest(input: TensorLike, size: Counts | None = None,
                     scale_factor: float | Sequence[float] | None = None
                     ) -> Tensor:
    """Images of another size by their nearest elements: ``interpolate(mode="nearest")``.

    :param input: (batch, channels, ...).
    :param size: The size wanted on each axis.
    :param scale_factor: How many times as large, instead of ``size``.
    :type scale_factor: float or tuple of float, optional
    :returns: Of the size wanted.
    :see: nn.functional.interpolate

    >>> ag.nn.functional.upsample_nearest(ag.ones((1, 1, 2, 2)), scale_factor=2).shape
    (1, 1, 4, 4)
    """
    return interpolate(input, size, scale_factor)


@planned
@public
def upsample_bilinear(input: TensorLike, size: Counts | None = None,
                      scale_factor: float | Sequence[float] | None = None
                      ) -> Tensor:
    """Resize images by bilinear interpolation with aligned corners.

    :like: upsample_nearest
    :param input: (batch, channels, height, width).
    :see: nn.functional.interpolate

    >>> ag.nn.functional.upsample_bilinear(ag.ones((1, 1, 2, 2)), scale_factor=2).shape
    (1, 1, 4, 4)
    """
    return interpolate(input, size, scale_factor, "bilinear", True)
