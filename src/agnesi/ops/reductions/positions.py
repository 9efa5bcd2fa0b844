"""Where the extremes of an axis are."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from agnesi.core import shapes
from agnesi.core.dispatch import apply, graph_node, symbolic
from agnesi.core.ir.dims import Dim, is_static, product
from agnesi.core.ir.extents import most, need_elements
from agnesi.core.ir.foreign import Call, number, operand, result, units_for
from agnesi.core.op import Op
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support import dtypes
from agnesi.core.support.config import HOOKS
from agnesi.core.support.errors import ShapeError
from agnesi.core.support.record import record
from agnesi.core.support.worker_threads import elements
from agnesi.core.tensor import Tensor
from agnesi.ops.base import compare, select
from agnesi.ops.base.complex_order import keys
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.creation import constant
from agnesi.ops.base.gather.gather_scatter import Gather
from agnesi.ops.base.movement import reshape
from agnesi.ops.base.reduce import extreme_over, reducer
from agnesi.ops.indexing.ranges import Arange

#: Elements up to which NumPy's C function is called from native code.
_FEW_ELEMENTS = 500
#: Elements from which a row is searched by blocks.
_MIN_BLOCKED_ELEMENTS = 1 << 13
#: Elements from which rows are not short, and dtypes, for the function of extremes.
_MIN_ROW_ELEMENTS = 32
#: Short rows from which compiled code is worth its call, and what an element costs NumPy there.
_MIN_SHORT_ROWS, _ELEMENT_MULTIPLY_ADDS = 256, 10
_FOUND = frozenset(("float32", "float64", "int32", "int64"))


@record
class ArgReduce(Op):
    """Position of the first extreme along an axis."""

    kind: str
    axis: int
    keepdims: bool = False
    differentiable = False
    names = ("argmax", "argmin")
    traits = frozenset(("indices",))

    work = elements(1)

    @property
    def name(self) -> str:  # type: ignore[override]
        return "argmax" if self.kind == "maximum" else "argmin"

    def infer(self, x: Any) -> Any:
        need_elements(x.shape[self.axis])
        if x.shape[self.axis] == 0:
            raise ShapeError(
                f"axis {self.axis} of shape {x.shape} has no elements; give it at least one"
            )
        return shapes.reduced(x.shape, (self.axis,), self.keepdims), dtypes.int64

    def perform(self, x: np.ndarray) -> np.ndarray:
        n = x.shape[self.axis]
        if self.axis == x.ndim - 1 and n < _MIN_ROW_ELEMENTS and x.size >= n * _MIN_SHORT_ROWS and (
                x.flags.c_contiguous):  # NumPy calls a function for each row
            found = HOOKS.run(self, (x,), x.size * _ELEMENT_MULTIPLY_ADDS)
            if found is not None:
                return found
        found = (np.argmax if self.kind == "maximum" else np.argmin)(x, self.axis)
        if self.keepdims:
            found = np.expand_dims(found, self.axis)
        return np.asarray(found, dtypes.int64)

    def c_call(self, x: np.ndarray) -> Any:
        if self.keepdims or not 0 < x.size <= _FEW_ELEMENTS or x.dtype.kind not in "biuf":
            return None
        return (np.ndarray.argmax if self.kind == "maximum" else np.ndarray.argmin), (self.axis,)

    def foreign(self, x: Any) -> Call | None:
        """The function for rows whose elements are neighbours."""
        inner, count = product(x.shape[self.axis + 1:]), product(x.shape[: self.axis])
        if inner != 1 or x.dtype.name not in _FOUND:
            return None
        units = units_for(product(x.shape), count)
        table = operand(0), result(), number(x.shape[self.axis]), number(count), number(units)
        return Call(f"extreme:{self.kind} {x.dtype.name}", table, units=units)

    def _stays(self, x: Tensor) -> bool:
        """Return whether the function does it: on rows that are in memory and are not short."""
        node = graph_node(x)
        while node.op is not None and node.op.flat:
            node = node.inputs[0]
        n = x.shape[self.axis]
        return (
            node.op is None
            and is_static(x.shape)
            and isinstance(n, int)
            and n >= _MIN_ROW_ELEMENTS
            and self.foreign(x) is not None
        )

    def decompose(self, x: Tensor) -> Tensor | None:
        if x.dtype.kind == "c":
            return self._by_keys(x)
        n = x.shape[self.axis]
        block = _block(x.shape, self.axis)
        if block:
            return self._by_blocks(x, block)
        if self._stays(x):
            return None
        longest: Any = most(n)
        short = isinstance(longest, int) and longest < 1 << 31
        narrow = dtypes.int32 if short else dtypes.int64
        last = cast(as_tensor(n), narrow) - 1 if isinstance(n, Dim) else constant(n - 1, narrow)
        best = apply(reducer(extreme_over(self.kind, x.dtype), (self.axis,), True), x)
        found = x == best
        if x.dtype.kind in "fV":  # NaN is the extreme where there is any
            found = compare.logical_or(found, x != x)
        shape = tuple(n if a == self.axis else 1 for a in range(len(x.shape)))
        positions = symbolic(Arange(0, 1, n, narrow), ()).reshape(shape)
        chosen = select.where(found, positions, last)
        return cast(apply(reducer("minimum", (self.axis,), self.keepdims), chosen), dtypes.int64)

    def _by_keys(self, x: Tensor) -> Tensor:
        """Among complex numbers with the extreme first key that with the extreme second one."""
        way: Any = self.kind
        *firsts, last = keys(x, way)
        for first in firsts:
            best = apply(reducer(self.kind, (self.axis,), True), first)
            beyond = np.iinfo(np.int64).min if self.kind == "maximum" else np.iinfo(np.int64).max
            last = select.where(first == best, last, int(beyond))
        return apply(self, last)

    def _by_blocks(self, x: Tensor, size: int) -> Tensor:
        """The first block with the extreme, then its position there: elements are read once."""
        blocks = reshape(x, (x.shape[self.axis] // size, size))
        best = apply(reducer(extreme_over(self.kind, x.dtype), (1,), False), blocks)
        first = apply(ArgReduce(self.kind, 0), best)
        row = apply(Gather((0,), 0), blocks, first)
        position = first * size + apply(ArgReduce(self.kind, 0), row)
        return reshape(position, shapes.reduced(x.shape, (self.axis,), self.keepdims))


def _block(shape: Any, axis: int) -> int:
    """Size of the blocks in which one long row is searched; 0 for short or several ones."""
    n = shape[axis]
    if (
        not all(isinstance(s, int) for s in shape)
        or n < _MIN_BLOCKED_ELEMENTS
        or math.prod(shape) != n
    ):
        return 0
    return next((b for b in range(2048, 63, -1) if n % b == 0), 0)


@functools.lru_cache(maxsize=4096)
def _finder(kind: str, axis: int, keepdims: bool = False) -> ArgReduce:
    """The operation with these parameters, made once."""
    return ArgReduce(kind, axis, keepdims)


def _position(kind: str, x: Any, axis: int | None, keepdims: bool) -> Tensor:
    x = as_tensor(x)
    if axis is None and x.ndim == 1:
        axis = 0
    if axis is not None:
        return apply(_finder(kind, shapes.axis_of(axis, x.ndim), bool(keepdims)), x)
    found = apply(_finder(kind, 0), x.reshape((product(x.shape),)))
    return found.reshape((1,) * x.ndim) if keepdims else found


@planned
@public
def argmax(x: TensorLike, /, axis: int | None = None, *, keepdims: bool = False,
           out: Tensor | None = None) -> Tensor:
    """Index of the first greatest element along an axis (of the flattened tensor by default).

    :param x: At least one element; of a dtype with an order.
    :returns: int64, the shape of ``x`` without the axis: the first of several greatest elements;
        the first NaN where there is one.
    :raises ShapeError: If there are no elements.
    :see: max, argmin, nanargmax, topk

    >>> ag.argmax(ag.tensor([[1, 5], [7, 2]]), axis=1)
    tensor([1, 0])
    """
    return _position("maximum", x, axis, keepdims)


@planned
@public
def argmin(x: TensorLike, /, axis: int | None = None, *, keepdims: bool = False,
           out: Tensor | None = None) -> Tensor:
    """Index of the first least element along an axis (of the flattened tensor by default).

    :param x: At least one element; of a dtype with an order.
    :returns: int64, the shape of ``x`` without the axis: the first of several least elements; the
        first NaN where there is one.
    :raises ShapeError: If there are no elements.
    :see: min, argmax, nanargmin

    >>> ag.argmin(ag.tensor([[1, 5], [7, 2]]), axis=1)
    tensor([0, 1])
    """
    return _position("minimum", x, axis, keepdims)
