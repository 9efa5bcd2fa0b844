"""Patterns: pieces of graph written with public operations on variables, found and filled in."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from typing import Any, TypeVar

import numpy as np

from agnesi.core.graph import constant, constant_value
from agnesi.core.ir.dims import Dim, Shape, Size
from agnesi.core.ir.node import Node
from agnesi.core.substitution import size_with
from agnesi.core.support.dtypes import float32
from agnesi.core.support.errors import at
from agnesi.core.support.record import handle
from agnesi.core.tensor import Tensor, symbol

#: Elements of a constant up to which it is searched for being uniform.
_UNIFORM_SIZE = 1024
#: The names that stand for constants and leaves where other nodes have an operation's name.
CONSTANT, LEAF = "constant", ""
Bindings = dict[str, Node]
R = TypeVar("R")


class _Variable(Node):
    """A node that stands for any node."""

    __slots__ = ()


class _Shaped(_Variable):
    """A node that stands for any node of its number of axes, and of sizes that agree."""

    __slots__ = ()


def variables(names: str, shape: Sequence[int | str | None] | None = None, *,
              ndim: int | None = None) -> Any:
    """Pattern variables, one for each name in a string of names.

    Each stands for any value of any dtype, wherever the pattern says it stands; a variable that
    occurs twice stands for the same value twice.  Without ``shape`` and ``ndim`` it stands for
    values of any shape in operations element by element; others, such as products and sums over
    axes, take variables that have axes.

    :param names: Names with spaces between them.
    :param shape: Sizes: numbers, names of sizes, which are the same wherever they occur in a rule,
        or None for any.
    :type shape: sequence of int, str or None, optional
    :param ndim: The number of axes, of any sizes.
    :returns: Symbolic.
    :rtype: Tensor, or tuple of Tensor
    :raises TypeError: If both ``shape`` and ``ndim`` are given.
    :see: rewrite.rewrite_rule

    >>> import agnesi as ag
    >>> from agnesi.rewrite import variables
    >>> x, y = variables("x y")
    >>> a, b = variables("a", ("n", "k")), variables("b", ("k", "m"))
    >>> (a @ b).shape
    (n, m)
    """
    if isinstance(shape, str):
        raise TypeError(at(f"variables: shape must be a sequence of sizes, not {shape!r}; names "
                           f"are in one string: variables({f'{names} {shape}'!r})"))
    if shape is not None and ndim is not None:
        raise TypeError(at("variables takes shape or ndim, not both"))

    def made(name: str) -> Tensor:
        if shape is None and ndim is None:
            return symbol(_Variable(None, (), (), float32, name=name))
        sizes = [None] * (ndim or 0) if shape is None else shape
        dims = tuple([n if isinstance(n, int) else Dim(n) for n in sizes])
        return symbol(_Shaped(None, (), dims, float32, name=name))

    found = tuple(map(made, names.split()))
    return found[0] if len(found) == 1 else found


@handle
class Pattern:
    """A compiled pattern: a variable (name), a number (value), or an operation on patterns."""

    name: str = ""
    value: Any = None
    op: Any = None
    args: tuple[Pattern, ...] = ()
    commutes: bool = False
    #: The sizes of a variable that has axes, and the size that a number stands for.
    shape: Shape | None = None
    count: Size | None = None
    #: Whether parameters of the operation are sizes, and whether variables in it have axes.
    sized: bool = False
    shaped: bool = False

    def __str__(self) -> str:
        if self.op is not None:
            return f"{self.op.label()}({', '.join(map(str, self.args))})"
        return self.name or str(self.value if self.count is None else self.count)

    def names(self) -> set[str]:
        """Names of the variables in it."""
        return {self.name} - {""} | {n for a in self.args for n in a.names()}

    def shapes(self) -> dict[str, Shape]:
        """Shapes of the variables that have axes."""
        own = {} if self.shape is None else {self.name: self.shape}
        return own | {n: s for a in self.args for n, s in a.shapes().items()}


def compiled(written: Any) -> Pattern:
    """A pattern from what was written: a tensor over variables, or a number."""
    if not isinstance(written, Tensor):
        return Pattern(value=written)
    if written.node is None:
        return Pattern(value=_number(written.array))
    return _compiled(written.node)


def _compiled(node: Node) -> Pattern:
    if isinstance(node, _Variable):
        shaped = type(node) is _Shaped
        return Pattern(name=node.name or "", shape=node.shape if shaped else None, shaped=shaped)
    if is_count(node):
        return Pattern(count=_size_of(node))
    if node.op is None:
        value = constant_value(node)
        if value is None and node.handle is not None:
            value = node.handle().array
        return Pattern(value=_number(value))
    args = tuple(_compiled(n) for n in node.inputs)
    commutes = "commutative" in node.op.traits and len(args) == 2 and args[0] is not args[1]
    sized = node.op.resolve(lambda n: 1 if isinstance(n, Dim) else n) != node.op
    shaped = any(a.shaped for a in args)
    return Pattern(op=node.op, args=args, commutes=commutes, sized=sized, shaped=shaped)


def _size_of(node: Node) -> Size:
    """The size that a number is, as such or as a float."""
    return node.op.size if "shape" in node.traits else _size_of(node.inputs[0])


def _number(value: Any) -> Any:
    if value is None or value.size != 1:
        raise ValueError("a rewrite pattern is made of pattern variables and numbers only")
    return value.item()


def kept_for_last(function: Callable[[Node], R]) -> Callable[[Node], R]:
    """A function of a node, whose result for the last one is kept: rules look it up in a row.

    Nodes get other operands in place, so the result is computed again where these differ.
    """
    kept: list[tuple[Any, Any, Any]] = [(lambda: None, (), None)]

    @wraps(function)
    def call(node: Node) -> R:
        last, inputs, found = kept[0]
        if last() is not node or inputs is not node.inputs:
            found = function(node)
            kept[0] = weakref.ref(node), node.inputs, found
        result: R = found
        return result

    return call


def scalar(node: Node) -> Any:
    """The number that fills a constant of any shape, as a NumPy scalar; None for other nodes."""
    if node.op is None:
        if node.value is None and node.handle is None:
            return None
        value = constant_value(node)
        if value is None or value.size == 0 or value.size > _UNIFORM_SIZE:
            return None
        first = value[(0,) * value.ndim]
        return first if value.size == 1 or (value == first).all() else None
    if "broadcast" in node.op.traits:
        return scalar(node.inputs[0])
    return None


def agree(a: Node, b: Node) -> bool:
    """Return whether two nodes have one shape, as far as sizes are known.

    Two sizes that are not known are taken to be one, as of two vectors that a function declares:
    what is said of single elements holds if either is 1, too.
    """
    return a.shape == b.shape or (len(a.shape) == len(b.shape) and all(
        m == n or (isinstance(m, Dim) and isinstance(n, Dim))
        for m, n in zip(a.shape, b.shape, strict=True)))


def is_count(node: Node) -> bool:
    """Return whether the node is a number that follows from sizes, such as a length as a float."""
    if node.op is None or node.shape:
        return False
    traits = node.op.traits
    return "shape" in traits or ("conversion" in traits and is_count(node.inputs[0]))


def is_number(node: Node, number: Any) -> bool:
    """Return whether the node is a constant filled with ``number``."""
    value = scalar(node)
    if value is None or (value.dtype.kind == "b") is not isinstance(number, bool):
        return False
    if isinstance(number, float) and value.dtype.kind in "fc":
        return bool(value == value.dtype.type(number))
    return bool(value == number)


def may_match(pattern: Pattern, heads: tuple[str, ...]) -> bool:
    """Return whether the pattern can fit a node, by the names of its operation and of its
    operands'."""
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
    """Return the nodes that the variables stand for if the pattern fits the node, else None."""
    if not pattern.sized and pattern.op != node.op:
        return None
    late: list[tuple[Pattern, Node]] = []
    found = _match([(pattern, node)], {}, late)
    if found is None or not (late or pattern.shaped):
        return found
    sizes = sizes_in(pattern, found)
    return found if sizes is not None and all(_agrees(*pair, sizes) for pair in late) else None


