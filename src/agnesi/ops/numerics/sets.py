"""Sets: the different elements of a tensor, and whether elements are among others.

Compiled, they are the elements in order of which each differs from the one before; how many there
are is a size that data decides (``ops/base/chosen.py``), or what ``size=`` says.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from agnesi.core import shapes
from agnesi.core.dispatch import apply
from agnesi.core.ir.dims import product
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support import dtypes
from agnesi.core.support.errors import ShapeError
from agnesi.core.support.tracing import is_known
from agnesi.core.support.worker_threads import aside
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.arrays.nonzeros import first_positions, nonzero
from agnesi.ops.base import reduce
from agnesi.ops.base.chosen import Chosen, positions_of
from agnesi.ops.base.compare import equal, greater, logical_and, logical_not, logical_or, not_equal
from agnesi.ops.base.convert import as_tensor, cast, pair
from agnesi.ops.base.creation import filled
from agnesi.ops.base.movement import matrix_transpose, moveaxis, reshape
from agnesi.ops.base.scans import Shift
from agnesi.ops.base.select import where
from agnesi.ops.base.slices import flip
from agnesi.ops.indexing.index import take
from agnesi.ops.indexing.join import concat, roll
from agnesi.ops.indexing.ranges import arange
from agnesi.ops.indexing.scatter import index_put
from agnesi.ops.reductions.running import cumsum
from agnesi.ops.sorting.order import comparable
from agnesi.ops.sorting.partitions import lexsort
from agnesi.ops.sorting.sort import ArgSort, Sort, argsort, searchsorted, sort


class UniqueAll(NamedTuple):
    """The different elements, where each is found first, which one each element is, how often."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """The different elements, and how often each is there."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """The different elements, and which of them each element is."""

    values: Tensor
    inverse_indices: Tensor


#: The indices of a vector's elements in order, and the elements.
_ORDER, _VALUES = ArgSort(0, False), Sort(0, False)
#: Integers that NumPy's function takes less time for.
_FEW_ELEMENTS = 64


def _unique_slices(data: np.ndarray, axis: int, **options: Any) -> Any:
    """NumPy's function, which can be interrupted."""
    unique = functools.partial(np.unique, comparable(data), axis=axis, **options)
    return aside(16 * data.size, unique)


def _unique(data: np.ndarray, returned: tuple[bool, ...], equal_nan: bool = True) -> list[Any]:
    """The different elements, and what is requested: where each is found first, which of them each
    element is, and how often each is there; None for the rest."""
    if data.size <= _FEW_ELEMENTS and data.dtype.kind in "iu" and not any(returned):
        return [np.unique(data), None, None, None]
    return aside(16 * data.size, lambda: _from_order(data.reshape(-1), returned, equal_nan))


def _from_order(flat: np.ndarray, returned: tuple[bool, ...], equal_nan: bool) -> list[Any]:
    order = _ORDER.perform(flat) if returned[0] or returned[1] else None
    ordered = comparable(_VALUES.perform(flat) if order is None else flat[order])
    starts = _begins(ordered, equal_nan)
    (starts_at,) = starts.nonzero()
    found: list[Any] = [ordered[starts_at].astype(flat.dtype, copy=False), None, None, None]
    if order is not None and returned[0]:
        found[1] = order[starts_at]
    if order is not None and returned[1]:
        found[2] = np.empty(flat.size, np.int64)
        found[2][order] = np.cumsum(starts) - 1
    if returned[2]:
        found[3] = np.empty_like(starts_at)
        np.subtract(starts_at[1:], starts_at[:-1], out=found[3][:-1])
        found[3][-1:] = flat.size - starts_at[-1:]
    return found


def _begins(ordered: np.ndarray, equal_nan: bool) -> np.ndarray:
    """Return whether each of the elements in order differs from the one before; NaN comes last."""
    starts = np.empty(ordered.size, np.bool_)
    starts[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=starts[1:])
    if equal_nan and ordered.size and ordered.dtype.kind in "fc" and np.isnan(ordered[-1]):
        starts[1:] &= ~np.isnan(ordered[:-1])
    return starts


def _values(x: Tensor, first: np.ndarray) -> Tensor:
    """The elements at the indices ``first``: gradients go there."""
    return take(reshape(x, (-1,)) if x.size else x.reshape((0,)), wrap(first))


