"""Data flow in the bodies of loops and branches, and the variables to differentiate them with.

A step's value that has no cotangent must not get zeros instead, of which infinite slopes would make
NaN.  Carries without one in some steps follow from the body (``Presence``); whether they have one
in a step is a bool that the loop carries, and that goes with the cotangent through the step's
operations (``Flags``): where it meets one that is there for certain, zeros are chosen instead of
it.  Rows that a loop kept for its pullback have none where the pullback of that pullback did not
come by: it returns a row of flags beside them (``set_row_flags``), which the first loop's reads.

Tangents are the same from the operands on: carries that get one in some later step only
(``Beginning``) have a bool beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import reduce
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
_ROW_FLAGS: WeakKeyDictionary[Node, Tensor] = WeakKeyDictionary()


def _flowing(body: Body, flags: Sequence[bool], certain: bool = False) -> list[bool]:
    """Return which outputs depend differentiably on the flagged inputs; with ``certain``, only
    those that do so whatever scalar conditions choose.
    """
    known = {n: f and n.dtype.kind in "fcV" for n, f in zip(body.inputs, flags, strict=True)}
    several: dict[Node, list[bool]] = {}
    for node in body.graph.nodes:
        if node in known:
            continue
        op, flows = node.op, any(known[n] for n in node.inputs)
        if certain and op is WHERE and flows:
            flows = known[node.inputs[2]] or not _may_choose_zero(node)
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
    """Add to the flags the carries that become dependent on flagged ones in a later step."""
    flags = list(flags)
    while True:
        found = _flowing(body, flags)[:carries]
        indices = range(first, first + carries)
        new = [i for i, f in zip(indices, found, strict=True) if f and not flags[i]]
        if not new:
            return flags
        for i in new:
            flags[i] = True


def flowing_results(op: Scan, xs: Sequence[Tensor]) -> list[bool]:
    """Return which results of a scan carry gradients, given which operands do."""
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


def set_row_flags(g: Tensor, there: Tensor) -> None:
    """Record which rows of stacked cotangents exist, as a boolean vector."""
    _ROW_FLAGS[current(g)] = there


def row_flags(gs: Sequence[Any]) -> dict[int, Tensor]:
    """Return, by index, the boolean vectors of cotangents of which some rows do not exist."""
    return {i: there for i, g in enumerate(gs)
            if g is not None and (there := _ROW_FLAGS.get(current(g))) is not None}


def gated(flag: Tensor | None, g: Any) -> Any:
    """Return a derivative, or zeros if its flag is false at run time."""
    return g if flag is None or g is None else where(flag, g, as_tensor(0, g.dtype))


class Flags:
    """Boolean scalars that say at run time whether the derivatives at nodes exist.

    :ivar of: (dict) The flags by node; a node without one has a derivative in any case.
    """

    def __init__(self) -> None:
        self.of: dict[Node, Tensor] = {}

    def behind(self, node: Node, source: Node) -> Tensor | None:
        """Return the flag of the cotangent that an operation passes to its operand."""
        return _chosen(node, source, self.of.get(node))

    def through(self, node: Node, ts: list[Any], tangent: Callable[[Node, list[Any]], Any]) -> Any:
        """Return the tangent of an operation's result.

        Tangents of operands that exist in different steps are propagated separately, so that zeros
        do not stand for those that do not exist.
        """
        if type(node.op) is Item:
            self._put(node, [self.of.get(node.inputs[0])])
            return tangent(node, ts)
        flags = [None if t is None else _chosen(node, n, self.of.get(n))
                 for n, t in zip(node.inputs, ts, strict=True)]
        groups = {None if f is None else current(f): f
                  for f, t in zip(flags, ts, strict=True) if t is not None}
        if node.outputs is not None and len(groups) > 1:  # of a loop or branch, which runs once
            ts = [gated(f, t) for f, t in zip(flags, ts, strict=True)]
            self._put(node, list(groups.values()))
            return tangent(node, ts)
        parts = {flag: tangent(node, [t if _is_same(f, flag) else None
                                      for f, t in zip(flags, ts, strict=True)])
                 for flag in groups.values()}
        parts = {flag: part for flag, part in parts.items() if part is not None}
        self._put(node, list(parts))
        if len(parts) < 2:
            return next(iter(parts.values()), None)
        first, *others = [gated(flag, part) for flag, part in parts.items()]
        for part in others:
            first = first + part
        return first

    def _put(self, node: Node, flags: Sequence[Tensor | None]) -> None:
        """Set a node's flag to the disjunction of its parts' flags."""
        if flags and all(f is not None for f in flags):
            self.of[node] = reduce(_either, flags)  # type: ignore[assignment]

    def add(self, known: dict[Node, Any], node: Node, g: Any, flag: Tensor | None) -> None:
        """Add the derivative ``g`` to that of a node; ``flag`` says at run time whether ``g``
        exists, None that it does.
        """
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
        """Return the cotangent of one of several results, to be combined with those of the others.
        """
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
        """Return cotangents by the stable forms of their nodes."""
        result: dict[Node, Any] = {}
        for old, g in seeds.items():
            self.add(result, better.get(old, old), g, self.of.pop(old, None))
        return result


def _chosen(node: Node, source: Node, flag: Tensor | None) -> Tensor | None:
    """Return the flag of a derivative that a scalar condition may replace by zeros, which count as
    none.
    """
    if node.op is not WHERE or node.inputs[1] is not source or not _may_choose_zero(node):
        return flag
    return _both(flag, symbol(node.inputs[0]))


def _may_choose_zero(node: Node) -> bool:
    zero = constant_value(node.inputs[2]) if node.inputs[0].shape == () else None
    return zero is not None and not zero.any()


def _is_same(a: Tensor | None, b: Tensor | None) -> bool:
    return a is b or (a is not None and b is not None and current(a) is current(b))


def _both(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    if a is None or b is None or _is_same(a, b):
        return a if b is None else b
    return a & b


def _either(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    return None if a is None or b is None else a | b


class Presence:
    """Which active carries of a loop have a cotangent in which steps.

    ``partial`` holds the results of which some rows have no cotangent.

    :ivar valid: (list of int) Carries that lack one in some step.
    """

    def __init__(self, body: Body, op: Scan, gs: Sequence[Any], active: Sequence[int],
                 partial: Collection[int] = ()) -> None:
        self.body, self.op, self.gs, self.active = body, op, gs, active
        sets = self._rounds(partial)
        always = set.intersection(*sets[0])
        read = self._below(always, partial)
        self.valid = [i for i in active if i not in always and body.outputs[i] not in read]
        self._most = self._rounds(()) if partial else sets

    def _below(self, carries: set[int], partial: Collection[int]) -> set[Node]:
        """Return the nodes that get a cotangent in a step whose results of these indices have one.
        """
        rows = [self.body.outputs[i] for i in range(self.op.carries, len(self.gs))
                if self.gs[i] is not None and i not in partial]
        return set(toposort([*rows, *(self.body.outputs[i] for i in carries)],
                            lambda n: n.op is not None and not n.op.differentiable))

    def _rounds(self, partial: Collection[int]) -> tuple[list[set[int]], int]:
        now = {i for i in self.active if self.gs[i] is not None}
        sets: list[set[int]] = []
        while now not in sets:
            sets.append(now)
            read = self._below(now, partial)
            now = {i for i in self.active if self.body.inputs[self.op.sequences + i] in read}
        return sets, sets.index(now)

    def behind(self, steps: int) -> set[int]:
        """Return the carries that may have a cotangent after this many reverse steps."""
        found: set[int] = _nth(self._most, steps)
        return found


class Beginning:
    """Which carries of a loop have a tangent in which steps, given the operands that have one
    (``flags``) and those that lack it in some rows (``partial``).

    :ivar flags: (list of bool) The operands that have one in some step.
    :ivar valid: (list of int) Carries that have one, but none in some step.
    """

    def __init__(self, body: Body, flags: Sequence[bool], first: int, carries: int,
                 partial: Collection[int] = ()) -> None:
        self.flags = settled(body, flags, first, carries)
        self._body, self._first, self._carries = body, first, carries
        certain = [f and i not in partial for i, f in enumerate(flags)]
        sets = self._rounds(certain, True)
        always = [all(known) for known in zip(*sets[0], strict=True)]
        some = self.flags[first: first + carries]
        self.valid = [i for i in range(carries) if some[i] and not always[i]]
        self._most = self._rounds(flags, False) if self.valid else sets

    def _rounds(self, flags: Sequence[bool], certain: bool) -> tuple[list[list[bool]], int]:
        first, end = self._first, self._first + self._carries
        now, sets = list(flags[first: end]), []
        while now not in sets:
            sets.append(now)
            inner = [*flags[:first], *now, *flags[end:]]
            now = _flowing(self._body, inner, certain)[: self._carries]
        return sets, sets.index(now)

    def after(self, steps: int) -> list[bool]:
        """Return which carries may have a tangent after this many steps."""
        return _nth(self._most, steps)


def _nth(rounds: tuple[list[Any], int], steps: int) -> Any:
    """Return the set of step n from a sequence of sets that is periodic from some point on."""
    sets, back = rounds
    return sets[steps if steps < back else back + (steps - back) % (len(sets) - back)]


def variables_of(trace: BodyTrace, body: Body, flags: Sequence[bool]) -> list[Tensor]:
    """Variables for a body's inputs, of which those flagged carry gradient."""
    made = [trace.variable(n) for n in body.inputs]
    for x, flag in zip(made, flags, strict=True):
        node: Any = x.node
        x._requires_grad = node.requires_grad = node.requires_grad and flag
    return made


def seeds_of(results: Sequence[Tensor], cotangents: Sequence[Any]) -> dict[Node, Tensor]:
    """Return cotangents by node; those of equal nodes are added."""
    seeds: dict[Node, Tensor] = {}
    for x, g in zip(results, cotangents, strict=False):
        if g is not None:
            node = current(x)
            seeds[node] = seeds[node] + g if node in seeds else g
    return seeds


def listed(g: Any, op: Any) -> list[Any]:
    """Return the cotangents of an operation's results as a list."""
    return list(g) if op.outputs > 1 else [g]


def both(values: Sequence[Any], moves: Sequence[Any]) -> list[Any]:
    """Return the values, followed by the tangents that exist."""
    return [*values, *(m for m in moves if m is not None)]


def pushed(results: Sequence[Tensor], values: Sequence[Tensor],
           moves: Sequence[Any], flags: Flags | None = None) -> list[Any]:
    """Return the tangents of results; None where there is none."""
    tangents = {current(v): m for v, m in zip(values, moves, strict=True) if m is not None}
    found = push([current(y) for y in results], tangents, flags)
    return [found.get(current(y)) for y in results]
