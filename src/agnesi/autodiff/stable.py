"""Derivatives are taken of stable forms: of ``softplus(x)`` where ``log(1 + exp(x))`` is written.

The derivative of a formula that overflows has infinities of its own, and more of them the further
it is differentiated.  Graphs are therefore brought into the forms that compiled code evaluates
before they are differentiated.  Eager records are derived as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from agnesi.core.ir.node import Node
from agnesi.core.support.config import HOOKS
from agnesi.core.support.tracing import current_trace, is_tracing

#: Operations that lose digits in sums.
_BESIDE_ONE = frozenset(("tanh", "erf", "sqrt"))
#: Those of which people take roots where they vanish, beside the unstable ones.
_STEEP = frozenset(("sigmoid", "subtract"))


def stable_roots(roots: Iterable[Node], order: Sequence[Node],
                 ends: Callable[[], Iterable[Node]]) -> dict[Node, Node]:
    """Return the stable forms of results that have one.

    ``order`` lists the nodes that derivatives flow through; ``ends`` returns those at which they
    are wanted or stop.
    """
    roots = list(roots)
    if any([n.serial < 0 or n.value is not None for n in roots]) or not any(
            map(_may_be_unstable, order)):
        return {}
    since, exclude = 0, ()
    if is_tracing():
        trace: Any = current_trace()
        if trace.reads.changes:
            return {}  # what was overwritten is to be noticed
        since = getattr(trace, "since", 0)
        while trace.around is not None:
            trace = trace.around
        exclude = getattr(trace, "exclude", ())
        if exclude is None:
            return {}
    kept = {*ends(), *(n for n in order if n.handle is not None or n.serial < since)}
    found: dict[Node, Node] = HOOKS.stable(roots, kept, since, exclude)
    return found


def _may_be_unstable(node: Node) -> bool:
    """Return whether a stable form may exist for the expression that ends with this node."""
    if node.op is None:
        return False
    name = node.op.name
    if name == "subtract":
        return any(map(_may_cancel, node.inputs))
    if name in ("add", "sqrt"):
        ops = [n.op for n in node.inputs if n.op is not None]
        known = _BESIDE_ONE if name == "add" else _STEEP
        return any([op.name in known or (name == "sqrt" and "unstable" in op.traits) for op in ops])
    return "unstable" in node.op.traits or (name == "divide" and _is_divided_difference(node))


def _is_divided_difference(node: Node) -> bool:
    """Return whether a quotient is ``(f(a) - f(b)) / (a - b)``."""
    if any([n.op is None or n.op.name != "subtract" for n in node.inputs]):
        return False
    (f, g), ends = (n.inputs for n in node.inputs)
    return f.op is not None and f.op is g.op and {f.inputs[0], g.inputs[0]} == {*ends}


def _may_cancel(node: Node) -> bool:
    op = node.op
    if op is None:
        return False
    if op.name == "negative":
        return _may_cancel(node.inputs[0])
    return "cancelling" in op.traits or (op.name == "divide" and node.inputs[0].op is None)
