"""einops' functions and layers on tensors, eagerly, compiled and differentiated."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import einops
import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi.compat import einops as ours

CALLS: dict[str, Callable[[Any], Any]] = {
    "patches": lambda v: einops.rearrange(
        v, "b (h p) (w q) c -> b (h w) (p q c)", p=2, q=2),
    "rest": lambda v: einops.rearrange(v, "... h w c -> ... c (h w)"),
    "stacked": lambda v: einops.rearrange([v, v], "n b h w c -> b n h w c"),
    "mean": lambda v: einops.reduce(v, "b h w c -> b c", "mean"),
    "max": lambda v: einops.reduce(v, "b (h p) w c -> h b", "max", p=2),
    "total": lambda v: einops.reduce(v, "b h w c ->", "sum"),
    "product": lambda v: einops.reduce(v, "b h w c -> h", "prod"),
    "repeated": lambda v: einops.repeat(v, "b h w c -> b (h r) (w s) c", r=2, s=3),
    "new axis": lambda v: einops.repeat(v, "b h w c -> b k h w c", k=4),
    "einsum": lambda v: einops.einsum(v, v, "b h w c, b h w d -> b c d"),
    "packed": lambda v: einops.pack([v, v[:, 0]], "b * c")[0],
}


@pytest.mark.parametrize("name", CALLS)
def test_functions_take_tensors(name: str) -> None:
    call = CALLS[name]
    x = np.random.default_rng(0).standard_normal((2, 4, 6, 3))
    t = ag.tensor(x)
    for found in (call(t), ag.jit(call)(t)):
        np.testing.assert_allclose(found.numpy(), call(x), rtol=1e-12)
    slope = ag.grad(lambda v: (call(v) ** 2).sum())
    np.testing.assert_allclose(ag.jit(slope)(t).numpy(), slope(t).numpy(), rtol=1e-10)


def test_layers_train_copy_and_pickle() -> None:
    net = nn.Sequential(
        ours.Rearrange("b h w c -> b (h w) c"),
        ours.EinMix("b t c -> b t d", weight_shape="c d", bias_shape="d", c=3, d=5),
        ours.Reduce("b t d -> b d", "mean"),
    )
    assert [name for name, _ in net.named_parameters()] == ["1.weight", "1.bias"]
    assert "(0): Rearrange('b h w c -> b (h w) c')" in repr(net)
    x = ag.random.normal(0, 1, (2, 4, 6, 3))
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net)), ag.jit(net)):
        np.testing.assert_allclose(other(x).numpy(), net(x).numpy(), rtol=1e-5)
    (net(x) ** 2).sum().backward()
    assert net[1].weight.grad.shape == (3, 5)


def test_einops_refuses_what_does_not_fit() -> None:
    with pytest.raises(einops.EinopsError) as caught:
        ours.rearrange(ag.ones((2, 3, 4)), "a b -> b a")
    assert str(caught.value).startswith("rearrange(float32[2, 3, 4], 'a b -> b a'): Wrong shape: "
                                        f"expected 2 dims. Received 3-dim tensor.\n  at {__file__}")
    with pytest.raises(ValueError, match=rf"sizes 3 and 2 differ on axis 1.*\n  at {__file__}"):
        ours.pack([ag.ones((3, 4)), ag.ones((2, 4))], "* b c")
    with pytest.raises(einops.EinopsError, match="takes tensors of 2 axes, not float32"):
        ours.Rearrange("a b -> b a")(ag.ones(3))
    with pytest.raises(NotImplementedError, match="non-floating"):
        ours.reduce(ag.arange(6).reshape(2, 3), "a b -> a", "mean")
