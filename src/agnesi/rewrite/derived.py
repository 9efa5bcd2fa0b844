"""Graphs in stable forms before they are differentiated; see ``autodiff/stable.py``."""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Sequence

from agnesi.core.graph import FunctionGraph, Interner, constant_value
from agnesi.core.ir.node import Node, toposort
from agnesi.core.substitution import copied
from agnesi.core.support.gc_pause import no_gc
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.compare import isnan
from agnesi.ops.base.convert import cast
from agnesi.ops.base.select import where
from agnesi.rewrite import library
from agnesi.rewrite.engine import Settler, Stage, StageReport, chosen, outside_traces
from agnesi.rewrite.rules import STAGES, NodeRule, Rule

#: Rules whose forms have derivatives where what was written has no value, and those that mend
#: derivatives as they stand, of which their own forms would be long.
_LATER = ("log_of_sqrt", "over_one_denominator", "cancelled_terms", "log_near_one",
          "factors_over_roots")


#: Rules by which a value without bounds is what a function and its inverse leave.
_INVERSES = frozenset(("log_of_exp", "log2_of_exp2", "log1p_of_expm1"))


def _beside_nan(rule: Rule) -> NodeRule:
    """The rule, whose form has the slope NaN where its operand is NaN."""

    def form(node: Node) -> Tensor | None:
        new = rule(node)
        if new is None:
            return None
        operand = symbol(node.inputs[0].inputs[0])
        return symbol(new) * cast(where(isnan(operand), math.nan, 1.0), new.dtype)

    return NodeRule(rule.name, rule.stage, rule.tags, rule.ops, form)


@functools.cache
def _stage(exclude: tuple[str, ...]) -> Stage:
    """The canonical and stabilizing rules that hold for all numbers."""
    early = STAGES[:2]
    rules = [_beside_nan(r) if r.name in _INVERSES else r.exactly()
             for r in chosen(library.built_in(early), early, (), (*exclude, *_LATER))]
    return Stage("stabilize", rules, rules)


@functools.cache
def _stabilizing() -> frozenset[str]:
    """Names of the rules that derivatives gain by."""
    return frozenset(r.name for r in library.built_in(STAGES[:2])
                     if r.stage == "stabilize" or r.name in _INVERSES | {"exp_of_log"})


def stable(roots: Sequence[Node], ends: Collection[Node], since: int,
           exclude: tuple[str, ...]) -> dict[Node, Node]:
    """Stable forms of roots, where there are others, over the same ``ends``.

    What gradients do not flow through though they reach it stays as it is, and so do nodes
    numbered below ``since``.
    """
    with outside_traces(), no_gc():
        copies = _Copies(roots, ends, since)
        outputs = [copies.of[n] for n in roots]
        graph = FunctionGraph.of([], outputs)
        report = StageReport("stabilize", len(copies.of))
        settled = Settler(_stage(exclude), Interner(), report).settle(graph)
        if not _stabilizing() & report.firings.keys():
            return {}
        found = copies.back(settled)
    return {old: new for old, new in zip(roots, found, strict=True) if old is not new}


class _Copies:
    """A graph of its own, in which leaves stand for what is not to be looked into."""

    def __init__(self, roots: Sequence[Node], ends: Collection[Node], since: int) -> None:
        self.of: dict[Node, Node] = {}
        self.origin: dict[Node, Node] = {}
        #: Whether gradients reach a node.
        reached: dict[Node, bool] = {}
        for node in toposort(roots, lambda n: n in ends):
            inside = node not in ends and node.op is not None
            stopped = inside and not node.requires_grad and any(reached[n] for n in node.inputs)
            reached[node] = node.requires_grad or node in ends
            if inside and node.serial >= since and not stopped:
                inputs = tuple([self.of[n] for n in node.inputs])
                new = copied(node, inputs)
            elif node.op is None and not reached[node] and constant_value(node) is not None:
                new = node
            else:
                new = Node(None, (), node.shape, node.dtype, node.weak, node.requires_grad,
                           node.where, name=node.name)
                new.outputs = node.outputs
            self.of[node] = new
            self.origin.setdefault(new, node)

    def back(self, outputs: Sequence[Node]) -> list[Node]:
        """The nodes of another such graph, over what the leaves stand for."""
        done: dict[Node, Node] = {}
        for node in toposort(outputs):
            old = self.origin.get(node)
            inputs = tuple([done[n] for n in node.inputs])
            if old is not None and (node.op is None or inputs == old.inputs):
                done[node] = old
                continue
            if node.op is None:
                done[node] = node
                continue
            new = done[node] = copied(node, inputs)
            new.requires_grad = node.op.differentiable and any(n.requires_grad for n in inputs) \
                and (node.op.outputs > 1 or node.dtype.kind in "fcV")
        return [done[n] for n in outputs]
