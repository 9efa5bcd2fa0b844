"""In a process of its own: how far a training step's memory rises above model and data.

`python -m benchmarks.suites._footprint LIBRARY NET [SHARE]` prints bytes and seconds as JSON.  A
first step compiles, or chooses algorithms; what it left behind is given back to the system.  Then
the process's resident memory is the base from which the most that a second step needs is counted.
With a share, agnesi computes values again until its temporaries take no more than that part.
"""

from __future__ import annotations

import ctypes
import gc
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.models import convnets
from benchmarks.suites import _training
from benchmarks.suites.convnets_small import task_of

LAYERS, WIDTH, BATCH = 12, 512, 4096


def deep_mlp(lib: Any) -> Any:
    """Twelve fully connected layers with tanh."""
    layers: list[Any] = []
    for _ in range(LAYERS):
        layers += [lib.nn.Linear(WIDTH, WIDTH), lib.nn.Tanh()]
    return lib.nn.Sequential(*layers, lib.nn.Linear(WIDTH, 10))


def task(name: str) -> _training.Task:
    """The training step of a network by name."""
    if name == "MLP":
        rng = np.random.default_rng(0)
        x = rng.standard_normal((BATCH, WIDTH)).astype(np.float32)
        return _training.Task(name, deep_mlp, (x, rng.integers(0, 10, BATCH)))
    nets = {net.name: net for net in (*convnets.IMAGENET, *convnets.TORCH7)}
    return task_of(nets[name])


def _agnesi(name: str, share: float) -> tuple[Callable[[], Any], Callable[[], dict[str, int]]]:
    ag = peers.agnesi()
    _, fn, args = _training.agnesi_function(task(name))
    step = ag.jit(fn)
    if share < 1:
        step(*args)
        plan = step.plan().figures()
        outside = plan["planned"] - plan["arena"]
        step = ag.jit(fn, memory_limit=outside + int(share * plan["arena"]))
    return lambda: step(*args), lambda: step.plan().figures()


def _torch(name: str) -> tuple[Callable[[], Any], Callable[[], dict[str, int]]]:
    contender = _training.with_torch(task(name))
    return lambda: contender.fn(*contender.args), dict


def _resident() -> dict[str, int]:
    with open("/proc/self/status") as file:
        rows = dict(line.split(":", 1) for line in file)
    return {key: 1024 * int(rows[key].split()[0]) for key in ("VmRSS", "VmHWM")}


def _give_back(library: str) -> None:
    """Let the system have all memory that nobody uses, and begin a new maximum."""
    gc.collect()
    if library == "agnesi":
        kept = peers.agnesi().memory_stats()["limit"]
        peers.agnesi().keep_memory(0)
        peers.agnesi().keep_memory(kept)
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def main() -> None:
    library, name, *rest = sys.argv[1:]
    share = float(rest[0]) if rest else 1.0
    step, figures = _agnesi(name, share) if library == "agnesi" else _torch(name)
    step()
    if library == "torch":
        for thing in gc.get_objects():
            if isinstance(thing, peers.torch().nn.Parameter):
                thing.grad = None
    _give_back(library)
    base = _resident()["VmRSS"]
    step()
    rise = _resident()["VmHWM"] - base
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"bytes": rise, "seconds": min(seconds), "plan": figures()}))


if __name__ == "__main__":
    main()
