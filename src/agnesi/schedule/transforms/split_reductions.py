"""Split reductions: large reductions to few results are cut in parts that threads share.

How many parts there are does not depend on the number of threads, so that results do not either.

Totals that a nest takes of the elements that it also writes become totals of its rows, each taken
on the way through the row: threads that share the rows would all begin with the whole of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, TypeGuard

import numpy as np

from agnesi.core.ir import loops
from agnesi.core.ir.dims import is_static
from agnesi.core.ir.extents import guess
from agnesi.core.ir.kernels import Buffer, Kernel, Nest, Store, axes_in, walk
from agnesi.core.ir.loops import Affine, Axis, Expr, Substitution, fresh_axis, load
from agnesi.core.support.record import replace
from agnesi.schedule.evaluation_counts import turns, work
from agnesi.schedule.lowering.kernel_templates import TemplateCache
from agnesi.schedule.program import Program

#: Results from which threads share these instead.
_MAX_RESULTS = 128
#: Elements of a total that threads should not each compute, at least.
_MIN_TOTAL_ELEMENTS = 1024
#: Elements of a row whose total is worth memory, at least.
_MIN_ROW_ELEMENTS = 64
#: Parts of a reduction, at most.
_MAX_PARTS = 16
#: Elements of a part of very large reductions, about: 8 ms, so that signals are seen between them.
_LARGE_PART_ELEMENTS = 1 << 24
#: Parts of very large reductions, at most.
_MAX_LARGE_PARTS = 1 << 16
_KEPT = ("float32", "float64", "int32", "int64", "bool")


def split_reductions(program: Program) -> Program:
    """Cut large reductions in parts, which get memory."""
    again, least = TemplateCache(), program.request.target.costs.nest_operations
    result: list[Kernel] = []
    stack = [*reversed(program.kernels)]
    while stack:
        kernel = stack.pop()
        new, parts = [kernel], []
        if _has_little(kernel):
            *parts, last = again(kernel, (), (), partial(_cut, kernel, least)) or new
            new = [*parts, last]
        elif _has_totals(kernel) and (
            apart := again(kernel, (), (), partial(_apart, kernel, least))
        ):
            parts, new = apart[:-1], []
            stack += reversed(apart)
        known = {*kernel.writes()}
        program.buffers += [b for first in parts for b in first.writes() if b not in known]
        program.count(len(parts))
        result += new
    program.kernels = result
    return program


def _has_totals(kernel: Kernel) -> TypeGuard[Nest]:
    """Return whether a nest takes totals beside its elements."""
    if type(kernel) is not Nest or kernel.ordered:
        return False
    return bool(kernel.answer(_has_totals, lambda: len({_is_total(s) for s in kernel.body}) > 1))


def _is_total(store: Store) -> bool:
    """Return whether a store is one number that reductions give."""
    return store.value.reduces and not (store.offset.free or store.value.free)


def _apart(kernel: Nest, least: int) -> list[Any]:
    """A nest that writes its elements and totals of their rows, and one that adds these up; where
    rows will not do, one for the totals and one for the elements; nothing for a single thread.
    """
    totals = [s for s in kernel.body if _is_total(s)]
    others = [s for s in kernel.body if not _is_total(s)]
    sums = [v for v in walk([s.value for s in totals]) if v.op == "reduce"]
    longest = max([turns(v.param[1]) for v in sums])
    if longest < _MIN_TOTAL_ELEMENTS or guess(work([kernel]).all) < least:
        return []
    rows = _rows(kernel, others, sums)
    if rows is None:
        return [replace(kernel, axes=(), body=totals), replace(kernel, body=others)]
    nest, known = rows
    change = Substitution({}, known)
    body = [replace(s, value=change(s.value)) for s in totals]
    return [nest, replace(kernel, axes=(), body=body)]


def _rows(kernel: Nest, others: list[Store],
          sums: Sequence[Expr]) -> tuple[Nest, dict[Expr, Expr]] | None:
    """A nest with a total for each row, its innermost loop, and reductions by way of these.

    Reductions that run over as many elements as the nest has loops for may take them in any order.
    """
    axes, taken = kernel.axes, {*kernel.axes, *axes_in(kernel.body)}
    sizes = [a.extent for a in axes]
    if not is_static(sizes) or not all(_is_simple(v, sizes) for v in sums):
        return None
    if not {*sums}.isdisjoint(walk([s.value for s in others])):
        return None
    if len(axes) == 1:
        count = _parts(sizes[0], sizes[0])
        if not count:
            return None
        part = fresh_axis(count, taken)
        along = fresh_axis(sizes[0] // count, {*taken, part}, axes[0].slot)
        axes = (part, along)
        places = [Affine(0, {part: along.extent, along: 1})]
    elif sizes[-1] < _MIN_ROW_ELEMENTS:
        return None
    else:
        places = [a.index for a in axes]
    change = Substitution(dict(zip(kernel.axes, places, strict=True)))
    body = [Store(s.buffer, change.index(s.offset), change(s.value)) for s in others]
    nest, known = replace(kernel, axes=axes, body=body), {}
    for value in sums:
        kind, bound = value.param
        element = Substitution(dict(zip(bound, places, strict=True)))(value.args[0])
        total = loops.make("reduce", (element,), value.dtype, (kind, axes[-1:]),
                           element.free - {axes[-1]})
        known[value] = _stored(nest, total, axes[:-1], kind, taken)
    return nest, known


def _is_simple(value: Expr, sizes: Sequence[int]) -> bool:
    """Return whether a reduction has loops of these sizes, and nothing but elements inside."""
    return value.dtype in _KEPT and [a.extent for a in value.param[1]] == [*sizes] and not any(
        v.op in ("reduce", "steps") for v in walk(value.args))


def _parts(size: int, elements: int) -> int:
    """Into how many equal parts an axis is cut in a reduction of so many elements; 0 for none."""
    most = max(_MAX_PARTS, min(_MAX_LARGE_PARTS, elements // _LARGE_PART_ELEMENTS))
    return next((n for n in range(most, 1, -1) if size % n == 0), 0)


def _has_little(kernel: Kernel) -> TypeGuard[Nest]:
    """Return whether a kernel has so few elements that threads cannot share them."""
    if type(kernel) is not Nest or kernel.ordered:
        return False
    sizes = [a.extent for a in kernel.axes]
    return is_static(sizes) and math.prod(sizes) <= _MAX_RESULTS


def _cut(kernel: Nest, least: int) -> list[Any]:
    """Kernels that reduce the parts, and the same kernel without that; nothing if it has none.

    Reductions of ``least`` elements are worth threads.
    """
    known: dict[Expr, Expr] = {}
    made: dict[Any, Nest] = {}
    taken = {*kernel.axes, *axes_in(kernel.body)}
    for value in walk([s.value for s in kernel.body]):
        inside = not value.free <= {*kernel.axes}  # of another one
        split = None if inside else _split(value, least)
        if split is None:
            continue
        axes = tuple(a for a in kernel.axes if a in value.free)
        key = split, value.param[1], axes
        if key not in made:
            made[key] = Nest(kernel.nodes, (fresh_axis(split[1], taken), *axes))
            made[key].waits = [*kernel.waits]
        known[value] = _in_parts(made[key], value, split[0], taken)
    if not made:
        return []
    change = Substitution({}, known)
    body = [replace(s, value=change(s.value)) for s in kernel.body]
    return [*made.values(), replace(kernel, body=body)]


def _split(value: Expr, least: int) -> tuple[Axis, int] | None:
    """The axis along which a large reduction is cut, and into how many parts."""
    if value.op != "reduce" or value.dtype not in _KEPT:
        return None
    bound = value.param[1]
    sizes = [a.extent for a in (*bound, *value.free)]
    if not is_static(sizes) or math.prod(sizes) < least:
        return None
    if any(v.op in ("reduce", "steps") for v in walk(value.args)):
        return None
    for axis in bound:
        count = _parts(axis.extent, math.prod(sizes))
        if count:
            return axis, count
    return None


def _in_parts(nest: Nest, value: Expr, axis: Axis, taken: set[Axis]) -> Expr:
    """A reduction by way of its parts, which the nest stores too."""
    (part, *others), (kind, bound) = nest.axes, value.param
    inner = fresh_axis(axis.extent // part.extent, {*taken, part}, axis.slot)
    change = Substitution({axis: Affine(0, {part: inner.extent, inner: 1})})
    left = tuple(inner if a is axis else a for a in bound)
    element = change(value.args[0])
    total = loops.make("reduce", (element,), value.dtype, (kind, left), element.free - {*left})
    return _stored(nest, total, (part,), kind, taken, others)


def _stored(nest: Nest, total: Expr, parts: tuple[Axis, ...], kind: str, taken: set[Axis],
            others: Sequence[Axis] = ()) -> Expr:
    """Let a nest store the totals of parts; the total of these."""
    axes = (*parts, *others)
    buffer = Buffer(tuple([a.extent for a in axes]), np.dtype(total.dtype), "temporary")
    nest.body.append(Store(buffer, buffer.place([a.index for a in axes]), total))
    return loops.reduce_(
        kind, [a.extent for a in parts],
        lambda *at: load(buffer, total.dtype, buffer.place((*at, *[a.index for a in others]))),
        taken, [a.slot for a in parts],
    )
