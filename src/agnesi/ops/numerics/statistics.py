"""Averages, covariances, and counts in bins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from agnesi.core import shapes
from agnesi.core.integers import integer
from agnesi.core.ir.dims import is_open
from agnesi.core.parameter_types import Axis, DTypeLike, TensorLike
from agnesi.core.public import planned, public, where_torch
from agnesi.core.support import dtypes
from agnesi.core.support.errors import DTypeError, ShapeError, TraceError, typed
from agnesi.core.support.tracing import is_known
from agnesi.core.support.worker_threads import aside
from agnesi.core.tensor import Tensor, wrap
from agnesi.core.value_sizes import size_of
from agnesi.ops.arrays.replicate import broadcast_to
from agnesi.ops.base.arith import conj, imag, real, sqrt
from agnesi.ops.base.compare import isnan, logical_and, logical_not
from agnesi.ops.base.convert import as_tensor, beside, cast, exact, pair
from agnesi.ops.base.creation import filled
from agnesi.ops.base.ensure import ensure
from agnesi.ops.base.literals import as_indices
from agnesi.ops.base.movement import atleast_2d, matrix_transpose, reshape
from agnesi.ops.base.parameter_checks import demanded, of_shape
from agnesi.ops.base.reduce import max as greatest
from agnesi.ops.base.reduce import mean
from agnesi.ops.base.reduce import min as least
from agnesi.ops.base.reduce import sum as total
from agnesi.ops.base.select import clip, maximum, where
from agnesi.ops.contractions.matmul import matmul
from agnesi.ops.indexing.diagonal import diagonal
from agnesi.ops.indexing.join import concat, stack
from agnesi.ops.indexing.ranges import arange
from agnesi.ops.indexing.scatter import index_put
from agnesi.ops.sorting.sort import searchsorted

#: What a rule for bins takes for an element, which may sort them.
_RULE_NANOSECONDS = 16
#: Types of sizes that are known.
_PLAIN = frozenset((int, type(None)))

__all__ = [
    "average", "bincount", "corrcoef", "cov", "digitize", "histogram", "histogram2d",
    "histogram_bin_edges", "histogramdd", "ptp",
]


# -- averages and covariances -------------------------------------------------------------------
@planned
@public
def average(x: TensorLike, axis: Axis = None, weights: TensorLike | None = None,
            returned: bool = False, *, keepdims: bool = False) -> Any:
    """Mean over axes, weighted.

    :param x: Integers become the default float dtype.
    :param axis: Axes to reduce over, negative ones counted from the end; all by default. Also
        written ``dim``.
    :param weights: Of the shape of ``x``, or of its axes ``axis``.
    :param returned: Whether to give the sum of the weights too.
    :returns: The shape of ``x`` without the axes; NaN where the weights sum to 0.
    :rtype: Tensor, or pair of Tensor
    :raises ShapeError: If the weights do not fit.
    :see: mean, median, nanmean

    >>> ag.average(ag.tensor([1.0, 3.0]), weights=ag.tensor([3.0, 1.0]))
    tensor(1.5)
    """
    if weights is None:
        x = as_tensor(x)
        result = mean(x, axis, keepdims=keepdims)
        count = shapes.count(x.shape, shapes.axes_of(axis, x.ndim))
        return (result, broadcast_to(as_tensor(count, result.dtype), result.shape)) \
            if returned else result
    x, w = pair(x, weights)
    kind = dtypes.floating(x.dtype)
    x, w = exact(x), exact(w)
    if not shapes.fits(w.shape, x.shape):
        w = spread(w, x, shapes.axes_in_order(axis, x.ndim))
    w = of_shape("average", w, x.shape, f"weights have shape {w.shape}, but the operand {x.shape}")
    scale = broadcast_to(total(w, axis, keepdims=keepdims), ())\
        if axis is None and not keepdims else total(w, axis, keepdims=keepdims)
    (scale,) = demanded("average", "weights must not sum to zero", lambda s: s != 0,
                        of_complex=True, scale=scale)
    result = cast(total(x * w, axis, keepdims=keepdims) / scale, kind)
    scale = cast(scale, kind)
    return (result, broadcast_to(scale, result.shape)) if returned else result


def spread(w: Tensor, x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Weights of some axes as those of all."""
    wanted = tuple(x.shape[a] for a in axes)
    w = of_shape("average", w, wanted, f"weights have shape {w.shape}, but the axes {axes} of the "
                                       f"operand {wanted}")
    order = sorted(range(len(axes)), key=axes.__getitem__)
    w = w.permute(*order) if len(axes) > 1 else w
    return broadcast_to(
        reshape(w, tuple(n if a in axes else 1 for a, n in enumerate(x.shape))), x.shape
    )


