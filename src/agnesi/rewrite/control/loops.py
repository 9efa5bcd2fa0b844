"""Loops made better: merged, without what is not needed, with work moved out of them.

What does not change from step to step is computed once before the loop.  What depends on rows of
sequences only is computed for all rows at once: products over time become one.  Sums that a step
adds a product to become one product behind the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from agnesi.core.dispatch import apply, graph_node
from agnesi.core.graph import FunctionGraph, Interner
from agnesi.core.ir.extents import Extent, guess
from agnesi.core.ir.node import Node
from agnesi.core.op import Item
from agnesi.core.tensor import symbol
from agnesi.ops.base.arith import add, subtract
from agnesi.ops.base.convert import number
from agnesi.ops.base.elementwise import Elementwise
from agnesi.ops.base.expand import broadcast_to
from agnesi.ops.base.reduce import Reduce
from agnesi.ops.base.slices import FULL, Slice
from agnesi.ops.contractions.matmul import MatMul
from agnesi.ops.control.loop import Scan
from agnesi.rewrite.control.scan import Carry, Key, Model
from agnesi.rewrite.control.scan_sums import (
    MOST_BYTES,
    Sum,
    Whole,
    bytes_of,
    copied_out,
    only_expands,
    size_of,
    sum_of,
)

Improve = Callable[[FunctionGraph], FunctionGraph]
#: Elements of a row up to which any elementwise work is done for all rows at once. Longer rows fill
#: the vectors of the processor by themselves.
_MAX_ROW_ELEMENTS = 8
#: The same for expensive elementwise work.
_MAX_EXPENSIVE_ROW_ELEMENTS = 64
_MAX_ROUNDS = 4


def loops(graph: FunctionGraph, improve: Improve) -> FunctionGraph:
    """Merge scans, drop what is not needed from them, and move work out of them."""
    for _ in range(_MAX_ROUNDS):
        if not any(type(n.op) is Scan for n in graph.nodes):
            return graph
        better = _Round(graph, improve).graph
        if better is None:
            return graph
        graph = better
    return graph


def loops_again(graph: FunctionGraph, improve: Improve) -> FunctionGraph:
    """Run ``loops`` again if other rules have left stacked results of a loop unused."""
    used = {(n.inputs[0], n.op.index) for n in graph.nodes if type(n.op) is Item}
    rows = [
        (n, i) for n in graph.nodes if type(n.op) is Scan and n.op.outputs > 1
        for i in range(n.op.carries, n.op.carries + n.op.stacked)
    ]
    return graph if all(row in used for row in rows) else loops(graph, improve)


class _Round:
    """One pass over the scans of a graph; ``graph`` is None if nothing changed."""

    def __init__(self, graph: FunctionGraph, improve: Improve) -> None:
        self.improve = improve
        self.order = graph.nodes
        self.users: dict[Node, list[Node]] = {}
        for node in self.order:
            for n in node.inputs:
                self.users.setdefault(n, []).append(node)
        self.results = set(graph.outputs)
        self.groups = self._grouped()
        self.now: dict[Node, Node] = {n: n for n in graph.inputs}
        self.interner = Interner()
        self.found: dict[Key, Node] = {}
        self.lasts: dict[Node, Node] = {}
        self.changed = False
        self._map(graph.outputs)
        outputs = [self.now[n] for n in graph.outputs]
        self.graph = FunctionGraph.of(graph.inputs, outputs) if self.changed else None

    # -- groups -----------------------------------------------------------------------------
    def _grouped(self) -> dict[Node, list[Node]]:
        """Groups of scans that can be fused into one loop, by member: no scan of a group depends on
        another one."""
        level: dict[Node, int] = {}
        groups: list[list[Node]] = []
        for node in self.order:
            deep = max((level[n] for n in node.inputs), default=0)
            level[node] = deep + (type(node.op) is Scan)
            if type(node.op) is not Scan:
                continue
            beside = (g for g in groups if level[g[0]] == level[node])
            home = next((g for g in beside if _fit(g[0], node)), None)
            if home is None:
                groups.append([node])
            else:
                home.append(node)
        return {n: g for g in groups for n in g}

    # -- mapping ----------------------------------------------------------------------------
    def _map(self, outputs: Sequence[Node]) -> None:
        stack = list(reversed(outputs))
        while stack:
            node = stack[-1]
            if node in self.now:
                stack.pop()
                continue
            members = self.groups.get(node, [node])
            waiting = [n for m in members for n in m.inputs if n not in self.now]
            if waiting:
                stack.extend(waiting)
            elif type(node.op) is Scan:
                self._scans(members)
            else:
                self.now[node] = self._mapped(node)

    def _mapped(self, node: Node) -> Node:
        if type(node.op) is Item and type(node.inputs[0].op) is Scan:
            return self.found[node.inputs[0], node.op.index]
        if type(node.op) is Slice and node in self.lasts:
            return self.lasts[node]
        return self.interner.rebuilt(node, tuple([self.now[n] for n in node.inputs]))

    def _scans(self, members: list[Node]) -> None:
        """Rebuild scans as one."""
        model = Model(members, self.now)
        if model.torn:  # they do not stop together
            for m in members:
                self.groups[m] = [m]
            self._scans(members[:1])
            return
        before = _summary(members)
        made = _Better(model, self._wanted(members), self.improve)
        self.found.update(made.results)
        for (scan, index), final in made.lasts.items():
            for item in self._items(scan, index):
                for cut in self.users.get(item, ()):
                    self.lasts[cut] = _rest(cut, final)
        for m in members:
            self.now[m] = self.found.get((m, 0), m)
        self.changed |= len(members) > 1 or made.changed or before != made.summary

    # -- users ------------------------------------------------------------------------------
    def _items(self, scan: Node, index: int) -> list[Node]:
        if scan.op.outputs == 1:
            return [scan]
        return [n for n in self.users.get(scan, ()) if n.op.index == index]

    def _wanted(self, members: Sequence[Node]) -> dict[Key, bool]:
        """Return the results that are used; False for those of which only the last row is."""
        found = {}
        for scan in members:
            op = scan.op
            for i in range(op.outputs):
                items = self._items(scan, i)
                users = [u for n in items for u in self.users.get(n, ())]
                if not users and not any(n in self.results for n in items):
                    continue
                stacked = op.carries <= i < op.carries + op.stacked
                found[scan, i] = not (
                    stacked and op.length != 0 and not op.counted
                    and not any(n in self.results for n in items)
                    and all(type(u.op) is Slice and _is_end(u.op.key[0], op) for u in users)
                )
        return found


def _fit(a: Node, b: Node) -> bool:
    """Return whether two independent scans can run as one loop: over as many steps, and with common
    sequences or the same operands.
    """
    p, q = a.op, b.op
    if (p.length, p.reverse, p.until, p.counted) != (q.length, q.reverse, q.until, q.counted):
        return False
    if p.counted and a.inputs[0] is not b.inputs[0]:
        return False
    if p.until:
        return a.inputs == b.inputs
    mine, its = p.split(a.inputs), q.split(b.inputs)
    return bool({*mine[1]} & {*its[1]}) or not (mine[1] or its[1]) or a.inputs == b.inputs


def _summary(scans: Sequence[Node]) -> Any:
    """Return the numbers of operands, results and nodes of scans, which differ whenever something
    changed.
    """
    return [(len(s.inputs), s.op.outputs, len(s.op.body.graph)) for s in scans]


def _is_end(entry: Any, op: Scan) -> bool:
    """Return whether the first entry of a slice takes the row of the last step."""
    ends = [0 if op.reverse else -1]
    if isinstance(op.length, int):
        ends.append(-op.length if op.reverse else op.length - 1)
    return isinstance(entry, int) and entry in ends


def _is_known(length: Any) -> bool:
    """Return whether a number of steps is known when the loop begins: a number, or a run-time size.
    """
    return isinstance(length, (int, Extent))


def _rest(cut: Node, final: Node) -> Node:
    """Return what remains of a slice whose first entry selected the last row."""
    key = cut.op.key[1:]
    return final if all(e == FULL for e in key) else graph_node(apply(Slice(key), symbol(final)))


class _Better:
    """Simplifies the model of a loop, and builds the scan from it."""

    def __init__(self, model: Model, wanted: Mapping[Key, bool], improve: Improve) -> None:
        self.model = model
        self.results: dict[Key, Node] = {}
        self.changed = False
        self._ends: list[Key] = []
        model.keep(wanted.__contains__)
        if _is_known(model.length):
            self._last_rows([k for k, whole in wanted.items() if not whole])
        self._constants()
        self._invariants()
        self._sequences()
        sums = self._sums()
        found, stacked = model.built(improve, [n for s in sums for n in s.needs])
        self.results.update(found)
        self._add_sums(sums, stacked)
        self.lasts = {key: self.results[key] for key in self._ends}
        self.summary = _summary([n for n in dict.fromkeys(
            m.inputs[0] if type(m.op) is Item else m for m in found.values()
        ) if type(n.op) is Scan])

    def _computed(self, key: Key, node: Node) -> None:
        """Record the node that gives a result without the loop."""
        self.results[key] = node
        self.changed = True

    # -- results ----------------------------------------------------------------------------
    def _last_rows(self, keys: Iterable[Key]) -> None:
        """Of rows of which only the last is used, only the last is kept: as a carry."""
        model = self.model
        for key in keys:
            node = model.rows.pop(key)
            carry = next((c for c in model.carries if c.following is node), None)
            if carry is None:
                inside = model.interner.add(Node(None, (), node.shape, node.dtype))
                zeros = broadcast_to(number(0, node.dtype), tuple(node.shape))
                carry = Carry(inside, graph_node(zeros), node)
                model.carries.append(carry)
            model.last[key] = carry
            self._ends.append(key)
            self.changed = True

    def _constants(self) -> None:
        """Carries that never change are constants."""
        model = self.model
        while True:
            still = [c for c in model.carries if c.following is c.inside]
            if not still:
                return
            for key, carry in list(model.last.items()):
                if carry in still:
                    self._computed(key, carry.first)
                    del model.last[key]
            model.carries = [c for c in model.carries if c not in still]
            model.replace({c.inside: model.constant_for(c.first) for c in still})
            self.changed = True

    # -- before the loop --------------------------------------------------------------------
    def _invariants(self) -> None:
        """Move loop-invariant values out of the body where that takes no more memory."""
        model = self.model
        outside: dict[Node, Node] = dict(model.constants)
        new: dict[Node, Node] = {}
        inputs = {*model.sequences, *(c.inside for c in model.carries)}
        for node in model.nodes():
            if node in outside or node in inputs:
                continue
            if node.op is None:
                outside[node] = node
            elif all(n in outside for n in node.inputs) and node.op.condition is None:
                outside[node] = copied_out(node, [outside[n] for n in node.inputs])
                if node.outputs is None and not only_expands(node):
                    new[node] = outside[node]
        model.replace({n: model.constant_for(o) for n, o in _outermost(model, new).items()})
        self.changed |= bool(new)

    def _sequences(self) -> None:
        """Compute values that depend only on rows of sequences for all rows at once, before the
        loop.
        """
        model = self.model
        if not _is_known(model.length):
            return
        self.whole = Whole(model)
        rows = self.whole.rows
        if model.stop is None and model.count is None:
            for key, node in list(model.rows.items()):
                if node in rows or node in model.constants:
                    self._computed(key, self.whole.of(node))
                    del model.rows[key]
        deep = any(type(n.op) is Scan for n in model.nodes())
        new = {n: o for n, o in rows.items() if n.op is not None and _is_worth(n)
               and guess(model.length * bytes_of(n)) <= MOST_BYTES
               and not (deep and _grows(n, rows))}
        new = _outermost(model, new)
        model.replace({n: model.sequence_for(o) for n, o in new.items()})
        model.keep({*model.rows, *model.last}.__contains__)
        self.changed |= bool(new)

    # -- behind the loop --------------------------------------------------------------------
    def _sums(self) -> list[Sum]:
        """Carries to which every step adds something that no step reads: one sum at the end."""
        model = self.model
        if not _is_known(model.length) or model.stop is not None:
            return []
        self.whole = Whole(model)
        users = model.users()
        sums = [s for s in (sum_of(c, users, self.whole) for c in model.carries) if s is not None]
        if not sums:
            return []
        given = {n for s in sums if s.pair for n in s.needs} | set(model.rows.values())
        sums = [s for s in sums if s.settled(self.whole, given, model.count is not None)]
        gone = {s.carry for s in sums}
        for s in sums:
            s.keys = [k for k, c in model.last.items() if c is s.carry]
        model.last = {k: c for k, c in model.last.items() if c not in gone}
        model.carries = [c for c in model.carries if c not in gone]
        self.changed |= bool(sums)
        return sums

    def _add_sums(self, sums: Sequence[Sum], stacked: Mapping[Node, Node]) -> None:
        for s in sums:
            total = symbol(s.total(self.whole, stacked, self.model.length))
            first = symbol(s.carry.first)
            value = graph_node((subtract if s.negative else add)(first, total))
            self.results.update(dict.fromkeys(s.keys, value))


def _outermost(model: Model, found: Mapping[Node, Node]) -> dict[Node, Node]:
    """Return the entries of ``found`` whose nodes are used outside of it."""
    users = model.users()
    return {n: o for n, o in found.items()
            if any(not isinstance(u, Node) or u not in found for u in users.get(n, ()))}


def _grows(node: Node, rows: Mapping[Node, Node]) -> bool:
    """Return whether storing a value for each step takes more memory than the rows it is computed
    from.

    Results of loops inside the body count as well: users may have written the loop to save memory.
    """
    return guess(bytes_of(node)) > sum(guess(bytes_of(n)) for n in node.inputs if n in rows)


def _is_worth(node: Node) -> bool:
    """Return whether computing all rows at once is faster than in the loop."""
    if type(node.op) is MatMul:
        return True
    size = max(guess(size_of(n)) for n in (node, *node.inputs))
    if isinstance(node.op, (Elementwise, Reduce)):
        return size <= (
            _MAX_EXPENSIVE_ROW_ELEMENTS if "heavy" in node.op.traits else _MAX_ROW_ELEMENTS
        )
    return False
