"""Who asks for a tensor's value: the user's code by name, as ``float(x)`` does, or a C function.

Both call the same methods of the tensor.  The instruction that the caller runs tells them apart,
and the function that it calls, if names and constants of the code lead there.  What is not known
to be asked for by name is not.
"""

from __future__ import annotations

import builtins
import dis
import functools
import inspect
import math
import operator
import sys
from types import CodeType, FrameType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from agnesi.compiler.tracing.builtin_calls import Module
from agnesi.compiler.tracing.bytecode import instructions

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
#: So many callers are asked for the ``map`` whose elements are taken.
_MOST_CALLERS = 8
_UNKNOWN: Any = object()


class _Step(NamedTuple):
    """An instruction, and how many values are on the stack before it (more or less a constant)."""

    offset: int
    name: str
    arg: int
    argval: Any
    depth: int


def implicit(frame: FrameType) -> str:
    """Return what in a frame asks for a value without saying so; an empty text where the code does
    it by name."""
    code = frame.f_code
    n = _at(code, frame.f_lasti)
    step = _steps(code)[n]
    library = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    if library in _WRITING or step.argval in ("%", "%="):
        return ""
    if library in _COMPUTING:
        return f"{library}'s {code.co_name}"
    if step.name.startswith("STORE_"):
        return "an assignment to an element of an array"
    callee = _value(_callee(code, n), frame)
    if _by_name(callee):
        return ""
    if (step.name in _ITERATING or id(callee) in _TAKING) and _mapped_by_name(frame):
        return ""
    if any(callee is f for f in _SORTING) and "key" in _keywords(code, n):
        return ""
    name = getattr(callee, "__name__", "")
    owner = getattr(getattr(callee, "__objclass__", None), "__name__", None) or getattr(
        callee, "__module__", None)
    return ".".join(filter(None, (owner, name))) if name else "what takes a number here"


def _by_name(f: Any) -> bool:
    """Return whether whoever calls this asks for a number, for text or for a decision."""
    while isinstance(f, (functools.partial, staticmethod)):
        f = f.func if isinstance(f, functools.partial) else f.__func__
    if not isinstance(f, type) and getattr(f, "__name__", "") == "__new__":
        f = getattr(f, "__self__", f)
    if isinstance(f, type):
        return issubclass(f, (int, float, complex, str, np.generic))
    return id(f) in _NAMED


def _mapped_by_name(frame: FrameType | None) -> bool:
    """Return whether ``map`` is given ``float`` and the like where it is called, and nothing else.
    """
    for _ in range(_MOST_CALLERS):
        if frame is None:
            break
        if given := _mapped(frame.f_code):
            return all(_by_name(_value(f, frame)) for f in given)
        frame = frame.f_back
    return False


def _value(expression: Any, frame: FrameType) -> Any:
    """What an expression gives, as far as nothing has to be called for that."""
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


# -- what code does at an instruction -------------------------------------------------------------
@functools.lru_cache(maxsize=512)
def _steps(code: CodeType) -> tuple[_Step, ...]:
    found: list[_Step] = []
    depths: dict[int, int] = {}
    depth = 0
    for i in instructions(code):
        if i.opname in ("CACHE", "EXTENDED_ARG", "NOP"):
            continue
        depth = depths.get(i.offset, depth)
        arg = i.arg if i.opcode >= dis.HAVE_ARGUMENT else None
        last = i.opname == "CALL" and bool(found) and found[-1].name == "PRECALL"
        if i.opcode in dis.hasjrel or i.opcode in dis.hasjabs:
            depths.setdefault(i.argval, depth + dis.stack_effect(i.opcode, arg, jump=True))
        pair = i.argval if i.opname.count("_FAST") == 2 and type(i.argval) is tuple else ()
        for n, name in enumerate(pair):  # two instructions in one
            first = "STORE_FAST" if i.opname.startswith("STORE") else "LOAD_FAST"
            change = n if first == "LOAD_FAST" else -n
            found.append(_Step(i.offset, "LOAD_FAST" if n else first, 0, name, depth + change))
        if not pair and not last:  # calls may be two instructions, the first of which may do all
            argval = i.argrepr if i.opname == "BINARY_OP" else i.argval
            found.append(_Step(i.offset, i.opname, arg or 0, argval, depth))
        depth += dis.stack_effect(i.opcode, arg, jump=False)
    return tuple(found)


