"""Long work of other libraries runs beside the main thread, where signals interrupt it.

Python handles signals in its main thread, between two instructions; a product or sort of NumPy is
one instruction.  So another thread computes it, while the main thread waits and can be interrupted
at once.  What was interrupted comes to its end unseen, and its result is dropped.
"""

from __future__ import annotations

import _thread
import atexit
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from itertools import zip_longest
from operator import attrgetter
from typing import Any

import numpy as np

from agnesi.core.support import host
from agnesi.core.support.config import TRACES
from agnesi.core.support.forks import at_fork, unforked

#: Nanoseconds of work from which the two ways to another thread count for nothing.
MIN_ASIDE_NANOSECONDS = 1 << 22
#: Those of a step of a recurrence.
_STEP_NANOSECONDS = 16
#: Seconds between two looks for signals that came just before the wait began, or to another thread:
#: these do not end it.
_LOOK_SECONDS = 0.01

_main = threading.main_thread().ident
_size = attrgetter("size")


def elements(nanoseconds: int) -> Callable[..., int]:
    """The ``work`` of operations that take so long for an element of the largest operand."""
    return lambda op, *xs: (
        xs[0].size if len(xs) == 1 else max(map(_size, xs), default=0)) * nanoseconds


def spread(xs: Sequence[Any]) -> int:
    """The number of elements of the arrays' broadcast shape."""
    first = xs[0].shape
    if all([x.shape == first for x in xs]):
        return int(xs[0].size)
    return math.prod(map(max, zip_longest(*(x.shape[::-1] for x in xs), fillvalue=1)))


def stepped_time(xs: Sequence[Any], count: int, nanoseconds: int, stepped: Sequence[int]) -> int:
    """About how many nanoseconds a function takes for ``count`` elements, in whole looks for
    signals where it takes as many steps as an operand at the positions ``stepped`` is large."""
    found = count * nanoseconds
    for k in stepped:
        if (x := xs[k]).size and x.dtype.kind in "fiu":
            least = MIN_ASIDE_NANOSECONDS / (_STEP_NANOSECONDS * count)
            if np.vdot(x, x) < least * least:  # then no element is as large; it is quick
                continue
            if max(float(np.fmax.reduce(x, None)), -float(np.fmin.reduce(x, None))) >= least:
                found = max(found, MIN_ASIDE_NANOSECONDS)
    return found


def results(nanoseconds: int) -> Callable[..., int]:
    """The ``work`` of operations that take so long for an element of the result."""
    def work(op: Any, *xs: Any) -> int:
        shape, _ = op.infer(*xs)
        return math.prod(shape) * nanoseconds if all(type(n) is int for n in shape) else 0
    return work



def cubes(each: int) -> Callable[..., int]:
    """The ``work`` of operations on matrices that do ``each`` times as much as to solve systems;
    the smallest matrix takes half a microsecond."""
    return lambda op, *xs: max([x.size * x.shape[-1] // 16 + (math.prod(x.shape[:-2]) << 9)
                                if x.ndim else 0 for x in xs]) * each


def started(thread: threading.Thread) -> bool:
    """Start a thread; False if there can be no more, as at the end of the process or of what the
    system allows: who would wait for it does the work then."""
    try:
        thread.start()
    except RuntimeError:
        return False
    return True


class _Worker:
    """A thread that runs queued computations in order."""

    def __init__(self) -> None:
        self.inbox = _thread.allocate_lock()
        self.inbox.acquire()
        self.task: _Task | None = None
        self.runs = started(threading.Thread(target=self._work, name="agnesi-aside", daemon=True))

    def _work(self) -> None:
        while True:
            self.inbox.acquire()
            task, self.task = self.task, None
            if task is not None:
                task.run()
                _IDLE.append(self)
                task.done.release()
            del task


class _Task:
    """A call that a worker runs, and its result or exception."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.call: Any = copy_context(), function, args
        self.done = _thread.allocate_lock()
        self.done.acquire()
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Compute it; a fork waits for that, also where no other thread does: at one beside a
        product, NumPy's library of products (OpenBLAS) waits for ever."""
        context, function, args = self.call
        self.call = None
        try:
            with unforked():
                self.result = context.run(function, *args)
        except BaseException as error:  # it belongs to the thread that waits
            self.error = error


_IDLE: list[_Worker] = []
#: What was interrupted and may still be computed.
_LEFT: list[_Task] = []

#: Whether the context's work stays in its thread.
_STAYS: ContextVar[bool] = ContextVar("stays", default=False)


@contextmanager
def staying() -> Iterator[None]:
    """A block that holds locks which its operations take, too: in another thread these would wait
    for the block, and it for them."""
    token = _STAYS.set(True)
    try:
        yield
    finally:
        _STAYS.reset(token)


def aside(work: int, function: Callable[..., Any], *args: Any) -> Any:
    """``function(*args)``, which takes so many nanoseconds and can be interrupted if that is long.

    :param work: Elements that the function computes, times the nanoseconds of one.
    :param function: Must have no effect but its result, which is dropped after an interrupt.
    """
    if (
        work < MIN_ASIDE_NANOSECONDS or _thread.get_ident() != _main or TRACES.running
        or _STAYS.get()
    ):  # a trace holds a lock
        return function(*args)
    worker = _IDLE.pop() if _IDLE else _Worker()
    if not worker.runs:
        return function(*args)
    task = _Task(function, args)
    try:
        worker.task = task
        worker.inbox.release()
        while not task.done.acquire(timeout=_LOOK_SECONDS):
            pass
    except BaseException:
        _LEFT[:] = [t for t in (*_LEFT, task) if t.done.locked()]
        raise
    if task.error is not None:
        raise task.error
    return task.result


@atexit.register
def _leave() -> None:
    """End the process beside interrupted work: OpenBLAS, as it is unloaded, waits for ever for
    threads of its own that are at a product then."""
    left = [task for task in _LEFT if task.done.locked()]
    if left and not host.leave_at_once():
        for task in left:
            task.done.acquire()


def _begin_again() -> None:
    """In a forked process there are no workers, and the thread that forked is the main one."""
    global _main
    _IDLE.clear()
    _LEFT.clear()
    _main = threading.get_ident()


at_fork(in_child=_begin_again)
