"""Timing of one workload by several libraries, in turn, each after its answer has been checked."""

from __future__ import annotations

import gc
import math
import re
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import repeat
from typing import Any

import numpy as np

OURS = "agnesi"
LONG_PAUSE = 0.15  # seconds
LONG = 0.005  # seconds: a call longer than this is timed without calls before it
NOISE = 0.25  # a spread of the rounds above this is marked in the report


@dataclass(frozen=True)
class Contender:
    """One library's way to do a workload: `fn(*args, **kwargs)` is what is timed.

    `answer` gives the arrays to compare with the reference; without it, what a call returns.
    """

    fn: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    answer: Callable[[], Any] | None = None


@dataclass(frozen=True)
class Case:
    """One workload: who takes part, the right answer, what it must move and compute, the goal."""

    name: str
    expect: Callable[[], Any]
    contenders: Mapping[str, Callable[[], Contender]]
    rtol: float = 1e-5
    atol: float = 1e-6
    bytes: int = 0  # least traffic: every input read once, every output written once
    flops: int = 0  # multiplications and additions of its matrix products
    dtype: str = "float32"
    goal: float | None = None  # best peer's time over ours, at least
    limit: float | None = None  # seconds, at most
    rivals: tuple[str, ...] | None = None  # the peers that the goal speaks of; None: all
    items: int = 0  # words or images of one call, where a rate says more than a time


@dataclass
class Result:
    """What came out of a case: median seconds by library, and why a library has none."""

    suite: str
    case: str
    threads: int
    seconds: dict[str, float]
    least: dict[str, float]  # the shortest round: what a quiet machine would tell
    spread: dict[str, float]  # interquartile range over the median
    absent: dict[str, str]
    goal: float | None = None
    limit: float | None = None
    rivals: tuple[str, ...] | None = None
    bound: float | None = None  # seconds that the machine needs at its measured peaks
    items: int = 0
    unit: str = "s"  # or "B": bytes, wherever this speaks of seconds

    @classmethod
    def empty(cls, context: Context, case: str, **goals: Any) -> Result:
        """A result to which `add` brings the figures."""
        return cls(context.suite, case, context.threads, {}, {}, {}, {}, **goals)

    @classmethod
    def mean(cls, context: Context, results: Sequence[Result], goal: float) -> list[Result]:
        """The geometric mean of all ratios as a result, beside ours as 1 second, if there are any.

        The figure stands with the peer that was the best everywhere, if there was one.
        """
        ratios = [r.ratio for r in results if r.ratio is not None]
        if not ratios:
            return []
        found = cls.empty(context, "geometric mean", goal=goal)
        found.add(OURS, [1.0])
        best, *others = {r.best_peer or "" for r in results if r.ratio is not None}
        found.add("the best of each" if others else best, [geometric_mean(ratios)])
        return [found]

    def add(self, name: str, samples: Sequence[float]) -> None:
        """A library's rounds, in seconds."""
        self.seconds[name] = statistics.median(samples)
        self.least[name] = min(samples)
        self.spread[name] = relative_spread(samples)

    @property
    def ours(self) -> float | None:
        return self.seconds.get(OURS)

    @property
    def best_peer(self) -> str | None:
        """The fastest rival's name."""
        return min(self._peers(), key=self.seconds.__getitem__, default=None)

    def _peers(self) -> list[str]:
        allowed = self.seconds if self.rivals is None else self.rivals
        named = self.rivals is not None  # another way of ours may be meant
        return [n for n in self.seconds
                if n in allowed and n != OURS and (named or not n.startswith(OURS))]

    @property
    def ratio(self) -> float | None:
        """Best peer's time over ours: above one, agnesi is faster."""
        if self.ours is None or self.best_peer is None:
            return None
        return self.seconds[self.best_peer] / self.ours

    @property
    def least_ratio(self) -> float | None:
        """The ratio of the shortest rounds, which a busy machine disturbs less."""
        if self.ours is None or self.best_peer is None:
            return None
        return min(self.least[name] for name in self._peers()) / self.least[OURS]

    @property
    def noisy(self) -> bool:
        """Whether the machine was too busy for the ratio to be trusted."""
        compared = (OURS, self.best_peer)
        return any(self.spread.get(name, 0.0) > NOISE for name in compared if name)

    @property
    def met(self) -> bool | None:
        """Whether every goal of the case is met; None where it was not measured."""
        verdicts = []
        if self.goal is not None:
            verdicts.append(None if self.ratio is None else self.ratio >= self.goal)
        if self.limit is not None:
            verdicts.append(None if self.ours is None else self.ours <= self.limit)
        if not verdicts or None in verdicts:
            return None
        return all(verdicts)


@dataclass
class Context:
    """How to measure: filled by the worker process, handed to every suite."""

    suite: str
    threads: int
    quick: bool
    bound: Callable[[int, int, str], float | None] = lambda nbytes, flops, dtype: None
    note: Callable[[str], None] = lambda text: None
    done: Callable[[Result], None] = lambda result: None  # a row is there
    cases: str = ""  # a regular expression: which of the cases are wanted
    until: float = math.inf  # by `time.monotonic`: when a long suite leaves out the rest

    def measure_all(self, cases: Iterable[Case]) -> list[Result]:
        return [self.measure(case) for case in cases if re.search(self.cases, case.name)]

    def measure(self, case: Case) -> Result:
        """Build, check and time every contender of a case."""
        self.note(case.name)
        ready, absent = prepare(case)
        result = Result.empty(
            self, case.name, goal=case.goal, limit=case.limit, rivals=case.rivals,
            bound=self.bound(case.bytes, case.flops, case.dtype), items=case.items,
        )  # fmt: skip
        result.absent.update(absent)
        rounds = time_in_turn(ready, self.quick, cool=0.006 if self.threads > 1 else 0.0)
        for name, samples in rounds.items():
            result.add(name, samples)
        self.done(result)
        return result


