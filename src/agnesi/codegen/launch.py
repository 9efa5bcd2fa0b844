"""Launches of kernels from generated code: in line, in parallel, or by a callback into Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, groupby
from typing import Any

from agnesi.codegen.interrupts import Pace, poll, writing_begins
from agnesi.codegen.llvm.builder import Builder, Value, i64
from agnesi.core.ir.dims import Size
from agnesi.core.ir.extents import Extent
from agnesi.core.ir.kernels import Buffer
from agnesi.core.support.record import record

Base = Callable[[int], Value]
#: The bits of the argument to Python that are the number of a function (``runtime/callbacks.py``),
#: and what the program returns where that failed.
_TOKEN_SHIFT, _CALLBACK_FAILED = 32, 1
#: The entry of the runtime's table that holds the address of the table of functions.
FUNCTIONS_ENTRY = 5
#: Those that hold the counters of a profiled program, two for each row, and the clock.
_COUNTERS_ENTRY, _CLOCK_ENTRY = 6, 7
#: How a table says that a step is run: here, on all threads, by code that may fail; or that there
#: is nothing to run but a flag to look at.
_ALONE, _SHARED, _CONTROL, _CHECK = range(4)


@record
class Step:
    """One kernel, as the code around it runs it.

    ``buffers`` are those whose addresses the kernel is given, in its own order: its text contains
    no addresses, so that equal kernels share code. A ``control`` step runs other kernels. A
    ``parallel`` step is worth several threads if ``surplus`` is not negative. The addresses of the
    C functions numbered ``symbols`` follow those of the buffers. A check has no function: the
    program ends with the code ``failure`` unless the byte at its offset is set.
    """

    name: str
    units: Size
    parallel: bool
    buffers: tuple[Buffer, ...]
    callback: int = -1
    control: bool = False
    surplus: Size = 0
    symbols: tuple[int, ...] = ()
    failure: int = 0
    rows: tuple[tuple[int, Any], ...] = ()
    looks: bool = False

    @property
    def simple(self) -> bool:
        """Whether the kernel can be run from a row of the launch table."""
        return self.callback < 0 and not self.symbols and not self.looks

    @property
    def way(self) -> int:
        """The kind of the step in the launch table: check, control, shared among threads, or alone.
        """
        if self.failure:
            return _CHECK
        return _CONTROL if self.control else _SHARED if self.parallel else _ALONE


def address_key(buffer: Buffer) -> tuple[int, int]:
    """Return the address of a buffer, by the table of the code around it."""
    return buffer.slot, buffer.offset


def address(b: Builder, buffer: Buffer, base: Base) -> Value:
    """Return the address of a buffer; ``base`` gives the entries of the table."""
    start = base(buffer.slot)
    return b.gep("i8", start, b.size(buffer.offset)) if buffer.offset else start


class Runner:
    """Calls of ``steps`` out of one function, which gets the runtime's table as ``rt``."""

    def __init__(self, b: Builder, rt: Value, steps: Sequence[Step],
                 sizes: Sequence[Extent] = ()) -> None:
        self.b = b
        self.rt = rt
        self.sizes = sizes
        most = max((len(s.buffers) + len(s.symbols) for s in steps), default=0) + len(sizes)
        self.workspace = b.alloca("ptr", most or 1)

    def __call__(self, step: Step, base: Base) -> None:
        """Run a step."""
        if step.rows:
            self.timed(step.rows[0][0], lambda: self._run(step, base))
        else:
            self._run(step, base)

    def timed(self, row: int, run: Callable[[], None]) -> None:
        """Emit code that counts a run and its time."""
        b = self.b
        clock = b.load("ptr", b.gep("ptr", self.rt, i64(_CLOCK_ENTRY)))
        begin = b.call_pointer("i64", clock)
        run()
        spent = b.sub(b.call_pointer("i64", clock), begin)
        counters = b.load("ptr", b.gep("ptr", self.rt, i64(_COUNTERS_ENTRY)))
        for column, more in ((2 * row, i64(1)), (2 * row + 1, spent)):
            at = b.gep("i64", counters, i64(column))
            b.value("i64", f"atomicrmw add ptr {at.ref}, i64 {more.ref} monotonic")

    def _run(self, step: Step, base: Base) -> None:
        b = self.b
        if step.failure:
            self._check(address(b, step.buffers[0], base), Value(str(step.failure), "i32"))
            return
        for i, buffer in enumerate(step.buffers):
            b.store(address(b, buffer, base), b.gep("ptr", self.workspace, i64(i)))
        for i, symbol in enumerate(step.symbols, len(step.buffers)):
            functions = b.load("ptr", b.gep("ptr", self.rt, i64(FUNCTIONS_ENTRY)))
            b.store(b.load("ptr", b.gep("ptr", functions, i64(symbol))),
                    b.gep("ptr", self.workspace, i64(i)))
        for i, n in enumerate(self.sizes, len(step.buffers) + len(step.symbols)):
            b.store(b.size(n), b.gep("ptr", self.workspace, i64(i)))
        if step.callback >= 0:
            back = b.load("ptr", b.gep("ptr", self.rt, i64(1)))
            self._call_python(back, step.callback)
        elif step.control:
            self.leave_on(b.call("i32", step.name, self.workspace, self.rt))
        elif step.parallel and isinstance(step.surplus, Extent):
            much = b.icmp("sge", b.size(step.surplus), i64(0))
            with b.when(much):
                self._share(step)
            with b.when(b.op("xor", much, Value("true", "i1"))):
                self._alone(step)
        elif step.parallel:
            self._share(step)
        else:
            self._alone(step)
        if step.looks:
            self.leave_on(poll(b))

    def _call_python(self, back: Value, number: int) -> None:
        """Call Python, which returns the token that it was given where all went well."""
        b = self.b
        b.module.declare("llvm.readcyclecounter", "i64", [])
        clock = b.value("i64", "call i64 @llvm.readcyclecounter()")
        token = b.op("and", clock, i64((1 << 31) - 1))
        packed = b.op("or", b.op("shl", token, i64(_TOKEN_SHIFT)), i64(number))
        code = b.call_pointer("i32", back, packed, self.workspace)
        failed = b.icmp("ne", code, b.cast("trunc", token, "i32"))
        self._leave(failed, Value(str(_CALLBACK_FAILED), "i32"))

    def _share(self, step: Step) -> None:
        """Emit the call that divides the units of a step among all threads, and returns when all
        are done.
        """
        b = self.b
        share = b.load("ptr", self.rt)
        b.call_pointer("void", share, self.rt, Value(f"@{step.name}", "ptr"), self.workspace,
                       b.size(step.units))

    def _alone(self, step: Step) -> None:
        self.b.call("void", step.name, self.workspace, i64(0), self.b.size(step.units), i64(0))

    def _check(self, flag: Value, code: Value) -> None:
        """Return ``code`` from the program if the flag in memory is 0."""
        self._leave(self.b.icmp("eq", self.b.load("i8", flag), Value("0", "i8")), code)

    def leave_on(self, code: Value) -> None:
        """Return ``code`` from the program if it is an error's."""
        self._leave(self.b.icmp("ne", code, Value("0", "i32")), code)

    def _leave(self, failed: Value, code: Value) -> None:
        b = self.b
        leave, go = b.label("failed"), b.label("go")
        b.cbr(failed, leave, go)
        b.open_block(leave)
        b.ret(code)
        b.open_block(go)

    def all(self, steps: Sequence[Step], bufs: Value, pace: Pace) -> None:
        """Emit the steps in order; ``bufs`` is the table of addresses."""
        b = self.b

        def base(slot: int) -> Value:
            return b.load("ptr", b.gep("ptr", bufs, i64(slot)))

        straight = b.module.policy.straight_steps
        short = not any(step.looks for step in steps)
        first = 0
        for (simple, _), group in groupby(
            enumerate(steps), lambda pair: (pair[1].simple, pair[0] >= pace.first_write)
        ):
            found = [step for _, step in group]
            if first == pace.first_write and not (pace.short and short):
                writing_begins(b)
            if simple and len(found) > straight and not self.sizes and not found[0].rows:
                self._by_table(found, bufs, pace.is_due(first, first + len(found)))
            else:
                for i, step in enumerate(found, first):
                    self(step, base)
                    if pace.is_due(i, i + 1):
                        self.leave_on(poll(b))
            first += len(found)

    def _by_table(self, steps: Sequence[Step], bufs: Value, polled: bool) -> None:
        """Many steps as a loop over tables, so that the code does not grow with their number."""
        b, module = self.b, self.b.module
        ends = accumulate(len(s.buffers) for s in steps)
        rows: list[Any] = [
            n for s, end in zip(steps, ends, strict=True)
            for n in (s.failure or s.units, s.way, end)
        ]
        address_keys: list[Any] = [n for s in steps for p in s.buffers for n in (p.slot, p.offset)]
        numbers, entries = module.table("i64", rows), module.table("i64", address_keys or [0])
        functions = module.pointers([s.name for s in steps])

        def entry(table: Value, index: Value, width: int, column: int) -> Value:
            at = b.add(b.mul(index, i64(width)), i64(column))
            return b.load("i64", b.gep("i64", table, at))

        with b.loop(i64(0), i64(len(steps)), 1, [i64(0)], nonempty=True) as loop:
            number, way, end = (entry(numbers, loop.index, 3, k) for k in range(3))
            (first,) = loop.carried
            with b.loop(first, end) as row:
                start = b.load("ptr", b.gep("ptr", bufs, entry(entries, row.index, 2, 0)))
                address = b.gep("i8", start, entry(entries, row.index, 2, 1))
                b.store(address, b.gep("ptr", self.workspace, b.sub(row.index, first)))
            function = b.load("ptr", b.gep("ptr", functions, loop.index))
            for kind in sorted({s.way for s in steps}):
                with b.when(b.icmp("eq", way, i64(kind))):
                    self._call(kind, function, number)
            if polled:
                self.leave_on(poll(b))
            loop.carry(end)

    def _call(self, way: int, function: Value, number: Value) -> None:
        """Emit the call of a step of this kind; ``number`` is its units, or a check's code."""
        b = self.b
        if way == _CHECK:
            self._check(b.load("ptr", self.workspace), b.cast("trunc", number, "i32"))
        elif way == _CONTROL:
            self.leave_on(b.call_pointer("i32", function, self.workspace, self.rt))
        elif way == _SHARED:
            share = b.load("ptr", self.rt)
            b.call_pointer("void", share, self.rt, function, self.workspace, number)
        else:
            b.call_pointer("void", function, self.workspace, i64(0), number, i64(0))
