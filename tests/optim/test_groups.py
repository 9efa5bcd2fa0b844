"""Groups of parameters: each as an optimizer of its own, eagerly and in one compiled step."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn, optim
from agnesi.optim import lr_scheduler

#: Optimizers by their class, and the options of a second group.
KINDS: list[tuple[type[optim.Optimizer], dict[str, Any]]] = [
    (optim.SGD, {"lr": 0.05, "momentum": 0.9, "nesterov": True}),
    (optim.SGD, {"weight_decay": 0.1, "maximize": True}),
    (optim.Adam, {"betas": (0.5, 0.9), "amsgrad": True}),
    (optim.AdamW, {"weight_decay": 0.0}),
    (optim.RMSprop, {"centered": True, "lr": 0.02}),
    (optim.Adagrad, {"lr_decay": 0.1}),
    (optim.Lion, {"lr": 0.01}),
]


def problem(make: Any) -> tuple[Any, Any]:
    ag.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    x = ag.tensor(np.random.default_rng(0).normal(size=(5, 3)).astype("float32"))
    tools = make(model)

    def step() -> Any:
        for tool in tools:
            tool.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        for tool in tools:
            tool.step()
        return loss

    return model, (tools, step)


@pytest.mark.share(4)
@pytest.mark.parametrize("which", range(len(KINDS)))
def test_a_group_is_stepped_as_by_an_optimizer_of_its_own(which: int) -> None:
    kind, options = KINDS[which]
    usual: dict[str, Any] = {"lr": 0.01}

    def one(model: Any) -> Any:
        return [kind([{"params": model[0].parameters()},
                      {"params": model[2].parameters(), **options}], **usual)]

    def two(model: Any) -> Any:
        return [kind(model[0].parameters(), **usual),
                kind(model[2].parameters(), **{**usual, **options})]

    grouped, ((tool,), step) = problem(one)
    apart, (tools, other) = problem(two)
    compiled, ((fast_tool,), native) = problem(one)
    fast = ag.jit(native)
    for t in range(1, 5):
        for optimizer in (tool, fast_tool):
            optimizer.param_groups[1]["lr"] = 0.03 / t
        tools[1].lr = 0.03 / t
        step(), other(), fast()
        for p, q, r in zip(grouped.parameters(), apart.parameters(), compiled.parameters(),
                           strict=True):
            np.testing.assert_allclose(p.numpy(), q.numpy(), rtol=1e-6)
            np.testing.assert_allclose(p.numpy(), r.numpy(), atol=2e-6)
    assert len(fast.specialisations) == 1


def test_groups_are_read_set_and_added() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    tool = optim.Adam([{"params": net[0].named_parameters(), "name": "first"}], lr=0.1)
    tool.add_param_group({"params": net[1].weight, "betas": (0.5, 0.6), "lr": 0.2})
    one, two = tool.param_groups
    assert one["name"] == "first" and "name" not in two
    assert (one["lr"], two["lr"], two["betas"], one["eps"]) == (0.1, 0.2, (0.5, 0.6), 1e-8)
    assert tool.parameters == [*net[0].parameters(), net[1].weight]
    two["betas"], two["swa_lr"] = (0.7, 0.8), 0.01
    assert two["betas"] == (0.7, 0.8) and two["swa_lr"] == 0.01
    tool.lr = 0.3  # of all groups
    assert [g["lr"] for g in tool.param_groups] == [0.3, 0.3]
    with pytest.raises(ValueError, match="two groups"):
        tool.add_param_group({"params": [net[0].weight]})
    with pytest.raises(ValueError, match="'amsgrad' of a group cannot change"):
        two["amsgrad"] = True
    with pytest.raises(ValueError, match="lr must be a number of at least 0"):
        two["lr"] = -1.0
    with pytest.raises(ValueError, match="no parameters"):
        optim.SGD([{"params": []}])
    assert "group 1: 1 parameters" in repr(tool)
    tool.zero_grad(), (net(ag.ones((1, 2))) ** 2).sum().backward()
    tool.zero_grad()
    assert net[1].weight.grad is None is net[0].bias.grad


def test_the_state_of_all_groups_is_saved() -> None:
    def make(model: Any) -> Any:
        return [optim.SGD([{"params": [model[0].weight]},
                           {"params": [model[2].weight], "lr": 0.5}], lr=0.1, momentum=0.9)]

    _, ((tool,), step) = problem(make)
    step()
    state = tool.state_dict()
    assert len(state["param_groups"]) == 2 and [*state["state"]] == [0, 1]
    assert [g["params"] for g in state["param_groups"]] == [[0], [1]]
    _, ((other,), _) = problem(make)
    other.load_state_dict(state)
    assert str(other.state_dict()) == str(state)
    wrong = copy.deepcopy(state)
    wrong["param_groups"][1]["lr"] = -1.0
    with pytest.raises(ValueError, match="lr"):
        other.load_state_dict(wrong)
    assert other.param_groups[1]["lr"] == 0.5
    assert copy.deepcopy(tool).param_groups[1]["lr"] == 0.5


def _one(tool: Any) -> Any:
    return tool([ag.tensor([1.0, 2.0], requires_grad=True)])


def test_states_are_edited_as_in_pytorch() -> None:
    w = ag.tensor([1.0, 2.0], requires_grad=True)
    tool = optim.Adam([{"params": [w], "name": "all"}], lr=0.1)
    (w * w).sum().backward()
    tool.step()
    state = tool.state_dict()
    assert {k: v.tolist() for k, v in state["state"][0].items() if k == "step"} == {"step": 1}
    group = state["param_groups"][0]
    assert group["name"] == "all" and group["betas"] == (0.9, 0.999) and not group["amsgrad"]
    group["lr"], group["initial_lr"], group["betas"] = 0.01, 0.5, [0.8, 0.9]
    state["state"][0]["exp_avg"] = state["state"][0]["exp_avg"] * 2
    other = optim.Adam([ag.zeros(2, requires_grad=True)])
    other.load_state_dict(state)
    assert other.lr == 0.01 and other.param_groups[0]["betas"] == (0.8, 0.9)
    assert other.param_groups[0]["initial_lr"] == 0.5 and other.param_groups[0]["name"] == "all"
    assert other.slots["mean"][0].tolist() == pytest.approx((2 * tool.slots["mean"][0]).tolist())
    other.load_state_dict({**state, "state": {}})  # which begins anew
    assert other.slots["mean"][0].tolist() == [0, 0]
    assert other.state_dict()["state"][0]["step"] == 0
    grown = optim.Adagrad([ag.zeros(2, requires_grad=True)], initial_accumulator_value=0.5)
    before = grown.state_dict()
    grown.slots["total"][0].zero_()
    grown.load_state_dict({**before, "state": {}})
    assert grown.state_dict()["state"][0]["sum"].tolist() == [0.5, 0.5]


def test_states_that_do_not_fit_are_told() -> None:
    tool = _one(optim.Adam)
    tool.add_param_group({"params": [ag.zeros(3, requires_grad=True)]})
    before = tool.state_dict()

    def refused(kind: type[Exception], text: str, edit: Any) -> None:
        state = copy.deepcopy(before)
        state = edit(state) or state
        with pytest.raises(kind, match=text):
            tool.load_state_dict(state)
        assert str(tool.state_dict()) == str(before)

    refused(ValueError, "the state has 1 groups of parameters, this Adam has 2",
            lambda s: {**s, "param_groups": s["param_groups"][:1]})
    refused(ValueError, "group 1 of the state has 2 parameters, that of this Adam 1",
            lambda s: s["param_groups"][1]["params"].append(2))
    refused(ValueError, "amsgrad=True, .* make the optimizer with amsgrad=True",
            lambda s: s["param_groups"][1].update(amsgrad=True))
    refused(KeyError, r"\['momentum_buffer'\] of parameters",
            lambda s: s["state"][1].update(momentum_buffer=1))
    refused(ValueError, "shape", lambda s: s["state"][1].update(exp_avg=ag.zeros(2)))
    tool.add_param_group({"params": [ag.zeros(3, requires_grad=True) for _ in range(2)]})
    state = tool.state_dict()
    state["state"][3]["step"] = ag.tensor(5)  # other parameters of the group have had none
    tool.load_state_dict(state)
    assert [int(s["step"]) for s in tool.state_dict()["state"].values()] == [0, 0, 0, 5]


def test_the_first_momentum_is_not_damped_again_where_pytorch_kept_it_without_a_count() -> None:
    w = ag.tensor([1.0], requires_grad=True)
    tool = optim.SGD([w], lr=1.0, momentum=0.5, dampening=0.5)
    state = tool.state_dict()
    tool.load_state_dict({**state, "state": {0: {"momentum_buffer": ag.tensor([4.0])}}})
    w.grad = ag.tensor([2.0])
    tool.step()
    assert w.item() == 1.0 - (0.5 * 4.0 + 0.5 * 2.0)


def test_schedules_steer_each_group_from_its_own_rate() -> None:
    def tool() -> optim.Optimizer:
        a, b = (ag.zeros(1, requires_grad=True) for _ in range(2))
        return optim.SGD([{"params": [a]}, {"params": [b], "lr": 0.5}], lr=0.1, momentum=0.9)

    optimizer = tool()
    steps = lr_scheduler.StepLR(optimizer, 1, 0.5)
    steps.step()
    assert steps.get_last_lr() == [0.05, 0.25]
    optimizer.add_param_group({"params": [ag.zeros(1, requires_grad=True)], "lr": 8.0})
    steps.step()
    assert steps.get_last_lr() == pytest.approx([0.025, 0.125, 4.0])  # as PyTorch's
    optimizer = tool()
    factors = lr_scheduler.LambdaLR(optimizer, [lambda e: 0.5**e, lambda e: 1.0])
    factors.step()
    assert factors.get_last_lr() == [0.05, 0.5]
    optimizer = tool()
    cycle = lr_scheduler.OneCycleLR(optimizer, [1.0, 2.0], total_steps=10)
    for _ in range(2):
        cycle.step()
    assert cycle.get_last_lr() == pytest.approx([1.0, 2.0])
    optimizer = tool()
    chain = lr_scheduler.SequentialLR(optimizer, [
        lr_scheduler.ConstantLR(optimizer, 0.1), lr_scheduler.ExponentialLR(optimizer, 0.5)], [1])
    assert chain.get_last_lr() == pytest.approx([0.01, 0.05])
    plateau = lr_scheduler.ReduceLROnPlateau(tool(), patience=0, min_lr=[0.0, 0.2])
    for _ in range(2):
        plateau.step(1.0)
    assert plateau.get_last_lr() == pytest.approx([0.01, 0.2])
    with pytest.raises(ValueError, match="as many as there are groups"):
        lr_scheduler.CyclicLR(tool(), [0.1], 1.0)


def test_gradients_of_several_batches_add_up_in_one_compiled_step() -> None:
    """Accumulation: steps of two halves are those of the whole, compiled once each."""
    data = ag.tensor(np.random.default_rng(0).normal(size=(4, 3)).astype("float32"))
    found = []
    for parts in (1, 2):
        ag.manual_seed(0)
        net = nn.Linear(3, 1)
        tool = optim.SGD(net.parameters(), lr=0.1)

        @ag.jit
        def gather(x: Any, net: Any = net, parts: int = parts) -> None:
            ((net(x) ** 2).mean() / parts).backward()

        @ag.jit
        def update(tool: Any = tool) -> None:
            tool.step()
            tool.zero_grad(set_to_none=False)

        for _ in range(3):
            for part in ag.split(data, parts):
                gather(part)
            update()
        found.append(net.weight.numpy())
    np.testing.assert_allclose(*found, rtol=1e-5)


@pytest.mark.parametrize("make", [lambda p: optim.SGD(p, 0.1, momentum=0.9), optim.Adam])
def test_an_empty_state_begins_anew(make: Any) -> None:
    w = ag.tensor([1.0, 2.0], requires_grad=True)
    optimizer, found = make([w]), []

    @ag.jit
    def step() -> None:
        optimizer.zero_grad()
        (w**2).sum().backward()
        optimizer.step()

    for _ in range(2):
        with ag.no_grad():
            w.copy_(ag.tensor([1.0, 2.0]))
        optimizer.state.clear()
        for _ in range(3):
            step()
        found.append(w.tolist())
    assert found[0] == found[1]
    optimizer.state = {}
    with pytest.raises(ValueError, match="load_state_dict"):
        optimizer.state = {w: {}}


def test_state_by_parameter_has_the_optimizers_own_tensors() -> None:
    w, b = ag.ones(3, requires_grad=True), ag.ones(2, requires_grad=True)
    optimizer = ag.optim.Adam([{"params": [w]}, {"params": [b], "lr": 0.5}], lr=0.1)
    ((w * 2).sum() + b.sum()).backward()
    optimizer.step()
    np.testing.assert_allclose(optimizer.state[w]["exp_avg"].numpy(), [0.2] * 3, rtol=1e-6)
    np.testing.assert_allclose(optimizer.state[b]["exp_avg"].numpy(), [0.1] * 2, rtol=1e-6)
    optimizer.state[b]["exp_avg"].zero_()
    assert optimizer.state_dict()["state"][1]["exp_avg"].tolist() == [0, 0]
    optimizer.state[w]["exp_avg"] = 3.0
    optimizer.state[w]["step"] = 7
    assert optimizer.state[w]["exp_avg"].tolist() == [3, 3, 3] and optimizer.state[w]["step"] == 7
    with pytest.raises(TypeError, match="lets all start again"):
        optimizer.state[w] = {}  # type: ignore[index]
    with pytest.raises(KeyError, match="exp_avg_sq"):
        optimizer.state[w]["momentum"] = 0  # type: ignore[index]
