"""Layers that infer the number of their inputs' features from their first call."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from agnesi.core.op import typed
from agnesi.core.options import Count, Counts, NotNegative, Share, Sizes
from agnesi.core.parameter_types import DTypeLike
from agnesi.core.support.errors import ShapeError, at
from agnesi.core.support.tracing import is_tracing
from agnesi.core.tensor import Tensor
from agnesi.nn.base.module import Module, waiting
from agnesi.nn.layers.convs import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from agnesi.nn.layers.linear import Linear
from agnesi.nn.layers.norms import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
)
from agnesi.ops.base.convert import as_tensor


class _Lazy(Module):
    """A layer that its first call makes one of another class, for the size of its input."""

    _kind: ClassVar[type[Module]]
    _axis: ClassVar[int]  # of the features
    _waits = True

    def __init__(self, *rest: Any, **named: Any) -> None:
        self._rest, self._named = rest, {n: v for n, v in named.items() if v is not None}
        self._whole = False

    def forward(self, x: Tensor) -> Tensor:
        if is_tracing():
            raise ValueError(at(waiting(self, "outside of the compiled function")))
        x = as_tensor(x)
        if not -len(x.shape) <= self._axis < len(x.shape):
            raise ShapeError(at(f"{type(self).__name__}: {typed(x)} has no axis {self._axis} of "
                                "features"))
        rest, named, kind, features = self._rest, self._named, self._kind, x.shape[self._axis]
        del self._rest, self._named
        self.__class__ = kind  # type: ignore[assignment]
        self._whole, self._made_with = None, ((features, *rest), named)
        init: Any = kind.__init__
        init(self, features, *rest, **named)
        return self.forward(x)

    def extra_repr(self) -> str:
        return ", ".join([*map(str, self._rest), *(f"{n}={v}" for n, v in self._named.items())])


class LazyLinear(_Lazy):
    """A :class:`Linear` layer that infers its number of input features from its first call.

    Before that call it has no parameters, and reading them is an error: call the model
    once, then make its optimizer.  The call makes it a layer of the other class.

    :param out_features: Size of the last axis of the result.
    :param bias: Whether a vector is added.
    :param dtype: Float type; ``config.default_float`` by default.
    :see: nn.Linear, nn.LazyConv2d

    >>> model = nn.Sequential(nn.LazyLinear(8), nn.ReLU(), nn.LazyLinear(2))
    >>> model(ag.zeros(3, 5)).shape
    (3, 2)
    >>> model[0].weight.shape, type(model[0]).__name__
    ((8, 5), 'Linear')
    """

    _kind, _axis = Linear, -1

    def __init__(self, out_features: Count, bias: bool = True, *, dtype: DTypeLike = None) -> None:
        super().__init__(out_features, bias, dtype=dtype)


class _LazyConv(_Lazy):
    def __init__(self, out_channels: Count, kernel_size: Counts, stride: Counts = 1,
                 padding: Sizes | Literal["valid", "same", "full"] = 0, dilation: Counts = 1,
                 groups: Count = 1, bias: bool = True,
                 padding_mode: Literal["zeros", "reflect", "replicate", "circular"] = "zeros", *,
                 dtype: DTypeLike = None) -> None:
        super().__init__(out_channels, kernel_size, stride, padding, dilation, groups, bias,
                         padding_mode, dtype=dtype)


class LazyConv1d(_LazyConv):
    """A :class:`Conv1d` that infers its number of input channels from its first call.

    :param out_channels: Channels of the result.
    :param kernel_size: Size of the filters.
    :param stride: Steps between filters.
    :param padding: Border added on every side, or its name.
    :type padding: int, tuple of int, or str
    :param dilation: Distance of a filter's elements.
    :param groups: Groups of channels that do not see each other.
    :param bias: Whether a number is added to every channel.
    :param padding_mode: What the border consists of.
    :type padding_mode: str
    :param dtype: Float type; ``config.default_float`` by default.
    :see: nn.Conv1d, nn.LazyLinear

    >>> nn.LazyConv1d(4, 3)(ag.zeros(2, 5, 8)).shape
    (2, 4, 6)
    """

    _kind, _axis = Conv1d, -2


class LazyConv2d(_LazyConv):
    """A :class:`Conv2d` that infers its number of input channels from its first call.

    :like: LazyConv1d
    :see: nn.Conv2d, nn.LazyLinear

    >>> nn.LazyConv2d(4, 3, padding=1)(ag.zeros(2, 5, 8, 8)).shape
    (2, 4, 8, 8)
    """

    _kind, _axis = Conv2d, -3


class LazyConv3d(_LazyConv):
    """A :class:`Conv3d` that infers its number of input channels from its first call.

    :like: LazyConv1d
    :see: nn.Conv3d, nn.LazyLinear

    >>> nn.LazyConv3d(4, 3)(ag.zeros(2, 5, 8, 8, 8)).shape
    (2, 4, 6, 6, 6)
    """

    _kind, _axis = Conv3d, -4


class _LazyConvTranspose(_Lazy):
    def __init__(self, out_channels: Count, kernel_size: Counts, stride: Counts = 1,
                 padding: Sizes | Literal["valid", "same", "full"] = 0, output_padding: Sizes = 0,
                 groups: Count = 1, bias: bool = True, dilation: Counts = 1,
                 padding_mode: Literal["zeros"] = "zeros", *, dtype: DTypeLike = None) -> None:
        super().__init__(out_channels, kernel_size, stride, padding, output_padding, groups, bias,
                         dilation, padding_mode, dtype=dtype)


class LazyConvTranspose1d(_LazyConvTranspose):
    """A :class:`ConvTranspose1d` that infers its number of input channels from its first call.

    :like: LazyConv1d
    :param output_padding: Elements that are added at one end of the result.
    :see: nn.ConvTranspose1d, nn.LazyLinear

    >>> nn.LazyConvTranspose1d(4, 3)(ag.zeros(2, 5, 8)).shape
    (2, 4, 10)
    """

    _kind, _axis = ConvTranspose1d, -2


class LazyConvTranspose2d(_LazyConvTranspose):
    """A :class:`ConvTranspose2d` that infers its number of input channels from its first call.

    :like: LazyConvTranspose1d
    :see: nn.ConvTranspose2d, nn.LazyLinear

    >>> nn.LazyConvTranspose2d(4, 2, stride=2)(ag.zeros(2, 5, 8, 8)).shape
    (2, 4, 16, 16)
    """

    _kind, _axis = ConvTranspose2d, -3


class LazyConvTranspose3d(_LazyConvTranspose):
    """A :class:`ConvTranspose3d` that infers its number of input channels from its first call.

    :like: LazyConvTranspose1d
    :see: nn.ConvTranspose3d, nn.LazyLinear

    >>> nn.LazyConvTranspose3d(4, 2)(ag.zeros(2, 5, 3, 3, 3)).shape
    (2, 4, 4, 4, 4)
    """

    _kind, _axis = ConvTranspose3d, -4


class _LazyBatchNorm(_Lazy):
    def __init__(self, eps: NotNegative = 1e-5, momentum: Share | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, *, bias: bool = True,
                 dtype: DTypeLike = None) -> None:
        super().__init__(eps, momentum, affine, track_running_stats, bias=bias, dtype=dtype)


class LazyBatchNorm1d(_LazyBatchNorm):
    """A :class:`BatchNorm1d` that infers its number of input channels from its first call.

    :param eps: Added to the variance.
    :param momentum: Share of the present batch in the running mean and variance; None for the mean
        over all batches.
    :type momentum: float or None
    :param affine: Whether there are a learned scale and shift.
    :param track_running_stats: Whether there are a running mean and variance.
    :param bias: Whether the learned scale has a shift beside it.
    :param dtype: Float type; ``config.default_float`` by default.
    :see: nn.BatchNorm1d, nn.LazyLinear

    >>> norm = nn.LazyBatchNorm1d()
    >>> norm(ag.ones(3, 5)).shape, norm.running_mean.shape
    ((3, 5), (5,))
    """

    _kind, _axis = BatchNorm1d, 1


class LazyBatchNorm2d(_LazyBatchNorm):
    """A :class:`BatchNorm2d` that infers its number of input channels from its first call.

    :like: LazyBatchNorm1d
    :see: nn.BatchNorm2d, nn.LazyLinear

    >>> nn.LazyBatchNorm2d()(ag.ones(3, 5, 2, 2)).shape
    (3, 5, 2, 2)
    """

    _kind, _axis = BatchNorm2d, -3


class LazyBatchNorm3d(_LazyBatchNorm):
    """A :class:`BatchNorm3d` that infers its number of input channels from its first call.

    :like: LazyBatchNorm1d
    :see: nn.BatchNorm3d, nn.LazyLinear

    >>> nn.LazyBatchNorm3d()(ag.ones(3, 5, 2, 2, 2)).shape
    (3, 5, 2, 2, 2)
    """

    _kind, _axis = BatchNorm3d, -4


class _LazyInstanceNorm(_Lazy):
    def __init__(self, eps: NotNegative = 1e-5, momentum: Share | None = 0.1, affine: bool = False,
                 track_running_stats: bool = False, *, bias: bool = True,
                 dtype: DTypeLike = None) -> None:
        super().__init__(eps, momentum, affine, track_running_stats, bias=bias, dtype=dtype)


class LazyInstanceNorm1d(_LazyInstanceNorm):
    """An :class:`InstanceNorm1d` that infers its number of input channels from its first call.

    :like: LazyBatchNorm1d
    :see: nn.InstanceNorm1d, nn.LazyLinear

    >>> nn.LazyInstanceNorm1d(affine=True)(ag.ones(3, 5, 4)).shape
    (3, 5, 4)
    """

    _kind, _axis = InstanceNorm1d, -2


class LazyInstanceNorm2d(_LazyInstanceNorm):
    """An :class:`InstanceNorm2d` that infers its number of input channels from its first call.

    :like: LazyBatchNorm1d
    :see: nn.InstanceNorm2d, nn.LazyLinear

    >>> nn.LazyInstanceNorm2d()(ag.ones(3, 5, 2, 2)).shape
    (3, 5, 2, 2)
    """

    _kind, _axis = InstanceNorm2d, -3


class LazyInstanceNorm3d(_LazyInstanceNorm):
    """An :class:`InstanceNorm3d` that infers its number of input channels from its first call.

    :like: LazyBatchNorm1d
    :see: nn.InstanceNorm3d, nn.LazyLinear

    >>> nn.LazyInstanceNorm3d()(ag.ones(3, 5, 2, 2, 2)).shape
    (3, 5, 2, 2, 2)
    """

    _kind, _axis = InstanceNorm3d, -4
