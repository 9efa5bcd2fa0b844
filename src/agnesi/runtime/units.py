"""Cutting a module into units that are compiled, cached and shared on their own.

A large internal function that needs nothing of its module but declarations and constants becomes a
unit, named by its content: programs that have it in common compile it once.  All else stays
together in the last unit, which is the module itself with those functions declared only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from agnesi.runtime import diskcache

LARGE = 6000
"""Characters of IR from which a function is worth a unit, whose fixed cost is about 1 ms."""

_FUNCTION = re.compile(r"^define .*?^}\n?", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"@([\w.$]+)")
_PREFIX = "define internal "


class Unit(NamedTuple):
    """IR text, and the name of the function that it is for; empty for the last unit."""

    name: str
    text: str


def split(text: str) -> list[Unit]:
    """The units of a module in the order in which they can be loaded."""
    others = _others(_FUNCTION.sub("", text))
    if others is None:
        return [Unit("", text)]
    units: dict[str, Unit] = {}
    names: dict[str, str] = {}
    declared: list[str] = []
    for match in _FUNCTION.finditer(text):
        found = _unit(match[0], others) if len(match[0]) >= LARGE else None
        if found is not None:
            label, unit = found
            if unit.name not in units:
                declared.append(
                    _declaration(match[0], label).replace(f"@{label}(", f"@{unit.name}(")
                )
            names[label] = unit.name
            units[unit.name] = unit
    if not units:
        return [Unit("", text)]
    rest = _FUNCTION.sub(lambda m: "" if _label(m[0]) in names else m[0], text)
    rest = _renamed(rest, names)
    return [*units.values(), Unit("", "\n".join([*declared, rest]))]


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


def _others(text: str) -> dict[str, str] | None:
    """Declarations and private constants by name; None if there is anything else."""
    found = {}
    for line in text.splitlines():
        if not line or line.startswith(";"):
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


def _unit(function: str, others: Mapping[str, str]) -> tuple[str, Unit] | None:
    """The function's label and its unit, if it can stand alone."""
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
    constants = [name for name in used if not others[name].startswith("declare ")]
    names = {name: f".c{i}" for i, name in enumerate(constants)}
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
    return _NAME.sub(lambda m: f"@{names.get(m[1], m[1])}", text)
