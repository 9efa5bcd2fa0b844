"""Images of other sizes: by their nearest elements, or between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from agnesi.core.dispatch import apply
from agnesi.core.ir.dims import is_static
from agnesi.core.op import typed
from agnesi.core.parameter_types import ShapeLike, TensorLike
from agnesi.core.public import planned, public
from agnesi.core.shapes import need_shape
from agnesi.core.support import dtypes
from agnesi.core.support.errors import DTypeError, ShapeError
from agnesi.core.support.record import record
from agnesi.core.support.worker_threads import elements
from agnesi.core.tensor import Tensor
from agnesi.ops.arrays.replicate import repeated
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.linearity import LinearOp
from agnesi.ops.base.movement import reshape
from agnesi.ops.convolution.pool import adaptive_avg_pool
from agnesi.ops.convolution.windows import listed, per_axis
from agnesi.ops.indexing.index import take

#: Modes, and how many axes images have then; None for any number.
_MODES = {
    "nearest": None, "nearest-exact": None, "area": None, "linear": 1, "bilinear": 2,
    "trilinear": 3, "bicubic": 2,
}

#: Keys' parameter, as PyTorch and OpenCV have it.
_CUBIC_PARAMETER = -0.75
#: Keys' parameter as Pillow has it, for means of many elements.
_SMOOTH_CUBIC_PARAMETER = -0.5


# -- sums of a few elements along an axis -------------------------------------------------------
@record
class Sampled(LinearOp):
    """Along an axis: each element the sum of a few, which tables name, times their weights.

    Behind the operand come the tables, a row for each term: the pixels and the weights of this
    sum, then those of its adjoint, which is such a sum too.
    """

    axis: int
    work = elements(8)
    name = "interpolate"
    keep_inputs = (1, 2, 3, 4)

    def infer(self, x: Any, indices: Any, weights: Any, *back: Any) -> Any:
        if len(back) != 2 or indices.dtype.kind != "i":
            raise ShapeError("it needs two tables of indices, and two of weights")
        need_shape(weights.shape, indices.shape, "the table of weights")
        need_shape(back[1].shape, back[0].shape, "the adjoint's table of weights")
        need_shape(back[0].shape[1:], x.shape[self.axis: self.axis + 1], "a row of the adjoint")
        return (*x.shape[: self.axis], indices.shape[1], *x.shape[self.axis + 1:]), x.dtype

    @np.errstate(all="ignore")
    def perform(self, x: np.ndarray, indices: np.ndarray, weights: np.ndarray,
                *back: np.ndarray) -> np.ndarray:
        sizes = (-1, *(1,) * (x.ndim - 1 - self.axis))
        terms = (x.take(p, self.axis) * w.reshape(sizes)
                 for p, w in zip(indices, weights, strict=True))
        total = next(terms)
        for term in terms:
            total += term
        return total

    def decompose(self, x: Tensor, indices: Tensor, weights: Tensor, *back: Tensor) -> Tensor:
        sizes = (-1, *(1,) * (x.ndim - 1 - self.axis))
        total: Any = 0
        for k in range(int(indices.shape[0])):
            total = total + take(x, indices[k], self.axis) * reshape(weights[k], sizes)
        found: Tensor = total
        return found

    def vjp(self, g: Tensor, y: Tensor, x: Tensor, *tables: Tensor) -> tuple[Any, ...]:
        return apply(self, g, *tables[2:], *tables[:2]), None, None, None, None


def _adjoint(indices: np.ndarray, weights: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The tables of the adjoint: which results each of ``n`` elements goes into, and how much."""
    flat = indices.ravel()
    order = flat.argsort(kind="stable")
    owner, counts = flat[order], np.bincount(flat, minlength=n)
    number = np.arange(len(flat)) - (counts.cumsum() - counts)[owner]
    back = np.zeros((np.max(counts, initial=1), n), np.int64)
    shares = np.zeros(back.shape)
    back[number, owner] = order % indices.shape[1]
    shares[number, owner] = weights.ravel()[order]
    return back, shares


def tables(indices: np.ndarray, weights: np.ndarray, n: int, dtype: Any) -> list[Tensor]:
    """The operands behind the first, of ``n`` elements along the axis."""
    back, shares = _adjoint(indices, weights, n)
    return [as_tensor(t) for t in (indices, weights.astype(dtype), back, shares.astype(dtype))]


