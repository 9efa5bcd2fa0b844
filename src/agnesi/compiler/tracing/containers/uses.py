"""Read from bytecode what code does with a container: which parts it reads, which it appends to.

A use is the way to a part (``h["loss"]`` of ``h["loss"].append(x)``) and what is done there.  What
is not understood counts as a read of all that the way has led to.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from types import CodeType, FrameType
from typing import Any, NamedTuple

from agnesi.compiler.tracing.bytecode import Step, callee, codes, step_at, steps_of

_METHODS = ("LOAD_METHOD", "LOAD_ATTR")
_APPENDING = ("append", "extend")
#: Builtins that take the elements of what they are given, in order, and methods of dicts that give
#: their entries.
_ITERATING = frozenset("all any enumerate filter list map max min reversed set sorted sum tuple "
                       "zip".split())
_COUNTING_OR_ITERATING = {"len", *_ITERATING}
_ENTRIES = ("items", "keys", "values")
_LOADS = ("LOAD_FAST", "LOAD_DEREF", "LOAD_GLOBAL", "LOAD_NAME")
#: Whether ``LOAD_ATTR`` is also how methods are loaded that are called, as its flag says.
_FLAGGED = sys.version_info >= (3, 12)
#: How many values instructions without jumps take from the stack; of those in ``_COUNTED``, which
#: take more with their argument, without that.
_TAKES = {
    **dict.fromkeys(("LOAD_CONST", "LOAD_SMALL_INT", "PUSH_NULL", "KW_NAMES", "BUILD_SLICE",
                     "BUILD_TUPLE", "BUILD_LIST", *_LOADS), 0),
    **dict.fromkeys(("LOAD_ATTR", "LOAD_METHOD", "UNARY_NEGATIVE", "UNARY_NOT", "UNARY_INVERT"), 1),
    **dict.fromkeys(("BINARY_OP", "COMPARE_OP", "BINARY_SUBSCR", "CALL"), 2), "BINARY_SLICE": 3}
_COUNTED = ("BUILD_SLICE", "BUILD_TUPLE", "BUILD_LIST", "CALL")


class _Any:
    """A key that is known only at run time."""

    def __repr__(self) -> str:
        return "any"


ANY: Any = _Any()
#: A key that is a slice.
SLICE: Any = _Any()


class Named(NamedTuple):
    """An attribute's name, used as a key."""

    name: str


class What(Enum):
    """How code uses a part of a container; ``h[k] += 1`` both reads and puts.

    Builtins read the number of elements (``len``), or all elements (``zip``, ``enumerate``).
    """

    READ, APPEND, PUT, CHANGE, COUNT, ITERATE = range(6)


class Use(NamedTuple):
    """The path of keys to a part of a container, and what code does with that part."""

    keys: tuple[Any, ...]
    what: What


Uses = frozenset[Use]
#: That code does something with a container of which nothing else is known.
READ_WHOLE: Uses = frozenset((Use((), What.READ),))


def uses_of(code: CodeType, name: str, names: Mapping[str, Any]) -> Uses:
    """Return the uses of a variable by code among these global names, and by functions that are
    made in it.

    >>> from agnesi.compiler.tracing.containers.uses import uses_of
    >>> def f(x):
    ...     h["loss"].append(x)
    ...     h["last"] = x
    ...     return h["n"] + len(h)
    >>> sorted((use.what.name, use.keys) for use in uses_of(f.__code__, "h", {}))
    [('APPEND', ('loss',)), ('COUNT', ()), ('PUT', ('last',)), ('READ', ('n',))]
    """
    return _by_builtins(_all_uses(code, name), names)


def uses_at(frame: FrameType, name: str) -> Uses:
    """Return the uses of an attribute of that name by the code of a frame, which is loading it."""
    return _by_builtins(_loads(frame.f_code, frame.f_lasti, name), frame.f_globals)


