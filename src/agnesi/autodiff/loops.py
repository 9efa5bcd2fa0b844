"""Derivatives of loops and branches: those of a scan are scans, those of a branch branches.

They are given to the operations here, because taking a graph's derivative needs this room.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agnesi.autodiff.bodies import BodyTrace, body_trace, close, close_all
from agnesi.autodiff.forward import push
from agnesi.autodiff.residuals import saved_values
from agnesi.autodiff.reverse import backprop
from agnesi.core.dispatch import current
from agnesi.core.node import Node, toposort
from agnesi.core.tensor import Tensor
from agnesi.ops.body import Body
from agnesi.ops.branch import Cond
from agnesi.ops.convert import as_tensor
from agnesi.ops.creation import zeros, zeros_like
from agnesi.ops.loop import Scan, While, applied
from agnesi.ops.ranges import arange
from agnesi.ops.reduce import sum as total
from agnesi.ops.select import minimum, where

#: Steps of a while loop whose states are kept at a time by its gradient.
_SEGMENT = 256


# -- what flows where -------------------------------------------------------------------------
def _flowing(body: Body, flags: Sequence[bool]) -> list[bool]:
    """Which outputs depend, in a differentiable way, on the inputs flagged."""
    known = {n: f and n.dtype.kind in "fc" for n, f in zip(body.inputs, flags, strict=True)}
    for node in body.graph.nodes:
        if node not in known:
            op = node.op
            known[node] = (
                op is not None and op.differentiable and any(known[n] for n in node.inputs)
                and (node.dtype.kind in "fc" or node.outputs is not None)
            )
    return [known[n] for n in body.outputs]


def _settled(body: Body, flags: Sequence[bool], first: int, carries: int) -> list[bool]:
    """The flags with those carries added that become dependent in some later step."""
    flags = list(flags)
    while True:
        found = _flowing(body, flags)[:carries]
        places = range(first, first + carries)
        new = [i for i, f in zip(places, found, strict=True) if f and not flags[i]]
        if not new:
            return flags
        for i in new:
            flags[i] = True


def _reached(body: Body, flags: Sequence[bool], op: Scan, gs: Sequence[Any]) -> list[int]:
    """Carries that get a cotangent in some step."""
    first = op.sequences
    active = {i for i in range(op.carries) if gs[i] is not None and flags[first + i]}
    rows = [body.outputs[i] for i in range(op.carries, len(gs)) if gs[i] is not None]
    while True:
        below = set(toposort([*rows, *(body.outputs[i] for i in active)],
                             lambda n: n.op is not None and not n.op.differentiable))
        more = {
            i for i in range(op.carries) if flags[first + i] and body.inputs[first + i] in below
        }
        if more <= active:
            return sorted(active)
        active |= more


def _variables(trace: BodyTrace, body: Body, flags: Sequence[bool]) -> list[Tensor]:
    """Variables for a body's inputs, of which those flagged carry gradient."""
    made = [trace.variable(n) for n in body.inputs]
    for x, flag in zip(made, flags, strict=True):
        node: Any = x.node
        x.requires_grad = node.requires_grad = node.requires_grad and flag
    return made


def _seeds(results: Sequence[Tensor], cotangents: Sequence[Any]) -> dict[Node, Tensor]:
    seeds: dict[Node, Tensor] = {}
    for x, g in zip(results, cotangents, strict=False):
        if g is not None:
            node = current(x)
            seeds[node] = seeds[node] + g if node in seeds else g
    return seeds


def _listed(g: Any, op: Any) -> list[Any]:
    return list(g) if op.outputs > 1 else [g]


