"""Positions of the elements that are not zero: all of them, or as many as are requested."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.core.calls.watched import warn_of
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import at_once, public, where_torch
from agnesi.core.support import dtypes
from agnesi.core.support.errors import ShapeError
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.base import select
from agnesi.ops.base.chosen import along_axes
from agnesi.ops.base.compare import not_equal
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.movement import reshape
from agnesi.ops.base.select import where
from agnesi.ops.indexing.index import getitem
from agnesi.ops.indexing.join import stack
from agnesi.ops.indexing.ranges import arange
from agnesi.ops.reductions.running import cumsum
from agnesi.ops.sorting.sort import searchsorted

__all__ = ["argwhere", "flatnonzero", "nonzero"]

#: More elements take so long that they are searched aside, where an interrupt is noticed.
_FEW_ELEMENTS = 4096


def first_positions(chosen: Tensor, size: int, fill_value: Any = 0) -> Tensor:
    """Positions of the first ``size`` true elements of a vector, then ``fill_value``."""
    seen = cumsum(cast(chosen, dtypes.int64))
    position = searchsorted(seen, arange(1, size + 1))
    return where(position < chosen.shape[0], position, as_tensor(fill_value, dtypes.int64))


def _rows_of_few(x: Any = None, *more: Any) -> Any:
    """The rows in the usual call of :func:`argwhere`, of a tensor of few elements."""
    if more or type(x) is not Tensor or (data := x.array) is None or not (
            data.ndim and data.size <= _FEW_ELEMENTS):
        return NotImplemented
    found = select.indices_of(data)
    return wrap(found[0].reshape(-1, 1) if data.ndim == 1 else np.array(found).T.copy())


def _indices_of_few(x: Any = None, *more: Any, as_tuple: bool | None = None) -> Any:
    """The indices in the usual call of :func:`nonzero`, of a tensor of few elements; PyTorch's
    keyword requests rows of them instead."""
    if as_tuple is not None and not as_tuple:
        return _rows_of_few(x, *more)
    if more or type(x) is not Tensor or (data := x.array) is None or not (
            data.ndim and data.size <= _FEW_ELEMENTS):
        return NotImplemented
    if as_tuple is None:
        warn_of("nonzero")
    return tuple([wrap(i) for i in select.indices_of(data)])


@where_torch
@at_once(_indices_of_few)
@public
def nonzero(x: TensorLike, /, *, size: int | None = None, fill_value: TensorLike = 0
            ) -> tuple[Tensor, ...]:
    """Indices of the elements that are not zero, a tensor for each axis.

    :param x: At least one axis; NaN is not zero.
    :param size: How many to give: further ones are left out, missing ones are ``fill_value``.  By
        default as many as there are, in compiled code too.
    :param fill_value: One for all axes, or one for each.
    :type fill_value: int or sequence of int
    :returns: int64.
    :raises ShapeError: For numbers, which have no axes.
    :raises TraceError: Without ``size``, in the body of a loop or of ``vmap``, unless what is made
        of it is reduced there (``sum``, ``max``): sizes cannot change.
    :see: argwhere, flatnonzero, where, count_nonzero

    >>> ag.nonzero(ag.tensor([0, 3, 4]))
    (tensor([1, 2]),)
    >>> ag.nonzero(ag.tensor([0, 3, 4]), size=3, fill_value=-1)
    (tensor([ 1,  2, -1]),)
    """
    x = as_tensor(x)
    if size is None:
        return select.nonzero(x)
    if x.ndim == 0:
        raise ShapeError("a number has no axes, and so no indices; use ag.reshape(x, (1,))")
    if x.size == 0:
        return tuple(as_tensor(v, dtypes.int64) + 0 * arange(size) for v in _fills(fill_value, x))
    position = first_positions(reshape(not_equal(x, 0), (x.size,)), size, -1)
    indices = along_axes(position, x.shape)
    return tuple(
        where(position < 0, as_tensor(v, dtypes.int64), i)
        for i, v in zip(indices, _fills(fill_value, x), strict=True)
    )


def _fills(value: Any, x: Tensor) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * x.ndim


@public
def flatnonzero(x: TensorLike, /, *, size: int | None = None, fill_value: int = 0,
                out: Tensor | None = None) -> Tensor:
    """Positions of the elements that are not zero among the flat elements.

    :param x: Of any shape; NaN is not zero.
    :param size: How many to give; see :func:`nonzero`.
    :param fill_value: Positions that are missing to ``size``.
    :returns: int64, a vector in ascending order.
    :raises TraceError: Without ``size``, in the body of a loop or of ``vmap``, unless what is made
        of it is reduced there (``sum``, ``max``): sizes cannot change.
    :see: nonzero, argwhere, ravel

    >>> ag.flatnonzero(ag.tensor([[0, 3], [4, 0]]))
    tensor([1, 2])
    """
    x = as_tensor(x)
    return nonzero(reshape(x, (x.size,)), size=size, fill_value=fill_value)[0]


@at_once(_rows_of_few)
@public
def argwhere(x: TensorLike, /, *, size: int | None = None, fill_value: int | Sequence[int] = 0,
             out: Tensor | None = None) -> Tensor:
    """A row of indices for each element that is not zero.

    :like: flatnonzero
    :param size: How many rows to give; see :func:`nonzero`.
    :param fill_value: Indices of rows that are missing to ``size``.
    :type fill_value: int or sequence of int
    :returns: int64, of shape (elements, axes), in row-major order.
    :see: nonzero, flatnonzero, where

    >>> ag.argwhere(ag.tensor([[0, 3], [4, 0]]))
    tensor([[0, 1],
            [1, 0]])
    """
    x = as_tensor(x)
    if x.ndim == 0:
        found = flatnonzero(reshape(x, (1,)), size=size)
        return reshape(found, (-1, 1))[:, :0]
    indices = nonzero(x, size=size, fill_value=fill_value)
    if indices[0]._lazy:  # in a body: rows of the table of all positions
        every = along_axes(arange(x.size), x.shape)
        return getitem(stack(every, -1), reshape(not_equal(x, 0), (x.size,)))
    return stack(indices, -1)
