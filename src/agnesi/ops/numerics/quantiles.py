"""Quantiles by every method of Hyndman and Fan (1996), with or without NaN."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from agnesi.core import shapes
from agnesi.core.dispatch import apply
from agnesi.core.ir.dims import Dim, product
from agnesi.core.op import typed
from agnesi.core.parameter_types import Axis, TensorLike
from agnesi.core.public import planned, public, where_torch
from agnesi.core.support import dtypes
from agnesi.core.support.errors import TraceError
from agnesi.core.support.tracing import is_known
from agnesi.core.tensor import Tensor
from agnesi.ops.arrays.replicate import broadcast_to
from agnesi.ops.base.compare import isfinite, isnan, logical_not
from agnesi.ops.base.convert import as_tensor, cast, check_unmasked, number
from agnesi.ops.base.creation import full
from agnesi.ops.base.movement import moveaxis, reshape
from agnesi.ops.base.parameter_checks import demanded
from agnesi.ops.base.reduce import any as some
from agnesi.ops.base.reduce import sum as total
from agnesi.ops.base.reduce import with_order
from agnesi.ops.base.select import ceil, clip, floor, where
from agnesi.ops.base.select import round as nearest
from agnesi.ops.elementwise.composites import composite
from agnesi.ops.indexing.index import take, take_along_axis
from agnesi.ops.numerics.statistics import spread
from agnesi.ops.reductions.running import cumsum
from agnesi.ops.sorting.sort import Partition, argsort, sort

__all__ = ["median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]

#: Methods with a continuous position among the elements: its two parameters.
_CONTINUOUS = {
    "interpolated_inverted_cdf": (0.0, 1.0), "hazen": (0.5, 0.5), "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3), "normal_unbiased": (3 / 8, 3 / 8),
}
METHODS = (
    "linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf", "averaged_inverted_cdf",
    "closest_observation", *_CONTINUOUS,
)


def _position(method: str, n: Any, q: Tensor) -> Tensor:
    """Where a quantile is among ``n`` elements in order, counted from 0."""
    if method in _CONTINUOUS:
        alpha, beta = _CONTINUOUS[method]
        return q * n + (q * (1 - alpha - beta) + alpha) - 1
    if method in ("inverted_cdf", "averaged_inverted_cdf", "closest_observation"):
        at = q * n - (1.5 if method == "closest_observation" else 1)
        low = floor(at)
        if method == "inverted_cdf":
            return ceil(at)
        if method == "averaged_inverted_cdf":
            return where(at == low, low + 0.5, low + 1)
        return where((at == low) & (low % 2 == 1), low, low + 1)
    at = q * (n - 1)
    if method == "midpoint":
        return (floor(at) + ceil(at)) * 0.5
    return {"linear": at, "lower": floor(at), "higher": ceil(at), "nearest": nearest(at)}[method]


def _between(ordered: Tensor, position: Tensor, n: Any, begin: int = 0) -> Tensor:
    """Elements of ``n`` in order at positions, between two of them linearly.

    The last axis has those from position ``begin`` on.
    """
    position = clip(position, 0, n - 1) - begin
    low = floor(position)
    dtype = dtypes.floating(ordered.dtype)
    share = cast(position - low, dtype)
    below = cast(low, dtypes.int64)
    above = cast(ceil(position), dtypes.int64)
    if position.ndim == 1:
        first, second = take(ordered, below, -1), take(ordered, above, -1)
    else:
        below, above = (broadcast_to(i, (*ordered.shape[:-1], i.shape[-1])) for i in (below, above))
        first, second = (take_along_axis(ordered, i, -1) for i in (below, above))
    first, second = cast(first, dtype), cast(second, dtype)
    apart = second - first
    between = where(isfinite(apart), first + apart * share, first * (1 - share) + second * share)
    return where(share == 0, first, between)


def _ordered(x: Tensor, axis: int, bounds: tuple[float, float] | None) -> tuple[Tensor, int]:
    """The elements of an axis in order, those of shares between two bounds, as the last axis; and
    the position of the first one."""
    n = x.shape[axis]
    if bounds is None or x.dtype.kind == "c" or not isinstance(n, int):
        return moveaxis(sort(x, axis), axis, -1), 0
    first, last = math.floor(bounds[0] * n) - 3, math.ceil(bounds[1] * n) + 1  # by any method
    first, last = max(first, 0), min(last, n - 1)
    parted = apply(Partition(axis, False, first, last), x)
    return moveaxis(parted, axis, -1)[..., first: last + 1], first


def _rows(x: Tensor, axis: Axis) -> tuple[Tensor, tuple[int, ...]]:
    """The elements of ``axis`` as the last axis, and which axes they were."""
    axes = shapes.axes_of(axis, x.ndim)
    moved = moveaxis(x, axes, tuple(range(-len(axes), 0))) if axes else x
    kept = tuple(moved.shape[: x.ndim - len(axes)])
    return reshape(moved, (*kept, product(moved.shape[len(kept):]))), axes


class _Shares(NamedTuple):
    """Shares of elements, and the least and the greatest, where Python may read them."""

    values: Tensor
    bounds: tuple[float, float] | None


_HALF = _Shares(number(0.5, dtypes.float64), (0.5, 0.5))


def _shares(q: Any) -> _Shares:
    t = as_tensor(_numbers(q))
    t = cast(as_tensor(np.asarray(q, np.float64)), dtypes.float64) if not isinstance(q, Tensor) \
        else cast(t, dtypes.float64)
    if isinstance(q, Tensor) and not is_known(q):
        return _Shares(demanded("quantile", "q must lie between 0 and 1", _is_share, q=t)[0], None)
    known: Any = t.array
    if not _is_share(known).all():
        raise ValueError(f"q must lie between 0 and 1, not {q}")
    return _Shares(t, (float(known.min()), float(known.max())) if known.size else None)


def _is_share(q: Any) -> Any:
    return (q >= 0) & (q <= 1)


def _quantile(x: Any, of: _Shares, axis: Axis, method: str, keepdims: bool, skip: bool,
              weights: Any = None) -> Tensor:
    x = as_tensor(x)
    if weights is not None:
        if method != "inverted_cdf":
            raise ValueError(f"weights are for the method 'inverted_cdf', not {method!r}")
        return _weighted(with_order(x), of.values, axis, keepdims, skip, as_tensor(weights))
    how = of.bounds, shapes.axes_of(axis, x.ndim), method, bool(keepdims), skip
    return _of_shares(x, of.values, how=how)


def _weighted(x: Tensor, q: Tensor, axis: Axis, keepdims: bool, skip: bool, w: Tensor) -> Tensor:
    """The first elements in order up to which the weights are shares of their sum."""
    if w.shape != x.shape:
        w = spread(w, x, shapes.axes_in_order(axis, x.ndim))
    (w,) = demanded("quantile", "weights must be at least 0 and finite, and not all 0",
                    lambda w: (w >= 0) & (w < math.inf) & (w.sum() > 0), weights=w)
    rows, axes = _rows(x, axis)
    counts = cast(_rows(w, axis)[0], dtypes.float64)
    if skip:
        counts = where(isnan(rows), 0, counts)
    order = argsort(rows, -1)
    rows = take_along_axis(rows, order, -1)
    upto = cumsum(take_along_axis(counts, order, -1), -1)
    upto = upto / upto[..., -1:]
    before = (upto < reshape(q, (q.size, *[1] * upto.ndim))) | (upto == 0)
    position = clip(total(before, -1, keepdims=True), 0, rows.shape[-1] - 1)
    rows = broadcast_to(rows, (q.size, *rows.shape))
    found = cast(take_along_axis(rows, position, -1)[..., 0], dtypes.floating(x.dtype))
    if not skip:
        found = where(some(isnan(rows), -1), math.nan, found)
    return reshape(found, (*q.shape, *shapes.reduced(x.shape, axes, keepdims)))


@composite
def _of_shares(x: Tensor, q: Tensor, how: tuple[Any, ...]) -> Tensor:
    x, (bounds, axis, method, keepdims, skip) = with_order(x), how
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
    rows, axes = _rows(x, axis)
    n = rows.shape[-1]
    if isinstance(n, Dim):
        raise TraceError(f"quantile needs to know the size {n} of the axis")
    if n == 0:  # nothing is in its middle
        kept = shapes.reduced(x.shape, axes, keepdims)
        return full((*q.shape, *kept), math.nan, dtypes.floating(x.dtype))
    shares = reshape(q, (q.size,))
    if skip:
        ordered = sort(rows, -1)
        count = cast(total(logical_not(isnan(rows)), -1, keepdims=True), dtypes.float64)
        found = _between(ordered, _position(method, count, shares), count.clip(1))
    else:
        position = _position(method, float(n), shares)
        source, along = (x, axes[0]) if len(axes) == 1 else (rows, rows.ndim - 1)
        ordered, first = _ordered(source, along, bounds)
        found = _between(ordered, position, n, first)
        if x.dtype.kind in "fV":
            found = where(some(isnan(rows), -1, keepdims=True), math.nan, found)
    found = moveaxis(found, -1, 0)
    kept = shapes.reduced(x.shape, axes, keepdims)
    return reshape(found, (*q.shape, *kept))


@planned
@public
def quantile(x: TensorLike, q: TensorLike, axis: Axis = None, *, method: str = "linear",
             keepdims: bool = False, weights: TensorLike | None = None,
             out: Tensor | None = None) -> Tensor:
    """The value below which a share ``q`` of the elements is.

    :param x: Real numbers; integers become the default float dtype.
    :param q: Between 0 and 1; the axes of several come first in the result.
    :type q: float or array_like
    :param method: What to take between two elements, in NumPy's words: "linear", "lower", "higher",
        "midpoint", "nearest", "inverted_cdf", "averaged_inverted_cdf", "closest_observation",
        "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased", "normal_unbiased"
        (Hyndman and Fan, Sample quantiles in statistical packages, 1996).
    :param weights: How often each element counts, for the method "inverted_cdf"; of the shape of
        ``x``, or of its axes ``axis``.
    :returns: The shape of ``q``, then that of ``x`` without the axes; NaN where an element is NaN.
    :raises DTypeError: For complex numbers.
    :raises ValueError: If ``q`` is out of its range, there is no such method, or none with weights.
    :raises TraceError: If NaN must be left out of an axis whose size is not known.
    :see: percentile, median, nanquantile, histogram

    >>> ag.quantile(ag.tensor([1.0, 2.0, 4.0]), 0.25).item()
    1.5
    >>> ag.quantile(ag.tensor([1.0, 2.0, 4.0]), [0.0, 0.6], method="lower")
    tensor([1., 2.])
    """
    return _quantile(x, _shares(q), axis, method, keepdims, False, weights)


@planned
@public
def percentile(x: TensorLike, q: TensorLike, axis: Axis = None, *, method: str = "linear",
               keepdims: bool = False, weights: TensorLike | None = None,
               out: Tensor | None = None) -> Tensor:
    """:func:`quantile` of ``q`` percent.

    :like: quantile
    :param q: Between 0 and 100; the axes of several come first in the result.
    :type q: float or array_like
    :param method: What to take between two elements: "linear", "lower", "higher", "midpoint",
        "nearest", and others, as for :func:`quantile`.
    :returns: The shape of ``q``, then that of ``x`` without the axes, floating; NaN for no
        elements.
    :see: quantile, median, nanpercentile

    >>> ag.percentile(ag.tensor([1.0, 2.0, 4.0]), 25).item()
    1.5
    """
    return _quantile(x, _hundredth(q), axis, method, keepdims, False, weights)


def _hundredth(q: Any) -> _Shares:
    q = _numbers(q)
    if not isinstance(q, Tensor) and not _is_share(np.asarray(q, np.float64) / 100).all():
        raise ValueError(f"q must lie between 0 and 100, not {q}")
    return _shares(cast(q, dtypes.float64) / 100 if isinstance(q, Tensor)
                   else np.asarray(q, np.float64) / 100)


def _numbers(q: Any) -> Any:
    """Refuse texts and masked arrays, which NumPy would read."""
    check_unmasked(q)
    if (q.dtype if isinstance(q, Tensor) else np.asarray(q).dtype).kind not in "biufV":
        raise TypeError(f"q must be a number or several, not {typed(q)}")
    return q


@where_torch
@planned
@public
def median(x: TensorLike, axis: Axis = None, *, keepdims: bool = False,
           out: Tensor | None = None) -> Tensor:
    """The middle element, or the mean of the two in the middle; NaN where an element is NaN.

    :like: quantile
    :returns: The shape of ``x`` without the axes, floating; NaN for no elements.
    :raises ValueError: If an axis is named twice.
    :see: nanmedian, mean, quantile, kthvalue

    >>> ag.median(ag.tensor([3.0, 1.0, 2.0])).item()
    2.0
    """
    return _quantile(x, _HALF, axis, "linear", keepdims, False)


@planned
@public
def nanquantile(x: TensorLike, q: TensorLike, axis: Axis = None, *, method: str = "linear",
                keepdims: bool = False, weights: TensorLike | None = None,
                out: Tensor | None = None) -> Tensor:
    """:func:`quantile` of the elements that are not NaN; NaN where there are none.

    :like: quantile
    :param method: What to take between two elements: "linear", "lower", "higher", "midpoint",
        "nearest", and others, as for :func:`quantile`.
    :returns: The shape of ``q``, then that of ``x`` without the axes, floating; NaN for no
        elements.
    :see: quantile, nanpercentile, nanmedian

    >>> ag.nanquantile(ag.tensor([1.0, ag.nan, 3.0]), 0.5).item()
    2.0
    """
    return _quantile(x, _shares(q), axis, method, keepdims, True, weights)


@planned
@public
def nanpercentile(x: TensorLike, q: TensorLike, axis: Axis = None, *, method: str = "linear",
                  keepdims: bool = False, weights: TensorLike | None = None,
                  out: Tensor | None = None) -> Tensor:
    """:func:`percentile` of the elements that are not NaN; NaN where there are none.

    :like: quantile
    :param q: Between 0 and 100; the axes of several come first in the result.
    :type q: float or array_like
    :param method: What to take between two elements: "linear", "lower", "higher", "midpoint",
        "nearest", and others, as for :func:`quantile`.
    :returns: The shape of ``q``, then that of ``x`` without the axes, floating; NaN for no
        elements.
    :see: percentile, nanquantile

    >>> ag.nanpercentile(ag.tensor([1.0, ag.nan, 3.0]), 50).item()
    2.0
    """
    return _quantile(x, _hundredth(q), axis, method, keepdims, True, weights)


@where_torch
@planned
@public
def nanmedian(x: TensorLike, axis: Axis = None, *, keepdims: bool = False,
              out: Tensor | None = None) -> Tensor:
    """:func:`median` of the elements that are not NaN; NaN where there are none.

    :like: median
    :see: median, nanmean, nanquantile

    >>> ag.nanmedian(ag.tensor([1.0, ag.nan, 3.0])).item()
    2.0
    """
    return _quantile(x, _HALF, axis, "linear", keepdims, True)
