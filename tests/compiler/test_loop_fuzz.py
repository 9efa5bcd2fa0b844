"""Loops over random programs mean the same eagerly, compiled, and on the interpreter.

``AGNESI_FUZZ=3000 pytest tests/compiler/test_loop_fuzz.py`` tries that many per test.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import agnesi as ag
from tests.compiler.programs import SMALL, STEPS, Program, Run, close
from tests.compiler.ways import interpreted

COUNT = int(os.environ.get("AGNESI_FUZZ", "40"))
IN_PLACE = {"change"}
SIZES = st.sampled_from([1, 2, 3, 4, 17, 80])
SHAPES = st.lists(SIZES, max_size=2).map(tuple)
STEP = st.tuples(
    st.sampled_from([s for s in STEPS if s not in IN_PLACE]), st.integers(0, 30),
    st.integers(0, 63), st.integers(0, 11),
)
fuzz = settings(
    max_examples=COUNT, deadline=None, derandomize="AGNESI_FUZZ" not in os.environ, database=None,
    suppress_health_check=list(HealthCheck),
)


@dataclass
class Looped:
    """A scan whose step is a random program of a row, carries and constants."""

    step: Program
    length: int
    carries: int
    reverse: bool
    taken: tuple[int, ...]

    def arrays(self) -> list[np.ndarray]:
        """A sequence, first carries, constants."""
        (shape, dtype), *rest = self.step.inputs
        rows = replace(self.step, inputs=[((self.length, *shape), dtype), *rest])
        return rows.arrays()

    def __call__(self, x: Any, *others: Any) -> Any:
        first, constants = others[: self.carries], others[self.carries:]

        def step(carry: Any, row: Any) -> Any:
            run = Run([row, *carry, *constants], self.step.smooth, 3000)
            for name, i, j, k in self.step.steps:
                run.step(name, i, j, k)
            new = [self._next(run, c, i) for i, c in enumerate(carry)]
            return tuple(new), tuple(run.pool[i % len(run.pool)] for i in self.taken)

        last, rows = ag.scan(step, tuple(first), x, reverse=self.reverse)
        return (*last, *rows)

    def _next(self, run: Run, carry: Any, skip: int) -> Any:
        """The last value but ``skip`` that has the carry's type."""
        fit = [i for i, v in enumerate(run.pool) if v.shape == carry.shape
               and v.dtype == carry.dtype]
        place = fit[-1 - skip % len(fit)]
        if self.step.smooth:
            return ag.tanh(run.pool[place])
        return run._small(place, SMALL)


def loops(dtypes: Any, smooth: bool = False) -> Any:
    inputs = st.lists(st.tuples(SHAPES, st.sampled_from(dtypes)), min_size=2, max_size=5)
    steps = st.lists(STEP, min_size=1, max_size=10)
    programs = st.builds(Program, inputs=inputs, steps=steps, smooth=st.just(smooth),
                         seed=st.integers(0, 9))
    return st.builds(
        Looped, step=programs, length=st.integers(1, 5), carries=st.integers(0, 3),
        reverse=st.booleans(), taken=st.lists(st.integers(0, 30), max_size=3).map(tuple),
    ).filter(lambda loop: loop.carries < len(loop.step.inputs) and (loop.carries or loop.taken))


def check(loop: Looped, function: Any, optimizer: str | None = None, *, exact: bool) -> None:
    runs = []
    for way in ("eager", "compiled", "interpreted"):
        inputs = [ag.tensor(a) for a in loop.arrays()]
        run = function if way == "eager" else ag.jit(function, optimizer=optimizer)
        with interpreted(way == "interpreted"):
            runs.append([t.data.copy() for t in run(*inputs)])
    for other in runs[1:]:
        for value, expected in zip(other, runs[0], strict=True):
            close(value, expected, 0 if exact else loop.step.tolerance)


@fuzz
@given(loops(["int32", "float32", "float64", "bool", "uint8"]),
       st.sampled_from([None, None, "fast_compile", "None"]))
def test_whole_numbers(loop, optimizer):
    check(loop, loop, optimizer, exact=True)


@fuzz
@given(loops(["float32", "float64"], smooth=True))
def test_smooth(loop):
    check(loop, loop, exact=False)


@fuzz
@given(loops(["float64"], smooth=True))
def test_gradients(loop):
    def cost(*args: Any) -> Any:
        parts = [(y * y).sum() for y in loop(*args) if y.dtype.kind == "f"]
        return sum(parts) if parts else (args[0] * 0).sum()

    check(loop, ag.grad(cost, tuple(range(len(loop.step.inputs)))), exact=False)
