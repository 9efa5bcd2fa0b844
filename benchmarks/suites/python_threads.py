"""Two Python threads that call compiled functions, beside one thread that does all of their calls.

NumPy's own function on the same array is the control: it tells what the machine lets two threads
gain now.  Libraries have one thread of their own for each of Python's.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks import peers
from benchmarks.harness import OURS, Context, Result

TITLE = "two Python threads, over one"
THREADS = (1,)
GOAL = 1.8
ONE = "one thread"
SECONDS = 0.03  # of a round, for each thread


def run(context: Context) -> list[Result]:
    ag = peers.agnesi()
    pure, other = ag.jit(lambda x: ag.exp(-x * x)), ag.jit(lambda x: ag.tanh(x) * x)
    steps = [_step(ag) for _ in range(2)]
    x = ag.tensor(np.linspace(-2, 2, 100_000, dtype=np.float32))
    cases = {
        "one pure function": ([lambda: pure(x)] * 2, GOAL),
        "two pure functions": ([lambda: pure(x), lambda: other(x)], GOAL),
        "two steps, each with a state": (steps, GOAL),
        "control: numpy.exp": ([lambda: np.exp(x.array)] * 2, None),
    }
    return [_measure(context, name, calls, goal) for name, (calls, goal) in cases.items()]


def _step(ag: object) -> Callable[[], object]:
    """A step that changes a state of its own."""
    w = ag.zeros(100_000)

    @ag.jit
    def step() -> object:
        w.add_(ag.exp(-w * w) * 0.01)

    return step


def _measure(context: Context, name: str, calls: Sequence[Callable[[], object]],
             goal: float | None) -> Result:
    """Seconds for a call of each: side by side, and one behind the other."""
    context.note(name)
    for call in calls:
        call()
    result = Result.empty(context, name, goal=goal, rivals=(ONE,))
    start = time.perf_counter()
    for call in calls * 20:
        call()
    turns = max(1, round(SECONDS * 20 * len(calls) / (time.perf_counter() - start)))
    samples: dict[str, list[float]] = {OURS: [], ONE: []}
    for _ in range(9 if context.quick else 25):
        samples[OURS].append(_side_by_side(calls, turns) / turns)
        start = time.perf_counter()
        for call in calls:
            _repeat(call, turns)
        samples[ONE].append((time.perf_counter() - start) / turns)
    for who, seconds in samples.items():
        result.add(who, seconds)
    return result


def _side_by_side(calls: Sequence[Callable[[], object]], turns: int) -> float:
    """Seconds that so many turns of each take, in a thread each."""
    barrier = threading.Barrier(len(calls) + 1)

    def work(call: Callable[[], object]) -> None:
        barrier.wait()
        _repeat(call, turns)

    threads = [threading.Thread(target=work, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    barrier.wait()
    start = time.perf_counter()
    for thread in threads:
        thread.join()
    return time.perf_counter() - start


def _repeat(call: Callable[[], object], turns: int) -> None:
    for _ in range(turns):
        call()
