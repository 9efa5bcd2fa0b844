"""What programs of the fuzz never do: ``python -m tests.fuzz --uncovered 2000``.

Names of the library that no program calls, parameters that none gives by name or by position, and
transformations that none has inside another one.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import sys
from collections.abc import Iterator
from typing import Any

import agnesi as ag
from agnesi.core.support.foreign import parameters_of
from tests.fuzz.calls import NOT_CALLED
from tests.fuzz.cases import case
from tests.fuzz.program import Program

SPACES: dict[str, Any] = {
    "ag": ag, "ag.linalg": ag.linalg, "ag.fft": ag.fft, "ag.special": ag.special,
    "ag.nn": ag.nn, "ag.nn.functional": ag.nn.functional, "ag.random": ag.random,
    "ag.sparse": ag.sparse, "ag.optim": ag.optim, "Tensor": ag.Tensor}
TRANSFORMS = frozenset("""jit grad value_and_grad vjp jvp jacfwd jacrev hessian linearize vmap scan
    map fori_loop while_loop cond switch checkpoint custom_vjp custom_jvp Function op function
    associative_scan""".split())
#: What texts call them else.
ALIASES = {"graph": "function"}


class Seen:
    """What programs did so far."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.given: dict[str, set[int | str]] = {}
        self.nested: set[tuple[str, str]] = set()

    def add(self, source: str) -> None:
        """Note what a program calls."""
        tree = ast.parse(source)
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute):
                self.names.add(node.attr)
            if isinstance(node, ast.Call):
                self._call(node)
        bodies = {f.name: f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef)}
        for node in ast.walk(tree):
            outer = _transform(node)
            if outer and isinstance(node, ast.Call):
                parts: list[ast.AST] = [*node.args, *(k.value for k in node.keywords)]
                self.nested |= {(outer, inner) for inner in _inside(parts, bodies)}

    def _call(self, node: ast.Call) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if isinstance(node.func, ast.Name) and node.func.id == "sample" and node.args:
            text = ast.literal_eval(node.args[0])
            self.names |= {text, text.split()[0]}
        given = self.given.setdefault(name, set())
        given |= {*range(len(node.args)), *(k.arg for k in node.keywords if k.arg)}


def _transform(node: ast.AST) -> str:
    """The transformation that a node calls."""
    if not isinstance(node, ast.Call):
        return ""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    name = ALIASES.get(name, name)
    return name if name in TRANSFORMS else ""


def _inside(parts: list[ast.AST], bodies: dict[str, ast.FunctionDef]) -> Iterator[str]:
    """Transformations that functions among the parts call."""
    known: set[str] = set()
    while parts:
        for node in ast.walk(parts.pop()):
            if found := _transform(node):
                yield found
            if isinstance(node, ast.Name) and node.id in bodies and node.id not in known:
                known.add(node.id)
                parts.append(bodies[node.id])


def uncovered(count: int, seed: int) -> Iterator[str]:
    """Lines that say what so many programs never do."""
    seen = Seen()
    for number in range(count):
        found = case((seed, number))
        if found is not None:
            seen.add(f"{found.program.source}\n{found.way.prelude}\nexpected = {found.way.found}"
                     if isinstance(found.program, Program) else
                     f"{found.program.source}\n{getattr(found.program, 'use', '')}")
    for space, names in ((s, _names(o)) for s, o in SPACES.items()):
        missing = [n for n in names if n not in seen.names]
        yield f"{space}: {len(missing)} of {len(names)} names never called: {' '.join(missing)}"
    lacking = {name: [*_not_given(name, seen)] for name in sorted(seen.names)}
    yield "parameters never given: " + "; ".join(
        f"{name}({', '.join(which)})" for name, which in lacking.items() if which)
    pairs = [f"{a}({b})" for a, b in itertools.product(sorted(TRANSFORMS), repeat=2)
             if (a, b) not in seen.nested]
    yield f"{len(pairs)} of {len(TRANSFORMS)**2} transformations never nested: {' '.join(pairs)}"


def _names(space: Any) -> list[str]:
    return [n for n in dir(space) if not n.startswith("_") and n not in NOT_CALLED
            and callable(getattr(space, n, None)) and not inspect.ismodule(getattr(space, n))
            and not (inspect.isclass(found := getattr(space, n)) and issubclass(found, Exception))]


def _not_given(name: str, seen: Seen) -> Iterator[str]:
    """Parameters of a function that no call has given."""
    owner = next((o for o in SPACES.values() if callable(getattr(o, name, None))), None)
    if owner is None or name not in seen.given:
        return
    known = parameters_of(getattr(owner, name)) or {}
    for place, (word, p) in enumerate(known.items()):
        given = seen.given[name]
        if word not in given and place not in given and p.kind not in (
                p.VAR_POSITIONAL, p.VAR_KEYWORD) and word != "self":
            yield word


def show(count: int, seed: int) -> None:
    """Print the lines."""
    for line in uncovered(count, seed):
        sys.stdout.write(f"{line}\n\n")
