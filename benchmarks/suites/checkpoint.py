"""Checkpoints of 100 M parameters beside the bare bytes: time to and from disk, and memory."""

from __future__ import annotations

import os
import shutil
import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import OURS, Contender, Context, Result, time_in_turn

TITLE = "checkpoints of 100 M parameters"
THREADS = (1, 2)
TENSORS = 4
GOAL = 0.9  # of the bandwidth of the bare bytes
EXTRA = 1.1  # times one tensor


def run(context: Context) -> list[Result]:
    folder = Path(tempfile.mkdtemp(prefix="agnesi-checkpoint-"))
    try:
        return _measured(context, folder)
    finally:
        shutil.rmtree(folder)


def _measured(context: Context, folder: Path) -> list[Result]:
    ag = peers.agnesi()
    from agnesi import nn, saving

    side = 1_000 if context.quick else 5_000
    model = nn.ParameterList([ag.ones((side, side), requires_grad=True) for _ in range(TENSORS)])
    path, bare = folder / "model.safetensors", folder / "bare"
    arrays = [t.array for t in model.parameters()]

    def save() -> None:
        saving.save_checkpoint(path, model=model)

    def load() -> None:
        saving.load_checkpoint(path, model=model)

    def write() -> None:
        with open(bare, "wb", buffering=0) as file:
            for array in arrays:
                left = memoryview(array).cast("B")
                while left:
                    left = left[file.write(left):]
            os.fsync(file.fileno())

    def read() -> None:
        with open(bare, "rb", buffering=0) as file:
            for array in arrays:
                left = memoryview(array).cast("B")
                while left:
                    left = left[file.readinto(left):]  # type: ignore[attr-defined]

    save()
    write()
    peak = max(_peak(save), _peak(load))
    contenders = [("save", {OURS: save, "write, fsync": write}),
                  ("load", {OURS: load, "read": read})]
    found = [_compared(context, name, ways, folder, model) for name, ways in contenders]
    memory = Result.empty(context, "extra memory beside a tensor", goal=1 / EXTRA, unit="B")
    memory.add(OURS, [peak])
    memory.add("one tensor", [arrays[0].nbytes])
    return [*found, memory]


def _compared(context: Context, name: str, ways: dict[str, Callable[[], None]], folder: Path,
              model: Any) -> Result:
    context.note(name)
    result = Result.empty(context, name, goal=GOAL, rivals=tuple(n for n in ways if n != OURS))
    ready = {n: Contender(f) for n, f in ways.items()}
    try:
        ready["torch"] = Contender(_torch(name, folder, model))
    except ImportError as error:
        result.absent["torch"] = f"missing: {error}"
    for n, samples in time_in_turn(ready, context.quick).items():
        result.add(n, samples)
    return result


def _torch(name: str, folder: Path, model: Any) -> Callable[[], None]:
    torch = peers.torch()
    state = {n: torch.from_numpy(np.array(t.array)) for n, t in model.named_parameters()}
    path = folder / "model.pt"
    torch.save(state, path)

    def load() -> None:
        for n, t in torch.load(path, weights_only=True).items():
            state[n].copy_(t)

    return load if name == "load" else lambda: torch.save(state, path)


def _peak(job: Callable[[], None]) -> int:
    """The most bytes that a job took at a time."""
    tracemalloc.start()
    try:
        job()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
