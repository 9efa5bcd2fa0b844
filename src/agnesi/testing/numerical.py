"""Chainer's two helpers for tests: gradients by differences, and closeness."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from agnesi.autodiff.recording import no_grad
from agnesi.core.parameter_types import TensorLike
from agnesi.core.tensor import Tensor


def numerical_grad(
    f: Callable[[], Any], inputs: Sequence[Any], grad_outputs: Sequence[Any], eps: float = 1e-3
) -> tuple[np.ndarray, ...]:
    """Gradients of a weighted sum of results by central differences.

    :param f: Takes nothing and returns the results (one or a sequence), computed from ``inputs``.
    :param inputs: Their elements are changed one after another while ``f`` runs, and put back.
    :type inputs: sequence of tensor or array
    :param grad_outputs: Weights of the results; None leaves one out.
    :type grad_outputs: sequence of array_like or None
    :param eps: How far to go to either side.
    :returns: One gradient for each input.
    :see: testing.check_grads, grad

    >>> x = ag.tensor([1.0, 3.0], dtype="float64")
    >>> ag.testing.numerical_grad(lambda: x * x, [x], [[1.0, 1.0]])[0].round(6)
    array([2., 6.])
    """
    weights = [None if g is None else np.asarray(g) for g in grad_outputs]

    def total() -> float:
        with no_grad():
            results = f()
        results = results if isinstance(results, (tuple, list)) else (results,)
        pairs = zip(results, weights, strict=True)
        return float(sum((np.asarray(y, "float64") * g).sum() for y, g in pairs if g is not None))

    return tuple(_differences(total, _memory(x), eps) for x in inputs)


def _memory(x: Any) -> np.ndarray:
    return np.asarray(x.array if isinstance(x, Tensor) else x)


def _differences(total: Callable[[], float], x: np.ndarray, eps: float) -> np.ndarray:
    found = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        kept = x[at]
        x[at] = kept + eps
        above = total()
        x[at] = kept - eps
        below = total()
        x[at] = kept
        found[at] = (above - below) / (2 * eps)
    return found


def assert_allclose(
    x: TensorLike, y: TensorLike, atol: float = 1e-5, rtol: float = 1e-4, verbose: bool = True
) -> None:
    """Raise AssertionError unless two tensors or arrays are close.

    :param x, y: What to compare.
    :param atol, rtol: Close means ``abs(x - y) <= atol + rtol * abs(y)``.
    :param verbose: Show the values that differ.
    :raises AssertionError: If shapes or values differ.
    :see: allclose, testing.check_grads

    >>> ag.testing.assert_allclose(ag.tensor([1.0]), [1.00001])
    """
    np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol, atol, verbose=verbose)
