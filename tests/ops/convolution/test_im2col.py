"""Windows as columns, and back: against definitions written out."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn

F = nn.functional
IMAGE, FILTER = ag.arange(16.0).reshape(1, 1, 4, 4), ag.ones((1, 1, 2, 2))
IMAGES = np.random.default_rng(0).normal(size=(2, 3, 5, 6))


def windows(x, kernel, stride, padding, dilation):
    """Every window of (2, 3, 5, 6), written out."""
    x = np.pad(x, ((0, 0), (0, 0), *((p, p) for p in padding)))
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
    found = [
        x[:, :, i: i + reach[0]: dilation[0], j: j + reach[1]: dilation[1]].reshape(2, -1)
        for i in range(0, x.shape[2] - reach[0] + 1, stride[0])
        for j in range(0, x.shape[3] - reach[1] + 1, stride[1])
    ]
    return np.stack(found, 2)


@pytest.mark.parametrize(("kernel", "stride", "padding", "dilation"), [
    ((2, 3), (1, 1), (0, 0), (1, 1)), ((3, 2), (2, 1), (1, 2), (1, 1)),
    ((2, 2), (1, 3), (2, 0), (3, 2)), ((1, 1), (1, 1), (0, 0), (1, 1)),
])
def test_columns_and_their_adjoint(kernel, stride, padding, dilation):
    options = {"stride": stride, "padding": padding, "dilation": dilation}
    expected = windows(IMAGES, kernel, stride, padding, dilation)

    def both(x, g):
        y, back = ag.vjp(lambda x: F.unfold(x, kernel, **options), x)
        return y, *back(g), F.fold(g, (5, 6), kernel, **options)

    g = ag.tensor(np.random.default_rng(1).normal(size=expected.shape))
    for run in (both, ag.jit(both), ag.jit(both, optimizer="fast_compile")):
        y, pulled, folded = run(ag.tensor(IMAGES), g)
        np.testing.assert_array_equal(y.numpy(), expected)
        np.testing.assert_array_equal(pulled.numpy(), folded.numpy())
        np.testing.assert_allclose((folded * IMAGES).sum().item(), (y * g).sum().item())


def test_convolution_is_a_product_with_columns():
    w = ag.tensor(np.random.default_rng(2).normal(size=(4, 3, 2, 2)))
    found = w.reshape(4, -1) @ F.unfold(IMAGES, 2, padding=1)
    np.testing.assert_allclose(found.reshape(2, 4, 6, 7).numpy(),
                               ag.conv2d(IMAGES, w, padding=1).numpy(), atol=1e-12)


def test_columns_are_memory_of_their_own():
    x = ag.zeros((1, 1, 2, 2))
    F.unfold(x, 1)[...] = 1
    assert not x.numpy().any()


def test_one_image_rows_volumes_layers_and_batches_of_any_size():
    x = ag.tensor(IMAGES)
    assert F.unfold(x[0], (2, 2)).shape == (12, 20) == nn.Unfold(2)(x).shape[1:]
    assert F.fold(ag.ones((12, 20)), (5, 6), 2).shape == (3, 5, 6)
    assert nn.Fold((5, 6), 2, stride=1)(ag.ones((2, 12, 20))).shape == x.shape
    assert F.unfold(x[0], 3).shape == (27, 12)  # as PyTorch: one image
    assert F.unfold(x[0], (3,)).shape == (3, 15, 4)  # rows
    assert F.unfold(x[None], 2).shape == (1, 2 * 8, 2 * 4 * 5)
    run = ag.jit(lambda x: F.fold(F.unfold(x, 2), (5, 6), 2))
    for n in (1, 2, 5):
        np.testing.assert_array_equal(run(ag.ones((n, 1, 5, 6)))[:, :, 0, :2], [[[1, 2]]] * n)
    np.testing.assert_array_equal(ag.vmap(lambda x: F.unfold(x, (2, 2)))(x), F.unfold(x, 2))


@pytest.mark.parametrize(("call", "kind", "words"), [
    (lambda x: F.unfold(x, 7), ag.ShapeError, "a window of 7 does not fit an axis of 5"),
    (lambda x: F.unfold(x[0, 0], (2, 2)), ag.ShapeError, "unfold.*one image without the batch"),
    (lambda x: F.fold(x[0], (5, 6), 2), ag.ShapeError, "fold.*have 20 windows of .2, 2.*multiple"),
    (lambda x: F.fold(x[0], 5, 2), TypeError, "output_size 5 must be a tuple"),
])
def test_errors(call, kind, words):
    with pytest.raises(kind, match=words):
        call(ag.tensor(IMAGES))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_columns_of_16_bits_are_added_up_in_32(dtype):
    columns = ag.tensor([[[2048.0, 1, 1], [1, 2048, 1], [1, 1, 2048]]], dtype)

    def folded(x):
        return F.fold(x, (5,), (3,))

    expected = folded(columns.astype("float32")).astype(dtype)
    for f in (folded, ag.jit(folded)):
        found = f(columns)
        assert found.dtype == dtype
        assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("call", [
    lambda two: F.conv2d(IMAGE, FILTER, padding=two), lambda two: F.avg_pool2d(IMAGE, 2, 2, two),
    lambda two: F.conv_transpose2d(IMAGE, FILTER, padding=two),
    lambda two: F.max_pool2d_with_indices(IMAGE, 2, 2, two, return_indices=False)[1],
    lambda two: F.adaptive_max_pool2d_with_indices(IMAGE, two, False)[1],
    lambda two: F.adaptive_avg_pool2d(IMAGE, two), lambda two: F.unfold(IMAGE, 2, padding=two),
    lambda two: F.interpolate(IMAGE, scale_factor=two),
    lambda two: F.fold(ag.ones((1, 1, 1)), two, 1),
])
def test_arrays_are_taken_for_tuples(call):
    """Where the axes have numbers of their own, and where ``return_indices`` is given as well."""
    found, expected = call(np.array([1, 1])), call((1, 1))
    assert found.shape == expected.shape and (found == expected).all()


def test_roll_takes_arrays_of_shifts_and_axes():
    found = ag.roll(IMAGE, np.array([1, 2]), np.array([2, 3]))
    assert (found == ag.roll(IMAGE, (1, 2), (2, 3))).all()
