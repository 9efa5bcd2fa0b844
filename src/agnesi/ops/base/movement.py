"""Movement: the same elements in another shape, or with the axes in another order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.core import shapes
from agnesi.core.dispatch import apply
from agnesi.core.ir import loops
from agnesi.core.ir.dims import Dim, Shape, Size, is_open, is_settled, product
from agnesi.core.op import Op, typed
from agnesi.core.parameter_types import Axis, ShapeLike, TensorLike
from agnesi.core.public import planned, public, where_torch
from agnesi.core.storage.layout_queries import note
from agnesi.core.storage.leaves import COPY
from agnesi.core.storage.memory_order import is_row_major
from agnesi.core.support.config import HOOKS
from agnesi.core.support.errors import ShapeError
from agnesi.core.support.record import record
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.creation import sizes_of
from agnesi.ops.base.expand import broadcast_to, number_behind
from agnesi.ops.base.linearity import LinearOp


# -- operations -----------------------------------------------------------------------------
@record
class Reshape(LinearOp):
    """The elements, in row-major order, in another shape.

    ``partial`` marks the first half of an indexing expression (``ops.indexing.scatter.Target``).
    """

    shape: Shape
    partial: bool = False
    name = "reshape"
    traits = frozenset(("cheap", "movement", "permutation"))
    flat = True
    view = True

    def infer(self, x: Any) -> Any:
        settled = is_settled((*x.shape, *self.shape))
        if settled and product(x.shape) != product(self.shape):
            raise ShapeError(
                f"{product(x.shape)} elements of shape {x.shape} do not fit the shape "
                f"{self.shape} of {product(self.shape)}"
            )
        return self.shape, x.dtype

    def perform(self, x: np.ndarray) -> np.ndarray:
        found = x.reshape(self.shape)
        if found.shape != self.shape:  # NumPy takes any negative size for -1
            raise ShapeError(f"{x.size} elements of shape {x.shape} do not fit the shape "
                             f"{self.shape}")
        return found

    def aliases(self, x: np.ndarray) -> bool:
        try:
            x.reshape(self.shape, copy=False)
        except ValueError:
            return False
        return True

    def view_layout(self, x: np.ndarray, shape: Any) -> Any:
        return x.reshape(shape, copy=False) if self.aliases(x) else None

    def c_call(self, x: np.ndarray) -> Any:
        return np.ndarray.reshape, (self.shape,)

    def undo(self, shape: Shape) -> Op:
        """The operation that leads back to ``shape``: used when the view is changed in place."""
        return Reshape(shape)

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        number = number_behind(g)
        return (apply(Reshape(x.shape), g) if number is None else broadcast_to(number, x.shape),)

    def lower(self, at: Any, x: Any) -> Any:
        if product(x.shape) == 0:
            return x(*(loops.Affine(),) * len(x.shape))
        return x(*remap(at, self.shape, x.shape))


def remap(at: Any, shape: Sequence[int], other: Sequence[int]) -> Any:
    """Where the element at ``at`` of ``shape`` is in ``other``, a shape of as many elements.

    Groups of axes with equal products are matched first, so that indices stay simple.
    """
    result: list[Any] = []
    i = j = 0
    while j < len(other):
        stop, end, ours, others = i, j + 1, 1, other[j]
        while ours != others:
            if ours < others:
                ours, stop = ours * shape[stop], stop + 1
            else:
                others, end = others * other[end], end + 1
        flat = loops.ravel(at[i:stop], shape[i:stop])
        result.extend(loops.unravel(flat, other[j:end]))
        i, j = stop, end
    return tuple(result)


@record
class Permute(LinearOp):
    """Axes in another order: axis ``i`` of the result is axis ``axes[i]`` of the operand."""

    axes: tuple[int, ...]
    name = "permute_dims"
    traits = frozenset(("cheap", "movement", "permutation", "transposition"))
    view = True

    def infer(self, x: Any) -> Any:
        return tuple([x.shape[a] for a in self.axes]), x.dtype

    def perform(self, x: np.ndarray) -> np.ndarray:
        return x.transpose(self.axes)

    def inverse(self) -> Permute:
        """The permutation that leads back."""
        back = [0] * len(self.axes)
        for i, a in enumerate(self.axes):
            back[a] = i
        return Permute(tuple(back))

    def undo(self, shape: Shape) -> Op:
        return self.inverse()

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        return (apply(self.inverse(), g),)

    def lower(self, at: Any, x: Any) -> Any:
        own = [loops.Affine()] * len(at)
        for i, a in enumerate(self.axes):
            own[a] = at[i]
        return x(*own)


# -- reshape --------------------------------------------------------------------------------
def _rest(shape: Shape, target: Shape) -> Size:
    """The size that -1 stands for: the elements of ``shape`` shared out over the others."""
    factors = [n for n in shape if isinstance(n, Dim)]
    number = math.prod(n for n in shape if not isinstance(n, Dim))
    left: list[Size] = []
    for n in target:
        if isinstance(n, Dim) and n in factors:
            factors.remove(n)
        elif n != -1 or isinstance(n, Dim):
            left.append(n)
    by = math.prod(n for n in left if not isinstance(n, Dim))
    unknown = [n for n in left if isinstance(n, Dim)]
    if by == 0:
        raise ShapeError(f"-1 is undetermined when shape {shape} is to become {target}")
    if not unknown and number % by == 0:
        return product([number // by, *factors])
    if not factors and not unknown:
        raise ShapeError(f"{number} elements of shape {shape} cannot be shared out over {target}")
    total: Any = product([number, *factors])
    return total // product([by, *unknown])


@planned
@public
def reshape(x: TensorLike, /, shape: ShapeLike, *, order: str = "C", copy: bool | None = None,
            out: Tensor | None = None) -> Tensor:
    """The elements, in row-major order, in another shape.

    :param shape: One size may be -1: it is found from the others.
    :param order: "F" takes and puts the elements in column-major order instead.
    :type order: {"C", "F"}
    :param copy: True always copies; False never does (ValueError where it must).
    :returns: A view where memory allows.
    :raises ShapeError: If the shape does not hold as many elements, or several sizes are -1.
    :raises ValueError: If ``copy`` is False and the elements must be copied, or ``order`` is
        neither "C" nor "F".
    :see: ravel, flatten, resize, expand_dims, squeeze

    >>> ag.reshape(ag.arange(6), (2, -1))
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    x = as_tensor(x)
    if order != "C":
        target = sizes_of(shape)[::-1]
        return _reversed_axes(reshape(_reversed_axes(x, order), target, copy=copy), order)
    result = reshaped(x, shape)
    if copy is False and result is not x and result._view is None:
        raise ValueError(f"copy=False, but {typed(x)} must be copied to have shape "
                         f"{result.shape}")
    return apply(COPY, result) if copy and (result is x or result._view is not None) else result


