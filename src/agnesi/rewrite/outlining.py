"""Outlining: equal segments of a long graph become calls of one graph.

Unrolled loops, repeated layers and update rules that run for each parameter make graphs of many
thousand nodes, most of which say the same again. What repeats is found by the operations alone: the
list of nodes, makers first, is compared with itself moved by each period. Several periods in a row
make a segment, of enough nodes that little is lost at its ends. In what has no period, as where
steps come in random order, the longest words of operations that come up again make segments.
Segments of equal inner edges get one body, which is rewritten, planned and lowered once; constants
that differ between them are its operands.

Stretches of a list of nodes, makers first, depend on each other in one direction only, so that the
graph of segments has no cycles.  Products, loops, checks and whatever else rules or passes treat as
a whole stay outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np

from agnesi.core.expansion import Simpler
from agnesi.core.graph import FunctionGraph, constant_value
from agnesi.core.ir.dims import product
from agnesi.core.ir.node import Node, toposort
from agnesi.core.op import Item, item_of
from agnesi.core.substitution import copied
from agnesi.core.support.gc_pause import no_gc
from agnesi.ops.control.body import Body
from agnesi.ops.control.segment import Segment
from agnesi.rewrite.repeats import words

#: Operations from which a graph is searched.
MIN_OPERATIONS = 3000
#: The same where all could be one kernel of so many elements or more, whose code takes longer to
#: compile and runs out of registers.
_MIN_OF_ONE_KERNEL, _MIN_ELEMENTS = 300, 64
#: Operations of a segment, at least.  More make the code of a body longer to compile, fewer the
#: list of kernels to plan; kernels at the ends of segments may be short.
SEGMENT_OPERATIONS = 64
#: Elements up to which a value is small: how large ones are fused decides over the time of a call.
_MAX_ELEMENTS = 4096
#: The longest period, in operations, with which a graph may repeat itself to be outlined.
_MAX_PERIOD = 160
#: Fewest repetitions of a segment that are outlined into one body.
_MIN_SEGMENTS = 8
#: Places of a segment that is made of two which are segments elsewhere, too: another body takes as
#: long as so many calls.
_MIN_PAIRS = 48
#: Operations between two that stay outside, at least: fewer may be fused with those.
_MIN_RUN = 8
#: Words are looked for where one operation in so many, or more of them, has no period.
_MIN_SHARE = 32
#: Operations between two of which the later reads the earlier, at most, for a label to say so.
_MAX_DISTANCE = 4
_MOVES = frozenset(("broadcast", "permutation", "conversion"))


@no_gc()
def outlined(graph: FunctionGraph) -> FunctionGraph:
    """A graph in which equal segments are calls; itself where it is short or says little again."""
    length = len(graph)
    is_short = length < MIN_OPERATIONS
    if length < min(MIN_OPERATIONS, _MIN_OF_ONE_KERNEL) or graph.extents or (
            is_short and not _is_of_arrays(graph)):
        return graph
    graph = _past_identities(graph)
    nodes, labels = _in_order([n for n in graph.nodes if n.op is not None])
    if is_short and np.any(labels < 0):
        return graph
    stretches = list(_stretches(labels, lambda: _within(nodes, labels, graph.outputs)))
    if sum([len(s) for s in stretches]) * 2 < len(nodes):
        return graph
    return _Outlining(graph, nodes, stretches).graph()


def _is_of_arrays(graph: FunctionGraph) -> bool:
    """Return whether most operations make more than a few numbers."""
    sizes = [product(n.shape) for n in graph.nodes if n.op is not None]
    return 2 * sum([size >= _MIN_ELEMENTS for size in sizes]) >= len(sizes)


def _past_identities(graph: FunctionGraph) -> FunctionGraph:
    """Return the graph with outputs that equal an operand replaced by that operand; they would form
    no segment.
    """
    identical: dict[Any, int] = {}
    outputs = []
    for node in graph.outputs:
        while (op := node.op) is not None and op.decompose is not None and op.outputs == 1:
            key = id(op), tuple([(n.shape, n.dtype) for n in node.inputs])
            operand = identical.get(key)
            if operand is None:
                operand = identical[key] = _identical(node)
            if operand < 0:
                break
            node = node.inputs[operand]
        outputs.append(node)
    if outputs == list(graph.outputs):
        return graph
    return FunctionGraph.of(graph.inputs, outputs)


def _identical(node: Node) -> int:
    """Return the position of the operand that a node equals, for operands of these types; -1 if
    there is none.
    """
    inputs = tuple([Node(None, (), n.shape, n.dtype) for n in node.inputs])
    parts = Simpler(frozenset())(copied(node, inputs), inputs)
    return inputs.index(parts[0]) if parts and parts[0] in inputs else -1


# -- what repeats ---------------------------------------------------------------------------
def _in_order(nodes: list[Node]) -> tuple[list[Node], np.ndarray]:
    """Return the nodes with their labels, in an order in which nodes outside of segments come as
    late as possible, so that they interrupt few segments.
    """
    labels = _labels(nodes)
    if np.count_nonzero(labels < 0) < _MIN_SEGMENTS:
        return nodes, labels
    ranks: dict[Node, int] = {}
    for node, label in zip(nodes, labels.tolist(), strict=True):
        rank = 0
        for n in node.inputs:
            if (of_input := ranks.get(n, 0)) > rank:
                rank = of_input
        # behind all of their own rank come those outside, and then what follows from them
        ranks[node] = rank + rank % 2 if label >= 0 else rank + 1 + rank % 2
    order = np.argsort([ranks[n] for n in nodes], kind="stable")
    return [nodes[i] for i in order.tolist()], labels[order]


def _labels(nodes: Sequence[Node]) -> np.ndarray:
    """A number for each node: the same for those of equal operations and types."""
    known: dict[Any, int] = {}
    single = count(-1, -1)
    found = []
    for node in nodes:
        op = node.op
        key = id(op), node.shape, node.dtype, tuple([(n.shape, n.dtype) for n in node.inputs])
        label = known.get(key)
        if label is None:
            label = known[key] = len(known) if is_plain(node) else -1
        found.append(label if label >= 0 else next(single))
    return np.array(found)


def is_plain(node: Node) -> bool:
    """Return whether a value follows from elements of others, wherever the operation stands."""
    op = node.op
    if op.outputs != 1 or op.condition is not None or op.changes or op.bodies or op.template:
        return False
    if "ordering" in op.traits or op.user_defined or product(node.shape) > _MAX_ELEMENTS or any(
            [product(n.shape) > _MAX_ELEMENTS for n in node.inputs]):
        return False
    if op.decompose is not None:
        inputs = tuple([Node(None, (), n.shape, n.dtype) for n in node.inputs])
        parts = Simpler(frozenset())(copied(node, inputs), inputs)
        if parts:
            return all([n.op is None or (n.op is not op and is_plain(n)) for n in toposort(parts)])
    if op.lower is None:
        return False
    return op.pointwise or op.flat or not op.traits.isdisjoint(_MOVES) or bool(
        op.reduction(*node.inputs))


def _stretches(labels: np.ndarray, within: Callable[[], np.ndarray]) -> Iterator[range]:
    """Yield ranges of positions that do not overlap: segments that repeat at once, then segments
    that come up again elsewhere, by the finer labels that ``within`` returns.
    """
    free = np.ones(len(labels), bool)
    for period in range(1, _MAX_PERIOD + 1):
        long = period * -(-SEGMENT_OPERATIONS // period)
        least = long * _MIN_SEGMENTS
        if np.count_nonzero(free) < least:
            break
        same = (labels[period:] == labels[:-period]) & free[period:] & free[:-period]
        ends = np.flatnonzero(np.diff(same.astype(np.int8), prepend=0, append=0))
        runs = ends.reshape(-1, 2)
        for begin, end in runs[runs[:, 1] - runs[:, 0] + period >= least].tolist():
            for first in range(begin, end + period - long + 1, long):
                free[first:first + long] = False
                yield range(first, first + long)
    between = np.diff(np.flatnonzero(np.diff(labels < 0, prepend=True, append=True)))[::2]
    free &= labels >= 0
    free[labels >= 0] &= np.repeat(between >= _MIN_RUN, between)
    if np.count_nonzero(free) * _MIN_SHARE > len(labels):
        labels = np.where(free, within(), -1)
        yield from words(labels, SEGMENT_OPERATIONS, _MIN_SEGMENTS, _MIN_PAIRS)


def _within(nodes: Sequence[Node], labels: np.ndarray, outputs: Iterable[Node]) -> np.ndarray:
    """Return finer labels: which of the nodes just before are operands, and whether distant nodes
    read the value.

    Segments of equal labels have the same edges nearly always.
    """
    numbers = {n: i for i, n in enumerate(nodes)}
    far = np.zeros(len(nodes), bool)
    far[[numbers[n] for n in outputs if n in numbers]] = True
    reads = [len(node.inputs) for node in nodes]
    reader = np.repeat(np.arange(len(nodes)), reads)
    read = np.array([numbers.get(n, -1) for node in nodes for n in node.inputs], int)
    distance = reader - read
    far[read[(distance > _MAX_DISTANCE) & (read >= 0)]] = True
    distance[(distance > _MAX_DISTANCE) | (read < 0)] = 0
    number = np.arange(len(read)) - np.repeat(np.cumsum(reads) - reads, reads)
    operands = np.bincount(reader, distance * (_MAX_DISTANCE + 1.0) ** (number % 20), len(nodes))
    kind = np.unique(operands, return_inverse=True)[1]
    found = (labels * 2 + far) * len(nodes) + kind
    return np.where(labels < 0, labels, found)


# -- the graph of segments ------------------------------------------------------------------
class _Outlining:
    """A graph on its way to one of segments."""

    def __init__(self, graph: FunctionGraph, nodes: Sequence[Node],
                 stretches: Sequence[range]) -> None:
        self._graph = graph
        self._nodes = nodes
        self._of = dict.fromkeys(nodes, -1)
        for number, stretch in enumerate(stretches):
            for position in stretch:
                self._of[nodes[position]] = number
        self._stretches = stretches
        self._outside = self._read_outside()
        #: The bodies of segments, by their keys.
        self._bodies: dict[int, Body] = {}
        self._ops: dict[Any, Segment] = {}
        #: What nodes are in the new graph: a node, or a result of a segment.
        self._done: dict[Node, Node] = {}
        self._parts: dict[Node, tuple[Node, int]] = {}
        self._items: dict[Node, Node] = {}

    def _read_outside(self) -> set[Node]:
        """Return the nodes of segments that are read from outside of their segment."""
        of = self._of
        found = set(self._graph.outputs)
        for node in self._nodes:
            own = of[node]
            for n in node.inputs:
                if of.get(n, -1) != own:
                    found.add(n)
        return found

    def graph(self) -> FunctionGraph:
        """The graph with calls instead of segments."""
        segments = [_Segment([self._nodes[i] for i in stretch], self._outside)
                    for stretch in sorted(self._stretches, key=lambda s: s.start)]
        groups = _groups(segments)
        for segment in (rare := [s for g in groups if len(g) < _MIN_SEGMENTS for s in g]):
            segment.read(lambda node: False)  # with constants as operands they have one body
        varied = _groups(rare)
        for group in varied:
            same = _same_constants(group)
            for segment in group:
                segment.read(same.__contains__)
        frequent: dict[Node, _Segment] = {}
        for number, group in enumerate([*groups, *varied]):
            if len(group) >= _MIN_SEGMENTS:
                for segment in group:
                    segment.key = number  # which is compared soon
                    frequent[segment.nodes[0]] = segment
        inside = {n for s in frequent.values() for n in s.nodes}
        for node in self._nodes:
            if node in frequent:
                self._call(frequent[node])
            elif node not in inside:
                self._keep(node)
        if not self._parts:
            return self._graph
        outputs = [self._value(n) for n in self._graph.outputs]
        return FunctionGraph.of(self._graph.inputs, outputs)

    def _keep(self, node: Node) -> None:
        """Take a node over as it is, on what its operands are now."""
        if type(node.op) is Segment:
            self._done[node] = self._recalled(node)
            return
        inputs = tuple([self._value(n) for n in node.inputs])
        self._done[node] = node if inputs == node.inputs else copied(node, inputs)

    def _value(self, node: Node) -> Node:
        """Return the node in the new graph that has a node's value."""
        part = self._parts.get(node)
        if part is None:
            return self._done.get(node, node)
        parent, index = part
        if index < 0:
            return parent
        found = self._items.get(node)
        if found is None:
            found = self._items[node] = item_of(parent, index)
            found.name = node.name
        return found

    def _recalled(self, node: Node) -> Node:
        """Return a call of an earlier outlining, with its operands replaced by nodes of the new
        graph.
        """
        reads = [self._read(node.inputs[k]) if i < 0 else (self._done[node.inputs[k]], i)
                 for k, i in node.op.reads]
        op, inputs = self._reading(node.op.body, reads)
        if inputs == node.inputs:
            return node
        new = copied(node, inputs)
        new.op = op
        return new

    def _read(self, node: Node) -> tuple[Node, int]:
        """Return the node in the new graph that holds a value, and the index of the value among its
        results; -1 if the node is the value.
        """
        part = self._parts.get(node)
        if part is None and type(node.op) is Item and type(node.inputs[0].op) is Segment:
            return self._done[node.inputs[0]], node.op.index
        return part or (self._done.get(node, node), -1)

    def _reading(self, body: Body, reads: Sequence[tuple[Node, int]]
                 ) -> tuple[Segment, tuple[Node, ...]]:
        """Return the call operation for a body that reads these values, and its operands; equal
        ones are shared.
        """
        operands: dict[Node, int] = {}
        numbered = tuple([(operands.setdefault(n, len(operands)), i) for n, i in reads])
        key = id(body), numbered
        op = self._ops.get(key)
        if op is None:
            op = self._ops[key] = Segment(body, numbered)
        return op, tuple(operands)

    def _call(self, segment: _Segment) -> None:
        """Add a call in place of a segment."""
        body = self._bodies.get(segment.key)
        if body is None:
            body = self._bodies[segment.key] = segment.body()
        op, operands = self._reading(body, [self._read(n) for n in segment.operands])
        several = op.outputs > 1
        first = segment.results[0]
        call = Node(op, operands, () if several else first.shape, first.dtype,
                    where=first.where, name=None if several else first.name)
        if several:
            call.outputs = tuple([(n.shape, n.dtype) for n in segment.results])
        for index, node in enumerate(segment.results):
            self._parts[node] = call, index if several else -1


