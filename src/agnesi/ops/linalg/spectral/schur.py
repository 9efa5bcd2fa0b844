"""Schur's form, and equations of Sylvester, which it solves."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Literal, NamedTuple

import numpy as np

from agnesi.core import shapes
from agnesi.core.dispatch import apply, apply_many
from agnesi.core.op import called
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import public
from agnesi.core.support import dtypes
from agnesi.core.support.record import record
from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith
from agnesi.ops.base.compare import equal
from agnesi.ops.base.convert import cast, common
from agnesi.ops.base.expand import broadcast_to, sum_to
from agnesi.ops.base.movement import matrix_transpose, reshape
from agnesi.ops.base.parameter_checks import of_shape
from agnesi.ops.linalg.base import (
    MatrixOp,
    adjoint,
    all_ensured,
    check_square,
    ensured,
    floating,
    identity,
    plus,
    square,
    times,
)
from agnesi.ops.linalg.routines import GEES, TRSYL, callable_for, doubled
from agnesi.ops.linalg.solve import inv
from agnesi.ops.linalg.spectral.schur_rules import pulled, pushed

_COMMON = "the matrices a and -b have an eigenvalue in common"
FAILED = "Schur form not found"


class SchurResult(NamedTuple):
    """``Z @ T @ adjoint(Z)`` is the matrix."""

    T: Tensor
    Z: Tensor


def form(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Schur's form of arrays of double precision: by LAPACK, or by SciPy's."""
    if not a.size:
        return a, a
    if callable_for("gees", a):
        t, z, info = GEES.perform(np.ascontiguousarray(a.swapaxes(-1, -2)))
        if info.any():
            raise np.linalg.LinAlgError(FAILED)
        return t.swapaxes(-1, -2), z.swapaxes(-1, -2)
    find = import_module("scipy.linalg").schur
    found = [find(m) for m in a.reshape(-1, *a.shape[-2:])]
    t, z = (np.array(parts).reshape(a.shape) for parts in zip(*found, strict=True))
    return t, z


def _wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


@record
class Schur(MatrixOp):
    """Triangles and bases."""

    name = "schur"
    outputs = 2
    keep_inputs = ()
    keep_output = True

    def infer(self, a: Any) -> Any:
        check_square(a.shape)
        return (a.shape, a.dtype), (a.shape, a.dtype)

    def perform(self, a: np.ndarray) -> Any:
        return tuple(x.astype(a.dtype) for x in form(_wide(a)))

    def decompose(self, a: Tensor) -> Any:
        if not callable_for("gees", a):
            return None
        t, z, info = apply_many(GEES, matrix_transpose(doubled(a)))
        t, z = all_ensured((t, z), equal(info, 0), FAILED, called(self.name, (a,)))
        return cast(matrix_transpose(t), a.dtype), cast(matrix_transpose(z), a.dtype)

    def vjp(self, gs: Any, ys: Any, a: Tensor) -> tuple[Any, ...]:
        return (pulled(*gs, *ys),)

    def jvp(self, ts: Any, ys: Any, a: Tensor) -> Any:
        return pushed(ts[0], *ys)


@record
class Sylvester(MatrixOp):
    """``x`` with ``a @ x + x @ b = q``.  Algorithm: Bartels and Stewart (1972)."""

    name = "solve_sylvester"
    keep_inputs = (0, 1)
    keep_output = True

    def infer(self, a: Any, b: Any, q: Any) -> Any:
        front = shapes.of_stacks(a.shape[:-2], b.shape[:-2], q.shape[:-2])
        check_square(a.shape)
        check_square(b.shape)
        shapes.need_shape(q.shape[-2:], (a.shape[-1], b.shape[-1]), "the right side")
        return (*front, *q.shape[-2:]), q.dtype

    def perform(self, a: np.ndarray, b: np.ndarray, q: np.ndarray) -> np.ndarray:
        shape, dtype = self.infer(a, b, q)
        if not np.prod(shape):
            return np.zeros(shape, dtype)
        (r, u), (s, v) = form(_wide(a)), form(_wide(b))
        inner = np.broadcast_to(u.conj().swapaxes(-1, -2) @ _wide(q) @ v, shape)
        y = self._triangular(r, s, inner)
        found: np.ndarray = (u @ y @ v.conj().swapaxes(-1, -2)).astype(dtype)
        return found

    def _triangular(self, r: np.ndarray, s: np.ndarray, q: np.ndarray) -> np.ndarray:
        if callable_for("trsyl", q):
            given = [np.ascontiguousarray(np.broadcast_to(x, (*q.shape[:-2], *x.shape[-2:]))
                                          .swapaxes(-1, -2)) for x in (r, s, q)]
            y, scale, info = TRSYL.perform(*given)
            if info.any():
                raise np.linalg.LinAlgError(_COMMON)
            found: np.ndarray = y.swapaxes(-1, -2) / scale[..., None, None]
            return found
        m, n = q.shape[-2:]
        system = np.einsum("...ij,kl->...ikjl", r, np.eye(n)) + np.einsum(
            "ij,...lk->...ikjl", np.eye(m), s)
        system = system.reshape(*system.shape[:-4], m * n, m * n)
        try:
            return np.linalg.solve(system, q.reshape(*q.shape[:-2], m * n, 1)).reshape(q.shape)
        except np.linalg.LinAlgError:
            raise np.linalg.LinAlgError(_COMMON) from None

    def decompose(self, a: Tensor, b: Tensor, q: Tensor) -> Any:
        if not callable_for("trsyl", a, b, q):
            return None
        shape, dtype = self.infer(a, b, q)
        (r, u), (s, v) = (apply_many(SCHUR, doubled(x)) for x in (a, b))
        inner = times(adjoint(u), doubled(q), v)
        given = [matrix_transpose(broadcast_to(x, (*shape[:-2], *x.shape[-2:])))
                 for x in (r, s, inner)]
        y, scale, info = apply_many(TRSYL, *given)
        y = ensured(y, equal(info, 0), _COMMON, called(self.name, (a, b, q)))
        y = arith.divide(matrix_transpose(y), reshape(cast(scale, y.dtype), (*scale.shape, 1, 1)))
        return cast(times(u, y, adjoint(v)), dtype)

    def vjp(self, g: Tensor, x: Tensor, a: Tensor, b: Tensor, q: Tensor) -> tuple[Any, ...]:
        back = apply(self, adjoint(a), adjoint(b), g)
        to_a = arith.negative(times(back, adjoint(x)))
        to_b = arith.negative(times(adjoint(x), back))
        return sum_to(to_a, a.shape), sum_to(to_b, b.shape), sum_to(back, q.shape)

    def jvp(self, ts: Any, x: Tensor, a: Tensor, b: Tensor, q: Tensor) -> Any:
        rhs = ts[2]
        if ts[0] is not None:
            rhs = plus(rhs, arith.negative(times(ts[0], x)))
        if ts[1] is not None:
            rhs = plus(rhs, arith.negative(times(x, ts[1])))
        return apply(self, a, b, rhs)