def as_deep(value: Tensor, ndim: int) -> Tensor:
    """What is assigned without leading axes of size 1 beyond those of the target, as in NumPy."""
    extra = value.ndim - ndim
    if extra > 0 and all(n == 1 for n in value.shape[:extra]):
        return reshape(value, value.shape[extra:])
    return value


def sized(x: Tensor, axis: int, size: Size) -> Tensor:
    """A tensor with an axis of a size: where one is open, it has to be that at the call."""
    found = x.shape[axis]
    if found == size or not (is_open(found) or is_open(size)):
        return x
    x = HOOKS.ensured_sizes("", x, (found,), (size,),
                           f"axis {axis} of {typed(x)} has another size than {size}")
    if not is_open(found):
        return x
    shape = list(x.shape)
    shape[axis] = size
    return reshape(x, tuple(shape))


def reshaped(x: Tensor, shape: Any) -> Tensor:
    """The elements in another shape, of which one size may be -1."""
    target = sizes_of(shape)
    left = [n for n in target if type(n) is int and n == -1]
    if left:
        if len(left) > 1:
            raise ShapeError(f"only one size may be -1, not several of {target}")
        if any(type(n) is int and n < -1 for n in target):
            raise ShapeError(f"sizes must not be negative, but for one -1, as in {target}")
        rest = _rest(x.shape, target)
        target = tuple([rest if type(n) is int and n == -1 else n for n in target])
    return x if target == x.shape else apply(Reshape(target), x)


