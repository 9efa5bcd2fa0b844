"""Tracing: a Python function runs once on symbols, and its graph remains.

A concrete tensor that the function touches is a live leaf; what is assigned to it inside is its new
value at the end.  Gradients set on concrete tensors are followed separately, because a step that
creates and clears a gradient need not return it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from agnesi.autodiff.recording import Reads, begun, behind, looking
from agnesi.compiler.binding.new_memory import Renewed
from agnesi.compiler.tracing.arguments.arrived import Left
from agnesi.compiler.tracing.arguments.facts import FLAGS, GRAD, IDENTITY, LEAF, REQUIRES
from agnesi.compiler.tracing.obstacles import (
    CaughtErrors,
    ExampleReadError,
    OnceEagerError,
    OnlyEagerError,
)
from agnesi.core.ir.extents import Extent, UnknownSizeError
from agnesi.core.ir.node import Node, next_serial, toposort
from agnesi.core.op import typed
from agnesi.core.storage.layout_queries import Query
from agnesi.core.storage.memory_order import Layout
from agnesi.core.storage.views import looking_through
from agnesi.core.support.config import MODE, STATE, traced, witnessed
from agnesi.core.support.errors import (
    GradientError,
    TraceError,
    at,
    location,
    user_where,
)
from agnesi.core.support.forks import Lock
from agnesi.core.support.tracing import current_trace, finish, present, query_fact
from agnesi.core.tensor import CONSUMED, Tensor, symbol, wrap
from agnesi.ops.base.compare import EQUAL
from agnesi.ops.identity import ALIAS

#: References to what one tensor or one array refers to, where a local name does, too.
_OWN = 3


def _is_seen(x: Tensor) -> bool:
    """Return whether anything but the tensor refers to its array or to the array's base."""
    array: Any = x.array
    while array is not None:
        if sys.getrefcount(array) > _OWN:
            return True
        array = getattr(array, "base", None)
    return False


class GradRecord:
    """The changes of one tensor's ``grad`` during a trace."""

    __slots__ = ("before", "needs_before", "now", "owner", "used", "written")

    def __init__(self, owner: Tensor) -> None:
        self.owner = owner
        self.before = owner._grad
        self.now: Any = owner._grad
        self.needs_before = False
        self.written = False
        self.used = False


