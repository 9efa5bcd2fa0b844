"""Loads that count only inside of an axis, such as those of windows at the border of an image.

``where(0 <= i and i < n, x[clip(i, 0, n - 1)], other)`` along lanes would gather, for what lanes
read no longer lies at constant steps.  What the choice drops need not be read: it is loaded from
``x[i]``, under a mask.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from agnesi.codegen.llvm.builder import Value, const, i64, lanes, vector
from agnesi.codegen.loops.strided_loads import (
    LONGEST_STEP,
    Period,
    Row,
    load_repeated,
    load_steps,
    period_of,
)
from agnesi.core.ir import loops
from agnesi.core.ir.kernels import Buffer, walk
from agnesi.core.ir.loops import Affine, Axis, Expr, Substitution

#: The operation of a load of elements that lie inside of an axis; the others are zeros.
BORDERED = "bordered load"
_END = 1 << 31


class Border(NamedTuple):
    """A load at ``at`` for those lanes whose ``place`` on an axis of ``size`` is inside of it.

    Without a size they are never beyond the end.
    """

    buffer: Buffer
    at: Affine
    place: Affine
    size: int | None


def bordered(scope: Any, value: Expr) -> Expr:
    """A choice whose first branch loads under masks what its condition tests; ``value`` if none."""
    condition, wanted, other = value.args
    if not wanted.loads or not scope.varies(condition) or any(
            v.op in ("reduce", "steps") for v in walk([wanted])):
        return value
    tests = _tests(condition)
    changes = {}
    for load in walk([wanted]):
        if load.op == "load" and scope.varies(load):
            border = _border(scope, load, tests)
            if border is not None:
                free = border.at.free | border.place.free
                changes[load] = loops.make(BORDERED, border.at.atoms, load.dtype, border, free)
    if not changes:
        return value
    return loops.make("where", (condition, Substitution({}, changes)(wanted), other), value.dtype)


def _tests(condition: Expr) -> set[Expr]:
    """All that must hold."""
    if condition.op != "logical_and":
        return {condition}
    return set().union(*map(_tests, condition.args))


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
    if value.op != "index" or (size is not None and value < size not in tests) or (
            clipped and value >= 0 not in tests):
        return None
    place = value.param
    if not _is_short(place) or (size or 0) >= _END or not _moves(scope, place):
        return None
    rest = Affine(at.const, {a: c for a, c in at.terms.items() if a is not moving[0]})
    return Border(buffer, rest + place, place, size)


def _is_short(place: Affine) -> bool:
    """Return whether a place, and those of some lanes behind it, fits 32 bits."""
    most = abs(place.const)
    for atom, c in place.terms.items():
        axes = [atom] if isinstance(atom, Axis) else [*atom.free]
        if atom not in axes and atom.op not in ("floor_divide", "remainder"):
            return False
        for factor in (c, *(a.extent for a in axes)):
            if not isinstance(factor, int):
                return False
        most += abs(c) * sum(a.extent for a in axes)
    return most < _END // 2


def _moves(scope: Any, place: Affine) -> bool:
    """Return whether lanes go along an axis in equal steps, or several at a time."""
    step = scope.step(place)
    if step is None:
        return _period(scope, place) is not None
    return isinstance(step, int) and 1 <= step <= LONGEST_STEP


def _period(scope: Any, place: Affine) -> tuple[Expr, Period] | None:
    moving = [a for a in place.atoms if scope.varies(a)]
    if len(moving) != 1 or scope.along in place.terms or place.terms[moving[0]] != 1:
        return None
    period = period_of(moving[0], scope.along, scope.unit)
    if period is None or moving[0].op != "floor_divide":
        return None
    return moving[0], period


def load_bordered(scope: Any, border: Border, type_: str, align: int) -> Value:
    """The elements that lie inside, in the lanes that want them."""
    b, count = scope.b, scope.lanes
    step = scope.step(border.place)
    if step is not None:
        row = _row(scope, border.buffer, scope.parted(border.at), scope.place(border.place),
                   border.size, type_, align)
        return row(0, count, count) if step == 1 else load_steps(b, type_, row, count, step, count,
                                                                 align)
    found = _period(scope, border.place)
    assert found is not None
    atom, period = found
    first = b.op("sdiv", scope.place(period.start), i64(period.length))
    (start, by), place = (_without(scope, at, atom, first) for at in (border.at, border.place))
    row = _row(scope, border.buffer, (start, by), b.add(place[0], i64(place[1])), border.size,
               type_, align)
    return load_repeated(b, row, count, period, count)


def _without(scope: Any, at: Affine, atom: Expr, value: Value) -> tuple[Value, int]:
    """An index, parted, with a value in the place of an atom."""
    rest = Affine(at.const, {a: c for a, c in at.terms.items() if a is not atom})
    first, by = scope.parted(rest)
    return scope.b.op("add nsw", first, value), by


def _row(scope: Any, buffer: Buffer, at: tuple[Value, int], place: Value, size: int | None,
         type_: str, align: int) -> Row:
    b, memory = scope.b, scope.pointer(buffer)
    address = b.pure("ptr", f"getelementptr {type_}, {memory}, {at[0]}")
    near = b.cast("trunc", place, "i32")

    def row(start: int, count: int, active: int) -> Value:
        whole = vector(type_, max(count, 2))
        ramp = lanes(vector("i32", max(count, 2)), range(start, start + max(count, 2)))
        places = b.add(b.splat(near, max(count, 2)), ramp)
        mask = (b.icmp("sge", places, const(places.type, 0)) if size is None
                else b.icmp("ult", places, const(places.type, size)))
        from_ = b.pure("ptr", f"getelementptr {type_}, {address}, {i64(at[1] + start)}")
        found = b.masked_load(whole, from_, mask, align, const(whole, 0))
        return found if count > 1 else b.extract(found, 0)

    return row
