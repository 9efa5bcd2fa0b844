"""Cutting a module into units that are compiled, cached and shared on their own.

A large internal function that needs nothing of its module but declarations, constants and units
before it becomes a unit, named by its content: programs that have it in common compile it once.
All else stays together in the last unit: the module itself with those functions declared only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from agnesi.runtime import diskcache

LARGE = 6000
"""Characters of IR from which a function is worth a unit, whose fixed cost is about 1 ms."""

_NAME = re.compile(r"@([\w.$]+)")
_PREFIX = "define internal "


class Unit(NamedTuple):
    """IR text, and the name of the function that it is for; empty for the last unit."""

    name: str
    text: str


def split(text: str) -> list[Unit]:
    """The units of a module in the order in which they can be loaded."""
    functions, outside = _functions(text)
    others = _others(outside)
    if others is None:
        return [Unit("", text)]
    metadata = [line for line in outside.splitlines() if line.startswith("!")]
    units: dict[str, Unit] = {}
    names: dict[str, str] = {}
    declared: list[str] = []
    rest: list[str] = []
    for function in functions:
        found = _unit(function, others, names, metadata) if _is_large(function) else None
        if found is None:
            rest.append(function)
            continue
        label, unit = found
        others[label] = _declaration(function, label).replace(f"@{label}(", f"@{unit.name}(")
        if unit.name not in units:
            declared.append(others[label])
        names[label] = unit.name
        units[unit.name] = unit
    if not units:
        return [Unit("", text)]
    return [
        *units.values(),
        Unit("", "\n".join([*declared, _renamed("".join([outside, "\n", *rest]), names)])),
    ]


def _is_large(function: str) -> bool:
    """Whether a function is worth a unit; what others call out of line always is."""
    return len(function) >= LARGE or " noinline " in function[: function.index("\n")]


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


def _others(text: str) -> dict[str, str] | None:
    """Declarations and private constants by name; None if there is anything but metadata beside."""
    found = {}
    for line in text.splitlines():
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


def _unit(
    function: str, others: Mapping[str, str], units: Mapping[str, str], metadata: Sequence[str]
) -> tuple[str, Unit] | None:
    """The function's label and its unit, if it can stand alone; ``units`` are those before it."""
    label, header = _label(function), function[: function.index("\n")]
    used = dict.fromkeys(_NAME.findall(function))
    del used[label]
    if (
        not header.startswith(_PREFIX)
        or "alwaysinline" in header
        or not used.keys() <= others.keys()
    ):
        return None
    lines = [others[name] for name in used]
    if ", !" in function:
        lines += metadata
    constants = [name for name in used if not others[name].startswith("declare ")]
    names = {name: f".c{i}" for i, name in enumerate(constants)}
    names |= {name: units[name] for name in used if name in units}
    body = "define " + function[len(_PREFIX) :]
    text = _renamed("\n".join([*lines, body]), {**names, label: "unit"})
    name = "u" + diskcache.key(text)[:24]
    return label, Unit(name, _renamed(text, {"unit": name}))


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
