"""Modules with parameters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import agnesi as ag
from agnesi.compat.torch7.maths import Tensor
from agnesi.compat.torch7.nn.module import Module
from agnesi.nn import functional as F

__all__ = [
    "Add", "BatchNormalization", "Bilinear", "CAdd", "CMul", "Cosine", "Euclidean", "Linear",
    "LookupTable", "Mul", "PReLU", "SparseLinear", "SpatialAveragePooling",
    "SpatialBatchNormalization", "SpatialConvolution", "SpatialConvolutionMM",
    "SpatialFullConvolution", "SpatialLPPooling", "SpatialMaxPooling", "SpatialSubSampling",
    "SpatialZeroPadding", "TemporalConvolution", "TemporalMaxPooling", "VolumetricConvolution",
    "VolumetricMaxPooling", "WeightedEuclidean",
]


class _Weighted(Module):
    """A module with a weight and perhaps a bias, drawn uniformly within a bound."""

    weights: tuple[str, ...] = ("weight", "bias")
    weight: Tensor
    bias: Tensor | None = None
    gradWeight: Tensor
    gradBias: Tensor

    def _begin(self, shape: Any, outputs: int | None, fan: int) -> None:
        super().__init__()
        self.fan = fan
        self.add_parameter("weight", np.zeros(shape))
        if outputs is not None:
            self.add_parameter("bias", np.zeros(outputs))
        self.reset()

    def reset(self, stdv: float | None = None) -> Module:
        """New values, uniform within ``stdv`` times the root of 3, or 1 over that of the inputs."""
        bound = 1 / math.sqrt(self.fan) if stdv is None else stdv * math.sqrt(3)
        for w, _ in self._own():
            w.uniform(-bound, bound)  # type: ignore[attr-defined]
        return self


class Linear(_Weighted):
    """``weight @ x + bias``, of vectors or rows of a batch."""

    def __init__(self, inputSize: int, outputSize: int, bias: bool = True) -> None:
        self._begin((outputSize, inputSize), outputSize if bias else None, inputSize)

    def compute(self, x: Any, w: Any, b: Any = None) -> Any:
        return F.linear(x, w, b)


class SparseLinear(_Weighted):
    """:class:`Linear` of rows (place from 1, value)."""

    def __init__(self, inputSize: int, outputSize: int) -> None:
        self._begin((outputSize, inputSize), outputSize, inputSize)

    def compute(self, x: Any, w: Any, b: Any) -> Any:
        places = ag.stop_gradient(x[:, 0]).astype("int64") - 1
        return ag.take(w, places, 1) @ x[:, 1] + b


class Bilinear(_Weighted):
    """``x1 @ weight[k] @ x2 + bias[k]`` of a pair of batches."""

    def __init__(self, inputSize1: int, inputSize2: int, outputSize: int,
                 bias: bool = True) -> None:
        self._begin((outputSize, inputSize1, inputSize2), outputSize if bias else None, inputSize1)

    def compute(self, x: Any, w: Any, b: Any = None) -> Any:
        y = ag.einsum("ni,kij,nj->nk", x[0], w, x[1])
        return y if b is None else y + b


class Add(_Weighted):
    """x plus a learned vector, or number."""

    weights = ("bias",)

    def __init__(self, inputSize: int, scalar: bool = False) -> None:
        Module.__init__(self)
        self.fan = inputSize
        self.add_parameter("bias", np.zeros(1 if scalar else inputSize))
        self.reset()

    def compute(self, x: Any, b: Any) -> Any:
        return x + b


class Mul(_Weighted):
    """x times a learned number."""

    def __init__(self) -> None:
        self._begin((1,), None, 1)

    def compute(self, x: Any, w: Any) -> Any:
        return x * w


class CMul(_Weighted):
    """x times a learned tensor."""

    def __init__(self, *sizes: int) -> None:
        self._begin(sizes, None, int(np.prod(sizes)))

    def compute(self, x: Any, w: Any) -> Any:
        return x * w


class CAdd(_Weighted):
    """x plus a learned tensor."""

    weights = ("bias",)

    def __init__(self, *sizes: int) -> None:
        Module.__init__(self)
        self.fan = int(np.prod(sizes))
        self.add_parameter("bias", np.zeros(sizes))
        self.reset()

    def compute(self, x: Any, b: Any) -> Any:
        return x + b


class Euclidean(_Weighted):
    """Distances to learned points, the columns of the weight."""

    def __init__(self, inputSize: int, outputSize: int) -> None:
        self._begin((inputSize, outputSize), None, inputSize)

    def compute(self, x: Any, w: Any) -> Any:
        return ag.sqrt(ag.sum((x[..., :, None] - w) ** 2, -2))


class WeightedEuclidean(_Weighted):
    """Distances to learned points, in directions that are scaled by ``diagCov``."""

    weights = ("weight", "diagCov")

    def __init__(self, inputSize: int, outputSize: int) -> None:
        self._begin((inputSize, outputSize), None, inputSize)
        self.add_parameter("diagCov", np.ones((inputSize, outputSize)))

    def compute(self, x: Any, w: Any, c: Any = None) -> Any:
        return ag.sqrt(ag.sum(((x[..., :, None] - w) * c) ** 2, -2))


class Cosine(_Weighted):
    """Cosines of the angles to learned vectors, the rows of the weight."""

    def __init__(self, inputSize: int, outputSize: int) -> None:
        self._begin((outputSize, inputSize), None, inputSize)

    def compute(self, x: Any, w: Any) -> Any:
        lengths = ag.sqrt(ag.sum(x * x, -1, keepdims=True)) * ag.sqrt(ag.sum(w * w, -1))
        return (x @ w.T) / ag.maximum(lengths, 1e-12)


class LookupTable(_Weighted):
    """Rows of the weight, by their numbers from 1."""

    def __init__(self, nIndex: int, *sizes: int) -> None:
        self._begin((nIndex, *sizes), None, 1)

    def reset(self, stdv: float | None = None) -> Module:
        """New values, normally distributed."""
        self.weight.normal(0, 1 if stdv is None else stdv)  # type: ignore[attr-defined]
        return self

    def compute(self, x: Any, w: Any) -> Any:
        return w[ag.stop_gradient(x).astype("int64") - 1]


class PReLU(_Weighted):
    """x, or x times a learned slope below zero, one or one for each channel."""

    weights = ("weight",)

    def __init__(self, nOutputPlane: int = 0) -> None:
        self._begin((max(nOutputPlane, 1),), None, 1)
        self.planes = nOutputPlane
        self.weight.fill(0.25)

    def compute(self, x: Any, w: Any) -> Any:
        if self.planes:
            w = w.reshape((-1, *(1,) * (x.ndim - (2 if x.ndim in (2, 4) else 1))))
        return ag.where(x > 0, x, w * x)


def _batched(compute: Any, x: Any, axes: int) -> Any:
    """A function of batches on a sample, too."""
    return compute(x) if x.ndim == axes else compute(x[None])[0]


class SpatialConvolution(_Weighted):
    """Images (planes, height, width) or batches of them, correlated with filters."""

    def __init__(self, nInputPlane: int, nOutputPlane: int, kW: int, kH: int, dW: int = 1,
                 dH: int = 1, padW: int = 0, padH: int | None = None) -> None:
        self._begin((nOutputPlane, nInputPlane, kH, kW), nOutputPlane, kW * kH * nInputPlane)
        self.steps, self.pads = (dH, dW), (padW if padH is None else padH, padW)

    def compute(self, x: Any, w: Any, b: Any) -> Any:
        return _batched(lambda x: F.conv2d(x, w, b, stride=self.steps, padding=self.pads), x, 4)


SpatialConvolutionMM = SpatialConvolution


class SpatialFullConvolution(_Weighted):
    """The transposed convolution of images."""

    def __init__(self, nInputPlane: int, nOutputPlane: int, kW: int, kH: int, dW: int = 1,
                 dH: int = 1, padW: int = 0, padH: int = 0, adjW: int = 0, adjH: int = 0) -> None:
        self._begin((nInputPlane, nOutputPlane, kH, kW), nOutputPlane, kW * kH * nInputPlane)
        self.steps, self.pads, self.more = (dH, dW), (padH, padW), (adjH, adjW)

    def compute(self, x: Any, w: Any, b: Any) -> Any:
        return _batched(lambda x: F.conv_transpose2d(
            x, w, b, stride=self.steps, padding=self.pads, output_padding=self.more), x, 4)


class TemporalConvolution(_Weighted):
    """Sequences (steps, features), each window of which is mapped to new features."""

    def __init__(self, inputFrameSize: int, outputFrameSize: int, kW: int, dW: int = 1) -> None:
        self._begin((outputFrameSize, inputFrameSize * kW), outputFrameSize, kW * inputFrameSize)
        self.sizes = outputFrameSize, kW, inputFrameSize
        self.step = dW

    def compute(self, x: Any, w: Any, b: Any) -> Any:
        filters = ag.swapaxes(w.reshape(self.sizes), 1, 2)
        return _batched(lambda x: ag.swapaxes(F.conv1d(
            ag.swapaxes(x, 1, 2), filters, b, stride=self.step), 1, 2), x, 3)


class VolumetricConvolution(_Weighted):
    """Volumes (planes, time, height, width) correlated with filters."""

    def __init__(self, nInputPlane: int, nOutputPlane: int, kT: int, kW: int, kH: int, dT: int = 1,
                 dW: int = 1, dH: int = 1) -> None:
        self._begin((nOutputPlane, nInputPlane, kT, kH, kW), nOutputPlane,
                    kT * kW * kH * nInputPlane)
        self.steps = dT, dH, dW

    def compute(self, x: Any, w: Any, b: Any) -> Any:
        return _batched(lambda x: F.conv3d(x, w, b, stride=self.steps), x, 5)


class SpatialMaxPooling(Module):
    """The largest of each window of images."""

    def __init__(self, kW: int, kH: int, dW: int | None = None, dH: int | None = None,
                 padW: int = 0, padH: int = 0) -> None:
        super().__init__()
        self.size, self.steps, self.pads = (kH, kW), (dH or kH, dW or kW), (padH, padW)

    def compute(self, x: Any) -> Any:
        return _batched(lambda x: F.max_pool2d(x, self.size, self.steps, self.pads), x, 4)


class SpatialAveragePooling(SpatialMaxPooling):
    """The mean of each window of images."""

    def compute(self, x: Any) -> Any:
        return _batched(lambda x: F.avg_pool2d(x, self.size, self.steps, self.pads), x, 4)


class SpatialLPPooling(SpatialMaxPooling):
    """The p-norm of each window of images."""

    def __init__(self, nInputPlane: int, pnorm: float, kW: int, kH: int, dW: int | None = None,
                 dH: int | None = None) -> None:
        super().__init__(kW, kH, dW, dH)
        self.pnorm = pnorm

    def compute(self, x: Any) -> Any:
        area = self.size[0] * self.size[1]
        return _batched(lambda x: (area * F.avg_pool2d(
            ag.abs(x) ** self.pnorm, self.size, self.steps)) ** (1 / self.pnorm), x, 4)


class SpatialSubSampling(_Weighted):
    """The sum of each window, times a weight of its plane, plus a bias."""

    def __init__(self, nInputPlane: int, kW: int, kH: int, dW: int = 1, dH: int = 1) -> None:
        self._begin((nInputPlane,), nInputPlane, kW * kH)
        self.size, self.steps = (kH, kW), (dH, dW)

    def compute(self, x: Any, w: Any, b: Any) -> Any:
        area = self.size[0] * self.size[1]
        y = _batched(lambda x: area * F.avg_pool2d(x, self.size, self.steps), x, 4)
        return y * w[:, None, None] + b[:, None, None]


class SpatialZeroPadding(Module):
    """Zeros around images."""

    def __init__(self, padLeft: int, padRight: int, padTop: int, padBottom: int) -> None:
        super().__init__()
        self.pads = (padTop, padBottom), (padLeft, padRight)

    def compute(self, x: Any) -> Any:
        return ag.pad(x, [(0, 0)] * (x.ndim - 2) + list(self.pads))


class TemporalMaxPooling(Module):
    """The largest of each window of a sequence."""

    def __init__(self, kW: int, dW: int | None = None) -> None:
        super().__init__()
        self.size, self.step = kW, dW or kW

    def compute(self, x: Any) -> Any:
        return _batched(lambda x: ag.swapaxes(F.max_pool1d(
            ag.swapaxes(x, 1, 2), self.size, self.step), 1, 2), x, 3)


class VolumetricMaxPooling(Module):
    """The largest of each window of volumes."""

    def __init__(self, kT: int, kW: int, kH: int, dT: int | None = None, dW: int | None = None,
                 dH: int | None = None) -> None:
        super().__init__()
        self.size, self.steps = (kT, kH, kW), (dT or kT, dH or kH, dW or kW)

    def compute(self, x: Any) -> Any:
        return _batched(lambda x: F.max_pool3d(x, self.size, self.steps), x, 5)


class BatchNormalization(_Weighted):
    """Features with learned means and deviations over the batch."""

    def __init__(self, nOutput: int, eps: float = 1e-5, momentum: float = 0.1,
                 affine: bool = True) -> None:
        self._begin((nOutput,), nOutput, 1)
        self.eps, self.momentum = eps, momentum
        self.running_mean, self.running_var = Tensor(np.zeros(nOutput)), Tensor(np.ones(nOutput))
        if not affine:
            self.weights = ()

    def reset(self, stdv: float | None = None) -> Module:
        """Weights between 0 and 1, biases of 0."""
        self.weight.uniform(0, 1)  # type: ignore[attr-defined]
        if self.bias is not None:
            self.bias.zero()
        return self

    def updateOutput(self, input: Any) -> Any:
        if self.train:
            x = input.array
            axes = (0, *range(2, x.ndim))
            count = x.size / x.shape[1]
            for kept, found in ((self.running_mean, x.mean(axes)),
                                (self.running_var, x.var(axes) * count / max(count - 1, 1))):
                kept.array[...] += self.momentum * (found - kept.array)
        return super().updateOutput(input)

    def compute(self, x: Any, w: Any = None, b: Any = None) -> Any:
        shape = (1, -1, *(1,) * (x.ndim - 2))
        if self.train:
            axes = (0, *range(2, x.ndim))
            mean = ag.mean(x, axes, keepdims=True)
            var = ag.mean((x - mean) ** 2, axes, keepdims=True)
        else:
            mean, var = (ag.asarray(t.array.reshape([n if n > 0 else -1 for n in shape]))
                         for t in (self.running_mean, self.running_var))
        y = (x - mean) / ag.sqrt(var + self.eps)
        return y if w is None else y * w.reshape(shape) + b.reshape(shape)


class SpatialBatchNormalization(BatchNormalization):
    """Planes of images with learned means and deviations over the batch."""
