"""Reductions that leave out NaN."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.core.parameter_types import Axis, DTypeLike, TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support import dtypes
from agnesi.core.support.errors import DTypeError, typed
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import square
from agnesi.ops.base.compare import isnan, logical_not
from agnesi.ops.base.convert import as_tensor, cast, floating
from agnesi.ops.base.ensure import ensure
from agnesi.ops.base.reduce import all as every
from agnesi.ops.base.reduce import freedom, mean, prod, var
from agnesi.ops.base.reduce import max as greatest
from agnesi.ops.base.reduce import min as least
from agnesi.ops.base.reduce import sum as total
from agnesi.ops.base.select import maximum
from agnesi.ops.base.select import where as select
from agnesi.ops.reductions import running
from agnesi.ops.reductions.positions import argmax, argmin

__all__ = [
    "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmin", "nanprod",
    "nanstd", "nansum", "nanvar",
]


def _filled(x: Any, value: float) -> Tensor:
    """``x`` with a number instead of NaN."""
    x = as_tensor(x)
    return select(isnan(x), as_tensor(value, x.dtype), x) if dtypes.is_inexact(x.dtype) else x


@planned
@public
def nansum(x: TensorLike, /, axis: Axis = None, *, dtype: DTypeLike = None, keepdims: bool = False,
           initial: TensorLike | None = None, where: TensorLike | None = None,
           out: Tensor | None = None
           ) -> Tensor:
    """Sum over axes without NaN; 0 where there is nothing else.

    :param x: Of any shape; without NaN in integers.
    :param dtype: What to compute in and to give; by default integers narrower than 64 bits are
        accumulated in 64 bits.
    :param initial: A number to begin with.
    :type initial: number, optional
    :returns: The shape of ``x`` without the axes.
    :see: sum, nanmean, nanprod

    >>> ag.nansum(ag.tensor([1.0, ag.nan, 2.0]))
    tensor(3.)
    """
    return total(_filled(x, 0), axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)


@planned
@public
def nanprod(x: TensorLike, /, axis: Axis = None, *, dtype: DTypeLike = None, keepdims: bool = False,
            initial: TensorLike | None = None, where: TensorLike | None = None,
            out: Tensor | None = None
            ) -> Tensor:
    """Product over axes without NaN; 1 where there is nothing else.

    :like: nansum
    :see: prod, nansum

    >>> ag.nanprod(ag.tensor([3.0, ag.nan, 2.0]))
    tensor(6.)
    """
    return prod(_filled(x, 1), axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)


@planned
@public
def nancumsum(x: TensorLike, /, axis: int | None = None, *, dtype: DTypeLike = None,
              out: Tensor | None = None) -> Tensor:
    """Running sums along an axis (of the flat elements by default); NaN adds nothing.

    :param dtype: What to compute in and to give.
    :returns: Of the shape of ``x``; a vector without an axis.
    :see: cumsum, nansum

    >>> ag.nancumsum(ag.tensor([1.0, ag.nan, 2.0]))
    tensor([1., 1., 3.])
    """
    return running.cumsum(_filled(x, 0), axis, dtype=dtype)


@planned
@public
def nancumprod(x: TensorLike, /, axis: int | None = None, *, dtype: DTypeLike = None,
               out: Tensor | None = None) -> Tensor:
    """Running products along an axis (of the flat elements by default); NaN counts as 1.

    :like: nancumsum
    :see: cumprod, nanprod

    >>> ag.nancumprod(ag.tensor([3.0, ag.nan, 2.0]))
    tensor([3., 3., 6.])
    """
    return running.cumprod(_filled(x, 1), axis, dtype=dtype)


def _extreme(reduce: Any, x: Any, limit: float, axis: Axis, keepdims: bool, initial: Any,
             where: Any) -> Tensor:
    x = as_tensor(x)
    found = reduce(_filled(x, limit), axis, keepdims=keepdims, initial=initial, where=where)
    if x.dtype.kind not in "fV" or initial is not None:
        return found
    return select(every(isnan(x), axis, keepdims=keepdims), as_tensor(np.nan, x.dtype), found)


@planned
@public
def nanmax(x: TensorLike, /, axis: Axis = None, *, keepdims: bool = False,
           initial: TensorLike | None = None,
           where: TensorLike | None = None, out: Tensor | None = None) -> Tensor:
    """Greatest element along axes without NaN; NaN where there is nothing else.

    :param x: Of any shape; without NaN in integers.
    :param initial: One more candidate; needed with ``where``.
    :type initial: number, optional
    :returns: The shape of ``x`` without the axes.
    :see: max, nanmin, nanargmax

    >>> ag.nanmax(ag.tensor([1.0, ag.nan, 2.0]))
    tensor(2.)
    """
    return _extreme(greatest, x, -np.inf, axis, keepdims, initial, where)


@planned
@public
def nanmin(x: TensorLike, /, axis: Axis = None, *, keepdims: bool = False,
           initial: TensorLike | None = None,
           where: TensorLike | None = None, out: Tensor | None = None) -> Tensor:
    """Least element along axes without NaN; NaN where there is nothing else.

    :like: nanmax
    :see: min, nanmax, nanargmin

    >>> ag.nanmin(ag.tensor([1.0, ag.nan, 2.0]))
    tensor(1.)
    """
    return _extreme(least, x, np.inf, axis, keepdims, initial, where)


def _position(find: Any, x: Any, limit: float, axis: int | None, keepdims: bool) -> Tensor:
    x = as_tensor(x)
    found = find(_filled(x, limit), axis, keepdims=keepdims)
    if x.dtype.kind not in "fcV":
        return found
    missing = every(isnan(x), axis, keepdims=keepdims)
    return ensure(found, every(logical_not(missing)), "a slice holds nothing but NaN")


@planned
@public
def nanargmax(x: TensorLike, /, axis: int | None = None, *, keepdims: bool = False,
              out: Tensor | None = None) -> Tensor:
    """Index of the first greatest element that is not NaN.

    :param x: Real numbers.
    :returns: int64, the shape of ``x`` without the axis.
    :raises ValueError: Where there is nothing but NaN; in compiled code too.
    :see: argmax, nanmax

    >>> ag.nanargmax(ag.tensor([1.0, ag.nan, 2.0]))
    tensor(2)
    """
    return _position(argmax, x, -np.inf, axis, keepdims)


@planned
@public
def nanargmin(x: TensorLike, /, axis: int | None = None, *, keepdims: bool = False,
              out: Tensor | None = None) -> Tensor:
    """Index of the first least element that is not NaN.

    :like: nanargmax
    :see: argmin, nanmin

    >>> ag.nanargmin(ag.tensor([3.0, ag.nan, 2.0]))
    tensor(2)
    """
    return _position(argmin, x, np.inf, axis, keepdims)


def _chosen(x: Any, dtype: Any, chosen: Any) -> Tensor:
    """``x`` in a dtype, with NaN, which is left out, where ``chosen`` is false."""
    x, kind = as_tensor(x), None if dtype is None else dtypes.as_dtype(dtype)
    if kind is not None:
        if dtypes.is_inexact(x.dtype) and not dtypes.is_inexact(kind):
            raise DTypeError(f"dtype must be floating or complex for {typed(x)}, not {kind}")
        x = cast(x, kind)
    if chosen is None:
        return x
    x = x if dtypes.is_inexact(x.dtype) else floating(x)
    return select(chosen, x, as_tensor(np.nan, x.dtype))


def _numbers(x: Tensor, axis: Axis, keepdims: bool) -> Tensor:
    """How many elements are not NaN, in the dtype of their sums."""
    kind = dtypes.real_of(dtypes.computed(x.dtype))
    return total(cast(logical_not(isnan(x)), kind), axis, keepdims=keepdims)


@planned
@public
def nanmean(x: TensorLike, /, axis: Axis = None, *, dtype: DTypeLike = None, keepdims: bool = False,
            where: TensorLike | None = None, out: Tensor | None = None) -> Tensor:
    """Mean over axes without NaN; NaN where there is nothing else.

    :param x: Of any shape; without NaN in integers.
    :param dtype: What to compute in and to give.
    :returns: The shape of ``x`` without the axes.
    :raises DTypeError: If ``dtype`` is neither floating nor complex, and ``x`` is.
    :see: mean, nansum, nanmedian

    >>> ag.nanmean(ag.tensor([1.0, ag.nan, 2.0]))
    tensor(1.5)
    """
    x = _chosen(x, dtype, where)
    if not dtypes.is_inexact(x.dtype):
        return mean(x, axis, keepdims=keepdims)
    wide = cast(x, dtypes.float32) if x.dtype in dtypes.HALVES else x
    summed = total(_filled(wide, 0), axis, keepdims=keepdims)
    return cast(summed / _numbers(x, axis, keepdims), x.dtype)


@planned
@public
def nanvar(x: TensorLike, /, axis: Axis = None, *, dtype: DTypeLike = None, correction: float = 0.0,
           ddof: float | None = None, keepdims: bool = False, where: TensorLike | None = None,
           out: Tensor | None = None) -> Tensor:
    """Variance over axes without NaN, over ``n - correction`` (NumPy calls it ``ddof``).

    :like: nanmean
    :param correction: The squares are divided by ``n - correction``; NaN where that is not
        positive.
    :param ddof: NumPy's name for ``correction``.
    :see: var, nanstd

    >>> ag.nanvar(ag.tensor([1.0, ag.nan, 3.0]))
    tensor(1.)
    """
    x = _chosen(x, dtype, where)
    if not dtypes.is_inexact(x.dtype):
        return var(x, axis, correction=correction, ddof=ddof, keepdims=keepdims)
    wide = cast(x, dtypes.float32) if x.dtype in dtypes.HALVES else x
    off = select(isnan(wide), 0, wide - nanmean(wide, axis, keepdims=True))  # inf - inf counts
    squares = square(off) if x.dtype.kind in "fV" else square(off.real) + square(off.imag)
    count = _numbers(x, axis, keepdims) - freedom(correction, ddof)
    spread = total(squares, axis, keepdims=keepdims) / maximum(count, 0)
    unknown = select(count > 0, spread, as_tensor(np.nan, spread.dtype))
    return cast(unknown, dtypes.real_of(x.dtype))


@planned
@public
def nanstd(x: TensorLike, /, axis: Axis = None, *, dtype: DTypeLike = None, correction: float = 0.0,
           ddof: float | None = None, keepdims: bool = False, where: TensorLike | None = None,
           out: Tensor | None = None) -> Tensor:
    """Standard deviation over axes without NaN; its gradient is 0 where it is 0.

    :like: nanvar
    :see: std, nanvar

    >>> ag.nanstd(ag.tensor([1.0, ag.nan, 3.0]))
    tensor(1.)
    """
    squares = nanvar(x, axis, dtype=dtype, correction=correction, ddof=ddof, keepdims=keepdims,
                     where=where)
    nothing = squares == 0
    return select(nothing, 0, select(nothing, 1, squares).sqrt())
