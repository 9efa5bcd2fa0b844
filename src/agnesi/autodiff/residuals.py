"""Which values of a forward step a reverse step is given, and which it computes again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from agnesi.core.ir.node import Node, toposort
from agnesi.core.op import Item


def _is_cheap(node: Node) -> bool:
    op = node.op
    return "cheap" in op.traits or op.view or op.flat


def saved_values(results: Sequence[Node], reverse: Sequence[Node], rows: Sequence[Node],
                 carries: Sequence[Node]) -> tuple[list[Node], set[Node]]:
    """Return the values of the forward step to keep, and all values that the reverse step reads
    from outside.

    ``results`` are nodes of the forward step, ``reverse`` those of the reverse step. Values that
    are cheap to compute from rows, constants and kept values, and those that are the same in every
    step, are recomputed instead.
    """
    forward = set(toposort(results))
    forward |= {n for n in toposort(reverse, forward.__contains__)
                if type(n.op) is Item and n.inputs[0] in forward}  # one of several is a value
    varying = set(rows) | set(carries)
    for node in toposort([*results, *(n for n in forward if type(n.op) is Item)]):
        if any(n in varying for n in node.inputs):
            varying.add(node)
    edge = [n for n in toposort(reverse, forward.__contains__) if n in forward and n in varying]
    given = set(rows)
    saved = [n for n in edge if n not in given and (n.op is None or not _is_cheap(n))]
    known = given | set(saved)
    for node in edge:
        if node in known:
            continue
        behind = toposort([node], lambda n: n in known or n not in varying)
        if any(n in varying and n not in known and (n.op is None or not _is_cheap(n))
               for n in behind):
            saved.append(node)
            known.add(node)
    read = toposort(reverse, lambda n: n in known)
    return saved, set(read)


def values_of_rules(flow: Iterable[Node], leaves: Collection[Node]) -> set[Node]:
    """Return the nodes of ``leaves`` whose values, or views of them, gradient rules read.

    ``flow`` lists the operations through which gradients flow.
    """
    found = set()
    for node in flow:
        for i, n in enumerate(node.inputs):
            if node.op.needs(i, node.inputs):
                while n not in leaves and n.op is not None and n.op.view:
                    n = n.inputs[0]
                if n in leaves:
                    found.add(n)
    return found
