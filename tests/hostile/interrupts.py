"""Ctrl-C at random moments of compiling and running: what follows is right all the same."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from types import FrameType

import numpy as np

import agnesi as ag
from agnesi.core.config import STATE, TRACES, config
from agnesi.runtime import diskcache
from tests.hostile.attempt import Forked, Trial

SIZE = 1000
#: Attempts of one process; each takes longer than those before, as functions gather.
TOGETHER = 50


def strike(number: int, frame: FrameType | None) -> None:
    """What Python does at Ctrl-C."""
    raise KeyboardInterrupt


def attempt(seed: int, counts: Counter[str]) -> None:
    """Compile a step and run it, with an interrupt in between; then run it without."""
    chance = random.Random(seed)
    c = 1.0 + seed
    x = ag.tensor(np.linspace(0, 1, SIZE))
    total = ag.zeros(SIZE, dtype="float64")

    @ag.jit
    def step(x):
        loss = ((x * c).tanh() * ag.exp(-x)).sum()
        total.add_(x * c)
        return loss

    if chance.random() < 0.5:  # an interrupt of compiled calls, else of the compilation
        step(x)
        total.fill_(0)
    steps, end = 0, 0.0
    wanted = (np.tanh(x.numpy() * c) * np.exp(-x.numpy())).sum()
    signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-5, 0.08))
    try:
        end = time.monotonic() + 0.1
        while time.monotonic() < end:
            loss = step(x)
            steps += 1
            assert abs(loss.numpy() - wanted) < 1e-9 * abs(wanted), "an interrupted value"
        counts["interrupts lost"] += 1
    except KeyboardInterrupt:
        counts["interrupts"] += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    done = total.numpy() / np.maximum(x.numpy() * c, 1e-300)
    counts["whole steps before"] += steps
    assert np.ptp(done[1:]) < 1e-9 and round(done[1]) in (steps, steps + 1), "half a step"
    total.fill_(0)
    loss = step(x)
    assert abs(loss.numpy() - wanted) < 1e-9 * abs(wanted), "a wrong value afterwards"
    np.testing.assert_allclose(total.numpy(), x.numpy() * c)
    assert STATE.trace is None and TRACES.running == 0, "a trace is still running"


def attempts_of(seeds: range) -> dict[str, object]:
    """What was counted in one process, and what failed."""
    signal.signal(signal.SIGALRM, strike)
    sys.unraisablehook = lambda told: None  # of interrupts in destructors
    counts: Counter[str] = Counter()
    failures = []
    descriptors = len(os.listdir("/proc/self/fd"))
    for seed in seeds:
        try:
            attempt(seed, counts)
        except BaseException as error:
            failures.append(f"attempt {seed}: {type(error).__name__}: {error}")
    counts["descriptors left open"] += max(len(os.listdir("/proc/self/fd")) - descriptors, 0)
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
        failures += [line for line in diskcache.report().splitlines() if "not read" in line]
        counts["temporary files left"] = len([*folder.glob("*.tmp")])
    return Trial("interrupts of compiling and running", attempts, failures, dict(counts))
