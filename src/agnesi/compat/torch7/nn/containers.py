"""Modules of modules."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.compat.torch7.maths import Tensor, new
from agnesi.compat.torch7.nn.module import Module, written
from agnesi.compat.torch7.tensor import axis_of
from agnesi.core.support.errors import at, typed

__all__ = ["Concat", "ConcatTable", "Container", "Parallel", "ParallelTable", "Sequential"]


class Container(Module):
    """Base of modules that hold others, numbered from 1."""

    def __init__(self) -> None:
        super().__init__()
        self.modules: list[Any] = []

    def children(self) -> list[Any]:
        return self.modules

    def add(self, module: Any) -> Any:
        """One more module."""
        if not hasattr(module, "updateOutput") or isinstance(module, type):
            raise TypeError(f"module must be a module of nn, not {typed(module)}")
        self.modules.append(module)
        return self

    def get(self, index: int) -> Any:
        """The module of a number; negative ones count from the end."""
        if not 1 <= abs(index) <= len(self.modules):
            raise IndexError(at(f"{type(self).__name__}.get: there are {len(self.modules)} "
                                f"modules, counted from 1, and no {index}"))
        return self.modules[index - 1 if index > 0 else index]

    def insert(self, module: Any, index: int | None = None) -> None:
        """A module before that of a number."""
        if index is not None and not 1 <= index <= len(self.modules) + 1:
            raise IndexError(f"there are {len(self.modules)} modules, counted from 1, and no place "
                             f"{index}")
        self.modules.insert(len(self.modules) if index is None else index - 1, module)

    def remove(self, index: int | None = None) -> None:
        """Take a module out, the last one by default."""
        if not self.modules or (index is not None and not 1 <= index <= len(self.modules)):
            raise IndexError(f"there are {len(self.modules)} modules, counted from 1, and no "
                             f"{'last one' if index is None else index}")
        self.modules.pop(-1 if index is None else index - 1)

    def size(self) -> int:
        """How many modules there are."""
        return len(self.modules)

    def __repr__(self) -> str:
        inner = "\n".join(f"  ({i}): {m!r}".replace("\n", "\n  ")
                          for i, m in enumerate(self.modules, 1))
        return f"nn.{type(self).__name__} {{\n{inner}\n}}"


class Sequential(Container):
    """One module after the other.

    Examples
    --------
    >>> from agnesi.compat import torch7 as torch
    >>> from agnesi.compat.torch7 import nn
    >>> mlp = nn.Sequential().add(nn.Linear(4, 3)).add(nn.Tanh())
    >>> y = mlp.forward(torch.ones(2, 4))
    >>> list(y.size()), mlp.getParameters()[0].nElement()
    ([2, 3], 15)
    """

    def updateOutput(self, input: Any) -> Any:
        for m in self.modules:
            input = m.updateOutput(input)
        self.output = input
        return input

    def _steps(self, input: Any, gradOutput: Any) -> list[tuple[Any, Any, Any]]:
        """Each module with its input and the gradient of its output, from the last one on."""
        inputs = [input, *(m.output for m in self.modules[:-1])]
        found = []
        for m, x in zip(reversed(self.modules), reversed(inputs), strict=True):
            found.append((m, x, gradOutput))
            gradOutput = m.gradInput
        return found

    def updateGradInput(self, input: Any, gradOutput: Any) -> Any:
        inputs = [input, *(m.output for m in self.modules[:-1])]
        for m, x in zip(reversed(self.modules), reversed(inputs), strict=True):
            gradOutput = m.updateGradInput(x, gradOutput)
        self.gradInput = gradOutput
        return gradOutput

    def accGradParameters(self, input: Any, gradOutput: Any, scale: float = 1) -> None:
        for m, x, g in self._steps(input, gradOutput):
            m.accGradParameters(x, g, scale)

    def accUpdateGradParameters(self, input: Any, gradOutput: Any, lr: float) -> None:
        for m, x, g in self._steps(input, gradOutput):
            m.accUpdateGradParameters(x, g, lr)


class _Branches(Container):
    """Modules side by side: what each gets of the input and of the gradient of the output."""

    def _inputs(self, input: Any) -> list[Any]:
        return [input] * len(self.modules)

    def _parts(self, gradOutput: Any) -> list[Any]:
        return list(gradOutput)

    def _joined(self, outputs: list[Any]) -> Any:
        return outputs

    def _merged(self, grads: list[Any], input: Any) -> Any:
        total = grads[0]
        for g in grads[1:]:
            total = _sum(total, g)
        return total

    def updateOutput(self, input: Any) -> Any:
        found = [m.updateOutput(x) for m, x in zip(self.modules, self._inputs(input), strict=True)]
        self.output = self._joined(found)
        return self.output

    def updateGradInput(self, input: Any, gradOutput: Any) -> Any:
        grads = [m.updateGradInput(x, g) for m, x, g in zip(
            self.modules, self._inputs(input), self._parts(gradOutput), strict=True)]
        self.gradInput = written(self.gradInput, _plain(self._merged(grads, input)))
        return self.gradInput

    def accGradParameters(self, input: Any, gradOutput: Any, scale: float = 1) -> None:
        for m, x, g in zip(self.modules, self._inputs(input), self._parts(gradOutput),
                           strict=True):
            m.accGradParameters(x, g, scale)

    def accUpdateGradParameters(self, input: Any, gradOutput: Any, lr: float) -> None:
        for m, x, g in zip(self.modules, self._inputs(input), self._parts(gradOutput),
                           strict=True):
            m.accUpdateGradParameters(x, g, lr)


def _plain(x: Any) -> Any:
    return [_plain(v) for v in x] if isinstance(x, list) else x.array


def _sum(a: Any, b: Any) -> Any:
    return [_sum(x, y) for x, y in zip(a, b, strict=True)] if isinstance(a, list) else new(
        a.array + b.array)


class ConcatTable(_Branches):
    """Each module on the input; the results are a table."""


class ParallelTable(_Branches):
    """Each module on its entry of a table; the results are a table."""

    _table = True

    def _inputs(self, input: Any) -> list[Any]:
        if len(input) != len(self.modules):
            raise ValueError(f"the table has {len(input)} entries for {len(self.modules)} modules")
        return list(input)

    def _merged(self, grads: list[Any], input: Any) -> Any:
        return grads


class Concat(_Branches):
    """Each module on the input; the results are concatenated along an axis."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.dimension = dimension

    def _joined(self, outputs: list[Any]) -> Any:
        axis = axis_of(self.dimension, outputs[0].dim())
        return written(self.output, np.concatenate([y.array for y in outputs], axis))

    def _parts(self, gradOutput: Any) -> list[Any]:
        found, at = [], 1
        for m in self.modules:
            n = m.output.size(self.dimension)
            found.append(gradOutput.narrow(self.dimension, at, n).contiguous())
            at += n
        return found


class Parallel(Concat):
    """Each module on its slice of the input; the results are concatenated along an axis."""

    def __init__(self, inputDimension: int, outputDimension: int) -> None:
        super().__init__(outputDimension)
        self.inputDimension = inputDimension

    def _inputs(self, input: Any) -> list[Any]:
        return [input.select(self.inputDimension, i + 1).contiguous()
                for i in range(len(self.modules))]

    def _merged(self, grads: list[Any], input: Any) -> Tensor:
        return new(np.stack([g.array for g in grads], self.inputDimension - 1))
