"""Transfer functions and other modules without parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

import agnesi as ag
from agnesi.compat.torch7.nn.module import Module
from agnesi.nn import functional as F

__all__: list[str] = [
    "ELU",
    "AddConstant",
    "Clamp",
    "Contiguous",
    "Copy",
    "Dropout",
    "HardShrink",
    "HardTanh",
    "Identity",
    "LeakyReLU",
    "LogSigmoid",
    "Max",
    "Mean",
    "Min",
    "MulConstant",
    "Narrow",
    "Normalize",
    "Padding",
    "Power",
    "Replicate",
    "Reshape",
    "Select",
    "SoftMax",
    "SoftMin",
    "SoftPlus",
    "SoftShrink",
    "SoftSign",
    "SpatialSoftMax",
    "Squeeze",
    "Sum",
    "Threshold",
    "Transpose",
    "Unsqueeze",
    "View",
]


def _simple(name: str, compute: Any, summary: str) -> None:
    made = type(name, (Module,), {"__doc__": summary, "__module__": __name__,
                                  "compute": lambda self, x: compute(x)})
    globals()[name] = made
    __all__.append(name)


for _name, _compute, _summary in (
        ("Tanh", ag.tanh, "The hyperbolic tangent."), ("Sigmoid", ag.sigmoid, "The sigmoid."),
        ("ReLU", ag.relu, "The larger of x and 0."), ("Abs", ag.abs, "Absolute values."),
        ("Exp", ag.exp, "Exponentials."), ("Log", ag.log, "Logarithms."),
        ("Square", ag.square, "Squares."), ("Sqrt", ag.sqrt, "Square roots."),
        ("ReLU6", F.relu6, "x between 0 and 6."),
        ("LogSoftMax", lambda x: ag.log_softmax(x, axis=_classes(x)),
         "Logarithms of SoftMax.")):
    _simple(_name, _compute, _summary)


def _classes(x: Any) -> int:
    """The axis of classes: the last of vectors, the first behind a batch of images."""
    return -1 if x.ndim in (1, 2) else -3


class _With(Module):
    """A module of numbers that its constructor takes, as attributes ``given``."""

    names: tuple[str, ...] = ()
    defaults: tuple[Any, ...] = ()

    def __init__(self, *args: Any) -> None:
        super().__init__()
        values = (*args, *self.defaults[len(args):])
        for name, value in zip(self.names, values, strict=False):
            setattr(self, name, value)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")


class SoftMax(Module):
    """Exponentials that sum to 1."""

    def compute(self, x: Any) -> Any:
        return ag.softmax(x, axis=_classes(x))


class SoftMin(Module):
    """SoftMax of -x."""

    def compute(self, x: Any) -> Any:
        return ag.softmax(-x, axis=_classes(x))


class SpatialSoftMax(Module):
    """SoftMax over the channels of images."""

    def compute(self, x: Any) -> Any:
        return ag.softmax(x, axis=-3)


class SoftPlus(_With):
    """``log(1 + exp(beta * x)) / beta``."""

    names, defaults = ("beta",), (1,)

    def compute(self, x: Any) -> Any:
        return ag.logaddexp(self.beta * x, 0) / self.beta


class SoftSign(Module):
    """``x / (1 + |x|)``."""

    def compute(self, x: Any) -> Any:
        return F.softsign(x)


class LogSigmoid(Module):
    """Logarithms of the sigmoid."""

    def compute(self, x: Any) -> Any:
        return F.logsigmoid(x)


class HardTanh(_With):
    """x between two numbers."""

    names, defaults = ("min_val", "max_val"), (-1, 1)

    def compute(self, x: Any) -> Any:
        return ag.clip(x, self.min_val, self.max_val)


class Clamp(HardTanh):
    """x between two numbers."""


class HardShrink(_With):
    """x, or 0 near it."""

    names, defaults = ("lamda",), (0.5,)

    def compute(self, x: Any) -> Any:
        return F.hardshrink(x, self.lamda)


class SoftShrink(_With):
    """x moved towards 0 by a number."""

    names, defaults = ("lamda",), (0.5,)

    def compute(self, x: Any) -> Any:
        return F.softshrink(x, self.lamda)


class Threshold(_With):
    """x above a threshold, else a number."""

    names, defaults = ("threshold", "val"), (1e-6, 0)

    def compute(self, x: Any) -> Any:
        return ag.where(x > self.threshold, x, self.val)


class ELU(_With):
    """x, or ``alpha * (exp(x) - 1)`` below zero."""

    names, defaults = ("alpha",), (1,)

    def compute(self, x: Any) -> Any:
        return F.elu(x, self.alpha)


class LeakyReLU(_With):
    """x, or a share of it below zero."""

    names, defaults = ("negval",), (0.01,)

    def compute(self, x: Any) -> Any:
        return F.leaky_relu(x, self.negval)


class Power(_With):
    """A power of x."""

    names = ("pow",)

    def compute(self, x: Any) -> Any:
        return x**self.pow


class MulConstant(_With):
    """x times a number."""

    names = ("constant",)

    def compute(self, x: Any) -> Any:
        return x * self.constant


class AddConstant(_With):
    """x plus a number."""

    names = ("constant",)

    def compute(self, x: Any) -> Any:
        return x + self.constant


class Identity(Module):
    """The input."""

    def compute(self, x: Any) -> Any:
        return x


class Copy(_With):
    """The input; types do not matter here."""

    names, defaults = ("intype", "outtype"), (None, None)

    def compute(self, x: Any) -> Any:
        return x * 1


Contiguous = Copy


class Reshape(Module):
    """The elements in other sizes; a first axis that is no part of them is a batch."""

    def __init__(self, *sizes: int) -> None:
        super().__init__()
        self.sizes = sizes

    def compute(self, x: Any) -> Any:
        batch = int(np.prod(self.sizes)) != int(np.prod(x.shape))
        return x.reshape((x.shape[0], *self.sizes) if batch else self.sizes)


class View(Module):
    """The elements in other sizes."""

    def __init__(self, *sizes: int) -> None:
        super().__init__()
        self.sizes = sizes

    def compute(self, x: Any) -> Any:
        count = int(np.prod([s for s in self.sizes if s != -1]))
        fits = -1 in self.sizes or count == int(np.prod(x.shape))
        return x.reshape(self.sizes if fits else (-1, *self.sizes))


class Narrow(_With):
    """A stretch of an axis."""

    names, defaults = ("dim", "index", "length"), (1, 1, 1)

    def compute(self, x: Any) -> Any:
        key = [slice(None)] * x.ndim
        key[self.dim - 1] = slice(self.index - 1, self.index - 1 + self.length)
        return x[tuple(key)]


class Select(_With):
    """The slice at an index of an axis."""

    names = ("dim", "index")

    def compute(self, x: Any) -> Any:
        return ag.moveaxis(x, self.dim - 1, 0)[self.index - 1 if self.index > 0 else self.index]


class Replicate(_With):
    """The input several times along a new axis."""

    names, defaults = ("count", "dim"), (1, 1)

    def compute(self, x: Any) -> Any:
        return ag.stack([x] * self.count, self.dim - 1)


class Transpose(Module):
    """Pairs of axes in each other's place."""

    def __init__(self, *pairs: Any) -> None:
        super().__init__()
        self.pairs = pairs

    def compute(self, x: Any) -> Any:
        for a, b in self.pairs:
            x = ag.swapaxes(x, a - 1, b - 1)
        return x


