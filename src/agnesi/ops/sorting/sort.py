"""Order: sort, argsort, topk, and where values belong."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import numpy as np

from agnesi.core import shapes
from agnesi.core.dispatch import apply
from agnesi.core.ir import loops
from agnesi.core.ir.calls.sorting import first_few, sorting
from agnesi.core.ir.foreign import Call
from agnesi.core.op import Op
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public, where_torch
from agnesi.core.support import dtypes
from agnesi.core.support.config import HOOKS
from agnesi.core.support.errors import ShapeError, typed
from agnesi.core.support.errors import at as error_at
from agnesi.core.support.record import record
from agnesi.core.support.worker_threads import elements
from agnesi.core.tensor import Tensor
from agnesi.ops.base.complex_order import key_expressions, keys
from agnesi.ops.base.convert import as_tensor, pair
from agnesi.ops.base.ensure import ensured_sizes
from agnesi.ops.base.gather.elements import Index, IndexSum
from agnesi.ops.base.gather.gather_scatter import Gather
from agnesi.ops.base.movement import reshape
from agnesi.ops.base.slices import FULL, Slice
from agnesi.ops.indexing.index import along, take, take_along_axis
from agnesi.ops.sorting.order import (
    comparable,
    first_of_order,
    first_positions,
    sorted_rows,
    stable_order,
)


class Ordered(NamedTuple):
    """Values in order, and where they were."""

    values: Tensor
    indices: Tensor


def _no_operand(self: Ordered, *others: Any) -> NoReturn:
    """Refuse a pair as an operand."""
    raise TypeError(error_at(f"{typed(self)} are values and their indices: compute with "
                             "result.values"))


for _name in ("mul", "rmul", "sub", "rsub", "truediv", "rtruediv", "pow", "neg"):
    setattr(Ordered, f"__{_name}__", _no_operand)
#: Marks results of several tensors, which must not be converted to one tensor as tuples are.
Ordered.is_result = True  # type: ignore[attr-defined]


#: Positions that are looked for one by one, rather than by putting all elements in order.
_MAX_SELECTED = 16
#: Elements that NumPy puts in order itself, whatever was requested before.
_FEW_ELEMENTS = 500
#: Multiply-adds that take as long as NumPy takes for an element, of which it finds the first ones.
_POSITION_MULTIPLY_ADDS = 100
#: Elements of fewer bytes are copied to longer words.
_WORD_BYTES = 4
#: Axes that all functions of NumPy's take.
_FEW_AXES = 32


def _along(x: np.ndarray, axis: int, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Apply a function of rows along any axis; many axes become one, as NumPy takes 32 at most."""
    last = axis in (-1, x.ndim - 1)
    lines = x if last else np.moveaxis(x, axis, -1)
    if x.ndim > _FEW_AXES:
        front = lines.shape[:-1]
        found = function(lines.reshape(math.prod(front), lines.shape[-1]))
        found = found.reshape(*front, found.shape[-1])
    else:
        found = function(lines)
    return found if last else np.moveaxis(found, -1, axis)


def _at(x: Tensor, indices: Tensor, axis: int) -> Tensor:
    """Elements at positions along an axis that are known to be there."""
    return apply(Gather(tuple(range(x.ndim)), 0), x, *along(x, indices, axis))


# -- operations -------------------------------------------------------------------------------
@record
class ArgSort(Op):
    """Indices that put an axis in order.  NaN is the greatest."""

    axis: int
    descending: bool
    name = "argsort"
    traits = frozenset(("indices",))
    work = elements(16)
    differentiable = False

    def infer(self, x: Any) -> Any:
        return x.shape, dtypes.int64

    def perform(self, x: np.ndarray) -> np.ndarray:
        found = HOOKS.sort(x, self.axis, self.descending, True)
        if found is not None:
            return found
        return _along(x, self.axis, lambda x: stable_order(x, self.descending))

    def c_call(self, x: np.ndarray) -> Any:
        if x.size > _FEW_ELEMENTS or x.dtype.kind not in "biuf":
            return None
        if not self.descending:
            return np.ndarray.argsort, (self.axis, "stable")
        last = x.size and self.axis in (-1, x.ndim - 1)
        return (first_of_order, (x.shape[-1],)) if last else None

    def foreign(self, x: Any) -> Call | None:
        return sorting(x, self.axis, self.descending, True)

    def decompose(self, x: Tensor) -> Tensor | None:
        """Complex numbers are ordered by whole numbers, the last key first."""
        if x.dtype.kind != "c":
            return None
        order = ArgSort(self.axis, self.descending)
        *firsts, last = keys(x, "up")
        found = apply(order, last)
        for key in firsts:
            found = _at(found, apply(order, _at(key, found, self.axis)), self.axis)
        return found