# ------------------------------------------------------------------------------------- answers


def to_numpy(value: Any) -> list[np.ndarray]:
    """Results of any library, one array or several, as NumPy arrays."""
    if isinstance(value, (list, tuple)):
        return [array for item in value for array in to_numpy(item)]
    if hasattr(value, "detach"):
        value = value.detach()
    return [np.asarray(value)]


def check_answer(name: str, case: Case, contender: Contender, want: list[np.ndarray]) -> None:
    """Raise ValueError where a contender does not compute what the reference computes."""
    answer = contender.answer or (lambda: contender.fn(*contender.args, **contender.kwargs))
    got = to_numpy(answer())
    if len(got) != len(want):
        raise ValueError(f"{name} gives {len(got)} arrays, the reference {len(want)}")
    for g, w in zip(got, want, strict=True):
        if g.shape != w.shape or g.dtype != w.dtype:
            raise ValueError(
                f"{name} gives {g.dtype}{list(g.shape)}, the reference {w.dtype}{list(w.shape)}"
            )
        if not np.allclose(g, w, rtol=case.rtol, atol=case.atol, equal_nan=True):
            raise ValueError(f"{name} is off by up to {np.max(np.abs(g - w)):.3g}")


def prepare(case: Case) -> tuple[dict[str, Contender], dict[str, str]]:
    """The contenders that work, and for the others the reason why they do not take part."""
    ready: dict[str, Contender] = {}
    absent: dict[str, str] = {}
    want = to_numpy(case.expect())
    for name, build in case.contenders.items():
        try:
            contender = build()
            check_answer(name, case, contender, want)
            ready[name] = contender
        except ImportError as error:
            absent[name] = f"missing: {error}"
        except ValueError as error:
            absent[name] = f"wrong: {error}"
        except Exception as error:  # a peer's own failure must not end the run; it is reported
            absent[name] = f"failed: {type(error).__name__}: {str(error).strip()[:300]}"
    return ready, absent


# -------------------------------------------------------------------------------------- timing


@cache
def _loop(n_args: int, names: tuple[str, ...]) -> Callable[..., float]:
    """A timing loop that calls the function directly, with no wrapper to pay for."""
    args = [f"a{i}" for i in range(n_args)]
    call = ", ".join([*args, *(f"{k}={k}" for k in names)])
    source = (
        f"def loop(count, clock, fn, {', '.join([*args, *names])}):\n"
        "    turns = repeat(None, count)\n"
        "    start = clock()\n"
        "    for _ in turns:\n"
        f"        fn({call})\n"
        "    return clock() - start\n"
    )
    scope: dict[str, Any] = {"repeat": repeat}
    exec(source, scope)
    return scope["loop"]


def timer(contender: Contender) -> Callable[[int], float]:
    """Seconds that `count` calls take, as a function of `count`."""
    loop = _loop(len(contender.args), tuple(contender.kwargs))
    fn, args, kwargs = contender.fn, contender.args, contender.kwargs
    return lambda count: loop(count, time.perf_counter, fn, *args, **kwargs)


@dataclass(frozen=True)
class Slot:
    """How one contender fills its turn: so many calls, after a few that do not count."""

    run: Callable[[int], float]
    calls: int
    warm: int
    seconds: float  # about, for the whole turn

    @classmethod
    def of(cls, run: Callable[[int], float], length: float) -> Slot:
        """Enough calls for `length` seconds, at least one.

        The shorter of two runs counts, for in the other one a library may have compiled something.
        """
        calls = 1
        while (elapsed := min(run(calls), run(calls))) < length / 4:
            calls *= 4
        each = elapsed / calls
        calls = max(1, round(length / each))
        # A long call needs no warming: what it does first is a small part of it.
        warm = 0 if each > LONG else max(1, calls // 8)
        return cls(run, calls, warm, each * (calls + warm))

    def turn(self) -> float:
        """Seconds a call, this time."""
        if self.warm:
            self.run(self.warm)
        return self.run(self.calls) / self.calls


def time_in_turn(
    ready: Mapping[str, Contender], quick: bool, cool: float = 0.0
) -> dict[str, list[float]]:
    """Seconds a call in every round, the contenders taking turns.

    Before each slot come a pause of `cool` seconds, in which the previous library's threads stop
    spinning, and a few calls that do not count, in which this library's threads wake.  Behind a
    long slot the pause is longer: freeing what it took keeps XLA's threads busy for some 50 ms.
    """
    slot, rounds, budget = (0.0015, 9, 1.0) if quick else (0.004, 25, 12.0)
    gc.disable()
    try:
        slots = {name: Slot.of(timer(contender), slot) for name, contender in ready.items()}
        once = sum(s.seconds for s in slots.values())
        rounds = min(rounds, max(3, round(budget / max(once, 1e-9))))
        samples: dict[str, list[float]] = {name: [] for name in slots}
        before = 0.0
        for _ in range(rounds):
            for name, s in slots.items():
                if cool:
                    time.sleep(max(cool, min(before, LONG_PAUSE)))
                samples[name].append(s.turn())
                before = s.seconds
    finally:
        gc.enable()
    return samples


def relative_spread(samples: Sequence[float]) -> float:
    """Interquartile range over the median."""
    if len(samples) == 1:
        return 0.0
    low, middle, high = statistics.quantiles(samples, n=4)
    return (high - low) / middle


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))
