"""The functions that random programs use, by NumPy alone: what NumPy does not have is defined."""

from __future__ import annotations

from typing import Any

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
    return carry, np.stack(results[::-1] if reverse else results)


def while_loop(condition: Any, body: Any, value: Any) -> Any:
    while condition(value):
        value = body(value)
    return np.array(value)


def map(f: Any, rows: Any) -> Any:
    return np.stack([f(row) for row in rows])


def index_add(x: Any, axis: int, index: Any, source: Any) -> Any:
    y = x.copy()
    np.add.at(y, (slice(None),) * axis + (index,), source)
    return y


def bincount(x: Any, length: int) -> Any:
    return np.bincount(x, minlength=length)


def __getattr__(name: str) -> Any:
    return getattr(np, name)
