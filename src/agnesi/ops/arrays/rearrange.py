"""Arrays put together and taken apart in NumPy's smaller ways; all give new tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.core import shapes
from agnesi.core.integers import check_integer
from agnesi.core.ir.dims import product
from agnesi.core.op import called, typed
from agnesi.core.parameter_types import Axis, ShapeLike, TensorLike
from agnesi.core.public import planned, public
from agnesi.core.storage.lists import many_values
from agnesi.core.support import dtypes
from agnesi.core.support.errors import ShapeError
from agnesi.core.support.tracing import is_known
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.arrays.nonzeros import flatnonzero
from agnesi.ops.arrays.replicate import broadcast_to, copy, tile, unfold
from agnesi.ops.base import reduce
from agnesi.ops.base.compare import logical_not
from agnesi.ops.base.convert import as_tensor, cast, check_depth, pair, written
from agnesi.ops.base.gather.gather_scatter import within
from agnesi.ops.base.literals import to_write
from agnesi.ops.base.movement import atleast_1d, moveaxis, reshape, swapaxes
from agnesi.ops.base.select import where
from agnesi.ops.base.slices import flip
from agnesi.ops.indexing.index import getitem, take
from agnesi.ops.indexing.join import concat, split, vstack
from agnesi.ops.indexing.ranges import arange
from agnesi.ops.indexing.scatter import index_put
from agnesi.ops.sorting.sort import argsort, sort

__all__ = [
    "append", "array_split", "block", "column_stack", "delete", "dsplit", "ediff1d", "fliplr",
    "flipud", "hsplit", "insert", "resize", "rollaxis", "rot90", "row_stack", "sliding_window_view",
    "sort_complex", "trim_zeros", "vsplit",
]
row_stack = vstack


# -- turned around ------------------------------------------------------------------------------
def _two(x: Any, least: int) -> Tensor:
    x = as_tensor(x)
    if x.ndim < least:
        raise ShapeError(f"the operand must have {least} axes or more, not shape {x.shape}")
    return x


@planned
@public
def flipud(x: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Reverse the first axis.

    :param x: At least one axis.
    :returns: A view.
    :raises ShapeError: If ``x`` has too few axes.
    :see: flip, fliplr, rot90

    >>> ag.flipud([[1, 2], [3, 4]])
    tensor([[3, 4],
            [1, 2]])
    """
    return flip(_two(x, 1), 0)


