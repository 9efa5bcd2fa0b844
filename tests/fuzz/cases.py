"""Which cases there are: the one of a seed and a number; what is printed of one that fails."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from tests.fuzz.check import Failure, failing
from tests.fuzz.failures.bisect import culprits
from tests.fuzz.failures.reduce import Fails, reduced
from tests.fuzz.generator import program
from tests.fuzz.kinds import broad, carried, nested, statements, training, views
from tests.fuzz.kinds.statements import Script, Text
from tests.fuzz.program import Program
from tests.fuzz.run import Case
from tests.fuzz.ways import WAYS, Way

#: Ways of functions that are drawn by themselves.
SCRIPTS = {statements.WAY: statements.script, training.WAY: training.training,
           nested.WAY: nested.nested, carried.WAY: carried.carried, views.WAY: views.views,
           broad.WAY: broad.broad}


def case(seed: Any, ways: Iterable[Way] = WAYS, **how: Any) -> Case | Script | None:
    """A random program and a way that fits it; None where none was found."""
    made = program(seed, **how)
    rng = np.random.default_rng([*np.ravel(seed), 1])
    ways = list(ways)
    weights = np.array([w.weight for w in ways])
    for _ in range(20):
        way = ways[int(rng.choice(len(ways), p=weights / weights.sum()))]
        found = SCRIPTS[way](seed) if way in SCRIPTS else Case(made, way)
        if found.fits:
            return found
    return None


def report(failed: Case | Script, failure: Failure, fails: Fails | None = None) -> str:
    """A failing case made small, as Python, with what it comes from."""
    def still(smaller: Program | Text) -> bool:
        found = failing(replace(failed, program=smaller))
        return found is not None and found.kind == failure.kind

    crashed = fails is not None
    small = replace(failed, program=reduced(failed.program, fails or still))
    now = failure if crashed else failing(small) or failure
    where = "" if crashed else f"\n# it comes from {culprits(small, now.kind)}"
    text = now.text if len(now.text) < 1500 else now.text[:1500] + "..."
    told = "\n".join(f"# {line}" for line in f"{now.kind}: {text}".splitlines())
    return f"{small.source}\n# in the way {failed.way.name!r}\n{told}{where}"
