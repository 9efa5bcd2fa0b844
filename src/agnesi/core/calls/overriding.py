"""Functions that operands of a foreign class answer themselves, by PyTorch's protocol."""

from __future__ import annotations

import functools
import importlib
import inspect
from typing import Any

#: Modules whose functions a class knows as PyTorch's.
_MODULES = ("agnesi", "agnesi.linalg", "agnesi.nn.functional", "agnesi.special", "agnesi.fft")


def overridden(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """What ``__torch_function__`` of an operand's class says that a function, or the one of a name,
    is for operands that it refused; NotImplemented where no class has one."""
    operands = [*args, *keywords.values()]
    operands += [y for x in operands if type(x) in (list, tuple) for y in x]
    kinds = tuple(dict.fromkeys(
        kind for x in operands if hasattr(kind := type(x), "__torch_function__")))
    for kind in kinds:
        found = kind.__torch_function__(_known(function), kinds, args, keywords)
        if found is not NotImplemented:
            return found
    return NotImplemented


def _known(function: Any) -> Any:
    """The object that the user has under a function's name, which may stand around it."""
    if isinstance(function, str):
        return getattr(importlib.import_module("agnesi"), function, function)
    return _table().get(inspect.unwrap(function), function)


@functools.cache
def _table() -> dict[Any, Any]:
    """Public functions by what is innermost in them; those of the first module count."""
    found: dict[Any, Any] = {}
    for path in _MODULES:
        module = importlib.import_module(path)
        for name in dir(module):
            value = getattr(module, name, None)
            if inspect.isfunction(value):
                found.setdefault(inspect.unwrap(value), value)
    return found
