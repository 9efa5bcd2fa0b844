"""Random programs: batched, they mean what a loop over examples means.

``AGNESI_FUZZ=1000 pytest tests/autodiff/test_vmap_fuzz.py`` tries that many programs per test.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

import agnesi as ag
from tests.compiler.programs import DTYPES, close
from tests.compiler.test_fuzz import fuzz, programs

EXAMPLES = 3


def check(program: Any, batched: list[bool], wrap: Any = lambda f: f) -> None:
    """Run the program for examples that differ in some of the inputs."""
    many = [replace(program, seed=program.seed + i).arrays() for i in range(EXAMPLES)]
    ways = [batched[i % len(batched)] for i in range(len(program.inputs))]
    assume(any(ways))
    expected = []
    for arrays in many:
        chosen = [a if w else b for w, a, b in zip(ways, arrays, many[0], strict=True)]
        expected.append(wrap(program)(*[ag.tensor(a.copy()) for a in chosen]))
    inputs = [
        ag.tensor(np.stack(column)) if w else ag.tensor(column[0].copy())
        for w, column in zip(ways, zip(*many, strict=True), strict=True)
    ]
    try:
        found = ag.vmap(wrap(program), tuple(0 if w else None for w in ways))(*inputs)
    except TypeError as error:  # what differs is written into what does not
        assume("differs between examples" not in str(error))
        raise
    except ag.GradientError as error:  # what does not differ, and is used, is changed later
        assume("was changed in place afterwards" not in str(error))
        raise
    for value, parts in zip(found, zip(*expected, strict=True), strict=True):
        close(value.detach().data, np.stack([p.detach().data for p in parts]), program.tolerance)


@fuzz
@given(programs(DTYPES), st.lists(st.booleans(), min_size=1, max_size=3))
def test_whole_numbers(program: Any, batched: list[bool]) -> None:
    check(program, batched)


@fuzz
@given(programs(["float64"], smooth=True), st.lists(st.booleans(), min_size=1, max_size=3))
def test_smooth_functions(program: Any, batched: list[bool]) -> None:
    check(program, batched)


@fuzz
@given(programs(["float64"], smooth=True), st.lists(st.booleans(), min_size=1, max_size=3))
def test_gradients(program: Any, batched: list[bool]) -> None:
    def gradients(function: Any) -> Any:
        def loss(*inputs: Any) -> Any:
            return sum((ag.sin(y).sum() for y in function(*inputs) if y.dtype.kind == "f"),
                       inputs[0].sum() * 0)

        return ag.grad(loss, argnums=tuple(range(len(program.inputs))))

    check(program, batched, gradients)
