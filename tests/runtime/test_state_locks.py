"""Threads that use what a compiled call changes wait for each other, and nobody waits for ever."""

import contextvars
import os
import signal
import sys
import threading
import time
import types

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T
from agnesi.compiler.compilation.compiled import Compiled
from agnesi.runtime import support

SIZE = 40_000  # long enough to run without Python's lock
ONE = ag.ones(())


@pytest.fixture(autouse=True)
def one_thread():
    before = ag.get_num_threads()
    ag.set_num_threads(1)
    yield
    ag.set_num_threads(before)
    assert support.variable("lock_thread_count").value == 0
    assert support.variable("lock_waiters").value == 0


def at_once(*functions, calls=60):
    """Call functions many times, each in a thread of its own."""
    errors = []
    start = threading.Barrier(len(functions))

    def run(function):
        try:
            start.wait(10)
            for _ in range(calls):
                function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(f,), daemon=True) for f in functions]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not errors
    assert not any(t.is_alive() for t in threads)


def jitted():
    w = ag.zeros(SIZE)

    def step():
        w.add_(ONE)
        return ag.exp(w * 1e-6).sum()

    return ag.jit(step), lambda: w.numpy()


def function():
    w = ag.shared(np.zeros(SIZE))
    return (ag.function([], T.exp(w * 1e-6).sum(), updates={w: w + 1}),
            lambda: w.get_value(borrow=True))


def mixed():
    w = ag.shared(np.zeros(SIZE))
    f = ag.function([], T.exp(w * 1e-6).sum(), updates={w: w + 1})

    @ag.jit
    def step():
        w.storage.add_(1.0)
        return w.storage.sum()

    turns = iter(range(10**6))
    return lambda: (f if next(turns) % 2 else step)(), lambda: w.get_value(borrow=True)


def numbers():
    class Model:
        count, seen = 0, None

    m, w = Model(), ag.zeros(SIZE)

    @ag.jit
    def step():
        m.count += 1
        m.seen = w + m.count
        w.add_(ONE)
        return ag.exp(w * 1e-6).sum()

    return step, lambda: np.array([m.count, *w.numpy()[::100]])


@pytest.mark.parametrize("make", [jitted, function, mixed, numbers])
def test_no_step_is_lost(make):
    step, state = make()
    for _ in range(5):
        step()
    at_once(step, step, step)
    assert set(state()) == {185}


def test_readers_see_whole_steps():
    """A state is read as it is between two steps, never in the middle of one."""
    w = ag.zeros(SIZE)

    @ag.jit
    def step():
        w.add_(ONE)
        return ag.exp(w * 1e-6).sum()

    @ag.jit
    def spread(x):
        return w.max() - w.min() + x * ag.sin(w).sum() * 0

    found = []
    step()
    at_once(step, lambda: found.append(float(spread(ONE))), step)
    assert set(found) == {0.0}


def test_states_in_any_order():
    a, b = ag.zeros(SIZE), ag.zeros(SIZE)

    def both(first, second):
        @ag.jit
        def step():
            first.add_(ONE)
            second.sub_(ag.exp(first * 1e-9).mean())

        return step

    steps = both(a, b), both(b, a), both(a, b)
    at_once(*steps, calls=100)
    total = a.numpy() + b.numpy()
    np.testing.assert_allclose(total, total[0])


def waiting(w, meet, writes):
    """A function that reads or writes a state, and calls Python in between."""

    def pause(x):
        meet()
        return x

    @ag.jit
    def run():
        x = ag.callback(pause, w, w)
        if writes:
            w.add_(ONE)
        return x.sum()

    return run


def test_readers_share_a_turn_and_writers_do_not():
    for writes in (False, True):
        w, barrier = ag.zeros(SIZE), threading.Barrier(1)
        run = waiting(w, lambda: barrier.wait(0.3), writes)  # noqa: B023
        run()
        barrier, alone = threading.Barrier(2), []

        def call():
            try:
                run()  # noqa: B023
            except threading.BrokenBarrierError:
                alone.append(True)  # noqa: B023

        at_once(call, call, calls=1)
        assert alone == ([True, True] if writes else [])
        assert set(w.numpy()) == {1.0 if writes else 0.0}


