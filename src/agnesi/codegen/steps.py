"""How code runs kernels: on addresses, here, in parallel, or in Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agnesi.codegen.builder import Builder, Value, i64
from agnesi.core.kernels import Buffer

Base = Callable[[int], Value]


@dataclass(frozen=True)
class Step:
    """One kernel as the code around it runs it.

    ``places`` are the buffers whose addresses the kernel gets, in its own order: the kernel's text
    does not tell where they are, so equal work is equal code.  A ``control`` step runs others.
    """

    name: str
    units: int
    parallel: bool
    places: tuple[Buffer, ...]
    callback: int = -1
    control: bool = False


def spot(buffer: Buffer) -> tuple[int, int]:
    """Where a buffer lies, by the table of the code around it."""
    return buffer.slot, buffer.offset


def address(b: Builder, buffer: Buffer, base: Base) -> Value:
    """Where a buffer lies; ``base`` gives the entries of the table."""
    place = base(buffer.slot)
    return b.gep("i8", place, i64(buffer.offset)) if buffer.offset else place


class Runner:
    """Calls of ``steps`` out of one function, which gets the runtime's table as ``rt``."""

    def __init__(self, b: Builder, rt: Value, steps: Sequence[Step]) -> None:
        self.b = b
        self.rt = rt
        self.room = b.alloca("ptr", max((len(s.places) for s in steps), default=1) or 1)

    def __call__(self, step: Step, base: Base) -> None:
        """Run a step."""
        b = self.b
        for i, buffer in enumerate(step.places):
            b.store(address(b, buffer, base), b.gep("ptr", self.room, i64(i)))
        if step.callback >= 0:
            back = b.load("ptr", b.gep("ptr", self.rt, i64(1)))
            self._leave_on(b.call_pointer("i32", back, i64(step.callback), self.room))
        elif step.control:
            self._leave_on(b.call("i32", step.name, self.room, self.rt))
        elif step.parallel:
            share = b.load("ptr", self.rt)
            b.call_pointer("void", share, self.rt, Value(f"@{step.name}", "ptr"), self.room,
                           i64(step.units))
        else:
            b.call("void", step.name, self.room, i64(0), i64(step.units), i64(0))

    def _leave_on(self, code: Value) -> None:
        """Return an error's code."""
        b = self.b
        leave, go = b.label("failed"), b.label("go")
        b.cbr(b.icmp("ne", code, Value("0", "i32")), leave, go)
        b.open_block(leave)
        b.ret(code)
        b.open_block(go)
