"""Modules that hand values on, with gradients of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

import agnesi as ag
from agnesi.compat.torch7.maths import Tensor, new
from agnesi.compat.torch7.nn.module import Module, written
from agnesi.compat.torch7.nn.transfer import With
from agnesi.core.support import tree

__all__ = ["Constant", "GradientReversal", "L1Penalty", "OneHot", "PrintSize", "ZeroGrad"]


def _zeros(x: Any) -> Any:
    return tree.map_leaves(lambda t: np.zeros_like(t.array), x)


class Constant(Module):
    """A tensor or number whatever the input is, for each of a batch of samples."""

    def __init__(self, value: Any, nInputDim: int | None = None) -> None:
        super().__init__()
        self.value = value if isinstance(value, Tensor) else new([value], "float64")
        self.nInputDim = nInputDim

    def compute(self, x: Any) -> Any:
        value = ag.asarray(self.value.array, dtype=x.dtype)
        many = self.nInputDim is not None and x.ndim > self.nInputDim
        return ag.broadcast_to(value, (x.shape[0], *value.shape)) if many else value * 1

    def updateGradInput(self, input: Any, gradOutput: Any) -> Any:
        self.gradInput = written(self.gradInput, _zeros(input))
        return self.gradInput


class OneHot(Module):
    """Ones at numbers, from 1, along a new last axis."""

    def __init__(self, outputSize: int) -> None:
        super().__init__()
        self.outputSize = outputSize

    def updateOutput(self, input: Any) -> Any:
        numbers = np.atleast_1d(input.array if isinstance(input, Tensor) else input).astype(int)
        if numbers.size and not 1 <= numbers.min() <= numbers.max() <= self.outputSize:
            raise IndexError(f"OneHot({self.outputSize}) got numbers from {numbers.min()} to "
                             f"{numbers.max()}")
        self.output = written(self.output, np.eye(self.outputSize)[numbers - 1])
        return self.output

    def updateGradInput(self, input: Any, gradOutput: Any) -> Any:
        self.gradInput = written(self.gradInput, _zeros(input))
        return self.gradInput


class ZeroGrad(Module):
    """The input, whose gradient is zero."""

    def updateOutput(self, input: Any) -> Any:
        self.output = input
        return input

    def updateGradInput(self, input: Any, gradOutput: Any) -> Any:
        self.gradInput = written(self.gradInput, _zeros(input))
        return self.gradInput


class GradientReversal(ZeroGrad):
    """The input, whose gradient is that of the output times a negative number."""

    def __init__(self, lambda_: float = 1) -> None:
        super().__init__()
        self.factor = lambda_

    def setLambda(self, lambda_: float) -> None:
        """Set the factor of the gradient."""
        self.factor = lambda_

    def updateGradInput(self, input: Any, gradOutput: Any) -> Any:
        self.gradInput = written(self.gradInput, tree.map_leaves(
            lambda t: -self.factor * t.array, gradOutput))
        return self.gradInput


class L1Penalty(With):
    """The input, whose gradient also has that of ``l1weight`` times its 1-norm, which is ``loss``.
    """

    names, defaults = ("l1weight", "sizeAverage", "provideOutput"), (1, False, True)

    def _scale(self, input: Any) -> float:
        return float(self.l1weight / (input.nElement() if self.sizeAverage else 1))

    def updateOutput(self, input: Any) -> Any:
        self.loss = self._scale(input) * float(np.abs(input.array).sum())
        self.output = input
        return input

    def updateGradInput(self, input: Any, gradOutput: Any) -> Any:
        found = self._scale(input) * np.sign(input.array)
        self.gradInput = written(self.gradInput,
                                 found + gradOutput.array if self.provideOutput else found)
        return self.gradInput


class PrintSize(ZeroGrad):
    """The input and its gradient, whose sizes are printed."""

    def __init__(self, prefix: str = "PrintSize") -> None:
        super().__init__()
        self.prefix = prefix

    def _print_sizes(self, what: str, x: Any) -> None:
        sizes = tree.map_leaves(lambda t: "x".join(map(str, t.size())), x)
        print(f"{self.prefix}:{what} {sizes}")

    def updateOutput(self, input: Any) -> Any:
        self._print_sizes("input", input)
        return super().updateOutput(input)

    def updateGradInput(self, input: Any, gradOutput: Any) -> Any:
        self._print_sizes("gradOutput", gradOutput)
        self.gradInput = gradOutput
        return gradOutput
