"""Objects among the arguments of calls: which are taken apart, as containers are.

A dataclass is one from its first call on, as long as it has its fields and nothing else.  An object
of another class of the user's is known by its identity at first, and what code reads of it are
sources; from the second object of the class on, those with plain attributes are taken apart, so
that a fresh one for each call does not compile again.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from agnesi.compiler.tracing.arguments.facts import containers
from agnesi.compiler.tracing.object_kinds import is_users_object
from agnesi.core.support.tree import Tree, flatten, is_registered

#: Objects in an object, at any depth, that are searched for one that contains itself.
_MAX_LOOKED_THROUGH = 1024


class ClosedError(BaseException):
    """Objects that were flattened into their attributes must not be: the call begins again."""


class ArgumentObjects:
    """Which objects among its arguments a jitted function flattens into their attributes.

    :ivar opened: Classes, other than dataclasses, whose objects are flattened.
    """

    def __init__(self) -> None:
        self.opened: set[type] = set()
        self._closed: set[type] = set()
        self._first: dict[type, int] = {}

    def flatten(self, nest: Any, built: bool = False) -> tuple[list[Any], Tree]:
        """Return the leaves and the structure of arguments; objects that occur twice are leaves.

        ``built`` arguments were made from a structure, with all fields.
        """
        whole, opens = _is_changed if built else is_whole, self._opens if self.opened else None
        leaves, tree = flatten(nest, whole, opens)
        if built or sum(t.has_fields or t.is_object for t in tree.walk()) <= 1:
            return leaves, tree
        counts = Counter(map(id, containers(tree, nest)))
        if max(counts.values()) > 1:
            return flatten(nest, lambda v: whole(v) or (
                counts[id(v)] > 1 and hasattr(v, "__dataclass_fields__")),
                           lambda v: counts[id(v)] <= 1 and self._opens(v))
        return leaves, tree

    def of_call(self, nest: Any) -> tuple[list[Any], Tree]:
        """The leaves of arguments, and their structure, where further classes may be opened."""
        leaves, tree = self.flatten(nest)
        return self.flatten(nest) if self._learn(leaves) else (leaves, tree)

    def results(self, nest: Any, knows: Callable[[Any], bool]) -> tuple[list[Any], Tree]:
        """Return the leaves and the structure of results; objects that the trace ``knows`` are
        leaves.
        """
        return flatten(nest, lambda v: knows(v) or is_whole(v))

    def _learn(self, leaves: Sequence[Any]) -> bool:
        """Return whether a class is flattened from now on, because a second object of it was
        passed.
        """
        found = False
        for value in leaves:
            kind: Any = type(value)
            if kind in self.opened or kind in self._closed or not _can_be_open(kind):
                continue
            if self._first.setdefault(kind, id(value)) != id(value):
                self.opened.add(kind)
                found = True
        return found

    def refuse(self, obstacle: Any, tree: Tree) -> None:
        """Stop flattening the objects of these arguments, dataclasses apart, if the code does
        something with them that a call cannot repeat.

        :raises ClosedError: If there are any.
        """
        if not obstacle:
            return
        found = {t.kind for t in tree.walk() if t.kind is not None and t.is_object}
        self._closed |= found
        self.opened -= found
        if found:
            raise ClosedError

    def _opens(self, value: Any) -> bool:
        return type(value) in self.opened and _ends(value, False)


@functools.lru_cache(maxsize=4096)
def _can_be_open(kind: Any) -> bool:
    """Return whether objects of a class are nothing but their attributes."""
    return kind is SimpleNamespace or (
        is_users_object(kind) and kind.__new__ is object.__new__
        and kind.__getattribute__ is object.__getattribute__
        and kind.__setattr__ is object.__setattr__ and kind.__dictoffset__ != 0
        and not hasattr(kind, "__getattr__") and not hasattr(kind, "__del__")
        and not is_registered(kind)
        and not any(vars(part).get("__slots__") for part in kind.__mro__))


def _ends(value: Any, otherwise: bool) -> bool:
    """Return whether no object or container contains itself; ``otherwise`` if there are too many to
    look through.
    """
    stack, above = [(value, 0)], list[int]()
    for _ in range(_MAX_LOOKED_THROUGH):
        if not stack:
            return True
        value, depth = stack.pop()
        del above[depth:]
        if id(value) in above:
            return False
        kind: Any = type(value)
        if isinstance(value, (list, tuple)):
            inner: Any = value
        elif isinstance(value, dict):
            inner = value.values()
        elif _can_be_open(kind):
            inner = vars(value).values()
        elif names := _fields(kind):
            inner = [getattr(value, name, None) for name in names]
        else:
            continue
        above.append(id(value))
        stack += [(v, depth + 1) for v in inner]
    return otherwise


@functools.lru_cache(maxsize=4096)
def _fields(kind: Any) -> frozenset[str]:
    """The names of a dataclass's fields; none of a class that is a container in another way."""
    from dataclasses import fields

    own = hasattr(kind, "__dataclass_fields__") and not is_registered(kind)
    return frozenset(f.name for f in fields(kind)) if own else frozenset()


def is_whole(value: Any) -> bool:
    """Return whether a dataclass must be passed as one object: it has attributes that are no
    fields, lacks a field, or contains itself.
    """
    kind: Any = type(value)
    if kind in (list, tuple, dict) or not (names := _fields(kind)):
        return False
    held = getattr(value, "__dict__", None)
    return (held is not None and not held.keys() <= names) or any(
        not hasattr(value, name) for name in names) or not _ends(value, True)


def _is_changed(value: Any) -> bool:
    """Return whether a dataclass that was built from all its fields has gained or lost attributes.
    """
    kind: Any = type(value)
    if kind in (list, tuple, dict) or not (names := _fields(kind)):
        return False
    held = getattr(value, "__dict__", None)
    return (held is not None and held.keys() != names) or is_whole(value)
