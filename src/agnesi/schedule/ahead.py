"""Reductions that a nest would run again and again get memory, and a nest of their own before.

A nest computes what rows need before the loops along them.  Where loops around those do not change
a reduction, as in a matrix that is read across, each of their turns would compute it anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, TypeGuard

import numpy as np

from agnesi.core.dims import product
from agnesi.core.extents import guess
from agnesi.core.kernels import Buffer, Kernel, Nest, Store, walk
from agnesi.core.loops import Axis, Expr, Substitution, load
from agnesi.core.record import replace
from agnesi.schedule.alike import Again

#: Elements that are read once more in every turn, in all, from which memory is worth it.
_MUCH = 1 << 14


def with_rows(kernels: Sequence[Kernel]) -> tuple[list[Kernel], list[Buffer]]:
    """The kernels with such reductions apart, and the memory of those."""
    again = Again()
    result: list[Kernel] = []
    rows: list[Buffer] = []
    for kernel in kernels:
        new = again(kernel, (), (), partial(_apart, kernel)) if _repeats(kernel) else []
        for first in new[:-1]:
            rows += first.writes()
        result += new or [kernel]
    return result, rows


def _repeats(kernel: Kernel) -> TypeGuard[Nest]:
    """Whether a kernel is a nest in no order that runs reductions again and again."""
    if type(kernel) is not Nest or kernel.ordered or len(kernel.axes) < 2:
        return False
    return kernel.answer(_repeats, lambda: any(map(partial(_runs_again, kernel), _values(kernel))))


def _values(kernel: Nest) -> Iterable[Expr]:
    """All that a nest with reductions computes."""
    values = [s.value for s in kernel.body if s.value.reduces]
    return walk(values) if values else ()


def _apart(kernel: Nest) -> list[Any]:
    """Nests of reductions, and the kernel that reads them."""
    known: dict[Expr, Expr] = {}
    made: dict[tuple[Axis, ...], Nest] = {}
    for value in _values(kernel):
        if not _runs_again(kernel, value):
            continue
        axes = tuple([a for a in kernel.axes if a in value.free])
        if axes not in made:
            made[axes] = Nest(kernel.nodes, axes, waits=[*kernel.waits])
        buffer = Buffer(tuple([a.extent for a in axes]), np.dtype(value.dtype), "temporary")
        place = buffer.place([a.index for a in axes])
        made[axes].body.append(Store(buffer, place, value))
        known[value] = load(buffer, value.dtype, place)
    change = Substitution({}, known)
    body = [replace(s, value=change(s.value)) for s in kernel.body]
    return [*made.values(), replace(kernel, body=body)]


def _runs_again(kernel: Nest, value: Expr) -> bool:
    """Whether loops outside of those that change a reduction run it again."""
    if value.op != "reduce":
        return False
    own = [i for i, a in enumerate(kernel.axes) if a in value.free]
    if not own or not value.free <= {*kernel.axes}:
        return False
    outside = kernel.axes[: own[-1]]
    turns = product([a.extent for a in outside if a not in value.free])
    reads = product([a.extent for a in (*value.free, *value.param[1])])
    return guess(turns) > 1 and guess(turns * reads) >= _MUCH
