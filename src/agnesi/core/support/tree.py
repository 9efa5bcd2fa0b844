"""Nested containers of tensors: taken apart into leaves, and put together again.

Lists, tuples, named tuples, dicts, dataclasses and None are containers; other classes join with
:func:`register`. Everything else is a leaf. All of it goes without recursion, whatever the depth;
so do walks of modules (``nn/base/tree.py``), whose copies and pickles name inner ones first
(``nn/base/copies.py``), and chains of views (``core/storage/views.py``). Messages show what users
passed by ``typed`` or ``shown`` of ``core/support/errors.py``, which bound what they print.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from agnesi.core.support.errors import at
from agnesi.core.support.record import record

Take = Callable[[Any], tuple[Iterable[Any], Any]]
Build = Callable[[Any, Iterable[Any]], Any]


def exact(value: Any) -> Any:
    """A key that is equal for the same value only: 1, 1.0 and True differ, 0.0 and -0.0, too.

    >>> from agnesi.core.support.tree import exact
    >>> exact((1, -0.0)) == exact((1, 0.0)), exact(frozenset({1})) == exact(frozenset({True}))
    (False, False)
    """
    kind = type(value)
    if kind is float:
        return kind, "nan" if value != value else (value, math.copysign(1.0, value))
    if kind is complex:
        return kind, exact(value.real), exact(value.imag)
    if kind is tuple:
        return kind, tuple(map(exact, value))
    if kind is frozenset:
        return kind, frozenset(map(exact, value))
    if kind is slice:
        return kind, exact((value.start, value.stop, value.step))
    if kind is range:
        return kind, value.start, value.stop, value.step
    if kind.__module__ in ("datetime", "decimal"):  # 1.5 and 1.50 are equal, and do not print alike
        return kind, repr(value)
    if isinstance(value, (np.generic, np.ndarray)):
        return kind, value.dtype, value.shape, value.tobytes()
    return kind, value


@record
class DictKey:
    """A step of a path into a nest: the entry of a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@record
class SequenceKey:
    """A step of a path into a nest: an element of a list, a tuple or a registered class."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx}]"


@record
class GetAttrKey:
    """A step of a path into a nest: a field of a dataclass or a named tuple."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


Key = DictKey | SequenceKey | GetAttrKey


