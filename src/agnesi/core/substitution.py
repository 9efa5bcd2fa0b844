"""Substitution of nodes by others, and of unknown sizes by known ones.

When a declared graph is specialized, every node is inferred again with the sizes of the call;
sizes that results of deferred calls bring along (``autodiff/deferred.py``) are made here
(``born``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import Any

from agnesi.core.ir import dims
from agnesi.core.ir.dims import Dim, Shape, Size, is_open, is_settled
from agnesi.core.ir.extents import Extent
from agnesi.core.ir.node import Node, executed, next_serial
from agnesi.core.op import Item, explain, name_at, title_of, typed
from agnesi.core.support.errors import DTypeError, ShapeError, at
from agnesi.core.tensor import symbol

_new = Node.__new__


def copied(node: Node, inputs: tuple[Node, ...]) -> Node:
    """Return a copy of a node with other inputs of the same types."""
    new: Any = _new(Node)  # written out: graphs of thousands of nodes are copied
    new.op = node.op
    new.inputs = inputs
    new.shape = node.shape
    new.dtype = node.dtype
    new.weak = node.weak
    new.requires_grad = node.requires_grad
    new.value = new.version = new.handle = None
    new.name = node.name
    new.where = node.where
    new.outputs = node.outputs
    new.serial = next_serial()
    return new


def size_with(size: Size, known: Mapping[Dim, Size]) -> Size:
    """Return a size with known dimensions substituted."""
    if not isinstance(size, Dim):
        return size
    done: dict[Size, Size] = {}
    for part in dims.parts_first(size, lambda n: isinstance(n, Extent) or n in known):
        done[part] = _replaced(part, known, done)
    return done[size]


def _replaced(size: Dim, known: Mapping[Dim, Size], done: Mapping[Size, Size]) -> Size:
    """Substitute known sizes in one level of a size; ``done`` maps its operands to their results.
    """
    if isinstance(size, Extent):
        return size.value(known)  # type: ignore[arg-type]
    if size in known:
        return known[size]
    if not size.op:
        return size
    if size.op == "broadcast":
        return _broadcast_with(size, known, done)
    args = [done.get(a, a) for a in size.args]
    return size.at(args) if isinstance(size, dims.CalledDim) else dims.combine(size.op, *args)


def _broadcast_with(size: Dim, known: Mapping[Dim, Size], done: Mapping[Size, Size]) -> Size:
    """The size that several broadcast to, some of which may be symbolic."""
    parts = set(dims.broadcast_parts(size))
    found: list[Size] = []
    for some, n in known.items():
        if some.op == "broadcast" and parts.issuperset(dims.broadcast_parts(some)):
            parts.difference_update(dims.broadcast_parts(some))
            found.append(n)
    return reduce(partial(dims.combine, "broadcast"), [*found, *(done.get(n, n) for n in parts)])


def unify(old: Shape, new: Shape, known: dict[Dim, Size]) -> bool:
    """Note the unknown sizes in ``old`` that follow from ``new``; False if they cannot agree."""
    if len(old) != len(new):
        return False
    for a, b in zip(old, new, strict=True):
        if isinstance(a, Dim):
            if known.setdefault(a, b) != b and not is_open(b):
                return False
        elif a != b and is_settled((a, b)):
            return False
    return True


def inferred(node: Node, inputs: tuple[Node, ...], known: Callable[[Size], Size]) -> Node:
    """The node's operation on inputs of new types, with known sizes put into its parameters."""
    op = node.op
    # Whether its result follows from shapes and dtypes alone.
    by_types = type(op) is Item or (op.pointwise and not op.user_defined)
    xs: tuple[Any, ...] = inputs if by_types else tuple([symbol(n) for n in inputs])
    try:
        op = op.resolve(known)
        types = op.infer(*xs)
    except (ValueError, TypeError, IndexError) as error:
        raise _explained(error, node, inputs) from None
    several = op.outputs > 1
    shape, dtype = types[0] if several else types
    new = Node(op, inputs, shape, dtype, node.weak, node.requires_grad, node.where, name=node.name)
    new.outputs = tuple(types) if several else None
    return new


def _explained(error: Exception, node: Node, inputs: tuple[Node, ...]) -> Exception:
    """Return an error with the operands as the user gave them, where the called function made rows
    or columns of vectors.
    """
    given = [_as_given(n, node) for n in inputs]
    reason = error.args[0] if error.args else None
    for n, old in zip(inputs, given, strict=True):
        if isinstance(reason, str) and old is not n:
            reason = re.sub(rf"(last axis|axis -?\d) of {re.escape(str(n.shape))}",
                            f"of {old.shape}", reason)
            error.args = reason, *error.args[1:]
    return explain(error, name_at(title_of(node.op), node.where), tuple(given), node.where)


def _as_given(n: Node, node: Node) -> Node:
    if n.op is None or not n.op.flat or n.where != node.where:
        return n
    vector = n.inputs[0]
    return vector if n.shape in ((1, *vector.shape), (*vector.shape, 1)) else n


def born(old: Node, new: Node, known: dict[Dim, Size]) -> None:
    """Record the values of sizes that the results of an operation, or of its bodies, define."""
    if getattr(old.op, "bears", False) or (old.op is not None and old.op.bodies):
        types = zip(old.outputs or ((old.shape, None),), new.outputs or ((new.shape, None),),
                    strict=True)
        for (before, _), (now, _) in types:
            unify(before, now, known)


def open_sizes(*nodes: Node) -> list[Dim]:
    """Return the sizes in nodes' shapes and in their operations' parameters that are not numbers,
    each shape's and each operation's once."""
    shapes = {id(n.shape): n.shape for n in nodes}
    found = [n for shape in shapes.values() for n in shape if isinstance(n, Dim)]

    def note(n: Size) -> Size:
        if isinstance(n, Dim):
            found.append(n)
        return n

    for op in {id(n.op): n.op for n in nodes}.values():
        if op is not None:
            op.resolve(note)
    return found


def substituted(outputs: Sequence[Node], replace: Mapping[Node, Node]) -> list[Node]:
    """``outputs`` with nodes replaced; what does not depend on them is shared, not copied."""
    if not replace:
        return list(outputs)
    known: dict[Dim, Size] = {}
    for old, new in replace.items():
        if old.dtype != new.dtype:
            raise DTypeError(at(f"cannot replace {typed(old)} by {typed(new)}: dtypes differ"))
        if not unify(old.shape, new.shape, known):
            raise ShapeError(at(f"cannot replace {typed(old)} by {typed(new)}: shapes differ"))
    known = {d: n for d, n in known.items() if d != n}
    sized = partial(size_with, known=known)
    done: dict[Node, Node] = dict(replace)
    for node in executed(outputs, lambda n: n in replace):
        if node in done:
            continue
        inputs = tuple([done[n] for n in node.inputs])
        if node.op is None or (inputs == node.inputs and not (
            known and any(sized(n) != n for n in open_sizes(node))
        )):
            done[node] = node
        elif known:
            done[node] = inferred(node, inputs, sized)
            born(node, done[node], known)
        else:
            done[node] = copied(node, inputs)
    return [done[n] for n in outputs]
