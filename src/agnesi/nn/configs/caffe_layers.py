"""Caffe's layers: how each is made of its parameters and the shapes of its inputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from agnesi.core.options import Count
from agnesi.core.support.errors import at
from agnesi.nn.base.module import Module
from agnesi.nn.configs.caffe_losses import LOSSES, Function, plain
from agnesi.nn.configs.fillers import fill
from agnesi.nn.layers.convs import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from agnesi.nn.layers.embedding import Embedding
from agnesi.nn.layers.linear import Linear
from agnesi.nn.layers.norms import BatchNorm1d, BatchNorm2d, BatchNorm3d, LocalResponseNorm
from agnesi.nn.layers.weightless import Dropout
from agnesi.ops.arrays.replicate import tile
from agnesi.ops.base import arith
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.creation import full, ones, zeros
from agnesi.ops.base.movement import moveaxis, reshape, transpose
from agnesi.ops.base.reduce import mean
from agnesi.ops.base.reduce import sum as sum_
from agnesi.ops.base.select import maximum, minimum, where
from agnesi.ops.convolution.pool import avg_pool2d, max_pool2d
from agnesi.ops.elementwise import explog, hyperbolic
from agnesi.ops.indexing.join import concat, pad
from agnesi.ops.neural import activations
from agnesi.ops.neural.softmax import softmax
from agnesi.ops.reductions.positions import argmax

_Given = Mapping[str, Any]
#: Parameters that change no value: how Caffe computes, and what :mod:`fillers` reads.
_ASIDE = frozenset("engine force_nd_im2col weight_filler bias_filler filler".split())


def listed(value: Any) -> list[Any]:
    """The values of a field that may be there several times."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _sizes(given: _Given, name: str, default: int, n: int) -> tuple[int, ...]:
    """A size that may be there for all axes or for each, as Caffe does."""
    short = name.removesuffix("_size")
    if f"{short}_h" in given or f"{short}_w" in given:
        return int(given.get(f"{short}_h", default)), int(given.get(f"{short}_w", default))
    values = [int(v) for v in listed(given.get(name, default))]
    return tuple(values * n) if len(values) == 1 else tuple(values)


def _conv(kinds: Sequence[Any]) -> Any:
    def make(given: _Given, shapes: list[Any]) -> Module:
        n = len(shapes[0]) - 2
        options: dict[str, Any] = {
            "stride": _sizes(given, "stride", 1, n), "padding": _sizes(given, "pad", 0, n),
            "groups": int(given.get("group", 1)), "bias": bool(given.get("bias_term", True)),
            "dilation": _sizes(given, "dilation", 1, n)}
        layer: Module = kinds[n - 1](shapes[0][1], int(given["num_output"]),
                                     _sizes(given, "kernel_size", 1, n), **options)
        return layer

    return make


def _pool(given: _Given, shapes: list[Any]) -> Module:
    kind = str(given.get("pool", "MAX"))
    if kind not in ("MAX", "AVE"):
        raise ValueError(f"pool is MAX or AVE here, not {kind}")
    if given.get("global_pooling"):
        return Function(lambda x: mean(x, (2, 3), keepdims=True) if kind == "AVE" else
                        max_pool2d(x, x.shape[2:]), f"global {kind}")
    up = str(given.get("round_mode", "CEIL")) == "CEIL"
    return _windows(kind, _sizes(given, "kernel_size", 1, 2), _sizes(given, "stride", 1, 2),
                    _sizes(given, "pad", 0, 2), shapes[0][2:], up)


def _windows(kind: str, size: Any, step: Any, margin: Any, image: Any, up: bool = True) -> Module:
    """Pooling whose last windows run over the border, but begin before it."""
    ends, widths = [], []
    for k, s, p, n in zip(size, step, margin, image, strict=True):
        count = (math.ceil if up else math.floor)((n + 2 * p - k) / s) + 1
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


