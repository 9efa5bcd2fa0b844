"""Modules that normalize: features, planes, neighbourhoods, weights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import agnesi as ag
from agnesi.compat.torch7.maths import Tensor
from agnesi.compat.torch7.nn.containers import Sequential
from agnesi.compat.torch7.nn.layers import Add, CMul, Linear, Weighted, batched
from agnesi.compat.torch7.nn.module import Module
from agnesi.compat.torch7.nn.transfer import MulConstant, Normalize
from agnesi.core.support.errors import ShapeError
from agnesi.nn import functional as F

__all__ = [
    "BatchNormalization", "LayerNormalization", "LinearWeightNorm", "SpatialBatchNormalization",
    "SpatialContrastiveNormalization", "SpatialCrossMapLRN", "SpatialDivisiveNormalization",
    "SpatialSubtractiveNormalization", "VolumetricBatchNormalization", "WeightNorm",
]


class BatchNormalization(Weighted):
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
            if x.ndim < 2 or x.shape[1] != self.running_mean.size(1):
                raise ShapeError(f"the input must be a batch with {self.running_mean.size(1)} "
                                 "features or planes as its second dimension")
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


class VolumetricBatchNormalization(BatchNormalization):
    """Planes of volumes with learned means and deviations over the batch."""


class SpatialCrossMapLRN(Module):
    """Images over a power of k plus the mean square of ``size`` planes around each."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def compute(self, x: Any) -> Any:
        return batched(lambda x: F.local_response_norm(x, self.size, self.alpha, self.beta,
                                                       self.k), x, 4)


