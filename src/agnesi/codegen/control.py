"""Loops and branches: blocks of kernels on addresses that change from iteration to iteration."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agnesi.codegen.interrupts import iterations_between, poll
from agnesi.codegen.launch import Base, Runner, Step, address
from agnesi.codegen.llvm.builder import Builder, Value, i64
from agnesi.codegen.loops.nest import emit_nest
from agnesi.core.ir.dims import Size
from agnesi.core.ir.extents import least
from agnesi.core.ir.kernels import Block, Branch, Buffer, Carry, Loop, Source
from agnesi.core.ir.mapping import NestPlan

#: Bytes of a carry that is kept in registers (or on the stack) from iteration to iteration.
_MAX_CARRY_BYTES = 256
#: Bytes of a block's temporary memory that fit the stack.
_MAX_STACK_BYTES = 4096
_ENDLESS_ITERATIONS = 1 << 62

Outer = Callable[[Buffer], Value]


def emit_control(b: Builder, kernel: Loop | Branch, steps: Sequence[Sequence[Step | NestPlan]],
                 outer: Outer, run: Runner) -> None:
    """Emit a loop or branch; ``outer`` gives the addresses of the buffers around it."""
    emit = _Emitter(b, run, outer)
    if isinstance(kernel, Loop):
        _Loop(emit, kernel, steps).write()
    else:
        _branch(emit, kernel, steps)


class _Emitter:
    """The common part of the emitters of loops and branches."""

    def __init__(self, b: Builder, run: Runner, outer: Outer) -> None:
        self.b = b
        self.run = run
        self.outer = outer

    def block(self, block: Block, steps: Sequence[Step | NestPlan], base: Base) -> None:
        """Write a block's kernels."""
        for step in steps:
            if isinstance(step, Step):
                self.run(step, base)
            else:
                emit_nest(self.b, step, lambda buffer: address(self.b, buffer, base), i64(0),
                          self.b.size(step.units))

    def at(self, source: Source, dtype_bytes: int, iteration: Value | None = None) -> Value:
        """The address behind a source, at an iteration of the loop."""
        pointer = self.outer(source.buffer)
        if source.offset:
            pointer = self.b.gep("i8", pointer, self.b.size(source.offset * dtype_bytes))
        if source.step and iteration is not None:
            step = self.b.size(source.step * dtype_bytes)
            pointer = self.b.gep("i8", pointer, self.b.mul(iteration, step))
        return pointer

    def copy(self, target: Value, origin: Value, size: Size) -> None:
        if (not isinstance(size, int) or size) and target.ref != origin.ref:
            self.b.call("void", "llvm.memcpy.p0.p0.i64", target, origin, self.b.size(size),
                        Value("false", "i1"))

    def workspace(self, size: int) -> Value:
        """Return the address of ``size`` bytes on the call's stack, allocated in one piece, so that
        LLVM can keep them in registers.
        """
        return self.b.alloca(f"[{max(size, 1)} x i8]", 1)

    def arena(self, block: Block, pointer: Value) -> Value:
        """Return the address of a block's temporaries: on the stack, or at ``pointer``."""
        size = block.arena_bytes
        if isinstance(size, int) and size <= _MAX_STACK_BYTES:
            return self.workspace(size)
        return pointer

    def flag(self, pointer: Value) -> Value:
        """A bool in memory."""
        return self.b.icmp("ne", self.b.load("i8", pointer), Value("0", "i8"))


def _branch(emit: _Emitter, branch: Branch, steps: Sequence[Sequence[Step | NestPlan]]) -> None:
    b = emit.b
    yes, no, after = b.label("then"), b.label("otherwise"), b.label("after")
    scratch = emit.outer(branch.scratch)
    b.cbr(emit.flag(emit.at(branch.chosen, 1)), yes, no)
    for label, block, inner in zip((yes, no), branch.blocks(), steps, strict=True):
        b.open_block(label)
        entries = {x.slot: emit.at(block.sources[x], x.dtype.itemsize) for x in block.entries()}
        entries[len(block.table)] = emit.arena(block, scratch)
        emit.block(block, inner, entries.__getitem__)
        b.br(after)
    b.open_block(after)


def _is_small(buffer: Buffer) -> bool:
    """Return whether a value is kept in registers or on the stack."""
    return isinstance(buffer.nbytes, int) and buffer.nbytes <= _MAX_CARRY_BYTES


