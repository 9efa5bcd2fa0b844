"""Stand-ins for ``float``, ``isinstance``, ``math.isnan`` ... that accept numbers of a trace.

Calling ``float`` always returns a Python float, so these names are replaced in the code of the
user's functions while it is traced, and restored afterwards.
"""

from __future__ import annotations

import builtins
import functools
import sys
import threading
from collections.abc import Callable, Mapping
from opcode import opmap
from types import CodeType, FunctionType
from typing import Any, NoReturn

from agnesi.compiler.tracing.bytecode import codes

_GLOBAL, _NULL, _CONST, _NOP = (opmap[n] for n in ("LOAD_GLOBAL", "PUSH_NULL", "LOAD_CONST", "NOP"))
_EXTENDED, _CACHE, _ATTRIBUTE = (opmap[n] for n in ("EXTENDED_ARG", "CACHE", "LOAD_ATTR"))
_CALLS = tuple(opmap[n] for n in ("PRECALL", "CALL") if n in opmap)
_OF_OWNERS = tuple(opmap[n] for n in ("LOAD_ATTR", "LOAD_METHOD") if n in opmap)
#: Whether a callee is above the NULL that belongs to it.
_NULL_FIRST = sys.version_info < (3, 13)
_MAX_CONSTANTS = 256
#: What stands for functions while they are called, and for modules, by identity.
STAND_INS: dict[int, Any] = {}
#: The code of functions that have another one now, by the functions' identity: codes of the same
#: text are equal.
_OWN: dict[int, CodeType] = {}


def own_code(function: FunctionType) -> CodeType:
    """Return the function's original code, also while stand-ins replace it."""
    return _OWN.get(id(function), function.__code__)


class Module:
    """A stand-in for a module, with some functions replaced."""

    __slots__ = ("_functions", "_module")

    def __init__(self, module: Any, functions: Mapping[str, Any]) -> None:
        self._module = module
        #: By name, what stands for a function, and that: a program may replace it.
        self._functions = {n: (getattr(module, n), f) for n, f in functions.items()}

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        return vars(object.__getattribute__(self, "_module"))

    def __getattr__(self, name: str) -> Any:
        module, functions = (object.__getattribute__(self, n) for n in ("_module", "_functions"))
        found = getattr(module, name)
        own, stand_in = functions.get(name, (None, None))
        return stand_in if own is found and stand_in is not None else found


class Attributes(Module):
    """A stand-in for a class of which code only reads attributes, with some of them replaced,
    including those that every object has (``__setattr__``).
    """

    __slots__ = ()
    __getattribute__ = Module.__getattr__


class OfAttributes:
    """A stand-in for a function that reads attributes: it is not needed where code gives it no
    operands."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function


def _calling(*args: Any, **keywords: Any) -> Any:
    called: Any = "what is called instead"
    return called(*args, **keywords)


_CALLING, _CALLED = _calling.__code__, "what is called instead"


class Replaced:
    """Functions whose code calls stand-ins for builtins while a trace is running."""

    def __init__(self) -> None:
        self._functions: dict[int, tuple[FunctionType, CodeType]] = {}

    def replace(self, function: FunctionType) -> None:
        """Make a function call the stand-ins of builtins."""
        own, names = function.__code__, function.__globals__
        found = {n: _value(names, n) for inner in codes(own) for n in inner.co_names}
        code = _kept(ByIdentity(own), frozenset(
            (n, id(v)) for n, v in found.items() if id(v) in STAND_INS))
        if code is not own and id(function) not in self._functions:
            self._functions[id(function)] = function, own
            _OWN[id(function)] = own
            function.__code__ = code

    def refuse_misses(self, wrapper: Any, refuse: Callable[[], NoReturn]) -> None:
        """Make a cached function call ``refuse`` when it would compute a result that is not in its
        cache.
        """
        function = wrapper.__wrapped__
        same = FunctionType(function.__code__, function.__globals__, function.__name__,
                            function.__defaults__, function.__closure__)
        same.__kwdefaults__ = function.__kwdefaults__
        missed, thread = wrapper.cache_info().misses, threading.get_ident()

        def call(*args: Any, **keywords: Any) -> Any:
            if threading.get_ident() == thread and wrapper.cache_info().misses > missed:
                refuse()
            return same(*args, **keywords)

        own = function.__code__
        _OWN[id(function)] = self._functions.setdefault(id(function), (function, own))[1]
        function.__code__ = _CALLING.replace(
            co_filename=own.co_filename, co_freevars=own.co_freevars, co_consts=tuple(
                call if c == _CALLED else c for c in _CALLING.co_consts))

    def undo(self) -> None:
        """Restore the original code of all functions."""
        while self._functions:
            _, (function, own) = self._functions.popitem()
            function.__code__ = own
            _OWN.pop(id(function), None)


def _value(names: Mapping[str, Any], name: str) -> Any:
    """Return the value of a name in a module or in the builtins."""
    if name in names:
        return names[name]
    found = names.get("__builtins__", builtins)
    return found.get(name) if isinstance(found, dict) else getattr(found, name, None)


class ByIdentity:
    """A dictionary key for an object by identity, also where it is not hashable."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByIdentity) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


