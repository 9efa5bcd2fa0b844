"""Plain YAML: mappings and lists by indentation, scalars, and lists and mappings in brackets."""

from __future__ import annotations

import re
from typing import Any

from agnesi.core.support.errors import at

_WORDS = {"null": None, "~": None, "": None, "true": True, "false": False, "True": True,
          "False": False, "None": None}
_KEY = re.compile(r"""("(?:[^"\\]|\\.)*"|'[^']*'|[^:\s][^:]*?)\s*:(?:\s+(.*)|$)""")


def loads(text: str) -> Any:
    """The data that a text describes; tags, anchors and texts of several lines are not read.

    Parameters
    ----------
    text : str

    Returns
    -------
    dict, list, str, number, bool or None

    Raises
    ------
    ValueError
        If the text is something else; the message has the line.
    """
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        bare = _uncommented(line).rstrip()
        if bare.strip() and bare.strip() != "---":
            if "\t" in bare[: len(bare) - len(bare.lstrip())]:
                raise ValueError(at(f"YAML, line {number}: a tab in the indentation"))
            lines.append((len(bare) - len(bare.lstrip()), bare.strip(), number))
    if not lines:
        return None
    found, rest = _block(lines, 0, lines[0][0])
    if rest < len(lines):
        raise ValueError(at(f"YAML, line {lines[rest][2]}: {lines[rest][1]!r} belongs to nothing"))
    return found


def _uncommented(line: str) -> str:
    quote = ""
    for i, c in enumerate(line):
        if quote:
            quote = "" if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c == "#" and (i == 0 or line[i - 1] in " \t"):
            return line[:i]
    return line


def _block(lines: list[Any], i: int, indent: int) -> tuple[Any, int]:
    """Return the value that begins at a line, and the number of the line behind it."""
    text = lines[i][1]
    if text.startswith("- ") or text == "-":
        return _list(lines, i, indent)
    if text[0] not in "[{" and _KEY.match(text):
        return _mapping(lines, i, indent)
    return _scalar(text, lines[i][2]), i + 1


def _list(lines: list[Any], i: int, indent: int) -> tuple[list[Any], int]:
    found: list[Any] = []
    while i < len(lines) and lines[i][0] == indent and re.match(r"-(\s|$)", lines[i][1]):
        inner = lines[i][1][1:].lstrip()
        if not inner:
            value, i = _nested(lines, i + 1, indent)
        else:
            deeper = indent + len(lines[i][1]) - len(inner)
            lines[i] = (deeper, inner, lines[i][2])
            value, i = _block(lines, i, deeper)
        found.append(value)
    return found, i


def _mapping(lines: list[Any], i: int, indent: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    while i < len(lines) and lines[i][0] == indent:
        match = _KEY.match(lines[i][1])
        if match is None or lines[i][1].startswith("- "):
            break
        key = str(_scalar(match.group(1), lines[i][2]))
        if match.group(2):
            found[key] = _scalar(match.group(2).strip(), lines[i][2])
            i += 1
        else:
            found[key], i = _nested(lines, i + 1, indent)
    return found, i


def _nested(lines: list[Any], i: int, indent: int) -> tuple[Any, int]:
    if i < len(lines) and (lines[i][0] > indent or (
            lines[i][0] == indent and lines[i][1].startswith("- "))):
        return _block(lines, i, lines[i][0])
    return None, i


def _scalar(text: str, line: int) -> Any:
    if text[:1] in "[{":
        value, rest = _flow(text, 0, line)
        if text[rest:].strip():
            raise ValueError(at(f"YAML, line {line}: {text[rest:]!r} behind a bracket"))
        return value
    if text[:1] in "\"'" and text[-1:] == text[:1] and len(text) > 1:
        return text[1:-1]
    if text[:1] in "&*!|>%@`":
        raise ValueError(at(f"YAML, line {line}: {text!r} is more than plain YAML"))
    if text in _WORDS:
        return _WORDS[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _flow(text: str, i: int, line: int) -> tuple[Any, int]:
    """A list or mapping in brackets that begins at a place, and the place behind it."""
    close = "]" if text[i] == "[" else "}"
    items: list[Any] = []
    pairs: dict[str, Any] = {}
    key = ""
    i += 1
    while True:
        while text[i:i + 1].isspace() or text[i:i + 1] == ",":
            i += 1
        if not text[i:i + 1]:
            raise ValueError(at(f"YAML, line {line}: a bracket is not closed"))
        if text[i] == close:
            return (items if close == "]" else pairs), i + 1
        if close == "}":
            match = re.compile(r"\s*([^:,{}]+?)\s*:\s*").match(text, i)
            if match is None:
                raise ValueError(at(f"YAML, line {line}: no key at {text[i:]!r}"))
            key, i = str(_scalar(match.group(1), line)), match.end()
        if text[i:i + 1] in ("[", "{"):
            value, i = _flow(text, i, line)
        else:
            match = re.compile(r"""\s*("[^"]*"|'[^']*'|[^,\]}]*)""").match(text, i)
            assert match is not None
            value, i = _scalar(match.group(1).strip(), line), match.end()
        if close == "]":
            items.append(value)
        else:
            pairs[key] = value
