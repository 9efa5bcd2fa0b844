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
from agnesi.core.dispatch import current
from agnesi.core.ir.dims import is_static, product
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.creation import zeros, zeros_like
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
    """A loop that carries values and tangents."""
    n = op.carries
    begun = Beginning(op.body, [t is not None for t in ts], 0, n)
    moved = [i for i in range(n) if begun.flags[i]]
    with body_trace() as trace:
        values = variables_of(trace, op.body, begun.flags)
        moves = [trace.variable(v) if f else None
                 for v, f in zip(values, begun.flags, strict=True)]
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
    done = applied(
        While(test, body, n + len(moved) + len(valid)),
        *both(xs[:n], directions[:n]), *(as_tensor(ts[i] is not None) for i in valid),
        *both(xs[n:], directions[n:]), *captured,
    )
    tangents: list[Any] = [None] * n
    for i, t in zip(moved, done[n:], strict=False):
        tangents[i] = t
    return tangents if n > 1 else tangents[0]


def _segment_steps(body: Body, carries: Sequence[Tensor]) -> int:
    """How many steps a segment has, and how many segments' first states are kept."""
    sizes = [product(x.shape) * x.dtype.itemsize for x in carries if is_static(x.shape)]
    return max(_MIN_SEGMENT_STEPS, min(_MAX_SEGMENT_STEPS, _SEGMENT_BYTES // max(sum(sizes), 1),
                                       _NESTED_STEPS // _steps_inside(body)))


def _steps_inside(body: Body) -> int:
    """The steps of segments in a body, times those of segments in these."""
    most = 1
    for node in body.graph.nodes:
        op = node.op
        if op is not None and op.bodies:
            steps = op.length if isinstance(op, Scan) and op.counted and isinstance(
                op.length, int) else 1
            most = max(most, *(steps * _steps_inside(getattr(op, name)) for name in op.bodies))
    return most


def _while_vjp(op: While, g: Any, y: Any, *xs: Tensor) -> tuple[Any, ...]:
    """Segments from the last to the first, each run again as a scan and pulled back through."""
    gs, n = listed(g, op), op.carries
    flags = settled(op.body, [x._requires_grad for x in xs], 0, n)
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
        found, ends = pulled_through(
            segment, pulled, [count, *here, *constants], present, valid)
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
    """The carries at the beginning of each of the first so many segments, in rows."""
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
    """How many steps the loop does."""
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
    """The carries after a number of steps."""
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
