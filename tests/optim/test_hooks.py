"""Hooks of optimizers, as PyTorch's have them: around the step, and around the state."""

import copy
import pickle

import pytest

import agnesi as ag
from agnesi import optim


class ByHand(optim.Optimizer):
    def __init__(self, params, lr=0.1):
        super().__init__(params, {"lr": lr})

    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                p.data.add_(p.grad, alpha=-group["lr"])


MAKERS = [lambda w: optim.SGD([w], 0.5), lambda w: optim.Adam([{"params": [w], "lr": 0.1}]),
          lambda w: ByHand([w]), lambda w: optim.LBFGS([w])]


@pytest.mark.parametrize("make", MAKERS)
def test_hooks_are_called_in_order_around_the_step(make):
    w = ag.ones(1, requires_grad=True)
    optimizer, seen = make(w), []

    def closure():
        optimizer.zero_grad()
        loss = (w * w).sum()
        loss.backward()
        seen.append("closure")
        return loss

    before = optimizer.register_step_pre_hook(
        lambda o, args, kwargs: seen.append((o is optimizer, len(args), dict(kwargs))))
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(float(w.detach())))
    closure()
    lbfgs = isinstance(optimizer, optim.LBFGS)
    optimizer.step(closure) if lbfgs else optimizer.step()
    assert seen[1] == (True, int(lbfgs), {}) and seen[-1] == float(w.detach()) != 1
    before.remove()
    seen.clear()
    optimizer.step(closure) if lbfgs else optimizer.step()
    assert seen[-1] == float(w.detach()) and not any(isinstance(s, tuple) for s in seen)


@pytest.mark.parametrize("make", MAKERS)
def test_hooks_of_the_state_see_and_replace_it(make):
    w = ag.ones(1, requires_grad=True)
    optimizer, seen = make(w), []
    optimizer.register_state_dict_pre_hook(lambda o: seen.append("read"))
    optimizer.register_state_dict_post_hook(lambda o, state: {**state, "mine": 7})
    state = optimizer.state_dict()
    assert seen == ["read"] and state["mine"] == 7

    def without(o, state):
        seen.append(state.pop("mine"))

    optimizer.register_load_state_dict_pre_hook(without)
    optimizer.register_load_state_dict_post_hook(lambda o: seen.append(o is optimizer))
    optimizer.load_state_dict(state)
    assert seen == ["read", 7, True] and state["mine"] == 7


def test_arguments_may_be_replaced_and_mistakes_are_told():
    w = ag.ones(1, requires_grad=True)
    optimizer = optim.SGD([w], 0.5)
    (w * 2).sum().backward()
    handle = optimizer.register_step_pre_hook(lambda o, a, k: ((lambda: 3,), {}))
    assert optimizer.step() == 3
    handle.remove()
    optimizer.register_step_pre_hook(lambda o, a, k: 3)
    with pytest.raises(TypeError, match="a pair of arguments and keywords, not 3"):
        optimizer.step()
    with pytest.raises(TypeError, match="a hook is a function, not 3"):
        optimizer.register_step_post_hook(3)


def _count(optimizer, args, kwargs):
    optimizer.param_groups[0]["lr"] *= 0.5


def test_copies_and_compiled_steps_have_them():
    w = ag.ones(1, requires_grad=True)
    optimizer = optim.SGD([w], 0.5)
    optimizer.register_step_post_hook(_count)
    for other in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        other.parameters[0].grad = ag.ones(1)
        other.step()
        assert other.param_groups[0]["lr"] == 0.25 and optimizer.param_groups[0]["lr"] == 0.5
    before = float(w.detach())

    @ag.jit
    def step(x):
        optimizer.zero_grad()
        (w * x).sum().backward()
        optimizer.step()

    for lr in (0.5, 0.25):
        step(ag.ones(1))
        before -= lr
        assert float(w.detach()) == before


@pytest.mark.parametrize("options", [{"state": 0}, {"state_dict": 0}])
def test_states_loaded_by_name_are_shown_to_hooks(options):
    optimizer = optim.SGD([ag.ones(1, requires_grad=True)], 0.5)
    seen = []
    optimizer.register_load_state_dict_pre_hook(lambda o, state: seen.append(sorted(state)))
    optimizer.load_state_dict(**dict.fromkeys(options, optimizer.state_dict()))
    assert seen == [["param_groups", "state"]]
    assert optimizer.state_dict(False)["param_groups"][0]["lr"] == 0.5
