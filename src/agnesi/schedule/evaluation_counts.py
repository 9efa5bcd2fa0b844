"""Evaluation counts of a kernel's values, by the loops around them.

A nest evaluates a value in the loops from the outermost one to the innermost one that it depends
on; the operand of a reduction is evaluated in the reduction's own loops, inside those.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from agnesi.core.ir.costs import instructions_of, is_heavy
from agnesi.core.ir.dims import Size, product
from agnesi.core.ir.extents import guess
from agnesi.core.ir.kernels import Convolution, Kernel, Nest, Product
from agnesi.core.ir.lanes import lane_axis, reduced_along
from agnesi.core.ir.loops import Axis, Expr
from agnesi.core.support.record import struct

Loops = tuple[Axis, ...]
#: How often an expensive value, and any other, may be computed for each of its elements.
MAX_EXPENSIVE_EVALUATIONS, MAX_CHEAP_EVALUATIONS = 2, 4
#: Operations that bind axes of their own.
BINDING = ("reduce", "steps")
#: Instructions per result element of functions that work on whole arrays, about.
_ARRAY_FUNCTION_INSTRUCTIONS = 8


@struct
class Work:
    """Scalar instructions of kernels: of costly operations, and all.

    Polynomials, where sizes are run-time values.
    """

    costly: Any = 0
    all: Any = 0


def loops_of(kernel: Kernel) -> Loops:
    """The loops of a kernel, from outside to inside."""
    if not isinstance(kernel, Nest):
        return kernel.axes if isinstance(kernel, Product | Convolution) else ()
    axes = tuple([a for a in kernel.axes if a.extent != 1])
    if len(axes) < 2:
        return axes
    lanes = lane_axis(axes, kernel.body, kernel.ordered)
    outer = [a for a in axes if a is not lanes]
    if kernel.ordered:
        outer.sort(key=lambda a: a in kernel.ordered)
    return (*outer, lanes) if lanes is not None else tuple(outer)


def around(kernel: Kernel, value: Expr, loops: Loops) -> Loops:
    """Return the loops around a value in which it is evaluated."""
    if not isinstance(kernel, Nest):  # a block of results at a time
        return loops if value.free or value.args else ()
    for i in range(len(loops), 0, -1):
        if loops[i - 1] in value.free:
            return loops[:i]
    return ()


def inside(value: Expr, loops: Loops) -> Loops:
    """The loops around the operands of a value that is evaluated in ``loops``."""
    if value.op == "steps":
        return (*loops, *value.param[1])
    bound = value.param[1]
    if len(bound) > 1:
        lanes = reduced_along([value], bound)
        bound = (*[a for a in bound if a is not lanes], lanes)
    return (*loops, *bound)


def below(kernel: Kernel, values: Sequence[tuple[Expr, Loops]]) -> Iterator[tuple[Expr, Loops]]:
    """All values below some, each with the loops in which it is evaluated."""
    seen = set()
    stack = [*values]
    while stack:
        value, loops = stack.pop()
        here = around(kernel, value, loops)
        if (value, here) in seen:
            continue
        seen.add((value, here))
        yield value, here
        more = inside(value, here) if value.op in BINDING else loops
        stack += [(v, more) for v in value.args]


def iterations(loops: Sequence[Axis]) -> int:
    """Return the iterations of a body of loops."""
    return math.prod([guess(a.extent) for a in loops])


def iterations_in(loops: Sequence[Axis]) -> Size:
    """Return the iterations of a body of loops as a polynomial in the sizes known at run time."""
    return product([a.extent for a in loops])


def instructions(value: Expr, loops: Loops, iterations: Callable[[Loops], Any] = iterations) -> Any:
    """Estimate the scalar instructions of all evaluations of a value, without its operands."""
    if value.op in BINDING:
        return iterations(inside(value, loops))
    return iterations(loops) * instructions_of(value.op)


def work(kernels: Iterable[Kernel]) -> Work:
    """Count the operations of kernels, without those in bodies of loops."""
    total = Work()
    iterations = cache(iterations_in)
    for kernel in kernels:
        if isinstance(kernel, Product):
            total.all += product(kernel.sizes)
        elif isinstance(kernel, Convolution):
            total.all += kernel.sizes.work
        elif not isinstance(kernel, Nest):
            total.all += sum([b.size for b in kernel.writes()]) * _ARRAY_FUNCTION_INSTRUCTIONS
            continue
        loops = loops_of(kernel)
        starts = [(v, loops) for s in kernel.stores() for v in (s.value, *s.offset.atoms)]
        for value, here in below(kernel, starts):
            if is_heavy(value.op):
                total.costly += instructions(value, here, iterations)
            if value.loads:  # not what follows from indices alone
                total.all += instructions(value, here, iterations)
    return total
