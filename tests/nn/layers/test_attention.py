"""Attention: against PyTorch's formulae in NumPy, differences, and compiled."""

from __future__ import annotations

import math

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi.nn.functional import scaled_dot_product_attention
from agnesi.testing import check_grads

RANDOM = np.random.default_rng(0)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention(q, k, v, mask=None, scale=None):
    scores = q @ k.swapaxes(-1, -2) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    return softmax(scores) @ v


def draw(*shape):
    return RANDOM.normal(size=shape)


Q, K, V = draw(2, 3, 5, 4), draw(2, 3, 6, 4), draw(2, 3, 6, 7)
ADDED = draw(5, 6)
MASK = RANDOM.random((5, 6)) < 0.7
MASK[:, 0] = True


@pytest.mark.share(4)
@pytest.mark.parametrize(
    ("options", "mask"),
    [({}, None), ({"attn_mask": MASK}, MASK), ({"attn_mask": ADDED}, ADDED),
     ({"is_causal": True}, np.tri(5, 6, dtype=bool)), ({"scale": 0.3}, None)],
    ids=["plain", "bool", "added", "causal", "scaled"],
)
def test_scaled_dot_product_attention(options, mask):
    expected = attention(Q, K, V, mask, options.get("scale"))

    def f(q, k, v):
        return scaled_dot_product_attention(q, k, v, **options)

    for function in (f, ag.jit(f)):
        np.testing.assert_allclose(function(Q, K, V).numpy(), expected, 1e-12, 1e-14)
    check_grads(lambda *xs: (f(*xs) ** 2).sum(), [Q[0, :1], K[0, :1], V[0, :1]], order=1)
    slope = ag.grad(lambda *xs: (f(*xs) ** 2).sum(), argnums=(0, 1, 2))
    arguments = [ag.tensor(x) for x in (Q, K, V)]
    for a, b in zip(slope(*arguments), ag.jit(slope)(*arguments), strict=True):
        np.testing.assert_allclose(b.numpy(), a.numpy(), 1e-10, 1e-13)
    assert scaled_dot_product_attention(Q[0, 0], K[0, 0], V[0, 0]).shape == (5, 7)


def test_attention_with_dropout_and_wrong_operands():
    f = ag.jit(lambda q, k, v: scaled_dot_product_attention(q, k, v, dropout_p=0.5))
    assert (f(Q, K, V).numpy() != f(Q, K, V).numpy()).any()
    mean = np.mean([f(Q, K, V).numpy() for _ in range(400)], 0)
    np.testing.assert_allclose(mean, attention(Q, K, V), atol=0.5)
    with pytest.raises(ag.ShapeError, match="at least 2 axes"):
        scaled_dot_product_attention(Q, K, V[0, 0, 0])


