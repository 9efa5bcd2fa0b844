"""Errors of Torch7's functions in its own words: numbers and dimensions begin at 1."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from types import FunctionType
from typing import Any

from agnesi.compat.torch7.tensor import View
from agnesi.core.keywords import WRAPPERS
from agnesi.core.support.errors import at, typed

WRAPPERS.add(__file__)
_PLACE = re.compile(r"index (-?\d+) is out of (?:bounds|range) for axis (\d+) "
                    r"(?:with|of) size (\d+)")
_AXES = re.compile(r"axis (-?\d+) is out of (?:bounds|range) for (?:array of dimension )?(\d+)")
_SIZES = ("broadcast", "shape", "mismatch", "dimension", "matmul", "aligned", "square")


def told_from_one(text: str) -> str:
    """What is beyond an axis or a tensor, counted from 1; nothing where a text tells of neither."""
    if found := _PLACE.search(text):
        place, axis, size = map(int, found.groups())
        return (f"{place + (place >= 0)} is out of range for dimension {axis + 1}, whose numbers "
                f"run from 1 to {size}")
    if found := _AXES.search(text):
        axis, count = map(int, found.groups())
        return f"dimension {axis + 1} is out of range: there are {count}, counted from 1"
    return ""


def from_one(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A function or method whose errors tell its name, the types and sizes of its tensors, and
    numbers from 1, where NumPy or an operation of ours told them from 0."""
    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        try:
            return function(*args, **keywords)
        except (IndexError, TypeError, ValueError) as error:
            better = _better(error, name, args)
            if better is None:
                raise
        raise better

    return call


def _better(error: Any, name: str, args: tuple[Any, ...]) -> Exception | None:
    first = error
    while first.__cause__ is not None:
        first = first.__cause__
    if getattr(error, "counted", False):
        return None
    found: Any
    if told := told_from_one(str(first)):
        found = IndexError(at(f"{name}: {told}"))
    elif isinstance(first, ValueError) and any(word in str(first) for word in _SIZES) and any(
            isinstance(a, View) for a in args) and "\n  at " not in str(first):
        given = ", ".join(typed_view(a) for a in args)
        found = ValueError(at(f"{name}({given}): the sizes do not fit together"))
    elif type(first) is IndexError and "\n  at " not in str(error):
        found = IndexError(at(f"{name}: {first}"))
    elif name.startswith("x[") and "\n  at " not in str(error):
        found = type(first)(at(f"{name}: {first}"))
    else:
        return None
    found.__cause__ = error
    found.counted, found.accident, found.owner = True, False, name
    return found


def typed_view(x: Any) -> str:
    """An argument in one short line: of a tensor its type and sizes."""
    if not isinstance(x, View):
        return typed(x)
    sizes = "x".join(map(str, x._sizes)) or "0"
    return f"{x.type().removeprefix('torch.')} of {sizes}"


def typed_table(x: Any) -> str:
    """A tensor or a table of them in one line."""
    if isinstance(x, (list, tuple)) and len(x) < 5:
        return f"[{', '.join(map(typed_table, x))}]"
    return typed_view(x)


def count_from_one(kind: type) -> None:
    """Let all methods of a class tell numbers from 1."""
    for name, value in list(vars(kind).items()):
        if isinstance(value, FunctionType) and (
                not name.startswith("_") or name in ("__getitem__", "__setitem__")):
            word = {"__getitem__": "x[...]", "__setitem__": "x[...] = value"}.get(name, name)
            setattr(kind, name, from_one(value, word))
