"""Layers of ours as regions: in eager programs a call of one is a compiled operation before long.

What a layer is besides its tensors (sizes, modes, layers inside) is looked at again where any
module was assigned an attribute since the last call, or a class in it another ``forward``.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from agnesi.compiler.regions import Regions
from agnesi.core.support.tracing import is_tracing
from agnesi.core.tensor import Tensor

_OURS = "agnesi.nn."
#: Layers inside of each other that are regions: each looks at all that it has inside.
_MOST_DEEP = 12
#: Reads an attribute without a trace, or a count of changes, hearing of it.
_noted = object.__getattribute__


class Changes:
    """How many attributes were assigned to modules so far."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


CHANGES = Changes()


class Whole:
    """The compiled code of a module, and the module's identity when it was compiled."""

    __slots__ = ("count", "forwards", "identity", "regions")

    def __init__(self, module: Any) -> None:
        self.regions: Regions | None = None
        self.identity: list[Any] | None = None
        self.look(module)

    def look(self, module: Any) -> None:
        """Start again if the module has become another one."""
        self.count = CHANGES.count
        identity = _identity(module)
        if self.regions is None or identity is None or identity != self.identity:
            self.identity = identity
            #: What the classes in it run.
            self.forwards = [] if identity is None else _forwards(module)
            self.regions = None if identity is None else Regions(
                module.forward, share=module._eager_share)


def is_ours(kind: type) -> bool:
    """Return whether a class of modules is one of the library's layers."""
    return kind.__module__.startswith(_OURS)


def called(module: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """A call of a layer of ours without hooks."""
    if is_tracing():
        return module.forward(*args, **keywords)
    whole = _noted(module, "_whole")
    if whole is None:
        if _is_deep():
            return module.forward(*args, **keywords)
        whole = Whole(module)
        object.__setattr__(module, "_whole", whole)
    elif whole.count != CHANGES.count:
        whole.look(module)
    for kind, forward in whole.forwards:
        if kind.forward is not forward:
            return _changed(module, args, keywords)
    if whole.regions is None:
        return module.forward(*args, **keywords)
    return whole.regions(args, keywords)


def _is_deep() -> bool:
    """Return whether the layer that is called is nested in so many that are being called."""
    frame, calls = sys._getframe(1), 0
    while frame is not None and calls <= _MOST_DEEP:
        calls += frame.f_code is called.__code__
        frame = frame.f_back  # type: ignore[assignment]
    return calls > _MOST_DEEP


def _forwards(module: Any) -> list[tuple[Any, Any]]:
    kinds = {type(inner): None for inner in module.modules()}
    return [(kind, kind.forward) for kind in kinds if hasattr(kind, "forward")]


def _changed(module: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """A call of a layer whose class was given another ``forward``."""
    object.__setattr__(module, "_whole", None)
    return module.forward(*args, **keywords)


def _identity(module: Any) -> list[Any] | None:
    """Return the key by which a changed module is noticed; None where it is not ours as a whole."""
    found: list[Any] = []
    for inner in module.modules():
        if not is_ours(type(inner)) or inner._hooks:
            return None
        found += [type(inner), inner._training]
        for name, value in vars(inner).items():
            same = _Same(value)
            if any(map(_is_foreign, same.value if isinstance(same.value, tuple) else (value,))):
                return None
            found += [name, same]
    return found


def _is_foreign(value: Any) -> bool:
    """Return whether a value is a function that is not the library's, and may do anything."""
    if not callable(value) or value is None:
        return False
    return not getattr(value, "__module__", type(value).__module__).startswith("agnesi")


class _Same:
    """A value, equal to the same object or an equal plain value."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = list(value.values()) if isinstance(value, dict) else value
        if isinstance(self.value, list):
            self.value = tuple(self.value)

    def __eq__(self, other: Any) -> bool:
        return _same(self.value, other.value)

    __hash__ = None  # type: ignore[assignment]


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if type(a) is not type(b) or isinstance(a, (Tensor, np.ndarray)):
        return False
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    return isinstance(a, (bool, int, float, str, np.dtype)) and bool(a == b)
