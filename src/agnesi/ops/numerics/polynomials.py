"""Polynomials as vectors of coefficients, the highest power first."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from agnesi.core.accepted import TensorLike
from agnesi.core.public import public
from agnesi.core.support import dtypes
from agnesi.core.support.errors import ShapeError
from agnesi.core.support.tracing import is_known
from agnesi.core.tensor import Tensor
from agnesi.ops.arrays.replicate import broadcast_to
from agnesi.ops.arrays.triangles import vander
from agnesi.ops.base.convert import as_tensor, cast, common, pair
from agnesi.ops.base.movement import atleast_1d, reshape
from agnesi.ops.indexing.join import concat
from agnesi.ops.indexing.ranges import arange
from agnesi.ops.linalg.eig import eigvals
from agnesi.ops.linalg.pinv import lstsq
from agnesi.ops.linalg.special_matrices.special import companion

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


@public
def polyval(p: TensorLike, x: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The value of a polynomial, by Horner's scheme.

    Parameters
    ----------
    p : array_like
        Coefficients, the highest power first.
    x : array_like
        Where.
    out : Tensor, optional
        Takes the result: a tensor of its shape, of a dtype that holds it.

    Returns
    -------
    Tensor
        Of the shape of ``x`` and the promoted dtype.

    Raises
    ------
    ShapeError
        If ``p`` is no vector.

    See Also
    --------
    poly, polyfit, roots

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.polyval(ag.tensor([1.0, 0.0, 2.0]), ag.tensor([0.0, 3.0]))
    tensor([ 2., 11.])
    """
    p, x = pair(_vector(p), x)
    value = x * 0
    for i in range(p.shape[0]):
        value = value * x + p[i]
    return value


def _together(p: Any, q: Any) -> tuple[Tensor, Tensor]:
    a, b = pair(_vector(p), _vector(q))
    n = max(a.shape[0], b.shape[0])
    return tuple(  # type: ignore[return-value]
        concat([_zeros(n - v.shape[0], v), v], 0) if v.shape[0] < n else v for v in (a, b)
    )