# -- scan, reverse ----------------------------------------------------------------------------
def _scan_vjp(op: Scan, g: Any, y: Any, *xs: Tensor) -> tuple[Any, ...]:
    """One scan that keeps what the reverse steps read, and one over these steps."""
    gs = _listed(g, op)[: op.carries + op.stacked]
    count, sequences, carries, constants = op.split(xs)
    flags = [x.requires_grad for x in (*sequences, *carries, *constants)]
    flags = _settled(op.body, flags, op.sequences, op.carries)
    active = _reached(op.body, flags, op, gs)
    if not active and all(v is None for v in gs):
        return (None,) * len(xs)
    with body_trace() as trace:
        step = _ReverseStep(trace, op, flags, active, [v is not None for v in gs])
    history, done = step.forward(xs)
    count = done if done is not None else count
    rows = [v if v is None or not op.until else _on_last(v, count) for v in gs[op.carries:]]
    first = [
        zeros_like(carries[i]) if gs[i] is None else gs[i] for i in active
    ]
    body, captured = step.closed()
    scan = Scan(
        body, op.length, len(step.row_nodes), len(first) + len(step.weights), len(step.inputs),
        reverse=not op.reverse, counted=op.counted or op.until,
    )
    if not scan.outputs:
        return (None,) * len(xs)
    found = applied(
        scan, *([count] if scan.counted else []),
        *(sequences[i] for i in step.read), *history, *(v for v in rows if v is not None),
        *first, *(zeros_like(constants[k]) for k in step.weights), *constants, *captured,
    )
    return step.placed(found, counted=op.counted)


def _on_last(g: Any, count: Tensor) -> Tensor:
    """Cotangents of rows that repeat the last step's, added to that row's."""
    last = count - 1
    number = arange(g.shape[0]).reshape((-1,) + (1,) * (g.ndim - 1))
    rest = total(where(number >= last, g, as_tensor(0, g.dtype)), 0, keepdims=True)
    return where(number == last, rest, g)


class _ReverseStep:
    """The body of a scan's pullback, and the places of what it reads and gives.

    Attributes
    ----------
    read : list of int
        Sequences whose rows the step reads.
    saved : list of Node
        Values of the forward step that it reads.
    inputs, weights : list of int
        Sequences and constants that get a cotangent.
    """

    def __init__(self, trace: BodyTrace, op: Scan, flags: Sequence[bool], active: list[int],
                 given: Sequence[bool]) -> None:
        self.trace, self.op, self.active = trace, op, active
        self.variables = _variables(trace, op.body, flags)
        _, self.rows, self.carries, self.constants = _without_count(op).split(self.variables)
        self.results = op.body(*self.variables)
        self.forward_nodes = [current(y) for y in self.results]
        wanted = [i in active if i < op.carries else given[i] for i in range(len(given))]
        self.cotangents = [
            trace.variable(y) if w else None
            for y, w in zip(self.results, wanted, strict=False)
        ]
        self._pull(flags)

    def _pull(self, flags: Sequence[bool]) -> None:
        _, rows, _, constants = _without_count(self.op).split(flags)
        inputs = [i for i, f in enumerate(rows) if f]
        weights = [i for i, f in enumerate(constants) if f]
        targets = [self.rows[i] for i in inputs], [self.constants[i] for i in weights]
        wrt = [*targets[0], *targets[1], *(self.carries[i] for i in self.active)]
        nodes = [current(x) for x in wrt]
        found = backprop(_seeds(self.results, self.cotangents), nodes)
        self.inputs = [i for i in inputs if current(self.rows[i]) in found]
        self.weights = [i for i in weights if current(self.constants[i]) in found]
        self.sums = [self.trace.variable(self.constants[i]) for i in self.weights]
        new = [found.get(current(self.carries[i])) for i in self.active]
        self.outputs: list[Any] = [
            *(zeros_like(self.carries[i]) if v is None else v
              for i, v in zip(self.active, new, strict=True)),
            *(s + found[current(self.constants[i])]
              for i, s in zip(self.weights, self.sums, strict=True)),
            *(found[current(self.rows[i])] for i in self.inputs),
        ]
        self.nodes = [current(v) for v in self.outputs]
        self.saved, read = saved_values(
            self.forward_nodes, self.nodes,
            [current(x) for x in self.rows], [current(x) for x in self.carries],
        )
        self.read = [i for i, x in enumerate(self.rows) if current(x) in read]

    def forward(self, xs: Sequence[Tensor]) -> tuple[list[Tensor], Tensor | None]:
        """The values that the steps read, and the number of steps done if that is open.

        The scan that keeps them has the operands of the one differentiated, and its results.
        """
        op = self.op
        if not self.saved and not op.until:
            return [], None
        outputs = self.forward_nodes
        last = outputs[op.carries + op.stacked:]
        kept = outputs[op.carries: op.carries + op.stacked]
        new = [n for n in self.saved if n not in kept]
        body, captured = close(
            self.trace, self.variables, [*outputs[: op.carries], *kept, *new, *last]
        )
        scan = Scan(body, op.length, op.sequences, op.carries, op.stacked + len(new), op.reverse,
                    op.until, op.counted)
        found = applied(scan, *xs, *captured)
        stacks = dict(zip([*kept, *new], found[op.carries:], strict=False))
        return [stacks[n] for n in self.saved], found[-1] if op.until else None

    @property
    def row_nodes(self) -> list[Any]:
        """What a reverse step reads of its row: sequences, kept values, cotangents."""
        given = [v for v in self.cotangents[self.op.carries:] if v is not None]
        return [*(self.rows[i] for i in self.read), *self.saved, *given]

    def closed(self) -> tuple[Body, list[Tensor]]:
        """The reverse step's graph."""
        cotangents: list[Any] = [self.cotangents[i] for i in self.active]
        return close(
            self.trace, [*self.row_nodes, *cotangents, *self.sums, *self.constants], self.nodes
        )

    def placed(self, found: Sequence[Tensor], counted: bool) -> tuple[Any, ...]:
        """The pullback's results as cotangents of the scan's operands."""
        op = self.op
        results: list[Any] = [None] * (counted + len(self.variables))
        first = counted + op.sequences
        places = [
            *(first + i for i in self.active),
            *(first + op.carries + i for i in self.weights),
            *(counted + i for i in self.inputs),
        ]
        for place, value in zip(places, found, strict=True):
            results[place] = value
        return tuple(results)


