"""Systems of triangular matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.core import shapes
from agnesi.core.dispatch import apply
from agnesi.core.ir import foreign
from agnesi.core.op import called
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support.record import record, replace
from agnesi.core.support.worker_threads import cubes
from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith
from agnesi.ops.base.compare import not_equal
from agnesi.ops.base.expand import sum_to
from agnesi.ops.base.movement import matrix_transpose, permute_dims, reshape
from agnesi.ops.indexing.diagonal import Diagonal, Triangle
from agnesi.ops.linalg import lapack, library
from agnesi.ops.linalg.base import (
    MatrixOp,
    adjoint,
    as_given,
    check_square,
    count,
    ensured,
    matrix_pair,
    of_columns,
    plus,
    solution_of,
    stacked,
    times,
)
from agnesi.ops.linalg.small import SmallTriangle, many_small

SINGULAR = ("Singular matrix; ag.linalg.lstsq and ag.linalg.pinv take such, and a small multiple "
            "of the identity makes it regular")


class Solution(MatrixOp):
    """The base of solutions of ``a @ x = b``, or with the ``transposed`` of ``a``.

    ``part`` is the part of a matrix that they read of ``a``.  Rules: Giles (2008), 2.2.3, 2.3.1.
    """

    transposed: bool
    work = cubes(1)
    keep_inputs = (0,)
    keep_output = True

    def part(self, a: Tensor) -> Tensor:
        """Return the entries of a matrix, or of its tangent, that the solution depends on; the
        others as zeros."""
        return a

    def infer(self, a: Any, b: Any) -> Any:
        return solution_of(a, b)

    def adjoint(self, a: Tensor, g: Tensor) -> Tensor:
        """The solution of the adjoint system."""
        other = replace(self, transposed=not self.transposed)
        if a.dtype.kind != "c":
            return apply(other, a, g)
        return arith.conj(apply(other, a, arith.conj(g)))

    def vjp(self, g: Tensor, y: Tensor, a: Tensor, b: Tensor) -> tuple[Any, ...]:
        grad = self.adjoint(a, g)
        to_a = None
        if a._requires_grad:
            to_a = arith.negative(times(grad, adjoint(y)))
            to_a = matrix_transpose(to_a) if self.transposed else to_a
            to_a = sum_to(self.part(to_a), a.shape)
        return to_a, sum_to(grad, b.shape) if b._requires_grad else None

    def jvp(self, ts: Any, y: Tensor, a: Tensor, b: Tensor) -> Any:
        rhs = ts[1]
        if ts[0] is not None:
            change = self.part(ts[0])
            change = matrix_transpose(change) if self.transposed else change
            rhs = plus(rhs, arith.negative(times(change, y)))
        return apply(self, a, rhs)

    def batch(self, node: Any, xs: list[Tensor], rows: Any, length: Any) -> Tensor:
        if rows[0] or len(xs[0].shape) != 2 or len(xs[1].shape) != 3:
            return super().batch(node, xs, rows, length)
        return side_by_side(lambda b: apply(self, xs[0], b), xs[1])


@record
class SolveTriangular(Solution):
    """``inv(t) @ b`` for the lower or upper triangle ``t`` of ``a``.

    ``transposed`` takes the triangle's transpose, ``unit`` ones for its diagonal; ``sure`` that
    there is no zero on it.
    """

    low: bool
    transposed: bool = False
    unit: bool = False
    sure: bool = False
    name = "solve_triangular"

    def perform(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if not (self.unit or self.sure) and not a.diagonal(0, -2, -1).all():
            raise np.linalg.LinAlgError(SINGULAR)
        if a.shape[:-2] != b.shape[:-2]:
            front = shapes.of_stacks(a.shape[:-2], b.shape[:-2])
            a, b = (np.broadcast_to(x, (*front, *x.shape[-2:])) for x in (a, b))
        return lapack.trsm(a, b, self.low, self.transposed, self.unit)

    def decompose(self, a: Tensor, b: Tensor) -> Tensor:
        subject = called(self.name, (a, as_given(b)))
        a, b = stacked(a, b)
        if not (self.unit or self.sure):
            b = ensured(b, not_equal(apply(Diagonal(0), a), 0), SINGULAR, subject)
        kind = SmallTriangle if many_small(a, b.shape[-1]) else Trsm
        return apply(kind(self.low, self.transposed, self.unit), a, b)

    def part(self, a: Tensor) -> Tensor:
        if self.unit:
            return apply(Triangle(-1 if self.low else 1, not self.low), a)
        return apply(Triangle(0, not self.low), a)


def side_by_side(solve: Any, b: Tensor) -> Tensor:
    """Solve for right-hand sides (examples, n, k) of one matrix at once, as columns of one
    system."""
    length, n, k = b.shape
    if k == 1:
        solved = solve(matrix_transpose(reshape(b, (length, n))))
        return reshape(matrix_transpose(solved), b.shape)
    columns = reshape(permute_dims(b, (1, 0, 2)), (n, length * k))
    return permute_dims(reshape(solve(columns), (n, length, k)), (1, 0, 2))


@record
class Trsm(MatrixOp):
    """The system solved by BLAS, without checks; both operands are equally long stacks."""

    low: bool
    transposed: bool
    unit: bool
    work = cubes(1)
    name = "trsm"

    def infer(self, a: Any, b: Any) -> Any:
        return b.shape, b.dtype

    def perform(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return lapack.trsm(a, b, self.low, self.transposed, self.unit)

    def foreign(self, a: Any, b: Any) -> Any:
        n, k = b.shape[-2:]
        if k == 1:
            return self._of_vector(a, b)
        options = [foreign.letter(text) for text in (
            "R", "U" if self.low else "L", "T" if self.transposed else "N",
            "U" if self.unit else "N",
        )]
        sizes = library.size(k), library.size(n)
        return foreign.Call(
            library.symbol("trsm", a.dtype),
            (*options, *sizes, foreign.scalar(1.0, a.dtype.name), foreign.operand(0), sizes[1],
             foreign.result(0), sizes[0]),
            batch=count(b.shape), copies=((0, 1),),
        )


    def _of_vector(self, a: Any, b: Any) -> Any:
        options = [foreign.letter(text) for text in (
            "U" if self.low else "L", "N" if self.transposed else "T", "U" if self.unit else "N",
        )]
        n = library.size(b.shape[-2])
        return foreign.Call(
            library.symbol("trsv", a.dtype),
            (*options, n, foreign.operand(0), n, foreign.result(0), library.size(1)),
            batch=count(b.shape), copies=((0, 1),),
        )


@planned
@public
def solve_triangular(a: TensorLike, b: TensorLike, trans: int | str = 0, lower: bool = False,
                     unit_diagonal: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The solution of ``a @ x = b`` for triangular matrices ``a``, of which one triangle is read.

    :param a: Of shape (..., n, n).
    :param b: Of shape (n,) or (..., n, k).
    :param trans: Solve with ``a``, its transpose, or its adjoint.
    :type trans: {0, 1, 2, "N", "T", "C"}
    :param lower: Read the lower triangle; the upper by default.
    :param unit_diagonal: Take the diagonal for ones.
    :returns: Of the shape of ``b``, broadcast.
    :raises numpy.linalg.LinAlgError: If there is a zero on the diagonal.
    :raises ValueError: If ``trans`` is another.
    :raises ShapeError: If the sizes do not fit.
    :see: linalg.solve, linalg.cho_solve

    >>> ag.linalg.solve_triangular([[2.0, 0.0], [1.0, 4.0]], [2.0, 9.0], lower=True)
    tensor([1., 2.])
    """
    a, b = matrix_pair(a, b)
    check_square(a.shape)
    if isinstance(trans, bool) or trans not in (0, 1, 2, "N", "T", "C"):
        raise ValueError(f"trans must be 0, 1, 2, 'N', 'T' or 'C', not {trans!r}")
    if trans in (2, "C") and a.dtype.kind == "c":
        a = arith.conj(a)
    op = SolveTriangular(lower, trans not in (0, "N"), unit_diagonal)
    return of_columns(lambda a, b: apply(op, a, b), a, b)
