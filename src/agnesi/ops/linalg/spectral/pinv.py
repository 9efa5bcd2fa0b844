"""Pseudo-inverses, least squares, ranks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from agnesi.core import shapes
from agnesi.core.dispatch import apply, apply_many
from agnesi.core.ir.dims import combine
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support import dtypes
from agnesi.core.support.record import record
from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith
from agnesi.ops.base.compare import equal, greater
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.expand import sum_to
from agnesi.ops.base.movement import reshape
from agnesi.ops.base.reduce import count_nonzero, sum
from agnesi.ops.base.reduce import max as greatest
from agnesi.ops.base.select import maximum, where
from agnesi.ops.linalg.base import (
    MatrixOp,
    adjoint,
    check_rows,
    floating,
    matrix,
    matrix_pair,
    need_finite,
    plus,
    times,
)
from agnesi.ops.linalg.routines import callable_for
from agnesi.ops.linalg.spectral.gaps import rows
from agnesi.ops.linalg.spectral.svd import DIVERGED, SVD, VALUES
from agnesi.ops.linalg.without_lock import unlocked


class LstsqResult(NamedTuple):
    """The solution, sums of squares of what is left, the rank, and the singular values."""

    x: Tensor
    residuals: Tensor
    rank: Tensor
    s: Tensor

    @property
    def solution(self) -> Tensor:
        """PyTorch's word for ``x``."""
        return self.x

    @property
    def singular_values(self) -> Tensor:
        """PyTorch's word for ``s``."""
        return self.s


def _by_values(a: Tensor, share: Any) -> tuple[Tensor, Tensor, Tensor] | None:
    """Return the two factors of a pseudo-inverse; the second scales columns of the first."""
    if not callable_for("gesdd", a):
        return None
    u, s, vh = apply_many(SVD(False), a)
    bound = arith.multiply(greatest(s, axis=-1, keepdims=True), share)
    counts = greater(s, bound)
    inverse = where(counts, arith.reciprocal(where(counts, s, 1)), 0)
    return adjoint(vh), cast(rows(inverse), a.dtype), adjoint(u)


@record
class Pinv(MatrixOp):
    """Pseudo-inverses; singular values up to a share of the greatest are taken for 0.

    The shares are matrices of one element.  Rules: Golub and Pereyra (1973), 4.12, where the rank
    does not change.
    """

    name = "pinv"
    keep_inputs = (0,)
    keep_output = True

    def infer(self, a: Any, share: Any) -> Any:
        *front, m, n = a.shape
        shapes.need_shape(share.shape[-2:], (1, 1), "a share")
        return (*shapes.of_stacks(tuple(front), share.shape[:-2]), n, m), a.dtype

    def perform(self, a: np.ndarray, share: np.ndarray) -> np.ndarray:
        (shape, _) = self.infer(a, share)
        need_finite(a, DIVERGED)
        return np.linalg.pinv(np.broadcast_to(a, (*shape[:-2], *a.shape[-2:])), share[..., 0, 0])

    def decompose(self, a: Tensor, share: Tensor) -> Any:
        found = _by_values(a, reshape(share, share.shape[:-1]))
        if found is None:
            return None
        v, inverse, to_u = found
        return times(arith.multiply(v, inverse), to_u)

    def vjp(self, g: Tensor, y: Tensor, a: Tensor, share: Tensor) -> tuple[Any, ...]:
        h = adjoint(g)
        total = arith.negative(times(adjoint(y), g, adjoint(y)))
        right = arith.subtract(h, times(a, y, h))
        left = arith.subtract(h, times(h, y, a))
        total = plus(total, times(right, y, adjoint(y)))
        return sum_to(plus(total, times(adjoint(y), y, left)), a.shape), None

    def jvp(self, ts: Any, y: Tensor, a: Tensor, share: Tensor) -> Any:
        if ts[0] is None:
            return None
        change = adjoint(ts[0])
        total = arith.negative(times(y, ts[0], y))
        total = plus(total, times(y, adjoint(y), arith.subtract(change, times(change, a, y))))
        left = arith.subtract(change, times(y, a, change))
        return plus(total, times(left, adjoint(y), y))


