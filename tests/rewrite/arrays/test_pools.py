"""Max-pooling: functions and slopes are left to the winners of windows, where that is the same."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.dispatch import apply
from agnesi.ops.convolution.pooled import MaxPool, PoolTaps
from agnesi.ops.convolution.windows import Windows

RANDOM = np.random.default_rng(0)
FUNCTIONS = [ag.tanh, ag.sigmoid, ag.relu, ag.softplus, lambda x: ag.tanh(x * 2) * 3,
             lambda x: ag.where(x > 0, x, 0.25 * x)]
POOLS = [
    {"kernel": 2}, {"kernel": 3, "stride": 2, "padding": 1}, {"kernel": (2, 3), "stride": 1},
    {"kernel": 2, "dilation": 2, "stride": 1}, {"kernel": 3, "stride": 2, "cover_all": True},
]


@pytest.mark.share(9)
@pytest.mark.parametrize("options", POOLS, ids=str)
@pytest.mark.parametrize("function", FUNCTIONS, ids=range(len(FUNCTIONS)))
def test_values_and_gradients_stay_as_they_are(function, options):
    x, b = RANDOM.normal(size=(2, 3, 7, 8)), RANDOM.normal(size=(3, 1, 1))

    def loss(x, b, more=0):
        images = function(x + b)
        return (ag.max_pool(images, **options) ** 2 * 0.5).sum() + images[0, 0, 0, 0] * more

    for more in (0, 1):
        slope = ag.grad(lambda x, b, more=more: loss(x, b, more), argnums=(0, 1))
        wanted = slope(ag.tensor(x), ag.tensor(b))
        for found, expected in zip(ag.jit(slope)(x, b), wanted, strict=True):
            np.testing.assert_allclose(found.numpy(), expected.numpy(), 1e-11, 1e-13)
    pooled = ag.jit(lambda x: ag.max_pool(function(x), **options))
    expected = ag.max_pool(function(ag.tensor(x)), **options)
    np.testing.assert_allclose(pooled(x).numpy(), expected.numpy(), 1e-12)
    twice = ag.grad(lambda x: (ag.grad(lambda x: loss(x, b))(x) ** 2).sum())
    np.testing.assert_allclose(ag.jit(twice)(x).numpy(), twice(ag.tensor(x)).numpy(), 1e-9, 1e-11)


def test_what_grows_is_computed_for_the_greatest_only(var, rewritten):
    x = var("x", (1, 2, 6, 6))
    assert rewritten(ag.max_pool(ag.tanh(x), 2)) == "tanh(max_pool(x))"
    assert rewritten(ag.max_pool(ag.cos(x), 2)) == "max_pool(cos(x))"
    assert rewritten(ag.max_pool(ag.tanh(x), 2), ag.tanh(x)) == ["max_pool(tanh(x))", "tanh(x)"]
    # A window that holds nothing has minus infinity, which functions would change.
    beyond = Windows((2, 2), ((2, 0), (0, 0)), (1, 1))
    assert rewritten(apply(MaxPool(beyond, (2, 2)), ag.tanh(x))) == "max_pool(tanh(x))"
    # Which of several equal elements is the first shows as long as nothing hides it.
    taps = PoolTaps(Windows((2, 2), ((0, 0), (0, 0)), (1, 1)), (2, 2))
    t = ag.tanh(x)
    assert rewritten(ag.max_pool(t, 2), apply(taps, t))[1] == "pool_taps(tanh(x))"


def test_gradients_of_maxima_meet_slopes_and_sums_in_the_windows(var, rewritten):
    x = var("x", (2, 3, 6, 6), "float32", requires_grad=True)
    slope = rewritten(ag.grad(lambda x: ag.max_pool(ag.tanh(x), 3).sum())(x))
    assert slope == "tap_spread(subtract(1, square(tanh(max_pool(x)))), pool_taps(x))"
    mask = rewritten(ag.grad(lambda x: ag.max_pool(ag.relu(x), 3).sum())(x))
    assert mask.startswith("tap_spread(") and mask.endswith("pool_taps(relu(x)))")
    bias = var("b", (3, 1, 1), requires_grad=True)
    total = rewritten(ag.grad(lambda b: (ag.max_pool(x + b, 2) ** 3).sum())(bias))
    assert "tap_spread" not in total and "max_pool" in total


def test_saturated_elements_take_no_gradient():
    x = np.array([[[[40.0, 30.0, 0.5, 0.25]]]])
    slope = ag.grad(lambda x: ag.max_pool(ag.tanh(x), (1, 2)).sum())
    for f in (slope, ag.jit(slope)):
        np.testing.assert_allclose(
            f(ag.tensor(x)).numpy(), [[[[0, 0, 1 - np.tanh(0.5) ** 2, 0]]]], 1e-12, 1e-30
        )
