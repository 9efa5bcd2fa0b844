"""Reduction epilogue fusion: sums over rows are taken by the nest that writes them, part by part.

The gradient to a bias is such a sum, of what the nest before has just had in registers.  Rows are
cut into parts, whose sums threads take; how many does not depend on the number of threads.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from agnesi.core.ir import loops
from agnesi.core.ir.dims import is_static
from agnesi.core.ir.extents import guess
from agnesi.core.ir.kernels import Buffer, Kernel, Nest, Store, axes_in, row_major, walk
from agnesi.core.ir.loops import Affine, Axis, Expr, Substitution, divides, fresh_axes, load
from agnesi.core.support.record import replace
from agnesi.core.target import Costs
from agnesi.schedule.iteration_space import axes_of, point
from agnesi.schedule.lowering.kernel_templates import TemplateCache
from agnesi.schedule.program import Program

#: Parts of the rows, at most.
_MAX_PARTS = 32
#: Rows in a part, at least.
_MIN_PART_ROWS = 8


def fuse_sums(program: Program) -> Program:
    """Take sums of rows in the kernels that write the rows."""
    sums = _Sums(program.kernels, program.request.target.costs)
    parts = [part for part in sums.parts.values() if part is not None]
    program.kernels = sums.kernels
    program.buffers += parts
    program.count(len(parts))
    return program


class _Sums:
    def __init__(self, kernels: Sequence[Kernel], costs: Costs) -> None:
        self._costs = costs
        self.parts: dict[Buffer, Buffer | None] = {}
        self._makers: dict[Buffer, Nest] = {}
        self._cut: dict[int, list[Any]] = {}
        self._again = TemplateCache()
        written = [kernel.writes() for kernel in kernels]
        writers = Counter([b for buffers in written for b in buffers])
        result: list[Kernel] = []
        for kernel, buffers in zip(kernels, written, strict=True):
            if isinstance(kernel, Nest) and not kernel.ordered:
                kernel = self._reading(kernel)
                for b in buffers:
                    if writers[b] == 1 and _is_big(b, costs):
                        self._makers[b] = kernel
            result.append(kernel)
        self.kernels = [new for kernel in result for new in self._cut.get(id(kernel), [kernel])]

    def _reading(self, kernel: Nest) -> Nest:
        """A kernel that leaves its sums to those that write the rows, as far as that can be."""
        costs = self._costs
        parts = {rows: self._part(rows) for rows in _summed(kernel, costs) if rows in self._makers}
        taken = {rows: part for rows, part in parts.items() if part is not None}
        if not taken:
            return kernel

        def made() -> list[Any]:
            axes = {*kernel.axes, *axes_in(kernel.body)}
            change = Substitution({}, {
                total: _sum_of(taken[rows], place, axes)
                for total, rows, place in _sums_of(kernel, costs) if rows in taken
            })
            return [replace(kernel, body=[replace(s, value=change(s.value)) for s in kernel.body])]

        return self._again(kernel, [*taken], [*taken.values()], made)[0]

    def _part(self, rows: Buffer) -> Buffer | None:
        """Return the buffer of partial sums of ``rows`` that the nest writing them takes as an
        epilogue;
        None where it cannot.
        """
        if rows not in self.parts:
            self.parts[rows] = None
            maker = self._makers[rows]
            new = [] if id(maker) in self._cut else (
                self._again(maker, [rows], [], lambda: _cut(maker, rows, self._costs)))
            if new:
                self._cut[id(maker)] = new
                self.parts[rows], = new[0].writes()
        return self.parts[rows]


def _summed(kernel: Nest, costs: Costs) -> list[Buffer]:
    """The big buffers whose rows a kernel adds up."""
    if kernel.like is None:
        return [rows for _, rows, _ in _sums_of(kernel, costs)]
    buffers = kernel.like.buffers
    return [buffers[i] for i in kernel.answer(
        _summed, lambda: [buffers.index(rows) for _, rows, _ in _sums_of(kernel, costs)]
    )]


def _sums_of(kernel: Nest, costs: Costs) -> list[tuple[Expr, Buffer, Affine]]:
    """The sums of all rows of big buffers in a kernel: those, and the place of an element."""
    values = [s.value for s in kernel.body if s.value.reduces]
    found = [(total, *total.args[0].param) for total in walk(values) if _is_sum(total)]
    return [(total, rows, place) for total, rows, place in found
            if _is_big(rows, costs) and _is_over_rows(rows, place, total)]


def _is_sum(value: Expr) -> bool:
    """Return whether an expression sums elements of a buffer."""
    return (
        value.op == "reduce" and value.param[0] == "add" and value.args[0].op == "load"
        and value.dtype in ("float32", "float64")
    )


def _is_big(buffer: Buffer, costs: Costs) -> bool:
    large = buffer.contiguous and guess(buffer.nbytes) >= costs.reread_bytes
    return large and is_static(buffer.shape[-1:])


def _is_over_rows(rows: Buffer, place: Affine, total: Expr) -> bool:
    """Return whether all rows of a matrix are summed, for every column."""
    bound, left = total.param[1], [*place.free - {*total.param[1]}]
    return len(left) == 1 < left[0].extent and _is_whole(rows, place, (*bound, *left))


def _is_whole(buffer: Buffer, place: Affine, axes: Sequence[Axis]) -> bool:
    """Return whether axes run over all elements of a buffer in order."""
    extents = [a.extent for a in axes]
    steps = {a: c for a, c in zip(axes, row_major(extents), strict=True) if a.extent != 1}
    return place == Affine(0, steps) and math.prod(extents) == buffer.size


def _cut(nest: Nest, rows: Buffer, costs: Costs) -> list[Nest]:
    """A nest that adds up the rows which it writes to a buffer, behind the one that clears sums.

    Nothing where it cannot.
    """
    axes = [a for a in nest.axes if a.extent != 1]
    written = [s for s in nest.body if s.buffer is rows]
    if len(written) != 1 or not _is_whole(rows, written[0].offset, axes):
        return []
    count = _parts(axes, rows.dtype.itemsize, costs)
    if not count:
        return []
    first, *rest, column = axes
    axis, row = fresh_axes((count, first.extent // count), {*nest.axes, *axes_in(nest.body)})
    inner = [row] if row.extent > 1 else []
    change = Substitution({first: Affine(0, {axis: row.extent, **dict.fromkeys(inner, 1)})})
    body = [Store(s.buffer, change.index(s.offset), change(s.value)) for s in nest.body]
    ordered = frozenset((*inner, *rest))
    part = Buffer((count, column.extent), rows.dtype, "temporary")
    body.append(_added(part, axis, column, ordered, change(written[0].value)))
    at = point(clear := axes_of(part.shape))
    nothing = Store(part, part.place(at), loops.const(-0.0, rows.dtype.name))
    return [Nest(nest.nodes, clear, [nothing]),
            replace(nest, axes=(axis, *inner, *rest, column), body=body, ordered=ordered)]


def _parts(axes: Sequence[Axis], itemsize: int, costs: Costs) -> int:
    """Return how many parts rows are cut into, along the first axis; 0 if they are not."""
    *sizes, columns = [a.extent for a in axes]
    if not sizes or not is_static((columns,)) or columns * itemsize > costs.sums_bytes:
        return 0
    if len(sizes) > 1:
        few = is_static(sizes[:1]) and sizes[0] <= _MAX_PARTS
        return sizes[0] if few and math.prod(map(guess, sizes[1:])) >= _MIN_PART_ROWS else 0
    most = min(_MAX_PARTS, guess(sizes[0]) // _MIN_PART_ROWS)
    return next((n for n in range(most, 1, -1) if divides(n, sizes[0])), 0)


def _added(part: Buffer, axis: Axis, column: Axis, ordered: frozenset[Axis], value: Expr) -> Store:
    """The store that adds a value to the sum of its column in a part."""
    # The sum is another one for each row: let its place name them.
    named = sorted(ordered, key=lambda a: a.slot)
    pin = {loops.index(a.index) * 0: 1 for a in named}
    place = part.place((axis.index, column.index)) + Affine(0, pin)
    return Store(part, place, load(part, part.dtype.name, place) + value)


def _sum_of(part: Buffer, place: Affine, taken: set[Axis]) -> Expr:
    """The sum of all parts in the column of a place."""
    (column,) = (a for a, step in place.terms.items() if step == 1)
    (count, _), (axis,) = part.shape, fresh_axes(part.shape[:1], taken)

    def sums(p: Affine) -> Expr:
        return load(part, part.dtype.name, part.place((p, column.index)))

    return loops.reduce_("add", [count], sums, taken, [axis.slot])
