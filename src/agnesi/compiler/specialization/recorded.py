"""Gradients through calls of jitted functions: the call is one operation of the eager record."""

from __future__ import annotations

import functools
import operator
import weakref
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from agnesi.autodiff.checkpoint import as_before, same_draws
from agnesi.autodiff.recording import alias
from agnesi.autodiff.reverse import existing, overwritten
from agnesi.compiler.specialization.invalidation import Retired
from agnesi.compiler.tracing.arguments.numpy_numbers import NumPyNumber
from agnesi.compiler.tracing.process.output import silent
from agnesi.core.calls.autocasting import casting
from agnesi.core.dispatch import current, record, record_many
from agnesi.core.graph import live_tensor
from agnesi.core.ir.node import Node, next_serial, toposort
from agnesi.core.op import Op
from agnesi.core.storage.consumed_results import SpentNode
from agnesi.core.support.config import STATE
from agnesi.core.support.errors import GradientError, at
from agnesi.core.support.tracing import current_trace, is_tracing, share_facts
from agnesi.core.support.tree import flatten
from agnesi.core.tensor import Tensor, as_kind, wrap
from agnesi.ops.arrays.replicate import copy
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.creation import zeros
from agnesi.ops.identity import ALIAS
from agnesi.runtime.support import still_seen


