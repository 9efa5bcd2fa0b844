"""Split reductions: large reductions to few results are cut in parts that threads share.

How many parts there are does not depend on the number of threads, so that results do not either.
A total beside the elements that it is of becomes the total of row sums, which the loop along each
row computes: otherwise every thread that takes some rows would compute the whole total.
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
from agnesi.schedule.evaluation_counts import iterations, work
from agnesi.schedule.lowering.kernel_templates import TemplateCache
from agnesi.schedule.program import Program

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
#: Results from which threads share these instead.
_MAX_RESULTS = 128
#: Dtypes that sums keep on the way.
_KEPT = ("float32", "float64", "int32", "int64", "bool")


def split_reductions(program: Program) -> Program:
    """Cut large reductions in parts, which get memory."""
    again, least = TemplateCache(), program.request.target.costs.nest_operations

    def split(kernel: Kernel) -> list[Any]:
        if _has_few_elements(kernel):
            return again(kernel, (), (), partial(_cut, kernel, least))
        if not _has_totals(kernel):
            return []
        new = again(kernel, (), (), partial(_apart, kernel, least))
        return [part for k in new for part in split(k) or [k]]

    program.split_kernels(split)
    return program


def _has_few_elements(kernel: Kernel) -> TypeGuard[Nest]:
    """Return whether a nest without order has too few elements for threads to share them."""
    if type(kernel) is not Nest or kernel.ordered:
        return False
    sizes = [a.extent for a in kernel.axes]
    return is_static(sizes) and math.prod(sizes) <= _MAX_RESULTS


def _cut(kernel: Nest, least: int) -> list[Any]:
    """Return kernels that reduce parts, and the kernel with its reductions over these; empty if no
    reduction of ``least`` elements is found, below which threads do not pay.
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
        count = _parts_of(axis.extent, math.prod(sizes))
        if count:
            return axis, count
    return None


