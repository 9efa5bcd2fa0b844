"""The share of Torch7's names that ``agnesi.compat.torch7`` has, or explains.

``python tools/torch7_names.py`` compares the names in ``tests/compat/torch7_names.txt``: functions
of ``torch``, methods of tensors and storages, all of ``nn`` (that of the end of 2012 apart),
``optim`` and ``image``.  ``--list`` prints those that are neither there nor left out for a reason,
``--write`` the table in docs/torch7-names.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from agnesi.compat import torch7
from agnesi.compat.torch7 import image, nn, optim

HOME = Path(__file__).parent.parent
FILE, PAGE = HOME / "tests/compat/torch7_names.txt", HOME / "docs/torch7-names.md"

#: What names belong to, and how one is found there.
PLACES: dict[str, Any] = {
    "torch": torch7, "Tensor": torch7.Tensor, "Storage": torch7.Storage, "nn (2012)": nn, "nn": nn,
    "nn.Module": nn.Module, "nn.Criterion": nn.Criterion, "nn.Container": nn.Container,
    "optim": optim, "optim.ConfusionMatrix": optim.ConfusionMatrix, "optim.Logger": optim.Logger,
    "image": image,
}
#: Why names are left out.
LEFT_OUT = {
    "Lua's own classes and objects, where Python has its": """
        class factory getconstructortable getenv getmetatable id include isequal
        newmetatable packageLuaPath pointer setenv setmetatable typename2id updatethreadlocals
        version
    """,
    "memory is Python's, an array's address is x.numpy().ctypes": "cdata data free retain",
    "Lua's files and command lines, where Python has its": """
        CmdLine DiskFile File MemoryFile PipeFile Tester TestSuite deserializeFromStorage read
        serializeToStorage write string
    """,
    "a window, and the styles of gnuplot; plots go to files": "window display style",
    "pictures that are not shipped": "fabio lena",
    "numbers of 16 bits, which Torch7's processor code does not compute with": "half",
    "CUDA's types": "cudaHalf cudaDouble",
    "Lua's way to errors inside a network, where Python's traceback tells": "rethrowErrors",
    "Torch7's own way to backward passes": """
        defaultAccUpdateGradParameters sharedAccUpdateGradParameters flatten applyToModules
    """,
}


def listed() -> dict[str, list[str]]:
    """The names of each place."""
    found: dict[str, list[str]] = {}
    for line in FILE.read_text(encoding="utf-8").splitlines():
        title, _, names = line.partition(":")
        if names and not line.startswith("#"):
            found.setdefault(title, []).extend(names.split())
    return found


def reasons() -> dict[str, str]:
    """Why each name is left out that is."""
    return {name: why for why, names in LEFT_OUT.items() for name in names.split()}


def standing(place: str, name: str) -> str:
    """Return "there", the reason why a name is left out, or ""."""
    return "there" if hasattr(PLACES[place], name) else reasons().get(name, "")


def page() -> str:
    """The table for docs."""
    lines = [
        "# Torch7's names", "",
        "`python tools/torch7_names.py --write` writes this page, which a test compares with "
        "`agnesi.compat.torch7`.", "",
        "| where | there | of | left out | share |", "|---|---|---|---|---|",
        *(f"| {place} | {there} | {count} | {out} | {there / (count - out):.1%} |"
          for place, there, out, count in shares()), "",
        "| Torch7's | why it is left out |", "|---|---|",
        *(f"| `{place}`: `{name}` | {standing(place, name)} |" for place, names in listed().items()
          for name in names if standing(place, name) != "there"), "",
        "| where | names that are there |", "|---|---|",
        *(f"| {place} | {' '.join(n for n in names if standing(place, n) == 'there')} |"
          for place, names in listed().items()), "",
    ]
    return "\n".join(lines)


def shares() -> list[tuple[str, int, int, int]]:
    """For each place how many names are there, left out, and listed."""
    found = []
    for place, names in listed().items():
        kinds = [standing(place, n) for n in names]
        there = kinds.count("there")
        found.append((place, there, len(kinds) - there - kinds.count(""), len(kinds)))
    return found


def main() -> None:
    """Print the shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    for place, there, out, count in shares():
        print(f"{place}: {there} of {count} names there, {out} left out: "
              f"{there / (count - out):.1%}")
    if given.list:
        print(" ".join(f"{place}.{n}" for place, names in listed().items() for n in names
                       if not standing(place, n)))
    if given.write:
        PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
