"""Loop-invariant reduction hoisting: a reduction that a nest would repeat gets memory and a nest.

A nest evaluates a value in the loops up to the last one that changes it.  Where others lie between,
as in a column's sum of what each row was divided by, every one of their turns would compute the
value anew, and what took n**2 steps takes n**3.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
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
    walk,
)
from agnesi.core.ir.loops import Affine, Axis, Expr, Substitution, load
from agnesi.core.support.dtypes import as_dtype
from agnesi.core.support.record import replace
from agnesi.schedule.evaluation_counts import (
    BINDING,
    Loops,
    around,
    below,
    inside,
    instructions,
    loops_of,
    turns,
)
from agnesi.schedule.lowering.kernel_templates import TemplateCache
from agnesi.schedule.program import Program

#: Instructions that materializing a value saves in all, at least.
_MIN_SAVED_INSTRUCTIONS = 1 << 13
#: Instructions that it saves each time it is read, at least.
_MIN_SAVED_INSTRUCTIONS_PER_READ = 3
#: How often an expensive value may be computed for each of its elements.
_MAX_EXPENSIVE_EVALUATIONS = 2
#: How often any other value may be computed for each of its elements.
_MAX_CHEAP_EVALUATIONS = 4


def materialize(program: Program) -> Program:
    """Give such values memory."""
    again = TemplateCache()
    result: list[Kernel] = []
    made: Made = {}
    for kernel in program.kernels:
        new = again(kernel, (), (), partial(_apart, kernel)) if _repeats(kernel) else [kernel]
        for first in new[:-1]:
            program.buffers += first.writes()
            for s in first.stores():
                if isinstance(first, Nest) and len(first.axes) == 1:
                    made[s.buffer] = first.axes[0], _spelled_out(s.value, made)
        program.count(len(new) - 1)
        result += new
    while len(result) > len(program.kernels) and (places := _costliest(result, made)) is not None:
        result = _kept(result, places)
        program.buffers += result[places[0][0]].writes()
        program.count()
    program.kernels = result
    return program


def _repeats(kernel: Kernel) -> bool:
    """Return whether a kernel evaluates values more than once."""
    if not isinstance(kernel, Nest | Product | Convolution):
        return False
    return bool(kernel.answer(_repeats, lambda: bool(_repeated(kernel))))


def _apart(kernel: Any) -> list[Any]:
    """Nests of repeated values, and the kernel that reads them."""
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
    return [new for nest in (*made.values(), _reading(kernel, known))
            for new in _apart(nest)]


def _stored(value: Expr, axes: Loops) -> tuple[Store, Expr]:
    """The store of a value to memory of its own, and what loads it from there."""
    buffer = Buffer(tuple([a.extent for a in axes]), as_dtype(value.dtype), "temporary")
    place = buffer.place([a.index for a in axes])
    return Store(buffer, place, value), load(buffer, value.dtype, place)


def _reading(kernel: Any, known: dict[Expr, Expr]) -> Any:
    """A kernel that has other values in the place of some."""
    change = Substitution({}, known)
    body = [Store(s.buffer, change.index(s.offset), change(s.value)) for s in kernel.body]
    return replace(kernel, body=body)


Places = list[tuple[int, Expr, Loops, Loops]]
Made = dict[Buffer, tuple[Axis, Expr]]


def _spelled_out(value: Expr, made: Made) -> Expr:
    """A value without loads of what nests of this pass store along one axis: with that instead."""
    known: dict[Expr, Expr] = {}
    for v in walk([value]):
        if v.op == "load" and v.param[0] in made and not v.args:
            axis, stored = made[v.param[0]]
            at = [*v.param[1].terms]
            bound = {a for w in walk([stored]) if w.op in BINDING for a in w.param[1]}
            if v.param[1] == Affine(0, dict.fromkeys(at, 1)) and len(at) == 1 and not (
                    at[0] in bound or not isinstance(at[0], Axis)):
                known[v] = Substitution({axis: at[0].index})(stored)
    return Substitution({}, known)(value) if known else value


def _costliest(kernels: Sequence[Any], made: Made) -> Places | None:
    """Return the costly values that kernels compute more than twice, in other loops each time.

    For each place: the kernel, the value, its axes in an order that is the same for all places, and
    the loops in which it is evaluated.
    """
    found: dict[Hashable, Places] = {}
    last = {b: k for k, kernel in enumerate(kernels) for b in kernel.writes()}
    for k, kernel in enumerate(kernels):
        if not isinstance(kernel, Nest | Product | Convolution):
            continue
        loops = loops_of(kernel)
        for value, here in below(kernel, [(s.value, loops) for s in kernel.body]):
            if is_heavy(value.op) and _stands_alone(value, {*kernel.writes()}):
                key, axes = _shape(_spelled_out(value, made))
                found.setdefault(key, []).append((k, value, axes, here))
    best, most = None, _MIN_SAVED_INSTRUCTIONS
    for places in found.values():
        each = instructions(places[0][1], places[0][2])
        times = sum([turns(here) for *_, here in places]) // max(turns(places[0][2]), 1)
        first, value = places[0][:2]
        if times > _MAX_EXPENSIVE_EVALUATIONS and each * times > most and all(
            [last.get(b, -1) < first for b in buffers_of([value])]
        ):
            best, most = places, each * times
    return best


def _kept(kernels: Sequence[Any], places: Places) -> list[Any]:
    """The kernels with a value in memory, from the first one that needs it on."""
    first, value, axes, here = places[0]
    lying = (*[a for a in here if a in axes], *[a for a in axes if a not in here])
    store, loaded = _stored(value, lying)
    known: dict[int, dict[Expr, Expr]] = {}
    for k, other, others, _ in places:
        change = Substitution({a: b.index for a, b in zip(axes, others, strict=True)})
        known.setdefault(k, {})[other] = change(loaded)
    result = [_reading(kernel, known[k]) if k in known else kernel
              for k, kernel in enumerate(kernels)]
    nest = Nest(kernels[first].nodes, lying, [store], waits=[*kernels[first].waits])
    return [*result[:first], nest, *result[first:]]


def _shape(value: Expr) -> tuple[Hashable, Loops]:
    """A key that values share which differ in their axes only, and the free axes in order."""
    numbers: dict[Axis, int] = {}
    known: dict[Expr, int] = {}

    def index(at: Affine) -> Hashable:
        return at.const, tuple([
            (numbers.setdefault(a, len(numbers)), a.extent, c) if isinstance(a, Axis)
            else (None, known[a], c) for a, c in at.terms.items()])

    parts: list[Hashable] = []
    for v in walk([value]):
        param = v.param
        if v.op == "load":
            param = id(param[0]), index(param[1])
        elif v.op == "index":
            param = index(param)
        elif v.op in BINDING:
            bound = [numbers.setdefault(a, len(numbers)) for a in param[1]]
            param = param[0], *bound, *[a.extent for a in param[1]]
        elif v.op == "step value":
            param = id(v)
        parts.append((v.op, v.dtype, param, *[known[a] for a in v.args]))
        known[v] = len(known)
    return tuple(parts), tuple([a for a in numbers if a in value.free])


def _repeated(kernel: Any) -> dict[Expr, Loops]:
    """The values of a kernel that are worth memory, and the loops over what they are needed for."""
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
            found[value] = (*[a for a in here if a in value.free],
                            *[a for a in value.free if a not in here])
            continue
        if value.op == "steps":  # an element may take none of them
            continue
        more = inside(value, here) if value.op == "reduce" else outside
        stack += [(v, more, idle) for v in value.args]
    return found


def _is_worth(kernel: Kernel, value: Expr, outside: Loops, here: Loops,
              idle: Sequence[Axis]) -> bool:
    """Return whether materializing a value saves much: it is evaluated in the loops ``here``, of
    which ``idle`` do not change it.
    """
    if turns(idle) < _MAX_EXPENSIVE_EVALUATIONS:
        return False
    saved = 0
    costly = heavy = False
    for v, loops in below(kernel, [(value, outside)]):
        needless = turns([a for a in loops if a in idle])
        if needless > 1:
            saved += instructions(v, loops) * (needless - 1) // needless
            heavy |= is_heavy(v.op)
            costly |= heavy or v.op in BINDING
    if not heavy and turns(idle) <= _MAX_CHEAP_EVALUATIONS:
        return False
    if saved < _MIN_SAVED_INSTRUCTIONS_PER_READ * turns(here) or not (
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
