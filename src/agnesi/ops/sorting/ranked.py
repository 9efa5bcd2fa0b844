"""Elements of an axis by their rank or number, with their positions, as PyTorch gives them."""

from __future__ import annotations

import operator
from typing import Any

from agnesi.core import shapes
from agnesi.core.dispatch import apply
from agnesi.core.ir.dims import is_static
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support import dtypes
from agnesi.core.support.errors import ShapeError
from agnesi.core.tensor import Tensor
from agnesi.ops.base import compare, reduce, select
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.ensure import ensured_sizes
from agnesi.ops.base.movement import Reshape, reshape
from agnesi.ops.base.slices import FULL, Slice
from agnesi.ops.indexing.index import take_along_axis
from agnesi.ops.indexing.join import roll
from agnesi.ops.indexing.ranges import arange
from agnesi.ops.reductions import positions
from agnesi.ops.reductions.extremes import CumMax, CumMin
from agnesi.ops.sorting.sort import Ordered, argsort

__all__ = ["cummax", "cummin", "kthvalue", "mode"]


def _at(x: Tensor, indices: Tensor, axis: int, keepdims: bool) -> Ordered:
    """The elements at the given indices along an axis, which is dropped unless ``keepdims``."""
    values = take_along_axis(x, indices, axis)
    if keepdims:
        return Ordered(values, indices)
    without = Reshape((*indices.shape[:axis], *indices.shape[axis + 1:]))
    return Ordered(apply(without, values), apply(without, indices))


def _rows(x: Any, axis: int) -> tuple[Tensor, int]:
    x = as_tensor(x)
    if x.ndim == 0:
        raise ShapeError("a number has no axis; the operand must have one")
    return x, shapes.axis_of(axis, x.ndim)


def max_with_index(input: Any, dim: int, keepdim: bool = False) -> Ordered:
    """The greatest element of an axis, and where it is; it takes the whole gradient."""
    x, axis = _rows(input, dim)
    return _at(x, positions.argmax(x, axis, keepdims=True), axis, keepdim)


def min_with_index(input: Any, dim: int, keepdim: bool = False) -> Ordered:
    """The least element of an axis, and where it is; it takes the whole gradient."""
    x, axis = _rows(input, dim)
    return _at(x, positions.argmin(x, axis, keepdims=True), axis, keepdim)


def sort_with_indices(input: Any, dim: int = -1, descending: bool = False,
                     stable: bool = True) -> Ordered:
    """An axis in order, and where its elements were."""
    x, axis = _rows(input, dim)
    indices = argsort(x, axis, descending=descending)
    return Ordered(take_along_axis(x, indices, axis), indices)


def _ranked(x: Tensor, rank: Any, axis: int, keepdims: bool) -> Ordered:
    """The element of a rank, counted from 0: a number, or one for each row."""
    return _at(x, _index_of(x, rank, axis), axis, keepdims)


def _index_of(x: Tensor, rank: Any, axis: int) -> Tensor:
    """Where the element of a rank is."""
    order = argsort(x, axis)
    if isinstance(rank, Tensor):
        return take_along_axis(order, rank, axis)
    one = tuple((rank, rank + 1, 1) if a == axis else FULL for a in range(x.ndim))
    return apply(Slice(one), order)


def median_with_index(input: Any, dim: int = -1, keepdim: bool = False) -> Ordered:
    """The middle element of an axis, the lower of two, and where it is; NaN where one is NaN."""
    x, axis = _rows(input, dim)
    middle = (operator.index(x.shape[axis]) - 1) // 2
    if x.dtype.kind not in "fV":
        return _ranked(x, middle, axis, keepdim)
    missing = compare.isnan(x)
    first = positions.argmax(missing, axis, keepdims=True)
    found = _index_of(x, middle, axis)
    indices = select.where(reduce.any(missing, axis, keepdims=True), first, found)
    return _at(x, indices, axis, keepdim)


