"""Time to compile training steps: cold, again from the disk cache, with `fast_compile`, and without
optimization.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from typing import Any

from benchmarks.harness import OURS, Context, Result
from benchmarks.models.theano_programs import PROGRAMS
from benchmarks.suites import _cold, _mlp, _training
from benchmarks.suites._training import Task

TITLE = "compile of training steps, cold, from the disk cache, and with fast_compile"
THREADS = (1,)
#: Seconds that the first step takes over a later one: cold, and in a second process.
LIMITS = {
    "MLP": (0.2, 0.05),
    "LeNet": (0.5, 0.05),
    "LSTM": (0.5, 0.05),
    "AlexNet": (2.0, 0.2),
    "GoogLeNet": (6.0, 0.6),
    "transformer, 12 layers": (3.0, 0.3),
}
_QUICK = ("MLP", "LeNet", "LSTM", "transformer, 12 layers")
_PEERS = ("jax", "torch.compile")
#: What `fast_run` takes over what `fast_compile` takes: to compile, and to run a step.
_COMPILING, _RUNNING = 2.5, 0.8


def run(context: Context) -> list[Result]:
    found = []
    for model, limits in LIMITS.items():
        if model in _QUICK or not context.quick:
            found += _compared(context, model, *limits)
    return [*found, _unoptimized(context)]


def _unoptimized(context: Context) -> Result:
    """All programs of Theano's tutorials with `optimizer="None"`, beside `fast_compile`."""
    result = Result.empty(context, "Theano's tutorials, not optimized", goal=1.0,
                          rivals=("fast_compile",))
    rounds = [{"None": 0.0, "fast_compile": 0.0} for _ in range(1 if context.quick else 3)]
    for name in PROGRAMS:
        context.note(f"{name}, not optimized")
        for sums in rounds:
            for optimizer in sums:
                with tempfile.TemporaryDirectory() as folder:
                    sums[optimizer] += _answer("theano_programs", optimizer, name,
                                               caches_in(folder))
    result.add(OURS, [sums["None"] for sums in rounds])
    result.add("fast_compile", [sums["fast_compile"] for sums in rounds])
    return result


def _compared(context: Context, model: str, cold: float, warm: float) -> list[Result]:
    loss = _loss(_cold.problem_of(model))
    first = Result.empty(context, f"{model}, cold", goal=1.0, limit=cold, rivals=_PEERS)
    second = Result.empty(context, f"{model}, second process", limit=warm)
    compiling = Result.empty(context, f"{model}, fast_compile", goal=_COMPILING)
    speed = Result.empty(context, f"{model}, fast_compile, a step", goal=_RUNNING)
    for library in _libraries(context, model):
        context.note(library)
        times = 1 if library not in (OURS, "jax", "fast_compile") and context.quick else 3
        try:
            pairs = [_cold_and_warm(library, model, loss) for _ in range(times)]
        except (RuntimeError, ValueError) as error:
            first.absent[library] = second.absent[library] = str(error)
            continue
        ours = {OURS: "fast_run", "fast_compile": OURS}.get(library)
        if ours is not None:
            compiling.add(ours, [a["seconds"] for a, _ in pairs])
            speed.add(ours, [min(a["step"], b["step"]) for a, b in pairs])
        if library != "fast_compile":
            for result, samples in zip((first, second), zip(*pairs, strict=True), strict=True):
                result.add(library, [s["seconds"] for s in samples])
    return [first, second, compiling, speed]


def _libraries(context: Context, model: str) -> list[str]:
    """Those that have the model; PyTensor takes a minute, and is far from the best."""
    slow = [n for n in _cold.LIBRARIES if n.startswith("pytensor")]
    without = slow if model != _cold.MLP or context.quick else []
    if model in ("AlexNet", "GoogLeNet"):
        without = [*slow, "jax"]
    return [n for n in _cold.LIBRARIES if n not in without]


def _loss(problem: Any) -> float:
    """The first step's loss, from NumPy or from PyTorch's eager mode."""
    if isinstance(problem, Task):
        contender = _training.with_torch(problem)
        return float(contender.fn(*contender.args))
    return float(_mlp.with_numpy(problem).answer()[0])  # type: ignore[misc]


def _cold_and_warm(library: str, model: str, loss: float) -> tuple[Any, Any]:
    """The first step in two new processes that share a cache, empty at first."""
    with tempfile.TemporaryDirectory() as folder:
        env = caches_in(folder)
        return _first_step(library, model, env, loss), _first_step(library, model, env, loss)


def caches_in(folder: str) -> dict[str, str]:
    """Every library's disk cache in one folder; JAX's switched on, which it is not by default.

    Python keeps the byte code of what it imports, as it does of installed packages.
    """
    flags = os.environ.get("PYTENSOR_FLAGS", "")
    return {
        **{k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"},
        "AGNESI_CACHE_DIR": f"{folder}/agnesi",
        "JAX_COMPILATION_CACHE_DIR": f"{folder}/jax",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "TORCHINDUCTOR_CACHE_DIR": f"{folder}/inductor",
        "NUMBA_CACHE_DIR": f"{folder}/numba",
        "PYTENSOR_FLAGS": f"{flags},base_compiledir={folder}/pytensor".lstrip(","),
    }


def _answer(suite: str, library: str, model: str, env: dict[str, str]) -> Any:
    """What a suite's module prints of a model in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.suites.{suite}", library, model],
        env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError("failed: " + (done.stderr.strip().splitlines() or ["no message"])[-1])
    return json.loads(done.stdout.splitlines()[-1])


def _first_step(library: str, model: str, env: dict[str, str], loss: float) -> Any:
    answer = _answer("_cold", library, model, env)
    if not math.isclose(answer["loss"], loss, rel_tol=1e-3):
        raise ValueError(f"wrong: loss {answer['loss']} for {loss}")
    return answer
