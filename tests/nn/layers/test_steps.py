"""Recurrent layers in eager code, all steps as one operation: the loop's values and gradients."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi.compiler import regions
from agnesi.core.support.config import HOOKS
from agnesi.nn.layers import recurrent

MODES = ["RNN_TANH", "RNN_RELU", "LSTM", "GRU"]
FORMS: list[dict[str, Any]] = [
    {}, {"bias": False}, {"bidirectional": True, "num_layers": 2}, {"batch_first": True}]


def _results(net: Any, xs: list[np.ndarray], second: bool) -> list[np.ndarray]:
    net._whole = False  # never compiled
    x, *state = [ag.tensor(a, requires_grad=True) for a in xs]
    given = None if not state else state[0] if len(state) == 1 else tuple(state)
    y, last = net(x, given)
    ends = last if isinstance(last, tuple) else (last,)
    weights = np.random.default_rng(1).normal(size=y.shape).astype(y.dtype)
    loss = (y * ag.tensor(weights)).sum() + sum((s**2).sum() * k for k, s in enumerate(ends, 1))
    inputs = [x, *net.parameters(), *state]
    found = ag.autograd.grad(loss, inputs, create_graph=second)
    more = ag.autograd.grad(sum((g**2).sum() for g in found), inputs) if second else ()
    return [v.numpy() for v in (y, *ends, *found, *more)]


@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mode", MODES)
def test_values_are_the_loops_bit_for_bit_and_gradients_within_rounding(
        mode: str, form: dict[str, Any], second: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(0).normal
    net = nn.RNNBase(mode, 3, 4, dtype="float64", **form)
    count = 4 if form.get("bidirectional") else 1
    xs = [draw(size=(5, 5, 3)), *(draw(size=(count, 5, 4)) for _ in range(1 + (mode == "LSTM")))]
    for operands in (xs, xs[:1]):
        found = _results(net, operands, second)
        with monkeypatch.context() as patch:
            patch.setattr(recurrent, "steps", lambda *call: None)
            wanted = _results(net, operands, second)
        values = 3 if mode == "LSTM" else 2
        for k, (a, b) in enumerate(zip(found, wanted, strict=True)):
            if k < values:
                np.testing.assert_array_equal(a, b)
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_no_loop_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recurrent, "scan", lambda *call, **options: pytest.fail("the loop"))
    for mode in MODES:
        net = nn.RNNBase(mode, 3, 4)
        net._whole = None
        net(ag.ones(5, 2, 3))[0].sum().backward()
        assert net.weight_hh_l0.grad is not None


def test_weights_that_are_changed_before_the_gradients_are_refused() -> None:
    net = nn.LSTM(3, 4)
    y, _ = net(ag.ones(5, 2, 3))
    with ag.no_grad():
        net.weight_hh_l0.mul_(2.0)
    with pytest.raises(RuntimeError, match=r"changed|overwritten"):
        y.sum().backward()


def test_its_regions_wait_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    start = regions.Region.__init__

    def noted(self: regions.Region, *call: Any) -> None:
        start(self, *call)
        made.append(self)

    monkeypatch.setattr(regions.Region, "__init__", noted)
    HOOKS.recount()
    net, x = nn.LSTM(3, 4), ag.ones(5, 2, 3)
    for _ in range(regions.BEFORE + 1):
        net(x)[0].sum().backward()
    (region,) = made
    assert region.share == net._eager_share([x]) < 1


def test_regions_are_traced_once_their_work_pays_for_that() -> None:
    code = """
        import agnesi as ag
        from agnesi.compiler import regions, warmup
        made, start = [], regions.Region.__init__
        regions.Region.__init__ = lambda self, *call: (made.append(self), start(self, *call))[1]
        layer, x = ag.nn.Linear(8, 8), ag.ones(4, 8)
        for _ in range(200):
            layer(x)
        assert not made and warmup.WORK.left < warmup.LOADING
        for _ in range(60):
            layer(x)
        (region,) = made
        assert region.code.unpaid < region.price - 200 * region.work
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)


def test_equal_layers_share_their_code_and_pay_for_it_together() -> None:
    HOOKS.recount()
    layers = [nn.Linear(8, 8) for _ in range(3)]
    wide, x = nn.Linear(8, 9), ag.ones(4, 8)

    def run(layer: nn.Module) -> list[np.ndarray]:
        y = (layer(x) ** 2).sum()
        layer.zero_grad()
        y.backward()
        return [y.numpy(), *(p.grad.numpy() for p in layer.parameters())]

    eager = [run(layer) for layer in (*layers, wide)]
    for _ in range(regions.BEFORE):
        for layer in (*layers, wide):
            run(layer)
    first, *others, apart = [next(iter(layer._whole.regions._found.values()))
                             for layer in (*layers, wide)]
    assert all(region.code is first.code for region in others) and apart.code is not first.code
    assert 0 < first.price - first.code.unpaid == 3 * first.work * (regions.BEFORE + 1)
    first.code.unpaid = 0
    for layer, want in zip(layers, eager, strict=False):
        for found, known in zip(run(layer), want, strict=True):
            np.testing.assert_allclose(found, known, rtol=1e-5)
    HOOKS.recount()
    for layer in layers:
        run(layer)
    assert first.code.unpaid <= 0  # none of them was made again
    for _ in range(regions.BEFORE):
        for layer in layers:
            run(layer)
    assert 0 < first.price - first.code.unpaid == 3 * first.work * (regions.BEFORE + 1)
