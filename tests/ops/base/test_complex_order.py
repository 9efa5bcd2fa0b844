"""Complex numbers in NumPy's order, and neighbours of numbers, without Python."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import agnesi as ag
from agnesi.testing import check_grads

PARTS = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.5]
RANDOM = np.random.default_rng(0)


def rows(dtype):
    strange = RANDOM.permutation([complex(a, b) for a in PARTS for b in PARTS] * 2)
    alike = RANDOM.integers(0, 4, (6, 50)) + 1j * RANDOM.integers(0, 4, (6, 50))
    return [x.astype(dtype) for x in (strange, alike, alike[:, :0])]


def compiled(function, *xs):
    fn = ag.jit(function)
    y = fn(*map(ag.tensor, xs)).numpy()
    assert "python" not in str(fn.plan())
    return y


@pytest.mark.share(2)
@pytest.mark.native_plans
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("axis", [0, -1])
def test_order_is_that_of_numpy(dtype, axis):
    for x in rows(dtype):
        for run in (compiled, lambda f, *xs: f(*xs).numpy()):
            order = run(lambda x: ag.argsort(x, axis), x)
            np.testing.assert_array_equal(order, np.argsort(x, axis, kind="stable"))
            found = run(lambda x: ag.sort(x, axis), x)
            np.testing.assert_array_equal(found, np.sort(x, axis, kind="stable"))


@pytest.mark.native_plans
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_nan_comes_first_in_descending_order(dtype):
    for x in rows(dtype)[:2]:
        eager = ag.argsort(x, descending=True).numpy()
        np.testing.assert_array_equal(compiled(lambda x: ag.argsort(x, descending=True), x), eager)
        y = np.take_along_axis(x, eager, -1)
        assert (np.isnan(y) == (np.arange(x.shape[-1]) < np.isnan(y).sum(-1, keepdims=True))).all()
        for line in (line[~np.isnan(line)] for line in y.reshape(-1, x.shape[-1])):
            np.testing.assert_array_equal(line[::-1], np.sort(line))


@pytest.mark.native_plans
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_extremes_and_places(dtype):
    strange, alike, _ = rows(dtype)
    for x in (strange, strange[np.isfinite(strange)], strange[~np.isnan(strange)], alike):
        for ours, theirs in ((ag.argmax, np.argmax), (ag.argmin, np.argmin)):
            expected = theirs(x, axis=-1)
            np.testing.assert_array_equal(ours(x, axis=-1), expected)
            np.testing.assert_array_equal(compiled(lambda x, f=ours: f(x, axis=-1), x), expected)
    row = np.sort(strange)
    for side in ("left", "right"):
        found = compiled(lambda r, v, s=side: ag.searchsorted(r, v, side=s), row, strange)
        np.testing.assert_array_equal(found, np.searchsorted(row, strange, side))
    found = compiled(ag.isin, alike[0], alike[1])
    np.testing.assert_array_equal(found, np.isin(alike[0], alike[1]))


def test_gradients_of_sorted_complex_numbers():
    x = RANDOM.normal(size=(2, 5)) + 1j * RANDOM.normal(size=(2, 5))
    check_grads(lambda x: ag.sort(x, 1), [x])
    check_grads(lambda x: ag.sort(x, 0, descending=True), [x])


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
def test_next_numbers_are_those_of_numpy(dtype):
    known = ml_dtypes.finfo(dtype)
    least, most = float(known.smallest_subnormal), float(known.max)
    row = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.5, least, -least, most, -most,
           float(known.tiny)]
    a, b = np.meshgrid(*[np.array(row).astype(dtype)] * 2)
    expected = np.where(a == b, b, np.nextafter(a, b))
    for found in (compiled(ag.nextafter, a, b), ag.nextafter(a, b).numpy()):
        bits = f"int{8 * a.dtype.itemsize}"
        same = found.view(bits) == expected.view(bits)
        assert (same | (np.isnan(found) & np.isnan(expected))).all()
