"""Cholesky's factors, and systems solved with them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from agnesi.core.dispatch import apply, apply_many
from agnesi.core.ir import foreign
from agnesi.core.ir.dims import is_static
from agnesi.core.op import called
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support import dtypes
from agnesi.core.support.record import record
from agnesi.core.support.worker_threads import cubes
from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith
from agnesi.ops.base.compare import equal
from agnesi.ops.base.convert import cast
from agnesi.ops.base.creation import zeros
from agnesi.ops.base.movement import reshape
from agnesi.ops.base.select import where
from agnesi.ops.indexing.diagonal import Diagonal, DiagonalMatrix, Triangle
from agnesi.ops.indexing.ranges import eye
from agnesi.ops.linalg import lapack, library
from agnesi.ops.linalg.base import (
    MatrixOp,
    SquareOp,
    adjoint,
    check_square,
    count,
    ensured,
    factors_of,
    hermitian,
    matrix_pair,
    of_columns,
    square,
    surely_square,
    telling,
    times,
)
from agnesi.ops.linalg.small import SmallCholesky, many_small
from agnesi.ops.linalg.triangular import SolveTriangular
from agnesi.ops.linalg.without_lock import unlocked

NOT_POSITIVE = ("Matrix is not positive definite; a small multiple of the identity may make it so, "
                "and ag.linalg.eigh takes any symmetric matrix")
_LOWER = SolveTriangular(True)
#: Of a factor that was found.
_FOUND = SolveTriangular(True, sure=True)


def _half(x: Tensor) -> Tensor:
    """The lower triangle with half of the diagonal, which must be real."""
    n = x.shape[-1]
    diagonal = apply(Diagonal(0), x)
    taken = arith.multiply(diagonal, 0.5)
    if x.dtype.kind == "c":  # what is imaginary there does not count
        taken = arith.subtract(diagonal, arith.multiply(arith.real(diagonal), 0.5))
    return arith.subtract(apply(Triangle(0, False), x), apply(DiagonalMatrix(0, n, n), taken))


@planned
def _cotangent(g: Tensor, y: Tensor) -> Tensor:
    inner = _half(times(adjoint(y), g))
    left = _FOUND.adjoint(y, inner)
    return hermitian(_FOUND.adjoint(y, adjoint(left)))


@record
class Cholesky(SquareOp):
    """The lower triangular ``l`` with ``a = l @ adjoint(l)``, from the lower triangle of ``a``.

    The derivatives take ``a`` for its Hermitian part: Murray (2016), equations 8 and 10.
    """

    work = cubes(1)
    name = "cholesky"
    keep_inputs = ()
    keep_output = True

    @telling(NOT_POSITIVE)
    def perform(self, a: np.ndarray) -> np.ndarray:
        found = unlocked("cholesky_lo", a)
        return np.linalg.cholesky(a) if found is None else found[0].astype(a.dtype)

    def decompose(self, a: Tensor) -> Tensor:
        subject = called(self.name, (a,))
        if many_small(a):
            factor, found = apply_many(SmallCholesky(), a)
            return ensured(factor, found, NOT_POSITIVE, subject)
        if is_static(a.shape[-1:]) and a.shape[-1] == 0:
            return a
        factor, info = apply_many(POTRF, a)
        return apply(Triangle(0, False), ensured(factor, equal(info, 0), NOT_POSITIVE, subject))

    def vjp(self, g: Tensor, y: Tensor, a: Tensor) -> tuple[Any, ...]:
        return (_cotangent(g, y),)

    def jvp(self, ts: Any, y: Tensor, a: Tensor) -> Any:
        left = apply(_FOUND, y, hermitian(ts[0]))
        return times(y, _half(apply(_FOUND, y, adjoint(left))))


@record
class Potrf(MatrixOp):
    """LAPACK's Cholesky factors, with what is left in the upper triangles; 0 where there is one."""

    work = cubes(1)
    name = "potrf"
    outputs = 2

    def infer(self, a: Any) -> Any:
        return (a.shape, a.dtype), (a.shape[:-2], np.dtype(library.index_type()))

    def perform(self, a: np.ndarray) -> Any:
        return lapack.potrf(a)

    def foreign(self, a: Any) -> Any:
        n = library.size(a.shape[-1])
        return foreign.Call(
            library.symbol("potrf", a.dtype),
            (foreign.letter("U"), n, foreign.result(0), n, foreign.result(1)),
            batch=count(a.shape), copies=((0, 0),),
        )


CHOLESKY = Cholesky()
POTRF = Potrf()


