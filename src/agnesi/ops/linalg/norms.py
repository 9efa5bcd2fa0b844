"""Norms of vectors and matrices, and condition numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from agnesi.core import shapes
from agnesi.core.dispatch import apply
from agnesi.core.parameter_types import Axis, TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support.errors import ShapeError
from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith, reduce
from agnesi.ops.base.compare import isnan, logical_and, logical_not
from agnesi.ops.base.convert import as_tensor, floating
from agnesi.ops.base.movement import expand_dims, moveaxis, reshape
from agnesi.ops.base.reduce import any as any_of
from agnesi.ops.base.select import where
from agnesi.ops.linalg.base import check_matrix, matrix
from agnesi.ops.linalg.solve import inv_ex
from agnesi.ops.linalg.spectral.polar import NuclearNorm
from agnesi.ops.linalg.spectral.svd import VALUES
from agnesi.ops.reductions import vector_norms

Order = Any
_SUMS = {1: (0, "max"), -1: (0, "min"), math.inf: (1, "max"), -math.inf: (1, "min")}


def _matrix_norm(x: Tensor, ord: Order) -> Tensor:
    """Norms of the matrices on the last two axes, which stay as axes of size 1."""
    if isinstance(ord, (bool, np.bool_)):
        raise TypeError(f"ord must be a number or a name, not {ord}")
    if ord is None or ord == "fro":
        return vector_norms.norm(x, 2, (-2, -1), keepdims=True)
    if ord == "nuc":
        return apply(NuclearNorm(), matrix(x))
    if ord in (2, -2):
        values = apply(VALUES, matrix(x))
        over = {2: reduce.max, -2: reduce.min}[ord]
        return expand_dims(over(values, -1, keepdims=True), -1)
    if ord not in _SUMS:
        raise ValueError(
            f"there is no norm {ord!r} of matrices; there are 'fro', 'nuc', 1, -1, 2, -2, inf "
            "and -inf"
        )
    axis, kind = _SUMS[ord]
    sums = reduce.sum(arith.abs(x), axis - 2, keepdims=True)
    extreme = reduce.max if kind == "max" else reduce.min
    return extreme(sums, -1 - axis, keepdims=True)


def _on_last(x: Tensor, axis: Any) -> tuple[Tensor, tuple[int, int]]:
    """The matrices on two axes, moved to the end."""
    if len(axis) != 2:
        raise ValueError(f"a matrix lies on two axes, not {axis}")
    first, second = (shapes.axis_of(a, len(x.shape)) for a in axis)
    if first == second:
        raise ValueError(f"axis {tuple(axis)} names an axis twice")
    return moveaxis(x, (first, second), (-2, -1)), (first, second)


@planned
@public
def norm(x: TensorLike, /, ord: Order = None, axis: Axis = None, keepdims: bool = False, *,
         out: Tensor | None = None) -> Tensor:
    """Norms of vectors or matrices, as NumPy's function of this name chooses them.

    :param x: Real or complex numbers.
    :param ord: By default the root of the sum of squares, of all elements if there is no ``axis``.
    :type ord: number or {"fro", "nuc"}, optional
    :param axis: Where the vectors or the matrices are; without it, ``x`` itself is one, or the
        other.
    :type axis: int or tuple of two int, optional
    :param keepdims: Whether these axes stay, with size 1.
    :returns: Real, of the shape of ``x`` without these axes.
    :raises ShapeError: If an order is given without an axis for neither a vector nor a matrix.
    :raises ValueError: If there is no such norm, or ``axis`` is an empty tuple.
    :see: linalg.vector_norm, linalg.matrix_norm, agnesi.norm

    >>> ag.linalg.norm(ag.tensor([[1.0, 2.0], [3.0, 4.0]]), 1).item()
    6.0
    """
    x = as_tensor(x)
    if axis is None and ord is not None and len(x.shape) not in (1, 2):
        raise ShapeError(f"a norm by order {ord!r} needs an axis for shape {x.shape}")
    if axis is None:
        axis = tuple(range(len(x.shape)))
    elif isinstance(axis, (tuple, list)) and not axis:
        raise ValueError("axis names no axis, along which there is a norm; see abs")
    axes = shapes.axes_of(axis, x.ndim) if not isinstance(axis, (tuple, list)) else tuple(axis)
    if ord is None:
        return vector_norms.norm(x, 2, axes or None, keepdims=keepdims)
    if len(axes) == 2:
        return _norm_of_matrices(floating(x), ord, axes, keepdims)
    if len(axes) != 1 or isinstance(ord, str):
        raise ValueError(f"there is no norm {ord!r} of vectors on axes {axes}")
    return vector_norms.norm(x, ord, axes, keepdims=keepdims)


def _norm_of_matrices(x: Tensor, ord: Order, axes: Any, keepdims: bool) -> Tensor:
    matrices, axes_ = _on_last(x, axes)
    found = _matrix_norm(matrices, ord)
    if keepdims:
        return moveaxis(found, (-2, -1), axes_)
    return reshape(found, found.shape[:-2])


@planned
@public
def matrix_norm(x: TensorLike, /, ord: Order = "fro", axis: Axis = (-2, -1),
                keepdims: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Norms of matrices.

    :param x: Of shape (..., m, n).
    :param ord: The root of the sum of squares; the sum of singular values; the greatest (least) sum
        of absolute values of a column; the greatest (least) singular value; that sum of a row.
    :type ord: {"fro", "nuc", 1, -1, 2, -2, inf, -inf}
    :param axis: Where the matrices are.
    :type axis: tuple of two int
    :param keepdims: Whether the matrices' axes stay, with size 1.
    :returns: Real, of the shape of ``x`` without the matrices' axes.
    :raises ShapeError: If ``x`` has fewer than 2 axes.
    :raises ValueError: If there is no such norm.
    :see: linalg.norm, linalg.vector_norm, linalg.cond

    >>> ag.linalg.matrix_norm(ag.tensor([[3.0, 0.0], [0.0, 4.0]])).item()
    5.0
    """
    x = floating(x)
    check_matrix(x)
    return _norm_of_matrices(x, ord, axis, keepdims)


