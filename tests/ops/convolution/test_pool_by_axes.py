"""Max pooling of overlapping windows, one axis after the other: as all of a window at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.dispatch import apply
from agnesi.ops.convolution.pooled import MaxPool, PoolTaps, TapSpread, axis_by_axis
from agnesi.ops.convolution.windows import Windows

#: Kernels, strides, paddings, dilations.
CASES = [((5, 5), (1, 1), ((2, 2), (2, 2)), (1, 1)), ((3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1)),
         ((7, 7), (2, 2), ((3, 3), (3, 3)), (1, 1)), ((4, 4), (2, 2), ((1, 2), (0, 1)), (1, 1)),
         ((3, 4), (1, 1), ((0, 0), (2, 1)), (2, 3)),
         ((3, 3, 3), (1, 1, 1), ((1, 1),) * 3, (1,) * 3),
         ((2, 5), (1, 2), ((0, 1), (2, 2)), (1, 1)), ((1, 6), (1, 1), ((0, 0), (3, 2)), (1, 1))]


def images(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Images of few numbers, so that many are equal, with infinities and NaN among them."""
    data = np.random.default_rng(len(shape)).integers(-2, 3, shape).astype(dtype)
    if data.dtype.kind == "f":
        flat = data.reshape(-1)
        flat[::7], flat[3::41], flat[5::53] = -np.inf, np.nan, np.inf
        flat[:80] = -np.inf
    return data


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_values_and_gradients_are_those_of_whole_windows(case: Any, dtype: str) -> None:
    kernel, stride, padding, dilation = case
    windows, sizes = Windows(stride, padding, dilation), (9, 14, 11)[: len(kernel)]
    x = ag.tensor(images((2, 3, *sizes), dtype))
    y = apply(MaxPool(windows, kernel), x)
    split = x
    for step in axis_by_axis(windows, kernel, 1.0):
        split = apply(MaxPool(*step), split)
    np.testing.assert_array_equal(split.numpy(), y.numpy())
    if dtype == "int32":
        return
    g = ag.tensor(np.arange(1.0, y.numel() + 1).reshape(y.shape).astype(dtype))
    x.requires_grad_()
    taps = apply(PoolTaps(windows, kernel), x.detach())
    expected = apply(TapSpread(windows, kernel, sizes), g, taps)

    def gradient(x: ag.Tensor) -> ag.Tensor:
        return ag.autograd.grad(apply(MaxPool(windows, kernel), x), x, g)[0]

    for found in (gradient(x), ag.jit(gradient)(x)):
        np.testing.assert_array_equal(found.numpy(), expected.numpy())  # sums of whole numbers


def test_windows_that_read_little_less_stay_whole() -> None:
    whole = Windows((2, 2), ((1, 1), (1, 1)), (1, 1))
    assert len(axis_by_axis(whole, (3, 3), 0.75)) == 1
    assert len(axis_by_axis(Windows((1, 1), ((0, 0), (0, 0)), (1, 1)), (1, 1), 1.0)) == 1
    overlapping = Windows((1, 1), ((2, 2), (2, 2)), (1, 1))
    assert [kernel for _, kernel in axis_by_axis(overlapping, (5, 5), 0.5)] == [(1, 5), (5, 1)]


@pytest.mark.parametrize("sizes", [(3, 9), (9, 3)])
def test_a_window_that_does_not_fit_is_refused_for_the_image_that_there_is(sizes: Any) -> None:
    with pytest.raises(ag.ShapeError, match=r"1, \d, \d., 5, 1.: a window of 5 does not fit"):
        ag.max_pool(ag.ones((1, 1, *sizes)), 5, 1)
