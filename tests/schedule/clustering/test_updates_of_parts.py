"""What is written into a few elements of a state and computed from its elements needs no copy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import agnesi as ag

ROWS = 4000
IDS = np.array([3, 9, 3, 0])
Update = Callable[[ag.Tensor, ag.Tensor, ag.Tensor], None]


def put(x: ag.Tensor, i: ag.Tensor, g: ag.Tensor) -> None:
    x[i] = x[i] * 2 + g


def twice(x: ag.Tensor, i: ag.Tensor, g: ag.Tensor) -> None:
    put(x, i, g)
    x[i + 1] = x[i] - g


def added(x: ag.Tensor, i: ag.Tensor, g: ag.Tensor) -> None:
    x.index_add_(0, i, ag.tanh(x[i]) @ g.T @ g)


def column(x: ag.Tensor, i: ag.Tensor, g: ag.Tensor) -> None:
    x[i, 1] = x[i + 1, 2] + x[i, 1]


def piece(x: ag.Tensor, i: ag.Tensor, g: ag.Tensor) -> None:
    x[2:6] = x[4:8] + g


@pytest.mark.parametrize("update", [put, twice, added, column, piece])
def test_a_few_rows_are_written_in_place(update: Update) -> None:
    start = np.random.default_rng(0).standard_normal((ROWS, 4))
    g = ag.tensor(np.random.default_rng(1).standard_normal((4, 4)))
    ours, wanted = ag.tensor(start), ag.tensor(start)
    step = ag.jit(lambda i, g: update(ours, i, g))
    for _ in range(2):
        step(ag.tensor(IDS), g)
        update(wanted, ag.tensor(IDS), g)
    np.testing.assert_allclose(ours.numpy(), wanted.numpy(), rtol=1e-12)
    line = next(s for s in str(step.plan()).splitlines() if "in the arena" in s)
    assert int(line.split(" of them in the arena")[0].split(" bytes, ")[-1]) < start.nbytes, line