class CompiledCall(Op):
    """A call of a jitted function; its derivative is compiled too, at the first backward pass.

    Inputs are the arguments that require grad, then the tensors to which the function's gradients
    go without being given them.
    """

    name = "jit"

    def __init__(self, version: Any, leaves: Sequence[Any], state: Sequence[Tensor],
                 arguments: Sequence[int], results: Sequence[Tensor]) -> None:
        self.version = version
        self.leaves = leaves
        self.state = state
        self.arguments = tuple(arguments)
        #: Tensors whose gradients the function requested, each with what it had.
        self.expected = version.expected
        #: The memory of what it reads without being given it: ``x.data = y`` gives other.
        self.memory = [x.array for x in version.read] if version.read else []
        self.types = [(t.array.shape, t.array.dtype) for t in results]
        #: The names of the leaves at the call, whether they required gradients, and the attributes
        #: that programs gave them, if the function requests such facts.
        self.seen: Sequence[tuple[str | None, bool, dict[str, Any]]] = ()
        if version.assumed.queries:
            self.seen = [(v._name, v._requires_grad, dict(vars(v))) if isinstance(v, Tensor)
                         else (None, False, {}) for v in leaves]
        self.outputs = len(results)  # type: ignore[misc]
        self.serial = next_serial()

    def label(self) -> str:
        return f"jit[{self.version.owner.name}]"

    @property
    def hears(self) -> bool:
        """Return whether the function registers hooks on what it computes."""
        found: bool = self.version.hears
        return found

    @property
    def reads(self) -> Sequence[Tensor]:
        known = self.arguments
        return (*self.version.read, *[v for i, v in enumerate(self.leaves)
                                      if i not in known and isinstance(v, Tensor)])

    def linked(self, result: int) -> list[int]:
        """Return the inputs that gradients of one of several results arrive at, by position."""
        fed, ends = self.version.fed, len(self.arguments)
        positions = {k: self.arguments.index(i) for k, i in enumerate(fed) if i in self.arguments}
        positions |= {len(fed) + k: ends + k for k in range(len(self.version.ends))}
        return [positions[k] for k in self.version.links[result] if k in positions]

    def needs(self, i: int, inputs: Any) -> bool:
        """Return whether the compiled derivative reads an input; called if that was changed."""
        count = len(self.arguments)
        return self._needs(self.leaves[self.arguments[i]] if i < count
                           else self.version.ends[i - count])

    def _needs(self, x: Tensor) -> bool:
        cotangents = [zeros(s, dtype=d) for s, d in self.types]
        seen = self._as_seen(self.leaves) if self.seen else self.leaves
        leaves, tree = flatten(((seen, cotangents, self.arguments, self.state), {}))
        x = next((s for v, s in zip(self.leaves, seen, strict=True) if v is x), x)
        with _as_called(self.version, self._changed()):
            pull = self.version.pull.version(leaves, tree)
        graph = pull.compiled.graph
        read = set(graph.nodes)
        given = [n for n, i in zip(graph.inputs, pull.arrays, strict=False) if leaves[i] is x]
        return any(n in read for n in given) or any(live_tensor(n) is x for n in graph.live)

    def _as_seen(self, leaves: Sequence[Any]) -> list[Any]:
        """The leaves with the names, flags and attributes that the call saw, if it looked."""
        found = list(leaves)
        for i, (name, requires, attributes) in enumerate(self.seen):
            v = found[i]
            if isinstance(v, Tensor) and (v._name != name or v._requires_grad is not requires
                                          or _differ(vars(v), attributes)):
                v = found[i] = as_kind(Tensor, v)
                v._name, v._requires_grad = name, requires
                vars(v).update(attributes)
                if not requires:
                    v.node = None
        return found

    def vjp(self, g: Any, y: Any, *xs: Tensor) -> tuple[Any, ...]:
        version, serial = self.version, self.serial
        for x, memory in zip(version.read, self.memory, strict=False):
            if x.array is not memory and self._needs(x):
                raise overwritten(current(x))
        for x in self.reads:
            if x._version is not None and x._version[0] > serial and self._needs(x):
                raise overwritten(current(x))
        gs = [g] if self.outputs == 1 else list(g)
        leaves = list(self.leaves)
        for i, x in zip(self.arguments, xs, strict=False):
            if x.array is not None:  # else it was changed, and is not read
                leaves[i] = x
        if self.seen:
            leaves = self._as_seen(leaves)
        if not (STATE.recording or version.assumed):
            leaves = [without_gradient(v) for v in leaves]
            gs = [without_gradient(g, in_order=True) for g in gs]
        found: tuple[Any, ...]
        then = self._changed()
        if not then:
            found = version.pull(leaves, gs, self.arguments, self.state)
            return found
        with _as_called(version, then):
            found = version.pull(leaves, gs, self.arguments, self.state)
        return found

    def _changed(self) -> list[tuple[Any, Any]]:
        """Return the sources that have changed since the call (gradients of tensors, attributes,
        elements, names), each with its value at the call.
        """
        version = self.version
        then: list[tuple[Any, Any]] = []
        if self.expected:
            then += [(_Gradient(x), g) for x, g in self.expected if x._grad is not g]
        if version.hidden:
            hidden = self.leaves[version.argument_tree.leaves:]
            then += [(p, v) for p, v in zip(version.hidden.values(), hidden, strict=False)
                     if p.now() is not v]
        if version.blind or not still_seen()(version.watched_at):
            with casting(version.autocast, recording=version.recording):  # as it runs again
                then += [(p, p.value) for p in version.sources
                         if not p.holds() and type(p) is not Retired]
        return then


class _Gradient:
    """A source: the ``grad`` of a tensor."""

    def __init__(self, owner: Tensor) -> None:
        self.owner = owner

    def now(self) -> Any:
        return self.owner._grad

    def undo(self, value: Any) -> None:
        self.owner._grad = value


def without_gradient(value: Any, in_order: bool = False) -> Any:
    """An argument as native code takes it, which leaves recorded tensors to Python: as it is, or a
    tensor on the same memory that requires no gradient, or on a row-major copy if it is to be
    ``in_order`` and is not."""
    memory, requires = value, False
    if isinstance(value, Tensor):
        memory, requires = value.array, value._requires_grad
    if not (requires or in_order) or type(memory) is not np.ndarray:
        return value
    if in_order and not memory.flags.c_contiguous:
        return wrap(np.asarray(memory, order="C"))
    return wrap(memory) if requires else value


