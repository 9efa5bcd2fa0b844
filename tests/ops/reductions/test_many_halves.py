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


#: Sums of 1200 ones, which bfloat16 by itself would count to 256: by an operand of three elements.
PLACES = ag.zeros(1200, dtype=int)
SUMS = {
    "what is added to all rows": lambda w, x: (x[:, :3] + w).sum(),
    "what multiplies the middle axis": lambda w, x: (
        x.reshape(30, 40, 4)[:, :3] * w[:, None]).sum(),
    "what is expanded": lambda w, x: (w.expand(1200, 3) * x[:, :3]).sum(),
    "a bias": lambda w, x: F.linear(x, ag.ones((3, 4), dtype=x.dtype), w).sum(),
    "a bias of a convolution": lambda w, x: F.conv_transpose2d(
        x.reshape(1, 4, 40, 30), ag.ones((4, 3, 1, 1), dtype=x.dtype), w).sum(),
    "a shift behind a norm": lambda w, x: F.layer_norm(x[:, :3], (3,), None, w).sum(),
    "rows of an embedding": lambda w, x: F.embedding(PLACES, w[:, None]).sum(),
    "elements at indices": lambda w, x: (w[PLACES] * x[:, 0]).sum(),
    "elements gathered": lambda w, x: w.gather(0, PLACES).sum(),
    "what is repeated": lambda w, x: w.repeat_interleave(1200).sum(),
    "neighbours of pixels": lambda w, x: F.interpolate(w[None, None], size=3600).sum(),
    "index_add": lambda w, x: (w * ag.zeros_like(w).index_add(0, PLACES, x[:, 0])).sum(),
    "scatter_add": lambda w, x: (w * ag.zeros_like(w).scatter_add(0, PLACES, x[:, 0])).sum(),
    "index_put": lambda w, x: (w * ag.zeros_like(w).index_put(
        (PLACES,), x[:, 0], accumulate=True)).sum(),
    "what a loop reads": lambda w, x: ag.scan(
        lambda c, row: (ag.tanh(c * 0 + w * row[0]), c.sum()), w * 0, x)[1].sum(),
    "what is used many times": lambda w, x: ag.stack(
        [(w * x[i, :3]).sum() for i in range(300)]).sum(),
}


@pytest.mark.parametrize("way", [lambda f: f, ag.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("name", SUMS)
def test_slopes_add_up_in_float32(name, way):
    def slope(dtype):
        return way(ag.grad(SUMS[name]))(ag.ones(3, dtype=dtype), ag.ones((1200, 4), dtype=dtype))

    narrow, wide = slope("bfloat16"), slope("float64")
    assert narrow.dtype == ag.bfloat16
    np.testing.assert_allclose(narrow.astype("float64").numpy(), wide.numpy(), rtol=2e-2)
