"""Values of a scan's body outside of it: all rows at once, and sums over all steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agnesi.core.dispatch import apply, graph_node
from agnesi.core.ir.dims import product
from agnesi.core.ir.extents import guess
from agnesi.core.ir.node import Node, toposort
from agnesi.core.tensor import symbol
from agnesi.ops.base.expand import BroadcastTo, broadcast_to
from agnesi.ops.base.movement import Permute, Reshape
from agnesi.ops.base.reduce import reducer
from agnesi.ops.base.slices import Slice
from agnesi.ops.contractions.matmul import MatMul
from agnesi.ops.control.loop import Scan
from agnesi.rewrite.control.rowwise import Value, over_rows, summed_product
from agnesi.rewrite.control.scan import Carry, Key, Model

#: Bytes that a value may take over all rows, to be computed or kept outside of the loop.
MOST_BYTES = 1 << 28
#: Terms that a product adds up in one step, from which more of them make it no faster.  Neither
#: are values of loops inside kept, which may be there to keep nothing.
_MIN_DEEP_TERMS = 128


class Whole:
    """The values of a body that depend on sequences only, computed for all rows at once."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.outside: dict[Node, Node] = dict(model.constants)
        self.rows: dict[Node, Node] = dict(model.sequences)
        inside = {c.inside for c in model.carries}
        for node in model.nodes():
            if node not in inside:
                self.add(node)

    def add(self, node: Node) -> None:
        """Record a node computed outside of the loop, or its rows, if all its operands are
        recorded.
        """
        if node in self.rows or node in self.outside:
            return
        if node.op is None:
            if node not in self.model.sequences and node.value is not None:
                self.outside[node] = node
        elif node.op.condition is not None:
            return  # a check stays where it is
        elif all(n in self.outside for n in node.inputs):
            self.outside[node] = copied_out(node, [self.outside[n] for n in node.inputs])
        elif node.outputs is None and all(n in self for n in node.inputs):
            found = over_rows(node, [self.value(n) for n in node.inputs], self.model.length)
            if found is not None:
                self.rows[node] = found

    def __contains__(self, node: Node) -> bool:
        return node in self.rows or node in self.outside

    def value(self, node: Node) -> Value:
        """Return the node outside of the loop, and whether it has a row for each step."""
        return (self.rows[node], True) if node in self.rows else (self.outside[node], False)

    def of(self, node: Node) -> Node:
        """Return the rows of a node for all steps; a constant is broadcast."""
        if node in self.rows:
            return self.rows[node]
        shape = (self.model.length, *node.shape)
        return graph_node(broadcast_to(symbol(self.outside[node]), shape))


class Sum:
    """A carry to which every step adds ``part``, a product of the ``pair`` or anything else.

    ``needs`` lists nodes of the body whose rows must be kept.
    """

    def __init__(self, carry: Carry, part: Node, negative: bool) -> None:
        self.carry = carry
        self.part = part
        self.negative = negative
        self.pair: tuple[Node, Node] | None = None
        self.transposed = False
        self.needs: list[Node] = []
        self.keys: list[Key] = []
        if _is_product(part):
            a, b = part.inputs
            if part.op_name == "multiply" and a.shape[1] != 1:  # a row times a column
                a, b = b, a
            self.transposed = type(a.op) is Permute
            self.pair = (a.inputs[0] if self.transposed else a, b)

    def settled(self, whole: Whole, given: set[Node], counted: bool) -> bool:
        """Return whether the sum is cheaper after the loop; the nodes ``given`` are stacked anyway.
        """
        if self.pair is not None:
            return bool(self.needs) or not counted
        if counted:
            return False
        known = [n for n in toposort([self.part], lambda n: n in given) if n in given]
        if len(known) > 2 or (not known and self.part not in whole):
            return False
        self.needs = known
        later = _later(whole, dict.fromkeys(known))
        for node in toposort([self.part]):
            later.add(node)
        return self.part in later

    def total(self, whole: Whole, stacked: Mapping[Node, Node], length: int) -> Node:
        """The sum over all steps."""
        later = _later(whole, {n: stacked[n] for n in self.needs})
        if self.pair is not None:
            a, b = map(later.value, self.pair)
            return summed_product(a, b, self.transposed, length)
        for node in toposort([self.part], lambda n: n in later):
            later.add(node)
        return graph_node(apply(reducer("add", (0,), False), symbol(later.of(self.part))))


def _is_product(node: Node) -> bool:
    """Return whether a node is a product of matrices: also that of a column and a row."""
    if len(node.inputs) != 2 or any(len(n.shape) != 2 for n in node.inputs):
        return False
    a, b = (tuple(n.shape) for n in node.inputs)
    crossed = (a[1] == b[0] == 1 != a[0]) or (a[0] == b[1] == 1 != a[1])
    return type(node.op) is MatMul or (node.op_name == "multiply" and crossed)


def _later(whole: Whole, stacked: Mapping[Node, Node | None]) -> Whole:
    """Return the values available after the loop: stacked values have the rows of all steps."""
    later = Whole.__new__(Whole)
    later.model = whole.model
    later.outside = dict(whole.outside)
    later.rows = {**whole.rows, **{
        n: o if o is not None else Node(None, (), (whole.model.length, *n.shape), n.dtype)
        for n, o in stacked.items()
    }}
    return later


def sum_of(carry: Carry, users: Mapping[Node, list[Any]], whole: Whole) -> Sum | None:
    """The carry as a sum over the steps, if it is one."""
    following = carry.following
    less = following.op_name == "subtract"
    if not (less or following.op_name == "add") or users.get(carry.inside) != [following]:
        return None
    a, b = following.inputs
    if a is b or carry.inside not in (a, b) or (less and a is not carry.inside):
        return None
    if users[following] != [carry] or following.dtype.kind not in "fc":
        return None
    found = Sum(carry, b if a is carry.inside else a, less)
    if found.part.shape != carry.inside.shape:
        return None
    if found.pair is None:
        return found
    found.needs = [n for n in found.pair if n not in whole]
    size = guess(sum(bytes_of(n) for n in found.needs) * whole.model.length)
    deep = guess(size_of(found.pair[1])) >= _MIN_DEEP_TERMS * guess(found.part.shape[1])
    deep = deep or any(type(n.op) is Scan for n in toposort(found.needs))
    return None if size > MOST_BYTES or (found.needs and deep) else found


def size_of(node: Node) -> Any:
    """Elements of a node."""
    return product(node.shape)


def bytes_of(node: Node) -> Any:
    """Bytes that a node takes."""
    return size_of(node) * node.dtype.itemsize


def copied_out(node: Node, inputs: Sequence[Node]) -> Node:
    """A body's operation on nodes outside."""
    new = Node(node.op, tuple(inputs), node.shape, node.dtype, where=node.where, name=node.name)
    new.outputs = node.outputs
    return new


def only_expands(node: Node) -> bool:
    """Return whether a node is a broadcast, a view or a range, which costs nothing inside the loop.
    """
    return isinstance(node.op, (BroadcastTo, Permute, Reshape, Slice)) or not node.inputs
