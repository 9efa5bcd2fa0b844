"""Running logarithms of sums of exponentials along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.core import shapes
from agnesi.core.dispatch import apply
from agnesi.core.ir import loops
from agnesi.core.support import dtypes
from agnesi.core.support.numpy_warnings import silently
from agnesi.core.support.record import record
from agnesi.core.support.worker_threads import elements
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import multiply
from agnesi.ops.base.convert import cast, floating
from agnesi.ops.base.movement import reshape
from agnesi.ops.base.scans import Recurrence, Scan, Shift
from agnesi.ops.base.select import where
from agnesi.ops.elementwise.explog import share_of_sum
from agnesi.ops.indexing.ranges import arange


@record
class LogCumSum(Scan):
    """``log(cumsum(exp(x)))`` of real floats, without overflow."""

    name = "logcumsumexp"
    keep_output = True
    work = elements(20)

    def perform(self, x: np.ndarray) -> np.ndarray:
        y = np.empty_like(x)
        silently(np.logaddexp.accumulate, self.forwards(x), 0, None, self.forwards(y))
        return y

    def parts(self, x: Any) -> list[Any]:
        return self.in_order(x.shape, lambda at: x(*at), lambda own, at: loops.call(
            "logaddexp", own(*self.stepped(at, -1)), x(*at)))

    def _shares(self, y: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        """The parts in each sum of the sum before it, and of its last element."""
        n = x.shape[self.axis]
        positions = reshape(arange(n), (n, *(1,) * (x.ndim - self.axis - 1)))
        first = positions == (n - 1 if self.reverse else 0)
        before = where(first, -np.inf, apply(Shift(self.axis, self.reverse), y))
        return share_of_sum(before, x), where(first, 1.0, share_of_sum(x, before))

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        before, last = self._shares(y, x)
        later = apply(Recurrence(self.axis, not self.reverse, lagged=True), before, g)
        return (multiply(later, last),)

    def jvp(self, ts: Any, y: Tensor, x: Tensor) -> Any:
        before, last = self._shares(y, x)
        return apply(Recurrence(self.axis, self.reverse), before, multiply(ts[0], last))


def running(x: Any, axis: int) -> Tensor:
    """The sums along an axis; those of 16-bit floats are computed in float32."""
    x = floating(x)
    if x.dtype in dtypes.HALVES:
        return cast(running(cast(x, dtypes.float32), axis), x.dtype)
    return apply(LogCumSum(shapes.axis_of(axis, x.ndim)), x)
