"""``theano.sparse``: agnesi's sparse variables under Theano's names."""

from __future__ import annotations

from typing import Any

from agnesi.api import sparse as _ours
from agnesi.compat.theano.variable import lifted


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    found = getattr(_ours, name, None)
    if not callable(found):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return lifted(found)
