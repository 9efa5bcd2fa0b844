"""A function that does the same to many tensors of a kind: traced once, and put in place again.

An optimizer updates each parameter by the same few operations.  They are traced on stand-ins; the
body that remains gives the nodes for all others without running Python, and where there are many
small ones, some together are one operation (``ops/control/segment.py``), which is rewritten,
planned and lowered once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agnesi.compiler.tracing.trace import Trace, stand_in
from agnesi.core.dispatch import apply, apply_many, assign
from agnesi.core.graph import FunctionGraph, constant_value
from agnesi.core.ir.node import Node, next_serial, toposort
from agnesi.core.support.tracing import current_trace
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.control.body import Body
from agnesi.ops.control.segment import Segment
from agnesi.rewrite.outlining import SEGMENT_OPERATIONS, is_plain

#: Operations of an update, counted over all parameters, from which groups of parameters are
#: outlined as one segment.
MIN_OPERATIONS = 1000


def may_repeat() -> bool:
    """Return whether one trace of a body may stand for further runs: the present trace records
    every node and nothing else observes it.
    """
    return type(current_trace()) is Trace


def kind_of(tensors: Sequence[Tensor]) -> Any:
    """Return a key of tensors that a function can distinguish only by their values; None for
    tensors that must be traced one by one.
    """
    found = []
    for t in tensors:
        if (type(t) is not Tensor and t.array is None) or t._view is not None or t._placed:
            return None
        found.append((t.shape, t.dtype, t.weak))
    return tuple(found)


class Alike:
    """The changes that one run of a function makes to some tensors, which can be repeated on others
    of the same types.

    The function must have no other effect, and read nothing else that differs between runs.
    """

    def __init__(self, function: Callable[..., Any], like: Sequence[Tensor]) -> None:
        since = next_serial()
        tensors = [stand_in(t.shape, t.dtype) for t in like]
        before = [_node(t) for t in tensors]
        function(*tensors)
        after = [_node(t) for t in tensors]
        #: Indices of the tensors that are changed.
        self.changed = [i for i, n in enumerate(after) if n is not before[i]]
        results = [after[i] for i in self.changed]
        #: What the function reads besides.
        self.shared = [symbol(n) for n in _shared(results, before, since)]
        self.body = Body(FunctionGraph([*before, *map(_node, self.shared)], results))

    def __call__(self, each: Sequence[Sequence[Tensor]]) -> None:
        """Apply the recorded changes to each of these groups of tensors."""
        length = max(len(self.body.graph), 1)
        together, first = -(-SEGMENT_OPERATIONS // length), 0
        if len(each) >= max(together, MIN_OPERATIONS // length) and all(
                [n.op is None or is_plain(n) for n in self.body.graph.nodes]):
            op = self._segment(together)
            while first + together <= len(each):
                self._put(op, each[first:first + together])
                first += together
        for tensors in each[first:]:
            found = self.body(*tensors, *self.shared)
            for i, value in zip(self.changed, found, strict=True):
                assign(tensors[i], value)

    def _segment(self, count: int) -> Segment:
        """Return one graph segment that does the body's work for ``count`` groups at once."""
        own = self.body.inputs[:len(self.body.inputs) - len(self.shared)]
        shared = [stand_in(t.shape, t.dtype) for t in self.shared]
        given, results = [], []
        for _ in range(count):
            tensors = [stand_in(n.shape, n.dtype) for n in own]
            given += tensors
            results += self.body(*tensors, *shared)
        graph = FunctionGraph([_node(t) for t in (*given, *shared)], [_node(t) for t in results])
        return Segment(Body(graph), tuple([(i, -1) for i in range(len(graph.inputs))]))

    def _put(self, op: Segment, each: Sequence[Sequence[Tensor]]) -> None:
        """Give some groups of tensors their new values, computed by one segment."""
        operands = [t for tensors in each for t in tensors]
        found = (apply_many if op.outputs > 1 else _one)(op, *operands, *self.shared)
        values = iter(found)
        for tensors in each:
            for i in self.changed:
                assign(tensors[i], next(values))


def _one(op: Segment, *operands: Tensor) -> tuple[Tensor, ...]:
    return (apply(op, *operands),)


def _node(t: Tensor) -> Node:
    node = t.node
    assert node is not None
    return node


def _shared(results: Sequence[Node], own: Sequence[Node], since: int) -> list[Node]:
    """Return the nodes on which ``results`` depend that existed before, and leaves with memory."""
    inputs = set(own)

    def is_outside(node: Node) -> bool:
        if node.op is None:
            return node not in inputs and constant_value(node) is None
        return node.serial < since

    return [n for n in toposort(results, is_outside) if is_outside(n)]