@planned
@public
def cholesky(x: TensorLike, /, *, upper: bool = False, out: Tensor | None = None) -> Tensor:
    """Cholesky's factor of Hermitian, positive definite matrices: ``x = l @ adjoint(l)``.

    :param x: Of shape (..., n, n); only the lower triangle is read (the upper one for ``upper``).
        Gradients are Hermitian, as though ``x`` were ``(x + adjoint(x)) / 2``.
    :param upper: Whether to give ``u`` with ``x = adjoint(u) @ u``.
    :returns: The triangular factors.
    :raises numpy.linalg.LinAlgError: If a matrix is not positive definite.
    :raises ShapeError: If the matrices are not square.
    :see: linalg.cho_factor, linalg.cho_solve, linalg.lu, linalg.eigh

    >>> ag.linalg.cholesky(ag.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    x = square(x)
    if upper:
        return adjoint(apply(CHOLESKY, adjoint(x)))
    return apply(CHOLESKY, x)


class CholeskyExResult(NamedTuple):
    """Factors, and for each 0 if there is one."""

    L: Tensor
    info: Tensor


@planned
@public
def cholesky_ex(x: TensorLike, /, *, upper: bool = False, check_errors: bool = False
                ) -> CholeskyExResult:
    """Cholesky's factors where there are some, and which matrices have one.

    :param x: Of shape (..., n, n), as :func:`cholesky` reads it.
    :param upper: Whether to give ``u`` with ``x = adjoint(u) @ u``.
    :param check_errors: Whether to raise as :func:`cholesky` does.
    :returns L: The triangular factors; NaN where a matrix is not positive definite.
    :returns info: int32, of shape (...): 0 where it is; else the size of the first leading block
        that is not.
    :raises numpy.linalg.LinAlgError: If ``check_errors``, and a matrix is not positive definite.
    :raises ShapeError: If the matrices are not square.
    :see: linalg.cholesky

    >>> factor, info = ag.linalg.cholesky_ex(ag.tensor([[[4.0]], [[-1.0]]]))
    >>> factor.ravel(), info
    (tensor([ 2., nan]), tensor([0, 1], dtype=int32))
    """
    x = surely_square("cholesky_ex", x)
    a = adjoint(x) if upper else x
    nothing = is_static(a.shape[-1:]) and a.shape[-1] == 0
    info = zeros(a.shape[:-2], dtype=dtypes.int32) if nothing else apply_many(POTRF, a)[1]
    found = equal(info, 0)
    if not check_errors:
        a = where(reshape(found, (*found.shape, 1, 1)), a, eye(a.shape[-1], dtype=a.dtype))
    factor = apply(CHOLESKY, a)
    if not check_errors:
        factor = where(reshape(found, (*found.shape, 1, 1)), factor, np.nan)
    return CholeskyExResult(adjoint(factor) if upper else factor, cast(info, dtypes.int32))


@planned
@public
def cho_factor(a: TensorLike, lower: bool = False) -> tuple[Tensor, bool]:
    """Cholesky's factor for :func:`cho_solve`, and whether it is the lower one.

    :param a: Hermitian and positive definite, of shape (..., n, n).
    :param lower: Whether to give the lower factor.
    :returns factor: Triangular, of the shape of ``a``.
    :returns lower: As given.
    :rtype: bool
    :raises LinAlgError: If a matrix is not positive definite.
    :see: linalg.cholesky, linalg.cho_solve

    >>> factor, lower = ag.linalg.cho_factor(ag.tensor([[4.0, 2.0], [2.0, 5.0]]))
    >>> ag.linalg.cho_solve((factor, lower), ag.tensor([6.0, 7.0]))
    tensor([1., 1.])
    """
    return cholesky(a, upper=not lower), lower


@planned
@public
def cho_solve(c_and_lower: tuple[Any, bool], b: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The solution of ``a @ x = b`` from Cholesky's factor of ``a``.

    :param c_and_lower: The factor, of shape (..., n, n), and whether it is the lower one: see
        :func:`cho_factor`.
    :type c_and_lower: tuple of (array_like, bool)
    :param b: Of shape (n,) or (..., n, k).
    :returns: Of the shape of ``b``, broadcast.
    :raises ShapeError: If the sizes do not fit.
    :raises TypeError: If the factor is no pair.
    :see: linalg.cho_factor, linalg.cholesky, linalg.solve

    >>> factor = ag.linalg.cholesky(ag.tensor([[4.0, 2.0], [2.0, 5.0]]))
    >>> ag.linalg.cho_solve((factor, True), ag.tensor([6.0, 7.0]))
    tensor([1., 1.])
    """
    factor, lower = factors_of("c_and_lower", c_and_lower, "cho_factor")
    factor, b = matrix_pair(factor, b)
    check_square(factor.shape)
    if not lower:
        factor = adjoint(factor)

    def solve(factor: Tensor, b: Tensor) -> Tensor:
        return _LOWER.adjoint(factor, apply(_LOWER, factor, b))

    return of_columns(solve, factor, b)

