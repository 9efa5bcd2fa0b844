"""Rows whose length is a run-time value: how many lanes sweeps over them have."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import agnesi as ag


def _rows(count, length):
    steps = np.arange(count * length, dtype=np.float32)
    return np.sin(steps * 0.7).reshape(count, length)


def _grown(function):
    """A function that has met row lengths enough to have a version for all."""
    f = ag.jit(function)
    for length in (40, 50, 60, 64):
        f(ag.tensor(_rows(4, length)))
    return f


@pytest.mark.parametrize("reduce", [ag.sum, ag.max])
def test_two_turns_of_a_sweep_are_full(reduce):
    f = _grown(lambda x: reduce(x, axis=1))
    assert len(f.specialisations) == 3
    widest = max(map(int, re.findall(r"<(\d+) x float>", f.ir())), default=1)
    assert 2 * widest <= 64  # the typical length


_sums = _grown(lambda x: ag.sum(x * x, axis=1))
_means = _grown(lambda x: x - ag.mean(x, axis=1, keepdims=True))
_largest = _grown(lambda x: ag.max(x, axis=1))
_shares = _grown(lambda x: ag.softmax(x, -1))


@settings(max_examples=40, deadline=None)
@given(count=st.integers(0, 5), length=st.integers(0, 300))
def test_rows_of_any_length(count, length):
    x = _rows(count, length)
    np.testing.assert_allclose(_sums(ag.tensor(x)), (x * x).sum(1), rtol=1e-4)
    if not length:
        return
    np.testing.assert_allclose(_means(ag.tensor(x)), x - x.mean(1, keepdims=True), atol=1e-5)
    np.testing.assert_array_equal(_largest(ag.tensor(x)), x.max(1))
    powers = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(
        _shares(ag.tensor(x)), powers / powers.sum(1, keepdims=True), rtol=1e-4)
