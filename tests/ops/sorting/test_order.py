"""Stable orders by packed integers, with the native sort and without: those of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from agnesi.compiler.library.sorting import _Described as described
from agnesi.core.ir.calls.sorting import Sorting
from agnesi.core.support.config import HOOKS
from agnesi.ops.sorting.order import first_of_order, first_positions
from agnesi.ops.sorting.sort import ArgSort, Sort

DTYPES = ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint32",
          "uint64", "bool"]


@pytest.fixture(params=[False, True], ids=["numpy", "native"])
def way(request, monkeypatch):
    def native(x, *how):
        wanted = Sorting(x.shape, x.dtype.name, *how)
        return described(wanted)(x) if x.size else None

    hook = native if request.param else lambda *args: None
    monkeypatch.setattr(HOOKS, "sort", hook)
    return hook


def numbers(dtype, shape, different):
    x = np.random.default_rng(different).integers(0, different, shape)
    x = (x - different // 2).astype(dtype) if np.dtype(dtype).kind != "u" else x.astype(dtype)
    if x.dtype.kind == "f":
        flat = x.reshape(-1)
        flat[:: 2] /= 3
        flat[::17], flat[5::41] = np.nan, np.copysign(np.nan, -1)
        flat[3::19], flat[4::23], flat[1::5] = -np.inf, np.inf, -0.0
    if x.dtype in (np.int32, np.int64) and x.size:
        x.reshape(-1)[:3] = [np.iinfo(dtype).min, np.iinfo(dtype).max, -1][: x.size]
    return x


def expected_order(x, axis, descending):
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    return x.shape[axis] - 1 - np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)


@pytest.mark.share(36)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(0,), (5,), (6000,), (4, 2500), (900, 7), (5000, 1), (3, 0)])
@pytest.mark.parametrize("different", [7, 30_000])
def test_orders_are_those_of_numpy(way, dtype, shape, different):
    x = numbers(dtype, shape, min(different, 100) if np.dtype(dtype).itemsize == 1 else different)
    axis = len(shape) - 1
    for descending in (False, True):
        expected = expected_order(x, axis, descending)
        found = ArgSort(axis, descending).perform(x)
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, expected)
        first = first_positions(x, 3, descending)
        if first is not None:
            np.testing.assert_array_equal(first, expected[..., :3])
        same(Sort(axis, descending).perform(x), np.take_along_axis(x, expected, -1))


def same(found, expected):
    """Equal arrays, signs of zeros too."""
    assert found.dtype == expected.dtype and found.flags.c_contiguous
    np.testing.assert_array_equal(found, expected)
    if found.dtype.kind == "f":
        there = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found)[there], np.signbit(expected)[there])


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


SHAPES = [
    ((1,), 0), ((96,), 0), ((97,), 0), ((300,), 0), ((9000,), 0), ((70_000,), 0),
    ((5, 3), 1), ((25, 40), 1), ((25, 40), 0), ((3, 70, 5), 1), ((2, 31, 37), 1), ((4, 4500), 1),
    ((2, 3000, 3), 1), ((17, 513), 1), ((513, 17), 0), ((100, 1200), 0), ((60, 1100), 1),
]


@pytest.mark.share(8)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("descending", [False, True])
def test_rows_of_all_lengths_wherever_they_are(dtype, descending):
    for shape, axis in SHAPES:
        x = numbers(dtype, shape, 90)
        order = expected_order(x, axis, descending)
        for places in (False, True):
            found = described(Sorting(shape, dtype, axis, descending, places))(x)
            same(found, order if places else np.take_along_axis(x, order, axis))


@pytest.mark.parametrize("dtype", ["int64", "uint64", "float64"])
def test_keys_that_differ_in_few_bits_only(dtype):
    rng = np.random.default_rng(3)
    for shape, axis in [((2,), 0), ((9,), 0), ((5000,), 0), ((6, 50), 1), ((40, 13), 0),
                        ((12, 5, 3), 1), ((5000, 2), 0)]:
        for far in (False, True):
            x = rng.integers(0, 5, shape).astype(np.uint64) + np.uint64(1 << 40)
            x[rng.random(shape) < 0.2] += np.uint64(far << 63)
            x = x.view(dtype)
            for descending in (False, True):
                order = expected_order(x, axis, descending)
                found = described(Sorting(shape, dtype, axis, descending, True))(x)
                np.testing.assert_array_equal(found, order, err_msg=f"{shape} {far} {descending}")


@pytest.mark.share(4)
@pytest.mark.native_plans
@pytest.mark.parametrize("dtype", ["float32", "int64", "bfloat16"])
@pytest.mark.parametrize("shape, axis", [((25, 40), 1), ((3, 70, 5), 1), ((9000,), 0)])
@pytest.mark.parametrize("descending", [False, True])
def test_compiled_code_sorts_without_python(dtype, shape, axis, descending):
    x = numbers("float32" if dtype == "bfloat16" else dtype, shape, 90)
    values = ag.tensor(x).astype(dtype)
    x = values.astype("float32").numpy() if dtype == "bfloat16" else x
    function = ag.jit(lambda x: (ag.sort(x, axis, descending=descending),
                                 ag.argsort(x, axis, descending=descending)))
    found, order = function(values)
    assert "python" not in str(function.plan())
    expected = expected_order(x, axis, descending)
    np.testing.assert_array_equal(order.numpy(), expected)
    found = found.astype("float32") if dtype == "bfloat16" else found
    same(found.numpy(), np.take_along_axis(x, expected, axis))


@pytest.mark.native_plans
@pytest.mark.share(8)
@pytest.mark.parametrize("dtype", ["float32", "bool", "float16", "uint32", "float64", "uint64"])
@pytest.mark.parametrize("shape, k", [((9000,), 5), ((3, 5, 700), 5), ((200, 1000), 7)])
@pytest.mark.parametrize("different", [5, 30_000])
def test_the_first_few_without_the_rest(dtype, shape, k, different):
    x = numbers(dtype, shape, min(different, 100) if np.dtype(dtype).itemsize == 1 else different)
    for largest in (False, True):
        function = ag.jit(lambda x, down=largest: ag.topk(x, k, -1, largest=down).indices)
        expected = expected_order(x, -1, largest)[..., :k]
        np.testing.assert_array_equal(function(ag.tensor(x)), expected)
        assert "C function" in str(function.plan()) and "python" not in str(function.plan())


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_share_rows(threads):
    x = numbers("float32", (300, 500), 30_000)
    with ag.config(threads=threads):
        function = ag.jit(lambda x: (ag.sort(x, 0), ag.argsort(x, 1)))
        found, order = function(ag.tensor(x))
    same(found.numpy(), np.sort(x, 0, kind="stable"))
    np.testing.assert_array_equal(order.numpy(), np.argsort(x, 1, kind="stable"))


def test_sizes_that_change():
    function = ag.jit(lambda x: (ag.sort(x), ag.topk(x, 2, 0).indices))
    for n in (5, 7, 300, 2, 4000):
        x = numbers("float32", (n, 20), 99)
        found, first = function(ag.tensor(x))
        same(found.numpy(), np.sort(x, kind="stable"))
        np.testing.assert_array_equal(first.numpy(), expected_order(x, 0, True)[:2])


def test_the_native_sort_is_taken_once_it_pays():
    x = np.random.default_rng(2).normal(size=1 << 20).astype("float32")
    for _ in range(2):
        np.testing.assert_array_equal(ag.sort(x).numpy(), np.sort(x))
    assert HOOKS.sort(np.arange(1000), 0, False, False) is not None
    assert HOOKS.sort(np.arange(10), 0, False, False) is None  # NumPy is quicker
    with ag.config(compile=False):
        assert HOOKS.sort(np.arange(1000), 0, False, False) is None


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(1,), (7,), (0, 3), (2, 3, 4)])
def test_the_first_alone_is_the_first_of_all(shape: tuple[int, ...], dtype: str) -> None:
    draw = np.random.default_rng(0)
    for _ in range(20):
        x = draw.integers(-1, 3, shape).astype(dtype)
        if x.dtype.kind == "f":
            x[draw.random(shape) < 0.3] = draw.choice([np.nan, -0.0, -np.inf, np.inf])
        np.testing.assert_array_equal(
            first_of_order(x, 1), first_of_order(x, x.shape[-1])[..., :1])
