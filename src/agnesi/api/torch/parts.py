"""Parts of tensors, taken and replaced in PyTorch's words; nothing is changed in place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.api import functions as F
from agnesi.api.tensor.pytorch import parts_of
from agnesi.api.torch.texts import torch
from agnesi.core import shapes
from agnesi.core.integers import known_integer
from agnesi.core.op import typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.support import dtypes
from agnesi.core.support.errors import DTypeError, ShapeError
from agnesi.core.tensor import Tensor
from agnesi.ops.arrays.replicate import repeat
from agnesi.ops.base import creation, select
from agnesi.ops.base.convert import as_tensor, beside, cast, written
from agnesi.ops.base.ensure import ensure, ensured_by
from agnesi.ops.base.movement import moveaxis, permute_dims, reshape
from agnesi.ops.indexing.index import as_index
from agnesi.ops.indexing.join import concat
from agnesi.ops.indexing.scatter import index_put
from agnesi.ops.reductions.running import cumsum

__all__ = ["broadcast_tensors", "diag_embed", "diagonal_scatter", "index_copy", "index_fill",
           "masked_scatter", "masked_select", "narrow_copy", "repeat_interleave", "select_scatter",
           "slice_scatter", "split_with_sizes", "t", "take_along_dim", "unflatten",
           "unique_consecutive"]

_NEW = "Tensor | Of the shape and dtype of ``x``, in memory of its own."
_RANGE = "IndexError | If the axis or a place is out of range."
_FITS = _RANGE + "\nShapeError | If what is written does not fit."


def _key(x: Tensor, axis: int, entry: Any) -> tuple[Any, ...]:
    return (*[slice(None)] * shapes.axis_of(axis, x.ndim), entry)


# -- views ------------------------------------------------------------------------------------
@torch("Tensor | A view.",
       "swapaxes, matrix_transpose", ">>> ag.t(ag.ones(2, 3)).shape\n(3, 2)",
       "ShapeError | If there are more than two axes.", x="array_like | Of two axes at most.")
def t(x: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """A matrix with its axes swapped; a vector or number as it is."""
    x = as_tensor(x)
    if x.ndim > 2:
        raise ShapeError(f"t() takes at most two axes, not {typed(x)}; use ag.swapaxes or .mT")
    return permute_dims(x) if x.ndim == 2 else x


@torch("Tensor | A view where memory allows it.", "reshape, flatten",
       ">>> ag.unflatten(ag.arange(6), 0, (2, -1)).shape\n(2, 3)",
       "ShapeError | If the sizes do not fit.\n" + _RANGE,
       sizes="sequence of int | Their sizes, of which one may be -1.")
def unflatten(x: TensorLike, axis: int, sizes: Sequence[Any], *, out: Tensor | None = None
              ) -> Tensor:
    """An axis as several ones."""
    x = as_tensor(x)
    at = shapes.axis_of(axis, x.ndim)
    wanted = sizes = tuple(sizes)
    if sizes.count(-1) == 1 and (known := math.prod(n for n in sizes if n != -1)) != 0:
        sizes = tuple(x.shape[at] // known if n == -1 else n for n in sizes)
    if -1 in sizes or math.prod(sizes) != x.shape[at]:
        raise ShapeError(f"axis {axis} of {typed(x)} cannot have the sizes {wanted}")
    return reshape(x, (*x.shape[:at], *sizes, *x.shape[at + 1:]))


@torch("list of Tensor | Views.", "split, chunk",
       ">>> [len(p) for p in ag.split_with_sizes(ag.ones(3), [1, 2])]\n[1, 2]",
       "ValueError | If the sizes do not sum up to that of the axis.",
       split_sizes="sequence of int | The sizes.")
def split_with_sizes(x: TensorLike, split_sizes: Sequence[int], axis: int = 0) -> list[Tensor]:
    """Parts of an axis, of given sizes."""
    return parts_of(x, split_sizes, axis)


@torch("list of Tensor | Views.",
       "broadcast_arrays, broadcast_to",
       ">>> ag.broadcast_tensors(ag.ones(2), ag.ones(3, 1))[0].shape"
       "\n(3, 2)", "ShapeError | If the shapes do not broadcast.",
       tensors="array_like | Any number.")
def broadcast_tensors(*tensors: TensorLike) -> list[Tensor]:
    """Broadcast several tensors to one shape."""
    xs = [as_tensor(x) for x in tensors]
    shape = shapes.broadcast(*[x.shape for x in xs])
    return [F.broadcast_to(x, shape) for x in xs]


# -- copies of parts --------------------------------------------------------------------------
@torch("Tensor | In memory of its own.", "narrow",
       ">>> ag.narrow_copy(ag.arange(4), 0, 1, 2)\ntensor([1, 2])", _RANGE,
       start="int | Where it begins.", length="int | How long it is.")
def narrow_copy(x: TensorLike, axis: int, start: int, length: int, *, out: Tensor | None = None
                ) -> Tensor:
    """Part of an axis, copied."""
    return F.narrow(x, axis, start, length).clone()


@torch("Tensor | In memory of its own.", "repeat, tile",
       ">>> ag.repeat_interleave(ag.tensor([1, 2]), 2)\ntensor([1, 1, 2, 2])",
       "ValueError | If the counts do not fit.", axis="int, optional | An axis; without one, of "
       "the flat elements.", repeats="int or sequence of int | How often each element comes.",
       output_size="int, optional | How many there will be; not needed.")
def repeat_interleave(x: TensorLike, repeats: TensorLike, axis: int | None = None, *,
                      output_size: int | None = None, out: Tensor | None = None) -> Tensor:
    """Each element repeated, along an axis or of the flat elements."""
    found = repeat(x, repeats, axis)
    size = found.shape[0 if axis is None else axis]
    if None is not output_size != size and isinstance(size, int):
        raise ValueError(f"output_size is {output_size}, but the counts give {size} elements")
    if output_size is not None and not isinstance(size, int):
        found = ensured_by("repeat_interleave", found, as_tensor(size) == output_size,
                           f"the counts do not give output_size = {output_size} elements")
    return found


@torch("Tensor | A vector; in compiled code only "
       "where its length is known.", "masked_fill, masked_scatter, nonzero",
       ">>> x = ag.tensor([1, 2, 3])\n>>> ag.masked_select(x, x > 1)\ntensor([2, 3])",
       "ShapeError | If the shapes do not broadcast.\nDTypeError | If the mask is not bool.")
def masked_select(x: TensorLike, mask: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The elements where a mask holds, in order."""
    mask = as_tensor(mask)
    if mask.dtype != np.bool_:
        raise DTypeError(f"the mask must be bool, not {typed(mask)}; compare it (mask != 0)")
    x, mask = broadcast_tensors(x, mask)
    if mask.dtype.kind != "b":
        raise DTypeError(f"masked_select: the mask must be bool, not {typed(mask)}; compare it "
                         "(mask != 0), or write x[places] for places")
    return x[mask]


