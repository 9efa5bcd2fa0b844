"""Sections that a fork waits for: those that hold locks of other libraries, or change shared
tables.

Only the thread that forks goes on in the child.  A lock that another thread holds at that moment
stays locked there for ever, so the parent forks when no thread is inside such a section: while LLVM
works or any shared library is opened, and while a module of this library is imported (Python has
a lock for each module).  It also waits while Python's collector is at work, which in the child
would never be over.

Nor does a thread wait for Python's import lock while another one forks with it: what a handler of
signals raises meanwhile would come right after the lock is had and before ``try``, and importlib
would never give it back.
"""

from __future__ import annotations

import _imp
import _thread
import contextlib
import functools
import gc
import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from itertools import starmap
from typing import Any, ClassVar, TypeVar

from agnesi.core.support import finalizers  # noqa: F401 - what is raised around a fork
from agnesi.core.support.foreign import is_initializing
from agnesi.core.support.undo import Block

T = TypeVar("T")
#: Seconds that a fork waits for held locks before it goes ahead.
_MAX_WAIT_SECONDS = 30.0
#: Seconds between two looks at who is inside.
_POLL_SECONDS = 2e-4
_MAX_COLLECTOR_WAIT_SECONDS = (
    1.0  # the same for the collector, whose finalizers may themselves wait for the fork
)
# A handler of signals may raise an exception between any two lines: all changes below can be made
# twice, and a thread that owns the lock or the import lock twice releases them as often.
_lock = threading.RLock()
_inside: dict[int, int] = {}  # the threads of sections, by the number of the object
_forking: set[int] = set()  # threads that wait to fork: no thread enters before they have
_struck: list[BaseException] = []  # what was raised while they did
_ACQUIRE_IMPORT_LOCK = _imp.acquire_lock


class unforked(contextlib.ContextDecorator, Block):  # noqa: N801 - used like a function
    """A context, or a decorated function, during which no other thread forks this process."""

    def _recreate_cm(self) -> unforked:
        return unforked()

    def begin(self) -> None:
        """Go inside when no thread waits to fork."""
        me, end = threading.get_ident(), time.monotonic() + _MAX_WAIT_SECONDS
        while True:
            with _lock:
                if (
                    not _forking or me in _inside.values() or _importing()  # for which forks wait
                    or time.monotonic() > end
                ):
                    _inside[id(self)] = me
                    return
            time.sleep(_POLL_SECONDS)

    def end(self) -> None:
        """Leave."""
        with _lock:
            _inside.pop(id(self), None)


def _before() -> None:
    """Wait until no other thread is in such a section, and keep them out until the fork is over.

    Exceptions of signal handlers are deferred: none keeps Python from the fork.
    """
    while True:
        try:
            _wait()
            return
        except BaseException as error:
            _struck.append(error)


def _wait() -> None:
    me, begun = threading.get_ident(), time.monotonic()
    _forking.add(me)
    _imp.acquire_lock = _acquire_import_lock
    while True:
        _lock.acquire()
        if not _is_busy(me, begun):  # no thread waits for the import lock now
            _ACQUIRE_IMPORT_LOCK()
            if not _is_busy(me, begun):
                return
        _let_go()
        time.sleep(_POLL_SECONDS)


def _is_busy(me: int, begun: float) -> bool:
    """Return whether other threads are where a fork that has waited since then waits for them."""
    waited = time.monotonic() - begun
    return waited <= _MAX_WAIT_SECONDS and bool(
        {*_inside.values()} - {me} or _importing()
        or (waited < _MAX_COLLECTOR_WAIT_SECONDS
            and _Collector.threads.get(_collector, 0) not in (0, me))
    )


def _acquire_import_lock() -> None:
    """What importlib acquires its lock by while a thread waits to fork: after the fork."""
    had: list[None] = []
    try:
        with unforked():
            had.extend(starmap(_ACQUIRE_IMPORT_LOCK, [()]))  # no line of Python is in between
    except BaseException:  # a signal's
        for _ in had:
            _imp.release_lock()
        raise


def _forked() -> None:
    """Note that this thread has forked; restore importlib's lock function if it was the last."""
    _forking.discard(threading.get_ident())
    if not _forking:
        _imp.acquire_lock = _ACQUIRE_IMPORT_LOCK


def _let_go() -> None:
    """Release the locks."""
    for release in (_imp.release_lock, _lock.release):
        with contextlib.suppress(RuntimeError):  # it is not ours any more
            while True:
                release()


def _importing() -> bool:
    """Return whether a module of this library, or of LLVM's, is being imported."""
    return any(
        name.startswith(("agnesi.", "llvmlite."))
        and is_initializing(module)
        for name, module in list(sys.modules.items())
    )


class _Collector:
    """Notes the thread in which Python's collector is at work; finalizers let others run meanwhile.

    The collector does so between any two lines of a program, and exceptions in what it calls are
    lost.  So no line of Python runs here, before which a signal might be handled: an attribute
    named after the phase is read, which reads an entry, made as it is missing, or takes it out.
    """

    threads: ClassVar[defaultdict[_Collector, int]] = defaultdict(threading.get_ident)
    start = property(threads.__getitem__)
    stop = property(threads.pop)


_collector = _Collector()
_Collector.threads[_collector] = 0  # what is under way now stops, but has not been seen to start
gc.callbacks.append(functools.partial(getattr, _collector))


def _in_parent() -> None:
    _forked()
    _let_go()
    if _struck:
        error = _struck.pop()
        _struck.clear()
        if not isinstance(error, KeyboardInterrupt):
            raise error  # to be reported
        _thread.start_new_thread(_interrupt_later, ())


def _interrupt_later() -> None:
    """Interrupt the main thread when the fork is over: what others do behind it, as ``logging``
    that gives its lock back, must not be skipped."""
    import signal

    time.sleep(_POLL_SECONDS)
    if callable(signal.getsignal(signal.SIGINT)):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def _in_child() -> None:
    global _lock
    _let_go()
    _lock = threading.RLock()
    _forking.clear()
    _forked()
    _struck.clear()
    me = threading.get_ident()
    for key in [key for key, thread in _inside.items() if thread != me]:
        del _inside[key]
    if _Collector.threads.get(_collector) != me:
        _Collector.threads.pop(_collector, None)


def at_fork(before: Callable[[], object] | None = None,
            in_parent: Callable[[], object] | None = None,
            in_child: Callable[[], object] | None = None) -> None:
    """Have functions called around each fork, on systems that have one.

    Another thread may register some while a fork is under way: ``in_parent`` and ``in_child`` must
    do no harm where ``before`` was not called.
    """
    if hasattr(os, "register_at_fork"):
        given = {"before": before, "after_in_parent": in_parent, "after_in_child": in_child}
        os.register_at_fork(**{when: f for when, f in given.items() if f is not None})


at_fork(_before, _in_parent, _in_child)


class Lock:
    """A reentrant lock, new in a forked process: a thread that is not there may hold it."""

    def __init__(self) -> None:
        self.begin()
        at_fork(in_child=self.begin)

    def begin(self) -> None:
        """Make the lock."""
        self.lock = threading.RLock()


def once(function: Callable[..., T]) -> Callable[..., T]:
    """Memoize a function under a lock.

    If two threads made native code at the same time, one copy would be freed while its addresses
    are in use.
    """
    lock = Lock()
    kept: dict[tuple[Any, ...], T] = {}

    @functools.wraps(function)
    def call(*args: Any) -> T:
        if args not in kept:
            with lock.lock:
                if args not in kept:
                    kept[args] = function(*args)
        return kept[args]

    call.kept = kept  # type: ignore[attr-defined]
    return call
