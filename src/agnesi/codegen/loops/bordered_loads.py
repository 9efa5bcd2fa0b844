"""Loads that count only inside of an axis, such as those of windows at the border of an image.

``where(0 <= i and i < n, x[clip(i, 0, n - 1)], other)`` along lanes would gather, for what lanes
read no longer is at constant steps.  What the choice drops need not be read: it is loaded from
``x[i]``, under a mask.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from agnesi.codegen.arithmetic.complex_pairs import PARTS
from agnesi.codegen.llvm.builder import Value, const, i64, lanes, vector
from agnesi.codegen.loops.strided_loads import (
    Row,
    load_repeated,
    load_steps,
)
from agnesi.core.ir import loops
from agnesi.core.ir.kernels import Buffer, walk
from agnesi.core.ir.loops import Affine, Axis, Expr, Substitution
from agnesi.core.ir.mapping import LONGEST_STEP, Period, period_of

#: The operation of a load of elements that are inside of an axis; the others are zeros.
BORDERED = "bordered load"
_END = 1 << 31


class Border(NamedTuple):
    """A load at ``at`` for those lanes whose ``position`` on an axis of ``size`` is inside of it.

    Without a size they are never beyond the end.
    """

    buffer: Buffer
    at: Affine
    position: Affine
    size: int | None


def bordered(scope: Any, value: Expr) -> Expr:
    """Return a ``where`` whose first branch loads only the elements that its condition allows,
    under masks; ``value`` if it has none.
    """
    condition, wanted, other = value.args
    tests = _tests(condition)
    if not wanted.loads or all([t.loads for t in tests]) or not scope.varies(condition) or any(
            v.op in ("reduce", "steps") for v in walk([wanted])):
        return value
    changes = {}
    for load in walk([wanted]):
        if load.op == "load" and load.dtype not in PARTS and scope.varies(load):
            border = _border(scope, load, tests)
            if border is not None:
                free = border.at.free | border.position.free
                changes[load] = loops.make(BORDERED, border.at.atoms, load.dtype, border, free)
    if not changes:
        return value
    wanted = Substitution({}, changes)(wanted)
    if wanted.op == "where" and wanted.args[2] is other:
        # One choice: of two, LLVM 22 takes lanes that the outer one drops for zeros in the inner.
        condition, wanted = condition & wanted.args[0], wanted.args[1]
    return loops.where(condition, wanted, other)


def _tests(condition: Expr) -> set[Expr]:
    """Return the terms of a conjunction."""
    found, stack = set(), [condition]
    while stack:
        test = stack.pop()
        if test.op == "logical_and":
            stack += test.args
        else:
            found.add(test)
    return found


def _border(scope: Any, load: Expr, tests: set[Expr]) -> Border | None:
    buffer, at = load.param
    moving = [a for a in at.atoms if scope.varies(a)]
    if len(moving) != 1 or at.terms[moving[0]] != 1 or scope.along in at.terms:
        return None
    value, size = moving[0], None
    if value.op == "minimum" and value.args[1].op == "const":
        value, last = value.args
        size = last.param + 1
    clipped = value.op == "maximum" and value.args[1] == loops.const(0, "int64")
    value = value.args[0] if clipped else value
    needed = [value >= 0] * clipped + ([] if size is None else [value < size])
    if value.op != "index" or not needed or not tests.issuperset(needed):
        return None
    position = value.param
    if size is None and scope.mask is not None and scope.active is None:
        return None  # some lanes may be beyond the end
    if not _is_short(position) or (size or 0) >= _END or not _moves(scope, position):
        return None
    rest = Affine(at.const, {a: c for a, c in at.terms.items() if a is not moving[0]})
    return Border(buffer, rest + position, position, size)


def _is_short(position: Affine) -> bool:
    """Return whether a position, and those of some lanes behind it, fits 32 bits."""
    most = abs(position.const)
    for atom, c in position.terms.items():
        axes = [atom] if isinstance(atom, Axis) else [*atom.free]
        if atom not in axes and atom.op not in ("floor_divide", "remainder"):
            return False
        for factor in (c, *(a.extent for a in axes)):
            if not isinstance(factor, int):
                return False
        most += abs(c) * sum(a.extent for a in axes)
    return most < _END // 2


def _moves(scope: Any, position: Affine) -> bool:
    """Return whether lanes go along an axis in equal steps, or several at a time."""
    step = scope.step(position)
    if step is None:
        return _period(scope, position) is not None
    return isinstance(step, int) and 1 <= step <= LONGEST_STEP


def _period(scope: Any, position: Affine) -> tuple[Expr, Period] | None:
    moving = [a for a in position.atoms if scope.varies(a)]
    if len(moving) != 1 or scope.along in position.terms or position.terms[moving[0]] != 1:
        return None
    period = period_of(moving[0], scope.along, scope.unit)
    if period is None or moving[0].op != "floor_divide":
        return None
    return moving[0], period


def load_bordered(scope: Any, border: Border, type_: str, align: int) -> Value:
    """Load the elements inside of the border, for active lanes."""
    b, count, active = scope.b, scope.lanes, scope.active or scope.lanes
    step, at, position = scope.step(border.position), border.at, border.position
    if step is None:
        atom, period = _period(scope, position)  # type: ignore[misc]
        first = b.op("sdiv", scope.scalar_index(period.start), i64(period.length))
        found = _without(scope, at, atom, first), _without(scope, position, atom, first)
    else:
        found = scope.parted(at), scope.parted(position)
    row = _row(scope, border, *found, type_, align)
    if step is None:
        return load_repeated(b, row, count, period, active)
    return (row(0, count, active) if step == 1
            else load_steps(b, type_, row, count, step, active, align))


def _without(scope: Any, at: Affine, atom: Expr, value: Value) -> tuple[Value, int]:
    """Return the base and distance of an index with a value in place of an atom."""
    rest = Affine(at.const, {a: c for a, c in at.terms.items() if a is not atom})
    first, by = scope.parted(rest)
    return scope.b.op("add nsw", first, value), by


def _row(scope: Any, border: Border, at: tuple[Value, int], position: tuple[Value, int], type_: str,
         align: int) -> Row:
    """Return a function that loads contiguous elements inside of the border, relative to an index
    that is ``position`` on the axis.
    """
    b, size = scope.b, border.size
    address = b.pure("ptr", f"getelementptr {type_}, {scope.pointer(border.buffer)}, {at[0]}")
    first = b.cast("trunc", b.op("add nsw", position[0], i64(position[1])), "i32")

    def row(start: int, count: int, active: int) -> Value:
        whole = max(count, 2)
        ramp = lanes(vector("i32", whole), range(start, start + whole))
        positions = b.add(b.splat(first, whole), ramp)
        if size is not None:
            mask = b.icmp("ult", positions, const(positions.type, size))
        else:
            mask = b.icmp("sge", positions, const(positions.type, 0))
            if active < whole:
                mask = b.op("and", mask, lanes(mask.type, [k < active for k in range(whole)]))
        wide = vector(type_, whole)
        from_ = b.pure("ptr", f"getelementptr {type_}, {address}, {i64(at[1] + start)}")
        found = b.masked_load(wide, from_, mask, align, const(wide, 0))
        return found if count > 1 else b.extract(found, 0)

    return row
