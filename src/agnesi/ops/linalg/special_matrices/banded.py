"""Systems of equations with bands: LAPACK's solution, and derivatives that are bands again.

Bands are kept as SciPy keeps them: element ``a[i, j]`` is at ``ab[u + i - j, j]``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.core import shapes
from agnesi.core.dispatch import apply, apply_many
from agnesi.core.integers import known_integer
from agnesi.core.ir import foreign
from agnesi.core.ir.dims import is_open, is_settled
from agnesi.core.op import called, typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import public
from agnesi.core.support.errors import ShapeError
from agnesi.core.support.record import record, replace
from agnesi.core.support.worker_threads import cubes
from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith
from agnesi.ops.base.compare import equal
from agnesi.ops.base.expand import broadcast_to, sum_to
from agnesi.ops.base.movement import matrix_transpose, reshape
from agnesi.ops.base.reduce import sum
from agnesi.ops.indexing.join import concat, pad, stack
from agnesi.ops.linalg import library
from agnesi.ops.linalg.base import (
    MatrixOp,
    as_given,
    count,
    ensured,
    matrix,
    matrix_pair,
    of_columns,
    plus,
)
from agnesi.ops.linalg.routines import Routine, callable_for
from agnesi.ops.linalg.triangular import SINGULAR


def _shifted(x: Tensor, by: int) -> Tensor:
    """Element ``j + by`` of the last axis at ``j``, and zeros beyond the ends."""
    n = x.shape[-1]
    if by == 0:
        return x
    none = [(0, 0)] * (len(x.shape) - 1)
    if is_open(n):  # perhaps none, or fewer than the shift
        padded = pad(x, [*none, (max(-by, 0), max(by, 0))])
        return padded[..., by:] if by > 0 else padded[..., :n]
    if abs(by) >= n:
        return pad(x[..., :0], [*none, (0, n)])
    if by > 0:
        return pad(x[..., by:], [*none, (0, by)])
    return pad(x[..., :by], [*none, (-by, 0)])


@record
class Gbsv(Routine):
    """Solutions, what was factored, its pivots, and 0 where the matrix is regular.

    Operands come column by column, with ``low`` more diagonals of zeros on top.
    """

    low: int
    up: int
    name = "gbsv"
    outputs = 4

    def infer(self, ab: Any, b: Any) -> Any:
        kind = np.dtype(library.index_type())
        return ((b.shape, b.dtype), (ab.shape, ab.dtype), (ab.shape[:-1], kind),
                (ab.shape[:-2], kind))

    def foreign(self, ab: Any, b: Any) -> Any:
        k, n = b.shape[-2:]
        size = library.size
        given = (size(n), size(self.low), size(self.up), size(k), foreign.result(1),
                 size(2 * self.low + self.up + 1), foreign.result(2), foreign.result(0), size(n),
                 foreign.result(3))
        return foreign.Call(library.symbol("gbsv", b.dtype), given, batch=count(b.shape),
                            copies=((0, 1), (1, 0)))


@record
class BandSolve(MatrixOp):
    """``x`` with ``a @ x = b`` for a matrix of ``low`` diagonals below its own and ``up`` above."""

    low: int
    up: int
    work = cubes(1)
    name = "solve_banded"
    keep_inputs = (0, 1)
    keep_output = True

    def infer(self, ab: Any, b: Any) -> Any:
        n, m = ab.shape[-1], b.shape[-2]
        rows = self.low + self.up + 1
        if min(self.low, self.up) < 0 or ab.dtype != b.dtype:
            raise ShapeError(f"{self.low} diagonals below and {self.up} above do not fit "
                             f"{typed(ab)} and {typed(b)}")
        shapes.need_shape(ab.shape[-2:-1], (rows,), "a column of bands")
        if n != m and is_settled((n, m)):
            raise ShapeError(f"bands of {n} columns do not fit a right-hand side of {m} rows")
        return (*shapes.of_stacks(ab.shape[:-2], b.shape[:-2]), *b.shape[-2:]), b.dtype

    def perform(self, ab: np.ndarray, b: np.ndarray) -> np.ndarray:
        shape, _ = self.infer(ab, b)
        b = np.broadcast_to(b, shape)
        ab = np.broadcast_to(ab, (*shape[:-2], *ab.shape[-2:]))
        if not b.size or not callable_for("gbsv", ab, b):
            return np.linalg.solve(self.full(ab), b)
        zeros = np.zeros((*shape[:-2], self.low, ab.shape[-1]), ab.dtype)
        given = np.concatenate([zeros, ab], -2).swapaxes(-1, -2), b.swapaxes(-1, -2)
        x, _, _, info = Gbsv(self.low, self.up).perform(*map(np.ascontiguousarray, given))
        if info.any():
            raise np.linalg.LinAlgError(SINGULAR)
        return np.asarray(x.swapaxes(-1, -2))

    def full(self, ab: np.ndarray) -> np.ndarray:
        """The matrices with all their zeros."""
        n = ab.shape[-1]
        a = np.zeros((*ab.shape[:-2], n, n), ab.dtype)
        for row in range(self.low + self.up + 1):
            j = np.arange(max(0, self.up - row), min(n, n + self.up - row))
            a[..., j + row - self.up, j] = ab[..., row, j]
        return a

    def decompose(self, ab: Tensor, b: Tensor) -> Any:
        if not callable_for("gbsv", ab, b):
            return None
        front = self.infer(ab, b)[0][:-2]
        ab, b = (broadcast_to(x, (*front, *x.shape[-2:])) for x in (ab, b))
        subject = called(self.name, (ab, as_given(b)))
        none = [(0, 0)] * len(front)
        given = matrix_transpose(pad(ab, [*none, (self.low, 0), (0, 0)]))
        x, _, _, info = apply_many(Gbsv(self.low, self.up), given, matrix_transpose(b))
        return matrix_transpose(ensured(x, equal(info, 0), SINGULAR, subject))

    def rows(self, ab: Tensor) -> list[Tensor]:
        """The diagonals, from the highest, each with as many elements as there are columns."""
        return [ab[..., i, :] for i in range(self.low + self.up + 1)]

    def adjoint(self, ab: Tensor) -> tuple[BandSolve, Tensor]:
        """The solver for the adjoint matrices, and their bands."""
        conjugated = [_shifted(row, self.up - i) for i, row in enumerate(self.rows(arith.conj(ab)))]
        return replace(self, low=self.up, up=self.low), stack(conjugated[::-1], -2)

    def vjp(self, g: Tensor, x: Tensor, ab: Tensor, b: Tensor) -> tuple[Any, ...]:
        other, bands = self.adjoint(ab)
        back = apply(other, bands, g)
        to_ab = None
        if ab._requires_grad:
            lines, ahead = (matrix_transpose(v) for v in (back, arith.conj(x)))
            to_ab = stack([sum(arith.multiply(_shifted(lines, i - self.up), ahead), -2)
                           for i in range(self.low + self.up + 1)], -2)
            to_ab = sum_to(arith.negative(to_ab), ab.shape)
        return to_ab, sum_to(back, b.shape) if b._requires_grad else None

    def jvp(self, ts: Any, x: Tensor, ab: Tensor, b: Tensor) -> Any:
        rhs = ts[1]
        if ts[0] is not None:
            lines = matrix_transpose(x)
            for i, row in enumerate(self.rows(ts[0])):
                one = reshape(row, (*row.shape[:-1], 1, row.shape[-1]))
                part = _shifted(arith.multiply(one, lines), self.up - i)
                rhs = plus(rhs, arith.negative(matrix_transpose(part)))
        return apply(self, ab, rhs)


def _bands(ab: Any, rows: int) -> None:
    if ab.shape[-2] != rows and is_settled(ab.shape[-2:]):
        raise ShapeError(f"ab must have {rows} rows, one for each diagonal, not {ab.shape[-2]}: "
                         f"shape {ab.shape}")


@public
def solve_banded(l_and_u: tuple[int, int], ab: TensorLike, b: TensorLike, *,
                 out: Tensor | None = None) -> Tensor:
    """The solution of ``a @ x = b``, where ``a`` has few diagonals.

    :param l_and_u: Diagonals below that of ``a``, and above.
    :type l_and_u: (int, int)
    :param ab: Of shape (..., l + u + 1, n): the diagonals from the highest, ``ab[u + i - j, j]`` is
        ``a[i, j]``.  What is outside of the matrix is not read, and has gradient 0.
    :param b: Of shape (n,) or (..., n, k).
    :returns: Of the shape of ``b``.
    :raises numpy.linalg.LinAlgError: For singular matrices.
    :raises ValueError: If a number of diagonals is negative.
    :raises ShapeError: If the sizes do not fit.
    :see: linalg.solveh_banded, linalg.solve, linalg.solve_toeplitz

    >>> bands = ag.tensor([[0.0, 1.0], [2.0, 2.0], [0.0, 0.0]])
    >>> ag.linalg.solve_banded((1, 1), bands, ag.tensor([3.0, 2.0]))
    tensor([1., 1.])
    """
    low, up = (known_integer(n, "a number of diagonals") for n in l_and_u)
    if low < 0 or up < 0:
        raise ValueError(f"numbers of diagonals must not be negative: {low} and {up}")
    ab, b = matrix_pair(ab, b)
    ab = matrix(ab)
    _bands(ab, low + up + 1)
    return of_columns(lambda ab, b: apply(BandSolve(low, up), ab, b), ab, b)


@public
def solveh_banded(ab: TensorLike, b: TensorLike, lower: bool = False, *, out: Tensor | None = None
                  ) -> Tensor:
    """The solution of ``a @ x = b``, where ``a`` is Hermitian and has few diagonals.

    :param ab: Of shape (..., u + 1, n): the diagonals from the highest to that of ``a``, as in
        :func:`solve_banded`; or from that of ``a`` to the lowest.
    :param b: Of shape (n,) or (..., n, k).
    :param lower: Which of them ``ab`` has.
    :returns: Of the shape of ``b``.
    :raises LinAlgError: For singular matrices.
    :raises ShapeError: If the sizes do not fit.
    :see: linalg.solve_banded, linalg.cho_solve

    >>> bands = ag.tensor([[0.0, 1.0], [2.0, 2.0]])
    >>> ag.linalg.solveh_banded(bands, ag.tensor([3.0, 3.0]))
    tensor([1., 1.])
    """
    ab, b = matrix_pair(ab, b)
    ab = matrix(ab)
    n = ab.shape[-2] - 1
    given = [ab[..., i, :] for i in range(n + 1)]
    if lower:
        others = [arith.conj(_shifted(given[i], -i)) for i in range(n, 0, -1)]
        rows = [*others, *given]
    else:
        others = [arith.conj(_shifted(given[n - i], i)) for i in range(1, n + 1)]
        rows = [*given, *others]
    return solve_banded((n, n), concat([row[..., None, :] for row in rows], -2), b)
