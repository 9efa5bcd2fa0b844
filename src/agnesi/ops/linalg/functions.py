"""Functions of matrices: roots, logarithms, trigonometric and hyperbolic functions, powers."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.core.dispatch import apply, apply_many
from agnesi.core.ir import foreign
from agnesi.core.op import called
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import public
from agnesi.core.shapes import fits
from agnesi.core.support import dtypes
from agnesi.core.support.config import HOOKS
from agnesi.core.support.errors import ShapeError
from agnesi.core.support.record import record
from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith
from agnesi.ops.base.compare import equal, isfinite, less_equal
from agnesi.ops.base.convert import cast, is_live, pair
from agnesi.ops.base.movement import matrix_transpose, reshape
from agnesi.ops.base.reduce import reducer
from agnesi.ops.base.select import where
from agnesi.ops.elementwise.explog import log
from agnesi.ops.indexing.diagonal import Diagonal
from agnesi.ops.linalg.base import (
    SquareOp,
    adjoint,
    count,
    ensured,
    identity,
    square,
    times,
)
from agnesi.ops.linalg.expm import derivative_by_blocks, expm
from agnesi.ops.linalg.products import matrix_power
from agnesi.ops.linalg.routines import GEES, Routine, callable_for
from agnesi.ops.linalg.solve import solve
from agnesi.ops.linalg.spectral.schur import FAILED, SYLVESTER, form

#: How far from 1 triangles may be for the approximant of the logarithm.
_MAX_DISTANCE_FROM_ONE = 0.25
#: The degree of the approximant.
_DEGREE = 8
#: What is imaginary in a real matrix's function, beside the greatest element, but for rounding.
_ROUNDING = 1e-8


def _by_triangle(a: np.ndarray, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """A matrix function by Schur's decomposition, from one of triangles; NaN where not real."""
    flat = a.reshape(-1, *a.shape[-2:]) if a.size else a.reshape(0, *a.shape[-2:])
    found = []
    with np.errstate(all="ignore"):
        for m in flat.astype(np.complex128):
            if not np.isfinite(m).all():
                found.append(np.full_like(m, np.nan))
                continue
            t, z = form(m)
            y = z @ function(t) @ z.conj().T
            found.append(y)
    y = np.array(found, np.complex128).reshape(a.shape)
    if a.dtype.kind != "c":
        scale = np.abs(y).max((-2, -1), initial=0, keepdims=True)
        real = (np.abs(y.imag) <= _ROUNDING * scale).all((-2, -1), keepdims=True)
        return np.where(real, y.real, np.nan).astype(a.dtype)
    return y.astype(a.dtype)


def _root(t: np.ndarray) -> np.ndarray:
    """The root of a triangle, diagonal by diagonal: Björck and Hammarling (1983)."""
    n = len(t)
    r = np.diag(np.sqrt(np.diagonal(t)))
    for j in range(1, n):
        for i in range(j - 1, -1, -1):
            left = t[i, j] - r[i, i + 1: j] @ r[i + 1: j, j]
            total = r[i, i] + r[j, j]
            r[i, j] = left / total if left or total else 0
    return r


def _logarithm(t: np.ndarray) -> np.ndarray:
    """The logarithm of a triangle by roots and Padé's approximant: Higham (2008), 11.5."""
    values, one = np.log(np.diagonal(t)), np.eye(len(t))
    if not np.isfinite(values).all():
        return np.full_like(t, np.nan)
    halvings = 0
    while np.abs(t - one).sum(0).max(initial=0) > _MAX_DISTANCE_FROM_ONE:
        t, halvings = _root(t), halvings + 1
    x = t - one
    points, weights = np.polynomial.legendre.leggauss(_DEGREE)
    parts = [w / 2 * np.linalg.solve(one + (p + 1) / 2 * x, x)
             for p, w in zip(points, weights, strict=True)]
    found: np.ndarray = 2.0**halvings * np.sum(parts, 0)
    np.fill_diagonal(found, values)
    return found


@record
class OfTriangle(Routine):
    """The root ("rootm") of triangles, column by column, or the logarithm without its diagonal."""

    kind: str
    name = "function of a triangle"

    def infer(self, t: Any) -> Any:
        return t.shape, t.dtype

    def foreign(self, t: Any) -> Any:
        n = t.shape[-1]
        workspace = [foreign.scratch()] if self.kind == "logm" else []
        return foreign.Call(
            f"generated:{self.kind} {t.dtype.name} 0 0 - 0 0",
            (foreign.operand(0), foreign.result(), *workspace, foreign.number(n)),
            batch=count(t.shape), scratch=(16 * n * (2 * n + 1),) * len(workspace),
        )


