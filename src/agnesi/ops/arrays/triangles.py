"""Triangles and diagonals: matrices of ones, indices, and writing on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.core.dispatch import assign, refuse_declared
from agnesi.core.integers import known_integer
from agnesi.core.op import typed
from agnesi.core.parameter_types import DTypeLike, TensorLike
from agnesi.core.public import planned, public, where_torch
from agnesi.core.support import dtypes
from agnesi.core.support.config import switched
from agnesi.core.support.errors import ShapeError, check_allocatable
from agnesi.core.support.worker_threads import aside
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.arrays.replicate import broadcast_to
from agnesi.ops.base.compare import less_equal
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.creation import float_dtype, zeros
from agnesi.ops.base.movement import reshape
from agnesi.ops.indexing.diagonal import diag
from agnesi.ops.indexing.join import concat
from agnesi.ops.indexing.ranges import arange
from agnesi.ops.indexing.scatter import index_put
from agnesi.ops.reductions.running import cumprod

#: Nanoseconds for each element of a matrix to list its indices.
_INDEX_NANOSECONDS = 8

__all__ = [
    "diag_indices", "diag_indices_from", "diagflat", "fill_diagonal", "mask_indices", "tri",
    "tril_indices", "tril_indices_from", "triu_indices", "triu_indices_from", "vander",
]

Pair = tuple[Tensor, Tensor]


@planned
@public
def tri(n: int, m: int | None = None, k: int = 0, dtype: DTypeLike = None, *,
        out: Tensor | None = None) -> Tensor:
    """Ones on and below a diagonal of a matrix of zeros.

    :param n: Number of rows.
    :param m: Number of columns; ``n`` by default.
    :param k: Which diagonal is the last one of ones.
    :param dtype: Type of the elements; by default the default float dtype
        (``config.default_float``).
    :returns: Of shape (n, m).
    :see: tril, triu, eye

    >>> ag.tri(2, 3)
    tensor([[1., 0., 0.],
            [1., 1., 0.]])
    """
    rows, columns = arange(n), arange(n if m is None else m)
    inside = less_equal(columns, reshape(rows, (rows.shape[0], 1)) + k)
    return cast(inside, float_dtype(dtype))


def _indices(pair: Any, dtype: DTypeLike = None) -> Any:
    kind = dtypes.int64 if dtype is None else dtypes.as_dtype(dtype)
    return tuple(wrap(np.asarray(i, kind)) for i in pair)


def _of_triangle(function: Any, n: int, k: int, m: int | None, dtype: DTypeLike) -> Any:
    if isinstance(n, int):
        check_allocatable((max(n, 0),), dtypes.int64)
    work = n * (n if m is None else m) if isinstance(n, int) and isinstance(m, int | None) else 0
    return _indices(aside(_INDEX_NANOSECONDS * work, function, n, k, m), dtype)


@where_torch
@planned
@public
def tril_indices(n: int, k: int = 0, m: int | None = None, *, dtype: DTypeLike = None) -> Pair:
    """Indices of the lower triangle of an (n, m) matrix.

    :param n: Number of rows.
    :param k: Which diagonal ends the triangle: 0 the main one, positive ones above it.
    :param m: Number of columns; ``n`` by default.
    :param dtype: Type of the indices; int64 by default.
    :returns rows, columns: Vectors, in row-major order.
    :raises TypeError: For a second positional argument above 0, which PyTorch takes for a number of
        columns.
    :see: triu_indices, tril, tril_indices_from

    >>> ag.tril_indices(2)
    (tensor([0, 1, 1]), tensor([0, 0, 1]))
    """
    return _of_triangle(np.tril_indices, n, k, m, dtype)


@where_torch
@planned
@public
def triu_indices(n: int, k: int = 0, m: int | None = None, *, dtype: DTypeLike = None) -> Pair:
    """Indices of the upper triangle of an (n, m) matrix.

    :param n: Number of rows.
    :param k: Which diagonal ends the triangle: 0 the main one, positive ones above it.
    :param m: Number of columns; ``n`` by default.
    :param dtype: Type of the indices; int64 by default.
    :returns rows, columns: Vectors, in row-major order.
    :see: tril_indices, triu, triu_indices_from

    >>> ag.triu_indices(2)
    (tensor([0, 0, 1]), tensor([0, 1, 1]))
    """
    return _of_triangle(np.triu_indices, n, k, m, dtype)


def _sizes(x: Any) -> tuple[int, int]:
    x = as_tensor(x)
    if x.ndim != 2:
        raise ShapeError(f"the operand must be a matrix, not of shape {x.shape}")
    return x.shape


@public
def tril_indices_from(x: TensorLike, k: int = 0) -> Pair:
    """Indices of the lower triangle of a matrix.

    :param x: A matrix; only its shape is read.
    :param k: Which diagonal ends the triangle: 0 the main one, positive ones above it.
    :returns rows, columns: int64 vectors, in row-major order.
    :raises ShapeError: If ``x`` is no matrix.
    :see: tril_indices, triu_indices_from

    >>> ag.tril_indices_from(ag.ones((2, 2)), -1)
    (tensor([1]), tensor([0]))
    """
    n, m = _sizes(x)
    return tril_indices(n, k=k, m=m)


@public
def triu_indices_from(x: TensorLike, k: int = 0) -> Pair:
    """Indices of the upper triangle of a matrix.

    :like: tril_indices_from
    :see: triu_indices, tril_indices_from

    >>> ag.triu_indices_from(ag.ones((2, 2)), 1)
    (tensor([0]), tensor([1]))
    """
    n, m = _sizes(x)
    return triu_indices(n, k, m)


@public
def diag_indices(n: int, ndim: int = 2) -> tuple[Tensor, ...]:
    """Indices of the diagonal of an array with ``ndim`` axes of size ``n``.

    :param n: Size of the axes.
    :param ndim: Number of axes.
    :returns: ``ndim`` int64 vectors.
    :see: diag_indices_from, tril_indices, fill_diagonal

    >>> ag.diag_indices(2)
    (tensor([0, 1]), tensor([0, 1]))
    """
    return (arange(n),) * known_integer(ndim, "ndim")


@public
def diag_indices_from(x: TensorLike) -> tuple[Tensor, ...]:
    """Indices of the diagonal of an array whose axes have one size.

    :param x: At least two axes, of one size.
    :returns: An int64 vector for each axis.
    :raises ShapeError: If the axes are of several sizes, or fewer than 2.
    :see: diag_indices

    >>> ag.diag_indices_from(ag.ones((2, 2)))
    (tensor([0, 1]), tensor([0, 1]))
    """
    x = as_tensor(x)
    if x.ndim < 2 or len(set(x.shape)) > 1:
        raise ShapeError(f"the operand must have two or more axes of one size, not {x.shape}")
    return diag_indices(x.shape[0], x.ndim)


@public
def mask_indices(n: int, mask_func: Callable[..., Any], k: int = 0) -> Pair:
    """Indices that a function such as ``ag.triu`` leaves of an (n, n) matrix of ones.

    :param n: Size of both axes.
    :param mask_func: ``mask_func(matrix, k)``; what it makes of ones and is not 0 is taken.
    :type mask_func: callable
    :param k: Handed to it.
    :returns rows, columns: int64 vectors.
    :see: triu_indices, tril_indices, nonzero

    >>> ag.mask_indices(2, ag.triu, 1)
    (tensor([0]), tensor([1]))
    """
    with switched(symbolic=None, trace=None, examples=None, recording=False):
        kept = np.asarray(mask_func(wrap(np.ones((n, n), np.int64)), k))  # which of them count
    return _indices(np.nonzero(kept))


@planned
@public
def diagflat(x: TensorLike, k: int = 0, *, out: Tensor | None = None) -> Tensor:
    """A matrix with the flat elements on a diagonal.

    :param x: Of any shape, with n elements.
    :param k: Which diagonal: 0 the main one, positive ones above it.
    :returns: Of shape (n + |k|, n + |k|).
    :see: diag, diagonal

    >>> ag.diagflat([[1, 2]])
    tensor([[1, 0],
            [0, 2]])
    """
    x = as_tensor(x)
    return diag(reshape(x, (x.size,)), k)


@public
def fill_diagonal(x: Tensor, value: TensorLike, wrap: bool = False) -> None:
    """Write a value on the diagonal of ``x``, in place; ``wrap`` starts again in tall ones.

    :param x: With two or more axes; of one size, if there are more.
    :param value: Repeated along the diagonal.
    :param wrap: Whether to start again below the square part of tall matrices.
    :raises TypeError: If ``x`` is no tensor.
    :raises ShapeError: If ``x`` has fewer than 2 axes, or several sizes of more.
    :see: diagonal, diag_indices, diag

    >>> x = ag.zeros((2, 2))
    >>> ag.fill_diagonal(x, 5.0)
    >>> x
    tensor([[5., 0.],
            [0., 5.]])
    """
    if not isinstance(x, Tensor):
        raise TypeError(f"x must be a tensor, which is changed in place, not {typed(x)}")
    if x.ndim < 2 or (x.ndim > 2 and len(set(x.shape)) > 1):
        raise ShapeError(f"the operand must be a matrix, or have axes of one size, not {x.shape}")
    if x.array is None:
        refuse_declared(x)
    strides = np.cumprod([1, *x.shape[:0:-1]])
    end = x.size if wrap or x.ndim > 2 else min(x.size, x.shape[1] * x.shape[1])
    positions = np.arange(0, end, int(strides.sum()))
    new = reshape(as_tensor(value, x.dtype), (-1,))
    cyclic = np.arange(len(positions)) % max(new.shape[0], 1)
    flat = index_put(reshape(x, (x.size,)), positions, new[cyclic])
    assign(x, reshape(flat, x.shape))


@planned
@public
def vander(x: TensorLike, n: int | None = None, increasing: bool = False, *,
           out: Tensor | None = None) -> Tensor:
    """Rows of the powers of each element, the highest first unless ``increasing``.

    :param x: A vector.
    :param n: Number of columns; that of elements by default.
    :param increasing: Whether the lowest power is the first.
    :returns: Of shape (elements, n).
    :raises ShapeError: If ``x`` is no vector.
    :see: polyfit, polyval

    >>> ag.vander(ag.tensor([2, 3]))
    tensor([[2, 1],
            [3, 1]])
    """
    x = as_tensor(x)
    if x.ndim != 1:
        raise ShapeError(f"the operand must be a vector, not of shape {x.shape}")
    count = x.shape[0] if n is None else known_integer(n, "n", 0)
    if x.dtype.kind in "biu":
        x = cast(x, dtypes.int64)
    if not count:
        return zeros((x.shape[0], 0), x.dtype)
    one = reshape(as_tensor(1, x.dtype), (1, 1))
    ones = broadcast_to(one, (x.shape[0], 1))
    repeated = broadcast_to(reshape(x, (x.shape[0], 1)), (x.shape[0], count - 1))
    powers = cumprod(concat([ones, repeated], 1), 1)
    return powers if increasing else powers[:, ::-1]
