"""Nests of arrays as one flat vector, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import agnesi.compat.autograd.numpy as np
from agnesi.compat.autograd.values import isbox
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support import tree
from agnesi.core.support.errors import ShapeError, typed
from agnesi.core.support.errors import at as located


def flatten(value: Any) -> tuple[Any, Callable[[Any], Any]]:
    """One vector of all numbers in a nest, and the function that leads back.

    :param value:
    :type value: nest of float or array
    :returns flat:
    :rtype: array
    :returns unflatten: Takes a vector of that length.
    :rtype: callable

    >>> from agnesi.compat.autograd.misc import flatten
    >>> flat, unflatten = flatten({"a": 1.0, "b": [2.0, 3.0]})
    >>> flat, unflatten(2 * flat)
    (array([1., 2., 3.]), {'a': np.float64(2.0), 'b': [np.float64(4.0), np.float64(6.0)]})
    """
    leaves, shape = tree.flatten(value)
    if wrong := [x for x in leaves if not isbox(x) and np.asarray(x).dtype.kind not in "biufc"]:
        raise TypeError(located("flatten takes nests of numbers and arrays, not "
                                f"{typed(wrong[0])}"))
    shapes = [np.shape(x) for x in leaves]
    flat = np.concatenate([np.ravel(x) for x in leaves]) if leaves else np.array([])
    length = len(flat)

    def unflatten(vector: Any) -> Any:
        parts, at = [], 0
        if np.shape(vector) not in ((length,), (length, 1)):
            raise ShapeError(located(f"unflatten takes a vector of {length} numbers, not "
                                     f"{typed(vector)}"))
        for s in shapes:
            size = 1
            for n in s:
                size *= n
            part = np.reshape(vector[at:at + size], s)
            parts.append(part if isbox(part) else part[()])
            at += size
        return shape.build(parts)

    return flat, unflatten


def flatten_func(func: Callable[..., Any], example: Any) -> Any:
    """A function of nests as one of vectors, the way back, and the example as a vector."""
    vector, unflatten = flatten(example)

    def flat(x: Any, *args: Any) -> Any:
        return flatten(func(unflatten(x), *args))[0]

    return flat, unflatten, vector


_strictly(__name__)
