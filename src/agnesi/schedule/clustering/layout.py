"""Layout assignment: channels last around convolutions.

Shapes stay what the user wrote; only strides differ.  Values that are computed from each other
element by element, or window by window, should have the same layout, so one is chosen for all of
them: a *family*.  It is the layout with which the family's convolutions are fastest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from agnesi.core.ir.dims import product
from agnesi.core.ir.extents import guess
from agnesi.core.ir.kernels import Matrix, Store
from agnesi.core.ir.loops import Axis
from agnesi.core.ir.node import Node
from agnesi.schedule.clustering.convolutions import is_convolution, sizes_of
from agnesi.schedule.clustering.node_facts import flat_source, lowerable, splits_evenly
from agnesi.schedule.program import Prefers, Program

Order = tuple[int, ...]
#: Cycles per element to change the memory order on the way into or out of a convolution.
_TRANSPOSE_CYCLES = 1.0
#: Rounds over all values, at most.
_MAX_ROUNDS = 4
#: Elements of a gradient of filters from which a copy costs less than stores with gaps: 512 x 512 x
#: 3 x 3 took 17.9 ms with them and 11.0 with a copy, a quarter of that 6.1 and 5.8 (Zen 5).
_MIN_COPIED_GRADIENT = 1 << 20


def choose_layouts(program: Program) -> Program:
    """Choose the order of axes of values around convolutions."""
    request = program.request
    program.prefers = request.prefers
    convolutions = [n for n in program.order if is_convolution(n)]
    if request.prefers is not None and convolutions:
        users = _users(program.order, request.outputs)
        families = _Families(program.order, request.outputs)
        program.orders = orders(program.order, convolutions, families, users, request.prefers)
        strided = {id(request.outputs[i]) for i, b in request.replaced.items() if not b.contiguous}
        program.separate = {id(n) for n in convolutions if id(n) in program.orders
                            and _is_gradient(n) and not _reaches(n, users, strided)}
        program.count(len(program.orders))
    return program


def channels_last(rank: int) -> Order:
    """The order of axes with the second one innermost."""
    return (0, *range(2, rank), 1)


def strides_in(order: Order, shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of a dense array whose axes are in this order, outermost first."""
    strides, step = [0] * len(shape), 1
    for axis in reversed(order):
        strides[axis] = step
        step *= shape[axis]
    return tuple(strides)


def by_memory(axes: tuple[Axis, ...], body: Sequence[Store]) -> tuple[Axis, ...]:
    """The axes of a nest in the order in which its widest result is in memory.

    Axes that some results do not have stay inside of the others.
    """
    if all(s.buffer.contiguous for s in body):
        return axes
    terms = max((s.offset.terms for s in body), key=len)

    def rank(axis: Axis) -> tuple[int, int]:
        if axis.extent == 1:
            return 0, 0
        return sum(axis not in s.offset.terms for s in body), -terms.get(axis, 0)

    return tuple(sorted(axes, key=rank))


def orders(nodes: Sequence[Node], convolutions: Sequence[Node], families: _Families,
           users: dict[int, list[Node]], prefers: Prefers) -> dict[int, Order]:
    """Return the memory order of values by node id, where it is not the order of their axes."""
    last = {families.of(v): v.op is not None for n in convolutions for v in _values(n)}
    free = [f for f, wanted in last.items() if wanted]
    costs = [_Cost(n, families, prefers) for n in convolutions]
    for _ in range(_MAX_ROUNDS):
        if not any([_better(family, last, costs) for family in free]):
            break
    found = {
        id(n): channels_last(len(n.shape)) for n in nodes
        if last.get(families.of(n)) and len(n.shape) > 2 and id(n) not in families.pinned
    }
    for node in filter(_is_gradient, convolutions):
        (order, *others) = {_permutation(n) for n in users[id(node)]}
        if order is not None and not others:  # wanted in one other order only
            found[id(node)] = order
        elif guess(product(node.shape)) >= _MIN_COPIED_GRADIENT and (
                id(node) not in families.pinned or users[id(node)] == [node]):
            found[id(node)] = (*range(2, len(node.shape)), 1, 0)
    return found


def _is_gradient(convolution: Node) -> bool:
    """Return whether a convolution computes the gradient of filters."""
    return sizes_of(convolution)[0] == "weight"


def _reaches(node: Node, users: dict[int, list[Node]], strided: set[int]) -> bool:
    """Return whether only elementwise operations separate a value from a result with given strides,
    so that the kernel of the value can store that result.

    A gradient for which this is false is stored densely in memory of its own.
    """
    while id(node) not in strided:
        user, *others = users[id(node)]
        if others or user is node or not user.op.pointwise or user.shape != node.shape:
            return False
        node = user
    return True


