"""Modules that move elements, or reduce an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

import agnesi as ag
from agnesi.compat.torch7.nn.containers import Sequential
from agnesi.compat.torch7.nn.layers import Linear
from agnesi.compat.torch7.nn.module import Module
from agnesi.compat.torch7.nn.transfer import With
from agnesi.compat.torch7.tensor import axis_of, sizes_of

__all__ = [
    "Collapse", "Max", "Maxout", "Mean", "Min", "Narrow", "Padding", "Replicate", "Reshape",
    "Select", "Squeeze", "Sum", "Transpose", "Unsqueeze", "View",
]


class Reshape(Module):
    """The elements in another shape; a first axis that is not part of it is a batch."""

    def __init__(self, *sizes: int) -> None:
        super().__init__()
        self.sizes = sizes_of(sizes)

    def compute(self, x: Any) -> Any:
        batch = int(np.prod(self.sizes)) != int(np.prod(x.shape))
        return x.reshape((x.shape[0], *self.sizes) if batch else self.sizes)


class View(Module):
    """The elements in other sizes."""

    numInputDims: int | None = None

    def __init__(self, *sizes: int) -> None:
        super().__init__()
        self.sizes = sizes_of(sizes)

    def setNumInputDims(self, count: int) -> View:
        """How many axes a sample has: one more is that of a batch."""
        self.numInputDims = count
        return self

    def compute(self, x: Any) -> Any:
        if self.numInputDims is not None:
            return x.reshape((x.shape[0], *self.sizes) if x.ndim > self.numInputDims
                             else self.sizes)
        count = int(np.prod([s for s in self.sizes if s != -1]))
        fits = -1 in self.sizes or count == int(np.prod(x.shape))
        return x.reshape(self.sizes if fits else (-1, *self.sizes))


class Narrow(With):
    """A stretch of an axis."""

    names, defaults = ("dim", "index", "length"), (1, 1, 1)

    def compute(self, x: Any) -> Any:
        axis = axis_of(self.dim, x.ndim)
        key, count = [slice(None)] * x.ndim, x.shape[axis]
        if not 1 <= self.index <= self.index + self.length - 1 <= count:
            raise IndexError(f"{self.index} to {self.index + self.length - 1} is out of range for "
                             f"dimension {self.dim}, whose numbers run from 1 to {count}")
        key[axis] = slice(self.index - 1, self.index - 1 + self.length)
        return x[tuple(key)]


class Select(With):
    """The slice at an index of an axis."""

    names = ("dim", "index")

    def compute(self, x: Any) -> Any:
        if not self.index:
            raise IndexError("0 is no index: numbers run from 1")
        rows = ag.moveaxis(x, axis_of(self.dim, x.ndim), 0)
        return rows[self.index - 1 if self.index > 0 else self.index]


class Replicate(With):
    """The input several times along a new axis; of samples with ``ndim`` axes."""

    names, defaults = ("count", "dim", "ndim"), (1, 1, None)

    def compute(self, x: Any) -> Any:
        if self.count < 1:
            raise ValueError(f"the count must be at least 1, not {self.count}")
        more = self.ndim is not None and x.ndim > self.ndim
        return ag.stack([x] * self.count, axis_of(self.dim, x.ndim + 1, more))


class Transpose(Module):
    """Pairs of axes in each other's place."""

    def __init__(self, *pairs: Any) -> None:
        super().__init__()
        if not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in pairs):
            raise TypeError("pairs of dimensions are wanted, as in Transpose((1, 2)), not "
                            f"{', '.join(map(repr, pairs))}")
        self.pairs = pairs

    def compute(self, x: Any) -> Any:
        for a, b in self.pairs:
            x = ag.swapaxes(x, axis_of(a, x.ndim), axis_of(b, x.ndim))
        return x


class Squeeze(With):
    """Without axes of size 1."""

    names, defaults = ("dim",), (None,)

    def compute(self, x: Any) -> Any:
        return ag.squeeze(x, None if self.dim is None else axis_of(self.dim, x.ndim))


class Unsqueeze(With):
    """With a new axis of size 1."""

    names = ("pos",)

    def compute(self, x: Any) -> Any:
        return ag.expand_dims(x, axis_of(self.pos, x.ndim + 1))


class Padding(With):
    """Numbers behind (or, with a negative count, before) a place of an axis, by default its end."""

    names, defaults = ("dim", "pad", "nInputDim", "value", "index"), (1, 1, None, 0, 1)

    def compute(self, x: Any) -> Any:
        more = self.nInputDim is not None and x.ndim != self.nInputDim
        axis = axis_of(self.dim, x.ndim, more)
        at = x.shape[axis] - self.index + 1 if self.pad > 0 else self.index - 1
        shape = [abs(self.pad) if i == axis else n for i, n in enumerate(x.shape)]
        front = (slice(None),) * axis
        return ag.concatenate([x[(*front, slice(at))], ag.full(shape, self.value, dtype=x.dtype),
                               x[(*front, slice(at, None))]], axis)


class Collapse(With):
    """All axes as one, but that of a batch; samples have ``nInputDim`` axes."""

    names = ("nInputDim",)

    def compute(self, x: Any) -> Any:
        return x.reshape((x.shape[0], -1) if x.ndim > self.nInputDim else (-1,))


class Reduced(With):
    """Base of reductions; of samples with ``nInputDims`` axes."""

    names, defaults = ("dimension", "nInputDims"), (1, None)
    reduce: Any = None

    def compute(self, x: Any) -> Any:
        more = self.nInputDims is not None and x.ndim > self.nInputDims
        return type(self).reduce(x, axis_of(self.dimension, x.ndim, more))


class Sum(Reduced):
    """The sum along an axis."""

    reduce = staticmethod(ag.sum)


class Mean(Reduced):
    """The mean along an axis."""

    reduce = staticmethod(ag.mean)


class Max(Reduced):
    """The largest along an axis."""

    reduce = staticmethod(ag.max)


class Min(Reduced):
    """The smallest along an axis."""

    reduce = staticmethod(ag.min)


class Maxout(Sequential):
    """The largest of ``maxoutNumber`` linear maps, which a module may change before."""

    def __init__(self, inputSize: int, outputSize: int, maxoutNumber: int,
                 preprocess: Any = None) -> None:
        super().__init__()
        self.add(Linear(inputSize, outputSize * maxoutNumber))
        self.add(View(maxoutNumber, outputSize).setNumInputDims(1))
        if preprocess is not None:
            self.add(preprocess)
        self.add(Max(1, 2))
