"""One specialization of a jitted function: traced for a signature, compiled, and called."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from contextvars import copy_context
from itertools import count
from types import MappingProxyType
from typing import Any

import numpy as np

from agnesi.compiler.binding.aliasing import are_alike, footprint
from agnesi.compiler.binding.call_adapter import MISSED, caller, is_flat, missed
from agnesi.compiler.binding.new_memory import NewMemory
from agnesi.compiler.compilation.compiled import Compiled
from agnesi.compiler.compilation.pipeline import check_writeable
from agnesi.compiler.specialization.dynamic_sizes import (
    Pattern,
    check,
    in_shapes,
    named_in,
    shapes_of,
    sizes_of,
)
from agnesi.compiler.specialization.gradient_flows import Flows
from agnesi.compiler.specialization.precomputed_sizes import Computed, SizeQueries, SizeWanted
from agnesi.compiler.specialization.present_sizes import SharedSizes, at_present
from agnesi.compiler.specialization.recorded import (
    as_they_are,
    join,
    recorded,
)
from agnesi.compiler.tracing import closing
from agnesi.compiler.tracing.arguments import attributes
from agnesi.compiler.tracing.arguments.facts import assumed, containers, known_facts
from agnesi.compiler.tracing.arguments.numpy_numbers import NUMBERS
from agnesi.compiler.tracing.arguments.texts import Text, calling, static_of
from agnesi.compiler.tracing.containers.nests import Part, StandIns, together
from agnesi.compiler.tracing.dead_checks import with_dead_checks
from agnesi.compiler.tracing.decisions import Decision, Decisions, OtherWayError
from agnesi.compiler.tracing.effects import Arguments, Effects, Hidden, refuse_symbols, undone
from agnesi.compiler.tracing.hooks import taking
from agnesi.compiler.tracing.leaves import argument_of, memory_of, plain, symbol_of
from agnesi.compiler.tracing.numbers import Number
from agnesi.compiler.tracing.obstacles import LookedAtError, note_failure
from agnesi.compiler.tracing.process.foreign_generators import refuse_draws, states, undone_draws
from agnesi.compiler.tracing.process.settings_left import refuse_settings, restored, settings
from agnesi.compiler.tracing.reads import Reads
from agnesi.compiler.tracing.sources import Source
from agnesi.compiler.tracing.trace import Trace, tracing
from agnesi.core.dispatch import current, touch
from agnesi.core.graph import FunctionGraph, live_tensor
from agnesi.core.ir.extents import Extent, UnknownSizeError
from agnesi.core.ir.node import next_serial
from agnesi.core.storage.views import element_view
from agnesi.core.support.cached_attributes import cached_property
from agnesi.core.support.config import STATE, WITNESSES, config
from agnesi.core.support.errors import call_user
from agnesi.core.support.gc_pause import no_gc
from agnesi.core.support.tree import Tree
from agnesi.core.tensor import CONSUMED, Tensor
from agnesi.runtime.guards import Watched
from agnesi.runtime.support import still_seen

#: Most nesting levels of containers that a direct native call flattens and rebuilds.
_MAX_NESTED_CONTAINERS = 20
_NONE: Mapping[Any, Source] = MappingProxyType({})


class Version(Flows):
    """A function for one signature; calling it with the leaves of the arguments runs it.

    :ivar flat: Whether the native function takes the user's arguments and gives the user's result
        as they are, without any Python.
    """

    @no_gc()
    def __init__(self, owner: Any, leaves: Sequence[Any], tree: Tree,
                 hidden: Mapping[Any, Source] = _NONE, dynamic: Collection[int] = (),
                 pattern: Pattern | None = None, computed: Sequence[Computed] = (),
                 left: Collection[Sequence[Decision]] = ()) -> None:
        start = time.perf_counter()
        shapes: Any = shapes_of(leaves)
        shapes = shapes if pattern is None else in_shapes(pattern, shapes)
        self.owner, self.argument_tree = owner, tree
        self.recording, self.autocast, since = STATE.recording, STATE.autocast, next_serial()
        given = [(v, n, i >= tree.leaves or i in dynamic)
                 for i, (v, n) in enumerate(zip(leaves, shapes, strict=True))]
        symbols = [symbol_of(v, i, *how) for i, (v, *how) in enumerate(given)]
        #: Sources (globals, attributes, entries) whose values are passed after the arguments.
        self.hidden = hidden
        self.arrays = [i for i, s in enumerate(symbols) if isinstance(s, Tensor)]
        self.statics = list(map(static_of, symbols))
        inputs = [symbols[i].node for i in self.arrays]
        trace = Trace((s for s in symbols if isinstance(s, Tensor)), owner.name)
        trace.exclude, trace.shared_sizes = owner.settings.unstable, SharedSizes()
        trace.facts = known_facts(leaves, symbols)
        #: Functions that compute data-dependent sizes, which are passed after all other arguments.
        self.computed = tuple(computed)
        arguments = [argument_of(*kind) for kind in given]
        trace.precomputed = SizeQueries(arguments, symbols, inputs, computed, pattern is None)
        trace.decisions = self._decisions(inputs, leaves, pattern)
        with trace.precomputed.found(owner, pattern):
            nodes, reads, token = self._traced(trace, symbols, pattern is not None)
        self.assumed = assumed(trace, reads, leaves[: tree.leaves + len(hidden)], tree,
                               owner.versions.queries, bool(self.effects))
        if pattern is not None and not trace.precomputed.all_queried:
            raise UnknownSizeError("not all sizes are needed where they change from call to call")
        #: What Python decided by values, in order.
        self.decisions = tuple(trace.decisions.made)
        if self.decisions in left:
            trace.uncount()
            raise OtherWayError
        returned = len(nodes)
        updates = self._updates(nodes, trace, symbols, inputs)
        self.take_flows(nodes, returned, updates, trace, symbols)
        self._take_sources(reads, trace, nodes)
        reads.release()
        decisive = trace.decisive([symbols[i] for i in self.arrays])
        self.laid = [i for i, d in zip(self.arrays, decisive, strict=True) if d]
        trace.uncount()
        self.plain = self._plain_result()
        self.flat = self.plain and is_flat(tree, self.statics) and not (
            self.records or self.unseen or self.hidden or computed or self.assumed
            or trace.depends_on_recording(self, reads))
        self.footprint = footprint(trace, updates, self.mutated)
        graph = self._settled(closing.closed(
            inputs, with_dead_checks(trace, nodes, token), since, at_present), pattern is not None)
        self.seconds = time.perf_counter() - start
        self.compiled: Compiled = Compiled(
            arguments, graph, returned, updates, self._result_kind() if self.plain else "tuple",
            [True] * returned, settings=owner.settings, name=owner.name, guards=self._guards(),
            watched=self.watched, slow=owner.ask_others if self.flat else missed, nodes=self.spent,
        )
        self._add_state(self.compiled.live)
        self._callers: dict[Any, tuple[Any, Any]] = {}
        self._locks: tuple[Any, Any] | None = None

    def _updates(self, nodes: list[Any], trace: Trace, symbols: Sequence[Any],
                 inputs: Sequence[Any]) -> list[Any]:
        """Return the tensors that are changed in place, each with the position of its new value in
        ``nodes``.
        """
        updates: list[Any] = []
        for x, _, node in trace.changed():
            updates.append((x, len(nodes)))
            nodes.append(node)
        self.mutated: list[int] = []
        #: Whether it changes arguments without axes, which may be elements of other tensors.
        self.changes_numbers = False
        for k, i in enumerate(self.arrays):
            if symbols[i].node is not inputs[k]:
                updates.append((k, len(nodes)))
                nodes.append(symbols[i].node)
                self.mutated.append(i)
                self.changes_numbers |= not symbols[i].shape
        return updates

    def _new_values(self) -> list[Any]:
        """The new values of ``mutated``, as nodes of the user's graph."""
        found = zip(self.compiled.updates, self.compiled.new_values(), strict=True)
        return [node for (t, _), node in found if isinstance(t, int)]

    def _decisions(self, inputs: Sequence[Any], leaves: Sequence[Any],
                   pattern: Pattern | None) -> Decisions:
        """Return the recorder of Python's decisions, which knows the values of the present call."""
        known = {n: np.asarray(memory_of(leaves[i]), n.dtype)
                 for n, i in zip(inputs, self.arrays, strict=True)}
        sizes = {} if pattern is None else named_in(pattern, sizes_of(shapes_of(leaves)))
        numbers = [n for n, i in zip(inputs, self.arrays, strict=True)
                   if type(leaves[i]) is int
                   or (i >= self.argument_tree.leaves and type(leaves[i]) is float)]
        return Decisions(known, sizes, numbers, self.owner.versions.deferral)

    def _traced(self, trace: Trace, symbols: Sequence[Any], open_sizes: bool
                ) -> tuple[list[Any], Reads, Any]:
        """Trace; return the results, the recorded reads, and a token that exists only if Python
        decides the same again.
        """
        with tracing(trace), trace.caught.begun(sys._getframe().f_code, open_sizes):
            try:  # in a context of its own, by which changes of context variables are undone
                reads = copy_context().run(self._run, symbols)
            except LookedAtError as error:
                if type(error) is not LookedAtError or error.indices or not open_sizes:
                    raise
                raise UnknownSizeError("Python decides by a number that sizes give") from None
            trace.refuse_flags()
            #: Whether it registers hooks on gradients of what it computes.
            self.hears = any(hooks for _, hooks in trace.hooks)
            trace.caught.refuse(open_sizes)
            attributes.refuse(trace, reads, symbols, (*self.tensors, *self.effects.tensors))
            self.renewed = NewMemory(trace, symbols)
            self.take_gradients(trace, symbols)
            return [current(t) for t in (
                *self.tensors, *(g for _, g in self.kept), *self.arrived.gradients,
                *self.effects.tensors,
                *self.renewed.written)], reads, (
                    trace.decisions.token())

    def _settled(self, graph: FunctionGraph, open_sizes: bool) -> FunctionGraph:
        """Return the graph; with open sizes, raise if shape inference contradicts it for other
        ones, or if a size is returned or stored as a number.
        """
        if open_sizes:
            check(graph)
            for value in (*self.outputs, *self.effects.sizes):
                if isinstance(value, Extent):
                    raise UnknownSizeError(f"the size {value} is returned or kept as a number")
        return graph

    def _run(self, symbols: Sequence[Any]) -> Reads:
        """Run the function on symbols; its side effects are recorded and undone."""
        reads = self._reads(symbols)
        given, stand_ins = Arguments(self, symbols, reads), StandIns(self.hidden.values())
        behind = symbols[self.argument_tree.leaves:][:len(self.hidden)]
        hidden = [Hidden(p, s) for p, s in zip(self.hidden.values(), behind, strict=True)
                  if isinstance(s, Tensor)]
        reads.varying = [h.source for h in hidden]
        drawn, known = states(), settings()
        try:
            with taking(reads):
                self._meet(reads, symbols, stand_ins)
                returned = calling(self.owner.function, given.nest, symbols, call_user)
                self.outputs, self.tree = given.objects.results(returned, reads.knows)
            self.outputs = list(map(reads.parts.borrowed.array_of, self.outputs))
            reads.settle()
            refuse_symbols(reads, stand_ins.changed())
            self.effects = Effects(reads, hidden, given)
            self.effects.refuse_new(self.outputs, self.tree, reads)
            self.effects.refuse_shared(containers(self.tree, returned), reads, stand_ins)
            self.effects.undo()
        except BaseException as error:
            if isinstance(error, SizeWanted):  # what the function changes is another one each time
                error.sources = reads.unchanged()
            changed = (any([h.is_written() for h in hidden]) | undone(reads)) or given.is_changed()
            undone_draws(drawn)
            restored(known)
            note_failure(error, self.owner.versions, symbols, changed)
            reads.release(failed=True)
            raise
        finally:
            for h in reversed(hidden):  # two may be the same source by other names
                h.undo()
        refuse_draws(drawn)
        refuse_settings(known)
        self.tensors = [v for v in self.outputs if isinstance(v, Tensor)]
        #: How results that are numbers of Python's, or NumPy's among the arguments, are read.
        self.numbers = {id(v): NUMBERS[type(v)] for v in self.tensors if type(v) in NUMBERS}
        return reads

    def _reads(self, symbols: Sequence[Any]) -> Reads:
        """Return the recorder of reads, without sources whose values are arguments."""
        behind = symbols[self.argument_tree.leaves:][:len(self.hidden)]
        known = {k for k, s in zip(self.hidden, behind, strict=True) if isinstance(s, Tensor)}
        parts = [k for k, p in self.hidden.items() if isinstance(p, Part)]
        wholes = {k[0] for k in parts} - {k[0] for k in parts if k not in known}
        return Reads(known | wholes, self.owner.versions.deferral, Text in map(type, symbols))

    def _meet(self, reads: Reads, arguments: Sequence[Any], stand_ins: StandIns) -> None:
        """Record the function, its arguments and everything that is reachable from them."""
        for container in stand_ins.containers():
            reads.pass_over(container)
        given = zip(arguments, self.argument_tree.paths("arguments"), strict=False)
        for value, path in (*stand_ins.kept(), (self.owner.function, self.owner.name), *given):
            if type(value) is not Text:
                reads.meet(value, path)
        for kind in {t.kind for t in self.argument_tree.walk() if t.kind is not None}:
            reads.meet(kind, kind.__name__)

    def _take_sources(self, reads: Reads, trace: Trace, nodes: Sequence[Any]) -> None:
        """Store the guards of this specialization: what the function read, and the types of its
        state.
        """
        self.sources_by_key = reads.sources
        self.sources = [*reads.guards([x for x, _ in trace.leaves.values()]),
                        *trace.shared_sizes.guards(nodes)]
        #: Those that native code cannot compare.
        self.unseen = [p for p in self.sources if p.counts and not list(p.records())]
        self.watched = Watched()
        self.watched_at = ctypes.addressof(self.watched)
        self.watch()
        self.retire_with_hooks(trace.unheard)
        # A number of Python's stays what it is.
        self.state = [(x, shape, x.dtype, x._requires_grad) for x, leaf in trace.leaves.values()
                      if (shape := x.shape) or x.node is None or live_tensor(leaf) is not None]

    def _add_state(self, tensors: Sequence[Tensor]) -> None:
        """Store the types of those that are not known as state."""
        known = {id(t) for t, *_ in self.state}
        self.state += [(t, t.shape, t.dtype, t._requires_grad) for t in tensors
                       if id(t) not in known]

    def _guards(self) -> list[Any]:
        from agnesi.runtime.entry import Guard

        guards = [Guard(owner, "_grad", CONSUMED) for owner in self.consumed]
        guards += [Guard(owner, "_grad", before) for owner, before in self.expected]
        guards += [Guard(x, "_requires_grad", x._requires_grad) for x, *_ in self.state]
        guards.append(Guard(config, "_float_dtype", config.float_dtype))
        # within a region of ``amp.autocast``, Python finds the version; native code knows of none
        guards.append(Guard(WITNESSES, "running", 0 if self.autocast is None else -1))
        return guards

    def tangled(self, leaves: Sequence[Any]) -> bool:
        """Return whether native code cannot take the arguments: memory that it writes overlaps
        other memory that it uses, is an element's, whose writes are those of what it was taken
        from, or is not row-major where a reshape needs a view.
        """
        if self.assumed.breaks(leaves) or any(
                isinstance(leaves[i], Tensor) and element_view(leaves[i]) is not None
                for i in self.mutated):
            return True
        memory = {i: memory_of(leaves[i]) for i in self.arrays
                  if type(leaves[i]) not in (float, int)}
        if any(not memory[i].flags.c_contiguous for i in self.laid if i in memory):
            return True
        return self.footprint.tangled(
            {i: a for i, a in memory.items() if isinstance(a, np.ndarray)}
        )

    def shares(self, given: Any) -> bool:
        """Return whether a container of the arguments that is changed, or whose identity matters,
        is passed twice or is also reachable in another way.
        """
        return bool(self.effects or self.assumed) and self.assumed.shares(given)

    @property
    def direct(self) -> Any:
        """The callable that the user's calls can go to, or None where Python has to prepare them.
        """
        deep = max(self.argument_tree.depth, self.tree.depth) > _MAX_NESTED_CONTAINERS
        indirect = (deep or self.records or self.effects.arguments or self.renewed
                    or self.changes_numbers)
        native = None if indirect else self.compiled.direct
        return native if self.flat or native is None else self._call(native, self.owner.ask_others)

    @cached_property
    def noted(self) -> bool:
        """Whether native code can be called directly, and the call be recorded for gradients
        afterwards.
        """
        return self.records and self.plain and is_flat(self.argument_tree, self.statics) and not (
            self.laid or self.unseen or self.hidden or self.computed or self.assumed or self.mutated
            or self.begun or self.spills or self.passing or self.consumed or self.expected)

    @property
    def attempt(self) -> Any:
        """``direct`` that returns ``MISSED`` for arguments that it was not made for."""
        bound = self.compiled.bound
        native = None if bound is None or self.direct is None else bound.attempt
        return native if self.flat or native is None else self._call(native, missed)

    def _call(self, native: Any, otherwise: Any) -> Any:
        """The native function for calls with containers."""
        known, call = self._callers.get(otherwise, (None, None))
        if known is not native:
            call = caller(self.argument_tree, self.statics, native, otherwise,
                          self._result_expression, self.recording, self.unseen,
                          together(self.hidden.values()), self.locks, self.computed,
                          self.assumed,
                          self.assumed.written(self.effects.sources()), self.bare())
            self._callers[otherwise] = native, call
        return call

    @property
    def locks(self) -> Any:
        """The locks of the sources that are written, or None where Python's lock suffices."""
        bound, sources = self.compiled.bound, self.effects.sources()
        if bound is None or not self.compiled.recipe.long or not sources:
            return None
        if self._locks is None or self._locks[0] is not bound:
            from agnesi.runtime.state_locks import StateLocks, memory_owner

            states = ((memory_owner(s.array), s.written) for s in bound.states)
            self._locks = bound, StateLocks([*((p.holder, True) for p in sources), *states])
        return self._locks[1]

    def _result_expression(self, text: Any, found: str) -> str:
        """Return the Python expression that builds the result from what native code returned
        (``found``).
        """
        if self.plain and not self.joins:
            return found
        if self.kept or self.cleared or self.arrived or self.joins or (
                self.effects or self.effects.said):
            keeps = self.effects.keeps or self.arrived or self.joins
            given = "".join(f"{leaf}, " for leaf in text.given if keeps)
            return f"{text.name(self._finished)}({found}, None, ({given}))"
        numbers = count()
        leaves = [f"{found}[{next(numbers)}]{self.numbers.get(id(v), '')}"
                  if isinstance(v, Tensor) else text.name(v) for v in self.outputs]
        return str(text.built(self.tree, iter(leaves)))

    def way(self) -> str:
        """Python's decisions in this specialization, as text."""
        return "; ".join(f"{d} gave {d.value}" for d in self.decisions)

    # -- results --------------------------------------------------------------------------
    def _plain_result(self) -> bool:
        """Return whether the result is None, a tensor, or a tuple of tensors, and the call has no
        other effect.
        """
        if self.effects or self.effects.said or self.numbers or (
                self.kept or self.cleared or self.arrived or self.renewed):
            return False
        if not self.outputs:
            return self.tree.kind is type(None)
        if len(self.tensors) != len(self.outputs):
            return False
        children = self.tree.children
        return self.tree.kind is None or (
            self.tree.kind is tuple and all(c.kind is None for c in children)
        )

    def _result_kind(self) -> str:
        one = "single" if self.tree.kind is None else "tuple"
        return one if self.outputs else "none"

    def _finished(self, found: Any, given: Any = None, leaves: Sequence[Any] = ()) -> Any:
        """Return the user's result, built from what native code returned; side effects are applied
        to ``given``, the arguments, and to ``leaves``.
        """
        if self.joins and leaves:
            join(self, found, leaves)
        if self.plain:
            return found
        behind = found[len(self.tensors):]
        for (owner, _), grad in zip(self.kept, behind, strict=False):
            owner._grad = grad
        behind = behind[len(self.kept):]
        if self.arrived:
            self.arrived.leave(behind, leaves)
        if self.effects or self.effects.said:
            self.effects.write(behind[len(self.arrived.gradients):], given, leaves)
        for owner in self.cleared:
            owner._grad = None
        tensors = iter(found)
        results = [next(tensors) if isinstance(v, Tensor) else v for v in self.outputs]
        if self.numbers:
            results = [a.array.item() if type(v) is Number else a.array[()] if id(v) in self.numbers
                       else a for a, v in zip(results, self.outputs, strict=True)]
        return self.tree.build(results)

    # -- calls ----------------------------------------------------------------------------
    def valid(self) -> bool:
        """Return whether what tracing found still holds."""
        return self._holds() and all(owner._grad is before for owner, before in self.expected)

    def outdated(self) -> bool:
        """Return whether the only reason that this specialization does not serve is that gradients
        to which it adds are other tensors now.
        """
        return self._holds() and all(
            isinstance(owner._grad, Tensor) and isinstance(before, Tensor)
            for owner, before in self.expected
        )

    def adopts(self) -> bool:
        """Switch to the present gradient tensors if those that the code adds to have been replaced;
        return whether that was possible.

        The new ones must be equal in shape, dtype and strides, in memory of their own.
        """
        pairs = [(before, owner._grad) for owner, before in self.expected]
        swap = {id(a): b for a, b in pairs if a is not b}
        if not self._holds() or not all(
            a is b or (swap[id(a)] is b and are_alike(a, b)) for a, b in pairs
        ):
            return False
        known = [*(x for x, *_ in self.state), *(owner for owner, _ in self.expected)]
        if len({id(b.array) for b in swap.values()} - {id(t.array) for t in known}) < len(swap):
            return False
        self.expected = [(owner, owner._grad) for owner, _ in self.expected]
        self.state = [(swap.get(id(x), x), *rest) for x, *rest in self.state]
        self.footprint.adopt(swap)
        self.compiled.adopt(swap)
        return True

    def _holds(self) -> bool:
        """Return whether state has the types, and sources have the values, for which the code was
        made.
        """
        if any(x.shape != s or x.dtype != d or x._requires_grad != r for x, s, d, r in self.state):
            return False
        if still_seen()(self.watched_at):
            return all(p.holds() for p in self.blind)
        return all(p.holds() for p in self.sources) and self.watch()

    def watch(self) -> bool:
        """Make native guards compare with the present values of the sources.

        :returns: False if a source can no longer be compared natively, and callers do not compare
            it either.
        """
        records = [(p, list(p.records())) for p in self.sources]
        #: Sources of which native code sees nothing.
        self.blind = [p for p, found in records if not found]
        unseen = {id(p) for p in self.unseen}
        if any(p.counts and id(p) not in unseen for p in self.blind):
            return False
        self.watched.fill(r for _, found in records for r in found)
        return True

    def _present(self, leaves: Sequence[Any]) -> Sequence[Any]:
        """Return the leaves with the present values of hidden arguments, if these have the same
        types.
        """
        count, now = self.argument_tree.leaves, [p.now() for p in self.hidden.values()]
        same = all(type(a) is type(b) for a, b in zip(now, leaves[count:], strict=False))
        return [*leaves[:count], *now, *leaves[count + len(now):]] if same else leaves

    def __call__(self, leaves: Sequence[Any], given: Any = None) -> Any:
        """Run on the leaves of the arguments ``given``, whatever their layout.

        Returns ``MISSED`` if another thread has changed meanwhile what the guards compared, or if
        Python would decide otherwise for these values.
        """
        old = self.renewed.prepare(leaves)
        check_writeable([leaves[i] for i in self.mutated], self._new_values)
        self.compiled.follow()
        if STATE.watch is not None:
            self.footprint.show([leaves[i] for i in self.mutated])
        own = leaves[: self.argument_tree.leaves + len(self.hidden)]
        before = as_they_are(self, own) if self.records else None
        values: list[Any] = list(self.statics)
        locks = self.locks
        with nullcontext() if locks is None else locks.again():
            if not self.valid():
                return MISSED
            leaves = self._present(leaves)
            for i in self.arrays:
                values[i] = plain(leaves[i])
            found = self.compiled.run(*values)
            if found is MISSED:  # Python would decide otherwise; nothing was changed
                return MISSED
            if before is not None:
                results = (found,) if isinstance(found, Tensor) else found[: len(self.tensors)]
                recorded(self, *before, results)
            for owner in self.consumed:
                owner._grad = CONSUMED
            self.renewed.finish(old, found)
            result = self._finished(found, given, leaves)
        for i in self.mutated:
            original = memory_of(leaves[i])
            if original is not values[i]:
                np.copyto(original, values[i])
            if isinstance(leaves[i], Tensor):
                touch(leaves[i])
        return result
