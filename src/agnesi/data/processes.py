"""Batches made ahead by worker processes, each of which is watched."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from multiprocessing.connection import Connection, wait
from typing import Any

from agnesi.core.support.errors import at
from agnesi.data.fetch import Fetch, Task
from agnesi.data.messages import receive
from agnesi.data.worker import Failure, work


class _Worker:
    """One process, and the connection to it."""

    def __init__(self, k: int, context: Any, fetch: Fetch, others: list[Connection],
                 init: Callable[[int], Any] | None, count: int) -> None:
        self.connection, far = context.Pipe()
        # Only a forked child has the other workers' connections, and closes them.
        forked = [*others, self.connection] if context.get_start_method() == "fork" else []
        self.process = context.Process(
            target=work, args=(k, far, forked, fetch, init, count), daemon=True,
            name=f"DataLoader worker {k}",
        )
        self.process.start()
        far.close()
        self.name = f"DataLoader worker {k} (pid {self.process.pid})"
        self.tasks: set[int] = set()

    def end(self) -> str:
        """How the process ended, in words."""
        self.process.join(5)
        code = self.process.exitcode
        if code is None:
            return "closed its connection"
        if code >= 0:
            return f"ended with status {code}"
        name = signal.Signals(-code).name if -code in [*signal.Signals] else str(-code)
        more = "; the system kills processes when memory runs out" if name == "SIGKILL" else ""
        return f"was killed by {name}{more}"


class Workers:
    """Worker processes of one loader, and a thread that takes what they send."""

    def __init__(self, fetch: Fetch, count: int, method: str | None,
                 init: Callable[[int], Any] | None) -> None:
        context = multiprocessing.get_context(method)
        self.inbox: dict[int, tuple[_Worker, Any]] = {}
        self.turn = threading.Condition()
        self.broken: str | None = None
        self.run = 0
        self.workers: list[_Worker] = []
        try:
            for k in range(count):
                others = [w.connection for w in self.workers]
                self.workers.append(_Worker(k, context, fetch, others, init, count))
        except BaseException:
            _stop(self.workers, os.getpid())
            raise
        self.stop = weakref.finalize(self, _stop, self.workers, os.getpid())
        threading.Thread(target=_listen, args=(weakref.ref(self), self.workers),
                         name="agnesi-loader", daemon=True).start()

    def results(self, tasks: Iterable[Task], each: int, timeout: float) -> Iterator[Any]:
        """Batches in order, up to ``each`` for every worker being made meanwhile."""
        with self.turn:
            self.run += 1
            run = self.run
            self.inbox.clear()
            self.turn.notify_all()  # an older iteration, which gets no more
        for worker in self.workers:
            worker.tasks.clear()
        todo, sent = iter(tasks), []
        for task in islice(todo, each * len(self.workers)):
            sent.append(self._submit(run, task))
        at_work = 0
        while at_work < len(sent):
            number = sent[at_work]
            worker, found = self._await(run, number, timeout)
            at_work += 1
            for task in islice(todo, 1):
                sent.append(self._submit(run, task))
            if isinstance(found, Failure):
                raise found.again(worker.name, number)
            yield found

    def _submit(self, run: int, task: Task) -> int:
        worker = min(self.workers, key=lambda w: len(w.tasks))
        worker.tasks.add(task.number)
        with contextlib.suppress(OSError):  # of one that died, which the listener reports
            worker.connection.send((run, task))
        return task.number

    def _await(self, run: int, number: int, timeout: float) -> tuple[_Worker, Any]:
        with self.turn:
            there = self.turn.wait_for(
                lambda: number in self.inbox or self.broken is not None or self.run != run,
                timeout or None)
            if self.run != run:
                raise RuntimeError(at(
                    "DataLoader: a newer iteration has begun, for which the persistent workers "
                    "make batches now; with persistent_workers=False each has workers of its own"))
            if number in self.inbox:
                return self.inbox.pop(number)
        if not there:
            late = [w.name for w in self.workers if number in w.tasks]
            raise RuntimeError(at(f"{', '.join(late)} did not make batch {number} within "
                                  f"{timeout} seconds (timeout)"))
        raise RuntimeError(at(str(self.broken)))


def _listen(owner: weakref.ref[Workers], workers: list[_Worker]) -> None:
    """Take what workers send, until one of them is gone or it is not wanted."""
    while True:
        ready = wait([*(w.connection for w in workers), *(w.process.sentinel for w in workers)])
        for worker in workers:
            if worker.connection in ready:
                done = _take(owner, worker)
            elif worker.process.sentinel in ready:
                done = not worker.connection.poll() and _broken(owner, worker)
            else:
                continue
            if done:
                return


def _take(owner: weakref.ref[Workers], worker: _Worker) -> bool:
    """Take one result; whether there will be no more."""
    try:
        run, number, found = receive(worker.connection)
    except (EOFError, OSError):
        return _broken(owner, worker)
    mine = owner()
    if mine is None:
        return True
    with mine.turn:
        if run == mine.run:
            worker.tasks.discard(number)
            mine.inbox[number] = worker, found
            mine.turn.notify_all()
    return False


def _broken(owner: weakref.ref[Workers], worker: _Worker) -> bool:
    """Wake the waiting thread with the news that a worker has ended."""
    mine = owner()
    if mine is not None and mine.stop.alive:
        message = f"{worker.name} {worker.end()}"
        batches = ", ".join(map(str, sorted(worker.tasks)))
        with mine.turn:
            mine.broken = message + (f" while it had to make batch {batches}" if batches else "")
            mine.turn.notify_all()
    return True


def _stop(workers: list[_Worker], owner: int) -> None:
    """End the processes, politely at first; those of its parent are none of a forked process."""
    if os.getpid() != owner:
        return
    for worker in workers:
        with contextlib.suppress(OSError, ValueError):
            worker.connection.send(None)
    for worker in workers:
        worker.process.join(0.2)
        if worker.process.is_alive():  # it works on what is not wanted
            worker.process.terminate()
            worker.process.join(1)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()