def _without_count(op: Scan) -> Any:
    """Something that splits what belongs to the inputs of the body."""
    return op if not op.counted else Scan(
        op.body, op.length, op.sequences, op.carries, op.stacked, op.reverse, op.until
    )


# -- scan, forward ----------------------------------------------------------------------------
def _scan_jvp(op: Scan, ts: Any, y: Any, *xs: Tensor) -> Any:
    """A scan that carries values and tangents."""
    given = list(ts)[op.counted:]
    operands = xs[op.counted:]
    flags = [t is not None for t in given]
    flags = _settled(op.body, flags, op.sequences, op.carries)
    with body_trace() as trace:
        values = _variables(trace, op.body, flags)
        moves = [trace.variable(v) if f else None for v, f in zip(values, flags, strict=True)]
        results = op.body(*values)
        found = _pushed(results, values, moves)
        first, last = op.sequences, op.sequences + op.carries
        moved = [i for i in range(op.carries) if flags[first + i]]
        rows = [i for i in range(op.carries, op.carries + op.stacked) if found[i] is not None]
        new = [zeros_like(results[i]) if found[i] is None else found[i] for i in moved]
        outputs = [*results[: op.carries], *new, *(found[i] for i in rows),
                   *results[op.carries + op.stacked:]]
        variables = [
            *_both(values[:first], moves[:first]), *_both(values[first:last], moves[first:last]),
            *_both(values[last:], moves[last:]),
        ]
        body, captured = close(trace, variables, [current(v) for v in outputs])
    directions = [
        zeros_like(x) if t is None and f else t
        for x, t, f in zip(operands, given, flags, strict=True)
    ]
    scan = Scan(body, op.length, len(_both(values[:first], moves[:first])),
                op.carries + len(moved), len(rows), op.reverse, op.until, op.counted)
    done = applied(
        scan, *xs[: op.counted],
        *_both(operands[:first], directions[:first]),
        *_both(operands[first:last], directions[first:last]),
        *_both(operands[last:], directions[last:]), *captured,
    )
    tangents: list[Any] = [None] * op.outputs
    for place, t in zip([*moved, *rows], done[op.carries:], strict=False):
        tangents[place] = t
    return tangents if op.outputs > 1 else tangents[0]


