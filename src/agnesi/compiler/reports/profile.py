"""The profile of a compiled function: how often its kernels ran, and how long."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from agnesi.compiler.compilation.counters import rows_of
from agnesi.compiler.reports.memory_plan import MemoryPlan, describe_kernel
from agnesi.core.support.errors import location

#: Two readings of both clocks at least so far apart show how fast the quick one is.
_MIN_CALIBRATION_SECONDS = 0.01


class KernelTime(NamedTuple):
    """One kernel of a profiled function.

    :ivar kernel: Its kind and its operations.
    :ivar line: The user's line of the last of them; empty where there is none.
    :ivar depth: In how many loops and branches it is, whose time contains its own.
    :ivar calls: How often it ran.
    :ivar seconds: How long in all.
    """

    kernel: str
    line: str
    depth: int
    calls: int
    seconds: float


class Profile:
    """Times of a function's kernels since it was made; printing it gives them all, and sums by
    operation and by line.

    :ivar calls: How often compiled code ran.
    :ivar seconds: How long in all, without checks of arguments and what Python does.
    :ivar kernels: In their order, of one version after the other.
    :ivar compiling: Seconds by the stage of compiling.
    :ivar peak_bytes: The most memory that a version takes for arguments, state, results and
        temporaries.
    """

    def __init__(self, name: str, specialisations: Sequence[Any]) -> None:
        self.name, self.calls, self.seconds = name, 0, 0.0
        self.kernels: list[KernelTime] = []
        self.compiling: dict[str, float] = {}
        self.peak_bytes = 0
        rate = _ticks_per_second()
        for one in specialisations:
            compiled = one.compiled
            for stage, seconds in one.seconds.items():
                self.compiling[stage] = self.compiling.get(stage, 0.0) + seconds
            if compiled.bound is None:
                continue
            self.peak_bytes = max(self.peak_bytes, MemoryPlan(compiled).planned_bytes)
            counts = list(compiled.counters)
            self.calls += counts[0]
            self.seconds += counts[1] / rate
            for row, depth, kernel in rows_of(compiled):
                self.kernels.append(KernelTime(
                    describe_kernel(kernel), _line(kernel), depth, counts[2 * row],
                    counts[2 * row + 1] / rate))

    def by(self, what: Callable[[KernelTime], str]) -> dict[str, float]:
        """Seconds of kernels that are in no other one, by a text for each, the longest first.

        :param what: Which kernels belong together.
        :returns: Seconds by text.
        """
        found: dict[str, float] = {}
        for k in self.kernels:
            if not k.depth:
                found[what(k)] = found.get(what(k), 0.0) + k.seconds
        return dict(sorted(found.items(), key=lambda pair: -pair[1]))

    def __str__(self) -> str:
        each = 1e6 * self.seconds / max(self.calls, 1)
        lines = [f"{self.name}: {self.calls} calls, {self.seconds:.6f} s in compiled code, "
                 f"{each:.2f} us each; at most {self.peak_bytes} bytes",
                 "compiling: " + ", ".join(f"{k} {1e3 * v:.1f} ms"
                                           for k, v in self.compiling.items()), "kernels:"]
        lines += [self._row("  " * k.depth + k.kernel, k.seconds, k.calls, k.line)
                  for k in self.kernels]
        for title, what in (("operations", lambda k: k.kernel), ("lines", lambda k: k.line or "-")):
            lines.append(f"by {title}:")
            lines += [self._row(text, seconds) for text, seconds in self.by(what).items()]
        return "\n".join(lines)

    def _row(self, text: str, seconds: float, calls: int | None = None, line: str = "") -> str:
        share = 100 * seconds / self.seconds if self.seconds else 0.0
        times = "" if calls is None else f" {calls:>8} x"
        return f"{share:5.1f} % {1e6 * seconds:12.1f} us{times}  {text}{line and f'  ({line})'}"


def _line(kernel: Any) -> str:
    lines = [n.where for n in kernel.nodes if n.where is not None]
    return location(lines[-1]) if lines else ""


@cache
def _clock() -> tuple[Any, int, float]:
    """The clock of profiled programs, and readings of it and of Python's."""
    from agnesi.runtime.entry import clock_address

    read = ctypes.CFUNCTYPE(ctypes.c_int64)(clock_address())
    return read, read(), time.perf_counter()


def _ticks_per_second() -> float:
    read, ticks, begin = _clock()
    time.sleep(max(0.0, begin + _MIN_CALIBRATION_SECONDS - time.perf_counter()))
    return float(read() - ticks) / (time.perf_counter() - begin)
