"""Where gradients flow in one specialization, and which of them its calls leave somewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agnesi.autodiff.recording import is_leaf
from agnesi.compiler.specialization.invalidation import Retiring
from agnesi.compiler.specialization.recorded import pullback_of, spent, without_gradient
from agnesi.compiler.tracing import closing
from agnesi.compiler.tracing.arguments.arrived import Arrived
from agnesi.compiler.tracing.leaves import requires_grad
from agnesi.compiler.tracing.trace import Trace
from agnesi.core.support.cached_attributes import cached_property
from agnesi.core.support.config import STATE
from agnesi.core.tensor import Tensor
from agnesi.ops.sparse.words import dense


class Flows(Retiring):
    """A base of specializations: what is known of their gradients."""

    owner: Any
    effects: Any
    assumed: Any
    tensors: list[Any]
    arrays: list[int]
    mutated: list[int]

    def take_flows(self, nodes: Sequence[Any], returned: int, updates: Any, trace: Trace,
                   symbols: Sequence[Any]) -> None:
        """Record which results carry gradients when the call is recorded.

        Results of a training step, which took its gradients itself, carry none: differentiating
        them is an error (``core/storage/consumed_results.py``).
        """
        thawed = trace.thawed_at(symbols)
        order = closing.carrying(nodes)
        reached = closing.flowing(order, thawed)
        #: Whether gradients arrive at arguments as only the function itself leaves them there.
        self.reached = trace.left.reached
        written = trace.left.reached or bool(self.arrived) or any(
            r.written for r in trace.grads.values())
        self.pure = not updates and not written and not self.effects
        #: Tensors that it changes without being given them.
        self.changed = [x for x, _ in updates if isinstance(x, Tensor)]
        taught = (written and trace.derives) or closing.trains(
            [nodes[i] for x, i in updates if isinstance(x, Tensor) and x._requires_grad], trace)
        if not taught:
            trace.refuse_thawed()
        self.flows = [n in reached and not taught for n in nodes[: len(self.tensors)]]
        #: Results that require gradients only by leaves made inside; whether each is such a leaf.
        self.begun = closing.begun_results(nodes, len(self.tensors), self.flows, order, thawed)
        self.records = any(self.flows) or bool(self.begun)
        changes = closing.flow_into_changed(nodes, reached, updates, taught)
        first = len(self.tensors) + len(self.kept) + len(self.arrived.gradients)
        #: Whether gradients flow to what it puts into objects and containers.
        puts = not taught and any(
            n in reached for n in nodes[first:first + len(self.effects.tensors)])
        #: Whether gradients flow into what it changes.
        self.spills = "spilled" in trace.noticed or (
            self.records and (bool(self.effects) or written or "acted" in trace.noticed)) or (
            changes and not taught) or puts
        #: Whether a step that took gradients itself leaves something that others flow through.
        self.leaves_record = (taught or written) and (closing.leaves_gradients(trace) or (
            changes if taught else closing.flow_into_changed(nodes, reached, updates, True)))
        #: Where gradients may leave the function, those of them that only a value was given for,
        #: and where some do; what else it reads without being given it, and could be changed.
        self.borrowed = trace.borrowed
        left = closing.flowing(closing.carrying(nodes[:returned]), thawed)
        self.parameters, self.ends, self.read = closing.leaving(trace, left, self.changed)
        #: The arguments that gradients arrive at.
        self.fed = [*closing.fed(trace, symbols, left), *(
            i for n, i in thawed.items() if n in left)]
        #: What of that gradients of each result arrive at, where there are several.
        self.links: list[list[int]] = []
        if self.records and len(self.tensors) > 1:
            inputs = {id(x): n for n, x in trace.arguments.items()}
            self.links = closing.links(nodes[: len(self.tensors)], left,
                                       [inputs[id(symbols[i])] for i in self.fed], self.ends)
        #: The results that no gradient flows through any more, by index, and whether it would flow
        #: to arguments, of which each call has others; or did not flow there yet.
        self.spent, self.joins = spent(
            self, [n if taught and n in reached else None for n in nodes[:returned]],
            trace.arguments.keys() | thawed.keys())
        self.open = self.joins and not (self.parameters and self.arrived.takes(self.fed))
        self.unrecorded = not STATE.recording and bool(self.parameters or trace.begun)

    @cached_property
    def pull(self) -> Any:
        """The compiled derivative of this version."""
        return self.owner.companion(pullback_of(self))

    def take_gradients(self, trace: Trace, symbols: Sequence[Any]) -> None:
        """Decide which gradients the function returns: those that it computed and did not consume.

        Gradients that depend on those of earlier calls are always returned, because the next call
        needs them.
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
                self.kept.append((record.owner, dense(record.now)))
        self.arrived = Arrived(trace, symbols)

    def changes_record(self, leaves: Sequence[Any]) -> bool:
        """Return whether it changes what gradients flow through, so that Python has to record
        it."""
        if self.pure or not STATE.recording:
            return False
        indices = range(len(leaves)) if self.leaves_record else self.mutated
        return self.spills or any(requires_grad(leaves[i]) for i in indices)

    def bare(self) -> Mapping[int, Any]:
        """Return, by position, conversions of arguments that require gradients to ones that native
        code accepts.

        Empty unless the function takes those gradients itself.
        """
        if self.records or self.spills or self.leaves_record or self.passing or self.open:
            return {}
        given = enumerate(self.assumed.requiring)
        return {i: without_gradient for i, r in given if r and i not in self.mutated}
