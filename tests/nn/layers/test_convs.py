"""Layers that convolve and pool: shapes, gradients of transposed ones, and weights' memory."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi.testing import check_grads


@pytest.mark.share(2)
@pytest.mark.parametrize(
    ("layer", "shape", "expected"),
    [
        (lambda: nn.Conv1d(4, 6, 3, 2), (2, 4, 9), (2, 6, 4)),
        (lambda: nn.Conv2d(4, 6, (3, 1), padding="same"), (2, 4, 9, 5), (2, 6, 9, 5)),
        (lambda: nn.Conv3d(2, 3, 2, groups=1), (1, 2, 4, 5, 3), (1, 3, 3, 4, 2)),
        (lambda: nn.ConvTranspose1d(4, 6, 3, 2, output_padding=1), (2, 4, 5), (2, 6, 12)),
        (lambda: nn.ConvTranspose2d(4, 6, 3, 2, 1), (2, 4, 5, 4), (2, 6, 9, 7)),
        (lambda: nn.ConvTranspose3d(2, 4, 2, 2, groups=2), (1, 2, 2, 2, 2), (1, 4, 4, 4, 4)),
        (lambda: nn.MaxPool1d(2, cover_all=True), (2, 4, 5), (2, 4, 3)),
        (lambda: nn.MaxPool3d(2, 1), (1, 2, 3, 3, 3), (1, 2, 2, 2, 2)),
        (lambda: nn.AvgPool1d(2), (2, 4, 5), (2, 4, 2)),
        (lambda: nn.AvgPool3d(3, padding=1), (1, 2, 3, 3, 3), (1, 2, 1, 1, 1)),
        (lambda: nn.AdaptiveAvgPool2d((2, 3)), (1, 2, 5, 7), (1, 2, 2, 3)),
        (lambda: nn.LPPool2d(2, 2), (1, 2, 4, 4), (1, 2, 2, 2)),
    ],
)
def test_shapes_for_batches_and_single_images(layer, shape, expected):
    module = layer()
    x = ag.tensor(np.random.default_rng(0).random(shape).astype("float32"))
    y = module(x)
    assert y.shape == expected
    np.testing.assert_allclose(ag.jit(module)(x).numpy(), y.numpy(), rtol=1e-5, atol=1e-5)
    if not isinstance(module, (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)):
        np.testing.assert_allclose(module(x[0]).numpy(), y.numpy()[0], rtol=1e-5, atol=1e-5)
    assert type(module).__name__ in repr(module)


@pytest.mark.share(4)
@pytest.mark.parametrize(("mode", "name"), [
    ("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap"),
])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_borders_of_other_elements(mode, name, rank):
    options = {"padding": (2, 1, 3)[:rank], "stride": 2, "dtype": "float64"}
    layer = getattr(nn, f"Conv{rank}d")(2, 3, (3, 2, 4)[:rank], padding_mode=mode, **options)
    x = np.random.default_rng(2).normal(size=(2, 2, 5, 6, 4)[: 2 + rank])
    padded = np.pad(x, [(0, 0), (0, 0), *((n, n) for n in options["padding"])], name)
    function = getattr(ag, f"conv{rank}d")
    expected = function(padded, layer.weight, layer.bias, stride=2).numpy()
    for run in (layer, ag.jit(layer)):
        np.testing.assert_allclose(run(ag.tensor(x)).numpy(), expected, 1e-12)
        np.testing.assert_allclose(run(ag.tensor(x[0])).numpy(), expected[0], 1e-12)
    check_grads(lambda x: (layer(x) ** 2).sum(), [x])
    assert f"padding_mode={mode}" in repr(layer)


def test_same_sizes_with_borders_of_other_elements():
    layer = nn.Conv2d(2, 3, (3, 4), padding="same", dilation=(2, 1), padding_mode="circular")
    run = ag.jit(layer)
    for n in (5, 6, 7, 8):
        x = ag.rand(2, 2, n, 7)
        assert run(x).shape == (2, 3, n, 7)
        np.testing.assert_allclose(run(x).numpy(), layer(x).numpy(), rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match=r"(?s)^conv2d\(float32\[7\], .*test_convs.py"):
        layer(ag.rand(7))


@pytest.mark.parametrize(("options", "size"), [
    ({"stride": 2, "padding": 1}, (10, 7)), ({"stride": (3, 2)}, (17, 9)),
    ({"dilation": 2, "padding": 2}, (6, 4)),
])
def test_sizes_that_transposed_convolutions_are_told(options, size):
    layer = nn.ConvTranspose2d(2, 3, 3, **options)
    x = ag.rand(2, 2, 5, 4)
    least = layer(x).shape
    layer.output_padding = tuple(o - n for o, n in zip(size, least[2:], strict=True))
    expected = layer(x).numpy()
    layer.output_padding = 0
    for wanted in (size, (2, 3, *size)):
        np.testing.assert_array_equal(layer(x, wanted).numpy(), expected)
        np.testing.assert_allclose(
            ag.jit(lambda x, n=wanted: layer(x, n))(x).numpy(), expected, 1e-5, 1e-6)
        np.testing.assert_allclose(layer(x[0], wanted[-2:]).numpy(), expected[0], 1e-5, 1e-6)


def test_how_weights_lie_in_memory_is_not_seen():
    layer, other = nn.Conv2d(20, 32, 3), nn.Conv2d(20, 32, 3)
    weight = layer.weight.numpy()
    assert weight.shape == (32, 20, 3, 3)
    other.load_state_dict(layer.state_dict())
    np.testing.assert_array_equal(other.weight.numpy(), weight)
    assert other.weight.array.strides == layer.weight.array.strides
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(weight)), weight)
    x = ag.ones((1, 20, 5, 5))
    other.weight.array = np.ascontiguousarray(weight)
    np.testing.assert_allclose(other(x).numpy(), layer(x).numpy(), rtol=1e-6)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_a_step_changes_weights_in_place_whatever_their_memory(momentum):
    x = ag.tensor(np.random.default_rng(1).normal(size=(2, 20, 7, 7)).astype("float32"))
    results = []
    for plain in (False, True):
        ag.manual_seed(0)
        layer = nn.Conv2d(20, 30, 3)
        if plain:
            layer.weight.array = np.ascontiguousarray(layer.weight.array)
        held = layer.weight.array
        optimizer = ag.optim.SGD(layer.parameters(), lr=0.01, momentum=momentum)

        @ag.jit
        def step(x, layer=layer, optimizer=optimizer):
            loss = (layer(x) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        for _ in range(3):
            step(x)
        assert layer.weight.array is held
        results.append(held.copy())
    np.testing.assert_allclose(results[0], results[1], rtol=1e-4, atol=1e-6)


def test_errors():
    with pytest.raises(ValueError, match="ConvTranspose2d: 3 and 4"):
        nn.ConvTranspose2d(3, 4, 2, groups=2)


@pytest.mark.parametrize("mode", ["zeros", "reflect"])
@pytest.mark.parametrize("jit", [False, True])
def test_filters_that_a_subclass_computes(mode, jit):
    class Scaled(nn.Conv2d):
        def forward(self, x):
            return self._conv_forward(x, self.weight * 2, self.bias)

    layer = Scaled(2, 3, 3, padding=1, stride=2, padding_mode=mode)
    plain = nn.Conv2d(2, 3, 3, padding=1, stride=2, padding_mode=mode)
    plain.load_state_dict({"weight": layer.weight * 2, "bias": layer.bias})
    x = ag.tensor(np.random.default_rng(0).normal(size=(2, 2, 5, 6)).astype("f4"))
    run = ag.jit(layer) if jit else layer
    np.testing.assert_allclose(run(x).detach(), plain(x).detach(), rtol=1e-5, atol=1e-6)
    assert layer._get_name() == "Scaled"
