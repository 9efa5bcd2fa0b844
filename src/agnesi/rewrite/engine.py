"""The engine: one worklist, each node settled once, so time grows with the graph's size."""

from __future__ import annotations

import functools
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from typing import Any

from agnesi.core.config import STATE
from agnesi.core.graph import FunctionGraph, Interner, copied, inherit, no_gc
from agnesi.core.node import Node
from agnesi.core.record import field, replace, struct
from agnesi.rewrite.rules import STAGES, GraphRule, InsideRule, Rule

#: Stages and tags of rules.  Those tagged "memory" save whole values, and little time to find.
PRESETS: dict[str, tuple[str, ...]] = {
    "None": (),
    "fast_compile": ("canonicalize", "memory"),
    "fast_run": STAGES,
}
#: Rules with this tag may change values beyond rounding and run only when included by name or tag.
UNSAFE = "unsafe"
_FIRINGS_PER_NODE = 30


@struct
class StageReport:
    """What a stage did: operations before and after, firings by rule, nodes looked at."""

    stage: str
    before: int = 0
    after: int = 0
    visited: int = 0
    firings: Counter[str] = field(default_factory=Counter)


@struct
class Report:
    """What the rewriting of a graph did, stage by stage, and rules that would not end."""

    stages: list[StageReport] = field(default_factory=list)
    endless: list[str] = field(default_factory=list)

    @property
    def firings(self) -> Counter[str]:
        """Firings by rule, over all stages."""
        return sum((s.firings for s in self.stages), Counter())

    def __str__(self) -> str:
        lines = []
        for s in self.stages:
            lines.append(f"{s.stage}: {s.before} -> {s.after} operations")
            lines += [f"  {name} x{n}" for name, n in s.firings.most_common()]
        return "\n".join(lines)


@functools.lru_cache(maxsize=32)
def _index(rules: tuple[Rule, ...]) -> dict[tuple[str, ...], tuple[Rule, ...]]:
    """A place for which of the rules may fire where, filled as operations are met."""
    return {}


class Settler:
    """Brings nodes to the form in which no rule of a stage applies, operands first.

    A node is looked at when its operands are settled; if a rule fires, the node is as good as the
    settled replacement.  A rule that leads back to a node under way is not followed.  Nodes in
    ``known`` were settled by an earlier stage: only the rules of this one can do anything to them.
    """

    def __init__(self, rules: Sequence[Rule], interner: Interner, report: StageReport,
                 known: AbstractSet[Node] = frozenset()) -> None:
        own = tuple([r for r in rules if r.stage == report.stage])
        self.known = known
        self._every, self._own = ((r, _index(r)) for r in (tuple(rules), own))
        self.interner = interner
        self.report = report
        self.settled: dict[Node, Node] = {}
        self.became: dict[Node, Node] = {}
        self._left = 0
        self.stopped = False

    def settle(self, outputs: Iterable[Node]) -> tuple[Node, ...]:
        """The settled forms of nodes."""
        roots = tuple(outputs)
        self._left = _FIRINGS_PER_NODE * (100 + self.report.before)
        settled, became = self.settled, self.became
        stack = list(reversed(roots))
        while stack:
            node = stack[-1]
            if node in settled:
                stack.pop()
                continue
            following = became.get(node)
            if following is None:
                following = self._step(node, stack)
                if following is None:
                    continue
            if following in settled:
                settled[node] = settled[following]
            else:
                stack.append(following)
        return tuple(settled[n] for n in roots)

    def _step(self, node: Node, stack: list[Node]) -> Node | None:
        """What a node becomes next; None if it waits for its operands, or is settled."""
        settled = self.settled
        try:
            inputs = tuple([settled[n] for n in node.inputs])
        except KeyError:
            waiting = [n for n in node.inputs if n not in settled]
            stack.extend(n for n in waiting if not self._circular(n))
            return None
        one = self.interner.rebuilt(node, inputs)
        if one is not node:
            self._circular(one)
            self.became[node] = one
            return one
        self.report.visited += 1
        new = self._fired(node)
        if new is None:
            settled[node] = node
            return None
        self.became[node] = new
        return new

    def _circular(self, node: Node) -> bool:
        """Whether rules led back to a node under way, which then stays as it is."""
        if node not in self.became or node in self.settled:
            return False
        self.settled[node] = node
        return True

    def _fired(self, node: Node) -> Node | None:
        if node.op is None:
            return None
        for rule in self._candidates(node):
            new = rule(node)
            if new is None or new is node:
                continue
            if not self._left:
                self.stopped = True
                return None
            self._left -= 1
            if new not in self.interner:
                inherit(new, node, self.interner)
            self.report.firings[rule.name] += 1
            return new
        return None


    def _candidates(self, node: Node) -> tuple[Rule, ...]:
        """Rules that may fire at a node, by the names of its operation and of its operands'."""
        rules, known = self._own if node in self.known else self._every
        heads = (node.op.name, *[n.op.name if n.op is not None else "" for n in node.inputs])
        found = known.get(heads)
        if found is None:
            found = known[heads] = tuple([r for r in rules if r.may_fire(heads)])
        return found


