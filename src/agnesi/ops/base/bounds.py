"""An upper bound of an integer scalar of a graph, where it follows from its operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.core.dispatch import graph_node
from agnesi.core.graph import constant_value
from agnesi.core.ir.dims import combine, product
from agnesi.core.ir.node import Node, answer
from agnesi.core.tensor import Tensor


def most_of(x: Tensor) -> Any:
    """A size that no element of an integer tensor exceeds; None where none is known."""
    return answer(graph_node(x), _bound, None)


def _bound(node: Node, most: Callable[[Node], Any]) -> Any:
    op: Any = node.op
    if node.dtype.kind == "b":
        return 1
    if op is None:
        value = constant_value(node)
        return None if value is None or not value.size else max(int(value.max()), 0)
    if "shape" in op.traits:
        return op.size
    whole = "conversion" in op.traits and node.inputs[0].dtype.kind in "biu"
    if whole or "movement" in op.traits:
        return most(node.inputs[0])
    rule = _RULES.get(op.name)
    return None if rule is None else rule(most, op, *node.inputs)


def _either(most: Callable[[Node], Any], op: Any, *nodes: Node) -> Any:
    """The first known bound among the operands."""
    return next((m for m in map(most, nodes) if m is not None), None)


def _greater(most: Callable[[Node], Any], op: Any, *nodes: Node) -> Any:
    bounds = [most(n) for n in nodes]
    return None if None in map(_known, bounds) else combine("max", *bounds)


def _together(most: Callable[[Node], Any], op: Any, *nodes: Node) -> Any:
    bounds = [most(n) for n in nodes]
    return None if None in map(_known, bounds) else combine("+", *bounds)


def _known(bound: Any) -> Any:
    """Return None for a missing bound and 0 for any other: symbolic sizes refuse to be compared."""
    return None if bound is None else 0


def _total(most: Callable[[Node], Any], op: Any, x: Node) -> Any:
    """A sum is at most as often the most as there are elements."""
    each = most(x)
    return None if each is None else combine("*", each, product([x.shape[a] for a in op.axes]))


def _less(most: Callable[[Node], Any], op: Any, a: Node, b: Node) -> Any:
    """A difference from a constant that is not negative."""
    value = constant_value(b)
    return most(a) if value is not None and value.size and value.min() >= 0 else None


def _times(most: Callable[[Node], Any], op: Any, a: Node, b: Node) -> Any:
    """A product with 1, as ranges with a step have it."""
    if _is_one(b):
        return most(a)
    return most(b) if _is_one(a) else None


def _is_one(node: Node) -> bool:
    value = constant_value(node)
    return value is not None and bool(np.all(value == 1))


def _position(most: Callable[[Node], Any], op: Any, x: Node, *rest: Node) -> Any:
    """A position along an axis."""
    return None if getattr(op, "axis", None) is None else x.shape[op.axis]


_RULES: dict[str, Callable[..., Any]] = {
    "minimum": _either, "maximum": _greater, "add": _together, "sum": _total, "subtract": _less,
    "multiply": _times, "argmax": _position, "argmin": _position,
    "max": lambda most, op, x: most(x),
    "min": lambda most, op, x: most(x),
}
