"""Facts of nodes that clustering reads: size, whether loops are generated, how operands are
indexed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from agnesi.core.ir.dims import product
from agnesi.core.ir.extents import guess, surely
from agnesi.core.ir.kernels import row_major
from agnesi.core.ir.loops import divides
from agnesi.core.ir.node import Node
from agnesi.core.support.dtypes import name_of
from agnesi.core.target import Target
from agnesi.schedule.clustering.convolutions import is_convolution
from agnesi.schedule.program import MAX_SEARCHED_NODES

#: Movements that only rename indices.
_MOVES = ("broadcast", "permutation", "ordering")


def numel(node: Node) -> int:
    """Return how many elements a node has."""
    return product(node.shape)  # type: ignore[return-value]


def weight(node: Node) -> int:
    """Return about how many elements a node has: run-time sizes count with their typical value."""
    return guess(product(node.shape))


def lowerable(node: Node) -> bool:
    """Return whether an element of this node can be written in the loop language."""
    op = node.op
    if op is None or op.lower is None or op.outputs != 1:
        return False
    for operand in node.inputs:
        if operand.outputs is not None:
            return False
    return in_reals(node)


def in_reals(node: Node) -> bool:
    """Return whether an operation can be written in real numbers."""
    if node.dtype.kind != "c":
        for operand in node.inputs:
            if operand.dtype.kind == "c":
                break
        else:
            return True
    from agnesi.schedule.complexes import is_known

    return is_known(node)


def is_empty(node: Node) -> bool:
    """Return whether there is nothing to compute: no elements, and no Python to run."""
    if 0 not in node.shape:
        return False
    op = node.op
    ours = lowerable(node) or (op is not None and bool(op.parts or op.foreign or op.decompose))
    return ours and (op is None or op.outputs == 1)


def is_product(node: Node, target: Target) -> bool:
    """Return whether the compiler has a kernel with an epilogue for this node."""
    return (
        (target.supports("convolution") and is_convolution(node))
        or (target.supports("product") and _is_matmul(node))
    ) and lowerable(node)


def _is_matmul(node: Node) -> bool:
    return (
        node.op is not None
        and node.op.template == "matmul"
        and name_of(node.dtype) in ("float32", "float64", "int32", "int64")
        and node.inputs[0].shape[-1] > 0
        and numel(node) > 0
    )


def _moves(node: Node) -> bool:
    op = node.op
    return (
        op.view or op.flat or not op.traits.isdisjoint(_MOVES)
    ) and node.inputs[0].dtype == node.dtype


class NodeFacts:
    """Facts about a node that planning requests many times.

    :ivar weight, lowers, product, movement, source: What the functions of this file say.
    :ivar axes: Those that it reduces over.
    """

    __slots__ = ("axes", "lowers", "movement", "product", "source", "weight")

    weight: int
    lowers: bool
    product: bool
    movement: bool
    source: Node
    axes: tuple[int, ...]


def facts_of(order: Iterable[Node], target: Target) -> dict[int, NodeFacts]:
    """The facts of nodes, makers first, by their ids."""
    found: dict[int, NodeFacts] = {}
    weights: dict[Any, int] = {}
    for node in order:
        known, op = NodeFacts(), node.op
        size = weights.get(node.shape)
        known.weight = weights.setdefault(node.shape, weight(node)) if size is None else size
        known.lowers = known.product = known.movement = False
        known.axes, known.source = (), node
        if op is not None:
            known.lowers = lowers = lowerable(node)
            known.product = lowers and bool(op.template) and is_product(node, target)
            known.axes = op.reduction(*node.inputs)
            if lowers and _moves(node):
                known.movement, known.source = True, found[id(node.inputs[0])].source
        found[id(node)] = known
    return found


def leading_axes(node: Node, facts: Mapping[int, NodeFacts]) -> bool:
    """Return whether a node is a reduction that keeps axes behind those that it reduces."""
    axes = facts[id(node)].axes
    rank = len(node.inputs[0].shape) if axes else 0
    return any([a < rank - len(axes) for a in axes])


def axes_inside(node: Node, operand: Node, axes: Collection[int]) -> Collection[int]:
    """Return the axes of an operand along which a reduction of its reader runs.

    Empty if each element of a broadcast operand belongs to one result of the reduction, as the
    maximum in a softmax does, or to rows that a full reduction reads one by one.
    """
    same = numel(operand) == numel(node)
    if node.op.pointwise or "broadcast" in node.op.traits:
        before = len(node.shape) - len(operand.shape)
        last = max([a for a, n in enumerate(node.shape) if n != 1 and a not in axes], default=0)
        return [a - before for a in axes if a >= before and operand.shape[a - before] != 1
                and (same or a < last)]
    if not same:
        return ()
    long = [[a for a, n in enumerate(x.shape) if n != 1] for x in (node, operand)]
    if node.op.flat and long_sizes(node.shape) == long_sizes(operand.shape):
        return [b for a, b in zip(*long, strict=True) if a in axes]
    return range(len(operand.shape))


def is_size_scalar(node: Node, steps: int = 4) -> bool:
    """Return whether a scalar is computed from dynamic sizes alone, which every kernel has."""
    if node.op is None:
        return not node.shape and node.handle is None and node.value is not None
    return bool(steps) and not node.shape and lowerable(node) and all(
        [is_size_scalar(i, steps - 1) for i in node.inputs])


def repeats_reductions(gather: Node, facts: Mapping[int, NodeFacts], most: int) -> bool:
    """Return whether a gather reads elements of a reduction more than ``most`` times each.

    Fused into the gather, the reduction would be computed again for each index.
    """
    base = gather.inputs[0]
    rest = product([n for a, n in enumerate(base.shape) if a not in gather.op.axes])
    count = facts[id(gather)].weight // max(guess(rest), 1)
    stack, seen = [base], {id(base)}
    while stack and len(seen) <= MAX_SEARCHED_NODES:
        maker = stack.pop()
        if maker.op is None:
            continue
        known = facts[id(maker)]
        if known.axes and count > most * known.weight:
            return True
        if known.lowers and not known.product and not known.axes:
            waiting = [i for i in maker.inputs if id(i) not in seen]
            seen.update(map(id, waiting))
            stack += waiting
    return False


def source(node: Node) -> Node:
    """Return the node behind a chain of movements."""
    while node.op is not None and _moves(node) and lowerable(node):
        node = node.inputs[0]
    return node


def flat_source(node: Node) -> Node:
    """The node with the same elements in the same order, behind any reshapes."""
    while node.op is not None and node.op.flat and lowerable(node):
        node = node.inputs[0]
    return node


def reads_views(op: Any) -> bool:
    """Return whether the kernel of an operation without a lowering reads strided views: a loop, a
    branch, or Python's code. A C function and compressed rows take whole arrays."""
    if "control" in op.traits:
        return True
    return (op.foreign is None and op.parts is None and not op.template and not op.changes
            and "segment" not in op.traits)


def splits_evenly(shape: Sequence[int], target: Sequence[int]) -> bool:
    """Return whether a reshape between the shapes needs no division of indices.

    It is what ``loops.unravel`` does with the steps of ``loops.ravel``, which makes expressions.
    """
    if 0 in shape:
        return True
    steps: list[Any] = [*zip(row_major(target), target, strict=True)]
    for n in reversed(shape[1:]):
        spans = [step * (many - 1) for step, many in steps if not divides(n, step)]
        if not surely(lambda: all(s >= 0 for s in spans) and sum(spans) < n):  # noqa: B023
            return False
        steps = [(step // n, many) for step, many in steps if divides(n, step)]
    return True


def uniform(node: Node) -> Any:
    """The value of a constant with one element; 0 for a node without elements, None for others."""
    if 0 in node.shape:
        return 0
    if node.op is not None or node.value is None or node.handle is not None:
        return None
    return node.value.reshape(-1)[0].item() if node.value.size == 1 else None


def long_sizes(shape: Sequence[Any]) -> tuple[Any, ...]:
    """The sizes of a value without those that are 1."""
    return tuple([n for n in shape if n != 1])