@planned
@public
def flatten(x: TensorLike, start: int = 0, end: int = -1, *, out: Tensor | None = None) -> Tensor:
    """Flatten the axes from ``start`` to ``end`` into one.

    :param x: Of any shape; a number becomes a vector of one element.
    :param start, end: First and last of the axes that become one.
    :returns: A view where memory allows.
    :raises ValueError: If ``start`` comes after ``end``.
    :raises IndexError: If an axis is out of range.
    :see: ravel, reshape

    >>> ag.flatten(ag.zeros((2, 3, 4)), 1).shape
    (2, 12)
    """
    x = as_tensor(x)
    if x.ndim == 0:
        return reshaped(x, (1,))
    start, end = shapes.axis_of(start, x.ndim), shapes.axis_of(end, x.ndim)
    if start > end:
        raise ValueError(f"the first axis {start} comes after the last axis {end}")
    middle = product(x.shape[start: end + 1])
    return reshaped(x, (*x.shape[:start], middle, *x.shape[end + 1:]))


@planned
@public
def ravel(x: TensorLike, order: str = "C", *, out: Tensor | None = None) -> Tensor:
    """All elements in one axis, one after another in memory: a copy where they are not yet.

    With ``order="F"`` they are in column-major order.

    :param order: Row-major or column-major order of the elements.
    :type order: {"C", "F"}
    :returns: A vector of all elements.
    :raises ValueError: If ``order`` is another.
    :see: flatten, reshape

    >>> ag.ravel(ag.zeros((2, 3))).shape
    (6,)
    """
    return flatten(contiguous(_reversed_axes(as_tensor(x), order)))


def _reversed_axes(x: Tensor, order: str) -> Tensor:
    """With all axes in the opposite order, if that of the elements is to be column-major."""
    if order not in ("C", "F"):
        raise ValueError(f"order must be 'C' or 'F', not {order!r}")
    return x if order == "C" else permute_dims(x)


def contiguous(x: Tensor) -> Tensor:
    """The tensor itself if its elements are in C order, else a copy that does."""
    result = x if is_row_major(x) else apply(COPY, x)
    note(x, result)
    return result


@where_torch
@planned
@public
def squeeze(x: TensorLike, /, axis: Axis = None, *, out: Tensor | None = None) -> Tensor:
    """Without the axes of size 1, or without those named.

    :param axis: Which axes go; by default all of size 1. Also written ``dim``.
    :returns: A view.
    :raises ShapeError: If a named axis has another size than 1.
    :raises IndexError: If an axis is out of range.
    :see: expand_dims, reshape

    >>> ag.squeeze(ag.zeros((1, 2, 1)), 0).shape
    (2, 1)
    """
    x = as_tensor(x)
    if axis is None:
        axes: tuple[int, ...] = tuple(i for i, n in enumerate(x.shape) if n == 1)
    else:
        axes = shapes.axes_of(axis, x.ndim)
    for a in axes:
        if isinstance(x.shape[a], int) and x.shape[a] != 1:
            raise ShapeError(f"axis {a} has size {x.shape[a]}; only axes of size 1 can go (dim= "
                             "leaves others, as in PyTorch)")
        x = sized(x, a, 1)
    return reshaped(x, tuple([n for i, n in enumerate(x.shape) if i not in axes]))