@planned
@public
def fliplr(x: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Reverse the second axis.

    :param x: At least two axes.
    :returns: A view.
    :raises ShapeError: If ``x`` has too few axes.
    :see: flip, flipud, rot90

    >>> ag.fliplr([[1, 2], [3, 4]])
    tensor([[2, 1],
            [4, 3]])
    """
    return flip(_two(x, 2), 1)


@planned
@public
def rot90(x: TensorLike, k: int = 1, axes: tuple[int, int] = (0, 1), *,
          out: Tensor | None = None) -> Tensor:
    """``k`` quarter turns in the plane of two axes, from the first towards the second.

    :param x: At least two axes.
    :param k: How many quarter turns; negative ones the other way.
    :param axes: The two axes of the plane.
    :returns: A view.
    :raises ShapeError: If ``x`` has fewer than 2 axes.
    :raises ValueError: If the axes are the same.
    :see: flip, fliplr, flipud, swapaxes

    >>> ag.rot90([[1, 2], [3, 4]])
    tensor([[2, 4],
            [1, 3]])
    """
    x = _two(x, 2)
    a, b = (shapes.axis_of(axis, x.ndim) for axis in axes)
    if a == b:
        raise ValueError(f"the axes must differ: {axes}")
    quarters = k % 4
    if quarters == 0:
        return x
    if quarters == 2:
        return flip(x, (a, b))
    return swapaxes(flip(x, b), a, b) if quarters == 1 else flip(swapaxes(x, a, b), b)


@planned
@public
def rollaxis(x: TensorLike, axis: int, start: int = 0, *, out: Tensor | None = None) -> Tensor:
    """An axis moved before the axis ``start``.

    :param x: At least one axis.
    :param axis: The axis to move.
    :param start: The axis before which it comes to stand.
    :returns: A view.
    :raises ValueError: If ``start`` is out of range.
    :raises IndexError: If the axis is out of range.
    :see: moveaxis, swapaxes

    >>> ag.rollaxis(ag.ones((3, 4, 5)), 2).shape
    (5, 3, 4)
    """
    x = as_tensor(x)
    axis = shapes.axis_of(axis, x.ndim)
    start = start + x.ndim if start < 0 else start
    if not 0 <= start <= x.ndim:
        raise ValueError(f"start must be between 0 and {x.ndim}, not {start}")
    return moveaxis(x, axis, start - 1 if axis < start else start)


# -- cut ----------------------------------------------------------------------------------------
@planned
@public
def array_split(x: TensorLike, sections: ShapeLike, axis: int = 0) -> list[Tensor]:
    """Split an axis into parts, of nearly equal size where it does not divide.

    :param x: At least one axis.
    :param sections: A number of parts, the first ones longer by one where needed; or the positions
        before which to cut.
    :type sections: int or sequence of int
    :returns: Views.
    :raises ValueError: If the number of parts is not positive.
    :see: split, chunk

    >>> ag.array_split(ag.arange(3), 2)
    [tensor([0, 1]), tensor([2])]
    """
    x = as_tensor(x)
    if isinstance(sections, Tensor):
        sections = sections.tolist()
    if isinstance(sections, (list, tuple, np.ndarray)):
        return split(x, sections, axis)
    check_integer(sections, "the number of parts")
    parts: Any = sections
    if parts < 1:
        raise ValueError(f"the number of parts must be positive, not {parts}")
    each, more = divmod(int(x.shape[shapes.axis_of(axis, x.ndim)]), parts)
    sizes = [each + 1] * more + [each] * (parts - more)
    return split(x, np.cumsum(sizes)[:-1].tolist(), axis)


@planned
@public
def hsplit(x: TensorLike, sections: ShapeLike) -> list[Tensor]:
    """Split along the second axis; vectors along their only one.

    :param x: At least one axis.
    :param sections: A number of equal parts, or the positions before which to cut.
    :type sections: int or sequence of int
    :returns: Views.
    :raises ShapeError: If ``x`` has too few axes.
    :raises ValueError: If the axis does not divide into so many equal parts.
    :see: split, vsplit, dsplit, hstack

    >>> ag.hsplit(ag.arange(4), 2)
    [tensor([0, 1]), tensor([2, 3])]
    """
    x = _two(x, 1)
    return split(x, sections, 1 if x.ndim > 1 else 0)


@planned
@public
def vsplit(x: TensorLike, sections: ShapeLike) -> list[Tensor]:
    """Parts of the first axis.

    :like: hsplit
    :param x: At least two axes.
    :see: split, hsplit, dsplit, vstack

    >>> ag.vsplit(ag.ones((2, 3)), 2)[0]
    tensor([[1., 1., 1.]])
    """
    return split(_two(x, 2), sections, 0)


@planned
@public
def dsplit(x: TensorLike, sections: ShapeLike) -> list[Tensor]:
    """Split along the third axis.

    :like: hsplit
    :param x: At least three axes.
    :see: split, hsplit, vsplit, dstack

    >>> ag.dsplit(ag.ones((2, 3, 4)), 2)[0].shape
    (2, 3, 2)
    """
    return split(_two(x, 3), sections, 2)


# -- joined -------------------------------------------------------------------------------------
@planned
@public
def column_stack(tensors: Sequence[Any], *, out: Tensor | None = None) -> Tensor:
    """Vectors as columns, and the columns of matrices, side by side.

    :param tensors: Vectors or matrices with as many rows.
    :returns: A matrix of the promoted dtype.
    :raises ShapeError: If the numbers of rows differ.
    :see: hstack, stack, row_stack

    >>> ag.column_stack([[1, 2], [3, 4]])
    tensor([[1, 3],
            [2, 4]])
    """
    tensors = tuple(tensors)
    if (values := many_values(tensors)) is not None and values.ndim == 2:
        return wrap(np.ascontiguousarray(values.T))
    columns = [atleast_1d(as_tensor(x)) for x in tensors]
    return concat([x if x.ndim > 1 else reshape(x, (-1, 1)) for x in columns], 1)


@planned
@public
def block(arrays: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """One array of nested lists of blocks: the innermost are joined along the last axis.

    :param arrays: Blocks that fit.
    :type arrays: nested list of array_like
    :returns: Of the promoted dtype.
    :raises ShapeError: If the blocks do not fit.
    :raises ValueError: If lists are empty, or nested to different depths.
    :see: concat, stack, hstack, vstack, linalg.block_diag

    >>> ag.block([[ag.ones((1, 2)), 2], [3, ag.zeros((1, 2))]])
    tensor([[1., 1., 2.],
            [3., 0., 0.]])
    """
    check_depth(arrays)
    depth = _depth(arrays)
    ndim = max(depth, *(as_tensor(x).ndim for x in _leaves(arrays)))

    def joined(part: Any, level: int) -> Tensor:
        if not isinstance(part, list):
            x = as_tensor(part)
            return reshape(x, (1,) * (ndim - x.ndim) + x.shape)
        return concat([joined(p, level + 1) for p in part], ndim - depth + level)

    return joined(arrays, 0)


def _depth(arrays: Any) -> int:
    if not isinstance(arrays, list):
        return 0
    depths = {_depth(a) for a in arrays}
    if len(depths) != 1:
        raise ValueError("the lists of blocks must be nested to one depth, and none empty")
    return 1 + depths.pop()


def _leaves(arrays: Any) -> list[Any]:
    return [x for a in arrays for x in _leaves(a)] if isinstance(arrays, list) else [arrays]


@public
def append(x: TensorLike, values: TensorLike, axis: int | None = None, *, out: Tensor | None = None
           ) -> Tensor:
    """Append ``values`` to ``x`` along an axis; both are flattened by default.

    :param values: Of the shape of ``x`` but for the axis; dtypes are promoted.
    :returns: A copy; a vector without an axis.
    :raises ShapeError: If shapes differ on another axis.
    :see: concat, insert, delete

    >>> ag.append(ag.tensor([1, 2]), [3])
    tensor([1, 2, 3])
    """
    a, b = pair(x, values)
    return concat([reshape(a, (-1,)), reshape(b, (-1,))], 0) if axis is None else \
        concat([a, b], axis)


def _fixed(index: Any, n: int) -> Any:
    """A key of one axis as a sorted-by-nothing array of positions, for what decides sizes."""
    if isinstance(index, slice):
        return np.arange(n)[index]
    if isinstance(index, Tensor):
        index = index.array
    empty = isinstance(index, list) and not index
    positions = np.zeros(0, np.int64) if empty else np.asarray(index)
    if positions.dtype.kind not in "biu":
        raise IndexError(f"places must be integers or booleans, not {positions.dtype}")
    if positions.dtype == bool:
        if positions.shape != (n,):
            raise IndexError(f"the mask has shape {positions.shape}, the axis {n} elements")
        return np.flatnonzero(positions)
    return positions


@public
def delete(x: TensorLike, obj: TensorLike, axis: int | None = None, *, out: Tensor | None = None
           ) -> Tensor:
    """Delete some slices of an axis; of the flat elements by default.

    :param obj: Which positions go; in a graph, a tensor of them decides the size of the result.
    :type obj: int, slice, or array_like of int or bool
    :returns: A copy; a vector without an axis.
    :raises IndexError: If a position or the axis is out of range.
    :see: insert, append, compress

    >>> ag.delete(ag.tensor([1, 2, 3]), 1)
    tensor([1, 3])
    """
    x, axis = _axis(x, axis)
    n = x.shape[axis]
    if isinstance(obj, Tensor) and not is_known(obj):
        mask = obj.dtype.kind == "b"
        kept = logical_not(obj) if mask else index_put(as_tensor(np.ones(n, bool)), obj, False)
        return getitem(x, (*[slice(None)] * axis, kept))
    positions = _fixed(obj, n)
    if ((positions < -n) | (positions >= n)).any():
        raise IndexError(f"place {obj} is out of range for {n} elements")
    return take(x, np.delete(np.arange(n), positions), axis)


def _axis(x: Any, axis: int | None) -> tuple[Tensor, int]:
    x = as_tensor(x)
    if axis is None:
        return reshape(x, (x.size,)), 0
    return x, shapes.axis_of(axis, x.ndim)


@public
def insert(x: TensorLike, obj: TensorLike, values: TensorLike, axis: int | None = None, *,
           out: Tensor | None = None) -> Tensor:
    """Insert values before some positions of an axis; of the flat elements by default.

    :like: delete
    :param obj: Before which positions of ``x``.
    :type obj: int, slice, or array_like of int or bool
    :param values: Broadcast to the positions; cast to the dtype of ``x``.
    :raises ShapeError: If the values do not fit.
    :see: delete, append

    >>> ag.insert(ag.tensor([1, 3]), 1, 2)
    tensor([1, 2, 3])
    """
    x, axis = _axis(x, axis)
    n = x.shape[axis]
    computed = isinstance(obj, Tensor) and not is_known(obj)
    _check_vector(obj)
    given = _positions(as_tensor(obj), n) if computed else _fixed(obj, n)
    new = written(to_write(values, x.dtype), x.dtype)
    if given.ndim == 0:  # NumPy: values for one position stand as they are
        new = reshape(new, (1,) * (x.ndim - new.ndim) + new.shape)
        new = moveaxis(new, 0, axis)
    positions = atleast_1d(as_tensor(given))
    if not computed and isinstance(n, int) and ((given < -n) | (given > n)).any():
        raise IndexError(f"place {obj} is out of range for {n} elements")
    if not computed and not isinstance(n, int):
        positions = _positions(positions, n)
    positions = where(positions < 0, positions + n, positions)
    alone = type(positions.shape[0]) is int and positions.shape[0] == 1
    if alone:  # as many as there are values
        new = reshape(new, (1,) * (x.ndim - new.ndim) + new.shape)
    count = new.shape[axis] if alone else positions.shape[0]
    region = (*x.shape[:axis], count, *x.shape[axis + 1:])
    new = broadcast_to(new, region)
    positions = broadcast_to(positions, (count,)) if alone else positions
    order = argsort(concat([arange(n) * 2 + 1, positions * 2], 0), 0)
    return take(concat([x, new], axis), order, axis)


def _check_vector(positions: Any) -> None:
    """Refuse positions of more than one axis."""
    shape = () if isinstance(positions, slice) else np.shape(positions)
    if len(shape) > 1:
        raise ShapeError(f"the places are a number or a vector, not of shape {shape}")


def _positions(index: Tensor, n: int) -> Tensor:
    """Indices that only compiled code knows, from -n to n."""
    if index.dtype.kind == "b":
        return flatnonzero(index)
    if index.dtype.kind not in "iu":
        raise IndexError(f"places must be integers or booleans, not {index.dtype}")
    return within(index, n + 1, called("insert", (index,)), least=-n, what="a place")


@public
def resize(x: TensorLike, new_shape: ShapeLike, *, out: Tensor | None = None) -> Tensor:
    """Another shape, filled with the elements again and again.

    :param new_shape: The sizes.
    :type new_shape: int or sequence of int
    :returns: A copy; zeros where ``x`` is empty.
    :raises ValueError: If a size is negative.
    :see: reshape, tile, pad

    >>> ag.resize(ag.tensor([1, 2]), (3,))
    tensor([1, 2, 1])
    """
    x = as_tensor(x)
    given: Any = new_shape
    shape = (given,) if np.ndim(given) == 0 else tuple(given)
    count = product(shape)
    if any(n < 0 for n in shape):
        raise ValueError(f"sizes must not be negative: {shape}")
    if x.size == 0:
        return broadcast_to(as_tensor(0, x.dtype), shape)
    flat = reshape(x, (x.size,))
    return reshape(tile(flat, max(-(-count // x.size), 1))[:count], shape)


@public
def trim_zeros(x: TensorLike, trim: str = "fb", axis: Axis = None, *, out: Tensor | None = None
               ) -> Tensor:
    """Without the zeros in front ("f") and behind ("b") along axes (all by default).

    :param trim: "f", "b" or both.
    :param axis: Along which axes; all by default.
    :returns: A copy of the box that holds all that is not zero.
    :raises ValueError: If ``trim`` has other letters.
    :see: nonzero, compress

    >>> ag.trim_zeros(ag.tensor([0, 0, 1, 2, 0]))
    tensor([1, 2])
    """
    if not isinstance(trim, str) or (trim := trim.lower()) not in ("f", "b", "fb", "bf"):
        raise ValueError(f"trim must be 'f', 'b' or 'fb', not {trim!r}")
    x = as_tensor(x)
    key: list[slice] = [slice(None)] * x.ndim
    for a in shapes.axes_of(axis, x.ndim):
        others = tuple(i for i in range(x.ndim) if i != a)
        n, held = x.shape[a], reduce.any(x != 0, others)
        low = reduce.min(where(held, arange(n), n), initial=n)
        high = reduce.max(where(held, arange(n) + 1, 0), initial=0)
        key[a] = slice(low if "f" in trim else None, high if "b" in trim else None)
    return copy(getitem(x, tuple(key)))


@planned
@public
def sliding_window_view(x: TensorLike, window_shape: ShapeLike, axis: Axis = None, *,
                        out: Tensor | None = None) -> Tensor:
    """All windows of a shape; their axes are the last ones.

    The result looks into ``x``: later changes of ``x`` show in it, and it cannot be changed itself.

    :param x: At least as many axes as the window.
    :param window_shape: Its sizes.
    :type window_shape: int or sequence of int
    :param axis: One for each size of the window; all axes by default.
    :type axis: int or sequence of int, optional
    :returns: On each axis ``n - size + 1`` windows, then the axes of the windows.
    :raises ValueError: If there are not as many sizes as axes.
    :raises ShapeError: If a window does not fit.
    :see: unfold, nn.functional.unfold

    >>> ag.sliding_window_view(ag.arange(4), 3)
    tensor([[0, 1, 2],
            [1, 2, 3]])
    """
    x = as_tensor(x)
    given: Any = window_shape
    sizes = (given,) if np.ndim(given) == 0 else tuple(given)
    if axis is None:
        axes = tuple(range(x.ndim))
    else:
        axes = tuple(shapes.axis_of(a, x.ndim) for a in np.atleast_1d(axis).tolist())
    if len(sizes) != len(axes):
        raise ValueError(f"{len(sizes)} sizes of the window for {len(axes)} axes")
    for a, n in zip(axes, sizes, strict=True):
        x = unfold(x, a, n)
    return x


@planned
@public
def ediff1d(x: TensorLike, to_end: TensorLike | None = None, to_begin: TensorLike | None = None, *,
            out: Tensor | None = None) -> Tensor:
    """Differences of neighbours among the flat elements, with more in front and behind.

    :param to_end, to_begin: Put behind and in front of the differences, as they are.
    :returns: A vector of the dtype of ``x``.
    :see: diff, gradient

    >>> ag.ediff1d(ag.tensor([1, 4, 9]), to_end=0)
    tensor([3, 5, 0])
    """
    x = as_tensor(x)
    flat = reshape(x, (x.size,))
    parts = [flat[1:] - flat[:-1]]
    if to_begin is not None:
        parts.insert(0, reshape(as_tensor(to_begin, x.dtype), (-1,)))
    if to_end is not None:
        parts.append(reshape(as_tensor(to_end, x.dtype), (-1,)))
    return concat(parts, 0) if len(parts) > 1 else parts[0]


@public
def sort_complex(x: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The last axis in order, by real and then by imaginary parts, as complex numbers.

    :param x: At least one axis.
    :returns: Complex, of the shape of ``x``.
    :raises ShapeError: If it has no axis.
    :see: sort

    >>> ag.sort_complex([3.0, 1.0])
    tensor([1.+0.j, 3.+0.j])
    """
    x = as_tensor(x)
    if not x.shape:
        raise ShapeError(f"{typed(x)} has no axis to sort: give a vector, or more")
    x = sort(x, -1)
    return x if x.dtype.kind == "c" else cast(x, dtypes.complex_of(dtypes.floating(x.dtype)))