def test_a_call_out_of_a_call_does_not_wait_for_it():
    w = ag.zeros(SIZE)

    @ag.jit
    def inner():
        w.add_(ONE)
        return ag.exp(w).sum()

    inner()
    outer = waiting(w, lambda: inner() and ag.random.uniform(size=2), True)
    outer()
    at_once(outer, outer, inner, calls=10)


def held(w):
    """A thread inside of a step that changes ``w``, and how to let it go on."""
    inside, go = threading.Event(), threading.Event()
    go.set()

    def pause():
        inside.set()
        go.wait(20)

    step = waiting(w, pause, True)
    step()
    inside.clear()
    go.clear()
    thread = threading.Thread(target=step, daemon=True)
    thread.start()
    inside.wait(10)
    return step, thread, go


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no such signals")
def test_who_waits_can_be_interrupted():
    class StoppedError(Exception):
        pass

    def handler(number, frame):
        raise StoppedError

    w = ag.zeros(SIZE)
    step, thread, go = held(w)
    old = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    began = time.monotonic()
    try:
        with pytest.raises(StoppedError):
            step()
        assert time.monotonic() - began < 10
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
        go.set()
        thread.join(10)
    assert set(w.numpy()) == {2.0}
    step()
    assert set(w.numpy()) == {3.0}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_child_does_not_wait_for_threads_that_it_has_not():
    w = ag.zeros(SIZE)
    _, thread, go = held(w)

    @ag.jit
    def other():
        w.add_(ONE)
        return ag.exp(w).sum()

    child = os.fork()
    if child == 0:
        other()
        os._exit(0 if set(w.numpy()) == {2.0} else 1)
    go.set()
    thread.join(10)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    other()
    assert set(w.numpy()) == {3.0}


def test_draws_of_threads_are_others():
    seen = []
    drawn = ag.jit(lambda: ag.random.uniform(size=SIZE))

    def compiled():
        seen.append(drawn().numpy()[:3].tobytes())

    def eager():
        seen.append(ag.random.uniform(size=SIZE).numpy()[:3].tobytes())

    compiled()
    at_once(compiled, eager, compiled)
    assert len(set(seen)) == 181


@pytest.mark.parametrize("kind", ["attribute", "list", "dict"])
@pytest.mark.parametrize("call", [1, 2, 3])
def test_numbers_that_others_change_while_a_version_is_compiled(kind, call, monkeypatch):
    """A call works on numbers as they are when it runs, not as they were when it was traced."""
    o, parts, entries = types.SimpleNamespace(n=0.0), [0.0], {"n": 0.0}
    place = {"attribute": vars(o), "list": parts, "dict": entries}[kind]
    key = 0 if kind == "list" else "n"

    def step(x):
        if kind == "attribute":
            o.n = o.n + x.sum().item()
        else:
            place[key] = place[key] + x.sum().item()

    compiled, turn = ag.jit(step), {"meanwhile": 0}
    follow = Compiled.follow

    def followed(self):
        follow(self)
        turn["meanwhile"] += 1
        if turn["meanwhile"] == call:  # as if another thread had done its work
            place[key] = place[key] + 100.0

    monkeypatch.setattr(Compiled, "follow", followed)
    for _ in range(5):
        compiled(ag.ones(2))
    assert turn["meanwhile"] >= call and place[key] == 110.0


def test_a_trace_that_counts_for_nothing_leaves_context_variables_as_they_were():
    variable = contextvars.ContextVar("k", default=1.0)

    @ag.jit
    def step(x):
        variable.set(variable.get() + 2)
        return str(x.sum().item())  # what needs a value: the function runs eagerly

    with pytest.warns(RuntimeWarning, match="runs eagerly"):
        assert [step(ag.ones(1)) for _ in range(3)] == ["1.0"] * 3
    assert variable.get() == 7.0
