"""Loop nests to LLVM: loops outside in, reductions as sweeps, lanes along the innermost loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from agnesi.codegen.arithmetic import scalars
from agnesi.codegen.llvm.builder import Builder, Value, const, i64, lanes, vector
from agnesi.codegen.loops import list_scheduling
from agnesi.codegen.loops.blocked_transpose import emit_transposed
from agnesi.codegen.loops.evaluate import IDENTITY, PRODUCTS, ROW, Scope
from agnesi.codegen.loops.horizontal_reduction import horizontal
from agnesi.codegen.loops.lane_runs import in_lane_runs
from agnesi.codegen.loops.polled_loops import MIN_LOOKS, Watch, totals_loop
from agnesi.codegen.loops.slp_stores import store_all
from agnesi.codegen.loops.tail_masking import one_register, open_iterations
from agnesi.core.ir.costs import is_heavy
from agnesi.core.ir.dims import product
from agnesi.core.ir.extents import Extent, guess, is_some, most
from agnesi.core.ir.kernels import Buffer, Store, reductions, walk
from agnesi.core.ir.lanes import reduced_along
from agnesi.core.ir.loops import ITEM_BYTES, Affine, Axis, Expr, load
from agnesi.core.ir.mapping import NestPlan


def emit_nest(b: Builder, plan: NestPlan, pointer: Callable[[Buffer], Value], begin: Value,
              end: Value, around: Mapping[Axis, Value] | None = None,
              interrupted: Callable[[], Value] | None = None) -> bool:
    """Emit work units [begin, end) of a nest into the current function; whether it may be left.

    ``around`` has the indices of loops that are there already; ``interrupted`` emits a poll for
    signals, whether the function is to return, for long loops that are not shared out.
    """
    watch = Watch(interrupted)
    nest = _Nest(b, plan, watch)
    root = Scope(b, lambda buffer: nest.rows.get(buffer) or pointer(buffer), around or {})
    root.rereads, root.watch = bool(plan.ordered), watch
    values = nest._values(plan.stores)
    root.loaded = frozenset(pointer(v.param[0]).ref for v in walk(values) if v.op == "load")
    nest.run(root, begin, end)
    return nest.note is not None or nest.looks or watch.used


class _Nest:
    def __init__(self, b: Builder, plan: NestPlan, watch: Watch) -> None:
        self.b = b
        self.plan = plan
        #: Where a look at signals that ends the nest leaves a note.
        self.look = watch.look
        #: Whether a loop along the lanes looks, too, and between how many points.
        self.looks, self.points = False, watch.points
        self.note = b.alloca("i8", 1) if self._is_watched() else None
        if self.note:
            b.store(const("i8", 0), self.note)
        self.target, self.mapping = b.module.target, b.module.mapping
        self.stores = plan.stores
        self.rows: dict[Buffer, Value] = {}
        #: The blocks along the lanes that are run, where they are what is shared out.
        self.share: tuple[Value, Value] | None = None
        #: Indices of the stores that reduction loops have already written.
        self.done: set[int] = set()

    def run(self, root: Scope, begin: Value, end: Value) -> None:
        outer = self.plan.outer
        if any(a.extent == 0 for a in self.plan.axes):
            return
        if self.plan.across is not None:
            emit_transposed(self, root, begin, end)
            return
        if outer and outer[0] not in self.plan.ordered:
            self._level(root, outer, (begin, end))
            return
        self.share = (begin, end) if not outer or guess(self.plan.units) > 1 else None
        if outer:
            self._level(root, outer, None)
        else:
            self._innermost(root)

    # -- loops ----------------------------------------------------------------------------
    def _level(self, scope: Scope, outer: list[Axis], span: tuple[Value, Value] | None) -> None:
        """Open the loop over the first outer axis; what does not need it is done before."""
        if not outer:
            self._innermost(scope)
            return
        axis, *rest = outer
        inside = {*outer, *([self.plan.along] if self.plan.along else [])}
        inner = scope.inside({})
        self._before(scope, inside, inner)
        nonempty = span is None and is_some(axis.extent)
        start, stop = span if span is not None else (i64(0), self.b.size(axis.extent))

        def iterations(start: Value, stop: Value) -> None:
            with self.b.loop(start, stop, 1, nonempty=nonempty) as loop:
                inner.axes[axis] = loop.index
                self._level(inner, rest, None)
                loop.until = self._noted(rest)

        if span is not None or not self._is_long(axis):
            iterations(start, stop)
            return
        b, size = self.b, self._iterations_between(axis)
        with b.loop(start, stop, size, nonempty=nonempty) as part:
            iterations(part.index, b.intrinsic("smin", b.add(part.index, i64(size)), stop))
            found = self._look()
            part.until = found if (noted := self._noted(rest)) is None else b.op("or", found, noted)

    # -- signals --------------------------------------------------------------------------
    def _iterations_between(self, axis: Axis) -> int:
        """Return the iterations of a sequential loop between two polls for signals."""
        inner = self.plan.axes[self.plan.axes.index(axis) + 1:]
        return max(1, self.points // max(1, guess(product([a.extent for a in inner]))))

    def _is_long(self, axis: Axis) -> bool:
        """Return whether a sequential loop polls for signals."""
        return (self.look is not None and axis in self.plan.ordered
                and (isinstance(axis.extent, Extent)
                     or axis.extent > MIN_LOOKS * self._iterations_between(axis)))

    def _is_watched(self) -> bool:
        outer = self.plan.outer
        shared = outer[:1] if outer and outer[0] not in self.plan.ordered else []
        return any(self._is_long(a) for a in outer if a not in shared)

    def _look(self) -> Value:
        """Poll for signals; return whether the nest has to end, which is noted."""
        assert self.look is not None and self.note is not None
        found = self.look()
        self.b.store(self.b.cast("zext", found, "i8"), self.note)
        return found

    def _noted(self, inside: Sequence[Axis]) -> Value | None:
        """Return whether an inner loop has recorded that the nest is to stop."""
        if self.note is None or not any(map(self._is_long, inside)):
            return None
        return self.b.icmp("ne", self.b.load("i8", self.note), const("i8", 0))

    def _before(self, scope: Scope, inside: set[Axis], inner: Scope) -> None:
        """Emit everything that does not depend on the axes ``inside``, reductions included, before
        the loops over them.
        """
        values = self._values(self.stores)
        self._sweeps(scope, values, inside)
        scope.hoist(values, inside, inner)
        self._store_ready(scope, inside)

    def _store_ready(self, scope: Scope, inside: set[Axis]) -> None:
        for s in self.stores:
            if not (s.offset.free & inside) and not (s.value.free & inside):
                self._store_once(scope, s)

    def _store_once(self, scope: Scope, s: Store) -> None:
        outside: Scope | None = scope.parent
        while outside is not None:
            if (s.offset.free | s.value.free) <= outside.axes.keys():
                return
            outside = outside.parent
        scope.store(s.buffer, s.offset, s.value)

    def _innermost(self, scope: Scope) -> None:
        along = self.plan.along
        if along is None:
            inner = scope.inside({})
            if not self.plan.axes:
                list_scheduling.compute(scope, self._values(self.stores))
            self._before(scope, set(), inner)
            return
        self._sweeps(scope, self._values(self.stores), {along})
        self._store_ready(scope, {along})
        ours = [s for s in self._left() if along in s.offset.free or along in s.value.free]
        if ours and is_some(along.extent):
            self._store_along(scope, along, ours)
        elif ours:
            with self.b.when(self.b.icmp("sgt", self.b.size(along.extent), i64(0))):
                self._store_along(scope.inside({}), along, ours)

    def _store_along(self, scope: Scope, along: Axis, stores: list[Store]) -> None:
        self._lane_loop(scope, along, self._values(stores), self.share,
                        lambda inner, _: store_all(inner, stores), [])

    def _values(self, stores: Iterable[Store]) -> list[Expr]:
        """All that is computed for stores: values, and indices that depend on values."""
        return [v for s in stores for v in (s.value, *s.offset.atoms)]

    def _left(self) -> list[Store]:
        """The stores that no reduction loop has written yet."""
        return [s for i, s in enumerate(self.stores) if i not in self.done]

    # -- lanes ----------------------------------------------------------------------------
    def _lane_loop(self, scope: Scope, axis: Axis, values: Sequence[Expr],
                   span: tuple[Value, Value] | None,
                   body: Callable[[Scope, list[Value]], list[Value]],
                   carried: list[Value], group: Sequence[Expr] = ()) -> list[Value]:
        """Run ``body`` over an axis with lanes; a masked iteration takes the rest.

        ``body(scope, carried)`` returns the carried vectors after its iteration; they have the
        lanes of ``scope``.  With ``span``, only blocks [begin, end) are run.
        """
        b, wide = self.b, self.mapping.lanes(values, axis, bool(carried))
        while span is not None and self.plan.block % wide:
            wide //= 2
        if isinstance(axis.extent, Extent):
            return open_iterations(self, scope, axis, values, span, wide, body, carried, group)
        if not carried:
            whole = self.mapping.periodic_lanes(wide, values, axis)
            wide = whole if span is None or self.plan.block % whole == 0 else wide
            if span is None and in_lane_runs(scope, axis, values, wide, body):
                return []
        assert span is None or self.plan.block % wide == 0, "a block must be whole vectors"
        main = axis.extent // wide * wide
        tail = axis.extent - main
        if main and tail and self.mapping.masks_all(values, axis):
            start, end = i64(0), i64(axis.extent)
            if span is not None:
                start = b.op("mul", span[0], i64(self.plan.block))
                end = b.intrinsic("smin", b.op("mul", span[1], i64(self.plan.block)), end)
            return self._masked(scope, axis, values, (start, end), wide, body, carried)
        last = None
        if span is not None:
            first = self.b.op("mul", span[0], i64(self.plan.block))
            beyond = self.b.op("mul", span[1], i64(self.plan.block))
            last = self.b.icmp("sge", beyond, i64(axis.extent))
            stop = self.b.select(self.b.icmp("slt", beyond, i64(main)), beyond, i64(main))
        if main:
            inner = scope.inside({}, along=axis, lanes=wide, mask=None, unit=wide)
            inner.axes[axis] = i64(0)
            scope.hoist(values, {axis}, inner)

            def iteration(index: Value, carried: list[Value]) -> list[Value]:
                inner.axes[axis] = index
                return body(inner, carried)

            if span is None:
                carried = totals_loop(b, scope.watch, main, i64(main), wide, carried, 1, iteration)
            else:
                with self.b.loop(first, stop, wide, carried) as loop:
                    loop.carry(*iteration(loop.index, loop.carried))
                carried = loop.results
        if tail:
            if last is not None:
                with self.b.when(last):
                    self._tail(scope, axis, values, main, tail, wide, body, carried)
            else:
                carried = self._tail(scope, axis, values, main, tail, wide, body, carried)
        return carried

    def _masked(self, scope: Scope, axis: Axis, values: Sequence[Expr], span: tuple[Value, Value],
                wide: int, body: Callable[[Scope, list[Value]], list[Value]],
                carried: list[Value]) -> list[Value]:
        """Emit a loop over part of an axis whose last iteration is masked."""
        b = self.b
        inner = scope.inside({axis: span[0]}, along=axis, lanes=wide, mask=None, active=None,
                             unit=1)
        scope.hoist(values, {axis}, inner)
        with b.loop(*span, wide, carried) as loop:
            remaining = b.splat(b.cast("trunc", b.sub(span[1], loop.index), "i32"), wide)
            inner.mask = b.icmp("ult", lanes(vector("i32", wide), range(wide)), remaining)
            inner.axes[axis] = loop.index
            loop.carry(*body(inner, loop.carried))
        return loop.results

    def _tail(self, scope: Scope, axis: Axis, values: Sequence[Expr], main: int, tail: int,
              wide: int, body: Callable[[Scope, list[Value]], list[Value]],
              carried: list[Value]) -> list[Value]:
        width = wide
        while not carried and width // 2 >= tail:
            width //= 2
        mask = lanes(vector("i1", width), [k < tail for k in range(width)]) if width > 1 else None
        if width == tail:
            mask = None
        inner = scope.inside({axis: i64(main)}, along=axis, lanes=width, mask=mask,
                             active=tail, unit=main)
        scope.hoist(values, {axis}, inner)
        return body(inner, carried)

    # -- reductions -----------------------------------------------------------------------
    def _sweeps(self, scope: Scope, values: Sequence[Expr], inside: set[Axis]) -> None:
        """Compute the reductions that do not change in loops over ``inside``, grouped by axes."""
        ready = _reductions(scope, values, inside)
        while ready:
            first = ready[0]
            group = [r for r in ready if r.param[1] == first.param[1]]
            self._sweep(scope, group)
            ready = _reductions(scope, values, inside)

    def _sweep(self, scope: Scope, group: list[Expr]) -> None:
        bound = group[0].param[1]
        axis = reduced_along(group, bound)
        bodies = [r.args[0] for r in group]
        if axis is None or any(a.extent == 0 or a in scope.axes for a in bound):
            for r in group:
                scope.value(r)
            return
        early = self._early(scope, group, axis)
        rows = self._rows(scope, group, axis) if len(bound) == 1 else []
        stores = [Store(row, Affine(0, {axis: 1}), value) for value, row in rows] + early
        wide = self.mapping.lanes(bodies, axis, carries=True)
        if isinstance(axis.extent, Extent):
            wide = one_register(self, bodies, wide)
        starts = [const(scalars.register(r.dtype, wide), IDENTITY[r.param[0]](r.dtype))
                  for r in group]
        outer = [a for a in bound if a is not axis]
        totals = self._around(scope, outer, axis, group, starts, stores)
        for r, total in zip(group, totals, strict=True):
            scope.memo[r] = horizontal(self.b, r.param[0], r.dtype, total)
        for value, row in rows:
            scope.kept[value] = load(row, value.dtype, Affine(0, {axis: 1}))

    def _around(self, scope: Scope, outer: list[Axis], axis: Axis, group: list[Expr],
                totals: list[Value], stores: list[Store]) -> list[Value]:
        """The loops of a sweep: scalar ones outside, lanes along ``axis`` inside."""
        bodies = [r.args[0] for r in group] + self._values(stores)
        if outer:
            first, *rest = outer
            inner = scope.inside({})
            scope.hoist(bodies, {*outer, axis}, inner)

            def around(index: Value, carried: list[Value]) -> list[Value]:
                inner.axes[first] = index
                self._sweeps(inner, bodies, {*rest, axis})
                return self._around(inner, rest, axis, group, carried, stores)

            return totals_loop(self.b, scope.watch, first.extent, self.b.size(first.extent), 1,
                               totals, product([a.extent for a in (*rest, axis)]), around)

        def iteration(inner: Scope, carried: list[Value]) -> list[Value]:
            totals = [self._fold(inner, r, c) for r, c in zip(group, carried, strict=True)]
            for s in stores:
                inner.store(s.buffer, s.offset, s.value)
            return totals

        return self._lane_loop(scope, axis, bodies, None, iteration, totals, group)

    def _fold(self, inner: Scope, r: Expr, total: Value) -> Value:
        (body,) = r.args
        if r.param[0] == "add" and body.op in PRODUCTS and r.dtype in ("float32", "float64"):
            # An explicit fma: else its rounding would depend on other users of the product.
            added = self.b.fma(inner.wide(body.args[0]), inner.wide(body.args[-1]), total)
            return added if inner.mask is None else self.b.select(inner.mask, added, total)
        part = inner.wide(body)
        neutral = const(part.type, IDENTITY[r.param[0]](r.dtype))
        if inner.mask is not None:
            part = self.b.select(inner.mask, part, neutral)
        if total == neutral:  # in a single iteration
            return part
        return scalars.emit(self.b, r.param[0], (r.dtype, r.dtype), (total, part))

    # -- stores on the way ------------------------------------------------------------------
    def _early(self, scope: Scope, group: list[Expr], axis: Axis) -> list[Store]:
        """The stores along the lanes that this loop can do, because it has all their operands.

        They share a load with it, and no later computation reads a buffer that they may overwrite
        (one of their size).
        """
        plan = self.plan
        if axis is not plan.along or len(group[0].param[1]) > 1 or plan.ordered or (
            self.share is not None and plan.parallel
        ):
            return []
        loaded = {v for v in walk([r.args[0] for r in group]) if v.op == "load" and axis in v.free}
        found = [i for i, s in enumerate(self.stores) if i not in self.done
                 and self._is_known(scope, s, axis) and not loaded.isdisjoint(walk([s.value]))]
        while True:
            later = [s for i, s in enumerate(self.stores) if i not in self.done and i not in found]
            read = {v.param[0].nbytes for v in _unknown(scope, group, self._values(later))
                    if v.op == "load"}
            safe = [i for i in found if self.stores[i].buffer.nbytes not in read]
            if len(safe) == len(found):
                break
            found = safe
        early = [self.stores[i] for i in found]
        bodies = [r.args[0] for r in group]
        wide = self.mapping.lanes(bodies, axis, carries=True)
        if self.mapping.lanes([*bodies, *self._values(early)], axis, carries=True) != wide:
            return []  # sums are the same whatever is stored beside them
        self.done.update(found)
        return early

    def _is_known(self, scope: Scope, s: Store, axis: Axis) -> bool:
        """Return whether all operands of a store are available in a loop over ``axis``."""
        free = s.offset.free | s.value.free
        return axis in s.offset.free and free <= scope.axes.keys() | {axis} and all(
            scope.has(v) if v.op == "reduce"
            else v.op not in ("floor_divide", "remainder") or axis not in v.free
            for v in walk(self._values([s]))
        )

    # -- rows kept between sweeps -----------------------------------------------------------
    def _rows(self, scope: Scope, group: list[Expr], axis: Axis) -> list[tuple[Expr, Buffer]]:
        """Return costly values of this sweep that a later loop over the same axis needs again, with
        buffers for them.
        """
        known = scope.axes.keys() | {axis}
        mine = [v for v in walk([r.args[0] for r in group]) if axis in v.free and v.free <= known]
        later = _unknown(scope, group, self._values(self._left()))
        rows = []
        for value in mine:
            longest = most(axis.extent)
            if longest is None or longest * ITEM_BYTES[value.dtype] > self.target.costs.row_bytes:
                continue
            if value in later and is_heavy(value.op) and not scope.has(value):
                row = Buffer((axis.extent,), np.dtype(value.dtype), ROW)
                self.keep(row, longest)
                rows.append((value, row))
        return rows

    def keep(self, row: Buffer, length: int) -> None:
        """Allocate a buffer for a row, padded for the lanes of the last iteration."""
        most = length + 8 * self.target.lanes(4)
        self.rows[row] = self.b.alloca(scalars.register(row.dtype.name), most)


def _unknown(scope: Scope, group: list[Expr], values: Iterable[Expr]) -> set[Expr]:
    """Return the subexpressions of values that remain to be computed after a group of reductions.
    """
    done, found = set(group), set()
    stack = list(values)
    while stack:
        value = stack.pop()
        if value not in done and value not in found and not scope.has(value):
            found.add(value)
            stack.extend(value.args)
    return found


def _reductions(scope: Scope, values: Sequence[Expr], inside: set[Axis]) -> list[Expr]:
    """Return the reductions that can be computed now: none contains a pending one."""
    found: dict[Expr, None] = {}
    for value in reductions(values):
        if scope.has(value) or not value.free <= scope.axes.keys():
            continue
        if not (value.free & inside) and not _waits(scope, value):
            found[value] = None
    return list(found)


def _waits(scope: Scope, value: Expr) -> bool:
    """Return whether a reduction contains a pending one that can be computed before it."""
    return any(
        v is not value and not scope.has(v) and v.free <= scope.axes.keys()
        for v in reductions(value.args)
    )
