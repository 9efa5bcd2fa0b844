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
    def vmap(f: Function, in_axes: int | tuple[int | None, ...] = 0, out_axes: int = 0) -> Function:
        """A loop over the lines of what has an axis; results lie as those of vmap."""
        def run(*given: Any) -> Any:
            axes = in_axes if isinstance(in_axes, tuple) else (in_axes,)
            rows = [g if axis is None else ag.moveaxis(g, axis, 0)
                    for g, axis in zip(given, axes, strict=True)]
            counts = {r.shape[0] for r, axis in zip(rows, axes, strict=True) if axis is not None}
            if len(counts) > 1:
                raise ValueError("vmap: numbers of examples differ")
            count = counts.pop()
            if not count:
                return ag.vmap(f, in_axes, out_axes)(*given)
            found = ag.stack([f(*[r if axis is None else r[i] for r, axis in zip(
                rows, axes, strict=True)]) for i in range(count)])
            return ag.moveaxis(found, 0, out_axes)

        return run


@cache
def sample(name: str) -> Function:
    """The function of a sample."""
    return cases()[name].function


EAGERLY = Eagerly()
#: What programs know by name.
KNOWN = {"ag": EAGERLY, "np": np, "sample": sample}
