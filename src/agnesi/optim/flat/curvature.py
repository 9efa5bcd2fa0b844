"""Minimisers that solve for the step: Levenberg-Marquardt and Hessian-free Newton."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import public
from agnesi.optim.flat.descent import Line, Optimum
from agnesi.optim.flat.search import Feval, pair

#: Where damping ends: steps are too short to change anything then.
_MAX_DAMPING = 1e12


@public
def levenberg_marquardt(residuals: Callable[[np.ndarray], tuple[Any, Any]], x: TensorLike,
                        max_iter: int = 100, tolerance_grad: float = 1e-10,
                        damping: float = 1e-3) -> Optimum:
    """Least squares by damped Gauss-Newton steps (Levenberg, 1944; Marquardt, 1963).

    :param residuals: Gives a vector's residuals, (m,), and their Jacobian, (m, n).
    :param x: Where to begin, (n,).
    :type x: array_like
    :param max_iter: The most steps.
    :param tolerance_grad: It ends where no element of the gradient is larger.
    :param damping: What is added to the diagonal at first, in its own unit.
    :returns: Where it stopped; its value is half the sum of squares.
    :see: optim.flat.bfgs, jacobian

    >>> t = ag.arange(5.0, dtype="float64")
    >>> model = lambda p: p[0] * ag.exp(-p[1] * t) - 3 * ag.exp(-0.5 * t)
    >>> found = ag.optim.flat.levenberg_marquardt(
    ...     lambda p: (model(ag.tensor(p)), ag.jacobian(model)(ag.tensor(p))), [1.0, 1.0])
    >>> found.x.round(6)
    array([3. , 0.5])
    """
    def at_vector(v: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        r, jacobian = pair(residuals(v), "residuals", "the differences and their jacobian: "
                           "lambda v: (f(v), ag.jacobian(f)(v))")
        r, jacobian = np.asarray(r, v.dtype).reshape(-1), np.asarray(jacobian, v.dtype)
        return r, jacobian.reshape(len(r), len(v)), float(r @ r) / 2

    start = np.asarray(x)
    at = (start if start.dtype.kind == "f" else start.astype(np.float64)).reshape(-1).copy()
    r, jacobian, value = at_vector(at)
    values, evaluations = [value], 1
    for _ in range(max_iter):
        gradient = jacobian.T @ r
        if np.abs(gradient).max(initial=0.0) <= tolerance_grad or damping > _MAX_DAMPING:
            break
        normal = jacobian.T @ jacobian
        scale = np.maximum(np.diag(normal), np.finfo(at.dtype).tiny)
        step = np.linalg.lstsq(normal + np.diag(scale * damping), -gradient, rcond=None)[0]
        tried = at_vector(at + step)
        evaluations += 1
        if not tried[2] < value:
            damping *= 4
            continue
        at, (r, jacobian, value), damping = at + step, tried, damping / 3
        values.append(value)
    return Optimum(at, value, jacobian.T @ r, values, evaluations)


@public
def hessian_free(feval: Feval, hvp: Callable[[np.ndarray, np.ndarray], Any], x: TensorLike,
                 max_iter: int = 200, tolerance_grad: float = 1e-7, damping: float = 1e-2,
                 max_cg: int = 100) -> Optimum:
    """Newton's steps by conjugate gradients, from products with the Hessian (Martens, 2010).

    :param feval: Gives a vector's value and gradient, as ``ag.value_and_grad(f)`` does.
    :type feval: callable
    :param hvp: The Hessian at a vector times another one: ``lambda x, v: ag.hvp(f, (x,), (v,))``.
    :param x: Where to begin.
    :type x: array_like
    :param max_iter: The most steps.
    :param tolerance_grad: It ends where no element of the gradient is larger.
    :param damping: What is added to the Hessian's diagonal at first; it follows how well steps do.
    :param max_cg: The most products in a step.
    :returns: Where it stopped.
    :see: optim.flat.lbfgs, hvp

    >>> found = ag.optim.flat.hessian_free(
    ...     lambda x: (x @ x, 2 * x), lambda x, v: 2 * v, [3.0, 4.0])
    >>> bool(abs(found.x).max() < 1e-6)
    True
    """
    line = Line(feval, x)
    for _ in range(max_iter):
        if line.is_flat(tolerance_grad) or damping > _MAX_DAMPING:
            break
        at, g, before = line.x, line.gradient, line.value

        def times(v: np.ndarray, at: Any = at, damping: float = damping) -> np.ndarray:
            return np.asarray(hvp(at, v), at.dtype).reshape(at.shape) + damping * v

        step = _solved(times, -g, max_cg)
        if not (g @ step < 0 and line.move(step, 1.0)):
            damping *= 4
            continue
        step = line.x - at
        expected = float(g @ step + step @ times(step) / 2)
        ratio = (line.value - before) / expected if expected else 0.0
        damping = damping * 1.5 if ratio < 0.25 else damping / 1.5 if ratio > 0.75 else damping
    return line.found()


def _solved(times: Callable[[np.ndarray], np.ndarray], b: np.ndarray, most: int) -> np.ndarray:
    """Return x with ``times(x)`` near ``b``, by conjugate gradients, up to where the curvature is
    negative.
    """
    x, r = np.zeros_like(b), b
    p, square = r, float(r @ r)
    goal = min(0.25, square**0.25) ** 2 * square
    for _ in range(most):
        q = times(p)
        curvature = float(p @ q)
        if curvature <= 0:
            return x if x.any() else b
        x, r = x + (square / curvature) * p, r - (square / curvature) * q
        square, old = float(r @ r), square
        if square <= goal:
            break
        p = r + (square / old) * p
    return x
