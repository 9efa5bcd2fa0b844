"""Two Python threads that call compiled functions, beside one thread that does all of their calls.

Two controls tell what the machine lets two of anything gain now: NumPy's own function on the same
array, and, in the same rounds as each case, two processes that do what its threads do.  A round has
one start for all, which a thread or process that begins late cannot move, and lasts a fixed time:
what counts is how many calls each ends.  Libraries have one thread of their own for each of
Python's.  Where the functions are two, each thread calls both in turn: so both threads have the
same to do.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np

from benchmarks import peers
from benchmarks.harness import OURS, Context, Result

TITLE = "two Python threads, over one"
THREADS = (1,)
GOAL = 1.8
ONE = "one thread"
SECONDS = 0.1  # of a round
AHEAD = 0.002  # seconds in which all hear when a round starts
SIZES = (100_000, 400_000, 2_000_000)  # calls of 50 us, 200 us and 1 ms
Calls = Sequence[Callable[[], object]]  # what a thread calls, one behind the other


def run(context: Context) -> list[Result]:
    ag = peers.agnesi()
    pure, other = ag.jit(lambda x: ag.exp(-x * x)), ag.jit(lambda x: ag.tanh(x) * x)
    found = []
    for size in SIZES[:1] if context.quick else SIZES:
        x = ag.tensor(np.linspace(-2, 2, size, dtype=np.float32))
        both: Calls = [lambda x=x: pure(x), lambda x=x: other(x)]
        cases: dict[str, tuple[Sequence[Calls], float | None]] = {
            "one pure function": ([both[:1]] * 2, GOAL),
            "two pure functions": ([both, both[::-1]], GOAL),
            "two steps, each with a state": ([[_step(ag, size)], [_step(ag, size)]], GOAL),
            "control: numpy.exp": ([[lambda x=x: np.exp(x.array)]] * 2, None),
        }
        for name, (threads, goal) in cases.items():
            found += _measure(context, f"{name}, {size}", threads, goal)
    return found


def _step(ag: object, size: int) -> Callable[[], object]:
    """A step that changes a state of its own."""
    w = ag.zeros(size)

    @ag.jit
    def step() -> object:
        w.add_(ag.exp(-w * w) * 0.01)

    return step


def _measure(context: Context, name: str, threads: Sequence[Calls],
             goal: float | None) -> list[Result]:
    """Seconds for the calls of each thread once: side by side in threads and in processes, and one
    behind the other."""
    context.note(name)
    rows = [Result.empty(context, name, goal=goal, rivals=(ONE,)),
            Result.empty(context, f"control: two processes, {name.removeprefix('control: ')}",
                         goal=None, rivals=(ONE,))]
    side, apart, one = [], [], []
    in_turn = [call for calls in threads for call in calls]
    with _processes(threads) as in_processes:
        for calls in threads:
            _round(calls, time.perf_counter())
        for _ in range(5 if context.quick else 15):
            side.append(_in_threads(threads))
            apart.append(in_processes())
            one.append(_round(in_turn, time.perf_counter()))
    for row, ours in zip(rows, (side, apart), strict=True):
        row.add(OURS, ours)
        row.add(ONE, one)
    return rows


@contextmanager
def _processes(threads: Sequence[Calls]) -> Iterator[Callable[[], float]]:
    """A function that runs a round of each thread's calls in a forked process of its own, and gives
    the seconds that all of them once took; it may be called again and again."""
    orders, answers, children = [], [], []
    for calls in threads:
        (order, send), (receive, answer) = os.pipe(), os.pipe()
        child = os.fork()
        if not child:
            for other in (send, receive, *orders, *answers):
                os.close(other)
            _round(calls, time.perf_counter())
            while start := os.read(order, 8):
                os.write(answer, struct.pack("d", _round(calls, *struct.unpack("d", start))))
            os._exit(0)
        os.close(order)
        os.close(answer)
        orders.append(send)
        answers.append(receive)
        children.append(child)

    def once() -> float:
        start = struct.pack("d", time.perf_counter() + AHEAD)
        for order in orders:
            os.write(order, start)
        return _together([struct.unpack("d", os.read(answer, 8))[0] for answer in answers])

    try:
        yield once
    finally:
        for place in (*orders, *answers):
            os.close(place)
        for child in children:
            os.waitpid(child, 0)


def _in_threads(threads: Sequence[Calls]) -> float:
    """Seconds that the calls of all threads once took in a round, each in a thread of its own."""
    start = time.perf_counter() + AHEAD
    with ThreadPoolExecutor(len(threads)) as pool:
        return _together(list(pool.map(lambda calls: _round(calls, start), threads)))


def _together(seconds: Sequence[float]) -> float:
    """Seconds in which all end a turn on average, from the seconds a turn of each alone."""
    return len(seconds) / sum(1 / each for each in seconds)


def _round(calls: Calls, start: float) -> float:
    """Seconds a turn of calls, of as many turns as end in a round that begins at ``start``."""
    time.sleep(max(0.0, start - time.perf_counter()))
    turns = 0
    while (now := time.perf_counter()) < start + SECONDS or not turns:
        for call in calls:
            call()
        turns += 1
    return (now - start) / turns
