"""Convolution kernels: their parts, planned and emitted one after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agnesi.codegen.axes import cost
from agnesi.codegen.builder import Builder, Value, i64
from agnesi.codegen.conv.dense import Dense, dense_parts, weight_part
from agnesi.codegen.conv.plan import Machine, WidePlan, plan_wide
from agnesi.codegen.conv.weight import Weight
from agnesi.codegen.conv.weightplan import WeightPlan, plan_weight
from agnesi.codegen.conv.wide import Finish, Wide
from agnesi.codegen.evaluate import Scope, memory_type
from agnesi.core.kernels import Buffer, Convolution

_LONG = 40
_PARALLEL_WORK = 600_000
_BYTES = {"float32": 4, "float64": 8}
Addresses = Callable[[Buffer], Value]


@dataclass(frozen=True)
class ConvPlan:
    """The parts of a kernel; their units are numbered through."""

    kernel: Convolution
    parts: tuple[WidePlan | WeightPlan, ...]

    @property
    def units(self) -> int:
        return sum(p.units for p in self.parts)

    @property
    def parallel(self) -> bool:
        """Whether it is worth several threads."""
        return self.units > 1 and sum(p.dense.work for p in self.parts) > _PARALLEL_WORK

    @property
    def scratch(self) -> int:
        """Bytes that each thread needs, aligned to 64."""
        return max(p.scratch for p in self.parts)


def plan_convolution(kernel: Convolution, *, vector_bits: int, l1: int, l2: int,
                     l3: int) -> ConvPlan:
    """How a convolution is cut into tiles and work units."""
    dtype = kernel.total.dtype.name
    itemsize = _BYTES[dtype]
    registers = 32 if vector_bits == 512 else 16
    machine = Machine(max(1, vector_bits // (8 * itemsize)), itemsize, registers, l1, l2)
    long = cost([s.value for s in kernel.body]) > _LONG
    type_ = memory_type(dtype)
    if kernel.kind == "weight":
        return ConvPlan(kernel, (plan_weight(weight_part(kernel), type_, machine),))
    parts = [plan_wide(d, type_, machine, long) for d in dense_parts(kernel)]
    return ConvPlan(kernel, tuple(parts))


def emit_convolution(b: Builder, plan: ConvPlan, pointer: Addresses, begin: Value,
                     end: Value) -> None:
    """Emit work units [begin, end) of a convolution into the current function."""
    kernel = plan.kernel
    scratch = b.alloca("i8", max(plan.scratch, 64))
    first, second = pointer(kernel.a.buffer), pointer(kernel.b.buffer)
    start = 0
    for part in plan.parts:
        low = b.intrinsic("smax", b.sub(begin, i64(start)), i64(0))
        high = b.intrinsic("smin", b.sub(end, i64(start)), i64(part.units))
        finish = _finish(b, pointer, part.dense)
        if isinstance(part, WeightPlan):
            Weight(b, part, first, second, finish, scratch).emit(low, high)
        else:
            Wide(b, part, first, second, finish, scratch).emit(low, high)
        start += part.units


def _finish(b: Builder, pointer: Addresses, dense: Dense) -> Finish:
    """The epilogue for one vector of sums."""
    root = Scope(b, pointer, {})
    if dense.key.free:  # else nothing tells what waits for the sum from what does not
        root.hoist([s.value for s in dense.body], dense.axes, root)

    def finish(total: Value, places: tuple[Value, ...], along: int, lanes: int,
               mask: Value | None) -> None:
        index = dict(zip(dense.axes, places, strict=True))
        scope = root.inside(index, along=dense.axes[along], lanes=lanes, mask=mask)
        scope.memo[dense.key] = total
        for s in dense.body:
            scope.store(s.buffer, s.offset, s.value)

    return finish
