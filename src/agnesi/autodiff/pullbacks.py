"""Pullbacks of elementwise operations in a trace: made once for operands of a kind, then reused.

The rule of an elementwise operation reads types only, so the nodes that it gives are those of
the first operation with operands of the same types, on other operands.  Rules that read no values,
as those of sums, give the same cotangents wherever they are given the same one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agnesi.core.ir.dims import is_static
from agnesi.core.ir.node import Node, next_serial, toposort
from agnesi.core.support.config import MODE
from agnesi.core.support.tracing import current_trace
from agnesi.core.tensor import Tensor, symbol

#: An operation, which of the nodes so far it reads, and what its node is.
_Step = tuple[Any, tuple[int, ...], Any, Any, bool]


class _Pullback:
    """A pullback as a list of steps: it begins with operands, result, cotangent and constants;
    ``results`` says which values are the cotangents of the operands (-1 for none).
    """

    __slots__ = ("constants", "results", "steps")

    def __init__(self, given: Sequence[Node], parts: Sequence[Tensor | None]) -> None:
        roots = [p.node for p in parts if p is not None]
        order = [n for n in toposort(roots) if n not in given]  # type: ignore[arg-type]
        self.constants = [n for n in order if n.op is None]
        indices = {n: i for i, n in enumerate((*given, *self.constants))}
        self.steps: list[_Step] = []
        for n in order:
            if n.op is not None:
                indices[n] = len(indices)
                self.steps.append((n.op, tuple([indices[i] for i in n.inputs]), n.shape, n.dtype,
                                   n.requires_grad))
        self.results = [-1 if p is None else indices[p.node] for p in parts]  # type: ignore[index]

    def __call__(self, given: Sequence[Node], where: Any) -> tuple[Tensor | None, ...]:
        """Return the cotangents for other operands of the same types."""
        nodes = [*given, *self.constants]
        for op, reads, shape, dtype, flows in self.steps:
            nodes.append(Node(op, tuple([nodes[i] for i in reads]), shape, dtype, False, flows,
                              where))
        return tuple([None if i < 0 else symbol(nodes[i]) for i in self.results])


def _known_to(mode: Any, g: Any) -> dict[Any, Any] | None:
    """Return the cache of pullbacks of the present trace; None if each must be traced by itself."""
    trace = current_trace()
    if trace is None or mode.line is None or mode.examples is not None or not (
            trace.keeps_nodes and trace.of_values) or trace.reads.changes:
        return None
    if type(g) is not Tensor or g.array is not None or g._view is not None:
        return None
    return trace.pullbacks


def shared(node: Node, g: Any, rule: Callable[[], Sequence[Any]]) -> Sequence[Any]:
    """Return the cotangents of operands by a rule that reads no values, cached by the cotangent and
    the types of the operands.
    """
    op, inputs, mode = node.op, node.inputs, MODE.get()
    known = None if op.outputs > 1 or op.bodies else _known_to(mode, g)
    if known is None or op.needs_result(inputs) or any(
            [op.needs(i, inputs) for i in range(len(inputs))]):
        return rule()
    key = op, g.node, mode.line, mode.recording, tuple(
        [(n.shape, n.dtype, n.requires_grad, n.weak) for n in inputs])
    try:
        found = known.get(key)
    except TypeError:  # the operation has no hash
        return rule()
    if found is None:
        parts = rule()
        if any([p is not None and (type(p) is not Tensor or p.array is not None
                                   or p._view is not None) for p in parts]):
            return parts
        found = known[key] = [None if p is None else p.node for p in parts]
    return [None if n is None else symbol(n) for n in found]


def pulled(node: Node, g: Any) -> tuple[Tensor | None, ...] | None:
    """Return the cotangents of the operands of an elementwise operation by a cached pullback; None
    if there is none.
    """
    mode, trace = MODE.get(), current_trace()
    known_to = _known_to(mode, g)
    if known_to is None:
        return None
    given: tuple[Any, ...] = (*node.inputs, node, g.node)
    shape = node.shape
    for n in given:
        if n.weak or (n.value is not None and (n.shape or n.requires_grad)) or (
                n.shape != shape and n.value is None):
            return None
    key = id(node.op), mode.recording, tuple([(n.shape, n.dtype, n.requires_grad) for n in given])
    known = known_to.get(key)
    if known is None:
        known = known_to[key] = node.op, _made(node, given, trace)  # by whose id it is found
    found = known[1]
    return found(given, mode.line) if found else None


def _made(node: Node, given: Sequence[Node], trace: Any) -> _Pullback | None:
    """Return the pullback for operands of these types; None if the rule does more than make nodes.
    """
    if not is_static(node.shape):
        return None
    laid, since = len(trace.laid), next_serial()
    stand_ins = [Node(None, (), n.shape, n.dtype, False, n.requires_grad) for n in given]
    *xs, y, g = [symbol(n) for n in stand_ins]
    parts = node.op.vjp(g, y, *xs)
    if len(trace.laid) > laid:
        return None
    for p in parts:
        if p is not None and (type(p) is not Tensor or p.array is not None or p._view is not None):
            return None
    made = toposort([p.node for p in parts if p is not None])
    if any(n.outputs or n.weak or n.handle is not None or (
            n.op is not None and n.serial < since) for n in made):
        return None
    return _Pullback(stand_ins, parts)
