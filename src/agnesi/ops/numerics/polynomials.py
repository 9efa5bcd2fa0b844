"""Polynomials as vectors of coefficients, the highest power first."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from agnesi.core.integers import step_count
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.shapes import surely_less
from agnesi.core.support import dtypes
from agnesi.core.support.errors import ShapeError
from agnesi.core.support.tracing import is_known
from agnesi.core.tensor import Tensor
from agnesi.ops.arrays.replicate import broadcast_to
from agnesi.ops.arrays.triangles import vander
from agnesi.ops.base.convert import as_tensor, cast, common, pair
from agnesi.ops.base.ensure import ensured_sizes
from agnesi.ops.base.movement import atleast_1d, reshape
from agnesi.ops.base.parameter_checks import of_shape
from agnesi.ops.indexing.join import concat
from agnesi.ops.indexing.ranges import arange
from agnesi.ops.linalg.special_matrices.special import companion
from agnesi.ops.linalg.spectral.eig import eigvals
from agnesi.ops.linalg.spectral.pinv import lstsq

__all__ = [
    "poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "polyval",
    "roots",
]


def _vector(p: Any) -> Tensor:
    p = atleast_1d(as_tensor(p))
    if p.ndim != 1:
        raise ShapeError(f"coefficients are a vector, not of shape {p.shape}")
    return p


def _zeros(n: int, x: Tensor) -> Tensor:
    return broadcast_to(as_tensor(0, x.dtype), (n,))


@planned
@public
def polyval(p: TensorLike, x: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The value of a polynomial, by Horner's scheme.

    :param p: Coefficients, the highest power first.
    :param x: Where.
    :returns: Of the shape of ``x`` and the promoted dtype.
    :raises ShapeError: If ``p`` is no vector.
    :see: poly, polyfit, roots

    >>> ag.polyval(ag.tensor([1.0, 0.0, 2.0]), ag.tensor([0.0, 3.0]))
    tensor([ 2., 11.])
    """
    p, x = pair(p, x)
    p = _vector(p)
    value = x * 0
    for i in range(p.shape[0]):
        value = value * x + p[i]
    return value


def _together(p: Any, q: Any) -> tuple[Tensor, Tensor]:
    a, b = map(_vector, pair(p, q))
    n = max(a.shape[0], b.shape[0])
    return tuple(  # type: ignore[return-value]
        concat([_zeros(n - v.shape[0], v), v], 0) if v.shape[0] < n else v for v in (a, b)
    )


