"""Tail masking: vectors along an axis whose length is a run-time value.

Full iterations come first, then one with a mask for the rest.  The masks are the same for all rows
and are computed once.  Rows of one register, which are common, take one iteration of that width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agnesi.codegen.arithmetic import scalars
from agnesi.codegen.llvm.builder import Builder, Value, const, i64, lanes, vector, width
from agnesi.codegen.loops.evaluate import IDENTITY, Scope
from agnesi.codegen.loops.horizontal_reduction import low
from agnesi.core.ir.extents import Extent, guess, least
from agnesi.core.ir.kernels import walk
from agnesi.core.ir.loops import Affine, Axis, Expr, divides

Body = Callable[[Scope, list[Value]], list[Value]]


def open_iterations(nest: Any, scope: Scope, axis: Axis, values: Sequence[Expr],
               span: tuple[Value, Value] | None, wide: int, body: Body,
               carried: list[Value], group: Sequence[Expr] = ()) -> list[Value]:
    """Run ``body`` over an axis; carried totals of a group of reductions fill one register.

    With ``span`` only blocks [begin, end) are run.
    """
    narrow = width(carried[0].type) if carried else one_register(nest, values, wide)
    _settle(nest, scope, values, axis)
    iterations = _Iterations(nest, scope, axis, narrow, span, body)
    for count in dict.fromkeys((wide, narrow)):
        iterations.prepare(count, values)
    if wide == narrow:
        return iterations.run(narrow, carried)
    if iterations.whole:
        carried = iterations.joined(group, wide, carried)
        return iterations.full(iterations.stop(wide), iterations.stop(narrow), narrow, carried)
    short = nest.b.icmp("sle", nest.b.size(axis.extent), i64(narrow))
    return nest.b.either(short, lambda: iterations.masked(narrow, carried),
                         lambda: iterations.joined(group, wide, carried))


def one_register(nest: Any, values: Sequence[Expr], wide: int) -> int:
    """Lanes of the narrow iterations of a loop whose widest have so many."""
    return max(2, min(wide, nest.mapping.native_lanes(values))) if wide > 1 else 1


class _Iterations:
    """The iterations of one loop, of any width."""

    def __init__(self, nest: Any, scope: Scope, axis: Axis, narrow: int,
                 span: tuple[Value, Value] | None, body: Body) -> None:
        self.b: Builder = nest.b
        self.scope = scope
        self.axis = axis
        #: For each width, what does not change from iteration to iteration.
        self.around: dict[int, Scope] = {}
        self.body = body
        self.size = self.b.size(axis.extent)
        self.start, self.beyond = i64(0), self.size
        if span is not None:
            self.start, self.beyond = (
                self.b.op("mul", edge, i64(nest.plan.block)) for edge in span)
        self.last = self.b.icmp("sge", self.beyond, self.size)
        #: How to look for signals in a long loop that is all of a kernel.
        self.look, self.points = None, nest.points
        if span is None and not nest.plan.outer and guess(axis.extent) >= self.points:
            self.look = nest.look
            nest.looks = nest.look is not None
        #: Whether the axis is a whole number of registers for every length it may have.
        self.whole = divides(narrow, axis.extent)

    def prepare(self, count: int, values: Sequence[Expr]) -> None:
        """Evaluate loop invariants before the iterations with ``count`` lanes."""
        around = self.scope.inside({}, along=self.axis, lanes=count, mask=None, active=None, unit=1)
        self.scope.hoist(values, {self.axis}, around)
        self.around[count] = around

    def run(self, count: int, totals: list[Value]) -> list[Value]:
        """Emit all iterations with ``count`` lanes, the masked one too unless ``whole``."""
        totals = self.full(self.start, self.stop(count), count, totals)
        return totals if self.whole else self.masked(count, totals)

    def joined(self, group: Sequence[Expr], wide: int, carried: list[Value]) -> list[Value]:
        """Emit all iterations with ``wide`` lanes; combine the totals with ``carried``."""
        totals = self.run(wide, [_neutral(r, wide) for r in group])
        return [_joined(self.b, r, total, one) for r, total, one
                in zip(group, totals, carried, strict=True)]

    def stop(self, count: int) -> Value:
        """The end of the full iterations with ``count`` lanes."""
        end = self._end(count)
        return end if self.beyond is self.size else self.b.intrinsic("smin", self.beyond, end)

    def full(self, start: Value, stop: Value, count: int, totals: list[Value]) -> list[Value]:
        b, inner = self.b, self._inside(start, count)

        def iterations(start: Value, stop: Value, totals: list[Value]) -> list[Value]:
            with b.loop(start, stop, count, totals) as loop:
                inner.axes[self.axis] = loop.index
                loop.carry(*self.body(inner, loop.carried))
            return loop.results

        if self.look is None:
            return iterations(start, stop, totals)
        with b.loop(start, stop, self.points, totals) as part:
            end = b.intrinsic("smin", b.add(part.index, i64(self.points)), stop)
            part.carry(*iterations(part.index, end, part.carried))
            part.until = self.look()
        return part.results

    def masked(self, count: int, totals: list[Value]) -> list[Value]:
        """Emit the masked iteration over the remainder."""
        b, end = self.b, self._end(count)
        with b.beginning():
            remaining = b.sub(self.size, end)
            counts = b.splat(b.cast("trunc", remaining, "i32"), count)
            mask = b.icmp("ult", lanes(vector("i32", count), range(count)), counts)
        inner = self._inside(end, count, mask)
        inner.remaining = remaining
        if self.beyond is self.size:
            return self.body(inner, totals)
        with b.when(self.last):
            self.body(inner, totals)
        return totals

    def _end(self, count: int) -> Value:
        """Return the index at which full iterations end; with a masked remainder, that is not
        empty.
        """
        b, n = self.b, self.size
        if divides(count, self.axis.extent):
            return n
        with b.beginning():
            if self.whole:
                return b.op("and", n, i64(-count))
            before = b.sub(n, i64(1))
            if not (least(self.axis.extent) or 0):
                before = b.intrinsic("smax", before, i64(0))
            return b.op("and", before, i64(-count))

    def _inside(self, start: Value, count: int, mask: Value | None = None) -> Scope:
        return self.around[count].inside({self.axis: start}, mask=mask)


def _settle(nest: Any, scope: Scope, values: Sequence[Expr], axis: Axis) -> None:
    """Compute the addresses of rows before the loops along them."""
    offsets = [s.offset for s in nest.stores]
    offsets += [v.param[1] for v in walk(list(values)) if v.op == "load"]
    for at in offsets:
        outside = {a: c for a, c in at.terms.items() if isinstance(a, Axis) and a in scope.axes}
        if axis in at.terms and any(isinstance(c, Extent) for c in outside.values()):
            scope.scalar_index(Affine(0, outside))


def _neutral(reduction: Expr, count: int) -> Value:
    type_ = scalars.register(reduction.dtype, count)
    return const(type_, IDENTITY[reduction.param[0]](reduction.dtype))


def _joined(b: Builder, reduction: Expr, total: Value, one: Value) -> Value:
    """Combine a total of several registers with one of a single register."""
    count, dtypes = width(one.type), (reduction.dtype, reduction.dtype)
    while (half := width(total.type) // 2) >= count:
        high = b.shuffle(total, None, range(half, 2 * half))
        total = scalars.emit(b, reduction.param[0], dtypes, (low(b, total, half), high))
    return scalars.emit(b, reduction.param[0], dtypes, (one, total))
