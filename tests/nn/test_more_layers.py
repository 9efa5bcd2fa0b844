"""Layers and functions under PyTorch's names: noise, grids, shuffles, pools, hierarchies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn

F = nn.functional


def drawn(*shape: int, seed: int = 0) -> Any:
    return ag.tensor(np.random.default_rng(seed).normal(size=shape))


def agree(f: Any, *xs: Any) -> Any:
    """The value, the same compiled; and a gradient that agrees with differences."""
    found, fast = f(*xs), ag.jit(f)(*xs)
    np.testing.assert_allclose(found.numpy(), fast.numpy(), rtol=1e-9, atol=1e-12)
    ag.testing.check_grads(f, xs, order=1)
    return found


@pytest.mark.parametrize("shape, dim, sizes, wanted", [
    ((0, 6, 2), 1, (2, -1), (0, 2, 3, 2)), ((0, 6), -1, (-1, 3), (0, 2, 3)),
    ((4, 0), 0, (2, -1), (2, 2, 0)), ((0, 2), 0, (3, -1), (3, 0, 2)), ((6,), 0, (3, 2), (3, 2)),
])
def test_axes_that_unflatten_say_what_is_left_of_them(shape: Any, dim: int, sizes: Any,
                                                      wanted: Any) -> None:
    """The other axes may be empty."""
    layer = nn.Unflatten(dim, sizes)
    assert layer(ag.zeros(shape)).shape == ag.jit(layer)(ag.zeros(shape)).shape == wanted
    assert ag.zeros(shape).unflatten(dim, sizes).shape == wanted


@pytest.mark.parametrize("sizes", [(4, -1), (0, -1), (-1, -1), (4, 2)])
def test_sizes_that_an_axis_cannot_have(sizes: Any) -> None:
    with pytest.raises(ag.ShapeError, match=rf"^1, Unflatten.*sizes \({sizes[0]}, {sizes[1]}\)"):
        nn.Sequential(nn.Flatten(), nn.Unflatten(1, sizes))(ag.zeros((2, 6)))


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    ag.manual_seed(0)
    x = drawn(40_000)
    for run in (F.alpha_dropout, ag.jit(F.alpha_dropout),
                ag.jit(lambda x, p, training: F.alpha_dropout(x, 0.3, training))):
        y = run(x, 0.3, True).numpy()
        assert abs(y.mean()) < 0.03 and abs(y.std() - 1) < 0.03
    assert len(np.unique(F.alpha_dropout(ag.ones(99), 0.5, True).numpy())) == 2
    whole = F.feature_alpha_dropout(ag.ones((9, 8, 5)), 0.5, True).numpy()
    assert (whole == whole[..., :1]).all() and len(np.unique(whole)) == 2
    layer = nn.AlphaDropout(0.5)
    assert (layer.eval()(x) == x).all() and not (layer.train()(x) == x).any()
    assert not F.alpha_dropout(x, 1.0, True).numpy().any()
    with pytest.raises(ValueError, match="AlphaDropout: p must be in"):
        nn.AlphaDropout(1.5)


def test_random_leaks_lie_between_their_bounds() -> None:
    x = -ag.ones(1000)
    y = nn.RReLU(0.2, 0.6)(x).numpy()
    assert -0.6 <= y.min() < -0.55 and -0.25 < y.max() <= -0.2
    np.testing.assert_allclose(nn.RReLU(0.2, 0.6).eval()(x).numpy(), -0.4)
    assert (F.rrelu(ag.ones(3), training=True) == 1).all()


def bilinear_at(image: np.ndarray, y: float, x: float) -> Any:
    """A sum over all elements, whose shares fall to 0 within one element."""
    rows, columns = (np.maximum(0, 1 - abs(np.arange(n) - c))
                     for n, c in zip(image.shape[-2:], (y, x), strict=True))
    return np.einsum("...yx,y,x", image, rows, columns)


@pytest.mark.share(4)
@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("border", ["zeros", "border", "reflection"])
def test_grids_look_between_elements(border: str, corners: bool) -> None:
    image = drawn(2, 3, 4, 5)
    grid = ag.tensor(np.random.default_rng(1).uniform(-1.4, 1.4, size=(2, 3, 2, 2)))
    found = agree(lambda x, g: F.grid_sample(x, g, "bilinear", border, corners), image, grid)
    for n, i, j in np.ndindex(2, 3, 2):
        place = []
        for t, size in zip(grid.numpy()[n, i, j][::-1], (4, 5), strict=True):
            c = (t + 1) / 2 * (size - 1) if corners else ((t + 1) * size - 1) / 2
            if border == "reflection":
                low, span = (0, size - 1) if corners else (-0.5, size)
                c = abs((c - low + span) % (2 * span) - span) + low
            place.append(c if border == "zeros" else np.clip(c, 0, size - 1))
        np.testing.assert_allclose(found.numpy()[n, :, i, j],
                                   bilinear_at(image.numpy()[n], *place), atol=1e-9)


def test_maps_move_images() -> None:
    image = drawn(1, 2, 3, 4)
    one = ag.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]], "float64")
    for mode in ("bilinear", "nearest", "bicubic"):
        grid = F.affine_grid(one, image.shape)
        np.testing.assert_allclose(F.grid_sample(image, grid, mode).numpy(), image.numpy(),
                                   atol=1e-9)
    turned = F.affine_grid(one * ag.tensor([-1.0, -1.0, 1.0], "float64"), image.shape)
    np.testing.assert_allclose(F.grid_sample(image, turned).numpy(),
                               image.numpy()[..., ::-1, ::-1], atol=1e-9)
    volume = drawn(1, 1, 2, 3, 4)
    theta = ag.tensor(np.eye(3, 4)[None])
    np.testing.assert_allclose(
        F.grid_sample(volume, F.affine_grid(theta, volume.shape, True), align_corners=True).numpy(),
        volume.numpy(), atol=1e-9)
    with pytest.raises(ag.ShapeError, match="as many grids as images"):
        F.grid_sample(image, ag.zeros((2, 1, 1, 2)))
    with pytest.raises(ValueError, match="no mode 'cubic'"):
        F.grid_sample(image, ag.zeros((1, 1, 1, 2)), "cubic")


@pytest.mark.parametrize("rank", [2, 3])
def test_windows_at_random_places_hold_their_maxima(rank: int) -> None:
    pool = F.fractional_max_pool2d if rank == 2 else F.fractional_max_pool3d
    x = drawn(2, 3, *(7, 6, 5)[:rank])
    y, places = pool(x, 2, 3, return_indices=True)
    flat = x.numpy().reshape(2, 3, -1)
    picked = np.take_along_axis(flat, places.numpy().reshape(2, 3, -1), 2)
    np.testing.assert_array_equal(y.numpy().reshape(picked.shape), picked)
    samples = ag.tensor(np.full((2, 3, rank), 0.4))
    fixed = agree(lambda x: pool(x, 2, 3, _random_samples=samples), x)
    begins = [[int((i + 0.4) * (n - 2) / 2) - int(0.4 * (n - 2) / 2) for i in range(2)] + [n - 2]
              for n in x.shape[2:]]
    for index in np.ndindex(*(3,) * rank):
        window = tuple(slice(b[i], b[i] + 2) for b, i in zip(begins, index, strict=True))
        np.testing.assert_array_equal(
            fixed.numpy()[(..., *index)],
            x.numpy()[(..., *window)].max(tuple(range(2, 2 + rank))))
    assert pool(x[0], 2, output_ratio=0.5).shape == (3, *(n // 2 for n in x.shape[2:]))
    with pytest.raises(ag.ShapeError, match="9 windows of 2 do not lie in"):
        pool(x, 2, 9)


def test_spellings_are_the_same_functions() -> None:
    x = drawn(1, 4, 6, 6)
    for name, args in (("relu", ()), ("elu", ()), ("selu", ()), ("celu", ()), ("leaky_relu", ()),
                       ("hardtanh", ()), ("threshold", (0.5, 2.0)), ("rrelu", ())):
        held = ag.copy(x)
        assert getattr(F, f"{name}_")(held, *args) is held
        np.testing.assert_array_equal(held.numpy(), getattr(F, name)(x, *args).numpy())
    for one, two in zip(F.max_pool2d_with_indices(x, 2), F.max_pool2d(x, 2, return_indices=True),
                        strict=True):
        np.testing.assert_array_equal(one.numpy(), two.numpy())
    np.testing.assert_array_equal(nn.ChannelShuffle(2)(x).numpy(), x.numpy()[:, [0, 2, 1, 3]])
    np.testing.assert_array_equal(nn.UpsamplingNearest2d(scale_factor=2)(x).numpy(),
                                  x.numpy().repeat(2, 2).repeat(2, 3))
    steps, w = drawn(5, 2, 3), drawn(3, 3, 4, seed=1)
    found = F.conv_tbc(steps, w, ag.zeros(4, dtype="float64"), 1).numpy()
    np.testing.assert_allclose(found[0], np.einsum("tbc,tcd->bd", steps.numpy()[:2],
                                                   w.numpy()[1:]))
    loss = nn.LinearCrossEntropyLoss(3, 4, bias=True, dtype="float64")
    np.testing.assert_allclose(
        loss(steps[0], [1, 2]).numpy(),
        F.linear_cross_entropy(steps[0], loss.linear.weight, [1, 2],
                               linear_bias=loss.linear.bias).numpy())


def test_clusters_of_classes_have_one_distribution() -> None:
    ag.manual_seed(0)
    layer = nn.AdaptiveLogSoftmaxWithLoss(6, 12, [3, 7], div_value=2.0, head_bias=True,
                                          dtype="float64")
    x, target = drawn(5, 6), ag.tensor([0, 3, 6, 7, 11])
    whole = layer.log_prob(x)
    np.testing.assert_allclose(np.exp(whole.numpy()).sum(1), 1, rtol=1e-9)
    found = layer(x, target)
    np.testing.assert_allclose(found.output.numpy(), whole.numpy()[np.arange(5), target.numpy()])
    agree(lambda x: layer(x, target).loss, x)
    assert (layer.predict(x) == ag.argmax(whole, 1)).all()
    one = layer(x[0], 4)
    np.testing.assert_allclose(one.output.numpy(), whole.numpy()[0, 4])
    with pytest.raises(ag.ShapeError, match="must be"):
        layer(x, [0, 1])
    with pytest.raises(ValueError, match="cutoffs must rise"):
        nn.AdaptiveLogSoftmaxWithLoss(6, 12, [7, 3])


def test_a_tree_of_classes_has_one_distribution() -> None:
    counts = {i: 2**i for i in range(6)}
    tree = nn.BinaryHierarchicalSoftmax.create_huffman_tree(counts)
    layer = nn.BinaryHierarchicalSoftmax(4, tree, "none", dtype="float64")
    x, target = drawn(6, 4), ag.arange(6)
    whole = layer.log_prob(x).numpy()
    np.testing.assert_allclose(np.exp(whole).sum(1), 1, rtol=1e-9)
    np.testing.assert_allclose(layer(x, target).numpy(), -np.diagonal(whole), rtol=1e-9)
    deep = (layer.signs != 0).sum(1).numpy()
    assert deep.tolist() == [5, 5, 4, 3, 2, 1]  # as deep as it is rare
    summed = nn.BinaryHierarchicalSoftmax(4, tree, "sum", dtype="float64")
    agree(lambda x, w: summed.with_parameters({"weight": w})(x, target), x, summed.weight.detach())
    assert list(layer.state_dict()) != [] and "nodes" not in layer.state_dict()
    for wrong, text in (((0, (1,)), "two children"), ((0, 0), "twice"), ((0, 2), "numbered")):
        with pytest.raises(ValueError, match=text):
            nn.BinaryHierarchicalSoftmax(4, wrong)
    with pytest.raises(ag.DTypeError, match="integers"):
        layer(x, [0.5] * 6)
