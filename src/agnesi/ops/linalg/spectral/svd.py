"""Singular values and vectors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from agnesi.core.dispatch import apply, apply_many
from agnesi.core.op import called
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support import dtypes
from agnesi.core.support.errors import GradientError
from agnesi.core.support.record import record
from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith
from agnesi.ops.base.compare import equal, isfinite
from agnesi.ops.base.convert import cast
from agnesi.ops.base.movement import matrix_transpose
from agnesi.ops.base.select import where
from agnesi.ops.indexing.diagonal import Diagonal, DiagonalMatrix
from agnesi.ops.linalg.base import (
    MatrixOp,
    adjoint,
    all_ensured,
    matrix,
    need_finite,
    plus,
    smaller,
    times,
)
from agnesi.ops.linalg.routines import Gesdd, callable_for, doubled
from agnesi.ops.linalg.spectral.gaps import columns, inverse_gaps, rows, safe_reciprocal
from agnesi.ops.linalg.without_lock import unlocked

DIVERGED = "SVD did not converge"


class SVDResult(NamedTuple):
    """``U * S @ Vh`` is the matrix."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def _phases(x: Tensor, inverse: Tensor) -> Tensor:
    """A diagonal matrix: the imaginary parts of that of ``x``, divided by the singular values."""
    n = x.shape[-1]
    phase = arith.multiply(arith.imag(apply(Diagonal(0), x)), inverse)
    return arith.multiply(apply(DiagonalMatrix(0, n, n), cast(phase, x.dtype)), 1j)


def _found(wanted: str, a: Tensor) -> Any:
    """LAPACK's singular values and transposed vectors, or its error."""
    if not callable_for("gesdd", a):
        return None
    # of infinities the vectors never converge; of NaN that is an error at once
    known = a if wanted == "N" else where(isfinite(a), a, np.nan)
    _, s, info, *vectors = apply_many(Gesdd(wanted), matrix_transpose(doubled(known)))
    s, u, vh = all_ensured((s, *vectors), equal(info, 0), DIVERGED, called("svd", (a,)))
    return cast(s, dtypes.real_of(a.dtype)), cast(u, a.dtype), cast(vh, a.dtype)


@planned
def _cotangent(full: bool, gu: Any, gs: Any, gvh: Any, u: Tensor, s: Tensor, vh: Tensor, a: Tensor
               ) -> Tensor:
    wanted = gu is not None or gvh is not None
    u, s, vh, gaps, inverse = SVD(full)._parts((u, s, vh), a, wanted)
    k = s.shape[-1]
    wide = cast(s, a.dtype)
    inner: Any = None
    if gs is not None:
        inner = apply(DiagonalMatrix(0, k, k), cast(gs, a.dtype))
    if gu is not None:
        along = times(adjoint(u), gu)
        skew = arith.multiply(arith.subtract(along, adjoint(along)), gaps)
        inner = plus(inner, arith.multiply(skew, rows(wide)))
        if a.dtype.kind == "c":
            inner = plus(inner, _phases(along, inverse))
    if gvh is not None:
        gv = adjoint(gvh)
        along_v = times(vh, gv)
        skew = arith.multiply(arith.subtract(along_v, adjoint(along_v)), gaps)
        inner = plus(inner, arith.multiply(columns(wide), skew))
    total = times(u, inner, vh)
    m, n = a.shape[-2:]
    scale = rows(cast(inverse, a.dtype))
    if gu is not None and m != k:
        rest = arith.subtract(gu, times(u, along))
        total = plus(total, times(arith.multiply(rest, scale), vh))
    if gvh is not None and n != k:
        rest = arith.subtract(gv, times(adjoint(vh), along_v))
        total = plus(total, times(u, adjoint(arith.multiply(rest, scale))))
    return total


