"""A scan taken apart: rows, carries and constants by name, to be changed and put together again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from agnesi.core.dispatch import apply, graph_node, make_node
from agnesi.core.graph import FunctionGraph, Interner, constant, constant_value
from agnesi.core.ir.node import Node, toposort
from agnesi.core.op import Item
from agnesi.core.tensor import symbol
from agnesi.ops.base.expand import BroadcastTo
from agnesi.ops.base.movement import reshape
from agnesi.ops.control.body import Body
from agnesi.ops.control.loop import Scan

#: A result of a scan: the node, and which one it is.
Key = tuple[Node, int]


class Carry:
    """A carried value: ``inside`` is its variable in the body, ``following`` its next value, and
    ``first`` its initial value, a node outside.
    """

    __slots__ = ("first", "following", "inside")

    def __init__(self, inside: Node, first: Node, following: Node) -> None:
        self.inside = inside
        self.first = first
        self.following = following


class Model:
    """Scans over the same steps, as one.

    Attributes
    ----------
    sequences, constants : dict
        Inputs of the body and the nodes outside that they stand for.
    carries : list of Carry
    stop : Node or None
        Of the body: whether the step was the last.
    last, rows : dict
        Results: which carry's last value they are, or what in the body they are rows of.
    done : list
        Results that have one row a step.
    torn : bool
        Whether the scans do not stop together, and so cannot be one.
    """

    def __init__(self, scans: Sequence[Node], now: Mapping[Node, Node]) -> None:
        self.op: Scan = scans[0].op
        self.where = scans[0].where
        self.now = now
        self.count = now[scans[0].inputs[0]] if self.op.counted else None
        classes: dict[Any, int] = {}
        while True:
            self._read(scans, classes)
            found = self._split(classes)
            if found == classes:
                break
            classes = found

    @property
    def length(self) -> Any:
        return self.op.length

    # -- taking apart -----------------------------------------------------------------------
    def _read(self, scans: Sequence[Node], classes: Mapping[Any, int]) -> None:
        """Merge the bodies of the scans; carries of equal class and initial value become one."""
        self.interner = Interner()
        self.sequences: dict[Node, Node] = {}
        self.constants: dict[Node, Node] = {}
        self.last: dict[Key, Carry] = {}
        self.rows: dict[Key, Node] = {}
        self.done: list[Key] = []
        self.stop: Node | None = None
        self.torn = False
        self._inputs: dict[Any, Node] = {}
        self._members: list[tuple[Any, Carry]] = []
        carries: dict[Node, Carry] = {}
        for scan in scans:
            op = scan.op
            _, sequences, firsts, constants = op.split([self.now[n] for n in scan.inputs])
            given = [self.sequence_for(n) for n in sequences]
            given += [
                self._input(("carry", n, classes.get((scan, i), 0)), n.shape, n)
                for i, n in enumerate(firsts)
            ]
            given += [self.constant_for(n) for n in constants]
            results = self._body(op.body.graph, given)
            for i, first in enumerate(firsts):
                inside = given[op.sequences + i]
                carry = Carry(inside, first, results[i])
                self._members.append(((scan, i), carry))
                self.last[scan, i] = carries.setdefault(inside, carry)
            for i in range(op.carries, op.carries + op.stacked):
                self.rows[scan, i] = results[i]
            if op.until:
                self.torn |= self.stop is not None and self.stop is not results[-1]
                self.stop = results[-1]
                self.done.append((scan, op.outputs - 1))
        self.carries = list(carries.values())

    def _split(self, classes: Mapping[Any, int]) -> dict[Any, int]:
        """Partition carries into classes of equal next values."""
        numbers: dict[tuple[Node, int, Node], int] = {}
        found = {}
        for key, carry in self._members:
            group = (carry.first, classes.get(key, 0), carry.following)
            found[key] = numbers.setdefault(group, len(numbers))
        counts: dict[Node, set[int]] = {}
        for key, carry in self._members:
            counts.setdefault(carry.inside, set()).add(found[key])
        apart = any(len(s) > 1 for s in counts.values())
        return found if apart else dict(classes)

    def _input(self, key: Any, shape: Sequence[Any], like: Node) -> Node:
        if key not in self._inputs:
            self._inputs[key] = self.interner.add(Node(None, (), tuple(shape), like.dtype))
        return self._inputs[key]

    def sequence_for(self, outer: Node) -> Node:
        """Return the body's input for a sequence; a constant of the body if all rows of the
        sequence are equal.
        """
        row = tuple(outer.shape[1:])
        if isinstance(outer.op, BroadcastTo):
            (source,) = outer.inputs
            extra = len(outer.shape) - len(source.shape)
            if extra or source.shape[0] == 1:
                value = self.constant_for(source if extra else graph_node(
                    reshape(symbol(source), tuple(source.shape[1:]))))
                if value.shape == row:
                    return value
                return self.interner.add(_node(BroadcastTo(row), value))
        inside = self._input(("sequence", outer), row, outer)
        self.sequences[inside] = outer
        return inside

    def constant_for(self, outer: Node) -> Node:
        """Return the node of the body that stands for a node outside which has one value in all
        iterations: a constant where it is a known number, else an input."""
        value = constant_value(outer)
        if value is not None and value.size == 1:
            return self.interner.add(constant(value))
        inside = self._input(("constant", outer), outer.shape, outer)
        self.constants[inside] = outer
        return inside

    def _body(self, graph: FunctionGraph, given: Sequence[Node]) -> list[Node]:
        done = dict(zip(graph.inputs, given, strict=True))
        for node in graph.nodes:
            if node not in done:
                done[node] = self.interner.rebuilt(node, tuple([done[n] for n in node.inputs]))
        return [done[n] for n in graph.outputs]

    # -- looking ----------------------------------------------------------------------------
    @property
    def results(self) -> list[Node]:
        """Return the nodes that the body must compute, as it is now."""
        found = [c.following for c in self.carries] + list(self.rows.values())
        return found if self.stop is None else [*found, self.stop]

    def nodes(self) -> list[Node]:
        """The body's nodes, operands first."""
        return toposort(self.results)

    def users(self) -> dict[Node, list[Any]]:
        """Return the users of each node: nodes, carries (which have it as their next value), and
        keys of stacked rows.
        """
        found: dict[Node, list[Any]] = {}
        for node in self.nodes():
            for n in node.inputs:
                found.setdefault(n, []).append(node)
        for carry in self.carries:
            found.setdefault(carry.following, []).append(carry)
        for key, node in self.rows.items():
            found.setdefault(node, []).append(key)
        if self.stop is not None:
            found.setdefault(self.stop, []).append("stop")
        return found

    # -- changing ---------------------------------------------------------------------------
    def keep(self, wanted: Callable[[Key], bool]) -> None:
        """Remove unwanted results of a scan, and the carries on which nothing depends then."""
        self.rows = {k: n for k, n in self.rows.items() if wanted(k)}
        self.last = {k: c for k, c in self.last.items() if wanted(k)}
        inside = {c.inside: c for c in self.carries}
        needed: dict[Carry, None] = {}
        stack = [*self.rows.values(), *([self.stop] if self.stop is not None else [])]
        for carry in self.last.values():
            needed[carry] = None
            stack.append(carry.following)
        seen: set[Node] = set()
        while stack:
            for node in toposort([stack.pop()], lambda n: n in seen):
                if node in seen:
                    continue
                seen.add(node)
                found = inside.get(node)
                if found is not None and found not in needed:
                    needed[found] = None
                    stack.append(found.following)
        self.carries = [c for c in self.carries if c in needed]

    def replace(self, new: Mapping[Node, Node]) -> None:
        """Replace nodes of the body."""
        if not new:
            return
        done: dict[Node, Node] = dict(new)
        for node in toposort(self.results, lambda n: n in new):
            if node not in done:
                done[node] = self.interner.rebuilt(node, tuple([done[n] for n in node.inputs]))
        for carry in self.carries:
            carry.following = done[carry.following]
        self.rows = {k: done[n] for k, n in self.rows.items()}
        if self.stop is not None:
            self.stop = done[self.stop]

    # -- putting together -------------------------------------------------------------------
    def built(self, improve: Callable[[FunctionGraph], FunctionGraph],
              extra: Iterable[Node] = ()) -> tuple[dict[Key, Node], dict[Node, Node]]:
        """The results outside, by key, and the stacked rows of ``extra`` nodes of the body."""
        rows = list(dict.fromkeys((*self.rows.values(), *extra)))
        used = {*toposort((*self.results, *rows))}
        sequences = {i: o for i, o in self.sequences.items() if i in used}
        constants = {i: o for i, o in self.constants.items() if i in used}
        stop = [] if self.stop is None else [self.stop]
        graph = FunctionGraph(
            [*sequences, *(c.inside for c in self.carries), *constants],
            [*(c.following for c in self.carries), *rows, *stop],
        )
        op = Scan(
            Body(improve(graph)), self.length, len(sequences), len(self.carries), len(rows),
            self.op.reverse, self.op.until, self.op.counted,
        )
        if not op.outputs:
            return {}, {}
        operands = [*([self.count] if self.count is not None else []), *sequences.values(),
                    *(c.first for c in self.carries), *constants.values()]
        found = _results(op, operands)
        for node in (*found, *found[0].inputs):
            if node.op is op or type(node.op) is Item:
                node.where = self.where
        indices = {c: i for i, c in enumerate(self.carries)}
        stacked = dict(zip(rows, found[len(self.carries) :], strict=False))
        results = {k: found[indices[c]] for k, c in self.last.items()}
        results.update((k, stacked[n]) for k, n in self.rows.items())
        results.update((k, found[-1]) for k in self.done)
        return results, stacked


def _results(op: Scan, operands: Sequence[Node]) -> list[Node]:
    """The results of a scan as nodes, even if it has no operands and could be run at once."""
    node = make_node(op, tuple(map(symbol, operands)))
    if op.outputs == 1:
        return [node]
    return [Node(Item(i), (node,), shape, dtype) for i, (shape, dtype) in enumerate(node.outputs)]


def _node(op: Any, *inputs: Node) -> Node:
    return graph_node(apply(op, *map(symbol, inputs)))