def tuples_inside(value: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Give the tuples that a tuple holds at any depth, and itself: each once, and after those in
    it.

    >>> from agnesi.core.support.tree import tuples_inside
    >>> list(tuples_inside((1, (2, (3,)))))
    [(3,), (2, (3,)), (1, (2, (3,)))]
    """
    done: set[int] = set()
    waiting = [value]
    while waiting:
        last = waiting[-1]
        inner = [v for v in last if type(v) is tuple and id(v) not in done]
        if inner:
            waiting += inner
            continue
        waiting.pop()
        if id(last) not in done:
            done.add(id(last))
            yield last


class Tree:
    """The shape of a nest: hashable, equal for equal nests, with the leaves left out.

    Nests may be of any depth: nothing here calls itself.

    :ivar kind: Class of the container; None for a leaf.
    :ivar extra: What its class needs beside the children (keys of a dict, names of fields).
    :ivar children: The nests inside.
    :ivar leaves, size, depth: How many leaves it has, how many trees :meth:`walk` gives, and how
        many containers are nested at most.
    """

    __slots__ = ("_hash", "children", "depth", "extra", "kind", "leaves", "size")

    def __init__(self, kind: type | None, extra: Any, children: tuple[Tree, ...]) -> None:
        self.kind = kind
        self.extra = extra
        self.children = children
        self.leaves: int = sum([c.leaves for c in children]) if kind is not None else 1
        self.size: int = 1 + sum([c.size for c in children])
        self.depth: int = 1 + max([c.depth for c in children], default=0) if kind else 0
        self._hash: int | None = None

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, Tree):
            return self is other
        pairs = [(self, other)]
        while pairs:
            a, b = pairs.pop()
            if a is b:
                continue
            if not (a.kind is b.kind and len(a.children) == len(b.children)
                    and (a.extra is b.extra or exact(a.extra) == exact(b.extra))):
                return False
            pairs.extend(zip(a.children, b.children, strict=True))
        return True

    def __hash__(self) -> int:
        if self._hash is None:
            for tree in reversed([t for t in self.walk() if t._hash is None]):
                inner = tuple([c._hash for c in tree.children])
                tree._hash = hash((tree.kind, tree.extra, inner))
        return self._hash  # type: ignore[return-value]

    def __reduce__(self) -> tuple[Any, ...]:
        return Tree, (self.kind, self.extra, self.children)  # hashes differ between processes

    def walk(self) -> Iterator[Tree]:
        """The tree and all inside, each before what is inside of it.

        Returns
        -------
        Iterator of Tree
            Leaves, too.
        """
        stack = [self]
        while stack:
            tree = stack.pop()
            yield tree
            stack.extend(tree.children)

    def __repr__(self) -> str:
        return self._shown(_MAX_SHOWN_LEVELS)

    def _shown(self, levels: int) -> str:
        if self.kind is None:
            return "*"
        inner = [c._shown(levels - 1) for c in self.children] if levels else ["..."]
        return f"{self.kind.__name__}({', '.join(inner)})"

    def paths(self, name: str = "") -> list[str]:
        """How to reach each leaf from a nest called ``name``: ``name['w'][0]``; what is deeper
        than a few containers is described by the outer ones.

        Parameters
        ----------
        name : str, optional
            What the nest is called.

        Returns
        -------
        list of str
            A path for each leaf, in order.
        """
        found = []
        stack = [(self, name, 0)]
        while stack:
            tree, name, depth = stack.pop()
            if tree.kind is None:
                found.append(name)
                continue
            names = [f"{name}{key}" for key in tree._keys()] if depth < _MAX_SHOWN_LEVELS else [
                name if depth > _MAX_SHOWN_LEVELS else name + "..."] * len(tree.children)
            stack += [(c, n, depth + 1) for c, n in zip(tree.children, names, strict=True)][::-1]
        return found

    def keys(self) -> list[tuple[Key, ...]]:
        """How to reach each leaf, step by step.

        Returns
        -------
        list of tuple
            For each leaf, in order, the keys on the way to it.
        """
        found = []
        stack: list[tuple[Tree, tuple[Key, ...]]] = [(self, ())]
        while stack:
            tree, path = stack.pop()
            if tree.kind is None:
                found.append(path)
                continue
            steps = zip(tree.children, tree._keys(), strict=True)
            stack += [(child, (*path, key)) for child, key in steps][::-1]
        return found

    def _keys(self) -> list[Key]:
        """How each child is reached."""
        kind: Any = self.kind
        if issubclass(kind, dict):
            return [DictKey(key) for key in self.extra]
        if self.has_fields or self.is_object:
            return [GetAttrKey(field) for field in self.extra]
        if self.is_named_tuple:
            return [GetAttrKey(field) for field in kind._fields]
        return [SequenceKey(i) for i in range(len(self.children))]

    def build(self, leaves: Iterable[Any]) -> Any:
        """The nest of this shape that holds ``leaves``.

        Parameters
        ----------
        leaves : iterable
            As many as there are.

        Returns
        -------
        object
            A nest of this shape.
        """
        leaves = iter(leaves)
        made: list[Any] = []
        rest, outer = iter((self,)), []
        while True:
            for tree in rest:
                if tree.kind is None:
                    made.append(next(leaves))
                    continue
                outer.append((tree, made, rest))
                made, rest = [], iter(tree.children)
                break
            else:
                if not outer:
                    return made[0]
                children = made
                tree, made, rest = outer.pop()
                build = _REGISTRY[tree._entry()][1]
                made.append(build((tree.kind, tree.extra), children))

    def builder(self) -> Callable[[list[Any]], Any]:
        """What builds nests of this shape: of a plain tuple or list, or of a named tuple of leaves,
        a function without the walk.

        Returns
        -------
        callable
            Called with a list of leaves, it gives a nest.
        """
        kind: Any = self.kind
        if kind is not None and all(child.kind is None for child in self.children):
            if kind is tuple or kind is list:
                return kind
            if self.is_named_tuple:
                return lambda leaves: kind(*leaves)
        return self.build

    def take(self, nest: object) -> tuple[Iterable[Any], Any]:
        """Return the elements of a container of this kind, and what else its class needs.

        Parameters
        ----------
        nest : object
            A nest of this kind.

        Returns
        -------
        children : iterable
            What it holds.
        extra : object
            What else its class needs.
        """
        return _REGISTRY[self._entry()][0](nest)

    @property
    def has_fields(self) -> bool:
        """Whether the children are the fields of a dataclass that is not registered as another
        container.

        Returns
        -------
        bool
            For a leaf, False.
        """
        return self.kind is not None and self._entry() is _DATACLASS

    @property
    def is_named_tuple(self) -> bool:
        """Whether it is a named tuple that is not registered as another container.

        Returns
        -------
        bool
            For a leaf, False.
        """
        return self.kind is not None and self._entry() is _NAMED_TUPLE

    @property
    def is_object(self) -> bool:
        """Whether it is an object of a class that is no container by itself, of which the children
        are the attributes.

        Returns
        -------
        bool
            For a leaf, False.
        """
        return self.kind is not None and self._entry() is _OBJECT

    def _entry(self) -> Any:
        kind: Any = self.kind
        return kind if kind in _REGISTRY else _family(kind) or _OBJECT


#: Levels of nested containers that messages show.
_MAX_SHOWN_LEVELS = 8
#: Levels from which on a container is suspected to contain itself.
_MAX_UNCHECKED_LEVELS = 1000
_LEAF = Tree(None, None, ())
_DATACLASS = object()
_NAMED_TUPLE = object()
_OBJECT = object()


def _family(kind: type) -> Any:
    """The entry that serves a class which is not registered itself."""
    if hasattr(kind, "__dataclass_fields__"):
        return _DATACLASS
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return _NAMED_TUPLE
    return None


def _build_dataclass(type_and_names: Any, children: Iterable[Any]) -> Any:
    kind, names = type_and_names
    result = object.__new__(kind)
    for name, child in zip(names, children, strict=True):
        object.__setattr__(result, name, child)
    return result


def _take_dataclass(x: Any) -> tuple[list[Any], tuple[str, ...]]:
    from dataclasses import fields

    names = tuple(f.name for f in fields(x))
    return [getattr(x, n) for n in names], names


def _build_object(type_and_names: Any, children: Iterable[Any]) -> Any:
    kind, names = type_and_names
    result = kind.__new__(kind)
    vars(result).update(zip(names, children, strict=True))
    return result


_REGISTRY: dict[Any, tuple[Take, Build]] = {
    type(None): (lambda x: ((), None), lambda about, children: None),
    list: (lambda x: (x, None), lambda about, children: list(children)),
    tuple: (lambda x: (x, None), lambda about, children: tuple(children)),
    dict: (
        lambda x: (x.values(), tuple(x)),
        lambda about, children: dict(zip(about[1], children, strict=True)),
    ),
    _NAMED_TUPLE: (lambda x: (x, None), lambda about, children: about[0](*children)),
    _DATACLASS: (_take_dataclass, _build_dataclass),
    _OBJECT: (lambda x: (vars(x).values(), tuple(vars(x))), _build_object),
}


def is_registered(kind: type) -> bool:
    """Return whether a class itself is a container.

    >>> from agnesi.core.support.tree import is_registered
    >>> is_registered(list), is_registered(float)
    (True, False)
    """
    return kind in _REGISTRY


def register(kind: type, take: Take, build: Callable[[Any, Iterable[Any]], Any]) -> None:
    """Register a class as a container.

    :param kind: The class.
    :param take: ``take(x) -> (children, extra)``; ``extra`` is hashable.
    :type take: callable
    :param build: ``build(extra, children) -> x``.
    :raises ValueError: If it is list, tuple or dict, which are containers already.
    :see: tree.flatten, nn.Module

    >>> from agnesi.core.support import tree
    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> tree.register(Pair, lambda p: ((p.a, p.b), None), lambda extra, ab: Pair(*ab))
    >>> tree.flatten({"x": Pair(1, 2)})[0]
    [1, 2]
    """
    if kind in (list, tuple, dict):
        raise ValueError(at(f"register: {kind.__name__} is a container already, everywhere"))
    _REGISTRY[kind] = (take, lambda about, children: build(about[1], children))


def flatten(nest: object, is_leaf: Callable[[Any], bool] | None = None,
            opens: Callable[[Any], bool] | None = None) -> tuple[list[Any], Tree]:
    """The leaves of a nest of containers, in order, and its structure.

    :param nest: Lists, tuples, dicts, dataclasses and registered classes around leaves.
    :param is_leaf: Of a container, whether it is a leaf, too.
    :param opens: Of an object that is no container, whether it is one, of its attributes.
    :returns leaves: In order; those of dicts in the order of entries.
    :rtype: list
    :returns shape: Its ``build(leaves)`` makes such a nest again.
    :rtype: Tree
    :see: tree.map, tree.register

    >>> from agnesi.core.support import tree
    >>> leaves, shape = tree.flatten({"w": 1, "b": [2, (3, None)]})
    >>> leaves
    [1, 2, 3]
    >>> shape.build("abc")
    {'w': 'a', 'b': ['b', ('c', None)]}
    """
    leaves: list[Any] = []
    trees: list[Tree] = []
    rest: Iterator[Any] = iter((nest,))
    outer: list[Any] = []
    limit = _MAX_UNCHECKED_LEVELS
    while True:
        for value in rest:
            kind = type(value)
            entry = _REGISTRY.get(kind)
            if entry is None and (entry := _REGISTRY.get(_family(kind))) is None and (
                    opens is not None and opens(value)):
                entry = _REGISTRY[_OBJECT]
            elif entry is None or (is_leaf is not None and is_leaf(value)):
                leaves.append(value)
                trees.append(_LEAF)
                continue
            inner, extra = entry[0](value)
            outer.append((value, extra, trees, rest))
            trees, rest = [], iter(inner)
            if len(outer) > limit:
                limit *= 2
                check_ends([o[0] for o in outer])
            break
        else:
            if not outer:
                return leaves, trees[0]
            children = tuple(trees)
            value, extra, trees, rest = outer.pop()
            trees.append(Tree(type(value), extra, children))


def check_ends(outer: Iterable[Any]) -> None:
    """Refuse containers that contain themselves."""
    seen: set[int] = set()
    for nest in outer:
        if id(nest) in seen:
            raise ValueError(at(f"a {type(nest).__name__} contains itself, which has no end: give "
                                "one that holds other values only"))
        seen.add(id(nest))


def nested_beyond(nest: Any, levels: int) -> bool:
    """Return whether lists and tuples are nested more than ``levels`` deep; dicts, too.

    >>> from agnesi.core.support.tree import nested_beyond
    >>> nested_beyond([[1, [2]]], 3), nested_beyond([[1, [2]]], 2)
    (False, True)
    """
    level = [nest]
    while levels >= 0 and level:
        levels -= 1
        if not any([issubclass(kind, (list, tuple, dict)) for kind in {*map(type, level)}]):
            return False
        inner = {id(v): v for v in level if isinstance(v, (list, tuple, dict))}.values()
        level = [w for v in inner for w in (v.values() if isinstance(v, dict) else v)]
    return bool(level)


def children(nest: Any) -> list[Any] | None:
    """Return the elements of a container, or None for a leaf."""
    kind = type(nest)
    entry = _REGISTRY.get(kind) or _REGISTRY.get(_family(kind))
    return None if entry is None else list(entry[0](nest)[0])


def leaves(nest: object, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves of a nest, in order: all values in it that are no containers.

    :param nest: Lists, tuples, dicts, dataclasses of anything.
    :param is_leaf: Of a container, whether it is a leaf, too.
    :returns: The leaves.
    :see: tree.flatten, tree.map

    >>> ag.tree.leaves({"w": 1.0, "b": (2.0, [3.0])})
    [1.0, 2.0, 3.0]
    """
    return flatten(nest, is_leaf)[0]


def map_leaves(function: Callable[..., Any], nest: object, *others: Any,
               is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """The nest with ``function`` applied to each leaf (and to those of ``others`` beside it).

    :param function: Of a leaf of each nest.
    :param nest: Lists, tuples, dicts, dataclasses and registered classes around leaves.
    :param *others: Nests of the same shape.
    :param is_leaf: Of a container, whether it is a leaf, too.
    :returns: A nest of that shape.
    :raises ValueError: If the nests differ.
    :see: tree.flatten

    >>> ag.tree.map(lambda a, b: a + b, {"w": 1, "b": 2}, {"w": 10, "b": 20})
    {'w': 11, 'b': 22}
    """
    leaves, shape = flatten(nest, is_leaf)
    columns = [leaves]
    for other in others:
        more, its_shape = flatten(other, is_leaf)
        if its_shape != shape:
            first, second = (", ".join(s.paths("nest")) or "nothing" for s in (shape, its_shape))
            raise ValueError(f"the nests differ: {first}, but {second}")
        columns.append(more)
    return shape.build([function(*row) for row in zip(*columns, strict=True)])