def _match(todo: list[tuple[Pattern, Node]], bound: Bindings,
           late: list[tuple[Pattern, Node]]) -> Bindings | None:
    """Match all pairs; operands that commute are tried both ways.  What depends on sizes comes
    later."""
    while todo:
        pattern, node = todo.pop()
        if pattern.op is not None:
            if node.op is not pattern.op and node.op != pattern.op:
                if not pattern.sized or type(node.op) is not type(pattern.op):
                    return None
                late.append((pattern, node))
            if pattern.commutes:
                a, b = node.inputs
                p, q = pattern.args
                before = len(late)
                found = _match([*todo, (q, b), (p, a)], dict(bound), late)
                if found is not None or a is b:
                    return found
                del late[before:]
                todo += ((q, a), (p, b))
            else:
                todo.extend(zip(pattern.args, node.inputs, strict=True))
        elif pattern.name:
            if bound.setdefault(pattern.name, node) is not node:
                return None
        elif pattern.count is not None:
            late.append((pattern, node))
        elif not is_number(node, pattern.value):
            return None
    return bound


def sizes_in(pattern: Pattern, bound: Mapping[str, Node]) -> dict[Dim, Size] | None:
    """Return the sizes of a pattern's variables, or None where those of the nodes do not agree."""
    known: dict[Dim, Size] = {}
    for name, shape in pattern.shapes().items():
        found = bound[name].shape
        if len(found) != len(shape):
            return None
        for wanted, n in zip(shape, found, strict=True):
            if (known.setdefault(wanted, n) if isinstance(wanted, Dim) else wanted) != n:
                return None
    return known