def nanmedian_with_index(input: Any, dim: int = -1, keepdim: bool = False) -> Ordered:
    """The middle of an axis' elements that are not NaN, the lower of two, and where it is."""
    x, axis = _rows(input, dim)
    count = reduce.sum(cast(compare.logical_not(compare.isnan(x)), dtypes.int64), axis,
                       keepdims=True)
    return _ranked(x, select.maximum(count - 1, 0) // 2, axis, keepdim)


def _running(op: Any, x: Any, axis: int | None) -> Ordered:
    x = reduce.with_order(as_tensor(x))
    x, axis = (reshape(x, (-1,)), 0) if axis is None else (x, shapes.axis_of(axis, x.ndim))
    wide = cast(x, dtypes.int64) if x.dtype.kind == "b" else x
    row = op(axis)
    y = apply(row, wide)
    return Ordered(cast(y, x.dtype), row.chosen(y, wide))


@planned
@public
def cummax(x: TensorLike, axis: int | None = None) -> Ordered:
    """Greatest element so far along an axis, and where it is: the latest of equal ones.

    The values alone are ``ag.maximum.accumulate(x, axis)``.  Gradients go to the latest.

    :param x: Of any shape; of a dtype with an order.
    :returns values, indices: Of the shape of ``x``; the indices are int64.
    :raises DTypeError: For complex numbers.
    :see: cummin, cumsum, max, maximum

    >>> ag.cummax(ag.tensor([1, 3, 2]))
    Ordered(values=tensor([1, 3, 3]), indices=tensor([0, 1, 1]))
    """
    return _running(CumMax, x, axis)


@planned
@public
def cummin(x: TensorLike, axis: int | None = None) -> Ordered:
    """Least element so far along an axis, and where it is: the latest of equal ones.

    The values alone are ``ag.minimum.accumulate(x, axis)``.  Gradients go to the latest.

    :like: cummax
    :see: cummax, cumsum, min, minimum

    >>> ag.cummin(ag.tensor([3, 1, 2])).values
    tensor([3, 1, 1])
    """
    return _running(CumMin, x, axis)


@planned
@public
def kthvalue(x: TensorLike, k: int, axis: int = -1, *, keepdims: bool = False) -> Ordered:
    """The ``k``-th least element of an axis, counted from 1, and where it is.

    :param x: At least one axis; NaN is the greatest.
    :param k: From 1 to the length of the axis.
    :param axis: An axis, counted from the end where negative; also written ``dim``.
    :param keepdims: Whether the axis stays, with size 1.
    :returns values, indices: As ``x`` without the axis; the indices are int64.
    :raises ValueError: If there are less than ``k`` elements.
    :raises ShapeError: If ``x`` has no axis.
    :see: topk, median, sort, quantile

    >>> ag.kthvalue(ag.tensor([5, 1, 3]), 2)
    Ordered(values=tensor(3), indices=tensor(2))
    """
    x, axis = _rows(x, axis)
    n = x.shape[axis]
    if k < 1 or (is_static((n,)) and k > n):
        raise ValueError(f"k must be at least 1 and at most {n}, not {k}")
    x = ensured_sizes("kthvalue", x, (n,), (k,), f"k must be at least 1 and at most {n}, not {k}",
                      "at least", "ValueError")
    return _ranked(x, operator.index(k) - 1, axis, keepdims)


@planned
@public
def mode(x: TensorLike, axis: int = -1, *, keepdims: bool = False) -> Ordered:
    """The most frequent element of an axis, the least of several, and where it is last.

    :param x: At least one axis and element.
    :param keepdims: Whether the axis stays, with size 1.
    :returns values, indices: As ``x`` without the axis; the indices are int64.
    :raises ShapeError: If there are no elements.
    :see: median, unique_counts, bincount

    >>> ag.mode(ag.tensor([3, 1, 3, 2])).values
    tensor(3)
    """
    x, axis = _rows(x, axis)
    ordered = sort_with_indices(x, axis)
    n = x.shape[axis]
    line: Any = reshape(arange(n), (n, *(1,) * (x.ndim - axis - 1)))
    # How long the run of equal elements is that ends at each position.
    begins = compare.not_equal(ordered.values, roll(ordered.values, 1, axis))
    begins = select.where(line == 0, True, begins)
    first = apply(CumMax(axis), select.where(begins, line, 0))
    longest = positions.argmax(line - first, axis, keepdims=True)
    return _at(x, take_along_axis(ordered.indices, longest, axis), axis, keepdims)
