"""Copies and pickles of deeply nested modules.

Both follow attributes and would come to the end of Python's stack.  So the attributes of the
outermost module name all modules inside before, innermost first: each then finds those inside of
it done.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator
from typing import Any

from agnesi.core.support.errors import NestingError, at
from agnesi.core.support.tree import nested_beyond
from agnesi.core.tensor import Tensor

#: Nested modules for which the stack is deep enough anyway.
_MAX_SHALLOW_MODULES = 32
#: Nested containers for which it is.
_MAX_SHALLOW_CONTAINERS = 64
#: What modules hold beside attributes that other objects may have, too.
_FACTS = ("_borrowed", "_learned", "_made", "_owned", "_training")
_THREAD = threading.local()


class Attributes(dict[str, Any]):
    """Attributes of a module, which is written with all modules inside before."""

    def __init__(self, held: dict[str, Any], inside: list[Any]) -> None:
        super().__init__(held)
        self._inside = inside

    def __reduce_ex__(self, protocol: Any) -> Any:
        return dict, (), None, None, self._written()

    def _written(self) -> Iterator[tuple[str, Any]]:
        first = next(iter(self))  # where modules stand for a moment
        before = under_way()
        _THREAD.modules = before | set(map(id, self._inside))
        try:
            for module in self._inside:
                yield first, module
        finally:
            _THREAD.modules = before
        yield from self.items()


def apart(module: Any, memo: dict[int, Any]) -> Any:
    """A deep copy of a module, whose parameters have no gradients yet, as in PyTorch."""
    how, given, state, *_ = module.__reduce_ex__(2)
    made = memo[id(module)] = how(*copy.deepcopy(given, memo))
    made.__setstate__(copy.deepcopy(state, memo))
    for value in vars(made).values():
        if isinstance(value, Tensor) and value.array is not None:
            value._grad = None
    return made


def under_way() -> frozenset[int]:
    """The modules that are being written by one around them in this thread."""
    found: frozenset[int] = getattr(_THREAD, "modules", frozenset())
    return found


def ordered(module: Any, held: dict[str, Any], children: Callable[[Any], list[Any]]
            ) -> dict[str, Any]:
    """The attributes ``held`` of a module such that what follows them need not go deep.

    ``children`` gives the modules right inside of one.
    """
    if nested_beyond(held, _MAX_SHALLOW_CONTAINERS):
        raise NestingError(
            at(
                f"an attribute of {type(module).__name__} has containers more than "
                f"{_MAX_SHALLOW_CONTAINERS} deep in each other, which cannot be copied"
            )
        )
    if id(module) in under_way():
        return held
    inside, depth, circle = _inside(module, children)
    if depth <= _MAX_SHALLOW_MODULES:
        return held
    if circle is not None:
        raise NestingError(at(f"modules lie {depth} deep in each other, and one refers back to the "
                              f"{type(circle).__name__} around it: such cannot be copied"))
    return Attributes(held, inside)


def facts(module: Any) -> dict[str, Any]:
    """What a module holds beside its attributes and hooks: names, and flags."""
    return {name: getattr(module, name) for name in _FACTS}


def begun(kind: Any, held: dict[str, Any]) -> Any:
    """A module of a class that takes its attributes over by a method of its own."""
    module = kind.__new__(kind)
    resume(module, ({}, held))
    return module


def attributes(module: Any, state: Any) -> Any:
    """What such a method gets: the attributes, and the hooks where there are some."""
    if type(state) is not tuple:
        return state
    return dict(state[0] or {}, **{"_hooks": module._hooks} if module._hooks else {})


def resume(module: Any, state: Any) -> None:
    """Give a module the attributes that another one has, by name."""
    held, more = state if isinstance(state, tuple) else (dict(state), {})
    if not more and "_hooks" in (held or {}):
        more = {"_hooks": held.pop("_hooks")}
    vars(module).update(held or {})
    for name, value in more.items():
        object.__setattr__(module, name, value)


def _inside(module: Any, children: Callable[[Any], list[Any]]) -> tuple[list[Any], int, Any]:
    """The modules in one, innermost first, their depth, and one to which others refer back."""
    order: list[Any] = []
    seen, around = {id(module)}, {id(module)}
    stack = [(module, iter(children(module)))]
    depth, circle = 0, None
    while stack:
        holder, rest = stack[-1]
        for child in rest:
            if id(child) not in seen:
                seen.add(id(child))
                around.add(id(child))
                stack.append((child, iter(children(child))))
                depth = max(depth, len(stack) - 1)
                break
            if id(child) in around and child is not module and child is not holder:
                circle = child
        else:
            stack.pop()
            around.discard(id(holder))
            order.append(holder)
    return order[:-1], depth, circle