def _agrees(pattern: Pattern, node: Node, sizes: Mapping[Dim, Size]) -> bool:
    """Return whether an operation has the sizes that the variables have, or a number is such a
    size."""
    if pattern.count is not None:
        size = size_with(pattern.count, sizes)
        return isinstance(size, int) and is_number(node, size)
    return bool(pattern.op.resolve(partial(size_with, known=sizes)) == node.op)


def filled(pattern: Pattern, bound: Mapping[str, Node], root: Node,
           sizes: Mapping[Dim, Size] | None = None) -> Node | None:
    """The replacement for ``root``; None where an operation does not take the dtypes at hand.

    ``sizes`` are those of variables that have axes.
    """
    if pattern.count is not None:
        size = size_with(pattern.count, sizes or {})
        if not isinstance(size, int):
            return None
        pattern = Pattern(value=size)
    if pattern.name:
        return bound[pattern.name]
    if pattern.op is None:
        return constant(np.asarray(pattern.value, root.dtype), root.where)
    op = pattern.op.resolve(partial(size_with, known=sizes or {})) if pattern.sized else pattern.op
    args = [a if a.count is None else Pattern(value=size_with(a.count, sizes or {}))
            for a in pattern.args]
    inputs = [None if a.op is None and not a.name else filled(a, bound, root, sizes) for a in args]
    if any(n is None and (a.op or a.name) for n, a in zip(inputs, args, strict=True)):
        return None
    values = inputs[1:] if "selection" in op.traits else inputs
    dtype = next((n.dtype for n in values if n is not None), root.dtype)
    if dtype.kind not in getattr(op, "kinds", "biufc"):
        return None
    try:
        nodes = tuple(
            constant(np.asarray(a.value, dtype), root.where) if n is None else n
            for n, a in zip(inputs, args, strict=True)
        )
        shape, result = op.infer(*(symbol(n) for n in nodes))
    except (ValueError, TypeError, OverflowError):
        return None
    return Node(op, nodes, shape, result, where=root.where)
