"""Tracing the body of a loop or branch: what it computes, takes from outside, and changes there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from agnesi.autodiff.recording import Reads, begun, behind, is_leaf, looking
from agnesi.core.dispatch import assign, current, node_of_type, notice
from agnesi.core.graph import FunctionGraph, constant_value, live_tensor
from agnesi.core.ir.node import Node, executed, next_serial, toposort
from agnesi.core.op import typed
from agnesi.core.storage.memory_order import stands_for
from agnesi.core.storage.views import looking_through
from agnesi.core.substitution import copied, substituted
from agnesi.core.support.config import MODE, traced
from agnesi.core.support.errors import MissingInputError, TraceError, Where, at, user_where
from agnesi.core.support.tracing import current_reads, current_trace, finish, within
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.control.body import Body
from agnesi.ops.identity import ALIAS, STOP

#: How deep bodies may be nested; deeper ones come from recursion without an end.
_MAX_NESTED_BODIES = 40
#: Constants up to this size stay inside of a body; greater ones are given to it.
_INSIDE_BYTES = 1 << 12
_LEFT = (
    "the body of a loop or branch leaves a gradient with {}; call backward() outside, or let each "
    "step begin with zero_grad() and use the gradient up"
)


def stand_in(shape: Any, dtype: Any, weak: bool = False, name: str | None = None,
             where: Where = None) -> Tensor:
    """Return a free variable of a body, which requires a gradient if its dtype can."""
    return symbol(Node(None, (), tuple(shape), dtype, weak, dtype.kind in "fcV", where, name=name))


class Capture:
    """A tensor from outside that a body uses, and the variable that stands for it inside."""

    __slots__ = ("inner", "key", "now", "outer", "owner", "view")

    def __init__(self, key: Any, outer: Tensor, inner: Node, owner: Tensor | None = None) -> None:
        self.key = key
        self.outer = outer
        self.inner = inner
        self.now = inner
        self.owner = owner  # whose gradient it is, if it is one
        self.view: Tensor | None = None  # itself, if it looks into something else

    @property
    def changed(self) -> bool:
        """Whether the body assigns a new value to it."""
        return self.now is not self.inner

    def store(self, value: Tensor) -> None:
        """Assign the value after the loop to the outside tensor."""
        advance = getattr(self.outer, "advance", None)  # a state of random numbers
        if advance is not None:
            advance(value)
            return
        if self.owner is None:
            assign(self.outer, value, checked=True, state=True)
            return
        self.owner.grad = None
        self.owner.grad = value
        _ = self.owner.grad  # the steps have used it up


class _Gradient:
    """The ``grad`` of an outside tensor as the body uses it; ``fresh`` if the body sets it before
    reading it.
    """

    __slots__ = ("fresh", "now", "owner", "used")

    def __init__(self, owner: Tensor, fresh: bool) -> None:
        self.owner = owner
        self.fresh = fresh
        self.now: Any = None
        self.used = False


class BodyTrace:
    """The state of a trace of the body of a loop, branch or operation.

    Nodes that are older than the trace are from outside; each becomes a capture at its first use.
    """

    keeps_nodes = False
    #: Whether each step may find sizes of its own: it is a graph by itself then.
    finds_sizes = False
    #: Whether the loop is traced once more where its steps find sizes: they are called then.
    is_tried_again = False
    #: Whether it is a plan of an eager call, in which draws of random numbers are operations.
    plans = False

    def __init__(self, around: Any) -> None:
        self.around = around
        self.depth: int = around.depth + 1 if isinstance(around, BodyTrace) else 1
        if self.depth > _MAX_NESTED_BODIES:
            raise TraceError(
                at(
                    f"bodies of loops and branches lie {_MAX_NESTED_BODIES} deep in each other: a "
                    "function that calls itself in a branch has no end while a graph is written; "
                    "write a loop (ag.while_loop, ag.scan), or run it eagerly"
                )
            )
        self.since = next_serial()
        #: Behind which numbers, and before which, nodes were made outside while it was under way.
        self._left: list[int] = []
        self._entered: list[int] = []
        #: Tensors whose gradients are computed, and have no hooks so far: the trace's around.
        self.unheard: list[Tensor] = [] if around is None else around.unheard
        self.differentiated: set[Node] = set()
        #: The ``vmap`` that it began in, if any.
        self.examples = MODE.get().examples
        self.noticed: set[str] = set()
        self.variables: list[Any] = []
        self.captures: dict[Any, Capture] = {}
        #: Variables that have the same value in every step, and what that is outside.
        self.fixed: dict[Node, Tensor] = {}
        self.inner: dict[int, tuple[Tensor, Node]] = {}
        #: Symbols from outside that were changed, what they were there, and by what key.
        self.restored: dict[int, tuple[Tensor, Any, bool, Node]] = {}
        self.grads: dict[int, _Gradient] = {}
        #: What gradients would read of overwritten memory.
        self.reads = Reads()
        #: Views that looked again in the body: what they saw is not known behind it.
        self.looked: list[Tensor] = []
        #: Symbols marked as requiring a gradient, and where it begins.
        self.begun: dict[int, tuple[Tensor, Node]] = {}
        #: Operations that refuse some values of their operands (``compiler.tracing.dead_checks``).
        self.raising: list[Node] = []

    def variable(self, x: Any, weak: bool = False) -> Tensor:
        """Return a free variable of the body, with the shape and dtype of ``x``."""
        made = stand_in(x.shape, x.dtype, weak)
        self.variables.append(made.node)
        if isinstance(x, Tensor):
            stands_for(made.node, x)  # type: ignore[arg-type]
        return made

    # -- what a trace is asked ----------------------------------------------------------------
    def node_of(self, x: Tensor) -> Node:
        """Return the node of a tensor's present value."""
        if x.array is not None:
            found = self.captures.get(id(x))
            if found is not None:
                return found.now
            kept = self.inner.get(id(x))
            if kept is not None:
                return kept[1]
            *bases, x = looking_through(x, self._is_base)
            for t in bases:
                self._lifted(t)
            return self._lifted(x)
        if x.node is None:
            raise TraceError(at("this tensor has neither a value nor a node"))
        node, begins = x.node, x._requires_grad and not x.node.requires_grad
        if self.is_own(node):
            return begun(self.begun, x) if begins else node
        around = self._outside(x)
        inner = self._captured(around, symbol(around), around)
        if x._view is not None:
            self.captures[around].view = x
        if begins:
            inner.handle = lambda: x
        return inner

    def _outside(self, x: Tensor) -> Node:
        """Return the outer node of a symbol; a new leaf if the symbol requires a gradient that its
        node does not carry.
        """
        node: Any = x.node
        if self.around is None or not x._requires_grad or node.requires_grad:
            return node
        return self.around.node_of(x)

    def is_own(self, node: Node) -> bool:
        """Return whether a node was made by the body."""
        n = node.serial
        return n >= self.since and not any(
            a < n < b for a, b in zip(self._left, self._entered, strict=False))

    def leave(self) -> None:
        """Treat nodes that are made from here on as outside nodes."""
        self._left.append(next_serial())

    def enter(self) -> None:
        """Treat nodes that are made from here on as the body's."""
        self._entered.append(next_serial())

    def outward(self, node: Node) -> Node | None:
        """Return a node of the outer graph that has the value of a body's node in every step; None
        if there is none.
        """
        outer = {**self.fixed, **{
            c.inner: c.outer for c in self.captures.values() if not c.changed}}
        order = [n for n in toposort([node], lambda n: n in outer) if self.is_own(n)]
        if any(n.op is None and n not in outer and constant_value(n) is None for n in order):
            return None
        with within(self.around):
            replaced = {n: current(t) for n, t in outer.items() if n in order}
            return substituted([node], replaced)[0]

    def reaching(self, root: Node, targets: Sequence[Tensor]) -> Node:
        """Return a value of a declared body with a path to ``targets`` from outside: captured
        values that depend on them are recomputed inside.
        """
        ends = {x.node for x in targets if x.array is None and not self.is_own(x.node)}  # type: ignore
        if self.around is not None or not ends:
            return root
        used = set(toposort([root]))
        taken = {c.key: c for c in self.captures.values()
                 if c.inner in used and isinstance(c.key, Node) and not c.changed}
        done: dict[Node, Node] = {}
        for node in toposort(list(taken), ends.__contains__):
            if node in ends:
                done[node] = self.node_of(symbol(node))
            elif any(n in done for n in node.inputs):
                inputs = [done[n] if n in done else self.node_of(symbol(n)) for n in node.inputs]
                done[node] = copied(node, tuple(inputs))
        swaps = {c.inner: done[key] for key, c in taken.items() if key in done and key not in ends}
        return substituted([root], swaps)[0] if swaps else root

    def _is_born(self, x: Tensor) -> bool:
        """Return whether a tensor was made by the body."""
        return x.array is None and id(x) not in self.restored and self.is_own(x.node)  # type: ignore

    def _is_computed(self, x: Tensor) -> bool:
        """Return whether a concrete tensor was computed by a recorded operation, of this trace or
        an outer one.
        """
        if not self.of_values:
            return x.node is not None and x.node.op is not None
        if isinstance(self.around, BodyTrace) and id(x) not in self.around.inner:
            return self.around._is_computed(x)
        node = self.around.node_of(x)
        begins = node.op is None or (node.op is ALIAS and node.handle is not None)
        return bool(node.requires_grad) and not begins

    def _captured(self, key: Any, outer: Tensor, like: Node) -> Node:
        found = self.captures.get(key)
        if found is None:
            inner = stand_in(like.shape, like.dtype, like.weak, like.name, user_where(2)).node
            if outer.array is not None and outer._requires_grad and not self._is_computed(outer):
                inner.handle = lambda: outer  # type: ignore[union-attr] # for backward()
            found = self.captures[key] = Capture(key, outer, inner)  # type: ignore[arg-type]
            stands_for(inner, outer)  # type: ignore[arg-type]
        return found.inner

    def _is_base(self, x: Tensor) -> bool:
        """Return whether a view is captured through its base, or is a leaf itself."""
        view: Any = x._view
        known = id(view.base) in self.captures or id(view.base) in self.inner
        return known or view.base.array is None or (x._requires_grad and is_leaf(x))

    def _lifted(self, x: Tensor) -> Node:
        """Return the node of a concrete tensor at its first use in the body."""
        data: Any = x.array
        if x._view is not None and not (x._requires_grad and is_leaf(x)):
            node = looking(x, self.node_of(x._view.base))
        else:
            leaf = Node(None, (), data.shape, data.dtype, handle=lambda: x, name=x._name)
            if live_tensor(leaf) is not None or data.nbytes > _INSIDE_BYTES:
                return self._captured(id(x), x, leaf)
            node = Node(None, (), data.shape, data.dtype, value=data)
        self.inner[id(x)] = x, node
        return node

    def rebind(self, x: Tensor, node: Node, recorded: bool = True) -> None:
        """Assign another value to a tensor."""
        if x._view is not None:
            self.looked.append(x)
        if x.array is not None:
            self._rebind_concrete(x, node, recorded)
            return
        outside = id(x) in self.restored or not self.is_own(x.node)  # type: ignore[arg-type]
        before = self.node_of(x) if outside or not recorded else None
        if outside and id(x) not in self.restored:
            self.restored[id(x)] = x, x.node, x._requires_grad, self._outside(x)
        if before is not None and not recorded:
            node = behind(before, node, before.handle is not None)
        if outside and x._view is None:
            capture = self.captures[self.restored[id(x)][3]]
            capture.now, capture.outer = node, x
        x.node = node
        x._requires_grad = node.requires_grad or (x._requires_grad and not recorded)

    def _rebind_concrete(self, x: Tensor, node: Node, recorded: bool) -> None:
        before = self.node_of(x)
        node = node if recorded else behind(before, node, not self._is_computed(x))
        if x._requires_grad and not node.requires_grad:
            # A parameter that was assigned is a parameter again: its gradient starts here.
            node = Node(ALIAS, (node,), node.shape, node.dtype, False, True, node.where,
                        handle=lambda: x)
        if id(x) in self.captures:
            self.captures[id(x)].now = node
        else:
            self.inner[id(x)] = x, node

    def count(self, counter: list[Any]) -> None:
        """Record a version counter before the trace increments it."""
        if self.around is not None:
            self.around.count(counter)

    def derived(self, gradients: Iterable[Tensor]) -> None:
        """Record that a derivative was taken."""
        notice("derived")

    def read_grad(self, t: Tensor, adds: bool = False) -> Any:
        """Return ``t.grad`` in the body; ``adds`` says that it is read only to be added to."""
        if self._is_born(t):
            return t._grad
        record = self.grads.get(id(t))
        if record is not None:
            record.used = True
            return record.now
        return t._grad if self.around is None else self.around.read_grad(t, adds)

    def target_of(self, leaf: Node, heard: bool) -> Tensor | None:
        """Return the argument of an outer function that a leaf stands for; None for variables of
        the body, whose gradients do not last.
        """
        for c in self.captures.values():
            if c.inner is leaf and isinstance(c.key, Node) and self.around is not None:
                found: Tensor | None = self.around.target_of(c.key, True)
                return found
        return None

    def keeps_overwritten(self, t: Tensor) -> bool:
        """Return False: a body reports an error when it reads a consumed gradient."""
        return False

    def write_grad(self, t: Tensor, grad: Any, adds: bool = False) -> None:
        """Perform ``t.grad = grad`` in the body; ``adds`` says that ``grad`` is the present
        gradient plus another.
        """
        if self._is_born(t):
            t._grad = grad
            return
        record = self.grads.get(id(t))
        if record is None:
            record = self.grads[id(t)] = _Gradient(t, grad is None)
        record.now, record.used = grad, False

    @property
    def of_values(self) -> bool:
        """Return whether the trace stands for an eager run, whose gradients are not part of a
        graph.
        """
        return self.around is not None and bool(self.around.of_values)

    # -- results ------------------------------------------------------------------------------
    def states(self) -> list[Capture]:
        """Return the captures that the body changes in place, and the gradients that it sets, which
        the loop carries.
        """
        found = [c for c in self.captures.values() if c.changed]
        for record in self.grads.values():
            if record.now is None:
                continue
            if not (record.fresh and record.used):
                raise TraceError(at(_LEFT.format(typed(record.owner))))
            inner: Any = stand_in(record.now.shape, record.now.dtype).node
            made = Capture(("grad", id(record.owner)), record.owner, inner, record.owner)
            made.now = record.now.node
            found.append(made)
        return found

    def meet(self, other: BodyTrace, states: Sequence[Capture]) -> None:
        """Add the states of another body of the same operation, since all its bodies carry the
        same.
        """
        self.restored |= other.restored
        for s in states:
            self.captures.setdefault(s.key, s)

    def views(self) -> dict[Node, Node]:
        """Return the views of memory that the body changes, which are made again in every step."""
        seen = [(c.inner, c.view) for c in self.captures.values() if c.view is not None]
        found = {inner: self._seen(x) for inner, x in seen}
        return {inner: node for inner, node in found.items() if node is not None}

    def _seen(self, x: Tensor) -> Node | None:
        """Return the node of an outside tensor's value at the beginning of a step, if the body
        changes its memory.
        """
        root, *views = looking_through(x)
        before = self.restored.get(id(root))
        capture = self.captures.get(id(root) if before is None else before[3])
        if capture is None or not capture.changed:
            return None
        node = capture.inner
        for view in views:
            op: Any = view._view.op
            operands = [self.node_of(symbol(n)) for n in view._view.operands]  # places by values
            node = node_of_type(op, (node, *operands), op.infer(node, *operands), user_where(2))
        return node

    def clear(self) -> None:
        """Set ``grad`` to None for the outside tensors for which the body does."""
        for record in self.grads.values():
            if record.now is None:
                record.owner.grad = None

    def restore(self) -> None:
        """Restore the values of outside symbols that the body changed.

        Views of them are computed again at their next use.
        """
        for x, node, requires_grad, _ in self.restored.values():
            x.node, x._requires_grad = node, requires_grad
        for x in self.looked:
            if x._view is not None:
                x._view.seen = None