@torch("Tensor | Of the shape of the places, broadcast with ``x`` but for the axis.",
       "take_along_axis, gather", ">>> ag.take_along_dim(ag.tensor([3, 4]), ag.tensor([1]))\n"
       "tensor([4])", _RANGE, indices="array_like of int | The places.",
       axis="int, optional | The axis; also written ``dim``.")
def take_along_dim(x: TensorLike, indices: TensorLike, axis: int | None = None, *,
                   out: Tensor | None = None) -> Tensor:
    """Elements at places along an axis, one for each place; of the flat elements without one."""
    x, places = as_tensor(x), as_tensor(indices)
    if axis is None:
        return F.take_along_axis(reshape(x, (-1,)), reshape(places, (-1,)), 0)
    return F.take_along_axis(x, places, axis)


@torch("Tensor, or tuple of Tensor | The elements; then, where asked for, which one each was, and "
       "how many there were.", "unique", ">>> ag.unique_consecutive(ag.tensor([1, 1, 2, 1]))\n"
       "tensor([1, 2, 1])", _RANGE, return_inverse="bool | Whether to say which one each was.",
       return_counts="bool | Whether to count.",
       axis="int, optional | Whole slices of this axis are compared; also written ``dim``.")
def unique_consecutive(x: TensorLike, return_inverse: bool = False, return_counts: bool = False,
                       axis: int | None = None) -> Any:
    """Elements, and of those that are equal to the one before only the first."""
    x = as_tensor(x)
    rows = reshape(x, (-1,)) if axis is None else moveaxis(x, axis, 0)
    first = rows[1:] != rows[:-1]
    first = first if first.ndim == 1 else first.any(tuple(range(1, first.ndim)))
    first = concat([F.ones(rows[:1].shape[:1], dtypes.bool_), first])
    (places,) = F.nonzero(first)
    found = rows[places]
    results = [found if axis is None else moveaxis(found, 0, axis)]
    if return_inverse:
        inverse = cumsum(cast(first, dtypes.int64), 0) - 1
        results.append(reshape(inverse, x.shape) if axis is None else inverse)
    if return_counts:
        ends = concat([places, F.reshape(as_tensor(rows.shape[0], dtypes.int64), (1,))])[1:]
        results.append(ends - places)
    return results[0] if len(results) == 1 else tuple(results)