def _in_parts(nest: Nest, value: Expr, axis: Axis, taken: set[Axis]) -> Expr:
    """Return a reduction as a reduction of partial results, which the nest stores."""
    (part, *others), (kind, bound) = nest.axes, value.param
    inner = fresh_axis(axis.extent // part.extent, {*taken, part}, axis.slot)
    change = Substitution({axis: Affine(0, {part: inner.extent, inner: 1})})
    left = tuple(inner if a is axis else a for a in bound)
    element = change(value.args[0])
    total = loops.make("reduce", (element,), value.dtype, (kind, left), element.free - {*left})
    return _stored(nest, total, (part,), kind, taken, others)


# -- totals beside elements -------------------------------------------------------------------
def _has_totals(kernel: Kernel) -> TypeGuard[Nest]:
    """Return whether a parallel nest stores both scalars of full reductions and elements."""
    return type(kernel) is Nest and not kernel.ordered and bool(
        kernel.answer(_has_totals, lambda: len({_is_total(s) for s in kernel.body}) > 1))


def _is_total(store: Store) -> bool:
    """Return whether a store writes one scalar that is computed from reductions."""
    return store.value.reduces and not (store.offset.free or store.value.free)


def _sums(stores: Sequence[Store]) -> list[Expr]:
    """Return the outermost reductions of stores."""
    seen: dict[Expr, None] = {}
    stack = [s.value for s in stores]
    while stack:
        value = stack.pop()
        if value in seen:
            continue
        seen[value] = None
        if value.op != "reduce" and value.reduces:
            stack += value.args
    return [value for value in seen if value.op == "reduce"]


def _apart(kernel: Nest, least: int) -> list[Any]:
    """Return kernels for the totals of a nest, by rows if possible, and for its elements; empty for
    less than ``least`` operations, which do not pay for threads.
    """
    if guess(work([kernel]).all) < least:
        return []
    totals, others = _parted(kernel)
    if found := _by_rows(kernel, totals, others):
        return found
    if max([iterations(v.param[1]) for v in _sums(totals)]) < _MIN_TOTAL_ELEMENTS:
        return []
    return [replace(kernel, axes=(), body=totals), replace(kernel, body=others)]


def _parted(kernel: Nest) -> tuple[list[Store], list[Store]]:
    """The stores of totals, and the others."""
    parts: tuple[list[Store], list[Store]] = [], []
    for s in kernel.body:
        parts[not _is_total(s)].append(s)
    return parts


def _by_rows(kernel: Nest, totals: list[Store], others: list[Store]) -> list[Any]:
    """Return a nest that writes elements and the totals of their rows, and one that adds these up.

    Reductions over as many elements as the nest has points may run in any order.
    """
    sums, axes = _sums(totals), kernel.axes
    sizes = [a.extent for a in axes]
    if not is_static(sizes) or not all(_runs_over(v, sizes) for v in sums):
        return []
    if not {*sums}.isdisjoint(walk([s.value for s in others])):
        return []
    taken = {*axes, *axes_in(kernel.body)}
    rows, indices = _rows(axes, taken)
    if not rows:
        return []
    change = Substitution(dict(zip(axes, indices, strict=True)))
    body = [Store(s.buffer, change.index(s.offset), change(s.value)) for s in others]
    nest, known = replace(kernel, axes=rows, body=body), {}
    for value in sums:
        kind, bound = value.param
        element = Substitution(dict(zip(bound, indices, strict=True)))(value.args[0])
        total = loops.make("reduce", (element,), value.dtype, (kind, rows[-1:]),
                           element.free - {rows[-1]})
        known[value] = _stored(nest, total, rows[:-1], kind, taken)
    total_of = Substitution({}, known)
    body = [replace(s, value=total_of(s.value)) for s in totals]
    return [nest, replace(kernel, axes=(), body=body)]


def _rows(axes: tuple[Axis, ...], taken: set[Axis]) -> tuple[tuple[Axis, ...], list[Affine]]:
    """Return loops over rows and along them, and the index of each axis in these; empty if rows are
    short.

    A single axis is split into equal parts.
    """
    if len(axes) > 1:
        long = axes[-1].extent >= _MIN_ROW_ELEMENTS
        return (axes if long else ()), [a.index for a in axes]
    (axis,) = axes
    count = _parts_of(axis.extent, axis.extent)
    if not count or count == axis.extent:
        return (), []
    part = fresh_axis(count, taken)
    along = fresh_axis(axis.extent // count, {*taken, part}, axis.slot)
    return (part, along), [Affine(0, {part: along.extent, along: 1})]


def _runs_over(value: Expr, sizes: Sequence[int]) -> bool:
    """Return whether a reduction has loops of these sizes, and what is reduced inside, if anything,
    is the same along a row.
    """
    bound = value.param[1]
    if value.dtype not in _KEPT or [a.extent for a in bound] != [*sizes]:
        return False
    inside = [v for v in walk(value.args) if v.op in ("reduce", "steps")]
    return not inside or (len(bound) > 1 and all(
        v.op == "reduce" and v.free and bound[-1] not in v.free for v in inside))


def _parts_of(size: int, elements: int) -> int:
    """Return into how many equal parts an axis is split in a reduction of ``elements``; 0 if it is
    not.
    """
    most = max(_MAX_PARTS, min(_MAX_LARGE_PARTS, elements // _LARGE_PART_ELEMENTS))
    return next((n for n in range(most, 1, -1) if size % n == 0), 0)


def _stored(nest: Nest, total: Expr, parts: tuple[Axis, ...], kind: str, taken: set[Axis],
           others: Sequence[Axis] = ()) -> Expr:
    """Add a store of partial totals, one for each point of ``parts``, to a nest; return the
    expression that reduces them, for another kernel."""
    axes = (*parts, *others)
    buffer = Buffer(tuple([a.extent for a in axes]), np.dtype(total.dtype), "temporary")
    nest.body.append(Store(buffer, buffer.offset_of([a.index for a in axes]), total))
    return loops.reduce_(
        kind, [a.extent for a in parts],
        lambda *at: load(buffer, total.dtype, buffer.offset_of((*at, *[a.index for a in others]))),
        taken, [a.slot for a in parts],
    )
