"""Shape arithmetic shared by all operations: broadcasting, axes, reductions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from agnesi.core.integers import known_integer
from agnesi.core.ir.dims import Dim, Shape, Size, combine, is_open, product
from agnesi.core.support.errors import ShapeError

#: Axes that an array may have, which is NumPy's limit.
MOST_AXES = 64


class Typed(NamedTuple):
    """An operand of which nothing but the type is known."""

    shape: Shape
    dtype: Any


def broadcast(*shapes: Shape) -> Shape:
    """Common shape of operands after NumPy's rules; unknown sizes are taken to fit.

    Of two unknown sizes either may turn out to be 1: their common size is an expression of both.
    """
    first = shapes[0]
    if shapes.count(first) == len(shapes):
        return first
    arrays = [s for s in shapes if s != ()]  # the others are numbers
    if arrays.count(arrays[0]) == len(arrays):
        return tuple(arrays[0])
    ndim = max(map(len, shapes))
    padded = [(1,) * (ndim - len(s)) + tuple(s) for s in shapes]
    columns = enumerate(zip(*padded, strict=True))
    return tuple(_common(sizes, axis - ndim, shapes) for axis, sizes in columns)


def of_stacks(*fronts: Shape) -> Shape:
    """Return the common shape of the leading axes of matrices or vectors, by broadcasting."""
    try:
        return broadcast(*fronts)
    except ShapeError as error:
        raise ShapeError(f"in front of the matrices, {error}") from None


def _common(sizes: tuple[Size, ...], axis: int, shapes: tuple[Shape, ...]) -> Size:
    result: Size = 1
    for n in sizes:
        if n == 1 and not isinstance(n, Dim):
            continue
        if result == 1 or (is_open(result) and not isinstance(n, Dim)):
            result = n
        elif is_open(result) and is_open(n):
            result = combine("broadcast", result, n)
        elif not is_open(n) and n != result:
            raise ShapeError(
                f"sizes {result} and {n} differ on axis {axis} and neither is 1: "
                f"shapes {' and '.join(map(str, shapes))} do not broadcast"
            )
    return result


def fits(a: Shape, b: Shape) -> bool:
    """Return whether two shapes are or may turn out to be the same: unknown sizes fit any."""
    return a == b or (len(a) == len(b) and all(
        m == n or is_open(m) or is_open(n) for m, n in zip(a, b, strict=True)
    ))


def need_shape(found: Shape, wanted: Shape, what: str) -> None:
    """Raise if an operand's shape is known to differ from the one needed; unknown sizes pass."""
    if not fits(tuple(found), tuple(wanted)):
        raise ShapeError(f"{what} has shape {tuple(found)}, and must have {tuple(wanted)}")


def surely_less(n: Size, m: Size) -> bool:
    """Return whether ``n < m`` for all values that the unknown sizes may have."""
    return type(n) is int and type(m) is int and n < m


def axis_of(axis: Any, ndim: int) -> int:
    """A valid axis as a number in [0, ndim)."""
    number: int = axis if type(axis) is int else known_integer(axis, "axis")
    if not -ndim <= number < ndim:
        raise np.exceptions.AxisError(f"axis {number} is out of range for {ndim} dimensions")
    return number % ndim


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """Axes as a sorted tuple without repetition; None means all."""
    return tuple(sorted(axes_in_order(axis, ndim)))


def axes_in_order(axis: Any, ndim: int) -> tuple[int, ...]:
    """Axes as they are given, where something belongs to each; without repetition."""
    if axis is None:
        return tuple(range(ndim))
    if isinstance(axis, (tuple, list)):
        axes = [axis_of(a, ndim) for a in axis]
        if len(set(axes)) != len(axes):
            raise ValueError(f"axis {tuple(axis)} names an axis twice")
        return tuple(axes)
    return (axis_of(axis, ndim),)


def reduced(shape: Shape, axes: Sequence[int], keepdims: bool) -> Shape:
    """Shape after reduction over ``axes``."""
    if keepdims:
        return tuple(1 if i in axes else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in axes)


def count(shape: Shape, axes: Sequence[int]) -> Size:
    """Number of elements along ``axes``."""
    return product([shape[a] for a in axes])


def check_axes(shape: Sequence[Any]) -> None:
    """Refuse a result with more axes than arrays may have."""
    if len(shape) > MOST_AXES:
        raise ShapeError(
            f"the result would have {len(shape)} axes, and an array has {MOST_AXES} at most")