@record
class SVD(MatrixOp):
    """``u``, ``s`` and ``vh``.  Rules: Townsend (2016); of complex ones Wan and Zhang (2019).

    Terms between vectors of equal singular values are left out: functions that are smooth there do
    not depend on how the vectors span their space.
    """

    full: bool
    name = "svd"
    outputs = 3
    keep_inputs = (0,)
    keep_output = True

    def infer(self, a: Any) -> Any:
        *front, m, n = a.shape
        k = smaller(m, n)
        p, q = (m, n) if self.full else (k, k)
        return (((*front, m, p), a.dtype), ((*front, k), dtypes.real_of(a.dtype)),
                ((*front, q, n), a.dtype))

    def perform(self, a: np.ndarray) -> Any:
        need_finite(a, DIVERGED)
        found = unlocked("svd_f" if self.full else "svd_s", a)
        if found is None:
            return tuple(np.linalg.svd(a, self.full))
        u, s, vh = found
        return u.astype(a.dtype), s.astype(dtypes.real_of(a.dtype)), vh.astype(a.dtype)

    def decompose(self, a: Tensor) -> Any:
        found = _found("A" if self.full else "S", a)
        if found is None:
            return None
        s, u, vh = found
        return matrix_transpose(u), s, matrix_transpose(vh)

    def _parts(self, ys: Any, a: Tensor, wanted: bool) -> Any:
        """Vectors and values, the latter's inverse gaps and reciprocals."""
        u, s, vh = ys
        m, n = a.shape[-2:]
        if self.full and m != n and bool(m < n or n < m):
            if wanted:
                raise GradientError(
                    "vectors beyond the singular values are not unique and have no derivative: "
                    "compute them with full_matrices=False"
                )
            u, s, vh = apply_many(SVD(False), a)  # these have derivatives
        gaps = arith.multiply(inverse_gaps(s), _sums(s))
        return u, s, vh, cast(gaps, a.dtype), safe_reciprocal(s, s)

    def vjp(self, gs: Any, ys: Any, a: Tensor) -> tuple[Any, ...]:
        if all(g is None for g in gs):
            return (None,)
        (gu, gs_, gvh), (u, s, vh) = gs, ys
        return (_cotangent(self.full, gu, gs_, gvh, u, s, vh, a),)

    def jvp(self, ts: Any, ys: Any, a: Tensor) -> Any:
        m, n = a.shape[-2:]
        u, s, vh, gaps, inverse = self._parts(ys, a, False)
        k = s.shape[-1]
        v = adjoint(vh)
        inner = times(adjoint(u), ts[0], v)
        ds = arith.real(apply(Diagonal(0), inner))
        if self.full and m != n:
            return None, ds, None
        wide = cast(s, a.dtype)
        right, left = arith.multiply(inner, rows(wide)), arith.multiply(columns(wide), inner)
        rotation = arith.multiply(arith.add(right, adjoint(right)), gaps)
        du = times(u, plus(rotation, _phases(inner, inverse) if a.dtype.kind == "c" else None))
        dv = times(v, arith.multiply(arith.add(left, adjoint(left)), gaps))
        scale = rows(cast(inverse, a.dtype))
        if m != k:
            change = arith.subtract(times(ts[0], v), times(u, inner))
            du = plus(du, arith.multiply(change, scale))
        if n != k:
            change = arith.subtract(times(adjoint(ts[0]), u), times(v, adjoint(inner)))
            dv = plus(dv, arith.multiply(change, scale))
        return du, ds, adjoint(dv)


def _sums(s: Tensor) -> Tensor:
    """``1 / (s[i] + s[j])``, and 0 where both are 0."""
    return safe_reciprocal(arith.add(rows(s), columns(s)), s)


@record
class SingularValues(MatrixOp):
    """Singular values alone."""

    name = "svdvals"
    keep_inputs = (0,)

    def infer(self, a: Any) -> Any:
        *front, m, n = a.shape
        return (*front, smaller(m, n)), dtypes.real_of(a.dtype)

    def perform(self, a: np.ndarray) -> np.ndarray:
        found = unlocked("svd", a)
        return (np.linalg.svd(a, compute_uv=False) if found is None
                else found[0].astype(dtypes.real_of(a.dtype)))

    def decompose(self, a: Tensor) -> Any:
        found = _found("N", a)
        return None if found is None else found[0]

    def vjp(self, g: Tensor, y: Tensor, a: Tensor) -> tuple[Any, ...]:
        u, _, vh = apply_many(SVD(False), a)
        return (times(arith.multiply(u, rows(cast(g, a.dtype))), vh),)

    def jvp(self, ts: Any, y: Tensor, a: Tensor) -> Any:
        u, _, vh = apply_many(SVD(False), a)
        inner = times(matrix_transpose(arith.conj(u)), ts[0], adjoint(vh))
        return arith.real(apply(Diagonal(0), inner))


VALUES = SingularValues()


@planned
@public
def svd(x: TensorLike, /, full_matrices: bool = True, compute_uv: bool = True,
        hermitian: bool = False) -> Any:
    """Singular values and vectors: ``x = U * S @ Vh``.

    Derivatives are those of functions that do not depend on signs and phases of vectors, nor on how
    vectors of one repeated value span their space; second derivatives need values that differ.

    :param x: Of shape (..., m, n).
    :param full_matrices: Whether to give all m and n vectors, and not just k = min(m, n), which
        have derivatives.
    :param compute_uv: False gives the singular values alone.
    :param hermitian: That ``x`` is Hermitian, as NumPy lets say; it makes no difference.
    :returns U, S, Vh: Of shapes (..., m, m or k), (..., k) and (..., k or n, n); values in
        descending order.
    :raises numpy.linalg.LinAlgError: If the iteration does not converge.
    :raises ShapeError: If ``x`` has fewer than 2 axes.
    :see: linalg.svdvals, linalg.eigh, linalg.qr, linalg.pinv

    >>> ag.linalg.svd(ag.tensor([[3.0, 0.0], [0.0, 4.0]])).S
    tensor([4., 3.])
    """
    x = matrix(x)
    if not compute_uv:
        return apply(VALUES, x)
    return SVDResult(*apply_many(SVD(full_matrices), x))


@planned
@public
def svdvals(x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """Singular values in descending order; their derivatives hold for repeated ones, too.

    :param x: Of shape (..., m, n).
    :returns: Of shape (..., min(m, n)).
    :raises ShapeError: If ``x`` has fewer than 2 axes.
    :raises LinAlgError: If the iteration does not converge.
    :see: linalg.svd, linalg.matrix_rank, linalg.eigvalsh

    >>> ag.linalg.svdvals(ag.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor([4., 3.])
    """
    return apply(VALUES, matrix(x))
