"""Normalization: mean 0 and variance 1, or mean square 1, over some axes; local response."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from agnesi.core.dispatch import apply
from agnesi.core.integers import known_integer, number
from agnesi.core.ir.dims import product
from agnesi.core.op import Op, typed
from agnesi.core.options import Count, NotNegative
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import autocasts, planned, public
from agnesi.core.support import dtypes
from agnesi.core.support.errors import DTypeError, ShapeError
from agnesi.core.support.numpy_warnings import silently
from agnesi.core.support.record import record
from agnesi.core.support.worker_threads import elements
from agnesi.core.tensor import Tensor
from agnesi.ops.arrays.replicate import repeat
from agnesi.ops.base import arith
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.ensure import ensured_sizes
from agnesi.ops.base.linearity import LinearOp
from agnesi.ops.base.movement import reshape
from agnesi.ops.base.parameter_checks import of_shape
from agnesi.ops.base.reduce import mean
from agnesi.ops.indexing.join import pad


@record
class Standardize(Op):
    """``(x - mean) / sqrt(variance + eps)`` over axes."""

    axes: tuple[int, ...]
    eps: float
    work = elements(8)
    name = "standardize"
    traits = frozenset(("multipass",))
    by_types = True
    keep_inputs = (0,)
    keep_output = True

    def infer(self, x: Any) -> Any:
        return x.shape, x.dtype

    def perform(self, x: np.ndarray) -> np.ndarray:
        return silently(self._compute, x) if x.size else x.copy()

    def _compute(self, x: np.ndarray) -> np.ndarray:
        wide = x.astype(dtypes.computed(x.dtype), copy=False)
        count = math.prod([x.shape[a] for a in self.axes])  # ndarray.mean takes twice as long
        off: Any = wide - np.add.reduce(wide, self.axes, keepdims=True) / count
        spread = np.add.reduce(np.square(off), self.axes, keepdims=True) / count
        off /= np.sqrt(spread + self.eps)
        return np.asarray(off, x.dtype)

    def decompose(self, x: Tensor) -> Tensor:
        wide = widened(x)
        return cast(_centred(wide, self.axes) * self.scale(wide), x.dtype)

    def scale(self, x: Tensor) -> Tensor:
        """Return the reciprocal standard deviation, by which differences from the mean are
        multiplied.
        """
        _, variance = moments(x, self.axes)
        return arith.rsqrt(variance + self.eps)

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        return (self.jvp((g,), y, x),)

    def jvp(self, ts: Any, y: Tensor, x: Tensor) -> Any:
        t = widened(ts[0])
        if x.dtype != t.dtype:  # what is rounded to 16 bits has too few digits for differences
            x = widened(x)
            y = _centred(x, self.axes) * self.scale(x)
        along = y * mean(t * y, self.axes, keepdims=True)
        slope = (t - mean(t, self.axes, keepdims=True) - along) * self.scale(x)
        return cast(slope, ts[0].dtype)


def widened(x: Tensor) -> Tensor:
    """``x`` in the dtype of means and variances: squares of 16 bits would soon be infinite."""
    return cast(x, dtypes.computed(x.dtype))


def _centred(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    return x - mean(x, axes, keepdims=True)


def moments(x: Tensor, axes: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Mean and variance over axes, which are kept with size 1."""
    return (mean(x, axes, keepdims=True),
            mean(arith.square(_centred(x, axes)), axes, keepdims=True))


def _floats(x: Any) -> Tensor:
    x = as_tensor(x)
    if x.dtype.kind == "c":
        raise DTypeError(f"complex numbers are not normalized: {typed(x)}")
    return cast(x, dtypes.floating(x.dtype))


def _scaled(y: Tensor, weight: Any, bias: Any) -> Tensor:
    """``y * weight + bias`` channel by channel."""
    for factor, operation in ((weight, arith.multiply), (bias, arith.add)):
        if factor is not None:
            factor = as_tensor(factor)
            factor = of_shape(
                "normalize", factor, y.shape[1:2], "weight and bias need one number per channel of "
                f"{y.shape}, not shape {factor.shape}")
            y = operation(y, reshape(factor, _per_channel(factor.shape[0], y.ndim)))
    return y


def _channels(name: str, running: Any, x: Tensor) -> Tensor:
    """A tensor with one number for each channel."""
    found = as_tensor(running)
    return of_shape("batch_norm", found, x.shape[1:2],
                    f"{name} needs one number per channel of x {x.shape}, shape {x.shape[1:2]}, "
                    f"not {typed(found)}")


def _per_channel(channels: Any, ndim: int) -> tuple[Any, ...]:
    return (1, channels, *(1,) * (ndim - 2))


