"""Indexing for writing: in place, as pure expressions, and adding up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.core import shapes
from agnesi.core.dispatch import apply, assign
from agnesi.core.ir.dims import Shape, is_settled, product
from agnesi.core.op import Op, typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import at_once, planned, public
from agnesi.core.shapes import need_shape
from agnesi.core.storage.leaves import COPY
from agnesi.core.storage.views import base_view
from agnesi.core.support import dtypes
from agnesi.core.support.config import HOOKS, MODE, TRACES
from agnesi.core.support.errors import ShapeError
from agnesi.core.support.record import record
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base import expand
from agnesi.ops.base.convert import as_tensor, written
from agnesi.ops.base.creation import filled, made
from agnesi.ops.base.gather.elements import Index, IndexSum, Picked, PickedPut
from agnesi.ops.base.gather.gather_scatter import (
    ScatterAdd,
    add_at,
    changing,
    selected,
    spread,
)
from agnesi.ops.base.literals import of_python, to_write
from agnesi.ops.base.movement import as_deep, reshape
from agnesi.ops.base.parameter_checks import no_longer
from agnesi.ops.base.select import where
from agnesi.ops.base.slices import FULL, Slice
from agnesi.ops.indexing.direct_writes import written_at_once
from agnesi.ops.indexing.index import along, as_index, other_rank, windowed
from agnesi.ops.indexing.index_parsing import (
    Keys,
    complete,
    entries_of,
    fitted_mask,
    is_mask,
    mask_or_indices,
    parse,
    view_of,
)
from agnesi.ops.indexing.join import Concat
from agnesi.ops.indexing.masked import part_of
from agnesi.ops.indexing.ranges import Arange
from agnesi.ops.indexing.spans import has_bounds

#: Elements of rows from which adding them is worth compiled code, and what each costs NumPy.
_MIN_ADDED_ELEMENTS, _ADD_MULTIPLY_ADDS = 1 << 12, 40


# -- operations -----------------------------------------------------------------------------
@record
class IndexPut(PickedPut):
    """The base with the elements at tensors of indices replaced; of repeated ones the last."""

    unique: bool = False

    def vjp(self, g: Tensor, y: Tensor, base: Tensor, new: Tensor,
            *indices: Tensor) -> tuple[Any, ...]:
        rest, part, *none = super().vjp(g, y, base, new, *indices)
        if part is not None and not self.unique:
            part = where(self._last(base, new, indices), part, 0)
        return rest, part, *none

    def _last(self, base: Tensor, new: Tensor, indices: tuple[Tensor, ...]) -> Tensor:
        """Which elements of the value stay: of those with equal indices the last."""
        common = shapes.broadcast(*(i.shape for i in indices))
        count = product(common)
        order = reshape(made(Arange(0, 1, count, dtypes.int64), count), common)
        axes = tuple(range(len(self.axes)))
        board = filled(tuple(base.shape[a] for a in self.axes), 0, dtypes.int64)
        written = apply(IndexPut(axes, 0), board, order, *indices)
        behind = new.ndim - self.at - len(common)
        stays = apply(Index(axes, 0), written, *indices) == order
        return reshape(stays, (*common, *(1,) * behind))


@record
class IndexAdd(Op):
    """The base with the operand added at tensors of indices; the rest stays, signs of zero too."""

    axes: tuple[int, ...]
    at: int
    name = "index_add"
    traits = frozenset(("raises", "composed"))
    work = changing

    @property
    def keep_inputs(self) -> tuple[int, ...]:  # type: ignore[override]
        return tuple(range(2, len(self.axes) + 2))

    def infer(self, base: Any, new: Any, *indices: Any) -> Any:
        need_shape(new.shape, selected(base.shape, self.axes, self.at, indices), "what is added")
        return base.shape, base.dtype

    def perform(self, base: np.ndarray, new: np.ndarray, *indices: np.ndarray) -> np.ndarray:
        rows = self.axes == (0,) and base.ndim > 1 and new.size >= _MIN_ADDED_ELEMENTS
        if rows and base.flags.c_contiguous and new.flags.c_contiguous:
            work = base.size + new.size * _ADD_MULTIPLY_ADDS
            if (found := HOOKS.run(self, (base, new, *indices), work)) is not None:
                return found
        result = base.copy()
        add_at(result, self.axes, self.at, new, indices)
        return result

    def decompose(self, base: Tensor, new: Tensor, *indices: Tensor) -> Tensor:
        return spread(ScatterAdd, base, new, self.axes, self.at, indices, self.name)

    def vjp(self, g: Tensor, y: Tensor, base: Tensor, new: Tensor,
            *indices: Tensor) -> tuple[Any, ...]:
        return g, apply(Index(self.axes, self.at), g, *indices), *(None,) * len(indices)

    def jvp(self, ts: Any, y: Tensor, base: Tensor, new: Tensor, *indices: Tensor) -> Any:
        if ts[1] is None:
            return ts[0]
        if ts[0] is None:
            return apply(IndexSum(self.axes, self.at, base.shape), ts[1], *indices)
        return apply(self, *ts[:2], *indices)


def put(x: Tensor, new: Tensor, axes: tuple[int, ...], at: int, indices: tuple[Tensor, ...],
        unique: bool = False) -> Tensor:
    """``x`` with the elements at the indices replaced by ``new``, which is broadcast.

    ``unique`` says that no element is named twice.
    """
    region = selected(x.shape, axes, at, indices)
    alone = all(n == 1 for i in indices for n in i.shape)
    op = IndexPut(axes, at, unique or alone)
    return apply(op, x, expand.broadcast_to(written(new, x.dtype), region), *indices)


# -- in place -------------------------------------------------------------------------------
def _same_view(value: Any, x: Tensor, keys: Keys) -> bool:
    """Return whether ``value`` is what ``x[key]`` gave before: the end of ``x[key] += v``."""
    view = value._view if isinstance(value, Tensor) else None
    return view is not None and view.base is x and view.op == keys.basic and keys.shape is None


def _fits(value: Tensor, shape: Any) -> Tensor:
    """The value broadcast to the region, without leading axes of size 1 that it has too many."""
    value = as_deep(value, len(shape))
    if value.shape != shape and is_settled((*value.shape, *shape)):
        try:
            fits = shapes.broadcast(value.shape, shape) == shape
        except ShapeError:
            fits = False
        if not fits:
            raise ShapeError(f"the value has shape {value.shape}, the indexed region {shape}")
    return expand.broadcast_to(value, shape)


def _masked(key: Any) -> Any:
    """The mask of ``x[mask] = value``, where the key is one mask of the first axes, no more."""
    entries = entries_of(key)
    rest = entries[1:]
    alone = all(e is Ellipsis for e in rest) and len(rest) < 2
    found = entries and is_mask(entries[0]) and alone and 0 not in entries[0].shape
    return entries[0] if found else None


def _under(mask: Any, x: Tensor) -> Tensor:
    mask = as_tensor(mask)
    complete(x, [mask])
    mask = fitted_mask(mask, x.shape[: mask.ndim])
    return reshape(mask, (*mask.shape, *(1,) * (x.ndim - mask.ndim)))


def _soon(x: Any = None, key: Any = None, value: Any = None, *more: Any) -> Any:
    """None once a value is written in the usual call of ``setitem``, else NotImplemented."""
    done = type(x) is Tensor and not more and written_at_once(x, key, value)
    return None if done else NotImplemented


def _new_value(x: Tensor, key: Any, value: Any) -> tuple[Tensor, Tensor] | None:
    """The tensor that is assigned to, and its whole new value; None where nothing is to do."""
    part = part_of(x, key)
    if part is not None:
        return part.view, part.filled(value)
    value = to_write(value, x.dtype)
    mask = _masked(key)
    if mask is not None and value.ndim == 0:
        return x, where(_under(mask, x), written(value, x.dtype), x)
    keys = parse(x, key)
    if not keys.indices and _same_view(value, x, keys):
        return None
    target = view_of(x, keys)
    value = written(value, x.dtype)
    if keys.indices:
        region = selected(target.shape, keys.axes, keys.at, keys.indices)
        new = _fits(value, region)
        return target, put(target, new, keys.axes, keys.at, keys.indices, keys.unique)
    return target, _fits(value, target.shape)


@at_once(_soon)
@public
def setitem(x: Tensor, key: Any, value: Any, /) -> None:
    """``x[key] = value`` in place, with NumPy's meaning.

    :param x: Must not be a leaf that requires grad while operations are recorded.
    :param key:
    :type key: int, slice, None, Ellipsis, tensor of int or bool, or a tuple of them
    :param value: Converted to the dtype of ``x`` and broadcast to the region.
    :type value: array_like

    >>> x = ag.zeros(4)
    >>> x[1:3] = 5
    >>> x
    tensor([0., 5., 5., 0.])
    """
    if MODE.get().fixed:
        raise TypeError("values of a function that is differentiated here cannot be assigned to; "
                        "make a new array, as with np.where or np.concatenate")
    if type(key) is Tensor:
        key = mask_or_indices(key)
    if TRACES.running and written_at_once(x, key, value):  # by another thread
        return
    if has_bounds(key):
        part, rest = windowed(x, key)
        part = part if rest is None else part[rest]
        new = written(as_tensor(value, x.dtype if of_python(value) else None), x.dtype)
        assign(x, Target(part).replaced(_fits(new, part.shape)))
        return
    change = _new_value(x, key, value)
    if change is not None:
        assign(*change)


# -- pure expressions -------------------------------------------------------------------------
@planned
@public
def index_put(x: TensorLike, key: object, value: TensorLike, *, accumulate: bool = False,
              out: Tensor | None = None) -> Tensor:
    """A new tensor: ``x`` with ``x[key]`` replaced by a value, or with the value added to it.

    :param x: It is left as it is.
    :param key: Which elements, as in ``x[key]``.
    :type key: int, slice, None, Ellipsis, tensor of int or bool, or a tuple of them
    :param value: Broadcast to the region.
    :param accumulate: Add, also for each of several equal indices.
    :returns: Of the shape and dtype of ``x``; gradients flow to ``x`` outside of the region and to
        ``value``.
    :raises IndexError: If an index is out of range, or there are more indices than axes.
    :raises ShapeError: If ``value`` does not broadcast to the region.
    :see: index_add, set_subtensor, scatter, put_along_axis, put

    >>> ag.index_put(ag.zeros(3), [0, 0, 2], 1.0, accumulate=True)
    tensor([2., 0., 1.])
    """
    x = as_tensor(x)
    part = part_of(x, key)
    if part is not None and part.view is x:
        return part.added(value) if accumulate else part.filled(value)
    value = to_write(value, x.dtype)
    mask = _masked(key)
    if mask is not None and value.ndim == 0:
        new = written(value, x.dtype)
        return where(_under(mask, x), x + new if accumulate else new, x)
    keys = parse(x, key)
    target = view_of(x, keys)
    shape: Shape = target.shape
    if keys.indices:
        shape = selected(shape, keys.axes, keys.at, keys.indices)
    new = _fits(written(value, x.dtype), shape)
    return _added(x, keys, target, new) if accumulate else _replaced(x, keys, target, new)


def _replaced(x: Tensor, keys: Keys, target: Tensor, new: Tensor) -> Tensor:
    if keys.indices:
        new = put(target, new, keys.axes, keys.at, keys.indices, keys.unique)
    elif keys.basic is None:  # all of it, in memory of its own
        return apply(COPY, reshape(new, x.shape))
    if keys.basic is None:
        return reshape(new, x.shape)
    return apply(keys.basic.put, x, reshape(new, keys.basic.infer(x)[0]))


def _added(x: Tensor, keys: Keys, target: Tensor, new: Tensor) -> Tensor:
    if keys.indices:
        new = apply(IndexAdd(keys.axes, keys.at), target, new, *keys.indices)
    else:
        new = target + new
    if keys.basic is None:
        return reshape(new, x.shape)
    return apply(keys.basic.put, x, reshape(new, keys.basic.infer(x)[0]))


class Target:
    """The steps by which an indexing expression ``x[key]`` was taken from its base.

    A key may take several operations: all but the last are marked as partial.
    """

    def __init__(self, part: Any) -> None:
        if not isinstance(part, Tensor):
            raise TypeError(f"the operand must be an indexed tensor, x[...], not {typed(part)}")
        self.part = part
        #: Operations with their indices, and what they were taken from, the last one first.
        self.steps: list[tuple[Any, tuple[Tensor, ...], Tensor]] = []
        while not self.steps or getattr(self._op(part), "partial", False):
            node: Any = part.node
            target = base_view(part)
            if target is not None:
                self.steps.append((target.op, tuple(map(symbol, target.operands)), target.base))
            elif isinstance(self._op(part), Index):
                self.steps.append(
                    (node.op, tuple(map(symbol, node.inputs[1:])), symbol(node.inputs[0])))
            elif getattr(self._op(part), "partial", False):
                self.steps.append((node.op, (), symbol(node.inputs[0])))
            else:
                raise TypeError("the operand must be an indexed tensor, x[...]" + (
                    "; the origin of an advanced selection is known in graphs only, so write "
                    "ag.index_put(x, key, value) here" if part.array is not None else
                    "; inputs are values of their own, so give x and the key, and index inside"
                    if node.op is None else ""))
            part = self.steps[-1][2]
        if type(self.steps[-1][0]) is expand.BroadcastTo:
            raise TypeError("the operand must be an indexed tensor, x[...]; several elements of "
                            "this one are one element of what it was broadcast from")

    @staticmethod
    def _op(part: Tensor) -> Any:
        """The operation that took a tensor from another one."""
        target = base_view(part)
        if target is not None:
            return target.op
        return part.node.op if part.array is None and part.node is not None else None

    def replaced(self, new: Tensor) -> Tensor:
        """``x`` with another value at the target."""
        return self.around(new, self.steps)

    def added(self, new: Tensor) -> Tensor:
        """``x`` with a value added at the target."""
        op, indices, base = self.steps[0]
        if isinstance(op, Index):  # an index that is named twice is added to twice
            total = apply(IndexAdd(op.axes, op.at), base, new, *indices)
            return self.around(total, self.steps[1:])
        return self.around(self.part + new, self.steps)

    @staticmethod
    def around(new: Tensor, steps: Sequence[tuple[Op, tuple[Tensor, ...], Tensor]]) -> Tensor:
        """The base of the first of the steps with another value at the target that they take."""
        for op, indices, base in steps:
            if isinstance(op, Index):
                new = put(base, new, op.axes, op.at, indices, isinstance(op, Picked))
            elif hasattr(op, "undo"):
                new = apply(op.undo(base.shape), new)
            else:
                new = apply(op.put, base, new)  # type: ignore[attr-defined]
        return new


def _beside(part: Tensor, value: Any) -> Tensor:
    new = to_write(value, part.dtype)
    return _fits(written(new, part.dtype), part.shape)


def _under_mask(taken: Any, value: Any, adding: bool) -> Tensor:
    """Replace the elements under a mask by a value, or add it to them."""
    part = taken.part
    if not taken.is_region:
        raise TypeError("the operand must be an indexed tensor, x[...], not what is computed from "
                        "one")
    if part.placed:
        return _at_indices(part, value, adding)
    new = part.added(value) if adding else part.filled(value)
    return new if part.view is part.source else Target(part.view).replaced(new)


def _at_indices(part: Any, value: Any, adding: bool) -> Tensor:
    """Put or add values at indices; where the mask is false, into an extra row that is dropped."""
    (op, indices, base), *outer = (target := Target(part.view)).steps
    axis, first = op.axes[0], indices[0]
    n = as_tensor(base.shape[axis])
    first = where(first < 0, first + n, first)
    first = where((first < 0) | (first >= n), n + 1, first)  # behind that row, which is an error
    indices = (where(part.mask, first, n), *indices[1:])
    row = (*base.shape[:axis], 1, *base.shape[axis + 1:])
    longer = apply(Concat(axis), base, filled(row, 0, base.dtype))
    if adding:
        new = apply(IndexAdd(op.axes, op.at), longer, part.values(value, base.dtype), *indices)
    else:
        new = put(longer, part.filled(value), op.axes, op.at, indices)
    kept = tuple((0, m, 1) if a == axis else FULL for a, m in enumerate(base.shape))
    return target.around(apply(Slice(kept), new), outer)


@planned
@public
def set_subtensor(part: Tensor, value: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """A new tensor: where ``part`` is ``x[key]``, ``x`` with that region replaced (Theano's).

    :param part: A tensor made by indexing, ``x[key]``.
    :param value: Broadcast to the shape of ``part``.
    :returns: Of the shape and dtype of ``x``, which is left as it is.
    :raises TypeError: If ``part`` is not made by indexing.
    :raises ShapeError: If ``value`` does not broadcast to ``part``.
    :see: inc_subtensor, index_put, copyto

    >>> x = ag.zeros(3)
    >>> ag.set_subtensor(x[1:], 2.0), x
    (tensor([0., 2., 2.]), tensor([0., 0., 0.]))
    """
    if part._lazy:
        return _under_mask(part, value, adding=False)
    return Target(part).replaced(_beside(part, value))


@planned
@public
def inc_subtensor(part: Tensor, value: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """A new tensor: where ``part`` is ``x[key]``, ``x`` with a value added there (Theano's).

    Equal indices add up.

    :like: set_subtensor
    :see: set_subtensor, index_put, index_add

    >>> ag.inc_subtensor(ag.ones(3)[1:], 2.0)
    tensor([1., 3., 3.])
    """
    if part._lazy:
        return _under_mask(part, value, adding=True)
    target = Target(part)
    return target.added(_beside(part, value))


# -- along an axis ----------------------------------------------------------------------------
def with_along(x: Tensor, index: Tensor, values: Any, axis: int) -> Tensor:
    """``x`` with the elements that ``index`` names along an axis replaced by values.

    :raises ValueError: If the index has another number of axes than ``x``.
    """
    if index.ndim != x.ndim:
        raise ValueError(other_rank("indices have", index, x))
    return put(x, as_tensor(values, x.dtype), tuple(range(x.ndim)), 0, along(x, index, axis))


def corner(x: Tensor, index: Tensor, axis: int) -> tuple[Tensor, ...]:
    """Like ``along``, over the region from the origin that an index smaller than ``x`` covers.

    :raises ShapeError: If the index has another number of axes, or is longer than ``x`` on one
        besides ``axis``.
    """
    text = (f"the index of shape {index.shape} must have the {x.ndim} axes of the operand of shape "
            f"{x.shape}, none but axis {axis} longer than there")
    if index.ndim != x.ndim:
        raise ShapeError(text)
    most = tuple(n if a == axis else m
                 for a, (n, m) in enumerate(zip(index.shape, x.shape, strict=True)))
    index = no_longer("scatter", index, most, text)
    region = apply(Slice(tuple(
        FULL if a == axis else (0, n, 1) for a, n in enumerate(index.shape)
    )), x)
    return along(region, index, axis)


@planned
@public
def scatter(x: TensorLike, axis: int, index: TensorLike, src: TensorLike, *,
            out: Tensor | None = None) -> Tensor:
    """A new tensor: ``x`` with elements of ``src`` put where ``index`` says (PyTorch's).

    :param x: It is left as it is.
    :param index: As many axes as ``x``; nowhere longer but on ``axis``.
    :type index: array_like of int
    :param src: At least as long as ``index`` everywhere, or broadcast to it.
    :returns: Of the shape and dtype of ``x``: ``src[i, j]`` goes to ``x[index[i, j], j]`` for axis
        0.
    :raises DTypeError: If the index is none of integers.
    :raises IndexError: If an index or the axis is out of range.
    :raises ShapeError: If ``index`` or ``src`` does not fit.
    :see: scatter_add, gather, put_along_axis, index_put

    >>> ag.scatter(ag.zeros(3), 0, ag.tensor([2, 0]), ag.tensor([5.0, 6.0]))
    tensor([6., 0., 5.])
    """
    x, index = as_tensor(x), as_index(index)
    axis = shapes.axis_of(axis, x.ndim)
    every = corner(x, index, axis)
    return put(x, source_of(src, index, x), tuple(range(x.ndim)), 0, every)


@planned
@public
def scatter_add(x: TensorLike, axis: int, index: TensorLike, src: TensorLike, *,
                out: Tensor | None = None) -> Tensor:
    """A new tensor: ``x`` with elements of ``src`` added where ``index`` says (PyTorch's).

    :like: scatter
    :see: scatter, gather, index_add, bincount

    >>> ag.scatter_add(ag.zeros(3), 0, ag.tensor([2, 2]), ag.tensor([5.0, 6.0]))
    tensor([ 0.,  0., 11.])
    """
    x, index = as_tensor(x), as_index(index)
    axis = shapes.axis_of(axis, x.ndim)
    every = corner(x, index, axis)
    return apply(IndexAdd(tuple(range(x.ndim)), 0), x, source_of(src, index, x), *every)


def source_of(src: Any, index: Tensor, x: Tensor) -> Tensor:
    """The elements of ``src`` that an index brings to indices of ``x``."""
    src = written(to_write(src, x.dtype), x.dtype)
    if src.ndim == index.ndim and src.ndim:
        src = apply(Slice(tuple((0, n, 1) for n in index.shape)), src)
    return expand.broadcast_to(src, index.shape)


@planned
@public
def index_add(x: TensorLike, axis: int, index: TensorLike, source: TensorLike, *,
              out: Tensor | None = None) -> Tensor:
    """A new tensor: ``x`` with slices of ``source`` added at indices of an axis (PyTorch's).

    :param x: At least one axis; it is left as it is.
    :param index: A vector of positions along the axis; equal ones add up.
    :type index: array_like of int
    :param source: As ``x``, but on the axis as long as ``index``.
    :returns: Of the shape and dtype of ``x``.
    :raises IndexError: If an index or the axis is out of range.
    :raises ShapeError: If ``source`` does not fit.
    :see: index_put, scatter_add, index_select, inc_subtensor

    >>> ag.index_add(ag.zeros((2, 2)), 0, ag.tensor([1, 1]), ag.ones((2, 2)))
    tensor([[0., 0.],
            [2., 2.]])
    """
    x = as_tensor(x)
    axis = shapes.axis_of(axis, x.ndim)
    new = written(to_write(source, x.dtype), x.dtype)
    at = as_index(index)
    wanted = tuple(at.size if a == axis else n for a, n in enumerate(x.shape))
    if at.ndim != 1 or new.ndim != x.ndim or (
            is_settled((*new.shape, *wanted)) and new.shape != wanted):
        raise ShapeError(f"the index must be a vector and the source have the shape {wanted}: "
                         f"that of the operand, with as many slices on axis {axis} as the index "
                         f"has elements; not {at.shape} and {new.shape}")
    return apply(IndexAdd((axis,), axis), x, new, at)
