"""Index delinearization: the indices of several axes from one running number."""

from __future__ import annotations

from collections.abc import Sequence

from agnesi.codegen.llvm.builder import Builder, Value, i64
from agnesi.core.ir.dims import Size
from agnesi.core.ir.loops import Axis


def divide(b: Builder, value: Value, by: Size | Value) -> tuple[Value, Value]:
    """Quotient and remainder by a size that is at least 1."""
    if isinstance(by, int) and by == 1:
        return value, i64(0)
    return b.op("udiv", value, b.size(by)), b.op("urem", value, b.size(by))


def indices_along(b: Builder, axes: Sequence[Axis], member: Value) -> dict[Axis, Value]:
    """The indices along axes of the batch member with a number; the last axis counts fastest."""
    found = {}
    for axis in reversed(axes[1:]):
        member, found[axis] = divide(b, member, axis.extent)
    return {**found, **dict.fromkeys(axes[:1], member)}