@record
class Sort(Op):
    """The elements of an axis in order; NaN is the greatest."""

    axis: int
    descending: bool
    name = "sort"
    work = elements(16)
    keep_inputs = (0,)

    def infer(self, x: Any) -> Any:
        return x.shape, x.dtype

    def perform(self, x: np.ndarray) -> np.ndarray:
        found = HOOKS.sort(x, self.axis, self.descending, False)
        if found is not None:
            return found
        return _along(x, self.axis, lambda x: sorted_rows(x, self.descending))

    def foreign(self, x: Any) -> Call | None:
        return sorting(x, self.axis, self.descending, False)

    def decompose(self, x: Tensor) -> Tensor | None:
        if x.dtype.kind != "c":
            return None
        return _at(x, apply(ArgSort(self.axis, self.descending), x), self.axis)

    def indices(self, x: Tensor) -> tuple[Tensor, ...]:
        """Where each element of the result was."""
        order = apply(ArgSort(self.axis, self.descending), x)
        return along(x, order, self.axis)

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        return (apply(IndexSum(tuple(range(x.ndim)), 0, x.shape), g, *self.indices(x)),)

    def jvp(self, ts: Any, y: Tensor, x: Tensor) -> Any:
        return apply(Index(tuple(range(x.ndim)), 0), ts[0], *self.indices(x))


@record
class Partition(Sort):
    """A sort that only needs elements ``first`` to ``last`` to be where they belong.

    Lesser ones are before them, greater ones behind, in any order.
    """

    first: int
    last: int
    name = "partition"
    work = elements(4)
    keep_output = True

    def perform(self, x: np.ndarray) -> np.ndarray:
        found = None
        if x.dtype.itemsize >= _WORD_BYTES:
            found = HOOKS.sort(x, self.axis, False, False, self.first, self.last)
        return _along(x, self.axis, self._of_rows) if found is None else found

    def _of_rows(self, x: np.ndarray) -> np.ndarray:
        if x.dtype.kind != "c" and self.last - self.first < _MAX_SELECTED:
            found = np.partition(comparable(x), range(self.first, self.last + 1), -1)
            if x.dtype.kind not in "fV" or found[..., self.first: self.last + 1].all():
                return found.astype(x.dtype, copy=False)
        return sorted_rows(x)  # which keeps the order of zeros

    def foreign(self, x: Any) -> Call | None:
        return sorting(x, self.axis, False, False, self.first, self.last)

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        order = apply(ArgSort(self.axis, False), y)
        return Sort.vjp(self, self._picked(g, order), y, x)

    def jvp(self, ts: Any, y: Tensor, x: Tensor) -> Any:
        order = apply(ArgSort(self.axis, False), y)
        rank = apply(ArgSort(self.axis, False), order)
        return self._picked(Sort.jvp(self, ts, y, x), rank)

    def _picked(self, x: Tensor, indices: Tensor) -> Tensor:
        """Elements at positions, with derivatives of its own."""
        return apply(Index(tuple(range(x.ndim)), 0), x, *along(x, indices, self.axis))


