"""Parameters without a gradient in some steps: their own counters, as if they were alone."""

import copy

import numpy as np
import pytest

import agnesi as ag
from agnesi import optim

KINDS = {
    "Adam": {"betas": (0.5, 0.9)}, "AdamW": {"amsgrad": True}, "NAdam": {"momentum_decay": 0.3},
    "RAdam": {"betas": (0.3, 0.6)}, "Adamax": {}, "Adagrad": {"lr_decay": 0.5}, "Lamb": {},
    "ASGD": {"t0": 1.0, "lambd": 0.3}, "Adafactor": {}, "SGD": {"momentum": 0.9, "dampening": 0.5},
}
#: Which of four parameters have a gradient in each step: late, early, seldom, always.
STEPS = [(1, 3), (1, 2, 3), (0, 3), (0, 1, 2, 3), (), (0, 2, 3), (0, 3), (0, 1, 3), (3,)]


def values():
    return [np.random.default_rng(i).normal(size=(3, 2)).astype("float32") for i in range(4)]


def moved(name, parameters, change=lambda optimizer: optimizer, wrap=lambda f: f):
    """The parameters after the steps of those of them that have gradients."""
    held = {i: ag.tensor(values()[i], requires_grad=True) for i in parameters}
    optimizer = getattr(optim, name)([*held.values()], lr=0.1, **KINDS[name])

    @wrap
    def step(places):
        for i in held:
            held[i].grad = None
        for i in places:
            (held[i] * held[i] * (i + 1)).sum().backward()
        optimizer.step()

    for places in STEPS:
        given = tuple(i for i in places if i in held)
        if given:
            step(given)
            optimizer = change(optimizer)
    return [p.numpy() for p in held.values()]


def reloaded(optimizer):
    state = copy.deepcopy(optimizer.state_dict())
    fresh = type(optimizer)(optimizer.parameters, lr=7.0, **{
        k: v for k, v in optimizer.options.items() if k != "lr"})
    fresh.load_state_dict(state)
    return fresh


@pytest.mark.parametrize("name", KINDS)
def test_each_parameter_steps_as_if_alone(name):
    alone = [moved(name, [i])[0] for i in range(4)]
    for found in (moved(name, range(4)), moved(name, range(4), reloaded),
                  moved(name, range(4), wrap=ag.jit)):
        for a, b in zip(found, alone, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)


def test_checkpoints_keep_counters(tmp_path):
    def made():
        parameters = [ag.ones(2, requires_grad=True) for _ in range(3)]
        return parameters, optim.NAdam(parameters, lr=0.1)

    def step(parameters, optimizer, places):
        optimizer.zero_grad()
        for i in places:
            (parameters[i] ** 2).sum().backward()
        optimizer.step()

    first, optimizer = made()
    for places in [(0, 1), (0, 1), (0, 1, 2), (1,)]:
        step(first, optimizer, places)
    assert [int(s["step"]) for s in optimizer.state_dict()["state"].values()] == [3, 4, 1]
    ag.saving.save_checkpoint(tmp_path / "c.safetensors", optimizer=optimizer)
    second, other = made()
    ag.saving.load_checkpoint(tmp_path / "c.safetensors", optimizer=other)
    for a, b in zip(first, second, strict=True):
        b.data.copy_(a.data)
    for places in [(0, 1, 2), (2,)]:
        step(first, optimizer, places)
        step(second, other, places)
    assert [p.tolist() for p in first] == [p.tolist() for p in second]
    assert optimizer.cohorts and [p["step"] for p in other.state_dict()["state"].values()]


@pytest.mark.parametrize(("name", "options"), [
    ("Rprop", {}), ("Adagrad", {"initial_accumulator_value": 0.5})])
def test_both_parts_of_complex_parameters_begin_alike(name, options):
    z = ag.tensor([1 + 2j, -3 + 1j], requires_grad=True)
    parts = [ag.tensor(v, requires_grad=True) for v in ([1.0, -3.0], [2.0, 1.0])]
    whole, each = (getattr(optim, name)(p, lr=0.1, **options) for p in ([z], parts))
    for _ in range(5):
        whole.zero_grad()
        each.zero_grad()
        (ag.real(z) ** 2 + ag.imag(z) ** 2).sum().backward()
        sum((p**2).sum() for p in parts).backward()
        whole.step()
        each.step()
    np.testing.assert_allclose(z.numpy(), parts[0].numpy() + 1j * parts[1].numpy(), rtol=1e-6)
