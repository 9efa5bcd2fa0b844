"""LU factors with partial pivoting, and systems solved with them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from agnesi.core import shapes
from agnesi.core.dispatch import apply, apply_many, symbolic
from agnesi.core.ir import foreign
from agnesi.core.ir.dims import Size
from agnesi.core.op import Op, typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.shapes import surely_less
from agnesi.core.support import dtypes
from agnesi.core.support.errors import ShapeError
from agnesi.core.support.record import record
from agnesi.core.support.worker_threads import cubes, elements
from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith
from agnesi.ops.base.compare import equal
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.creation import zeros
from agnesi.ops.base.expand import broadcast_to
from agnesi.ops.base.movement import matrix_transpose, reshape
from agnesi.ops.base.parameter_checks import demanded, of_shape
from agnesi.ops.indexing.diagonal import Triangle
from agnesi.ops.indexing.index import take_along_axis
from agnesi.ops.indexing.join import concat
from agnesi.ops.indexing.ranges import Arange, arange, eye
from agnesi.ops.linalg import lapack, library
from agnesi.ops.linalg.base import (
    MatrixOp,
    adjoint,
    check_rows,
    check_square,
    count,
    factors_of,
    matrix,
    matrix_pair,
    of_columns,
    smaller,
    times,
)
from agnesi.ops.linalg.routines import LASWP, callable_for
from agnesi.ops.linalg.small import factored_call, many_columns
from agnesi.ops.linalg.triangular import SolveTriangular
from agnesi.ops.sorting.sort import argsort

_LOWER = SolveTriangular(True, unit=True)
_UPPER = SolveTriangular(False)


class LUFactors(NamedTuple):
    """Both factors in one matrix, and with which row each row was exchanged."""

    lu: Tensor
    piv: Tensor


class LUParts(NamedTuple):
    """``P @ L @ U`` is the matrix."""

    P: Tensor
    L: Tensor
    U: Tensor


# -- operations ---------------------------------------------------------------------------------
@record
class LU(MatrixOp):
    """Both factors in one matrix, and for each row the one that it was exchanged with, from 0.

    The unit diagonal of the lower factor is not kept.  Rules: de Hoog, Anderssen and Lukas (2011).
    """

    work = cubes(1)
    name = "lu"
    outputs = 2
    keep_inputs = ()
    keep_output = True

    def infer(self, a: Any) -> Any:
        *front, m, n = a.shape
        return (a.shape, a.dtype), ((*front, smaller(m, n)), dtypes.int32)

    def perform(self, a: np.ndarray) -> Any:
        factors, pivots = lapack.getrf(a.swapaxes(-1, -2))
        return factors.swapaxes(-1, -2), pivots.astype(np.int32) - np.int32(1)

    def decompose(self, a: Tensor) -> tuple[Tensor, ...]:
        factors, pivots = apply_many(GETRF, matrix_transpose(a))
        return matrix_transpose(factors), cast(pivots - 1, dtypes.int32)

    def vjp(self, gs: Any, ys: Any, a: Tensor) -> tuple[Any, ...]:
        lower, upper, order = _padded(*ys)
        g = apply(Triangle(-1, False), times(adjoint(lower), gs[0]))
        g = arith.add(g, apply(Triangle(0, True), times(gs[0], adjoint(upper))))
        g = _LOWER.adjoint(lower, g)
        g = adjoint(apply(_UPPER, upper, adjoint(g)))
        return (_rows(g, argsort(order, axis=-1)),)

    def jvp(self, ts: Any, ys: Any, a: Tensor) -> Any:
        lower, upper, order = _padded(*ys)
        x = apply(_LOWER, lower, _rows(ts[0], order))
        x = adjoint(_UPPER.adjoint(upper, adjoint(x)))
        left = times(lower, apply(Triangle(-1, False), x))
        return arith.add(left, times(apply(Triangle(0, True), x), upper)), None


def _padded(lu: Tensor, pivots: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Square factors whose product begins with the matrix, and the order of its rows."""
    m, n = lu.shape[-2:]
    lower, upper = apply(Triangle(-1, False), lu), apply(Triangle(0, True), lu)
    front = lu.shape[:-2]
    if m != n and m > n:
        lower = concat([lower, zeros((*front, m, m - n), dtype=lu.dtype)], axis=-1)
        upper = upper[..., :n, :]
    elif m != n:
        lower = lower[..., :, :m]
        rest = broadcast_to(eye(n - m, n, k=m, dtype=lu.dtype), (*front, n - m, n))
        upper = concat([upper, rest], axis=-2)
    return lower + eye(m, dtype=lu.dtype), upper, apply(RowOrder(m), pivots)


