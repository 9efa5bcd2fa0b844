"""The Trainer beside the loop by hand: batches of 32 on an MLP, both with one compiled step."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import OURS, Contender, Context, Result, time_in_turn

TITLE = "Trainer beside the loop by hand: an epoch in batches of 32"
THREADS = (1,)
ROWS, SIZES, BATCH = 6_400, (64, 256, 10), 32
GOAL = 1 / 1.03


def run(context: Context) -> list[Result]:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((ROWS, SIZES[0])).astype(np.float32), rng.integers(0, 10, ROWS)
    result = Result.empty(context, "-".join(map(str, SIZES)), goal=GOAL, rivals=("by hand",))
    ready = {OURS: _trainer(x, y), "by hand": _by_hand(x, y)}
    for name, samples in time_in_turn(ready, context.quick).items():
        result.add(name, samples)
    return [result]


def _parts(x: np.ndarray, y: np.ndarray) -> tuple[Any, Any, Any]:
    peers.agnesi()
    from agnesi import data, nn, optim

    model = nn.Sequential(nn.Linear(SIZES[0], SIZES[1]), nn.Tanh(), nn.Linear(SIZES[1], SIZES[2]))
    loader = data.DataLoader(data.TensorDataset(x, y), BATCH, shuffle=True)
    return model, optim.SGD(model.parameters(), lr=0.01), loader


def _trainer(x: np.ndarray, y: np.ndarray) -> Contender:
    model, optimizer, loader = _parts(x, y)
    from agnesi import nn
    from agnesi.training import Trainer

    trainer = Trainer(model, optimizer, nn.CrossEntropyLoss())

    def epoch() -> None:
        trainer.fit(loader, epochs=trainer.epoch + 1)

    epoch()
    return Contender(epoch)


def _by_hand(x: np.ndarray, y: np.ndarray) -> Contender:
    model, optimizer, loader = _parts(x, y)
    ag = peers.agnesi()
    from agnesi import nn

    total = ag.zeros(())

    @ag.jit
    def step(x: Any, y: Any) -> None:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total.add_(loss.detach())

    def epoch() -> float:
        total.zero_()
        for x, y in loader:
            step(x, y)
        return float(total) / len(loader)

    epoch()
    return Contender(epoch)
