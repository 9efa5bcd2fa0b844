"""Convolutions (as deep learning says: correlations) over any number of axes.

Convolution is bilinear in image and filters.  Its two adjoints are operations of their own, and the
three are each other's derivatives, to any order.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from agnesi.core.dispatch import apply
from agnesi.core.ir import loops
from agnesi.core.ir.dims import Shape
from agnesi.core.ir.loops import Affine
from agnesi.core.op import Op, typed
from agnesi.core.parameter_types import Algorithm, PerAxis, TensorLike
from agnesi.core.public import planned, public
from agnesi.core.shapes import Typed, need_shape
from agnesi.core.support import dtypes
from agnesi.core.support.config import HOOKS
from agnesi.core.support.errors import DTypeError, ShapeError, check_allocatable
from agnesi.core.support.numpy_warnings import silently
from agnesi.core.support.record import record
from agnesi.core.support.worker_threads import aside
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import beside, pair
from agnesi.ops.base.linearity import BilinearOp
from agnesi.ops.base.movement import reshape
from agnesi.ops.base.parameter_checks import of_shape
from agnesi.ops.base.slices import flip as flipped
from agnesi.ops.convolution.conv_choice import Requests, bound, requests
from agnesi.ops.convolution.windows import (
    MAX_UNROLLED_ELEMENTS,
    Ints,
    Pixel,
    Run,
    Windows,
    borders,
    count,
    fold,
    inside_or,
    per_axis,
    within_kernel,
)

#: Multiply-adds that take NumPy as long as to copy an element of a window.
_COPY_MULTIPLY_ADDS = 64
#: Multiply-adds that take NumPy as long as all steps of an empty convolution.
_FIXED_MULTIPLY_ADDS = 2_000_000
#: Multiply-adds that NumPy does in a nanosecond.
_MULTIPLY_ADDS_PER_NANOSECOND = 8


def _columns(x: np.ndarray, windows: Windows, kernel: Ints, groups: int) -> np.ndarray:
    """Windows as rows of a matrix for each group: (groups, batch * pixels, channels * kernel)."""
    view = windows.view(windows.padded(x), kernel)
    rank = len(kernel)
    n, channels, output = view.shape[0], view.shape[1] // groups, view.shape[2: 2 + rank]
    view = view.reshape(n, groups, channels, *output, *kernel)
    order = (1, 0, *range(3, 3 + rank), 2, *range(3 + rank, 3 + 2 * rank))
    rows = n * math.prod(output)
    return view.transpose(order).reshape(groups, rows, channels * math.prod(kernel))


def _conj(x: Tensor) -> Tensor:
    return x.conj() if x.dtype.kind == "c" else x


def _by_group(g: np.ndarray, groups: int) -> np.ndarray:
    """(batch, channels, *pixels) as (groups, batch * pixels, channels of the group)."""
    n, channels, *output = g.shape
    parts = g.reshape(n, groups, channels // groups, math.prod(output))
    rows = n * math.prod(output)
    return parts.transpose(1, 0, 3, 2).reshape(groups, rows, channels // groups)

def _work(op: Any, a: np.ndarray, b: np.ndarray) -> int:
    """Return the cost of a convolution, or of one of its gradients, in NumPy, in multiply-adds.

    Most of it is often to copy windows, above all where few filters read each.
    """
    shape, dtype = op.infer(a, b)
    check_allocatable(shape, np.dtype(dtype))
    total = op.multiply_adds(shape, (a.shape, b.shape))
    filters = (shape if isinstance(op, ConvGradW) else b.shape)[0]
    return (
        total
        + _COPY_MULTIPLY_ADDS * (total * op.groups // max(filters, 1))
        + _FIXED_MULTIPLY_ADDS
    )


# -- operations -------------------------------------------------------------------------------
def _summed_wide(lower: Any) -> Any:
    """A lowering that adds up 16-bit numbers in float32, and begins at 0.0 as BLAS does."""

    def wide(self: Op, at: Any, *reads: loops.Read) -> Any:
        kind = reads[0].dtype
        narrow = kind in ("float16", "bfloat16")
        total = lower(self, at, *map(_widened, reads) if narrow else reads)
        if total.dtype.startswith("float"):
            total = total + 0.0  # products of -0.0 alone add up to 0.0
        return loops.cast(total, kind) if narrow else total

    return wide


def _in_float32(run: Any, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Run with 16-bit operands converted to float32: sums are float32."""
    if a.dtype not in dtypes.HALVES:
        found: np.ndarray = run(a, b)
        return found
    return silently(run(a.astype(np.float32), b.astype(np.float32)).astype, a.dtype)


