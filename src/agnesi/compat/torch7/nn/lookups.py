"""Modules that touch those rows of their weights whose numbers the input has."""

from __future__ import annotations

from typing import Any

import numpy as np

import agnesi as ag
from agnesi.compat.torch7.maths import RANDOM, Tensor, new
from agnesi.compat.torch7.nn.layers import Weighted
from agnesi.compat.torch7.nn.module import Module, written
from agnesi.compat.torch7.tensor import places_of

__all__ = ["IndexLinear", "Kmeans", "LookupTable", "PartialLinear", "SparseLinear"]


class SparseLinear(Weighted):
    """:class:`Linear` of rows (place from 1, value)."""

    def __init__(self, inputSize: int, outputSize: int) -> None:
        self._begin((outputSize, inputSize), outputSize, inputSize)

    def compute(self, x: Any, w: Any, b: Any) -> Any:
        places = places_of(ag.stop_gradient(x[:, 0]), w.shape[1], 2)
        return ag.take(w, places, 1) @ x[:, 1] + b


class IndexLinear(Weighted):
    """A linear map of keys and values: one pair of vectors, or a table of each for a batch, or the
    vectors of all and how many of them each sample has.

    With ``normalize``, values are divided by the largest of their key so far, and a learned number
    of the key is added; the weight has four columns in front: the largest, 1 over it, the scale of
    updates, and that number.
    """

    def __init__(self, inputSize: int, outputSize: int, doGradInput: bool = False,
                 keysOffset: int = 0, weight: Tensor | None = None, bias: Tensor | None = None,
                 normalize: bool = False) -> None:
        Module.__init__(self)
        self.extra, self.doGradInput, self.offset = 4 if normalize else 0, doGradInput, keysOffset
        self.add_parameter("weight", np.zeros((inputSize, outputSize + self.extra)))
        self.add_parameter("bias", np.zeros(outputSize))
        if weight is not None and bias is not None:
            self.weight, self.bias = weight, bias
            self.gradWeight, self.gradBias = (new(np.zeros_like(t.array)) for t in (weight, bias))

    def reset(self, stdv: float | None = None) -> Module:
        """New weights, uniform; biases near 0."""
        bound = 1 / np.sqrt(self.weight.size(2)) if stdv is None else stdv * np.sqrt(3)
        self.weight.uniform(-bound, bound)  # type: ignore[attr-defined]
        self.bias.uniform(-bound * 1e-6, bound * 1e-6)  # type: ignore[union-attr]
        self.weight.array[:, :self.extra] = 0
        return self

    def _flat(self, input: Any) -> tuple[Any, Any, list[int]]:
        """All keys from 0, all values, and how many of them each sample has."""
        keys, values = input[0], input[1]
        if len(input) == 3:
            counts = np.atleast_1d(np.asarray(input[2])).astype(int).tolist()
        elif isinstance(keys, (list, tuple)):
            counts = [len(k) for k in keys]
            keys, values = (np.concatenate([np.asarray(t) for t in ts]) for ts in (keys, values))
        else:
            counts = [len(keys)]
        places = places_of(np.asarray(keys) - self.offset, self.weight.size(1))
        return places, values, counts

    def updateOutput(self, input: Any) -> Any:
        if self.extra and self.train:
            keys, values, _ = self._flat(input)
            table = self.weight.array
            np.maximum.at(table[:, 0], keys, np.abs(np.asarray(values)))
            table[keys, 1], table[keys, 2] = 1 / table[keys, 0], 1
        return super().updateOutput(input)

    def compute(self, x: Any, w: Any, b: Any) -> Any:
        keys, values, counts = self._flat(ag.stop_gradient(x[0]) if isinstance(x, tuple) else x)
        rows = w[keys]
        values = ag.asarray(values)
        if self.extra:
            largest = ag.stop_gradient(rows[:, :2])
            inside = ag.abs(values) <= largest[:, 0]
            values = ag.where(inside, values * largest[:, 1], ag.sign(values)) + rows[:, 3]
        owner = np.repeat(np.arange(len(counts)), counts)
        sums = np.zeros((len(counts), len(owner)), w.dtype)
        sums[owner, range(len(owner))] = 1
        y = ag.asarray(sums) @ (rows[:, self.extra:] * values[:, None].astype(w.dtype)) + b
        return y if len(counts) > 1 or len(x) == 3 or isinstance(x[0], (list, tuple)) else y[0]

    def updateGradInput(self, input: Any, gradOutput: Any) -> Any:
        """Gradients of the values, if the module was made to compute them."""
        if not self.doGradInput:
            return None
        return super().updateGradInput(input, gradOutput)


class PartialLinear(Weighted):
    """:class:`Linear` of which a part of the results, by their numbers from 1, may be computed."""

    def __init__(self, inputsize: int, outputsize: int, bias: bool = True) -> None:
        self._begin((outputsize, inputsize), (1, outputsize) if bias else None, 1)
        if self.bias is not None:
            self.bias.zero()
        self.resetPartition()

    def reset(self, stdv: float | None = None) -> Module:
        """New weights, normally distributed."""
        self.weight.normal(0, 1 if stdv is None else stdv)  # type: ignore[attr-defined]
        return self

    def setPartition(self, indices: Tensor) -> None:
        """Which results are computed."""
        self.partition = indices

    def resetPartition(self) -> None:
        """Compute all results."""
        self.partition = new(np.arange(self.weight.size(1)) + 1)

    def compute(self, x: Any, w: Any, b: Any = None) -> Any:
        rows = places_of(self.partition.array, len(w))
        y = x @ w[rows].T
        return y if b is None else y + b[:, rows]


