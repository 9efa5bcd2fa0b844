"""Functions of random numbers as methods of generators, with NumPy's arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from agnesi.core import shapes
from agnesi.ops.convert import as_tensor
from agnesi.ops.random import Generator


def method(function: Callable[..., Any], **names: str) -> Callable[..., Any]:
    """A function as a method: the generator is the one to draw from.

    ``names`` has NumPy's names of parameters with other ones.
    """

    @functools.wraps(function)
    def bound(self: Generator, *args: Any, **keywords: Any) -> Any:
        given = {names.get(name, name): value for name, value in keywords.items()}
        return function(*args, generator=self, **given)

    return bound


def shape_last(function: Callable[..., Any], **defaults: Any) -> Callable[..., Any]:
    """A function that takes the shape first as a method that takes it last, by NumPy's names."""
    names = (*defaults, "size")

    @functools.wraps(function)
    def method(self: Generator, *args: Any, dtype: Any = None, out: Any = None,
               **keywords: Any) -> Any:
        given = dict(zip(names, args, strict=False)) | keywords
        unknown = [n for n in given if n not in names]
        if unknown or len(args) > len(names) or len(given) != len(args) + len(keywords):
            raise TypeError(f"{function.__name__} takes each of {', '.join(names)} once")
        params = [given.get(name, value) for name, value in defaults.items()]
        shape = given.get("size")
        if shape is None:
            shape = _broadcast(params)
        return function(shape, *params, dtype=dtype, generator=self, out=out)

    return method


def _broadcast(params: list[Any]) -> Any:
    return shapes.broadcast((), *[as_tensor(p).shape for p in params])