class Squeeze(_With):
    """Without axes of size 1."""

    names, defaults = ("dim",), (None,)

    def compute(self, x: Any) -> Any:
        return ag.squeeze(x, None if self.dim is None else self.dim - 1)


class Unsqueeze(_With):
    """With a new axis of size 1."""

    names = ("pos",)

    def compute(self, x: Any) -> Any:
        return ag.expand_dims(x, self.pos - 1)


class Padding(_With):
    """Numbers behind (or, with a negative count, before) an axis."""

    names, defaults = ("dim", "pad", "nInputDim", "value"), (1, 1, None, 0)

    def compute(self, x: Any) -> Any:
        axis = self.dim - 1 + (0 if self.nInputDim is None else x.ndim - self.nInputDim)
        pads = [(0, 0)] * x.ndim
        pads[axis] = (0, self.pad) if self.pad > 0 else (-self.pad, 0)
        return ag.pad(x, pads, constant_values=self.value)


class Normalize(_With):
    """Vectors over their p-norm."""

    names, defaults = ("p", "eps"), (2, 1e-10)

    def compute(self, x: Any) -> Any:
        norm = ag.linalg.vector_norm(x, ord=self.p, axis=-1, keepdims=True)
        return x / (norm + self.eps)


class _Reduced(_With):
    names, defaults = ("dimension", "nInputDims"), (1, None)
    reduce: Any = None

    def compute(self, x: Any) -> Any:
        axis = self.dimension - 1
        if self.nInputDims is not None and x.ndim > self.nInputDims:
            axis += 1
        return type(self).reduce(x, axis)


class Sum(_Reduced):
    """The sum along an axis."""

    reduce = staticmethod(ag.sum)


class Mean(_Reduced):
    """The mean along an axis."""

    reduce = staticmethod(ag.mean)


class Max(_Reduced):
    """The largest along an axis."""

    reduce = staticmethod(ag.max)


class Min(_Reduced):
    """The smallest along an axis."""

    reduce = staticmethod(ag.min)


class Dropout(_With):
    """A share of the elements set to zero in training, the others divided by what is left of 1."""

    names, defaults = ("p",), (0.5,)

    def updateOutput(self, input: Any) -> Any:
        self.noise = np.ones(input.array.shape) if not self.train else (
            np.random.default_rng().random(input.array.shape) >= self.p) / (1 - self.p)
        return super().updateOutput(input)

    def compute(self, x: Any) -> Any:
        return x * self.noise.astype(x.dtype)
