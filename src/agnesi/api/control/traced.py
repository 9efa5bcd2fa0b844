"""Loops and branches as operations: their bodies run once, on symbols."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from agnesi.api.control.nests import (
    Nest,
    Wider,
    call_user_function,
    changes,
    changes_fixed,
    decision,
    is_symbolic,
    next_carries,
    snapshot,
    widened,
)
from agnesi.api.control.unequal import Filled
from agnesi.autodiff import branches as _branches  # noqa: F401 - importing it is what counts
from agnesi.autodiff import whiles as _whiles  # noqa: F401 - likewise, and of scans
from agnesi.autodiff.bodies import BodyTrace, Capture, body_trace, close, close_all, enclosed
from agnesi.autodiff.flows import flowing_results
from agnesi.autodiff.recording import enable_grad
from agnesi.compiler.tracing.dead_checks import checked, keep_body_checks, note_body_checks
from agnesi.core.dispatch import current, graph_node
from agnesi.core.graph import constant_value
from agnesi.core.ir.dims import Size, is_static
from agnesi.core.ir.node import Node, toposort
from agnesi.core.op import Item, Op, typed
from agnesi.core.shapes import fits as shapes_fit
from agnesi.core.storage.memory_order import note_memory_order, stands_for
from agnesi.core.support import tree
from agnesi.core.support.config import STATE, switched, witnessed
from agnesi.core.support.dtypes import fits
from agnesi.core.support.errors import DTypeError, ShapeError, TraceError, at, location
from agnesi.core.support.tracing import is_known, is_tracing, within
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.convert import SCALARS, as_tensor, cast, of_default
from agnesi.ops.control.branch import Cond
from agnesi.ops.control.loop import Scan, While, applied
from agnesi.ops.identity import ALIAS

Function = Callable[..., Any]

#: How branches are called.
CALLED = "then(*operands)"


@contextmanager
def tracing(*operands: Tensor) -> Iterator[BodyTrace]:
    """Trace the code in this block as the body of a loop or branch on operands."""
    symbolic = STATE.symbolic or (None if any(x.array is None for x in operands) else False)
    with witnessed(), switched(symbolic=symbolic), body_trace(STATE.recording) as trace:
        yield trace


def can_be_stepwise(trace: Any) -> bool:
    """Whether a loop in this trace may call its steps: it is in no body but of such loops."""
    return STATE.examples is None and (trace is None or getattr(
        trace, "finds_sizes", False) or (trace.around is None and bool(trace.of_values)))


class _RowOf(Op):
    """How a row of a sequence is laid out in memory."""

    name = "row"

    def layout_of(self, x: Any) -> Any:
        return x[0]


_ROW = _RowOf()


class Row:
    """The type of a sequence's rows."""

    def __init__(self, x: Tensor) -> None:
        self.shape = x.shape[1:]
        self.dtype = x.dtype


def again(attempt: Callable[[], Any], carry: Nest) -> Any:
    """The attempt's result; begun again where a carry turns out to have another dtype."""
    while True:
        try:
            return attempt()
        except Wider as found:
            widened(carry, found.dtypes)
            carry.weak = [w and d is None for w, d in zip(carry.weak, found.dtypes, strict=True)]


def variables(trace: BodyTrace, nest: Nest) -> list[Tensor]:
    """Stand-ins for a nest's leaves; Python's numbers are tensors where they are eagerly."""
    return [trace.variable(t, w and not trace.of_values)
            for t, w in zip(nest.tensors, nest.weak, strict=True)]


def pair_of(owner: str, found: Any) -> tuple[Any, Any]:
    """Return the two parts of what the body of a scan returned."""
    if not isinstance(found, tuple) or len(found) != 2:
        raise TypeError(
            at(
                f"{owner}: the body must return (next carry, result of this step), not "
                f"{type(found).__name__}; return carry, None if there is nothing to stack"
            )
        )
    return found


