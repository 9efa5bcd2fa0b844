"""Layers of weights: Linear; the first values of weights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from agnesi.core.options import Count, Size
from agnesi.core.parameter_types import DTypeLike
from agnesi.core.tensor import Tensor, wrap
from agnesi.nn import init
from agnesi.nn.base.fixed import rules, sizes_of
from agnesi.nn.base.module import Module, size_of
from agnesi.nn.base.renewed import Renewed
from agnesi.ops.base.creation import empty
from agnesi.ops.contractions.linear import linear


def weights(shape: tuple[int, ...], dtype: Any, order: tuple[int, ...] | None = None) -> Tensor:
    """A weight with PyTorch's default initial values.

    ``order`` gives the axes from the outermost to the innermost in memory, for those who read it
    in this order; users see the shape alone.
    """
    if order is None:
        weight = empty(shape, dtype=dtype)
    else:
        memory = empty(tuple(shape[axis] for axis in order), dtype=dtype)
        weight = wrap(memory.array.transpose(np.argsort(order)))
    weight._requires_grad = True
    return init.kaiming_uniform_(weight, math.sqrt(5))


def bias_for(weight: Tensor, size: int) -> Tensor:
    """A bias with PyTorch's default initial values."""
    bias = empty((size,), dtype=weight.dtype)
    bias._requires_grad = True
    bound = 1 / math.sqrt(init.fans(weight)[0])
    return init.uniform_(bias, -bound, bound)


class Linear(Renewed, Module):
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

    Raises
    ------
    ValueError
        If ``in_features`` is not positive, or ``out_features`` is negative.

    See Also
    --------
    linear, nn.Bilinear, nn.SparseLinear, nn.Embedding

    Examples
    --------
    >>> import agnesi as ag
    >>> from agnesi import nn
    >>> nn.Linear(4, 2)(ag.ones((3, 4))).shape
    (3, 2)
    """

    _rules = rules(in_features=sizes_of("weight", 1), out_features=sizes_of("weight", 0))

    def __init__(self, in_features: Count, out_features: Size, bias: bool = True, *,
                 dtype: DTypeLike = None) -> None:
        self.in_features = size_of(self, in_features, "in_features")
        self.out_features = size_of(self, out_features, "out_features", 0)
        self.weight = weights((self.out_features, self.in_features), dtype)
        self.bias = bias_for(self.weight, self.out_features) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"{self.in_features}, {self.out_features}" + (", bias=False" * (self.bias is None))
