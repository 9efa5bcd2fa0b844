"""Matrices that a size, or a few numbers, determine."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from agnesi.core.integers import known_integer
from agnesi.core.ir.dims import is_settled
from agnesi.core.ir.roots import roots
from agnesi.core.parameter_types import DTypeLike, TensorLike
from agnesi.core.public import public
from agnesi.core.support import dtypes
from agnesi.core.support.errors import ShapeError, check_allocatable
from agnesi.core.support.worker_threads import aside
from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith
from agnesi.ops.base.convert import common
from agnesi.ops.base.creation import tensor, zeros
from agnesi.ops.base.ensure import ensured_sizes
from agnesi.ops.base.movement import reshape
from agnesi.ops.base.parameter_checks import of_shape
from agnesi.ops.indexing.join import concat, pad
from agnesi.ops.indexing.ranges import eye
from agnesi.ops.linalg.base import smaller
from agnesi.ops.linalg.special_matrices.special import toeplitz, vector

#: For one root of unity.
_ROOT_NANOSECONDS = 100
Kind = Literal["symmetric", "lower", "upper"]


def _size(n: Any) -> int:
    """The size of both axes of a matrix that there is memory for."""
    n = known_integer(n, "n")
    check_allocatable((max(n, 0),) * 2, dtypes.int64)
    return n


def _made(x: np.ndarray, complex: bool = False) -> Tensor:
    dtype = dtypes.config.float_dtype
    return tensor(x, dtype=dtypes.complex_of(dtype) if complex else dtype)


@public
def dft(n: int, scale: Literal["sqrtn", "n"] | None = None) -> Tensor:
    """The matrix of the discrete Fourier transform, divided by ``n`` or its root.

    :param n: Size of both axes.
    :param scale: Divided by: nothing, the root of ``n``, or ``n``.
    :returns: Complex, of shape (n, n).
    :raises ValueError: If there is no such scale.
    :see: fft.fft

    >>> ag.linalg.dft(2).real
    tensor([[ 1.,  1.],
            [ 1., -1.]])
    """
    if scale not in (None, "sqrtn", "n"):
        raise ValueError(f"scale must be None, 'sqrtn' or 'n', not {scale!r}")
    numbers = np.arange(_size(n))
    divisor = {None: 1.0, "sqrtn": math.sqrt(n), "n": n}[scale]
    return _made(aside(_ROOT_NANOSECONDS * n * n, lambda: roots(
        n, numbers[:, None] * numbers) / divisor), True)


@public
def hadamard(n: int, dtype: DTypeLike = "int64") -> Tensor:
    """Hadamard's matrix of size ``n``, a power of 2.

    :param n: A power of 2.
    :param dtype: Type of the elements.
    :returns: Of shape (n, n): 1 and -1.
    :raises ValueError: If ``n`` is no power of 2.
    :see: linalg.helmert, linalg.dft

    >>> ag.linalg.hadamard(2)
    tensor([[ 1,  1],
            [ 1, -1]])
    """
    n = known_integer(n, "n")
    if n < 1 or n & (n - 1):
        raise ValueError(f"n must be a power of 2, not {n}")
    numbers = np.arange(_size(n))
    odd = np.bitwise_count(numbers[:, None] & numbers) % 2
    return tensor(1 - 2 * odd.astype(np.int64), dtype=dtype)


@public
def helmert(n: int, full: bool = False) -> Tensor:
    """Helmert's matrix of orthonormal rows, without its first one unless ``full``.

    :param n: Size of the matrix.
    :param full: Whether to give the constant row, too.
    :returns: Of shape (n - 1, n), or (n, n).
    :see: linalg.hadamard

    >>> ag.round(ag.linalg.helmert(2), decimals=4)
    tensor([[ 0.7071, -0.7071]])
    """
    n = _size(n)
    x = np.tril(np.ones((n, n)), -1) - np.diag(np.arange(n))
    x[0] = 1
    lengths = np.arange(n) * np.arange(1, n + 1)
    lengths[0] = n
    x /= np.sqrt(lengths)[:, None]
    return _made(x if full else x[1:])


def _pascal(n: int) -> list[list[int]]:
    n = _size(n)
    return [[math.comb(i, j) for j in range(n)] for i in range(n)]


@public
def pascal(n: int, kind: Kind = "symmetric") -> Tensor:
    """Pascal's matrix of binomial coefficients, as float64 where int64 does not hold them.

    :param n: Size of both axes.
    :param kind: The whole matrix, or one of its triangular factors.
    :type kind: {"symmetric", "lower", "upper"}
    :returns: Of shape (n, n); int64, or float64 where that does not hold the numbers.
    :raises ValueError: If there is no such kind.
    :see: linalg.invpascal, special.binom

    >>> ag.linalg.pascal(3)
    tensor([[1, 1, 1],
            [1, 2, 3],
            [1, 3, 6]])
    """
    return _whole(_of_kind(_pascal(n), kind))


@public
def invpascal(n: int, kind: Kind = "symmetric") -> Tensor:
    """The inverse of Pascal's matrix.

    :like: pascal
    :see: linalg.pascal

    >>> ag.linalg.invpascal(2)
    tensor([[ 2, -1],
            [-1,  1]])
    """
    signed = [[(-1) ** (i + j) * v for j, v in enumerate(row)] for i, row in enumerate(_pascal(n))]
    if kind == "symmetric":
        return _whole([[sum(row[i] * row[j] for row in signed) for j in range(n)]
                       for i in range(n)])
    return _whole(_of_kind(signed, kind))


def _of_kind(lower: list[list[int]], kind: str) -> list[list[int]]:
    n = len(lower)
    if kind not in ("symmetric", "lower", "upper"):
        raise ValueError(f"kind must be 'symmetric', 'lower' or 'upper', not {kind!r}")
    if kind == "lower":
        return lower
    if kind == "upper":
        return [[lower[j][i] for j in range(n)] for i in range(n)]
    return [[math.comb(i + j, i) for j in range(n)] for i in range(n)]


def _whole(x: list[list[int]]) -> Tensor:
    most = max((abs(v) for row in x for v in row), default=0)
    kind = "int64" if most < 2**63 else "float64"
    return tensor(np.array(x, kind).reshape(len(x), len(x)))


@public
def invhilbert(n: int) -> Tensor:
    """The inverse of Hilbert's matrix, whose elements are whole numbers.

    :param n: Size of both axes.
    :returns: Of shape (n, n).
    :see: linalg.hilbert, linalg.invpascal

    >>> ag.linalg.invhilbert(2)
    tensor([[ 4., -6.],
            [-6., 12.]])
    """
    n = _size(n)

    def element(i: int, j: int) -> int:
        size = (i + j + 1) * math.comb(n + i, n - j - 1) * math.comb(n + j, n - i - 1)
        return (-1) ** (i + j) * size * math.comb(i + j, i) ** 2

    return _made(np.array([[float(element(i, j)) for j in range(n)] for i in range(n)]
                          ).reshape(n, n))


@public
def leslie(f: TensorLike, s: TensorLike) -> Tensor:
    """Leslie's matrix of birth rates ``f`` and rates of survival ``s``, which are one less.

    :param f, s: Vectors of n and n - 1 elements.
    :returns: Of shape (n, n).
    :raises ShapeError: If one is no vector, or ``s`` has not one element less.
    :see: linalg.companion

    >>> ag.linalg.leslie([1.0, 2.0], [0.5])
    tensor([[1. , 2. ],
            [0.5, 0. ]])
    """
    f, s = map(vector, common(f, s))
    n = f.shape[0]
    s = of_shape("leslie", s, (n - 1,),
                 f"there must be {n - 1} rates of survival, not {s.shape[0]}")
    below = arith.multiply(reshape(s, (s.shape[0], 1)), eye(s.shape[0], n, dtype=s.dtype))
    return concat([reshape(f, (1, n)), below], axis=0)


@public
def fiedler(a: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Fiedler's matrix: ``abs(a[i] - a[j])``.

    :param a: A vector of n elements.
    :returns: Of shape (n, n).
    :raises ShapeError: If ``a`` is no vector.
    :see: linalg.toeplitz, linalg.circulant

    >>> ag.linalg.fiedler(ag.tensor([1.0, 3.0]))
    tensor([[0., 2.],
            [2., 0.]])
    """
    a = vector(a)
    return arith.abs(arith.subtract(reshape(a, (a.shape[0], 1)), a))


