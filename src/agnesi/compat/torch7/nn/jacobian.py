"""``nn.Jacobian``: derivatives of modules against differences."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.compat.torch7.maths import Tensor, new

__all__ = ["Jacobian", "SparseJacobian"]


class Jacobian:
    """Checks of modules; each returns the largest error.

    Examples
    --------
    >>> from agnesi.compat import torch7 as torch
    >>> from agnesi.compat.torch7 import nn
    >>> bool(nn.Jacobian.testJacobian(nn.Tanh(), torch.Tensor(2, 3)) < 1e-6)
    True
    """

    @staticmethod
    def backward(module: Any, input: Any, param: Any = None, dparam: Any = None) -> Any:
        """The Jacobian by the module's own rules: rows are elements of the input or of ``param``,
        columns those of the output."""
        y = module.forward(input)
        wanted = input if param is None else param
        found = np.zeros((wanted.nElement(), y.nElement()))
        for k in range(y.nElement()):
            g = new(np.zeros(y.array.shape))
            g.array.reshape(-1)[k] = 1
            if dparam is not None:
                module.zeroGradParameters()
            gx = module.updateGradInput(input, g)
            module.accGradParameters(input, g)
            found[:, k] = (gx if dparam is None else dparam).array.reshape(-1)
        return new(found)

    @staticmethod
    def forward(module: Any, input: Any, param: Any = None, perturbation: float = 1e-6,
                run: Callable[[Any], Any] | None = None) -> Any:
        """The Jacobian by differences of ``run(input)``, by default the module's results."""
        wanted = input if param is None else param
        run = run or module.forward
        memory = wanted.array
        rows = []
        for at in np.ndindex(memory.shape):
            kept = memory[at]
            memory[at] = kept + perturbation
            above = run(input).array.copy()
            memory[at] = kept - perturbation
            below = run(input).array.copy()
            memory[at] = kept
            rows.append(((above - below) / (2 * perturbation)).reshape(-1))
        return new(np.stack(rows))

    @staticmethod
    def testJacobian(module: Any, input: Any, minval: float = -2, maxval: float = 2,
                     perturbation: float = 1e-6) -> float:
        """Fill the input with random numbers and compare its Jacobians."""
        input.uniform(minval, maxval)
        return _error(Jacobian.forward(module, input, None, perturbation),
                      Jacobian.backward(module, input))

    @staticmethod
    def testJacobianParameters(module: Any, input: Any, param: Any, dparam: Any,
                               minval: float = -2, maxval: float = 2,
                               perturbation: float = 1e-6) -> float:
        """The same for a parameter."""
        input.uniform(minval, maxval)
        param.uniform(minval, maxval)
        return _error(Jacobian.forward(module, input, param, perturbation),
                      Jacobian.backward(module, input, param, dparam))

    @staticmethod
    def testJacobianUpdateParameters(module: Any, input: Any, param: Any, minval: float = -2,
                                     maxval: float = 2, perturbation: float = 1e-6) -> float:
        """The same of what ``accUpdateGradParameters`` makes of the parameter in a step of 1."""
        input.uniform(minval, maxval)
        param.uniform(minval, maxval)
        start = param.array.copy()
        updated = start.reshape(-1, 1) - Jacobian.forward(module, input, param, perturbation).array
        params = module.parameters()[0]
        kept = [p.array.copy() for p in params]
        for k in range(updated.shape[1]):
            g = new(np.zeros(module.forward(input).array.shape))
            g.array.reshape(-1)[k] = 1
            module.updateGradInput(input, g)
            module.accUpdateGradParameters(input, g, 1)
            updated[:, k] -= param.array.reshape(-1)
            for p, old in zip(params, kept, strict=True):
                p.array[...] = old
        return float(np.abs(updated).max(initial=0))

    @staticmethod
    def testAllUpdate(module: Any, input: Any, weight: str, gradWeight: str) -> dict[str, float]:
        """Errors of the ways to update a parameter, whose attributes are named, shared or not."""
        lr = float(np.random.uniform(0.1, 1))
        start = getattr(module, weight).array.copy()
        one = module.clone()
        g = new(np.random.random(one.forward(input).array.shape))

        def stepped(modules: list[Any], at_once: bool) -> None:
            for m in modules:
                m.forward(input)
                m.zeroGradParameters()
            for m in modules:
                m.updateGradInput(input, g)
                if at_once:
                    m.accUpdateGradParameters(input, g, lr)
                else:
                    m.accGradParameters(input, g)
            for m in [] if at_once else modules:
                m.updateParameters(lr)

        stepped([one], False)
        step = lr * getattr(one, gradWeight).array
        errors = {"accGradParameters": _distance(one, weight, start - step)}
        direct = module.clone()
        stepped([direct], True)
        errors["accUpdateGradParameters"] = _distance(direct, weight, start - step)
        for name in list(errors):
            first, second = module.clone(), module.clone()
            second.share(first, weight)
            stepped([first, second], "Update" in name)
            errors[f"{name} [shared]"] = sum(_distance(m, weight, start - 2 * step)
                                             for m in (first, second))
        return errors

    @staticmethod
    def testDiagHessian(module: Any, input: Any, hessian: Callable[..., Any]) -> float:
        """Compare a diagonal Hessian of the input with squares of the Jacobian."""
        y = module.forward(input)
        weights = new(np.ones(y.array.shape))
        squares = Jacobian.backward(module, input).array ** 2
        return _error(new(squares.sum(1)), new(hessian(input, weights).array.reshape(-1)))

    @staticmethod
    def testIO(module: Any, input: Any, minval: float = -2, maxval: float = 2
               ) -> tuple[float, float]:
        """How far a copy's output and gradient are, of random gradients of the output."""
        y = module.forward(input).clone()
        gy = new(np.random.uniform(minval, maxval, y.array.shape))
        g = module.backward(input, gy).clone()
        other = copy.deepcopy(module)
        return _error(y, other.forward(input)), _error(g, other.backward(input, gy))


def _distance(module: Any, name: str, expected: np.ndarray) -> float:
    return float(np.linalg.norm(getattr(module, name).array - expected))


class SparseJacobian:
    """Checks of modules whose input is rows (place, value): derivatives are those of the values."""

    @staticmethod
    def backward(module: Any, input: Any, param: Any = None, dparam: Any = None) -> Any:
        """The Jacobian by the module's own rules."""
        found = Jacobian.backward(module, input, param, dparam)
        return found if param is not None else new(found.array[1::2])

    @staticmethod
    def forward(module: Any, input: Any, param: Any = None) -> Any:
        """The Jacobian by differences."""
        return Jacobian.forward(module, input.select(2, 2) if param is None else input, param,
                                run=lambda _: module.forward(input))

    @staticmethod
    def testJacobian(module: Any, input: Any, minval: float = -2, maxval: float = 2) -> float:
        """Fill the values with random numbers and compare their Jacobians."""
        input.select(2, 2).uniform(minval, maxval)
        return _error(SparseJacobian.forward(module, input), SparseJacobian.backward(module, input))

    @staticmethod
    def testJacobianParameters(module: Any, input: Any, param: Any, dparam: Any,
                               minval: float = -2, maxval: float = 2) -> float:
        """The same for a parameter."""
        input.select(2, 2).uniform(minval, maxval)
        param.uniform(minval, maxval)
        return _error(SparseJacobian.forward(module, input, param),
                      SparseJacobian.backward(module, input, param, dparam))


def _error(a: Tensor, b: Tensor) -> float:
    return float(np.abs(a.array - b.array).max())
