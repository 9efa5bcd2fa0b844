"""Transformers: their stacks, positions, and generation with kept keys and values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn

F = nn.functional


def drawn(*shape: int) -> Any:
    return ag.tensor(np.random.default_rng(0).normal(size=shape).astype("float32"))


@pytest.mark.share(4)
@pytest.mark.parametrize("positions", [None, "rotary", "alibi"])
@pytest.mark.parametrize("compiled", [False, True])
def test_steps_with_a_cache_are_those_of_the_whole(positions: Any, compiled: bool) -> None:
    ag.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, positions=positions,
                                       norm_first=True)
    net = nn.TransformerEncoder(layer, 2, nn.LayerNorm(8)).eval()
    x = drawn(2, 6, 8)
    whole = net(x, is_causal=True)
    caches = net.make_caches(2, 7)

    def step(x: Any) -> Any:
        with ag.no_grad():
            return net(x, caches=caches)

    run = ag.jit(step) if compiled else step
    for begin, end in ((0, 3), (3, 4), (4, 5), (5, 6)):  # a prompt, then one by one
        np.testing.assert_allclose(run(x[:, begin:end]).numpy(), whole[:, begin:end].numpy(),
                                   atol=2e-6)
    if not compiled:
        with pytest.raises(ag.ShapeError, match="there is no room for 3 steps behind 6 of 7"):
            run(x[:, :3])
        caches[0].reset()
        assert int(caches[0].length) == 0


def test_a_decoder_with_a_cache_looks_at_its_memory() -> None:
    layer = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)
    net = nn.TransformerDecoder(layer, 2).eval()
    x, memory = drawn(1, 4, 8), drawn(1, 5, 8)
    whole = net(x, memory, tgt_is_causal=True)
    caches = net.make_caches(1, 4)
    steps = [net(x[:, t: t + 1], memory, caches=caches) for t in range(4)]
    np.testing.assert_allclose(ag.concat(steps, 1).numpy(), whole.numpy(), atol=2e-6)


def test_rotated_products_depend_on_distance() -> None:
    q, k = drawn(1, 6), drawn(1, 6)
    scores = [float((F.rotary(q, [i]) * F.rotary(k, [i + 3])).sum()) for i in (0, 5, 50)]
    np.testing.assert_allclose(scores, scores[0], rtol=1e-4)
    np.testing.assert_allclose(F.rotary(q, [0]).numpy(), q.numpy())
    with pytest.raises(ag.ShapeError, match="even number of features"):
        F.rotary(drawn(2, 3))


def test_slopes_of_heads_fall() -> None:
    bias = F.alibi(4, ag.arange(3), ag.arange(5)).numpy()
    slopes = np.array([0.25, 0.0625, 2.0**-6, 2.0**-8])
    far = abs(np.arange(3)[:, None] - np.arange(5))
    np.testing.assert_allclose(bias, -slopes[:, None, None] * far)


def test_keys_and_values_of_other_sizes_and_behind_the_others() -> None:
    ag.manual_seed(0)
    net = nn.MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True, kdim=5, vdim=3,
                                batch_first=True)
    names = dict(net.named_parameters())
    assert {"q_proj_weight", "k_proj_weight", "v_proj_weight", "bias_k", "bias_v"} <= names.keys()
    q, k, v = drawn(2, 3, 8), drawn(2, 4, 5), drawn(2, 4, 3)
    hidden = ag.tensor(np.arange(4) >= 2)[None].astype(bool)
    y, weights = net(q, k, v, key_padding_mask=ag.concat([hidden, hidden]))
    assert weights.shape == (2, 3, 6) and not weights[..., 2:4].numpy().any()
    np.testing.assert_allclose(weights.sum(-1).numpy(), 1, rtol=1e-5)
    again = ag.jit(net)(q, k, v, key_padding_mask=ag.concat([hidden, hidden]))[0]
    np.testing.assert_allclose(again.numpy(), y.numpy(), atol=1e-6)
    with pytest.raises(ag.ShapeError, match="batch, 5"):
        net(q, q, v)
    with pytest.raises(ValueError, match="positions must be"):
        nn.MultiheadAttention(8, 2, positions="absolute")


def test_layers_are_copies_with_parameters_of_their_own() -> None:
    net = nn.Transformer(8, 2, 2, 1, 16, batch_first=True).eval()
    names = [n for n, _ in net.named_parameters()]
    assert "encoder.layers.1.self_attn.in_proj_weight" in names
    assert "decoder.layers.0.multihead_attn.out_proj.bias" in names and "decoder.norm.bias" in names
    assert net(drawn(1, 3, 8), drawn(1, 2, 8)).shape == (1, 2, 8)
    mask = nn.Transformer.generate_square_subsequent_mask(2)
    by_mask = net(drawn(1, 3, 8), drawn(1, 2, 8), tgt_mask=mask)
    causal = net(drawn(1, 3, 8), drawn(1, 2, 8), tgt_is_causal=True)
    np.testing.assert_allclose(by_mask.numpy(), causal.numpy(), atol=1e-6)
    with pytest.raises(ag.ShapeError, match=r"encoder\.layers\.0"):
        net(drawn(1, 3, 7), drawn(1, 2, 8))