@planned
@public
def expand_dims(x: TensorLike, /, axis: Axis, *, out: Tensor | None = None) -> Tensor:
    """Insert axes of size 1, at the positions ``axis`` of the result.

    :param axis: Positions of the new axes in the result.
    :returns: A view.
    :raises IndexError: If a position is out of range.
    :raises ValueError: If a position is named twice.
    :see: squeeze, reshape, atleast_1d

    >>> ag.expand_dims(ag.zeros(3), -1).shape
    (3, 1)
    """
    x = as_tensor(x)
    ndim = x.ndim + (len(axis) if isinstance(axis, (tuple, list)) else 1)
    axes = shapes.axes_of(axis, ndim)
    rest = iter(x.shape)
    return reshaped(x, tuple([1 if i in axes else next(rest) for i in range(ndim)]))


# -- permute --------------------------------------------------------------------------------
@planned
@public
def permute_dims(x: TensorLike, /, axes: Sequence[int] | None = None, *,
                 out: Tensor | None = None) -> Tensor:
    """Axes in another order; reversed without ``axes``.

    :param axes: Axis ``i`` of the result is axis ``axes[i]`` of ``x``.
    :returns: A view.
    :raises ValueError: If ``axes`` does not name each axis once.
    :raises IndexError: If an axis is out of range.
    :see: matrix_transpose, swapaxes, moveaxis, dimshuffle

    >>> ag.permute_dims(ag.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return permuted(as_tensor(x), axes)


def permuted(x: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    """The axes in another order, reversed without one."""
    ndim = len(x.shape)
    every = tuple(range(ndim))
    if axes is None:
        order = every[::-1]
    else:
        order = tuple([shapes.axis_of(a, ndim) for a in axes])
        if tuple(sorted(order)) != every:
            raise ValueError(f"axes {tuple(axes)} must name each of {ndim} axes once")
    return x if order == every else apply(Permute(order), x)


transpose = permute_dims


@planned
@public
def matrix_transpose(x: TensorLike, /, *, out: Tensor | None = None) -> Tensor:
    """Swap the last two axes: transpose each matrix of a stack.

    :param x: Of shape (..., m, n).
    :returns: Of shape (..., n, m); a view.
    :raises ShapeError: If ``x`` has fewer than 2 axes.
    :see: permute_dims, swapaxes, conj

    >>> ag.matrix_transpose(ag.zeros((5, 2, 3))).shape
    (5, 3, 2)
    """
    return transposed(as_tensor(x))


def transposed(x: Tensor) -> Tensor:
    """The last two axes swapped."""
    n = len(x.shape)
    if n < 2:
        raise ShapeError(f"a matrix has at least 2 dimensions, this has shape {x.shape}")
    return apply(Permute((*range(n - 2), n - 1, n - 2)), x)


@planned
@public
def swapaxes(x: TensorLike, axis1: int, axis2: int, *, out: Tensor | None = None) -> Tensor:
    """With two axes exchanged.

    :param axis1, axis2: The two axes.
    :returns: A view.
    :raises IndexError: If an axis is out of range.
    :see: moveaxis, permute_dims, matrix_transpose

    >>> ag.swapaxes(ag.zeros((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    x = as_tensor(x)
    order = list(range(x.ndim))
    a, b = shapes.axis_of(axis1, x.ndim), shapes.axis_of(axis2, x.ndim)
    order[a], order[b] = b, a
    return x if a == b else apply(Permute(tuple(order)), x)


@planned
@public
def moveaxis(x: TensorLike, /, source: Axis, destination: Axis, *, out: Tensor | None = None
             ) -> Tensor:
    """With axes moved to other positions; the rest keep their order.

    :like: permute_dims
    :param source, destination: Axes, and the positions that they have in the result.
    :type source, destination: int or sequence of int
    :raises ValueError: If they do not name as many different axes.
    :see: swapaxes, permute_dims, rollaxis

    >>> ag.moveaxis(ag.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    x = as_tensor(x)
    positions = [
        [shapes.axis_of(a, x.ndim) for a in (axes if isinstance(axes, (tuple, list)) else (axes,))]
        for axes in (source, destination)
    ]
    if len(positions[0]) != len(positions[1]) or any(len(set(p)) != len(p) for p in positions):
        raise ValueError(
            f"source {source} and destination {destination} must name as many different axes"
        )
    order = [a for a in range(x.ndim) if a not in positions[0]]
    for to, a in sorted(zip(positions[1], positions[0], strict=True)):
        order.insert(to, a)
    return permute_dims(x, order)


@planned
@public
def dimshuffle(x: TensorLike, *pattern: Any, out: Tensor | None = None) -> Tensor:
    """Axes in another order, new ones where the pattern says "x", unit ones dropped (Theano's).

    :param *pattern: For each axis of the result: which axis of ``x`` it is, or "x" for a new one of
        size 1. One tuple is taken, too.
    :type *pattern: int or "x"
    :returns: A view.
    :raises ShapeError: If an axis of another size than 1 is dropped.
    :raises ValueError: If an axis is named twice.
    :raises IndexError: If an axis is out of range.
    :see: permute_dims, expand_dims, squeeze, broadcast_to

    >>> ag.dimshuffle(ag.zeros((2, 1, 3)), 2, "x", 0).shape
    (3, 1, 2)
    """
    x = as_tensor(x)
    if len(pattern) == 1 and isinstance(pattern[0], (tuple, list)):
        pattern = tuple(pattern[0])
    kept = [shapes.axis_of(a, x.ndim) for a in pattern if a != "x"]
    if len(set(kept)) != len(kept):
        raise ValueError(f"pattern {pattern} names an axis twice")
    gone = tuple(a for a in range(x.ndim) if a not in kept)
    for a in gone:
        if isinstance(x.shape[a], int) and x.shape[a] != 1:
            raise ShapeError(f"axis {a} of size {x.shape[a]} is dropped, but its size is not 1")
        x = sized(x, a, 1)
    moved = permute_dims(x, (*kept, *gone))
    sizes = iter(moved.shape)
    return reshape(moved, tuple(1 if a == "x" else next(sizes) for a in pattern))


def _at_least(x: Any, ndim: int) -> Tensor:
    x = as_tensor(x)
    missing = ndim - x.ndim
    if missing <= 0:
        return x
    if ndim == 3 and missing < 3:
        return reshape(x, (*(1,) * (missing - 1), *x.shape, 1))
    return reshape(x, (1,) * missing + x.shape)


def _each(arrays: tuple[Any, ...], ndim: int) -> Any:
    """One tensor, or a tuple of several."""
    for x in arrays:
        if isinstance(x, (list, tuple)) and len(x) > 1 and isinstance(x[0], Tensor):
            raise TypeError("a list of tensors is one array in NumPy and several in PyTorch; give "
                            "ag.stack(tensors), or each by itself: *tensors")
    found = tuple(_at_least(x, ndim) for x in arrays)
    return found[0] if len(found) == 1 else found


@planned
@public
def atleast_1d(*arrays: Any, out: Tensor | None = None) -> Any:
    """The tensor with at least one axis; new axes have size 1.

    :param *arrays: One or several, of any shapes.
    :type *arrays: array_like
    :returns: One for each argument; what has axes enough is given as it is.
    :rtype: Tensor, or tuple of Tensor
    :raises TypeError: If none is given.
    :see: atleast_2d, atleast_3d, expand_dims

    >>> ag.atleast_1d(3.0).shape
    (1,)
    """
    return _each(arrays, 1)


@planned
@public
def atleast_2d(*arrays: Any, out: Tensor | None = None) -> Any:
    """The tensor with at least two axes; new axes of size 1 come first.

    :like: atleast_1d
    :see: atleast_1d, atleast_3d, expand_dims

    >>> ag.atleast_2d(ag.zeros(3)).shape
    (1, 3)
    """
    return _each(arrays, 2)


@planned
@public
def atleast_3d(*arrays: Any, out: Tensor | None = None) -> Any:
    """With three axes at least: a vector of n becomes (1, n, 1), a matrix (m, n) becomes (m, n,
    1).

    :like: atleast_1d
    :see: atleast_1d, atleast_2d, expand_dims

    >>> ag.atleast_3d(ag.zeros((2, 3))).shape
    (2, 3, 1)
    """
    return _each(arrays, 3)
