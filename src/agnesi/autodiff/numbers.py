"""The derivative of a number to a number, through numbers alone.

Forward mode takes no more operations for it than reverse mode, keeps nothing, and need not wait for
the result: the processor computes the derivative of each step beside the step.
"""

from __future__ import annotations

from collections.abc import Iterable

from agnesi.autodiff.forward import push
from agnesi.core.dispatch import current
from agnesi.core.ir.node import Node, toposort
from agnesi.core.support.tracing import current_trace, is_tracing
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import number
from agnesi.ops.base.elementwise import Elementwise

#: Operations from which on it is worth while.
_MIN_OPERATIONS = 16


def slope(y: Tensor, nodes: Iterable[Node]) -> dict[Node, Tensor] | None:
    """The derivative of a symbolic ``y``, by node; None where reverse mode is to find it."""
    root, sources = current(y), list(nodes)
    if y.array is not None or len(sources) > 1 or not sources:
        return None
    (x,) = sources
    between = toposort([root], lambda n: n is x or not n.requires_grad)
    steps = [n for n in between if n.requires_grad and n is not x]
    if len(steps) < _MIN_OPERATIONS or x.shape != () or not all(map(_is_step, steps)):
        return None
    found = push([root], {x: number(1, x.dtype)})
    if root not in found:
        return None
    if is_tracing():
        current_trace().derived([found[root]])
    return {x: found[root]}


def _is_step(node: Node) -> bool:
    """Return whether a node is an elementwise function of real scalars; ``where`` has jumps, and is
    none."""
    return (
        isinstance(node.op, Elementwise) and node.op.name != "where"
        and node.shape == () and node.dtype.kind == "f"
    )
