"""Joining and splitting: concatenation, stacks, parts, borders, rolls."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np

from agnesi.core import shapes
from agnesi.core.dispatch import apply, graph_node
from agnesi.core.integers import check_integer, integer, known_integer
from agnesi.core.ir import loops
from agnesi.core.ir.dims import Dim, Size, combine, is_open, is_settled, is_static
from agnesi.core.ir.extents import Extent, UnknownSizeError
from agnesi.core.op import Op
from agnesi.core.parameter_types import Axis, ShapeLike, TensorLike
from agnesi.core.public import at_once, planned, public, where_torch
from agnesi.core.storage.leaves import COPY
from agnesi.core.storage.lists import MANY_OPERANDS, many_values
from agnesi.core.support import dtypes
from agnesi.core.support.config import HOOKS, MODE
from agnesi.core.support.errors import RankError, ShapeError, check_allocatable, typed
from agnesi.core.support.foreign import attribute_of
from agnesi.core.support.record import record
from agnesi.core.support.tracing import is_known
from agnesi.core.support.worker_threads import elements
from agnesi.core.tensor import Tensor, symbol, wrap
from agnesi.core.value_sizes import size_of
from agnesi.ops.base.arith import remainder, subtract
from agnesi.ops.base.convert import as_tensor, cast, common, written
from agnesi.ops.base.creation import filled
from agnesi.ops.base.ensure import ensured_by
from agnesi.ops.base.expand import broadcast_to, number_behind
from agnesi.ops.base.movement import (
    Reshape,
    atleast_1d,
    atleast_2d,
    atleast_3d,
    expand_dims,
    reshape,
)
from agnesi.ops.base.slices import FULL, Key, Slice, SlicePut, Unslice, flip, views
from agnesi.ops.indexing.index import take
from agnesi.ops.indexing.ranges import arange

#: More tensors, or elements, are joined as all others.
_FEW_TENSORS, _FEW_ELEMENTS = 8, 1 << 14


# -- concatenation ----------------------------------------------------------------------------
def _total(xs: Sequence[Any], axis: int) -> Size:
    total: Size = 0
    for x in xs:
        total = combine("+", total, x.shape[axis])
    return total


@record
class Concat(Op):
    """Concatenate the operands along an axis."""

    axis: int
    name = "concat"
    keep_inputs = ()
    inlines = True
    work = elements(2)

    def infer(self, *xs: Any) -> Any:
        first = xs[0].shape
        for x in xs[1:]:
            if len(x.shape) != len(first):
                raise RankError(f"operands have {len(first)} and {len(x.shape)} dimensions")
            for a, (n, m) in enumerate(zip(first, x.shape, strict=True)):
                if a != self.axis and n != m and is_settled((n, m)):
                    raise ShapeError(
                        f"sizes {n} and {m} differ on axis {a}; only axis {self.axis}, along "
                        "which operands are joined, may differ"
                    )
        shape = (*first[: self.axis], _total(xs, self.axis), *first[self.axis + 1:])
        return shape, xs[0].dtype

    def perform(self, *xs: np.ndarray) -> np.ndarray:
        return np.concatenate(xs, self.axis)

    def vjp(self, g: Tensor, y: Tensor, *xs: Tensor) -> tuple[Any, ...]:
        start: Size = 0
        results: list[Any] = []
        if (number := number_behind(g)) is not None:
            pieces = {n: graph_node(broadcast_to(number, n)) for n in {x.shape for x in xs}}
            return tuple([symbol(pieces[x.shape]) if x._requires_grad else None for x in xs])
        for x in xs:
            stop = combine("+", start, x.shape[self.axis])
            results.append(_cut(g, self.axis, start, stop) if x._requires_grad else None)
            start = stop
        return tuple(results)

    def jvp(self, ts: Any, y: Tensor, *xs: Tensor) -> Any:
        return apply(self, *(
            filled(x.shape, 0, x.dtype) if t is None else t for t, x in zip(ts, xs, strict=True)
        ))

    def parts(self, *xs: Any) -> list[loops.Part]:
        start, result = 0, []
        for x in xs:
            offset = tuple(start if a == self.axis else 0 for a in range(len(x.shape)))
            steps = (1,) * len(x.shape)
            result.append(loops.Part(offset, steps, x.shape, _reader(x)))
            start += x.shape[self.axis]
        return result

    boxes = parts


def _reader(x: Any) -> Any:
    return lambda at: x(*at)


def _cut(x: Tensor, axis: int, start: Any, stop: Any) -> Tensor:
    """The range [start, stop) of an axis."""
    return apply(Slice(_range(x, axis, start, stop)), x)


def _range(x: Tensor, axis: int, start: Any, stop: Any) -> Key:
    """The key of the range [start, stop) of an axis."""
    return (*(FULL,) * axis, (start, stop, 1), *(FULL,) * (x.ndim - axis - 1))


def _joined(tensors: Sequence[Any], axis: Any) -> tuple[Tensor, ...]:
    if isinstance(axis, (Tensor, np.ndarray, list)):
        raise TypeError("the tensors to join come first, in one list or tuple, and then the axis: "
                        "write ([a, b], axis)")
    return _together(tensors)


def _together(tensors: Any) -> tuple[Tensor, ...]:
    """The tensors to join, promoted to one dtype; raises for sets, mappings, strings and empty
    collections."""
    if isinstance(tensors, (Set, Mapping, str, bytes)):
        raise TypeError(f"the tensors to join come in a list or tuple, not {typed(tensors)}")
    iterator = isinstance(tensors, Iterator)
    tensors = tuple(tensors)
    if not tensors:
        raise ValueError("at least one operand is needed"
                         + "; an iterator gives its elements once" * iterator)
    if any([hasattr(kind, "_joined") for kind in {*map(type, tensors)}]):  # a sparse one
        return tensors
    return common(*tensors)


def _few_joined(arrays: Any = None, *more: Any, axis: Any = 0, dim: Any = None) -> Any:
    """The usual call of :func:`concat`, of few tensors of few elements and one dtype, without
    gradients: sizes that grow from call to call, as of a cache, have no plans."""
    if type(arrays) not in (list, tuple) or not 0 < len(arrays) <= _FEW_TENSORS or len(more) > 1:
        return NotImplemented
    axis = more[0] if more else axis if dim is None else dim
    found: list[np.ndarray] = []
    recording = MODE.get().recording
    for x in arrays:
        if type(x) is not Tensor or (data := x.array) is None or data.size > _FEW_ELEMENTS or (
                x._requires_grad and recording) or (found and data.dtype is not found[0].dtype):
            return NotImplemented
        found.append(data)
    if type(axis) is not int or not -found[0].ndim <= axis < found[0].ndim:
        return NotImplemented
    try:
        return wrap(np.asarray(np.concatenate(found, axis), order="C"))
    except ValueError:  # the function raises it in the user's words
        return NotImplemented


@planned
@at_once(_few_joined)
@public
def concat(arrays: Sequence[Any], /, axis: int | None = 0, *, out: Tensor | None = None) -> Tensor:
    """Concatenate tensors along an axis; with ``axis=None`` they are flattened first.

    :param arrays: Of equal shapes but for the axis; dtypes are promoted.
    :param axis: The axis along which they are joined; None flattens them first.
    :type axis: int or None
    :returns: Of the promoted dtype; the sizes of the axis add up.
    :raises ShapeError: If shapes differ on another axis, or for numbers, which have no axes.
    :raises ValueError: If there are no arrays.
    :raises IndexError: If the axis is out of range.
    :raises TypeError: If the tensors do not come in one list or tuple.
    :see: stack, hstack, vstack, dstack, block, split

    >>> ag.concat([ag.arange(2), ag.arange(3)])
    tensor([0, 1, 0, 1, 2])
    """
    for kind in {*map(type, arrays)} if isinstance(arrays, (list, tuple)) else ():
        if of_sparse := getattr(kind, "_joined", None):
            found: Tensor = of_sparse(arrays, 0 if axis is None else axis)
            return found
    xs = _joined(arrays, axis)
    if axis is None:
        xs, axis = tuple(reshape(x, (-1,)) for x in xs), 0
    if xs[0].ndim == 0:
        raise ShapeError("numbers cannot be joined along an axis; use stack")
    return apply(Concat(shapes.axis_of(axis, xs[0].ndim)), *xs)


@planned
@public
def stack(arrays: Sequence[Any], /, axis: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors of one shape along a new axis.

    :like: concat
    :param arrays: Of one shape; dtypes are promoted.
    :param axis: Where the new axis stands in the result.
    :returns: With one axis more, as long as ``arrays``.
    :raises ShapeError: If the shapes differ.
    :see: concat, unstack, hstack, vstack, column_stack

    >>> ag.stack([ag.arange(2), ag.arange(2)], axis=1)
    tensor([[0, 0],
            [1, 1]])
    """
    xs = _joined(arrays, axis)
    axis = shapes.axis_of(axis, xs[0].ndim + 1)
    if (values := many_values(xs)) is not None:
        return wrap(np.ascontiguousarray(np.moveaxis(values, 0, axis)))
    first = (xs[0].array if xs[0].array is not None else xs[0]).shape
    known = is_static(first)
    for x in xs[1:]:
        if (x.shape if x.array is None else x.array.shape) != first:
            if is_settled((*x.shape, *first)):
                raise ShapeError(
                    f"shapes {xs[0].shape} and {x.shape} differ; stack takes equal ones")
            known = False
    if len(xs) >= MANY_OPERANDS and axis < xs[0].ndim and is_static(xs[0].shape):
        return reshape(apply(Concat(axis), *xs),
                       (*xs[0].shape[:axis], len(xs), *xs[0].shape[axis:]))
    if not known:
        return apply(Concat(axis), *(expand_dims(x, axis) for x in xs))
    with_axis = Reshape((*first[:axis], 1, *first[axis:]))  # one operation is compared once
    return apply(Concat(axis), *[apply(with_axis, x) for x in xs])


