"""H13, Theano's claim of 2016: what the memory of temporaries costs, and what loops write directly.

Each way of ours that leaves something out stands in a peer's column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import OURS, Case, Contender

#: Passes of the scheduler by which values share memory.
SHARING = ("donation", "in_place_results", "memory_reuse", "memory_order")
#: Those by which carries and rows of results are written where they stay.
WRITING = ("in_place_results", "in_place_updates", "memory_reuse")
STEPS, BATCH, WIDTH = 64, 20, 200


def cases(quick: bool) -> Iterator[Case]:
    """The rows of these ablations."""
    del quick
    yield _allocation()
    yield _scan()


def _allocation() -> Case:
    """A gradient with large temporaries: all ways to save memory, and one of them left out."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(512, 784)).astype("float32")
    w, v = rng.normal(size=(784, 1000)).astype("float32"), rng.normal(size=1000).astype("float32")

    def loss(w: Any, v: Any, x: Any) -> Any:
        return ((peers.agnesi().tanh(x @ w / 28) @ v) ** 2).mean()

    def made(exclude: tuple[str, ...] = (), keep: bool = True) -> Contender:
        ag = peers.agnesi()
        step = ag.jit(ag.grad(loss, (0, 1)), exclude=exclude)

        def call(*arrays: Any) -> Any:
            if keep:
                return step(*arrays)
            kept = ag.memory_stats()["limit"]
            ag.keep_memory(0)
            try:
                return step(*arrays)
            finally:
                ag.keep_memory(kept)

        return Contender(call, tuple(map(ag.tensor, (w, v, x))))

    def expected() -> list[np.ndarray]:
        hidden = np.tanh(x.astype("float64") @ w / 28)
        scale = 2 * (hidden @ v) / len(x)
        above = scale[:, None] * v * (1 - hidden**2) / 28
        return [(x.T @ above).astype("float32"), (scale @ hidden).astype("float32")]

    return Case(
        "H13 gradient of a layer of 1000: memory kept and shared", expected,
        {OURS: made, "nothing kept": lambda: made(keep=False),
         "nothing shared": lambda: made(SHARING)},
        flops=4 * 512 * 784 * 1000, goal=0.97, rtol=1e-3, atol=1e-3,
    )


def _scan() -> Case:
    """A recurrence: one compiled loop that writes its results where they stay, and less than that.
    """
    rng = np.random.default_rng(0)
    x = rng.normal(size=(STEPS, BATCH, WIDTH)).astype("float32")
    w = (rng.normal(size=(WIDTH, WIDTH)) / WIDTH**0.5).astype("float32")
    first = np.zeros((BATCH, WIDTH), "float32")

    def step(carry: Any, row: Any, weight: Any) -> tuple[Any, Any]:
        found = peers.agnesi().tanh(carry @ weight + row)
        return found, found

    def scanned(**options: Any) -> Contender:
        ag = peers.agnesi()
        call = ag.jit(lambda c, x, w: ag.scan(step, c, x, non_sequences=(w,), strict=True)[1],
                      **options)
        return Contender(call, tuple(map(ag.tensor, (first, x, w))))

    def by_python(inside: bool) -> Callable[[], Contender]:
        def made() -> Contender:
            ag = peers.agnesi()
            one = step if inside else ag.jit(step)

            def loop(carry: Any, x: Any, w: Any) -> Any:
                rows = []
                for row in x:
                    carry, found = one(carry, row, w)
                    rows.append(found)
                return ag.stack(rows)

            return Contender(ag.jit(loop) if inside else loop,
                             tuple(map(ag.tensor, (first, x, w))))
        return made

    def expected() -> np.ndarray:
        rows, carry = [], first
        for row in x:
            carry = np.tanh(carry @ w + row)
            rows.append(carry)
        return np.array(rows)

    return Case(
        f"H13 scan of {STEPS} steps, {BATCH}x{WIDTH}: written where results stay", expected,
        {OURS: scanned, "copies": lambda: scanned(exclude=WRITING),
         "written out": by_python(True), "a loop of Python's": by_python(False)},
        flops=2 * STEPS * BATCH * WIDTH * WIDTH, goal=0.97, rtol=1e-3, atol=1e-4,
        rivals=("copies", "a loop of Python's"),
    )
