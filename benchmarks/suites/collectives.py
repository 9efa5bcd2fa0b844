"""Two processes with one thread each: sums of tensors, and a training step with half the batch."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import pair, peers
from benchmarks.harness import OURS, Context, Result
from benchmarks.simulation import relative_rate

TITLE = "two processes: all_reduce, data parallel steps, centres, starts"
THREADS = (1,)
#: Bytes, the goals through shared memory and through MPI.
SIZES = ((4_000, 1.0, 1.0), (1_000_000, 1.0, 1.0), (50_000_000, 4.0, 1.0))
STEPS, STEP_GOAL, RATIO_GOAL, HIDDEN_GOAL = ("LSTM medium", "ResNet-50"), 1.4, 1.85, 0.8
#: Workers at their own pace: which model, how often they meet, the goals.
APART, MEETINGS = "LSTM small", ((1, 0.9), (100, 0.97))
WORKERS = (4, 16)
START_GOAL = 2.0  # seconds
SECONDS = 0.05  # of a round
#: Of all rounds of a workload, beyond the first few: a busy machine then has fewer of them.
BUDGET, ROUNDS_AT_LEAST = 15.0, 3
#: Seconds after which no workload begins any more: what is left out is told, the rest is printed.
LIMIT = 200.0
OWN_MPI = "agnesi mpi"
HIDDEN = "hidden"


def run(context: Context) -> list[Result]:
    results = []
    context.until = time.monotonic() + LIMIT
    libraries = [OURS, "torch gloo"]
    if Path(sys.executable).with_name("mpiexec").exists() or shutil.which("mpiexec"):
        libraries += [OWN_MPI, "mpi4py"]
    for nbytes, goal, through in SIZES:
        found = _measure(context, f"all_reduce {nbytes}", libraries)
        results.append(_result(context, f"{nbytes} bytes", found, OURS,
                               ("torch gloo", "mpi4py"), goal))
        results.append(_result(context, f"{nbytes} bytes, through MPI", found, OWN_MPI,
                               ("mpi4py",), through))
    for step in STEPS:
        results += _steps(context, step)
    results += _meetings(context)
    results += _simulated(context)
    results.append(_start(context))
    return results


def _steps(context: Context, step: str) -> list[Result]:
    """Half a batch in each of two processes."""
    found = _measure(context, step, [OURS, "agnesi alone", "torch gloo", "torch alone"])
    return [
        _result(context, step, found, OURS, ("torch gloo",), STEP_GOAL),
        _result(context, f"{step}, one process over two", found, OURS, ("agnesi alone",),
                RATIO_GOAL),
        _result(context, f"{step}, one process of PyTorch over DDP", found, "torch gloo",
                ("torch alone",), None),
        _result(context, f"{step}, communication hidden over all of it",
                {**found, OURS: [1.0]}, OURS, (HIDDEN,), HIDDEN_GOAL),
    ]


def _meetings(context: Context) -> list[Result]:
    """Steps of two processes that meet a centre, beside two that know nothing of each other."""
    results = []
    for every, goal in MEETINGS:
        ours = {rule: f"agnesi {rule} every {every}" for rule in ("ASGD", "EASGD")}
        found = _measure(context, APART, ["agnesi apart", *ours.values()], every)
        results += [_result(context, f"{APART}, {rule} every {every}, apart over together", found,
                            name, ("agnesi apart",), goal) for rule, name in ours.items()]
    return results


def _simulated(context: Context) -> list[Result]:
    """The same for more workers than there are cores, from what a step and a meeting take here."""
    results = []
    for rule in ("ASGD", "EASGD"):
        context.note(f"{rule}, simulated")
        if time.monotonic() > context.until:
            continue
        step, held, parts = pair.costs(APART, rule, 5 if context.quick else 15)
        for every, goal in MEETINGS:
            for workers in WORKERS:
                name = f"{APART}, {rule} every {every}, {workers} workers simulated"
                result = Result.empty(context, name, goal=goal, rivals=("agnesi apart",))
                result.add(OURS, [step / relative_rate(workers, step, held, parts, every)])
                result.add("agnesi apart", [step])
                results.append(result)
    return results


def _start(context: Context) -> Result:
    """From nothing to the result of the first call in two workers."""
    program = ("from agnesi import distributed as d\nimport agnesi as ag\n"
               "if __name__ == '__main__':\n    with d.Workers(2) as w:\n"
               "        w.run(ag.jit(d.all_reduce), ag.ones(1000))\n")
    result = Result.empty(context, "start of two workers to the first step", limit=START_GOAL)
    samples = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "start.py"
        path.write_text(program)
        for _ in range(4):
            begun = time.perf_counter()
            subprocess.run([sys.executable, str(path)], env=peers.environment(1), check=True,
                           timeout=120)
            samples.append(time.perf_counter() - begun)
    result.add(OURS, samples[1:])  # the first one fills the cache
    return result


def _measure(context: Context, work: str, libraries: Sequence[str], least: int = 1
             ) -> dict[str, list[float] | str]:
    """Rounds by library of ``least`` calls, taking turns; or why it has none."""
    context.note(work)
    pairs: dict[str, pair.Pair] = {}
    found: dict[str, list[float] | str] = {}
    for library in libraries:
        if time.monotonic() > context.until:
            found[library] = f"left out: {LIMIT:.0f} seconds were over before"
            continue
        try:
            pairs[library] = pair.Pair(library, work)
        except (ImportError, OSError) as error:
            found[library] = f"missing: {error}"
    try:
        begun, counts = time.monotonic(), {}
        for library, two in pairs.items():
            once = two.seconds(1)  # which may be the first call
            if once < 10 * SECONDS:
                once = min(two.seconds(3) for _ in range(2))
            counts[library] = max(least, round(SECONDS / once))
            found[library] = []
        for turn in range(2 if least > 1 else 5 if context.quick else 15):
            late = time.monotonic() > min(begun + BUDGET, context.until)
            if late and turn >= ROUNDS_AT_LEAST:
                break
            for library, two in pairs.items():
                samples = found[library]
                assert isinstance(samples, list)
                samples.append(two.seconds(counts[library]))
        if OURS in pairs and not work.startswith("all_reduce"):
            found[HIDDEN] = [pairs[OURS].hidden()]
    finally:
        for two in pairs.values():
            two.close()
    return found


def _result(context: Context, name: str, found: dict[str, list[float] | str], ours: str,
            rivals: tuple[str, ...], goal: float | None) -> Result:
    """One line: ours beside rivals."""
    result = Result.empty(context, name, goal=goal, rivals=rivals)
    for library in (ours, *rivals):
        samples = found.get(library, "missing: no mpiexec")
        if isinstance(samples, str):
            result.absent[OURS if library == ours else library] = samples
        else:
            result.add(OURS if library == ours else library, samples)
    return result
