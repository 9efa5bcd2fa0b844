"""Results of a compiled step that has taken its gradients itself: there is no record behind them.

Such a result requires a gradient, as it does when the step runs eagerly, and to differentiate it
is an error at the user's line.  Reading its value alone is not affected.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np

from agnesi.core.ir.node import Node
from agnesi.core.op import Op
from agnesi.core.storage.leaves import Argument, node_of
from agnesi.core.support.config import MODE
from agnesi.core.support.errors import GradientError, Where, at, location
from agnesi.core.tensor import Tensor

#: So many nodes are looked at before a value counts as one that gradients flow through.
_MAX_LOOKED_AT = 256
#: No tensor's array, so that each tensor with the node of several gets one of its own when it is
#: first recorded (``leaves.node_of``).
_NO_ARRAY = np.empty(0)


class Spent(Op):
    """A call of a jitted function that took its gradients itself.

    :ivar why: The text for what differentiates its result.
    """

    name = "spent"
    keep_inputs = ()

    def __init__(self, owner: str, where: Where) -> None:
        self.why = (
            f"{owner}, a jitted function, takes gradients itself, and none flow out of it through "
            f"its result made at {location(where)}: return result.detach() if it is read only, or "
            "take all gradients of it inside the function, or all outside")

    def label(self) -> str:
        return self.name

    def vjp(self, g: Any, y: Any, *xs: Any) -> NoReturn:
        raise GradientError(at(self.why))

    def jvp(self, ts: Any, y: Any, *xs: Any) -> NoReturn:
        raise GradientError(at(self.why))


class SpentNode(Node):
    """The graph node behind one result of every call of a specialization.

    :ivar inputs: The nodes of the parameters, which it does not keep, as they are now.
    """

    __slots__ = ("_of", "_owner")

    def __init__(self, owner: str, result: Node, parameters: Iterable[Tensor]) -> None:
        self._owner, self._of = owner, [weakref.ref(p) for p in parameters]
        super().__init__(Spent(owner, result.where), (), result.shape, result.dtype,
                         requires_grad=True, where=result.where, value=_NO_ARRAY)

    def joined(self, arguments: Iterable[Tensor]) -> SpentNode:
        """Return a node for the result of one call, with the arguments that gradients would reach.
        """
        known = [x for ref in self._of if (x := ref()) is not None]
        return SpentNode(self._owner, self, (*known, *arguments))

    @property
    def inputs(self) -> tuple[Node, ...]:
        found = [x for ref in self._of if (x := ref()) is not None]
        return tuple([node_of(x) for x in found if x.array is not None])

    @inputs.setter
    def inputs(self, inputs: tuple[Node, ...]) -> None:
        """Ignore the inputs that ``Node.__init__`` sets."""


def has_record(x: Tensor) -> bool:
    """Return whether operations on a tensor are recorded and it is not a parameter: an argument of
    a transformation, or the result of a recorded operation.
    """
    if not x._requires_grad or not MODE.get().recording:
        return False
    node = x.node
    return node is not None and (node.op is not None or type(node) is Argument)


def is_followed(x: Tensor) -> bool:
    """Return whether converting the tensor to a plain value would lose a gradient.

    It loses none if the record ends at consumed results, through which no gradient flows.
    """
    return has_record(x) and not is_spent(x)


def is_spent(x: Tensor) -> bool:
    """Return whether the record of a tensor ends at consumed results only."""
    if x.node is None:
        return False
    done, stack = set[Node](), [x.node]
    while stack:
        node = stack.pop()
        if node in done or type(node) is SpentNode:
            continue
        done.add(node)
        inputs = [n for n in node.inputs if n.requires_grad]
        if not inputs or len(done) > _MAX_LOOKED_AT:  # it begins there
            return False
        stack += inputs
    return True

