"""Polar factors and what is made of them, with derivatives at repeated singular values too.

The derivatives of singular vectors have gaps between singular values below them; those of the
polar factor have their sums: they solve an equation of Sylvester (Higham, 2008, chapter 8).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from agnesi.core.dispatch import apply, apply_many
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support import dtypes
from agnesi.core.support.record import record
from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith
from agnesi.ops.base.convert import common
from agnesi.ops.base.parameter_checks import of_shape
from agnesi.ops.base.reduce import sum
from agnesi.ops.linalg.base import (
    MatrixOp,
    adjoint,
    hermitian,
    matrix,
    need_finite,
    skew,
    smaller,
    times,
)
from agnesi.ops.linalg.routines import callable_for
from agnesi.ops.linalg.solve import SOLVE
from agnesi.ops.linalg.spectral.schur import SYLVESTER
from agnesi.ops.linalg.spectral.svd import DIVERGED, SVD, VALUES


class PolarResult(NamedTuple):
    """``u @ p`` (or ``p @ u``) is the matrix."""

    u: Tensor
    p: Tensor


class ProcrustesResult(NamedTuple):
    """The orthogonal matrix, and the sum of singular values."""

    R: Tensor
    scale: Tensor


@record
class UnitaryFactor(MatrixOp):
    """The nearest matrices with orthonormal columns (or rows, where there are fewer)."""

    name = "polar"
    keep_inputs = (0,)
    keep_output = True

    def infer(self, a: Any) -> Any:
        return a.shape, a.dtype

    def perform(self, a: np.ndarray) -> np.ndarray:
        need_finite(a, DIVERGED)
        u, _, vh = np.linalg.svd(a, full_matrices=False)
        return np.asarray(u @ vh)

    def decompose(self, a: Tensor) -> Any:
        if not callable_for("gesdd", a):
            return None
        u, _, vh = apply_many(SVD(False), a)
        return times(u, vh)

    def vjp(self, g: Tensor, u: Tensor, a: Tensor) -> tuple[Any, ...]:
        return (_for_tall(a, u, lambda u, p: _back(g if _tall(a) else adjoint(g), u, p)),)

    def jvp(self, ts: Any, u: Tensor, a: Tensor) -> Any:
        return _for_tall(a, u, lambda u, p: _along(ts[0] if _tall(a) else adjoint(ts[0]), u, p))


def _tall(a: Any) -> bool:
    m, n = a.shape[-2:]
    return bool(m == n or smaller(m, n) == n or m > n)


def _for_tall(a: Tensor, u: Tensor, rule: Any) -> Tensor:
    """A rule for tall matrices; the others are adjoints of such."""
    if _tall(a):
        return rule(u, hermitian(times(adjoint(u), a)))
    u = adjoint(u)
    return adjoint(rule(u, hermitian(times(adjoint(u), adjoint(a)))))


def _beyond(x: Tensor, u: Tensor) -> Tensor | None:
    """Return the part of ``x`` outside of the span of the columns of ``u``, or None if they span
    all.
    """
    m, n = u.shape[-2:]
    return None if m == n else arith.subtract(x, times(u, times(adjoint(u), x)))


def _over(x: Tensor, p: Tensor) -> Tensor:
    """``x @ inv(p)`` for Hermitian ``p``."""
    return adjoint(apply(SOLVE, p, adjoint(x)))


def _along(t: Tensor, u: Tensor, p: Tensor) -> Tensor:
    """The change of ``u`` with that of the matrix."""
    total = times(u, apply(SYLVESTER, p, p, skew(times(adjoint(u), t))))
    rest = _beyond(t, u)
    return total if rest is None else arith.add(total, _over(rest, p))


def _back(g: Tensor, u: Tensor, p: Tensor) -> Tensor:
    """The adjoint of the same."""
    total = times(u, skew(apply(SYLVESTER, p, p, times(adjoint(u), g))))
    rest = _beyond(g, u)
    return total if rest is None else arith.add(total, _over(rest, p))


@record
class NuclearNorm(MatrixOp):
    """Sums of singular values, whose gradient is the polar factor."""

    name = "nuclear_norm"
    keep_inputs = (0,)

    def infer(self, a: Any) -> Any:
        return (*a.shape[:-2], 1, 1), dtypes.real_of(a.dtype)

    def perform(self, a: np.ndarray) -> np.ndarray:
        return np.asarray(VALUES.perform(a).sum(-1)[..., None, None])

    def decompose(self, a: Tensor) -> Tensor:
        values = apply(VALUES, a)
        return sum(values, -1, keepdims=True)[..., None]

    def vjp(self, g: Tensor, y: Tensor, a: Tensor) -> tuple[Any, ...]:
        return (arith.multiply(apply(FACTOR, a), g),)

    def jvp(self, ts: Any, y: Tensor, a: Tensor) -> Any:
        parts = arith.multiply(arith.conj(apply(FACTOR, a)), ts[0])
        return sum(arith.real(parts), (-2, -1), keepdims=True)


FACTOR = UnitaryFactor()


@planned
@public
def polar(a: TensorLike, side: str = "right") -> PolarResult:
    """The factors of matrices that turn and that stretch.

    :param a: Of shape (..., m, n).
    :param side: ``a = u @ p`` or ``a = p @ u``.
    :type side: {"right", "left"}
    :returns u: With orthonormal columns or rows, of shape (..., m, n).
    :returns p: Hermitian and without negative eigenvalues.
    :raises numpy.linalg.LinAlgError: In derivatives at singular matrices, whose factor ``u`` has
        none.
    :raises ValueError: If ``side`` is another.
    :see: linalg.orthogonal_procrustes, linalg.svd

    >>> ag.linalg.polar(ag.tensor([[0.0, -2.0], [3.0, 0.0]])).p
    tensor([[3., 0.],
            [0., 2.]])
    """
    if side not in ("right", "left"):
        raise ValueError(f"side must be 'right' or 'left', not {side!r}")
    a = matrix(a)
    u = apply(FACTOR, a)
    stretched = times(adjoint(u), a) if side == "right" else times(a, adjoint(u))
    return PolarResult(u, hermitian(stretched))


@public
def orthogonal_procrustes(a: TensorLike, b: TensorLike) -> ProcrustesResult:
    """The orthogonal ``R`` for which ``a @ R`` is nearest to ``b``, and the sum of the singular
    values of ``adjoint(a) @ b``.

    :param a, b: Matrices of one shape, (..., m, n).
    :returns R, scale: Of shapes (..., n, n) and (...).
    :raises ShapeError: If the shapes differ.
    :see: linalg.polar, linalg.svd

    >>> ag.linalg.orthogonal_procrustes(ag.eye(2), ag.eye(2) * 3).scale.item()
    6.0
    """
    a, b = map(matrix, common(a, b))
    b = of_shape("orthogonal_procrustes", b, a.shape,
                 f"the shapes of a and b ({a.shape} vs {b.shape}) should match")
    inner = times(adjoint(a), b)
    return ProcrustesResult(apply(FACTOR, inner), apply(NuclearNorm(), inner)[..., 0, 0])
