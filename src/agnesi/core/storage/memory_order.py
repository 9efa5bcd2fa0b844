"""Memory order of values that have no memory yet: whether a reshape of one is a view or a copy.

Elementwise results have their operands' memory order, others are row-major (``Op.layout_of``).
A trace decides the same on symbols, so eager and compiled code agree on what is a view.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from agnesi.core.ir.dims import Size, is_static
from agnesi.core.ir.extents import guess
from agnesi.core.ir.node import Node
from agnesi.core.op import Op
from agnesi.core.shapes import broadcast
from agnesi.core.support.errors import oversized
from agnesi.core.support.tracing import outermost
from agnesi.core.tensor import Tensor

#: Bytes that NumPy refuses in one array, so that stand-ins without memory have fewer, too.
_FIRST_UNCOUNTED_BYTES = 1 << 63


def laid_out(x: Tensor, known: Callable[[Size], Size] = guess) -> np.ndarray | None:
    """Return an array with the layout that ``x`` has when the same Python runs eagerly; None if
    that is not known, or no such values exist.

    The array's elements must not be accessed. Arguments and results are row-major, unless the
    operation declares another layout (``Op.layout_of``). ``known`` gives the values of sizes.
    """
    if x.array is not None:
        return x.array
    view, shape = x._view, tuple(map(known, x.shape))
    if not is_static(shape) or min(shape, default=0) < 0 or (
            math.prod(shape) * x.dtype.itemsize >= _FIRST_UNCOUNTED_BYTES):
        return None
    if view is None:
        special = _laid().get(id(x))
        if special is None:
            return _in_order(x.dtype, shape, tuple(range(len(shape))))
        return special.array if known is guess else _layout_of(special.op, special.operands, known)
    base = laid_out(view.base, known)
    if base is None:
        return None
    op = view.op.resolve(known)
    try:
        found = op.perform(base) if op.view_layout is None else op.view_layout(base, shape)
    except ValueError:  # guesses of sizes that do not fit together
        return None
    return found if found is None or found.shape == shape else None


def axes_in_memory(array: np.ndarray) -> tuple[int, ...]:
    """The axes of an array from the outermost in memory to the innermost."""
    return tuple(sorted(range(array.ndim), key=lambda axis: -array.strides[axis]))


def _laid() -> dict[int, Any]:
    """The layouts of tensors of the present trace that are not row-major, by id."""
    return getattr(outermost(), "laid", {})


def special_layout(x: Tensor) -> Layout | None:
    """Return the layout of a result that is not row-major; None for others."""
    return None if x._view is not None else _laid().get(id(x))


class Layout:
    """The layout of a result that is not row-major, and the operation that gave it.

    ``result`` is held so that its id is not reused.
    """

    __slots__ = ("array", "op", "operands", "result")

    def __init__(self, result: Tensor, array: np.ndarray, op: Op, operands: Sequence[Tensor]
                 ) -> None:
        self.result, self.array, self.op, self.operands = result, array, op, operands


@functools.lru_cache(maxsize=256)
def _in_order(dtype: np.dtype, shape: tuple[int, ...], axes: tuple[int, ...]) -> np.ndarray:
    """Return an array without memory of its own whose axes are in this order in memory, the last
    one contiguous.
    """
    steps, step = [0] * len(shape), dtype.itemsize
    for axis in reversed(axes):
        steps[axis] = step
        step *= max(shape[axis], 1)
    return np.lib.stride_tricks.as_strided(np.empty(1, dtype), shape, steps)


def as_operands(op: Op, *arrays: np.ndarray) -> np.ndarray:
    """Return an array with the layout of an elementwise result, which follows that of the operands.

    NumPy computes it of arrays with as few elements as show the order of axes.
    """
    if all(x.flags.c_contiguous for x in arrays):
        return arrays[0]
    small = op.perform(*map(_small, arrays))
    shape = broadcast(*(x.shape for x in arrays))
    return _in_order(small.dtype, shape, axes_in_memory(small))


def has_rows(array: np.ndarray) -> bool:
    """Return whether later axes have smaller steps, with gaps or without."""
    if array.flags.c_contiguous:
        return True
    steps = [abs(s) for s, n in zip(array.strides, array.shape, strict=True) if s and n > 1]
    return all(a >= b for a, b in pairwise(steps))


def shape_in_rows(xs: Sequence[np.ndarray]) -> tuple[int, ...] | None:
    """The shape of operands that are in row-major order without gaps; beside them there may be
    numbers.  None where they are others."""
    shape: tuple[int, ...] = ()
    for x in xs:
        if x.ndim:
            if not x.flags.c_contiguous or (shape and x.shape != shape):
                return None
            shape = x.shape
    return shape or None


def _small(array: np.ndarray) -> np.ndarray:
    """Return an array of ones, at most two along each axis, with the same order of axes in memory.
    """
    steps = [abs(s) if n > 1 else 0 for s, n in zip(array.strides, array.shape, strict=True)]
    known = sorted({*steps} - {0})
    strides = [array.itemsize << known.index(s) if s else 0 for s in steps]
    shape = [min(n, 2) for n in array.shape]
    ones = np.ones(1 << len(known), array.dtype)
    return np.lib.stride_tricks.as_strided(ones, shape, strides)


@functools.lru_cache(maxsize=1024)
def _result_layout(op: Op, layouts: Sequence[tuple[np.dtype, Any, Any]]) -> np.ndarray | None:
    """Return the layout of a result for these layouts of the operands; None if it is larger than
    any memory."""
    arrays = [np.lib.stride_tricks.as_strided(np.empty(1, dtype), shape, strides)
              for dtype, shape, strides in layouts]
    try:
        return op.layout_of(*arrays)  # type: ignore[misc]
    except ValueError as error:
        if oversized(error) is error:
            raise
        return None


def _plain(operands: Sequence[Tensor], laid: dict[int, Any]) -> bool:
    """Return whether it is known at once that tensors are in row-major order."""
    for x in operands:
        if x.array is not None:
            if not x.array.flags.c_contiguous:
                return False
        elif x._view is not None or id(x) in laid:
            return False
    return True


def note_memory_order(result: Tensor, op: Op, operands: Sequence[Tensor]) -> None:
    """Record the layout of a result in the trace, if it is not row-major."""
    laid = getattr(outermost(), "laid", None)
    if laid is None or op.layout_of is None or (
            "broadcast" not in op.traits and _plain(operands, laid)):
        return
    array = _layout_of(op, operands, guess)
    if array is not None and not array.flags.c_contiguous:
        laid[id(result)] = Layout(result, array, op, operands)


def stands_for(inner: Node, outer: Tensor) -> None:
    """Record in the trace that a variable of a body begins as a symbol from outside."""
    outside = getattr(outermost(), "outside", None)
    if outside is not None and outer.array is None and outer.node is not None:
        outside[inner] = outer.node


def _layout_of(op: Op, operands: Sequence[Tensor], known: Callable[[Size], Size]
               ) -> np.ndarray | None:
    """Return the layout of a result; None if an operand's is not known, or the result is larger
    than any memory.
    """
    layouts = []
    for x in operands:
        a = laid_out(x, known)
        if a is None or not a.size:
            return None
        layouts.append((a.dtype, a.shape, a.strides))
    return _result_layout(op.resolve(known), tuple(layouts))


def is_row_major(x: Tensor) -> bool:
    """Return whether the elements are contiguous in memory, in C order, as far as is
    known."""
    array = laid_out(x)
    return array is None or array.flags.c_contiguous


def looks_into(op: Op, base: Tensor) -> bool:
    """Return whether the result of a view operation shares the operand's memory, as NumPy decides;
    if that depends on sizes, for typical ones.
    """
    plain = base._view is None and base.array is None and id(base) not in _laid()
    if op.aliases is None or plain:
        return True
    array = laid_out(base)
    return array is None or op.resolve(guess).aliases(array)  # type: ignore[misc]
