"""Processes forked while other threads compile: a child compiles, too, and does not hang."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import agnesi as ag
from agnesi.core.support.config import config
from tests.hostile.attempt import Forked, Trial

THREADS = 4


def compile_on(seed: int, stop: threading.Event) -> None:
    """Compile one function after the other."""
    n = seed * 1000
    while not stop.is_set():
        n += 1
        constant = float(n)
        ag.jit(lambda x, c=constant: (ag.tanh(x * c) @ ag.exp(x)).sum())(ag.ones((n % 7 + 2,) * 2))


def child(i: int) -> None:
    """Compile one function."""
    found = float(ag.jit(lambda x: (x * i + 1).sum())(ag.ones(3)))
    assert found == 3 * i + 3


def forks_beside_threads(attempts: int) -> list[str]:
    """What fails of forks of this process, whose threads compile meanwhile."""
    stop = threading.Event()
    threads = [threading.Thread(target=compile_on, args=(i, stop)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    failures = []
    try:
        for i in range(attempts):
            time.sleep(0.01 * (i % 7))
            if failure := Forked(lambda i=i: child(i)).end()[1]:
                failures.append(f"attempt {i}: {failure}")
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    return failures


def forks(attempts: int, folder: Path) -> Trial:
    """All of one process."""
    with config(cache_dir=folder):
        found, failure = Forked(lambda: forks_beside_threads(attempts), 60 + 10 * attempts).end()
    failures = [failure] if failure else found
    return Trial(f"forks beside {THREADS} threads that compile", attempts, failures, {})
