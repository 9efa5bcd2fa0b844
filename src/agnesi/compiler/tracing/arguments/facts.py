"""What code reads of its arguments besides their values: names, gradients, whether they are leaves,
whether two of them are the same object.

A trace records these queries (``query_fact`` in ``core/support/tracing.py``).  Names and leaves
belong to the signature from then on; calls with gradients at arguments, or with one object in two
positions, run eagerly where code requests that: a trace has another symbol for each position.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from agnesi.autodiff.recording import is_leaf
from agnesi.compiler.tracing.arguments.attributes import ATTRIBUTES, attribute_of, queries_of, show
from agnesi.core.ir.dims import TUPLES
from agnesi.core.support.tree import Tree
from agnesi.core.tensor import Tensor

NAME, LEAF, GRAD, IDENTITY, LAYOUT = "name", "is_leaf", "grad", "identity", "layout"
#: Whether arguments require gradients, which belongs to every signature: native code looks, too.
REQUIRES = "requires_grad"
#: Attributes that depend on that, and on whether operations are recorded.
FLAGS = frozenset((REQUIRES, "is_leaf", "grad_fn"))
#: Whether objects are the same that have no other way to be equal, or to be found in a dict.
OBJECTS = "objects"
#: Facts that belong to the signature.
IN_SIGNATURES = frozenset((NAME, LEAF))
#: With which the queries of attributes begin that programs gave arguments.
ATTRIBUTE = "."
#: Objects up to which each is compared with each.
_MAX_PAIRED = 4
Facts = tuple[Any, ...]


def facts_of(leaves: Iterable[Any], queries: Collection[str]) -> Facts:
    """Return what code queried of the arguments, as a part of the signature."""
    if not queries:
        return ()
    tensors = [v if isinstance(v, Tensor) else None for v in leaves]
    found: list[Any] = []
    if NAME in queries:
        found += [None if v is None else v._name for v in tensors]
    if LEAF in queries:
        found += [v is None or is_leaf(v) for v in tensors]
    for query in attributes_in(queries):
        found += [None if v is None else attribute_of(v, query[1:]) for v in tensors]
    return tuple(found)


def attributes_in(queries: Iterable[str]) -> list[str]:
    """Return the queries of attributes that programs gave arguments.

    >>> from agnesi.compiler.tracing.arguments.facts import attributes_in
    >>> attributes_in({"name", ".tag", ".group"})
    ['.group', '.tag']
    """
    return sorted(q for q in queries if q[0] == ATTRIBUTE)


def of_signatures(queries: Iterable[str]) -> frozenset[str]:
    """Return the queries whose answers belong to the signature."""
    return frozenset(q for q in queries if q in IN_SIGNATURES or q[0] == ATTRIBUTE)


def known_facts(leaves: Sequence[Any], symbols: Sequence[Any]) -> dict[int, Mapping[str, Any]]:
    """Return, by each symbol's identity, what it answers when code requests such facts of the
    argument, and whose symbol it is; the symbols get the attributes of the arguments.
    """
    show(symbols, leaves)
    return {id(s): {NAME: v._name, LEAF: is_leaf(v), IDENTITY: id(v), ATTRIBUTES: dict(vars(v))}
            if isinstance(v, Tensor) else {IDENTITY: id(v)}
            for s, v in zip(symbols, leaves, strict=True) if isinstance(s, Tensor)}


class Assumptions:
    """Facts about arguments, besides their values, on which a trace relied.

    :ivar queries: The facts that the code requested.
    :ivar things: By identity, the tensors, arrays and containers that the function reaches without
        being given them; empty if it neither compares identities nor changes anything but tensors.
    """

    def __init__(self, queries: frozenset[str], leaves: Sequence[Any], things: Mapping[int, Any],
                 tree: Tree) -> None:
        self.queries = queries
        self.things = things
        kinds = {t.kind for t in tree.walk() if t.has_fields or t.is_object}
        #: Those that are of the same classes as objects among arguments.
        self.objects = {i: v for i, v in things.items() if type(v) in kinds}
        self._tree = tree
        self._nests = any(c.kind not in (None, type(None)) for part in tree.children
                          for c in part.children)
        #: The tensors and arrays among the arguments that it was traced with: classes, names,
        #: whether they are leaves, and whether they require a gradient.
        self._kinds = [_kind(v) if isinstance(v, (Tensor, np.ndarray)) else None for v in leaves]
        self._attributes = {q: [attribute_of(v, q[1:]) if isinstance(v, Tensor) else None
                                for v in leaves] for q in attributes_in(queries)}
        #: Which arguments require a gradient.
        self.requiring = [isinstance(v, Tensor) and v._requires_grad for v in leaves[:tree.leaves]]

    def __bool__(self) -> bool:
        return bool(self.queries)

    def conditions(self, leaves: Sequence[str], containers: Sequence[str],
                   name: Callable[[Any], str]) -> Iterator[str]:
        """Yield the conditions on leaves and containers that the text of a call checks; ``name``
        returns a variable for an object.
        """
        if not self.queries:
            return
        given = [(leaf, *kind) for leaf, kind in zip(leaves, self._kinds, strict=False) if kind]
        for leaf, kind, called, begins, requires in given:
            yield f"type({leaf}) is {name(kind)}"
            if not issubclass(kind, Tensor):
                continue
            if REQUIRES in self.queries:
                yield f"{leaf}._requires_grad is {requires}"
            if NAME in self.queries:
                yield f"{leaf}._name == {called!r}"
            if LEAF in self.queries:
                asks = f"{name(is_leaf)}({leaf})"
                yield f"({leaf}.node is None or {asks})" if begins else f"not {asks}"
            if GRAD in self.queries:
                yield f"{leaf}._grad is None"
            if LAYOUT in self.queries:
                yield f"{leaf}.array is not None and {leaf}.array.flags.c_contiguous"
        for query, held in self._attributes.items():
            for leaf, was, known in zip(leaves, held, self._kinds, strict=False):
                if known and issubclass(known[0], Tensor):
                    yield f"{name(attribute_of)}({leaf}, {query[1:]!r}) == {name(was)}"
        if IDENTITY in self.queries:
            yield from self._apart([leaf for leaf, *_ in given], name)
            yield from self._apart(containers, name)
        elif OBJECTS in self.queries:
            yield from self._apart(containers, name, self.objects)

    def _apart(self, names: Sequence[str], name: Callable[[Any], str],
               things: Mapping[int, Any] | None = None) -> Iterator[str]:
        """Yield conditions that the named objects are distinct, and that the function does not
        reach them in another way.
        """
        things = self.things if things is None else things
        if len(names) <= _MAX_PAIRED:
            yield from (f"{a} is not {b}" for a, b in combinations(names, 2))
        else:
            yield f"len({{{', '.join(f'id({a})' for a in names)}}}) == {len(names)}"
        if things and names:
            known = name(things)
            yield from (f"id({a}) not in {known}" for a in names)

    def breaks(self, leaves: Sequence[Any]) -> bool:
        """Return whether an assumption common to all traces fails: an argument has a gradient, is
        not row-major, is passed twice, or is also reached in another way.
        """
        if GRAD in self.queries and any(
                isinstance(v, Tensor) and v._grad is not None for v in leaves):
            return True
        if LAYOUT in self.queries and any(
                isinstance(v, Tensor) and v.array is not None and not v.array.flags.c_contiguous
                for v in leaves):
            return True
        return IDENTITY in self.queries and self._are_shared(
            [v for v in leaves if isinstance(v, (Tensor, np.ndarray))])

    def shares(self, given: Any) -> bool:
        """Return whether a container whose identity matters is passed twice, or is also reachable
        otherwise.
        """
        return self._nests and self._are_shared(containers(self._tree, given))

    def _are_shared(self, values: Sequence[Any]) -> bool:
        known = {id(v) for v in values}
        return len(known) < len(values) or not self.things.keys().isdisjoint(known)

    def written(self, sources: Iterable[Any]) -> list[Any]:
        """Return the argument containers to which these sources belong."""
        held = [getattr(p, name, None) for p in sources for name in ("container", "mapping")]
        return [v for v in held if v is not None and id(v) in self.things]


def _kind(x: Tensor | np.ndarray) -> tuple[type, str | None, bool, bool]:
    if not isinstance(x, Tensor):
        return type(x), None, False, False
    return type(x), x._name, is_leaf(x), x._requires_grad


def assumed(trace: Any, reads: Any, leaves: Sequence[Any], tree: Tree, known: frozenset[str],
            changes: bool) -> Assumptions:
    """Return the facts about arguments on which a trace relied; those in ``known`` are part of the
    signature.
    """
    objects = [t.kind for t in tree.walk() if t.has_fields or t.is_object]
    kinds = frozenset(objects)
    reached = reads.reached(kinds) if kinds else {}
    queries = known | trace.questions | queries_of(reads, leaves) | (
        {IDENTITY} if reads.identifies else set())
    if len(kinds) < len(objects) or any(type(v) in kinds for v in reached.values()):
        queries |= {OBJECTS}
    things: dict[int, Any] = {}
    if IDENTITY in queries or OBJECTS in queries or changes:
        things = {**(reached or reads.reached()), **{id(x): x for x, _ in trace.leaves.values()}}
        things |= {id(k): k for t in tree.walk() if type(t.extra) is tuple for k in t.extra
                   if isinstance(k, Tensor)}
    return Assumptions(queries, leaves, things, tree)


def containers(tree: Tree, nest: Any) -> list[Any]:
    """Return the containers of arguments that can be changed.

    >>> from agnesi.compiler.tracing.arguments.facts import containers
    >>> from agnesi.core.support.tree import flatten
    >>> nest = ([1.0], {"a": (2.0,)})
    >>> containers(flatten(nest)[1], nest)
    [[1.0], {'a': (2.0,)}]
    """
    found, stack = [], [(tree, nest)]
    while stack:
        tree, nest = stack.pop()
        if tree.kind in (None, type(None)):
            continue
        if tree.kind not in TUPLES:
            found.append(nest)
        inner = tree.take(nest)[0] if tree.leaves else ()
        stack += reversed(list(zip(tree.children, inner, strict=True)) if tree.leaves else [])
    return found
