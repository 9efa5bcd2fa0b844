"""Arrays in other shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

import agnesi as ag
from agnesi.compat.chainer.formula import applied
from agnesi.compat.chainer.variable import OPERATORS, as_variable
from agnesi.core.support.errors import ShapeError, at, typed

__all__ = [
    "broadcast", "broadcast_to", "cast", "concat", "copy", "expand_dims", "flatten", "get_item",
    "hstack", "permutate", "reshape", "rollaxis", "select_item", "separate", "split_axis",
    "squeeze", "stack", "swapaxes", "tile", "transpose", "vstack", "where",
]


def concat(xs: Any, axis: int = 1) -> Any:
    """Arrays behind each other along an axis."""
    return applied("Concat", lambda *xs: ag.concatenate(xs, axis), *xs)


def stack(xs: Any, axis: int = 0) -> Any:
    """Arrays beside each other along a new axis."""
    return applied("Stack", lambda *xs: ag.stack(xs, axis), *xs)


def hstack(xs: Any) -> Any:
    """Columns beside each other."""
    return applied("Hstack", lambda *xs: ag.hstack(xs), *xs)


def vstack(xs: Any) -> Any:
    """Rows below each other."""
    return applied("Vstack", lambda *xs: ag.vstack(xs), *xs)


def copy(x: Any, dst: Any) -> Any:
    """A copy on another device: all devices are the processor."""
    return applied("Copy", lambda x: x * 1, x)


def reshape(x: Any, shape: Any) -> Any:
    """The elements in another shape."""
    return applied("Reshape", lambda x: x.reshape(shape), x)


def flatten(x: Any) -> Any:
    """The elements in one axis."""
    return applied("Flatten", lambda x: x.reshape(-1), x)


def expand_dims(x: Any, axis: int) -> Any:
    """With a new axis of size 1."""
    return applied("ExpandDims", lambda x: ag.expand_dims(x, axis), x)


def squeeze(x: Any, axis: Any = None) -> Any:
    """Without axes of size 1."""
    return applied("Squeeze", lambda x: ag.squeeze(x, axis), x)


def transpose(x: Any, axes: Any = None) -> Any:
    """Axes in another order."""
    return applied("Transpose", lambda x: ag.transpose(x, axes), x)


def swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    """Two axes in each other's place."""
    return applied("Swapaxes", lambda x: ag.swapaxes(x, axis1, axis2), x)


def rollaxis(x: Any, axis: int, start: int = 0) -> Any:
    """An axis before another one."""
    return applied("Rollaxis", lambda x: ag.rollaxis(x, axis, start), x)


def tile(x: Any, reps: Any) -> Any:
    """The array several times."""
    return applied("Tile", lambda x: ag.tile(x, reps), x)


def broadcast(*args: Any) -> Any:
    """Arrays in their common shape."""
    return applied("Broadcast", lambda *xs: tuple(x * 1 for x in ag.broadcast_arrays(*xs)), *args)


def broadcast_to(x: Any, shape: Any) -> Any:
    """The array in a larger shape."""
    return applied("BroadcastTo", lambda x: ag.broadcast_to(x, shape), x)


def cast(x: Any, typ: Any) -> Any:
    """The elements as another type."""
    return applied("Cast", lambda x: x.astype(typ), x)


def split_axis(x: Any, indices_or_sections: Any, axis: int, force_tuple: bool = False) -> Any:
    """Parts along an axis: equal ones by their number, others by where they begin.

    A single part is no tuple, unless ``force_tuple`` says so.
    """
    places = np.atleast_1d(np.asarray(indices_or_sections))
    if places.dtype.kind not in "iu" and places.size:
        raise TypeError(at("split_axis: parts are told by their number, or the integers where they "
                           f"begin, not {indices_or_sections!r}"))
    shape = as_variable(x).data.shape
    if np.ndim(indices_or_sections) and places.size and -len(shape) <= axis < len(shape) and (
            places.max() > shape[axis] or (np.diff(places) < 0).any()):
        raise ShapeError(at(f"split_axis: parts begin at {places.tolist()}, which do not rise "
                            f"within axis {axis} of size {shape[axis]}"))
    found = applied("SplitAxis", lambda x: tuple(ag.split(x, indices_or_sections, axis)), x)
    return (found,) if force_tuple and not isinstance(found, tuple) else found


def separate(x: Any, axis: int = 0) -> Any:
    """Slices along an axis, without it."""
    found = applied("Separate", lambda x: tuple(ag.moveaxis(x, axis, 0)), x)
    return found if isinstance(found, tuple) else (found,)


def select_item(x: Any, t: Any) -> Any:
    """From each row, the element at a place."""
    rows, labels = np.shape(getattr(x, "data", x)), np.shape(getattr(t, "data", t))
    if len(rows) != 2 or labels != rows[:1]:
        raise ShapeError(at(f"select_item: there must be a place for each row of {typed(x)}, a "
                            f"matrix, not {typed(t)}"))
    return applied("SelectItem", lambda x, t: x[ag.arange(x.shape[0]), t], x, t)


def permutate(x: Any, indices: Any, axis: int = 0, inv: bool = False) -> Any:
    """Slices along an axis in another order."""
    places = np.argsort(indices) if inv else np.asarray(indices)
    return applied("Permutate", lambda x: ag.take(x, places, axis), x)


def get_item(x: Any, slices: Any) -> Any:
    """``x[slices]``."""
    return applied("GetItem", lambda x: x[slices], x)


def where(condition: Any, x: Any, y: Any) -> Any:
    """Elements of x where the condition holds, else of y."""
    return applied("Where", ag.where, condition, x, y)


OPERATORS["__getitem__"] = get_item


def _reshaped(x: Any, *shape: Any) -> Any:
    return reshape(x, shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)


def _transposed(x: Any, *axes: Any) -> Any:
    if len(axes) == 1 and not isinstance(axes[0], int):
        axes = axes[0]
    return transpose(x, axes or None)


OPERATORS["reshape"], OPERATORS["transpose"] = _reshaped, _transposed
