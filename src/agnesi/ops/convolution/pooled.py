"""The operations behind pooling: the greatest and the sum of each window, and their adjoints.

Adjoints gather: an element of the image looks into the windows that hold it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from agnesi.core.dispatch import apply
from agnesi.core.ir import loops
from agnesi.core.ir.dims import Shape
from agnesi.core.op import Op
from agnesi.core.shapes import need_shape
from agnesi.core.support import dtypes
from agnesi.core.support.config import HOOKS
from agnesi.core.support.numpy_warnings import silently
from agnesi.core.support.record import record
from agnesi.core.support.worker_threads import elements
from agnesi.core.tensor import Tensor
from agnesi.ops.base.linearity import LinearOp
from agnesi.ops.base.select import choose
from agnesi.ops.convolution.windows import (
    MAX_UNROLLED_ELEMENTS,
    Ints,
    Pixel,
    Windows,
    all_of,
    count,
    every,
    fold,
    inside_or,
    number,
    number_of,
)

#: Multiply-adds that take NumPy as long as one element of a window.
_TAP_MULTIPLY_ADDS = 8
#: The same where the element's position in its window is searched.
_POSITION_MULTIPLY_ADDS = 64


class _Pool(Op):
    """Base: windows of a kernel over images, or back."""

    windows: Windows
    kernel: Ints
    traits = frozenset(("composed",))
    tap_cost: ClassVar[int] = _TAP_MULTIPLY_ADDS
    keep_inputs: ClassVar[tuple[int, ...] | None] = ()
    #: The result by NumPy: the reference.
    compute: Callable[..., np.ndarray]

    work = elements(16)

    @property
    def template(self) -> str:  # type: ignore[override]
        """Large windows are loops, and have a kernel of their own."""
        return "windows" if math.prod(self.kernel) > MAX_UNROLLED_ELEMENTS else ""

    @property
    def rereads(self) -> bool:  # type: ignore[override]
        """Whether windows overlap."""
        return any(k > s for k, s in zip(self.kernel, self.windows.stride, strict=True))

    def perform(self, *arrays: np.ndarray) -> np.ndarray:
        work = self.tap_cost * math.prod(self.kernel) * max(a.size for a in arrays)
        found = HOOKS.run(self, arrays, work)
        return silently(self.compute, *arrays) if found is None else found

    def sweep(self, *xs: Any) -> Any:
        return isinstance(self, _Back), xs[0].shape, self.windows, self.kernel

    def pooled(self, shape: Shape) -> Shape:
        """The shape of what windows over images of ``shape`` give."""
        return (*shape[:2], *self.windows.sizes(shape[2:], self.kernel))


class _Back(_Pool):
    """Base of the adjoints: from windows to images of ``sizes``."""

    sizes: Shape

    def spread(self, g: Any) -> Any:
        """The type of the images whose windows gave the operand."""
        need_shape(g.shape[2:], self.windows.sizes(self.sizes, self.kernel), "an image of windows")
        return (*g.shape[:2], *self.sizes), g.dtype

    @property
    def rereads(self) -> bool:  # type: ignore[override]
        return math.prod(self.kernel) > 1


# -- the greatest -----------------------------------------------------------------------------
def _least(dtype: Any) -> Any:
    dtype = np.dtype(dtype)
    if dtype.kind in "fV":
        return -np.inf
    return False if dtype.kind == "b" else np.iinfo(dtype).min


def tap_dtype(kernel: Ints) -> np.dtype:
    """Return a dtype that numbers the elements of a window, with one number to spare."""
    return np.dtype(np.uint8 if math.prod(kernel) < 256 else np.int32)


@record
class PoolTaps(_Pool):
    """Which element of each window, by its number in it, is the first greatest.

    The border never is, not even where the image has nothing but the least of all numbers.
    """

    windows: Windows
    kernel: Ints
    name = "pool_taps"
    tap_cost = _POSITION_MULTIPLY_ADDS
    differentiable = False

    def infer(self, x: Any) -> Any:
        return self.pooled(x.shape), tap_dtype(self.kernel)

    def compute(self, x: np.ndarray) -> np.ndarray:
        view = self.windows.view(self.windows.padded(x, _least(x.dtype)), self.kernel)
        output = view.shape[2: 2 + len(self.kernel)]
        flat = view.reshape(*view.shape[:2], *output, math.prod(self.kernel))
        found = flat.argmax(-1)
        first = self._first(output)
        return np.where(found == 0, first, found).astype(tap_dtype(self.kernel))

    def _first(self, output: Ints) -> np.ndarray:
        """The first element of each window that is in the image."""
        found: Any = np.zeros((), np.int64)
        for n, k, s, (low, _), d in zip(output, self.kernel, self.windows.stride,
                                        self.windows.padding, self.windows.dilation, strict=True):
            found = found[..., None] * k + np.maximum((low + d - 1 - np.arange(n) * s) // d, 0)
        return found

    def _first_lowered(self, at: Any) -> Any:
        """The first element of one window that is in the image, as an expression."""
        found: Any = None
        for axis, (i, s, (low, _), d) in enumerate(zip(
                at[2:], self.windows.stride, self.windows.padding, self.windows.dilation,
                strict=True)):
            if low:
                skipped, _ = (i * -s + (low + d - 1)).divmod(d)
                tap = loops.call("maximum", number(skipped), 0)
                term = tap * math.prod(self.kernel[axis + 1:])
                found = term if found is None else found + term
        dtype = tap_dtype(self.kernel).name
        return loops.const(0, dtype) if found is None else loops.cast(found, dtype)

    def lower(self, at: Any, x: Any) -> Any:
        runs = self.windows.reads(at[2:], self.kernel, x.shape[2:])
        if count(runs) > MAX_UNROLLED_ELEMENTS:
            return loops.cast(self._searched(at, x, runs), tap_dtype(self.kernel).name)
        best: Any = None
        found: Any = None
        for tap, pixels in enumerate(every(runs)):
            value = inside_or(_least(x.dtype), x(*at[:2], *(p.at for p in pixels)), pixels)
            if best is None:
                best, found = value, self._first_lowered(at)
                continue
            mine = loops.const(tap, tap_dtype(self.kernel).name)
            more = ~(value <= best)
            if x.dtype.startswith(("float", "bfloat")):  # the first that is not a number stays
                more = more & best.eq(best)
            best, found = loops.where(more, value, best), loops.where(more, mine, found)
        return found

    def _searched(self, at: Any, x: Any, runs: Any) -> Any:
        top = _greatest(at, x, runs)

        def term(pixels: tuple[Pixel, ...]) -> Any:
            value = x(*at[:2], *(p.at for p in pixels))
            chosen: Any = value.eq(top)
            if x.dtype.startswith(("float", "bfloat")):
                chosen = chosen | value.ne(value)
            chosen = all_of([chosen, *(p.inside for p in pixels)])
            tap = loops.index(number_of([p.tap for p in pixels], self.kernel))
            return loops.where(chosen, tap, math.prod(self.kernel))

        return fold("minimum", runs, at, term)


def _greatest(at: Any, x: Any, runs: Any) -> Any:
    """The greatest element of a window; what is outside of the image does not count."""

    def term(pixels: tuple[Pixel, ...]) -> Any:
        return inside_or(_least(x.dtype), x(*at[:2], *(p.at for p in pixels)), pixels)

    return fold("logical_or" if x.dtype == "bool" else "maximum", runs, at, term)


#: How many of the elements of a window are read, at most, where its axes are taken one after the
#: other: by maxima, and by the search for where they are, which does more with each.
MOST_READ, _MOST_SEARCHED = 0.5, 0.75


def axis_by_axis(windows: Windows, kernel: Ints, most: float) -> list[tuple[Windows, Ints]]:
    """Windows along one axis after the other, the last one first, if so much less is read then;
    else the windows as they are.

    Of equal elements, the first in row-major order is the first one along each axis in turn.
    """
    sizes = zip(kernel, windows.stride, windows.padding, windows.dilation, strict=True)
    steps, count, rank = [], 0, len(kernel)
    for axis, (k, s, pads, d) in reversed(list(enumerate(sizes))):
        if (k, s, pads) != (1, 1, (0, 0)):
            def along(whole: Any, one: Any, axis: int = axis) -> tuple[Any, ...]:
                return tuple(one if i == axis else whole for i in range(rank))

            steps.append((Windows(along(1, s), along((0, 0), pads), along(1, d)), along(1, k)))
            count += k * math.prod(windows.stride[:axis])
    return steps if 0 < count <= most * math.prod(kernel) else [(windows, kernel)]


@record
class MaxPool(_Pool):
    """The greatest element of each window; the border never is."""

    windows: Windows
    kernel: Ints
    name = "max_pool"
    keep_inputs = (0,)

    def infer(self, x: Any) -> Any:
        return self.pooled(x.shape), x.dtype

    def compute(self, x: np.ndarray) -> np.ndarray:
        padded = self.windows.padded(x, _least(x.dtype))
        output = self.windows.sizes(x.shape[2:], self.kernel)
        result: Any = None
        for _, where in self.windows.taps(self.kernel, output):
            tap = padded[where]
            result = tap.copy() if result is None else np.maximum(result, tap, out=result)
        return result

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        steps = axis_by_axis(self.windows, self.kernel, _MOST_SEARCHED)
        images = [x]
        for step in steps[:-1]:
            images.append(apply(MaxPool(*step), images[-1]))
        for (windows, kernel), image in zip(reversed(steps), reversed(images), strict=True):
            taps = apply(PoolTaps(windows, kernel), image)
            g = apply(TapSpread(windows, kernel, image.shape[2:]), g, taps)
        return (g,)

    def jvp(self, ts: Any, y: Tensor, x: Tensor) -> Any:
        taps = apply(PoolTaps(self.windows, self.kernel), x)
        return apply(TapPick(self.windows, self.kernel), ts[0], taps)

    def lower(self, at: Any, x: Any) -> Any:
        return _greatest(at, x, self.windows.reads(at[2:], self.kernel, x.shape[2:]))


@record
class TapPick(_Pool, LinearOp):
    """From each window the element of the given number."""

    windows: Windows
    kernel: Ints
    name = "tap_pick"
    tap_cost = _POSITION_MULTIPLY_ADDS
    keep_inputs = (1,)

    def infer(self, x: Any, taps: Any) -> Any:
        need_shape(taps.shape, self.pooled(x.shape), "the positions")
        return taps.shape, x.dtype

    def compute(self, x: np.ndarray, taps: np.ndarray) -> np.ndarray:
        padded = self.windows.padded(x)
        result = np.zeros(taps.shape, x.dtype)
        cuts = self.windows.taps(self.kernel, taps.shape[2:])
        for tap, (_, where) in enumerate(cuts):
            np.copyto(result, padded[where], where=taps == tap)
        return result

    def vjp(self, g: Tensor, y: Tensor, x: Tensor, taps: Tensor) -> tuple[Any, ...]:
        return apply(TapSpread(self.windows, self.kernel, x.shape[2:]), g, taps), None

    def lower(self, at: Any, x: Any, taps: Any) -> Any:
        runs = self.windows.reads(at[2:], self.kernel, x.shape[2:])
        return _sum_of_chosen(
            self, at, x, runs, lambda pixels: (x(*at[:2], *(p.at for p in pixels)), taps(*at))
        )


@record
class TapSpread(_Back, LinearOp):
    """Each value added to the element of its window at the given position."""

    windows: Windows
    kernel: Ints
    sizes: Shape
    name = "tap_spread"
    tap_cost = _POSITION_MULTIPLY_ADDS
    keep_inputs = (1,)

    def infer(self, g: Any, taps: Any) -> Any:
        need_shape(taps.shape, g.shape, "the positions")
        return self.spread(g)

    def compute(self, g: np.ndarray, taps: np.ndarray) -> np.ndarray:
        return _added(self, g, lambda tap: choose(taps == tap, g, np.zeros((), g.dtype)))

    def vjp(self, h: Tensor, y: Tensor, g: Tensor, taps: Tensor) -> tuple[Any, ...]:
        return apply(TapPick(self.windows, self.kernel), h, taps), None

    def lower(self, at: Any, g: Any, taps: Any) -> Any:
        runs = self.windows.covers(at[2:], self.kernel, self.sizes, g.shape[2:])

        def read(pixels: tuple[Pixel, ...]) -> Any:
            where = (*at[:2], *(p.at for p in pixels))
            return g(*where), taps(*where)

        return _sum_of_chosen(self, at, g, runs, read)


def _sum_of_chosen(op: Any, at: Any, x: Any, runs: Any, read: Any) -> Any:
    """Gradient of max pooling: the sum of those elements whose window chose this pixel."""
    dtype = tap_dtype(op.kernel).name

    def term(pixels: tuple[Pixel, ...]) -> Any:
        value, chosen = read(pixels)
        mine = loops.cast(number(number_of([p.tap for p in pixels], op.kernel)), dtype)
        return inside_or(0, loops.where(chosen.eq(mine), value, 0), pixels)

    return fold("add", runs, at, term)


# -- sums -------------------------------------------------------------------------------------
@record
class WindowSum(_Pool, LinearOp):
    """The sum of each window."""

    windows: Windows
    kernel: Ints
    name = "window_sum"

    def infer(self, x: Any) -> Any:
        return self.pooled(x.shape), x.dtype

    def compute(self, x: np.ndarray) -> np.ndarray:
        (shape, _), padded = self.infer(x), self.windows.padded(x)
        result = np.full(shape, -0.0, dtypes.computed(x.dtype))
        for _, where in self.windows.taps(self.kernel, shape[2:]):
            result += padded[where]
        return result.astype(x.dtype, copy=False)

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        return (apply(WindowSpread(self.windows, self.kernel, x.shape[2:]), g),)

    def lower(self, at: Any, x: Any) -> Any:
        runs = self.windows.reads(at[2:], self.kernel, x.shape[2:])
        return _sum_of_all(at, x, runs)


@record
class WindowSpread(_Back, LinearOp):
    """Each number added to all pixels of its window: the adjoint of WindowSum."""

    windows: Windows
    kernel: Ints
    sizes: Shape
    name = "window_spread"

    def infer(self, g: Any) -> Any:
        return self.spread(g)

    def compute(self, g: np.ndarray) -> np.ndarray:
        return _added(self, g, lambda tap: g)

    def vjp(self, h: Tensor, y: Tensor, g: Tensor) -> tuple[Any, ...]:
        return (apply(WindowSum(self.windows, self.kernel), h),)

    def lower(self, at: Any, g: Any) -> Any:
        runs = self.windows.covers(at[2:], self.kernel, self.sizes, g.shape[2:])
        return _sum_of_all(at, g, runs)


def _added(op: Any, g: np.ndarray, term: Any) -> np.ndarray:
    """Images of what each tap adds to the pixels where windows have it."""
    wide = [n + low + high for n, (low, high) in zip(op.sizes, op.windows.padding, strict=True)]
    padded = np.zeros((*g.shape[:2], *wide), dtypes.computed(g.dtype))
    for tap, (_, where) in enumerate(op.windows.taps(op.kernel, g.shape[2:])):
        padded[where] += term(tap)
    return np.ascontiguousarray(op.windows.inner(padded), g.dtype)


def _sum_of_all(at: Any, x: Any, runs: Any) -> Any:
    dtype = dtypes.computed(np.dtype(x.dtype)).name

    def term(pixels: tuple[Pixel, ...]) -> Any:
        return inside_or(0, loops.cast(x(*at[:2], *(p.at for p in pixels)), dtype), pixels)

    return loops.cast(fold("add", runs, at, term), x.dtype)
