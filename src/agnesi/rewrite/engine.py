"""The engine: applies the rules of each stage until none fires.

One worklist, each node settled once, so time grows with the graph. Operations with a ``decompose``
rule are expanded in the same pass where no rule about the whole graph may apply
(``core/expansion.py``). One table merges nodes from stage to stage, so that a node that no stage
changes stays the same object and meets new rules only. A rule that gives a number where the
original has none (NaN, infinity) needs a proof (``rewrite/intervals.py``), unless
``algebra="real"`` (``docs/algebra.md``). Under ``fast_compile`` only canonicalization and what
saves memory run, in one pass over the replacements.
"""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from agnesi.core.expansion import Simpler, expanded, expanded_inside, inherit
from agnesi.core.graph import FunctionGraph, Interner, constant_value, frozen_leaf
from agnesi.core.ir.node import Node
from agnesi.core.op import Item
from agnesi.core.substitution import copied
from agnesi.core.support.config import switched
from agnesi.core.support.errors import at, warn
from agnesi.core.support.gc_pause import no_gc
from agnesi.core.support.policy import POLICIES
from agnesi.core.support.record import field, replace, struct
from agnesi.ops.control.body import Body
from agnesi.rewrite.pattern import CONSTANT, LEAF
from agnesi.rewrite.rules import STAGES, GraphRule, InsideRule, Rule

#: Stages and tags of rules.
PRESETS = {name: policy.stages for name, policy in POLICIES.items()}
#: Rules with this tag may change values beyond rounding and run only when included by name or tag.
UNSAFE = "unsafe"
_FIRINGS_PER_NODE = 30


@struct
class StageReport:
    """Counts of one stage: operations before and after, firings by rule, nodes visited.

    Parameters
    ----------
    stage : str
        Its name.
    before, after, visited : int
        Operations before and after, and nodes looked at.
    firings : Counter
        How often each rule fired.

    See Also
    --------
    rewrite.Report

    Examples
    --------
    >>> from agnesi import rewrite
    >>> rewrite.StageReport("canonicalize").before
    0
    """

    stage: str
    before: int = 0
    after: int = 0
    visited: int = 0
    firings: Counter[str] = field(default_factory=Counter)


@struct
class Report:
    """The stages of a rewrite with their counts, and rules that did not terminate.

    Parameters
    ----------
    stages : list of StageReport
        A report for each stage.
    endless : list of str
        Rules that led back to what they came from.

    See Also
    --------
    rewrite.StageReport, rewrite.rewrite

    Examples
    --------
    >>> from agnesi import rewrite
    >>> rewrite.Report().stages
    []
    """

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


