"""Averages of weights: means and exponential ones, eagerly and inside of a compiled step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn, optim
from agnesi.optim import swa_utils


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("decay", [None, 0.9])
def test_the_average_is_that_of_the_weights(decay: float | None, compiled: bool) -> None:
    net = nn.Linear(3, 2)
    tool = optim.SGD(net.parameters(), lr=0.1)
    average = (swa_utils.AveragedModel(net) if decay is None else
               swa_utils.AveragedModel(net, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(decay)))
    x = ag.ones((4, 3))

    def step() -> None:
        tool.zero_grad()
        (net(x) ** 2).mean().backward()
        tool.step()
        average.update_parameters(net)

    run = ag.jit(step) if compiled else step
    seen: list[np.ndarray] = []
    for _ in range(5):
        run()
        seen.append(net.weight.numpy().copy())
    expected = np.mean(seen, 0)
    if decay is not None:
        expected = seen[0]
        for w in seen[1:]:
            expected = decay * expected + (1 - decay) * w
    np.testing.assert_allclose(average.module.weight.numpy(), expected, rtol=1e-5)
    assert int(average.n_averaged) == 5
    np.testing.assert_allclose(average(x).numpy(), average.module(x).numpy())


def test_statistics_are_computed_anew() -> None:
    ag.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).eval()
    batches = [ag.tensor(np.random.default_rng(i).normal(size=(8, 2)).astype("float32"))
               for i in range(3)]
    swa_utils.update_bn([(b, None) for b in batches], net)
    means = np.mean([net[0](b).numpy().mean(0) for b in batches], 0)
    np.testing.assert_allclose(net[1].running_mean.numpy(), means, atol=1e-6)
    assert net[1].momentum == 0.1 and not net.training
    swa_utils.update_bn([(b, None) for b in batches], net)
    assert net[1].num_batches_tracked.item() == 3


def test_buffers_are_copied_or_averaged() -> None:
    net = nn.BatchNorm1d(2)
    for use, wanted in ((False, 3.0), (True, 2.0)):
        average = swa_utils.AveragedModel(net, use_buffers=use)
        for value in (1.0, 3.0):
            net.running_mean.fill_(value)
            average.update_parameters(net)
        np.testing.assert_allclose(average.module.running_mean.numpy(), wanted)


def test_rates_go_over_to_a_constant_one() -> None:
    tool: Any = optim.SGD([ag.zeros(1, requires_grad=True)], lr=1.0)
    schedule = swa_utils.SWALR(tool, 0.2, anneal_epochs=4, anneal_strategy="linear")
    rates = []
    for _ in range(6):
        schedule.step()
        rates.append(tool.lr)
    np.testing.assert_allclose(rates, [0.8, 0.6, 0.4, 0.2, 0.2, 0.2])
    tool = optim.SGD([ag.zeros(1, requires_grad=True)], lr=0.1)  # another schedule comes first
    first = optim.lr_scheduler.ExponentialLR(tool, 0.5)
    schedule = swa_utils.SWALR(tool, 0.02, anneal_epochs=3, anneal_strategy="linear")
    first.step()
    rates = [(schedule.step(), tool.lr)[1] for _ in range(4)]
    np.testing.assert_allclose(rates, [0.04, 0.03, 0.02, 0.02])
    with pytest.raises(ValueError, match="decay"):
        swa_utils.get_ema_avg_fn(2.0)
    with pytest.raises(ValueError, match="other parameters"):
        swa_utils.AveragedModel(nn.Linear(2, 2)).update_parameters(nn.Linear(3, 2))
