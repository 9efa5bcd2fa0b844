"""Graphs in stable forms before they are differentiated; see ``autodiff/stable.py``."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

from agnesi.core.graph import FunctionGraph, Interner
from agnesi.core.ir.node import Node
from agnesi.core.support.gc_pause import no_gc
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.compare import isnan
from agnesi.ops.base.convert import cast
from agnesi.ops.base.select import where
from agnesi.ops.control.excerpt import Excerpt
from agnesi.rewrite import library
from agnesi.rewrite.engine import Settler, Stage, StageReport, chosen
from agnesi.rewrite.rules import STAGES, NodeRule, Rule

#: Rules whose forms have derivatives where what was written has no value, and those that mend
#: derivatives as they stand, of which their own forms would be long.
_LATER = ("log_of_sqrt", "over_one_denominator", "cancelled_terms", "log_near_one",
          "factors_over_roots", "logs_of_ratios", "difference_of_exponentials",
          "difference_of_powers", "difference_of_cubes", "logs_over_a_step",
          "quotients_over_a_step", "rest_of_share", "exp_of_log_or_nan", "exp_of_multiple_of_log",
          "exp_of_log1p_or_nan", "expm1_of_log1p_or_nan", "expm1_of_log_or_nan",
          "one_monomial_is_left", "angles_over_a_step", "area_over_a_step",
          "difference_in_tail", "difference_of_halves", "common_factor",
          "root_beside", "conjugate_of_root", "difference_of_squares", "log_of_beta",
          "log_of_odds")


#: Rules by which a value without bounds is what a function and its inverse leave.
_INVERSES = frozenset(("log_of_exp", "log2_of_exp2", "log1p_of_expm1"))
#: Canonical rules that derivatives gain by.
_GAINING = _INVERSES | {"exp_of_log"}


def _beside_nan(rule: Rule) -> NodeRule:
    """Return a rule that makes the slope of its replacement NaN where the operand is NaN."""

    def form(node: Node) -> Tensor | None:
        new = rule(node)
        if new is None:
            return None
        operand = symbol(node.inputs[0].inputs[0])
        return symbol(new) * cast(where(isnan(operand), math.nan, 1.0), new.dtype)

    return NodeRule(rule.name, rule.stage, rule.tags, rule.ops, form)


@functools.cache
def _stage(exclude: tuple[str, ...], files: tuple[str, ...] | None) -> Stage:
    """The canonical and stabilizing rules that hold for all numbers, or those of some files."""
    early = STAGES[:2]
    rules = [_beside_nan(r) if r.name in _INVERSES else r.exactly()
             for r in chosen(library.built_in(early, files), early, (), (*exclude, *_LATER))]
    return Stage("stabilize", rules, rules)


def stable(part: Excerpt, exclude: tuple[str, ...], files: Sequence[str] | None = None
           ) -> tuple[tuple[Node, ...] | None, list[str]]:
    """Return stable forms of the outputs of a graph, and the files of the rules that fired; None
    and an empty list if derivatives gain nothing.

    With only the rules of these ``files``, an equal graph gets the same forms.
    """
    with no_gc():
        graph = FunctionGraph.of([], part.outputs)
        report = StageReport("stabilize", len(part.nodes))
        stage = _stage(exclude, None if files is None else tuple(files))
        settled = Settler(stage, Interner(), report).settle(graph)
        fired = [r for r in stage.every.rules if r.name in report.firings]
        if not any(r.stage == "stabilize" or r.name in _GAINING for r in fired):
            return None, []
        return settled, library.files_of([r.name for r in fired])
