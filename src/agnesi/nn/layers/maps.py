"""Convolutions in which an output channel reads some of the input channels only."""

from __future__ import annotations

import math
from operator import index
from typing import Any, Literal

import numpy as np

from agnesi.core.op import typed
from agnesi.core.options import Count, Counts, Sizes
from agnesi.core.parameter_types import Algorithm, DTypeLike, TensorLike
from agnesi.core.support.dtypes import int64
from agnesi.core.support.errors import at
from agnesi.core.tensor import Tensor
from agnesi.nn.base.fixed import rules
from agnesi.nn.base.module import Module
from agnesi.nn.init import uniform_
from agnesi.nn.layers.convs import sizes_for
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.creation import empty, zeros
from agnesi.ops.base.movement import reshape
from agnesi.ops.convolution.conv import conv2d
from agnesi.ops.indexing.scatter import index_put
from agnesi.ops.random.random import uniform
from agnesi.ops.sorting.sort import argsort


class ConvMap2d(Module):
    """Cross-correlation by a table of connections: SpatialConvolutionMap (LeCun et al., 1998).

    There is a filter for each row alone, so nothing is learned where there is no connection.

    Parameters
    ----------
    in_channels, out_channels : int
        Channels before and after.
    connections : {"full", "one_to_one"} or int or array_like of int
        ``"full"`` joins every input with every output, ``"one_to_one"`` each with its own; a
        number joins every output with so many inputs, drawn at random.  A table of shape
        (connections, 2) has a row (input, output) for each.
    kernel_size : int or pair of int
        Size of the filters.
    stride : int or tuple of int
        Steps between windows, one for all axes or one for each.
    padding : int, tuple, "valid", "same" or "full"
        Border of zeros: a width for all axes or one for each, or (before, after) pairs; "same"
        keeps the size under a stride of 1.
    dilation : int or tuple of int
        Steps between the elements of a window.
    bias : bool
        Whether to add a bias for each output.
    dtype : dtype, optional
        Float type; ``config.default_float`` by default.
    algorithm : str, (str, str, str) or dict, optional
        How it is computed, as for :func:`agnesi.conv2d`.

    Attributes
    ----------
    weight : Tensor
        Of shape (connections, height, width), in the order of the table; outputs come one after
        the other where the layer made the table.
    bias : Tensor or None
        Of shape (out_channels,).
    table : Tensor or None
        The table, int64; None for ``"full"`` and ``"one_to_one"``, which need none.

    Raises
    ------
    ValueError
        If the table names a channel that does not exist, or a connection twice.

    See Also
    --------
    nn.Conv2d, conv2d

    Examples
    --------
    >>> import agnesi as ag
    >>> from agnesi import nn
    >>> layer = nn.ConvMap2d(3, 4, 2, kernel_size=5)
    >>> layer.weight.shape, layer(ag.ones((1, 3, 8, 8))).shape
    ((8, 5, 5), (1, 4, 4, 4))
    """

    _rules = rules("in_channels out_channels kernel_size")

    def __init__(self, in_channels: Count, out_channels: Count,
                 connections: str | TensorLike, kernel_size: Counts,
                 stride: Counts = 1, padding: Sizes | Literal["valid", "same", "full"] = 0, *,
                 dilation: Counts = 1, bias: bool = True, dtype: DTypeLike = None,
                 algorithm: Algorithm = None) -> None:
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size = sizes_for(self, kernel_size, 2, "kernel_size")
        self.stride, self.padding, self.dilation = stride, padding, dilation
        self.algorithm = algorithm
        self.groups, self.table = 1, None
        if isinstance(connections, str) and connections == "one_to_one":
            if in_channels != out_channels:
                raise ValueError(at(f"ConvMap2d: one_to_one joins as many inputs as outputs, "
                                    f"not {in_channels} with {out_channels}"))
            self.groups = count = in_channels
        elif isinstance(connections, str) and connections == "full":
            count = in_channels * out_channels
        else:
            self.table = self._given_or_drawn(connections)
            count = self.table.shape[0]
        # Torch's range, by the number of inputs that an output reads on average.
        bound = 1 / math.sqrt(max(count / out_channels, 1) * math.prod(self.kernel_size))
        self.weight = uniform_(empty((count, *self.kernel_size), dtype=dtype), -bound, bound)
        self.weight._requires_grad = True
        self.bias = None
        if bias:
            self.bias = uniform_(empty((out_channels,), dtype=self.weight.dtype), -bound, bound)
            self.bias._requires_grad = True

    def _given_or_drawn(self, connections: Any) -> Tensor:
        if isinstance(connections, str):
            raise ValueError(at("ConvMap2d: connections must be 'full', 'one_to_one', a number or "
                                f"a table, not {connections!r}"))
        sizes = self.in_channels, self.out_channels
        if hasattr(connections, "__index__") and not getattr(connections, "ndim", 0):
            return _drawn(*sizes, index(connections))
        return _checked(as_tensor(connections), sizes)

    def filters(self) -> Tensor:
        """Filters as :func:`agnesi.conv2d` takes them, zero where there is no connection.

        :returns: Of shape (out_channels, in_channels / groups, height, width).
        """
        dense = self.out_channels, self.in_channels // self.groups, *self.kernel_size
        if self.table is None:
            return reshape(self.weight, dense)
        places = self.table[:, 1], self.table[:, 0]
        return index_put(zeros(dense, dtype=self.weight.dtype), places, self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return conv2d(x, self.filters(), self.bias, stride=self.stride, padding=self.padding,
                      dilation=self.dilation, groups=self.groups, algorithm=self.algorithm)

    def extra_repr(self) -> str:
        return (f"{self.in_channels}, {self.out_channels}, {self.weight.shape[0]} connections, "
                f"kernel_size={self.kernel_size}")


def _drawn(inputs: int, outputs: int, each: int) -> Tensor:
    """A table that joins every output with some inputs, drawn without replacement."""
    if not 0 < each <= inputs:
        raise ValueError(at(f"ConvMap2d: an output cannot read {each} of {inputs} inputs"))
    chosen = np.sort(argsort(uniform((outputs, inputs))).numpy()[:, :each])
    return as_tensor(np.stack([chosen.ravel(), np.repeat(np.arange(outputs), each)], 1))


def _checked(table: Tensor, sizes: tuple[int, int]) -> Tensor:
    if table.ndim != 2 or table.shape[1] != 2 or table.dtype.kind not in "iu":
        raise ValueError(at("ConvMap2d: a table has a row (input, output) for each connection, "
                            f"not {typed(table)}"))
    rows = table.numpy().astype(int64)
    if ((rows < 0) | (rows >= sizes)).any():
        raise ValueError(at("ConvMap2d: the table names channels that do not exist among "
                            f"{sizes[0]} inputs and {sizes[1]} outputs, counted from 0"))
    if len(np.unique(rows, axis=0)) < len(rows):
        raise ValueError(at("ConvMap2d: the table names a connection twice"))
    return as_tensor(rows)
