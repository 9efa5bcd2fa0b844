"""Cutting a module into units that are compiled, cached and shared on their own.

A large internal function that needs nothing of its module but declarations, constants and units
before it becomes a unit, named by its content: programs that have it in common compile it once.
Many small ones are units in groups.  All else stays together in the last unit: the module itself
with those functions declared only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from agnesi.runtime import diskcache

LARGE = 6000
"""Characters of IR from which a function is worth a unit, whose fixed cost is about 2 ms."""
GROUP = 24000
"""Characters of smaller functions that are a unit together, where there are as many."""
_WORTH = 6000
"""Characters of what is left of them from which that is a unit too."""

_NAME = re.compile(r"@([\w.$]+)")
_NOTED = re.compile(r", ![\w.]+ (!\d+)")
_PREFIX = "define internal "


class Unit(NamedTuple):
    """IR text, and the name of the function that it is for; empty for the last unit."""

    name: str
    text: str


def split(text: str, hasty: bool = False) -> list[Unit]:
    """The units of a module in the order in which they can be loaded (see :class:`Stream`)."""
    functions, outside = _functions(text)
    lines = outside.splitlines()
    stream = Stream(hasty)
    for function in functions:
        stream.feed(function, lambda: lines)
    return stream.end(text, outside)


class Stream:
    """Cuts a module that is still being written; in haste, into groups only, as few as pay."""

    def __init__(self, hasty: bool = False) -> None:
        self._hasty = hasty
        self._cutter = _Cutter({}, {})
        self._hot: list[str] = []
        self._small: list[str] = []
        self._left: list[str] = []

    def feed(self, function: str, outside: Callable[[], Sequence[str]]) -> list[Unit]:
        """The units that a function completes; ``outside`` gives the lines outside of functions."""
        function = function.rstrip("\n") + "\n"
        large = not self._hasty and _is_large(function)
        if large and not self._calls_small(function):
            return self._made([function], outside)
        if large:
            return [*self._flushed(outside), *self._made([function], outside)]
        (self._hot if self._hasty and _is_hot(function) else self._small).append(function)
        enough = GROUP // 2 if self._hasty else GROUP  # so that threads are done together
        if max(sum(map(len, self._small)), sum(map(len, self._hot))) < enough:
            return []
        return self._flushed(outside)

    def _flushed(self, outside: Callable[[], Sequence[str]]) -> list[Unit]:
        """The units of what waits."""
        hot, small = self._hot, self._small
        self._hot, self._small = [], []
        return [*self._made(hot, outside), *self._made(small, outside)]

    def _calls_small(self, function: str) -> bool:
        """Whether a function needs one that waits for its group to be complete."""
        return not {_label(f) for f in self._small}.isdisjoint(_NAME.findall(function))

    def _made(self, functions: Sequence[str], outside: Callable[[], Sequence[str]]) -> list[Unit]:
        """The unit of functions, without those that stay in the module."""
        cutter, around = self._cutter, _cutter(outside())
        if around is not None:
            cutter.others |= around.others
            cutter.metadata = around.metadata
        group = [] if around is None else cutter.standing(functions)
        self._left += [f for f in functions if f not in group]
        if not group:
            return []
        cutter.add(group)
        return [[*cutter.units.values()][-1]]

    def end(self, text: str, outside: str) -> list[Unit]:
        """All units of the module with this text, when each of its functions was fed."""
        cutter, lines = self._cutter, outside.splitlines()
        if self._hot or (cutter.units and sum(map(len, self._small)) >= _WORTH):
            self._flushed(lambda: lines)
        left = [f for f in self._left + self._small if _label(f) not in cutter.names]
        if not cutter.units:
            return [Unit("", text)]
        rest = _renamed("".join([outside, "\n", *left]), cutter.names)
        return [*cutter.units.values(), Unit("", "\n".join([*cutter.declared, rest]))]


def _cutter(outside: Sequence[str]) -> _Cutter | None:
    """One for functions with this around them; None where that holds what no unit can."""
    others = _others(outside)
    if others is None:
        return None
    notes = [line for line in outside if line.startswith("!")]
    return _Cutter(others, {line.split(" ", 1)[0]: line for line in notes})


def _is_large(function: str) -> bool:
    """Whether a function is worth a unit; what others call out of line always is."""
    return len(function) >= LARGE or " noinline " in function[: function.index("\n")]


def _is_hot(function: str) -> bool:
    """Whether a function asks for better code than its module."""
    return ' "hot" ' in function[: function.index("\n")]


class _Cutter:
    """Makes units; ``names`` are those of their functions outside, by label."""

    def __init__(self, others: dict[str, str], metadata: Mapping[str, str]) -> None:
        self.others = others
        self.metadata = metadata
        self.units: dict[str, Unit] = {}
        self.names: dict[str, str] = {}
        self.declared: list[str] = []

    def standing(self, functions: Sequence[str]) -> list[str]:
        """Functions that need nothing but declarations, constants, units, and those before them."""
        found, known = [], set(self.others)
        for function in functions:
            header, label = function[: function.index("\n")], _label(function)
            if not header.startswith(_PREFIX) or "alwaysinline" in header:
                continue
            if {*_NAME.findall(function)} - {label} <= known:
                found.append(function)
                known.add(label)
        return found

    def add(self, functions: Sequence[str]) -> None:
        """Make functions one unit."""
        labels = [_label(f) for f in functions]
        used = dict.fromkeys(n for f in functions for n in _NAME.findall(f) if n not in labels)
        lines = [self.others[name] for name in used]
        noted = dict.fromkeys(n for f in functions for n in _NOTED.findall(f))
        lines += [self.metadata[n] for n in noted if n in self.metadata]
        constants = [name for name in used if not self.others[name].startswith("declare ")]
        names = {name: f".c{i}" for i, name in enumerate(constants)}
        names |= {name: self.names[name] for name in used if name in self.names}
        own = {label: f"unit.{i}" if i else "unit" for i, label in enumerate(labels)}
        bodies = ["define " + f[len(_PREFIX) :] for f in functions]
        text = _renamed("\n".join([*lines, *bodies]), {**names, **own})
        name = "u" + diskcache.key(text)[:24]
        new = name not in self.units
        self.units[name] = Unit(name, re.sub(r"@unit(?=[.(])", f"@{name}", text))
        for function, label in zip(functions, labels, strict=True):
            self.names[label] = own[label].replace("unit", name)
            declaration = _declaration(function, label)
            declaration = declaration.replace(f"@{label}(", f"@{self.names[label]}(")
            self.others[label] = declaration
            if new:
                self.declared.append(declaration)


def pack(objects: Sequence[tuple[str, bytes]]) -> bytes:
    """The objects of all units of a program as one file."""
    parts = []
    for name, data in objects:
        label = name.encode()
        parts += [len(label).to_bytes(4, "little"), len(data).to_bytes(4, "little"), label, data]
    return b"".join(parts)


def unpack(data: bytes) -> list[tuple[str, bytes]]:
    """What :func:`pack` packed."""
    objects, at = [], 0
    while at < len(data):
        label = int.from_bytes(data[at : at + 4], "little")
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        at += 8
        objects.append((data[at : at + label].decode(), data[at + label : at + label + size]))
        at += label + size
    return objects


def _functions(text: str) -> tuple[list[str], str]:
    """The texts of the functions, and what is between them."""
    first, *pieces = ("\n" + text).split("\ndefine ")
    functions, outside = [], [first]
    for piece in pieces:
        function, _, after = piece.partition("\n}")
        functions.append(f"define {function}\n}}\n")
        outside.append(after)
    return functions, "".join(outside)


def _others(lines: Sequence[str]) -> dict[str, str] | None:
    """Declarations and private constants by name; None if there is anything but metadata beside."""
    found = {}
    for line in lines:
        if not line or line[0] in ";!":
            continue
        name = _NAME.search(line)
        constant = name is not None and line.startswith(
            f"@{name[1]} = private unnamed_addr constant"
        )
        if name is None or not (constant or line.startswith("declare ")):
            return None
        found[name[1]] = line
    return found


def _label(function: str) -> str:
    match = _NAME.search(function)
    return match[1] if match else ""


def _declaration(function: str, label: str) -> str:
    header = function[len(_PREFIX) : function.index("\n")]
    result, parameters = header.split(f"@{label}(", 1)
    types = re.sub(r" %[\w.$-]+", "", parameters[: parameters.rindex(")")])
    return f"declare {result}@{label}({types})"


def _renamed(text: str, names: Mapping[str, str]) -> str:
    if not names:
        return text
    known = re.compile(rf"@({'|'.join(map(re.escape, names))})(?![\w.$])")
    return known.sub(lambda m: "@" + names[m[1]], text)
