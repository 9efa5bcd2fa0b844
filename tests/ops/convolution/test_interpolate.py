"""Images of other sizes: against loops and np.interp, by their gradients, eager and compiled."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi.nn.functional import interpolate, pixel_shuffle, pixel_unshuffle
from agnesi.testing import check_grads, check_op

RANDOM = np.random.default_rng(0)
LINEAR = {1: "linear", 2: "bilinear", 3: "trilinear"}


def keys(d):
    """Keys' kernel with -0.75."""
    d = abs(d)
    if d <= 1:
        return (1.25 * d - 2.25) * d * d + 1
    return -0.75 * (((d - 5) * d + 8) * d - 4) if d < 2 else 0.0


def along(row, o, mode, corners, scale):
    """One row at ``o`` places."""
    n = len(row)
    ratio = n / o if scale is None else 1 / scale
    if mode == "nearest":
        return np.array([row[min(int(i * ratio + 1e-9), n - 1)] for i in range(o)])
    if mode == "nearest-exact":
        return np.array([row[min(int((i + 0.5) * ratio + 1e-9), n - 1)] for i in range(o)])
    at = (np.arange(o) + 0.5) * ratio - 0.5
    if corners:
        at = np.linspace(0, n - 1, o) if o > 1 else np.zeros(1)
    if mode != "bicubic":
        return np.interp(at, np.arange(n), row)
    taps = [np.arange(int(np.floor(p)) - 1, int(np.floor(p)) + 3) for p in at]
    return np.array([
        sum(row[np.clip(j, 0, n - 1)] * keys(p - j) for j in near)
        for p, near in zip(at, taps, strict=True)
    ])


def reference(x, sizes, mode, corners=False, scales=None):
    for axis, o in enumerate(sizes):
        scale = None if scales is None else scales[axis]
        x = np.apply_along_axis(along, axis + 2, x, o, mode, corners, scale)
    return x


@pytest.mark.share(6)
@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("wanted", [(11, 4, 9), (3, 10, 5), (1, 1, 1), (14, 10, 4), (7, 5, 4)])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "linear", "bicubic"])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_sizes(rank, mode, wanted, corners):
    if (corners and "nearest" in mode) or (mode == "bicubic" and rank != 2):
        return
    x, wanted = RANDOM.normal(size=(2, 3, 7, 5, 4)[: 2 + rank]), wanted[:rank]
    name = LINEAR[rank] if mode == "linear" else mode
    expected = reference(x, wanted, mode, corners)
    for run in (interpolate, ag.jit(interpolate)):
        found = run(ag.tensor(x), wanted, mode=name, align_corners=corners)
        np.testing.assert_allclose(found.numpy(), expected, 1e-12, 1e-12)


@pytest.mark.share(2)
@pytest.mark.parametrize("scales", [(2, 3), (1.7, 0.6), (0.5, 4), (1, 1)])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic"])
def test_scales(mode, scales):
    x = RANDOM.normal(size=(2, 3, 6, 5))
    wanted = [int(n * s) for n, s in zip(x.shape[2:], scales, strict=True)]
    expected = reference(x, wanted, mode, scales=scales)

    def run(x):
        return interpolate(x, scale_factor=scales, mode=mode)

    for found in (run(ag.tensor(x)), ag.jit(run)(ag.tensor(x))):
        np.testing.assert_allclose(found.numpy(), expected, 1e-12, 1e-12)


def test_area_is_a_mean():
    x = RANDOM.normal(size=(2, 3, 6, 5))
    found = interpolate(x, (3, 2), mode="area")
    np.testing.assert_array_equal(
        found.numpy(), ag.nn.functional.adaptive_avg_pool(x, (3, 2)).numpy())


@pytest.mark.share(6)
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic", "area"])
@pytest.mark.parametrize("size", [(5, 9), (3, 2), (4, 6)])
def test_rules(mode, size):
    x = RANDOM.normal(size=(2, 2, 4, 3))

    def cost(x):
        return (interpolate(x, size, mode=mode) ** 3).sum()

    check_grads(cost, [x])
    for transform in (ag.grad, ag.hessian):
        eager, found = (f(ag.tensor(x)).numpy() for f in (transform(cost), ag.jit(transform(cost))))
        np.testing.assert_allclose(found, eager, 1e-9, 1e-12)
    many = ag.vmap(lambda x: interpolate(x, size, mode=mode))(ag.tensor(np.stack([x, x + 1])))
    np.testing.assert_allclose(many.numpy()[1], interpolate(x + 1, size, mode=mode).numpy())


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64"])
def test_other_types(dtype):
    x = (RANDOM.normal(size=(1, 2, 5, 4)) * (1 + 2j if dtype == "complex64" else 1)).astype(dtype)
    found = interpolate(x, (7, 9), mode="bilinear")
    assert found.dtype == dtype
    wide = np.result_type(dtype, "float64")
    expected = reference(x.real.astype("float64"), (7, 9), "bilinear")
    tolerance = 1e-2 if dtype == "float16" else 1e-5
    np.testing.assert_allclose(found.numpy().astype(wide).real, expected, tolerance, tolerance)
    whole = interpolate(np.arange(4).reshape(1, 1, 4), scale_factor=2)
    assert whole.dtype == np.int64 and whole.tolist() == [[[0, 0, 1, 1, 2, 2, 3, 3]]]


