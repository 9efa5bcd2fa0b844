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
    "divergence, by batch": lambda x: F.kl_div(x, ag.ones_like(x) * 0.5, reduction="batchmean"),
    "covariance": lambda x: ag.cov(x[:, 0] + ag.arange(N) % 2),
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


@pytest.mark.parametrize("way", [lambda f: f, ag.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8"])
def test_many_numbers_scattered_into_one_place(dtype, way):
    values, place = (ag.arange(5000) % 11).astype(dtype), ag.zeros(5000, dtype=int)
    mean = way(lambda x, v: ag.scatter_reduce(x, 0, place, v, "mean"))(
        ag.ones(1).astype(dtype), values)
    assert mean.dtype == values.dtype
    exact = (np.sum(np.arange(5000) % 11) + 1) / 5001
    wanted = int(exact) if dtype == "int8" else exact
    assert float(mean[0].astype("float64")) == pytest.approx(wanted, rel=4e-3)


@pytest.mark.parametrize("way", [lambda f: f, ag.jit], ids=["eager", "jit"])
def test_shares_of_many_equal_extremes(way):
    x, place = ag.zeros(1, dtype="float16"), ag.zeros(5000, dtype=int)
    slope = way(ag.grad(lambda v: ag.scatter_reduce(x, 0, place, v, "amax").sum()))(
        ag.zeros(5000, dtype="float16"))
    np.testing.assert_allclose(slope.numpy().astype(float), 1 / 5001, rtol=2e-3)


@pytest.mark.parametrize("way", [lambda f: f, ag.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("bags", [None, [0]], ids=["rows of ids", "offsets"])
def test_bags_of_many_rows(bags, way):
    ids = ag.zeros((1, 5000) if bags is None else 5000, dtype=int)
    found = way(lambda w: F.embedding_bag(ids, w, bags, mode="mean", padding_idx=1))(
        ag.full((2, 1), 20.0, dtype="float16"))
    assert found.dtype == ag.float16
    assert float(found[0, 0]) == 20.0
