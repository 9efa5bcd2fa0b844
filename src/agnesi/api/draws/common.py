"""Shapes, dtypes and noise of random draws, for all distributions."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from agnesi.core import shapes
from agnesi.core.dispatch import apply
from agnesi.core.ir.dims import Shape, product
from agnesi.core.support import dtypes
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.creation import checked_sizes
from agnesi.ops.base.expand import broadcast_to
from agnesi.ops.base.movement import reshape
from agnesi.ops.random.generators import Generator, default_generator
from agnesi.ops.random.random import float_of, is_float, noise
from agnesi.ops.random.samplers import KINDS, Sampler


class Draw:
    """One draw: the shape and dtype of its result, its parameters, and the noise to make it of.

    ``params`` are Python numbers, or tensors of the dtype that is computed in, ``wide``: float64
    where the draw is to be ``exact``.
    """

    def __init__(self, size: Any, dtype: Any, generator: Generator | None, *params: Any,
                 exact: bool = False) -> None:
        found = [p if isinstance(p, (int, float)) else as_tensor(p) for p in params]
        tensors = [p for p in found if isinstance(p, Tensor)]
        self.dtype = _float(dtype, tensors)
        wide = dtypes.float64 if exact or self.dtype == dtypes.float64 else dtypes.float32
        self.wide: np.dtype = wide
        self.sizes: Shape = (
            shapes.broadcast((), *[t.shape for t in tensors]) if size is None
            else checked_sizes(size)
        )
        self.params = [cast(p, wide) if isinstance(p, Tensor) else p for p in found]
        self.generator = generator

    def unit(self) -> Tensor:
        """Uniform in [0, 1)."""
        return noise("unit", self.sizes, self.wide, self.generator)

    def open(self) -> Tensor:
        """Uniform in (0, 1], dense near zero."""
        return noise("open", self.sizes, self.wide, self.generator)

    def normal(self) -> Tensor:
        """Normal, of mean 0 and deviation 1."""
        return noise("normal", self.sizes, self.wide, self.generator)

    def exponential(self) -> Tensor:
        """Exponential, of mean 1."""
        return noise("exponential", self.sizes, self.wide, self.generator)

    def stepped(self, kind: str, wanted: Any, *params: Any) -> Tensor:
        """Numbers of a kind that ``ops.random.samplers`` has, where they are wanted."""
        source = self.generator or default_generator()
        state, places = source.positions(KINDS[kind].blocks, product(self.sizes))
        shape = self.sizes
        operands = [broadcast_to(as_tensor(wanted), shape), *map(self.full, params)]
        return apply(Sampler(kind), state, reshape(places, shape), *operands)

    def skip(self, *kinds: str) -> None:
        """Go on behind numbers of such kinds, which are not wanted here, but may be where a
        parameter is not known."""
        source = self.generator or default_generator()
        for kind in kinds:
            source.positions(KINDS[kind].blocks, product(self.sizes))

    def give(self, x: Tensor) -> Tensor:
        """The result in its dtype."""
        return cast(x, self.dtype)

    def full(self, p: Any) -> Tensor:
        """A parameter in the result's shape."""
        return broadcast_to(as_tensor(p, self.wide), self.sizes)


def _float(dtype: Any, tensors: list[Tensor]) -> np.dtype:
    """The dtype that is requested, else that of the parameters."""
    kinds = [t.dtype for t in tensors if is_float(t.dtype) and not t.weak]
    if dtype is None and kinds:
        return functools.reduce(dtypes.promote, kinds)
    return float_of(dtype)
