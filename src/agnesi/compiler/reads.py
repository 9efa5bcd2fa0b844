"""What a function reads while it is traced: names, attributes, containers, classes.

Code tells by its text which names of modules and of functions around it reads; objects tell of
their attributes (``hooks``); a container that is found counts as read, with all that it holds.
Code and classes of libraries are taken for granted, but not the objects of ours that users build:
modules, optimizers.
"""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from opcode import opmap
from types import CodeType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from agnesi.compiler import hooks
from agnesi.compiler.direct import Direct
from agnesi.compiler.places import (
    MISSING,
    Answer,
    Attribute,
    Cell,
    Contents,
    Definition,
    Function,
    Kind,
    Name,
    Place,
    Slot,
    attributes,
    same,
)
from agnesi.core.config import switched
from agnesi.core.tensor import Tensor
from agnesi.core.tree import flatten
from agnesi.core.undo import Block

_SCALARS = (int, float, complex, str, bytes, bool, type(None), type(Ellipsis), np.generic, np.dtype,
            Tensor, np.ndarray)
_EXTENDED, _GLOBAL, _NAME = map(opmap.get, ("EXTENDED_ARG", "LOAD_GLOBAL", "LOAD_NAME"))
_MEMBER = type(vars(Tensor)["data"])
#: Packages whose objects hold nothing that users change between calls.
_LIBRARIES = frozenset(sys.stdlib_module_names) - {"argparse", "collections", "__main__"} | {
    "agnesi", "llvmlite", "numpy", "scipy"}
_OWN_OBJECTS = ("agnesi.nn", "agnesi.optim")
_FOLDERS = tuple(os.path.join(folder, "") for folder in (
    os.path.dirname(os.path.dirname(__file__)), os.path.dirname(np.__file__),
    sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))


class taking(Block):  # noqa: N801 - used as a function
    """A block in which what the thread reads is taken down."""

    _reads: Any = None
    _mode: switched | None = None

    def __init__(self, reads: Reads) -> None:
        self._reads = reads

    def begin(self) -> None:
        self._mode = switched(reads=self._reads)
        self._mode.__enter__()

    def end(self) -> None:
        mode, self._mode = self._mode, None
        if mode is not None:
            mode.undo()
        hooks.unhook(self._reads)