HOOKS.stack = stack


@planned
@public
def hstack(tensors: Sequence[Any], *, out: Tensor | None = None) -> Tensor:
    """Stack tensors side by side: concatenate along axis 1, vectors along axis 0.

    :param tensors: Of equal shapes but for the axis along which they are joined; dtypes are
        promoted.
    :returns: Of the promoted dtype.
    :raises ShapeError: If shapes differ on another axis.
    :raises ValueError: If there are no tensors.
    :raises TypeError: If the tensors do not come in one list or tuple.
    :see: vstack, dstack, concat, hsplit, column_stack

    >>> ag.hstack([ag.ones(1), ag.zeros(1)])
    tensor([1., 0.])
    """
    xs: Sequence[Tensor] = _together(tensors)
    if not xs[0].ndim and (values := many_values(xs)) is not None:
        return wrap(values)
    xs = [x if x.ndim else atleast_1d(x) for x in xs]
    return concat(xs, 0 if xs[0].ndim == 1 else 1)


@planned
@public
def vstack(tensors: Sequence[Any], *, out: Tensor | None = None) -> Tensor:
    """Tensors one above the other: along axis 0, vectors as rows.

    :like: hstack
    :see: hstack, dstack, concat, vsplit

    >>> ag.vstack([ag.ones(2), ag.zeros(2)])
    tensor([[1., 1.],
            [0., 0.]])
    """
    xs = _together(tensors)
    if xs[0].ndim < 2 and (values := many_values(xs)) is not None:
        return wrap(values if values.ndim > 1 else values[:, None])
    return concat([atleast_2d(x) for x in xs], 0)