@record
class LeastSquares(MatrixOp):
    """The shortest of the vectors ``x`` for which ``a @ x`` is nearest to ``b``.

    Rules: those of the pseudo-inverse, with which ``b`` is multiplied.
    """

    rtol: float
    name = "lstsq"
    keep_inputs = (0, 1)
    keep_output = True

    def infer(self, a: Any, b: Any) -> Any:
        check_rows(a.shape, b.shape)
        front = shapes.of_stacks(a.shape[:-2], b.shape[:-2])
        return (*front, a.shape[-1], b.shape[-1]), b.dtype

    def perform(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        need_finite(a, DIVERGED)
        if a.ndim == b.ndim == 2:
            found = unlocked("lstsq", a, b, np.array(self.rtol))
            return (np.linalg.lstsq(a, b, self.rtol)[0] if found is None
                    else found[0].astype(b.dtype))
        return np.linalg.pinv(a, self.rtol) @ b

    def decompose(self, a: Tensor, b: Tensor) -> Any:
        found = _by_values(a, self.rtol)
        if found is None:
            return None
        v, inverse, to_u = found
        return times(arith.multiply(v, inverse), times(to_u, b))

    def vjp(self, g: Tensor, x: Tensor, a: Tensor, b: Tensor) -> tuple[Any, ...]:
        inverse = inverse_of(a, self.rtol)
        back = times(adjoint(inverse), g)
        to_b = sum_to(back, b.shape) if b._requires_grad else None
        if not a._requires_grad:
            return None, to_b
        left = arith.subtract(b, times(a, x))
        total = arith.negative(times(back, adjoint(x)))
        total = plus(total, times(left, adjoint(times(inverse, back))))
        rest = arith.subtract(g, times(inverse, times(a, g)))
        total = plus(total, times(times(adjoint(inverse), x), adjoint(rest)))
        return sum_to(total, a.shape), to_b

    def jvp(self, ts: Any, x: Tensor, a: Tensor, b: Tensor) -> Any:
        inverse = inverse_of(a, self.rtol)
        if ts[0] is None:
            return times(inverse, ts[1])
        rhs = plus(ts[1], arith.negative(times(ts[0], x)))
        change = adjoint(ts[0])
        total = times(inverse, rhs)
        left = arith.subtract(b, times(a, x))
        total = plus(total, times(inverse, times(adjoint(inverse), times(change, left))))
        correction = times(change, times(adjoint(inverse), x))
        return plus(total, arith.subtract(correction, times(inverse, times(a, correction))))


def inverse_of(x: Tensor, share: Any) -> Tensor:
    """Return the pseudo-inverses of matrices (..., m, n); singular values up to ``share`` times the
    largest count as zero, one number for all matrices or one for each."""
    share = cast(as_tensor(share), dtypes.real_of(x.dtype))
    return apply(PINV, x, reshape(share, (*share.shape, 1, 1)))


def default_rtol(x: Tensor) -> Any:
    """Return the default relative tolerance, by the sizes and the precision: a number, or a tensor
    where the sizes are those of the run."""
    size, kind = combine("max", *x.shape[-2:]), dtypes.real_of(x.dtype)
    eps = float(np.finfo(kind).eps)
    return eps * size if isinstance(size, int) else arith.multiply(cast(as_tensor(size), kind), eps)


def _share(x: Tensor, first: Any, second: Any, names: str) -> Any:
    if first is not None and second is not None:
        raise ValueError(f"{names} are two names of one parameter; give one of them")
    given = second if first is None else first
    return default_rtol(x) if given is None else given


PINV = Pinv()


@planned
@public
def pinv(x: TensorLike, /, rcond: TensorLike | None = None, hermitian: bool = False, *,
         rtol: TensorLike | None = None, atol: TensorLike | None = None,
         out: Tensor | None = None) -> Tensor:
    """Pseudo-inverses of Moore and Penrose.

    Derivatives hold where the rank does not change, of any rank.

    :param x: Of shape (..., m, n).
    :param rcond: Singular values up to this share of the greatest are taken for 0; by default
        ``max(m, n)`` times the dtype's eps.
    :type rcond: float or array_like, optional
    :param hermitian: That ``x`` is Hermitian, as NumPy lets say; it makes no difference.
    :param rtol: The same, under the array API's name.
    :type rtol: float or array_like, optional
    :param atol: Singular values up to this are taken for 0, too; where it is given, ``rtol`` is 0
        by default.
    :type atol: float or array_like, optional
    :returns: Of shape (..., n, m).
    :raises ValueError: If both ``rcond`` and ``rtol`` are given.
    :raises ShapeError: If ``x`` has fewer than 2 axes.
    :see: linalg.inv, linalg.pinvh, linalg.lstsq

    >>> ag.linalg.pinv(ag.tensor([[2.0, 0.0], [0.0, 0.0]]))
    tensor([[0.5, 0. ],
            [0. , 0. ]])
    """
    x = matrix(x)
    if atol is None:
        return inverse_of(x, _share(x, rcond, rtol, "rcond and rtol"))
    share = 0 if rcond is None and rtol is None else _share(x, rcond, rtol, "rcond and rtol")
    most = greatest(apply(VALUES, x), axis=-1, initial=0)
    bound = arith.divide(cast(as_tensor(atol), most.dtype), where(equal(most, 0), 1, most))
    return inverse_of(x, maximum(bound, share))


@planned
@public
def lstsq(a: TensorLike, b: TensorLike, rcond: float | None = None) -> LstsqResult:
    """Least squares: the shortest ``x`` for which ``a @ x`` is nearest to ``b``.

    :param a: Of shape (..., m, n).
    :param b: Of shape (m,) or (..., m, k).
    :param rcond: Singular values up to this share of the greatest are taken for 0; by default
        ``max(m, n)`` times the dtype's eps; the eps alone where it is not between 0 and 1.
    :returns x: Of shape (n,) or (..., n, k).
    :returns residuals: Squared lengths of ``b - a @ x``, of shape (1,) or (..., k), also where
        NumPy leaves them out.
    :returns rank: int64.
    :returns s: Singular values of ``a``.
    :raises ShapeError: If the numbers of rows differ.
    :see: linalg.solve, linalg.pinv, linalg.qr

    >>> x = ag.linalg.lstsq(ag.tensor([[1.0, 0.0], [1.0, 1.0]]), ag.tensor([1.0, 3.0])).x
    >>> ag.round(x, decimals=4)
    tensor([1., 2.])
    """
    a, b = matrix_pair(a, b)
    a = matrix(a)
    share = default_rtol(a) if rcond is None else float(rcond)
    known = not isinstance(share, Tensor)
    if known and not 0 < share < 1:
        share = float(np.finfo(dtypes.real_of(a.dtype)).eps)  # as LAPACK
    check_rows(a.shape, b.shape)
    many = b if len(b.shape) > 1 else reshape(b, (*b.shape, 1))
    x = apply(LeastSquares(share), a, many) if known else times(inverse_of(a, share), many)
    left = arith.subtract(many, times(a, x))
    residuals = sum(arith.real(arith.multiply(left, arith.conj(left))), -2)
    values = apply(VALUES, a)
    if len(b.shape) == 1:
        x = reshape(x, x.shape[:-1])
    return LstsqResult(x, residuals, _above(values, share), values)


def _above(values: Tensor, share: Any) -> Tensor:
    """How many values are more than this share of the greatest."""
    bound = arith.multiply(greatest(values, axis=-1, keepdims=True, initial=0), share)
    return count_nonzero(greater(values, bound), axis=-1)


@planned
@public
def matrix_rank(x: TensorLike, /, tol: TensorLike | None = None, hermitian: bool = False, *,
                rtol: TensorLike | None = None, out: Tensor | None = None) -> Tensor:
    """Ranks: how many singular values are not 0.

    :param x: Of shape (..., m, n); a vector has rank 0 or 1.
    :param tol: What counts as 0; beside ``rtol`` the greater bound counts.
    :type tol: float or array_like, optional
    :param hermitian: That ``x`` is Hermitian, as NumPy lets say; it makes no difference.
    :param rtol: What counts as 0 beside the greatest value; by default ``max(m, n)`` times the
        dtype's eps.
    :type rtol: float or array_like, optional
    :returns: int64, of shape (...).
    :raises LinAlgError: If the iteration does not converge.
    :see: linalg.svdvals, linalg.pinv, linalg.cond

    >>> ag.linalg.matrix_rank(ag.ones((3, 3))).item()
    1
    """
    x = floating(x)
    if len(x.shape) < 2:
        return cast((x != 0).any(), dtypes.int64)
    values = apply(VALUES, x)
    if tol is not None:
        bound = _columnwise(tol, values)
        if rtol is not None:
            most = greatest(values, axis=-1, keepdims=True, initial=0)
            bound = maximum(bound, arith.multiply(most, _columnwise(rtol, values)))
        return count_nonzero(greater(values, bound), axis=-1)
    share = default_rtol(x) if rtol is None else _columnwise(rtol, values)
    return _above(values, share)


def _columnwise(bound: Any, values: Tensor) -> Tensor:
    """Bounds of every matrix beside its values."""
    bound = cast(as_tensor(bound), values.dtype)
    return reshape(bound, (*bound.shape, 1)) if bound.shape else bound