@contextmanager
def body_trace(record: bool = True) -> Iterator[BodyTrace]:
    """A context in which operations of this thread are traced as those of a body."""
    trace, reads = BodyTrace(current_trace()), current_reads()
    inside = nullcontext() if reads is None else reads.body()
    try:
        with traced(trace, recording=record), inside:
            yield trace
    finally:
        trace.restore()
        finish([*trace.variables, *(c.inner for c in trace.captures.values())],
               "the body of a loop or branch")


# -- closing ----------------------------------------------------------------------------------
def close(trace: BodyTrace, variables: Sequence[Tensor | Node],
          outputs: Sequence[Node]) -> tuple[Body, list[Tensor]]:
    """Return the body of a trace, and the tensors from outside, which become its last operands."""
    (body,), operands = close_all([(trace, variables, outputs)])
    return body, operands


def close_all(
    parts: Sequence[tuple[BodyTrace, Sequence[Any], Sequence[Node]]]
) -> tuple[list[Body], list[Tensor]]:
    """Close several bodies that take their own variables, followed by the same outside tensors."""
    shared: dict[Any, Capture] = {}
    made = []
    for trace, variables, outputs in parts:
        inputs: list[Any] = [v.node if isinstance(v, Tensor) else v for v in variables]
        nodes = _stopped(outputs, inputs)
        used = set(toposort(nodes, set(inputs).__contains__))
        seen = {inner: node for inner, node in trace.views().items() if inner in used}
        used |= set(toposort([*seen.values()], set(inputs).__contains__))  # what views look into
        own = {
            c.key: c for c in trace.captures.values() if c.inner in used and c.inner not in inputs
        }
        constants = {c.inner: _constant(c) for c in own.values()}
        givens = {inner: value for inner, value in constants.items() if value is not None}
        givens |= seen
        own = {key: c for key, c in own.items() if c.inner not in givens}
        for key, c in own.items():
            shared.setdefault(key, c)
        made.append((inputs, nodes, own, givens))
    bodies = []
    for inputs, nodes, own, givens in made:
        rest = [own[k].inner if k in own else copied_leaf(c.inner) for k, c in shared.items()]
        bodies.append(Body(_closed([*inputs, *rest], nodes, givens)))
    return bodies, [c.outer for c in shared.values()]


