"""One version of a jitted function: traced for a signature, compiled, and called."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np

from agnesi.autodiff.recording import ALIAS, STOP, is_leaf
from agnesi.compiler.compiled import Compiled
from agnesi.compiler.containers import caller, missed
from agnesi.compiler.overlap import Footprint
from agnesi.compiler.reads import Reads
from agnesi.compiler.recorded import as_they_are, pullback_of, recorded
from agnesi.compiler.trace import Trace, stand_in, tracing
from agnesi.compiler.varying import Pattern, check, in_shapes, shapes_of
from agnesi.core import dtypes
from agnesi.core.cached import cached_property
from agnesi.core.collector import no_gc
from agnesi.core.config import STATE, WITNESSES, config
from agnesi.core.dims import is_static
from agnesi.core.dispatch import current, touch
from agnesi.core.errors import MissingInputError, TraceError, at
from agnesi.core.extents import Extent, UnknownSizeError
from agnesi.core.graph import FunctionGraph, live_tensor
from agnesi.core.node import next_serial, toposort
from agnesi.core.tensor import CONSUMED, Tensor
from agnesi.core.tree import Tree, flatten
from agnesi.runtime.watched import Watched


class Version:
    """A function for one signature; calling it with the leaves of the arguments runs it.

    Attributes
    ----------
    flat : bool
        Whether the native function takes the user's arguments and gives the user's result as they
        are, without any Python.
    """

    @no_gc()
    def __init__(self, owner: Any, leaves: Sequence[Any], tree: Tree,
                 pattern: Pattern | None = None) -> None:
        start = time.perf_counter()
        shapes: Any = shapes_of(leaves)
        if pattern is not None:
            shapes = in_shapes(pattern, shapes)
        self.owner = owner
        self.argument_tree = tree
        self.recording = STATE.recording
        since = next_serial()
        symbols = [_symbol(v, i, n) for i, (v, n) in enumerate(zip(leaves, shapes, strict=True))]
        self.arrays = [i for i, s in enumerate(symbols) if isinstance(s, Tensor)]
        self.statics = [None if isinstance(s, Tensor) else v
                        for s, v in zip(symbols, leaves, strict=True)]
        inputs = [symbols[i].node for i in self.arrays]
        trace = Trace(s for s in symbols if isinstance(s, Tensor))
        with tracing(trace), Reads() as reads:
            self._meet(reads, symbols)
            args, keywords = tree.build(symbols)
            self.outputs, self.tree = flatten(owner.function(*args, **keywords))
            self.tensors = [v for v in self.outputs if isinstance(v, Tensor)]
            self._take_gradients(trace)
            nodes = [current(t) for t in (*self.tensors, *(g for _, g in self.kept))]
        returned = len(nodes)
        updates: list[Any] = []
        for x, _, node in trace.changed():
            updates.append((x, len(nodes)))
            nodes.append(node)
        self.mutated: list[int] = []
        for place, i in enumerate(self.arrays):
            if symbols[i].node is not inputs[place]:
                updates.append((place, len(nodes)))
                nodes.append(symbols[i].node)
                self.mutated.append(i)
        self._take_flows(nodes, updates, trace)
        self._take_places(reads, trace)
        decisive = trace.decisive([symbols[i] for i in self.arrays])
        trace.uncount()
        self.laid = [i for i, d in zip(self.arrays, decisive, strict=True) if d]
        self.plain = not self.kept and not self.cleared and self._plain_result()
        self.flat = (self.plain and _is_flat(tree) and not self.records and not self.unseen)
        self.footprint = self._footprint(trace, updates)
        graph = _closed(inputs, nodes, since)
        if pattern is not None:
            self._settle(graph)
        self.seconds = time.perf_counter() - start
        self.compiled = Compiled(
            [_argument(v, s) for v, s in zip(leaves, shapes, strict=True)],
            graph, returned, updates,
            result=self._result_kind() if self.plain else "tuple", wrap=[True] * returned,
            settings=owner.settings, name=owner.name, guards=self._guards(), watched=self.watched,
            slow=None if self.records else owner.ask_others if self.flat else missed,
        )
        self._callers: dict[Any, tuple[Any, Any]] = {}
        for x in self.consumed:
            x._grad = CONSUMED

    def _settle(self, graph: FunctionGraph) -> None:
        """Make sure that the graph holds for all sizes, and that no size leaves it as a number."""
        check(graph)
        for value in self.outputs:
            if isinstance(value, Extent):
                raise UnknownSizeError(f"the size {value} is returned as a number")

    def _meet(self, reads: Reads, arguments: Sequence[Any]) -> None:
        """Show what the function can reach to what takes down its reads."""
        reads.meet(self.owner.function, self.owner.name)
        for value, path in zip(arguments, self.argument_tree.paths("arguments"), strict=True):
            reads.meet(value, path)

    def _take_places(self, reads: Reads, trace: Trace) -> None:
        """What has to be as it was for this version to serve: what the function read, and state."""
        self.places = list(reads.places.values())
        #: Those that native code cannot compare.
        self.unseen = [p for p in self.places if not list(p.records())]
        self.watched = Watched()
        self.watch()
        # A number in the code stays what it is.
        self.state = [(x, x.shape, x.dtype, x.requires_grad) for x, leaf in trace.leaves.values()
                      if x.shape or live_tensor(leaf) is not None]

    # -- gradients ------------------------------------------------------------------------
    def _take_flows(self, nodes: Sequence[Any], updates: Sequence[Any], trace: Trace) -> None:
        """Whether gradients flow through the results when the call is recorded.

        They do not where the function is a training step, which took its gradients itself.
        """
        flowing = _flowing(nodes)
        self.flows = [n in flowing for n in nodes[: len(self.tensors)]]
        #: Whether gradients arrive at arguments: then only the function itself leaves them there.
        self.reached = trace.reached
        written = trace.reached or any(r.written for r in trace.grads.values())
        self.pure = not updates and not written
        #: Tensors that it changes without being given them.
        self.changed = [x for x, _ in updates if isinstance(x, Tensor)]
        trains = written or _trains(
            [nodes[i] for x, i in updates if isinstance(x, Tensor) and x.requires_grad], trace)
        self.records = any(self.flows) and not trains
        #: Whether gradients flow into what it changes.
        self.spills = "spilled" in trace.noticed or (not trains and any(
            nodes[i] in flowing and not _is_its_own(nodes[i], x) for x, i in updates))
        #: Where gradients leave the function; those of a view do at what it looks into.
        self.parameters = [x for x, leaf in trace.leaves.values()
                           if leaf.requires_grad and (x._view is None or is_leaf(x))]
        #: Those of them that only a value was given for, not their memory.
        self.lent = trace.lent
        self.parameters += trace.lent
        #: What else it reads without being given it, and could be changed.
        changed = set(map(id, self.changed))
        self.read = [x for x, leaf in trace.leaves.values()
                     if leaf.op is None and not leaf.requires_grad
                     and live_tensor(leaf) is not None and id(x) not in changed]
        self.unrecorded = not STATE.recording and bool(self.parameters)

    @cached_property
    def pull(self) -> Any:
        """The compiled derivative of this version."""
        return self.owner.companion(pullback_of(self))

    def _take_gradients(self, trace: Trace) -> None:
        """Decide which gradients leave the function: those that it made and did not use up.

        Those that depend on earlier ones do in any case: the next call depends on them.
        """
        self.kept: list[tuple[Tensor, Tensor]] = []
        self.consumed: list[Tensor] = []
        self.cleared: list[Tensor] = []
        records = trace.grads.values()
        self.expected = [(r.owner, r.before) for r in records if r.needs_before]
        #: Whether gradients arrive at what was computed before: they would have to flow on.
        self.passing = "passing" in trace.noticed or any(
            r.now is not None and not is_leaf(r.owner) for r in records)
        for record in records:
            if not record.written:
                continue
            if record.now is None:
                self.cleared.append(record.owner)
            elif record.used and not (self.owner.keep_grads or record.needs_before):
                self.consumed.append(record.owner)
            else:
                self.kept.append((record.owner, record.now))

    def _guards(self) -> list[Any]:
        from agnesi.runtime.entry import Guard

        guards = [Guard(owner, "_grad", CONSUMED) for owner in self.consumed]
        guards += [Guard(owner, "_grad", before) for owner, before in self.expected]
        guards += [Guard(x, "requires_grad", x.requires_grad) for x, *_ in self.state]
        guards.append(Guard(config, "float_dtype", config.float_dtype))
        guards.append(Guard(WITNESSES, "running", 0))
        return guards

    def _footprint(self, trace: Trace, updates: Sequence[Any]) -> Footprint:
        written = [t for t, _ in updates if isinstance(t, Tensor)]
        known = {id(t) for t in written}
        read = [x for x, _ in trace.leaves.values() if x._view is None and id(x) not in known]
        return Footprint(written, read, self.mutated)

    def tangled(self, leaves: Sequence[Any]) -> bool:
        """Whether memory that it writes overlaps other memory that it uses, or is not its own.

        The latter where a reshape of an argument is a copy because of how that lies in memory.
        """
        memory = {i: _memory(leaves[i]) for i in self.arrays if type(leaves[i]) is not float}
        if any(not memory[i].flags.c_contiguous for i in self.laid if i in memory):
            return True
        return self.footprint.tangled(
            {i: a for i, a in memory.items() if isinstance(a, np.ndarray)}
        )

    @property
    def direct(self) -> Any:
        """What the user's own calls can go to; None where Python has to prepare them."""
        native = self.compiled.direct
        return native if self.flat or native is None else self._call(native, self.owner.ask_others)

    @property
    def asked(self) -> Any:
        """The same, which answers ``MISSED`` to what it was not made for."""
        bound = self.compiled.bound
        native = None if bound is None or self.compiled.direct is None else bound.asked
        return native if self.flat or native is None else self._call(native, missed)

    def _call(self, native: Any, otherwise: Any) -> Any:
        """The native function for calls with containers."""
        known, call = self._callers.get(otherwise, (None, None))
        if known is not native:
            call = caller(self.argument_tree, self.statics, native, otherwise, self._told,
                          self.recording, self.unseen)
            self._callers[otherwise] = native, call
        return call

    def _told(self, text: Any, found: str) -> str:
        """An expression for the result, of what the native function gave."""
        if self.plain:
            return found
        if self.kept or self.cleared:
            return f"{text.name(self._finished)}({found})"
        numbers = count()
        leaves = [f"{found}[{next(numbers)}]" if isinstance(v, Tensor) else text.name(v)
                  for v in self.outputs]
        return str(text.built(self.tree, iter(leaves)))

    # -- results --------------------------------------------------------------------------
    def _plain_result(self) -> bool:
        """Whether the result is nothing, a tensor, or a tuple of tensors."""
        if not self.outputs:
            return self.tree.kind is type(None)
        if len(self.tensors) != len(self.outputs):
            return False
        children = self.tree.children
        return self.tree.kind is None or (
            self.tree.kind is tuple and all(c.kind is None for c in children)
        )

    def _result_kind(self) -> str:
        if not self.outputs:
            return "none"
        return "single" if self.tree.kind is None else "tuple"

    def _finished(self, found: Any) -> Any:
        """What the user gets from what the native function returned."""
        if self.plain:
            return found
        for (owner, _), grad in zip(self.kept, found[len(self.tensors):], strict=True):
            owner._grad = grad
        for owner in self.cleared:
            owner._grad = None
        tensors = iter(found)
        leaves = [next(tensors) if isinstance(v, Tensor) else v for v in self.outputs]
        return self.tree.build(leaves)

    # -- calls ----------------------------------------------------------------------------
    def valid(self) -> bool:
        """Whether what tracing found still holds."""
        return self._holds() and all(owner._grad is before for owner, before in self.expected)

    def changes(self) -> list[str]:
        """What the places that tracing read hold now, where that is something else."""
        return [p.change() for p in self.places if not p.holds()]

    def outdated(self) -> bool:
        """Whether it would hold if gradients that it adds to were the tensors that they were."""
        return self._holds() and all(
            isinstance(owner._grad, Tensor) and isinstance(before, Tensor)
            for owner, before in self.expected
        )

    def adopts(self) -> bool:
        """Whether it works on gradients that are other tensors now: from now on it does.

        Theirs must be memory of their own, as that of those before was.
        """
        pairs = [(before, owner._grad) for owner, before in self.expected]
        swap = {id(a): b for a, b in pairs if a is not b}
        if not self._holds() or not all(
            a is b or (swap[id(a)] is b and _alike(a, b)) for a, b in pairs
        ):
            return False
        known = [*(x for x, *_ in self.state), *(owner for owner, _ in self.expected)]
        others = {id(t.data) for t in known}
        if len({id(b.data) for b in swap.values()} - others) < len(swap):
            return False
        self.expected = [(owner, owner._grad) for owner, _ in self.expected]
        self.state = [(swap.get(id(x), x), *rest) for x, *rest in self.state]
        self.footprint.adopt(swap)
        self.compiled.adopt(swap)
        return True

    def changes_record(self, leaves: Sequence[Any]) -> bool:
        """Whether it changes what gradients flow through, so that Python has to record it."""
        if self.pure or not STATE.recording:
            return False
        places = self.mutated if self.records else range(len(leaves))
        return self.spills or any(_requires_grad(leaves[i]) for i in places)

    def _holds(self) -> bool:
        """Whether state has the types that it had, and settings their values."""
        if any(x.shape != s or x.dtype != d or x.requires_grad != r for x, s, d, r in self.state):
            return False
        if not all(p.holds() for p in self.places):
            return False
        self.watch()
        return True

    def watch(self) -> None:
        """Let native code compare what the places hold now."""
        self.watched.fill(r for p in self.places for r in p.records())

    def __call__(self, leaves: Sequence[Any]) -> Any:
        """Run on the leaves of the arguments, whatever their memory looks like."""
        for owner in self.consumed:
            owner._grad = CONSUMED
        self.compiled.follow()
        values: list[Any] = list(self.statics)
        for i in self.arrays:
            values[i] = _plain(leaves[i])
        if STATE.watch is not None:
            self.footprint.show([leaves[i] for i in self.mutated])
        before = as_they_are(self, leaves) if self.records else None
        found = self.compiled.run(*values)
        if before is not None:
            recorded(self, *before, (found,) if isinstance(found, Tensor) else found)
        result = self._finished(found)
        for i in self.mutated:
            original = _memory(leaves[i])
            if original is not values[i]:
                np.copyto(original, values[i])
            if isinstance(leaves[i], Tensor):
                touch(leaves[i])
        return result


