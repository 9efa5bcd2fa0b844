"""Ctrl-C at random moments of compiling and running: what follows is right all the same."""

from __future__ import annotations

import gc
import os
import random
import signal
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import NoReturn

import numpy as np

import agnesi as ag
from agnesi.core.support.config import STATE, TRACES, config
from agnesi.runtime import disk_cache
from tests.hostile.attempt import Forked, Trial

SIZE = 1000
#: Attempts of one process; each takes longer than those before, as functions gather.
TOGETHER = 50
#: Signals that Python has handled in this attempt.
STRUCK: list[int] = []


def strike(number: int, frame: FrameType | None) -> None:
    """What Python does at Ctrl-C; a signal may reach another thread first, and be late."""
    STRUCK.append(number)
    raise KeyboardInterrupt


def attempt(seed: int, counts: Counter[str], longest: float) -> float:
    """Compile a step and run it, with an interrupt in between; then run it without.

    Returns the seconds that it took to compile, if it did; ``longest`` is the usual number of them.
    """
    chance = random.Random(seed)
    c = 1.0 + seed
    x = ag.tensor(np.arange(SIZE) / 1024)  # sums of which are exact
    total = ag.zeros(SIZE, dtype="float64")

    @ag.jit
    def step(x):
        loss = ((x * c).tanh() * ag.exp(-x)).sum()
        total.add_(x * c)
        return loss

    compiled = chance.random() < 0.3
    if compiled:
        step(x)
        total.fill_(0)
        longest = 0.01
    begun, ended = time.monotonic(), list[float]()
    wanted = (np.tanh(x.numpy() * c) * np.exp(-x.numpy())).sum()
    STRUCK.clear()
    try:
        signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-5, 1.1 * longest))
        _repeat(lambda: step(x), wanted, ended)
    except KeyboardInterrupt:
        counts["of steps" if ended else "of compilations"] += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    steps = len(ended)
    done = total.numpy()[1:] / (x.numpy()[1:] * c)
    assert np.ptp(done) == 0 and done[0] in (steps, steps + 1), (
        f"{steps} steps, and parts of the state are as after {done.min()} to {done.max()}")
    total.fill_(0)
    loss = step(x)
    assert abs(loss.numpy() - wanted) < 1e-9 * abs(wanted), "a wrong value afterwards"
    np.testing.assert_allclose(total.numpy(), x.numpy() * c)
    assert STATE.trace is None and TRACES.running == 0, "a trace is still running"
    return 0.0 if compiled or not ended else ended[0] - begun


def _repeat(step: Callable[[], ag.Tensor], wanted: float, ended: list[float]) -> NoReturn:
    """Run a step until it is interrupted; ``ended`` gets the time of the end of each.

    It is a function of its own: in CPython 3.13 a ``try`` around a loop does not catch what a
    handler of signals raises where the loop jumps back.
    """
    while not STRUCK:
        loss = step()
        ended.append(time.monotonic())
        assert abs(loss.numpy() - wanted) < 1e-9 * abs(wanted), "an interrupted value"
    raise AssertionError("an interrupt was lost")


def attempts_of(seeds: range) -> dict[str, object]:
    """What was counted in one process, and what failed."""
    signal.signal(signal.SIGALRM, strike)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # by which those in finalizers follow
    counts: Counter[str] = Counter()
    failures = []
    descriptors = len(os.listdir("/proc/self/fd"))
    longest = 0.5
    for seed in seeds:
        try:
            longest = attempt(seed, counts, longest) or longest
        except BaseException as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            failures.append(f"attempt {seed}: {type(error).__name__}: {error} in {where.name}, "
                            f"{where.filename}:{where.lineno}")
    for thread in threading.enumerate():
        if thread.name == "agnesi-llvm":
            thread.join()  # it writes what it compiled
    gc.collect()
    left = len(os.listdir("/proc/self/fd")) - descriptors
    if left > 0:
        failures.append(f"attempts {seeds}: {left} descriptors left open")
    return {"failures": failures, "counts": counts}


def interrupts(attempts: int, folder: Path) -> Trial:
    """Each compiles a step and runs it, and is interrupted once."""
    counts: Counter[str] = Counter()
    failures: list[str] = []
    with config(cache_dir=folder):
        for first in range(0, attempts, TOGETHER):
            seeds = range(first, min(first + TOGETHER, attempts))
            found, failure = Forked(lambda seeds=seeds: attempts_of(seeds)).end()
            if failure:
                failures.append(f"attempts {seeds}: {failure}")
                continue
            failures += found["failures"]
            counts.update(found["counts"])
        failures += [line for line in disk_cache.report().splitlines() if "not read" in line]
        counts["temporary files left"] = len([*folder.glob("*.tmp")])
    return Trial("interrupts of compiling and running", attempts, failures, dict(counts))
