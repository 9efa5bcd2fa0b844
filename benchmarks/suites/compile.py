"""Time to compile the MLP step 784-500-10, batch 60: cold, and again from the disk cache."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile

from benchmarks.harness import OURS, Context, Result
from benchmarks.suites import _cold, _mlp

TITLE = "compile of the MLP step, cold and from the disk cache"
THREADS = (1,)
COLD_LIMIT, WARM_LIMIT = 0.2, 0.05


def run(context: Context) -> list[Result]:
    loss = float(_mlp.with_numpy(_mlp.make(_cold.SIZES, _cold.BATCH)).answer()[0])
    cold = Result.empty(context, "cold", goal=1.0, limit=COLD_LIMIT, rivals=("jax",))
    warm = Result.empty(context, "second process, disk cache", limit=WARM_LIMIT)
    for library in _cold.LIBRARIES:
        context.note(library)
        slow = library not in (OURS, "jax")
        if context.quick and library.startswith("pytensor"):  # a minute, and far from the best
            continue
        times = 1 if slow and context.quick else 3
        try:
            pairs = [_cold_and_warm(library, loss) for _ in range(times)]
        except (RuntimeError, ValueError) as error:
            cold.absent[library] = warm.absent[library] = str(error)
            continue
        for result, samples in zip((cold, warm), zip(*pairs, strict=True), strict=True):
            result.add(library, samples)
    return [cold, warm]


def _cold_and_warm(library: str, loss: float) -> tuple[float, float]:
    """Seconds to the first step in two new processes that share a cache, empty at first."""
    with tempfile.TemporaryDirectory() as folder:
        env = _caches_in(folder)
        return _first_step(library, env, loss), _first_step(library, env, loss)


def _caches_in(folder: str) -> dict[str, str]:
    """Every library's disk cache in one folder; JAX's switched on, which it is not by default."""
    flags = os.environ.get("PYTENSOR_FLAGS", "")
    return {
        **os.environ,
        "AGNESI_CACHE_DIR": f"{folder}/agnesi",
        "JAX_COMPILATION_CACHE_DIR": f"{folder}/jax",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "TORCHINDUCTOR_CACHE_DIR": f"{folder}/inductor",
        "PYTENSOR_FLAGS": f"{flags},base_compiledir={folder}/pytensor".lstrip(","),
    }


def _first_step(library: str, env: dict[str, str], loss: float) -> float:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.suites._cold", library],
        env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError("failed: " + (done.stderr.strip().splitlines() or ["no message"])[-1])
    answer = json.loads(done.stdout.splitlines()[-1])
    if not math.isclose(answer["loss"], loss, rel_tol=1e-4):
        raise ValueError(f"wrong: loss {answer['loss']} for {loss}")
    return answer["seconds"]
