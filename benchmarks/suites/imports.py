"""What `import agnesi` takes beyond `import numpy`, each time in a new process."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.harness import Context, Result

TITLE = "import agnesi over import numpy"
THREADS = (1,)
LIMIT = 0.04
LIBRARIES = ("agnesi", "torch", "jax", "pytensor")
PROGRAM = """
import numpy, time
start = time.perf_counter()
import {name}
print(time.perf_counter() - start)
"""


def run(context: Context) -> list[Result]:
    result = Result.empty(context, "after import numpy", limit=LIMIT)
    turns = 5 if context.quick else 15
    samples: dict[str, list[float]] = {name: [] for name in LIBRARIES}
    for turn in range(turns + 1):  # the first turn fills the file cache and the .pyc files
        for name in [n for n in LIBRARIES if n not in result.absent]:
            try:
                seconds = _import_seconds(name)
            except RuntimeError as error:
                result.absent[name] = str(error)
                continue
            if turn:
                samples[name].append(seconds)
    for name in LIBRARIES:
        if name not in result.absent:
            result.add(name, samples[name])
    return [result]


def _import_seconds(name: str) -> float:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(name=name)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError("missing: " + (done.stderr.strip().splitlines() or ["no message"])[-1])
    return float(done.stdout)