# -- parts replaced ---------------------------------------------------------------------------
@torch(_NEW, "index_copy, index_put, masked_fill",
       ">>> ag.index_fill(ag.ones(3), 0, ag.tensor([0, 2]), 5)\ntensor([5., 1., 5.])", _FITS,
       value="number or Tensor | What they become.")
def index_fill(x: TensorLike, axis: int, index: TensorLike, value: TensorLike, *,
               out: Tensor | None = None) -> Tensor:
    """Slices of an axis filled with one number."""
    x = as_tensor(x)
    return index_put(x, _key(x, axis, as_index(index)), value)


@torch(_NEW,
       "index_fill, index_add, index_put",
       ">>> ag.index_copy(ag.ones(3), 0, ag.tensor([2]), ag.tensor([5.0]))\ntensor([1., 1., 5.])",
       _FITS, source="array_like | The slices, as many as places.")
def index_copy(x: TensorLike, axis: int, index: TensorLike, source: TensorLike, *,
               out: Tensor | None = None) -> Tensor:
    """Slices of an axis replaced by those of another tensor."""
    x = as_tensor(x)
    return index_put(x, _key(x, axis, as_index(index)), source)


@torch("Tensor | Of the shape of ``x``.", "masked_fill, masked_select, where",
       ">>> x = ag.zeros(3)\n>>> ag.masked_scatter(x, ag.tensor([True, False, True]), "
       "ag.tensor([1.0, 2.0]))\ntensor([1., 0., 2.])",
       "ValueError | If there are too few, in compiled code too.",
       source="array_like | At least as many elements as the mask has places.")
def masked_scatter(x: TensorLike, mask: TensorLike, source: TensorLike, *,
                   out: Tensor | None = None) -> Tensor:
    """Elements where a mask holds, replaced by those of another tensor in order."""
    x, mask = broadcast_tensors(x, mask)
    source = reshape(beside(source, x), (-1,))
    places = cumsum(cast(reshape(mask, (-1,)), dtypes.int64), 0)
    count = places[-1] if x.ndim and x.numel() else mask.sum()
    fits = count <= source.shape[0]
    text = "masked_scatter: there are fewer elements than the mask has places"
    if source.shape[0] == 0 or x.numel() == 0:
        return ensure(x, fits, text).clone()
    source = ensure(source, fits, text)  # of x nothing may be left
    values = F.take(source, F.clip(places - 1, 0, source.shape[0] - 1), axis=0)
    return select.where(mask, reshape(written(values, x.dtype), x.shape), x)


