"""What code reads of functions, modules, classes and libraries' objects: the attributes that it
names, or all where no hook can report."""

from __future__ import annotations

import functools
from collections.abc import Collection
from enum import Enum
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from agnesi.compiler.tracing.bytecode import assigned_in, attributes_of, missed_in
from agnesi.compiler.tracing.containers.contents import Answer, Contents
from agnesi.compiler.tracing.introspection import LIST_ALL, questions
from agnesi.compiler.tracing.object_kinds import is_users, is_users_object
from agnesi.compiler.tracing.obstacles import OnlyEagerError
from agnesi.compiler.tracing.sources import MISSING, PLAIN, Attribute, Definition, Name, attributes
from agnesi.compiler.tracing.tensor_facts import TensorFacts
from agnesi.core.support.config import switched
from agnesi.core.support.exports import module_of
from agnesi.core.tensor import Tensor

#: Exact types of values that are nothing but themselves: there is nothing to look into.
ATOMS = frozenset((int, float, complex, str, bytes, bool, type(None), np.dtype, Tensor))
#: Exact types of values that are compared by value.
_NUMBERS_AND_TEXT = frozenset((*PLAIN, float, complex))
#: Libraries whose objects hold arrays that users change, and what is looked into of those.
_NUMERIC = ("numpy", "scipy")
_LOOKED_INTO = (np.ndarray, FunctionType, list, dict, tuple)


