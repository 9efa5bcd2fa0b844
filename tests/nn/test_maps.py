"""Convolutions along tables of connections: full, random, one to one and given ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import correlate2d

import agnesi as ag
from agnesi import nn

GIVEN = [(2, 0), (0, 0), (1, 3), (2, 2), (0, 2), (1, 2)]
TABLES = {"full": "full", "random": 2, "one_to_one": "one_to_one", "given": GIVEN}


def pairs(layer):
    """The layer's connections (input, output)."""
    if layer.table is not None:
        return [tuple(row) for row in layer.table.tolist()]
    if layer.groups > 1:
        return [(i, i) for i in range(layer.in_channels)]
    return [(i, o) for o in range(layer.out_channels) for i in range(layer.in_channels)]


def by_lines(layer, x):
    """What Torch's loops compute: each connection adds one correlation to its output."""
    y = 0
    for w, (source, target) in zip(layer.weight.numpy(), pairs(layer), strict=True):
        one = np.stack([correlate2d(image[source], w, "valid") for image in x])
        hot = np.arange(layer.out_channels) == target
        y = y + one[:, None] * hot[:, None, None]
    return y + layer.bias.numpy()[:, None, None]


def made(kind):
    outputs = 3 if kind == "one_to_one" else 4
    return nn.ConvMap2d(3, outputs, TABLES[kind], (3, 2), dtype="float64")


@pytest.mark.parametrize("kind", TABLES)
def test_values_and_gradients(kind):
    ag.manual_seed(1)
    layer = made(kind)
    x = np.random.default_rng(0).normal(size=(2, 3, 6, 5))
    expected = by_lines(layer, x)
    for f in (layer, ag.jit(layer)):
        np.testing.assert_allclose(f(ag.tensor(x)).detach(), expected, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(f(ag.tensor(x[0])).detach(), expected[0], rtol=1e-12, atol=1e-14)

    def loss(w, x):
        return (layer.with_parameters({"weight": w})(x) ** 2).sum()

    ag.testing.check_grads(loss, [layer.weight.numpy(), x], order=1)


def test_only_what_is_connected_learns():
    layer = made("given")
    start = layer.weight.numpy().copy()
    sgd = ag.optim.SGD(layer.parameters(), lr=0.1)
    x = ag.tensor(np.random.default_rng(0).normal(size=(2, 3, 6, 5)))

    @ag.jit
    def step(x):
        sgd.zero_grad()
        loss = (layer(x) ** 2).mean()
        loss.backward()
        sgd.step()
        return loss

    first = float(step(x))
    for _ in range(5):
        last = float(step(x))
    assert last < first and (layer.weight.numpy() != start).all()
    filters = layer.filters().detach().numpy()
    connected = np.zeros((4, 3), bool)
    for source, target in GIVEN:
        connected[target, source] = True
    assert not filters[~connected].any() and filters[connected].all()


def test_random_tables_are_drawn_without_replacement_and_saved():
    ag.manual_seed(0)
    layer, other = nn.ConvMap2d(8, 5, 3, 1), nn.ConvMap2d(8, 5, 3, 1)
    table = layer.table.numpy()
    assert [len({i for i, o in pairs(layer) if o == t}) for t in range(5)] == [3] * 5
    assert (table != other.table.numpy()).any()
    other.load_state_dict(layer.state_dict())
    x = ag.tensor(np.random.default_rng(0).normal(size=(1, 8, 2, 2)).astype("float32"))
    np.testing.assert_array_equal(layer(x).detach(), other(x).detach())
    ag.manual_seed(0)
    assert (nn.ConvMap2d(8, 5, 3, 1).table.numpy() == table).all()


@pytest.mark.parametrize(("connections", "told"), [
    ("half", "not 'half'"), ("one_to_one", "3 with 4"), (4, "4 of 3 inputs"), (0, "0 of 3"),
    ([(0, 4)], "do not exist"), ([(0, -1)], "do not exist"), ([(0, 1), (0, 1)], "twice"),
    ([0, 1], r"not int64\[2\]"), ([(0.0, 1.0)], r"not float32\[1, 2\]"),
])
def test_wrong_tables(connections, told):
    with pytest.raises(ValueError, match=told):
        nn.ConvMap2d(3, 4, connections, 3)


def test_settings_of_convolutions_are_taken():
    layer = nn.ConvMap2d(3, 4, GIVEN, 3, 2, 1, dilation=2, bias=False)
    assert layer.bias is None and layer(ag.ones((1, 3, 9, 9))).shape == (1, 4, 4, 4)
    assert repr(layer).startswith("ConvMap2d(3, 4, 6 connections, kernel_size=(3, 3))")
