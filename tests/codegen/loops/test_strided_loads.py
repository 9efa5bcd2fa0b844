"""Lanes at constant steps and in periods: against NumPy, for all sizes around whole registers."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from tests.share import share

SIZES = (1, 2, 3, 7, 15, 16, 17, 31, 33, 47, 48, 49, 64, 90, 97, 200, 2500)


@pytest.mark.share(9)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "uint8", "bool", "float16"])
@pytest.mark.parametrize("step", [2, 3, 4, 5, 6, 7])
def test_every_few_elements(dtype, step):
    for n in share(SIZES, 4, dtype, step):
        x = (np.arange(n * step) % 251).astype(dtype)
        for first in (0, step - 1):
            found = ag.jit(lambda x, i=first: x[i::step] ^ True if dtype == "bool"
                           else x[i::step] + x[i::step])(ag.tensor(x)).numpy()
            expected = x[first::step] ^ True if dtype == "bool" else x[first::step] * np.array(
                2, dtype
            )
            np.testing.assert_array_equal(found, expected)


@pytest.mark.share(2)
@pytest.mark.parametrize("times", [2, 3, 5, 7])
def test_each_element_a_few_times(times):
    for n in share(SIZES, 2, times):
        x = np.arange(1.0, n + 1, dtype="float32")
        found = ag.jit(lambda x: ag.repeat(x * x, times) * 2)(ag.tensor(x)).numpy()
        np.testing.assert_array_equal(found, np.repeat(x * x, times) * 2)


@pytest.mark.share(4)
@pytest.mark.parametrize("kernel", [2, 3, 4, 5])
def test_gradients_of_pooled_rows(kernel):
    for n in (kernel, 4 * kernel, 7 * kernel + 1, 30 * kernel, 2100 * kernel):
        x = np.random.default_rng(n).normal(size=(1, 1, n)).astype("float32")

        def gradient(x):
            return ag.grad(lambda x: (ag.max_pool(x, kernel) ** 2).sum())(x)

        expected = gradient(ag.tensor(x)).numpy()
        np.testing.assert_array_equal(ag.jit(gradient)(ag.tensor(x)).numpy(), expected)


@pytest.mark.parametrize(("shape", "size", "dtype"), [
    ((1, 3, 8, 2), (5, 1), "float32"),  # 24 lanes at a step of 2: no whole number of registers
    ((2, 1, 3, 4, 14), (1, 1, 5), "float64"),  # all lanes of the tail read one element
])
def test_gradients_of_windows_that_fit(shape, size, dtype):
    x = ag.tensor(np.random.default_rng(0).normal(size=shape).astype(dtype))

    def gradient(x):
        return ag.grad(lambda x: (ag.nn.functional.adaptive_max_pool(x, size) ** 2).sum())(x)

    np.testing.assert_array_equal(ag.jit(gradient)(x).numpy(), gradient(x).numpy())


@pytest.mark.share(8)
@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "bool"])
@pytest.mark.parametrize("step", [-1, -2, -3, -6, -7])
def test_back_by_a_few_elements(dtype, step):
    for n in share(SIZES, 4, dtype, step):
        x = (np.arange(n * -step) % 251).astype(dtype)
        for rows in (x, x.reshape(-step, n)):
            found = ag.jit(lambda x: ag.logical_not(x[..., ::step]))(ag.tensor(rows)).numpy()
            np.testing.assert_array_equal(found, np.logical_not(rows[..., ::step]))


@pytest.mark.parametrize("n", [3, 9, 17, 33])
def test_first_lanes_of_whole_periods(n):
    """Sums in order run in lanes that are no power of two, of which the last are not stored."""
    weights = (ag.arange(n) % 5 + 1).reshape(1, n)

    def cost(x):
        return (ag.take_along_axis(x, ag.zeros((1, n), dtype="int64"), axis=0) * weights).sum()

    found = ag.jit(ag.grad(cost))(ag.ones((1, n)))
    np.testing.assert_array_equal(found.numpy(), weights.numpy())


@pytest.mark.parametrize("n", [200, 240])
def test_threads_share_out_whole_turns_of_columns_with_a_period(n):
    """Lanes that hold whole periods of 5 are 40, which blocks of columns are no multiples of."""
    def columns(x):
        weights = (ag.arange(n * n).reshape(n, n) % 5).astype(x.dtype)
        return (ag.exp(x[None] * x[:, None]) * weights).sum(0)

    x = ag.tensor(np.linspace(0, 1, n, dtype="float32"))
    with ag.config(threads=8):
        found = ag.jit(columns)(x)
    np.testing.assert_allclose(found.numpy(), columns(x).numpy(), rtol=1e-5)


@pytest.mark.parametrize(("kernel", "stride", "padding", "dilation", "shape", "dtype"), [
    ((3, 3), 1, 1, 1, (2, 3, 5, 28), "float32"),  # lanes at both borders
    ((3, 3), 2, 1, 1, (2, 3, 9, 35), "float32"),  # every second element; pairs that share a window
    ((3, 5), 2, 1, (1, 2), (2, 3, 47, 31), "float64"),  # two choices of lanes by known masks
    ((2, 4), 3, (1, 2), 1, (2, 2, 7, 50), "float16"),
])
def test_windows_at_borders(kernel, stride, padding, dilation, shape, dtype):
    x = ag.tensor(np.random.default_rng(0).normal(size=shape).round(1).astype(dtype))

    def gradients(x):
        def total(x):
            y = ag.max_pool(x, kernel, stride, padding, dilation) ** 2
            mean = ag.avg_pool(x, kernel, stride, padding) if dilation == 1 else x
            return y.sum() + (mean * 2).sum()

        return ag.grad(total)(x)

    np.testing.assert_allclose(ag.jit(gradients)(x).numpy(), gradients(x).numpy(), rtol=1e-5)


@pytest.mark.parametrize("n, dtype, function", [
    (28, "float32", lambda xp, x: xp.pad(x, ((0, 0), (2, 1), (3, 2)), "reflect")),
    (129, "bool", lambda xp, x: xp.roll(xp.pad(x, ((1, 0), (0, 0), (0, 5)), "edge"), 7, -1)),
    (300, "int64", lambda xp, x: xp.concatenate([x, xp.flip(x, -1)], -1)),
])
def test_rows_of_runs(n, dtype, function):
    x = (np.arange(6 * n).reshape(2, 3, n) % 251).astype(dtype)
    f = ag.jit(lambda x: function(ag, x))
    np.testing.assert_array_equal(f(ag.tensor(x)).numpy(), function(np, x))
    assert "runs" in str(f.plan())


def test_complex_numbers_beside_a_border():
    x = ag.tensor(np.arange(54).reshape(2, 3, 9) * (1 + 2j))

    def f(x):
        return ag.pad(x, ((0, 0), (0, 0), (1, 2))) * 2

    np.testing.assert_array_equal(ag.jit(f)(x).numpy(), f(x).numpy())
    found = ag.jit(ag.convolve)(x[0, 0], x[0, 1, :3]).numpy()
    np.testing.assert_allclose(found, np.convolve(x[0, 0].numpy(), x[0, 1, :3].numpy()))
