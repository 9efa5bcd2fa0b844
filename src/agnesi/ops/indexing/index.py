"""Indexing: NumPy's basic and advanced keys, for reading.

A key is taken apart into a basic slice (a view), then tensors of indices on some axes.  Negative
indices count from the end.  Out of range is an IndexError, in compiled code too.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from agnesi.core import shapes
from agnesi.core.dispatch import apply, symbolic
from agnesi.core.integers import known_integer
from agnesi.core.ir.dims import Size, is_settled
from agnesi.core.op import Op, called, typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import at_once, planned, public
from agnesi.core.storage.views import taken
from agnesi.core.support.config import MODE
from agnesi.core.support.errors import DTypeError
from agnesi.core.support.tracing import is_known
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.base.convert import as_tensor, cast, common
from agnesi.ops.base.creation import made
from agnesi.ops.base.ensure import ensured_by
from agnesi.ops.base.literals import as_indices, of_python
from agnesi.ops.base.movement import Reshape, reshape
from agnesi.ops.base.select import clip, where
from agnesi.ops.base.slices import FULL, Slice
from agnesi.ops.indexing.index_parsing import (
    at_indices,
    mask_or_indices,
    new_axes,
    parse,
    plain,
    view_of,
)

_INT64 = np.dtype("int64")
#: Positions of an axis that are kept.
_MAX_COUNTED = 4096


# -- functions ------------------------------------------------------------------------------
#: Elements up to which few of them are chosen at once.
_FEW_ELEMENTS = 1024


def _chosen(x: Any = None, key: Any = None, *more: Any) -> Any:
    """Return the elements that a mask, or lists and tensors of numbers, choose of a tensor without
    gradients, else NotImplemented."""
    if more or type(x) is not Tensor or (data := x.array) is None or data.size > _FEW_ELEMENTS or (
            x._requires_grad and MODE.get().recording):
        return NotImplemented
    if type(key) is Tensor:
        key = key.array
        if key is None or key.dtype.kind != "b" or not key.ndim or (
                key.shape != data.shape[:key.ndim]):
            return NotImplemented
    elif isinstance(key, tuple):
        if (indices := at_indices(key)) is None:
            return NotImplemented
        try:
            return wrap(data[indices].copy())  # in row-major order
        except IndexError:
            return NotImplemented
    elif type(key) is not list or not key or set(map(type, key)) != {int}:
        return NotImplemented
    try:
        found = data[key]
    except IndexError:  # the function raises it in the user's words
        return NotImplemented
    return wrap(found if found.flags.c_contiguous else found.copy())  # row-major, as results are


@planned
@at_once(_chosen)
@public
def getitem(x: Tensor, key: Any, /) -> Tensor:
    """``x[key]`` with NumPy's meaning.

    :param x:
    :param key:
    :type key: int, slice, None, Ellipsis, tensor of int or bool, or a tuple of them
    :returns: A view for a basic key (integers, slices, None, Ellipsis); new memory otherwise.  A
        single element is a number, as in NumPy: writing to ``x`` later does not change it, ``y =
        x[0]; y += 1`` makes another one; methods such as ``x[0].add_(1)`` write into ``x``.

    >>> x = ag.reshape(ag.arange(6), (2, 3))
    >>> x[:, [2, 0]]
    tensor([[2, 0],
            [5, 3]])
    """
    y = _selected(x, key)
    element = y._view is not None and not y.shape and x.shape
    return taken(y) if element and (type(key) is int or _names_element(key)) else y


def _names_element(key: Any) -> bool:
    """Return whether a key of an element has nothing else than a number for each axis."""
    return not any(e is Ellipsis or e is None for e in (key if isinstance(key, tuple) else (key,)))


def _selected(x: Tensor, key: Any) -> Tensor:
    """Return ``x[key]``: a view where NumPy would give one, a gather or a masked part elsewhere."""
    simple = plain(key, x.ndim)
    if simple is not None:
        return apply(Slice(simple), x)
    if type(key) is Tensor:
        key = mask_or_indices(key)
    if type(key) is Tensor and key.dtype.kind in "iu" and key.shape and x.shape:
        return apply(_index((0,), 0), x, key)
    if type(key) is Tensor and key.dtype.kind == "b" and key.shape and is_known(key) and (
            is_known(x) and key.shape == x.shape[:key.ndim]):
        chosen: Any = key.array
        return apply(_index(tuple(range(key.ndim)), 0), x, *map(wrap, chosen.nonzero()))
    if (found := new_axes(x, key)) is not None:
        return found
    from agnesi.ops.indexing.masked import part_of, selection
    from agnesi.ops.indexing.spans import has_bounds

    if has_bounds(key):
        x, key = windowed(x, key)
        return x if key is None else getitem(x, key)
    part = part_of(x, key)
    if part is not None:
        return selection(part)
    keys = parse(x, key)
    viewed = view_of(x, keys)
    if keys.indices:
        return apply(_index(keys.axes, keys.at), viewed, *keys.indices)
    return apply(Slice((FULL,) * x.ndim), x) if viewed is x else viewed


def _index(axes: tuple[int, ...], at: int) -> Op:
    """The operation that takes elements at tensors of indices."""
    from agnesi.ops.base.gather.elements import Index

    return Index(axes, at)


def _counting(n: Size) -> Op:
    """The operation that counts up to a size."""
    from agnesi.ops.indexing.ranges import Arange

    return Arange(0, 1, n, _INT64)


def windowed(x: Tensor, key: Any) -> tuple[Tensor, Any]:
    """``x`` with the slices of a key taken whose bounds are values, and what is left of the key."""
    from agnesi.ops.base.gather.elements import Window
    from agnesi.ops.indexing.spans import spans_of

    found, rest = spans_of(x, key)
    for n, (axis, indices, step) in enumerate(found):
        last = rest is None and n == len(found) - 1
        x = apply(Window((axis,), axis, not last, step), x, indices)
    return x, rest


def other_rank(what: str, index: Tensor, x: Tensor) -> str:
    """What is wrong with an index along an axis that has another number of axes than ``x``."""
    rest = "; expand_dims gives it more" if index.ndim < x.ndim else ""
    return (f"{what} {index.ndim} dimensions, the operand {x.ndim}: {typed(index)} along an axis "
            f"of {typed(x)}{rest}")


def as_index(index: Any) -> Tensor:
    """An operand as a tensor of integers."""
    t = as_indices(index)
    if t.dtype.kind not in "iu":
        raise DTypeError(f"indices must be integers, not {typed(t)}: convert them with "
                         ".astype('int64')")
    return t


@planned
@public
def take(x: TensorLike, indices: TensorLike, /, axis: int | None = None, *, mode: str = "raise",
         out: Tensor | None = None) -> Tensor:
    """Elements at indices along an axis, or of the flat elements.

    :param indices: Their shape stands for the axis.
    :type indices: array_like of int
    :param mode: What becomes of indices beyond the ends: an error, counted on from the other end,
        or the nearest one there is.
    :type mode: {"raise", "wrap", "clip"}
    :returns: The shape of ``x`` with that of ``indices`` instead of the axis; of the dtype of
        ``x``.
    :raises IndexError: If an index is out of bounds and ``mode`` is "raise", or the axis is out of
        range.
    :raises ValueError: If there is no such mode.
    :see: take_along_axis, gather, index_select, compress, choose

    >>> ag.take(ag.tensor([5, 6, 7]), [2, 0])
    tensor([7, 5])
    """
    x = as_tensor(x)
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    axis = shapes.axis_of(axis, x.ndim)
    return apply(_index((axis,), axis), x, checked_indices(indices, x.shape[axis], mode))


def checked_indices(indices: Any, size: Any, mode: str) -> Tensor:
    """Indices of an axis; those beyond its ends are brought inside as ``mode`` says."""
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"mode must be 'raise', 'wrap' or 'clip', not {mode!r}")
    index = as_index(indices)
    if mode == "clip":
        return clip(index, 0, size - 1)
    return index % size if mode == "wrap" else index


@functools.lru_cache(maxsize=256)
def _counted(n: int, axis: int, ndim: int) -> Tensor:
    """0 to n - 1 along one of so many axes, for eager programs."""
    positions = np.arange(n).reshape([n if a == axis else 1 for a in range(ndim)])
    positions.setflags(write=False)
    return wrap(positions)


def along(x: Tensor, index: Tensor, axis: int) -> tuple[Tensor, ...]:
    """Indices on every axis: ``index`` on one, the own position on the others."""
    every = []
    for a in range(x.ndim):
        if a == axis:
            every.append(index)
            continue
        n = x.shape[a]  # positions broadcast with the index, whichever of the two is 1
        if is_known(x, index) and n <= _MAX_COUNTED:
            every.append(_counted(n, a, x.ndim))
            continue
        op = _counting(n)
        counted = symbolic(op, ()) if index.array is None else made(op, n)
        every.append(apply(Reshape((*(1,) * a, n, *(1,) * (x.ndim - a - 1))), counted))
    return tuple(every)


@planned
@public
def take_along_axis(x: TensorLike, indices: TensorLike, /, axis: int | None = -1, *,
                    out: Tensor | None = None) -> Tensor:
    """Elements that ``indices`` names along an axis, position by position.

    :param indices: As many axes as ``x``; it broadcasts with ``x`` on the others than ``axis``.
    :type indices: array_like of int
    :param axis: An axis, counted from the end where negative; by default the elements are taken
        flat. Also written ``dim``.
    :type axis: int, optional
    :returns: ``x[..., indices[..., i, ...], ...]``: of the shape of ``indices``, the dtype of
        ``x``.
    :raises ValueError: If ``indices`` has another number of axes than ``x``.
    :raises IndexError: If an index or the axis is out of range.
    :see: put_along_axis, gather, take, argsort

    >>> x = ag.tensor([[3, 1], [2, 4]])
    >>> ag.take_along_axis(x, ag.tensor([[1], [0]]), 1)
    tensor([[1],
            [2]])
    """
    x, index = as_tensor(x), as_index(indices)
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    axis = shapes.axis_of(axis, x.ndim)
    if index.ndim != x.ndim:
        raise ValueError(other_rank("indices have", index, x))
    return apply(_index(tuple(range(x.ndim)), 0), x, *along(x, index, axis))


@planned
@public
def gather(x: TensorLike, axis: int, index: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """``take_along_axis`` with PyTorch's name and order; the index may be smaller than ``x``.

    :param index: As many axes as ``x``; on the others than ``axis`` it may be shorter.
    :type index: array_like of int
    :returns: ``x[..., index[i, j, k], ...]`` for every index; of the shape of ``index`` and the
        dtype of ``x``.
    :raises ValueError: If ``index`` has another number of axes than ``x``.
    :raises IndexError: If an index or the axis is out of range.
    :see: take_along_axis, scatter, take

    >>> ag.gather(ag.tensor([[3, 1], [2, 4]]), 1, ag.tensor([[1], [0]]))
    tensor([[1],
            [2]])
    """
    x, index = as_tensor(x), as_index(index)
    axis = shapes.axis_of(axis, x.ndim)
    if index.ndim != x.ndim:
        raise ValueError(other_rank("the index has", index, x))
    if any(a != axis and is_settled((n, m)) and n > m
           for a, (n, m) in enumerate(zip(index.shape, x.shape, strict=True))):
        raise IndexError(f"the index of shape {index.shape} is longer than the operand of shape "
                         f"{x.shape} on another axis than {axis}")
    known = is_known(x, index)
    every = [
        index if a == axis
        else _counted(n, a, x.ndim) if known and n <= _MAX_COUNTED
        else reshape(made(_counting(n), n), [n if b == a else 1 for b in range(x.ndim)])
        for a, n in enumerate(index.shape)
    ]
    return apply(_index(tuple(range(x.ndim)), 0), x, *every)


@planned
@public
def select(x: TensorLike, axis: TensorLike, index: TensorLike = 0, *,
           default: TensorLike | None = None, out: Tensor | None = None) -> Tensor:
    """The slice at one position of an axis (PyTorch's); or elements by conditions (NumPy's).

    :param x: An operand, or the conditions.
    :type x: array_like, or list of bool array_like
    :param axis: Its axis, or what to take where each condition holds; of several, the first counts.
    :type axis: int, or list of array_like
    :param index: Which slice, or what to take where no condition holds.
    :type index: int, or array_like
    :param default: NumPy's name for the latter.
    :returns: A view without the axis; or elements of the choices, broadcast with the conditions.
    :raises TypeError: If the index is a boolean, or not one.
    :raises ValueError: If there are not as many choices as conditions, or none.
    :raises IndexError: If the axis or the index is out of range.
    :see: narrow, take, where, choose

    >>> ag.select(ag.tensor([[1, 2], [3, 4]]), 1, 0)
    tensor([1, 3])
    >>> v = ag.tensor([1, 2, 3, 4])
    >>> ag.select([v < 2, v > 3], [v, 10 * v], 0)
    tensor([ 1,  0,  0, 40])
    """
    if isinstance(axis, (list, tuple)):
        return _by_conditions(x, axis, index if default is None else default)
    x = as_tensor(x)
    if isinstance(index, (bool, np.bool_)) or (
            isinstance(index, Tensor) and index.dtype.kind == "b"):
        raise TypeError(f"index must be an integer, not {typed(index)}")
    if isinstance(index, (list, tuple)) or getattr(index, "shape", None):
        raise TypeError(f"index must be one integer, not {typed(as_tensor(index))}: "
                        "index_select takes several")
    return getitem(x, (*(slice(None),) * shapes.axis_of(axis, x.ndim), index))


def _by_conditions(conditions: Any, choices: Any, default: Any) -> Tensor:
    if len(conditions) != len(choices):
        raise ValueError(f"{len(conditions)} conditions for {len(choices)} choices")
    if not len(conditions):
        raise ValueError("there is no condition to select by; give one or more")
    *values, result = common(*choices, default)
    for condition, value in zip(reversed(conditions), reversed(values), strict=True):
        result = where(condition, value, result)
    return result


@planned
@public
def narrow(x: TensorLike, axis: int, start: int, length: int, *, out: Tensor | None = None
           ) -> Tensor:
    """``length`` positions of an axis from ``start`` (PyTorch's name).

    :param x: At least one axis.
    :param start, length: The first position, and how many.
    :returns: A view.
    :raises IndexError: If the axis is out of range, or the elements are not all on it.
    :see: select, split, index_select

    >>> ag.narrow(ag.arange(5), 0, 1, 2)
    tensor([1, 2])
    """
    x = as_tensor(x)
    axis = shapes.axis_of(axis, x.ndim)
    size = x.shape[axis]
    if isinstance(start, Tensor) and is_known(start):
        start = known_integer(start, "start")
    if isinstance(size, int) and (of_python(start) and of_python(length)):
        first = start + size if start < 0 else start
        if not 0 <= first <= first + length <= size:
            raise IndexError(f"{length} elements from {start} on do not lie on axis {axis} of size "
                             f"{size}")
        return getitem(x, (*(slice(None),) * axis, slice(first, first + length)))
    if isinstance(start, Tensor) and isinstance(size, int) and isinstance(length, int):
        from agnesi.ops.base.gather.elements import Window
        from agnesi.ops.base.gather.gather_scatter import within

        first = within(start + size * (start < 0), size - length + 1, called("narrow", (x, start)),
                       least=0, what="the first position")
        indices = first + made(_counting(length), length)
        return apply(Window((axis,), axis), x, cast(indices, _INT64))
    begin: Any = start
    if isinstance(start, Tensor):
        begin = start + as_tensor(size) * (start < 0)
    elif of_python(start) and start < 0:
        begin = size + start
    least, many, most = as_tensor(begin), as_tensor(length), as_tensor(size)
    x = ensured_by("narrow", x, (least >= 0) & (many >= 0) & (least + many <= most),
                   f"the elements do not all lie on axis {axis}", "IndexError")
    return getitem(x, (*(slice(None),) * axis, slice(begin, begin + length)))
