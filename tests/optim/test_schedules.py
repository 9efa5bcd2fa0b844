"""Schedules of learning rates: the rates of ten epochs as PyTorch 2.13 gives them, and states."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi.optim import SGD, Adagrad, Adam
from agnesi.optim import lr_scheduler as M

MAKE: dict[str, Any] = {
    "multi": lambda o: M.MultiStepLR(o, [2, 5]),
    "exp": lambda o: M.ExponentialLR(o, 0.9),
    "const": lambda o: M.ConstantLR(o, 0.3, 3),
    "lin": M.LinearLR,
    "poly": lambda o: M.PolynomialLR(o, 7, 2.0),
    "lam": lambda o: M.LambdaLR(o, lambda e: 0.5**e + 0.1),
    "mult": lambda o: M.MultiplicativeLR(o, lambda e: 0.9),
    "warm": lambda o: M.CosineAnnealingWarmRestarts(o, 3, 2, 0.01),
    "cyc": lambda o: M.CyclicLR(o, 0.1, 1.0, 3, 4),
    "cyc2": lambda o: M.CyclicLR(o, 0.1, 1.0, 3, mode="triangular2"),
    "cyc3": lambda o: M.CyclicLR(o, 0.1, 1.0, 3, mode="exp_range", gamma=0.9),
    "one": lambda o: M.OneCycleLR(o, 1.0, 20),
    "onel": lambda o: M.OneCycleLR(o, 1.0, 20, anneal_strategy="linear"),
    "seq": lambda o: M.SequentialLR(o, [M.ConstantLR(o, 0.1, 9), M.ExponentialLR(o, 0.9)], [4]),
    "seq2": lambda o: M.SequentialLR(o, [M.LinearLR(o, 0.1, 1.0, 4), M.CosineAnnealingLR(o, 10)],
                                     [4]),
    "chain": lambda o: M.ChainedScheduler([M.ConstantLR(o, 0.1, 4), M.ExponentialLR(o, 0.9)]),
    "cos": lambda o: M.CosineAnnealingLR(o, 10, 0.01),
    "seq3": lambda o: M.SequentialLR(o, [
        M.CosineAnnealingLR(o, 5), M.MultiplicativeLR(o, lambda e: 0.9), M.StepLR(o, 2, 0.5)],
        [3, 6]),
    "chain2": lambda o: M.ChainedScheduler([
        M.MultiStepLR(o, [3]), M.LambdaLR(o, lambda e: 0.5**e + 0.1), M.LinearLR(o)]),
    "chain3": lambda o: M.ChainedScheduler([
        M.LambdaLR(o, lambda e: 0.9**e), M.PolynomialLR(o, 3), M.CosineAnnealingLR(o, 10)]),
}
#: Of PyTorch's schedulers of the same arguments, from a rate of 0.7.
RATES = {
    "multi": [0.7, 0.7, 0.07, 0.07, 0.07, 0.007, 0.007, 0.007, 0.007, 0.007],
    "exp": [0.7, 0.63, 0.567, 0.5103, 0.45927, 0.413343, 0.3720087, 0.3348078, 0.301327, 0.2711943],
    "const": [0.21, 0.21, 0.21, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7],
    "lin": [0.2333333, 0.3266667, 0.42, 0.5133333, 0.6066667, 0.7, 0.7, 0.7, 0.7, 0.7],
    "poly": [0.7, 0.5142857, 0.3571429, 0.2285714, 0.1285714, 0.05714286, 0.01428571, 0, 0, 0],
    "lam": [0.77, 0.42, 0.245, 0.1575, 0.11375,
            0.091875, 0.0809375, 0.07546875, 0.07273438, 0.07136719],
    "mult": [0.7, 0.63, 0.567, 0.5103, 0.45927,
            0.413343, 0.3720087, 0.3348078, 0.301327, 0.2711943],
    "warm": [0.7, 0.5275, 0.1825, 0.7, 0.6537788, 0.5275, 0.355, 0.1825, 0.05622124, 0.7],
    "cyc": [0.1, 0.4, 0.7, 1, 0.775, 0.55, 0.325, 0.1, 0.4, 0.7],
    "cyc2": [0.1, 0.4, 0.7, 1, 0.7, 0.4, 0.1, 0.25, 0.4, 0.55],
    "cyc3": [0.1, 0.37, 0.586, 0.7561, 0.49366, 0.277147, 0.1, 0.2434891, 0.3582803, 0.4486784],
    "one": [0.04, 0.1316718, 0.3716718, 0.6683282, 0.9083282,
            1, 0.987464, 0.9504846, 0.8909162, 0.8117457],
    "onel": [0.04, 0.232, 0.424, 0.616, 0.808, 1, 0.9285717, 0.8571434, 0.7857151, 0.7142869],
    "seq": [0.07, 0.07, 0.07, 0.07, 0.7, 0.63, 0.567, 0.5103, 0.45927, 0.413343],
    "seq2": [0.07, 0.2275, 0.385, 0.5425, 0.7, 0.6828698, 0.6331559, 0.5557248, 0.4581559, 0.35],
    "chain": [0.07, 0.063, 0.0567, 0.05103, 0.45927,
            0.413343, 0.3720087, 0.3348078, 0.301327, 0.2711943],
    "cos": [0.7, 0.6831145, 0.6341109, 0.5577859, 0.4616109,
            0.355, 0.2483891, 0.1522141, 0.07588914, 0.0268855],
    "seq3": [0.7, 0.6331559, 0.4581559, 0.4123404, 0.3711063, 0.3339957, 0.7, 0.7, 0.35, 0.35],
    "chain2": [0.2566667, 0.588, 0.315, 0.1925, 0.1344318,
               0.1060096, 0.0809375, 0.07546875, 0.07273438, 0.07136719],
    "chain3": [0.7, 0.4097219, 0.2628608, 0.0, 0.3786357,
               0.315766, 0.2570517, 0.1997339, 0.1396077, 0.06949936],
}


def optimizer(lr: float = 0.7) -> SGD:
    return SGD([ag.zeros(1, requires_grad=True)], lr=lr, momentum=0.9)


@pytest.mark.parametrize("name", RATES)
def test_rates(name: str) -> None:
    tool = optimizer()
    schedule = MAKE[name](tool)
    found = [tool.lr]
    for epoch in range(1, 10):
        if epoch == 5:  # go on from what was saved
            state, saved = copy.deepcopy(schedule.state_dict()), tool.state_dict()
            tool = optimizer()
            schedule = MAKE[name](tool)
            tool.load_state_dict(saved)
            schedule.load_state_dict(state)
            assert schedule.state_dict() == state
        schedule.step()
        found.append(tool.lr)
        assert schedule.get_last_lr() == [tool.lr]
    np.testing.assert_allclose(found, RATES[name], rtol=1e-6)


@pytest.mark.parametrize(("name", "rates"), [
    ("seq3", [0.045, 0.0405, 0.03645, 0.7]),
    ("chain2", [0.1925, 0.1344318, 0.1060096, 0.0809375]),
    ("exp", [0.045, 0.0405, 0.03645, 0.032805])])
def test_a_rate_set_by_hand_is_gone_on_from(name: str, rates: list[float]) -> None:
    tool = optimizer()
    schedule = MAKE[name](tool)
    schedule.step()
    schedule.step()
    tool.param_groups[0]["lr"] = 0.05
    other = optimizer()
    again = MAKE[name](other)
    other.load_state_dict(tool.state_dict())
    again.load_state_dict(schedule.state_dict())
    for rate in rates:
        schedule.step()
        again.step()
        assert (tool.lr, other.lr) == pytest.approx((rate, rate), rel=1e-6)


def test_a_state_of_other_schedules_changes_nothing() -> None:
    tool = optimizer()
    chain = M.ChainedScheduler([M.StepLR(tool, 2), M.ExponentialLR(tool, 0.5)])
    other = M.ChainedScheduler([M.StepLR(tool, 2), M.ConstantLR(tool)])
    other.step()
    before = copy.deepcopy(chain.state_dict())
    with pytest.raises(KeyError, match=r"ExponentialLR.load_state_dict: the state is not one of"):
        chain.load_state_dict(other.state_dict())
    with pytest.raises(ValueError, match="the state is of 1 schedulers, here are 2"):
        chain.load_state_dict(M.ChainedScheduler([M.StepLR(tool, 2)]).state_dict())
    assert chain.state_dict() == before


def test_the_momentum_goes_the_other_way() -> None:
    tool = optimizer()
    schedule = M.CyclicLR(tool, 0.1, 1.0, 2)
    seen = [tool.momentum]
    for _ in range(4):
        schedule.step()
        seen.append(tool.momentum)
    np.testing.assert_allclose(seen, [0.9, 0.85, 0.8, 0.85, 0.9])
    adam = Adam([ag.zeros(1, requires_grad=True)])
    M.OneCycleLR(adam, 1.0, 10)
    assert adam.beta1 == pytest.approx(0.95)
    with pytest.raises(ValueError, match="cycle_momentum=False"):
        M.CyclicLR(Adagrad([ag.zeros(1, requires_grad=True)]), 0.1, 1.0)


@pytest.mark.parametrize("step", [lambda f: f, ag.jit], ids=["eager", "jit"])
def test_a_cycle_turns_momentum_on(step) -> None:
    # PyTorch 2.13: SGD and RMSprop without momentum get the cycle's.
    weights = [ag.ones(1, requires_grad=True), ag.ones(1, requires_grad=True)]
    tools = [SGD([weights[0]], lr=0.1), ag.optim.RMSprop([weights[1]], lr=0.1)]
    schedules = [M.CyclicLR(tool, 0.01, 0.1, 2) for tool in tools]

    @step
    def train() -> None:
        for weight, tool, schedule in zip(weights, tools, schedules, strict=True):
            weight.grad = ag.ones(1)
            tool.step()
            schedule.step()

    for _ in range(5):
        train()
    np.testing.assert_allclose([float(w) for w in weights], [0.431338, -3.146401], rtol=1e-5)


def test_a_plateau_lowers_the_rate_after_patience_and_cooldown() -> None:
    tool = optimizer(1.0)
    schedule = M.ReduceLROnPlateau(tool, factor=0.5, patience=1, cooldown=1)
    seen = []
    for loss in (5, 4, 4, 4, 4, 4, 3, 3, 3, 3, 3):
        schedule.step(loss)
        seen.append(tool.lr)
    assert seen == [1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25]
    with pytest.raises(TypeError, match=r"step\(loss\)"):
        schedule.step()


def test_a_metric_that_shall_grow_and_does_not() -> None:
    tool = optimizer(1.0)
    schedule = M.ReduceLROnPlateau(tool, "max", factor=0.5, patience=0, threshold=0.1)
    seen = []
    for accuracy in (1.0, 1.0, 1.05, 1.2, 1.2, -1.0):
        schedule.step(accuracy)
        seen.append(tool.lr)
    assert seen == [1, 0.5, 0.25, 0.25, 0.125, 0.0625]


def test_a_schedule_never_compiles_again() -> None:
    w = ag.tensor([1.0, 2.0], requires_grad=True)
    tool = SGD([w], lr=0.1, momentum=0.9)
    schedule = M.OneCycleLR(tool, 0.5, 10)

    @ag.jit
    def step() -> Any:
        tool.zero_grad()
        loss = (w * w).sum()
        loss.backward()
        tool.step()
        return loss

    for _ in range(8):
        step()
        schedule.step()
    assert len(step.specialisations) == 1


@pytest.mark.parametrize(("make", "text"), [
    (lambda o: M.MultiStepLR(o, [5, 2]), "rise"),
    (lambda o: M.LinearLR(o, total_iters=0), "total_iters"),
    (lambda o: M.LinearLR(o, start_factor=0), "start_factor must be above 0"),
    (lambda o: M.CyclicLR(o, 0.1, 1.0, mode="square"), "square"),
    (lambda o: M.OneCycleLR(o, 1.0), "total_steps"),
    (lambda o: M.SequentialLR(o, [M.ExponentialLR(o, 0.9)], [3]), "milestones"),
    (lambda o: M.ChainedScheduler([M.ExponentialLR(o, 0.9), M.ExponentialLR(optimizer(), 0.9)]),
     "one optimizer"),
    (lambda o: M.ReduceLROnPlateau(o, factor=1.0), "factor"),
])
def test_what_cannot_be_is_refused(make: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        make(optimizer())


#: Schedules of one optimizer that step one behind the other, and the rates with PyTorch's; the last
#: with a rate of 0.05 that is set after three epochs.
PAIRS: dict[str, tuple[Any, list[float]]] = {
    "exponential and steps": (
        lambda o: [M.ExponentialLR(o, 0.9), M.MultiStepLR(o, [2, 4])],
        [0.7, 0.63, 0.0567, 0.05103, 0.0045927, 0.0041334, 0.0037201]),
    "linear and cosine": (
        lambda o: [M.LinearLR(o, 0.1, 1.0, 4), M.CosineAnnealingLR(o, 3, 0.01)],
        [0.07, 0.173125, 0.1043269, 0.01, 0.1854032, 0.5362097, 0.7116129]),
    "constant and polynomial": (
        lambda o: [M.ConstantLR(o, 0.3, 3), M.PolynomialLR(o, 5, 2.0)],
        [0.21, 0.1344, 0.0756, 0.112, 0.028, 0.0, 0.0]),
    "plateau and exponential": (
        lambda o: [M.ReduceLROnPlateau(o, patience=0, factor=0.5), M.ExponentialLR(o, 0.9)],
        [0.7, 0.63, 0.2835, 0.127575, 0.0574088, 0.0258339, 0.0116253]),
    "factors": (
        lambda o: [M.MultiplicativeLR(o, lambda e: 0.9), M.StepLR(o, 2, 0.5)],
        [0.7, 0.63, 0.2835, 0.05, 0.0225, 0.02025, 0.0091125]),
}


@pytest.mark.parametrize("way", [lambda f: f, ag.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("kind", PAIRS)
def test_a_schedule_goes_on_from_what_another_or_the_user_has_set(kind: str, way: Any) -> None:
    make, wanted = PAIRS[kind]
    optimizer = SGD([ag.zeros(1, requires_grad=True)], lr=0.7)
    schedules = make(optimizer)

    def step() -> None:
        for schedule in schedules:
            schedule.step(*[1.0] * isinstance(schedule, M.ReduceLROnPlateau))

    step = way(step)
    found = []
    for epoch in range(7):
        found.append(optimizer.param_groups[0]["lr"])
        step()
        if kind == "factors" and epoch == 2:
            optimizer.param_groups[0]["lr"] = 0.05
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-7)


def test_a_chain_goes_on_from_its_own_rates() -> None:
    def made(lr: float) -> tuple[Any, Any]:
        tool = SGD([ag.zeros(1, requires_grad=True)], lr=lr)
        return tool, M.ChainedScheduler([M.ConstantLR(tool, 0.5, 3), M.ExponentialLR(tool, 0.9)])

    tool, chain = made(0.4)
    chain.step()
    other, again = made(0.2)
    other.load_state_dict(tool.state_dict())
    again.load_state_dict(chain.state_dict())
    for _ in range(3):
        chain.step()
        again.step()
        assert other.lr == tool.lr


def test_better_by_a_share_of_a_negative_metric_is_as_pytorch_has_it() -> None:
    tool = optimizer(1.0)
    schedule = M.ReduceLROnPlateau(tool, factor=0.5, patience=0, threshold=0.1)
    found = []
    for metric in (-1.0, -0.95, -0.95, -0.5):
        schedule.step(metric)
        found.append(tool.lr)
    assert found == [1.0, 1.0, 1.0, 0.5]


def test_a_state_of_the_present_epoch_leaves_rates_as_they_are():
    tool = SGD([ag.ones(1, requires_grad=True)], lr=0.2)
    schedule = M.StepLR(tool, 2, 0.5)
    schedule.step()
    tool.param_groups[0]["lr"] = 0.3
    schedule.step()  # from the user's rate
    schedule.load_state_dict(schedule.state_dict())
    assert tool.lr == 0.15


def test_groups_that_came_later_have_rates_of_schedules_that_set_their_own():
    tool = SGD([ag.ones(1, requires_grad=True)], lr=0.2)
    schedule = M.CosineAnnealingWarmRestarts(tool, 3)
    tool.add_param_group({"params": [ag.ones(2, requires_grad=True)], "lr": 0.1})
    schedule.step()
    assert [group["lr"] for group in tool.param_groups] == pytest.approx([0.15, 0.075])


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("kind", ["exp", "seq"])
def test_the_last_rates_in_compiled_steps_are_those_that_the_schedule_set(
        kind: str, inside: bool) -> None:
    def run(jit: Any) -> list[Any]:
        w = ag.tensor([1.0, 2.0], requires_grad=True)
        tool = SGD([w], lr=0.1)
        schedule = MAKE[kind](tool)

        def step(x: Any) -> Any:
            before = schedule.get_last_lr()[0]
            (w * x).sum().backward()
            tool.step()
            tool.zero_grad()
            if inside:
                schedule.step()
            return before, schedule.get_last_lr()

        step, found = jit(step), []
        for k in range(6):
            found.append(step(ag.ones(2)))
            if k == 2:
                tool.param_groups[0]["lr"] = 0.03  # not the schedule's
            if k % 2 and not inside:
                schedule.step()
        return found

    for eager, jitted in zip(run(lambda f: f), run(ag.jit), strict=True):
        assert jitted[0] == pytest.approx(eager[0]) and jitted[1] == pytest.approx(eager[1])
