"""Running greatest and least elements along an axis."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from agnesi.core import shapes
from agnesi.core.dispatch import apply
from agnesi.core.ir import loops
from agnesi.core.ir.foreign import Call
from agnesi.core.public import apply_to
from agnesi.core.support import dtypes
from agnesi.core.support.numpy_warnings import silently
from agnesi.core.support.record import record
from agnesi.core.support.tracing import is_known
from agnesi.core.support.worker_threads import aside
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.base.compare import isnan, logical_or
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.creation import zeros_like
from agnesi.ops.base.expand import broadcast_to
from agnesi.ops.base.movement import reshape
from agnesi.ops.base.reduce import with_order
from agnesi.ops.base.scans import Scan
from agnesi.ops.base.select import where
from agnesi.ops.indexing.index import take_along_axis
from agnesi.ops.indexing.ranges import arange
from agnesi.ops.indexing.scatter import scatter_add


@record
class _Extreme(Scan):
    """The greatest or least element so far; NaN from the first NaN on."""

    keep_output = True
    kind: ClassVar[str] = ""

    def perform(self, x: np.ndarray) -> np.ndarray:
        y = np.empty_like(x)
        self.fill(y, x)
        return y

    def fill(self, out: np.ndarray, x: np.ndarray) -> bool:
        run = getattr(np, self.kind).accumulate
        silently(run, self.forwards(x), 0, None, self.forwards(out))
        return True

    def foreign(self, x: Any) -> Call | None:
        return self.running(x, self.kind)

    def parts(self, x: Any) -> list[Any]:
        return self.in_order(x.shape, lambda at: x(*at), lambda own, at: loops.call(
            self.kind, own(*self.stepped(at, -1)), x(*at)))

    def chosen(self, y: Tensor, x: Tensor) -> Tensor:
        """For each element of the result, which one of the operand it is: the latest."""
        if is_known(x) and is_known(y):
            array: Any = x.array
            return wrap(aside(8 * array.size, _latest, y.array, array, self.axis, self.reverse))
        n = x.shape[self.axis]
        row = reshape(arange(n), (n, *(1,) * (x.ndim - self.axis - 1)))
        same = x == y
        same = logical_or(same, isnan(x)) if x.dtype.kind in "fV" else same
        last = n - 1 if self.reverse else 0
        positions = where(same, broadcast_to(row, x.shape), as_tensor(last, dtypes.int64))
        return apply((CumMin if self.reverse else CumMax)(self.axis, self.reverse), positions)

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        return (scatter_add(zeros_like(x), self.axis, self.chosen(y, x), g),)

    def jvp(self, ts: Any, y: Tensor, x: Tensor) -> Any:
        return take_along_axis(ts[0], self.chosen(y, x), self.axis)


@record
class CumMax(_Extreme):
    """Running maxima."""

    name = "cummax"
    kind = "maximum"


@record
class CumMin(_Extreme):
    """Running minima."""

    name = "cummin"
    kind = "minimum"


#: Elements that are accumulated at once.
_PART = 1 << 20


def _latest(y: np.ndarray, x: np.ndarray, axis: int, reverse: bool) -> np.ndarray:
    """Where the latest element is that is the extreme so far, in the memory of the result."""
    found = np.empty(x.shape, np.int64)
    row, same = found.swapaxes(axis, 0), (x == y).swapaxes(axis, 0)  # moveaxis is Python's
    if x.dtype.kind in "fV":
        same |= np.isnan(x.swapaxes(axis, 0))
    row[...] = 1
    row[:1] = 0
    np.add.accumulate(row, 0, None, row)
    np.copyto(row, len(row) - 1 if reverse else 0, where=np.logical_not(same, out=same))
    row = row[::-1] if reverse else row
    extreme = np.minimum if reverse else np.maximum
    part = max(1, _PART * len(row) // max(1, row.size))
    for i in range(0, len(row), part):  # in place NumPy keeps Python's lock: others get it between
        here = row[max(i - 1, 0) : i + part]
        extreme.accumulate(here, 0, None, here)
    return found


def running(op: type[_Extreme], x: Any, axis: int | None, out: Tensor | None = None) -> Tensor:
    """Running extremes along an axis (of the flattened tensor by default)."""
    x = with_order(as_tensor(x))
    if x.dtype.kind == "b":
        found = running(op, cast(x, dtypes.int64), axis)
        return cast(found, dtypes.bool_)
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    return apply_to(out, op(shapes.axis_of(axis, x.ndim)), x)
