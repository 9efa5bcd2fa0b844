"""Losses that came after 2012, and losses of several others."""

from __future__ import annotations

from typing import Any

import numpy as np

import agnesi as ag
from agnesi.compat.torch7.maths import Tensor, new
from agnesi.compat.torch7.nn.criterions import ClassNLLCriterion, Criterion, MSECriterion
from agnesi.compat.torch7.nn.module import written
from agnesi.compat.torch7.tensor import places_of
from agnesi.core.support.errors import at

__all__ = [
    "ClassSimplexCriterion", "DistanceRatioCriterion", "L1Cost", "ModuleCriterion",
    "MultiLabelSoftMarginCriterion", "ParallelCriterion", "SoftMarginCriterion",
    "SpatialAutoCropMSECriterion", "SpatialClassNLLCriterion", "WeightedMSECriterion",
]


class L1Cost(Criterion):
    """The 1-norm of the input; there is no target."""

    def compute(self, x: Any, t: Any) -> Any:
        return ag.sum(ag.abs(x))


class SoftMarginCriterion(Criterion):
    """``log(1 + exp(-x * t))`` for labels 1 and -1."""

    def compute(self, x: Any, t: Any) -> Any:
        return self._reduced(ag.logaddexp(-x * t, 0))


class MultiLabelSoftMarginCriterion(Criterion):
    """Minus the logarithm of the chance of 0s and 1s by the sigmoid, perhaps times weights of the
    columns."""

    def __init__(self, weights: Any = None, sizeAverage: bool = True) -> None:
        super().__init__(sizeAverage)
        self.weights = weights

    def compute(self, x: Any, t: Any) -> Any:
        losses = ag.logaddexp(x, 0) - x * t
        return self._reduced(losses if self.weights is None else losses * self.weights.array)


class WeightedMSECriterion(MSECriterion):
    """The mean of squared differences from targets that are multiplied by weights."""

    def __init__(self, w: Tensor, sizeAverage: bool = True) -> None:
        super().__init__(sizeAverage)
        self.weight = w.clone()

    def compute(self, x: Any, t: Any) -> Any:
        return super().compute(x, t * self.weight.array)


class SpatialAutoCropMSECriterion(MSECriterion):
    """The mean of squared differences from the middle of targets, which may be larger images."""

    _elementwise = False

    def compute(self, x: Any, t: Any) -> Any:
        key: list[Any] = [Ellipsis]
        for n, m in zip(t.shape[-2:], x.shape[-2:], strict=True):
            if m > n:
                raise ValueError(f"SpatialAutoCropMSECriterion of an input {tuple(x.shape)} that "
                                 f"is larger than its target {tuple(t.shape)}")
            key.append(slice((n - m) // 2, (n - m) // 2 + m))
        return super().compute(x, t[tuple(key)])


class SpatialClassNLLCriterion(ClassNLLCriterion):
    """:class:`ClassNLLCriterion` at each pixel of images of logarithms (classes, height, width)."""

    def _rows(self, x: Any) -> Any:
        return ag.moveaxis(x, -3, -1).reshape((-1, x.shape[-3]))


class DistanceRatioCriterion(Criterion):
    """``-log(exp(-x) / (exp(-x) + exp(-y)))`` of distances x of similar and y of other samples."""

    def compute(self, x: Any, t: Any) -> Any:
        return self._reduced(x[0] + ag.logaddexp(-x[0], -x[1]))


class ClassSimplexCriterion(MSECriterion):
    """The mean of squared differences from corners of a regular simplex, one for each class."""

    _elementwise = False

    def __init__(self, nClasses: int) -> None:
        super().__init__()
        if nClasses < 2:
            raise ValueError(f"ClassSimplexCriterion({nClasses}) needs at least two classes")
        self.nClasses = nClasses
        n = nClasses - 1
        corners = np.zeros((nClasses, nClasses))
        for k in range(n):
            corners[k, k] = np.sqrt(1 - (corners[k, :k] ** 2).sum())
            corners[k + 1:, k] = (corners[k, k] ** 2 - 1 - 1 / n) / corners[k, k]
        self.simplex = new(corners)

    def compute(self, x: Any, t: Any) -> Any:
        labels = places_of(t, self.nClasses)
        return super().compute(x, ag.asarray(self.simplex.array[labels], dtype=x.dtype))

    def getPredictions(self, input: Tensor) -> Tensor:
        """How near rows are to the corner of each class."""
        return new(np.atleast_2d(input.array) @ self.simplex.array.T)

    def getTopPrediction(self, input: Tensor) -> Tensor:
        """The class, from 1, whose corner is nearest to each row."""
        return new(self.getPredictions(input).array.argmax(1) + 1)


class ParallelCriterion(Criterion):
    """A weighted sum of losses, each of its entries of tables of inputs and targets."""

    def __init__(self, repeatTarget: bool = False) -> None:
        super().__init__()
        self.repeatTarget = repeatTarget
        self.criterions: list[Any] = []
        self.weights: list[float] = []

    def add(self, criterion: Any, weight: float = 1) -> ParallelCriterion:
        """One more loss."""
        self.criterions.append(criterion)
        self.weights.append(weight)
        return self

    def _parts(self, input: Any, target: Any) -> Any:
        targets = [target] * len(input) if self.repeatTarget else target
        if not isinstance(input, (list, tuple)) or not isinstance(targets, (list, tuple)) or not (
                len(input) == len(targets) == len(self.criterions)):
            raise ValueError(at(f"ParallelCriterion: input and target must be tables of "
                                f"{len(self.criterions)} entries, one for each criterion"))
        return zip(self.criterions, self.weights, input, targets, strict=True)

    def updateOutput(self, input: Any, target: Any = None) -> float:
        self.output = sum(w * c.updateOutput(x, t) for c, w, x, t in self._parts(input, target))
        return self.output

    def updateGradInput(self, input: Any, target: Any = None) -> Any:
        found = [_scaled(c.updateGradInput(x, t), w) for c, w, x, t in self._parts(input, target)]
        self.gradInput = written(self.gradInput, found)
        return self.gradInput

    forward, backward = updateOutput, updateGradInput
    __call__ = updateOutput


def _scaled(g: Any, factor: float) -> Any:
    return [_scaled(v, factor) for v in g] if isinstance(g, list) else g.array * factor


class ModuleCriterion(Criterion):
    """A loss of what modules compute of the input and of the target."""

    def __init__(self, criterion: Any, inputModule: Any = None, targetModule: Any = None,
                 castTarget: bool = True) -> None:
        super().__init__()
        self.criterion, self.inputModule, self.targetModule = criterion, inputModule, targetModule

    def _inner(self, input: Any, target: Any) -> tuple[Any, Any]:
        return (self.inputModule.forward(input) if self.inputModule else input,
                self.targetModule.forward(target) if self.targetModule else target)

    def updateOutput(self, input: Any, target: Any = None) -> float:
        self.output = self.criterion.updateOutput(*self._inner(input, target))
        return self.output

    def updateGradInput(self, input: Any, target: Any = None) -> Any:
        g = self.criterion.updateGradInput(*self._inner(input, target))
        self.gradInput = self.inputModule.updateGradInput(input, g) if self.inputModule else g
        return self.gradInput

    forward, backward = updateOutput, updateGradInput
    __call__ = updateOutput