def _by_code(a: Tensor, name: str, function: Callable[[Tensor], Tensor]) -> Tensor | None:
    """A function of matrices in compiled code, by one of triangles, column by column."""
    if not (callable_for("gees", a) and HOOKS.compiles()):
        return None
    both = (len(a.shape) - 2, len(a.shape) - 1)
    known = apply(reducer("logical_and", both, True), isfinite(a))
    wide = where(known, cast(a, dtypes.complex128), 0)
    t, z, info = apply_many(GEES, matrix_transpose(wide))
    t = ensured(t, equal(info, 0), FAILED, called(name, (a,)))
    basis = matrix_transpose(z)
    y = times(basis, matrix_transpose(function(t)), adjoint(basis))
    y = where(known, y, np.nan)
    if a.dtype.kind != "c":
        scale = apply(reducer("maximum", both, True), arith.abs(y))
        small = less_equal(arith.abs(arith.imag(y)), arith.multiply(scale, _ROUNDING))
        y = where(apply(reducer("logical_and", both, True), small), arith.real(y), np.nan)
    return cast(y, a.dtype)


def _logarithm_of(t: Tensor) -> Tensor:
    """The logarithm of triangles: those of the diagonal are put in, which the code leaves out."""
    values = log(apply(Diagonal(0), t))
    known = apply(reducer("logical_and", (len(t.shape) - 2,), True), isfinite(values))
    values = reshape(where(known, values, np.nan), (*values.shape, 1))
    inner = where(equal(identity(t), 1), values, apply(OfTriangle("logm"), t))
    return where(reshape(known, (*known.shape, 1)), inner, np.nan)


@record
class Sqrtm(SquareOp):
    """Principal roots; the derivative solves Sylvester's equation."""

    name = "sqrtm"
    keep_inputs = ()
    keep_output = True

    def perform(self, a: np.ndarray) -> np.ndarray:
        return _by_triangle(a, _root)

    def decompose(self, a: Tensor) -> Tensor | None:
        return _by_code(a, self.name, lambda t: apply(OfTriangle("rootm"), t))

    def vjp(self, g: Tensor, y: Tensor, a: Tensor) -> tuple[Any, ...]:
        return (apply(SYLVESTER, adjoint(y), adjoint(y), g),)

    def jvp(self, ts: Any, y: Tensor, a: Tensor) -> Any:
        return apply(SYLVESTER, y, y, ts[0])


@record
class Logm(SquareOp):
    """Principal logarithms; the derivative is a block of one: see ``Expm``."""

    name = "logm"
    keep_inputs = (0,)

    def perform(self, a: np.ndarray) -> np.ndarray:
        return _by_triangle(a, _logarithm)

    def decompose(self, a: Tensor) -> Tensor | None:
        return _by_code(a, self.name, _logarithm_of)

    def vjp(self, g: Tensor, y: Tensor, a: Tensor) -> tuple[Any, ...]:
        return (derivative_by_blocks(logm, adjoint(a), g),)

    def jvp(self, ts: Any, y: Tensor, a: Tensor) -> Any:
        return derivative_by_blocks(logm, a, ts[0])


