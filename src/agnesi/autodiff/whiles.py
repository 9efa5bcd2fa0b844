"""Derivatives of while loops, which are while loops.

The reverse runs over segments of the loop, from the last to the first: the states at the beginning
of segments are kept, a segment runs again as a scan and is pulled back through.  So the memory is
bounded however long the loop is, and the time grows with its length up to the square of a segment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agnesi.autodiff.bodies import body_trace, close, close_all
from agnesi.autodiff.flows import (
    Beginning,
    Flags,
    Presence,
    both,
    gated,
    listed,
    pushed,
    reached,
    settled,
    variables_of,
)
from agnesi.autodiff.loops import pulled_through
from agnesi.autodiff.reached import steps_reach
from agnesi.core.dispatch import current
from agnesi.core.ir.dims import is_static, product
from agnesi.core.op import Op
from agnesi.core.support.record import record
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.creation import zeros, zeros_like
from agnesi.ops.base.expand import broadcast_to
from agnesi.ops.base.select import maximum, minimum
from agnesi.ops.control.body import Body
from agnesi.ops.control.loop import Scan, While, applied
from agnesi.ops.indexing.index import take
from agnesi.ops.indexing.ranges import arange

#: Bytes for the states of one segment, and how many steps it has at least and at most.
_SEGMENT_BYTES = 1 << 24
#: Steps of a segment, at least.
_MIN_SEGMENT_STEPS = 8
#: Steps of a segment, at most.
_MAX_SEGMENT_STEPS = 256
#: Steps of a segment times those of segments inside, which derivatives of derivatives have: rows
#: may be kept for all of them.
_NESTED_STEPS = 1 << 12


def _while_jvp(op: While, ts: Any, y: Any, *xs: Tensor) -> Any:
    """Return the tangents of a loop's results, by a loop that carries values and tangents."""
    n = op.carries
    loop, operands, moved, _ = _pushed(op, ts, xs)
    tangents = _tangents(n, loop, operands, moved)
    return tangents if n > 1 else tangents[0]


def _tangents(n: int, loop: While, operands: Sequence[Tensor], moved: Sequence[int]) -> list[Any]:
    """Return the tangent of each of the loop's results, taken from the results of the loop with
    tangents.
    """
    done = applied(loop, *operands)
    tangents: list[Any] = [None] * n
    for i, t in zip(moved, done[n:], strict=False):
        tangents[i] = t
    return tangents


def _pushed(op: While, ts: Any, xs: Sequence[Tensor]
            ) -> tuple[While, list[Tensor], list[int], list[int]]:
    """Return a loop that carries values and tangents, its operands, which carries have tangents,
    and the positions of the first loop's operands among its own.
    """
    n = op.carries
    begun = Beginning(op.body, [t is not None for t in ts], 0, n)
    moved = [i for i in range(n) if begun.flags[i]]
    with body_trace() as trace:
        values = variables_of(trace, op.body, begun.flags)
        moves = [trace.variable(v) if f else None for v, f in zip(values, begun.flags, strict=True)]
        valid = {i: trace.variable(as_tensor(False)) for i in begun.valid}
        flags = Flags()
        flags.of |= {current(values[i]): v for i, v in valid.items()}
        results = op.body(*values)
        found = pushed(results, values, moves, flags)
        of = [flags.of.get(current(y)) for y in results]
        new = [zeros_like(results[i]) if found[i] is None else gated(of[i], found[i])
               for i in moved]
        ends: list[Any] = [as_tensor(found[i] is not None) if of[i] is None else of[i]
                           for i in valid]
        variables = [*both(values[:n], moves[:n]), *valid.values(), *both(values[n:], moves[n:])]
        (test, body), captured = close_all([
            (trace, variables, [current(v) for v in op.test(*values)]),
            (trace, variables, [current(v) for v in (*results, *new, *ends)]),
        ])
    directions = [
        zeros_like(x) if t is None and f else t
        for x, t, f in zip(xs, ts, begun.flags, strict=True)
    ]
    operands = [
        *both(xs[:n], directions[:n]), *(as_tensor(ts[i] is not None) for i in valid),
        *both(xs[n:], directions[n:]), *captured,
    ]
    carries = n + len(moved) + len(valid)
    places = [i if i < n else carries + i - n for i in range(len(xs))]
    return While(test, body, carries), operands, moved, places