class _Index:
    """An index of the rules by the operations at which they can fire, filled on demand."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self.rules = rules
        self._anywhere = [i for i, r in enumerate(rules) if not r.ops]
        self._by_op: dict[str, list[int]] = defaultdict(list)
        for i, rule in enumerate(rules):
            for name in dict.fromkeys(rule.ops):
                self._by_op[name].append(i)
        self._known: dict[tuple[str, ...], tuple[Rule, ...]] = {}

    def at(self, node: Node, leaves: dict[Node, str]) -> tuple[Rule, ...]:
        """Return the rules for a node, by the names of its and its operands' operations; ``leaves``
        has what stands for those of leaves, once they were met."""
        name = node.op.name
        if not self._anywhere and name not in self._by_op:
            return ()
        heads = (name, *[leaves.get(n) or _head(n, leaves) if n.op is None else n.op.name
                         for n in node.inputs])
        found = self._known.get(heads)
        if found is None:
            indices = sorted((*self._anywhere, *self._by_op.get(heads[0], ())))
            found = tuple([r for r in map(self.rules.__getitem__, indices) if r.may_fire(heads)])
            self._known[heads] = found
        return found


def _head(leaf: Node, known: dict[Node, str]) -> str:
    """Return the key by which rules look up a leaf operand, in place of the name of an operation,
    and record it in ``known``.
    """
    is_open = (leaf.value is None and leaf.handle is None) or constant_value(leaf) is None
    return known.setdefault(leaf, LEAF if is_open else CONSTANT)


_index = functools.lru_cache(maxsize=32)(_Index)


class Stage:
    """The rules in force in a stage: those of nodes, which of them are new, those of graphs."""

    def __init__(self, name: str, rules: Iterable[Rule], new: Iterable[Rule]) -> None:
        self.name = name
        self.of_graphs = [r for r in new if isinstance(r, GraphRule)]
        every = tuple([r for r in rules if not isinstance(r, GraphRule)])
        own = tuple([r for r in every if r.stage == name])
        self.every, self.own = _index(every), _index(own)

    def without(self, names: Sequence[str]) -> Stage:
        """Return the stage without the rules of these names."""
        if not names:
            return self
        left = [r for r in self.every.rules if r.name not in names]
        return Stage(self.name, left, self.of_graphs)

    def on_graph(self, graph: FunctionGraph) -> list[GraphRule]:
        """The rules of graphs that may do something to one: none does without its operations."""
        return [r for r in self.of_graphs if not r.ops or not graph.names.isdisjoint(r.ops)]


class Settler:
    """Brings nodes to the form in which no rule of a stage applies, operands first.

    A node is looked at when its operands are settled; if a rule fires, the node is as good as the
    settled replacement.  A rule that leads back to a node under way is not followed.  Nodes in
    ``known`` were settled by an earlier stage: only the rules of this one can do anything to them.
    One that ``expands`` puts operations that are defined by simpler ones into those; one that gets
    how ``bodies`` are settled does so in the same pass.
    """

    def __init__(self, stage: Stage, interner: Interner, report: StageReport,
                 known: AbstractSet[Node] = frozenset(), expands: bool = False,
                 bodies: _Bodies | None = None) -> None:
        self.stage = stage
        self.known = known
        self.expands = expands
        self.bodies = bodies
        self.simpler = Simpler(interner.known)
        #: By operation with several results: the nodes that its decomposition gives for them.
        self.parts: dict[Node, tuple[Node, ...]] = {}
        self.interner = interner
        self.report = report
        self.settled: dict[Node, Node] = {}
        self.became: dict[Node, Node] = {}
        self._leaves: dict[Node, str] = {}
        self._left = _FIRINGS_PER_NODE * (100 + report.before)
        self.stopped = False

    def settle(self, graph: FunctionGraph) -> tuple[Node, ...]:
        """Return the outputs of a graph, rewritten until no rule of the stage applies."""
        settled, known = self.settled, self.interner.known
        for node in graph.nodes:
            if node.op is None:
                settled.setdefault(node, node if node in known else self.interner.add(node))
            elif node not in settled:
                # Operands come first: most nodes are settled in one step.
                following = None if node in self.became else self._step(node, [])
                if following is node:
                    settled[node] = node
                else:
                    self._settle(node)
        return tuple([settled[n] for n in graph.outputs])

    def _settle(self, node: Node) -> None:
        """Rewrite a node and its operands until no rule applies; replacements are rewritten in
        turn.
        """
        settled, became = self.settled, self.became
        stack = [node]
        while stack:
            node = stack[-1]
            if node in settled:
                stack.pop()
                continue
            following = became.get(node) or self._step(node, stack)
            if following is node:
                settled[node] = node
                stack.pop()
            elif following in settled:
                settled[node] = settled[following]
                stack.pop()
            elif following is not None:
                stack.append(following)

    def _step(self, node: Node, stack: list[Node]) -> Node | None:
        """Return the next form of a node: the node itself if no rule applies to it, None if it
        waits for operands, which are put on the stack.
        """
        settled = self.settled
        try:
            inputs = tuple([settled[n] for n in node.inputs])
        except KeyError:
            waiting = [n for n in node.inputs if n not in settled]
            stack.extend([n for n in waiting if not self._circular(n)])
            return None
        if inputs == node.inputs and node in self.interner.known:
            one = node
        elif node.op is None:
            one = self.interner.add(frozen_leaf(node))
        elif self.bodies is not None:
            one = self.bodies.rebuilt(node, inputs)
        else:
            one = self.interner.rebuilt(node, inputs)
        if one is not node:
            self.became[node] = one
            if one in self.became:
                self._circular(one)
                return one
        self.report.visited += 1
        following = self.became[one] = one if one.op is None else self._fired(one)
        if one is node:
            return following
        if following is one:
            settled[one] = one
        return one

    def _circular(self, node: Node) -> bool:
        """Return whether rules led back to a node under way, which then stays as it is."""
        if node not in self.became or node in self.settled:
            return False
        self.settled[node] = node
        return True

    def _fired(self, node: Node) -> Node:
        """Return the expansion of a node, or its replacement by the first rule that fires, or the
        node itself.
        """
        if self.expands:
            simpler = self._simpler(node)
            if simpler is not node:
                return simpler
        rules = self.stage.own if node in self.known else self.stage.every
        for rule in rules.at(node, self._leaves):
            try:
                new = rule(node)
            except (LookupError, AttributeError, AssertionError) as error:
                raise RuntimeError(at(
                    f"the rewrite rule {rule.name!r} failed at {node.op.name}: "
                    f"{type(error).__name__}: {error}; exclude={[rule.name]} leaves it out"
                )) from error
            if new is None or new is node:
                continue
            if not self._left:
                self.stopped = True
                return node
            self._left -= 1
            inherit(new, node, self.interner.known)
            self.report.firings[rule.name] += 1
            return new
        return node

    def _simpler(self, node: Node) -> Node:
        """Return a node in simpler operations; the node itself if its operation is not defined by
        others.
        """
        op = node.op
        if type(op) is Item:
            parts = self.parts.get(node.inputs[0])
            return node if parts is None else parts[op.index]
        parts = self.simpler(node, node.inputs)
        if not parts:
            return expanded_inside(node) if op.bodies else node
        if op.outputs == 1:
            return parts[0]
        self.parts[node] = parts
        return node


def outside_traces() -> switched:
    """A block in which operations build plain graph nodes, whatever the thread is tracing."""
    return switched(trace=None, placing=False)


@functools.lru_cache(maxsize=32)
def chosen(rules: tuple[Rule, ...], stages: tuple[str, ...], include: tuple[str, ...],
           exclude: tuple[str, ...]) -> tuple[Rule, ...]:
    """Rules of the stages, and those included, without those excluded (by name, tag or stage)."""
    names = set(include)
    wanted = {*stages, *(names & set(STAGES))}
    names -= wanted
    return tuple([
        r for r in rules
        if not r.goes_by(exclude)
        and (r.goes_by(names) or (r.goes_by(wanted) and UNSAFE not in r.tags))
    ])


def run(graph: FunctionGraph, rules: Sequence[Rule], report: Report) -> FunctionGraph:
    """Settle a graph stage by stage; the canonical rules stay in force throughout.

    Operations that are defined by simpler ones are expanded behind the stabilize stage, whose
    rules look for them; its rules do not run on what comes out.  Without such rules the others run
    together, on expanded operations.  What expands a graph settles it, too, unless rules want to
    see all of it in between.
    """
    with outside_traces(), no_gc():
        return _Rewriting(rules).settled(graph, report)


class _Rewriting:
    """The rules by stage, for a graph and for those that its operations hold."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        rules = [r.with_inner(self.again) if isinstance(r, InsideRule) else r for r in rules]
        apart = any(r.stage == "stabilize" for r in rules)
        #: What a graph goes through, and what one goes through that was stabilised already: of what
        #: operations were expanded to, the rules would stabilise parts once more.
        self.stages = _stages(rules, STAGES[1:] if apart else STAGES[-1:])
        self.later = _stages(rules, STAGES[-1:]) if apart else self.stages
        #: Graphs inside to which nothing is to do, whichever operation holds them.
        self._fine: set[Body] = set()

    def settled(self, graph: FunctionGraph, report: Report, again: bool = False) -> FunctionGraph:
        """Return the graph rewritten by all stages; the graph itself if nothing changes."""
        interner = Interner()
        for node in graph.inputs:
            interner.add(node)
        bodies: _Bodies | None = _Bodies(interner, self.again if again else self.inside)
        known: AbstractSet[Node] = frozenset()
        for stage in self.later if again else self.stages:
            expands = stage.name == "specialize"
            idle = not stage.every.rules and not stage.of_graphs
            of_graphs = stage.on_graph(graph)
            if bodies is not None and (idle or of_graphs):  # no pass over the nodes that does it
                graph = bodies.graph(graph)
                bodies = None
            if expands and (idle or of_graphs):
                graph = expanded(graph, interner)
                expands = False
            if not idle:
                graph = _through(graph, stage, report, known, interner, expands, bodies)
                known = frozenset(graph.nodes)
                bodies = None
        return graph

    def inside(self, graph: FunctionGraph, again: bool = False) -> FunctionGraph:
        """Return the graph of a body rewritten by all stages."""
        body = Body(graph)
        if body in self._fine:
            return graph
        better = self.settled(graph, Report(), again)
        self._fine.add(body if better is graph else Body(better))
        return better

    def again(self, graph: FunctionGraph) -> FunctionGraph:
        """Return the graph of a body rewritten once more, by the later stages, after it was
        changed.
        """
        return self.inside(graph, True)


