"""Sorts and running sums that are left at any poll: soon, and nothing is written beside theirs."""

from __future__ import annotations

import ctypes
import functools

import numpy as np
import pytest

from agnesi.codegen.library import polls
from agnesi.codegen.library.rowwise.running import running_module
from agnesi.codegen.library.sorting.first import first_module
from agnesi.codegen.library.sorting.module import sort_module
from agnesi.core.ir.calls.sorting import VECTOR_BYTES, Sorting
from agnesi.core.ir.foreign import RESOLVERS
from agnesi.runtime import machine

Poll = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64)
Run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 3)
N, BESIDE, OFTEN = 5000, 64, 256
#: Polls that may still come once one says that the function is to be left.
MOST_AFTER = 3


class Signal:
    """A poll that says so at its ``last`` call and ever after, and how often it was called."""

    def __init__(self):
        self.calls, self.last = 0, 0
        self.address = Poll(self.poll)

    def poll(self, thread):
        self.calls += 1
        return int(0 < self.last <= self.calls)


SIGNAL = Signal()


@functools.cache
def compiled(maker, name):
    """A function that polls ``SIGNAL`` after few elements."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(polls, "_POLL_ELEMENTS", OFTEN)
        patch.setitem(RESOLVERS, "runtime", lambda symbol: (
            ctypes.cast(SIGNAL.address, ctypes.c_void_p).value))
        return machine.load(maker(name, machine.native()), target=machine.native())


def call(code, x, wanted, more=(), last=0):
    """The result, or what was left of it; and the polls."""
    SIGNAL.calls, SIGNAL.last = 0, last
    result = np.full(x.size + 2 * BESIDE, 77, np.int64 if wanted.places else x.dtype)
    room = np.full(int(wanted.room) + 9 * N * 8, 77, np.uint8)
    start = -(-room.ctypes.data // VECTOR_BYTES) * VECTOR_BYTES
    inside = result[BESIDE:]
    table = (ctypes.c_int64 * 12)(x.ctypes.data, inside.ctypes.data, start, *wanted.numbers, *more)
    Run(code.address("run"))(table, 0, wanted.units, 0)
    assert (result[:BESIDE] == 77).all()
    assert (result[x.size + BESIDE:] == 77).all()
    return result[BESIDE: -BESIDE].reshape(x.shape), SIGNAL.calls


def rows(kind, dtype):
    rng = np.random.default_rng(0)
    if kind == "zeros":
        zeros = rng.choice([0.0, -0.0], N)
        return np.where(rng.random(N) < 0.3, zeros, rng.normal(size=N)).astype(dtype)
    if kind == "near":  # 64-bit keys that places cut alike
        return np.where(rng.random(N) < 0.5, rng.random(N) * 1e-290, 1.0).astype(dtype)
    if kind == "columns":
        return rng.normal(size=(N // 3, 3)).astype(dtype)
    return np.sort(rng.normal(size=N)).astype(dtype) if kind == "sorted" else \
        rng.normal(size=N).astype(dtype)


CASES = [
    ("any", "float32", False, ()), ("any", "float32", True, ()), ("any", "float64", True, ()),
    ("any", "float16", False, (40, 41)), ("any", "float32", False, (2500, 2501)),
    ("sorted", "float64", False, ()), ("zeros", "float32", False, ()),
    ("near", "float64", True, ()), ("columns", "float32", False, ()),
    ("columns", "float64", True, ()),
]


@pytest.mark.parametrize(("kind", "dtype", "places", "span"), CASES)
def test_a_long_row_is_left_at_any_poll(kind, dtype, places, span):
    x = rows(kind, dtype)
    wanted = Sorting(x.shape, dtype, 0, False, places, *span)
    code = compiled(sort_module, f"{dtype} places" if places else dtype)
    found, times = call(code, x, wanted)
    right = np.argsort(x, 0, kind="stable") if places else np.sort(x, 0, kind="stable")
    first, last = span or (0, len(x))
    np.testing.assert_array_equal(found[first:last], right[first:last])
    assert times >= 2 * (x.size // OFTEN)
    for at in (1, 2, *range(3, times, max(times // 40, 1)), times):
        _, calls = call(code, x, wanted, last=at)
        assert calls <= at + MOST_AFTER


def test_the_first_few_places_are_left_at_any_poll():
    x, k = rows("any", "float32"), 20
    wanted = Sorting(x.shape, "float32", 0, False, True)
    code = compiled(first_module, "float32")
    found, times = call(code, x, wanted, (k,))
    np.testing.assert_array_equal(found[:k], np.argsort(x)[:k])
    for at in range(1, times + 1):
        assert call(code, x, wanted, (k,), at)[1] <= at + MOST_AFTER


@pytest.mark.parametrize("name", ["add int64", "add int64 reverse"])
def test_running_sums_are_left_at_any_poll(name):
    x = np.arange(2 * N).reshape(2, N)
    code, result = compiled(running_module, name), np.full(2 * N + BESIDE, 77)
    table = (ctypes.c_int64 * 5)(x.ctypes.data, result.ctypes.data, N, 2, 1)
    for last in (0, 1, 2, N // OFTEN, 2 * N // OFTEN - 2):
        SIGNAL.calls, SIGNAL.last = 0, last
        Run(code.address("run"))(table, 0, 1, 0)
        assert (result[-BESIDE:] == 77).all()
        if last:
            assert SIGNAL.calls <= last + MOST_AFTER
            continue
        turn = -1 if "reverse" in name else 1
        np.testing.assert_array_equal(result[:-BESIDE].reshape(2, N),
                                      x[:, ::turn].cumsum(1)[:, ::turn])
        assert SIGNAL.calls >= 2 * N // OFTEN - 2
