"""Channels to pixels and back: sub-pixel convolutions."""

from __future__ import annotations

from typing import Any

from agnesi.core.op import typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support.errors import ShapeError
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.ensure import ensured_sizes
from agnesi.ops.base.movement import reshape, transpose
from agnesi.ops.convolution.windows import per_axis


def _image(x: Any) -> Tensor:
    x = as_tensor(x)
    if x.ndim < 3:
        raise ShapeError(f"the operand must be (..., channels, height, width), not {typed(x)}")
    return x


@planned
@public
def pixel_shuffle(x: TensorLike, factor: int, *, out: Tensor | None = None) -> Tensor:
    """Every ``factor**2`` channels as one of images so many times as high and wide.

    The last step of a sub-pixel convolution (Shi et al. 2016).

    :param x: (..., channels, height, width), a multiple of ``factor**2`` channels.
    :param factor: How many times as high and wide images become.
    :returns: (..., channels / factor**2, height * factor, width * factor).
    :raises ShapeError: If the channels are no multiple of ``factor**2``, or there are fewer than 3
        axes.
    :see: nn.functional.pixel_unshuffle, nn.PixelShuffle, nn.functional.interpolate

    >>> ag.nn.functional.pixel_shuffle(ag.arange(4).reshape(4, 1, 1), 2)
    tensor([[[0, 1],
             [2, 3]]])
    """
    x = _image(x)
    (r,) = per_axis(factor, 1, "factor")
    *batch, channels, height, width = x.shape
    if isinstance(channels, int) and channels % (r * r):
        raise ShapeError(f"the channels of {typed(x)} are no multiple of factor**2 = {r * r}")
    x = ensured_sizes("pixel_shuffle", x, (channels,), (r * r,),
                      f"the channels of {typed(x)} are no multiple of factor**2 = {r * r}",
                      "multiple")
    n, kept = len(batch), channels // (r * r)
    parts = reshape(x, (*batch, kept, r, r, height, width))
    order = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return reshape(transpose(parts, order), (*batch, kept, height * r, width * r))


@planned
@public
def pixel_unshuffle(x: TensorLike, factor: int, *, out: Tensor | None = None) -> Tensor:
    """Every square of ``factor**2`` pixels as so many channels; undoes :func:`pixel_shuffle`.

    :param x: (..., channels, height, width), multiples of ``factor`` high and wide.
    :param factor: How many times less high and wide images become.
    :returns: (..., channels * factor**2, height / factor, width / factor).
    :raises ShapeError: If height or width is no multiple of ``factor``, or there are fewer than 3
        axes.
    :see: nn.functional.pixel_shuffle, nn.PixelUnshuffle

    >>> ag.nn.functional.pixel_unshuffle(ag.arange(4).reshape(1, 2, 2), 2).flatten()
    tensor([0, 1, 2, 3])
    """
    x = _image(x)
    (r,) = per_axis(factor, 1, "factor")
    *batch, channels, height, width = x.shape
    if any(isinstance(size, int) and size % r for size in (height, width)):
        raise ShapeError(f"height and width of {typed(x)} are no multiples of factor = {r}")
    x = ensured_sizes("pixel_unshuffle", x, (height, width), (r, r),
                      f"height and width of {typed(x)} are no multiples of factor = {r}",
                      "multiple")
    n = len(batch)
    parts = reshape(x, (*batch, channels, height // r, r, width // r, r))
    order = (*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return reshape(transpose(parts, order), (*batch, channels * r * r, height // r, width // r))
