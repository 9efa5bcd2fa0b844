"""Eager reductions of narrow dtypes take no more memory beside their operand than NumPy's."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi.runtime import pool

REDUCTIONS = ["sum", "prod", "max", "min", "mean", "any", "all", "argmax", "argmin",
              "count_nonzero", "ptp"]
#: Bytes that do not grow with the operand.
ROOM = 1 << 19


def peak(f: Any, x: Any) -> int:
    f(x)
    tracemalloc.start()
    try:
        f(x)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.share(2)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint32"])
def test_reductions_take_little_memory(dtype: str) -> None:
    array = (np.arange(1 << 21) % 3).astype(dtype).reshape(1 << 10, -1)
    x = ag.asarray(array)
    wrong = []
    for name in REDUCTIONS:
        if dtype == "bool" and name == "ptp":
            continue
        for axis in (None, 0, -1):
            ours = peak(lambda t, a=axis, n=name: getattr(ag, n)(t, axis=a), x)
            theirs = peak(lambda t, a=axis, n=name: getattr(np, n)(t, axis=a), array)
            if ours > theirs + ROOM:
                wrong.append((name, axis, ours >> 10, theirs >> 10))
    assert wrong == []


@pytest.mark.share(3)
@pytest.mark.parametrize("dtype", ["int8", "float32", "float64"])
def test_order_takes_a_copy_as_numpys(dtype: str) -> None:
    array = (np.arange(1 << 19) * 7919 % 251 + 1).astype(dtype).reshape(1 << 9, -1)
    x = ag.asarray(array)
    for axis in (None, 0, 1):
        for f in (ag.median, lambda t, a: ag.quantile(t, [0.1, 0.7], a)):
            assert peak(lambda t, f=f, a=axis: f(t, a), x) < 1.5 * array.nbytes + ROOM
            np.testing.assert_array_equal(f(x, axis), ag.jit(lambda x, f=f, a=axis: f(x, a))(x))
        values, places = peak(lambda t, a=axis: ag.maximum.accumulate(t, a or 0), x), peak(
            lambda t, a=axis: ag.cummax(t, a), x)
        assert values < 1.1 * array.nbytes + ROOM
        assert places < 8 * array.size + 3.5 * max(array.nbytes, array.size) + ROOM


@pytest.mark.share(8)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint32", "int64"])
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "count_nonzero"])
@pytest.mark.parametrize("axis", [None, 0, (0, -1), -1])
@pytest.mark.parametrize("shape", [(3, 4, 5), (0, 4), (4, 0)])
def test_sums_of_narrow_numbers_are_those_of_compiled_code(
        dtype: str, name: str, axis: Any, shape: tuple[int, ...]) -> None:
    x = ag.asarray((np.arange(np.prod(shape)) % 7).astype(dtype).reshape(shape))
    f = getattr(ag, name)
    eager, compiled = f(x, axis), ag.jit(lambda x: f(x, axis))(x)
    assert eager.dtype == compiled.dtype and eager.shape == compiled.shape
    np.testing.assert_allclose(eager, compiled, rtol=1e-6)
    kept = f(x, axis, keepdims=True)
    assert kept.ndim == x.ndim and kept.dtype == eager.dtype


#: All reductions and scans that are computed eagerly without a function of NumPy's alone.
OTHERS = REDUCTIONS + """
    var std nanmean nanvar nanstd nansum nanprod nanmax nanmin nanargmax average median nanmedian
    logsumexp cumsum cumprod nancumsum nancumprod cummax cummin
""".split()
#: Bytes for each element that any of them takes beside operand and result: three float64.
MOST_BYTES = 24


@pytest.mark.share(4)
@pytest.mark.parametrize("dtype", ["int8", "float16", "bfloat16", "float32", "float64"])
def test_reductions_and_scans_are_bounded(dtype: str) -> None:
    x = ag.asarray((np.arange(1 << 18) % 5).reshape(1 << 9, -1)).astype(dtype)
    wrong = []
    for name in OTHERS:
        f = getattr(ag, name)
        for axis in (0, -1):
            found = ag.tree.flatten(f(x, axis=axis))[0]
            given = sum(y.numpy().nbytes for y in found)
            taken = peak(lambda t, f=f, axis=axis: f(t, axis=axis), x) - given
            if taken > MOST_BYTES * x.size + ROOM:
                wrong.append((name, axis, taken / x.size))
    assert wrong == []


def test_means_of_halves_and_of_whole_numbers_without_nan_make_no_copies() -> None:
    for dtype, names in {"float16": ["mean", "sum"], "int8": ["nanmean", "nansum"]}.items():
        x = ag.asarray((np.arange(1 << 20) % 5).astype(dtype))
        for name in names:
            assert peak(getattr(ag, name), x) < ROOM, (dtype, name)
            np.testing.assert_allclose(getattr(ag, name)(x), ag.jit(getattr(ag, name))(x), 1e-3)


def test_gradients_of_distances_take_no_memory_for_differences() -> None:
    a, b = (ag.tensor(np.random.default_rng(k).random((400, 400), np.float32)) for k in (0, 1))
    ag.grad(lambda a: ag.cdist(a, b).sum())(a)
    before = pool.stats()["live"]  # of other tests
    pool.reset_peak()
    ag.grad(lambda a: ag.cdist(a, b).sum())(a)
    assert pool.stats()["peak"] - before < 10 * a.array.nbytes  # differences are 400 times as large