def _alike(before: Any, now: Any) -> bool:
    """Whether a gradient is a tensor like another, in memory that is nobody else's."""
    if not isinstance(before, Tensor) or not isinstance(now, Tensor):
        return False
    return all(
        t.data is not None and not isinstance(t.data.base, np.ndarray) and t._view is None
        and t.node is None and not t.requires_grad and t.data.flags.writeable
        for t in (before, now)
    ) and (before.shape, before.dtype, before.data.strides) == (
        now.shape, now.dtype, now.data.strides)


def _flowing(results: Sequence[Any]) -> set[Any]:
    """Nodes that carry gradient from a leaf which asks for it.

    Others carry only what a derivative taken inside of the function asked for.
    """
    flowing: set[Any] = set()
    for node in toposort(results, lambda n: not n.requires_grad):
        if node.requires_grad and (_is_leaf(node) or any(n in flowing for n in node.inputs)):
            flowing.add(node)
    return flowing


def _is_leaf(node: Any) -> bool:
    """Whether gradients end there and are a tensor's with a value, or an argument's."""
    if node.op is not ALIAS or node.handle is None:
        return node.op is None
    return node.handle().data is not None


def _trains(parameters: Sequence[Any], trace: Trace) -> bool:
    """Whether new values of parameters come from gradients."""
    if not parameters or not (trace.gradients or "derived" in trace.noticed):
        return False
    return "derived" in trace.noticed or any(n in trace.gradients for n in toposort(parameters))