@planned
@public
def dstack(tensors: Sequence[Any], *, out: Tensor | None = None) -> Tensor:
    """Stack tensors in depth: concatenate them along axis 2.

    :like: hstack
    :see: hstack, vstack, concat, dsplit

    >>> ag.dstack([ag.ones((2, 3)), ag.zeros((2, 3))]).shape
    (2, 3, 2)
    """
    return concat([atleast_3d(x) for x in _together(tensors)], 2)


# -- splitting ----------------------------------------------------------------------------------
@where_torch
@planned
@public
def split(x: TensorLike, sections: ShapeLike, axis: int = 0) -> list[Tensor]:
    """Parts of an axis: a number of equal ones, or cut before the indices given (NumPy's).

    :param x: To be cut; at least one axis.
    :param sections: A number of equal parts, or the positions before which to cut.
    :type sections: int or sequence of int
    :returns: Views.
    :raises ValueError: If the axis does not divide into so many equal parts.
    :see: array_split, chunk, hsplit, vsplit, dsplit, concat

    >>> ag.split(ag.arange(4), 2)
    [tensor([0, 1]), tensor([2, 3])]
    """
    x = as_tensor(x)
    axis = shapes.axis_of(axis, x.ndim)
    n = x.shape[axis]
    cuts: list[Any]
    given: Any = sections
    if isinstance(given, (list, tuple)) or attribute_of(given, "ndim"):
        cuts = [0, *(c if isinstance(c, Dim) else known_integer(c, "a cut") for c in given),
                None]
    else:
        count = known_integer(sections, "the number of parts")
        if count < 1 or (isinstance(n, int) and n % count):
            raise ValueError(f"axis {axis} of size {n} does not divide into {count} equal parts; "
                             "array_split makes unequal ones, and split(x, size, dim=0) PyTorch's "
                             "of a size")
        if not isinstance(n, int):
            x = ensured_by("split", x, as_tensor(n) % count == 0,
                           f"axis {axis} does not divide into {count} equal parts")
        check_allocatable((count,), dtypes.int64)
        size = n // count
        cuts = [size * i for i in range(count)] + [n]
    return views(x, (_range(x, axis, a, b) for a, b in itertools.pairwise(cuts)))