def test_no_images_and_turned_ones_and_no_versions_for_whole_scales():
    assert interpolate(ag.zeros((0, 2, 3, 4)), (5, 6), mode="bilinear").shape == (0, 2, 5, 6)
    turned = RANDOM.normal(size=(5, 4, 3, 2)).T
    np.testing.assert_allclose(
        ag.jit(lambda x: interpolate(x, (8, 3), mode="bicubic"))(ag.tensor(turned)).numpy(),
        reference(turned, (8, 3), "bicubic"), 1e-12, 1e-12)
    twice = ag.jit(lambda x: interpolate(x, scale_factor=2))
    for n in range(3, 9):
        assert twice(ag.rand(2, 3, n, 5)).shape == (2, 3, 2 * n, 10)
    assert len(twice.specialisations) <= 3
    assert "python" not in str(twice.plan())


def test_pixels():
    x = RANDOM.normal(size=(2, 12, 3, 4))
    expected = x.reshape(2, 3, 2, 2, 3, 4).transpose(0, 1, 4, 2, 5, 3).reshape(2, 3, 6, 8)
    for run in (pixel_shuffle, ag.jit(pixel_shuffle)):
        np.testing.assert_array_equal(run(ag.tensor(x), 2).numpy(), expected)
        np.testing.assert_array_equal(run(ag.tensor(x[0]), 2).numpy(), expected[0])
    for run in (pixel_unshuffle, ag.jit(pixel_unshuffle)):
        np.testing.assert_array_equal(run(ag.tensor(expected), 2).numpy(), x)
    check_op(lambda x: pixel_shuffle(x, 2), [[x]])
    check_op(lambda x: pixel_unshuffle(x, 2), [[expected]])
    layers = nn.Sequential(nn.PixelShuffle(2), nn.PixelUnshuffle(2))
    np.testing.assert_array_equal(layers(ag.tensor(x)).numpy(), x)
    assert repr(nn.PixelShuffle(2)) == "PixelShuffle(2)"
    assert repr(nn.PixelUnshuffle(3)) == "PixelUnshuffle(3)"


def covered(row, o, cubic):
    """One row at ``o`` places, of all elements that each covers."""
    step = len(row) / o
    wide = max(step, 1.0)

    def share(d):
        if cubic:
            return ((1.5 * d - 2.5) * d * d + 1 if d <= 1
                    else -0.5 * (((d - 5) * d + 8) * d - 4) if d < 2 else 0.0)
        return max(1 - d, 0.0)

    weights = np.array([[share(abs(j + 0.5 - (i + 0.5) * step) / wide) for j in range(len(row))]
                        for i in range(o)])
    return weights / weights.sum(1, keepdims=True) @ row


@pytest.mark.share(4)
@pytest.mark.parametrize("sizes", [(3, 4), (1, 9), (12, 2)])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_smooth_images_are_made_of_all_that_a_place_covers(mode, sizes):
    x = RANDOM.normal(size=(2, 1, 7, 11))
    expected = x
    for axis, o in enumerate(sizes):
        expected = np.apply_along_axis(covered, axis + 2, expected, o, mode == "bicubic")

    def make(x):
        return interpolate(x, sizes, mode=mode, antialias=True)

    for run in (make, ag.jit(make)):
        np.testing.assert_allclose(run(ag.tensor(x)).numpy(), expected, atol=1e-12)
    check_grads(lambda x: (make(x) ** 2).sum(), [x])


def test_layers():
    layer = nn.Upsample(scale_factor=(2, 1.5), mode="bilinear", align_corners=True)
    x = ag.rand(1, 2, 4, 6)
    np.testing.assert_array_equal(
        layer(x).numpy(), interpolate(x, None, (2, 1.5), "bilinear", True).numpy())
    assert repr(layer) == "Upsample(scale_factor=(2, 1.5), mode='bilinear', align_corners=True)"
    assert nn.Upsample((3, 9))(x).shape == (1, 2, 3, 9)


X = ag.ones((1, 2, 4, 4))
WRONG = [
    (lambda: interpolate(X, 2, mode="cubic"), ValueError, "mode 'cubic' is none of 'nearest', "),
    (lambda: interpolate(X, 2, mode="linear"), ag.ShapeError,
     "mode 'linear' is for images (batch, channels, size), not float32[1, 2, 4, 4]"),
    (lambda: interpolate(X[0, 0], 2), ag.ShapeError, "mode 'nearest' is for images (batch, "),
    (lambda: interpolate(X, 2, 2), ValueError, "a scale_factor, and not both"),
    (lambda: nn.Upsample(), ValueError, "Upsample: give the size wanted, or a scale_factor"),
    (lambda: interpolate(X, scale_factor=-1), ValueError, "scale_factor -1 must be above 0"),
    (lambda: interpolate(X, scale_factor=0.1), ValueError,
     "the size wanted, (0, 0) must be at least 1"),
    (lambda: interpolate(X, (2, 2, 2)), ValueError, "size (2, 2, 2) must be one number"),
    (lambda: interpolate(X, 2, align_corners=True), ValueError, "not for 'nearest'"),
    (lambda: interpolate(X, 2, antialias=True), ValueError,
     "antialias is for modes that interpolate, not for 'nearest'"),
    (lambda: interpolate(ag.zeros((1, 2, 0, 4)), 2), ag.ShapeError, "(0, 4) hold nothing"),
    (lambda: interpolate(X.astype("int32"), 2, mode="bilinear"), ag.DTypeError,
     "'bilinear' needs floats, not int32"),
    (lambda: pixel_shuffle(X, 2), ag.ShapeError, "no multiple of factor**2 = 4"),
    (lambda: pixel_unshuffle(X, 3), ag.ShapeError, "no multiples of factor = 3"),
    (lambda: pixel_shuffle(X[0, 0], 2), ag.ShapeError, "(..., channels, height, width), not "),
]


@pytest.mark.parametrize(("call", "kind", "words"), WRONG)
def test_errors(call, kind, words):
    with pytest.raises(kind, match=r"test_interpolate\.py") as caught:
        call()
    assert words in str(caught.value)
