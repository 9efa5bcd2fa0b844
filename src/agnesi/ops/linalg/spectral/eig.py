"""Eigenvalues and eigenvectors of any square matrices."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from agnesi.core.dispatch import apply, apply_many
from agnesi.core.op import called
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support import dtypes
from agnesi.core.support.record import record
from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith
from agnesi.ops.base.compare import equal, greater, isfinite, less
from agnesi.ops.base.convert import cast
from agnesi.ops.base.creation import spread_constant
from agnesi.ops.base.movement import matrix_transpose
from agnesi.ops.base.select import where
from agnesi.ops.elementwise.complexes import complex
from agnesi.ops.indexing.diagonal import Diagonal, DiagonalMatrix
from agnesi.ops.indexing.join import concat
from agnesi.ops.linalg.base import (
    MatrixOp,
    adjoint,
    all_ensured,
    check_square,
    ensured,
    plus,
    square,
    times,
)
from agnesi.ops.linalg.routines import Geev, callable_for, doubled
from agnesi.ops.linalg.solve import SOLVE
from agnesi.ops.linalg.spectral.gaps import inverse_gaps, rows
from agnesi.ops.linalg.without_lock import unlocked


class EigResult(NamedTuple):
    """``x @ eigenvectors`` is ``eigenvectors * eigenvalues``."""

    eigenvalues: Tensor
    eigenvectors: Tensor


def _diagonal(x: Tensor) -> Tensor:
    return apply(DiagonalMatrix(0, x.shape[-1], x.shape[-1]), x)


def _as(x: Tensor, like: Tensor) -> Tensor:
    """A cotangent of a real operand is real."""
    return arith.real(x) if like.dtype.kind == "f" else x


def _found(a: Tensor, vectors: bool, name: str) -> Any:
    """LAPACK's eigenvalues, which are complex, and vectors, or its error."""
    if not callable_for("geev", a):
        return None
    subject = called(name, (a,))
    a = ensured(a, isfinite(a), "Array must not contain infs or NaNs", subject)
    _, w, imaginary, v, info = apply_many(Geev(vectors), matrix_transpose(doubled(a)))
    w, v = all_ensured((w, v), equal(info, 0), "Eigenvalues did not converge", subject)
    return w if a.dtype.kind == "c" else complex(w, imaginary), matrix_transpose(v)


@record
class Eig(MatrixOp):
    """Complex eigenvalues and vectors of length 1.  Rules: Boeddeker et al. (2017), 4.77."""

    name = "eig"
    outputs = 2
    keep_inputs = ()
    keep_output = True

    def infer(self, a: Any) -> Any:
        check_square(a.shape)
        dtype = dtypes.complex_of(a.dtype) if a.dtype.kind == "f" else a.dtype
        return (a.shape[:-1], dtype), (a.shape, dtype)

    def perform(self, a: np.ndarray) -> Any:
        (_, dtype), _ = self.infer(a)
        return tuple(x.astype(dtype) for x in np.linalg.eig(a))

    def decompose(self, a: Tensor) -> Any:
        found = _found(a, True, self.name)
        if found is None:
            return None
        w, v = found
        (_, dtype), _ = self.infer(a)
        if a.dtype.kind == "c":
            return cast(w, dtype), cast(v, dtype)
        imaginary = rows(arith.imag(w))
        zero = spread_constant((*v.shape[:-1], 1), 0, v.dtype)
        behind, before = concat([v[..., 1:], zero], -1), concat([zero, v[..., :-1]], -1)
        first, second = greater(imaginary, 0), less(imaginary, 0)  # of a pair
        imaginary = where(first, behind, where(second, arith.negative(v), 0))
        return cast(w, dtype), cast(complex(where(second, before, v), imaginary), dtype)

    def vjp(self, gs: Any, ys: Any, a: Tensor) -> tuple[Any, ...]:
        w, v = ys
        inner: Any = None if gs[0] is None else _diagonal(gs[0])
        if gs[1] is not None:
            along = times(adjoint(v), gs[1])
            own = cast(arith.real(apply(Diagonal(0), along)), w.dtype)
            along = arith.subtract(along, arith.multiply(times(adjoint(v), v), rows(own)))
            inner = plus(inner, arith.multiply(along, arith.conj(inverse_gaps(w))))
        if inner is None:
            return (None,)
        return (_as(SOLVE.adjoint(v, times(inner, adjoint(v))), a),)

    def jvp(self, ts: Any, ys: Any, a: Tensor) -> Any:
        w, v = ys
        inner = apply(SOLVE, v, times(cast(ts[0], w.dtype), v))
        rotation = arith.multiply(inner, inverse_gaps(w))
        grown = arith.real(apply(Diagonal(0), times(adjoint(v), v, rotation)))
        rotation = arith.subtract(rotation, _diagonal(cast(grown, w.dtype)))
        return apply(Diagonal(0), inner), times(v, rotation)


@record
class Eigenvalues(MatrixOp):
    """Complex eigenvalues alone."""

    name = "eigvals"
    keep_inputs = (0,)

    def infer(self, a: Any) -> Any:
        return EIG.infer(a)[0]

    def perform(self, a: np.ndarray) -> np.ndarray:
        flat = a.ravel()  # NumPy refuses NaN and infinities, LAPACK gives numbers
        found = unlocked("eigvals", a) if math.isfinite(abs(flat.dot(flat))) else None
        return (np.linalg.eigvals(a) if found is None else found[0]).astype(self.infer(a)[1])

    def decompose(self, a: Tensor) -> Any:
        found = _found(a, False, self.name)
        return None if found is None else cast(found[0], self.infer(a)[1])

    def vjp(self, g: Tensor, y: Tensor, a: Tensor) -> tuple[Any, ...]:
        _, v = apply_many(EIG, a)
        return (_as(SOLVE.adjoint(v, times(_diagonal(g), adjoint(v))), a),)

    def jvp(self, ts: Any, y: Tensor, a: Tensor) -> Any:
        _, v = apply_many(EIG, a)
        return apply(Diagonal(0), apply(SOLVE, v, times(cast(ts[0], v.dtype), v)))


EIG = Eig()
EIGVALS = Eigenvalues()


@planned
@public
def eig(x: TensorLike, /) -> EigResult:
    """Eigenvalues and eigenvectors, which are complex always (NumPy's are real where all are).

    Derivatives are those of functions that do not depend on the vectors' phases; they need
    eigenvalues that differ.

    :param x: Of shape (..., n, n).
    :returns eigenvalues: Complex, of shape (..., n), in no order.
    :returns eigenvectors: Complex, of shape (..., n, n), of length 1; column ``i`` belongs to value
        ``i``.
    :raises numpy.linalg.LinAlgError: If the iteration does not converge.
    :raises ShapeError: If the matrices are not square.
    :see: linalg.eigvals, linalg.eigh, linalg.schur

    >>> ag.linalg.eig(ag.tensor([[2.0, 0.0], [0.0, 3.0]])).eigenvalues
    tensor([2.+0.j, 3.+0.j])
    """
    return EigResult(*apply_many(EIG, square(x)))


@planned
@public
def eigvals(x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """Eigenvalues, which are complex always, in no order.

    :param x: Of shape (..., n, n).
    :returns: Of shape (..., n).
    :raises ShapeError: If the matrices are not square.
    :raises LinAlgError: If the iteration does not converge.
    :see: linalg.eig, linalg.eigvalsh, roots

    >>> ag.linalg.eigvals(ag.tensor([[0.0, -1.0], [1.0, 0.0]])).imag
    tensor([ 1., -1.])
    """
    return apply(EIGVALS, square(x))
