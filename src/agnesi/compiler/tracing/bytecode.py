"""Read from bytecode which names a function reads, and what its instructions find on the stack."""

from __future__ import annotations

import builtins
import dis
import functools
import re
import sys
from collections.abc import Iterator, Sequence
from opcode import opmap
from types import CodeType
from typing import Any, NamedTuple

from agnesi.core.support.errors import ours

_EXTENDED, _GLOBAL, _NAME = map(opmap.get, ("EXTENDED_ARG", "LOAD_GLOBAL", "LOAD_NAME"))


def codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and those of all functions nested in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


@functools.lru_cache(maxsize=64)
def instructions(code: CodeType) -> tuple[dis.Instruction, ...]:
    """Return the instructions of a code object; cached, because several passes read them."""
    return tuple(dis.get_instructions(code))


@functools.lru_cache(maxsize=4096)
def globals_of(code: CodeType) -> tuple[str, ...]:
    """Return the names of module globals that the code reads."""
    found: dict[str, None] = {}
    extended, raw = 0, code.co_code
    for i in range(0, len(raw), 2):
        operation, argument = raw[i], raw[i + 1] | extended
        extended = argument << 8 if operation == _EXTENDED else 0
        if operation == _GLOBAL:
            found[code.co_names[argument >> 1]] = None
        elif operation == _NAME:
            found[code.co_names[argument]] = None
    return tuple(found)