class _Segment:
    """Nodes in a row: what they read from outside, and which of them others read.

    :ivar key: A number: the same for segments of one body.
    :ivar edges: The same for segments that may have one body.
    :ivar operands: Inputs of the body, in the order in which they are met.
    :ivar results: Outputs of the body.
    """

    def __init__(self, nodes: list[Node], outside: set[Node]) -> None:
        self.nodes = nodes
        self.key = -1
        self.results = [n for n in nodes if n in outside]
        self.operands: list[Node] = []
        self.edges: Any = None
        self.read(_is_constant)

    def read(self, inside: Callable[[Node], bool]) -> None:
        """Find the operands of the segment: all values read that are not computed in it, and not
        constants ``inside`` the body.
        """
        own = {n: i for i, n in enumerate(self.nodes)}
        known: dict[Node, int] = {}
        edges = []
        for node in self.nodes:
            positions = []
            for n in node.inputs:
                at = own.get(n)
                if at is None:
                    at = known.get(n)
                    if at is None:
                        at = known[n] = id(n) if inside(n) else -1 - len(known)
                positions.append(at)
            edges.append((id(node.op), node.shape, node.dtype, tuple(positions)))
        self.operands = [n for n, at in known.items() if at < 0]
        self.edges = tuple(edges), tuple([own[n] for n in self.results]), tuple(
            [(n.shape, n.dtype) for n in self.operands])

    def body(self) -> Body:
        """The graph of these nodes, on inputs of its own."""
        inputs = {n: Node(None, (), n.shape, n.dtype, where=n.where) for n in self.operands}
        done: dict[Node, Node] = dict(inputs)
        for node in self.nodes:
            done[node] = copied(node, tuple([done.get(n, n) for n in node.inputs]))
        return Body(FunctionGraph.of(inputs.values(), [done[n] for n in self.results]))


def _is_constant(node: Node) -> bool:
    """Return whether a leaf is a constant, which bodies may have themselves."""
    return node.op is None and constant_value(node) is not None


def _groups(segments: Sequence[_Segment]) -> list[list[_Segment]]:
    """Segments by what they compute."""
    found: dict[Any, list[_Segment]] = {}
    for segment in segments:
        found.setdefault(segment.edges, []).append(segment)
    return list(found.values())


def _same_constants(group: Sequence[_Segment]) -> set[Node]:
    """Constants that all segments read at the same position."""
    return {column[0] for column in zip(*[s.operands for s in group], strict=True)
            if _is_constant(column[0]) and len({*column}) == 1}
