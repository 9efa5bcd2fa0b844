"""The functions that random programs use, by NumPy alone: what NumPy does not have is defined."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import special

sigmoid, erf = special.expit, special.erf
sliding_window_view = np.lib.stride_tricks.sliding_window_view


def relu(x: Any) -> Any:
    return np.maximum(x, x.dtype.type(0))


def logsumexp(x: Any, axis: Any, keepdims: bool = False) -> Any:
    top = np.max(x, axis=axis, keepdims=True)
    total = np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top
    return total if keepdims else np.squeeze(total, axis=axis)


def log_softmax(x: Any, axis: int) -> Any:
    return x - logsumexp(x, axis, keepdims=True)


def softmax(x: Any, axis: int) -> Any:
    return np.exp(log_softmax(x, axis))


def softplus(x: Any) -> Any:
    return np.logaddexp(0, x, dtype=x.dtype)


def cond(condition: Any, then: Any, otherwise: Any, *operands: Any) -> Any:
    return np.array((then if condition else otherwise)(*operands))


def fori_loop(lower: int, upper: int, body: Any, value: Any) -> Any:
    for number in range(lower, upper):
        value = body(number, value)
    return np.array(value)


def scan(step: Any, carry: Any, rows: Any, reverse: bool = False) -> Any:
    results = []
    for row in rows[::-1] if reverse else rows:
        carry, result = step(carry, row)
        results.append(result)
    return np.array(carry), np.stack(results[::-1] if reverse else results)


def while_loop(condition: Any, body: Any, value: Any) -> Any:
    while condition(value):
        value = body(value)
    return tuple([np.array(v) for v in value]) if isinstance(value, tuple) else np.array(value)


def map(f: Any, rows: Any) -> Any:
    return np.stack([f(row) for row in rows])


def index_add(x: Any, axis: int, index: Any, source: Any, alpha: float = 1) -> Any:
    y = x.copy()
    np.add.at(y, (slice(None),) * axis + (index,), source if alpha == 1 else alpha * source)
    return y


class Extremes(NamedTuple):
    values: Any
    indices: Any


def cummax(x: Any, axis: int) -> Extremes:
    return _so_far(np.maximum, x, axis)


def cummin(x: Any, axis: int) -> Extremes:
    return _so_far(np.minimum, x, axis)


def _so_far(how: Any, x: Any, axis: int) -> Extremes:
    """Extremes so far, and where each was met last."""
    values = how.accumulate(x, axis=axis)
    shape = [1] * x.ndim
    shape[axis] = -1
    here = np.where(x == values, np.arange(x.shape[axis]).reshape(shape), 0)
    return Extremes(values, np.maximum.accumulate(here, axis=axis))


def argsort(x: Any, axis: int = -1, stable: bool = True, descending: bool = False) -> Any:
    if not descending:
        return np.argsort(x, axis=axis, stable=stable)
    back = np.argsort(np.flip(x, axis), axis=axis, stable=True)
    return x.shape[axis] - 1 - np.flip(back, axis)


def topk(x: Any, k: int, axis: int) -> Any:
    return np.take(np.flip(np.sort(x, axis=axis), axis), np.arange(k), axis=axis), None


def nonzero(x: Any, size: int) -> Any:
    """Places padded with zeros, which the programs add up."""
    return np.nonzero(x)


def flatnonzero(x: Any, size: int) -> Any:
    return np.flatnonzero(x)


def jit(f: Any) -> Any:
    return f


def checkpoint(f: Any, *args: Any) -> Any:
    return f(*args)


def vmap(f: Any, in_axes: Any = 0, out_axes: int = 0) -> Any:
    def run(*given: Any) -> Any:
        axes = in_axes if isinstance(in_axes, tuple) else (in_axes,)
        rows = [g if a is None else np.moveaxis(g, a, 0) for g, a in zip(given, axes, strict=True)]
        count = next(len(r) for r, a in zip(rows, axes, strict=True) if a is not None)
        return np.stack([f(*[r if a is None else r[i] for r, a in zip(rows, axes, strict=True)])
                         for i in range(count)], out_axes)

    return run


def bincount(x: Any, length: int) -> Any:
    return np.bincount(x, minlength=length)


def __getattr__(name: str) -> Any:
    return getattr(np, name)