@planned
@public
def polyadd(p: TensorLike, q: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Sum of two polynomials.

    :param p, q: Coefficients, the highest power first.
    :returns: Coefficients, the highest power first.
    :raises ShapeError: If one is no vector.
    :see: polysub, polymul, polyval

    >>> ag.polyadd([1, 2], [3, 4, 5])
    tensor([3, 5, 7])
    """
    a, b = _together(p, q)
    return a + b


@planned
@public
def polysub(p: TensorLike, q: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Difference of two polynomials.

    :like: polyadd
    :see: polyadd, polymul

    >>> ag.polysub([1, 2], [3, 4, 5])
    tensor([-3, -3, -3])
    """
    a, b = _together(p, q)
    return a - b


@planned
@public
def polymul(p: TensorLike, q: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Product of two polynomials.

    :like: polyadd
    :see: polydiv, polyadd, convolve

    >>> ag.polymul([1, 2], [1, -2])
    tensor([ 1,  0, -4])
    """
    a, b = map(_vector, pair(p, q))
    n, m = a.shape[0], b.shape[0]
    rows = reshape(a, (n, 1)) * reshape(b, (1, m))  # row i is shifted by i
    wide = concat([rows, broadcast_to(as_tensor(0, rows.dtype), (n, n))], 1)
    return reshape(wide, (n * (n + m),))[: n * (n + m - 1)].reshape((n, n + m - 1)).sum(axis=0)\
        .astype(a.dtype)


@public
def polydiv(u: TensorLike, v: TensorLike) -> tuple[Tensor, Tensor]:
    """Quotient and remainder of two polynomials; zeros in front of the remainder are left out.

    :param u, v: Coefficients of dividend and divisor, the highest power first.
    :returns quotient, remainder: Coefficients, floating.
    :raises ShapeError: If one is no vector.
    :see: polymul, divmod

    >>> ag.polydiv([3.0, 5.0, 2.0], [2.0, 1.0])
    (tensor([1.5 , 1.75]), tensor([0.25]))
    """
    a, b = (_floating(_vector(p)) for p in pair(u, v))
    m, n = a.shape[0] - 1, b.shape[0] - 1
    quotient = []
    rest = a
    for k in range(max(m - n + 1, 0)):
        d = rest[k] / b[0]
        quotient.append(reshape(d, (1,)))
        rest = rest - concat([_zeros(k, a), b * d, _zeros(m - n - k, a)], 0)
    found = concat(quotient, 0) if quotient else _zeros(1, a)
    rest = rest[max(m - n + 1, 0):] if n else rest[-1:]
    return found, _without_zeros(rest)


def _floating(x: Tensor) -> Tensor:
    return cast(x, dtypes.floating(x.dtype))


def _without_zeros(p: Tensor) -> Tensor:
    """Where the values are known, without zeros in front, as NumPy leaves them out."""
    if not is_known(p):
        return p
    large = np.flatnonzero(~np.isclose(p.array, 0, rtol=1e-14))
    return p[int(large[0]) if len(large) else len(p.array) - 1:]


@planned
@public
def polyder(p: TensorLike, m: int = 1, *, out: Tensor | None = None) -> Tensor:
    """The ``m``-th derivative of a polynomial.

    :param p: Coefficients, the highest power first.
    :param m: How many times; not negative.
    :returns: Coefficients, ``m`` fewer, or none.
    :raises ShapeError: If ``p`` is no vector.
    :raises ValueError: If ``m`` is negative.
    :see: polyint, polyval

    >>> ag.polyder([1, 2, 3])
    tensor([2, 2])
    """
    p = _vector(p)
    if operator.index(m) < 0:
        raise ValueError(f"the order of the derivative must not be negative: {m}")
    for _ in range(m):
        n = p.shape[0] - 1
        if n < 0:
            break  # it is 0, however often
        powers = arange(n, 0, -1)
        p = p[:-1] * (powers if p.dtype.kind in "biu" else cast(powers, p.dtype))
    return p


@planned
@public
def polyint(p: TensorLike, m: int = 1, k: TensorLike = 0, *, out: Tensor | None = None) -> Tensor:
    """The ``m``-th integral of a polynomial, with the constants ``k``.

    :like: polyder
    :param k: Constants of integration, one for all or one for each integral.
    :type k: number or array_like
    :returns: Coefficients, ``m`` more.
    :raises ShapeError: If ``p`` is no vector, or there are fewer constants than integrals.
    :see: polyder, polyval, trapezoid

    >>> ag.polyint([2.0, 2.0], k=3)
    tensor([1., 2., 3.])
    """
    p, constants = pair(_floating(_vector(p)), k)
    constants = reshape(constants, (-1,))
    if operator.index(m) < 0:
        raise ValueError(f"the order of the integral must not be negative: {m}")
    m = step_count(m, "m")
    if 1 != constants.shape[0] < m:
        raise ShapeError(f"{m} integrals have {m} constants, or one for all, not "
                         f"{constants.shape[0]}")
    for i in range(m):
        n = p.shape[0]
        constant = constants[min(i, constants.shape[0] - 1)]
        powers = cast(arange(n, 0, -1), p.dtype)
        p = concat([p / powers, cast(reshape(constant, (1,)), p.dtype)], 0)
    return p


@public
def poly(zeros: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The polynomial with leading coefficient 1 and the given zeros.

    :param zeros: A vector of n zeros.
    :returns: n + 1 coefficients, the highest power first.
    :raises ShapeError: If ``zeros`` is no vector.
    :see: roots, polyval, polymul

    >>> ag.poly([1.0, 2.0])
    tensor([ 1., -3.,  2.])
    """
    x = _vector(zeros)
    x = _floating(x)
    p = broadcast_to(as_tensor(1, x.dtype), (1,))
    for i in range(x.shape[0]):
        none = _zeros(1, x)
        p = concat([p, none], 0) - concat([none, p * x[i]], 0)
    return p


@public
def roots(p: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The zeros of a polynomial: eigenvalues of its companion matrix.

    :param p: Coefficients, the highest power first.  While a graph is written the first must not be
        0; else zeros in front are left out.
    :returns: Complex; differentiable where no zero comes twice.
    :raises ShapeError: If ``p`` is no vector.
    :see: poly, polyval, linalg.eigvals

    >>> ag.roots([1.0, -3.0, 2.0])
    tensor([2.+0.j, 1.+0.j])
    """
    p = _floating(_vector(p))
    kind = dtypes.complex_of(dtypes.real_of(p.dtype))
    if is_known(p):
        there = np.flatnonzero(p.array)
        p = p[int(there[0]):] if len(there) else p[:0]
    return eigvals(companion(p)) if p.shape[0] > 1 else broadcast_to(as_tensor(0, kind), (0,))


@public
def polyfit(x: TensorLike, y: TensorLike, deg: int, *, w: TensorLike | None = None,
            out: Tensor | None = None) -> Tensor:
    """The polynomial that fits samples best, by least squares.

    :param x: Where the samples are, of shape (n,).
    :param y: The samples, of shape (n,) or (n, k).
    :param deg: Its degree, less than the number of samples.
    :param w: Weights of the distances (not of their squares).
    :type w: array_like, shape (n,), optional
    :returns: Shape (deg + 1,) or (deg + 1, k).
    :raises ShapeError: If the samples do not fit, or are too few.
    :see: polyval, linalg.lstsq, vander

    >>> x = ag.tensor([0.0, 1.0, 2.0, 3.0])
    >>> ag.polyfit(x, 2 * x + 1, 1).round(3)
    tensor([2., 1.])
    """
    x, y = (_floating(v) for v in common(x, y))
    text = f"{deg + 1} coefficients of samples of shapes {x.shape} and {y.shape}"
    if x.ndim != 1 or not y.ndim or surely_less(x.shape[0], deg + 1):
        raise ShapeError(text)
    x = ensured_sizes("polyfit", x, x.shape, (deg + 1,), text, "at least")
    y = of_shape("polyfit", y, (*x.shape, *y.shape[1:]), text)
    columns, right = vander(x, deg + 1), reshape(y, (x.shape[0], -1))
    if w is not None:
        weights = reshape(as_tensor(w, x.dtype), (-1, 1))
        columns, right = columns * weights, right * weights
    scale = (columns * columns).sum(axis=0).sqrt()
    solved = lstsq(columns / scale, right).x / reshape(scale, (-1, 1))
    return reshape(solved, (deg + 1, *y.shape[1:]))
