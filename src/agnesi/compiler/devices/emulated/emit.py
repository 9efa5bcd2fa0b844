"""Loop nests as kernels of a grid: a function that runs one block of threads.

``void @k(ptr table, i64 block, i64 order)``: ``table`` holds where the buffers are for the device.
A thread has one point of the axes whose points do not depend on each other, and loops over the
others.  The threads of a block run one after the other, from the last one if ``order`` is 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from agnesi.codegen.llvm.builder import Builder, Module, Value, i64
from agnesi.codegen.loops.evaluate import Scope
from agnesi.core.ir.dims import is_static
from agnesi.core.ir.kernels import Buffer, Nest, Store
from agnesi.core.ir.loops import Axis
from agnesi.core.support.errors import DeviceError

#: Threads of a block.
THREADS = 64
_PARAMETERS = (("ptr", "table"), ("i64", "block"), ("i64", "order"))


def emit_nest(module: Module, name: str, nest: Nest) -> int:
    """Write the function of a nest; how many blocks there are."""
    if not is_static([a.extent for a in nest.axes]):
        raise DeviceError("kernels of the device 'emulated' take sizes that are known")
    apart = [a for a in nest.axes if a not in nest.ordered]
    points = math.prod([a.extent for a in apart])
    if 0 in [a.extent for a in nest.axes]:
        return 0
    b = Builder(module, name, _PARAMETERS, internal=False)
    table, block, order = b.parameters
    buffers = dict.fromkeys([*nest.reads(), *nest.writes()])
    addresses = {buffer: _address(b, table, buffer) for buffer in buffers}
    with b.loop(i64(0), i64(THREADS), 1, nonempty=True) as loop:
        last = b.op("sub", i64(THREADS - 1), loop.index)
        thread = b.select(b.icmp("ne", order, i64(0)), last, loop.index)
        point = b.add(b.mul(block, i64(THREADS)), thread)
        with b.when(b.icmp("slt", point, i64(points))):
            scope = Scope(b, addresses.__getitem__, _indices(b, point, apart),
                          along=_any(nest.axes))
            _loops(b, scope, [a for a in nest.axes if a in nest.ordered], nest)
    b.finish()
    return -(-points // THREADS)


def _any(axes: Sequence[Axis]) -> Axis | None:
    """Return the axis for the lanes, the first if there is one: the device has one lane."""
    return axes[0] if axes else None


def _address(b: Builder, table: Value, buffer: Buffer) -> Value:
    """Return the address of a buffer."""
    start = b.load("ptr", b.gep("ptr", table, i64(buffer.slot)))
    return b.gep("i8", start, i64(buffer.offset))


def _indices(b: Builder, point: Value, axes: Sequence[Axis]) -> dict[Axis, Value]:
    """The index along each axis of a point, the last axis running fastest."""
    found, rest = {}, point
    for axis in reversed(axes):
        found[axis] = b.op("urem", rest, i64(axis.extent))
        rest = b.op("udiv", rest, i64(axis.extent))
    return found


def _loops(b: Builder, scope: Scope, ordered: Sequence[Axis], nest: Nest) -> None:
    """Loops over the axes along which points depend on earlier ones, and the stores inside."""
    if ordered:
        axis, *rest = ordered
        with b.loop(i64(0), i64(axis.extent), 1, nonempty=True) as loop:
            _loops(b, scope.inside({axis: loop.index}), rest, nest)
        return
    for s in nest.body:
        with b.when(_first(b, scope, _missing(nest, s))):
            inner = scope.inside({})
            inner.store(s.buffer, s.offset, s.value)


def _missing(nest: Nest, s: Store) -> list[Axis]:
    """Return the axes that a store does not depend on; only their first point stores."""
    used = s.offset.free | s.value.free
    return [a for a in nest.axes if a not in used and a not in nest.ordered]


def _first(b: Builder, scope: Scope, axes: Iterable[Axis]) -> Value:
    """Return whether the indices along all axes are 0."""
    found = Value("true", "i1")
    for axis in axes:
        found = b.op("and", found, b.icmp("eq", scope.axes[axis], i64(0)))
    return found
