"""Scatter with a reduction: the sum, product, mean or extreme of all values of one index."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.core import shapes
from agnesi.core.dispatch import apply
from agnesi.core.ir.dims import product
from agnesi.core.op import Op, typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support import dtypes
from agnesi.core.support.errors import DTypeError, ShapeError
from agnesi.core.support.numpy_warnings import silently
from agnesi.core.support.record import record
from agnesi.core.support.worker_threads import elements
from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith, expand, select
from agnesi.ops.base.convert import as_tensor, beside, cast
from agnesi.ops.base.creation import filled
from agnesi.ops.base.gather.elements import Index, IndexSum
from agnesi.ops.base.gather.gather_scatter import at_indices
from agnesi.ops.base.movement import reshape
from agnesi.ops.base.parameter_checks import of_shape
from agnesi.ops.base.slices import flip
from agnesi.ops.indexing.index import as_index
from agnesi.ops.indexing.ranges import arange
from agnesi.ops.indexing.scatter import IndexAdd, IndexPut, corner, source_of
from agnesi.ops.sorting.sort import argsort

_UFUNCS = {"prod": np.multiply, "amax": np.maximum, "amin": np.minimum}
_KINDS = ("sum", "prod", "mean", "amax", "amin")


def _at(x: Tensor, indices: Tensor) -> Tensor:
    return apply(Index((0,), 0), x, indices)


def _summed(values: Tensor, indices: Tensor, count: Any) -> Tensor:
    return apply(IndexSum((0,), 0, (count,)), values, indices)


@record
class Brought(Op):
    """A vector into which values at indices are reduced, by product, maximum or minimum."""

    kind: str
    work = elements(16)
    name = "scatter_reduce"
    keep_output = True

    def infer(self, x: Any, values: Any, indices: Any) -> Any:
        return x.shape, x.dtype

    def perform(self, x: np.ndarray, values: np.ndarray, indices: np.ndarray) -> np.ndarray:
        found = x.copy()
        silently(at_indices, _UFUNCS[self.kind], found, indices, values)
        return found

    def decompose(self, x: Tensor, values: Tensor, indices: Tensor) -> Tensor | None:
        """Of several elements that are put at one index the last stays."""
        if self.kind == "prod":
            return None
        order = argsort(values)
        if self.kind == "amin":  # but what is no number is last both times
            order = argsort(-values) if values.dtype.kind in "fV" else flip(order, 0)
        last = apply(IndexPut((0,), 0), x, _at(values, order), _at(indices, order))
        return (select.maximum if self.kind == "amax" else select.minimum)(x, last)

    def vjp(self, g: Tensor, y: Tensor, x: Tensor, values: Tensor, indices: Tensor
            ) -> tuple[Any, ...]:
        if self.kind == "prod":
            return *self._of_products(g, x, values, indices), None
        of_x, of_src, wide = x == y, values == _at(y, indices), dtypes.accumulated(g.dtype)
        count = cast(of_x, wide) + _summed(cast(of_src, wide), indices, x.shape[0])
        share = cast(g / count, g.dtype)
        return select.where(of_x, share, 0), select.where(of_src, _at(share, indices), 0), None

    def _of_products(self, g: Tensor, x: Tensor, values: Tensor, indices: Tensor
                     ) -> tuple[Tensor, Tensor]:
        """Return the gradients to both groups of factors of products: the product of the others."""
        of_x, of_src, wide = x == 0, values == 0, dtypes.accumulated(dtypes.real_of(g.dtype))
        zeros = cast(of_x, wide) + _summed(cast(of_src, wide), indices, x.shape[0])
        rest = apply(self, select.where(of_x, 1, x), select.where(of_src, 1, values), indices)

        def share(zero: Tensor, count: Tensor, rest: Tensor, factor: Tensor) -> Tensor:
            others = select.where(zero, rest, rest / select.where(zero, 1, factor))
            return arith.conj(select.where(count - cast(zero, count.dtype) == 0, others, 0))

        return g * share(of_x, zeros, rest, x), _at(g, indices) * share(
            of_src, _at(zeros, indices), _at(rest, indices), values)


def _reduced(x: Tensor, values: Tensor, indices: Tensor, kind: str, include_self: bool) -> Tensor:
    """Scatter and reduce flat operands, of which the last are indices in the first."""
    if kind not in _KINDS:
        raise ValueError(f"reduce must be one of {_KINDS}, not {kind!r}")
    if x.dtype.kind == "c" and kind in ("amax", "amin"):
        raise DTypeError(f"complex numbers have no order: {typed(x)}")
    count = x.shape[0]
    wide = dtypes.accumulated(x.dtype)
    if kind == "mean" or not include_self:
        brought = _summed(filled(values.shape, 1, dtypes.real_of(wide)), indices, count)
    if not include_self:
        x = select.where(brought > 0, cast(as_tensor(_nothing(x.dtype, kind)), x.dtype), x)
    if kind in _UFUNCS:
        return apply(Brought(kind), x, values, indices)
    if kind == "sum":
        return apply(IndexAdd((0,), 0), x, values, indices)
    total = apply(IndexAdd((0,), 0), cast(x, wide), cast(values, wide), indices)
    among = select.maximum(brought + int(include_self), 1) if not include_self else brought + 1
    return cast(total / among if wide.kind in "fc" else total // among, x.dtype)


def _nothing(dtype: np.dtype, kind: str) -> Any:
    """Return the neutral element of a reduction, for elements that do not count."""
    if kind not in ("amax", "amin"):
        return int(kind == "prod")
    if dtype.kind in "fV":
        return -np.inf if kind == "amax" else np.inf
    if dtype.kind == "b":
        return kind == "amin"
    limits = np.iinfo(dtype)
    return np.array(limits.min if kind == "amax" else limits.max, dtype)


def _flat_indices(x: Tensor, every: tuple[Tensor, ...]) -> Tensor:
    """Indices in the flattened tensor, from those along all axes."""
    numbers = reshape(arange(product(x.shape)), x.shape)
    return apply(Index(tuple(range(x.ndim)), 0), numbers, *every)


@planned
@public
def scatter_reduce(x: TensorLike, axis: int, index: TensorLike, src: TensorLike, reduce: str, *,
                   include_self: bool = True, out: Tensor | None = None) -> Tensor:
    """A new tensor: ``x`` where elements of ``src`` that ``index`` brings to one index become one.

    :param x: It is left as it is.
    :param index: As many axes as ``x``; nowhere longer but on ``axis``.
    :type index: array_like of int
    :param src: At least as long as ``index`` everywhere, or broadcast to it.
    :param reduce: What they become.
    :type reduce: {"sum", "prod", "mean", "amax", "amin"}
    :param include_self: Whether the element of ``x`` is one of them; else it counts where nothing
        is brought only.
    :returns: Of the shape and dtype of ``x``. Equal extremes share the gradient.
    :raises ValueError: If there is no such ``reduce``.
    :raises IndexError: If an index or the axis is out of range.
    :raises ShapeError: If ``index`` or ``src`` does not fit.
    :raises DTypeError: For extremes of complex numbers.
    :see: scatter_add, index_reduce, scatter

    >>> ag.scatter_reduce(ag.zeros(3), 0, ag.tensor([2, 2, 0]), ag.tensor([5.0, 6.0, -1.0]), "amax")
    tensor([0., 0., 6.])
    """
    x, index = as_tensor(x), as_index(index)
    indices = _flat_indices(x, corner(x, index, shapes.axis_of(axis, x.ndim)))
    values = source_of(src, index, x)
    found = _reduced(reshape(x, (-1,)), reshape(values, (-1,)), reshape(indices, (-1,)), reduce,
                     include_self)
    return reshape(found, x.shape)


@planned
@public
def index_reduce(x: TensorLike, axis: int, index: TensorLike, source: TensorLike, reduce: str, *,
                 include_self: bool = True, out: Tensor | None = None) -> Tensor:
    """A new tensor: ``x`` where slices of ``source`` at one index of an axis become one.

    :param x: It is left as it is.
    :param index: A vector: where on the axis each slice goes.
    :type index: array_like of int
    :param source: Of the shape of ``x`` but for the axis, where it is as long as ``index``.
    :param reduce: What they become.
    :type reduce: {"prod", "mean", "amax", "amin", "sum"}
    :param include_self: Whether the slice of ``x`` is one of them; else it counts where nothing is
        brought only.
    :returns: Of the shape and dtype of ``x``.
    :raises ValueError: If there is no such ``reduce``.
    :raises IndexError: If an index or the axis is out of range.
    :raises ShapeError: If ``index`` or ``source`` does not fit.
    :see: index_add, scatter_reduce, index_put

    >>> ag.index_reduce(ag.ones(3), 0, ag.tensor([0, 0]), ag.tensor([2.0, 4.0]), "prod")
    tensor([8., 1., 1.])
    """
    x = as_tensor(x)
    index, source = as_index(index), beside(source, x)
    axis = shapes.axis_of(axis, x.ndim)
    if index.ndim != 1:
        raise ShapeError(f"index must be a vector, not {typed(index)}")
    shape = (*x.shape[:axis], index.shape[0], *x.shape[axis + 1:])
    source = of_shape("index_reduce", source, shape, f"source must be {shape}, not {typed(source)}")
    index = reshape(index, (*(1,) * axis, index.shape[0], *(1,) * (x.ndim - axis - 1)))
    return scatter_reduce(x, axis, expand.broadcast_to(index, shape), source, reduce,
                          include_self=include_self)