SCHUR = Schur()
SYLVESTER = Sylvester()


@public
def schur(x: TensorLike, /, output: Literal["real", "complex"] = "real") -> SchurResult:
    """Schur's form: ``x = Z @ T @ adjoint(Z)``, where ``Z`` is unitary.

    Derivatives need eigenvalues that differ, and are those of functions that do not depend on the
    complex phases of the basis.

    :param x: Of shape (..., n, n).
    :param output: Real matrices give a real ``T`` with blocks of 2 by 2 on its diagonal for pairs
        of complex eigenvalues, or a complex one that is upper triangular.
    :returns T, Z: Of the shape of ``x``.
    :raises ValueError: If ``output`` is another.
    :raises ShapeError: If the matrices are not square.
    :raises numpy.linalg.LinAlgError: Where a derivative is requested that does not exist.
    :see: linalg.eig, linalg.solve_sylvester

    >>> ag.linalg.schur(ag.tensor([[2.0, 1.0], [0.0, 3.0]])).T
    tensor([[2., 1.],
            [0., 3.]])
    """
    x = square(x)
    if output not in ("real", "complex"):
        raise ValueError(f"output must be 'real' or 'complex', not {output!r}")
    if output == "complex" and x.dtype.kind == "f":
        x = cast(x, dtypes.complex_of(x.dtype))
    return SchurResult(*apply_many(SCHUR, x))


@public
def solve_sylvester(a: TensorLike, b: TensorLike, q: TensorLike, *, out: Tensor | None = None
                    ) -> Tensor:
    """The solution ``x`` of Sylvester's equation ``a @ x + x @ b = q``.

    :param a: Of shape (..., m, m).
    :param b: Of shape (..., n, n).
    :param q: Of shape (..., m, n).
    :returns: Of shape (..., m, n).
    :raises numpy.linalg.LinAlgError: If ``a`` and ``-b`` have an eigenvalue in common.
    :raises ShapeError: If the sizes do not fit.
    :see: linalg.solve_continuous_lyapunov, linalg.schur

    >>> ag.linalg.solve_sylvester([[2.0]], [[1.0]], [[6.0]])
    tensor([[2.]])
    """
    a, b, q = map(floating, common(a, b, q))
    for x in (a, b):
        check_square(x.shape)
    wanted = a.shape[-1], b.shape[-1]
    q = of_shape("solve_sylvester", q, (*q.shape[:-2], *wanted),
                 f"the right-hand side must be {wanted[0]} by {wanted[1]}, as {a.shape} and "
                 f"{b.shape} ask for, not of shape {q.shape}")
    return apply(SYLVESTER, a, b, q)


@public
def solve_continuous_lyapunov(a: TensorLike, q: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The solution ``x`` of Lyapunov's equation ``a @ x + x @ adjoint(a) = q``.

    :param a: Of shape (..., n, n).
    :param q: Of the shape of ``a``.
    :returns: Of the shape of ``q``.
    :raises ShapeError: If the sizes do not fit.
    :raises LinAlgError: If there is no single solution.
    :see: linalg.solve_discrete_lyapunov, linalg.solve_sylvester

    >>> ag.linalg.solve_continuous_lyapunov([[2.0]], [[8.0]])
    tensor([[2.]])
    """
    a, q = common(a, q)
    a = square(a)
    return solve_sylvester(a, adjoint(a), q)


@public
def solve_discrete_lyapunov(a: TensorLike, q: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The solution ``x`` of ``a @ x @ adjoint(a) - x + q = 0``, by a bilinear transform.

    :like: solve_continuous_lyapunov
    :see: linalg.solve_continuous_lyapunov, linalg.solve_sylvester

    >>> ag.linalg.solve_discrete_lyapunov([[0.5]], [[3.0]])
    tensor([[4.]])
    """
    a, q = map(floating, common(a, q))
    back = adjoint(square(a))
    inverse = inv(arith.add(back, identity(back)))
    b = times(arith.subtract(back, identity(back)), inverse)
    rhs = times(adjoint(inverse), q, inverse)
    return solve_sylvester(adjoint(b), b, arith.multiply(rhs, -2.0))
