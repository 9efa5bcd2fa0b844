"""Errors of Torch7's functions in its own words: numbers and dimensions begin at 1."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from agnesi.compat.torch7.tensor import View
from agnesi.core.keywords import WRAPPERS
from agnesi.core.op import in_user_code, is_accident
from agnesi.core.support.errors import at, typed

WRAPPERS.add(__file__)
_PLACE = re.compile(r"index (-?\d+) is out of (?:bounds|range) for axis (\d+) "
                    r"(?:with|of) size (\d+)")
_AXES = re.compile(r"axis (-?\d+) is out of (?:bounds|range) for (?:array of dimension )?(\d+)")
#: What Python says of a call that does not fit, which :func:`agnesi.core.keywords.strict` reports.
_UNFIT = re.compile(r"\S+\(\) (takes|missing|got) ")
#: What Python says where there are fewer arguments than a function takes.
_FEW = ("tuple index out of range", "not enough values to unpack", "list index out of range")
#: How methods are written that have no name in programs.
_WRITTEN = {"__getitem__": "x[...]", "__setitem__": "x[...] = value", "__add__": "x + y",
            "__radd__": "y + x", "__sub__": "x - y", "__rsub__": "y - x", "__mul__": "x * y",
            "__rmul__": "y * x", "__truediv__": "x / y"}
#: What helps with them.
_HELP = {"x * y": "; * is the matrix product, x.cmul(y) the one of elements"}
_SIZES = ("broadcast", "shape", "mismatch", "dimension", "matmul", "aligned", "square",
          "boolean index", "too many indices", "too many values")
#: What Python and NumPy say of what is no number.
_NO_NUMBER = ("ufunc ", "unsupported operand", "invalid literal", "could not convert", "The DType ",
              "int() argument", "cannot be interpreted", "not supported between",
              "not a valid estimator")


def counted_from_one(text: str) -> str:
    """What is beyond an axis or a tensor, counted from 1; nothing where a text names neither."""
    if found := _PLACE.search(text):
        place, axis, size = map(int, found.groups())
        return (f"{place + (place >= 0)} is out of range for dimension {axis + 1}, whose numbers "
                f"run from 1 to {size}")
    if found := _AXES.search(text):
        axis, count = map(int, found.groups())
        return f"dimension {axis + 1} is out of range: there are {count}, counted from 1"
    return ""


def from_one(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A function or method whose errors have its name, the types and sizes of its tensors, and
    numbers from 1, where NumPy or an operation of ours counts them from 0."""
    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        try:
            return function(*args, **keywords)
        except (AttributeError, IndexError, TypeError, ValueError) as error:
            better = _better(error, name, args, function.__doc__ or "")
            if better is None:
                raise
        raise better

    return call


def _better(error: Any, name: str, args: tuple[Any, ...], doc: str) -> Exception | None:
    first, met = error, {id(error)}
    while first.__cause__ is not None and id(first.__cause__) not in met:
        first = first.__cause__
        met.add(id(first))
    if getattr(error, "counted", False):
        return None
    found: Any
    text, recounted = str(first), counted_from_one(str(first))
    located = "\n  at " in str(error)
    if recounted:
        found = IndexError(at(f"{name}: {recounted}"))
    elif isinstance(first, (IndexError, ValueError)) and any(w in text for w in _SIZES) and any(
            map(_has_view, args)) and is_accident(first) and not in_user_code(first):
        found = ValueError(at(f"{_given(name, args)}: {_sizes(name, args)}" + _HELP.get(name, "")))
    elif located or in_user_code(error):
        return None
    elif is_accident(error) and "() takes " in text and any(map(_is_function, args)):
        found = TypeError(at(f"{_given(name, args)}: the function is called with one element of "
                             f"each tensor, but {text}"))
    elif is_accident(error) and args and ("got multiple values" in text or (
            text.startswith(("<lambda>() ", "_")) and "given" in text)):
        found = TypeError(at(f"{_given(name, args)}: too many arguments{_summary(doc)}"))
    elif is_accident(error) and (wrong := _no_tensors(first, args)):
        reason = f"it takes a tensor where {wrong[0]} is"
        found = TypeError(at(f"{_given(name, args)}: {reason}{_summary(doc)}"))
    elif is_accident(error) and text.startswith((*_FEW, "<lambda>() missing", "_")):
        found = TypeError(at(f"{_given(name, args)}: arguments are missing{_summary(doc)}"))
    elif isinstance(first, IndexError) or name.startswith("x["):
        found = type(first)(at(f"{name}: {first}"))
    elif _UNFIT.match(text):
        called = text.partition("() ")[0].rpartition(".")[2]
        if called == name or not is_accident(error):
            return None
        found = TypeError(at(f"{_given(name, args)}: too few arguments, or too many"
                             f"{_summary(doc)}"))
    elif is_accident(error):
        kind = ValueError if isinstance(first, ValueError) else TypeError
        reason = no_number(text, args) or text
        found = kind(at(f"{_given(name, args)}: {reason}{_summary(doc)}"))
    else:
        found = type(first)(at(f"{_given(name, args)}: {first}"))
    found.__cause__ = error
    found.counted, found.accident, found.owner = True, False, name
    return found


