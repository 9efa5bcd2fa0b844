"""Errors of modules: which one, with what, and where in the containers around it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from agnesi.compat.torch7.counting import counted_from_one
from agnesi.core.keywords import WRAPPERS
from agnesi.core.op import in_user_code
from agnesi.core.support.errors import ShapeError, at, retold, typed

WRAPPERS.add(__file__)
#: What an error names where a method fails: the one that users call.
_METHODS = {"updateOutput": "forward", "updateGradInput": "backward",
            "accGradParameters": "backward"}


def wrap_methods(kind: type) -> None:
    """Let the methods of a class of modules name the module and its input where they fail."""
    for name, value in list(vars(kind).items()):
        if name in _METHODS and not hasattr(value, "__wrapped__"):
            setattr(kind, name, _telling(value, _METHODS[name]))


def _telling(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(self: Any, input: Any, *rest: Any, **named: Any) -> Any:
        try:
            if self._table and not isinstance(input, (list, tuple)):
                raise TypeError(f"{type(self).__name__} takes a table, a list of tensors")
            if self._elementwise:
                _check_entries(input)
            if isinstance(input, (str, int, float, dict, type(None))):
                raise TypeError("the input must be a tensor, or a table of them")
            return function(self, input, *rest, **named)
        except (AttributeError, IndexError, TypeError, ValueError) as error:
            better = _better(error, self, name, input)
        raise better from better.__cause__

    return call


def _check_entries(table: Any) -> None:
    """Refuse a table whose entries do not go element by element: nothing is repeated."""
    if not table:
        raise ValueError("the table is empty")
    entries = [x for x in table if hasattr(x, "array")]
    if len({x.array.size for x in entries}) > 1:
        raise ShapeError("the entries must have as many elements: nothing is repeated")


def _better(error: Any, module: Any, name: str, input: Any) -> Exception:
    """The error as one of the module, or of what it holds."""
    inner = getattr(error, "module", None)
    if inner is module or (inner is None and in_user_code(error)):
        return error
    text = str(error)
    if inner is not None:
        places = [k for k, m in enumerate(module.children(), 1) if m is inner]
        text = f"module {places[0]} of {type(module).__name__}: {text}" if places else text
        found: Any = retold(error, text)
    else:
        kind = TypeError if isinstance(error, AttributeError) else type(error)
        owner = type(module).__name__
        if text == "list index out of range":
            text = "the table has too few entries" if getattr(module, "modules", True) else (
                "it has no modules: add(module) gives it one")
        reason = counted_from_one(text) or str(
            getattr(error, "reason", None) or text.partition("\n  at ")[0])
        for known in (f"{owner}.compute: ", f"{owner}.{name}: ", f"{owner}: "):
            reason = reason.removeprefix(known)
        kind = kind if kind.__module__.startswith(("builtins", "agnesi")) else IndexError
        found = kind(at(f"{owner}.{name}({typed(input)}): {reason}"))
    found.module, found.counted, found.accident = module, True, False
    found.__cause__ = None if inner is not None else error
    return found