def _widened(read: loops.Read) -> loops.Read:
    return loops.Read(read.shape, "float32", lambda i: loops.cast(read(*i), "float32"))


class _Bilinear(BilinearOp):
    """Two operands, linear in each.  ``lower`` is what compiled code does without a kernel."""

    traits = frozenset(("composed", "convolution"))
    kind: ClassVar[str]  # the tensor that the result is: "forward", "input" or "weight" (gradients)
    bilinear = True
    kept_by_one = ((0,), (1,))
    template = "conv"
    by: Requests | None

    def perform(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return _in_float32(self._by_hook, a, b)

    def reference(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """The result by NumPy, whatever the dtype."""
        return _in_float32(self._aside, a, b)

    def _aside(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        found: np.ndarray = aside(_work(self, a, b) // _MULTIPLY_ADDS_PER_NANOSECOND,
                                  silently, self.compute, a, b)
        return found

    def _by_hook(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        found = HOOKS.run(self, (a, b), _work(self, a, b))
        return self._aside(a, b) if found is None else found

    def compute(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """The result by NumPy, of dtypes that it can add up."""
        raise NotImplementedError

    def _apply(self, op: Any, *xs: Tensor) -> Tensor:
        """Another of the three, with the implementation that was requested."""
        return apply(bound(op, *xs), *xs)

    def reduction(self, a: Any, b: Any) -> Ints:
        return (1,)


@record
class Conv(_Bilinear):
    """Images (batch, channels, ...) and filters (out, channels / groups, ...): a map for each."""

    windows: Windows
    groups: int = 1
    by: Requests | None = None
    name, kind = "conv", "forward"

    def multiply_adds(self, shape: Any, operands: Any) -> int:
        return math.prod(shape) * math.prod(operands[1][1:])

    def infer(self, x: Any, w: Any) -> Any:
        if x.dtype != w.dtype or len(x.shape) != len(w.shape) or self.groups < 1:
            raise ShapeError(f"the image {typed(x)} and the filters {typed(w)} do not fit")
        channels = w.shape[1] * self.groups
        if isinstance(x.shape[1], int) and isinstance(channels, int) and x.shape[1] != channels:
            each = f" in each of {self.groups} groups" if self.groups > 1 else ""
            last = x.shape[-1] == channels
            raise ShapeError(
                f"the image has {x.shape[1]} channels, the filters take {w.shape[1]}{each}"
                + "; moveaxis(x, -1, 1) of one whose channels come last fits" * last
            )
        if isinstance(w.shape[0], int) and w.shape[0] % self.groups:
            raise ShapeError(f"{w.shape[0]} filters do not divide into {self.groups} groups")
        output = self.windows.sizes(x.shape[2:], w.shape[2:])
        return (x.shape[0], w.shape[0], *output), x.dtype

    def compute(self, x: np.ndarray, w: np.ndarray) -> np.ndarray:
        (shape, _), groups, out = self.infer(x, w), self.groups, w.shape[0]
        columns = _columns(x, self.windows, w.shape[2:], groups)
        y = columns @ w.reshape(groups, out // groups, columns.shape[2]).transpose(0, 2, 1)
        y = y.reshape(groups, shape[0], math.prod(shape[2:]), out // groups)
        y = y.transpose(1, 0, 3, 2)
        return np.ascontiguousarray(y).reshape(shape)

    @_summed_wide
    def lower(self, at: Any, x: Any, w: Any) -> Any:
        group, _ = at[1].divmod(w.shape[0] // self.groups)
        runs = self.windows.reads(at[2:], w.shape[2:], x.shape[2:])

        def term(c: Affine, pixels: tuple[Pixel, ...]) -> Any:
            value = x(at[0], group * w.shape[1] + c, *(p.at for p in pixels))
            return _times(value, w(at[1], c, *(p.tap for p in pixels)), pixels)

        return _total(at, w.shape[1], runs, term)

    def vjp(self, g: Tensor, y: Tensor, x: Tensor, w: Tensor) -> tuple[Any, ...]:
        to_x = to_w = None
        if x._requires_grad:
            to_x = self._apply(ConvGradX(self.windows, self.groups, x.shape, self.by), g, _conj(w))
        if w._requires_grad:
            to_w = self._apply(ConvGradW(self.windows, self.groups, w.shape, self.by), _conj(x), g)
        return to_x, to_w


def _check_adjoint(op: Any, g: Any, x: Any, w: Any) -> None:
    """Refuse a cotangent that is not of the type that Conv gives for such images and filters."""
    shape, dtype = Conv(op.windows, op.groups, op.by).infer(x, w)
    if g.dtype != dtype:
        raise DTypeError(f"the cotangent is {g.dtype}, and must be {dtype}")
    need_shape(g.shape, shape, "the cotangent")


@record
class ConvGradX(_Bilinear):
    """Adjoint of Conv to the image: what its result is worth, and the filters, to an image."""

    windows: Windows
    groups: int
    shape: Shape
    by: Requests | None = None
    name, kind = "conv_grad_x", "input"

    def multiply_adds(self, shape: Any, operands: Any) -> int:
        return math.prod(operands[0]) * math.prod(operands[1][1:])

    def infer(self, g: Any, w: Any) -> Any:
        _check_adjoint(self, g, Typed(self.shape, w.dtype), w)
        return self.shape, g.dtype

    def compute(self, g: np.ndarray, w: np.ndarray) -> np.ndarray:
        groups, kernel, output = self.groups, w.shape[2:], g.shape[2:]
        wide = [
            n + low + high
            for n, (low, high) in zip(self.shape[2:], self.windows.padding, strict=True)
        ]
        padded = np.zeros((*self.shape[:2], *wide), g.dtype)
        rows = g.reshape(g.shape[0], groups, g.shape[1] // groups, math.prod(output))
        filters = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
        for tap, where in self.windows.taps(kernel, output):
            here: Any = (..., *tap)
            part = filters[here].transpose(0, 2, 1) @ rows
            padded[where] += part.reshape(*self.shape[:2], *output)
        return np.ascontiguousarray(self.windows.inner(padded))

    @_summed_wide
    def lower(self, at: Any, g: Any, w: Any) -> Any:
        group, channel = at[1].divmod(w.shape[1])
        each = w.shape[0] // self.groups
        runs = self.windows.covers(at[2:], w.shape[2:], self.shape[2:], g.shape[2:])

        def term(o: Affine, pixels: tuple[Pixel, ...]) -> Any:
            filter_ = group * each + o
            value = g(at[0], filter_, *(p.at for p in pixels))
            taps = (within_kernel(p.tap, k) for p, k in zip(pixels, w.shape[2:], strict=True))
            return _times(value, w(filter_, channel, *taps), pixels)

        return _total(at, each, runs, term)

    def vjp(self, h: Tensor, y: Tensor, g: Tensor, w: Tensor) -> tuple[Any, ...]:
        to_g = to_w = None
        if g._requires_grad:
            to_g = self._apply(Conv(self.windows, self.groups, self.by), h, _conj(w))
        if w._requires_grad:
            to_w = self._apply(ConvGradW(self.windows, self.groups, w.shape, self.by), h, _conj(g))
        return to_g, to_w


@record
class ConvGradW(_Bilinear):
    """Adjoint of Conv to the filters: image, and what Conv's result is worth, to filters."""

    windows: Windows
    groups: int
    shape: Shape
    by: Requests | None = None
    name, kind = "conv_grad_w", "weight"

    def multiply_adds(self, shape: Any, operands: Any) -> int:
        return math.prod(operands[1]) * math.prod(shape[1:])

    def infer(self, x: Any, g: Any) -> Any:
        _check_adjoint(self, g, x, Typed(self.shape, x.dtype))
        return self.shape, x.dtype

    def compute(self, x: np.ndarray, g: np.ndarray) -> np.ndarray:
        columns = _columns(x, self.windows, self.shape[2:], self.groups)
        return (_by_group(g, self.groups).transpose(0, 2, 1) @ columns).reshape(self.shape)

    @_summed_wide
    def lower(self, at: Any, x: Any, g: Any) -> Any:
        group, _ = at[0].divmod(self.shape[0] // self.groups)
        channel = group * self.shape[1] + at[1]

        def body(n: Affine, *window: Affine) -> Any:
            runs = self.windows.reads(window, self.shape[2:], x.shape[2:])
            pixels = tuple(run.pixel(t) for run, t in zip(runs, at[2:], strict=True))
            value = x(n, channel, *(p.at for p in pixels))
            return _times(value, g(n, at[0], *window), pixels)

        avoid = frozenset().union(*(i.free for i in at))
        sizes = (g.shape[0], *g.shape[2:])
        return loops.reduce_("add", sizes, body, avoid, [32 + i for i in range(len(sizes))])

    def vjp(self, h: Tensor, y: Tensor, x: Tensor, g: Tensor) -> tuple[Any, ...]:
        to_x = to_g = None
        if x._requires_grad:
            to_x = self._apply(ConvGradX(self.windows, self.groups, x.shape, self.by), _conj(g), h)
        if g._requires_grad:
            to_g = self._apply(Conv(self.windows, self.groups, self.by), _conj(x), h)
        return to_x, to_g


# -- in the loop language -----------------------------------------------------------------------
def _times(value: Any, factor: Any, pixels: tuple[Pixel, ...]) -> Any:
    """The product, or zero where the pixel is outside."""
    return inside_or(0, value, pixels) * factor


def _total(at: Any, channels: int, runs: list[Run], term: Any) -> Any:
    """Sum over the channels of a group, and over the pixels."""
    avoid = frozenset().union(*(i.free for i in at))
    if channels == 1:
        return fold("add", runs, at, lambda pixels: term(Affine(), pixels))
    if count(runs) <= MAX_UNROLLED_ELEMENTS:
        return loops.reduce_(
            "add", [channels],
            lambda c: fold("add", runs, (*at, c), lambda pixels: term(c, pixels)), avoid, [31],
        )

    def body(c: Affine, *js: Affine) -> Any:
        return term(c, tuple(run.pixel(j) for run, j in zip(runs, js, strict=True)))

    sizes = [channels, *(r.length for r in runs)]
    return loops.reduce_("add", sizes, body, avoid, [31 + i for i in range(len(sizes))])


# -- parameters -------------------------------------------------------------------------------
def operands(x: Any, w: Any, rank: int | None) -> tuple[Tensor, Tensor, int]:
    """Images and filters of one dtype, and how many axes the images have."""
    x, w = pair(x, w)
    rank = w.ndim - 2 if rank is None else rank
    if x.ndim != rank + 2 or w.ndim != rank + 2 or rank < 1:
        raise ShapeError(
            f"image {x.shape} and filters {w.shape} must both have {max(rank, 1) + 2} axes: "
            "(batch, channels, ...) and (filters, channels, ...)"
        )
    return x, w, rank


def with_bias(y: Tensor, bias: Any) -> Tensor:
    """A number for each channel added, where there is a bias."""
    if bias is None:
        return y
    bias = beside(bias, y)
    bias = of_shape(
        "conv", bias, y.shape[1:2],
        f"the bias has shape {bias.shape}; it must have one number per channel: {y.shape[1:2]}")
    return y + reshape(bias, (bias.shape[0], *(1,) * (y.ndim - 2)))


def _conv(x: Any, w: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int,
          rank: int, flip: bool, algorithm: Any) -> Tensor:
    x, w = pair(x, w)
    if flip:
        w = flipped(w, tuple(range(2, w.ndim)))
    if x.ndim == rank + 1 and w.ndim == rank + 2:  # one image
        return _conv(x[None], w, bias, stride, padding, dilation, groups, rank, False, algorithm)[0]
    x, w, rank = operands(x, w, rank)
    kernel: Any = w.shape[2:]
    steps, inside = per_axis(stride, rank, "stride"), per_axis(dilation, rank, "dilation")
    windows = Windows(steps, borders(padding, kernel, inside, steps), inside)
    op = Conv(windows, per_axis(groups, 1, "groups")[0], requests(algorithm))
    if op.by is not None:
        op.infer(x, w)
    return with_bias(apply(bound(op, x, w), x, w), bias)


# -- functions --------------------------------------------------------------------------------
@planned
@public
def conv1d(x: TensorLike, w: TensorLike, bias: TensorLike | None = None, stride: PerAxis = 1,
           padding: PerAxis | str = 0, dilation: PerAxis = 1, groups: int = 1, *,
           flip: bool = False, algorithm: Algorithm = None,
           out: Tensor | None = None) -> Tensor:
    """Convolution over one axis; see :func:`conv2d`.

    :param x: Rows: (batch, channels, length), or one of them.
    :param w: Filters: (filters, channels / groups, length).
    :param bias: A number for each filter.
    :param stride: Steps between windows, one for all axes or one for each.
    :param padding: Border of zeros: a width for all axes or one for each, or (before, after) pairs;
        "same" keeps the size under a stride of 1.
    :type padding: int, tuple, "valid", "same" or "full"
    :param dilation: Steps between the elements of a window.
    :param groups: Channels and filters fall into so many groups that do not meet.
    :param flip: Whether filters are turned around first, as mathematics defines convolutions.
    :returns: (batch, filters, pixels); windows that would stick out are dropped.
    :raises ShapeError: If the channels do not fit, a window is larger than the image, or channels
        and filters do not fall into the groups.
    :raises ValueError: If a stride or dilation is not positive, or there is no such padding or
        algorithm.
    :see: conv2d, conv3d, conv_transpose, nn.Conv1d, correlate

    >>> ag.conv1d([[[1.0, 2.0, 4.0]]], [[[-1.0, 1.0]]])
    tensor([[[1., 2.]]])
    """
    return _conv(x, w, bias, stride, padding, dilation, groups, 1, flip, algorithm)


@planned
@public
def conv2d(x: TensorLike, w: TensorLike, bias: TensorLike | None = None, stride: PerAxis = 1,
           padding: PerAxis | str = 0, dilation: PerAxis = 1, groups: int = 1, *,
           flip: bool = False, algorithm: Algorithm = None,
           out: Tensor | None = None) -> Tensor:
    """Convolution (correlation, unless ``flip``) over two axes.

    :like: conv1d
    :param x: Images: (batch, channels, height, width), or one of them.
    :param w: Filters: (filters, channels / groups, height, width).
    :param algorithm: How it is computed: "implicit_gemm" or "direct" (generated code), "unfold" (a
        matrix product of all windows written out), "fft", "reference" (NumPy); or who decides:
        "auto" (a rule), "guess_once", "guess_on_shape_change", "time_once", "time_on_shape_change"
        (the candidates run).  One for all, or one each for "forward" and the gradients to "input"
        and "weight"; ``config.conv_algorithm`` and its kin by default.
    :type algorithm: str, (str, str, str) or dict, optional
    :returns: (batch, filters, pixels, pixels); windows that would stick out are dropped.  What an
        infinite element reaches, and nothing else, may be NaN instead of infinite where few
        multiplications are made by way of sums and differences; never with "direct".
    :see: conv1d, conv3d, conv_transpose, nn.Conv2d, nn.functional.unfold, convolve

    >>> ag.conv2d(ag.ones((1, 1, 3, 3)), ag.ones((1, 1, 2, 2)), stride=1)
    tensor([[[[4., 4.],
              [4., 4.]]]])
    """
    return _conv(x, w, bias, stride, padding, dilation, groups, 2, flip, algorithm)


@planned
@public
def conv3d(x: TensorLike, w: TensorLike, bias: TensorLike | None = None, stride: PerAxis = 1,
           padding: PerAxis | str = 0, dilation: PerAxis = 1, groups: int = 1, *,
           flip: bool = False, algorithm: Algorithm = None,
           out: Tensor | None = None) -> Tensor:
    """Convolution over three axes; see :func:`conv2d`.

    :like: conv1d
    :param x: Volumes: (batch, channels, depth, height, width), or one of them.
    :param w: Filters: (filters, channels / groups, depth, height, width).
    :returns: (batch, filters, pixels, pixels, pixels); windows that would stick out are dropped.
    :see: conv1d, conv2d, conv_transpose, nn.Conv3d

    >>> ag.conv3d(ag.ones((1, 2, 3, 3, 3)), ag.ones((4, 2, 3, 3, 3))).shape
    (1, 4, 1, 1, 1)
    """
    return _conv(x, w, bias, stride, padding, dilation, groups, 3, flip, algorithm)
