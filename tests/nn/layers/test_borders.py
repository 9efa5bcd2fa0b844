"""Layers that put a border around images: against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi.testing import check_grads

MODES = {"Constant": "constant", "Zero": "constant", "Reflection": "reflect",
         "Replication": "edge", "Circular": "wrap"}


@pytest.mark.share(8)
@pytest.mark.parametrize("kind", MODES)
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_borders(kind, rank):
    x = np.random.default_rng(rank).normal(size=(2, 3, 4, 5, 3)[: 2 + rank])
    widths = [(1, 2), (3, 0), (2, 1)][:rank]
    padding = tuple(n for pair in widths[::-1] for n in pair)
    value = {"constant_values": 2.5} if kind == "Constant" else {}
    layer = getattr(nn, f"{kind}Pad{rank}d")(padding, *value.values())
    expected = np.pad(x, [(0, 0), (0, 0), *widths], MODES[kind], **value)
    for run in (layer, ag.jit(layer)):
        np.testing.assert_array_equal(run(ag.tensor(x)).numpy(), expected)
        np.testing.assert_array_equal(run(ag.tensor(x[1])).numpy(), expected[1])
    check_grads(lambda x: (layer(x) ** 2).sum(), [x])
    one = type(layer)(1, *value.values())
    assert one(ag.tensor(x)).shape[2:] == tuple(n + 2 for n in x.shape[2:])
    assert repr(layer).startswith(f"{kind}Pad{rank}d({padding}")


def test_errors():
    with pytest.raises(ValueError, match=r"^ZeroPad2d: padding \(1, 2\) must be one number, or"):
        nn.ZeroPad2d((1, 2))
    with pytest.raises(ValueError, match=r"^ReflectionPad1d: padding -1 must be at least 0\n  at"):
        nn.ReflectionPad1d(-1)
    with pytest.raises(ag.ShapeError, match=r"^ZeroPad1d: the input must be \(batch, channels, size"
                                            r"\), or one image without the batch, not float32\[4"):
        nn.ZeroPad1d(1)(ag.ones(4))
