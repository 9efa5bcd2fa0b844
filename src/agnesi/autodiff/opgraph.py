"""OpFromGraph: a graph as an operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from agnesi.autodiff.bodies import body_trace, close, copied_leaf, enclosed
from agnesi.autodiff.flows import listed, pushed, seeds_of
from agnesi.autodiff.replay import has_sizes_of_values, replayed
from agnesi.autodiff.reverse import backprop
from agnesi.autodiff.rules import reads_result
from agnesi.core.dispatch import current
from agnesi.core.graph import FunctionGraph, live_tensor
from agnesi.core.ir.node import Node, toposort
from agnesi.core.keywords import strict_class
from agnesi.core.op import Op, give_name, typed
from agnesi.core.programs import is_declaring
from agnesi.core.substitution import substituted
from agnesi.core.support.dtypes import fits
from agnesi.core.support.errors import DTypeError, ShapeError, TraceError, at
from agnesi.core.support.record import record
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.creation import zeros_like
from agnesi.ops.control.body import Body, check_types
from agnesi.ops.control.loop import applied

Rule = Callable[..., Any]


@record
class GraphOp(Op):
    """A body as one operation; ``own`` holds user-defined derivatives."""

    body: Body
    title: str
    own: tuple[Rule | None, Rule | None] = (None, None)
    bodies = ("body",)

    def __post_init__(self) -> None:
        self.__dict__["outputs"] = len(self.body.outputs)
        give_name(self, self.title)
        if self.own != (None, None):  # the one that is not given follows from the other
            self.__dict__["vjp"], self.__dict__["jvp"] = self.own
            self.__dict__["keep_output"] = any(map(reads_result, self.own))
            self.__dict__["user_defined"] = True

    def label(self) -> str:
        return self.title

    def infer(self, *xs: Any) -> Any:
        why = check_types("operands", self.body.inputs, xs)
        if why:
            raise ShapeError(why)
        types = tuple((y.shape, y.dtype) for y in self.body.outputs)
        return types if len(types) > 1 else types[0]

    def perform(self, *xs: Any) -> Any:
        values = tuple(np.array(v) for v in self.body.run(xs))
        return values if len(values) > 1 else values[0]

    def decompose(self, *xs: Tensor) -> Any:
        found = self.body(*xs)
        return tuple(found) if len(found) > 1 else found[0]

    def resolve(self, known: Any) -> Op:
        return GraphOp(self.body.resolve(known), self.title, self.own)

    def vjp(self, g: Any, y: Any, *xs: Tensor) -> tuple[Any, ...]:
        gs = listed(g, self)
        with body_trace() as trace:
            values = [trace.variable(x) for x in xs]
            results = self.body(*values)
            cotangents = [None if v is None else trace.variable(r)
                          for r, v in zip(results, gs, strict=True)]
            wanted = [current(v) for v, x in zip(values, xs, strict=True) if x._requires_grad]
            found = backprop(seeds_of(results, cotangents), wanted)
            ends = [current(found.get(n, zeros_like(symbol(n)))) for n in wanted]
        variables = [*values, *(c for c in cotangents if c is not None)]
        body, captured = close(trace, variables, ends)
        done = iter(applied(GraphOp(body, f"{self.title}_vjp"), *xs,
                            *(v for v in gs if v is not None), *captured))
        return tuple(next(done) if x._requires_grad else None for x in xs)

    def jvp(self, ts: Any, y: Any, *xs: Tensor) -> Any:
        with body_trace() as trace:
            values = [trace.variable(x) for x in xs]
            moves = [None if t is None else trace.variable(v)
                     for v, t in zip(values, ts, strict=True)]
            results = self.body(*values)
            found = pushed(results, values, moves)
            ends = [current(zeros_like(r) if v is None else v)
                    for r, v in zip(results, found, strict=True)]
        body, captured = close(trace, [*values, *(m for m in moves if m is not None)], ends)
        done = applied(GraphOp(body, f"{self.title}_jvp"), *xs,
                       *(t for t in ts if t is not None), *captured)
        return done if self.outputs > 1 else done[0]


def _outside(leaf: Node, declaring: bool) -> Tensor:
    """Return the tensor that a leaf stands for; in a declared graph, a shared variable is a symbol.
    """
    t = live_tensor(leaf)
    return t if t is not None and (t.node is leaf or not declaring) else symbol(leaf)


def _live_leaves(outputs: Sequence[Node]) -> list[Node]:
    """Return the leaves of a graph whose values calls read again."""
    return [n for n in toposort(outputs) if n.op is None and live_tensor(n) is not None]


def _variable(leaf: Node) -> Any:
    """Return the variable of a leaf that calls may change; None for others."""
    return getattr(leaf.handle, "variable", None)


@strict_class
class OpFromGraph:
    """A graph as an operation: called with operands, it gives the outputs for them.

    It is one operation in listings, records and derivatives, and dissolves into its parts when it
    is compiled; at once where values decide its sizes, as in ``x[x > 1]``.  Graphs may use
    others.  Shared tensors in the graph are read when it runs.

    :param inputs: Symbolic variables.
    :type inputs: list of Tensor
    :param outputs: What to compute from them.
    :type outputs: Tensor or list of Tensor
    :param inline: Leave no operation behind, but put the graph's own instead of the call.
    :param vjp, jvp: Derivatives instead of the graph's own: ``vjp(g, y, *xs)``, ``jvp(ts, y,
        *xs)``, as for :func:`agnesi.op`.
    :type vjp, jvp: callable, optional
    :param name: Name for listings and errors.
    :raises TypeError: If an input is no symbolic variable.
    :raises MissingInputError: If the outputs depend on another variable.
    :raises TraceError: If it has derivatives of its own, and results whose sizes are values.
    :see: op, Op, function

    >>> import agnesi as ag
    >>> from agnesi import symbolic as T
    >>> x, y = T.vectors("x", "y")
    >>> op = ag.OpFromGraph([x, y], x * y + 1)
    >>> op(ag.ones(2, dtype="float64"), [2.0, 3.0])
    tensor([3., 4.], dtype=float64)
    """

    def __init__(self, inputs: Sequence[Tensor], outputs: Tensor | Sequence[Tensor], *,
                 inline: bool = False, vjp: Rule | None = None, jvp: Rule | None = None,
                 name: str = "graph") -> None:
        self._single = isinstance(outputs, Tensor)
        if isinstance(inputs, Tensor):
            raise TypeError(at(f"{name}: inputs must be a list of symbolic variables: write "
                               f"[{typed(inputs)}]"))
        results = [outputs] if isinstance(outputs, Tensor) else list(outputs)
        for x in inputs:
            if x.array is not None or x.node is None or x.node.op is not None:
                raise TypeError(at(f"{name}: inputs must be symbolic variables, not {typed(x)}"))
        self.inline = inline
        self.name = name
        self._own = (vjp, jvp)
        self._inputs: list[Any] = [x.node for x in inputs]
        self._outputs = [current(as_tensor(y)) for y in results]
        FunctionGraph(self._inputs, self._outputs)  # complains of variables without a value
        #: States of random numbers: each call draws from others.
        self._states = [n for n in _live_leaves(self._outputs) if hasattr(_variable(n), "another")]
        self._outputs += [current(n.handle.update) for n in self._states]  # type: ignore[union-attr]
        self._live = _live_leaves(self._outputs)
        self._known: dict[Any, GraphOp] = {}
        #: Such a graph is no operation: those around it have to know the sizes.
        self._replays = has_sizes_of_values(self._outputs)
        if self._replays and self._own != (None, None):
            raise TraceError(at(
                f"{name}: a graph with results whose sizes are values has no vjp or jvp of its "
                "own: give these to the part that has none"))

    def __repr__(self) -> str:
        return f"<OpFromGraph {self.name}: {len(self._inputs)} to {len(self._outputs)}>"

    def __call__(self, *xs: Any) -> Any:
        if len(xs) != len(self._inputs):
            raise TypeError(at(f"{self.name} takes {len(self._inputs)} operands, not {len(xs)}"))
        operands = [self._operand(x, n, i) for i, (x, n) in
                    enumerate(zip(xs, self._inputs, strict=True))]
        states = {n: _variable(n).another() for n in self._states}
        declaring = is_declaring() and any(x.array is None for x in operands)
        given = [*operands, *(states[n] if n in states else _outside(n, declaring)
                              for n in self._live)]
        found = self._computed(given)
        for state, new in zip(states.values(), found[len(found) - len(states):], strict=True):
            state.advance(new)
        return found[0] if self._single else found[: len(found) - len(states)]

    def _computed(self, given: Sequence[Tensor]) -> list[Tensor]:
        if self._replays:
            return replayed(self._outputs, dict(zip([*self._inputs, *self._live], given,
                                                    strict=True)))
        op = self._op(given)
        return list(op.body(*given) if self.inline else applied(op, *given))

    def _operand(self, x: Any, wanted: Node, i: int) -> Tensor:
        t = x if isinstance(x, Tensor) else as_tensor(x, wanted.dtype)
        if len(t.shape) != len(wanted.shape):
            raise ShapeError(
                at(f"{self.name}: operand {i} must have {len(wanted.shape)} axes, not {typed(t)}"))
        if not fits(t.dtype, wanted.dtype):
            raise DTypeError(
                at(f"{self.name}: operand {i} must fit into {wanted.dtype}, not {typed(t)}"))
        return cast(t, wanted.dtype)

    def _op(self, given: Sequence[Tensor]) -> GraphOp:
        """Return the operation for operands, and shared variables, of these shapes."""
        key = tuple(x.shape for x in given)
        if key not in self._known:
            count = len(self._inputs)
            own = [Node(None, (), x.shape, x.dtype, False, x.dtype.kind in "fcV")
                   for x in given[:count]]
            rest = [copied_leaf(n) for n in self._live]
            for n, x in zip(rest, given[count:], strict=True):
                n.requires_grad = n.dtype.kind in "fcV"
                n.shape = x.shape
            replaced = dict(zip([*self._inputs, *self._live], [*own, *rest], strict=True))
            body = enclosed([*own, *rest], substituted(self._outputs, replaced))
            self._known[key] = GraphOp(body, self.name, self._own)
        return self._known[key]
