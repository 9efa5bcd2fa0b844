"""Eigenvalues and eigenvectors of Hermitian matrices."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from agnesi.core.dispatch import apply, apply_many
from agnesi.core.op import called
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support import dtypes
from agnesi.core.support.record import record
from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith
from agnesi.ops.base.compare import equal
from agnesi.ops.base.convert import cast
from agnesi.ops.base.movement import matrix_transpose
from agnesi.ops.indexing.diagonal import Diagonal, DiagonalMatrix
from agnesi.ops.linalg.base import (
    MatrixOp,
    adjoint,
    all_ensured,
    check_square,
    hermitian,
    plus,
    square,
    times,
)
from agnesi.ops.linalg.routines import Syevd, callable_for, doubled
from agnesi.ops.linalg.spectral.gaps import inverse_gaps, rows
from agnesi.ops.linalg.without_lock import unlocked

Side = Literal["L", "U"]


class EighResult(NamedTuple):
    """``eigenvectors * eigenvalues @ adjoint(eigenvectors)`` is the matrix."""

    eigenvalues: Tensor
    eigenvectors: Tensor


def _found(a: Tensor, vectors: bool, side: Side, name: str) -> Any:
    """LAPACK's eigenvalues and eigenvectors, or its error."""
    if not callable_for("heevd" if a.dtype.kind == "c" else "syevd", a):
        return None
    wide = doubled(a)
    v, w, info = apply_many(Syevd(vectors, side == "L"), matrix_transpose(wide))
    v, w = all_ensured((v, w), equal(info, 0), "Eigenvalues did not converge", called(name, (a,)))
    return cast(w, dtypes.real_of(a.dtype)), cast(matrix_transpose(v), a.dtype)


@planned
def _cotangent(gw: Tensor | None, gv: Tensor | None, w: Tensor, v: Tensor) -> Tensor:
    inner: Any = None
    if gw is not None:
        n = v.shape[-1]
        inner = apply(DiagonalMatrix(0, n, n), cast(gw, v.dtype))
    if gv is not None:
        gaps = cast(inverse_gaps(w), v.dtype)
        inner = plus(inner, arith.multiply(gaps, times(adjoint(v), gv)))
    return hermitian(times(v, inner, adjoint(v)))


@record
class Eigh(MatrixOp):
    """Eigenvalues, ascending, and eigenvectors.  Rules: Giles (2008), 3.1.

    Terms between vectors of equal eigenvalues are left out, as in ``SVD``.
    """

    side: Side
    name = "eigh"
    outputs = 2
    keep_inputs = ()
    keep_output = True

    def infer(self, a: Any) -> Any:
        check_square(a.shape)
        return (a.shape[:-1], dtypes.real_of(a.dtype)), (a.shape, a.dtype)

    def perform(self, a: np.ndarray) -> Any:
        found = unlocked("eigh_lo" if self.side == "L" else "eigh_up", a)
        if found is None:
            return tuple(np.linalg.eigh(a, self.side))
        return found[0].astype(dtypes.real_of(a.dtype)), found[1].astype(a.dtype)

    def decompose(self, a: Tensor) -> Any:
        return _found(a, True, self.side, self.name)

    def vjp(self, gs: Any, ys: Any, a: Tensor) -> tuple[Any, ...]:
        return (None if gs[0] is gs[1] is None else _cotangent(*gs, *ys),)

    def jvp(self, ts: Any, ys: Any, a: Tensor) -> Any:
        w, v = ys
        inner = times(adjoint(v), hermitian(ts[0]), v)
        rotation = arith.multiply(cast(inverse_gaps(w), a.dtype), inner)
        return arith.real(apply(Diagonal(0), inner)), times(v, rotation)


@record
class EigenvaluesH(MatrixOp):
    """Eigenvalues of Hermitian matrices alone."""

    side: Side
    name = "eigvalsh"
    keep_inputs = (0,)

    def infer(self, a: Any) -> Any:
        check_square(a.shape)
        return a.shape[:-1], dtypes.real_of(a.dtype)

    def perform(self, a: np.ndarray) -> np.ndarray:
        found = unlocked("eigvalsh_lo" if self.side == "L" else "eigvalsh_up", a)
        return (np.linalg.eigvalsh(a, self.side) if found is None
                else found[0].astype(dtypes.real_of(a.dtype)))

    def decompose(self, a: Tensor) -> Any:
        found = _found(a, False, self.side, self.name)
        return None if found is None else found[0]

    def vjp(self, g: Tensor, y: Tensor, a: Tensor) -> tuple[Any, ...]:
        _, v = apply_many(Eigh(self.side), a)
        return (times(arith.multiply(v, rows(cast(g, a.dtype))), adjoint(v)),)

    def jvp(self, ts: Any, y: Tensor, a: Tensor) -> Any:
        _, v = apply_many(Eigh(self.side), a)
        return arith.real(apply(Diagonal(0), times(adjoint(v), hermitian(ts[0]), v)))


def _side(text: str) -> Side:
    if text not in ("L", "U", "l", "u"):
        raise ValueError(f"UPLO must be 'L' or 'U', not {text!r}")
    return "L" if text in "Ll" else "U"


@planned
@public
def eigh(x: TensorLike, /, UPLO: Side = "L") -> EighResult:
    """Eigenvalues and eigenvectors of Hermitian matrices.

    Gradients are Hermitian, as though ``x`` were ``(x + adjoint(x)) / 2``.  They are those of
    functions that do not depend on signs and phases of vectors, nor on how vectors of one repeated
    value span their space; second derivatives need values that differ.

    :param x: Of shape (..., n, n).
    :param UPLO: Which triangle is read.
    :type UPLO: {"L", "U"}
    :returns eigenvalues: Real, ascending, of shape (..., n).
    :returns eigenvectors: Of shape (..., n, n); column ``i`` belongs to value ``i``.
    :raises numpy.linalg.LinAlgError: If the iteration does not converge.
    :raises ValueError: If ``UPLO`` is another.
    :raises ShapeError: If the matrices are not square.
    :see: linalg.eigvalsh, linalg.eig, linalg.svd

    >>> ag.linalg.eigh(ag.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([1., 2.])
    """
    return EighResult(*apply_many(Eigh(_side(UPLO)), square(x)))


@planned
@public
def eigvalsh(x: TensorLike, /, UPLO: Side = "L", *, out: Tensor | None = None) -> Tensor:
    """Eigenvalues of Hermitian matrices, ascending; derivatives hold for repeated ones, too.

    Second derivatives need values that differ.

    :param x: Of shape (..., n, n).
    :param UPLO: Which triangle is read.
    :type UPLO: {"L", "U"}
    :returns: Of shape (..., n).
    :raises ValueError: If ``UPLO`` is another.
    :raises ShapeError: If the matrices are not square.
    :raises LinAlgError: If the iteration does not converge.
    :see: linalg.eigh, linalg.eigvals

    >>> ag.linalg.eigvalsh(ag.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor([1., 2.])
    """
    return apply(EigenvaluesH(_side(UPLO)), square(x))