# -- several heads --------------------------------------------------------------------------------
def heads(module, q, k, v, mask=None):
    """Results and mean weights for (batch, length, features)."""
    e, h = module.embed_dim, module.num_heads
    w, b = module.in_proj_weight.numpy(), module.in_proj_bias.numpy()

    def part(x, i):
        rows = slice(i * e, (i + 1) * e)
        y = x @ w[rows].T + b[rows]
        return y.reshape(*x.shape[:2], h, e // h).swapaxes(1, 2)

    q, k, v = (part(x, i) for i, x in enumerate((q, k, v)))
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(e // h)
    if mask is not None:
        scores = np.where(mask, -np.inf, scores)
    weights = softmax(scores)
    mixed = (weights @ v).swapaxes(1, 2).reshape(len(q), -1, e)
    out = module.out_proj
    return mixed @ out.weight.numpy().T + out.bias.numpy(), weights.mean(1)


@pytest.mark.parametrize("batch_first", [False, True])
def test_multihead_attention(batch_first):
    module = nn.MultiheadAttention(8, 2, batch_first=batch_first, dtype="float64")
    module.in_proj_bias.array[...] = draw(24)
    q, k, v = draw(3, 5, 8), draw(3, 6, 8), draw(3, 6, 8)
    padding = np.zeros((3, 6), bool)
    padding[1, 4:] = True
    later = ~np.tri(5, 6, dtype=bool)

    def order(x):
        return x if batch_first else x.swapaxes(0, 1)

    every = padding[:, None, None] | later
    for options, mask in [({}, None), ({"key_padding_mask": padding}, padding[:, None, None]),
                          ({"attn_mask": later}, later), ({"is_causal": True}, later),
                          ({"attn_mask": later, "key_padding_mask": padding}, every),
                          ({"attn_mask": np.where(later, -np.inf, 0.0),
                            "key_padding_mask": padding}, every)]:
        expected, weights = heads(module, q, k, v, mask)
        for f in (module, ag.jit(lambda q, k, v, o=options: module(q, k, v, **o))):
            given = options if f is module else {}
            y, found = f(order(q), order(k), order(v), **given)
            np.testing.assert_allclose(order(y.numpy()), expected, 1e-11, 1e-13)
            np.testing.assert_allclose(found.numpy(), weights, 1e-11, 1e-13)
    x = ag.tensor(order(q))
    y, none = module(x, x, x, need_weights=False)
    np.testing.assert_allclose(order(y.numpy()), heads(module, q, q, q)[0], 1e-11, 1e-13)
    assert none is None
    alone, weights = module(q[0], k[0], v[0], average_attn_weights=False)
    np.testing.assert_allclose(alone.numpy(), heads(module, q[:1], k[:1], v[:1])[0][0], 1e-11)
    assert weights.shape == (2, 5, 6)


def test_multihead_attention_refuses():
    with pytest.raises(ValueError, match="embed_dim=8 cannot be divided into num_heads=3"):
        nn.MultiheadAttention(8, 3)
    module = nn.MultiheadAttention(8, 2)
    with pytest.raises(ag.ShapeError, match=r"must be \(length, batch, 8\)"):
        module(*[ag.ones((5, 3, 7))] * 3)


# -- the encoder layer ----------------------------------------------------------------------------
def norm(module, x):
    off = x - x.mean(-1, keepdims=True)
    y = off / np.sqrt((off**2).mean(-1, keepdims=True) + module.eps)
    return y * module.weight.numpy() + (0 if module.bias is None else module.bias.numpy())


def dense(module, x):
    return x @ module.weight.numpy().T + (0 if module.bias is None else module.bias.numpy())


@pytest.mark.parametrize("norm_first", [False, True])
def test_transformer_encoder_layer(norm_first):
    layer = nn.TransformerEncoderLayer(
        8, 2, 16, dropout=0.3, batch_first=True, norm_first=norm_first, dtype="float64"
    )
    assert list(layer.state_dict())[:2] == ["self_attn.in_proj_weight", "self_attn.in_proj_bias"]
    x, later = draw(3, 5, 8), ~np.tri(5, dtype=bool)

    def think(x):
        return dense(layer.linear2, np.maximum(dense(layer.linear1, x), 0))

    if norm_first:
        y = norm(layer.norm1, x)
        y = x + heads(layer.self_attn, y, y, y, later)[0]
        expected = y + think(norm(layer.norm2, y))
    else:
        y = norm(layer.norm1, x + heads(layer.self_attn, x, x, x, later)[0])
        expected = norm(layer.norm2, y + think(y))
    noisy = layer(ag.tensor(x), is_causal=True).numpy()
    assert abs(noisy - expected).max() > 1e-3
    layer.eval()
    for f in (layer, ag.jit(layer)):
        np.testing.assert_allclose(f(ag.tensor(x), is_causal=True).numpy(), expected, 1e-10, 1e-12)
        np.testing.assert_allclose(f(ag.tensor(x), later).numpy(), expected, 1e-10, 1e-12)


def test_encoder_layer_without_biases_and_with_other_activations():
    layer = nn.TransformerEncoderLayer(8, 2, 16, activation="gelu", bias=False)
    assert not any("bias" in name for name, _ in layer.named_parameters())
    assert layer(ag.ones((5, 3, 8))).shape == (5, 3, 8)
    assert nn.TransformerEncoderLayer(8, 2, activation=ag.tanh)(ag.ones((2, 8))).shape == (2, 8)
    with pytest.raises(ValueError, match="activation must be 'relu', 'gelu' or a function"):
        nn.TransformerEncoderLayer(8, 2, activation="swish")


def test_a_training_step_compiles_without_python():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True)
    optimizer = ag.optim.SGD(layer.parameters(), lr=0.01)

    @ag.jit
    def train(x):
        optimizer.zero_grad()
        loss = (layer(x, is_causal=True) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    x = ag.tensor(draw(3, 5, 8).astype("float32"))
    first = train(x).item()
    assert min(train(x).item() for _ in range(30)) < first
    assert "python" not in str(train.plan())


@pytest.mark.parametrize("kind", ["bool", "float32"])
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("run", [lambda f: f, ag.jit], ids=["eager", "jit"])
def test_queries_that_may_look_nowhere_get_nothing(run, padded, kind):
    attend = nn.MultiheadAttention(4, 2, batch_first=True)
    attend.out_proj.bias.data.fill_(3.0)
    x = ag.random.Generator(1).normal(size=(2, 3, 4))
    x.requires_grad_(True)
    hidden = np.zeros((3, 3), bool)
    hidden[1] = True
    mask = ag.tensor(hidden if kind == "bool" else np.where(hidden, -np.inf, 0.0).astype(kind))
    words = {"key_padding_mask": ag.tensor([[True] * 3, [False] * 3])} if padded else {
        "attn_mask": mask}
    y = run(lambda x: attend(x, x, x, need_weights=False, **words)[0])(x)
    assert (y[0] if padded else y[:, 1]).tolist() == (
        [[3.0] * 4] * 3 if padded else [[3.0] * 4] * 2)
    y.sum().backward()
    assert np.isfinite(y.detach().numpy()).all() and np.isfinite(x.grad.numpy()).all()
    layer = nn.TransformerEncoderLayer(4, 2, 5, batch_first=True).eval()
    assert np.isfinite(run(lambda x: layer(x, src_mask=mask))(x).detach().numpy()).all()
