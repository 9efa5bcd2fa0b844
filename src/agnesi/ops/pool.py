"""Pooling: the greatest, or the mean, of each window."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from agnesi.core import dtypes
from agnesi.core.dims import Shape, Size, product
from agnesi.core.dispatch import apply
from agnesi.core.errors import DTypeError, ShapeError
from agnesi.core.op import Op
from agnesi.core.public import public
from agnesi.core.record import record
from agnesi.core.tensor import Tensor
from agnesi.ops.conv import Ints, Windows, borders, per_axis
from agnesi.ops.convert import as_tensor
from agnesi.ops.creation import filled
from agnesi.ops.index import Index, IndexSum, along
from agnesi.ops.movement import reshape


# -- the greatest -----------------------------------------------------------------------------
@record
class PoolIndices(Op):
    """Where the first greatest element of each window lies, among the flat spatial elements."""

    windows: Windows
    kernel: Ints
    name = "pool_indices"
    differentiable = False

    def infer(self, x: Any) -> Any:
        return (*x.shape[:2], *self.windows.sizes(x.shape[2:], self.kernel)), dtypes.int64

    def perform(self, x: np.ndarray) -> np.ndarray:
        padded = self.windows.padded(x, _least(x.dtype))
        view = self.windows.view(padded, self.kernel)
        places = view.shape[2: 2 + len(self.kernel)]
        best = view.reshape(*view.shape[:2], *places, math.prod(self.kernel)).argmax(-1)
        flat: Any = 0
        inner = np.unravel_index(best, self.kernel)
        for axis, (n, tap) in enumerate(zip(x.shape[2:], inner, strict=True)):
            start = np.arange(places[axis]) * self.windows.stride[axis]
            start = start.reshape((-1, *(1,) * (len(places) - axis - 1)))
            position = start + tap * self.windows.dilation[axis] - self.windows.padding[axis][0]
            # A window of nothing but the least number may name its border: take the edge.
            flat = flat * n + position.clip(0, n - 1)
        return np.asarray(flat, np.int64)


def _least(dtype: np.dtype) -> Any:
    if dtype.kind == "f":
        return -np.inf
    return False if dtype.kind == "b" else np.iinfo(dtype).min


@record
class MaxPool(Op):
    """The greatest element of each window; the border never is."""

    windows: Windows
    kernel: Ints
    name = "max_pool"

    def infer(self, x: Any) -> Any:
        return (*x.shape[:2], *self.windows.sizes(x.shape[2:], self.kernel)), x.dtype

    def perform(self, x: np.ndarray) -> np.ndarray:
        padded = self.windows.padded(x, _least(x.dtype))
        places = self.windows.sizes(x.shape[2:], self.kernel)
        result: Any = None
        for _, where in self.windows.taps(self.kernel, places):
            tap = padded[where]
            result = tap.copy() if result is None else np.maximum(result, tap, out=result)
        return result

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        rows = (product(x.shape[:2]), product(x.shape[2:]))
        where, axes = self._chosen(x, y, rows)
        flat = reshape(g, (rows[0], product(y.shape[2:])))
        return (reshape(apply(IndexSum(axes, 0, rows), flat, *where), x.shape),)

    def jvp(self, ts: Any, y: Tensor, x: Tensor) -> Any:
        rows = (product(x.shape[:2]), product(x.shape[2:]))
        where, axes = self._chosen(x, y, rows)
        return reshape(apply(Index(axes, 0), reshape(ts[0], rows), *where), y.shape)

    def _chosen(self, x: Tensor, y: Tensor, rows: Shape) -> tuple[tuple[Tensor, ...], Ints]:
        found = reshape(
            apply(PoolIndices(self.windows, self.kernel), x), (rows[0], product(y.shape[2:]))
        )
        return along(found, found, 1), (0, 1)


# -- sums -------------------------------------------------------------------------------------
@record
class WindowSum(Op):
    """The sum of each window."""

    windows: Windows
    kernel: Ints
    name = "window_sum"
    keep_inputs = ()

    def infer(self, x: Any) -> Any:
        return (*x.shape[:2], *self.windows.sizes(x.shape[2:], self.kernel)), x.dtype

    def perform(self, x: np.ndarray) -> np.ndarray:
        (shape, _), padded = self.infer(x), self.windows.padded(x)
        result = np.zeros(shape, x.dtype)
        for _, where in self.windows.taps(self.kernel, shape[2:]):
            result += padded[where]
        return result

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        return (apply(WindowSpread(self.windows, self.kernel, x.shape[2:]), g),)

    def jvp(self, ts: Any, y: Tensor, x: Tensor) -> Any:
        return apply(self, ts[0])


@record
class WindowSpread(Op):
    """Each number added to all places of its window: the adjoint of WindowSum."""

    windows: Windows
    kernel: Ints
    sizes: Shape
    name = "window_spread"
    keep_inputs = ()

    def infer(self, g: Any) -> Any:
        return (*g.shape[:2], *self.sizes), g.dtype

    def perform(self, g: np.ndarray) -> np.ndarray:
        wide = [
            n + low + high for n, (low, high) in zip(self.sizes, self.windows.padding, strict=True)
        ]
        padded = np.zeros((*g.shape[:2], *wide), g.dtype)
        for _, where in self.windows.taps(self.kernel, g.shape[2:]):
            padded[where] += g
        return np.ascontiguousarray(self.windows.inner(padded))

    def vjp(self, h: Tensor, y: Tensor, g: Tensor) -> tuple[Any, ...]:
        return (apply(WindowSum(self.windows, self.kernel), h),)

    def jvp(self, ts: Any, y: Tensor, g: Tensor) -> Any:
        return apply(self, ts[0])

    def resolve(self, known: Any) -> Op:
        return WindowSpread(self.windows, self.kernel, tuple(map(known, self.sizes)))


# -- functions --------------------------------------------------------------------------------
def _covering(n: Size, k: int, s: int, low: int, high: int) -> int:
    """Border behind an axis so that windows cover all of it; each begins before its end."""
    if not isinstance(n, int):
        raise ShapeError(f"cover_all needs to know the size {n} of the axis")
    count = -(-(n + low + high - k) // s) + 1
    if (count - 1) * s >= n + low:
        count -= 1
    return max((count - 1) * s + k - n - low, high)


def _placed(x: Any, kernel: Any, stride: Any, padding: Any,
            cover_all: bool) -> tuple[Tensor, Windows, Ints]:
    x = as_tensor(x)
    rank = len(kernel) if isinstance(kernel, (tuple, list)) else x.ndim - 2
    if rank < 1 or x.ndim != rank + 2:
        raise ShapeError(
            f"the operand {x.shape} must be (batch, channels, ...) with an axis for each number of "
            f"the kernel {kernel}"
        )
    sizes = per_axis(kernel, rank, "kernel")
    steps = sizes if stride is None else per_axis(stride, rank, "stride")
    pads = borders(padding, sizes, (1,) * rank, steps)
    if any(max(p) >= k for p, k in zip(pads, sizes, strict=True)):
        raise ValueError(f"the padding {padding} must be smaller than the kernel {kernel}")
    if cover_all:
        pads = tuple(
            (low, _covering(n, k, s, low, high))
            for n, k, s, (low, high) in zip(x.shape[2:], sizes, steps, pads, strict=True)
        )
    return x, Windows(steps, pads, (1,) * rank), sizes


@public
def max_pool(x: Any, kernel: Any, *, stride: Any = None, padding: Any = 0, cover_all: bool = False,
             out: Tensor | None = None) -> Tensor:
    """The greatest element of each window.

    Parameters
    ----------
    x : array_like
        (batch, channels, ...).
    kernel : int or tuple of int
        Size of the windows.
    stride : int or tuple of int, optional
        Steps between windows; by default those of the kernel.
    padding : int, tuple, "valid" or "same"
        Border, which never is the greatest.
    cover_all : bool
        Whether a last, smaller window takes what is left over.

    Returns
    -------
    Tensor
        Where several elements are the greatest, the first takes the gradient.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.max_pool([[[1.0, 3.0, 2.0, 4.0, 9.0]]], 2, cover_all=True)
    tensor([[[3., 4., 9.]]])
    """
    x, windows, sizes = _placed(x, kernel, stride, padding, cover_all)
    if x.dtype.kind == "c":
        raise DTypeError("complex numbers have no greatest")
    return apply(MaxPool(windows, sizes), x)


@public
def avg_pool(x: Any, kernel: Any, *, stride: Any = None, padding: Any = 0, cover_all: bool = False,
             count_include_pad: bool = True, out: Tensor | None = None) -> Tensor:
    """The mean of each window.

    Parameters
    ----------
    x : array_like
        (batch, channels, ...).
    kernel : int or tuple of int
        Size of the windows.
    stride : int or tuple of int, optional
        Steps between windows; by default those of the kernel.
    padding : int, tuple, "valid" or "same"
        Border of zeros.
    cover_all : bool
        Whether a last, smaller window takes what is left over; it is divided by what it holds.
    count_include_pad : bool
        Whether the border counts.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.avg_pool([[[1.0, 3.0, 2.0, 4.0]]], 2)
    tensor([[[2., 3.]]])
    """
    x, windows, sizes = _placed(x, kernel, stride, padding, cover_all)
    if x.dtype.kind not in "fc":
        raise DTypeError(f"the mean needs floats, not {x.dtype}; convert with .astype('float32')")
    total = apply(WindowSum(windows, sizes), x)
    if count_include_pad and not cover_all:
        return total * (1.0 / math.prod(sizes))
    own = filled((1, 1, *x.shape[2:]), 1, x.dtype)
    if count_include_pad:
        return total / _counts(x, windows, sizes, padding)
    return total / apply(WindowSum(windows, sizes), own)


def _counts(x: Tensor, windows: Windows, sizes: Ints, padding: Any) -> Tensor:
    """How many elements of image and border each window holds, without what covering adds."""
    asked = borders(padding, sizes, (1,) * len(sizes), windows.stride)
    wide = tuple(n + low + high for n, (low, high) in zip(x.shape[2:], asked, strict=True))
    rest = tuple(
        (0, all_ - high) for (_, all_), (_, high) in zip(windows.padding, asked, strict=True)
    )
    inside = Windows(windows.stride, rest, windows.dilation)
    return apply(WindowSum(inside, sizes), filled((1, 1, *wide), 1, x.dtype))
