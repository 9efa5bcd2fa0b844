"""Attributes of a module that are computed from others whenever they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agnesi.nn.base.module import Module

#: From a module to the value of an attribute, and from a module and a value to what it is made of.
Get = Callable[[Any], Any]
Set = Callable[[Any, Any], None]


def compute(module: Module, name: str, get: Get, put: Set) -> None:
    """Let an attribute of one module be computed; its class becomes another one, for it alone.

    Functions are of a file's top level, or partials of such: then the module has a pickle.
    """
    base, known = _computed(module)
    vars(module).pop(name, None)
    object.__setattr__(module, "__class__", _class(base, {**known, name: (get, put)}))


def held(module: Module, name: str, value: Any) -> None:
    """Let a computed attribute hold a value again."""
    base, known = _computed(module)
    left = {n: pair for n, pair in known.items() if n != name}
    object.__setattr__(module, "__class__", _class(base, left) if left else base)
    setattr(module, name, value)


def is_computed(module: Module, name: str) -> bool:
    """Return whether an attribute is computed."""
    return name in _computed(module)[1]


def base_of(module: Module) -> type:
    """The class of a module before any of its attributes was computed."""
    return _computed(module)[0]


def _computed(module: Module) -> tuple[type, dict[str, tuple[Get, Set]]]:
    kind = type(module)
    found: tuple[type, dict[str, tuple[Get, Set]]] = kind.__dict__.get("_computed", (kind, {}))
    return found


def _class(base: type, computed: Mapping[str, tuple[Get, Set]]) -> type:
    def reduce(self: Any, protocol: Any) -> Any:
        made: Any = base
        _, _, *rest = made.__reduce_ex__(self, protocol)
        return _empty, (base, dict(computed)), *rest

    members: dict[str, Any] = {
        "_computed": (base, dict(computed)), "__reduce_ex__": reduce, "__doc__": base.__doc__,
        "__module__": base.__module__, "__slots__": (),
    }
    members |= {name: property(get, put) for name, (get, put) in computed.items()}
    return type(base.__name__, (base,), members)


def _empty(base: type, computed: Mapping[str, tuple[Get, Set]]) -> Any:
    kind: Any = _class(base, computed)
    return kind.__new__(kind)
