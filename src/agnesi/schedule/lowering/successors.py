"""Updates that can be made in place, because the old value is not read afterwards."""

from __future__ import annotations

from collections.abc import Container, Sequence

from agnesi.core.ir.node import Node
from agnesi.schedule.program import MAX_SEARCHED_NODES


class Successors:
    """Writes by the ids of the values that they go into, for values without other later uses."""

    def __init__(self, order: Sequence[Node], roots: Container[int]) -> None:
        self._roots = roots
        self._users: dict[int, list[Node]] = {}
        for node in order:
            for operand in node.inputs:
                self._users.setdefault(id(operand), []).append(node)

    def is_last(self, node: Node) -> bool:
        """Return whether every other reader of the first operand runs before the node writes into
        it, since the written value depends on them.
        """
        base, new = node.inputs[:2]
        users = self._users[id(base)]
        if len(users) == 1:
            return True
        if users.count(node) > 1 or id(new) not in self._roots:
            return False
        before = self._before(new)
        others = [u for u in users if u is not node]
        seen: set[int] = set()
        while others:
            user = others.pop()
            if id(user) not in before:
                return False
            if id(user) not in self._roots and id(user) not in seen:
                seen.add(id(user))
                others += self._users.get(id(user), ())
        return True

    def _before(self, new: Node) -> set[int]:
        """Return the ids of a value and of the nodes that it is computed from."""
        found, stack = {id(new)}, [new]
        while stack and len(found) < MAX_SEARCHED_NODES:
            for operand in stack.pop().inputs:
                if id(operand) not in found and operand.op is not None:
                    found.add(id(operand))
                    stack.append(operand)
        return found
