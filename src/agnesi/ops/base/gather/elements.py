"""Elements at indices, as operations: reading them, and the adjoint of that."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from agnesi.core.dispatch import apply, graph_node
from agnesi.core.ir import loops
from agnesi.core.ir.dims import Shape, is_settled
from agnesi.core.op import Op
from agnesi.core.shapes import need_shape, surely_less
from agnesi.core.support.config import HOOKS
from agnesi.core.support.errors import ShapeError
from agnesi.core.support.record import record
from agnesi.core.support.worker_threads import elements
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.creation import filled, spread_constant
from agnesi.ops.base.gather.gather_scatter import (
    ScatterAdd,
    ScatterPut,
    add_at,
    changing,
    gathered,
    picking,
    replaced,
    selected,
    spread,
    taken,
)
from agnesi.ops.base.linearity import LinearOp

#: Arrays up to this size are found in caches; from others compiled code reads rows ahead of their
#: turn, which NumPy leaves to the processor: it begins with each row again.
_CACHED_BYTES = 1 << 24
_ROW_BYTES = 1 << 10, 1 << 14
#: Elements up to which NumPy's C function is called from native code.
_FEW_ELEMENTS = 1 << 12
#: What a row costs NumPy more.
_ROW_MULTIPLY_ADDS = 200


def _elements_at(x: np.ndarray, *indices: np.ndarray) -> np.ndarray:
    found: np.ndarray = x[indices]
    return found


@record
class Index(LinearOp):
    """Elements at tensors of indices on some axes; their common shape comes at axis ``at``."""

    axes: tuple[int, ...]
    at: int
    name = "getitem"
    traits = frozenset(("movement", "raises"))
    work = picking

    def infer(self, x: Any, *indices: Any) -> Any:
        return selected(x.shape, self.axes, self.at, indices), x.dtype

    @property
    def keep_inputs(self) -> tuple[int, ...]:  # type: ignore[override]
        return tuple(range(1, len(self.axes) + 1))

    def perform(self, x: np.ndarray, *indices: np.ndarray) -> np.ndarray:
        found = None
        if self.axes == (0,) and x.nbytes > _CACHED_BYTES and indices[0].size and (
                _ROW_BYTES[0] <= x.nbytes // len(x) <= _ROW_BYTES[1]) and x.flags.c_contiguous:
            found = HOOKS.run(self, (x, indices[0]), indices[0].size * _ROW_MULTIPLY_ADDS)
        return taken(x, self.axes, self.at, indices) if found is None else found

    def c_call(self, x: np.ndarray, *indices: np.ndarray) -> Any:
        if not 0 < x.size < _FEW_ELEMENTS:
            return None
        if len(indices) == 1 and self.at == self.axes[0]:
            return np.ndarray.take, (self.at,)
        return (_elements_at, ()) if self.axes == tuple(range(x.ndim)) and not self.at else None

    def vjp(self, g: Tensor, y: Tensor, x: Tensor, *indices: Tensor) -> tuple[Any, ...]:
        rest = (None,) * len(indices)
        return apply(IndexSum(self.axes, self.at, x.shape), g, *indices), *rest

    def decompose(self, x: Tensor, *indices: Tensor) -> Tensor:
        return gathered(x, self.axes, self.at, indices, self.name)


@record
class Picked(Index):
    """Elements at indices of which no two name the same index."""


@record
class Window(Picked):
    """The elements of a slice of one axis whose bounds are values, or of one position that a value
    gives: a view.

    ``partial`` marks all but the last step of a key; ``step`` is None where a value gives it, too.
    """

    partial: bool = False
    step: int | None = 1
    view = True

    @property
    def put(self) -> Op:
        """The operation that gives the base with another value of the view."""
        return PickedPut(self.axes, self.at)

    def view_layout(self, x: np.ndarray, shape: Any) -> np.ndarray | None:
        axis, strides = self.axes[0], list(x.strides)
        if len(self.axes) > 1 or self.step is None:
            return None
        if len(shape) < x.ndim:
            del strides[axis]
        else:
            strides[axis] *= self.step
        return as_strided(x, shape, strides)

    def decompose(self, x: Tensor, *indices: Tensor) -> Tensor:
        """Neighbours from some index on are read in order, without looking at each index."""
        (rows,) = indices
        node = graph_node(rows)
        parts = node.inputs if node.op_name == "add" else ()
        first = [n for n in parts if n.shape == ()]
        counted = [n for n in parts if n.op_name == "arange"]
        if len(first) == len(counted) == 1 and (counted[0].op.start, counted[0].op.step) == (0, 1):
            return apply(Stretch(self.axes[0], rows.shape[0]), x, symbol(first[0]))
        return super().decompose(x, *indices)


@record
class PickedPut(Op):
    """The base with the elements at indices replaced, of which no two name the same index."""

    axes: tuple[int, ...]
    at: int
    name = "setitem"
    traits = frozenset(("raises",))
    work = changing

    @property
    def keep_inputs(self) -> tuple[int, ...]:  # type: ignore[override]
        return tuple(range(2, len(self.axes) + 2))

    def infer(self, base: Any, new: Any, *indices: Any) -> Any:
        region = selected(base.shape, self.axes, self.at, indices)
        if is_settled((*region, *new.shape)) and region != new.shape:
            raise ShapeError(f"the value has shape {new.shape}, the indexed region {region}")
        return base.shape, base.dtype

    def perform(self, base: np.ndarray, new: np.ndarray, *indices: np.ndarray) -> np.ndarray:
        return replaced(base, self.axes, self.at, new, indices)

    def decompose(self, base: Tensor, new: Tensor, *indices: Tensor) -> Tensor:
        return spread(ScatterPut, base, new, self.axes, self.at, indices, self.name)

    def vjp(self, g: Tensor, y: Tensor, base: Tensor, new: Tensor,
            *indices: Tensor) -> tuple[Any, ...]:
        rest = part = None
        if base._requires_grad:
            rest = apply(self, g, filled(new.shape, 0, g.dtype), *indices)
        if new._requires_grad:
            part = apply(Index(self.axes, self.at), g, *indices)
        return rest, part, *(None,) * len(indices)

    def jvp(self, ts: Any, y: Tensor, base: Tensor, new: Tensor, *indices: Tensor) -> Any:
        tb = filled(base.shape, 0, base.dtype) if ts[0] is None else ts[0]
        tn = filled(new.shape, 0, new.dtype) if ts[1] is None else ts[1]
        return apply(self, tb, tn, *indices)


@record
class Stretch(Op):
    """So many neighbours along an axis, from the index on that the second operand is."""

    axis: int
    size: Any
    work = elements(1)
    name = "stretch"
    keep_inputs = ()

    def infer(self, x: Any, first: Any) -> Any:
        need_shape(first.shape, (), "the first place")
        if surely_less(x.shape[self.axis], self.size):
            raise ShapeError(
                f"there are no {self.size} neighbours on axis {self.axis} of {x.shape}")
        return (*x.shape[: self.axis], self.size, *x.shape[self.axis + 1:]), x.dtype

    def perform(self, x: np.ndarray, first: np.ndarray) -> np.ndarray:
        return x.take(range(int(first), int(first) + self.size), self.axis)

    def lower(self, at: Any, x: Any, first: Any) -> Any:
        start = loops.call("minimum", first(), x.shape[self.axis] - self.size)
        start = loops.call("maximum", start, 0)
        index = list(at)
        index[self.axis] = loops.atom_of(start) + at[self.axis]
        return x(*index)


@record
class IndexSum(LinearOp):
    """Zeros of a shape with the operand added at the indices: the adjoint of Index."""

    axes: tuple[int, ...]
    at: int
    shape: Shape
    name = "index_sum"
    traits = frozenset(("raises",))
    work = elements(8)

    def infer(self, x: Any, *indices: Any) -> Any:
        region = selected(self.shape, self.axes, self.at, indices)
        need_shape(x.shape, region, "what is added")
        return self.shape, x.dtype

    @property
    def keep_inputs(self) -> tuple[int, ...]:  # type: ignore[override]
        return tuple(range(1, len(self.axes) + 1))

    def perform(self, x: np.ndarray, *indices: np.ndarray) -> np.ndarray:
        result = np.zeros(self.shape, x.dtype)
        add_at(result, self.axes, self.at, x, indices)
        return result

    def vjp(self, g: Tensor, y: Tensor, x: Tensor, *indices: Tensor) -> tuple[Any, ...]:
        return apply(Index(self.axes, self.at), g, *indices), *(None,) * len(indices)

    def decompose(self, x: Tensor, *indices: Tensor) -> Tensor:
        nothing = spread_constant(self.shape, 0, x.dtype)
        return spread(ScatterAdd, nothing, x, self.axes, self.at, indices, self.name)
