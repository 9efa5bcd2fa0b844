"""Orthogonal and triangular factors."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np

from agnesi.core.dispatch import apply, apply_many
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support.errors import GradientError
from agnesi.core.support.record import record
from agnesi.core.support.worker_threads import cubes
from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith
from agnesi.ops.base.convert import cast
from agnesi.ops.base.creation import spread_constant, zeros_like
from agnesi.ops.base.movement import matrix_transpose
from agnesi.ops.indexing.diagonal import Diagonal, DiagonalMatrix, Triangle
from agnesi.ops.indexing.join import concat
from agnesi.ops.linalg.base import MatrixOp, adjoint, matrix, plus, smaller, times
from agnesi.ops.linalg.routines import GEQRF, ORGQR, callable_for, doubled
from agnesi.ops.linalg.triangular import SolveTriangular
from agnesi.ops.linalg.without_lock import double, function_of

_UPPER = SolveTriangular(False)
#: Elements up to which NumPy's layers of Python take longer than the matrices.
_FEW_ELEMENTS = 1000


class QRResult(NamedTuple):
    """``Q @ R`` is the matrix."""

    Q: Tensor
    R: Tensor


@cache
def _upper(m: int, n: int) -> np.ndarray:
    """Where the upper triangle is."""
    return np.tri(m, n, -1, np.bool_) == 0


def _factors(a: np.ndarray, complete: bool) -> tuple[np.ndarray, np.ndarray] | None:
    """The factors of small matrices, by NumPy's C functions as NumPy calls them; None of others."""
    m, n = a.shape[-2:]
    run = function_of("qr_r_raw")
    form = function_of("qr_complete" if complete and m > n else "qr_reduced")
    if not 0 < a.size <= _FEW_ELEMENTS or run is None or form is None:
        return None
    reflectors = np.array(a, double(a.dtype), order="C")
    tau = run(reflectors)
    rows = m if complete else min(m, n)
    upper = np.where(_upper(rows, n), reflectors[..., :rows, :], reflectors.dtype.type(0))
    return form(reflectors, tau).astype(a.dtype), upper.astype(a.dtype)


def _halved(x: Tensor) -> Tensor:
    """The upper triangle, with half of its diagonal's real part and without the imaginary one."""
    n = x.shape[-1]
    half = cast(arith.multiply(arith.real(apply(Diagonal(0), x)), 0.5), x.dtype)
    return arith.add(apply(Triangle(1, True), x), apply(DiagonalMatrix(0, n, n), half))


_WORK = cubes(1)


