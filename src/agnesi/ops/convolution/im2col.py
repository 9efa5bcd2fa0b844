"""Windows of images written out as columns, and columns summed into images."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from agnesi.core.dispatch import apply
from agnesi.core.integers import integer
from agnesi.core.ir import loops
from agnesi.core.ir.dims import is_static, product
from agnesi.core.op import typed
from agnesi.core.parameter_types import PerAxis, ShapeLike, TensorLike
from agnesi.core.public import planned, public
from agnesi.core.shapes import need_shape
from agnesi.core.support import dtypes
from agnesi.core.support.errors import ShapeError
from agnesi.core.support.record import record
from agnesi.core.support.worker_threads import elements, results
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.linearity import LinearOp
from agnesi.ops.base.movement import reshape
from agnesi.ops.convolution.images import as_images
from agnesi.ops.convolution.windows import (
    Ints,
    Windows,
    borders,
    count,
    inside_or,
    listed,
    per_axis,
    within_kernel,
)
from agnesi.ops.convolution.windows import fold as combined


@record
class Columns(LinearOp):
    """All windows of images: (batch, channels, *kernel, *pixels)."""

    windows: Windows
    kernel: Ints
    work = results(4)
    name = "columns"

    def infer(self, x: Any) -> Any:
        output = self.windows.sizes(x.shape[2:], self.kernel)
        return (*x.shape[:2], *self.kernel, *output), x.dtype

    def perform(self, x: np.ndarray) -> np.ndarray:
        view = self.windows.view(self.windows.padded(x), self.kernel)
        rank = len(self.kernel)
        return view.transpose((0, 1, *range(2 + rank, 2 + 2 * rank), *range(2, 2 + rank))).copy()

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        return (apply(Folded(self.windows, self.kernel, x.shape[2:]), g),)

    def lower(self, at: Any, x: Any) -> Any:
        rank = len(self.kernel)
        runs = self.windows.reads(at[2 + rank:], self.kernel, x.shape[2:])
        pixels = [run.pixel(t) for run, t in zip(runs, at[2: 2 + rank], strict=True)]
        return inside_or(0, x(*at[:2], *(p.at for p in pixels)), pixels)


@record
class Folded(LinearOp):
    """Each column added to the pixels of its window: the adjoint of Columns."""

    windows: Windows
    kernel: Ints
    sizes: tuple[Any, ...]
    work = elements(4)
    name = "folded"

    @property
    def template(self) -> str:  # type: ignore[override]
        return "windows" if math.prod(self.kernel) > 1 else ""

    def infer(self, x: Any) -> Any:
        output = self.windows.sizes(self.sizes, self.kernel)
        need_shape(x.shape[2:], (*self.kernel, *output), "what lies in a channel")
        return (*x.shape[:2], *self.sizes), x.dtype

    @np.errstate(all="ignore")
    def perform(self, x: np.ndarray) -> np.ndarray:
        rank = len(self.kernel)
        wide = [n + low + high for n, (low, high) in zip(self.sizes, self.windows.padding,
                                                         strict=True)]
        padded = np.zeros((*x.shape[:2], *wide), dtypes.computed(x.dtype))
        for tap, where in self.windows.taps(self.kernel, x.shape[2 + rank:]):
            here: Any = (slice(None), slice(None), *tap)
            padded[where] += x[here]
        return np.ascontiguousarray(self.windows.inner(padded), x.dtype)

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        return (apply(Columns(self.windows, self.kernel), g),)

    def lower(self, at: Any, x: Any) -> Any:
        output = x.shape[2 + len(self.kernel):]
        runs = self.windows.covers(at[2:], self.kernel, self.sizes, output)
        dtype = dtypes.computed(np.dtype(x.dtype)).name

        def term(found: Any) -> Any:
            taps = [within_kernel(p.tap, k) for p, k in zip(found, self.kernel, strict=True)]
            return inside_or(0, loops.cast(x(*at[:2], *taps, *(p.at for p in found)), dtype), found)

        total = combined("add", runs, at, term) if count(runs) else loops.const(0, dtype)
        return loops.cast(total, x.dtype)


# -- functions ----------------------------------------------------------------------------------
def _placed(kernel: Any, rank: int, dilation: Any, padding: Any,
            stride: Any) -> tuple[Windows, Ints]:
    sizes = per_axis(kernel, rank, "kernel")
    steps, inside = per_axis(stride, rank, "stride"), per_axis(dilation, rank, "dilation")
    return Windows(steps, borders(padding, sizes, inside, steps), inside), sizes


@planned
@public
def unfold(x: TensorLike, kernel: PerAxis, dilation: PerAxis = 1, padding: PerAxis | str = 0,
           stride: PerAxis = 1, *, out: Tensor | None = None) -> Tensor:
    """The windows of images, written out as columns.

    :param x: (batch, channels, ...), or one image where ``kernel`` has a number for each axis.
    :param kernel: Size of the windows; a number is that on each of two axes, as in PyTorch, or on
        all of operands with more.
    :param dilation: Steps between the elements of a window.
    :param padding: Border of zeros: a width for all axes or one for each, or (before, after) pairs;
        "same" keeps the size under a stride of 1.
    :type padding: int, tuple, "valid", "same" or "full"
    :param stride: Steps between windows, one for all axes or one for each.
    :returns: (batch, channels * elements of a window, windows).
    :raises ShapeError: If a window does not fit.
    :see: nn.functional.fold, nn.Unfold, sliding_window_view

    >>> ag.nn.functional.unfold(ag.arange(4.0).reshape(1, 1, 1, 4), (1, 2))
    tensor([[[0., 1., 2.],
             [1., 2., 3.]]])
    """
    x = as_tensor(x)
    rank = len(kernel) if isinstance(kernel, (tuple, list)) else max(x.ndim - 2, 2)
    x = as_images(x, rank)
    if x.ndim == rank + 1:
        return unfold(x[None], kernel, dilation=dilation, padding=padding, stride=stride)[0]
    windows, sizes = _placed(kernel, rank, dilation, padding, stride)
    found = apply(Columns(windows, sizes), x)
    rows = x.shape[1] * math.prod(sizes)
    return reshape(found, (x.shape[0], rows, product(found.shape[2 + rank:])))


@planned
@public
def fold(x: TensorLike, output_size: ShapeLike, kernel: PerAxis, dilation: PerAxis = 1,
         padding: PerAxis | str = 0, stride: PerAxis = 1, *, out: Tensor | None = None) -> Tensor:
    """Images whose elements are sums of what windows hold for them: the adjoint of ``unfold``.

    :like: unfold
    :param x: (batch, channels * elements of a window, windows), as ``unfold`` gives them, or one
        image's.
    :param output_size: The size of the images on each axis.
    :type output_size: tuple of int
    :param kernel: Size of the windows.
    :returns: (batch, channels, *output_size).
    :raises ShapeError: If ``x`` has not the columns of such images.
    :raises TypeError: If ``output_size`` is no tuple.
    :see: nn.functional.unfold, nn.Fold, conv_transpose

    >>> ag.nn.functional.fold(ag.ones((1, 2, 3)), (1, 4), (1, 2))
    tensor([[[[1., 2., 2., 1.]]]])
    """
    output_size = listed(output_size)
    if not isinstance(output_size, (tuple, list)):
        raise TypeError(f"output_size {output_size} must be a tuple: a size for each axis")
    x, wanted = as_tensor(x), tuple([integer(n, "a size of output_size") for n in output_size])
    windows, sizes = _placed(kernel, len(wanted), dilation, padding, stride)
    output, each = windows.sizes(wanted, sizes), math.prod(sizes)
    fits = x.ndim in (2, 3)
    if fits and is_static(x.shape[-2:]):
        fits = x.shape[-2] % each == 0 and x.shape[-1] == math.prod(output)
    if not fits:
        raise ShapeError(
            f"images of {wanted} have {math.prod(output)} windows of {sizes}: the operand must be "
            f"(batch, a multiple of {each}, {math.prod(output)}), not {typed(x)}"
        )
    if x.ndim == 2:
        return fold(x[None], wanted, kernel, dilation=dilation, padding=padding, stride=stride)[0]
    columns = reshape(x, (x.shape[0], x.shape[1] // each, *sizes, *output))
    return apply(Folded(windows, sizes, wanted), columns)
