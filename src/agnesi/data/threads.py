"""Batches made ahead by threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import Any, TypeVar

from agnesi.core.support.errors import at
from agnesi.data.worker import located_here

T = TypeVar("T")


def in_threads(fetch: Callable[[T], Any], tasks: Iterable[T], count: int, ahead: int,
               timeout: float) -> Iterator[Any]:
    """Results of tasks in order; up to ``ahead`` of them are made meanwhile by so many threads."""
    todo = iter(tasks)
    pool = ThreadPoolExecutor(count, "agnesi-loader")
    try:
        made: deque[Future[Any]] = deque(pool.submit(fetch, task) for task in islice(todo, ahead))
        while made:
            done = _awaited(made.popleft(), timeout)
            made.extend(pool.submit(fetch, task) for task in islice(todo, 1))
            yield done
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _awaited(job: Future[Any], timeout: float) -> Any:
    """The result of a job, which must be there in time if there is one."""
    if timeout and not wait([job], timeout).done:
        raise RuntimeError(at(f"a thread of the DataLoader did not make its batch within {timeout} "
                              "seconds (timeout)"))
    try:
        return job.result()
    except Exception as error:
        located_here(error)
        raise