def recording_for(ends: Sequence[Node]) -> Any:
    """The block in which a loop or branch goes into the graph: recorded if its body was in part."""
    inside = not STATE.recording and any(n.op is not None and n.requires_grad for n in ends)
    return enable_grad() if inside else nullcontext()


# -- what a body takes from outside -----------------------------------------------------------
def refuse_captures(owner: str, functions: Sequence[Function], captured: Sequence[Tensor]) -> None:
    """Raise for tensors that a strict body uses without being given them."""
    if not captured:
        return
    names = ", ".join(_named(t, functions) for t in captured)
    raise TraceError(
        at(
            f"{owner}: with strict=True the body may only use what it is given, but it also uses "
            f"{names}; pass it with non_sequences"
        )
    )


def _holds_state(t: Tensor, given: Sequence[Tensor]) -> bool:
    """Return whether a value needs state, other than what is given: that may be used by its name
    around the body, too."""
    if any(t is g for g in given) or t.node is None:
        return not any(t is g for g in given)
    known = {g.node for g in given}
    return any(n.op is None and n.handle is not None and n not in known
               for n in toposort([t.node], known.__contains__))


def _named(t: Tensor, functions: Sequence[Function]) -> str:
    if t.name:
        return f"{t.name}, {typed(t)}"
    for f in functions:
        try:
            around = inspect.getclosurevars(getattr(f, "fn", f))
        except TypeError:
            continue
        for name, value in (*around.nonlocals.items(), *around.globals.items()):
            if value is t or (isinstance(value, Tensor) and value.node is t.node is not None):
                return f"{name}, {typed(t)}"
    where = t.node.where if t.node is not None else None
    return typed(t) + (f" of {location(where)}" if where else "")


def stores(owner: str, states: Sequence[Capture], values: Sequence[Tensor]) -> None:
    """Write back what the body changed in place."""
    for state, value in zip(states, values, strict=True):
        if STATE.examples is not None:
            value = STATE.examples.common(state.outer, value)
        if is_known(state.outer) and value.array is None:
            raise TraceError(
                at(
                    f"{owner}: the body changes {typed(state.outer)} in place (drawing random "
                    "numbers does so too), which a graph cannot do by itself: use ag.jit, carry "
                    "the value, or take the updates of agnesi.symbolic.scan"
                )
            )
        state.store(value)


