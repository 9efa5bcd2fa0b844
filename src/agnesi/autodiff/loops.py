"""Derivatives of scans, which are scans.

They are given to the operation here, because taking a graph's derivative needs this package.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agnesi.autodiff.bodies import BodyTrace, body_trace, close
from agnesi.autodiff.flows import (
    Beginning,
    Flags,
    Presence,
    both,
    gated,
    listed,
    pushed,
    reached,
    row_flags,
    set_row_flags,
    settled,
    variables_of,
)
from agnesi.autodiff.reached import steps_reach
from agnesi.autodiff.recompute import saved_values
from agnesi.autodiff.reverse import backprop
from agnesi.core.dispatch import current
from agnesi.core.ir.node import Node
from agnesi.core.support import dtypes
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.creation import zeros_like
from agnesi.ops.base.reduce import sum as total
from agnesi.ops.base.select import where
from agnesi.ops.control.body import Body
from agnesi.ops.control.loop import Scan, applied
from agnesi.ops.indexing.ranges import arange


# -- reverse ----------------------------------------------------------------------------
def scan_vjp(op: Scan, g: Any, y: Any, *xs: Tensor) -> tuple[Any, ...]:
    """Return the cotangents of a scan's operands: a scan keeps what the reverse steps read, another
    one runs them.
    """
    gs = listed(g, op)[: op.carries + op.stacked]
    found = pulled_through(op, gs, xs)[0]
    first = op.counted + op.sequences
    if op.counted:
        steps_reach(found, gs[: op.carries], first, lambda: xs[0] > 0)
    elif op.length == 0:
        links = {i for result, v in enumerate(gs) if v is not None for i in op.linked(result)}
        found = tuple(v if i in links else None for i, v in enumerate(found))
    return found


def pulled_through(
    op: Scan, gs: Sequence[Any], xs: Sequence[Tensor], present: Presence | None = None,
    ends: Mapping[int, Tensor] | None = None,
) -> tuple[tuple[Any, ...], list[Tensor]]:
    """Return the cotangents of a scan's operands, and flags of those that exist at the first step.

    ``ends`` has the flags of the cotangents of final carries; without it, those exist that are
    given.
    """
    count, sequences, carries, constants = op.split(xs)
    flags = [x.requires_grad for x in (*sequences, *carries, *constants)]
    flags = settled(op.body, flags, op.sequences, op.carries)
    active = reached(op.body, flags, op, gs)
    if not active and all(v is None for v in gs):
        return (None,) * len(xs), []
    row_valid = row_flags(gs)
    present = present or Presence(op.body, op, gs, active, row_valid)
    with body_trace() as trace:
        step = _ReverseStep(trace, op, flags, active, gs, present, row_valid)
    history, done = step.forward(xs)
    count = done if done is not None else count
    rows = [v if v is None or not op.until else _on_last(v, count) for v in gs[op.carries:]]
    first = [zeros_like(carries[i]) if gs[i] is None else gs[i] for i in active]
    body, captured = step.closed()
    scan = Scan(
        body, op.length, len(step.row_nodes), len(first) + len(step.weights) + len(step.valid),
        len(step.inputs) + len(step.shown),
        reverse=not op.reverse, counted=op.counted or op.until, kept=len(history),
    )
    if not scan.outputs:
        return (None,) * len(xs), []
    found = applied(
        scan, *([count] if scan.counted else []),
        *(sequences[i] for i in step.read), *(v for v in rows if v is not None), *step.there,
        *history,
        *first, *(zeros_like(summed(constants[k])) for k in step.weights),
        *(as_tensor(gs[i] is not None) if ends is None else ends[i] for i in step.valid),
        *constants, *captured,
    )
    carried = len(first) + len(step.weights)
    return step.by_carry(found, carried), list(found[carried: carried + len(step.valid)])


def summed(x: Tensor) -> Tensor:
    """A tensor like that in which cotangents of ``x`` add up: float32 for 16-bit floats."""
    return cast(x, dtypes.computed(x.dtype))


def _on_last(g: Any, count: Tensor) -> Tensor:
    """Add cotangents of rows that repeat the last step's row to that row's cotangent."""
    last = count - 1
    number = arange(g.shape[0]).reshape((-1,) + (1,) * (g.ndim - 1))
    rest = total(where(number >= last, g, as_tensor(0, g.dtype)), 0, keepdims=True)
    return where(number == last, rest, g)


class _ReverseStep:
    """The body of a scan's pullback, and the positions of its inputs and outputs.

    :ivar read: (list of int) Sequences whose rows the step reads.
    :ivar saved: (list of Node) Values of the forward step that it reads.
    :ivar inputs, weights: (list of int) Sequences and constants that get a cotangent.
    :ivar valid: (dict) Whether carries that have no cotangent in some steps have one in this:
        zeros that stand for none must not be multiplied by infinity.
    :ivar follows: (dict) Whether these have one in the step before.
    :ivar there: (list of Tensor) In which rows some stacked results have a cotangent.
    :ivar row_valid: (list of Tensor) Whether they have one in this step.
    :ivar shown: (dict) Whether kept rows that have no cotangent in some steps have one in this.
    """

    def __init__(self, trace: BodyTrace, op: Scan, flags: Sequence[bool], active: list[int],
                 gs: Sequence[Any], present: Presence, row_valid: Mapping[int, Tensor]) -> None:
        self.trace, self.op, self.active, self.present = trace, op, active, present
        self.variables = variables_of(trace, op.body, flags)
        _, self.rows, self.carries, self.constants = _without_count(op).split(self.variables)
        self.results = op.body(*self.variables)
        self.forward_nodes = [current(y) for y in self.results]
        wanted = [i in active if i < op.carries else g is not None for i, g in enumerate(gs)]
        self.cotangents = [
            trace.variable(y) if w else None
            for y, w in zip(self.results, wanted, strict=False)
        ]
        self.valid = {i: trace.variable(as_tensor(False)) for i in present.valid}
        self.there = list({id(v): v for v in row_valid.values()}.values())
        self.row_valid = [trace.variable(as_tensor(False)) for _ in self.there]
        rows = {id(v): valid for v, valid in zip(self.there, self.row_valid, strict=True)}
        self.partial = self.valid | {i: rows[id(v)] for i, v in row_valid.items()}
        self._pull(flags)

    def _pull(self, flags: Sequence[bool]) -> None:
        _, rows, _, constants = _without_count(self.op).split(flags)
        inputs = [i for i, f in enumerate(rows) if f]
        weights = [i for i, f in enumerate(constants) if f]
        targets = [self.rows[i] for i in inputs], [self.constants[i] for i in weights]
        wrt = [*targets[0], *targets[1], *(self.carries[i] for i in self.active)]
        found, somewhere = self._found(wrt)
        self.inputs = [i for i in inputs if current(self.rows[i]) in found]
        self.weights = [i for i in weights if current(self.constants[i]) in found]
        self.sums = [self.trace.variable(summed(self.constants[i])) for i in self.weights]
        ends = {k: current(self.carries[k]) for k in self.valid}
        self.follows = {k: somewhere.of.get(n, as_tensor(n in found)) for k, n in ends.items()}
        self.shown = {i: there for i in self.inputs if i >= self.op.sequences - self.op.kept
                      and (there := somewhere.of.get(current(self.rows[i]))) is not None}
        new = [found.get(current(self.carries[i])) for i in self.active]
        self.outputs: list[Any] = [
            *(zeros_like(self.carries[i]) if v is None else v
              for i, v in zip(self.active, new, strict=True)),
            *(s + cast(found[current(self.constants[i])], s.dtype)
              for i, s in zip(self.weights, self.sums, strict=True)),
            *self.follows.values(),
            *(found[current(self.rows[i])] for i in self.inputs), *self.shown.values(),
        ]
        self.nodes = [current(v) for v in self.outputs]
        self.saved, read = saved_values(
            self.forward_nodes, self.nodes,
            [current(x) for x in self.rows], [current(x) for x in self.carries],
        )
        self.read = [i for i, x in enumerate(self.rows) if current(x) in read]

    def _found(self, wrt: Sequence[Tensor]) -> tuple[dict[Node, Tensor], Flags]:
        """Return cotangents by node, and flags for those that do not exist in some steps."""
        seeds: dict[Node, Any] = {}
        flags = Flags()
        for i, (y, g) in enumerate(zip(self.results, self.cotangents, strict=False)):
            if g is not None:
                flags.add(seeds, current(y), g, self.partial.get(i))
        found = backprop(seeds, [current(x) for x in wrt], flags=flags)
        return {n: gated(flags.of.get(n), g) for n, g in found.items()}, flags

    def forward(self, xs: Sequence[Tensor]) -> tuple[list[Tensor], Tensor | None]:
        """Return the values that reverse steps read, and the number of steps run if it is unknown.

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
        """Return the nodes of the rows that a reverse step reads: sequences, cotangents, their
        flags, and kept values.
        """
        given = [v for v in self.cotangents[self.op.carries:] if v is not None]
        return [*(self.rows[i] for i in self.read), *given, *self.row_valid, *self.saved]

    def closed(self) -> tuple[Body, list[Tensor]]:
        """The reverse step's graph."""
        cotangents: list[Any] = [self.cotangents[i] for i in self.active]
        return close(
            self.trace, [*self.row_nodes, *cotangents, *self.sums, *self.valid.values(),
                         *self.constants], self.nodes
        )

    def by_carry(self, found: Sequence[Tensor], carried: int) -> tuple[Any, ...]:
        """Return the results of the reverse scan as cotangents of the scan's operands."""
        op, counted = self.op, self.op.counted
        results: list[Any] = [None] * (counted + len(self.variables))
        first = counted + op.sequences
        indices = [
            *(first + i for i in self.active),
            *(first + op.carries + i for i in self.weights),
            *(counted + i for i in self.inputs),
        ]
        found = [*found[:carried], *found[carried + len(self.valid):]]
        for index, value in zip(indices, found, strict=False):
            results[index] = cast(value, self.variables[index - counted].dtype)
        for i, there in zip(self.shown, found[len(indices):], strict=True):
            set_row_flags(results[counted + i], there)
        if isinstance(op.length, int) and not (op.until or op.counted):
            for i in set(self.valid) - self.present.behind(op.length):
                results[first + i] = None  # zeros that rules before might multiply by infinity
        return tuple(results)


