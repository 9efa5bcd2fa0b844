"""Clustering: which values are materialized, and which are recomputed where they are used.

Every value with memory is a *root*; all others are *virtual*: their expression is inlined into the
roots that need them.  Roots over the same index space that share work form one *cluster*, which
becomes one kernel.  Nodes are visited once, in reverse topological order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from agnesi.core.ir.costs import instructions_of
from agnesi.core.ir.dims import is_static
from agnesi.core.ir.node import Node
from agnesi.core.op import Item
from agnesi.core.target import Target
from agnesi.schedule.clustering.boxes import boxes_of
from agnesi.schedule.clustering.cluster import Cluster, Order, present
from agnesi.schedule.clustering.comparisons import shared_sums
from agnesi.schedule.clustering.decisions import waiting
from agnesi.schedule.clustering.directions import Directions, conflict
from agnesi.schedule.clustering.evaluations import Evaluations
from agnesi.schedule.clustering.horizontal_fusion import MIN_SHARED_ELEMENTS
from agnesi.schedule.clustering.node_facts import (
    axes_inside,
    facts_of,
    flat_source,
    is_empty,
    leading_axes,
    long_sizes,
    numel,
    reads_views,
    repeats_reductions,
    splits_evenly,
    weight,
)
from agnesi.schedule.clustering.recomputation import (
    LARGE_ELEMENTS,
    MIN_ELEMENTS,
    MIN_SIZE_RATIO,
    Recomputation,
)
from agnesi.schedule.clustering.scalar_programs import Cut, cut
from agnesi.schedule.evaluation_counts import MAX_CHEAP_EVALUATIONS
from agnesi.schedule.program import MAX_SEARCHED_NODES, Program

#: Materialized values that are written out for each region of a piecewise value, at most.
_MAX_REGION_ROOTS = 2
#: Instructions that are written out for each region of a piecewise value, at most.
_MAX_REGION_INSTRUCTIONS = 100
#: Boxes between the borders of the regions of all piecewise values of a kernel, at most.
_MAX_BOXES = 27
#: Longest chain of operations in one kernel.
_MAX_CHAIN_OPS = 48
#: Steps of the chain that an expensive operation counts for, to keep functions small.
_HEAVY_OP_STEPS = 6
#: Most reductions in one kernel: all that they read is live until it runs.
_MAX_REDUCTIONS_PER_KERNEL = 8
#: Instructions beyond which a kernel takes in no more work: compile time grows faster.
_MAX_KERNEL_INSTRUCTIONS = 2000
#: Clusters that may become one kernel: compile time grows faster than their number.
_MAX_MERGED_CLUSTERS = 24
_NO_AXES: frozenset[int] = frozenset()


def fuse(program: Program) -> Program:
    """Compute values where they are used, but for those that get memory."""
    request = program.request
    plan = program.plan = Clustering(program.order, request.outputs, request.target, request.inner)
    plan.separate = program.separate
    plan.fuse()
    program.count(sum([n.op is not None and id(n) not in plan.root for n in program.order]))
    return program


def unfused(program: Program) -> Clustering:
    """The plan where every value has memory and a kernel of its own."""
    request = program.request
    plan = Clustering(program.order, request.outputs, request.target, request.inner, apart=True)
    plan.keep_all()
    return plan


class Clustering:
    """The roots and clusters of a graph; ``root[id(node)]`` is the cluster that fills a root.

    ``order`` lists the nodes in topological order; ``outputs`` must be materialized. ``inner``
    graphs are bodies of loops; with ``apart`` each value gets a kernel of its own.
    """

    def __init__(self, order: Sequence[Node], outputs: Iterable[Node], target: Target,
                 inner: bool = False, apart: bool = False) -> None:
        self.root: dict[int, Cluster] = {}
        self.clusters: list[Cluster] = []
        self._ranks = Order()
        self._facts = facts_of(order, target)
        #: Values that must be materialized, by their ids.
        self._required = {id(flat_source(n)) for n in outputs}
        #: Products that get memory of their own.
        self.separate: set[int] = set()
        #: The ids of values that a gather reads, which are materialized: no kernel makes and
        #: gathers them.
        self._gathered: set[int] = set()
        #: Checks of Python's decisions that must run before a node that may raise, by its id.
        self._waiting = waiting(order)
        self._users: dict[int, set[Cluster]] = {}
        #: By node, the users that read it at other indices than those they compute, such as
        #: transposed.
        self._elsewhere: dict[int, set[Cluster]] = {}
        #: The single results (tuple elements) of a node that has several, by its id.
        self.items: dict[int, list[Node]] = {}
        self._depth: dict[int, int] = {}
        self._evaluations = Evaluations(self._facts)
        self._recomputation = Recomputation(order, self._facts)
        self._directions = Directions(order, self._facts)
        #: The axes of what is computed inside of a reduction in its kernel that this goes along.
        self._inside: dict[int, frozenset[int]] = {}
        #: What values without elements are made of, of which all checks are demanded.
        self._checked: set[int] = set()
        #: Which segment of a scalar program each of its values is in; none in a loop's body, whose
        #: scalars stay in registers.
        order, self._segment_of = Cut(order, {}) if inner or apart else cut(order, self._waiting)
        self._segments: dict[int, Cluster] = {}
        self._order = order

    def fuse(self) -> None:
        """Put values into clusters, users before makers."""
        for node in reversed(self._order):
            if node.op is not None:
                self._visit(node)

    def keep_all(self) -> None:
        """Fuse nothing: every value gets a kernel and memory."""
        for node in reversed(self._order):
            users = present(self._users.pop(id(node), set()))
            if node.op is None or (not users and id(node) not in self._required):
                continue
            if type(node.op) is Item:
                self._visit_item(node, users)
                continue
            users = {self._open_cluster(node, users)}
            self._require_operands(node)
            for operand in node.inputs:
                self._let_use(operand, users)

    def present(self) -> list[Cluster]:
        """The clusters, makers first."""
        return sorted([c for c in self.clusters if c.merged is None], key=lambda c: -c.rank)

    def _source(self, node: Node) -> Node:
        """Return the node behind a chain of movements."""
        return self._facts[id(node)].source

    def _visit(self, node: Node) -> None:
        key = id(node)
        users = present(self._users.pop(key, set()))
        if not users and key not in self._required:
            return
        if 0 in node.shape and is_empty(node):
            self._open_cluster(node, users)
            self._require_checks(node)
            return
        if key in self._segment_of:
            self._visit_scalar(node, users)
            return
        if type(node.op) is Item:
            self._visit_item(node, users)
            return
        depth = self._depth.pop(key, 0) + (_HEAVY_OP_STEPS if "heavy" in node.op.traits else 1)
        if self._needs_memory(node, users, depth):
            users = {self._join_cluster(node, users, depth) or self._open_cluster(node, users)}
            depth = 0
            self._inside.pop(key, None)
            self._elsewhere.pop(key, None)
        users = present(users)
        self._note(node, users)
        self._require_operands(node)
        self._evaluations.visit(node, key in self.root)
        inside = self._inside.get(key, _NO_AXES)
        elsewhere = self._elsewhere.pop(key, None)
        if self._facts[key].movement and not node.op.flat:
            elsewhere = users
        for operand in node.inputs:
            if operand.op is None:
                continue
            below = id(operand)
            if elsewhere:
                self._elsewhere[below] = self._elsewhere.get(below, set()) | elsewhere
            axes = self._facts[key].axes or (inside and axes_inside(node, operand, inside))
            if axes := [a for a in axes if a < len(operand.shape)]:  # labels have fewer
                self._inside[below] = self._inside.get(below, _NO_AXES) | {*axes}
            self._let_use(operand, users)
            if self._depth.get(below, 0) < depth:
                self._depth[below] = depth
        for flag in self._waiting.get(key, ()):
            self._let_use(flat_source(flag), users)

    def _visit_item(self, node: Node, users: set[Cluster]) -> None:
        """Record one result of an operation that has several; its kernel fills all of them."""
        (maker,) = node.inputs
        self.items.setdefault(id(maker), []).append(node)
        self._required.add(id(maker))
        self._let_use(maker, users)

    def _let_use(self, node: Node, users: set[Cluster]) -> None:
        """Record that clusters read a node. The sets are shared between nodes, never changed."""
        known = self._users.get(id(node))
        if known is not users:
            self._users[id(node)] = users if known is None else known | users

    def _visit_scalar(self, node: Node, users: set[Cluster]) -> None:
        """Put a scalar into the kernel of its part of a scalar program, stored if others read."""
        segment = self._segment_of[id(node)]
        known = self._segments.get(segment)
        if known is None:
            cluster = self._segments[segment] = self._open_cluster(node, users)
        else:
            cluster = known.now()
            if id(node) in self._required or users != {cluster}:
                assert self._ranks.below(users, cluster), "numbers are cut so that none waits"
                cluster.fill([node], users)
                self.root[id(node)] = cluster
        cluster.scalars.append(node)
        self._note(node, {cluster})
        for operand in node.inputs:
            self._let_use(operand, {cluster})

    def _note(self, node: Node, users: set[Cluster]) -> None:
        """Record for the kernels that compute a node what kind of work it is."""
        facts = self._facts[id(node)]
        if not facts.lowers or facts.product:
            return
        read = self._facts[id(node.inputs[0])].weight if node.inputs else 0
        sweep = node.op.sweep(*node.inputs) if read >= MIN_SHARED_ELEMENTS else None
        cost, reduces, rereads = instructions_of(node.op.name), bool(facts.axes), node.op.rereads
        direction = self._directions.of(node) if reduces and read >= MIN_SHARED_ELEMENTS else 0
        for cluster in users:
            cluster.instructions += cost
            cluster.reduces += reduces
            cluster.swept = max(cluster.swept, read * reduces)
            cluster.rereads |= rereads
            if direction:
                cluster.directions.add(direction)
            if sweep is not None:
                cluster.sweeps[sweep] = None

    def _open_cluster(self, node: Node, users: set[Cluster]) -> Cluster:
        cluster = Cluster(len(self.root), node, users, self._facts[id(node)])
        self.clusters.append(cluster)
        self._ranks.opened()
        for filled in (node, *self.items.get(id(node), ())):
            self.root[id(filled)] = cluster
        return cluster

    def _join_cluster(self, node: Node, users: set[Cluster], depth: int) -> Cluster | None:
        """Return a cluster of the users whose loops can store this root too, since they compute it
        at each point; None if there is none.
        """
        facts = self._facts[id(node)]
        if not facts.lowers or node.op.template or facts.axes:
            return None
        if id(node) in self._gathered or any([c.rereads for c in users]):
            return None
        same = {node.shape}
        if len(users) > 1 and all([c.shapes == same and not c.reduces for c in users]):
            self.merge(users)
            users = present(users)
        twice = present(self._elsewhere.get(id(node), set()))  # at their point and another one
        if twice and not self._recomputation.is_costly(node):
            twice = set()
        for cluster in users - twice:
            if (
                cluster.foreign or cluster.product is not None or cluster.reduces
                or depth > _MAX_CHAIN_OPS or cluster.instructions > _MAX_KERNEL_INSTRUCTIONS
                or cluster.shapes != same or not self._ranks.below(users, cluster)
            ):
                continue
            cluster.fill([node], users)
            self.root[id(node)] = cluster
            return cluster
        return None

    def _require_operands(self, node: Node) -> None:
        """Mark the operands that must be materialized because of the operation that reads them."""
        op, facts = node.op, self._facts[id(node)]
        if op.condition is not None:
            self._required.add(id(flat_source(node.inputs[op.condition])))
        if facts.product:
            self._required.update([id(self._source(operand)) for operand in node.inputs])
        elif not facts.lowers:
            if op.changes and not self._facts[id(node.inputs[0])].movement:
                self._required.add(id(node.inputs[0]))
            if op.parts is None:
                views = reads_views(op)
                self._required.update(id(self._source(i) if views else i) for i in node.inputs)
            elif op.changes:
                self._require_written(node)
        elif facts.axes and self._directions.is_mixed(node):
            self._required.add(id(self._source(node.inputs[0])))
        elif op.rereads or "ordering" in op.traits:
            self._required.update(id(self._source(operand)) for operand in node.inputs)
        elif op.flat and not splits_evenly(node.inputs[0].shape, node.shape):
            self._required.add(id(flat_source(node)))
        elif "gather" in op.traits:
            if repeats_reductions(node, self._facts, MAX_CHEAP_EVALUATIONS):
                read = id(self._source(node.inputs[0]))
                self._required.add(read)
                self._gathered.add(read)
        elif op.pointwise or "broadcast" in op.traits:
            if "comparison" in op.traits:
                self._required |= shared_sums(node, self._facts)
            size = facts.weight
            for operand in node.inputs:
                base = self._source(operand)
                many = self._facts[id(base)].weight
                if 2 * many <= size and (
                        self._recomputation.broadcast_is_expensive(base, many, size)):
                    self._required.add(id(base))

    def _require_checks(self, node: Node) -> None:
        """Materialize the conditions of checks before a value without elements, which reads no
        operand."""
        stack = [node]
        while stack:
            maker = stack.pop()
            if maker.op is None or id(maker) in self._checked:
                continue
            self._checked.add(id(maker))
            if maker.op.condition is not None:
                self._require_operands(maker)
            stack += maker.inputs

    def _require_written(self, node: Node) -> None:
        """Materialize what is written into a few elements of a large value and is computed from
        others of it: in one kernel with the writes it would need a copy of the large value."""
        base, new, *_ = node.inputs
        if new.op is None or self._facts[id(new)].weight * MIN_SIZE_RATIO > (
                self._facts[id(base)].weight):
            return
        bases = {id(base)}
        while base.op is not None and (base.op.changes or base.op.view):
            base = base.inputs[0]
            bases.add(id(base))
        stack, seen = [new], {id(new)}
        while stack:
            maker = stack.pop()
            if not bases.isdisjoint(map(id, maker.inputs)) or len(seen) > MAX_SEARCHED_NODES:
                self._required.add(id(new))
                return
            facts = self._facts[id(maker)]
            if facts.lowers and not facts.product:  # else its operands are materialized
                waiting = [i for i in maker.inputs if i.op is not None and id(i) not in seen]
                seen.update(map(id, waiting))
                stack += waiting

    def _needs_memory(self, node: Node, users: set[Cluster], depth: int) -> bool:
        if id(node) in self._required or depth > _MAX_CHAIN_OPS:
            return True
        op, facts = node.op, self._facts[id(node)]
        if not facts.lowers:
            return not self._take_regions(node, users)
        special = False
        for c in users:
            if c.instructions > _MAX_KERNEL_INSTRUCTIONS:
                return not facts.movement
            special |= not c.lowers
        if special and any([not c.lowers and not c.roots[0].op.inlines and not (
                facts.movement and reads_views(c.roots[0].op)) for c in users]):
            return True
        if facts.product:
            return not self._take_epilogue(node, users)
        if op.template or (op.rereads and any(c.product is not None for c in users)):
            return True
        if facts.axes and not self._fits_loops(node, users):
            return True
        if self._recomputation.ends_product(node) and any(
                [c.reduces or c.foreign or c.regions for c in users]):
            return True
        if not facts.movement and self._is_repeated(node, users):
            return True
        if len(users) < 2 or facts.movement or self._recomputation.is_cheap(node):
            return False
        if facts.weight == 1 and all([weight(c.widest) >= MIN_ELEMENTS for c in users]):
            # One loop over the arrays of all: caches and prefetchers do not follow so many streams
            # (Adam on 15 matrices took 1.8 times as long, 10 times where all began on a page).
            return True
        return not (self.merge(users) or self._recomputation.is_light(node))

    def _is_repeated(self, node: Node, users: set[Cluster]) -> bool:
        """Return whether a value would be computed too often for each of its elements."""
        if not self._evaluations.are_many(node, len(users)):
            return False
        if len(users) > 1 and self.merge(users):
            users = present(users)
        return self._evaluations.are_many(node, len(users))

    def _take_regions(self, node: Node, users: set[Cluster]) -> bool:
        """Compute a value made of regions in the one kernel that uses it, region by region."""
        if not self._is_read_in_boxes(node) or any(
            len(c.roots) > _MAX_REGION_ROOTS or c.instructions > _MAX_REGION_INSTRUCTIONS
            for c in users
        ):
            return False
        if len(users) == 1:
            (cluster,) = users
            pieces = [*cluster.pieces, node]
            if cluster.regions and cluster.shapes == {node.shape} and not cluster.reduces and (
                    id(node) not in self.separate) and len(boxes_of(pieces)) <= _MAX_BOXES:
                cluster.pieces = pieces
                return True
        if not self._take_epilogue(node, users):
            return False
        for cluster in users:
            cluster.rereads = True
            cluster.pieces.append(node)
        return True

    def _is_read_in_boxes(self, node: Node) -> bool:
        """Return whether a value is a sum of regions, or many elements moved in a few boxes."""
        if node.op.boxes is None or "piecewise" in node.op.traits:
            return node.op.boxes is not None
        moved = all([i.op is None or self._facts[id(i)].movement for i in node.inputs])
        return (
            is_static(node.shape) and self._facts[id(node)].weight >= MIN_ELEMENTS
            and node.dtype.kind != "c" and (moved or len(node.inputs) == 1)
            and 0 < len(boxes_of([node])) <= _MAX_BOXES
        )

    def _take_epilogue(self, node: Node, users: set[Cluster]) -> bool:
        """Make a product part of the one kernel that uses it, as its epilogue."""
        if len(users) != 1 or id(node) in self.separate:
            return False
        (cluster,) = users
        if cluster.product is not None or cluster.reduces or cluster.rereads or cluster.foreign:
            return False
        if cluster.shapes != {node.shape}:
            return False
        cluster.product = node
        return True

    def _fits_loops(self, node: Node, users: set[Cluster]) -> bool:
        """Return whether a reduction can be computed inside the loops of all its users."""
        operand, axes = node.inputs[0], self._facts[id(node)].axes
        outer = tuple(n for i, n in enumerate(operand.shape) if i not in axes and n != 1)
        trailing = not leading_axes(node, self._facts)
        large = self._facts[id(operand)].weight >= MIN_SHARED_ELEMENTS
        direction = {self._directions.of(node)} if large and outer else set()
        for cluster in users:
            if (
                cluster.product is not None
                or cluster.foreign
                or (cluster.directions and conflict(direction | cluster.directions))
                or cluster.reduces >= _MAX_REDUCTIONS_PER_KERNEL
            ):
                return False
            root = cluster.widest
            if not outer:
                if weight(operand) >= (LARGE_ELEMENTS if numel(root) == 1 else MIN_ELEMENTS):
                    return False
            elif numel(root) != numel(node) and not (
                trailing and long_sizes(root.shape)[: len(outer)] == outer
            ):
                return False
            if (
                id(node) in self._inside and weight(operand) >= MIN_ELEMENTS
                and weight(root) >= weight(node)
            ):
                return False  # it would be computed inside of another reduction and once more
        return True

    def merge(self, users: Iterable[Cluster]) -> bool:
        """Merge the kernels that share a value; False where that cannot be."""
        clusters = list(users)
        if self._ranks.depend(clusters) or not _mergeable(clusters) or (
                not self._ranks.independent(clusters)):
            return False
        first = self._ranks.unite(clusters)
        for cluster in clusters:
            self.root.update([(id(r), first) for r in cluster.roots])
        return True


def _is_last(sweep: Any) -> bool:
    """Return whether a reduction runs over the last axes, not counting axes of size 1."""
    shape, axes = sweep
    long = [a for a, n in enumerate(shape) if n != 1]
    over = [a for a in axes if shape[a] != 1]
    return long[len(long) - len(over):] == over


def _mergeable(clusters: Sequence[Cluster]) -> bool:
    """Return whether clusters may become one kernel, if none depends on another."""
    if (
        len(clusters) > _MAX_MERGED_CLUSTERS
        or sum(c.instructions for c in clusters) > _MAX_KERNEL_INSTRUCTIONS
    ):
        return False
    if any(c.foreign or c.product is not None for c in clusters):
        return False
    if conflict([d for c in clusters for d in c.directions]):
        return False
    reductions = {s for c in clusters for s in c.sweeps if len(s) == 2}
    if len({axes for _, axes in reductions}) > 1 and not all(map(_is_last, reductions)):
        return False  # such as sums of rows and of columns, whatever their sizes
    sizes = long_sizes(max((c.widest for c in clusters), key=weight).shape)
    if any(long_sizes(s[0]) == sizes and not _is_last(s) for s in reductions):
        return False  # results are along other axes than the outer loops, if of as many elements
    return all(
        (own := long_sizes(shape)) == sizes[: len(own)] for c in clusters for shape in c.shapes
    )
