"""Paths of PyTorch's programs to names that lie elsewhere: ``distributions.normal.Normal``."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from agnesi.core.support.errors import at
from agnesi.core.support.migration_hints import hint


class Room(ModuleType):
    """A module that is not called, though a class of it has the same name."""

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        parent, _, last = self.__name__.rpartition(".")
        alike = [name for name in dir(sys.modules[parent])
                 if name.lower() == last and name != last]
        alike += [f"{last}.{last}"] * hasattr(self, last)
        told = f"; call {parent}.{alike[0]}" if alike else ""
        raise TypeError(at(f"{self.__name__} is a module, which is not called{told}"))


class Path(Room):
    """A module without names of its own: it gives those of the module that lends its own."""

    def __init__(self, name: str, lender: ModuleType) -> None:
        super().__init__(name, f"PyTorch's path to names of :mod:`{lender.__name__}`.")
        self.__dict__["_lender"] = lender

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(self.__dict__["_lender"], name)

    def __dir__(self) -> list[str]:
        return dir(self.__dict__["_lender"])


class Hints:
    """Finds no module: imports of other libraries' paths fail with what stands for them here."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Raise an error with a hint if this name has one; it is the last finder asked."""
        if name.startswith("agnesi."):
            parent, _, last = name.rpartition(".")
            told = hint(f"module {parent!r}", last)
            if told:
                raise ModuleNotFoundError(f"there is no {name}{told}")


def lend(lender: str, paths: str) -> None:
    """Add modules at ``paths`` below the module ``lender`` that export the lender's names.  A path
    comes after its prefixes.  An existing module only gets an error for attempts to call it."""
    module = sys.modules[lender]
    for path in paths.split():
        name = f"{lender}.{path}"
        if name in sys.modules:
            sys.modules[name].__class__ = Room
            continue
        parent, _, last = name.rpartition(".")
        sys.modules[name] = Path(name, module)
        setattr(sys.modules[parent], last, sys.modules[name])


sys.meta_path.append(Hints)
