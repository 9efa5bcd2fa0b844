"""Patterns: pieces of graph written with public operations on variables, found and filled in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from agnesi.core.dtypes import float32
from agnesi.core.graph import COMMUTATIVE, constant, constant_value
from agnesi.core.node import Node
from agnesi.core.record import handle
from agnesi.core.tensor import Tensor, symbol

_UNIFORM_SIZE = 1024
#: What operands without an operation are called where others have the names of theirs.
CONSTANT, LEAF = "constant", ""
Bindings = dict[str, Node]


class _Variable(Node):
    """A node that stands for any node."""

    __slots__ = ()


def variables(names: str) -> Any:
    """Pattern variables, one for each name in a string of names.

    Each stands for any value of any shape and dtype, wherever the pattern says it stands; a
    variable that occurs twice stands for the same value twice.

    Examples
    --------
    >>> from agnesi.rewrite import variables
    >>> x, y = variables("x y")
    """
    found = tuple(symbol(_Variable(None, (), (), float32, name=n)) for n in names.split())
    return found[0] if len(found) == 1 else found


@handle
class Pattern:
    """A compiled pattern: a variable (name), a number (value), or an operation on patterns."""

    name: str = ""
    value: Any = None
    op: Any = None
    args: tuple[Pattern, ...] = ()
    commutes: bool = False

    def __str__(self) -> str:
        if self.op is not None:
            return f"{self.op.label()}({', '.join(map(str, self.args))})"
        return self.name or str(self.value)

    def names(self) -> set[str]:
        """Names of the variables in it."""
        return {self.name} - {""} | {n for a in self.args for n in a.names()}


def compiled(written: Any) -> Pattern:
    """A pattern from what was written: a tensor over variables, or a number."""
    if not isinstance(written, Tensor):
        return Pattern(value=written)
    if written.node is None:
        return Pattern(value=_number(written.data))
    return _compiled(written.node)


def _compiled(node: Node) -> Pattern:
    if isinstance(node, _Variable):
        return Pattern(name=node.name or "")
    if node.op is None:
        value = constant_value(node)
        if value is None and node.handle is not None:
            value = node.handle().data
        return Pattern(value=_number(value))
    args = tuple(_compiled(n) for n in node.inputs)
    commutes = node.op.name in COMMUTATIVE and len(args) == 2 and args[0] is not args[1]
    return Pattern(op=node.op, args=args, commutes=commutes)


def _number(value: Any) -> Any:
    if value is None or value.size != 1:
        raise ValueError("a rewrite pattern is made of pattern variables and numbers only")
    return value.item()


def scalar(node: Node) -> Any:
    """The number that fills a constant of any shape, as a NumPy scalar; None for other nodes."""
    if node.op is None:
        if node.value is None and node.handle is None:
            return None
        value = constant_value(node)
        if value is None or value.size == 0 or value.size > _UNIFORM_SIZE:
            return None
        first = value.flat[0]
        return first if value.size == 1 or (value == first).all() else None
    if node.op.name == "broadcast_to":
        return scalar(node.inputs[0])
    return None


def is_count(node: Node) -> bool:
    """Whether the node is a number that only sizes tell, such as a length as a float."""
    if node.op is None or node.shape:
        return False
    return node.op.name == "size" or (node.op.name == "astype" and is_count(node.inputs[0]))


def is_number(node: Node, number: Any) -> bool:
    """Whether the node is a constant filled with ``number``."""
    value = scalar(node)
    if value is None or (value.dtype.kind == "b") is not isinstance(number, bool):
        return False
    if isinstance(number, float) and value.dtype.kind in "fc":
        return bool(value == value.dtype.type(number))
    return bool(value == number)


def may_match(pattern: Pattern, heads: tuple[str, ...]) -> bool:
    """Whether the pattern can fit a node, by the names of its operation and of its operands'."""
    if pattern.op.name != heads[0]:
        return False
    args = pattern.args
    if len(args) == 2 and args[0].name and args[0].name == args[1].name and heads[1] != heads[2]:
        return False
    orders = [args, args[::-1]] if pattern.commutes else [args]
    return any(all(map(_may_be, order, heads[1:])) for order in orders)


def _may_be(pattern: Pattern, head: str) -> bool:
    if pattern.op is not None:
        return bool(pattern.op.name == head)
    return bool(pattern.name) or head in (CONSTANT, "broadcast_to")


def match(pattern: Pattern, node: Node) -> Bindings | None:
    """What the variables stand for if the pattern fits the node, else None."""
    if pattern.op != node.op:
        return None
    return _match([(pattern, node)], {})


def _match(todo: list[tuple[Pattern, Node]], bound: Bindings) -> Bindings | None:
    """Match all pairs; operands that commute are tried both ways."""
    while todo:
        pattern, node = todo.pop()
        if pattern.op is not None:
            if node.op is not pattern.op and node.op != pattern.op:
                return None
            if pattern.commutes:
                a, b = node.inputs
                p, q = pattern.args
                found = _match([*todo, (q, b), (p, a)], dict(bound))
                if found is not None or a is b:
                    return found
                todo += ((q, a), (p, b))
            else:
                todo.extend(zip(pattern.args, node.inputs, strict=True))
        elif pattern.name:
            if bound.setdefault(pattern.name, node) is not node:
                return None
        elif not is_number(node, pattern.value):
            return None
    return bound


def filled(pattern: Pattern, bound: Mapping[str, Node], root: Node) -> Node | None:
    """The replacement for ``root``; None where an operation does not take the dtypes at hand."""
    if pattern.name:
        return bound[pattern.name]
    if pattern.op is None:
        return constant(np.asarray(pattern.value, root.dtype), root.where)
    op = pattern.op
    inputs = [None if a.op is None and not a.name else filled(a, bound, root) for a in pattern.args]
    if any(n is None and (a.op or a.name) for n, a in zip(inputs, pattern.args, strict=True)):
        return None
    values = inputs[1:] if op.name == "where" else inputs
    dtype = next((n.dtype for n in values if n is not None), root.dtype)
    if dtype.kind not in getattr(op, "kinds", "biufc"):
        return None
    try:
        nodes = tuple(
            constant(np.asarray(a.value, dtype), root.where) if n is None else n
            for n, a in zip(inputs, pattern.args, strict=True)
        )
        shape, result = op.infer(*(symbol(n) for n in nodes))
    except (ValueError, TypeError, OverflowError):
        return None
    return Node(op, nodes, shape, result, where=root.where)
