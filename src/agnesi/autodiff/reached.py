"""Which gradients a backward pass has found at all, where branches decide that at run time.

Eagerly only the branch that is chosen runs, and what only the other one reads has no gradient.  The
pullback of a branch on symbols gives zeros there, beside a bool that says whether its operand was
reached (:func:`set_reached`); in a backward pass the bools go along with the cotangents.  A traced
function reads them at the leaves, as Python does for the condition of an ``if``: there is a
version of its code for each answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from agnesi.core.dispatch import current
from agnesi.core.ir.node import Node
from agnesi.core.op import Item, typed
from agnesi.core.support.dtypes import is_inexact
from agnesi.core.support.errors import GradientError, at
from agnesi.core.support.tracing import current_trace, refuse_to_compile
from agnesi.core.tensor import Tensor
from agnesi.ops.base.creation import zeros_like

#: The use by which Python decides whether a branch that ran gives a tensor a gradient at all.
GIVEN = "whether a branch gives a gradient"
#: For cotangents that a branch gives, whether the one that ran reads the operand.
_REACHED: WeakKeyDictionary[Node, Tensor] = WeakKeyDictionary()


def set_reached(g: Tensor, flag: Tensor) -> None:
    """Record the bool scalar that says whether a cotangent exists; it is zeros where it does not.
    """
    _REACHED[current(g)] = flag


def steps_reach(found: Sequence[Any], gs: Sequence[Any], first: int,
                ran: Callable[[], Tensor]) -> None:
    """Record of a loop's cotangents that those exist only if it ``ran`` a step; not of the carries
    from ``first`` on whose results have one of the ``gs``, which arrives in any case.
    """
    passed = {first + i for i, g in enumerate(gs) if g is not None}
    given = [g for i, g in enumerate(found) if g is not None and i not in passed]
    if given and asked() is not None:
        flag = ran()
        for g in given:
            set_reached(g, flag)


class Reached:
    """The bools of the cotangents in a backward pass; those without one exist in any case.

    :ivar of: (dict) The bools by node.
    """

    def __init__(self) -> None:
        self.of: dict[Node, Tensor] = {}

    def behind(self, node: Node, source: Node) -> Tensor | None:
        """Return the bool of what an operation passes to its operand."""
        return self.of.get(node)

    def add(self, known: dict[Node, Any], node: Node, g: Any, flag: Tensor | None) -> None:
        """Add a cotangent to that of a node; ``flag`` is that of the operation that gives it."""
        if _REACHED and type(g) is Tensor and (own := _REACHED.get(current(g))) is not None:
            flag = own if flag is None or flag is own else flag & own
        before = known.get(node)
        known[node] = g if before is None else before + g
        self._join(node, flag, before is None)

    def put(self, slots: list[Any], item: Node, g: Any) -> Any:
        """Return the cotangent of one of several results, which reaches the operation that gave
        them.
        """
        (parent,) = item.inputs
        self._join(parent, self.of.get(item), all(v is None for v in slots))
        return g

    def moved(self, seeds: Mapping[Node, Any], better: Mapping[Node, Node]) -> dict[Node, Any]:
        """Return cotangents by the stable forms of their nodes."""
        result: dict[Node, Any] = {}
        for old, g in seeds.items():
            self.add(result, better.get(old, old), g, self.of.pop(old, None))
        return result

    def _join(self, node: Node, flag: Tensor | None, first: bool) -> None:
        """A node is reached if one of its cotangents exists."""
        old = self.of.pop(node, None)
        if flag is not None and not first:
            flag = None if old is None else flag if flag is old else old | flag
        if flag is not None:
            self.of[node] = flag

    def existing(self, found: Mapping[Node, Any]) -> dict[Node, Any]:
        """Return the cotangents that exist in the present call of the function that is traced."""
        return {n: g for n, g in found.items() if n not in self.of or _exists(self.of[n])}


def asked() -> Reached | None:
    """Return a record for a backward pass if versions of the function that is traced may follow
    what it says; else None.
    """
    return None if _decisions() is None else Reached()


def _exists(flag: Tensor) -> bool:
    known = _decisions().decide(current(flag), False, GIVEN)
    if known is None:
        refuse_to_compile("a step of a loop takes gradients that only one branch gives",
                          "take them with ag.value_and_grad, which gives zeros for the others")
    return known is None or bool(known)


def _decisions() -> Any:
    trace = current_trace()
    while (around := getattr(trace, "around", None)) is not None:  # of a body
        trace = around
    return getattr(trace, "decisions", None)


# -- where none arrived --------------------------------------------------------------------------
def absent(cost: Tensor, x: Tensor, nodes: Sequence[Node], constants: Collection[Node],
           policy: str, flowing: Collection[Node] = ()) -> Tensor | None:
    """Return the gradient of a tensor that none arrived at: 0 if the path leads through functions
    such as ``round``, otherwise what ``policy`` says.  Only branches that did not run lead to
    nodes that are among the ``flowing``.
    """
    if any(n in flowing for n in nodes):
        return _disconnected(cost, x, policy)
    passed, stack = set[Node](), [current(cost)]
    while stack:
        node = stack.pop()
        if node in passed or not node.requires_grad:
            continue
        passed.add(node)
        if node not in constants:
            stack += _sources(node)
    return _disconnected(cost, x, policy) if passed.isdisjoint(nodes) else zeros_like(x)


def _sources(node: Node) -> Sequence[Node]:
    """Return the nodes that a gradient flows to; for one of several results, those that it depends
    on.
    """
    maker, result = (node.inputs[0], node.op.index) if type(node.op) is Item else (node, 0)
    asks = maker is not node or getattr(node.op, "carries", None) is not None
    linked = getattr(maker.op, "linked", None) if asks else None
    return node.inputs if linked is None else [maker.inputs[i] for i in linked(result)]


def _disconnected(cost: Tensor, x: Tensor, policy: str) -> Tensor | None:
    if policy == "zero":
        return zeros_like(x)
    if policy == "none":
        return None
    if policy != "error":
        raise ValueError(at(f"disconnected must be 'error', 'zero' or 'none', not {policy!r}"))
    shown = f"{x.name!r}, {typed(x)}" if x.name else typed(x)
    if not is_inexact(x.dtype):
        why = f"{shown} is of integers, which have no gradient"
    elif not x._requires_grad:
        why = f"{shown} does not require grad; make it with requires_grad=True"
    else:
        why = f"{typed(cost)} does not depend on {shown}"
        if not cost._requires_grad:
            why += ("; nothing was recorded of how it was computed: a gradient that is to be "
                    "differentiated is made with create_graph=True")
    raise GradientError(at(f"grad: {why}. Pass disconnected='zero' (or 'none') if that is meant"))
