"""What backward passes compute again: values of a forward step, and segments of a graph.

Of a loop's forward step the reverse step is given what is expensive (:func:`saved_values`).

The forward nodes of a segment stand in the graph as they are; :class:`Recompute` hands their
results on.  Its pullback copies the segment on operands that wait for the cotangent
(:class:`After`): the copy is another computation than the original, which nothing merges, and it
cannot run early.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np

from agnesi.autodiff.batched import Example
from agnesi.autodiff.reverse import backprop
from agnesi.core.dispatch import apply, apply_many
from agnesi.core.graph import constant_value
from agnesi.core.ir.node import Node, toposort
from agnesi.core.op import Item, Op, item_of
from agnesi.core.substitution import substituted
from agnesi.core.support.record import record
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.expand import broadcast_to
from agnesi.ops.identity import ALIAS


@record
class After(Op):
    """Return the first operand, ordered after the computation of the others."""

    name = "after"
    traits = frozenset(("ordering",))
    keep_inputs = ()

    def infer(self, x: Any, *others: Any) -> Any:
        return x.shape, x.dtype

    def perform(self, x: np.ndarray, *others: np.ndarray) -> np.ndarray:
        return x.view()

    def vjp(self, g: Tensor, y: Tensor, x: Tensor, *others: Tensor) -> tuple[Any, ...]:
        return (g, *[None] * len(others))

    def jvp(self, ts: Any, y: Tensor, x: Tensor, *others: Tensor) -> Any:
        return ts[0]

    def lower(self, at: Any, x: Any, *others: Any) -> Any:
        return x(*at)

    def batch(self, node: Node, xs: list[Tensor], rows: list[bool], length: Any) -> Tensor:
        x = xs[0] if rows[0] else broadcast_to(xs[0], (length, *xs[0].shape))
        return apply(self, x, *xs[1:])


@record
class Recompute(Op):
    """The first ``outputs`` operands, marked as recomputable from the other operands."""

    outputs: int  # type: ignore[misc]

    name = "checkpoint"
    keep_inputs = ()

    def infer(self, *xs: Any) -> Any:
        types = tuple((x.shape, x.dtype) for x in xs[: self.outputs])
        return types if self.outputs > 1 else types[0]

    def perform(self, *xs: np.ndarray) -> Any:
        return xs[: self.outputs] if self.outputs > 1 else xs[0]

    def decompose(self, *xs: Tensor) -> Any:
        return xs[: self.outputs] if self.outputs > 1 else xs[0]

    def jvp(self, ts: Any, y: Any, *xs: Tensor) -> Any:
        return tuple(ts[: self.outputs]) if self.outputs > 1 else ts[0]

    def vjp(self, g: Any, y: Any, *xs: Tensor) -> tuple[Any, ...]:
        gs = list(g) if self.outputs > 1 else [g]
        nodes: list[Any] = [x.node for x in xs]
        results, ends = nodes[: self.outputs], nodes[self.outputs :]
        known = frozenset(ends)
        if any(n.requires_grad and (n.op is None or n.op is ALIAS) and n not in known
               for n in toposort(results, known.__contains__)):
            return (*gs, *[None] * len(ends))  # rules have led results past their operands
        waits = tuple(dict.fromkeys(c.node for c in gs if c is not None and c.node is not None))
        waits = waits or tuple(results)  # where the segment ends in a cost
        late = {n: _after(n, waits) for n in ends if constant_value(n) is None}
        copies = substituted(results, late)
        seeds: dict[Node, Tensor] = {}
        for copy, c in zip(copies, gs, strict=True):
            if c is not None:
                seeds[copy] = seeds[copy] + c if copy in seeds else c
        goals = [n for n in late.values() if n.requires_grad]
        found = backprop(seeds, goals, goals)
        parts = [found.get(late[n]) if n in late else None for n in ends]
        return (*[None] * self.outputs, *parts)


def _after(node: Node, waits: tuple[Node, ...]) -> Node:
    return Node(
        After(), (node, *waits), node.shape, node.dtype, node.weak, node.requires_grad, node.where
    )


def with_meetings(nodes: Sequence[Node]) -> list[Node]:
    """Return results of a declared graph, the first of which is ordered after all communication
    with other processes, so that none of it is removed as dead code.
    """
    met = [n for n in toposort(nodes) if "meets" in n.traits]
    return [_after(n, tuple(item_of(m, 0) for m in met)) if met and not i else n
            for i, n in enumerate(nodes)]


def segment(results: Sequence[Tensor], since: int) -> list[Tensor]:
    """Return the results of a segment, whose nodes are younger than ``since``, marked to be
    recomputed.

    Only results that carry gradients are replaced.
    """
    indices = [i for i, t in enumerate(results) if t._requires_grad and t.node is not None]
    nodes: list[Any] = [results[i].node for i in indices]
    ends = [n for n in toposort(nodes, lambda n: _outside(n, since)) if _outside(n, since)]
    inner = [i for i, n in zip(indices, nodes, strict=True) if not _outside(n, since)]
    if not inner:
        return list(results)
    operands = [results[i] for i in inner] + [symbol(n) for n in ends]
    op = Recompute(len(inner))
    made = apply_many(op, *operands) if op.outputs > 1 else (apply(op, *operands),)
    replaced = dict(zip(inner, made, strict=True))
    return [replaced.get(i, t) for i, t in enumerate(results)]


def _outside(node: Node, since: int) -> bool:
    """Return whether a node is outside of a segment: it is older, or a gradient begins there, or it
    is an example of ``vmap``.
    """
    begins = node.op is ALIAS and node.handle is not None
    return node.op is None or node.serial < since or begins or type(node.op) is Example


# -- steps of loops ------------------------------------------------------------------------------
def _is_cheap(node: Node) -> bool:
    op = node.op
    return "cheap" in op.traits or op.view or op.flat


def saved_values(results: Sequence[Node], reverse: Sequence[Node], rows: Sequence[Node],
                 carries: Sequence[Node]) -> tuple[list[Node], set[Node]]:
    """Return the values of the forward step to keep, and all values that the reverse step reads
    from outside.

    ``results`` are nodes of the forward step, ``reverse`` those of the reverse step. Values that
    are cheap to compute from rows, constants and kept values, and those that are the same in every
    step, are recomputed instead.
    """
    forward = set(toposort(results))
    forward |= {n for n in toposort(reverse, forward.__contains__)
                if type(n.op) is Item and n.inputs[0] in forward}  # one of several is a value
    varying = set(rows) | set(carries)
    for node in toposort([*results, *(n for n in forward if type(n.op) is Item)]):
        if any(n in varying for n in node.inputs):
            varying.add(node)
    edge = [n for n in toposort(reverse, forward.__contains__) if n in forward and n in varying]
    given = set(rows)
    saved = [n for n in edge if n not in given and (n.op is None or not _is_cheap(n))]
    known = given | set(saved)
    for node in edge:
        if node in known:
            continue
        behind = toposort([node], lambda n: n in known or n not in varying)
        if any(n in varying and n not in known and (n.op is None or not _is_cheap(n))
               for n in behind):
            saved.append(node)
            known.add(node)
    read = toposort(reverse, lambda n: n in known)
    return saved, set(read)


def values_of_rules(flow: Iterable[Node], leaves: Collection[Node]) -> set[Node]:
    """Return the nodes of ``leaves`` whose values, or views of them, gradient rules read.

    ``flow`` lists the operations through which gradients flow.
    """
    found = set()
    for node in flow:
        for i, n in enumerate(node.inputs):
            if node.op.needs(i, node.inputs):
                while n not in leaves and n.op is not None and n.op.view:
                    n = n.inputs[0]
                if n in leaves:
                    found.add(n)
    return found