def _segment_steps(body: Body, carries: Sequence[Tensor]) -> int:
    """Return the steps of a segment, and the number of segments whose initial states are kept."""
    sizes = [product(x.shape) * x.dtype.itemsize for x in carries if is_static(x.shape)]
    return max(_MIN_SEGMENT_STEPS, min(_MAX_SEGMENT_STEPS, _SEGMENT_BYTES // max(sum(sizes), 1),
                                       _NESTED_STEPS // _steps_inside(body)))


def _steps_inside(body: Body) -> int:
    """Return the largest product of lengths of nested loops in a body; 1 if no length is known."""
    most = 1
    for node in body.graph.nodes:
        op = node.op
        if op is not None and op.bodies:
            steps = op.length if isinstance(op, Scan) and op.counted and isinstance(
                op.length, int) else 1
            most = max(most, *(steps * _steps_inside(getattr(op, name)) for name in op.bodies))
    return most


def _while_vjp(op: While, g: Any, y: Any, *xs: Tensor) -> tuple[Any, ...]:
    gs = listed(g, op)
    found = _pullback(op, gs, xs, [x._requires_grad for x in xs])
    steps_reach(found, gs, 0, lambda: op.test(*xs)[0])
    return found


def _pullback(op: While, gs: Sequence[Any], xs: Sequence[Tensor],
              needed: Sequence[bool]) -> tuple[Any, ...]:
    """Return the cotangents of operands, by an operation whose derivatives are those of the loop
    with tangents.
    """
    found = _pulled(op, gs, xs, needed)
    indices = [i for i, x in enumerate(found) if x is not None]
    given = [x for x in (*gs, *xs) if x is not None]
    if not indices or any(x.dtype.kind == "c" for x in given):
        return found
    rule = WhilePullback(op.test, op.body, op.carries, tuple(g is not None for g in gs),
                         tuple(indices))
    results = list(found)
    for i, x in zip(indices, applied(rule, *given, *(found[i] for i in indices)), strict=True):
        results[i] = x
    return tuple(results)


@record
class WhilePullback(Op):
    """Cotangents of a loop's operands, with a derivative that is written with tangents.

    Operands: cotangents of the results that have one, the loop's operands, the results ``indices``
    as they were computed.  Pulling back through that computation would make several loops of each.
    But the product of a direction and what a pullback gives is that of the tangent and what it was
    given, which is one loop, so its pullback is that of the pullback.
    """

    test: Body
    body: Body
    carries: int
    given: tuple[bool, ...]
    indices: tuple[int, ...]
    name = "while_pullback"

    def __post_init__(self) -> None:
        self.__dict__["outputs"] = len(self.indices)

    def infer(self, *xs: Any) -> Any:
        types = tuple((x.shape, x.dtype) for x in self._computed(xs))
        return types if self.outputs > 1 else types[0]

    def _computed(self, xs: Sequence[Any]) -> Sequence[Any]:
        return xs[-len(self.indices):]

    def perform(self, *xs: Any) -> Any:
        found = self._computed(xs)
        return tuple(found) if self.outputs > 1 else found[0]

    decompose = perform

    def jvp(self, ts: Any, y: Any, *xs: Tensor) -> Any:
        return self.perform(*ts)

    def batch(self, node: Any, xs: Sequence[Tensor], rows: Sequence[bool], length: Any) -> Any:
        found = [x if r else broadcast_to(x, (length, *x.shape)) for x, r in zip(
            self._computed(xs), self._computed(rows), strict=True)]
        return found if self.outputs > 1 else found[0]

    def vjp(self, g: Any, y: Any, *xs: Tensor) -> tuple[Any, ...]:
        n, count = self.carries, sum(self.given)
        each = iter(xs[:count])
        gs = [next(each) if there else None for there in self.given]
        operands = xs[count: len(xs) - len(self.indices)]
        ts: list[Any] = [None] * len(operands)
        for i, u in zip(self.indices, listed(g, self), strict=True):
            ts[i] = u
        loop, inner, moved, places = _pushed(While(self.test, self.body, n), ts, operands)
        tangents = _tangents(n, loop, inner, moved)
        back: list[Any] = [None] * loop.carries
        for k, i in enumerate(moved):
            back[n + k] = gs[i]
        found: list[Any] = [None] * len(operands)
        if any(b is not None for b in back):
            needed = [False] * len(inner)
            for i, x in enumerate(operands):
                needed[places[i]] = x._requires_grad
            pulled = _pullback(loop, back, inner, needed)
            found = [pulled[k] for k in places]
        return (*(t for t, there in zip(tangents, self.given, strict=True) if there), *found,
                *[None] * len(self.indices))


def _pulled(op: While, gs: Sequence[Any], xs: Sequence[Tensor],
            needed: Sequence[bool]) -> tuple[Any, ...]:
    """Pull cotangents back through the segments, last first; each is run again as a scan."""
    n = op.carries
    flags = settled(op.body, needed, 0, n)
    steps = _segment_steps(op.body, xs[:n])
    segment = Scan(op.body, steps, 0, n, 0, counted=True)
    active = reached(op.body, flags, segment, gs)
    if not active:
        return (None,) * len(xs)
    present = Presence(op.body, segment, gs, active)
    weights = [i for i in range(n, len(xs)) if flags[i]]
    trips = _trips(op, xs)
    parts = (trips + (steps - 1)) // steps
    first = _first_states(op, xs, trips, parts, steps)
    with body_trace() as trace:
        part, bound = trace.variable(trips), trace.variable(trips)
        cotangents = [trace.variable(xs[i]) for i in active]
        sums = [trace.variable(xs[i]) for i in weights]
        rows = [trace.variable(x) for x in first]
        valid = {i: trace.variable(as_tensor(False)) for i in present.valid}
        constants = variables_of(trace, op.body, flags)[n:]
        kept = minimum(part, steps - 1)
        here = [take(x, kept, 0) for x in rows]
        here = _after(op, (part - kept) * steps, [*here, *constants])
        count = minimum(bound - part * steps, steps)
        for x, flag in zip(here, flags, strict=False):
            x._requires_grad = flag
        pulled: list[Any] = [None] * n
        for i, c in zip(active, cotangents, strict=True):
            pulled[i] = c
        found, ends = pulled_through(segment, pulled, [count, *here, *constants], present, valid)
        new = [zeros_like(c) if found[1 + i] is None else found[1 + i]
               for i, c in zip(active, cotangents, strict=True)]
        more = [s if found[1 + i] is None else s + found[1 + i]
                for i, s in zip(weights, sums, strict=True)]
        variables = [part, *cotangents, *sums, *valid.values(), *rows, *constants, bound]
        (test, body), captured = close_all([
            (trace, variables, [current(part >= 0)]),
            (trace, variables, [current(v) for v in (part - 1, *new, *more, *ends)]),
        ])
    done = applied(
        While(test, body, 1 + len(active) + len(weights) + len(valid)), parts - 1,
        *(zeros_like(xs[i]) if gs[i] is None else gs[i] for i in active),
        *(zeros_like(xs[i]) for i in weights), *(as_tensor(gs[i] is not None) for i in valid),
        *first, *xs[n:], trips, *captured,
    )
    results: list[Any] = [None] * len(xs)
    for i, v in zip([*active, *weights], done[1:], strict=False):
        results[i] = v
    return tuple(results)


def _first_states(op: While, xs: Sequence[Tensor], trips: Tensor, parts: Tensor,
                  steps: int) -> list[Tensor]:
    """Return the carries at the beginning of each of the first segments, stacked in rows."""
    n = op.carries
    numbers = arange(steps)
    with body_trace() as trace:
        number = trace.variable(trips)
        values = variables_of(trace, op.body, [False] * len(xs))
        bound = trace.variable(trips)
        after = _after(op, maximum(minimum(bound - number * steps, steps), 0), values)
        body, captured = close(
            trace, [number, *values, bound], [current(v) for v in (*after, *values[:n])]
        )
    scan = Scan(body, steps, 1, n, n, counted=True)
    count = minimum(parts, steps)
    return list(applied(scan, count, numbers, *xs, trips, *captured)[n:])


def _trips(op: While, xs: Sequence[Tensor]) -> Tensor:
    """Return the number of steps of the loop."""
    n = op.carries
    with body_trace() as trace:
        values = variables_of(trace, op.body, [False] * len(xs))
        number = trace.variable(zeros((), dtype="int64"))
        variables = [*values[:n], number, *values[n:]]
        (test, body), captured = close_all([
            (trace, variables, [current(v) for v in op.test(*values)]),
            (trace, variables,
             [current(v) for v in (*op.body(*values), number + 1)]),
        ])
    start = zeros((), dtype="int64")
    return applied(While(test, body, n + 1), *xs[:n], start, *xs[n:], *captured)[n]


def _after(op: While, steps: Tensor, values: Sequence[Tensor]) -> list[Tensor]:
    """Return the carries after a number of steps."""
    n = op.carries
    with body_trace() as trace:
        inner = variables_of(trace, op.body, [False] * len(values))
        number = trace.variable(steps)
        variables = [*inner[:n], number, *inner[n:]]
        (test, body), captured = close_all([
            (trace, variables, [current(number > 0)]),
            (trace, variables,
             [current(v) for v in (*op.body(*inner), number - 1)]),
        ])
    found = applied(While(test, body, n + 1), *values[:n], steps, *values[n:], *captured)
    return list(found[:n])


While.vjp, While.jvp = _while_vjp, _while_jvp
