"""Batches of a data loader: MNIST-shaped arrays, and workers with a transform in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import OURS, Case, Contender, Context, Result, time_in_turn

TITLE = "data loaders: an epoch of batches of 64"
THREADS = (1, 2)
ROWS, PIXELS, BATCH = 60_000, 784, 64
WORK = 6_000  # turns of a loop in Python for each sample


def run(context: Context) -> list[Result]:
    rows = ROWS // 10 if context.quick else ROWS
    if context.threads > 1:
        return [_workers(context)]
    return context.measure_all([_arrays(rows, shuffle) for shuffle in (True, False)])


def _arrays(rows: int, shuffle: bool) -> Case:
    rng = np.random.default_rng(0)
    x, y = rng.random((rows, PIXELS), np.float32), rng.integers(0, 10, rows)

    def contender(loader: Any) -> Contender:
        def epoch() -> None:
            for _ in loader:
                pass

        def answer() -> np.ndarray:
            parts = [(len(b), int(b.sum())) for _, b in loader]
            return np.array(parts, np.int64).sum(0)

        return Contender(epoch, answer=answer)

    def ours() -> Contender:
        peers.agnesi()
        from agnesi import data

        return contender(data.DataLoader(data.TensorDataset(x, y), BATCH, shuffle=shuffle))

    def torch() -> Contender:
        found = peers.torch().utils.data
        tensors = [peers.torch().from_numpy(a) for a in (x, y)]
        return contender(found.DataLoader(found.TensorDataset(*tensors), BATCH, shuffle=shuffle))

    name = f"{rows}x{PIXELS} {'shuffled' if shuffle else 'in order'}"
    return Case(name, lambda: np.array([rows, y.sum()]), {OURS: ours, "torch": torch},
                bytes=2 * x.nbytes, goal=10.0)


def _slow(x: Any, y: Any) -> Any:
    total = 0
    for k in range(WORK):
        total += k
    return x, y


def _workers(context: Context) -> Result:
    """Two processes beside one, where a transform in Python takes the time."""
    context.note("workers")
    peers.agnesi()
    from agnesi import data

    count = 1_000 if context.quick else 4_000
    dataset = data.TensorDataset(np.zeros((count, PIXELS), np.float32), np.arange(count)).map(_slow)

    def epoch(workers: int) -> Callable[[], None]:
        loader = data.DataLoader(dataset, BATCH, num_workers=workers, persistent_workers=True)

        def run() -> None:
            for _ in loader:
                pass

        run()
        return run

    result = Result.empty(context, "transform in Python, 2 worker processes", goal=1.8)
    ready = {OURS: Contender(epoch(2)), "1 worker": Contender(epoch(1))}
    for name, samples in time_in_turn(ready, context.quick).items():
        result.add(name, samples)
    return result