class Reads:
    """The places that a trace reads, of which objects tell within ``taking``."""

    def __init__(self, hidden: Iterable[Any] = ()) -> None:
        self.places: dict[Any, Place] = {}
        #: Places, by their keys, whose values are arguments.
        self.hidden = frozenset(hidden)
        #: Where the function put something without having read what was there.
        self.given: dict[Any, Place] = {}
        #: What the body of a loop or branch changes, the last of it; empty where there is none.
        self.repeated = ""
        self._met: dict[int, Any] = {}
        self._paths: dict[int, str] = {}
        self._told: set[tuple[int, str]] = set()

    # -- what is found ----------------------------------------------------------------------
    def meet(self, value: Any, path: str) -> None:
        """Look into something that the function can reach."""
        if isinstance(value, _SCALARS) or id(value) in self._met:
            return
        self._met[id(value)] = value
        self._paths[id(value)] = path
        if isinstance(value, FunctionType):
            self._function(value, path)
        elif isinstance(value, MethodType):
            self.meet(value.__self__, "self")
            self.meet(value.__func__, path)
        elif isinstance(value, functools.partial):
            for part in (value.func, value.args, value.keywords):
                self.meet(part, path)
        elif isinstance(value, Direct):
            self.meet(vars(value).get("function"), path)
        elif isinstance(value, type):
            self._class(value, path)
        elif not isinstance(value, ModuleType):
            self._container(value, path)
            self._object(value, path)

    def _add(self, key: Any, place: Callable[[], Place]) -> Place:
        found = self.places.get(key)
        if found is None:
            found = place()
            if key not in self.hidden:
                self.places[key] = found
        return found

    def _container(self, value: Any, path: str) -> None:
        """All that a container holds."""
        take = _taking(value)
        if take is None:
            return
        if not isinstance(value, (tuple, frozenset)):
            self._add((id(value), "contents"), lambda: Contents(path, value, take))
        for i, (key, inner) in enumerate(_inside(value)):
            self.meet(inner, f"{path}[{i if key is None else key!r}]")

    def _object(self, value: Any, path: str) -> None:
        """An object whose class can tell of reads."""
        kind = type(value)
        if not tells(kind):
            self.meet(getattr(value, "__wrapped__", None), path)
            return
        if hooks.hook(kind, self):
            self._add((id(value), "class"), lambda: Kind(path, value))
            self._definition(kind)

    def _definition(self, kind: type) -> Definition:
        """The class of an object; Python calls its special methods without reading them."""
        found = self.places.get(kind)
        if isinstance(found, Definition):
            return found
        made = self.places[kind] = Definition(kind.__name__, kind)
        for (part, name), method in list(made.names.items()):
            if name.startswith("__") and isinstance(method, FunctionType):
                self.meet(method, f"{part.__name__}.{name}")
        return made

    def _class(self, kind: type, path: str) -> None:
        """A class that is called or read itself."""
        if tells(kind):
            for (part, name), method in list(self._definition(kind).names.items()):
                inner = getattr(method, "__func__", getattr(method, "fget", method))
                self.meet(inner, f"{part.__name__}.{name}")

    # -- what functions name ----------------------------------------------------------------
    def _function(self, function: FunctionType, path: str) -> None:
        code, library = function.__code__, _is_library(function.__code__.co_filename)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            # What libraries keep for themselves may change; what users gave them counts.
            place = Cell(name, cell) if library else self._add(
                ("cell", id(cell)), lambda n=name, c=cell: Cell(n, c))  # type: ignore
            self.meet(place.value, name)
        self.meet(getattr(function, "__wrapped__", None), path)
        if library:
            return
        self._add(("function", id(function)), lambda: Function(path, function))
        for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self.meet(value, f"a default of {path}")
        for inner in _codes(code):
            for name in _globals_of(inner):
                self._name(function.__globals__, name, inner)

    def _name(self, names: dict[str, Any], name: str, code: CodeType) -> None:
        value = names.get(name, MISSING)
        if isinstance(value, ModuleType) and _is_library(getattr(value, "__file__", None) or ""):
            return
        self._add((id(names), name), lambda: Name(name, names, name, value))
        if isinstance(value, ModuleType):
            self._module(value, name, code)
        elif isinstance(value, type) and tells(value):
            definition = self._definition(value)
            for attribute in code.co_names:
                definition.add(attribute)
                self.meet(vars(value).get(attribute), f"{name}.{attribute}")
        if value is not MISSING:
            self.meet(value, name)

    def _module(self, module: ModuleType, path: str, code: CodeType) -> None:
        """What code may read of a module that it names."""
        for name in code.co_names:
            value = vars(module).get(name, MISSING)
            if value is MISSING or isinstance(value, ModuleType):
                continue
            self._add((id(vars(module)), name),
                      lambda n=name, v=value: Name(f"{path}.{n}", vars(module), n, v))  # type: ignore
            self.meet(value, f"{path}.{name}")

    # -- what objects tell ------------------------------------------------------------------
    def attribute(self, owner: Any, name: str, plainly: Callable[[Any, str], Any]) -> Any:
        """Read an attribute, and take down what was read."""
        key = id(owner), name
        if key in self._told or name == "__class__":
            return plainly(owner, name)
        with switched(reads=None):
            self._took(owner, name)
        value = plainly(owner, name)
        self.meet(value, f"{self._paths.get(id(owner), type(owner).__name__)}.{name}")
        return value

    def written(self, owner: Any, name: str) -> None:
        """What an attribute held counts no longer: the function gives it a value itself."""
        if (id(owner), name) in self._told:
            return
        if id(owner) not in self._paths:  # made by the function
            self._told.add((id(owner), name))
            return
        known, self.places = self.places, self.given
        try:
            with switched(reads=None):
                self._took(owner, name)
        finally:
            self.places = known

    @contextmanager
    def body(self) -> Iterator[None]:
        """What is changed in this block happens once, where the plain function does it in turns."""
        before = {id(p): p.now() for p in self._all_places()}
        yield
        for place in self._all_places():
            now, then = place.now(), before.get(id(place), place.value)
            if not place.holds() and now is not then and not same(now, then):
                self.repeated = place.path

    def _all_places(self) -> list[Place]:
        return [*self.places.values(), *self.given.values()]

    def settle(self) -> None:
        """Forget what was read of objects that the function made itself."""
        for key, place in list(self.places.items()):
            owner = getattr(place, "owner", None)
            unknown = owner is not None and id(owner) not in self._paths
            if unknown and (holds_symbol(place.value) or not place.holds()):
                del self.places[key]

    def knows(self, value: Any) -> bool:
        """Whether an object was there before the trace."""
        return id(value) in self._paths

    def answer(self, owner: Any, ask: Callable[[], Iterable[Any]],
               sources: Callable[[], Iterable[Any]]) -> None:
        """The library asked an object something, which it found in its own dict and in lists."""
        path = self._paths.get(id(owner), type(owner).__name__)
        self._add((id(owner), "answer"), lambda: Answer(path, ask, sources))

    def _took(self, owner: Any, name: str) -> None:
        """Note where the value of an attribute comes from."""
        self._told.add((id(owner), name))
        self._met.setdefault(id(owner), owner)
        kind = type(owner)
        path = f"{self._paths.get(id(owner), kind.__name__)}.{name}"
        self._add((id(owner), "class"), lambda: Kind(path, owner))
        defined = next((vars(k)[name] for k in kind.__mro__ if name in vars(k)), MISSING)
        if name == "__dict__":
            held = attributes(owner)
            self._add((id(held), "contents"), lambda: Contents(path, held, dict.items, owner))
            for key, inner in list(held.items()):
                self.meet(inner, f"{path}[{key!r}]")
        elif isinstance(defined, _MEMBER):
            value = _held(owner, defined)
            self._add((id(owner), name), lambda: Slot(path, owner, defined, value))
        elif hasattr(type(defined), "__set__"):
            self._definition(kind).add(name)
            self.meet(getattr(defined, "fget", None), path)
        else:
            value = attributes(owner).get(name, MISSING)
            if value is not MISSING or kind.__dictoffset__:
                self._add((id(owner), name), lambda: Attribute(path, owner, name, value))
            if value is MISSING:
                self._definition(kind).add(name)