# -- scan -------------------------------------------------------------------------------------
class TracedScan:
    """A scan as an operation.

    :ivar states: (list of Capture) Tensors that the body changes in place; ``values`` are those
        behind the last step.
    :ivar strict: (bool or str) Whether the body may only use what it is given; "state" lets it use
        constants, too.
    :ivar finds_sizes: (bool) Whether each step may find sizes of its own.
    """

    finds_sizes = False

    def __init__(self, f: Function, called: Function, carry: Nest, xs: Nest, given: Nest,
                 length: Size, *, count: Tensor | None = None, reverse: bool = False,
                 stops: Function | None = None, strict: bool | str = False,
                 owner: str = "scan") -> None:
        self.f, self.called, self.carry, self.xs, self.given = f, called, carry, xs, given
        self.stops, self.strict, self.owner = stops, strict, owner
        self.length, self.count, self.reverse = length, count, reverse
        again(self._trace, carry)

    def _trace(self) -> None:
        with tracing(*self.xs.tensors, *self.carry.tensors, *self.given.tensors) as trace:
            trace.finds_sizes = self.finds_sizes
            trace.is_tried_again = not self.finds_sizes and can_be_stepwise(trace.around)
            rows = [trace.variable(Row(x)) for x in self.xs.tensors]
            carries, given = variables(trace, self.carry), variables(trace, self.given)
            for x, row in zip(self.xs.tensors, rows, strict=True):
                stands_for(row.node, x)  # type: ignore[arg-type]
                note_memory_order(row, _ROW, (x,))
            for x, own in zip(self.given.tensors, given, strict=True):
                note_memory_order(own, ALIAS, (x,))
            begin: list[Any] = [[t.node for t in ts] for ts in (rows, carries, given)]
            trace.fixed.update(zip(begin[2], self.given.tensors, strict=True))
            arguments = [self.carry.build(carries), self.xs.build(rows)]
            fixed = [*self.xs.tensors, *self.given.tensors]
            before = changes(fixed)
            found = self.called(*arguments, *self.given.build(given))
            following, result = pair_of(self.owner, found)
            next_ = next_carries(self.owner, self.carry, following)
            leaves, self.result_shape = tree.flatten(result)
            ys = [as_tensor(y) for y in leaves]
            stop = [] if self.stops is None else [self.stops(self.carry.build(next_))]
            ends = [current(t) for t in next_], [current(t) for t in (*ys, *stop)]
            keep_body_checks([*ends[0], *ends[1]])
            changed = [t.node for t in (*rows, *given)] != [*begin[0], *begin[2]]
            if changed or changes(fixed) != before:
                raise changes_fixed(self.owner)
            self.states, self.clear = trace.states(), trace.clear
        inner = [s.inner for s in self.states]
        self.stacked = len(ys)
        self.captured = self._close(
            trace, [*begin[0], *begin[1], *inner, *begin[2]],
            [*ends[0], *(s.now for s in self.states), *ends[1]],
        )
        if self.strict:  # what the body changes is state of the loop, such as random streams
            refuse_captures(self.owner, [self.f], [
                t for t in self.captured if _holds_state(t, self.given.tensors)
                and not (self.strict == "state" and t.node is None)])
        self.recording = recording_for(ends[0])

    def _close(self, trace: BodyTrace, inputs: Sequence[Node],
               outputs: Sequence[Node]) -> list[Tensor]:
        """Close the body's graph; return the tensors that it captures."""
        self.body, captured = close(trace, inputs, outputs)
        return captured

    def op(self) -> Any:
        """The operation."""
        return Scan(
            self.body, self.length, len(self.xs.tensors),
            len(self.carry.tensors) + len(self.states), self.stacked, self.reverse,
            self.stops is not None, self.count is not None,
        )

    @staticmethod
    def _flowing(op: Any, operands: Sequence[Tensor]) -> list[bool]:
        """Which results gradients flow through."""
        found = flowing_results(op, operands)
        if not STATE.recording:  # as rows are stacked
            found[op.carries:] = [False] * (len(found) - op.carries)
        return found

    def apply(self, known: Mapping[Tensor, Tensor]) -> tuple[Any, Any, Tensor | None]:
        """The last carry, the stacked results, and the number of steps where that is open.

        ``known`` maps states that a graph has changed before to their values then.
        """
        op = self.op()
        self.clear()
        self.values: Sequence[Tensor] = ()
        if not op.outputs:
            return self.carry.build([]), self.result_shape.build([]), None
        before = [known.get(s.outer, s.outer) for s in self.states]
        others = [*self.xs.tensors, *self.carry.tensors, *self.given.tensors, *self.captured]
        if not is_symbolic(*before, *others):
            before = [snapshot(x) for x in before]  # they change, and gradients need what they were
        operands = [
            *([] if self.count is None else [self.count]), *self.xs.tensors,
            *self.carry.tensors, *before, *self.given.tensors, *self.captured,
        ]
        with self.recording:
            found = applied(op, *operands)
        note_body_checks([self.body], found)
        for x, flows in zip(found, self._flowing(op, operands), strict=True):
            if x._requires_grad and not flows:  # it would not have been recorded step by step
                x._requires_grad = x.node.requires_grad = False  # type: ignore[union-attr]
                x.node = x.node if x.array is None else None
        n = len(self.carry.tensors)
        first, rest = found[:n], found[n:]
        self.values, rest = rest[: len(self.states)], rest[len(self.states):]
        ys, steps = rest[: self.stacked], rest[self.stacked:]
        return self.carry.build(first), self.result_shape.build(ys), (steps or (None,))[0]


