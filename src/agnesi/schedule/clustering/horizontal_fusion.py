"""Horizontal fusion: independent kernels that sweep over the same memory alike become one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from agnesi.core.ir.dims import product
from agnesi.core.ir.extents import guess
from agnesi.core.ir.node import Node
from agnesi.schedule.clustering.cluster import Cluster
from agnesi.schedule.program import Program

#: Elements from which reading a value one time less is worth fusing two kernels.
MIN_SHARED_ELEMENTS = 1 << 12
#: Clusters of equal sweeps behind one that are tried, so that planning stays linear.
_MAX_CANDIDATES = 100
#: How often one kernel may take in another one.
_MAX_FUSIONS_PER_KERNEL = 3
#: Clusters over few elements that become one kernel.
_MAX_SMALL = 8


def fuse_siblings(program: Program) -> Program:
    """Merge clusters with equal sweeps that read a value in common."""
    plan = program.plan
    if plan is not None:
        before = [c for c in plan.clusters if c.merged is None]
        _unite(before, lambda n: id(n) in plan.root, plan.merge)
        program.count(sum([c.merged is not None for c in before]))
    return program


def fuse_small(program: Program) -> Program:
    """Merge independent clusters without reductions over equally many elements, some at a time.

    It pays where there are few elements, so that a kernel's call counts, and where the kernel is
    one of many equal ones: it is compiled once.
    """
    plan = program.plan
    if plan is None:
        return program
    growing: dict[Any, tuple[Cluster, int]] = {}
    before = [c for c in plan.clusters if c.merged is None]
    for cluster in before:
        shapes = {_wide(shape) for shape in cluster.shapes}
        if cluster.reduces or cluster.sweeps or len(shapes) != 1:
            continue
        key = shapes.pop()
        first, count = growing.get(key, (cluster, 0))
        if count and count < _MAX_SMALL and plan.merge([first.now(), cluster]):
            growing[key] = first, count + 1
        else:
            growing[key] = cluster, 1
    program.count(sum([c.merged is not None for c in before]))
    return program


def _unite(clusters: Iterable[Cluster], stored: Callable[[Node], bool],
           merge: Callable[[list[Cluster]], bool]) -> None:
    """Merge those; ``merge`` does so unless they do not fit or one needs the other."""
    groups: dict[Any, list[Cluster]] = {}
    for cluster in clusters:
        for sweep in cluster.sweeps:
            groups.setdefault(sweep, []).append(cluster)
    groups = {sweep: group for sweep, group in groups.items() if len(group) > 1}
    reads = {c: _reads(c, stored) for group in groups.values() for c in group}
    for group in groups.values():
        grown: dict[Cluster, int] = {}
        for a, b in _pairs(group):
            first, second = a.now(), b.now()
            if (
                first is second
                or grown.get(first, 0) >= _MAX_FUSIONS_PER_KERNEL
                or reads[a].isdisjoint(reads[b])
            ):
                continue
            if len({_wide(shape) for c in (first, second) for shape in c.shapes}) > 1:
                continue
            if merge([first, second]):
                grown[first] = grown.get(first, 0) + grown.get(second, 0) + 1


def _pairs(group: Sequence[Cluster]) -> Iterator[tuple[Cluster, Cluster]]:
    """All pairs that are not far apart."""
    for i, a in enumerate(group):
        for b in group[i + 1:i + 1 + _MAX_CANDIDATES]:
            yield a, b


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
            if guess(product(node.shape)) >= MIN_SHARED_ELEMENTS:
                found.add(id(node))
        else:
            stack.extend(node.inputs)
    return found