@contextmanager
def outside_traces() -> Iterator[None]:
    """Operations build plain graph nodes within this block, whatever the thread is tracing."""
    before, STATE.trace, STATE.placing = (STATE.trace, STATE.placing), None, False
    try:
        yield
    finally:
        STATE.trace, STATE.placing = before


def chosen(rules: Iterable[Rule], stages: Sequence[str], include: Iterable[str],
           exclude: Iterable[str]) -> list[Rule]:
    """Rules of the stages, and those included, without those excluded (by name, tag or stage)."""
    names, without = set(include), tuple(exclude)
    wanted = {*stages, *(names & set(STAGES))}
    names -= wanted
    return [
        r for r in rules
        if not r.goes_by(without)
        and (r.goes_by(names) or (r.goes_by(wanted) and UNSAFE not in r.tags))
    ]


def run(graph: FunctionGraph, rules: Sequence[Rule], report: Report) -> FunctionGraph:
    """Settle a graph stage by stage; the canonical rules stay in force throughout.

    Operations that are defined by simpler ones are expanded behind the stabilize stage, whose
    rules look for them; its rules do not run on what comes out.  Without such rules the others run
    together, on expanded operations.
    """
    def inner(body: FunctionGraph) -> FunctionGraph:
        return run(body, rules, Report())

    rules = [r.with_inner(inner) if isinstance(r, InsideRule) else r for r in rules]
    with outside_traces(), no_gc():
        graph = bodies_settled(graph, inner)
        known: AbstractSet[Node] = frozenset()
        apart = any(r.stage == "stabilize" for r in rules)
        for stage in STAGES if apart else STAGES[-1:]:
            if stage == "specialize":
                graph = graph.expand()
            active = [r for r in rules if r.stage in ("canonicalize", stage)]
            new = [r for r in active if r.stage == stage] if apart else active
            if new:
                graph = _stage(graph, stage, active, new, report, known)
                known = frozenset(graph.nodes)
    return graph


def bodies_settled(graph: FunctionGraph,
                   inner: Callable[[FunctionGraph], FunctionGraph]) -> FunctionGraph:
    """The graph with the graphs that its operations hold settled."""
    if not any(n.op is not None and n.op.bodies for n in graph.nodes):
        return graph
    interner = Interner()
    done: dict[Node, Node] = {n: interner.add(n) for n in graph.inputs}
    settled: dict[Any, Any] = {}
    for node in graph.nodes:
        if node in done:
            continue
        op = node.op
        new = interner.rebuilt(node, tuple([done[n] for n in node.inputs]))
        if op is not None and op.bodies:
            if op not in settled:
                bodies = {name: getattr(op, name).mapped(inner) for name in op.bodies}
                settled[op] = replace(op, **bodies)
            new = copied(new, new.inputs)
            new.op = settled[op]
            new = interner.add(new)
        done[node] = new
    return FunctionGraph.of(graph.inputs, [done[n] for n in graph.outputs])


def _stage(graph: FunctionGraph, stage: str, rules: Sequence[Rule], new: Sequence[Rule],
           report: Report, known: AbstractSet[Node]) -> FunctionGraph:
    """A graph settled by ``rules``, of which ``new`` were not in force before."""
    before = len(graph)
    globals_ = [r for r in new if isinstance(r, GraphRule)]
    local = [r for r in rules if not isinstance(r, GraphRule)]
    firings: Counter[str] = Counter()
    for rule in globals_:
        made = rule.on_graph(graph)
        if made is not graph:
            firings[rule.name] += 1
            graph = made
    while True:
        did = StageReport(stage, before, firings=firings.copy())
        active = [r for r in local if r.name not in report.endless]
        better = _settled(graph, active, did, known)
        if better is not None:
            report.stages.append(did)
            return better
        culprit = did.firings.most_common(1)[0][0]
        report.endless.append(culprit)
        warnings.warn(
            f"rewrite rule {culprit!r} does not come to an end and is left out", stacklevel=5
        )


def _settled(graph: FunctionGraph, rules: Sequence[Rule], did: StageReport,
             known: AbstractSet[Node]) -> FunctionGraph | None:
    """The graph in its settled form; None if the rules do not come to an end."""
    interner = Interner()
    inputs = tuple(interner.add(n) for n in graph.inputs)
    settler = Settler(rules, interner, did, known)
    outputs = settler.settle(graph.outputs)
    if settler.stopped:
        return None
    better = FunctionGraph.of(inputs, outputs)
    did.after = len(better)
    return better
