"""Classes that tell which attributes are read and written while a function is traced.

Python looks ``__getattribute__`` and its kin up on the class, so a class that a trace meets gets
its own for as long as the trace runs; in other threads they do what they replace.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from agnesi.compiler.places import HOOKED
from agnesi.core.config import STATE

_LOCK = threading.Lock()
_ABSENT: Any = object()
_IMMUTABLE, _HEAP = 1 << 8, 1 << 9

#: Classes with hooks: how many traces want them, and what they had of their own.
_HOOKED: dict[type, tuple[int, dict[str, Any]]] = {}


def hook(kind: type) -> type | None:
    """Let a class tell, until ``unhook`` of what is returned; None where it cannot."""
    if not kind.__flags__ & _HEAP or kind.__flags__ & _IMMUTABLE:
        return None
    with _LOCK:
        kind = next((k for k in kind.__mro__ if k in _HOOKED), kind)
        count, before = _HOOKED.get(kind, (0, {}))
        if not count:
            before = {name: vars(kind).get(name, _ABSENT) for name in HOOKED}
            made = (_reading(kind.__getattribute__), _setting(kind.__setattr__),
                    _deleting(kind.__delattr__))
            for name, function in zip(HOOKED, made, strict=True):
                type.__setattr__(kind, name, function)
        _HOOKED[kind] = count + 1, before
    return kind


def unhook(kind: type) -> None:
    """One trace less wants to be told."""
    with _LOCK:
        count, before = _HOOKED.pop(kind)
        if count > 1:
            _HOOKED[kind] = count - 1, before
            return
        for name, value in before.items():
            if value is _ABSENT:
                type.__delattr__(kind, name)
            else:
                type.__setattr__(kind, name, value)


def _reading(plainly: Any) -> Callable[[Any, str], Any]:
    def read(self: Any, name: str) -> Any:
        reads = STATE.reads
        return plainly(self, name) if reads is None else reads.attribute(self, name, plainly)

    return read


def _setting(plainly: Any) -> Callable[[Any, str, Any], None]:
    def write(self: Any, name: str, value: Any) -> None:
        if STATE.reads is not None:
            STATE.reads.written(self, name)
        plainly(self, name, value)

    return write


def _deleting(plainly: Any) -> Callable[[Any, str], None]:
    def delete(self: Any, name: str) -> None:
        if STATE.reads is not None:
            STATE.reads.written(self, name)
        plainly(self, name)

    return delete