def _is_its_own(node: Any, x: Any) -> bool:
    """Whether a new value of ``x`` has the gradient of ``x``, which was changed unrecorded."""
    while node.op is STOP.put:
        node = node.inputs[0]
    begins = node.op is None or node.op is ALIAS
    return begins and node.handle is not None and node.handle() is x


def _closed(inputs: Sequence[Any], nodes: Sequence[Any], since: int) -> FunctionGraph:
    """The graph of a trace, whose nodes are numbered ``since`` some number."""
    try:
        graph = FunctionGraph(inputs, nodes, since=since)
        return graph if _has_sizes(graph) else graph.specialise()
    except MissingInputError as error:
        what = str(error).partition(", which")[0]
        raise TraceError(
            at(
                "a value from another trace was used: it was kept in a global, attribute or "
                "closure when an earlier jit-compiled call or the body of a loop ended. Return it, "
                f"or keep it in a tensor that is changed in place ({what})"
            )
        ) from None


def _has_sizes(graph: FunctionGraph) -> bool:
    """Whether nothing in a graph waits for a size."""
    nodes = (*graph.inputs, *graph.nodes)
    shapes = {n.shape for n in nodes}  # there are few, and many nodes
    shapes.update(shape for n in nodes if n.outputs for shape, _ in n.outputs)
    return all(map(is_static, shapes)) and all(
        _has_sizes(getattr(n.op, name).graph)
        for n in nodes if n.op is not None and n.op.bodies for name in n.op.bodies
    )


