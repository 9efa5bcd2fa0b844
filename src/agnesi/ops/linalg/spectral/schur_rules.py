"""How Schur's form changes with the matrix.

The basis rotates by a skew matrix: ``dz = z @ rotation``, and
``dt = m - (rotation @ t - t @ rotation)`` with ``m = adjoint(z) @ da @ z``.  That ``dt`` is 0 below
the blocks decides what ``rotation`` is there; that LAPACK's blocks of real matrices have equal
diagonals decides what it is in them, and complex phases stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.core import shapes
from agnesi.core.dispatch import apply
from agnesi.core.support import dtypes
from agnesi.core.support.record import record
from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith
from agnesi.ops.base.compare import not_equal
from agnesi.ops.base.creation import zeros_like
from agnesi.ops.base.select import where
from agnesi.ops.indexing.diagonal import Diagonal, DiagonalMatrix, triu
from agnesi.ops.indexing.join import concat
from agnesi.ops.linalg.base import MatrixOp, adjoint, plus, skew, times

#: Gaps of so many units of the last place of the greatest number are rounding errors.
_ROUNDING = 16
_SAME = "Schur's form has a derivative only where all eigenvalues differ"
_FREE = ("Schur's form has no derivative where a block of T is a multiple of a rotation, whose "
         "basis is not unique; that with output='complex' has one")


# -- what is below the blocks -------------------------------------------------------------------
def _blocks(t: np.ndarray) -> list[tuple[int, int]]:
    """Where the blocks on the diagonal begin and end."""
    found, i = [], 0
    while i < len(t):
        found.append((i, i + 2 if i + 1 < len(t) and t[i + 1, i] != 0 else i + 1))
        i = found[-1][1]
    return found


def _check(t: np.ndarray, blocks: Sequence[tuple[int, int]], eps: float) -> None:
    """Refuse triangles of which the basis may rotate by anything."""
    values = np.diagonal(t).astype(np.complex128)
    for i, j in blocks:
        if j - i == 2:
            above, below = t[i, i + 1], t[i + 1, i]
            if abs(above + below) <= eps * abs(above):
                raise np.linalg.LinAlgError(_FREE)
            values[i:j] += np.array([1, -1]) * np.emath.sqrt(above * below)
    gaps = np.abs(values[:, None] - values)
    np.fill_diagonal(gaps, np.inf)
    if gaps.size and gaps.min() <= eps * np.abs(values).max():
        raise np.linalg.LinAlgError(_SAME)


def _solved(t: np.ndarray, m: np.ndarray, back: bool, eps: float) -> np.ndarray:
    """One block of columns after another."""
    blocks = _blocks(t)
    _check(t, blocks, eps)
    s = t.conj().T if back else t
    x = np.zeros(m.shape, m.dtype)
    for i, j in reversed(blocks) if back else blocks:
        known = x[j:, j:] @ s[j:, i:j] if back else x[j:, :i] @ s[:i, i:j]
        system = np.kron(s[i:j, i:j].T, np.eye(len(t) - j)) - np.kron(np.eye(j - i), s[j:, j:])
        x[j:, i:j] = np.linalg.solve(system, (m[j:, i:j] - known).T.reshape(-1, 1)).reshape(
            j - i, len(t) - j).T
    return x


@record
class Rotation(MatrixOp):
    """``x``, nothing but below the blocks of ``t``, where ``x @ t - t @ x`` is ``m``.

    With ``back``, of the adjoint of ``t``.
    """

    back: bool
    name = "schur_turn"
    keep_inputs = (0,)
    keep_output = True

    def infer(self, t: Any, m: Any) -> Any:
        return (*shapes.broadcast(t.shape[:-2], m.shape[:-2]), *m.shape[-2:]), m.dtype

    def perform(self, t: np.ndarray, m: np.ndarray) -> np.ndarray:
        shape, dtype = self.infer(t, m)
        eps = _ROUNDING * float(np.finfo(dtypes.real_of(t.dtype)).eps)
        wide = np.complex128 if dtype.kind == "c" else np.float64
        ts, ms = (np.broadcast_to(x, shape).astype(wide) for x in (t, m))
        found = np.zeros(shape, dtype)
        for i in np.ndindex(*shape[:-2]):
            found[i] = _solved(ts[i], ms[i], self.back, eps)
        return found

    def vjp(self, g: Tensor, x: Tensor, t: Tensor, m: Tensor) -> tuple[Any, ...]:
        to_m = apply(Rotation(not self.back), t, g)
        to_t = arith.negative(_commutator(adjoint(x), to_m))
        return adjoint(to_t) if self.back else to_t, to_m

    def jvp(self, ts: Any, x: Tensor, t: Tensor, m: Tensor) -> Any:
        rhs = ts[1]
        if ts[0] is not None:
            moved = adjoint(ts[0]) if self.back else ts[0]
            rhs = plus(rhs, arith.negative(_commutator(x, moved)))
        return apply(self, t, rhs)


# -- rules --------------------------------------------------------------------------------------
def _commutator(a: Tensor, b: Tensor) -> Tensor:
    return arith.subtract(times(a, b), times(b, a))


def _upper(x: Tensor, t: Tensor) -> Tensor:
    """Return the part of a matrix that is not below the diagonal blocks."""
    found = triu(x)
    if t.dtype.kind == "c":
        return found
    below = where(_pairs(t), _band(x, -1), 0)
    return arith.add(found, _spread(below, -1, t))


def _band(x: Tensor, k: int) -> Tensor:
    return apply(Diagonal(k), x)


def _spread(x: Tensor, k: int, t: Tensor) -> Tensor:
    return apply(DiagonalMatrix(k, *t.shape[-2:]), x)


def _pairs(t: Tensor) -> Tensor:
    """Which neighbours on the diagonal are a block."""
    return not_equal(_band(t, -1), 0)


def _widths(t: Tensor) -> Tensor:
    """How fast the diagonal of a block changes as its basis rotates; 1 where there is no block."""
    total = arith.add(_band(t, 1), _band(t, -1))
    return where(_pairs(t), arith.multiply(total, 2.0), 1)


def pushed(da: Tensor, t: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
    """Return the tangents of the Schur form ``t`` and of its basis ``z`` for the tangent ``da``."""
    m = times(adjoint(z), da, z)
    rotation = skew(apply(Rotation(False), t, m))
    left = arith.subtract(m, _commutator(rotation, t))
    if t.dtype.kind == "f":
        own = _band(left, 0)
        by = arith.divide(arith.subtract(own[..., 1:], own[..., :-1]), _widths(t))
        by = _spread(where(_pairs(t), by, 0), -1, t)
        rotation = arith.add(rotation, skew(by))
        left = arith.subtract(m, _commutator(rotation, t))
    return _upper(left, t), times(z, rotation)


def pulled(gt: Tensor | None, gz: Tensor | None, t: Tensor, z: Tensor) -> Tensor:
    """The cotangent of the matrix."""
    direct = None if gt is None else _upper(gt, t)
    rotation = None if gz is None else times(adjoint(z), gz)
    if direct is not None:
        rotation = plus(rotation, arith.negative(_commutator(direct, adjoint(t))))
    assert rotation is not None
    if t.dtype.kind == "f":
        by = arith.divide(arith.subtract(_band(rotation, -1), _band(rotation, 1)), _widths(t))
        by = where(_pairs(t), by, 0)
        nothing = zeros_like(_band(t, 0)[..., :1])
        own = arith.subtract(concat([nothing, by], -1), concat([by, nothing], -1))
        own = _spread(own, 0, t)
        direct = plus(direct, own)
        rotation = arith.subtract(rotation, _commutator(own, adjoint(t)))
    inner = plus(direct, apply(Rotation(True), t, skew(rotation)))
    return times(z, inner, adjoint(z))
