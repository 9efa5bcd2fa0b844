"""Layers of weights: Linear, Conv2d, Embedding."""

from __future__ import annotations

import math
from typing import Any

from agnesi.core.tensor import Tensor
from agnesi.nn import init
from agnesi.nn.module import Module
from agnesi.ops.conv import conv2d, per_axis
from agnesi.ops.creation import empty
from agnesi.ops.linear import linear


def _weights(shape: tuple[int, ...], dtype: Any) -> Tensor:
    """A weight with PyTorch's default initial values."""
    weight = empty(shape, dtype=dtype)
    weight.requires_grad = True
    return init.kaiming_uniform_(weight, math.sqrt(5))


def _bias(weight: Tensor, wanted: bool) -> Tensor | None:
    """A bias with PyTorch's default initial values."""
    if not wanted:
        return None
    bias = empty((weight.shape[0],), dtype=weight.dtype)
    bias.requires_grad = True
    bound = 1 / math.sqrt(init.fans(weight)[0])
    return init.uniform_(bias, -bound, bound)


class Linear(Module):
    """``x @ weight.T + bias`` over the last axis.

    Parameters
    ----------
    in_features, out_features : int
        Sizes of the last axis before and after.
    bias : bool
        Whether to add a bias.
    dtype : dtype, optional
        Float type; ``config.default_float`` by default.

    Attributes
    ----------
    weight : Tensor
        Of shape (out_features, in_features).
    bias : Tensor or None
        Of shape (out_features,).

    Examples
    --------
    >>> import agnesi as ag
    >>> from agnesi import nn
    >>> nn.Linear(4, 2)(ag.ones((3, 4))).shape
    (3, 2)
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, *,
                 dtype: Any = None) -> None:
        self.in_features = in_features
        self.out_features = out_features
        self.weight = _weights((out_features, in_features), dtype)
        self.bias = _bias(self.weight, bias)

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"{self.in_features}, {self.out_features}" + (", bias=False" * (self.bias is None))


class Conv2d(Module):
    """Cross-correlation of images with learned filters.

    Parameters
    ----------
    in_channels, out_channels : int
        Channels before and after.
    kernel_size : int or tuple of int
        Size of the filters.
    stride, padding, dilation, groups
        As for :func:`agnesi.conv2d`.
    bias : bool
        Whether to add a bias for each channel.
    dtype : dtype, optional
        Float type; ``config.default_float`` by default.

    Attributes
    ----------
    weight : Tensor
        Of shape (out_channels, in_channels / groups, height, width).
    bias : Tensor or None
        Of shape (out_channels,).

    Examples
    --------
    >>> import agnesi as ag
    >>> from agnesi import nn
    >>> nn.Conv2d(1, 8, 3, padding=1)(ag.ones((2, 1, 5, 5))).shape
    (2, 8, 5, 5)
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int | tuple[int, int], *,
                 stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1,
                 bias: bool = True, dtype: Any = None) -> None:
        if in_channels % groups or out_channels % groups:
            raise ValueError(
                f"Conv2d: {in_channels} and {out_channels} channels must be multiples of "
                f"groups={groups}"
            )
        self.kernel_size = per_axis(kernel_size, 2, "kernel_size")
        self.stride, self.padding, self.dilation = stride, padding, dilation
        self.groups = groups
        shape = (out_channels, in_channels // groups, *self.kernel_size)
        self.weight = _weights(shape, dtype)
        self.bias = _bias(self.weight, bias)

    def forward(self, x: Tensor) -> Tensor:
        return conv2d(x, self.weight, self.bias, stride=self.stride, padding=self.padding,
                      dilation=self.dilation, groups=self.groups)

    def extra_repr(self) -> str:
        out_channels, each = self.weight.shape[:2]
        text = f"{each * self.groups}, {out_channels}, kernel_size={self.kernel_size}"
        usual = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1}
        return text + "".join(
            f", {n}={getattr(self, n)}" for n, v in usual.items() if getattr(self, n) != v
        )


class Embedding(Module):
    """A learned vector for each of a number of things.

    Parameters
    ----------
    num_embeddings, embedding_dim : int
        How many vectors, and their length.
    dtype : dtype, optional
        Float type; ``config.default_float`` by default.

    Examples
    --------
    >>> import agnesi as ag
    >>> from agnesi import nn
    >>> nn.Embedding(10, 4)(ag.tensor([[1, 2, 3]])).shape
    (1, 3, 4)
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, *, dtype: Any = None) -> None:
        self.weight = empty((num_embeddings, embedding_dim), dtype=dtype)
        self.weight.requires_grad = True
        init.normal_(self.weight)

    def forward(self, indices: Tensor) -> Tensor:
        return self.weight[indices]

    def extra_repr(self) -> str:
        return ", ".join(map(str, self.weight.shape))
