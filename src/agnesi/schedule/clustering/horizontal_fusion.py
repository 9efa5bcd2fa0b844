"""Horizontal fusion: independent kernels that sweep over the same memory alike become one."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from agnesi.core.ir.dims import product
from agnesi.core.ir.extents import guess
from agnesi.core.ir.node import Node
from agnesi.schedule.clustering.cluster import Cluster
from agnesi.schedule.clustering.node_facts import long_sizes
from agnesi.schedule.program import Program

#: Elements from which reading a value one time less is worth fusing two kernels.
MIN_SHARED_ELEMENTS = 1 << 12
#: Most later clusters with the same sweep that are tried as partners of one: planning stays linear.
_MAX_CANDIDATES = 100
#: Most clusters that may be merged into one.
_MAX_FUSIONS_PER_KERNEL = 3
#: Clusters over few elements that become one kernel.
_MAX_SMALL = 8
#: Elements that a short reduction reads, at most.
_MAX_SMALL_SWEEP = 64


def fuse_siblings(program: Program) -> Program:
    """Merge clusters of equal reduction sweeps that read a value in common, and clusters of results
    of equal shape.

    Results are elementwise and nothing else reads them, so merging them keeps no value alive for
    longer.
    """
    plan = program.plan
    if plan is not None:
        # what ``merge`` always refuses is not tried: steps of many parameters are segments
        before = [c for c in plan.clusters
                  if c.merged is None and not c.foreign and c.product is None]

        def unite(group: list[Cluster], least: int) -> None:
            _unite(group, lambda n: id(n) in plan.root, plan.merge, least)

        for group in _grouped(before, lambda c: c.sweeps).values():
            unite(group, MIN_SHARED_ELEMENTS)
        left = [c for c in before if c.merged is None]
        for shape, group in _grouped(left, _result_shape).items():
            unite(group, guess(product(shape)))
        program.count(sum([c.merged is not None for c in before]))
    return program


def _result_shape(cluster: Cluster) -> Iterable[Any]:
    """Yield the shape of a cluster of results that one loop over elements computes; nothing for
    other clusters.
    """
    shapes = {long_sizes(shape) for shape in cluster.shapes}
    alone = not (cluster.users or cluster.reduces or cluster.sweeps) and len(shapes) == 1
    return shapes if alone else ()


def fuse_small(program: Program) -> Program:
    """Merge small independent clusters of equal element count, a few at a time, those with
    reductions if these are short.

    It saves kernel calls, which count where elements are few, and compile time where a kernel is
    one of many equal ones.
    """
    plan = program.plan
    if plan is None:
        return program
    growing: dict[Any, tuple[Cluster, int]] = {}
    before = [c for c in plan.clusters if c.merged is None]
    for cluster in before:
        shapes = {long_sizes(shape) for shape in cluster.shapes}
        if cluster.sweeps or len(shapes) != 1 or cluster.swept > _MAX_SMALL_SWEEP:
            continue
        key = shapes.pop(), cluster.swept
        first, count = growing.get(key, (cluster, 0))
        if count and count < _MAX_SMALL and plan.merge([first.now(), cluster]):
            growing[key] = first, count + 1
        else:
            growing[key] = cluster, 1
    program.count(sum([c.merged is not None for c in before]))
    return program


def _grouped(clusters: Iterable[Cluster], keys: Callable[[Cluster], Iterable[Any]]
             ) -> dict[Any, list[Cluster]]:
    """Return the groups of two clusters or more by each of their keys."""
    groups: dict[Any, list[Cluster]] = {}
    for cluster in clusters:
        for key in keys(cluster):
            groups.setdefault(key, []).append(cluster)
    return {key: group for key, group in groups.items() if len(group) > 1}


def _unite(group: Sequence[Cluster], stored: Callable[[Node], bool],
           merge: Callable[[list[Cluster]], bool], least: int) -> None:
    """Merge clusters that share an operand of ``least`` elements or more; ``merge`` refuses those
    that do not match or depend on each other."""
    reads = [_reads(c, stored, least) for c in group]
    readers: dict[int, list[int]] = {}
    for i, values in enumerate(reads):
        for value in values:
            readers.setdefault(value, []).append(i)
    grown: dict[Cluster, int] = {}
    for i, a in enumerate(group):
        for j in sorted({j for value in reads[i] for j in _next(readers[value], i)}):
            first, second = a.now(), group[j].now()
            if grown.get(first, 0) >= _MAX_FUSIONS_PER_KERNEL:
                break
            if first is second:
                continue
            if len({long_sizes(shape) for c in (first, second) for shape in c.shapes}) > 1:
                continue
            if merge([first, second]):
                grown[first] = grown.get(first, 0) + grown.get(second, 0) + 1


def _next(positions: list[int], position: int) -> list[int]:
    """Return the indices in a sorted list that follow ``position`` by _MAX_CANDIDATES at most."""
    begin = bisect_right(positions, position)
    return positions[begin:bisect_right(positions, position + _MAX_CANDIDATES, begin)]


def _reads(cluster: Cluster, stored: Callable[[Node], bool], least: int) -> set[int]:
    """Return the ids of the materialized values of ``least`` elements or more that a cluster reads.
    """
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
            if guess(product(node.shape)) >= least:
                found.add(id(node))
        else:
            stack.extend(node.inputs)
    return found
