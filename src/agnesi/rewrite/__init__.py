"""Graph rewriting: a closed graph becomes an equal one that is cheaper and more stable.

In: a closed graph (``core/graph.py``), and a preset or names of rules. Out: another graph with
inputs and outputs of the same types, and counts of the rules that fired, for reports.

- ``engine.py`` applies rules, stage by stage; ``library.py`` is the list of their files, in the
  order of trial; ``rules.py`` has the kinds of rules, ``pattern.py`` the patterns of some.
- ``algebra/``: rules for values of elements; ``arrays/``: for whole arrays; ``control/``: for loops
  and branches. ``outlining.py`` finds equal segments of long graphs, before all rules, by
  ``repeats.py`` where they come in no order.
- ``intervals.py`` proves bounds of values; ``checked.py`` checks what users' rules give, and
  ``trial.py`` tries patterns and functions on drawn values before they are registered.

What must hold: where the original is finite, the replacement is equal up to rounding; it gives a
number for NaN or infinity only where neither can occur, or with ``algebra="real"``
(``docs/algebra.md``). Effects and checks stay, in their order.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from agnesi.core.dispatch import graph_node
from agnesi.core.graph import FunctionGraph
from agnesi.core.ir.node import Node
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.errors import at, shown
from agnesi.core.tensor import Tensor, symbol
from agnesi.rewrite import library
from agnesi.rewrite.checked import check_types, graph_checked, node_checked, starts
from agnesi.rewrite.engine import PRESETS, UNSAFE, Report, StageReport, chosen, run
from agnesi.rewrite.pattern import variables
from agnesi.rewrite.rules import (
    STAGES,
    GraphRule,
    NodeRule,
    PatternRule,
    Rule,
    pattern_rule,
)

__all__ = [
    "PRESETS", "STAGES", "FunctionGraph", "GraphRule", "NodeRule", "PatternRule", "Report", "Rule",
    "StageReport", "custom_rules", "forget_rule", "node_of", "pattern_rule", "rewrite",
    "rewrite_rule", "rules", "tensor_of", "variables",
]

#: Rules that lose NaN and infinity.
_REAL = ("times_zero", "minus_itself")

custom_rules = library.custom_rules
rules = library.rules


def rewrite(graph: FunctionGraph, preset: str | None = "fast_run", include: Iterable[str] = (),
            exclude: Iterable[str] = (), report: Report | None = None,
            algebra: str = "real") -> FunctionGraph:
    """A better graph of the same function.

    :param graph: The graph; it stays as it is.
    :param preset: All stages, canonicalize and what saves memory, or none; operations defined by
        others are expanded in any case.
    :type preset: {"fast_run", "fast_compile", "None"}
    :param include, exclude: Names, tags or stages of rules to add to, and to leave out of, what the
        preset has.
    :param report: Takes down what each stage did.
    :param algebra: Whether a rule may give a number where the graph as written has NaN, as ``x /
        x`` at 0: never, or wherever real numbers have the identity.
    :type algebra: {"exact", "real"}
    :returns: Of the same inputs; outputs have the same types.
    :raises ValueError: If there is no such preset, or no rule of a name.
    :see: rewrite.rules, rewrite.rewrite_rule, function

    >>> from agnesi import rewrite, symbolic as T
    >>> x = T.vector("x")
    >>> graph = rewrite.FunctionGraph([rewrite.node_of(x)], [rewrite.node_of(x * 1)])
    >>> rewrite.rewrite(graph).outputs[0] in graph.inputs
    True
    """
    preset = "None" if preset is None else preset
    if preset not in PRESETS:
        raise ValueError(f"the preset must be one of {tuple(PRESETS)}, not {shown(preset)}")
    include, exclude = tuple(include), tuple(exclude)
    check_names((*include, *exclude))
    known = library.rules() if include or exclude else library.rules(PRESETS[preset])
    report = Report() if report is None else report
    if algebra == "real":
        include = (*include, *_REAL)
    rules = chosen(tuple(known), PRESETS[preset], include, exclude)
    if algebra == "exact":
        rules = tuple([r.exactly() for r in rules])
    return run(graph, rules, report)


def check_names(names: Sequence[str]) -> None:
    """Refuse names that no rule, tag or stage has.

    :raises ValueError: If there is one.
    """
    if not names:
        return
    known = library.rules()
    for name in names:
        if not any(r.goes_by((name,)) for r in known):
            suggestion = _alike(name, known)
            raise ValueError(at(f"no rewrite rule has the name or tag {name!r}{suggestion}"))


def _alike(name: str, known: Iterable[Rule]) -> str:
    """Return the names of known rules that begin like a mistyped one."""
    names = {n for r in known for n in (r.name, r.stage, *r.tags)}
    found = sorted(n for n in names if n.startswith(name[:4]))[:3]
    return f"; did you mean {' or '.join(map(repr, found))}?" if found else ""


def rewrite_rule(pattern: Tensor | None = None, replacement: Tensor | None = None, *,
                 name: str = "", stage: str = "canonicalize",
                 when: Callable[..., bool] | None = None,
                 ops: Iterable[Any] = (), tags: Sequence[str] = (), position: str = "last",
                 whole_graph: bool = False) -> Any:
    """Register a rewrite rule of one's own.

    With a pattern and a replacement it is a row; without, a decorator for a function that takes a
    node and returns its replacement (a node, a tensor or a number) or None, or, with
    ``whole_graph``, takes a :class:`FunctionGraph` and returns one of the same inputs or None.
    Replacements must keep dtype and shape; only a number may stand for an array filled with it.

    :param pattern, replacement: Expressions over :func:`variables`.
    :type pattern, replacement: Tensor, optional
    :param name: Name of the rule; a function's own name by default.
    :param stage: When it runs.
    :type stage: {"canonicalize", "stabilize", "specialize"}
    :param when: Takes the matched nodes by variable name and returns whether the rule applies.
    :param ops: Operations (or their public functions, or names) at which a function rule starts.
    :type ops: iterable, optional
    :param tags: Groups by which the rule can be switched.
    :param position: Where among the rules of its stage it is tried.
    :type position: {"last", "first"}
    :param whole_graph: Whether the function takes whole graphs.
    :returns: The rule of a pattern, else a decorator.
    :rtype: Rule or callable
    :raises ValueError: If there is such a rule already, it has no name or no replacement, or
        replaces by what the pattern lacks; if one of ``ops`` names no operation; if values at which
        a pattern, or a function of elementwise operations, is tried change, unless a tag is
        "unsafe". What a rule raises there is raised, with its name.
    :raises TypeError: If one of ``ops`` is a function that makes operations of other names,
        ``tags`` is a string, or a replacement is none.
    :raises ShapeError: If the replacement cannot have the shape of the pattern.
    :raises DTypeError: If the replacement cannot have the dtype of the pattern.
    :see: rewrite.variables, rewrite.forget_rule, testing.check_rule

    >>> import agnesi as ag
    >>> from agnesi.rewrite import forget_rule, rewrite_rule, variables
    >>> x = variables("x")
    >>> rule = rewrite_rule(ag.sin(x) * ag.sin(x) + ag.cos(x) * ag.cos(x), 1, name="circle")
    >>> forget_rule("circle")
    """
    if isinstance(tags, str):
        raise TypeError(at(f"rewrite_rule takes tags in a list: write tags=[{tags!r}]"))
    if pattern is not None:
        if not name or replacement is None:
            wanted = "replacement, second" if replacement is None else "name, name=..."
            raise ValueError(at(f"rewrite_rule: a pattern needs a {wanted}"))
        if callable(replacement):
            raise TypeError(at(
                f"rule {name!r}: the replacement is an expression of the pattern's variables or a "
                "number, not a function; one that computes it goes without a pattern: "
                "@rewrite_rule(ops=[...])"
            ))
        made = pattern_rule(pattern, replacement, name=name, stage=stage, when=when, tags=tags)
        check_types(name, pattern, replacement)
        library.check_new(made, position)
        if UNSAFE not in tags:
            importlib.import_module("agnesi.rewrite.trial").check_values(made)
        return library.register(made, position)

    def register(function: Any) -> Any:
        title = name or function.__name__
        made = starts(ops)
        kind: Any = GraphRule if whole_graph else NodeRule
        run: Any = (graph_checked if whole_graph else node_checked)(title, function)
        rule = kind(title, stage, tuple(tags), made, run)
        library.check_new(rule, position)
        if not whole_graph and UNSAFE not in tags:
            importlib.import_module("agnesi.rewrite.trial").check_function(rule)
        library.register(rule, position)
        return function

    return register


def tensor_of(node: Node) -> Tensor:
    """A node of a graph as a tensor, for public functions to be used on it in a rule.

    :param node: A node of the graph.
    :returns: Symbolic.
    :see: rewrite.node_of

    >>> import agnesi as ag
    >>> from agnesi.rewrite import forget_rule, node_of, rewrite_rule, tensor_of
    >>> @rewrite_rule(ops=[ag.square])
    ... def squared_root(node):
    ...     (x,) = node.inputs
    ...     if x.op_name == "sqrt":
    ...         return ag.abs(tensor_of(x.inputs[0]))
    >>> forget_rule("squared_root")
    """
    return symbol(node)


def node_of(x: Tensor) -> Node:
    """The node of a tensor in the graph that a rule works on: the way back from tensor_of.

    :param x: A tensor of the graph.
    :returns: Its node.
    :see: rewrite.tensor_of

    >>> import agnesi as ag
    >>> from agnesi import symbolic as T
    >>> ag.rewrite.node_of(ag.exp(T.vector("x"))).op
    exp
    """
    return graph_node(x)


def forget_rule(name: str) -> None:
    """Remove a user's rule.

    :param name: Name of the rule.
    :raises ValueError: If there is none of this name.
    :see: rewrite.rewrite_rule

    >>> from agnesi import rewrite
    >>> x = rewrite.variables("x")
    >>> rule = rewrite.rewrite_rule(x + x, x * 2, name="doubled")
    >>> rewrite.forget_rule("doubled")
    >>> "doubled" in [r.name for r in rewrite.rules()]
    False
    """
    library.forget(name)


_strictly(__name__)