# -- while ------------------------------------------------------------------------------------
def traced_while(owner: str, condition: Function, body: Function, carry: Nest) -> Any:
    """A while loop as an operation."""

    def attempt() -> Any:
        with tracing(*carry.tensors) as tests:
            tests.is_tried_again = can_be_stepwise(tests.around)
            given = variables(tests, carry)
            symbols = [t.node for t in given]
            proceed = decision(owner, "the condition", condition(carry.build(given)))
            ends = [current(proceed)]
            test = [checked(ends[0], tests.raising, ends)]
        if tests.states() or [t.node for t in given] != symbols:
            raise TraceError(
                at(f"{owner}: the condition changes tensors in place, or prints, calls back or "
                   "communicates; let the body do that, and carry what the condition reads")
            )
        with tracing(*carry.tensors) as trace:
            trace.is_tried_again = can_be_stepwise(trace.around)
            inner = variables(trace, carry)
            begin = [t.node for t in inner]  # they may be changed in place
            new = next_carries(owner, carry, body(carry.build(inner)))
            nodes = [current(t) for t in new]
            keep_body_checks(nodes)
        return tests, symbols, test, trace, begin, nodes

    tests, symbols, test, trace, begin, nodes = again(attempt, carry)
    states = trace.states()
    trace.clear()
    tests.meet(trace, states)
    beside = [tests.captures[s.key].inner for s in states]
    (first, second), captured = close_all([
        (tests, [*symbols, *beside], test),
        (trace, [*begin, *(s.inner for s in states)], [*nodes, *(s.now for s in states)]),
    ])
    op = While(first, second, len(begin) + len(states))
    with recording_for(nodes):
        found = applied(op, *carry.tensors, *(s.outer for s in states), *captured)
    stores(owner, states, found[len(begin):])
    return carry.build(found[: len(begin)])


# -- branches ---------------------------------------------------------------------------------
def traced_cond(chosen: Tensor, then: Function, otherwise: Function,
                operands: Sequence[Any]) -> Any:
    """A branch as an operation; what its functions are given is as what they find around them."""
    parts = [_branch(f, chosen, operands) for f in (then, otherwise)]
    shape, its_shape = parts[0][1], parts[1][1]
    if shape != its_shape:
        raise _different("cond", "branches return", shape, its_shape)
    filled = Filled(parts[0][2], parts[1][2])
    parts = [(t, form, filled.up(ys, functools.partial(within, t))) for t, form, ys in parts]
    dtypes = _agreed("cond", shape.paths("the result"), parts[0][2], parts[1][2])
    changed: dict[Any, Capture] = {}
    for trace, *_ in parts:
        changed.update({s.key: s for s in trace.states()})
        if trace.grads:
            raise TraceError(at("cond: a branch changes gradients; call backward() outside"))
    closed: list[Any] = []
    for trace, _, leaves in parts:
        with within(trace):
            ends = [current(cast(as_tensor(y, d), d)) for y, d in zip(leaves, dtypes, strict=True)]
            ends += [
                trace.captures[k].now if k in trace.captures else trace.node_of(s.outer)
                for k, s in changed.items()
            ]
        closed.append((trace, [], ends))
    bodies, captured = close_all(closed)
    if not bodies[0].outputs:
        return shape.build([])
    with recording_for([n for *_, ends in closed for n in ends]):
        found = applied(Cond(*bodies), chosen, *captured)
    note_body_checks(bodies, found)
    stores("cond", list(changed.values()), found[len(dtypes):])
    return shape.build(filled.cut(found[: len(dtypes)], chosen))


