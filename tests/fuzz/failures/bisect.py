"""Which rewrite rule or pass of the scheduler a failure comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agnesi.rewrite import rules
from agnesi.schedule.passes import PASSES
from tests.fuzz.check import Failure, failing
from tests.fuzz.kinds.statements import Script
from tests.fuzz.run import Case

REST = "what cannot be switched off: tracing, operations, required passes or code generation"


def culprits(case: Case | Script, kind: str) -> str:
    """Names of rules and passes without any of which the failure is gone, in words."""
    passes = [p.name for p in PASSES if not p.required]
    names = [*dict.fromkeys(r.name for r in rules())]
    if "jit" not in case.way.found and "graph" not in case.way.found and (
            "by_updates" not in case.way.found):
        return "nothing that is compiled"

    def fails(switched_off: Sequence[str]) -> bool:
        found = _failing(replace(case, exclude=tuple(switched_off)))
        return found is not None and found.kind == kind

    if fails([*names, *passes]):
        return REST
    found = [f"the pass {p!r}" for p in passes if not fails([p])]
    if not fails(names):
        needed = _smallest(names, fails)
        found += [f"the rule {n!r}" for n in needed] if len(needed) == 1 else [
            "the rules " + " and ".join(map(repr, needed)) + " (without all of them)"]
    if not found:
        found = ["the passes " + " and ".join(map(repr, _smallest([*names, *passes], fails)))
                 + " (without all of them)"]
    return ", ".join(found)


def _failing(case: Case | Script) -> Failure | None:
    return failing(case)


def _smallest(names: list[str], fails: object) -> list[str]:
    """A smallest set of names without which the failure is gone, by halves."""
    assert callable(fails)
    left, size = list(names), max(len(names) // 2, 1)
    while True:
        shrunk = False
        for start in range(0, len(left), size):
            fewer = left[:start] + left[start + size:]
            if fewer and not fails(fewer):
                left, shrunk = fewer, True
                break
        if not shrunk:
            if size == 1:
                return left
            size = max(size // 2, 1)
