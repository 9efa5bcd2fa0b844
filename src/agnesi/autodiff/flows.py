"""Data flow in the bodies of loops and branches, and the variables to differentiate them with.

A step's value that has no cotangent must not get zeros instead, of which infinite slopes would make
NaN.  Carries without one in some steps follow from the body (``Presence``); whether they have one
in a step is a bool that the loop carries, and that goes with the cotangent through the step's
operations (``Flags``): where it meets one that is there for certain, zeros are chosen instead of
it.  Rows that a loop kept for its pullback have none where the pullback of that pullback did not
come by: it gives a row that tells so beside them (``tell_rows``), which the first loop's reads.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from agnesi.autodiff.bodies import BodyTrace
from agnesi.autodiff.forward import push
from agnesi.core.dispatch import current
from agnesi.core.graph import constant_value
from agnesi.core.ir.node import Node, toposort
from agnesi.core.op import Item
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.select import WHERE, where
from agnesi.ops.control.body import Body
from agnesi.ops.control.branch import Cond
from agnesi.ops.control.loop import Scan, While

#: For cotangents of rows, in which of these there is one.
_TOLD: WeakKeyDictionary[Node, Tensor] = WeakKeyDictionary()


def _flowing(body: Body, flags: Sequence[bool]) -> list[bool]:
    """Which outputs depend, in a differentiable way, on the inputs flagged."""
    known = {n: f and n.dtype.kind in "fcV" for n, f in zip(body.inputs, flags, strict=True)}
    several: dict[Node, list[bool]] = {}
    for node in body.graph.nodes:
        if node in known:
            continue
        op, flows = node.op, any(known[n] for n in node.inputs)
        if flows and type(op) in _THROUGH:
            several[node] = _THROUGH[type(op)](op, [known[n] for n in node.inputs])
            flows = any(several[node])
        elif type(op) is Item and node.inputs[0] in several:
            flows = several[node.inputs[0]][op.index]
        known[node] = (
            flows and op is not None and op.differentiable
            and (node.dtype.kind in "fcV" or node.outputs is not None)
        )
    return [known[n] for n in body.outputs]


def _through_scan(op: Scan, flags: Sequence[bool]) -> list[bool]:
    inner = settled(op.body, flags[op.counted:], op.sequences, op.carries)
    return _flowing(op.body, inner)


def _through_while(op: While, flags: Sequence[bool]) -> list[bool]:
    return settled(op.body, flags, 0, op.carries)[: op.carries]


def _through_cond(op: Cond, flags: Sequence[bool]) -> list[bool]:
    found = [_flowing(body, flags[1:]) for body in (op.then, op.otherwise)]
    return [a or b for a, b in zip(*found, strict=True)]


_THROUGH: dict[Any, Any] = {Scan: _through_scan, While: _through_while, Cond: _through_cond}


def settled(body: Body, flags: Sequence[bool], first: int, carries: int) -> list[bool]:
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


def flowing_results(op: Scan, xs: Sequence[Tensor]) -> list[bool]:
    """Which results of a scan depend, in a differentiable way, on operands that require grad."""
    return _through_scan(op, [current(x).requires_grad for x in xs])


def reached(body: Body, flags: Sequence[bool], op: Scan, gs: Sequence[Any]) -> list[int]:
    """Return which carries of a scan receive a cotangent in some step of the backward pass."""
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


def tell_rows(g: Tensor, there: Tensor) -> None:
    """Note in which of its rows a cotangent is one."""
    _TOLD[current(g)] = there


def told_rows(gs: Sequence[Any]) -> dict[int, Tensor]:
    """Return for those cotangents that have rows that are none, by number, in which they are."""
    return {i: there for i, g in enumerate(gs)
            if g is not None and (there := _TOLD.get(current(g))) is not None}


def gated(flag: Tensor | None, g: Any) -> Any:
    """A derivative, zeros where it is not there."""
    return g if flag is None or g is None else where(flag, g, as_tensor(0, g.dtype))


class Flags:
    """Whether derivatives at nodes are there, as bool scalars.

    :ivar of: (dict) Those of nodes whose derivatives are not there for certain.
    """

    def __init__(self) -> None:
        self.of: dict[Node, Tensor] = {}

    def behind(self, node: Node, source: Node) -> Tensor | None:
        """The flag of what passes between an operation and its operand: zeros that a scalar
        condition chooses instead of it are none."""
        flag = self.of.get(node)
        if node.op is not WHERE or node.inputs[0].shape != () or node.inputs[1] is not source:
            return flag
        zero = constant_value(node.inputs[2])
        return flag if zero is None or zero.any() else _both(flag, symbol(node.inputs[0]))

    def add(self, known: dict[Node, Any], node: Node, g: Any, flag: Tensor | None) -> None:
        """Add a derivative to those known at a node."""
        before = known.get(node)
        if before is None:
            known[node] = g
            if flag is not None:
                self.of[node] = flag
            return
        old = self.of.pop(node, None)
        if _is_same(old, flag):
            known[node], new = before + g, old
        else:
            known[node], new = gated(old, before) + gated(flag, g), _either(old, flag)
        if new is not None:
            self.of[node] = new

    def put(self, slots: list[Any], item: Node, g: Any) -> Any:
        """The cotangent of one of several results, as it is added to those of the others."""
        (parent,) = item.inputs
        flag, old = self.of.get(item), self.of.get(parent)
        if all(v is None for v in slots):
            self.of |= {} if flag is None else {parent: flag}
        elif not _is_same(old, flag):
            slots[:] = [gated(old, v) for v in slots]
            self.of.pop(parent, None)
            new, g = _either(old, flag), gated(flag, g)
            self.of |= {} if new is None else {parent: new}
        return g

    def moved(self, seeds: Mapping[Node, Any], better: Mapping[Node, Node]) -> dict[Node, Any]:
        """Cotangents at other forms of the results."""
        result: dict[Node, Any] = {}
        for old, g in seeds.items():
            self.add(result, better.get(old, old), g, self.of.pop(old, None))
        return result


def _is_same(a: Tensor | None, b: Tensor | None) -> bool:
    return a is b or (a is not None and b is not None and current(a) is current(b))


def _both(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    if a is None or b is None or _is_same(a, b):
        return a if b is None else b
    return a & b


def _either(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    return None if a is None or b is None else a | b


class Presence:
    """Which active carries of a loop have a cotangent in which of its steps.

    ``told`` has the results with rows that are no cotangents in some steps.

    :ivar valid: (list of int) Those that have none in some step.
    """

    def __init__(self, body: Body, op: Scan, gs: Sequence[Any], active: Sequence[int],
                 told: Collection[int] = ()) -> None:
        self.body, self.op, self.gs, self.active = body, op, gs, active
        sets = self._rounds(told)
        always = set.intersection(*sets[0])
        read = self._below(always, told)
        self.valid = [i for i in active if i not in always and body.outputs[i] not in read]
        self._most = self._rounds(()) if told else sets

    def _below(self, carries: set[int], told: Collection[int]) -> set[Node]:
        """Return what gets a cotangent in a step whose results of these numbers have one."""
        rows = [self.body.outputs[i] for i in range(self.op.carries, len(self.gs))
                if self.gs[i] is not None and i not in told]
        return set(toposort([*rows, *(self.body.outputs[i] for i in carries)],
                            lambda n: n.op is not None and not n.op.differentiable))

    def _rounds(self, told: Collection[int]) -> tuple[list[set[int]], int]:
        now = {i for i in self.active if self.gs[i] is not None}
        sets: list[set[int]] = []
        while now not in sets:
            sets.append(now)
            read = self._below(now, told)
            now = {i for i in self.active if self.body.inputs[self.op.sequences + i] in read}
        return sets, sets.index(now)

    def behind(self, steps: int) -> set[int]:
        """Those that may have one behind so many reverse steps."""
        sets, back = self._most
        if steps >= back:
            steps = back + (steps - back) % (len(sets) - back)
        return sets[steps]


def variables_of(trace: BodyTrace, body: Body, flags: Sequence[bool]) -> list[Tensor]:
    """Variables for a body's inputs, of which those flagged carry gradient."""
    made = [trace.variable(n) for n in body.inputs]
    for x, flag in zip(made, flags, strict=True):
        node: Any = x.node
        x._requires_grad = node.requires_grad = node.requires_grad and flag
    return made


def seeds_of(results: Sequence[Tensor], cotangents: Sequence[Any]) -> dict[Node, Tensor]:
    """Cotangents by node."""
    seeds: dict[Node, Tensor] = {}
    for x, g in zip(results, cotangents, strict=False):
        if g is not None:
            node = current(x)
            seeds[node] = seeds[node] + g if node in seeds else g
    return seeds


def listed(g: Any, op: Any) -> list[Any]:
    """The cotangents of an operation's results."""
    return list(g) if op.outputs > 1 else [g]


def both(values: Sequence[Any], moves: Sequence[Any]) -> list[Any]:
    """Values, then those tangents that there are."""
    return [*values, *(m for m in moves if m is not None)]


def pushed(results: Sequence[Tensor], values: Sequence[Tensor],
           moves: Sequence[Any]) -> list[Any]:
    """Tangents of results, None where there is none."""
    tangents = {current(v): m for v, m in zip(values, moves, strict=True) if m is not None}
    found = push([current(y) for y in results], tangents)
    return [found.get(current(y)) for y in results]
