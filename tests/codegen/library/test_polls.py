"""Every library function is left at any poll: soon, and nothing is written beside its results."""

from __future__ import annotations

import ctypes
import functools

import numpy as np
import pytest

from agnesi.codegen.library import polls
from agnesi.codegen.library.mersenne.draws import mersenne_module
from agnesi.codegen.library.rowwise.blocks import blocks_module
from agnesi.codegen.library.rowwise.compress import chosen_module
from agnesi.codegen.library.rowwise.extremes import extremes_module
from agnesi.codegen.library.rowwise.indexed import add_module, take_module
from agnesi.codegen.library.rowwise.running import running_module
from agnesi.codegen.library.sorting.first import first_module
from agnesi.codegen.library.sorting.module import sort_module
from agnesi.compiler.library.functions import _MAKERS
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
    result = np.full(x.size + 2 * BESIDE, 77, np.int64 if wanted.positions else x.dtype)
    room = np.full(int(wanted.workspace) + 9 * N * 8, 77, np.uint8)
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


@pytest.mark.share(4)
@pytest.mark.parametrize(("kind", "dtype", "places", "span"), CASES)
def test_a_long_row_is_left_at_any_poll(kind, dtype, places, span):
    x = rows(kind, dtype)
    wanted = Sorting(x.shape, dtype, 0, False, places, *span)
    code = compiled(sort_module, f"{dtype} positions" if places else dtype)
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


LONG = 64 * OFTEN
PLACES = np.random.default_rng(1).integers(0, LONG, LONG)
FLOATS = np.random.default_rng(2).integers(-500, 500, (8, LONG)).astype("float32")
RANDOM = np.random.default_rng(3).random(LONG) < 0.4


def extreme(x):
    rows, n = x.shape
    return extremes_module, "maximum float32", (x, "result", n, rows, 1), x.argmax(1)


def take(rows):
    x = FLOATS[:rows]
    return (take_module, "4 int64", (x, PLACES, "result", np.empty(LONG, np.int32),
                                     np.ones(1, bool), rows, LONG, LONG, 1), x[:, PLACES])


def add_at(rows):
    wanted = np.zeros((rows, LONG), "float32")
    for row, x in zip(wanted, FLOATS, strict=False):
        np.add.at(row, PLACES, x)
    return (add_module, "float32 int64", (FLOATS, PLACES, "result", np.empty(LONG, np.int32),
                                          np.ones(1, bool), rows, LONG, LONG, 1), wanted)


def blocks():
    x = FLOATS.reshape(-1, 32)
    places = PLACES[: len(x)] % len(x)
    return (blocks_module, "int64", (x, places, "result", np.empty(1), np.ones(1, bool), 1,
                                     len(x), len(places), 1, 128), x[places])


def chosen(flags):
    return chosen_module, "bool", (flags, "result", LONG, flags.sum()), flags.nonzero()[0]


WITH_NAN = np.where(np.arange(8 * LONG) == 5 * LONG + 7, np.nan, FLOATS.ravel()[:8 * LONG])
ROWWISE = {
    "extreme of one row": extreme(FLOATS.reshape(1, -1)), "extreme of rows": extreme(FLOATS),
    "extreme that is NaN": extreme(WITH_NAN.astype("float32")[None]),
    "extreme at the end": extreme(np.arange(LONG + 5, dtype="float32")[None]),
    "take of one row": take(1), "take of rows": take(7),
    "add at of one row": add_at(1), "add at of rows": add_at(7), "blocks": blocks(),
    "chosen, some": chosen(RANDOM), "chosen, few": chosen(PLACES % 50 == 0),
    "chosen, all": chosen(PLACES >= 0),
}


@pytest.mark.parametrize("case", ROWWISE)
def test_work_on_rows_is_left_at_any_poll(case):
    maker, name, table, wanted = ROWWISE[case]
    code = compiled(maker, name)
    bytes_ = wanted.nbytes

    def call(last):
        SIGNAL.calls, SIGNAL.last = 0, last
        room = np.full(bytes_ + 2 * BESIDE, 0 if maker is add_module else 77, np.uint8)
        result = room[BESIDE: -BESIDE]
        numbers = [result.ctypes.data if isinstance(t, str) else
                   t.ctypes.data if isinstance(t, np.ndarray) else int(t) for t in table]
        Run(code.address("run"))((ctypes.c_int64 * len(numbers))(*numbers), 0, 1, 0)
        assert (room[:BESIDE] == room[0]).all()
        assert (room[-BESIDE:] == room[0]).all()
        return result.view(wanted.dtype).reshape(wanted.shape), SIGNAL.calls

    found, times = call(0)
    np.testing.assert_array_equal(found, wanted)
    elements = max(t.size for t in table if isinstance(t, np.ndarray))
    assert times >= min(elements, LONG) // OFTEN // 2
    for at in (1, 2, *range(3, times, max(times // 20, 1)), times):
        assert call(at)[1] <= at + MOST_AFTER


@pytest.mark.parametrize("method", ["random_sample", "standard_normal", "standard_exponential"])
def test_draws_are_left_at_any_poll(method):
    """What was drawn until then is right."""
    code = compiled(mersenne_module, method)
    run = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 2, ctypes.c_int64)(
        code.address("run"))
    _, key, position, *_ = np.random.RandomState(7).get_state()
    wanted = getattr(np.random.RandomState(7), method)(LONG)

    def call(last):
        SIGNAL.calls, SIGNAL.last = 0, last
        state = np.concatenate([key, [position, 0, 0, 0]]).astype(np.uint32)
        room = np.full(LONG + 2 * BESIDE, -1.0)
        assert run(state.ctypes.data, room[BESIDE:].ctypes.data, LONG) == 0
        assert (room[:BESIDE] == -1).all() and (room[-BESIDE:] == -1).all()
        return room[BESIDE: -BESIDE], SIGNAL.calls

    found, times = call(0)
    np.testing.assert_array_equal(found, wanted)
    assert times >= LONG // OFTEN // 2
    for at in range(1, times, max(times // 20, 1)):
        found, polled = call(at)
        assert polled <= at + MOST_AFTER
        done = int((found != -1).sum())
        assert done < LONG
        np.testing.assert_array_equal(found[:done], wanted[:done])


def test_every_library_has_a_case():
    known = {name.split(",")[0].split(" of ")[0].split(" that ")[0].split(" at the ")[0]
             for name in ROWWISE}
    assert known | {"sort", "first", "running", "mersenne"} == set(_MAKERS)
