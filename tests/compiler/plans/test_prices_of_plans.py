"""When a plan of few operations is compiled: the sooner the more calls of NumPy's it saves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi.compiler.warmup import WORK
from agnesi.core.calls.plans import RegionPlan
from agnesi.core.support.config import HOOKS


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, Any]]]:
    found: list[tuple[str, Any]] = []
    make = HOOKS.compiled_plan

    def noted(plan: Any, function: Any, *args: Any) -> Any:
        made = make(plan, function, *args)
        found.append((function.__name__, made))
        return made

    monkeypatch.setattr(HOOKS, "compiled_plan", noted)
    before = WORK.left
    yield found
    WORK.left = before


def calls_until(found: list[tuple[str, Any]], run: Callable[[], Any], most: int) -> int:
    """Calls until a plan of it is compiled, or ``most``."""
    for k in range(most):
        run()
        if any(type(made) is RegionPlan for _, made in found):
            return k
    return most


def test_functions_of_several_calls_are_compiled_sooner(compiled: Any) -> None:
    x = ag.linspace(0.5, 2.5, 11)
    WORK.left = 0
    assert calls_until(compiled, lambda: ag.sigmoid(x), 2500) < 2500
    compiled.clear()
    assert calls_until(compiled, lambda: ag.any(x), 2500) == 2500


def test_they_wait_where_the_compiler_would_be_loaded_for_them(compiled: Any) -> None:
    x = ag.linspace(0.5, 2.5, 12)
    WORK.left = 1e12
    assert calls_until(compiled, lambda: ag.sigmoid(x), 2500) == 2500 and len(compiled) == 1
    assert calls_until(compiled, lambda: ag.sigmoid(x), 9000) < 9000


def test_rules_are_compiled_though_their_operands_require_gradients(compiled: Any) -> None:
    x = ag.linspace(0.5, 2.5, 13)
    x.requires_grad_()
    WORK.left = 0
    seed = ag.ones(13)

    def step() -> ag.Tensor:
        x.grad = None
        ag.special.digamma(x).backward(seed)
        return x.grad

    first = step().numpy().copy()
    assert calls_until(compiled, step, 200) < 200
    assert [name for name, _ in compiled] == ["trigamma"]
    second = [step().numpy() for _ in range(3)][-1]
    np.testing.assert_allclose(second, first, rtol=1e-6)
    assert x.requires_grad and x.grad is not None and not x.grad.requires_grad


def test_without_records_operands_that_require_gradients_go_into_native_code(compiled: Any) -> None:
    x = ag.linspace(-2.5, 2.5, 14)
    x.requires_grad_()
    WORK.left = 0
    with ag.no_grad():
        known = ag.nn.functional.selu(x).numpy().copy()
        assert calls_until(compiled, lambda: ag.nn.functional.selu(x), 2500) < 2500
        plan = compiled[-1][1]
        assert plan.direct is not None and not plan.records
        y = ag.nn.functional.selu(x)
        assert not y.requires_grad and y.grad_fn is None
        np.testing.assert_allclose(y.numpy(), known, rtol=1e-6)
    assert x.requires_grad and ag.nn.functional.selu(x).requires_grad


def test_large_operands_wait_no_longer_than_before(compiled: Any) -> None:
    x, y = (ag.tensor(np.random.default_rng(k).standard_normal(400_000)) for k in range(2))
    WORK.left = 1e12
    assert calls_until(compiled, lambda: ag.nn.functional.silu(x), 100) < 100
    compiled.clear()
    WORK.left = 0
    assert calls_until(compiled, lambda: ag.addcmul(x, y, y), 100) < 100  # where sums cancel


def test_what_sweeps_over_memory_often_is_compiled(compiled: Any) -> None:
    x = ag.tensor(np.random.default_rng(0).standard_normal((1200, 1200)).astype("float32"))
    eager = ag.nn.functional.layer_norm(x, (1200,)).numpy()
    with ag.no_grad():
        plans: list[Any] = []
        make = HOOKS.plan
        HOOKS.plan = lambda *call: plans.append(make(*call)) or plans[-1]
        try:
            for _ in range(20):
                found = ag.nn.functional.layer_norm(x, (1200,))
        finally:
            HOOKS.plan = make
    assert [type(plan) for plan in plans] == [RegionPlan]
    np.testing.assert_allclose(found.numpy(), eager, rtol=1e-5, atol=1e-6)


def test_recorded_plans_of_several_results_stay(compiled: Any) -> None:
    x = ag.linspace(-1, 1, 15).requires_grad_()
    WORK.left, seed = 0, ag.ones(15)

    def step() -> None:
        x.grad = None
        ag.cummax(x, 0)[0].backward(seed)

    for _ in range(1500):
        step()
    assert "cummax" not in [name for name, _ in compiled]
    with ag.no_grad():
        assert calls_until(compiled, lambda: ag.cummax(x, 0), 1500) < 1500
