"""Hierarchical softmax: loss, gradients and an SGD step as the number of classes grows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import OURS, Contender, Context, Result, time_in_turn

TITLE = "hierarchical softmax: a training step grows with log n"
THREADS = (1,)
BATCH, FEATURES = 64, 64
CLASSES = (100, 1_000, 10_000, 100_000, 1_000_000)
GOAL = 0.5  # of a time that grows with log n from that of 1000 classes: caches end in between


def run(context: Context) -> list[Result]:
    classes = CLASSES[:-1] if context.quick else CLASSES
    ready = {f"{n}": Contender(*_step(n)) for n in classes}
    samples = time_in_turn(ready, context.quick)
    found = []
    base = np.array(samples["1000"])
    for n in classes[1:]:
        result = Result.empty(context, f"{n} classes", goal=GOAL, rivals=("log n",))
        result.add(OURS, samples[f"{n}"])
        result.add("log n", list(base * math.log(n) / math.log(1_000)))
        found.append(result)
    return found


def _tree(n: int) -> Any:
    """A balanced tree of so many classes."""
    level: list[Any] = list(range(n))
    while len(level) > 1:
        pairs = [tuple(level[i: i + 2]) for i in range(0, len(level) - 1, 2)]
        level = pairs + level[2 * len(pairs):]
    return level[0]


def _step(n: int) -> tuple[Any, tuple[Any, ...]]:
    ag = peers.agnesi()
    layer = ag.nn.BinaryHierarchicalSoftmax(FEATURES, _tree(n))
    optimizer = ag.optim.SGD(layer.parameters(), lr=0.1)
    rng = np.random.default_rng(0)
    x = ag.tensor(rng.standard_normal((BATCH, FEATURES)).astype(np.float32))
    labels = ag.tensor(rng.integers(0, n, BATCH))

    @ag.jit
    def step(x: Any, labels: Any) -> Any:
        optimizer.zero_grad()
        loss = layer(x, labels)
        loss.backward()
        optimizer.step()
        return loss

    step(x, labels)
    return step, (x, labels)
