"""Updates that are traced once for many parameters: the same values as those of each by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi.compiler.tracing import trace_reuse
from agnesi.optim import optimizer as base

OPTIMIZERS: dict[str, Any] = {
    "SGD": lambda ps: ag.optim.SGD(ps, lr=0.05),
    "momentum": lambda ps: ag.optim.SGD(ps, lr=0.05, momentum=0.9, dampening=0.1, weight_decay=0.1),
    "Adam": lambda ps: ag.optim.Adam(ps, lr=0.05, amsgrad=True, weight_decay=0.01),
    "AdamW": lambda ps: ag.optim.AdamW(ps, lr=0.05, maximize=True),
    "Adafactor": lambda ps: ag.optim.Adafactor(ps, lr=0.05),
    "Rprop": lambda ps: ag.optim.Rprop(ps, lr=0.05),
}


def values(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(0.2, 0.9, shape)


def step_of(make: Any, seed: int) -> tuple[list[Any], Any]:
    """Parameters, some of other types than the others, and a step that trains them."""
    ps = [ag.nn.Parameter(values(5, seed=seed + i)) for i in range(9)]
    ps += [ag.nn.Parameter(values(3, 4, seed=seed + i)) for i in range(4)]
    ps += [ag.nn.Parameter(values(5, seed=seed + i).astype("float16")) for i in range(3)]
    ps += [ag.nn.Parameter(np.asarray(values(4, 3, seed=seed), order="F"))]
    optimizer = make(ps)

    def step(x: Any) -> Any:
        loss = ag.zeros((), dtype="float64")
        for i, p in enumerate(ps):
            loss = loss + ((p * p).astype("float64").sum() * x.sum() if i != 2 else 0.0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return ps, step


@pytest.mark.share(4)
@pytest.mark.parametrize("operations", [1, 10_000])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_are_those_of_each_parameter_alone(name, operations, monkeypatch):
    monkeypatch.setattr(trace_reuse, "MIN_OPERATIONS", operations)
    monkeypatch.setattr(trace_reuse, "SEGMENT_OPERATIONS", 8)
    with ag.config(cache=False, verify=True):
        ours, step = step_of(OPTIMIZERS[name], 3)
        compiled = ag.jit(step)
        losses = [compiled(ag.tensor(values(2, seed=i))).item() for i in range(3)]
        monkeypatch.setattr(base, "_REPEATED", 10_000)
        theirs, eager = step_of(OPTIMIZERS[name], 3)
        expected = [eager(ag.tensor(values(2, seed=i))).item() for i in range(3)]
    np.testing.assert_allclose(losses, expected, rtol=1e-6)
    for p, q in zip(ours, theirs, strict=True):
        most = 1e-6 if p.dtype == "float64" else 2e-3
        np.testing.assert_allclose(p.numpy(), q.numpy(), rtol=most)


def test_parameters_of_a_kind_are_told_apart_by_types_alone(monkeypatch):
    made = []

    class Counted(trace_reuse.Alike):
        def __call__(self, each):
            made.append(len(each))
            super().__call__(each)

    monkeypatch.setattr(base, "Alike", Counted)
    ps = [ag.nn.Parameter(values(5, seed=i)) for i in range(20)]
    ps += [ag.nn.Parameter(values(i, seed=i)) for i in (6, 6, 7, 7, 7)]
    optimizer = ag.optim.SGD(ps, lr=0.5)

    @ag.jit
    def step():
        optimizer.zero_grad()
        sum((p.sum() for p in ps), 0.0).backward()
        optimizer.step()

    step()
    assert made == [20, 3]
    for i, p in enumerate(ps[:20]):
        np.testing.assert_allclose(p.numpy(), values(5, seed=i) - 0.5)


def test_an_update_of_the_users_own_sees_every_parameter():
    names = {}

    class Scaled(ag.optim.SGD):
        def update(self, p, g, *rest):
            super().update(p, g * names[id(p)], *rest)

    ps = [ag.nn.Parameter(values(5, seed=i)) for i in range(5)]
    names |= {id(p): float(i) for i, p in enumerate(ps)}
    optimizer = Scaled(ps, lr=0.5)

    @ag.jit
    def step():
        optimizer.zero_grad()
        sum((p.sum() for p in ps), 0.0).backward()
        optimizer.step()

    step()
    for i, p in enumerate(ps):
        np.testing.assert_allclose(p.numpy(), values(5, seed=i) - 0.5 * i)


def test_a_segment_takes_the_place_of_several_updates(monkeypatch):
    monkeypatch.setattr(trace_reuse, "MIN_OPERATIONS", 100)
    ps = [ag.nn.Parameter(values(5, seed=i)) for i in range(120)]
    optimizer = ag.optim.Adam(ps)

    @ag.jit
    def step():
        optimizer.zero_grad()
        sum(((p * p).sum() for p in ps), 0.0).backward()
        optimizer.step()

    step()
    segments = [n for n in step.graph.nodes if n.op is not None and n.op.name == "segment"]
    assert 10 < len(segments) < 60
    assert len({n.op.body for n in segments}) == 1
