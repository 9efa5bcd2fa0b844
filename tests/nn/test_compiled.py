"""Modules inside compiled functions: state, modes, and what may not leave a trace."""

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn


class Running(nn.Module):
    """Keeps a running mean in training, and subtracts it."""

    def __init__(self):
        self.mean = ag.zeros(3)
        self.calls = ag.tensor(0)

    def forward(self, x):
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * x.mean(axis=0)
            self.calls = self.calls + 1
        return x - self.mean


def batches(n):
    rng = np.random.default_rng(0)
    return [ag.tensor(rng.normal(size=(5, 3)).astype(np.float32)) for _ in range(n)]


def test_running_statistics_are_the_same_compiled():
    eager, traced = Running(), Running()
    f = ag.jit(traced)
    for x in batches(6):
        np.testing.assert_allclose(f(x).array, eager(x).array, atol=1e-6)
    np.testing.assert_allclose(traced.mean.array, eager.mean.array, atol=1e-6)
    assert int(traced.calls) == 6
    assert len(f.specialisations) <= 3  # what keeps changing is taken at run time


def test_eager_calls_between_compiled_ones_are_seen():
    model, eager = Running(), Running()
    f = ag.jit(model)
    for i, x in enumerate(batches(6)):
        expected = eager(x)
        np.testing.assert_allclose((model if i % 3 == 1 else f)(x).array, expected.array, atol=1e-6)
    np.testing.assert_allclose(model.mean.array, eager.mean.array, atol=1e-6)


def test_modes_are_followed_both_ways():
    model = nn.Sequential(nn.Dropout(0.5))
    f = ag.jit(model)
    x = ag.ones(1000)
    assert 0 in f(x).array
    model.eval()
    assert (f(x).array == 1).all()
    model.train()
    assert 0 in f(x).array
    model.eval()
    assert (f(x).array == 1).all()
    assert len(f.specialisations) == 2


def test_settings_are_followed():
    drop = nn.Dropout(0.0)
    f = ag.jit(drop)
    x = ag.ones(1000)
    assert (f(x).array == 1).all()
    drop.p = 1.0
    assert (f(x).array == 0).all()


def test_dropout_draws_the_same_numbers():
    drop = nn.Dropout(0.5)
    f = ag.jit(drop)
    x = ag.ones(64)
    ag.manual_seed(3)
    eager = [drop(x).tolist() for _ in range(3)]
    ag.manual_seed(3)
    assert [f(x).tolist() for _ in range(3)] == eager
    assert eager[0] != eager[1]


@pytest.mark.parametrize("run", [lambda model: model, ag.jit], ids=["eager", "jit"])
def test_attributes_that_forward_assigns_have_values_after_each_call(run):
    class Leaky(nn.Module):
        def forward(self, x):
            self.last = x * 2
            return x

    class Grows(Running):
        def forward(self, x):
            self.mean = x
            return x

    leaky, grows = Leaky(), Grows()
    called = run(leaky), run(grows)
    for rows in (1, 2, 5):
        called[0](ag.ones(2) * rows)
        called[1](ag.ones((rows, 3)) * rows)
        assert leaky.last.tolist() == [2 * rows, 2 * rows]
        assert grows.mean.tolist() == [[rows] * 3] * rows


def test_convolutional_nets_compile():
    ag.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.LayerNorm(64), nn.Linear(64, 10),
    )
    x = ag.randn(2, 1, 8, 8)
    np.testing.assert_allclose(ag.jit(model)(x).array, model(x).array, atol=1e-5)
