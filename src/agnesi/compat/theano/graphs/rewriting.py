"""Rewrites of one's own as Theano's programs write them: functions of a node, and patterns.

They run before agnesi's rules of their stage, in every function that is compiled from then on.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from agnesi.compat.theano import tensor
from agnesi.compat.theano.node_ops import OpOfGraph, name_of
from agnesi.compat.theano.tensor.creation import as_tensor_variable
from agnesi.compat.theano.types import Apply, applied, variable_of
from agnesi.compat.theano.variable import bare, floats
from agnesi.core.dispatch import current
from agnesi.core.graph import FunctionGraph, constant_value, live_tensor
from agnesi.core.ir.node import toposort
from agnesi.core.op import typed
from agnesi.core.support.errors import at
from agnesi.ops.base.convert import as_tensor
from agnesi.rewrite import NodeRule, forget_rule, library, rewrite
from agnesi.rewrite.checked import node_checked, starts

#: The stages, by what Theano calls the databases of them.
_STAGES = {"canonicalize": "canonicalize", "stabilize": "stabilize", "specialize": "specialize",
           "uncanonicalize": "specialize"}
#: Before this position of ``optdb`` rules are those of the canonical form.
_CANONICAL_BEFORE = 1


class LocalOptimizer:
    """A rule for one node.

    :param function: Takes a node (PyTensor's: the graph, and a node); returns variables for its
        outputs, or False or None where it changes nothing.
    :param tracks: What makes the operations that it is for, such as ``T.exp``, or Ops; all, if
        None.
    :type tracks: sequence of callable, optional
    """

    def __init__(self, function: Callable[..., Any], tracks: Sequence[Any] | None = None,
                 name: str = "") -> None:
        self.function, self.name = function, name or getattr(function, "__name__", "rule")
        self._tracks = tracks
        self._takes_graph = len(inspect.signature(function).parameters) > 1
        self.__name__, self.__doc__ = self.name, function.__doc__

    def tracks(self) -> Sequence[Any] | None:
        """What it is for."""
        return self._tracks

    def transform(self, *given: Any) -> Any:
        """What the function returns for a node, which comes last."""
        graph = given[0] if len(given) > 1 else None
        return self.function(graph, given[-1]) if self._takes_graph else self.function(given[-1])

    __call__ = transform

    def register(self, stage: str, name: str = "") -> None:
        """Let it run in functions that are compiled from now on."""
        ops = [] if self._tracks is None else [_started_by(t) for t in self._tracks]
        title = name or self.name  # not tried before, which Theano does not do either
        library.register(NodeRule(title, stage, (), starts(() if None in ops else ops),
                                  node_checked(title, self._on_node)), "first")

    def _on_node(self, node: Any) -> Any:
        """The node's replacement, for agnesi's rules."""
        apply_node = applied(node)
        if self._tracks is not None and not any(_made_by(apply_node.op, t) for t in self._tracks):
            return None
        with floats():
            found = self.transform(apply_node)
        if found is None or found is False:
            return None
        if isinstance(found, dict):
            found = [found.get(apply_node.outputs[0])]
        if not isinstance(found, (list, tuple)) or len(found) != 1:
            raise TypeError(at(f"{self.name} returned {typed(found)}: a rule returns a list with a "
                               "variable for the node's output, or False"))
        new = as_tensor(bare(as_tensor_variable(found[0])))
        return None if new.node is node else new


def _made_by(op: Any, track: Any) -> bool:
    """Whether an operation is one that a rule is for."""
    return isinstance(op, track) if isinstance(track, type) else bool(op == track)


def _started_by(track: Any) -> str | None:
    """The name of the operations at which a rule starts; None for classes and Ops of the user's."""
    if isinstance(track, type) or hasattr(track, "make_node"):
        return None
    found: str | None = track.op.name if isinstance(track, OpOfGraph) else name_of(track)
    if found is None:
        raise TypeError(at(f"{typed(track)} does not make one operation, so no rule can start at "
                           "it; local_optimizer(None) looks at all"))
    return found


def local_optimizer(tracks: Sequence[Any] | None, inplace: bool = False,
                    requirements: Sequence[Any] = (), **ignored: Any) -> Callable[..., Any]:
    """A decorator that makes a rule of a function of a node."""
    if tracks is not None and not isinstance(tracks, (list, tuple, set)):
        raise TypeError(at(f"local_optimizer takes a list of what makes operations, not "
                           f"{typed(tracks)}: local_optimizer([T.exp])"))
    return lambda function: LocalOptimizer(function, None if tracks is None else list(tracks))


class PatternSub(LocalOptimizer):
    """A rule in tuples: ``PatternSub((T.exp, (T.log, "x")), "x")``.

    :param in_pattern, out_pattern: A function and patterns of its operands; texts stand for any
        variable, numbers for themselves.
    :type in_pattern: tuple
    """

    def __init__(self, in_pattern: Any, out_pattern: Any, allow_multiple_clients: bool = False,
                 name: str = "", **ignored: Any) -> None:
        self.in_pattern, self.out_pattern = in_pattern, out_pattern
        title = name or f"{_text(in_pattern)} -> {_text(out_pattern)}"
        super().__init__(self._replaced, [in_pattern[0]], title)

    def _replaced(self, node: Apply) -> Any:
        found: dict[str, Any] = {}
        if not _fits(self.in_pattern, node.outputs[0], found):
            return False
        return [_built(self.out_pattern, found)]


def _text(pattern: Any) -> str:
    """A pattern as its rule's name."""
    if isinstance(pattern, tuple):
        name = getattr(pattern[0], "__name__", str(pattern[0]))
        return f"{name}({', '.join(map(_text, pattern[1:]))})"
    return str(pattern)


def _fits(pattern: Any, x: Any, found: dict[str, Any]) -> bool:
    """Whether a variable is what a pattern says; ``found`` takes what names stand for."""
    if isinstance(pattern, str):
        return found.setdefault(pattern, x) is x
    if isinstance(pattern, tuple):
        node = x.owner
        return node is not None and node.op == pattern[0] and (
            len(node.inputs) == len(pattern) - 1) and all(
            _fits(p, v, found) for p, v in zip(pattern[1:], node.inputs, strict=True))
    value = getattr(x, "data", None)
    return value is not None and bool((value == pattern).all())


def _built(pattern: Any, found: dict[str, Any]) -> Any:
    """The expression that a pattern says."""
    if isinstance(pattern, str):
        return found[pattern]
    return pattern[0](*[_built(p, found) for p in pattern[1:]]) if isinstance(
        pattern, tuple) else pattern


class OpSub(PatternSub):
    """One operation in the place of another: ``OpSub(T.exp, T.tanh)``.

    :param op1, op2: What makes them.
    :type op1: callable
    """

    def __init__(self, op1: Any, op2: Any, name: str = "", **ignored: Any) -> None:
        LocalOptimizer.__init__(self, lambda node: [op2(*node.inputs)], [op1], name or (
            f"{_text((op1,))} -> {_text((op2,))}"))


class OpRemove(LocalOptimizer):
    """An operation's operand in its place: ``OpRemove(view)``.

    :param op: What makes it.
    :type op: callable
    """

    def __init__(self, op: Any, name: str = "", **ignored: Any) -> None:
        super().__init__(lambda node: [node.inputs[0]], [op], name or f"without {_text((op,))}")


def _several(*rules: Any) -> list[LocalOptimizer]:
    """The rules of what may be lists of rules."""
    return [r for given in rules for r in (
        _several(*given) if isinstance(given, (list, tuple)) else [given])]


def in2out(*rules: LocalOptimizer, **ignored: Any) -> list[LocalOptimizer]:
    """The rules themselves: how a graph is walked is agnesi's."""
    return _several(*rules)


out2in = EquilibriumOptimizer = TopoOptimizer = LocalOptGroup = in2out


class OptDb:
    """``theano.compile.optdb``: rules that run, by name."""

    def __init__(self) -> None:
        self._known: dict[str, list[str]] = {}

    def register(self, name: str, rule: Any, position: Any = 50, *tags: Any,
                 **ignored: Any) -> None:
        """Let a rule run in functions that are compiled from now on."""
        early = isinstance(position, (int, float)) and position < _CANONICAL_BEFORE
        self.add(name, rule, "canonicalize" if early else "specialize")

    def add(self, name: str, rule: Any, stage: str) -> None:
        """The same at a stage."""
        names = []
        for i, one in enumerate(_several(rule)):
            title = name if not i else f"{name} ({i + 1})"
            one.register(stage, title)
            names.append(title)
        self._known[name] = names

    def remove(self, name: str) -> None:
        """Take a rule out again."""
        for title in self._known.pop(name):
            forget_rule(title)


optdb = OptDb()


def _registering(stage: str) -> Callable[..., Any]:
    """``register_canonicalize`` and its like: decorators, with or without tags in front."""
    def register(rule: Any, *tags: Any, name: str = "", **ignored: Any) -> Any:
        if isinstance(rule, str):
            return lambda made: register(made, rule, *tags, name=name)
        for one in _several(rule):
            optdb.add(name or one.name, one, _STAGES[stage])
        return rule

    register.__name__ = f"register_{stage}"
    return register


register_canonicalize, register_stabilize, register_specialize, register_uncanonicalize = (
    _registering(stage) for stage in _STAGES)
node_rewriter = local_optimizer
PatternNodeRewriter, SubstitutionNodeRewriter = PatternSub, OpSub


def rewrite_graph(graph: Any, clone: bool = True, custom_rewrite: Any = None,
                  include: Sequence[str] = ("canonicalize",), exclude: Sequence[str] = (),
                  **ignored: Any) -> Any:
    """An expression, or a list of them, as rules make it; what it is made of stays as it is.

    Parameters
    ----------
    graph : Variable or list of Variable
    custom_rewrite : LocalOptimizer, optional
        A rule that runs in front of the stage's own.
    include : sequence of {"canonicalize", "stabilize", "specialize"}
        The stages whose rules run; other names of PyTensor's say nothing here.
    exclude : sequence of str
        Stages, and names of rules, that do not run.
    """
    many = isinstance(graph, (list, tuple))
    nodes = [current(as_tensor(bare(x))) for x in (graph if many else [graph])]
    whole = FunctionGraph([n for n in toposort(nodes) if n.op is None and (
        live_tensor(n) is not None or constant_value(n) is None)], nodes)
    own = f"rewrite_graph({typed(custom_rewrite)})"
    if custom_rewrite is not None:
        optdb.add(own, custom_rewrite, "canonicalize")
    try:
        found = rewrite(whole, None, [_STAGES[s] for s in include if s in _STAGES],
                        [_STAGES.get(s, s) for s in exclude])
    finally:
        if custom_rewrite is not None:
            optdb.remove(own)
    made = [variable_of(n) for n in found.outputs]
    return made if many else made[0]


def __getattr__(name: str) -> Any:
    """``theano.tensor.opt`` has the names of ``theano.tensor``, too."""
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(tensor, name)
