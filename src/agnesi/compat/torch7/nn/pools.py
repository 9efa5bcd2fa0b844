"""The largest, the mean or the norm of windows."""

from __future__ import annotations

from typing import Any

import numpy as np

import agnesi as ag
from agnesi.compat.torch7.maths import RANDOM, new
from agnesi.compat.torch7.nn.layers import Weighted, batched, of_batch
from agnesi.compat.torch7.nn.module import Module, arrays, written
from agnesi.nn import functional as F

__all__ = [
    "FeatureLPPooling", "SpatialAdaptiveAveragePooling", "SpatialAdaptiveMaxPooling",
    "SpatialAveragePooling", "SpatialDilatedMaxPooling", "SpatialFractionalMaxPooling",
    "SpatialLPPooling", "SpatialMaxPooling", "SpatialMaxUnpooling", "SpatialSubSampling",
    "TemporalDynamicKMaxPooling", "TemporalMaxPooling", "TemporalSubSampling",
    "VolumetricAveragePooling", "VolumetricDilatedMaxPooling", "VolumetricFractionalMaxPooling",
    "VolumetricMaxPooling", "VolumetricMaxUnpooling",
]


class _Pooling(Module):
    """Windows of images or volumes, whose number is rounded down or up."""

    ceil_mode = False
    size: tuple[int, ...]
    steps: tuple[int, ...]
    pads: tuple[int, ...]

    def ceil(self) -> Any:
        """Also windows that reach over the end."""
        self.ceil_mode = True
        return self

    def floor(self) -> Any:
        """Full windows only, which is the default."""
        self.ceil_mode = False
        return self

    @property
    def axes(self) -> int:
        """How many axes batches have."""
        return len(self.size) + 2


class _MaxPooling(_Pooling):
    """The largest of each window, whose places stay in ``indices``, from 1."""

    dilation: tuple[int, ...] = (1, 1)

    def _found(self, x: Any, places: bool = False) -> Any:
        pool = F.max_pool2d if len(self.size) == 2 else F.max_pool3d
        return pool(x, self.size, self.steps, self.pads, self.dilation, ceil_mode=self.ceil_mode,
                    return_indices=places)

    def compute(self, x: Any) -> Any:
        return batched(self._found, x, self.axes)

    def updateOutput(self, input: Any) -> Any:
        """The result; ``indices`` have the place of each in its plane."""
        x = arrays(input)
        of_batch(x, self.axes)
        self.seen = x.shape
        values, places = self._found(x if x.ndim == self.axes else x[None], True)
        if x.ndim != self.axes:
            values, places = values[0], places[0]
        self.indices = new(np.asarray(places) + 1, "int64")
        self.output = written(self.output, values)
        return self.output


class SpatialMaxPooling(_MaxPooling):
    """The largest of each window of images."""

    def __init__(self, kW: int, kH: int, dW: int | None = None, dH: int | None = None,
                 padW: int = 0, padH: int = 0) -> None:
        super().__init__()
        self.size, self.steps, self.pads = (kH, kW), (dH or kH, dW or kW), (padH, padW)


class SpatialDilatedMaxPooling(SpatialMaxPooling):
    """The largest of each window of images, with gaps between the elements of a window."""

    def __init__(self, kW: int, kH: int, dW: int | None = None, dH: int | None = None,
                 padW: int = 0, padH: int = 0, dilationW: int = 1, dilationH: int = 1) -> None:
        super().__init__(kW, kH, dW, dH, padW, padH)
        self.dilation = dilationH, dilationW


class VolumetricMaxPooling(_MaxPooling):
    """The largest of each window of volumes."""

    dilation = 1, 1, 1

    def __init__(self, kT: int, kW: int, kH: int, dT: int | None = None, dW: int | None = None,
                 dH: int | None = None, padT: int = 0, padW: int = 0, padH: int = 0) -> None:
        super().__init__()
        self.size, self.steps = (kT, kH, kW), (dT or kT, dH or kH, dW or kW)
        self.pads = padT, padH, padW


class VolumetricDilatedMaxPooling(VolumetricMaxPooling):
    """The largest of each window of volumes, with gaps between the elements of a window."""

    def __init__(self, kT: int, kW: int, kH: int, dT: int | None = None, dW: int | None = None,
                 dH: int | None = None, padT: int = 0, padW: int = 0, padH: int = 0,
                 dilationT: int = 1, dilationW: int = 1, dilationH: int = 1) -> None:
        super().__init__(kT, kW, kH, dT, dW, dH, padT, padW, padH)
        self.dilation = dilationT, dilationH, dilationW


