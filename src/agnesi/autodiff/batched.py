"""Graphs evaluated for many examples at once, node by node, with the batching rules of operations.

The rules of loops and branches are here, because they make new bodies: what differs between
examples gets an axis for them in front, everything else stays as it is.  A loop whose condition
differs runs until all examples are done, and those that are done stay as they are; a branch that
differs runs on both sides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from agnesi.autodiff.bodies import BodyTrace, body_trace, close, close_all
from agnesi.core.dispatch import current, graph_node, symbolic
from agnesi.core.graph import constant_value
from agnesi.core.ir.node import Node, executed, toposort
from agnesi.core.op import EXPLAINED, Item, Op, in_user_code, located
from agnesi.core.support.config import STATE, switched
from agnesi.core.support.tracing import is_tracing, within
from agnesi.core.tensor import Tensor, symbol, wrap
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.creation import zeros_like
from agnesi.ops.base.expand import broadcast_to
from agnesi.ops.base.movement import moveaxis, reshape
from agnesi.ops.base.reduce import any as any_of
from agnesi.ops.base.reduce import max as greatest
from agnesi.ops.base.select import where
from agnesi.ops.batching import pointwise, trailing
from agnesi.ops.control.body import Body
from agnesi.ops.control.branch import Cond
from agnesi.ops.control.loop import Scan, While, applied
from agnesi.ops.identity import Identity, SetValue
from agnesi.ops.indexing.ranges import arange
from agnesi.ops.random.philox import Advance

#: A value, and whether it has an axis for the examples in front.
Value = tuple[Any, bool]


class Example(Op):
    """One example of a tensor that holds all examples; identifies the batched tensor within one
    call of ``vmap``.
    """

    name = "example"
    differentiable = False

    def __init__(self, call: object) -> None:
        self.call = call

    def __eq__(self, other: object) -> bool:
        return type(other) is Example and self.call is other.call

    def __hash__(self) -> int:
        return hash(("example", id(self.call)))

    def infer(self, x: Any) -> Any:
        return x.shape[1:], x.dtype


class Done(Op):
    """A batched side effect that has run: its result, followed by one example's operands, for
    derivatives.

    The first operand and result of ``op`` order the effects; the rest are data.
    """

    def __init__(self, op: Op) -> None:
        self.op = op
        self.__dict__.update(name=op.name, no_rule=op.no_rule, differentiable=op.differentiable,
                             traits=op.traits & {"waits"})
        if op.vjp is not None:
            self.__dict__.update(vjp=self._vjp, jvp=self._jvp)

    def infer(self, y: Any, *xs: Any) -> Any:
        return y.shape, y.dtype

    def _vjp(self, g: Tensor, y: Tensor, done: Tensor, *xs: Tensor) -> tuple[Any, ...]:
        return self.op.vjp((None, g), (None, y), None, *xs)  # type: ignore[misc]

    def _jvp(self, ts: Any, y: Tensor, done: Tensor, *xs: Tensor) -> Any:
        return self.op.jvp((None, *ts[1:]), (None, y), None, *xs)[1]  # type: ignore[misc]


def _of_example(error: Exception, node: Node) -> Exception:
    """Return the error of a batched operation with shapes and axes of a single example, at the
    user's line.
    """
    reason, where = getattr(error, "reason", None), node.where
    if where is None or not isinstance(reason, str) or in_user_code(error):
        return error
    reason = re.sub(r"axis ([1-9]\d*) with", lambda m: f"axis {int(m[1]) - 1} with", reason)
    return located(error, reason, where[2] or node.op.name, node.inputs, where)


class Batch:
    """Evaluates nodes for all examples.

    :ivar known: The values of nodes found so far, including those that the evaluation begins with;
        lists for nodes with several results.
    :ivar length: The number of examples.
    :ivar call: The call of ``vmap``.
    """

    def __init__(self, length: Any, call: object, known: dict[Node, Any] | None = None,
                 outer: Callable[[Node], Any] = lambda node: None) -> None:
        self.length = length
        self.call = call
        self.known: dict[Node, Any] = known or {}
        self.outer = outer

    def __call__(self, roots: Iterable[Node]) -> list[Value]:
        """Return the values of nodes."""
        roots = list(roots)
        known = self.known
        for node in executed(roots, lambda n: n in known or self._found_outside(n)):
            if node not in known and not self._found_outside(node):
                known[node] = self._leaf(node) if node.op is None else self._value(node)
        return [known[n] for n in roots]

    def _found_outside(self, node: Node) -> bool:
        value = self.outer(node)
        if value is not None:
            self.known[node] = value, False
        return value is not None

    def _leaf(self, node: Node) -> Value:
        value = None if is_tracing() else constant_value(node)
        return (symbol(node) if value is None else wrap(value)), False

    def _value(self, node: Node) -> Any:
        op = node.op
        values = [self.known[n] for n in node.inputs]
        if type(op) is Item:
            parent = node.inputs[0]  # rules that run inside may read results from outside
            return (symbol(node), False) if self.outer(parent) is not None else values[0][op.index]
        xs, rows = [v for v, _ in values], [r for _, r in values]
        if type(op) is Done:
            return values[0]
        if type(op) is Example:
            return (xs[0], True) if op.call is self.call else (symbolic(op, tuple(xs)), False)
        off = not node.requires_grad and op.differentiable and any(
            n.requires_grad for n in node.inputs
        )
        with switched(recording=STATE.recording and not off):  # as when the function ran
            if not any(rows) and not _contains(op, self.call):
                found = [(x, False) for x in applied(op, *xs)]
                if found[0][0].weak and not node.weak:  # a number that was given a dtype
                    found[0][0].node.weak = False  # type: ignore[union-attr]
            else:
                try:
                    found = self.batched(node, xs, rows)
                except EXPLAINED as error:
                    raise _of_example(error, node) from None
        return found if op.outputs > 1 else found[0]

    # -- one operation --------------------------------------------------------------------
    def batched(self, node: Node, xs: list[Tensor], rows: list[bool]) -> list[Value]:
        """The results of an operation on operands of which some have an axis for examples."""
        op = node.op
        rule = _LOOPS.get(type(op))
        if rule is not None:
            found = rule(self, op, xs, rows)
            if found is not None:
                return found
        elif op.batch is not None:
            ys = op.batch(node, xs, rows, self.length)
            if op.outputs > 1:
                return [(y, True) for y in ys]
            if ys is not None:
                return [(broadcast_to(ys, (self.length, *node.shape)), True)]
        return self._simpler(node, xs, rows) or self._one_by_one(node, xs, rows)

    def _simpler(self, node: Node, xs: list[Tensor], rows: list[bool]) -> list[Value] | None:
        """Return the results by the rules of the operations that a node decomposes into; None if it
        does not, or gradients would differ.
        """
        op = node.op
        if op.decompose is None:
            return None
        with body_trace():
            ins = [Node(None, (), n.shape, n.dtype, requires_grad=n.dtype.kind in "fcV")
                   for n in node.inputs]
            made = op.decompose(*map(symbol, ins))
            if made is None:
                return None
            ends = [graph_node(y) for y in (made if isinstance(made, tuple) else (made,))]
        known = dict(zip(ins, zip(xs, rows, strict=True), strict=True))
        order = [n for n in toposort(ends, known.__contains__) if n not in known]
        if any(n.op is None and constant_value(n) is None for n in order) or any(
            n.op is not None and n.requires_grad and n.op.vjp is n.op.jvp is None
            and type(n.op) is not Item
            for n in order
        ):
            return None
        found = Batch(self.length, self.call, known)(ends)
        return [self.filled(v) for v in found]

    def _one_by_one(self, node: Node, xs: list[Tensor], rows: list[bool]) -> list[Value]:
        """A loop over the examples, for operations without a rule."""
        with body_trace() as trace:
            inner = [trace.variable(n) for n in node.inputs]
            given = [current(x) for x in inner]
            ends = [current(y) for y in applied(node.op, *inner)]
        order = [i for i, r in enumerate(rows) if r] + [i for i, r in enumerate(rows) if not r]
        body, captured = close(trace, [given[i] for i in order], ends)
        loop = Scan(body, self.length, sum(rows), 0, len(ends))
        return [(y, True) for y in applied(loop, *(xs[i] for i in order), *captured)]

    def filled(self, value: Value) -> Value:
        """Return a value with an axis of examples, added by broadcasting if it has none."""
        x, rows = value
        return x if rows else broadcast_to(x, (self.length, *x.shape)), True

    # -- bodies ---------------------------------------------------------------------------
    def inside(self, trace: BodyTrace, body: Body, flags: Sequence[bool]) -> Any:
        """Return variables for a body's inputs, with an axis of examples where flagged, and the
        body's results.
        """
        made = [
            trace.variable(_Type(((self.length,) if f else ()) + tuple(n.shape), n.dtype))
            for n, f in zip(body.inputs, flags, strict=True)
        ]
        known = dict(zip(body.inputs, zip(made, flags, strict=True), strict=True))
        nodes = [current(x) for x in made]
        return nodes, Batch(self.length, self.call, known)(body.outputs)


class _Type:
    def __init__(self, shape: Any, dtype: Any) -> None:
        self.shape = shape
        self.dtype = dtype


def _contains(op: Op, call: object) -> bool:
    """Return whether a body uses an example of this ``vmap`` call."""
    return any(
        n.op is not None and ((type(n.op) is Example and n.op.call is call)
                              or _contains(n.op, call))
        for name in op.bodies for n in getattr(op, name).graph.nodes
    )


def _nodes_of(batch: Batch, values: Sequence[Value], flags: Sequence[bool]) -> list[Node]:
    return [current(batch.filled(v)[0] if f else v[0]) for v, f in zip(values, flags, strict=True)]


# -- loops ------------------------------------------------------------------------------------
def _scan(batch: Batch, op: Scan, xs: list[Tensor], rows: list[bool]) -> list[Value] | None:
    count, sequences, carries, constants = op.split(list(zip(xs, rows, strict=True)))
    flags = [r for _, r in (*sequences, *carries, *constants)]
    first = op.sequences
    counts = count[0] if count is not None and count[1] else None
    own = range(first, first + op.carries)
    if counts is not None:  # every carry may stop at another step
        flags = [f or i in own for i, f in enumerate(flags)]
    while True:
        with body_trace() as trace:
            variables, found = batch.inside(trace, op.body, flags)
            late = [i for i in range(op.carries) if found[i][1] and not flags[first + i]]
            if not late:
                if op.until and found[-1][1]:
                    return None
                more: list[Node] = []
                if counts is not None:
                    more, found = _while_counted(batch, op, trace, variables, found, counts)
                its = [*flags[first: first + op.carries], *(f for _, f in found[op.carries:])]
                ends = _nodes_of(batch, found, its)
                break
        for i in late:
            flags[first + i] = True
    body, captured = close(trace, [*more, *variables], ends)
    operands = [] if counts is None else [arange(op.length)]
    operands += [moveaxis(x, 0, 1) if r else x for x, r in sequences]
    operands += [batch.filled(v)[0] if f else v[0]
                 for v, f in zip(carries, flags[first:], strict=False)]
    loop = Scan(body, op.length, op.sequences + len(more), op.carries, op.stacked, op.reverse,
                op.until, op.counted)
    steps = [] if count is None else [count[0] if counts is None else _most(counts)]
    made = applied(loop, *steps, *operands, *(x for x, _ in constants), *captured)
    return [
        (moveaxis(y, 1, 0) if has and i >= op.carries else y, has)
        for i, (y, has) in enumerate(zip(made, its, strict=True))
    ]


def _most(counts: Tensor) -> Tensor:
    return greatest(counts) if counts.shape[0] != 0 else as_tensor(0, counts.dtype)


def _while_counted(batch: Batch, op: Scan, trace: BodyTrace, variables: Sequence[Node],
                   found: Sequence[Value], counts: Tensor) -> tuple[list[Node], list[Value]]:
    """Return the results of a loop's step for the examples whose count is not reached, unchanged
    values for the others, and the number of the step.
    """
    number = trace.variable(_Type((), counts.dtype))
    active = number < counts
    values: list[Value] = []
    for i, v in enumerate(found):
        new = batch.filled(v)[0]
        old = symbol(variables[op.sequences + i]) if i < op.carries else zeros_like(new)
        values.append((_where(active, new, old), True))
    return [current(number)], values


def _while(batch: Batch, op: While, xs: list[Tensor], rows: list[bool]) -> list[Value]:
    n, flags = op.carries, list(rows)
    streams = [_is_stream(op.body.outputs[i], op.body.inputs[i]) for i in range(n)]
    while True:
        with body_trace() as tests:
            asked, (test,) = batch.inside(tests, op.test, flags)
            differs = test[1]
            proceed = [current(test[0])]
        with body_trace() as trace:
            variables, found = batch.inside(trace, op.body, flags)
            late = [
                i for i in range(n) if not flags[i] and not streams[i]
                and (found[i][1] or (differs and op.body.outputs[i] is not op.body.inputs[i]))
            ]
            if not late and not differs:
                ends = _nodes_of(batch, found, flags[:n])
        if not late:
            break
        for i in late:
            flags[i] = True
    values = list(zip(xs, rows, strict=True))
    operands = [batch.filled(v)[0] if f else v[0] for v, f in zip(values, flags, strict=True)]
    if differs:
        return _masked_while(batch, op, operands, flags)
    (first, second), captured = close_all([(tests, asked, proceed), (trace, variables, ends)])
    made = applied(While(first, second, n), *operands, *captured)
    return list(zip(made, flags, strict=False))


def _masked_while(batch: Batch, op: While, operands: list[Tensor],
                  flags: Sequence[bool]) -> list[Value]:
    """Return a loop that runs until all examples are done; a further carry masks those that are."""
    n = op.carries
    known = dict(zip(op.test.inputs, zip(operands, flags, strict=True), strict=True))
    ((active, _),) = Batch(batch.length, batch.call, known)(op.test.outputs)
    with body_trace() as tests:
        going = tests.variable(active)
        beside = [tests.variable(x) for x in operands]
        asked = [current(x) for x in (going, *beside)]
        proceed = [current(any_of(going))]
    with body_trace() as trace:
        going = trace.variable(active)
        start = current(going)
        variables, found = batch.inside(trace, op.body, flags)
        kept = [
            _where(going, batch.filled(v)[0], symbol(old)) if f else v[0]
            for v, old, f in zip(found, variables, flags, strict=False)
        ]
        held = dict(zip(op.test.inputs, zip(
            [*kept, *map(symbol, variables[n:])], flags, strict=True), strict=True))
        ((more, _),) = Batch(batch.length, batch.call, held)(op.test.outputs)
        ends = [current(x) for x in (going & more, *kept)]
    (first, second), captured = close_all([
        (tests, asked, proceed), (trace, [start, *variables], ends)
    ])
    made = applied(While(first, second, n + 1), active, *operands, *captured)
    return list(zip(made[1:], flags, strict=False))


def _where(flag: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Return the examples of ``x`` for which ``flag`` (one bool each) is true, and of ``y`` for the
    others.
    """
    return where(reshape(flag, (*flag.shape, *(1,) * (len(x.shape) - 1))), x, y)


