"""Where max-pooling finds its elements, and the way back: against loops, by gradients, compiled."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi.nn import functional
from agnesi.testing import check_grads, check_op

RANDOM = np.random.default_rng(0)
MAX, UNPOOL = functional.max_pool, functional.max_unpool


def greatest(x, kernel, stride, padding, dilation):
    """Numbers in the image of the first greatest elements, window by window."""
    high, wide = x.shape[2:]
    counts = [(n + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1 for n in (high, wide)]
    found = np.zeros((*x.shape[:2], *counts), np.int64)
    for b, c, i, j in np.ndindex(*found.shape):
        rows = [i * stride - padding + t * dilation for t in range(kernel)]
        columns = [j * stride - padding + t * dilation for t in range(kernel)]
        inside = [r * wide + s for r, s in itertools.product(rows, columns)
                  if 0 <= r < high and 0 <= s < wide]
        found[b, c, i, j] = inside[np.argmax(x[b, c].ravel()[inside])]
    return found


@pytest.mark.share(4)
@pytest.mark.parametrize("kernel", [2, 3, 6])
@pytest.mark.parametrize(("stride", "padding", "dilation"), [
    (2, 0, 1), (1, 1, 1), (3, 1, 1), (1, 0, 2), (2, 1, 2),
])
def test_indices_name_the_first_greatest(kernel, stride, padding, dilation):
    x = RANDOM.integers(0, 4, (2, 2, 12, 13)).astype("float32")
    x[0, 1] = -np.inf  # all of these windows, the border among them, are ties
    options = {"stride": stride, "padding": padding, "dilation": dilation}
    expected = greatest(x, kernel, **options)

    def both(x):
        return MAX(x, kernel, **options, return_indices=True)

    for run in (both, ag.jit(both)):
        values, indices = run(ag.tensor(x))
        assert indices.dtype == np.int64
        np.testing.assert_array_equal(indices.numpy(), expected)
        flat = x.reshape(2, 2, -1)
        there = np.take_along_axis(flat, expected.reshape(2, 2, -1), 2).reshape(expected.shape)
        np.testing.assert_array_equal(values.numpy(), there)


@pytest.mark.share(2)
@pytest.mark.parametrize("size", [1, 2, 3, (4, 5), 7], ids=str)
def test_indices_of_windows_that_fit(size):
    x = RANDOM.permutation(2 * 3 * 6 * 5).reshape(2, 3, 6, 5).astype("float64")
    for run in (functional.adaptive_max_pool2d, ag.jit(functional.adaptive_max_pool2d)):
        values, indices = run(ag.tensor(x), size, return_indices=True)
        there = np.take_along_axis(x.reshape(2, 3, -1), indices.numpy().reshape(2, 3, -1), 2)
        np.testing.assert_array_equal(values.numpy(), there.reshape(values.shape))


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_unpooling_puts_back_what_pooling_took(rank):
    sizes = (5, 6, 4)[:rank]
    x = RANDOM.permutation(2 * 3 * int(np.prod(sizes))).reshape(2, 3, *sizes).astype("float32") + 1
    pool, back = (getattr(nn, f"Max{n}{rank}d") for n in ("Pool", "Unpool"))
    pool, back = pool(2, return_indices=True), back(2)
    whole = back(*pool(ag.tensor(x)), sizes).numpy()
    assert whole.shape == x.shape and ((whole == x) | (whole == 0)).all()
    np.testing.assert_array_equal(pool(ag.tensor(whole))[0].numpy(), pool(ag.tensor(x))[0].numpy())
    assert np.count_nonzero(whole) == pool(x)[0].size
    np.testing.assert_array_equal(back(*pool(ag.tensor(x)), x.shape).numpy(), whole)
    np.testing.assert_array_equal(back(*pool(ag.tensor(x[1])), sizes).numpy(), whole[1])
    compiled = ag.jit(lambda x: back(*pool(x), sizes))
    np.testing.assert_array_equal(compiled(ag.tensor(x)).numpy(), whole)
    least = back(*pool(ag.tensor(x)))
    assert least.shape[2:] == tuple(n // 2 * 2 for n in sizes)


def test_sizes_follow_stride_and_padding():
    values, indices = MAX(ag.rand(1, 2, 7, 9), 3, 2, 1, return_indices=True)
    assert values.shape == (1, 2, 4, 5)
    assert UNPOOL(values, indices, 3, 2, 1).shape == (1, 2, 7, 9)
    compiled = ag.jit(lambda x: UNPOOL(*MAX(x, 2, return_indices=True), 2))
    for n in (4, 6, 8, 10):
        assert compiled(ag.rand(3, 2, n, n + 2)).shape == (3, 2, n, n + 2)
    assert len(compiled.specialisations) <= 3
    assert compiled(ag.zeros((0, 2, 4, 4))).shape == (0, 2, 4, 4)


def test_rules_of_unpooling():
    x = RANDOM.normal(size=(2, 2, 2, 3))
    indices = np.array([RANDOM.permutation(24)[:6] for _ in range(4)]).reshape(2, 2, 2, 3)
    check_op(lambda x: UNPOOL(x, indices, 2), [[x]])
    images = RANDOM.permutation(48).reshape(1, 2, 4, 6) / 5

    def there_and_back(x):
        values, places = MAX(x, 2, return_indices=True)
        return (UNPOOL(values * 2, places, 2) * x).sum()

    check_grads(there_and_back, [images])
    eager, compiled = (f(ag.tensor(images)) for f in (ag.grad(there_and_back),
                                                      ag.jit(ag.grad(there_and_back))))
    np.testing.assert_allclose(compiled.numpy(), eager.numpy())


def test_nothing_runs_in_python():
    @ag.jit
    def step(x):
        def cost(x):
            return (UNPOOL(*MAX(x, 3, 2, 1, return_indices=True), 3, 2, 1, (6, 6)) ** 2).sum()

        return ag.grad(cost)(x)

    step(ag.rand(2, 3, 6, 6))
    assert "python" not in str(step.plan())


def test_errors():
    x, indices = ag.ones((1, 1, 2)), ag.tensor([[[0, 9]]])
    for call, kind, words in (
        (lambda: UNPOOL(x, indices[:, :, :1], 2), ag.ShapeError,
         r"max_unpool\(float32\[1, 1, 2\], int64\[1, 1, 1\], 2\): indices must be of the operand's "
         r"shape \(1, 1, 2\), not int64\[1, 1, 1\]"),
        (lambda: UNPOOL(x, ag.ones((1, 1, 2)), 2), TypeError, "must be integers"),
        (lambda: UNPOOL(x, indices, 2, output_size=(1, 2)), ag.ShapeError, "1 axes"),
        (lambda: UNPOOL(x, indices, 2), IndexError, r"^max_unpool\(.*out of (bounds|range)"),
        (lambda: ag.jit(lambda i: UNPOOL(x, i, 2))(indices), IndexError, "out of range"),
        (lambda: MAX(ag.ones((1, 1, 4)), 2, return_indices=True, out=x), TypeError,
         "out takes one result, and there are 2 here"),
    ):
        with pytest.raises(kind, match=words):
            call()
