"""Rules: a pattern with its replacement, a function on one node, or a function on a whole graph."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from agnesi.core import shapes
from agnesi.core.dispatch import graph_node
from agnesi.core.graph import FunctionGraph
from agnesi.core.ir.dims import Shape, is_open
from agnesi.core.ir.node import Node
from agnesi.core.op import Op, typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.support.cached_attributes import cached_property
from agnesi.core.support.errors import DTypeError, ShapeError, at, shown
from agnesi.core.support.policy import FAST_RUN
from agnesi.core.support.record import field, handle
from agnesi.core.tensor import Tensor
from agnesi.ops.base.expand import BroadcastTo
from agnesi.rewrite.pattern import Pattern, compiled, filled, match, may_match, sizes_in

STAGES = FAST_RUN.stages


@handle
class Rule:
    """The base of all rules: a name, a stage, tags, and the operations that they start from.

    ``ops`` holds names of operations; empty means any.

    Parameters
    ----------
    name : str
        Name, by which functions switch it.
    stage : str
        One of ``STAGES``, in which it runs.
    tags : tuple of str
        Groups by which it can be switched.
    ops : tuple of str
        Names of the operations that it starts from; empty means any.

    See Also
    --------
    rewrite.rewrite_rule, rewrite.rules

    Examples
    --------
    >>> from agnesi import rewrite
    >>> rewrite.Rule("r", "canonicalize", tags=("mine",)).goes_by(["mine"])
    True
    """

    name: str
    stage: str
    tags: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()

    def exactly(self) -> Rule:
        """Return the rule for ``algebra="exact"``, which fires only where NaN, infinities and signs
        of zero are preserved.

        :returns: The rule itself if that is always so.
        """
        return self

    def __post_init__(self) -> None:
        if self.stage not in STAGES:
            raise ValueError(
                f"rule {shown(self.name)}: the stage must be one of {STAGES}, not "
                f"{shown(self.stage)}"
            )

    def __call__(self, node: Node) -> Node | None:
        raise NotImplementedError

    def may_fire(self, heads: tuple[str, ...]) -> bool:
        """Return whether it may fire, by the names of the operation and of its operands'.

        :param heads: Names of the operation and of those of its operands.
        :returns: False where it certainly does not.
        """
        return not self.ops or heads[0] in self.ops

    def goes_by(self, names: Iterable[str]) -> bool:
        """Return whether the rule's name, its stage or one of its tags is among ``names``.

        :param names: Names, stages or tags.
        :type names: sequence of str
        :returns: Whether one of them is the rule's.
        """
        return not self._labels.isdisjoint(names)

    @cached_property
    def _labels(self) -> frozenset[str]:
        return frozenset((self.name, self.stage, *self.tags))


@handle
class PatternRule(Rule):
    """Whatever fits the pattern becomes the replacement, if ``when`` agrees.

    Parameters
    ----------
    name : str
        Name, by which functions switch it.
    stage : str
        One of ``STAGES``, in which it runs.
    tags : tuple of str
        Groups by which it can be switched.
    ops : tuple of str
        Names of the operations that it starts from; empty means any.
    pattern : Pattern
        What must be met.
    replacement : Pattern
        What stands for it.
    when : callable, optional
        ``when(**nodes)``: whether the rule applies.
    proof : callable, optional
        ``proof(**nodes)``: whether no number is lost.

    See Also
    --------
    rewrite.rewrite_rule, rewrite.rules

    Examples
    --------
    >>> from agnesi import rewrite
    >>> x = rewrite.variables("x")
    >>> rule = rewrite.pattern_rule(x + x, x * 2, name="twice", stage="canonicalize")
    >>> isinstance(rule, rewrite.PatternRule)
    True
    """

    pattern: Pattern = field(default_factory=Pattern)
    replacement: Pattern = field(default_factory=Pattern)
    when: Callable[..., bool] | None = None
    proof: Callable[..., bool] | None = None

    def exactly(self) -> Rule:
        return self if self.proof is None else _exactly(self)

    def __call__(self, node: Node) -> Node | None:
        bound = match(self.pattern, node)
        if bound is None or (self.when is not None and not self.when(**bound)):
            return None
        sizes = sizes_in(self.pattern, bound) if self.pattern.shaped else None
        new = filled(self.replacement, bound, node, sizes)
        return None if new is None else conformed(new, node, self.name)

    def may_fire(self, heads: tuple[str, ...]) -> bool:
        return may_match(self.pattern, heads)

    def __str__(self) -> str:
        return f"{self.name}: {self.pattern} -> {self.replacement}"


@handle
class NodeRule(Rule):
    """A function that gives a node's replacement (a node or tensor), or None.

    It fires only where an operand is the result of one of ``operands`` (``CONSTANT``, ``LEAF``: a
    leaf that is one, or not); empty means that any may be.

    Parameters
    ----------
    name : str
        Name, by which functions switch it.
    stage : str
        One of ``STAGES``, in which it runs.
    tags : tuple of str
        Groups by which it can be switched.
    ops : tuple of str
        Names of the operations that it starts from; empty means any.
    function : callable
        ``function(node)``: its replacement, or None.
    operands : frozenset of str
        Names of operations of which an operand must be a result.
    exact : callable, optional
        The function as it holds for all numbers.

    See Also
    --------
    rewrite.rewrite_rule, rewrite.rules

    Examples
    --------
    >>> from agnesi import rewrite
    >>> rewrite.NodeRule("nothing", "canonicalize", ops=("add",)).may_fire(("add",))
    True
    """

    function: Callable[[Node], Node | Tensor | None] = lambda node: None
    operands: frozenset[str] = frozenset()
    exact: Callable[[Node], Node | Tensor | None] | None = None

    def exactly(self) -> Rule:
        return self if self.exact is None else _exactly(self)

    def may_fire(self, heads: tuple[str, ...]) -> bool:
        fits = not self.operands or not self.operands.isdisjoint(heads[1:])
        return fits and super().may_fire(heads)

    def __call__(self, node: Node) -> Node | None:
        new = self.function(node)
        if new is None:
            return None
        new = graph_node(new) if isinstance(new, Tensor) else new
        return None if new is node else conformed(new, node, self.name)

    def __str__(self) -> str:
        summary, *_ = (self.function.__doc__ or "").splitlines() or [""]
        return f"{self.name}: {summary}"


@functools.cache
def _exactly(rule: Any) -> Rule:
    """A rule that needs a proof, or the function itself."""
    if isinstance(rule, NodeRule) and rule.exact is not None:
        return NodeRule(rule.name, rule.stage, rule.tags, rule.ops, rule.exact, rule.operands)
    when, proof = rule.when, rule.proof
    provable = lambda **bound: (when is None or when(**bound)) and proof(**bound)  # noqa: E731
    return PatternRule(rule.name, rule.stage, rule.tags, rule.ops, rule.pattern, rule.replacement,
                       provable)


@handle
class GraphRule(Rule):
    """A function from a whole graph to a whole graph with the same types.

    Parameters
    ----------
    name : str
        Name, by which functions switch it.
    stage : str
        One of ``STAGES``, in which it runs.
    tags : tuple of str
        Groups by which it can be switched.
    ops : tuple of str
        Names of the operations that it starts from; empty means any.
    function : callable
        ``function(graph) -> graph``.

    See Also
    --------
    rewrite.rewrite_rule, rewrite.rules

    Examples
    --------
    >>> from agnesi import rewrite
    >>> rewrite.GraphRule("leave_it", "canonicalize").name
    'leave_it'
    """

    function: Callable[[FunctionGraph], FunctionGraph] = lambda graph: graph

    def on_graph(self, graph: FunctionGraph) -> FunctionGraph:
        """The graph that the function makes, its types checked.

        :param graph: The graph.
        :returns: Of the same inputs.
        """
        new = self.function(graph)
        if new is graph:
            return graph
        for old, result in zip(graph.outputs, new.outputs, strict=True):
            if old.dtype != result.dtype or old.shape != result.shape:
                raise changed(self.name, old, result)
        return new


@handle
class InsideRule(GraphRule):
    """A function on a whole graph that also gets a function which settles graphs inside of it."""

    inside: Callable[[FunctionGraph, Any], FunctionGraph] = lambda graph, _: graph

    def with_inner(self, improve: Callable[[FunctionGraph], FunctionGraph]) -> GraphRule:
        """The rule as a function of the graph alone: ``improve`` is bound."""
        return GraphRule(
            self.name, self.stage, self.tags, self.ops, lambda graph: self.inside(graph, improve)
        )


def conformed(new: Node, old: Node, rule: str) -> Node | None:
    """The replacement at the type of what it replaces: broadcast if that is all that lacks; None if
    sizes that are not known leave open whether it is of that type."""
    if new.dtype != old.dtype:
        raise changed(rule, old, new)
    if new.shape == old.shape or may_agree(new.shape, old.shape):
        return new
    try:
        fits = shapes.broadcast(new.shape, old.shape) == old.shape
    except ShapeError:
        fits = False
    if not fits and shapes.fits(new.shape, old.shape):
        return None
    if not fits:
        raise changed(rule, old, new)
    return Node(BroadcastTo(old.shape), (new,), old.shape, old.dtype, where=old.where)


def may_agree(new: Shape, old: Shape) -> bool:
    """Return whether two shapes may be equal: they differ only in sizes that are not known yet."""
    return len(new) == len(old) and all(
        m == n or (is_open(n) and m != 1) for m, n in zip(new, old, strict=True)
    )


def changed(rule: str, old: Node, new: Node) -> Any:
    """Return the error for a replacement of another dtype or shape."""
    kind = DTypeError if old.dtype != new.dtype else ShapeError
    error: Any = kind(
        at(
            f"rewrite rule {rule!r} changes a type: it replaces {typed(old)} by {typed(new)}; a "
            "replacement must have the dtype and shape of the original",
            old.where,
        )
    )
    error.located = True
    return error


def pattern_rule(pattern: Tensor, replacement: TensorLike, *, name: str, stage: str,
                 when: Callable[..., bool] | None = None, tags: Sequence[str] = (),
                 proof: Callable[..., bool] | None = None) -> PatternRule:
    """A rule from a pattern and its replacement.

    ``proof`` returns, as ``when`` does, whether the replacement has no number where the pattern has
    none; without one it never has.

    :param pattern: An expression over :func:`variables`.
    :param replacement: An expression over the same variables.
    :type replacement: Tensor or number
    :param name: Name of the rule.
    :param stage: When it runs.
    :param when: Takes the matched nodes by name and returns whether the rule applies.
    :param tags: Groups by which the rule can be switched.
    :param proof: Returns, as ``when`` does, whether the replacement has no number where the pattern
        has none.
    :returns: It is not registered.
    :raises ValueError: If the pattern is no operation, or the replacement uses what it lacks.
    :raises ShapeError: If the replacement has another shape.
    :see: rewrite.rewrite_rule, rewrite.variables

    >>> from agnesi import rewrite
    >>> x = rewrite.variables("x")
    >>> rewrite.pattern_rule(x + x, x * 2, name="twice", stage="canonicalize").ops
    ('add',)
    """
    found, new = compiled(pattern), compiled(replacement)
    if found.op is None:
        raise ValueError(at(f"rule {name!r}: the pattern must be an operation on variables"))
    unbound = new.names() - found.names()
    if unbound:
        raise ValueError(
            at(f"rule {name!r}: the replacement uses {sorted(unbound)}, which the pattern lacks")
        )
    offending = next(_not_pointwise(new), None)
    if offending is not None and not found.shaped and next(_not_pointwise(found), None) is None:
        raise ShapeError(at(
            f"rule {name!r}: the replacement has {offending.name}, which is of another shape than "
            "the pattern, whose variables stand for single elements"))
    return PatternRule(name, stage, tuple(tags), (found.op.name,), found, new, when, proof)


def _not_pointwise(pattern: Pattern) -> Iterator[Op]:
    """The operations of a pattern that look at more than one element."""
    if pattern.op is not None:
        if not pattern.op.pointwise and pattern.op.layout_of is None:
            yield pattern.op
        for arg in pattern.args:
            yield from _not_pointwise(arg)


def op_names(ops: Iterable[Any]) -> tuple[str, ...]:
    """Names of operations given as operations, classes, public functions or names."""
    names = []
    for op in ops:
        if isinstance(op, str):
            names.append(op)
        elif isinstance(op, Op) or (isinstance(op, type) and issubclass(op, Op)):
            names.append(op.name)
        else:
            names.append(op.__name__)
    return tuple(names)


class Book:
    """A list of rules, in the order in which they are tried."""

    def __init__(self) -> None:
        self.rules: list[Rule] = []

    def add(self, rule: Rule) -> Rule:
        """Add a rule behind those that are there."""
        self.rules.append(rule)
        return rule

    def rule(self, pattern: Tensor, replacement: Any, **details: Any) -> PatternRule:
        """Add a pattern rule."""
        made = pattern_rule(pattern, replacement, **details)
        self.add(made)
        return made

    def rewriter(self, stage: str, ops: Iterable[Any] = (), *, name: str = "",
                 tags: Sequence[str] = (), operands: Iterable[Any] = (),
                 exact: Any = None) -> Callable[[Any], Any]:
        """Decorator that adds a function on one node; see :class:`NodeRule`.

        ``exact`` replaces it where what holds for real numbers does not suffice.
        """

        def register(function: Any) -> Any:
            title = name or function.__name__
            given = frozenset(op_names(operands))
            self.add(NodeRule(title, stage, tuple(tags), op_names(ops), function, given, exact))
            return function

        return register