def _lrn(given: _Given, shapes: list[Any]) -> Module:
    size, alpha = int(given.get("local_size", 5)), float(given.get("alpha", 1))
    beta, k = float(given.get("beta", 0.75)), float(given.get("k", 1))
    if given.get("norm_region", "ACROSS_CHANNELS") == "ACROSS_CHANNELS":
        return LocalResponseNorm(size, alpha, beta, k)
    squares = _windows("AVE", (size, size), (1, 1), (size // 2,) * 2, shapes[0][2:])
    return Function(lambda x: x * (1.0 + alpha * squares(x * x)) ** -beta, "LRN within channels")


class _Inner(Linear):
    """A linear layer of all that follows an axis."""

    def __init__(self, inputs: Count, outputs: Count, bias: bool, axis: int,
                 transposed: bool) -> None:
        super().__init__(inputs, outputs, bias)
        self.axis, self.transposed = axis, transposed
        if transposed:
            self.weight = zeros((inputs, outputs), requires_grad=True)
            self.weight.data = transpose(Linear(inputs, outputs).weight.detach())

    def forward(self, x: Any) -> Any:
        axis = self.axis % len(x.shape)
        flat = reshape(x, (*x.shape[:axis], -1))
        if not self.transposed:
            return super().forward(flat)
        return flat @ self.weight if self.bias is None else flat @ self.weight + self.bias


def _inner(given: _Given, shapes: list[Any]) -> Module:
    axis = int(given.get("axis", 1))
    return _Inner(int(np.prod(shapes[0][axis:])), int(given["num_output"]),
                  bool(given.get("bias_term", True)), axis, bool(given.get("transpose", False)))


class _Embed(Embedding):
    """Rows by number, and a bias."""

    def __init__(self, rows: Count, columns: Count, bias: bool) -> None:
        super().__init__(rows, columns)
        self.bias = zeros(columns, requires_grad=True) if bias else None

    def forward(self, x: Any) -> Any:
        found = super().forward(cast(x, np.dtype("int64")))
        return found if self.bias is None else found + self.bias


class _Scale(Module):
    """Values times learned numbers, those of an axis and so many after it, plus others."""

    def __init__(self, sizes: tuple[int, ...], axis: int, scaled: bool, shifted: bool) -> None:
        self.axis, self.after = axis, len(sizes)
        self.weight = ones(sizes, requires_grad=True) if scaled else None
        self.bias = zeros(sizes, requires_grad=True) if shifted else None

    def forward(self, x: Any) -> Any:
        if self.weight is not None:
            x = x * _along(self.weight, x, self.axis)
        return x if self.bias is None else x + _along(self.bias, x, self.axis)


def _along(values: Any, x: Any, axis: int) -> Any:
    """Values with axes of one element, so that theirs begin at an axis of ``x``."""
    after = len(x.shape) - axis % len(x.shape) - len(values.shape)
    return reshape(values, (*values.shape, *(1,) * after))


def _scale(scaled: bool) -> Any:
    def make(given: _Given, shapes: list[Any]) -> Module:
        axis, many = int(given.get("axis", 1)), int(given.get("num_axes", 1))
        if len(shapes) > 1:
            return Function(lambda x, y: x * _along(y, x, axis) if scaled else
                            x + _along(y, x, axis), f"axis {axis}")
        sizes = shapes[0][axis:] if many == -1 else shapes[0][axis:axis + many or None]
        shifted = not scaled or bool(given.get("bias_term", False))
        return _Scale(tuple(sizes[:many] if many >= 0 else sizes), axis, scaled, shifted)

    return make


class _PReLU(Module):
    """A rectifier with a learned slope below zero, of each channel or one for all."""

    def __init__(self, channels: Count) -> None:
        self.weight = full(channels, 0.25, requires_grad=True)

    def forward(self, x: Any) -> Any:
        return where(x > 0, x, x * _along(self.weight, x, 1))


def _eltwise(given: _Given, shapes: list[Any]) -> Module:
    kind = given.get("operation", "SUM")
    scales = listed(given.get("coeff", [1] * len(shapes)))
    if len(scales) != len(shapes):
        raise ValueError(f"coeff has {len(scales)} numbers for {len(shapes)} inputs")

    def compute(*xs: Any) -> Any:
        total = xs[0] * scales[0] if kind == "SUM" else xs[0]
        for x, c in zip(xs[1:], scales[1:], strict=True):
            total = (maximum(total, x) if kind == "MAX" else total * x if kind == "PROD"
                     else total + c * x)
        return total

    return Function(compute, str(kind))


def _slice(given: _Given, shapes: list[Any]) -> Module:
    axis = int(given.get("axis", given.get("slice_dim", 1)))
    points = listed(given.get("slice_point", []))

    def compute(x: Any) -> Any:
        ends = points or [x.shape[axis] * i // given["count"] for i in range(1, given["count"])]
        parts = [slice(a, b) for a, b in zip([0, *ends], [*ends, x.shape[axis]], strict=True)]
        return tuple(moveaxis(moveaxis(x, axis, 0)[p], 0, axis) for p in parts)

    return Function(compute, f"axis {axis}")


def _crop(given: _Given, shapes: list[Any]) -> Module:
    axis, offsets = int(given.get("axis", 2)), listed(given.get("offset", 0))

    def compute(x: Any, like: Any) -> Any:
        first = axis % len(x.shape)
        begins = offsets * (len(x.shape) - first) if len(offsets) == 1 else offsets
        parts = [slice(b, b + n) for b, n in zip(begins, like.shape[first:], strict=True)]
        return x[(slice(None),) * first + tuple(parts)]

    return Function(compute, f"axis {axis}")


def _reshape(given: _Given, shapes: list[Any]) -> Module:
    wanted = [int(n) for n in listed(given["shape"]["dim"])]
    first, many = int(given.get("axis", 0)), int(given.get("num_axes", -1))

    def compute(x: Any) -> Any:
        begin = first if first >= 0 else len(x.shape) + 1 + first
        end = len(x.shape) if many == -1 else begin + many
        inner = [n or x.shape[begin + i] for i, n in enumerate(wanted)]
        return reshape(x, (*x.shape[:begin], *inner, *x.shape[end:]))

    return Function(compute, f"to {wanted}")


def _flatten(given: _Given, shapes: list[Any]) -> Module:
    first, last = int(given.get("axis", 1)), int(given.get("end_axis", -1))

    def compute(x: Any) -> Any:
        n = len(x.shape)
        return reshape(x, (*x.shape[:first % n], -1, *x.shape[last % n + 1:]))

    return Function(compute, "Flatten")


def _argmax(given: _Given, shapes: list[Any]) -> Module:
    if int(given.get("top_k", 1)) != 1 or given.get("out_max_val"):
        raise ValueError("top_k other than 1 and out_max_val are not there")
    axis = given.get("axis")
    return Function(lambda x: argmax(reshape(x, (x.shape[0], -1)), 1) if axis is None else
                    argmax(x, int(axis), keepdims=True), "ArgMax")


def _reduction(given: _Given, shapes: list[Any]) -> Module:
    kind, first = str(given.get("operation", "SUM")), int(given.get("axis", 0))
    before = {"SUM": lambda x: x, "MEAN": lambda x: x, "ASUM": arith.abs, "SUMSQ": arith.square}
    if kind not in before:
        raise ValueError(f"operation is one of {', '.join(before)}, not {kind}")

    def compute(x: Any) -> Any:
        axes = tuple(range(first % len(x.shape), len(x.shape)))
        return (mean if kind == "MEAN" else sum_)(before[kind](x), axes) * float(
            given.get("coeff", 1))

    return Function(compute, kind)


def _mvn(given: _Given, shapes: list[Any]) -> Module:
    first = 1 if given.get("across_channels", False) else 2

    def compute(x: Any) -> Any:
        axes = tuple(range(first, len(x.shape)))
        x = x - mean(x, axes, keepdims=True)
        if not given.get("normalize_variance", True):
            return x
        return x / (mean(x * x, axes, keepdims=True) ** 0.5 + float(given.get("eps", 1e-9)))

    return Function(compute, "MVN")


def _tile(given: _Given, shapes: list[Any]) -> Module:
    axis, count = int(given.get("axis", 1)), int(given["tiles"])
    return Function(lambda x: tile(x, [count if i == axis % len(x.shape) else 1
                                       for i in range(len(x.shape))]), f"{count} tiles")


def _power_of(given: _Given) -> Callable[[Any], Any]:
    """A scaled and shifted value."""
    scale, shift = float(given.get("scale", 1)), float(given.get("shift", 0))
    return lambda x: x if (scale, shift) == (1, 0) else shift + scale * x


def _exp(given: _Given, shapes: list[Any]) -> Module:
    inner, base = _power_of(given), float(given.get("base", -1))
    factor = 1.0 if base == -1 else math.log(base)
    return Function(lambda x: explog.exp(inner(x) * factor), "Exp")


def _log(given: _Given, shapes: list[Any]) -> Module:
    inner, base = _power_of(given), float(given.get("base", -1))
    factor = 1.0 if base == -1 else 1 / math.log(base)
    return Function(lambda x: explog.log(inner(x)) * factor, "Log")


def _power(given: _Given, shapes: list[Any]) -> Module:
    inner, power = _power_of(given), float(given.get("power", 1))
    return Function(lambda x: inner(x) ** power, "Power")


def _relu(given: _Given, shapes: list[Any]) -> Module:
    slope = float(given.get("negative_slope", 0))
    return Function(lambda x: activations.leaky_relu(x, slope) if slope else maximum(x, 0.0),
                    f"slope {slope}")


def _batch_norm(given: _Given, shapes: list[Any]) -> Module:
    kinds = BatchNorm1d, BatchNorm1d, BatchNorm2d, BatchNorm3d
    return kinds[len(shapes[0]) - 2](shapes[0][1], eps=float(given.get("eps", 1e-5)), affine=False)


def _swish(given: _Given, shapes: list[Any]) -> Module:
    beta = float(given.get("beta", 1))
    return Function(lambda x: x * explog.sigmoid(beta * x), "Swish")


def _clip(given: _Given, shapes: list[Any]) -> Module:
    low, high = float(given["min"]), float(given["max"])
    return Function(lambda x: minimum(maximum(x, low), high), "Clip")


_WINDOW = ("kernel_size kernel_h kernel_w stride stride_h stride_w pad pad_h pad_w")
_CONV = f"{_WINDOW} num_output bias_term group dilation"
_CONVS, _TURNED = (Conv1d, Conv2d, Conv3d), (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)
#: How each of Caffe's layers is made, from its parameters and the shapes of its inputs, and the
#: names of these parameters.
_Maker = Callable[[Mapping[str, Any], list[Any]], Module]
LAYERS: dict[str, tuple[_Maker, str]] = {
    "Convolution": (_conv(_CONVS), _CONV), "Deconvolution": (_conv(_TURNED), _CONV),
    "Pooling": (_pool, f"{_WINDOW} pool global_pooling round_mode"),
    "LRN": (_lrn, "local_size alpha beta k norm_region"),
    "InnerProduct": (_inner, "num_output bias_term axis transpose"),
    "Embed": (lambda g, s: _Embed(int(g["input_dim"]), int(g["num_output"]),
                                  bool(g.get("bias_term", True))),
              "input_dim num_output bias_term"),
    "BatchNorm": (_batch_norm, "eps moving_average_fraction use_global_stats"),
    "Scale": (_scale(True), "axis num_axes bias_term"), "Bias": (_scale(False), "axis num_axes"),
    "Dropout": (lambda g, s: Dropout(float(g.get("dropout_ratio", 0.5))), "dropout_ratio"),
    "ReLU": (_relu, "negative_slope"),
    "PReLU": (lambda g, s: _PReLU(1 if g.get("channel_shared") else s[0][1]), "channel_shared"),
    "ELU": (lambda g, s: Function(lambda x: activations.elu(x, float(g.get("alpha", 1))), "ELU"),
            "alpha"),
    "Sigmoid": (plain("Sigmoid", explog.sigmoid), ""), "Swish": (_swish, "beta"),
    "TanH": (plain("TanH", hyperbolic.tanh), ""), "AbsVal": (plain("AbsVal", arith.abs), ""),
    "BNLL": (plain("BNLL", lambda x: explog.logaddexp(x, 0.0)), ""),
    "Clip": (_clip, "min max"), "Power": (_power, "power scale shift"),
    "Exp": (_exp, "base scale shift"), "Log": (_log, "base scale shift"),
    "Threshold": (lambda g, s: Function(lambda x: cast(
        x > float(g.get("threshold", 0)), x.dtype), "Threshold"), "threshold"),
    "MVN": (_mvn, "normalize_variance across_channels eps"),
    "Softmax": (lambda g, s: Function(lambda x: softmax(x, axis=int(g.get("axis", 1))), "Softmax"),
                "axis"),
    "Concat": (lambda g, s: Function(lambda *xs: concat(xs, axis=int(
        g.get("axis", g.get("concat_dim", 1)))), "Concat"), "axis concat_dim"),
    "Slice": (_slice, "axis slice_dim slice_point"), "Crop": (_crop, "axis offset"),
    "Split": (lambda g, s: Function(lambda x: (x,) * int(g["count"]), "Split"), ""),
    "Tile": (_tile, "axis tiles"), "Flatten": (_flatten, "axis end_axis"),
    "Reshape": (_reshape, "shape axis num_axes"), "Reduction": (_reduction, "operation axis coeff"),
    "Eltwise": (_eltwise, "operation coeff stable_prod_grad"),
    "ArgMax": (_argmax, "top_k out_max_val axis"), **LOSSES,
}


def unknown(kind: str, names: Iterable[str]) -> list[str]:
    """The names that no parameter of a layer of Caffe's has."""
    return sorted(set(names) - _ASIDE - set(LAYERS[kind][1].split()))


def made(kind: str, name: str, given: _Given, shapes: list[Any], inputs: list[str]) -> Module:
    """A layer of Caffe's, from its parameters and the shapes of its inputs."""
    try:
        layer = LAYERS[kind][0](given, shapes)
        fill(layer, given)
        return layer
    except TypeError as error:
        if None in shapes:
            missing = inputs[shapes.index(None)]
            raise ValueError(at(f"from_config: layer {name!r} needs the shape of {missing!r}, "
                                "which the text does not have: give from_config(..., shapes={"
                                f"{missing!r}: (...)}})")) from None
        raise ValueError(at(f"from_config: layer {name!r}: {error}")) from None
    except KeyError as error:
        raise ValueError(at(f"from_config: layer {name!r} has no {error}")) from None
    except IndexError:
        raise ValueError(at(f"from_config: layer {name!r}: {kind} does not take inputs of "
                            f"shapes {shapes}")) from None
    except ValueError as error:
        raise ValueError(at(f"from_config: layer {name!r}: {error}")) from None
