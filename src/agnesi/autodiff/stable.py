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
    over = node.op.unstable_over if node.op is not None else ""
    return ("unstable" in node.traits
            or ("quotient" in node.traits and _is_divided_difference(node))
            or (over != "" and any([over in _traits_behind_sign(n) for n in node.inputs])))


def _is_divided_difference(node: Node) -> bool:
    """Return whether a quotient is ``(f(a) - f(b)) / (a - b)``."""
    if any([n.op is None or n.op.unstable_over != "cancelling" for n in node.inputs]):
        return False  # no differences
    (f, g), ends = (n.inputs for n in node.inputs)
    alike = f.op is not None and f.op is g.op and len(f.inputs) > 0
    return alike and {f.inputs[0], g.inputs[0]} == {*ends}


def _traits_behind_sign(node: Node) -> frozenset[str]:
    """Return the traits of a value, of its negative those of the value; a reciprocal written as a
    quotient is ``cancelling``.
    """
    while "signed" in node.traits and len(node.inputs) == 1:
        node = node.inputs[0]
    if "quotient" in node.traits and node.inputs[0].op is None:
        return node.traits | {"cancelling"}
    return node.traits
