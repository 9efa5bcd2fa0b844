"""Paths of PyTorch's programs to names that are elsewhere: ``distributions.normal.Normal``."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, NoReturn

from agnesi.core.support.errors import at
from agnesi.core.support.migration_hints import hint


class Namespace(ModuleType):
    """A module that is not called, though a class of it has the same name."""

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        parent, _, last = self.__name__.rpartition(".")
        alike = [name for name in dir(sys.modules[parent]) if name.lower() == last and name != last]
        alike += [f"{last}.{last}"] * hasattr(self, last)
        advice = f"; call {parent}.{alike[0]}" if alike else ""
        raise TypeError(at(f"{self.__name__} is a module, which is not called{advice}"))


class Path(Namespace):
    """A module that forwards every attribute to another module."""

    def __init__(self, name: str, source: ModuleType) -> None:
        super().__init__(name, f"PyTorch's path to names of :mod:`{source.__name__}`.")
        self.__dict__["_source"] = source

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(self.__dict__["_source"], name)

    def __dir__(self) -> list[str]:
        return dir(self.__dict__["_source"])


#: Modules that PyTorch's programs import at their top, and call where they download weights, write
#: other formats or start processes: only what is called is refused.  Python's own has the rest.
_FOR_CALLS = {"agnesi.hub": None, "agnesi.onnx": None, "agnesi.utils.model_zoo": None,
              "agnesi.multiprocessing": "multiprocessing"}


def absent(owner: str, name: str, advice: str = "") -> type:
    """What an import of a name gets that is not here, and whose call says what to use: a class, as
    programs check whether something is an instance of it."""

    def refuse(cls: type, *args: Any, **keywords: Any) -> NoReturn:
        raise NotImplementedError(at(f"there is no {owner}.{name}"
                                     f"{advice or hint(f'module {owner!r}', name)}"))

    return type(name, (), {"__new__": refuse, "__module__": owner})


class ForCalls(ModuleType):
    """A module whose names are refused when they are called."""

    def __getattr__(self, name: str) -> Any:
        own = _FOR_CALLS[self.__name__]
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        found = None if own is None else getattr(import_module(own), name, None)
        if found is not None and not isinstance(found, ModuleType):
            return found
        parent, _, last = self.__name__.rpartition(".")
        return absent(self.__name__, name, hint(f"module {parent!r}", last))


class FunctionAsModule:
    """Loads a function as a module: what PyTorch's programs import from ``torch.jit`` is an
    attribute of the function ``jit``."""

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        """A plain module, which the function replaces."""

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Put the function where the import system takes the module from."""
        parent, _, last = module.__name__.rpartition(".")
        sys.modules[module.__name__] = getattr(sys.modules[parent], last)


class Hints:
    """An import finder: some modules of other libraries can be imported, and only their calls are
    refused; imports of others raise with our name for them."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Raise an error with a hint if this name has one; it is the last finder called."""
        if name in _FOR_CALLS:
            return ModuleSpec(name, Hints)  # type: ignore[arg-type]
        if name == "agnesi.jit":
            return ModuleSpec(name, FunctionAsModule)  # type: ignore[arg-type]
        if name.startswith("agnesi."):
            parent, _, last = name.rpartition(".")
            advice = hint(f"module {parent!r}", last)
            folders = getattr(sys.modules.get(parent), "__path__", None)
            if advice and (folders is None or PathFinder.find_spec(name, folders) is None):
                raise ModuleNotFoundError(f"there is no {name}{advice}")
        return None

    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType:
        """A module whose names are refused when they are called."""
        return ForCalls(spec.name)

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Run nothing: the module has no code."""


def add_paths(source: str, paths: str) -> None:
    """Add modules at ``paths`` below the module ``source`` that export the source's names.  A path
    comes after its prefixes.  An existing module only gets an error for attempts to call it."""
    module = sys.modules[source]
    for path in paths.split():
        name = f"{source}.{path}"
        if name in sys.modules:
            sys.modules[name].__class__ = Namespace
            continue
        parent, _, last = name.rpartition(".")
        sys.modules[name] = Path(name, module)
        setattr(sys.modules[parent], last, sys.modules[name])


sys.meta_path.append(Hints)