def _differ(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """Return whether two tensors have other attributes."""
    return a.keys() != b.keys() or any(a[name] is not b[name] for name in a)


def pullback_of(version: Any) -> Any:
    """Return the derivative of a version: a function of argument leaves and cotangents that runs
    the Python function again under a record.
    """
    owner, tree = version.owner, version.argument_tree

    def pull(leaves: list[Any], cotangents: list[Any], arguments: tuple[int, ...],
             state: list[Tensor]) -> Any:
        leaves = list(leaves)
        for i in version.mutated:
            given, leaves[i] = leaves[i], copy(as_tensor(leaves[i]))
            _let_answer(leaves[i], given)
        mode = casting(version.autocast, recording=version.recording)
        with _holding(version.changed, state), mode, same_draws():
            for i in arguments:
                given, leaves[i] = leaves[i], alias(leaves[i])
                _let_answer(leaves[i], given)
            args, keywords = tree.build(leaves)
            with silent():
                results = _results(version, owner.function(*args, **keywords))
            inputs = [{current(leaves[i])} for i in arguments]
            inputs += _nodes_of(version, [n for n in results if n is not None])
        seeds: dict[Node, Any] = {}
        for node, g in zip(results, cotangents, strict=True):
            if node is not None and g is not None:
                seeds[node] = seeds[node] + g if node in seeds else g
        wrt = [n for nodes in inputs for n in nodes]
        found = existing(seeds, wrt, wrt)  # on values, one may depend on another
        return [_total([found[n] for n in nodes if n in found]) for nodes in inputs]

    pull.__name__ = f"gradient of {owner.name}"
    pull.derived = owner.function  # type: ignore[attr-defined]
    return pull


def _results(version: Any, returned: Any) -> list[Node | None]:
    """Return the nodes of the tensors among the results when the function has run again.

    None for numbers, and for results that are None this time, such as gradients of branches that
    only compiled code takes.
    """
    outputs, shape = flatten(returned)
    if len(outputs) != len(version.outputs):
        found = dict(zip(shape.paths("result"), outputs, strict=True))
        outputs = [found.get(path) for path in version.tree.paths("result")]
    return [current(v) if isinstance(v, Tensor) and not isinstance(v, NumPyNumber) else None
            for v, known in zip(outputs, version.outputs, strict=True) if isinstance(known, Tensor)]


@contextmanager
def _as_called(version: Any, then: Sequence[tuple[Any, Any]]) -> Iterator[None]:
    """A context in which everything that the function reads has the value that it had at the
    recorded call.
    """
    now: list[tuple[Any, Any]] = []
    try:
        for p, value in then:
            before = p.now()
            try:
                p.undo(value)
            except TypeError:
                raise GradientError(at(
                    f"the gradient of a call of {version.owner.name} runs it again, and what it "
                    f"reads was changed since: {p.change()}; take the gradient before")) from None
            now.append((p, before))
        yield
    finally:
        for p, value in reversed(now):
            p.undo(value)


def _total(gs: Sequence[Tensor]) -> Tensor | None:
    return functools.reduce(operator.add, gs) if gs else None


def _nodes_of(version: Any, results: Sequence[Node]) -> list[set[Node]]:
    """Return for each parameter the nodes at which its gradient arrives; parameters that are
    changed may have several.
    """
    borrowed = set(map(id, version.borrowed))
    found = [set() if id(p) in borrowed else {current(p)} for p in version.ends]
    several = borrowed | {id(p) for p in version.changed if p.requires_grad}
    if several:
        ends = set().union(*found)
        indices = {id(p): i for i, p in enumerate(version.ends)}
        for node in toposort(results, lambda n: not n.requires_grad or n in ends):
            owner = node.handle() if node.handle is not None else None
            if id(owner) in several and id(owner) in indices:
                found[indices[id(owner)]].add(node)
    return found


@contextmanager
def _holding(tensors: Sequence[Tensor], values: Sequence[Tensor]) -> Iterator[None]:
    """A context in which tensors have other values; assignments inside do not last."""
    if not is_tracing():
        with as_before([(weakref.ref(x), v.array) for x, v in zip(tensors, values, strict=True)]):
            yield
        return
    for x, v in zip(tensors, values, strict=True):
        current_trace().borrow(x, v)
    try:
        yield
    finally:
        for x in tensors:
            current_trace().take_back(x)


def as_they_are(version: Any, leaves: Sequence[Any]) -> tuple[list[Any], list[Tensor]]:
    """Return the argument leaves, and the state that a call changes, with copies of everything that
    it overwrites.
    """
    if version.pure:
        return list(leaves), []
    leaves = list(leaves)
    for i in version.mutated:
        if not isinstance(leaves[i], float):
            leaves[i] = _copied(leaves[i])
    return leaves, [_copied(x) for x in version.changed]


def _let_answer(x: Tensor, given: Any) -> None:
    """Give a stand-in for an argument the name and facts that code may query."""
    share_facts(given, x)
    x._name = getattr(given, "_name", None)


def _copied(x: Any) -> Tensor:
    if not isinstance(x, Tensor):
        return wrap(np.array(x))
    found = wrap(np.array(x.array))
    found._name = x._name
    return found


def recorded(version: Any, leaves: Sequence[Any], state: Sequence[Tensor],
             results: Sequence[Tensor]) -> None:
    """Put a call into the eager record, so that gradients flow through its results."""
    if not version.begun or any(version.flows):
        _record(version, leaves, state, results)
    for i, is_leaf in version.begun.items():
        results[i].requires_grad_()
        if not is_leaf:
            record(results[i], ALIAS, (wrap(results[i].array).requires_grad_(),))


def _record(version: Any, leaves: Sequence[Any], state: Sequence[Tensor],
            results: Sequence[Tensor]) -> None:
    """Note the results that gradients flow through to arguments and parameters."""
    arguments = [i for i in version.fed
                 if isinstance(leaves[i], Tensor) and leaves[i]._requires_grad]
    op = CompiledCall(version, leaves, state, arguments, results)
    xs = (*[leaves[i] for i in arguments], *version.ends)
    if op.outputs == 1:
        record(results[0], op, xs)
        return
    record_many(results, op, xs)
    for t, flows in zip(results, version.flows, strict=True):
        if not flows:
            t.node, t._requires_grad = None, False


def spent(version: Any, results: Sequence[Node | None], arguments: Collection[Any]
          ) -> tuple[dict[int, Node], bool]:
    """Return, by position, nodes that raise when results of a step that takes its gradients itself
    are differentiated; and whether gradients would reach arguments through them.
    """
    found = {i: n for i, n in enumerate(results) if n is not None}
    behind = toposort(found.values(), lambda n: not n.requires_grad)
    return ({i: SpentNode(version.owner.name, n, version.parameters) for i, n in found.items()},
            any(n.requires_grad and n in arguments for n in behind))


def join(version: Any, found: Any, leaves: Sequence[Any]) -> None:
    """Record in the nodes of results that raise when differentiated which arguments they depend on.
    """
    results = (found,) if isinstance(found, Tensor) else found
    given = [leaves[i] for i in version.fed]
    for i, node in version.spent.items():
        results[i].node = node.joined(v for v in given if isinstance(v, Tensor))


def eager_causes(version: Any) -> list[str]:
    """Return why calls run eagerly though there is code; empty where they do not."""
    found = []
    if version.reached:
        found.append("backward() leaves gradients at arguments that were computed, or may have "
                     "hooks: give them with ag.value_and_grad, which is compiled")
    if version.spills:
        found.append("gradients flow into tensors that it changes or keeps: change them in `with "
                     "ag.no_grad():`, or return what they become; or it assigns gradients, or lets "
                     "Python act, beside results that others flow through: do that outside")
    if version.passing:
        found.append("gradients go on to what a tensor that it uses was computed from: "
                     "compute that inside, or use it detached")
    if version.open:
        found.append("it takes gradients itself, and others flow from its results to arguments: "
                     "give these detached, or return result.detach()")
    if version.effects.obstacle:
        found.append(version.effects.obstacle)
    return found


def eager_notes(version: Any) -> str:
    """Return why calls run eagerly, as the end of a text; empty where they do not."""
    return "".join(f"; it runs eagerly, for {why}" for why in eager_causes(version))
