"""Reductions of gradients go on while the backward pass does, with the same result."""

import math
import signal

import numpy as np
import pytest

from agnesi import distributed as dist
from tests.distributed import beside


def test_bits_are_those_without_it_and_begins_come_early(workers):
    apart, together = workers.run(beside.train, False), workers.run(beside.train, True)
    for (weights, none, _), (others, hidden, kernels) in zip(apart, together, strict=True):
        assert all((a == b).all() for a, b in zip(weights, others, strict=True))
        assert math.isnan(none) and 0 <= hidden <= 1
        begins, ends = ([i for i, k in enumerate(kernels) if f"C function {word}" in k]
                        for word in ("all_reduce_begin", "collective_finish"))
        assert len(begins) == len(ends) == 4  # three matrices, and the small ones together
        # The gradient of a matrix is sent before the next is computed.
        assert begins[0] + 1 < begins[1] and begins[1] + 1 < begins[2] and begins[3] < ends[0]
    for (losses, state), (other, theirs) in zip(*(
            workers.run(beside.mlp, overlap) for overlap in (False, True)), strict=True):
        assert losses == other
        assert all((state[name] == theirs[name]).all() for name in state)
    halves = workers.run(beside.train, True, True)[0]
    assert sum("all_gather_begin" in k for k in halves[2]) == 4
    for a, b in zip(halves[0], apart[0][0], strict=True):
        np.testing.assert_allclose(a, b, atol=3e-3)


def test_what_differs_is_told_at_its_end(workers):
    for text, sums in workers.run(beside.differ):
        assert "do not agree" in text and "float32[3]" in text and "float32[4]" in text
        assert text.count("beside.py:") >= 3
        assert sums == [[2.0] * 2, [2.0] * 5, [2.0] * 2]


@pytest.mark.long
@pytest.mark.share(9)
@pytest.mark.parametrize("how", ["signal", "late"])
def test_waits_end(how):
    if how == "signal" and not hasattr(signal, "setitimer"):
        pytest.skip("no such timer")
    with dist.Workers(2, timeout=20.0) as two:
        (text, seconds), _ = two.run(beside.late, how)
    wanted = "rank 1 did not come within 0.4 seconds" if how == "late" else "TimeoutError: by"
    assert wanted in text and 0.2 < seconds < 10
