"""Record the reads of a function while it is traced: names, attributes, containers, classes.

The names of modules and of enclosing functions that code reads are in its bytecode; objects report
their attributes (``hooks``); a container that is found counts as read, with all that it holds.
Code and classes of libraries are taken for granted, but not the objects of ours that users build:
modules, optimizers.
"""

from __future__ import annotations

import builtins
import functools
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from enum import Enum
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from agnesi.compiler.binding.call_stub import Direct
from agnesi.compiler.tracing import hooks
from agnesi.compiler.tracing.arguments.texts import refuse_catching
from agnesi.compiler.tracing.builtin_calls import STAND_INS, Replaced, own_code
from agnesi.compiler.tracing.bytecode import (
    codes,
    compared_in,
    globals_by_text,
    globals_of,
    globals_put_by,
    makes_text,
    searches,
)
from agnesi.compiler.tracing.containers.borrowed_arrays import BorrowedArray
from agnesi.compiler.tracing.containers.contents import (
    Answer,
    Appended,
    Contents,
    Context,
    Raw,
)
from agnesi.compiler.tracing.containers.parts import Parts
from agnesi.compiler.tracing.containers.uses import READ_WHOLE, uses_at, uses_of
from agnesi.compiler.tracing.introspection import names_in, reader_of
from agnesi.compiler.tracing.object_kinds import (
    ERROR_CONTENTS,
    HOLDERS,
    RAW,
    REFERENCES,
    SCALARS,
    behind,
    described,
    held_by,
    holds_nan,
    holds_symbol,
    inside,
    is_dead,
    is_library,
    is_librarys_cache,
    is_users_object,
    of_library,
    refuse_unreadable,
    refuse_weak,
    taking_elements,
)
from agnesi.compiler.tracing.obstacles import OnlyEagerError
from agnesi.compiler.tracing.owned_reads import ATOMS, OwnedReads
from agnesi.compiler.tracing.process import kept_results, process_state
from agnesi.compiler.tracing.sources import (
    MISSING,
    Attribute,
    Cell,
    Defaults,
    Function,
    Kind,
    Name,
    Slot,
    attributes,
    weakly,
)
from agnesi.core.support.config import switched
from agnesi.core.support.exports import module_of
from agnesi.core.support.tree import flatten
from agnesi.core.tensor import Tensor

#: Letters of the name of an object.
_MAX_NAME_LETTERS = 200
_MEMBER = type(vars(Tensor)["array"])
#: Builtin names, which are never deleted.
_BUILTINS = frozenset(dir(builtins))
#: What is neither a tensor nor a container.
_DISTINCT = (type, ModuleType, FunctionType, Enum, int, str)
#: Names of the dicts of modules' names.
_GLOBALS = frozenset(("globals", "__globals__"))
#: Attributes that show all that an object holds.
_ALL_ATTRIBUTES = frozenset(("__dict__", "__getstate__", "__reduce__", "__reduce_ex__"))


