"""Networks as graphs of named values, with Caffe's layers, whose input sizes are found."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from agnesi.autodiff.recording import no_grad
from agnesi.core.options import Count
from agnesi.core.support.dtypes import int64
from agnesi.core.support.errors import at
from agnesi.nn.base.module import Module
from agnesi.nn.layers.convs import Conv2d, ConvTranspose2d
from agnesi.nn.layers.embedding import Embedding
from agnesi.nn.layers.linear import Linear
from agnesi.nn.layers.norms import BatchNorm2d, LocalResponseNorm
from agnesi.nn.layers.weightless import Dropout
from agnesi.ops.base import arith
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.creation import ones, zeros
from agnesi.ops.base.movement import moveaxis, reshape
from agnesi.ops.base.reduce import mean
from agnesi.ops.base.reduce import sum as sum_
from agnesi.ops.base.select import maximum, where
from agnesi.ops.convolution.pool import avg_pool2d, max_pool2d
from agnesi.ops.elementwise import explog, hyperbolic
from agnesi.ops.indexing.join import concat, pad
from agnesi.ops.neural import activations
from agnesi.ops.neural.losses import cross_entropy
from agnesi.ops.neural.softmax import softmax
from agnesi.ops.reductions.positions import argmax

#: Layers that bring data in: their outputs are inputs of the network.
SOURCES = frozenset("Data DummyData HDF5Data ImageData Input MemoryData WindowData".split())


class Function(Module):
    """A layer without parameters: a function of tensors.

    Parameters
    ----------
    compute : callable
    name : str
        For printing.
    """

    def __init__(self, compute: Callable[..., Any], name: str) -> None:
        self.compute, self.title = compute, name

    def forward(self, *xs: Any) -> Any:
        return self.compute(*xs)

    def extra_repr(self) -> str:
        return self.title


def activation_for(name: str) -> Module:
    """The layer that an activation's name means, whatever its capitals: a class of ``agnesi.nn``,
    or a function of ``agnesi.nn.functional``."""
    nn = import_module("agnesi.nn")
    plain = name.replace("_", "").lower()
    for kind in dir(nn):
        found = getattr(nn, kind)
        if kind.lower() == plain and isinstance(found, type) and issubclass(found, Module):
            made: Module = found()
            return made
    function = getattr(nn.functional, name.lower(), None)
    if not callable(function):
        raise ValueError(at(f"from_config: there is no activation {name!r} in agnesi.nn or "
                            "agnesi.nn.functional"))
    return Function(function, name)


def _pair(given: Mapping[str, Any], name: str, default: int) -> tuple[int, int]:
    """A size that may be told for both axes or for each, as Caffe does."""
    short = name.removesuffix("_size")
    if f"{short}_h" in given:
        return int(given[f"{short}_h"]), int(given.get(f"{short}_w", default))
    value = given.get(name, default)
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    return int(values[0]), int(values[-1])


def _conv(kind: Any) -> Any:
    def make(given: Mapping[str, Any], shapes: list[Any]) -> Module:
        options: dict[str, Any] = {
            "stride": _pair(given, "stride", 1), "padding": _pair(given, "pad", 0),
            "groups": int(given.get("group", 1)), "bias": bool(given.get("bias_term", True)),
            "dilation": _pair(given, "dilation", 1)}
        layer: Module = kind(shapes[0][1], int(given["num_output"]),
                             _pair(given, "kernel_size", 1), **options)
        return layer

    return make


def _pool(given: Mapping[str, Any], shapes: list[Any]) -> Module:
    """Pooling whose last windows run over the border, but begin before it."""
    kind = str(given.get("pool", "MAX"))
    if given.get("global_pooling"):
        return Function(lambda x: (mean if kind == "AVE" else _largest)(x), f"global {kind}")
    size, step = _pair(given, "kernel_size", 1), _pair(given, "stride", 1)
    margin = _pair(given, "pad", 0)
    ends, widths = [], []
    for k, s, p, n in zip(size, step, margin, shapes[0][2:], strict=True):
        count = math.ceil((n + 2 * p - k) / s) + 1
        if p and (count - 1) * s >= n + p:
            count -= 1
        ends.append((p, max((count - 1) * s + k - n - p, 0)))
        begins = np.arange(count) * s - p
        widths.append(np.minimum(begins + k, n + p) - begins)
    area = np.multiply.outer(*widths)
    borders = [(0, 0), (0, 0), *ends]

    def compute(x: Any) -> Any:
        if kind == "MAX":
            return max_pool2d(pad(x, borders, constant_values=-math.inf), size, step)
        total = avg_pool2d(pad(x, borders), size, step) * float(size[0] * size[1])
        return total / cast(as_tensor(area), total.dtype)

    return Function(compute, f"{kind} {size}")


def _largest(x: Any) -> Any:
    return max_pool2d(x, x.shape[2:])


def _inner(given: Mapping[str, Any], shapes: list[Any]) -> Module:
    return _Inner(int(np.prod(shapes[0][1:])), int(given["num_output"]),
                  bool(given.get("bias_term", True)))


class _Inner(Linear):
    """A linear layer of all that lies behind the batch axis."""

    def __init__(self, inputs: Count, outputs: Count, bias: bool) -> None:
        super().__init__(inputs, outputs, bias)

    def forward(self, x: Any) -> Any:
        return super().forward(reshape(x, (x.shape[0], -1)))


class _Scale(Module):
    """Each channel times a learned number, plus another."""

    def __init__(self, channels: Count, scaled: bool, shifted: bool) -> None:
        self.weight = ones(channels, requires_grad=True) if scaled else None
        self.bias = zeros(channels, requires_grad=True) if shifted else None

    def forward(self, x: Any) -> Any:
        shape = (1, -1, *(1,) * (len(x.shape) - 2))
        if self.weight is not None:
            x = x * reshape(self.weight, shape)
        return x if self.bias is None else x + reshape(self.bias, shape)


def _eltwise(given: Mapping[str, Any], shapes: list[Any]) -> Module:
    kind = given.get("operation", "SUM")
    scales = given.get("coeff", [1] * len(shapes))

    def compute(*xs: Any) -> Any:
        total = xs[0] * scales[0] if kind == "SUM" else xs[0]
        for x, c in zip(xs[1:], scales[1:], strict=True):
            total = (maximum(total, x) if kind == "MAX" else total * x if kind == "PROD"
                     else total + c * x)
        return total

    return Function(compute, str(kind))


def _slice(given: Mapping[str, Any], shapes: list[Any]) -> Module:
    axis = int(given.get("axis", given.get("slice_dim", 1)))
    points = given.get("slice_point")
    points = [points] if isinstance(points, int) else points

    def compute(x: Any) -> Any:
        ends = points or [x.shape[axis] * i // given["count"] for i in range(1, given["count"])]
        parts = [slice(a, b) for a, b in zip([0, *ends], [*ends, x.shape[axis]], strict=True)]
        return tuple(moveaxis(moveaxis(x, axis, 0)[p], 0, axis) for p in parts)

    return Function(compute, f"axis {axis}")


def _log_loss(x: Any, t: Any) -> Any:
    return cross_entropy(x, cast(reshape(t, (x.shape[0], *x.shape[2:])), int64))


def _sigmoid_loss(x: Any, t: Any) -> Any:
    return sum_(explog.logaddexp(x, 0.0) - x * t) / x.shape[0]


def _hinge(x: Any, t: Any) -> Any:
    labels = cast(reshape(t, (-1, 1)), int64)
    signs = where(labels == as_tensor(np.arange(x.shape[1])), -1.0, 1.0)
    return sum_(maximum(1.0 + signs * x, 0.0)) / x.shape[0]


def _accuracy(x: Any, t: Any) -> Any:
    return mean(cast(argmax(x, 1) == cast(reshape(t, (x.shape[0],)), int64), x.dtype))


def _plain(name: str, compute: Callable[..., Any]) -> Any:
    return lambda given, shapes: Function(compute, name)


def _relu(given: Mapping[str, Any], shapes: list[Any]) -> Module:
    slope = float(given.get("negative_slope", 0))
    return Function(lambda x: activations.leaky_relu(x, slope) if slope else maximum(x, 0.0),
                    f"slope {slope}")


#: How each of Caffe's layers is made, from its parameters and the shapes of its inputs.
LAYERS: dict[str, Callable[[Mapping[str, Any], list[Any]], Module]] = {
    "Convolution": _conv(Conv2d), "Deconvolution": _conv(ConvTranspose2d), "Pooling": _pool,
    "InnerProduct": _inner, "ReLU": _relu, "Eltwise": _eltwise, "Slice": _slice,
    "Sigmoid": _plain("Sigmoid", explog.sigmoid), "TanH": _plain("TanH", hyperbolic.tanh),
    "AbsVal": _plain("AbsVal", arith.abs),
    "BNLL": _plain("BNLL", lambda x: explog.logaddexp(x, 0.0)),
    "ELU": lambda g, s: Function(lambda x: activations.elu(x, float(g.get("alpha", 1))), "ELU"),
    "Power": lambda g, s: Function(lambda x: (float(g.get("shift", 0)) + float(
        g.get("scale", 1)) * x) ** float(g.get("power", 1)), "Power"),
    "Exp": _plain("Exp", explog.exp), "Log": _plain("Log", explog.log),
    "Threshold": lambda g, s: Function(lambda x: cast(x > float(g.get("threshold", 0)), x.dtype),
                                       "Threshold"),
    "Dropout": lambda g, s: Dropout(float(g.get("dropout_ratio", 0.5))),
    "LRN": lambda g, s: LocalResponseNorm(int(g.get("local_size", 5)), float(g.get("alpha", 1)),
                                          float(g.get("beta", 0.75)), float(g.get("k", 1))),
    "BatchNorm": lambda g, s: BatchNorm2d(s[0][1], eps=float(g.get("eps", 1e-5)), affine=False),
    "Scale": lambda g, s: _Scale(s[0][1], True, bool(g.get("bias_term", False))),
    "Bias": lambda g, s: _Scale(s[0][1], False, True),
    "Embed": lambda g, s: Embedding(int(g["input_dim"]), int(g["num_output"])),
    "Softmax": _plain("Softmax", lambda x: softmax(x, axis=1)),
    "Concat": lambda g, s: Function(lambda *xs: concat(xs, axis=int(
        g.get("axis", g.get("concat_dim", 1)))), "Concat"),
    "Flatten": _plain("Flatten", lambda x: reshape(x, (x.shape[0], -1))),
    "Reshape": lambda g, s: Function(lambda x: reshape(x, [
        n or x.shape[i] for i, n in enumerate(g["shape"]["dim"])]), "Reshape"),
    "Split": lambda g, s: Function(lambda x: (x,) * int(g["count"]), "Split"),
    "ArgMax": _plain("ArgMax", lambda x: argmax(reshape(x, (x.shape[0], -1)), 1)),
    "SoftmaxWithLoss": _plain("SoftmaxWithLoss", _log_loss),
    "EuclideanLoss": _plain("EuclideanLoss", lambda x, t: sum_((x - t) ** 2) / (2 * x.shape[0])),
    "SigmoidCrossEntropyLoss": _plain("SigmoidCrossEntropyLoss", _sigmoid_loss),
    "HingeLoss": _plain("HingeLoss", _hinge), "Accuracy": _plain("Accuracy", _accuracy),
}


class Net(Module):
    """A graph of layers over named values, made by :func:`agnesi.nn.from_config`.

    A call takes the inputs by position or name, and gives the values that no layer uses: the one,
    or a dict of them.  Layers are attributes by their names.  Inputs may be left out where only
    losses need them; these are left out then.

    Parameters
    ----------
    description : dict
        "inputs" with shapes, and "layers" with "type", "name", "inputs", "outputs", parameters.
    shapes : mapping of str to sequence of int
        Shapes of inputs that it does not tell.
    other : callable
        Makes layers that are not Caffe's of their entries.
    """

    def __init__(self, description: dict[str, Any], shapes: Mapping[str, Any],
                 other: Callable[[Mapping[str, Any]], Module]) -> None:
        self.description = {**description, "type": "Net"}
        known = {**(description.get("inputs") or {}), **shapes}
        self.inputs = list(description.get("inputs") or {})
        self.steps: list[tuple[str, list[str], list[str]]] = []
        values: dict[str, Any] = {}
        for entry in description["layers"]:
            if entry["type"] in SOURCES:
                for name in entry.get("outputs", []):
                    known.setdefault(name, _source_shape(entry))
                    self.inputs.append(name)
        made = set(self.inputs)
        for entry in description["layers"]:
            self.inputs += [n for n in entry.get("inputs", []) if n not in made]
            made.update(entry.get("inputs", []), entry.get("outputs", []))
        self.inputs = list(dict.fromkeys(self.inputs)) or ["x"]
        for name in self.inputs:
            if known.get(name) is not None:
                values[name] = zeros(tuple(known[name]))
        for i, entry in enumerate(description["layers"]):
            if entry["type"] not in SOURCES | {"Silence"}:
                self._add(i, entry, values, other)

    def _add(self, i: int, entry: Mapping[str, Any], values: dict[str, Any], other: Any) -> None:
        name = str(entry.get("name", f"layer{i}"))
        inputs = list(entry.get("inputs") or ([self.inputs[0]] if not self.steps
                                              else self.steps[-1][2][:1]))
        outputs = list(entry.get("outputs") or [name])
        given = {**entry, "count": len(outputs)}
        shapes = [tuple(values[n].shape) if n in values else None for n in inputs]
        kind = entry["type"]
        if kind in LAYERS:
            try:
                layer = LAYERS[kind](given, shapes)
            except TypeError as error:
                if None in shapes:
                    missing = inputs[shapes.index(None)]
                    raise ValueError(at(
                        f"from_config: layer {name!r} needs the shape of {missing!r}, which "
                        "nothing tells: give from_config(..., shapes={...})")) from None
                raise ValueError(at(f"from_config: layer {name!r}: {error}")) from None
            except KeyError as error:
                raise ValueError(at(f"from_config: layer {name!r} has no {error}")) from None
            except IndexError:
                raise ValueError(at(f"from_config: layer {name!r}: {kind} does not take inputs of "
                                    f"shapes {shapes}")) from None
        else:
            layer = other(entry)
        attribute = name.replace("/", "_").replace(".", "_")
        setattr(self, attribute, layer)
        self.steps.append((attribute, inputs, outputs))
        if entry.get("activation"):
            after = f"{attribute}_{entry['activation']}"
            setattr(self, after, activation_for(entry["activation"]))
            self.steps.append((after, outputs[:1], outputs[:1]))
        if None not in shapes:
            layer.eval()
            with no_grad():
                self._step(len(self.steps) - (2 if entry.get("activation") else 1), values)
            layer.train()

    def _step(self, first: int, values: dict[str, Any]) -> set[str]:
        """Run the layers whose inputs there are; the names of values that were used up."""
        used: set[str] = set()
        for name, inputs, outputs in self.steps[first:]:
            if all(n in values for n in inputs):
                used.update(n for n in inputs if n not in outputs)
                found = getattr(self, name)(*[values[n] for n in inputs])
                parts = found if isinstance(found, tuple) else (found,)
                values.update(zip(outputs, parts, strict=False))
        return used

    def forward(self, *xs: Any, **named: Any) -> Any:
        if len(xs) > len(self.inputs) or set(named) - set(self.inputs):
            raise TypeError(at(f"the network takes {', '.join(self.inputs)}"))
        values = dict(zip(self.inputs, map(as_tensor, xs), strict=False))
        values.update((n, as_tensor(x)) for n, x in named.items())
        given = set(values)
        used = self._step(0, values)
        ends = {n: v for n, v in values.items() if n not in used and n not in given}
        return next(iter(ends.values())) if len(ends) == 1 else ends


def _source_shape(entry: Mapping[str, Any]) -> Any:
    shape = entry.get("shape")
    if isinstance(shape, Mapping):
        return shape["dim"]
    if isinstance(shape, list) and shape and isinstance(shape[0], Mapping):
        return shape[0]["dim"]
    return shape if isinstance(shape, list) else None


