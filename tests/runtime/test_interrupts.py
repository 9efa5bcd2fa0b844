"""Signals reach compiled code that runs long, and what it changes is as it was, or complete."""

import os
import signal
import sys
import threading
import time

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.support.worker_threads import aside

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no such signals")


class StoppedError(Exception):
    """What the handler of the signal raises."""


@pytest.fixture(params=[1, 2], ids=["one thread", "two threads"])
def threads(request):
    before = ag.get_num_threads()
    ag.set_num_threads(request.param)
    yield
    ag.set_num_threads(before)


def stop(function, *args, after=0.2, begun=None):
    """Call a function that would run for minutes; the error by which a signal ended it.

    The signal comes so many seconds after the call, or after the event that tells that it is under
    way, however little of the processor this process gets.
    """

    def handler(number, frame):
        raise StoppedError

    def send():
        if begun is not None:
            begun.wait(60)
        time.sleep(after)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)

    old = signal.signal(signal.SIGUSR1, handler)
    sender = threading.Thread(target=send)
    try:
        with pytest.raises(StoppedError) as found:
            sender.start()
            function(*args)
            time.sleep(60)  # a signal that compiled code did not see
        return found.value
    finally:
        sender.join()
        signal.signal(signal.SIGUSR1, old)


def endless(carry, last):
    """Steps of a loop whose number is known when it is over."""
    return ag.while_loop(lambda c: c[0] < last, lambda c: (c[0] + 1, ag.sin(c[1])), carry)


LAST = 1 << 40


def test_a_loop_of_unknown_count(threads):
    run = ag.jit(lambda x, last: endless((ag.tensor(0), x), last)[1])
    x = ag.ones(3)
    run(x, ag.tensor(2))
    stop(run, x, ag.tensor(LAST))
    np.testing.assert_allclose(run(x, ag.tensor(1)).numpy(), np.sin(np.ones(3)), rtol=1e-6)


def test_a_long_scan(threads):
    run = ag.jit(lambda x: ag.scan(lambda c, _: (ag.cos(c), None), x, length=1 << 36)[0])
    stop(run, ag.ones(3))


def test_a_reduction_over_many_pairs(threads):
    run = ag.jit(lambda x: ag.exp(-abs(x[:, None] - x[None])).sum())
    stop(run, ag.ones(300_000), after=0.5)


@pytest.mark.parametrize("function", [
    lambda n: (n * 2.5).sum(),
    lambda n: ag.sin(n[:, None] * 0.5 + ag.arange(4)).sum(0),
    lambda n: (ag.arange(4)[:, None] * n % 11).max(1),
    lambda n: (n[:1 << 22, None] * n[:1 << 23] % 11).sum(),
], ids=["all", "columns", "rows", "pairs"])
def test_a_reduction_that_reads_no_memory(threads, function):
    """Its parts are few beside its length, and each of them polls."""
    run = ag.jit(lambda: function(ag.arange(1 << 45)))
    begin = time.process_time()
    stop(run, after=1.0)
    assert time.process_time() - begin < 4


ROW = ag.tensor(np.random.default_rng(0).normal(size=8_000_000).astype("float32"))


@pytest.mark.native_plans  # the scalar target calls NumPy
@pytest.mark.parametrize(
    "of", [ag.sort, ag.argsort, lambda x: ag.special.itairy(x[:1 << 20])[0]],
    ids=["sort", "argsort", "another library's function"])
def test_a_function_that_is_called(of):
    """It ends before its time, by the processor's clock, which others on the machine leave alone.
    """

    def handler(number, frame):
        raise StoppedError

    run = ag.jit(of)
    run(ROW)
    begin = time.process_time()
    wanted = run(ROW).numpy()
    full = time.process_time() - begin
    old = signal.signal(signal.SIGPROF, handler)
    try:
        for _ in range(10):
            begin = time.process_time()
            signal.setitimer(signal.ITIMER_PROF, full / 8)
            with pytest.raises(StoppedError):
                run(ROW)
                time.sleep(60)
            if (spent := time.process_time() - begin) < 0.8 * full:
                break
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, old)
    assert spent < 0.8 * full
    np.testing.assert_array_equal(run(ROW).numpy(), wanted)


@pytest.mark.parametrize(("name", "operands"), [
    ("eval_hermite", (90_000, 0.3)), ("lpmv", (2.0, 9e4, 0.3)),
])
def test_eager_functions_that_take_as_many_steps_as_an_order(name, operands):
    """Some thousand elements take a second where orders are large; small ones, microseconds."""

    def handler(number, frame):
        raise StoppedError

    run, given = getattr(ag.special, name), [ag.full((4000,), v) for v in operands]
    run(*[ag.ones_like(x[:9]) for x in given])  # which loads SciPy
    old = signal.signal(signal.SIGPROF, handler)
    try:
        begin = time.thread_time()
        signal.setitimer(signal.ITIMER_PROF, 0.02)
        with pytest.raises(StoppedError):
            run(*given)
            time.sleep(60)
        spent = time.thread_time() - begin
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, old)
    assert spent < 0.3


def test_long_lists_are_read_and_made_in_parts():
    """Each is one call of NumPy's otherwise, which keeps Python's lock and sees no signal."""
    seen = []
    old = signal.signal(signal.SIGPROF, lambda number, frame: seen.append(time.process_time()))
    numbers = np.random.default_rng(0).normal(size=3_000_000).tolist()
    try:
        for run in (lambda: ag.tensor(numbers), ag.tensor(numbers).tolist):
            seen.clear()
            signal.setitimer(signal.ITIMER_PROF, 1e-3, 1e-3)
            found = run()
            signal.setitimer(signal.ITIMER_PROF, 0)
            assert len(seen) > 5
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, old)
    assert found == ag.tensor(numbers).numpy().tolist()


