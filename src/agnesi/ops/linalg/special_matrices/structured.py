"""SciPy's functions that are short in terms of others: factors, checks, Toeplitz matrices."""

from __future__ import annotations

from typing import Any, Literal

from agnesi.core.ir.dims import is_settled
from agnesi.core.options import NotNegative
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import public
from agnesi.core.support.errors import ShapeError
from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith
from agnesi.ops.base.compare import equal, greater, less_equal
from agnesi.ops.base.convert import common
from agnesi.ops.base.movement import matrix_transpose, sized
from agnesi.ops.base.reduce import all as every
from agnesi.ops.base.reduce import max as greatest
from agnesi.ops.base.select import clip, where
from agnesi.ops.base.slices import flip
from agnesi.ops.contractions.matmul import matmul
from agnesi.ops.elementwise.trig import acos, asin
from agnesi.ops.indexing.join import concat
from agnesi.ops.linalg.base import (
    adjoint,
    floating,
    hermitian,
    matrix,
    matrix_pair,
    surely_square,
    times,
)
from agnesi.ops.linalg.qr import QRResult, qr
from agnesi.ops.linalg.solve import solve
from agnesi.ops.linalg.special_matrices.special import orth, toeplitz
from agnesi.ops.linalg.spectral.eigh import eigvalsh
from agnesi.ops.linalg.spectral.pinv import default_rtol, inverse_of
from agnesi.ops.linalg.spectral.svd import svdvals
from agnesi.ops.signal.fft import fft, ifft


@public
def rq(a: TensorLike, mode: Literal["full", "economic", "r"] = "full") -> Any:
    """Factors ``R``, upper triangular, and ``Q`` with orthonormal rows: ``a = R @ Q``.

    :param a: Of shape (..., m, n).
    :param mode: Give n rows in ``Q``; or min(m, n); or ``R`` alone, of the first kind.
    :returns R, Q: Of shapes (..., m, n) and (..., n, n), or (..., m, k) and (..., k, n), where k =
        min(m, n).
    :raises ValueError: If there is no such mode.
    :see: linalg.qr

    >>> r, q = ag.linalg.rq(ag.tensor([[3.0, 1.0], [4.0, 2.0]]))
    >>> ag.round(r @ q, decimals=4)
    tensor([[3., 1.],
            [4., 2.]])
    """
    if mode not in ("full", "economic", "r"):
        raise ValueError(f"mode must be 'full', 'economic' or 'r', not {mode!r}")
    flipped = adjoint(flip(matrix(a), axis=-2))
    q, r = qr(flipped, "reduced" if mode == "economic" else "complete")
    upper = flip(adjoint(r), axis=(-2, -1))
    return upper if mode == "r" else (upper, flip(adjoint(q), axis=-2))


@public
def qr_multiply(a: TensorLike, c: TensorLike, mode: Literal["left", "right"] = "right") -> QRResult:
    """``c @ Q`` (or ``Q @ c`` for "left") and ``R`` of the reduced factors of ``a``.

    :param a: Of shape (..., m, n).
    :param c: What ``Q`` is multiplied with.
    :param mode: "right" gives ``c @ Q``, "left" gives ``Q @ c``.
    :returns product, R: The product, and the upper triangular factor.
    :raises ValueError: If ``mode`` is another.
    :raises ShapeError: If the sizes do not fit.
    :see: linalg.qr, linalg.rq

    >>> ag.linalg.qr_multiply(ag.eye(2), ag.eye(2)).R.shape
    (2, 2)
    """
    a, c = matrix_pair(a, c)
    q, r = qr(a)
    if mode not in ("left", "right"):
        raise ValueError(f"mode must be 'left' or 'right', not {mode!r}")
    return QRResult(matmul(q, c) if mode == "left" else matmul(c, q), r)


@public
def pinvh(a: TensorLike, atol: NotNegative | None = None, rtol: NotNegative | None = None, *,
          out: Tensor | None = None) -> Tensor:
    """Pseudo-inverses of Hermitian matrices, or of the Hermitian parts of others.

    :param a: Of shape (..., n, n).
    :param atol, rtol: Eigenvalues up to ``atol + rtol`` times the greatest are taken for 0; by
        default ``n`` times the dtype's eps for ``rtol``.
    :returns: Of the shape of ``a``.
    :raises ShapeError: If the matrices are not square.
    :see: linalg.pinv, linalg.eigh

    >>> ag.linalg.pinvh(ag.tensor([[2.0, 0.0], [0.0, 0.0]]))
    tensor([[0.5, 0. ],
            [0. , 0. ]])
    """
    a = hermitian(surely_square("pinvh", a))
    share: Any = default_rtol(a) if rtol is None else rtol
    if atol:
        share = share + atol / greatest(arith.abs(eigvalsh(a)), axis=-1)
    return inverse_of(a, share)


def _close_to(a: Tensor, b: Tensor, atol: Any, rtol: Any) -> Tensor:
    if atol is None and rtol is None:
        return every(equal(a, b))
    bound = arith.add(arith.multiply(arith.abs(b), rtol or 0.0), atol or 0.0)
    return every(less_equal(arith.abs(arith.subtract(a, b)), bound))


