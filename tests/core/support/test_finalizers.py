"""An interrupt in a finalizer, or around a fork, is raised in the program; no lock stays taken."""

import _imp
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from contextlib import suppress

import pytest

import agnesi as ag
from agnesi.core.support import finalizers, forks, undo
from agnesi.core.support.undo import Block, Opened
from agnesi.runtime.entry import Scratch


@pytest.fixture(autouse=True)
def hook(monkeypatch):
    """The library's hook: pytest has one of its own; and Python's handler, which a process that a
    shell started in the background has not."""
    monkeypatch.setattr(sys, "unraisablehook", finalizers.hook)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupting(code):
    """What to trace a program with, so that the first call of ``code`` is interrupted."""
    def trace(frame, event, argument):
        if frame.f_code is code:
            sys.settrace(None)
            raise KeyboardInterrupt
    return trace


@pytest.mark.parametrize("kind", [Block, Scratch])
def test_an_interrupt_in_a_finalizer_is_raised_after_it(kind):
    before, x = sys.gettrace(), kind.__new__(kind)
    sys.settrace(interrupting(kind.__del__.__code__))
    try:
        with pytest.raises(KeyboardInterrupt):
            del x
            (lambda: None)()  # Python handles signals when a function begins
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("kind", [
    weakref.WeakKeyDictionary, weakref.WeakValueDictionary, weakref.WeakSet])
def test_an_interrupt_where_a_weak_dictionary_loses_a_key_is_raised_after_it(kind):
    class Key:
        pass

    before, x = sys.gettrace(), Key()
    held = kind([x] if kind is weakref.WeakSet else {x: 0} if kind is weakref.WeakKeyDictionary
                else {1: x})
    sys.settrace(interrupting(held._remove.__code__))
    try:
        with pytest.raises(KeyboardInterrupt):
            del x
            (lambda: None)()
    finally:
        sys.settrace(before)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="this system shows no open files")
def test_an_interrupt_between_any_two_instructions_leaves_no_file_open(tmp_path):
    """Python handles signals behind the call that opened a file, before its number is kept."""
    place, before = str(tmp_path / "file"), sys.gettrace()
    open(place, "w").close()
    interrupted, left = 0, [0]

    def trace(frame, event, argument):
        if frame.f_code.co_filename != undo.__file__ or frame.f_code.co_name == "__del__":
            return None
        frame.f_trace_opcodes = True
        left[0] -= event == "opcode"
        if left[0] == 0 and event == "opcode":
            raise KeyboardInterrupt
        return trace

    while left[0] <= 0:
        interrupted += 1
        left = [interrupted]
        with suppress(KeyboardInterrupt):
            sys.settrace(trace)
            try:
                with Opened(place, os.O_RDONLY) as file:
                    os.read(file, 1)
            finally:
                sys.settrace(before)
        links = [os.path.join("/proc/self/fd", name) for name in os.listdir("/proc/self/fd")]
        assert place not in [os.readlink(link) for link in links if os.path.islink(link)]
    assert interrupted > 50


def test_other_errors_are_told_as_before(monkeypatch):
    told = []
    monkeypatch.setattr(finalizers, "_hook_before", lambda what: told.append(what.exc_type))

    class Theirs:
        def __init__(self, error):
            self.error = error

        def __del__(self):
            raise self.error

    Theirs(KeyboardInterrupt())
    Theirs(ValueError())
    assert told == [KeyboardInterrupt, ValueError]


def test_what_the_collector_and_weak_references_call_runs_no_line_of_python():
    import gc
    import types

    x = ag.ones(2, requires_grad=True)
    x.register_hook(lambda g: g)
    for called in (*gc.callbacks, *(r.__callback__ for r in weakref.getweakrefs(x))):
        ours = getattr(called, "__module__", None) or ""
        assert not (isinstance(called, types.FunctionType) and ours.startswith("agnesi")), called