@functools.lru_cache(maxsize=4096)
def _kept(code: ByIdentity, names: frozenset[tuple[str, int]]) -> CodeType:
    return with_calls(code.value, names)


def with_calls(code: CodeType, names: frozenset[tuple[str, int]]) -> CodeType:
    """Return code in which the globals ``names`` load stand-ins instead; nested functions' too.

    >>> from agnesi.compiler.tracing.builtin_calls import with_calls
    >>> import agnesi.compiler.tracing.introspection
    >>> def f(x):
    ...     return float(x), float, isinstance(x, float)
    >>> names = frozenset({("float", id(float)), ("isinstance", id(isinstance))})
    >>> f.__code__ = with_calls(f.__code__, names)
    >>> f("2")
    (2.0, <class 'float'>, False)
    """
    constants = [with_calls(c, names) if isinstance(c, CodeType) else c for c in code.co_consts]
    raw, known = bytearray(code.co_code), dict(names)
    for i in range(0, len(raw), 2):
        if raw[i] == _GLOBAL and not (i and raw[i - 2] == _EXTENDED):
            found = STAND_INS.get(known.get(code.co_names[raw[i + 1] >> 1], 0))
            if isinstance(found, Attributes):
                if _is_owner(raw, i):
                    _load(raw, i, constants, found)
            elif isinstance(found, OfAttributes):
                if not (_is_owner(raw, i) or (_is_callee(raw, i) and _has_none(raw, i))):
                    _load(raw, i, constants, found.function)
            elif isinstance(found, Module) or (found is not None and _is_callee(raw, i)):
                _load(raw, i, constants, found)
    if bytes(raw) == code.co_code and all(
            a is b for a, b in zip(constants, code.co_consts, strict=True)):
        return code
    return code.replace(co_code=bytes(raw), co_consts=tuple(constants))


def _end(raw: bytearray, i: int) -> int:
    """Return the offset of the next instruction."""
    i += 2
    while i < len(raw) and raw[i] == _CACHE:
        i += 2
    return i


def _has_none(raw: bytearray, i: int) -> bool:
    """Return whether a call has no operands."""
    i = _end(raw, i)
    return raw[i] in _CALLS and raw[i + 1] == 0


def _is_owner(raw: bytearray, i: int) -> bool:
    """Return whether the loaded global is only used to read an attribute."""
    end = _end(raw, i)
    return end < len(raw) and raw[end] in _OF_OWNERS


def _is_callee(raw: bytearray, i: int) -> bool:
    """Return whether the loaded global is called itself, rather than an attribute of it."""
    end = _end(raw, i)
    return bool(raw[i + 1] & 1) and not (end < len(raw) and raw[end] == _ATTRIBUTE)


def _load(raw: bytearray, i: int, constants: list[Any], value: Any) -> None:
    """Replace the load of a global by the load of a constant; its cache entries become no-
    operations.
    """
    index = next((n for n, c in enumerate(constants) if c is value), len(constants))
    if index >= _MAX_CONSTANTS:
        return
    constants[index:] = constants[index:] or [value]
    end, called = _end(raw, i), raw[i + 1] & 1
    raw[i:end] = bytes([_NOP, 0]) * ((end - i) // 2)
    pair = [(_NULL, 0), (_CONST, index)] if called else [(_CONST, index)]
    for n, words in enumerate(pair if _NULL_FIRST else reversed(pair)):
        raw[i + 2 * n : i + 2 * n + 2] = bytes(words)
