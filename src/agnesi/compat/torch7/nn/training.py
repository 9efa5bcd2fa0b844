"""Training by one sample at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.compat.torch7.maths import RANDOM

__all__ = ["StochasticGradient"]


class StochasticGradient:
    """Descends along the gradient of each sample of a data set.

    Parameters
    ----------
    module, criterion
        What is trained, and its loss.

    Attributes
    ----------
    learningRate, learningRateDecay : float
    maxIteration : int
        How often all samples are used; 0 never ends.
    shuffleIndices, verbose : bool
    hookExample, hookIteration : callable, optional
        Called as ``hookExample(self, sample)`` and ``hookIteration(self, number, error)``.

    Examples
    --------
    >>> from agnesi.compat import torch7 as torch
    >>> from agnesi.compat.torch7 import nn
    >>> samples = [(x := torch.randn(2), torch.Tensor([x[1] - x[2]])) for _ in range(20)]
    >>> trainer = nn.StochasticGradient(nn.Linear(2, 1), nn.MSECriterion())
    >>> trainer.learningRate, trainer.verbose = 0.1, False
    >>> trainer.train(samples) < 1e-3
    True
    """

    def __init__(self, module: Any, criterion: Any) -> None:
        self.module, self.criterion = module, criterion
        self.learningRate, self.learningRateDecay, self.maxIteration = 0.01, 0.0, 25
        self.shuffleIndices = self.verbose = True
        self.hookExample: Callable[[Any, Any], Any] | None = None
        self.hookIteration: Callable[[Any, int, float], Any] | None = None

    def train(self, dataset: Any) -> float:
        """Go through samples ``(input, target)`` until it is enough; returns the last mean loss.

        ``dataset`` is a sequence, or has ``size()`` and indices from 1 as Torch7's do.
        """
        counted = hasattr(dataset, "size")
        count = dataset.size() if counted else len(dataset)
        order = np.arange(count)
        if self.shuffleIndices:
            order = RANDOM[0].permutation(count)
        iteration, rate = 1, self.learningRate
        while True:
            error = sum(self._step(dataset[int(i) + counted], rate) for i in order) / count
            if self.hookIteration:
                self.hookIteration(self, iteration, error)
            if self.verbose:
                print(f"# current error = {error:g}")
            iteration += 1
            rate = self.learningRate / (1 + iteration * self.learningRateDecay)
            if 0 < self.maxIteration < iteration:
                return error

    def _step(self, sample: Any, rate: float) -> float:
        x, target = sample
        error: float = self.criterion.forward(self.module.forward(x), target)
        g = self.criterion.updateGradInput(self.module.output, target)
        self.module.updateGradInput(x, g)
        self.module.accUpdateGradParameters(x, g, rate)
        if self.hookExample:
            self.hookExample(self, sample)
        return error
