"""Sizes beyond all memory: an error that names the value and its bytes, before anything runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag

CASES: dict[str, Any] = {
    "sort": lambda q: ag.sort(ag.full((2**12, 2**50 + 16), 1.0) * q, axis=0)[0, 0],
    "cumsum": lambda q: ag.cumsum(ag.full((2**12, 2**50 + 16), 1.0) * q, axis=0)[0, 0],
    "fft": lambda q: ag.fft.fft(ag.full((2**12, 2**50 + 16), 1.0) * q, axis=0)[0, 0].real,
    "long fft": lambda q: ag.fft.rfft(ag.full((2**61,), 1.0) * q)[0].real,
    "fft of a prime": lambda q: ag.fft.fft(ag.full((2**61 - 1,), 1.0) * q)[0].real,
    "bytes that wrap to few": lambda q: ag.full((2**31, 2**31 + 1), 1.0) * q,
    "bytes that wrap to none": lambda q: ag.zeros((2**62,)) * q,
    "elements that wrap": lambda q: ag.cumsum(ag.full((2**32, 2**32), 1.0) * q, axis=0)[0, 0],
    "flat places": lambda q: (ag.full((2**40, 2**30), 1.0) * q).reshape(-1)[2**69],
    "product": lambda q: ((ag.full((2**40, 2**10), 1.0) * q) @ ag.ones((2**10, 2**20)))[0, 0],
    "border": lambda q: ag.conv1d(ag.ones((1, 1, 5)) * q, ag.ones((1, 1, 2)),
                                  padding=2**62)[0, 0, 0],
    "solve": lambda q: ag.linalg.cholesky(ag.eye(2**30) * q)[0, 0],
    "loop": lambda q: ag.scan(
        lambda c, x: (c, ag.cumsum(ag.full((2**50, 2**12), 1.0) * c, 0)[0, 0]), q, length=3)[1],
}


@pytest.mark.parametrize("name", CASES)
def test_values_beyond_all_memory_are_named(name: str) -> None:
    with pytest.raises(MemoryError, match=r"there is no memory for .* GB, \w+\[.*\]") as caught:
        ag.jit(CASES[name])(ag.tensor(1.0))
    assert "test_oversize.py" in str(caught.value)


def test_run_time_sizes_beyond_all_memory_are_named() -> None:
    f = ag.jit(lambda x: (ag.cumsum(ag.ones((x.shape[0], x.shape[0])) + x.sum(), axis=0) * 2).sum())
    for n in (3, 4, 5, 100, 300):
        assert float(f(ag.zeros((n, 0)))) == n * n * (n + 1)
    for n in (2**29, 2**31, 2**32, 2**40):
        with pytest.raises(MemoryError, match=r"there is no memory for .* GB, float32\[.*\] of"):
            f(ag.tensor(np.zeros((n, 0), np.float32)))
    assert float(f(ag.zeros((7, 0)))) == 7 * 7 * 8


def test_eager_convolutions_are_refused_alike() -> None:
    with pytest.raises((MemoryError, ValueError)):
        ag.conv1d(ag.ones((1, 1, 5)), ag.ones((1, 1, 2)), padding=2**70)
