"""Layers whose first call tells how many features there are."""

import copy
import pickle

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn, optim
from tests.nn.layer_samples import LAZY


@pytest.mark.parametrize("name", LAZY)
def test_they_become_the_layers_that_are_told_their_sizes(name):
    shape, given = LAZY[name]
    x = ag.tensor(np.random.default_rng(0).normal(size=shape))
    kind = getattr(nn, name.removeprefix("Lazy"))
    features = shape[-1] if name == "LazyLinear" else shape[1]
    ag.manual_seed(3)
    told = kind(features, *given, dtype="float64")
    lazy = getattr(nn, name)(*given, dtype="float64")
    copies = copy.deepcopy(lazy), pickle.loads(pickle.dumps(lazy))
    ag.manual_seed(3)
    y = lazy(x)
    assert type(lazy) is kind and repr(lazy) == repr(told)
    assert {n: t.shape for n, t in lazy.state_dict().items()} == {
        n: t.shape for n, t in told.state_dict().items()}
    for found in (y, ag.jit(lazy)(x)):
        np.testing.assert_allclose(found.numpy(), told(x).numpy(), rtol=1e-12, atol=1e-13)
    assert all(type(c) is not kind and c(x).shape == y.shape for c in copies)


def test_models_train_as_others():
    model = nn.Sequential(nn.LazyLinear(5), nn.LazyBatchNorm1d(), nn.Tanh(), nn.LazyLinear(1))
    assert "LazyLinear(5, True)" in repr(model.apply(lambda layer: None).eval().train())
    x = ag.randn(8, 3)
    model(x)
    adam = optim.Adam(model.parameters(), lr=0.05)

    @ag.jit
    def step():
        adam.zero_grad()
        loss = ((model(x) - 1) ** 2).mean()
        loss.backward()
        adam.step()
        return loss

    assert float(step()) > 4 * [float(step()) for _ in range(30)][-1]


@pytest.mark.parametrize("ask", [
    lambda m: m.parameters(), lambda m: m.state_dict(), lambda m: m.double(),
    lambda m: optim.SGD(m.parameters(), 0.1), lambda m: ag.jit(m)(ag.zeros(2, 3)),
    lambda m: m.load_state_dict({})])
def test_parameters_that_are_not_there_yet_are_asked_for(ask):
    with pytest.raises(ValueError, match="LazyLinear has no parameters before its first call"):
        list(ask(nn.Sequential(nn.LazyLinear(2), nn.ReLU()).to("cpu")))


def test_inputs_without_features():
    with pytest.raises(ag.ShapeError, match=r"LazyConv2d: float32\[3\] has no axis -3 of features"):
        nn.LazyConv2d(3, 3)(ag.zeros(3))