@functools.lru_cache(maxsize=4096)
def _at(code: CodeType, offset: int) -> int:
    """Return which step is at an offset, or is the last before it: of what Python specializes, it
    tells the last of the cache entries."""
    return max((n for n, step in enumerate(_steps(code)) if step.offset <= offset), default=0)


@functools.lru_cache(maxsize=4096)
def _callee(code: CodeType, n: int) -> Any:
    """Return the expression of what a step calls, or None."""
    steps = _steps(code)
    slot = _slot(steps[n])
    return None if slot is None else _expression(steps, _producer(steps, n, slot))[0]


def _keywords(code: CodeType, n: int) -> Any:
    """Return the names of keywords of a call."""
    before = _steps(code)[max(n - 1, 0)]
    return code.co_consts[before.arg] if before.name in ("KW_NAMES", "LOAD_CONST") else ()


@functools.lru_cache(maxsize=512)
def _mapped(code: CodeType) -> tuple[Any, ...]:
    """Return the expressions of all first arguments of ``map`` in code."""
    steps, found = _steps(code), []
    for n, step in enumerate(steps):
        slot = _slot(step) if step.arg and step.name != "CALL_FUNCTION_EX" else None
        if slot is not None and _callee(code, n) == ("name", "map", True):
            found.append(_expression(steps, _producer(steps, n, slot + 1))[0])
    return tuple(found)


def _slot(step: _Step) -> int | None:
    """Return the place on the stack of what a step calls, or of the last that belongs to it."""
    if step.name in ("PRECALL", "CALL", "CALL_KW"):
        return step.depth - step.arg - 1 - (step.name == "CALL_KW")
    if step.name == "CALL_FUNCTION_EX":
        return step.depth - 2 - ((step.arg & 1) or sys.version_info >= (3, 14))
    return None


def _producer(steps: tuple[_Step, ...], n: int, slot: int) -> int:
    """Return the step that put something at a place on the stack before a step."""
    while n > 0:
        behind, n = steps[n].depth, n - 1
        step = steps[n]
        if step.depth <= slot or (behind == slot + 1 and "JUMP" not in step.name
                                  and step.name != "KW_NAMES"):
            break
    return n


def _expression(steps: tuple[_Step, ...], n: int) -> tuple[Any, int]:
    """Return how names and constants lead to what a step puts on the stack, or None, and the first
    step of that."""
    step = steps[n]
    if step.name == "PUSH_NULL":
        return _expression(steps, n - 1)
    if step.name in ("LOAD_CONST", "LOAD_SMALL_INT"):
        return ("constant", step.argval), n
    if step.name.startswith(("LOAD_FAST", "LOAD_NAME", "LOAD_GLOBAL", "LOAD_DEREF")):
        is_global = step.name == "LOAD_GLOBAL" or (
            step.name == "LOAD_NAME" and step.argval in vars(builtins))
        return ("name", step.argval, is_global), n
    if step.name in ("LOAD_ATTR", "LOAD_METHOD"):
        owner, first = _expression(steps, n - 1)
        return (owner and ("attribute", owner, step.argval)), first
    if step.name == "BINARY_SUBSCR" or (step.name == "BINARY_OP" and step.argval == "[]"):
        key, first = _expression(steps, n - 1)
        owner, first = _expression(steps, first - 1) if key else (None, n)
        return (owner and ("element", owner, key)), first
    return None, n