def _by_builtins(uses: Uses, names: Mapping[str, Any]) -> Uses:
    """Return the uses of a value, as plain reads where the function has a global name that may hide
    a builtin (``len``, ``iter``, ...), so that the call may do something else.
    """
    return uses if names.keys().isdisjoint(_COUNTING_OR_ITERATING) else as_reads(uses)


@functools.lru_cache(maxsize=4096)
def _all_uses(code: CodeType, name: str) -> Uses:
    return frozenset(use for inner in codes(code) for use in _uses(inner, name))


def as_reads(uses: Uses) -> Uses:
    """Return the uses with each call of a builtin counted as a read of the whole."""
    return frozenset(Use(keys, What.READ) if what in (What.COUNT, What.ITERATE) else Use(keys, what)
                     for keys, what in uses)


def of_array(uses: Uses) -> Uses:
    """Return the uses of an array: ``len`` reads its shape, other builtins the whole."""
    return as_reads(frozenset(
        Use((*keys, Named("shape")), What.READ) if what is What.COUNT else Use(keys, what)
        for keys, what in uses))


def of_part(uses: Iterable[Use], key: Any) -> Uses:
    """Return the uses of one part, given the uses of the whole container."""
    return frozenset(Use(keys[1:], what) for keys, what in uses
                     if keys and (keys[0] is ANY or keys[0] == key or keys[0] == Named(key)))


def only(uses: Uses, what: What) -> bool:
    """Return whether the container itself, and no part of it, is used in this one way."""
    return bool(uses) and all(not keys and done is what for keys, done in uses)


@functools.lru_cache(maxsize=4096)
def _loads(code: CodeType, offset: int, name: str) -> Uses:
    found, here = steps_of(code), step_at(code, offset)
    if not (found[here].name in _METHODS or "getattr" in code.co_names):
        return READ_WHOLE
    loads = {here, *(n for n, i in enumerate(found) if i.name in _METHODS and i.argval == name)}
    return frozenset(use for n in loads for use in _chain(code, found, n + 1, ()))


def _uses(code: CodeType, name: str) -> Iterator[Use]:
    found = steps_of(code)
    for n, i in enumerate(found):
        if i.argval == name and i.name.endswith(("GLOBAL", "NAME", "DEREF", "CLOSURE")):
            if i.name.startswith("LOAD_") and i.name != "LOAD_CLOSURE":
                yield from _chain(code, found, n + 1, ())
            elif i.name.startswith("DELETE_"):
                yield Use((), What.READ)


def _chain(code: CodeType, found: Sequence[Step], n: int, keys: tuple[Any, ...]) -> Iterator[Use]:
    """Yield the uses of the value on top of the stack before an instruction."""
    while n < len(found):
        first = found[n]
        entries = _yields_entries(found[n:n + 2])
        behind = n + 2 * entries
        done = _called(code, found, behind)
        if done is What.ITERATE or (done is not None and not entries):
            yield Use(keys, done)
            return
        if first.name in _METHODS and first.argval in _APPENDING:
            yield Use(keys, What.APPEND)
            return
        if first.name == "UNPACK_SEQUENCE" or found[behind].name == "GET_ITER":
            yield Use((*keys, ANY), What.READ)
            return
        if first.name == "STORE_FAST":
            yield from _local(code, found, n, keys)
            return
        key, n, done = _step(found, n)
        if key is None:
            break
        keys = (*keys, key)
        if done is not None:
            yield Use(keys, done)
            return
    yield Use(keys, What.READ)


