"""In a process of its own: how far a training step's memory rises above model and data.

`python -m benchmarks.suites._footprint LIBRARY NET [SHARE]` prints bytes and seconds as JSON.  A
first step compiles, or chooses algorithms; what it left behind is given back to the system.  Then
the process's resident memory is the base from which the most that a second step needs is counted.
With a share, agnesi computes values again until its temporaries take no more than that part, and
both ways take turns on the clock.
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
ROUNDS = 5


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


class Steps:
    """A training step, the same without recomputing if it does, and what is planned for it."""

    def __init__(self, step: Callable[[], Any], keeping: Callable[[], Any] | None = None,
                 figures: Callable[[], dict[str, int]] = dict) -> None:
        self.step, self.keeping, self.figures = step, keeping, figures


def _agnesi(name: str, share: float) -> Steps:
    ag = peers.agnesi()
    _, fn, args = _training.agnesi_function(task(name))
    plain = ag.jit(fn)
    if share >= 1:
        return Steps(lambda: plain(*args), None, lambda: plain.plan().figures())
    plain(*args)
    plan = plain.plan().figures()
    outside = plan["planned"] - plan["arena"]
    tight = ag.jit(fn, memory_limit=outside + int(share * plan["arena"]))
    return Steps(lambda: tight(*args), lambda: plain(*args), lambda: tight.plan().figures())


def _torch(name: str) -> Steps:
    contender = _training.with_torch(task(name))
    return Steps(lambda: contender.fn(*contender.args))


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
    steps = _agnesi(name, share) if library == "agnesi" else _torch(name)
    steps.step()
    if library == "torch":
        for thing in gc.get_objects():
            if type(thing) is peers.torch().nn.Parameter:
                thing.grad = None
    _give_back(library)
    base = _resident()["VmRSS"]
    steps.step()
    found: dict[str, Any] = {"bytes": _resident()["VmHWM"] - base, "plan": steps.figures()}
    if steps.keeping is not None:
        pairs = [(_seconds(steps.step), _seconds(steps.keeping)) for _ in range(ROUNDS)]
        found["seconds"], found["keeping"] = (min(times) for times in zip(*pairs, strict=True))
    print(json.dumps(found))


def _seconds(step: Callable[[], Any]) -> float:
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
