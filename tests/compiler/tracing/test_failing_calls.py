"""What a call that fails has changed before it fails: as eagerly where Python raises the error."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import agnesi as ag

FAILS: dict[str, Callable[[Any, ag.Tensor], Any]] = {
    "attribute": lambda s, x: s.absent,
    "attribute of a tensor": lambda s, x: x.absent,
    "key": lambda s, x: s.entries["absent"],
    "broadcast": lambda s, x: x + ag.ones(7),
    "reshape": lambda s, x: x.reshape(9),
    "operand": lambda s, x: x + "a",
    "None": lambda s, x: None + x,
    "index": lambda s, x: x[17],
    "text": lambda s, x: int("q"),
    "condition": lambda s, x: ag.ensure(ag.tensor(False), "no"),
    "numbers": lambda s, x: 1 / (s.n - s.n),
}


def _run(decorate: Callable[..., Any], fail: Callable[..., Any], warm: int) -> list[Any]:
    s = types.SimpleNamespace(n=0, total=ag.zeros(3), moved=ag.zeros(3), log=[], entries={},
                              fails=False)

    @decorate
    def step(x):
        s.total = s.total + x
        s.moved.add_(1.0)
        s.n += 1
        s.log.append(s.n)
        if s.fails:
            fail(s, x)
        return s.total * s.n

    seen: list[Any] = []
    for s.fails in [False] * warm + [True, True, False]:
        try:
            seen.append(step(ag.ones(3)).tolist())
        except Exception as error:
            seen.append(type(error).__name__)
        seen.append((s.n, s.total.tolist(), s.moved.tolist(), list(s.log)))
    return seen


@pytest.mark.parametrize("warm", [0, 2])
@pytest.mark.parametrize("name", FAILS)
def test_what_was_changed_before_an_error_stays_changed(name: str, warm: int) -> None:
    assert _run(ag.jit, FAILS[name], warm) == _run(lambda f: f, FAILS[name], warm)


def test_an_error_before_which_nothing_was_changed_is_that_of_the_trace() -> None:
    calls = []
    step = ag.jit(lambda x: (calls.append, x + ag.ones(7))[1])
    with pytest.raises(ag.ShapeError, match="do not broadcast"):
        step(ag.ones(3))
    assert "eager" not in step.explain()


def test_errors_that_lead_to_each_other_end_a_trace():
    def fill(x):
        a = np.zeros(3)
        a.fill(x[0])
        return (a * x).sum()

    def ring(x):
        try:
            try:
                raise KeyError("first")
            except KeyError as first:
                raise ValueError("then") from first
        except ValueError as then:
            raise then.__cause__ from None

    x = ag.ones(3, dtype=ag.float64)
    with pytest.raises(ag.GradientError):
        ag.jit(ag.grad(fill))(x)
    with pytest.raises(KeyError):
        ag.jit(ring)(x)
