"""Layers that normalize: over the batch, layers, groups and instances, and local response."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from agnesi.autodiff.recording import no_grad
from agnesi.core.ir.dims import product
from agnesi.core.op import typed
from agnesi.core.options import Count, NotNegative, Share
from agnesi.core.parameter_types import DTypeLike
from agnesi.core.support.errors import ShapeError, at
from agnesi.core.tensor import Tensor
from agnesi.nn import functional
from agnesi.nn.base.fixed import rules, sizes_of
from agnesi.nn.base.module import Module, size_of
from agnesi.nn.base.renewed import Renewed, Tracked
from agnesi.nn.functions import forms
from agnesi.ops.base.arith import rsqrt
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.creation import ones, zeros
from agnesi.ops.base.movement import expand_dims, reshape, squeeze
from agnesi.ops.base.reduce import sum as total
from agnesi.ops.convolution.images import as_images
from agnesi.ops.indexing.join import concat
from agnesi.ops.neural.normalize import batch_norm, several, widened


def _affine(shape: tuple[int, ...], scaled: bool, shifted: bool,
            dtype: Any) -> tuple[Tensor | None, Tensor | None]:
    """A learned scale and shift, where they are wanted; no shift without a scale."""
    weight = ones(shape, dtype=dtype, requires_grad=True) if scaled else None
    return weight, zeros(shape, dtype=dtype, requires_grad=True) if scaled and shifted else None


def _sizes(layer: Module, given: Any) -> tuple[int, ...]:
    """Sizes of last axes as the user gave them: one, or several."""
    sizes = given if isinstance(given, (tuple, list)) else (given,)
    return tuple(size_of(layer, n, "normalized_shape") for n in sizes)


_OF_SIZES = rules(
    normalized_shape=sizes_of("weight", 0, None), elementwise_affine=sizes_of("weight"))
_OF_FEATURES = rules(num_features=sizes_of("weight", 0), affine=sizes_of("weight"))


class LayerNorm(Renewed, Module):
    """Mean 0 and variance 1 over the last axes, then scale and shift (Ba et al., 2016).

    :param normalized_shape: Sizes of the axes to normalise over.
    :type normalized_shape: int or tuple of int
    :param eps: Added to the variance.
    :param elementwise_affine, bias: Whether there are a learned scale and shift, and whether there
        is a shift beside the scale.
    :param dtype: Float type; ``config.default_float`` by default.
    :see: nn.RMSNorm, nn.GroupNorm, nn.BatchNorm1d, nn.functional.layer_norm

    >>> ag.nn.LayerNorm(2, eps=0.0)(ag.tensor([[1.0, 3.0]])).tolist()
    [[-1.0, 1.0]]
    """

    _rules = _OF_SIZES

    def __init__(self, normalized_shape: Count | Sequence[Count], eps: NotNegative = 1e-5,
                 elementwise_affine: bool = True, bias: bool = True, *, dtype: DTypeLike = None
                 ) -> None:
        self.normalized_shape = _sizes(self, normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self.weight, self.bias = _affine(self.normalized_shape, elementwise_affine, bias, dtype)

    def forward(self, x: Tensor) -> Tensor:
        return functional.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return ", ".join(map(str, self.normalized_shape))


class RMSNorm(Renewed, Module):
    """Mean square 1 over the last axes, then a learned scale.

    :like: LayerNorm
    :param eps: Added to the mean square; by default the distance from 1 to the next number of the
        dtype.
    :param elementwise_affine: Whether there is a learned scale.
    :see: nn.LayerNorm, nn.functional.rms_norm

    >>> ag.nn.RMSNorm(2)(ag.tensor([[1.0, 7.0]])).tolist()
    [[0.20000000298023224, 1.399999976158142]]
    """

    _rules = _OF_SIZES

    def __init__(self, normalized_shape: Count | Sequence[Count], eps: NotNegative | None = None,
                 elementwise_affine: bool = True, *, dtype: DTypeLike = None) -> None:
        self.normalized_shape = _sizes(self, normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self.weight, _ = _affine(self.normalized_shape, elementwise_affine, False, dtype)

    def forward(self, x: Tensor) -> Tensor:
        return functional.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return ", ".join(map(str, self.normalized_shape))


class _BatchNorm(Tracked, Module):
    """What batch normalisations of any number of axes do."""

    #: Adds up over several processes what a process has added up over its examples, if set.
    totals: Callable[[Tensor], Tensor] | None = None
    #: How many axes there may be behind the channels.
    ranks: ClassVar[tuple[int, ...]] = (0, 1)

    _rules = _OF_FEATURES

    def __init__(self, num_features: Count, eps: NotNegative = 1e-5, momentum: Share | None = 0.1,
                 affine: bool = True, track_running_stats: bool = True, *,
                 bias: bool = True, dtype: DTypeLike = None) -> None:
        self.num_features = size_of(self, num_features, "num_features")
        self.eps, self.momentum, self.affine = eps, momentum, affine
        self.track_running_stats = track_running_stats
        shape = (self.num_features,)
        self.weight, self.bias = _affine(shape, affine, bias, dtype)
        self.running_mean = zeros(shape, dtype=dtype) if track_running_stats else None
        self.running_var = ones(shape, dtype=dtype) if track_running_stats else None
        self.num_batches_tracked = zeros((), dtype="int64") if track_running_stats else None

    def forward(self, x: Tensor) -> Tensor:
        x = as_tensor(x)
        self._check(x)
        if self.training and self.totals is not None:
            return self._together(x)
        if self.training:
            x = self._follow(x)
        return batch_norm(
            x, self.running_mean, self.running_var, self.weight, self.bias, self.training, self.eps
        )

    def _check(self, x: Tensor) -> None:
        found = x.shape[1] if x.ndim - 2 in self.ranks else None
        if found is None or (isinstance(found, int) and found != self.num_features):
            forms = (f"(batch, {self.num_features}{', size' * n})" for n in self.ranks)
            raise ShapeError(at(
                f"{type(self).__name__}: the input must be {' or '.join(forms)}, not {typed(x)}"
            ))

    def _follow(self, x: Tensor) -> Tensor:
        """Move the running mean and variance towards those of a batch, of more than one value."""
        x = several(x, (0, *range(2, x.ndim)),
                          f"{type(self).__name__} of {typed(x)} while training: {forms.SINGLE}, or "
                          "call eval() first")
        if (tracked := self._tracked()) is not None:
            forms.follow(x, *tracked, self._share())
        return x

    def _tracked(self) -> tuple[Tensor, Tensor] | None:
        """The running mean and variance, where they follow the batches."""
        mean, variance = self.running_mean, self.running_var
        if mean is None or variance is None or not self.track_running_stats:
            return None
        return mean, variance

    def _share(self) -> Any:
        """How much the present batch, which is counted, counts in the running statistics."""
        assert self.running_var is not None and self.num_batches_tracked is not None
        with no_grad():
            seen = self.num_batches_tracked.copy_(self.num_batches_tracked + 1)
            if self.momentum is not None:
                return self.momentum
            return 1 / cast(seen, widened(self.running_var).dtype)

    def _together(self, x: Tensor) -> Tensor:
        """The result by the mean and variance of all processes' examples."""
        assert self.totals is not None
        wide = widened(x)
        axes, sizes = (0, *range(2, x.ndim)), (1, self.num_features) + (1,) * (x.ndim - 2)
        here = expand_dims(cast(as_tensor(product([x.shape[a] for a in axes])), wide.dtype), 0)
        sums = self.totals(concat([total(wide, axes), here]))
        count = sums[self.num_features:]
        centre = sums[:self.num_features] / count
        off = wide - reshape(centre, sizes)
        variance = self.totals(total(off * off, axes)) / count
        if (tracked := self._tracked()) is not None:
            share = self._share()
            forms.move_towards(tracked[0], centre, share)
            forms.move_towards(tracked[1], variance * count / (count - 1), share)
        y = cast(off * rsqrt(reshape(variance, sizes) + self.eps), x.dtype)
        if self.weight is not None:
            y = y * reshape(self.weight, sizes)
        return y if self.bias is None else y + reshape(self.bias, sizes)

    def extra_repr(self) -> str:
        return f"{self.num_features}"


