"""Kernels that run in sequence look for signals, and are left at any look."""

import ctypes
import functools

import numpy as np
import pytest

import agnesi as ag
from agnesi.codegen import interrupts
from agnesi.codegen.kernels.gemm import tile
from agnesi.codegen.library import polls as library_polls
from agnesi.codegen.library.lanes import shared
from agnesi.codegen.loops import polled_loops
from agnesi.compiler.library import functions, generated
from agnesi.core.ir.foreign import RESOLVERS
from agnesi.core.support.forks import once

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
    monkeypatch.setattr(polled_loops, "_LOOK_POINTS", OFTEN)
    monkeypatch.setattr(interrupts, "_LOOK_ELEMENTS", OFTEN)
    monkeypatch.setattr(library_polls, "_POLL_ELEMENTS", 4 * OFTEN)  # whole blocks of vectors
    # functions of the library that are made here call what is gone behind the test
    monkeypatch.setattr(functions, "_begun", once(functions._begun.__wrapped__))
    monkeypatch.setattr(generated, "_begun", once(generated._begun.__wrapped__))
    monkeypatch.setattr(generated, "_code", functools.cache(generated._code.__wrapped__))
    with ag.config(cache=False):
        yield Polls
    del kept


LONG = ag.tensor(np.random.default_rng(1).normal(size=(4096, 16)))
UNITS = 16  # each of which looks once or twice before it is left
SHARED = {
    "fft": lambda x: abs(ag.fft.fft(x + 1j)), "rfft": lambda x: abs(ag.fft.rfft(x)),
    "irfft": lambda x: ag.fft.irfft(x * (1 + 1j)),
    "columns": lambda x: abs(ag.fft.fft(x.reshape(16, 4096) + 1j, axis=0)),
    "systems": lambda x: ag.linalg.inv(x.reshape(4096, 4, 4) + 9 * ag.eye(4)),
    "cholesky": lambda x: ag.linalg.cholesky(
        x.reshape(4096, 4, 4) @ x.reshape(4096, 4, 4).mT + ag.eye(4)),
}


@pytest.mark.native_plans
def test_functions_of_triangles_are_left_at_any_column(polls):
    x = ag.tensor(np.triu(X[:1600].reshape(40, 40) * 0.1 + 2 * np.eye(40)))
    run = ag.jit(ag.linalg.logm)
    run(x)
    looks = polls.calls
    assert looks >= 9 * 40
    for last in (1, looks // 3, looks - 1):
        polls.calls, polls.last = 0, last
        with pytest.raises(RuntimeError, match="stopped with code 1"):
            run(x)
        assert polls.calls <= last + 12, last


@pytest.mark.native_plans
@pytest.mark.parametrize("name", ["products", "sums", "sums of open length"])
def test_what_is_one_unit_or_few_is_left_at_any_look(polls, name, monkeypatch):
    monkeypatch.setattr(interrupts, "_POLLED_PRODUCT_ELEMENTS", 1)
    monkeypatch.setattr(tile, "_LONG_MULTIPLY_ADDS", 1)
    if name == "products":  # of a few units, each with a long sum
        run, args = ag.jit(ag.matmul), (ag.ones((64, 20_000)), ag.ones((20_000, 64)))
    else:
        run, args = ag.jit(lambda x: (x * 2).sum()), (ag.tensor(X),)
        if name == "sums of open length":
            run(args[0][1:]), run(args[0][2:])
    polls.calls = 0
    run(*args)
    looks = polls.calls
    assert looks >= 10
    for last in (1, looks // 2):
        polls.calls, polls.last = 0, last
        with pytest.raises(RuntimeError, match="stopped with code 1"):
            run(*args)
        assert polls.calls <= last + 4, last


@pytest.mark.native_plans
@pytest.mark.parametrize("name", SHARED)
def test_what_threads_share_is_left_at_any_look(polls, name, monkeypatch):
    monkeypatch.setattr(shared, "_LOOK_BYTES", 1 << 13)
    run = ag.jit(SHARED[name])
    np.testing.assert_allclose(run(LONG).numpy(), SHARED[name](LONG).numpy(), rtol=1e-6)
    looks = polls.calls
    assert looks >= 48
    for last in (1, 2, looks // 2):
        polls.calls, polls.last = 0, last
        with pytest.raises(RuntimeError, match="stopped with code 1"):
            run(LONG)
        assert polls.calls <= last + 2 * UNITS + 2, last


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
