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


def test_nan_is_the_greatest():
    x = ag.tensor([2.0, float("nan"), 1.0])
    assert ag.argsort(x).tolist() == [2, 0, 1]
    assert ag.argsort(x, descending=True).tolist() == [1, 0, 2]
    assert ag.topk(x, 2).indices.tolist() == ag.jit(ag.topk)(x, 2).indices.tolist() == [1, 0]
    assert ag.sort(x, dim=0, descending=True).indices.tolist() == [1, 0, 2]


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


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted_of_rows(side):
    rows = np.sort(RANDOM.integers(0, 6, (2, 3, 5)), -1)
    values = RANDOM.integers(-1, 7, (2, 3, 4))
    expected = np.array([[np.searchsorted(r, v, side) for r, v in zip(*pair, strict=True)]
                         for pair in zip(rows, values, strict=True)])

    def found(r, v):
        return ag.searchsorted(r, v, right=side == "right")

    for run in (found, ag.jit(found), ag.vmap(found), ag.vmap(ag.vmap(found))):
        np.testing.assert_array_equal(run(ag.tensor(rows), ag.tensor(values)), expected)
    np.testing.assert_array_equal(ag.vmap(found, (0, None))(rows[0], values[0, 0]),
                                  [np.searchsorted(r, values[0, 0], side) for r in rows[0]])
    np.testing.assert_array_equal(ag.vmap(found, (None, 0))(rows[0, 0], values),
                                  np.searchsorted(rows[0, 0], values, side))
    short = ag.searchsorted(sorted_sequence=rows, input=values, side=side, out_int32=True)
    assert short.dtype == ag.int32 and np.array_equal(short, expected)


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
        (lambda: ag.searchsorted(X, X[:1]), ag.ShapeError, "same axes but for the last"),
        (lambda: ag.searchsorted([1], [1], side="top"), ValueError, "'top'"),
    ]
    for call, error, words in cases:
        with pytest.raises(error) as caught:
            call()
        assert words in str(caught.value)
        assert "test_sort.py" in str(caught.value)


NAN_ROWS = np.array([[1, np.nan, -2, 0, -0.0], [np.nan, np.nan, 3, np.inf, -np.inf],
                     [2, 2, 1, -1, np.nan], [0, -0.0, 0, 1, 1]])
IN_ORDER = np.array([-2, 0, 1, 1, np.nan])
#: Functions that put NaN at the end, or look for it there, of rows and a vector in order.
ORDERED = {
    "sort": lambda x, r: ag.sort(x, axis=1),
    "sort down": lambda x, r: ag.sort(x, axis=1, descending=True),
    "argsort": lambda x, r: ag.argsort(x, axis=1),
    "argsort down": lambda x, r: ag.argsort(x, axis=1, descending=True),
    "topk": lambda x, r: ag.topk(x, 2, 1)[1],
    "searchsorted": lambda x, r: ag.searchsorted(r, x),
    "searchsorted right": lambda x, r: ag.searchsorted(r, x, side="right"),
    "digitize": lambda x, r: ag.digitize(x, r[:4]),
    "isin": lambda x, r: ag.isin(x, r),
    "unique of some": lambda x, r: ag.unique(x, size=12),
    "argmax": lambda x, r: ag.argmax(x, axis=1),
    "cummax": lambda x, r: ag.cummax(x, axis=1).indices,
    "max_pool": lambda x, r: ag.nn.functional.max_pool2d(
        x[None, None], 2, 1, return_indices=True)[1],
}
#: Such that only run on values.
OF_VALUES = {
    "unique": lambda x, r: ag.unique(x), "counts": lambda x, r: ag.unique_counts(x).counts,
    "inverse": lambda x, r: ag.unique_inverse(x).inverse_indices,
    "rows": lambda x, r: ag.unique(ag.nan_to_num(x, posinf=5, neginf=-5), axis=0),
}


@pytest.mark.share(3)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", [*ORDERED, *OF_VALUES])
def test_narrow_floats_are_ordered_as_wide_ones(name, dtype):
    def given(dtype):
        return [ag.tensor(a).astype(dtype) for a in (NAN_ROWS, IN_ORDER)]

    function = (ORDERED | OF_VALUES)[name]
    wanted = function(*given("float32")).numpy()
    for run in (lambda f: f, ag.jit)[: 2 if name in ORDERED else 1]:
        found = run(function)(*given(dtype))
        np.testing.assert_array_equal(found.numpy().astype(wanted.dtype), wanted)
        assert found.dtype == (dtype if wanted.dtype == "float32" else wanted.dtype)


@pytest.mark.parametrize("n", [7, 5000])
@pytest.mark.parametrize("kth", [0, -1, 3, [1, 4]])
def test_a_partition_has_its_places_in_order_and_gradients_where_elements_went(n, kth):
    x = RANDOM.permutation(n).astype("float64")
    weights = RANDOM.normal(size=n)

    def both(x):
        found, pulled = ag.vjp(lambda x: ag.partition(x, kth), x)
        return found, pulled(ag.tensor(weights))[0]

    places = np.atleast_1d(kth)
    for function in (both, ag.jit(both)):
        found, gradient = map(np.asarray, function(ag.tensor(x)))
        for k in places:
            assert found[k] == np.sort(x)[k]
            assert (np.sort(found[: k % n + 1]) == np.arange(k % n + 1)).all()
        np.testing.assert_array_equal(gradient, weights[np.argsort(found)][x.astype(int)])
    tangent = ag.jvp(lambda x: ag.partition(x, kth), (ag.tensor(x),), (ag.tensor(x),))[1]
    np.testing.assert_array_equal(np.sort(tangent.numpy()), np.sort(x))
    rows = ag.tensor(np.stack([x, x[::-1]]))
    np.testing.assert_array_equal(
        ag.vmap(lambda row: ag.partition(row, kth))(rows).numpy()[:, places],
        np.sort(rows.numpy())[:, places])
