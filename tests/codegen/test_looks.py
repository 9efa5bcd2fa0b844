"""Kernels that run in sequence look for signals, and are left at any look."""

import ctypes

import numpy as np
import pytest

import agnesi as ag
from agnesi.codegen import interrupts
from agnesi.codegen.loops import nest
from agnesi.core.ir.foreign import RESOLVERS

N, OFTEN = 1600, 16
X = np.random.default_rng(0).normal(size=N)
PROGRAMS = {
    "one row": lambda x: ag.cummax(x, 0)[0],
    "rows": lambda x: ag.cummin(x.reshape(2, N // 2), 1)[0],
    "columns": lambda x: ag.cummax(x.reshape(N // 4, 4), 0)[0],
    "between others": lambda x: ag.cummax(x.reshape(8, N // 8)[::2] * 2, 1)[0].sum(0) + 1,
    "added at places": lambda x: ag.index_add(
        ag.zeros((7, 2), dtype="float64"), 0, ag.arange(N // 2) % 7, x.reshape(N // 2, 2)),
    "LAPACK on a stack": lambda x: ag.linalg.eigvalsh(x.reshape(N // 16, 4, 4)),
}


@pytest.fixture
def polls(monkeypatch):
    """Counts looks of programs that are compiled here; the ``last`` one ends the program."""
    known = RESOLVERS["runtime"]

    class Polls:
        calls, last = 0, 0

    def poll(thread):
        Polls.calls += 1
        return int(0 < Polls.last <= Polls.calls)

    kept = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64)(poll)
    address = ctypes.cast(kept, ctypes.c_void_p).value
    monkeypatch.setitem(RESOLVERS, "runtime",
                        lambda name: address if name == "poll" else known(name))
    monkeypatch.setattr(nest, "_LOOK_POINTS", OFTEN)
    monkeypatch.setattr(interrupts, "_LOOK_ELEMENTS", OFTEN)
    with ag.config(cache=False):
        yield Polls
    del kept


@pytest.mark.native_plans
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_loop_in_sequence_is_left_at_any_look(polls, name):
    x = ag.tensor(X)
    run = ag.jit(PROGRAMS[name])
    np.testing.assert_allclose(run(x).numpy(), PROGRAMS[name](x).numpy(), rtol=1e-2)
    looks = polls.calls
    assert looks >= N // OFTEN // 8
    for last in (1, 2, looks // 2, looks):
        polls.calls, polls.last = 0, last
        with pytest.raises(RuntimeError, match="stopped with code 1"):
            run(x)
        assert polls.calls <= last + 2, last