def _is_stream(end: Node, start: Node) -> bool:
    """Return whether a carry is the state of a random stream, which all examples share."""
    node = end
    while type(node.op) is Advance:
        (node,) = node.inputs
    return node is start and end is not start


# -- branches ---------------------------------------------------------------------------------
def _cond(batch: Batch, op: Cond, xs: list[Tensor], rows: list[bool]) -> list[Value]:
    if rows[0]:
        return _both(batch, op, xs, rows)
    flags = rows[1:]
    parts, found = [], []
    for body in (op.then, op.otherwise):
        with body_trace() as trace:
            variables, values = batch.inside(trace, body, flags)
        parts.append((trace, variables))
        found.append(values)
    its = [a or b for (_, a), (_, b) in zip(*found, strict=True)]
    closed = []
    for (trace, variables), values in zip(parts, found, strict=True):
        with within(trace):
            closed.append((trace, variables, _nodes_of(batch, values, its)))
    bodies, captured = close_all(closed)
    made = applied(Cond(*bodies), xs[0], *xs[1:], *captured)
    return list(zip(made, its, strict=True))


def _both(batch: Batch, op: Cond, xs: list[Tensor], rows: list[bool]) -> list[Value]:
    """Compute both branches for all examples, and select one result per example."""
    values = list(zip(xs[1:], rows[1:], strict=True))
    sides = []
    for body in (op.then, op.otherwise):
        known = dict(zip(body.inputs, values, strict=True))
        sides.append(Batch(batch.length, batch.call, known)(body.outputs))
    results: list[Value] = []
    for i, (a, b) in enumerate(zip(*sides, strict=True)):
        stream = _stream_of(op, i)
        if stream is not None:
            results.append((a, b)[stream])
            continue
        first, second = batch.filled(a)[0], batch.filled(b)[0]
        results.append((_where(xs[0], first, second), True))
    return results


def _stream_of(op: Cond, i: int) -> int | None:
    """Return the branch that advances a random stream furthest; None if the result is no stream."""
    drawn = []
    for body in (op.then, op.otherwise):
        node, total = body.outputs[i], 0
        while type(node.op) is Advance:
            total += node.op.size
            (node,) = node.inputs
        if node not in body.inputs:
            return None
        drawn.append((total, body.inputs.index(node)))
    (first, start), (second, its_start) = drawn
    if start != its_start or not first + second:
        return None
    return int(second > first)


_LOOPS: dict[Any, Callable[..., Any]] = {Scan: _scan, While: _while, Cond: _cond}
Identity.batch = pointwise
SetValue.batch = trailing