# -- one axis -----------------------------------------------------------------------------------
class _Axis(NamedTuple):
    """An axis of ``n`` elements that shall have ``wanted``; ``scale`` is what the user gave.

    ``times`` is how many times as many these are, where that is a whole number.
    """

    n: Any
    wanted: Any
    scale: float | None = None
    times: int | None = None

    def nearest(self, exact: bool) -> np.ndarray:
        """For each pixel the nearest element: below, or (``exact``) around its middle."""
        i, o = np.arange(self.wanted), self.wanted
        if self.scale is None:
            found = (2 * i + 1) * self.n // (2 * o) if exact else i * self.n // o
        else:
            found = np.floor((i + exact / 2) / self.scale).astype(np.int64)
        return np.minimum(found, self.n - 1)

    def step(self, corners: bool) -> float:
        """The distance of neighbouring pixels."""
        if corners:
            return (self.n - 1) / (self.wanted - 1) if self.wanted > 1 else 0.0
        return self.n / self.wanted if self.scale is None else 1 / self.scale

    def positions(self, corners: bool) -> np.ndarray:
        """Where each pixel is between the elements, which are at whole numbers."""
        i, step = np.arange(self.wanted), self.step(corners)
        return i * step if corners else (i + 0.5) * step - 0.5

    def linear(self, corners: bool) -> tuple[np.ndarray, np.ndarray]:
        """The two elements around each pixel, and their shares."""
        at = np.maximum(self.positions(corners), 0)
        low = np.minimum(np.floor(at).astype(np.int64), self.n - 1)
        rest = at - low
        return np.stack([low, np.minimum(low + 1, self.n - 1)]), np.stack([1 - rest, rest])

    def cubic(self, corners: bool) -> tuple[np.ndarray, np.ndarray]:
        """The four elements around each pixel, and their shares (Keys 1981)."""
        at = self.positions(corners)
        low = np.floor(at).astype(np.int64)
        around = low + np.arange(-1, 3)[:, None]
        return np.clip(around, 0, self.n - 1), _keys(np.abs(at - around), _CUBIC_PARAMETER)

    def smooth(self, corners: bool, cubic: bool) -> tuple[np.ndarray, np.ndarray]:
        """As many elements as a pixel covers, where there are fewer pixels; Pillow's shares."""
        step = self.step(corners)
        wide = max(step, 1.0)
        centre, reach = (np.arange(self.wanted) + 0.5) * step, (2 if cubic else 1) * wide
        first = np.maximum((centre - reach + 0.5).astype(np.int64), 0)
        last = np.minimum((centre + reach + 0.5).astype(np.int64), self.n)
        indices = first + np.arange((last - first).max())[:, None]
        off = np.abs(indices - centre + 0.5) / wide
        shares = _keys(off, _SMOOTH_CUBIC_PARAMETER) if cubic else np.maximum(1 - off, 0)
        shares = np.where(indices < last, shares, 0)
        return np.minimum(indices, self.n - 1), shares / shares.sum(0)


def _keys(d: np.ndarray, a: float) -> np.ndarray:
    """Keys' curve (1981) at distances from its middle."""
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0))


