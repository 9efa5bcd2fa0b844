"""Optimizers with a step of their own and schedules with get_lr, as programs for PyTorch write."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn, optim
from agnesi.optim.optimizer import Optimizer, required


class Adam(Optimizer):
    def __init__(self, params: Any, lr: Any = required, betas: Any = (0.9, 0.999)) -> None:
        super().__init__(params, dict(lr=lr, betas=betas, eps=1e-8))

    def step(self, closure: Any = None) -> Any:
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if len(state) == 0:
                    state["step"] = 0
                    state["m"], state["v"] = ag.zeros_like(p.data), ag.zeros_like(p.data)
                (b1, b2), m, v = group["betas"], state["m"], state["v"]
                state["step"] += 1
                m.mul_(b1).add_(p.grad, alpha=1 - b1)
                v.mul_(b2).addcmul_(p.grad, p.grad, value=1 - b2)
                root = (v / (1 - b2 ** state["step"])).sqrt().add_(group["eps"])
                p.data.addcdiv_(m, root, value=-group["lr"] / (1 - b1 ** state["step"]))


class Outer(Optimizer):
    def __init__(self, inner: Any) -> None:  # no super().__init__()
        self.inner, self.param_groups, self.state = inner, inner.param_groups, {}

    def update(self) -> None:
        self.state["steps"] = self.state.get("steps", 0) + 1

    def step(self, closure: Any = None) -> Any:
        self.update()
        return self.inner.step(closure)


class Halving(optim.lr_scheduler._LRScheduler):
    def get_lr(self) -> list[float]:
        return [base / 2**self.last_epoch for base in self.base_lrs]


def parts(seed: int = 0) -> tuple[Any, Any]:
    ag.manual_seed(seed)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    return net, [{"params": net[0].parameters()}, {"params": net[2].parameters(), "lr": 0.05}]


X = ag.tensor(np.random.default_rng(0).normal(size=(5, 4)).astype("float32"))


def train(net: Any, tool: Any, run: Any = lambda f: f, steps: int = 5, rates: Any = None) -> Any:
    def step() -> Any:
        tool.zero_grad()
        loss = (net(X) ** 2).mean()
        loss.backward()
        tool.step()
        return loss

    step, found = run(step), []
    for _ in range(steps):
        found.append(step().item())
        if rates is not None:
            rates.step()
    return found


@pytest.mark.filterwarnings("ignore:step runs eagerly")
@pytest.mark.parametrize("run", [lambda f: f, ag.jit], ids=["eager", "jit"])
def test_a_step_written_out_is_that_of_the_library(run: Any) -> None:
    net, groups = parts()
    twin = copy.deepcopy(net)
    tool = Adam(groups, lr=0.1)
    rates = optim.lr_scheduler.ExponentialLR(tool, 0.9)
    other = optim.Adam([{"params": twin[0].parameters()},
                        {"params": twin[2].parameters(), "lr": 0.05}], lr=0.1)
    same = optim.lr_scheduler.ExponentialLR(other, 0.9)
    for steps in (train(net, tool, run), train(twin, other)), (
            train(net, tool, rates=rates), train(twin, other, rates=same)):
        np.testing.assert_allclose(*steps, rtol=1e-3)
    assert isinstance(tool, Optimizer) and tool.state[net[0].weight]["step"] == 10
    assert [g["lr"] for g in tool.param_groups] == rates.get_last_lr()


def test_states_are_saved_and_loaded() -> None:
    net, groups = parts()
    tool = Adam(groups, lr=0.1)
    train(net, tool)
    state = pickle.loads(pickle.dumps(tool.state_dict()))
    assert [g["params"] for g in state["param_groups"]] == [[0, 1], [2, 3]]
    twin = copy.deepcopy(net)
    other = Adam([{"params": twin[0].parameters()}, {"params": twin[2].parameters()}], lr=1.0)
    other.load_state_dict(state)
    assert train(net, tool) == train(twin, other)
    with pytest.raises(ValueError, match=r"groups of \[2, 2\] parameters"):
        Adam(twin.parameters(), lr=0.1).load_state_dict(state)


def test_wrappers_need_not_call_the_base() -> None:
    net, _ = parts()
    twin = copy.deepcopy(net)
    tool = Outer(optim.SGD(net.parameters(), lr=0.1))
    assert train(net, tool) == train(twin, optim.SGD(twin.parameters(), lr=0.1))
    assert tool.state == {"steps": 5}


def test_what_is_wrong_is_told() -> None:
    net, _ = parts()
    with pytest.raises(ValueError, match="no 'lr', which is required"):
        Adam(net.parameters())
    with pytest.raises(ValueError, match="in two groups"):
        Adam([{"params": net[0].parameters()}, {"params": net[0].parameters()}], lr=0.1)

    class Number(Optimizer):
        def __init__(self, params: Any) -> None:
            super().__init__(params, 0.1)

        def step(self, closure: Any = None) -> None:
            """Nothing."""

    with pytest.raises(TypeError, match=r"takes a dict of its options, not 0\.1"):
        Number(net.parameters())


@pytest.mark.parametrize("make", [Adam, optim.Adam])
def test_schedules_give_the_rates_of_all_groups(make: Any) -> None:
    _, groups = parts()
    tool = make(groups, lr=0.1)
    rates = Halving(tool)
    assert rates.get_last_lr() == [0.1, 0.05]
    rates.step()
    assert [g["lr"] for g in tool.param_groups] == rates.get_last_lr() == [0.05, 0.025]
    rates.step(3)
    assert rates.last_epoch == 3 and rates.get_last_lr() == [0.0125, 0.00625]
    rates.last_epoch = 1
    assert rates.get_lr() == [0.05, 0.025]


def test_one_that_has_an_update_keeps_it_where_its_step_is_around_ours():
    class Sign(optim.Optimizer):
        def __init__(self, parameters, lr):
            super().__init__(parameters, lr)

        def update(self, p, g):
            p.sub_(self.lr * ag.sign(g))

        def step(self, closure=None):
            return super().step()

    w = nn.Parameter(ag.tensor([1.0, -2.0]))
    (w * ag.tensor([-1.0, 1.0])).sum().backward()
    Sign([w], 0.5).step()
    assert w.tolist() == [1.5, -2.5]


def test_schedules_of_ours_with_rates_of_their_own():
    class Clamp(optim.lr_scheduler.ExponentialLR):
        def get_lr(self):
            return [max(b * self.gamma ** self.last_epoch, 0.1) for b in self.base_lrs]

    optimizer = optim.SGD([nn.Parameter(ag.ones(1))], lr=0.8)
    schedule, found = Clamp(optimizer, 0.5), []
    for _ in range(5):
        found.append(round(optimizer.param_groups[0]["lr"], 3))
        schedule.step()
    assert found == [0.8, 0.4, 0.2, 0.1, 0.1]
    warm = optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 2)
    warm.step(0.5)
    part = optimizer.param_groups[0]["lr"]
    warm.step(0)
    assert optimizer.param_groups[0]["lr"] > part > 0
