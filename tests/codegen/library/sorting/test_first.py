"""The first places of many elements come from compiled code, once that pays: the same ones."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from agnesi.compiler import eager
from agnesi.core.support.config import HOOKS


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_first_places_of_rows_are_compiled(
        dtype: str, largest: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal elements keep their order, NaN is the greatest."""
    HOOKS.recount()
    draw = np.random.default_rng(0)
    x = draw.integers(0, 9, (40, 30)).astype(dtype)
    x[draw.random(x.shape) < 0.05] = np.nan
    t = ag.tensor(x)
    wanted = ag.topk(t, 4, largest=largest).indices.numpy()
    assert not eager._functions
    monkeypatch.setattr(eager, "_COMPILE_MULTIPLY_ADDS", 1)
    for _ in range(3):
        np.testing.assert_array_equal(ag.topk(t, 4, largest=largest).indices.numpy(), wanted)
    assert eager._functions
    HOOKS.recount()