def _without_count(op: Scan) -> Any:
    """Return a function that splits operands by kind of the body's inputs, without the step count.
    """
    return op if not op.counted else Scan(
        op.body, op.length, op.sequences, op.carries, op.stacked, op.reverse, op.until
    )


# -- forward ----------------------------------------------------------------------------
def _scan_jvp(op: Scan, ts: Any, y: Any, *xs: Tensor) -> Any:
    """Return the tangents of a scan's results, by a scan that carries values and tangents."""
    given = list(ts)[op.counted:]
    operands = xs[op.counted:]
    row_valid = row_flags(given[: op.sequences])
    there = list({id(v): v for v in row_valid.values()}.values())
    first, last = op.sequences, op.sequences + op.carries
    begun = Beginning(op.body, [t is not None for t in given], first, op.carries, row_valid)
    with body_trace() as trace:
        values = variables_of(trace, op.body, begun.flags)
        step = _ForwardStep(trace, op, begun, row_valid, there, values)
        if not (step.moved or step.rows):
            return [None] * op.outputs if op.outputs > 1 else None
        moves = step.moves
        variables = [
            *both(values[:first], moves[:first]), *step.row_valid,
            *both(values[first:last], moves[first:last]), *step.valid.values(),
            *both(values[last:], moves[last:]),
        ]
        body, captured = close(trace, variables, [current(v) for v in step.outputs])
    directions = [
        zeros_like(x) if t is None and f else t
        for x, t, f in zip(operands, given, begun.flags, strict=True)
    ]
    carried = op.carries + len(step.moved)
    scan = Scan(body, op.length, len(both(values[:first], moves[:first])) + len(there),
                carried + len(step.valid), len(step.rows) + len(step.shown), op.reverse, op.until,
                op.counted)
    done = applied(
        scan, *xs[: op.counted],
        *both(operands[:first], directions[:first]), *there,
        *both(operands[first:last], directions[first:last]),
        *(as_tensor(given[first + i] is not None) for i in step.valid),
        *both(operands[last:], directions[last:]), *captured,
    )
    tangents = step.by_carry([*done[op.carries: carried], *done[carried + len(step.valid):]])
    return tangents if op.outputs > 1 else tangents[0]