def _given(name: str, args: tuple[Any, ...]) -> str:
    """A call as errors describe it: of an operator, with what stands at its sides."""
    if " " in name:
        return f"{name} of {' and '.join(map(typed, args))}"
    return f"{name}({', '.join(map(typed, args))})"


#: Products, in which the last dimension of the first meets the one before the second's last.
_PRODUCTS = frozenset("mm mv bmm addmm addmv baddbmm addbmm".split())

#: Functions of square matrices.
_SQUARE = frozenset("symeig eig potrf pstrf potri inverse trtrs gesv".split())


def _sizes(name: str, args: tuple[Any, ...]) -> str:
    """Why sizes do not fit: those that meet in a product, or else that they do not."""
    views = [a for a in args if isinstance(a, View)]
    if name in _PRODUCTS and len(views) > 1:
        a, b = (v.array.shape for v in views[-2:])
        if a and b and a[-1] != b[max(len(b) - 2, 0)]:
            return (f"{a[-1]}, dimension {len(a)} of the first, and {b[max(len(b) - 2, 0)]}, "
                    f"dimension {max(len(b) - 1, 1)} of the second, must be equal")
    if name == "dot" and len(views) == 2:
        return f"they must have as many elements, not {views[0].array.size} and " + str(
            views[1].array.size)
    if name in _SQUARE and views and views[0].array.ndim == 2:
        return f"the matrix must be square, not {'x'.join(map(str, views[0].array.shape))}"
    if name == "cat":
        return "sizes must be equal in all dimensions but the one along which tensors are joined"
    counts = [a for a in args if isinstance(a, int)]
    if name in ("view", "reshape") and views and counts and len(counts) == len(args) - 1:
        return (f"its {views[0].array.size} elements do not fill the sizes "
                f"{'x'.join(map(str, counts))}")
    if name in ("expand", "expandAs") and views:
        return (f"only dimensions of 1 are repeated, which of {views[0].array.shape} not all are "
                "that differ")
    return "the sizes do not fit together"


def _is_function(x: Any) -> bool:
    return isinstance(x, FunctionType)


def _has_view(x: Any) -> bool:
    return isinstance(x, View) or (isinstance(x, (list, tuple)) and any(map(_has_view, x)))


def _no_tensors(error: Exception, args: tuple[Any, ...]) -> list[str]:
    """The argument given instead of a tensor, if an error is about that."""
    if text := str(error) if isinstance(error, AttributeError) else "":
        parts = [p for a in args for p in (a if isinstance(a, (list, tuple)) else [a])]
        return [typed(p) for p in parts if text.startswith(f"{type(p).__name__!r} ")]
    if str(error).startswith(_FEW) and not any(map(_has_view, args)):
        return [typed(a) for a in args if isinstance(a, (str, dict, list, int, float, type(None)))]
    return []


def no_number(text: str, args: tuple[Any, ...]) -> str:
    """What is wrong where an error of Python's or NumPy's is about what is no number; nothing for
    other errors."""
    good = (View, int, float, np.ndarray)
    wrong = [a for a in args if not (isinstance(a, good) or callable(a) or _has_view(a))]
    if not wrong or not any(words in text for words in _NO_NUMBER):
        return ""
    return f"{typed(wrong[0])} is neither a number nor a tensor"


def _summary(doc: str) -> str:
    """What a function does and takes, as the end of a message: the first sentence of its
    docstring."""
    summary = " ".join(doc.split(".\n")[0].split()).rstrip(".")
    return f"; it is: {summary[:1].lower()}{summary[1:]}" if summary else ""


def count_from_one(kind: type) -> None:
    """Let all methods of a class count from 1 in errors."""
    for name, value in list(vars(kind).items()):
        if isinstance(value, FunctionType) and (not name.startswith("_") or name in _WRITTEN):
            setattr(kind, name, from_one(value, _WRITTEN.get(name, name)))
