"""Memory under a limit: calls wait for those of other threads, and fail where that is no use."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import agnesi as ag


@pytest.fixture(autouse=True)
def no_limit_behind() -> Iterator[None]:
    yield
    ag.limit_memory(None)


def hungry(rows: int = 1024, loops: int = 4) -> tuple[Any, Any, int]:
    """A function with a scratch memory of several times 4 MB, and what it needs."""
    x = ag.tensor(np.random.default_rng(0).normal(size=(rows, rows)).astype("float32") / rows)

    @ag.jit
    def f(x: Any) -> Any:
        first = [ag.matmul(x, x + i) for i in range(loops)]
        return sum(ag.matmul(first[i], first[i - 1]).sum() for i in range(loops))

    f(x)
    return f, x, f.plan().arena_bytes


def test_calls_of_several_threads_wait_for_each_other():
    f, x, needs = hungry()
    expected = float(f(x))
    ag.limit_memory(ag.memory_stats()["live"] + int(needs * 1.4))  # two do not fit
    before = ag.memory_stats(reset_peak=True)["live"]
    start = threading.Barrier(4)

    def run(_: int) -> list[float]:
        start.wait()
        return [float(f(x)) for _ in range(2)]

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(run, range(4)))
    assert np.unique(found).tolist() == [expected]
    assert ag.memory_stats()["peak"] - before <= needs * 1.4


def test_what_never_fits_is_refused():
    f, x, needs = hungry(512)
    ag.limit_memory(needs // 2)
    with pytest.raises(MemoryError, match=r"no memory is left for .* MB, "):
        f(x)
    with pytest.raises(MemoryError, match="no other call is running"):
        ag.ones((1 << 12, 1 << 12)) + 1
    ag.limit_memory(None)
    assert np.isfinite(float(f(x)))


def test_what_is_kept_makes_room():
    f, x, needs = hungry(512)
    g, y, more = hungry(640)
    f(x), g(y)
    ag.limit_memory(ag.memory_stats()["live"] + int(more * 1.4))
    f(x), g(y), f(x)
    stats = ag.memory_stats()
    assert needs < stats["kept"] <= more * 1.4
