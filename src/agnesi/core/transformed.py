"""Functions that public transformations make of others, such as ``grad(f)``: pickled as that."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from copy import deepcopy
from types import MethodType
from typing import Any


def named(function: Any) -> Any:
    """Return what pickle finds under a function's module and name, or None."""
    found: Any = sys.modules.get(getattr(function, "__module__", ""))
    for part in getattr(function, "__qualname__", "").split("."):
        found = getattr(found, part, None)
    return found


def name_of(function: Any) -> str:
    """Return the name of a callable: that of what it calls for a partial, else its type's."""
    while isinstance(function, functools.partial) and not hasattr(function, "__name__"):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


class Transformed(functools.partial):
    """The result of ``maker(*given)``, a transformation of the user's function; errors name it
    ``owner``."""

    owner: str
    maker: Callable[..., Any]
    given: tuple[Any, ...]

    def __reduce__(self) -> Any:
        """Pickle by reference if the qualified name leads to it, else by the maker and its
        arguments."""
        if named(self) is self:
            return self.__qualname__
        return self.maker, self.given

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        given = deepcopy(self.given, memo)
        same = all(new is old for new, old in zip(given, self.given, strict=True))
        return self if same else self.maker(*given)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<ag.{self.owner} of {self.given[0]!r}>"


def transformed(call: Callable[..., Any], owner: str, maker: Callable[..., Any],
                f: Callable[..., Any], *given: Any) -> Any:
    """``call`` under the name of ``f``; ``maker(f, *given)`` makes it again."""
    found = Transformed(call)
    functools.update_wrapper(found, f)
    found.owner, found.maker, found.given = owner, maker, (f, *given)
    return found
