"""Transposed convolutions: the adjoint to the image as a function of its own."""

from __future__ import annotations

from typing import Any

from agnesi.core.dispatch import apply
from agnesi.core.ir.dims import Size
from agnesi.core.parameter_types import Algorithm, PerAxis, TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support.errors import ShapeError
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import pair
from agnesi.ops.base.movement import sized
from agnesi.ops.convolution.conv import ConvGradX, operands, with_bias
from agnesi.ops.convolution.conv_choice import bound, requests
from agnesi.ops.convolution.windows import Ints, Windows, borders, per_axis
from agnesi.ops.indexing.join import pad


def _reach(windows: Windows, extra: Ints) -> tuple[Windows, Ints, Ints]:
    """Windows of a convolution that leads back, its remainders, and what no window reaches.

    A remainder of a stride or more would admit more windows.  It is taken out of the border
    behind the axis, and what is left of it holds nothing.
    """
    pads, rests, beyond = [], [], []
    for s, (low, high), more in zip(windows.stride, windows.padding, extra, strict=True):
        surplus = max(more - (s - 1), 0)
        inside = min(surplus, high)
        pads.append((low, high - inside))
        rests.append(more - surplus)
        beyond.append(surplus - inside)
    return Windows(windows.stride, tuple(pads), windows.dilation), tuple(rests), tuple(beyond)


@planned
@public
def conv_transpose(x: TensorLike, w: TensorLike, bias: TensorLike | None = None,
                   stride: PerAxis = 1, padding: PerAxis | str = 0, output_padding: PerAxis = 0,
                   groups: int = 1, dilation: PerAxis = 1, *,
                   algorithm: Algorithm = None,
                   out: Tensor | None = None) -> Tensor:
    """Transposed convolution: the adjoint of a convolution, used to go up in size.

    :param x: (batch, channels, ...), over one axis or several, or one image without the batch.
    :param w: (channels, channels of the result / groups, ...).
    :param bias: A number for each channel of the result.
    :param stride: Steps between windows, one for all axes or one for each. Those of the convolution
        whose adjoint it is, as the following.
    :param padding: The border of that convolution.
    :type padding: int, tuple, "valid", "same" or "full"
    :param output_padding: How much larger the result is: several sizes lead to the same one under a
        stride.  Below the stride, or the dilation, whichever is greater.
    :param groups: Channels and filters fall into so many groups that do not meet.
    :param dilation: Steps between the elements of a window.
    :returns: (batch, channels of the result, ...), ``(n - 1) * stride - borders + dilation * (size
        - 1) + output_padding + 1`` on each axis.
    :raises ShapeError: If the channels do not fit or do not fall into the groups.
    :raises ValueError: If ``output_padding`` is not below the stride or the dilation.
    :see: conv1d, conv2d, conv3d, nn.ConvTranspose2d

    >>> ag.conv_transpose([[[1.0, 2.0]]], [[[1.0, 10.0]]], stride=2)
    tensor([[[ 1., 10.,  2., 20.]]])
    """
    x, w = pair(x, w)
    single = w.ndim > 2 and x.ndim == w.ndim - 1
    x, w, rank = operands(x[None] if single else x, w, None)
    kernel: Any = w.shape[2:]
    steps, inside = per_axis(stride, rank, "stride"), per_axis(dilation, rank, "dilation")
    (groups,) = per_axis(groups, 1, "groups")
    if isinstance(x.shape[1], int) and x.shape[1] != w.shape[0]:
        raise ShapeError(f"the image has {x.shape[1]} channels, the filters take {w.shape[0]}")
    if isinstance(w.shape[0], int) and w.shape[0] % groups:
        raise ShapeError(f"{w.shape[0]} filters do not divide into {groups} groups")
    x = sized(x, 1, w.shape[0])
    extra = per_axis(output_padding, rank, "output_padding", 0)
    for s, d, more in zip(steps, inside, extra, strict=True):
        if more >= max(s, d):
            raise ValueError(f"output_padding {more} must be below the stride {s} or dilation {d}")
    requested = Windows(steps, borders(padding, kernel, inside, steps), inside)
    windows, rests, beyond = _reach(requested, extra)
    op = ConvGradX(windows, groups, _sizes(x, w, groups, windows, rests), requests(algorithm))
    y = apply(bound(op, x, w), x, w)
    if any(beyond):
        y = pad(y, ((0, 0), (0, 0), *((0, n) for n in beyond)))
    y = with_bias(y, bias)
    return y[0] if single else y


def _sizes(x: Tensor, w: Tensor, groups: int, windows: Windows, rests: Ints) -> tuple[Size, ...]:
    """The shape of the image."""
    sizes: list[Size] = []
    for n, k, s, (low, high), d, more in zip(
        x.shape[2:], w.shape[2:], windows.stride, windows.padding, windows.dilation, rests,
        strict=True,
    ):
        size = (n - 1) * s + (d * (k - 1) + 1 + more - low - high)
        if isinstance(size, int) and size < 1:
            raise ShapeError(
                f"{n} windows of {d * (k - 1) + 1} leave nothing of an axis behind borders of "
                f"{low} and {high}"
            )
        sizes.append(size)
    return (x.shape[0], w.shape[1] * groups, *sizes)
