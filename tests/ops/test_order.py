"""Stable orders by packed integers, with the native sort and without: those of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.config import LENT
from agnesi.ops.order import first_places, sorted_rows, stable_order
from agnesi.runtime.sorting import sort_by_upper_halves

DTYPES = ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint32",
          "uint64", "bool"]


def native(rows):
    sort_by_upper_halves(rows)
    return True


@pytest.fixture(params=[False, True], ids=["numpy", "native"])
def way(request, monkeypatch):
    monkeypatch.setattr(LENT, "sort", native if request.param else lambda rows: False)


def numbers(dtype, shape, different):
    x = np.random.default_rng(different).integers(0, different, shape)
    x = (x - different // 2).astype(dtype) if np.dtype(dtype).kind != "u" else x.astype(dtype)
    if x.dtype.kind == "f":
        flat = x.reshape(-1)
        flat[:: 2] /= 3
        flat[::17], flat[5::41] = np.nan, np.copysign(np.nan, -1)
        flat[3::19], flat[4::23], flat[1::5] = -np.inf, np.inf, -0.0
    if x.dtype in (np.int32, np.int64) and x.size:
        x.reshape(-1)[:3] = np.iinfo(dtype).min, np.iinfo(dtype).max, -1
    return x


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(0,), (5,), (6000,), (4, 2500), (900, 7), (5000, 1), (3, 0)])
@pytest.mark.parametrize("different", [7, 30_000])
def test_orders_are_those_of_numpy(way, dtype, shape, different):
    x = numbers(dtype, shape, min(different, 100) if np.dtype(dtype).itemsize == 1 else different)
    down = -1 - x if x.dtype.kind == "i" else ~x if x.dtype.kind in "bu" else -x
    for descending, y in ((False, x), (True, down)):
        expected = np.argsort(y, axis=-1, kind="stable")
        found = stable_order(x, descending)
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, expected)
        first = first_places(x, 3, descending)
        if first is not None:
            np.testing.assert_array_equal(first, expected[..., :3])
    found = sorted_rows(x)
    assert found.dtype == x.dtype and found.flags.c_contiguous
    np.testing.assert_array_equal(found, np.sort(x, axis=-1))


def test_axes_and_copies(way):
    x = np.random.default_rng(0).normal(size=(3000, 4)).astype("float32")
    kept = x.copy()
    for view in (x, x[::-1], x.T, x[:, ::2]):
        for axis in range(2):
            np.testing.assert_array_equal(ag.sort(view, axis).numpy(), np.sort(view, axis))
            order = ag.argsort(view, axis, descending=True).numpy()
            np.testing.assert_array_equal(order, np.argsort(-view, axis, kind="stable"))
    top = ag.topk(x, 5, 0)
    np.testing.assert_array_equal(top.values.numpy(), -np.sort(-x, 0)[:5])
    np.testing.assert_array_equal(x, kept)


def test_compiled_and_with_gradients(way):
    x = np.random.default_rng(1).permutation(5000).astype("float64")
    w = np.arange(5000.0)
    f = ag.jit(lambda x: (ag.sort(x) * ag.tensor(w)).sum())
    np.testing.assert_allclose(f(ag.tensor(x)), (np.sort(x) * w).sum())
    g = ag.jit(ag.grad(lambda x: (ag.sort(x) * ag.tensor(w)).sum()))(ag.tensor(x))
    np.testing.assert_array_equal(g.numpy(), x)


def test_the_native_sort_is_taken_once_it_pays():
    x = np.random.default_rng(2).normal(size=1 << 20).astype("float32")
    for _ in range(2):
        np.testing.assert_array_equal(ag.sort(x).numpy(), np.sort(x))
    assert LENT.sort(np.arange(10))
    with ag.config(compile=False):
        assert not LENT.sort(np.arange(10))
