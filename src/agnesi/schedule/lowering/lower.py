"""Lowering of clusters: the expression of every root, and the buffers between kernels."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from agnesi.core.ir import loops
from agnesi.core.ir.calls.gemm import summed
from agnesi.core.ir.dims import product
from agnesi.core.ir.kernels import (
    Buffer,
    Callback,
    Check,
    Convolution,
    Foreign,
    Kernel,
    Matrix,
    Nest,
    Product,
    Store,
)
from agnesi.core.ir.loops import Affine, At, Axis, Expr, Read
from agnesi.core.ir.node import Node
from agnesi.core.support.dtypes import name_of
from agnesi.core.support.errors import DeviceError, at
from agnesi.schedule.clustering.cluster import Cluster
from agnesi.schedule.clustering.clustering import Clustering, unfused
from agnesi.schedule.clustering.convolutions import sizes_of
from agnesi.schedule.clustering.layout import (
    by_memory,
    channels_last,
    channels_last_copies,
    strides_in,
)
from agnesi.schedule.clustering.node_facts import (
    flat_source,
    in_reals,
    is_empty,
    lowerable,
    reads_views,
    source,
    uniform,
)
from agnesi.schedule.clustering.sparsity import zeros_of
from agnesi.schedule.iteration_space import axes_of, point, point_in
from agnesi.schedule.lowering.batches import along, cut_batch, flattened, viewed
from agnesi.schedule.lowering.cluster_dedup import Repeats
from agnesi.schedule.lowering.foreign import foreign
from agnesi.schedule.lowering.library_calls import called, loaded
from agnesi.schedule.lowering.library_products import in_library, taps_in_library
from agnesi.schedule.lowering.piecewise import computed_with, filled, finished, only_at
from agnesi.schedule.lowering.second_results import store_also
from agnesi.schedule.lowering.split_filter_gradients import split_filter_gradients
from agnesi.schedule.lowering.successors import Successors
from agnesi.schedule.program import Program, Request


def lower(program: Program) -> Program:
    """Make the kernels that fill the clusters of the plan, and the buffers between them."""
    if program.plan is None:
        program.plan = unfused(program)
    _Lowering(program, program.plan).run()
    program.count(len(program.kernels))
    return program


class _Lowering:
    def __init__(self, program: Program, plan: Clustering) -> None:
        self.program = program
        self.plan = plan
        self.clusters = plan.present()
        self.library, self.target = program.request.library, program.request.target
        self.prefers, self.orders = program.prefers, program.orders
        self.buffers: dict[int, Buffer] = dict(program.leaves)
        self._repeats = Repeats(program, plan.root, self.buffers, self._buffer, self.orders)
        self._reads: dict[Any, Read] = {}
        self._copies: dict[int, Matrix] = {}
        self._waits: dict[Buffer, None] = {}
        self.taken: dict[int, Buffer] = {}
        self._continued: dict[int, Node] = {}
        self._segments: Any = None

    def run(self) -> None:
        """Lower all clusters to kernels, those that make values before those that use them."""
        outputs, order = self.program.request.outputs, self.program.order
        self._claim_outputs(outputs, self.program.request.replaced)
        self._continue_bases(order)
        self._note_checks(order)
        position = {id(node): i for i, node in enumerate(order)}
        for cluster in self.clusters:
            if cluster.lowers and cluster.product is None:  # in one order, so that equals are equal
                cluster.roots.sort(key=lambda root: position[id(root)])
            known = len(self.program.kernels)
            self._emit(cluster)
            self._let_wait(known)
            for root in cluster.roots:
                for node in (root, *self.plan.items.get(id(root), ())):
                    self.program.kernels += self._checks.pop(id(node), ())
        self._copy_outputs(outputs)
        self._reads.clear()  # these refer back to this object: it ends without the collector
        del self._repeats, self._segments

    # -- results --------------------------------------------------------------------------
    def _claim_outputs(self, outputs: Sequence[Node], replaced: Mapping[int, Buffer]) -> None:
        """Assign results to the memory of outputs before lowering.

        A value that is returned twice is copied to the second output, as is one that is computed in
        another memory order. Kernels that are no loops over elements write row-major results.
        """
        strided = {id(root) for cluster in self.clusters for root in cluster.roots
                   if cluster.lowers or cluster.product is not None}
        for i, node in enumerate(outputs):
            base = flat_source(node)
            if base.op is None or id(base) in self.taken or id(base) in self.orders:
                continue
            follows = i in replaced and base is node and id(base) in strided
            strides = replaced[i].strides if follows else None
            self.taken[id(base)] = self._new(base, "output", strides)

    def _copy_outputs(self, outputs: Sequence[Node]) -> None:
        used: set[int] = set()
        for node in outputs:
            base = flat_source(node)
            held = self.taken.get(id(base))
            if held is None or id(held) in used:
                first, held = held, Buffer(node.shape, node.dtype, "output", node=node)
                self.program.buffers.append(held)
                if first is None or not store_also(self.program.kernels, first, held):
                    self._copy(node, held)
            used.add(id(held))
            self.program.outputs.append(held)

    def _copy(self, node: Node, target: Buffer) -> None:
        axes = axes_of(node.shape)
        store = Store(target, target.offset_of(point(axes)), self._element(node))
        self.program.kernels.append(Nest([node], by_memory(axes, [store]), [store]))

    # -- buffers --------------------------------------------------------------------------
    def _continue_bases(self, order: Sequence[Node]) -> None:
        """Write in place into a value without other uses."""
        writes = [node for node in order if node.op is not None and node.op.changes]
        successors = Successors(order, self.plan.root) if writes else None
        for node in writes:
            base = node.inputs[0]
            if id(base) in self.plan.root and id(base) not in self.taken and (
                    successors is not None and successors.is_last(node)):
                self._continued[id(base)] = node

    def _new(self, node: Node, role: str, strides: tuple[int, ...] | None = None) -> Buffer:
        if role == "temporary" and id(node) in self.orders:
            strides = strides_in(self.orders[id(node)], node.shape)
        buffer = Buffer(node.shape, node.dtype, role, node=node, strides=strides)
        self.program.buffers.append(buffer)
        return buffer

    def _buffer(self, node: Node) -> Buffer:
        """Return the buffer of a materialized value or an input, made at first use."""
        found = self.buffers.get(id(node))
        if found is None and id(node) in self._continued:
            found = self.buffers[id(node)] = self._buffer(self._continued[id(node)])
        elif found is None:
            found = self.taken.get(id(node)) or self._new(node, "temporary")
            self.buffers[id(node)] = found
        return found

    # -- checks ---------------------------------------------------------------------------
    def _note_checks(self, order: Sequence[Node]) -> None:
        """Collect the checks of the materialized value that holds their flag; checks of arguments
        come first.
        """
        self._checks: dict[int, list[Kernel]] = {}
        for node in order:
            if node.op is None or node.op.condition is None:
                continue
            flag = flat_source(node.inputs[node.op.condition])
            if flag.op is not None and id(flag) not in self.plan.root:
                continue  # what it guards has no uses
            self._require("control", node)
            known = self._checks.setdefault(id(flag), [])
            kind, text = node.op.failure(*node.inputs)
            if not any(isinstance(c, Check) and c.text == text for c in known):
                known.append(Check([node], self._buffer(flag), kind, text))
        for key in [k for k in self._checks if k not in self.plan.root]:
            self.program.kernels += self._checks.pop(key)

    # -- expressions ----------------------------------------------------------------------
    def _read(self, node: Node, inside: frozenset[int],
              totals: Mapping[int, Buffer] | None = None) -> Read:
        """Return a function that makes the expression of an element of a node; roots ``inside`` are
        computed, others loaded.

        In an epilogue, ``totals`` has the buffers of sums of products, by the ids of their nodes.
        """
        key = (id(node), inside, totals is not None)
        found = self._reads.get(key)
        if found is not None:
            return found
        shape: Any = node.shape

        def element(at: At) -> Expr:
            if totals is not None and id(node) in totals:
                total = totals[id(node)]
                return loops.load(total, name_of(node.dtype), total.offset_of(at))
            constant = uniform(node)
            if constant is not None:
                return loops.const(constant, name_of(node.dtype))
            if node.op is None or (id(node) in self.plan.root and id(node) not in inside):
                buffer = self._buffer(node)
                return loops.load(buffer, name_of(node.dtype), buffer.offset_of(at))
            base = flat_source(node)
            stored = id(base) in self.plan.root and id(base) not in inside
            if base is not node and (base.op is None or stored):
                buffer = self._buffer(base)
                if buffer.contiguous and uniform(base) is None:
                    return loops.load(buffer, name_of(node.dtype), loops.ravel(at, shape))
            if "ordering" in node.op.traits:
                self._wait_for(node.inputs[1:])
            reads = [self._read(i, inside, totals) for i in node.inputs]
            return node.op.lower(at, *reads)

        found = self._reads[key] = Read(shape, name_of(node.dtype), functools.cache(element))
        return found

    def _wait_for(self, nodes: Sequence[Node]) -> None:
        """Make the kernels that are being lowered wait for those that fill ``nodes``."""
        for node in map(source, nodes):
            if id(node) in self.plan.root:
                self._waits[self._buffer(node)] = None

    def _let_wait(self, first: int) -> None:
        """Add the pending dependences to the kernels from index ``first`` on."""
        for kernel in self.program.kernels[first:]:
            written = kernel.writes()
            kernel.waits += [b for b in self._waits if b not in written]
        self._waits.clear()

    # -- kernels --------------------------------------------------------------------------
    def _emit(self, cluster: Cluster) -> None:
        self._reads.clear()
        root = cluster.roots[0]
        if is_empty(root):
            return
        if not lowerable(root):
            if root.op.parts is not None and in_reals(root):
                self._repeats.emit(cluster, self._in_parts)
            elif "control" in root.op.traits:
                self._control(root)
            elif "segment" in root.op.traits:
                self._segment(root)
            else:
                self._callback(root)
        elif cluster.regions:
            self._regions(cluster)
        elif cluster.product is None:
            self._repeats.emit(cluster, self._nest)
        elif cluster.product.op.template == "conv":
            self._convolution(cluster)
        else:
            self._repeats.emit(cluster, self._product)

    def _called(self, root: Node) -> bool:
        """Lower a node to a call of a library function if there is one; return whether there is."""
        kernels = called(root, self._buffer(root), self._element, self.target)
        self.program.buffers += [b for k in kernels if isinstance(k, Foreign) for b in k.scratch]
        self.program.kernels += kernels
        return bool(kernels)

    def _element(self, node: Node) -> Expr:
        """Return the expression of an element of a value, at the index of its own axes."""
        return self._read(node, frozenset())(*point(axes_of(node.shape)))

    def _nest(self, cluster: Cluster) -> None:
        if len(cluster.roots) == 1 and self._called(cluster.roots[0]):
            return
        inside = frozenset(id(r) for r in cluster.roots)
        axes = axes_of(cluster.widest.shape)
        body = []
        for node in reversed(cluster.scalars):  # none looks far for what it reads
            self._read(node, inside)()
        for root in cluster.roots:
            at = point_in(root.shape, axes)
            buffer = self._buffer(root)
            body.append(Store(buffer, buffer.offset_of(at), self._read(root, inside)(*at)))
        self.program.kernels.append(Nest(list(cluster.roots), by_memory(axes, body), body))

    def _in_parts(self, cluster: Cluster) -> None:
        if not self._called(cluster.roots[0]):
            self._parts(cluster.roots[0])

    def _parts(self, root: Node) -> None:
        parts = root.op.parts(*[self._read(i, frozenset()) for i in root.inputs])
        self.program.kernels += filled(root, self._buffer(root), parts)

    def _regions(self, cluster: Cluster) -> None:
        """Lower a cluster that is computed from values made of regions: a nest for each region."""
        inside = frozenset(id(r) for r in cluster.roots)
        totals = {id(n): Buffer(n.shape, n.dtype, "sum", node=n) for n in cluster.pieces}

        def stores(at: At) -> list[Store]:
            return [Store(buffer, buffer.offset_of(at), self._read(root, inside, totals)(*at))
                    for root in cluster.roots for buffer in [self._buffer(root)]]

        body = stores(at := point(axes_of(cluster.pieces[0].shape)))
        among = computed_with([i for n in cluster.pieces for i in n.inputs], self.plan.root)
        apart = [n for n in cluster.pieces
                 if id(n) in among or not only_at(body, totals[id(n)], at)]
        if not apart:
            pieces = [(totals[id(n)], n.op.boxes(*[self._read(i, frozenset()) for i in n.inputs]))
                      for n in cluster.pieces]
            self.program.kernels += finished(cluster.roots, pieces, stores)
            return
        for node in reversed(apart):  # those that others read come last
            self._separate(node, cluster)
            self._parts(node)
        cluster.pieces = [n for n in cluster.pieces if n not in apart]
        (self._regions if cluster.pieces else self._nest)(cluster)

    def _callback(self, root: Node) -> None:
        from agnesi.schedule.lowering.sparse import sparse

        views = [self._strided(i, False) for i in root.inputs] if reads_views(root.op) else [
            Matrix(b, 0, b.strides) for b in map(self._whole, root.inputs)]
        inputs = [v.buffer for v in views]
        if root.op.outputs == 1:
            results = [self._buffer(root)]
        else:
            results = [Buffer(s, d, "temporary") for s, d in root.outputs]
            self.program.buffers += results
            self._items(root, results)
        copied = lambda node: self._strided(node, True).buffer  # noqa: E731
        native = sparse(root, inputs, results, copied, self.target) or foreign(
            root, inputs, results, copied, self.target)
        if isinstance(native, Foreign):
            self.program.buffers += native.scratch
        if native is None:
            self._require("callback", root)
        self.program.kernels.append(
            native or Callback([root], op=root.op, inputs=inputs, results=results, views=views)
        )

    def _whole(self, node: Node) -> Buffer:
        """Return the buffer of a value, copied if it is not contiguous. The buffer of a state is
        never copied.
        """
        buffer = self._buffer(node)
        if buffer.contiguous or buffer.role == "state":
            return buffer
        return self._strided(node, True).buffer

    def _require(self, kind: str, node: Node) -> None:
        """Refuse a node whose kernel would be of a kind that the target has no code for."""
        if not self.target.supports(kind):
            have = ", ".join(sorted(self.target.kinds))
            raise DeviceError(at(f"{node.op.name} takes a kernel of the kind {kind!r}, and the "
                                 f"target {self.target.name!r} has code for {have}", node.where))

    def _control(self, root: Node) -> None:
        """Lower a loop or branch to a kernel that holds the kernels of its bodies."""
        self._require("control", root)
        from agnesi.schedule.lowering.loops import Maker

        if root.op.outputs > 1:
            made = [Buffer(s, d, "temporary") for s, d in root.outputs]
            wanted = self._items(root, made)
        else:
            made, wanted = [self._buffer(root)], {0}
        results = [b if i in wanted else None for i, b in enumerate(made)]
        self.program.buffers += [b for b in results if b is not None and b.role == "temporary"]
        operands = [self._strided(x, i in root.op.first_values) for i, x in enumerate(root.inputs)]
        maker = Maker(self._inner, self._constant)
        self.program.kernels.append(maker.kernel(root, operands, results))

    def _segment(self, root: Node) -> None:
        """Lower a call of an outlined graph: its kernels are made here."""
        if self._segments is None:
            from agnesi.schedule.lowering.segments import Segments

            self._segments = Segments(self.program, self._buffer, self._constant, lower)
        if root.op.outputs == 1:
            self._segments.emit(root, {0: self._buffer(root)})
            return
        items = self.plan.items.get(id(root), ())
        claimed = {n.op.index: self.taken.get(id(n)) or self.buffers.get(id(n)) for n in items}
        results = self._segments.emit(root, {i: b for i, b in claimed.items() if b is not None})
        for node in items:
            if claimed[node.op.index] is None:
                self.buffers[id(node)] = results[node.op.index]

    def _inner(self, outputs: Sequence[Node], leaves: dict[int, Buffer],
               carried: Sequence[tuple[Buffer, int]]) -> Program:
        """Lower the graph of a loop's or branch's body."""
        ours = self.program.request
        inner = self.program.schedule(
            Request(outputs, leaves, ours.target, ours.prefers, ours.library, inner=True,
                    carried=carried, exclude=ours.exclude))
        self.program.counts.update(inner.counts)
        return inner

    def _constant(self, node: Node) -> Buffer:
        """Return the buffer of a constant that a body reads."""
        if id(node) not in self.buffers:
            buffer = Buffer(tuple(node.shape), node.dtype, "constant", node=node)
            self.buffers[id(node)] = self.program.leaves[id(node)] = buffer
            self.program.buffers.append(buffer)
        return self.buffers[id(node)]

    def _strided(self, node: Node, whole: bool, last: bool = False) -> Matrix:
        """Return a strided view of a value, in a copy if needed: a contiguous one (``whole``), or
        one with channels ``last``.
        """
        axes, value = axes_of(node.shape), self._element(node)
        found = loaded(value, axes, node.shape, whole)
        if found is not None and not (last and found.strides[1] != 1):
            return found
        strides = strides_in(channels_last(len(axes)), node.shape) if last else None
        copy = self._new(node, "temporary", strides)
        self._copy(node, copy)
        return Matrix(copy, 0, copy.strides)

    def _items(self, root: Node, results: list[Buffer]) -> set[int]:
        """Assign the buffers of results to the nodes that pick them; return which results are used.
        """
        wanted = set()
        for node in self.plan.items.get(id(root), ()):
            claimed = self.taken.get(id(node), self.buffers.get(id(node)))
            if claimed is not None:  # by a check, maybe
                results[node.op.index] = claimed
            self.buffers[id(node)] = results[node.op.index]
            wanted.add(node.op.index)
        return wanted

    def _finished(self, cluster: Cluster) -> tuple[tuple[Axis, ...], At, Buffer, list[Store]]:
        """Axes of the result of a product, its sum, and the stores of all that it finishes."""
        node = cluster.product
        assert node is not None
        axes = tuple(Axis(d, n) for d, n in enumerate(node.shape))
        inside = frozenset(id(r) for r in cluster.roots)
        total = Buffer(node.shape, node.dtype, "sum", node=node)
        at = tuple([axis.index for axis in axes])
        totals = {id(node): total}
        body = [Store(buffer, buffer.offset_of(at), self._read(root, inside, totals)(*at))
                for root in cluster.roots for buffer in [self._buffer(root)]]
        return axes, at, total, body

    def _convolution(self, cluster: Cluster) -> None:
        node = cluster.product
        assert node is not None
        a, b = self._operands(node)
        axes, at, total, body = self._finished(cluster)
        nodes = [*dict.fromkeys([node, *cluster.roots])]
        whole = only_at(body, total, at)
        if not whole:
            buffer = self._separate(node, cluster)
            value = loops.load(total, name_of(node.dtype), total.offset_of(at))
            nodes, body = [node], [Store(buffer, buffer.offset_of(at), value)]
        kind, sizes = sizes_of(node)
        kernels, buffers = split_filter_gradients(
            Convolution(nodes, kind=kind, sizes=sizes, a=a, b=b, axes=axes, total=total, body=body,
                        symbol=taps_in_library(node, sizes, self.library))
        )
        self.program.kernels += kernels
        self.program.buffers += buffers
        if not whole:
            self._nest(cluster)

    def _operands(self, node: Node) -> list[Matrix]:
        """Return the operands of a convolution, in the order that it reads them in."""
        found = [self._strided(i, False) for i in node.inputs]
        if self.prefers is None:
            return found
        copied = channels_last_copies(node, found, id(node) in self.orders, self.prefers)
        for i in [i for i, c in enumerate(copied) if c]:
            x = node.inputs[i]
            if id(x) not in self._copies:
                self._copies[id(x)] = self._strided(x, False, True)
            found[i] = self._copies[id(x)]
        return found

    def _product(self, cluster: Cluster) -> None:
        node = cluster.product
        assert node is not None
        axes, at, total, body = self._finished(cluster)
        a, b = (self._matrix(node, i, axes) for i in (0, 1))
        strides = [m.strides[:-2] for m in (a, b)]
        symbol = in_library(node, self.library, a, b)
        finishes = only_at(body, total, at) and (not symbol or summed(body, total) is not None)
        cut = cut_batch(axes[:-2], strides, body) if finishes else None
        whole = cut is not None
        nodes = [*dict.fromkeys([node, *cluster.roots])]
        if cut is None:
            buffer = self._separate(node, cluster)
            value = loops.load(total, name_of(node.dtype), total.offset_of(at))
            cut = cut_batch(axes[:-2], strides, [Store(buffer, buffer.offset_of(at), value)])
            nodes = [node]
        assert cut is not None
        batch, body = cut
        count: Any = product([a.extent for a in batch])
        sizes = (count, *node.shape[-2:], node.inputs[0].shape[-1])
        self.program.kernels.append(
            Product(nodes, sizes, along(a, batch, axes), along(b, batch, axes),
                    (*batch, *axes[-2:]), flattened(total, batch), body,
                    symbol=symbol, zeros=(zeros_of(node.inputs[0]), zeros_of(node.inputs[1])))
        )
        if not whole:
            self._nest(cluster)

    def _separate(self, node: Node, cluster: Cluster) -> Buffer:
        """Memory for a product whose kernel cannot finish the roots that it was to finish."""
        self.plan.root[id(node)] = cluster
        self._reads.clear()
        return self._buffer(node)

    def _matrix(self, node: Node, which: int, axes: tuple[Axis, ...]) -> Matrix:
        """Return an operand of a product as a strided view of its own buffer, or of a copy that has
        such strides.
        """
        *batch, i, j = axes
        k = loops.fresh_axis(node.inputs[0].shape[-1], axes)
        pair = (i, k) if which == 0 else (k, j)
        operand = node.inputs[which]
        lead = batch[len(batch) - (len(operand.shape) - 2) :]
        at = tuple(
            loops.START if n == 1 and a.extent != 1 else a.index
            for a, n in zip((*lead, *pair), operand.shape, strict=True)
        )
        value = self._read(operand, frozenset())(*at)
        every = (*batch, *pair)
        found = viewed(value, every)
        if found is not None:
            cut = cut_batch(batch, [found.strides[:-2]], [])
            if cut is not None and (len(cut[0]) < 2 or 1 in found.strides[-2:]):
                return found
            if found.strides[-2] < found.strides[-1]:  # as in memory: columns outside, rows inside
                every = (*batch, *reversed(pair))
        value = loops.Substitution({a: Affine() for a in every if a.extent == 1})(value)
        copy = Buffer(tuple(a.extent for a in every), operand.dtype, "temporary")
        self.program.buffers.append(copy)
        target = copy.offset_of([a.index for a in every])
        self.program.kernels.append(Nest([operand], every, [Store(copy, target, value)]))
        return Matrix(copy, 0, tuple(target.terms.get(a, 0) for a in (*batch, *pair)))
