"""Clusters of roots: what one kernel fills, and who needs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agnesi.core.node import Node
from agnesi.schedule.kinds import Facts, is_product, weight

#: Clusters to look at before giving up on whether one depends on another.
_SEARCH = 400


class Cluster:
    """Roots that one kernel fills, the kernels that use them, and the product they finish.

    Clusters hash to their number, so that sets of them have the same order in every process: the
    code of a graph must not depend on where its nodes lie in memory.
    """

    __slots__ = (
        "level", "lowers", "makers", "merged", "number", "price", "product", "reduces", "rereads",
        "roots", "shapes", "stretch", "sweeps", "users", "widest",
    )

    def __init__(self, number: int, root: Node, users: set[Cluster], facts: Facts) -> None:
        self.number = number
        self.roots = [root]
        self.widest = root
        self.shapes = {root.shape}
        #: Others share this set: whoever changes it makes a new one.
        self.users: set[Cluster] = set()
        #: Those whose values it reads, and a number that is greater than that of all its users.
        self.makers: list[Cluster] = []
        self.level = 0
        self._use(users)
        #: Whether the loop language can say what the first root is.
        self.lowers = facts.lowers
        self.product: Node | None = root if facts.product else None
        self.reduces = 0
        #: Rough number of instructions for one element of everything in it.
        self.price = 0
        #: Whether it computes something that reads its operands several times.
        self.rereads = False
        #: What its reductions and windows run over.
        self.sweeps: dict[Any, None] = {}
        self.merged: Cluster | None = None
        #: The numbers of its stretch, users first.
        self.stretch: list[Node] = []

    def __hash__(self) -> int:
        return self.number

    def now(self) -> Cluster:
        """The cluster that this one was merged into, or itself."""
        cluster = self
        while cluster.merged is not None:
            cluster = cluster.merged
        return cluster

    @property
    def foreign(self) -> bool:
        """Whether it is no loop nest: filled by Python, from parts, or a bare product."""
        return not self.lowers or self.product is self.roots[0]

    @property
    def regions(self) -> bool:
        """Whether its value is computed from one that is made of regions."""
        return self.product is not None and not is_product(self.product)

    def fill(self, roots: Sequence[Node], users: set[Cluster]) -> None:
        """Let it fill more roots, which others use."""
        self.roots += roots
        self.widest = max((self.widest, *roots), key=weight)
        self.shapes.update([root.shape for root in roots])
        self._use(users - {self})

    def _use(self, users: set[Cluster]) -> None:
        """Let others use it, too."""
        self.users = self.users | users if self.users else users
        for user in users:
            user.makers.append(self)
        self._rise(1 + max([user.level for user in users], default=0))

    def _rise(self, level: int) -> None:
        """Let its level be so high at least, and those of its makers above it."""
        stack = [(self, level)]
        while stack:
            cluster, level = stack.pop()
            if cluster.level < level:
                cluster.level = level
                stack += [(maker.now(), level + 1) for maker in cluster.makers]

    def take_in(self, other: Cluster) -> None:
        """Fill what another one fills, too."""
        self.fill(other.roots, other.users)
        self.reduces += other.reduces
        self.price += other.price
        self.rereads |= other.rereads
        self.sweeps |= other.sweeps
        self.makers += other.makers
        other.merged = self
        self._rise(other.level)


def present(users: set[Cluster]) -> set[Cluster]:
    """What clusters have become by now."""
    for cluster in users:
        if cluster.merged is not None:
            return {c.now() for c in users}
    return users


def reaches(start: Cluster, goal: Cluster) -> bool:
    """Whether ``goal`` depends on ``start``."""
    stack, seen = [start], {id(start)}
    while stack:
        for user in stack.pop().users:
            while user.merged is not None:
                user = user.merged
            if user is goal or len(seen) > _SEARCH:
                return True
            if user.level > goal.level and id(user) not in seen:
                seen.add(id(user))
                stack.append(user)
    return False
