"""Batches made ahead by threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any, TypeVar

T = TypeVar("T")


def in_threads(fetch: Callable[[T], Any], tasks: Iterable[T], count: int, ahead: int
               ) -> Iterator[Any]:
    """Results of tasks in order; up to ``ahead`` of them are made meanwhile by so many threads."""
    todo = iter(tasks)
    pool = ThreadPoolExecutor(count, "agnesi-loader")
    try:
        made: deque[Future[Any]] = deque(pool.submit(fetch, task) for task in islice(todo, ahead))
        while made:
            done = made.popleft().result()
            made.extend(pool.submit(fetch, task) for task in islice(todo, 1))
            yield done
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