class OwnedReads(TensorFacts):
    """The sources of attributes of functions, modules and classes."""

    def __init__(self, hidden: Any = ()) -> None:
        super().__init__(hidden)
        #: Classes that code reads itself.
        self._classes: dict[type, str] = {}
        #: Attributes of functions and modules, with what they are of.
        self._open: dict[int, tuple[dict[str, Any], str]] = {}
        #: Functions that keep their results, and what they report of that at first.
        self._caches: dict[int, tuple[Any, Any]] = {}

    def _owned(self, owned: dict[str, Any], path: str) -> None:
        """Record the attributes of a function or module that code names."""
        self._open[id(owned)] = owned, path
        for name in list(self._names):
            self._of_owned(owned, path, name)

    def _of_owned(self, owned: dict[str, Any], path: str, name: str, queried: bool = False) -> None:
        if name in LIST_ALL and "__name__" not in owned:  # of a function
            self.meet(owned, f"{path}.__dict__")
            return
        for held in [n for n in owned if n[:2] != "__"] if name in LIST_ALL else ():
            self._of_owned(owned, path, held)
        value = owned.get(name, MISSING)
        computes = "__getattr__" in owned and "__name__" in owned  # a module
        queried = queried or (name in self._missed and "__name__" not in owned)
        if value is MISSING and not (queried or computes) and name not in self._assigned:
            return
        if value is MISSING and (queried or computes) and "__name__" in owned:
            self.computed(owned, path)
        path = f"{path}.{name}"
        self._add((id(owned), name), lambda: Name(path, owned, name, value))
        if value is not MISSING:
            self.meet(value, path)

    def _definition(self, kind: type) -> Definition:
        """Record the class of an object; its special methods are called by Python without being
        read.
        """
        found = self.sources.get(kind)
        if isinstance(found, Definition):
            return found
        made = self.sources[kind] = Definition(kind.__name__, kind)
        for (part, name), method in list(made.names.items()):
            if name.startswith("__") and isinstance(method, FunctionType):
                self.meet(method, f"{part.__name__}.{name}")
        return made

    def _class(self, kind: type, path: str) -> None:
        """Record a class that code calls or reads itself: the attributes that code names."""
        if is_users(kind):
            definition = self._definition(kind)
            self._classes[kind] = path
            for (part, name), method in list(definition.names.items()):
                inner = getattr(method, "__func__", getattr(method, "fget", method))
                self.meet(inner, f"{part.__name__}.{name}")
            for name in list(self._names):
                self._of_class(kind, name)
            if issubclass(kind, Enum):  # calls of the class, entries and loops give them
                for member in kind.__members__.values():
                    self.meet(member, str(member))
            if is_users(type(kind)):
                self._definition(type(kind))
            for name, method in list(vars(type(kind)).items() if is_users(type(kind)) else ()):
                self.meet(getattr(method, "fget", method), f"{type(kind).__name__}.{name}")

    def _of_class(self, kind: type, name: str) -> None:
        """Record an attribute that code may read of a class, and its value in subclasses."""
        subclasses: list[type] = type.__subclasses__(kind) if name == "__subclasses__" else []
        for subclass in subclasses:
            self.meet(subclass, subclass.__name__)
        definition = self._definition(kind)
        definitions = [definition]
        if is_users(type(kind)):
            definitions.append(self._definition(type(kind)))
        for held in [n for d in definitions for n in d.attributes()] if name in LIST_ALL else ():
            self._of_class(kind, held)
        for names in definitions:
            names.add(name)
        for part in definition.parts:  # ``super`` and ``__mro__`` lead to those behind the first
            if name in vars(part):
                self.meet(vars(part)[name], f"{self._classes[kind]}.{name}")

    def _librarys(self, value: Any, path: str) -> None:
        """Record the user's objects that an object of a library's class holds; such classes report
        no reads.
        """
        held = attributes(value)
        if type(held) is not dict or not held:
            return
        numeric = module_of(type(value)).startswith(_NUMERIC)
        if numeric or all(type(v) in _NUMBERS_AND_TEXT for v in held.values()):
            self._add((id(held), "contents"), lambda: Contents(path, held, dict.items, value))
            for name, inner in held.items() if numeric else ():
                if isinstance(inner, _LOOKED_INTO):
                    self.meet(inner, f"{path}.{name}")
            return
        if module_of(type(value)).startswith("agnesi."):
            return
        for name, inner in list(held.items()):  # other names are the library's own
            if name[0] != "_" and (type(inner) in ATOMS or isinstance(inner, _LOOKED_INTO)
                                   or is_users_object(type(inner))):
                self._add((id(value), name), functools.partial(
                    Attribute, f"{path}.{name}", value, name, inner))
                self.meet(inner, f"{path}.{name}")

    def by_name(self, owner: Any, name: str) -> None:
        """Record an attribute of a class, function or module whose name code computes."""
        with switched(reads=None):
            self.meet(owner, owner.__name__)
            if not isinstance(owner, type):
                self._of_owned(vars(owner), owner.__name__, name, True)
            elif owner in self._classes:
                self._of_class(owner, name)

    def all_of(self, owner: Any) -> None:
        """Record all attributes of a class, function or module."""
        self.by_name(owner, "__dict__")

    def asks(self, names: Collection[str]) -> bool:
        """Return whether code names any of these attributes."""
        return not self._names.isdisjoint(names)

    def _learn(self, code: CodeType) -> None:
        """Record the attribute names in code, which may belong to classes, functions and modules.
        """
        assigned = assigned_in(code) - self._assigned
        self._assigned |= assigned
        if missed := missed_in(code) - self._missed:
            self._missed |= missed
            self._names -= missed  # to be looked for again, where they are missing, too
        self._learn_names((set(attributes_of(code)) - self._names) | assigned)

    def _learn_names(self, new: set[str]) -> None:
        """Record attributes of these names for all known owners."""
        self._names |= new
        self._refuse_cleared()
        for owned, path in list(self._open.values()):
            for name in new:
                self._of_owned(owned, path, name)
        for kind in list(self._classes):
            for name in new:
                self._of_class(kind, name)
        for x, *_ in list(self._attributed.values()):
            self._of_tensor(x, new)

    def _refuse_cleared(self) -> None:
        """Raise OnlyEagerError if code queries or clears the cache of an ``lru_cache`` function."""
        if self._caches and not self._names.isdisjoint(("cache_clear", "cache_info")):
            raise OnlyEagerError("it asks about results that a function keeps, or clears them")

    def _introspected(self) -> None:
        """Record what code queries of functions, classes and containers about themselves."""
        definitions = [p for p in self.sources.values() if isinstance(p, Definition)]
        if "callable" in self._names:
            for source in definitions:
                source.add("__call__")
        for thing, name, ask in questions(
                lambda: [*self._seen.values(), *(p.value for p in definitions),
                         *(p.array for p in self.arrays.values())], self._names):
            if name not in self._assigned:
                path = f"{self._paths.get(id(thing), type(thing).__name__)}.{name}"
                self._add((id(thing), name, "asked"), functools.partial(Answer, path, ask, tuple))
