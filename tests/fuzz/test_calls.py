"""Random calls of public functions: eager and compiled ones have the same results and gradients."""

from __future__ import annotations

import pytest

from tests.fuzz.calls import SPACES, compare


@pytest.mark.share(2)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("space", SPACES)
def test_a_compiled_call_is_the_eager_one(space: str) -> None:
    counts, differ, _ = compare(SPACES[space], 60, 7)
    assert differ == []
    assert counts["values equal"] > 0