@torch(_NEW, "select, slice_scatter",
       ">>> ag.select_scatter(ag.zeros(2, 2), ag.ones(2), 0, 1)\n"
       "tensor([[0., 0.],\n        [1., 1.]])", _FITS, src="array_like | The new slice.",
       index="int | Which one.")
def select_scatter(x: TensorLike, src: TensorLike, axis: int, index: int, *,
                   out: Tensor | None = None) -> Tensor:
    """A tensor with one slice of an axis replaced."""
    x = as_tensor(x)
    return index_put(x, _key(x, axis, index), src)


@torch(_NEW, "narrow, select_scatter",
       ">>> ag.slice_scatter(ag.zeros(3), ag.ones(2), 0, 1)\ntensor([0., 1., 1.])", _FITS,
       src="array_like | The new part.", start="int, optional | Where it begins.",
       end="int, optional | Where it ends.", step="int | From one to the next.")
def slice_scatter(x: TensorLike, src: TensorLike, axis: int = 0, start: int | None = None,
                  end: int | None = None, step: int = 1, *, out: Tensor | None = None) -> Tensor:
    """A tensor with part of an axis replaced."""
    x = as_tensor(x)
    ends: list[Any] = [None if n is None else known_integer(n, name)
            for n, name in ((start, "start"), (end, "end"))]
    return index_put(x, _key(x, axis, slice(ends[0], ends[1], known_integer(step, "step"))), src)


_AXES = {"offset": "int | Which diagonal; above the main one where positive.",
         "dim1": "int | The axis of rows.", "dim2": "int | The axis of columns."}


def _places(length: Any, offset: int) -> tuple[Tensor, Tensor]:
    """Rows and columns of a diagonal."""
    steps = creation.asarray(np.arange(length))
    return steps + max(-offset, 0), steps + max(offset, 0)


@torch("Tensor | One axis more.",
       "diag, diagonal, diagonal_scatter", ">>> ag.diag_embed(ag.tensor([1, 2])).tolist()\n"
       "[[1, 0], [0, 2]]", "IndexError | If an axis is out of range.",
       x="array_like | One axis or more.", **_AXES)
def diag_embed(x: TensorLike, offset: int = 0, dim1: int = -2, dim2: int = -1, *,
               out: Tensor | None = None) -> Tensor:
    """Matrices with the last axis on a diagonal, and zeros."""
    x = as_tensor(x)
    offset = known_integer(offset, "offset")
    n = x.shape[-1] + abs(offset)
    blank = creation.zeros((*x.shape[:-1], n, n), dtype=x.dtype)
    made = index_put(blank, (..., *_places(x.shape[-1], offset)), x)
    return moveaxis(made, (-2, -1), (dim1, dim2))


@torch(_NEW, "diagonal, diag_embed, fill_diagonal",
       ">>> ag.diagonal_scatter(ag.zeros(2, 2), ag.ones(2)).tolist()\n[[1.0, 0.0], [0.0, 1.0]]",
       _FITS, x="array_like | Two axes or more.", src="array_like | The new diagonal.", **_AXES)
def diagonal_scatter(x: TensorLike, src: TensorLike, offset: int = 0, dim1: int = 0, dim2: int = 1,
                     *, out: Tensor | None = None) -> Tensor:
    """A tensor with a diagonal replaced."""
    x = as_tensor(x)
    src = beside(src, x)
    offset = known_integer(offset, "offset")
    rows = moveaxis(x, (dim1, dim2), (-2, -1))
    made = index_put(rows, (..., *_places(src.shape[-1], offset)), src)
    return moveaxis(made, (-2, -1), (dim1, dim2))