class _Bodies:
    """The operations of a graph with the graphs that they hold settled."""

    def __init__(self, interner: Interner, settled: Callable[[FunctionGraph], FunctionGraph]
                 ) -> None:
        self._interner = interner
        self._settled = settled
        self._ops: dict[Any, Any] = {}
        #: By identity, with the body itself: several operations may hold one.
        self._bodies: dict[int, tuple[Body, Body]] = {}

    def rebuilt(self, node: Node, inputs: tuple[Node, ...]) -> Node:
        """Return the unique node of an operation on ``inputs``, with the graphs that the operation
        holds rewritten.
        """
        op = node.op
        if op is None or not op.bodies:
            return self._interner.rebuilt(node, inputs)
        better = self._better(op)
        if better is not op or inputs != node.inputs:
            node = copied(node, inputs)
            node.op = better
        return self._interner.add(node)

    def _better(self, op: Any) -> Any:
        """Return an operation with the graphs that it holds rewritten; the operation itself if they
        do not change.
        """
        if op not in self._ops:
            bodies = {n: self._body(getattr(op, n)) for n in op.bodies}
            same = all([getattr(op, n) is body for n, body in bodies.items()])
            self._ops[op] = op if same else replace(op, **bodies)
        return self._ops[op]

    def _body(self, body: Body) -> Body:
        """Return a body with its graph rewritten; operations that share a body keep sharing it."""
        found = self._bodies.get(id(body))
        if found is None:
            found = self._bodies[id(body)] = body, body.mapped(self._settled)
        return found[1]

    def graph(self, graph: FunctionGraph) -> FunctionGraph:
        """Return the graph with the graphs inside its operations rewritten; its nodes are put into
        the interner.
        """
        done: dict[Node, Node] = {}
        for node in (*graph.inputs, *graph.nodes):
            if node not in done:
                done[node] = self.rebuilt(node, tuple([done[n] for n in node.inputs]))
        outputs = tuple([done[n] for n in graph.outputs])
        if outputs == graph.outputs:
            return graph
        return FunctionGraph.of(graph.inputs, outputs, [done[n] for n in graph.nodes])