class BatchNorm1d(_BatchNorm):
    """Mean 0 and variance 1 of channels over the batch, scale, shift (Ioffe and Szegedy, 2015).

    Parameters
    ----------
    num_features : int
        Number of channels: the size of the second axis.
    eps : float
        Added to the variance.
    momentum : float or None
        Share of the present batch in the running mean and variance, which ``eval()`` uses; None
        for the mean over all batches.
    affine : bool
        Whether there are a learned scale and shift.
    track_running_stats : bool
        Whether there are a running mean and variance; without, ``eval()`` uses the batch's, too.
    bias : bool
        Whether the learned scale has a shift beside it.
    dtype : dtype, optional
        Float type; ``config.default_float`` by default.

    Attributes
    ----------
    weight, bias : Tensor or None
        Scale and shift of each channel.
    running_mean, running_var : Tensor or None
        What was seen in training; the variance is the unbiased one.
    num_batches_tracked : Tensor
        How many batches were seen in training; only where there is a running mean.

    See Also
    --------
    nn.BatchNorm2d, nn.BatchNorm3d, nn.InstanceNorm1d, nn.LayerNorm, nn.functional.batch_norm

    Examples
    --------
    >>> import agnesi as ag
    >>> norm = ag.nn.BatchNorm1d(1)
    >>> norm(ag.tensor([[1.0], [3.0]])).shape
    (2, 1)
    >>> norm.running_mean
    tensor([0.2])
    """