def holds_symbol(value: Any) -> bool:
    """Whether a value, or an entry of a container, exists in the trace only."""
    return any(isinstance(v, Tensor) and v.data is None for v in flatten(value)[0])


def _held(owner: Any, member: Any) -> Any:
    try:
        return member.__get__(owner)
    except AttributeError:
        return MISSING


def _taking(value: Any) -> Callable[[Any], Any] | None:
    """How to take the elements of a container; None for what is none."""
    if isinstance(value, dict):
        return OrderedDict.items if isinstance(value, OrderedDict) else dict.items
    if isinstance(value, (list, tuple, set, frozenset, deque, bytearray)):
        return iter
    if isinstance(value, SimpleNamespace):
        return lambda namespace: vars(namespace).items()
    return None


def _inside(value: Any) -> Iterator[tuple[Any, Any]]:
    """Keys, if they say more than numbers, and elements."""
    if isinstance(value, SimpleNamespace):
        value = vars(value)
    if isinstance(value, dict):
        yield from list(value.items())
    elif not isinstance(value, bytearray):
        yield from ((None, v) for v in list(value))


def tells(kind: type) -> bool:
    """Whether a class is the user's, or one of ours whose objects users build."""
    module = kind.__module__ if isinstance(kind.__module__, str) else ""
    return not issubclass(kind, (BaseException, type, Tensor)) and (
        module.startswith(_OWN_OBJECTS) or module.partition(".")[0] not in _LIBRARIES)


@functools.cache
def _is_library(file: str) -> bool:
    """Whether a file is not the user's."""
    return file.startswith(_FOLDERS)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Code, and that of functions that are made in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


@functools.lru_cache(maxsize=4096)
def _globals_of(code: CodeType) -> tuple[str, ...]:
    """Names of its module that code reads."""
    found: dict[str, None] = {}
    extended, raw = 0, code.co_code
    for i in range(0, len(raw), 2):
        operation, argument = raw[i], raw[i + 1] | extended
        extended = argument << 8 if operation == _EXTENDED else 0
        if operation == _GLOBAL:
            found[code.co_names[argument >> 1]] = None
        elif operation == _NAME:
            found[code.co_names[argument]] = None
    return tuple(found)