@record
class QR(MatrixOp):
    """Factors with orthonormal columns, as many as there are rows for ``complete``.

    Rules: Walter and Lehmann (2010); of complex matrices Roberts and Roberts (2020).  In wide
    matrices the first columns decide about ``q``.
    """

    complete: bool
    name = "qr"
    outputs = 2
    keep_inputs = (0,)
    keep_output = True

    def infer(self, a: Any) -> Any:
        *front, m, n = a.shape
        k = m if self.complete else smaller(m, n)
        return ((*front, m, k), a.dtype), ((*front, k, n), a.dtype)

    def work(self, a: np.ndarray) -> int:
        """Nanoseconds, also of the columns that a complete factor has beside those of a matrix."""
        *front, m, n = a.shape
        return _WORK(self, a) + (math.prod(front) * m * m * (n + 8) // 16 if self.complete else 0)

    def perform(self, a: np.ndarray) -> Any:
        found = _factors(a, self.complete)
        return (tuple(np.linalg.qr(a, "complete" if self.complete else "reduced"))
                if found is None else found)

    def decompose(self, a: Tensor) -> Any:
        if not callable_for("geqrf", a):
            return None
        *_, m, n = a.shape
        k = smaller(m, n)
        reflectors, tau = apply_many(GEQRF, matrix_transpose(doubled(a)))
        upper = apply(Triangle(0, True), matrix_transpose(reflectors))
        own = reflectors[..., :k, :]
        if self.complete and m != k:
            more = spread_constant((*a.shape[:-2], m - k, m), 0, own.dtype)
            own = concat([own, more], axis=-2)
        else:
            upper = upper[..., :k, :]
        q = matrix_transpose(apply(ORGQR, own, tau))
        return cast(q, a.dtype), cast(upper, a.dtype)

    def _is_wide(self, a: Tensor) -> bool:
        """Return whether there are more columns than rows."""
        m, n = a.shape[-2:]
        if m == n:
            return False
        if self.complete and m > n:
            raise GradientError(
                "vectors beyond the columns are not unique and have no derivative: compute them "
                "with mode='reduced'"
            )
        return bool(m < n)

    def vjp(self, gs: Any, ys: Any, a: Tensor) -> tuple[Any, ...]:
        q, r = ys
        gq, gr = gs
        if not self._is_wide(a):
            return (_tall_vjp(gq, gr, q, r),)
        m = a.shape[-2]
        if gr is None:
            first = _tall_vjp(gq, None, q, r[..., :m])
            return (concat([first, zeros_like(a[..., m:])], axis=-1),)
        rest = gr[..., m:]
        gq = plus(gq, times(a[..., m:], adjoint(rest)))
        first = _tall_vjp(gq, gr[..., :m], q, r[..., :m])
        return (concat([first, times(q, rest)], axis=-1),)

    def jvp(self, ts: Any, ys: Any, a: Tensor) -> Any:
        q, r = ys
        if not self._is_wide(a):
            return _tall_jvp(ts[0], q, r)
        m = a.shape[-2]
        dq, dr = _tall_jvp(ts[0][..., :m], q, r[..., :m])
        rest = arith.add(times(adjoint(dq), a[..., m:]), times(adjoint(q), ts[0][..., m:]))
        return dq, concat([dr, rest], axis=-1)


@planned
def _tall_vjp(gq: Any, gr: Any, q: Tensor, r: Tensor) -> Tensor:
    inner: Any = None
    if gr is not None:
        inner = times(gr, adjoint(r))
    if gq is not None:
        inner = plus(inner, arith.negative(times(adjoint(q), gq)))
    upper = _halved(inner)
    total = plus(gq, times(q, arith.add(upper, adjoint(upper))))
    return adjoint(apply(_UPPER, r, adjoint(total)))


def _tall_jvp(da: Tensor, q: Tensor, r: Tensor) -> tuple[Tensor, Tensor]:
    x = adjoint(_UPPER.adjoint(r, adjoint(da)))
    inner = times(adjoint(q), x)
    change = _halved(arith.add(inner, adjoint(inner)))
    return arith.subtract(x, times(q, change)), times(change, r)


@planned
@public
def qr(x: TensorLike, /, mode: Literal["reduced", "complete", "r"] = "reduced") -> Any:
    """Factors ``Q`` with orthonormal columns and upper triangular ``R``: ``x = Q @ R``.

    :param x: Of shape (..., m, n).
    :param mode: Give k = min(m, n) columns in ``Q``; or m, which have derivatives for m <= n only;
        or ``R`` alone.
    :returns Q, R: Of shapes (..., m, k) and (..., k, n), where k is m for "complete".
    :raises ValueError: If there is no such mode.
    :raises ShapeError: If ``x`` has fewer than 2 axes.
    :see: linalg.rq, linalg.qr_multiply, linalg.lu, linalg.svd

    >>> q, r = ag.linalg.qr(ag.tensor([[3.0, 1.0], [4.0, 2.0]]))
    >>> ag.round(q @ r, decimals=4)
    tensor([[3., 1.],
            [4., 2.]])
    """
    x = matrix(x)
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"mode must be 'reduced', 'complete' or 'r', not {mode!r}")
    q, r = apply_many(QR(mode == "complete"), x)
    return r if mode == "r" else QRResult(q, r)
