"""More of the same elements: broadcasting, copies, tiles, repetitions and windows."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from agnesi.core import shapes
from agnesi.core.dispatch import apply, symbolic
from agnesi.core.integers import integer, known_integer
from agnesi.core.ir.dims import Dim, Shape, Size, Sizes, is_open
from agnesi.core.op import typed
from agnesi.core.parameter_types import ShapeLike, TensorLike
from agnesi.core.public import planned, public, where_torch
from agnesi.core.shapes import broadcast as broadcast_of
from agnesi.core.storage.leaves import COPY
from agnesi.core.storage.strided import looking_into
from agnesi.core.storage.views import share
from agnesi.core.support import dtypes
from agnesi.core.support.config import HOOKS
from agnesi.core.support.errors import ShapeError
from agnesi.core.support.record import record
from agnesi.core.support.tracing import current_trace, is_known, is_tracing
from agnesi.core.tensor import Tensor
from agnesi.core.value_sizes import refusal, size_of
from agnesi.ops.base import expand as spread
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.creation import checked_sizes, made, sizes_of
from agnesi.ops.base.ensure import ensure
from agnesi.ops.base.gather.elements import IndexSum
from agnesi.ops.base.linearity import LinearOp
from agnesi.ops.base.movement import flatten, moveaxis, reshape
from agnesi.ops.base.reduce import sum as sum_
from agnesi.ops.indexing.index import take
from agnesi.ops.indexing.ranges import Arange

_INT64 = np.dtype("int64")


def _broadcast(x: Tensor, shape: Shape) -> Tensor:
    """``x`` broadcast, as a view: later changes of ``x`` show in it."""
    if x.shape == shape:
        return x
    extra = len(shape) - x.ndim
    if extra > 0 and shape[extra:] == x.shape and shape[:extra] == (1,) * extra:
        return reshape(x, shape)  # nothing is repeated, so that it may be written to
    planning = getattr(current_trace(), "plans", False)
    if planning or (x.array is not None and not is_tracing()):
        return apply(spread.BroadcastTo(shape, True), x)
    t = spread.broadcast_to(x, shape)
    share(t, spread.BroadcastTo(shape), x)
    return t


@planned
@public
def broadcast_to(x: TensorLike, /, shape: ShapeLike, *, out: Tensor | None = None) -> Tensor:
    """``x`` repeated along axes of size 1, and along new axes in front, to a shape.

    :param x: Of a shape that fits the last axes of ``shape``.
    :param shape: Sizes of the result.
    :returns: A view, which cannot be written to where elements are repeated.
    :raises ShapeError: If ``x`` does not broadcast to the shape.
    :see: expand, broadcast_arrays, tile

    >>> ag.broadcast_to(ag.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return _broadcast(as_tensor(x), sizes_of(shape))


@planned
@public
def broadcast_arrays(*arrays: Any) -> tuple[Tensor, ...]:
    """Broadcast all operands to their common shape.

    :param *arrays: Of any shapes that broadcast.
    :type *arrays: array_like
    :returns: Views, all of one shape.
    :raises ShapeError: If the shapes do not broadcast.
    :see: broadcast_to, broadcast_shapes, meshgrid

    >>> [t.shape for t in ag.broadcast_arrays(ag.zeros((2, 1)), ag.zeros(3))]
    [(2, 3), (2, 3)]
    """
    tensors = [as_tensor(x) for x in arrays]
    if not tensors:
        return ()
    shape = shapes.broadcast(*(t.shape for t in tensors))
    return tuple(_broadcast(t, shape) for t in tensors)


@public
def broadcast_shapes(*shapes: Any) -> Shape:
    """The common shape to which shapes are broadcast.

    :param *shapes: Of any lengths; sizes may be unknown ones, too.
    :type *shapes: int or tuple of int
    :returns: The shape; ``()`` of none.
    :rtype: tuple of int
    :raises ShapeError: If they do not broadcast.
    :raises ValueError: If a size is negative.
    :see: broadcast_arrays, broadcast_to

    >>> ag.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    return Sizes(broadcast_of(*map(checked_sizes, shapes)) if shapes else ())


@where_torch
@planned
@public
def meshgrid(*arrays: Any, indexing: str = "xy") -> tuple[Tensor, ...]:
    """The coordinates of all points of a grid, from vectors of coordinates along its axes.

    :param *arrays: Vectors (or numbers), one for each axis.
    :type *arrays: array_like
    :param indexing: "xy" lets the first one run along axis 1 and the second along axis 0, as on
        paper.
    :type indexing: {"xy", "ij"}
    :returns: One for each vector, all of the grid's shape.
    :raises ValueError: If ``indexing`` is another.
    :raises ShapeError: If an array has several axes.
    :see: mgrid, ogrid, ix_, indices

    >>> x, y = ag.meshgrid(ag.arange(3), ag.arange(2))
    >>> y
    tensor([[0, 0, 0],
            [1, 1, 1]])
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing must be 'xy' or 'ij', not {indexing!r}")
    vectors = [as_tensor(v) for v in arrays]
    if any(v.ndim > 1 for v in vectors):
        raise ShapeError(f"meshgrid takes vectors, not shapes {[v.shape for v in vectors]}")
    axes = list(range(len(vectors)))
    if indexing == "xy":
        axes[:2] = axes[:2][::-1]
    lined = [
        reshape(v, tuple(v.size if a == axis else 1 for a in range(len(vectors))))
        for v, axis in zip(vectors, axes, strict=True)
    ]
    return tuple(apply(COPY, t) for t in broadcast_arrays(*lined))


@planned
@public
def expand(x: TensorLike, *shape: Any, out: Tensor | None = None) -> Tensor:
    """Like ``broadcast_to``, where -1 keeps a size (PyTorch's name).

    :param x: Of a shape that fits the last axes of ``shape``.
    :param *shape: Sizes, as several arguments or one tuple; -1 keeps that of ``x``.
    :type *shape: int
    :returns: A view, which cannot be written to where elements are repeated.
    :raises ShapeError: If ``x`` does not broadcast to the shape, or has more axes.
    :see: broadcast_to, repeat, tile

    >>> ag.expand(ag.zeros((3, 1)), -1, 4).shape
    (3, 4)
    """
    x = as_tensor(x)
    sizes = sizes_of(shape[0] if len(shape) == 1 else shape)
    extra = len(sizes) - x.ndim
    if extra < 0:
        raise ShapeError(f"shape {sizes} has fewer axes than {x.shape}")
    own = ((-1,) * extra + x.shape)
    target = tuple(
        mine if n == -1 and not isinstance(n, Dim) else n
        for n, mine in zip(sizes, own, strict=True)
    )
    return _broadcast(x, target)


@planned
@public
def copy(x: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """A copy of the tensor, in memory of its own.

    :param x: Of any shape and dtype.
    :returns: It shares no memory with ``x``; gradients flow to ``x``.
    :see: tensor, asarray, Tensor.clone, copyto

    >>> x = ag.ones(2)
    >>> y = ag.copy(x)
    >>> y[0] = 5
    >>> x
    tensor([1., 1.])
    """
    return apply(COPY, as_tensor(x))


@planned
@public
def tile(x: TensorLike, /, reps: ShapeLike, *, out: Tensor | None = None) -> Tensor:
    """The whole repeated along axes.

    :param reps: How often along each axis, the last ones last.
    :type reps: int or tuple of int
    :returns: ``max(x.ndim, len(reps))`` axes, each as long as the copies together.
    :raises ValueError: If a count is negative.
    :see: repeat, broadcast_to

    >>> ag.tile(ag.tensor([1, 2]), 2)
    tensor([1, 2, 1, 2])
    """
    x = as_tensor(x)
    counts = sizes_of(reps)
    if any(isinstance(n, int) and n < 0 for n in counts):
        raise ValueError(f"reps must not be negative: {counts}")
    ndim = max(len(counts), x.ndim)
    counts = (1,) * (ndim - len(counts)) + counts
    own = (1,) * (ndim - x.ndim) + x.shape
    return repeated(x, own, counts, before=True)


def repeated(x: Tensor, shape: Shape, counts: Shape, before: bool) -> Tensor:
    """Elements repeated: an axis of the repetitions before or behind each axis."""
    apart: list[Size] = []
    wide: list[Size] = []
    for n, count in zip(shape, counts, strict=True):
        if type(count) is int and count == 1:
            apart.append(n)
            wide.append(n)
            continue
        apart += [1, n] if before else [n, 1]
        wide += [count, n] if before else [n, count]
    spreaded = spread.broadcast_to(reshape(x, tuple(apart)), tuple(wide))
    sizes = tuple(n * c for n, c in zip(shape, counts, strict=True))
    # A copy: what is repeated once would otherwise share the operand's memory.
    if not is_known(x):
        return apply(COPY, reshape(spreaded, sizes))
    found = reshape(apply(COPY, spreaded), sizes)
    found._view = None  # what it would be a view of is not kept
    return found


@planned
@public
def repeat(x: TensorLike, /, repeats: TensorLike, axis: int | None = None, *,
           out: Tensor | None = None) -> Tensor:
    """Each element repeated, along an axis or of the flat elements.

    :param repeats: One count for all, or a count for each element of the axis.
    :type repeats: int or sequence of int
    :returns: As ``x``, but as long on the axis as the counts sum up to.
    :raises ValueError: If a count is negative.
    :raises TraceError: If the counts are not known when a graph is written, or there are several
        for an axis whose size is not.
    :raises ShapeError: If there is neither one count nor one for each element.
    :raises TypeError: If the counts are no integers.
    :see: tile, broadcast_to, Tensor.repeat

    >>> ag.repeat(ag.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    """
    x = as_tensor(x)
    if axis is None:
        x, axis = flatten(x), 0
    axis = shapes.axis_of(axis, x.ndim)
    if isinstance(repeats, Tensor):
        if not is_known(repeats) and refusal(cast(repeats, dtypes.int64).sum()) is not None:
            found: Tensor = HOOKS.repeated(x, repeats, axis)
            return found
        if repeats.ndim and not is_known(repeats):
            repeats = ensure(repeats, repeats >= 0, "repeats must not be negative")
            return take(x, _origins(repeats, x.shape[axis]), axis)
        repeats = integer(repeats, "repeats") if not is_known(repeats) else repeats.array
    if not isinstance(repeats, Dim) and np.asarray(repeats).dtype.kind not in "iu":
        raise TypeError(f"repeats must be integers, not {typed(repeats)}")
    if not isinstance(repeats, Dim) and np.any(np.asarray(repeats) < 0):
        raise ValueError(f"repeats must not be negative: {repeats}")
    if isinstance(repeats, Dim) or np.size(repeats) == 1:
        counts: list[Size] = [1] * x.ndim
        counts[axis] = repeats if isinstance(repeats, Dim) else int(np.ravel(repeats)[0])
        return repeated(x, x.shape, tuple(counts), before=False)
    if is_open(x.shape[axis]):
        return take(x, _origins(as_tensor(np.asarray(repeats)), x.shape[axis]), axis)
    if np.shape(repeats) not in ((1,), (x.shape[axis],)):
        raise ShapeError(f"there must be a count for each of the {x.shape[axis]} elements of axis "
                         f"{axis}, or one for all, not {np.size(repeats)}")
    return take(x, np.repeat(np.arange(x.shape[axis]), np.asarray(repeats)), axis)


def _origins(repeats: Tensor, n: Any) -> Tensor:
    """Of each element of a result the one that it repeats, for counts that only the run knows."""
    if repeats.ndim != 1 or repeats.dtype.kind not in "iu":
        raise TypeError(f"repeats must be integers for each element, not {typed(repeats)}")
    cumsum = import_module("agnesi.ops.reductions.running").cumsum
    searchsorted = import_module("agnesi.ops.sorting.sort").searchsorted

    counts = cast(broadcast_to(repeats, (n,)), dtypes.int64)
    ends, total = cumsum(counts, 0), size_of(sum_(counts), "the sum of repeats")
    return searchsorted(ends, made(Arange(0, 1, total, dtypes.int64), total), side="right")


@record
class Unfold(LinearOp):
    """Windows along the last axis, as two axes: positions and elements."""

    size: Size
    step: Size
    name = "unfold"
    view = True

    def _count(self, n: Any) -> Any:
        return (n - self.size) // self.step + 1

    def infer(self, x: Any) -> Any:
        n, size = x.shape[-1], self.size
        if isinstance(n, int) and isinstance(size, int) and not 0 <= size <= n:
            raise ShapeError(f"a window of {size} does not fit an axis of size {n}")
        return (*x.shape[:-1], self._count(n), size), x.dtype

    def perform(self, x: np.ndarray) -> np.ndarray:
        (shape, _), last = self.infer(x), x.strides[-1]
        return looking_into(x, shape, (*x.strides[:-1], self.step * last, last))

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        last = len(x.shape) - 1
        return (apply(IndexSum((last,), last, x.shape), g, _starts(self, made, x)),)

    def decompose(self, x: Tensor) -> Tensor:
        return take(x, _starts(self, lambda op, _: symbolic(op, ()), x), -1)


def _starts(op: Unfold, make: Any, x: Tensor) -> Tensor:
    """Where the elements of windows are on the last axis; ``make`` gives values or graph nodes."""
    count = op._count(x.shape[-1])
    starts = reshape(make(Arange(0, op.step, count, _INT64), count), (count, 1))
    inside: Tensor = make(Arange(0, 1, op.size, _INT64), op.size)
    return starts + inside


@planned
@public
def unfold(x: TensorLike, axis: int, size: int, step: int = 1, *, out: Tensor | None = None
           ) -> Tensor:
    """Windows of ``size`` along an axis, ``step`` apart; the window's axis is the last.

    The result looks into ``x``: later changes of ``x`` show in it, and it cannot be changed itself.

    :param x: At least one axis.
    :param size: Length of the windows.
    :param step: Positions from one window to the next; positive.
    :returns: On the axis ``(n - size) // step + 1`` windows.
    :raises ShapeError: If a window is longer than the axis.
    :raises ValueError: If ``step`` is not positive.
    :see: sliding_window_view, nn.functional.unfold

    >>> ag.unfold(ag.arange(4), 0, 2)
    tensor([[0, 1],
            [1, 2],
            [2, 3]])
    """
    x = as_tensor(x)
    axis = shapes.axis_of(axis, x.ndim)
    size, step = (n if isinstance(n, Dim) else known_integer(n, name, least)
                  for n, name, least in ((size, "size", None), (step, "step", 1)))
    return moveaxis(apply(Unfold(size, step), moveaxis(x, axis, -1)), -2, axis)
