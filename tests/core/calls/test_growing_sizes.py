"""Calls whose sizes grow from one to the next, as of a cache of keys: few plans, short ways."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.support.config import HOOKS
from agnesi.runtime import eager

F = ag.nn.functional


def test_functions_of_many_sizes_get_few_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []
    make = HOOKS.plan

    def noted(function: Any, *args: Any) -> Any:
        tried.append(function.__name__)
        return make(function, *args)

    monkeypatch.setattr(HOOKS, "plan", noted)
    row = ag.ones((1, 3))
    for n in range(1, 41):
        x = ag.ones((n, 3))
        for _ in range(24):
            assert ag.concat((x, row), 0).shape == (n + 1, 3)
    assert tried.count("concat") <= 14  # 16 calls for the first, then twice as many as there are
    same = ag.ones((50, 3))
    for _ in range(100):
        ag.concat((same, row), 0)
    assert tried.count("concat") <= 15


@pytest.mark.parametrize("call", [
    lambda a, b: ag.concat([a, b], 1), lambda a, b: ag.cat((a, b), dim=-1),
    lambda a, b: ag.concat([a, b], axis=1), lambda a, b: ag.concat([a.mT, b.mT]),
    lambda a, b: ag.concat([a, b], axis=None), lambda a, b: F.softmax(a, dim=1),
    lambda a, b: F.softmax(a, -1), lambda a, b: F.log_softmax(b, axis=0),
    lambda a, b: ag.softmax(a.mT, 1), lambda a, b: ag.log_softmax(a),
    lambda a, b: F.softmax(a.double(), dim=(0, 1)), lambda a, b: ag.concat([a, b.double()], 1)])
def test_short_ways_give_what_the_long_ones_give(call: Any) -> None:
    a, b = ag.tensor([[1.0, -np.inf, 3.0]] * 2), ag.tensor([[5.0, 2.0]] * 2)
    short = call(a, b)
    w, v = a.clone().requires_grad_(), b.clone().requires_grad_()
    long = call(w, v)
    assert long.requires_grad and not short.requires_grad
    assert (short.dtype, short.shape) == (long.dtype, long.shape)
    assert short.numpy().strides == long.numpy().strides
    assert short.numpy().tobytes() == long.detach().numpy().tobytes()
    with ag.no_grad():
        assert call(w, v).numpy().tobytes() == short.numpy().tobytes()


@pytest.mark.parametrize(("call", "words"), [
    (lambda x: ag.concat([x, ag.ones((3, 4))], 0), r"concat.*sizes 2 and 4 differ on axis 1"),
    (lambda x: ag.concat([x, x], 2), "concat"), (lambda x: F.softmax(x, dim=2), "softmax"),
    (lambda x: ag.concat([ag.tensor(1.0)], 0), "concat.*use stack")])
def test_errors_are_in_the_users_words(call: Any, words: str) -> None:
    with pytest.raises((ag.ShapeError, IndexError), match=words):
        call(ag.ones((3, 2)))


def test_calls_without_a_plan_are_left_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HOOKS, "replayed", eager.builtin("replayed"))
    x, mask = ag.ones(5, requires_grad=True), ag.tensor([True, False, True, True, False])
    for _ in range(2000):  # functions of many plans wait longer
        ag.masked_select(x, mask)  # whose size the values decide
    entered: list[str] = []
    sys.setprofile(lambda frame, event, arg: entered.append(frame.f_code.co_name))
    try:
        found = ag.masked_select(x, mask)
    finally:
        sys.setprofile(None)
    assert found.shape == (3,) and "getitem" in entered and "by_plan" not in entered