def _stages(rules: Sequence[Rule], names: Sequence[str]) -> list[Stage]:
    """The stages of these names; each has the canonical rules, too."""
    made: list[Stage] = []
    for name in names:
        active = [r for r in rules if r.stage in ("canonicalize", name)]
        new = active if not made else [r for r in active if r.stage == name]
        made.append(Stage(name, active if new else (), new))
    return made


def _through(graph: FunctionGraph, stage: Stage, report: Report, known: AbstractSet[Node],
             interner: Interner, expands: bool, bodies: _Bodies | None) -> FunctionGraph:
    """Rewrite a graph by the rules of a stage until none applies; a rule that keeps firing is
    reported, and the stage runs again without it.
    """
    before = len(graph)
    firings: Counter[str] = Counter()
    for rule in stage.on_graph(graph):
        made = rule.on_graph(graph)
        if made is not graph:
            firings[rule.name] += 1
            graph = made.merged(interner)
    while True:
        did = StageReport(stage.name, before, firings=firings.copy())
        settler = Settler(stage.without(report.endless), interner, did, known, expands, bodies)
        outputs = settler.settle(graph)
        if not settler.stopped:
            better = graph if outputs == graph.outputs else FunctionGraph.of(graph.inputs, outputs)
            did.after = len(better)
            report.stages.append(did)
            return better
        culprit = did.firings.most_common(1)[0][0]
        report.endless.append(culprit)
        warn(f"rewrite rule {culprit!r} does not come to an end and is left out")