def _users(nodes: Sequence[Node], outputs: Iterable[Node]) -> dict[int, list[Node]]:
    """Return, for each value, the nodes that it is an operand of; results are among their own
    users.
    """
    users: dict[int, list[Node]] = {id(n): [n] for n in outputs}
    for node in nodes:
        for n in node.inputs:
            users.setdefault(id(n), []).append(node)
    return users


def _permutation(node: Node) -> Order | None:
    """Return the order that a node brings the axes of its operand into; None if it does not permute
    them.
    """
    return node.op.axes if "transposition" in node.traits else None


def _better(family: int, last: dict[int, bool], costs: Sequence[_Cost]) -> bool:
    """Change the order of a family where its convolutions get cheaper; return whether they do."""
    mine = [c for c in costs if family in c.families]
    before = sum(c(last) for c in mine)
    last[family] = not last[family]
    if sum(c(last) for c in mine) < before:
        return True
    last[family] = not last[family]
    return False


def channels_last_copies(node: Node, operands: Sequence[Matrix], last: bool, prefers: Prefers
           ) -> tuple[bool, bool]:
    """Return the operands of a convolution that are worth a channels-last copy, as the result may
    have.

    Only filters of one channel each read their operands in place; others bring them into order.
    """
    kind, sizes = sizes_of(node)
    if sizes.channels != 1 or sizes.filters != 1 or sizes.groups == 1:
        return False, False
    contiguous = [m.strides[1] == 1 for m in operands]
    have = contiguous[0], contiguous[1] if kind == "weight" else last
    best, chosen = math.inf, have
    for option in prefers(kind, sizes, itemsize=node.dtype.itemsize):
        result = option.second if kind == "weight" else option.result
        want = option.first[-1] == 1, result[-1] == 1
        copied = [w != h for w, h in zip(want, have, strict=True)]
        if want < have or (copied[1] and kind != "weight"):
            continue
        cycles = option.cycles + _TRANSPOSE_CYCLES * sum(
            c * guess(product(x.shape)) for c, x in zip(copied, node.inputs, strict=True))
        if cycles < best:
            best, chosen = cycles, want
    return chosen[0] > have[0], kind == "weight" and chosen[1] > have[1]


def _values(node: Node) -> list[Node]:
    """The images among a convolution's operands and result: what has channels to put last."""
    kind, _ = sizes_of(node)
    first, second = node.inputs
    return {"forward": [first, node], "input": [first, node], "weight": [first, second]}[kind]


class _Cost:
    """The cost of a convolution in cycles, given the memory orders of its operands."""

    def __init__(self, node: Node, families: _Families, prefers: Prefers) -> None:
        kind, sizes = sizes_of(node)
        values = _values(node)
        self.families = [families.of(v) for v in values]
        self.sizes = [guess(product(v.shape)) for v in values]
        self.options = []
        for option in prefers(kind, sizes, itemsize=node.dtype.itemsize):
            found = {"forward": (option.first, option.result),
                     "input": (option.first, option.result),
                     "weight": (option.first, option.second)}[kind]
            self.options.append((option.cycles, [o != tuple(range(len(o))) for o in found]))

    def __call__(self, last: dict[int, bool]) -> float:
        mine = [last.get(f, False) for f in self.families]
        return min(
            cycles
            + sum(
                _TRANSPOSE_CYCLES * n
                for n, have, want in zip(self.sizes, mine, wanted, strict=True)
                if have != want
            )
            for cycles, wanted in self.options
        )


class _Families:
    """Groups of values that should have the same memory order, except those of a fixed order."""

    def __init__(self, nodes: Sequence[Node], outputs: Iterable[Node]) -> None:
        self._parent: dict[int, int] = {}
        self.pinned = {id(flat_source(n)) for n in outputs}
        for node in nodes:
            if node.op is None:
                continue
            if not (lowerable(node) or node.op.parts is not None):
                self.pinned |= {id(node), *map(id, node.inputs)}
                self.pinned |= {id(flat_source(i)) for i in node.inputs}
            if node.op.flat and not splits_evenly(node.inputs[0].shape, node.shape):
                self.pinned.add(id(flat_source(node)))
            if _keeps_axes(node):
                for operand in node.inputs:
                    if len(operand.shape) == len(node.shape) > 2 and operand.op is not None:
                        self._join(id(operand), id(node))

    def of(self, node: Node) -> int:
        """The number of a value's family."""
        return self._root(id(node))

    def _root(self, number: int) -> int:
        while (parent := self._parent.get(number, number)) != number:
            self._parent[number] = self._parent.get(parent, parent)
            number = parent
        return number

    def _join(self, a: int, b: int) -> None:
        self._parent[self._root(a)] = self._root(b)


def _keeps_axes(node: Node) -> bool:
    """Return whether each axis of the result is the same axis of the operands."""
    op = node.op
    return not op.flat and op.template in ("", "windows") and "transposition" not in op.traits