@functools.lru_cache(maxsize=4096)
def globals_put_by(code: CodeType) -> frozenset[str]:
    """Return the names of module globals that the code assigns or deletes."""
    return frozenset(i.argval for i in instructions(code)
                     if i.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"))


@functools.lru_cache(maxsize=4096)
def globals_by_text(code: CodeType) -> frozenset[str] | None:
    """Return the string keys that the code looks up in ``globals()``; None if any key is computed.

    >>> sorted(globals_by_text((lambda: globals()["a"] + globals()["b"]).__code__))
    ['a', 'b']
    """
    found: set[str] = set()
    for inner in codes(code):
        steps = [i for i in instructions(inner)
                 if i.opname not in ("CACHE", "PRECALL", "PUSH_NULL", "NOP")]
        for n, i in enumerate(steps):
            if i.argval not in ("globals", "__globals__"):
                continue
            call, key, look = (*steps[n + 1:n + 4], i, i, i)[:3]
            if not (call.opname == "CALL" and key.opname == "LOAD_CONST" and (
                    look.opname == "BINARY_SUBSCR" or look.argrepr == "[]")):
                return None
            found.add(key.argval)
    return frozenset(found)


def _is_method(i: dis.Instruction) -> bool:
    """Return whether the attribute that an instruction loads is called (before Python 3.12, by
    opcode).
    """
    return sys.version_info >= (3, 12) and bool((i.arg or 0) & 1)


@functools.lru_cache(maxsize=4096)
def read_of(code: CodeType, name: str) -> frozenset[str | None]:
    """Return the globals of which attribute ``name`` is read and not called; None for other owners.

    >>> sorted(read_of((lambda x: np.array + math.array).__code__, "array"))
    ['math', 'np']
    >>> read_of((lambda x, xp: x.array + xp.array(1)).__code__, "array")
    frozenset({None})
    >>> read_of((lambda xp: xp.array(1)).__code__, "array")
    frozenset()
    """
    found: set[str | None] = set()
    for inner in codes(code):
        before: dis.Instruction | None = None
        for i in instructions(inner) if name in inner.co_names else ():
            if i.argval == name and i.opname == "LOAD_ATTR" and not _is_method(i):
                is_name = before is not None and before.opname in ("LOAD_GLOBAL", "LOAD_NAME")
                found.add(before.argval if is_name and before is not None else None)
            before = i if i.opname != "CACHE" else before
    return frozenset(found)


@functools.lru_cache(maxsize=4096)
def attributes_of(code: CodeType) -> frozenset[str]:
    """Return the attribute names in the code, including string constants (for ``getattr``)."""
    found: set[str] = set()
    for inner in codes(code):
        found.update(inner.co_names)
        found.update(c for c in inner.co_consts if type(c) is str and c.isidentifier())
    return frozenset(found)


@functools.lru_cache(maxsize=4096)
def missed_in(code: CodeType) -> frozenset[str]:
    """Return the attribute names that code reads where an ``except`` may catch that one is missing.

    >>> def f(x):
    ...     try:
    ...         return x.scale
    ...     except AttributeError:
    ...         return 1.0
    >>> sorted(missed_in(f.__code__) - {"AttributeError"})
    ['scale']
    """
    found: set[str] = set()
    for inner in codes(code):
        if "suppress" in inner.co_names or (inner.co_exceptiontable and any(
                i.opname == "CHECK_EXC_MATCH" for i in instructions(inner))):
            found.update(inner.co_names)
    return frozenset(found)


#: Names of what catches errors in a ``with`` block.
_CATCHING = frozenset(("suppress", "raises", "assertRaises"))
#: Classes that no operation raises for values of its operands.
_OF_OTHER_CAUSES = frozenset((
    "AttributeError", "EOFError", "FileNotFoundError", "ImportError", "KeyError",
    "KeyboardInterrupt", "ModuleNotFoundError", "NameError", "OSError", "StopIteration"))
_NAMED = frozenset(("LOAD_GLOBAL", "LOAD_NAME", "LOAD_ATTR", "LOAD_DEREF", "LOAD_FAST"))


@functools.lru_cache(maxsize=4096)
def may_catch(code: CodeType) -> bool:
    """Return whether code may catch exceptions anywhere, or clean up behind them."""
    names = [i.opname for i in instructions(code)]
    return (code.co_name in ("__exit__", "__aexit__") or not _CATCHING.isdisjoint(code.co_names)
            or names.count("PUSH_EXC_INFO") > names.count("WITH_EXCEPT_START"))


def caught_at(frame: Any, root: CodeType | None) -> tuple[CodeType, int] | None:
    """Return the line of the first frame, from ``frame`` out to that of ``root``, in which an
    ``except`` or ``suppress`` may catch what an operation raises; None if there is none.
    """
    while frame is not None and frame.f_code is not root:
        code = frame.f_code
        if code.co_exceptiontable and not ours(code.co_filename) and _is_caught(
                code, frame.f_lasti):
            return code, frame.f_lasti
        frame = frame.f_back
    return None


@functools.lru_cache(maxsize=4096)
def _is_caught(code: CodeType, offset: int) -> bool:
    """Return whether code may catch what is raised at an instruction of its own.

    >>> def f(x):
    ...     try:
    ...         return x[0]
    ...     except IndexError:
    ...         return x
    >>> caught = [i for i in instructions(f.__code__) if _is_caught(f.__code__, i.offset)]
    >>> {i.positions.lineno - f.__code__.co_firstlineno for i in caught}
    {2}
    """
    entries = getattr(dis.Bytecode(code), "exception_entries", ())
    every = instructions(code)
    for _ in entries:  # each leads to one further out at most
        target = next((e.target for e in entries if e.start <= offset < e.end), None)
        if target is None:
            return False
        handler = [i for i in every if i.offset >= target]
        end = next((k for k, i in enumerate(handler) if i.opname == "RERAISE"), len(handler))
        if _catches(code, handler[:end]):
            return True
        if end == len(handler):
            return False
        offset = handler[end].offset
    return False


def _catches(code: CodeType, handler: Sequence[dis.Instruction]) -> bool:
    """Return whether the instructions of a handler, before it raises again, may catch an error."""
    names = [i.opname for i in handler]
    if names[:1] != ["PUSH_EXC_INFO"]:
        return False
    if "WITH_EXCEPT_START" in names[:3]:
        return not _CATCHING.isdisjoint(code.co_names)
    classes: list[str] = []
    for i in handler[1:]:
        if i.opname in _NAMED:
            classes.append(str(i.argval))
        elif i.opname == "CHECK_EXC_MATCH":
            if not _OF_OTHER_CAUSES.issuperset(classes):
                return True
        elif i.opname != "BUILD_TUPLE":
            classes = []
    return names[1:2] == ["POP_TOP"]  # a clause without a class


@functools.lru_cache(maxsize=4096)
def assigned_in(code: CodeType) -> frozenset[str]:
    """Return the attribute names that code may assign: its stores, and its string constants."""
    found: set[str] = set()
    for inner in codes(code):
        found.update(i.argval for i in instructions(inner) if i.opname == "STORE_ATTR")
        found.update(c for c in inner.co_consts if type(c) is str and c.isidentifier())
    return frozenset(found)


@functools.lru_cache(maxsize=4096)
def given_to(code: CodeType, named: str, local: bool) -> frozenset[str]:
    """Names of attributes that code may give to what it knows by a name, or, ``local``, by any
    local one; texts among them, where it reads or sets attributes by texts.

    >>> def f(x):
    ...     dis.seen, x.kept = 1, 2
    >>> sorted(given_to(f.__code__, "dis", False))
    ['seen']
    """
    found: set[str] = set()
    for inner in codes(code):
        before = None
        for i in instructions(inner):
            if i.opname == "STORE_ATTR" and before is not None:
                last = before.argval[-1] if type(before.argval) is tuple else before.argval
                if last == named or (local and before.opname.startswith(_LOCAL)):
                    found.add(i.argval)
            before = i if i.opname != "CACHE" else before
        if not _BY_TEXT.isdisjoint(inner.co_names):
            found.update(c for c in inner.co_consts if type(c) is str and c.isidentifier())
    return frozenset(found)


_LOCAL = ("LOAD_FAST", "LOAD_DEREF")
#: What requests, sets or deletes an attribute that a text names.
_BY_TEXT = frozenset(("getattr", "setattr", "hasattr", "delattr"))


@functools.lru_cache(maxsize=4096)
def compared_in(code: CodeType) -> frozenset[str | None]:
    """Return the operands that code compares by identity: names of its module, or None for
    anything else but constants and classes.

    >>> def f(x, y, z=None):
    ...     return x is y or x is None or isinstance(x, y) or x.__class__ is y.__class__
    >>> sorted(map(str, compared_in(f.__code__)))
    ['None']
    >>> def g(x, kind):
    ...     return x is int or type(x) is kind
    >>> sorted(map(str, compared_in(g.__code__)))
    ['int']
    """
    found: set[str | None] = {None} if {"is_", "is_not"} & {*code.co_names} else set()
    for inner in codes(code):
        steps = steps_of(inner) if any(i.opname == "IS_OP" for i in instructions(inner)) else ()
        for n, step in enumerate(steps):
            if step.name != "IS_OP" or n < 2:
                continue
            before = steps[n - 1]
            if not (before.name == "LOAD_CONST" or before.argval == "__class__"
                    or _is_class(inner, n - 2) or _is_shortcut(inner, before)):
                is_name = before.name in ("LOAD_GLOBAL", "LOAD_NAME")
                found.add(before.argval if is_name else None)
    return frozenset(found)


def _is_class(code: CodeType, n: int) -> bool:
    """Return whether a step queries a class, by ``type(x)``, as the methods of frozen dataclasses
    do, and the next one only loads what that is compared with."""
    step, behind = steps_of(code)[n:n + 2]
    return (step.name == "CALL" and step.arg == 1 and behind.name.startswith("LOAD_")
            and callee(code, n) == ("name", "type", True))


def _is_shortcut(code: CodeType, before: Step) -> bool:
    """Return whether ``__eq__`` first checks for identity, as in dataclasses of Python 3.13."""
    return (code.co_name == "__eq__" and before.name.startswith("LOAD_FAST")
            and before.argval == code.co_varnames[1])


#: Names of methods that look for an element.
_SEARCHING = frozenset(("count", "index", "remove"))


@functools.lru_cache(maxsize=4096)
def searches(code: CodeType) -> bool:
    """Return whether code may test membership or search for an element of a container."""
    return any(not _SEARCHING.isdisjoint(inner.co_names) or any(
        i.opname == "CONTAINS_OP" for i in instructions(inner)) for inner in codes(code))


#: Functions that convert objects to str.
_TEXTS = frozenset(("str", "repr", "format", "ascii", "array_str"))


@functools.lru_cache(maxsize=4096)
def makes_text(code: CodeType) -> bool:
    """Return whether code may convert objects to text."""
    return any(
        not _TEXTS.isdisjoint(inner.co_names)
        or any(type(c) is str and "%" in c for c in inner.co_consts)
        or any(i.opname.startswith("FORMAT_") for i in instructions(inner))
        for inner in codes(code))


@functools.lru_cache(maxsize=4096)
def imports_of(code: CodeType) -> tuple[str, ...]:
    """Return the modules that code imports when it runs; leading dots mark relative imports."""
    found = instructions(code)
    return tuple("." * found[n - 2].argval + i.argval for n, i in enumerate(found)
                 if i.opname == "IMPORT_NAME")


# -- the operand stack ------------------------------------------------------------------------
class Step(NamedTuple):
    """An instruction, and how many values are on the stack before it (more or less a constant).

    Two instructions in one are two steps, and calls are one: also where Python 3.11 has two
    instructions for them, of which the first may do all.
    """

    offset: int
    name: str
    arg: int
    argval: Any
    depth: int


#: How an expression leads to a value: ("constant", value), ("name", name, whether it is global),
#: ("attribute", owner, name) or ("element", owner, key) with such expressions; None if unknown.
Expression = tuple[Any, ...] | None
_PAIRED = re.compile("LOAD_FAST|STORE_FAST")
_SKIPPED = ("CACHE", "EXTENDED_ARG", "NOP")


@functools.lru_cache(maxsize=4096)
def steps_of(code: CodeType) -> tuple[Step, ...]:
    """The instructions of code with the depth of the stack."""
    found: list[Step] = []
    depths: dict[int, int] = {}
    depth, before = 0, ""
    for i in instructions(code):
        if i.opname in _SKIPPED:
            continue
        depth = depths.get(i.offset, depth)
        arg = i.arg if i.opcode >= dis.HAVE_ARGUMENT else None
        if i.opcode in dis.hasjrel or i.opcode in dis.hasjabs:
            depths.setdefault(i.argval, depth + dis.stack_effect(i.opcode, arg, jump=True))
        locals_ = _PAIRED.findall(i.opname)
        if len(locals_) == 2:
            change = 1 if locals_[0] == "LOAD_FAST" else -1
            for n, (name, variable) in enumerate(zip(locals_, i.argval, strict=True)):
                found.append(Step(i.offset, name, 0, variable, depth + n * change))
        elif not (i.opname == "CALL" and before == "PRECALL"):
            name = "CALL" if i.opname == "PRECALL" else i.opname
            argval = i.argrepr if name == "BINARY_OP" else i.argval
            found.append(Step(i.offset, name, arg or 0, argval, depth))
        depth += dis.stack_effect(i.opcode, arg, jump=False)
        before = i.opname
    return tuple(found)


@functools.lru_cache(maxsize=4096)
def step_at(code: CodeType, offset: int) -> int:
    """The step at an offset, or the last before it: of what Python specializes, frames have the
    last of the cache entries."""
    return max((n for n, step in enumerate(steps_of(code)) if step.offset <= offset), default=0)


@functools.lru_cache(maxsize=4096)
def callee(code: CodeType, n: int) -> Expression:
    """The expression of the function that a call instruction calls."""
    slot = _callee_slot(steps_of(code)[n])
    return None if slot is None else _value_at(code, n, slot)


@functools.lru_cache(maxsize=4096)
def first_argument(code: CodeType, n: int) -> Expression:
    """The expression of the first argument of a call; None where there may be none."""
    step = steps_of(code)[n]
    slot = _callee_slot(step) if step.arg and step.name != "CALL_FUNCTION_EX" else None
    return None if slot is None else _value_at(code, n, slot + 1)


def keywords_of(code: CodeType, n: int) -> Any:
    """The names of the keywords of a call."""
    before = steps_of(code)[max(n - 1, 0)]
    return code.co_consts[before.arg] if before.name in ("KW_NAMES", "LOAD_CONST") else ()


def _callee_slot(step: Step) -> int | None:
    """Return the stack slot of the callable of a call step, or of the last value that belongs to
    it.
    """
    if step.name in ("CALL", "CALL_KW"):
        return step.depth - step.arg - 1 - (step.name == "CALL_KW")
    if step.name == "CALL_FUNCTION_EX":
        return step.depth - 2 - ((step.arg & 1) or sys.version_info >= (3, 14))
    return None


def _value_at(code: CodeType, n: int, slot: int) -> Expression:
    """Return the expression of the value in a stack slot just before a step."""
    steps = steps_of(code)
    while n > 0:
        behind, n = steps[n].depth, n - 1
        step = steps[n]
        if step.depth <= slot or (behind == slot + 1 and "JUMP" not in step.name
                                  and step.name != "KW_NAMES"):
            break
    return _expression(steps, n)[0]


def _expression(steps: tuple[Step, ...], n: int) -> tuple[Expression, int]:
    """Return the expression that a step pushes, and the index of the first step that computes it.
    """
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