class _Loop:
    """Emits one loop.

    A carry that is updated in place has one buffer. So has a small one, which is copied at the end
    of each iteration, so that LLVM keeps it in a register. Any other carry is read where the
    previous iteration wrote it: in a row of a result, or in one of two buffers (double buffering).
    """

    def __init__(self, emit: _Emitter, loop: Loop, steps: Sequence[Sequence[Step | NestPlan]]
                 ) -> None:
        self.emit = emit
        self.b = emit.b
        self.loop = loop
        *tested, self.steps = steps
        self.tested = tested[0] if tested else []
        self.scratch = emit.outer(loop.scratch)
        self.offsets = loop.offsets()
        block = loop.block
        self.entries = block.entries()
        self.fixed: dict[int, Value] = {len(block.table): self._arena(block, self.offsets[0])}
        #: What is written in an iteration, by slot: rows of results, carries that get it.
        self.rows: dict[int, list[Source]] = {}
        for buffer, source in loop.rows:
            self.rows.setdefault(buffer.slot, []).append(source)
        self.takers: dict[int, list[Carry]] = {}
        for carry in loop.carries:
            self.takers.setdefault(carry.following.slot, []).append(carry)
        self.owners = {c.inside.slot: c for c in loop.carries}
        self.moving: list[Carry] = []
        self.swapped: list[int] = []
        self._settle()

    def _part(self, offset: Size) -> Value:
        return self.b.gep("i8", self.scratch, self.b.size(offset))

    def _arena(self, block: Block, offset: Size) -> Value:
        return self.emit.arena(block, self._part(offset))

    # -- memory of carries ------------------------------------------------------------------
    def _settle(self) -> None:
        """Set the address of every table entry that is the same in all iterations, or how each
        iteration computes it.
        """
        for i, carry in enumerate(self.loop.carries):
            if self._stays(carry):
                self._start(carry, self.offsets[2][i])
            else:
                self.moving.append(carry)
        for buffer in self.entries:
            source = self.loop.block.sources.get(buffer)
            if source is not None and not source.step:
                self.fixed[buffer.slot] = self._invariant(buffer, source)
            elif source is None and buffer.slot not in self.owners:
                self._settle_written(buffer)

    def _stays(self, carry: Carry) -> bool:
        """Return whether a carry keeps one address in all iterations, so that it is updated in
        place."""
        return _is_small(carry.inside) or carry.following.slot in {
            c.inside.slot for c in self.loop.carries
        }

    def _start(self, carry: Carry, offset: Size) -> None:
        size = carry.inside.nbytes
        if _is_small(carry.inside):
            pointer = self.emit.workspace(size)
        else:
            pointer = self.emit.outer(carry.last) if carry.last is not None else self._part(offset)
        self.emit.copy(pointer, self._first(carry), size)
        self.fixed[carry.inside.slot] = pointer

    def _first(self, carry: Carry) -> Value:
        return self.emit.at(carry.first, carry.inside.dtype.itemsize)

    def _invariant(self, buffer: Buffer, source: Source) -> Value:
        """Bind a buffer that does not change in the loop; small values are kept in registers."""
        pointer = self.emit.at(source, buffer.dtype.itemsize)
        if not _is_small(buffer) or not buffer.nbytes or not buffer.contiguous:
            return pointer
        near = self.emit.workspace(buffer.nbytes)
        self.emit.copy(near, pointer, buffer.nbytes)
        return near

    def _settle_written(self, buffer: Buffer) -> None:
        """Choose where a buffer that an iteration writes is: on the stack, in a row, or in one of
        two buffers.
        """
        if _is_small(buffer):
            self.fixed[buffer.slot] = self.emit.workspace(buffer.nbytes)
        elif buffer.slot not in self.rows:
            self.swapped.append(buffer.slot)

    # -- the loop ---------------------------------------------------------------------------
    def write(self) -> None:
        b, loop = self.b, self.loop
        starts = [self._first(c) for c in self.moving]
        iterations = self._iterations()
        if loop.condition is not None:
            self.asking = self._arena(loop.condition, self.offsets[1])
            self.answer = self.emit.workspace(1)
            iterations = b.select(self._goes_on(starts), iterations, i64(0))
        pairs = [v for slot in self.swapped for v in self._pair(slot)]
        known = loop.count is None and loop.condition is None and loop.length is not None
        nonempty = known and (least(loop.length or 0) or 0) > 0
        with b.loop(i64(0), iterations, 1, [i64(0), *starts, *pairs], nonempty=nonempty) as run:
            present = run.carried[1 : 1 + len(starts)]
            pairs = run.carried[1 + len(starts) :]
            iteration = b.sub(b.sub(iterations, i64(1)), run.index) if loop.reverse else run.index
            following = self._iteration(iteration, present, pairs[::2])
            swapped = [v for i in range(0, len(pairs), 2) for v in (pairs[i + 1], pairs[i])]
            run.carry(b.add(run.index, i64(1)), *following, *swapped)
            if between := iterations_between(loop):
                last = b.op("and", run.index, i64(between - 1))
                with b.when(b.icmp("eq", last, i64(between - 1)), rare=True):
                    self.emit.run.leave_on(poll(b))
            if loop.stop is not None:
                run.until = self.emit.flag(self.fixed[loop.stop.slot])
            elif loop.condition is not None:
                on = self._goes_on(following)
                run.until = b.op("xor", on, Value("true", "i1"))
        self._finish(iterations, run.results[0], run.results[1 : 1 + len(starts)])

    def _iterations(self) -> Value:
        loop = self.loop
        if loop.length is None:
            return i64(_ENDLESS_ITERATIONS)
        most = self.b.size(loop.length)
        if loop.count is None:
            return most
        count = self.b.load("i64", self.emit.at(loop.count, 8))
        return self.b.intrinsic("smax", self.b.intrinsic("smin", count, most), i64(0))

    def _pair(self, slot: int) -> tuple[Value, Value]:
        """The two addresses of a double-buffered carry."""
        carry = self.takers[slot][0]
        index = self.loop.carries.index(carry)
        offset, end = self.offsets[2][index : index + 2]
        return self._part(offset), self._part(offset + (end - offset) // 2)

    def _iteration(self, iteration: Value, present: Sequence[Value], pairs: Sequence[Value]
                   ) -> list[Value]:
        """Emit one iteration; return the addresses of the moving carries in the next one."""
        entries = dict(self.fixed)
        entries.update(zip((c.inside.slot for c in self.moving), present, strict=True))
        entries.update(zip(self.swapped, pairs, strict=True))
        for buffer in self.entries:
            if buffer.slot not in entries:
                source = self.loop.block.sources.get(buffer) or self.rows[buffer.slot][0]
                entries[buffer.slot] = self.emit.at(source, buffer.dtype.itemsize, iteration)
        self.emit.block(self.loop.block, self.steps, entries.__getitem__)
        for buffer, source in self.loop.rows:
            row = self.emit.at(source, buffer.dtype.itemsize, iteration)
            if buffer.slot in self.fixed or source is not self.rows[buffer.slot][0]:
                self.emit.copy(row, entries[buffer.slot], buffer.nbytes)
        for carry in self.loop.carries:
            if carry.inside.slot in self.fixed:
                self.emit.copy(self.fixed[carry.inside.slot], entries[carry.following.slot],
                               carry.inside.nbytes)
        return [entries[c.following.slot] for c in self.moving]

    def _goes_on(self, present: Sequence[Value]) -> Value:
        """Emit the loop condition for the present carries."""
        block = self.loop.condition
        assert block is not None and self.loop.goes_on is not None
        entries = {len(block.table): self.asking, self.loop.goes_on.slot: self.answer}
        where = {c.inside.slot: v for c, v in zip(self.moving, present, strict=True)}
        for buffer, carry in zip(self.loop.asks, self.loop.carries, strict=True):
            slot = carry.inside.slot
            entries[buffer.slot] = self.fixed[slot] if slot in self.fixed else where[slot]
        for buffer in block.entries():
            if buffer.slot not in entries:
                entries[buffer.slot] = self.emit.at(block.sources[buffer], buffer.dtype.itemsize)
        self.emit.block(block, self.tested, entries.__getitem__)
        return self.emit.flag(self.answer)

    # -- afterwards -------------------------------------------------------------------------
    def _finish(self, iterations: Value, done: Value, present: Sequence[Value]) -> None:
        loop, emit, b = self.loop, self.emit, self.b
        where = {c.inside.slot: v for c, v in zip(self.moving, present, strict=True)}
        for carry in loop.carries:
            if carry.last is not None:
                slot = carry.inside.slot
                pointer = self.fixed[slot] if slot in self.fixed else where[slot]
                emit.copy(emit.outer(carry.last), pointer, carry.inside.nbytes)
        for buffer, source in loop.rows:
            if loop.stop is not None:
                self._repeat(buffer, source, iterations, done)
            if loop.count is not None:
                self._clear(buffer, source, iterations)
        if loop.done is not None:
            b.store(done, emit.outer(loop.done))

    def _repeat(self, buffer: Buffer, source: Source, iterations: Value, done: Value) -> None:
        """Fill the rows after the last iteration with copies of the last row."""
        b, size = self.b, buffer.dtype.itemsize

        def row(k: Value) -> Value:
            iteration = b.sub(b.sub(iterations, i64(1)), k) if self.loop.reverse else k
            return self.emit.at(source, size, iteration)

        last = row(b.sub(done, i64(1)))
        with b.loop(done, iterations, 1) as rest:
            self.emit.copy(row(rest.index), last, buffer.nbytes)

    def _clear(self, buffer: Buffer, source: Source, iterations: Value) -> None:
        """Fill the rows after the last iteration with zeros."""
        b = self.b
        assert self.loop.length is not None
        left = b.mul(b.sub(b.size(self.loop.length), iterations), b.size(buffer.nbytes))
        pointer = self.emit.at(source, buffer.dtype.itemsize, iterations)
        b.call("void", "llvm.memset.p0.i64", pointer, Value("0", "i8"), left, Value("false", "i1"))