def _both(values: Sequence[Any], moves: Sequence[Any]) -> list[Any]:
    return [*values, *(m for m in moves if m is not None)]


def _pushed(results: Sequence[Tensor], values: Sequence[Tensor], moves: Sequence[Any]) -> list[Any]:
    tangents = {current(v): m for v, m in zip(values, moves, strict=True) if m is not None}
    found = push([current(y) for y in results], tangents)
    return [found.get(current(y)) for y in results]


# -- while ------------------------------------------------------------------------------------
def _while_jvp(op: While, ts: Any, y: Any, *xs: Tensor) -> Any:
    """A loop that carries values and tangents."""
    flags = _settled(op.body, [t is not None for t in ts], 0, op.carries)
    n = op.carries
    moved = [i for i in range(n) if flags[i]]
    with body_trace() as trace:
        values = _variables(trace, op.body, flags)
        moves = [trace.variable(v) if f else None for v, f in zip(values, flags, strict=True)]
        results = op.body(*values)
        found = _pushed(results, values, moves)
        new = [zeros_like(results[i]) if found[i] is None else found[i] for i in moved]
        variables = [*_both(values[:n], moves[:n]), *_both(values[n:], moves[n:])]
        (test, body), captured = close_all([
            (trace, variables, [current(v) for v in op.test(*values)]),
            (trace, variables, [current(v) for v in (*results, *new)]),
        ])
    directions = [
        zeros_like(x) if t is None and f else t for x, t, f in zip(xs, ts, flags, strict=True)
    ]
    done = applied(
        While(test, body, n + len(moved)),
        *_both(xs[:n], directions[:n]), *_both(xs[n:], directions[n:]), *captured,
    )
    tangents: list[Any] = [None] * n
    for i, t in zip(moved, done[n:], strict=True):
        tangents[i] = t
    return tangents if n > 1 else tangents[0]


def _while_vjp(op: While, g: Any, y: Any, *xs: Tensor) -> tuple[Any, ...]:
    """Segments from the last to the first, each run again as a scan and pulled back through.

    However long the loop, the states of one segment are kept at a time.
    """
    gs = _listed(g, op)
    n = op.carries
    flags = _settled(op.body, [x.requires_grad for x in xs], 0, n)
    segment = Scan(op.body, _SEGMENT, 0, n, 0, counted=True)
    active = _reached(op.body, flags, segment, gs)
    if not active:
        return (None,) * len(xs)
    weights = [i for i in range(n, len(xs)) if flags[i]]
    trips = _trips(op, xs)
    with body_trace() as trace:
        part = trace.variable(trips)
        cotangents = [trace.variable(xs[i]) for i in active]
        sums = [trace.variable(xs[i]) for i in weights]
        values = _variables(trace, op.body, flags)
        bound = trace.variable(trips)
        start = part * _SEGMENT
        here = _after(op, start, values)
        count = minimum(bound - start, _SEGMENT)
        for x, flag in zip(here, flags, strict=False):
            x.requires_grad = flag
        pulled: list[Any] = [None] * n
        for i, c in zip(active, cotangents, strict=True):
            pulled[i] = c
        found = _scan_vjp(
            segment, pulled if n > 1 else pulled[0], None, count, *here, *values[n:]
        )[1:]
        new = [zeros_like(c) if found[i] is None else found[i]
               for i, c in zip(active, cotangents, strict=True)]
        more = [s if found[i] is None else s + found[i]
                for i, s in zip(weights, sums, strict=True)]
        variables = [part, *cotangents, *sums, *values, bound]
        (test, body), captured = close_all([
            (trace, variables, [current(part >= 0)]),
            (trace, variables, [current(v) for v in (part - 1, *new, *more)]),
        ])
    last = (trips + (_SEGMENT - 1)) // _SEGMENT - 1
    done = applied(
        While(test, body, 1 + len(active) + len(weights)), last,
        *(zeros_like(xs[i]) if gs[i] is None else gs[i] for i in active),
        *(zeros_like(xs[i]) for i in weights), *xs, trips, *captured,
    )
    results: list[Any] = [None] * len(xs)
    for i, v in zip([*active, *weights], done[1:], strict=True):
        results[i] = v
    return tuple(results)