@autocasts
@public
def batch_norm(x: Any, running_mean: Any = None, running_var: Any = None, weight: Any = None,
               bias: Any = None, training: bool = False, eps: NotNegative = 1e-5, *,
               out: Tensor | None = None) -> Tensor:
    """Mean 0 and variance 1 of every channel over batch and pixels, then ``* weight + bias``.

    :param x: (batch, channels, ...).
    :type x: array_like
    :param running_mean, running_var: Mean and variance of each channel to use instead of those of
        ``x``, unless ``training``.
    :type running_mean, running_var: array_like, optional
    :param weight, bias: A number for each channel.
    :type weight, bias: array_like, optional
    :param training: Whether to use the mean and variance of ``x``; so it is without running ones,
        too.
    :param eps: Added to the variance.
    :returns:

    >>> ag.nn.functional.batch_norm(ag.tensor([[1.0], [3.0]]), training=True, eps=0.0)
    tensor([[-1.],
            [ 1.]])
    """
    x = _floats(x)
    if x.ndim < 2:
        raise ShapeError(f"the operand {x.shape} must be (batch, channels, ...)")
    axes = (0, *range(2, x.ndim))
    if training or running_mean is None or running_var is None:
        return _scaled(apply(Standardize(axes, number(eps, "eps")), x), weight, bias)
    sizes = _per_channel(x.shape[1], x.ndim)
    centre, variance = (_channels(name, running, x) for name, running in (
        ("running_mean", running_mean), ("running_var", running_var)))
    off = x - reshape(centre, sizes)
    return _scaled(off * arith.rsqrt(reshape(variance, sizes) + eps), weight, bias)


@planned
@public
def instance_norm(x: Any, weight: Any = None, bias: Any = None, eps: NotNegative = 1e-5, *,
                  out: Tensor | None = None) -> Tensor:
    """Mean 0 and variance 1 of every channel of every image, then ``* weight + bias``.

    :like: batch_norm
    :param x: (batch, channels, pixels, ...).
    :type x: array_like

    >>> ag.nn.functional.instance_norm(ag.tensor([[[1.0, 3.0]]]), eps=0.0)
    tensor([[[-1.,  1.]]])
    """
    x = _floats(x)
    if x.ndim < 3:
        raise ShapeError(f"the operand {x.shape} must be (batch, channels, pixels, ...)")
    return _scaled(apply(Standardize(tuple(range(2, x.ndim)), number(eps, "eps")), x), weight, bias)


def several(x: Tensor, axes: Iterable[int], message: str) -> Tensor:
    """A batch that has more than one value along some axes, or none; else a ValueError."""
    count = product([x.shape[a] for a in axes]) if x.ndim > 1 else 0
    if type(count) is int and count == 1:
        raise ValueError(message)
    return ensured_sizes("", x, (count,), (1,), message, "other", "ValueError")


@planned
@public
def group_norm(x: TensorLike, groups: Count, weight: TensorLike | None = None,
               bias: TensorLike | None = None, eps: NotNegative = 1e-5, *, out: Tensor | None = None
               ) -> Tensor:
    """Mean 0 and variance 1 of every group of channels of every image, then ``* weight + bias``.

    :like: batch_norm
    :param groups: Channels fall into so many groups.
    :returns: Of the shape and dtype of ``x``.
    :raises ShapeError: If the channels do not fall into so many groups.
    :raises ValueError: If there is one example, of which each group has one number.
    :raises DTypeError: If ``x`` is not floating.
    :see: nn.GroupNorm, nn.functional.instance_norm, nn.functional.layer_norm

    >>> ag.nn.functional.group_norm(ag.tensor([[1.0, 3.0, 5.0, 9.0]]), 2, eps=0.0)
    tensor([[-1.,  1., -1.,  1.]])
    """
    x = _floats(x)
    if x.ndim < 2 or not isinstance(x.shape[1], int) or x.shape[1] % groups:
        raise ShapeError(f"the channels of {typed(x)} do not fall into {groups} groups")
    each = x.shape[1] // groups
    wide = widened(x)
    parts = reshape(wide, (x.shape[0], groups, each, *x.shape[2:]))
    axes = tuple(range(2, parts.ndim))
    parts = several(parts, (0, *axes), f"one value for each group of {typed(x)} has no variance "
                                       "to divide by; give larger groups, or more examples")
    centre, variance = moments(parts, axes)

    def by_channel(v: Tensor) -> Tensor:
        rows = reshape(v, (x.shape[0], groups))
        return reshape(repeat(rows, each, axis=1), (*x.shape[:2], *(1,) * (x.ndim - 2)))

    y = (wide - by_channel(centre)) * by_channel(arith.rsqrt(variance + eps))
    return _scaled(cast(y, x.dtype), weight, bias)


@planned
@public
def layer_norm(x: TensorLike, normalized_shape: int | tuple[int, ...],
               weight: TensorLike | None = None, bias: TensorLike | None = None,
               eps: NotNegative = 1e-5, *, out: Tensor | None = None) -> Tensor:
    """Mean 0 and variance 1 over the last axes, then ``* weight + bias``.

    :param x: Floats, of shape (..., *normalized_shape).
    :param normalized_shape: Sizes of the last axes, over which mean and variance are taken.
    :type normalized_shape: int or tuple of int
    :param weight, bias: Of that shape.
    :param eps: Added to the variance.
    :returns: Of the shape and dtype of ``x``.
    :raises DTypeError: For complex numbers.
    :raises ShapeError: If the last axes of ``x`` have another shape.
    :see: nn.LayerNorm, nn.functional.rms_norm, nn.functional.group_norm

    >>> ag.nn.functional.layer_norm(ag.tensor([1.0, 3.0]), (2,), eps=0.0)
    tensor([-1.,  1.])
    """
    x = _floats(x)
    x, axes = _last(x, normalized_shape)
    y = apply(Standardize(axes, number(eps, "eps")), x)
    y = y if weight is None else y * weight
    result: Tensor = y if bias is None else y + bias
    return result