def _step(found: Sequence[Step], n: int) -> tuple[Any, int, What | None]:
    """Return a step from a container to a part: its key or None, the position of the next
    instruction, and the use if the path ends there.
    """
    first = found[n]
    if first.name in _METHODS and first.argval.startswith("__"):
        return None, n, None  # it may give all: ``n.__dict__``
    if _makes_lists(found[n:n + 4]):
        return found[n + 1].argval, n + 4, None
    if first.name in _METHODS and first.argval == "get" and found[n + 1].name == "LOAD_CONST":
        return found[n + 1].argval, n + 2, What.READ
    if first.name == "LOAD_METHOD" or (_FLAGGED and first.name == "LOAD_ATTR" and first.arg & 1):
        return Named(first.argval), n + 1, What.READ
    if first.name == "COPY" and first.arg == 1 and found[n + 1].name == "LOAD_ATTR":
        return Named(found[n + 1].argval), n + 2, What.CHANGE  # n.k += 1
    if first.name == "LOAD_ATTR":
        return Named(first.argval), n + 1, None
    if first.name == "STORE_ATTR":
        return Named(first.argval), n + 1, What.PUT
    key = first.argval if first.name in ("LOAD_CONST", "LOAD_SMALL_INT") else ANY
    for k in range(n, len(found)):
        name, above = found[k].name, found[k].depth - first.depth
        if above == 1 or (above == 2 and name.endswith("_SLICE")):
            known = key if k == n + 1 and above == 1 else ANY
            if above == 2 or found[k - 1].name == "BUILD_SLICE" or type(known) is slice:
                known = SLICE
            if name in ("BINARY_SUBSCR", "BINARY_SLICE") or _is_subscript(found[k]):
                return known, k + 1, None
            if name in ("STORE_SUBSCR", "STORE_SLICE"):
                return known, k + 1, What.PUT
            if name == "COPY" and found[k].arg == 2:
                return known, k + 1, What.CHANGE
        if _takes(found[k]) > above:
            break
    return None, n, None


def _yields_entries(found: Sequence[Step]) -> bool:
    """Return whether code calls ``items()``, ``keys()`` or ``values()``."""
    return found[0].name in _METHODS and found[0].argval in _ENTRIES and (
        [(i.name, i.arg) for i in found[1:]] == [("CALL", 0)])


def _called(code: CodeType, found: Sequence[Step], n: int) -> What | None:
    """Return what a builtin does to the value on top of the stack; None if none is given the
    value.
    """
    for k in range(n, len(found)):
        above = found[k].depth - found[n].depth
        if _takes(found[k]) > above:
            break
    else:
        return None
    if found[k].name != "CALL" or above >= found[k].arg:
        return None
    called = callee(code, k)
    if called is None or called[0] != "name" or not called[2]:  # it is not a global name
        return None
    return What.COUNT if called[1] == "len" else (What.ITERATE if called[1] in _ITERATING else None)


def _makes_lists(found: Sequence[Step]) -> bool:
    """Return whether code calls ``setdefault(key, [])``."""
    return [i.name for i in found[1:]] == ["LOAD_CONST", "BUILD_LIST", "CALL"] and (
        found[0].argval == "setdefault" and found[2].arg == 0 and found[3].arg == 2)


def _is_subscript(i: Step) -> bool:
    return i.name == "BINARY_OP" and i.argval == "[]"


def _takes(i: Step) -> int:
    """Return how many values an instruction pops from the stack."""
    return _TAKES.get(i.name, 1 << 30) + (i.arg if i.name in _COUNTED else 0)


def _local(code: CodeType, found: Sequence[Step], n: int, keys: tuple[Any, ...]) -> Iterator[Use]:
    """Return the uses of a local variable that a part is assigned to, if it holds nothing else."""
    name = found[n].argval
    named = [(k, i) for k, i in enumerate(found) if i.argval == name and "FAST" in i.name]
    fits = all(i.name == "LOAD_FAST" or k == n for k, i in named) and name not in (
        *code.co_cellvars, *code.co_varnames[:code.co_argcount])
    if not fits or any(k < n for k, _ in named):
        yield Use(keys, What.READ)
        return
    for k, i in named:
        if i.name == "LOAD_FAST":
            yield from _chain(code, found, k + 1, keys)