@planned
@public
def ptp(x: TensorLike, axis: Axis = None, *, keepdims: bool = False, out: Tensor | None = None
        ) -> Tensor:
    """The greatest element less the least, along axes.

    :param x: Of a dtype with an order.
    :param axis: Axes to reduce over, negative ones counted from the end; all by default. Also
        written ``dim``.
    :returns: The shape of ``x`` without the axes, of its dtype.
    :raises ShapeError: If there are no elements.
    :see: max, min, std

    >>> ag.ptp(ag.tensor([4, 9, 2]))
    tensor(7)
    """
    return greatest(x, axis, keepdims=keepdims) - least(x, axis, keepdims=keepdims)


@planned
@public
def cov(m: TensorLike, y: TensorLike | None = None, rowvar: bool = True, bias: bool = False,
        ddof: int | None = None, fweights: TensorLike | None = None,
        aweights: TensorLike | None = None, *, dtype: DTypeLike = None, out: Tensor | None = None
        ) -> Tensor:
    """Covariances of the rows (of the columns unless ``rowvar``).

    :param m: A vector or matrix of observations.
    :param y: More variables.
    :param rowvar: Whether variables are in rows instead of columns.
    :param bias: Whether to divide by ``n`` instead of ``n - 1``.
    :param ddof: Divides by ``n - ddof``.
    :param fweights, aweights: How often each observation was made, and how much it weighs.
    :param dtype: What to compute in; integers become the default float dtype.
    :returns: A symmetric matrix; one number for one variable.
    :raises ShapeError: If ``m`` has more than 2 axes, or weights do not fit.
    :raises ValueError: If a weight is negative, or ``fweights`` not whole; in compiled code too.
    :see: corrcoef, var

    >>> ag.cov(ag.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    x = _variables(m, rowvar)
    if y is not None:
        x = concat(list(pair(x, _variables(y, rowvar))), 0)
    kind = dtypes.floating(x.dtype) if dtype is None else dtypes.as_dtype(dtype)
    x = exact(x) if x.dtype.kind in "biu" and kind.kind != "c" else cast(
        x, dtypes.accumulated(kind))
    less = ddof if ddof is not None else 0 if bias else 1
    w = None
    for name, weights in (("fweights", fweights), ("aweights", aweights)):
        if weights is not None:
            given = cast(_weights_of(name, weights), dtypes.real_of(x.dtype))
            w = given if w is None else w * given
    if w is None:
        centred = x - mean(x, 1, keepdims=True)
        scale: Any = maximum(as_tensor(x.shape[1] - less), 0)
        product = matmul(centred, conj(matrix_transpose(centred)))
    else:
        weight = total(w)
        centred = x - total(x * w, 1, keepdims=True) / weight
        scale = weight - less if aweights is None or not less else \
            weight - total(w * as_tensor(aweights)) * less / weight
        product = matmul(centred * w, conj(matrix_transpose(centred)))
    result = cast(product / scale, kind)
    return reshape(result, tuple(n for n in result.shape if n != 1))


def _weights_of(name: str, weights: Any) -> Tensor:
    """A weight, or a count, for each observation."""
    w = as_tensor(weights)
    if w.ndim != 1:
        raise ShapeError(f"{name} must be a vector, not of shape {w.shape}")
    counts = name == "fweights"
    (w,) = demanded("cov", f"{name} must be {'whole and ' * counts}not negative",
                    lambda w: (w >= 0) & (w % 1 == 0) if counts else w >= 0, w=w)
    return w


def _variables(m: Any, rowvar: bool) -> Tensor:
    x = as_tensor(m)
    if x.ndim > 2:
        raise ShapeError(f"observations are a vector or a matrix, not of shape {x.shape}")
    by_columns = x.ndim == 2 and not rowvar
    return matrix_transpose(x) if by_columns else atleast_2d(x)


@planned
@public
def corrcoef(x: TensorLike, y: TensorLike | None = None, rowvar: bool = True, *,
             dtype: DTypeLike = None, out: Tensor | None = None) -> Tensor:
    """Correlation coefficients of the rows (of the columns unless ``rowvar``).

    :param x: A vector or matrix of observations.
    :param y: More variables.
    :param rowvar: Whether variables are in rows instead of columns.
    :param dtype: What to compute in.
    :returns: A matrix of numbers in [-1, 1]; NaN for variables that do not vary.
    :raises ShapeError: If ``x`` has more than 2 axes.
    :see: cov, correlate

    >>> ag.corrcoef(ag.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    spread = sqrt(real(diagonal(c)))
    r = c / spread[:, None] / spread[None, :]
    if r.dtype.kind != "c":
        return clip(r, -1, 1)
    return as_tensor(clip(real(r), -1, 1) + clip(imag(r), -1, 1) * 1j)


# -- counts -------------------------------------------------------------------------------------
@public
def bincount(x: TensorLike, /, weights: TensorLike | None = None, minlength: int = 0, *,
             length: int | None = None, out: Tensor | None = None) -> Tensor:
    """Count how often each of 0, 1, 2, ... occurs, or sum the weights of each.

    :param x: A vector.
    :type x: array_like of int
    :param weights: Of its shape.
    :param minlength: Least size of the result.
    :param length: Its size; greater numbers are left out.
    :returns: int64, or of the dtype of the weights, float64 for integers.
    :raises ValueError: For negative numbers, in compiled code too.
    :raises ShapeError: If ``x`` is no vector of integers, or the weights are of another shape.
    :raises TraceError: In the body of a loop or branch, and where examples of ``vmap`` differ,
        without ``length``.
    :see: histogram, unique_counts, digitize, scatter_add

    >>> ag.bincount(ag.tensor([0, 2, 2]))
    tensor([1, 0, 2])
    """
    x = as_indices(x)
    if x.ndim != 1 or x.dtype.kind not in "biu":
        raise ShapeError(f"the operand must be a vector of integers, not {typed(x)}")
    x = cast(x, dtypes.int64)
    if weights is None and is_known(x) and {type(minlength), type(length)} <= _PLAIN:
        least_length = minlength if length is None else length
        counted = x.array if length is None else x.array[x.array < length]
        if least_length >= 0 and (not x.array.size or x.array.min() >= 0):
            return wrap(aside(2 * x.array.size, np.bincount, counted, None, least_length))
    if isinstance(length, np.integer):
        length = int(length)
    if length is None:
        longest = maximum(greatest(x, initial=-1) + 1, minlength)
        length = size_of(longest, "the greatest number")
    x = ensure(x, least(x, initial=0) >= 0, "numbers to count must not be negative")
    return _counted(x, length, weights)


def _counted(x: Tensor, length: int, weights: Any) -> Tensor:
    """Count, or sum weights, for each integer in [0, length); values outside are ignored."""
    if weights is None:
        w = broadcast_to(as_tensor(1, dtypes.int64), x.shape)
    else:
        w = as_tensor(weights)
        w = cast(w, np.dtype(np.float64)) if w.dtype.kind in "biu" else w
        w = of_shape("bincount", w, x.shape, f"weights have shape {w.shape}, the numbers {x.shape}")
    indices = where(logical_and(x >= 0, x < length), x, as_tensor(length, dtypes.int64))
    zero = filled((length + 1,), 0, w.dtype)
    return index_put(zero, indices, w, accumulate=True)[:length]


@planned
@public
def digitize(x: TensorLike, bins: TensorLike, right: bool = False, *, out: Tensor | None = None
             ) -> Tensor:
    """In which bin each element is: of the edges ``bins``, how many are below.

    :param x: Of any shape; NaN is behind all edges.
    :param bins: A vector of edges that rise or fall.
    :param right: Whether bins hold their upper edge instead of the lower.
    :returns: int64.
    :raises DTypeError: If ``x`` is complex.
    :raises ShapeError: If ``bins`` is no vector.
    :raises ValueError: If ``bins`` neither rise nor fall, in compiled code too.
    :see: searchsorted, histogram, bincount

    >>> ag.digitize(ag.tensor([0.5, 2.0]), ag.tensor([0.0, 1.0, 2.0]))
    tensor([1, 3])
    """
    x, edges = beside(x, bins), beside(bins, x)
    if x.dtype.kind == "c":
        raise DTypeError(f"complex numbers have no order: {typed(x)}; take their parts")
    if edges.ndim != 1:
        raise ShapeError(f"bins must be a vector of edges, not of shape {edges.shape}")
    (edges,) = demanded("digitize", "bins must rise or fall", _in_order, bins=edges)
    rising = searchsorted(edges, x, "left" if right else "right")
    falling = edges.shape[0] - searchsorted(edges[::-1], x, "left" if right else "right")
    if edges.shape[0] < 2:
        return rising
    return where(edges[0] > edges[-1], falling, rising)


def _in_order(edges: Any) -> Any:
    """Return whether edges never fall, or never rise."""
    return (edges[1:] >= edges[:-1]).all() | (edges[1:] <= edges[:-1]).all()


def _finite(low: Tensor, high: Tensor) -> Tensor:
    """The least element; a ValueError where bins cannot reach from it to the greatest."""
    if not is_known(low, high):
        return ensure(low, (abs(low) < np.inf) & (abs(high) < np.inf),
                      "autodetected range is not finite; give a range, or leave out what is not "
                      "finite")
    if not (np.isfinite(low.array) and np.isfinite(high.array)):
        raise ValueError(
            f"autodetected range of [{low.array}, {high.array}] is not finite; give a range, or "
            "leave out what is not finite"
        )
    return low


def _extent(x: Tensor, kind: np.dtype) -> tuple[Tensor, Tensor]:
    """The least and the greatest element, and NumPy's 0 and 1 where there is none."""
    if x.size == 0:
        return as_tensor(0, kind), as_tensor(1, kind)
    if not is_open(x.shape[0]):
        low, high = cast(least(x), kind), cast(greatest(x), kind)
        return _finite(low, high), high
    first, last = ((np.inf, -np.inf) if x.dtype.kind in "fV" else
                   (int(np.iinfo(x.dtype).max), int(np.iinfo(x.dtype).min)))
    some = as_tensor(x.shape[0]) > 0
    low = where(some, cast(least(x, initial=first), kind), 0)
    high = where(some, cast(greatest(x, initial=last), kind), 1)
    return _finite(low, high), high


def _edges(x: Tensor, bins: Any, limits: Any) -> Tensor:
    """Edges of bins: those given, or so many between the limits."""
    if isinstance(bins, str):
        if not is_known(x):
            raise TraceError(
                f"the rule {bins!r} decides from the values how many bins there are, and they are "
                "not known when the graph is written; give a number of bins"
            )
        found = aside(_RULE_NANOSECONDS * x.array.size, np.histogram_bin_edges, x.array, bins,
                      limits)
        return as_tensor(found, dtypes.floating(x.dtype))
    given = as_tensor(bins)
    if given.shape == (0,):
        raise ValueError("bins must be a number, or at least one edge, not an empty list")
    if given.ndim == 1:
        (given,) = demanded("histogram", "bins must rise",
                            lambda edges: (edges[1:] >= edges[:-1]).all(), bins=given)
        return given
    if given.ndim > 1:
        raise ShapeError(f"bins are a number or a vector of edges, not of shape {given.shape}")
    count = integer(bins, "bins")
    if count < 1:
        raise ValueError(f"the number of bins must be positive, not {count}")
    kind = dtypes.floating(x.dtype)
    if limits is not None:
        low, high = (as_tensor(v, kind) for v in limits)
        low, high = demanded("histogram", "the range must rise from a number to another",
                             lambda low, high: (low <= high) & (high - low < np.inf),
                             low=low, high=high)
    else:
        low, high = _extent(x, kind)
    flat = low == high
    low, high = where(flat, low - 0.5, low), where(flat, high + 0.5, high)
    number = cast(arange(count + 1), kind)
    return where(number == count, high, low + number * ((high - low) / count))


@public
def histogram_bin_edges(x: TensorLike, bins: TensorLike = 10, range: Sequence[float] | None = None,
                        weights: TensorLike | None = None, *, out: Tensor | None = None) -> Tensor:
    """The edges that :func:`histogram` would use.

    :param bins: How many, or their edges, or one of NumPy's rules, such as "auto".
    :type bins: int, array_like or str
    :param range: From where to where; all elements by default.
    :type range: pair of float, optional
    :param weights: Taken from NumPy's calls; no rule needs them.
    :returns: A vector of one edge more than bins.
    :raises TraceError: While a graph is written, unless the range is given.
    :raises ValueError: If the range does not rise between finite numbers, or there is no bin or no
        such rule.
    :raises ShapeError: If edges are no vector.
    :see: histogram, linspace

    >>> ag.histogram_bin_edges(ag.tensor([0.0, 2.0]), 2)
    tensor([0., 1., 2.])
    """
    x = as_tensor(x)
    if weights is not None:
        x = of_shape("histogram_bin_edges", x, as_tensor(weights).shape,
                     f"weights must have the shape of x, {x.shape}, not {typed(weights)}")
    return _edges(reshape(x, (x.size,)), bins, range)


def _bins(x: Tensor, edges: Tensor) -> Tensor:
    """The number of each element's bin; -1 outside.  The last bin holds its upper edge."""
    n = edges.shape[0] - 1
    bin_ = searchsorted(edges, x, "right") - 1
    bin_ = where(x == edges[-1], as_tensor(n - 1, dtypes.int64), bin_)
    inside = logical_and(bin_ >= 0, bin_ < n)
    inside = logical_and(inside, logical_not(isnan(x))) if x.dtype.kind in "fV" else inside
    return where(inside, bin_, as_tensor(-1, dtypes.int64))


class Histogram(NamedTuple):
    """Counts of bins, and where these end."""

    hist: Tensor
    bin_edges: Any


@where_torch
@public
def histogram(x: TensorLike, bins: TensorLike = 10, range: Sequence[float] | None = None,
              density: bool = False, weights: TensorLike | None = None) -> Histogram:
    """How many elements are in each bin, and the edges of the bins.

    :param x: Of any shape; what is outside of the range does not count, nor does NaN where a
        range or edges are given.
    :param bins: How many, or their edges, or one of NumPy's rules, such as "auto".
    :type bins: int, array_like or str
    :param range: From where to where; all elements by default.
    :type range: pair of float, optional
    :param density: Whether to divide by all counts and by the widths.
    :param weights: Counted instead of one for each element.
    :returns counts, edges: int64 (floats with ``density``, the weights' dtype with those), and the
        edges, one more.
    :raises ShapeError: If edges are no vector.
    :raises TraceError: While a graph is written, unless the edges or bins and range are given.
    :raises ValueError: If the range does not rise between finite numbers, edges do not rise, or
        there is no bin or no such rule.
    :see: histogram2d, histogramdd, histogram_bin_edges, bincount, digitize

    >>> ag.histogram(ag.tensor([0.0, 0.5, 2.0]), 2)
    Histogram(hist=tensor([2, 1]), bin_edges=tensor([0., 1., 2.]))
    """
    x = as_tensor(x)
    x = reshape(x, (x.size,))
    edges = _edges(x, bins, range)
    a, b = pair(x, edges)
    w = weights if weights is None else reshape(as_tensor(weights), (-1,))
    counts = _counted(_bins(a, b), edges.shape[0] - 1, w)
    counts = counts if w is None else cast(counts, w.dtype)
    if not density:
        return Histogram(counts, edges)
    width = edges[1:] - edges[:-1]
    return Histogram(counts / width / total(counts), edges)


@public
def histogramdd(sample: TensorLike, bins: TensorLike = 10,
                range: Sequence[Sequence[float]] | None = None, density: bool = False,
                weights: TensorLike | None = None) -> Histogram:
    """How many points are in each cell, and the edges along each coordinate.

    :param sample: Points, of shape (n, d), or d vectors of coordinates.
    :type sample: array_like or sequence of array_like
    :param bins: One for all coordinates, or one for each.
    :type bins: int, or sequence of int or array_like
    :param range: From where to where along each coordinate; all points by default.
    :type range: sequence of pairs of float, optional
    :param density: Whether to divide by all counts and by the volumes.
    :param weights: Counted instead of one for each point.
    :type weights: array_like, shape (n,), optional
    :returns counts: Floats, with an axis for each coordinate.
    :returns edges: One more than bins along each coordinate.
    :rtype: list of Tensor
    :raises ShapeError: If the sample is no matrix.
    :raises TraceError: While a graph is written, unless edges or bins and range are given.
    :raises ValueError: If a range is none, or edges do not rise.
    :see: histogram, histogram2d

    >>> ag.histogramdd(ag.tensor([[0.0, 0.0], [1.0, 1.0]]), 2)[0]
    tensor([[1., 0.],
            [0., 1.]])
    """
    points = stack(list(sample), -1) if isinstance(sample, (list, tuple)) else as_tensor(sample)
    if points.ndim != 2:
        raise ShapeError(f"the sample must be (points, coordinates), not of shape {points.shape}")
    columns = [points[:, i] for i in np.arange(int(points.shape[1]))]
    d = len(columns)
    given: Any = bins
    each = (given,) * d if isinstance(given, int) else tuple(given)
    limits = (None,) * d if range is None else tuple(range)
    if not len(each) == len(limits) == d:
        raise ValueError(f"each of {d} coordinates has its bins and its range, or all have one "
                         f"number of bins, not {len(each)} bins and {len(limits)} ranges")
    edges = [_edges(c, b, r) for c, b, r in zip(columns, each, limits, strict=True)]
    sizes = [e.shape[0] - 1 for e in edges]
    flat: Any = as_tensor(0, dtypes.int64)
    inside: Any = True
    for c, e, n in zip(columns, edges, sizes, strict=True):
        bin_ = _bins(*pair(c, e))
        inside, flat = logical_and(inside, bin_ >= 0), flat * n + bin_
    flat = where(inside, flat, as_tensor(-1, dtypes.int64))
    counts = reshape(_counted(flat, int(np.prod(sizes)), weights), tuple(sizes))
    counts = cast(counts, dtypes.floating(points.dtype)) if weights is None else counts
    if density:
        counts = counts / total(counts)
        for i, e in enumerate(edges):
            width = e[1:] - e[:-1]
            counts = counts / reshape(width, tuple(-1 if a == i else 1 for a in np.arange(d)))
    return Histogram(counts, edges)


@public
def histogram2d(x: TensorLike, y: TensorLike, bins: TensorLike = 10,
                range: Sequence[Sequence[float]] | None = None, density: bool = False,
                weights: TensorLike | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """How many points (x, y) are in each cell, and the edges along both coordinates.

    :param x, y: Vectors of coordinates.
    :param bins: How many, or their edges; for both coordinates or for each.
    :type bins: int, array_like, or a pair of them
    :param range: From where to where; all points by default.
    :type range: pair of pairs of float, optional
    :param density: Whether to divide by all counts and by the areas.
    :param weights: Counted instead of one for each point.
    :returns counts, x_edges, y_edges: Floats with an axis for each coordinate, and the edges.
    :raises ShapeError: If the vectors differ in length.
    :see: histogram, histogramdd

    >>> ag.histogram2d(ag.tensor([0.0, 1.0]), ag.tensor([0.0, 1.0]), 2)[0]
    tensor([[1., 0.],
            [0., 1.]])
    """
    each = (bins, bins)
    if isinstance(bins, (list, tuple)) and len(bins) == 2:
        each = tuple(bins)
    counts, (rows, columns) = histogramdd(stack([x, y], -1), each, range, density, weights)
    return counts, rows, columns