@public
def sqrtm(x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """Principal square roots of matrices: ``y @ y = x``.

    :param x: Of shape (..., n, n).
    :returns: Of the dtype of ``x``: of a real matrix whose root is not real, NaN; cast it to
        complex.
    :raises ShapeError: If the matrices are not square.
    :see: linalg.logm, linalg.fractional_matrix_power, linalg.signm

    >>> ag.linalg.sqrtm(ag.tensor([[4.0, 0.0], [0.0, 9.0]]))
    tensor([[2., 0.],
            [0., 3.]])
    """
    return apply(Sqrtm(), square(x))


@public
def logm(x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """Principal logarithms of matrices: ``expm(y) = x``.

    :param x: Of shape (..., n, n).
    :returns: Of the dtype of ``x``: of a real matrix whose logarithm is not real, NaN; cast it to
        complex.  NaN, too, for singular matrices.
    :raises ShapeError: If the matrices are not square.
    :see: linalg.expm, linalg.sqrtm

    >>> ag.linalg.logm(ag.eye(2))
    tensor([[0., 0.],
            [0., 0.]])
    """
    return apply(Logm(), square(x))


@public
def expm_frechet(a: TensorLike, e: TensorLike, *, compute_expm: bool = True) -> Any:
    """The derivative of the exponential of ``a`` in the direction ``e``, behind the exponential.

    :param a: Of shape (..., n, n).
    :param e: Of the shape of ``a``.
    :param compute_expm: False gives the derivative alone.
    :returns value, derivative: Of the shape of ``a``.
    :raises ShapeError: If the shapes differ, or the matrices are not square.
    :see: linalg.expm, jvp

    >>> ag.linalg.expm_frechet([[0.0]], [[2.0]])[1]
    tensor([[2.]])
    """
    a, e = map(square, pair(a, e))
    if not fits(a.shape, e.shape):
        raise ShapeError(f"matrix and direction differ in shape: {a.shape} and {e.shape}")
    value = expm(a)
    change = derivative_by_blocks(expm, a, e)
    return (value, change) if compute_expm else change


@public
def fractional_matrix_power(x: TensorLike, t: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Powers of matrices with any exponent, by their logarithms; whole ones by products.

    :param x: Of shape (..., n, n).
    :param t: The exponent.
    :type t: number or Tensor
    :returns: Of the shape of ``x``; NaN for real matrices whose power is not real.
    :raises ShapeError: If the matrices are not square.
    :raises LinAlgError: For negative whole powers of singular matrices.
    :see: linalg.matrix_power, linalg.sqrtm, linalg.logm

    >>> ag.round(ag.linalg.fractional_matrix_power([[4.0, 0.0], [0.0, 9.0]], 0.5), decimals=4)
    tensor([[2., 0.],
            [0., 3.]])
    """
    x = square(x)
    if is_live(t):
        return expm(arith.multiply(logm(x), t))
    number: Any = t
    if isinstance(number, numbers.Integral) or float(number).is_integer():
        return matrix_power(x, int(number))
    return expm(arith.multiply(logm(x), float(number)))


@public
def signm(x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """The sign of matrices: with eigenvalues 1 or -1 after those of ``x``, none of them imaginary.

    :param x: Of shape (..., n, n).
    :returns: Of the shape of ``x``, floating or complex.
    :raises ShapeError: If the matrices are not square.
    :raises LinAlgError: If a matrix is singular.
    :see: linalg.sqrtm, linalg.polar

    >>> ag.linalg.signm(ag.tensor([[-4.0, 0.0], [0.0, 9.0]]))
    tensor([[-1.,  0.],
            [ 0.,  1.]])
    """
    x = square(x)
    return solve(sqrtm(times(x, x)), x)


def _exp_i(x: Tensor) -> Tensor:
    """``exp(1j * x)``."""
    return expm(arith.multiply(cast(x, dtypes.complex_of(x.dtype)), 1j))


@public
def cosm(x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """The cosine of matrices, by the exponential.

    :param x: Of shape (..., n, n).
    :returns: Of the shape of ``x``, floating or complex.
    :raises ShapeError: If the matrices are not square.
    :see: linalg.sinm, linalg.tanm, linalg.expm

    >>> ag.linalg.cosm(ag.zeros((1, 1)))
    tensor([[1.]])
    """
    x = square(x)
    if x.dtype.kind == "f":
        return arith.real(_exp_i(x))
    return coshm(arith.multiply(x, 1j))


@public
def sinm(x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """The sine of matrices, by the exponential.

    :like: cosm
    :see: linalg.cosm, linalg.tanm, linalg.expm

    >>> ag.linalg.sinm(ag.zeros((1, 1)))
    tensor([[0.]])
    """
    x = square(x)
    if x.dtype.kind == "f":
        return arith.imag(_exp_i(x))
    return arith.multiply(sinhm(arith.multiply(x, 1j)), -1j)


@public
def tanm(x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """The tangent of matrices.

    :like: signm
    :raises LinAlgError: If the cosine is singular.
    :see: linalg.cosm, linalg.sinm, linalg.expm

    >>> ag.linalg.tanm(ag.zeros((1, 1)))
    tensor([[0.]])
    """
    return solve(cosm(x), sinm(x))


@public
def coshm(x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic cosine of matrices, by the exponential.

    :like: cosm
    :see: linalg.sinhm, linalg.tanhm, linalg.expm

    >>> ag.linalg.coshm(ag.zeros((1, 1)))
    tensor([[1.]])
    """
    x = square(x)
    return arith.multiply(arith.add(expm(x), expm(arith.negative(x))), 0.5)


@public
def sinhm(x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic sine of matrices, by the exponential.

    :like: cosm
    :see: linalg.coshm, linalg.tanhm, linalg.expm

    >>> ag.linalg.sinhm(ag.zeros((1, 1)))
    tensor([[0.]])
    """
    x = square(x)
    return arith.multiply(arith.subtract(expm(x), expm(arith.negative(x))), 0.5)


@public
def tanhm(x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic tangent of matrices.

    :like: signm
    :raises LinAlgError: If the cosine is singular.
    :see: linalg.coshm, linalg.sinhm, linalg.expm

    >>> ag.linalg.tanhm(ag.zeros((1, 1)))
    tensor([[0.]])
    """
    return solve(coshm(x), sinhm(x))
