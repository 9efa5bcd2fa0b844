"""What requests a tensor's value: the user's code by name, as ``float(x)`` does, or a C function.

Both call the same methods of the tensor.  The instruction that the caller runs distinguishes them,
and the function that it calls, if names and constants of the code lead there.  What is not known
to be requested by name is not.
"""

from __future__ import annotations

import functools
import inspect
import math
import operator
from types import CodeType, FrameType, ModuleType
from typing import Any

import numpy as np

from agnesi.compiler.tracing.builtin_calls import Module
from agnesi.compiler.tracing.bytecode import (
    Expression,
    callee,
    first_argument,
    keywords_of,
    step_at,
    steps_of,
)

#: Libraries that compute with the numbers which they are given, and those that make text of them.
_COMPUTING = frozenset("colorsys decimal fractions jax mpmath numba numpy pandas random scipy "
                       "sklearn statistics statsmodels sympy torch".split())
_WRITING = frozenset("csv json locale logging pprint reprlib string textwrap".split())
#: Functions that give text, decide something, or have a slope of 0; classes are in ``_by_name``.
_NAMED = frozenset(map(id, (
    round, format, print, ascii, repr, operator.mod, operator.index, str.__mod__, bytes.__mod__,
    math.ceil, math.floor, math.trunc, math.isclose, math.isfinite, math.isinf, math.isnan)))
_SORTING = (sorted, min, max, list.sort)
#: They take elements of what ``map`` gives, as the instructions do.
_TAKING = frozenset(map(id, (list, tuple, set, frozenset, dict, sum, any, all, next, list.extend,
                             *_SORTING)))
_ITERATING = ("FOR_ITER", "LIST_EXTEND", "SET_UPDATE", "UNPACK_SEQUENCE", "UNPACK_EX")
#: So many callers are searched for the ``map`` whose elements are taken.
_MOST_CALLERS = 8
_UNKNOWN: Any = object()


def implicit(frame: FrameType) -> str:
    """Return what in a frame needs a value implicitly; empty if the code converts by name
    (``float(x)``).
    """
    code = frame.f_code
    n = step_at(code, frame.f_lasti)
    step = steps_of(code)[n]
    library = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    if library in _WRITING or step.argval in ("%", "%="):
        return ""
    if library in _COMPUTING:
        return f"{library}'s {code.co_name}"
    if step.name.startswith("STORE_"):
        return "an assignment to an element of an array"
    function = called(frame)
    if _by_name(function):
        return ""
    if (step.name in _ITERATING or id(function) in _TAKING) and _mapped_by_name(frame):
        return ""
    if any(function is f for f in _SORTING) and "key" in keywords_of(code, n):
        return ""
    name = getattr(function, "__name__", "")
    owner = getattr(getattr(function, "__objclass__", None), "__name__", None) or getattr(
        function, "__module__", None)
    return ".".join(filter(None, (owner, name))) if name else "what takes a number here"


def called(frame: FrameType) -> Any:
    """Return what a frame is calling, if names and constants of its code lead there."""
    code = frame.f_code
    return _value(callee(code, step_at(code, frame.f_lasti)), frame)


def _by_name(f: Any) -> bool:
    """Return whether a callable converts to a number, text or truth value by name."""
    while isinstance(f, (functools.partial, staticmethod)):
        f = f.func if isinstance(f, functools.partial) else f.__func__
    if not isinstance(f, type) and getattr(f, "__name__", "") == "__new__":
        f = getattr(f, "__self__", f)
    if isinstance(f, type):
        return issubclass(f, (int, float, complex, str, np.generic))
    return id(f) in _NAMED


def _mapped_by_name(frame: FrameType | None) -> bool:
    """Return whether ``map`` is called with such callables only, here or in a few callers."""
    for _ in range(_MOST_CALLERS):
        if frame is None:
            break
        if given := _mapped(frame.f_code):
            return all(_by_name(_value(f, frame)) for f in given)
        frame = frame.f_back
    return False


def _value(expression: Expression, frame: FrameType) -> Any:
    """Return the value of an expression in a frame, if no call is needed to find it."""
    if expression is None:
        return _UNKNOWN
    kind, *parts = expression
    if kind == "constant":
        return parts[0]
    if kind == "name":
        name = parts[0]
        for names in (frame.f_globals, frame.f_builtins) if parts[1] else (
                frame.f_locals, frame.f_globals, frame.f_builtins):
            if name in names:
                return names[name]
        return _UNKNOWN
    owner = _value(parts[0], frame)
    if owner is _UNKNOWN:
        return owner
    if kind == "attribute":
        if isinstance(owner, (ModuleType, type)) or type(owner) is Module:
            return getattr(owner, parts[1], _UNKNOWN)
        return inspect.getattr_static(owner, parts[1], _UNKNOWN)
    key = _value(parts[1], frame)
    try:
        return owner[key] if type(owner) in (dict, list, tuple) and type(key) in (
            int, str, bool) else _UNKNOWN
    except (LookupError, TypeError):
        return _UNKNOWN


@functools.lru_cache(maxsize=512)
def _mapped(code: CodeType) -> tuple[Expression, ...]:
    """Return the first arguments of all calls of ``map`` in code, as expressions."""
    calls = [n for n in range(len(steps_of(code))) if callee(code, n) == ("name", "map", True)]
    return tuple([first_argument(code, n) for n in calls])