class _ForwardStep:
    """The body of a scan that carries tangents beside values.

    :ivar moved: (list of int) Carries that have a tangent in some step.
    :ivar rows: (list of int) Stacked results that have one.
    :ivar valid: (dict) Whether carries that have none in some steps have one in this.
    :ivar row_valid: (list of Tensor) Whether rows of sequences have one in this step.
    :ivar shown: (dict) Whether stacked results that have none in some steps have one in this.
    """

    def __init__(self, trace: BodyTrace, op: Scan, begun: Beginning,
                 row_valid: Mapping[int, Tensor], there: Sequence[Tensor],
                 values: Sequence[Tensor]) -> None:
        self.op, self.begun = op, begun
        self.moves = [trace.variable(v) if f else None
                      for v, f in zip(values, begun.flags, strict=True)]
        self.valid = {i: trace.variable(as_tensor(False)) for i in begun.valid}
        self.row_valid = [trace.variable(as_tensor(False)) for _ in there]
        rows = {id(v): valid for v, valid in zip(there, self.row_valid, strict=True)}
        flags = Flags()
        flags.of |= {current(values[op.sequences + i]): v for i, v in self.valid.items()}
        flags.of |= {current(values[i]): rows[id(v)] for i, v in row_valid.items()}
        results = op.body(*values)
        found = pushed(results, values, self.moves, flags)
        self.moved = [i for i in range(op.carries) if begun.flags[op.sequences + i]]
        last = op.carries + op.stacked
        self.rows = [i for i in range(op.carries, last) if found[i] is not None]
        of = [flags.of.get(current(y)) for y in results]
        self.shown = {i: flag for i in self.rows if (flag := of[i]) is not None}
        self.outputs: list[Any] = [
            *results[: op.carries],
            *(zeros_like(results[i]) if found[i] is None else gated(of[i], found[i])
              for i in self.moved),
            *(as_tensor(found[i] is not None) if of[i] is None else of[i] for i in self.valid),
            *(gated(of[i], found[i]) for i in self.rows), *self.shown.values(), *results[last:],
        ]

    def by_carry(self, done: Sequence[Tensor]) -> list[Any]:
        """Return the results of the forward scan as tangents of the scan's results."""
        op = self.op
        tangents: list[Any] = [None] * op.outputs
        indices = [*self.moved, *self.rows]
        for index, t in zip(indices, done, strict=False):
            tangents[index] = t
        for i, there in zip(self.shown, done[len(indices):], strict=False):
            set_row_flags(tangents[i], there)
        if isinstance(op.length, int) and not (op.until or op.counted):
            for i, some in enumerate(self.begun.after(op.length)):
                tangents[i] = tangents[i] if some else None
        return tangents


Scan.vjp, Scan.jvp = scan_vjp, _scan_jvp
