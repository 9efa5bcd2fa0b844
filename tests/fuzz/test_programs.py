"""Random programs, some for each way to run them; ``make fuzz`` runs many."""

from __future__ import annotations

import pytest

from tests.fuzz.cases import case, report
from tests.fuzz.check import Unclear, check
from tests.fuzz.ways import WAYS, Way

PROGRAMS = 4


@pytest.mark.share(32)
@pytest.mark.parametrize("way", WAYS, ids=lambda w: w.name)
def test_programs(way: Way) -> None:
    """Both expressions of a way mean the same."""
    known = 0
    for seed in range(4 * PROGRAMS):
        found = case((seed, 3), [way])
        if found is None:
            continue
        try:
            failure = check(found)
        except Unclear:
            continue
        assert failure is None, report(found, failure)
        known += 1
        if known == PROGRAMS:
            break
    assert known
