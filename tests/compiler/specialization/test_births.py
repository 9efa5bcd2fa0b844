"""Each operation whose result has a size that data decides, in each way to run it."""

from __future__ import annotations

import pytest

from tests.compiler.specialization.births import BIRTHS, WAYS, outcome

#: What stays on the whole operand until it is summed up, so that bodies need no size.
SUMMED = {"x[mask]", "compress", "extract", "masked_select", "set_subtensor"}
BODIES = {"scan", "while_loop", "vmap"}


@pytest.mark.share(10)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("birth", BIRTHS)
def test_ways_agree_with_eager_or_say_what_to_write(birth: str, way: str) -> None:
    kind, why = outcome(birth, way)
    refused = birth != "set_subtensor" and ("unreduced" in way or (
        way in BODIES and birth not in SUMMED))
    if not refused:
        assert kind == "same", why
        return
    assert kind == "refused", why
    place = "computed in the body of a loop" if "vmap" not in way else "between the examples"
    assert place in why and "sum it up" in why and "ag.where" in why
    assert "births.py:" in why
    assert why.count("TraceError") == 1
