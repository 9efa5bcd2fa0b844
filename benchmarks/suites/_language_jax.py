"""The language models in JAX, with scans over time and one product for the inputs of all steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.models.language import Captions, Text
from benchmarks.suites._training import jax_cross_entropy, jax_dropout


def loss_of(model: Any) -> Callable[..., Any]:
    """``loss(weights, key, *inputs)`` of a model; the weights come in PyTorch's order."""
    if isinstance(model, Captions):
        return _captioner(model)
    return _transformer(model) if model.kind == "transformer" else _recurrent(model)


def _recurrent(text: Text) -> Callable[..., Any]:
    cell = _lstm if text.kind == "LSTM" else _gru

    def loss(weights: Any, key: Any, words: Any, labels: Any) -> Any:
        jax = peers.jax()
        keys = iter([None] * 9 if key is None else jax.random.split(key, 9))
        embedding, *layers, scores, bias = weights
        x = jax_dropout(embedding[words], next(keys), text.dropout)
        for i in range(text.layers):
            if i:
                x = jax_dropout(x, next(keys), text.dropout)
            x = cell(x, *layers[4 * i : 4 * i + 4])
        x = jax_dropout(x, next(keys), text.dropout)
        return jax_cross_entropy(x.reshape(-1, text.width) @ scores.T + bias, labels)

    return loss


def _lstm(x: Any, w_in: Any, w: Any, b_in: Any, b: Any) -> Any:
    jax = peers.jax()
    jnp, sigmoid = jax.numpy, jax.nn.sigmoid
    zero = jnp.zeros((x.shape[1], w.shape[1]), x.dtype)

    def step(state: Any, z: Any) -> Any:
        h, c = state
        i, f, g, o = jnp.split(z + h @ w.T, 4, -1)
        c = sigmoid(f) * c + sigmoid(i) * jnp.tanh(g)
        h = sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    return jax.lax.scan(step, (zero, zero), x @ w_in.T + (b_in + b))[1]


def _gru(x: Any, w_in: Any, w: Any, b_in: Any, b: Any) -> Any:
    jax = peers.jax()
    jnp, sigmoid = jax.numpy, jax.nn.sigmoid

    def step(h: Any, z: Any) -> Any:
        r, u, n = jnp.split(z, 3, -1)
        hr, hu, hn = jnp.split(h @ w.T + b, 3, -1)
        u = sigmoid(u + hu)
        h = (1 - u) * jnp.tanh(n + sigmoid(r + hr) * hn) + u * h
        return h, h

    zero = jnp.zeros((x.shape[1], w.shape[1]), x.dtype)
    return jax.lax.scan(step, zero, x @ w_in.T + b_in)[1]


def _normed(x: Any, weight: Any, bias: Any) -> Any:
    x = x - x.mean(-1, keepdims=True)
    return x / ((x * x).mean(-1, keepdims=True) + np.float32(1e-5)) ** 0.5 * weight + bias


def _transformer(text: Text) -> Callable[..., Any]:
    heads = text.width // 64

    def attend(x: Any, w: Any, b: Any, w_out: Any, b_out: Any) -> Any:
        jax = peers.jax()
        n, length, width = x.shape
        parts = (x @ w.T + b).reshape(n, length, 3, heads, width // heads)
        q, k, v = (parts[:, :, i] for i in range(3))
        mixed = jax.nn.dot_product_attention(q, k, v, is_causal=True)
        return mixed.reshape(n, length, width) @ w_out.T + b_out

    def loss(weights: Any, key: Any, words: Any, labels: Any) -> Any:
        take: Iterator[Any] = iter(weights)
        x = next(take)[words] + next(take)
        for _ in range(text.layers):
            before, between = (next(take), next(take)), (next(take), next(take))
            x = x + attend(_normed(x, *before), *(next(take) for _ in range(4)))
            wide, b, narrow, c = (next(take) for _ in range(4))
            x = x + peers.jax().nn.relu(_normed(x, *between) @ wide.T + b) @ narrow.T + c
        x = _normed(x, next(take), next(take)).reshape(-1, text.width)
        return jax_cross_entropy(x @ next(take).T + next(take), labels)

    return loss


def _captioner(sizes: Captions) -> Callable[..., Any]:
    def loss(weights: Any, key: Any, frames: Any, words: Any, labels: Any) -> Any:
        jax = peers.jax()
        jnp, sigmoid = jax.numpy, jax.nn.sigmoid
        (embedding, w_k, b_k, w_q, b_q, w_e, b_e, w_in, w, b_in, b, scores, bias) = weights
        keys = frames @ w_k.T + b_k
        zero = jnp.zeros((sizes.batch, sizes.width), frames.dtype)

        def step(state: Any, word: Any) -> Any:
            h, c = state
            energy = (jnp.tanh(keys + (h @ w_q.T + b_q)[:, None]) @ w_e.T + b_e)[:, :, 0]
            context = (jax.nn.softmax(energy)[:, :, None] * frames).sum(1)
            z = jnp.concatenate([word, context], 1) @ w_in.T + b_in + h @ w.T + b
            i, f, g, o = jnp.split(z, 4, -1)
            c = sigmoid(f) * c + sigmoid(i) * jnp.tanh(g)
            h = sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        hidden = jax.lax.scan(step, (zero, zero), embedding[words])[1]
        return jax_cross_entropy(hidden.reshape(-1, sizes.width) @ scores.T + bias, labels)

    return loss
