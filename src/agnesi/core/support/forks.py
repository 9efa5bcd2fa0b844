"""Sections that a fork waits for: those that hold locks of other libraries, or change shared
tables.

Only the thread that forks goes on in the child.  A lock that another thread holds at that moment
stays locked there for ever, so the parent forks when nobody is inside such a section: while LLVM
works or any shared library is opened, and while a module of this library is imported (Python has
a lock for each module).  It also waits while Python's collector is at work, which in the child
would never be over.
"""

from __future__ import annotations

import _imp
import gc
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Seconds after which a fork goes ahead all the same.
_MAX_WAIT_SECONDS = 30.0
#: Seconds between two looks at the modules.
_POLL_SECONDS = 2e-4
_MAX_COLLECTOR_WAIT_SECONDS = (
    1.0  # the same for the collector, whose finalizers may themselves wait for the fork
)
_changed = threading.Condition(threading.Lock())
_inside: dict[int, int] = {}
_collecting = 0  # the thread in which Python's collector is at work
_forks = 0  # threads that wait to fork: nobody goes inside before they have


@contextmanager
def unforked() -> Iterator[None]:
    """A section, or a decorated function, during which no other thread forks this process."""
    me = threading.get_ident()
    with _changed:
        if me not in _inside:
            _changed.wait_for(lambda: not _forks, _MAX_WAIT_SECONDS)
        _inside[me] = _inside.get(me, 0) + 1
    try:
        yield
    finally:
        with _changed:
            _inside[me] -= 1
            if not _inside[me]:
                del _inside[me]
                _changed.notify_all()


def _before() -> None:
    """Wait until other threads are outside, and let none in until the fork is over."""
    global _forks
    end = time.monotonic() + _MAX_WAIT_SECONDS
    me = threading.get_ident()
    _changed.acquire()
    _forks += 1
    _changed.wait_for(lambda: not _inside.keys() - {me}, _MAX_WAIT_SECONDS)
    _imp.acquire_lock()
    soon = min(end, time.monotonic() + _MAX_COLLECTOR_WAIT_SECONDS)
    while (_importing() and time.monotonic() < end) or (
        _collecting not in (0, me) and time.monotonic() < soon
    ):
        _imp.release_lock()
        time.sleep(_POLL_SECONDS)
        _imp.acquire_lock()


def _importing() -> bool:
    """Return whether a module of this library, or of LLVM's, is being imported."""
    return any(
        name.startswith(("agnesi.", "llvmlite."))
        and getattr(getattr(module, "__spec__", None), "_initializing", False)
        for name, module in list(sys.modules.items())
    )


def _note(phase: str, info: object) -> None:
    """Python's collector begins or ends; other threads run meanwhile where finalizers let them."""
    global _collecting
    _collecting = threading.get_ident() if phase == "start" else 0


gc.callbacks.append(_note)


def _in_parent() -> None:
    global _forks
    _imp.release_lock()
    _forks -= 1
    _changed.notify_all()
    _changed.release()


def _in_child() -> None:
    global _changed, _collecting, _forks
    _imp.release_lock()
    me = threading.get_ident()
    _collecting = me if _collecting == me else 0
    for thread in _inside.keys() - {me}:
        del _inside[thread]
    _changed, _forks = threading.Condition(threading.Lock()), 0


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
    """A reentrant lock, which a forked process has anew: a thread that is not there may hold it."""

    def __init__(self) -> None:
        self.begin()
        at_fork(in_child=self.begin)

    def begin(self) -> None:
        """Make the lock."""
        self.lock = threading.RLock()
