"""Values chosen by their bits: those of NumPy's where, to the last bit."""

from itertools import product

import numpy as np
import pytest

import agnesi as ag
from agnesi.ops.base.select import choose

RANDOM = np.random.default_rng(0)
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.5]


def values(shape, dtype):
    picked = RANDOM.choice(SPECIAL, shape)
    if np.dtype(dtype).kind == "f":
        return picked.astype(dtype)
    return RANDOM.integers(0, 100, shape).astype(dtype)


def assert_same_bits(found, expected):
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    whole = f"i{found.dtype.itemsize}"
    np.testing.assert_array_equal(found.view(whole), expected.view(whole))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int64", "uint16"])
def test_large_arrays(dtype):
    shapes = [(64, 50), (50,), (64, 1), ()]
    for condition, a, b in product(shapes, repeat=3):
        if (64, 50) in (a, b):
            args = RANDOM.random(condition) < 0.5, values(a, dtype), values(b, dtype)
            args = tuple(map(np.asarray, args))
            assert_same_bits(choose(*args), np.where(*args))


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_zeros_on_either_side(zero):
    condition, a = RANDOM.random(5000) < 0.5, values(5000, "float32")
    number = np.array(zero, "float32")
    assert_same_bits(choose(condition, a, number), np.where(condition, a, number))
    assert_same_bits(choose(condition, number, a), np.where(condition, number, a))


def test_other_layouts():
    condition = RANDOM.random((60, 80)) < 0.5
    a, b = values((60, 80), "float32"), values((80, 60), "float32").T
    cut = condition[:, ::2], a[:, ::2], b[0, 0]
    for args in ((condition, a, b), (condition.T, a.T, b.T), cut):
        args = tuple(map(np.asarray, args))
        found, expected = choose(*args), np.where(*args)
        np.testing.assert_array_equal(found, expected)
        assert found.strides == expected.strides


def test_wide_types_go_another_way():
    condition, a = RANDOM.random(5000) < 0.5, RANDOM.random(5000) + 1j
    np.testing.assert_array_equal(choose(condition, a, -a), np.where(condition, a, -a))


def test_no_element_is_branched_on(monkeypatch):
    x = ag.tensor(RANDOM.standard_normal((64, 64)), dtype="float32", requires_grad=True)
    expected = np.where(x.numpy() > 0, 3.0, 0.0)
    monkeypatch.delattr(np, "where")
    (ag.relu(x) * 3).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), expected)


@pytest.mark.parametrize("n", [1, 1000, 5000, 40_003])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_relu_of_minus_zero_is_zero_at_any_size(n, dtype):
    """NumPy's quickest functions differ in the sign of zero, and are chosen by size."""
    x = np.full(n, -0.0, dtype)
    x[-1] = np.nan
    for f in (ag.relu, ag.jit(ag.relu)):
        found = f(ag.tensor(x)).numpy()
        assert not np.signbit(found[:-1]).any() and np.isnan(found[-1])
