"""The order of complex numbers, as whole numbers that have it: by real, then by imaginary parts.

As in NumPy, numbers without NaN come first, then those with an imaginary NaN (by real parts), with
a real one (by imaginary parts), with two.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from agnesi.core.dispatch import apply
from agnesi.core.ir import loops
from agnesi.core.ir.loops import Expr
from agnesi.core.op import Op
from agnesi.core.support import dtypes
from agnesi.core.support.record import record
from agnesi.core.support.worker_threads import elements
from agnesi.core.tensor import Tensor

#: "up" is the order with NaN at the end; for "maximum" and "minimum" every NaN is beyond all
#: numbers, in that direction.
Way = Literal["up", "maximum", "minimum"]


@record
class OrderKey(Op):
    """A key of complex numbers: the only one of complex64, the first or second of complex128."""

    way: Way
    second: bool
    work = elements(16)
    name = "order_key"
    differentiable = False
    keep_inputs = ()

    def infer(self, x: Any) -> Any:
        return x.shape, dtypes.int64

    def batch(self, node: Any, xs: Any, rows: Any, length: Any) -> Tensor:
        return apply(self, xs[0])

    def perform(self, x: np.ndarray) -> np.ndarray:
        bits = 4 * x.dtype.itemsize
        x = np.ascontiguousarray(x)
        (a, b), (no_a, no_b) = zip(*(_number(part, bits) for part in (x.real, x.imag)), strict=True)
        first, second = self._keys(a, b, no_a, no_b, bits, np.where)
        if bits == 32:
            return np.asarray((first << 32) + second)
        return np.asarray(second if self.second else first)

    def _keys(self, a: Any, b: Any, no_a: Any, no_b: Any, bits: int, where: Any) -> Any:
        """Keys by the numbers of the parts, and whether they are NaN."""
        end = (0x7F80 << 16 if bits == 32 else 0x7FF0 << 48) + 1  # behind the bits of infinity
        if self.way in ("maximum", "minimum"):
            is_nan, zero = no_a | no_b, a * 0
            beyond = end if self.way == "maximum" else -end
            return where(is_nan, zero + beyond, a), where(is_nan, zero, b)
        zero = a * 0
        last = where(no_b, zero + (end + 2), zero + (end + 1))
        first = where(no_a, last, where(no_b, zero + end, a))
        return first, where(no_b, where(no_a, zero, a), b)

    def lower(self, at: Any, x: Any) -> Any:
        return self.key(x(*at))

    def key(self, z: Expr) -> Expr:
        """The key of a complex expression."""
        bits = 64 if z.dtype == "complex128" else 32
        (a, no_a), (b, no_b) = (_expression(loops.call(name, z)) for name in ("real", "imag"))
        first, second = self._keys(a, b, no_a, no_b, bits, loops.where)
        if bits == 32:
            return first * (1 << 32) + second
        return second if self.second else first


def _number(x: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Floats as int64 that have their order; both zeros are 0."""
    raw = np.ascontiguousarray(x).view(f"int{bits}").astype(np.int64)
    return np.where(raw < 0, -(1 << (bits - 1)) - raw, raw), np.isnan(x)


def _expression(x: Expr) -> tuple[Expr, Expr]:
    """The integer expression that has the order of a float's expression."""
    raw = loops.cast(loops.bits(x), "int64")
    least = -(1 << (31 if x.dtype == "float32" else 63))
    return loops.where(raw < 0, least - raw, raw), loops.call("isnan", x)


def _ops(dtype: Any, way: Way) -> list[OrderKey]:
    """The keys that order numbers, the most significant first."""
    return [OrderKey(way, second) for second in (False, True)[: 1 + (dtype == "complex128")]]


def keys(x: Tensor, way: Way) -> list[Tensor]:
    """The keys of complex numbers, that which decides first in front."""
    return [apply(op, x) for op in _ops(x.dtype, way)]


def key_expressions(z: Expr) -> list[Expr]:
    """The keys of a complex expression, that which decides first in front."""
    return [op.key(z) for op in _ops(z.dtype, "up")]