def _last(x: Tensor, normalized_shape: int | tuple[int, ...]) -> tuple[Tensor, tuple[int, ...]]:
    """``x``, and its last axes, which have these sizes."""
    sizes = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    first = max(x.ndim - len(sizes), 0)
    x = of_shape("normalize", x, (*x.shape[:first], *sizes), f"the last axes of x must have the "
                 f"sizes {sizes}, and {typed(x)} has {tuple(x.shape[first:])}")
    return x, tuple(range(x.ndim - len(sizes), x.ndim))


@planned
@public
def rms_norm(x: TensorLike, normalized_shape: int | tuple[int, ...],
             weight: TensorLike | None = None, eps: NotNegative | None = None, *,
             out: Tensor | None = None) -> Tensor:
    """Mean square 1 over the last axes, then ``* weight`` (Zhang and Sennrich 2019).

    :like: layer_norm
    :param normalized_shape: Sizes of the last axes, over which the mean is taken.
    :type normalized_shape: int or tuple of int
    :param weight: Of that shape.
    :param eps: Added to the mean square; by default the distance from 1 to the next number of the
        dtype.
    :see: nn.RMSNorm, nn.functional.layer_norm

    >>> ag.nn.functional.rms_norm(ag.tensor([1.0, 7.0]), (2,))
    tensor([0.2, 1.4])
    """
    x = _floats(x)
    x, axes = _last(x, normalized_shape)
    if eps is None:
        eps = float(dtypes.limits(x.dtype).eps)
    wide = widened(x)
    y = cast(wide * arith.rsqrt(mean(arith.square(wide), axes, keepdims=True) + eps), x.dtype)
    result: Tensor = y if weight is None else y * weight
    return result


@planned
@public
def local_response_norm(x: TensorLike, size: int = 5, alpha: float = 1e-4, beta: float = 0.75,
                        k: float = 1.0, *, out: Tensor | None = None) -> Tensor:
    """Each element divided by ``(k + alpha / size * squares)**beta``, summed over near channels.

    The sum goes over ``size`` channels around the element's, as many as there are; of an even
    number one more before it.  This is PyTorch's; Krizhevsky et al. (2012) do not divide ``alpha``.

    :param x: Floats, (batch, channels, ...).
    :param size: How many channels the sum goes over.
    :param alpha: Factor of the mean of squares.
    :param beta: Exponent.
    :param k: Added before the power is taken.
    :returns: Of the shape and dtype of ``x``.
    :raises ShapeError: If ``x`` has fewer than 2 axes, or ``size`` is not positive.
    :raises DTypeError: If ``x`` is not floating.
    :see: nn.LocalResponseNorm, nn.functional.batch_norm

    >>> x = ag.tensor([[1.0, 2.0, 2.0]])
    >>> ag.nn.functional.local_response_norm(x, 3, alpha=3.0, beta=1.0, k=0.0)
    tensor([[0.2       , 0.22222222, 0.25      ]])
    """
    x, size = _floats(x), known_integer(size, "size")
    if x.ndim < 2 or size < 1:
        raise ShapeError(f"the operand {x.shape} must be (batch, channels, ...), and size at least "
                         f"1, not {size}")
    low, high = size // 2, (size - 1) // 2
    if type(x.shape[1]) is int:  # there are no channels further away
        low, high = min(low, x.shape[1]), min(high, x.shape[1])
    near = apply(ChannelSum(low, high), arith.square(x))
    return x * arith.power(near * (alpha / size) + k, -beta)


#: Sums of neighbouring channels are of fewer.
_MOST_CHANNELS = 1 << 16


@record
class ChannelSum(LinearOp):
    """For each channel the sum of those from ``low`` before it to ``high`` behind it."""

    low: int
    high: int
    work = elements(8)
    name = "channel_sum"

    def infer(self, x: Any) -> Any:
        if not 0 <= min(self.low, self.high) <= max(self.low, self.high) < _MOST_CHANNELS:
            raise ShapeError(f"no channel has {self.low} before it and {self.high} behind it")
        return x.shape, x.dtype

    def perform(self, x: np.ndarray) -> np.ndarray:
        result = x.copy()
        for step in range(1, self.low + 1):
            result[:, step:] += x[:, :-step]
        for step in range(1, self.high + 1):
            result[:, :-step] += x[:, step:]
        return result

    def decompose(self, x: Tensor) -> Tensor:
        border = [(0, 0), (self.low, self.high), *[(0, 0)] * (x.ndim - 2)]
        padded = pad(x, border)
        channels = x.shape[1]
        total = padded[:, :channels]
        for step in range(1, self.low + self.high + 1):
            total = total + padded[:, step: step + channels]
        return total

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        return (apply(ChannelSum(self.high, self.low), g),)
