"""A transformer that writes one token after the other, with a cache of keys and values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import Case, Contender, Context, Result

TITLE = "transformer of 6 layers of 384: tokens written with a key-value cache"
THREADS = (1,)
LAYERS, WIDTH, HEADS, VOCABULARY = 6, 384, 6, 1_000
TOKENS, QUICK_TOKENS = 1_024, 64
GOAL = 1.5


def run(context: Context) -> list[Result]:
    count = QUICK_TOKENS if context.quick else TOKENS
    weights = _weights()
    return [context.measure(Case(
        f"{count} tokens", lambda: _torch(weights, count, False).fn(),
        {
            "agnesi": lambda: _agnesi(weights, count),
            "torch": lambda: _torch(weights, count, False),
            "torch.compile": lambda: _torch(weights, count, True),
        },
        goal=GOAL, items=count,
    ))]  # fmt: skip


def _weights() -> dict[str, np.ndarray]:
    """By names of ours; a layer is normalized first."""
    rng = np.random.default_rng(0)
    shapes: dict[str, tuple[int, ...]] = {"words": (VOCABULARY, WIDTH)}
    for k in range(LAYERS):
        shapes |= {f"{k}.in": (3 * WIDTH, WIDTH), f"{k}.out": (WIDTH, WIDTH),
                   f"{k}.wide": (4 * WIDTH, WIDTH), f"{k}.narrow": (WIDTH, 4 * WIDTH)}
    return {n: (rng.standard_normal(s) / np.sqrt(s[1])).astype(np.float32)
            for n, s in shapes.items()}


def _written(step: Callable[[int, int], int], count: int) -> Callable[[], np.ndarray]:
    """All tokens that follow the first: ``step(token, place)`` gives the next one."""

    def write() -> np.ndarray:
        found, token = [], 1
        for place in range(count):
            token = step(token, place)
            found.append(token)
        return np.array(found)

    return write


def _agnesi(weights: dict[str, np.ndarray], count: int) -> Contender:
    ag = peers.agnesi()
    nn = ag.nn
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, 0.0, batch_first=True,
                                       norm_first=True)
    net = nn.TransformerEncoder(layer, LAYERS, nn.LayerNorm(WIDTH)).eval()
    words = ag.tensor(weights["words"])
    for k, layer in enumerate(net.layers):
        for name, p in (("in", layer.self_attn.in_proj_weight),
                        ("out", layer.self_attn.out_proj.weight),
                        ("wide", layer.linear1.weight), ("narrow", layer.linear2.weight)):
            p.data[...] = weights[f"{k}.{name}"]
        for p in layer.parameters():
            if p.ndim == 1 and not (p is layer.norm1.weight or p is layer.norm2.weight):
                p.data[...] = 0
    caches = net.make_caches(1, count)

    @ag.jit
    @ag.no_grad()
    def following(token: Any) -> Any:
        x = net(nn.functional.embedding(token, words)[None], is_causal=True, caches=caches)
        return (x[0] @ words.T).argmax(-1)

    def write() -> np.ndarray:
        for cache in caches:
            cache.reset()
        token, found = ag.tensor([1]), []
        for _ in range(count):
            token = following(token)
            found.append(token)
        return np.concatenate([t.numpy() for t in found])

    return Contender(write)


def _torch(weights: dict[str, np.ndarray], count: int, compiled: bool) -> Contender:
    torch = peers.torch()
    function = torch.nn.functional
    w = {n: torch.from_numpy(v) for n, v in weights.items()}
    shape = (LAYERS, 1, HEADS, count, WIDTH // HEADS)
    keys, values = torch.zeros(shape), torch.zeros(shape)

    def normal(x: Any) -> Any:
        return function.layer_norm(x, (WIDTH,))

    def block(x: Any, k: int, place: int) -> Any:
        q, key, value = (normal(x) @ w[f"{k}.in"].T).reshape(1, 3, HEADS, 1, -1).unbind(1)
        keys[k, :, :, place: place + 1] = key
        values[k, :, :, place: place + 1] = value
        mixed = function.scaled_dot_product_attention(
            q, keys[k, :, :, : place + 1], values[k, :, :, : place + 1])
        x = x + mixed.reshape(1, WIDTH) @ w[f"{k}.out"].T
        return x + function.relu(normal(x) @ w[f"{k}.wide"].T) @ w[f"{k}.narrow"].T

    def following(token: int, place: int) -> Any:
        x = w["words"][token][None]
        for k in range(LAYERS):
            x = block(x, k, place)
        return (normal(x) @ w["words"].T).argmax()

    run = torch.compile(following, dynamic=True) if compiled else following
    inference = torch.inference_mode()(lambda token, place: int(run(token, place)))
    return Contender(_written(inference, count))
