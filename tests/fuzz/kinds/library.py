"""The lines of ``broad.py``: the library's functions, methods and layers by the kinds of values.

They stand in ``library.txt``, in sections by what they make.  Capital letters are values: ``V`` a
vector of floats, ``M`` a matrix, ``A`` a square matrix, ``L`` three axes, ``P`` images, ``S`` a
number, ``E`` any of these, ``Z`` complex numbers, ``J`` a vector of integers, ``I`` an integer,
``B`` a mask, ``X`` a sparse matrix; ``N`` is the name of a layer, ``H`` a whole number of 0 to 3,
``R`` a stream of random numbers, ``D`` the dtype, ``U`` what looks into a value.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

#: What functions of one operand are given, by the word in parentheses.
_INNER = {"": "E", "tanh": "ag.tanh(E)", "one": "(1 + E * E)", "square": "(E * E)",
          "sigmoid": "ag.sigmoid(E)", "more": "(1.5 + ag.abs(E))", "half": "ag.tanh(E) * 0.9"}
#: What those of two are given.
_PAIRS = {"": "E, E", "one": "1 + E * E, E", "int": "E, H", "order": "H, E",
          "both": "1 + E * E, 0.5 + E * E", "above": "E, 1 + E * E"}
#: What a method that writes is called on, by the sign behind it.
_START = {"": "E * 1", "+": "1.1 + E * E", "-": "ag.tanh(E) * 0.9"}
_ASSIGNED = ("[...] = E", "[0] = S", "[1:] = r[:-1]", "[::-1] = E", "[...] += E", "[0] *= S",
             "[-1:] -= 1", "[r > 0] = S", "[r > S] *= 2", "[J % 2] = S", "[I % 2] = S",
             "[..., 0] = S", " += E", " *= S", " -= r * 0.5", " /= 2", " **= 2", ".T[...] = S",
             "[:] = r[::-1]", "[None] = E")


@cache
def sections() -> dict[str, tuple[str, ...]]:
    """The lines by their section."""
    found: dict[str, list[str]] = {}
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("[") and line.endswith("]"):
            found[line[1:-1]] = lines = []
        elif line:
            lines.append(line)
    return {name: tuple(lines) for name, lines in found.items()}


def everywhere() -> list[str]:
    """Lines of floats of any shape, which they keep, or broadcast."""
    parts = ((table, word.rstrip(")").partition("("))
             for name, table in (("unary", _INNER), ("binary", _PAIRS))
             for word in sections()[name])
    return [f"ag.{name}({table[given]})" for table, (name, _, given) in parts] + [
        *sections()["any"]]


def writes() -> list[str]:
    """Rows of statements that change a new value, which is ``w``, by what looks into it."""
    lines = []
    for word in sections()["methods"]:
        name = word.rstrip("+-")
        call = name if "(" in name else f"{name}()"
        start = _START[word[len(name):]]
        lines += [f"w = {start}\nr = wU\nr.{call}", f"w = {start}\nr = wUU\nr.{call}\nw = w * 1"]
    return lines + [f"w = E * 1\nr = wUU\nr{text}" for text in _ASSIGNED]
