"""What is compiled by itself waits until eager work would have paid for loading the compiler."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi.compiler import eager, regions, warmup
from agnesi.compiler.warmup import WORK
from agnesi.core.support.config import HOOKS


def test_few_steps_of_a_small_network_load_no_compiler() -> None:
    code = """
        import sys
        import agnesi as ag
        net = ag.nn.Sequential(ag.nn.Linear(8, 16), ag.nn.ReLU(), ag.nn.Linear(16, 2))
        optimizer = ag.optim.SGD(net.parameters(), lr=0.1)
        x, y = ag.ones(4, 8), ag.tensor([0, 1, 0, 1])
        for _ in range(100):
            optimizer.zero_grad()
            ag.nn.functional.cross_entropy(net(x), y).backward()
            optimizer.step()
        from agnesi.compiler.warmup import LOADING, WORK
        assert 0 < WORK.left < LOADING
        assert "agnesi.codegen" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)


def test_work_is_counted_up_to_what_loading_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warmup, "LOADING", 10)
    work = warmup.Work()
    assert [work.pays(4) for _ in range(4)] == [False, False, True, True]
    work.begin()
    assert not work.pays(4)
    work.loaded()
    assert work.pays(0)


def test_regions_within_one_that_waits_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    start = regions.Region.__init__

    def noted(self: regions.Region, function: object, *rest: object) -> None:
        made.append(getattr(function, "__self__", function))
        start(self, function, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(regions.Region, "__init__", noted)
    monkeypatch.setattr(regions, "PRICE", 200_000)
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU())
    x = ag.ones(16, 3, 16, 16)
    for _ in range(regions.BEFORE + 1):
        net(x).sum().backward()
    (region,) = net._whole.regions._found.values()
    assert region.code.unpaid > 0 and made == [net]
    for _ in range(12):
        net(x).sum().backward()
    assert region.code.unpaid <= 0 and made == [net]


@pytest.mark.parametrize("name, count", [("logaddexp", 2), ("digamma", 1)])
def test_slow_functions_of_few_elements_are_compiled_once_that_pays(
        name: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eager, "_COMPILE_MULTIPLY_ADDS", 1_000_000)
    HOOKS.recount()
    WORK.left = 1e12
    xs = [ag.tensor(np.linspace(0.5, 4.0, 2000)) for _ in range(count)]
    function = getattr(ag, name)
    for _ in range(20):
        expected = function(*xs)
    assert not eager._functions and eager._spent
    WORK.loaded()
    for _ in range(200):
        found = function(*xs)
    assert eager._functions
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-12)
    HOOKS.recount()