class BatchNorm2d(_BatchNorm):
    """Mean 0 and variance 1 of every channel over the images of a batch (Ioffe and Szegedy, 2015).

    :param num_features: Number of channels: the size of the second axis.
    :param eps: Added to the variance.
    :param momentum: Share of the present batch in the running mean and variance, which ``eval()``
        uses; None for the mean over all batches.
    :type momentum: float or None
    :param affine: Whether there are a learned scale and shift.
    :param track_running_stats: Whether there are a running mean and variance; without, ``eval()``
        uses the batch's, too.
    :param bias: Whether the learned scale has a shift beside it.
    :param dtype: Float type; ``config.default_float`` by default.
    :see: nn.BatchNorm1d, nn.functional.batch_norm

    >>> ag.nn.BatchNorm2d(3)(ag.ones((2, 3, 4, 4))).shape
    (2, 3, 4, 4)
    """

    ranks = (2,)


class BatchNorm3d(_BatchNorm):
    """Mean 0 and variance 1 of every channel over the volumes of a batch (Ioffe and Szegedy, 2015).

    :like: BatchNorm2d
    :see: nn.BatchNorm1d, nn.functional.batch_norm

    >>> ag.nn.BatchNorm3d(3)(ag.ones((2, 3, 4, 4, 4))).shape
    (2, 3, 4, 4, 4)
    """

    ranks = (3,)


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation of any number of axes over a group of processes, which is one here.

    :like: BatchNorm2d
    :param momentum: Share of the present batch in the running mean and variance.
    :type momentum: float or None
    :param track_running_stats: Whether there are a running mean and variance.
    :see: nn.BatchNorm1d, nn.BatchNorm2d

    >>> ag.nn.SyncBatchNorm(3)(ag.ones((2, 3, 4, 4))).shape
    (2, 3, 4, 4)
    """

    ranks = (0, 1, 2, 3)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: object = None) -> Module:
        """The module itself: its normalisations are over all processes already.

        :param module: Any.
        :param process_group: Not needed.
        :returns: ``module``.
        """
        return module


class GroupNorm(Renewed, Module):
    """Mean 0 and variance 1 of groups of channels, then scale and shift (Wu and He, 2018).

    :param num_groups, num_channels: Numbers of groups, and of channels in all of them.
    :param eps: Added to the variance.
    :param affine: Whether there are a learned scale and shift.
    :param bias: Whether the learned scale has a shift beside it.
    :param dtype: Float type; ``config.default_float`` by default.
    :raises ValueError: If the channels do not fall into so many groups.
    :see: nn.LayerNorm, nn.InstanceNorm2d, nn.BatchNorm2d, nn.functional.group_norm

    >>> ag.nn.GroupNorm(2, 4)(ag.ones((1, 4, 3, 3))).shape
    (1, 4, 3, 3)
    """

    _rules = rules(num_channels=sizes_of("weight", 0), affine=sizes_of("weight"))

    def __init__(self, num_groups: Count, num_channels: Count, eps: NotNegative = 1e-5,
                 affine: bool = True, *,
                 bias: bool = True, dtype: DTypeLike = None) -> None:
        num_channels = size_of(self, num_channels, "num_channels")
        if size_of(self, num_groups, "num_groups", 0) < 1 or num_channels % num_groups:
            raise ValueError(
                at(f"GroupNorm: {num_channels} channels do not fall into {num_groups} equal groups")
            )
        self.num_groups, self.num_channels = num_groups, num_channels
        self.eps, self.affine = eps, affine
        self.weight, self.bias = _affine((num_channels,), affine, bias, dtype)

    def forward(self, x: Tensor) -> Tensor:
        return functional.group_norm(x, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}"


class _InstanceNorm(Tracked, Module):
    """Base: images of ``rank`` axes, each channel by itself."""

    rank: ClassVar[int]

    _rules = _OF_FEATURES

    def __init__(self, num_features: Count, eps: NotNegative = 1e-5, momentum: Share | None = 0.1,
                 affine: bool = False, track_running_stats: bool = False, *,
                 bias: bool = True, dtype: DTypeLike = None) -> None:
        self.num_features, self.eps = size_of(self, num_features, "num_features"), eps
        self.momentum, self.affine = momentum, affine
        self.track_running_stats = track_running_stats
        self.weight, self.bias = _affine((self.num_features,), affine, bias, dtype)
        if track_running_stats:
            self.running_mean: Any = zeros(self.num_features, dtype=dtype)
            self.running_var: Any = ones(self.num_features, dtype=dtype)
            self.num_batches_tracked: Any = zeros((), dtype="int64")  # as in PyTorch's states
        else:
            self.running_mean = self.running_var = self.num_batches_tracked = None

    def forward(self, x: Tensor) -> Tensor:
        x = as_images(x, self.rank, type(self).__name__, self.num_features)
        single = x.ndim == self.rank + 1
        x = expand_dims(x, 0) if single else x
        y = forms.instance_norm(
            x, self.running_mean, self.running_var, self.weight, self.bias,
            self.training or not self.track_running_stats, self.momentum or 0.0, self.eps)
        return squeeze(y, 0) if single else y

    def extra_repr(self) -> str:
        return f"{self.num_features}"


class InstanceNorm1d(_InstanceNorm):
    """Mean 0 and variance 1 of every channel of every row (Ulyanov et al., 2016).

    :like: BatchNorm2d
    :param num_features: Number of channels.
    :param momentum: Share of a batch in the running mean and variance; None is 0.
    :type momentum: float or None
    :param track_running_stats: Whether there are a running mean and variance, which are used in
        evaluation mode.
    :see: nn.InstanceNorm2d, nn.functional.instance_norm

    >>> ag.nn.InstanceNorm1d(1, eps=0.0)(ag.tensor([[[1.0, 3.0]]]))
    tensor([[[-1.,  1.]]])
    """

    rank = 1


class InstanceNorm2d(_InstanceNorm):
    """Mean 0 and variance 1 of every channel of every image (Ulyanov et al., 2016).

    :like: InstanceNorm1d
    :see: nn.InstanceNorm1d, nn.InstanceNorm3d, nn.BatchNorm2d, nn.GroupNorm
        nn.functional.instance_norm

    >>> ag.nn.InstanceNorm2d(3)(ag.ones((2, 3, 4, 4))).shape
    (2, 3, 4, 4)
    """

    rank = 2


class InstanceNorm3d(_InstanceNorm):
    """Mean 0 and variance 1 of every channel of every volume (Ulyanov et al., 2016).

    :like: InstanceNorm1d
    :see: nn.InstanceNorm2d, nn.functional.instance_norm

    >>> ag.nn.InstanceNorm3d(3)(ag.ones((2, 3, 4, 4, 4))).shape
    (2, 3, 4, 4, 4)
    """

    rank = 3


class _LocalResponseNorm(Module):
    """Elements divided by their neighbours among the channels."""

    def __init__(self, size: Count = 5, alpha: float = 1e-4, beta: float = 0.75,
                 k: float = 1.0) -> None:
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, x: Tensor) -> Tensor:
        return functional.local_response_norm(x, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class LocalResponseNorm(_LocalResponseNorm):
    """Divide by a power of the sum of squares of near channels (Krizhevsky et al., 2012).

    :param size: How many channels the sum goes over.
    :param alpha: Factor of the mean of squares.
    :param beta: Exponent.
    :param k: Added before the power is taken.
    :see: nn.functional.local_response_norm, nn.BatchNorm2d

    >>> ag.nn.LocalResponseNorm()(ag.ones((1, 8, 2, 2))).shape
    (1, 8, 2, 2)
    """