@public
def unique(x: TensorLike, *, return_index: bool = False, return_inverse: bool = False,
           return_counts: bool = False, axis: int | None = None, size: int | None = None,
           fill_value: TensorLike | None = None) -> Any:
    """The different elements, in order; optionally where they are and how often.

    :param return_index, return_inverse, return_counts: Whether to return where each is found first,
        which of them each element is, and how often each is there.
    :param axis: Gives the different slices at positions of an axis instead of elements.
    :param size: How many to give: further ones are left out, missing ones are ``fill_value`` (the
        least element by default), with count 0.
    :param fill_value: What stands for missing ones to ``size``.
    :type fill_value: number, optional
    :returns: All NaN are one.  Gradients go to the element that is found first.
    :rtype: Tensor, or tuple of Tensor
    :raises TraceError: Without ``size`` in the body of a loop, unless the elements are reduced
        there.
    :raises IndexError: If the axis is out of range.
    :raises ValueError: If ``size`` is given with an axis.
    :raises ShapeError: If slices are compared that have no elements.
    :see: unique_all, unique_values, unique_counts, isin, union1d

    >>> ag.unique(ag.tensor([3, 1, 3]))
    tensor([1, 3])
    >>> ag.unique(ag.tensor([3, 1, 3]), size=3, return_counts=True)
    (tensor([1, 3, 1]), tensor([1, 2, 0]))
    """
    returned = (return_index, return_inverse, return_counts)
    if size is not None:
        if axis is not None:
            raise ValueError("size is for elements; slices along an axis are not bounded")
        return _bounded(as_tensor(x), size, fill_value, returned)
    x = as_tensor(x)
    if axis is not None:
        axis = shapes.axis_of(axis, x.ndim)
    if not is_known(x):
        found = _found(x, returned) if axis is None or x.ndim < 2 else _slices(x, axis, returned)
        return found if len(found) > 1 else found[0]
    data: Any = x.array
    if axis is None:
        differentiated = x._requires_grad
        needed = (differentiated or returned[0], *returned[1:])
        found, first, inverse, counts = _unique(data, needed)
        values = _values(x, first) if differentiated else wrap(found)
        inverse = None if inverse is None else inverse.reshape(data.shape)
    else:
        _, first, inverse, counts = _unique_slices(
            data, axis, return_index=True, return_inverse=True, return_counts=True)
        values = take(x, wrap(first), axis)
    rest = [wrap(f) for a, f in zip(returned, (first, inverse, counts), strict=True) if a]
    return (values, *rest) if rest else values


def _found(x: Tensor, returned: tuple[bool, ...], equal_nan: bool = True) -> tuple[Tensor, ...]:
    """The different elements, and what else is requested, from the elements in order."""
    flat = reshape(x, (product(x.shape),))
    order: Any = argsort(flat) if returned[0] or returned[1] else None
    ordered = sort(flat) if order is None else take(flat, order)
    starts = _starts(ordered, equal_nan)
    position, rest = _positions(order, starts, x.shape, returned)
    return take(ordered, position), *rest


def _slices(x: Tensor, axis: int, returned: tuple[bool, ...]) -> tuple[Tensor, ...]:
    """The different slices along an axis, and what else is requested, from the slices in order."""
    n = x.shape[axis]
    first = moveaxis(x, axis, 0)
    width = product(first.shape[1:])
    rows = filled((n, 1), 0, dtypes.int64) if width == 0 else reshape(first, (n, width))
    if not isinstance(width, int):  # it may be 0, and there is no order by no keys
        rows = concat([filled((n, 1), 0, rows.dtype), rows], 1)
    order = lexsort(flip(matrix_transpose(rows), 0))
    ordered = take(rows, order, 0)
    differ = reduce.any(not_equal(ordered, roll(ordered, 1, 0)), axis=1)
    position, rest = _positions(order, logical_or(differ, equal(arange(n), 0)), (n,), returned)
    return take(x, take(order, position), axis), *rest


def _positions(order: Any, starts: Tensor, shape: Any, returned: tuple[bool, ...]
          ) -> tuple[Tensor, list[Tensor]]:
    """Positions in sorted order where a new value begins, and the further results of ``unique``
    that the caller wants."""
    n = starts.shape[0]
    position = positions_of(starts)
    last = equal(arange(n), as_tensor(n) - 1)
    more = (
        lambda: take(order, position),
        lambda: reshape(index_put(filled((n,), 0, dtypes.int64), order, _numbers(starts)), shape),
        lambda: apply(Chosen(position.shape[0]),
                      logical_or(last, apply(Shift(0, True), starts))) - position + 1,
    )
    return position, [make() for w, make in zip(returned, more, strict=True) if w]


def _numbers(starts: Tensor) -> Tensor:
    """Of each element in order which of the different ones it is."""
    return cumsum(cast(starts, dtypes.int64)) - 1


