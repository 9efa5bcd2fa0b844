"""Cuts a module into compilation units, which are compiled, cached and shared on their own.

A large internal function that needs nothing of its module but declarations, constants and units
before it becomes a unit, named by its content: programs that have it in common compile it once.
Many small ones are units in groups.  All else stays together in the last unit: the module itself
with those functions declared only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from agnesi.runtime import disk_cache

LARGE_UNIT_CHARACTERS = 6000
"""Characters of IR from which a function is worth a unit, whose fixed cost is about 2 ms."""
UNIT_CHARACTERS = 24000
"""Characters of smaller functions that are a unit together, where there are as many."""
_MIN_WAITING_CHARACTERS = 6000
"""Characters of what is left of them from which that is a unit too."""

_NAME = re.compile(r"@([\w.$]+)")
_NOTED = re.compile(r", ![\w.]+ (!\d+)")
_PREFIX = "define internal "


class Unit(NamedTuple):
    """IR text, and the name of the function that it is for; empty for the last unit."""

    name: str
    text: str


def split(text: str, opt_level: int = 1) -> list[Unit]:
    """The units of a module in the order in which they can be loaded (see :class:`Stream`)."""
    return Stream(opt_level).end(text)


class _Function:
    """The text of a function in ``pieces``: every second one is a name that it uses."""

    def __init__(self, text: str) -> None:
        self.pieces = _NAME.split(text.rstrip("\n") + "\n")
        self.size = len(text)
        self.header = text[: text.index("\n")]
        self.label = self.pieces[1]
        self.names = set(self.pieces[1::2])

    def text(self, names: Mapping[str, str]) -> str:
        """Its text with other names."""
        return _joined(self.pieces, names)

    @property
    def declaration(self) -> str:
        """Return the declaration of the function in the modules that call it."""
        header = self.header[len(_PREFIX) :]
        result, parameters = header.split(f"@{self.label}(", 1)
        types = re.sub(r" %[\w.$-]+", "", parameters[: parameters.rindex(")")])
        return f"declare {result}@{self.label}({types})"


class Stream:
    """Cuts a module that is still being written; at level 0 into groups only, as few as pay.

    Functions that want another level than the rest are in units of their own: at level 0 those that
    are marked as ``"hot"``, which others call, and else those marked as ``"light"``, which do.
    """

    def __init__(self, opt_level: int = 1) -> None:
        self._quickest = opt_level == 0
        self._cutter = _Cutter()
        self._fed = 0
        self._mark = ' "hot" {' if self._quickest else ' "light" {'
        self._marked: list[_Function] = []
        self._small: list[_Function] = []
        self._left: list[_Function] = []

    def feed(self, text: str, outside: Callable[[], Sequence[str]]) -> list[Unit]:
        """The units that a function completes; ``outside`` gives the lines outside of functions."""
        function = _Function(text)
        self._fed += 1
        # What others call out of line is worth a unit at any size.
        marked = function.header.endswith(self._mark)
        large = function.size >= LARGE_UNIT_CHARACTERS or " noinline " in function.header
        if large and not marked and not self._quickest:
            calls = not function.names.isdisjoint(f.label for f in self._small)
            waiting = self._flushed(outside) if calls else []
            return [*waiting, *self._made([function], outside)]
        (self._marked if marked else self._small).append(function)
        # Groups at level 0 are smaller, so that threads are done together.
        if (
            _size(self._small) < UNIT_CHARACTERS >> self._quickest
            and _size(self._marked) < UNIT_CHARACTERS // 2
        ):
            return []
        return self._flushed(outside)

    def _flushed(self, outside: Callable[[], Sequence[str]]) -> list[Unit]:
        """Return compile units of the functions that were collected and not yet put into one."""
        groups = self._small, self._marked
        self._small, self._marked = [], []
        return [u for g in (reversed(groups) if self._quickest else groups)
                for u in self._made(g, outside)]

    def _made(self, functions: list[_Function], outside: Callable[[], Sequence[str]]) -> list[Unit]:
        """Return the unit made of those functions that can leave the module; the others are kept in
        it.
        """
        cutter = self._cutter
        group = cutter.standing(functions) if functions and cutter.knows(outside()) else []
        self._left += [f for f in functions if f not in group]
        return [cutter.add(group)] if group else []

    def end(self, text: str) -> list[Unit]:
        """All units of the module with this text, which begins with the functions that were fed."""
        functions, outside = _functions(text)
        lines, cutter = outside.splitlines(), self._cutter
        for function in functions[self._fed :]:
            self.feed(function, lambda: lines)
        waiting = max(_size(self._small), _size(self._marked))
        if (self._quickest and self._marked) or (
            cutter.units and waiting >= _MIN_WAITING_CHARACTERS
        ):
            self._flushed(lambda: lines)
        if not cutter.units:
            return [Unit("", text)]
        names = cutter.names
        inside = [*self._left, *self._small, *self._marked]
        left = [f.text(names) for f in inside if f.label not in names]
        rest = [*cutter.declared, _joined(_NAME.split(outside), names), *left]
        return [*cutter.units.values(), Unit("", "\n".join(rest))]


def _size(functions: Iterable[_Function]) -> int:
    return sum(f.size for f in functions)


class _Cutter:
    """Cuts functions into units; ``names`` maps labels to the names that functions have outside of
    their unit.
    """

    def __init__(self) -> None:
        self.units: dict[str, Unit] = {}
        self.names: dict[str, str] = {}
        self.declared: list[str] = []
        self._others: dict[str, str] = {}
        self._metadata: dict[str, str] = {}
        self._seen: set[str] = set()

    def knows(self, outside: Sequence[str]) -> bool:
        """Note the lines outside of functions; return whether units can contain all of them."""
        for line in outside:
            if line in self._seen or not line or line[0] == ";":
                continue
            if line[0] == "!":
                self._metadata[line.split(" ", 1)[0]] = line
            else:
                name = _NAME.search(line)
                if name is None or not line.startswith(
                    ("declare ", f"@{name[1]} = private unnamed_addr constant")
                ):
                    return False
                self._others[name[1]] = line
            self._seen.add(line)
        return True

    def standing(self, functions: Sequence[_Function]) -> list[_Function]:
        """Return the functions that refer only to declarations, constants, units and functions
        before them.
        """
        found, own = [], set[str]()
        for function in functions:
            if not function.header.startswith(_PREFIX) or "alwaysinline" in function.header:
                continue
            if all(n in self._others or n in own or n == function.label for n in function.names):
                found.append(function)
                own.add(function.label)
        return found

    def add(self, functions: Sequence[_Function]) -> Unit:
        """Add a compilation unit that consists of some functions."""
        own = {f.label: f".{i}" if i else "" for i, f in enumerate(functions)}
        used = dict.fromkeys(n for f in functions for n in f.pieces[1::2] if n not in own)
        around = [self._others[name] for name in used]
        if self._metadata:
            noted = dict.fromkeys(n for f in functions for n in _NOTED.findall(f.text({})))
            around += [self._metadata[n] for n in noted if n in self._metadata]
        constants = [name for name in used if not self._others[name].startswith("declare ")]
        names = {name: f".c{i}" for i, name in enumerate(constants)}
        names |= {name: self.names[name] for name in used if name in self.names}
        head = _joined(_NAME.split("\n".join([*around, ""])), names)

        def text(name: str) -> str:
            known = names | {label: name + suffix for label, suffix in own.items()}
            bodies = ["define " + f.text(known)[len(_PREFIX) :] for f in functions]
            return head + "\n".join(bodies)

        name = "u" + disk_cache.digest(text("unit"))[:32]
        new = name not in self.units
        self.units[name] = Unit(name, text(name))
        for function in functions:
            label = function.label
            self.names[label] = name + own[label]
            declaration = function.declaration.replace(f"@{label}(", f"@{self.names[label]}(")
            self._others[label] = declaration
            if new:
                self.declared.append(declaration)
        return self.units[name]


def pack(objects: Sequence[tuple[str, bytes]]) -> bytes:
    """The objects of all units of a program as one file."""
    parts = []
    for name, data in objects:
        label = name.encode()
        parts += [len(label).to_bytes(4, "little"), len(data).to_bytes(4, "little"), label, data]
    return b"".join(parts)


def unpack(data: bytes) -> list[tuple[str, bytes]]:
    """Return what :func:`pack` packed; raise ValueError if it did not pack this."""
    objects, at = [], 0
    while at < len(data):
        label = int.from_bytes(data[at : at + 4], "little")
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        at += 8
        objects.append((data[at : at + label].decode(), data[at + label : at + label + size]))
        at += label + size
    if at != len(data) or not objects or objects[-1][0]:  # the last unit has no name
        raise ValueError("not the objects of a program")
    return objects


def _functions(text: str) -> tuple[list[str], str]:
    """Split LLVM text into its functions and the text between them."""
    first, *pieces = ("\n" + text).split("\ndefine ")
    functions, outside = [], [first]
    for piece in pieces:
        function, _, after = piece.partition("\n}")
        functions.append(f"define {function}\n}}\n")
        outside.append(after)
    return functions, "".join(outside)


def _joined(pieces: Sequence[str], names: Mapping[str, str]) -> str:
    """Return the text of a function from its pieces, with the names replaced."""
    joined = list(pieces)
    joined[1::2] = ["@" + names.get(name, name) for name in pieces[1::2]]
    return "".join(joined)
