"""Random programs mean the same on any number of threads, for sizes that change, out of a pickle,
in checkpoints; and their derivatives agree in every mode.

``AGNESI_FUZZ=1000 pytest tests/compiler/test_ways_fuzz.py`` tries that many programs per test.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import agnesi as ag
from tests.compiler.programs import DTYPES, STEPS, Program, close, cost_of
from tests.compiler.test_fuzz import differentiated, has_gradient, same

COUNT = int(os.environ.get("AGNESI_FUZZ", "15"))
SHAPES = st.lists(st.sampled_from([0, 1, 1, 2, 3, 4, 5, 9, 16, 17]), max_size=3).map(tuple)
STEP = st.tuples(
    st.sampled_from(STEPS), st.integers(0, 30), st.integers(0, 63), st.integers(0, 11)
)
fuzz = settings(
    max_examples=COUNT, deadline=None, derandomize="AGNESI_FUZZ" not in os.environ, database=None,
    suppress_health_check=list(HealthCheck),
)
#: Sizes of the leading axis in one function's calls.
LEADING = (4, 5, 7, 3, 2, 1, 0, 17)


def programs(dtypes: Any, steps: int = 10, smooth: bool = False, most: int = 3000) -> Any:
    """Smooth ones begin with a value that has a gradient."""
    inputs = st.lists(st.tuples(SHAPES, st.sampled_from(dtypes)), min_size=1, max_size=3)
    if smooth:
        inputs = inputs.map(lambda found: [(found[0][0], "float64"), *found[1:]])
    return st.builds(
        Program, inputs=inputs, steps=st.lists(STEP, min_size=1, max_size=steps),
        smooth=st.just(smooth), returned=st.integers(1, 4), seed=st.integers(0, 9),
        most=st.just(most),
    )


@contextmanager
def threads(count: int) -> Iterator[None]:
    before = ag.get_num_threads()
    ag.set_num_threads(count)
    try:
        yield
    finally:
        ag.set_num_threads(before)


def called(function: Any, program: Program) -> list[np.ndarray]:
    """Results, and the inputs afterwards."""
    inputs = [ag.tensor(a) for a in program.arrays()]
    results = function(*inputs)
    results = results if isinstance(results, (list, tuple)) else [results]
    return [t.data.copy() for t in (*results, *inputs)]


@fuzz
@given(programs(DTYPES, 6, most=100_000) | programs(["float32"], 6, smooth=True, most=100_000))
def test_threads(program: Program) -> None:
    """The same bits on one thread and on two, gradients included."""
    function: Any = program.__call__
    if program.smooth and has_gradient(program):
        function = differentiated(program)
    found = []
    for count in (1, 2):
        with threads(count):
            found.append(called(ag.jit(function), program))
    same(program, found[1], found[0], True)


@fuzz
@given(programs(DTYPES))
def test_pickles(program: Program) -> None:
    compiled = ag.jit(program.__call__)
    expected = called(compiled, program)
    same(program, called(pickle.loads(pickle.dumps(compiled)), program), expected, True)


@fuzz
@given(programs(DTYPES) | programs(["float64"], smooth=True))
def test_several_calls(program: Program) -> None:
    """One function, other values."""
    compiled = ag.jit(program.__call__)
    for seed in range(3):
        now = replace(program, seed=seed)
        same(now, called(compiled, now), called(now, now), not program.smooth)


CHANGE = st.tuples(st.just("change"), st.integers(0, 30), st.integers(0, 63), st.integers(0, 11))
KINDS = st.lists(st.sampled_from(["same", "backwards", "turned", "later", "first", "other"]),
                 min_size=2, max_size=2)


def overlapping(program: Program, kinds: list[str]) -> list[ag.Tensor]:
    """Inputs that may be one tensor, or look into each other's memory."""
    first, *others = map(ag.tensor, program.arrays())
    views = {"same": lambda: first, "backwards": lambda: first[::-1], "turned": lambda: first.mT,
             "later": lambda: first[1:], "first": lambda: first[:1]}
    axes = {"backwards": 1, "later": 1, "first": 1, "turned": 2}
    found = [views[k]() if k in views and first.ndim >= axes.get(k, 0) else x
             for k, x in zip(kinds, others, strict=False)]
    return [first, *found, *others[len(found):]]