def _bounded(x: Tensor, size: int, fill_value: Any, returned: tuple[bool, ...]) -> Any:
    """So many different elements, from the elements in order."""
    flat = reshape(x, (x.size,))
    n = flat.shape[0]
    if n == 0:
        raise ShapeError("there are no elements, and so none to give with a size")
    order = argsort(flat)
    ordered = take(flat, order)
    starts = _starts(ordered)
    position = first_positions(starts, size, -1)
    there = position >= 0
    fill = ordered[0] if fill_value is None else as_tensor(fill_value, x.dtype)
    values = where(there, take(ordered, position), fill)
    number = _numbers(starts)
    more = (
        lambda: where(there, take(order, position), take(order, 0)),
        lambda: reshape(index_put(filled((n,), 0, number.dtype), order, number), x.shape),
        lambda: index_put(filled((size + 1,), 0, number.dtype), number.clip(0, size), 1,
                          accumulate=True)[:size],
    )
    rest = [make() for wanted, make in zip(returned, more, strict=True) if wanted]
    return (values, *rest) if rest else values


def _starts(ordered: Tensor, equal_nan: bool = True) -> Tensor:
    """Return whether each element of a row in order differs from the one before; all NaN are
    one."""
    before = apply(Shift(0), ordered)
    differs = logical_not(equal(ordered, before))
    if equal_nan and ordered.dtype.kind in "fcV":
        differs = logical_and(differs, equal(before, before))
    return logical_or(differs, equal(arange(ordered.shape[0]), 0))


@public
def unique_all(x: TensorLike, /) -> UniqueAll:
    """The different elements, where each is found first, which one each element is, how often.

    :returns values, indices, inverse_indices, counts: Every NaN is an element of its own.
        ``values[inverse_indices]`` is ``x``.
    :raises TraceError: In the body of a loop or of ``vmap``, where sizes cannot change.
    :see: unique, unique_counts, unique_inverse, unique_values

    >>> ag.unique_all(ag.tensor([3, 1, 3])).counts
    tensor([1, 2])
    """
    x = as_tensor(x)
    if not is_known(x):
        return UniqueAll(*_found(x, (True, True, True), equal_nan=False))
    data: Any = x.array
    _, first, inverse, counts = _unique(data, (True, True, True), equal_nan=False)
    return UniqueAll(_values(x, first), wrap(first), wrap(inverse.reshape(data.shape)),
                     wrap(counts))


@public
def unique_counts(x: TensorLike, /) -> UniqueCounts:
    """The different elements, and how often each is there; every NaN is one of its own.

    :returns values, counts: Vectors, in ascending order; the counts are int64.
    :raises TraceError: In the body of a loop or of ``vmap``, where sizes cannot change.
    :see: unique, unique_all, bincount, mode

    >>> ag.unique_counts(ag.tensor([3, 1, 3]))
    UniqueCounts(values=tensor([1, 3]), counts=tensor([1, 2]))
    """
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


@public
def unique_inverse(x: TensorLike, /) -> UniqueInverse:
    """The different elements, and which of them each element is; every NaN is one of its own.

    :returns values, inverse_indices: ``values[inverse_indices]`` is ``x``.
    :raises TraceError: In the body of a loop or of ``vmap``, where sizes cannot change.
    :see: unique, unique_all

    >>> ag.unique_inverse(ag.tensor([3, 1, 3])).inverse_indices
    tensor([1, 0, 1])
    """
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


