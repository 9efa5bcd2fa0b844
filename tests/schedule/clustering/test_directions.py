"""Reductions along memory and across it are kernels of their own; what one reads both ways is kept.

In one nest, a sum over rows beside one over columns read its matrix column by column: 1024 x 1024
numbers took twenty times as long as two kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import agnesi as ag

SIZE = 256
X = ag.tensor(np.random.default_rng(0).normal(size=(SIZE, SIZE)))
V = ag.tensor(np.random.default_rng(1).normal(size=SIZE))
APART: dict[str, Callable[[Any], Any]] = {
    "sums": lambda x: x.sum(0) * x.sum(1),
    "transposed": lambda x: x.sum(0) + (x.T * V[:, None]).sum(0),
    "maxima of exponentials": lambda x: ag.exp(x).max(0) - ag.exp(x).max(1),
    "normalized rows and columns": lambda x: (
        (x / x.norm(dim=1)[:, None]).mean(0) * (x / x.norm(dim=0)).mean(1)),
    "two results": lambda x: ((x * V).sum(1), (x * V[:, None]).sum(0)),
    "blocks": lambda x: (
        x.reshape(16, 16, SIZE).sum((0, 1)) + x.reshape(SIZE, 16, 16).sum((1, 2))),
}
BOTH: dict[str, Callable[[Any], Any]] = {
    "rows": lambda x: (x + x.T).sum(1), "columns": lambda x: (x * x.T).max(0),
    "all": lambda x: (x * x.T).sum(), "permuted": lambda x: (
        (lambda y: ag.exp(y - y.permute(0, 2, 1)).mean(2))(x.reshape(4, 128, 128))),
}


@pytest.mark.parametrize("name", APART)
def test_sums_of_rows_and_of_columns_are_apart(name: str) -> None:
    f = ag.jit(APART[name])
    for found, wanted in zip(_listed(f(X)), _listed(APART[name](X)), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
    assert len(f.plan().layout.kernels) > 1


@pytest.mark.parametrize("name", BOTH)
def test_what_is_read_both_ways_is_kept(name: str) -> None:
    f = ag.jit(BOTH[name])
    np.testing.assert_allclose(f(X), BOTH[name](X), rtol=1e-9, atol=1e-9)
    assert f.plan().arena_bytes >= X.nbytes


def _listed(found: Any) -> list[Any]:
    return [*found] if isinstance(found, tuple) else [found]