def _rows(x: Tensor, order: Tensor) -> Tensor:
    """Rows in another order."""
    shape = (*shapes.broadcast(x.shape[:-2], order.shape[:-1]), *x.shape[-2:])
    indices = broadcast_to(reshape(order, (*order.shape, 1)), shape)
    return take_along_axis(broadcast_to(x, shape), indices, -2)


@record
class RowOrder(Op):
    """The order of rows after exchanges: which row of ``n`` comes first, second, ..."""

    n: Size
    work = elements(64)
    name = "row_order"
    differentiable = False

    def infer(self, pivots: Any) -> Any:
        if pivots.dtype.kind != "i" or surely_less(self.n, pivots.shape[-1]):
            raise ShapeError(f"{typed(pivots)} are no exchanges of {self.n} rows")
        return (*pivots.shape[:-1], self.n), dtypes.int64

    def perform(self, pivots: np.ndarray) -> np.ndarray:
        rows = pivots.reshape(math.prod(pivots.shape[:-1]), pivots.shape[-1])
        n: Any = self.n
        order = np.tile(np.arange(n), (len(rows), 1))
        every = np.arange(len(rows))
        for i, other in enumerate(rows.T):
            kept = order[every, other]
            order[every, other] = order[:, i]
            order[:, i] = kept
        return order.reshape(*pivots.shape[:-1], self.n)

    def decompose(self, pivots: Tensor) -> Any:
        front, n = pivots.shape[:-1], self.n
        order = broadcast_to(symbolic(Arange(0, 1, n, dtypes.float64), ()), (*front, 1, n))
        if not callable_for("laswp", order, pivots):
            return None
        given = cast(pivots + 1, np.dtype(library.index_type()))
        return reshape(cast(apply(LASWP, order, given), dtypes.int64), (*front, n))

    def batch(self, node: Any, xs: list[Tensor], rows: Any, length: Any) -> Tensor:
        return apply(self, xs[0])


@record
class Getrf(MatrixOp):
    """LAPACK's factors of the transposes and its pivots: see ``lapack.getrf``."""

    work = cubes(1)
    name = "getrf"
    outputs = 2

    def infer(self, a: Any) -> Any:
        *front, m, n = a.shape
        pivots = (*front, smaller(m, n)), np.dtype(library.index_type())
        return (a.shape, a.dtype), pivots

    def perform(self, a: np.ndarray) -> Any:
        return lapack.getrf(a)

    def foreign(self, a: Any) -> Any:
        n, m = map(library.size, a.shape[-2:])
        return foreign.Call(
            library.symbol("getrf", a.dtype),
            (m, n, foreign.result(0), m, foreign.result(1), foreign.scratch(0)),
            batch=count(a.shape), copies=((0, 0),), scratch=(8,),
        )


@record
class Getrs(MatrixOp):
    """Solutions from LAPACK's factors; rows of ``b`` are right-hand sides: see ``lapack.getrs``."""

    transposed: bool
    work = cubes(1)
    name = "getrs"

    def infer(self, factors: Any, pivots: Any, b: Any) -> Any:
        return b.shape, b.dtype

    def perform(self, factors: np.ndarray, pivots: np.ndarray, b: np.ndarray) -> np.ndarray:
        return lapack.getrs(factors, pivots, b, self.transposed)

    def foreign(self, factors: Any, pivots: Any, b: Any) -> Any:
        if many_columns(b):
            return factored_call(b, self.transposed)
        k, n = map(library.size, b.shape[-2:])
        return foreign.Call(
            library.symbol("getrs", b.dtype),
            (foreign.letter("N" if self.transposed else "T"), n, k, foreign.operand(0), n,
             foreign.operand(1), foreign.result(0), n, foreign.scratch(0)),
            batch=count(b.shape), copies=((0, 2),), scratch=(8,),
        )


