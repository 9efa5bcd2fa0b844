"""What code does with a number that a call in it gives: whether it only returns it.

Instructions are followed from the call on, with the place of the number on the stack.  What this
does not know counts as a use.
"""

from __future__ import annotations

import builtins
import dis
import functools
from bisect import bisect_right
from types import CodeType, FrameType
from typing import Any

#: Instructions by what they take from the stack and put there, as far as that is always the same.
_EFFECTS: dict[str, tuple[int, int]] = {
    **dict.fromkeys(("NOP", "RESUME", "CACHE", "EXTENDED_ARG", "PRECALL", "KW_NAMES"), (0, 0)),
    **dict.fromkeys(("LOAD_CONST", "LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_DEREF", "LOAD_NAME",
                     "LOAD_CLOSURE", "PUSH_NULL"), (0, 1)),
    **dict.fromkeys(("UNARY_NOT", "UNARY_NEGATIVE", "UNARY_INVERT", "UNARY_POSITIVE"), (1, 1)),
    **dict.fromkeys(("BINARY_OP", "COMPARE_OP", "IS_OP", "CONTAINS_OP", "BINARY_SUBSCR"), (2, 1)),
    **dict.fromkeys(("POP_TOP", "STORE_FAST", "STORE_DEREF", "STORE_GLOBAL", "LIST_EXTEND"),
                    (1, 0)),
    "LOAD_METHOD": (1, 2), "STORE_ATTR": (2, 0), "STORE_SUBSCR": (3, 0),
}
#: Flags of generators and coroutines.
_GENERATOR_FLAGS = 0x20 | 0x80 | 0x200
#: What looks at variables that no instruction names.
_LOOKING = frozenset(("locals", "vars", "dir", "eval", "exec", "_getframe", "currentframe"))
_NAMING = ("LOAD_GLOBAL", "LOAD_METHOD", "LOAD_ATTR")
_JUMPS = ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")


def only_returned(frame: FrameType, name: str) -> bool:
    """Return whether a frame has just called ``float``, ``int`` or a method ``item``, by this
    ``name``, and only returns what that gives."""
    if name != "item" and not _is_builtin(frame, name):
        return False
    return _returns(frame.f_code, frame.f_lasti, name)


def _is_builtin(frame: FrameType, name: str) -> bool:
    return name not in frame.f_globals and frame.f_builtins.get(name) is getattr(builtins, name)


@functools.lru_cache(maxsize=4096)
def _returns(code: CodeType, at: int, name: str) -> bool:
    """Return whether what the call of a name at an instruction gives is returned, perhaps in
    tuples, lists and dicts, and used for nothing else.

    Examples
    --------
    >>> from agnesi.compiler.tracing.returned import _returns
    >>> def f(x):
    ...     y = float(x)
    ...     return x, {"n": y}
    >>> def g(x):
    ...     return float(x) + 1
    >>> import dis
    >>> at = lambda h: [i.offset for i in dis.get_instructions(h) if i.opname == "CALL"][0]
    >>> [_returns(h.__code__, at(h), "float") for h in (f, g)]
    [True, False]
    """
    if code.co_flags & _GENERATOR_FLAGS or not _LOOKING.isdisjoint(code.co_names):
        return False
    found = list(dis.get_instructions(code))
    places = {i.offset: n for n, i in enumerate(found)}
    first = bisect_right(found, at, key=lambda i: i.offset)  # ``at`` may be in the call's cache
    if found[first - 1].opname == "PRECALL":
        first += 1
    if found[first - 1].opname != "CALL" or _called(found, first - 1) != name:
        return False
    waiting, seen = [(first, 0)], set[tuple[int, int]]()
    while waiting:
        state = waiting.pop()
        if state in seen:
            continue
        seen.add(state)
        then = _after(found, places, *state)
        if then is None:
            return False
        waiting += then
    return True


def _called(found: list[dis.Instruction], n: int) -> str:
    """The name of the function or method that a call calls; empty where that is not clear."""
    left = (found[n].arg or 0) + 2
    for i in reversed(found[:n]):
        effect = _effect(i)
        if effect is None or i.is_jump_target:
            return ""
        left -= effect[1]
        if left <= 0:
            return str(i.argval) if i.opname in _NAMING else ""
        left += effect[0]
    return ""


def _after(found: list[dis.Instruction], places: dict[int, int], n: int, depth: int
           ) -> list[tuple[int, int]] | None:
    """Where the number is behind an instruction, above which it lies so deep; None if it is used.
    """
    i = found[n]
    if i.opname == "RETURN_VALUE":
        return [] if depth == 0 else None
    if i.opname in _JUMPS:
        return [(places[i.argval], depth)]
    if i.opname.startswith("POP_JUMP"):
        return None if depth == 0 else [(n + 1, depth - 1), (places[i.argval], depth - 1)]
    if i.opname in ("SWAP", "COPY"):
        return _moved(i, n, depth)
    effect = _effect(i)
    if effect is None:
        return None
    taken, put = effect
    if depth >= taken:
        return [(n + 1, depth - taken + put)]
    if i.opname == "STORE_FAST":
        if any(type(load.argval) is tuple and i.argval in load.argval for load in found):
            return None  # of two variables at once
        return [(k + 1, 0) for k, load in enumerate(found)
                if load.opname.startswith("LOAD_FAST") and load.argval == i.argval]
    held = i.opname in ("BUILD_TUPLE", "BUILD_LIST", "BUILD_CONST_KEY_MAP") or (
        i.opname == "BUILD_MAP" and depth % 2 == 0)
    return [(n + 1, 0)] if held else None


def _moved(i: dis.Instruction, n: int, depth: int) -> list[tuple[int, int]] | None:
    """Where the number is behind an instruction that moves what lies on the stack."""
    place: Any = i.arg
    if i.opname == "COPY":
        return None if depth == place - 1 else [(n + 1, depth + 1)]
    return [(n + 1, {0: place - 1, place - 1: 0}.get(depth, depth))]


def _effect(i: dis.Instruction) -> tuple[int, int] | None:
    """Return how many values an instruction pops and pushes, or None where that is not known."""
    arg = i.arg or 0
    match i.opname:
        case "LOAD_GLOBAL":
            return 0, 1 + (arg & 1)
        case "LOAD_ATTR":
            return 1, 1 + (arg & 1 if "LOAD_METHOD" not in dis.opmap else 0)
        case "BUILD_TUPLE" | "BUILD_LIST":
            return arg, 1
        case "BUILD_MAP":
            return 2 * arg, 1
        case "BUILD_CONST_KEY_MAP":
            return arg + 1, 1
        case "CALL":
            return arg + 2, 1
    return _EFFECTS.get(i.opname)