class Reads(OwnedReads):
    """The sources that a trace reads; within ``taking``, objects report their reads."""

    def __init__(self, hidden: Iterable[Any] = (), borrowing: Any = None,
                 passes_texts: bool = False) -> None:
        super().__init__(hidden)
        #: Functions whose code calls stand-ins for builtins during the trace.
        self.replaced = Replaced()
        #: Containers of which code uses single entries.
        self.parts = Parts(self, borrowing)
        #: Objects, by identity, another read of which adds nothing.
        self._quiet: set[int] = set()
        #: The filters of warnings, and where prints go.
        self.filters, self.stdout = warnings.filters, sys.stdout
        #: Objects that were first reached through a weak reference, by id.
        self._weak: dict[int, Any] = {}
        #: Whether code compares the identity of what may be tensors or containers.
        self.identifies = False
        #: Whether objects that are no strings stand for strings among the arguments.
        self.passes_texts = passes_texts
        #: Whether the code converts objects to str.
        self._makes_text = False
        #: Whether code looks for elements of containers.
        self._searches = False
        #: What is still to be looked into; None while nothing is.
        self._waiting: list[tuple[Any, str]] | None = None

    # -- what is found ----------------------------------------------------------------------
    def meet(self, value: Any, path: str) -> None:
        """Record an object that the function can reach, and recursively its content."""
        if self._waiting is not None:
            self._waiting.append((value, path))
            return
        stack = [(value, path)]
        try:
            while stack:
                value, path = stack.pop()
                if len(path) > _MAX_NAME_LETTERS:
                    path = f"{path[:_MAX_NAME_LETTERS // 2]}...{path[-_MAX_NAME_LETTERS // 4:]}"
                self._waiting = []
                self._look(value, path)
                stack += reversed(self._waiting)
        finally:
            self._waiting = None

    def pass_over(self, container: Any) -> None:
        """Never record a container: its parts are arguments of the trace."""
        self._seen[id(container)] = container
        self.parts.passed_over.add(id(container))

    def _look(self, value: Any, path: str) -> None:
        """Record an object itself, if it was not recorded before."""
        if is_dead(value) or isinstance(value, BorrowedArray):
            return
        if isinstance(value, Tensor):
            self._tensors[id(value)] = value
            self._flag(value, path)
            return
        atom = isinstance(value, SCALARS)
        if atom or id(value) in self._seen:
            self._look_into(value, path)
            if not atom or not is_users_object(type(value)) or id(value) in self._seen:
                return
        refuse_unreadable(value, path)
        self._seen[id(value)] = value
        self._paths[id(value)] = path
        self._note(process_state.answers_of(value, self._names))
        self._look_inside(value, path)

    def _look_inside(self, value: Any, path: str) -> None:
        """Record what a new object holds, by its kind."""
        if isinstance(value, FunctionType):
            self._function(value, path)
        elif isinstance(value, MethodType):
            self.meet(value.__self__, "self")
            self.meet(value.__func__, path)
        elif (state := process_state.state_of(value, path)) is not None:
            self._add((id(value), "state"), state)
        elif isinstance(value, functools.partial):
            self.parts.of_partial(value, path)
        elif (parts := behind(value)) is not None:
            self._stands_for(value, parts, path)
        elif names := names_in(value):
            self._learn_names(names)
        elif isinstance(value, Direct):
            self.meet(vars(value).get("function"), path)
        elif isinstance(value, RAW) or module_of(type(value)) == "array":
            self._add((id(value), "contents"), lambda: Raw(path, value))
        elif isinstance(value, ContextVar):
            self.meet(self._add((id(value), "value"), lambda: Context(path, value)).value, path)
        elif isinstance(value, type):
            self._class(value, path)
        elif isinstance(value, ModuleType):
            if not of_library(value):
                self.meet(type(value), type(value).__name__)
                self._owned(vars(value), path)
        else:
            self._container(value, path)
            self._object(value, path)
            if isinstance(value, functools._lru_cache_wrapper):
                self._cache(value)

    def _stands_for(self, value: Any, parts: tuple[Any, ...], path: str) -> None:
        """Record the objects that a weak reference, proxy or property refers to."""
        for part in parts:
            thing = part.__self__ if isinstance(part, MethodType) else part
            if isinstance(value, REFERENCES) and not (thing is None or id(thing) in self._seen):
                self._weak[id(thing)] = thing
            self.meet(part, path)

    def _cache(self, value: Any) -> None:
        """Record a function with an ``lru_cache``; results that it does not hold are not computed
        during a trace.
        """
        self._caches[id(value)] = value, value.cache_info()
        self._refuse_cleared()
        if isinstance(value.__wrapped__, FunctionType) and not is_librarys_cache(value):
            self.replaced.refuse_misses(value, kept_results.fill_first)
            for key, result in kept_results.found_in(value):
                self.meet(result, f"what {self._paths[id(value)]} keeps for {key!r}")

    def _container(self, value: Any, path: str) -> None:
        """Record everything that a container holds."""
        take = taking_elements(value)
        if take is None:
            return
        if not isinstance(value, (tuple, frozenset)):
            self._add((id(value), "contents"), lambda: Contents(path, value, take))
            if type(value) in (list, dict):
                self.parts.borrowed.fill(value)
        for i, (key, inner) in enumerate(inside(value)):
            self.meet(inner, f"{path}[{i if key is None else key!r}]")
        if isinstance(value, defaultdict):
            self.factory(value, path)

    def factory(self, value: defaultdict[Any, Any], path: str) -> None:
        """Return the default factory of a dict, for missing keys."""
        path, slot = f"{path}.default_factory", vars(defaultdict)["default_factory"]
        self._add((id(value), "default_factory"),
                  lambda: Slot(path, value, slot, value.default_factory))
        self.meet(value.default_factory, path)

    def _all_of(self, path: str, owner: Any, held: dict[str, Any]) -> Contents:
        """Return a guard on all attributes of an object, as they were before the function changed
        any.
        """
        source = Contents(path, held, dict.items, owner)
        before = {p.name: p.value for p in self._all_sources()
                  if isinstance(p, Attribute) and p.owner is owner}
        found = {**dict(source.value), **before}
        source.value = tuple((k, v) for k, v in found.items() if v is not MISSING)
        return source

    def _look_into(self, value: Any, path: str) -> None:
        """Record the contents of a list that was only appended to so far, or of a small array."""
        if isinstance(value, np.ndarray):
            known = id(value) in self.arrays
            self.remember(value, path)
            if type(value) is not np.ndarray and not known:  # a masked array has another inside
                for inner in attributes(value).values():
                    if isinstance(inner, np.ndarray):
                        self.meet(inner, path)
            for i, inner in enumerate(value.ravel().tolist() if value.dtype.hasobject else ()):
                self.meet(inner, f"{path}[{i}]")
        self.parts.look_into(value)
        key = id(value), "contents"
        source = self.sources.get(key)
        if isinstance(source, Appended):
            made = self.sources[key] = Contents(source.path, value, iter)
            made.value = source.value
            for i, inner in enumerate(source.value):
                self.meet(inner, f"{source.path}[{i}]")

    def _object(self, value: Any, path: str) -> None:
        """An object whose class can report reads."""
        kind = type(value)
        if isinstance(value, BaseException):
            self._class(kind, kind.__name__)
            source = self._add((id(value), "contents"), lambda: process_state.State(
                path, value, *ERROR_CONTENTS))
            for args, held in source.value:
                for inner in (args, *(inner for _, inner in held)):
                    self.meet(inner, f"{path}.args")
        if not is_users_object(kind):
            self.meet(getattr(value, "__wrapped__", None), path)
            self._librarys(value, path)
            return
        if hooks.hook(kind, self):
            self._add((id(value), "class"), lambda: Kind(path, value))
            self._definition(kind)

    # -- what functions name ----------------------------------------------------------------
    def _function(self, function: FunctionType, path: str) -> None:
        code = own_code(function)
        library = is_library(code.co_filename)
        if not library:
            if self.passes_texts:
                refuse_catching(code)
            self._learn(code)
            self._memory_taken(function, code)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            # What libraries keep for themselves may change; what users gave them counts.
            source = Cell(name, cell) if library else self._add(
                ("cell", id(cell)), lambda n=name, c=cell: Cell(n, c))  # type: ignore
            self._environment(source.value, code, name, True)
            if library and (module_of(type(source.value)) in HOLDERS
                            or is_librarys_cache(source.value)):
                continue
            if library:
                self.meet(source.value, name)
            else:
                self.parts.use(source.value, name, functools.partial(
                    uses_of, code, name, function.__globals__), source)
        self.meet(getattr(function, "__wrapped__", None), path)
        if library:
            return
        self._add(("function", id(function)), lambda: Function(path, function))
        self._makes_text = self._makes_text or makes_text(code)
        self._searches = self._searches or searches(code)
        self.identifies = self.identifies or any(
            name is None or not isinstance(function.__globals__.get(name, int), _DISTINCT)
            for name in compared_in(code))
        self._owned(vars(function), path)
        self.replaced.replace(function)
        for value in self.parts.borrowed.held(Defaults(path, function)) or ():
            self.meet(value, f"a default of {path}")
        self.meet(function.__kwdefaults__, f"the keyword defaults of {path}")
        for inner in codes(code):
            for name in globals_of(inner):
                self._name(function.__globals__, name, inner)
            self._imported(function.__globals__, inner)
            for name in globals_put_by(inner):
                names = function.__globals__
                self.source((id(names), name), functools.partial(
                    Name, name, names, name, names.get(name, MISSING)), True)
        if any(not _GLOBALS.isdisjoint(inner.co_names) for inner in codes(code)):
            names = function.__globals__
            named = globals_by_text(code)
            if named is None:
                self._add((id(names), "names"), lambda: Answer(
                    f"the names around {path}", lambda: tuple(names), tuple))
            for name in [n for n in names if n[:2] != "__"] if named is None else named:
                self._name(names, name, code, by_text=True)

    def _name(self, names: dict[str, Any], name: str, code: CodeType, by_text: bool = False
              ) -> None:
        value = names.get(name, MISSING)
        if issubclass(type(value), ModuleType) and of_library(value):
            self._add((id(names), name), lambda: Name(name, names, name, value))
            self._environment(value, code, name)
            return
        value = self.parts.borrowed.array_of(value)
        source = self._add((id(names), name), lambda: Name(name, names, name, value))
        if value is MISSING and name not in _BUILTINS:
            held = vars(builtins)
            self._add((id(held), name), lambda: Name(name, held, name, held.get(name, MISSING)))
        if issubclass(type(value), ModuleType):
            self._module(value, name, code)
        if value is not MISSING and id(value) not in STAND_INS:
            self.parts.use(value, name, lambda: READ_WHOLE if by_text else uses_of(
                code, name, names), source)

    # -- reads that objects report ------------------------------------------------------------
    def attribute(self, owner: Any, name: str, plainly: Callable[[Any, str], Any]) -> Any:
        """Return an attribute, and record the read."""
        if name == "__class__":
            return self.kind(plainly(owner, name))
        if (id(owner), name) not in self._recorded:
            with switched(reads=None):
                self._took(owner, name)
        value = plainly(owner, name)
        if type(value) in ATOMS or id(value) in self._quiet:
            if type(value) is Tensor:
                self._flag(value, name)
            return value
        if (given := self.parts.borrowed.known(value)) is not value:
            return given
        if self._is_known(value):
            self._quiet.add(id(value))
            return value
        path = f"{self._paths.get(id(owner), type(owner).__name__)}.{name}"
        reader, known = reader_of(sys._getframe(2)), len(self._paths)
        source = self.sources.get((id(owner), name)) or self.given.get((id(owner), name))
        if type(value) in (list, dict, set) and self._is_put(owner, name, value, source):
            self.pass_over(value)
            return value
        value = self.parts.use(value, path, lambda: uses_at(reader, name))
        if id(owner) not in self._paths or (source is not None and source.value is not value):
            self.note_new(known)
        return value

    def kind(self, kind: Any) -> Any:
        """Record that code reads the class of an object, whose attributes it may read next."""
        if isinstance(kind, type) and id(kind) not in self._seen:
            with switched(reads=None):
                self.meet(kind, kind.__name__)
        return kind

    def _is_put(self, owner: Any, name: str, value: Any, source: Any) -> bool:
        """Return whether an attribute holds a container that the traced code itself has stored
        there."""
        put = (id(owner), name) in self.hidden if source is None else source.value is not value
        return put and attributes(owner).get(name) is value and id(value) not in self._seen

    def _is_known(self, value: Any) -> bool:
        """Return whether an object has been recorded, so that another read of it adds no guard."""
        return id(value) in self._seen and value not in self.parts and not isinstance(
            value, np.ndarray) and not isinstance(
                self.sources.get((id(value), "contents")), Appended)

    def written(self, owner: Any, name: str, deleted: bool = False) -> None:
        """Drop the guard on an attribute that the function assigned before reading it; an attribute
        that it deletes must exist.
        """
        if (id(owner), name) in self._recorded:
            return
        if id(owner) not in self._paths:  # made by the function
            self._recorded.add((id(owner), name))
            return
        known = self.sources
        self.sources = self.sources if deleted else self.given
        try:
            with switched(reads=None):
                self._took(owner, name)
        finally:
            self.sources = known

    def settle(self) -> None:
        """Finish recording: drop reads of what the function made, and keep attributes that were
        assigned but are as before.
        """
        kept_results.refill(self._caches.values())
        self.settle_writes()
        self.parts.borrowed.check((p.array for p in self.arrays.values()), self.identifies)
        if self._makes_text and (self.arrays or self._uses_numpy):
            self._note(process_state.printing())
        self._introspected()
        self._refuse_memory()
        process_state.refuse_states(self.sources.values())
        for source in self.sources.values() if self._searches else ():
            if type(source.value) is tuple and holds_nan(source.value):
                raise OnlyEagerError(f"it looks for an element of {source.path}, which holds NaN: "
                                     "Python finds that by identity")
        for key, source in self.given.items():
            if source.holds():
                self._add(key, lambda p=source: p)  # type: ignore
        for kept in [v for v in self._seen.values() if isinstance(v, functools._lru_cache_wrapper)]:
            self._add((id(kept), "kept"), functools.partial(
                kept_results.Kept, self._paths[id(kept)], kept))
        for key, source in list(self.sources.items()):
            owner = getattr(source, "owner", None)
            unknown = owner is not None and id(owner) not in self._paths
            if unknown and (holds_symbol(source.value) or not source.holds()):
                del self.sources[key]
        if self._weak:
            refuse_weak(self._weak.values(), self._all_sources())
        for thing in self._weak.values():
            if not weakly(self.sources, thing):
                raise OnlyEagerError(f"it has {described(thing)} by a weak reference only")

    def settle_writes(self) -> None:
        """Record what the function has put where changes are not seen."""
        self.parts.settle()
        self._attributes_put()

    def release(self, failed: bool = False) -> None:
        """Hold nothing more that weak references refer to: what is garbage may stay for a while.
        After a trace that ``failed``, nothing needs the sources either."""
        if self._weak:
            self._weak, self._seen = {}, {}
            if failed:
                self.sources, self.given = {}, {}

    def answer(self, owner: Any, ask: Callable[[], Iterable[Any]],
               sources: Callable[[], Iterable[Any]]) -> None:
        """Record the result of a search that the library made in an object's ``__dict__`` and
        lists.
        """
        path = self._paths.get(id(owner), type(owner).__name__)
        found = self._add((id(owner), "answer"), lambda: Answer(path, ask, sources)).value
        for value in flatten(found)[0]:
            if isinstance(value, Tensor):
                self._flag(value, path)

    def _took(self, owner: Any, name: str) -> None:
        """Record the source of an attribute's value."""
        self._recorded.add((id(owner), name))
        self._seen.setdefault(id(owner), owner)
        kind = type(owner)
        path = f"{self._paths.get(id(owner), kind.__name__)}.{name}"
        self._add((id(owner), "class"), lambda: Kind(path, owner))
        defined = next((vars(k)[name] for k in kind.__mro__ if name in vars(k)), MISSING)
        if name in _ALL_ATTRIBUTES:
            held = attributes(owner)
            self._add((id(held), "contents"), lambda: self._all_of(path, owner, held))
            for key, inner in list(held.items()):
                self.meet(inner, f"{path}[{key!r}]")
        elif isinstance(defined, _MEMBER):
            value = held_by(owner, defined)
            self._definition(kind).add(name)  # which may come to stand before it
            self._add((id(owner), name), lambda: Slot(path, owner, defined, value))
        elif hasattr(type(defined), "__set__"):
            self._definition(kind).add(name)
            own = defined if is_users_object(type(defined)) else None
            self.meet(getattr(defined, "fget", own), path)
        else:
            value = attributes(owner).get(name, MISSING)
            self._definition(kind).add(name)  # a property may come to stand before the value
            if value is not MISSING or kind.__dictoffset__:
                self._add((id(owner), name), lambda: Attribute(path, owner, name, value))
            if value is MISSING:
                if defined is MISSING:
                    self._definition(kind).add("__getattr__")
                if hasattr(type(defined), "__get__") and is_users_object(type(defined)):
                    self.meet(defined, path)