@planned
@public
def vector_norm(x: TensorLike, /, ord: float = 2, axis: Axis = None, keepdims: bool = False, *,
                out: Tensor | None = None) -> Tensor:
    """Norms of vectors: ``sum(abs(x)**ord)**(1/ord)``.

    :param x: Real or complex numbers.
    :param ord: A number, inf or -inf; 0 counts what is not 0.
    :param axis: Where the vectors are; all elements are one by default.
    :param keepdims: Whether these axes stay, with size 1.
    :returns: Real, of the shape of ``x`` without these axes.
    :raises ShapeError: For ``inf`` and ``-inf`` of no elements.
    :see: linalg.norm, linalg.matrix_norm, agnesi.norm

    >>> ag.linalg.vector_norm(ag.tensor([3.0, 4.0])).item()
    5.0
    """
    return vector_norms.norm(x, ord, axis, keepdims=keepdims)


@planned
@public
def cond(x: TensorLike, p: Order = None, *, out: Tensor | None = None) -> Tensor:
    """Condition numbers: the norm of matrices times that of their inverses.

    :param x: Of shape (..., m, n); square but for the norms 2 and -2.
    :param p: A norm of :func:`matrix_norm`; 2 by default.
    :type p: number or str, optional
    :returns: Of shape (...); inf for singular matrices.
    :raises ShapeError: If ``x`` has fewer than 2 axes.
    :see: linalg.norm, linalg.svdvals, linalg.matrix_rank

    >>> ag.linalg.cond(ag.tensor([[4.0, 0.0], [0.0, 2.0]])).item()
    2.0
    """
    x = matrix(x)
    if p is None or p in (2, -2):
        values = apply(VALUES, x)
        first, last = values[..., 0], values[..., -1]
        found = arith.divide(last, first) if p == -2 else arith.divide(first, last)
    else:
        found = arith.multiply(matrix_norm(x, ord=p), matrix_norm(inv_ex(x).inverse, ord=p))
    unknown = any_of(isnan(x), axis=(-2, -1))  # else NaN is of a singular matrix
    return where(logical_and(isnan(found), logical_not(unknown)), np.inf, found)