# -- the function -------------------------------------------------------------------------------
@planned
@public
def interpolate(x: TensorLike, size: ShapeLike | None = None,
                scale_factor: float | Sequence[float] | None = None, mode: str = "nearest",
                align_corners: bool | None = None,
                recompute_scale_factor: bool | None = None, antialias: bool = False, *,
                out: Tensor | None = None) -> Tensor:
    """Images of another size, by their nearest elements or between them (PyTorch's).

    :param x: (batch, channels, ...).
    :param size: The size wanted on each axis.
    :param scale_factor: How many times as large the images become, instead of ``size``.
    :type scale_factor: float or tuple of float, optional
    :param mode: "nearest": pixel i of o over an axis of n has the element ``floor(i n / o)``.
        "nearest-exact": the one around its middle.  "linear", "bilinear", "trilinear", over one,
        two and three axes: the element is on a straight line between those around it.  "bicubic",
        over two: on Keys' curve through four (1981, with -0.75).  "area": the mean of those that
        the pixel covers.
    :param align_corners: Whether the first and last pixels, and not the borders of the images, are
        upon each other; for modes that interpolate.
    :param recompute_scale_factor: Whether pixels are as far apart as the sizes say, instead of
        the ``scale_factor``.
    :param antialias: Whether smaller images are made of all elements that a pixel covers, and not
        of those next to it alone, as Pillow does; for modes that interpolate.
    :returns: (batch, channels, *size), of the dtype of ``x``.
    :raises TypeError: If a ``scale_factor`` is a boolean.
    :raises ShapeError: If the images have not as many axes as the mode, or sizes must be known and
        are not.
    :raises DTypeError: If the mode computes with elements that are no floats.
    :raises ValueError: If there is no such mode, ``align_corners`` or ``antialias`` does not go
        with it, or not exactly one of ``size`` and ``scale_factor`` is given.
    :see: nn.Upsample, nn.functional.adaptive_avg_pool, nn.functional.pixel_shuffle

    >>> x = ag.tensor([[[1.0, 3.0]]])
    >>> ag.nn.functional.interpolate(x, scale_factor=2)
    tensor([[[1., 1., 3., 3.]]])
    >>> ag.nn.functional.interpolate(x, 4, mode="linear")
    tensor([[[1. , 1.5, 2.5, 3. ]]])
    """
    x = as_tensor(x)
    axes = _axes(x, size, listed(scale_factor), mode)
    if recompute_scale_factor and size is None:
        axes = _axes(x, tuple(axis.wanted for axis in axes), None, mode)
    if antialias and mode in ("area", "nearest", "nearest-exact"):
        raise ValueError(f"antialias is for modes that interpolate, not for {mode!r}")
    if mode == "area":
        return adaptive_avg_pool(x, tuple(axis.wanted for axis in axes))
    if mode.startswith("nearest"):
        if align_corners:
            raise ValueError(f"align_corners is for modes that interpolate, not for {mode!r}")
        return _nearest(x, axes, mode == "nearest-exact")
    if x.dtype.kind not in "fcV":
        raise DTypeError(f"{mode!r} needs floats, not {x.dtype}; convert with .astype('float32')")
    y = cast(x, dtypes.float32) if x.dtype in dtypes.HALVES else x
    for i, axis in reversed([*enumerate(axes)]):  # the last axis first: it is most expensive
        cubic = mode == "bicubic"
        if antialias:
            indices, weights = axis.smooth(align_corners, cubic)
        else:
            indices, weights = (axis.cubic if cubic else axis.linear)(align_corners)
        y = apply(Sampled(i + 2), y, *tables(indices, weights, axis.n, y.dtype))
    return cast(y, x.dtype)


def _axes(x: Tensor, size: Any, scale_factor: Any, mode: str) -> list[_Axis]:
    """Each axis of the images with the size wanted."""
    if mode not in _MODES:
        raise ValueError(f"mode {mode!r} is none of {', '.join(map(repr, _MODES))}")
    rank = x.ndim - 2
    if rank < 1 or _MODES[mode] not in (None, rank):
        axes = ", size" * (_MODES[mode] or 1)
        raise ShapeError(f"mode {mode!r} is for images (batch, channels{axes}), not {typed(x)}")
    if (size is None) == (scale_factor is None):
        raise ValueError("give the size wanted, or a scale_factor, and not both")
    sizes = x.shape[2:]
    if size is not None:
        wanted = per_axis(size, rank, "size")
        return [_Axis(n, o, None, None if o % n else o // n)
                for n, o in zip(_known(sizes), wanted, strict=True)]
    scales = scale_factor if isinstance(scale_factor, (tuple, list)) else (scale_factor,) * rank
    if any(isinstance(s, (bool, np.bool_)) for s in scales):
        raise TypeError(f"scale_factor must be a number, or one for each axis, not {scale_factor}")
    if len(scales) != rank or not all(s > 0 for s in scales):
        raise ValueError(f"scale_factor {scale_factor} must be above 0, for each of {rank} axes")
    if mode == "nearest" and all(s == int(s) for s in scales):
        return [_Axis(n, n * int(s), s, int(s)) for n, s in zip(sizes, scales, strict=True)]
    wanted = per_axis(tuple(math.floor(n * s) for n, s in zip(_known(sizes), scales, strict=True)),
                      rank, "the size wanted,")
    return [_Axis(n, o, s) for n, o, s in zip(sizes, wanted, scales, strict=True)]


def _known(sizes: Any) -> Any:
    """Sizes, if they are numbers and images hold something."""
    if not is_static(sizes):
        raise ShapeError(f"the sizes {sizes} must be known, but for whole scales of the nearest")
    if 0 in sizes:
        raise ShapeError(f"images of sizes {sizes} hold nothing")
    return sizes


def _nearest(x: Tensor, axes: list[_Axis], exact: bool) -> Tensor:
    """With each element repeated on all axes where that is enough, or taken where it is nearest."""
    times = (1, 1, *(axis.times or 1 for axis in axes))
    x = repeated(x, x.shape, times, before=False) if any(n != 1 for n in times) else x
    for number, axis in enumerate(axes, 2):
        x = x if axis.times else take(x, axis.nearest(exact), number)
    return x
