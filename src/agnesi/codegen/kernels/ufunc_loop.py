"""Calls of universal functions' inner loops, block by block, with NumPy's broadcasting.

Blocks are small enough for what has to be converted, and many enough for all threads.  How long an
element takes may follow from its value: SciPy's recurrences take as many steps as an order is
large.  So one call computes as many elements of a block as the clock says will not take long, and
signals are looked for behind each call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from agnesi.codegen.arithmetic import scalars
from agnesi.codegen.llvm.builder import Builder, Value, i64
from agnesi.codegen.loops.evaluate import memory_type
from agnesi.core.ir.dims import Size
from agnesi.core.ir.foreign import Walk, external
from agnesi.core.ir.kernels import Buffer, Foreign
from agnesi.core.support.record import record
from agnesi.core.target import Target

#: Elements of a block that one call of a ufunc's inner loop computes, at most, and nanoseconds, as
#: signals are looked for between blocks.
_BLOCK_ELEMENTS, _BLOCK_NANOSECONDS = 256, 1 << 17
#: Elements up to which a kernel is never interrupted.
_MOST_WHOLE = 8
#: Cycles, or nanoseconds, of a call below which the next one takes twice as many elements, and
#: above which it takes a quarter of them.
_SHORT_CALL, _LONG_CALL = 1 << 16, 1 << 19
_CLOCK = external("runtime:profile_clock")


@record
class Axis:
    """A loop: its size, and the bytes from one element to the next of each buffer."""

    size: Size
    steps: tuple[Size, ...]


@record
class WalkPlan:
    """How a kernel is cut: ``units`` are blocks of ``block`` elements along the first of ``axes``,
    the innermost."""

    kernel: Foreign
    axes: tuple[Axis, ...]
    block: int
    blocks: Size
    units: Size
    surplus: Any


def plan_walk(kernel: Foreign, target: Target) -> WalkPlan:
    """The loops around the calls."""
    axes = _axes(kernel)
    assert isinstance(kernel.call, Walk)
    block = max(1, min(_BLOCK_ELEMENTS, _BLOCK_NANOSECONDS // kernel.call.nanoseconds))
    blocks = (axes[0].size + (block - 1)) // block
    units = blocks
    for axis in axes[1:]:
        units = units * axis.size
    surplus = kernel.results[0].size - target.costs.called_elements
    return WalkPlan(kernel, axes, block, blocks, units, surplus)


def may_be_long(plan: WalkPlan) -> bool:
    """Return whether signals are looked for between the calls of a kernel."""
    size = plan.kernel.results[0].size
    return not isinstance(size, int) or size > _MOST_WHOLE


def _axes(kernel: Foreign) -> tuple[Axis, ...]:
    """The loops, innermost first; axes contiguous to each other in all buffers are merged."""
    shape = kernel.results[0].shape
    buffers = (*kernel.inputs, *kernel.results)
    found: list[Axis] = []
    for i in range(1, len(shape) + 1):
        if shape[-i] == 1:
            continue
        axis = Axis(shape[-i], tuple(_step(b, i) for b in buffers))
        if found and axis.steps == tuple(s * found[-1].size for s in found[-1].steps):
            found[-1] = Axis(found[-1].size * axis.size, found[-1].steps)
        else:
            found.append(axis)
    return tuple(found) or (Axis(1, (0,) * len(buffers)),)


def _step(buffer: Buffer, i: int) -> Size:
    """Bytes between neighbours along the i-th axis from the end, which may be broadcast."""
    if i > len(buffer.shape) or buffer.shape[-i] == 1:
        return 0
    return buffer.strides[-i] * buffer.dtype.itemsize


def emit_walk(b: Builder, plan: WalkPlan, pointer: Callable[[Buffer], Value],
              functions: Sequence[Value], begin: Value, end: Value,
              interrupted: Callable[[], Value] | None = None) -> None:
    """The blocks from ``begin`` to ``end``; ``functions`` are the loop's address and its data.

    ``interrupted`` emits a look for signals, and returns whether the rest is to be left out.
    """
    writer = _Writer(b, plan, pointer, interrupted)
    with b.loop(begin, end) as unit:
        writer.block(unit.index, functions)
        if interrupted is not None:
            unit.until = interrupted()


class _Writer:
    """The code for one block, and the tables that all blocks share."""

    def __init__(self, b: Builder, plan: WalkPlan, pointer: Callable[[Buffer], Value],
                 interrupted: Callable[[], Value] | None) -> None:
        self.b = b
        self._interrupted = interrupted
        self.plan = plan
        kernel = plan.kernel
        assert isinstance(kernel.call, Walk)
        before, _, after = kernel.call.types.partition("->")
        self.dtypes = [np.dtype(c) for c in before + after]
        self.inputs = len(before)
        self.wanted = self.inputs + kernel.call.output
        self.buffers = (*kernel.inputs, *kernel.results)
        self.addresses = [pointer(buffer) for buffer in self.buffers]
        self.workspaces: dict[int, Value] = {}
        self.arguments, self.steps = (b.alloca(t, len(self.dtypes)) for t in ("ptr", "i64"))
        self.count, self.several = b.alloca("i64", 1), b.alloca("i64", 1)
        b.store(i64(1), self.several)
        for k, dtype in enumerate(self.dtypes):
            self._prepare(k, dtype)

    def _prepare(self, k: int, dtype: np.dtype) -> None:
        """Store the byte stride of argument ``k`` of the inner loop; allocate a block for it if its
        buffer has another dtype, or it has none.
        """
        b = self.b
        i = self._buffer(k)
        step: Size = 0
        if i is None:
            self.workspaces[k] = b.alloca("i8", dtype.itemsize)
        elif self.buffers[i].dtype != dtype:
            self.workspaces[k] = b.alloca("i8", self.plan.block * dtype.itemsize)
            step = dtype.itemsize
        else:
            step = self.plan.axes[0].steps[i]
        b.store(b.size(step), b.gep("i64", self.steps, i64(k)))

    def _buffer(self, k: int) -> int | None:
        """The number of an argument's buffer; None for unused results."""
        if k < self.inputs:
            return k
        return self.inputs if k == self.wanted else None

    def block(self, unit: Value, functions: Sequence[Value]) -> None:
        """Emit the call of the ufunc's inner loop for one block of elements: inputs of another
        dtype are converted before it, the result after it.
        """
        count, starts = self._starts(unit)
        placed: list[tuple[Value, Size]] = []
        for k, dtype in enumerate(self.dtypes):
            i = self._buffer(k)
            if i is None or k in self.workspaces:
                placed.append((self.workspaces[k], 0 if i is None else dtype.itemsize))
            else:
                placed.append((starts[i], self.plan.axes[0].steps[i]))
            if i is not None and k in self.workspaces and k < self.inputs:
                self._convert(count, (starts[i], self.buffers[i].dtype, self._inner(i)),
                              (self.workspaces[k], dtype, i64(dtype.itemsize)))
        if self._interrupted is None:
            self._call(functions, placed, i64(0), count)
        else:
            self._in_pieces(functions, placed, count, self._interrupted)
        if self.wanted in self.workspaces:
            i, dtype = self.inputs, self.dtypes[self.wanted]
            self._convert(count, (self.workspaces[self.wanted], dtype, i64(dtype.itemsize)),
                          (starts[i], self.buffers[i].dtype, self._inner(i)))

    def _call(self, functions: Sequence[Value], placed: Sequence[tuple[Value, Size]], first: Value,
              count: Value) -> None:
        """Emit the call for ``count`` elements of a block from ``first`` on, of arguments that are
        ``placed`` at these addresses, with these bytes from one element to the next."""
        b = self.b
        b.store(count, self.count)
        for k, (start, step) in enumerate(placed):  # loops may leave the pointers where they end
            at = b.gep("i8", start, b.mul(first, b.size(step))) if step != 0 else start
            b.store(at, b.gep("ptr", self.arguments, i64(k)))
        b.call_pointer("void", functions[0], self.arguments, self.count, self.steps, functions[1])

    def _in_pieces(self, functions: Sequence[Value], placed: Sequence[tuple[Value, Size]],
                   count: Value, interrupted: Callable[[], Value]) -> None:
        """Emit the calls for a block, each of as many elements as the one before it allows."""
        b = self.b
        with b.loop(i64(0), count, carried=(i64(0),)) as piece:
            (first,) = piece.carried
            several = b.load("i64", self.several)
            taken = b.intrinsic("smin", several, b.sub(count, first))
            before = b.call("i64", _CLOCK)
            self._call(functions, placed, first, taken)
            time = b.sub(b.call("i64", _CLOCK), before)
            fewer = b.intrinsic("smax", b.op("lshr", several, i64(2)), i64(1))
            more = b.intrinsic("smin", b.add(several, several), i64(self.plan.block))
            kept = b.select(b.icmp("slt", time, i64(_SHORT_CALL)), more, several)
            b.store(b.select(b.icmp("sgt", time, i64(_LONG_CALL)), fewer, kept), self.several)
            after = b.add(first, taken)
            piece.carry(after)
            piece.until = b.op("or", b.icmp("sge", after, count), interrupted())

    def _inner(self, i: int) -> Value:
        return self.b.size(self.plan.axes[0].steps[i])

    def _starts(self, unit: Value) -> tuple[Value, list[Value]]:
        """Return the elements of a block, and the addresses of its first ones."""
        b, axes = self.b, self.plan.axes
        blocks = b.size(self.plan.blocks)
        block = i64(self.plan.block)
        first = b.mul(b.op("urem", unit, blocks), block)
        rest = b.op("udiv", unit, blocks)
        left = b.sub(b.size(axes[0].size), first)
        count = b.select(b.icmp("slt", left, block), left, block)
        index = [first]
        for axis in axes[1:]:
            n = b.size(axis.size)
            index.append(b.op("urem", rest, n))
            rest = b.op("udiv", rest, n)
        return count, [self._at(i, index) for i in range(len(self.buffers))]

    def _at(self, i: int, index: Sequence[Value]) -> Value:
        b, address = self.b, self.addresses[i]
        for axis, at in zip(self.plan.axes, index, strict=True):
            if axis.steps[i] != 0:
                address = b.gep("i8", address, b.mul(at, b.size(axis.steps[i])))
        return address

    def _convert(self, count: Value, source: tuple[Value, np.dtype, Value],
                 target: tuple[Value, np.dtype, Value]) -> None:
        """Elements at (address, dtype, step) to another dtype elsewhere."""
        b = self.b
        (start, old, step), (address, new, stride) = source, target
        with b.loop(i64(0), count) as loop:
            value = b.load(memory_type(old.name), b.gep("i8", start, b.mul(loop.index, step)),
                           old.itemsize)
            value = scalars.cast(b, value, old.name, new.name)
            b.store(value, b.gep("i8", address, b.mul(loop.index, stride)), new.itemsize)
