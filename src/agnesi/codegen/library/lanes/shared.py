"""Work that threads share: a function that does some units of the work of ``main``.

It looks for signals between parts of a unit, and is left for one (``codegen/interrupts.py``).
"""

from __future__ import annotations

from collections.abc import Sequence

from agnesi.codegen.interrupts import poll
from agnesi.codegen.llvm.builder import Module, Value, const, i64
from agnesi.codegen.llvm.task import task

#: Counted items (rows) per unit are a multiple of this, so that all lanes are full.
_COUNT_MULTIPLE = 16
#: Bytes of what is worked on between two looks for signals: less than a millisecond.
_LOOK_BYTES = 1 << 20
#: How far what belongs to one of those that are counted is from what belongs to the next, in bytes;
#: ``COUNT`` marks their number, ``WORKSPACE`` memory to work in.
Step = int | str
COUNT, WORKSPACE = "count", "workspace"


def write_shared(module: Module, types: Sequence[str], steps: Sequence[Step], units: int,
                 workspace: int, each: int = 0) -> None:
    """``shared(table, begin, end, thread)``: units of ``main``, whose arguments are in the table.

    Every unit has ``workspace`` bytes of memory of its own.  What is counted is of ``each``
    bytes, or as far apart.
    """
    b = task(module, "shared")
    table, begin, end, thread = b.parameters
    each = each or max(step for step in steps if isinstance(step, int))
    part = max(1, _LOOK_BYTES // each // _COUNT_MULTIPLE) * _COUNT_MULTIPLE
    given = [b.load(t, b.gep("i64", table, i64(i))) for i, t in enumerate(types)]
    count = given[list(steps).index(COUNT)]
    blocks = b.op(
        "udiv", b.add(count, i64(units * _COUNT_MULTIPLE - 1)), i64(units * _COUNT_MULTIPLE)
    )
    share = b.mul(blocks, i64(_COUNT_MULTIPLE))
    with b.loop(begin, end) as unit:
        first = b.mul(unit.index, share)
        last = b.intrinsic("smin", b.add(first, share), count)
        with b.loop(first, last, part) as loop:
            many = b.intrinsic("smin", i64(part), b.sub(last, loop.index))

            def moved(value: Value, step: Step, many: Value = many, at: Value = loop.index
                      ) -> Value:
                if step == COUNT:
                    return many
                if not step:
                    return value
                own = step == WORKSPACE
                by = b.mul(unit.index, i64(workspace)) if own else b.mul(at, i64(int(step)))
                return b.gep("i8", value, by)

            b.call("void", "main", *map(moved, given, steps))
            loop.until = b.icmp("ne", poll(b, thread), const("i32", 0))
        unit.until = b.icmp("ne", poll(b, thread), const("i32", 0))
    b.finish()
