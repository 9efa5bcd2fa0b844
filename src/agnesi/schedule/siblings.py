"""Kernels that sweep over the same memory in the same way, side by side, become one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from agnesi.core.dims import product
from agnesi.core.extents import guess
from agnesi.core.node import Node
from agnesi.schedule.cluster import Cluster

#: Elements from which reading a value once less is worth it.
SWEPT = 1 << 12
#: Clusters to look at before giving up on whether one depends on the other.
_SEARCH = 2000
#: Clusters at most whose needs are looked for at once.
_KNOWN = 1 << 13
#: How often one kernel may take in another one.
_MOST = 3


def unite(clusters: Iterable[Cluster], stored: Callable[[Node], bool],
          mergeable: Callable[[list[Cluster]], bool],
          merge: Callable[[list[Cluster]], None]) -> None:
    """Merge clusters with equal sweeps that read a value in common, unless one needs the other.

    ``mergeable`` tells whether some might be merged if none needs another.
    """
    groups: dict[Any, list[Cluster]] = {}
    for cluster in clusters:
        for sweep in cluster.sweeps:
            groups.setdefault(sweep, []).append(cluster)
    groups = {sweep: group for sweep, group in groups.items() if len(group) > 1}
    if not groups:
        return
    reads = {c: _reads(c, stored) for group in groups.values() for c in group}
    bits = {c: 1 << i for i, c in enumerate(reads)} if len(reads) <= _KNOWN else {}
    known = _needing(clusters, bits)
    for group in groups.values():
        grown: dict[Cluster, int] = {}
        for a, b in combinations(group, 2):
            first, second = a.now(), b.now()
            if first is second or grown.get(first, 0) >= _MOST or reads[a].isdisjoint(reads[b]):
                continue
            if known[a] & bits.get(b, 0) or known[b] & bits.get(a, 0):
                continue
            if len({_wide(shape) for c in (first, second) for shape in c.shapes}) > 1:
                continue
            if not mergeable([first, second]):
                continue
            if _depends(second, first) or _depends(first, second):
                continue
            merge([first, second])
            grown[first] = grown.get(first, 0) + grown.get(second, 0) + 1


def _wide(shape: Sequence[Any]) -> tuple[Any, ...]:
    """The sizes of a value without those that are 1."""
    return tuple([n for n in shape if n != 1])


def _reads(cluster: Cluster, stored: Callable[[Node], bool]) -> set[int]:
    """Big values in memory that a cluster reads."""
    found: set[int] = set()
    seen: set[int] = set()
    inside = {id(r) for r in cluster.roots}
    stack = [i for r in cluster.roots for i in r.inputs]
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if (node.op is None or stored(node)) and id(node) not in inside:
            if guess(product(node.shape)) >= SWEPT:
                found.add(id(node))
        else:
            stack.extend(node.inputs)
    return found


def _needing(clusters: Iterable[Cluster], bits: Mapping[Cluster, int]) -> dict[Cluster, int]:
    """For each cluster the bits of those that need it."""
    found: dict[Cluster, int] = {}
    stack: list[Any] = list(clusters)  # None stands on a cluster whose users are through
    while stack:
        cluster = stack.pop()
        if cluster is None:
            cluster = stack.pop()
            for user in {u.now() for u in cluster.users}:
                found[cluster] |= found[user] | bits.get(user, 0)
        elif cluster not in found:
            found[cluster] = 0
            stack += [cluster, None, *{u.now() for u in cluster.users}]
    return found


def _depends(goal: Cluster, start: Cluster) -> bool:
    """Whether ``goal`` needs ``start``, looked for from both ends; True where that takes long."""
    if start.level <= goal.level:
        return False
    ahead, behind = {start}, {goal}
    new_ahead, new_behind = [start], [goal]
    while new_ahead and new_behind:
        if len(ahead) + len(behind) > _SEARCH:
            return True
        if len(new_ahead) <= len(new_behind):
            step = {u.now() for c in new_ahead for u in c.users}
            new_ahead = [c for c in step if c not in ahead]
            ahead |= step
        else:
            step = {m.now() for c in new_behind for m in c.makers}
            new_behind = [c for c in step if c not in behind]
            behind |= step
        if ahead & behind:
            return True
    return False
