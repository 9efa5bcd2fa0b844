"""Matrices of a special form, and what else is made of singular vectors."""

from __future__ import annotations

from typing import Any

from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support import dtypes
from agnesi.core.support.errors import ShapeError, TraceError
from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith
from agnesi.ops.base.compare import greater
from agnesi.ops.base.convert import as_tensor, cast, common, number
from agnesi.ops.base.creation import zeros
from agnesi.ops.base.ensure import ensured_sizes
from agnesi.ops.base.movement import reshape
from agnesi.ops.base.reduce import max as greatest_of
from agnesi.ops.base.reduce import sum as sum_of
from agnesi.ops.base.slices import flip
from agnesi.ops.indexing.index import take
from agnesi.ops.indexing.join import concat
from agnesi.ops.indexing.ranges import arange, eye
from agnesi.ops.linalg.base import adjoint, matrix
from agnesi.ops.linalg.spectral.pinv import default_rtol
from agnesi.ops.linalg.spectral.svd import svd


def vector(x: Any) -> Tensor:
    """A tensor of one axis."""
    x = as_tensor(x)
    if len(x.shape) != 1:
        raise ShapeError(f"the operand must be a vector, not of shape {x.shape}")
    return x


@planned
@public
def block_diag(*arrays: Any, out: Tensor | None = None) -> Tensor:
    """A block-diagonal matrix of the given matrices.

    :param *arrays: Matrices; a vector is one row, a number one element.
    :type *arrays: array_like
    :returns: A matrix of the promoted dtype.
    :raises ValueError: If there are no arrays.
    :raises ShapeError: If one has more than 2 axes.
    :see: block, diag, linalg.kron

    >>> ag.linalg.block_diag(ag.tensor([[1, 2]]), 3)
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """
    if not arrays:
        raise ValueError("block_diag takes at least one matrix")
    blocks = []
    for x in common(*arrays):
        if len(x.shape) > 2:
            raise ShapeError(f"the operands have at most 2 dimensions, this has shape {x.shape}")
        blocks.append(reshape(x, (*(1,) * (2 - len(x.shape)), *x.shape)))
    width = sum(x.shape[1] for x in blocks)
    lines, before = [], 0
    for x in blocks:
        m, n = x.shape
        left = zeros((m, before), dtype=x.dtype)
        right = zeros((m, width - before - n), dtype=x.dtype)
        lines.append(concat([left, x, right], axis=1))
        before = before + n
    return concat(lines, axis=0)


@planned
@public
def toeplitz(c: TensorLike, r: TensorLike | None = None, *, out: Tensor | None = None) -> Tensor:
    """The matrix with first column ``c`` and first row ``r`` that is constant along diagonals.

    :param c: A vector.
    :param r: A vector, whose first element does not count; the conjugate of ``c`` by default.
    :returns: Of shape (len(c), len(r)).
    :raises ShapeError: If one is no vector.
    :see: linalg.hankel, linalg.circulant, linalg.matmul_toeplitz

    >>> ag.linalg.toeplitz([1, 2], [1, 5, 6])
    tensor([[1, 5, 6],
            [2, 1, 5]])
    """
    c = vector(c)
    c, r = common(c, arith.conj(c) if r is None else vector(r))
    m, n = c.shape[0], r.shape[0]
    i, j = reshape(arange(m), (m, 1)), arange(n)
    return take(concat([flip(c), r[1:]]), arith.add(arith.subtract(j, i), m - 1))


@planned
@public
def hankel(c: TensorLike, r: TensorLike | None = None, *, out: Tensor | None = None) -> Tensor:
    """The matrix with first column ``c`` and last row ``r``, constant along antidiagonals.

    :like: toeplitz
    :param r: A vector, whose first element does not count; zeros by default.
    :see: linalg.toeplitz, linalg.circulant

    >>> ag.linalg.hankel([1, 2], [9, 5, 6])
    tensor([[1, 2, 5],
            [2, 5, 6]])
    """
    c = vector(c)
    c, r = common(c, arith.multiply(c, 0) if r is None else vector(r))
    m, n = c.shape[0], r.shape[0]
    return take(concat([c, r[1:]]), arith.add(reshape(arange(m), (m, 1)), arange(n)))


