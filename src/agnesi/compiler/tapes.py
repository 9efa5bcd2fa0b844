"""Backward passes of eager records that come again: each becomes one compiled function before long.

Training steps record the same operations on the same types again and again.  The record of a pass
is known by them; once so much eager work was done for equal ones as compiling takes, the rules are
traced for the values that they read, and the traced graph is compiled.  What cannot be known by its
record alone stays eager: hooks, operations of users, of loops, and those with sparse gradients.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from agnesi.autodiff.bodies import BodyTrace, body_trace, close
from agnesi.autodiff.hooks import HOOKED
from agnesi.autodiff.reverse import swept
from agnesi.autodiff.rules import cotangents
from agnesi.compiler.jit import jit
from agnesi.compiler.regions import RegionCall, UnsuitedError
from agnesi.compiler.warmup import WORK
from agnesi.core.dispatch import current
from agnesi.core.ir.node import Node, toposort
from agnesi.core.op import item_of
from agnesi.core.support.config import HOOKS, MODE, config, switched, witnessed
from agnesi.core.support.signal_errors import raise_if_from_signal
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.base.elementwise import Elementwise
from agnesi.ops.identity import Identity

#: Nanoseconds that the rule of an operation takes eagerly, at least, and for an element.
_RULE, _ELEMENT = 20_000, 2
#: Nanoseconds that compiling takes for an operation of the record.
_PRICE = 2_000_000
#: Operations of a pass, at least and at most.
_MIN_OPERATIONS, _MAX_OPERATIONS = 3, 2000
#: Compiled passes that are kept, and passes whose work is counted.
_MAX_KEPT, _MAX_COUNTED = 128, 4096

#: Compiled backward passes by the key of their record; None if one cannot be compiled.
_found: dict[Any, Tape | None] = {}
#: Nanoseconds spent eagerly so far on each pass that is not compiled, by the hash of its key.
_spent: dict[int, int] = {}
#: Passes compiled before the last reset of the counts of eager work, and the number of resets.
_former: dict[Any, Tape | None] = {}
_recounts = 0
_NEW: Any = object()


def taped(order: Sequence[Node], seeds: Mapping[Node, Any], wrt: Any) -> dict[Node, Tensor] | None:
    """Return the cotangents of a backward pass over eager records, computed by compiled code; None
    if there is none.

    ``order`` has the nodes that carry gradients, inputs first; the pass begins at ``seeds``, and
    returns the cotangents of ``wrt``, or of leaves and retained nodes.
    """
    if not _MIN_OPERATIONS <= len(order) <= _MAX_OPERATIONS:
        return None
    mode = MODE.get()
    if not config.compiles or mode.recording or mode.fixed or not (
            mode.watch is mode.examples is None) or HOOKED.hear(order):
        return None
    key = _key(order, seeds, wrt)
    if _recounts != HOOKS.recounts:
        _recount()
    try:
        tape = _found.get(key, _NEW)
    except TypeError:  # there are operations that have no hash
        return None
    if tape is _NEW:
        tape = _counted(key, order, seeds, wrt)
    return None if tape is None else tape(order, seeds)


def _recount() -> None:
    global _recounts
    _recounts = HOOKS.recounts
    _former.clear()
    _former.update(_found)
    _found.clear()
    _spent.clear()


def _key(order: Sequence[Node], seeds: Mapping[Node, Any], wrt: Any) -> tuple[Any, ...]:
    """Return the key of a backward pass in the cache: its operations, their edges and types, the
    seeds and the nodes whose gradients are requested."""
    numbers: dict[Node, int] = {}
    key: list[Any] = []
    add, number_of = key.append, numbers.get
    for node in order:
        op = node.op
        if op is None:
            key += node.shape, node.dtype
        else:
            add(op.region.token if type(op) is RegionCall else op)
            for n in node.inputs:
                number = number_of(n)
                if number is None:  # no gradient flows into it
                    numbers[n] = len(numbers)
                    key += n.shape, n.dtype, n.requires_grad
                else:
                    add(number)
            add(node.outputs or node.shape)
            if node.handle is not None and wrt is None:
                add("kept")
        numbers[node] = len(numbers)
    for node, g in seeds.items():
        key += numbers[node], g.shape
    if wrt is not None:
        add("goals")
        key += [number_of(n) for n in wrt]
    return tuple(key)


def _counted(key: Any, order: Sequence[Node], seeds: Mapping[Node, Any], wrt: Any) -> Tape | None:
    """Return the compiled backward pass if passes of its kind have done enough work to pay for
    compilation, else None.
    """
    name = hash(key)
    if len(_spent) > _MAX_COUNTED:
        _spent.clear()
    rules = sum([n.op is not None for n in order])
    work = _RULE * rules + sum([_ELEMENT * math.prod(n.shape) for n in order])
    _spent[name] = spent = _spent.get(name, 0) + work
    if not WORK.pays(work) or spent < _PRICE * rules or not HOOKS.compiles():
        return None
    _spent.pop(name, None)
    if len(_found) >= _MAX_KEPT:
        _found.clear()
    tape = _former.pop(key, None)
    try:
        if tape is None and all(map(_is_suited, order)):
            tape = Tape(order, seeds, wrt)
    except Exception as error:  # whatever it is, the rules themselves will raise it
        raise_if_from_signal(error)
        tape = None
    if tape is not None or all(map(_is_known, order)):
        _found[key] = tape
    return tape


def _is_known(node: Node) -> bool:
    """Return whether an operation is identified by its class and parameters, instead of by this one
    instance.
    """
    kind: Any = type(node.op)
    return node.op is None or kind.__hash__ is not object.__hash__ or issubclass(
        kind, (Elementwise, Identity, RegionCall))


def _is_suited(node: Node) -> bool:
    """Return whether the derivative rule of a node's operation reads only its parameters, operands
    and results, so that it may be compiled for all calls of these types."""
    op = node.op
    return op is None or (_is_known(node) and (op.vjp is not None or node.outputs is None) and not (
        op.user_defined or op.bodies or op.reads or getattr(op, "sparse", False)))


class Tape:
    """A backward pass for records of one kind, as a compiled function of the values it reads."""

    def __init__(self, order: Sequence[Node], seeds: Mapping[Node, Any], wrt: Any) -> None:
        with witnessed(), switched(symbolic=False), body_trace(False) as trace:
            values = _Values(trace, order)
            given = {n: trace.variable(g) for n, g in seeds.items()}
            goals = None if wrt is None else set(wrt)
            found = swept(order, given, goals, (), False, values.pull)
            gradients = [current(g) for g in found.values()]
            read = set(toposort(gradients))
            taken = [(v, where) for v, where in values.where.items() if v in read]
            inputs: list[Any] = [*(v for v, _ in taken), *(current(g) for g in given.values())]
            body, outer = close(trace, inputs, gradients)
        if outer:
            raise UnsuitedError
        #: Where the values are that it reads, and whose the gradients are.
        self.reads = [where for _, where in taken]
        indices = {n: i for i, n in enumerate(order)}
        self.ends = [indices[n] for n in found]
        self.operations = [i for i, n in enumerate(order) if n.op is not None]
        self.regions = [i for i, n in enumerate(order) if type(n.op) is RegionCall]
        self.run = jit(lambda *xs: tuple(body(*xs)))

    def __call__(self, order: Sequence[Node],
                 seeds: Mapping[Node, Tensor]) -> dict[Node, Tensor] | None:
        """Return the cotangents; None if a value that the pass reads was not kept, or was changed
        since.
        """
        for i in self.regions:
            if not order[i].op.is_fresh():
                return None
        since = min([abs(order[i].serial) for i in self.operations])
        args = []
        for index, kind, i in self.reads:
            node = order[index]
            if kind == _HELD:
                args.append(node.op.held_one(i))
                continue
            node = node.inputs[i] if kind == _INPUT else node
            value, version = node.value, node.version
            if kind == _ITEM and value is not None:
                value, version = value[i]
            if value is None or (version is not None and version[0] > since):
                return None
            args.append(wrap(value))
        found = self.run(*args, *seeds.values())
        return dict(zip([order[i] for i in self.ends], found, strict=True))


#: Where a value comes from: the node at an index, one of its inputs, one of its results, or a field
#: of its operation.
_OWN, _INPUT, _ITEM, _HELD = range(4)


class _Values:
    """The free variables of a traced pass: values that records have kept."""

    def __init__(self, trace: BodyTrace, order: Sequence[Node]) -> None:
        self.trace = trace
        self.indices = {n: i for i, n in enumerate(order)}
        #: Where the values of variables are.
        self.where: dict[Node, tuple[int, int, int]] = {}
        self.known: dict[Node, Tensor] = {}

    def pull(self, node: Node, g: Any) -> Sequence[Any]:
        """The cotangents of an operation's inputs."""
        op, index = node.op, self.indices[node]
        if type(op) is RegionCall:
            return op.pulled(g, [self._variable(t, t.array, (index, _HELD, i))
                                 for i, t in enumerate(op.held())])
        xs = [self._of(n, (index, _INPUT, i)) for i, n in enumerate(node.inputs)]
        if op.outputs == 1:
            return cotangents(op, g, self._of(node, (index, _OWN, 0)), xs)
        ys = None if not op.keep_output else tuple([
            self._variable(item_of(node, i), node.value, (index, _ITEM, i))
            for i in range(op.outputs)])
        return cotangents(op, g, ys, xs)

    def _of(self, node: Node, where: tuple[int, int, int]) -> Tensor:
        found = self.known.get(node)
        if found is None:
            found = self.known[node] = self._variable(node, node.value, where)
        return found

    def _variable(self, like: Any, value: Any, where: tuple[int, int, int]) -> Tensor:
        """Return a free variable; where no value was kept, its type alone is known."""
        made: Any = self.trace.variable(like)
        made._requires_grad = made.node.requires_grad = like.requires_grad
        if value is not None:
            self.where[made.node] = where
        return made