class Trace:
    """The state of a trace: live tensors met, their present nodes, their gradients."""

    around = None
    #: Symbols that are not in row-major order, and what variables of bodies stand for where the
    #: body begins (``core.storage.memory_order``).
    laid: dict[int, Layout]
    outside: dict[Node, Node]
    #: Rules that are not to stabilise what is differentiated; None for all.
    exclude: tuple[str, ...] | None = ()
    #: It stands for a run on values, which leaves no graph of its gradients.
    of_values = True
    #: The node of a symbol is the one that it holds.
    keeps_nodes = True
    #: Which sizes of shared variables it has seen (``specialization.present_sizes``).
    shared_sizes: Any = None

    def __init__(self, arguments: Iterable[Tensor] = (), title: str = "the function") -> None:
        #: The function that is traced, for errors.
        self.title = title
        #: Where it began in a ``vmap``: nodes with lower numbers belong to that.
        self.since = 0 if MODE.get().examples is None else next_serial()
        #: Symbols that stand for arguments, by their nodes, and whether ``backward`` got there.
        self.arguments = {x.node: x for x in arguments}
        self.left = Left(self.arguments.values())
        #: Whether a derivative was taken in the body of a loop ("derived"), and whether what was
        #: computed before the trace is derived further ("passing") or changed ("spilled"), which
        #: only Python can do, or whether Python gives values once ("acted").
        self.noticed: set[str] = set()
        #: Counters of changes, and what they were before the trace.
        self.counts: dict[int, tuple[list[Any], int]] = {}
        #: Gradients that were taken; tensors whose were, and that have no hooks.
        self.gradients = set[Node]()
        self.unheard: list[Tensor] = []
        #: Tensors at which the function registers hooks, and those that are registered now.
        self.hooks: list[tuple[Tensor, Mapping[int, Any]]] = []
        #: Tensors that require gradients and held another value for a while.
        self.borrowed: list[Tensor] = []
        self.leaves: dict[int, tuple[Tensor, Node]] = {}
        self.nodes: dict[int, Node] = {}
        self.grads: dict[int, GradRecord] = {}
        #: Where layouts decided whose memory a result is (``core.storage.memory_order.note``).
        self.layout_queries: list[Query] = []
        #: Tensors from outside that the function freezes or thaws, and what they were before.
        self.flags: dict[int, tuple[Tensor, bool]] = {}
        #: Tensors with values that the function made: each call makes its own.
        self.made: dict[int, Tensor] = {}
        #: Those over arrays, and those whose arrays something else sees, too.
        self.given: set[int] = set()
        self.shared: set[int] = set()
        #: Symbols that were changed in place, and what they were before.
        self.born: dict[int, tuple[Tensor, Node]] = {}
        #: What gradients would read of overwritten memory.
        self.reads = Reads()
        #: Symbols that were set to require a gradient, and where it begins.
        self.begun: dict[int, tuple[Tensor, Node]] = {}
        self.laid: dict[int, Layout] = {}
        self.outside: dict[Node, Node] = {}
        #: Operations that refuse some values of their operands, and what bodies that check values
        #: which nothing reads change (``dead_checks.py``).
        self.raising: list[Node] = []
        self.begun_witness = Node(None, (), (), np.dtype(np.int8), value=np.zeros((), np.int8))
        self.witness: Tensor | None = None
        #: Tensors whose memory is replaced by ``x.data = y``.
        self.renewed = Renewed()
        #: Numbers of Python's as tensors, by dtype and value.
        self.numbers: dict[Any, Tensor] = {}
        #: Pullbacks of elementwise operations, by operation and types (``autodiff/pullbacks.py``).
        self.pullbacks: dict[Any, Any] = {}
        #: Sizes that data decides (``specialization.precomputed_sizes``), and Python's decisions.
        self.precomputed: Any = None
        self.decisions: Any = None
        #: Errors that code of the user's caught, or may catch (``obstacles.py``).
        self.caught = CaughtErrors()
        #: What is known of arguments, and what code queries of that (``arguments/facts.py``).
        self.facts: dict[int, Any] = {}
        self.questions: set[str] = set()

    # -- values ---------------------------------------------------------------------------
    def size(self, node: Node, most: Any = None, given: Node | None = None) -> Any:
        """Return the size whose value is an integer scalar; ``most`` is its upper bound where data
        determines it.
        """
        if self.precomputed is None:
            raise TraceError(at("a data-dependent size has no place here"))
        self.decisions.check_size(node)
        return self.precomputed.next(node, present(most), given, self.decisions.token())

    def decide(self, x: Tensor, use: str) -> Any:
        """Return the value that Python decides by; None if it is not known in a call."""
        return None if self.decisions is None else self.decisions.decide(
            self.node_of(x), x.weak, use)

    def note_truth(self, x: Tensor) -> None:
        """Record a truth query of ``a == b``, which containers make for all elements that are not
        the same object; symbols of different arguments never are.
        """
        node = x.node
        if self.decisions is None or node is None or node.op is not EQUAL:
            return
        things = list(map(self._thing, node.inputs))
        if None in things:
            return
        if things[0] == things[1] and node.inputs[0] is not node.inputs[1]:
            raise OnceEagerError("each call has one tensor in two places, and compares them",
                                 "Give a copy (x.clone())", "give different ones")
        self.questions.add(IDENTITY)

    def _thing(self, node: Node) -> int | None:
        """Return the identity of the argument, or of the tensor from outside, that a node stands
        for.
        """
        x = self.arguments.get(node)
        if x is not None:
            return self.facts.get(id(x), {}).get(IDENTITY)
        return next((id(t) for t, n in self.leaves.values() if n is node), None)

    def defer(self, x: Tensor, use: str) -> Any:
        """Return a symbolic number for a use of a tensor; None if Python needs the value."""
        return None if self.decisions is None else self.decisions.defer(x, use)

    def refuse(self, why: str, instead: str = "Do that outside") -> None:
        """End the trace: raise OnlyEagerError, at the user's line."""
        raise OnlyEagerError(f"{why}, at {location(user_where(2))}", instead)

    def refuse_flags(self) -> None:
        """End the trace if ``requires_grad`` of a tensor from outside stays changed, or a hook
        stays registered, which later backward passes would call.
        """
        if any(hooks and (x.node in self.arguments if x.array is None else id(x) not in self.made)
               for x, hooks in self.hooks):
            raise OnlyEagerError("it leaves a hook at a tensor that it does not compute",
                                 "Register hooks outside, or remove them inside")
        keeps = any(x._requires_grad is not before for x, before in self.flags.values())
        self.restore_flags()
        if keeps:
            raise OnlyEagerError("it changes requires_grad of a tensor that it keeps",
                                 "Freeze and thaw tensors between calls")
        for node, x in self.arguments.items():
            if node is not None and x._requires_grad is not node.requires_grad and (
                    x.node is node or id(x) in self.begun):
                self.left.thawed.append(x)
                self.questions.add(REQUIRES)
                if node.requires_grad:
                    self.refuse_thawed()

    def refuse_thawed(self) -> None:
        """End the trace if the function changed ``requires_grad`` of an argument."""
        if self.left.thawed:
            raise OnlyEagerError("it changes requires_grad of an argument",
                                 "Write x.detach().requires_grad_(), or take ag.grad")

    def thawed_at(self, symbols: Sequence[Any]) -> dict[Node, int]:
        """Return the nodes at which gradients of arguments begin for which the function set
        ``requires_grad``, each with its position.
        """
        return {self.begun[id(x)][1]: i for i, x in enumerate(symbols)
                if id(x) in self.begun and any(x is t for t in self.left.thawed)}

    def note_hooks(self, x: Tensor, hooks: Mapping[int, Any]) -> None:
        """Record the hooks that a traced function registers at a tensor."""
        self.hooks.append((x, hooks))

    def depends_on_recording(self, version: Any, reads: Any) -> bool:
        """Return whether a specialization that was traced while gradients were recorded must be
        traced again for calls without: it takes gradients or reads ``requires_grad``, and gradients
        flow to tensors from outside.
        """
        flows = version.parameters or self.begun or any(version.assumed.requiring)
        return version.recording and bool(flows) and (reads.asks(FLAGS) or bool(self.gradients))

    def refuse_text(self, x: Tensor) -> None:
        """Raise if text of a value is made that is not known while a whole function is traced."""
        if self.decisions is not None:
            self.decisions.refuse_text(x)

    def note_flag(self, x: Tensor) -> None:
        """Record ``requires_grad`` of a tensor from outside before it changes."""
        if id(x) in self.nodes:
            raise OnlyEagerError("it changes requires_grad of a tensor that it has used",
                                 "Freeze and thaw tensors before they are used")
        self.flags.setdefault(id(x), (x, x._requires_grad))

    def note_beginning(self, x: Tensor) -> None:
        """Let a tensor with a value that the function made be a symbol: each call's gradients begin
        at its own.
        """
        if x.array is not None and id(x) in self.made:
            x.node, x.array = self.node_of(x), None
            del self.nodes[id(x)]

    def restore_flags(self) -> None:
        """Restore ``requires_grad`` of tensors from outside."""
        for x, before in self.flags.values():
            x._requires_grad = before

    def node_of(self, x: Tensor) -> Node:
        """The node of a tensor's present value."""
        if x.array is None:
            if x.node is None:
                raise TraceError(at("this tensor has neither a value nor a node"))
            return x.node if x.node.requires_grad or not x._requires_grad else begun(self.begun, x)
        found = self.nodes.get(id(x))
        if found is None:
            for t in looking_through(x, lambda t: id(t._view.base) in self.nodes):
                found = self._lifted(t)
        return found  # type: ignore[return-value]

    def note_made(self, x: Tensor, given: bool) -> None:
        """Record a tensor with a value that the function made; ``given``: on an array that may have
        another name.
        """
        self.made[id(x)] = x
        if given:
            self.given.add(id(x))

    def _lifted(self, x: Tensor) -> Node:
        """Return the node of a concrete tensor at its first use: a live leaf, or a view of its
        base.
        """
        if id(x) in self.made:
            if id(x) in self.given and _is_seen(x):
                self.shared.add(id(x))
            node = self.nodes[id(x)] = self.node_of(wrap(x.array))  # as it is at the beginning
            return node
        if not x.array.dtype.isnative:
            raise TypeError(at(f"{typed(x)} lies in memory in the byte order of other machines; "
                               "compiled code takes x.array = x.array.astype(x.dtype.newbyteorder("
                               "'='))"))
        if x._view is not None:
            node = looking(x, self.node_of(x._view.base))
        else:
            node = Node(
                None, (), x.array.shape, x.array.dtype, requires_grad=x._requires_grad,
                handle=lambda: x, name=x._name, where=STATE.line or user_where(2),
            )
        self.leaves[id(x)] = (x, node)
        self.nodes[id(x)] = node
        return node

    def rebind(self, x: Tensor, node: Node, recorded: bool = True) -> None:
        """Assign another value to a tensor."""
        before: Any
        refuse: Any = getattr(type(x), "refuse_change", None)
        if refuse is not None:
            refuse(x)
        if id(x) in self.made and x.array is not None:
            before = self.node_of(x)
            if id(x) in self.shared:
                raise OnlyEagerError(f"it changes memory that an array of NumPy sees, too, at "
                                     f"{location(user_where(2))}", "Make the tensor by ag.tensor")
            x.node, x.array = before, None
            del self.nodes[id(x)]
        if x.array is None:
            before = x.node
            if before.serial < self.since and before not in self.arguments:
                raise ExampleReadError
            self.born.setdefault(id(x), (x, before))
            x.node = node if recorded else behind(before, node, _begins(before))
            x._requires_grad = x.node.requires_grad or (x._requires_grad and not recorded)
            return
        if id(x) not in self.leaves:
            self._lifted(x)
        if not recorded:
            before = self.nodes[id(x)]
            node = behind(before, node, _begins(before))
        if x._requires_grad and not node.requires_grad:
            # A parameter that was assigned is a parameter again: its gradient starts here.
            node = Node(ALIAS, (node,), node.shape, node.dtype, False, True, node.where,
                        handle=lambda: x)
        self.nodes[id(x)] = node

    def changes_tensors(self) -> bool:
        """Return whether the value, gradient or flag of a tensor from outside has changed."""
        given = [x.node is not n or x._requires_grad is not n.requires_grad
                 for n, x in self.arguments.items() if n is not None]
        known = [self.nodes.get(i) is not node for i, (_, node) in self.leaves.items()]
        return bool(self.left) or any(given) or any(known) or any(
            [record.written for record in self.grads.values()])

    def count(self, counter: list[Any]) -> None:
        """Record a version counter before the trace increments it."""
        self.counts.setdefault(id(counter), (counter, counter[0]))

    def uncount(self) -> None:
        """Restore the version counters, because nothing has been changed yet."""
        for counter, before in self.counts.values():
            counter[0] = before

    def borrow(self, x: Tensor, value: Tensor) -> None:
        """Give a tensor a value that its memory does not hold, until ``take_back``."""
        node = self.node_of(value)
        if x._requires_grad:
            node = Node(ALIAS, (node,), node.shape, node.dtype, False, True, node.where,
                        handle=lambda: x)
            self.borrowed.append(x)
        self.leaves[id(x)] = x, node
        self.nodes[id(x)] = node

    def take_back(self, x: Tensor) -> None:
        """Give a tensor the value in its memory again, whatever was assigned to it meanwhile."""
        del self.leaves[id(x)], self.nodes[id(x)]

    def changed(self) -> list[tuple[Tensor, Node, Node]]:
        """Return the live tensors that were assigned: the tensor, its leaf, and the node of its new
        value.
        """
        return [
            (x, leaf, self.nodes[key]) for key, (x, leaf) in self.leaves.items()
            if self.nodes[key] is not leaf and x._view is None
        ]

    def first(self, x: Tensor) -> Node:
        """Return the node of a tensor's value before any change, which determined its layout."""
        return self.born[id(x)][1] if id(x) in self.born else self.node_of(x)

    def decisive(self, arguments: Sequence[Tensor]) -> list[bool]:
        """Return for each argument whether its layout determines which memory is changed in place.
        """
        self._refuse_undecided()
        families, sources = [], []
        for query in self.layout_queries:
            if query.counts():
                families.append(query.family)
                sources.append(query.source)
        reachable: set[Node] = set()
        while sources:
            found = set(toposort(sources, _keeps_layout)) - reachable
            reachable |= found
            sources = [self.outside[n] for n in found if n in self.outside]
        return [self.first(x) in reachable or any(f is x._version for f in families)
                for x in arguments]

    def _refuse_undecided(self) -> None:
        """Raise if memory is changed that a result may share, depending on what is known only at
        run time.

        :raises UnknownSizeError: If it depends on sizes.
        :raises OnlyEagerError: If it depends on values.
        """
        for query in self.layout_queries:
            sizes = query.undecided() if query.counts() else None
            if sizes is None:
                continue
            self.uncount()
            if any(isinstance(n, Extent) for n in sizes):
                raise UnknownSizeError("whether a reshape gives a view depends on sizes")
            raise OnlyEagerError(
                "whether a reshape of a slice gives a view depends on the slice's bounds, which "
                "are computed values, and memory of one of the two is changed",
                "Copy before reshaping, x[a:b].clone().reshape(shape), or write into the slice")

    def derived(self, gradients: Iterable[Tensor]) -> None:
        """Record the gradients that a derivative returned."""
        self.gradients.update(self.node_of(g) for g in gradients)

    @property
    def derives(self) -> bool:
        """Return whether a derivative was taken, here or in the body of a loop."""
        return bool(self.gradients) or "derived" in self.noticed

    # -- gradients ------------------------------------------------------------------------
    def _record(self, t: Tensor) -> GradRecord:
        found = self.grads.get(id(t))
        if found is None:
            found = self.grads[id(t)] = GradRecord(t)
        return found

    def read_grad(self, t: Tensor, adds: bool = False) -> Any:
        """Return ``t.grad``; ``adds`` says that it is read only to be added to."""
        if t.array is None:
            known = self.left.get(id(t))
            if known is not None and not adds:
                self.questions.add(IDENTITY)  # another argument may be the same tensor
            if not adds and (t._grad is None if known is None else known[1]):
                query_fact(t, GRAD)
            return t._grad
        record = self._record(t)
        if not record.written:
            record.needs_before = True
            if record.now is CONSUMED:
                raise GradientError(
                    at(
                        f"the gradient of {typed(t)} was made and used up by an earlier compiled "
                        "step; call zero_grad() first, or compile with ag.jit(keep_grads=True)"
                    )
                )
        elif record.now is not None:
            record.used = True
        return record.now

    def keeps_overwritten(self, t: Tensor) -> bool:
        """Return whether the gradient was consumed by an earlier step, and not assigned since."""
        record = self._record(t)
        if not record.written:
            record.needs_before = True
        return record.now is CONSUMED

    def target_of(self, leaf: Node, heard: bool) -> Tensor | None:
        """Return the argument that a leaf stands for, if it is no live tensor.

        If hooks may see its gradient (``heard``), only the Python function can leave that there,
        which is recorded.
        """
        found = self.arguments.get(leaf) if leaf.requires_grad else None
        self.left.reached = self.left.reached or (heard and found is not None)
        return found

    def write_grad(self, t: Tensor, grad: Any, adds: bool = False) -> None:
        """Perform ``t.grad = grad``; ``adds`` says that ``grad`` is the present gradient plus
        another.
        """
        if t.array is None:
            t._grad = grad
            if id(t) in self.left.own:
                self.questions.add(REQUIRES)
                facts = query_fact(t, LEAF) or {}
                if not facts.get(LEAF) or current_trace() is not self:
                    self.left.reached = True
                only = adds and self.left.get(id(t), (t, True))[1]
                if not only:
                    self.questions.add(IDENTITY)
                self.left[id(t)] = t, only
            return
        record = self._record(t)
        record.now, record.written, record.used = grad, True, False


def _begins(node: Node) -> bool:
    """Return whether a node is the leaf of its own tensor, at which gradients end."""
    return node.op is None or (node.op is ALIAS and node.handle is not None)


def _keeps_layout(node: Node) -> bool:
    """Return whether a value's layout does not depend on the layout of its operands."""
    op = node.op
    return op is None or not (op.view or op.changes or op.layout_of is not None)


#: Under which functions are traced: what they change meanwhile holds symbols.
TRACING = Lock()


@contextmanager
def tracing(trace: Trace) -> Iterator[Trace]:
    """A context in which operations of this thread are recorded by ``trace``."""
    try:
        with TRACING.lock, witnessed(), traced(trace, examples=None):
            yield trace
    finally:
        trace.renewed.restore()
        finish([*trace.arguments, *(node for _, node in trace.leaves.values())],
               f"{trace.title}, a jitted function,")


def stand_in(shape: Any, dtype: Any, *, weak: bool = False, name: str | None = None,
             requires_grad: bool = False) -> Tensor:
    """Return a symbol for an argument of a traced function."""
    return symbol(Node(None, (), shape, dtype, weak, requires_grad, name=name))