class LookupTable(Weighted):
    """Rows of the weight, by their numbers from 1.

    Rows at ``paddingValue`` have no gradient; with ``maxNorm``, rows that are used and have a
    longer ``normType``-norm are shortened to it.
    """

    shouldScaleGradByFreq = False

    def __init__(self, nIndex: int, nOutput: int, paddingValue: int = 0,
                 maxNorm: float | None = None, normType: float | None = None) -> None:
        self.paddingValue, self.maxNorm, self.normType = paddingValue, maxNorm, normType
        self._begin((nIndex, nOutput), None, 1)

    def setPadding(self, paddingValue: int) -> LookupTable:
        """The row without a gradient."""
        self.paddingValue = paddingValue
        return self

    def setMaxNorm(self, maxNorm: float) -> LookupTable:
        """The longest that rows may be."""
        self.maxNorm = maxNorm
        return self

    def setNormType(self, normType: float) -> LookupTable:
        """The p of the norm."""
        self.normType = normType
        return self

    def scaleGradByFreq(self) -> LookupTable:
        """Divide gradients of rows by how often the input has them."""
        self.shouldScaleGradByFreq = True
        return self

    def reset(self, stdv: float | None = None) -> Module:
        """New values, normally distributed."""
        self.weight.normal(0, 1 if stdv is None else stdv)  # type: ignore[attr-defined]
        return self

    def updateOutput(self, input: Any) -> Any:
        if self.maxNorm is not None:
            rows = np.unique(input.array.astype(int) - 1)
            norms = np.linalg.norm(self.weight.array[rows], self.normType or 2, 1)
            self.weight.array[rows] *= np.minimum(1, self.maxNorm / (norms + 1e-7))[:, None]
        return super().updateOutput(input)

    def compute(self, x: Any, w: Any) -> Any:
        return w[places_of(ag.stop_gradient(x), len(w))]

    def accGradParameters(self, input: Any, gradOutput: Any, scale: float = 1) -> None:
        rows = input.array.astype(int).reshape(-1) - 1
        share = np.full(len(rows), float(scale))
        if self.shouldScaleGradByFreq:
            share /= np.bincount(rows)[rows]
        share[rows == self.paddingValue - 1] = 0
        table = self.gradWeight.array
        np.add.at(table, rows, share[:, None] * gradOutput.array.reshape(len(rows), -1))

    def accUpdateGradParameters(self, input: Any, gradOutput: Any, lr: float) -> None:
        kept, self.gradWeight = self.gradWeight, self.weight
        self.accGradParameters(input, gradOutput, -lr)
        self.gradWeight = kept


class Kmeans(Module):
    """The number, from 1, of the centre that is nearest to each row; gradients move centres to the
    means of their rows."""

    weights = ("weight",)
    weight: Tensor
    gradWeight: Tensor

    def __init__(self, k: int, dim: int, scale: float | None = None) -> None:
        super().__init__()
        if k < 1 or dim < 1:
            raise ValueError(f"Kmeans({k}, {dim}) needs at least one centre and one feature")
        self.k, self.dim, self.scale, self.loss = k, dim, scale, 0.0
        self.add_parameter("weight", np.zeros((k, dim)))
        self.reset()

    def reset(self, stdv: float | None = None) -> Module:
        """New centres, uniform."""
        bound = 1 if stdv is None else stdv
        self.weight.uniform(-bound, bound)  # type: ignore[attr-defined]
        return self

    def initRandom(self, input: Tensor) -> None:
        """Rows of the input as centres."""
        self.weight.array[...] = input.array[RANDOM[0].integers(len(input.array), size=self.k)]

    def initKmeansPlus(self, input: Tensor, p: float = 0.95) -> None:
        """Rows of the input as centres, each of the ``1 - p`` of them farthest from earlier ones.
        """
        rows = input.array
        few = max(int(np.ceil((1 - p) * len(rows))), 1)
        centres = self.weight.array
        centres[0] = rows[RANDOM[0].integers(len(rows))]
        nearest = np.full(len(rows), np.inf)
        for k in range(1, self.k):
            nearest = np.minimum(nearest, ((rows - centres[k - 1]) ** 2).sum(1))
            centres[k] = rows[np.argsort(-nearest)[RANDOM[0].integers(few)]]

    def updateOutput(self, input: Any) -> Any:
        distances = ((input.array[:, None] - self.weight.array) ** 2).sum(-1)
        self.nearest = distances.argmin(1)
        self.loss = float(distances.min(1).sum())
        self.output = written(self.output, (self.nearest + 1).astype(float))
        return self.output

    def updateGradInput(self, input: Any, gradOutput: Any) -> Any:
        self.gradInput = written(self.gradInput, np.zeros_like(input.array))
        return self.gradInput

    def accGradParameters(self, input: Any, gradOutput: Any, scale: float = 1) -> None:
        moves = np.zeros_like(self.weight.array)
        np.add.at(moves, self.nearest, input.array - self.weight.array[self.nearest])
        counts = np.bincount(self.nearest, minlength=self.k)
        self.gradWeight.array[...] -= (self.scale or scale) * moves / np.maximum(counts, 1)[:, None]
