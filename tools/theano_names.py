"""The share of Theano's and PyTensor's names that ``agnesi.compat.theano.tensor`` has or explains.

``python tools/theano_names.py`` compares the public names of ``theano.tensor`` 1.0 and
``pytensor.tensor`` in ``tests/compat/theano/theano_names.txt``; ``--list`` prints those that are
neither there nor explained.  ``--read PACKAGE FOLDER`` prints the names of a checkout of either,
from which that file is made: what its ``tensor/__init__.py`` imports, stars included.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator
from pathlib import Path

from agnesi.compat.theano import tensor

FILE = Path(__file__).parent.parent / "tests/compat/theano/theano_names.txt"


def parsed(path: Path) -> ast.Module:
    """A module's tree, without the types that newer Pythons write."""
    text = re.sub(r"^type (\w+) =", r"\1 =", path.read_text(encoding="utf-8"), flags=re.M)
    return ast.parse(re.sub(r"^( *(?:def|class) \w+)\[[^\]\n]*\]", r"\1", text, flags=re.M))


def defined(path: Path) -> list[str]:
    """What ``from module import *`` gives: ``__all__``, or what the module defines itself."""
    tree = parsed(path)
    found: list[str] = []
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.append(node.name)
        targets = node.targets if isinstance(node, ast.Assign) else []
        for target in targets:
            for part in ast.walk(target):
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                    found.append(part.id)
            value = node.value if isinstance(node, ast.Assign) else None
            if isinstance(target, ast.Name) and target.id == "__all__" and isinstance(
                    value, (ast.List, ast.Tuple)):
                return [e.value for e in value.elts if isinstance(e, ast.Constant)]
    return found


def read(package: str, folder: Path) -> Iterator[str]:
    """Public names of a package's module ``tensor``."""
    home = folder / package / "tensor"
    tree = parsed(home / "__init__.py")
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith(package):
            continue
        path = folder.joinpath(*(node.module or "").split("."))
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        for alias in node.names:
            if alias.name == "*":
                yield from defined(path)
            else:
                yield alias.asname or alias.name


def listed() -> dict[str, list[str]]:
    """The names of each library."""
    found: dict[str, list[str]] = {}
    for line in FILE.read_text(encoding="utf-8").splitlines():
        title, _, names = line.partition(":")
        if names and not line.startswith("#"):
            found.setdefault(title, []).extend(names.split())
    return found


def standing(name: str) -> str:
    """Whether a name is "there", "explained" by the error that tells what to use, or "neither"."""
    try:
        getattr(tensor, name)
    except AttributeError as error:
        return "explained" if "; " in str(error) else "neither"
    return "there"


def main() -> None:
    """Print the shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--read", nargs=2, metavar=("PACKAGE", "FOLDER"))
    given = parser.parse_args()
    if given.read:
        names = {n for n in read(given.read[0], Path(given.read[1])) if not n.startswith("_")}
        print(" ".join(sorted(names)))
        return
    for title, names in listed().items():
        kinds = {n: standing(n) for n in names}
        count = {kind: sum(k == kind for k in kinds.values())
                 for kind in ("there", "explained", "neither")}
        share = 1 - count["neither"] / len(names)
        print(f"{title}: {len(names)} names, {count['there']} there, {count['explained']} "
              f"explained, {count['neither']} neither: {share:.1%}")
        if given.list:
            print("  " + " ".join(n for n, kind in kinds.items() if kind == "neither"))


if __name__ == "__main__":
    main()