@planned
@public
def chunk(x: TensorLike, chunks: int, axis: int = 0) -> list[Tensor]:
    """Split an axis into at most so many parts; the last may be smaller (PyTorch's).

    :param x: To be cut; at least one axis.
    :param chunks: How many parts at most; each has ``ceil(n / chunks)`` positions but the last.
    :returns: Views.
    :raises ValueError: If ``chunks`` is not positive.
    :see: split, array_split, unstack

    >>> ag.chunk(ag.arange(5), 2)
    [tensor([0, 1, 2]), tensor([3, 4])]
    """
    x = as_tensor(x)
    axis = shapes.axis_of(axis, x.ndim)
    n, chunks = operator.index(x.shape[axis]), known_integer(chunks, "chunks")
    if chunks < 1:
        raise ValueError(f"the number of chunks must be positive, not {chunks}")
    if not n:
        return [x] * chunks
    size = -(-n // chunks)
    return views(x, (_range(x, axis, a, min(a + size, n)) for a in range(0, n, size)))


@planned
@public
def unstack(x: TensorLike, /, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices along an axis, which goes.

    :param x: At least one axis, of known size.
    :returns: As many as the axis is long, without it; views.
    :see: stack, split, chunk

    >>> ag.unstack(ag.tensor([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """
    x = as_tensor(x)
    axis = shapes.axis_of(axis, x.ndim)
    before, behind = (FULL,) * axis, (FULL,) * (x.ndim - axis - 1)
    return tuple(views(x, ((*before, i, *behind) for i in range(operator.index(x.shape[axis])))))


#: How ``pad`` fills borders.


# -- borders ------------------------------------------------------------------------------------
def border_widths(pad_width: Any, ndim: int) -> list[tuple[Any, Any]]:
    """Border before and behind each axis, from NumPy's forms: n, (n,), (a, b), ((a, b), ...)."""
    try:
        given = np.asarray(_plain_widths(pad_width))
    except ValueError:  # its parts differ in length
        given = np.zeros((0, 0, 0))
    if given.dtype.kind == "f":  # counts beyond 64 bits beside others are not floats
        given = np.asarray(_plain_widths(pad_width), object)
    if given.ndim > 2 or given.shape[:-1] not in ((), (1,), (ndim,)) or given.shape[-1:] > (2,):
        raise ValueError(
            f"pad_width must be n, (before, after), or such a pair for each of {ndim} dimensions, "
            f"not {pad_width!r}"
        )
    widths = np.broadcast_to(given, (ndim, 2)).tolist()
    if not all(isinstance(n, Dim) or (type(n) is int and n >= 0) for n in itertools.chain(*widths)):
        raise ValueError(f"pad_width must hold integers that are not negative, not {pad_width!r}")
    return [(a, b) for a, b in widths]


def _plain_widths(widths: Any) -> Any:
    """Widths of borders with sizes instead of integer scalars whose values are not known."""
    if isinstance(widths, (list, tuple)):
        return [_plain_widths(n) for n in widths]
    if isinstance(widths, (bool, np.bool_)):  # which NumPy takes for a number beside others
        raise ValueError(f"pad_width must hold integers that are not negative, not {widths}")
    unknown = isinstance(widths, Tensor) and widths.array is None and widths.ndim == 0
    return size_of(widths, "a width") if unknown else widths


def pad(x: Any, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> Tensor:
    """``x`` with borders of numbers, or of its own elements."""
    x = as_tensor(x)
    widths = border_widths(pad_width, x.ndim)
    if mode == "constant":
        return _with_constants(x, widths, constant_values)
    for axis, (before, after) in enumerate(widths):
        if not before and not after:
            continue
        n = x.shape[axis]
        if isinstance(n, Extent) or n >= max(before, after) + 2:
            x = concat(_continued(x, axis, before, after, mode), axis)
        else:  # from elements that are in the border themselves
            positions: Any = np.arange(operator.index(n))
            check_allocatable((n + before + after,), positions.dtype)
            x = take(x, np.pad(positions, (before, after), mode), axis)  # type: ignore[call-overload]
    return x


def _continued(x: Tensor, axis: int, before: int, after: int, mode: str) -> list[Tensor]:
    """The borders of an axis that is longer than they are, and the operand between them."""
    n = x.shape[axis]
    if n < before + 2 or n < after + 2:
        raise UnknownSizeError(f"a border of {before} and {after} on an axis of {n}")

    def part(low: Any, high: Any) -> Tensor:
        key = [slice(None)] * x.ndim
        key[axis] = slice(low, high)
        return x[tuple(key)]

    def repeated(end: Tensor, times: int) -> Tensor:
        return broadcast_to(end, (*x.shape[:axis], times, *x.shape[axis + 1:]))

    if mode == "edge":
        ends = repeated(part(0, 1), before), repeated(part(n - 1, n), after)
    elif mode == "wrap":
        ends = part(n - before, n), part(0, after)
    else:
        by = int(mode == "reflect")  # whether the last element stands alone
        ends = (flip(part(by, before + by), axis), flip(part(n - after - by, n - by), axis))
    return [ends[0], x, ends[1]]


def _with_constants(x: Tensor, widths: list[tuple[int, int]], given: Any) -> Tensor:
    if np.ndim(given) == 0:
        return _bordered(x, widths, given)
    values = np.broadcast_to(np.asarray(given), (x.ndim, 2))
    if (values == values.flat[0]).all():
        return _bordered(x, widths, values.flat[0])
    for axis, (ends, borders) in enumerate(zip(widths, values, strict=True)):
        first, last = (
            filled((*x.shape[:axis], n, *x.shape[axis + 1:]), v, x.dtype)
            for n, v in zip(ends, borders, strict=True)
        )
        x = concat([first, x, last], axis)
    return x


def _bordered(x: Tensor, widths: list[tuple[int, int]], value: Any) -> Tensor:
    if not any(pair != (0, 0) for pair in widths):
        return apply(COPY, x)
    pairs = list(zip(widths, x.shape, strict=True))
    shape = tuple(before + n + after for (before, after), n in pairs)
    key = tuple((before, before + n, 1) for (before, _), n in pairs)
    if not isinstance(value, Tensor):
        as_tensor(value, x.dtype)  # which refuses what does not fit
    if isinstance(value, Tensor) or value != 0:
        if isinstance(value, Tensor) and value.ndim:
            raise TypeError("constant_values must be a number; use index_put for a tensor")
        around = (broadcast_to(written(value, x.dtype), shape) if isinstance(value, Tensor)
                  else filled(shape, value, x.dtype))
        return apply(SlicePut(key), around, x)
    return apply(Unslice(key, shape), x)


# -- rolling ------------------------------------------------------------------------------------
@planned
@public
def roll(x: TensorLike, /, shift: TensorLike, axis: Axis = None, *,
         out: Tensor | None = None) -> Tensor:
    """Elements moved on along axes; those that fall off the end come in at the start.

    :param shift: By how many positions, to the end where positive; one for each axis or one for
        all.
    :type shift: int or tuple of int
    :param axis: By default the flat elements are moved. Also written ``dim``.
    :returns: A copy, of the shape of ``x``.
    :raises ValueError: If there are not as many shifts as axes.
    :raises IndexError: If an axis is out of range.
    :see: flip, rot90

    >>> ag.roll(ag.arange(4), 1)
    tensor([3, 0, 1, 2])
    """
    x = as_tensor(x)
    if axis is None:
        whole = sum(shift) if isinstance(shift, (tuple, list)) else shift
        return reshape(roll(reshape(x, (-1,)), whole, 0), x.shape)
    axes = axis if isinstance(axis, (tuple, list)) else tuple(np.ravel(axis).tolist())
    given: Any = shift
    several = isinstance(given, (tuple, list)) or attribute_of(given, "ndim")
    shifts = tuple(given) if several else (given,) * len(axes)
    if len(axes) != len(shifts):
        raise ValueError(f"shift {shift} and axis {axis} must be as many")
    x = apply(COPY, x)  # where nothing moves, the result is still no view
    for by, a in zip(shifts, axes, strict=True):
        a = shapes.axis_of(a, x.ndim)
        n = x.shape[a]
        if isinstance(by, Tensor) and not is_known(by):
            check_integer(by, "shift")
            x = take(x, remainder(subtract(arange(n), cast(by, dtypes.int64)), n), a)
            continue
        by, modulus = integer(by, "shift"), combine("max", n, 1) if is_open(n) else n
        by = combine("%", by, modulus) if modulus != 0 else 0
        if isinstance(by, Dim) or by:
            x = apply(Concat(a), _cut(x, a, n - by, None), _cut(x, a, 0, n - by))
    return x