class _LocalNormalization(Module):
    """Images and their weighted means around each pixel, over what a border leaves of the weights.

    The kernel has two axes, or one: then it is used along both.
    """

    def __init__(self, nInputPlane: int = 1, kernel: Tensor | None = None) -> None:
        super().__init__()
        array = np.ones((9, 9)) if kernel is None else np.array(kernel.array, float)
        if array.ndim not in (1, 2) or any(n % 2 == 0 for n in array.shape):
            raise ValueError(f"{type(self).__name__} needs a kernel of one or two axes of odd "
                             f"sizes, got one of shape {array.shape}")
        array = np.outer(array, array) if array.ndim == 1 else array
        self.planes, self.kernel = nInputPlane, Tensor(array / (array.sum() * nInputPlane))

    def _mean(self, x: Any) -> Any:
        high, wide = self.kernel.array.shape
        filters = np.broadcast_to(self.kernel.array.astype(x.dtype), (1, self.planes, high, wide))
        return F.conv2d(x, ag.asarray(filters.copy()), padding=(high // 2, wide // 2))

    def _share(self, x: Any) -> Any:
        return self._mean(ag.ones((1, *x.shape[1:]), dtype=x.dtype))


class SpatialSubtractiveNormalization(_LocalNormalization):
    """Images minus their means around each pixel."""

    def compute(self, x: Any) -> Any:
        return batched(lambda x: x - self._mean(x) / self._share(x), x, 4)


class SpatialDivisiveNormalization(_LocalNormalization):
    """Images over the roots of their mean squares around each pixel, where these are large."""

    def __init__(self, nInputPlane: int = 1, kernel: Tensor | None = None,
                 threshold: float = 1e-4, thresval: float | None = None) -> None:
        super().__init__(nInputPlane, kernel)
        self.threshold = threshold
        self.thresval = threshold if thresval is None else thresval

    def compute(self, x: Any) -> Any:
        def divided(x: Any) -> Any:
            mean = self._mean(x * x)
            root = ag.where(mean > 0, ag.sqrt(ag.where(mean > 0, mean, 1)), 0) / self._share(x)
            return x / ag.where(root > self.threshold, root, self.thresval)

        return batched(divided, x, 4)


class SpatialContrastiveNormalization(Module):
    """:class:`SpatialSubtractiveNormalization`, then :class:`SpatialDivisiveNormalization`."""

    def __init__(self, nInputPlane: int = 1, kernel: Tensor | None = None,
                 threshold: float = 1e-4, thresval: float | None = None) -> None:
        super().__init__()
        self.parts = (SpatialSubtractiveNormalization(nInputPlane, kernel),
                      SpatialDivisiveNormalization(nInputPlane, kernel, threshold, thresval))

    def compute(self, x: Any) -> Any:
        return self.parts[1].compute(self.parts[0].compute(x))


class _Centred(Module):
    """Rows minus their means."""

    def compute(self, x: Any) -> Any:
        return x - ag.mean(x, -1, keepdims=True)


class LayerNormalization(Sequential):
    """Rows minus their means, over their deviations, with a learned gain and bias."""

    def __init__(self, nOutput: int, bias: float = 0, eps: float = 1e-10,
                 affine: bool = True) -> None:
        super().__init__()
        self.add(_Centred()).add(Normalize(2, eps)).add(MulConstant(math.sqrt(nOutput)))
        if affine:
            gain, shift = CMul(nOutput), Add(nOutput)
            gain.weight.fill(1)
            shift.bias.fill(bias)  # type: ignore[union-attr]
            self.add(gain).add(shift)


class LinearWeightNorm(Weighted):
    """:class:`Linear` whose rows of weights have lengths ``g`` and directions ``v``."""

    weights = ("v", "g", "bias")
    v: Tensor
    g: Tensor

    def __init__(self, inputSize: int, outputSize: int, bias: bool = True,
                 eps: float = 1e-16) -> None:
        self.eps = eps
        self._begin((outputSize, inputSize), outputSize if bias else None, inputSize)

    def reset(self, stdv: float | None = None) -> Module:
        """New weights, uniform."""
        bound = 1 / math.sqrt(self.fan) if stdv is None else stdv * math.sqrt(3)
        self.weight.uniform(-bound, bound)  # type: ignore[attr-defined]
        if self.bias is not None:
            self.bias.uniform(-bound, bound)  # type: ignore[attr-defined]
        return self.initFromWeight()

    def initFromWeight(self, weight: Tensor | None = None) -> LinearWeightNorm:
        """Lengths and directions of a matrix, by default of ``weight``."""
        array = (self.weight if weight is None else weight).array
        self.add_parameter("v", array)
        self.add_parameter("g", np.maximum(np.linalg.norm(array, axis=1, keepdims=True), self.eps))
        return self

    @staticmethod
    def fromLinear(linear: Linear) -> LinearWeightNorm:
        """A module of the weights of a :class:`Linear`."""
        outputs, inputs = linear.weight.array.shape
        found = LinearWeightNorm(inputs, outputs, linear.bias is not None)
        found.initFromWeight(linear.weight)
        if linear.bias is not None:
            found.bias.copy(linear.bias)  # type: ignore[union-attr]
        return found

    def toLinear(self) -> Linear:
        """A :class:`Linear` of the same weights."""
        outputs, inputs = self.v.array.shape
        found = Linear(inputs, outputs, self.bias is not None)
        found.weight.array[...] = np.asarray(self._scaled(
            ag.asarray(self.v.array), ag.asarray(self.g.array)))
        if self.bias is not None:
            found.bias.copy(self.bias)  # type: ignore[union-attr]
        return found

    def _scaled(self, v: Any, g: Any) -> Any:
        return v * (g / ag.maximum(ag.linalg.vector_norm(v, axis=1, keepdims=True), self.eps))

    def compute(self, x: Any, v: Any, g: Any, b: Any = None) -> Any:
        return F.linear(x, self._scaled(v, g), b)


class WeightNorm(Weighted):
    """A module whose weights have lengths ``g`` and directions ``v`` along an axis."""

    weights = ("v", "g", "bias")

    def __init__(self, module: Any, outputDim: int = 1) -> None:
        Module.__init__(self)
        self.module, self.axis = module, outputDim - 1
        shape = module.weight.array.shape
        self.turned = (shape[self.axis], *shape[:self.axis], *shape[self.axis + 1:])
        rows = self.turned[0], int(np.prod(self.turned[1:]))
        self.add_parameter("v", np.zeros(rows))
        self.add_parameter("g", np.zeros(rows[0]))
        if module.bias is not None:
            self.bias, self.gradBias = module.bias, module.gradBias
        self.reset()

    def reset(self, stdv: float | None = None) -> Module:
        """New directions, normally distributed, and their lengths."""
        self.v.normal(0, math.sqrt(2 / self.v.size(2)) if stdv is None else stdv)  # type: ignore[attr-defined]
        self.g.array[...] = np.linalg.norm(self.v.array, axis=1)  # type: ignore[attr-defined]
        return self

    def compute(self, x: Any, v: Any, g: Any, b: Any = None) -> Any:
        scale = g / ag.sqrt(ag.sum(v * v, 1) + 1e-4)
        weight = ag.moveaxis((v * scale[:, None]).reshape(self.turned), 0, self.axis)
        return self.module.compute(x, weight, *(() if b is None else (b,)))