GETRF = Getrf()
_LU = LU()


# -- functions ----------------------------------------------------------------------------------
@planned
@public
def lu_factor(a: TensorLike, *, pivot: bool = True) -> LUFactors:
    """LU factors with partial pivoting, as :func:`lu_solve` takes them.

    :param a: Of shape (..., m, n).
    :param pivot: Taken from PyTorch's calls: rows are always exchanged.
    :returns lu: Of shape (..., m, n): the upper factor, and below it the lower one without its
        ones.
    :returns piv: int32, of shape (..., min(m, n)): row ``i`` was exchanged with row ``piv[i]``,
        counted from 0 as SciPy's, not from 1 as PyTorch's.
    :raises ShapeError: If ``a`` has fewer than 2 axes.
    :raises ValueError: If ``pivot`` is False.
    :see: linalg.lu_solve, linalg.lu

    >>> ag.linalg.lu_factor(ag.tensor([[1.0, 2.0], [2.0, 8.0]])).lu
    tensor([[ 2. ,  8. ],
            [ 0.5, -2. ]])
    """
    return LUFactors(*_pivoted(a, pivot))


def _pivoted(a: Any, pivot: bool) -> Any:
    """The factors in one matrix, and the exchanges."""
    if not pivot:
        raise ValueError("there is no factorization without exchanges of rows: leave out pivot")
    return apply_many(_LU, matrix(a))


@planned
@public
def lu(a: TensorLike, permute_l: bool = False, *, p_indices: bool = False, pivot: bool = True
       ) -> Any:
    """LU factors with partial pivoting: ``a = P @ L @ U``.

    :param a: Of shape (..., m, n).
    :param permute_l: Give ``P @ L`` and ``U`` only.
    :param p_indices: Give the order of rows instead of ``P``: ``a = L[P] @ U``.
    :param pivot: Taken from PyTorch's calls: rows are always exchanged.
    :returns P, L, U: Of shapes (..., m, m), (..., m, k) and (..., k, n), where k = min(m, n).
    :raises ShapeError: If ``a`` has fewer than 2 axes.
    :raises ValueError: If ``pivot`` is False.
    :see: linalg.lu_factor, linalg.lu_solve, linalg.qr

    >>> p, l, u = ag.linalg.lu(ag.tensor([[1.0, 2.0], [2.0, 8.0]]))
    >>> p @ l @ u
    tensor([[1., 2.],
            [2., 8.]])
    """
    factors, pivots = _pivoted(a, pivot)
    return _parts(factors, pivots, permute_l, p_indices)


@planned
@public
def lu_unpack(lu: TensorLike, piv: TensorLike) -> LUParts:
    """The three factors of what :func:`lu_factor` gave.

    :param lu: Of shape (..., m, n): the upper factor, and below it the lower one without its ones.
    :param piv: Of shape (..., min(m, n)): with which row each row was exchanged, from 0 on.
    :type piv: array_like of int
    :returns P, L, U: Of shapes (..., m, m), (..., m, k) and (..., k, n), where k = min(m, n).
    :raises ShapeError: If the sizes do not fit.
    :see: linalg.lu, linalg.lu_factor

    >>> p, l, u = ag.linalg.lu_unpack(*ag.linalg.lu_factor(ag.tensor([[1.0, 2.0], [2.0, 8.0]])))
    >>> p @ l @ u
    tensor([[1., 2.],
            [2., 8.]])
    """
    factors, pivots = matrix(lu), as_tensor(piv)
    *front, m, n = factors.shape
    pivots = of_shape("lu_unpack", pivots, (*front, smaller(m, n)),
                      f"{typed(pivots)} are no exchanges of rows of {typed(factors)}")
    return _parts(factors, *_within("lu_unpack", factors.shape[-2], pivots))