@public
def convolution_matrix(a: TensorLike, n: int, mode: Literal["full", "same", "valid"] = "full", *,
                       out: Tensor | None = None) -> Tensor:
    """The matrix whose product with ``n`` numbers is their convolution with ``a``.

    :param a: A vector of m elements.
    :param n: How many numbers the matrix takes.
    :param mode: Which elements of the convolution it gives, as :func:`agnesi.convolve`.
    :returns: With ``n`` columns; ``m + n - 1`` rows for "full", ``max(m, n)`` for "same".
    :raises ValueError: If ``a`` is empty, ``n`` not positive, or there is no such mode.
    :raises ShapeError: If ``a`` is no vector.
    :see: convolve, linalg.toeplitz

    >>> ag.linalg.convolution_matrix(ag.tensor([1.0, 2.0]), 2)
    tensor([[1., 0.],
            [2., 1.],
            [0., 2.]])
    """
    a = vector(a)
    m = a.shape[0]
    text = "a convolution takes at least one number on both sides"
    if n < 1 or m == 0:
        raise ValueError(text)
    a = ensured_sizes("convolution_matrix", a, (m,), (1,), text, "at least", "ValueError")
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"mode must be 'full', 'same' or 'valid', not {mode!r}")
    column = concat([a, zeros((n - 1,), dtype=a.dtype)])
    row = concat([a[:1], zeros((n - 1,), dtype=a.dtype)])
    whole = toeplitz(column, row)
    if mode == "full":
        return whole
    less = smaller(m, n)
    first = (less - 1) // 2 if mode == "same" else less - 1
    length = m + n - less if mode == "same" else m + n - 2 * less + 1
    return whole[first : first + length]


@public
def diagsvd(s: TensorLike, M: int, N: int, *, out: Tensor | None = None) -> Tensor:
    """Singular values on the diagonal of a matrix of ``M`` by ``N`` elements.

    :param s: A vector of ``min(M, N)`` values.
    :param M, N: Numbers of rows and of columns.
    :returns: Of shape (M, N).
    :raises ShapeError: If there are not so many values, or ``s`` is no vector.
    :see: linalg.svd, diag

    >>> ag.linalg.diagsvd(ag.tensor([2.0, 1.0]), 2, 3)
    tensor([[2., 0., 0.],
            [0., 1., 0.]])
    """
    s = vector(s)
    k = s.shape[0]
    if is_settled((k,)) and (k not in (M, N) or k > min(M, N)):
        raise ShapeError(f"{k} singular values do not fit a matrix of {M} by {N} elements")
    k = min(M, N)
    square = arith.multiply(reshape(s, (k, 1)), eye(k, dtype=s.dtype))
    return pad(square, [(0, M - k), (0, N - k)])