@public
def unique_values(x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """The different elements, in order; every NaN is one of its own.

    :returns: A vector of the dtype of ``x``.
    :raises TraceError: In the body of a loop or of ``vmap``, where sizes cannot change.
    :see: unique, unique_all, sort

    >>> ag.unique_values(ag.tensor([3, 1, 3]))
    tensor([1, 3])
    """
    return unique_all(x).values


@planned
@public
def isin(x1: TensorLike, x2: TensorLike, /, *, invert: bool = False, out: Tensor | None = None
         ) -> Tensor:
    """Return whether each element of ``x1`` is among the elements of ``x2``.

    :param x1, x2: NaN is never among others.
    :param invert: Whether to return the opposite.
    :returns: bool, of the shape of ``x1``.
    :see: intersect1d, searchsorted, unique

    >>> ag.isin(ag.tensor([1, 2, 3]), ag.tensor([3, 1]))
    tensor([ True, False,  True])
    """
    x, among = pair(x1, x2)
    row = sort(reshape(among, (among.size,)))
    found = greater(searchsorted(row, x, "right"), searchsorted(row, x, "left"))
    if x.dtype.kind in "fcV":
        found = logical_and(found, equal(x, x))
    return logical_not(found) if invert else found


# -- operations of sets -------------------------------------------------------------------------
def _row(x: Any) -> Tensor:
    x = as_tensor(x)
    return reshape(x, (x.size,))


def _different(x: Tensor, chosen: Any, size: int | None, fill_value: Any) -> Tensor:
    """The different elements of a vector for which ``chosen`` holds, in order."""
    ordered = sort(x)
    starts = logical_and(_starts(ordered), chosen(ordered))
    if size is None:
        return take(ordered, nonzero(starts)[0])
    position = first_positions(starts, size, -1)
    fill = ordered[0] if fill_value is None else as_tensor(fill_value, x.dtype)
    return where(position >= 0, take(ordered, position), fill)


@public
def union1d(x1: TensorLike, x2: TensorLike, *, size: int | None = None,
            fill_value: TensorLike | None = None,
            out: Tensor | None = None) -> Tensor:
    """The different elements of both, in order.

    :param x1, x2: Of any shapes; taken flat.
    :param size: How many to give: further ones are left out, missing ones are ``fill_value``.
    :param fill_value: What stands for missing ones; the least element by default.
    :type fill_value: number, optional
    :returns: A vector of the promoted dtype, in ascending order.
    :raises TraceError: Without ``size``, in the body of a loop or of ``vmap``, where sizes cannot
        change.
    :see: intersect1d, setdiff1d, unique

    >>> ag.union1d([3, 1], [2, 3])
    tensor([1, 2, 3])
    """
    a, b = pair(x1, x2)
    return unique(concat([_row(a), _row(b)], 0), size=size, fill_value=fill_value)


@public
def intersect1d(x1: TensorLike, x2: TensorLike, *, return_indices: bool = False,
                size: int | None = None, fill_value: TensorLike | None = None,
                out: Tensor | None = None) -> Any:
    """The sorted unique elements that are in both.

    :like: union1d
    :param return_indices: Whether to return, too, where each is found first in both, taken flat.
    :returns: A vector of the promoted dtype, in ascending order; with ``return_indices`` also the
        indices in the first and in the second.
    :rtype: Tensor, or tuple of Tensor
    :raises ValueError: If ``size`` is given with ``return_indices``.
    :see: union1d, setdiff1d, setxor1d, isin, unique

    >>> ag.intersect1d([3, 1, 3], [2, 3])
    tensor([3])
    """
    a, b = pair(x1, x2)
    if not return_indices:
        return _different(_row(a), lambda x: isin(x, b), size, fill_value)
    if size is not None:
        raise ValueError("return_indices asks where all elements are; it takes no size")
    (one, first), (other, second) = (unique(v, return_index=True) for v in (a, b))
    both = isin(one, other)
    return one[both], first[both], second[isin(other, one)]


@public
def setdiff1d(x1: TensorLike, x2: TensorLike, assume_unique: bool = False, *,
              size: int | None = None, fill_value: TensorLike | None = None,
              out: Tensor | None = None) -> Tensor:
    """The different elements of the first that are not in the second, in order.

    :like: union1d
    :param assume_unique: Whether the elements of ``x1`` are taken as they come: each for a
        different one, in their order, as in NumPy.
    :returns: A vector of the dtype of ``x1``, in ascending order but with ``assume_unique``.
    :raises ValueError: If ``size`` is given with ``assume_unique``.
    :see: intersect1d, union1d, setxor1d, isin

    >>> ag.setdiff1d([3, 1, 3], [2, 3])
    tensor([1])
    """
    x = _row(x1)
    if not assume_unique:
        return _different(x, lambda x: isin(x, x2, invert=True), size, fill_value)
    if size is not None:
        raise ValueError("assume_unique keeps the elements in their order; it takes no size")
    return x[isin(x, x2, invert=True)]


@public
def setxor1d(x1: TensorLike, x2: TensorLike, *, size: int | None = None,
             fill_value: TensorLike | None = None,
             out: Tensor | None = None) -> Tensor:
    """The different elements that are in one of the two only, in order.

    :like: union1d
    :see: intersect1d, union1d, setdiff1d

    >>> ag.setxor1d([3, 1], [2, 3])
    tensor([1, 2])
    """
    a, b = (_row(v) for v in pair(x1, x2))
    both = concat([a, b], 0)
    return _different(
        both, lambda x: logical_not(logical_and(isin(x, a), isin(x, b))), size, fill_value
    )
