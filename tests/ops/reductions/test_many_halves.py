"""Counts and sums of more rows than float16 has numbers: means and shares of gradients hold."""

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn

N = 70000
F = nn.functional
LABELS = ag.tensor(np.zeros(N, int))
ROWS = {
    "max": lambda x: ag.max(x[:, 0]), "min": lambda x: ag.min(x[:, 0]),
    "cross entropy": lambda x: F.cross_entropy(x, LABELS),
    "cross entropy, weighted": lambda x: F.cross_entropy(x, LABELS, weight=ag.ones(2)),
    "cross entropy, some ignored": lambda x: F.cross_entropy(
        x, ag.where(ag.arange(N) % 2 == 0, LABELS, -100)),
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("way", [lambda f: f, ag.jit], ids=["eager", "jit"])
def test_float16_of_many_rows(name, way):
    function = ag.value_and_grad(ROWS[name])
    value, slope = way(function)(ag.zeros((N, 2), dtype="float16"))
    known, wanted = function(ag.zeros((N, 2), dtype="float64"))
    assert value.dtype == slope.dtype == ag.float16
    np.testing.assert_allclose(float(value), float(known), rtol=2e-3)
    np.testing.assert_allclose(slope.numpy().astype(float), wanted.numpy(), rtol=5e-3, atol=6e-8)


@pytest.mark.parametrize("way", [lambda f: f, ag.jit], ids=["eager", "jit"])
def test_losses_whose_sum_is_beyond_float16(way):
    x = ag.tensor(np.tile([0.0, 20.0], (8192, 1)).astype("float16"))
    assert float(way(F.cross_entropy)(x, ag.tensor(np.zeros(8192, int)))) == 20.0
