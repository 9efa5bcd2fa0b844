"""agnesi as programs see it that are the measure of others: transforms inside do nothing clever."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import agnesi as ag
from agnesi.testing.samples import cases

Function = Callable[..., Any]


class Eagerly:
    """The library, but ``jit`` and ``checkpoint`` call a function as it is, ``vmap`` is a loop."""

    def __getattr__(self, name: str) -> Any:
        return getattr(ag, name)

    @staticmethod
    def jit(f: Function) -> Function:
        return f

    @staticmethod
    def checkpoint(f: Function, *args: Any) -> Any:
        return f(*args)

    @staticmethod
    def vmap(f: Function, in_axes: tuple[int, None], out_axes: int) -> Function:
        """A loop over the lines of the first of two arguments; results lie as those of vmap."""
        def run(x: Any, other: Any) -> Any:
            rows = ag.moveaxis(x, in_axes[0], 0)
            if not rows.shape[0]:
                return ag.vmap(f, in_axes, out_axes)(x, other)
            found = ag.stack([f(rows[i], other) for i in range(rows.shape[0])])
            return ag.moveaxis(found, 0, out_axes)

        return run


@cache
def sample(name: str) -> Function:
    """The function of a sample."""
    return cases()[name].function


EAGERLY = Eagerly()
#: What programs know by name.
KNOWN = {"ag": EAGERLY, "np": np, "sample": sample}