@record
class TopIndices(Op):
    """Indices of the ``k`` greatest (or least) elements of an axis, in order."""

    k: int
    axis: int
    largest: bool
    name = "topk"
    traits = frozenset(("indices",))
    work = elements(16)
    differentiable = False

    def infer(self, x: Any) -> Any:
        n = x.shape[self.axis]
        if isinstance(n, int) and not 0 <= self.k <= n:
            raise ShapeError(f"k = {self.k} of {n} elements on axis {self.axis}; give k of at most "
                             f"{n}")
        return (*x.shape[: self.axis], self.k, *x.shape[self.axis + 1:]), dtypes.int64

    def c_call(self, x: np.ndarray) -> Any:
        few = 0 < x.size <= _FEW_ELEMENTS and x.dtype.kind in "biuf" and self.largest
        return (first_of_order, (self.k,)) if few and self.axis in (-1, x.ndim - 1) else None

    def foreign(self, x: Any) -> Call | None:
        return first_few(x, self.axis, self.k, self.largest)

    def decompose(self, x: Tensor) -> Tensor | None:
        if self.foreign(x) is not None:
            return None
        order = apply(ArgSort(self.axis, self.largest), x)
        first = tuple((0, self.k, 1) if a == self.axis else FULL for a in range(x.ndim))
        return apply(Slice(first), order)

    def perform(self, x: np.ndarray) -> np.ndarray:
        found = None
        if x.size > _FEW_ELEMENTS:
            found = HOOKS.run(self, (x,), x.size * _POSITION_MULTIPLY_ADDS)
        return _along(x, self.axis, self._of_rows) if found is None else found

    def _of_rows(self, x: np.ndarray) -> np.ndarray:
        n = x.shape[-1]
        first = first_positions(x, self.k, self.largest)
        if first is not None:
            return first
        last = ArgSort(x.ndim - 1, self.largest).perform
        if self.k * 8 >= n or x.dtype.kind not in "iuf" or not np.isfinite(x).all():
            return last(x)[..., : self.k]
        kth = n - self.k if self.largest else self.k - 1
        part = np.argpartition(x, kth, axis=-1) if self.k else np.zeros_like(x, np.int64)
        found = np.sort(part[..., n - self.k:] if self.largest else part[..., : self.k], axis=-1)
        if self.k:
            bound = np.take_along_axis(x, part[..., kth:kth + 1], -1)
            fit = x >= bound if self.largest else x <= bound
            if np.count_nonzero(fit) > found.size:  # the first of those that equal the last one
                equal = x == bound
                more = self.k - np.count_nonzero(fit & ~equal, axis=-1, keepdims=True)
                fit &= ~equal | (np.cumsum(equal, axis=-1) <= more)
                found = np.nonzero(fit)[-1].reshape(found.shape)
        inner = last(np.take_along_axis(x, found, -1))
        return np.take_along_axis(found, inner, -1)


@record
class SearchSorted(Op):
    """Where values would have to be put in to keep a sorted vector in order."""

    right: bool
    name = "searchsorted"
    work = elements(32)
    differentiable = False

    def infer(self, row: Any, values: Any) -> Any:
        if len(row.shape) < 1:
            raise ShapeError(f"the sorted operand must be a vector, not of shape {row.shape}")
        if len(row.shape) > 1 and row.shape[:-1] != values.shape[:-1]:
            raise ShapeError("sorted rows and their values must have the same axes but for the "
                             f"last, not shapes {row.shape} and {values.shape}")
        return values.shape, dtypes.int64

    def perform(self, row: np.ndarray, values: np.ndarray) -> np.ndarray:
        row, values = comparable(row), comparable(values)
        side: Any = "right" if self.right else "left"
        if row.ndim == 1:
            return np.asarray(row.searchsorted(values, side))
        self.infer(row, values)
        found = np.empty(values.shape, np.int64)
        for at in np.ndindex(values.shape[:-1]):
            found[at] = np.searchsorted(row[at], values[at], side)
        return found

    def c_call(self, row: np.ndarray, values: np.ndarray) -> Any:
        few = 0 < values.size <= _FEW_ELEMENTS and row.ndim == 1 and row.dtype.kind != "V"
        return (np.ndarray.searchsorted, ("right" if self.right else "left",)) if few else None

    def lower(self, at: Any, row: Any, values: Any) -> Any:
        """Binary search: the index is found bit by bit, from the highest."""
        n = row.shape[-1]
        value, before_last = values(*at), at[:-1] if len(row.shape) > 1 else ()
        before = self._complex_before if value.dtype.startswith("c") else self._before
        found = loops.const(0, "int64")
        for bit in reversed(range(int(n).bit_length())):
            step = found + (1 << bit)
            last = loops.call("minimum", step, n)
            below = before(row(*before_last, loops.atom_of(last) + -1), value)
            found = loops.where((step <= n) & below, step, found)
        return found

    def _before(self, element: Any, value: Any) -> Any:
        """Return whether an element comes before the position of a value; NaN comes last."""
        order = loops.call("less_equal" if self.right else "less", element, value)
        if element.dtype.startswith(("float", "bfloat")):
            missing = loops.call("isnan", value)
            if not self.right:
                missing = missing & ~loops.call("isnan", element)
            order = order | missing
        return order

    def _complex_before(self, element: Any, value: Any) -> Any:
        """Return whether a complex element comes before the position of a value, by their keys."""
        (*firsts, last) = zip(key_expressions(element), key_expressions(value), strict=True)
        found = loops.call("less_equal" if self.right else "less", *last)
        for a, b in firsts:
            found = (a < b) | (a.eq(b) & found)
        return found


