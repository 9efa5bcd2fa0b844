"""Loop-invariant reduction hoisting: a reduction that a nest would repeat gets memory and a nest.

A nest evaluates a value in the loops up to the last one that changes it.  Where others are between,
as in a column's sum of what each row was divided by, each of their iterations would compute the
value again, and n**2 steps become n**3.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from agnesi.core.ir.costs import is_heavy
from agnesi.core.ir.extents import Extent
from agnesi.core.ir.kernels import (
    Buffer,
    Convolution,
    Kernel,
    Nest,
    Product,
    Store,
    buffers_of,
)
from agnesi.core.ir.loops import Axis, Expr, Substitution, load
from agnesi.core.support.dtypes import as_dtype
from agnesi.core.support.record import replace
from agnesi.schedule.evaluation_counts import (
    BINDING,
    MAX_CHEAP_EVALUATIONS,
    MAX_EXPENSIVE_EVALUATIONS,
    Loops,
    around,
    below,
    inside,
    instructions,
    iterations,
    loops_of,
)
from agnesi.schedule.lowering.kernel_templates import TemplateCache
from agnesi.schedule.program import Program

#: Instructions that materializing a value saves in all, at least.
_MIN_SAVED_INSTRUCTIONS = 1 << 13
#: Instructions that it saves each time it is read, at least.
_MIN_SAVED_INSTRUCTIONS_PER_READ = 3


def materialize(program: Program) -> Program:
    """Hoist reductions that a nest would compute again in iterations which do not change them: they
    get memory and a kernel of their own."""
    again = TemplateCache()
    program.split_kernels(lambda kernel: again(
        kernel, (), (), partial(_apart, kernel)) if _repeats(kernel) else ())
    return program


def _repeats(kernel: Kernel) -> bool:
    """Return whether a kernel evaluates values more than once."""
    if not isinstance(kernel, Nest | Product | Convolution):
        return False
    return bool(kernel.answer(_repeats, lambda: bool(_repeated(kernel))))


def _apart(kernel: Any) -> list[Any]:
    """Return nests that compute the repeated values of a kernel, and the kernel with loads of them.
    """
    found = _repeated(kernel)
    if not found:
        return [kernel]
    known: dict[Expr, Expr] = {}
    made: dict[Loops, Nest] = {}
    for value, axes in found.items():
        if axes not in made:
            made[axes] = Nest(kernel.nodes, axes, waits=[*kernel.waits])
        store, known[value] = _stored(value, axes)
        made[axes].body.append(store)
    return [new for nest in (*made.values(), _reading(kernel, known)) for new in _apart(nest)]


def _stored(value: Expr, axes: Loops) -> tuple[Store, Expr]:
    """Return a store of a value to a new temporary, and the load of it."""
    buffer = Buffer(tuple([a.extent for a in axes]), as_dtype(value.dtype), "temporary")
    offset = buffer.offset_of([a.index for a in axes])
    return Store(buffer, offset, value), load(buffer, value.dtype, offset)


def _reading(kernel: Any, known: dict[Expr, Expr]) -> Any:
    """The kernel with some of its values replaced."""
    change = Substitution({}, known)
    body = [Store(s.buffer, change.index(s.offset), change(s.value)) for s in kernel.body]
    return replace(kernel, body=body)


def _repeated(kernel: Any) -> dict[Expr, Loops]:
    """Return the values of a kernel that are computed more than once and worth memory, each with
    the axes that they vary along.
    """
    loops = loops_of(kernel)
    written = {*kernel.writes()}
    found: dict[Expr, Loops] = {}
    seen: set[Any] = set()
    stack: list[tuple[Expr, Loops, Any]] = [
        (v, loops, None) for s in kernel.body for v in (s.value, *s.offset.atoms)]
    while stack:
        value, outside, refused = stack.pop()
        if value in found or not value.args or (value, outside, refused) in seen:
            continue
        seen.add((value, outside, refused))
        here = around(kernel, value, outside)
        idle = tuple([a for a in here if a not in value.free])
        if idle and idle != refused and _stands_alone(value, written) and (
            _is_worth(kernel, value, outside, here, idle)
        ):
            # a reduction's axis may be one of the loops outside, too, which it hides
            found[value] = (*dict.fromkeys([a for a in here if a in value.free]),
                            *[a for a in value.free if a not in here])
            continue
        if value.op == "steps":  # an element may take none of them
            continue
        more = inside(value, here) if value.op == "reduce" else outside
        stack += [(v, more, idle) for v in value.args]
    return found


def _is_worth(kernel: Kernel, value: Expr, outside: Loops, here: Loops,
              idle: Sequence[Axis]) -> bool:
    """Return whether materializing a value saves enough: it is evaluated in the loops ``here``, and
    does not change along ``idle``.
    """
    if iterations(idle) < MAX_EXPENSIVE_EVALUATIONS:
        return False
    saved = 0
    costly = heavy = False
    for v, loops in below(kernel, [(value, outside)]):
        needless = iterations([a for a in loops if a in idle])
        if needless > 1:
            saved += instructions(v, loops) * (needless - 1) // needless
            heavy |= is_heavy(v.op)
            costly |= heavy or v.op in BINDING
    if not heavy and iterations(idle) <= MAX_CHEAP_EVALUATIONS:
        return False
    if saved < _MIN_SAVED_INSTRUCTIONS_PER_READ * iterations(here) or not (
        costly or buffers_of([value])
    ):
        return False  # numbers that follow from indices and sizes are in registers
    return saved >= _MIN_SAVED_INSTRUCTIONS or (
        costly and any([isinstance(a.extent, Extent) for a in here])
    )


def _stands_alone(value: Expr, written: set[Buffer]) -> bool:
    """Return whether a value can be computed before its kernel."""
    read = buffers_of([value])
    return written.isdisjoint(read) and all([b.role != "sum" for b in read])
