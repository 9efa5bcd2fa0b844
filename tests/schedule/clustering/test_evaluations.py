"""Values that nests along different axes read, beside nests that write each element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import agnesi as ag


def left_out(s: Any, t: Any) -> Any:
    """Nadaraya and Watson's regression, each point by all others."""
    k = ag.exp(-(s[:, None] - s[None, :]) ** 2) * (1 - ag.eye(len(s), dtype=s.dtype))
    return ((k @ t) / k.sum(1)).sum()


def entropies(x: Any, t: Any) -> Any:
    """The greatest entropy of a row, and totals of columns."""
    p = ag.softmax(x * t, axis=1)
    return (-(p * ag.log(p + 1e-9)).sum(1).max() + p.sum(0)).sum()


def neighbours(x: Any, t: Any) -> Any:
    """Similarities of points as Hinton and Roweis have them, of both in each pair."""
    near = ag.softmax(-((x[:, None] - x) ** 2).sum(-1) - 1e9 * ag.eye(60), axis=1)
    return ((near + near.T) * ag.outer(t[:60], t[:60] + 1)).sum()


@pytest.mark.parametrize(
    ("f", "shape"), [(left_out, (192,)), (entropies, (192, 192)), (neighbours, (60, 50))])
def test_exponentials_of_both_ways_are_kept(f: Callable[..., Any], shape: Any) -> None:
    """Written for a product, then summed by rows and by columns: three times was one too many."""
    rng = np.random.default_rng(0)
    x, t = ag.tensor(rng.random(shape)), ag.tensor(rng.random(192))
    slope = ag.grad(f)
    with ag.config(verify=True):
        found = ag.jit(slope)(x, t)
    np.testing.assert_allclose(found.numpy(), slope(x, t).numpy(), 1e-8, 1e-10)