class SpatialMaxUnpooling(Module):
    """Values where a pooling module found its own, zeros elsewhere."""

    def __init__(self, poolingModule: Any) -> None:
        super().__init__()
        self.pooling = poolingModule

    def compute(self, x: Any) -> Any:
        pool = self.pooling
        sizes, places = pool.seen, pool.indices.array - 1
        unpool = F.max_unpool2d if len(pool.size) == 2 else F.max_unpool3d
        if x.ndim != pool.axes:
            places = places[None]
        return batched(lambda x: unpool(x, places, pool.size, pool.steps, pool.pads,
                                        output_size=sizes[2 - pool.axes:]), x, pool.axes)


class VolumetricMaxUnpooling(SpatialMaxUnpooling):
    """Values where a pooling module of volumes found its own, zeros elsewhere."""


class SpatialAveragePooling(_Pooling):
    """The mean of each window of images."""

    count_include_pad = True

    def __init__(self, kW: int, kH: int, dW: int | None = None, dH: int | None = None,
                 padW: int = 0, padH: int = 0) -> None:
        super().__init__()
        self.size, self.steps, self.pads = (kH, kW), (dH or kH, dW or kW), (padH, padW)

    def setCountIncludePad(self) -> Any:
        """Divide by the size of a window, which is the default."""
        self.count_include_pad = True
        return self

    def setCountExcludePad(self) -> Any:
        """Divide by the number of elements of a window that are in the image."""
        self.count_include_pad = False
        return self

    def compute(self, x: Any) -> Any:
        pool = F.avg_pool2d if len(self.size) == 2 else F.avg_pool3d
        return batched(lambda x: pool(x, self.size, self.steps, self.pads, self.ceil_mode,
                                      self.count_include_pad), x, self.axes)


class VolumetricAveragePooling(SpatialAveragePooling):
    """The mean of each window of volumes."""

    def __init__(self, kT: int, kW: int, kH: int, dT: int | None = None, dW: int | None = None,
                 dH: int | None = None, padT: int = 0, padW: int = 0, padH: int = 0) -> None:
        Module.__init__(self)
        self.size, self.steps = (kT, kH, kW), (dT or kT, dH or kH, dW or kW)
        self.pads = padT, padH, padW


class SpatialAdaptiveMaxPooling(Module):
    """The largest of each of as many parts of images as the result has elements."""

    pool = staticmethod(F.adaptive_max_pool2d)

    def __init__(self, W: int, H: int) -> None:
        super().__init__()
        self.size = H, W

    def compute(self, x: Any) -> Any:
        return batched(lambda x: type(self).pool(x, self.size), x, 4)


class SpatialAdaptiveAveragePooling(SpatialAdaptiveMaxPooling):
    """The mean of each of as many parts of images as the result has elements."""

    pool = staticmethod(F.adaptive_avg_pool2d)


class _FractionalPooling(Module):
    """The largest of windows at random distances."""

    randomSamples: Any = None
    newRandomPool = False

    def __init__(self, size: tuple[int, ...], given: tuple[float, ...]) -> None:
        super().__init__()
        self.size, self.given = size, given

    def fixPoolingRegions(self, val: bool = True) -> Any:
        """Keep the windows of the first call."""
        self.newRandomPool = val
        return self

    def updateOutput(self, input: Any) -> Any:
        shape = input.array.shape
        lead = shape[:2] if len(shape) == len(self.size) + 2 else (1, shape[0])
        wanted = (*lead, len(self.size))
        if self.randomSamples is None or not self.newRandomPool or (
                self.randomSamples.shape != wanted):
            self.randomSamples = RANDOM[0].random(wanted)
        return super().updateOutput(input)

    def compute(self, x: Any) -> Any:
        axes = len(self.size)
        pool = F.fractional_max_pool2d if axes == 2 else F.fractional_max_pool3d
        sizes = [int(g) if g >= 1 else int(n * g)
                 for g, n in zip(self.given, x.shape[-axes:], strict=True)]
        return batched(lambda x: pool(x, self.size, sizes, _random_samples=self.randomSamples),
                       x, axes + 2)


