"""Functions of random numbers as methods of generators, with NumPy's arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from agnesi.ops.random.generators import Generator


def method(function: Callable[..., Any], **names: str) -> Callable[..., Any]:
    """A function as a method: the generator is the one to draw from.

    ``names`` has NumPy's names of parameters with other ones.
    """

    @functools.wraps(function)
    def bound(self: Generator, *args: Any, **keywords: Any) -> Any:
        given = {names.get(name, name): value for name, value in keywords.items()}
        return function(*args, generator=self, **given)

    return bound


def standard(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A distribution without parameters as a method, which takes the shape only."""

    def bound(self: Generator, size: Any = (), dtype: Any = None, out: Any = None) -> Any:
        return function(size=() if size is None else size, dtype=dtype, generator=self, out=out)

    bound.__name__ = bound.__qualname__ = name
    bound.__doc__ = function.__doc__
    return bound
