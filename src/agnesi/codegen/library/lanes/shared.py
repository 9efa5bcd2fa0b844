"""Work that threads share: a function that does some units of the work of ``main``."""

from __future__ import annotations

from collections.abc import Sequence

from agnesi.codegen.llvm.builder import Module, Value, i64
from agnesi.codegen.llvm.task import task

#: Rows, or whatever is counted, come in multiples of this, so that lanes are full.
_COUNT_MULTIPLE = 16
#: How far what belongs to one of those that are counted is from what belongs to the next, in bytes;
#: ``COUNT`` marks their number, ``ROOM`` memory to work in.
Step = int | str
COUNT, ROOM = "count", "room"


def write_shared(module: Module, types: Sequence[str], steps: Sequence[Step], units: int, room: int
                 ) -> None:
    """``shared(table, begin, end, thread)``: units of ``main``, whose arguments are in the table.

    Every unit has ``room`` bytes of memory of its own.
    """
    b = task(module, "shared")
    table, begin, end, _ = b.parameters
    given = [b.load(t, b.gep("i64", table, i64(i))) for i, t in enumerate(types)]
    count = given[list(steps).index(COUNT)]
    blocks = b.op(
        "udiv", b.add(count, i64(units * _COUNT_MULTIPLE - 1)), i64(units * _COUNT_MULTIPLE)
    )
    share = b.mul(blocks, i64(_COUNT_MULTIPLE))
    with b.loop(begin, end) as unit:
        first = b.mul(unit.index, share)
        many = b.intrinsic("smin", share, b.sub(count, first))

        def moved(value: Value, step: Step) -> Value:
            if step == COUNT:
                return many
            if not step:
                return value
            by = b.mul(unit.index, i64(room)) if step == ROOM else b.mul(first, i64(int(step)))
            return b.gep("i8", value, by)

        with b.when(b.icmp("sgt", many, i64(0))):
            b.call("void", "main", *map(moved, given, steps))
    b.ret()
    b.finish()