@pytest.mark.parametrize(
    "numbers", [[[0.5, 1], [2, 3]] * 30_000, [True] * 40_000 + [2], (1, 2) * 30_000, [[]] * 40_000,
                [2**63] * 40_000 + [-1]],
    ids=["rows", "mixed", "tuple", "empty rows", "large"])
def test_parts_of_lists_are_as_the_whole(numbers):
    whole = np.asarray(numbers)
    found = ag.tensor(numbers, dtype="float64")
    np.testing.assert_array_equal(found.numpy(), whole)
    assert found.tolist() == whole.astype(float).tolist()


def test_lapack_is_left_at_once(monkeypatch):
    """It works on copies beside the main thread; one that is left may still be at them."""
    x = np.random.default_rng(0).normal(size=(520, 520))
    run, over = ag.jit(ag.linalg.solve), threading.Event()

    def stop_within(run, *args):
        begun = threading.Event()
        with monkeypatch.context() as held:
            held.setattr("agnesi.runtime.foreign_calls._call",
                         lambda *args: begun.set() or over.wait(60))
            stop(run, *args, after=0.0, begun=begun)
        assert begun.is_set()

    for n in (520, 516, 512):  # the last two share a version for all sizes
        a = ag.tensor(x[:n, :n])
        np.testing.assert_allclose(run(a, a + 1).numpy(), np.linalg.solve(a.numpy(), a.numpy() + 1),
                                   rtol=1e-6, atol=1e-8)
        stop_within(run, a, a + 1)
    values, a = ag.jit(ag.linalg.svdvals), ag.tensor(x[:200, :200])  # iterates: small ones last too
    np.testing.assert_allclose(values(a).numpy(), np.linalg.svd(a.numpy(), compute_uv=False))
    stop_within(values, a)
    over.set()


@pytest.mark.native_plans
def test_many_kernels_one_after_the_other(threads):
    """None of which is long."""

    def step(x):
        for _ in range(40):
            x = ag.softmax(x @ x, axis=1)
        return x

    run = ag.jit(lambda x: ag.fori_loop(0, 1 << 30, lambda i, y: step(y), x))
    stop(run, ag.ones((200, 200)), after=2.0)


def test_a_call_from_a_handler_of_a_signal():
    """A handler that computes does not end the call, and itself may be long enough to poll."""
    seen = []
    inner = ag.jit(lambda x: ag.scan(lambda c, _: (ag.cos(c), None), x, length=3_000_000)[0])
    inner(ag.ones(2))
    outer = ag.jit(lambda x: ag.scan(lambda c, _: (ag.sin(c), None), x, length=6_000_000)[0])
    wanted = outer(ag.ones(3)).numpy()

    def handler(number, frame):
        seen.append(inner(ag.ones(2)).numpy())

    old = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.03)
    try:
        found = outer(ag.ones(3)).numpy()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_allclose(seen, [[0.739085, 0.739085]], rtol=1e-5)


def test_state_is_as_it_was():
    """A step that is ended before its changes has made none."""
    weight = ag.ones(3)

    @ag.jit
    def step(last):
        value = endless((ag.tensor(0), weight * 2), last)[1]
        weight.add_(value.sum())

    step(ag.tensor(3))
    before = weight.numpy().copy()
    error = stop(step, ag.tensor(LAST))
    np.testing.assert_array_equal(weight.numpy(), before)
    assert not getattr(error, "__notes__", [])


def test_state_that_was_changed_in_part_is_said():
    """The loop comes behind a change in place, so the call cannot be as if it had not been."""
    weight, other = ag.ones(3), ag.ones(100_000)

    @ag.jit
    def step(last):
        weight.add_(1)
        value = endless((ag.tensor(0), weight * 2), last)[1]
        other.add_(value.sum())
        return value

    step(ag.tensor(3))
    error = stop(step, ag.tensor(LAST))
    told = " ".join(getattr(error, "__notes__", []))
    assert (weight.numpy() == 3).all() == ("in place" in told)
    assert (other.numpy() == other.numpy()[0]).all()


def test_other_threads_run_meanwhile():
    """A loop of unknown count leaves Python to others, who cannot be interrupted by it."""
    ticks = []
    done = threading.Event()

    def count():
        while not done.wait(0.005):
            ticks.append(1)

    run = ag.jit(lambda x, last: endless((ag.tensor(0), x), last)[1])
    run(ag.ones(3), ag.tensor(2))
    counter = threading.Thread(target=count)
    counter.start()
    try:
        stop(run, ag.ones(3), ag.tensor(LAST), after=0.5)
    finally:
        done.set()
        counter.join()
    assert len(ticks) > 5


def test_a_fork_waits_for_work_that_was_interrupted():
    """A fork beside a product of NumPy's hangs in OpenBLAS, which waits for its threads."""
    done, interrupted = [], threading.Event()

    def slow():
        interrupted.wait(30)
        time.sleep(0.2)
        done.append(1)

    stop(aside, 1 << 30, slow, after=0.05)
    interrupted.set()
    child = os.fork()
    if not child:
        os._exit(len(done))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
