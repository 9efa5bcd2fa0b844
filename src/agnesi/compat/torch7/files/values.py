"""What was read as Python's values: tables numbered from 1 on as lists, objects as modules."""

from __future__ import annotations

from typing import Any

from agnesi.compat.torch7.files import modules
from agnesi.compat.torch7.files.reading import Made
from agnesi.core.support.errors import FileFormatError


def built(read: Any) -> Any:
    """The value of what :class:`Reader` gave; what is shared stays so."""
    return _built(read, {})


def _built(x: Any, known: dict[int, Any]) -> Any:
    if not isinstance(x, (dict, Made)):
        return x
    if id(x) in known:
        if known[id(x)] is x:
            raise FileFormatError(f"has a module {x.name!r} that holds itself")
        return known[id(x)]
    if isinstance(x, Made):
        known[id(x)] = x
        fields = {str(k): _built(v, known) for k, v in _fields(x).items()}
        known[id(x)] = modules.made(x.name, fields)
    elif all(type(k) is int and 1 <= k <= len(x) for k in x):
        known[id(x)] = [None] * len(x)
        for k, v in x.items():
            known[id(x)][k - 1] = _built(v, known)
    else:
        known[id(x)] = {}
        for k, v in x.items():
            known[id(x)][k] = _built(v, known)
    return known[id(x)]


def _fields(x: Made) -> dict[Any, Any]:
    if not x.fields or not isinstance(x.fields[0], dict):
        raise FileFormatError(f"has an object {x.name!r} that holds no table of its fields")
    return x.fields[0]
