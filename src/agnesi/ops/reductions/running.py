"""Running sums and products along an axis."""

from __future__ import annotations

from typing import Any

from agnesi.core import shapes
from agnesi.core.dispatch import apply
from agnesi.core.parameter_types import DTypeLike, TensorLike
from agnesi.core.public import apply_to, explain_errors, into, planned, public
from agnesi.core.support import dtypes
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import accumulator, cast
from agnesi.ops.base.creation import filled
from agnesi.ops.base.movement import reshape
from agnesi.ops.base.scans import CumProd, CumSum, Scan
from agnesi.ops.indexing.join import concat


def _cumulative(op: type[Scan], x: Any, axis: int | None, dtype: Any, out: Tensor | None) -> Tensor:
    x = accumulator(x, dtype)
    if axis is None:
        x, axis = reshape(x, (shapes.count(x.shape, tuple(range(x.ndim))),)), 0
    run = op(shapes.axis_of(axis, x.ndim))
    if x.dtype not in dtypes.HALVES:
        return apply_to(out, run, x)
    y = cast(apply(run, cast(x, dtypes.float32)), x.dtype)  # digits would be lost on the way
    return y if out is None else into(out, y)


@planned
@explain_errors
def cumsum(x: TensorLike, /, axis: int | None = None, *, dtype: DTypeLike = None,
           out: Tensor | None = None) -> Tensor:
    """Running sums along an axis (of the flattened tensor by default).

    :param x: Of any shape; NaN stays from where it is on.
    :param dtype: What to compute in and to give; by default integers narrower than 64 bits and bool
        are accumulated in int64 or uint64.
    :returns: Of the shape of ``x``; a vector without an axis.
    :see: cumprod, sum, diff, cumulative_sum, nancumsum

    >>> ag.cumsum(ag.tensor([1, 2, 3]))
    tensor([1, 3, 6])
    """
    return _cumulative(CumSum, x, axis, dtype, out)


@planned
@explain_errors
def cumprod(x: TensorLike, /, axis: int | None = None, *, dtype: DTypeLike = None,
            out: Tensor | None = None) -> Tensor:
    """Running products along an axis (of the flattened tensor by default).

    :like: cumsum
    :see: cumsum, prod, cumulative_prod, nancumprod

    >>> ag.cumprod(ag.tensor([1, 2, 3]))
    tensor([1, 2, 6])
    """
    return _cumulative(CumProd, x, axis, dtype, out)


def _from_nothing(run: Any, first: int, x: Any, axis: int | None, dtype: Any,
                  include_initial: bool) -> Tensor:
    """A cumulative result of the array API, with the initial value (0 or 1) in front or without."""
    x = accumulator(x, dtype)
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"axis is needed for {x.ndim} dimensions; give axis=0, say")
        axis = 0
    y = run(x, axis, dtype=x.dtype)
    if not include_initial:
        return y
    axis = shapes.axis_of(axis, x.ndim)
    shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    return concat([filled(shape, first, x.dtype), y], axis)


@planned
@public
def cumulative_sum(x: TensorLike, /, *, axis: int | None = None, dtype: DTypeLike = None,
                   include_initial: bool = False, out: Tensor | None = None) -> Tensor:
    """Running sums along an axis; ``include_initial`` puts the sum of nothing in front.

    :like: cumsum
    :param axis: An axis; left out only for vectors. Also written ``dim``.
    :param include_initial: Whether the result begins with that of nothing, and is longer by one.
    :returns: Of the shape of ``x``, or longer by one.
    :raises IndexError: If the axis is out of range.
    :raises ValueError: If ``x`` has several axes and none is named.
    :see: cumsum, sum

    >>> ag.cumulative_sum(ag.tensor([1, 2, 3]), include_initial=True)
    tensor([0, 1, 3, 6])
    """
    return _from_nothing(cumsum, 0, x, axis, dtype, include_initial)


@planned
@public
def cumulative_prod(x: TensorLike, /, *, axis: int | None = None, dtype: DTypeLike = None,
                    include_initial: bool = False, out: Tensor | None = None) -> Tensor:
    """Running products along an axis; ``include_initial`` puts the product of nothing in front.

    :like: cumulative_sum
    :see: cumprod, prod

    >>> ag.cumulative_prod(ag.tensor([1, 2, 3]), include_initial=True)
    tensor([1, 1, 2, 6])
    """
    return _from_nothing(cumprod, 1, x, axis, dtype, include_initial)
