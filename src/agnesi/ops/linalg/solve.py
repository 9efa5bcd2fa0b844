"""Linear systems, and inverses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from agnesi.core.dispatch import apply, apply_many
from agnesi.core.integers import known_integer
from agnesi.core.ir import dims
from agnesi.core.op import called
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import autocasts, planned, public
from agnesi.core.support import dtypes
from agnesi.core.support.errors import ShapeError
from agnesi.core.support.record import record
from agnesi.core.support.worker_threads import cubes
from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith
from agnesi.ops.base.compare import equal, not_equal
from agnesi.ops.base.convert import cast
from agnesi.ops.base.ensure import ensured_by, ensured_sizes
from agnesi.ops.base.expand import broadcast_to
from agnesi.ops.base.movement import expand_dims, matrix_transpose, moveaxis, reshape
from agnesi.ops.base.reduce import any as any_of
from agnesi.ops.base.reduce import sum as sum_of
from agnesi.ops.base.select import where
from agnesi.ops.indexing.diagonal import Diagonal
from agnesi.ops.linalg.base import (
    SquareOp,
    adjoint,
    as_given,
    ensured,
    floating,
    identity,
    matrix_pair,
    of_columns,
    square,
    stacked,
    surely_square,
    telling,
    times,
    unless_infinite_rows,
)
from agnesi.ops.linalg.lu import GETRF, Getrs, lu_factor
from agnesi.ops.linalg.small import SmallInv, SmallSolve, many_small
from agnesi.ops.linalg.triangular import SINGULAR, Solution, SolveTriangular
from agnesi.ops.linalg.without_lock import unlocked
from agnesi.ops.reductions.running import cumprod


def _solved(a: Tensor, b: Tensor, transposed: bool, subject: str) -> Tensor:
    """Solutions by elimination, or NumPy's error; both operands are equally long stacks."""
    if many_small(a, b.shape[-1]):
        x, regular = apply_many(SmallSolve(transposed), a, b)
        return ensured(x, regular, SINGULAR, subject)
    if not transposed:
        b = unless_infinite_rows(a, b)
    factors, pivots = apply_many(GETRF, a)
    factors = ensured(factors, not_equal(apply(Diagonal(0), factors), 0), SINGULAR, subject)
    return matrix_transpose(apply(Getrs(transposed), factors, pivots, matrix_transpose(b)))


