"""Loads at indices that run through memory piece by piece, such as those of borders and rolls.

``x[where(i < 2, 2 - i, i - 2)]`` along lanes would gather.  The loop is split by what the lanes of
its iterations read: those in the middle read adjacent elements, and those where one run ends and
the next begins read a few vectors and shuffle them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from agnesi.codegen.llvm.builder import Value, i64, lanes, vector
from agnesi.codegen.loops.strided_loads import rows_at
from agnesi.core.ir.kernels import Buffer, walk
from agnesi.core.ir.loops import Affine, Axis, Expr

#: Loops that one is split into, at most.
_MAX_GROUPS = 8
#: The longest axis whose indices are searched one by one for runs.
_MAX_EXTENT = 1 << 12


class LaneRun(NamedTuple):
    """Iterations of a loop that read with the same lane pattern.

    They run over [start, stop) with ``active`` lanes. ``indices`` has, for each address, that of
    the first lane, its step per iteration, and the offsets of the other lanes.
    """

    start: int
    stop: int
    active: int
    indices: dict[Expr, tuple[int, int, tuple[int, ...]]]


def in_lane_runs(scope: Any, axis: Axis, values: Sequence[Expr], wide: int,
                 body: Callable[[Any, list[Value]], Any]) -> bool:
    """Run ``body`` over an axis, split by what lanes read; return False if nothing is gained."""
    runs = _lane_runs_of(values, axis, wide) if wide > 1 else []
    for some in runs:
        mask = None if some.active == wide else lanes(vector("i1", wide),
                                                      [k < some.active for k in range(wide)])
        inner = scope.inside({axis: i64(some.start)}, along=axis, lanes=wide, mask=mask,
                             active=some.active, unit=wide)
        scope.hoist(values, {axis}, inner)
        with scope.b.loop(i64(some.start), i64(some.stop), wide, nonempty=True) as loop:
            inner.axes[axis] = loop.index
            inner.runs = _indices_in(some, loop.index, scope.b)
            body(inner, [])
    return bool(runs)


def _lane_runs_of(values: Sequence[Expr], axis: Axis, wide: int) -> list[LaneRun]:
    """Split a loop of ``wide`` lanes by the pattern that they read; empty if nothing is gained."""
    if not isinstance(axis.extent, int) or axis.extent > _MAX_EXTENT:
        return []
    tables = {a: _table(a, axis) for v in walk(list(values)) if v.op == "load"
              for a in v.param[1].atoms if a.op == "where" and a.free == {axis} and not a.loads}
    found: list[LaneRun] = []
    for start in range(0, axis.extent, wide) if tables else ():
        stop = min(start + wide, axis.extent)
        run = LaneRun(start, stop, stop - start, {
            a: (t[start], 0, tuple([p - t[start] for p in t[start:stop]]))
            for a, t in tables.items()})
        both = _together(found[-1], run, wide) if found else None
        if both is not None:
            found.pop()
        found.append(both or run)
    return found if len(found) <= _MAX_GROUPS else []


def _together(before: LaneRun, run: LaneRun, wide: int) -> LaneRun | None:
    """Merge two consecutive runs; None if their patterns differ."""
    indices = {}
    for a, (first, by, offsets) in before.indices.items():
        start, _, others = run.indices[a]
        step, rest = divmod(start - first, run.start - before.start)
        if others != offsets or rest or (step != by and before.stop - before.start > wide):
            return None
        indices[a] = first, step, offsets
    return LaneRun(before.start, run.stop, wide, indices)


def _table(value: Expr, axis: Axis) -> list[int]:
    """The values of an expression along an axis."""
    along = np.arange(axis.extent)
    known: dict[Expr, Any] = {}
    for v in walk([value]):
        if v.op == "index":
            known[v] = v.param.const + v.param.terms.get(axis, 0) * along + sum(
                [c * known[a] for a, c in v.param.terms.items() if a is not axis])
        elif v.op == "const":
            known[v] = np.asarray(v.param)
        else:
            known[v] = getattr(np, v.op)(*[known[a] for a in v.args])
    return np.broadcast_to(known[value], along.shape).tolist()


def load_run(scope: Any, type_: str, buffer: Buffer, at: Affine, align: int) -> Value | None:
    """Load elements at an index whose lane pattern is known; None if it is not."""
    b, moving = scope.b, [a for a in at.atoms if scope.varies(a)]
    active = scope.lanes if scope.mask is None else scope.active
    if len(moving) != 1 or moving[0] not in scope.runs or active is None:
        return None
    (atom,), (first, offsets) = moving, scope.runs[moving[0]]
    by, step = at.terms[atom], at.terms.get(scope.along, 0)
    if not isinstance(by, int) or not isinstance(step, int):
        return None
    distances = [by * offset + step * k for k, offset in enumerate(offsets)]
    low, high = min(distances), max(distances)
    if high - low >= 2 * scope.lanes:
        return None
    rest = Affine(at.const + low, {a: c for a, c in at.terms.items() if a is not atom})
    offset = b.op("add nsw", scope.scalar_index(rest), b.op("mul nsw", first, i64(by)))
    row = rows_at(b, type_, b.gep(type_, scope.pointer(buffer), offset), align)
    if distances == list(range(low, low + active)):
        return row(0, scope.lanes, active)
    if low == high:
        return b.splat(b.load(type_, b.gep(type_, scope.pointer(buffer), offset), align),
                       scope.lanes)
    whole = 1 << (high - low).bit_length()
    picks = [p - low for p in distances] + [0] * (scope.lanes - active)
    return b.shuffle(row(0, whole, high - low + 1), None, picks)


def _indices_in(run: LaneRun, index: Value, b: Any) -> Mapping[Expr, tuple[Value, tuple[int, ...]]]:
    """The addresses that an iteration beginning at an index reads."""
    return {a: (b.op("add nsw", b.op("mul nsw", index, i64(by)), i64(first - by * run.start)),
                offsets)
            for a, (first, by, offsets) in run.indices.items()}
