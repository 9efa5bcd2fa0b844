"""Fingerprints of graphs: equal text for graphs that compile to the same code."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from agnesi.core.graph import FunctionGraph, constant_value, live_tensor
from agnesi.core.ir.extents import Extent
from agnesi.core.ir.node import Node
from agnesi.core.support.exports import module_of
from agnesi.core.tensor import Tensor
from agnesi.ops.base.elementwise import Elementwise

_PLAIN = (bool, int, float, str, bytes, type(None), np.dtype, Extent)


def _is_plain(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return all(map(_is_plain, value))
    fields = getattr(type(value), "_fields", None)
    if fields is not None and _is_ours(type(value)):  # a record is identified by its fields
        return all(_is_plain(getattr(value, name)) for name in fields)
    return isinstance(value, _PLAIN)


def _is_ours(thing: Any) -> bool:
    return thing is None or getattr(thing, "__module__", "").startswith("agnesi.")


def operation(op: Any) -> str | None:
    """The text of one of the library's own operations with its parameters; None for others."""
    kind = type(op)
    if not _is_ours(kind):
        return None
    if isinstance(op, Elementwise):
        ours = _is_ours(op.expand) and all(map(_is_ours, op.rules))
        return f"{kind.__qualname__} {op.name}" if ours else None
    fields = getattr(op, "_fields", None)  # of a record; what it derives from them adds nothing
    values = dict(vars(op)) if fields is None else {n: getattr(op, n) for n in fields}
    for name in op.bodies:
        values[name] = fingerprint(values[name].graph, ())
        if values[name] is None:
            return None
    if not all(map(_is_plain, values.values())):
        return None
    return f"{module_of(kind)}.{kind.__qualname__} {sorted(values.items())!r}"


def _leaf(node: Node, indices: Mapping[int, int], found: list[int]) -> str:
    """Return a leaf's text; the index of a live tensor is appended to ``found``."""
    t = live_tensor(node)
    if t is not None:
        found.append(indices[id(t)])
        return f"live {t.array.strides}"
    value = constant_value(node)
    return "input" if value is None else f"constant {value.tobytes().hex()}"


def fingerprint(graph: FunctionGraph, live: Sequence[Tensor]) -> str | None:
    """The text that identifies a graph with live leaves ``live``; None with users' operations."""
    numbers: dict[Node, int] = {}
    texts: dict[int, str | None] = {}  # of operations
    kinds: dict[Any, int] = {}  # operations and types, which many nodes have in common
    indices = {id(t): i for i, t in enumerate(live)}
    rows = array("q")
    for node in dict.fromkeys((*graph.inputs, *graph.nodes)):
        numbers[node] = len(numbers)
        op = node.op
        what: str | None
        found = [numbers[n] for n in node.inputs]
        if op is None:
            what = _leaf(node, indices, found)
        elif id(op) in texts:
            what = texts[id(op)]
        else:
            what = texts[id(op)] = operation(op)
        if what is None:
            return None
        kind = kinds.setdefault((what, node.dtype, node.shape, node.outputs), len(kinds))
        rows.extend((kind, len(found), *found))
    ends = [numbers[n] for n in graph.inputs], [numbers[n] for n in graph.outputs]
    sizes = [n.key for n in graph.extents]
    return "\n".join([*map(str, kinds), rows.tobytes().hex(), repr(ends), repr(sizes)])
