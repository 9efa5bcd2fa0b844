"""broadcast_to and its adjoint sum_to: the pair behind every broadcasting gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.core import shapes
from agnesi.core.dispatch import apply, symbolic
from agnesi.core.ir import dims, loops
from agnesi.core.ir.dims import Shape
from agnesi.core.ir.extents import guess
from agnesi.core.support import dtypes
from agnesi.core.support.errors import ShapeError
from agnesi.core.support.numpy_warnings import silently
from agnesi.core.support.record import record
from agnesi.core.support.worker_threads import elements
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.linearity import LinearOp

_ndarray = np.ndarray
_new = np.ndarray.__new__


def add_up(x: np.ndarray, axes: Any, dtype: Any = None, out: Any = None,
           keepdims: bool = False) -> Any:
    """Sums over axes that begin with -0.0, to which adding changes nothing: NumPy's begin with 0.

    So the sum of -0.0 and -0.0 is -0.0, and that of one element is the element, as compiled.
    """
    reduce: Any = np.add.reduce
    if not x.size or x.dtype.kind in "biu":
        return reduce(x, axes, dtype, out, keepdims)
    first = complex(-0.0, -0.0) if x.dtype.kind == "c" else -0.0
    return reduce(x, axes, dtype, out, keepdims, first)


@record
class BroadcastTo(LinearOp):
    """Repeat axes of size 1, and add axes in front.

    Where ``view`` says so, the result looks into its operand.
    """

    shape: Shape
    view: bool = False  # type: ignore[misc]
    name = "broadcast_to"
    traits = frozenset(("cheap", "movement", "broadcast"))

    def infer(self, x: Any) -> Any:
        fits = len(x.shape) <= len(self.shape) and (
            shapes.broadcast(x.shape, self.shape) == self.shape
        )
        if not fits and dims.is_settled((*x.shape, *self.shape)):
            raise ShapeError(f"shape {x.shape} does not broadcast to {self.shape}")
        return self.shape, x.dtype

    def perform(self, x: np.ndarray) -> np.ndarray:
        shape, own = self.shape, x.shape
        new = len(shape) - len(own)
        if new >= 0 and x.size and x.dtype.kind in "fiucb" and x.flags.c_contiguous:
            strides = [0] * new  # all of this takes a quarter of the time of ``broadcast_to``
            for n, wanted, stride in zip(own, shape[new:], x.strides, strict=True):
                if n not in (1, wanted):
                    break
                strides.append(stride if n == wanted else 0)
            else:
                found = _new(_ndarray, shape, x.dtype, x, 0, strides)
                found.setflags(write=False)
                return found
        return np.broadcast_to(x, shape)

    def layout_of(self, x: np.ndarray) -> np.ndarray:
        shape = tuple(map(guess, self.shape))
        return np.broadcast_to(x, shape) if dims.is_static(shape) else np.empty(0)

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        return (sum_to(g, x.shape),)

    def lower(self, at: Any, x: Any) -> Any:
        return x.broadcast(at)


@record
class SumTo(LinearOp):
    """Sum over the axes along which ``shape`` would have been broadcast."""

    shape: Shape
    work = elements(1)
    name = "sum_to"

    def infer(self, x: Any) -> Any:
        tail = x.shape[len(x.shape) - len(self.shape):]
        for n, m in zip(self.shape, tail, strict=True):
            if type(n) is int and type(m) is int and n not in (1, m):
                raise ShapeError(f"the shape {self.shape} does not broadcast to {x.shape}")
        return self.shape, x.dtype

    def axes(self, shape: Shape) -> tuple[int, ...]:
        """Axes of the operand that are summed."""
        extra = len(shape) - len(self.shape)
        return (*range(extra), *(
            extra + i for i, n in enumerate(self.shape) if n == 1 and shape[extra + i] != 1
        ))

    def reduction(self, x: Any) -> tuple[int, ...]:
        return self.axes(x.shape)

    def perform(self, x: np.ndarray) -> np.ndarray:
        axes = self.axes(x.shape)
        if axes:
            narrow = x.dtype.itemsize == 2 and x.dtype in dtypes.HALVES
            found = add_up(x, axes, np.float32 if narrow else None, None, True)
            x = silently(found.astype, x.dtype) if narrow else found
        return x.reshape(self.shape)

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        return (broadcast_to(g, x.shape),)

    def lower(self, at: Any, x: Any) -> Any:
        axes = self.axes(x.shape)
        extra = len(x.shape) - len(self.shape)
        return lower_reduce("add", (*(loops.Affine(),) * extra, *at), axes, x)


def lower_reduce(kind: str, at: Any, axes: tuple[int, ...], x: Any) -> Any:
    """Reduction of ``x`` over ``axes``; ``at`` has an entry, of any value, for each axis.

    Sums and products of 16-bit floats are computed in float32.
    """
    if not axes:
        return x(*at)
    if x.dtype in ("float16", "bfloat16") and kind in ("add", "multiply"):
        wide = loops.Read(x.shape, "float32", lambda i: loops.cast(x(*i), "float32"))
        return loops.cast(lower_reduce(kind, at, axes, wide), x.dtype)
    avoid = frozenset().union(*(a.free for i, a in enumerate(at) if i not in axes))

    def body(*inner: Any) -> Any:
        full = list(at)
        for axis, i in zip(axes, inner, strict=True):
            full[axis] = i
        return x(*full)

    return loops.reduce_(kind, [x.shape[a] for a in axes], body, avoid, axes)


def broadcast_to(x: Tensor, shape: Shape) -> Tensor:
    """``x`` with axes repeated to ``shape``; the same tensor where nothing is to do."""
    if x.shape == shape:
        return x
    op = BroadcastTo(shape)
    return apply(op, x) if dims.is_static(shape) else symbolic(op, (x,))


def number_behind(x: Tensor) -> Tensor | None:
    """The number that is each element of a symbolic tensor; None where that is not known."""
    node = None if x.array is not None or x._view is not None else x.node
    if node is None or type(node.op) is not BroadcastTo or node.op.view or node.inputs[0].shape:
        return None
    return symbol(node.inputs[0])


def sum_to(x: Tensor, shape: Shape) -> Tensor:
    """``x`` summed down to ``shape``: the adjoint of broadcasting."""
    return x if x.shape == shape else apply(SumTo(shape), x)