@record
class Solve(Solution):
    """``inv(a) @ b``, or with the transpose of ``a``."""

    transposed: bool = False
    name = "solve"

    @telling(SINGULAR)
    def perform(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        a = a.swapaxes(-1, -2) if self.transposed else a
        found = unlocked("solve", a, b)
        return np.linalg.solve(a, b) if found is None else found[0].astype(b.dtype)

    def decompose(self, a: Tensor, b: Tensor) -> Tensor:
        return _solved(*stacked(a, b), self.transposed, called(self.name, (a, as_given(b))))

    def of_triangle(self, lower: bool, a: Tensor, b: Tensor) -> Tensor:
        """The solution where ``a`` is triangular."""
        return apply(SolveTriangular(lower, self.transposed), a, b)


@record
class Inv(SquareOp):
    """Inverse matrices.  Rules: Giles (2008), 2.2.3."""

    work = cubes(1)
    name = "inv"
    keep_inputs = ()
    keep_output = True

    @telling(SINGULAR)
    def perform(self, a: np.ndarray) -> np.ndarray:
        found = unlocked("inv", a)
        return np.linalg.inv(a) if found is None else found[0].astype(a.dtype)

    def decompose(self, a: Tensor) -> Tensor:
        if not many_small(a, a.shape[-1]):
            unit = broadcast_to(identity(a), a.shape)
            return _solved(a, unit, False, called(self.name, (a,)))
        inverse, regular = apply_many(SmallInv(), a)
        return ensured(inverse, regular, SINGULAR, called(self.name, (a,)))

    def before(self, a: Tensor, b: Tensor) -> Tensor:
        """``inv(a) @ b``."""
        return apply(SOLVE, a, b)

    def behind(self, a: Tensor, b: Tensor) -> Tensor:
        """``a @ inv(b)``."""
        return matrix_transpose(apply(Solve(True), b, matrix_transpose(a)))

    def vjp(self, g: Tensor, y: Tensor, a: Tensor) -> tuple[Any, ...]:
        return (arith.negative(times(adjoint(y), g, adjoint(y))),)

    def jvp(self, ts: Any, y: Tensor, a: Tensor) -> Any:
        return arith.negative(times(y, ts[0], y))


SOLVE = Solve()
INV = Inv()


@planned
@public
def solve(a: TensorLike, b: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """The solution ``x`` of ``a @ x = b``.

    :param a: Square matrices, of shape (..., n, n).
    :param b: Of shape (n,), or (..., n, k) for k right-hand sides; axes in front broadcast.
    :returns: Of the shape of ``b``, broadcast.
    :raises numpy.linalg.LinAlgError: If a matrix is singular.
    :raises ShapeError: If the matrices are not square, or the sizes do not fit.
    :see: linalg.inv, linalg.lstsq, linalg.solve_triangular, linalg.lu_solve, linalg.cho_solve

    >>> ag.linalg.solve(ag.tensor([[3.0, 1.0], [1.0, 2.0]]), ag.tensor([9.0, 8.0]))
    tensor([2., 3.])
    """
    a, b = matrix_pair(a, b)
    if len(a.shape) < 2:
        raise ShapeError(f"a matrix has at least 2 dimensions, this has shape {a.shape}")
    if len(b.shape) == 0:
        raise ShapeError("the right-hand side has at least 1 dimension, this is a number")
    return of_columns(lambda a, b: apply(SOLVE, a, b), a, b)


@planned
@public
def inv(x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """Inverse matrices.

    :param x: Of shape (..., n, n).
    :returns: Of the shape of ``x``.
    :raises numpy.linalg.LinAlgError: If a matrix is singular.
    :raises ShapeError: If the matrices are not square.
    :see: linalg.solve, linalg.pinv, linalg.det

    >>> ag.linalg.inv(ag.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5 , 0.  ],
            [0.  , 0.25]])
    """
    return apply(INV, square(x))


class InvExResult(NamedTuple):
    """Inverses, and for each 0 if there is one."""

    inverse: Tensor
    info: Tensor


class LUFactorExResult(NamedTuple):
    """Factors, exchanges of rows, and where the first pivot that is zero is."""

    LU: Tensor
    pivots: Tensor
    info: Tensor


class SolveExResult(NamedTuple):
    """Solutions, and for each matrix 0 if there is one."""

    result: Tensor
    info: Tensor


def _screened(a: Tensor, check_errors: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Matrices, with ones of the identity for singular ones unless these are to raise; which are
    not singular; and 0, or the position of the first pivot that is zero."""
    zero = equal(apply(Diagonal(0), apply_many(GETRF, matrix_transpose(a))[0]), 0)
    found = equal(any_of(zero, axis=-1), False)
    info = _first_zero(zero, found)
    if not check_errors:
        a = where(expand_dims(found, (-2, -1)), a, identity(a))
    return a, found, info


def _first_zero(zero: Tensor, regular: Tensor) -> Tensor:
    """Position of the first pivot that is zero, from 1, and 0 for regular matrices, which empty
    ones are."""
    before = sum_of(cumprod(cast(equal(zero, False), dtypes.int32), axis=-1), axis=-1)
    return cast(where(regular, 0, before + 1), dtypes.int32)


@planned
@public
def inv_ex(x: TensorLike, /, *, check_errors: bool = False) -> InvExResult:
    """Inverses where there are some, and which matrices have one.

    :param x: Of shape (..., n, n).
    :param check_errors: Whether to raise as :func:`inv` does.
    :returns inverse: Of the shape of ``x``; NaN where a matrix is singular.
    :returns info: int32, of shape (...): 0 where it is not; else the index of the first pivot that
        is zero, from 1.
    :raises numpy.linalg.LinAlgError: If ``check_errors``, and a matrix is singular.
    :raises ShapeError: If the matrices are not square.
    :see: linalg.inv, linalg.solve_ex

    >>> inverse, info = ag.linalg.inv_ex(ag.tensor([[[4.0]], [[0.0]]]))
    >>> inverse.ravel(), info
    (tensor([0.25,  nan]), tensor([0, 1], dtype=int32))
    """
    a, found, info = _screened(surely_square("inv_ex", x), check_errors)
    return InvExResult(where(expand_dims(found, (-2, -1)), apply(INV, a), np.nan), info)


@planned
@public
def solve_ex(a: TensorLike, b: TensorLike, /, *, check_errors: bool = False) -> SolveExResult:
    """Solutions of ``a @ x = b`` where there are some, and which matrices have one.

    :param a, b: As of :func:`solve`.
    :param check_errors: Whether to raise as :func:`solve` does.
    :returns result: As of :func:`solve`; NaN where a matrix is singular.
    :returns info: int32, of shape (...), as of :func:`inv_ex`.
    :raises numpy.linalg.LinAlgError: If ``check_errors``, and a matrix is singular.
    :raises ShapeError: If the matrices are not square, or the sizes do not fit.
    :see: linalg.solve, linalg.inv_ex

    >>> ag.linalg.solve_ex(ag.zeros((1, 1)), ag.ones(1))
    SolveExResult(result=tensor([nan]), info=tensor(1, dtype=int32))
    """
    a, b = matrix_pair(a, b)
    a, found, info = _screened(surely_square("solve_ex", a), check_errors)
    found = expand_dims(found, (-1,) if b.ndim == 1 else (-2, -1))
    return SolveExResult(where(found, solve(a, b), np.nan), info)


@planned
@public
def lu_factor_ex(a: TensorLike, *, pivot: bool = True, check_errors: bool = False
                 ) -> LUFactorExResult:
    """LU factors as of :func:`lu_factor`, and which matrices are singular.

    :param a: Of shape (..., m, n).
    :param pivot: Taken from PyTorch's calls: rows are always exchanged.
    :param check_errors: Whether to raise for a singular matrix.
    :returns LU: As of :func:`lu_factor`.
    :returns pivots: As of :func:`lu_factor`.
    :returns info: int32, of shape (...): 0, or the place of the first pivot that is zero, from 1.
    :raises numpy.linalg.LinAlgError: If ``check_errors``, and a matrix is singular.
    :raises ShapeError: If ``a`` has fewer than 2 axes.
    :raises ValueError: If ``pivot`` is False.
    :see: linalg.lu_factor, linalg.inv_ex

    >>> ag.linalg.lu_factor_ex(ag.tensor([[1.0, 2.0], [2.0, 4.0]])).info
    tensor(2, dtype=int32)
    """
    factors, pivots = lu_factor(a, pivot=pivot)
    zero = equal(apply(Diagonal(0), factors), 0)
    regular = equal(any_of(zero, axis=-1), False)
    if check_errors:
        factors = ensured_by("lu_factor_ex", factors, regular, SINGULAR, "LinAlgError")
    return LUFactorExResult(factors, pivots, _first_zero(zero, regular))


@autocasts
@public
def tensorsolve(a: TensorLike, b: TensorLike, axes: Sequence[int] | None = None, *,
                out: Tensor | None = None) -> Tensor:
    """The solution of ``tensordot(a, x, x.ndim) == b``.

    :param a: Of shape ``b.shape + x.shape``, whose two parts have as many elements.
    :param b: Of any shape.
    :param axes: Axes of ``a`` to move to its end first.
    :type axes: tuple of int, optional
    :returns: Of the shape that ``a`` has behind that of ``b``.
    :raises ShapeError: If the two parts of ``a`` have different numbers of elements.
    :raises LinAlgError: If there is no single solution.
    :see: linalg.tensorinv, linalg.solve

    >>> a = ag.reshape(ag.eye(4) * 2, (2, 2, 4))
    >>> ag.linalg.tensorsolve(a, ag.ones((2, 2)))
    tensor([0.5, 0.5, 0.5, 0.5])
    """
    a, b = matrix_pair(a, b)
    if axes is not None:
        a = moveaxis(a, tuple(axes), tuple(range(len(a.shape) - len(axes), len(a.shape))))
    shape = a.shape[len(b.shape):]
    n = dims.product(shape)
    text = f"the parts of {a.shape} beside {b.shape} have different sizes"
    if dims.is_settled((*a.shape, *b.shape)) and dims.product(b.shape) != n:
        raise ShapeError(text)
    b = ensured_sizes("tensorsolve", b, (dims.product(b.shape),), (n,), text)
    return reshape(solve(reshape(a, (n, n)), reshape(b, (n,))), shape)


@autocasts
@public
def tensorinv(a: TensorLike, ind: int = 2, *, out: Tensor | None = None) -> Tensor:
    """The inverse of ``x -> tensordot(a, x, ind)``.

    :param a: Whose first ``ind`` axes have as many elements as the others.
    :param ind: Number of axes of ``x``'s image; positive.
    :returns: Of shape (*a.shape[ind:], *a.shape[:ind]).
    :raises ValueError: If ``ind`` is not positive.
    :raises ShapeError: If the two parts have different numbers of elements.
    :raises LinAlgError: If there is no inverse.
    :see: linalg.tensorsolve, linalg.inv

    >>> ag.linalg.tensorinv(ag.reshape(ag.eye(4) * 2, (4, 2, 2)), ind=1).shape
    (2, 2, 4)
    """
    a, ind = floating(a), known_integer(ind, "ind")
    if ind <= 0:
        raise ValueError(f"ind must be at least 1, not {ind}")
    shape = (*a.shape[ind:], *a.shape[:ind])
    n = dims.product(a.shape[:ind])
    text = f"the parts of {a.shape} before and behind axis {ind} have different sizes"
    if dims.is_settled(a.shape) and dims.product(a.shape[ind:]) != n:
        raise ShapeError(text)
    a = ensured_sizes("tensorinv", a, (dims.product(a.shape[ind:]),), (n,), text)
    return reshape(inv(reshape(a, (n, n))), shape)
