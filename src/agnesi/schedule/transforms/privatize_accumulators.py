"""Privatization: ordered sums into few targets go to several copies in turn, to break the chain.

Repeated additions to one address would each wait for the latency from store to load.  All of this
is within one thread: it is no parallelism.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.core.ir import loops
from agnesi.core.ir.kernels import Buffer, Kernel, Nest, Store, axes_in, buffers_of, walk
from agnesi.core.ir.loops import Affine, Axis, Substitution, fresh_axis
from agnesi.schedule.iteration_space import axes_of, point
from agnesi.schedule.program import Program

#: How indices are kept.
_INDEX = np.dtype(np.int64)
#: Copies of the target of a scatter.
_PRIVATE_COPIES = 4
#: Scattered terms, at least.
_MIN_TERMS = 64
#: Scattered terms for each element of the target, at least.
_MIN_TERMS_PER_ELEMENT = 4
#: Kernels to look through for one that computes the same indices.
_MAX_CANDIDATES = 100


def privatize(program: Program) -> Program:
    """Give ordered sums into few targets several copies of these."""
    result: list[Kernel] = []
    most = program.request.target.costs.private_bytes
    for kernel in program.kernels:
        if isinstance(kernel, Nest) and _is_sums(kernel, most):
            found, new, made = _spread(kernel)
            result += [k for k in found if not _is_taken_in(k, result)]
            result += new
            program.buffers += made
            program.count(len(new))
        else:
            result.append(kernel)
    program.kernels = result
    return program


def _is_sums(nest: Nest, most: int) -> bool:
    """Return whether a nest along one axis, in order, adds to many times fewer elements."""
    if len(nest.axes) != 1 or not nest.ordered:
        return False
    sizes: list[Any] = [nest.axes[0].extent, *(s.buffer.size for s in nest.body)]
    if not all(isinstance(n, int) for n in sizes):
        return False
    targets = {s.buffer for s in nest.body}
    terms = [v for s in nest.body for v in (*s.value.args[1:], *s.offset.atoms)]
    return (
        len(targets) == len(nest.body) and len({b.dtype for b in targets}) == 1
        and sum(b.nbytes for b in targets) <= most
        and sizes[0] >= max(_MIN_TERMS, _MIN_TERMS_PER_ELEMENT * max(sizes[1:]))
        and all(map(_is_sum, nest.body))
        and targets.isdisjoint(buffers_of(terms))
    )


def _is_sum(s: Store) -> bool:
    """Return whether a store adds a float to the element that it writes."""
    dtype = s.buffer.dtype.name
    return (
        dtype in ("float32", "float64") and s.buffer.contiguous and bool(s.offset.atoms)
        and s.value.op == "add" and s.value.args[0] is loops.load(s.buffer, dtype, s.offset)
    )


def _spread(nest: Nest) -> tuple[list[Nest], list[Kernel], list[Buffer]]:
    """Return the nests that fill index tables, the kernels that sum into copies, and the buffers of
    both.
    """
    (axis,) = nest.axes
    nest, found, tables = _with_indices(nest, axis)
    iterations, rest = divmod(axis.extent, _PRIVATE_COPIES)
    sizes = [s.buffer.size for s in nest.body]
    workspace = Buffer(((_PRIVATE_COPIES - 1) * sum(sizes),), nest.body[0].buffer.dtype,
                       "temporary")
    copies = _copies(nest, workspace)

    def stores(count: int, at: Affine) -> list[Store]:
        return [_moved(s, axis, at + k, *copy[k])
                for k in range(count) for s, copy in zip(nest.body, copies, strict=True)]

    iteration = fresh_axis(iterations, axes_in(nest.body), axis.slot)
    main = Nest(nest.nodes, (iteration,),
                stores(_PRIVATE_COPIES, Affine(0, {iteration: _PRIVATE_COPIES})),
                frozenset((iteration,)), waits=nest.waits)
    ends = [Nest(nest.nodes, (), stores(rest, Affine(_PRIVATE_COPIES * iterations)))
            ] if rest else []
    (offset,), nothing = point(axes_of(workspace.shape)), loops.const(-0.0, workspace.dtype.name)
    start = Nest(nest.nodes, axes_of(workspace.shape), [Store(workspace, offset, nothing)])
    return found, [start, main, *ends, *_totals(nest, copies)], [workspace, *tables]


def _copies(nest: Nest, workspace: Buffer) -> list[list[tuple[Buffer, int]]]:
    """For each target, the (buffer, offset) of its copies: itself, then one after the other in the
    workspace."""
    result, start = [], 0
    for s in nest.body:
        copies = [(s.buffer, 0)]
        for _ in range(_PRIVATE_COPIES - 1):
            copies.append((workspace, start))
            start += s.buffer.size
        result.append(copies)
    return result


def _is_taken_in(nest: Nest, kernels: Sequence[Kernel]) -> bool:
    """Make an earlier nest over the same points store these values too, since it computes them
    anyway; return whether there is one.
    """
    (s,) = nest.body
    wanted, reads = {*s.value.args}, {*nest.reads()}
    for kernel in reversed(kernels[-_MAX_CANDIDATES:]):
        if not reads.isdisjoint(kernel.writes()):
            return False
        if isinstance(kernel, Nest) and kernel.axes == nest.axes and not kernel.ordered and (
            not nest.waits and not wanted.isdisjoint(walk([k.value for k in kernel.body]))
        ):
            kernel.change([*kernel.body, s])
            return True
    return False


def _with_indices(nest: Nest, axis: Axis) -> tuple[Nest, list[Nest], list[Buffer]]:
    """Return the nest with its indices loaded from tables, the vectorized nests that fill these,
    and the tables: one for each distinct index.
    """
    tables: dict[Affine, Buffer] = {}
    at = Affine(0, {axis: 1})
    body = []
    for s in nest.body:
        table = tables.setdefault(s.offset, Buffer((axis.extent,), _INDEX, "temporary"))
        offset = Affine(0, {loops.load(table, _INDEX.name, at): 1})
        own = loops.load(s.buffer, s.buffer.dtype.name, offset)
        body.append(Store(s.buffer, offset, own + s.value.args[1]))
    fills = [
        Nest(nest.nodes, (axis,), [Store(table, at, loops.index(offset))], waits=nest.waits)
        for offset, table in tables.items()
    ]
    return Nest(nest.nodes, nest.axes, body, nest.ordered, waits=nest.waits), fills, [
        *tables.values()
    ]


def _moved(s: Store, axis: Axis, to: Affine, copy: Buffer, start: int) -> Store:
    """Return a store moved to another point of the axis and into a copy of its buffer."""
    change = Substitution({axis: to})
    offset, (_, term) = change.index(s.offset) + start, s.value.args
    own = loops.load(copy, copy.dtype.name, offset)
    return Store(copy, offset, own + change(term))


def _totals(nest: Nest, copies: Sequence[Sequence[tuple[Buffer, int]]]) -> list[Kernel]:
    """Return the nests that sum the copies into the first one, a nest for those of equal size."""
    found: dict[int, list[Store]] = {}
    for copy in copies:
        (target, _), *_ = copy
        (at,) = point(axes_of((target.size,)))
        parts = [loops.load(b, b.dtype.name, at + start) for b, start in copy]
        while len(parts) > 1:
            pairs = zip(parts[::2], parts[1::2], strict=True)
            parts = [loops.call("add", *pair) for pair in pairs]
        found.setdefault(target.size, []).append(Store(target, at, parts[0]))
    return [Nest(nest.nodes, axes_of((n,)), stores) for n, stores in found.items()]
