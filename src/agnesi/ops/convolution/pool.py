"""Pooling: the greatest, the sum, the mean or the norm of each window."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np

from agnesi.core.dispatch import apply
from agnesi.core.ir.dims import Dim, Size, is_static
from agnesi.core.parameter_types import PerAxis, ShapeLike, TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support.config import MODE
from agnesi.core.support.errors import DTypeError, ShapeError
from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith, compare, select
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.creation import filled
from agnesi.ops.base.movement import moveaxis, reshape
from agnesi.ops.base.reduce import max as max_of
from agnesi.ops.base.reduce import mean
from agnesi.ops.base.reduce import min as min_of
from agnesi.ops.contractions.matmul import matmul
from agnesi.ops.convolution.images import as_images
from agnesi.ops.convolution.pooled import MOST_READ, MaxPool, WindowSum, axis_by_axis
from agnesi.ops.convolution.unpool import max_unpool, positions, raveled
from agnesi.ops.convolution.windows import Ints, Windows, borders, listed, per_axis
from agnesi.ops.identity import STOP
from agnesi.ops.indexing.index import take, take_along_axis
from agnesi.ops.indexing.join import concat
from agnesi.ops.indexing.ranges import arange

#: Windows of an axis that are sliced one by one: each is a kernel that is compiled.
_MAX_SLICES = 8


def _covering(n: Size, k: int, s: int, low: int, high: int) -> tuple[Size | None, int]:
    """How many windows cover all of an axis, and the border behind it; each begins before its end.

    The border of a size that only the run knows lets all windows fit that begin before its end;
    ``None`` where these are the ones.
    """
    count = -(-(n + low + high - k) // s) + 1
    if not isinstance(n, int):
        return None if k <= s else count, k - 1
    if (count - 1) * s >= n + low:
        count -= 1
    return None, max((count - 1) * s + k - n - low, high)


def _placed(x: Any, kernel: Any, stride: Any, padding: Any, cover_all: bool,
            dilation: Any = 1) -> tuple[Tensor, Windows, Ints, Any]:
    """The operand, its windows and their sizes, and which of all pixels are wanted."""
    x = as_tensor(x)
    several = isinstance(kernel, (tuple, list)) and len(kernel) > 1
    rank = len(kernel) if several else x.ndim - 2
    if rank < 1 or x.ndim != rank + 2:
        raise ShapeError(
            f"the operand {x.shape} must be (batch, channels, ...) with an axis for each number of "
            f"the kernel {kernel}"
        )
    sizes = per_axis(kernel, rank, "kernel")
    steps = sizes if stride is None else per_axis(stride, rank, "stride")
    inside = per_axis(dilation, rank, "dilation")
    pads = borders(padding, sizes, inside, steps)
    if any(max(p) >= k for p, k in zip(pads, sizes, strict=True)):
        raise ValueError(f"the padding {padding} must be smaller than the kernel {kernel}")
    wanted: Any = ()
    if cover_all:
        counts, after = zip(*(
            _covering(n, d * (k - 1) + 1, s, low, high)
            for n, k, s, (low, high), d in zip(
                x.shape[2:], sizes, steps, pads, inside, strict=True
            )
        ), strict=True)
        pads = tuple((low, high) for (low, _), high in zip(pads, after, strict=True))
        if any(n is not None for n in counts):
            wanted = (..., *map(slice, counts))
    return x, Windows(steps, pads, inside), sizes, wanted


@overload
def max_pool(x: Any, kernel: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
             cover_all: bool = False, return_indices: Literal[False] = False, *,
             out: Tensor | None = None) -> Tensor: ...


@overload
def max_pool(x: Any, kernel: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
             cover_all: bool = False, *,
             return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...


@planned
@public
def max_pool(x: TensorLike, kernel: PerAxis, stride: PerAxis | None = None,
             padding: PerAxis | str = 0, dilation: PerAxis = 1, cover_all: bool = False,
             return_indices: bool = False, *, out: Tensor | None = None) -> Any:
    """Max pooling: the greatest element of each window.

    :param x: (batch, channels, ...).
    :param kernel: Size of the windows.
    :param stride: Steps between windows; by default those of the kernel.
    :param padding: Border, which never is the greatest.
    :type padding: int, tuple, "valid" or "same"
    :param dilation: Steps between the elements of a window.
    :param cover_all: Whether a last, smaller window takes what is left over.
    :param return_indices: Whether to return their indices, too.
    :returns: Where several elements are the greatest, the first takes the gradient.
    :rtype: Tensor
    :returns indices: With ``return_indices`` only: of each of them its number in the image, in
        row-major order.
    :rtype: Tensor of int64
    :raises ShapeError: If a window does not fit, or there are no axes for windows.
    :raises DTypeError: For complex numbers.
    :raises ValueError: If ``stride`` or ``dilation`` is not positive, or there is no such padding.
    :see: avg_pool, nn.functional.max_unpool, nn.functional.adaptive_max_pool, nn.MaxPool2d

    >>> ag.max_pool([[[1.0, 3.0, 2.0, 4.0, 9.0]]], 2, cover_all=True)
    tensor([[[3., 4., 9.]]])
    >>> ag.max_pool([[[1.0, 3.0, 2.0, 4.0]]], 2, return_indices=True)[1]
    tensor([[[1, 3]]])
    """
    x, windows, sizes, wanted = _placed(x, kernel, stride, padding, cover_all, dilation)
    if x.dtype.kind == "c":
        raise DTypeError("complex numbers have no greatest")
    windows.sizes(x.shape[2:], sizes)  # which raises where a window does not fit
    found = x
    for step in axis_by_axis(windows, sizes, MOST_READ):
        found = apply(MaxPool(*step), found)
    found = _of(found, wanted)
    if not return_indices:
        return found
    return found, _of(raveled(positions(x, windows, sizes), x.shape[2:]), wanted)


@planned
@public
def avg_pool(x: TensorLike, kernel: PerAxis, stride: PerAxis | None = None,
             padding: PerAxis | str = 0, cover_all: bool = False, count_include_pad: bool = True,
             divisor_override: float | None = None, *, out: Tensor | None = None) -> Tensor:
    """Average pooling: the mean of each window.

    :param x: (batch, channels, ...).
    :param kernel: Size of the windows.
    :param stride: Steps between windows; by default those of the kernel.
    :param padding: Border of zeros.
    :type padding: int, tuple, "valid" or "same"
    :param cover_all: Whether a last, smaller window takes what is left over; it is divided by what
        it holds.
    :param count_include_pad: Whether the border counts.
    :param divisor_override: What sums are divided by, instead of the numbers of elements.
    :returns: (batch, channels, ...): ``(n + borders - kernel) // stride + 1`` pixels on each axis,
        of the dtype of ``x``.
    :raises ShapeError: If a window does not fit, or there are no axes for windows.
    :raises DTypeError: If ``x`` is not floating.
    :raises ValueError: If ``stride`` is not positive, there is no such padding, or
        ``divisor_override`` is zero.
    :see: max_pool, nn.functional.sum_pool, nn.functional.lp_pool, nn.functional.adaptive_avg_pool
        nn.AvgPool2d

    >>> ag.avg_pool([[[1.0, 3.0, 2.0, 4.0]]], 2)
    tensor([[[2., 3.]]])
    """
    x, windows, sizes, wanted = _placed(x, kernel, stride, padding, cover_all)
    if x.dtype.kind not in "fcV":
        raise DTypeError(f"the mean needs floats, not {x.dtype}; convert with .astype('float32')")
    total = _of(apply(WindowSum(windows, sizes), x), wanted)
    if divisor_override is not None:
        if not divisor_override:
            raise ValueError("divisor_override must not be zero")
        return total * (1.0 / divisor_override)
    if count_include_pad and not cover_all:
        return total * (1.0 / math.prod(sizes))
    widths = borders(padding, sizes, (1,) * len(sizes), windows.stride)
    return total / _of(_counts(x, windows, sizes, widths if count_include_pad else None), wanted)


def _of(found: Tensor, wanted: Any) -> Tensor:
    return found[wanted] if wanted else found


def _counts(x: Tensor, windows: Windows, sizes: Ints, border: Any) -> Tensor:
    """How many elements of the image (and the given border) each window holds."""
    if not is_static(x.shape[2:]):
        return _counted(x, windows, sizes, border)
    total: Any = 1
    for axis, (n, k, s, (low, high)) in enumerate(
        zip(x.shape[2:], sizes, windows.stride, windows.padding, strict=True)
    ):
        least, most = (0, n) if border is None else (-border[axis][0], n + border[axis][1])
        start = np.arange((n + low + high - k) // s + 1) * s - low
        inside = np.minimum(start + k, most) - np.maximum(start, least)
        total = np.multiply.outer(total, inside)
    return as_tensor(np.asarray(total[None, None], x.dtype))


def _counted(x: Tensor, windows: Windows, sizes: Ints, border: Any) -> Tensor:
    """How many elements each window holds, where sizes are not known yet."""
    border = border or ((0, 0),) * len(sizes)
    wide = tuple(n + low + high for n, (low, high) in zip(x.shape[2:], border, strict=True))
    rest = tuple(
        (low - less, high - more)
        for (low, high), (less, more) in zip(windows.padding, border, strict=True)
    )
    inside = Windows(windows.stride, rest, windows.dilation)
    return apply(WindowSum(inside, sizes), filled((1, 1, *wide), 1, x.dtype))


@planned
@public
def sum_pool(x: TensorLike, kernel: PerAxis, stride: PerAxis | None = None,
             padding: PerAxis | str = 0, *, cover_all: bool = False, out: Tensor | None = None
             ) -> Tensor:
    """The sum of each window.

    :param x: (batch, channels, ...).
    :param kernel: Size of the windows.
    :param stride: Steps between windows; by default those of the kernel.
    :param padding: Border of zeros.
    :type padding: int, tuple, "valid" or "same"
    :param cover_all: Whether a last, smaller window takes what is left over.
    :returns: (batch, channels, ...): ``(n + borders - kernel) // stride + 1`` pixels on each axis,
        of the dtype of ``x``.
    :raises ShapeError: If a window does not fit, or there are no axes for windows.
    :raises ValueError: If ``stride`` is not positive, or there is no such padding.
    :see: avg_pool, max_pool, nn.functional.lp_pool

    >>> ag.nn.functional.sum_pool([[[1.0, 3.0, 2.0, 4.0]]], 2)
    tensor([[[4., 6.]]])
    """
    x, windows, sizes, wanted = _placed(x, kernel, stride, padding, cover_all)
    return _of(apply(WindowSum(windows, sizes), x), wanted)


@planned
@public
def lp_pool(x: TensorLike, p: float, kernel: PerAxis, stride: PerAxis | None = None,
            cover_all: bool = False, padding: PerAxis | str = 0, *, out: Tensor | None = None
            ) -> Tensor:
    """The ``p``-norm of each window: ``sum(x**p)**(1/p)``, with gradient 0 where it is 0.

    As in PyTorch, it is the sum for ``p = 1``; other powers of negative sums are NaN.

    :like: avg_pool
    :param p: The exponent, above 0.
    :param cover_all: Whether a last, smaller window takes what is left over; it counts as if it
        were filled up with elements like its own, as in PyTorch.
    :raises ValueError: If ``p`` or ``stride`` is not positive, or there is no such padding.
    :see: avg_pool, max_pool, nn.LPPool2d

    >>> ag.nn.functional.lp_pool([[[3.0, 4.0, 0.0, 1.0]]], 2, 2)
    tensor([[[5., 1.]]])
    """
    x, windows, sizes, wanted = _placed(x, kernel, stride, padding, cover_all)
    if x.dtype.kind not in "fV":
        raise DTypeError(f"the norm needs floats, not {x.dtype}; convert with .astype('float32')")
    if p <= 0:
        raise ValueError(f"the norm needs an exponent above 0, not {p}")
    powers = arith.square(x) if p == 2 else arith.power(x, p)
    total = _of(apply(WindowSum(windows, sizes), powers), wanted)
    if cover_all:  # as if smaller windows were filled up with elements like those in them
        widths = borders(padding, sizes, (1,) * len(sizes), windows.stride)
        total = total * (math.prod(sizes) / _of(_counts(x, windows, sizes, widths), wanted))
    nothing = total == 0
    whole = select.where(nothing, 1, total)
    root = arith.sqrt(whole) if p == 2 else arith.power(whole, 1 / p)
    return select.where(nothing, 0, root)


# -- windows that fit ---------------------------------------------------------------------------
def _fitted(x: Any, size: Any, rank: int | None) -> tuple[Tensor, Ints, list[list[Any]]]:
    """The operand, the sizes wanted, and where the window of each pixel begins and ends.

    An axis of unknown size that stays as it is has no windows.
    """
    x = as_tensor(x)
    rank = x.ndim - 2 if rank is None else rank
    if rank < 1 or x.ndim != rank + 2:
        raise ShapeError(f"the operand {x.shape} must be (batch, channels, ...)")
    size = listed(size)
    given = tuple(size) if isinstance(size, (tuple, list)) else (size,)
    given = given * rank if len(given) == 1 else given
    if len(given) == rank:
        given = tuple(n if o is None else o for o, n in zip(given, x.shape[2:], strict=True))
    fixed = per_axis(tuple(1 if isinstance(n, Dim) else n for n in given), rank, "size")
    wanted: Any = tuple(n if isinstance(n, Dim) else k for n, k in zip(given, fixed, strict=True))
    return x, wanted, [
        [(i * n // o, ((i + 1) * n + o - 1) // o) for i in range(o)] if isinstance(o, int) else []
        for n, o in zip(x.shape[2:], wanted, strict=True)
    ]


def _regular(x: Tensor, wanted: Ints) -> Ints | None:
    """The size of the windows where they are known, all equal and do not overlap."""
    if not is_static(x.shape[2:]) or any(n % o for n, o in zip(x.shape[2:], wanted, strict=True)):
        return None
    return tuple(n // o for n, o in zip(x.shape[2:], wanted, strict=True))


def _axis_by_axis(x: Tensor, spans: list[list[Any]], of: Any) -> Tensor:
    """The windows of one axis after the other, by a reduction of each, for sizes not known yet."""
    for axis, rows in enumerate(spans, 2):
        before = (slice(None),) * axis
        parts = [of(x[(*before, slice(a, b))], axis, keepdims=True) for a, b in rows]
        x = concat(parts, axis) if parts else x
    return x


def _along(x: Tensor, axis: int, rows: Sequence[tuple[int, int]], origin: np.ndarray) -> Tensor:
    """The greatest elements of windows along one axis behind the channels.

    Compiled code pools a few windows one by one.  Of many, elements of several windows are repeated
    first, so that windows do not overlap; eagerly, too, where each window would be calls.

    :param rows: Where each window begins and ends.
    :param origin: The pixels of the elements of all windows, each as long as the longest.
    """
    if x.array is not None or len(rows) > _MAX_SLICES:
        return _most(take(x, origin, axis + 2), axis, len(origin) // len(rows))
    return concat([_most(part, axis, part.shape[axis + 2]) for part in _parts(x, axis, rows)],
                  axis + 2)


def _most(x: Tensor, axis: int, k: int) -> Tensor:
    """The greatest of each ``k`` elements along one axis behind the channels."""
    return max_pool(x, tuple(k if a == axis else 1 for a in range(x.ndim - 2)))


def _parts(x: Tensor, axis: int, rows: Sequence[tuple[int, int]]) -> list[Tensor]:
    """What is in each window of one axis behind the channels."""
    before = (slice(None),) * (axis + 2)
    return [x[(*before, slice(a, b))] for a, b in rows]


def _picked(x: Tensor, spans: Sequence[Sequence[tuple[int, int]]]) -> Tensor:
    """The greatest elements of windows, taken from their places, to which gradients go back.

    The first axis comes first, so that the others are registers' lanes.  Of equal elements the one
    whose number in the image is the least is taken, whatever the order of the axes.
    """
    sizes = x.shape[2:]
    pixels = math.prod(sizes)
    top = apply(STOP, x)
    number = reshape(arange(pixels, dtype=np.int32 if pixels < 1 << 31 else np.int64),
                    (1, 1, *sizes))
    for axis, rows in enumerate(spans):
        tops, numbers = [], []
        for part, mine in zip(_parts(top, axis, rows), _parts(number, axis, rows), strict=True):
            most = _most(part, axis, part.shape[axis + 2])
            chosen = compare.equal(part, most) | compare.not_equal(part, part)
            tops.append(most)
            numbers.append(min_of(select.where(chosen, mine, pixels), axis + 2, keepdims=True))
        top, number = concat(tops, axis + 2), concat(numbers, axis + 2)
    images = x.shape[:2]
    wanted = tuple(map(len, spans))
    found = take_along_axis(reshape(x, (*images, pixels)),
                            reshape(number, (*images, math.prod(wanted))), 2)
    return reshape(found, (*images, *wanted))


@planned
@public
def adaptive_max_pool(x: TensorLike, size: ShapeLike, return_indices: bool = False, *,
                      out: Tensor | None = None) -> Any:
    """The greatest element of each of ``size`` windows of nearly equal size.

    :param x: (batch, channels, ...).
    :param size: Pixels on each axis; None keeps those that there are.  Window i of o over an axis
        of n takes the elements from ``floor(i n / o)`` to ``ceil((i + 1) n / o)``.
    :type size: int or tuple of int or None
    :param return_indices: Whether to return their indices, too, as :func:`max_pool` does.
    :returns: And, with ``return_indices``, the tensor of indices.
    :rtype: Tensor
    :raises ShapeError: If ``x`` has no axes for windows, or a size must be known and is not.
    :see: nn.functional.adaptive_avg_pool, max_pool, nn.AdaptiveMaxPool2d

    >>> ag.nn.functional.adaptive_max_pool([[[1.0, 3.0, 2.0, 4.0, 0.0]]], 2)
    tensor([[[3., 4.]]])
    """
    x, wanted, spans = _fitted(x, size, None)
    kernel = _regular(x, wanted)
    if kernel is not None:
        return max_pool(x, kernel, return_indices=return_indices)  # type: ignore[call-overload]
    sizes = x.shape[2:]
    if not is_static(sizes):
        if return_indices:
            raise ShapeError(f"indices of windows that fit need to know the sizes {sizes}")
        return _axis_by_axis(x, spans, max_of)
    kernel = tuple(max(b - a for a, b in rows) for rows in spans)
    origins = [np.array([min(a + t, b - 1) for a, b in rows for t in range(k)])
               for rows, k in zip(spans, kernel, strict=True)]
    if not return_indices:  # the last axis first: the first in row-major order takes the gradient
        few = x.array is None and all(len(rows) <= _MAX_SLICES for rows in spans)
        recording = MODE.get().recording
        if few and recording and x._requires_grad:
            return _picked(x, spans)
        axes = range(len(kernel))
        for axis in reversed(axes) if recording or not few else axes:
            x = _along(x, axis, spans[axis], origins[axis])
        return x
    for axis, origin in enumerate(origins, 2):
        x = take(x, origin, axis)
    found = max_pool(x, kernel)
    windows = Windows(kernel, ((0, 0),) * len(kernel), (1,) * len(kernel))
    starts = zip(origins, positions(x, windows, kernel), strict=True)
    return found, raveled([take(as_tensor(o), i) for o, i in starts], sizes)


@planned
@public
def adaptive_avg_pool(x: TensorLike, size: ShapeLike, *, out: Tensor | None = None) -> Tensor:
    """Average pooling to ``size`` windows of nearly equal size.

    :like: adaptive_max_pool
    :returns: (batch, channels, *size), of the dtype of ``x``.
    :raises ShapeError: If ``x`` has no axes for windows.
    :raises DTypeError: If ``x`` is not floating.
    :see: nn.functional.adaptive_max_pool, avg_pool, nn.AdaptiveAvgPool2d

    >>> ag.nn.functional.adaptive_avg_pool([[[1.0, 3.0, 2.0, 4.0]]], 1)
    tensor([[[2.5]]])
    """
    x, wanted, spans = _fitted(x, size, None)
    if x.dtype.kind not in "fcV":
        raise DTypeError(f"the mean needs floats, not {x.dtype}; convert with .astype('float32')")
    kernel = _regular(x, wanted)
    if all(isinstance(n, int) and n == 1 for n in wanted):
        return mean(x, tuple(range(2, x.ndim)), keepdims=True)
    if kernel is not None:
        return avg_pool(x, kernel)
    if not is_static(x.shape[2:]):
        return _axis_by_axis(x, spans, mean)
    for axis, rows in enumerate(spans):
        shares = np.zeros((len(rows), x.shape[axis + 2]), x.dtype)
        for i, (a, b) in enumerate(rows):
            shares[i, a:b] = 1 / (b - a)
        x = moveaxis(matmul(moveaxis(x, axis + 2, -1), as_tensor(shares.T)), -1, axis + 2)
    return x


# -- by number of axes --------------------------------------------------------------------------
def _ranked(function: Any, rank: int, others: int = 0) -> Any:
    """The function for images of ``rank`` axes, with or without a batch.

    So many ``others`` of its arguments are of the shape of the images.
    """

    @functools.wraps(function)  # whose signature is shown
    def pool(input: Any = None, *args: Any, out: Tensor | None = None, **keywords: Any) -> Any:
        if input is None and "x" not in keywords:
            raise TypeError("the operand is missing: it comes first, without a name")
        x = as_images(keywords.pop("x") if input is None else input, rank)
        if x.ndim == rank + 1:
            beside = [as_tensor(a)[None] for a in args[:others]]
            found = function(x[None], *beside, *args[others:], **keywords)
            return tuple(y[0] for y in found) if isinstance(found, tuple) else found[0]
        return function(x, *args, **keywords)

    name, shape = f"{function.__name__}{rank}d", f"(batch, channels{', size' * rank})"
    pool.__name__ = pool.__qualname__ = name
    pool.__module__ = __name__
    summary, _, rest = inspect.cleandoc(function.__doc__ or "").partition("\n\n")
    pool.__doc__ = (
        f"{summary}\n\nIt is :func:`{function.__name__}` of {shape},\n"
        f"or of one image without a batch.\n\n{rest}"
    )
    return planned(public(pool))


max_pool1d, max_pool2d, max_pool3d = (_ranked(max_pool, n) for n in (1, 2, 3))
max_unpool1d, max_unpool2d, max_unpool3d = (_ranked(max_unpool, n, 1) for n in (1, 2, 3))
avg_pool1d, avg_pool2d, avg_pool3d = (_ranked(avg_pool, n) for n in (1, 2, 3))
sum_pool1d, sum_pool2d, sum_pool3d = (_ranked(sum_pool, n) for n in (1, 2, 3))
lp_pool1d, lp_pool2d, lp_pool3d = (_ranked(lp_pool, n) for n in (1, 2, 3))
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (
    _ranked(adaptive_max_pool, n) for n in (1, 2, 3)
)
adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (
    _ranked(adaptive_avg_pool, n) for n in (1, 2, 3)
)