def chosen_graphs(chosen: Tensor, then: Any, otherwise: Any) -> Any:
    """One of two nests of results that stand in the graph already.

    What both need is computed before; what only one needs becomes a branch.
    """
    (first, shape), (second, its_shape) = tree.flatten(then), tree.flatten(otherwise)
    if shape != its_shape:
        raise _different("ifelse", "results have", shape, its_shape)
    filled = Filled(first, second)
    first, second = (filled.up(ys, nullcontext) for ys in (first, second))
    dtypes = _agreed("ifelse", shape.paths("the result"), first, second)
    ends = [
        [graph_node(as_tensor(y, d)) for y, d in zip(ys, dtypes, strict=True)]
        for ys in (first, second)
    ]
    edge = _edge(*ends)
    bodies = [enclosed(edge, nodes) for nodes in ends]
    found = applied(Cond(*bodies), chosen, *map(symbol, edge))
    return shape.build(filled.cut(found, chosen))


def _edge(first: Sequence[Node], second: Sequence[Node]) -> list[Node]:
    """Return the nodes that two parts of a graph read from where they meet, and from its inputs."""
    order = toposort([*first, *second])
    common = set(toposort(first)) & set(toposort(second))
    common |= {n for n in order if type(n.op) is Item and n.inputs[0] in common}
    read = {n for m in order if m not in common for n in m.inputs} | {*first, *second}
    return [
        n for n in order if n in read and (n in common or n.op is None)
        and not (n.op is None and constant_value(n) is not None)
    ]


def _different(owner: str, what: str, first: tree.Tree, second: tree.Tree) -> Exception:
    paths = [", ".join(shape.paths("result")) or "no leaf" for shape in (first, second)]
    return TypeError(at(f"{owner}: the {what} different nests: {paths[0]}, but {paths[1]}"))


def _branch(f: Function, chosen: Tensor, operands: Sequence[Any]) -> Any:
    given = [v for v in tree.flatten(operands)[0] if isinstance(v, Tensor)]
    with tracing(chosen, *given) as trace:
        leaves, shape = tree.flatten(call_user_function("cond", CALLED, f, *operands))
        # What was changed in place stands for what it was before when the trace ends.
        leaves = [symbol(current(y)) if isinstance(y, Tensor) and y.array is None else y
                  for y in leaves]
        keep_body_checks([y.node for y in leaves if isinstance(y, Tensor) and y.node is not None])
    return trace, shape, leaves


def _gives_way(x: Tensor, other: Tensor) -> bool:
    """Return whether a result of a declared graph's branch is a known float, the other one not."""
    return x.dtype != other.dtype and x.dtype.kind == other.dtype.kind == "f" and (
        not is_tracing() and _is_known(x) and not _is_known(other))


def _is_known(x: Tensor) -> bool:
    """Return whether a result is made of numbers alone, and of no size that is open."""
    return x.node is None or all(is_static(n.shape) and (n.op is not None or n.value is not None)
                                 for n in toposort([x.node]))


def _agreed(owner: str, paths: Sequence[str], first: Sequence[Any],
            second: Sequence[Any]) -> list[Any]:
    """The dtype of each result of two branches; Python numbers give way, and known floats do in a
    declared graph, whose other floats have the dtype of its variables."""
    dtypes = []
    for path, a, b in zip(paths, first, second, strict=True):
        x, y = as_tensor(a), as_tensor(b)
        loose = [type(v) in SCALARS or t.weak or _gives_way(t, to) for v, t, to in (
            (a, x, y), (b, y, x))]
        x, y = (of_default(t) if t.weak else t for t in (x, y))
        dtype = y.dtype if loose[0] and (not loose[1] or fits(x.dtype, y.dtype)) else x.dtype
        if not shapes_fit(x.shape, y.shape) or (x.dtype != y.dtype and not any(loose)):
            raise (ShapeError if x.dtype == y.dtype else DTypeError)(
                at(
                    f"{owner}: {path} is {typed(x)} from the first branch, but {typed(y)} from "
                    "the second; both must be of one type: convert one of them"
                )
            )
        dtypes.append(dtype)
    return dtypes