@public
def polyadd(p: TensorLike, q: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Sum of two polynomials.

    Parameters
    ----------
    p, q : array_like
        Coefficients, the highest power first.
    out : Tensor, optional
        Takes the result: a tensor of its shape, of a dtype that holds it.

    Returns
    -------
    Tensor
        Coefficients, the highest power first.

    Raises
    ------
    ShapeError
        If one is no vector.

    See Also
    --------
    polysub, polymul, polyval

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.polyadd([1, 2], [3, 4, 5])
    tensor([3, 5, 7])
    """
    a, b = _together(p, q)
    return a + b


@public
def polysub(p: TensorLike, q: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Difference of two polynomials.

    Parameters
    ----------
    p, q : array_like
        Coefficients, the highest power first.
    out : Tensor, optional
        Takes the result: a tensor of its shape, of a dtype that holds it.

    Returns
    -------
    Tensor
        Coefficients, the highest power first.

    Raises
    ------
    ShapeError
        If one is no vector.

    See Also
    --------
    polyadd, polymul

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.polysub([1, 2], [3, 4, 5])
    tensor([-3, -3, -3])
    """
    a, b = _together(p, q)
    return a - b


@public
def polymul(p: TensorLike, q: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Product of two polynomials.

    Parameters
    ----------
    p, q : array_like
        Coefficients, the highest power first.
    out : Tensor, optional
        Takes the result: a tensor of its shape, of a dtype that holds it.

    Returns
    -------
    Tensor
        Coefficients, the highest power first.

    Raises
    ------
    ShapeError
        If one is no vector.

    See Also
    --------
    polydiv, polyadd, convolve

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.polymul([1, 2], [1, -2])
    tensor([ 1,  0, -4])
    """
    a, b = pair(_vector(p), _vector(q))
    n, m = a.shape[0], b.shape[0]
    rows = reshape(a, (n, 1)) * reshape(b, (1, m))  # row i lies i places further
    wide = concat([rows, broadcast_to(as_tensor(0, rows.dtype), (n, n))], 1)
    return reshape(wide, (n * (n + m),))[: n * (n + m - 1)].reshape((n, n + m - 1)).sum(axis=0)\
        .astype(a.dtype)


@public
def polydiv(u: TensorLike, v: TensorLike) -> tuple[Tensor, Tensor]:
    """Quotient and remainder of two polynomials; zeros in front of the remainder are left out.

    Parameters
    ----------
    u, v : array_like
        Coefficients of dividend and divisor, the highest power first.

    Returns
    -------
    quotient, remainder : Tensor
        Coefficients, floating.

    Raises
    ------
    ShapeError
        If one is no vector.

    See Also
    --------
    polymul, divmod

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.polydiv([3.0, 5.0, 2.0], [2.0, 1.0])
    (tensor([1.5 , 1.75]), tensor([0.25]))
    """
    a, b = pair(_floating(_vector(u)), _floating(_vector(v)))
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


@public
def polyder(p: TensorLike, m: int = 1, *, out: Tensor | None = None) -> Tensor:
    """The ``m``-th derivative of a polynomial.

    Parameters
    ----------
    p : array_like
        Coefficients, the highest power first.
    m : int
        How many times; not negative.
    out : Tensor, optional
        Takes the result: a tensor of its shape, of a dtype that holds it.

    Returns
    -------
    Tensor
        Coefficients, ``m`` fewer, or none.

    Raises
    ------
    ShapeError
        If ``p`` is no vector.
    ValueError
        If ``m`` is negative.

    See Also
    --------
    polyint, polyval

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.polyder([1, 2, 3])
    tensor([2, 2])
    """
    p = _vector(p)
    if operator.index(m) < 0:
        raise ValueError(f"the order of the derivative must not be negative: {m}")
    for _ in range(m):
        n = p.shape[0] - 1
        p = p[:-1] * cast(arange(n, 0, -1), p.dtype) if n > 0 else p[:0]
    return p


@public
def polyint(p: TensorLike, m: int = 1, k: TensorLike = 0, *, out: Tensor | None = None) -> Tensor:
    """The ``m``-th integral of a polynomial, with the constants ``k``.

    Parameters
    ----------
    p : array_like
        Coefficients, the highest power first.
    m : int
        How many times; not negative.
    k : number or array_like
        Constants of integration, one for all or one for each integral.
    out : Tensor, optional
        Takes the result: a tensor of its shape, of a dtype that holds it.

    Returns
    -------
    Tensor
        Coefficients, ``m`` more.

    Raises
    ------
    ShapeError
        If ``p`` is no vector.

    See Also
    --------
    polyder, polyval, trapezoid

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.polyint([2.0, 2.0], k=3)
    tensor([1., 2., 3.])
    """
    p = _floating(_vector(p))
    constants = reshape(as_tensor(k), (-1,))
    for i in range(operator.index(m)):
        n = p.shape[0]
        constant = constants[min(i, constants.shape[0] - 1)]
        powers = cast(arange(n, 0, -1), p.dtype)
        p = concat([p / powers, cast(reshape(constant, (1,)), p.dtype)], 0)
    return p


@public
def poly(zeros: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The polynomial with leading coefficient 1 and the given zeros.

    Parameters
    ----------
    zeros : array_like
        A vector of n zeros.
    out : Tensor, optional
        Takes the result: a tensor of its shape, of a dtype that holds it.

    Returns
    -------
    Tensor
        n + 1 coefficients, the highest power first.

    Raises
    ------
    ShapeError
        If ``zeros`` is no vector.

    See Also
    --------
    roots, polyval, polymul

    Examples
    --------
    >>> import agnesi as ag
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

    Parameters
    ----------
    p : array_like
        Coefficients, the highest power first.  While a graph is written the first must not be 0;
        else zeros in front are left out.
    out : Tensor, optional
        Takes the result: a tensor of its shape, of a dtype that holds it.

    Returns
    -------
    Tensor
        Complex; differentiable where no zero comes twice.

    Raises
    ------
    ShapeError
        If ``p`` is no vector.

    See Also
    --------
    poly, polyval, linalg.eigvals

    Examples
    --------
    >>> import agnesi as ag
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

    Parameters
    ----------
    x : array_like
        Where the samples are, of shape (n,).
    y : array_like
        The samples, of shape (n,) or (n, k).
    deg : int
        Its degree, less than the number of samples.
    w : array_like, shape (n,), optional
        Weights of the distances (not of their squares).
    out : Tensor, optional
        Takes the result: a tensor of its shape, of a dtype that holds it.

    Returns
    -------
    Tensor
        Shape (deg + 1,) or (deg + 1, k).

    Raises
    ------
    ShapeError
        If the samples do not fit, or are too few.

    See Also
    --------
    polyval, linalg.lstsq, vander

    Examples
    --------
    >>> import agnesi as ag
    >>> x = ag.tensor([0.0, 1.0, 2.0, 3.0])
    >>> ag.polyfit(x, 2 * x + 1, 1).round(3)
    tensor([2., 1.])
    """
    x, y = (_floating(v) for v in common(x, y))
    if x.ndim != 1 or y.shape[:1] != x.shape or x.shape[0] <= deg:
        raise ShapeError(f"{deg + 1} coefficients of samples of shapes {x.shape} and {y.shape}")
    columns, right = vander(x, deg + 1), reshape(y, (x.shape[0], -1))
    if w is not None:
        weights = reshape(as_tensor(w, x.dtype), (-1, 1))
        columns, right = columns * weights, right * weights
    scale = (columns * columns).sum(axis=0).sqrt()
    solved = lstsq(columns / scale, right).x / reshape(scale, (-1, 1))
    return reshape(solved, (deg + 1, *y.shape[1:]))
