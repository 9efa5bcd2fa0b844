"""Functions that operands of a foreign class answer themselves, by PyTorch's protocol."""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import sys
from typing import Any

from agnesi.core.support.errors import ours

#: Modules whose functions a class knows as PyTorch's.
_MODULES = ("agnesi", "agnesi.linalg", "agnesi.nn.functional", "agnesi.special", "agnesi.fft")

#: Where public functions are wrapped.
_CALLS = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")


def overridden(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Return what ``__torch_function__`` of an operand's class returns for a function that refused
    the operands; NotImplemented if no class has one.
    """
    kinds = _answering(args, keywords)
    if kinds and _is_part_of_one():
        return NotImplemented  # the error is raised to the function that the user called
    for kind in kinds:
        found = kind.__torch_function__(_known(function), kinds, args, keywords)
        if found is not NotImplemented:
            return found
    return NotImplemented


def _answering(args: Any, keywords: Any) -> tuple[Any, ...]:
    """Return the classes of operands, and of those in lists, that have ``__torch_function__``."""
    operands = [*args, *keywords.values()]
    operands += [y for x in operands if type(x) in (list, tuple) for y in x]
    return tuple(dict.fromkeys(
        kind for x in operands if hasattr(kind := type(x), "__torch_function__")))


def _is_part_of_one() -> bool:
    """Return whether the refused call was made inside another public function that has such
    operands: ``slogdet`` within ``logdet``.
    """
    frame: Any = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(_CALLS):
        frame = frame.f_back
    while frame is not None and ours(frame.f_code.co_filename):
        held = frame.f_locals if frame.f_code.co_filename.startswith(_CALLS) else {}
        if "form" in held and _answering(held.get("args", ()), held.get("keywords", {})):
            return True
        frame = frame.f_back
    return False


def _known(function: Any) -> Any:
    """Return the public object for a function's name, or for the function that a wrapper wraps."""
    if isinstance(function, str):
        return getattr(importlib.import_module("agnesi"), function, function)
    return _table().get(inspect.unwrap(function), function)


@functools.cache
def _table() -> dict[Any, Any]:
    """Map the innermost function of each public wrapper to the wrapper; the first module that has
    it counts.
    """
    found: dict[Any, Any] = {}
    for path in _MODULES:
        module = importlib.import_module(path)
        for name in dir(module):
            value = getattr(module, name, None)
            if inspect.isfunction(value):
                found.setdefault(inspect.unwrap(value), value)
    return found
