"""Which derivatives there are in which steps of a loop.

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

from agnesi.core.dispatch import current
from agnesi.core.graph import constant_value
from agnesi.core.ir.node import Node, toposort
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.select import WHERE, where
from agnesi.ops.control.body import Body
from agnesi.ops.control.loop import Scan

#: For cotangents of rows, in which of these there is one.
_TOLD: WeakKeyDictionary[Node, Tensor] = WeakKeyDictionary()


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
