"""Embeddings and layers on pairs: values, gradients, wrong ids, and what an update touches."""

from __future__ import annotations

import re

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi.nn.functional import embedding
from agnesi.optim import SGD
from agnesi.testing import check_grads

RANDOM = np.random.default_rng(0)
TABLE = RANDOM.normal(size=(7, 3))
IDS = np.array([[0, 6, 2], [2, 2, 0]])


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "int8", "uint64"])
def test_rows_and_gradients_that_add_up(dtype):
    ids = IDS.astype(dtype)
    for f in (embedding, ag.jit(embedding)):
        np.testing.assert_array_equal(f(ids, ag.tensor(TABLE)).numpy(), TABLE[IDS])
    slope = ag.grad(lambda w: (embedding(ids, w) ** 2).sum())
    expected = np.zeros_like(TABLE)
    np.add.at(expected, IDS, 2 * TABLE[IDS])
    for f in (slope, ag.jit(slope)):
        np.testing.assert_allclose(f(ag.tensor(TABLE)).numpy(), expected, 1e-13)
    check_grads(lambda w: (embedding(ids, w) ** 2).sum(), [TABLE])


def test_wrong_ids():
    compiled = ag.jit(embedding)
    for ids in (np.array([0, 7]), np.array([-1]), np.array([[3, 1 << 40]])):
        for f in (embedding, compiled):
            with pytest.raises(IndexError, match=r"embedding\(.*is out of range"):
                f(ids, TABLE)
    with pytest.raises(IndexError, match=r"id 7 is out of range for 7 rows: ids run from 0 to 6"):
        embedding([0, 7], TABLE)
    with pytest.raises(ag.DTypeError, match="indices must be integers, not float64"):
        embedding(np.array([1.0]), TABLE)
    with pytest.raises(ag.ShapeError, match="the table must be a matrix"):
        embedding(IDS, TABLE[0])
    assert embedding(np.zeros((0, 2), int), TABLE).shape == (0, 2, 3)
    assert compiled(np.zeros((0, 2), int), TABLE).shape == (0, 2, 3)


def test_padding_gets_no_gradient():
    layer = nn.Embedding(7, 3, padding_idx=-5, dtype="float64")
    assert (layer.weight.numpy()[2] == 0).all() and "padding_idx=-5" in repr(layer)

    def loss(w):
        return (embedding(IDS, w, 2) ** 2).sum()

    expected = ag.grad(lambda w: (w[IDS] ** 2).sum())(ag.tensor(TABLE)).numpy()
    expected[2] = 0
    for f in (ag.grad(loss), ag.jit(ag.grad(loss))):
        np.testing.assert_allclose(f(ag.tensor(TABLE)).numpy(), expected, 1e-13)
    with pytest.raises(ValueError, match="padding_idx=9 is none of 7 vectors"):
        nn.Embedding(7, 3, padding_idx=9)


@pytest.mark.parametrize("rows", [100, 30_000])
def test_a_step_touches_only_the_rows_that_were_used(rows):
    layer = nn.Embedding(rows, 3)
    before = layer.weight.numpy().copy()
    optimizer = SGD(layer.parameters(), lr=0.5)

    @ag.jit
    def train(ids):
        optimizer.zero_grad()
        loss = (layer(ids) ** 2).sum()
        loss.backward()
        optimizer.step()
        return loss

    train(IDS)
    np.add.at(before, IDS, -before[IDS])
    np.testing.assert_allclose(layer.weight.numpy(), before, 1e-5, 1e-6)
    plan = str(train.plan())
    assert int(re.search(r"(\d+) of them in the arena", plan)[1]) < 1000
    sizes = [np.prod(k.axes and [a.extent for a in k.axes]) for k in train.plan().layout.kernels
             if hasattr(k, "axes")]
    assert max(sizes) == IDS.size * 3


@pytest.mark.parametrize("mode", ["mean", "sum", "max"])
def test_bags(mode):
    layer = nn.EmbeddingBag(7, 3, mode, dtype="float64")
    rows = layer.weight.numpy()[IDS]
    for f in (layer, ag.jit(layer)):
        np.testing.assert_allclose(f(ag.tensor(IDS)).numpy(), getattr(rows, mode)(1), 1e-13)
    assert f"mode={mode!r}" in repr(layer)


def test_bags_with_weights_and_wrong_settings():
    layer = nn.EmbeddingBag(7, 3, "sum", dtype="float64")
    factors = RANDOM.normal(size=IDS.shape)
    expected = (layer.weight.numpy()[IDS] * factors[..., None]).sum(1)
    np.testing.assert_allclose(layer(IDS, factors).numpy(), expected, 1e-13)
    with pytest.raises(ValueError, match="need mode='sum'"):
        nn.EmbeddingBag(7, 3)(IDS, factors)
    with pytest.raises(ValueError, match="mode must be"):
        nn.EmbeddingBag(7, 3, "median")
    with pytest.raises(ag.ShapeError, match=r"must be \(bags, size of a bag\)"):
        layer(IDS[0])


def test_layers_on_pairs():
    a, b = RANDOM.normal(size=(2, 4, 5))
    cosine = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    np.testing.assert_allclose(nn.CosineSimilarity()(a, b).numpy(), cosine, 1e-12)
    assert nn.CosineSimilarity()(a * 0, b).numpy().tolist() == [0] * 4
    far = np.linalg.norm(a - b + 1e-6, axis=1)
    np.testing.assert_allclose(nn.PairwiseDistance()(a, b).numpy(), far, 1e-12)
    near = nn.PairwiseDistance(1, eps=0.0, keepdim=True)(a, b).numpy()
    np.testing.assert_allclose(near, abs(a - b).sum(1, keepdims=True), 1e-12)
    layer = nn.Bilinear(5, 3, 2, dtype="float64")
    c = b[:, :3]
    expected = np.einsum("ni,kij,nj->nk", a, layer.weight.numpy(), c) + layer.bias.numpy()
    for f in (layer, ag.jit(layer)):
        np.testing.assert_allclose(f(ag.tensor(a), ag.tensor(c)).numpy(), expected, 1e-12)
    assert nn.Bilinear(5, 3, 2, bias=False)(a, c).shape == (4, 2)
    check_grads(lambda x, y: (layer(x, y) ** 2).sum(), [a, c])
    check_grads(lambda x, y: nn.CosineSimilarity()(x, y).sum(), [a, b])
