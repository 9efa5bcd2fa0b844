"""Diagonals of Hessians, back through modules, without their curvature (as LeCun's networks use).

A module that is ``y = f(x)`` hands back ``sum_j (dy_j/dx_i)**2 h_j``; for linear ones, these are
the sums with squared weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.compat.torch7.maths import Tensor, new
from agnesi.compat.torch7.nn.containers import Sequential
from agnesi.compat.torch7.nn.criterions import Criterion, MSECriterion
from agnesi.compat.torch7.nn.jacobian import Jacobian
from agnesi.compat.torch7.nn.module import Module

__all__ = ["hessian"]


def _squares(module: Module, input: Any, h: Any, param: Any = None, dparam: Any = None) -> Any:
    rows = Jacobian.backward(module, input, param, dparam).array
    wanted = input if param is None else param
    return new((rows**2 @ h.array.reshape(-1)).reshape(wanted.array.shape))


def _input(self: Any, input: Any, diagHessianOutput: Any) -> Any:
    """The diagonal Hessian of the input, which stays in ``diagHessianInput``."""
    kept = [g.clone() for g in self.parameters()[1]]
    self.diagHessianInput = _squares(self, input, diagHessianOutput)
    _restore(self, kept)
    return self.diagHessianInput


def _parameters(self: Any, input: Any, diagHessianOutput: Any, scale: float = 1) -> None:
    """Add ``scale`` times the diagonal Hessians of parameters to ``diagHessianWeight`` and kin."""
    kept = [g.clone() for g in self.parameters()[1]]
    for name in self.weights:
        param = getattr(self, name, None)
        if param is not None:
            title = f"{name[0].upper()}{name[1:]}"
            found = _squares(self, input, diagHessianOutput, param, getattr(self, f"grad{title}"))
            getattr(self, f"diagHessian{title}").array[...] += scale * found.array
    _restore(self, kept)


def _restore(module: Any, kept: list[Tensor]) -> None:
    for g, old in zip(module.parameters()[1], kept, strict=True):
        g.copy(old)


def _chain_input(self: Any, input: Any, diagHessianOutput: Any) -> Any:
    inputs = [input, *(m.output for m in self.modules[:-1])]
    for m, x in zip(reversed(self.modules), reversed(inputs), strict=True):
        diagHessianOutput = m.updateDiagHessianInput(x, diagHessianOutput)
    self.diagHessianInput = diagHessianOutput
    return diagHessianOutput


def _chain_parameters(self: Any, input: Any, diagHessianOutput: Any, scale: float = 1) -> None:
    inputs = [input, *(m.output for m in self.modules[:-1])]
    for m, x in zip(reversed(self.modules), reversed(inputs), strict=True):
        m.accDiagHessianParameters(x, diagHessianOutput, scale)
        diagHessianOutput = m.diagHessianInput


def _backward(self: Any, input: Any, diagHessianOutput: Any, scale: float = 1) -> Any:
    """Both: the diagonal Hessian of the input, and those of parameters."""
    found = self.updateDiagHessianInput(input, diagHessianOutput)
    self.accDiagHessianParameters(input, diagHessianOutput, scale)
    return found


def _begin(self: Any) -> None:
    """Give each parameter a tensor for its diagonal Hessian."""
    for m in self.walk():
        for name in m.weights:
            param = getattr(m, name, None)
            if param is not None:
                setattr(m, f"diagHessian{name[0].upper()}{name[1:]}",
                        new(np.zeros(param.array.shape)))


def _of_loss(self: Criterion, input: Any, target: Any) -> Any:
    """Second derivatives of the loss by each element of the input, by differences of gradients."""
    if isinstance(self, MSECriterion):
        self.diagHessianInput = new(np.full(
            input.array.shape, 2 / input.nElement() if self.sizeAverage else 2.0))
        return self.diagHessianInput
    found, memory = np.zeros(input.array.shape), input.array
    for at in np.ndindex(memory.shape):
        kept, slopes = memory[at], []
        for step in (1e-5, -1e-5):
            memory[at] = kept + step
            slopes.append(self.updateGradInput(input, target).array[at])
        memory[at] = kept
        found[at] = (slopes[0] - slopes[1]) / 2e-5
    self.diagHessianInput = new(found)
    return self.diagHessianInput


class hessian:  # noqa: N801 - Torch7's name
    """``nn.hessian.enable()`` gives modules their diagonal Hessians."""

    @staticmethod
    def enable() -> None:
        """Give modules ``initDiagHessianParameters``, ``backwardUpdateDiagHessian`` and kin."""
        for owner, table in (
                (Module, {"updateDiagHessianInput": _input, "initDiagHessianParameters": _begin,
                          "accDiagHessianParameters": _parameters,
                          "backwardDiagHessian": _backward}),
                (Sequential, {"updateDiagHessianInput": _chain_input,
                              "accDiagHessianParameters": _chain_parameters}),
                (Criterion, {"updateDiagHessianInput": _of_loss})):
            for name, function in table.items():
                setattr(owner, name, function)

