"""Calls by place: a call of PyTorch's without names means the same here, or is listed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.nn import functional, init, utils
from torch.optim import lr_scheduler

import agnesi as ag
from agnesi.core.calls.spellings import FOREIGN

#: Arguments that PyTorch has for itself: old ones, those of its kernels, devices.
_OWN = frozenset(("_stacklevel", "capturable", "device", "differentiable", "foreach", "inplace",
                  "maximize", "reduce", "size_average"))
#: Names of which a later place means something else, or is not there.
LISTED = frozenset("""
    nn.Embedding nn.EmbeddingBag nn.SyncBatchNorm
    nn.functional.embedding_bag nn.functional.gumbel_softmax optim.Optimizer
""".split())
MODULES = {
    "nn": (torch.nn, ag.nn), "nn.functional": (functional, ag.nn.functional),
    "nn.init": (init, ag.nn.init), "nn.utils": (utils, ag.nn.utils),
    "optim": (torch.optim, ag.optim), "optim.lr_scheduler": (lr_scheduler, ag.optim.lr_scheduler),
}


def shared() -> Iterator[tuple[str, Callable[..., Any], Callable[..., Any]]]:
    for module, (theirs, ours) in MODULES.items():
        for name in dir(theirs):
            a, b = getattr(theirs, name), getattr(ours, name, None)
            if name[0] != "_" and callable(a) and callable(b):
                yield f"{module}.{name}", a, b


def places(function: Callable[..., Any]) -> list[str] | None:
    """Names of what a call gives by place; None for what does not tell."""
    called: Any = function
    if inspect.isclass(function):
        called = function.__init__  # type: ignore[misc]
    while hasattr(called, "__wrapped__"):
        called = called.__wrapped__
    try:
        known = [*inspect.signature(called).parameters.values()]
    except (TypeError, ValueError):
        return None
    names = [p.name for p in known if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return names[1:] if inspect.isclass(function) else names


def differs(theirs: Callable[..., Any], ours: Callable[..., Any]) -> str:
    """The first place that means something else here; empty where there is none."""
    mine = places(ours)
    for i, name in enumerate(places(theirs) or ()):
        if name in _OWN or mine is None:
            break
        meant = {name, *FOREIGN.get(name, ())} | ({"parameters"} if name == "params" else set())
        if i >= len(mine) or mine[i] not in meant:
            return f"place {i} is {name}, not {mine[i] if i < len(mine) else 'there'}"
    return ""


def test_many_names_are_compared():
    assert sum(places(a) is not None for _, a, _ in shared()) > 250


@pytest.mark.parametrize("name, theirs, ours", [
    pytest.param(*case, id=case[0]) for case in shared()])
def test_places_mean_the_same(name, theirs, ours):
    assert bool(differs(theirs, ours)) == (name in LISTED), differs(theirs, ours)


CASES = {
    "max_pool": lambda t: t.nn.MaxPool2d(3, 2, 1, 1, False, True),
    "ceil": lambda t: t.nn.MaxPool2d(3, 2, ceil_mode=True),
    "avg_pool": lambda t: t.nn.AvgPool2d(3, 2, 1, True, True, 5),
    "avg_pool_ceil": lambda t: t.nn.AvgPool2d(3, 2, 1, True),
    "lp_pool": lambda t: t.nn.LPPool2d(2, 3, 2, True),
    "upsample": lambda t: t.nn.Upsample(None, 1.7, "bilinear", False, True),
    "upsample_plain": lambda t: t.nn.Upsample(None, 1.7, "bilinear", False),
    "hardswish": lambda t: t.nn.Hardswish(True),
    "celu": lambda t: t.nn.CELU(1.5, True),
    "threshold": lambda t: t.nn.Threshold(0.1, 2.0, inplace=True),
}


@pytest.mark.parametrize("name", CASES)
def test_layers_made_by_place(name):
    x = torch.randn(2, 3, 10, 11)
    got, expect = CASES[name](ag)(ag.tensor(x.numpy().copy())), CASES[name](torch)(x)
    torch.testing.assert_close(torch.from_numpy(got.numpy()), expect)


SCHEDULES = {
    "three phases": lambda t, o: t.optim.lr_scheduler.OneCycleLR(
        o, 1.0, 20, cycle_momentum=False, three_phase=True),
    "two phases": lambda t, o: t.optim.lr_scheduler.OneCycleLR(o, 1.0, 20, cycle_momentum=False),
    "scaled cycles": lambda t, o: t.optim.lr_scheduler.CyclicLR(
        o, 0.1, 1.0, 3, 4, "triangular", 1.0, lambda n: 0.9**n, "cycle", False),
    "scaled steps": lambda t, o: t.optim.lr_scheduler.CyclicLR(
        o, 0.1, 1.0, 3, scale_fn=lambda n: 0.9**n, scale_mode="iterations", cycle_momentum=False),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules(name):
    rates = []
    for t in (ag, torch):
        optimizer = t.optim.SGD(params=t.nn.Linear(2, 2).parameters(), lr=0.5, foreach=None)
        schedule = SCHEDULES[name](t, optimizer)
        rates.append([])
        for _ in range(19):
            rates[-1].append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            schedule.step()
    assert rates[0] == pytest.approx(rates[1])
