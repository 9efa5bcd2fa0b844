"""What each special case earns: the rows of suites that it changes, timed with and without it.

``python -m benchmarks.without matmul layers`` prints a line for each row and special case that
takes part in it: the processor time without it over that with it.  A special case whose ratios all
stay below 1.03 is not worth its lines.  Both are compiled in one process and run by turns, without
peers, so that other load on the machine hardly counts.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from benchmarks import suites
from benchmarks.harness import OURS, Case, Contender, Context, Result

#: Rounds, and seconds that each takes at least.
ROUNDS, LEAST_SECONDS = 9, 0.015


class _NoRows:
    """A plan that is never chosen."""

    scratch, cycles = 1 << 40, math.inf


def _nothing(*args: Any, **keywords: Any) -> None:
    return None


#: Special cases: their names, where the function is looked up that decides or makes them, and what
#: it returns without them.
CASES: dict[str, tuple[str, Callable[..., Any]]] = {
    "gemm: zero-row skipping": ("kernels.gemm.planner:skipping", _nothing),
    "gemm: streaming": ("kernels.gemm.planner:streams", _nothing),
    "gemm: short sums": ("kernels.gemm.planner:_is_flat", _nothing),
    "gemm: tall A": ("kernels.gemm.planner:_is_tall", _nothing),
    "gemm: large A": ("kernels.gemm.planner:_is_large", _nothing),
    "gemm: far B": ("kernels.gemm.planner:_is_far_b", _nothing),
    "gemm: lanes along k": ("kernels.gemm.planner:_dot_plan", _nothing),
    "gemm: few dynamic rows": ("kernels.gemm.planner:_few_plan", _nothing),
    "gemm: prefetching": ("kernels.gemm.planner:prefetched_lines", lambda *a: 0),
    "conv: gradients by pixels": ("kernels.conv.kernel:plan_weight_pixels", _nothing),
    "conv: lanes along rows": ("kernels.conv.kernel:plan_rows", lambda *a: _NoRows),
    "conv: cotangent in place": ("kernels.conv.weight_plan:in_place", _nothing),
    "conv: Winograd": ("kernels.conv.winograd.plan:plan_winograd", _nothing),
    "conv: Winograd gradients": ("kernels.conv.winograd.plan:plan_winograd_weight", _nothing),
    "conv: 1x1 as products": ("kernels.conv.kernel:as_product", _nothing),
    "nest: lane runs": ("loops.nest:in_lane_runs", _nothing),
    "nest: bordered loads": ("loops.evaluate:bordered", lambda scope, value: value),
    "nest: joined stores": ("loops.slp_stores:_is_filled", _nothing),
    "nest: compared indices": ("loops.evaluate:compared", _nothing),
    "nest: strided loads": ("loops.evaluate:period_of", _nothing),
    "nest: list scheduling": ("loops.list_scheduling:_by_readiness", lambda values: []),
    "nest: blocked transposition": ("agnesi.schedule.mapping.loop_order:crossed", _nothing),
}


@dataclass
class Switches:
    """Which special cases are off, and which have taken part since they were last cleared."""

    off: str = ""
    met: set[str] = field(default_factory=set)

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Put a switch around each function, and around each optional pass of the scheduler."""
        kept = []
        for name, (place, without) in CASES.items():
            module, attribute = found(place)
            kept.append((module, attribute, getattr(module, attribute)))
            setattr(module, attribute, self._around(name, kept[-1][2], without))
        passes = import_module("agnesi.schedule.passes")
        kept.append((passes, "PASSES", passes.PASSES))
        passes.PASSES = tuple(map(self._pass, passes.PASSES))
        try:
            yield
        finally:
            for module, attribute, function in kept:
                setattr(module, attribute, function)

    def _around(self, name: str, function: Any, without: Any) -> Any:
        def switched(*args: Any, **keywords: Any) -> Any:
            if name == self.off:
                return without(*args, **keywords)
            result = function(*args, **keywords)
            if result and result is not args[-1]:
                self.met.add(name)
            return result

        return switched

    def _pass(self, step: Any) -> Any:
        name = f"pass: {step.name}"
        if step.required or step.name in ("layout", "fusion"):
            return step

        def run(program: Any) -> Any:
            if name == self.off:
                return program
            result = step.run(program)
            if result.counts.get(step.name):
                self.met.add(name)
            return result

        return type(step)(step.name, run, step.counts)


def found(place: str) -> tuple[Any, str]:
    """The module and the attribute of a special case."""
    module, _, attribute = place.partition(":")
    inside = "" if module.startswith("agnesi.") else "agnesi.codegen."
    return import_module(inside + module), attribute


def ratios(case: Case, switches: Switches) -> Iterator[tuple[str, float, float]]:
    """Special case, time without it over that with it, and seconds with it."""
    build = case.contenders.get(OURS)
    if build is None:
        return
    base = _built(build, switches, "")
    calls = max(1, round(LEAST_SECONDS / max(_seconds(base, 1), 1e-7)))
    for name in sorted(switches.met):
        other = _built(build, switches, name)
        rounds = [(_seconds(base, calls), _seconds(other, calls)) for _ in range(ROUNDS)]
        least, without = (min(times) for times in zip(*rounds, strict=True))
        yield name, without / least, least
    switches.off = ""


def _built(build: Callable[[], Contender], switches: Switches, off: str) -> Contender:
    switches.off = off
    if not off:
        switches.met.clear()
    made = build()
    for _ in range(3):
        made.fn(*made.args, **made.kwargs)
    return made


def _seconds(contender: Contender, calls: int) -> float:
    start = time.process_time()
    for _ in range(calls):
        contender.fn(*contender.args, **contender.kwargs)
    return (time.process_time() - start) / calls


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", nargs="+", choices=suites.NAMES)
    parser.add_argument("--cases", default="")
    args = parser.parse_args()
    switches = Switches()

    class Without(Context):
        def measure(self, case: Case) -> Result:
            for name, ratio, seconds in ratios(case, switches):
                print(f"{ratio:6.3f}  {name:28} {self.suite}: {case.name} "
                      f"({1e6 * seconds:.1f} us)", flush=True)
            return Result.empty(self, case.name)

    with switches.installed():
        for suite in args.suites:
            suites.load(suite).run(Without(suite, 1, quick=True, cases=args.cases))


if __name__ == "__main__":
    os.environ["AGNESI_CACHE"] = "0"  # code on disk does not know what is off
    main()