@fuzz
@given(programs(DTYPES), st.lists(CHANGE, max_size=4), KINDS)
def test_arguments_that_overlap(program: Program, changes: list[Any], kinds: list[str]) -> None:
    """What is changed through one is seen through the others."""
    program = replace(program, steps=[*program.steps[:3], *changes, *program.steps[3:]],
                      inputs=(program.inputs * 3)[:3])
    compiled = ag.jit(program.__call__)
    for _ in range(2):
        found, expected = (overlapping(program, kinds) for _ in range(2))
        results = compiled(*found), program(*expected)
        same(program, [t.data for t in (*results[0], *found)],
             [t.data for t in (*results[1], *expected)], True)


@fuzz
@given(programs(DTYPES) | programs(["float64"], smooth=True))
def test_state(program: Program) -> None:
    """Tensors that a function finds outside and changes in place, call after call."""
    def made() -> Any:
        state = [ag.tensor(a) for a in program.arrays()[1:]]
        count = ag.zeros((), dtype="int64")

        def step(x: Any) -> Any:
            results = program(x, *state)
            count.add_(1)
            for t in state:
                fit = [y for y in results if (y.shape, y.dtype) == (t.shape, t.dtype)]
                if fit:
                    t[...] = fit[-1]
            return results

        return step, [*state, count]

    (step, state), (plain, expected) = made(), made()
    compiled = ag.jit(step)
    for seed in range(3):
        x = replace(program, seed=seed).arrays()[0]
        results = compiled(ag.tensor(x)), plain(ag.tensor(x))
        same(program, [t.data for t in (*results[0], *state)],
             [t.data for t in (*results[1], *expected)], not program.smooth)


def leading(program: Program, n: int) -> Program:
    return replace(program, inputs=[((n, *s[1:]) if s else s, d) for s, d in program.inputs])


@fuzz
@given(programs(DTYPES, 5) | programs(["float64", "float32"], 5, smooth=True))
def test_sizes(program: Program) -> None:
    """One function, other leading sizes."""
    compiled = ag.jit(program.__call__)
    for n in LEADING:
        now = leading(program, n)
        try:
            expected = called(now, now)
        except (ValueError, IndexError):  # these sizes do not fit each other
            continue
        same(now, called(compiled, now), expected, not program.smooth)


@fuzz
@given(programs(["float64", "float32"], 4, smooth=True))
def test_gradients_of_sizes(program: Program) -> None:
    compiled = ag.jit(differentiated(program))
    for n in LEADING:
        now = leading(program, n)
        assume(has_gradient(now))
        same(now, called(compiled, now), called(differentiated(now), now), False)


@fuzz
@given(programs(["float64"], 8, smooth=True))
def test_checkpoints(program: Program) -> None:
    assume(has_gradient(program))
    cost = cost_of(program)
    expected = called(ag.grad(cost), program)
    again = ag.grad(lambda *xs: ag.checkpoint(cost, *xs))
    same(program, called(again, program), expected, False)
    same(program, called(ag.jit(again), program), expected, False)


@fuzz
@given(programs(["float64"], 6, smooth=True))
def test_derivatives_in_every_mode(program: Program) -> None:
    """Tangents are products with gradients; second derivatives do not depend on the order."""
    assume(has_gradient(program))
    cost, first = cost_of(program), ag.tensor(program.arrays()[0])
    others = [ag.tensor(a) for a in program.arrays()[1:]]
    slope = ag.grad(lambda x: cost(x, *others))
    tangent = ag.tensor(np.random.default_rng(5).normal(size=first.shape))
    moved = ag.jvp(lambda x: cost(x, *others), (first,), (tangent,))[1]
    tolerance = max(program.tolerance, 2e-4 if "cast" in {s[0] for s in program.steps} else 1e-7)
    close(moved.data, (slope(first) * tangent).sum().data, tolerance)
    ways = [
        lambda x: ag.jvp(slope, (x,), (tangent,))[1],
        lambda x: ag.grad(lambda x: (slope(x) * tangent).sum())(x),
        lambda x: ag.grad(lambda x: ag.jvp(lambda x: cost(x, *others), (x,), (tangent,))[1])(x),
    ]
    expected = ways[0](first).data
    for way in (*ways[1:], *map(ag.jit, ways)):
        close(way(first).data, expected, tolerance)
