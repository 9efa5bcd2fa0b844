"""Random calls of shared names have one answer here and there."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
from benchmarks import random_calls  # noqa: E402

SPACES = random_calls.spaces()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("space", SPACES)
def test_answers_are_equal(space: str) -> None:
    counts, found = random_calls.compare(SPACES[space], 3000, 33)
    assert found == []
    assert counts["equal"] > 50
