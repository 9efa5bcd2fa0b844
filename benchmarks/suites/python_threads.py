"""Two Python threads that call compiled functions, beside one thread that does all of their calls.

Two controls tell what the machine lets two of anything gain now: NumPy's own function on the same
array, and, in the same rounds as each case, two processes that do what its threads do.  Libraries
have one thread of their own for each of Python's.  Where the functions are two, each thread calls
both in turn: so both threads have the same to do.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from benchmarks import peers
from benchmarks.harness import OURS, Context, Result

TITLE = "two Python threads, over one"
THREADS = (1,)
GOAL = 1.8
ONE = "one thread"
SECONDS = 0.03  # of a round, for each thread
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
    for calls in threads:
        _repeat(calls, 1)
    start = time.perf_counter()
    for calls in threads:
        _repeat(calls, 20)
    turns = max(1, round(SECONDS * 20 * len(threads) / (time.perf_counter() - start)))
    rows = [Result.empty(context, name, goal=goal, rivals=(ONE,)),
            Result.empty(context, f"control: two processes, {name.removeprefix('control: ')}",
                         goal=None, rivals=(ONE,))]
    side, apart, one = [], [], []
    with _processes(threads, turns) as in_processes:
        for _ in range(9 if context.quick else 25):
            side.append(_side_by_side(threads, turns) / turns)
            apart.append(in_processes() / turns)
            start = time.perf_counter()
            for calls in threads:
                _repeat(calls, turns)
            one.append((time.perf_counter() - start) / turns)
    for row, ours in zip(rows, (side, apart), strict=True):
        row.add(OURS, ours)
        row.add(ONE, one)
    return rows


@contextmanager
def _processes(threads: Sequence[Calls], turns: int) -> Iterator[Callable[[], float]]:
    """Seconds that so many turns of all take, each in a forked process of its own, by a function
    that may be called again and again."""
    orders, answers, children = [], [], []
    for calls in threads:
        (order, send), (receive, answer) = os.pipe(), os.pipe()
        child = os.fork()
        if not child:
            for other in (send, receive, *orders, *answers):
                os.close(other)
            _repeat(calls, 1)
            while os.read(order, 1):
                _repeat(calls, turns)
                os.write(answer, b"x")
            os._exit(0)
        os.close(order)
        os.close(answer)
        orders.append(send)
        answers.append(receive)
        children.append(child)

    def once() -> float:
        start = time.perf_counter()
        for order in orders:
            os.write(order, b"x")
        for answer in answers:
            os.read(answer, 1)
        return time.perf_counter() - start

    try:
        yield once
    finally:
        for place in (*orders, *answers):
            os.close(place)
        for child in children:
            os.waitpid(child, 0)


def _side_by_side(threads: Sequence[Calls], turns: int) -> float:
    """Seconds that so many turns of all take, each in a thread of its own."""
    barrier = threading.Barrier(len(threads) + 1)

    def work(calls: Calls) -> None:
        barrier.wait()
        _repeat(calls, turns)

    begun = [threading.Thread(target=work, args=(calls,)) for calls in threads]
    for thread in begun:
        thread.start()
    barrier.wait()
    start = time.perf_counter()
    for thread in begun:
        thread.join()
    return time.perf_counter() - start


def _repeat(calls: Calls, turns: int) -> None:
    for _ in range(turns):
        for call in calls:
            call()
