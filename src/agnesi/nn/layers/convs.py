"""Layers that convolve, and their adjoints, over one, two and three axes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, Literal, TypeVar

from agnesi.core.op import typed
from agnesi.core.options import Count, Counts, Sizes
from agnesi.core.parameter_types import Algorithm, DTypeLike, ShapeLike
from agnesi.core.support.errors import at
from agnesi.core.tensor import Tensor
from agnesi.nn.base.fixed import rules, sizes_of
from agnesi.nn.base.module import Module, size_of
from agnesi.nn.base.renewed import Renewed
from agnesi.nn.layers.linear import bias_for, weights
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.convolution.conv import conv1d, conv2d, conv3d
from agnesi.ops.convolution.conv_choice import requests
from agnesi.ops.convolution.transposed import conv_transpose
from agnesi.ops.convolution.windows import borders, listed, per_axis
from agnesi.ops.indexing.join import pad

R = TypeVar("R")

#: Modes of borders, and what ``ag.pad`` calls them.
_BORDERS = {"zeros": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}

#: Elements from which the order of filters in memory matters.
_MIN_ORDERED_ELEMENTS = 1 << 12


def sizes_for(layer: Module, value: Any, rank: int, what: str, least: int = 1) -> tuple[int, ...]:
    """One integer for each axis; errors name the layer."""
    return _named(layer, per_axis, value, rank, what, least)


def _named(layer: Module, read: Callable[..., R], *arguments: Any) -> R:
    """Call ``read`` for a parameter; its errors name the layer."""
    try:
        return read(*arguments)
    except (TypeError, ValueError) as error:
        raise type(error)(at(f"{type(layer).__name__}: {error}")) from None


class _Conv(Renewed, Module):
    """Base: learned filters over ``rank`` axes."""

    rank: ClassVar[int]
    function: ClassVar[Callable[..., Tensor]]
    transposed: ClassVar[bool] = False

    _rules = rules(
        in_channels=sizes_of("weight", 1), out_channels=sizes_of("weight", 0),
        kernel_size=sizes_of("weight", 2, None))

    def __init__(self, in_channels: Count, out_channels: Count, kernel_size: Counts,
                 stride: Counts = 1, padding: Sizes | Literal["valid", "same", "full"] = 0,
                 dilation: Counts = 1, groups: Count = 1, bias: bool = True,
                 padding_mode: Literal["zeros", "reflect", "replicate", "circular"] = "zeros", *,
                 dtype: DTypeLike = None, algorithm: Algorithm = None) -> None:
        if padding_mode not in _BORDERS:
            raise ValueError(at(f"{type(self).__name__}: padding_mode {padding_mode!r} is none of "
                                f"{', '.join(map(repr, _BORDERS))}"))
        in_channels = size_of(self, in_channels, "in_channels")
        out_channels = size_of(self, out_channels, "out_channels")
        groups = size_of(self, groups, "groups")
        self.in_channels, self.out_channels = in_channels, out_channels
        if in_channels % groups or out_channels % groups:
            raise ValueError(
                at(f"{type(self).__name__}: {in_channels} and {out_channels} channels must be "
                   f"multiples of groups={groups}")
            )
        _named(self, requests, algorithm)
        self.kernel_size = sizes_for(self, kernel_size, self.rank, "kernel_size")
        steps, inside = (sizes_for(self, value, self.rank, what)
                         for value, what in ((stride, "stride"), (dilation, "dilation")))
        _named(self, borders, listed(padding), self.kernel_size, inside, steps)
        self.stride, self.dilation, self.output_padding = steps, inside, (0,) * self.rank
        padding = listed(padding)
        one = isinstance(padding, int)
        self.padding = (padding,) * self.rank if one else padding
        self.groups, self.padding_mode, self.algorithm = groups, padding_mode, algorithm
        channels = self._channels(in_channels, out_channels)
        shape = (*channels, *self.kernel_size)
        many = math.prod(shape) >= _MIN_ORDERED_ELEMENTS and groups == 1
        self.weight = weights(shape, dtype, self._order() if many else None)
        self.bias = bias_for(self.weight, out_channels) if bias else None

    def _order(self) -> tuple[int, ...]:
        """How the filters are laid out in memory: the axes from the outermost to the innermost."""
        return (*range(2, 2 + self.rank), 1, 0)

    def _channels(self, before: int, after: int) -> tuple[int, int]:
        """The first two sizes of the filters."""
        return after, before // self.groups

    def forward(self, x: Tensor) -> Tensor:
        return self._conv_forward(x, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """The same with other filters, which programs for PyTorch compute."""
        bordered = self.padding_mode != "zeros"
        return type(self).function(
            self._with_border(input) if bordered else input, weight, bias, stride=self.stride,
            padding=0 if bordered else self.padding, dilation=self.dilation, groups=self.groups,
            algorithm=self.algorithm,
        )

    def _with_border(self, x: Tensor) -> Tensor:
        """The images with a border of their own elements."""
        dilation, stride = (per_axis(v, self.rank, "") for v in (self.dilation, self.stride))
        widths = borders(self.padding, self.kernel_size, dilation, stride)
        x = as_tensor(x)
        before = x.ndim - self.rank
        if before not in (1, 2):
            return x
        return pad(x, [*[(0, 0)] * before, *widths], _BORDERS[self.padding_mode])

    def extra_repr(self) -> str:
        out_channels, each = self.weight.shape[:2]
        return f"{each * self.groups}, {out_channels}, " + self._rest()

    def _rest(self) -> str:
        ones, none = (1,) * self.rank, (0,) * self.rank
        usual = {"stride": ones, "padding": none, "output_padding": none, "dilation": ones,
                 "groups": 1, "padding_mode": "zeros", "algorithm": None}
        return f"kernel_size={self.kernel_size}" + "".join(
            f", {n}={getattr(self, n)}" for n, v in usual.items() if getattr(self, n) != v
        )


class Conv1d(_Conv):
    """Cross-correlation of rows with learned filters.

    :param in_channels, out_channels: Channels before and after.
    :param kernel_size: Size of the filters.
    :param stride: Steps between windows, one for all axes or one for each.
    :param padding: Border of zeros: a width for all axes or one for each, or (before, after) pairs;
        "same" keeps the size under a stride of 1.
    :type padding: int, tuple, "valid", "same" or "full"
    :param dilation: Steps between the elements of a window.
    :param groups: Channels and filters fall into so many groups that do not meet.
    :param bias: Whether to add a bias for each channel.
    :param padding_mode: What the border holds: zeros, the elements mirrored at the edge, those of
        the edge, or those of the other side.
    :param dtype: Float type; ``config.default_float`` by default.
    :raises ValueError: If the channels do not fall into the groups, or there is no such padding or
        mode.
    :see: nn.Conv2d, conv1d

    >>> nn.Conv1d(4, 8, 3)(ag.ones((2, 4, 5))).shape
    (2, 8, 3)
    """

    rank = 1
    function = staticmethod(conv1d)


class Conv2d(_Conv):
    """Cross-correlation of images with learned filters.

    Parameters
    ----------
    in_channels, out_channels : int
        Channels before and after.
    kernel_size : int or tuple of int
        Size of the filters.
    stride : int or tuple of int
        Steps between windows, one for all axes or one for each.
    padding : int, tuple, "valid", "same" or "full"
        Border of zeros: a width for all axes or one for each, or (before, after) pairs; "same"
        keeps the size under a stride of 1.
    dilation : int or tuple of int
        Steps between the elements of a window.
    groups : int
        Channels and filters fall into so many groups that do not meet.
    bias : bool
        Whether to add a bias for each channel.
    padding_mode : {"zeros", "reflect", "replicate", "circular"}
        What the border holds: zeros, the elements mirrored at the edge, those of the edge, or
        those of the other side.
    dtype : dtype, optional
        Float type; ``config.default_float`` by default.
    algorithm : str, (str, str, str) or dict, optional
        How it is computed, as for :func:`agnesi.conv2d`.

    Attributes
    ----------
    weight : Tensor
        Of shape (out_channels, in_channels / groups, height, width).
    bias : Tensor or None
        Of shape (out_channels,).

    Raises
    ------
    ValueError
        If the channels do not fall into the groups, or there is no such padding or mode.

    See Also
    --------
    nn.Conv1d, nn.Conv3d, nn.ConvTranspose2d, conv2d

    Examples
    --------
    >>> import agnesi as ag
    >>> from agnesi import nn
    >>> nn.Conv2d(1, 8, 3, padding=1)(ag.ones((2, 1, 5, 5))).shape
    (2, 8, 5, 5)
    """

    rank = 2
    function = staticmethod(conv2d)


class Conv3d(_Conv):
    """Cross-correlation of volumes with learned filters.

    :like: Conv1d
    :see: nn.Conv2d, conv3d

    >>> nn.Conv3d(1, 2, 3)(ag.ones((1, 1, 4, 4, 4))).shape
    (1, 2, 2, 2, 2)
    """

    rank = 3
    function = staticmethod(conv3d)


class _ConvTranspose(_Conv):
    """Base: the adjoint of a convolution, to go up in size."""

    function = staticmethod(conv_transpose)
    transposed = True

    _rules = rules(
        in_channels=sizes_of("weight", 0), out_channels=sizes_of("weight", 1),
        kernel_size=sizes_of("weight", 2, None))

    def __init__(self, in_channels: Count, out_channels: Count, kernel_size: Counts,
                 stride: Counts = 1, padding: Sizes | Literal["valid", "same", "full"] = 0,
                 output_padding: Sizes = 0, groups: Count = 1, bias: bool = True,
                 dilation: Counts = 1, padding_mode: Literal["zeros"] = "zeros", *,
                 dtype: DTypeLike = None, algorithm: Algorithm = None) -> None:
        if padding_mode != "zeros":
            raise ValueError(at(f"{type(self).__name__}: padding_mode must be 'zeros', not "
                                f"{padding_mode!r}"))
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation=dilation,
            groups=groups, bias=bias, dtype=dtype, algorithm=algorithm,
        )
        self.output_padding = sizes_for(self, output_padding, self.rank, "output_padding", 0)

    def _order(self) -> tuple[int, ...]:
        return (*range(2, 2 + self.rank), 0, 1)

    def _channels(self, before: int, after: int) -> tuple[int, int]:
        return before, after // self.groups

    def forward(self, x: Tensor, output_size: ShapeLike | None = None) -> Tensor:
        """The larger images, of ``output_size`` or with it as shape where it is given.

        :param x: (batch, in_channels, ...), or one of them.
        :param output_size: The sizes wanted, or the whole shape.
        :type output_size: tuple of int, optional
        :returns: (batch, out_channels, ...).
        """
        x, extra = as_tensor(x), self.output_padding
        if output_size is not None and x.ndim > self.rank:
            extra = self._missing(x, output_size)
        return conv_transpose(
            x, self.weight, self.bias, stride=self.stride, padding=self.padding,
            output_padding=extra, dilation=self.dilation, groups=self.groups,
            algorithm=self.algorithm,
        )

    def _missing(self, x: Tensor, output_size: Any) -> tuple[int, ...]:
        """How much larger than the least images are that shall be of ``output_size``."""
        sizes = output_size if isinstance(output_size, int) else tuple(output_size)[-self.rank:]
        wanted = sizes_for(self, sizes, self.rank, "output_size")
        stride, dilation = (per_axis(v, self.rank, "") for v in (self.stride, self.dilation))
        pads = borders(self.padding, self.kernel_size, dilation, stride)
        least = tuple(
            (n - 1) * s + d * (k - 1) + 1 - low - high
            for n, k, s, d, (low, high) in zip(
                x.shape[-self.rank:], self.kernel_size, stride, dilation, pads, strict=True)
        )
        found = tuple(o - n for o, n in zip(wanted, least, strict=True))
        room = tuple(max(s, d) for s, d in zip(stride, dilation, strict=True))
        if any(not 0 <= more < most for more, most in zip(found, room, strict=True)):
            top = tuple(n + r - 1 for n, r in zip(least, room, strict=True))
            raise ValueError(at(
                f"{type(self).__name__}: of {typed(x)} images of sizes {least} to {top} can be "
                f"made, not of {wanted}"
            ))
        return found

    def extra_repr(self) -> str:
        in_channels, each = self.weight.shape[:2]
        return f"{in_channels}, {each * self.groups}, " + self._rest()


class ConvTranspose1d(_ConvTranspose):
    """Transposed convolution of rows.

    :param in_channels, out_channels: Channels before and after.
    :param kernel_size: Size of the filters.
    :param stride: Steps between windows, one for all axes or one for each. Those of the convolution
        whose adjoint it is, as the following.
    :param padding: The border of that convolution.
    :type padding: int, tuple, "valid", "same" or "full"
    :param output_padding: How much larger the result is; a call may give the ``output_size``
        instead.
    :param groups: Channels and filters fall into so many groups that do not meet.
    :param bias: Whether to add a bias for each channel. The weight has the shape (in_channels,
        out_channels / groups, ...).
    :param dilation: Steps between the elements of a window.
    :param padding_mode: Taken from PyTorch\'s calls, which have no other one here.
    :param dtype: Float type; ``config.default_float`` by default.
    :raises ValueError: If ``padding_mode`` is another one.
    :see: nn.ConvTranspose2d, conv_transpose

    >>> nn.ConvTranspose1d(4, 2, 2, stride=2)(ag.ones((1, 4, 5))).shape
    (1, 2, 10)
    """

    rank = 1


class ConvTranspose2d(_ConvTranspose):
    """Transposed convolution of images with learned filters (Zeiler et al., 2010).

    :like: ConvTranspose1d
    :see: nn.ConvTranspose1d, nn.ConvTranspose3d, nn.Conv2d, conv_transpose

    >>> layer = nn.ConvTranspose2d(4, 2, 3, stride=2, padding=1)
    >>> layer(ag.ones((1, 4, 5, 5))).shape
    (1, 2, 9, 9)
    >>> layer(ag.ones((1, 4, 5, 5)), output_size=(10, 9)).shape
    (1, 2, 10, 9)
    """

    rank = 2


class ConvTranspose3d(_ConvTranspose):
    """Transposed convolution of volumes.

    :like: ConvTranspose1d
    :see: nn.ConvTranspose2d, conv_transpose

    >>> nn.ConvTranspose3d(2, 1, 2, stride=2)(ag.ones((1, 2, 2, 2, 2))).shape
    (1, 1, 4, 4, 4)
    """

    rank = 3
