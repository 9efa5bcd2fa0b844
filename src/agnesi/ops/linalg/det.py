"""Determinants."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from agnesi.core.dispatch import apply, apply_many, symbolic
from agnesi.core.ir.dims import is_static
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support import dtypes
from agnesi.core.support.record import record
from agnesi.core.support.worker_threads import cubes
from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith
from agnesi.ops.base.compare import equal, logical_or, not_equal
from agnesi.ops.base.convert import cast
from agnesi.ops.base.expand import broadcast_to
from agnesi.ops.base.movement import matrix_transpose, reshape
from agnesi.ops.base.reduce import any as any_of
from agnesi.ops.base.reduce import prod, sum
from agnesi.ops.base.select import where
from agnesi.ops.elementwise.explog import log
from agnesi.ops.indexing.diagonal import Diagonal, DiagonalMatrix
from agnesi.ops.indexing.join import concat
from agnesi.ops.indexing.ranges import Arange, arange
from agnesi.ops.linalg.base import (
    MatrixOp,
    SquareOp,
    check_square,
    identity,
    need_finite,
    square,
    times,
    unless_infinite_rows,
)
from agnesi.ops.linalg.lu import GETRF
from agnesi.ops.linalg.small import SmallDiagonal, many_small
from agnesi.ops.linalg.solve import SOLVE
from agnesi.ops.linalg.spectral.svd import DIVERGED, SVD
from agnesi.ops.linalg.without_lock import unlocked


class SlogdetResult(NamedTuple):
    """``sign * exp(logabsdet)`` is the determinant."""

    sign: Tensor
    logabsdet: Tensor


def _factored(a: Tensor) -> tuple[Tensor, Tensor]:
    """The diagonal of the upper factor, and 1 or -1 for the exchanges of rows."""
    if many_small(a):
        return apply_many(SmallDiagonal(), a)  # type: ignore[return-value]
    factors, pivots = apply_many(GETRF, a)
    positions = symbolic(Arange(1, 1, a.shape[-1], pivots.dtype), ())
    odd = arith.remainder(sum(cast(not_equal(pivots, positions), dtypes.int64), -1), 2)
    return unless_infinite_rows(a, apply(Diagonal(0), factors)), cast(1 - 2 * odd, a.dtype)


def _product(x: Tensor) -> Tensor:
    """The product of a row; of complex numbers by halves."""
    if x.dtype.kind != "c" or not is_static(x.shape) or x.shape[-1] == 0:
        return prod(x, axis=-1)
    while (n := x.shape[-1]) > 1:
        half = n // 2
        halved = arith.multiply(x[..., :half], x[..., half:2 * half])
        x = concat([halved, x[..., 2 * half:]], axis=-1) if n % 2 else halved
    return reshape(x, x.shape[:-1])


def _singular(diagonal: Tensor) -> Tensor:
    """Return which matrices have a zero pivot on their diagonal, as LAPACK reports, even if other
    pivots are NaN."""
    return any_of(equal(diagonal, 0), axis=-1)


def _scaled(factor: Tensor, x: Tensor) -> Tensor:
    """Each matrix times its own number."""
    return arith.multiply(reshape(factor, (*factor.shape, 1, 1)), x)


@record
class Det(MatrixOp):
    """Determinants; their derivative is the matrix of cofactors, also where they are 0."""

    work = cubes(1)
    name = "det"
    keep_inputs = (0,)

    def infer(self, a: Any) -> Any:
        check_square(a.shape)
        return a.shape[:-2], a.dtype

    def perform(self, a: np.ndarray) -> np.ndarray:
        found = unlocked("det", a)
        return np.asarray(np.linalg.det(a)) if found is None else found[0].astype(a.dtype)

    def decompose(self, a: Tensor) -> Tensor:
        diagonal, parity = _factored(a)
        return where(_singular(diagonal), 0, arith.multiply(_product(diagonal), parity))

    def logarithm(self, a: Tensor, absolute: bool) -> Tensor:
        """The logarithm of the determinant, or of its absolute value."""
        sign, size = apply_many(SLOGDET, a)
        return size if absolute else arith.add(log(sign), size)

    def vjp(self, g: Tensor, y: Tensor, a: Tensor) -> tuple[Any, ...]:
        return (_scaled(g, arith.conj(apply(COFACTORS, a))),)

    def jvp(self, ts: Any, y: Tensor, a: Tensor) -> Any:
        return sum(arith.multiply(apply(COFACTORS, a), ts[0]), (-2, -1))


@record
class Cofactors(SquareOp):
    """``det(a) * inv(a).T`` where that is defined, and the polynomials that it is everywhere.

    Cofactors of a product are the product of cofactors, so that the rule is that of a diagonal
    matrix, between the singular vectors.
    """

    name = "cofactors"
    keep_inputs = (0,)

    def perform(self, a: np.ndarray) -> np.ndarray:
        need_finite(a, DIVERGED)
        u, s, vh = np.linalg.svd(a)
        n = a.shape[-1]
        others = np.where(np.eye(n, dtype=bool), 1, s[..., None, :]).prod(-1)
        sign = np.linalg.det(u) * np.linalg.det(vh)
        found: np.ndarray = (u * others[..., None, :] @ vh).conj() * sign[..., None, None]
        return found

    def vjp(self, g: Tensor, y: Tensor, a: Tensor) -> tuple[Any, ...]:
        u, s, vh = apply_many(SVD(False), a)
        n = a.shape[-1]
        others = cast(_all_but_two(s), a.dtype)
        inner = times(matrix_transpose(u), g, matrix_transpose(vh))
        sign = arith.multiply(apply(DET, u), apply(DET, vh))
        inner = _scaled(arith.conj(sign), inner)
        crossed = arith.multiply(inner, others)
        diagonal = apply(Diagonal(0), inner)
        own = apply(DiagonalMatrix(0, n, n), apply(Diagonal(0), crossed))
        along = reshape(diagonal, (*diagonal.shape, 1))
        trace = sum(arith.multiply(along, arith.subtract(others, _diagonal_of(others))), -2)
        change = arith.subtract(apply(DiagonalMatrix(0, n, n), trace),
                                matrix_transpose(arith.subtract(crossed, own)))
        return (times(u, change, vh),)


def _diagonal_of(x: Tensor) -> Tensor:
    n = x.shape[-1]
    return apply(DiagonalMatrix(0, n, n), apply(Diagonal(0), x))


def _all_but_two(s: Tensor) -> Tensor:
    """For every pair of indices the product of the elements at all others."""
    n = s.shape[-1]
    i = arange(n)
    first, second = reshape(i, (n, 1, 1)), reshape(i, (n, 1))
    out = logical_or(equal(i, first), equal(i, second))
    return prod(where(out, 1, reshape(s, (*s.shape[:-1], 1, 1, n))), axis=-1)


@record
class SlogDet(MatrixOp):
    """Sign and logarithm of the absolute value of determinants.  Rules: Giles (2008), 2.2.4."""

    work = cubes(1)
    name = "slogdet"
    outputs = 2
    keep_inputs = (0,)
    keep_output = True

    def infer(self, a: Any) -> Any:
        check_square(a.shape)
        return (a.shape[:-2], a.dtype), (a.shape[:-2], dtypes.real_of(a.dtype))

    def perform(self, a: np.ndarray) -> Any:
        sign, size = unlocked("slogdet", a) or np.linalg.slogdet(a)
        found = np.where(np.isnan(size), np.nan, sign), size  # NumPy's sign has no meaning there
        return tuple([x.astype(t) for x, (_, t) in zip(found, self.infer(a), strict=True)])

    def decompose(self, a: Tensor) -> tuple[Tensor, ...]:
        diagonal, parity = _factored(a)
        singular = _singular(diagonal)
        sign = arith.multiply(_product(arith.sign(diagonal)), parity)
        size = sum(log(arith.abs(diagonal)), -1)
        return where(singular, 0, sign), where(singular, -np.inf, size)

    def vjp(self, gs: Any, ys: Any, a: Tensor) -> tuple[Any, ...]:
        g = gs[1]
        if a.dtype.kind == "c" and gs[0] is not None:
            phase = cast(arith.imag(arith.multiply(arith.conj(gs[0]), ys[0])), a.dtype) * -1j
            g = phase if g is None else arith.add(cast(g, a.dtype), phase)
        if g is None:
            return (None,)
        inverse = SOLVE.adjoint(a, broadcast_to(identity(a), a.shape))
        return (_scaled(cast(g, a.dtype), inverse),)

    def jvp(self, ts: Any, ys: Any, a: Tensor) -> Any:
        rate = sum(apply(Diagonal(0), apply(SOLVE, a, ts[0])), -1)
        if a.dtype.kind == "f":
            return None, rate
        phase = arith.multiply(ys[0], cast(arith.imag(rate), a.dtype) * 1j)
        return phase, arith.real(rate)


DET = Det()
COFACTORS = Cofactors()
SLOGDET = SlogDet()


@planned
@public
def det(x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """Determinants of square matrices.

    The gradient is right at singular matrices, too.

    :param x: Of shape (..., n, n).
    :returns: Of shape (...).
    :raises ShapeError: If the matrices are not square.
    :see: linalg.slogdet, linalg.lu

    >>> round(ag.linalg.det(ag.tensor([[1.0, 2.0], [3.0, 4.0]])).item(), 5)
    -2.0
    """
    return apply(DET, square(x))


@planned
@public
def slogdet(x: TensorLike, /) -> SlogdetResult:
    """Sign and logarithm of the absolute value of determinants.

    :param x: Of shape (..., n, n).
    :returns sign, logabsdet: 0 and -inf for a singular matrix.
    :raises ShapeError: If the matrices are not square.
    :see: linalg.det, linalg.lu

    >>> sign, logabsdet = ag.linalg.slogdet(ag.eye(3) * -1)
    >>> sign.item(), logabsdet.item()
    (-1.0, 0.0)
    """
    return SlogdetResult(*apply_many(SLOGDET, square(x)))

