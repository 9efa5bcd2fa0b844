"""What code reads of modules: those of the user, of Python and of libraries."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterable
from importlib.util import resolve_name
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from agnesi.compiler.tracing.bytecode import assigned_in, attributes_of, given_to, imports_of
from agnesi.compiler.tracing.introspection import LIST_ALL
from agnesi.compiler.tracing.object_kinds import of_library
from agnesi.compiler.tracing.process import process_state
from agnesi.compiler.tracing.source_table import SourceTable
from agnesi.compiler.tracing.sources import MISSING, Name, Source
from agnesi.core.support.config import ENVIRONMENT_NAMES, environment


class ModuleReads(SourceTable):
    """The sources that code reads through modules."""

    def __init__(self, hidden: Iterable[Any] = ()) -> None:
        super().__init__(hidden)
        self._recorded: set[tuple[int, str]] = set()
        #: Whether code uses NumPy.
        self._uses_numpy = False

    def meet(self, value: Any, path: str) -> None:
        """Record an object that the function can reach, and its contents."""
        raise NotImplementedError

    def _environment(self, module: Any, code: CodeType, named: str, local: bool = False) -> None:
        """Record what code reads of a library's module: the state of the process, the names that it
        uses, and those that are missing. ``local`` modules are held by a local name.
        """
        if not issubclass(type(module), ModuleType):
            return
        if module is os and not ENVIRONMENT_NAMES.isdisjoint(code.co_names):
            self.meet(environment(), "the environment")
        names = attributes_of(code)
        self._uses_numpy = self._uses_numpy or module is np
        self._note(process_state.answers(module, names, local))
        held = vars(module)
        missing = given_to(code, named, local) - held.keys()
        if "__getattr__" in held and missing:
            for name in missing & set(dir(module)):
                getattr(module, name)  # it is loaded at its first use, which changes nothing else
        for name in sorted(missing - held.keys()):
            self._add((id(held), name), functools.partial(
                Name, f"{module.__name__}.{name}", held, name, MISSING))
        for name in sorted(names & held.keys()):
            path, value, key = f"{module.__name__}.{name}", held[name], (id(held), name)
            if name.startswith("__") or key in self._recorded:
                continue
            self._recorded.add(key)
            self._add(key, functools.partial(Name, path, held, name, value))
            if isinstance(value, ModuleType):
                self._environment(value, code, name, local)
            elif process_state.is_plain(module, value):
                self.meet(value, path)

    def _note(self, answers: Iterable[tuple[Any, Callable[[], Source]]]) -> None:
        """Add the sources for answers about the process."""
        for key, source in answers:
            self._add(key, source)

    def kinship(self, kind: type, kinds: Any) -> None:
        """Record an ``issubclass`` query, since a class may be registered with an abstract one
        later.
        """
        self._note(process_state.kinships(kind, kinds))

    def _imported(self, names: dict[str, Any], code: CodeType) -> None:
        """Record what code reads of modules that it imports while it runs."""
        for name in imports_of(code):
            try:
                key = resolve_name(name, names.get("__package__") or "")
            except ImportError:
                continue
            found = sys.modules.get(key)
            if found is None:
                continue
            self._add((id(sys.modules), key), functools.partial(
                Name, name, sys.modules, key, found))
            if not isinstance(found, ModuleType):
                self.meet(found, name)
            elif of_library(found):
                self._environment(found, code, "", True)
            else:
                self._module(found, found.__name__, code)

    def _module(self, module: ModuleType, path: str, code: CodeType) -> None:
        """Record the attributes of a module that code may use, and those of modules in it."""
        self.meet(type(module), type(module).__name__)
        held = vars(module)
        names = {*code.co_names, *assigned_in(code)}
        if not LIST_ALL.isdisjoint(names):
            names.update(name for name in held if not name.startswith("__"))
        computes = "__getattr__" in held
        if computes:
            self.computed(held, path)
        for name in names:
            value = held.get(name, MISSING)
            if value is MISSING and not computes and name not in assigned_in(code):
                continue
            key = id(held), name
            if isinstance(value, ModuleType):
                if key in self._recorded or of_library(value):
                    continue
                self._recorded.add(key)
                self._module(value, f"{path}.{name}", code)
            self._add(key, lambda n=name, v=value: Name(f"{path}.{n}", held, n, v))  # type: ignore
            if value is not MISSING:
                self.meet(value, f"{path}.{name}")
            elif not computes:
                self.computed(held, path)

    def computed(self, held: dict[str, Any], path: str) -> None:
        """Record a module's ``__getattr__``, which finds names that the module does not have."""
        value, path = held.get("__getattr__", MISSING), f"{path}.__getattr__"
        self._add((id(held), "__getattr__"), functools.partial(
            Name, path, held, "__getattr__", value))
        if value is not MISSING:
            self.meet(value, path)
