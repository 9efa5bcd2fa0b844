"""Where the greatest elements of windows are, and the way back: max-pooling's partial inverse."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from agnesi.core.dispatch import apply
from agnesi.core.ir.dims import product
from agnesi.core.op import typed
from agnesi.core.parameter_types import ShapeLike, TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support import dtypes
from agnesi.core.support.errors import ShapeError
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import floor_divide, remainder
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.creation import zeros
from agnesi.ops.base.movement import reshape
from agnesi.ops.base.parameter_checks import of_shape
from agnesi.ops.convolution.pooled import PoolTaps
from agnesi.ops.convolution.windows import Ints, Windows, borders, per_axis
from agnesi.ops.indexing.index import as_index
from agnesi.ops.indexing.ranges import arange
from agnesi.ops.indexing.scatter import with_along


def positions(x: Tensor, windows: Windows, kernel: Ints) -> list[Tensor]:
    """On each axis of the images the position of each window's first greatest element."""
    taps: Any = cast(apply(PoolTaps(windows, kernel), x), dtypes.int64)
    found, rank = [], len(kernel)
    for axis, (k, s, (low, _), d) in enumerate(
        zip(kernel, windows.stride, windows.padding, windows.dilation, strict=True)
    ):
        inner = math.prod(kernel[axis + 1:])
        tap = remainder(floor_divide(taps, inner), k)
        start = arange(taps.shape[2 + axis]) * s - low
        start = reshape(start, (-1, *(1,) * (rank - 1 - axis)))
        found.append(start + tap * d)
    return found


def raveled(indices: Sequence[Tensor], sizes: Sequence[Any]) -> Tensor:
    """The number of an element of an image, in row-major order, from its position on each axis."""
    total: Any = indices[0]
    for index, n in zip(indices[1:], sizes[1:], strict=True):
        total = total * n + index
    return cast(total, dtypes.int64)


@planned
@public
def max_unpool(x: TensorLike, indices: TensorLike, kernel: ShapeLike,
               stride: ShapeLike | None = None, padding: Any | str = 0,
               output_size: Sequence[int] | None = None, *,
               out: Tensor | None = None) -> Tensor:
    """Images of zeros with the elements of ``x`` where max-pooling found them.

    :param x: (batch, channels, ...).
    :type x: array_like
    :param indices: Of the shape of ``x``: for each element its number in the image, as ``max_pool``
        with ``return_indices`` gives them.  Of elements for one pixel the last stays.
    :type indices: array_like of int
    :param kernel: Size of the windows of the pooling.
    :type kernel: int or tuple of int
    :param stride: Steps between them; by default those of the kernel.
    :type stride: int or tuple of int, optional
    :param padding: Border of the pooling.
    :type padding: int or tuple of int
    :param output_size: The size of the images, or the shape of the result; by default the least
        that pooling makes ``x`` of.
    :type output_size: tuple of int, optional
    :returns: (batch, channels, *output_size), of the dtype of ``x``.
    :raises ShapeError: If ``indices`` are of another shape.
    :raises IndexError: If there is no such pixel; compiled code checks it, too.
    :see: max_pool, nn.MaxUnpool2d

    >>> pooled, indices = ag.max_pool([[[1.0, 3.0, 2.0, 4.0]]], 2, return_indices=True)
    >>> ag.nn.functional.max_unpool(pooled, indices, 2)
    tensor([[[0., 3., 0., 4.]]])
    """
    x, indices = as_tensor(x), as_index(indices)
    rank = x.ndim - 2
    if rank < 1:
        raise ShapeError(f"the operand {x.shape} must be (batch, channels, ...)")
    indices = of_shape("max_unpool", indices, x.shape,
                       f"indices must be of the operand's shape {x.shape}, not {typed(indices)}")
    sizes = _outside(x, kernel, stride, padding) if output_size is None else tuple(output_size)
    if len(sizes) not in (rank, x.ndim):
        raise ShapeError(f"output_size {sizes} must have a size for each of {rank} axes")
    whole = (*x.shape[:2], *sizes[-rank:])
    rows = (*x.shape[:2], product(x.shape[2:]))
    flat = zeros((*x.shape[:2], product(whole[2:])), x.dtype)
    filled = with_along(flat, reshape(indices, rows), reshape(x, rows), 2)
    return reshape(filled, whole)


def _outside(x: Tensor, kernel: Any, stride: Any, padding: Any) -> tuple[Any, ...]:
    """The least sizes of images that pooling makes ``x`` of."""
    rank = x.ndim - 2
    sizes = per_axis(kernel, rank, "kernel")
    steps = sizes if stride is None else per_axis(stride, rank, "stride")
    pads = borders(padding, sizes, (1,) * rank, steps)
    return tuple(
        (n - 1) * s + k - low - high
        for n, s, k, (low, high) in zip(x.shape[2:], steps, sizes, pads, strict=True)
    )
