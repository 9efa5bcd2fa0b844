"""Two processes with one thread each: sums of tensors, and a training step with half the batch."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import pair
from benchmarks.harness import OURS, Context, Result

TITLE = "two processes: all_reduce, and data parallel steps"
THREADS = (1,)
#: Bytes, the goals through shared memory and through MPI.
SIZES = ((4_000, 1.0, 1.0), (1_000_000, 1.0, 1.0), (50_000_000, 4.0, 1.0))
STEP, STEP_GOAL, RATIO_GOAL = "LSTM medium", 1.4, 1.85
SECONDS = 0.05  # of a round
OWN_MPI = "agnesi mpi"


def run(context: Context) -> list[Result]:
    results = []
    for nbytes, goal, through in SIZES:
        work = f"all_reduce {nbytes}"
        libraries = [OURS, "torch gloo"]
        if Path(sys.executable).with_name("mpiexec").exists() or shutil.which("mpiexec"):
            libraries += [OWN_MPI, "mpi4py"]
        found = _measure(context, work, libraries)
        results.append(_result(context, f"{nbytes} bytes", found, OURS,
                               ("torch gloo", "mpi4py"), goal))
        results.append(_result(context, f"{nbytes} bytes, through MPI", found, OWN_MPI,
                               ("mpi4py",), through))
    found = _measure(context, STEP, [OURS, "agnesi alone", "torch gloo", "torch alone"])
    results.append(_result(context, STEP, found, OURS, ("torch gloo",), STEP_GOAL))
    results.append(_result(context, f"{STEP}, one process over two", found, OURS,
                           ("agnesi alone",), RATIO_GOAL))
    results.append(_result(context, f"{STEP}, one process of PyTorch over DDP", found, "torch gloo",
                           ("torch alone",), None))
    return results


def _measure(context: Context, work: str, libraries: Sequence[str]) -> dict[str, list[float] | str]:
    """Rounds by library, taking turns; or why it has none."""
    context.note(work)
    pairs: dict[str, pair.Pair] = {}
    found: dict[str, list[float] | str] = {}
    for library in libraries:
        try:
            pairs[library] = pair.Pair(library, work)
        except (ImportError, OSError) as error:
            found[library] = f"missing: {error}"
    try:
        counts = {}
        for library, two in pairs.items():
            once = min(two.seconds(3) for _ in range(2))
            counts[library] = max(1, round(SECONDS / once))
            found[library] = []
        for _ in range(5 if context.quick else 15):
            for library, two in pairs.items():
                samples = found[library]
                assert isinstance(samples, list)
                samples.append(two.seconds(counts[library]))
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
