"""Functions of many operations that eager programs call as one compiled operation."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import Any

from agnesi.core.ir.dims import Sizes
from agnesi.core.support.config import HOOKS, TRACES
from agnesi.core.tensor import Tensor

#: Most graphs of composites in the cache.
_MAX_KEPT = 64
#: Types of keyword arguments' values.
_PLAIN = (bool, int, float, str, tuple, Sizes, type(None))


def composite(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A function of tensors and a tuple that says ``how``, from which alone its result follows if
    they are floats: such calls run compiled code once that pays."""
    made: dict[Hashable, Callable[..., Any]] = {}

    @functools.wraps(function)
    def call(*xs: Tensor, how: tuple[Any, ...]) -> Tensor:
        for x in xs:
            data = x.array
            if data is None or data.dtype.kind != "f" or TRACES.running:
                return function(*xs, how=how)
        if not all([type(v) in _PLAIN for v in how]):
            return function(*xs, how=how)
        key = how, str(how)  # 0.0 is not -0.0
        try:
            regions = made.get(key)
        except TypeError:  # a list among them
            return function(*xs, how=how)
        if regions is None:
            if len(made) >= _MAX_KEPT:
                made.clear()
            regions = made[key] = HOOKS.regions(functools.partial(function, how=how))
        found: Tensor = regions(xs, {})
        return found

    return call
