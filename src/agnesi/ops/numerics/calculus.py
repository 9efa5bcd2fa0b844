"""Derivatives, areas and values between samples of functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from agnesi.core import shapes
from agnesi.core.ir.dims import is_settled
from agnesi.core.ir.extents import need_elements
from agnesi.core.parameter_types import Axis, TensorLike
from agnesi.core.public import planned, public, where_torch
from agnesi.core.support import dtypes
from agnesi.core.support.errors import ShapeError
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import abs as magnitude
from agnesi.ops.base.compare import greater, isnan, less, logical_and, logical_not, logical_or
from agnesi.ops.base.convert import as_tensor, beside, cast, exact, floating, pair
from agnesi.ops.base.movement import moveaxis, reshape, sized
from agnesi.ops.base.parameter_checks import of_shape
from agnesi.ops.base.reduce import sum as total
from agnesi.ops.base.select import clip, where
from agnesi.ops.contractions.composite import diff
from agnesi.ops.indexing.index import take
from agnesi.ops.indexing.join import concat
from agnesi.ops.reductions.running import cumsum
from agnesi.ops.sorting.sort import argsort, searchsorted

__all__ = ["gradient", "interp", "trapezoid", "trapz", "unwrap"]


@planned
@public
def trapezoid(y: TensorLike, x: TensorLike | None = None, dx: float = 1.0, axis: int = -1, *,
              out: Tensor | None = None) -> Tensor:
    """The area under samples along an axis, by trapezoids.

    :param y: Samples; integers become the default float dtype.
    :param x: Where the samples are; ``dx`` apart by default.
    :param dx: Distance of the samples where ``x`` is not given.
    :returns: The shape of ``y`` without the axis; 0 for one sample.
    :raises ShapeError: If ``x`` does not fit.
    :see: cumsum, gradient, polyint

    >>> ag.trapezoid(ag.tensor([1.0, 2.0, 3.0]))
    tensor(4.)
    """
    y = floating(y)
    axis = shapes.axis_of(axis, y.ndim)
    width: Any = dx
    if x is not None:
        kind, x = dtypes.floating(as_tensor(x).dtype), exact(x)
        sizes = y.shape[axis], x.shape[-1]
        if x.ndim == 1 and sizes[0] != sizes[1] and is_settled(sizes) and 2 not in sizes:
            raise ShapeError(f"there are {sizes[0]} samples on axis {axis} of y {y.shape}, and "
                             f"{sizes[1]} places in x {x.shape}; give a place for each")
        width = diff(x, axis=axis - y.ndim) if x.ndim > 1 else \
            reshape(diff(x), tuple(-1 if a == axis else 1 for a in range(y.ndim)))
        width = cast(width, kind)
    front = (slice(None),) * axis
    heights = y[(*front, slice(1, None))] + y[(*front, slice(None, -1))]
    return total(heights * width / 2.0, axis - y.ndim)


trapz = trapezoid


@where_torch
@planned
@public
def gradient(f: TensorLike, *varargs: Any, axis: Axis = None, edge_order: int = 1) -> Any:
    """Derivatives of samples by differences: central ones inside, one-sided ones at the ends.

    :param f: Samples; integers become the default float dtype.
    :param *varargs: Distances of the samples, one for all axes or one for each; or vectors of their
        positions.
    :type *varargs: float or array_like
    :param axis: All axes by default.
    :type axis: int, sequence of int, optional
    :param edge_order: Order of the differences at the ends.
    :type edge_order: {1, 2}
    :returns: Of the shape of ``f``.
    :rtype: Tensor, or tuple of Tensor for several axes
    :raises ValueError: If ``edge_order`` is another.
    :raises TypeError: If there are not as many distances as axes.
    :raises ShapeError: If an axis has too few samples, or positions do not fit.
    :see: diff, trapezoid, grad

    >>> ag.gradient(ag.tensor([1.0, 2.0, 4.0, 7.0]))
    tensor([1. , 1.5, 2.5, 3. ])
    """
    kind = dtypes.floating(as_tensor(f).dtype)
    f = exact(f)
    axes = shapes.axes_in_order(axis, f.ndim)
    if edge_order not in (1, 2):
        raise ValueError(f"edge_order must be 1 or 2, not {edge_order}")
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError(f"{len(varargs)} distances for {len(axes)} axes")
    steps = varargs * len(axes) if len(varargs) == 1 else varargs or (1.0,) * len(axes)
    found = tuple(cast(_slope(f, s, a, edge_order), kind) for s, a in zip(steps, axes, strict=True))
    return found[0] if len(found) == 1 else found


def _slope(f: Tensor, step: Any, axis: int, edge_order: int) -> Tensor:
    f = moveaxis(f, axis, -1)
    n = f.shape[-1]
    if n < edge_order + 1:
        raise ShapeError(f"axis {axis} has {n} elements; edge_order needs {edge_order + 1}")
    d: Any = step if isinstance(step, (int, float)) else as_tensor(step)
    if isinstance(d, Tensor):
        if d.ndim == 1:
            d = of_shape("gradient", d, (n,), f"{d.shape[0]} places for {n} samples on axis {axis}")
        whole = d.dtype.kind in "biu"
        d = diff(exact(d)) if d.ndim else d
        d = cast(d, dtypes.real_of(f.dtype)) if whole else d
    uneven = isinstance(d, Tensor) and d.ndim > 0
    h = (lambda i: d[i]) if uneven else (lambda i: d)
    inner = _uneven(f, d) if uneven else (f[..., 2:] - f[..., :-2]) / (2.0 * d)
    if edge_order == 1:
        first = (f[..., 1:2] - f[..., :1]) / h(0)
        last = (f[..., -1:] - f[..., -2:-1]) / h(-1)
    else:
        first = _edge([f[..., i: i + 1] for i in range(3)], h(0), h(1 if uneven else 0))
        last = -_edge([f[..., n - 1 - i: n - i] for i in range(3)], h(-1), h(-2 if uneven else 0))
    return moveaxis(concat([first, inner, last], -1), -1, axis)


def _uneven(f: Tensor, d: Tensor) -> Tensor:
    """Central differences of second order with distances ``d``: Fornberg (1988)."""
    before, behind = d[:-1], d[1:]
    a = -behind / (before * (before + behind))
    b = (behind - before) / (before * behind)
    c = before / (behind * (before + behind))
    return a * f[..., :-2] + b * f[..., 1:-1] + c * f[..., 2:]


def _edge(f: list[Tensor], d1: Any, d2: Any) -> Tensor:
    """The one-sided difference of second order."""
    a = -(2.0 * d1 + d2) / (d1 * (d1 + d2))
    return f[0] * a + f[1] * ((d1 + d2) / (d1 * d2)) - f[2] * (d1 / (d2 * (d1 + d2)))


@planned
@public
def interp(x: TensorLike, xp: TensorLike, fp: TensorLike, left: TensorLike | None = None,
           right: TensorLike | None = None, period: float | None = None, *,
           out: Tensor | None = None) -> Tensor:
    """Interpolate linearly between samples.

    :param x: Where values are wanted.
    :param xp, fp: Where samples are, in rising order, and their values.
    :param left, right: Values below the first and above the last; theirs by default.
    :type left, right: number, optional
    :param period: With a period, positions are taken modulo it, and need no order.
    :type period: float, optional
    :returns: Of the shape of ``x``; differentiable in all three.
    :raises ShapeError: If samples are not two vectors of one size, or none.
    :raises ValueError: If ``period`` is zero.
    :see: lerp, searchsorted, nn.functional.interpolate

    >>> ag.interp(ag.tensor([0.5, 5.0]), ag.tensor([0.0, 1.0]), ag.tensor([10.0, 20.0]))
    tensor([15., 20.])
    """
    x, xp = map(floating, pair(x, xp))
    fp = floating(beside(fp, x))
    need_elements(xp.size)
    if xp.ndim != 1 or not shapes.fits(xp.shape, fp.shape) or xp.size == 0:
        raise ShapeError(f"samples must be two vectors of one size, not {xp.shape}, {fp.shape}")
    fp = sized(fp, 0, xp.shape[0])
    if period is not None:
        if period == 0:
            raise ValueError("period must not be zero")
        x, xp, fp = _wrapped(x, xp, fp, abs(period))
        left = right = None
    n = xp.shape[0]
    if n == 1:
        value = fp[0] + x * 0
    else:
        i = clip(searchsorted(xp, x, "right"), 1, n - 1)
        x0, x1, f0, f1 = (take(v, j) for v, j in ((xp, i - 1), (xp, i), (fp, i - 1), (fp, i)))
        value = _between(x, x0, x1, f0, f1)
    value = where(less(x, xp[0]), fp[0] if left is None else as_tensor(left, fp.dtype), value)
    return where(greater(x, xp[-1]), fp[-1] if right is None else as_tensor(right, fp.dtype), value)


def _between(x: Tensor, x0: Tensor, x1: Tensor, f0: Tensor, f1: Tensor) -> Tensor:
    """The line between two samples, exact at both; a sample itself where the line is infinite."""
    wide = where(x1 == x0, as_tensor(1, x.dtype), x1 - x0)
    share, rise = (x - x0) / wide, f1 - f0
    ahead, back, near = f0 + rise * share, f1 - rise * (1 - share), share < 0.5
    line, other = where(near, ahead, back), where(near, back, ahead)
    sample = where(x == x0, f0, where(logical_or(x == x1, f0 == f1), f1, other))
    return where(logical_and(isnan(line), logical_not(isnan(x))), sample, line)


def _wrapped(x: Tensor, xp: Tensor, fp: Tensor, period: float) -> tuple[Tensor, Tensor, Tensor]:
    """Samples of one period in order, with a neighbour on either side."""
    x, xp = x % period, xp % period
    order = argsort(xp)
    xp, fp = take(xp, order), take(fp, order)
    samples = concat([xp[-1:] - period, xp, xp[:1] + period], 0)
    return x, samples, concat([fp[-1:], fp, fp[:1]], 0)


@planned
@public
def unwrap(p: TensorLike, discont: float | None = None, axis: int = -1, *,
           period: float = 2 * math.pi, out: Tensor | None = None) -> Tensor:
    """Multiples of a period added so that neighbours differ by half a period at most.

    :param p: Angles, or other periodic numbers.
    :param discont: The least difference that is corrected; half a period by default.
    :param period: The period.
    :returns: Of the shape of ``p``.
    :see: angle, remainder, diff

    >>> ag.unwrap(ag.tensor([0.0, 3.0, 5.0, 0.5]), period=4.0)
    tensor([ 0. , -1. ,  1. ,  0.5])
    """
    p = as_tensor(p)
    given: Any = period
    traced = isinstance(given, Tensor) and given._is_number and given.dtype.kind in "iu"
    period = given.item() if traced or isinstance(given, np.integer) else given
    whole = p.dtype.kind in "iu" and isinstance(period, int)
    p = p if whole else floating(p)
    steps = diff(p, axis=axis)
    half = period / 2 if not whole else period // 2
    low = -half if not whole or period % 2 == 0 else -half - 1
    corrected = (steps - low) % period + low
    if not whole or period % 2 == 0:  # a jump of exactly half a period keeps its sign
        corrected = where(logical_and(corrected == low, steps > 0), -low, corrected)
    least = half if discont is None else max(discont, half)
    change = where(less(magnitude(steps), least), 0, corrected - steps)
    axis = shapes.axis_of(axis, p.ndim)
    front = (slice(None),) * axis
    kept = p[(*front, slice(0, 1))]
    return concat([kept, p[(*front, slice(1, None))] + cumsum(change, axis)], axis)