# -- functions --------------------------------------------------------------------------------
def flat_or_axis(x: Any, axis: int | None) -> tuple[Tensor, int]:
    """The tensor and its axis; without one the flat elements."""
    x = as_tensor(x)
    if axis is None:
        return reshape(x, (-1,)), 0
    if x.ndim == 0:
        raise ShapeError("a number has no axis to put in order")
    return x, shapes.axis_of(axis, x.ndim)


@planned
@public
def argsort(x: TensorLike, /, axis: int | None = -1, *, descending: bool = False,
            stable: bool = True, kind: object = None, out: Tensor | None = None) -> Tensor:
    """Indices that put an axis in order.

    :param x: At least one axis; complex numbers are ordered by their real parts, then imaginary
        ones.
    :param axis: The axis to put in order; None sorts the flat elements. Also written ``dim``.
    :type axis: int or None
    :param descending: Whether the greatest come first, NaN before all.
    :param stable: The order of equal elements is kept in any case.
    :param kind: Taken from NumPy's calls, and not needed.
    :type kind: object
    :returns: int64, of the shape of ``x``.
    :raises ShapeError: For a number, which has no axis.
    :raises IndexError: If the axis is out of range.
    :see: sort, argpartition, lexsort, take_along_axis

    >>> ag.argsort(ag.tensor([3, 1, 2]))
    tensor([1, 2, 0])
    """
    x, axis = flat_or_axis(x, axis)
    return apply(ArgSort(axis, descending), x)


@where_torch
@planned
@public
def sort(x: TensorLike, /, axis: int | None = -1, *, descending: bool = False, stable: bool = True,
         kind: object = None, out: Tensor | None = None) -> Tensor:
    """The elements of an axis in order; NaN comes last, in descending order first.

    :like: argsort
    :returns: Of the shape and dtype of ``x``; gradients go back to the positions that elements came
        from.
    :see: argsort, topk, partition, unique_values, searchsorted

    >>> ag.sort(ag.tensor([3, 1, 2]), descending=True)
    tensor([3, 2, 1])
    """
    x, axis = flat_or_axis(x, axis)
    return apply(Sort(axis, descending), x)


@planned
@public
def topk(x: TensorLike, k: int, axis: int = -1, *, largest: bool = True) -> Ordered:
    """The ``k`` greatest elements of an axis, NaN before all, in order, and their indices.

    :param x: At least one axis; of a dtype with an order.
    :param k: How many; at most as many as the axis is long.
    :param largest: False gives the least.
    :returns values, indices: Elements in order, and int64 positions; as ``x``, but with ``k`` on
        the axis.
    :raises ShapeError: If the axis has fewer than ``k`` elements, or for a number.
    :see: sort, kthvalue, max, argpartition

    >>> ag.topk(ag.tensor([3, 1, 2]), 2).values
    tensor([3, 2])
    """
    x, axis = flat_or_axis(x, axis)
    op = TopIndices(operator.index(k), axis, largest)
    op.infer(x)
    n = x.shape[axis]
    x = ensured_sizes("topk", x, (n,), (op.k,), f"k = {op.k} of {n} elements on axis {axis}",
                      "at least")
    indices = apply(op, x)
    return Ordered(take_along_axis(x, indices, axis), indices)


@planned
@public
def searchsorted(x1: TensorLike, x2: TensorLike, /, side: str = "left",
                 sorter: TensorLike | None = None, *, out: Tensor | None = None) -> Tensor:
    """Where values would have to be put in to keep a sorted vector in order.

    :param x1: The vector, in order; or in any, if ``sorter`` puts it in order. With more axes, a
        vector for each row of ``x2``.
    :param x2: The values.
    :param side: Before or behind elements that are equal.
    :type side: {"left", "right"}
    :param sorter: As from ``argsort``.
    :type sorter: array_like of int, optional
    :returns: int64, of the shape of ``x2``.
    :raises ValueError: If ``side`` is another.
    :raises ShapeError: If ``x1`` is no vector, and has not the axes of ``x2`` before the last.
    :see: sort, digitize, argsort

    >>> ag.searchsorted(ag.tensor([1, 3, 5]), ag.tensor([3, 4]))
    tensor([1, 2])
    """
    if side not in ("left", "right"):
        raise ValueError(f"side must be 'left' or 'right', not {side!r}")
    row, x = pair(x1, x2)
    if sorter is not None:
        row = take(row, sorter) if row.ndim < 2 else take_along_axis(row, sorter, -1)
    return apply(SearchSorted(side == "right"), row, x)
