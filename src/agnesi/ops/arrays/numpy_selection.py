"""Elements picked by conditions and numbers, and put where conditions and numbers say."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.core import shapes
from agnesi.core.dispatch import assign
from agnesi.core.ir.dims import is_settled
from agnesi.core.ir.extents import need_elements
from agnesi.core.op import called, typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import public
from agnesi.core.support import dtypes
from agnesi.core.support.errors import DTypeError, ShapeError, check_allocatable
from agnesi.core.support.tracing import is_known
from agnesi.core.tensor import Tensor
from agnesi.ops.arrays.replicate import broadcast_arrays, broadcast_to
from agnesi.ops.base.compare import equal, not_equal
from agnesi.ops.base.convert import as_tensor, cast, check_unmasked, common
from agnesi.ops.base.gather.gather_scatter import within
from agnesi.ops.base.movement import reshape
from agnesi.ops.base.select import nonzero, where
from agnesi.ops.indexing.index import as_index, checked_indices, getitem, take
from agnesi.ops.indexing.join import stack
from agnesi.ops.indexing.scatter import index_put, with_along
from agnesi.ops.reductions.running import cumsum

__all__ = [
    "choose",
    "compress",
    "copyto",
    "extract",
    "piecewise",
    "place",
    "put",
    "put_along_axis",
    "putmask",
]


@public
def choose(indices: TensorLike, choices: Sequence[Any], *, mode: str = "raise",
           out: Tensor | None = None) -> Tensor:
    """Select each element from one of several arrays, whose number ``indices`` gives there.

    :param indices: Numbers of arrays, from 0.
    :type indices: array_like of int
    :param choices: Broadcast with the indices and each other.
    :param mode: What to do with numbers that name no array.
    :type mode: {"raise", "wrap", "clip"}
    :returns: Of the broadcast shape and the promoted dtype of the choices.
    :raises ValueError: If there is no such mode.
    :raises ShapeError: If the shapes do not broadcast.
    :raises IndexError: If a number names no array and ``mode`` is "raise"; compiled code raises
        too.
    :see: select, where, take

    >>> ag.choose(ag.tensor([1, 0]), [[10, 20], [30, 40]])
    tensor([30, 20])
    """
    arrays = common(*choices)
    if is_known(known := as_tensor(indices)):
        check_allocatable(known.shape, arrays[0].dtype)
    index = checked_indices(indices, len(arrays), mode)
    if mode == "raise":
        index = _of_choices(index, len(arrays))
    index, *rows = broadcast_arrays(index, *arrays)
    found = stack(rows, -1).take_along_axis(reshape(index, (*index.shape, 1)), -1)
    return reshape(found, index.shape)


def _of_choices(index: Tensor, count: int) -> Tensor:
    """Numbers of choices, none of them counted from the end."""
    if not is_known(index):
        return within(index, count, called("choose", (index,)), least=0)
    if index.size and index.array.min() < 0:
        raise ValueError("an index is negative, and mode is 'raise'")
    return index


@public
def compress(condition: TensorLike, x: TensorLike, axis: int | None = None, *,
             out: Tensor | None = None) -> Tensor:
    """Select the slices of an axis where a vector is true; of the flat elements by default.

    :param condition: A vector; it may be shorter than the axis, or longer where it is false behind
        the axis' end.
    :type condition: array_like of bool
    :returns: As ``x``, but shorter on the axis.
    :raises ShapeError: If the condition is no vector.
    :raises IndexError: If it is true behind the axis' end.
    :see: extract, take, where

    >>> ag.compress([True, False, True], ag.tensor([1, 2, 3]))
    tensor([1, 3])
    """
    x, mask = as_tensor(x), _mask(condition)
    if mask.ndim != 1:
        raise ShapeError(f"the condition must be a vector, not of shape {mask.shape}")
    if axis is None:
        x, axis = reshape(x, (x.size,)), 0
    axis = shapes.axis_of(axis, x.ndim)
    front, most, size = (slice(None),) * axis, mask.shape[0], x.shape[axis]
    if most is not size and (not is_settled((most, size)) or most > size):
        return getitem(x, (*front, nonzero(mask)[0]))
    return getitem(getitem(x, (*front, slice(0, most))), (*front, mask))


@public
def extract(condition: TensorLike, x: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The flat elements where a condition holds.

    :param condition: Of as many elements as ``x``; what is not 0 counts as true.
    :returns: A vector.
    :raises TraceError: In the body of a loop or of ``vmap``, unless it is reduced there (``sum``,
        ``max``): sizes cannot change.
    :see: compress, place, where

    >>> ag.extract(ag.tensor([[True, False], [False, True]]), ag.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    x, mask = as_tensor(x), _mask(condition)
    return getitem(reshape(x, (x.size,)), mask.reshape(-1))


def _mask(condition: Any) -> Any:
    """Return the mask of nonzero elements; known masks stay known while a graph is written."""
    if isinstance(condition, Tensor):
        return not_equal(condition, 0)
    check_unmasked(condition)
    found = np.asarray(condition)
    return found != 0 if found.dtype.kind in "biufc" else as_tensor(condition)  # which refuses it


# -- in place -----------------------------------------------------------------------------------
def _target(x: Any) -> Tensor:
    if not isinstance(x, Tensor):
        raise TypeError(f"what is written to must be a Tensor, not {typed(x)}; ag.tensor(x) is one")
    return x


@public
def copyto(dst: Tensor, src: TensorLike, where: TensorLike = True) -> None:
    """Write ``src`` into ``dst``, in place, where a condition holds.

    :param dst: What is changed.
    :param src: It broadcasts to the shape of ``dst``.
    :param where: Where to write; everywhere by default.
    :type where: array_like of bool
    :raises TypeError: If ``dst`` is no tensor.
    :raises DTypeError: If ``src`` does not fit the dtype of ``dst``.
    :raises ShapeError: If the shapes do not fit.
    :see: putmask, Tensor.copy_, copy

    >>> x = ag.zeros(3)
    >>> ag.copyto(x, 1.0, where=ag.tensor([True, False, True]))
    >>> x
    tensor([1., 0., 1.])
    """
    dst = _target(dst)
    value = as_tensor(src, dst.dtype) if not isinstance(src, Tensor) else src
    if not dtypes.fits(as_tensor(src).dtype, dst.dtype):
        raise DTypeError(f"{typed(src)} does not fit into {typed(dst)}; write "
                         f".astype({dst.dtype.name!r}) of it")
    new = broadcast_to(cast(value, dst.dtype), dst.shape)
    assign(dst, new if where is True else _where(as_tensor(where), new, dst))


_where = where


def _repeated(values: Tensor, positions: Any) -> Tensor:
    """Values by number, from the start again where there are too few."""
    need_elements(values.size)
    if values.size == 0:
        raise ValueError("there are no values to put")
    return take(reshape(values, (values.size,)), positions % values.size)


@public
def put(x: Tensor, indices: TensorLike, values: TensorLike, mode: str = "raise") -> None:
    """Write values at positions among the flat elements, in place.

    :param x: What is changed.
    :param indices: Positions among the flat elements.
    :type indices: array_like of int
    :param values: Repeated where there are fewer than indices.
    :param mode: What becomes of indices beyond the ends: an error, counted on from the other end,
        or the nearest one there is.
    :type mode: {"raise", "wrap", "clip"}
    :raises TypeError: If ``x`` is no tensor.
    :raises ValueError: If there are no values, or no such mode.
    :raises IndexError: If a position is out of range and ``mode`` is "raise".
    :see: take, putmask, put_along_axis, index_put

    >>> x = ag.zeros(3)
    >>> ag.put(x, [0, 2], [5.0, 6.0])
    >>> x
    tensor([5., 0., 6.])
    """
    x = _target(x)
    index = reshape(checked_indices(indices, x.size, mode), (-1,))
    if index.size == 0:
        return
    new = _repeated(as_tensor(values, x.dtype), np.arange(index.shape[0]))
    assign(x, reshape(index_put(reshape(x, (x.size,)), index, new), x.shape))


@public
def put_along_axis(x: Tensor, indices: TensorLike, values: TensorLike, axis: int | None) -> None:
    """Write values where ``indices`` says along an axis, in place.

    :param x: What is changed.  Its method ``scatter`` gives a new tensor instead.
    :param indices: As many axes as ``x``.
    :type indices: array_like of int
    :param values: They broadcast to the shape of ``indices``.
    :param axis: None for positions among the flat elements; also written ``dim``.
    :raises TypeError: If ``x`` is no tensor.
    :raises ValueError: If ``indices`` has another number of axes than ``x``.
    :raises IndexError: If an index or the axis is out of range.
    :see: take_along_axis, scatter, index_put, put

    >>> x = ag.zeros((2, 2))
    >>> ag.put_along_axis(x, ag.tensor([[1], [0]]), 3.0, 1)
    >>> x
    tensor([[0., 3.],
            [3., 0.]])
    """
    x, index = _target(x), as_index(indices)
    if axis is None:
        flat = with_along(reshape(x, (x.size,)), index, values, 0)
        assign(x, reshape(flat, x.shape))
    else:
        assign(x, with_along(x, index, values, shapes.axis_of(axis, x.ndim)))


@public
def place(x: Tensor, mask: TensorLike, values: TensorLike) -> None:
    """Write the first values, one after another, where a mask is true, in place.

    :param x: What is changed.
    :param mask: Of the shape of ``x``; what is not 0 counts as true.
    :param values: Repeated where there are too few; cast to the dtype of ``x``.
    :raises TypeError: If ``x`` is no tensor.
    :raises ValueError: If there are no values.
    :see: putmask, extract, copyto

    >>> x = ag.zeros(4)
    >>> ag.place(x, x == 0, [1.0, 2.0])
    >>> x
    tensor([1., 2., 1., 2.])
    """
    x = _target(x)
    chosen = reshape(not_equal(as_tensor(mask), 0), (x.size,))
    ordinal = cumsum(cast(chosen, dtypes.int64)) - cast(chosen, dtypes.int64)
    new = reshape(_repeated(as_tensor(values, x.dtype), ordinal), x.shape)
    assign(x, _where(reshape(chosen, x.shape), new, x))


@public
def putmask(x: Tensor, mask: TensorLike, values: TensorLike) -> None:
    """Write the values at the same position (repeated, if fewer) where a mask is true, in place.

    :like: place
    :see: place, where, copyto

    >>> x = ag.zeros(4)
    >>> ag.putmask(x, ag.tensor([True, False, False, True]), [1.0, 2.0])
    >>> x
    tensor([1., 0., 0., 2.])
    """
    x = _target(x)
    new = reshape(_repeated(as_tensor(values, x.dtype), np.arange(x.size)), x.shape)
    assign(x, _where(not_equal(as_tensor(mask), 0), new, x))


@public
def piecewise(x: TensorLike, condlist: TensorLike, funclist: Sequence[Any], *args: Any,
              out: Tensor | None = None, **keywords: Any) -> Tensor:
    """Functions on the positions where their conditions hold; of several, the last.

    :param condlist: Of the shape of ``x``, or of its first axes. A tensor with several axes is a
        condition for each of its rows, and one with a single axis one condition.
    :type condlist: sequence of array_like of bool, or one
    :param funclist: One for each condition, and optionally one for all others (0 by default).
        All are computed on the whole of ``x``, but for those that give one number, such as a sum,
        which are computed of the elements that are chosen; gradients come from these alone.
    :type funclist: sequence of callables or numbers
    :param *args: Handed to the functions.
    :param **keywords: Handed to the functions.
    :returns: Of the shape and dtype of ``x``.
    :raises ValueError: If there are not as many functions as conditions, or one more.
    :raises ShapeError: If a condition has not the sizes of the first axes of ``x``.
    :see: select, where, choose

    >>> x = ag.tensor([-2.0, 3.0])
    >>> ag.piecewise(x, [x < 0, x >= 0], [lambda v: -v, lambda v: 10 * v])
    tensor([ 2., 30.])
    """
    x = as_tensor(x)
    conditions = [_condition(c, x) for c in _listed(condlist, x)]
    functions = list(funclist)
    if len(functions) == len(conditions):
        functions.append(0)
    if len(functions) != len(conditions) + 1:
        raise ValueError(f"{len(conditions)} conditions for {len(funclist)} functions")
    others = equal(functools.reduce(operator.or_, conditions), False)
    result = broadcast_to(_on(functions[-1], others, x, args, keywords), x.shape)
    for chosen, f in zip(conditions, functions, strict=False):
        result = where(chosen, _on(f, chosen, x, args, keywords), result)
    return result


def _on(function: Any, chosen: Tensor, x: Tensor, args: Any, keywords: Any) -> Tensor:
    """A function of ``x``, or of the chosen elements alone where it gives one number of them."""
    found = function(x, *args, **keywords) if callable(function) else function
    if isinstance(found, Tensor) and callable(function) and x.ndim and not found.ndim:
        found = function(getitem(x, broadcast_to(chosen, x.shape)), *args, **keywords)
    return cast(as_tensor(found, x.dtype), x.dtype)


def _listed(condlist: Any, x: Tensor) -> Any:
    """The conditions of ``piecewise``, a list of them or a single one, as NumPy takes it."""
    if getattr(condlist, "ndim", 1) == 0 or not isinstance(
            condlist, (list, tuple, np.ndarray, Tensor)):
        return [condlist]
    first = condlist[0]
    rows = isinstance(first, list) or getattr(first, "ndim", 0) > 0
    return condlist if rows or x.ndim == 0 else [condlist]



def _condition(condition: Any, x: Tensor) -> Tensor:
    """Whether each position of ``x`` is chosen, by a condition on its first axes."""
    chosen = not_equal(as_tensor(condition), 0)
    shapes.need_shape(chosen.shape, x.shape[:chosen.ndim], "a condition")
    return reshape(chosen, (*chosen.shape, *(1,) * (x.ndim - chosen.ndim)))
