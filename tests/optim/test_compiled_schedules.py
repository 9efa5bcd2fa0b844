"""``scheduler.step()`` and ``group["lr"] = ...`` inside a compiled step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn, optim

S = optim.lr_scheduler
SCHEDULES: dict[str, Callable[[Any], Any]] = {
    "step": lambda o: S.StepLR(o, 2, 0.5),
    "lambda": lambda o: S.LambdaLR(o, lambda epoch: 0.9**epoch),
    "cycle": lambda o: S.OneCycleLR(o, 0.3, total_steps=10),
    "plateau": lambda o: S.ReduceLROnPlateau(o, patience=0, factor=0.5),
    "chained": lambda o: S.ChainedScheduler([S.ConstantLR(o, 0.1, total_iters=2),
                                             S.ExponentialLR(o, 0.5)]),
    "sequence": lambda o: S.SequentialLR(o, [S.ConstantLR(o, 0.1, total_iters=9),
                                             S.ExponentialLR(o, 0.5)], milestones=[2]),
}


def training(kind: str) -> tuple[Any, Any, Any]:
    """A step, its optimizer and schedule, the same each time."""
    ag.manual_seed(0)
    model = nn.Linear(3, 1)
    optimizer = optim.SGD([{"params": [model.weight]}, {"params": [model.bias], "lr": 0.2}],
                          lr=0.1, momentum=0.9)
    schedule = SCHEDULES[kind](optimizer)

    def step(x: Any, y: Any) -> Any:
        loss = ((model(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if kind == "plateau":
            schedule.step(loss)
        else:
            schedule.step()
        return loss, schedule.get_last_lr()

    return step, optimizer, schedule


@pytest.mark.share(2)
@pytest.mark.parametrize("kind", SCHEDULES)
def test_schedules_step_in_compiled_steps(kind: str) -> None:
    x, y = ag.randn(8, 3), ag.randn(8, 1)
    runs = []
    for wrapped in (False, True):
        step, optimizer, schedule = training(kind)
        call = ag.jit(step) if wrapped else step
        seen = []
        for _ in range(5):
            loss, rates = call(x, y)
            seen.append([float(loss), *map(float, rates), *schedule.get_last_lr(),
                         *(g["momentum"] for g in optimizer.param_groups), schedule.last_epoch])
        runs.append(seen)
    np.testing.assert_allclose(runs[0], runs[1], rtol=1e-5)
    assert len(call.specialisations) == 1


def test_rates_are_set_in_compiled_steps() -> None:
    w = ag.tensor([1.0], requires_grad=True)
    optimizer = optim.SGD([w], lr=0.5)

    @ag.jit
    def step(rate: Any) -> None:
        optimizer.param_groups[0]["lr"] = rate
        w.grad = ag.ones(1)
        optimizer.step()
        optimizer.lr = 0.25

    for rate in (1.0, 2.0):
        before = w.item()
        step(ag.tensor(rate))
        assert w.item() == before - rate and optimizer.lr == 0.25
    assert len(step.specialisations) == 1


def test_a_step_in_a_recorded_call_happens_once():
    found = []
    for wrap in (lambda f: f, ag.jit):
        optimizer = ag.optim.SGD([ag.ones(1, requires_grad=True)], lr=0.5)
        schedule = ag.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)

        def f(x, schedule=schedule):
            schedule.step()
            return x * schedule.get_last_lr()[0]

        f = wrap(f)
        for _ in range(5):
            x = ag.ones(1, requires_grad=True)
            f(x).sum().backward()
            found.append((x.grad.item(), schedule.last_epoch))
    assert found[:5] == found[5:] and found[4] == (0.125, 5)
