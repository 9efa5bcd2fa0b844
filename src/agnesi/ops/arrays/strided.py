"""Elements of a tensor at steps of its memory, as PyTorch's programs count them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib import stride_tricks

from agnesi.core.dispatch import apply, symbolic
from agnesi.core.integers import known_integer
from agnesi.core.ir.dims import Shape
from agnesi.core.op import typed
from agnesi.core.parameter_types import ShapeLike, TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support import dtypes
from agnesi.core.support.errors import ShapeError
from agnesi.core.support.record import record
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.creation import made, sizes_of
from agnesi.ops.base.gather.elements import IndexSum
from agnesi.ops.base.linearity import LinearOp
from agnesi.ops.base.movement import reshape
from agnesi.ops.indexing.index import take
from agnesi.ops.indexing.ranges import Arange


@record
class Strided(LinearOp):
    """Elements of the last axis at a start, and at steps from it for each axis of the result."""

    size: Shape
    stride: tuple[int, ...]
    start: int
    name = "as_strided"
    view = True

    def infer(self, x: Any) -> Any:
        self._check(x.shape[-1])
        return (*x.shape[:-1], *self.size), x.dtype

    def _check(self, n: Any) -> None:
        """Raise if the view would read beyond the end of the memory."""
        last = sum((m - 1) * step for m, step in zip(self.size, self.stride, strict=True))
        last += self.start
        if isinstance(n, int) and 0 not in self.size and last >= n:
            raise ShapeError(f"its last element would be at {last} of {n} elements")

    def perform(self, x: np.ndarray) -> np.ndarray:
        self._check(x.shape[-1])
        width = x.strides[-1]
        steps = (*x.strides[:-1], *(width * step for step in self.stride))
        return stride_tricks.as_strided(x[..., self.start:], (*x.shape[:-1], *self.size), steps,
                                        writeable=False)

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        last = len(x.shape) - 1
        return (apply(IndexSum((last,), last, x.shape), g, self.offsets(made)),)

    def decompose(self, x: Tensor) -> Tensor:
        return take(x, self.offsets(lambda op, _: symbolic(op, ())), -1)

    def offsets(self, make: Any) -> Tensor:
        """Where the elements are on the last axis; ``make`` gives values or graph nodes."""
        found = make(Arange(self.start, 1, 1, dtypes.int64), 1)
        for n, step in zip(self.size, self.stride, strict=True):
            along = make(Arange(0, 1, n, dtypes.int64), n) * step
            found = reshape(found, (*found.shape, 1)) + along
        return reshape(found, self.size)


@planned
@public
def as_strided(x: TensorLike, size: ShapeLike, stride: ShapeLike,
               storage_offset: int | None = None, *, out: Tensor | None = None) -> Tensor:
    """Elements of ``x`` at steps of its memory: windows, diagonals and repetitions in one.

    The result looks into ``x``: later changes of ``x`` show in it, and it cannot be changed itself,
    as an element may stand in several places of it.

    :param x: Its elements are contiguous, in row-major order.
    :param size: Sizes of the result.
    :param stride: Elements of ``x`` from one to the next along each axis of the result.
    :param storage_offset: Where the first one is; 0 by default.
    :returns: Of the dtype of ``x``.
    :raises ShapeError: If an element is behind the end.
    :raises ValueError: If a number is negative, there are not as many steps as sizes, or ``x`` does
        not be in row-major order, where steps depend on its memory order.
    :see: unfold, sliding_window_view, Tensor.stride

    >>> ag.as_strided(ag.arange(6), (3, 2), (2, 1))
    tensor([[0, 1],
            [2, 3],
            [4, 5]])
    """
    x = as_tensor(x)
    sizes = tuple(known_integer(n, "size", 0) for n in sizes_of(size))
    steps = tuple(known_integer(n, "stride", 0) for n in sizes_of(stride))
    if len(sizes) != len(steps):
        raise ValueError(f"{len(steps)} steps for {len(sizes)} sizes")
    start = known_integer(0 if storage_offset is None else storage_offset, "storage_offset", 0)
    data = x.array
    if data is not None and not data.flags.c_contiguous and (start or sizes.count(1) < len(sizes)):
        raise ValueError(f"the elements of {typed(x)} do not lie in row-major order, so steps have "
                         "another meaning; use x.contiguous()")
    return apply(Strided(sizes, steps, start), reshape(x, (-1,)))
