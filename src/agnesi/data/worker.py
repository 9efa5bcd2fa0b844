"""The worker process of a loader: it makes batches until no more are requested."""

from __future__ import annotations

import concurrent
import contextlib
import multiprocessing
import os
import pickle
import random
import signal
import threading
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np

from agnesi.compiler.control import set_num_threads
from agnesi.core.support.errors import at
from agnesi.data.fetch import Fetch, Task
from agnesi.data.messages import packed, send
from agnesi.ops.random.generators import manual_seed

#: Where code begins that has no line of the user's around it.
_STARTERS = (*(os.path.dirname(str(p.__file__)) for p in (multiprocessing, concurrent)),
             str(threading.__file__))


def located_here(error: BaseException) -> BaseException:
    """The error of a worker at the line that waits for it, unless the user's code there has one."""
    message, mark, place = str(next(iter(error.args), "")).rpartition("\n  at ")
    if mark and place.startswith(_STARTERS):
        error.args = (at(message), *error.args[1:])
    return error


class Failure:
    """An error of a batch, on its way to the process that waits for the batch."""

    def __init__(self, error: BaseException, trace: str) -> None:
        self.trace, self.shown = trace, traceback.format_exception_only(error)[-1].strip()
        try:
            self.error = pickle.dumps(error)
        except Exception:
            self.error = b""

    def again(self, worker: str, number: int) -> Exception:
        """The same error here, with a note of what happened there."""
        error: Exception = RuntimeError(f"{worker} failed: {self.shown}")
        with contextlib.suppress(Exception):
            found = pickle.loads(self.error)
            error = found if isinstance(found, Exception) else error
            located_here(error)
        error.add_note(f"{worker} raised it while it made batch {number}:\n{self.trace}")
        return error


class WorkerInfo(NamedTuple):
    """The number of a loader's worker process, how many there are, and its dataset.

    :param id: Its number.
    :type id: int
    :param num_workers: How many there are.
    :type num_workers: int
    :param dataset: Its copy of the dataset.
    :type dataset: Dataset
    :see: data.get_worker_info

    >>> ag.data.WorkerInfo(0, 2, [1, 2, 3]).num_workers
    2
    """

    id: int
    num_workers: int
    dataset: Any


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """The :class:`WorkerInfo` of the worker process that calls this.

    :returns: None outside of workers; streams are read there, each sample once.
    :rtype: WorkerInfo or None
    :see: data.DataLoader, data.IterableDataset

    >>> ag.data.get_worker_info() is None
    True
    """
    return _info


def work(k: int, connection: Connection, others: list[Connection], fetch: Fetch,
         init: Callable[[int], Any] | None, count: int) -> None:
    """Take tasks from a connection and send what becomes of them."""
    global _info
    _info = WorkerInfo(k, count, fetch.source)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that asks ends this one
    for other in others:  # so that every worker sees when that process is gone
        other.close()
    set_num_threads(1)
    failed = _begun(k, init)
    with contextlib.suppress(EOFError, OSError, KeyboardInterrupt):
        while (message := connection.recv()) is not None:
            run, task = message
            send(connection, packed((run, task.number, failed)) if failed else _made(
                run, fetch, task))


def _begun(k: int, init: Callable[[int], Any] | None) -> Failure | None:
    """Call the user's function that comes first; its error is that of each batch."""
    try:
        if init is not None:
            init(k)
    except Exception as error:
        return Failure(error, traceback.format_exc())
    return None


def _made(run: int, fetch: Fetch, task: Task) -> list[memoryview]:
    """A packed batch, or why there is none; global generators begin with the batch's seed."""
    seed = [*task.seed]
    word = int(np.random.SeedSequence(seed).generate_state(1)[0])
    random.seed(word)
    np.random.seed(word)
    manual_seed(word)
    try:
        return packed((run, task.number, fetch(task)))
    except Exception as error:
        return packed((run, task.number, Failure(error, traceback.format_exc())))
