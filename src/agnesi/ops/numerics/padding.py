"""Borders: of numbers, of an array's own elements, or of statistics of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from agnesi.core.integers import check_integer
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support import dtypes
from agnesi.core.support.errors import ShapeError
from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith, reduce, select
from agnesi.ops.base.convert import as_tensor, cast, check_unmasked
from agnesi.ops.base.expand import broadcast_to
from agnesi.ops.base.movement import reshape
from agnesi.ops.base.slices import flip
from agnesi.ops.indexing import join
from agnesi.ops.indexing.ranges import arange
from agnesi.ops.numerics.quantiles import median

_STATISTICS: dict[str, Callable[..., Tensor]] = {
    "maximum": reduce.max, "mean": reduce.mean, "median": median, "minimum": reduce.min}
PAD_MODES = ("constant", "edge", "empty", "linear_ramp", "maximum", "mean", "median", "minimum",
             "reflect", "symmetric", "wrap")


@planned
@public
def pad(x: TensorLike, pad_width: TensorLike, mode: str = "constant",
        constant_values: TensorLike = 0, *, end_values: TensorLike = 0,
        stat_length: TensorLike | None = None, reflect_type: Literal["even", "odd"] = "even",
        out: Tensor | None = None) -> Tensor:
    """With a border around it.

    :param pad_width: Elements to put before and behind each axis; not negative.
    :type pad_width: int, (before, after), or one such pair for each axis
    :param mode: What the border holds: ``constant_values``, zeros ("empty"), the nearest element,
        numbers that go from it to ``end_values`` in equal steps, a statistic of the elements of the
        line, or the elements mirrored without ("reflect") or with the edge ("symmetric"), or from
        the other end ("wrap").
    :type mode: {"constant", "edge", "empty", "linear_ramp", "maximum", "mean", "median", "minimum",
        "reflect", "symmetric", "wrap"}
    :param constant_values: What the border of mode "constant" holds; corners belong to the later
        axis.
    :type constant_values: number, (before, after), or one such pair for each axis
    :param end_values: What the border of mode "linear_ramp" ends with.
    :type end_values: number, (before, after), or one such pair for each axis
    :param stat_length: Of how many elements at that end statistics are taken; by default of all.
    :type stat_length: int, (before, after), or one such pair for each axis, optional
    :param reflect_type: Whether mirrored elements stay as they are, or are mirrored at the edge's
        value too: twice that less the element.
    :returns: Of the dtype of ``x``, longer by ``before + after`` on each axis.
    :raises ValueError: If there is no such mode, a width is negative, or ``stat_length`` is given
        for a mode that takes no statistics.
    :raises ShapeError: If a border would be computed from no elements.
    :see: concat, nn.functional.pad

    >>> ag.pad(ag.tensor([1, 2, 3]), 2, "reflect")
    tensor([3, 2, 1, 2, 3, 2, 1])
    """
    if mode not in PAD_MODES:
        raise ValueError(f"mode {mode!r} is none of {', '.join(PAD_MODES)}")
    if stat_length is not None and mode not in _STATISTICS:
        raise ValueError(f"mode {mode!r} takes no statistics: leave stat_length out, or choose "
                         f"one of {', '.join(_STATISTICS)}")
    x = as_tensor(x)
    if mode == "linear_ramp":
        return _extended(x, pad_width, end_values, _ramp)
    if mode in _STATISTICS:
        lengths = 0 if stat_length is None else stat_length
        for n in np.asarray(lengths, object).ravel() if stat_length is not None else ():
            check_integer(n, "stat_length", 1)
        return _extended(x, pad_width, lengths, lambda *end: _statistic(_STATISTICS[mode], *end))
    if reflect_type == "odd" and mode in ("reflect", "symmetric"):
        return _odd(x, pad_width, mode)
    check_unmasked(constant_values)
    return join.pad(x, pad_width, "constant" if mode == "empty" else mode,
                    0 if mode == "empty" else constant_values)


def _odd(x: Tensor, pad_width: Any, mode: str) -> Tensor:
    """Mirrored at the ends, and at the values there."""
    for axis, (before, after) in enumerate(join.border_widths(pad_width, x.ndim)):
        n = x.shape[axis]
        around = [(0, 0)] * x.ndim
        around[axis] = before, after
        first, last = _part(x, axis, 1), flip(_part(flip(x, axis), axis, 1), axis)
        x = join.pad(x, around, mode)
        if n == 1:
            continue
        periods = arange(-before, n + after) // (n - (mode == "reflect"))
        periods = reshape(periods, (n + before + after, *[1] * (x.ndim - axis - 1)))
        reflected = select.where(periods % 2 == 1, first + last - x, x)
        reflected = reflected + cast(periods, x.dtype) * (last - first)
        for side, edge in ((1, last), (-1, first)):  # where the other end may be infinite
            reflected = select.where(periods == side, edge + edge - x, reflected)
        x = select.where(periods == 0, x, reflected)
    return x


def _extended(x: Tensor, pad_width: Any, settings: Any, border: Callable[..., Tensor]) -> Tensor:
    """Borders axis by axis: ``border`` makes one before the first elements of an axis."""
    ends = np.broadcast_to(np.asarray(settings), (x.ndim, 2)).tolist()
    for axis, (before, after) in enumerate(join.border_widths(pad_width, x.ndim)):
        if x.shape[axis] == 0 and (before or after):
            raise ShapeError(f"axis {axis} has no elements from which a border could be computed")
        first = border(x, axis, before, ends[axis][0])
        last = flip(border(flip(x, axis), axis, after, ends[axis][1]), axis)
        x = join.concat([first, x, last], axis)
    return x


def _part(x: Tensor, axis: int, stop: Any) -> Tensor:
    return x[(*[slice(None)] * axis, slice(0, stop))]


def _ramp(x: Tensor, axis: int, width: Any, end: Any) -> Tensor:
    """Numbers from ``end`` in equal steps to the first element, which is not among them."""
    wide = dtypes.floating(x.dtype) if x.dtype.kind in "fcV" else dtypes.float64
    steps = arith.divide(cast(arange(width), wide), max(width, 1))
    steps = reshape(steps, (width, *[1] * (x.ndim - axis - 1)))
    last = cast(_part(x, axis, 1), wide)
    found = arith.add(arith.multiply(arith.subtract(last, end), steps), end)
    return cast(found if x.dtype.kind in "fcV" else select.floor(found), x.dtype)


def _statistic(function: Callable[..., Tensor], x: Tensor, axis: int, width: Any, length: int
               ) -> Tensor:
    """A statistic of the first elements, of all where ``length`` is 0."""
    chunk = _part(x, axis, length) if length else x
    if x.dtype.kind in "biu" and function in (reduce.mean, median):
        chunk = cast(chunk, dtypes.float64)
    found = function(chunk, axis=axis, keepdims=True)
    if found.dtype.kind == "f" and x.dtype.kind in "biu":
        found = select.round(found)
    return broadcast_to(cast(found, x.dtype), (*x.shape[:axis], width, *x.shape[axis + 1:]))
