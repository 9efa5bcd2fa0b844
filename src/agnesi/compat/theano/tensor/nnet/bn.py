"""Batch normalisation."""

from __future__ import annotations

from typing import Any

from agnesi.compat.theano.tensor.creation import as_tensor_variable
from agnesi.compat.theano.variable import Variable
from agnesi.core.support.errors import at


def batch_normalization(inputs: Any, gamma: Any, beta: Any, mean: Any, std: Any,
                        mode: str = "low_mem") -> Variable:
    """``(inputs - mean) * gamma / std + beta``."""
    return (as_tensor_variable(inputs) - mean) * (as_tensor_variable(gamma) / std) + beta


def _axes(x: Variable, axes: Any) -> tuple[int, ...]:
    if axes == "per-activation":
        return (0,)
    return (0, *range(2, x.ndim)) if axes == "spatial" else tuple(
        axes if isinstance(axes, (list, tuple)) else [axes])


def _spread(p: Any, x: Variable, axes: tuple[int, ...]) -> Variable:
    """A parameter beside x: with axes of size 1 where it has none."""
    p = as_tensor_variable(p)
    if p.ndim == x.ndim:
        return p
    if p.ndim != x.ndim - len(axes):
        raise ValueError(at(f"batch normalisation over axes {axes} of {x.type}: gamma, beta, mean "
                            f"and var have {x.ndim - len(axes)} axes or {x.ndim}, not {p.ndim}"))
    rest = iter(range(p.ndim))
    return p.dimshuffle(*["x" if i in axes else next(rest) for i in range(x.ndim)])


def batch_normalization_train(inputs: Any, gamma: Any, beta: Any, axes: Any = "per-activation",
                              epsilon: float = 1e-4, running_average_factor: float = 0.1,
                              running_mean: Any = None, running_var: Any = None) -> Any:
    """Normalised by the batch's mean and variance (Ioffe and Szegedy, 2015).

    :returns: The result, mean and inverse standard deviation (with the axes that ``gamma`` has),
        and where running averages are given these after the batch.
    :rtype: list
    """
    x, like = as_tensor_variable(inputs), as_tensor_variable(gamma)
    over = _axes(x, axes)
    mean = x.mean(axis=over, keepdims=True)
    var = x.var(axis=over, keepdims=True)
    inverse = (var + epsilon) ** -0.5
    found = [(x - mean) * inverse * _spread(gamma, x, over) + _spread(beta, x, over),
             _back(mean, like, over), _back(inverse, like, over)]
    if running_mean is not None:
        old, keep = as_tensor_variable(running_mean), 1.0 - running_average_factor
        found.append(old * keep + _back(mean, old, over) * running_average_factor)
    if running_var is not None:
        old, count = as_tensor_variable(running_var), as_tensor_variable(1.0)
        for axis in over:
            count = count * x.shape[axis]
        unbiased = _back(var, old, over) * (count / (count - 1.0)).astype(x.dtype)
        found.append(old * (1.0 - running_average_factor) + unbiased * running_average_factor)
    return found


def _back(x: Variable, like: Variable, axes: tuple[int, ...]) -> Variable:
    return x if x.ndim == like.ndim else x.dimshuffle(*[i for i in range(x.ndim) if i not in axes])


def batch_normalization_test(inputs: Any, gamma: Any, beta: Any, mean: Any, var: Any,
                             axes: Any = "per-activation", epsilon: float = 1e-4) -> Variable:
    """Normalised by a mean and a variance that are given."""
    x = as_tensor_variable(inputs)
    over = _axes(x, axes)
    gamma, beta, mean, var = (_spread(p, x, over) for p in (gamma, beta, mean, var))
    return (x - mean) * gamma * (var + epsilon) ** -0.5 + beta
