"""Python called from compiled code."""

import gc
import signal
import sys
import threading
import time
import traceback

import numpy as np
import pytest

import agnesi as ag
from agnesi.runtime import entry, machine
from agnesi.runtime.callbacks import Callback, Callbacks
from agnesi.runtime.entry import Arg, EntrySpec, Out

pytestmark = pytest.mark.usefixtures("little_to_collect")

# Calls Python function 1 on (argument 0, output 0) and returns its code.
IR = """
define i32 @body(ptr %bufs, ptr %rt) nounwind {
  %at = getelementptr ptr, ptr %rt, i64 1
  %call = load ptr, ptr %at
  %code = call i32 %call(i64 1, ptr %bufs)
  ret i32 %code
}
"""
SHAPE = (("float32", (2, 3)),)
X = np.arange(6, dtype="f4").reshape(2, 3)


def compiled(function, *, copy=True, release=True):
    table = Callbacks([Callback(print, (), ()), Callback(function, SHAPE, SHAPE, copy=copy)])
    return entry.bind(
        machine.load(IR),
        EntrySpec((Arg("array", *SHAPE[0]),), (Out(*SHAPE[0]),), "single", 0, release),
        slow=lambda *a: "slow",
        failed=table.failed,
        callback=table,
    )


@pytest.mark.share(2)
@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("release", [True, False])
def test_values_go_in_and_out(copy, release):
    f = compiled(lambda x: x * 2 + 1, copy=copy, release=release)
    assert (f(X) == X * 2 + 1).all()
    assert (compiled(lambda x: [np.flip(x)])(X) == np.flip(X)).all()


def test_inputs_are_safe():
    kept = []
    f = compiled(lambda x: kept.append(x) or x)
    f(X)
    assert kept[0].base is None and (kept[0] == X).all()

    def write(x):
        x[0] = 1

    with pytest.raises(ValueError, match="read-only"):
        compiled(write, copy=False)(X)


@pytest.mark.parametrize("error", [ValueError("mine"), KeyboardInterrupt()])
def test_exceptions_come_through(error):
    def fail(x):
        raise error

    f = compiled(fail)
    for _ in range(3):
        with pytest.raises(type(error)) as caught:
            f(X)
        assert caught.value is error
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert "fail" in names


def test_wrong_results_are_explained():
    with pytest.raises(ValueError, match=r"shape \(3,\) where \(2, 3\) was declared"):
        compiled(lambda x: np.zeros(3))(X)
    with pytest.raises(ValueError, match="returned 2 arrays where 1 were declared"):
        compiled(lambda x: (x, x))(X)
    with pytest.raises(ValueError, match="returned 0 arrays where 1"):
        compiled(lambda x: ())(X)


def test_a_code_without_exception_is_reported():
    with pytest.raises(RuntimeError, match="code 5"):
        Callbacks([]).failed(5)


def test_threads_get_their_own_exceptions():
    def fail(x):
        raise ValueError(str(threading.get_ident()))

    f, wrong = compiled(fail), []

    def run():
        for _ in range(200):
            try:
                f(X)
            except ValueError as error:
                if str(error) != str(threading.get_ident()):
                    wrong.append(error)

    callers = [threading.Thread(target=run) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not wrong


def test_nothing_leaks():
    x = X.copy()
    f = compiled(lambda a: a + 1)
    f(x)
    gc.collect()
    before = sys.getrefcount(x), len(gc.get_objects())
    for _ in range(2000):
        f(x)
    gc.collect()
    assert sys.getrefcount(x) == before[0]
    assert len(gc.get_objects()) - before[1] < 100


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no such signals")
def test_a_handlers_exception_at_the_begin_of_a_callback_is_raised():
    """Python runs a handler, whose signal came in native code, before the callback's first line."""
    class StoppedError(Exception):
        pass

    def handler(number, frame):
        raise StoppedError

    def first(x):
        signal.setitimer(signal.ITIMER_REAL, 1e-4)
        return x

    @ag.jit
    def run(x):
        y = ag.callback(first, x, x)
        for _ in range(8):
            y = ag.cos(y + y[::-1])
        return ag.callback(lambda x: x * 2, x, y)

    x = ag.ones(20_000)
    old = signal.signal(signal.SIGALRM, lambda number, frame: None)
    try:
        wanted = run(x).numpy()
        for _ in range(20):
            signal.signal(signal.SIGALRM, handler)
            with pytest.raises(StoppedError):
                run(x)
                for _ in range(600):  # a signal that another thread gets ends no sleep
                    time.sleep(0.1)
            signal.signal(signal.SIGALRM, lambda number, frame: None)
            np.testing.assert_array_equal(run(x).numpy(), wanted)
            signal.setitimer(signal.ITIMER_REAL, 0)  # what has not come yet is for no later call
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def test_a_call_that_does_not_give_its_token_back_is_told():
    with pytest.raises(KeyboardInterrupt, match="unraisablehook"):
        Callbacks([]).failed(1)
