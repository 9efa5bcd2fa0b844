"""States of modules and optimizers that a compiled step reads, loads and copies."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn

MAKERS = {
    "SGD": lambda ps: ag.optim.SGD(ps, lr=0.1, momentum=0.9),
    "Adam": lambda ps: ag.optim.Adam(ps, lr=0.1),
    "Adagrad": lambda ps: ag.optim.Adagrad(ps, lr=0.1, weight_decay=0.01),
}


def _array(x):
    return np.array(x.detach() if isinstance(x, ag.Tensor) else x)


class Agent:
    def __init__(self, make=MAKERS["SGD"]):
        ag.manual_seed(5)
        self.online, self.target = nn.Linear(2, 2), nn.Linear(2, 2)
        self.optimizer = make(self.online.parameters())

    def learn(self, x):
        self.optimizer.zero_grad()
        loss = (self.online(x) ** 2).sum()
        loss.backward()
        self.optimizer.step()
        return loss

    def now(self):
        return [_array(p) for m in (self.online, self.target) for p in m.parameters()]


def hard(agent, x):
    agent.learn(x)
    agent.target.load_state_dict(agent.online.state_dict())
    return agent.target(x)


def soft(agent, x):
    agent.learn(x)
    new, old = agent.online.state_dict(), agent.target.state_dict()
    agent.target.load_state_dict({k: 0.9 * old[k] + 0.1 * new[k] for k in new})
    return agent.target(x)


def swapped(agent, x):
    one, two = agent.online.state_dict(copy=False), agent.target.state_dict()
    agent.target.load_state_dict(one)
    agent.online.load_state_dict(two)
    return agent.target(x) - agent.online(x)


def back(agent, x):
    kept, own = agent.online.state_dict(), agent.optimizer.state_dict()
    loss = agent.learn(x)
    agent.online.load_state_dict(kept)
    agent.optimizer.load_state_dict(own)
    return loss


def fast_weights(agent, x):
    fast = copy.deepcopy(agent.online)
    gradients = ag.autograd.grad((fast(x) ** 2).sum(), list(fast.parameters()))
    with ag.no_grad():
        for p, g in zip(fast.parameters(), gradients, strict=True):
            p -= 0.5 * g
    return fast(x)


def told(agent, x):
    agent.learn(x)
    return [agent.online.state_dict(), agent.optimizer.state_dict()]


@pytest.mark.share(2)
@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("step", [hard, soft, swapped, back, fast_weights, told],
                         ids=lambda f: f.__name__)
def test_a_step_that_uses_states_is_the_eager_one(step, kind):
    found = []
    for compiled in (False, True):
        agent = Agent(MAKERS[kind])
        run = ag.jit(step) if compiled else step
        told = []
        for i in range(4):
            if i == 2:
                with ag.no_grad():
                    agent.online.bias.add_(1.0)
            result = run(agent, ag.tensor([1.0, 2.0]))
            told.append(list(map(_array, ag.tree.leaves(result))))
        found.append([*told, agent.now()])
    for eager, jitted in zip(*found, strict=True):
        for a, b in zip(eager, jitted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_options_in_a_state_are_numbers_of_python():
    agent = Agent(MAKERS["Adam"])
    found = ag.jit(lambda: agent.optimizer.state_dict())()
    group = found["param_groups"][0]
    assert type(group["lr"]) is float and group["betas"] == (0.9, 0.999)


def test_a_file_is_not_read_once_for_all_calls(tmp_path):
    agent, path = Agent(), tmp_path / "state.safetensors"
    ag.save(agent.online.state_dict(), path)

    @ag.jit
    def restored(x):
        agent.online.load_state_dict(ag.load(path))
        return agent.online(x)

    x = ag.tensor([1.0, 2.0])
    with pytest.warns(RuntimeWarning, match="it opens a file"):
        before = restored(x)
    ag.save(agent.target.state_dict(), path)
    now = restored(x).tolist()
    assert now != before.tolist() and now == agent.target(x).tolist()


def test_an_optimizer_that_begins_in_a_compiled_function_is_refused():
    f = ag.jit(lambda x: ag.optim.SGD([(x * 2).requires_grad_()], lr=0.5))
    with pytest.raises(TypeError, match="made inside of the compiled function"):
        f(ag.ones(2))


def test_a_function_that_copies_a_module_for_an_optimizer_runs_eagerly():
    agent = Agent()

    @ag.jit
    def f(x):
        return ag.optim.SGD(copy.deepcopy(agent.online).parameters(), lr=0.5)

    with pytest.warns(RuntimeWarning, match="f runs eagerly"):
        assert type(f(ag.ones(2))) is ag.optim.SGD
