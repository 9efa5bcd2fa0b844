"""Optimizers, with Chainer's names and defaults; each changes arrays in place."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from agnesi.compat.chainer.optimizer import Optimizer
from agnesi.core.keywords import strictly as _strictly


class SGD(Optimizer):
    """Steps along the gradient."""

    def __init__(self, lr: float = 0.01) -> None:
        self.lr = lr

    def update_one_cpu(self, param: Any, grad: Any, state: Any) -> None:
        param -= self.lr * grad


class _WithOne(Optimizer):
    """An optimizer that remembers one array for each parameter."""

    def init_state_cpu(self, param: Any, grad: Any) -> Any:
        return np.zeros_like(param)


class _WithTwo(Optimizer):
    """An optimizer that remembers two arrays for each parameter."""

    def init_state_cpu(self, param: Any, grad: Any) -> Any:
        return np.zeros_like(param), np.zeros_like(param)


class MomentumSGD(_WithOne):
    """Gradients are forces on what moves with friction."""

    def __init__(self, lr: float = 0.01, momentum: float = 0.9) -> None:
        self.lr, self.momentum = lr, momentum

    def update_one_cpu(self, param: Any, grad: Any, state: Any) -> None:
        state *= self.momentum
        state -= self.lr * grad
        param += state


class NesterovAG(MomentumSGD):
    """Momentum that looks ahead."""

    def update_one_cpu(self, param: Any, grad: Any, state: Any) -> None:
        state *= self.momentum
        state -= self.lr * grad
        param += self.momentum * state - self.lr * grad


class AdaGrad(_WithOne):
    """Steps over the root of the sum of squares (Duchi et al., 2011)."""

    def __init__(self, lr: float = 0.001, eps: float = 1e-8) -> None:
        self.lr, self.eps = lr, eps

    def update_one_cpu(self, param: Any, grad: Any, state: Any) -> None:
        state += grad * grad
        param -= self.lr * grad / (np.sqrt(state) + self.eps)


class AdaDelta(_WithTwo):
    """Steps in the units of parameters (Zeiler, 2012)."""

    def __init__(self, rho: float = 0.95, eps: float = 1e-6) -> None:
        self.rho, self.eps = rho, eps

    def update_one_cpu(self, param: Any, grad: Any, state: Any) -> None:
        square, moved = state
        square += (1 - self.rho) * (grad * grad - square)
        step = np.sqrt((moved + self.eps) / (square + self.eps)) * grad
        moved += (1 - self.rho) * (step * step - moved)
        param -= step


class Adam(_WithTwo):
    """Moments of gradients, without the bias of their beginning (Kingma and Ba, 2014)."""

    def __init__(self, alpha: float = 0.001, beta1: float = 0.9, beta2: float = 0.999,
                 eps: float = 1e-8, lam: float = 1.0) -> None:
        self.alpha, self.beta1, self.beta2, self.eps, self.lam = alpha, beta1, beta2, eps, lam

    @property
    def lr(self) -> float:
        """The length of a step at ``t``."""
        return self.alpha * math.sqrt(1 - self.beta2**self.t) / (1 - self.beta1**self.t)

    def update_one_cpu(self, param: Any, grad: Any, state: Any) -> None:
        mean, square = state
        mean += (1 - self.beta1 * self.lam ** (self.t - 1)) * (grad - mean)
        square += (1 - self.beta2) * (grad * grad - square)
        param -= self.lr * mean / (np.sqrt(square) + self.eps)


class RMSprop(_WithOne):
    """Steps over the root of a running mean of squares."""

    def __init__(self, lr: float = 0.01, alpha: float = 0.99, eps: float = 1e-8) -> None:
        self.lr, self.alpha, self.eps = lr, alpha, eps

    def update_one_cpu(self, param: Any, grad: Any, state: Any) -> None:
        state += (1 - self.alpha) * (grad * grad - state)
        param -= self.lr * grad / (np.sqrt(state) + self.eps)


class RMSpropGraves(Optimizer):
    """RMSprop with momentum and centred squares (Graves, 2013)."""

    def __init__(self, lr: float = 1e-4, alpha: float = 0.95, momentum: float = 0.9,
                 eps: float = 1e-4) -> None:
        self.lr, self.alpha, self.momentum, self.eps = lr, alpha, momentum, eps

    def init_state_cpu(self, param: Any, grad: Any) -> Any:
        return tuple(np.zeros_like(param) for _ in range(3))

    def update_one_cpu(self, param: Any, grad: Any, state: Any) -> None:
        square, mean, step = state
        square += (1 - self.alpha) * (grad * grad - square)
        mean += (1 - self.alpha) * (grad - mean)
        step *= self.momentum
        step -= self.lr * grad / np.sqrt(square - mean * mean + self.eps)
        param += step


class SMORMS3(Optimizer):
    """Steps as long as gradients agree (Funk, 2015)."""

    def __init__(self, lr: float = 0.001, eps: float = 1e-16) -> None:
        self.lr, self.eps = lr, eps

    def init_state_cpu(self, param: Any, grad: Any) -> Any:
        return np.ones_like(param), np.zeros_like(param), np.zeros_like(param)

    def update_one_cpu(self, param: Any, grad: Any, state: Any) -> None:
        memory, mean, square = state
        r = 1 / (memory + 1)
        mean += r * (grad - mean)
        square += r * (grad * grad - square)
        agreed = mean * mean / (square + self.eps)
        param -= grad * np.minimum(agreed, self.lr) / (np.sqrt(square) + self.eps)
        memory *= 1 - agreed
        memory += 1

_strictly(__name__)
