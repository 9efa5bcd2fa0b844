"""Gradient descent for functions of nests, step by step, which can itself be differentiated."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import agnesi.compat.autograd.numpy as np
from agnesi.compat.autograd.misc.flatten import flatten
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.errors import ShapeError, at, call_user, typed

Function = Callable[..., Any]


def unflatten_optimizer(optimize: Function) -> Function:
    """An optimizer of vectors as one of nests."""
    @functools.wraps(optimize)
    def of_nests(grad: Function, x0: Any, callback: Any = None, *args: Any, **keywords: Any) -> Any:
        start, unflatten = flatten(x0)

        def gradient(x: Any, i: int) -> Any:
            slope = call_user(grad, (unflatten(x), i), {}, "grad", "grad(x, i)")
            found = flatten(slope)[0]
            if len(found) != len(start):
                raise ShapeError(at(f"{optimize.__name__}: grad(x, i) must give {len(start)} "
                                    f"numbers, as x has, not {len(found)}: {typed(slope)}"))
            return found

        def report(x: Any, i: int, g: Any) -> Any:
            form = "callback(x, i, g)"
            return call_user(callback, (unflatten(x), i, unflatten(g)), {}, "callback", form)

        return unflatten(optimize(gradient, start, report if callback else None, *args, **keywords))

    return of_nests


@unflatten_optimizer
def sgd(grad: Function, x: Any, callback: Any = None, num_iters: int = 200,
        step_size: float = 0.1, mass: float = 0.9) -> Any:
    """Descent with momentum along ``grad(x, i)``, for a number of steps."""
    velocity = np.zeros(len(x))
    for i in range(num_iters):
        g = grad(x, i)
        if callback:
            callback(x, i, g)
        velocity = mass * velocity - (1.0 - mass) * g
        x = x + step_size * velocity
    return x


@unflatten_optimizer
def rmsprop(grad: Function, x: Any, callback: Any = None, num_iters: int = 100,
            step_size: float = 0.1, gamma: float = 0.9, eps: float = 1e-8) -> Any:
    """Descent along ``grad(x, i)`` over the root of its mean square, for a number of steps."""
    square = np.ones(len(x))
    for i in range(num_iters):
        g = grad(x, i)
        if callback:
            callback(x, i, g)
        square = gamma * square + (1 - gamma) * g**2
        x = x - step_size * g / (np.sqrt(square) + eps)
    return x


@unflatten_optimizer
def adam(grad: Function, x: Any, callback: Any = None, num_iters: int = 100,
         step_size: float = 0.001, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> Any:
    """Descent by Adam (Kingma and Ba, 2014) along ``grad(x, i)``, for a number of steps."""
    mean, square = np.zeros(len(x)), np.zeros(len(x))
    for i in range(num_iters):
        g = grad(x, i)
        if callback:
            callback(x, i, g)
        mean = b1 * mean + (1 - b1) * g
        square = b2 * square + (1 - b2) * g**2
        rate = step_size / (1 - b1 ** (i + 1))
        x = x - rate * mean / (np.sqrt(square / (1 - b2 ** (i + 1))) + eps)
    return x


_strictly(__name__)