def _trips(op: While, xs: Sequence[Tensor]) -> Tensor:
    """How many steps the loop does."""
    n = op.carries
    with body_trace() as trace:
        values = _variables(trace, op.body, [False] * len(xs))
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
    """The carries behind so many steps."""
    n = op.carries
    with body_trace() as trace:
        inner = _variables(trace, op.body, [False] * len(values))
        number = trace.variable(steps)
        variables = [*inner[:n], number, *inner[n:]]
        (test, body), captured = close_all([
            (trace, variables, [current(number > 0)]),
            (trace, variables,
             [current(v) for v in (*op.body(*inner), number - 1)]),
        ])
    found = applied(While(test, body, n + 1), *values[:n], steps, *values[n:], *captured)
    return list(found[:n])


# -- branches ---------------------------------------------------------------------------------
def _cond_vjp(op: Cond, g: Any, y: Any, decision: Tensor, *xs: Tensor) -> tuple[Any, ...]:
    """The pullback of the branch that ran."""
    gs = _listed(g, op)
    flags = [x.requires_grad for x in xs]
    parts = [_branch_pullback(b, flags, gs) for b in (op.then, op.otherwise)]
    found = _either(parts, decision, [*xs, *(v for v in gs if v is not None)])
    return (None, *found)


def _branch_pullback(body: Body, flags: Sequence[bool], gs: Sequence[Any]) -> Any:
    with body_trace() as trace:
        values = _variables(trace, body, flags)
        results = body(*values)
        cotangents = [
            None if v is None else trace.variable(x) for x, v in zip(results, gs, strict=True)
        ]
        nodes = [current(x) for x in values]
        found = backprop(_seeds(results, cotangents), [n for n in nodes if n.requires_grad])
        ends = _ends([found.get(n) for n in nodes], values)
    return trace, [*values, *(c for c in cotangents if c is not None)], ends


def _cond_jvp(op: Cond, ts: Any, y: Any, decision: Tensor, *xs: Tensor) -> Any:
    """The tangent of the branch that ran."""
    given = list(ts)[1:]
    flags = [t is not None for t in given]
    parts = []
    for body in (op.then, op.otherwise):
        with body_trace() as trace:
            values = _variables(trace, body, flags)
            moves = [trace.variable(v) if f else None for v, f in zip(values, flags, strict=True)]
            results = body(*values)
            ends = _ends(_pushed(results, values, moves), results)
        parts.append((trace, _both(values, moves), ends))
    found = _either(parts, decision, _both(xs, given))
    return found if op.outputs > 1 else found[0]


def _ends(found: Sequence[Any], like: Sequence[Tensor]) -> list[tuple[bool, Node]]:
    """For each of some results, whether there is one, and its node: zeros if not."""
    return [
        (v is not None, current(zeros_like(x) if v is None else v))
        for v, x in zip(found, like, strict=True)
    ]


def _either(parts: Sequence[Any], decision: Tensor, operands: Sequence[Tensor]) -> list[Any]:
    """Results of one of two branches; None where neither has any."""
    wanted = [i for i, ends in enumerate(zip(*(p[2] for p in parts), strict=True))
              if any(there for there, _ in ends)]
    results: list[Any] = [None] * len(parts[0][2])
    if wanted:
        (then, otherwise), captured = close_all([
            (trace, variables, [ends[i][1] for i in wanted]) for trace, variables, ends in parts
        ])
        done = applied(Cond(then, otherwise), decision, *operands, *captured)
        for i, v in zip(wanted, done, strict=True):
            results[i] = v
    return results


Scan.vjp, Scan.jvp = _scan_vjp, _scan_jvp
While.vjp, While.jvp = _while_vjp, _while_jvp
Cond.vjp, Cond.jvp = _cond_vjp, _cond_jvp
