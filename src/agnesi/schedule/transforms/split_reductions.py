"""Split reductions: large reductions to few results are cut in parts that threads share.

How many parts there are does not depend on the number of threads, so that results do not either.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, TypeGuard

from agnesi.core.ir import loops
from agnesi.core.ir.dims import is_static
from agnesi.core.ir.kernels import Kernel, Nest, axes_in, walk
from agnesi.core.ir.loops import Affine, Axis, Expr, Substitution, fresh_axis
from agnesi.core.support.record import replace
from agnesi.schedule.lowering.kernel_templates import TemplateCache
from agnesi.schedule.program import Program
from agnesi.schedule.transforms.row_sums import KEPT, apart, has_totals, parts_of, stored

#: Results from which threads share these instead.
_MAX_RESULTS = 128


def split_reductions(program: Program) -> Program:
    """Cut large reductions in parts, which get memory."""
    again, least = TemplateCache(), program.request.target.costs.nest_operations

    def split(kernel: Kernel) -> list[Any]:
        if _has_few_elements(kernel):
            return again(kernel, (), (), partial(_cut, kernel, least))
        if not has_totals(kernel):
            return []
        new = again(kernel, (), (), partial(apart, kernel, least))
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
    if value.op != "reduce" or value.dtype not in KEPT:
        return None
    bound = value.param[1]
    sizes = [a.extent for a in (*bound, *value.free)]
    if not is_static(sizes) or math.prod(sizes) < least:
        return None
    if any(v.op in ("reduce", "steps") for v in walk(value.args)):
        return None
    for axis in bound:
        count = parts_of(axis.extent, math.prod(sizes))
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
    return stored(nest, total, (part,), kind, taken, others)
