"""Fusion groups: the values that one kernel computes, its users, and a topological order of all.

Every cluster has a rank, greater than the ranks of all clusters that read its values.  Adding an
edge between two clusters, or merging them, restores the order of ranks by moving only the clusters
between the two, or reports that the change would close a cycle.  See D. J. Pearce and P. H. J.
Kelly, "A dynamic topological sort algorithm for directed acyclic graphs", ACM JEA 11 (2007).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from agnesi.core.ir.node import Node
from agnesi.schedule.clustering.node_facts import NodeFacts, weight

#: Clusters that all queries about one cluster may visit, on average, so that planning stays linear.
_MAX_VISITS_PER_CLUSTER = 64


class Cluster:
    """Roots that one kernel fills, the kernels that use them, and the product they finish.

    Clusters hash to their number, so that sets of them have the same order in every process: the
    code of a graph must not depend on its nodes' addresses.
    """

    __slots__ = (
        "directions", "goal", "instructions", "lowers", "makers", "merged", "number", "pieces",
        "product", "rank", "reduces", "rereads", "roots", "scalars", "shapes", "sweeps", "swept",
        "users", "visited", "widest",
    )

    def __init__(self, number: int, root: Node, users: set[Cluster], facts: NodeFacts) -> None:
        self.number = number
        #: Greater than those of all its users.
        self.rank = number
        self.roots = [root]
        self.widest = root
        self.shapes = {root.shape}
        #: The clusters that read its values. The set is shared and never changed in place.
        self.users: set[Cluster] = set()
        #: The clusters whose values it reads.
        self.makers: list[Cluster] = []
        self._use(users)
        #: Whether the loop language can say what the first root is.
        self.lowers = facts.lowers
        self.product: Node | None = root if facts.product else None
        #: Values made of regions, of its shape, that it is computed from region by region.
        self.pieces: list[Node] = []
        self.reduces = 0
        #: Elements that its largest reduction reads.
        self.swept = 0
        #: Rough number of instructions for one element of everything in it.
        self.instructions = 0
        #: Whether it computes something that reads its operands several times.
        self.rereads = False
        #: What its reductions and windows run over.
        self.sweeps: dict[Any, None] = {}
        #: How its large reductions walk through memory (``directions.py``).
        self.directions: set[int] = set()
        self.merged: Cluster | None = None
        #: The last searches that met it, or were for it.
        self.visited = self.goal = 0
        #: The scalars of its segment of a scalar program, users first.
        self.scalars: list[Node] = []

    def __hash__(self) -> int:
        return self.number

    def now(self) -> Cluster:
        """The cluster that this one was merged into, at any number of steps, or itself."""
        cluster = self
        while cluster.merged is not None:
            cluster = cluster.merged
        return cluster

    @property
    def foreign(self) -> bool:
        """Whether the cluster is no loop nest: filled by Python, made of regions, or a bare
        product.
        """
        return not self.lowers or self.product is self.roots[0]

    @property
    def regions(self) -> bool:
        """Whether the cluster is computed region by region."""
        return bool(self.pieces)

    def fill(self, roots: Sequence[Node], users: set[Cluster]) -> None:
        """Add materialized values, and the clusters that use them, whose ranks are lower
        (``Order.below``).
        """
        self.roots += roots
        self.widest = max((self.widest, *roots), key=weight)
        self.shapes.update([root.shape for root in roots])
        self._use(users - {self})

    def _use(self, users: set[Cluster]) -> None:
        """Add clusters that use this one."""
        self.users = self.users | users if self.users else users
        for user in users:
            assert user.rank < self.rank
            user.makers.append(self)

    def _take_in(self, other: Cluster) -> None:
        """Merge another cluster into this one."""
        other.merged = self
        self.fill(other.roots, present(other.users))
        self.reduces += other.reduces
        self.swept = max(self.swept, other.swept)
        self.instructions += other.instructions
        self.rereads |= other.rereads
        self.sweeps |= other.sweeps
        self.directions |= other.directions
        self.makers += other.makers


def _pair(a: Cluster, b: Cluster) -> tuple[int, int]:
    """The unordered pair of two clusters, as their numbers in order."""
    return (a.number, b.number) if a.number < b.number else (b.number, a.number)


def present(users: set[Cluster]) -> set[Cluster]:
    """Return the clusters with merged ones replaced by what they were merged into."""
    for cluster in users:
        if cluster.merged is not None:
            return {c.now() for c in users}
    return users


class Order:
    """A topological order of clusters that is kept up while users are added and clusters merged
    (after Pearce and Kelly).

    :ivar looks: How many clusters may still be visited by searches; each new cluster adds some. At
        zero, clusters whose ranks do not show independence count as dependent.
    """

    def __init__(self) -> None:
        self.looks = 1 << 12
        #: Pairs of clusters, by number, of which one depends on the other; merging never undoes
        #: that.
        self._needs: set[tuple[int, int]] = set()
        #: The number of the present search, by which visited clusters are marked.
        self._search = 0

    def opened(self) -> None:
        """Allow the visits of one more cluster."""
        self.looks += _MAX_VISITS_PER_CLUSTER

    def depend(self, clusters: Sequence[Cluster]) -> bool:
        """Return whether two of the clusters are known to depend on each other; other pairs have to
        be searched.
        """
        if len(clusters) != 2:
            return False
        return _pair(clusters[0], clusters[1]) in self._needs

    def independent(self, clusters: Sequence[Cluster]) -> bool:
        """Return whether none of the clusters depends on another one."""
        if self.depend(clusters):
            return False
        if self._users_above(clusters, min([c.rank for c in clusters]), clusters) is not None:
            return True
        if len(clusters) == 2 and self.looks >= 0:
            self._needs.add(_pair(clusters[0], clusters[1]))
        return False

    def below(self, users: Iterable[Cluster], maker: Cluster) -> bool:
        """Return whether ``users`` may depend on ``maker``; their ranks become less than its."""
        for user in users:
            if user is maker or user.rank < maker.rank:
                continue
            if (pair := _pair(user, maker)) in self._needs:
                return False
            needing = self._users_above([user], maker.rank, [maker])
            if needing is None:
                if self.looks >= 0:
                    self._needs.add(pair)
                return False
            self._move(needing, self._makers_below(maker, user.rank))
        return True

    def unite(self, clusters: Sequence[Cluster]) -> Cluster:
        """Merge independent clusters into the first of them."""
        first, *others = clusters
        for other in others:
            low, high = sorted((first, other), key=lambda c: c.rank)
            needing = self._users_above([high], low.rank, [low], always=True)
            assert needing is not None, "clusters that need each other cannot become one"
            self._move(needing, self._makers_below(low, high.rank))
            first._take_in(other)  # no rank of its users or makers is between the two any more
        return first

    def _users_above(self, starts: Sequence[Cluster], rank: int, goals: Iterable[Cluster],
                     always: bool = False) -> list[Cluster] | None:
        """Return ``starts`` and their transitive users of a rank above ``rank``; None if a goal is
        among them.

        Also None if the search visits too many clusters, unless ``always``.
        """
        self._search = search = self._search + 1
        for cluster in goals:
            cluster.goal = search
        for cluster in starts:
            cluster.visited = search
        found = [*starts]
        for cluster in found:  # which grows
            before = len(found)
            for user in cluster.users:
                while user.merged is not None:
                    user = user.merged
                if user.goal == search:
                    return None
                if user.rank > rank and user.visited != search:
                    user.visited = search
                    found.append(user)
            self.looks -= len(found) - before
            if self.looks < 0 and not always:
                return None
        return found

    def _makers_below(self, start: Cluster, rank: int) -> list[Cluster]:
        """Return ``start`` and all that it needs, directly or not, whose rank is below ``rank``."""
        self._search = start.visited = search = self._search + 1
        found = [start]
        for cluster in found:  # which grows
            for maker in cluster.makers:
                while maker.merged is not None:
                    maker = maker.merged
                if maker.rank < rank and maker.visited != search:
                    maker.visited = search
                    found.append(maker)
        self.looks -= len(found) - 1
        return found

    def _move(self, users: list[Cluster], makers: list[Cluster]) -> None:
        """Move all ``users`` before all ``makers``, each in the order that they have."""
        moved = [c for group in (users, makers) for c in sorted(group, key=lambda c: c.rank)]
        ranks = sorted([c.rank for c in moved])
        for cluster, rank in zip(moved, ranks, strict=True):
            cluster.rank = rank