def _closed(inputs: Sequence[Node], nodes: Sequence[Node],
            givens: Mapping[Node, Node]) -> FunctionGraph:
    try:
        return FunctionGraph(inputs, nodes, givens)
    except MissingInputError:
        raise TraceError(
            at(
                "a value from the body of another loop or branch was used: it was kept in a "
                "variable when that body ended. Return it from there, or carry it"
            )
        ) from None


def enclosed(inputs: Sequence[Node], outputs: Sequence[Node]) -> Body:
    """Return a body made of nodes that are part of a graph already."""
    return Body(FunctionGraph(inputs, _stopped(outputs, inputs)))


def _constant(capture: Capture) -> Node | None:
    """The constant that a capture stands for, if it is a small one that does not change."""
    node = capture.key
    if not isinstance(node, Node) or capture.changed or node.op is not None:
        return None
    value = None if node.handle is not None else constant_value(node)
    if value is None or value.nbytes > _INSIDE_BYTES:
        return None
    return Node(None, (), node.shape, node.dtype, value=value)


def copied_leaf(node: Node) -> Node:
    """Return a new leaf with the shape, dtype and name of a node, for a copy of a body."""
    return Node(None, (), node.shape, node.dtype, False, node.requires_grad, node.where,
                name=node.name)


def _stopped(outputs: Sequence[Node], inputs: Sequence[Node]) -> list[Node]:
    """Return outputs in which every gradient stop is an operation.

    Nodes that were computed while nothing was recorded stop gradients by a flag; here each gets an
    operation instead.
    """
    known = set(inputs)
    order = executed(outputs, known.__contains__)
    if not any(map(is_cut, order)):
        return list(outputs)
    done: dict[Node, Node] = {}
    for node in order:
        if node.op is None or node in known:
            done[node] = node
            continue
        new = copied(node, tuple([done[n] for n in node.inputs]))
        new.requires_grad = _would_flow(new)
        if new.requires_grad and not node.requires_grad and node.outputs is None:
            new = Node(STOP, (new,), node.shape, node.dtype, where=node.where)
        done[node] = new
    return [done[n] for n in outputs]


def _would_flow(node: Node) -> bool:
    flows = node.op.differentiable and any(n.requires_grad for n in node.inputs)
    return flows and (node.dtype.kind in "fcV" or node.outputs is not None)


def is_cut(node: Node) -> bool:
    """Return whether gradients stop at a node that was computed while nothing was recorded."""
    return node.op is not None and not node.requires_grad and _would_flow(node)
