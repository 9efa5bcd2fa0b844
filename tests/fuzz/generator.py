"""Random programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import agnesi as ag
from tests.fuzz.pool import Pool
from tests.fuzz.program import Body, Program
from tests.fuzz.steps import (
    births,
    called,
    coinciding,
    control,
    elementwise,
    folded,
    idioms,
    library,
    masks,
    movement,
    python,
    rare,
    rearranged,
    reductions,
)
from tests.fuzz.values import DTYPES, inputs

#: How many programs decide by values, or have results whose size values tell.
DECIDING = 0.12

#: Groups of steps, and how often those of each are tried.
GROUPS = {
    elementwise.MAKERS: 0.17, movement.MAKERS: 0.1, rearranged.MAKERS: 0.09,
    reductions.MAKERS: 0.14, folded.MAKERS: 0.08, idioms.MAKERS: 0.06, control.LOOPS: 0.05,
    called.MAKERS: 0.03, python.MAKERS: 0.03,
    control.CHANGES: 0.06, masks.MAKERS: 0.05, (control.several,): 0.01,
    library.MAKERS: 0.11, rare.MAKERS: 0.02,
}
#: Those of programs whose axes all have one size.
EQUAL = {coinciding.MAKERS: 0.5, **{group: p / 2 for group, p in GROUPS.items()}}
#: How many programs begin with a function that has samples, of such operands.
SAMPLED = 0.3


def program(seed: Any, kind: str | None = None, dtypes: Sequence[str] = (), first: str = "",
            size: str | None = None, most: int | None = None, groups: Any = None,
            steps: int | None = None) -> Program:
    """A program that runs eagerly; what is not said is drawn, too.

    ``kind``: whole numbers, smooth functions, or wild ones of any values.  ``first``: the dtype of
    the first input.  ``groups``: makers of steps, and how often those of each are tried.
    """
    rng = np.random.default_rng(seed)
    kind = kind or str(rng.choice(["whole", "smooth", "wild"]))
    size = size or str(rng.choice(["tiny", "small", "large", "equal"], p=[0.4, 0.38, 0.04, 0.18]))
    most = most or (300_000 if size == "large" else 3000)
    pool = Pool(rng, kind, most)
    free = not (dtypes or first or groups)
    if not dtypes:
        floats = ("float32", "float64")
        dtypes = floats if kind == "smooth" else DTYPES if kind == "whole" else (
            *floats, *floats, "float16", "bfloat16", "int32", "bool", "complex128")
    given = inputs(pool, kind, size, dtypes, first)
    equal = size == "equal"
    drawn = library.given(pool, len(given) + 1) if (
        free and not equal and pool.chance(SAMPLED)) else None
    given = (*given, *drawn[0]) if drawn else given
    tensors = {x.name: v for x, v in zip(given, Program(given, None, kind).arguments(ag),
                                         strict=True)}
    for name, value in tensors.items():
        pool.give(name, value)
    if drawn:
        pool.add(drawn[1])
    if groups is None and equal and free:
        groups = EQUAL
    groups = groups or ({**GROUPS, births.MAKERS: 0.05, rare.DECIDING: 0.01,
                         elementwise.MAKERS: 0.11}
                        if free and pool.chance(DECIDING) else GROUPS)
    steps = steps or 1 + int(rng.integers(8 if size == "large" else rng.choice([8, 16, 32])))
    for _ in range(steps):
        group = list(groups)[int(rng.choice(len(groups), p=list(groups.values())))]
        pool.add(pool.one(group)(pool, pool.pick()))
    return Program(given, Body("f", tuple(tensors), tuple(pool.steps), _returned(pool)), kind)


def _returned(pool: Pool) -> tuple[str, ...]:
    """One to six of the values, rather late ones that nothing was made of."""
    names = [v.name for v in pool.values if not v.number]
    count = 1 + pool.below(6 if pool.chance(0.5) else 3)
    new = [n for n in names if n not in pool.read]
    late = [*names, *new][-count:]
    return tuple(pool.one(names) if pool.chance(0.15) else n for n in late)
