"""Embeddings and layers on pairs: values, gradients, wrong ids, and what an update touches."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi.nn.functional import embedding, embedding_bag
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
    assert (layer.weight.numpy()[2] == 0).all() and "padding_idx=2" in repr(layer)

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
    found = layer(IDS, per_sample_weights=factors)
    np.testing.assert_allclose(found.numpy(), expected, 1e-13)
    with pytest.raises(ValueError, match="need mode='sum'"):
        nn.EmbeddingBag(7, 3)(IDS, per_sample_weights=factors)
    with pytest.raises(ValueError, match="mode must be"):
        nn.EmbeddingBag(7, 3, "median")
    with pytest.raises(ag.ShapeError, match=r"must be \(bags, size of a bag\)"):
        layer(IDS[0])


def bags_of(table, ids, mode, padding=None, factors=None):
    """Bags one by one."""
    found = []
    for bag, factor in zip(ids, factors or [[1] * len(bag) for bag in ids], strict=True):
        rows = [table[i] * f for i, f in zip(bag, factor, strict=True) if i != padding]
        found.append(getattr(np, mode)(rows, axis=0) if rows else np.zeros(table.shape[1]))
    return np.stack(found)


@pytest.mark.parametrize("mode", ["mean", "sum", "max"])
@pytest.mark.parametrize("padding", [2, -5])
def test_bags_that_are_filled_up(mode, padding):
    layer = nn.EmbeddingBag(7, 3, mode, padding_idx=padding, dtype="float64")
    layer.weight.array[2] = 9.0
    ids = np.array([[1, 2, 3], [2, 2, 2], [6, 6, 2]])
    expected = bags_of(layer.weight.numpy(), ids, mode, 2)
    for f in (layer, ag.jit(layer)):
        np.testing.assert_allclose(f(ag.tensor(ids)).numpy(), expected, 1e-13)
    layer(ids).sum().backward()
    assert (layer.weight.grad.numpy()[2] == 0).all() and layer.weight.grad.numpy().any()


@pytest.mark.share(2)
@pytest.mark.parametrize("mode", ["mean", "sum"])
@pytest.mark.parametrize("padding", [None, 4])
def test_bags_one_behind_the_other(mode, padding):
    layer = nn.EmbeddingBag(7, 3, mode, padding_idx=padding, dtype="float64")
    ids, starts = np.array([1, 4, 3, 3, 6, 4, 4]), [0, 2, 2, 5]
    parts = np.split(ids, starts[1:])
    expected = bags_of(layer.weight.numpy(), parts, mode, padding)
    for f in (layer, ag.jit(layer)):
        found = f(ag.tensor(ids), ag.tensor(starts))
        np.testing.assert_allclose(found.numpy(), expected, 1e-13)
    if mode == "sum":
        factors = RANDOM.normal(size=7)
        each = np.split(factors, starts[1:])
        expected = bags_of(layer.weight.numpy(), parts, mode, padding, each)
        np.testing.assert_allclose(layer(ids, starts, factors).numpy(), expected, 1e-13)

    def cost(table):
        bags = embedding_bag(ids, table, starts, mode=mode, padding_idx=padding)
        return (bags ** 2).sum()

    table = ag.tensor(layer.weight.numpy())
    if padding is None:
        check_grads(cost, [table.numpy()])
    np.testing.assert_allclose(
        ag.jit(ag.grad(cost))(table).numpy(), ag.grad(cost)(table).numpy(), 1e-12)


def test_wrong_bags():
    layer = nn.EmbeddingBag(7, 3)
    starts = ag.tensor([1, 2])
    for call, words in (
        (lambda: layer(IDS, [0, 2]), "one behind the other, with offsets, not int64"),
        (lambda: layer(IDS[0], starts), r"offsets must begin with 0 and not fall, not \[1 2\]"),
        (lambda: layer(IDS[0], [0, 2, 1]), "offsets must begin with 0 and not fall"),
        (lambda: layer(IDS[0], [[0]]), r"offsets must be \(bags,\), not int64\[1, 1\]"),
        (lambda: ag.jit(layer)(ag.tensor(IDS[0]), starts), "offsets must begin with 0"),
        (lambda: nn.EmbeddingBag(7, 3, "max")(IDS[0], starts), "offsets must begin with 0"),
    ):
        with pytest.raises(ValueError, match=rf"(?s){words}.*test_embedding\.py"):
            call()


@pytest.mark.parametrize("kind", [1.0, 2.0])
def test_vectors_that_are_used_are_made_short(kind):
    table = RANDOM.normal(size=(7, 3)) * np.array([[0.1, 5, 5, 1, 1, 5, 5]]).T
    lengths = np.linalg.norm(table, kind, axis=1)
    short = table * np.where(lengths > 1.5, 1.5 / (lengths + 1e-7), 1)[:, None]
    used = np.unique(IDS)
    expected = table.copy()
    expected[used] = short[used]
    for jitted in (False, True):
        layer = nn.Embedding(7, 3, max_norm=1.5, norm_type=kind, dtype="float64")
        layer.weight.array[...] = table
        f = ag.jit(lambda ids, layer=layer: layer(ids)) if jitted else layer
        np.testing.assert_allclose(f(ag.tensor(IDS)).numpy(), short[IDS], 1e-12)
        np.testing.assert_allclose(layer.weight.numpy(), expected, 1e-12)
        layer(ag.tensor(IDS)).sum().backward()
        counts = np.bincount(IDS.ravel(), minlength=7)
        np.testing.assert_allclose(layer.weight.grad.numpy(), counts[:, None] * np.ones(3))


def test_given_vectors():
    given = ag.tensor(TABLE)
    layer = nn.Embedding.from_pretrained(given)
    assert not any(p.requires_grad for p in layer.parameters())
    np.testing.assert_array_equal(layer(IDS).numpy(), TABLE[IDS])
    learned = nn.Embedding.from_pretrained(TABLE, freeze=False, padding_idx=2)
    assert [p.shape for p in learned.parameters()] == [TABLE.shape] and not given.requires_grad
    np.testing.assert_array_equal(learned(IDS).numpy(), TABLE[IDS])
    assert "padding_idx=2" in repr(learned)
    with pytest.raises(ag.ShapeError, match=r"^Embedding.from_pretrained: vectors must"):
        nn.Embedding.from_pretrained(TABLE[0])


def test_layers_on_pairs():
    a, b = RANDOM.normal(size=(2, 4, 5))
    cosine = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    np.testing.assert_allclose(nn.CosineSimilarity()(a, b).numpy(), cosine, 1e-12)
    assert nn.CosineSimilarity()(a * 0, b).numpy().tolist() == [0] * 4
    for dtype, scale in (("float16", 2e4), ("float32", 1e18)):
        long = (a * scale).astype(dtype)
        found = nn.CosineSimilarity()(long, b.astype(dtype))
        assert found.dtype == dtype
        np.testing.assert_allclose(found.numpy(), cosine, atol=2e-3)
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


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", [nn.Embedding, nn.EmbeddingBag])
def test_gradients_by_frequency_are_those_of_one_use(kind: Any, sparse: bool) -> None:
    layer = kind(4, 2, scale_grad_by_freq=True, sparse=sparse)
    ids = ag.tensor([[0, 2, 2], [2, 2, 0]])

    def gradient(ids: Any) -> Any:
        layer.zero_grad()
        (layer(ids) * ag.tensor([1.0, 3.0])).sum().backward()
        found = layer.weight.grad
        return found.to_dense() if sparse else found

    share = 1 if kind is nn.Embedding else 1 / 3
    wanted = np.array([[1, 3], [0, 0], [1, 3], [0, 0]]) * share
    np.testing.assert_allclose(gradient(ids).numpy(), wanted, rtol=1e-6)
    np.testing.assert_allclose(ag.jit(gradient)(ids).numpy(), wanted, rtol=1e-6)
