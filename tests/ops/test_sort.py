"""Order: against NumPy, and by gradients."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from agnesi.testing import check_op

RANDOM = np.random.default_rng(0)
X = RANDOM.permutation(60).reshape(3, 4, 5).astype("float64")


@pytest.mark.parametrize("axis", [0, -1, None])
@pytest.mark.parametrize("dtype", ["float64", "int8", "uint8", "bool", "float32"])
def test_sorting_is_that_of_numpy(axis, dtype):
    x = (X % 7).astype(dtype)
    np.testing.assert_array_equal(ag.sort(x, axis).numpy(), np.sort(x, axis))
    order = ag.argsort(x, axis).numpy()
    np.testing.assert_array_equal(order, np.argsort(x, axis, kind="stable"))
    down = ag.argsort(x, axis, descending=True).numpy()
    np.testing.assert_array_equal(down, np.argsort(-x.astype(int), axis, kind="stable"))


def test_nan_comes_last_in_either_order():
    x = ag.tensor([2.0, float("nan"), 1.0])
    assert ag.argsort(x).tolist() == [2, 0, 1]
    assert ag.argsort(x, descending=True).tolist() == [0, 2, 1]


@pytest.mark.parametrize("k", [0, 1, 5, 39, 40])
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("axis", [0, 1])
def test_topk_is_the_head_of_the_order(k, largest, axis):
    x = np.moveaxis(RANDOM.integers(0, 9, (2, 40)), 1, axis).astype("float32")
    values, indices = ag.topk(x, k, axis, largest=largest)
    order = np.argsort(-x if largest else x, axis, kind="stable")
    expected = np.take(np.take_along_axis(x, order, axis), range(k), axis)
    np.testing.assert_array_equal(values.numpy(), expected)
    np.testing.assert_array_equal(np.take_along_axis(x, indices.numpy(), axis), expected)
    assert indices.dtype == "int64"


def test_gradients_and_graphs():
    check_op(lambda x: ag.sort(x, 1, descending=True), [[X]])
    check_op(lambda x: ag.topk(x, 2, 0).values, [[X]])
    check_op(lambda x: ag.argsort(x), [[X]])


@pytest.mark.parametrize("q", [0, 0.25, 0.4, 1])
@pytest.mark.parametrize("axis", [None, 1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_quantiles_are_those_of_numpy(q, axis, keepdims):
    found = ag.quantile(X, q, axis, keepdims=keepdims)
    np.testing.assert_allclose(found.numpy(), np.quantile(X, q, axis=axis, keepdims=keepdims))
    np.testing.assert_allclose(ag.median(X, axis).numpy(), np.median(X, axis))


def test_searchsorted_and_unique():
    row, values = np.array([1.0, 3.0, 3.0, 5.0]), np.array([[0.0, 3.0], [4.0, 9.0]])
    for side in ("left", "right"):
        np.testing.assert_array_equal(
            ag.searchsorted(row, values, side=side).numpy(), np.searchsorted(row, values, side)
        )
    order = np.array([2, 0, 3, 1])
    np.testing.assert_array_equal(ag.searchsorted(row[[1, 3, 0, 2]], values, sorter=order),
                                  np.searchsorted(row, values))
    x = ag.tensor([3.0, 1.0, 3.0], requires_grad=True)
    assert ag.grad((ag.unique(x) * ag.tensor([2.0, 5.0])).sum(), x).tolist() == [5, 2, 0]
    found = ag.unique([3, 1, 3], return_counts=True)
    assert [t.tolist() for t in found] == [[1, 3], [1, 2]]


def test_errors():
    cases = [
        (lambda: ag.sort(ag.tensor(1.0)), ValueError, "no axis"),
        (lambda: ag.topk(ag.ones(3), 4), ValueError, "k = 4 of 3"),
        (lambda: ag.quantile(X, 2), ValueError, "between 0 and 1"),
        (lambda: ag.searchsorted(X, X), ValueError, "vector"),
        (lambda: ag.searchsorted([1], [1], side="top"), ValueError, "'top'"),
    ]
    for call, error, words in cases:
        with pytest.raises(error) as caught:
            call()
        assert words in str(caught.value)
        assert "test_sort.py" in str(caught.value)


@pytest.mark.parametrize("descending", [False, True])
def test_nan_of_bfloat16_comes_last(descending):
    x = ag.tensor([[0.0, np.nan, 3.0, -1.0], [np.nan, 1.0, -2.0, 0.5]]).astype("bfloat16")
    wanted = ag.sort(x.astype("float32"), axis=1, descending=descending).numpy()
    places = ag.argsort(x.astype("float32"), axis=1, descending=descending).numpy()
    for run in (lambda f: f, ag.jit):
        found = run(lambda x: ag.sort(x, axis=1, descending=descending))(x)
        np.testing.assert_array_equal(found.astype("float32").numpy(), wanted)
        order = run(lambda x: ag.argsort(x, axis=1, descending=descending))(x)
        np.testing.assert_array_equal(order.numpy(), places)
    row = ag.tensor([0.0, 1.0, np.nan]).astype("bfloat16")
    assert ag.searchsorted(row, ag.tensor([np.nan, 0.5]).astype("bfloat16")).tolist() == [2, 1]
