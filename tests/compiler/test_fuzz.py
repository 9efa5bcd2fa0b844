"""Random programs mean the same eagerly, compiled, on the interpreter, as symbols, and to NumPy.

``AGNESI_FUZZ=3000 pytest tests/compiler/test_fuzz.py`` tries that many programs per test.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import agnesi as ag
from agnesi import symbolic as T
from tests.fuzz import reference
from tests.compiler.programs import DTYPES, STEPS, Program, close, cost_of
from tests.compiler.ways import interpreted

COUNT = int(os.environ.get("AGNESI_FUZZ", "60"))
SIZES = st.one_of(st.integers(1, 5), st.integers(0, 9), st.sampled_from([16, 17, 33]))
SHAPES = st.lists(SIZES, max_size=3).map(tuple)
STEP = st.tuples(
    st.sampled_from(STEPS), st.integers(0, 30), st.integers(0, 63), st.integers(0, 11)
)
fuzz = settings(
    max_examples=COUNT, deadline=None, derandomize="AGNESI_FUZZ" not in os.environ, database=None,
    suppress_health_check=list(HealthCheck),
)


def programs(dtypes: Any, smooth: bool = False, first: str | None = None,
             without: Sequence[str] = ()) -> Any:
    inputs = st.lists(st.tuples(SHAPES, st.sampled_from(dtypes)), min_size=1, max_size=3)
    step = STEP.filter(lambda step: step[0] not in without)
    if first is not None:
        inputs = inputs.map(lambda found: [(found[0][0], first), *found[1:]])
    return st.builds(
        Program, inputs=inputs, steps=st.lists(step, min_size=1, max_size=12),
        smooth=st.just(smooth), returned=st.integers(1, 4), seed=st.integers(0, 9),
    )


def check(program: Program, function: Any, optimizer: str | None = None, *,
          exact: bool = False) -> None:
    """All ways to run a function of the program's inputs: equal results, equal side effects."""
    runs = []
    for way in ("eager", "compiled", "interpreted"):
        inputs = [ag.tensor(a) for a in program.arrays()]
        run = function if way == "eager" else ag.jit(function, optimizer=optimizer)
        with interpreted(way == "interpreted"):
            results = run(*inputs)
        results = results if isinstance(results, (list, tuple)) else [results]
        runs.append([t.data.copy() for t in (*results, *inputs)])
    if not program.changes_inputs:
        runs.append([*as_symbols(program, function, optimizer), *program.arrays()])
    for other in runs[1:]:
        same(program, other, runs[0], exact)


def as_symbols(program: Program, function: Any, optimizer: str | None) -> list[np.ndarray]:
    """Results of the graph of a function."""
    inputs = [T.tensor(dtype, shape) for shape, dtype in program.inputs]
    results = function(*inputs)
    results = list(results) if isinstance(results, (list, tuple)) else [results]
    compiled = ag.function(inputs, results, optimizer=optimizer)
    return [np.asarray(value) for value in compiled(*program.arrays())]


def eagerly(program: Program) -> list[np.ndarray]:
    inputs = [ag.tensor(a) for a in program.arrays()]
    return [t.data for t in (*program(*inputs), *inputs)]


def by_numpy(program: Program) -> list[np.ndarray]:
    """Results and inputs of a program that NumPy runs."""
    inputs = program.arrays()
    with np.errstate(all="ignore"):
        results = program.run(reference, *inputs)
    return [np.array(a) for a in (*results, *inputs)]


def same(program: Program, found: Any, wanted: Any, exact: bool) -> None:
    assert len(found) == len(wanted)
    for value, expected in zip(found, wanted, strict=True):
        close(value, expected, 0 if exact else program.tolerance)


@fuzz
@given(programs(DTYPES), st.sampled_from([None, None, "fast_compile", "None"]))
def test_whole_numbers(program, optimizer):
    check(program, program.__call__, optimizer, exact=True)


@fuzz
@given(programs(["float64", "int64", "bool"], without=["cast"]))
def test_whole_numbers_like_numpy(program):
    """Of types that mix as NumPy's do."""
    same(program, eagerly(program), by_numpy(program), True)


@fuzz
@given(programs(["float32", "float64"], smooth=True))
def test_smooth_like_numpy(program):
    same(program, eagerly(program), by_numpy(program), False)


LARGE = st.lists(st.sampled_from([1, 3, 64, 100, 257]), min_size=1, max_size=3).map(tuple)


@fuzz
@given(st.builds(
    Program, inputs=st.lists(st.tuples(LARGE, st.sampled_from(DTYPES)), min_size=1, max_size=2),
    steps=st.lists(STEP, min_size=1, max_size=5), most=st.just(300_000),
).filter(lambda p: all(math.prod(shape) <= p.most for shape, _ in p.inputs)))
def test_large(program):
    """Sizes that several threads share."""
    check(program, program.__call__, exact=True)


@fuzz
@given(programs(["float32", "float64"], smooth=True))
def test_smooth(program):
    check(program, program.__call__)


def differentiated(program: Program) -> Any:
    return ag.grad(cost_of(program), argnums=0)


def has_gradient(program: Program) -> bool:
    try:
        differentiated(program)(*map(ag.tensor, program.arrays()))
    except ag.GradientError:  # it changed a value that the gradient needs
        return False
    return True


@fuzz
@given(programs(["float64"], smooth=True, first="float64"))
def test_gradients_of_smooth_programs(program):
    assume(has_gradient(program))
    check(program, differentiated(program))


@fuzz
@given(programs(["float64", "int32", "bool", "float32"], first="float64"))
def test_gradients_with_whole_numbers(program):
    assume(has_gradient(program))
    check(program, differentiated(program))


