"""What code asks of functions, classes and containers about themselves, besides what they hold.

Which of it code asks is told by the names that it has; the answers are asked again by each call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from types import FunctionType, ModuleType
from typing import Any

Ask = Callable[[], tuple[Any, ...]]


def _named(name: str) -> Callable[[Any], tuple[Any, ...]]:
    return lambda thing: (getattr(thing, name),)


def _annotations(function: Any) -> tuple[Any, ...]:
    return tuple(function.__annotations__.items())


#: What may change of things of a kind, by the name that code has for it.
_QUESTIONS: dict[type, dict[str, Callable[[Any], tuple[Any, ...]]]] = {
    FunctionType: {
        "__annotations__": _annotations,
        **{name: _named(name) for name in ("__doc__", "__name__")}},
    type: {"__subclasses__": lambda kind: tuple(type.__subclasses__(kind)),
           **dict.fromkeys(("dir", "getmembers"), lambda kind: tuple(dir(kind)))},
    ModuleType: dict.fromkeys(("dir", "getmembers", "vars", "__dict__"),
                              lambda module: tuple(vars(module))),
}
_ALL_NAMES = frozenset(name for some in _QUESTIONS.values() for name in some)


def questions(things: Callable[[], list[Any]], names: AbstractSet[str]
              ) -> Iterator[tuple[Any, str, Ask]]:
    """What code of some names may ask of things: the thing, the name, how to ask."""
    asked = _ALL_NAMES & names
    if not asked:
        return
    for thing in things():
        for kind, some in _QUESTIONS.items():
            if isinstance(thing, kind):
                for name in asked & some.keys():
                    yield thing, name, functools.partial(some[name], thing)
