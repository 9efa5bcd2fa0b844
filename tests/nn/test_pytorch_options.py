"""Options of PyTorch's functions that a sweep beside PyTorch found missing."""

from __future__ import annotations

import io

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi.nn import functional as F

RNG = np.random.default_rng(0)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.mark.parametrize("kind", ["bool", "float"])
@pytest.mark.parametrize("compiled", [False, True])
def test_queries_that_may_look_nowhere_get_zeros(kind, compiled):
    q, k, v = (RNG.standard_normal((2, 3, 4)) for _ in range(3))
    mask = np.array([[True, False, True], [False, False, False], [True, True, True]])
    given = mask if kind == "bool" else np.where(mask, 0.5, -np.inf)

    def total(q, k, v):
        return ag.sum(F.scaled_dot_product_attention(q, k, v, given) ** 2)

    attend = ag.jit(F.scaled_dot_product_attention) if compiled else F.scaled_dot_product_attention
    found = attend(q, k, v, given).numpy()
    weights = softmax(q @ k.swapaxes(1, 2) / 2 + np.where(mask, 0, -1e9)) * mask
    assert np.allclose(found, weights @ v) and not found[:, 1].any()
    slopes = ag.grad(total, argnums=(0, 1, 2))(*map(ag.tensor, (q, k, v)))
    assert all(np.isfinite(g.numpy()).all() for g in slopes) and not slopes[0].numpy()[:, 1].any()
    ahead = F.scaled_dot_product_attention(q, k, v, np.eye(3, k=1, dtype=bool), is_causal=True)
    assert not ahead.numpy().any()


def test_heads_of_queries_share_those_of_keys():
    q, k, v = RNG.standard_normal((2, 4, 3, 2)), *RNG.standard_normal((2, 2, 2, 5, 2))
    found = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    wide = F.scaled_dot_product_attention(q, k.repeat(2, 1), v.repeat(2, 1))
    assert np.allclose(found.numpy(), wide.numpy())
    with pytest.raises(ag.ShapeError, match="a multiple of those of keys"):
        F.scaled_dot_product_attention(q[:, :3], k, v, enable_gqa=True)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_that_offsets_divide(mode):
    table = RNG.standard_normal((5, 3))
    ids, offsets = np.array([1, 4, 2, 2, 0, 3]), np.array([0, 2, 2, 5])
    reduce = {"sum": np.sum, "mean": np.mean, "max": np.max}[mode]
    bags = [table[ids[a:b]] for a, b in zip(offsets, [*offsets[1:], 6], strict=True)]
    expected = np.stack([reduce(b, 0) if len(b) else np.zeros(3) for b in bags])
    found = F.embedding_bag(ids, table, offsets, mode=mode)
    assert np.allclose(found.numpy(), expected)
    ended = F.embedding_bag(ids, table, np.append(offsets, 6), mode=mode, include_last_offset=True)
    assert np.array_equal(ended.numpy(), found.numpy())
    padded = F.embedding_bag(ids, table, [0, 2], mode=mode, padding_idx=2).numpy()
    assert np.allclose(padded[1], reduce(table[[0, 3]], 0))
    assert not F.embedding_bag([2, 2], table, [0], mode=mode, padding_idx=2).numpy().any()


def test_gradients_of_the_largest_in_bags():
    table = ag.tensor([[1.0, 5.0], [2.0, 0.0], [0.0, 7.0]], requires_grad=True)
    bags = nn.EmbeddingBag.from_pretrained(table, freeze=False, mode="max")
    bags(ag.tensor([0, 1, 2]), ag.tensor([0, 2])).sum().backward()
    assert bags.weight.grad.numpy().tolist() == [[0, 1], [1, 0], [1, 1]]


def test_one_output_without_an_axis():
    x, w = RNG.standard_normal((2, 3)), RNG.standard_normal(3)
    assert np.allclose(F.linear(x, w).numpy(), x @ w)
    assert np.allclose(ag.jit(F.linear)(x[0], w, 2.0).numpy(), x[0] @ w + 2)


def test_weights_of_losses():
    a, b, w = RNG.standard_normal(4), RNG.standard_normal(4), RNG.random(4)
    for loss, each in ((F.mse_loss, (a - b) ** 2), (F.l1_loss, np.abs(a - b))):
        assert np.isclose(float(loss(a, b, weight=w)), (each * w).sum() / w.sum())
        assert np.isclose(float(loss(a, b, weight=w, reduction="sum")), (each * w).sum())
        assert np.allclose(loss(a, b, weight=w, reduction="none").numpy(), each * w)
    d = np.abs(a - b)
    huber = np.where(d < 1, d * d / 2, d - 0.5)
    assert np.isclose(float(F.huber_loss(a, b, weight=w)), (huber * w).mean())


def test_values_go_through_files_that_are_open(tmp_path):
    model, memory = nn.Linear(2, 3), io.BytesIO()
    ag.save({"model": model.state_dict(), "epoch": 3}, memory)
    memory.seek(0)
    found = ag.load(memory, map_location="cpu", weights_only=True)
    assert found["epoch"] == 3
    assert np.array_equal(found["model"]["weight"].numpy(), model.weight.array)
    with open(tmp_path / "a.pt", "wb") as file:
        ag.save([1, ag.ones(2)], file)
    with open(tmp_path / "a.pt", "rb") as file:
        assert ag.load(file)[1].numpy().tolist() == [1, 1]
    with pytest.raises(TypeError, match="open for text; open it with mode 'wb'"):
        ag.save([1], io.StringIO())
