"""``dir`` of lazily loaded modules: the names that their sources offer, as type checkers read them.

A name is offered that is defined there, or imported as itself (``from a import b as b``, or with
``*``); what is imported for the module's own use is not, and a test compares with ``dir``.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any


def shown(name: str) -> list[str]:
    """Return the names that ``dir`` shows of a module, by the module's name."""
    here = vars(sys.modules[name])
    found = here.get("__all__") or exported(name)
    return sorted({*found, *(n for n in here if n.startswith("__"))})


def public(self: Any, names: str) -> list[str]:
    """Return the names that ``dir`` shows of an object whose public names are these."""
    return sorted({*names.split(), *(n for n in object.__dir__(self) if n.startswith("_"))})


@functools.cache
def exported(name: str) -> frozenset[str]:
    """The names without an underscore that a module's source offers."""
    spec = import_module(name).__spec__
    get: Any = getattr(spec.loader, "get_source", None) if spec else None
    if spec and spec.origin and not get:  # a test runner's own loader
        with open(spec.origin, encoding="utf-8") as file:
            source: str | None = file.read()
    else:
        source = get(name) if get else None
    if source is None:  # only compiled files are there
        return frozenset(n for n in vars(sys.modules[name]) if not n.startswith("_"))
    return frozenset(n for n in _offered(ast.parse(source).body) if not n.startswith("_"))


def _offered(body: Sequence[ast.stmt]) -> Iterator[str]:
    for statement in body:
        if isinstance(statement, ast.ImportFrom):
            yield from _imported(statement)
        elif isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            yield statement.name
        elif isinstance(statement, ast.Assign):
            yield from (n.id for t in statement.targets for n in ast.walk(t)
                        if isinstance(n, ast.Name))
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id
        elif isinstance(statement, ast.If):
            yield from _offered(statement.body)


def _imported(statement: ast.ImportFrom) -> Iterator[str]:
    for alias in statement.names:
        if alias.name == "*":
            source = str(statement.module)
            yield from getattr(import_module(source), "__all__", None) or exported(source)
        elif alias.asname and alias.asname.strip("_") == alias.name.strip("_"):
            yield alias.asname


def module_of(kind: type) -> str:
    """The name of a class's module; empty if the code that defined it has none."""
    found = getattr(kind, "__module__", "")
    return found if isinstance(found, str) else ""