def test_the_collector_is_seen_at_work():
    import gc

    seen = []

    class Cycle:
        def __del__(self):
            seen.append(forks._Collector.threads.get(forks._collector))

    x = Cycle()
    x.itself = x
    del x
    gc.collect()
    assert seen == [threading.get_ident()]
    assert forks._collector not in forks._Collector.threads


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize("line", range(12))
def test_an_interrupt_while_a_fork_waits_leaves_no_lock(line, monkeypatch):
    """At each line of it; the fork waits on, and the interrupt comes afterwards, at the latest in
    what another library does behind a fork, where Python prints it.
    """
    before, count, printed = sys.gettrace(), [0], []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: printed.append(unraisable))

    def trace(frame, event, argument):
        if frame.f_code is not forks._wait.__code__:
            return None
        count[0] += event == "line"
        if count[0] == line + 1:
            count[0] += 1
            raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    struck = False
    try:
        if os.fork() == 0:
            os._exit(0)
        sys.settrace(before)
        if count[0] > line and not printed:
            time.sleep(5.0)
    except KeyboardInterrupt:
        struck = True
    finally:
        sys.settrace(before)
    assert (struck or bool(printed)) is (count[0] > line)
    os.waitpid(-1, 0)
    taken = []
    other = threading.Thread(target=lambda: taken.append(forks._lock.acquire(timeout=10)
                                                         and forks._lock.release()))
    other.start()
    other.join()
    assert taken == [None] and not forks._forking


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_what_others_do_behind_a_fork_is_not_interrupted():
    """They were registered later, as ``logging`` that is imported later and gives its lock back."""
    program = """
import os, signal, time
import agnesi as ag
from agnesi.core.support import forks
done = []
def behind():
    for _ in range(1000):
        len(())
    done.append(1)
os.register_at_fork(after_in_parent=behind)
forks._struck.append(KeyboardInterrupt())
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    if os.fork() == 0:
        os._exit(0)
    time.sleep(5.0)
except KeyboardInterrupt:
    print("interrupted", done)
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                           timeout=60, check=True)
    assert found.stdout == "interrupted [1]\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_an_import_beside_a_fork_is_interrupted_without_keeping_pythons_import_lock():
    """A signal that came while a thread waited for that lock struck right behind it, before
    importlib's ``try``: no other thread imported, nor forked, any more."""
    program = """
import os, signal, sys, threading, time
os.register_at_fork(before=lambda: time.sleep(0.5))  # after the library's, with its locks held
import agnesi as ag
def fork():
    if not (child := os.fork()):
        os._exit(0)
    os.waitpid(child, 0)
def strike(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, strike)
forker = threading.Thread(target=fork)
forker.start()
time.sleep(0.1)
signal.setitimer(signal.ITIMER_REAL, 0.1)
try:
    ag.jit(lambda x: x + 1)(ag.ones(3))
except KeyboardInterrupt:
    print("interrupted")
other = threading.Thread(target=lambda: __import__("xmlrpc.client"), daemon=True)
forker.join(20)
other.start()
other.join(20)
print("hangs" if other.is_alive() or forker.is_alive() else "goes on")
sys.stdout.flush()
os._exit(0)
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                           timeout=60, check=True)
    assert found.stdout == "interrupted\ngoes on\n"


def test_an_interrupt_at_any_line_beside_pythons_import_lock_gives_it_back():
    """While a fork is prepared; lines until the lock is had, and behind."""
    codes = {f.__code__ for f in (forks._acquire_import_lock, forks.unforked.begin,
                                  forks.unforked.end, Block.__enter__, Block.__exit__)}
    before, interrupted, left = sys.gettrace(), 0, [0]

    def trace(frame, event, argument):
        if frame.f_code not in codes:
            return None
        left[0] -= event == "line"
        if not left[0]:
            raise KeyboardInterrupt
        return trace

    while True:
        left[0] = interrupted + 1
        sys.settrace(trace)
        try:
            forks._acquire_import_lock()
        except KeyboardInterrupt:
            interrupted += 1
        else:
            _imp.release_lock()
            break
        finally:
            sys.settrace(before)
        with pytest.raises(RuntimeError):
            _imp.release_lock()
        # What a trace raises, unlike a signal's, may come before a with statement gives its lock
        # back: other threads of the tests would wait for it for ever.
        forks._let_go()
        forks._inside.clear()
    assert interrupted > 10
