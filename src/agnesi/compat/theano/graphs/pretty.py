"""Expressions as formulas, and graphs as trees: ``theano.pprint`` and ``debugprint``."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.core.graph import constant_value, live_tensor
from agnesi.core.ir.node import Node, toposort
from agnesi.core.op import typed

_INFIX = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//",
          "remainder": "%", "power": "**", "matmul": "\\dot", "bitwise_and": "&",
          "bitwise_or": "|", "bitwise_xor": "^"}
_COMPARED = {"less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge",
             "equal": "eq", "not_equal": "neq", "where": "switch"}
#: What changes nothing in a formula.
_SILENT = ("reshape", "broadcast_to", "cast", "expand_dims", "squeeze")


def formula(node: Node) -> str:
    """An expression as one line."""
    texts: dict[Node, str] = {}
    for n in toposort([node]):
        texts[n] = _leaf(n) if n.op is None else _applied(n, [texts[m] for m in n.inputs])
    return texts[node]


def _leaf(n: Node) -> str:
    if n.name:
        return str(n.name)
    value = None if live_tensor(n) is not None else constant_value(n)
    if value is None:
        return f"<{typed(n)}>"
    return str(value.item()) if value.size == 1 else str(np.asarray(value).tolist())


def _applied(n: Node, xs: Sequence[str]) -> str:
    op: Any = n.op
    name = op.name
    if name in _INFIX and len(xs) == 2:
        return f"({xs[0]} {_INFIX[name]} {xs[1]})"
    if name in _SILENT:
        return xs[0]
    if name == "negative":
        return f"(-{xs[0]})"
    if name == "square":
        return f"({xs[0]} ** 2)"
    if name == "permute_dims":
        axes = tuple(op.axes)
        return f"{xs[0]}.T" if axes == tuple(range(len(axes)))[::-1] else (
            f"DimShuffle{{{', '.join(map(str, axes))}}}({xs[0]})")
    if name == "getitem":
        keys = [*map(_key, op.key)]
        while len(keys) > 1 and keys[-1] == ":":
            keys.pop()
        return f"{xs[0]}[{', '.join(keys)}]"
    if hasattr(op, "axes") and hasattr(op, "keepdims"):
        axes = tuple(op.axes)
        every = len(axes) == len(n.inputs[0].shape)
        return f"{name}({xs[0]}, axis={None if every else axes})"
    return f"{_COMPARED.get(name, name)}({', '.join(xs)})"


def _key(k: Any) -> str:
    if not isinstance(k, tuple):
        return str(k)
    start, stop, step = k
    parts = ["" if v is None else str(v) for v in (start, stop)]
    return ":".join(parts if step in (None, 1) else [*parts, str(step)])


def tree(outputs: Sequence[Node], depth: int = -1, types: bool = False) -> str:
    """The graphs of some results, each operand below what reads it; written once."""
    names: dict[Node, str] = {}
    lines: list[str] = []

    def put(n: Node, first: str, rest: str, left: int) -> None:
        again = n in names
        name = names.setdefault(n, _letters(len(names)))
        texts = _leaf(n) if n.op is None else n.op.name
        texts += f" {typed(n)}" if types else ""
        lines.append(f"{first}{texts} [id {name}]")
        if n.op is None or not left:
            return
        if again:
            lines.append(f"{rest} └─ ···")
            return
        for i, m in enumerate(n.inputs):
            last = i == len(n.inputs) - 1
            put(m, f"{rest} {'└' if last else '├'}─ ", f"{rest} {' ' if last else '│'} ", left - 1)

    for n in outputs:
        put(n, "", "", depth)
    return "\n".join(lines)


def _letters(i: int) -> str:
    """A, B, ..., Z, BA, ... for numbers."""
    found = ""
    while True:
        i, digit = divmod(i, 26)
        found = string.ascii_uppercase[digit] + found
        if not i:
            return found
