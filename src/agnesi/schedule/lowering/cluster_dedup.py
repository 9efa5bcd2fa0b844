"""Structural deduplication: equal clusters are lowered once, and copied on other buffers.

Deep programs repeat their layers, and most of what planning a kernel takes does not depend on which
buffers it works on.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from agnesi.core.ir.kernels import Buffer
from agnesi.core.ir.node import Node
from agnesi.core.support.record import struct
from agnesi.schedule.clustering.node_facts import flat_source, uniform
from agnesi.schedule.clustering.sparsity import zeros_of
from agnesi.schedule.lowering.kernel_templates import Pattern, again, pattern
from agnesi.schedule.program import Program


class _Signature:
    """The key of a cluster: everything that its kernels depend on except buffers.

    Any other property of a cluster, or of a node that it reads, that lowering requests must become
    part of the key.

    :ivar key: Equal for clusters of equal kernels; None if the cluster has no key.
    :ivar buffers: The buffers of its kernels, in an order given by the key.
    :ivar nodes: The nodes that its kernels may refer to, in such an order.
    """

    def __init__(self, repeats: Repeats, roots: Sequence[Node], product: Node | None) -> None:
        self._repeats, self._root = repeats, repeats.root
        self._parts: list[Any] = []
        self._known: dict[int, int] = {}
        self.buffers: list[Buffer] = []
        self.nodes = [*roots]
        inside = frozenset(map(id, roots))
        numbers: dict[int, int] = {}
        self.key: int | None = None
        try:
            values = [self._buffer(repeats.buffer(root)) for root in roots]
            if product is not None:
                self.nodes += [product, *product.inputs]
                order = repeats.orders.get(id(product))
                zeros = [zeros_of(i) for i in product.inputs]
                part = (product.op, product.shape, product.dtype, order, *zeros)
                self._parts.append(part)
                numbers[id(product)] = len(self._parts)
                apart: dict[int, int] = {}
                values += [self._value(i, frozenset(), apart) for i in product.inputs]
            values += [self._value(root, inside, numbers) for root in roots]
            self.key = repeats.number((*values, None, *self._parts))
        except TypeError:  # an operation without a hash, or one that does more than compute
            pass
        del self._repeats  # which keeps this object

    def _buffer(self, buffer: Buffer) -> int:
        key = id(buffer)
        found = self._known.get(key)
        if found is None:
            self.buffers.append(buffer)
            self._parts.append((buffer.role, buffer.dtype, buffer.shape, buffer.strides))
            found = self._known[key] = len(self._parts)
        return found

    def _value(self, node: Node, inside: frozenset[int], numbers: dict[int, int]) -> int:
        """Return the number of a value; its description is appended to the parts of the key.

        The cases are those of ``_Fuser._read``.
        """
        op, key = node.op, id(node)
        found = numbers.get(key)
        if found is not None:
            return found
        number = uniform(node) if op is None or 0 in node.shape else None
        part: Any = None
        if number is not None:
            part = ("number", repr(number), node.shape, node.dtype)
        elif op is None or (key in self._root and key not in inside):
            part = ("load", self._buffer(self._repeats.buffer(node)), node.shape, node.dtype)
        elif op.flat:
            part = self._flat(node, inside)
        if part is None:
            if "ordering" in op.traits:
                raise TypeError(op.name)
            below = [self._value(i, inside, numbers) for i in node.inputs]
            part = (op, node.shape, node.dtype, *below)
        self._parts.append(part)
        numbers[key] = found = len(self._parts)
        return found

    def _flat(self, node: Node, inside: frozenset[int]) -> Any:
        """Return the key of a reshape of a materialized value; None for anything else."""
        base = flat_source(node)
        if base is node or (
            base.op is not None and (id(base) not in self._root or id(base) in inside)
        ):
            return None
        buffer = self._repeats.buffer(base)
        if not buffer.contiguous or uniform(base) is not None:
            return None
        return ("flat", self._buffer(buffer), node.shape, node.dtype)


@struct
class _Made:
    """The kernels of a cluster, and the buffers that the program lists for it.

    ``separate`` holds the sum of a product whose kernel does not apply the epilogue. The
    ``pattern`` is made when an equal cluster follows; it is None if there can be none.
    """

    signature: _Signature
    kernels: list[Any]
    listed: list[Buffer]
    separate: Buffer | None
    pattern: Pattern | None = None
    looked: bool = False


class Repeats:
    """The kernels of clusters by their keys, which are instantiated again for equal clusters.

    ``root`` maps node ids to clusters (``Plan.root``), ``buffers`` to buffers; ``buffer`` makes
    one; ``orders`` are the memory orders of ``schedule.clustering.layout.orders``.
    """

    def __init__(self, program: Program, root: dict[int, Any], buffers: dict[int, Buffer],
                 buffer: Callable[[Node], Buffer], orders: Mapping[int, Any]) -> None:
        self.program = program
        self.root = root
        self.buffers = buffers
        self.buffer = buffer
        self.orders = orders
        self._numbers: dict[Hashable, int] = {}
        self._made: dict[int, _Made] = {}

    def number(self, key: Hashable) -> int:
        """Return a number for a key, the same for equal keys."""
        return self._numbers.setdefault(key, len(self._numbers))

    def emit(self, cluster: Any, emit: Callable[[Any], None]) -> None:
        """Add the kernels of a cluster to the program, which ``emit`` does for the first one."""
        if cluster.scalars or any(root.op.foreign is not None for root in cluster.roots):
            return emit(cluster)
        product = cluster.product
        signature = _Signature(self, cluster.roots, product)
        if signature.key is None:
            return emit(cluster)
        made = self._made.get(signature.key)
        if made is not None:
            known = _pattern(made)
            return emit(cluster) if known is None else self._again(made, known, signature, cluster)
        kernels, buffers = len(self.program.kernels), len(self.program.buffers)
        before = product is not None and id(product) in self.root
        emit(cluster)
        separate = None
        if product is not None and not before and id(product) in self.root:
            separate = self.buffers[id(product)]
        self._made[signature.key] = _Made(
            signature, self.program.kernels[kernels:], self.program.buffers[buffers:], separate
        )
        return None

    def _again(self, made: _Made, known: Pattern, signature: _Signature, cluster: Any) -> None:
        """Add the kernels of an equal cluster."""
        swap = dict(zip(made.signature.buffers, signature.buffers, strict=True))
        nodes = {id(a): b for a, b in zip(made.signature.nodes, signature.nodes, strict=True)}
        self.program.kernels += again(known, swap, nodes)
        self.program.buffers += [swap[b] for b in made.listed]
        if made.separate is not None:
            self.root[id(cluster.product)] = cluster
            self.buffers[id(cluster.product)] = swap[made.separate]


def _pattern(made: _Made) -> Pattern | None:
    """Return the template of equal clusters, or None where they are more than loops and products.
    """
    if not made.looked:
        made.looked, made.pattern = True, _found(made)
    return made.pattern


def _found(made: _Made) -> Pattern | None:
    found = pattern(made.kernels, made.signature.buffers, made.listed)
    if found is None:
        return None
    mine = {id(n) for n in made.signature.nodes}
    named = [*(n for k in made.kernels for n in k.nodes),
             *(b.node for b in found.fresh if b.node is not None)]
    return found if all(id(n) in mine for n in named) else None
