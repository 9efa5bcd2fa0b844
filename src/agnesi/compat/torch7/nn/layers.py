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
    "Add", "Bilinear", "CAdd", "CMul", "Cosine", "Euclidean", "Linear", "Mul", "PReLU",
    "WeightedEuclidean",
]


class Weighted(Module):
    """A module with a weight and perhaps a bias, drawn uniformly within a bound."""

    weights: tuple[str, ...] = ("weight", "bias")
    weight: Tensor
    bias: Tensor | None = None
    gradWeight: Tensor
    gradBias: Tensor

    def _begin(self, shape: Any, outputs: Any, fan: int) -> None:
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


class Linear(Weighted):
    """``weight @ x + bias``, of vectors or rows of a batch."""

    def __init__(self, inputSize: int, outputSize: int, bias: bool = True) -> None:
        self._begin((outputSize, inputSize), outputSize if bias else None, inputSize)

    def compute(self, x: Any, w: Any, b: Any = None) -> Any:
        if isinstance(x, (list, tuple)):
            raise TypeError("the input must be a tensor, not a table")
        return F.linear(x, w, b)


class Bilinear(Weighted):
    """``x1 @ weight[k] @ x2 + bias[k]`` of a pair of batches."""

    def __init__(self, inputSize1: int, inputSize2: int, outputSize: int,
                 bias: bool = True) -> None:
        self._begin((outputSize, inputSize1, inputSize2), outputSize if bias else None, inputSize1)

    def compute(self, x: Any, w: Any, b: Any = None) -> Any:
        y = ag.einsum("ni,kij,nj->nk", x[0], w, x[1])
        return y if b is None else y + b


class Add(Weighted):
    """x plus a learned vector, or number."""

    weights = ("bias",)

    def __init__(self, inputSize: int, scalar: bool = False) -> None:
        Module.__init__(self)
        self.fan = inputSize
        self.add_parameter("bias", np.zeros(1 if scalar else inputSize))
        self.reset()

    def compute(self, x: Any, b: Any) -> Any:
        return x + b


class Mul(Weighted):
    """x times a learned number."""

    def __init__(self) -> None:
        self._begin((1,), None, 1)

    def compute(self, x: Any, w: Any) -> Any:
        return x * w


class CMul(Weighted):
    """x times a learned tensor."""

    def __init__(self, *sizes: int) -> None:
        self._begin(sizes, None, int(np.prod(sizes)))

    def compute(self, x: Any, w: Any) -> Any:
        return x * w


class CAdd(Weighted):
    """x plus a learned tensor."""

    weights = ("bias",)

    def __init__(self, *sizes: int) -> None:
        Module.__init__(self)
        self.fan = int(np.prod(sizes))
        self.add_parameter("bias", np.zeros(sizes))
        self.reset()

    def compute(self, x: Any, b: Any) -> Any:
        return x + b


class Euclidean(Weighted):
    """Distances to learned points, the columns of the weight."""

    def __init__(self, inputSize: int, outputSize: int) -> None:
        self._begin((inputSize, outputSize), None, inputSize)

    def compute(self, x: Any, w: Any) -> Any:
        return ag.sqrt(ag.sum((x[..., :, None] - w) ** 2, -2))


class WeightedEuclidean(Weighted):
    """Distances to learned points, in directions that are scaled by ``diagCov``."""

    weights = ("weight", "diagCov")

    def __init__(self, inputSize: int, outputSize: int) -> None:
        self._begin((inputSize, outputSize), None, inputSize)
        self.add_parameter("diagCov", np.ones((inputSize, outputSize)))

    def compute(self, x: Any, w: Any, c: Any = None) -> Any:
        return ag.sqrt(ag.sum(((x[..., :, None] - w) * c) ** 2, -2))


class Cosine(Weighted):
    """Cosines of the angles to learned vectors, the rows of the weight."""

    def __init__(self, inputSize: int, outputSize: int) -> None:
        self._begin((outputSize, inputSize), None, inputSize)

    def compute(self, x: Any, w: Any) -> Any:
        lengths = ag.sqrt(ag.sum(x * x, -1, keepdims=True)) * ag.sqrt(ag.sum(w * w, -1))
        return (x @ w.T) / ag.maximum(lengths, 1e-12)


class PReLU(Weighted):
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


def of_batch(x: Any, axes: int) -> None:
    """Refuse what is neither a batch nor a sample."""
    if x.ndim not in (axes - 1, axes):
        raise ValueError(f"the input must have {axes - 1} dimensions, or {axes} of a batch, not "
                         f"{x.ndim}")


def batched(compute: Any, x: Any, axes: int) -> Any:
    """A function of batches on a sample, too."""
    of_batch(x, axes)
    return compute(x) if x.ndim == axes else compute(x[None])[0]