def _symbol(value: Any, i: int, shape: Any) -> Any:
    """What the function sees as an argument of some shape while it is traced."""
    if isinstance(value, (Tensor, np.ndarray, np.generic)):
        name = value.name if isinstance(value, Tensor) else None
        return stand_in(shape, dtypes.as_dtype(value.dtype), requires_grad=_requires_grad(value),
                        name=name or f"argument {i}")
    if type(value) is float:
        return stand_in((), dtypes.float64, weak=True, name=f"argument {i}")
    return value


def _argument(value: Any, shape: Any) -> Any:
    from agnesi.runtime.entry import Arg

    if isinstance(value, (Tensor, np.ndarray, np.generic)):
        return Arg("array", value.dtype.name, shape)
    if type(value) is float:
        return Arg("float")
    return Arg("identity", object=value)


def _requires_grad(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


def _memory(value: Any) -> Any:
    return value.data if isinstance(value, Tensor) else value


def _plain(value: Any) -> Any:
    """An argument as the native entry takes it: contiguous, aligned, native byte order."""
    if type(value) is float:
        return value
    array = np.asarray(_memory(value))
    if array.flags.carray and array.dtype.isnative:
        return array
    return np.require(array, array.dtype.newbyteorder("="), ["C", "A", "W"])


def _is_flat(tree: Tree) -> bool:
    """Whether all arguments are positional and none is a container."""
    positional, keywords = tree.children
    return not keywords.children and all(c.kind is None for c in positional.children)