class SpatialFractionalMaxPooling(_FractionalPooling):
    """The largest of windows of images at random distances, to sizes or to shares of the input's.
    """

    def __init__(self, poolSizeW: int, poolSizeH: int, outW: float, outH: float) -> None:
        super().__init__((poolSizeH, poolSizeW), (outH, outW))


class VolumetricFractionalMaxPooling(_FractionalPooling):
    """The largest of windows of volumes at random distances, to sizes or to shares of the input's.
    """

    def __init__(self, poolSizeT: int, poolSizeW: int, poolSizeH: int, outT: float, outW: float,
                 outH: float) -> None:
        super().__init__((poolSizeT, poolSizeH, poolSizeW), (outT, outH, outW))


class SpatialLPPooling(_Pooling):
    """The p-norm of each window of images."""

    def __init__(self, nInputPlane: int, pnorm: float, kW: int, kH: int, dW: int | None = None,
                 dH: int | None = None) -> None:
        super().__init__()
        self.size, self.steps, self.pnorm = (kH, kW), (dH or kH, dW or kW), pnorm

    def compute(self, x: Any) -> Any:
        area = self.size[0] * self.size[1]
        return batched(lambda x: (area * F.avg_pool2d(
            ag.abs(x) ** self.pnorm, self.size, self.steps)) ** (1 / self.pnorm), x, 4)


class FeatureLPPooling(Module):
    """The p-norm of each window of features, which are the first axis (behind that of a batch)."""

    def __init__(self, width: int, stride: int, power: float, batch_mode: bool = False) -> None:
        super().__init__()
        self.width, self.stride, self.power, self.batch_mode = width, stride, power, batch_mode

    def compute(self, x: Any) -> Any:
        rows = ag.moveaxis(x, int(self.batch_mode), 0)
        count = (rows.shape[0] - self.width) // self.stride + 1
        total = sum(ag.abs(rows[k:k + (count - 1) * self.stride + 1:self.stride]) ** self.power
                    for k in range(self.width))
        return ag.moveaxis(total ** (1 / self.power), 0, int(self.batch_mode))


class SpatialSubSampling(Weighted):
    """The sum of each window, times a weight of its plane, plus a bias."""

    def __init__(self, nInputPlane: int, kW: int, kH: int, dW: int = 1, dH: int = 1) -> None:
        self._begin((nInputPlane,), nInputPlane, kW * kH)
        self.size, self.steps = (kH, kW), (dH, dW)

    def compute(self, x: Any, w: Any, b: Any) -> Any:
        area = self.size[0] * self.size[1]
        y = batched(lambda x: area * F.avg_pool2d(x, self.size, self.steps), x, 4)
        return y * w[:, None, None] + b[:, None, None]


class TemporalSubSampling(Weighted):
    """The sum of each window of a sequence, times a weight of its feature, plus a bias."""

    def __init__(self, inputFrameSize: int, kW: int, dW: int = 1) -> None:
        self._begin((inputFrameSize,), inputFrameSize, kW)
        self.size, self.step = kW, dW

    def compute(self, x: Any, w: Any, b: Any) -> Any:
        y = batched(lambda x: ag.swapaxes(self.size * F.avg_pool1d(
            ag.swapaxes(x, 1, 2), self.size, self.step), 1, 2), x, 3)
        return y * w + b


class TemporalMaxPooling(Module):
    """The largest of each window of a sequence."""

    def __init__(self, kW: int, dW: int | None = None) -> None:
        super().__init__()
        self.size, self.step = kW, dW or kW

    def compute(self, x: Any) -> Any:
        return batched(lambda x: ag.swapaxes(F.max_pool1d(
            ag.swapaxes(x, 1, 2), self.size, self.step), 1, 2), x, 3)


class TemporalDynamicKMaxPooling(Module):
    """The k largest of each feature of a sequence in their order, k being a share of its length."""

    def __init__(self, minK: int, factor: float = 0) -> None:
        super().__init__()
        self.minK, self.factor = minK, factor

    def compute(self, x: Any) -> Any:
        steps = x.shape[-2]
        k = max(self.minK, int(np.ceil(self.factor * steps)))
        if k > steps:
            raise ValueError(f"a sequence of {steps} steps has no {k} largest: use a smaller minK")
        order = ag.argsort(-ag.stop_gradient(x), -2)
        return ag.take_along_axis(x, ag.sort(order[..., :k, :], -2), -2)