def _within(name: str, n: Any, pivots: Tensor) -> list[Any]:
    """Pivots of the user's, which LAPACK takes for positions in memory."""
    return demanded(name, "pivots must be at least 0 (PyTorch's count from 1: subtract 1) and less "
                    f"than {n}",
                    lambda piv: (piv >= 0) & (piv < n), piv=pivots)


def _parts(factors: Tensor, pivots: Tensor, permute_l: bool = False, p_indices: bool = False
           ) -> Any:
    """The factors that are in one matrix, and the order of rows, as a matrix or as it is."""
    m, k = factors.shape[-2], pivots.shape[-1]
    lower = apply(Triangle(-1, False), factors)[..., :, :k] + eye(m, k, dtype=factors.dtype)
    upper = apply(Triangle(0, True), factors)[..., :k, :]
    order = apply(RowOrder(m), pivots)
    back = argsort(order, axis=-1)
    if permute_l:
        return _rows(lower, back), upper
    if p_indices:
        return LUParts(back, lower, upper)
    rows = reshape(arange(m), (m, 1))
    permutation = cast(equal(rows, reshape(order, (*order.shape[:-1], 1, m))), factors.dtype)
    return LUParts(permutation, lower, upper)


@planned
@public
def lu_solve(lu_and_piv: tuple[TensorLike, ...] | Tensor, b: TensorLike, trans: TensorLike = 0, *,
             left: bool = True, adjoint: bool = False, out: Tensor | None = None) -> Tensor:
    """The solution of ``a @ x = b`` from the factors of ``a`` that :func:`lu_factor` gave.

    :param lu_and_piv: The factors, of shape (..., n, n), and the exchanges.
    :type lu_and_piv: tuple of array_like
    :param b: Of shape (n,) or (..., n, k).
    :param trans: Solve with ``a``, its transpose, or its adjoint.  PyTorch's
        ``lu_solve(lu, piv, b)`` is understood, too.
    :type trans: {0, 1, 2}
    :param left: Whether the matrix stands left of ``x``; else ``x @ a = b`` is solved.
    :param adjoint: Solve with the adjoint.
    :returns: Of the shape of ``b``, broadcast.
    :raises ValueError: If ``trans`` is another.
    :raises ShapeError: If the sizes do not fit.
    :raises TypeError: If the factors are no pair.
    :see: linalg.lu_factor, linalg.solve

    >>> factors = ag.linalg.lu_factor(ag.tensor([[1.0, 2.0], [2.0, 8.0]]))
    >>> ag.linalg.lu_solve(factors, ag.tensor([3.0, 10.0]))
    tensor([1., 1.])
    """
    if isinstance(lu_and_piv, Tensor) and not isinstance(trans, int):
        lu_and_piv, b, trans = (lu_and_piv, b), trans, 0
    factors, pivots = factors_of("lu_and_piv", lu_and_piv, "lu_factor")
    factors, b = matrix_pair(factors, b)
    check_square(factors.shape)
    if not left:
        factors = arith.conj(factors) if adjoint else factors
        solved = lu_solve((factors, pivots), matrix_transpose(b), 0 if adjoint else 1)
        return matrix_transpose(solved)
    trans = 2 if adjoint else trans
    if isinstance(trans, bool) or trans not in (0, 1, 2):
        raise ValueError(f"trans must be 0, 1 or 2, not {trans!r}")
    n = factors.shape[-1]
    order = apply(RowOrder(n), *_within("lu_solve", n, as_tensor(pivots)))
    if trans == 2:
        factors = arith.conj(factors)

    def solve(a: Tensor, b: Tensor) -> Tensor:
        check_rows(a.shape, b.shape)
        if trans == 0:
            return apply(_UPPER, a, apply(_LOWER, a, _rows(b, order)))
        upper, lower = SolveTriangular(False, True), SolveTriangular(True, True, True)
        return _rows(apply(lower, a, apply(upper, a, b)), argsort(order, axis=-1))

    return of_columns(solve, factors, b)