@public
def issymmetric(a: TensorLike, atol: NotNegative | None = None,
                rtol: NotNegative | None = None) -> Tensor:
    """Return whether a matrix is equal to its transpose, exactly or within tolerances.

    :param a: Of shape (..., n, n).
    :param atol, rtol: Tolerances: absolute, and relative to the elements; without both the elements
        must be equal.
    :returns: One bool; True where every element agrees.
    :raises ShapeError: If the matrices are not square.
    :see: linalg.ishermitian

    >>> ag.linalg.issymmetric(ag.tensor([[1.0, 2.0], [2.0, 1.0]])).item()
    True
    """
    a = surely_square("issymmetric", a)
    return _close_to(a, matrix_transpose(a), atol, rtol)


@public
def ishermitian(a: TensorLike, atol: NotNegative | None = None,
                rtol: NotNegative | None = None) -> Tensor:
    """Return whether a matrix is equal to its adjoint, exactly or within tolerances.

    :like: issymmetric
    :see: linalg.issymmetric, linalg.eigh

    >>> ag.linalg.ishermitian(ag.tensor([[1.0, 2j], [-2j, 1.0]])).item()
    True
    """
    a = surely_square("ishermitian", a)
    return _close_to(a, adjoint(a), atol, rtol)


@public
def subspace_angles(a: TensorLike, b: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Angles between the spaces of columns of two matrices, the greatest first.

    :param a, b: Matrices with as many rows.
    :returns: A vector of angles in radians, in [0, pi/2].
    :raises TraceError: While a graph is written: ranks decide shapes.
    :see: linalg.orth, linalg.svd

    >>> ag.linalg.subspace_angles(ag.tensor([[1.0], [0.0]]), ag.tensor([[0.0], [1.0]]))
    tensor([1.5707964])
    """
    first, second = map(orth, matrix_pair(a, b))
    inner = times(adjoint(first), second)
    cosines = svdvals(inner)
    if first.shape[-1] >= second.shape[-1]:
        rest = arith.subtract(second, times(first, inner))
    else:
        rest = arith.subtract(first, times(second, adjoint(inner)))
    sines = flip(svdvals(rest), axis=-1)[..., -cosines.shape[-1]:]
    small = greater(arith.multiply(cosines, cosines), 0.5)
    angles = where(small, asin(clip(sines, -1, 1)), acos(clip(cosines, -1, 1)))
    return flip(angles, axis=-1)


# -- special structure ------------------------------------------------------------------------
@public
def solve_circulant(c: TensorLike, b: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The solution of ``circulant(c) @ x = b``, by Fourier transforms.

    :param c: Of shape (n,).
    :param b: Of shape (n,) or (n, k).
    :returns: Of the shape of ``b``; infinite or NaN for singular matrices.
    :raises ShapeError: If the sizes do not fit.
    :see: linalg.circulant, linalg.solve_toeplitz

    >>> ag.linalg.solve_circulant(ag.tensor([2.0, 0.0]), ag.tensor([4.0, 6.0]))
    tensor([2., 3.])
    """
    c, b = map(floating, common(c, b))
    spectrum = fft(c)
    if len(b.shape) > 1:
        spectrum = spectrum[:, None]
    x = ifft(arith.divide(fft(b, axis=0), spectrum), axis=0)
    return x if c.dtype.kind == "c" else arith.real(x)


@public
def solve_toeplitz(c_or_cr: TensorLike, b: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The solution of ``toeplitz(c, r) @ x = b``.

    :param c_or_cr: The first column, or that and the first row.
    :type c_or_cr: array_like or tuple of array_like
    :param b: Of shape (n,) or (n, k).
    :returns: Of the shape of ``b``.
    :raises LinAlgError: If the matrix is singular.
    :raises ShapeError: If the sizes do not fit.
    :see: linalg.toeplitz, linalg.matmul_toeplitz, linalg.solve

    >>> ag.linalg.solve_toeplitz(ag.tensor([2.0, 0.0]), ag.tensor([4.0, 6.0]))
    tensor([2., 3.])
    """
    *ends, b = common(*(c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr,)), b)
    return solve(toeplitz(*ends), b)


@public
def matmul_toeplitz(c_or_cr: TensorLike, x: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """``toeplitz(c, r) @ x``, by Fourier transforms.

    :param c_or_cr: The first column, of m elements, or that and the first row, of n; without one it
        is the conjugate of the column.
    :type c_or_cr: array_like or tuple of array_like
    :param x: Of shape (n,) or (n, k).
    :returns: Of shape (m,) or (m, k).
    :raises ShapeError: If the sizes do not fit.
    :see: linalg.toeplitz, linalg.solve_toeplitz

    >>> ag.round(ag.linalg.matmul_toeplitz(ag.tensor([2.0, 1.0]), ag.tensor([1.0, 0.0])))
    tensor([2., 1.])
    """
    *ends, x = map(floating, common(*(c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr,)), x))
    c, r = ends if len(ends) > 1 else (ends[0], arith.conj(ends[0]))
    m, n = c.shape[0], r.shape[0]
    if is_settled((n, x.shape[0])) and x.shape[0] != n:
        raise ShapeError(f"a row of {n} numbers does not fit {x.shape[0]} rows")
    x = sized(x, 0, n)
    size = m + n - 1
    spectrum = fft(concat([c, flip(r[1:], axis=0)]))
    if len(x.shape) > 1:
        spectrum = spectrum[:, None]
    y = ifft(arith.multiply(spectrum, fft(x, size, axis=0)), axis=0)[:m]
    return y if c.dtype.kind == "c" else arith.real(y)