@planned
@public
def circulant(c: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The square matrix with first column ``c`` whose columns are rotated by one each.

    :param c: A vector of n elements.
    :returns: Of shape (n, n).
    :raises ShapeError: If ``c`` is no vector.
    :see: linalg.toeplitz, linalg.hankel, linalg.solve_circulant

    >>> ag.linalg.circulant([1, 2, 3])
    tensor([[1, 3, 2],
            [2, 1, 3],
            [3, 2, 1]])
    """
    c = vector(c)
    n = c.shape[0]
    shifts = arith.subtract(reshape(arange(n), (n, 1)), arange(n))
    return take(c, arith.remainder(shifts, n))


@public
def companion(a: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The matrix whose eigenvalues are the roots of the polynomial with coefficients ``a``.

    :param a: A vector of at least two coefficients, the highest power first.
    :returns: Of shape (n - 1, n - 1).
    :raises ShapeError: If ``a`` is no vector of two elements or more.
    :see: roots, poly

    >>> ag.linalg.companion([1.0, -3.0, 2.0])
    tensor([[ 3., -2.],
            [ 1.,  0.]])
    """
    a = vector(a)
    n = a.shape[0]
    text = f"a polynomial has at least 2 coefficients here, not {n}"
    if isinstance(n, int) and n < 2:
        raise ShapeError(text)
    a = ensured_sizes("companion", a, (n,), (2,), text, "at least")
    first = arith.negative(arith.divide(a[1:], a[0]))
    return concat([reshape(first, (1, n - 1)), eye(n - 2, n - 1, dtype=first.dtype)], axis=0)


@public
def hilbert(n: int) -> Tensor:
    """Hilbert's matrix: ``1 / (i + j + 1)``.

    :param n: Size of both axes.
    :returns: Of shape (n, n).
    :see: linalg.invhilbert

    >>> ag.linalg.hilbert(2)
    tensor([[1.        , 0.5       ],
            [0.5       , 0.33333334]])
    """
    i = arange(n, dtype=dtypes.config.float_dtype)
    one = number(1.0, dtypes.config.float_dtype)
    return arith.divide(one, arith.add(arith.add(reshape(i, (i.shape[0], 1)), i), 1))


@public
def khatri_rao(a: TensorLike, b: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Kronecker's product of each column of ``a`` with the same column of ``b``.

    :param a, b: Matrices of shapes (m, k) and (n, k).
    :returns: Of shape (m * n, k).
    :raises ShapeError: If one is no matrix, or the numbers of columns differ.
    :see: linalg.kron

    >>> ag.linalg.khatri_rao([[1, 2]], [[3, 4], [5, 6]])
    tensor([[ 3,  8],
            [ 5, 12]])
    """
    a, b = common(a, b)
    if len(a.shape) != 2 or len(b.shape) != 2:
        raise ShapeError(f"the operands must be matrices, not of shapes {a.shape} and {b.shape}")
    (m, k), (n, _) = a.shape, b.shape
    return reshape(arith.multiply(reshape(a, (m, 1, k)), b), (m * n, k))


# -- singular vectors ---------------------------------------------------------------------------
def _rank(x: Tensor, s: Tensor, rcond: float | None) -> Any:
    share = default_rtol(x) if rcond is None else rcond
    if s.array is None:
        if x.ndim > 2:
            raise TraceError("how many vectors matrices have depends on values that are not known "
                             "yet, and may differ among them")
        bound = arith.multiply(greatest_of(s, initial=0), share)
        return sum_of(cast(greater(s, bound), dtypes.int64))
    greatest = s.array.max(-1, keepdims=True, initial=0)
    ranks = set((s.array > share * greatest).sum(-1).ravel().tolist()) or {0}
    if len(ranks) > 1:
        raise ShapeError(f"the matrices of a stack of shape {x.shape} have different ranks, "
                         f"{min(ranks)} to {max(ranks)}, so that their bases do not fit one tensor")
    return ranks.pop()


@public
def orth(a: TensorLike, rcond: float | None = None) -> Tensor:
    """An orthonormal basis of what the columns of a matrix span.

    :param a: Of shape (..., m, n).
    :param rcond: Singular values up to this share of the greatest are taken for 0.
    :returns: Of shape (..., m, rank).
    :raises ShapeError: If the matrices of a stack have different ranks.
    :raises TraceError: While a graph is written, of stacks: the ranks decide the shape.
    :see: linalg.null_space, linalg.qr

    >>> ag.linalg.orth(ag.ones((4, 3))).shape
    (4, 1)
    """
    x = matrix(a)
    u, s, _ = svd(x, full_matrices=False)
    return u[..., : _rank(x, s, rcond)]


@public
def null_space(a: TensorLike, rcond: float | None = None) -> Tensor:
    """An orthonormal basis of the vectors that a matrix takes to 0.

    :like: orth
    :returns: Of shape (..., n, n - rank).
    :see: linalg.orth, linalg.svd

    >>> ag.linalg.null_space(ag.ones((4, 3))).shape
    (3, 2)
    """
    x = matrix(a)
    _, s, vh = svd(x)
    return adjoint(vh[..., _rank(x, s, rcond):, :])
