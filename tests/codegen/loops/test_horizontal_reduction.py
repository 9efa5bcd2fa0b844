"""One number from the lanes of a vector: what is computed, and with how little code."""

import re

import numpy as np
import pytest

import agnesi as ag


def text(function):
    return function.specialisations[-1].compiled.recipe.text


@pytest.mark.share(2)
@pytest.mark.parametrize("optimizer", ["fast_run", "fast_compile"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("n", [5, 16, 37, 1000])
def test_reductions_of_rows(n, dtype, optimizer):
    x = np.random.default_rng(n).uniform(0.9, 1.1, (3, n)).astype(dtype)
    x[1, n // 2] = np.nan
    f = ag.jit(lambda x: (x.sum(1), x.prod(1), x.max(1), x.min(1)), optimizer=optimizer)
    wide = x.astype("float64")
    rtol = {"float16": 2e-2, "float32": 1e-4, "float64": 1e-10}[dtype]
    for found, expected in zip(f(ag.tensor(x)), (wide.sum(1), wide.prod(1), wide.max(1),
                                                 wide.min(1)), strict=True):
        np.testing.assert_allclose(found.numpy(), expected, rtol=rtol)


@pytest.mark.parametrize("value", [-0.0, float("inf"), -float("inf")])
def test_rows_of_one_value(value):
    x = np.full((4, 9), value, "float32")
    f = ag.jit(lambda x: (x.sum(1), x.max(1), x.min(1)), optimizer="fast_compile")
    for found in f(ag.tensor(x)):
        np.testing.assert_array_equal(found.numpy(), np.full(4, value, "float32"))
        np.testing.assert_array_equal(np.signbit(found.numpy()), np.signbit(x[:, 0]))


def test_without_lane_sums_lanes_of_a_small_register_are_numbers():
    f = ag.jit(lambda x: (x.sum(1), x.max(1)), optimizer="fast_compile")
    f(ag.ones((50, 100), "float32"))
    assert "vector.reduce.fadd" not in text(f) and "<2 x float>" not in text(f)


def test_a_lone_turn_begins_with_what_it_reads():
    f = ag.jit(lambda x: x.max(1))
    np.testing.assert_array_equal(f(ag.ones((50, 9), "float32")), np.ones(50))
    lowest = r"splat \(float 0xFFF0000000000000\)"
    assert not re.search(rf"fcmp \w+ <\d+ x float> {lowest}", text(f))
